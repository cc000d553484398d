"""A machine type that would cost less and has no price where the spec wants it: named, as it is not unfit.

Catalogs are incomplete: what nobody has a price of in a region may well be sold there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sizewell.sizing.catalog import buildable
from sizewell.sizing.choose.candidates import try_all
from sizewell.sizing.choose.pricing import options_of

if TYPE_CHECKING:
    from sizewell.sizing.catalog.records import Shape
    from sizewell.sizing.choose.pricing import Option

LOOKED_AT: Final = 6  # classes without a price in the place, the cheapest by the hour first: each is a search
LESS: Final = 0.9  # of the chosen cost, from which on a type is worth a sentence


def cheaper_unpriced(chosen: Option) -> tuple[str, ...]:
    """The cheapest type of the chosen cloud that does the work and has no price in the chosen region, though elsewhere.

    Asked only where the spec says a region: otherwise every price of the cloud was compared.
    """
    need, catalog, on = chosen.setting.need, chosen.setting.catalog, chosen.setting.on
    cloud, region = chosen.cloud, chosen.deal.region
    if (cloud, region) not in {(where, place) for where, place, _ in need.places} or chosen.deal.unknown:
        return ()
    cheapest: dict[tuple[str, int], tuple[float, Shape]] = {}  # of each class of machines
    for shape in catalog.shapes:
        if shape.cloud != cloud or not shape.accelerator or not chosen.candidate.shape.accelerator:
            continue
        offers = [o for o in catalog.offers(cloud, shape.instance_type, on=on) if o.market == chosen.deal.market]
        known = region in catalog.estimates(cloud, shape.instance_type, on) or any(o.region == region for o in offers)
        if not offers or known or buildable.refusal(shape, family="", scheduler="auto", managed="auto"):
            continue
        usd, kind = float(min(o.usd_per_hour for o in offers)), (shape.accelerator, shape.accelerators)
        if usd < chosen.usd_per_hour * chosen.fleet.nodes and usd < cheapest.get(kind, (usd + 1, shape))[0]:
            cheapest[kind] = (usd, shape)
    few = tuple(shape for _, shape in sorted(cheapest.values(), key=lambda item: item[0])[:LOOKED_AT])
    if not few:
        return ()
    anywhere = replace(need, places=((cloud, "", ""),), residency="")
    setting = replace(chosen.setting, need=anywhere)
    candidates = try_all(anywhere, replace(catalog, shapes=few), on).candidates
    options = [o for each in candidates for o in options_of(each, setting, (chosen.deal.market,))]
    best = min(options, key=lambda option: option.order, default=None)
    if best is None or best.total_usd > LESS * chosen.total_usd:
        return ()
    less = 1 - best.total_usd / chosen.total_usd
    machines = f"{best.fleet.nodes} x {best.instance_type} ({best.candidate.shape.carries})"
    deal = best.deal
    return (
        f"{machines} has no {deal.market} price in {region}; at that of {deal.region} it would cost {less:.0%} less",
    )
