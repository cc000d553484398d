"""What the clouds have with a stack's tag, and what of that no state knows. Reads only.

The tag is on everything that can carry one. A machine that a group, fleet or pool of the state made is known by its
maker, though no state names it; so is what is attached to such a machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.gcp import Google
from sizewell.recording.sources.state import State, StateResource

TAG: Final = "sizewell-stack"
PROJECT_TAG: Final = "sizewell-project"
ID_TAG: Final = "sizewell-id"
TAG_INPUTS: Final = ("tags", "labels", "userLabels", "resourceLabels")
# Tags that the clouds themselves put on what they made for something else, and what that is.
MADE_BY: Final[Mapping[str, str]] = {
    "aws:autoscaling:groupName": "aws:autoscaling/group:Group",
    "aws:ec2:fleet-id": "aws:ec2/fleet:Fleet",
    "eks:nodegroup-name": "aws:eks/nodeGroup:NodeGroup",
    "aws:eks:cluster-name": "aws:eks/cluster:Cluster",
    "goog-k8s-node-pool-name": "gcp:container/nodePool:NodePool",
    "goog-k8s-cluster-name": "gcp:container/cluster:Cluster",
    "aks-managed-poolName": "azure-native:containerservice:AgentPool",
}
# Of these, what its provider imports by the value of that tag alone.
IMPORTED_BY_TAG: Final = frozenset({"aws:autoscaling/group:Group", "aws:ec2/fleet:Fleet"})
# Kinds that groups and clusters make, with their tags: none of them is the group.
PARTS: Final = frozenset(
    {
        *("ec2 instance", "ec2 volume", "ec2 network-interface", "ec2 spot-instances-request"),
        *("compute.googleapis.com/Instance", "compute.googleapis.com/Disk"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something that a cloud has: its name in the cloud, its kind, its tags."""

    identity: str
    kind: str
    region: str = ""
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A stack and its project, as tags spell them: two projects may have a stack of one name in one account."""

    project: str
    stack: str


def in_cloud(cloud: Aws | Google | Azure, accounts: Iterable[str], regions: Iterable[str], owner: Owner) -> list[Thing]:
    """Everything with a stack's tag in its accounts, of Amazon's in some regions; what carries the tag of another
    project is left out. CloudError where one is refused.
    """
    if isinstance(cloud, Aws):
        things = in_aws(cloud, regions, owner.stack)
    elif isinstance(cloud, Google):
        things = [thing for account in accounts for thing in in_google(cloud, account, owner.stack)]
    else:
        things = [thing for account in accounts for thing in in_azure(cloud, account, owner.stack)]
    return [thing for thing in things if (thing.tags or {}).get(PROJECT_TAG, owner.project) == owner.project]


def in_aws(aws: Aws, regions: Iterable[str], tag: str, *, key: str = TAG) -> list[Thing]:
    """Everything with a stack's tag in some regions, machines and disks that are gone left out."""
    things = []
    for region in sorted(set(regions)):
        tagged = aws.pages(
            *("resourcegroupstaggingapi", region, "get_resources", "ResourceTagMappingList"),
            TagFilters=[{"Key": key, "Values": [tag]}],
        )
        tagged_things = [
            Thing(
                identity=str(each["ResourceARN"]),
                kind=_kind(str(each["ResourceARN"])),
                region=region,
                tags={str(entry["Key"]): str(entry["Value"]) for entry in each.get("Tags", [])},
            )
            for each in tagged
        ]
        gone = _gone(aws, region, tagged_things)
        things += [thing for thing in tagged_things if thing.identity.rpartition("/")[2] not in gone]
        listed = {thing.identity for thing in tagged_things}
        things += [thing for thing in _groups(aws, region, tag, key) if thing.identity not in listed]
    return things


def _groups(aws: Aws, region: str, tag: str, key: str) -> list[Thing]:
    """Auto Scaling groups, of which the tagging API returns none
    (https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/supported-services.html).
    """
    groups = aws.pages(
        *("autoscaling", region, "describe_auto_scaling_groups", "AutoScalingGroups"),
        Filters=[{"Name": f"tag:{key}", "Values": [tag]}],
    )
    return [
        Thing(
            identity=str(each["AutoScalingGroupARN"]),
            kind=_kind(str(each["AutoScalingGroupARN"])),
            region=region,
            tags={str(entry["Key"]): str(entry["Value"]) for entry in each.get("Tags", [])},
        )
        for each in groups
    ]


def in_google(google: Google, project: str, tag: str, *, key: str = TAG) -> list[Thing]:
    """Everything with a stack's label in a project, by Cloud Asset Inventory."""
    rows = google.reader("cloudasset").pages(
        f"v1/projects/{project}:searchAllResources",
        items="results",
        parameter="pageToken",
        query=f"labels.{key}={tag}",
    )
    return [
        Thing(
            identity=str(each["name"]).removeprefix("//"),
            kind=str(each.get("assetType") or ""),
            region=str(each.get("location") or ""),
            tags={str(key): str(value) for key, value in (each.get("labels") or {}).items()},
        )
        for each in rows
    ]


def in_azure(azure: Azure, subscription: str, tag: str) -> list[Thing]:
    """Everything with a stack's tag in a subscription: its resources, and the groups that they are in."""
    reader = azure.reader()
    wanted = {"api-version": "2021-04-01", "$filter": f"tagName eq '{TAG}' and tagValue eq '{tag}'"}
    rows = [
        row
        for listed in ("resources", "resourcegroups")
        for row in reader.pages(f"/subscriptions/{subscription}/{listed}", items="value", **wanted)
    ]
    return [
        Thing(
            identity=str(each["id"]),
            kind=str(each.get("type") or ""),
            region=str(each.get("location") or ""),
            tags={str(key): str(value) for key, value in (each.get("tags") or {}).items()},
        )
        for each in rows
    ]


def unknown_to(things: Sequence[Thing], state: State) -> list[Thing]:
    """Of what a cloud has, what the state neither names nor made through something that it names.

    A group of machines, its role and its rule may all have one name: what carries the tag of a resource is compared
    with the names of that resource alone, and what was made for another with those of its type.
    """
    known = set[str]()
    of_tag: dict[str, set[str]] = {}
    of_type: dict[str, set[str]] = {}
    for resource in state.resources:
        names = {name.lower() for name in _names(resource) if name}  # a component has no identity
        known |= names
        of_tag.setdefault(own_tag(resource.inputs), set()).update(names)
        of_type.setdefault(resource.type, set()).update(names)

    def is_known(thing: Thing) -> bool:
        tag, identity = (thing.tags or {}).get(ID_TAG, ""), thing.identity.lower()
        if not tag:
            return _is_known(identity, known)
        return _is_known(identity, of_tag[tag]) if tag in of_tag else identity in known

    # AKS puts a cluster's tags on all that it makes in a resource group of its own: balancers, addresses, that group.
    groups = {str(resource.outputs.get("nodeResourceGroup") or "").lower() for resource in state.resources} - {""}

    def is_made(thing: Thing) -> bool:
        tags = thing.tags or {}
        if groups & set(thing.identity.lower().partition("/resourcegroups/")[2].split("/")[:1]):
            return True
        made = ((tags.get(tag, "").lower(), of_type.get(kind, ())) for tag, kind in MADE_BY.items())
        return any(maker in names for maker, names in made)

    return [thing for thing in things if not is_known(thing) and not is_made(thing)]


def is_of(kind: str, type_: str) -> bool:
    """Whether a cloud's kind and a provider's type name the same sort of thing; a part of it carries its tags too.

    >>> is_of("autoscaling autoScalingGroup", "aws:autoscaling/group:Group")
    True
    >>> is_of("ec2 instance", "aws:autoscaling/group:Group")
    False
    >>> is_of("Microsoft.ContainerService/managedClusters", "azure-native:containerservice:ManagedCluster")
    True
    """
    if not re.search(r"[ /]", kind):  # a service whose ARNs name no sort, such as sns
        return True
    a, b = (
        "".join(letter for letter in name.lower() if letter.isalnum())
        for name in (re.split(r"[ /]", kind)[-1], type_.rpartition(":")[2])
    )
    a = a.removesuffix("es") if a.endswith("sses") else a.removesuffix("s")
    return bool(a) and (a.endswith(b) or b.endswith(a))


def maker_of(thing: Thing, type_: str) -> str:
    """The identity of the group or fleet of this type that made a machine, as the cloud's own tag on it says; "" for
    none.
    """
    if type_ not in IMPORTED_BY_TAG:
        return ""
    found = ((thing.tags or {}).get(tag, "") for tag, kind in MADE_BY.items() if kind == type_)
    return next(filter(None, found), "")


def own_tag(inputs: Mapping[str, Any]) -> str:
    """The tag by which a cloud lists a resource, out of its inputs; "" where it carries none.

    >>> own_tag({"tags": {"sizewell-id": "a1"}}), own_tag({"tags": [{"key": "sizewell-id", "value": "b2"}]})
    ('a1', 'b2')
    """
    for held in (inputs.get(key) for key in TAG_INPUTS):
        if isinstance(held, Mapping):
            pairs = list(held.items())
        else:
            entries = [each for each in held or () if isinstance(each, Mapping)] if isinstance(held, list) else []
            pairs = [(each.get("key"), each.get("value")) for each in entries]
        found = next((str(value) for key, value in pairs if key == ID_TAG), "")
        if found:
            return found
    return ""


def _is_known(identity: str, known: set[str]) -> bool:
    """Whether the whole identity or its own name, without the path before it, is one of a resource."""
    last = identity.rpartition("/")[2].rpartition(":")[2]
    tail = identity.rpartition(":")[2]
    parts = identity.split("/")
    below = {"/".join(parts[number:]) for number in range(len(parts))}
    return bool({identity, last, tail, *below} & known)


def _names(resource: StateResource) -> Iterable[str]:
    """By which names a cloud may know a resource."""
    yield resource.id
    for key in ("arn", "name", "id", "selfLink", "nodeGroupName", "fleetId"):
        value = resource.outputs.get(key)
        if isinstance(value, str) and value:
            yield value.removeprefix("https://www.googleapis.com/compute/v1/")
    if ":" in resource.id and not resource.id.startswith("arn:"):  # cluster:nodegroup
        yield resource.id.rpartition(":")[2]


def _kind(arn: str) -> str:
    """The service of an ARN, and the type of the resource where it names one; a topic, a queue or a bucket has none.

    >>> _kind("arn:aws:ec2:us-east-1:1:vpc/vpc-1"), _kind("arn:aws:sns:us-east-1:1:notices")
    ('ec2 vpc', 'sns')
    """
    service, resource = arn.split(":")[2], arn.split(":", 5)[5].replace(":", "/")
    return f"{service} {resource.partition('/')[0]}" if "/" in resource else service


def _gone(aws: Aws, region: str, things: Sequence[Thing]) -> set[str]:
    """Machines that are terminated, and what is attached to a machine: tags outlive machines by an hour, and disks and
    interfaces of a machine go with it.
    """
    gone: set[str] = set()
    machines = [thing.identity.rpartition("/")[2] for thing in things if thing.kind == "ec2 instance"]
    if machines:
        filters = [{"Name": "instance-id", "Values": machines}]
        alive: dict[str, Any] = {}
        for reservation in aws.pages("ec2", region, "describe_instances", "Reservations", Filters=filters):
            for machine in reservation["Instances"]:
                alive[machine["InstanceId"]] = machine["State"]["Name"]
        gone |= {machine for machine in machines if alive.get(machine, "terminated") == "terminated"}
    volumes = [thing.identity.rpartition("/")[2] for thing in things if thing.kind == "ec2 volume"]
    if volumes:
        filters = [{"Name": "volume-id", "Values": volumes}]
        held = {
            volume["VolumeId"]: volume["Attachments"]
            for volume in aws.pages("ec2", region, "describe_volumes", "Volumes", Filters=filters)
        }
        gone |= {volume for volume in volumes if volume not in held or held[volume]}
    return gone
