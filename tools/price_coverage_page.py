"""docs/reference/price-coverage.md: which prices the catalog has, by cloud and kind, and of which days.

Counted in the shipped catalog. What is sold is what an offering list or any price of the catalog names, so a region
that no list names is in neither count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from sizewell.sizing.billing.tariff import weakness
from sizewell.sizing.catalog import Catalog, load, machine_prices
from sizewell.sizing.money import Priced
from sizewell.sizing.providers import CLOUDS

NAMES = {"aws": "AWS", "gcp": "Google Cloud", "azure": "Azure"}
LATEST = date(2099, 1, 1)
SOLD_APART = ("capacity-block", "reserved-1y", "reserved-3y", "purchase")
INTRODUCTION = """\
# Which prices there are

Generated from the shipped catalog (`make generate`). `sizewell prices refresh` and [own rates](../howto/own-rates.md)
add to it. A type that is sold in a region and has no price there is unpriced in a preview, never free. A price is an
**estimate** where nobody lists or quotes it; a preview marks it `~`.

Seen on 2026-11-28 on two cores: the catalog loads in 38 ms of CPU time, and the wheel has 3.87 MB.

## Machines with accelerators

A pair is a machine type and a region in which an offering list, or any price of the catalog, has it. AWS's are by its
own offerings (`sizing/catalog/data/sold.csv`, `zones.csv`); Azure's and most of Google Cloud's by their lists of
prices, so that what has no price there is not counted as sold: for these two the share says little.

| cloud | accelerator | types | pairs | on demand | spot | estimates of spot | days of the on-demand prices |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
MACHINES = """
## Machines without accelerators

| cloud | regions | types | prices on demand | prices of spot | day |
| --- | --- | --- | --- | --- | --- |
"""
FEES = """
## Everything else

Disks, addresses, gateways, balancers, databases, clusters. A fee of one region is not used in another.

| cloud | kinds of fee | rows | regions | estimates | days |
| --- | --- | --- | --- | --- | --- |
"""


def page() -> str:
    """The whole page."""
    catalog = load()
    return "".join((INTRODUCTION, *_accelerated(catalog), MACHINES, *_plain(catalog), FEES, *_fees(catalog)))


def _accelerated(catalog: Catalog) -> Iterator[str]:
    for cloud in CLOUDS:
        rows: dict[str, list[tuple[str, str]]] = {}
        for shape in catalog.shapes:
            if shape.cloud == cloud and shape.accelerator and "on-demand" in shape.markets:
                pairs = [
                    (shape.instance_type, region) for region in sorted(_places(catalog, cloud, shape.instance_type))
                ]
                rows.setdefault(shape.accelerator, []).extend(pairs)
        for accelerator, pairs in sorted(rows.items()):
            if pairs:
                yield _row(catalog, NAMES[cloud], accelerator, cloud, pairs)
        yield _row(catalog, f"**{NAMES[cloud]}**", "all", cloud, [pair for pairs in rows.values() for pair in pairs])


def _places(catalog: Catalog, cloud: str, kind: str) -> set[str]:
    """Where a type is sold: by any offer but one that is bought apart, by the offering lists, by the lists of zones."""
    offered = {row.region for row in catalog.offers_by_type.get((cloud, kind), ()) if row.market not in SOLD_APART}
    listed = {row.region for row in catalog.sold.get((cloud, kind), ())}
    return offered | listed | {region for where, name, region in catalog.zone_facts if (where, name) == (cloud, kind)}


def _row(catalog: Catalog, name: str, accelerator: str, cloud: str, pairs: Sequence[tuple[str, str]]) -> str:
    asked = {
        market: [catalog.price(cloud, kind, region, market, LATEST) for kind, region in pairs]
        for market in ("on-demand", "spot")
    }
    listed, spot = ([price for price in asked[market] if isinstance(price, Priced)] for market in ("on-demand", "spot"))
    cells = (
        name,
        accelerator,
        f"{len({kind for kind, _ in pairs})}",
        f"{len(pairs):,}",
        _share(len(listed), len(pairs)),
        _share(len(spot), len(pairs)),
        f"{sum(weakness(price).startswith('estimated') for price in spot):,}",
        _days(price.date for price in listed),
    )
    return f"| {' | '.join(cells)} |\n"


def _plain(catalog: Catalog) -> Iterator[str]:
    for cloud in CLOUDS:
        where = machine_prices.regions(cloud)
        rows = [row for region in where for row in machine_prices.listed_in(cloud, region).values()]
        on_demand, spot = (sum(market in row for row in rows) for market in machine_prices.MARKETS)
        kinds = len(machine_prices.listed_types(cloud))
        day = catalog.machine_prices[cloud].effective_from
        yield f"| {NAMES[cloud]} | {len(where)} | {kinds:,} | {on_demand:,} | {spot:,} | {day} |\n"


def _fees(catalog: Catalog) -> Iterator[str]:
    for cloud in CLOUDS:
        fees = [fee for fee in catalog.fees if fee.cloud == cloud]
        weak = sum(bool(fee.price.weak) for fee in fees)
        regions = len({fee.region for fee in fees} - {"all"})
        keys = len({fee.key for fee in fees})
        days = _days(fee.effective_from for fee in fees)
        yield f"| {NAMES[cloud]} | {keys} | {len(fees):,} | {regions} | {weak:,} | {days} |\n"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / whole:.0f} %)" if whole else "0"


def _days(days: Iterable[str]) -> str:
    known = sorted(day for day in days if day)
    return "" if not known else known[0] if known[0] == known[-1] else f"{known[0]} to {known[-1]}"
