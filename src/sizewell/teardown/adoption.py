"""Which resource of a stack an orphan is, and by which identity its provider imports it: pure.

An update that was killed leaves what it had begun in the state's pending operations, with type, name and inputs; one
whose answer was lost leaves nothing there, but the program still names what it would build. Both meet what a cloud has
by the tag `sizewell-id`, which follows from project, stack, type and name. What carries no tag (rules, policies,
routes, pools of GKE) is known by the identity that its inputs make up: the provider is asked whether it is there.

Forms of identities are those that the providers document under "Import".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sizewell.recording.sources.state import State
from sizewell.recording.wire import UNKNOWN_MARK
from sizewell.teardown.orphans import ID_TAG, PARTS, Thing, is_of, maker_of, own_tag
from sizewell.teardown.units import data_of

# Amazon's types that are imported by their whole ARN; the others by what the ARN ends with.
BY_ARN: Final = frozenset(
    {
        *("aws:iam/policy:Policy", "aws:iam/openIdConnectProvider:OpenIdConnectProvider", "aws:sns/topic:Topic"),
        *("aws:sfn/stateMachine:StateMachine", "aws:secretsmanager/secret:Secret", "aws:acm/certificate:Certificate"),
        *("aws:lb/loadBalancer:LoadBalancer", "aws:lb/targetGroup:TargetGroup", "aws:lb/listener:Listener"),
        *("aws:lb/listenerRule:ListenerRule", "aws:alb/loadBalancer:LoadBalancer", "aws:msk/cluster:Cluster"),
        *("aws:ecs/taskDefinition:TaskDefinition", "aws:ecs/capacityProvider:CapacityProvider"),
        *("aws:batch/jobQueue:JobQueue", "aws:batch/jobDefinition:JobDefinition"),
        *("aws:sagemaker/app:App", "aws:sagemaker/mlflowApp:MlflowApp", "aws:sagemaker/space:Space"),
        *("aws:sagemaker/userProfile:UserProfile", "aws:s3/vectorsVectorBucket:VectorsVectorBucket"),
        *("aws:bedrock/customModel:CustomModel", "aws:bedrock/evaluationJob:EvaluationJob"),
        "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput",
    }
)
# And those that are imported by several parts of it; {1}, {2}: parts of its path, {1-}: all of them.
OF_ARN: Final[Mapping[str, str]] = {
    "aws:autoscaling/group:Group": "{1}",  # autoScalingGroup:UUID:autoScalingGroupName/NAME
    "aws:bedrock/guardrail:Guardrail": "{1},DRAFT",
    "aws:budgets/budget:Budget": "{account}:{1}",
    "aws:cloudwatch/eventRule:EventRule": "{1-}",  # rule/NAME, or rule/BUS/NAME
    "aws:ecr/repository:Repository": "{1-}",
    "aws:ecs/service:Service": "{1-}",  # service/CLUSTER/NAME
    "aws:eks/accessEntry:AccessEntry": "{1}:arn:aws:iam::{3}:{2}/{4}",  # access-entry/CLUSTER/role/ACCOUNT/NAME/UUID
    "aws:eks/addon:Addon": "{1}:{2}",
    "aws:eks/capability:Capability": "{1},{2}",
    "aws:eks/fargateProfile:FargateProfile": "{1}:{2}",
    "aws:eks/nodeGroup:NodeGroup": "{1}:{2}",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": "{1},{2}",
    "aws:s3/accessPoint:AccessPoint": "{account}:{1}",
    "aws:sqs/queue:Queue": "https://sqs.{region}.amazonaws.com/{account}/{0}",
}
# Looked up by name, though they carry tags: the Resource Groups Tagging API lists no role (its page "Services that
# support the Resource Groups Tagging API"), and the rest of IAM in one region, which may not be the stack's.
UNLISTED: Final = frozenset({"aws:iam/role:Role", "aws:iam/instanceProfile:InstanceProfile", "aws:iam/policy:Policy"})
# Types of which the provider's own page says that it does not import them.
UNIMPORTABLE: Final = frozenset(
    {
        *("gcp:compute/instanceFromTemplate:InstanceFromTemplate", "gcp:container/registry:Registry"),
        *("gcp:dataflow/flexTemplateJob:FlexTemplateJob", "gcp:dataproc/cluster:Cluster"),
        *("gcp:serviceaccount/key:Key", "gcp:vertex/aiDataset:AiDataset", "gcp:workflows/workflow:Workflow"),
        "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment",
    }
)
# What carries no tag, or whose tags no cloud lists: its identity out of its inputs. {project}, {region},
# {account} and {subscription} are the provider's where the inputs have none. Several names: the first that is there.
FROM_INPUTS: Final[Mapping[str, str]] = {
    "aws:appautoscaling/target:Target": "{serviceNamespace}/{resourceId}/{scalableDimension}",
    "aws:autoscaling/policy:Policy": "{autoscalingGroupName}/{name}",
    "aws:autoscaling/schedule:Schedule": "{autoscalingGroupName}/{scheduledActionName}",
    "aws:autoscaling/tag:Tag": "{autoscalingGroupName},{tag.key}",
    "aws:cloudwatch/eventTarget:EventTarget": "{rule}/{targetId}",
    "aws:ec2/route:Route": "{routeTableId}_{destinationCidrBlock|destinationIpv6CidrBlock|destinationPrefixListId}",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "{subnetId|gatewayId}/{routeTableId}",
    "aws:iam/instanceProfile:InstanceProfile": "{name}",
    "aws:iam/policy:Policy": "arn:aws:iam::{account}:policy/{name}",
    "aws:iam/role:Role": "{name}",
    "aws:iam/rolePolicy:RolePolicy": "{role}:{name}",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "{role}/{policyArn}",
    "aws:kms/alias:Alias": "{name}",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": "{bucket}",
    "aws:s3/bucketLogging:BucketLogging": "{bucket}",
    "aws:s3/bucketNotification:BucketNotification": "{bucket}",
    "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration": "{bucket}",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": "{bucket}",
    "aws:s3/bucketPolicy:BucketPolicy": "{bucket}",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": "{bucket}",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": "{bucket}",
    "aws:s3/bucketVersioning:BucketVersioning": "{bucket}",
    "aws:scheduler/schedule:Schedule": "{groupName}/{name}",
    "aws:sns/topicPolicy:TopicPolicy": "{arn}",
    "aws:sqs/queuePolicy:QueuePolicy": "{queueUrl}",
    "gcp:cloudscheduler/job:Job": "projects/{project}/locations/{region}/jobs/{name}",
    "gcp:compute/firewall:Firewall": "projects/{project}/global/firewalls/{name}",
    "gcp:compute/network:Network": "projects/{project}/global/networks/{name}",
    "gcp:compute/router:Router": "projects/{project}/regions/{region}/routers/{name}",
    "gcp:compute/routerNat:RouterNat": "projects/{project}/regions/{region}/routers/{router}/{name}",
    "gcp:compute/subnetwork:Subnetwork": "projects/{project}/regions/{region}/subnetworks/{name}",
    "gcp:container/nodePool:NodePool": "{project}/{location}/{cluster}/{name}",
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": "{cryptoKeyId} {role} {member}",
    "gcp:kms/keyRing:KeyRing": "projects/{project}/locations/{location}/keyRings/{name}",
    "gcp:projects/iAMCustomRole:IAMCustomRole": "projects/{project}/roles/{roleId}",
    "gcp:projects/iAMMember:IAMMember": "{project} {role} {member}",
    "gcp:pubsub/topicIAMMember:TopicIAMMember": "projects/{project}/topics/{topic} {role} {member}",
    "gcp:serviceaccount/account:Account": (
        "projects/{project}/serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com"
    ),
    "gcp:serviceaccount/iAMMember:IAMMember": "{serviceAccountId} {role} {member}",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "b/{bucket} {role} {member}",
    "azure-native:authorization:RoleAssignment": (
        "{scope}/providers/Microsoft.Authorization/roleAssignments/{roleAssignmentName}"
    ),
    "azure-native:authorization:RoleDefinition": (
        "{scope}/providers/Microsoft.Authorization/roleDefinitions/{roleDefinitionId}"
    ),
    "azure-native:network:Subnet": (
        "/subscriptions/{subscription}/resourceGroups/{resourceGroupName}/providers/Microsoft.Network"
        "/virtualNetworks/{virtualNetworkName}/subnets/{subnetName|name}"
    ),
    "azure-native:storage:BlobContainer": (
        "/subscriptions/{subscription}/resourceGroups/{resourceGroupName}/providers/Microsoft.Storage"
        "/storageAccounts/{accountName}/blobServices/default/containers/{containerName}"
    ),
    "azure-native:managedidentity:FederatedIdentityCredential": (
        "/subscriptions/{subscription}/resourceGroups/{resourceGroupName}/providers/Microsoft.ManagedIdentity"
        "/userAssignedIdentities/{resourceName}/federatedIdentityCredentials/{federatedIdentityCredentialResourceName}"
    ),
}
_PLACE = re.compile(r"\{([^}]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A resource that the stack has, or would have, and whose creation nobody saw the end of."""

    urn: str
    type: str
    name: str
    inputs: Mapping[str, Any] | None = None  # None: not known
    parent: str = ""  # its URN
    provider: str = ""  # its URN::id
    listed: str = ""  # its name in the engine's file of creations, where only the program names it
    needs: tuple[str, ...] = ()  # URNs of what it depends on

    @property
    def pending(self) -> bool:
        """Whether its creation stands in the state's pending operations."""
        return not self.listed

    @property
    def tagged(self) -> bool:
        """Whether it would carry the tag by which a cloud lists it."""
        return bool(own_tag(self.inputs or {}))

    def may_be_there(self, known: Collection[str], *, behind: bool = False) -> bool:
        """Whether an update can have begun it: all that it depends on is among `known`, the URNs of the state. One that
        is `behind` may lack the component above it, which is in no cloud.
        """
        provider = self.provider.rpartition("::")[0]
        return all(urn in known for urn in (*self.needs, "" if behind else self.parent, provider) if urn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An orphan and the resource that it is; `thing` None: no list of tags shows it."""

    wanted: Wanted
    identity: str  # as the provider imports it
    thing: Thing | None = None

    @property
    def by_name_alone(self) -> bool:
        """Whether only its name says that it is the stack's: no tag, no operation that had begun, and nothing of the
        state that it hangs on. Another owner may have made it.
        """
        return self.thing is None and not self.wanted.pending and not self.wanted.needs

    @property
    def data(self) -> str:
        """What of value it holds; "" for none."""
        return data_of(self.wanted.type, self.wanted.inputs or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """Orphans by what can be done with them."""

    matches: tuple[Match, ...]
    duplicates: tuple[Thing, ...]  # a second one of what is known or matched: a person decides which of them stays
    unmatched: tuple[Thing, ...]  # no resource of the stack: of another release or decision, or made by hand
    pending: tuple[str, ...]  # URNs of creations that are in no cloud, as far as names and tags tell
    unseen: tuple[str, ...] = ()  # URNs of what may be there: it carries no tag, and its identity is not known
    refused: tuple[tuple[Thing, str], ...] = ()  # resources of the stack that no provider imports, and why
    gone: tuple[Thing, ...] = ()  # their tags are still listed
    behind: bool = False  # the state is older than the cloud, which has things whose dependencies it does not know


def pending_creations(state: State) -> list[Wanted]:
    """What an update had begun to create when it ended."""
    return [
        Wanted(
            urn=operation.resource.urn,
            type=operation.resource.type,
            name=operation.resource.name,
            inputs=operation.resource.inputs,
            parent=operation.resource.parent or "",
            provider=operation.resource.provider or "",
        )
        for operation in state.pending_operations
        if operation.type == "creating" and not operation.resource.type.startswith("pulumi:")
    ]


def sort_out(
    orphans: Sequence[Thing],
    state: State,
    wanted: Iterable[Wanted],
    identity_of: Callable[[str, str], str],
    *,
    behind: bool = False,
    doubtful: Collection[str] = (),
) -> Sorted:
    """Which resource each orphan is: by its tag, or where an operation is pending by what its inputs say.

    `identity_of` gives the tag `sizewell-id` of a resource from its type and name. Where a state was lost, or an old
    one restored, the cloud also has what depends on things that cannot be seen; after an update that was killed it
    has not. `behind` says that this is known already; `doubtful` are URNs of which nobody knows whether they stand.
    """
    known = {identity_of(resource.type, resource.name): resource.type for resource in state.resources if resource.id}
    urns = {resource.urn for resource in state.resources} | set(doubtful)
    by_tag: dict[str, list[Thing]] = {}
    for thing in orphans:
        by_tag.setdefault(str((thing.tags or {}).get(ID_TAG, "")), []).append(thing)
    matches: list[Match] = []
    twice = [
        thing for tag, things in by_tag.items() if tag in known for thing in things if is_of(thing.kind, known[tag])
    ]
    made: list[Thing] = []
    refused: list[tuple[Thing, str]] = []
    pending: list[str] = []
    unseen: list[str] = []
    done: set[str] = set()
    untagged: list[Wanted] = []
    for each in wanted:
        tag = identity_of(each.type, each.name)
        if each.urn in done or tag in known:
            continue
        done.add(each.urn)
        things, parts = _split(by_tag.get(tag, []), each.type)
        made += parts
        if len(things) > 1:
            twice += things
        elif things and each.type in UNIMPORTABLE:
            urns.add(each.urn)
            refused.append((things[0], f"its provider does not import a {each.type.rpartition(':')[2]}"))
        elif things:
            identity = id_from_inputs(each, state) or import_id(each.type, things[0].identity)
            matches.append(Match(wanted=each, identity=identity, thing=things[0]))
            behind = behind or not (each.pending or each.may_be_there(urns))
        elif each.pending or not each.tagged or each.type in UNLISTED:
            untagged.append(each)
    while untagged:
        # Whose identity is known can be asked about; a state that a kill cut off may lack even its component.
        near = [
            each
            for each in untagged
            if each.pending or each.may_be_there(urns, behind=behind or bool(id_from_inputs(each, state)))
        ]
        if not near:
            break
        for each in near:
            untagged.remove(each)
            identity = id_from_inputs(each, state)
            if identity and each.type not in UNIMPORTABLE:
                matches.append(Match(wanted=each, identity=identity))
            elif each.pending:
                pending.append(each.urn)
            else:
                unseen.append(each.urn)
        if not behind:
            break
        urns |= set(unseen)
    taken = {match.thing.identity for match in matches if match.thing}
    taken |= {thing.identity for thing in (*twice, *made, *(thing for thing, _ in refused))}
    return Sorted(
        matches=tuple(matches),
        duplicates=tuple(twice),
        unmatched=tuple(thing for thing in orphans if thing.identity not in taken),
        pending=tuple(pending),
        unseen=tuple(unseen),
        refused=tuple(refused),
        behind=behind,
    )


def _split(things: Sequence[Thing], type_: str) -> tuple[list[Thing], list[Thing]]:
    """Of what carries the tag of a resource: what may be that resource, and what it made. Where a cloud does not list a
    group, the machines of it do: they name it.
    """
    alike = [thing for thing in things if is_of(thing.kind, type_)]
    if alike:
        return alike, [thing for thing in things if thing not in alike]
    makers = {maker_of(thing, type_): thing for thing in things}
    if makers.keys() - {""}:
        groups = [replace(thing, identity=maker, kind=type_) for maker, thing in makers.items() if maker]
        return groups, list(things)
    return [thing for thing in things if thing.kind not in PARTS], []


def why_kept(urn: str, state: State, *, data: bool) -> str:
    """Why a resource is not destroyed by itself: what would go with it, as it is one of its dependents, is protected
    or holds data (which `data` lets go); "" where it can go.
    """
    going = {urn}
    while True:
        more = {
            each.urn
            for each in state.resources
            if each.urn not in going
            and going & {*each.dependencies, each.parent, (each.provider or "").rpartition("::")[0], each.deleted_with}
        }
        if not more:
            break
        going |= more
    for each in state.resources:
        if each.urn not in going or each.external:
            continue
        what = "" if data or each.retain_on_delete else data_of(each.type, each.inputs)
        reason = "is protected" if each.protect else f"holds data ({what})" if what else ""
        if reason:
            return f"it {reason}" if each.urn == urn else f"{each.name} depends on it and {reason}"
    return ""


def import_id(kind: str, identity: str) -> str:
    """The identity by which a provider imports what a cloud calls `identity` (ARN, asset name, ARM id).

    >>> import_id("aws:ec2/vpc:Vpc", "arn:aws:ec2:us-east-1:123456789012:vpc/vpc-1")
    'vpc-1'
    >>> import_id("gcp:storage/bucket:Bucket", "storage.googleapis.com/petsnap")
    'petsnap'
    """
    if identity.startswith("arn:") and kind not in BY_ARN:
        return _of_arn(kind, identity)
    host, _, path = identity.partition("/")
    if host.endswith(".googleapis.com"):
        if kind == "gcp:container/nodePool:NodePool":
            return "/".join(path.split("/")[1::2])
        return path
    return identity


def _of_arn(kind: str, arn: str) -> str:
    _, partition, service, region, account, rest = arn.split(":", 5)
    form = OF_ARN.get(kind)
    if form is not None:
        parts = rest.split("/")
        known = {str(place): part for place, part in enumerate(parts)}
        known |= {"region": region, "account": account, "1-": "/".join(parts[1:])}
        return _PLACE.sub(lambda place: known.get(place[1], ""), form).replace("arn:aws:", f"arn:{partition}:")
    if kind == "aws:cloudwatch/logGroup:LogGroup":  # log-group:/aws/vpc/flow
        return rest.partition(":")[2].removesuffix(":*")
    if service in ("ssm", "iam") and "/" in rest:
        return rest.rpartition("/")[2]
    for separator in (":", "/"):
        if separator in rest:
            return rest.rpartition(separator)[2] if service != "cloudwatch" else rest.partition(":")[2]
    return rest


def id_from_inputs(wanted: Wanted, state: State) -> str:
    """The identity that a resource without tags has by its inputs; "" where they do not say it."""
    form = FROM_INPUTS.get(wanted.type)
    if form is None or wanted.inputs is None:
        return ""
    given = {**_provider_of(wanted, state), **{key: value for key, value in wanted.inputs.items() if value}}
    parts: list[str] = []
    rest = 0
    for place in _PLACE.finditer(form):
        values = (_at(given, name) for name in place[1].split("|"))
        value = next((value for value in values if isinstance(value, str)), None)
        if value is None or UNKNOWN_MARK in value:
            return ""
        parts += [form[rest : place.start()], value]
        rest = place.end()
    return "".join((*parts, form[rest:]))


def _at(given: Mapping[str, Any], path: str) -> Any:
    """What stands at a path such as `tag.key`."""
    value: Any = given
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _provider_of(wanted: Wanted, state: State) -> dict[str, Any]:
    """Where the provider of a resource works, in the words of `FROM_INPUTS`."""
    urn = wanted.provider.rpartition("::")[0]
    provider = next((resource for resource in state.resources if resource.urn == urn), None)
    inputs = provider.inputs if provider is not None else {}
    named = {"project": inputs.get("project"), "region": inputs.get("region"), "location": inputs.get("location")}
    accounts = inputs.get("allowedAccountIds") or []
    accounts = json.loads(accounts) if isinstance(accounts, str) else accounts  # as the engine keeps a provider's lists
    own = str(accounts[0]) if len(accounts) == 1 else None
    return {**named, "subscription": inputs.get("subscriptionId"), "account": own}
