"""Where it runs: one machine of the pool as a pod sees it, and the pool as the cluster's scheduler sees it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from sizewell.sizing import catalog
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.errors import DecisionError
from sizewell.sizing.records.decision import Pool, Workload

CLUSTERS: Final = ("eks", "gke", "aks", "other")
RESOURCES: Final = {
    "cuda": "nvidia.com/gpu",
    "rocm": "amd.com/gpu",
    "tpu": "google.com/tpu",
    "neuron": "aws.amazon.com/neuron",
}
POOL_TAINT: Final = "sizewell/pool"  # of pools without accelerators: no other pod keeps their machines up
EFA_HUGE_PAGES_MIB: Final = 5120  # of 2 MiB pages; the machines set a little more aside at first boot


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What one machine of a pool offers to pods."""

    cloud: str
    runtime: str  # cuda | rocm | tpu | neuron | cpu
    processes_per_device: int  # logical cores that each run a process
    accelerator: str  # catalog key; "" for none
    devices: int  # 1 where there is none: the processor
    cpus: int  # 0: not known
    memory_bytes: int  # 0: not known
    fabric: str  # efa | infiniband | gpudirect-... | ici | ""
    cards: int  # RDMA interfaces
    fabric_bytes_per_s: float  # of the whole machine, one direction; 0: plain network
    network_bytes_per_s: float  # of the whole machine; 0: not known
    link_bytes_per_s: float  # between the devices of a machine, one direction; 0: not known
    fast: int  # devices that the fast link joins; 1: PCIe only
    bf16: bool
    family: str = ""  # of the accelerator
    virtual: bool = False  # its GPU, or a part of one, comes from a hypervisor, with a driver of its own
    tpu_label: str = ""  # GKE's name of the TPU
    topology: str = ""
    hosts: int = 1  # machines of one slice

    @property
    def resource(self) -> str:
        """What pods ask for of it; "" where they ask for processors and memory alone."""
        return "" if self.runtime == RUNTIME else RESOURCES[self.runtime]

    @property
    def taint(self) -> str:
        """Key of the taint by which only pods that name its pool come onto it."""
        return self.resource or POOL_TAINT


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """How a claim on this cluster gets a disk: a class that the cluster has, or the driver of one to be made.

    Neither: the cluster's own default class.
    """

    storage_class: str = ""
    driver: str = ""  # CSI driver that the cluster has
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A pool as a cluster of some kind sees it: how pods find its machines, what they run as, where state goes."""

    cluster: str  # eks | gke | aks | other
    pool: str
    account: str  # Kubernetes service account, which the cloud lets write checkpoints and nothing else
    account_annotations: Mapping[str, str] = field(default_factory=dict)
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[tuple[str, str], ...] = ()  # (key, effect) that the pool's machines carry
    queue: str = ""  # Kueue's local queue; "": none
    placed: bool = False  # by the queue: its flavors say which machines, selector and taints do not
    room: tuple[int, int] = (0, 0)  # CPUs and GiB of the smallest machine it may be placed on; 0: of the pool's own
    levels: tuple[str, ...] = ()  # topology labels of the queue, widest first
    store: str = ""  # URI of the checkpoints; "": none
    rdma: tuple[str, int] = ("", 0)  # resource and count of RDMA interfaces, where a device plugin offers them
    fabric: str = ""  # gpudirect-...: the cluster has its networks, installers and daemons; "": a plain interface
    disks: Disks = field(default_factory=Disks)

    def tolerations(self) -> list[dict[str, str]]:
        return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in self.taints]


class MachineType(Protocol):
    """What the catalog knows a machine by: a pool of a decision has it, and a plan."""

    @property
    def cloud(self) -> str: ...
    @property
    def instance_type(self) -> str: ...
    @property
    def accelerator(self) -> str: ...
    @property
    def tpu_topology(self) -> str | None: ...


# EKS has no class of its own that makes disks; GKE's do not know the Hyperdisks that newer machines take alone.
EBS: Final = Disks(driver="ebs.csi.aws.com", parameters={"type": "gp3", "encrypted": "true"})
GOOGLE_DISKS: Final = "pd.csi.storage.gke.io"


def machine_of(pool: MachineType) -> Machine:
    """The machine of a pool by the catalog. DecisionError where the catalog does not know it."""
    known = catalog.load()
    try:
        shape = known.shape(pool.cloud, pool.instance_type)
        chip = known.accelerator(pool.accelerator) if pool.accelerator else known.device(shape)
    except KeyError as error:
        raise DecisionError(f"{pool.instance_type}: {error.args[0]}\n  fix: decide the stack again") from None
    piece = next(
        (
            piece
            for piece in known.slices
            if (piece.machine_type, piece.topology) == (pool.instance_type, pool.tpu_topology or "")
        ),
        None,
    )
    if chip is None:
        raise DecisionError(
            f"{pool.instance_type}: has no accelerator, and its processor is not in the catalog\n"
            "  fix: add a row to catalog/processors.csv, or decide the stack again"
        )
    if chip.runtime not in (*RESOURCES, RUNTIME):
        raise DecisionError(
            f"{pool.instance_type}: {chip.name} is a device without a supported Kubernetes device plugin\n"
            "  fix: name accelerators in the spec's resources"
        )
    return Machine(
        cloud=pool.cloud,
        runtime=chip.runtime,
        processes_per_device=chip.processes_per_device,
        accelerator=chip.key if pool.accelerator else "",
        devices=piece.chips_per_vm if piece else shape.accelerators or 1,
        cpus=shape.vcpus or 0,
        memory_bytes=shape.memory_bytes or 0,
        fabric=shape.fabric,
        cards=shape.rdma_interfaces,
        fabric_bytes_per_s=shape.fabric_bytes_per_s or 0.0,
        network_bytes_per_s=shape.network_bytes_per_s or 0.0,
        link_bytes_per_s=(chip.link_bytes_per_s or 0.0) / 2,  # the catalog's figure counts both directions
        fast=shape.scale_up,
        bf16="bf16" in chip.flop_per_s or chip.runtime == RUNTIME,  # engines compute it in fp32 where units lack it
        family=chip.family,
        virtual="virtual-gpu" in shape.traits,
        tpu_label=piece.gke_label if piece else "",
        topology=piece.topology if piece else "",
        hosts=piece.vms if piece else 1,
    )


def beside(target: Target) -> dict[str, str]:
    """What a pod on a whole machine asks for beside accelerators, CPUs and memory: a queue needs a quota of each.

    >>> from types import SimpleNamespace
    >>> beside(SimpleNamespace(rdma=("vpc.amazonaws.com/efa", 32)))
    {'hugepages-2Mi': '5120Mi', 'vpc.amazonaws.com/efa': '32'}
    """
    resource, count = target.rdma
    pages = {"hugepages-2Mi": f"{EFA_HUGE_PAGES_MIB}Mi"} if resource.endswith("/efa") else {}
    return {**pages, resource: str(count)} if resource else {}


def eks_target(
    workload: Workload, pool: Pool, *, name: str, queue: str = "", levels: Sequence[str] = (), store: str = ""
) -> Target:
    """Our EKS node groups: labels, taints and the account as `components.aws` makes them; pod identity writes."""
    machine = machine_of(pool)
    gang = workload.parallelism is not None and pool.nodes_max > 1
    efa = gang and machine.fabric == "efa" and machine.cards > 0
    return Target(
        cluster="eks",
        pool=name,
        account=name,
        selector={"sizewell/pool": name},
        taints=((machine.taint, "NoSchedule"),),
        queue=queue,
        levels=tuple(levels),
        store=store,
        rdma=("vpc.amazonaws.com/efa", machine.cards) if efa else ("", 0),
        disks=EBS,
    )


def gke_target(
    pool: Pool,
    *,
    name: str,
    label: str,
    writer: str = "",
    queue: str = "",
    levels: Sequence[str] = (),
    store: str = "",
    fabric: str = "",
    disk: str = "",
) -> Target:
    """Our GKE node pools; `label` is the pools' sizewell-workload, `writer` the e-mail that may write checkpoints.

    `fabric` is the GPUDirect protocol that the pool's machines and the cluster are made for, `levels` are the topology
    labels that the queue packs by, `disk` is the type of disk that the machines take.
    """
    machine = machine_of(pool)
    selector = {"sizewell-workload": label}
    if machine.tpu_label:
        selector |= {"cloud.google.com/gke-tpu-accelerator": machine.tpu_label}
        selector |= {"cloud.google.com/gke-tpu-topology": machine.topology}
    taints = [(machine.taint, "NoSchedule")]
    if pool.capacity.mode == "queued":
        taints.append(("cloud.google.com/gke-queued", "NoSchedule"))
    if pool.capacity.mode == "flex-start":
        taints.append(("cloud.google.com/gke-flex-start", "NoSchedule"))
    return Target(
        cluster="gke",
        pool=name,
        account=label,
        account_annotations={"iam.gke.io/gcp-service-account": writer} if writer else {},
        selector=selector,
        taints=tuple(taints),
        queue=queue,
        levels=tuple(levels),
        store=store,
        fabric=fabric,
        disks=Disks(driver=GOOGLE_DISKS, parameters={"type": disk or "pd-balanced"}),
    )


def aks_target(
    workload: Workload, pool: Pool, *, name: str, client: str = "", queue: str = "", store: str = ""
) -> Target:
    """AKS pools; `client` is the client id of the identity that may write checkpoints."""
    machine = machine_of(pool)
    gang = workload.parallelism is not None and pool.nodes_max > 1
    taints = [("sku", "NoSchedule")] if machine.resource else []
    taints.append((machine.taint, "NoSchedule"))
    if pool.capacity.mode == "spot":
        taints.append(("kubernetes.azure.com/scalesetpriority", "NoSchedule"))
    rdma = gang and machine.fabric == "infiniband" and machine.cards > 0
    return Target(
        cluster="aks",
        pool=name,
        account=name,
        account_annotations={"azure.workload.identity/client-id": client} if client else {},
        pod_labels={"azure.workload.identity/use": "true"} if client else {},
        selector={"sizewell/pool": name},
        taints=tuple(taints),
        queue=queue,
        store=store,
        rdma=("rdma/ib", machine.cards) if rdma else ("", 0),
        disks=Disks(storage_class="managed-csi-premium"),  # of every AKS cluster with its disk driver
    )


def other_target(
    pool: Pool,
    *,
    name: str,
    selector: Mapping[str, str],
    taints: Mapping[str, str] | None = None,
    account: str = "",
    annotations: Mapping[str, str] | None = None,
    rdma: str = "",
    queue: str = "",
    placed: bool = False,
    store: str = "",
) -> Target:
    """A cluster that somebody else made (CoreWeave, on premises): its own labels, taints and RDMA resource."""
    machine = machine_of(pool)
    own = {machine.resource: "NoSchedule"} if machine.resource else {}
    all_taints = {**own, **(taints or {})}
    return Target(
        cluster="other",
        pool=name,
        account=account or name,
        account_annotations=dict(annotations or {}),
        selector=dict(selector),
        taints=tuple(all_taints.items()),
        queue=queue,
        placed=placed,
        store=store,
        rdma=(rdma, 1 if rdma.endswith("/ib") else machine.cards) if rdma else ("", 0),
    )
