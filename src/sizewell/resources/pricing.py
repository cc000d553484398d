"""Prices of a plan: each recorded resource becomes line items, "free" with its reason, unpriced, or an unknown type.

The tables map type tokens to pure functions; prices and lines are those of `sizing.billing.tariff`.
A missing price is never 0, an unknown count or type gives an interval or an unpriced line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from sizewell import logs
from sizewell.resources import savings, scaled
from sizewell.resources.context import Context, Free, Outcome, Stated
from sizewell.resources.expiry import Expiries
from sizewell.resources.graph import Graph
from sizewell.resources.not_shown import hidden_of
from sizewell.resources.priced import RETIRED, Coverage, Pricing
from sizewell.resources.readers.images import machine_types
from sizewell.resources.recorded import Hidden, Plan, RecordedResource
from sizewell.resources.spellings import respelled
from sizewell.resources.tables import FREE, NOT_CLOUD, free_reason, meters, pricer_of
from sizewell.resources.usage import NO_USAGE, Usage
from sizewell.resources.values import canonical
from sizewell.sizing.billing.tariff import unpriced as unpriced_line
from sizewell.sizing.catalog import lifetimes, systems
from sizewell.sizing.catalog.rates import Discounts
from sizewell.sizing.money import LineItem, Unpriced

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog


def price(
    plan: Plan,
    catalog: Catalog,
    *,
    on: date,
    usage: Usage | None = None,
    discounts: Discounts | None = None,
    committed: bool = True,
) -> Pricing:
    """Price every resource of a plan on a date, in order of registration.

    `committed`: False where the caller shares own commitments out over several plans.
    """
    plan = respelled(plan)
    own = discounts or catalog.rates  # a file that is named goes before the project's own rates
    context = Context(
        graph=Graph(plan, expiries=Expiries(on=on)),
        catalog=catalog if own is catalog.rates else replace(catalog, rates=own),
        on=on,
        usage=Stated(usage or NO_USAGE),
    )
    items: list[LineItem] = []
    free: list[tuple[str, str, str]] = []
    unpriced: list[tuple[str, str, str]] = []
    unknown: list[tuple[str, str, str]] = []
    by_use: list[tuple[str, str, str]] = []
    estimated = 0
    by_urn = plan.by_urn()
    hidden = hidden_of(plan)
    hiding = {each.urn: each for each in hidden if each.urn}
    for resource in plan.resources:
        if (hides := hiding.get(resource.urn)) is not None:
            items.append(context.unpriced(resource, hides.what, _not_judged(hides)))
            items.extend(context.traffic(resource))
            continue
        kind = canonical(resource.type)
        pricer = pricer_of(kind)
        outcome: Outcome
        told = len(context.outside)
        if pricer is not None:
            outcome = scaled.priced(pricer, resource, context)
        elif not resource.custom or kind.startswith(NOT_CLOUD):
            outcome = Free("groups other resources")
        elif kind in FREE or free_reason(kind):
            outcome = Free(FREE.get(kind) or free_reason(kind))
        elif any(rate.usd is not None and rate.fee == kind for rate in own.rates):
            outcome = (context.monthly(resource, what=resource.type, key=kind),)
        else:
            unknown.append((resource.urn, resource.type, "no price rule for this type"))
            items.append(context.unpriced(resource, f"{resource.type}", "no price rule for this type"))
            items.extend((*meters.beside(resource, kind, context), *context.traffic(resource)))
            continue
        beside = meters.beside(resource, kind, context)
        sent = context.traffic(resource)
        lines = (*(() if isinstance(outcome, Free) else outcome), *beside, *sent)
        if not lines and len(context.outside) > told:
            by_use.append((resource.urn, resource.type, "; ".join(context.outside[told:])))
            continue
        if not lines:
            free.append((resource.urn, resource.type, outcome.reason if isinstance(outcome, Free) else Free().reason))
            continue
        items.extend(lines)
        reasons = [line.price.reason for line in lines if isinstance(line.price, Unpriced)]
        if reasons:
            reasons += _retired(resource)
            unpriced.append((resource.urn, resource.type, "; ".join(dict.fromkeys(reasons))))
        else:
            estimated += 1
    items += [unpriced_line(each.name, each.what, _not_judged(each)) for each in hidden if not each.urn]
    _log(plan, items, free, unknown)
    # After the loop and not per resource: a commitment of the team covers the machines of the whole plan, and what the
    # first ones leave of it is for the next. Of several plans only the caller knows the order: `committed=False`.
    items = savings.with_program(context, items)
    if committed:
        items = list(own.with_commitments(items, on))
        for each in own.shared_out(on):
            items, _ = savings.with_plan(each, items, each.bought, context.catalog)
    return Pricing(
        items=tuple(items),
        free=tuple(free),
        unpriced=tuple(unpriced),
        unknown=tuple(unknown),
        outside=tuple(dict.fromkeys(context.outside)),
        coverage=Coverage(
            detected=len(plan.resources) + sum(not each.urn for each in hidden),
            estimated=estimated,
            free=len(free),
            unpriced=len(unpriced),
            unknown=len(unknown),
            not_judged=sum(not each.urn or each.urn in by_urn for each in hidden),
            by_use=len(by_use),
        ),
        hidden=hidden,
        by_use=tuple(by_use),
        elsewhere=frozenset(context.elsewhere),
        unused=context.usage.unused(),
        asked=frozenset(each for tariff in context.tariffs.values() for each in tariff.asked())
        if own.rates
        else frozenset(),
    )


def _log(
    plan: Plan,
    items: Sequence[LineItem],
    free: Sequence[tuple[str, str, str]],
    unknown: Sequence[tuple[str, str, str]],
) -> None:
    counts = (len(plan.resources), len(items), len(free), len(unknown))
    logs.log(__name__, "%s: %d resources, %d lines; %d free, %d of a type without a price rule", plan.stack, *counts)
    if not logs.has_details():
        return
    for item in items:
        price = item.price
        from_where = (
            price.reason if isinstance(price, Unpriced) else f"{price.amount} from {price.source}, {price.date}"
        )
        logs.detail(__name__, "%s: %s: %s", item.resource, item.what, from_where)
    for urn, kind, reason in free:
        logs.detail(__name__, "%s: %s: free: %s", urn, kind, reason)


def _retired(resource: RecordedResource) -> list[str]:
    """What of a resource without a price no cloud makes any more: nobody can state its price."""
    known = lifetimes.load()
    rows = {machine: systems.retired(machine, known) for machine in machine_types(resource.inputs)}
    return [
        f"{machine} {RETIRED} {row.supported_until}, {row.note}" for machine, row in rows.items() if row and row.gone
    ]


def _not_judged(hidden: Hidden) -> str:
    """Why nobody knows what is behind a resource or a place."""
    return f"not judged: it may bring {hidden.may_hide}" + (f"; {hidden.why}" if hidden.why else "")
