"""One self-contained page: no script, no font, no picture from elsewhere; light and dark, phone and desk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from html import escape
from pathlib import Path

from sizewell.preview import records
from sizewell.preview.diff import MACHINE_HOUR
from sizewell.preview.render import charts, text
from sizewell.preview.render.folds import EACH_ALONE, choice_label, predicted, provenance_in_words
from sizewell.sizing.units import plural


def render(preview: records.Preview) -> str:
    """The page as text."""
    names = ", ".join(stack.stack for stack in preview.stacks)
    title = names if len(preview.stacks) <= 3 else plural(len(preview.stacks), "stack")
    parts = [
        f'<p class="soft">{preview.on.isoformat()}{escape(_bases(preview))}</p>',
        *_alerts(preview),
    ]
    if text.has_figures(preview):
        parts += _cards(preview.change_usd_per_month, preview.before, preview.after, preview.bought, preview.stacks)
    moved = text.moved(preview.prices_moved_usd_per_month, preview.change_usd_per_month)
    if moved:
        parts.append(f"<p>{escape(moved[0].upper() + moved[1:])}</p>")
    old = text.old_prices(preview)
    if old:
        parts.append(f'<p class="old">{escape(old)}</p>')
    if len(preview.stacks) > 1:
        parts += _stacks(preview)
    loud, quiet = text.told(preview)
    for stack in loud:
        parts += _stack(stack, many=len(preview.stacks) > 1)
    for stack in quiet:
        spend = text.usd(stack.after.usd_per_month.expected) if stack.after else "?"
        more = " + ?" if stack.unpriced else ""
        summary = f"{escape(stack.stack)} <small>unchanged, {spend}{more} USD per month</small>"
        parts += [f"<details><summary>{summary}</summary>", *_stack(stack, many=False), "</details>"]
    parts += [
        f'<p class="soft">{escape(provenance_in_words(preview.provenance).replace(chr(92), ""), quote=False)}</p>',
    ]
    tab = f"Cost preview: {text.shorten(names, 80)}"
    return framed(f"Cost preview: {title}", parts, tab=tab, schema=preview.schema_id)


def framed(heading: str, parts: Sequence[str], *, tab: str = "", css: str = "", schema: str = "") -> str:
    """A page of ready HTML under a heading, with the style of all pages and the caller's own; `tab` is its title,
    `schema` the version of the record that it shows.
    """
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            *([f'<meta name="sizewell-schema" content="{schema}">'] if schema else []),
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{escape(tab or heading)}</title>",
            f"<style>\n{style}{css}</style></head><body><main>",
            f"<h1>{escape(heading)}</h1>",
            *parts,
            "</main></body></html>",
            "",
        ]
    )


def _bases(preview: records.Preview) -> str:
    bases = dict.fromkeys(stack.base for stack in preview.stacks if stack.base)
    return f", compared with {', '.join(bases)}" if bases else ""


def _missing(stacks: Iterable[records.Stack]) -> int:
    return sum(len(stack.unpriced) + bool(stack.failed) for stack in stacks)


def _alerts(preview: records.Preview) -> Iterator[str]:
    told = text.destroyed(preview)
    for stack in preview.stacks:
        if stack.failed:
            told.append(f"No price for {stack.stack}: {stack.failed}")
        if stack.base_failed:
            told.append(f"No price before the change for {stack.stack}: {stack.base_failed}")
        failed = stack.policies.failed if stack.policies else ()
        told += [f"Policy {each.policy} failed: {each.component} {each.message}".replace("  ", " ") for each in failed]
    told += [f"Over the limit: {line}" for line in text.broken(preview.guardrails)]
    told += [f"Changes to the checks: {line}" for line in preview.judge]
    told += [f"Decision out of date: {line}" for line in preview.decisions]
    if told:
        yield f'<div class="alert" role="note"><ul>{"".join(f"<li>{escape(line)}</li>" for line in told)}</ul></div>'


def _cards(
    change: Decimal,
    before: records.Totals | None,
    after: records.Totals,
    bought: records.Money,
    stacks: Sequence[records.Stack],
) -> Iterator[str]:
    now = after.usd_per_month
    number, missing, idle_missing = _missing(stacks), text.open_ends(stacks), text.open_ends(stacks, MACHINE_HOUR)
    yield '<dl class="cards">'
    if before is not None:
        css = "up" if change > 0 else "down" if change < 0 else ""
        was = text.dollars(before.usd_per_month.expected) + missing.before
        shown = text.dollars(change, sign=True) + missing.change if change or missing.change else "none"
        yield card("Change per month", shown, f"from {was}", css=css)
    yield card(
        "Expected per month",
        f"{text.dollars(now.expected)}{missing.after}",
        f"{number} without a price" if number else "",
    )
    yield card(
        "Floor to ceiling",
        f"{text.dollars(now.floor)} to {text.dollars(now.ceiling)}{missing.after}",
        "scaled to zero to 24x7",
    )
    if shown := text.one_off(bought, stacks, text.dollars(bought.expected)):
        yield card("Paid once", shown, "not refundable")
    idle = after.idle_usd_per_hour
    if idle.ceiling > 0:
        was = f"from {text.dollars(before.idle_usd_per_hour.expected)}{idle_missing.before}" if before else ""
        yield card("Idle exposure per hour", f"{text.dollars(idle.expected)}{idle_missing.after}", was)
    yield "</dl>"


def card(name: str, value: str, note: str, css: str = "") -> str:
    """A figure with its name and a remark, of a list of class `cards`."""
    small = f"<small>{escape(note)}</small>" if note else ""
    return f'<div><dt>{escape(name)}</dt><dd class="{css}">{escape(value)}{small}</dd></div>'


def _stacks(preview: records.Preview) -> Iterator[str]:
    rows = []
    for stack in preview.stacks:
        told = text.stack_figures(stack)
        columns = ("before", "expected", "ceiling", "change", "ceiling_change", "once")
        rows.append([stack.stack, *(told[column] for column in columns)])
    heads = ["Stack", "Before", "Expected", "Ceiling", "Change", "Change of the ceiling", "Once"]
    used = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    shown = [[row[i] for i in used] for row in rows]
    yield table("US dollars per month", [heads[i] for i in used], shown, right=len(used) - 1, narrow=True)


def _stack(stack: records.Stack, *, many: bool) -> Iterator[str]:
    yield "<section>"
    yield f"<h2{'' if many else ' class=hidden'}>{escape(stack.stack)}</h2>"
    if stack.after is None:
        yield f"<p>No price: {escape(stack.failed)}</p></section>"
        return
    if many:
        yield from _cards(stack.change_usd_per_month, stack.before, stack.after, stack.bought, [stack])
    if stack.needs:
        yield "<h3>Needs a decision</h3>"
        yield f'<ul class="needs">{"".join(_need(need) for need in text.merged_needs(stack.needs))}</ul>'
    yield from _figures(stack)
    if stack.rows:
        rows = [
            [
                row.component,
                {"+": "new", "-": "gone", "~": "changed", "=": ""}[row.sign],
                text.what_of(row),
                row.how,
                text.per_month(row),
            ]
            for row in text.merged(stack.rows)
        ]  # fmt: skip
        yield "<h3>Components</h3>"
        heads = ["Component", "State", "What", "How priced", "USD per month"]
        yield table("", heads, rows, right=1, narrow=True, label=f"Components of {stack.stack}")
    if stack.unchanged.components:
        cost = text.usd(stack.unchanged.usd_per_month.expected) + (" + ?" if stack.unchanged.unpriced else "")
        yield f'<p class="soft">{plural(stack.unchanged.components, "component")} unchanged, {cost} per month</p>'
    yield from _budget(stack)
    yield from _folds(stack)
    yield "</section>"


def _need(need: records.Need) -> str:
    price = (
        f" for <strong>{text.usd(need.usd_once.expected)} USD once</strong>, not refundable" if need.usd_once else ""
    )
    confirmed = need.confirmed
    if need.kind == "purchases" and not confirmed:
        confirmed = "not confirmed: nothing is bought until the spec says purchase: confirmed"
    note = f" <small>({escape(confirmed)})</small>" if confirmed else ""
    return f"<li><code>{escape(need.component)}</code> {escape(need.text)}{price}{note}</li>"


def _figures(stack: records.Stack) -> Iterator[str]:
    drawn = [
        (
            "Cost by component",
            "US dollars per month, expected; dashed outline: before",
            charts.cost_by_component(stack),
        ),
        ("Floor to ceiling", "US dollars per month; the dot is expected", charts.floor_to_ceiling(stack)),
        *(
            (
                f"{charts.speed_word(metric)} against cost: {workload}",
                charts.caption(stack, workload, metric),
                charts.time_against_cost(stack, workload),
            )
            for workload, metric in {choice.workload: choice.metric for choice in stack.choices}.items()
        ),
        ("Rent, commit or buy", "cumulative US dollars by month", charts.ownership(stack.ownership)),
    ]
    shown = [
        f"<figure><figcaption>{escape(title)}<small>{escape(note)}</small></figcaption><div>{chart}</div></figure>"
        for title, note, chart in drawn
        if chart
    ]
    if shown:
        yield f'<div class="charts">{"".join(shown)}</div>'


def _budget(stack: records.Stack) -> Iterator[str]:
    if stack.budget is not None:
        used = f"{stack.budget.expected_percent:.1f} % expected, {stack.budget.ceiling_percent:.1f} % at the ceiling"
        yield f"<p>Budget {text.usd(stack.budget.usd_per_month)} USD per month: {used} used</p>"


def _folds(stack: records.Stack) -> Iterator[str]:
    if stack.choices:
        rows = [
            [
                choice_label(choice),
                choice.workload,
                f"{choice.cloud}/{choice.region}",
                choice.why_not,
                text.usd(choice.usd_per_month) if choice.usd_per_month is not None else "",
                text.usd(choice.usd_per_run) if choice.usd_per_run is not None else "",
            ]
            for choice in stack.choices
        ]
        alone = f'<p class="soft">{EACH_ALONE}</p>' if any(not choice.chosen for choice in stack.choices) else ""
        heads = ["Choice", "Workload", "Where", "Why not", "USD per month", "USD per run"]
        choices = table("", heads, rows, right=2, narrow=True, label=f"Choices of {stack.stack}")
        yield fold("Why this hardware", [choices, alone, *_evidence(stack)])
    if stack.guarded:
        rows = [
            [
                each.component, each.signal, each.idle_when, each.then,
                text.usd(each.saves_usd_per_hour) if each.saves_usd_per_hour is not None else "",
            ]
            for each in stack.guarded
        ]  # fmt: skip
        heads = ["Component", "Signal", "Idle when", "Then", "Saves USD per hour"]
        ends = [
            f"<li>{f'<code>{escape(end.component)}</code> ' if end.component else ''}{escape(end.text)}</li>"
            for end in stack.ends
        ]
        until = f"<ul>{''.join(ends)}</ul>" if ends else ""
        guards = table("", heads, rows, right=1, narrow=True, label=f"Idle guards of {stack.stack}")
        yield fold("Idle guard", [guards, until])
    if stack.capacity:
        notes = [f"<li><code>{escape(n.component)}</code> {escape(n.text)}</li>" for n in stack.capacity]
        yield fold("Capacity", [f"<ul>{''.join(notes)}</ul>"])
    if stack.policies is not None:
        lines = [
            f"<li>{finding.level} <code>{escape(finding.policy)}</code> {escape(finding.component)}: "
            f"{escape(finding.message)} {escape(finding.fix)}"
            f"{escape(f' waived: {finding.waived}') if finding.waived else ''}</li>"
            for finding in text.findings(stack.policies)
        ]
        passed = f"<p>All {'other ' if lines else ''}policies passed</p>"
        yield fold("Policies", [f"<ul>{''.join(lines)}</ul>" if lines else "", passed])
    new, stood = text.missing_prices(stack)
    listed = [f"<li>unpriced: {escape(line)}</li>" for line in new]
    if stood:
        title = f"{plural(len(stood), 'unpriced line')} that the base has as well"
        listed.append(f"<li>{fold(title, ['<ul>', *(f'<li>{escape(line)}</li>' for line in stood), '</ul>'])}</li>")
    listed += [f"<li>outside the totals: {escape(line)}</li>" for line in stack.outside]
    listed += [f"<li>{escape(note)}</li>" for note in stack.notes]
    counts = stack.coverage
    covered = (
        f"<p>{counts.detected} resources: {counts.estimated} estimated, {counts.free} free, "
        f"{counts.unpriced} unpriced, {counts.unknown} of unknown type</p>"
    )
    yield fold("Not priced, notes", [f"<ul>{''.join(listed)}</ul>" if listed else "", covered])


def _evidence(stack: records.Stack) -> Iterator[str]:
    for each in stack.evidence:
        bound = f", bound by {each.bottleneck}" if each.bottleneck not in ("", "none") else ""
        memory = (
            f"{each.memory_per_device_bytes / 1e9:,.1f} GB of {each.memory_usable_bytes / 1e9:,.1f} usable per device"
        )
        yield (
            f"<p><code>{escape(each.workload)}</code> {escape(predicted(each))}, evidence "
            f"{escape(each.grade)}{escape(bound)}; memory {memory}</p>"
        )


def fold(title: str, parts: Sequence[str]) -> str:
    """What opens on demand."""
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: int,
    narrow: bool = False,
    label: str = "",
) -> str:
    """A table whose last `right` columns hold figures; `narrow`: rows become blocks on a phone. `label` names it for
    whoever cannot see where it stands.
    """
    first_right = len(heads) - right
    head = "".join(
        f'<th scope="col"{" class=n" if i >= first_right else ""}>{escape(name)}</th>' for i, name in enumerate(heads)
    )
    body = []
    for row in rows:
        cells = [f'<th scope="row">{escape(row[0])}</th>']
        for i, cell in enumerate(row[1:], start=1):
            css = ' class="n"' if i >= first_right else ""
            cells.append(f'<td{css} data-label="{escape(heads[i] or "State")}">{escape(cell)}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    named = escape(label or caption or heads[0])
    css = ' class="stack"' if narrow else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{named}"><table{css}>{title}'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )
