"""What a pricing function of `resources.tables` may ask and answers with: prices, usage, and helpers for lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.usage import Usage
from sizewell.resources.values import Text, cloud_of, get, text
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.charges import Charge
from sizewell.sizing.billing.tariff import Tariff, unpriced
from sizewell.sizing.money import Interval, LineItem

if TYPE_CHECKING:
    from sizewell.resources.kubernetes import Nodes
    from sizewell.sizing.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Free:
    """A resource that costs nothing of its own, and why."""

    reason: str = "no charge"


Outcome = tuple[LineItem, ...] | Free
Pricer = Callable[[RecordedResource, "Context"], Outcome]


@dataclass(slots=True, kw_only=True)
class Context:
    """What a pricing function may ask: the graph, the tariff of a region, usage, and helpers for lines."""

    graph: Graph
    catalog: Catalog  # with the own rates that count
    on: date
    usage: Stated
    outside: list[str] = field(default_factory=list)
    allowances: dict[tuple[str, str], Decimal] = field(default_factory=dict)  # free tiers: how much of each is taken
    reserved: dict[str, Decimal] = field(default_factory=dict)  # machine-hours taken of each reservation, by URN
    tariffs: dict[tuple[str, str], Tariff] = field(default_factory=dict)
    nodes: Nodes | None = None  # machines of the plan for pods, once somebody has asked
    places: dict[str, str] = field(default_factory=dict)  # by URN: where a resource stands that no region's list is for
    elsewhere: set[str] = field(default_factory=set)  # URNs of what a cluster that is not in the plan is billed for

    def region(self, resource: RecordedResource) -> Text:
        return self.graph.region(resource)

    def tariff(self, cloud: str, region: str) -> Tariff:
        """The prices of one region, the same for all of its resources."""
        tariff = self.tariffs.get((cloud, region))
        if tariff is None:
            tariff = self.tariffs[cloud, region] = Tariff(self.catalog, cloud, region, self.on)
        return tariff

    def unpriced(self, resource: RecordedResource, what: str, reason: str) -> LineItem:
        """A line that is billed, at a price that nobody knows."""
        return unpriced(self.graph.component(resource), what, reason, resource.urn)

    def line(self, resource: RecordedResource, charge: Charge, region: Text | None = None) -> LineItem:
        """The line of a charge of a resource; unpriced while its region is not known, and outside of its regions."""
        if place := self.place(resource):
            return self.unpriced(
                resource, charge.what or charge.machine, f"{place} has prices of its own: none is known"
            )
        where = self.region(resource) if region is None else region
        if isinstance(where, Unknown) or where == "":
            return self.unpriced(resource, charge.what or charge.machine, "the region is not known")
        return self.tariff(cloud_of(resource.type), where).line(charge, resource.urn)

    def fee(
        self,
        resource: RecordedResource,
        *,
        what: str,
        key: str,
        unit: str,
        quantity: Interval | Unknown | None,
        how: str = "",
        confidence: str = "",
        premium: str = "",
    ) -> LineItem:
        """A fee of the catalog; unpriced when quantity or region is not known.

        `premium` names a managed service whose surcharge is part of it.
        """
        if quantity is None or isinstance(quantity, Unknown):
            return self.unpriced(resource, what, "how much is known only after deployment")
        charge = Charge(
            component=self.graph.component(resource),
            what=what,
            fee=key,
            unit=unit,
            quantity=quantity,
            how=how,
            confidence=confidence,
        )
        if premium:
            charge = charge._replace(service=premium, premium=f"{premium} surcharge")
        return self.line(resource, charge)

    def place(self, resource: RecordedResource) -> str:
        """Where a resource stands that is in a region and not billed by its list: an Outpost, an edge zone; else ""."""
        if resource.urn not in self.places:
            self.places[resource.urn] = _place(self.graph, resource)
        return self.places[resource.urn]

    def tiered(self, resource: RecordedResource, charge: Charge) -> tuple[LineItem, ...]:
        """A fee whose price falls with the quantity: a line for each tier that is reached.

        A free tier is an account's, so it is given once, to whoever comes first; each resource climbs the others by
        itself, which is never too little.
        """
        where, cloud = self.region(resource), cloud_of(resource.type)
        if isinstance(where, Unknown) or where == "" or self.place(resource):
            return (self.line(resource, charge),)
        tariff, taken = self.tariff(cloud, where), Decimal(0)
        if free := tariff.free_quantity(charge.fee):
            taken = min(self.allowances.get((cloud, charge.fee), Decimal(0)), free)
            self.allowances[cloud, charge.fee] = taken + charge.quantity.ceiling
        return tariff.tiered(charge, resource.urn, taken=taken)

    def traffic(self, resource: RecordedResource) -> tuple[LineItem, ...]:
        """Data that a resource sends away, as far as the usage file states it; each statement counts once."""
        lines: list[LineItem] = []
        for measure, (what, key, sides) in TRAFFIC.items() if self.usage.is_stated else ():
            stated = self.usage.once(resource, measure)
            if stated is not None:
                sent = charges.as_used(self.graph.component(resource), what, key, "GB", stated.times(Decimal(sides)))
                lines += self.tiered(resource, sent)
        return tuple(lines)

    def standing(self, resource: RecordedResource, *, what: str, key: str, count: int = 1) -> LineItem:
        """A fee by the hour, around the clock, even at zero machines."""
        return self.line(resource, charges.around_the_clock(self.graph.component(resource), what, key, count))

    def monthly(
        self, resource: RecordedResource, *, what: str, key: str, count: int = 1, region: Text | None = None
    ) -> LineItem:
        """A fee by the month."""
        return self.line(resource, charges.monthly(self.graph.component(resource), what, key, count), region)

    def by_use(
        self, resource: RecordedResource, *, measure: str, what: str, key: str, unit: str
    ) -> tuple[LineItem, ...]:
        """A fee by a use that only the usage file states; named outside the totals where it does not."""
        stated = self.usage.of(resource, measure)
        if stated is None:
            self.outside.append(
                f"{self.graph.component(resource)}: {what} ({resource.name}): not stated, not in totals"
            )
            return ()
        return (
            self.fee(
                resource,
                what=what,
                key=key,
                unit=unit,
                quantity=stated,
                how="from the usage file",
                confidence="assumed usage",
            ),
        )


_OUTPOST: Final = ("outpostArn", "outpostId", "outpostMode", "preferredOutpostArn", "preferredOutpostArns")
_SUBNETS: Final = ("subnetId", "subnetIds", "vpcZoneIdentifiers")
_SUBNET_GROUPS: Final = ("dbSubnetGroupName", "subnetGroupName")


def _place(graph: Graph, resource: RecordedResource) -> str:
    if any(resource.inputs.get(key) not in (None, "") for key in _OUTPOST):
        return "an Outpost"
    if (location := resource.inputs.get("extendedLocation")) is not None:
        return f"the edge zone or custom location {text(get(location, 'name'), '?')}"
    holders = [resource]
    for key in _SUBNET_GROUPS if any(key in resource.inputs for key in _SUBNET_GROUPS) else ():
        groups = graph.referenced(
            resource, key, "aws:rds/subnetGroup:SubnetGroup", "aws:elasticache/subnetGroup:SubnetGroup"
        )
        holders += () if isinstance(groups, Unknown) else groups
    for holder in holders:
        for key in _SUBNETS:
            subnets = graph.referenced(holder, key, "aws:ec2/subnet:Subnet") if key in holder.inputs else ()
            if not isinstance(subnets, Unknown) and any(subnet.inputs.get("outpostArn") for subnet in subnets):
                return "an Outpost"
    return ""


TRAFFIC: Final[Mapping[str, tuple[str, str, int]]] = {  # measure -> words, fee, sides that are billed
    "egress_gigabytes": ("egress to the internet", "egress.internet", 1),
    "inter_region_gigabytes": ("traffic to another region", "egress.inter_region", 1),
    "cross_zone_gigabytes": ("traffic between zones", "egress.cross_zone", 2),
}


class Stated:
    """A usage file that remembers what it was asked for."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._asked: set[tuple[str, str]] = set()
        self.is_stated = bool(usage.entries)

    def of(self, resource: RecordedResource, measure: str) -> Interval | None:
        entry = self._usage.entry_of(resource, measure)
        if entry is None:
            return None
        self._asked.add((entry, measure))
        return self._usage.entries[entry][measure]

    def once(self, resource: RecordedResource, measure: str) -> Interval | None:
        """The same for the first resource that a name fits; a component and its group may share one."""
        entry = self._usage.entry_of(resource, measure)
        return None if entry is None or (entry, measure) in self._asked else self.of(resource, measure)

    def unused(self) -> frozenset[tuple[str, str]]:
        stated = {(name, measure) for name, measures in self._usage.entries.items() for measure in measures}
        return frozenset(stated - self._asked)
