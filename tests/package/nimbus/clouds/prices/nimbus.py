"""Nimbus publishes no list that could be asked."""

from __future__ import annotations

from typing import Final

from sizewell.clouds.prices.price_list import Begun, PriceList, Scope


def _begin(scope: Scope) -> Begun:
    del scope
    return Begun(places=lambda _: {}, sold=lambda: iter(()))


PRICES: Final = PriceList(begin=_begin, not_enabled=())
