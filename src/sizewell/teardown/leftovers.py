"""What stands in the cloud after a destroy, and what it costs: claims' disks, load balancers, network interfaces, what
is protected. Reads only.

A cluster's volumes and load balancers are made by its controllers, which know no tag of the stack: they are asked for
by the cluster's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.gcp import Google
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.money import Priced
from sizewell.teardown.orphans import Thing, in_aws, in_cloud, in_google
from sizewell.teardown.planning import HOURS_PER_MONTH

# Tags that a cluster's controllers put on what they make: of EBS volumes and load balancers, and of network interfaces
# (docs.aws.amazon.com/eks: Amazon EBS CSI driver, load balancers, VPC CNI); of Compute Engine disks and rules
# (cloud.google.com/kubernetes-engine/docs: cluster labels).
CLUSTER_TAGS: Final = ("elbv2.k8s.aws/cluster", "cluster.k8s.amazonaws.com/name", "eks:cluster-name")
CLUSTER_LABEL: Final = "goog-k8s-cluster-name"
# By kind: the fee of an hour. What bills nothing by standing there has "".
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
        *("sns notices", "ssm document", "autoscaling autoScalingGroup", "eks nodegroup", "eks addon"),
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
    tag: str,
    *,
    clusters: Sequence[str],
    catalog: Catalog,
    on: date,
) -> list[Leftover]:
    """What a cloud still has of a stack, dearest first, what nobody can price before it. CloudError where it does not
    answer: then nobody knows.
    """
    regions = tuple(regions)
    things = {thing.identity: thing for thing in in_cloud(cloud, accounts, regions, tag)}
    for cluster in clusters:
        if isinstance(cloud, Aws):
            asked = [("kubernetes.io/cluster/" + cluster, "owned"), *((key, cluster) for key in CLUSTER_TAGS)]
            made = [thing for key, value in asked for thing in in_aws(cloud, regions, value, key=key)]
        elif isinstance(cloud, Google):
            made = [thing for each in accounts for thing in in_google(cloud, each, cluster, key=CLUSTER_LABEL)]
        else:
            made = []  # they lie in the cluster's own resource group, which goes with it
        things |= {thing.identity: thing for thing in made}
    sizes = _sizes(cloud, things.values())
    leftovers = [
        Leftover(thing=thing, usd_per_month=_price(cloud, thing, sizes.get(thing.identity), catalog, on))
        for thing in things.values()
    ]
    return sorted(leftovers, key=lambda each: (each.usd_per_month is not None, -(each.usd_per_month or 0)))


def _price(
    cloud: Aws | Google | Azure, thing: Thing, size: dict[str, Any] | None, catalog: Catalog, on: date
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
    if kind == "ec2 volume" and size:
        key, number = f"ebs.{size['VolumeType']}.gb_month", Decimal(size["Size"])
    if not key:
        return None
    fee = catalog.fee(name, key, thing.region, on)
    return round(fee.amount * number, 2) if isinstance(fee, Priced) else None


def _sizes(cloud: Aws | Google | Azure, things: Iterable[Thing]) -> dict[str, dict[str, Any]]:
    """What a disk's price follows from, of Amazon's; by identity."""
    if not isinstance(cloud, Aws):
        return {}
    volumes = {thing.identity.rpartition("/")[2]: thing for thing in things if thing.kind == "ec2 volume"}
    sizes = {}
    for region in sorted({thing.region for thing in volumes.values()}):
        names = [name for name, thing in volumes.items() if thing.region == region]
        filters = [{"Name": "volume-id", "Values": names}]
        for volume in cloud.pages("ec2", region, "describe_volumes", "Volumes", Filters=filters):
            sizes[volumes[volume["VolumeId"]].identity] = volume
    return sizes
