"""What runs and on which machines, as manifests and scripts read it: from a decision, or from a component's arguments.

A decision says more than a manifest reads (prices, alternatives, how it was chosen), and the arguments of a component
say nothing of that. The record has what both of them know, so that neither has to invent the rest. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from sizewell.sizing.billing.standing import WITH_CLUSTER
from sizewell.sizing.catalog.managed import RAW
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision, Guard, Parallelism, Pool, Replicas, Task, Workload

OTHERS_NOTICE_S: Final = 30  # between the word that a spot machine goes, and its end, where no cloud says more


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingHours:
    """Hours in which it may run."""

    time_zone: str  # IANA name
    windows: tuple[tuple[str, str, str], ...]  # (days "mon-fri", start "07:00", end "21:00")


@dataclass(frozen=True, slots=True, kw_only=True)
class Saves:
    """How often a run saves its state, and how many states a person wants to keep."""

    interval_s: float
    keep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The hours of a capacity block."""

    hours: int
    start: str | None = None  # ISO time; None: not bought yet


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One workload on one pool. None and "" mean that nobody said so, or that it does not apply."""

    # whose it is
    stack: str
    environment: str
    expires_at: date | None = None
    # what it does
    name: str  # of the workload
    kind: str  # training | fine-tuning | inference | batch-inference | notebook
    framework: str = "pytorch"
    scheduler: str = "kubernetes"
    task: Task | None = None
    parallelism: Parallelism | None = None
    replicas: Replicas | None = None
    guard: Guard | None = None
    hours: WorkingHours | None = None
    saves: Saves | None = None
    data: str | None = None  # URI or folder of what it reads
    data_bytes_per_s: float = 0.0  # what it reads, over all machines; 0: not known
    # what was predicted
    run_time_s: float | None = None
    run_time_s_at_most: float | None = None
    figures: Mapping[str, float] = field(default_factory=dict)  # unit last in the name, as in a decision
    cache_bytes: int = 0  # of attention, on the fullest device; 0: not known
    weights_bytes: int = 0  # of a replica, as they are held; 0: not known
    # on which machines
    disk_bytes: int = (
        0  # the boot disk of each, where downloads land; 0: not known, or the machine's own disks take them
    )
    cloud: str
    instance_type: str
    accelerator: str  # catalog key; "" for none
    tpu_topology: str | None = None
    market: str
    capacity_mode: str
    window: Window | None = None
    nodes: int  # of the job
    nodes_max: int  # of the pool

    @classmethod
    def of(cls, decision: Decision, workload: Workload, pool: Pool) -> RunPlan:
        """What a decision says of one of its workloads on one of its pools."""
        performance, storage, block = workload.performance, workload.storage, pool.capacity.block
        ends = performance.metric == "run_time_s"
        schedule, checkpoint = workload.schedule, workload.checkpoint
        return cls(
            stack=decision.stack,
            environment=decision.environment,
            expires_at=decision.expires_at,
            name=workload.spec.name,
            kind=workload.kind,
            framework=workload.framework,
            scheduler=workload.scheduler,
            task=workload.task,
            parallelism=workload.parallelism,
            replicas=workload.replicas,
            guard=workload.guard,
            hours=WorkingHours(time_zone=schedule.time_zone, windows=schedule.windows) if schedule else None,
            saves=Saves(interval_s=checkpoint.interval_s, keep=checkpoint.keep) if checkpoint else None,
            data=storage.location if storage else None,
            data_bytes_per_s=(storage.bytes_per_s or 0.0) if storage else 0.0,
            run_time_s=performance.value if ends else None,
            run_time_s_at_most=performance.high if ends else None,
            figures=performance.figures,
            cache_bytes=workload.memory.breakdown.get("kv cache", 0),
            weights_bytes=_weights_bytes(workload),
            disk_bytes=_disk_bytes(workload, pool),
            cloud=pool.cloud,
            instance_type=pool.instance_type,
            accelerator=pool.accelerator,
            tpu_topology=pool.tpu_topology,
            market=pool.market,
            capacity_mode=pool.capacity.mode,
            window=Window(hours=block.duration_hours, start=block.start) if block else None,
            nodes=nodes_of(pool),
            nodes_max=pool.nodes_max,
        )

    @property
    def spot(self) -> bool:
        """Whether the cloud may take the machines back."""
        return "spot" in (self.market, self.capacity_mode)

    @property
    def grace_s(self) -> int:
        """How long a pod may take to end: what a reclaimed machine leaves, else twice the time to write a checkpoint.

        >>> machines = {"instance_type": "g6e.xlarge", "accelerator": "l40s", "nodes": 1, "nodes_max": 1}
        >>> what = {"stack": "dev-aws", "environment": "dev", "name": "tune", "kind": "fine-tuning", "cloud": "aws"}
        >>> RunPlan(**what, **machines, market="spot", capacity_mode="spot").grace_s
        115
        >>> RunPlan(**what, **machines, market="on-demand", capacity_mode="on-demand").grace_s
        60
        """
        if self.spot:
            cloud = CLOUDS.get(self.cloud)
            return (cloud.capacity.spot_notice_s if cloud else OTHERS_NOTICE_S) - 5
        return int(min(600, max(60, 2 * self.figures.get("checkpoint_write_s", 0.0) + 30)))


def _weights_bytes(workload: Workload) -> int:
    """Weights of a replica over all of its devices: about as many bytes as are downloaded, or fewer."""
    replicas = workload.replicas
    each = workload.memory.breakdown.get("weights", 0)
    return each * replicas.devices_per_replica if replicas and workload.kind in ("inference", "batch-inference") else 0


def _disk_bytes(workload: Workload, pool: Pool) -> int:
    """The disk that downloads land on, where its size limits them."""
    from sizewell.sizing.catalog import load

    shape = load().shape(pool.cloud, pool.instance_type)
    if pool.cloud not in CLOUDS or pool.managed == "cloud-run" or shape is None:
        return 0
    pods = pool.managed == RAW and workload.scheduler in WITH_CLUSTER
    if pods and CLOUDS[pool.cloud].machines.pods_on_local_disks and shape.local_nvme_bytes:
        return 0
    return pool.disk_bytes_per_node


def nodes_of(pool: Pool) -> int:
    """Machines of a job: those that the decision starts with, all of them where a queue starts with none."""
    return max(1, pool.nodes_initial or pool.nodes_max)
