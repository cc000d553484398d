"""Shared storage: its arguments, what it refuses, its size, and how a decision becomes it. Pure."""

import re
from typing import Annotated, Any, NotRequired

import pulumi

from sizewell.components.aws.args import AccountArgs
from sizewell.components.aws.checks import check_region, check_zone_of
from sizewell.components.bounds import OneOf
from sizewell.components.facts import owned_args
from sizewell.components.faults import Faults
from sizewell.components.forms import StorageArgs
from sizewell.sizing.choose.shared_storage import needed_gib
from sizewell.sizing.providers.aws import LUSTRE_SPEEDS, lustre_gib
from sizewell.sizing.records.decision import Decision, Workload

THROUGHPUTS = LUSTRE_SPEEDS


def capacity_gib(bytes_needed: int) -> int:
    """The size that FSx for Lustre sells for so many bytes with a tenth to spare.

    >>> capacity_gib(10**12), capacity_gib(2 * 10**12), capacity_gib(12 * 10**12)
    (1200, 2400, 14400)
    """
    return lustre_gib(needed_gib(bytes_needed))


class SharedStorageArgs(StorageArgs, AccountArgs):
    """A Lustre file system in the machines' zone for the data that they read."""

    zone: str
    """The machines' zone; traffic across zones is billed and slower."""
    vpc_id: pulumi.Input[str]
    """VPC of the subnet."""
    vpc_cidr: str
    """IPv4 range of the VPC: its machines may mount."""
    subnet_id: pulumi.Input[str]
    """Private subnet in the zone."""
    kms_key_arn: NotRequired[pulumi.Input[str]]
    """Key for the data; one is made unless given."""
    throughput_mb_per_s_per_tib: NotRequired[Annotated[int, OneOf(THROUGHPUTS)]]
    """125, 250, 500 or 1000; default 125."""
    data_location: NotRequired[str]
    """s3:// location that appears under /data: names immediately, contents on first read."""
    write_back: NotRequired[bool]
    """Whether what is written under /data is exported to S3."""
    client_groups: NotRequired[dict[str, pulumi.Input[str]]]
    """Security groups of clients, by name, that need egress to the file system."""


def check_storage(name: str, args: SharedStorageArgs) -> None:
    faults = Faults.of(name, args, SharedStorageArgs)
    region, zone = check_region(faults, args), str(args.get("zone", ""))
    named = bool(re.fullmatch(r"[a-z-]+-\d[a-z]", zone))
    faults.must(
        (named and (not region or zone[:-1] == region)) or bool(re.fullmatch(r"[a-z]+\d-az\d", zone)),
        "zone",
        f"must be one zone of {region or 'the region'}, as us-east-1a or use1-az4, got {zone!r}",
        fix="take the machines' zone",
    )
    if region and faults.holds("zone"):
        check_zone_of(faults, region, zone, "zone")
    location = args.get("data_location")
    faults.must(
        location is None or bool(re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/\S*)?", str(location))),
        "data_location",
        f"must be an s3:// location, got {location!r}",
    )
    faults.must(
        not args.get("write_back") or location is not None,
        "write_back",
        "is given without data_location: there is no location to export to",
    )
    faults.done()


def storage_args(decision: Decision, workload: Workload, zone: str) -> dict[str, Any]:
    """The file system that a decision's workload reads from, all but the network's ids."""
    storage, pool = workload.storage, workload.pools[0]
    assert storage is not None  # noqa: S101  (called for workloads with storage only)
    args: dict[str, object] = {
        **owned_args(decision),
        "facts": {"decisionDigest": decision.digest(), "workloadKind": workload.kind},
        "region": pool.region,
        "zone": zone,
        "bytes_needed": max(storage.bytes, 1),
    }
    if storage.mb_per_s_per_tib:
        args["throughput_mb_per_s_per_tib"] = storage.mb_per_s_per_tib
    if storage.location and storage.location.startswith("s3://"):
        args["data_location"] = storage.location
    return args
