"""The page of `sizewell simulate --html`: what requests wait, over time and by percentile, and how many replicas hold.

It holds no script and loads nothing, as the other pages do.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING

from markupsafe import Markup

from sizewell.preview.render import charts, pages
from sizewell.preview.render.pages import Card, Figure, Table
from sizewell.sizing.units import plural, short_duration
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sizewell.sizing.choose.simulated import Deployed, Judged
    from sizewell.sizing.predict.performance.serving_load import Load as Closed

SLICES = 60  # of the time that a chart shows


def page(
    *,
    name: str,
    machines: str,
    load: str,
    remarks: Sequence[str],
    of: Deployed,
    asked: Judged,
    rows: Sequence[tuple[str, str]],
    tried: Sequence[Judged],
    closed: Closed | None,
) -> str:
    """The page as text; `tried` are numbers of replicas beside the one that was asked for, `closed` the closed form."""
    level = of.level
    allowed = {"ttft_s": level.ttft_s, "tpot_s": level.tpot_s, "e2e_s": level.e2e_s}
    at = f"p{round(level.percentile * 100)}"
    predicted: dict[str, float] = {}
    if closed is not None and closed.stable:
        predicted = {"ttft_s": closed.ttft_s, "tpot_s": closed.tpot_s, "e2e_s": closed.e2e_s(of.job.output_tokens)}
    waits = [
        [
            title,
            *(short_duration(value) for value in getattr(asked, key).values()),
            short_duration(predicted[key]) if key in predicted else "-",
            short_duration(most) if (most := allowed[key]) is not None else "-",
        ]
        for title, key in rows
    ]
    served = asked.served
    fewest = min((each.replicas for each in (asked, *tried) if each.holds), default=None)
    counts = [
        [
            str(each.replicas),
            "holds" if each.holds else "; ".join(each.missed),
            short_duration(each.ttft_s[level.percentile]) if each.ttft_s else "-",
            f"{each.served.waiting_max:,}",
        ]
        for each in sorted({each.replicas: each for each in (asked, *tried)}.values(), key=lambda each: each.replicas)
    ]
    return pages.render(
        "simulation.html",
        heading=f"Simulation: {name}",
        schema=schema_of("simulation"),
        machines=machines,
        load=load,
        alerts=[*(f"does not hold: {missed}" for missed in asked.missed), *remarks],
        cards=[
            Card("Replicas", str(asked.replicas), "as decided" if asked.replicas == of.replicas else ""),
            Card("Fewest that hold", "none" if fewest is None else str(fewest)),
            Card("Waiting at most", f"{served.waiting_max:,}", "requests, over all replicas"),
            Card("Cache used at most", f"{served.cache_max:.0%}", "of one replica"),
        ],
        waits=Table(
            ["", "p50", "p90", "p95", "p99", f"closed form, {at}", f"allowed, {at}"], waits, right=6, label="Waits"
        ),
        judged=f"{plural(len(served.ttft_s), 'request')} served, {served.preempted:,} preempted, {served.refused:,} "
        "longer than the cache of a replica. The closed form takes arrivals at random and equal lengths.",
        figures=[
            Figure("First token", f"seconds; allowed at {at} is a flat line", _first_token(asked, level.ttft_s)),
            Figure("Waiting requests", "over all replicas, the most in each slice of time", _waiting(asked)),
        ],
        counts=Table(
            ["Replicas", "Service level", f"First token, {at}", "Waiting at most"], counts, right=2, label="Tried"
        ),
        limits="Replicas are neither added nor removed, and the network to the client is not counted.",
    )


def _first_token(asked: Judged, allowed: float | None) -> Markup:
    served = asked.served
    arrived = [end - whole for end, whole in zip(served.end_s, served.e2e_s, strict=True)]
    minutes, slices = _sliced(arrived, served.ttft_s)
    middle = [sorted(values)[len(values) // 2] if values else 0.0 for values in slices]
    late = [sorted(values)[math.ceil(0.95 * len(values)) - 1] if values else 0.0 for values in slices]
    lines = {"p50": middle, "p95": late}
    if allowed is not None:
        lines["allowed"] = [allowed] * len(minutes)
    return Markup(charts.over_time("Time to the first token", "s", minutes, lines))  # noqa: S704 - escaped there


def _waiting(asked: Judged) -> Markup:
    times, values = asked.served.arrived_s, asked.served.waiting
    minutes, slices = _sliced(times, values)
    most = [float(max(values, default=0)) for values in slices]
    chart = charts.over_time("Waiting requests", "requests", minutes, {"waiting": most})
    return Markup(chart)  # noqa: S704 - escaped there


def _sliced(times: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[array[float]]]:
    """Values by equal slices of time, and the middle of each slice in minutes."""
    whole = max(times) or 1.0
    slices = [array("d") for _ in range(SLICES)]
    for time, value in zip(times, values, strict=True):
        slices[min(SLICES - 1, int(time / whole * SLICES))].append(value)
    return [whole * (index + 0.5) / SLICES / 60 for index in range(SLICES)], slices
