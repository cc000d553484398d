"""Reading a workload spec: YAML in, a frozen `WorkloadSpec` out, or one `SpecError` with every fault.

    spec = read_spec("examples/chat.yaml")
    spec.training, spec.traffic, spec.model, ...   base units, defaults filled in
    spec.digest()                                  sha256 of the resolved content
    resolved.resolved(spec)                        each value as it would be written, with the origin of each default

The parts: `sizing/units.py` (quantities), and in this folder `text.py` (text to plain data, bounded), `model.py` and
`sections.py` (the records), `kind_defaults.py` (what a kind of work adds), `architecture.py` (the model, read once),
`checks.py` (what contradicts what), `names.py` (what only the catalog knows), `faults.py`
and `places.py` (what is wrong, and where it stands), `resolved.py` (the echo of `--show-spec`).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.versions import refusal
from sizewell.sizing.workload.checks import contradictions
from sizewell.sizing.workload.model import WorkloadSpec
from sizewell.sizing.workload.text import ONE_EACH, SEVERAL, load_mapping, read_text

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.workload.request_log import Log

RECORDED = (
    *("rps", "requests_per_hour", "concurrent_users", "daily", "burstiness", "prefix", "images", "audio"),
    *("input_tokens", "output_tokens", "input_tokens_p95", "output_tokens_p95"),
)
"""What a log says of traffic, and a spec beside it does not."""

__all__ = ["WorkloadSpec", "parse_spec", "read_spec", "spec_schema"]


def read_spec(path: str | Path, catalog: Catalog | None = None) -> WorkloadSpec:
    """Read a spec file. With a catalog, names that it does not know (model, accelerator, region) are faults too.

    Raises SpecError with all faults, each with path, value, what is allowed and the way out.
    """
    path = Path(path)
    if not path.exists() and (way := _no_file(str(path))):
        raise SpecError([Fault(path=str(path), message="no such file", fix=way)])
    return parse_spec(read_text(path), str(path), catalog=catalog, folder=path.parent)


def _no_file(named: str) -> str:
    """What to do with a model or a command line in the place of a file; "" where it is neither."""
    from sizewell.sizing.aliases import CLOSED, alias
    from sizewell.sizing.catalog import load
    from sizewell.sizing.workload.foreign.command import is_known
    from sizewell.sizing.workload.names import first_workload

    path = Path(named)
    if beside := _beside_it(path):
        return f"did you mean {shlex.quote(str(beside))}?"
    if re.search(r"\s", named):
        return f'it is a command line: run: sizewell import "{named}"' if is_known(named) else ""
    catalog, row = load(), alias("model", named)
    name = row.meant if row else named
    if name.lower() not in catalog.model_names:
        return ""
    first = first_workload(name)
    what = "it is an API, whose weights nobody has; of an open model" if row and row.why == CLOSED else "it is a model"
    return f"{what}: write a first spec: sizewell new {first} --model {name}"


def _beside_it(path: Path) -> Path | None:
    """The spec that a name without its suffix, with the other one, or mistyped by a letter or two stands for."""
    import difflib

    try:
        there = [each.name for each in path.parent.iterdir() if each.suffix in (".yaml", ".yml")]
    except OSError:
        return None
    stems = {name.rpartition(".")[0]: name for name in sorted(there, reverse=True)}  # of two suffixes the usual one
    stem = path.name.rpartition(".")[0] if path.suffix in (".yaml", ".yml") else path.name
    near = [stem] if stem in stems else difflib.get_close_matches(stem, stems, 1, 0.7)
    return path.with_name(stems[near[0]]) if near else None


def parse_spec(
    text: str, origin: str = "spec", *, catalog: Catalog | None = None, folder: Path | None = None
) -> WorkloadSpec:
    """As `read_spec`, from text; a `config.json` that `model` names is looked up beside the spec, in `folder`."""
    try:
        raw = load_mapping(text, origin)
    except SpecError as error:
        raise _of_another_tool(text, origin) or error from None
    schema = raw.pop("schema", None)
    wrong, fix = refusal("spec", schema)
    if wrong:
        if another := _of_another_kind({**raw, "schema": schema}, origin):
            raise another
        from sizewell.sizing.workload.places import placed

        raise SpecError(placed([Fault(path="schema", message=wrong, fix=fix)], text), subject=origin)
    faults = [*_in_capitals(raw), *_beside(raw), *_unspaced(raw), *_without_values(raw)]
    given = frozenset(_leaf_paths(raw))
    if folder is not None:
        faults += _read_config(raw, folder)
    log, unread = _read_requests(raw, folder or Path(), catalog)
    faults += unread
    try:
        spec, faults = _judged(raw, catalog, given, faults)
    except SpecError as error:  # of a configuration that the model is read from
        from sizewell.sizing.workload.places import placed

        inside = [replace(fault, path="model", message=f"{fault.path}: {fault.message}") for fault in error.faults]
        raise SpecError(placed(inside, text), subject=origin) from None
    if faults or spec is None:
        if another := _of_another_kind(raw, origin) or _of_another_tool(text, origin):
            raise another
        from sizewell.sizing.workload.places import placed
        from sizewell.sizing.workload.repair import (
            gathered,
            of_the_machine_alone,
            together,
            tried_with_others,
            without_added,
        )

        def judge(changed: Mapping[str, Any]) -> list[Fault]:
            return _faults_of(changed, catalog)

        faults = [tried_with_others(raw, fault, faults, judge) for fault in faults]
        faults = [tried_with_others(raw, fault, faults, judge) for fault in together(raw, faults, judge)]
        faults = gathered(raw, of_the_machine_alone(without_added(raw, faults)))
        raise SpecError(placed(faults, text), subject=origin, note=_once_mended(raw, faults, catalog))
    spec._given = given  # noqa: SLF001 - the record is being made here
    spec._origin = origin  # noqa: SLF001
    spec._log = log  # noqa: SLF001
    return spec


def _once_mended(raw: Mapping[str, Any], faults: Sequence[Fault], catalog: Catalog | None) -> str:
    """What the spec says once every fix is done, where several keys of its load are: so that a wrong guess is seen."""
    from sizewell.sizing.workload.repair import repaired
    from sizewell.sizing.workload.unplaced import said_of, several_of_load

    if not several_of_load([fault.path for fault in faults if fault.message.startswith("unknown key")]):
        return ""
    made: Mapping[str, Any] = raw
    for fault in faults:
        after = repaired(made, fault)
        if after is None:
            return ""
        made = after
    spec, left = _judged(made, catalog, frozenset(_leaf_paths(made)))
    said = said_of(spec) if spec is not None and not left else ""
    return f"so written it is: {said}" if said else ""


def _unknown_apart(raw: Mapping[str, Any], touched: Sequence[str], catalog: Catalog) -> list[Fault]:
    """Names of a spec that the catalog does not know, where what else is wrong leaves no spec to look them up in."""
    from sizewell.sizing.workload.names import unknown_names

    parts = {key: raw[key] for key in ("model", "infra", "resources") if key in raw}
    parts = {key: value for key, value in parts.items() if not any(_touches(path, (key,)) for path in touched)}
    spec, _ = _validate({"name": "x", "kind": "inference", "traffic": {"rps": 1}, **parts})
    found = unknown_names(spec, catalog) if spec is not None else []
    return [fault for fault in found if _touches(fault.path, tuple(parts))]


def _of_another_kind(raw: Mapping[str, Any], origin: str) -> SpecError | None:
    """One answer where the file is one of the project's other files."""
    called = str(raw.get("schema") or "")
    listed = next((each for key, each in raw.items() if key not in ("infra", "data") and isinstance(each, list)), [])
    if "kind" not in raw and any(isinstance(each, dict) and "kind" in each for each in listed):
        return SpecError([Fault(path="", message=SEVERAL.format(len(listed)), fix=ONE_EACH)], subject=origin)
    if isinstance(raw.get("config"), dict) and not {"name", "kind"} & raw.keys():
        called = "the configuration of a Pulumi stack"
    elif "runtime" in raw and "kind" not in raw:
        called = "a Pulumi project"
    elif not called.startswith("sizewell.") or called.startswith("sizewell.spec"):
        return None
    way = "name a spec, as in stacks/specs/STACK, or a stack: sizewell size --stack STACK"
    return SpecError([Fault(path="", message=f"this is {called}, not a spec", fix=way)], subject=origin)


def _of_another_tool(text: str, origin: str) -> SpecError | None:
    """One answer in place of a fault for every key, where the text is a SkyPilot task, a manifest or the like."""
    from sizewell.sizing.workload.foreign.recognise import CALLED, tool_of_text

    tool = tool_of_text(text)
    if tool is None:
        return None
    way = f"run: sizewell import {shlex.quote(origin)}"
    return SpecError([Fault(path="", message=f"this is {CALLED[tool]}, not a spec", fix=way)], subject=origin)


def spec_schema() -> dict[str, object]:
    """The JSON Schema (2020-12) of a spec file, for editors."""
    from sizewell.sizing.workload.schema import schema

    return schema()


def _faults_of(raw: Mapping[str, Any], catalog: Catalog | None) -> list[Fault]:
    """What is wrong with a spec in which a fix was done."""
    return _judged(raw, catalog, frozenset(_leaf_paths(raw)))[1]


_FAULTS_MAX: Final = 150  # nobody mends more by one message


def _judged(
    raw: Mapping[str, Any], catalog: Catalog | None, given: frozenset[str], before: Sequence[Fault] = ()
) -> tuple[WorkloadSpec | None, list[Fault]]:
    """The record of a spec, or of what is right in it, and all that is wrong: `before` and what is found here."""
    from sizewell.sizing.workload.faults import as_meant

    spec, invalid = _validate(raw)
    faults = [*before, *invalid]
    if spec is None and invalid:
        spec, _ = _validate(_without_paths(as_meant(raw), [fault.path for fault in invalid if fault.path != "kind"]))
    if spec is not None:
        touched = tuple(fault.path for fault in faults)
        more = contradictions(spec, given)
        if catalog is not None:
            from sizewell.sizing.workload.machines_meant import over_machines
            from sizewell.sizing.workload.names import unknown_names

            more += [replace(fault, fix=over_machines(fault.fix, raw)) for fault in unknown_names(spec, catalog)]
        faults += [fault for fault in _told_once(more) if not _touches(fault.path, touched)]
    elif catalog is not None:
        faults += _unknown_apart(raw, [fault.path for fault in faults], catalog)
    return spec, faults


def _validate(raw: Mapping[str, Any]) -> tuple[WorkloadSpec | None, list[Fault]]:
    try:
        return WorkloadSpec.model_validate(raw), []
    except ValidationError as error:
        from sizewell.sizing.workload.faults import fault_of

        errors = error.errors(include_url=False)
        faults = [fault_of(item, raw) for item in errors[:_FAULTS_MAX]]
        if more := len(errors) - len(faults):
            way_out = "mend these first, or begin from a first spec: sizewell new chat"
            faults.append(Fault(path="", message=f"{more} more faults are not listed", fix=way_out))
        return None, list({(fault.path, fault.message or fault.allowed): fault for fault in faults}.values())


def _read_config(raw: dict[str, Any], folder: Path) -> list[Fault]:
    """Put the content of a config.json that `model` names into the raw spec."""
    model = raw.get("model")
    path = model if isinstance(model, str) else model.get("config") if isinstance(model, dict) else None
    if not isinstance(path, str) or not path.endswith(".json") or len(path) > 300:
        return []
    where = "model" if isinstance(model, str) else "model.config"
    try:
        content = json.loads(read_text(folder / Path(path).expanduser()))
    except SpecError as error:
        return [
            Fault(path=where, found=path, message=error.faults[0].message, fix="name a config.json next to the spec")
        ]
    except (ValueError, RecursionError) as error:
        return [Fault(path=where, found=path, message=f"{path} is not JSON: {error}", fix=_fetched(folder / path))]
    if not isinstance(content, dict):
        return [
            Fault(path=where, found=path, message=f"{path} is not a JSON object", fix="use the model's config.json")
        ]
    raw["model"] = {**(model if isinstance(model, dict) else {"config": path}), "config_content": content}
    return []


def _read_requests(raw: dict[str, Any], folder: Path, catalog: Catalog | None) -> tuple[Log | None, list[Fault]]:
    """The log that `traffic.requests` names, and the rate and lengths of it put into the raw spec."""
    traffic = raw.get("traffic")
    named = traffic.get("requests") if isinstance(traffic, dict) else None
    form = {"file": named} if isinstance(named, str) else named
    if not isinstance(traffic, dict) or not isinstance(form, dict) or not isinstance(form.get("file"), str):
        return None, []
    from sizewell.sizing.workload.request_log import NAME_THEM, columns_of, read_log

    columns = form.get("columns")
    try:
        log = read_log(
            folder / Path(form["file"]).expanduser(), columns_of(columns) if isinstance(columns, str) else None
        )
    except SpecError as error:
        from sizewell.sizing.workload.loads import rate_meant

        fault = error.faults[0]
        if isinstance(named, str) and (rate := rate_meant(named, raw)):
            message, fix = "names a file of recorded requests, and this is a rate", rate.replace("write", "write rps:")
            return None, [Fault(path="traffic.requests", found=named, message=message, fix=fix)]
        message = fault.message or f"{fault.found} is not {fault.allowed}"
        fix = NAME_THEM if fault.path == "--columns" else fault.fix
        fix = re.sub(r"--columns (\S+)", rf'requests: {{file: {form["file"]}, columns: "\1"}}', fix)
        return None, [Fault(path="traffic.requests", found=form["file"], message=message, fix=fix)]
    found = log.sha256
    limit = _read_at_most(raw.get("model"), catalog)
    served, (refused, says) = log.served(limit), log.refused(limit)
    if not served:
        message, fix = f"has none that is served: {says}", "name a model that reads more"
        return None, [Fault(path="traffic.requests", found=form["file"], message=message, fix=fix)]
    if not served.seconds:
        message = "all its requests come at one time, which is no rate"
        message = f"{message} ({says})" if refused else message
        return None, [Fault(path="traffic.requests", found=form["file"], message=message, fix="name a longer log")]
    means = log.means(limit)
    own = [key for key in RECORDED if traffic.get(key, means.get(key)) != means.get(key)]  # `--show-spec` writes them
    faults = [
        Fault(path=f"traffic.{key}", message="is stated, and the log of traffic.requests has its own", fix="remove it")
        for key in own
    ]
    if form.get("sha256") not in (None, found):
        fix = f"write sha256: {found}, and decide again"
        faults.append(Fault(path="traffic.requests.sha256", message="the log has other requests", fix=fix))
    kept = {key: value for key, value in traffic.items() if key not in own}
    raw["traffic"] = {**kept, "requests": {**form, "sha256": found}, **means}
    return log, faults


def _read_at_most(model: object, catalog: Catalog | None) -> int | None:
    """Tokens that a model reads as it is written; None where that is not known, or what is written is no model."""
    from sizewell.sizing.catalog import load
    from sizewell.sizing.workload.architecture import architecture_of, read_at_most

    spec, _ = _validate({"name": "x", "kind": "inference", "traffic": {"rps": 1}, "model": model})
    if spec is None or spec.model is None:
        return None
    try:
        return read_at_most(spec.model, architecture_of(spec.model, spec.name, catalog or load()))
    except (KeyError, SpecError):  # which the checks of names tell
        return None


def _fetched(path: Path) -> str:
    """What to do about a file that exists and is not JSON: a pointer and a page are what downloads leave."""
    start = path.expanduser().read_text(encoding="utf-8", errors="replace")[:200].lstrip().lower()
    if start.startswith("version https://git-lfs"):
        return "it is a pointer of Git LFS: run git lfs pull where it was cloned"
    if start.startswith(("<!doctype", "<html")):
        return "it is a web page, as a download without access leaves: log in (hf auth login) and download it again"
    return "use the model's config.json"


def _in_capitals(raw: dict[str, Any], above: tuple[str, ...] = ()) -> list[Fault]:
    """Read keys in capitals, with dashes or with blanks as those of a spec that they are, each with a fault of its own.

    Keys that no spec has are read in small letters too, so that what is said of them can be said.
    """
    from sizewell.sizing.workload.faults import keys_at

    faults: list[Fault] = []
    known = keys_at(above)
    for key in list(raw) if known else ():
        plain, own = _plain(key, known), key
        if plain != key and plain not in raw:
            raw[plain] = raw.pop(key)
            own = plain
            if plain in known:
                message = f"unknown key '{key}': keys are in small letters, with _ between words"
                faults.append(Fault(path=".".join((*above, key)), message=message, fix=f"did you mean '{plain}'?"))
        if isinstance(raw[own], dict):
            faults += _in_capitals(raw[own], (*above, own))
    return faults


def _plain(key: str, known: Sequence[str]) -> str:
    """A key as a spec has them.

    >>> [_plain(key, ["input_tokens"]) for key in ("Input_Tokens", "input-tokens", "inputTokens", "Words Per Page")]
    ['input_tokens', 'input_tokens', 'input_tokens', 'words_per_page']
    >>> [_plain(key, []) for key in ("apiVersion", "servingEngineSpec", "max-model-len")]
    ['apiVersion', 'servingEngineSpec', 'max-model-len']
    """
    plain = re.sub(r"[ -]+", "_", key.strip()).lower()
    if plain in known:
        return plain
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    if words in known:
        return words
    parts = re.split(r"[ _-]", key)
    spelt = all(part in (part.lower(), part.upper(), part.title()) for part in parts) and "".join(parts).isalpha()
    return plain if spelt and (key[0].isupper() or "_" in key or " " in key) else key


def _beside(raw: dict[str, Any]) -> list[Fault]:
    """Put keys that stand beside their section, which is empty, into it: one fault, that of their indentation."""
    from sizewell.sizing.workload.faults import keys_at

    faults, top = [], keys_at(())
    for section in [key for key, value in raw.items() if value in (None, "")]:
        inside = {key: raw[key] for key in keys_at((section,)) if key in raw and key not in top}
        if section in top and inside:
            for key in inside:
                del raw[key]
            raw[section] = inside
            lines = ", ".join(inside)
            message = f"is empty, and its keys stand beside it: {lines}"
            faults.append(Fault(path=section, message=message, fix=f"indent by two spaces the lines of {lines}"))
    return faults


def _unspaced(raw: dict[str, Any], above: tuple[str, ...] = ()) -> list[Fault]:
    """Read keys that have no space after the colon as what they were meant to be, each a fault of its own."""
    import yaml

    from sizewell.sizing.workload.faults import keys_at

    faults: list[Fault] = []
    for key, value in list(raw.items()):
        path = (*above, key)
        if isinstance(value, dict):
            faults += _unspaced(value, path)
        elif (
            isinstance(value, str)
            and (pairs := _PAIRS.fullmatch(value.strip()))
            and {name for name, _ in _PAIR.findall(pairs[0])} <= {*keys_at(path)}  # not hf:OWNER/NAME
        ):
            line = ", ".join(f"{name}: {text}" for name, text in _PAIR.findall(pairs[0]))
            try:
                raw[key] = yaml.safe_load(f"{{{line}}}")
            except yaml.YAMLError:
                continue
            message = "has no space after the colons of its keys"
            faults.append(Fault(path=".".join(path), message=message, fix=f"write {key}: {{{line}}}"))
        elif (
            value in (None, "") and (pair := _PAIR.fullmatch(key)) and pair[1] in keys_at(above) and pair[1] not in raw
        ):
            del raw[key]
            raw[pair[1]] = yaml.safe_load(pair[2]) if re.fullmatch(r"[\w.%/+-]+", pair[2]) else pair[2]
            message = f"'{key}' has no space after its colon"
            faults.append(Fault(path=".".join(path), message=message, fix=f"write {pair[1]}: {pair[2]}"))
    return faults


_PAIR: Final = re.compile(r"([a-z_]+):(\S+)")
_PAIRS: Final = re.compile(r"[a-z_]+:[^\s/]\S*(?:\s+[a-z_]+:\S+)*")


def _without_values(raw: dict[str, Any], above: tuple[str, ...] = ()) -> list[Fault]:
    """Take the keys without a value out, each as a fault, and those whose value is null: that is the default.

    Unknown keys stay, and are refused as such.
    """
    faults = []
    for key, value in list(raw.items()):
        if isinstance(value, dict):
            faults += _without_values(value, (*above, key))
        elif value is None or value == "":
            from sizewell.sizing.workload.faults import keys_at

            known = keys_at(above)
            raw[key] = None
            if key in known:
                del raw[key]
            if value == "" and (key in known or not known):
                fix = "remove it, or write its value after the colon"
                faults.append(Fault(path=".".join((*above, key)), message="has no value", fix=fix))
    return faults


def _leaf_paths(value: Mapping[str, Any], prefix: str = "") -> list[str]:
    paths = []
    for key, item in value.items():
        path = f"{prefix}.{key}" if prefix else key
        if path == "model" and isinstance(item, str):
            path = "model.config" if item.endswith(".json") else "model.name"
        paths += _leaf_paths(item, path) if isinstance(item, dict) and item else [path]
    return paths


def _without_paths(raw: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """The spec without what is faulty, so that the rest can be checked for contradictions in the same go."""
    reduced = json.loads(json.dumps(raw, default=str))
    for path in paths:
        *parents, leaf = path.replace("[", ".").replace("]", "").split(".")
        node = reduced
        for parent in parents:
            node = node.get(parent) if isinstance(node, dict) else None
        if isinstance(node, dict) and leaf in node:
            del node[leaf]
        elif parents:
            reduced.pop(parents[0], None)  # an item of a list, or a missing key: leave the whole section out
    return dict(reduced)


def _told_once(faults: Sequence[Fault]) -> list[Fault]:
    """The faults, of several that say that one and the same key is missing the first."""
    missing = [fault.path if fault.message.startswith("is missing") else "" for fault in faults]
    return [fault for at, fault in enumerate(faults) if not missing[at] or missing.index(missing[at]) == at]


def _touches(path: str, touched: Sequence[str]) -> bool:
    return any(path == other or path.startswith(f"{other}.") or other.startswith(f"{path}.") for other in touched)
