"""Stacks that were compared one by one become one preview: totals, guardrails, what the command returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

from preview import records
from preview.guardrails import NO_LIMITS, Limits, exit_of, guardrails_of, is_silent
from sizing.money import ZERO


def assemble(
    stacks: Sequence[records.Stack],
    *,
    on: date,
    provenance: records.Provenance,
    limits: Limits = NO_LIMITS,
    unblocked: str = "",
) -> records.Preview:
    """One preview of `stacks`; a stack without a figure counts in no sum and makes the exit code 69."""
    before = _sum(stack.before for stack in stacks)
    after = _sum(stack.after for stack in stacks) or _NOTHING
    moved = [m for stack in stacks if (m := stack.prices_moved_usd_per_month) is not None]
    guardrails = guardrails_of(stacks, before, after, limits, unblocked=unblocked)
    exit_code, reason = exit_of(stacks, guardrails)
    failed = [stack for stack in stacks if stack.failed]
    if failed:
        exit_code, reason = 69, f"no figure for {failed[0].stack}: {failed[0].failed.splitlines()[0]}"
    return records.Preview(
        on=on,
        stacks=tuple(stacks),
        before=before,
        after=after,
        change_usd_per_month=sum((stack.change_usd_per_month for stack in stacks), Decimal(0)),
        bought=sum((stack.bought for stack in stacks), ZERO),
        prices_moved_usd_per_month=sum(moved, Decimal(0)) if moved else None,
        guardrails=guardrails,
        provenance=provenance,
        silent=is_silent(stacks, guardrails, limits),
        exit_code=exit_code,
        exit_reason=reason,
    )


def failed_stack(stack: str, project: str, why: str) -> records.Stack:
    """A stack whose program or prices failed: no figure, and the reason."""
    nothing = ZERO
    return records.Stack(
        stack=stack,
        project=project,
        before=None,
        after=None,
        change_usd_per_month=Decimal(0),
        bought=nothing,
        rows=(),
        unchanged=records.Unchanged(usd_per_month=nothing),
        coverage=records.Coverage(),
        failed=why,
    )


def _sum(sides: Iterable[records.Totals | None]) -> records.Totals | None:
    known = [side for side in sides if side is not None]
    if not known:
        return None
    return records.Totals(
        usd_per_month=sum((side.usd_per_month for side in known), ZERO),
        usd_once=sum((side.usd_once for side in known), ZERO),
        idle_usd_per_hour=sum((side.idle_usd_per_hour for side in known), ZERO),
    )


_NOTHING = records.Totals(
    usd_per_month=ZERO,
    usd_once=ZERO,
    idle_usd_per_hour=ZERO,
)
