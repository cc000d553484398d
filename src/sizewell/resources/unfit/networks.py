"""Subnets, zones and maintenance windows that a cloud refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, get, items
from sizewell.sizing.catalog.catalog import Catalog

Network = IPv4Network | IPv6Network

SUBNET: Final = "aws:ec2/subnet:Subnet"
VPC: Final = "aws:ec2/vpc:Vpc"
MORE_ADDRESSES: Final = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"
# Type of a subnet -> (input that names its network, types of that, input with its addresses).
SUBNETS: Final = {
    SUBNET: ("vpcId", (VPC, "aws:ec2/defaultVpc:DefaultVpc"), "cidrBlock"),
    "gcp:compute/subnetwork:Subnetwork": ("network", ("gcp:compute/network:Network",), "ipCidrRange"),
    "azure-native:network:Subnet": (
        "virtualNetworkName", ("azure-native:network:VirtualNetwork",), "addressPrefix",
    ),
}  # fmt: skip


def of_cluster(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """An EKS cluster all of whose subnets are in one zone (docs.aws.amazon.com/eks/latest/userguide/network-reqs.html:
    at least two).
    """
    if canonical(resource.type) != "aws:eks/cluster:Cluster" or resource.inputs.get("outpostConfig"):
        return
    listed = items(get(resource.inputs, "vpcConfig", "subnetIds"))
    subnets = graph.referenced(resource, "vpcConfig", SUBNET)
    if isinstance(listed, Unknown) or isinstance(subnets, Unknown) or not listed or len(listed) != len(subnets):
        return
    zones = {get(each.inputs, "availabilityZone", default=get(each.inputs, "availabilityZoneId")) for each in subnets}
    if len(zones) == 1 and (len(subnets) == 1 or isinstance(next(iter(zones)), str)):
        where = f"all in {next(iter(zones))}" if len(subnets) > 1 else "one alone"
        yield f"EKS needs subnets in two zones and refuses these: {where}", "give it a subnet in another zone"


def of_subnet(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """A subnet outside of its network's addresses, or over those of another; each pair is said at the later one."""
    if (kind := canonical(resource.type)) not in SUBNETS:
        return
    key = SUBNETS[kind][2]
    own = _network(resource.inputs.get(key))
    home = _home(graph, resource)
    if own is None or home is None:
        return
    parent = graph.by_urn.get(home)
    if parent is not None and canonical(parent.type) == VPC and (ranges := _ranges(graph, parent)):
        inside = any(own.version == each.version and own.subnet_of(each) for each in ranges)  # type: ignore[arg-type]
        if not inside:
            has = ", ".join(map(str, ranges))
            yield f"{key} {own} is outside of its VPC's {has}: EC2 refuses it", f"take a part of {has}"
    for other in graph.of(kind):
        if other.urn == resource.urn:
            return
        theirs = _network(other.inputs.get(key))
        if (
            theirs is not None
            and own.version == theirs.version
            and own.overlaps(theirs)
            and _home(graph, other) == home
        ):
            said = f"{key} {own} overlaps {theirs} of {other.name} in the same network: the cloud refuses the second"
            yield said, "take addresses that no other subnet has"


def _home(graph: Graph, subnet: RecordedResource) -> str | None:
    """What says in which network a subnet is: its URN, or its name where it stands elsewhere; None where unknown."""
    link, kinds, _ = SUBNETS[canonical(subnet.type)]
    found = graph.referenced(subnet, link, *kinds)
    if not isinstance(found, Unknown) and len(found) == 1:
        return found[0].urn
    stated = subnet.inputs.get(link)
    group = subnet.inputs.get("resourceGroupName", "")
    return f"{group}/{stated}" if isinstance(stated, str) and isinstance(group, str) and not found else None


def _ranges(graph: Graph, vpc: RecordedResource) -> list[Network]:
    """All addresses of a VPC; [] where some are not known."""
    more = graph.referring(vpc, MORE_ADDRESSES, "vpcId")
    if isinstance(more, Unknown):
        return []
    ranges = [_network(each.inputs.get("cidrBlock")) for each in (vpc, *more)]
    return [each for each in ranges if each is not None] if None not in ranges else []


def _network(cidr: object) -> Network | None:
    try:
        return ip_network(cidr, strict=False) if isinstance(cidr, str) else None
    except ValueError:
        return None


POOL: Final = "gcp:container/nodePool:NodePool"
CLUSTER: Final = "gcp:container/cluster:Cluster"


def of_zones(graph: Graph, resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Zones of GKE nodes that are in another region than their cluster, or that there are none of."""
    if (kind := canonical(resource.type)) not in (POOL, CLUSTER):
        return
    location = resource.inputs.get("location")
    if kind == POOL:
        clusters = graph.referenced(resource, "cluster", CLUSTER)
        if not isinstance(clusters, Unknown) and len(clusters) == 1:
            location = clusters[0].inputs.get("location", location)
    zones = items(resource.inputs.get("nodeLocations"))
    for zone in () if isinstance(zones, Unknown) else zones:
        if not isinstance(zone, str) or not re.fullmatch(r"[a-z]+-[a-z]+\d+-[a-z]", zone):
            continue  # not known, or one of Google's zones for AI
        region, letters = zone[:-2], catalog.zones_of(cloud_of(kind), zone[:-2])
        if isinstance(location, str) and re.fullmatch(rf"{region}(-\w+)?", location) is None:
            yield (
                f"nodeLocations has {zone}, outside of its cluster's {location}: GKE refuses it",
                f"name zones of {location}",
            )
        elif letters and zone[-1] not in letters:
            allowed = ", ".join(f"{region}-{each}" for each in letters)
            yield f"nodeLocations has {zone}, and no such zone is known in {region}", f"name one of {allowed}"


LEAST_HOURS, LEAST_IN_32_DAYS, MOST_DAYS = 4, 48, 90
"""cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions: 48 hours in any 32 days, in
pieces of at least 4; an exclusion of scope NO_UPGRADES lasts 90 days at most (from memory, 2026-11-27)."""


def of_maintenance(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """A window that leaves GKE too little time, and an exclusion that is longer than GKE takes."""
    if canonical(resource.type) != CLUSTER:
        return
    policy = get(resource.inputs, "maintenancePolicy")
    window = get(policy, "recurringWindow")
    hours, rule = _hours(window), get(window, "recurrence")
    if hours is not None and isinstance(rule, str):
        offered = hours * _times(rule)
        if hours < LEAST_HOURS or offered < LEAST_IN_32_DAYS:
            said = f"a maintenance window of {hours:g} h ({rule}) is too short: GKE asks for 48 h in 32 days"
            yield f"{said}, in pieces of at least 4 h", "make it longer, or add days"
    exclusions = items(get(policy, "maintenanceExclusions"))
    for each in () if isinstance(exclusions, Unknown) else exclusions:
        lasts = _hours(each)
        scope = get(each, "exclusionOptions", "scope", default="NO_UPGRADES")
        if lasts is not None and scope == "NO_UPGRADES" and lasts > MOST_DAYS * 24:
            said = f"the exclusion {get(each, 'exclusionName')} of {lasts / 24:g} days is longer than GKE takes"
            yield f"{said} for NO_UPGRADES", f"end it within {MOST_DAYS} days, or name the scope NO_MINOR_UPGRADES"


def _hours(value: Any) -> float | None:
    start, end = get(value, "startTime"), get(value, "endTime")
    try:
        lasts = datetime.fromisoformat(str(end)) - datetime.fromisoformat(str(start))
    except (ValueError, TypeError):
        return None
    return lasts.total_seconds() / 3600


def _times(rule: str) -> float:
    """How often at most a window opens in 32 days; any number where the rule has another form.

    >>> _times("FREQ=WEEKLY;BYDAY=SA,SU"), _times("FREQ=DAILY"), _times("FREQ=MONTHLY;BYDAY=1SA")
    (10, 32, inf)
    """
    parts = dict(part.partition("=")[::2] for part in rule.upper().split(";"))
    if parts.get("FREQ") == "DAILY" and "BYDAY" not in parts and parts.get("INTERVAL", "1") == "1":
        return 32
    if parts.get("FREQ") == "WEEKLY" and "BYDAY" in parts and parts.get("INTERVAL", "1") == "1":
        return min(5 * len(parts["BYDAY"].split(",")), 32)
    return float("inf")
