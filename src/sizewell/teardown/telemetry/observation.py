"""What was observed of a pool, and what every source shares."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from sizewell.teardown.records import Counted, Device, Series

LOST: Final = 2  # samples of a size in a row
HISTORY_S: Final = 15 * 86_400.0  # how far back sizes are asked for: more than an empty stack has to be empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The machines and samples of one pool."""

    source: str  # as a reader of the evidence knows it
    counted: tuple[Counted, ...] = ()  # empty: nobody counted
    utilization_percent: Mapping[Device, Series] = field(default_factory=dict)
    power_w: Mapping[Device, Series] = field(default_factory=dict)
    processes: Mapping[Device, Series] = field(default_factory=dict)
    memory_percent: Mapping[Device, Series] = field(default_factory=dict)
    sm_percent: Mapping[Device, Series] = field(default_factory=dict)
    period_s: float = 60.0
    late_s: float = 0.0
    per: Literal["accelerator", "machine"] = "accelerator"
    requests_per_s: Series | None = None


def number_of(name: str) -> int:
    """The number at the end of an accelerator's name.

    >>> number_of("nvidia3"), number_of("0"), number_of("accel")
    (3, 0, 0)
    """
    digits = re.search(r"(\d+)$", name)
    return int(digits[1]) if digits else 0


def series(samples: Iterable[tuple[float, float]]) -> Series:
    """Samples of one thing in order of time; of two at one time the larger counts, which keeps."""
    largest: dict[float, float] = {}
    for at_s, value in samples:
        largest[at_s] = max(value, largest.get(at_s, value))
    times = sorted(largest)
    return Series(
        at_s=np.asarray(times, dtype=np.float64),
        values=np.asarray([largest[at_s] for at_s in times], dtype=np.float64),
    )


def shares(used: Mapping[Device, Series], whole: Mapping[Device, Series]) -> dict[Device, Series]:
    """Percent of what each accelerator has; one whose whole was not read is left out."""
    return {
        device: Series(at_s=each.at_s, values=100 * each.values / total)
        for device, each in used.items()
        if (total := max(whole[device].values, default=0.0) if device in whole else 0.0) > 0
    }


def counted_now(started_s: Mapping[str, float], at_s: float) -> list[Counted]:
    """Spans of the machines that are there: from each start to the next one, and on until now.

    >>> [sorted(span.machines) for span in counted_now({"a": 10.0, "b": 20.0}, 30.0)]
    [['a'], ['a', 'b']]
    """
    if not started_s:
        return [Counted(start_s=at_s, end_s=at_s, machines=frozenset())]
    cuts = [*sorted(set(started_s.values())), at_s]
    return [
        Counted(
            start_s=start_s,
            end_s=max(end_s, start_s),
            machines=frozenset(name for name, since_s in started_s.items() if since_s <= start_s),
        )
        for start_s, end_s in itertools.pairwise(cuts)
    ]


def counted_none(begins_s: float, at_s: float) -> tuple[Counted, ...]:
    """A pool without machines now, of which its cloud records no change since `begins_s`: it had none all that time."""
    return (Counted(start_s=min(begins_s, at_s), end_s=at_s, machines=frozenset()),)


def counted_before(sizes: Sequence[tuple[float, float]], period_s: float, until_s: float) -> list[Counted]:
    """Spans of sizes that a cloud recorded: (time, machines), each for the period that begins then.

    Whoever asks for names gets none: `3 machines` stands for any three. Two lost samples in a row between equal sizes
    are passed over; anything longer was not counted.
    """
    spans: list[Counted] = []
    for at_s, size in sorted(sizes):
        if at_s >= until_s:
            break
        machines = frozenset({f"{size:g} machines"}) if size > 0 else frozenset()
        end_s = min(at_s + period_s, until_s)
        if spans and spans[-1].machines == machines and at_s <= spans[-1].end_s + LOST * period_s:
            spans[-1] = Counted(start_s=spans[-1].start_s, end_s=end_s, machines=machines)
        else:
            spans.append(Counted(start_s=at_s, end_s=end_s, machines=machines))
    return spans


def history(
    sizes: Sequence[tuple[float, float]],
    period_s: float,
    started_s: Mapping[str, float],
    at_s: float,
    *,
    late_s: float = 0.0,
) -> tuple[Counted, ...]:
    """What was counted: by size before the machines of now came, by name since. The newest sizes come `late_s` late."""
    begun_s = min(started_s.values(), default=at_s)
    before = counted_before(sizes, period_s, begun_s)
    if before and begun_s - before[-1].end_s <= LOST * period_s + late_s:
        before[-1] = replace(before[-1], end_s=begun_s)
    return (*before, *counted_now(started_s, at_s))
