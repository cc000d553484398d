"""The page of `sizewell economics --html`: the table, what is paid over months and over utilization, every break-even.

It holds no script and loads nothing, as the other pages do.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from sizewell.cli import economics_text as text
from sizewell.economics.own import OWN
from sizewell.preview.render import charts, pages
from sizewell.preview.render.pages import Card, Figure, Table
from sizewell.sizing.billing.tariff import COMMITTED
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from sizewell.economics.compare import Comparison, Row

NOTE: Final = (
    "~: a price of it is an estimate or the middle of several quotes. An hour is one of use of one machine. If use "
    "halves: the total if half the hours are needed. Cheapest at: utilizations at which no other way costs less."
)


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
            Card("Cheapest today", best.way.name if best else text.UNKNOWN, _usd(best)),
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


def drawn_of(comparison: Comparison) -> list[Row]:
    """The rows that a chart can tell apart: of each kind (by the hour, committed, owned, per token) the cheapest."""
    kinds = {
        "on demand": ("on-demand",),
        "spot": ("spot", "flex-start", "capacity-block"),
        "committed": (*COMMITTED, "+".join(COMMITTED), "commit+on-demand", "commit+spot"),
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
    order = [row.way.key for row in comparison.priced]
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
