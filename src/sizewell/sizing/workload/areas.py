"""Places that are no cloud and no region of one (the EU, Switzerland, Asia): what keeps the work there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, get_args

from sizewell.sizing.catalog import residency
from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.workload.model import Residency, place_written
from sizewell.sizing.workload.ways_out import AREAS

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog

# Areas without a law of their own here, as the catalog calls them.
_CONTINENTS: Final = {
    "asia": "asia-pacific", "apac": "asia-pacific", "asia pacific": "asia-pacific", "africa": "africa",
    "latam": "latin-america", "latin america": "latin-america", "south america": "latin-america",
    "middle east": "middle-east", "mena": "middle-east",
}  # fmt: skip
_WITH_CITIES: Final = ("uk", "jp")  # areas of which a region is named where they stand alone


def area_of(word: str) -> str:
    """The area that a word names: one of `data.residency`, else one of the catalog; "" for what is none.

    >>> area_of("EU"), area_of("Switzerland"), area_of("Asia"), area_of("aws"), area_of("Germany")
    ('eu', 'ch', 'asia-pacific', '', '')
    """
    plain = word.strip().lower().replace("-", " ").replace("_", " ")
    known = AREAS.get(plain, plain if plain in get_args(Residency) else "")
    return "" if known == "eu" and plain not in ("eu", "europe") else known or _CONTINENTS.get(plain, "")


def kept_there(written: Sequence[object], catalog: Catalog) -> str:
    """The line that keeps every place of `infra` where one of them is an area; "" where none is.

    >>> from sizewell.sizing.catalog import load
    >>> kept_there(["EU"], load()), kept_there(["aws", "europe"], load())
    ('write data: {residency: eu}, in place of infra', 'write infra: [aws], data: {residency: eu}')
    """
    words = [str(word) for word in written]
    areas = list(dict.fromkeys(filter(None, map(area_of, words))))
    places = [place_written(word) for word in words if not area_of(word)]
    if not areas or not all(places) or (len(words) == 1 and areas[0] in _WITH_CITIES):
        return ""
    lawful = areas[0] in get_args(Residency)
    if len(areas) == 1 and lawful and not places:
        return f"write data: {{residency: {areas[0]}}}, in place of infra"
    if len(areas) == 1 and lawful and not any("/" in place for place in places):
        return f"write infra: [{', '.join(places)}], data: {{residency: {areas[0]}}}"
    there = [region for area in areas for region in _regions(area, catalog)]
    return f"write infra: [{', '.join(dict.fromkeys((*places, *there)))}], or other regions of these areas"


def _regions(area: str, catalog: Catalog) -> list[str]:
    """Of each cloud the region of an area that offers most."""
    asked = ("offers in",)
    if asked not in catalog.memo:
        made: dict[tuple[str, str], int] = {}
        for offer in catalog.all_offers:
            made[offer.cloud, offer.region] = made.get((offer.cloud, offer.region), 0) + 1
        catalog.memo[asked] = made
    offers: dict[tuple[str, str], int] = catalog.memo[asked]
    best = []
    for cloud in PROVISIONABLE:
        regions = [region for region in catalog.regions(cloud) if _lies_in(area, cloud, region, catalog)]
        if regions:
            best.append(f"{cloud}/{max(regions, key=lambda region: (offers.get((cloud, region), 0), region))}")
    return best


def _lies_in(area: str, cloud: str, region: str, catalog: Catalog) -> bool:
    facts = catalog.region(cloud, region)
    open_to_all = facts is not None and facts.access == "open"
    return open_to_all and (residency.of(cloud, region) == area or (facts is not None and facts.area == area))
