"""The hardware that somebody asks for in other words: the keys of it are read together, as those of a load are.

A key names accelerators, counts them (in all, or of each machine), counts machines, or states the memory of one; its
value is a figure or a range of figures. No figure is left out: where a spec has no key for what was counted, the fix
says in which figure it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sizewell.sizing.aliases import alias
from sizewell.sizing.catalog import load
from sizewell.sizing.units import counted
from sizewell.sizing.workload.kind_defaults import TRAINS
from sizewell.sizing.workload.ways_out import in_place, named

_THING: Final = r"(?:gpu|device|accelerator|graphics_card|video_card|card|chip)"
_MACHINE: Final = r"(?:node|machine|instance|host|server|vm)"
_A_MACHINE: Final = re.compile(rf"{_THING}s?_(?:per|a|each)_{_MACHINE}|n(?:proc|tasks)_per_node")
_NUMBER: Final = r"(?:count|number|num|quantity|total|amount)"
_IN_ALL: Final = re.compile(
    rf"(?:(?:n|nr|no|how_many|{_NUMBER})_(?:of_)?)?{_THING}s|{_THING}s?_{_NUMBER}|{_THING}|count|quantity"
)
_NODES: Final = re.compile(rf"(?:(?:n|{_NUMBER})_(?:of_)?)?{_MACHINE}s?|nnodes|{_MACHINE}_{_NUMBER}")
_RAM: Final = r"(?:vram|video_(?:memory|ram)|graphics_memory|memory|mem|ram)"
_GB: Final = r"(?:_in)?(?:_gi?b)?"
_MEMORY: Final = re.compile(
    rf"{_THING}_{_RAM}(?:_size)?{_GB}|{_RAM}{_GB}_(?:per|of_each|each|a)_{_THING}{_GB}|"
    rf"(?:vram|video_(?:memory|ram)|graphics_memory)(?:_size)?{_GB}"
)
_LIMIT: Final = re.compile(
    r"(?:(?P<least>min(?:imum)?|at_least)|(?P<most>max(?:imum)?|at_most|up_to))_(?P<name>.+)|"
    r"(?P<of>.+)_(?:(?P<from>min(?:imum)?)|(?P<to>max(?:imum)?))"
)
_FIGURES: Final = re.compile(
    r"(?:(?:about|around|roughly|circa|approx\.?|ca\.?|~) ?)?"
    r"(?:(?P<most>up to|at most|max(?:imum|\.)?|no more than|<=|≤)|(?P<least>at least|min(?:imum|\.)?|from|>=|≥))? ?"
    r"(?P<low>\d+(?:\.\d+)?) ?(?P<unit>[A-Za-z]+(?: cards)?)?(?:(?P<more> ?\+|\.\.| or more| and up| minimum)|"
    r"(?: ?(?:-|–|\.\.) ?| to )(?P<high>\d+(?:\.\d+)?) ?(?:[A-Za-z]+)?)?",
    re.IGNORECASE,
)
_TYPE: Final = frozenset(
    f"{thing}{of}"
    for thing in ("gpu", "accelerator", "device", "card")
    for of in ("", "_type", "_name", "_model", "_kind")
)
_UNITS: Final = re.compile(
    rf"x|G|[KMGT]i?B|{_THING}s?|{_MACHINE}s?|pieces|units|(?:video|graphics) cards", re.IGNORECASE
)
_HOSTS: Final = ("nodes", "machines", "num_nodes", "nnodes", "hosts", "servers", "instance_count", "node_count")
_GROUPS: Final = re.compile(rf"{_THING}s?|hardware|limits|requests")
_INSIDE: Final = (
    (re.compile(rf"(?:{_THING}_)?(?:type|name|model|kind|product|class)"), "gpu_type"),
    (re.compile(rf"(?:{_THING}s?_)?{_NUMBER}|n|gpus|[a-z.]+/(?:gpu|tpu|neuron)"), "gpu_count"),
    (re.compile(rf"(?:{_THING}_)?{_RAM}{_GB}"), "vram"),
)
_OF_THE_HOST: Final = re.compile(r"v?cpus?|memory|(?:ephemeral-)?storage")
FOUND: Final = "or leave it out: how many are needed is found"

_Span = tuple[float | None, float | None]  # from, to


def machines_meant(where: str, key: str, value: object, raw: Mapping[str, object]) -> str:
    """The line to write for a key of hardware, among the resources or at the top; "" for another key.

    >>> machines_meant("", "gpus", 4, {"gpu": "A10G", "gpus": 4})
    'leave it out: it is in resources: {accelerators: {A10G: 4}}'
    >>> machines_meant("resources", "max_gpus", 2, {"resources": {"max_gpus": 2}})
    'write gpus: 1..2; or leave it out: how many are needed is found'
    >>> machines_meant("", "vram", "48 GB", {"vram": "48 GB"})
    'write resources: {gpu: 48GB..}'
    >>> machines_meant("resources", "limits", {"nvidia.com/gpu": 8}, {"resources": {"limits": {"nvidia.com/gpu": 8}}})
    'write gpus: 8; or leave it out: how many are needed is found'
    """
    stated = raw.get("resources")
    inside = {str(name): each for name, each in stated.items()} if isinstance(stated, Mapping) else {}
    top = not where
    section: dict[str, object] = {**raw, **inside} if top else inside
    if isinstance(value, Mapping) and re.fullmatch(r"replicas|(?:auto_?)?scaling(?:_config)?|replica_policy", key):
        ends = {f"{name[:3]}_replicas": each for name, each in value.items() if re.match("min|max", str(name).lower())}
        key, value, section = next(iter(ends), key), None, {**ends}
        top = True
    if isinstance(value, Mapping):
        return _in_resources(_of_a_group(value), top) if _GROUPS.fullmatch(key) else ""
    gres = re.fullmatch(r"gpu:([a-z]\w*):(\d+)", str(raw.get("gres")))  # of Slurm, of each machine
    if top and gres:
        section = {"accelerators": gres[1].upper(), "gpus_per_node": int(gres[2]), **section}
        key = "gpus_per_node" if key == "gres" else key
    if top and key in ("count", "quantity", "devices", "device", "chip", "chips", "memory"):
        return ""
    return _in_resources(_meant(key, section, top), top)


def value_meant(path: str, value: object, raw: Mapping[str, object]) -> str:
    """The line for a value of a key of the resources that cannot be read; "" where nothing is known of it.

    >>> value_meant("resources.gpus", "up to 4", {}), value_meant("resources.nodes", "2-4 nodes", {})
    ('write 1..4', 'write 2..4')
    >>> value_meant("resources.gpu", "at least 40 GB", {}), value_meant("resources.accelerators", {"2x": "H100"}, {})
    ('write 40GB..', 'write accelerators: {H100: 2}')
    """
    home, _, key = path.partition(".")
    stated = raw.get("resources")
    named_here = stated.get("accelerators") if isinstance(stated, Mapping) else None
    if key == "gpus" and isinstance(named_here, Mapping):  # whose one number the record has read as that
        key, value = "accelerators", named_here
    if home != "resources" or key not in ("accelerators", "gpus", "gpu", "nodes"):
        return ""
    if isinstance(value, Mapping):
        return _of_a_group(value) if key != "nodes" else ""
    if key == "accelerators" or not isinstance(value, str) or _size(value) != (key == "gpu"):
        return ""
    line = _range_of(key, {key: value}, key) if key != "gpu" else _memory("vram", {"vram": value})
    return f"write {line.partition(': ')[2]}" if line else ""


def over_machines(fix: str, raw: Mapping[str, object]) -> str:
    """A number of accelerators that people count by machine, over all the machines that the spec asks for."""
    fix = _TPU.sub(lambda match: _within_machines(match, raw), fix)
    resources = raw.get("resources")
    inside = resources if isinstance(resources, Mapping) else {}
    nodes = next((each[key] for each in (inside, raw) for key in _HOSTS if key in each), None)
    if type(nodes) is not int or nodes < 2 or re.search(rf"over all {nodes} machines", fix):
        return fix
    return re.sub(
        r"(accelerators: \{[^{}:]+: |^write \{[\w.-]+: )(\d+)(\}+)(?:, the number over all machines.*)?",
        lambda each: f"{each[1]}{int(each[2]) * nodes}{each[3]}, the number over all {nodes} machines",
        fix,
    )


_TPU: Final = re.compile(r"tpu: \{type: (\w+), topology: (\w+)\}(\}?), (\d+) chips")


def _within_machines(match: re.Match[str], raw: Mapping[str, object]) -> str:
    """A slice of several machines as so many of the largest that is one: only training spans machines.

    >>> over_machines("write tpu: {type: v5e, topology: 4x4}, 16 chips", {"kind": "inference"})
    'write tpu: {type: v5e, topology: 2x4}, nodes: 2, 16 chips'
    >>> over_machines("write tpu: {type: v5e, topology: 4x4}, 16 chips", {"kind": "training"})
    'write tpu: {type: v5e, topology: 4x4}, 16 chips'
    """
    meant = alias("kind", str(raw.get("kind")).lower())
    slices = [item for item in load().slices if item.generation == match[1]]
    inside = max((item for item in slices if item.vms == 1), key=lambda item: item.chips, default=None)
    chips = int(match[4])
    known = inside and any(item.topology == match[2] and item.vms == 1 for item in slices)
    if (meant.meant if meant else raw.get("kind")) in TRAINS or inside is None or known or chips % inside.chips:
        return match[0]
    nodes = chips // inside.chips
    return f"tpu: {{type: {match[1]}, topology: {inside.topology}}}, nodes: {nodes}{match[3]}, {chips} chips"


def _in_resources(fix: str, top: bool) -> str:
    match = re.match(r"(write |leave it out: it is in )((?:accelerators|gpus?|nodes): (?:[{\[].*?[}\]]|[\w.]+)"
                     r"(?:, (?:gpus?|nodes): [\w.]+)*)", fix) if top else None  # fmt: skip
    return f"{match[1]}resources: {{{match[2]}}}{fix[match.end() :]}" if match else fix


def _of_a_group(group: Mapping[object, object]) -> str:
    """One line of keys that stand together under one, as `gpu: {type: A10G, count: 4}`.

    >>> _of_a_group({"type": "A10G", "count": 4, "memory": 24}), _of_a_group({"2x": "H100"}), _of_a_group({"on": 1})
    ('write accelerators: {A10G: 4}, gpu: 24GB..', 'write accelerators: {H100: 2}', '')
    """
    named_by = {str(key): each for key, each in group.items()}
    if any("/" in key for key in named_by):  # limits of a container
        named_by = {key: each for key, each in named_by.items() if not _OF_THE_HOST.fullmatch(key)}
    if len(named_by) == 1:
        [(key, each)] = named_by.items()
        if (times := re.fullmatch(r"(\d+) ?x?", key)) and isinstance(each, str):
            named_by = {"type": each, "count": int(times[1])}
        elif _is_name(key) and re.search(r"\d", key) and _figures(each):
            named_by = {"type": key, "count": each}
    plain: dict[str, object] = {}
    for name, each in named_by.items():
        meant = next((meant for words, meant in _INSIDE if words.fullmatch(name)), "")
        if not meant or meant in plain:
            return ""
        plain[meant] = each
    device = plain.get("gpu_type")
    lines = [_meant(key, plain, True) for key in plain if key != "gpu_type" or "gpu_count" in plain]
    if _is_name(device) and "gpu_count" not in plain:
        lines.insert(0, f"write accelerators: {named(str(device))}{in_place(str(device))}")
    written = [line.removeprefix("write ") for line in dict.fromkeys(lines) if line.startswith("write ")]
    return f"write {', '.join(written)}" if written and all(lines) else ""


def _meant(key: str, section: Mapping[str, object], top: bool) -> str:
    name, lowest, highest = _limit(key)
    if top and name in ("gpu", "gpus") and _size(section.get(key)):
        return _memory("vram", {"vram": section[key]})
    if _MEMORY.fullmatch(name):
        return _memory(key, section)
    if _REPLICAS.fullmatch(name) and (line := _range_of(key, section, "replicas")):
        nodes = line.rpartition("replicas: ")[2]
        return f"leave it out: replicas follow from traffic and slo; resources: {{nodes: {nodes}}} limits the machines"
    if (lowest or highest) and _NODES.fullmatch(name):
        return _range_of(key, section, "nodes")
    types = [each for each in section if each in _TYPE and _is_name(section[each])]
    listed = section.get("accelerators")
    if isinstance(listed, list) and len(listed) == 1:
        listed = listed[0]
    if isinstance(listed, str) and not types:
        types = ["accelerators"]
    of_each = [each for each in section if _A_MACHINE.fullmatch(each) and type(section[each]) is int]
    counts = [each for each in section if _counts(each, section[each], top)]
    known = [each for each in counts if each == "gpus" and not top]
    if key not in (*types, *of_each, *counts):
        plain = not _is_name(section.get(key)) and not isinstance(section.get(key), list)
        counts_them = plain and _IN_ALL.fullmatch(name) and (name != "gpu" or top)
        return (
            "" if not counts_them or name in _TYPE else f"leave it out: how many are needed is found; gpus: {_EXAMPLE}"
        )
    hosts = next((section[each] for each in _HOSTS if each in section), 1)
    many = hosts if type(hosts) is int else 0
    if key in of_each and not types:
        return _counted_already(section[key], many, section) if many else ""
    alone = types[0] if len(types) == 1 and (top or types[0] != "gpu") else ""  # which is memory, with a fix of its own
    numbers = of_each or ([each for each in counts if each not in known] if not known else [])
    if alone and len(numbers) == 1 and key in (alone, numbers[0]) and not counted(str(section[alone]))[1]:
        low, high = _figures(section[numbers[0]]) or (None, None)
        bounds = _limit(numbers[0])
        if low == high and low and not bounds[1] and not bounds[2] and (many or not of_each):
            all_of_them = int(low) * (many if of_each else 1)
            line = _accelerators(listed if alone == "accelerators" else section[alone], all_of_them)
            line += f", the number over all {many} machines" if of_each and many > 1 else ""
            device = str(listed if alone == "accelerators" else section[alone])
            line += in_place(device)
            return (
                f"leave it out: it is in {line}" if key == numbers[0] and alone != "accelerators" else f"write {line}"
            )
    if key not in counts:
        return ""
    if isinstance(section.get("accelerators"), Mapping):
        low, high = _figures(section[key]) or (None, None)
        return _counted_already(int(low), 1, section) if low == high and low else ""
    return _range_of(key, section, "gpus", "" if section.get("kind") == "notebook" else f"; {FOUND}")


_EXAMPLE: Final = "4, or 1..4, states it"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _figures(value) is None and bool(re.search("[A-Za-z]", value))


def _counts(key: str, value: object, top: bool) -> bool:
    name, _, _ = _limit(key)
    memory = name == "gpu" and not top
    return bool(_IN_ALL.fullmatch(name)) and not memory and not _size(value) and _figures(value) is not None


def _accelerators(written: object, number: int) -> str:
    """The accelerators and their number; several, of which each will do, with the number apart."""
    names = named(str(written))[1:-1]
    return f"accelerators: {{{names}: {number}}}" if "," not in names else f"accelerators: [{names}], gpus: {number}"


def _limit(key: str) -> tuple[str, bool, bool]:
    """A key without the word that makes it a limit, and whether it is the lowest or the highest one.

    >>> _limit("max_gpus"), _limit("nodes_min"), _limit("gpus")
    (('gpus', False, True), ('nodes', True, False), ('gpus', False, False))
    """
    match = _LIMIT.fullmatch(key)
    if match is None:
        return key, False, False
    return match["name"] or match["of"], bool(match["least"] or match["from"]), bool(match["most"] or match["to"])


def _figures(value: object) -> _Span | None:
    """From where to where a figure in words goes; None for what is none.

    >>> _figures("up to 4 GPUs"), _figures("2-4"), _figures(">= 48 GB"), _figures(8), _figures("A10G")
    ((None, 4.0), (2.0, 4.0), (48.0, None), (8.0, 8.0), None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    match = _FIGURES.fullmatch(str(value).strip())
    if match is None or (match["unit"] and not _UNITS.fullmatch(match["unit"])):
        return None
    low, high = float(match["low"]), float(match["high"] or match["low"])
    if match["most"]:
        return None, high
    return low, None if match["least"] or match["more"] else high


def _size(value: object) -> bool:
    """Whether a figure is one of bytes."""
    text = value if isinstance(value, str) else ""
    return _figures(text) is not None and bool(re.search(r"\d ?(?:[KMGT]i?B|G)\b", text))


def _memory(key: str, section: Mapping[str, object]) -> str:
    if isinstance(section.get("gpu"), str) and _size(section["gpu"]):
        return f"leave it out: gpu: {section['gpu']} stands beside it"
    in_gb = {each: _in_gb(value) if _MEMORY.fullmatch(_limit(each)[0]) else value for each, value in section.items()}
    return _range_of(key, in_gb, "gpu")


def _in_gb(value: object) -> object:
    """Memory as it is sold, of what a driver shows: 49152MiB are 48GB."""
    match = re.fullmatch(r"(\d+) ?M(i?)B", value.strip()) if isinstance(value, str) else None
    return f"{int(match[1]) / (1024 if match[2] else 1000):.0f}GB" if match else value


_REPLICAS: Final = re.compile(r"(?:num_|n_)?replicas")
_WORDS: Final = {"replicas": _REPLICAS, "gpu": _MEMORY, "gpus": _IN_ALL, "nodes": _NODES}


def _range_of(key: str, section: Mapping[str, object], home: str, said: str = "") -> str:
    """The range of all keys that limit the same; one of them writes it, the highest limit first."""
    words, unit = _WORDS[home], "GB" if home == "gpu" else ""
    spans: dict[str, _Span] = {}
    for each in section:
        name, least, most = _limit(each)
        figures = _figures(section[each]) if words.fullmatch(name) and not _is_name(section[each]) else None
        if figures is None or (not unit and _size(section[each])):
            continue
        low, high = figures
        spans[each] = (low if not most else None, high if not (least or (unit and low == high and not most)) else None)
    if key not in spans:
        return ""
    if home in section and key != home and home in spans and not unit:
        return f"leave it out: {home}: {section[home]} stands beside it, which may be a range: {home}: 1..4"
    lows = [low for low, _ in spans.values() if low is not None]
    highs = [high for _, high in spans.values() if high is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        return ""
    ends = [f"{each:g}{unit}" if each is not None else "" for each in (low, high)]
    if not unit and not ends[0]:
        ends[0] = "1"
    exact = not unit and ends[0] == ends[1]
    line = f"{home}: {ends[0] if exact else '..'.join(ends)}"
    writes = max(spans, key=lambda each: (spans[each][1] is not None, each == key))
    return f"write {line}{said}" if key == writes or len(spans) == 1 else f"leave it out: it is in {line}"


def _counted_already(each: object, nodes: int, section: Mapping[str, object]) -> str:
    """The accelerators of all machines, beside a type that has its number, a machine type, or nothing."""
    stated = section.get("accelerators")
    if not isinstance(each, int):
        return ""
    if section.get("instance_type"):
        return "leave it out: accelerators come with the machine type; nodes says how many machines"
    over = f", the number over all {nodes} machines" if nodes > 1 else ""
    if isinstance(stated, Mapping) and len(stated) == 1:
        [(name, number)] = stated.items()
        if number != each * nodes:
            return f"write accelerators: {{{name}: {each * nodes}}}{over}"
        return f"leave it out: {name}: {number} counts those of all machines"
    return "" if stated or "gpus" in section else f"write gpus: {each * nodes}{over}"
