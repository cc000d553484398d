"""The page of `sizewell economics --html`: the table, what is paid over months and over utilization, every break-even.

It holds no script and loads nothing, as the other pages do.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from sizewell.cli import economics_text as text
from sizewell.economics.baseline import held
from sizewell.economics.own import OWN
from sizewell.economics.ways import BOTH, ELSEWHERE
from sizewell.preview.render import charts, pages
from sizewell.preview.render.pages import Card, Figure, Table
from sizewell.sizing.billing.tariff import COMMITTED
from sizewell.sizing.money import HOURS_PER_MONTH
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sizewell.cli.economics_stacks import OfStacks
    from sizewell.cli.forecast_text import Part
    from sizewell.economics.commitments import Shared
    from sizewell.economics.compare import Comparison, Row

NOTE: Final = (
    "~: a price of it is an estimate or the middle of several quotes. An hour is one of use of one machine. If use "
    "halves: the total if half the hours are needed. Cheapest at: utilizations at which no other way costs less."
)

DRAWN: Final = 4  # machine types that have a figure, the largest savings


def page(comparison: Comparison) -> str:
    """The page as text."""
    work = comparison.work
    heads, rows = text.table(comparison)
    best, drawn = comparison.cheapest, drawn_of(comparison)
    names = {row.way.key: row.way.name for row in comparison.rows}
    title, sections = "", list(text.sections(comparison))
    if sections and sections[0][0].startswith("break-even"):
        title = sections.pop(0)[0].capitalize()
    inputs = text.inputs(comparison)
    today = work.demand.utilization
    return pages.render(
        "economics.html",
        heading=f"Rent, commit or buy: {work.name}",
        schema=schema_of("economics"),
        facts=[text.heading(comparison).partition(": ")[2], *text.facts(comparison)],
        cards=[
            Card(
                "Cheapest, were nothing bought already" if text.beside(comparison) else "Cheapest today",
                best.way.name if best else text.UNKNOWN,
                _usd(best),
            ),
            Card("Used today", text.percent(today), f"{text.hours(today)} a day"),
            Card("Own hardware wins from", text.owning(comparison), "of all hours used, against on demand"),
        ],
        ways=Table(heads, rows, right=len(heads) - 1, label="Ways to pay"),
        note=NOTE,
        figures=[
            Figure(
                "Total over utilization",
                f"US dollars over {work.months} months, the cheapest way of each kind; dashed: today",
                _by_use(comparison, drawn),
            ),
            Figure("Cumulative by month", "US dollars at today's utilization", _by_month(drawn)),
        ],
        changes=Table(
            [title or "Break-even", "utilization", "hours a day"],
            [
                [
                    text.sentence(each, names).partition(" from ")[0],
                    text.percent(each.utilization) if each.utilization is not None else "-",
                    text.hours(each.utilization) if each.utilization is not None else "-",
                ]
                for each in comparison.break_evens
            ],
            right=2,
            label="Break-even",
        ),
        sections=[(name[:1].upper() + name[1:], lines) for name, lines in sections],
        inputs=Table(*inputs, right=3, label="Sensitivity") if inputs else None,
    )


def page_of_stacks(said: OfStacks, parts: Iterable[Part]) -> str:
    """The page of stacks: what the terminal says, and what is needed for how many hours of each type to commit to."""
    bought = [row for row in said.shared if row.plan and row.is_known]
    usd, with_it = (sum((getattr(row, key) for row in bought), Decimal(0)) for key in ("on_demand_usd", "usd"))
    return pages.render(
        "forecast.html",
        heading="What to commit to",
        schema=schema_of("commitments"),
        cards=[
            Card("Machine types", str(len(said.shared)), f"over {plural(said.months, 'month')}"),
            Card("On demand", f"{usd:,.2f} USD", "machines to commit to, without it"),
            Card("With commitments", f"{with_it:,.2f} USD", f"{usd - with_it:,.2f} USD less"),
        ],
        figures=[
            Figure(
                f"{row.place.instance_type} in {row.place.cloud} {row.place.region}",
                "machines that are needed for at least so many hours of a month",
                _sorted(row, said.months),
            )
            for row in (bought or said.shared)[:DRAWN]
        ],
        sections=sections_of(parts),
    )


def sections_of(parts: Iterable[Part]) -> list[dict[str, object]]:
    """What a terminal says, as sections of a page."""
    return [
        {
            "title": part.title[:1].upper() + part.title[1:],
            "lines": part.lines,
            "table": Table(
                list(part.heads),
                [list(row) for row in part.rows],
                right=len(part.heads) - sum(head in part.texts for head in part.heads[:2]),
                label=part.title,
            )
            if part.heads
            else None,
        }
        for part in parts
    ]


def _sorted(row: Shared, months: int) -> Markup:
    """The sorted demand as stairs, and what is committed of it, already and by the plan, in the month with the most."""
    points, needed, left = [0.0], [float(row.demand.machines)], row.demand.machines
    for step in reversed(row.demand.steps):
        points += [float(step.hours)] * 2
        needed += [float(left), float(left - step.machines)]
        left -= step.machines
    if points[-1] < HOURS_PER_MONTH:
        points, needed = [*points, float(HOURS_PER_MONTH)], [*needed, float(left)]
    most = max(held(row.plan, month) for month in range(months))
    lines = {"needed": (needed, f"{row.demand.hours:,.0f} machine-hours a month")}
    for name, count in (("committed already", row.owned), ("to commit to", most)):
        if count:
            lines[name] = ([float(count)] * len(points), plural(count, "machine"))
    described = "Machines that are needed at once for at least so many hours of a month."
    chart = charts.over(row.place.instance_type, described, "hours of a month", points, lines, label="{:,f}".format)
    return Markup(chart)  # noqa: S704 - escaped there


def drawn_of(comparison: Comparison) -> list[Row]:
    """The rows that a chart can tell apart: of each kind (by the hour, committed, owned, per token) the cheapest."""
    kinds = {
        "on demand": ("on-demand",),
        "spot": ("spot", "flex-start", "capacity-block"),
        "committed": (*COMMITTED, BOTH, "commit+on-demand", "commit+spot"),
        "owned": (OWN,),
        "tokens": ("api",),
    }
    best = []
    for keys in kinds.values():
        rows = [row for row in comparison.priced if row.way.key in keys]
        best += [min(rows, key=lambda row: row.usd or 0)] if rows else []
    return best


def _usd(row: Row | None) -> str:
    return f"{row.usd:,.2f} USD" if row is not None and row.usd is not None else ""


def _by_use(comparison: Comparison, drawn: Sequence[Row]) -> Markup:
    order = [row.way.key for row in comparison.priced if row.way.key != ELSEWHERE]
    points = [float(100 * at) for at, _ in comparison.curves]
    lines = {
        row.way.name: (
            [float(values[order.index(row.way.key)]) for _, values in comparison.curves],
            f"cheapest at {text.wins(row)}" if row.wins else "never the cheapest",
        )
        for row in drawn
    }
    described = f"US dollars over {comparison.work.months} months for each share of all hours that is used."
    chart = charts.over(
        "Total over utilization", described, "percent of all hours used", points, lines,
        at=float(100 * comparison.work.demand.utilization), label=short,
    )  # fmt: skip
    return Markup(chart)  # noqa: S704 - escaped there


def _by_month(drawn: Sequence[Row]) -> Markup:
    months = max(len(row.by_month) for row in drawn) if drawn else 2
    lines = {}
    for row in drawn:
        so_far = [float(value) for value in accumulate(row.by_month)]
        lines[row.way.name] = (so_far + so_far[-1:] * (months - len(so_far)), _usd(row))
    described = f"US dollars paid by the end of each of {months - 1} months."
    return Markup(charts.over("Cumulative by month", described, "months", range(months), lines, label=short))  # noqa: S704 - escaped there


def short(usd: Decimal) -> str:
    """Dollars at an axis.

    >>> from decimal import Decimal
    >>> [short(Decimal(usd)) for usd in (0, 500, 250000, 1500000)]
    ['$0', '$500', '$250k', '$1.5M']
    """
    for size, name in ((1_000_000, "M"), (1_000, "k")):
        if usd >= size:
            return f"${usd / size:.4g}{name}"
    return f"${usd:.4g}"
