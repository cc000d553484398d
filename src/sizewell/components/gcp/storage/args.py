"""Arguments of shared storage on Google Cloud, how a decision becomes them, and what they refuse. Pure."""

import ipaddress
import re
from typing import Any, Final, NotRequired

import pulumi

from sizewell.components.access import is_private
from sizewell.components.facts import owned_args
from sizewell.components.faults import Faults, check_labels
from sizewell.components.forms import StorageArgs, VolumeArgs
from sizewell.components.gcp.args import ProjectArgs
from sizewell.components.gcp.checks import check_region
from sizewell.components.places import check_zone
from sizewell.sizing.choose.shared_storage import HEADROOM, needed_gib
from sizewell.sizing.providers.gcp import FILESTORE_LARGEST_GIB, filestore_gib
from sizewell.sizing.records.decision import Decision, Workload

LARGEST_GIB: Final = FILESTORE_LARGEST_GIB  # of zonal Filestore


class SharedStorageArgs(StorageArgs, ProjectArgs):
    """A file system in the machines' zone for the data that they read."""

    zone: str
    """The machines' zone; traffic across zones is billed and slower."""
    network: pulumi.Input[str]
    """Network (name or id) whose machines may mount."""
    cidr: str
    """IPv4 range of the machines that may mount."""
    admins: NotRequired[list[str]]
    """IPv4 addresses or ranges, outside of cidr, of machines with root access: the top folder belongs to root, so one
    of them has to fill it or give others access. Without any the file system stays empty."""
    kms_key_name: NotRequired[pulumi.Input[str]]
    """Key for the data; one is made unless given."""
    deletion_protection: NotRequired[bool]
    """The cloud's own protection; default on in prod, which takes a reviewed step to remove."""


class FilesVolumeArgs(VolumeArgs):
    """A Filestore file system for pods of one namespace."""

    address: pulumi.Input[str]
    """Address of the file system."""


def check_storage(name: str, args: SharedStorageArgs) -> None:
    faults = Faults.of(name, args, SharedStorageArgs)
    region, zone = check_region(faults, args), str(args.get("zone", ""))
    faults.must(
        bool(re.fullmatch(r"[a-z]+-[a-z]+\d{1,2}-[a-z]", zone)) and (not region or zone[:-2] == region),
        "zone",
        f"must be one zone of {region or 'the region'}, as us-central1-a, got {zone!r}",
        fix="take the machines' zone",
    )
    if region and faults.holds("zone"):
        check_zone(faults, "gcp", region, zone, "zone", short=zone[-1])
    if faults.holds("bytes_needed"):
        size = capacity_gib(args["bytes_needed"])
        faults.must(
            size <= LARGEST_GIB,
            "bytes_needed",
            f"needs {size} GiB; zonal Filestore ends at {LARGEST_GIB} GiB",
            fix="keep the data in a bucket and read it through Cloud Storage FUSE",
        )
    machines = _check_range(faults, args.get("cidr"), "cidr")
    for number, value in enumerate(args.get("admins") or []):
        at = f"admins[{number}]"
        admin = _check_range(faults, value, at)
        if machines and admin:
            apart = not admin.overlaps(machines)
            faults.must(apart, at, f"overlaps cidr: {value} and {machines}; Filestore accepts each address once")
    faults.done()


def _check_range(faults: Faults, value: object, at: str) -> ipaddress.IPv4Network | None:
    try:
        network = ipaddress.IPv4Network(str(value))
    except ValueError:
        faults.add(at, f"must be an IPv4 range, got {value!r}")
        return None
    faults.must(is_private(network), at, f"must be a private range, got {value}: it limits who may mount")
    return network


def check_volume(name: str, args: FilesVolumeArgs) -> None:
    faults = Faults.of(name, args, FilesVolumeArgs)
    largest = LARGEST_GIB
    faults.whole_number(args, "capacity_gib", 1024, largest, fix="the size of the file system, in GiB")
    check_labels(faults, args, "namespace", "claim")
    faults.done()


def capacity_gib(bytes_needed: int) -> int:
    """The zonal Filestore for so many bytes with a tenth to spare.

    >>> capacity_gib(10**11), capacity_gib(2 * 10**12), capacity_gib(12 * 10**12)
    (1024, 2304, 12800)
    """
    return filestore_gib(needed_gib(bytes_needed))


def mount_options(gib: int) -> list[str]:
    """How machines mount zonal Filestore: over as many connections as Google says for its size.

    docs.cloud.google.com/filestore/docs/performance: from 10 TiB on seven, below it two.
    """
    return ["nfsvers=3", "hard", "noatime", f"nconnect={7 if gib >= 10_240 else 2}"]


def storage_args(decision: Decision, workload: Workload, zone: str) -> dict[str, Any]:
    """The file system that a decision's workload reads from, all but the network's ids."""
    storage, pool = workload.storage, workload.pools[0]
    assert storage is not None  # noqa: S101  (called for workloads with storage only)
    return {
        **owned_args(decision),
        "facts": {"decisionDigest": decision.digest(), "workloadKind": workload.kind},
        "region": pool.region,
        "zone": zone,
        "bytes_needed": max(storage.bytes, (storage.gib or 0) * 2**30 * (100 - HEADROOM) // 100, 1),
    }
