"""Two files of a team's own: what resources are used for (usage) and what it really pays (discounts).

Both are YAML, both are checked whole before anything is priced; every fault is named with its path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from sizewell.resources.recorded import RecordedResource
from sizewell.resources.values import number
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.money import Interval, LineItem, Price, Priced

OWN_RATE: Final = "own rate"  # the source of a price that a team states itself

MEASURES: Final = {
    "stored_gigabytes": "GB that a bucket or elastic file system holds",
    "egress_gigabytes": "GB sent to the internet per month",
    "inter_region_gigabytes": "GB sent to another region per month",
    "cross_zone_gigabytes": "GB sent to another zone per month; it bills on both sides",
    "processed_gigabytes": "GB through a NAT gateway, load balancer or endpoint per month",
    "ingested_gigabytes": "GB written to a log group per month",
    "machine_hours": "machine-hours per month of a pool, endpoint or notebook",
    "capacity_unit_hours": "load balancer capacity units x hours per month",
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
        found = self.entry_of(resource, measure)
        return None if found is None else self.entries[found][measure]

    def entry_of(self, resource: RecordedResource, measure: str) -> str | None:
        return next((key for key in (resource.urn, resource.name) if measure in self.entries.get(key, {})), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A percentage off, or a fixed price, for machines or fees that match; blank fields match everything."""

    cloud: str = ""
    instance_type: str = ""
    region: str = ""
    market: str = ""
    fee: str = ""
    percent: Decimal | None = None
    usd: Decimal | None = None

    def applied(self, listed: Price) -> Price:
        if self.usd is not None:
            return Priced(self.usd, OWN_RATE, listed.date if isinstance(listed, Priced) else "")
        if self.percent is None or not isinstance(listed, Priced):
            return listed
        factor = (100 - self.percent) / 100
        return Priced(
            listed.amount * factor, f"{listed.source}, own discount {self.percent.normalize():f} %", listed.date
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """Capacity that is bought already: `count` machines at `usd_per_hour` until a date."""

    cloud: str
    instance_type: str
    region: str
    count: int
    usd_per_hour: Decimal
    until: date


@dataclass(frozen=True, slots=True)
class Discounts:
    """Own rates (the first match counts) and own commitments."""

    rates: tuple[Rate, ...] = ()
    commitments: tuple[Commitment, ...] = ()

    def machine(self, listed: Price, cloud: str, instance_type: str, region: str, market: str) -> Price:
        for rate in self.rates:
            if rate.fee == "" and all(
                want in ("", have)
                for want, have in (
                    (rate.cloud, cloud),
                    (rate.instance_type, instance_type),
                    (rate.region, region),
                    (rate.market, market),
                )
            ):
                return rate.applied(listed)
        return listed

    def fee(self, listed: Price, cloud: str, key: str) -> Price:
        for rate in self.rates:
            if rate.cloud in ("", cloud) and rate.fee in (key, "*"):
                return rate.applied(listed)
        return listed

    def with_commitments(self, items: Iterable[LineItem], on: date) -> Iterable[LineItem]:
        """On-demand machine-hours that a commitment covers become a line of their own, at the committed price."""
        ours = {f"{c.instance_type}, on-demand, {c.region}": c for c in self.commitments if c.until >= on}
        left = {what: Decimal(commitment.count * 730) for what, commitment in ours.items()}
        for item in items:
            hours = left.get(item.what, Decimal(0))
            if item.unit != "machine-hour" or item.cadence != "monthly" or hours <= 0:
                yield item
                continue
            commitment = ours[item.what]
            whole = item.quantity
            covered = Interval(*(min(bound, hours) for bound in (whole.floor, whole.expected, whole.ceiling)))
            rest = Interval(
                whole.floor - covered.floor, whole.expected - covered.expected, whole.ceiling - covered.ceiling
            )
            left[item.what] = hours - covered.ceiling
            yield replace(
                item,
                quantity=covered,
                price=Priced(commitment.usd_per_hour, "own commitment", on.isoformat()),
                how=f"{commitment.count} committed until {commitment.until.isoformat()}",
            )
            if rest.ceiling > 0:
                yield replace(item, quantity=rest, how=f"{item.how}; beyond the commitment")


NO_USAGE: Final = Usage()
NO_DISCOUNTS: Final = Discounts()


def read_usage(path: Path) -> Usage:
    """A usage file: {usage: [{resource: NAME or URN, stored_gigabytes: 500 | {floor, expected, ceiling}}]}."""
    return parse_usage(_load(path), str(path))


def parse_usage(data: Any, origin: str = "usage") -> Usage:
    faults: list[Fault] = []
    entries: dict[str, dict[str, Interval]] = {}
    for index, entry in enumerate(_entries(data, "usage", faults)):
        path = f"usage[{index}]"
        if not isinstance(entry, Mapping) or not isinstance(name := entry.get("resource"), str) or not name:
            faults.append(Fault(path=f"{path}.resource", found=entry, allowed="the name or URN of a resource"))
            continue
        for key, value in entry.items():
            if key == "resource":
                continue
            if key not in MEASURES:
                faults.append(_unknown_key(path, str(key), MEASURES))
            elif (bounds := _interval(f"{path}.{key}", value, faults)) is not None:
                entries.setdefault(name, {})[str(key)] = bounds
    if faults:
        raise ConfigError(faults, subject=origin)
    return Usage(entries)


def read_discounts(path: Path) -> Discounts:
    """A discounts file: {rates: [...], commitments: [...]}; see `Rate` and `Commitment` for the keys."""
    return parse_discounts(_load(path), str(path))


def parse_discounts(data: Any, origin: str = "discounts") -> Discounts:
    faults: list[Fault] = []
    if not isinstance(data, Mapping):
        raise ConfigError([Fault(path="", found=data, allowed="a mapping with rates, commitments")], subject=origin)
    faults.extend(
        _unknown_key("", str(key), ("rates", "commitments")) for key in data if key not in ("rates", "commitments")
    )
    rates = [_rate(f"rates[{i}]", entry, faults) for i, entry in enumerate(_entries(data, "rates", faults))]
    commitments = [
        _commitment(f"commitments[{i}]", entry, faults) for i, entry in enumerate(_entries(data, "commitments", faults))
    ]
    if faults:
        raise ConfigError(faults, subject=origin)
    return Discounts(tuple(r for r in rates if r), tuple(c for c in commitments if c))


_RATE_TEXTS: Final = ("cloud", "instance_type", "region", "market", "fee")


def _rate(path: str, entry: Any, faults: list[Fault]) -> Rate | None:
    if not isinstance(entry, Mapping):
        faults.append(Fault(path=path, found=entry, allowed="a mapping"))
        return None
    before = len(faults)
    faults.extend(
        _unknown_key(path, str(key), (*_RATE_TEXTS, "percent", "usd"))
        for key in entry
        if key not in (*_RATE_TEXTS, "percent", "usd")
    )
    if ("percent" in entry) == ("usd" in entry):
        faults.append(Fault(path=path, message="needs exactly one of percent and usd", fix="percent: 12 or usd: 2.10"))
    percent = _bounded(f"{path}.percent", entry.get("percent"), Decimal(0), Decimal(100), faults)
    usd = _bounded(f"{path}.usd", entry.get("usd"), Decimal(0), Decimal(100_000), faults)
    if len(faults) > before:
        return None
    return Rate(percent=percent, usd=usd, **{key: str(entry.get(key, "")) for key in _RATE_TEXTS})


def _commitment(path: str, entry: Any, faults: list[Fault]) -> Commitment | None:
    keys = ("cloud", "instance_type", "region", "count", "usd_per_hour", "until")
    if not isinstance(entry, Mapping):
        faults.append(Fault(path=path, found=entry, allowed="a mapping"))
        return None
    before = len(faults)
    faults.extend(_unknown_key(path, str(key), keys) for key in entry if key not in keys)
    faults.extend(
        Fault(path=f"{path}.{key}", message="is missing", fix=f"add {key}") for key in keys if key not in entry
    )
    machines = _bounded(f"{path}.count", entry.get("count"), Decimal(1), Decimal(100_000), faults)
    usd = _bounded(f"{path}.usd_per_hour", entry.get("usd_per_hour"), Decimal(0), Decimal(100_000), faults)
    until = entry.get("until")
    if isinstance(until, str):
        try:
            until = date.fromisoformat(until)
        except ValueError:
            until = None
    if not isinstance(until, date):
        faults.append(Fault(path=f"{path}.until", found=entry.get("until"), allowed="a date, YYYY-MM-DD"))
    if len(faults) > before or machines is None or usd is None or not isinstance(until, date):
        return None
    return Commitment(
        cloud=str(entry["cloud"]),
        instance_type=str(entry["instance_type"]),
        region=str(entry["region"]),
        count=int(machines),
        usd_per_hour=usd,
        until=until,
    )


def _bounded(path: str, value: Any, low: Decimal, high: Decimal, faults: list[Fault]) -> Decimal | None:
    if value is None:
        return None
    result = number(value)
    if not isinstance(result, Decimal) or not low <= result <= high:
        faults.append(Fault(path=path, found=value, allowed=f"a number from {low} to {high}"))
        return None
    return result


def _interval(path: str, value: Any, faults: list[Fault]) -> Interval | None:
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


def _entries(data: Any, key: str, faults: list[Fault]) -> list[Any]:
    if not isinstance(data, Mapping):
        faults.append(Fault(path="", found=data, allowed=f"a mapping with {key}"))
        return []
    entries = data.get(key, [])
    if not isinstance(entries, list):
        faults.append(Fault(path=key, found=entries, allowed="a list"))
        return []
    return entries


def _unknown_key(path: str, key: str, allowed: Iterable[str]) -> Fault:
    names = list(allowed)
    close = get_close_matches(key, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"one of {', '.join(names)}"
    return Fault(path=f"{path}.{key}" if path else key, message="unknown key", fix=hint)


def _load(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError([Fault(path=str(path), message="no such file")]) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError([Fault(path=str(path), message=f"cannot be read: {error}")]) from None
