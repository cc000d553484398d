"""Sixty workloads beside what an experienced engineer would put them on: which decisions one would not sign at first
sight, and which training runs need more for their launch than is said.

The answers in signed.yaml were written before the workloads were sized: classes of accelerators, and how many of them.
A decision that is another has a second thought beside it, which says whether it would do.
"""

from __future__ import annotations

import sys
from datetime import date
from typing import Final

import yaml

from benchmarks.measure import ROOT
from sizewell.sizing import catalog
from sizewell.sizing.choose.decide import NothingFits, decide
from sizewell.sizing.records.decision import Workload
from sizewell.sizing.records.launching import beyond
from sizewell.sizing.units import gib
from sizewell.sizing.workload.read import parse_spec

ON: Final = date(2026, 11, 20)
MISSES: Final = 3  # decisions that one would not sign, at most
CLASSES: Final = {"cpu": (0, 0), "entry": (1, 33), "middle": (33, 60), "large": (60, 400)}  # GiB of an accelerator
MIDDLE: Final = ("rtx-pro-6000-bse",)  # much memory at the bandwidth of the middle


def class_of(facts: catalog.Catalog, key: str) -> str:
    """The class of an accelerator, by what people choose it for."""
    if not key:
        return "cpu"
    device = facts.accelerators[key]
    if device.runtime == "tpu":
        return "tpu"
    if key in MIDDLE:
        return "middle"
    size = gib(device.memory_bytes)
    return next(name for name, (low, high) in CLASSES.items() if low <= size < high)


def wrong(facts: catalog.Catalog, workload: Workload, answer: dict[str, object]) -> str:
    """Why one would not sign a decision; "" where one would."""
    pool = workload.pools[0]
    low, high = (int(end) for end in str(answer["devices"]).split(".."))
    devices = pool.nodes_initial * pool.accelerators_per_node
    kind = class_of(facts, pool.accelerator)
    if kind not in answer["classes"]:  # type: ignore[operator]
        return f"{kind} ({pool.accelerator or 'no accelerator'}), wanted {', '.join(answer['classes'])}"  # type: ignore[arg-type]
    return "" if low <= devices <= high else f"{devices} x {pool.accelerator}, wanted {answer['devices']}"


def unsaid(facts: catalog.Catalog, workload: Workload) -> bool:
    """Whether a training run's launch would ask for a command that the decision does not speak of."""
    pool = workload.pools[0]
    runtime = facts.accelerators[pool.accelerator].runtime if pool.accelerator else ""
    needs = beyond(workload.task, workload.framework, workload.parallelism, runtime)
    return bool(needs) and not any(note.startswith("launched by run.") for note in workload.assumptions)


def main() -> int:
    facts = catalog.load()
    rows = yaml.safe_load((ROOT / "benchmarks/signed.yaml").read_text(encoding="utf-8"))
    missed = open_ = silent = 0
    for row in rows:
        spec = parse_spec(yaml.safe_dump({"name": row["name"], **row["spec"]}), row["name"])
        decision = decide([spec], facts, stack="", on=ON)
        if isinstance(decision, NothingFits):
            why, shown = "nothing fits", decision.nearest[0].reason if decision.nearest else ""
        else:
            [workload] = decision.workloads
            pool, why = workload.pools[0], wrong(facts, workload, row["answer"])
            silent += workload.parallelism is not None and unsaid(facts, workload)
            carries = f"{pool.accelerators_per_node} x {pool.accelerator or 'cpu'}"
            shown = f"{pool.nodes_initial} x {pool.instance_type} ({carries}), {pool.market}"
        thought = row["answer"].get("second_thought", "")
        print(f"{row['name']:16} {'not signed' if why else 'signed':10}  {shown}{f': {why}' if why else ''}")
        if why:
            print(f"{'':28}  {thought or 'no second thought is written'}")
        missed += bool(why)
        open_ += bool(why) and not thought
    print(
        f"{len(rows)} workloads, {missed} not signed at first sight ({MISSES} wanted at most), {open_} without a reason"
    )
    print(f"{silent} training runs need more for their launch than is said (0)")
    return int(open_ > 0 or silent > 0)


if __name__ == "__main__":
    sys.exit(main())
