"""What resources are used for, as a team states it in a YAML file: checked whole before anything is priced.

Every fault is named with its path. What a team really pays is in `sizing.catalog.rates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final

from sizewell.resources.recorded import RecordedResource
from sizewell.resources.values import number
from sizewell.sizing.catalog.rates import entries_of, unknown_key
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.money import Interval
from sizewell.sizing.places import locating, read_yaml
from sizewell.sizing.versions import content

MEASURES: Final = {
    "stored_gigabytes": "GB that a bucket or elastic file system holds",
    "egress_gigabytes": "GB sent to the internet per month",
    "inter_region_gigabytes": "GB sent to another region per month",
    "cross_zone_gigabytes": "GB sent to another zone per month; it is billed on both sides",
    "processed_gigabytes": "GB through a NAT gateway, load balancer or endpoint per month",
    "ingested_gigabytes": "GB written to a log group per month",
    "machine_hours": "machine-hours per month of a pool, endpoint or notebook",
    "capacity_unit_hours": "capacity units of a load balancer or serverless warehouse x hours per month",
    "gpu_seconds": "GPU-seconds per month of a serverless service",
    "requests": "requests per month of a function or serverless endpoint",
    "gigabyte_seconds": "memory in GB x seconds per month of a function or serverless endpoint",
    "vcpu_hours": "vCPU-hours per month that pods, tasks or containers request",
    "memory_gigabyte_hours": "memory in GB x hours per month that pods, tasks or containers request",
    "million_input_tokens": "million tokens per month that a model reads",
    "million_output_tokens": "million tokens per month that a model writes",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """Stated use per resource: the URN or the name, then the measure."""

    entries: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)

    def of(self, resource: RecordedResource, measure: str) -> Interval | None:
        """What is stated of a resource by its URN or, where that is not there, by its name."""
        entry = self.entry_of(resource, measure)
        return None if entry is None else self.entries[entry][measure]

    def entry_of(self, resource: RecordedResource, measure: str) -> str | None:
        return next((key for key in (resource.urn, resource.name) if measure in self.entries.get(key, {})), None)


NO_USAGE: Final = Usage()


def read_usage(path: Path) -> Usage:
    """A usage file: {usage: [{resource: NAME or URN, stored_gigabytes: 500 | {floor, expected, ceiling}}]}."""
    document = read_yaml(path)
    with locating(document.places):
        return parse_usage(document.data, str(path))


def parse_usage(data: object, origin: str = "usage") -> Usage:
    faults: list[Fault] = []
    entries: dict[str, dict[str, Interval]] = {}
    data = content("usage", data, origin)
    if isinstance(data, Mapping):
        faults.extend(unknown_key("", str(key), ("usage",)) for key in data if key != "usage")
    for index, entry in enumerate(entries_of(data, "usage", faults)):
        path = f"usage[{index}]"
        if not isinstance(entry, Mapping) or not isinstance(name := entry.get("resource"), str) or not name:
            faults.append(Fault(path=f"{path}.resource", found=entry, allowed="the name or URN of a resource"))
            continue
        for key, value in entry.items():
            if key == "resource":
                continue
            if key not in MEASURES:
                faults.append(unknown_key(path, str(key), MEASURES))
            elif (bounds := _interval(f"{path}.{key}", value, faults)) is not None:
                entries.setdefault(name, {})[str(key)] = bounds
    if faults:
        raise ConfigError(faults, subject=origin)
    return Usage(entries)


def _interval(path: str, value: object, faults: list[Fault]) -> Interval | None:
    if isinstance(value, Mapping):
        bounds = [number(value.get(key)) for key in ("floor", "expected", "ceiling")]
        if set(value) == {"floor", "expected", "ceiling"} and all(isinstance(b, Decimal) and b >= 0 for b in bounds):
            floor, expected, ceiling = (b for b in bounds if isinstance(b, Decimal))
            if floor <= expected <= ceiling:
                return Interval(floor, expected, ceiling)
    elif isinstance(single := number(value), Decimal) and single >= 0:
        return Interval.exactly(single)
    faults.append(Fault(path=path, found=value, allowed="a number, or floor <= expected <= ceiling, none negative"))
    return None
