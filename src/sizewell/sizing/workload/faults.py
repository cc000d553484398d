"""From what pydantic found to faults that a person can act on: unknown keys with a did-you-mean, allowed values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

from sizewell.sizing import validating
from sizewell.sizing.aliases import alias
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import Fault
from sizewell.sizing.units import UnitError, count
from sizewell.sizing.workload.adapters_meant import adapters_meant
from sizewell.sizing.workload.areas import kept_there, residency_meant
from sizewell.sizing.workload.kind_defaults import TRAINS
from sizewell.sizing.workload.loads import load_meant, rate_meant, window_of
from sizewell.sizing.workload.machines_meant import machines_meant, over_machines, value_meant
from sizewell.sizing.workload.model import Dimensions, Model, Section, WorkloadSpec, place_written
from sizewell.sizing.workload.precision import STORED, understood
from sizewell.sizing.workload.schedule import hours_meant
from sizewell.sizing.workload.unplaced import unplaced
from sizewell.sizing.workload.ways_out import in_place, named, way_out


def fault_of(error: Mapping[str, object], raw: Mapping[str, object], root: type[Section] = WorkloadSpec) -> Fault:
    """One pydantic error as a fault; `root` is the record that was read."""
    fault = _fault_of(error, raw, root)
    meant = ""
    if root is WorkloadSpec and fault.found is not None:
        meant = value_meant(fault.path, fault.found, raw) or way_out(fault.path, fault.found)
    if fault.path.startswith("budget") and _trains(raw) and "mo" not in str(fault.found):
        meant = meant.replace(", or per_run", ", or monthly").replace("{monthly", "{per_run")  # what people limit
    if fault.path == "deadline" and as_meant(raw).get("kind") == "batch-inference":
        window = window_of(fault.found)
        batch = raw.get("batch")
        stated = batch.get("window") if isinstance(batch, Mapping) else None
        if stated is not None:
            meant = f"leave it out: batch.window: {stated} stands beside it"
        elif window:
            meant = f"write batch: {{window: {window}}}"
    fix = re.sub(r"(?<=: )\d{1,3}(?:,\d{3})+(?![\d,])", lambda each: each[0].replace(",", ""), meant or fault.fix)
    return replace(fault, fix=fix if " over all " in fix else over_machines(fix, raw))


def as_meant(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec with its kind as it is meant, and with hours of a service that stand under another name.

    What a key means depends on both: so many a day are so many an hour of those in which it runs.
    """
    row = alias("kind", str(raw.get("kind")).lower())
    kind = row.meant if row is not None else ""
    kind = "batch-inference" if kind == "inference" and "batch" in raw and "traffic" not in raw else kind
    made = {**raw, "kind": kind} if kind else raw
    traffic = raw.get("traffic")
    for section in (raw, traffic if isinstance(traffic, Mapping) else {}):
        for key, value in section.items():
            if made.get("kind") in ("inference", "notebook") and "schedule" not in raw and (on := _hours(key, value)):
                return {**made, "schedule": {"on": hours_meant(on)[0]}}
    return made


_HOURS: Final = re.compile(
    r"(?:(?:business|office|working|work|active|opening|operating|service|peak|on)_)?(?:hours|days)|active|uptime|when|open"
)


def _hours(key: object, value: object) -> str:
    """The hours of every day or of some that a key states; "" where it states none."""
    if not _HOURS.fullmatch(str(key)) or not isinstance(value, str) or not re.search(r"\d", value):
        return ""
    days = "Mon-Fri" if re.search(r"business|office|work", str(key)) else "daily"
    text = value if re.search(r"(?i)day|daily|week|mon|tue|wed|thu|fri|sat|sun|m-f", value) else f"{days} {value}"
    said = hours_meant(text)[1]
    return "" if "hours" in said or "days" in said else text


_OF_HOURS: Final = (  # of a schedule in several keys, in the order in which they are said
    ("days", "day", "weekdays", "dates"),
    ("hours", "times", "time"),
    ("start", "from", "begin", "begins", "open", "opens", "start_time", "starts"),
    ("stop", "end", "to", "until", "ends", "close", "closes", "end_time", "stop_time", "finish"),
    ("timezone", "time_zone", "tz", "zone"),
)


def _hours_in_keys(key: str, given: object) -> str:
    """A schedule whose days, hours and time zone stand in keys of their own, as its one line.

    >>> _hours_in_keys("stop", {"start": "08:00", "stop": "18:00", "days": ["Mon", "Tue"], "timezone": "CET"})
    'leave it out: it is in on: "Mon,Tue 08:00-18:00 CET"'
    """
    section = given if isinstance(given, Mapping) else {}
    known = [next((name for name in names if name in section), "") for names in _OF_HOURS]
    if key not in known or "on" in section:
        return ""
    days, hours, start, end, zone = (
        ",".join(map(str, value)) if isinstance(value := section.get(name, ""), list) else str(value) for name in known
    )
    text = f"{days or 'daily'} {hours or f'{start}-{end}'} {zone}".strip()
    meant, said = hours_meant(text)
    if not (hours or (start and end)) or "hours" in said:
        return ""
    first = next(str(name) for name in section if name in known)
    return f'write on: "{meant}"{said}' if key == first else f'leave it out: it is in on: "{meant}"'


def _trains(raw: Mapping[str, object]) -> bool:
    """Whether a spec is of a run, also by a kind that is called otherwise."""
    meant = alias("kind", str(raw.get("kind")).lower())
    return raw.get("kind") in TRAINS or (meant is not None and meant.meant in TRAINS)


def _fault_of(error: Mapping[str, Any], raw: Mapping[str, object], root: type[Section]) -> Fault:
    loc = tuple(part for part in error["loc"] if isinstance(part, int) or not part.startswith("function-"))
    path = _path(loc)
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(loc, error["input"], root, raw)
    if kind == "missing":
        section = _section(loc[:-1], root)
        given = _at(raw, loc[:-1])
        have = f"; it has only {', '.join(map(str, given))}" if isinstance(given, Mapping) and given else ""
        window = window_of(raw.get("deadline")) if path == "batch.window" else ""
        fix = f"add: window: {window}, in place of deadline" if window else _example(section, str(loc[-1]))
        return Fault(path=path, message=f"is missing{have}", fix=fix)
    value = error["input"]
    if kind == "literal_error":
        allowed = [str(option) for option in _literals(_annotation(loc, root))]
        near = difflib.get_close_matches(value.lower(), allowed, 1, 0.5) if isinstance(value, str) else []
        listed = " | ".join(allowed) or str(context.get("expected", "")).replace("'", "")
        fix = f"did you mean {near[0]}?" if near else ""
        if path in _NUMBER_FORMATS and (meant := understood(value, allowed)):
            fix = f"write {meant}{_kept_beside(value, trained='training' in raw)}"
        elif path == "model.precision" and (meant := understood(value, STORED)):
            fix = f"the products run in 16 bits: leave precision out and write model: {{..., weights: {meant}}}"
        meant_by = alias("kind" if path == "kind" else f"value {path}", str(value).lower())
        if meant_by is not None and meant_by.meant in allowed:
            fix = f"write {meant_by.meant}"
        if path == "kind" and fix == "write inference" and "batch" in raw and "traffic" not in raw:
            fix = "write batch-inference"
        if path == "data.residency" and isinstance(value, str):
            fix = residency_meant(value, raw.get("infra"), load()) or fix
        if path == "kind" and isinstance(value, str):
            fix = NOT_OURS.get(value.lower().replace("_", "-").replace(" ", "-"), fix)
        return Fault(path=path, found=value, allowed=listed, fix=fix)
    if kind == "unit":
        if path == "model" and isinstance(value, Mapping):  # as it is written, without what the file has
            value = {key: item for key, item in value.items() if key != "config_content"}
        meant = _places_meant(value) if path == "infra" else rate_meant(value, raw) if path == "traffic.rps" else ""
        return Fault(
            path=path,
            found=value,
            allowed=context["allowed"],
            fix=_of_statistics(path, value) or _latency(path, value) or meant or context["fix"],
        )
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        inner = _section(loc, root)
        if path == "model.adapters" and (served := adapters_meant("model", "adapters", raw)):
            return Fault(path=path, found=value, message="is a mapping, not a number of them", fix=served)
        if counts := load_meant(*path.rpartition(".")[::2], value, _at(raw, loc[:-1]), raw):
            return Fault(path=path, found=value, message="is a mapping, not a number of them", fix=counts)
        keys = ", ".join(_keys(inner)) if inner else "keys"
        dashed = isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value)
        way = f"write {path}: {{...}}, its keys without dashes" if dashed else _example(inner, "")
        return Fault(path=path, found=value, allowed=f"a mapping with {keys}", fix=way)
    if kind == "less_than_equal":
        return Fault(path=path, found=value, allowed=f"at most {context['le']:,}")
    if kind == "string_type":
        fix = f'put it in quotes: "{value}"' if isinstance(value, int | float) else ""
        return Fault(path=path, found=value, allowed="text", fix=fix)
    return replace(validating.fault_of(error, root), path=path)


def _of_statistics(path: str, stated: object) -> str:
    """A length or a latency that is stated as its mean and percentiles; "" for another value.

    >>> _of_statistics("traffic.input_tokens", {"mean": 1000, "p95": 3000}), _of_statistics("slo.ttft", {"p99": "1s"})
    ('write input_tokens: 1000, input_tokens_p95: 3000', 'write ttft: 1s, percentile: p99')
    """
    section, _, key = path.partition(".")
    if not isinstance(stated, Mapping) or section not in ("slo", "traffic"):
        return ""
    mean = next((stated[each] for each in ("mean", "avg", "average") if each in stated), None)
    if section == "traffic":
        line = f", {key}_p95: {stated['p95']}" if key.endswith("tokens") and "p95" in stated else ""
        return f"write {key}: {mean}{line}" if mean is not None else ""
    bound = next((each for each in ("p99", "p95", "p90", "p50") if each in stated), "")
    return f"write {key}: {stated[bound]}, percentile: {bound}" if bound else ""


def _places_meant(stated: object) -> str:
    """Every place of the list, not that alone which was met first; "" where one is not known."""
    mapped = isinstance(stated, Mapping)
    if isinstance(stated, Mapping | list):
        mapped = mapped or any(isinstance(each, Mapping) for each in stated)
        stated = [place for each in (stated if isinstance(stated, list) else [stated]) for place in _of_a_cloud(each)]
    parts = re.split(r"\s*[,;]\s*|\s+and\s+", stated) if isinstance(stated, str) else stated
    written = parts if isinstance(parts, list) else []
    if there := kept_there(written, load()):
        return there
    if len(written) < 2 and isinstance(stated, str):  # one place, which is looked up
        return ""
    meant = [place_written(str(place)) for place in written if isinstance(place, str)]
    known = all(meant) and len(meant) == len(written) and (meant != written or isinstance(stated, str) or mapped)
    return f"write infra: [{', '.join(meant)}]" if known else ""


def _of_a_cloud(place: object) -> list[object]:
    """Places that are stated as regions of a cloud, one by one."""
    if not isinstance(place, Mapping) or {"cloud", "region", "zone"} & {*place}:
        return [place]
    return [
        f"{cloud}/{region}" if region else cloud
        for cloud, regions in place.items()
        for region in (regions if isinstance(regions, list) else [regions])
    ]


_STEPS: Final = (
    "pipelines are not run by Sizewell: write a spec for each step and let your orchestrator call "
    "`sizewell launch STACK STEP`"
)
_SEARCH: Final = (
    "searches are not run by Sizewell: write a spec for one trial and let your orchestrator call "
    "`sizewell launch` for each"
)
_DEVICES: Final = "edge devices are sized but not updated by Sizewell: use your device management for updates"
# Kinds of work that people bring and that nothing here runs, with the way out.
NOT_OURS: Final = {
    **dict.fromkeys(("pipeline", "pipelines", "kubeflow", "kubeflow-pipelines", "kfp", "workflow", "dag"), _STEPS),
    **dict.fromkeys(("katib", "tuning", "hyperparameter-tuning", "sweep"), _SEARCH),
    **dict.fromkeys(("ota", "ota-update", "over-the-air", "edge-update", "edge-deployment"), _DEVICES),
}

_NUMBER_FORMATS: Final = ("model.precision", "model.weights", "model.kv")


def _kept_beside(stated: object, *, trained: bool) -> str:
    """Where what stands beside the format of the products is said, or why it need not be."""
    text = str(stated).lower()
    if trained and re.search(r"(?:gradient|accumul).*32|32.*(?:gradient|accumul)", text):
        return ", and training: {gradients: fp32}"
    wide = re.search(r"gradient|master|accumul|(?:and|/|\+) ?32", text)
    return "; gradients and master weights are kept as the software of the run keeps them" if wide else ""


_MEANT: Final = {  # keys that are known elsewhere and mean another thing there
    "training.lora.r": "did you mean 'rank'?",
    "training.lora.alpha": "leave it out: it changes neither memory nor time",
    "training.lora.dropout": "leave it out: it changes neither memory nor time",
    "model.context": "leave it out: what is held follows from traffic.input_tokens and output_tokens",
    "model.draft": "write it under traffic: speculative: {draft: MODEL, acceptance: 70%}, with the share you measured",
    "model.speculative": "write it under traffic: speculative: {draft: MODEL, acceptance: 70%}",
    "traffic.tokens": "write input_tokens and output_tokens",
    "traffic.load": "write one of rps, requests_per_hour and concurrent_users",
    "training.schedule": "for pipeline stages write pipeline_schedule: 1f1b; working hours stand at the top",
}
# Latencies of requests, and from which bare number on it is milliseconds that are meant.
_MILLISECONDS_FROM: Final = {"slo.ttft": 10, "slo.tpot": 1, "slo.latency": 100}


def _latency(path: str, stated: object) -> str:
    """The duration that a bare number most likely means where people count in milliseconds."""
    number = str(stated).strip()
    if path not in _MILLISECONDS_FROM or isinstance(stated, bool) or not re.fullmatch(r"\d+(?:\.\d+)?", number):
        return ""
    value = float(number)
    if value >= _MILLISECONDS_FROM[path]:
        return f"write {value:g}ms"
    return f"write {value * 1000:g}ms" if value < 1 else f"write {value:g}s"


# Words of a latency's name, the first that one has says which it is.
_BOUNDS: Final = (
    ("ttft", r"ttft|first"),
    ("tpot", r"tpot|itl|tbt|inter|between|(?:per|next|output)_(?:output_)?token"),
    (
        "latency",
        r"latency|response|e2e|end_to_end|answer|duration|(?:^|_)time(?:_|$)|wait|(?:request|image)_seconds|(?:^|_)(?:m?s|secs?|seconds|minutes)_per_",
    ),
)


_PERCENTILE: Final = re.compile(r"(?:^|_)p(50|90|95|99)(?=_|$)")


def _lower_percentile(key: str, given: object) -> str:
    """What to do with one of several percentiles of one latency: a spec has one, and the highest is the strictest."""

    def percentile(name: str) -> int:
        match = _PERCENTILE.search(name)
        return int(match[1]) if match else 0

    section = given if isinstance(given, Mapping) else {}
    of_same = [each for each in section if _PERCENTILE.sub("", each) == _PERCENTILE.sub("", key)]
    most = max(of_same, key=percentile, default=key)
    if not 0 < percentile(key) < percentile(most):
        return ""
    return f"leave it out: one percentile of a latency is held; {most}: {section[most]} stands beside it"


def _bound(key: str, stated: object, given: object = None) -> str:
    """A latency by the words of its key, with its unit and percentile: `ttft_ms: 300`, `p95_first_token: 2s`."""
    name = key.lower()
    bound = next((known for known, words in _BOUNDS if re.search(words, name)), "")
    text = str(stated).strip()
    number = re.fullmatch(r"\d+(?:\.\d+)?", text)
    unit = re.search(r"_(ms|milliseconds|millis|s|sec|secs|seconds|minutes)$", name) or re.match(
        r"(ms|milliseconds|millis|s|sec|secs|seconds|minutes)_per_", name
    )
    if number and unit:
        text += {"minutes": "m"}.get(unit[1], "ms" if unit[1].startswith("m") else "s")
    elif number:
        text = _latency(f"slo.{bound}", stated).removeprefix("write ")
    if not bound or not re.fullmatch(r"[\d.]+ ?(?:ms|s|m)", text):
        return ""
    percentile = _PERCENTILE.search(name)
    if percentile is None:
        return f"write {bound}: {text}"
    beside = [match[1] for each in (given if isinstance(given, Mapping) else ()) if (match := _PERCENTILE.search(each))]
    most = max((percentile[1], *beside))
    all_of_them = ", which holds for all latencies" if most != percentile[1] else ""
    return f"write {bound}: {text}, percentile: p{most}{all_of_them}"


def _bound_at_the_top(key: str, stated: object) -> str:
    """A latency with its percentile that stands outside of `slo`.

    >>> _bound_at_the_top("latency_p99", "2s"), _bound_at_the_top("p99", "50ms"), _bound_at_the_top("p99_cost", 3)
    ('write slo: {latency: 2s, percentile: p99}', 'write slo: {latency: 50ms, percentile: p99}', '')
    """
    name = "latency_" + key if _PERCENTILE.fullmatch(key) else key
    if _PERCENTILE.search(name) is None or not (line := _bound(name, stated)):
        return ""
    return f"write slo: {{{line.removeprefix('write ')}}}"


NO_SIZE: Final = "leave it out: it changes neither memory nor time"
_KEYS_MAX: Final = 120  # of one section: no spec has as many


def _unknown_key(loc: tuple[str | int, ...], value: object, root: type[Section], raw: Mapping[str, object]) -> Fault:
    path, given = _path(loc), _at(raw, loc[:-1])
    raw = as_meant(raw)
    known = _keys(_section(loc[:-1], root))
    where, _, key = path.rpartition(".")
    if isinstance(given, Mapping) and len(given) > _KEYS_MAX:  # what each means beside the others takes too long
        return Fault(path=path, message=f"unknown key '{key}'; allowed keys: {', '.join(known)}")
    if key in _PARTS_OF_A_PLACE and isinstance(given, Mapping) and root is WorkloadSpec:
        value = _place_of(given, raw) or value
        stated = raw.get("infra")
        if isinstance(stated, str) and str(value).startswith(f"{stated}/") and key in _PLACE[2]:
            fix = f"write infra: [{place_written(str(value))}]"
            return Fault(path=path, message=f"unknown key '{key}'; allowed keys: {', '.join(known)}", fix=fix)
    fix = (
        (_hours_in_keys(key, given) if where == "schedule" else "")
        or (way_out("schedule", hours) if where in ("", "traffic") and (hours := _hours_of(raw, key, value)) else "")
        or (machines_meant(where, key, value, raw) if where in ("", "resources") else "")
        or adapters_meant(where, key, raw)
        or _both_sides(where, key, value)
        or load_meant(where, key, value, given, raw)
        or (_lower_percentile(key, given) if where == "slo" else "")
        or way_out(path, value)
        or (_bound(key, value, given) if where == "slo" else _bound_at_the_top(key, value) if not where else "")
        or _unless_stated(_meant_by_key(path, value), given, raw)
        or _option(where, key, given, raw)
        if root is WorkloadSpec
        else ""
    )
    if not fix:
        plain = key.lower().replace("-", "_")
        near = [each for each in difflib.get_close_matches(plain, known, 3, 0.75) if _of_the_same(plain, each)]
        fix = f"did you mean '{near[0]}'?" if near else _MEANT.get(path, "")
    fix = _unless_stated(fix, given, raw) if fix.startswith("did you") else fix
    if fix == NO_SIZE and raw.get("kind") in TRAINS:
        fix += "; it is your script that takes it"
    if not fix:
        others = {"training", "batch", "traffic"} - {section for section in raw if section != "data"}  # of other work
        homes = [home for home, name in _all_keys(root) if name == key and home != where]
        homes = [home for home in homes if not where or home.partition(".")[0] not in others]
        homes.sort(key=lambda home: home.count("."))  # the section that is nearest to the top
        if homes:
            fix = f"it belongs under {homes[0]}" if homes[0] else "it belongs at the top of the spec, not in a section"
    if not fix and root is WorkloadSpec and isinstance(given, Mapping):
        rest = {other: each for other, each in given.items() if other != key}
        fix = unplaced(path, value, rest, lambda other, each: load_meant(where, other, each, rest, raw))
    return Fault(path=path, message=f"unknown key '{key}'; allowed keys: {', '.join(known)}", fix=fix)


def _both_sides(where: str, key: str, value: object) -> str:
    """Tokens that are read and written in one mapping; "" for another key.

    >>> _both_sides("", "tokens_per_step", {"input": 9000, "output": 400})
    'write traffic: {input_tokens: 9000, output_tokens: 400}'
    """
    if where not in ("", "traffic") or "token" not in key or not isinstance(value, Mapping):
        return ""
    sides = {str(name).lower(): each for name, each in value.items() if isinstance(each, int | str)}
    read = next((sides[name] for name in ("input", "in", "prompt") if name in sides), None)
    written = next((sides[name] for name in ("output", "out", "completion", "answer") if name in sides), None)
    if read is None or written is None or len(sides) != 2:
        return ""
    line = f"input_tokens: {read}, output_tokens: {written}"
    return f"write {line}" if where else f"write traffic: {{{line}}}"


def _unless_stated(fix: str, given: object, raw: Mapping[str, object]) -> str:
    """The fix but where the spec has the key that it would write: what stands there is what the user means.

    >>> _unless_stated("write output_tokens: 1024, if", {"output_tokens": 200}, {})
    'leave it out: output_tokens: 200 stands beside it'
    >>> _unless_stated("write slo: {ttft: 1s}", {}, {"slo": {"latency": "9s"}})
    'write slo: {ttft: 1s}'
    """
    match = re.match(r"did you mean '(\w+)'\?|write (\w+): (?:\{(\w+): )?", fix)
    if match is None:
        return fix
    key = match[1] or match[3] or match[2]
    beside = given if isinstance(given, Mapping) else {}
    section = (beside.get(match[2]) or raw.get(match[2])) if match[3] else beside
    if not isinstance(section, Mapping) or section.get(key) is None or isinstance(section[key], Mapping):
        return fix
    return f"leave it out: {f'{match[2]}.' if match[3] else ''}{key}: {section[key]} stands beside it"


def _hours_of(raw: Mapping[str, object], key: str, value: object) -> str:
    """The hours that a key states where they were taken for the schedule."""
    stated = raw.get("schedule")
    hours = _hours(key, value)
    taken = hours and isinstance(stated, Mapping) and stated.get("on") == hours_meant(hours)[0]
    return hours if taken else ""


def _option(where: str, key: str, given: object, raw: Mapping[str, object]) -> str:
    """A key that is an option of a server or a trainer, as `sizewell import` reads it; "" for another."""
    from sizewell.sizing.workload.foreign.command import option_meant

    if where not in ("", "model", "engine", "traffic", "training", "training.lora") or not isinstance(given, Mapping):
        return ""
    trains = raw.get("kind") in TRAINS
    section = {**given, **({"sequence-length": given["sequence_length"]} if "sequence_length" in given else {})}
    return option_meant(where, key, section, trains=trains, devices=_devices(raw))


def _devices(raw: Mapping[str, object]) -> int | None:
    """How many accelerators a spec asks for, where it says."""
    resources = raw.get("resources")
    if not isinstance(resources, Mapping):
        return None
    named = resources.get("accelerators")
    stated = next(iter(named.values())) if isinstance(named, Mapping) and len(named) == 1 else resources.get("gpus")
    return stated if isinstance(stated, int) else None


def _of_the_same(key: str, known: str) -> bool:
    """Whether keys that count one thing per another count the same: boxes of a record are no tokens of it."""
    parts, others = key.split("_per_"), known.split("_per_")
    alike = (difflib.SequenceMatcher(None, *pair).ratio() for pair in zip(parts, others, strict=False))
    return len(parts) == len(others) and all(ratio >= 0.75 for ratio in alike)


_PLACE: Final = (
    ("cloud", "provider", "cloud_provider", "vendor", "platform"),
    ("region", "location", "datacenter", "data_center", "city"),
    ("zone", "availability_zone", "az", "avail_zone", "zones"),
)
_PARTS_OF_A_PLACE: Final = frozenset(key for keys in _PLACE for key in keys)


def _place_of(given: Mapping[str, object], raw: Mapping[str, object]) -> str:
    """One place whose parts stand in several keys; a zone of AWS names its region. "" where none can be read.

    >>> _place_of({"provider": "AWS", "availability_zone": "eu-central-1b"}, {}), _place_of({"az": "1"}, {})
    ('AWS/eu-central-1/eu-central-1b', '')
    >>> _place_of({"zone": "us-central1-a"}, {"infra": "gcp/us-central1"})
    'gcp/us-central1/us-central1-a'
    """
    alone = {key: each[0] if isinstance(each, list) and len(each) == 1 else each for key, each in given.items()}
    parts = [next((str(alone[key]) for key in keys if isinstance(alone.get(key), str | int)), "") for keys in _PLACE]
    stated = raw.get("infra")
    if isinstance(stated, list) and len(stated) == 1:
        stated = stated[0]
    if isinstance(stated, str) and not parts[0]:
        parts = [mine or theirs for mine, theirs in zip(parts, [*stated.split("/"), "", ""], strict=False)]
    cloud, region, zone = parts
    if zone and not region and (match := re.fullmatch(r"([a-z]+(?:-[a-z]+)+-?\d)-?[a-f]", zone)):
        region = match[1]
    return "/".join(filter(None, (cloud, region, zone))) if region or cloud else ""


def _meant_by_key(path: str, value: object) -> str:
    """What somebody means who writes this key of another tool, with the value that stands there; "" where unknown."""
    row = alias("key", path) or alias("key", path.rpartition(".")[2])
    if row is None or not row.meant:
        return row.why if row else ""
    stated = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if "$" in row.meant and isinstance(value, list) and "[$]" in row.meant:
        stated = ", ".join(map(str, value))
    home, _, line = row.meant.rpartition(".") if re.match(r"[\w.]+: ", row.meant) else ("", "", row.meant)
    if home == path.rpartition(".")[0] and line.endswith(": $") and not row.why:
        return f"did you mean '{line.removesuffix(': $')}'?"
    if value is False and "$" not in row.meant:
        return "leave it out: that is the default"
    if (said := way_out(_target(home, line), value)).startswith("leave it out"):
        return said
    if isinstance(value, bool) and (said := way_out(row.meant.partition(": ")[0], value)):
        return said.replace("write ", f"write {row.meant.partition(': ')[0]}: ", 1)
    if "$" in row.meant and not stated:
        return f"it belongs under {home} as {line.partition(':')[0]}" if home else ""
    if part := re.search(r"\$:(\d+)", line):
        try:
            each = count(value) / int(part[1])
        except UnitError:
            return ""
        line = line.replace(part[0], f"{each:.0f}" if each >= 10 else f"{each:.2g}")
    device = isinstance(value, str) and "accelerators" in line
    line = line.replace("[$]", named(stated)) if isinstance(value, str) else line
    if "$" in line and (meant := re.fullmatch(r"write ([\w.-]+)(?:,.*)?", way_out(_target(home, line), value))):
        stated = meant[1]
    line = line.replace("$", stated)
    line = line if home == path.rpartition(".")[0] or not home else f"{home}: {{{line}}}"
    return f"write {line}{in_place(stated) if device else ''}{f', {row.why}' if row.why else ''}"


def _target(home: str, line: str) -> str:
    """The path of the value that a line writes.

    >>> _target("traffic", "images: {resolution: $}"), _target("", "spot_policy: $")
    ('traffic.images.resolution', 'spot_policy')
    """
    keys = re.findall(r"(\w+): (?=[{$])", line)
    return ".".join([*([home] if home else []), *keys])


def keys_at(steps: Sequence[str]) -> list[str]:
    """The keys of a section of the spec, () for the top.

    >>> keys_at(["slo"])
    ['ttft', 'tpot', 'latency', 'percentile']
    """
    return _keys(_section(steps, WorkloadSpec))


def _example(section: type[Section] | None, key: str) -> str:
    examples = {
        "name": "add a line such as: name: chat",
        "kind": "add one of: kind: training | fine-tuning | inference | batch-inference | notebook",
        "records": "add: records: 100k, with your number of them",
        "window": "add: window: 8h",
        "duration": "add: duration: 72h",
        "type": "add: type: v6e",
        "count": "add how many adapters there are: count: 8",
        "draft": "add the model that proposes tokens, as draft: meta-llama/Llama-3.2-1B, or draft: ngram",
        "acceptance": "add the share of steps that accept the first proposed token, as acceptance: 70%; it differs by "
        "models and requests, so there is no default (vllm:spec_decode_num_accepted_tokens_per_pos counts it)",
        "term": "add: term: 1y",
        "utilization": "add how busy the accelerators were: utilization: 40%",
        "workload": "add: workload: chat",
        "running": "add what runs now: running: {on: aws/us-east-1, instance_type: g6e.xlarge, nodes: 2}",
        "instance_type": "add: instance_type: g6e.xlarge",
        "on": 'add: on: "Mon-Fri 07:00-21:00 Europe/London"',
    }
    return examples.get(key, f"see the examples for '{section.__name__.lower()}'" if section and key else "")


def _path(loc: Sequence[str | int]) -> str:
    hidden = loc[:2] == ("model", "dimensions")
    return validating.path_of([*loc[:1], *loc[2:]] if hidden else loc)


def _at(raw: object, loc: Sequence[str | int]) -> object:
    for part in loc:
        raw = raw.get(part) if isinstance(raw, Mapping) else None
    return raw


def _sections_in(annotation: object) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in get_args(annotation):
        yield from _sections_in(argument)


def _annotation(loc: Sequence[str | int], root: type[Section]) -> object:
    """The type of the field that a location leads to; `root` itself for ()."""
    annotation: object = root
    for part in loc:
        section = next(_sections_in(annotation), None)
        if section is None or isinstance(part, int):
            continue
        field = next(
            (field for name, field in section.model_fields.items() if part in (name, field.alias)),
            None,
        )
        annotation = field.annotation if field else None
    return annotation


def _section(loc: Sequence[str | int], root: type[Section]) -> type[Section] | None:
    return next(_sections_in(_annotation(loc, root)), None)


def _literals(annotation: Any) -> list[object]:
    if getattr(annotation, "__origin__", None) is not None and "Literal" in str(annotation.__origin__):
        return list(get_args(annotation))
    return [option for argument in get_args(annotation) for option in _literals(argument)]


def _keys(section: type[Section] | None) -> list[str]:
    if section is None:
        return []
    hidden = {"config_content", "dimensions"}
    keys = [field.alias or name for name, field in section.model_fields.items()]
    own = [key for key in keys if key not in hidden]
    return list(dict.fromkeys([*own, *(_keys(Dimensions) if section is Model else ())]))


def _all_keys(section: type[Section], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every key of the spec with the path of its section, top first."""
    for key in _keys(section):
        yield prefix, key
    for name, field in section.model_fields.items():
        key = field.alias or name
        inner = next(_sections_in(field.annotation), None)
        if inner is not None and key != "dimensions":
            yield from _all_keys(inner, f"{prefix}.{key}" if prefix else key)
