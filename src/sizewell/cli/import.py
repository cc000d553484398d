"""`sizewell import`: what another tool's file says of a workload, as a first spec, and what it could not take over."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.new import WORKLOAD, WORKLOADS, check, fitted, folder_of, of_the_stack, place_of, spec_text, write
from sizewell.cli.parameters import INPUT, PATH
from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.errors import SizewellError, UsageError

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Architecture
    from sizewell.sizing.workload.foreign.draft import Draft

DESCRIPTION = """Write the spec of a workload that another tool's file describes, with what could not be taken over.

FILE is a SkyPilot task, a Kubernetes manifest (also of KServe, Kubeflow, Ray, JobSet), a dstack
configuration, a Compose file, an Azure Machine Learning job, a request of SageMaker, a custom job
of Vertex AI, a Dockerfile, the settings of a training (Axolotl, LLaMA-Factory, TRL), a script or a
command line that starts a server or a training (also by docker run or sbatch), or a Python script
that does (transformers, TRL, Unsloth, vLLM, Modal); - is standard input.
What the file does not say stands as a round number, and is named. Overwrites nothing.
"""
EXAMPLES = """examples:
  sizewell import task.yaml                               a SkyPilot task, as task's name.yaml
  sizewell import deployment.yaml --stack dev             into the specs of a stack
  sizewell import "vllm serve Qwen/Qwen3-8B --quantization fp8"
  kubectl get deploy chat -o yaml | sizewell import -     what runs on a cluster
  sizewell import compose.yaml --model Qwen/Qwen3-8B      where the file does not name the model

exit code: 0 success, 64 the file cannot be read as one of these, or a spec exists
"""
OPEN: Final = "; without this line whatever costs least"
# Each as a workload of `sizewell new`, for the kind of model that is served.
_SERVED: Final = {"encoder": "embed", "diffusion": "image"}
_SUFFIXES: Final = (
    (r"[-_](?:AWQ|GPTQ|GPTQ-Int4|AWQ-INT4|w4a16)$", "int4"),
    (r"[-_](?:GPTQ-Int8|w8a8)$", "int8"),
    (r"[-_](?:FP8|FP8-dynamic)$", "fp8"),
)
_FOUR_BITS: Final = r"-(?:unsloth-)?bnb-4bit$"
_ASSUMED: Final = {
    "traffic": ("traffic.rps", "traffic.input_tokens", "traffic.output_tokens", "slo"),
    "training": (
        "training.method",
        "training.tokens",
        "training.samples",
        "training.epochs",
        "training.global_batch",
        "training.sequence_length",
        "deadline",
    ),
    "batch": ("batch.records", "batch.tokens_per_record", "batch.output_tokens_per_record", "batch.window"),
    "notebook": ("resources.gpu", "schedule", "idle"),
}


@dataclass(frozen=True, slots=True)
class _Source:
    """The file: how a command line names it, and whose it is."""

    shown: str
    called: str


@dataclass(frozen=True, slots=True)
class _Spec:
    """A spec to be written: its text, what was assumed, what was left out."""

    name: str
    workload: str
    text: str
    taken: list[tuple[str, str]]
    assumed: list[str]
    left: list[tuple[str, str]]


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("file", type=INPUT, metavar="FILE", help="the file, a command line, or -")
@click.option("--name", metavar="NAME", help="name of the workload and of the spec (default: the file's)")
@click.option("--model", metavar="MODEL", help="the model, where the file does not name one that is known")
@click.option("--as", "workload", type=WORKLOAD, help="what it is, where the file does not show it")
@click.option("--stack", metavar="NAME", help="write into the specs of this stack")
@click.option("--folder", type=PATH, default=Path(), help="write into this folder (default: this one)")
@click.option("--json", is_flag=True, help="print what was written, taken over, assumed and left as JSON")
def command(args: Arguments) -> int:
    from sizewell.sizing.catalog import load

    text, shown = _read(args.file)
    called, drafts = _drafts(text, shown)
    source = _Source(shown, called)
    if args.name and len(drafts) > 1:
        raise UsageError(f"import: {shown} has {len(drafts)} workloads\n  fix: leave --name out, they have names")
    folder, siblings = folder_of(args)
    with output.progress("reading the catalog"):
        catalog = load()
        specs = [_spec(draft, source, args, siblings, catalog) for draft in drafts]
        for spec in specs:
            _checked(spec, source, catalog, folder)
    written = [folder / f"{spec.name}.yaml" for spec in specs]
    if there := next((path for path in written if path.exists() or written.count(path) > 1), None):
        raise UsageError(f"import: {project.shown(there)} already exists and is kept\n  fix: name another: --name NAME")
    for path, spec in zip(written, specs, strict=True):
        write(path, spec.text, "import")
    if args.json:
        output.print_json([
            {"written": project.shown(path), "workload": spec.workload, "taken": dict(spec.taken),
             "assumed": spec.assumed, "left": dict(spec.left)}
            for path, spec in zip(written, specs, strict=True)
        ])  # fmt: skip
        return 0
    for path, spec in zip(written, specs, strict=True):
        _say(project.shown(path), spec, called, shown)
    print("Next:")
    for path in [] if args.stack else written:
        print(f"  sizewell size {project.typed(path)}")
    if args.stack:
        print(f"  sizewell size --stack {args.stack}")
    return 0


def _checked(spec: _Spec, source: _Source, catalog: Catalog, folder: Path) -> None:
    """As `check`, and how the model is named where that of the file is not known."""
    try:
        check(spec.text, catalog, folder)
    except UsageError as error:
        if ": model: " not in str(error):
            raise
        raise UsageError(f"{error}\n  or name the model it is: sizewell import {source.shown} --model NAME") from None


def _read(file: Path) -> tuple[str, str]:
    """The text, and how a command line names it."""
    from sizewell.sizing.workload.foreign.command import KNOWN, is_known
    from sizewell.sizing.workload.text import read_text

    given = str(file)
    if given == "/dev/stdin":
        return sys.stdin.read(), "-"
    if file.exists():
        return read_text(file), project.typed(given)
    if re.match(r"https?:/", given):
        address = re.sub(r":/+", "://", given, count=1)
        raise UsageError(f"import: {address} is an address\n  fix: {_behind(address)}")
    if is_known(given) and re.search(r"\s", given):
        return given, quoted(given)
    if re.search(r"\s", given):
        raise UsageError(
            f"import: {quoted(given)} is no file, and starts no server, trainer or notebook that is known: {KNOWN}, "
            f"torchrun, accelerate, TRL, Axolotl, LLaMA-Factory, Jupyter\n  fix: describe it yourself: sizewell new "
            f"{_first_of(given)}"
        )
    raise UsageError(f"import: {given}: no such file\n  fix: correct its path, or put a command into quotes")


def _behind(address: str) -> str:
    """What to do with an address: a model has its spec written, a file is fetched as it is and not as its page."""
    from sizewell.sizing.workload.names import first_workload

    model = re.match(
        r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/(?!datasets/|spaces/|docs/|blog/)([\w.-]+/[\w.-]+)", address
    )
    library = re.match(r"https?://ollama\.com/library/([\w.-]+(?::[\w.-]+)?)", address)
    if named := model or library:
        return f"write the spec of that model: sizewell new {first_workload(named[1])} --model {named[1]}"
    raw = re.sub(r"^https?://github\.com/([^/]+/[^/]+)/blob/", r"https://raw.githubusercontent.com/\1/", address)
    return f"curl -LO {raw}, and name the file"


def _first_of(text: str) -> str:
    """The workload of `sizewell new` that a text is most likely of, by its words."""
    for workload, words in (
        ("transcribe", r"whisper|transcri|speech|\basr\b"),
        ("notebook", r"jupyter|notebook"),
        ("finetune", r"fine-?tun|lora|\btrain|\bsft\b|\bdpo\b"),
        ("image", r"diffus|flux|sdxl|text-to-image"),
        ("embed", r"embed|rerank|sentence"),
    ):
        if re.search(words, text, re.IGNORECASE):
            return workload
    return "chat"


def quoted(words: str) -> str:
    """Words as one argument of a shell."""
    return shlex.quote(words) if re.search(r'["$`\\!]', words) else f'"{words}"'


def _drafts(text: str, shown: str) -> tuple[str, list[Draft]]:
    from sizewell.sizing.workload.foreign.recognise import CALLED, documents, tool_of, tool_of_text
    from sizewell.sizing.workload.foreign.tools import configured, drafts

    tool = tool_of_text(text)
    if tool in ("command", "dockerfile", "python"):
        return CALLED[tool], drafts(tool, _with_settings(text) if tool == "command" else text)
    read = configured(documents(text, shown))
    if tool is None:
        if any(isinstance(each, dict) and "kind" in each for each in read):
            raise UsageError(f"import: {shown} is a spec already\n  fix: run: sizewell size {shown}")
        allowed = "; ".join(CALLED.values())
        way = f"describe it yourself: sizewell new {_first_of(text)}"
        if re.search(r'(?m)^\s*(?:resource|module|provider|terraform)\s+(?:"[^"]+"\s*)*\{', text):
            what = "is Terraform, which says what machines there are and not what runs on them"
            way = (
                f"sizewell new {_first_of(text)} --infra CLOUD/REGION, or import the manifest or command that it starts"
            )
            raise UsageError(f"import: {shown} {what}\n  fix: name the work: {way}")
        if "values" in Path(shown).stem.lower():
            way = f"render the chart whose values these are: helm template CHART -f {shown} | sizewell import -"
        raise UsageError(f"import: {shown} is none of: {allowed}\n  fix: {way}")
    found = [draft for each in read if tool_of(each) == tool for draft in drafts(tool, each)]
    if not found and re.search(r"(?:nvidia|amd)\.com/gpu|google\.com/tpu|aws\.amazon\.com/neuron", text):
        kinds = ", ".join(dict.fromkeys(str(each.get("kind")) for each in read if isinstance(each, dict)))
        raise UsageError(
            f"import: {shown} asks for accelerators where they are not read: kind {kinds}"
            "\n  fix: import the pods that it makes: kubectl get pods -o yaml | sizewell import -"
        )
    if not found:
        raise UsageError(
            f"import: {shown} is {CALLED[tool]}, in which nothing asks for an accelerator"
            "\n  fix: name the file whose containers do; without accelerators there is nothing to size here"
        )
    return CALLED[tool], found


def _with_settings(text: str) -> str:
    """A command with the settings of the YAML files that it names in the place of their names, where they are here."""
    from sizewell.sizing.workload.foreign.command import settings_of
    from sizewell.sizing.workload.foreign.recognise import documents

    def stated(match: re.Match[str]) -> str:
        file = Path(match[0].strip("'\""))
        try:
            read = documents(file.read_text(encoding="utf-8"), str(file))
        except (OSError, UnicodeDecodeError, SizewellError):
            return match[0]
        if len(read) != 1 or not isinstance(read[0], dict):
            return match[0]
        return " ".join(shlex.join([f"--{name}", *values]) for name, values in settings_of(read[0]).items())

    return re.sub(r"(?<=\s)[^\s=]+\.ya?ml\b", stated, text)


def _spec(draft: Draft, source: _Source, args: Arguments, siblings: list[dict[str, Any]], catalog: Catalog) -> _Spec:
    called, shown = source.called, source.shown
    model = _model(draft, catalog)
    if args.model and _is_known(model, catalog):
        if model != args.model:
            draft.leave(
                f"--model {args.model}", f"the file names {model}; to take another one, change model: in the spec"
            )
    else:
        model = args.model or model
    workload = args.workload or _workload(draft, model, catalog)
    if "$" in model:
        raise UsageError(
            f"import: {shown}: the model of '{draft.name}' is {model}, whose value stands nowhere in {called}"
            f"\n  fix: name it: sizewell import {shown} --model meta-llama/Llama-3.1-8B-Instruct"
        )
    if not model and not draft.figures and workload != "notebook":
        raise UsageError(
            f"import: {shown}: the model of '{draft.name}' stands nowhere in {called}"
            f"\n  fix: name it: sizewell import {shown} --model {WORKLOADS[workload].model}"
        )
    name = args.name or _name(draft.name)
    if Path(f"{name}.yaml").name == Path(shown).name:
        name = f"{name[:35].rstrip('-')}-spec"
    more = [*_resources(draft, workload, catalog), *_places(draft, siblings, catalog), *of_the_stack(siblings)]
    kind = WORKLOADS[workload]
    if draft.figures and "vocab" not in draft.figures and (read := catalog.models.get(draft.tokenizer)):
        draft.figures["vocab"] = read.vocab
    answers = {"model": _model_line(draft, model), "load": kind.load}
    text = fitted(spec_text(workload, name, answers, more), model, catalog)
    if draft.figures and not model:
        text = re.sub(r"(?m)^(model: .*?\}) # or .*$", r"\1", text)
    _known_draft(draft, catalog)
    section = {"finetune": "training", "pretrain": "training", "batch": "batch", "notebook": "notebook"}.get(
        workload, "traffic"
    )
    for key, value in draft.values.items():
        if key.startswith(("training.", "traffic.", "batch.")):
            if key.partition(".")[0] == section:
                text = _with_value(text, key, value)
            else:
                draft.leave(key, f"does not apply to {workload}")
    if "training.steps" in draft.values:
        if "training.global_batch" not in draft.values:  # which decides how long the steps are
            from sizewell.sizing.workload.checks import usual_batch

            facts = catalog.models.get(model)
            method = str(draft.values.get("training.method", "lora"))
            length = draft.values.get("training.sequence_length")
            trains = "training" if workload == "pretrain" else "fine-tuning"
            batch = usual_batch(trains, facts.kind if facts else "decoder", method, length)
            text = _with_value(text, "training.global_batch", batch)
        text = re.sub(r"(?m)^  (?:samples|epochs|tokens): .*\n", "", text)
    elif "training.samples" in draft.values:
        text = re.sub(r"(?m)^  tokens: .*\n", "", text)
    if "deadline" in draft.values:
        text = re.sub(r"(?m)^deadline: \S+.*$", f"deadline: {draft.values['deadline']}", text)
    assumed = [
        key
        for key in _ASSUMED[section]
        if key not in draft.values and re.search(rf"(?m)^(?:resources: {{| *){key.rpartition('.')[2]}:", text)
    ]
    assumed += ["model.vocab"] if draft.figures and not model and "vocab" not in draft.figures else []
    assumed += (
        ["traffic.speculative.acceptance"] if "traffic.speculative" in draft.values and section == "traffic" else []
    )
    taken = [(key, where) for key, where in draft.taken if key in ("model", "engine") or key in draft.values]
    if workload == "notebook" and any(line.startswith("resources:") for line in more):
        text = re.sub(r"(?m)^resources: .*memory of the GPU.*\n", "", text)
        assumed = [key for key in assumed if key != "resources.gpu"]
    text = re.sub(r"\A(?:#.*\n)+", "", text)  # what the template says of itself
    head = [f"# From {shown}, {called}."]
    head += _wrapped("Assumed, because the file does not state it: " + ", ".join(assumed)) if assumed else []
    head += [line for where, why in draft.left for line in _wrapped(f"Not taken over: {where}: {why}")]
    return _Spec(name, workload, "\n".join(head) + "\n" + text, taken, assumed, draft.left)


def _model(draft: Draft, catalog: Catalog) -> str:
    """The model by a name of the catalog: without what a name says of how the weights are stored, where that is why."""
    from sizewell.sizing.aliases import CLOSED, IN_4_BITS, alias
    from sizewell.sizing.workload.names import same_words
    from sizewell.sizing.workload.precision import weights_of_name

    name = draft.model
    if not name or _is_known(name, catalog):
        return name
    if file := re.fullmatch(r"(?:.*/)?([\w.-]+?)(?:[-_.](i?q\d\w*|f16|bf16))?\.gguf", name, re.IGNORECASE):
        same = same_words(file[1], catalog.models)
        if len(same) == 1:
            if weights := weights_of_name(file[2] or ""):
                draft.take("model.weights", weights, f"the file {name}")
            return same[0]
    for suffix, weights in _SUFFIXES:
        bare = re.sub(suffix, "", name, flags=re.IGNORECASE)
        if bare != name and _is_known(bare, catalog):
            draft.take("model.weights", weights, f"the name {name}")
            return bare
    row = alias("model", name)
    same = same_words(re.sub(_FOUR_BITS, "", name, flags=re.IGNORECASE), catalog.models)
    if row is None and same and all(_of_one_shape(catalog.models[each], catalog.models[same[0]]) for each in same):
        if draft.work != "training" and re.search(_FOUR_BITS, name, re.IGNORECASE):
            draft.take("model.weights", "int4", f"the name {name}")
        return same[0]
    if row is not None and row.why == IN_4_BITS and "model.weights" not in draft.values:
        draft.take("model.weights", "int4", f"Ollama's tag {name}")
    return row.meant if row is not None and row.why != CLOSED else name


def _is_known(name: str, catalog: Catalog) -> bool:
    return name in catalog.models or any(name in each.aliases for each in catalog.models.values())


def _of_one_shape(one: Architecture, two: Architecture) -> bool:
    """Whether two rows of the catalog are of one model, under its publisher's several names."""
    return (one.layers, one.hidden, one.ffn, one.vocab) == (two.layers, two.hidden, two.ffn, two.vocab)


def _known_draft(draft: Draft, catalog: Catalog) -> None:
    """Leave a draft model out that nobody here knows."""
    from sizewell.sizing.workload.precision import known_model

    stated = draft.values.get("traffic.speculative")
    if stated is None or stated["draft"] == "ngram":
        return
    try:
        known_model(stated["draft"], catalog)
    except KeyError:
        del draft.values["traffic.speculative"]
        why = "is no model of the catalog: add it to catalog/models.csv, and traffic: {speculative: {draft: ...}}"
        draft.leave(f"draft model {stated['draft']}", why)


def _model_line(draft: Draft, model: str) -> str:
    more = {key.partition(".")[2]: value for key, value in draft.values.items() if key.startswith("model.")}
    if not model and draft.figures:
        return _flow({**draft.figures, **more})
    return f"{{name: {model}{''.join(f', {key}: {_flow(value)}' for key, value in more.items())}}}" if more else model


def _workload(draft: Draft, model: str, catalog: Catalog) -> str:
    """Which of the usual workloads it is."""
    if draft.work == "notebook":
        return "notebook"
    if draft.work in ("training", "batch"):
        return "pretrain" if draft.from_nothing else {"training": "finetune", "batch": "batch"}[draft.work]
    if draft.work is None:
        raise UsageError(
            f"import: what '{draft.name}' runs is not known: no server, trainer or notebook in its commands"
            f"\n  fix: say what it is: --as chat, or one of {', '.join(WORKLOADS)}"
        )
    from sizewell.sizing.predict.architecture import is_speech_recognizer

    facts = catalog.models.get(model)
    if draft.hears:
        return "transcribe"
    if facts is None:
        return "chat"
    return "transcribe" if is_speech_recognizer(facts) else _SERVED.get(facts.kind, "chat")


def _resources(draft: Draft, workload: str, catalog: Catalog) -> Iterator[str]:
    """The lines about software and machines."""
    from sizewell.sizing.workload.devices import not_to_be_had
    from sizewell.sizing.workload.foreign.tools import REPLICAS

    trains = workload in ("finetune", "pretrain")
    engine = draft.values.get("engine")
    if engine and (trains or workload in ("chat", "rag", "batch", "embed")):
        yield f"engine: {engine}"
    elif engine:
        del draft.values["engine"]
    wanted = {key.partition(".")[2]: value for key, value in draft.values.items() if key.startswith("resources.")}
    known: list[str] = []
    for name in dict.fromkeys(draft.asked):
        whole = re.sub(r"-MIG-\S+$", "", name)  # a slice is named after its GPU
        if wrong := not_to_be_had(whole, catalog):
            draft.leave(name, f"no cloud here sells it: any that fits may be chosen, of as much memory {wrong[1]}")
        elif catalog.accelerators_named(whole):
            known.append(whole)
        else:
            draft.leave(name, "is no accelerator of the catalog: any that fits may be chosen")
    if known:
        draft.take("resources.accelerators", known, draft.said.get("accelerators", "its devices"))
        wanted["accelerators"] = known
    counted = trains or workload == "notebook"
    if draft.devices and not (counted and (known or wanted.keys() & {"instance_type", "gpu"})):
        over = f" on {draft.machines} machines" if draft.machines > 1 else ""
        if not any(" with " in where or "GPU" in where for where, _ in draft.left):  # which its reader has said
            draft.leave(f"{draft.devices} x {' or '.join(draft.asked) or 'accelerator'}{over}", REPLICAS)
    elif draft.devices:
        draft.take(
            "resources.gpus", draft.devices, f"{draft.said.get('accelerators', 'its devices')}, over all machines"
        )
        wanted["gpus"] = draft.devices
    if wanted:
        wanted |= {"nodes": 1} if workload == "notebook" else {}
        stated = ", ".join(f"{key}: {_flow(value)}" for key, value in wanted.items())
        yield f"resources: {{{stated}}} # what it runs on today{'' if workload == 'notebook' else OPEN}"
    if draft.spot is not None:
        if draft.spot and workload in ("chat", "rag", "embed", "transcribe", "image"):
            draft.leave("spot", "an interruption drops users' requests; for offline work kind: batch-inference")
        elif draft.spot or trains:
            draft.take("spot_policy", "spot" if draft.spot else "on-demand", draft.said.get("spot", ""))
            yield f"spot_policy: {draft.values['spot_policy']}"
    if "data.location" in draft.values and (trains or workload == "batch"):
        yield f'data: {{location: "{draft.values["data.location"]}"}}'


def _places(draft: Draft, siblings: list[dict[str, Any]], catalog: Catalog) -> Iterator[str]:
    """The line about where: what the file says and can be built on, else what the stack's other specs say."""
    regions = {cloud: catalog.regions(cloud) for cloud in PROVISIONABLE}
    kept = []
    for stated in dict.fromkeys(_zoned(place, regions) for place in draft.places):
        cloud, _, rest = stated.partition("/")
        region = rest.partition("/")[0]
        owner = next((name for name, names in regions.items() if stated in names), "")
        if owner:  # a region without its cloud
            kept.append(f"{owner}/{stated}")
        elif cloud in regions and (not rest or region in regions[cloud]):
            kept.append(stated)
        else:
            draft.leave(stated, "is no place where something here is built: `sizewell docs adopt-a-cluster`")
    if kept:
        draft.take("infra", kept, draft.said.get("infra", ""))
        yield f"infra: [{', '.join(kept)}]"
    elif place := place_of(siblings):
        yield f"infra: [{place}]"


def _zoned(place: str, regions: Mapping[str, Sequence[str]]) -> str:
    """A zone with its cloud and its region, of a place that is one, with its cloud or alone.

    >>> _zoned("eu-central-1a", {"aws": ["eu-central-1"]}), _zoned("gcp/us-east1-b", {"gcp": ["us-east1"]})
    ('aws/eu-central-1/eu-central-1a', 'gcp/us-east1/us-east1-b')
    """
    from sizewell.sizing.providers import CLOUDS

    cloud, _, zone = place.rpartition("/")
    found = [
        (each, region)
        for each in regions
        if cloud in ("", each)
        for region in regions[each]
        if re.fullmatch(rf"{re.escape(region)}-?(?:[a-f]|[1-3](?=$))", zone) and zone not in regions[each]
    ]
    if len(found) != 1:
        return place
    [(each, region)] = found
    number = zone.removeprefix(f"{region}-")
    named_apart = re.fullmatch(CLOUDS[each].regions.zone_form(region), number)  # its zones are named without the region
    return f"{each}/{region}/{number if named_apart else zone}"


def _with_value(text: str, path: str, value: Any) -> str:
    """The text with a key of a section as the file has it, in its place or at the section's end."""
    section, _, key = path.partition(".")
    stated = rf"(?m)^(  {key}): [^#\n]*?(?= #|$)"
    if re.search(stated, text):
        return re.sub(stated, lambda match: f"{match[1]}: {_flow(value)}", text, count=1)
    return re.sub(rf"(?m)^{section}:\n((?:  .*\n)+)", rf"{section}:\n\g<1>  {key}: {_flow(value)}\n", text, count=1)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _name(written: str) -> str:
    """A name that a spec takes."""
    name = re.sub(r"[^a-z0-9]+", "-", written.lower()).strip("-")[:40].rstrip("-")
    return name if name[:1].isalpha() else f"w-{name}".rstrip("-")[:40]


def _wrapped(text: str) -> list[str]:
    from textwrap import wrap

    return wrap(text, 116, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)


def _say(path: str, spec: _Spec, called: str, shown: str) -> None:
    print(f"{shown} is {called}; wrote {path} in the form of `sizewell new {spec.workload}`")
    for heading, rows in (("taken over", [f"{key}  from {where}" for key, where in spec.taken]),
                          ("assumed, because the file does not state it", spec.assumed),
                          ("not taken over", [f"{where}: {why}" for where, why in spec.left])):  # fmt: skip
        if rows:
            print(f"  {heading}")
        for row in rows:
            print(f"    {row}")
