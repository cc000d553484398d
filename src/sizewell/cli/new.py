"""`sizewell new`: a first spec of a usual workload, with comments, from three answers; or one of the examples."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import PATH, Choice
from sizewell.sizing.errors import SpecError, UsageError
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.workload.read import WorkloadSpec


@dataclass(frozen=True, slots=True)
class Kind:
    """A workload that people begin with: what it is, the usual model, and its load with what that counts."""

    what: str
    model: str
    load: str
    counts: str


# The loads are round numbers to begin with, not measurements.
WORKLOADS: Final[Mapping[str, Kind]] = {
    "chat": Kind("a chat service", "meta-llama/Llama-3.1-8B-Instruct", "2", "requests a second"),
    "rag": Kind("answers over documents", "Qwen/Qwen3-32B", "1", "requests a second"),
    "embed": Kind("embeddings as a service", "BAAI/bge-m3", "50", "texts a second"),
    "transcribe": Kind("speech to text", "openai/whisper-large-v3", "2", "half minutes of audio a second"),
    "image": Kind("images from text", "stabilityai/stable-diffusion-xl-base-1.0", "0.5", "images a second"),
    "finetune": Kind("fine-tuning with adapters", "meta-llama/Llama-3.1-8B", "50k", "examples"),
    "pretrain": Kind("training from scratch", "meta-llama/Llama-3.2-3B", "20B", "tokens"),
    "batch": Kind("inference over records, nightly", "meta-llama/Llama-3.1-8B-Instruct", "1M", "records"),
    "notebook": Kind("a notebook with a GPU", "", "16GB..", "memory of the GPU"),
}
WORKLOAD: Final = Choice(tuple(WORKLOADS), "workload", taken=True)
ANYWHERE: Final = "anywhere"
SHARED: Final = ("ttl", "owner", "cost_center")  # what the specs of a stack have in common
_ROWS = "\n".join(f"  {name:<11} {kind.what}; --load counts {kind.counts}" for name, kind in WORKLOADS.items())
DESCRIPTION = """Write a first spec, with comments, that `sizewell size` takes as it is.

Asks for what no option gives, on a terminal; elsewhere the usual is taken. With --stack the spec goes
to the specs of a stack, with the owner and the place of those that are there. Overwrites nothing.
"""
EXAMPLES = f"""workloads:
{_ROWS}

examples:
  sizewell new chat                                       ask, and write chat.yaml
  sizewell new chat --model Qwen/Qwen3-8B --load 4 --infra aws/us-east-1
  sizewell new finetune --stack dev                       into stacks/specs/dev/finetune.yaml
  sizewell new --list                                     list the examples
  sizewell new --example petsnap-vlm-qlora                write that one

exit code: 0 success, 64 an answer is wrong, or the file exists
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("workload", required=False, type=WORKLOAD, metavar="WORKLOAD", help="what is run")
@click.option("--name", metavar="NAME", help="name of the workload and of the file (default: the workload's)")
@click.option("--model", metavar="MODEL", help="a name of the catalog, or a config.json of Hugging Face")
@click.option("--load", metavar="AMOUNT", help="how much there is to do")
@click.option("--infra", metavar="PLACE", help="where, such as aws/us-east-1 or gcp (default: the cheapest place)")
@click.option("--stack", metavar="NAME", help="write into the specs of this stack")
@click.option("--folder", type=PATH, default=Path(), help="write into this folder (default: this one)")
@click.option("--example", metavar="NAME", help="write this example")
@click.option("--list", is_flag=True, help="list the examples")
@click.option("--no-input", is_flag=True, help="ask nothing")
@click.option("--json", is_flag=True, help="print the path of the file as JSON")
def command(args: Arguments) -> int:
    if args.example is not None or args.list:
        return _example(args)
    if args.workload is None:
        raise UsageError(f"new: WORKLOAD is missing\n  fix: name one of {', '.join(WORKLOADS)}")
    kind = WORKLOADS[args.workload]
    folder, siblings = folder_of(args)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not args.json and not args.no_input
    place = place_of(siblings) or ANYWHERE
    questions = {"model": ("model", kind.model), "load": (kind.counts, kind.load), "infra": ("where", place)}
    answers = {
        key: getattr(args, key) or (_ask(what, usual) if asks and usual else usual)
        for key, (what, usual) in questions.items()
    }
    wrong: list[UsageError] = []
    from sizewell.cli.amounts import counted_load

    try:
        answers["load"] = counted_load(args.workload, answers["load"], kind.counts, template_of(args.workload))
    except UsageError as error:  # named together with what else is wrong
        answers["load"] = kind.load
        wrong.append(error)
    if args.model and not kind.model:
        raise UsageError(f"new: a {args.workload} has no model\n  fix: leave --model out")
    name = args.name or args.workload
    where = [] if answers["infra"] == ANYWHERE else [f"infra: [{answers['infra']}]"]
    text = spec_text(args.workload, name, answers, [*where, *of_the_stack(siblings)])
    from sizewell.sizing.catalog import load

    path = folder / f"{name}.yaml"
    with output.progress("reading the catalog"):
        catalog = load()
        text = fitted(text, answers["model"], catalog)
        try:
            check(text, catalog, folder, answers["load"])
        except UsageError as error:
            raise UsageError("\n".join(map(str, [*wrong, error]))) from None
    if wrong:
        raise wrong[0]
    write(path, text)
    _say(path, args)
    return 0


def _example(args: Arguments) -> int:
    place = files("sizewell") / "templates/examples"
    known = {file.name.rpartition(".")[0]: file for file in place.iterdir() if file.name.endswith((".yaml", ".json"))}
    if args.list:
        if args.json:
            output.print_json(sorted(known))
            return 0
        table = output.table("example", "what it is")
        for name, file in sorted(known.items()):
            lines = [line[2:] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
            what = "a timeline for `sizewell teardown replay`" if file.name.endswith(".json") else ""
            table.add_row(name, next((line for line in lines if not line.startswith("yaml-language")), what))
        output.console().print(table)
        return 0
    name = Path(args.example).stem
    if name not in known:
        from sizewell.cli.suggestions import nearest

        fix = nearest(name, known) or f"\n  fix: name one of {', '.join(sorted(known))}"
        raise UsageError(f"new: no example is called '{args.example}'{fix}")
    folder, _ = folder_of(args)
    lines = known[name].read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if "yaml-language-server" not in line)  # its path is that of the checkout
    path = folder / f"{args.name or name}{Path(known[name].name).suffix}"
    write(path, text)
    _say(path, args, then=f"sizewell teardown replay {project.shown(path)}" if path.suffix == ".json" else "")
    return 0


def folder_of(args: Arguments) -> tuple[Path, list[dict[str, Any]]]:
    """Where the spec goes, and what the specs say that are there."""
    if not args.stack:
        return args.folder, []
    root = project.root()
    if not project.STACK.fullmatch(args.stack):
        raise UsageError(f"--stack: must be of a-z, 0-9 and -, such as dev-aws, got {args.stack!r}")
    specs = root / "stacks/specs"
    return specs / args.stack, _specs(specs / args.stack) or _of_kin(specs, args.stack)


def _specs(folder: Path) -> list[dict[str, Any]]:
    from sizewell.sizing.places import read_yaml

    documents = [read_yaml(path).data for path in sorted(folder.glob("*.yaml"))]
    return [document for document in documents if isinstance(document, dict)]


def _of_kin(specs: Path, stack: str) -> list[dict[str, Any]]:
    """What the specs of a new stack say at first: those of the stack that its name begins with, dev-gcp of
    dev-gcp-trial; where there is none, the place of all others; and the cloud that its name has.
    """
    others = sorted((each for each in specs.glob("*/") if _specs(each)), key=lambda each: len(each.name), reverse=True)
    kin = next((_specs(each) for each in others if stack.startswith(f"{each.name}-")), None)
    if kin is None:
        kin = [{"infra": spec.get("infra")} for each in others for spec in _specs(each)]
    named = [cloud for cloud in CLOUDS if cloud in stack.split("-")]
    if len(named) == 1 and place_of(kin).partition("/")[0] != named[0]:
        return [{**spec, "infra": named} for spec in kin] or [{"infra": named}]
    return kin


def place_of(siblings: list[dict[str, Any]]) -> str:
    """The one place that all specs of the stack name; "" where they name none, or several."""
    places = {str(place) for spec in siblings for place in spec.get("infra") or [""]}
    return places.pop() if len(places) == 1 else ""


def of_the_stack(siblings: list[dict[str, Any]]) -> list[str]:
    """The lines that the specs of a stack have in common: until when, whose, who pays."""
    stated = {key: next((spec[key] for spec in siblings if spec.get(key)), None) for key in SHARED}
    return [f"{key}: {value}" for key, value in stated.items() if value is not None]


def spec_text(workload: str, name: str, answers: Mapping[str, str], more: list[str]) -> str:
    """The first spec of a workload, with the lines of `more` at its end; a load of another key has it before it."""
    template = template_of(workload)
    if re.match(r"\w+: ", answers["load"]):
        template = re.sub(r"\w+: \$load(?: #(?! memory).*)?", "$load", template)
    values = {"name": name, "model": answers["model"], "load": answers["load"], "more": "\n".join(more)}
    return Template(template).substitute(values).rstrip() + "\n"


def template_of(workload: str) -> str:
    return (files("sizewell") / f"templates/specs/{workload}.yaml").read_text(encoding="utf-8")


def fitted(text: str, named: str, catalog: Catalog) -> str:
    """The text without what a model does not have, and with lengths that it reads: pictures are not read as tokens."""
    model = catalog.models.get(catalog.model_names.get(named.lower(), named))
    if model is None:
        return text
    if model.kind in ("vision", "diffusion"):
        return re.sub(r"(?m)^  sequence_length: .*\n", "", text)
    if model.kind == "encoder":
        text = re.sub(r"(?m)^  output_tokens_per_record: .*$", "  output_tokens_per_record: 0 # it writes none", text)
    limit = model.max_sequence_length
    if not limit:
        return text
    for written, read in (
        ("output_tokens", "input_tokens"),
        ("output_tokens_per_record", "tokens_per_record"),
        ("", "sequence_length"),
    ):
        each = [int(found[1]) if (found := _stated(key, text)) else 0 for key in (written, read)]
        if sum(each) <= limit:
            continue
        most = min(each[0], limit // 4)  # an answer is rarely longer than a quarter of the whole
        for key, number in ((written, most), (read, limit - most)):
            text = _lowered(text, key, number, f"# {'with the output ' if most else ''}as long as {named} reads")
    return text


def _stated(key: str, text: str) -> re.Match[str] | None:
    return re.search(rf"(?m)^  {key}: (\d+)(?: #.*)?$", text) if key else None


def _lowered(text: str, key: str, number: int, said: str) -> str:
    """The text with a lower number under a key, and why; as it is where it says no more."""
    found = _stated(key, text)
    if found is None or int(found[1]) <= number:
        return text
    return text.replace(found[0], f"  {key}: {number} {said}")


def check(text: str, catalog: Catalog, folder: Path, load: str = "") -> WorkloadSpec:
    """Refuse before anything is written what the spec's own reader refuses; what is wrong with `load` is an option."""
    from sizewell.sizing.workload.read import parse_spec

    try:
        return parse_spec(text, "the new spec", catalog=catalog, folder=folder)
    except SpecError as error:
        said = str(error)
        for fault in error.faults:
            line = re.match(r"write ((?:\[.*?\]|\{.*?\}|[^,;({\[])+)", fault.fix)
            if line and load and str(fault.found) == load:
                said = said.replace(fault.fix, f"--load {shlex.quote(line[1])}{fault.fix[line.end() :]}")
        raise UsageError(f"{said}\n  nothing was written") from None


def write(path: Path, text: str, command: str = "new") -> None:
    """A new file; an existing one is kept."""
    shown = project.shown(path)
    if above := next((folder for folder in path.parents if folder.is_file()), None):
        where = f"{project.shown(above)} is a file, not a folder"
        raise UsageError(f"{command}: {where}\n  fix: name another folder: --folder FOLDER")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("x", encoding="utf-8")
        try:
            with file:
                file.write(text)
        except OSError:  # of a full disk: half a spec would be kept as if it were one
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise UsageError(f"{command}: {shown} already exists and is kept\n  fix: name another: --name NAME") from None
    except OSError as error:
        raise UsageError(f"{command}: {shown}: {error.strerror}\n  fix: name another folder: --folder FOLDER") from None


def _say(path: Path, args: Arguments, *, then: str = "") -> None:
    shown = project.shown(path)
    if args.json:
        output.print_json({"written": shown})
        return
    size = f"sizewell size --stack {args.stack}" if args.stack else f"sizewell size {project.typed(path)}"
    print(f"wrote {shown}\nNext:\n  {then or size}")


def _ask(what: str, usual: str) -> str:
    sys.stderr.write(f"{what} [{usual}]: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise UsageError("new: the input ended before the last answer; nothing was written")
    return line.strip() or usual
