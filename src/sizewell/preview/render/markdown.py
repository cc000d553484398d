"""The pull-request comment: one screen before the first fold, updated in place by its hidden marker.

Too long for one comment, folds go last to first, then rows; what is left out is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from sizewell.preview import records
from sizewell.preview.render import text
from sizewell.preview.render.escape import code, marker, words
from sizewell.preview.render.folds import folds_of, provenance_alone
from sizewell.sizing.units import plural

LIMIT = 65_536  # characters of a comment on GitHub
MARKER = "<!-- sizewell:stack"
MOST_DATA = 4  # losses before the figures
MOST_UNKNOWN = 3  # lines without a price behind the headline
MOST_FAULTS = 2_000  # characters of why a stack has no price, which is every fault of a component
MOST_ROWS = 12  # of one kind of alarm on the first screen, before they are counted


def render(preview: records.Preview, *, limit: int = LIMIT) -> str:
    """The comment, at most `limit` characters."""
    loud, _ = text.loud_and_quiet(preview)
    many = len(preview.stacks) > 1
    folds = [fold for stack in loud for fold in folds_of(preview, stack, many=many, last=stack is loud[-1])]
    folds = folds or [provenance_alone(preview)]
    rows = max((len(text.merged(stack.rows)) for stack in preview.stacks), default=0)
    whole = _comment(preview, folds, 0, rows)
    if len(whole) <= limit:
        return whole
    # findings of every stack before anything else of one
    folds = sorted(folds, key=lambda fold: "<b>Policies</b>" not in fold.partition("\n")[0])
    least = _comment(preview, [], len(folds), rows)
    while len(least) > limit and rows:
        rows = rows * 2 // 3
        least = _comment(preview, [], len(folds), rows)
    room, kept = limit - len(least), 0
    while kept < len(folds) and room >= len(folds[kept]) + 2:  # a fold, and the line between two
        room -= len(folds[kept]) + 2
        kept += 1
    return _comment(preview, folds[:kept], len(folds) - kept, rows)


def _comment(preview: records.Preview, folds: list[str], dropped: int, rows: int) -> str:
    parts = [_title(preview), "", *_headlines(preview), ""]
    if text.has_figures(preview):
        parts += [*_table(preview), ""]
    many = len(preview.stacks) > 1
    if many:
        parts += [*_stacks(preview), ""]
    for stack in preview.stacks:
        if stack.rows:
            parts += [*([f"**{code(stack.stack)}**", ""] if many else []), *_components(stack, rows), ""]
    needs = [(stack, need) for stack in preview.stacks for need in text.merged_needs(stack.needs)]
    if needs:
        parts += ["**Needs a decision**", *_needs(needs, rows, many=many), ""]
    for fold in folds:
        parts += [fold, ""]
    if dropped:
        left_out = f"{plural(dropped, 'section')} left out: too long for one comment."
        parts += [f"{left_out} Full report: `sizewell preview --format html`", ""]
    names = " ".join(stack.stack for stack in preview.stacks[:1])
    parts += [_foot(preview), _marker(preview, names)]
    return "\n".join(parts) + "\n"


def _title(preview: records.Preview) -> str:
    if len(preview.stacks) == 1:
        stack = preview.stacks[0]
        where = "".join(f" · {words(region, 40)}" for region in stack.regions[:3])
        return f"### Cost preview · {code(stack.stack)}{where}"
    return f"### Cost preview · {plural(len(preview.stacks), 'stack')}"


def _headlines(preview: records.Preview) -> Iterator[str]:
    destroyed = [
        f"**{text.peril(need)}**: {code(stack.stack)} {code(need.component)} {text.each_of(need)}{words(need.brief)}  "
        for stack in preview.stacks
        for need in text.losses(stack)
    ]
    yield from _some(
        destroyed, f"**Data**: {len(destroyed)} losses in all, each among the decisions below  ", MOST_DATA
    )
    failed = [stack for stack in preview.stacks if stack.failed]
    failures = [f"**No price for {code(stack.stack)}**: {words(stack.failed, MOST_FAULTS)}  " for stack in failed]
    yield from _some(failures, f"**No price** for {len(failed)} stacks in all  ")
    if len(failed) == len(preview.stacks):
        return
    yield f"**{text.headline(preview)}**  "
    unknown = [f"**Not known**: {words(line)}  " for line in text.unknowns(preview)] if preview.before else []
    yield from _some(unknown, f"**Not known**: {len(unknown)} lines in all, listed below  ", MOST_UNKNOWN)
    sentence = text.moved(preview.prices_moved_usd_per_month, preview.change_usd_per_month)
    if sentence:
        yield f"{sentence[0].upper()}{sentence[1:]}  "
    uncompared = [
        f"No price before the change for {code(stack.stack)}: {words(stack.base_failed)}  "
        for stack in preview.stacks
        if stack.base_failed
    ]
    yield from _some(uncompared, f"No price before the change for {len(uncompared)} stacks in all  ")
    findings = [
        f"**Policy failed**: {code(finding.policy)}{f' · {code(finding.component)}' if finding.component else ''}:"
        f" {words(finding.message)}  "
        for stack in preview.stacks
        if stack.policies
        for finding in text.grouped(list(stack.policies.failed))
    ]
    stacks = sum(bool(stack.policies and stack.policies.failed) for stack in preview.stacks)
    yield from _some(
        findings, f"**Policy failed**: {len(findings)} findings in {plural(stacks, 'stack')}, folded below  "
    )
    rails = [f"**Over the limit**: {words(rail)}  " for rail in text.broken(preview.guardrails)]
    yield from _some(rails, f"**Over the limit**: {len(rails)} limits in all  ")
    judge = [f"**Changes to the checks**: {words(line)}  " for line in preview.judge]
    yield from _some(judge, f"**Changes to the checks**: {len(judge)} changes in all  ")
    old = [f"**Decision out of date**: {words(line)}  " for line in preview.decisions]
    yield from _some(old, f"**Decision out of date**: {len(old)} in all  ")
    prices = text.old_prices(preview)
    yield _counts(preview) + ("  " if prices else "")
    if prices:
        yield words(prices)


def _some(lines: list[str], all_of_them: str, most: int = MOST_ROWS) -> Iterator[str]:
    """The first lines, and how many there are where that is not all."""
    yield from lines[:most]
    if len(lines) > most:
        yield all_of_them


def _counts(preview: records.Preview) -> str:
    needs = [need for stack in preview.stacks for need in text.merged_needs(stack.needs)]
    parts = []
    if needs:
        briefs = dict.fromkeys(words(need.brief, 60) for need in needs)
        parts.append(f"{plural(len(needs), 'decision')} below: **{'**, **'.join(list(briefs)[:4])}**")
    new, in_base = (sum(map(len, lines)) for lines in zip(*map(text.missing_prices, preview.stacks), strict=True))
    parts.append(f"**{new} unpriced**" if new else "0 unpriced")
    if in_base:
        parts.append(f"{in_base} unpriced in the base too")
    if hidden := sum(stack.coverage.not_judged for stack in preview.stacks):
        parts.append(f"**{hidden} not judged**")
    weak = sum(text.low_confidence(stack) for stack in preview.stacks)
    if weak:
        parts.append(f"{plural(weak, 'low-confidence line')}")
    same = sum(stack.unchanged.components for stack in preview.stacks)
    if same:
        cost = sum((stack.unchanged.usd_per_month.expected for stack in preview.stacks), Decimal(0))
        open_ended = " + ?" if any(stack.unchanged.unpriced for stack in preview.stacks) else ""
        parts.append(f"{plural(same, 'component')} unchanged ({text.dollars(cost)}{open_ended}/month)")
    return " · ".join(parts)


def _table(preview: records.Preview) -> Iterator[str]:
    before, after = preview.before, preview.after
    yield "| | Before | After | Change |"
    yield "|-|-------:|------:|-------:|"
    names = {"expected": "**Run-rate, $/mo**", "ceiling": "at most (ceiling)²", "floor": "at least (floor)¹"}
    was = before.usd_per_month.expected if before else None
    missing = text.open_ends(preview.stacks)
    unsure = missing.before or missing.change or text.bounds_of(preview.stacks, preview.change_usd_per_month)
    for bound, old, new, change in text.figures(before, after, preview.stacks):
        if bound == "expected" and was is not None:
            share = "" if unsure else _share(preview, was)
            yield _row(names[bound], old, new, f"**{change}{share}**")
        else:
            yield _row(names[bound], old, new, change)
    bought = preview.bought
    if shown := text.one_off(bought, preview.stacks, text.signed(bought.expected)):
        span = "" if bought.floor == bought.ceiling else f" ({text.usd(bought.floor)} to {text.usd(bought.ceiling)})"
        now = text.one_off(bought, preview.stacks, f"{text.usd(bought.expected)}{span}")
        yield _row("One-off, $", "", now, shown)
    for stack in text.loud_and_quiet(preview)[0]:
        if stack.budget is not None:
            yield _budget(stack, stack.budget)
    if idle := text.idle(before, after, preview.stacks):
        yield _row("Idle exposure³, $/h", *idle)
    yield ""
    yield f"¹ {text.FLOOR_NOTE} ² {text.CEILING_NOTE}{f' ³ {text.IDLE_NOTE}' if idle else ''}"


def _share(preview: records.Preview, was: Decimal) -> str:
    share = text.percent(preview.change_usd_per_month, was)
    return f" ({share})" if share else ""


def _budget(stack: records.Stack, budget: records.Budget) -> str:
    state = {"": "ok", "expected": "**over**", "ceiling": "over at the ceiling"}[budget.over]
    return _row(
        f"Budget {code(stack.stack)}, {text.usd(budget.usd_per_month)}",
        "",
        f"{budget.expected_percent:.1f} % used, at most {budget.ceiling_percent:.1f} %",
        state,
    )


def _stacks(preview: records.Preview) -> Iterator[str]:
    yield "| Stack | Before | After (expected) | After (ceiling) | Change | Change (ceiling) | One-off |"
    yield "|-------|-------:|-----------------:|----------------:|-------:|-----------------:|--------:|"
    loud, quiet = text.loud_and_quiet(preview)
    for stack in loud:
        figures = text.stack_figures(stack)
        columns = ("before", "expected", "ceiling", "change", "ceiling_change", "once")
        yield _row(code(stack.stack), *(figures[column] for column in columns))
    if quiet:
        name, expected, ceiling = text.unchanged_stacks(quiet)
        yield _row(name, expected, expected, ceiling, "0.00", "0.00", "")


def _components(stack: records.Stack, most: int) -> Iterator[str]:
    yield "| | Component | What | How priced | $/month |"
    yield "|-|-----------|------|------------|--------:|"
    rows = text.merged(stack.rows)
    for row in rows[:most]:
        change = text.per_month(row)
        yield _row(
            {"+": "\\+", "-": "\\-", "~": "\\~", "=": "="}[row.sign],
            f"{code(row.component)} {words(row.kind, 60)}".rstrip(),
            words(text.what_of(row), 480),
            words(row.how, 120),
            f"**{change}**" if row.once.ceiling > 0 or row.unpriced else change,
        )
    rest = rows[most:]
    if rest:
        total = sum((row.change for row in rest), Decimal(0))
        yield _row("", f"{plural(len(rest), 'more component')}", "", "", text.signed(total))


def _needs(needs: list[tuple[records.Stack, records.Need]], most: int, *, many: bool) -> Iterator[str]:
    shown = needs[: max(most, 10)]
    for stack, need in shown:
        where = f"{code(stack.stack)} " if many and need.component != stack.stack else ""
        price = f" for **{text.usd(need.usd_once.expected)} USD once**, not refundable" if need.usd_once else ""
        confirmed = f" ({words(need.confirmed)})" if need.confirmed else ""
        if need.kind == "purchases" and not need.confirmed:
            confirmed = " (**not confirmed**: nothing is bought until the spec says `purchase: confirmed`)"
        yield f"- [ ] {where}{code(need.component)} {words(need.text)}{price}{confirmed}"
    if len(needs) > len(shown):
        yield f"- [ ] and {len(needs) - len(shown)} more"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _foot(preview: records.Preview) -> str:
    name = f" {marker(preview.stacks[0].stack)}" if len(preview.stacks) == 1 else ""
    return f"`sizewell preview{name} --base REF` · `sizewell explain{name}` · this comment is updated in place"


def _marker(preview: records.Preview, names: str) -> str:
    kind = f"{MARKER}={marker(names)}" if len(preview.stacks) == 1 else f"{MARKER}s={len(preview.stacks)}"
    projects = "+".join(
        dict.fromkeys(marker(stack.project).replace(" ", "-") for stack in preview.stacks if stack.project)
    )
    project = f" project={projects}" if projects else ""
    return f"{kind}{project}{'' if preview.silent else ' warned'} -->"
