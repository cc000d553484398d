"""What a bucket or elastic file system bills: as much as it holds, from the usage file or its component's statement."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, get, number
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.costing import BILLED_GIGABYTE, amount
from sizewell.sizing.money import Interval, LineItem

if TYPE_CHECKING:
    from sizewell.resources.context import Context


def stored(resource: RecordedResource, context: Context, *, key: str, what: str) -> tuple[LineItem, ...]:
    """One line for what is held; unpriced where the amount is not stated."""
    stated = context.usage.of(resource, "stored_gigabytes")
    if stated is not None:
        held = charges.as_used(context.graph.component(resource), what, key, "GB-month", stated)
        return context.tiered(resource, held)
    registration = context.graph.registration(resource)
    expected = None if registration is None else registration.get("bytesExpected")
    if expected is not None and is_main_store(resource, context):
        bounds = [number(get(expected, bound)) for bound in ("floor", "expected", "ceiling")]
        if all(isinstance(bound, Decimal) for bound in bounds):
            gigabytes = [amount(bound / BILLED_GIGABYTE) for bound in bounds if isinstance(bound, Decimal)]
            held = charges.stored(context.graph.component(resource), what, Interval(*gigabytes), key)
            return (context.line(resource, held),)
    if registration is not None and not isinstance(expected, Unknown):
        context.outside.append(
            f"{context.graph.component(resource)}: {what} ({resource.name}): not stated, not in totals"
        )
        return ()
    if registration is None and context.catalog.fees_of(cloud_of(resource.type), key):
        # An amount that nobody can know before it is stored, at a rate that is known: named beside the totals.
        return context.by_use(resource, measure="stored_gigabytes", what=what, key=key, unit="GB-month")
    return (context.unpriced(resource, what, "the stored amount is not known; put stored_gigabytes in a usage file"),)


def is_main_store(resource: RecordedResource, context: Context) -> bool:
    """Whether this is the store of which the component states `bytesExpected`, and not one for access logs."""
    owner = context.graph.owner(resource)
    if owner is None:
        return True
    siblings = [
        other for other in context.graph.of(canonical(resource.type)) if owner in context.graph.ancestors(other)
    ]
    return resource.urn == next((other.urn for other in siblings if not keeps_logs(other)), resource.urn)


def keeps_logs(resource: RecordedResource) -> bool:
    """Whether a bucket is there for access logs, by its name."""
    names = (resource.name, *(resource.inputs.get(key) for key in ("bucket", "name", "accountName")))
    return any(isinstance(name, str) and ("-logs" in name or name.endswith("logs")) for name in names)
