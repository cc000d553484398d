"""What differs between two decisions, in words: the machines first, then cost, then everything else by its key."""

from __future__ import annotations

from typing import Any

from sizewell.sizing.records.decision import Decision, Pool, Workload

MOST = 12  # lines of other differences


def changes(before: Decision, after: Decision) -> list[str]:
    """One line a difference; which catalog they rest on and the seal do not count."""
    old = {workload.spec.name: workload for workload in before.workloads}
    new = {workload.spec.name: workload for workload in after.workloads}
    lines = [f"{name}: would be added" for name in new.keys() - old.keys()]
    lines += [f"{name}: would be removed" for name in old.keys() - new.keys()]
    lines.sort()
    for name in sorted(old.keys() & new.keys()):
        lines += [f"{name}: {line}" for line in _workload(old[name], new[name])]
    skip = {"workloads", "catalog", "seal"}
    earlier, later = (decision.model_dump(mode="json", exclude=skip) for decision in (before, after))
    return lines + _differences(earlier, later, "")


def _workload(before: Workload, after: Workload) -> list[str]:
    lines = []
    if before.spec.digest != after.spec.digest:
        lines.append("its spec has changed")
    if before.pools != after.pools:
        machines = [", ".join(_machines(pool) for pool in workload.pools) for workload in (before, after)]
        if machines[0] != machines[1]:
            lines.append(f"{machines[0]} would become {machines[1]}")
    rates = [workload.bill().run_rate for workload in (before, after)]
    if rates[0] != rates[1]:
        was, now = (f"{rate.usd_per_month.expected:,.2f}{' + ?' if rate.unpriced else ''}" for rate in rates)
        lines += [f"{was} USD a month expected would become {now}"] if was != now else []
    if lines:
        return lines
    earlier, later = (workload.model_dump(mode="json") for workload in (before, after))
    return _differences(earlier, later, "")


def _machines(pool: Pool) -> str:
    return f"{pool.nodes_min}..{pool.nodes_max} x {pool.instance_type} {pool.market} in {pool.cloud} {pool.region}"


def _differences(before: Any, after: Any, path: str) -> list[str]:
    lines = list(_walk(before, after, path))
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return lines[:MOST] + more


def _walk(before: Any, after: Any, path: str) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            line
            for key in sorted(before.keys() | after.keys())
            for line in _walk(before.get(key), after.get(key), f"{path}.{key}" if path else key)
        ]
    if isinstance(before, list) and isinstance(after, list) and all(isinstance(item, str) for item in before + after):
        gone = [f"{path}: without: {item}" for item in before if item not in after]
        return gone + [f"{path}: with: {item}" for item in after if item not in before]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            line
            for index, (earlier, later) in enumerate(zip(before, after, strict=True))
            for line in _walk(earlier, later, f"{path}[{index}]")
        ]
    return [] if before == after else [f"{path}: {_short(before)} would become {_short(after)}"]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
