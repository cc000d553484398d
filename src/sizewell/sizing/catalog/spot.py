"""What a spot machine usually costs in a region: the median of the quotes at hand, never the cheapest one.

A spot quote holds for one zone at one moment. Who sizes by the cheapest of all zones sizes by the one that is about to
change. So the price of a region is the median of its quotes (zones and dates); with fewer than three, the price
that the sister regions and the on-demand price suggest fills up to three. Published spot prices ("list": Google, Azure)
are prices, not quotes, and stand as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from statistics import median
from typing import Final

from sizewell.sizing.catalog.records import Offer
from sizewell.sizing.money import ESTIMATE

QUOTED: Final = "observed"  # how the basis of a quote begins
QUOTES_ENOUGH: Final = 3
WINDOW_DAYS: Final = 90  # before the newest quote; older ones count only where there are not three in it
FAR_BELOW: Final = Decimal(2) / 3  # of the usual price; a quote below is shown, and no zone is chosen for it
TYPES_ENOUGH: Final = 3  # of a cloud, with quotes and an on-demand price, before its usual discount says anything
_STEP: Final = Decimal("0.0001")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualSpot:
    """The usual price of a machine type in a region, US dollars per machine-hour, and what it rests on."""

    usd_per_hour: Decimal
    quotes: tuple[Offer, ...]  # that were counted, cheapest first; () for a published price
    prior_usd: tuple[Decimal, ...]  # what filled up to three: by the sister regions, by the on-demand price
    offer: Offer  # the row that a fleet is placed by: its zone, source and interruption rate

    @property
    def far_below(self) -> tuple[Offer, ...]:
        """Quotes too far below the usual price to count on."""
        return tuple(quote for quote in self.quotes if quote.usd_per_hour < FAR_BELOW * self.usd_per_hour)

    @property
    def as_of(self) -> str:
        """ISO date of the newest quote, or of the published price."""
        return max((quote.effective_from for quote in self.quotes), default=self.offer.effective_from)

    @property
    def weak(self) -> str:
        """Why it is no list price; "" where it is one."""
        if not self.quotes:
            return ESTIMATE if self.offer.is_estimate else ""
        count = len(self.quotes)
        return f"median of {count} quotes, {self._spread}" if count >= QUOTES_ENOUGH else ESTIMATE

    @property
    def _spread(self) -> str:
        low, high = self.quotes[0].usd_per_hour, self.quotes[-1].usd_per_hour
        return f"{low:f}" if low == high else f"{low:f} to {high:f}"

    @property
    def source(self) -> str:
        """What the price rests on, as a bill states it; it begins with "estimate" below three quotes."""
        if not self.quotes:
            marked = f"; {self.offer.basis}" if self.offer.basis.startswith(ESTIMATE) else ""
            return f"{self.offer.source}{marked}"
        if self.weak != ESTIMATE:
            return f"{self.weak}; {self.offer.source}"
        count = len(self.quotes)
        counted = f"{count} quote{'s' if count > 1 else ''}, {self._spread}"
        if not self.prior_usd:
            return f"estimate: {counted}, nothing to compare with; {self.offer.source}"
        suggested = " and ".join(f"{usd:f}" for usd in self.prior_usd)
        return f"estimate: {counted}; sister regions and on-demand suggest {suggested}; {self.offer.source}"


def quotes_of(rows: Iterable[Offer], day: str) -> tuple[Offer, ...]:
    """The spot quotes of one region that count on a day, cheapest first.

    Those of the 90 days before the newest one; where these are fewer than three, the three newest.
    """
    known = [row for row in rows if _counts(row, day)]
    if not known:
        return ()
    known.sort(key=lambda row: (row.effective_from, row.zone, row.usd_per_hour), reverse=True)
    since = (date.fromisoformat(known[0].effective_from) - timedelta(days=WINDOW_DAYS)).isoformat()
    recent = [row for row in known if row.effective_from >= since]
    kept = recent if len(recent) >= QUOTES_ENOUGH else known[:QUOTES_ENOUGH]
    return tuple(sorted(kept, key=lambda row: (row.usd_per_hour, row.zone, row.effective_from)))


def usual_usd(quotes: Sequence[Decimal], *, sisters: Decimal | None, listed: Decimal | None) -> Decimal:
    """The usual price by the quotes, and by what sister regions and the on-demand price suggest where these are few.

    From two quotes on it lies within their range, whatever is suggested, and it is never below the lowest quote. A
    lower quote, and a lower suggestion, never raise it.

    >>> usual_usd([Decimal(9), Decimal(16), Decimal(19)], sisters=None, listed=None)
    Decimal('16')
    >>> usual_usd([Decimal(10)], sisters=Decimal(17), listed=Decimal(20))
    Decimal('17')
    >>> usual_usd([Decimal(12), Decimal(56)], sisters=Decimal(17), listed=None)
    Decimal('17')
    """
    if len(quotes) >= QUOTES_ENOUGH:
        return median(quotes)
    suggested = [usd for usd in (sisters, listed) if usd is not None]
    if not suggested:
        return median(quotes)
    if len(quotes) == 2:
        return median([*quotes, sum(suggested, Decimal(0)) / len(suggested)])
    return max(quotes[0], min(suggested))


def by_region(
    rows: Sequence[Offer], day: str, listed: Mapping[str, Decimal], discount: Decimal | None
) -> dict[str, UsualSpot]:
    """The usual spot price of one machine type in each region that has a spot row on a day.

    `listed` is its on-demand price by region, `discount` what spot usually costs in this cloud as a share of on-demand.
    """
    places: dict[str, list[Offer]] = defaultdict(list)
    for row in rows:
        if row.market == "spot":
            places[row.region].append(row)
    quoted = {region: quotes for region, of_region in places.items() if (quotes := quotes_of(of_region, day))}
    usual_by_region: dict[str, UsualSpot] = {}
    for region, of_region in places.items():
        quotes, published = quoted.get(region, ()), _published(of_region, day)
        usual = _by_quotes(region, quoted, listed, discount) if quotes else None
        if published is not None and (usual is None or _stands(published, usual)):
            usual = UsualSpot(usd_per_hour=published.usd_per_hour, quotes=(), prior_usd=(), offer=published)
        if usual is not None:
            usual_by_region[region] = usual
    return usual_by_region


def _stands(published: Offer, usual: UsualSpot) -> bool:
    """Whether a published price goes before quotes: it is newer, or as old and no higher; an estimate never does."""
    if published.basis.startswith("estimate"):
        return False
    return (published.effective_from, -published.usd_per_hour) >= (usual.as_of, -usual.usd_per_hour)


def _by_quotes(
    region: str, quoted: Mapping[str, tuple[Offer, ...]], listed: Mapping[str, Decimal], discount: Decimal | None
) -> UsualSpot:
    quotes = quoted[region]
    sisters = by_list = None
    if len(quotes) < QUOTES_ENOUGH:
        sisters = _by_sisters(region, quoted, listed)
        if discount is not None and listed:  # where the region has no on-demand price, that of the others says how much
            on_demand = listed[region] if region in listed else median(listed.values())
            by_list = (on_demand * discount).quantize(_STEP, rounding=ROUND_HALF_EVEN)
    usd = usual_usd([quote.usd_per_hour for quote in quotes], sisters=sisters, listed=by_list)
    return UsualSpot(
        usd_per_hour=usd,
        quotes=quotes,
        prior_usd=tuple(prior for prior in (sisters, by_list) if prior is not None),
        offer=_placed(quotes, usd),
    )


def share_of_listed(rows: Iterable[Offer], listed: Mapping[str, Decimal], day: str) -> Decimal | None:
    """What a type's quotes are as a share of its on-demand price by region, the median; None without both."""
    shares = [
        row.usd_per_hour / listed[row.region]
        for row in rows
        if row.market == "spot" and row.region in listed and _counts(row, day)
    ]
    return median(shares) if shares else None


def usual_discount(instance_type: str, shares: Mapping[str, Decimal]) -> Decimal | None:
    """What spot costs as a share of on-demand by the other types of a cloud, the median; None below three of them."""
    others = [share for other, share in shares.items() if other != instance_type]
    return median(others) if len(others) >= TYPES_ENOUGH else None


def _counts(row: Offer, day: str) -> bool:
    in_force = row.effective_from <= day and (not row.effective_to or day < row.effective_to)
    return in_force and row.basis.startswith(QUOTED)


def _published(rows: Iterable[Offer], day: str) -> Offer | None:
    """The newest row that is no quote; of several zones the cheapest."""
    newest: dict[str, Offer] = {}
    for row in rows:  # sorted by date within a zone
        if row.effective_from <= day and not row.basis.startswith(QUOTED):
            newest[row.zone] = row
    known = [row for row in newest.values() if not row.effective_to or day < row.effective_to]
    return min(known, key=lambda row: (row.usd_per_hour, row.zone), default=None)


def _by_sisters(region: str, quoted: Mapping[str, Sequence[Offer]], listed: Mapping[str, Decimal]) -> Decimal | None:
    """The median over the other regions, each scaled by the on-demand prices of the two where both are known."""
    known: list[Decimal] = []
    for sister, quotes in sorted(quoted.items()):
        if sister == region:
            continue
        usd = median([quote.usd_per_hour for quote in quotes])
        if region in listed and sister in listed:
            usd = usd * listed[region] / listed[sister]
        known.append(usd)
    return median(known).quantize(_STEP, rounding=ROUND_HALF_EVEN) if known else None


def _placed(quotes: Sequence[Offer], usual: Decimal) -> Offer:
    """The cheapest quote that can be counted on; where all are far below, the one nearest to the usual price."""
    sound = [quote for quote in quotes if quote.usd_per_hour >= FAR_BELOW * usual]
    return sound[0] if sound else quotes[-1]
