"""A plan as Markdown, and what a page shows of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from sizewell.teardown.planning import Plan, Row, StackPlan

WORDS = {
    "destroy": "to destroy",
    "empty": "to empty",
    "warn": "to warn about",
    "unknown": "unknown and kept",
    "keep": "kept",
}


def dollars(amount: Decimal | None) -> str:
    """US dollars per month; `?` for what nobody knows."""
    return "?" if amount is None else f"{amount:,.2f}"


def headline(plan: Plan) -> str:
    """What becomes of everything, in one sentence."""
    counts = [f"{number} {WORDS[action]}" for action, number in plan.counted().items() if number]
    saved = [row.saves_usd_per_month for stack in plan.stacks for row in stack.taken()]
    known = sum((amount for amount in saved if amount is not None), Decimal(0))
    more = " + ?" if None in saved else ""
    what = ", ".join(counts) or "no stacks"
    return f"{what}; what is due saves {known:,.2f}{more} USD per month"


def evidence(row: Row) -> str:
    """What a verdict rests on: source, samples received of those due, age of the newest."""
    if not row.source:
        return ""
    blind = f"; not watched: {', '.join(row.unwatched)}" if row.unwatched else ""
    if not row.samples_due:
        return (
            "" if row.source in row.why else f"{row.source}{blind}"
        )  # the reason says already which service did not respond
    age = "" if row.newest_age_s is None else f", newest {row.newest_age_s / 60:.0f} min old"
    window = f"{row.window_s / 60:.0f} min"
    return f"{row.source}: {row.samples_received} of {row.samples_due} samples in {window}{age}{blind}"


def following(row: Row) -> str:
    """The next step and its time; without one, it comes once nothing holds the stack. Where none comes, a person's."""
    if not row.next_step:
        return row.advice
    when = f"from {row.next_at:%Y-%m-%d %H:%M} UTC" if row.next_at else "once nothing holds it"
    return f"{row.next_step} {when}"


def markdown(plan: Plan) -> str:
    """The plan as Markdown: a headline, a table, and what goes on billing by stack."""
    lines = [
        f"### Teardown plan, {plan.at:%Y-%m-%d %H:%M} UTC",
        "",
        f"{headline(plan)[0].upper()}{headline(plan)[1:]}.",
    ]
    if plan.halted:
        lines += ["", f"**Halted**: {_cell(plan.halted)}. Nothing is done."]
    lines += [line for remark in plan.remarks for line in ("", _cell(remark))]
    lines += [
        "",
        "| stack | pool | verdict | why | evidence | saves, USD/month | next | owner |",
        "| --- | --- | --- | --- | --- | ---: | --- | --- |",
    ]
    for stack in plan.stacks:
        for row in stack.rows:
            saves = dollars(row.saves_usd_per_month) if row.action in ("warn", "empty", "destroy") else ""
            cells = (
                *(row.stack if not row.pool else "", row.pool, row.action, row.why, evidence(row), saves),
                *(following(row), stack.owner),
            )
            lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    for stack in plan.stacks:
        remarks = list(after(stack))
        if remarks:
            lines += ["", f"**{_cell(stack.stack)}**", "", *(f"- {_cell(remark)}" for remark in remarks)]
    return "\n".join(lines) + "\n"


def after(stack: StackPlan) -> Iterator[str]:
    """What is left of a stack when its plan is done, and what else there is to say."""
    yield from stack.notes
    if stack.bills_on:
        yield f"is still billed {dollars(stack.bills_on_usd_per_month)} USD per month: {'; '.join(stack.bills_on)}"
    if stack.row.action in ("warn", "destroy"):
        if stack.kept:
            yield f"is kept: {'; '.join(stack.kept)}"
        if stack.data:
            yield f"holds data, refused without --data {stack.stack}: {'; '.join(stack.data)}"


def timeline(row: Row, at: datetime, days: float = 14.0) -> str:
    """The machines of a pool over time, as a picture: SVG, of no outside part."""
    begins = at - timedelta(days=days)
    total_s = days * 86_400
    parts = ['<rect class="unknown" x="0" y="2" width="1000" height="12"><title>not counted before</title></rect>']
    for span in row.spans:
        start_s = max((span.start - begins).total_seconds(), 0.0)
        end_s = min((span.end - begins).total_seconds(), total_s)
        if end_s <= start_s:
            continue
        kind = "unknown" if span.machines is None else "on" if span.machines else "off"
        title = f"{span.start:%Y-%m-%d %H:%M} to {span.end:%Y-%m-%d %H:%M} UTC: {span.machines} machines"
        x, width = start_s / total_s * 1000, max((end_s - start_s) / total_s * 1000, 1.0)
        parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="2" width="{width:.1f}" height="12"><title>{title}</title></rect>'
        )
    label = f"machines in the {days:g} days before {at:%Y-%m-%d %H:%M} UTC"
    return (
        f'<svg class="timeline" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _cell(text: str) -> str:
    """Text in a table of Markdown: no table, link or mark of its own."""
    plain = " ".join(text.split())
    for sign in "\\|`*_<>[]":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
