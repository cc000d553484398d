"""An estimate beside the bill, month by month: line by line what explains the difference, and what the bill proves.

Estimated plus what explains the difference is billed, to the cent, in each line and in every sum: a line's quantity
explains its change at the estimated price, its price the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Final

from sizewell.economics.ahead import About, after, cost_of, days_of, share_of
from sizewell.economics.bill import COMMITTED, Bill, Charge
from sizewell.sizing.catalog.rates import Discounts, Rate
from sizewell.sizing.money import CENT, HOURS_PER_MONTH

OTHER_MACHINES: Final = "other machines"
PRICE, HOURS, QUANTITY = "price", "hours", "quantity"
NOT_ESTIMATED, NOT_BILLED, MIXED = "not estimated", "not billed", "price and quantity"
CREDITS: Final = "credits, corrections and tax"
ROUNDING: Final = "rounding"
# Why a price is another than estimated: the market in which the same machine was billed.
OTHER_MARKET: Final = {"spot": "spot", COMMITTED: "commitment", "on-demand": "on-demand"}
CAUSES: Final = (
    PRICE,
    *OTHER_MARKET.values(),
    HOURS,
    QUANTITY,
    OTHER_MACHINES,
    MIXED,
    NOT_ESTIMATED,
    NOT_BILLED,
    CREDITS,
    ROUNDING,
)
OFF: Final = Decimal("0.2")  # of the estimate: a stack that is further off is named
NOTHING: Final = Decimal("0.00")
_STORES: Final = ("s3", "simple storage", "cloud storage", "storage accounts", "elastic file")  # sold by what they hold
_METERS: Final = (  # what gigabytes are, by AWS's meters
    ("natgateway-bytes", "processed_gigabytes"),
    ("datatransfer-out-bytes", "egress_gigabytes"),
    ("dataprocessing-bytes", "ingested_gigabytes"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What was estimated of a stack in a month beside what was billed; quantities where both are of one unit."""

    month: str
    stack: str
    service: str
    what: str
    unit: str
    estimated_usd: Decimal
    billed_usd: Decimal
    estimated_quantity: Decimal | None
    billed_quantity: Decimal | None
    causes: Mapping[str, Decimal]
    idle_hours: Decimal = Decimal(0)  # of machines with accelerators, beyond those that the work was estimated to need
    idle_usd: Decimal = NOTHING
    note: str = ""

    @property
    def difference_usd(self) -> Decimal:
        return self.billed_usd - self.estimated_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A month that is not compared, as its bill is not closed."""

    month: str
    closes: str
    rows: int
    usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Actual:
    """A whole bill: what is compared, what is not ours, and what is left out and why. Their sum is the bill."""

    files: tuple[str, ...]
    months: tuple[str, ...]
    lines: tuple[Compared, ...]
    not_ours: Mapping[tuple[str, str], Decimal]  # month and service -> US dollars
    unused_usd: Decimal  # of commitments and reservations, on anybody's account: in the figures of whose they are
    open: tuple[Open, ...]
    rows: int
    usd: Decimal  # all rows, those that are counted once included once
    billed_usd: Decimal  # the same as invoiced
    twice_rows: int
    twice_usd: Decimal
    partial: Mapping[str, str]  # month -> the last moment that its rows are of
    absent: Mapping[str, Decimal]  # stacks that no row is of, which are not compared -> their estimate
    rates: Discounts
    usage: Mapping[str, Mapping[str, Decimal]]  # URN -> measure -> a month
    in_usd: Mapping[str, int]  # currency -> rows of it that are read at the dollars that they state
    foreign: Mapping[tuple[str, str], Decimal]  # stack ("" for none of ours) and currency -> what is in no figure

    @property
    def estimated_usd(self) -> Decimal:
        return sum((line.estimated_usd for line in self.lines), NOTHING)

    @property
    def ours_usd(self) -> Decimal:
        return sum((line.billed_usd for line in self.lines), NOTHING)

    @property
    def idle_usd(self) -> Decimal:
        return sum((line.idle_usd for line in self.lines), NOTHING)

    def causes(self, stack: str = "") -> dict[str, Decimal]:
        """What explains the difference, of one stack or of all."""
        sums = dict.fromkeys(CAUSES, NOTHING)
        for line in self.lines:
            if stack in ("", line.stack):
                for cause, usd in line.causes.items():
                    sums[cause] += usd
        return {cause: usd for cause, usd in sums.items() if usd}

    def stacks(self) -> dict[str, tuple[Decimal, Decimal]]:
        """Estimated and billed of each stack."""
        sums: dict[str, tuple[Decimal, Decimal]] = {}
        for line in self.lines:
            estimated, billed = sums.get(line.stack, (NOTHING, NOTHING))
            sums[line.stack] = (estimated + line.estimated_usd, billed + line.billed_usd)
        return dict(sorted(sums.items()))

    def off(self) -> tuple[str, ...]:
        """The stacks whose bill is more than a fifth beside the estimate."""
        return tuple(
            stack for stack, (estimated, billed) in self.stacks().items() if abs(billed - estimated) > OFF * estimated
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """How a bill's rows are found to be of a stack."""

    stacks: Mapping[str, About]
    tags: Mapping[str, str]  # the value of the tag `sizewell-stack` -> stack
    resources: Mapping[str, tuple[str, str]]  # the tag `sizewell-id`, or a cluster's name -> stack and URN
    names: tuple[str, ...] = ()  # of the project, as its tag says it
    accelerated: Callable[[str, str], bool] = field(default=lambda _cloud, _machine: False)

    def stack_of(self, charge: Charge) -> str:
        """The stack that a charge is of; "" where it is none of this project."""
        project = charge.tags.get("sizewell-project", "")
        if project and self.names and project not in self.names:
            return ""
        by_tag = self.tags.get(charge.tags.get("sizewell-stack", ""), "")
        known = self.resources.get(charge.tags.get("sizewell-id", "")) or self.resources.get(charge.cluster)
        return by_tag or (known[0] if known else "")


def compare(bill: Bill, charges: Mapping[date, Sequence[Charge]], project: Project, on: date) -> Actual:
    """A bill beside the lines of an estimate, at the first day of each of its months that are closed on a day and at
    each other day in them from which on other commitments hold.
    """
    closed = closed_months(bill, on)
    days = days_of((date.fromisoformat(f"{month}-01") for month in closed), charges)
    charges = {day: charges.get(day, ()) for parts in days.values() for day in parts}
    cents = _Cents()
    lines: list[Compared] = []
    others: dict[tuple[str, str], Decimal] = {}
    unclosed: dict[str, Open] = {}
    ours: list[Charge] = []
    for charge in bill.charges:
        stack = project.stack_of(charge)
        if charge.month not in closed:
            seen = unclosed.get(charge.month, Open(month=charge.month, closes=charge.ends, rows=0, usd=Decimal(0)))
            unclosed[charge.month] = replace(seen, rows=seen.rows + charge.rows, usd=seen.usd + charge.usd)
        elif stack:
            ours.append(replace(charge, stack=stack))
        else:
            key = (charge.month, charge.service or "no service named")
            others[key] = others.get(key, Decimal(0)) + charge.usd
    foreign: dict[tuple[str, str], Decimal] = {}
    for charge in bill.foreign:
        at = (project.stack_of(charge), charge.currency)
        foreign[at] = foreign.get(at, Decimal(0)) + charge.usd
    present = {each.stack for each in ours}
    absent: dict[str, Decimal] = {}
    for month in closed:
        first = date.fromisoformat(f"{month}-01")
        mine = [each for each in ours if each.month == month]
        estimate = [
            _in(each, days[first], part, project.stacks[each.stack])
            for part, day in enumerate(days[first])
            for each in charges[day]
        ]
        for each in estimate:
            if each.stack not in present and not any(each.stack == stack for stack, _ in foreign):
                absent[each.stack] = absent.get(each.stack, NOTHING) + each.usd
        lines += _month(month, [each for each in estimate if each.stack in present], mine, project, cents)
    everything = sum((each.usd for each in bill.charges), Decimal(0))
    return Actual(
        files=bill.files,
        months=closed,
        lines=tuple(lines),
        not_ours={key: cents.of(usd) for key, usd in sorted(others.items())},
        unused_usd=_rounded(
            sum((each.usd for each in bill.charges if each.unused and each.month in closed), Decimal(0))
        ),
        open=tuple(replace(each, usd=cents.of(each.usd)) for _, each in sorted(unclosed.items())),
        rows=bill.rows,
        usd=_rounded(everything),
        billed_usd=_rounded(sum((each.billed_usd for each in bill.charges), Decimal(0))),
        twice_rows=bill.twice_rows,
        twice_usd=_rounded(bill.twice_usd),
        partial={
            each.month: _until(bill, each.month) for each in ours if _until(bill, each.month)[:10] < _last_day(each)
        },
        absent={stack: usd for stack, usd in sorted(absent.items()) if usd},
        rates=_rates(ours, charges),
        usage=_usage(ours, charges, project, len(closed)),
        in_usd=bill.in_usd,
        foreign={key: _rounded(amount) for key, amount in sorted(foreign.items())},
    )


def closed_months(bill: Bill, on: date) -> tuple[str, ...]:
    """The months whose billing periods are all over on a day."""
    going_on = {each.month for each in bill.charges if each.ends > on.isoformat()}
    return tuple(sorted({each.month for each in bill.charges} - going_on))


def _until(bill: Bill, month: str) -> str:
    return max((text for begins, text in bill.until.items() if begins[:7] == month), default="")


def _last_day(charge: Charge) -> str:
    return date.fromordinal(date.fromisoformat(charge.ends).toordinal() - 1).isoformat()


class _Cents:
    """Amounts rounded one after the other so that their sum is that of the whole, rounded."""

    def __init__(self) -> None:
        self._exact, self._said = Decimal(0), NOTHING

    def of(self, usd: Decimal) -> Decimal:
        self._exact += usd
        cents = _rounded(self._exact) - self._said
        self._said += cents
        return cents


def _rounded(usd: Decimal) -> Decimal:
    return usd.quantize(CENT)


_Key = Callable[[Charge], tuple[str, ...] | None]
# How lines are found to be the same, the strictest first: what is left goes on to the next.
_STAGES: Final[tuple[_Key, ...]] = (
    lambda each: (each.stack, each.cloud, each.machine, each.market) if each.machine else None,
    lambda each: (each.stack, each.cloud, each.machine) if each.machine else None,
    lambda each: (each.stack, each.cloud, each.service, OTHER_MACHINES) if each.machine else None,
    lambda each: None if each.machine else (each.stack, each.cloud, each.service, each.unit),
    lambda each: (each.stack, each.cloud, each.service),
)
_PARTS: Final = ("hour", "gibibyte hour", "gb-hour")  # cores, memory and accelerators of machines, as Google bills them
_OF_ONE_KIND: Final = (0, 1, 3)  # whose quantities can be compared
_BY_UNIT, _BY_SERVICE = 3, 4


def _month(
    month: str, estimate: Sequence[Charge], billed: Sequence[Charge], project: Project, cents: _Cents
) -> Iterable[Compared]:
    left = [list(estimate), [each for each in billed if each.category == "usage"]]
    named = {_service(each) for each in left[1] if each.machine}
    # Where a bill has no machines, their parts are billed: none is like a line of the estimate, but together they are
    # the machines. What else the service bills (disks, traffic) has its own line.
    by_parts = {_service(each) for each in left[0] if each.machine} - named
    for number, key_of in enumerate(_STAGES):
        sides: list[dict[tuple[str, ...], list[Charge]]] = [{}, {}]
        rest: list[list[Charge]] = [[], []]
        for side, charges in enumerate(left):
            for charge in charges:
                key = key_of(charge)
                if number >= _BY_UNIT and _service(charge) in by_parts:
                    part = bool(charge.machine) or charge.unit in _PARTS
                    key = key if part == (number == _BY_SERVICE) else None
                (rest[side] if key is None else sides[side].setdefault(key, [])).append(charge)
        for key in [*sides[0], *(key for key in sides[1] if key not in sides[0])]:
            ours, theirs = sides[0].get(key, []), sides[1].get(key, [])
            if ours and theirs:
                yield _line(month, ours, theirs, cents, project, alike=number in _OF_ONE_KIND)
            else:
                rest[0] += ours
                rest[1] += theirs
        left = rest
    for ours, theirs in (*(([each], []) for each in _merged(left[0])), *(([], [each]) for each in _merged(left[1]))):
        if any(each.usd or each.unpriced for each in (*ours, *theirs)):
            yield _line(month, ours, theirs, cents, project, alike=False)
    for each in billed:
        if each.category != "usage":
            usd = cents.of(each.usd)
            yield Compared(
                month=month, stack=each.stack, service=each.service, what=each.category, unit="",
                estimated_usd=NOTHING, billed_usd=usd, estimated_quantity=None, billed_quantity=None,
                causes={CREDITS: usd},
            )  # fmt: skip


def _service(charge: Charge) -> tuple[str, str, str]:
    return (charge.stack, charge.cloud, charge.service)


def _in(charge: Charge, days: Sequence[date], part: int, about: About) -> Charge:
    """A line of an estimate as that of a part of a month: until its stack ends, what is paid once in the month it is
    of.
    """
    first = days[0]
    share = share_of(first, days, part, about.ends)
    if charge.once:
        begins = (about.begins or {}).get(charge.component)
        share = Decimal(part == 0 and begins is not None and begins.replace(day=1) == first)
    return replace(charge, quantity=charge.quantity * share, usd=cost_of(charge, share))


def _merged(charges: Sequence[Charge]) -> list[Charge]:
    """Charges of one thing as one."""
    merged: dict[tuple[str, ...], Charge] = {}
    for each in charges:
        key = (each.stack, each.cloud, each.service, each.machine, each.market, each.unit, each.what)
        seen = merged.get(key)
        merged[key] = each if seen is None else replace(
            seen, quantity=seen.quantity + each.quantity, usd=seen.usd + each.usd, rows=seen.rows + each.rows
        )  # fmt: skip
    return list(merged.values())


def _line(
    month: str, ours: Sequence[Charge], theirs: Sequence[Charge], cents: _Cents, project: Project, *, alike: bool
) -> Compared:
    some = (ours or theirs)[0]
    estimated = sum((each.usd for each in ours), NOTHING)
    exact = sum((each.usd for each in theirs), Decimal(0))
    billed = cents.of(exact)
    wanted = sum((each.quantity for each in ours), Decimal(0))
    used = sum((each.quantity for each in theirs), Decimal(0))
    gap = billed - estimated
    causes: dict[str, Decimal] = {}
    units = {each.unit for each in (*ours, *theirs)}
    alike = alike and len(units) == 1
    if not ours or all(each.unpriced for each in ours):
        causes[NOT_ESTIMATED] = gap
    elif not theirs:
        causes[NOT_BILLED] = gap
    elif not alike:
        causes[OTHER_MACHINES if some.machine and theirs[0].machine else MIXED] = gap
    else:
        each = estimated / wanted if wanted else exact / used if used else Decimal(0)
        moved = _rounded((used - wanted) * each)
        causes[HOURS if some.unit == "hour" else QUANTITY] = moved
        causes |= _priced(gap - moved, each, ours, theirs)
    hours = used - wanted if ours and theirs and alike and some.machine and some.unit == "hour" else Decimal(0)
    hours += sum((each.quantity for each in theirs if each.unused and each.machine), Decimal(0)) if not ours else 0
    if ours and theirs:
        hours -= wanted * (_hours_of(month) / HOURS_PER_MONTH - 1)  # a month of 31 days is no idleness
    idle = (
        _rounded(max(hours, Decimal(0)))
        if some.machine and project.accelerated(some.cloud, some.machine)
        else Decimal(0)
    )
    parts = "the bill has no machine types, but parts of machines" if MIXED in causes and some.machine else ""
    about = project.stacks[some.stack]
    ended = about.ends is not None and about.ends.isoformat() <= f"{month}-01" and bool(theirs)
    reasons = [f"no price: {each.unpriced}" for each in ours if each.unpriced]
    reasons += ["estimated at today's price, as none of that month is known"] * any(each.later_price for each in ours)
    return Compared(
        month=month,
        stack=some.stack,
        service=some.service,
        what=_what(ours, theirs, alike=alike),
        unit=some.unit if alike or not (ours and theirs) else "",
        estimated_usd=estimated,
        billed_usd=billed,
        estimated_quantity=wanted if ours and (alike or not theirs) else None,
        billed_quantity=used if theirs and (alike or not ours) else None,
        causes={cause: usd for cause, usd in causes.items() if usd},
        idle_hours=idle,
        idle_usd=_rounded(idle * exact / used) if idle and exact > 0 else NOTHING,
        note=f"the stack was to end on {about.ends}" if ended else reasons[0] if reasons else parts,
    )


def _priced(usd: Decimal, each: Decimal, ours: Sequence[Charge], theirs: Sequence[Charge]) -> dict[str, Decimal]:
    """What the price explains, by the market in which the same machine was billed where it was estimated in another;
    `each` is the estimated price of a unit.
    """
    estimated = {charge.market for charge in ours}
    causes: dict[str, Decimal] = {}
    for charge in theirs:
        other = charge.market not in estimated and charge.market in OTHER_MARKET
        cause = OTHER_MARKET[charge.market] if other else PRICE
        causes[cause] = causes.get(cause, Decimal(0)) + charge.usd - charge.quantity * each
    causes = {cause: _rounded(moved) for cause, moved in causes.items()}
    if set(causes) == {PRICE} and abs(usd) <= CENT * len(ours):  # each line of an estimate is one of whole cents
        return {ROUNDING: usd}
    last = max(causes, key=lambda cause: abs(causes[cause]))
    return causes | {last: causes[last] + usd - sum(causes.values())}  # a cent of rounding


def _hours_of(month: str) -> Decimal:
    first = date.fromisoformat(f"{month}-01")
    return Decimal(24 * (after(first) - first).days)


def _what(ours: Sequence[Charge], theirs: Sequence[Charge], *, alike: bool) -> str:
    some = (ours or theirs)[0]
    names = [sorted({each.machine for each in side}) for side in (ours, theirs)]
    if ours and theirs and all(map(all, names)) and names[0] != names[1]:
        return f"{', '.join(names[1])} in the place of {', '.join(names[0])}"
    markets = [sorted({each.market for each in side}) for side in (ours, theirs)]
    if some.machine and alike and ours and theirs and not {*markets[0]} & {*markets[1]}:
        return f"{some.machine}, {' and '.join(markets[1])} in the place of {' and '.join(markets[0])}"
    if some.machine and (alike or not (ours and theirs)):
        return ", ".join(filter(None, (some.machine, some.market)))
    if not theirs:
        return some.what
    return _UNITS.get(some.unit, some.unit) if alike or not ours else "all else"


_UNITS: Final = {"hour": "hours", "gb": "GB", "gb-month": "GB-months", "request": "requests", "month": "months"}


def _rates(ours: Sequence[Charge], charges: Mapping[date, Sequence[Charge]]) -> Discounts:
    """The contracted price of each machine type on demand that is another than was estimated, of the newest hours."""
    newest: dict[tuple[str, str, str], Charge] = {}
    for each in ours:
        priced = each.machine and each.market == "on-demand" and each.unit == "hour" and each.linux and not each.unused
        if each.category != "usage" or not priced or not each.usd_per_unit or each.usd_per_unit <= 0:
            continue
        key = (each.cloud, each.machine, each.region)
        if key not in newest or each.last > newest[key].last:
            newest[key] = each
    known = {
        (each.cloud, each.machine, each.region): each.usd_per_unit
        for _, lines in sorted(charges.items())
        for each in lines
        if each.market == "on-demand"
    }
    return Discounts(
        tuple(
            Rate(cloud=key[0], instance_type=key[1], region=key[2], market="on-demand", usd=each.usd_per_unit)
            for key, each in sorted(newest.items())
            if key in known and known[key] != each.usd_per_unit
        )
    )


def _usage(
    ours: Sequence[Charge], charges: Mapping[date, Sequence[Charge]], project: Project, months: int
) -> dict[str, dict[str, Decimal]]:
    """What the bill says that resources were used for, a month, where that is not what was estimated."""
    proved: dict[str, dict[str, Decimal]] = {}
    for each in ours:
        known = project.resources.get(each.tags.get("sizewell-id", ""))
        measure = _measure(each)
        if known is None or not measure or each.category != "usage" or each.unused:
            continue
        uses = proved.setdefault(known[1], {})
        uses[measure] = uses.get(measure, Decimal(0)) + each.quantity / months
    expected: dict[tuple[str, str], Decimal] = {}
    for each in charges[min(charges)] if charges else ():
        expected[each.urn, _measure(each)] = expected.get((each.urn, _measure(each)), Decimal(0)) + each.quantity
    moved = {
        urn: {key: _rounded(value) for key, value in uses.items() if _rounded(value) != expected.get((urn, key))}
        for urn, uses in sorted(proved.items())
    }
    return {urn: uses for urn, uses in moved.items() if uses}


def _measure(charge: Charge) -> str:
    if charge.machine:
        return "machine_hours" if charge.unit == "hour" else ""
    if charge.unit == "request":
        return "requests"
    if charge.unit == "gb-month" and any(word in charge.service.lower() for word in _STORES):
        return "stored_gigabytes"
    return next((measure for meter, measure in _METERS if charge.unit == "gb" and meter in charge.meter.lower()), "")
