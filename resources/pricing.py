"""Prices of a plan: each recorded resource becomes line items, "free" with its reason, unpriced, or an unknown type.

The tables `resources.aws`, `.gcp` and `.azure` map type tokens to pure functions; the arithmetic is `sizing.costing`.
A missing price is never 0, an unknown count or type gives an interval or an unpriced line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from resources.graph import Graph
from resources.recorded import Plan, RecordedResource, Unknown
from resources.usage import NO_DISCOUNTS, NO_USAGE, Discounts, Usage
from resources.values import Text, canonical, cloud_of
from sizing.costing import amount
from sizing.money import Cost, Interval, LineItem, Price, Priced, Unpriced, total

if TYPE_CHECKING:
    from sizing.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Free:
    """A resource that costs nothing of its own, and why."""

    reason: str = "no charge"


Outcome = tuple[LineItem, ...] | Free
Pricer = Callable[[RecordedResource, "Context"], Outcome]
ZERO_QUANTITY = Interval.exactly(Decimal(0))
UNKNOWN_QUANTITY = Interval.exactly(Decimal(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many resources of the plan were seen and what became of them; the five add up: detected = the other four."""

    detected: int
    estimated: int
    free: int
    unpriced: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """What a plan costs. `items` has a line for everything that bills, lines without a price included.

    `free` and `unknown` are (urn, type, reason); `outside` says in words what bills by a use that nobody stated.
    """

    items: tuple[LineItem, ...]
    free: tuple[tuple[str, str, str], ...]
    unpriced: tuple[tuple[str, str, str], ...]
    unknown: tuple[tuple[str, str, str], ...]
    outside: tuple[str, ...]
    coverage: Coverage

    def cost(self) -> Cost:
        return total(self.items)


@dataclass(slots=True, kw_only=True)
class Context:
    """What a pricing function may ask: the graph, prices with own discounts applied, usage, and helpers for lines."""

    graph: Graph
    catalog: Catalog  # `Rates`: the same questions, remembered and discounted
    on: date
    usage: Usage
    outside: list[str] = field(default_factory=list)

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

    def sagemaker_premium(self, instance_type: str) -> Price:
        if instance_type not in self._premiums:
            self._premiums[instance_type] = self._catalog.sagemaker_premium(instance_type)
        return self._premiums[instance_type]


def price(
    plan: Plan, catalog: Catalog, *, on: date, usage: Usage | None = None, discounts: Discounts | None = None
) -> Pricing:
    """Price every resource of a plan on a date, in order of registration."""
    from resources.tables import FREE, NOT_CLOUD, PRICERS, free_reason

    context = Context(
        graph=Graph(plan),
        catalog=Rates(catalog, discounts or NO_DISCOUNTS, on),  # type: ignore[arg-type]
        on=on,
        usage=usage or NO_USAGE,
    )
    items: list[LineItem] = []
    free: list[tuple[str, str, str]] = []
    unpriced: list[tuple[str, str, str]] = []
    unknown: list[tuple[str, str, str]] = []
    estimated = 0
    for resource in plan.resources:
        kind = canonical(resource.type)
        pricer = PRICERS.get(kind)
        if pricer is None:
            if not resource.custom or kind.startswith(NOT_CLOUD):
                free.append((resource.urn, resource.type, "groups other resources"))
            elif kind in FREE or (reason := free_reason(kind)):
                free.append((resource.urn, resource.type, FREE.get(kind) or reason))
            else:
                unknown.append((resource.urn, resource.type, "no price rule for this type"))
                items.append(context.unpriced(resource, f"{resource.type}", "no price rule for this type"))
            continue
        outcome = pricer(resource, context)
        if isinstance(outcome, Free):
            free.append((resource.urn, resource.type, outcome.reason))
            continue
        items.extend(outcome)
        reasons = [line.price.reason for line in outcome if isinstance(line.price, Unpriced)]
        if reasons:
            unpriced.append((resource.urn, resource.type, "; ".join(dict.fromkeys(reasons))))
        else:
            estimated += 1
    items = list((discounts or NO_DISCOUNTS).with_commitments(items, on))
    return Pricing(
        items=tuple(items),
        free=tuple(free),
        unpriced=tuple(unpriced),
        unknown=tuple(unknown),
        outside=tuple(dict.fromkeys(context.outside)),
        coverage=Coverage(
            detected=len(plan.resources),
            estimated=estimated,
            free=len(free),
            unpriced=len(unpriced),
            unknown=len(unknown),
        ),
    )
