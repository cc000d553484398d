"""Fleets for training: how many nodes, which layout on them, how long the run takes.

For each machine the numbers of nodes are tried from the smallest up; what is asked of the layout search by all machines
at once is answered together, since laying out many clusters costs little more than laying out one.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sizing.catalog.records import Accelerator
from sizing.fleets import GIB, START_UP_S, Fleet, FleetRefusal, Machine, Memo, within
from sizing.jobs import Cluster, TrainingEstimate, TrainingJob
from sizing.memory import usable_bytes
from sizing.requirements import Requirements

NODES_MAX = 128
NODES_MAX_FOR_TIME = 16  # where speed is wanted at any price and resources.nodes sets no limit
COMPUTE = ("matrix products", "attention", "memory-bound", "recompute")  # of a step's waterfall
BOUND_SHARE = 0.98  # products of other sizes may fill a device's last wave a little better

Ask = tuple[tuple[object, ...], Cluster]
"""A cluster whose best layout is wanted, and the key under which the answer is kept."""


def training_fleets(
    machines: Sequence[Machine], need: Requirements, memo: Memo
) -> list[tuple[Fleet, ...] | FleetRefusal]:
    """The fleets of each machine, in their order. Layouts are searched for many clusters at once, round by round."""
    from sizing.layouts import search_all

    job = need.training
    assert job is not None  # noqa: S101 - asked only for training
    done: dict[int, tuple[Fleet, ...] | FleetRefusal] = {}
    hunts = {index: _hunt(machine, need, job, memo) for index, machine in enumerate(machines)}
    asks: dict[int, Ask] = {}

    def go_on(index: int, answer: Any) -> None:
        try:
            asks[index] = hunts[index].send(answer)
        except StopIteration as end:
            done[index] = end.value

    for index in hunts:
        go_on(index, None)
    while asks:
        now, wanted = dict(asks), {key: cluster for key, cluster in asks.values() if key not in memo.plans}
        asks.clear()
        if wanted:
            memo.plans.update(zip(wanted, search_all(job, tuple(wanted.values()), best=1), strict=True))
        for index, (key, _) in now.items():
            go_on(index, memo.plans[key])
    return [done[index] for index in range(len(machines))]


def _hunt(
    machine: Machine, need: Requirements, job: TrainingJob, memo: Memo
) -> Generator[Ask, Any, tuple[Fleet, ...] | FleetRefusal]:
    """The numbers of nodes worth looking at, each with its best layout; those that miss the deadline are left out.

    More nodes only add communication, so for objective `cost` the smallest that does is enough; one more is looked at
    where the deadline is near (interruptions take time) or memory was bought with recomputation.
    """
    from sizing.layouts import LayoutRefusal

    usable = usable_bytes(machine.accelerator)
    found: list[Fleet] = []
    refusals: list[FleetRefusal] = []
    for nodes, topology in node_counts(machine, need):
        devices = nodes * machine.count
        least_s = least_run_s(machine, job, memo) / nodes
        if need.deadline_s is not None and least_s > need.deadline_s:
            refusals.append(_slow(least_s, need.deadline_s, devices, "without any communication"))
            continue
        least = least_state_bytes(job) / devices
        if least > usable:
            refusals.append(_no_room(least, usable, devices, machine.accelerator))
            continue
        alike = (machine.accelerator.key, machine.count, machine.scale_up, machine.host_vcpus)
        key = (*alike, nodes, topology, *machine.outside(nodes))
        plans = yield key, machine.cluster(nodes, topology)
        if isinstance(plans, LayoutRefusal):
            shortfall = plans.need_bytes / plans.usable_bytes if plans.usable_bytes else math.inf
            relax = {
                "memory": "allow more nodes in resources.nodes",
                "layout": "set training.global_batch so that the devices divide it, or allow fewer nodes",
            }[plans.cause]
            refusals.append(FleetRefusal(cause=plans.cause, reason=plans.reason, shortfall=shortfall, relax=relax))
            continue
        best = plans[0]
        run_s = run_time_s(job, best.time) + START_UP_S
        if need.deadline_s is not None and run_s > need.deadline_s:
            refusals.append(_slow(run_s, need.deadline_s, devices, "predicted"))
            continue
        found.append(
            Fleet(
                nodes=nodes,
                memory=best.memory,
                usable_bytes=usable,
                topology=topology,
                layout=best.layout,
                training=best.time,
                run_s=run_s,
            )
        )
        near = need.deadline_s is not None and run_s * 1.5 > need.deadline_s
        tight = best.layout.checkpointing == "full"
        if need.objective == "cost" and (len(found) > 1 or not (near or tight)):
            break
    if found:
        return tuple(found)
    if refusals:
        return min(refusals, key=lambda refusal: refusal.shortfall)
    if machine.alone:
        reason = "machines of one job need InfiniBand on Azure, these work alone"
        return FleetRefusal(cause="nodes", reason=reason, relax="allow one node in resources.nodes")
    return FleetRefusal(cause="nodes", reason="no legal number of nodes", relax="widen resources.nodes")


def least_state_bytes(job: TrainingJob) -> float:
    """Less than any layout keeps, over all devices together: weights, and for full training gradients and moments."""
    from sizing.architecture import params_total

    per_param = {"qlora": 0.5, "lora": 1.0}.get(job.method, 4.0 if job.cpu_offload else 6.0)
    return params_total(job.architecture) * per_param


def _no_room(least: float, usable: int, devices: int, accelerator: Accelerator) -> FleetRefusal:
    return FleetRefusal(
        cause="memory",
        reason=f"model state alone needs {least / GIB:.1f} GiB per device on {devices} x {accelerator.name}, "
        f"{usable / GIB:.1f} GiB usable",
        shortfall=least / usable,
        relax="allow more nodes in resources.nodes",
    )


def node_counts(machine: Machine, need: Requirements) -> tuple[tuple[int, str], ...]:
    """Numbers of nodes to look at: powers of two within the spec's range; on TPU the legal slices."""
    most = NODES_MAX if need.objective == "cost" else NODES_MAX_FOR_TIME
    batch = need.training.global_batch if need.training else NODES_MAX
    if machine.accelerator.runtime == "tpu":
        legal = [(vms, topology) for vms, chips, topology in machine.slices if vms <= most and chips <= 8 * batch]
        return tuple(sorted((v, t) for v, t in set(legal) if within(need.nodes, v) == v))
    high = min(NODES_MAX, need.nodes.high) if need.nodes and need.nodes.high else most
    low = need.nodes.low if need.nodes else 1
    counts = {1 << power for power in range(8) if low <= 1 << power <= high}
    counts |= {n for n in (low, high) if need.nodes and low <= n <= high}
    counts &= {1} if machine.alone else counts
    return tuple((n, "") for n in sorted(counts))


@lru_cache(maxsize=256)
def run_flop(job: TrainingJob) -> float:
    """Model FLOPs of the whole run."""
    from sizing.architecture import forward_flop_per_sample, train_flop_per_token

    samples = job.samples or 0.0
    if job.sequence_length:
        share = 2 / 3 if job.method in ("lora", "qlora") else 1.0  # frozen weights have no gradient of their own
        return samples * job.sequence_length * train_flop_per_token(job.architecture, job.sequence_length) * share
    return 3.0 * samples * forward_flop_per_sample(job.architecture)


def least_device_s(job: TrainingJob, accelerators: Sequence[Accelerator]) -> dict[str, float]:
    """A lower bound of the run's device-seconds, by the accelerator's key: every device works for itself.

    The best layout on one device that needs no room, nothing but its compute counted: splitting makes the products
    smaller and adds communication. Experts are the exception (together devices fill them better); there it is every
    product at the calibrated rate of large ones. 0 where the catalog has no FLOP/s.
    """
    from sizing import calibration
    from sizing.layout_space import space
    from sizing.performance.training import step_items, useful_share
    from sizing.performance.training_rows import cluster_facts, job_facts, rows

    k = calibration.values("training")
    machines = [cluster_facts(Cluster(accelerator=one, per_node=1), job.precision, k) for one in accelerators]
    ideal = [run_flop(job) / one["rate"] if one["rate"] else 0.0 for one in machines]
    layouts = space(job, 1, 1, 1)
    if job.architecture.experts or not len(layouts):
        return {one.key: seconds for one, seconds in zip(accelerators, ideal, strict=True)}
    table = {name: np.array([one[name] for one in machines])[:, None] for name in machines[0]}
    table |= {name: values[None, :] for name, values in layouts.columns.items()}
    with np.errstate(divide="ignore", invalid="ignore"):  # a chip without units for attention, or for anything
        items = step_items(rows({**job_facts(job), **table}), k)
    steps = max(1, math.ceil((job.samples or 0.0) / job.global_batch)) / useful_share(job, k)
    busy = np.broadcast_to(sum(items[name] for name in COMPUTE), (len(machines), len(layouts))).min(axis=1) * steps
    return {
        one.key: max(least, BOUND_SHARE * float(seconds)) if math.isfinite(seconds) else least
        for one, least, seconds in zip(accelerators, ideal, busy, strict=True)
    }


def least_run_s(machine: Machine, job: TrainingJob, memo: Memo) -> float:
    """A lower bound of the run's time on one machine: its devices compute all the time, or its hosts read all the time.

    More machines divide it at best.
    """
    from sizing.performance.training_rows import input_facts

    key = machine.accelerator.key
    if key not in memo.least_device_s:
        memo.least_device_s |= least_device_s(job, [machine.accelerator])
    steps = max(1, math.ceil((job.samples or 0.0) / job.global_batch))
    reading_s = (
        steps
        * job.global_batch
        * input_facts(job.architecture, job.sequence_length)["decode_s"]
        / (machine.host_vcpus or math.inf)
    )
    return max(memo.least_device_s[key] / machine.count, reading_s)


def run_time_s(job: TrainingJob, time: TrainingEstimate) -> float:
    """Wall time of the run: steps, over the share of time that is useful work."""
    steps = math.ceil((job.samples or 0.0) / job.global_batch)
    return max(1, steps) * time.step_s / max(1e-9, time.availability)


def _slow(run_s: float, deadline_s: float, devices: int, how: str) -> FleetRefusal:
    return FleetRefusal(
        cause="too-slow",
        reason=f"{run_s / 3600:.1f} h on {devices} devices ({how}), {deadline_s / 3600:.1f} h allowed",
        shortfall=run_s / deadline_s,
        relax="allow a later deadline or more nodes",
    )
