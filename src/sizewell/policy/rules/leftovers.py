"""What is billed and used by nobody: disks, addresses, old versions, logs that are kept for ever."""

from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameter, Parameters, StackVerdicts, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Disk, Pool, StackFacts, Store, Thing
from sizewell.resources.values import Flag, count, either, get, items


@rule(
    "unattached-disk",
    area="spend",
    subject="disks",
    prevents="disks that are billed after their machine is gone",
    level="advisory",
)
def unattached_disk(disk: Disk, _: Parameters) -> Verdict:
    """Disks are attached: an unused one is still billed, and is usually a leftover of a deleted machine.

    >>> from sizewell.policy.examples import disk
    >>> unattached_disk(disk(attached=False), {}).fix
    'attach it, snapshot and delete it, or tag it sizewell-keep with a reason'
    >>> unattached_disk(disk(attached=True), {}) is None
    True
    """
    if get(disk.tags, "sizewell-keep") is not None:
        return None
    return require(
        disk.attached,
        message="the disk is billed every month but is not attached to a machine",
        fix="attach it, snapshot and delete it, or tag it sizewell-keep with a reason",
        unknown="what it is attached to",
    )


_ADDRESSES: Final = {
    "aws:ec2/eip:Eip": ("instance", "networkInterface"),
    "gcp:compute/address:Address": ("users",),
    "azure-native:network:PublicIPAddress": ("ipConfiguration",),
}
_ADDRESS_USERS: Final = (
    ("aws:ec2/eipAssociation:EipAssociation", "allocationId"),
    ("aws:ec2/natGateway:NatGateway", "allocationId"),
    ("aws:lb/loadBalancer:LoadBalancer", "subnetMappings"),
    ("gcp:compute/instance:Instance", "networkInterfaces"),
    ("gcp:compute/routerNat:RouterNat", "natIps"),
    ("gcp:compute/forwardingRule:ForwardingRule", "ipAddress"),
    ("azure-native:network:NatGateway", "publicIpAddresses"),
    ("azure-native:network:LoadBalancer", "frontendIPConfigurations"),
    ("azure-native:network:NetworkInterface", "ipConfigurations"),
)


@rule(
    "unused-address",
    area="spend",
    subject="stack",
    prevents="unused addresses that are billed",
    level="advisory",
)
def unused_address(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Public addresses are in use: an unused one is billed too, and costs more than one in use.

    >>> from sizewell.policy.examples import resource, stack, thing
    >>> alone = resource("aws:ec2/eip:Eip")
    >>> unused_address(stack(alone, things=(thing(type="aws:ec2/eip:Eip"),)), {})[0][1].fix
    'use it or delete it'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for thing in facts.things:
        props = _ADDRESSES.get(thing.type)
        if props is None or thing.inputs.get("addressType") == "INTERNAL":
            continue
        own: Flag = any(thing.inputs.get(prop) is not None for prop in props)
        users = [facts.graph.referring(thing.resource, kind, prop) for kind, prop in _ADDRESS_USERS]
        used = either(own, *(UNKNOWN if isinstance(user, Unknown) else bool(user) for user in users))
        verdict = require(
            used,
            message="the public address is not used but is billed every hour",
            fix="use it or delete it",
            unknown="what uses the address",
        )
        verdicts.append((thing.urn, verdict))
    return verdicts


_SECURITY_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
_SECURITY_GROUP_RULES: Final = (
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
    "aws:ec2/securityGroupRule:SecurityGroupRule",
    _SECURITY_GROUP,
)


@rule(
    "security-group-unused",
    area="safety",
    subject="stack",
    prevents="machines without the rules written for them",
    level="advisory",
    clouds=("aws",),
)
def security_group_unused(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Security groups are in use: an unused one was meant for machines that now lack it.

    >>> from sizewell.policy.examples import resource, stack
    >>> security_group_unused(stack(resource("aws:ec2/securityGroup:SecurityGroup", "nodes")), {})[0][1].fix
    'name the group where the machines, endpoints or jobs are made, or delete it'
    """
    groups = facts.graph.of(_SECURITY_GROUP)
    if not groups:
        return []
    users = [user for user in facts.graph.plan.resources if user.custom and user.type not in _SECURITY_GROUP_RULES]
    used = {urn for user in users for urns in user.property_dependencies.values() for urn in urns}
    named: set[str] = set()
    open_ends = False
    for user in users:
        for place in (user.inputs, get(user.inputs, "vpcConfig"), get(user.inputs, "networkInterfaces", 0)):
            for key in ("securityGroups", "securityGroupIds", "vpcSecurityGroupIds", "securityGroup"):
                listed = items(get(place, key))
                stated: tuple[Any, ...] = (UNKNOWN,) if isinstance(listed, Unknown) else listed
                open_ends |= UNKNOWN in stated and not user.property_dependencies
                named.update(str(entry) for entry in stated)
    verdicts: list[tuple[str, Verdict]] = []
    for group in groups:
        if group.urn in used or group.name in named or group.inputs.get("name") in named:
            verdicts.append((group.urn, None))
        elif open_ends:
            verdicts.append((group.urn, Undetermined("which groups the machines use")))
        else:
            message = "this security group is not used: the machines that it was written for have another one, or none"
            fix = "name the group where the machines, endpoints or jobs are made, or delete it"
            verdicts.append((group.urn, Violation(message, fix)))
    return verdicts


@rule(
    "machine-disk-oversized",
    area="spend",
    subject="pools",
    prevents="empty disks that are billed with every machine",
    level="advisory",
    parameters={"gib": Parameter(default=4096, schema={"type": "integer", "minimum": 1}, meaning="largest boot disk")},
)
def machine_disk_oversized(pool: Pool, parameters: Parameters) -> Verdict:
    """A machine's boot disk is not oversized: it is billed as long as the machine exists, full or empty.

    >>> from sizewell.policy.examples import pool
    >>> machine_disk_oversized(pool(disk_gib=100000), {"gib": 4096}).fix
    'lower the disk to 4096 GiB, or raise parameters.machine-disk-oversized.gib'
    """
    if isinstance(pool.disk_gib, Unknown):
        return Undetermined("the size of the boot disk")
    if pool.disk_gib is None or pool.disk_gib <= parameters["gib"]:
        return None
    return Violation(
        f"each machine is billed for a boot disk of {pool.disk_gib} GiB",
        f"lower the disk to {parameters['gib']} GiB, or raise parameters.machine-disk-oversized.gib",
    )


@rule(
    "old-versions-unbounded",
    area="spend",
    subject="stores",
    prevents="old versions that are hidden and are billed indefinitely",
    debatable=True,
)
def old_versions_unbounded(store: Store, _: Parameters) -> Verdict:
    """In a versioned bucket, old versions expire: they are billed like current ones and do not show in listings.

    >>> from sizewell.policy.examples import store
    >>> old_versions_unbounded(store(versioned=True), {}).fix
    'add a lifecycle rule that expires noncurrent versions'
    >>> old_versions_unbounded(store(versioned=True, cleans_versions=True), {}) is None
    True
    """
    if store.versioned is False or store.cleans_versions is True:
        return None
    if store.versioned is UNKNOWN:
        return Undetermined("versioning")
    return require(
        store.cleans_versions,
        message="every overwritten or deleted object is kept as an old version and billed indefinitely",
        fix="add a lifecycle rule that expires noncurrent versions",
        unknown="the lifecycle rules",
    )


@rule(
    "uploads-unbounded",
    area="spend",
    subject="stores",
    prevents="incomplete uploads that are billed indefinitely",
    level="advisory",
    clouds=("aws", "gcp"),
    types=("aws:s3/bucket:Bucket", "gcp:storage/bucket:Bucket"),
)
def uploads_unbounded(store: Store, _: Parameters) -> Verdict:
    """Interrupted uploads are removed: their parts are billed and do not show in listings.

    >>> from sizewell.policy.examples import store
    >>> uploads_unbounded(store(), {}).fix
    'add a lifecycle rule that aborts incomplete multipart uploads after 7 days'
    """
    if store.logs:
        return None  # the services that write logs upload them whole
    return require(
        store.cleans_uploads,
        message="parts of incomplete uploads are kept and billed, and listings do not show them",
        fix="add a lifecycle rule that aborts incomplete multipart uploads after 7 days",
        unknown="the lifecycle rules",
    )


_RETENTION_INPUTS: Final = {
    "aws:cloudwatch/logGroup:LogGroup": "retentionInDays",
    "azure-native:operationalinsights:Workspace": "retentionInDays",
}


@rule(
    "log-retention-unbounded",
    area="spend",
    subject="things",
    prevents="log storage that only grows",
    level="advisory",
    types=tuple(_RETENTION_INPUTS),
    clouds=("aws", "azure"),
)
def log_retention_unbounded(thing: Thing, _: Parameters) -> Verdict:
    """Logs have a retention period: kept for ever, they cost more every month.

    >>> from sizewell.policy.examples import thing
    >>> log_retention_unbounded(thing(type="aws:cloudwatch/logGroup:LogGroup"), {}).fix
    'set retentionInDays'
    """
    days = count(thing.inputs.get(_RETENTION_INPUTS[thing.type]))
    return require(
        UNKNOWN if isinstance(days, Unknown) else bool(days),
        message="the logs have no retention period and are billed indefinitely",
        fix=f"set {_RETENTION_INPUTS[thing.type]}",
        unknown="the retention",
    )
