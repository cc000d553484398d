"""What is to be said of own rates and commitments beside the figures: which match nothing, are over, or look wrong.

A rate is a contract that nobody else can read, so none is refused; a misplaced comma is seen where the factor is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Final

from sizewell.resources.priced import Pricing
from sizewell.sizing.catalog import Catalog
from sizewell.sizing.catalog.rates import NO_DISCOUNTS, Commitment, Discounts, Rate, SavingsPlan, SharedOut
from sizewell.sizing.money import HOURS_PER_MONTH, Asked, Price, Priced

_SHOWN: Final = 5  # in one sentence
_FAR_ABOVE: Final = 3  # times the list price: nobody pays that; a refresh takes no such price either
_FAR_BELOW: Final = 10  # times below it: more than spot machines and terms of three years take off


def remarks(catalog: Catalog, rates: Discounts, after: Sequence[Pricing], on: date) -> Iterator[str]:
    """Sentences on the rates that prices of these plans were looked up with."""
    asked = sorted({each for pricing in after for each in pricing.asked})
    used = {rate for each in asked if (rate := rates.deciding(each)) is not None}
    yield from _named("own rates that match nothing here", (rate.shown for rate in rates.rates if rate not in used))
    listed = replace(catalog, rates=NO_DISCOUNTS)
    yield from far_from_list(catalog, rates, asked, on)
    yield from _terms(rates, on)
    running = {item.asked for pricing in after for item in pricing.items}
    idle = (_billed(each) for asked, each in rates.standing(on).items() if asked not in running)
    yield from _named("own commitments that cover nothing here", idle)
    yield from _named("own commitments at more than the price on demand", _above_list(listed, rates, on))


def _billed(commitment: Commitment) -> str:
    usd = commitment.count * commitment.usd_per_hour * HOURS_PER_MONTH
    return f"{commitment.shown} ({usd:,.2f} USD a month, billed all the same)"


def far_from_list(catalog: Catalog, rates: Discounts, asked: Iterable[Asked], on: date) -> Iterator[str]:
    """A sentence on the rates that decide prices and look as if a comma were misplaced."""
    listed = replace(catalog, rates=NO_DISCOUNTS)
    yield from _named("own rates far from the list price", _far(listed, rates, asked, on))


def _far(listed: Catalog, rates: Discounts, places: Iterable[Asked], on: date) -> Iterator[str]:
    said: set[Rate] = set()
    for asked in places:
        rate = rates.deciding(asked)
        if rate is None:
            continue
        price = _list_price(listed, asked, on)
        own = rate.applied(price)
        if rate in said or not isinstance(own, Priced):
            continue
        factor = _factor(own.amount, price)
        if factor:
            said.add(rate)
            yield f"{rate.shown} ({factor})"


def _factor(own: Decimal, price: Price) -> str:
    """By how much a rate is off the list, in words; "" where that is nothing to mention.

    >>> prices = Priced(Decimal("0.8"), "list", ""), Priced(Decimal(0), "list", "")
    >>> [[_factor(Decimal(own), price) for own in ("999", "0", "0.08", "0.5")] for price in prices]
    [['1,249 times 0.8', '0 instead of 0.8', '1/10 of 0.8', ''], ['', '', '', '']]
    """
    if not isinstance(price, Priced):
        return "" if own else "0 for what has no list price"
    shown = f"{price.amount.normalize():f}"
    if not price.amount:
        return ""
    if not own:
        return f"0 instead of {shown}"
    if own > _FAR_ABOVE * price.amount:
        return f"{own / price.amount:,.0f} times {shown}"
    return f"1/{price.amount / own:,.0f} of {shown}" if own * _FAR_BELOW <= price.amount else ""


def _list_price(listed: Catalog, asked: Asked, on: date) -> Price:
    if asked.fee:
        return listed.fee(asked.cloud, asked.fee, asked.region, on)
    return listed.price(asked.cloud, asked.machine, asked.region, asked.market, on)


def _terms(rates: Discounts, on: date) -> Iterator[str]:
    bought = rates.bought
    ended = (_with_end(each) for each in bought if each.until < on)
    yield from _named("own commitments that have ended and count no more", ended)
    later = (f"{each.shown} from {each.since.isoformat()}" for each in bought if each.since > on)
    yield from _named("own commitments that do not count yet", later)


def _with_end(each: SharedOut) -> str:
    return each.shown if isinstance(each, SavingsPlan) else f"{each.shown} until {each.until.isoformat()}"


def _above_list(listed: Catalog, rates: Discounts, on: date) -> Iterator[str]:
    for asked, each in rates.standing(on).items():
        price = _list_price(listed, asked, on)
        if isinstance(price, Priced) and each.usd_per_hour > price.amount:
            yield f"{each.shown}, {each.usd_per_hour.normalize():f} instead of {price.amount.normalize():f}"


def _named(what: str, each: Iterable[str]) -> Iterator[str]:
    names = list(each)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    if names:
        yield f"{what}: {'; '.join(names[:_SHOWN])}{more}"
