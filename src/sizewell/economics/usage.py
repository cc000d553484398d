"""Machines that ran in each hour, as a file states them or as a bill in the columns of FOCUS has them, as demand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sizewell.economics.demand import Demand, Step
from sizewell.sizing.catalog.focus import MARKETS, Rows, block_of, cloud_of, is_linux, machine_of, plain, read_rows
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.money import HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sizewell.sizing.catalog import Catalog

STATED: Final = ("hour", "machine", "region", "count")
BILLED: Final = ("ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "PricingCategory", "PricingQuantity",
                 "RegionId")  # fmt: skip
HOUR: Final = timedelta(hours=1)
ZERO: Final = Decimal(0)
_EXAMPLE: Final = "2026-11-02T13:00Z"


class Machine(NamedTuple):
    """A machine type in a region."""

    cloud: str
    region: str
    instance_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What ran between two moments."""

    first: datetime
    last: datetime  # the end of the last hour
    is_bill: bool  # then it is what was paid on demand: nothing that a commitment covers is in it
    demands: Mapping[Machine, Demand]  # of a month of hours like these
    unknown: tuple[str, ...]  # types of a bill that the catalog does not know


def read_usage(path: Path, catalog: Catalog) -> Usage:
    """The demand of each machine type and region. ConfigError with line and column of what is wrong."""
    rows = read_rows(path)
    is_bill = set(BILLED) <= set(rows.columns)
    if not is_bill and (missing := [name for name in STATED if name not in rows.columns]):
        message = f"lacks {', '.join(missing)}: machines by the hour have the columns {', '.join(STATED)}"
        fix = "add them, or name a bill in the columns of FOCUS with a row an hour"
        raise ConfigError([Fault(path=str(path), message=message, fix=fix)])
    counts: dict[Machine, dict[datetime, Decimal]] = {}
    unknown: dict[str, None] = {}
    for hour, machine, count in _billed(rows) if is_bill else _stated(rows, catalog):
        if (machine.cloud, machine.instance_type) not in catalog.shapes_by_type:
            unknown[machine.instance_type] = None
            continue
        by_hour = counts.setdefault(machine, {})
        by_hour[hour] = by_hour.get(hour, ZERO) + count
    if not any(any(by_hour.values()) for by_hour in counts.values()):
        message = "has no hour of a machine on demand" if is_bill else "has no hour of a machine"
        raise ConfigError([Fault(path=str(path), message=message, fix="export it again, with a row an hour")])
    hours = [hour for by_hour in counts.values() for hour in by_hour]
    first, last = min(hours), max(hours) + HOUR
    whole = Decimal((last - first) // HOUR)
    demands = {
        machine: demand_of(list(by_hour.values()), whole)
        for machine, by_hour in counts.items()
        if any(by_hour.values())
    }
    return Usage(first=first, last=last, is_bill=is_bill, demands=demands, unknown=tuple(unknown))


def demand_of(counts: list[Decimal], hours: Decimal) -> Demand:
    """The demand of a month in which machines run as in some hours; of part of a machine, part of the hour.

    >>> demand = demand_of([Decimal(3), Decimal(1), Decimal("1.5")], Decimal(10))
    >>> [(step.machines, str(step.hours)) for step in demand.steps]
    [(1, '219'), (1, '109.5'), (1, '73')]
    """
    ordered = sorted(counts, reverse=True)
    bounds = sorted({edge for count in ordered for edge in (math.floor(count), math.ceil(count))} - {0})
    steps, below = [], 0
    for bound in bounds:
        full = sum(count >= bound for count in ordered)
        part = sum((count - below for count in ordered if below < count < bound), ZERO)  # only where they are 1 apart
        steps.append(Step(bound - below, (full + part) * HOURS_PER_MONTH / hours))
        below = bound
    return Demand(tuple(steps))


def _stated(rows: Rows, catalog: Catalog) -> Iterator[tuple[datetime, Machine, Decimal]]:
    place = {name: number for number, name in enumerate(rows.columns)}
    clouds: dict[str, list[str]] = {}
    for cloud, instance_type in catalog.shapes_by_type:
        clouds.setdefault(instance_type, []).append(cloud)
    for row in rows:
        cells = {name: plain(row[at]) for name, at in place.items()}
        sold = [cloud for cloud in clouds.get(cells["machine"], ()) if cells.get("cloud", "") in ("", cloud)]
        if len(sold) != 1:
            message = "is sold by several clouds" if sold else "is no machine type of the catalog"
            fix = "add a column cloud" if sold else "`sizewell prices show TYPE` says what is known"
            raise ConfigError([rows.fault("machine", message=f"{cells['machine']!r} {message}", fix=fix)])
        count = _number(rows, "count", cells["count"])
        yield _hour(rows, "hour", cells["hour"]), Machine(sold[0], cells["region"], cells["machine"]), count


def _billed(rows: Rows) -> Iterator[tuple[datetime, Machine, Decimal]]:
    """Hours on demand: no spot, and none that a commitment covers."""
    for cells in rows:
        row: dict[str, Any] = dict(zip(rows.columns, cells, strict=True))
        machine, (unit, block) = machine_of(row), block_of(row)
        if not machine or unit != "hour" or plain(row["ChargeCategory"]).lower() != "usage":
            continue
        start, count = _hour(rows, "ChargePeriodStart", str(row["ChargePeriodStart"])), ZERO
        if _hour(rows, "ChargePeriodEnd", str(row["ChargePeriodEnd"])) - start != HOUR:
            fix = "export the bill with a row an hour"
            raise ConfigError([rows.fault("ChargePeriodEnd", message="is not an hour after its start", fix=fix)])
        covered = plain(row.get("CommitmentDiscountStatus")).lower() == "used"
        market = MARKETS.get(plain(row["PricingCategory"]).lower(), "")
        if market == "on-demand" and not covered and is_linux(row):
            count = _number(rows, "PricingQuantity", plain(row["PricingQuantity"])) * block
        yield start, Machine(cloud_of(row), plain(row["RegionId"]), machine), count


def _hour(rows: Rows, column: str, text: str) -> datetime:
    fault = rows.fault(column, found=text, allowed="a full hour", fix=f"write it as {_EXAMPLE}")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError([fault]) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if moment.minute or moment.second:
        raise ConfigError([fault])
    return moment


def _number(rows: Rows, column: str, text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal(-1)
    if not 0 <= number <= 100_000:
        raise ConfigError(
            [rows.fault(column, found=text, allowed="a number from 0 to 100,000", fix="write the number alone")]
        )
    return number
