"""Arguments of the Azure components, and how a decision becomes them. Pure: no Pulumi resources, no cloud.

Counts, types and zones are plain values, never Outputs: a policy has to know them at preview.
"""

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

import pulumi

from sizewell.components.bounds import Between, Pattern
from sizewell.components.facts import lasting_args, machines_args, owned_args, store_facts
from sizewell.components.forms import PlaceArgs, PoolArgs
from sizewell.components.owned import assemble
from sizewell.components.settings import Settings
from sizewell.components.tags import physical_name, store_name
from sizewell.sizing.records.decision import Decision, Pool, Workload

SOFT_DELETE = Between(7, 365, words="7 to 365", because="less than a week is too short to notice")


class GroupArgs(TypedDict):
    """The resource group that something stands in."""

    resource_group: pulumi.Input[str]
    """Name of the resource group."""


class LustreMountArgs(TypedDict):
    """A Lustre file system that the machines mount at first boot."""

    address: pulumi.Input[str]
    """Its address, an output of SharedStorage."""
    path: str
    """Where it appears on the machine, as /data."""


class NetworkArgs(PlaceArgs):
    """A resource group with a private network: no way in, out only HTTPS to Azure's own services."""

    cidr: NotRequired[str]
    """IPv4 range of the network; 10.120.0.0/16 by default."""
    kubernetes: NotRequired[bool]
    """Subnets for AKS: one for its machines, one for its API server."""
    files: NotRequired[bool]
    """A subnet for Azure Managed Lustre."""
    private_services: NotRequired[list[str]]
    """Services with private endpoints besides blob: file, vault, registry, workspace, notebooks, openai."""


class WriterArgs(TypedDict):
    """The checkpoint store that the machines may write to, but not delete from."""

    account: str
    """Name of the storage account; it is in a stack of its own."""
    resource_group: str
    """Its resource group."""
    role: str
    """Id (GUID) of the role of a writer, made with the store."""


class MachineGroupArgs(PoolArgs):
    """Equal virtual machines with GPUs, as a decision says them."""

    vm_size: str
    """Size that the catalog knows, as Standard_ND96isr_H100_v5."""
    writer: NotRequired[WriterArgs]
    """Checkpoint store of the workload: its machines may write to it, on AKS the pods of its service account."""


class GpuScaleSetArgs(MachineGroupArgs, GroupArgs):
    """Equal ND- or NC-series machines in a scale set."""

    subnet_id: pulumi.Input[str]
    """Private subnet."""
    security_group_id: pulumi.Input[str]
    """Network security group of the machines."""
    private_dns_zone_id: NotRequired[pulumi.Input[str]]
    """Private DNS zone of blob storage, for the private endpoint to the checkpoints."""
    image: NotRequired[str]
    """Id of your own image; default Microsoft's HPC image, which has no driver for the virtual GPUs of A10
    sizes."""
    ssh_public_key: NotRequired[str]
    """Azure requires one; by default a key whose private half does not exist."""
    disk_encryption_set_id: NotRequired[pulumi.Input[str]]
    """Disk encryption set with a customer-managed key."""
    start_script: NotRequired[str]
    """Shell commands that run at first boot after the metrics agent; holds no secrets."""
    mounts: NotRequired[list[LustreMountArgs]]
    """Lustre file systems that are mounted at first boot, before the start script."""
    registries: NotRequired[list[str]]
    """Ids of the container registries that the machines pull images from."""
    notify: NotRequired[list[str]]
    """E-mail addresses notified of idleness and of failed stops, besides the stack's receivers."""


class CheckpointStoreArgs(PlaceArgs):
    """A storage account that outlives its cluster."""

    account: Annotated[str, Pattern(r"[a-z0-9]{3,24}", "3 to 24 lower-case letters and digits")]
    """Name of the storage account: 3 to 24 lower-case letters and digits."""
    resource_group: str
    """Name of the resource group that is made for it."""
    role: str
    """Id (GUID) of the writers' role that is made with it."""
    soft_delete_days: NotRequired[Annotated[int, SOFT_DELETE]]
    """Deleted blobs can be restored this long; default 14, 30 in prod."""
    immutable_days: NotRequired[Annotated[int, Between(1, 365, words="1 to 365")]]
    """Nothing is overwritten or deleted sooner; default 7."""
    versions_days: NotRequired[int]
    """Overwritten versions are kept this long; default 30."""


def zones_of(pool: Pool, *, preferred: Sequence[str]) -> list[str]:
    """The pool's zones by their numbers (a decision may write eastus-1 as well as 1), else the configuration's."""
    named = [zone.removeprefix(f"{pool.region}-") for zone in pool.zones]
    return list(dict.fromkeys(named)) or list(preferred)


def network_args(decision: Decision, region: str) -> dict[str, object]:
    return {**owned_args(decision), "region": region}


def pool_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> MachineGroupArgs:
    """Arguments of one pool, all but the network's ids, which only exist once the network does."""
    zones = zones_of(pool, preferred=settings.zones)
    machines = machines_args(decision, workload, pool, zones=zones, disk_gib_min=128, prepaid=("reservation",))
    args = assemble(MachineGroupArgs, machines, {"vm_size": pool.instance_type})
    if workload.checkpoint:
        store = checkpoint_store_args(decision, workload, settings)
        args["writer"] = writer_of(store)
    return args


def writer_of(store: CheckpointStoreArgs) -> WriterArgs:
    """The store as what writes to it knows it."""
    return {"account": store["account"], "resource_group": store["resource_group"], "role": store["role"]}


def checkpoint_store_args(decision: Decision, workload: Workload, settings: Settings) -> CheckpointStoreArgs:
    account = bucket_name(decision, workload, settings)
    store = {
        "facts": store_facts(decision, workload),
        "region": workload.pools[0].region,
        "account": account,
        "resource_group": physical_name("checkpoints", decision.stack, workload.spec.name, limit=80),
        "role": guid("writer", account),
    }
    return assemble(CheckpointStoreArgs, lasting_args(decision), store)  # it outlives its cluster


def bucket_name(decision: Decision, workload: Workload, settings: Settings) -> str:
    return store_name(stack=decision.stack, workload=workload.spec.name, salt=settings.salt, limit=24, hyphens=False)


def guid(*parts: str) -> str:
    """A GUID that is the same in every run: what Azure names roles and assignments by.

    >>> guid("writer", "store")
    'e4d4544f-3999-5926-b3f4-6dc756d2d2a4'
    """
    import uuid

    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(("sizewell", *parts))))
