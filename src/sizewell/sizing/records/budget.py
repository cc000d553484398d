"""What a spec's `budget` limits: whether a workload is inside it, and what a whole stack may cost.

Sizing, the command, previews, policies and the components that alarm ask here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

from sizewell.sizing.money import OneOff, RunRate

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


def to_spare(budget: Mapping[str, Decimal], *, run_rate: RunRate, run: OneOff | None) -> dict[str, Decimal | None]:
    """US dollars by which the expected cost keeps each limit, negative where it is above it; None where nobody knows.

    A month or a run of which a line has no price is above its limit as soon as the other lines are (then by that much
    at least), and never known to keep it.

    >>> from sizewell.sizing.money import Interval
    >>> month = RunRate(Interval.exactly(Decimal(950)))
    >>> to_spare({"usd_per_month": Decimal(900), "usd_per_run": Decimal(50)}, run_rate=month, run=None)
    {'usd_per_month': Decimal('-50'), 'usd_per_run': None}
    """
    spare: dict[str, Decimal | None] = {}
    for key, limit in budget.items():
        spent = run_rate.usd_per_month if key == MONTHLY else run.usd if run else None
        left = None if spent is None else limit - spent.expected
        open_ended = bool(unpriced_of(key, run_rate=run_rate, run=run))
        spare[key] = None if left is not None and left >= 0 and open_ended else left
    return spare


def unpriced_of(key: str, *, run_rate: RunRate, run: OneOff | None) -> tuple[str, ...]:
    """The lines without a price of what a limit is held against."""
    if key == MONTHLY:
        return run_rate.unpriced
    return run.unpriced if run else ()


def exceeded(budget: Mapping[str, Decimal], *, run_rate: RunRate, run: OneOff | None) -> bool:
    """Whether the expected cost is above a limit."""
    spare = to_spare(budget, run_rate=run_rate, run=run).values()
    return any(usd is not None and usd < 0 for usd in spare)
