"""What the catalog says of a price, as a person asks for it: the price, where it comes from, how old, what it was."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from sizewell.sizing.catalog.catalog import EVERYWHERE, Catalog
from sizewell.sizing.money import Priced

FRESH_DAYS: Final = {"spot": 30, "capacity-block": 30, "flex-start": 30}
"""Days after which a price of that market counts as old: sellers move these every few weeks."""
FRESH_DAYS_LISTED: Final = 180  # of every other market


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """One price at one place, as asked: `usd_per_hour` is None where nobody knows it, and `note` then says why."""

    cloud: str
    instance_type: str
    region: str
    market: str
    usd_per_hour: Decimal | None
    source: str
    date: str
    note: str = ""
    own: bool = False  # a price of one's own, which no list has to say anew
    earlier: tuple[tuple[str, Decimal], ...] = ()  # date and US dollars of the rows before, newest first

    def age_days(self, on: dt.date) -> int | None:
        """Days since the price was true; None without a date."""
        return (on - dt.date.fromisoformat(self.date)).days if self.date else None

    def stale(self, on: dt.date) -> bool:
        """Whether it is too old to rely on, by the kind of price; an own rate never is."""
        age = self.age_days(on)
        return age is not None and not self.own and age > fresh_days(self.market)


def fresh_days(market: str) -> int:
    """How old a price of a market may be.

    >>> fresh_days("spot"), fresh_days("on-demand")
    (30, 180)
    """
    return FRESH_DAYS.get(market, FRESH_DAYS_LISTED)


def quotes(
    catalog: Catalog, cloud: str, instance_type: str, *, region: str = "", market: str = "", on: dt.date
) -> tuple[Quote, ...]:
    """Every price of a type on a day, by market and then cheapest first; regions that sell it without a price last."""
    places: set[tuple[str, str]] = {
        (o.region, str(o.market)) for o in catalog.offers(cloud, instance_type, region=region or None, on=on)
    }
    places |= {(where, "on-demand") for where in catalog.estimates(cloud, instance_type, on)}
    if not places:
        places |= catalog.places_of_unshaped(cloud, instance_type)
    if region and market:
        places.add((region, market))
    asked = [(where, kind) for where, kind in places if region in ("", where, EVERYWHERE) and market in ("", kind)]
    quoted = [_quote(catalog, cloud, instance_type, place, on) for place in asked]
    return tuple(
        sorted(quoted, key=lambda q: (q.market, q.usd_per_hour is None, q.usd_per_hour or Decimal(0), q.region))
    )


def _quote(catalog: Catalog, cloud: str, instance_type: str, place: tuple[str, str], on: dt.date) -> Quote:
    region, market = place
    price = catalog.price(cloud, instance_type, region, market, on)
    same = [
        o
        for o in catalog.offers_by_type.get((cloud, instance_type), ())
        if (o.region, o.market) == (region, market) and o.effective_from <= on.isoformat()
    ]
    days = sorted({o.effective_from for o in same}, reverse=True)
    earlier = tuple((day, min(o.usd_per_hour for o in same if o.effective_from == day)) for day in days[1:])
    if not isinstance(price, Priced):
        return Quote(
            cloud=cloud,
            instance_type=instance_type,
            region=region,
            market=market,
            usd_per_hour=None,
            source="",
            date="",
            note=price.reason,
            earlier=earlier,
        )
    usual = catalog.spot(cloud, instance_type, on).get(region) if market == "spot" else None
    far = ", ".join(f"{q.usd_per_hour:f} in {q.zone or q.region}" for q in usual.far_below) if usual else ""
    return Quote(
        cloud=cloud,
        instance_type=instance_type,
        region=region,
        market=market,
        usd_per_hour=price.amount,
        source=price.source,
        date=price.date,
        own=price.terms == "own rate",
        note=f"far below the usual price, no zone to choose: {far}" if far else "",
        earlier=earlier,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What became of a price between two days; `before` or `after` is None where there was none."""

    cloud: str
    instance_type: str
    region: str
    market: str
    before: Decimal | None
    after: Decimal | None
    source: str

    @property
    def percent(self) -> float | None:
        """By how much it rose (negative: fell); None for a price that came or went."""
        if not self.before or self.after is None:
            return None
        return float((self.after / self.before - 1) * 100)


def moves(catalog: Catalog, before: dt.date, after: dt.date, *, earlier: Catalog | None = None) -> tuple[Move, ...]:
    """Which prices are others on `after` than on `before`: the largest changes first, then what came and went.

    `earlier` is the catalog that counted before, where it was another one.
    """
    known = earlier or catalog
    changed: list[Move] = []
    for cloud, instance_type in sorted({*catalog.offers_by_type, *known.offers_by_type}):
        old, new = _prices(known, cloud, instance_type, before), _prices(catalog, cloud, instance_type, after)
        for region, market in sorted({*old, *new}):
            was, now = old.get((region, market)), new.get((region, market))
            if (was and was.amount) != (now and now.amount):
                changed.append(
                    Move(
                        cloud=cloud,
                        instance_type=instance_type,
                        region=region,
                        market=market,
                        before=was.amount if was else None,
                        after=now.amount if now else None,
                        source=(now or was).source if now or was else "",  # type: ignore[union-attr]
                    )
                )
    return tuple(sorted(changed, key=lambda m: (m.percent is None, -abs(m.percent or 0.0), m.cloud, m.instance_type)))


def _prices(catalog: Catalog, cloud: str, instance_type: str, on: dt.date) -> dict[tuple[str, str], Priced]:
    day = on.isoformat()
    places = {
        (o.region, o.market) for o in catalog.offers_by_type.get((cloud, instance_type), ()) if o.effective_from <= day
    }
    prices: dict[tuple[str, str], Priced] = {}
    for region, market in places:
        price = catalog.price(cloud, instance_type, region, market, on)
        if isinstance(price, Priced):
            prices[region, market] = price
    return prices


def stale_prices(catalog: Catalog, used: Sequence[tuple[str, str, str, str]], on: dt.date) -> Iterator[Quote]:
    """Of the prices that something rests on (cloud, type, region, market), those that are too old to rely on."""
    for cloud, instance_type, region, market in dict.fromkeys(used):
        quote = _quote(catalog, cloud, instance_type, (region, market), on)
        if quote.stale(on):
            yield quote
