"""The tariff: what things cost in one region of one cloud on one day, and the only place that makes lines of a bill.

A decision asks it for the options that it compares and states (`choose.bill`), a preview for each recorded resource
(`resources.context`). A price that the catalog does not have makes the line unpriced, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.billing.charges import Charge
from sizewell.sizing.catalog.managed import RAW
from sizewell.sizing.money import ESTIMATE, Asked, Interval, LineItem, Price, Priced, Unpriced

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog

PREPAID: Final = ("capacity-block", "purchase")  # markets that are paid once, before the first hour
COMMITTED: Final = ("reserved-1y", "reserved-3y")  # terms that are billed around the clock, used or not
ESTIMATED: Final = "estimated price"  # how the weakness of a line begins whose price nobody lists or quotes
ONE: Final = Interval.exactly(Decimal(1))


@dataclass(frozen=True, slots=True)
class Tariff:
    """Prices of one region on one day, a project's own rates (those of the catalog) applied; each looked up once."""

    catalog: Catalog
    cloud: str
    region: str
    on: date
    _known: dict[tuple[str | int, ...], Price] = field(default_factory=dict, init=False, repr=False, compare=False)

    def machine(self, instance_type: str, market: str = "on-demand", service: str = RAW) -> Price:
        """US dollars per machine-hour, the premium of a managed service included."""
        asked = (instance_type, market, service)
        price = self._known.get(asked)
        if price is None:
            price = self.catalog.price(self.cloud, instance_type, self.region, market, self.on)
            price = self._known[asked] = with_premium(price, self.premium(service, instance_type))
        return price

    def fee(self, key: str, beyond: int = 0) -> Price:
        """US dollars per unit of a fee: of its first tier, or of the one that starts at `beyond`."""
        asked = (key, beyond)
        price = self._known.get(asked)
        if price is None:
            price = self.catalog.fee(self.cloud, key, self.region, self.on)
            for tier in self.catalog.listed_tiers(self.cloud, key, self.region, self.on) if beyond else ():
                if tier.from_quantity == beyond:
                    price = self.catalog.own_price(tier, self.region)
            self._known[asked] = price
        return price

    def asked(self) -> Iterator[Asked]:
        """What prices were looked up for so far."""
        for name, second, *_ in self._known:
            if isinstance(second, str):
                yield Asked(self.cloud, self.region, machine=str(name), market=second)
            else:
                yield Asked(self.cloud, self.region, fee=str(name))

    def premium(self, service: str, instance_type: str) -> Price:
        """Percent that a service adds to a machine's hour: SageMaker by type (HyperPod's are its machines as well)."""
        if service in ("sagemaker", "hyperpod"):
            return self.catalog.sagemaker_premium(instance_type, self.region, self.on)
        if service == "vertex":
            return self.fee("vertex.training")
        if service == "azureml":
            return self.fee("azureml")
        return NO_PREMIUM

    def line(self, charge: Charge, resource: str = "") -> LineItem:
        """A charge with its price. `resource` is the URN of what is billed, where there is one."""
        if not charge.machine:
            price = with_premium(self.fee(charge.fee, charge.beyond), self.premium(charge.service, charge.machine))
            if isinstance(price, Unpriced) and price.reason.startswith(f"{self.cloud} {charge.fee}: "):
                price = Unpriced(f"{price.reason} (USD per {charge.unit.removesuffix('s')})")  # what a rate is to state
            what, how, once = charge.what, charge.how, False
            asked = Asked(self.cloud, self.region, fee=charge.fee, service=_service(charge))
        else:
            price = self.machine(charge.machine, charge.market, charge.service)
            what = charge.what or f"{charge.machine}, {charge.market}, {self.region}"
            if charge.service != RAW and not charge.what:
                what += f", {charge.service}"
            how = charge.how or hours_in_words(charge.quantity, price)
            once = charge.market in PREPAID
            asked = Asked(self.cloud, self.region, charge.machine, charge.market, service=_service(charge))
        if charge.premium:
            how += self._premium_in_words(charge, price)
        return LineItem(
            component=charge.component,
            what=what,
            unit=charge.unit,
            cadence="once" if once else "monthly",
            quantity=charge.quantity,
            price=price,
            resource=resource,
            how=how,
            confidence=charge.confidence or weakness(price),
            asked=asked,
        )

    def _premium_in_words(self, charge: Charge, price: Price) -> str:
        percent = self.premium(charge.service, charge.machine)
        if isinstance(price, Unpriced) or isinstance(percent, Unpriced):
            return ""
        return f", {percent.amount.normalize():f} % {charge.premium} included"

    def free_quantity(self, key: str) -> Decimal:
        """How much of a fee an account has for nothing; 0 where its first tier costs something."""
        tiers = self.catalog.listed_tiers(self.cloud, key, self.region, self.on)
        return tiers[1].from_quantity if len(tiers) > 1 and tiers[0].usd == 0 else Decimal(0)

    def tiered(self, charge: Charge, resource: str = "", *, taken: Decimal = Decimal(0)) -> tuple[LineItem, ...]:
        """A fee whose price falls with the quantity: a line for each tier that is reached.

        `taken` is what others have had of a free tier, which is an account's.
        """
        whole = self.line(charge, resource)
        tiers = self.catalog.listed_tiers(self.cloud, charge.fee, self.region, self.on)
        if len(tiers) < 2 or isinstance(whole.price, Unpriced):
            return (whole,)
        if whole.price.terms == "own rate":  # one price for all of it
            return (whole,)
        # Each bound fills the tiers by itself, so that the floors of the lines add up to the bill of the floor.
        # A share of each tier of the ceiling would price small amounts at the tiers of large ones.
        quantity, lines = charge.quantity, []
        for tier, end in zip(tiers, [*(tier.from_quantity for tier in tiers[1:]), None], strict=True):
            parts = [
                max((q if end is None else min(q, end)) - max(tier.from_quantity, taken), Decimal(0))
                for q in (taken + quantity.floor, taken + quantity.expected, taken + quantity.ceiling)
            ]
            if parts[2] == 0:
                continue
            share = "free for the account" if tier.usd == 0 else f"from {tier.from_quantity:,f} {charge.unit} on"
            if tier is tiers[0] and tier.usd:
                share = f"up to {end:,f} {charge.unit}"
            how = f"{charge.how}, {share}" if charge.how else share
            lines.append(
                replace(whole, quantity=Interval(*parts), price=self.catalog.own_price(tier, self.region), how=how)
            )
        return tuple(lines) or (whole,)


NO_PREMIUM: Final = Priced(Decimal(0), "", "")


def promised(charge: Charge, usd: Decimal, on: date, resource: str) -> LineItem:
    """A line at the price that the program itself promises to pay, on that day."""
    return LineItem(
        component=charge.component,
        what=charge.what,
        unit=charge.unit,
        quantity=charge.quantity,
        price=Priced(usd, "the program", on.isoformat()),
        how=charge.how,
        resource=resource,
    )


def unpriced(component: str, what: str, reason: str, resource: str = "") -> LineItem:
    """A line that is billed, at a price or in a quantity that nobody knows."""
    return LineItem(
        component=component,
        what=what,
        unit="?",
        quantity=ONE,
        price=Unpriced(reason),
        resource=resource,
        how="not priced",
    )


def with_premium(rate: Price, percent: Price) -> Price:
    """A machine's price with a service's premium on it; unpriced where one of the two is."""
    if isinstance(percent, Unpriced):
        return percent
    if isinstance(rate, Unpriced) or not percent.amount:
        return rate
    factor = (100 + percent.amount) / 100
    return replace(
        rate,
        amount=rate.amount * factor,
        listed=None if rate.listed is None else rate.listed * factor,
        source=f"{rate.source}; {percent.source}",
        weak=rate.weak or percent.weak,
    )


def _service(charge: Charge) -> str:
    return "" if charge.service == RAW else charge.service


def hours_in_words(hours: Interval, price: Price) -> str:
    """How a machine line was got, as a reviewer reads it.

    >>> hours_in_words(Interval(Decimal(0), Decimal(300), Decimal(730)), Priced(Decimal("0.8048"), "list", ""))
    '0.8048/h x 300 h, 0 to 730'
    >>> hours_in_words(Interval.exactly(Decimal(730)), Priced(Decimal("0.19"), "a share of on-demand", "", ESTIMATE))
    '~0.19/h x 730 h'
    """
    about = "~" if weakness(price) else ""
    rate = f"{about}{price.amount.normalize():f}/h" if isinstance(price, Priced) else "?/h"
    if hours.floor == hours.ceiling:
        return f"{rate} x {_plain(hours.expected)} h"
    return f"{rate} x {_plain(hours.expected)} h, {_plain(hours.floor)} to {_plain(hours.ceiling)}"


def weakness(price: Price) -> str:
    """Why a line at this price is weaker than one at a list price; "" where it is not.

    >>> weakness(Priced(Decimal(1), "on-demand less the usual discount", "2026-07-20", ESTIMATE))
    'estimated price of 2026-07-20'
    >>> weakness(Priced(Decimal(1), "skypilot", "2026-08-01", "median of 4 quotes, 6.5 to 14"))
    'median of 4 quotes, 6.5 to 14'
    """
    if isinstance(price, Unpriced):
        return ""
    if price.weak == ESTIMATE:
        return f"{ESTIMATED} of {price.date}" if price.date else ESTIMATED
    return price.weak


def _plain(value: Decimal) -> str:
    return f"{value.quantize(Decimal('0.1')).normalize():f}"
