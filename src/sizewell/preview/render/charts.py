"""The charts of the page, as inline SVG without script: every mark carries its figures in `data-` attributes.

Colours come from the page's variables, so that light and dark need no second drawing; series differ by dash and label
as well as by colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from html import escape
from typing import NamedTuple

from sizewell.preview import records
from sizewell.preview.ownership import NOTE
from sizewell.preview.render import text
from sizewell.preview.render.folds import choice_label, figure, unit_of, with_band

WIDTH = 420
_LABEL = 132  # pixels for names at the left
_MOST = 12
_DIGIT = 7  # pixels of one character of a figure
_BADGE = 9  # radius of a numbered circle


def cost_by_component(stack: records.Stack) -> str:
    """Expected US dollars per month of each component, before (outline) and after (solid), unchanged ones too."""
    rows = [*stack.rows, *stack.unchanged.rows]
    rows = [row for row in rows if row.after.expected or row.before.expected or row.unpriced]
    rows.sort(key=lambda row: max(row.after.expected, row.before.expected), reverse=True)
    left_out = len(rows) - _MOST
    rows = rows[:_MOST]
    if not rows:
        return ""
    most = max(max(row.after.expected, row.before.expected) for row in rows)
    marks, top = [], 4
    for row in rows:
        now, was = _length(row.after.expected, most, 8), _length(row.before.expected, most, 8)
        shown = _amount(row)
        if row.before.expected != row.after.expected and row.before.expected > 0:
            shown = f"{text.usd(row.before.expected)}{' + ?' if row.unpriced_before else ''} before, {shown} after"
        x, below = _LABEL + max(now, was) + 8, False
        if x + len(shown) * _DIGIT > WIDTH:
            x, below = _LABEL, True
        outline = (
            f'<rect class="was" x="{_LABEL}" y="{top}" width="{was:.1f}" height="20" rx="2"/>' if was != now else ""
        )
        marks.append(
            f'<g class="row" {_data(component=row.component, after=row.after.expected, before=row.before.expected)}>'
            f"<title>{escape(row.component)}: {shown}</title>{_name(row.component, top + 14)}"
            f"{outline}"
            f'<rect class="now" x="{_LABEL}" y="{top + 3}" width="{now:.1f}" height="14" rx="2"/>'
            f'<text class="value" x="{x:.1f}" y="{top + (33 if below else 14)}">{shown}</text></g>'
        )
        top += 42 if below else 28
    if left_out > 0:
        marks.append(f'<text class="value" x="{_LABEL}" y="{top + 12}">and {left_out} smaller</text>')
        top += 20
    return _svg(
        top,
        "Cost by component",
        "Expected US dollars per month of each component; the outline is before the change, the bar after it.",
        marks,
    )


def _amount(row: records.Row) -> str:
    """What a component costs after the change; what has no price is a "?"."""
    if not row.unpriced:
        return text.usd(row.after.expected)
    return f"{text.usd(row.after.expected)} + ?" if row.after.ceiling > 0 else "? (unpriced)"


def floor_to_ceiling(stack: records.Stack) -> str:
    """Each component's range per month: floor, expected, ceiling."""
    rows = [row for row in (*stack.rows, *stack.unchanged.rows) if row.after.ceiling > 0]
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


def shares(title: str, description: str, parts: Sequence[tuple[str, float, str]], *, whole: float, high: float) -> str:
    """A bar for each part of a whole, (name, size, how the size is shown), against the room for it.

    With `high`, the upper edge of the prediction's band, the first bar is all parts together with a line to there; its
    outline is `whole`, such as the usable memory of a device.
    """
    if not parts or whole <= 0:
        return ""
    used = sum(size for _, size, _ in parts)
    most = Decimal(str(max(whole, high, used)))
    marks, top = [], 4
    if high:
        room, edge, full = (_length(Decimal(str(size)), most, 8) for size in (whole, high, used))
        band = f'<line class="range" x1="{_LABEL + full:.1f}" y1="14" x2="{_LABEL + edge:.1f}" y2="14"/>'
        marks.append(
            f'<g class="row" {_data(used=used, high=high, usable=whole)}>{_name("together", 18)}'
            f'<rect class="was" x="{_LABEL}" y="4" width="{room:.1f}" height="20" rx="2"/>'
            f'<rect class="now" x="{_LABEL}" y="7" width="{full:.1f}" height="14" rx="2"/>'
            f"{band if high > used else ''}</g>"
        )
        top = 34
    for name, size, shown in parts:
        width = _length(Decimal(str(size)), most, 90)
        bar = f'<rect class="now" x="{_LABEL}" y="{top + 2}" width="{width:.1f}" height="12" rx="2"/>'
        marks.append(
            f'<g class="row" {_data(part=name, size=size)}><title>{escape(name)}: {escape(shown)}</title>'
            f"{_name(name, top + 12)}{bar}"
            f'<text class="value" x="{_LABEL + width + 8:.1f}" y="{top + 12}">{escape(shown)}</text></g>'
        )
        top += 24
    return _svg(top, title, description, marks)


class Way(NamedTuple):
    """One way to run a workload: what it costs, and how fast it is, with the band where that is known."""

    label: str
    place: str
    chosen: bool
    usd: Decimal
    value: float
    low: float = 0.0
    high: float = 0.0  # as `low` where no band is known
    note: str = ""


def time_against_cost(stack: records.Stack, workload: str) -> str:
    """The alternatives of one workload: its prediction across, dollars up; the chosen one is filled."""
    once = per_run(stack, workload)
    ours = [choice for choice in stack.choices if choice.workload == workload and choice.performance is not None]
    ways = [
        Way(choice_label(choice), f"{choice.cloud}/{choice.region}", choice.chosen, usd, float(choice.performance or 0))
        for choice in ours
        if (usd := choice.usd_per_run if once else choice.usd_per_month) is not None
    ]
    return speed_against_cost(workload, ours[0].metric, ways) if ours else ""


def speed_against_cost(
    workload: str, metric: str, ways: Sequence[Way], *, asked: float | None = None, asked_name: str = ""
) -> str:
    """Ways to run one workload: the prediction across, with its band as a line, dollars up; what is required is a line
    from top to bottom.
    """
    ways = ways[:_MOST]
    if len(ways) < 2:
        return ""
    left, bottom, height = 62, 190, 234
    widest = max(max(way.value, way.high) for way in ways)
    if asked is not None and asked <= 3 * widest:  # a deadline far off would squeeze all into a corner
        widest = max(widest, asked)
    divisor, unit = unit_of(metric, widest)
    right = [float(tick) for tick in _ticks(Decimal(str(widest / divisor)))]
    upward = _ticks(max(way.usd for way in ways))
    across, up = right[-1] * divisor, upward[-1]
    room = WIDTH - 16 - left

    def to_right(value: float) -> float:
        return left + room * value / across

    marks = _axes(left, bottom, upward)
    for value in right:
        marks.append(f'<text class="tick mid" x="{to_right(value * divisor):.1f}" y="{bottom + 18}">{value:,g}</text>')
    marks.append(f'<text class="tick mid" x="{(left + WIDTH - 16) / 2:.1f}" y="{bottom + 36}">{escape(unit)}</text>')
    if asked is not None and asked <= across:
        x = to_right(asked)
        marks.append(
            f"<g {_data(asked=asked)}><title>{escape(asked_name)}: {escape(figure(metric, asked))}</title>"
            f'<line class="was" x1="{x:.1f}" y1="8" x2="{x:.1f}" y2="{bottom}"/></g>'
        )
    places = [(to_right(way.value), bottom - float(way.usd / up) * (bottom - 20)) for way in ways]
    badges = _apart(places)
    circles = []
    for number, (way, (x, y), (bx, by)) in enumerate(zip(ways, places, badges, strict=True), start=1):
        name = f"{way.label}: {text.usd(way.usd)} USD, {with_band(metric, way.value, way.low, way.high)}"
        figures = {"choice": way.label, "usd": way.usd, "performance": way.value}
        band, lead = "", ""
        if way.low < way.high:
            start, end = to_right(way.low), to_right(way.high)
            band = f'<line class="band" x1="{start:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{y:.1f}"/>'
        if (x, y) != (bx, by):  # moved aside: a dot stays at the true place
            lead = f'<line class="lead" x1="{x:.1f}" y1="{y:.1f}" x2="{bx:.1f}" y2="{by:.1f}"/>'
            lead += f'<circle class="place" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        circles.append(
            f'<g class="{"chosen" if way.chosen else "other"}" {_data(**figures)}>'
            f"<title>{escape(name)}</title>{band}{lead}"
            f'<circle cx="{bx:.1f}" cy="{by:.1f}" r="{_BADGE}"/>'
            f'<text class="num" x="{bx:.1f}" y="{by + 4:.1f}">{number}</text></g>'
        )
    chart = _svg(
        height,
        f"{speed_word(metric)} against cost, {workload}",
        "Each circle is one way to run the workload: its prediction across, US dollars up; the chosen one is filled.",
        [*marks, *reversed(circles)],  # the chosen one, which is first, is drawn on top
    )
    entries = "".join(
        f"<li{' class=chosen' if way.chosen else ''}>{escape(way.label)} "
        f"<small>{escape(way.place)}: {text.usd(way.usd)} USD, "
        f"{escape(with_band(metric, way.value, way.low, way.high) + way.note)}</small></li>"
        for way in ways
    )
    return f'{chart}<ol class="legend">{entries}</ol>'


def per_run(stack: records.Stack, workload: str) -> bool:
    """Whether a workload's choices are compared by the run, as a job's are, or by the month."""
    return any(c.chosen and c.usd_per_run is not None for c in stack.choices if c.workload == workload)


def speed_word(metric: str) -> str:
    """What a metric tells of, at the head of its chart.

    >>> speed_word("run_time_s"), speed_word("requests_per_s_within_slo"), speed_word("ttft_s")
    ('Time', 'Throughput', 'Latency')
    """
    if "_per_s" in metric:
        return "Throughput"
    return "Time" if "time" in metric else "Latency" if metric.endswith("_s") else "Size"


def caption(stack: records.Stack, workload: str, metric: str) -> str:
    """How to read a chart of choices."""
    usd = "run" if per_run(stack, workload) else "month"
    faster = "right" if "_per_s" in metric else "left"
    return f"US dollars per {usd}; each circle is one way to run it, filled: chosen; further {faster} is faster"


def _apart(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Where to put the badges, so that none covers another: at their place, or aside at the nearest free one."""
    put: list[tuple[float, float]] = []
    around = [(0, 0), (22, 0), (-22, 0), (0, -22), (0, 22), (20, -20), (-20, -20), (20, 20), (-20, 20)]
    around += [(2 * dx, 2 * dy) for dx, dy in around[1:]]
    for x, y in places:
        free = (
            (x + dx, y + dy)
            for dx, dy in around
            if 62 + _BADGE < x + dx < WIDTH - _BADGE and _BADGE < y + dy < 190
            and all(math.hypot(x + dx - ox, y + dy - oy) > 2 * _BADGE + 1 for ox, oy in put)
        )  # fmt: skip
        put.append(next(free, (x, y)) if put else (x, y))
    return put


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
        f"Cumulative US dollars by month over {last} months for each way to get the machines.",
        marks,
    )
    entries = "".join(
        _key(number, name, f"{text.usd(months[-1].usd[name])} USD after {last} months")
        for number, name in enumerate(names)
    )
    return f'{chart}<ul class="legend keys">{entries}</ul><p class="soft note">{escape(NOTE)}</p>'


def over_time(title: str, unit: str, minutes: Sequence[float], lines: Mapping[str, Sequence[float]]) -> str:
    """A figure over minutes, one line a name: `lines` has a value for each of `minutes`."""
    if len(minutes) < 2:
        return ""
    described = f"{title} over {minutes[-1]:.0f} minutes, in {unit}."
    noted = {name: (line, f"at most {max(line):.3g} {unit}") for name, line in lines.items()}
    return over(title, described, "minutes", minutes, noted, label="{:,f}".format)


def over(
    title: str,
    described: str,
    across: str,
    points: Sequence[float],
    lines: Mapping[str, tuple[Sequence[float], str]],
    *,
    label: Callable[[Decimal], str] = text.dollars,
    at: float | None = None,
) -> str:
    """A line for each name, with its note for the legend, from 0 to the last of `points`; `at` is marked."""
    highest = max((value for line, _ in lines.values() for value in line), default=0.0)
    left, bottom, height = 62, 190, 234
    upward = _ticks(Decimal(f"{highest:.6g}"))
    marks = _axes(left, bottom, upward, label)
    marks.append(f'<text class="tick mid" x="{(left + WIDTH - 24) / 2:.1f}" y="{bottom + 36}">{escape(across)}</text>')
    for tick in _ticks(Decimal(f"{points[-1]:.6g}")):
        if tick <= Decimal(f"{points[-1]:.6g}"):
            x = left + (WIDTH - 24 - left) * float(tick) / points[-1]
            marks.append(f'<text class="tick mid" x="{x:.1f}" y="{bottom + 18}">{tick.normalize():f}</text>')
    if at is not None:
        x = left + (WIDTH - 24 - left) * at / points[-1]
        marks.append(f'<line class="was" x1="{x:.1f}" y1="8" x2="{x:.1f}" y2="{bottom}" {_data(at=f"{at:.6g}")}/>')
    entries = []
    for number, (name, (line, note)) in enumerate(lines.items()):
        places = [left + (WIDTH - 24 - left) * point / points[-1] for point in points]
        heights = [bottom - value / float(upward[-1]) * (bottom - 20) for value in line]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
        marks.append(
            f'<g class="line s{number}" {_data(line=name, most=f"{max(line):.6g}")}>'
            f"<title>{escape(name)}: {escape(note)}</title>"
            f'<polyline points="{drawn}"/></g>'
        )
        entries.append(_key(number, name, note))
    chart = _svg(height, title, described, marks)
    return f'{chart}<ul class="legend keys">{"".join(entries)}</ul>'


def _key(number: int, name: str, note: str) -> str:
    """A line's entry in the legend."""
    return (
        f'<li><svg class="key s{number}" viewBox="0 0 28 8" aria-hidden="true"><polyline points="0,4 28,4"/></svg> '
        f"{escape(name)} <small>{escape(note)}</small></li>"
    )


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


def _axes(
    left: int, bottom: int, ticks: Sequence[Decimal], label: Callable[[Decimal], str] = text.dollars
) -> list[str]:
    """Horizontal lines at round figures, of dollars unless `label` writes them otherwise."""
    marks = []
    for tick in ticks:
        y = bottom - float(tick / ticks[-1]) * (bottom - 20)
        marks.append(f'<line class="axis" x1="{left}" y1="{y:.1f}" x2="{WIDTH - 8}" y2="{y:.1f}"/>')
        marks.append(f'<text class="tick end" x="{left - 6}" y="{y + 4:.1f}">{label(tick)}</text>')
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
