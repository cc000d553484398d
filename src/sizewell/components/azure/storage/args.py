"""Shared storage on Azure: its arguments, what it refuses, its size, and how a decision becomes it. Pure."""

import re
from typing import Annotated, Any, NotRequired

import pulumi

from sizewell.components.azure.args import GroupArgs, zones_of
from sizewell.components.azure.checks import check_region
from sizewell.components.azure.keys.args import CustomerKeyArgs
from sizewell.components.bounds import OneOf
from sizewell.components.facts import owned_args
from sizewell.components.faults import Faults
from sizewell.components.forms import StorageArgs
from sizewell.components.places import check_zone
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Workload

TIB = 2**40
HEADROOM = 10  # percent that stays free: a Lustre file system slows down when it is nearly full
LARGEST_TIB = 400  # what a /23 of the network holds addresses for
# MB/s for each TiB -> smallest size, which is also the step, in TiB.
TIERS = {125: 16, 250: 8, 500: 4}


class SharedStorageArgs(StorageArgs, GroupArgs):
    """Azure Managed Lustre in the machines' zone for the data that they read."""

    zone: str
    """The machines' zone (1, 2, 3); reads across zones are slower."""
    subnet_id: pulumi.Input[str]
    """Subnet of its own (Network with files: true makes one)."""
    throughput_mb_per_s_per_tib: NotRequired[Annotated[int, OneOf(tuple(TIERS))]]
    """125, 250 or 500; default 125."""
    container_id: NotRequired[str]
    """Id of a blob container that appears as files: names immediately, contents on first read."""
    logging_container_id: NotRequired[str]
    """Id of a container for the logs of imports; goes with container_id, in the same account."""
    import_prefix: NotRequired[str]
    """Only what is under it appears, such as /images."""
    key: NotRequired[CustomerKeyArgs]
    """Customer-managed key for the data."""
    maintenance_day: NotRequired[str]
    """Day of Azure's maintenance window; default Sunday, from 22:00 UTC."""


def check_storage(name: str, args: SharedStorageArgs) -> None:
    faults = Faults.of(name, args, SharedStorageArgs)
    region = check_region(faults, args)
    zone = args.get("zone")
    right = zone in ("1", "2", "3")
    faults.must(right, "zone", f'must be "1", "2" or "3", got {zone!r}', fix="take the machines' zone")
    if region and right:
        check_zone(faults, "azure", region, str(zone), "zone", short=str(zone))
    tier = args.get("throughput_mb_per_s_per_tib", 125)
    if faults.holds("throughput_mb_per_s_per_tib", "bytes_needed"):
        tib = capacity_tib(args["bytes_needed"], tier)
        faults.must(
            tib <= LARGEST_TIB,
            "bytes_needed",
            f"needs {tib} TiB; {LARGEST_TIB} is the most in one file system",
            fix="leave the data in blob storage, or split it",
        )
    for key in ("container_id", "logging_container_id"):
        value: Any = args.get(key)
        faults.must(
            value is None or bool(re.fullmatch(r"/subscriptions/\S+/blobServices/default/containers/\S+", value)),
            key,
            f"must be the id of a blob container, got {value!r}",
        )
    faults.must(
        ("container_id" in args) == ("logging_container_id" in args),
        "logging_container_id",
        "belongs to container_id: Azure requires both or neither",
    )
    faults.must(
        "import_prefix" not in args or "container_id" in args,
        "import_prefix",
        "is given without container_id: there is nothing to import",
    )
    faults.done()


def capacity_tib(bytes_needed: int, tier: int) -> int:
    """The smallest size that Azure sells with a tenth to spare; each tier has its own step.

    >>> capacity_tib(10**12, 125), capacity_tib(12 * 10**12, 500), capacity_tib(30 * 10**12, 250)
    (16, 16, 32)
    """
    step = TIERS[tier]
    needed_tib = -(-bytes_needed * 100 // ((100 - HEADROOM) * TIB))
    return -(-max(needed_tib, 1) // step) * step


def storage_args(decision: Decision, workload: Workload, settings: Settings) -> dict[str, Any]:
    """The file system that a decision's workload reads from, all but the network's ids."""
    storage, pool = workload.storage, workload.pools[0]
    assert storage is not None  # noqa: S101  (called for workloads with storage only)
    args: dict[str, object] = {
        **owned_args(decision),
        "facts": {"decisionDigest": decision.digest(), "workloadKind": workload.kind},
        "region": pool.region,
        "zone": (zones_of(pool, preferred=settings.zones) or ["1"])[0],
        "bytes_needed": max(storage.bytes, 1),
    }
    tier = getattr(storage, "mb_per_s_per_tib", None)
    if tier:
        args["throughput_mb_per_s_per_tib"] = int(tier)
    return args
