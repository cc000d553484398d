"""What of the fees that sellers list becomes a row of the catalog: every check before one is accepted. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from sizewell.sizing.catalog.catalog import EVERYWHERE, TO_ANOTHER_REGION, Catalog
from sizewell.sizing.catalog.records import PROVISIONABLE, Fee, Offer
from sizewell.sizing.catalog.refresh import STEADY

FRESH_DAYS: Final = 90  # a fee that is listed as before gets a new row when the old one is older


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFee:
    """One price beside machines as a seller lists it, unchecked text; `meter_unit` is the unit that it must have."""

    cloud: str
    key: str
    name: str
    region: str  # EVERYWHERE where the seller names no region
    usd: str
    currency: str
    unit: str
    meter_unit: str
    from_quantity: str
    since: str
    source: str
    catalog_unit: str
    per: str = "1"  # the listed price times this is the price of the catalog's unit
    machine: str = ""  # its hour with a service's premium is listed: the fee is the percentage above its own price


@dataclass(slots=True)
class AcceptedFees:
    """The rows to append, and what was refused, by reason with examples."""

    fees: list[Fee] = field(default_factory=list)
    refused: dict[str, list[str]] = field(default_factory=dict)
    unchanged: int = 0

    def refuse(self, reason: str, what: str) -> None:
        self.refused.setdefault(reason, []).append(what)


def accept_fees(catalog: Catalog, rows: Iterable[ListedFee], on: date, machines: Iterable[Offer] = ()) -> AcceptedFees:
    """Check what was read against itself and against the catalog as it stood the day before.

    `machines` are prices of machines that were accepted on this day, for the premiums of services on them.
    """
    result = AcceptedFees()
    own = {(o.cloud, o.instance_type, o.region): o.usd_per_hour for o in machines if o.market == "on-demand"}
    tiers: dict[tuple[str, str, str], dict[Decimal, ListedFee]] = defaultdict(dict)
    contradicted: set[tuple[str, str, str]] = set()
    for listed_row in rows:
        row = listed_row
        place = (row.cloud, row.key, row.region)
        what = f"{row.cloud} {row.key} {row.region}: {row.usd} {row.currency} per {row.unit}"
        reason = _wrong(catalog, row, on)
        if reason:
            result.refuse(reason, what)
            contradicted.add(place)  # a fee with one tier that cannot be read is not known
            continue
        if row.machine:
            if (row.cloud, row.machine) not in catalog.shapes_by_type:
                continue  # most of what a service runs on is nothing for this catalog
            percent = _premium(catalog, row, own, on)
            if isinstance(percent, str):
                result.refuse(percent, what)
                contradicted.add(place)
                continue
            row = replace(row, usd=str(percent))
        bound = Decimal(row.from_quantity)
        before = tiers[place].setdefault(bound, row)
        if Decimal(before.usd) != Decimal(row.usd):
            contradicted.add(place)
            result.refuse("listed twice at different prices", f"{what}, and {before.usd}")
    for place, listed in sorted(tiers.items()):
        if place not in contradicted:
            _accept_tiers(catalog, place, listed, on, result)
    return result


def _wrong(catalog: Catalog, row: ListedFee, on: date) -> str:
    if row.currency != "USD":
        return "a currency other than USD"
    if row.unit != row.meter_unit:
        return f"in a unit other than {row.meter_unit}"
    try:
        usd, bound = Decimal(row.usd), Decimal(row.from_quantity)
    except InvalidOperation:
        return "no number"
    if not usd.is_finite() or not bound.is_finite() or usd < 0 or bound < 0:
        return "negative or not a number"
    if row.cloud in PROVISIONABLE and row.region != EVERYWHERE and (row.cloud, row.region) not in catalog.region_facts:
        return "a region that is not in the catalog"
    if row.since > on.isoformat():
        return "starts after the requested day: a future price, or a wrong clock"
    return ""


def _premium(catalog: Catalog, row: ListedFee, own: Mapping[tuple[str, str, str], Decimal], on: date) -> Decimal | str:
    """Percent by which the listed hour of a machine is above the machine's own, or why there is none."""
    machine = (row.cloud, row.machine, row.region)
    offers = catalog.offers(row.cloud, row.machine, region=row.region, market="on-demand", on=on)
    usd = own.get(machine) or next((o.usd_per_hour for o in offers if not o.basis.startswith("estimate")), None)
    if usd is None:
        return "a service's premium on a machine whose own price is not known"
    percent = ((Decimal(row.usd) / usd - 1) * 100).quantize(Decimal("0.1"))
    if not 0 <= percent <= 100:
        return "a service's price below its machine's, or more than twice that"
    return percent


def _accept_tiers(
    catalog: Catalog, place: tuple[str, str, str], listed: dict[Decimal, ListedFee], on: date, result: AcceptedFees
) -> None:
    """All tiers of a fee that the catalog has, or none of them."""
    cloud, key, region = place
    known = catalog.fees_of(cloud, key)
    bounds = sorted({fee.from_quantity for fee in known}) or [Decimal(0)]
    before = on - timedelta(days=1)
    standing = {fee.from_quantity: fee for fee in catalog.fee_tiers(cloud, key, region, before)}
    fresh: list[Fee] = []
    for bound in bounds:
        row = listed.get(bound)
        what = f"{cloud} {key} {region}"
        if row is None:
            missing = f"{what}: from {bound.normalize():f} {known[0].unit if known else ''}".rstrip()
            return result.refuse("a tier that the catalog has is not listed", missing)
        usd = (Decimal(row.usd) * Decimal(row.per)).quantize(Decimal("1e-9")).normalize() + Decimal(0)
        last = standing.get(bound)
        usual = [fee.usd for fee in known if fee.from_quantity == bound and fee.usd > 0]
        elsewhere = [] if key.startswith(TO_ANOTHER_REGION) else usual  # it differs by more than that between regions
        if usd == 0 and (usual or not known):
            return result.refuse("zero for something that is billed", what)
        span = [last.usd] if last is not None and last.usd else elsewhere
        if span and usd and not min(span) / STEADY <= usd <= max(span) * STEADY:
            reason = f"more than {STEADY} times or less than a third of what is known"
            return result.refuse(reason, f"{what}: {usd}, {_shown(span)} known")
        fresh.append(
            Fee(
                cloud=cloud,
                key=key,
                name=known[0].name if known else row.name,
                unit=known[0].unit if known else row.catalog_unit,
                region=region,
                usd=usd,
                from_quantity=bound,
                effective_from=on.isoformat(),
                source=row.source,
                confidence="high",
            )
        )
    if all(_stands(standing.get(fee.from_quantity), fee, on) for fee in fresh):
        result.unchanged += 1
    else:
        result.fees += fresh
    return None


def _stands(last: Fee | None, fee: Fee, on: date) -> bool:
    """Whether the last row says the same, is fresh, and is the list's own figure."""
    if last is None or last.usd != fee.usd or last.region != fee.region or last.confidence != "high":
        return False
    return (on - date.fromisoformat(last.effective_from)).days <= FRESH_DAYS


def _shown(span: Sequence[Decimal]) -> str:
    low, high = min(span), max(span)
    return f"{low:f}" if low == high else f"{low:f} to {high:f}"
