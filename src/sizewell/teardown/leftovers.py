"""What stands in the cloud after a destroy, and what it costs: claims' disks, load balancers, network interfaces, what
is protected. Reads only.

A cluster's volumes and load balancers are made by its controllers, which know no tag of the stack: they are asked for
by the cluster's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from sizewell.clouds.clients import Client
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.money import Priced
from sizewell.sizing.providers import CLOUDS
from sizewell.teardown.clients import READS
from sizewell.teardown.orphans import in_cloud
from sizewell.teardown.planning import HOURS_PER_MONTH
from sizewell.teardown.things import Owner, Stored, Thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Something that still stands. `usd_per_month` None: nobody here knows what it costs, so it counts as billing."""

    thing: Thing
    usd_per_month: Decimal | None

    @property
    def bills(self) -> bool:
        """Whether it costs something, as far as is known."""
        return self.usd_per_month is None or self.usd_per_month > 0

    def words(self) -> str:
        """It in a line: its kind, its name, its price."""
        name = self.thing.identity.rpartition("/")[2].rpartition(":")[2]
        price = "price not known" if self.usd_per_month is None else f"{self.usd_per_month:,.2f} USD per month"
        return f"{self.thing.kind} {name} ({price})"


def left_over(
    client: Client,
    accounts: Sequence[str],
    regions: Iterable[str],
    owner: Owner,
    *,
    clusters: Sequence[str],
    catalog: Catalog,
    on: date,
) -> list[Leftover]:
    """What a cloud still has of a stack, dearest first, what nobody can price before it. CloudError where it does not
    respond: then nobody knows.
    """
    regions, reads = tuple(regions), READS[client.cloud]
    things = {thing.identity: thing for thing in in_cloud(client, accounts, regions, owner)}
    for cluster in clusters:
        things |= {thing.identity: thing for thing in reads.of_cluster(client, accounts, regions, cluster)}
    stored = reads.stored(client, tuple(things.values()))
    leftovers = [
        Leftover(thing=thing, usd_per_month=_price(client.cloud, thing, stored.get(thing.identity), catalog, on))
        for thing in things.values()
    ]
    return sorted(leftovers, key=lambda each: (each.usd_per_month is not None, -(each.usd_per_month or 0)))


def _price(cloud: str, thing: Thing, stored: Stored | None, catalog: Catalog, on: date) -> Decimal | None:
    """US dollars per month of what stands; None where nobody here knows."""
    fees, kind = READS[cloud].fees, thing.kind.lower()
    if kind in fees.free:
        return Decimal(0)
    key, number = fees.monthly.get(kind, ""), Decimal(1)
    if kind in fees.hourly:
        key, number = fees.hourly[kind], Decimal(HOURS_PER_MONTH)
    if stored is not None:
        key, number = stored
    if not key:
        return None
    fee = catalog.fee(cloud, key, CLOUDS[cloud].regions.of(thing.region), on)  # a disk may lie in a zone
    return round(fee.amount * number, 2) if isinstance(fee, Priced) else None
