"""Fleets for training: how many nodes, which layout on them, how long the run takes.

For each machine the numbers of nodes are tried from the smallest up; what is asked of the layout search by all machines
at once is answered together, since laying out many clusters costs little more than laying out one.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sizewell.sizing.catalog.records import Accelerator
from sizewell.sizing.choose.fleet import LATER, Fleet, FleetRefusal, Machine, within
from sizewell.sizing.choose.requirements import Requirements
from sizewell.sizing.choose.start_up import start_up_s
from sizewell.sizing.predict.memory import usable_bytes
from sizewell.sizing.predict.numeric import np
from sizewell.sizing.records.jobs import Cluster, Layout, TrainingJob
from sizewell.sizing.units import GIB, durations_apart, plural

if TYPE_CHECKING:
    from sizewell.sizing.predict.layouts.search import Plan

NODES_MAX_FOR_TIME = 16  # where speed is wanted at any price and resources.nodes sets no limit
MORE_MEMORY = "allow more accelerators in resources, or those with more memory"  # `more_room` says how many
OTHER_BATCH = "set training.global_batch so that the devices divide it, or allow fewer nodes"  # likewise
COMPUTE = ("matrix products", "attention", "memory-bound", "recompute")  # of a step's waterfall
LIKELY_STATE = 3.0  # what a run is likely to need in all, over the least that any layout keeps
BOUND_SHARE = 0.98  # products of other sizes may fill a device's last wave a little better

_Key = tuple[object, ...]
"""What of a cluster its layouts depend on."""

Ask = tuple[_Key, Cluster]
"""A cluster whose best layout is wanted, and the key under which the answer is kept."""


class Draft(NamedTuple):
    """A number of nodes that does, and the key under which its layout is kept."""

    key: _Key
    nodes: int
    topology: str


class TrainingSearches:
    """The fleets of machine types that finish one training run, each machine with the software that is its own."""

    def __init__(self, need: Requirements, *, own_programs: bool = False) -> None:
        self._need, self._own_programs = need, own_programs
        self._of_job: dict[TrainingJob, TrainingSearch] = {}

    def _search(self, accelerator: Accelerator, *, any_layout: bool = False) -> TrainingSearch:
        need = self._need.on(accelerator.runtime)
        need = need.with_any_layout() if any_layout else need
        assert need.training is not None  # noqa: S101 - asked only for training
        if need.training not in self._of_job:
            self._of_job[need.training] = TrainingSearch(need)
        return self._of_job[need.training]

    def bound(self, accelerators: Sequence[Accelerator]) -> None:
        """Work out the lower bound of the run on many accelerators at once, which costs little more than on one."""
        together: dict[TrainingSearch, list[Accelerator]] = {}
        for accelerator in accelerators:
            together.setdefault(self._search(accelerator), []).append(accelerator)
        for search, members in together.items():
            search.bound(members)

    def fleets(self, machines: Sequence[Machine]) -> list[tuple[Fleet, ...] | FleetRefusal]:
        """The fleets of each machine, in their order; those that run the same software are searched at once.

        With `own_programs`, where an entry script runs the work but has no layout of it that does on a machine, one
        that needs another program is taken there, and marked.
        """
        fleets = self._fleets(machines)
        if not self._own_programs:
            return fleets
        scripted = [i for i, machine in enumerate(machines) if self._search(machine.accelerator).scripted]
        refused = [i for i in scripted if isinstance(fleets[i], FleetRefusal)]
        for index, some in zip(refused, self._fleets([machines[i] for i in refused], any_layout=True), strict=True):
            if not isinstance(some, FleetRefusal):
                fleets[index] = tuple(replace(fleet, own_program=True) for fleet in some)
        return fleets

    def _fleets(
        self, machines: Sequence[Machine], *, any_layout: bool = False
    ) -> list[tuple[Fleet, ...] | FleetRefusal]:
        together: dict[TrainingSearch, list[int]] = {}
        for index, machine in enumerate(machines):
            together.setdefault(self._search(machine.accelerator, any_layout=any_layout), []).append(index)
        fleets: dict[int, tuple[Fleet, ...] | FleetRefusal] = {}
        for search, members in together.items():
            fleets |= zip(members, search.fleets([machines[i] for i in members]), strict=True)
        return [fleets[index] for index in range(len(machines))]

    def least_run_s(self, machine: Machine) -> float:
        """A lower bound of the run's time on one machine; more machines divide it at best."""
        return self._search(machine.accelerator).least_run_s(machine)


class TrainingSearch:
    """The fleets of machine types that run one job; layouts and times are kept as long as the search."""

    def __init__(self, need: Requirements) -> None:
        assert need.training is not None  # noqa: S101 - asked only for training
        self._need, self._job = need, need.training
        self.scripted = bool(need.training.entry_script)
        self._layouts: dict[_Key, Any] = {}  # one node alone has no network
        self._plans: dict[_Key, Plan] = {}  # of the layouts that fleets have, itemised
        self._least_device_s: dict[str, float] = {}  # of the run, by accelerator: a lower bound

    def bound(self, accelerators: Sequence[Accelerator]) -> None:
        """Work out the lower bound of the run on many accelerators at once, which costs little more than on one."""
        self._least_device_s |= least_device_s(self._job, accelerators)

    def fleets(self, machines: Sequence[Machine]) -> list[tuple[Fleet, ...] | FleetRefusal]:
        """The fleets of each machine, in their order; layouts of many clusters are searched at once, by rounds."""
        from sizewell.sizing.predict.layouts.search import find_all, plans

        done: dict[int, tuple[Draft, ...] | FleetRefusal] = {}
        hunts = {index: self._hunt(machine) for index, machine in enumerate(machines)}
        asks: dict[int, Ask] = {}

        def go_on(index: int, answer: Any) -> None:
            try:
                asks[index] = hunts[index].send(answer)
            except StopIteration as end:
                done[index] = end.value

        def search(some: Iterable[Ask]) -> None:
            wanted = {key: cluster for key, cluster in some if key not in self._layouts}
            if wanted:
                self._layouts.update(zip(wanted, find_all(self._job, tuple(wanted.values()), best=1), strict=True))

        search(ask for machine in machines for ask in self._foreseen(machine))
        for index in hunts:
            go_on(index, None)
        while asks:
            now = dict(asks)
            search(asks.values())
            asks.clear()
            for index, (key, _) in now.items():
                go_on(index, self._layouts[key])
        drafts = [draft for drafted in done.values() if not isinstance(drafted, FleetRefusal) for draft in drafted]
        missing = {draft.key: self._layouts[draft.key][0] for draft in drafts if draft.key not in self._plans}
        self._plans.update(zip(missing, plans(self._job, tuple(missing.values())), strict=True))
        return [
            drafted
            if isinstance(drafted, FleetRefusal)
            else tuple(_fleet(draft, self._job, machine, self._plans[draft.key]) for draft in drafted)
            for machine, drafted in ((machine, done[index]) for index, machine in enumerate(machines))
        ]

    def _foreseen(self, machine: Machine) -> Iterator[Ask]:
        """What `_hunt` will ask for up to the number of nodes that is likely to do: a guess that only saves rounds."""
        need = self._need
        usable, state, run_s = (
            usable_bytes(machine.device),
            least_state_bytes(self._job),
            self.least_run_s(machine),
        )
        for nodes, topology in node_counts(machine, need):
            room, late = nodes * machine.ranks * usable, need.deadline_s is not None and run_s / nodes > need.deadline_s
            if state > room or late:
                continue
            yield _ask(machine, nodes, topology)
            if LIKELY_STATE * state <= room:
                break

    def _hunt(self, machine: Machine) -> Generator[Ask, Any, tuple[Draft, ...] | FleetRefusal]:
        """The numbers of nodes worth looking at, each with its best layout; those that miss the deadline are left out.

        More nodes only add communication, so for objective `cost` the smallest that does is enough; one more is looked
        at where the deadline is near (interruptions take time) or memory was bought with recomputation.
        """
        from sizewell.sizing.predict.layouts.search import LayoutRefusal

        need, job = self._need, self._job
        usable = usable_bytes(machine.device)
        drafts: list[Draft] = []
        refusals: list[FleetRefusal] = []
        late: list[FleetRefusal] = []  # of machines that hold it: what fewer of them lack is not the reason
        for nodes, topology in node_counts(machine, need):
            devices = nodes * machine.ranks
            # memory first: where it does not suffice no deadline helps
            least = least_state_bytes(job) / devices
            if least > usable:
                refusals.append(_no_room(job, machine, devices))
                continue
            if refused := no_host_room(job, machine, nodes):
                refusals.append(refused)
                continue
            least_s = self.least_run_s(machine) / nodes
            if need.deadline_s is not None and least_s > need.deadline_s:
                refusals.append(_slow(least_s, need.deadline_s, devices, "without any communication"))
                continue
            key, cluster = _ask(machine, nodes, topology)
            answer = yield key, cluster
            if isinstance(answer, LayoutRefusal):
                shortfall = answer.need_bytes / answer.usable_bytes if answer.usable_bytes else math.inf
                relax = {
                    "memory": MORE_MEMORY,
                    "layout": OTHER_BATCH,
                }[answer.cause]
                refusals.append(
                    FleetRefusal(cause=answer.cause, reason=answer.reason, shortfall=shortfall, relax=relax)
                )
                continue
            best = answer[0]
            run_s = run_time_s(job, best.step_s) + start_up_s(job)
            if need.deadline_s is not None and run_s > need.deadline_s:
                late.append(_slow(run_s, need.deadline_s, devices, "predicted"))
                continue
            drafts.append(Draft(key, nodes, topology))
            near = need.deadline_s is not None and run_s * 1.5 > need.deadline_s
            tight = best.layout.checkpointing == "full"
            if need.objective == "cost" and (len(drafts) > 1 or not (near or tight)):
                break
        if drafts:
            return tuple(drafts)
        if late or refusals:
            return min(late or refusals, key=lambda refusal: refusal.shortfall)
        most, asked = machine.together_max, need.nodes_of(machine.count)
        if asked and asked.low > most:
            if most == 1:
                reason = "a job on several machines needs InfiniBand on Azure, which these do not have"
                return FleetRefusal(cause="layout", reason=reason, relax="name a type with InfiniBand, or one machine")
            reason = f"one job runs on at most {most:,} of these machines"
            return FleetRefusal(cause="nodes", reason=reason, relax=f"allow {most:,} nodes or fewer in resources.nodes")
        return FleetRefusal(cause="nodes", reason="no valid number of nodes", relax="widen resources.nodes")

    def least_run_s(self, machine: Machine) -> float:
        """A lower bound of the run's time on one machine, which more machines divide at best.

        Its devices compute all the time, or its hosts read all the time.
        """
        from sizewell.sizing.predict.performance.training_rows import input_facts

        job, key = self._job, machine.accelerator.key
        if key not in self._least_device_s:
            self.bound([machine.accelerator])
        steps = max(1, math.ceil((job.samples or 0.0) / job.global_batch))
        reading_s = (
            steps
            * job.global_batch
            * input_facts(job.architecture, job.sequence_length)["decode_s"]
            / (machine.host_vcpus or math.inf)
        )
        return max(self._least_device_s[key] / machine.count, reading_s)


def _fleet(draft: Draft, job: TrainingJob, machine: Machine, plan: Plan) -> Fleet:
    return Fleet(
        nodes=draft.nodes,
        memory=plan.memory,
        usable_bytes=usable_bytes(machine.device),
        topology=draft.topology,
        layout=plan.layout,
        training=plan.time,
        run_s=run_time_s(job, plan.time.step_s) + start_up_s(job),
    )


def _ask(machine: Machine, nodes: int, topology: str) -> Ask:
    alike = (machine.accelerator.key, machine.count, machine.scale_up, machine.host_vcpus)
    return (*alike, nodes, topology, *machine.outside(nodes)), machine.cluster(nodes, topology)


def least_state_bytes(job: TrainingJob) -> float:
    """Less than any layout keeps, over all devices together: weights, and for full training gradients and moments,
    where the host does not keep these.
    """
    from sizewell.sizing.predict.architecture import params_total

    per_param = {"qlora": 0.5, "lora": 1.0}.get(job.method, 2.0 if job.cpu_offload else 6.0)
    return params_total(job.architecture) * per_param


def _state_bytes(job: TrainingJob) -> float:
    """What weights, gradients and optimizer state take over all devices together, where a layout keeps the least."""
    from sizewell.sizing.predict.architecture import params_total
    from sizewell.sizing.predict.memory import adapter_params
    from sizewell.sizing.predict.memory.states import recipe

    params, kept = params_total(job.architecture), []
    for layout in (Layout(), Layout(zero_stage=3)):
        per = recipe(job, layout)
        beside = 0.0 if job.cpu_offload else per.optimizer + (0.0 if job.optimizer_in_backward else per.gradients)
        trained = adapter_params(job) if job.method in ("lora", "qlora") else params
        kept.append(per.weights * params + (per.adapters + beside) * trained)
    return min(kept)


def _no_room(job: TrainingJob, machine: Machine, devices: int) -> FleetRefusal:
    usable, state = usable_bytes(machine.device), _state_bytes(job) / devices
    on = f"{devices} x {machine.accelerator.name}"
    if machine.processes > 1:
        on = f"{devices} cores of {machine.accelerator.name}, each a process of its own"
    return FleetRefusal(
        cause="memory",
        reason=f"model state alone needs {state / GIB:,.1f} GiB per device on {on}, {usable / GIB:.1f} GiB usable",
        shortfall=state / usable,
        relax=MORE_MEMORY,
    )


HOST_BUFFERS = 1.5  # DeepSpeed's default of additional_buffer_factor (deepspeed.readthedocs.io, memory requirements)
HOST_SHARE = 0.9  # estimate: of a machine's memory that a run may take; the rest is the system's and the loader's


def no_host_room(job: TrainingJob, machine: Machine, nodes: int) -> FleetRefusal | None:
    """Why the hosts do not hold the optimizer's state that is kept there; None where they do, or keep none."""
    if not job.cpu_offload or job.method in ("lora", "qlora"):
        return None
    needed = host_bytes(job, nodes)
    has = HOST_SHARE * (machine.host_memory_bytes or 0)
    if needed <= has:
        return None
    known = f"{has / GIB:,.0f} GiB usable" if machine.host_memory_bytes else "how much it has is not known"
    return FleetRefusal(
        cause="memory",
        reason=f"offload needs {needed / GIB:,.0f} GiB of host memory on each of {nodes}, {known}",
        shortfall=needed / has if has else math.inf,
        relax="leave training.offload out, or name a machine with more memory in resources.instance_type",
    )


def host_bytes(job: TrainingJob, nodes: int) -> float:
    """What an optimizer on the hosts takes of each: gradients are kept there in fp32 beside master weights and moments,
    16 bytes a parameter with Adam, and half as much again for pinned buffers and copies, as DeepSpeed's own estimates
    have it.
    """
    from sizewell.sizing.predict.architecture import params_total
    from sizewell.sizing.predict.memory.states import recipe

    return HOST_BUFFERS * params_total(job.architecture) * (recipe(job, Layout()).optimizer + 4.0) / nodes


def node_counts(machine: Machine, need: Requirements) -> tuple[tuple[int, str], ...]:
    """Numbers of nodes to look at: powers of two within the spec's range; on TPU the legal slices."""
    most = machine.together_max if need.objective == "cost" else min(NODES_MAX_FOR_TIME, machine.together_max)
    batch, asked = need.training.global_batch if need.training else most, need.nodes_of(machine.count)
    if machine.accelerator.runtime == "tpu":
        legal = [(vms, topology) for vms, chips, topology in machine.slices if vms <= most and chips <= 8 * batch]
        return tuple(sorted((v, t) for v, t in set(legal) if within(asked, v) == v))
    high = min(machine.together_max, asked.high) if asked and asked.high else most
    low = asked.low if asked else 1
    counts = {1 << power for power in range(high.bit_length()) if low <= 1 << power <= high}
    counts |= {n for n in (low, high) if asked and low <= n <= high}
    return tuple((n, "") for n in sorted(counts))


@lru_cache(maxsize=256)
def run_flop(job: TrainingJob) -> float:
    """Model FLOPs of the whole run."""
    from sizewell.sizing.predict.architecture import forward_flop_per_sample, train_flop_per_token

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
    from sizewell.sizing.predict import calibration
    from sizewell.sizing.predict.layouts.space import space
    from sizewell.sizing.predict.performance.training import step_items
    from sizewell.sizing.predict.performance.training_rows import cluster_facts, job_facts, rows

    k = calibration.values("training")
    machines = [
        cluster_facts(Cluster(accelerator=accelerator, per_node=1), job.precision, k) for accelerator in accelerators
    ]
    ideal = [run_flop(job) / facts["rate"] if facts["rate"] else 0.0 for facts in machines]
    layouts = space(job, 1, 1, 1)
    if job.architecture.experts or not len(layouts):
        return {accelerator.key: seconds for accelerator, seconds in zip(accelerators, ideal, strict=True)}
    table = {name: np.array([facts[name] for facts in machines])[:, None] for name in machines[0]}
    table |= {name: values[None, :] for name, values in layouts.columns.items()}
    with np.errstate(divide="ignore", invalid="ignore"):  # a chip without units for attention, or for anything
        items = step_items(rows({**job_facts(job), **table}), k)
    steps = max(1, math.ceil((job.samples or 0.0) / job.global_batch))
    busy = np.broadcast_to(sum(items[name] for name in COMPUTE), (len(machines), len(layouts))).min(axis=1) * steps
    return {
        accelerator.key: max(least, BOUND_SHARE * float(seconds)) if math.isfinite(seconds) else least
        for accelerator, least, seconds in zip(accelerators, ideal, busy, strict=True)
    }


def run_time_s(job: TrainingJob, step_s: float) -> float:
    """Seconds of all the run's steps; checkpoints and failures stretch them (`spot.interruptions`)."""
    return max(1, math.ceil((job.samples or 0.0) / job.global_batch)) * step_s


def _slow(run_s: float, deadline_s: float, devices: int, how: str) -> FleetRefusal:
    taken, allowed = durations_apart(run_s, deadline_s)
    return FleetRefusal(
        cause="too-slow",
        reason=f"{taken} on {plural(devices, 'device')} ({how}), {allowed} allowed",
        shortfall=run_s / deadline_s,
        relax=LATER,
    )
