"""The charts of the page, as inline SVG without script: every mark carries its figures in `data-` attributes.

Colours come from the page's variables, so that light and dark need no second drawing; series differ by dash and label
as well as by colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from html import escape

from preview import records
from preview.render import text
from preview.render.folds import choice_label, figure, unit_of

WIDTH = 420
_LABEL = 132  # pixels for names at the left
_MOST = 12


def cost_by_component(stack: records.Stack) -> str:
    """Expected US dollars per month of each component, before (outline) and after (solid)."""
    rows = sorted(stack.rows, key=lambda row: max(row.after.expected, row.before.expected), reverse=True)
    rows = [row for row in rows if row.after.expected or row.before.expected][:_MOST]
    if not rows:
        return ""
    most = max(max(row.after.expected, row.before.expected) for row in rows)
    marks = []
    for i, row in enumerate(rows):
        top = 4 + i * 42
        now, was = _length(row.after.expected, most, 8), _length(row.before.expected, most, 8)
        shown = text.usd(row.after.expected)
        if row.before.expected != row.after.expected and row.before.expected > 0:
            shown = f"{text.usd(row.before.expected)} before, {shown} after"
        marks.append(
            f'<g class="row" {_data(component=row.component, after=row.after.expected, before=row.before.expected)}>'
            f"<title>{escape(row.component)}: {shown}</title>{_name(row.component, top + 14)}"
            f'<rect class="was" x="{_LABEL}" y="{top}" width="{was:.1f}" height="20" rx="2"/>'
            f'<rect class="now" x="{_LABEL}" y="{top + 3}" width="{now:.1f}" height="14" rx="2"/>'
            f'<text class="value" x="{_LABEL}" y="{top + 33}">{shown}</text></g>'
        )
    return _svg(
        4 + len(rows) * 42,
        "Cost by component",
        "Expected US dollars per month of each component; the outline is before the change, the bar after it.",
        marks,
    )


def floor_to_ceiling(stack: records.Stack) -> str:
    """Each component's range per month: floor, expected, ceiling."""
    rows = [row for row in stack.rows if row.after.ceiling > 0]
    rows = sorted(rows, key=lambda row: row.after.ceiling, reverse=True)[:_MOST]
    if not rows:
        return ""
    most = max(row.after.ceiling for row in rows)
    marks = []
    for i, row in enumerate(rows):
        y = 16 + i * 34
        low, mid, high = (
            _length(bound, most, 30) for bound in (row.after.floor, row.after.expected, row.after.ceiling)
        )
        bounds = text.usd(row.after.ceiling)
        if row.after.floor != row.after.ceiling:
            bounds = f"{text.usd(row.after.floor)} to {bounds}"
        figures = _data(
            component=row.component,
            floor=row.after.floor,
            expected=row.after.expected,
            ceiling=row.after.ceiling,
        )
        marks.append(
            f'<g class="row" {figures}>'
            f"<title>{escape(row.component)}: {bounds}, expected {text.usd(row.after.expected)}</title>"
            f"{_name(row.component, y + 4)}"
            f'<line class="range" x1="{_LABEL + low:.1f}" y1="{y}" x2="{_LABEL + high:.1f}" y2="{y}"/>'
            f'<circle class="dot" cx="{_LABEL + mid:.1f}" cy="{y}" r="5"/>'
            f'<text class="value" x="{_LABEL}" y="{y + 16}">{bounds}</text></g>'
        )
    return _svg(
        12 + len(rows) * 34,
        "Floor to ceiling",
        "US dollars per month of each component from floor to ceiling; the dot is expected.",
        marks,
    )


def time_against_cost(stack: records.Stack, workload: str) -> str:
    """The alternatives of one workload: its prediction across, dollars up; the chosen one is filled."""
    points = [
        (choice, choice.usd_per_run if choice.usd_per_run is not None else choice.usd_per_month)
        for choice in stack.choices
        if choice.workload == workload and choice.performance is not None
    ]
    known = [(choice, usd, float(choice.performance or 0)) for choice, usd in points if usd is not None][:_MOST]
    if len(known) < 2:
        return ""
    left, bottom, height = 62, 190, 234
    metric = known[0][0].metric
    divisor, unit = unit_of(metric, max(speed for _, _, speed in known))
    right = [float(tick) for tick in _ticks(Decimal(str(max(speed for _, _, speed in known) / divisor)))]
    upward = _ticks(max(usd for _, usd, _ in known))
    across, up = right[-1] * divisor, upward[-1]
    marks = _axes(left, bottom, upward)
    for value in right:
        x = left + (WIDTH - 16 - left) * value / right[-1]
        marks.append(f'<text class="tick mid" x="{x:.1f}" y="{bottom + 18}">{value:,g}</text>')
    marks.append(f'<text class="tick mid" x="{(left + WIDTH - 16) / 2:.1f}" y="{bottom + 36}">{escape(unit)}</text>')
    for number, (choice, usd, speed) in enumerate(known, start=1):
        x = left + (WIDTH - 16 - left) * speed / across
        y = bottom - float(usd / up) * (bottom - 20)
        label = choice_label(choice)
        name = f"{label}: {text.usd(usd)} USD, {figure(metric, speed)}"
        css = "chosen" if choice.chosen else "other"
        marks.append(
            f'<g class="{css}" {_data(choice=label, usd=usd, performance=speed)}><title>{escape(name)}</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            f'<text class="num" x="{x:.1f}" y="{y + 4:.1f}">{number}</text></g>'
        )
    chart = _svg(
        height,
        f"Time against cost, {workload}",
        "Each circle is one way to run the workload: its prediction across, US dollars up; the chosen one is filled.",
        marks,
    )
    entries = "".join(
        f"<li{' class=chosen' if choice.chosen else ''}>{escape(choice_label(choice))} "
        f"<small>{escape(f'{choice.cloud}/{choice.region}')}: {text.usd(usd)} USD, "
        f"{escape(figure(metric, speed))}</small></li>"
        for choice, usd, speed in known
    )
    return f'{chart}<ol class="legend">{entries}</ol>'


def ownership(months: Sequence[records.OwnershipMonth]) -> str:
    """Cumulative US dollars over 36 months, one line per way to have the machines."""
    if len(months) < 2:
        return ""
    left, bottom, height = 62, 190, 234
    names = list(months[0].usd)
    last = months[-1].month
    upward = _ticks(max(max(month.usd.values()) for month in months))
    most = upward[-1]
    marks = _axes(left, bottom, upward)
    marks.append(f'<text class="tick mid" x="{(left + WIDTH - 24) / 2:.1f}" y="{bottom + 36}">months</text>')
    for month in range(0, last + 1, 12):
        x = left + (WIDTH - 24 - left) * month / last
        marks.append(f'<text class="tick mid" x="{x:.1f}" y="{bottom + 18}">{month}</text>')
    for number, name in enumerate(names):
        across = [left + (WIDTH - 24 - left) * month.month / last for month in months]
        heights = [bottom - float(month.usd[name] / most) * (bottom - 20) for month in months]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))
        total = months[-1].usd[name]
        marks.append(
            f'<g class="line s{number}" {_data(way=name, start=months[0].usd[name], end=total)}>'
            f"<title>{escape(name)}: {text.usd(total)} USD after {last} months</title>"
            f'<polyline points="{points}"/></g>'
        )
    chart = _svg(
        height,
        "Rent, commit or buy",
        f"Cumulative US dollars by month over {last} months for each way to have the machines.",
        marks,
    )
    entries = "".join(
        f'<li><svg class="key s{number}" viewBox="0 0 28 8" aria-hidden="true"><polyline points="0,4 28,4"/></svg> '
        f"{escape(name)} <small>{text.usd(months[-1].usd[name])} USD after {last} months</small></li>"
        for number, name in enumerate(names)
    )
    return f'{chart}<ul class="legend keys">{entries}</ul>'


def _ticks(most: Decimal) -> list[Decimal]:
    """Three to five round figures from 0 to at least `most`.

    >>> [str(tick) for tick in _ticks(Decimal(173721))]
    ['0', '50000', '100000', '150000', '200000']
    """
    if most <= 0:
        return [Decimal(0), Decimal(1)]
    power = Decimal(10) ** (most.adjusted())
    step = next(each for each in (power / 5, power / 2, power, power * 2, power * 5) if most / each <= 4)
    count = int((most / step).to_integral_value(rounding=ROUND_CEILING))
    return [step * i for i in range(count + 1)]


def _axes(left: int, bottom: int, ticks: Sequence[Decimal]) -> list[str]:
    """Horizontal lines at round dollar figures."""
    marks = []
    for tick in ticks:
        y = bottom - float(tick / ticks[-1]) * (bottom - 20)
        marks.append(f'<line class="axis" x1="{left}" y1="{y:.1f}" x2="{WIDTH - 8}" y2="{y:.1f}"/>')
        marks.append(f'<text class="tick end" x="{left - 6}" y="{y + 4:.1f}">{text.dollars(tick)}</text>')
    return marks


def _svg(height: float, title: str, description: str, marks: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(f"{title}. {description}")}"><desc>{escape(description)}</desc>{"".join(marks)}</svg>'
    )


def _length(amount: Decimal, most: Decimal, room: int) -> float:
    """Pixels of a bar; `room` is kept free at the right for its figure."""
    return float(amount / most) * (WIDTH - _LABEL - room) if most > 0 else 0.0


def _name(name: str, y: float) -> str:
    return f'<text class="name" x="{_LABEL - 8}" y="{y:.1f}">{escape(text.shorten(name, 19))}</text>'


def _data(**figures: object) -> str:
    return " ".join(f'data-{key}="{escape(str(value))}"' for key, value in figures.items())
