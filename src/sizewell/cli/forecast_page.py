"""The page of `sizewell forecast --html`: what the terminal says, with the months ahead and the bill as lines.

It holds no script and loads nothing, as the other pages do.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from sizewell.cli import forecast_text as text
from sizewell.cli.economics_page import sections_of, short
from sizewell.preview.render import charts, pages
from sizewell.preview.render.pages import Card, Figure
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sizewell.economics.actual import Actual
    from sizewell.economics.ahead import Ahead

DRAWN: Final = 4  # stacks that have a line of their own; a chart has five that can be told apart


def page(forecast: Ahead, actual: Actual | None, saved: Mapping[str, Decimal], units: text.Units) -> str:
    """The page as text."""
    total = sum(forecast.usd, Decimal(0))
    cards = [
        Card(
            f"Next {len(forecast.months)} months",
            f"{total:,.2f} USD{text.missing(forecast.rows)}",
            f"from {forecast.months[0]:%Y-%m} on",
        )
    ]
    figures = [Figure("Months ahead", "US dollars, cumulative", _lines("Months ahead", _ahead(forecast)))]
    if actual is not None and actual.months:
        cards += [
            Card("Estimated", f"{actual.estimated_usd:,.2f} USD", ", ".join(actual.months)),
            Card("Billed", f"{actual.ours_usd:,.2f} USD", "of these stacks"),
            Card("More than 20 % off", str(len(actual.off())), "stacks", "up" if actual.off() else ""),
        ]
        figures.append(
            Figure("Estimate and bill", "US dollars, cumulative", _lines("Estimate and bill", _past(actual)))
        )
    return pages.render(
        "forecast.html",
        heading="Forecast",
        schema=schema_of("forecast"),
        cards=cards,
        figures=figures,
        sections=sections_of(text.parts(forecast, actual, saved, units)),
    )


def _ahead(forecast: Ahead) -> dict[str, Sequence[Decimal]]:
    rows = sorted(forecast.rows, key=lambda row: -sum(row.usd, Decimal(0)))
    lines: dict[str, Sequence[Decimal]] = {row.about.stack: row.usd for row in rows[:DRAWN]}
    if rest := rows[DRAWN:]:
        lines["all others"] = tuple(sum(month, Decimal(0)) for month in zip(*(row.usd for row in rest), strict=True))
    return lines


def _past(actual: Actual) -> dict[str, Sequence[Decimal]]:
    sides = {"estimated": "estimated_usd", "billed": "billed_usd"}
    return {
        name: [
            sum((getattr(line, key) for line in actual.lines if line.month == month), Decimal(0))
            for month in actual.months
        ]
        for name, key in sides.items()
    }


def _lines(title: str, by_month: Mapping[str, Sequence[Decimal]]) -> Markup:
    drawn = {
        name: ([0.0, *(max(float(usd), 0.0) for usd in accumulate(values))], f"{sum(values, Decimal(0)):,.2f} USD")
        for name, values in by_month.items()
    }
    months = max((len(values) for values in by_month.values()), default=1)
    described = f"US dollars by the end of each of {months} months."
    return Markup(charts.over(title, described, "months", range(months + 1), drawn, label=short))  # noqa: S704 - escaped there
