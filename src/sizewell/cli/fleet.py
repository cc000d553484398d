"""What `sizewell teardown status` prints of the fleet, as a table, as JSON and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sizewell.cli import output
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.teardown.fleet import StackState
    from sizewell.teardown.planning import Plan


def table(plan: Plan, stacks: Sequence[StackState]) -> None:
    """The fleet in a terminal: one row for each stack."""
    from sizewell.teardown import render

    numbers = ("machines", "USD/month now", "at smallest")
    shown = output.table("stack", "owner", "state", *numbers, "next", "kept", right=numbers)
    shown.columns[0].no_wrap = True  # a name that is to be typed
    for stack in stacks:
        shown.add_row(
            stack.plan.stack,
            stack.plan.owner,
            stack.state,
            _count(stack.machines),
            *(render.dollars(usd) for usd in (stack.usd_per_month, stack.smallest_usd_per_month)),
            stack.next,
            "\n".join(stack.held),
        )
    console = output.console()
    console.print(shown)
    console.print(
        "USD/month: machines as they stand for 730 hours; at smallest: what is billed with pools at their minimum"
    )
    if plan.halted:
        console.print(f"halted: {plan.halted}")
    console.print(f"\n{plural(len(stacks), 'stack')}: {_states(stacks)}")


def document(plan: Plan, stacks: Sequence[StackState]) -> dict[str, Any]:
    """The fleet for programs."""
    rows = [
        {
            "stack": stack.plan.stack,
            "owner": stack.plan.owner,
            "environment": stack.plan.environment,
            "state": stack.state,
            "next": stack.next,
            "held": list(stack.held),
            "machines": stack.machines,
            "usd_per_month": _text(stack.usd_per_month),
            "smallest_usd_per_month": _text(stack.smallest_usd_per_month),
            "pools": [
                {
                    "pool": pool.row.pool,
                    "action": pool.row.action,
                    "why": pool.row.why,
                    "seen": pool.seen,
                    "hours": [{**asdict(hour), "start": hour.start.isoformat()} for hour in pool.hours],
                }
                for pool in stack.pools
            ],
        }
        for stack in stacks
    ]
    return {
        "schema": schema_of("teardown-status"),
        "at": plan.at.isoformat(),
        "project": plan.project,
        "halted": plan.halted,
        "stacks": rows,
    }


def page(plan: Plan, stacks: Sequence[StackState]) -> str:
    """The fleet as one page without scripts or outside parts."""
    from markupsafe import Markup

    from sizewell.preview.render import pages
    from sizewell.teardown import render
    from sizewell.teardown.fleet import DAYS, plot

    def section(number: int, stack: StackState) -> dict[str, Any]:
        whose = ", ".join(part for part in (stack.plan.owner, stack.plan.environment) if part)
        pools = [
            {
                "name": f"pool {pool.row.pool}",
                "action": pool.row.action,
                "why": pool.row.why,
                "more": "; ".join(each for each in (render.evidence(pool.row), render.following(pool.row)) if each),
                "seen": pool.seen,
                "plot": Markup(plot(pool, plan.at)),  # noqa: S704 - of times and figures, its label escaped
            }
            for pool in stack.pools
        ]
        why = f"{stack.plan.row.action}: {stack.plan.row.why}"
        remarks = [f"kept {each}" for each in stack.held] + list(render.after(stack.plan))
        name = stack.plan.stack
        return {"id": f"stack-{number}", "name": name, "whose": whose, "why": why, "pools": pools, "remarks": remarks}

    rows = [
        [
            Markup('<a href="#stack-{}">{}</a>').format(number, stack.plan.stack),
            stack.plan.owner,
            stack.state,
            stack.next,
            "; ".join(stack.held),
            _count(stack.machines),
            render.dollars(stack.usd_per_month),
            render.dollars(stack.smallest_usd_per_month),
        ]
        for number, stack in enumerate(stacks)
    ]
    heads = ["stack", "owner", "state", "next act", "kept", "machines", "USD/month now", "at smallest"]
    caption = (
        "US dollars per month: of the machines as they stand, 730 hours; of everything with pools at their minimum"
    )
    unpriced = sum(stack.usd_per_month is None for stack in stacks)
    more = f"and {plural(unpriced, 'stack')} whose cost is not known" if unpriced else ""
    total = sum((stack.usd_per_month for stack in stacks if stack.usd_per_month is not None), Decimal(0))
    due = sum(row.action in ("empty", "destroy") for row in plan.due)
    blind = sum(stack.state == "not known" for stack in stacks)
    cards = [
        pages.Card("stacks", f"{len(stacks):,}"),
        pages.Card("machines", _count(_total([stack.machines for stack in stacks])), "that were counted"),
        pages.Card("machines, USD per month", f"{total:,.2f}", more),
        pages.Card("acts that are due", f"{due:,}", "pools to empty, stacks to destroy"),
        pages.Card("not known", f"{blind:,}", "stacks, kept until somebody can tell", "up" if blind else ""),
    ]
    return pages.render(
        "fleet.html",
        heading="Fleet",
        tab=f"Fleet of {plan.project}",
        at=f"{plan.at:%Y-%m-%d %H:%M}",
        project=plan.project,
        headline=f"{plural(len(stacks), 'stack')}: {_states(stacks)}.",
        halted=f"Halted, nothing is stopped: {plan.halted}" if plan.halted else "",
        cards=cards,
        overview=pages.Table(heads=heads, rows=rows, right=3, label="stacks of the fleet", caption=caption),
        stacks=[section(number, stack) for number, stack in enumerate(stacks)],
        begins=f"{plan.at - timedelta(days=DAYS):%d %b %H:00} UTC",
        ends=f"{plan.at:%d %b %H:%M} UTC",
    )


def _states(stacks: Sequence[StackState]) -> str:
    counts = Counter(stack.state for stack in stacks)
    return ", ".join(f"{number} {state}" for state, number in counts.most_common()) or "none"


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known or not counts else None


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _text(usd: Decimal | None) -> str | None:
    return None if usd is None else str(usd)
