"""LoRA adapters to be served, under the names that servers and people give them, with the numbers that they state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from sizewell.sizing.units import UnitError, count
from sizewell.sizing.workload.kind_defaults import TRAINS

_MANY: Final = re.compile(
    r"(?:(?:max|num|n|number_of|total)_)?(?:cpu_)?(?:(?:lora|peft)_)?(?:loras?|adapters?|modules)(?:_count|_number)?|count"
)
_RANK: Final = re.compile(r"(?:(?:max|lora|adapter|adapters)_)*(?:rank|r)")
_NAMED: Final = re.compile(r".*(?:lora|adapter).*")
_AT_ONCE: Final = ("max_loras", "resident")  # of vLLM: how many of them are in the device's memory together


def adapters_meant(where: str, key: str, raw: Mapping[str, object]) -> str:
    """The model with its adapters; "" where no number of them is stated, or one is trained.

    >>> spec = {"kind": "inference", "model": "org/own", "adapters": 40, "lora_rank": 32}
    >>> adapters_meant("", "adapters", spec), adapters_meant("", "rps", spec)
    ('write model: {name: org/own, adapters: {count: 40, rank: 32}}', '')
    >>> adapters_meant("", "lora", {"model": "org/own", "lora": {"adapters": 20, "rank": 64}})
    'write model: {name: org/own, adapters: {count: 20, rank: 64}}'
    """
    model = raw.get("model")
    if raw.get("kind") in TRAINS:
        rank = _whole(raw.get(key)) if not where and _RANK.fullmatch(key) and len(key) > 1 else 0
        return f"write training: {{lora: {{rank: {rank}}}}}" if rank else ""
    if where not in ("", "model", "engine", "traffic") or not _NAMED.fullmatch(key):
        return ""
    stated = dict(_stated(raw))
    many = [name for name in stated if _MANY.fullmatch(name)]
    at_once = [name for name in many if name in _AT_ONCE] if len(many) > 1 else []
    counts = [stated[name] for name in many if name not in at_once]
    ranks = [stated[name] for name in stated if _RANK.fullmatch(name)]
    named = {"name": model} if isinstance(model, str) else dict(model) if isinstance(model, Mapping) else {}
    if not counts or "name" not in named:
        return ""
    adapters = {"count": counts[0]} | ({"rank": ranks[0]} if ranks else {})
    adapters |= {"resident": stated[at_once[0]]} if at_once and stated[at_once[0]] < counts[0] else {}
    known = {name: value for name, value in named.items() if name in ("name", "precision", "weights", "kv")}
    line = yaml.safe_dump(
        {"model": {**known, "adapters": adapters}}, default_flow_style=True, sort_keys=False, width=999
    )
    return f"write {line.strip()[1:-1]}"


def _stated(raw: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    """The numbers of adapters and of their rank, wherever a spec has them."""
    for section in (raw, *(raw.get(name) for name in ("engine", "traffic", "model"))):
        for key, value in section.items() if isinstance(section, Mapping) else ():
            if not _NAMED.fullmatch(str(key)):
                continue
            inside: Mapping[str, Any] = value if isinstance(value, Mapping) else {str(key): value}
            for name, number in inside.items():
                whole = len(number) if isinstance(number, list) else _whole(number)
                if whole:
                    yield str(name), whole


def _whole(value: object) -> int:
    if isinstance(value, bool):
        return 0
    try:
        return count(value)
    except UnitError:
        return 0
