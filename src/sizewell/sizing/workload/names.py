"""What only the catalog can tell about a spec: names of models, accelerators, machine types, regions, slices."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sizewell.sizing.aliases import CLOSED, IN_4_BITS, OF_ITS_SHAPE, alias
from sizewell.sizing.catalog.engine import NGRAM
from sizewell.sizing.catalog.engines import ENGINES, engine_for
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.records import ON_PREMISES, PROVISIONABLE
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.architecture import is_speech_recognizer, served_family
from sizewell.sizing.predict.simulation.requests import P95_MAX, share_longer, spread_of
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.units import counted, show_range
from sizewell.sizing.workload import drafts
from sizewell.sizing.workload.architecture import architecture_of
from sizewell.sizing.workload.areas import kept_there
from sizewell.sizing.workload.devices import device_meant, families, not_to_be_had, slice_meant
from sizewell.sizing.workload.model import Place, Traffic, WorkloadSpec
from sizewell.sizing.workload.other_kinds import MACHINE_ALONE, machine_alone_for, way_by_name
from sizewell.sizing.workload.precision import known_model, weights_of_name
from sizewell.sizing.workload.software import SOFTWARE, named_for, serves, work_of
from sizewell.sizing.workload.ways_out import way_out
from sizewell.sizing.workload.writing import embeds_by_name

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Accelerator, Shape

_OWN_NAMES = "maxtext/"  # of checkpoints that stand on no hub: meant by nobody who does not write it so
ALIKE = 0.5  # of the words and figures of two names together
# A tag of Ollama: the model, whether it is tuned, and the form of its weights.
_TAG = re.compile(r"([\w.-]+:[\w.]+?)(?:-(?:instruct|chat|it|text))?((?:-(?:qat|fp16|bf16|i?q\d\w*))+)", re.IGNORECASE)


def unknown_names(spec: WorkloadSpec, catalog: Catalog) -> list[Fault]:
    """Every name in the spec that the catalog does not know, with the nearest that it does."""
    named = [*_places(spec, catalog), *_hardware(spec, catalog)]
    return [*_model(spec, catalog), *_draft(spec, catalog), *(named or _together(spec, catalog))]


def first_workload(name: str) -> str:
    """The workload of `sizewell new` that a model is served as; chat for one that the catalog does not know.

    >>> first_workload("BAAI/bge-m3"), first_workload("openai/whisper-large-v3"), first_workload("org/own")
    ('embed', 'transcribe', 'chat')
    """
    from sizewell.sizing.catalog import load

    catalog, row = load(), alias("model", name)
    facts = catalog.models.get(catalog.model_names.get((row.meant if row else name).lower(), ""))
    family = served_family(facts) if facts else ""
    return {"speech": "transcribe", "encoder": "embed", "diffusion": "image"}.get(family, "chat")


def _near(word: str, known: Iterable[str], alike: float = 0.5) -> str:
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), names, 3, alike)
    return f"did you mean {', or '.join(names[name] for name in close)}?" if close else ""


def _model_meant(name: str, weights: str | None) -> str:
    """What a name of Ollama or of an API stands for, "" where nobody wrote it down; `weights` are those of the spec."""
    plain = _as_published(name)
    spelt = (name, plain, re.sub(r"-(?:latest|\d{4})$", "", plain))
    row = next((row for each in spelt if (row := alias("model", each))), None)
    if row is None:
        tag = _TAG.fullmatch(name)
        row = alias("model", tag[1]) if tag else None
        if tag is None or row is None:
            return ""
        form = weights_of_name(tag[2]) or ("int4" if tag[2].lower() == "-qat" else None)  # its qat files are q4_0
        stated = weights not in (None, "bf16", weights_of_name(name))  # else by default, or read from the name
        return f"write {{name: {row.meant}, weights: {form}}}" if form and not stated else f"write {row.meant}"
    if row.why == CLOSED:
        return f"write {row.meant}, or another open model: the weights of {name} are not published, it is an API only"
    if row.why == OF_ITS_SHAPE:
        own = "for its own weights name its config.json"
        return f"write {row.meant}, whose shape it has: that one is then sized and launched; {own}"
    if row.why == IN_4_BITS and weights in (None, "bf16"):
        return f"write {{name: {row.meant}, weights: int4}}, as Ollama runs this tag, or {row.meant} for 16 bits"
    return f"write {row.meant}"


def _near_models(name: str, known: Iterable[str]) -> str:
    """The models whose names have most words and figures in common: letters alone take llama3 for llama-33b."""
    known = [key for key in known if not key.startswith(_OWN_NAMES) or name.lower().startswith(_OWN_NAMES)]
    name = _as_published(name)
    wanted = _words(name)
    shares = {
        key: len(wanted & words) / len(wanted | words)
        for key in known
        if (words := _words(key)) and any(len(word) > 1 and word.isalpha() for word in (wanted & words) - _OF_MANY)
    }
    if same := same_words(name, known):
        return f"did you mean {', or '.join(same[:3])}?" if len(same) > 1 else f"write {same[0]}"
    alike = {key: share + _spelt_alike(name, key) for key, share in shares.items() if share >= ALIKE}
    close = sorted(alike, key=lambda key: (-alike[key], key))[:3]
    return f"did you mean {', or '.join(close)}?" if close else _near_spelt(name, known)


def same_words(name: str, known: Iterable[str]) -> list[str]:
    """The models whose names are of the same words and figures, whoever publishes them."""
    wanted = _words(_as_published(name))
    same = sorted(key for key in known if wanted and _words(key) == wanted)
    return [key for key in same if not key.startswith(_OWN_NAMES) or name.lower().startswith(_OWN_NAMES)]


_OF_MANY = frozenset({"chat", "instruct", "base", "it", "hf", "mini", "small", "large", "medium", "v", "preview", "vl"})


def _as_published(name: str) -> str:
    """A model's name in an API without what that API puts around it: Bedrock's vendor and version, Fireworks' path.

    >>> _as_published("us.meta.llama3-3-70b-instruct-v1:0"), _as_published("accounts/fireworks/models/qwen2p5-72b")
    ('llama-3.3-70b-instruct', 'qwen2.5-72b')
    """
    name = re.sub(r"^(?:https?://(?:www\.)?(?:huggingface\.co|hf\.co)/|hf://|hf:)([\w.-]+/[\w.-]+).*$", r"\1", name)
    name = re.sub(r"-v0:(?=\d+$)", "-v0.", name.lower())
    name = re.sub(r"^accounts/\w+/models/|^(?:(?:us|eu|apac|global)\.)?[a-z]+\.(?=[a-z])|-v?\d+:\d+$", "", name)
    name = re.sub(r"(?<=\d)p(?=\d)", ".", name)
    return re.sub(r"(?<=llama-\d)-(?=\d-)", ".", re.sub(r"llama-?v?(?=\d)", "llama-", name))


def _words(name: str) -> set[str]:
    """Words and figures of a model's name, without whose it is.

    >>> sorted(_words("meta-llama/Meta-Llama-3-70B-Instruct"))
    ['3', '70', 'b', 'instruct', 'llama']
    """
    return set(re.findall(r"[a-z]+|\d+(?:\.\d+)?", name.lower().rpartition("/")[2])) - {"meta"}


# Names of models that read and write no text: as a decoder one takes many times as long.
_READS_ALONE: Final = re.compile(r"bert|electra|mpnet|minilm|classifier|sentiment|(?:^|[-_/])ner(?:[-_]|$)")
_OF_ANOTHER_SIZE: Final = re.compile(r"(?:^|-)(?:\d+(?:\.\d+)?[bm]|large|small|mini|tiny|xs|xl|xxl)(?:-|$)")


def _base_of(name: str, catalog: Catalog) -> str:
    """The encoder whose whole name a fine-tune has in its own, and no other size; "" for none."""
    plain = _plain(name)
    bases = []
    for key, facts in catalog.models.items():
        base = _plain(key)
        if facts.kind == "decoder" or base.count("-") < 1:
            continue
        before, found, after = f"-{plain}-".partition(f"-{base}-")
        if found and not _OF_ANOTHER_SIZE.search(f"{before}-{after}"):
            bases.append((len(base), key))
    return f"did you mean {max(bases)[1]}?" if bases else ""


def _plain(name: str) -> str:
    """The words of a model's name, without whose it is."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower().rpartition("/")[2])


def _spelt_alike(name: str, key: str) -> float:
    last, known = (text.lower().rpartition("/")[2] for text in (name, key))
    return difflib.SequenceMatcher(None, last, known).ratio()


def _near_spelt(name: str, known: Iterable[str]) -> str:
    """A name that was mistyped: nearly all of its letters, and the same figures."""
    figures = re.findall(r"\d+", name)
    names = {key.lower().rpartition("/")[2]: key for key in known}
    plain = name.lower().rpartition("/")[2]
    close = [each for each in difflib.get_close_matches(plain, names, 6, 0.8) if re.findall(r"\d+", each) == figures]
    return f"did you mean {', or '.join(names[each] for each in close[:3])}?" if close else ""


def _times_of_type(name: str, types: Mapping[str, Shape]) -> str:
    """A machine type with how many of it, as other tools write both."""
    match = re.fullmatch(r"(?:(\d+) ?[x*] ?)?([\w.-]+?)(?:(?: ?[x*] ?|:)(\d+))?", name)
    count = (match[1] or match[3]) if match else None
    return (
        f"write resources: {{instance_type: {match[2]}, nodes: {count}}}"
        if match and count and match[2] in types
        else ""
    )


def _neighbours(name: str, types: Mapping[str, Shape]) -> str:
    """Machine types of the same family, else those with the nearest names, each with its accelerators."""
    family = re.match(r"[a-z0-9]+[.-]|[a-z]+_[a-z]+", name.lower())
    related = [known.lower() for known in types if family and known.lower().startswith(family[0])]
    close = difflib.get_close_matches(name.lower(), related or [known.lower() for known in types], 3, 0.4)
    spelt = {known.lower(): known for known in types}
    near = [types[spelt[match]] for match in close]
    devices = [
        f"{s.instance_type} ({s.accelerators} x {s.accelerator})" if s.accelerator else s.instance_type for s in near
    ]
    return f"did you mean {', or '.join(devices)}?" if devices else ""


def _embedding_way(spec: WorkloadSpec) -> str:
    """The way for a model that embeds or ranks: one that is spelt alike writes text, which costs many times as much."""
    if spec.model is None or not embeds_by_name(spec.model.name or ""):
        return ""
    way = "name its config.json: model: {config: config.json}"
    if spec.kind != "inference" or (spec.traffic and spec.traffic.output_tokens is not None):
        return way
    return f"{way}, with traffic: {{output_tokens: 0}}"


def _model(spec: WorkloadSpec, catalog: Catalog) -> list[Fault]:
    if spec.model is None:
        return []
    if spec.model.config is not None:
        from sizewell.sizing.workload.hf_config import context_of

        name = spec.model.config_path or spec.name
        try:
            architecture = architecture_of(spec.model, spec.name, catalog)
        except SpecError as error:
            return [fault if fault.path.startswith("model.") else _in_file(fault) for fault in error.faults]
        lengths = _lengths(spec, context_of(spec.model.config), name.rpartition("/")[2])
        engine = _engine(spec, served_family(architecture), name)
        return [*lengths, *_without_adapters(spec, architecture.kind, name), *engine]
    if spec.model.name is None:
        family = spec.model.dimensions.family if spec.model.dimensions else "decoder"
        limit = spec.model.dimensions.max_sequence_length if spec.model.dimensions else None
        return [
            *_lengths(spec, limit, "the model"),
            *_without_adapters(spec, family, "this"),
            *_engine(spec, family, "this"),
        ]
    try:
        architecture = architecture_of(spec.model, spec.name, catalog)
    except KeyError:
        size = re.fullmatch(r"\d+(?:\.\d+)?[bm]", spec.model.name, re.IGNORECASE)
        fix = (
            (f"write {{params: {size[0].upper()}}}, or the name of a model" if size else "")
            or _elsewhere(spec.model.name, catalog)
            or _model_meant(spec.model.name, spec.model.weights)
            or way_by_name(spec.model.name)
            or _embedding_way(spec)
            or _base_of(spec.model.name, catalog)
            or _near_models(spec.model.name, catalog.models)
            or "name its config.json, or its own figures in place of its name, as model: "
            f"{{{'family: encoder, ' if _READS_ALONE.search(spec.model.name.lower()) else ''}params: ..., layers: ..., "
            "hidden: ...}; of pictures or video {family: diffusion, params: ..., forward_flop_per_sample: ...} "
            "(`sizewell docs spec`)"
        )
        return [
            Fault(
                path="model",
                found=spec.model.name,
                message=f"'{spec.model.name}' {unpredicted}"
                if (unpredicted := machine_alone_for(spec.model.name))
                else f"'{spec.model.name}' is not one of the {len(catalog.models)} models in the catalog",
                fix=f"{fix} else name its config.json" if fix.startswith("did") else fix,
            )
        ]
    engine = _engine(spec, served_family(architecture), spec.model.name)
    if spec.traffic and is_speech_recognizer(architecture):
        tokens = {"input_tokens": spec.traffic.input_tokens, "output_tokens": spec.traffic.output_tokens}
        message = f"{spec.model.name} hears audio: a request is half a minute of it, not tokens"
        return engine + [
            Fault(path=f"traffic.{key}", found=count, message=message, fix="remove it")
            for key, count in tokens.items()
            if count is not None
        ]
    faults = [*engine, *_lengths(spec, architecture.max_sequence_length, spec.model.name)]
    if spec.training and is_speech_recognizer(architecture):
        message = (
            f"{spec.model.name} is a speech model: a sample is heard and not read, so its training is not predicted"
        )
        faults.append(Fault(path="model", found=spec.model.name, message=message, fix=MACHINE_ALONE))
    heard = (("traffic.audio", spec.traffic), ("batch.audio_per_record", spec.batch))
    for path, load in heard:
        if load is not None and load.audio_s is not None and not is_speech_recognizer(architecture):
            message = f"does not apply to {spec.model.name}, which hears nothing"
            faults.append(
                Fault(path=path, message=message, fix="remove it, or name a model such as openai/whisper-large-v3")
            )
    speaks = architecture.kind == "decoder"
    faults += _without_adapters(spec, architecture.kind, spec.model.name)
    if speaks and spec.traffic and spec.traffic.input_tokens is None and spec.traffic.requests is None:
        faults.append(
            Fault(
                path="traffic.input_tokens",
                message=f"is missing; {spec.model.name} is a language model and is sized by tokens",
                fix=f"add input_tokens: 1000{'' if spec.traffic.output_tokens else ', output_tokens: 250'}, "
                "or what your requests have on average",
            )
        )
    speaking = {
        "requests": "others are sized for random arrivals",
        "burstiness": "others are sized for random arrivals",
        "prefix": "others read each request whole",
        "speculative": "others have no next token to propose",
        "input_tokens_p95": "others are sized for requests of one length",
        "output_tokens_p95": "others write nothing",
    }
    if spec.traffic and not (speaks and spec.traffic.output_tokens != 0):
        faults += [
            Fault(path=f"traffic.{key}", message=f"is for services that generate text: {others}", fix="remove it")
            for key, others in speaking.items()
            if getattr(spec.traffic, key) is not None
        ]
    if architecture.kind in ("vision", "diffusion") and spec.traffic and spec.traffic.output_tokens:
        faults.append(
            Fault(
                path="traffic.output_tokens",
                found=spec.traffic.output_tokens,
                message=f"{spec.model.name} does not generate tokens: it is a {architecture.kind} model",
                fix="remove it",
            )
        )
    return faults


def _draft(spec: WorkloadSpec, catalog: Catalog) -> list[Fault]:
    """A draft model that is not known, writes no text, or does not go with the model that it proposes to."""
    load = spec.traffic
    stated = load.speculative if load else None
    if load is None or stated is None or spec.model is None:
        return []
    try:
        model = architecture_of(spec.model, spec.name, catalog)
    except (KeyError, SpecError):
        model = None  # which is a fault of its own
    try:
        draft = None if stated.draft == NGRAM else known_model(stated.draft, catalog)
    except KeyError:

        def meant(known: Iterable[str]) -> str:
            return _model_meant(stated.draft, None) or _near_models(stated.draft, known)

        return [drafts.unknown(stated.draft, model, spec.model, catalog, meant)]
    if draft is not None and draft.kind != "decoder":
        message = (
            f"{stated.draft} generates no text: it is {'an' if draft.kind == 'encoder' else 'a'} {draft.kind} model"
        )
        return [Fault(path=drafts.PATH, found=stated.draft, message=message, fix=f"name a language model, or {NGRAM}")]
    if model is None:
        return []
    if spec.model.name is None and (model.kind != "decoder" or load.output_tokens == 0):
        message = "is for services that generate text: others have no next token to propose"
        return [Fault(path="traffic.speculative", message=message, fix="remove it")]
    if draft is None:
        return []
    old = drafts.too_old(stated.draft, draft, model, spec.engine) if spec.engine else []
    return [*old, *drafts.unfit(stated.draft, draft, model, catalog, of=spec.model, load=load)]


def _without_adapters(spec: WorkloadSpec, kind: str, name: str) -> list[Fault]:
    """LoRA adapters on a model that writes no text: no engine is launched with them."""
    if kind == "decoder" or spec.model is None or spec.model.adapters is None:
        return []
    message = f"LoRA adapters are served beside a language model; {name} is {'an' if kind == 'encoder' else 'a'} {kind}"
    return [Fault(path="model.adapters", message=f"{message} model", fix="remove it, or name a language model")]


def _engine(spec: WorkloadSpec, family: str, name: str) -> list[Fault]:
    """An engine that is not for such models: launching would refuse what was sized for it."""
    named = spec.engine.name if spec.engine else ""
    if not named or work_of(spec.kind) != "serving" or SOFTWARE[named].work != "serving":
        return []
    written = spec.traffic.output_tokens if spec.traffic else None
    writes = bool(written or (spec.batch and spec.batch.output_tokens_per_record))
    if serves(named, family, writes=writes):
        return []
    able = [each for each in named_for("serving") if each in ENGINES and serves(each, family, writes=writes)]
    kind = family if family != "decoder" else "text-generating"
    message = f"{named} does not serve {kind} models, and {name} is one"
    fix = f"use {' or '.join(able)}, or remove it" if able else f"remove it: {engine_for(family).name} serves them"
    return [Fault(path="engine.name", found=named, message=message, fix=fix)]


def _elsewhere(name: str, catalog: Catalog) -> str:
    """What to write for a model named by where it lies, or by a file that does not describe it; "" for a name."""
    page = re.fullmatch(r"(?:https?://)?(?:www\.)?huggingface\.co/([\w.-]+/[\w.-]+).*", name)
    if page:
        known = page[1] in catalog.models
        return f"write {page[1]}" if known else f"name the config.json of {page[1]}, downloaded beside the spec"
    if re.match(r"[a-z0-9]+://", name):
        return "name the model that these weights are of; where they lie is given to sizewell launch --model"
    if name.endswith(".json"):
        return f"write model: {{config: {name}}}"
    if re.match(r"\.{0,2}/|~", name) and not re.search(r"\.\w{2,11}$", name):
        return f"name the file in it: {name.rstrip('/')}/config.json"
    if re.search(r"mmproj", name, re.IGNORECASE):
        return "a projector is a part of a model: name the model, or the config.json of its original"
    if re.search(r"\.(?:gguf|safetensors|bin|pt|pth|ckpt|onnx|nemo|ya?ml|engine)$", name):
        return "it does not state the model's form: name the model it is of, or the config.json of its original"
    return f"name the file in it: {name.rstrip('/')}/config.json" if name.endswith("/") else ""


def _in_file(fault: Fault) -> Fault:
    """A fault of the `config.json` as one of the key that names the file, whose line the spec has."""
    bare = replace(fault, fix="", found=None) if fault.message else replace(fault, fix="")
    return Fault(path="model", found=fault.found, message=str(bare), fix=fault.fix)


def _lengths(spec: WorkloadSpec, limit: int | None, name: str) -> list[Fault]:
    """Texts longer than the model, which is called `name`, reads; nothing where its limit is not known."""
    faults = []
    if limit and spec.training and spec.training.sequence_length and spec.training.sequence_length > limit:
        faults.append(
            Fault(
                path="training.sequence_length",
                found=spec.training.sequence_length,
                message=f"{spec.training.sequence_length} is longer than {name} allows ({limit})",
                fix=f"write {limit}",
            )
        )
    tokens = ((spec.traffic.input_tokens or 0) + (spec.traffic.output_tokens or 0)) if spec.traffic else 0
    written = (spec.traffic.output_tokens or 0) if spec.traffic else 0
    if limit and tokens > limit:
        faults.append(
            Fault(
                path="traffic.input_tokens",
                found=tokens,
                message=f"input and output are {tokens} tokens, {name} allows {limit}",
                fix=f"write {limit - written}, or use a model with a longer context"
                if limit > written
                else "shorten them, or use a model with a longer context",
            )
        )
    elif limit and spec.traffic:
        faults += _spread_beyond(spec.traffic, limit, name)
    record = ((spec.batch.tokens_per_record or 0) + spec.batch.output_tokens_per_record) if spec.batch else 0
    if limit and record > limit:
        faults.append(
            Fault(
                path="batch.tokens_per_record",
                found=record,
                message=f"input and output are {record} tokens, {name} allows {limit}",
                fix=f"split records into parts of at most {limit}, or use a model with a longer context",
            )
        )
    return faults


def _spread_beyond(traffic: Traffic, limit: int, name: str) -> list[Fault]:
    """Lengths of which more than the five of a hundred beyond the 95th percentile are longer than the model reads."""
    mean = {key: float(getattr(traffic, key) or 0) for key in ("input_tokens", "output_tokens")}
    stated = {key: p95 for key in mean if (p95 := getattr(traffic, f"{key}_p95")) and _spreads(mean[key], p95)}

    def share(p95: Mapping[str, float]) -> float:
        spread = {key: spread_of(mean[key], p95[key]) if key in p95 else 0.0 for key in mean}
        return share_longer(
            (mean["input_tokens"], mean["output_tokens"]), (spread["input_tokens"], spread["output_tokens"]), limit
        )

    most = 0.05 + 1e-6  # a percentile that is just read has these beyond it
    beyond = share(stated) if stated else 0.0
    if beyond <= most:
        return []
    key = max(stated, key=lambda each: share({each: stated[each]}))
    fix = "name a model that reads more, or state the lengths of the requests that it serves"
    if share({**stated, key: mean[key]}) <= most:
        low, high = int(mean[key]), stated[key]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if share({**stated, key: middle}) <= most else (low, middle)
        fix += f", of which {key}_p95 is {low:,} at the most"
    message = (
        f"of {stated[key]:,} tokens with a mean of {mean[key]:,.0f} makes {beyond:.0%} of all requests longer than "
    )
    message += f"the {limit:,} tokens that {name} reads, prompt and answer together; the server refuses them"
    return [Fault(path=f"traffic.{key}_p95", found=stated[key], message=message, fix=fix)]


def _spreads(mean: float, p95: float) -> bool:
    """Whether lengths can have that mean and 95th percentile; those that cannot are refused for it."""
    return 0 < mean <= p95 <= P95_MAX * mean


def _places(spec: WorkloadSpec, catalog: Catalog) -> list[Fault]:
    clouds = sorted({shape.cloud for shape in catalog.shapes})
    faults = []
    for index, place in enumerate(spec.infra):
        if place.cloud not in clouds:
            faults.append(
                Fault(
                    path=f"infra[{index}]",
                    found=str(place),
                    allowed=f"one of {', '.join(clouds)}",
                    fix=kept_there([str(each) for each in spec.infra], catalog)
                    or place_meant(place, catalog)
                    or _near(place.cloud, clouds, 0.6),
                )
            )
        elif wrong := region_refused(place, catalog) or _zone_refused(place):
            message, fix = wrong
            faults.append(Fault(path=f"infra[{index}]", found=str(place), message=message, fix=fix))
    return faults


# Clouds with accounts of their own, by their regions: https://docs.aws.amazon.com/whitepapers/latest/
# aws-fault-isolation-boundaries/partitions.html, botocore's data/partitions.json, https://learn.microsoft.com/azure/azure-government/.
_APART: Final = (
    (r"aws/cn-[a-z]+-\d", "AWS China"),
    (r"aws/us-gov-[a-z]+-\d", "AWS GovCloud"),
    (r"aws/eusc-[a-z]+-[a-z]+-\d", "AWS European Sovereign Cloud"),
    (r"aws/(?:us|eu)-iso[a-z]?-[a-z]+-\d", "AWS's clouds without internet"),
    (r"azure/china[a-z]+\d?", "Azure China"),
    (r"azure/us(?:gov|dod)[a-z]+", "Azure Government"),
)


def region_refused(place: Place, catalog: Catalog) -> tuple[str, str] | None:
    """What is wrong with the region of a cloud that the catalog has, and what to write; None for nothing."""
    regions = catalog.regions(place.cloud)
    if not place.region or place.region in regions:
        return None
    if of := next((whose for pattern, whose in _APART if re.fullmatch(pattern, f"{place.cloud}/{place.region}")), ""):
        largest = f"{place.cloud}/{CLOUDS[place.cloud].regions.usual}"
        fix = (
            f"write {largest}, to see what is needed at the prices there; nothing is built in {place.region} from here"
        )
        return f"{place.region} is a region of {of}, whose accounts and prices are apart and not in the catalog", fix
    fix = (
        (f"write {place.cloud}" if not regions else "")  # its regions are not priced apart
        or _region_meant(place, catalog)
        or _region_elsewhere(place, catalog)
        or _regions_near(place, catalog)
        or f"it has {', '.join(f'{place.cloud}/{region}' for region in sorted(regions))}"
    )
    return f"{place.region} is not a region of {place.cloud} with accelerators in the catalog", fix


def place_meant(place: Place, catalog: Catalog) -> str:
    """A cloud by its vendor's name, or a region or a city that stands alone, with the cloud that has it."""
    row = alias("cloud", place.cloud)
    if row is not None and not row.meant:
        return row.why
    if row is not None:
        return f"write {'/'.join(part for part in (row.meant, place.region, place.zone) if part)}"
    for cloud in PROVISIONABLE:
        region = place.cloud.removeprefix(f"{cloud}-")
        if region in catalog.regions(cloud) and region != place.cloud:
            return f"write {cloud}/{region}"
    meant = [
        _region_meant(Place(cloud=cloud, region=place.cloud, zone=place.region), catalog) for cloud in PROVISIONABLE
    ]
    return "write " + ", or ".join(filter(None, meant)).replace("write ", "") if any(meant) else ""


def _region_meant(place: Place, catalog: Catalog) -> str:
    """The region that a zone, a city, or a spelling with other dashes stands for."""
    regions, written = catalog.regions(place.cloud), place.region or ""
    zone = f"/{place.zone}" if place.zone else ""
    plain = re.sub(r"[^a-z0-9]", "", written)
    for region in regions:
        if re.fullmatch(rf"{re.escape(region)}-?[a-f]", written):
            return f"write {place.cloud}/{region}/{written}"
    for region in regions:
        if plain == re.sub(r"[^a-z0-9]", "", region):
            return f"write {place.cloud}/{region}{zone}"
    row = alias("region", written)
    if row is not None and row.why == place.cloud:
        return f"write {place.cloud}/{row.meant}{zone}"
    plain = row.meant if row is not None and not row.why else plain  # the city that stands for a country
    for region in regions:
        facts = catalog.region(place.cloud, region)
        if facts is not None and plain in re.sub(r"[^a-z|]", "", facts.place.lower()).split("|"):
            return f"write {place.cloud}/{region}{zone}"
    return ""


def _regions_near(place: Place, catalog: Catalog) -> str:
    """Regions that begin as what was written, else those that are spelt nearly so, with their cloud."""
    written = place.region or ""
    facts = {region: catalog.region(place.cloud, region) for region in catalog.regions(place.cloud)}
    regions = [region for region, fact in facts.items() if fact is None or fact.access == "open"]
    begin = [region for region in regions if region.startswith(f"{written}-")]
    close = begin[:3] or difflib.get_close_matches(written, regions, 3, 0.5)
    return f"did you mean {', or '.join(f'{place.cloud}/{region}' for region in close)}?" if close else ""


def _region_elsewhere(place: Place, catalog: Catalog) -> str:
    """The cloud that has a region or a zone of this name, as that cloud spells it."""
    plain = re.sub(r"[^a-z0-9]", "", place.region or "")
    for cloud in PROVISIONABLE:
        for region in catalog.regions(cloud):
            spelt = re.sub(r"[^a-z0-9]", "", region)
            if plain == spelt or (place.region or "").startswith(f"{region}-"):
                return f"write {cloud}/{region}"
    return ""


def _zone_refused(place: Place) -> tuple[str, str] | None:
    """What is wrong with a zone by the form of the cloud's names, and what to write; None for nothing."""
    cloud, region, zone = CLOUDS.get(place.cloud), place.region or "", place.zone or ""
    if cloud is None or not zone or re.fullmatch(cloud.regions.zone_form(region), zone):
        return None
    message = f"{zone} is not a zone of {place.cloud}/{region}"
    return message, f"write {place.cloud}/{region}/{cloud.regions.zone_usual(region)}"


OWN_MACHINES: Final = "rows in catalog/shapes.csv and rates in catalog/rates.yaml (`sizewell docs own-rates`)"
OWN_DEVICES: Final = f"give your accelerators rows in catalog/accelerators.csv, and their machines {OWN_MACHINES}"


def _owned(spec: WorkloadSpec) -> bool:
    """Whether the spec is for machines of one's own alone: who has those is not helped by others to rent."""
    return {place.cloud for place in spec.infra} == {ON_PREMISES}


def _unknown_here(spec: WorkloadSpec, catalog: Catalog) -> list[Fault]:
    """That none of one's own machines has what the spec names."""
    here = [shape for shape in catalog.shapes if shape.cloud == ON_PREMISES]
    types, names = spec.resources.instance_types, spec.resources.accelerators
    keys = {item.key for name in names for item in catalog.accelerators_named(name)}
    if types and not any(shape.instance_type in types for shape in here):
        path = "resources.instance_type"
    elif keys and not any(shape.accelerator in keys for shape in here):
        path = "resources.accelerators"
    else:
        return []
    stated = _as_stated(spec, path)
    message = f"{stated} is in no machine that is known on-premises"
    return [Fault(path=path, found=stated, message=message, fix=f"give your machines {OWN_MACHINES}")]


def _together(spec: WorkloadSpec, catalog: Catalog) -> list[Fault]:
    """Two wishes of which each is sold and both together are not: no search is needed to say so."""
    if _owned(spec) and (unknown := _unknown_here(spec, catalog)):
        return unknown
    wishes = _wishes(spec, catalog)
    for index, (path, kept) in enumerate(wishes):
        for other, also in wishes[:index]:
            if kept and also and not kept & also:
                shapes = sorted(
                    (s for s in catalog.shapes if (s.cloud, s.instance_type) in kept), key=lambda s: s.cloud
                )
                sold = sorted({s.cloud for s in shapes}, key=lambda cloud: (cloud not in PROVISIONABLE, cloud))
                fix, message = (
                    "keep one of them",
                    f"{_as_stated(spec, path)} and {other}: {_as_stated(spec, other)} exclude each other",
                )
                if other == "infra":
                    fix = f"add {sold[0]} to infra, or remove {path}"
                    message = (
                        f"{_as_stated(spec, path)} is sold by {', '.join(sold)}, infra has {_as_stated(spec, other)}"
                    )
                return [Fault(path=path, found=_as_stated(spec, path), message=message, fix=fix)]
    return []


def _as_stated(spec: WorkloadSpec, path: str) -> str:
    limits = spec.resources
    if path == "resources.gpu":
        assert limits.gpu_memory is not None  # noqa: S101 - it is a wish of the spec
        return show_range(limits.gpu_memory.low, limits.gpu_memory.high, sizes=True)
    words = {
        "infra": spec.infra,
        "resources.instance_type": limits.instance_types,
        "resources.accelerators": limits.accelerators,
    }
    return ", ".join(str(word) for word in words[path])


def _wishes(spec: WorkloadSpec, catalog: Catalog) -> list[tuple[str, frozenset[tuple[str, str]]]]:
    """The machine types that each limit on its own leaves, for the limits that the spec states."""
    limits, shapes = spec.resources, catalog.shapes
    kept: list[tuple[str, Iterable[Shape]]] = []
    if spec.infra:
        clouds = {place.cloud for place in spec.infra}
        kept.append(("infra", (s for s in shapes if s.cloud in clouds)))
    if limits.instance_types:
        kept.append(("resources.instance_type", (s for s in shapes if s.instance_type in limits.instance_types)))
    if limits.accelerators:
        keys = {item.key for name in limits.accelerators for item in catalog.accelerators_named(name)}
        keys |= {""} if RUNTIME in (name.lower() for name in limits.accelerators) else set()
        kept.append(("resources.accelerators", (s for s in shapes if s.accelerator in keys)))
    if limits.gpu_memory is not None:
        low, high = limits.gpu_memory.low or 0, limits.gpu_memory.high
        # As it is sold: "24 GB" on the box is a little less for a program (`sizing.choose.candidates`).
        fits = {
            key
            for key, item in catalog.accelerators.items()
            if item.memory_bytes * 1.04 >= low and (high is None or item.memory_bytes <= high * 1.08)
        }
        kept.append(("resources.gpu", (s for s in shapes if s.accelerator in fits)))
    return [(path, frozenset((s.cloud, s.instance_type) for s in found)) for path, found in kept]


def _device(written: str, spec: WorkloadSpec, catalog: Catalog) -> str:
    """What is meant by a name that is no accelerator: a number of them, or the machine type that carries them."""
    bare, count = counted(written)
    if count and catalog.accelerators_named(bare):
        nodes = spec.resources.nodes
        if len(spec.resources.accelerators) > 1:
            return f"write {bare}; a number can be stated where one kind is named, as {{{bare}: {count}}}"
        if nodes is None:
            return f"write {{{bare}: {count}}}, the number over all machines, or [{bare}] for as many as are needed"
        if nodes.low == nodes.high:
            return f"write {{{bare}: {count * nodes.low}}}, the number over all {nodes.low} machines"
        return f"write [{bare}]; how many machines there may be is in nodes"
    if any(shape.instance_type == written for shape in catalog.shapes):
        return f"write resources: {{instance_type: {written}}}"
    if meant := slice_meant(written, catalog):
        if len(spec.resources.accelerators) > 1:
            return f"leave it out; a slice is stated alone, as resources: {{{meant.replace('},', '}},', 1)}"
        return f"write resources: {{{meant.replace('},', '}},', 1)}"
    return ""


def _hardware(spec: WorkloadSpec, catalog: Catalog) -> list[Fault]:
    limits = spec.resources
    faults = []
    named: list[tuple[str, Accelerator]] = []
    for index, name in enumerate(limits.accelerators):
        alone = len(limits.accelerators) == 1
        path = "resources.accelerators" if alone and counted(name)[1] else f"resources.accelerators[{index}]"
        meant = catalog.accelerators_named(name)
        named += [(path, item) for item in meant]
        if not meant and name.lower() != RUNTIME:  # which asks for a machine without accelerators
            bare = counted(name)[0]
            wrong = not_to_be_had(bare, catalog)
            if wrong and _owned(spec):
                wrong = (wrong[0], wrong[1], OWN_DEVICES)
            faults.append(
                Fault(
                    path=path,
                    found=name,
                    message=wrong[0] if wrong else f"'{name}' is not an accelerator of the catalog",
                    fix=wrong[2]
                    if wrong
                    else way_out("resources.accelerators", name)
                    or _device(name, spec, catalog)
                    or device_meant(bare, catalog)
                    or f"it has {', '.join(families(catalog))}",
                )
            )
    here = not spec.infra or all(place.cloud in PROVISIONABLE for place in spec.infra)
    unsold = [not_to_be_had(name, catalog) for name in limits.accelerators] if here and not faults else []
    if all(unsold):  # one that is sold is enough
        for index, (name, wrong) in enumerate(zip(limits.accelerators, unsold, strict=False)):
            assert wrong is not None  # noqa: S101 - all of them are
            faults.append(Fault(path=f"resources.accelerators[{index}]", found=name, message=wrong[0], fix=wrong[2]))
    types = {shape.instance_type: shape for shape in catalog.shapes}
    for index, name in enumerate(limits.instance_types):
        path = f"resources.instance_type[{index}]"
        if name not in types:
            faults.append(
                Fault(
                    path=path,
                    found=name,
                    message=f"'{name}' is not a machine type of the catalog",
                    fix=f"write resources: {{accelerators: [{name}]}}"
                    if catalog.accelerators_named(name)
                    else _times_of_type(name, types)
                    or _neighbours(name, types)
                    or "see `sizewell docs add-a-machine-type`",
                )
            )
        elif types[name].accelerator:
            named.append((path, catalog.accelerators[types[name].accelerator]))
    if named and all(spec.framework not in item.frameworks for _, item in named):
        able = sorted({framework for _, item in named for framework in item.frameworks})
        faults.append(
            Fault(
                path="framework",
                found=spec.framework,
                message=f"{spec.framework} does not run on {', '.join(item.name for _, item in named)}",
                fix=f"use {' or '.join(able)}, or other accelerators",
            )
        )
    generation = limits.tpu.type if limits.tpu else ""
    chips = [item for _, item in named]
    chips += {
        s.accelerator: catalog.accelerators[s.accelerator] for s in catalog.slices if s.generation == generation
    }.values()
    if chips and spec.engine and all(item.runtime not in SOFTWARE[spec.engine.name].runtimes for item in chips):
        able = [
            n for n in named_for(SOFTWARE[spec.engine.name].work) if SOFTWARE[n].runtimes & {i.runtime for i in chips}
        ]
        message = f"{spec.engine.name} has no release for {', '.join(item.name for item in chips)}"
        way = f"use engine: {' or '.join(able)}, or other accelerators" if able else "use other accelerators"
        faults.append(Fault(path="engine.name", found=spec.engine.name, message=message, fix=way))
    narrow = spec.model.precision if spec.model and spec.training else ""
    if chips and narrow in ("fp8", "fp4") and not any(item.flop_per_s.get(narrow) for item in chips):
        message = f"{', '.join(item.name for item in chips)} does not compute in {narrow}"
        faults.append(
            Fault(path="model.precision", found=narrow, message=message, fix="use bf16, or other accelerators")
        )
    tpu = limits.tpu
    if tpu is not None:
        slices = [item for item in catalog.slices if item.generation == tpu.type]
        legal = [item.topology for item in slices]
        inside = [item.topology for item in slices if item.vms == 1]
        if not legal:
            generations = catalog.tpu_generations()
            allowed, fix = f"one of {', '.join(generations)}", _near(tpu.type, generations)
            faults.append(Fault(path="resources.tpu.type", found=tpu.type, allowed=allowed, fix=fix))
        elif tpu.topology is not None and tpu.topology not in legal:
            faults.append(
                Fault(
                    path="resources.tpu.topology",
                    found=tpu.topology,
                    message=f"{tpu.topology} is not a slice of {tpu.type} that is sold",
                    fix=f"use one of {', '.join(dict.fromkeys(legal))}",
                )
            )
        elif tpu.topology is not None and spec.training is None and tpu.topology not in inside:
            asked = next(item for item in slices if item.topology == tpu.topology)
            message = f"{tpu.topology} is {asked.chips} chips in {asked.vms} machines, and only training spans machines"
            fix = f"use one of {', '.join(dict.fromkeys(inside))}; more of them are added as the load needs"
            faults.append(Fault(path="resources.tpu.topology", found=tpu.topology, message=message, fix=fix))
    return faults
