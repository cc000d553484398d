"""The preview on a terminal: tables that fit 100 columns, the same figures as the comment."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sizewell.preview import records
from sizewell.preview.render import text
from sizewell.preview.render.folds import predicted, provenance_in_words
from sizewell.sizing.units import plural

_STYLES = {"+": "red", "-": "green", "~": "yellow", "=": "dim"}


def render(preview: records.Preview, *, width: int = 100, color: bool = False) -> str:
    """Text for a terminal of `width` columns; with `color`, ANSI colours."""
    buffer = io.StringIO()
    console = Console(
        file=buffer, width=width, force_terminal=color, color_system="standard" if color else None, highlight=False,
        emoji=False, markup=False,
    )  # fmt: skip
    _headline(console, preview)
    if len(preview.stacks) > 1:
        _stacks(console, preview)
    for stack in text.loud_and_quiet(preview)[0]:
        _stack(console, stack, many=len(preview.stacks) > 1)
    _foot(console, preview)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _headline(console: Console, preview: records.Preview) -> None:
    loud, _ = text.loud_and_quiet(preview)
    first = (loud or list(preview.stacks))[:4]
    names = ", ".join(stack.stack for stack in first)
    more = f" and {len(preview.stacks) - len(first)} more" if len(preview.stacks) > len(first) else ""
    console.print(Text(f"Cost preview: {names}{more}", style="bold"))
    for line in text.destroyed(preview):
        console.print(Text(_plain(line), style="red"))
    for stack in preview.stacks:
        if stack.failed:
            console.print(Text(f"No price for {stack.stack}", style="red"))
    if not all(stack.failed for stack in preview.stacks):
        line = text.headline(preview)
        console.print(Text(line, style="bold"))
        for unknown in text.unknowns(preview)[:MOST_UNKNOWN] if preview.before else ():
            console.print(Text(f"Not known: {_plain(unknown)}", style="yellow"))
    moved = text.moved(preview.prices_moved_usd_per_month, preview.change_usd_per_month)
    if moved:
        console.print(Text(f"{moved[0].upper()}{moved[1:]}"))
    for judge in preview.judge:
        console.print(Text(f"Changes to the checks: {_plain(judge)}", style="red"))
    for decision in preview.decisions:
        console.print(Text(f"Decision out of date: {_plain(decision)}", style="red"))
    old = text.old_prices(preview)
    if old:
        console.print(Text(_plain(old), style="yellow"))
    for rail in text.broken(preview.guardrails):
        console.print(Text(f"Over the limit: {rail}", style="red"))


MOST_UNKNOWN = 3  # lines without a price behind the headline; all of them are listed below


def _table(*columns: tuple[str, dict[str, object]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, expand=False)
    for name, options in columns:
        table.add_column(name, **options)  # type: ignore[arg-type]
    return table


_RIGHT: dict[str, object] = {"justify": "right", "no_wrap": True}


def _stacks(console: Console, preview: records.Preview) -> None:
    """One row per stack, before each is told in full."""
    console.print()
    heads = ("before", "floor", "expected", "ceiling", "change", "once")
    table = _table(("stack", {"overflow": "fold"}), *((head, _RIGHT) for head in heads))
    loud, quiet = text.loud_and_quiet(preview)
    for stack in loud:
        figures = text.stack_figures(stack)
        table.add_row(
            _plain(stack.stack), *(figures[head].removeprefix("+" if head == "once" else "") for head in heads)
        )
    if quiet:
        name, expected, ceiling = text.unchanged_stacks(quiet)
        table.add_row(name, expected, "", expected, ceiling, "0.00", "")
    console.print(table)


def _stack(console: Console, stack: records.Stack, *, many: bool) -> None:
    console.print()
    if many:
        console.print(Text(stack.stack, style="bold underline"))
    if stack.after is None:
        console.print(Text(stack.failed))
        return
    if stack.base_failed:
        console.print(Text(f"No price before the change: {stack.base_failed}", style="yellow"))
    table = _table(("US dollars", {}), ("before", _RIGHT), ("after", _RIGHT), ("change", _RIGHT))
    before = stack.before
    for bound, old, new, change in text.figures(before, stack.after, [stack]):
        table.add_row(f"run-rate per month, {bound}", old, new, change)
    if shown := text.one_off(stack.bought, [stack], text.usd(stack.bought.expected)):
        table.add_row("one-off", "", shown, text.one_off(stack.bought, [stack], text.signed(stack.bought.expected)))
    if stack.budget:
        used = f"{stack.budget.expected_percent:.1f} %, at most {stack.budget.ceiling_percent:.1f} %"
        state = {"": "ok", "expected": "over", "ceiling": "over at ceiling"}[stack.budget.over]
        table.add_row(f"budget of {text.usd(stack.budget.usd_per_month)} used", "", used, state)
    if idle := text.idle(before, stack.after, [stack]):
        table.add_row("idle exposure per hour", *idle)
    console.print(table)
    _rows(console, stack)
    _lists(console, stack)


def _rows(console: Console, stack: records.Stack) -> None:
    if stack.rows:
        console.print()
        table = _table(("", {}), ("component", {"ratio": 2, "overflow": "fold"}), ("what", {"ratio": 4}),
                       ("how priced", {"ratio": 3}), ("$/month", _RIGHT))  # fmt: skip
        for row in text.merged(stack.rows):
            table.add_row(
                Text(row.sign, style=_STYLES[row.sign]),
                Text(_plain(row.component)),
                Text(_plain(text.what_of(row))),
                Text(_plain(row.how)),
                Text(text.per_month(row).replace(" (", "\n("), style=_STYLES[row.sign]),
            )
        console.print(table)
    if stack.unchanged.components:
        cost = stack.unchanged.usd_per_month.expected
        same = plural(stack.unchanged.components, "component")
        open_ended = " + ?" if stack.unchanged.unpriced else ""
        console.print(Text(f"{same} unchanged, {text.usd(cost)}{open_ended} per month", style="dim"))


def _lists(console: Console, stack: records.Stack) -> None:
    if stack.needs:
        console.print(Text("\nNeeds a decision", style="bold"))
        for need in text.merged_needs(stack.needs):
            price = f" for {text.usd(need.usd_once.expected)} USD once, not refundable" if need.usd_once else ""
            confirmed = f" ({need.confirmed})" if need.confirmed else ""
            if need.kind == "purchases" and not need.confirmed:
                confirmed = " (not confirmed: nothing is bought until the spec says purchase: confirmed)"
            _item(console, f"{need.component} {need.text}{price}{confirmed}", style="red" if need.data else "yellow")
    console.print()
    for finding in text.grouped(text.findings(stack.policies)) if stack.policies else ():
        if finding.stood:
            continue
        state = f"waived: {finding.waived}" if finding.waived else finding.level
        _item(console, f"policy {finding.policy} ({state}) {finding.component}: {finding.message}".replace(" :", ":"))
        if finding.fix and not finding.waived:
            console.print(Text(f"  fix: {_plain(finding.fix)}"))
    for evidence in stack.evidence:
        _item(console, f"{evidence.workload}: {predicted(evidence)}, evidence {evidence.grade}")
    for end in stack.ends:
        _item(console, f"{end.component} {end.text}".strip())
    for age in stack.ages:
        _item(console, f"{age.detail}; {age.fix}", style="red" if age.when in ("ended", "in 30 days") else "yellow")
    new, in_base = text.missing_prices(stack)
    for line in new:
        _item(console, f"unpriced: {line}", style="red")
    if in_base:
        _item(console, text.unpriced_in_base(in_base))
    for line in stack.outside:
        _item(console, f"outside the totals: {line}")
    for note in stack.notes:
        _item(console, f"note: {note}")
    if stack.policies is not None and stack.policies.summary:
        _item(console, f"policies: {stack.policies.summary}")
    console.print(Text(text.covered(stack.coverage), style="dim"))


def _item(console: Console, line: str, style: str = "") -> None:
    console.print(Text(f"- {_plain(line)}", style=style))


def _foot(console: Console, preview: records.Preview) -> None:
    console.print()
    if len(preview.stacks) > 1 and text.has_figures(preview):
        total, missing = preview.after.usd_per_month, text.open_ends(preview.stacks)
        bounds = (
            f"{text.usd(total.floor)}{missing.after} floor, {text.usd(total.expected)}{missing.after} expected, "
            f"{text.usd(total.ceiling)}{missing.after} ceiling"
        )
        change = f", change {text.signed(preview.change_usd_per_month)}{missing.change}" if preview.before else ""
        console.print(Text(f"All stacks: {bounds} per month{change}", style="bold"))
    console.print(Text(provenance_in_words(preview.provenance).replace("\\", ""), style="dim"))
    if preview.exit_code:
        console.print(Text(f"exit {preview.exit_code}: {preview.exit_reason}", style="red"))


def _plain(value: str) -> str:
    """Names come from programs: no control characters reach a terminal."""
    return "".join(char if char.isprintable() else " " for char in value)
