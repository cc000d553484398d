"""A machine as far as it decides memory and speed, and a fleet of equal ones: the records of the search for fleets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from sizewell.sizing.catalog import buildable
from sizewell.sizing.catalog.records import Accelerator
from sizewell.sizing.records.jobs import Cluster, Layout, MemoryEstimate, ServingEstimate, TrainingEstimate
from sizewell.sizing.units import Range

LATER = "allow a later deadline or more nodes"  # `more_room` says which, and how many
SET_BATCH: Final = "set training.global_batch:"  # advice that names one
FAR: Final = 10.0  # times the machines allowed, from which on no other service level brings a load into reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What of a machine type decides memory and speed."""

    accelerator: Accelerator
    count: int
    scale_up: int
    fabric: str = ""
    network_bytes_per_s: float | None = None  # per accelerator
    slices: tuple[tuple[int, int, str], ...] = ()  # legal TPU slices: (VMs, chips, topology)
    host_vcpus: float | None = None  # of one machine, where the work has images to decode
    host_memory_bytes: int | None = None  # of one machine, where the host keeps state of the work
    processes: int = 1  # that share an accelerator's memory and units: a training process has one of Neuron's cores
    together_max: int = buildable.NODES_MAX  # most of them that one job runs on

    @property
    def ranks(self) -> int:
        """Processes of one machine, between which a layout divides a run."""
        return self.count * self.processes

    @property
    def device(self) -> Accelerator:
        """What one process has of an accelerator.

        >>> from sizewell.sizing.catalog import load
        >>> chip = load().accelerator("trainium1")
        >>> Machine(accelerator=chip, count=16, scale_up=16, processes=2).device.memory_bytes // 2**30
        16
        """
        whole, n = self.accelerator, self.processes
        if n == 1:
            return whole
        return replace(
            whole,
            memory_bytes=whole.memory_bytes // n,
            memory_bytes_per_s=whole.memory_bytes_per_s / n,
            flop_per_s={precision: rate / n for precision, rate in whole.flop_per_s.items()},
            link_bytes_per_s=whole.link_bytes_per_s / n if whole.link_bytes_per_s else None,
            scale_up_max=whole.scale_up_max * n,
            tdp_w=whole.tdp_w / n if whole.tdp_w else None,
        )

    @property
    def key(self) -> tuple[object, ...]:
        network = (self.fabric, self.network_bytes_per_s)
        return (
            self.accelerator.key,
            self.count,
            self.scale_up,
            *network,
            self.slices,
            self.host_vcpus,
            self.host_memory_bytes,
            self.together_max,
            self.processes,
        )

    def outside(self, nodes: int) -> tuple[object, ...]:
        """What of the network matters to so many nodes: nothing to one alone."""
        return () if nodes == 1 else (self.fabric, self.network_bytes_per_s)

    def cluster(self, nodes: int, topology: str = "") -> Cluster:
        """`nodes` of this machine; on TPU the whole slice is one fast domain."""
        whole = self.scale_up
        if self.accelerator.runtime == "tpu":
            whole = self.count * nodes if topology else self.count
        elif self.accelerator.scale_up_max > self.count > 1 and self.scale_up > self.count:
            whole = min(self.accelerator.scale_up_max, self.count * nodes)
        device, n = self.device, self.processes
        return Cluster(
            accelerator=device,
            per_node=self.ranks,
            nodes=nodes,
            scale_up=max(1, whole) * n,
            link_bytes_per_s=device.link_bytes_per_s,
            network_bytes_per_s=self.network_bytes_per_s / n if self.network_bytes_per_s else None,
            fabric=self.fabric,
            topology=topology,
            host_vcpus=self.host_vcpus,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """So many equal nodes, and what they do."""

    nodes: int
    memory: MemoryEstimate
    usable_bytes: int
    topology: str = ""
    layout: Layout | None = None
    training: TrainingEstimate | None = None
    serving: ServingEstimate | None = None  # one replica at its share of the load
    replicas: int = 0
    devices_per_replica: int = 1
    replica_rate: float = 0.0  # the most that one replica takes within its service level, or offline
    run_s: float | None = None  # wall time of one run on these nodes, without interruptions
    by_hour: tuple[int, ...] = ()  # nodes of each hour of the week, where the load of each is known
    warm: int = 0  # nodes that are up in every hour, as load grows faster than one starts
    in_flight_target: float | None = None  # requests on each replica, above which the autoscaler adds one; None: usual
    own_program: bool = False  # the entry scripts run such work, but have no layout of it that fits these nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRefusal:
    """Why no fleet of this machine does; `cause` is a value of `sizing.choose.candidates.Cause`."""

    cause: str
    reason: str
    shortfall: float = math.inf
    relax: str = ""


@dataclass(frozen=True, slots=True)
class Replicas:
    """As many equal replicas as take the load; 0 of them where none meets the service level at any load."""

    count: int
    rate: float  # the most that one takes


def within(limits: Range | None, nodes: int) -> int | None:
    """`nodes`, raised to the lower limit; None where it is above the upper one."""
    if limits is None:
        return nodes
    if limits.high is not None and nodes > limits.high:
        return None
    return max(nodes, limits.low)
