"""What a pricing function of `resources.tables` may ask and answers with: prices, usage, and helpers for lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.usage import Usage
from sizewell.resources.values import Text, cloud_of
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.catalog.rates import OWN_RATE, Discounts
from sizewell.sizing.money import Interval, LineItem, Price, Priced, Unpriced

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Fee


@dataclass(frozen=True, slots=True)
class Free:
    """A resource that costs nothing of its own, and why."""

    reason: str = "no charge"


Outcome = tuple[LineItem, ...] | Free
Pricer = Callable[[RecordedResource, "Context"], Outcome]
ZERO_QUANTITY = Interval.exactly(Decimal(0))
UNKNOWN_QUANTITY = Interval.exactly(Decimal(1))


@dataclass(slots=True, kw_only=True)
class Context:
    """What a pricing function may ask: the graph, prices with own discounts applied, usage, and helpers for lines."""

    graph: Graph
    catalog: Rates
    on: date
    usage: Stated
    outside: list[str] = field(default_factory=list)
    allowances: dict[tuple[str, str], Decimal] = field(default_factory=dict)  # free tiers: how much of each is taken

    def region(self, resource: RecordedResource) -> Text:
        return self.graph.region(resource)

    def unpriced(self, resource: RecordedResource, what: str, reason: str) -> LineItem:
        """A line that bills, at a price that nobody knows."""
        return LineItem(
            component=self.graph.component(resource),
            what=what,
            unit="?",
            quantity=UNKNOWN_QUANTITY,
            price=Unpriced(reason),
            resource=resource.urn,
            how="not priced",
        )

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
        region: Text | None = None,
        beyond: int = 0,
    ) -> LineItem:
        """A fee of the catalog, of the tier that starts at `beyond`; unpriced when quantity or region is not known."""
        where = self.region(resource) if region is None else region
        if quantity is None or isinstance(quantity, Unknown):
            return self.unpriced(resource, what, "how much is known only after the cloud has answered")
        if isinstance(where, Unknown) or where == "":
            return self.unpriced(resource, what, "the region is not known")
        cloud = cloud_of(resource.type)
        price: Price = self.catalog.fee(cloud, key, where, self.on)
        for tier in self.catalog.fee_tiers(cloud, key, where, self.on) if beyond else ():
            if tier.from_quantity == beyond:
                price = Priced(tier.usd, tier.source, tier.effective_from)
        return LineItem(
            component=self.graph.component(resource),
            what=what,
            unit=unit,
            quantity=quantity,
            price=price,
            resource=resource.urn,
            how=how,
            confidence=confidence or weakness(price),
        )

    def tiered(
        self,
        resource: RecordedResource,
        *,
        what: str,
        key: str,
        unit: str,
        quantity: Interval | Unknown | None,
        how: str = "",
        confidence: str = "",
    ) -> tuple[LineItem, ...]:
        """A fee whose price falls with the quantity: a line for each tier that is reached.

        A free tier is an account's, so it is given once, to whoever comes first; each resource climbs the others by
        itself, which is never too little.
        """
        where, cloud = self.region(resource), cloud_of(resource.type)
        whole = self.fee(
            resource, what=what, key=key, unit=unit, quantity=quantity, how=how, confidence=confidence
        )  # fmt: skip
        tiers: tuple[Fee, ...] = self.catalog.fee_tiers(cloud, key, where, self.on) if isinstance(where, str) else ()
        if len(tiers) < 2 or not isinstance(quantity, Interval) or isinstance(whole.price, Unpriced):
            return (whole,)
        if whole.price.source == OWN_RATE:  # one price for all of it
            return (whole,)
        bounds = [*(tier.from_quantity for tier in tiers[1:]), None]
        start = Decimal(0)
        if tiers[0].usd == 0 and bounds[0] is not None:
            start = min(self.allowances.get((cloud, key), Decimal(0)), bounds[0])
            self.allowances[cloud, key] = start + quantity.ceiling
        lines = []
        for tier, end in zip(tiers, bounds, strict=True):
            parts = [
                max((q if end is None else min(q, end)) - max(tier.from_quantity, start), Decimal(0))
                for q in (start + quantity.floor, start + quantity.expected, start + quantity.ceiling)
            ]
            if parts[2] == 0:
                continue
            share = "free for the account" if tier.usd == 0 else f"from {tier.from_quantity:,f} {unit} on"
            if tier is tiers[0] and tier.usd:
                share = f"up to {end:,f} {unit}"
            lines.append(
                replace(
                    whole,
                    quantity=Interval(*parts),
                    price=self.catalog.discounted_fee(Priced(tier.usd, tier.source, tier.effective_from), cloud, key),
                    how=f"{how}, {share}" if how else share,
                )
            )
        return tuple(lines) or (whole,)

    def traffic(self, resource: RecordedResource) -> tuple[LineItem, ...]:
        """Data that a resource sends away, as far as the usage file states it; each statement counts once."""
        lines: list[LineItem] = []
        for measure, (what, key, sides) in TRAFFIC.items() if self.usage.is_stated else ():
            stated = self.usage.once(resource, measure)
            if stated is not None:
                lines += self.tiered(
                    resource,
                    what=what,
                    key=key,
                    unit="GB",
                    quantity=stated.times(Decimal(sides)),
                    how="from the usage file",
                    confidence="assumed usage",
                )
        return tuple(lines)

    def standing(self, resource: RecordedResource, *, what: str, key: str, count: int = 1) -> LineItem:
        """A fee by the hour, around the clock, also at zero machines."""
        return self.fee(
            resource,
            what=what,
            key=key,
            unit="hour",
            quantity=Interval.exactly(amount(count * Decimal(730))),
            how="around the clock, also at zero machines",
        )

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


TRAFFIC: Final[Mapping[str, tuple[str, str, int]]] = {  # measure -> words, fee, sides that bill
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


def weakness(price: Price) -> str:
    return "estimated price" if isinstance(price, Priced) and price.source.startswith("estimate") else ""


class Rates:
    """A catalog's prices with own rates applied, each asked for once."""

    def __init__(self, catalog: Catalog, discounts: Discounts, on: date) -> None:
        self._catalog = catalog
        self._discounts = discounts
        self._on = on
        self._prices: dict[tuple[str, str, str, str], Price] = {}
        self._fees: dict[tuple[str, str, str], Price] = {}
        self._premiums: dict[str, Price] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def price(self, cloud: str, instance_type: str, region: str, market: str, on: date) -> Price:
        key = (cloud, instance_type, region, market)
        if key not in self._prices:
            listed = self._catalog.price(cloud, instance_type, region, market, on)
            self._prices[key] = self._discounts.machine(listed, cloud, instance_type, region, market)
        return self._prices[key]

    def fee(self, cloud: str, name: str, region: str, on: date) -> Price:
        key = (cloud, name, region)
        if key not in self._fees:
            listed = self._catalog.fee(cloud, name, region, on)
            self._fees[key] = self._discounts.fee(listed, cloud, name)
        return self._fees[key]

    def discounted_fee(self, listed: Price, cloud: str, name: str) -> Price:
        return self._discounts.fee(listed, cloud, name)

    def sagemaker_premium(self, instance_type: str) -> Price:
        if instance_type not in self._premiums:
            self._premiums[instance_type] = self._catalog.sagemaker_premium(instance_type)
        return self._premiums[instance_type]
