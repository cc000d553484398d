"""One self-contained page: no script, no font, no picture from elsewhere; light and dark, phone and desk.

Here stands what a page says; how it is marked up stands in `templates/preview.html`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from markupsafe import Markup

from sizewell.preview import records
from sizewell.preview.render import charts, pages, text
from sizewell.preview.render.folds import EACH_ALONE, choice_label, predicted, provenance_in_words
from sizewell.preview.render.pages import Card, Figure, Table
from sizewell.sizing.units import plural


def render(preview: records.Preview) -> str:
    """The page as text."""
    names = ", ".join(stack.stack for stack in preview.stacks)
    title = names if len(preview.stacks) <= 3 else plural(len(preview.stacks), "stack")
    many = len(preview.stacks) > 1
    figures = (preview.change_usd_per_month, preview.before, preview.after, preview.bought, preview.stacks)
    moved = text.moved(preview.prices_moved_usd_per_month, preview.change_usd_per_month)
    loud, quiet = text.loud_and_quiet(preview)
    return pages.render(
        "preview.html",
        heading=f"Cost preview: {title}",
        tab=f"Cost preview: {text.shorten(names, 80)}",
        schema=preview.schema_id,
        on=preview.on.isoformat(),
        bases=_bases(preview),
        alerts=_alerts(preview),
        cards=list(_cards(*figures)) if text.has_figures(preview) else [],
        moved=moved[:1].upper() + moved[1:],
        old_prices=text.old_prices(preview),
        stacks=_stacks(preview) if many else None,
        many=many,
        loud=[_stack(stack) for stack in loud],
        quiet=[_stack(stack) for stack in quiet],
        provenance=provenance_in_words(preview.provenance).replace("\\", ""),
    )


def _bases(preview: records.Preview) -> str:
    bases = dict.fromkeys(stack.base for stack in preview.stacks if stack.base)
    return f", compared with {', '.join(bases)}" if bases else ""


def _missing(stacks: Iterable[records.Stack]) -> int:
    return sum(len(stack.unpriced) + bool(stack.failed) for stack in stacks)


def _alerts(preview: records.Preview) -> list[str]:
    alerts = text.destroyed(preview)
    alerts += [f"Not known: {line}" for line in text.unknowns(preview)[:3]] if preview.before else []
    for stack in preview.stacks:
        if stack.failed:
            alerts.append(f"No price for {stack.stack}: {stack.failed}")
        if stack.base_failed:
            alerts.append(f"No price before the change for {stack.stack}: {stack.base_failed}")
        failed = stack.policies.failed if stack.policies else ()
        alerts += [
            f"Policy {each.policy} failed: {each.component} {each.message}".replace("  ", " ") for each in failed
        ]
    alerts += [f"Over the limit: {line}" for line in text.broken(preview.guardrails)]
    alerts += [f"Changes to the checks: {line}" for line in preview.judge]
    alerts += [f"Decision out of date: {line}" for line in preview.decisions]
    return alerts


def _cards(
    change: Decimal,
    before: records.Totals | None,
    after: records.Totals,
    bought: records.Money,
    stacks: Sequence[records.Stack],
) -> Iterator[Card]:
    now = after.usd_per_month
    number, missing = _missing(stacks), text.open_ends(stacks)
    if before is not None:
        between = text.bounds_of(stacks, change)
        css = "" if between else "up" if change > 0 else "down" if change < 0 else ""
        was = text.amount(stacks, before.usd_per_month.expected, "before", text.dollars) + missing.before
        shown = text.dollars(change, sign=True) + missing.change if change or missing.change else "none"
        if between:
            shown = " to ".join(text.dollars(bound, sign=True) for bound in between) + missing.change
        yield Card("Change per month", shown, f"from {was}", css=css)
    yield Card(
        "Expected per month",
        f"{text.amount(stacks, now.expected, 'after', text.dollars)}{missing.after}",
        f"{number} without a price" if number else "",
    )
    yield Card(
        "Floor to ceiling",
        f"{text.dollars(now.floor)} to {text.dollars(now.ceiling)}{missing.after}",
        "scaled to zero to 24x7",
    )
    if shown := text.one_off(bought, stacks, text.dollars(bought.expected)):
        yield Card("Paid once", shown, "not refundable")
    if idle := text.idle(before, after, stacks):
        yield Card("Idle exposure, $ per hour", idle[1], f"from {idle[0]}" if before else "")


def _stacks(preview: records.Preview) -> Table:
    columns = {
        "before": "Before", "expected": "Expected", "ceiling": "Ceiling", "change": "Change",
        "ceiling_change": "Change of the ceiling", "once": "Once",
    }  # fmt: skip
    by_stack = {stack.stack: text.stack_figures(stack) for stack in preview.stacks}
    used = {column: head for column, head in columns.items() if any(figures[column] for figures in by_stack.values())}
    rows = [[name, *(figures[column] for column in used)] for name, figures in by_stack.items()]
    return Table(["Stack", *used.values()], rows, right=len(used), caption="US dollars per month")


def _stack(stack: records.Stack) -> dict[str, object]:
    """What the page says of one stack, by the names that the template has for it."""
    if stack.after is None:
        return {"name": stack.stack, "failed": stack.failed, "spend": "?" + " + ?" * bool(stack.unpriced)}
    spend = text.usd(stack.after.usd_per_month.expected)
    figures = (stack.change_usd_per_month, stack.before, stack.after, stack.bought, [stack])
    return {
        "name": stack.stack,
        "failed": None,
        "spend": spend + " + ?" * bool(stack.unpriced),
        "cards": list(_cards(*figures)),
        "needs": [_need(need) for need in text.merged_needs(stack.needs)],
        "figures": _figures(stack),
        "components": _components(stack),
        "unchanged": _unchanged(stack),
        "budget": _budget(stack),
        "choices": _choices(stack),
        "each_alone": Markup(EACH_ALONE) if any(not c.chosen for c in stack.choices) else "",  # noqa: S704 - a constant
        "evidence": [_evidence(each) for each in stack.evidence],
        "guarded": _guarded(stack),
        "ends": stack.ends,
        "capacity": stack.capacity,
        "ages": stack.ages,
        "policies": _policies(stack),
        **_without_price(stack),
    }


def _need(need: records.Need) -> dict[str, str]:
    confirmed = need.confirmed
    if need.kind == "purchases" and not confirmed:
        confirmed = "not confirmed: nothing is bought until the spec says purchase: confirmed"
    usd_once = text.usd(need.usd_once.expected) if need.usd_once else ""
    return {"component": need.component, "text": need.text, "usd_once": usd_once, "note": confirmed}


def _figures(stack: records.Stack) -> list[Figure]:
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
    return [Figure(title, note, Markup(chart)) for title, note, chart in drawn if chart]  # noqa: S704 - made here


def _components(stack: records.Stack) -> Table:
    states = {"+": "new", "-": "gone", "~": "changed", "=": ""}
    rows = [
        [row.component, states[row.sign], text.what_of(row), row.how, text.per_month(row)]
        for row in text.merged(stack.rows)
    ]
    heads = ["Component", "State", "What", "How priced", "USD per month"]
    return Table(heads, rows, right=1, label=f"Components of {stack.stack}")


def _unchanged(stack: records.Stack) -> str:
    if not stack.unchanged.components:
        return ""
    cost = text.usd(stack.unchanged.usd_per_month.expected) + (" + ?" if stack.unchanged.unpriced else "")
    return f"{plural(stack.unchanged.components, 'component')} unchanged, {cost} per month"


def _budget(stack: records.Stack) -> str:
    if stack.budget is None:
        return ""
    used = f"{stack.budget.expected_percent:.1f} % expected, {stack.budget.ceiling_percent:.1f} % at the ceiling"
    return f"Budget {text.usd(stack.budget.usd_per_month)} USD per month: {used} used"


def _choices(stack: records.Stack) -> Table:
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
    heads = ["Choice", "Workload", "Where", "Why not", "USD per month", "USD per run"]
    return Table(heads, rows, right=2, label=f"Choices of {stack.stack}")


def _evidence(each: records.Evidence) -> dict[str, str]:
    used, usable = each.memory_per_device_bytes / 1e9, each.memory_usable_bytes / 1e9
    return {
        "workload": each.workload,
        "predicted": predicted(each),
        "grade": each.grade,
        "bound": f", bound by {each.bottleneck}" if each.bottleneck not in ("", "none") else "",
        "memory": f"{used:,.1f} GB of {usable:,.1f} usable per device",
    }


def _guarded(stack: records.Stack) -> Table:
    rows = [
        [
            each.component, each.signal, each.idle_when, each.then,
            text.usd(each.saves_usd_per_hour) if each.saves_usd_per_hour is not None else "",
        ]
        for each in stack.guarded
    ]  # fmt: skip
    heads = ["Component", "Signal", "Idle when", "Then", "Saves USD per hour"]
    return Table(heads, rows, right=1, label=f"Idle guards of {stack.stack}")


def _policies(stack: records.Stack) -> dict[str, object] | None:
    if stack.policies is None:
        return None
    findings = text.findings(stack.policies)
    passed = stack.policies.summary or f"All {'other ' if findings else ''}policies passed"
    return {"findings": findings, "passed": passed}


def _without_price(stack: records.Stack) -> dict[str, object]:
    new, before = text.missing_prices(stack)
    return {
        "unpriced": new,
        "unpriced_before": before,
        "unpriced_before_title": f"{plural(len(before), 'unpriced line')} that the base has as well",
        "outside": stack.outside,
        "notes": stack.notes,
        "covered": text.covered(stack.coverage),
    }
