"""What a spec's `budget` limits: whether a workload is inside of it, and what a whole stack may cost.

Sizing, the command, previews, policies and the components that alarm ask here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

MONTHLY: Final = "usd_per_month"
PER_RUN: Final = "usd_per_run"


def of_stack(monthly: Iterable[Decimal | None]) -> Decimal | None:
    """US dollars per month that a stack may cost: the sum of its workloads' budgets.

    None where a workload has none: a sum that leaves workloads out would raise false alarms.

    >>> of_stack([Decimal(900), Decimal(100)]), of_stack([Decimal(900), None]), of_stack([])
    (Decimal('1000'), None, None)
    """
    limits = list(monthly)
    stated = [limit for limit in limits if limit is not None]
    return sum(stated, Decimal(0)) if stated and len(stated) == len(limits) else None


def to_spare(
    budget: Mapping[str, Decimal], *, usd_per_month: Decimal, usd_per_run: Decimal | None
) -> dict[str, Decimal]:
    """US dollars by which each limit is kept, negative where it is exceeded; the cost of a run may not be known.

    >>> to_spare({"usd_per_month": Decimal(900)}, usd_per_month=Decimal(950), usd_per_run=None)
    {'usd_per_month': Decimal('-50')}
    """
    spent = {MONTHLY: usd_per_month, PER_RUN: usd_per_run}
    return {key: limit - usd for key, limit in budget.items() if (usd := spent.get(key)) is not None}


def exceeded(budget: Mapping[str, Decimal], *, usd_per_month: Decimal, usd_per_run: Decimal | None) -> bool:
    """Whether the expected cost is above a limit."""
    return any(usd < 0 for usd in to_spare(budget, usd_per_month=usd_per_month, usd_per_run=usd_per_run).values())
