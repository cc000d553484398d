"""Stacks that were compared one by one become one preview: totals, guardrails, what the command returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

from sizewell.preview import records
from sizewell.preview.guardrails import NO_LIMITS, Limits, exit_of, guardrails_of, is_silent, stricter
from sizewell.sizing.catalog.history import fresh_days
from sizewell.sizing.money import ZERO

LISTED: Final = "on-demand"
_STATED: Final = ("own rate", "own commitment", "own savings plan")  # terms whose price no list has to say anew
MARKETS: Final = ("capacity-block", "spot", "flex-start", LISTED)  # as a line of a bill names them, or with a space


def assemble(
    stacks: Sequence[records.Stack],
    *,
    on: date,
    provenance: records.Provenance,
    limits: Limits = NO_LIMITS,
    unblocked: str = "",
    at_prices: tuple[str, Sequence[records.Stack]] = ("", ()),
    codes: Mapping[str, int] | None = None,
) -> records.Preview:
    """One preview of `stacks`; one without a figure counts in no sum, and that or a base without one is an exit code.

    `codes` are those of what failed, by stack: 69 where a program did, others where its decision or a file is wrong.
    `at_prices` are the same stacks at other prices that the limits have to hold at too, and what those are called.
    `unblocked` is the reason somebody gave, which lets an exceeded limit and a base that does not build pass.
    """
    before = _sum(stack.before for stack in stacks)
    after = _sum(stack.after for stack in stacks) or _NOTHING
    moved = [m for stack in stacks if (m := stack.prices_moved_usd_per_month) is not None]
    guardrails = guardrails_of(stacks, before, after, limits, unblocked=unblocked)
    label, again = at_prices
    if again:
        totals = _sum(stack.before for stack in again), _sum(stack.after for stack in again) or _NOTHING
        guardrails = stricter(guardrails, guardrails_of(again, *totals, limits, unblocked=unblocked), label)
    exit_code, reason = exit_of(stacks, guardrails)
    failed = [stack for stack in stacks if stack.failed]
    uncompared = [stack for stack in stacks if stack.base_failed]
    old = stale_prices(stacks, provenance, on)
    days = {line.date for line in _lines(stacks) if line.date and line.terms not in _STATED}
    if failed:
        exit_code = max((codes or {}).get(stack.stack, 69) for stack in failed)
        reason = f"no price for {failed[0].stack}: {failed[0].failed.splitlines()[0]}"
    elif uncompared and not unblocked:
        exit_code, reason = (
            69,
            f"nothing to compare {uncompared[0].stack} with: {uncompared[0].base_failed.splitlines()[0]}",
        )
    return records.Preview(
        on=on,
        stacks=tuple(stacks),
        before=before,
        after=after,
        change_usd_per_month=sum((stack.change_usd_per_month for stack in stacks), Decimal(0)),
        bought=sum((stack.bought for stack in stacks), ZERO),
        prices_moved_usd_per_month=sum(moved, Decimal(0)) if moved else None,
        guardrails=guardrails,
        provenance=provenance.model_copy(
            update={"stale": old, "used_from": min(days, default=""), "used_until": max(days, default="")}
        ),
        silent=is_silent(stacks, guardrails, limits),
        exit_code=exit_code,
        exit_reason=reason,
    )


def stale_prices(stacks: Iterable[records.Stack], provenance: records.Provenance, on: date) -> tuple[str, ...]:
    """What is too old to be relied on, by the kind of price: the whole catalog, and the machines of the bills."""
    notes = []
    if provenance.age_days is not None and provenance.age_days > fresh_days(LISTED):
        notes.append(f"the newest accelerator price is from {provenance.catalog_as_of}, {provenance.age_days} days ago")
    moving: dict[str, set[tuple[str, str]]] = {}
    for line in _lines(stacks):
        market = next((name for name in MARKETS if name.replace("-", " ") in line.what.replace("-", " ")), None)
        if market and line.date and line.terms not in _STATED and _days(line.date, on) > fresh_days(market):
            moving.setdefault(market, set()).add((line.date, line.what))
    for market, prices in sorted(moving.items()):
        oldest, what = min(prices)
        many = f"{len(prices)} {market} prices are" if len(prices) > 1 else f"the {market} price of {what} is"
        since = f"{'the oldest ' if len(prices) > 1 else ''}of {oldest}"
        notes.append(f"{many} older than {fresh_days(market)} days, {since}")
    return tuple(notes)


def _lines(stacks: Iterable[records.Stack]) -> Iterator[records.Line]:
    return (line for stack in stacks for row in (*stack.rows, *stack.unchanged.rows) for line in row.lines)


def _days(day: str, on: date) -> int:
    try:
        return (on - date.fromisoformat(day)).days
    except ValueError:
        return 0


def failed_stack(stack: str, project: str, why: str, cause: tuple[str, ...] = ()) -> records.Stack:
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
        cause=cause,
    )


def _sum(sides: Iterable[records.Totals | None]) -> records.Totals | None:
    known = [side for side in sides if side is not None]
    if not known:
        return None
    return records.Totals(
        usd_per_month=sum((side.usd_per_month for side in known), ZERO),
        usd_once=sum((side.usd_once for side in known), ZERO),
        idle_usd_per_hour=sum((side.idle_usd_per_hour for side in known), ZERO),
        idle_kept=any(side.idle_kept for side in known),
    )


_NOTHING = records.Totals(
    usd_per_month=ZERO,
    usd_once=ZERO,
    idle_usd_per_hour=ZERO,
)
