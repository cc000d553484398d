"""Money: what is known, what is not, what recurs and what is paid once.

There is no zero for "unknown": a price is `Priced` or `Unpriced`, sums carry the unpriced along, and a run-rate
(US dollars per month) and a one-off purchase (US dollars) are types that cannot be added.
One arithmetic, `LineItem`, feeds the decision, the preview, the policies and the stack outputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final, Literal, NamedTuple

HOURS_PER_MONTH = Decimal(730)
WEEKS_PER_MONTH = Decimal(52) / Decimal(12)
CENT = Decimal("0.01")

Cadence = Literal["monthly", "once"]
Terms = Literal["list", "sustained use", "own rate", "own discount", "own commitment", "own savings plan"]
ESTIMATE: Final = "estimate"  # why a price is weak that nobody lists or quotes
LATER_PRICE: Final = "a later price"  # the confidence of a line that had no known price on its day


class Asked(NamedTuple):
    """What a price was asked for: a machine in a market, or a fee, in a region of a cloud."""

    cloud: str
    region: str
    machine: str = ""
    market: str = ""
    fee: str = ""
    service: str = ""  # a managed service whose premium is in the price of a machine
    platform: str = ""  # of a machine that no reservation of a plain one covers: "Windows licence", "dedicated tenancy"


@dataclass(frozen=True, slots=True)
class Priced:
    """A known price in US dollars per unit, with where it comes from and the date (ISO) it was true."""

    amount: Decimal
    source: str
    date: str
    weak: str = ""  # why it is no list price: `ESTIMATE`, or "median of 4 quotes, 6.5 to 14"
    terms: Terms = "list"  # who says what is paid
    listed: Decimal | None = None  # the list price, where the terms make another of it and there is one

    def at(self, amount: Decimal, terms: Terms, source: str = "") -> Priced:
        """What is paid for the same on other terms; the list price stays known.

        >>> Priced(Decimal(2), "list", "2026-11-27").at(Decimal(1), "own rate").at_list().amount
        Decimal('2')
        """
        listed = self.amount if self.terms == "list" else self.listed
        return replace(self, amount=amount, source=source or self.source, terms=terms, listed=listed)

    def at_list(self) -> Priced:
        """The same at its list price, where one is known."""
        return self if self.listed is None else replace(self, amount=self.listed, terms="list", listed=None)


@dataclass(frozen=True, slots=True)
class Unpriced:
    """A price nobody knows, with the reason."""

    reason: str


Price = Priced | Unpriced


@dataclass(frozen=True, slots=True)
class Interval:
    """Floor (scaled to zero, what is still billed), expected and ceiling (everything on, 24x7); always in that order.

    Raises ValueError when they are out of order: such an interval is a bug of the caller.

    >>> Interval(Decimal(0), Decimal(5), Decimal(7)) + Interval.exactly(Decimal(1))
    Interval(floor=Decimal('1'), expected=Decimal('6'), ceiling=Decimal('8'))
    """

    floor: Decimal
    expected: Decimal
    ceiling: Decimal

    def __post_init__(self) -> None:
        if not self.floor <= self.expected <= self.ceiling:
            raise ValueError(f"floor <= expected <= ceiling does not hold: {self}")

    @classmethod
    def exactly(cls, amount: Decimal) -> Interval:
        return cls(amount, amount, amount)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.floor + other.floor, self.expected + other.expected, self.ceiling + other.ceiling)

    def times(self, factor: Decimal) -> Interval:
        """Each bound times a factor that is not negative."""
        return Interval(self.floor * factor, self.expected * factor, self.ceiling * factor)

    def cents(self) -> Interval:
        """Each bound rounded to whole cents, half to even."""
        return Interval(
            *(v.quantize(CENT, rounding=ROUND_HALF_EVEN) for v in (self.floor, self.expected, self.ceiling))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """One line of a bill: a quantity of a unit at a price, monthly or once.

    `quantity` is per month for `cadence="monthly"` and in total for `"once"`. `component` groups lines for a reader
    (the pool or store that causes them); `what` says it in words; `how` says how the figure was got.

    >>> hours = Interval(Decimal(0), Decimal(300), Decimal(730))
    >>> price = Priced(Decimal("0.8048"), "list", "2026-07-20")
    >>> LineItem(component="chat", what="1 x g6.xlarge", unit="machine-hour", quantity=hours, price=price).cost()
    Interval(floor=Decimal('0.00'), expected=Decimal('241.44'), ceiling=Decimal('587.50'))
    """

    component: str
    what: str
    unit: str
    quantity: Interval
    price: Price
    cadence: Cadence = "monthly"
    how: str = ""
    resource: str = ""  # URN or address of the resource that is billed, where there is one
    confidence: str = ""  # "" (list price and stated usage) or why the line is weaker, e.g. "assumed usage"
    asked: Asked | None = None  # what its price was looked up for; None where no price list was asked

    @property
    def is_on_demand(self) -> bool:
        """Whether it is of machines on demand, without a managed service: what commitments and plans may cover."""
        return self.asked is not None and self.asked.market == "on-demand" and not self.asked.service

    def cost(self) -> Interval | Unpriced:
        """US dollars, to the cent: rounding happens here, so rows always sum to the headline."""
        if isinstance(self.price, Unpriced):
            return self.price
        return self.quantity.times(self.price.amount).cents()


ZERO = Interval.exactly(Decimal("0.00"))


@dataclass(frozen=True, slots=True)
class RunRate:
    """US dollars per month; cannot be added to a `OneOff`. `unpriced` names the lines that are in no sum."""

    usd_per_month: Interval = ZERO
    unpriced: tuple[str, ...] = ()

    def __add__(self, other: RunRate) -> RunRate:
        if not isinstance(other, RunRate):
            return NotImplemented
        return RunRate(self.usd_per_month + other.usd_per_month, self.unpriced + other.unpriced)

    @property
    def whole(self) -> Interval | Unpriced:
        """What all lines come to together; unknown where one has no price, since `usd_per_month` is then a part of it.

        >>> RunRate(ZERO, ("chat: p4d.24xlarge: no price in eu-west-1",)).whole
        Unpriced(reason='chat: p4d.24xlarge: no price in eu-west-1')
        """
        return _whole(self.usd_per_month, self.unpriced)


@dataclass(frozen=True, slots=True)
class OneOff:
    """US dollars paid once; cannot be added to a `RunRate`. `unpriced` names the lines that are in no sum."""

    usd: Interval = ZERO
    unpriced: tuple[str, ...] = ()

    def __add__(self, other: OneOff) -> OneOff:
        if not isinstance(other, OneOff):
            return NotImplemented
        return OneOff(self.usd + other.usd, self.unpriced + other.unpriced)

    @property
    def whole(self) -> Interval | Unpriced:
        """What all lines come to together; unknown where one has no price, since `usd` is then a part of it."""
        return _whole(self.usd, self.unpriced)


def _whole(priced: Interval, unpriced: tuple[str, ...]) -> Interval | Unpriced:
    return Unpriced("; ".join(unpriced)) if unpriced else priced


@dataclass(frozen=True, slots=True)
class Cost:
    """Sum of line items: what recurs and what is paid once, apart."""

    run_rate: RunRate = field(default_factory=RunRate)
    one_off: OneOff = field(default_factory=OneOff)

    @property
    def unpriced(self) -> tuple[str, ...]:
        return self.run_rate.unpriced + self.one_off.unpriced


def total(items: Iterable[LineItem]) -> Cost:
    """Add line items up; lines without a price are listed, never counted as 0."""
    sums = {"monthly": ZERO, "once": ZERO}
    unpriced: dict[str, list[str]] = {"monthly": [], "once": []}
    for item in items:
        cost = item.cost()
        if isinstance(cost, Unpriced):
            unpriced[item.cadence].append(f"{item.component}: {item.what}: {cost.reason}")
        else:
            sums[item.cadence] += cost
    return Cost(
        RunRate(sums["monthly"], tuple(unpriced["monthly"])),
        OneOff(sums["once"], tuple(unpriced["once"])),
    )
