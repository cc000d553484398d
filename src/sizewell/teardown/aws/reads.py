"""What is asked of AWS: its clients, the machines of a pool, what has a stack's tag, what of it is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError, Deadline
from sizewell.teardown.aws.login import LOGIN
from sizewell.teardown.planning import HOURS_PER_MONTH
from sizewell.teardown.reading import DEADLINE_S, Fees, Question, Reads
from sizewell.teardown.telemetry import cloudwatch, sagemaker
from sizewell.teardown.telemetry.observation import Observation
from sizewell.teardown.things import TAG, Stored, Thing

# Tags that a cluster's controllers put on what they make: on EBS volumes and load balancers, and on network interfaces
# (docs.aws.amazon.com/eks: Amazon EBS CSI driver, load balancers, VPC CNI).
CLUSTER_TAGS: Final = ("elbv2.k8s.aws/cluster", "cluster.k8s.amazonaws.com/name", "eks:cluster-name")
GIB: Final = Decimal(1024**3)
FEES: Final = Fees(
    hourly={
        "ec2 natgateway": "nat.hour",
        "ec2 elastic-ip": "ipv4.hour",
        "ec2 vpc-endpoint": "vpc_endpoint.hour",
        "eks cluster": "eks.control_plane",
    },
    monthly={
        "kms key": "kms.key",
        "secretsmanager secret": "secrets.secret",
        "cloudwatch alarm": "cloudwatch.alarm",
    },
    free=frozenset(
        {
            *("ec2 vpc", "ec2 subnet", "ec2 security-group", "ec2 security-group-rule", "ec2 route-table"),
            *("ec2 network-interface", "ec2 internet-gateway", "ec2 launch-template", "ec2 placement-group"),
            *("ec2 network-acl", "ec2 vpc-flow-log", "ec2 key-pair", "iam role", "iam policy", "iam instance-profile"),
            *("sns", "sqs", "events rule", "ssm document", "autoscaling autoscalinggroup", "eks nodegroup"),
            "eks addon",
        }
    ),
)


def aws_client(deadline: Deadline, profile: str | None) -> Aws:
    """Clients that read, under a profile; None: whatever is logged in."""
    return Aws(deadline, profile=profile)


def _client(accounts: Sequence[str], settings: Mapping[str, str]) -> Aws:
    aws = aws_client(Deadline(DEADLINE_S), settings.get(LOGIN.reads))
    account = str(aws.call("sts", "us-east-1", "get_caller_identity")["Account"])
    if account not in accounts:
        allowed = ", ".join(accounts)
        reason = f"AWS account {account} is logged in; the stack belongs to {allowed}"
        raise CloudError("teardown", "refused", reason, fix=f"log in to {allowed}")
    return aws


def _pool(aws: Aws, question: Question) -> Observation:
    return cloudwatch.observe(aws, question.unit, question.at, question.seconds)


def _endpoint(aws: Aws, question: Question) -> Observation:
    return sagemaker.observe(aws, question.unit, question.at, question.seconds)


def _managed(aws: Aws, question: Question) -> Observation | None:
    if question.unit.kind == "cluster":
        return sagemaker.hyperpod(aws, question.unit, question.at, question.seconds)
    return sagemaker.notebook(aws, question.unit, question.at)


def _tagged(aws: Aws, _: Sequence[str], regions: Sequence[str], tag: str) -> list[Thing]:
    return in_aws(aws, regions, tag)


def _of_cluster(aws: Aws, _: Sequence[str], regions: Sequence[str], cluster: str) -> list[Thing]:
    asked = [("kubernetes.io/cluster/" + cluster, "owned"), *((key, cluster) for key in CLUSTER_TAGS)]
    return [thing for key, value in asked for thing in in_aws(aws, regions, value, key=key)]


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


def _kind(arn: str) -> str:
    """The service of an ARN, and the type of the resource where it names one; a topic, a queue or a bucket has none.

    >>> _kind("arn:aws:ec2:us-east-1:1:vpc/vpc-1"), _kind("arn:aws:sns:us-east-1:1:notices")
    ('ec2 vpc', 'sns')
    """
    service, resource = arn.split(":")[2], arn.split(":", 5)[5].replace(":", "/")
    return f"{service} {resource.partition('/')[0]}" if "/" in resource else service


def _gone(aws: Aws, region: str, things: Sequence[Thing]) -> set[str]:
    """Machines that are terminated, what is attached to a machine, and keys whose deletion is scheduled: tags outlive
    machines by an hour and keys by a week or more, and disks and interfaces of a machine go with it.
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
    for key in (thing.identity.rpartition("/")[2] for thing in things if thing.kind == "kms key"):
        try:
            state = aws.call("kms", region, "describe_key", KeyId=key)["KeyMetadata"]["KeyState"]
        except CloudError as error:  # who may list tags need not see keys; then it counts as there
            if error.reason not in ("denied", "missing"):
                raise
            continue
        gone |= {key} if str(state).startswith("Pending") and "Deletion" in str(state) else set()
    return gone


def _stored(aws: Aws, things: Sequence[Thing]) -> dict[str, Stored]:
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
    stored = {thing.identity: _balancer(thing) for thing in things if thing.kind == "elasticloadbalancing loadbalancer"}
    for kind, (service, operation, items), name, filters in asked:
        own = {thing.identity.rpartition("/")[2]: thing for thing in things if thing.kind == kind}
        for region in sorted({thing.region for thing in own.values()}):
            names = [each for each, thing in own.items() if thing.region == region]
            for found in aws.pages(service, region, operation, items, **filters(names)):
                thing = own.get(found[name])
                held = _held(kind, found)
                if thing is not None and held is not None:
                    stored[thing.identity] = held
    return stored


def _held(kind: str, found: Mapping[str, Any]) -> Stored | None:
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


def _balancer(thing: Thing) -> Stored:
    form = thing.identity.partition(":loadbalancer/")[2].partition("/")[0]
    return {"net": "lb.nlb.hour", "app": "lb.alb.hour"}.get(form, ""), Decimal(HOURS_PER_MONTH)


READS: Final = Reads(
    client=_client,
    place=("account", None),
    pool=_pool,
    endpoint=_endpoint,
    managed=_managed,
    tagged=_tagged,
    of_cluster=_of_cluster,
    fees=FEES,
    stored=_stored,
)
