"""Arguments of the AWS components, and how a decision becomes them. Pure: no Pulumi resources, no cloud.

Counts, types and zones are plain values, never Outputs: a policy has to know them at preview.
"""

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

import pulumi

from sizewell.components.aws.storage.mounts import LustreMountArgs, block_window
from sizewell.components.bounds import Between
from sizewell.components.facts import is_gang, lasting_args, machines_args, owned_args, store_facts
from sizewell.components.forms import PlaceArgs, PoolArgs
from sizewell.components.machines import find_shape
from sizewell.components.owned import assemble
from sizewell.components.settings import Settings
from sizewell.components.tags import store_name
from sizewell.sizing.records.decision import Decision, Pool, Workload


class AccountArgs(TypedDict):
    """The account that something stands in."""

    account: NotRequired[str]
    """AWS account id, if known beforehand: policies can then be checked before anything is built."""


class SubnetsArgs(AccountArgs):
    """The private network that machines stand in, and the key of what they store."""

    vpc_id: pulumi.Input[str]
    """VPC of the subnets."""
    vpc_cidr: str
    """IPv4 range of the VPC: egress is limited to HTTPS to its endpoints, S3 and Lustre."""
    subnet_ids: pulumi.Input[list[str]]
    """Private subnets, one for each zone, in the order of zones."""
    s3_prefix_list_id: NotRequired[pulumi.Input[str]]
    """Prefix list of the S3 gateway endpoint."""
    kms_key_arn: NotRequired[pulumi.Input[str]]
    """Key for what is stored: disks, logs, notices, results; one is made unless given."""


class NetworkArgs(PlaceArgs, AccountArgs):
    """A private network without internet access: no ingress, egress to the endpoints only."""

    zones: list[str]
    """Availability zones by name (us-east-1a) or id (use1-az4); one private subnet in each."""
    cidr: NotRequired[str]
    """IPv4 range of the VPC; 10.40.0.0/16 by default."""
    endpoint_services: NotRequired[list[str]]
    """Interface endpoints, as ssm or ecr.api; each is billed by the hour and zone."""


class CapacityBlockArgs(TypedDict):
    """Capacity bought for a window. Creating one spends money that is never refunded."""

    id: NotRequired[str]
    """Capacity reservation id of a block that has already been purchased; preferred."""
    purchase: NotRequired[str]
    """confirmed: buy it now; anything else is rejected."""
    duration_hours: NotRequired[int]
    """Length of the window."""
    start: NotRequired[str]
    """Earliest start, ISO time."""
    max_price_usd: NotRequired[float]
    """Maximum price; nothing more expensive is bought."""
    ends: NotRequired[str]
    """End of an adopted block, ISO time: its machines are drained 40 minutes before it. Known for a block bought
    here."""
    starts: NotRequired[str]
    """Start of an adopted block in the future, ISO time: its machines start then. Known for a block bought here."""


class WriterArgs(TypedDict):
    """The checkpoint store that the machines may write to, but not delete from."""

    bucket: str
    """Name of the bucket; it is in a stack of its own."""
    key_alias: str
    """Alias of the KMS key that encrypts it."""


class MachineGroupArgs(PoolArgs):
    """Equal EC2 machines, as a decision says them."""

    instance_type: str
    """EC2 instance type that the catalog knows."""
    capacity_block: NotRequired[CapacityBlockArgs]
    """The block, for mode capacity-block; EKS adopts a block by id and does not buy one."""
    fallback_types: NotRequired[list[str]]
    """Further instance types a spot pool may take."""
    writer: NotRequired[WriterArgs]
    """Checkpoint store of the workload: its machines may write to it, on EKS the pods of its service account."""


class GpuNodeGroupArgs(MachineGroupArgs, SubnetsArgs):
    """Equal EC2 machines with GPUs, Trainium or Inferentia, in an Auto Scaling group."""

    image: NotRequired[str]
    """AMI id, or resolve:ssm:PARAMETER; default by the accelerator."""
    start_script: NotRequired[str]
    """Shell commands that run at first boot after the metrics agent; holds no secrets. Above 12,000 bytes they are in
    a Systems Manager document that is read at first boot."""
    mounts: NotRequired[list[LustreMountArgs]]
    """Lustre file systems that are mounted at first boot, before the start script."""


class CheckpointStoreArgs(PlaceArgs):
    """A bucket that outlives its cluster."""

    bucket: str
    """Name of the bucket."""
    retention_days: NotRequired[Annotated[int, Between(1, 365, words="1 to 365")]]
    """Object lock: nothing is deleted sooner. 7 by default, 30 in prod."""
    versions_days: NotRequired[int]
    """Overwritten versions are kept this long; default 30."""


def zones_of(pool: Pool, *, gang: bool, preferred: Sequence[str]) -> list[str]:
    """The pool's zones; where the decision names none, the configuration's, else the region's first.

    Spot machines that work alone take two zones, since the pools of spare machines differ by zone.
    """
    nearby = [zone for zone in preferred if zone.startswith(pool.region) or "-az" in zone]
    several = pool.capacity.mode == "spot" and not gang
    zones = list(pool.zones) or nearby or [f"{pool.region}{letter}" for letter in ("ab" if several else "a")]
    return list(dict.fromkeys(zones if several or not gang else zones[:1]))


def network_args(decision: Decision, region: str, zones: Sequence[str]) -> NetworkArgs:
    place = {"region": region, "zones": list(dict.fromkeys(zones))}
    return assemble(NetworkArgs, owned_args(decision), place)


def pool_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> MachineGroupArgs:
    """Arguments of one pool, all but the network's ids, which only exist once the network does."""
    shape = find_shape("aws", pool.instance_type)
    gang = is_gang(workload, pool)
    zones = zones_of(pool, gang=gang, preferred=settings.zones)
    prepaid = ("capacity-block", "reservation")
    machines = machines_args(
        decision, workload, pool, zones=zones, disk_gib_min=75, from_zero=("capacity-block",), prepaid=prepaid
    )
    args = assemble(MachineGroupArgs, machines, {"instance_type": pool.instance_type})
    if block := pool.capacity.block:
        wanted = {
            "id": block.id,
            "purchase": block.purchase,
            "duration_hours": block.duration_hours,
            "start": block.start,
            "max_price_usd": None if block.max_price_usd is None else float(block.max_price_usd),
        }
        if block.id:
            wanted |= block_window(
                start=block.start, duration_hours=block.duration_hours, decided_on=decision.decided_on
            )
        known = {key: value for key, value in wanted.items() if value is not None}
        args["capacity_block"] = assemble(CapacityBlockArgs, known)
    same_place = [f for f in pool.fallbacks if f.region == pool.region and f.market == "spot"]
    if pool.capacity.mode == "spot" and same_place and not (gang and shape is not None and shape.fabric == "efa"):
        args["fallback_types"] = list(dict.fromkeys(f.instance_type for f in same_place))
    if workload.checkpoint:
        bucket = bucket_name(decision, workload, settings)
        args["writer"] = {"bucket": bucket, "key_alias": f"alias/{bucket}"}
    return args


def checkpoint_store_args(decision: Decision, workload: Workload, settings: Settings) -> CheckpointStoreArgs:
    store = {
        "facts": store_facts(decision, workload),
        "region": workload.pools[0].region,
        "bucket": bucket_name(decision, workload, settings),
    }
    return assemble(CheckpointStoreArgs, lasting_args(decision), store)  # it outlives its cluster


def bucket_name(decision: Decision, workload: Workload, settings: Settings) -> str:
    return store_name(stack=decision.stack, workload=workload.spec.name, salt=settings.salt)
