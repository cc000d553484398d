"""Arguments of the AKS components, and how a decision becomes them. Pure."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, NotRequired, TypedDict

import pulumi

from sizewell.components.azure.args import GroupArgs, MachineGroupArgs, pool_args, zones_of
from sizewell.components.bounds import Between, Pattern
from sizewell.components.facts import is_gang, owned_args
from sizewell.components.forms import SYSTEM_NODES, InsideArgs, PlaceArgs, PodsArgs, VolumeArgs
from sizewell.components.kubernetes_versions import SUPPORT, default_version
from sizewell.components.machines import find_shape
from sizewell.components.settings import Settings
from sizewell.sizing.catalog.lifetimes import load, minor
from sizewell.sizing.records.decision import Decision, Pool, Workload

SYSTEM_SIZE = "Standard_D4s_v5"


class SecretsKeyArgs(TypedDict):
    """A customer-managed key for Kubernetes secrets."""

    key_url: pulumi.Input[str]
    """URL of the key, with its version."""
    vault_id: pulumi.Input[str]
    """Id of the vault."""


class DaysArgs(TypedDict):
    """Days in a row, as 2026-11-26."""

    start: str
    """First day."""
    end: str
    """Last day."""


class MetricsArgs(TypedDict):
    """Where the cluster's metrics are."""

    workspace_id: pulumi.Input[str]
    """Id of the Azure Monitor workspace."""
    query_url: pulumi.Input[str]
    """Query endpoint."""


class AksClusterArgs(PlaceArgs, GroupArgs):
    """A private AKS cluster with its system pool."""

    zones: list[str]
    """Availability zones (1, 2, 3) of the system pool; empty: regional."""
    subnet_id: pulumi.Input[str]
    """Private subnet of the machines, behind a NAT gateway."""
    api_subnet_id: NotRequired[pulumi.Input[str]]
    """Subnet that is delegated to the API server; without one it is reached through Private Link."""
    authorized_ranges: NotRequired[list[str]]
    """IPv4 ranges that may reach the API over the internet, with api_subnet_id; it is private unless some are given."""
    admin_groups: NotRequired[list[str]]
    """Object ids of the Entra groups that administer the cluster; default whoever builds it."""
    version: NotRequired[str]
    """Kubernetes version, a change of which upgrades the cluster. Without one the cluster is built with 1.36 and keeps
    what Azure upgrades it to."""
    support: NotRequired[Annotated[str, SUPPORT]]
    """extended: the plan for long-term support, twelve months more of a version, in the Premium tier at six times the
    fee from the first day; default standard."""
    system_size: NotRequired[str]
    """Size of the system pool's machines, without accelerators; default Standard_D4s_v5."""
    system_nodes: NotRequired[Annotated[int, SYSTEM_NODES]]
    """Machines of the system pool; default 2. On demand: so that schedulers are not reclaimed."""
    disk_encryption_set_id: NotRequired[pulumi.Input[str]]
    """Disk encryption set with a customer-managed key, for all disks of the cluster."""
    secrets_key: NotRequired[SecretsKeyArgs]
    """Customer-managed key for Kubernetes secrets; needs api_subnet_id."""
    registries: NotRequired[list[str]]
    """Ids of the container registries that the machines pull images from."""
    reservations: NotRequired[list[str]]
    """Ids of the capacity reservation groups that pools take machines from; the control plane gets access to them."""
    maintenance_day: NotRequired[str]
    """Day of Azure's maintenance window; default Sunday."""
    maintenance_start: NotRequired[Annotated[str, Pattern(r"([01]\d|2[0-3]):[0-5]\d", "a time as 02:00")]]
    """Start of the window, time of day in UTC; default 02:00, for six hours."""
    upgrades_held: NotRequired[DaysArgs]
    """Days on which Azure upgrades neither version nor machine images: each upgrade restarts machine after machine, and
    a job that runs on several of them each time."""
    defender: NotRequired[bool]
    """Microsoft Defender for Containers; default off, since it is billed for every core, even idle ones."""
    log_days: NotRequired[Annotated[int, Between(30, 730, fix="an investigation needs at least a month")]]
    """Control-plane logs are kept this long; default 90."""


class AksGpuPoolArgs(MachineGroupArgs, GroupArgs, PodsArgs):
    """Equal GPU machines that an AKS cluster manages."""

    cluster: pulumi.Input[str]
    """Name of the cluster."""
    subnet_id: pulumi.Input[str]
    """Private subnet of the machines."""
    private_dns_zone_ids: NotRequired[pulumi.Input[dict[str, str]]]
    """Private DNS zones by service; blob is for the private endpoint to the checkpoints."""
    eviction: NotRequired[str]
    """What happens to an evicted spot machine; must be Delete."""
    max_price: NotRequired[float]
    """Limit of the price of a spot machine; must be -1, the on-demand price: a lower limit evicts machines."""
    driver: NotRequired[str]
    """Who installs the GPU driver: aks, or operator (the GPU operator), which AMD GPUs and machines of one job need."""
    oidc_issuer_url: NotRequired[pulumi.Input[str]]
    """Issuer of the cluster's tokens, for the writer."""
    metrics: NotRequired[MetricsArgs]
    """Where the cluster's metrics are, for the guard."""
    notify: NotRequired[list[str]]
    """E-mail addresses notified of idleness."""


class AksOperatorsArgs(InsideArgs):
    """What lets pods ask for GPUs and InfiniBand, and mount file systems: pinned Helm charts."""

    runtimes: list[str]
    """Kinds of GPU in the cluster: cuda, rocm; empty where pods of machines without GPUs mount Lustre."""
    driver: NotRequired[str]
    """Who installs the driver on the pools: operator by default, or aks."""
    infiniband: NotRequired[bool]
    """Whether machines have InfiniBand: the network operator then loads its driver."""
    lustre: NotRequired[bool]
    """Whether pods mount Azure Managed Lustre: its driver then loads the client on their machines."""
    registry: NotRequired[str]
    """Mirror of nvcr.io for a network without internet access, as myregistry.azurecr.io/nvcr."""
    amd_driver_image: NotRequired[str]
    """Repository of AMD's driver, as myregistry.azurecr.io/amdgpu-driver; for rocm. The operator looks for the tag
    `ubuntu-24.04-<kernel>-30.20.1`, and builds what it does not find."""
    version: NotRequired[pulumi.Input[str]]
    """The cluster's Kubernetes version, which the release of Ubuntu of its machines follows (22.04 up to 1.34, 24.04
    from 1.35 on): the output of an AksCluster; 1.36 by default."""


class LustreVolumeArgs(VolumeArgs):
    """A file system of Azure Managed Lustre for pods of one namespace."""

    address: pulumi.Input[str]
    """Its address, an output of SharedStorage."""


def aks_cluster_args(decision: Decision, region: str, pools: Sequence[Pool], settings: Settings) -> dict[str, object]:
    """Arguments of the one cluster of a region, all but the network's ids."""
    zones = [zone for pool in pools for zone in zones_of(pool, preferred=settings.zones)]
    groups = [pool.capacity.reservation for pool in pools if pool.capacity.reservation]
    reserved = {"reservations": list(dict.fromkeys(groups))} if groups else {}
    named = settings.access if settings.access is not None and settings.access.mode == "public" else None
    open_to = {"authorized_ranges": list(named.ranges)} if named else {}
    pulled = {"registries": list(settings.registries)} if settings.registries else {}
    return {
        **owned_args(decision),
        "region": region,
        "zones": list(dict.fromkeys(zones)),
        **reserved,
        **open_to,
        **pulled,
        **settings.kubernetes_args(),
        **_upgrades_held(decision, pools, settings),
    }


def _upgrades_held(decision: Decision, pools: Sequence[Pool], settings: Settings) -> dict[str, object]:
    """Where machines work on one job together, none is restarted until the stack or the support of its version ends."""
    gangs = any(is_gang(workload, pool) for workload in decision.workloads for pool in workload.pools if pool in pools)
    version = minor(settings.kubernetes_version) if settings.kubernetes_version else default_version("aks").version
    row = load().versions("aks").get(version)
    until = row.until(settings.kubernetes_support) if row is not None else ""
    supported = [until] if until else []
    ends = sorted([*supported, *([decision.expires_at.isoformat()] if decision.expires_at else [])])
    if not gangs or not ends or ends[0] <= decision.decided_on.isoformat():
        return {}
    if load().passed(date.fromisoformat(ends[0])):
        return {}
    return {"upgrades_held": {"start": decision.decided_on.isoformat(), "end": ends[0]}}


def aks_pool_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, object]:
    """Arguments of one pool, all but the network's and the cluster's ids; as those of a scale set."""
    space = settings.namespace(workload.spec.name)
    args = pool_args(decision, workload, pool, settings)
    return {**args} if space == "default" else {**args, "namespace": space}


def operators_args(decision: Decision, pools: Sequence[tuple[Workload, Pool]]) -> dict[str, Any]:
    """Which operators the pools need."""
    from sizewell.components.azure.aks.node_config import driver_of, runtime_of

    shapes = [
        (shape, is_gang(workload, pool))
        for workload, pool in pools
        if (shape := find_shape("azure", pool.instance_type)) is not None
    ]
    runtimes = sorted({runtime_of(shape) for shape, _ in shapes} - {""})
    infiniband = any(gang and shape.fabric == "infiniband" for shape, gang in shapes)
    owners = {driver_of(shape, gang=gang) for shape, gang in shapes if shape.accelerators}
    driver = {"driver": "aks"} if owners == {"aks"} else {}  # where some want the operator's, labels say which do not
    files = any(workload.storage is not None and workload.storage.kind == "managed-lustre" for workload, _ in pools)
    lustre = {"lustre": True} if files else {}
    return {**owned_args(decision), "runtimes": runtimes, "infiniband": infiniband, **driver, **lustre}
