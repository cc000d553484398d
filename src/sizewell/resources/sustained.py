"""Sustained use discounts: what Google Cloud takes off by itself of machines on demand that run the whole month.

A machine that runs a part of the month has a smaller discount, which is not counted: its price is never too low. Where
it may run less, and is counted with the whole month, it has the discount of that: fewer hours never cost more. What is
paid by a rate, a commitment or a plan of one's own has none. A component's machines are as its decision counts
them, at list prices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final

from sizewell.sizing.billing import charges
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem, Priced

_TERMS: Final = "sustained use"


def less(lines: Iterable[LineItem], percent: int) -> Iterator[LineItem]:
    """Lines of a machine on demand, with so much off the price of what runs the whole month, at list prices."""
    for line in lines:
        price = line.price
        if not percent or line.unit not in charges.RUNNING or not isinstance(price, Priced) or price.terms != "list":
            yield line
            continue
        yield from of_whole_months(replace(line, price=price.at(price.amount * (100 - percent) / 100, _TERMS)))


def of_whole_months(line: LineItem) -> Iterator[LineItem]:
    """A line at a price with the discount: those that always run have it, and the others are a line of their own."""
    price = line.price
    if not isinstance(price, Priced) or price.terms != _TERMS or price.listed is None:
        yield line
        return
    quantity = line.quantity
    if not quantity.expected % HOURS_PER_MONTH and not quantity.ceiling % HOURS_PER_MONTH and quantity.expected:
        yield of_hours(line)
        return
    whole = quantity.floor // HOURS_PER_MONTH * HOURS_PER_MONTH
    if whole:
        yield of_hours(replace(line, quantity=Interval.exactly(whole)))
    rest = Interval(*(each - whole for each in (quantity.floor, quantity.expected, quantity.ceiling)))
    if rest.ceiling or not whole:
        yield replace(line, quantity=rest, price=price.at_list())


def of_hours(line: LineItem) -> LineItem:
    """A line at a price with the discount, which says so and of how many hours; another, as it is.

    Those hours may be a share of a machine that always runs, of which a commitment covers the rest: only what is
    covered has no discount (cloud.google.com/compute/docs/sustained-use-discounts, read 2026-11-28).
    """
    price = line.price
    if not isinstance(price, Priced) or price.terms != _TERMS or not price.listed:
        return line
    off = (1 - price.amount / price.listed) * 100
    hours = line.quantity.expected.quantize(Decimal("0.01")).normalize()
    return replace(line, how=f"{price.listed.normalize():f}/h less {off:.0f} % for sustained use x {hours:f} h")


def without(price: Priced) -> Priced:
    """A price without the discount; of other terms, as it is."""
    return price.at_list() if price.terms == _TERMS else price


def likewise(price: Priced, part: Priced) -> Priced:
    """The price of a part of a machine with the discount that the machine's own price has."""
    return (
        part.at(part.amount * price.amount / price.listed, _TERMS) if price.terms == _TERMS and price.listed else part
    )
