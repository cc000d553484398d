"""Places that are no cloud and no region of one (the EU, Switzerland, Asia): what keeps the work there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, get_args

from sizewell.sizing.catalog import residency
from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.workload.model import Residency, place_written

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog

# Countries by what people write, as ISO 3166 calls them: those with regions, and the others of the European Union.
_COUNTRIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("america", "united states", "united states of america", "usa"), "US"),
    **dict.fromkeys(("britain", "england", "great britain", "uk", "united kingdom"), "GB"),
    **dict.fromkeys(("emirates", "uae", "united arab emirates"), "AE"),
    **dict.fromkeys(("germany", "deutschland"), "DE"), **dict.fromkeys(("switzerland", "schweiz"), "CH"),
    **dict.fromkeys(("holland", "netherlands"), "NL"), **dict.fromkeys(("korea", "south korea"), "KR"),
    "australia": "AU", "austria": "AT", "bahrain": "BH", "belgium": "BE", "brazil": "BR", "bulgaria": "BG",
    "canada": "CA", "chile": "CL", "croatia": "HR", "cyprus": "CY", "czechia": "CZ", "denmark": "DK", "estonia": "EE",
    "finland": "FI", "france": "FR", "greece": "GR", "hong kong": "HK", "hungary": "HU", "india": "IN",
    "indonesia": "ID", "ireland": "IE", "israel": "IL", "italy": "IT", "japan": "JP", "latvia": "LV",
    "lithuania": "LT", "luxembourg": "LU", "malaysia": "MY", "malta": "MT", "mexico": "MX", "new zealand": "NZ",
    "norway": "NO", "poland": "PL", "portugal": "PT", "qatar": "QA", "romania": "RO", "saudi arabia": "SA",
    "singapore": "SG", "slovakia": "SK", "slovenia": "SI", "south africa": "ZA", "spain": "ES", "sweden": "SE",
    "taiwan": "TW", "thailand": "TH",
}  # fmt: skip
_UNION: Final = (
    "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE", "IT", "LT", "LU", "LV",
    "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK",
)  # fmt: skip
_OWN_AREA: Final = {"AU": "au", "CA": "ca", "CH": "ch", "GB": "uk", "IN": "in", "JP": "jp", "US": "us"}
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
    plain = _plain(word)
    if plain in get_args(Residency):
        return plain
    if plain == "europe":
        return "eu"
    return _OWN_AREA.get(_country(plain), "") or _CONTINENTS.get(plain, "")


def residency_meant(word: str, infra: object, catalog: Catalog) -> str:
    """The line that keeps data where a word says, of which `data.residency` has another name or none; "" where unknown.

    >>> from sizewell.sizing.catalog import load
    >>> residency_meant("Europe", None, load()), residency_meant("england", None, load())
    ('write eu', 'write uk')
    >>> residency_meant("de", ["gcp"], load())
    'write infra: [gcp/europe-west3], in Germany, in place of residency; eu is all of the European Union'
    >>> residency_meant("Greece", None, load())
    'write eu, all of the European Union: no region of the clouds here lies in Greece'
    """
    if area := area_of(word):
        return f"write {area}" if area in get_args(Residency) else ""
    country = _country(_plain(word))
    if not country:
        return ""
    name = next(name for name, code in _COUNTRIES.items() if code == country).title()
    stated = [infra] if isinstance(infra, str) else infra if isinstance(infra, list) else []
    clouds = {str(place).partition("/")[0].lower() for place in stated} & {*PROVISIONABLE} or {*PROVISIONABLE}
    there = [region for region in _best(catalog, country=country) if region.partition("/")[0] in clouds]
    wider = "; eu is all of the European Union" if country in _UNION else ""
    if there:
        return f"write infra: [{', '.join(there)}], in {name}, in place of residency{wider}"
    if country in _UNION:
        return f"write eu, all of the European Union: no region of the clouds here lies in {name}"
    return ""


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", " ").replace("_", " ")


def _country(plain: str) -> str:
    """A country by its name, or by its two letters where it has regions or is of the European Union."""
    return _COUNTRIES.get(plain, plain.upper() if plain.upper() in _COUNTRIES.values() else "")


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
    there = [region for area in areas for region in _best(catalog, area=area)]
    return f"write infra: [{', '.join(dict.fromkeys((*places, *there)))}], or other regions of these areas"


def _best(catalog: Catalog, *, area: str = "", country: str = "") -> list[str]:
    """Of each cloud the region of an area or a country that offers most."""
    asked = ("offers in",)
    if asked not in catalog.memo:
        made: dict[tuple[str, str], int] = {}
        for offer in catalog.all_offers:
            made[offer.cloud, offer.region] = made.get((offer.cloud, offer.region), 0) + 1
        catalog.memo[asked] = made
    offers: dict[tuple[str, str], int] = catalog.memo[asked]
    best = []
    for cloud in PROVISIONABLE:
        regions = [region for region in catalog.regions(cloud) if _lies_in(area, country, cloud, region, catalog)]
        if regions:
            best.append(f"{cloud}/{max(regions, key=lambda region: (offers.get((cloud, region), 0), region))}")
    return best


def _lies_in(area: str, country: str, cloud: str, region: str, catalog: Catalog) -> bool:
    facts = catalog.region(cloud, region)
    if facts is None or facts.access != "open":
        return False
    return facts.country == country if country else area in (residency.of(cloud, region), facts.area)
