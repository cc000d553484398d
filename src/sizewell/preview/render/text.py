"""Figures and words that every renderer shares; signs and sums in plain ASCII, so that a screen reader reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal

from sizewell.preview import records
from sizewell.preview.diff import IDLE_UNITS
from sizewell.preview.guardrails import in_words
from sizewell.sizing.units import plural

Side = Literal["before", "after"]
FLOOR_NOTE = "everything scaled to zero, but still billing."
CEILING_NOTE = "everything on, 24x7, no schedule."
IDLE_NOTE = "cost per hour if nothing is working and nobody notices."


def usd(amount: Decimal) -> str:
    """An amount to the cent, thousands separated.

    >>> usd(Decimal("83627.42")), usd(Decimal("-1.5"))
    ('83,627.42', '-1.50')
    """
    return f"{amount:,.2f}"


def small(amount: Decimal) -> str:
    """A unit price: to the cent, or with two digits where it is less than one, so that it is never shown as 0.

    >>> small(Decimal("2.3712")), small(Decimal("0.0008437")), small(Decimal(0))
    ('2.37', '0.00084', '0.00')
    """
    if amount == 0 or abs(amount) >= Decimal("0.01"):
        return usd(amount)
    return f"{amount.quantize(Decimal(1).scaleb(amount.adjusted() - 1)):f}"


def signed(amount: Decimal) -> str:
    """The same with its sign.

    >>> signed(Decimal("9061.6")), signed(Decimal("-0.01")), signed(Decimal(0))
    ('+9,061.60', '-0.01', '0.00')
    """
    return "0.00" if amount == 0 else f"{amount:+,.2f}"


def dollars(amount: Decimal, *, sign: bool = False) -> str:
    """Whole dollars for a headline, cents where they matter.

    >>> dollars(Decimal("-83627.42"), sign=True), dollars(Decimal("12.4")), dollars(Decimal(0), sign=True)
    ('-$83,627', '$12.40', '+$0')
    """
    size = abs(amount)
    whole = size >= 100 or size == size.to_integral_value()
    text = f"${size.quantize(Decimal(1), rounding=ROUND_HALF_EVEN):,}" if whole else f"${size:,.2f}"
    if amount < 0:
        return f"-{text}"
    return f"+{text}" if sign else text


def percent(change: Decimal, before: Decimal) -> str:
    """A change as a share of what was, "" where there was nothing.

    >>> percent(Decimal(-95), Decimal(100)), percent(Decimal(5), Decimal(0))
    ('-95 %', '')
    """
    if before <= 0:
        return ""
    share = change / before * 100
    places = Decimal(1) if abs(share) >= 10 or share == 0 else Decimal("0.1")
    return f"{share.quantize(places):+f} %" if share else "0 %"


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters.

    >>> shorten("a-long-name", 8)
    'a-lon...'
    """
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: max(width - 3, 1)]}..."


def per_month(row: records.Row) -> str:
    """What a row changes: a monthly figure or its bounds, a purchase, both, or "?"."""
    parts = []
    if row.between is not None:
        parts.append(f"{signed(row.between[0])} to {signed(row.between[1])}")
    elif row.change != 0 or (row.once.ceiling == 0 and not row.unpriced and not row.use_added and not row.use_gone):
        parts.append(signed(row.change))
    if row.between is None and row.ceiling_change != row.change and (row.sign == "~" or row.change == 0):
        parts.append(f"(ceiling {signed(row.ceiling_change)})")
    if row.once.ceiling > 0:
        parts.append(f"{usd(row.once.expected)} once")
    if row.unpriced or row.unpriced_before:
        parts.append("?")
    return f"{' '.join(parts)}{use_in_words(more=bool(row.use_added), less=bool(row.use_gone))}".strip()


def what_of(row: records.Row) -> str:
    """What a row is, how sure its figure is, what it was, and what changes about it."""
    parts = [row.what + (f" ({'; '.join(row.confidence)})" if row.confidence else "")]
    parts += [f"was: {row.was}"] if row.was else []
    shown = row.changes[:MOST_CHANGES]
    left = len(row.changes) - len(shown)
    return "; ".join((*parts, *shown, *([f"{left} more changes"] if left else ())))


MOST_CHANGES = 4  # of a component, in its row


def merged(rows: tuple[records.Row, ...]) -> list[records.Row]:
    """Rows that say the same of several resources as one: "10 x", with the first names and the sum."""
    groups: dict[tuple[object, ...], list[records.Row]] = {}
    for row in rows:
        same = (row.sign, row.kind, row.what, row.was, row.how, row.region, row.before, row.after, row.once)
        alone = (row.component,) if row.resources > 1 else ()
        groups.setdefault(
            (
                *(*same, row.between, row.unpriced, row.unpriced_before, row.use_added, row.use_gone),
                *(row.confidence, row.changes, *alone),
            ),
            [],
        ).append(row)
    return [_merged(group) for group in groups.values()]


def _merged(group: list[records.Row]) -> records.Row:
    first, count = group[0], len(group)
    if count == 1:
        return first
    names = [row.component for row in group[:3]]
    more = f" and {count - 3} more" if count > 3 else ""
    times = Decimal(count)
    return replace(
        first,
        component=f"{', '.join(names)}{more}",
        what=f"{count} x {first.what}",
        how=f"{count} x ({first.how})" if first.how else "",
        between=_times(first.between, times),
        between_before=_times(first.between_before, times),
        between_after=_times(first.between_after, times),
        before=first.before.times(times),
        after=first.after.times(times),
        once=first.once.times(times),
        resources=sum(row.resources for row in group),
        lines=tuple(line for row in group for line in row.lines),
    )


def _times(bounds: tuple[Decimal, Decimal] | None, times: Decimal) -> tuple[Decimal, Decimal] | None:
    return None if bounds is None else (bounds[0] * times, bounds[1] * times)


def merged_needs(needs: tuple[records.Need, ...]) -> list[records.Need]:
    """Decisions that are the same for several components as one."""
    groups: dict[tuple[object, ...], list[records.Need]] = {}
    for need in needs:
        groups.setdefault((need.kind, need.text.replace(need.component, ""), need.usd_once, need.confirmed), []).append(
            need
        )
    each_once = []
    for group in groups.values():
        first, count = group[0], len(group)
        if count > 1:
            names = ", ".join(need.component for need in group[:3]) + (f" and {count - 3} more" if count > 3 else "")
            urns = tuple(urn for need in group for urn in need.resources)
            each: dict[str, object] = {"component": names, "text": f"each {first.text}", "resources": urns}
            if first.usd_once is not None:
                each["usd_once"] = first.usd_once.times(Decimal(count))
            first = first.model_copy(update=each)
        each_once.append(first)
    return each_once


def _why_open(stacks: Sequence[records.Stack]) -> str:
    """What the figures lack."""
    now = sum(len(stack.unpriced) for stack in stacks)
    gone = sum(len(set(stack.unpriced_before) - set(stack.unpriced)) for stack in stacks)
    counts = (
        (now, f"{now:,} unpriced"),
        (gone, f"{gone:,} unpriced in the base only"),
        (failed := sum(bool(stack.failed) for stack in stacks), f"{plural(failed, 'stack')} without a figure"),
        (alone := sum(bool(stack.base_failed) for stack in stacks), f"{plural(alone, 'stack')} without a base"),
    )
    return ", ".join(words for number, words in counts if number)


def use_in_words(*, more: bool, less: bool) -> str:
    """What stands behind a change that brings or takes what is billed by a use that nobody stated.

    >>> use_in_words(more=True, less=False), use_in_words(more=False, less=True), use_in_words(more=True, less=True)
    (' + use', ' - use', ' +/- use')
    """
    return {(True, True): " +/- use", (True, False): " + use", (False, True): " - use"}.get((more, less), "")


@dataclass(frozen=True, slots=True)
class Open:
    """What stands behind a figure that something is missing from: " + ?", " + use", or "" where nothing is.

    `more` and `less`: whether what has no price can make the change larger, or smaller, than the figure. `use` is what
    stands behind the change for what is billed by use alone.
    """

    before: str = ""
    after: str = ""
    change: str = ""
    more: bool = False
    less: bool = False
    use: str = ""


def open_ends(stacks: Iterable[records.Stack], units: Sequence[str] = ()) -> Open:
    """Which figures of stacks lack something; of `units`, what lacks lines that are billed by one of them.

    What has no price on either side and does not change is missing from both sums and from no difference.
    """
    before = after = more = less = added = gone = only = False
    for stack in stacks:
        before |= bool(stack.failed or stack.base_failed)
        after |= bool(stack.failed)
        more |= bool(stack.failed or stack.base_failed)
        less |= bool(stack.failed or stack.base_failed)
        for row in (*stack.rows, *stack.unchanged.rows):
            earlier, later = _lacks(row, units)
            before |= earlier
            after |= later
            more |= row.sign != "=" and later
            less |= row.sign != "=" and earlier
            added |= not units and bool(row.use_added)
            gone |= not units and bool(row.use_gone)
        only |= not units and _only_use(stack)
    marks = [" + ?" if missing else "" for missing in (before, after, more or less)]
    use = use_in_words(more=added, less=gone)
    if more or less:  # which way the whole goes is no more certain for it
        more, less = more or added, less or gone
    return Open(
        before=marks[0] + use_in_words(more=gone, less=False),
        after=marks[1] + use_in_words(more=added or only, less=False),
        change=marks[2] + use,
        more=more,
        less=less,
        use=use,
    )


def _only_use(stack: records.Stack) -> bool:
    """Whether all that a stack costs is billed by a use that nobody stated: it is not $0."""
    return stack.after is not None and stack.after.usd_per_month.expected == 0 and stack.coverage.by_use > 0


def _lacks(row: records.Row, units: Sequence[str] = ()) -> tuple[bool, bool]:
    """Whether something in a row has no price before the change, and after it."""
    lacks = any(
        line.usd is None and line.cadence == "monthly" and (not units or line.unit in units) for line in row.lines
    )
    return bool(row.unpriced_before) and (lacks or not row.unpriced), lacks and row.sign != "-"


def unknowns(preview: records.Preview) -> list[str]:
    """What has no price in what changes, with the reason and the estimate that it names."""
    lines: dict[str, None] = {}
    for stack in preview.stacks:
        for row in stack.rows:
            earlier, later = _lacks(row)
            for text in (*(row.unpriced if later else ()), *(row.unpriced_before if earlier else ())):
                lines[f"{row.component}: {text}"] = None
    return list(lines)


def figures(
    before: records.Totals | None, after: records.Totals, stacks: Sequence[records.Stack] = ()
) -> list[tuple[str, str, str, str]]:
    """(bound, before, after, change) of the run-rate: what is expected, at most, at least.

    Where the change rests on a number that nobody knows, what is expected has bounds in place of a figure.
    """
    was, now = (before.usd_per_month if before else None), after.usd_per_month
    missing = open_ends(stacks)
    rows = []
    for name, old, new in (
        ("expected", was.expected if was else None, now.expected),
        ("ceiling", was.ceiling if was else None, now.ceiling),
        ("floor", was.floor if was else None, now.floor),
    ):
        if old is None:
            rows.append((name, "", usd(new) + missing.after, ""))
            continue
        open_ = name == "expected"
        between = bounds_of(stacks, new - old) if open_ else None
        rows.append((
            name,
            (amount(stacks, old, "before") if open_ else usd(old)) + missing.before,
            (amount(stacks, new, "after") if open_ else usd(new)) + missing.after,
            (_span(between) if between else signed(new - old)) + missing.change,
        ))  # fmt: skip
    return rows


def _span(between: tuple[Decimal, Decimal]) -> str:
    """Two bounds of a change.

    >>> _span((Decimal(-4), Decimal(2)))
    '-4.00 to +2.00'
    """
    return " to ".join(map(signed, between))


def amount(
    stacks: Iterable[records.Stack], expected: Decimal, side: Side, shown: Callable[[Decimal], str] = usd
) -> str:
    """What is expected on one side, or its two bounds where it rests on a number that nobody knows."""
    low = high = expected
    for stack in stacks:
        for row in (*stack.rows, *stack.unchanged.rows):
            bounds = row.between_before if side == "before" else row.between_after
            if bounds is not None:
                own = (row.before if side == "before" else row.after).expected
                low, high = low + bounds[0] - own, high + bounds[1] - own
    return shown(expected) if low == high else f"{shown(low)} to {shown(high)}"


def idle(
    before: records.Totals | None, after: records.Totals, stacks: Sequence[records.Stack]
) -> tuple[str, str, str] | None:
    """The idle exposure before, after and its change; None where nothing ever runs.

    Machines whose number nobody knows are counted at their most, which is a bound and no figure to compare; so is what
    the exposure was, where something without a price may have taken the place of what ran.
    """
    now, was = after.idle_usd_per_hour, before.idle_usd_per_hour if before else None
    if now.ceiling <= 0 and (was is None or was.ceiling <= 0):
        return None
    missing = open_ends(stacks, IDLE_UNITS)
    rows = [row for stack in stacks for row in (*stack.rows, *stack.unchanged.rows)]
    sized_before, sized = (all(each is None for each in bounds) for bounds in (
        [row.between_before for row in rows], [row.between_after for row in rows]))  # fmt: skip
    most = f"at most {usd(now.ceiling)}{missing.after}"
    shown = f"{usd(now.expected)}, {most}" if sized and not after.idle_kept else most
    if was is None:
        return "", shown, ""
    same = not after.idle_kept and not any(row.between for row in rows)
    change = f"{signed(now.expected - was.expected)}{missing.change}" if same else "not known"
    return (usd(was.expected) if sized_before else f"at most {usd(was.ceiling)}") + missing.before, shown, change


def headline(preview: records.Preview) -> str:
    """Run-rate and one-off, never added; where something has no price, what is known and which way the rest goes."""
    change, before, after, bought = preview.change_usd_per_month, preview.before, preview.after, preview.bought
    missing = open_ends(preview.stacks)
    now = dollars(after.usd_per_month.expected)
    why = _why_open(preview.stacks)
    if before is None:
        text = f"Run-rate {now}/month expected{missing.after}{f' ({why})' if why else ''}"
    else:
        between = bounds_of(preview.stacks, change)
        text = f"Run-rate {_change(change, missing, between)}"
        was = f"{amount(preview.stacks, before.usd_per_month.expected, 'before', dollars)}{missing.before}"
        now = amount(preview.stacks, after.usd_per_month.expected, "after", dollars)
        text += f" ({was} -> {now}{missing.after} expected{f'; {why}' if why else ''})"
        if change == 0 and not missing.change and between is None:
            text = f"Run-rate unchanged at {now}/month expected{missing.after}{f' ({why})' if why else ''}"
        ceiling = after.usd_per_month.ceiling - before.usd_per_month.ceiling
        if ceiling != change and between is None:
            text += f", ceiling {_change(ceiling, missing) if ceiling or missing.change else 'unchanged'}"
    if shown := one_off(bought, preview.stacks, dollars(bought.expected, sign=True)):
        text += f", one-off {shown}, not refundable"
    return text


def bounds_of(stacks: Sequence[records.Stack], change: Decimal) -> tuple[Decimal, Decimal] | None:
    """The bounds of the change, where a row of it has no single figure."""
    open_rows = [(row.change, row.between) for stack in stacks for row in stack.rows if row.between is not None]
    if not open_rows:
        return None
    low = change + sum((between[0] - each for each, between in open_rows), Decimal(0))
    return low, change + sum((between[1] - each for each, between in open_rows), Decimal(0))


def _change(change: Decimal, missing: Open, between: tuple[Decimal, Decimal] | None = None) -> str:
    """A change per month; where something has no price, the bound that is sure, or that it is not known.

    >>> _change(Decimal(-733), Open()), _change(Decimal(-733), Open(more=True))
    ('-$733/month', 'change not known: -$733/month in what has a price, an increase in what has none')
    >>> _change(Decimal(120), Open(more=True)), _change(Decimal(0), Open(less=True))
    ('up by at least $120/month', 'down by an amount that is not known')
    >>> _change(Decimal(-733), Open(use=" + use"))
    '-$733/month + use'
    >>> _change(Decimal(0), Open(), (Decimal(-7360), Decimal(0)))
    'change not known: between -$7,360/month and +$0/month, by a number that is not known yet'
    """
    if between is not None:
        known = " and ".join(f"{dollars(bound, sign=True)}/month" for bound in between)
        rest = " in what has a price, the rest is not known" if missing.more or missing.less else ""
        return f"change not known: between {known}, by a number that is not known yet{rest}{missing.use}"
    if not (missing.more or missing.less):
        return f"{dollars(change, sign=True)}/month{missing.use}"
    known = f"{dollars(change, sign=True)}/month in what has a price"
    if missing.more and missing.less:
        return f"change not known: {known}, an increase or a decrease in what has none"
    if change and (change > 0) != missing.more:
        return f"change not known: {known}, {'an increase' if missing.more else 'a decrease'} in what has none"
    way = "up" if missing.more else "down"
    return f"{way} by at least {dollars(abs(change))}/month" if change else f"{way} by an amount that is not known"


def one_off(bought: records.Money, stacks: Iterable[records.Stack], amount: str) -> str:
    """What is paid once, with a "?" for purchases without a price; "" where nothing is bought."""
    missing = any(row.purchases_without_price for stack in stacks for row in stack.rows)
    return " + ".join([amount] * (bought.ceiling > 0) + ["?"] * missing)


def loud_and_quiet(preview: records.Preview) -> tuple[list[records.Stack], list[records.Stack]]:
    """Of many stacks those that a reviewer has to read, and those in which nothing changes."""
    if len(preview.stacks) < 2:
        return list(preview.stacks), []
    quiet = [stack for stack in preview.stacks if _is_quiet(stack)]
    return [stack for stack in preview.stacks if not _is_quiet(stack)], quiet


def _is_quiet(stack: records.Stack) -> bool:
    return not (
        stack.failed
        or stack.base_failed
        or stack.before is None
        or stack.rows
        or stack.needs
        or stack.prices_moved_usd_per_month
        or (stack.policies is not None and stack.policies.failed)
        or (stack.budget is not None and stack.budget.over == "expected")
    )


def missing_prices(stack: records.Stack) -> tuple[list[str], list[str]]:
    """Lines without a price: those that this change brings or that fail it, and those that stood before."""
    known = set(stack.unpriced_before) - set(stack.failing)
    return [line for line in stack.unpriced if line not in known], [line for line in stack.unpriced if line in known]


def unpriced_in_base(lines: Sequence[str]) -> str:
    """What has no price and had none before: how many, and where they are listed."""
    return f"{plural(len(lines), 'unpriced line')} that the base has as well; shown by --format html"


def stack_figures(stack: records.Stack) -> dict[str, str]:
    """What a table over several stacks says of one: "?" where it has no figure, "" where it was compared with none."""
    names = ("before", "floor", "expected", "ceiling", "change", "ceiling_change", "once")
    if stack.after is None:
        return dict.fromkeys(names, "?")
    missing, spend = open_ends([stack]), stack.after.usd_per_month
    figures = {bound: usd(getattr(spend, bound)) + missing.after for bound in ("floor", "ceiling")}
    figures["expected"] = amount([stack], spend.expected, "after") + missing.after
    if stack.before is not None:
        between = bounds_of([stack], stack.change_usd_per_month)
        figures |= {
            "before": amount([stack], stack.before.usd_per_month.expected, "before") + missing.before,
            "change": (_span(between) if between else signed(stack.change_usd_per_month)) + missing.change,
            "ceiling_change": signed(stack.ceiling_change_usd_per_month) + missing.change,
        }
    figures["once"] = one_off(stack.bought, [stack], signed(stack.bought.expected))
    return {name: figures.get(name, "") for name in names}


def unchanged_stacks(quiet: list[records.Stack]) -> tuple[str, str, str]:
    """Stacks in which nothing changes, in one row: how many, and what they cost, expected and at the ceiling."""
    spend = [stack.after.usd_per_month for stack in quiet if stack.after is not None]
    missing = " + ?" if any(stack.unpriced for stack in quiet) else ""
    expected, ceiling = (sum(amounts, Decimal(0)) for amounts in (
        (each.expected for each in spend), (each.ceiling for each in spend)))  # fmt: skip
    return f"{plural(len(quiet), 'stack')} unchanged", usd(expected) + missing, usd(ceiling) + missing


def has_figures(preview: records.Preview) -> bool:
    """Whether any stack has a figure: without one there is no sum, which is not the same as 0."""
    return not preview.stacks or any(not stack.failed for stack in preview.stacks)


def moved(preview_moved: Decimal | None, change: Decimal) -> str:
    """The two lines of a price change, in one sentence; "" where the base was not priced with its own catalog."""
    if preview_moved is None:
        return ""
    return f"price changes {signed(preview_moved)} USD/month, your change {signed(change)} USD/month"


def old_prices(preview: records.Preview) -> str:
    """What is said of prices that are too old, "" where none is."""
    stale = preview.provenance.stale
    return f"Old prices: {'; '.join(stale)} (`sizewell docs refresh-prices`)" if stale else ""


def broken(rails: tuple[records.Guardrail, ...]) -> list[str]:
    return [in_words(rail) for rail in rails if rail.broken]


def findings(report: records.PolicyReport) -> list[records.PolicyFinding]:
    """What the policies say, those that say the same of one resource as one: "a, b, c"."""
    same: dict[tuple[str, ...], list[records.PolicyFinding]] = {}
    for finding in report.findings:
        key = (finding.level, finding.component, finding.resource, finding.message, finding.fix, finding.waived)
        same.setdefault(key, []).append(finding)
    return [
        replace(group[0], policy=", ".join(dict.fromkeys(each.policy for each in group))) for group in same.values()
    ]


def grouped(listed: list[records.PolicyFinding]) -> list[records.PolicyFinding]:
    """Findings of one rule and cause on several resources as one, with the first names."""
    same: dict[tuple[object, ...], list[records.PolicyFinding]] = {}
    for each in listed:
        key = (each.level, each.policy, each.message, each.fix, each.waived, each.stood)
        same.setdefault(key, []).append(each)
    groups = []
    for group in same.values():
        names = list(dict.fromkeys(each.component for each in group if each.component))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        groups.append(replace(group[0], component=", ".join(names[:3]) + more))
    return groups


def covered(counts: records.Coverage) -> str:
    """What became of the resources of a stack, all of them."""
    parts = (
        f"{counts.estimated:,} estimated",
        f"{counts.free:,} free",
        f"{counts.by_use:,} billed by use",
        f"{counts.unpriced:,} unpriced",
        f"{counts.unknown:,} of unknown type",
        f"{counts.not_judged:,} not judged",
    )
    return f"{plural(counts.detected, 'resource')}: {', '.join(parts)}"


def low_confidence(stack: records.Stack) -> int:
    """Lines of the bill that rest on more than a list price and stated usage."""
    return sum(bool(line.confidence) for row in stack.rows for line in row.lines if row.sign != "-")


def peril(need: records.Need) -> str:
    """How reliable it is that data goes: no engine was asked where a change "may" replace."""
    return "May destroy data" if need.brief.startswith("may ") else "Destroys data"


def destroyed(preview: records.Preview) -> list[str]:
    """What data goes, stack and component first: it is said before any dollars."""
    return [
        f"{peril(need)}: {stack.stack} {need.component} {each_of(need)}{need.brief}"
        for stack in preview.stacks
        for need in losses(stack)
    ]


def each_of(need: records.Need) -> str:
    """What stands before a decision where it is of several components."""
    return "each " if need.text.startswith("each ") else ""


def losses(stack: records.Stack) -> list[records.Need]:
    """What data goes in a stack, the same of several components as one."""
    return merged_needs(tuple(need for need in stack.needs if need.data and need.kind in ("destroys", "replaces")))
