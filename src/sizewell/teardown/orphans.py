"""What the clouds have with a stack's tag, and what of that no state knows. Reads only.

The tag is on everything that can carry one. A machine that a group, fleet or pool of the state made is known by its
maker, though no state names it; so is what is attached to such a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.gcp import Google
from sizewell.recording.sources.state import State, StateResource

TAG: Final = "sizewell-stack"
# Tags that the clouds themselves put on what they made for something else.
MADE_BY: Final = (
    "aws:autoscaling:groupName",
    "aws:ec2:fleet-id",
    "eks:nodegroup-name",
    "goog-k8s-node-pool-name",
    "aks-managed-poolName",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something that a cloud has: its name in the cloud, its kind, its tags."""

    identity: str
    kind: str
    region: str = ""
    tags: Mapping[str, str] | None = None


def in_cloud(cloud: Aws | Google | Azure, accounts: Iterable[str], regions: Iterable[str], tag: str) -> list[Thing]:
    """Everything with a stack's tag in its accounts, of Amazon's in some regions. CloudError where one is refused."""
    if isinstance(cloud, Aws):
        return in_aws(cloud, regions, tag)
    if isinstance(cloud, Google):
        return [thing for account in accounts for thing in in_google(cloud, account, tag)]
    return [thing for account in accounts for thing in in_azure(cloud, account, tag)]


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
    return things


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
    """Everything with a stack's tag in a subscription."""
    rows = azure.reader().pages(
        f"/subscriptions/{subscription}/resources",
        items="value",
        **{"api-version": "2021-04-01", "$filter": f"tagName eq '{TAG}' and tagValue eq '{tag}'"},
    )
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
    """Of what a cloud has, what the state neither names nor made through something that it names."""
    known = set[str]()
    for resource in state.resources:
        known |= {name.lower() for name in _names(resource) if name}  # a component has no identity
    return [
        thing
        for thing in things
        if not _is_known(thing.identity.lower(), known)
        and not any((thing.tags or {}).get(maker, "").lower() in known for maker in MADE_BY)
    ]


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
    parts = arn.split(":", 5)
    return f"{parts[2]} {parts[5].replace(':', '/').partition('/')[0]}"


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
