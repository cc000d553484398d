"""What stands in the cloud after a destroy, and what it costs: claims' disks, load balancers, network interfaces, what
is protected. Reads only.

A cluster's volumes and load balancers are made by its controllers, which know no tag of the stack: they are asked for
by the cluster's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError
from sizewell.clouds.gcp import Google
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.money import Priced
from sizewell.teardown.orphans import Owner, Thing, in_aws, in_cloud, in_google
from sizewell.teardown.planning import HOURS_PER_MONTH

Stored = tuple[str, Decimal]  # the fee of a month, and how many of its units
GIB: Final = Decimal(1024**3)
ZONE: Final = re.compile(r"(?<=\d)-[a-z]$")
FREE_IOPS: Final = 3000  # of a Hyperdisk Balanced: the catalog's price is of the capacity within them
DISKS: Final = "2024-03-02"
LUSTRE: Final = "2024-03-01"
# Tags that a cluster's controllers put on what they make: of EBS volumes and load balancers, and of network interfaces
# (docs.aws.amazon.com/eks: Amazon EBS CSI driver, load balancers, VPC CNI); of Compute Engine disks and rules
# (cloud.google.com/kubernetes-engine/docs: cluster labels).
CLUSTER_TAGS: Final = ("elbv2.k8s.aws/cluster", "cluster.k8s.amazonaws.com/name", "eks:cluster-name")
CLUSTER_LABEL: Final = "goog-k8s-cluster-name"
# By kind: the fee of an hour. What costs nothing by standing there has "".
_FEES: Final = {
    "ec2 natgateway": "nat.hour",
    "ec2 elastic-ip": "ipv4.hour",
    "ec2 vpc-endpoint": "vpc_endpoint.hour",
    "eks cluster": "eks.control_plane",
    "compute.googleapis.com/ForwardingRule": "lb.forwarding_rule.hour",
    "compute.googleapis.com/Address": "ipv4.idle_hour",
    "container.googleapis.com/Cluster": "gke.control_plane",
    "microsoft.network/loadbalancers": "lb.standard.hour",
    "microsoft.network/publicipaddresses": "ipv4.hour",
    "microsoft.network/natgateways": "nat.hour",
    "microsoft.network/privateendpoints": "private_endpoint.hour",
    "microsoft.containerservice/managedclusters": "aks.control_plane",
}
_MONTHLY: Final = {
    "kms key": "kms.key",
    "secretsmanager secret": "secrets.secret",
    "cloudwatch alarm": "cloudwatch.alarm",
    "cloudkms.googleapis.com/CryptoKey": "kms.key",
    "cloudscheduler.googleapis.com/Job": "scheduler.job",
    "microsoft.network/privatednszones": "private_dns.zone",
}
_FREE: Final = frozenset(
    {
        *("ec2 vpc", "ec2 subnet", "ec2 security-group", "ec2 security-group-rule", "ec2 route-table"),
        *("ec2 network-interface", "ec2 internet-gateway", "ec2 launch-template", "ec2 placement-group"),
        *("ec2 network-acl", "ec2 vpc-flow-log", "ec2 key-pair", "iam role", "iam policy", "iam instance-profile"),
        *("sns", "sqs", "events rule", "ssm document", "autoscaling autoScalingGroup", "eks nodegroup", "eks addon"),
        *("compute.googleapis.com/Network", "compute.googleapis.com/Subnetwork", "compute.googleapis.com/Firewall"),
        *("compute.googleapis.com/Route", "compute.googleapis.com/InstanceTemplate", "pubsub.googleapis.com/Topic"),
        *("iam.googleapis.com/ServiceAccount", "pubsub.googleapis.com/Subscription"),
        *("monitoring.googleapis.com/AlertPolicy", "monitoring.googleapis.com/NotificationChannel"),
        *("microsoft.network/virtualnetworks", "microsoft.network/networksecuritygroups"),
        *("microsoft.network/networkinterfaces", "microsoft.managedidentity/userassignedidentities"),
        *("microsoft.insights/actiongroups", "microsoft.resources/resourcegroups"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Something that still stands. `usd_per_month` None: nobody here knows what it costs, so it counts as billing."""

    thing: Thing
    usd_per_month: Decimal | None

    @property
    def bills(self) -> bool:
        """Whether it costs something, as far as is known."""
        return self.usd_per_month is None or self.usd_per_month > 0

    def words(self) -> str:
        """It in a line: its kind, its name, its price."""
        name = self.thing.identity.rpartition("/")[2].rpartition(":")[2]
        price = "price not known" if self.usd_per_month is None else f"{self.usd_per_month:,.2f} USD per month"
        return f"{self.thing.kind} {name} ({price})"


def left_over(
    cloud: Aws | Google | Azure,
    accounts: Sequence[str],
    regions: Iterable[str],
    owner: Owner,
    *,
    clusters: Sequence[str],
    catalog: Catalog,
    on: date,
) -> list[Leftover]:
    """What a cloud still has of a stack, dearest first, what nobody can price before it. CloudError where it does not
    respond: then nobody knows.
    """
    regions = tuple(regions)
    things = {thing.identity: thing for thing in in_cloud(cloud, accounts, regions, owner)}
    for cluster in clusters:
        if isinstance(cloud, Aws):
            asked = [("kubernetes.io/cluster/" + cluster, "owned"), *((key, cluster) for key in CLUSTER_TAGS)]
            made = [thing for key, value in asked for thing in in_aws(cloud, regions, value, key=key)]
        elif isinstance(cloud, Google):
            made = [thing for each in accounts for thing in in_google(cloud, each, cluster, key=CLUSTER_LABEL)]
        else:
            made = []  # they lie in the cluster's own resource group, which goes with it
        things |= {thing.identity: thing for thing in made}
    stored = _stored(cloud, things.values())
    leftovers = [
        Leftover(thing=thing, usd_per_month=_price(cloud, thing, stored.get(thing.identity), catalog, on))
        for thing in things.values()
    ]
    return sorted(leftovers, key=lambda each: (each.usd_per_month is not None, -(each.usd_per_month or 0)))


def _price(
    cloud: Aws | Google | Azure, thing: Thing, stored: Stored | None, catalog: Catalog, on: date
) -> Decimal | None:
    """US dollars per month of what stands; None where nobody here knows."""
    name = "aws" if isinstance(cloud, Aws) else "gcp" if isinstance(cloud, Google) else "azure"
    kind = thing.kind if name != "azure" else thing.kind.lower()
    if kind in _FREE:
        return Decimal(0)
    key, number = _MONTHLY.get(kind, ""), Decimal(1)
    if kind in _FEES:
        key, number = _FEES[kind], Decimal(HOURS_PER_MONTH)
    if kind == "elasticloadbalancing loadbalancer":
        form = thing.identity.partition(":loadbalancer/")[2].partition("/")[0]
        key, number = {"net": "lb.nlb.hour", "app": "lb.alb.hour"}.get(form, ""), Decimal(HOURS_PER_MONTH)
    if stored is not None:
        key, number = stored
    if not key:
        return None
    region = ZONE.sub("", thing.region)  # a disk of Google's lies in a zone
    fee = catalog.fee(name, key, region, on)
    return round(fee.amount * number, 2) if isinstance(fee, Priced) else None


def _stored(cloud: Aws | Google | Azure, things: Iterable[Thing]) -> dict[str, Stored]:
    """What the price of each disk and file system follows from, by identity. CloudError where a cloud does not say."""
    if isinstance(cloud, Aws):
        return _stored_in_aws(cloud, list(things))
    read = _read_google if isinstance(cloud, Google) else _read_azure
    stored = {}
    for thing in things:
        try:
            held = read(cloud, thing)  # type: ignore[arg-type]
        except CloudError as error:
            if error.reason != "missing":  # it went since it was listed
                raise
            continue
        if held is not None:
            stored[thing.identity] = held
    return stored


def _stored_in_aws(aws: Aws, things: Sequence[Thing]) -> dict[str, Stored]:
    asked: tuple[tuple[str, tuple[str, str, str], str, Callable[[list[str]], dict[str, Any]]], ...] = (
        (
            *("ec2 volume", ("ec2", "describe_volumes", "Volumes"), "VolumeId"),
            lambda names: {"Filters": [{"Name": "volume-id", "Values": names}]},
        ),
        (
            *("fsx file-system", ("fsx", "describe_file_systems", "FileSystems"), "FileSystemId"),
            lambda names: {"FileSystemIds": names},
        ),
        (
            *("elasticfilesystem file-system", ("efs", "describe_file_systems", "FileSystems"), "FileSystemId"),
            lambda _: {},
        ),
    )
    stored = {}
    for kind, (service, operation, items), name, filters in asked:
        own = {thing.identity.rpartition("/")[2]: thing for thing in things if thing.kind == kind}
        for region in sorted({thing.region for thing in own.values()}):
            names = [each for each, thing in own.items() if thing.region == region]
            for found in aws.pages(service, region, operation, items, **filters(names)):
                thing = own.get(found[name])
                held = _of_aws(kind, found)
                if thing is not None and held is not None:
                    stored[thing.identity] = held
    return stored


def _of_aws(kind: str, found: Mapping[str, Any]) -> Stored | None:
    if kind == "ec2 volume":
        return f"ebs.{found['VolumeType']}.gb_month", Decimal(found["Size"])
    if kind == "elasticfilesystem file-system":
        size = Decimal(found["SizeInBytes"]["Value"]) / GIB
        return ("efs.one_zone" if found.get("AvailabilityZoneName") else "efs.standard"), size
    lustre = found.get("LustreConfiguration") or {}
    key = {
        "PERSISTENT_2": f"fsx.lustre.persistent2.{lustre.get('PerUnitStorageThroughput')}",
        "SCRATCH_2": "fsx.lustre.scratch2",
    }.get(str(lustre.get("DeploymentType")), "")
    return (key, Decimal(found["StorageCapacity"])) if key and found.get("StorageType") == "SSD" else None


def _read_google(google: Google, thing: Thing) -> Stored | None:
    """A disk of Compute Engine, an instance of Filestore or of Managed Lustre, as its own service has it."""
    host, _, path = thing.identity.partition("/")
    service = host.removesuffix(".googleapis.com")
    if thing.kind == "compute.googleapis.com/Disk":
        disk = google.reader(service).get(f"compute/v1/{path}")
        kind = str(disk.get("type") or "").rpartition("/")[2]
        free = int(disk.get("provisionedIops") or 0) <= FREE_IOPS
        key = {"hyperdisk-balanced": "hyperdisk.balanced" if free else ""}.get(kind, kind.replace("pd-", "pd."))
        return (key, Decimal(disk["sizeGb"])) if key else None
    if thing.kind == "file.googleapis.com/Instance":
        instance = google.reader(service).get(f"v1/{path}")
        size = sum((Decimal(share["capacityGb"]) for share in instance.get("fileShares") or []), Decimal(0))
        return ("filestore.zonal", size) if instance.get("tier") in ("ZONAL", "BASIC_SSD") else None
    if thing.kind == "lustre.googleapis.com/Instance":
        instance = google.reader(service).get(f"v1/{path}")
        return f"lustre.{instance.get('perUnitStorageThroughput')}", Decimal(instance["capacityGib"])
    return None


def _read_azure(azure: Azure, thing: Thing) -> Stored | None:
    """A managed disk, whose premium classes bill whole, or a file system of Managed Lustre."""
    if thing.kind.lower() == "microsoft.compute/disks":
        disk = azure.reader().get(thing.identity, **{"api-version": DISKS})
        kind, tier = str((disk.get("sku") or {}).get("name")), str((disk.get("properties") or {}).get("tier") or "")
        return (f"disk.premium_lrs.{tier.lower()}", Decimal(1)) if kind == "Premium_LRS" and tier else None
    if thing.kind.lower() == "microsoft.storagecache/amlfilesystems":
        found = azure.reader().get(thing.identity, **{"api-version": LUSTRE})
        speed = str((found.get("sku") or {}).get("name")).rpartition("-")[2]
        return f"lustre.{speed}", Decimal(str(found["properties"]["storageCapacityTiB"])) * 1024
    return None
