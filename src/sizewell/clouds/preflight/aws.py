"""What is asked of AWS before a stack is built there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError
from sizewell.clouds.preflight import rights, service_quotas, versions
from sizewell.clouds.preflight.findings import Finding, Question, wrong
from sizewell.clouds.preflight.needs import Machines, Needs, Resource, demanded
from sizewell.sizing.units import plural

_SSM: Final = "resolve:ssm:"
_USER: Final = re.compile(r"//[^/@]*@")
_MIRROR: Final = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.[a-z.]+/(?P<name>[^:@]+):(?P<tag>.+)"
)


def questions(needs: Needs, aws: Aws, *, now: datetime | None = None) -> dict[str, Question]:
    """What is asked, by name, after `account` has said who is asking."""
    at = now or datetime.now(UTC)
    asked: dict[str, Question] = {}
    for region in needs.regions:
        local = [machines for machines in needs.machines if machines.region == region]
        asked[f"zones of {region}"] = lambda r=region, h=local: _zones(needs, aws, r, h)  # type: ignore[misc]
        asked[f"quotas of {region}"] = lambda r=region, h=local: (row for row, _ in quotas(needs, aws, r, h))  # type: ignore[misc]
        asked[f"images of {region}"] = lambda r=region: _images(needs, aws, r)  # type: ignore[misc]
        if managed := [machines for machines in local if machines.managed != "raw" and not machines.reservation]:
            asked[(f"quotas of SageMaker in {region}")] = lambda r=region, s=managed: service_quotas.of_sagemaker(  # type: ignore[misc]
                aws, r, s, at=at
            )
        if named := [machines for machines in local if machines.reservation]:
            asked[f"reservations of {region}"] = lambda r=region, n=named: reservations(aws, r, n, at)  # type: ignore[misc]
        if needs.of("aws:sns/topic:Topic"):
            asked[f"receivers in {region}"] = lambda r=region: _receivers(needs, aws, r)  # type: ignore[misc]
        if key := _own_key(needs):
            asked[f"key in {region}"] = lambda r=region, k=key: _key(aws, r, k)  # type: ignore[misc]
        if needs.of(versions.EKS):
            asked[f"kubernetes in {region}"] = lambda r=region: versions.of_eks(needs, aws, r)  # type: ignore[misc]
        if _mirrored(needs, region):
            asked[f"mirror in {region}"] = lambda r=region: _mirror(needs, aws, r)  # type: ignore[misc]
    asked["rights"] = lambda: _rights(needs, aws)
    if linked := _linked(needs):
        asked["service-linked roles"] = lambda: _linked_roles(needs, aws, linked)
    if needs.of("aws:budgets/budget:Budget"):
        asked["budget tags"] = lambda: _budget_tags(needs, aws)
    services = ("ec2", "service-quotas", "ssm", "sns", "kms", "ecr", "cloudwatch", "eks")
    for region in needs.regions:
        for service in services:
            aws.client(service, region)  # boto3 makes clients in one thread at a time
    for service in ("iam", "ce"):
        aws.client(service, "us-east-1")
    return asked


def account(needs: Needs, aws: Aws) -> Iterator[Finding]:
    """Who asks, and whether the stack may touch that account; CloudError without a login."""
    caller = aws.call("sts", needs.regions[0], "get_caller_identity")
    login = f"{caller['Account']} as {caller['Arn'].rpartition(':')[2]}"
    if not needs.accounts:
        fix = f"pulumi config set --path 'sizewell:accounts[0]' {caller['Account']}"
        yield wrong(
            "account", f"sizewell:accounts is empty: the stack uses the account that is logged in, {login}", fix
        )
    elif caller["Account"] not in needs.accounts:
        yield wrong(
            "account",
            f"logged in to {login}; the stack is limited to {', '.join(needs.accounts)}",
            "log in to that account",
        )
    else:
        yield Finding("account", "ok", login)


def _zones(needs: Needs, aws: Aws, region: str, local: list[Machines]) -> Iterator[Finding]:
    about = f"zones of {region}"
    known = aws.call("ec2", region, "describe_regions", AllRegions=True, RegionNames=[region])["Regions"]
    if known and known[0].get("OptInStatus") == "not-opted-in":
        yield wrong(
            about, "the account has not opted in to this region", f"aws account enable-region --region-name {region}"
        )
        return
    listed = aws.call("ec2", region, "describe_availability_zones", AllAvailabilityZones=True)["AvailabilityZones"]
    by_name = {zone[key]: zone for zone in listed for key in ("ZoneName", "ZoneId") if zone.get(key)}
    faults = [*_cluster_zones(needs, region, by_name)]
    for machines in local:
        offered = {
            offer["Location"]
            for kind in ("availability-zone", "availability-zone-id")
            for offer in aws.pages(
                "ec2",
                region,
                "describe_instance_type_offerings",
                "InstanceTypeOfferings",
                LocationType=kind,
                Filters=[{"Name": "instance-type", "Values": [machines.instance_type]}],
            )
        }
        faults += _machine_zones(machines, offered, by_name)
    yield from faults
    if not faults:
        kinds = ", ".join(dict.fromkeys(machines.instance_type for machines in local))
        yield Finding(about, "ok", f"{kinds}: offered in the stack's zones")


def _machine_zones(machines: Machines, offered: set[str], by_name: dict[str, Any]) -> Iterator[Finding]:
    about = f"zones of {machines.region}"
    if not offered:
        fix = "size again with another region in infra, or without this type"
        yield wrong(about, f"{machines.instance_type} ({machines.pool}) is offered in no zone of the region", fix)
        return
    for name in machines.zones:
        zone = by_name.get(name)
        if zone is None:
            yield wrong(about, f"{name} ({machines.pool}) is not a zone of the region", "correct sizewell:zones")
        elif zone.get("OptInStatus") == "not-opted-in":
            command = (
                f"aws ec2 modify-availability-zone-group --group-name {zone['GroupName']} --opt-in-status opted-in"
            )
            yield wrong(about, f"{name} ({machines.pool}) is not switched on in this account", command)
        elif name not in offered:
            where = ", ".join(sorted(place for place in offered if "-az" not in place) or sorted(offered))
            fix = f"pulumi config set --path 'sizewell:zones[0]' with one of {where}"
            yield wrong(about, f"{machines.instance_type} ({machines.pool}) is not offered in {name}", fix)


def _cluster_zones(needs: Needs, region: str, by_name: dict[str, Any]) -> Iterator[Finding]:
    """A control plane stands in availability zones; Local Zones and Wavelength Zones are none."""
    for cluster in needs.of("sizewell-aws:index:EksCluster"):
        for name in cluster.inputs.get("zones") or ():
            kind = by_name.get(name, {}).get("ZoneType", "availability-zone")
            if kind != "availability-zone":
                fix = "put two availability zones first in sizewell:zones"
                yield wrong(f"zones of {region}", f"the control plane's subnet would be in {name}, a {kind}", fix)


def quotas(needs: Needs, aws: Aws, region: str, local: list[Machines]) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    """What is said of each quota, and the pools that take of it."""
    plain = [machines for machines in local if machines.managed == "raw"]
    demand = demanded(plain, "vCPU")
    used = _used(needs, aws, region) if demand else {}
    for (_, code), wanted in demand.items():
        about = f"quota {code} in {region}"
        if not re.fullmatch(r"L-[0-9A-F]{8}", code):
            yield Finding(about, "note", "the catalog has no quota code to look up"), ()
            continue
        quota = aws.call("service-quotas", region, "get_service_quota", ServiceCode="ec2", QuotaCode=code)["Quota"]
        limit, kinds = (
            quota["Value"],
            ", ".join(dict.fromkeys(m.instance_type for m in plain if m.quota == code)),
        )
        taken, pools = used.get(code, 0), tuple(m.pool for m in plain if m.quota == code and not m.reservation)
        others = f", machines outside of it have {taken:,}" if taken else ""
        sentence = f"{quota['QuotaName']}: {limit:,.0f} vCPU{others}, the stack may grow to {wanted:,.0f} ({kinds})"
        if wanted + taken > limit:
            command = "aws service-quotas request-service-quota-increase --service-code ec2"
            fix = f"{command} --quota-code {code} --desired-value {wanted + taken:.0f} --region {region}"
            yield wrong(about, sentence, fix), pools
        else:
            yield Finding(about, "ok", sentence), pools
    for machines in plain:
        if not machines.quota and not machines.reservation:
            detail = f"{machines.instance_type} ({machines.market}): its quota is not in the catalog"
            yield Finding(f"quotas of {region}", "note", detail), (machines.pool,)


def _images(needs: Needs, aws: Aws, region: str) -> Iterator[Finding]:
    about = f"images of {region}"
    given = (needs.config.get("sizewell:images") or {}).values()
    named = {str(image) for image in given} | {
        image
        for template in needs.of("aws:ec2/launchTemplate:LaunchTemplate")
        if isinstance(image := template.inputs.get("imageId"), str)
    }
    parameters = sorted({image.removeprefix(_SSM) for image in named if image.startswith(_SSM)})
    faults = []
    for start in range(0, len(parameters), 10):  # a call takes ten
        answer = aws.call("ssm", region, "get_parameters", Names=parameters[start : start + 10])
        faults += [
            wrong(about, f"no parameter {missing} in {region}", "name an image in sizewell:images")
            for missing in answer.get("InvalidParameters", [])
        ]
    for image in sorted(image for image in named if image.startswith("ami-")):
        try:
            (description,) = aws.call("ec2", region, "describe_images", ImageIds=[image])["Images"] or [{}]
        except CloudError as error:
            if not error.code.startswith("InvalidAMIID"):
                raise
            description = {}
        if description.get("State") != "available":
            faults.append(wrong(about, f"{image} is not available in {region}", "correct sizewell:images"))
    yield from faults
    if named and not faults:
        yield Finding(about, "ok", f"{len(named)} machine images exist")


def reservations(aws: Aws, region: str, named: list[Machines], at: datetime) -> Iterator[Finding]:
    """Whether the reservations that pools name are there, for their machines, where and as long as these are."""
    for machines in named:
        about = f"reservation {machines.reservation}"
        if not machines.reservation.startswith("cr-"):
            yield Finding(about, "note", "a group of reservations: its members are not checked")
            continue
        yield from reserved(about, machines, reservation(aws, region, machines.reservation), at)


def reservation(aws: Aws, region: str, name: str) -> dict[str, Any]:
    """A reservation by its id; {} where there is none."""
    try:
        answer = aws.call("ec2", region, "describe_capacity_reservations", CapacityReservationIds=[name])
    except CloudError as error:
        if error.reason != "missing":
            raise
        return {}
    row: dict[str, Any] = next(iter(answer.get("CapacityReservations", [])), {})
    return row


def reserved(about: str, machines: Machines, row: dict[str, Any], at: datetime) -> Iterator[Finding]:
    """Whether a reservation is for a pool's machines, where and as long as these are."""
    if not row:
        missing = f"({machines.pool}) does not exist in {machines.region}"
        yield wrong(about, missing, "correct capacity.reservation in the spec")
        return
    faults = []
    fix = "name another reservation in the spec, and size again"
    if row["State"] not in ("active", "scheduled", "payment-pending"):
        faults.append(wrong(about, f"is {row['State']}", fix))
    if row["InstanceType"] != machines.instance_type:
        faults.append(wrong(about, f"is for {row['InstanceType']}, the pool needs {machines.instance_type}", fix))
    places = {row.get("AvailabilityZone"), row.get("AvailabilityZoneId")}
    if machines.zones and not places & set(machines.zones):
        there = row.get("AvailabilityZone") or row.get("AvailabilityZoneId")
        command = f"pulumi config set --path 'sizewell:zones[0]' {there}"
        faults.append(wrong(about, f"is in {there}, the pool in {', '.join(machines.zones)}", command))
    if row["TotalInstanceCount"] < machines.count:
        faults.append(
            wrong(about, f"has {row['TotalInstanceCount']} machines, the pool may grow to {machines.count}", fix)
        )
    if (ends := row.get("EndDate")) and ends <= at:
        faults.append(wrong(about, f"ended on {ends:%Y-%m-%d}", fix))
    free = f", {row['AvailableInstanceCount']} of them free" if "AvailableInstanceCount" in row else ""
    yield from faults or [
        Finding(about, "ok", f"{row['State']}, {row['TotalInstanceCount']} x {row['InstanceType']}{free}")
    ]


def _used(needs: Needs, aws: Aws, region: str) -> dict[str, int]:
    """By quota: vCPU of the machines that run in a region and are not the stack's own, which it counts itself.

    A capacity block takes nothing of a quota (docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html).
    """
    used: dict[str, int] = {}
    running = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    for reservation in aws.pages("ec2", region, "describe_instances", "Reservations", Filters=running):
        for machine in reservation.get("Instances", []):
            tags = {tag["Key"]: tag["Value"] for tag in machine.get("Tags", [])}
            market = machine.get("InstanceLifecycle", "on-demand")
            code, vcpus = needs.quotas.get((machine["InstanceType"], market), ("", 0))
            if code and tags.get("sizewell-stack") != needs.stack:
                used[code] = used.get(code, 0) + vcpus
    return used


def _receivers(needs: Needs, aws: Aws, region: str) -> Iterator[Finding]:
    about = f"receivers in {region}"
    subscribed = needs.of("aws:sns/topicSubscription:TopicSubscription")
    topics = {topic.name: str(topic.inputs.get("name")) for topic in needs.of("aws:sns/topic:Topic")}
    if not subscribed:
        yield wrong(
            about,
            f"{plural(len(topics), 'topic')} without a subscription: notices are not delivered",
            "set sizewell:notify",
        )
        return
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for row in aws.pages("sns", region, "list_subscriptions", "Subscriptions"):
        name = row["TopicArn"].rpartition(":")[2]
        if name in topics.values():
            by_topic.setdefault(name, []).append(row)
    rows = [row for listed in by_topic.values() for row in listed]
    waiting = {_shown(row["Endpoint"]) for row in rows if row["SubscriptionArn"] == "PendingConfirmation"}
    ended = {row["Endpoint"] for row in rows if row["SubscriptionArn"] == "Deleted"}
    ended -= {row["Endpoint"] for row in rows if row["SubscriptionArn"].startswith("arn:")}
    gone = set()
    if missing := [(name, end) for name, end in _declared(subscribed, topics) if not _listed(by_topic, name, end)]:
        # a topic that is not there yet has no subscriptions, and lacks none
        there = {row["TopicArn"].rpartition(":")[2] for row in aws.pages("sns", region, "list_topics", "Topics")}
        gone = {f"{_shown(endpoint)} of {name}" for name, endpoint in missing if name in there}
    filtered = {
        f"{_shown(row['Endpoint'])} of {row['TopicArn'].rpartition(':')[2]}"
        for row in rows
        if row["SubscriptionArn"].startswith("arn:") and _filtered(aws, region, row["SubscriptionArn"])
    }
    again = f"pulumi refresh -s {needs.stack}, then pulumi up: each receiver gets a message to confirm"
    faults = [
        (waiting, "not confirmed", "open the message from AWS and confirm"),
        ({_shown(endpoint) for endpoint in ended}, "unsubscribed themselves", again),
        (gone, "no longer among the topic's subscriptions", again),
        (filtered, "a filter policy drops notices to", f"pulumi refresh -s {needs.stack}, then pulumi up"),
    ]
    for who, what, fix in faults:
        if who:
            yield wrong(about, f"{what}: {', '.join(sorted(who))}", fix)
    if not any(who for who, _, _ in faults):
        yield Finding(about, "ok", f"{plural(len(subscribed), 'subscription')}, all confirmed")


def _declared(subscribed: Iterable[Resource], topics: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The topic's name at AWS and the endpoint of each subscription; it is named after its topic."""
    for subscription in subscribed:
        endpoint = subscription.inputs.get("endpoint")
        own = max((name for name in topics if subscription.name.startswith(f"{name}-")), key=len, default="")
        if own and isinstance(endpoint, str):
            yield topics[own], endpoint


def _listed(by_topic: Mapping[str, list[dict[str, Any]]], name: str, endpoint: str) -> bool:
    # SNS lists an address without the password in it
    plain = _USER.sub("//", endpoint)
    return any(_USER.sub("//", row["Endpoint"]) == plain for row in by_topic.get(name, ()))


def _filtered(aws: Aws, region: str, arn: str) -> bool:
    answer = aws.call("sns", region, "get_subscription_attributes", SubscriptionArn=arn)
    return bool(answer.get("Attributes", {}).get("FilterPolicy"))


def _shown(endpoint: str) -> str:
    """An address as it may be printed: that of a hook opens a door, so its host stands for it.

    >>> _shown("ml@petsnap.example"), _shown("https://events.pagerduty.com/integration/KEY/enqueue")
    ('ml@petsnap.example', 'events.pagerduty.com')
    """
    return urlsplit(endpoint).hostname or endpoint


def _own_key(needs: Needs) -> str:
    network = needs.config.get("sizewell:network")
    key = network.get("kms_key_arn") if isinstance(network, dict) else None
    return key if isinstance(key, str) else ""


def _key(aws: Aws, region: str, key: str) -> Iterator[Finding]:
    about = f"key in {region}"
    try:
        state = aws.call("kms", region, "describe_key", KeyId=key)["KeyMetadata"]["KeyState"]
    except CloudError as error:
        if error.reason != "missing":
            raise
        yield wrong(about, f"{key} does not exist", "correct kms_key_arn in sizewell:network")
        return
    if state != "Enabled":
        yield wrong(about, f"{key} is {state}", f"aws kms enable-key --key-id {key} --region {region}")
    else:
        yield Finding(about, "ok", f"{key} is enabled")


def _mirrored(needs: Needs, region: str) -> list[re.Match[str]]:
    """Images of this region's registries that charts and jobs of the stack name."""
    texts = {text for resource in needs.resources for text in _texts(resource.inputs) if ".dkr.ecr." in text}
    matches = [match for text in sorted(texts) if (match := _MIRROR.fullmatch(text))]
    return [match for match in matches if match["region"] == region]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif hasattr(value, "values"):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _mirror(needs: Needs, aws: Aws, region: str) -> Iterator[Finding]:
    about, faults, wanted = f"mirror in {region}", [], _mirrored(needs, region)
    for match in wanted:
        try:
            aws.call(
                "ecr",
                region,
                "describe_images",
                registryId=match["account"],
                repositoryName=match["name"],
                imageIds=[{"imageTag": match["tag"]}],
            )
        except CloudError as error:
            if error.reason != "missing":
                raise
            fix = f"crane copy SOURCE {match[0]} (the outputs of the images stack list the sources)"
            faults.append(wrong(about, f"{match[0]} does not exist", fix))
    yield from faults or [Finding(about, "ok", f"{len(wanted)} images exist")]


def _rights(needs: Needs, aws: Aws) -> Iterator[Finding]:
    actions, unjudged = rights.needed(kind for kind in needs.types if kind.startswith("aws:"))
    arn = _caller(needs, aws)
    if arn.endswith(":root"):
        yield wrong("rights", "the caller is the account's root user", "log in with a role")
        return
    denied = [
        row["EvalActionName"]
        for row in aws.pages(
            "iam",
            "us-east-1",
            "simulate_principal_policy",
            "EvaluationResults",
            PolicySourceArn=arn,
            ActionNames=actions,
        )
        if row["EvalDecision"] != "allowed"
    ]
    counted = f"{plural(len(actions), 'action')} simulated, {plural(unjudged, 'resource type')} not checked"
    if denied:
        fix = f"an administrator has to allow {arn}: {', '.join(denied)}"
        yield wrong("rights", f"{len(denied)} of {counted}: denied {', '.join(denied)}", fix)
    else:
        yield Finding(
            "rights", "ok", f"{counted}; conditions and service control policies apply only during the update"
        )


def _caller(needs: Needs, aws: Aws) -> str:
    """The ARN of whoever is logged in; of a session, that of its role."""
    arn = str(aws.call("sts", needs.regions[0], "get_caller_identity")["Arn"])
    session = re.fullmatch(r"arn:(?P<p>[\w-]+):sts::(?P<account>\d+):assumed-role/(?P<role>[^/]+)/.+", arn)
    if session:
        arn = str(aws.call("iam", "us-east-1", "get_role", RoleName=session["role"])["Role"]["Arn"])
    return arn


def _linked(needs: Needs) -> list[rights.LinkedRole]:
    return [rights.LINKED[kind] for kind in needs.types if kind in rights.LINKED]


def _linked_roles(needs: Needs, aws: Aws, linked: list[rights.LinkedRole]) -> Iterator[Finding]:
    """Roles of AWS's own services, which a fresh account lacks: some appear with the first use, if whoever deploys may
    make them; without the others the resource is refused.
    """
    about = "service-linked roles"
    lacking = [row for row in linked if "*" in row.role or not _has_role(aws, row.role)]
    arn = _caller(needs, aws) if lacking else ""
    faults = []
    for row in lacking:
        create = f"aws iam create-service-linked-role --aws-service-name {row.service}"
        if row.made == "beforehand":
            message = f"{row.role} is missing, without which {row.type} is refused"
            faults.append(wrong(about, message, f"once in the account: {create}"))
        elif not arn.endswith(":root") and not _may_create(aws, arn, row):
            message = f"{row.role} does not exist yet, and {arn} may not create it: {row.type} would be refused"
            once = f"an administrator has to allow iam:CreateServiceLinkedRole for {row.service}"
            fix = once if "*" in row.role else f"{once}, or run once in the account: {create}"
            faults.append(wrong(about, message, fix))
    yield from faults
    if not faults:
        there = f"{len(linked) - len(lacking)} of {plural(len(linked), 'role')} exist"
        yield Finding(about, "ok", f"{there}; the others are made with the first use" if lacking else there)


def _has_role(aws: Aws, name: str) -> bool:
    try:
        aws.call("iam", "us-east-1", "get_role", RoleName=name)
    except CloudError as error:
        if error.code == "NoSuchEntity":
            return False
        raise
    return True


def _may_create(aws: Aws, arn: str, row: rights.LinkedRole) -> bool:
    partition, account = arn.split(":")[1], arn.split(":")[4]
    role = f"arn:{partition}:iam::{account}:role/aws-service-role/{row.service}/{row.role.replace('*', 'x')}"
    rows = aws.pages(
        "iam",
        "us-east-1",
        "simulate_principal_policy",
        "EvaluationResults",
        PolicySourceArn=arn,
        ActionNames=["iam:CreateServiceLinkedRole"],
        ResourceArns=[role],
        ContextEntries=[
            {"ContextKeyName": "iam:AWSServiceName", "ContextKeyValues": [row.service], "ContextKeyType": "string"}
        ],
    )
    return all(result["EvalDecision"] == "allowed" for result in rows)


def _budget_tags(needs: Needs, aws: Aws) -> Iterator[Finding]:
    """A budget that filters by a tag counts nothing until the tag is activated for cost allocation."""
    filters = {
        text.removeprefix("user:").partition("$")[0]
        for budget in needs.of("aws:budgets/budget:Budget")
        for text in _texts(budget.inputs.get("costFilters"))
        if text.startswith("user:") and "$" in text
    }
    if not filters:
        return
    rows = aws.pages("ce", "us-east-1", "list_cost_allocation_tags", "CostAllocationTags", TagKeys=sorted(filters))
    active = {row["TagKey"] for row in rows if row["Status"] == "Active"}
    if missing := sorted(filters - active):
        wanted = ",".join(f"TagKey={tag},Status=Active" for tag in missing)
        command = f"aws ce update-cost-allocation-tags-status --cost-allocation-tags-status {wanted}"
        fix = f"{command} (in the payer's account, a day after the first resource has the tag)"
        yield wrong(
            "budget tags", f"not activated for cost allocation, so the budget has no costs: {', '.join(missing)}", fix
        )
    else:
        yield Finding("budget tags", "ok", f"{', '.join(sorted(filters))} activated")
