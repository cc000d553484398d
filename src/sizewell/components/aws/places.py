"""Where AWS sells what, as far as the catalog knows. Pure."""

import functools
from collections.abc import Mapping


@functools.cache
def places_of(instance_type: str) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Where a type is sold: region -> market -> ids of zones (none: any); {} where not all places are known.

    It does of types that are sold as capacity blocks, which AWS lists region by region.
    """
    from sizewell.sizing import catalog

    places: dict[str, dict[str, set[str]]] = {}
    listed = False
    for offer in catalog.load().offers("aws", instance_type):
        listed = listed or offer.market == "capacity-block"
        places.setdefault(offer.region, {}).setdefault(offer.market, set()).update([offer.zone] if offer.zone else [])
    if not listed:
        return {}
    return {
        region: {market: frozenset(zones) for market, zones in markets.items()} for region, markets in places.items()
    }


def zones_with(instance_type: str, region: str) -> tuple[str, ...]:
    """Ids of the availability zones of a region that offer a type, in any market; () where that is not known."""
    from sizewell.sizing import catalog

    return catalog.load().zones("aws", instance_type, region)


def zone_ids_of(region: str) -> str:
    """What the ids of a region's zones begin with.

    >>> [zone_ids_of(region) for region in ("us-east-1", "ap-northeast-2", "ap-southeast-1", "us-gov-west-1")]
    ['use1', 'apne2', 'apse1', 'usgw1']
    """
    head, *words, number = region.split("-")
    return head + "".join("".join(point[0] for point in POINTS if point in word) or word[0] for word in words) + number


POINTS = ("north", "south", "east", "west")
