"""Plots of the accuracy page: SVG with the same bytes each time, readable on light and dark pages."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from sizewell.accuracy.report import Row

_COLOURS = {
    "nvidia-hopper": "#1f77b4",
    "nvidia-ampere": "#2ca02c",
    "nvidia-blackwell": "#9467bd",
    "nvidia-ada": "#17becf",
    "nvidia-volta-turing": "#8c564b",
    "google-tpu": "#d62728",
    "aws-neuron": "#ff7f0e",
    "amd": "#e377c2",
    "intel-gaudi": "#bcbd22",
}
_OTHER = "#7f7f7f"


SIZE, MARGIN = 460, 54  # of the left panel and around it
RATIOS = (1 / 4, 1 / 2, 1.0, 2.0, 4.0)  # of the right panel's axis; what lies further is drawn at its edge
LABELS, ROW = 150, 34


def scatter(area: str, rows: Sequence[Row]) -> str:
    """Predicted against published, both axes logarithmic, each case in its own unit; beside it the ratio of the two by
    family of hardware. The shaded strips are 20 %; core cases are large and solid, a bar marks a family's median.
    """
    drawn = [row for row in sorted(rows, key=lambda row: row.id) if row.predicted and row.published > 0]
    families = sorted({row.hw_family for row in drawn})
    height = max(SIZE, 2 * MARGIN + ROW * len(families))
    width = 2 * SIZE + LABELS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        "<style>text { font: 12px sans-serif }</style>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="15">{area.capitalize()}: predicted against published</text>',
        f'<text x="{SIZE + LABELS}" y="24" font-size="15">predicted / published, by hardware</text>',
        *_against(drawn),
        *_ratios(drawn, families),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _dot(at_x: float, at_y: float, row: Row) -> str:
    radius, opacity = (3.5, 0.9) if row.core else (2.2, 0.35)
    colour = _COLOURS.get(row.hw_family, _OTHER)
    return f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="{radius}" fill="{colour}" fill-opacity="{opacity}"/>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str = "#ddd") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="1.2"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _against(rows: Sequence[Row]) -> list[str]:
    values = [value for row in rows for value in (row.published, row.predicted or 0.0)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    scale = (SIZE - 2 * MARGIN) / max(1, high - low)

    def x(value: float) -> float:
        return MARGIN + (math.log10(value) - low) * scale

    def y(value: float) -> float:
        return SIZE - MARGIN - (math.log10(value) - low) * scale

    edges = [(10**low, 1.2), (10**high, 1.2), (10**high, 1 / 1.2), (10**low, 1 / 1.2)]
    strip = " ".join(f"{x(v):.1f},{min(SIZE - MARGIN, max(MARGIN, y(v * factor))):.1f}" for v, factor in edges)
    parts = [f'<polygon points="{strip}" fill="#e8eef4"/>']
    for power in range(low, high + 1):
        at_x, at_y = x(10.0**power), y(10.0**power)
        parts += [
            _line(at_x, MARGIN, at_x, SIZE - MARGIN),
            _line(MARGIN, at_y, SIZE - MARGIN, at_y),
            _text(at_x, SIZE - MARGIN + 16, _power(power)),
            _text(MARGIN - 6, at_y + 4, _power(power), "end"),
        ]
    parts.append(_line(x(10.0**low), y(10.0**low), x(10.0**high), y(10.0**high), "#888"))
    parts += [_dot(x(row.published), y(row.predicted or 0.0), row) for row in rows]
    half = SIZE // 2
    parts += [
        _text(half, SIZE - 14, "published"),
        f'<text x="14" y="{half}" text-anchor="middle" transform="rotate(-90 14 {half})">predicted</text>',
    ]
    return parts


def _ratios(rows: Sequence[Row], families: Sequence[str]) -> list[str]:
    left, right = SIZE + LABELS, 2 * SIZE + LABELS - 30
    bottom = MARGIN + ROW * len(families)
    span = math.log(RATIOS[-1] / RATIOS[0])

    def x(ratio: float) -> float:
        return left + (right - left) * math.log(min(RATIOS[-1], max(RATIOS[0], ratio)) / RATIOS[0]) / span

    start, wide = x(1 / 1.2), x(1.2) - x(1 / 1.2)
    strip = f'x="{start:.1f}" y="{MARGIN}" width="{wide:.1f}" height="{bottom - MARGIN}"'
    parts = [f'<rect {strip} fill="#e8eef4"/>']
    for ratio in RATIOS:
        parts += [_line(x(ratio), MARGIN, x(ratio), bottom, "#888" if ratio == 1 else "#ddd")]
        parts += [_text(x(ratio), bottom + 16, f"{ratio:g}")]
    for number, family in enumerate(families):
        middle = MARGIN + ROW * (number + 0.5)
        members = [row for row in rows if row.hw_family == family]
        parts.append(_text(left - 12, middle + 4, f"{family} ({len(members)})", "end"))
        for place, row in enumerate(members):  # spread over the row's height, so that points do not hide each other
            parts.append(_dot(x((row.predicted or 0.0) / row.published), middle + 9 * math.sin(2.4 * place), row))
        at = x(statistics.median((row.predicted or 0.0) / row.published for row in members))
        parts.append(_line(at, middle - 13, at, middle + 13, "#222"))
    return parts


def _power(power: int) -> str:
    return f"{10**power:,}" if 0 <= power <= 4 else f"1e{power}"
