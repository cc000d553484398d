"""Machines of one type in a region: the commitments that are sold for them, and what is bought for them already."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.economics.baseline import Term
from sizewell.sizing.billing.tariff import COMMITTED
from sizewell.sizing.catalog.rates import Commitment, ResourceCommitment, SavingsPlan, SharedOut
from sizewell.sizing.money import HOURS_PER_MONTH, Asked, Priced

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Shape

TERM_MONTHS: Final = {"reserved-1y": 12, "reserved-3y": 36}
DAYS_PER_MONTH: Final = 365.25 / 12


@dataclass(frozen=True, kw_only=True)
class Place:
    """A machine type in a region, over some months from a day on."""

    catalog: Catalog
    cloud: str
    region: str
    instance_type: str
    on: date
    months: int

    def usd_per_hour(self, market: str) -> Decimal | None:
        """The price in a market; None where it has none."""
        price = self.catalog.price(self.cloud, self.instance_type, self.region, market, self.on)
        return price.amount if isinstance(price, Priced) else None

    def is_sold(self, market: str) -> bool:
        """Whether a market has the type, or a rate of one's own names that market for it."""
        shape = self.shape
        rate = self.catalog.rates.deciding(self.asked(market))
        return (shape is not None and market in shape.markets) or (rate is not None and rate.market == market)

    @property
    def terms(self) -> list[Term]:
        """The commitments that are sold and have a price."""
        prices = ((market, self.usd_per_hour(market)) for market in COMMITTED if self.is_sold(market))
        return [Term(market, TERM_MONTHS[market], HOURS_PER_MONTH * usd) for market, usd in prices if usd is not None]

    @property
    def own_commitments(self) -> tuple[str, ...]:
        """Own commitments and savings plans for these machines in the months counted, in words: no way counts them."""
        return tuple(self.told(each) for each in (*self._committed, *self.several))

    @property
    def committed(self) -> tuple[tuple[int, int, int], ...]:
        """Machines of this type that are committed already: how many, from which month, from 0, and before which."""
        return tuple(
            (each.count, max(0, months_to(self.on, each.since)), months_to(self.on, each.until))
            for each in self._committed
        )

    @property
    def several(self) -> tuple[SharedOut, ...]:
        """Own savings plans and commitments in these months that cover the machines among others."""
        return tuple(each for each in self._covering if not _is_whole(each))

    @property
    def shape(self) -> Shape | None:
        """What the catalog knows of the type."""
        return self.catalog.shapes_by_type.get((self.cloud, self.instance_type))

    def is_held(self, each: SharedOut, month: int) -> bool:
        """Whether what is bought is in force in a month, from 0 on."""
        return self.on <= each.until and max(0, months_to(self.on, each.since)) <= month < months_to(
            self.on, each.until
        )

    @property
    def ended(self) -> tuple[str, ...]:
        """What covered these machines and is over, in words."""
        return tuple(f"the {each.title}" for each in self._bought if each.until < self.on)

    @property
    def _committed(self) -> list[Commitment]:
        return [each for each in self._covering if isinstance(each, Commitment) and not each.is_shared_out]

    @property
    def _covering(self) -> list[SharedOut]:
        return [each for each in self._bought if self.on <= each.until and months_to(self.on, each.since) < self.months]

    @property
    def _bought(self) -> tuple[SharedOut, ...]:
        return self.catalog.rates.covering(self.asked("on-demand"))

    def asked(self, market: str) -> Asked:
        """What its price is asked for."""
        return Asked(self.cloud, self.region, self.instance_type, market)

    def told(self, each: SharedOut) -> str:
        """What is bought, in words, with the time for which it is."""
        usd = "" if isinstance(each, ResourceCommitment) else f"{each.usd_per_hour.normalize():f} USD an hour"
        begins = f" from {each.since}" if each.since > self.on else ""
        if isinstance(each, SavingsPlan):
            return f"a savings plan of {usd}{begins} until {each.until}"
        if _is_whole(each):
            return f"{each.shown} at {usd}{begins} until {each.until}"
        return f"the {each.title}{begins and f',{begins} on'}"


def _is_whole(each: SharedOut) -> bool:
    """Whether it is to machines of one type, which are then paid by nothing else."""
    return isinstance(each, Commitment) and not each.is_shared_out


def months_to(on: date, day: date) -> int:
    """Months from a day to another, the nearest whole number.

    >>> [months_to(date(2026, 11, 28), day) for day in (date(2026, 11, 28), date(2027, 3, 1), date(2030, 1, 2))]
    [0, 3, 37]
    """
    return round((day - on).days / DAYS_PER_MONTH)
