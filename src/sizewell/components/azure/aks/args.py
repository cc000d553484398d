"""Arguments of the AKS components, and how a decision becomes them. Pure."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from sizewell.components.azure.args import WriterArgs, pool_args, zones_of
from sizewell.components.facts import owned_args
from sizewell.components.machines import find_shape
from sizewell.components.owned import GuardArgs, OwnedArgs, ScheduleArgs
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Pool, Workload

KUBERNETES = "1.34"
SYSTEM_SIZE = "Standard_D4s_v5"


class SecretsKeyArgs(TypedDict):
    """A key of one's own for Kubernetes secrets."""

    key_url: pulumi.Input[str]
    """URL of the key, with its version."""
    vault_id: pulumi.Input[str]
    """Id of the vault."""


class MetricsArgs(TypedDict):
    """Where the cluster's metrics are."""

    workspace_id: pulumi.Input[str]
    """Id of the Azure Monitor workspace."""
    query_url: pulumi.Input[str]
    """Where it answers queries."""


class AksClusterArgs(OwnedArgs):
    """A private AKS cluster with its system pool."""

    region: str
    """Azure region."""
    zones: list[str]
    """Availability zones (1, 2, 3) of the system pool; empty: regional."""
    resource_group: pulumi.Input[str]
    """Name of the resource group."""
    subnet_id: pulumi.Input[str]
    """Private subnet of the machines, behind a NAT gateway."""
    api_subnet_id: NotRequired[pulumi.Input[str]]
    """Subnet that is delegated to the API server; without one it is reached through a private link."""
    authorized_ranges: NotRequired[list[str]]
    """IPv4 ranges that may reach the API over the internet; the API is private unless some are named."""
    admin_groups: NotRequired[list[str]]
    """Object ids of the Entra groups that administer the cluster; whoever builds it, unless told."""
    version: NotRequired[str]
    """Kubernetes version; 1.34 unless told."""
    system_size: NotRequired[str]
    """Size of the system pool's machines, without accelerators; Standard_D4s_v5 unless told."""
    system_nodes: NotRequired[int]
    """Machines of the system pool; 2 unless told. On demand: what schedules the work is not reclaimed."""
    disk_encryption_set_id: NotRequired[pulumi.Input[str]]
    """Disk encryption set with a key of one's own, for all disks of the cluster."""
    secrets_key: NotRequired[SecretsKeyArgs]
    """Key of one's own for Kubernetes secrets; wants api_subnet_id."""
    registries: NotRequired[list[str]]
    """Ids of the container registries that the machines pull images from."""
    reservations: NotRequired[list[str]]
    """Ids of the capacity reservation groups that pools take machines from: the control plane may then."""
    maintenance_day: NotRequired[str]
    """Day on which Azure may change the cluster; Sunday unless told."""
    maintenance_start: NotRequired[str]
    """Time of day in UTC at which it may start; 02:00 unless told, for six hours."""
    defender: NotRequired[bool]
    """Microsoft Defender for Containers; off unless told, since it bills for every core, idle ones too."""
    log_days: NotRequired[int]
    """Control-plane logs are kept this long; 90 unless told."""


class AksGpuPoolArgs(OwnedArgs):
    """Equal GPU machines that an AKS cluster manages."""

    region: str
    """Azure region."""
    zones: list[str]
    """Availability zones (1, 2, 3); empty: regional. Machines of one job stand in one zone at most."""
    resource_group: pulumi.Input[str]
    """Name of the resource group."""
    cluster: pulumi.Input[str]
    """Name of the cluster."""
    subnet_id: pulumi.Input[str]
    """Private subnet of the machines."""
    private_dns_zone_ids: NotRequired[pulumi.Input[dict[str, str]]]
    """Private DNS zones by service; blob is for the private endpoint to the checkpoints."""
    vm_size: str
    """Size that the catalog knows, as Standard_ND96isr_H100_v5."""
    nodes_min: int
    """Fewest machines."""
    nodes_initial: int
    """Machines at creation; afterwards the cluster's autoscaler, schedule and guard own the number."""
    nodes_max: int
    """Most machines."""
    capacity_mode: str
    """on-demand, spot or reservation."""
    reservation: NotRequired[str]
    """Id of the capacity reservation group, for mode reservation."""
    eviction: NotRequired[str]
    """What happens to an evicted spot machine; Delete, which is the only right answer."""
    max_price: NotRequired[float]
    """Most US dollars an hour for a spot machine; -1, the on-demand price, unless told."""
    gang: NotRequired[bool]
    """Whether all machines work on one job: one pool, one zone, one InfiniBand partition."""
    driver: NotRequired[str]
    """Who owns the GPU driver: aks, or operator (the GPU operator), which AMD's GPUs and machines of one job have."""
    disk_gib: int
    """OS disk of each machine; ephemeral where the machine's own disk holds it."""
    writer: NotRequired[WriterArgs]
    """Checkpoint store of the workload; pods of the service account may write to it."""
    oidc_issuer_url: NotRequired[pulumi.Input[str]]
    """Issuer of the cluster's tokens, for the writer."""
    namespace: NotRequired[str]
    """Kubernetes namespace of the workload; default unless told."""
    service_account: NotRequired[str]
    """Kubernetes service account of the workload; the name of the component unless told."""
    guard: NotRequired[GuardArgs]
    """Idle guard; it reads what the exporter of the GPUs' operator says about the pool's machines."""
    metrics: NotRequired[MetricsArgs]
    """Where the cluster's metrics are, for the guard."""
    notify: NotRequired[list[str]]
    """E-mail addresses that hear of idleness."""
    schedule: NotRequired[ScheduleArgs]
    """Working hours."""


class AksOperatorsArgs(OwnedArgs):
    """What lets pods ask for GPUs and InfiniBand: pinned Helm charts."""

    kubeconfig: pulumi.Input[str]
    """How to reach the cluster; the output of the cluster."""
    runtimes: list[str]
    """Kinds of GPU in the cluster: cuda, rocm."""
    driver: NotRequired[str]
    """Who owns the driver on the pools: operator unless told, or aks."""
    infiniband: NotRequired[bool]
    """Whether machines have InfiniBand: the network operator then loads its driver."""
    registry: NotRequired[str]
    """Mirror of nvcr.io for a network without a way out, as myregistry.azurecr.io/nvcr."""
    amd_driver_image: NotRequired[str]
    """Repository into which AMD's operator builds its driver, as myregistry.azurecr.io/amdgpu-driver; for rocm."""


def aks_cluster_args(decision: Decision, region: str, pools: Sequence[Pool], settings: Settings) -> dict[str, Any]:
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
    }


def aks_pool_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
    """Arguments of one pool, all but the network's and the cluster's ids; as those of a scale set."""
    space = settings.namespace(workload.spec.name)
    args = pool_args(decision, workload, pool, settings)
    return args if space == "default" else {**args, "namespace": space}


def operators_args(decision: Decision, pools: Sequence[tuple[Workload, Pool]]) -> dict[str, Any]:
    """Which operators the pools need."""
    from sizewell.components.azure.aks.plans import driver_of, runtime_of
    from sizewell.components.azure.args import is_gang

    shapes = [
        (shape, is_gang(workload, pool))
        for workload, pool in pools
        if (shape := find_shape("azure", pool.instance_type)) is not None
    ]
    runtimes = sorted({runtime_of(shape) for shape, _ in shapes} - {""})
    infiniband = any(gang and shape.fabric == "infiniband" for shape, gang in shapes)
    owners = {driver_of(shape, gang=gang) for shape, gang in shapes}
    driver = {"driver": "aks"} if owners == {"aks"} else {}  # where some want the operator's, labels say which do not
    return {**owned_args(decision), "runtimes": runtimes, "infiniband": infiniband, **driver}
