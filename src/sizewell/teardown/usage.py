"""How busy the accelerators of each pool were, hour by hour: what runs keep of the samples that they read. Pure.

A stack in use is never stopped, however little of it is used; its measurement says which smaller size would do
(`sizewell size SPEC --observed FILE`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sizewell.sizing.versions import content, schema_of
from sizewell.teardown.records import Contradiction, Episode, Pool
from sizewell.teardown.units import Unit

HOUR_S: Final = 3600.0
DAYS: Final = 15  # of which hours are added up: the oldest are past the load of today; longer than a stack is empty
HOURS_MIN: Final = 8  # fewer say nothing of a load: a working day
BUSY: Final = 0.70  # share of the time from which an accelerator is worth its price, as `size --observed` has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """The samples of one clock hour: all accelerators of the pool together; `machines`: the mean number at a time."""

    start: datetime
    mean_percent: float
    samples: int
    machines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUsage:
    """One pool over the hours in which its accelerators reported."""

    stack: str
    pool: str
    cloud: str
    region: str
    instance_type: str
    hours: tuple[Hour, ...]

    @property
    def busy(self) -> float:
        """Share of the time, 0 to 1: the mean of the hours, each as long as another."""
        return sum(hour.mean_percent for hour in self.hours) / len(self.hours) / 100 if self.hours else 0.0

    @property
    def nodes(self) -> int:
        """The most machines of an hour."""
        return max((hour.machines for hour in self.hours), default=0)

    @property
    def half_idle(self) -> bool:
        """Whether enough was seen, and the accelerators were worth less than their price."""
        return len(self.hours) >= HOURS_MIN and self.busy < BUSY


def usage_of(stack: str, unit: Unit, pool: Pool) -> PoolUsage | None:
    """The hours of a pool's samples; None where none of its accelerators reported, or nobody knows its machines."""
    series = [(machine, each) for (machine, _), each in pool.utilization_percent.items() if len(each.values)]
    if not series or not unit.instance_type:
        return None
    at_s = np.concatenate([each.at_s for _, each in series])
    values = np.concatenate([each.values for _, each in series])
    machines = np.concatenate([[machine] * len(each.values) for machine, each in series])
    hour_of = np.floor(at_s / HOUR_S).astype(np.int64)
    hours = tuple(
        Hour(
            start=datetime.fromtimestamp(float(hour) * HOUR_S, UTC),
            mean_percent=round(float(values[hour_of == hour].mean()), 2),
            samples=int((hour_of == hour).sum()),
            machines=_at_a_time(at_s[hour_of == hour], machines[hour_of == hour], pool.period_s),
        )
        for hour in np.unique(hour_of)
    )
    return PoolUsage(
        stack=stack,
        pool=unit.name,
        cloud=unit.cloud,
        region=unit.region,
        instance_type=unit.instance_type,
        hours=hours,
    )


def _at_a_time(at_s: NDArray[np.float64], machines: NDArray[np.str_], period_s: float) -> int:
    """How many machines there were at a time in an hour: one that replaces another is not added to it.

    >>> times = np.array([0.0, 60.0, 120.0, 180.0])
    >>> _at_a_time(times, np.array(["a", "a", "b", "b"]), 60.0), _at_a_time(times, np.array(["a", "b", "a", "b"]), 60.0)
    (1, 2)
    """
    each_s = sum(float(np.ptp(at_s[machines == name])) + period_s for name in np.unique(machines))
    return max(round(each_s / (float(np.ptp(at_s)) + period_s)), 1)


def empty_of(pool: Pool) -> tuple[float, float] | None:
    """Since when, and until when, the cloud counted no machine of a pool; None where it has some, or nobody counted."""
    spans = list(pool.counted)
    if not spans or spans[-1].machines:
        return None
    begins_s = spans[-1].start_s
    for span in reversed(spans[:-1]):
        if span.machines or span.end_s < begins_s:
            break
        begins_s = span.start_s
    return begins_s, spans[-1].end_s


def empty_since(begins_s: float, before: Sequence[tuple[float, float]]) -> float:
    """Since when a pool was empty, with what earlier runs counted: spans that reach into each other.

    >>> empty_since(50.0, [(0.0, 20.0), (15.0, 40.0), (30.0, 60.0)])
    0.0
    >>> empty_since(50.0, [(0.0, 20.0), (30.0, 60.0)])
    30.0
    """
    for start_s, end_s in sorted(before, key=lambda span: span[1], reverse=True):
        if end_s >= begins_s:
            begins_s = min(begins_s, start_s)
    return begins_s


def empty_spans(documents: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """What runs kept of pools without machines, by stack and pool."""
    spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for name, document in documents:
        for row in content("pool-usage", document, name)["empty"]:
            times = (datetime.fromisoformat(row[key]).timestamp() for key in ("start", "end"))
            spans.setdefault((row["stack"], row["pool"]), []).append((next(times), next(times)))
    return spans


def idle_episodes(documents: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[tuple[str, str], Episode]:
    """What the last run that saw it saw of each pool's idleness, by stack and pool."""
    episodes: dict[tuple[str, str], Episode] = {}
    for name, document in documents:
        for row in content("pool-usage", document, name).get("idle", ()):
            since_s, until_s = (datetime.fromisoformat(row[key]).timestamp() for key in ("since", "until"))
            episodes[row["stack"], row["pool"]] = Episode(since_s=since_s, until_s=until_s)
    return episodes


def updates_seen(documents: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, float]:
    """When a run saw last that an update of a stack was running, by stack: one that was cancelled writes no state."""
    return {
        row["stack"]: datetime.fromisoformat(row["at"]).timestamp()
        for name, document in documents
        for row in content("pool-usage", document, name).get("updating", ())
    }


def contradictions_seen(
    documents: Iterable[tuple[str, Mapping[str, Any]]],
) -> dict[tuple[str, str], tuple[Contradiction, ...]]:
    """What the last run that looked at each pool saw contradicted, by stack and pool."""
    seen: dict[tuple[str, str], tuple[Contradiction, ...]] = {}
    for name, document in documents:
        for row in content("pool-usage", document, name).get("contradictions", ()):
            seen[row["stack"], row["pool"]] = tuple(
                Contradiction(
                    device=(each["machine"], int(each["number"])),
                    signal=each["signal"],
                    at_s=datetime.fromisoformat(each["at"]).timestamp(),
                )
                for each in row["signals"]
            )
    return seen


def uncounted_at(documents: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[tuple[str, str], tuple[float, ...]]:
    """When runs could not count the machines of a pool, by stack and pool."""
    times: dict[tuple[str, str], tuple[float, ...]] = {}
    for name, document in documents:
        for row in content("pool-usage", document, name).get("uncounted", ()):
            key = (row["stack"], row["pool"])
            times[key] = (*times.get(key, ()), datetime.fromisoformat(row["at"]).timestamp())
    return times


def kept(
    usages: Sequence[PoolUsage],
    *,
    empty: Mapping[tuple[str, str], tuple[float, float]],
    idle: Mapping[tuple[str, str], Episode],
    updating: Mapping[str, datetime],
    contradictions: Mapping[tuple[str, str], Sequence[Contradiction]],
    uncounted: Mapping[tuple[str, str], datetime],
) -> dict[str, Any]:
    """The document of one run: how busy pools were, which had no machine or are idle since when, of which stacks an
    update was running, which signals contradicted, and which pools could not be counted.
    """
    pools = [
        {
            "stack": usage.stack,
            "pool": usage.pool,
            "cloud": usage.cloud,
            "region": usage.region,
            "instance_type": usage.instance_type,
            "hours": [
                {
                    "start": hour.start.isoformat(),
                    "mean_percent": hour.mean_percent,
                    "samples": hour.samples,
                    "machines": hour.machines,
                }
                for hour in usage.hours
            ],
        }
        for usage in usages
    ]
    spans = [
        {
            "stack": stack,
            "pool": pool,
            "start": datetime.fromtimestamp(start_s, UTC).isoformat(),
            "end": datetime.fromtimestamp(end_s, UTC).isoformat(),
        }
        for (stack, pool), (start_s, end_s) in empty.items()
    ]
    times = [
        {
            "stack": stack,
            "pool": pool,
            "id": episode.name,
            "since": datetime.fromtimestamp(episode.since_s, UTC).isoformat(),
            "until": datetime.fromtimestamp(episode.until_s, UTC).isoformat(),
        }
        for (stack, pool), episode in idle.items()
    ]
    locked = [{"stack": stack, "at": at.isoformat()} for stack, at in updating.items()]
    against = [
        {
            "stack": stack,
            "pool": pool,
            "signals": [
                {
                    "machine": each.device[0],
                    "number": each.device[1],
                    "signal": each.signal,
                    "at": datetime.fromtimestamp(each.at_s, UTC).isoformat(),
                }
                for each in signals
            ],
        }
        for (stack, pool), signals in contradictions.items()
    ]
    blind = [{"stack": stack, "pool": pool, "at": at.isoformat()} for (stack, pool), at in uncounted.items()]
    return {
        "schema": schema_of("pool-usage"),
        "pools": pools,
        "empty": spans,
        "idle": times,
        "updating": locked,
        "contradictions": against,
        "uncounted": blind,
    }


def added_up(documents: Iterable[tuple[str, Mapping[str, Any]]]) -> list[PoolUsage]:
    """What several runs kept, each under its name: an hour that two of them saw is that of the one with more samples,
    and a pool whose machines are of another type since is a new one. UsageError where a document is of a later release.
    """
    of_pools: dict[tuple[str, str], tuple[tuple[str, str, str], dict[datetime, Hour]]] = {}
    for name, document in documents:
        for row in content("pool-usage", document, name)["pools"]:
            machines = (str(row["cloud"]), str(row["region"]), str(row["instance_type"]))
            before = of_pools.get((row["stack"], row["pool"]))
            hours = before[1] if before and before[0] == machines else {}
            of_pools[row["stack"], row["pool"]] = (machines, hours)
            for each in row["hours"]:
                hour = Hour(**{**each, "start": datetime.fromisoformat(each["start"])})
                if hour.start not in hours or hour.samples >= hours[hour.start].samples:
                    hours[hour.start] = hour
    return [
        PoolUsage(
            stack=stack,
            pool=pool,
            cloud=machines[0],
            region=machines[1],
            instance_type=machines[2],
            hours=tuple(hours[start] for start in sorted(hours)),
        )
        for (stack, pool), (machines, hours) in sorted(of_pools.items())
    ]


def measurement(usage: PoolUsage, workload: str) -> dict[str, Any]:
    """What `sizewell size SPEC --observed` reads."""
    return {
        "schema": schema_of("observed"),
        "workload": workload,
        "running": {
            "on": f"{usage.cloud}/{usage.region}",
            "instance_type": usage.instance_type,
            "nodes": max(usage.nodes, 1),
        },
        "utilization": f"{max(usage.busy * 100, 0.1):.1f}%",
    }
