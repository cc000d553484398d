"""What of the prices that sellers list becomes a row of the catalog: every check before one is accepted. Pure.

A listed price is accepted or refused with a reason; there is no third way and no zero. Accepted rows are dated and
appended: nothing that the catalog holds is overwritten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.catalog.check_prices import SENTINELS
from sizewell.sizing.catalog.history import fresh_days
from sizewell.sizing.catalog.records import PROVISIONABLE, Offer, Shape
from sizewell.sizing.catalog.spot import QUOTED

HOURLY: Final = ("hrs", "hour", "hours", "1 hour")  # how sellers write the unit of a machine-hour
STEADY: Final = 3  # a price is within this factor of the one it replaces
USD_PER_ACCELERATOR: Final = (Decimal("0.01"), Decimal(60))
MISSING_MAX: Final = Decimal("0.2")  # of the types known in a place; more missing, and the list is not whole


NO_REGION: Final = "sold in regions that the catalog does not know"
NO_TYPE: Final = "machine types with accelerators that the catalog does not know"
NOT_PROVEN: Final = "parts are listed where the catalog does not know the type to be sold"
NOT_READ: Final = "zones outside of a region's own (Local and Wavelength Zones), whose prices are not read"
NONE_KNOWN: Final = "regions whose lists have no machine type of the catalog"
SOLD: Final = "sold"  # the market of a place whose rows say where machines with accelerators are sold, at any price
PARTS: Final = "list of parts"  # the basis of a row that says so
Uncovered = dict[str, dict[str, set[str]]]
"""What the sellers have and no row can take: by reason, what it is, and in which regions or of which types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One price as a seller lists it, unchecked: text as it was sent."""

    cloud: str
    instance_type: str
    region: str
    zone: str = ""
    market: str
    usd: str
    currency: str
    unit: str
    since: str  # ISO day from which it holds
    basis: str
    source: str
    accelerated: bool = False  # the seller says that the machine has accelerators


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What one reading covers: a whole list of a cloud's market in a region, or quotes that may be few."""

    cloud: str
    market: str
    region: str
    whole: bool = True

    def __str__(self) -> str:
        return f"{self.cloud} {self.market} {self.region}"


@dataclass(slots=True)
class Accepted:
    """The rows to append, and what was refused, counted by reason with an example."""

    offers: list[Offer] = field(default_factory=list)
    refused: dict[str, list[str]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)  # known before, in no list now: their price is unknown from here on
    unchanged: int = 0  # prices that stand as they are
    uncovered: Uncovered = field(default_factory=dict)

    def refuse(self, reason: str, what: str) -> None:
        self.refused.setdefault(reason, []).append(what)

    def note_uncovered(self, reason: str, what: str, detail: str) -> None:
        self.uncovered.setdefault(reason, {}).setdefault(what, set()).update(filter(None, (detail,)))


def note_sold(catalog: Catalog, rows: Iterable[Listed], result: Accepted) -> None:
    """Of machines with accelerators that sellers name in whatever region: note those that no row of the catalog can
    take, since it does not know their region, their type, or (of a list of parts) that the region has the type.
    """
    for row in rows:
        named = f"{row.cloud} {row.instance_type}"
        if row.zone:
            result.note_uncovered(NOT_READ, f"{row.cloud} {row.zone}", row.instance_type)
        elif row.cloud in PROVISIONABLE and (row.cloud, row.region) not in catalog.region_facts:
            result.note_uncovered(NO_REGION, f"{row.cloud} {row.region}", row.instance_type)
        elif row.instance_type and (row.cloud, row.instance_type) not in catalog.shapes_by_type:
            result.note_uncovered(NO_TYPE, named, row.region)
        elif row.basis == PARTS:
            result.note_uncovered(NOT_PROVEN, named, row.region)


def accept(catalog: Catalog, readings: Iterable[tuple[Place, Sequence[Listed]]], on: date) -> Accepted:
    """Check what was read against itself and against the catalog as it stood the day before."""
    result = Accepted()
    before = on - timedelta(days=1)
    kept: dict[tuple[str, ...], Offer] = {}
    for place, rows in sorted(readings, key=lambda reading: str(reading[0])):
        sound = _sound(catalog, place, rows, on, result)
        missing = _missing(catalog, place, rows, before)
        known = _known(catalog, place, before)
        if place.whole and known and Decimal(len(missing)) > MISSING_MAX * len(known):
            listed = f"{len(missing)} of {len(known)} known types are not in it, such as {missing[0]}"
            result.refuse("the list is incomplete", f"{place}: {listed}")
            continue
        if place.whole and not known and not any(row.instance_type in _types(catalog, place.cloud) for row in rows):
            result.note_uncovered(NONE_KNOWN, f"{place.cloud} {place.region}", "")
        result.gone += [f"{place}: {name}" for name in missing] if place.whole else []
        kept |= sound
    fresh: dict[tuple[str, str, str], Decimal] = {}  # on-demand prices that were accepted, to hold the others against
    for _, offer in sorted(kept.items(), key=lambda item: (item[1].market != "on-demand", item[0])):
        what = " ".join(filter(None, (offer.cloud, offer.instance_type, offer.region, offer.zone, offer.market)))
        machine = (offer.cloud, offer.instance_type, offer.region)
        top = fresh.get(machine) or _listed_usd(catalog, machine, before)
        last = _last(catalog, offer, before)
        if offer.market == "spot" and top is not None and offer.usd_per_hour >= top:
            result.refuse("spot at the on-demand price or above: no capacity", f"{what}: {offer.usd_per_hour}")
            continue
        if offer.market.startswith("reserved") and top is not None and offer.usd_per_hour > top:
            result.refuse("a commitment above the on-demand price", f"{what}: {offer.usd_per_hour}")
            continue
        if last is not None and not last.usd_per_hour / STEADY <= offer.usd_per_hour <= last.usd_per_hour * STEADY:
            reason = f"more than {STEADY} times or less than a third of the last price"
            result.refuse(reason, f"{what}: {offer.usd_per_hour}, {last.usd_per_hour} before")
            continue
        if offer.market == "on-demand":
            fresh[machine] = offer.usd_per_hour
        if last is not None and _stands(last, offer, on):
            result.unchanged += 1
        else:
            result.offers.append(offer)
    return result


def _sound(
    catalog: Catalog, place: Place, rows: Sequence[Listed], on: date, result: Accepted
) -> dict[tuple[str, ...], Offer]:
    """The rows that are prices of this place, each once; two that differ contradict, and neither is taken."""
    offers: dict[tuple[str, ...], Offer] = {}
    contradicted: set[tuple[str, ...]] = set()
    for row in rows:
        what = f"{row.cloud} {row.instance_type} {row.region} {row.market}: {row.usd} {row.currency} per {row.unit}"
        shape = catalog.shapes_by_type.get((row.cloud, row.instance_type))
        if row.zone and row.market == "on-demand":  # no price of the region
            if row.accelerated or (shape is not None and shape.accelerators):
                result.note_uncovered(NOT_READ, f"{row.cloud} {row.zone}", row.instance_type)
            continue
        if shape is None:  # most of what a seller lists is nothing for this catalog
            if row.accelerated:
                result.note_uncovered(NO_TYPE, f"{row.cloud} {row.instance_type}", row.region)
            continue
        reason = _wrong(catalog, place, row, shape, on)
        if reason:
            result.refuse(reason, what)
            continue
        offer = Offer(
            cloud=row.cloud,
            instance_type=row.instance_type,
            region=row.region,
            zone=row.zone,
            market=row.market,  # type: ignore[arg-type]
            usd_per_hour=Decimal(row.usd).normalize() + Decimal(0),
            effective_from=on.isoformat(),
            effective_to="",
            basis=row.basis,
            source=row.source,
            confidence="medium" if row.basis.startswith(QUOTED) or "; " in row.basis else "high",
        )
        key = (offer.cloud, offer.instance_type, offer.region, offer.market, offer.zone, offer.effective_from)
        if key in offers and offers[key].usd_per_hour != offer.usd_per_hour:
            contradicted.add(key)
            result.refuse("listed twice at different prices", f"{what}, and {offers[key].usd_per_hour}")
        offers[key] = offer
    return {key: offer for key, offer in offers.items() if key not in contradicted}


def _wrong(catalog: Catalog, place: Place, row: Listed, shape: Shape, on: date) -> str:
    """Why a row is no price; "" where it is one."""
    if row.currency != "USD":
        return "a currency other than USD"
    if row.unit.strip().lower() not in HOURLY:
        return "not hourly"
    try:
        usd = Decimal(row.usd)
    except InvalidOperation:
        return "no number"
    if not usd.is_finite() or usd <= 0 or usd in SENTINELS:
        return "zero, a placeholder or not a number"
    if shape.accelerators and not USD_PER_ACCELERATOR[0] <= usd / shape.accelerators <= USD_PER_ACCELERATOR[1]:
        return "out of bounds for its accelerators"
    if (row.cloud, row.market, row.region) != (place.cloud, place.market, place.region):
        return "for a region or market other than the requested one"
    if row.market not in shape.markets:
        return "a market that the type is not sold in"
    if row.cloud in PROVISIONABLE and (row.cloud, row.region) not in catalog.region_facts:
        return "a region that is not in the catalog"
    if row.since > on.isoformat():
        return "starts after the requested day: a future price, or a wrong clock"
    return ""


def _known(catalog: Catalog, place: Place, before: date) -> set[str]:
    """The types with a listed price in a place the day before; quotes and estimates are no list."""
    asked = ("priced", place.cloud, place.market, before)
    if asked not in catalog.memo:
        by_region: dict[str, set[str]] = defaultdict(set)
        for cloud, name in catalog.offers_by_type:
            if cloud == place.cloud:
                for offer in catalog.offers(cloud, name, market=place.market, on=before):
                    if offer.basis.startswith("list"):
                        by_region[offer.region].add(name)
        catalog.memo[asked] = by_region
    types: set[str] = catalog.memo[asked].get(place.region, set())
    return types


def _types(catalog: Catalog, cloud: str) -> frozenset[str]:
    asked = ("types", cloud)
    if asked not in catalog.memo:
        catalog.memo[asked] = frozenset(shape.instance_type for shape in catalog.shapes if shape.cloud == cloud)
    types: frozenset[str] = catalog.memo[asked]
    return types


def _missing(catalog: Catalog, place: Place, rows: Sequence[Listed], before: date) -> list[str]:
    present = {
        row.instance_type
        for row in rows
        if row.region == place.region and row.market == place.market and not (row.zone and row.market == "on-demand")
    }
    return sorted(_known(catalog, place, before) - present)


def _listed_usd(catalog: Catalog, machine: tuple[str, str, str], before: date) -> Decimal | None:
    cloud, name, region = machine
    rows = catalog.offers(cloud, name, region=region, market="on-demand", on=before)
    return rows[0].usd_per_hour if rows else None


def _last(catalog: Catalog, offer: Offer, before: date) -> Offer | None:
    """The row that this one follows: of the same zone and market."""
    rows = catalog.offers(offer.cloud, offer.instance_type, region=offer.region, market=offer.market, on=before)
    return next((row for row in rows if row.zone == offer.zone and not row.basis.startswith("estimate")), None)


def _stands(last: Offer, offer: Offer, on: date) -> bool:
    """Whether the last row says the same and is fresh for at least as long as it has been."""
    if offer.effective_from <= last.effective_from:
        return True
    age = (on - date.fromisoformat(last.effective_from)).days
    return last.usd_per_hour == offer.usd_per_hour and age * 2 <= fresh_days(offer.market)
