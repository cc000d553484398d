"""Sustained use discounts: what Google Cloud takes off by itself of machines on demand that run the whole month.

A machine that runs a part of the month has a smaller discount, which is not counted: its price is never too low. What
is paid by a rate, a commitment or a plan of one's own has none. A component's machines are as its decision counts
them, at list prices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Final

from sizewell import csvtables
from sizewell.sizing.catalog.rates import OWN_RATE
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem, Priced

_IN_SOURCE: Final = re.compile(r"; sustained use discount, (\d+) %$")
_MACHINE: Final = re.compile(r"(?:\S+ attached to )?([a-z]\w*-\S+?)(?:, on-demand, \S+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SustainedUse:
    """A row of sustained_use.csv: machine types, and what is off their price over a whole month."""

    machines: str  # a pattern of their names
    percent: int
    source: str


ROWS: Final = csvtables.read(SustainedUse, Path(__file__).parent / "data/sustained_use.csv")


@lru_cache(maxsize=512)
def percent(kind: str) -> int:
    """What is off a machine type of Google Cloud, and off what is attached to it, over a whole month.

    >>> [percent(kind) for kind in ("n1-standard-4", "n2-custom-4-8192", "e2-standard-2", "g2-standard-4")]
    [30, 20, 0, 0]
    """
    return next((row.percent for row in ROWS if re.fullmatch(row.machines, kind)), 0)


def less(lines: Iterable[LineItem]) -> Iterator[LineItem]:
    """Lines of machines on demand, and of what is attached to them, with the discount on those that always run: they
    are a line of their own where others run at times.
    """
    for line in lines:
        named, price = _MACHINE.fullmatch(line.what), line.price
        off = percent(named[1]) if named is not None else 0
        whole = line.quantity.floor // HOURS_PER_MONTH * HOURS_PER_MONTH
        if not off or not whole or not isinstance(price, Priced) or _is_own(price) or line.cadence != "monthly":
            yield line
            continue
        reduced = Priced(
            price.amount * (100 - off) / 100, f"{price.source}; sustained use discount, {off} %", price.date
        )
        how = f"{price.amount.normalize():f}/h less {off} % for sustained use x {whole.normalize():f} h"
        yield replace(line, quantity=Interval.exactly(whole), price=reduced, how=how)
        rest = Interval(
            *(each - whole for each in (line.quantity.floor, line.quantity.expected, line.quantity.ceiling))
        )
        if rest.ceiling:
            yield replace(line, quantity=rest)


def listed(price: Priced) -> Priced:
    """A price without the discount.

    >>> listed(Priced(Decimal("0.133"), "list; sustained use discount, 30 %", "2026-11-27")).amount == Decimal("0.19")
    True
    """
    found = _IN_SOURCE.search(price.source)
    if found is None:
        return price
    return replace(price, amount=price.amount * 100 / (100 - Decimal(found[1])), source=price.source[: found.start()])


def _is_own(price: Priced) -> bool:
    return price.source.startswith(OWN_RATE) or ", own discount " in price.source
