"""Sustained use discounts: what Google Cloud takes off by itself of machines on demand that run the whole month.

A machine that runs a part of the month has a smaller discount, which is not counted: its price is never too low. What
is paid by a rate, a commitment or a plan of one's own has none. A component's machines are as its decision counts
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
    whole = quantity.floor // HOURS_PER_MONTH * HOURS_PER_MONTH
    if whole:
        off = (1 - price.amount / price.listed) * 100 if price.listed else Decimal(0)
        how = f"{price.listed.normalize():f}/h less {off:.0f} % for sustained use x {whole.normalize():f} h"
        yield replace(line, quantity=Interval.exactly(whole), how=how)
    rest = Interval(*(each - whole for each in (quantity.floor, quantity.expected, quantity.ceiling)))
    if rest.ceiling or not whole:
        yield replace(line, quantity=rest, price=price.at_list())


def without(price: Priced) -> Priced:
    """A price without the discount; of other terms, as it is."""
    return price.at_list() if price.terms == _TERMS else price
