"""The words and cells of `sizewell economics`, which terminal, Markdown and page have alike."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from sizewell.economics.commitments import Used, shared
from sizewell.economics.compare import best_first
from sizewell.economics.moving import moving
from sizewell.economics.payments import paid_by
from sizewell.economics.ways import NAMES, in_words, months_of
from sizewell.preview.own_rates import far_from_list
from sizewell.preview.render.escape import words
from sizewell.preview.render.text import shorten, small
from sizewell.sizing.money import Asked
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sizewell.economics.compare import BreakEven, Comparison, Row
    from sizewell.economics.ways import Work

Table = tuple[list[str], list[list[str]]]
UNKNOWN = "?"
ROUNDING = Decimal("0.05")  # what the cents of a month's lines may come to
SHOWN = 5  # lines of a chart that can be told apart


def heading(comparison: Comparison) -> str:
    """What is compared, in one line."""
    work = comparison.work
    where = f"{work.option.cloud} {work.option.deal.region}"
    return f"{work.name}: {work.machines} in {where} over {plural(work.months, 'month')}"


def facts(comparison: Comparison) -> list[str]:
    """What the figures rest on."""
    work = comparison.work
    demand = work.demand
    used = f"used {percent(demand.utilization)} of all hours today ({hours(demand.utilization)} a day)"
    lines = [f"{used}, {demand.hours:,.0f} machine-hours a month"]
    if work.runs is not None:
        shown = _number(work.runs)
        lines[0] += f", {shown} {'run' if shown == '1' else 'runs'}"
    if len(demand.steps) > 1:
        base = sum(step.machines for step in demand.steps if step.hours >= 729)
        lines.append(f"{base} of them in every hour, {demand.machines} in the busiest")
    lines += work.assumed
    for each in {payment.item.what: payment for payment in work.data(demand)}.values():
        usd = f"{paid_by([each], 1):,.2f} USD a month"
        lines.append(f"{each.item.what}: {usd}, in every way of {work.option.cloud}, billed at its place")
    lines += _on_their_way(work)
    lines += headline(comparison)
    if (ends_s := work.spec.ttl_s) is not None and months_of(work.spec, work.months + 1) == work.months:
        days = f"{ends_s / 86_400:.0f} days"
        lines.append(f"counted until the stack of this spec ends, {days} after it is built (ttl)")
    lines += [
        f"yours already, and in no figure, as it is paid whatever is chosen: {each}"
        for each in work.place.own_commitments
    ]
    lines += [f"over, and counted no more: {each}" for each in work.place.ended]
    lines += [f"in no figure, as it has no price: {each}" for each in comparison.unpriced]
    setting, place = work.option.setting, (work.option.cloud, work.option.deal.region, work.instance_type)
    return [
        *lines,
        *far_from_list(setting.catalog, setting.catalog.rates, (Asked(*place, m) for m in NAMES), setting.on),
    ]


def _on_their_way(work: Work) -> list[str]:
    """How long data that lie elsewhere are on their way, beside the deadline where there is one."""
    moved, run_s, latest_s = (
        moving(work.option, work.bytes_per_s),
        work.option.run_s,
        work.option.setting.need.deadline_s,
    )
    if moved is None:
        return []
    line = f"{moved.words}, for each run; machines that wait for them are in no figure"
    if run_s is None or latest_s is None:
        return [line]
    whole, room = (f"{each / 3600:,.1f} h" for each in (run_s + moved.seconds, latest_s))
    late = (
        f"longer than the {room} to the deadline" if run_s + moved.seconds > latest_s else f"of {room} to the deadline"
    )
    return [f"{line}; with the run that is {whole}, {late}"]


def headline(comparison: Comparison) -> list[str]:
    """What is cheapest today; beside what is bought already, where that covers these machines."""
    best = comparison.cheapest
    if best is None or best.usd is None:
        return []
    rented = next((row for row in comparison.rows if row.way.key == "on-demand"), None)
    saved = ""
    if rented and rented.usd and rented is not best and best.usd < rented.usd:
        saved = f", {100 * (1 - best.usd / rented.usd):.0f} % less than {rented.way.name}"
    known = "" if rented is None or rented.usd is not None else ", of the ways that have a price"
    held = beside(comparison)
    when = "cheapest, were nothing bought already" if held else "cheapest today"
    lines = [*held, f"{when}{known}: {best.way.name} for {best.usd:,.2f} USD{saved}"]
    lines += [f"{best.way.name}: {each}" for each in best.way.aged]
    return lines + [
        f"{row.way.name} would cost {row.usd:,.2f} USD: {row.way.left_out}"
        for row in comparison.priced
        if row.way.left_out and row.usd is not None and row.usd < best.usd
    ]


def beside(comparison: Comparison) -> list[str]:
    """What to commit to beside what is bought already; nothing where the cheapest way binds none, or nothing is."""
    best, work = comparison.cheapest, comparison.work
    if best is None or not best.way.commits or not work.place.own_commitments or not work.is_covered:
        return []
    (row,) = shared([Used("", work)], work.months)
    covered = f"bought already: {percent(row.covered_already or Decimal(0))} of these hours"
    if not row.is_known:
        bought = ", ".join(row.place.told(each) for each in row.taken.unknown)
        return [
            f"bought already: {bought}; how much of these hours it covers is not known, and no commitment is advised"
        ]
    if not row.plan or row.on_demand_usd is None or row.usd is None:
        return [f"{covered}; no commitment pays for the rest"]
    bought = f"{in_words(row.plan, 'machine')}, {row.on_demand_usd - row.usd:,.2f} USD less in all"
    return [f"{covered}; what pays for the rest: {bought}"]


def table(comparison: Comparison) -> Table:
    """One row a way, the cheapest first."""
    work = comparison.work
    per = [("per run", "usd_per_run")] if work.runs is not None else []
    per += [("per 1M tokens", "usd_per_million_tokens")] if work.tokens is not None and not per else []
    heads = [
        "way to pay",
        f"USD in {work.months} mo",
        "upfront",
        "per hour",
        *(head for head, _ in per),
        "if use halves",
    ]
    rows = []
    for row in best_first(comparison.rows):
        if row.usd is None:
            rows.append([row.way.name, UNKNOWN, *[""] * (len(heads) - 2), ""])
            continue
        assert row.upfront_usd is not None  # noqa: S101 - known with the total
        assert row.halved_usd is not None  # noqa: S101
        each = [getattr(row, key) for _, key in per]
        rows.append(
            [
                row.way.name,
                f"{'~' if row.way.estimated else ''}{row.usd:,.2f}",
                f"{row.upfront_usd:,.0f}",
                UNKNOWN if row.usd_per_hour is None else small(row.usd_per_hour),
                *(UNKNOWN if value is None else small(value) for value in each),
                f"{row.halved_usd:,.0f}",
                wins(row),
            ]
        )
    return [*heads, "cheapest at"], rows


def wins(row: Row) -> str:
    """The utilizations between which a way is the cheapest."""
    return ", ".join(f"{_edge(low)} to {_edge(high)} %" for low, high in row.wins)


def _edge(share: Decimal) -> str:
    return f"{100 * share:.3g}"


def sections(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """What does not fit into the table, each with a title."""
    rows = best_first(comparison.rows)
    names = {row.way.key: row.way.name for row in rows}
    priced = [row for row in rows if row.usd is not None]
    if comparison.break_evens:
        today, best = comparison.work.demand.utilization, next((row for row in priced if row.wins), priced[0])
        changes = [sentence(each, names) for each in comparison.break_evens if each.utilization is not None]
        never = f"none: {best.way.name} is the cheapest at every utilization"
        yield f"break-even (today {percent(today)}, {hours(today)} a day)", changes or [never]
    yield "paid when, and what is bound", [f"{row.way.name}: {'; '.join(_said(row))}" for row in priced]
    if without := [f"{row.way.name}: {row.way.reason}" for row in rows if row.usd is None]:
        yield "without a price", without


def sentence(each: BreakEven, names: dict[str, str]) -> str:
    """A break-even in words."""
    below, above = names[each.below], names[each.above]
    if each.utilization is None:
        return f"{below} is cheaper than {above} at every utilization"
    return f"{above} is cheaper than {below} from {percent(each.utilization)} on, {hours(each.utilization)} a day"


def _said(row: Row) -> list[str]:
    bound = f"bound: {row.way.bound}" if row.way.bound not in ("", "nothing") else "nothing is bound"
    return [*flow(row.by_month), bound, *row.way.said]


def flow(by_month: Sequence[Decimal]) -> list[str]:
    """A cash flow in words: months with the same amount, but for the rounding of its lines, together.

    >>> flow([Decimal(0), Decimal("33.33"), Decimal("33.34"), Decimal("-5")])
    ['33.33 a month in months 1 to 2', '-5.00 in month 3']
    """
    said = [f"{by_month[0]:,.2f} before the first month"] if by_month[0] else []
    runs: list[list[int]] = []
    for month in range(1, len(by_month)):
        if runs and abs(by_month[month] - by_month[runs[-1][0]]) <= ROUNDING:
            runs[-1].append(month)
        else:
            runs.append([month])
    for run in runs:
        usd = by_month[run[0]]
        if usd:
            when = f"in month {run[0]}" if len(run) == 1 else f"a month in months {run[0]} to {run[-1]}"
            said.append(f"{usd:,.2f} {when}")
    return said


def owning(comparison: Comparison) -> str:
    """The utilization from which own hardware is cheaper than on demand, in words."""
    if comparison.own is None:
        return UNKNOWN
    at = comparison.owning_from
    return "never" if at is None else percent(at) if at else "the first hour"


def inputs(comparison: Comparison) -> Table | None:
    """The inputs of own hardware, and how far each moves its break-even against on demand."""
    if not comparison.effects:
        return None
    now = owning(comparison)
    heads = ["input", "value", "a fifth less", "now", "a fifth more"]
    rows = []
    for each in comparison.effects:
        moved = ("never" if value is None else percent(value) for value in (each.less, each.more))
        less, more = moved
        source = shorten(each.figure.source.partition(", ")[0].partition(" (")[0], 44)
        value = f"{each.figure.value.normalize():,f} {each.figure.unit}".strip()
        rows.append([f"{each.name} ({source})", value, less, now, more])
    return heads, rows


def percent(share: Decimal) -> str:
    """A share as people read it.

    >>> percent(Decimal("0.4523")), percent(Decimal(1)), percent(Decimal("0.0043"))
    ('45.2 %', '100 %', '0.4 %')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def hours(share: Decimal) -> str:
    """The same in hours a day."""
    return f"{24 * share:.1f}".removesuffix(".0") + " h"


def _number(value: Decimal) -> str:
    return f"{value:.1f}".removesuffix(".0")


def markdown(comparison: Comparison) -> str:
    """The whole answer as Markdown."""
    parts = [f"## {words(heading(comparison))}", "\n".join(f"- {words(line)}" for line in facts(comparison))]
    parts.append(markdown_table(*table(comparison), left=("way to pay", "cheapest at")))
    for title, lines in sections(comparison):
        parts += [f"### {words(title.capitalize())}", "\n".join(f"- {words(line)}" for line in lines)]
    if (moved := inputs(comparison)) is not None:
        parts += ["### What moves the break-even of own hardware", markdown_table(*moved, left=("input", "value"))]
    return "\n\n".join(parts) + "\n"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]) -> str:
    """A table whose columns are figures, but for those named."""
    lines = [
        heads,
        [":---" if head in left else "---:" for head in heads],
        *([words(cell) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
