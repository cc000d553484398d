"""Machines that stand in a capacity reservation of the same program: the reservation is billed whole, they are not."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.resources.recorded import RecordedResource
from sizewell.resources.values import count, get
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem, Unpriced

if TYPE_CHECKING:
    from sizewell.resources.context import Context

_COUNTS: Final = (  # where a reservation says how many machines it holds
    ("instanceCount",),
    ("specificReservation", "count"),
    ("sku", "capacity"),
)


def beyond(line: LineItem, context: Context, *reservations: RecordedResource) -> list[LineItem]:
    """The machine-hours of a line that no reservation covers; none where all are covered.

    What one pool takes of a reservation is not there for the next.
    """
    taken_before = context.reserved
    for reservation in reservations:
        held = _hours(reservation)
        left = held - taken_before.get(reservation.urn, Decimal(0))
        whole = line.quantity
        if left <= 0 or isinstance(line.price, Unpriced):
            continue
        taken_before[reservation.urn] = taken_before.get(reservation.urn, Decimal(0)) + min(whole.ceiling, left)
        rest = [max(bound - left, Decimal(0)) for bound in (whole.floor, whole.expected, whole.ceiling)]
        if not any(rest):
            return []
        line = replace(line, quantity=Interval(*map(amount, rest)), how=f"{line.how}; beyond {reservation.name}")
    return [line]


def _hours(reservation: RecordedResource) -> Decimal:
    machines = next((many for path in _COUNTS if (many := count(get(reservation.inputs, *path))) is not None), 1)
    return machines * HOURS_PER_MONTH if isinstance(machines, int) else Decimal(0)
