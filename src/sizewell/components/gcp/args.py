"""Arguments of the Google Cloud components, and how a decision becomes them. Pure: no Pulumi resources, no cloud.

Counts, types and zones are plain values, never Outputs: a policy has to know them at preview.
"""

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

import pulumi

from sizewell.components.bounds import Between, OneOf, Pattern
from sizewell.components.facts import is_gang, lasting_args, machines_args, owned_args, schedule_args, store_facts
from sizewell.components.forms import InsideArgs, PlaceArgs, PoolArgs
from sizewell.components.owned import assemble
from sizewell.components.settings import Settings
from sizewell.components.tags import physical_name, store_name
from sizewell.sizing.records.decision import Decision, Pool, Workload

NODES_CIDR = "10.80.0.0/16"
# Networks beside the cluster's own that a fabric needs: plain ones, and subnetworks of one RDMA network.
FABRIC_NETWORKS = {"gpudirect-tcpx": (4, 0), "gpudirect-tcpxo": (8, 0), "gpudirect-rdma": (1, 8)}
ACCOUNT = Pattern(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", "6 to 30 of a-z, 0-9 and -, a letter first and no hyphen last")
SOFT_DELETE = Between(7, 90, words="7 to 90", because="less than a week is too short to notice")
BUCKET = Pattern(r"(?!goog)[a-z0-9][a-z0-9_-]{1,61}[a-z0-9]", "3 to 63 of a-z, 0-9, - and _, not starting with goog")


class ProjectArgs(TypedDict):
    """The project that something stands in."""

    project: pulumi.Input[str]
    """Project id."""


class NetworkArgs(PlaceArgs):
    """A private network; with GPUDirect machines also the networks of their accelerator interfaces."""

    cidr: NotRequired[str]
    """IPv4 range of the nodes; 10.80.0.0/16 by default."""
    pods_cidr: NotRequired[str]
    """IPv4 range of the pods; 10.96.0.0/12 by default."""
    services_cidr: NotRequired[str]
    """IPv4 range of the services; 10.112.0.0/20 by default."""
    fabric: NotRequired[Annotated[str, OneOf(tuple(FABRIC_NETWORKS))]]
    """gpudirect-tcpx, gpudirect-tcpxo or gpudirect-rdma, for machines that work on one job."""
    fabric_zone: NotRequired[str]
    """Zone of the RDMA network, for gpudirect-rdma."""


class GkeClusterArgs(PlaceArgs, ProjectArgs):
    """A private GKE cluster with a system pool; accelerator pools are components of their own."""

    zones: list[str]
    """Zones of its nodes."""
    network: pulumi.Input[str]
    """Network (id or self link)."""
    subnetwork: pulumi.Input[str]
    """Subnetwork (id or self link)."""
    pods_range: str
    """Name of the secondary range of the pods; in a Network, pods."""
    services_range: str
    """Name of the secondary range of the services; in a Network, services."""
    multi_networking: NotRequired[bool]
    """Whether pods may have several interfaces (GPUDirect)."""
    kms_key_name: NotRequired[pulumi.Input[str]]
    """Key for secrets in etcd and for boot disks; default the cluster makes its own."""
    authorized_cidrs: NotRequired[list[str]]
    """Ranges that may reach the control plane's private address too; its DNS name needs none."""
    system_machine_type: NotRequired[str]
    """Machine type of the system pool; default e2-standard-4."""
    deletion_protection: NotRequired[bool]
    """The cloud's own protection; default on in prod, which takes a reviewed step to remove."""
    maintenance_from: NotRequired[str]
    """ISO date from which minor and node upgrades wait until the version's end of support."""


class GpuDirectArgs(InsideArgs):
    """What GPUDirect takes inside a GKE cluster that has multi-networking."""

    fabric: Annotated[str, OneOf(tuple(FABRIC_NETWORKS))]
    """gpudirect-tcpx (A3 High), gpudirect-tcpxo (A3 Mega) or gpudirect-rdma (A3 Ultra, A4)."""
    networks: pulumi.Input[list[pulumi.Input[str]]]
    """Names of the networks of the extra interfaces (or links to them), in the order of the node pool's."""
    subnetworks: pulumi.Input[list[pulumi.Input[str]]]
    """Names of their subnetworks, in the same order."""


class WriterArgs(TypedDict):
    """The checkpoint store that the workload may write to, but not delete from."""

    bucket: str
    """Name of the bucket; it is in a stack of its own."""
    account: str
    """Account id of the service account that may write to it."""
    service_account: str
    """Kubernetes service account that impersonates it."""
    namespace: str
    """Namespace of the Kubernetes service account."""


class NodesArgs(PoolArgs):
    """Equal GKE nodes, as a decision says them."""

    machine_type: str
    """Machine type that the catalog knows."""
    tpu_topology: NotRequired[str]
    """Topology of the slice, as 4x4; TPU pools only."""
    max_run_hours: NotRequired[int]
    """Maximum run time of machines of mode flex-start or queued; at most 168."""
    labels: NotRequired[dict[str, str]]
    """Additional Kubernetes labels of the nodes."""
    writer: NotRequired[WriterArgs]
    """Checkpoint store of the workload."""


class AcceleratorPoolArgs(NodesArgs, ProjectArgs):
    """Equal GKE nodes with GPUs or one TPU slice."""

    cluster: pulumi.Input[str]
    """Name of the cluster."""
    service_account: pulumi.Input[str]
    """E-mail of the nodes' own service account."""
    fabric_networks: NotRequired[pulumi.Input[list[pulumi.Input[str]]]]
    """Networks of the accelerator interfaces."""
    fabric_subnetworks: NotRequired[pulumi.Input[list[pulumi.Input[str]]]]
    """Their subnetworks, in the same order."""
    kms_key_name: NotRequired[pulumi.Input[str]]
    """Key for boot disks."""


class CheckpointStoreArgs(PlaceArgs):
    """A bucket that outlives its cluster."""

    bucket: Annotated[
        str,
        BUCKET,
    ]
    """Name of the bucket."""
    writer_account: Annotated[str, ACCOUNT]
    """Account id of the service account that may write."""
    soft_delete_days: NotRequired[Annotated[int, SOFT_DELETE]]
    """Deleted objects can be restored this long; default 7, 30 in prod."""
    versions_days: NotRequired[Annotated[int, Between(7, 3650, words="7 to 3650")]]
    """Overwritten versions are kept this long; default 30."""


def zones_of(pool: Pool, *, preferred: Sequence[str]) -> list[str]:
    """The pool's zones; where the decision names none, the configuration's, else the first that sells its machines."""
    nearby = [zone for zone in preferred if zone.startswith(pool.region)]
    return list(dict.fromkeys(pool.zones)) or nearby[:1] or first_zone(pool)


def first_zone(pool: Pool) -> list[str]:
    """The first zone that sells the pool's machines, as far as the catalog knows; else the region's first."""
    from sizewell.sizing import catalog

    known = catalog.load()
    if sold := known.zones("gcp", pool.instance_type, pool.region):
        return [sold[0]]
    return [f"{pool.region}-{next(iter(known.zones_of('gcp', pool.region)), 'a')}"]


def network_args(decision: Decision, region: str, fabric: str = "", fabric_zone: str = "") -> dict[str, object]:
    args = {**owned_args(decision), "region": region}
    if fabric:
        args["fabric"] = fabric
        args["fabric_zone"] = fabric_zone
    return args


def protection(decision: Decision, settings: Settings) -> bool:
    """Whether the cloud refuses deletions: in prod, until the configuration says otherwise."""
    return decision.environment == "prod" and settings.deletion_protection


def cluster_args(decision: Decision, region: str, zones: Sequence[str], settings: Settings) -> dict[str, object]:
    """Arguments of the cluster of one region, all but the network's ids."""
    return {
        **owned_args(decision),
        "region": region,
        "zones": list(dict.fromkeys(zones)),
        "system_machine_type": "e2-standard-2" if decision.environment == "dev" else "e2-standard-4",
        "deletion_protection": protection(decision, settings),
        "maintenance_from": decision.decided_on.isoformat(),
    }


def pool_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> NodesArgs:
    """Arguments of one pool, all but the cluster's name and accounts, which only exist once the cluster does."""
    mode, zones = pool.capacity.mode, _pool_zones(workload, pool, settings)
    queues = ("flex-start", "queued")
    machines = machines_args(
        decision, workload, pool, zones=zones, disk_gib_min=100, from_zero=queues, prepaid=("reservation",)
    )
    labels = {"sizewell-workload": physical_name(workload.spec.name, limit=63)}
    args = assemble(NodesArgs, machines, {"machine_type": pool.instance_type, "labels": labels})
    if mode == "queued":
        args["nodes_initial"] = 0
    if _stands(workload, pool) and not schedule_args(workload):
        args["nodes_min"] = pool.nodes_max
    if pool.tpu_topology:
        args["tpu_topology"] = pool.tpu_topology
    if mode in queues:
        args["max_run_hours"] = 168
    if workload.checkpoint:
        args["writer"] = {
            "bucket": bucket_name(decision, workload, settings),
            "account": writer_account(decision, workload),
            "service_account": physical_name(workload.spec.name, limit=63),
            "namespace": settings.namespace(workload.spec.name),
        }
    return args


def _stands(workload: Workload, pool: Pool) -> bool:
    """Reserved machines of one job stand all the time: gone they are still billed, and a queue packs those that are
    there.
    """
    whole = pool.nodes_initial == pool.nodes_max
    return pool.capacity.mode == "reservation" and is_gang(workload, pool) and whole


def _pool_zones(workload: Workload, pool: Pool, settings: Settings) -> list[str]:
    """One zone for a reservation, for one job, and where zones would not get equal numbers of machines; else all."""
    zones = zones_of(pool, preferred=settings.zones)
    equal = pool.nodes_initial % len(zones) == 0 and pool.nodes_max % len(zones) == 0
    single = pool.capacity.mode == "reservation" or is_gang(workload, pool) or bool(pool.tpu_topology)
    return zones if equal and not single else zones[:1]


def checkpoint_store_args(decision: Decision, workload: Workload, settings: Settings) -> CheckpointStoreArgs:
    store = {
        "facts": store_facts(decision, workload),
        "region": workload.pools[0].region,
        "bucket": bucket_name(decision, workload, settings),
        "writer_account": writer_account(decision, workload),
    }
    return assemble(CheckpointStoreArgs, lasting_args(decision), store)  # it outlives its cluster


def bucket_name(decision: Decision, workload: Workload, settings: Settings) -> str:
    return store_name(stack=decision.stack, workload=workload.spec.name, salt=settings.salt)


def writer_account(decision: Decision, workload: Workload) -> str:
    """Account ids have at most 30 characters."""
    return physical_name(decision.stack, workload.spec.name, "writer", limit=30)
