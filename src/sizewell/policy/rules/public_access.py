"""Databases, functions, machine images and registries that strangers could reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sizewell.policy.rule import Parameters, Undetermined, Verdict, Violation, rule
from sizewell.resources.readers.network import covers_world
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import Flag, either, flag, get, items, known

_PUBLIC_FLAGS: Final[Mapping[str, str]] = {
    "aws:rds/instance:Instance": "publiclyAccessible",
    "aws:rds/clusterInstance:ClusterInstance": "publiclyAccessible",
    "aws:redshift/cluster:Cluster": "publiclyAccessible",
    "aws:redshiftserverless/workgroup:Workgroup": "publiclyAccessible",
    "aws:dms/replicationInstance:ReplicationInstance": "publiclyAccessible",
    "aws:mq/broker:Broker": "publiclyAccessible",
    "azure-native:cache:Redis": "enableNonSslPort",
    "azure-native:redis:Redis": "enableNonSslPort",
}
_OPEN_UNLESS_STATED: Final = (  # of these whoever says nothing is on the internet
    "azure-native:documentdb:DatabaseAccount",
    "azure-native:cosmosdb:DatabaseAccount",
    "azure-native:sql:Server",
)
_FIREWALL_RULES: Final = (
    "azure-native:sql:FirewallRule",
    "azure-native:dbforpostgresql:FirewallRule",
    "azure-native:dbformysql:FirewallRule",
    "azure-native:cache:FirewallRule",
    "azure-native:redis:FirewallRule",
    "azure-native:synapse:IpFirewallRule",
)
_KAFKA: Final = "aws:msk/cluster:Cluster"
_ALLOYDB: Final = "gcp:alloydb/instance:Instance"
_CLOUD_SQL: Final = "gcp:sql/databaseInstance:DatabaseInstance"


@rule(
    "database-public",
    area="safety",
    subject="things",
    prevents="unauthorized access to databases",
    types=(*_PUBLIC_FLAGS, *_OPEN_UNLESS_STATED, *_FIREWALL_RULES, _KAFKA, _ALLOYDB, _CLOUD_SQL),
)
def database_public(thing: Thing, _: Parameters) -> Verdict:
    """A database is reachable only from inside the network, or from a named range.

    >>> from sizewell.policy.examples import thing
    >>> database_public(thing(type="aws:rds/instance:Instance", inputs={"publiclyAccessible": True}), {}).fix
    'keep it in private subnets, or name the ranges that need it'
    """
    open_ = _is_open(thing.type, thing.inputs)
    if isinstance(open_, Unknown):
        return Undetermined("who can reach the database")
    if not open_:
        return None
    return Violation(
        "the database is open to the internet: anyone can try passwords",
        "keep it in private subnets, or name the ranges that need it",
    )


def _is_open(kind: str, inputs: Mapping[str, Any]) -> Flag:
    if kind in _PUBLIC_FLAGS:
        return flag(inputs.get(_PUBLIC_FLAGS[kind]))
    if kind in _OPEN_UNLESS_STATED:
        stated = inputs.get("publicNetworkAccess")
        rules = either(*(_is_given(inputs.get(key)) for key in ("ipRules", "isVirtualNetworkFilterEnabled")))
        return UNKNOWN if UNKNOWN in (stated, rules) else stated == "Enabled" and not rules
    if kind in _FIREWALL_RULES:
        first, last = inputs.get("startIpAddress"), inputs.get("endIpAddress")
        if UNKNOWN in (first, last):
            return UNKNOWN
        return str(first).startswith("0.") and int(str(last).partition(".")[0] or 0) > 63
    if kind == _KAFKA:
        stated = get(inputs, "brokerNodeGroupInfo", "connectivityInfo", "publicAccess", "type")
        return UNKNOWN if stated is UNKNOWN else bool(stated == "SERVICE_PROVIDED_EIPS")
    path, key = (
        (("networkConfig", "authorizedExternalNetworks"), "cidrRange")
        if kind == _ALLOYDB
        else (("settings", "ipConfiguration", "authorizedNetworks"), "value")
    )
    listed = items(get(inputs, *path))
    if isinstance(listed, Unknown):
        return UNKNOWN
    ranges = [get(entry, key) for entry in listed]
    return True if covers_world([each for each in ranges if isinstance(each, str)]) else (UNKNOWN in ranges and UNKNOWN)


def _is_given(value: Any) -> Flag:
    return UNKNOWN if value is UNKNOWN else bool(value)


_FUNCTION_URL: Final = "aws:lambda/functionUrl:FunctionUrl"
_FUNCTION_PERMISSION: Final = "aws:lambda/permission:Permission"
_LAYER_PERMISSION: Final = "aws:lambda/layerVersionPermission:LayerVersionPermission"


@rule(
    "function-public",
    area="safety",
    subject="things",
    prevents="calls by outsiders at your cost",
    clouds=("aws",),
    types=(_FUNCTION_URL, _FUNCTION_PERMISSION, _LAYER_PERMISSION),
)
def function_public(thing: Thing, _: Parameters) -> Verdict:
    """A function authenticates its callers: anybody else's calls are billed, and use the function's rights.

    >>> from sizewell.policy.examples import thing
    >>> function_public(thing(type="aws:lambda/functionUrl:FunctionUrl", inputs={"authorizationType": "NONE"}), {}).fix
    'set authorizationType to AWS_IAM'
    """
    message = "anyone on the internet may call the function, with its rights and at your cost"
    if thing.type == _FUNCTION_URL:
        stated = thing.inputs.get("authorizationType")
        if stated is UNKNOWN:
            return Undetermined("who can call it")
        return Violation(message, "set authorizationType to AWS_IAM") if stated == "NONE" else None
    narrowed = [thing.inputs.get(key) for key in ("sourceArn", "sourceAccount", "principalOrgId", "organizationId")]
    principal = thing.inputs.get("principal")
    if principal is UNKNOWN:
        return Undetermined("who can call it")
    if principal != "*" or any(each is not None for each in narrowed):
        return None
    return Violation(message, "name the principal, or add sourceArn, sourceAccount or principalOrgId")


_IMAGE_PERMISSION: Final = "aws:ec2/amiLaunchPermission:AmiLaunchPermission"
_DATABASE_SNAPSHOTS: Final = ("aws:rds/snapshot:Snapshot", "aws:rds/clusterSnapshot:ClusterSnapshot")
_SNAPSHOT_PERMISSION: Final = "aws:ec2/snapshotCreateVolumePermission:SnapshotCreateVolumePermission"


@rule(
    "image-shared",
    area="safety",
    subject="things",
    prevents="data and keys in public images",
    clouds=("aws",),
    types=(_IMAGE_PERMISSION, _SNAPSHOT_PERMISSION, *_DATABASE_SNAPSHOTS),
)
def image_shared(thing: Thing, _: Parameters) -> Verdict:
    """Machine images and snapshots are shared with accounts that are named, not with all.

    >>> from sizewell.policy.examples import thing
    >>> image_shared(thing(inputs={"group": "all"}), {}).fix
    'name the accounts'
    """
    shared = items(thing.inputs.get("sharedAccounts"))
    stated = [thing.inputs.get("group"), thing.inputs.get("accountId"), *(shared if known(shared) else (UNKNOWN,))]
    if "all" in stated:
        return Violation("anyone may start or copy the image, with the data and keys in it", "name the accounts")
    return Undetermined("who it is shared with") if UNKNOWN in stated else None


@rule(
    "registry-open",
    area="safety",
    subject="things",
    prevents="untrusted code in your jobs",
    clouds=("azure",),
    types=("azure-native:containerregistry:Registry",),
)
def registry_open(thing: Thing, _: Parameters) -> Verdict:
    """A registry of images authenticates who pushes and who pulls.

    >>> from sizewell.policy.examples import thing
    >>> registry_open(thing(type="azure-native:containerregistry:Registry", inputs={"adminUserEnabled": True}), {}).fix
    'set adminUserEnabled to false and assign roles instead'
    """
    admin, anonymous = (flag(thing.inputs.get(key)) for key in ("adminUserEnabled", "anonymousPullEnabled"))
    if admin is True:
        return Violation(
            "the admin account is on: one password allows pushing other code into every job",
            "set adminUserEnabled to false and assign roles instead",
        )
    if anonymous is True:
        return Violation(
            "anonymous pull is on: anyone can read the images, and the traffic is billed to you",
            "set anonymousPullEnabled to false",
        )
    return Undetermined("who can push and pull") if UNKNOWN in (admin, anonymous) else None


_ECR: Final = "aws:ecr/repository:Repository"
_ARTIFACTS: Final = "gcp:artifactregistry/repository:Repository"


@rule(
    "image-tags-mutable",
    area="safety",
    subject="things",
    prevents="jobs that restart with different code",
    level="advisory",
    clouds=("aws", "gcp"),
    types=(_ECR, _ARTIFACTS),
)
def image_tags_mutable(thing: Thing, _: Parameters) -> Verdict:
    """Image tags are immutable: a job that resumes must not start other code under the same name.

    >>> from sizewell.policy.examples import thing
    >>> image_tags_mutable(thing(type="aws:ecr/repository:Repository"), {}).fix
    'set imageTagMutability to IMMUTABLE'
    """
    if thing.type == _ECR:
        stated = thing.inputs.get("imageTagMutability")
        fixed, fix = str(stated).startswith("IMMUTABLE"), "set imageTagMutability to IMMUTABLE"
    else:
        kind = thing.inputs.get("format")
        if kind is not UNKNOWN and str(kind).upper() != "DOCKER":
            return None
        stated = get(thing.inputs, "dockerConfig", "immutableTags", default=UNKNOWN if kind is UNKNOWN else None)
        fixed, fix = flag(stated) is True, "set dockerConfig.immutableTags to true"
    if fixed:
        return None
    if stated is UNKNOWN:
        return Undetermined("whether its tags are mutable")
    return Violation("tags are mutable: pushing the same tag again changes the code of every job that restarts", fix)
