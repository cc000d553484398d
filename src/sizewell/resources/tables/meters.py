"""What single inputs of a resource bill beside its main price: an option that costs more, a replica, a retention.

One row of meters.csv for each. Where the catalog, or a rate of one's own, has a price of its fee it is in the total;
else the line names the fee, and the total is "+ ?". A meter of which inputs do not say how much there is has no fee.
What is billed by a use that nobody stated is named outside the totals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from sizewell import csvtables
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.tables.gaps import fee_key
from sizewell.resources.values import get, items, number
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.catalog.machine_prices import vcpus_by_name
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem

if TYPE_CHECKING:
    from sizewell.resources.context import Context

EACH: Final = "*"  # in a path: every item of a list
_NOT, _ABOVE, _BEGINS, _ENDS = "not ", "above ", "begins ", "ends "


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """A row of meters.csv: an input of some types, and what is billed for it."""

    types: tuple[str, ...]
    path: str  # keys with dots between them; "*": each item of a list
    when: tuple[str, ...] = ()
    """Values that are billed, or "not X", "above N", "begins X", "ends X"; none: any but false, zero and nothing."""
    what: str
    fee: str = ""  # "{value}" in it is the value, in small letters; the rest as `fee_key` reads it
    unit: Literal["hour", "day", "month", "unpriced", "use"]  # "use": named outside the totals
    count: int = 1  # of the fee, for each value
    by_value: bool = False  # whether the value is a number of units, those "above N" where `when` says so
    times: tuple[str, ...] = ()
    """Other inputs that the units are multiplied by: a path ("path=1" has a default), "vcpus PATH" of a machine type,
    "addresses PATH" of the length of an IPv4 prefix.
    """
    source: str

    def bills(self, value: object) -> bool:
        """Whether a value that is known bills."""
        if not self.when:
            return value not in (None, False, "false", 0, "0", "", [], {})
        return any(_fits(condition, str(value).lower()) for condition in self.when)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeInputs:
    """A row of free_inputs.csv: inputs of a type, or of every type, for which nothing is billed, or a use that the
    resource's own lines name. Only tests read it: no input of a priced type may be in no table and no price.
    """

    type: str = ""
    inputs: tuple[str, ...]
    source: str


def _fits(condition: str, value: str) -> bool:
    """Whether a value fits one condition of a row.

    >>> _fits("not standard", "tier-xl"), _fits("above 7", "731"), _fits("begins hsm", "hsm_single_tenant")
    (True, True, True)
    """
    word = condition.lower()
    if word.startswith(_NOT):
        return value not in ("", word.removeprefix(_NOT))
    if word.startswith(_ABOVE):
        stated = number(value)
        return isinstance(stated, Decimal) and stated > Decimal(word.removeprefix(_ABOVE))
    if word.startswith(_BEGINS):
        return value.startswith(word.removeprefix(_BEGINS))
    return value.endswith(word.removeprefix(_ENDS)) if word.startswith(_ENDS) else value == word


ROWS: Final = csvtables.read(Meter, Path(__file__).parent / "data/meters.csv")


def _by_type() -> Mapping[str, tuple[Meter, ...]]:
    rows: dict[str, tuple[Meter, ...]] = {}
    for row in ROWS:
        for kind in row.types:
            rows[kind] = (*rows.get(kind, ()), row)
    return rows


OF_TYPE: Final = _by_type()


def beside(resource: RecordedResource, kind: str, context: Context) -> tuple[LineItem, ...]:
    """A line for each input of a resource that bills by itself."""
    lines = []
    for meter in OF_TYPE.get(kind, ()):
        values = [value for value in stated(resource.inputs, *meter.path.split(".")) if value is not None]
        billed = [value for value in values if isinstance(value, Unknown) or meter.bills(value)]
        if not billed:
            continue
        if meter.unit == "use":
            name = context.graph.component(resource)
            context.outside.append(f"{name}: {meter.what} ({resource.name}): use not stated, not in totals")
        else:
            lines.append(_line(resource, context, meter, billed))
    return tuple(lines)


def stated(inputs: object, *path: str) -> Iterator[Any]:
    """What stands at a path: several values where it goes through a list.

    >>> list(stated({"pools": [{"tier": "a"}, {"tier": "b"}, {}]}, "pools", "*", "tier"))
    ['a', 'b', None]
    """
    if EACH not in path:
        yield get(inputs, *path)
        return
    at = path.index(EACH)
    listed = items(get(inputs, *path[:at]))
    if isinstance(listed, Unknown):
        yield UNKNOWN
        return
    for item in listed:
        yield from stated(item, *path[at + 1 :])


def _line(resource: RecordedResource, context: Context, meter: Meter, billed: list[Any]) -> LineItem:
    if any(isinstance(value, Unknown) for value in billed):
        return context.unpriced(resource, meter.what, "known only after deployment")
    if meter.unit == "unpriced":
        return context.unpriced(resource, meter.what, "its price is not in the catalog")
    key = fee_key(meter.fee.replace("{value}", str(billed[0]).lower()), resource.inputs)
    if not isinstance(key, str):
        why = "its kind is not stated" if key is None else "its kind is known only after deployment"
        return context.unpriced(resource, meter.what, why)
    units = Decimal(len(billed))
    if meter.by_value:
        free = next((Decimal(word.removeprefix(_ABOVE)) for word in meter.when if word.startswith(_ABOVE)), Decimal(0))
        units = sum((each - free for value in billed if isinstance(each := number(value), Decimal)), Decimal(0))
    for factor in meter.times:
        times = _factor(resource.inputs, factor)
        if not isinstance(times, Decimal):
            return context.unpriced(resource, meter.what, times)
        units *= times
    units *= meter.count * _TIMES_A_MONTH[meter.unit]
    return context.fee(
        resource,
        what=meter.what,
        key=key,
        unit=meter.unit,
        quantity=Interval.exactly(amount(units)),
        how="around the clock" if meter.unit == "hour" else "",
    )


_TIMES_A_MONTH: Final = {"hour": HOURS_PER_MONTH, "day": HOURS_PER_MONTH / 24, "month": Decimal(1)}


def _factor(inputs: object, factor: str) -> Decimal | str:
    """What an input multiplies the units of a meter by; why it is not known, where it is not.

    >>> machine = {"class": "db.r6g.2xlarge", "prefix": 28, "shards": "3"}
    >>> [_factor(machine, each) for each in ("vcpus class", "addresses prefix", "shards", "brokers=2")]
    [Decimal('8'), Decimal('16'), Decimal('3'), Decimal('2')]
    >>> _factor(machine, "brokers"), _factor({"shards": UNKNOWN}, "shards")
    ('it goes by brokers, which is not stated', 'it goes by shards, which is known only after deployment')
    """
    path, _, default = factor.rpartition(" ")[2].partition("=")
    value = get(inputs, *path.split("."), default=default or None)
    if isinstance(value, Unknown):
        return f"it goes by {path}, which is known only after deployment"
    if factor.startswith("vcpus "):
        vcpus = vcpus_by_name(str(value).removeprefix("db."))
        return f"it goes by the vCPUs of {value}, which are not known" if vcpus is None else Decimal(vcpus)
    stated = number(value)
    if not isinstance(stated, Decimal):
        return f"it goes by {path}, which is not stated"
    return 2 ** (32 - stated) if factor.startswith("addresses ") else stated
