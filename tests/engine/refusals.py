"""What the clouds refuse although the SDK's types allow it; the stand-ins refuse the same.

Each rule takes the inputs as they come over the wire and yields (property, reason). The figures are the clouds' own and
are written down here a second time, apart from the catalog, so that a wrong row there is caught by a stand-in.
What is not known yet (`UNKNOWN`) is judged by nobody.
"""

from __future__ import annotations

import ipaddress
import itertools
import json
import math
import re
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
Faults = Iterator[tuple[str, str]]
Rule = Callable[[Mapping[str, Any]], Faults]

# docs.aws.amazon.com, Elastic Fabric Adapter: network interfaces that may be EFA, by type.
EFA_MAX = {
    "p4d.24xlarge": 4, "p4de.24xlarge": 4, "p5.48xlarge": 32, "p5e.48xlarge": 32, "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8, "trn1.32xlarge": 8, "trn1n.32xlarge": 16, "trn2.48xlarge": 16,
    "g5.48xlarge": 1, "g6.48xlarge": 1, "g6e.48xlarge": 4, "dl1.24xlarge": 4,
    "g6.xlarge": 0, "g6.2xlarge": 0, "g6.4xlarge": 0, "g5.xlarge": 0, "g4dn.xlarge": 0, "g6e.xlarge": 0,
}  # fmt: skip
LOG_RETENTION = {
    0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}  # fmt: skip
# cloud.google.com, GKE: chips of one machine by machine type of TPUs, and whether its topologies have three sides.
TPU_CHIPS = {
    "ct4p-hightpu-4t": (4, 3), "ct5p-hightpu-1t": (1, 3), "ct5p-hightpu-2t": (2, 3), "ct5p-hightpu-4t": (4, 3),
    "ct5lp-hightpu-1t": (1, 2), "ct5lp-hightpu-4t": (4, 2), "ct5lp-hightpu-8t": (8, 2),
    "ct6e-standard-1t": (1, 2), "ct6e-standard-4t": (4, 2), "ct6e-standard-8t": (8, 2), "tpu7x-standard-4t": (4, 3),
}  # fmt: skip
GPUS_OF_MACHINE = {  # machine types that come with their GPUs
    "a2-highgpu-1g": 1, "a2-highgpu-2g": 2, "a2-highgpu-4g": 4, "a2-highgpu-8g": 8, "a2-megagpu-16g": 16,
    "a2-ultragpu-1g": 1, "a2-ultragpu-8g": 8, "a3-highgpu-8g": 8, "a3-megagpu-8g": 8, "a3-ultragpu-8g": 8,
    "a4-highgpu-8g": 8, "g2-standard-4": 1, "g2-standard-8": 1, "g2-standard-24": 2, "g2-standard-48": 4,
    "g2-standard-96": 8,
}  # fmt: skip
LUSTRE_STEP_TIB = {  # Azure Managed Lustre: the sizes come in steps
    "AMLFS-Durable-Premium-40": 48,
    "AMLFS-Durable-Premium-125": 16,
    "AMLFS-Durable-Premium-250": 8,
    "AMLFS-Durable-Premium-500": 4,
}
_LABEL = r"[a-z0-9_-]{0,63}"
NAMES = {  # type -> (input, what the cloud takes)
    "aws:s3/bucket:Bucket": ("bucket", r"(?!xn--)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
    "aws:iam/role:Role": ("name", r"[\w+=,.@-]{1,64}"),
    "aws:iam/policy:Policy": ("name", r"[\w+=,.@-]{1,128}"),
    "aws:iam/instanceProfile:InstanceProfile": ("name", r"[\w+=,.@-]{1,128}"),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", r"[a-zA-Z0-9().\-/_]{3,128}"),
    "aws:ec2/securityGroup:SecurityGroup": ("name", r"(?!sg-)[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}"),
    "aws:autoscaling/group:Group": ("name", r".{1,255}"),
    "aws:eks/cluster:Cluster": ("name", r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}"),
    "aws:eks/nodeGroup:NodeGroup": ("nodeGroupName", r"[0-9A-Za-z][A-Za-z0-9_-]{0,62}"),
    "aws:kms/alias:Alias": ("name", r"alias/(?!aws/)[a-zA-Z0-9/_-]{1,250}"),
    "aws:sqs/queue:Queue": ("name", r"[a-zA-Z0-9_-]{1,80}(\.fifo)?"),
    "aws:sns/topic:Topic": ("name", r"[a-zA-Z0-9_-]{1,256}(\.fifo)?"),
    "aws:scheduler/schedule:Schedule": ("name", r"[0-9a-zA-Z_.-]{1,64}"),
    "aws:cloudwatch/eventRule:EventRule": ("name", r"[.\-_A-Za-z0-9]{1,64}"),
    "aws:ecr/repository:Repository": ("name", r"[a-z0-9]+([._/-][a-z0-9]+)*"),
    "aws:ssm/document:Document": ("name", r"(?!aws|amazon)[a-zA-Z0-9_.-]{3,128}"),
    **{
        f"aws:sagemaker/{kind[0].lower()}{kind[1:]}:{kind}": ("name", r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
        for kind in (
            "Endpoint",
            "EndpointConfiguration",
            "Model",
            "NotebookInstance",
            "NotebookInstanceLifecycleConfiguration",
        )
    },
    "gcp:storage/bucket:Bucket": ("name", r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]"),
    "gcp:container/cluster:Cluster": ("name", r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"),
    "gcp:container/nodePool:NodePool": ("name", r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"),
    "gcp:serviceaccount/account:Account": ("accountId", r"[a-z][-a-z0-9]{4,28}[a-z0-9]"),
    "gcp:cloudrunv2/service:Service": ("name", r"[a-z]([-a-z0-9]{0,47}[a-z0-9])?"),
    "gcp:filestore/instance:Instance": ("name", r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"),
    "gcp:projects/iAMCustomRole:IAMCustomRole": ("roleId", r"[a-zA-Z0-9_.]{3,64}"),
    **{
        f"gcp:compute/{kind[0].lower()}{kind[1:]}:{kind}": ("name", r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
        for kind in ("Network", "Subnetwork", "Firewall", "Router", "Disk", "NetworkAttachment", "ResourcePolicy")
    },
    "azure-native:storage:StorageAccount": ("accountName", r"[a-z0-9]{3,24}"),
    "azure-native:storage:BlobContainer": ("containerName", r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]"),
    "azure-native:keyvault:Vault": ("vaultName", r"(?!.*--)[a-zA-Z][a-zA-Z0-9-]{1,22}[a-zA-Z0-9]"),
    "azure-native:resources:ResourceGroup": ("resourceGroupName", r"[-\w.()]{0,89}[-\w()]"),
    "azure-native:compute:VirtualMachineScaleSet": ("vmScaleSetName", r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}\w"),
    "azure-native:containerservice:ManagedCluster": ("resourceName", r"[a-zA-Z0-9]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?"),
    "azure-native:containerservice:AgentPool": ("agentPoolName", r"[a-z][a-z0-9]{0,11}"),
    "azure-native:containerregistry:Registry": ("registryName", r"[a-zA-Z0-9]{5,50}"),
    "azure-native:machinelearningservices:Workspace": ("workspaceName", r"[a-zA-Z0-9][a-zA-Z0-9_-]{2,32}"),
    "azure-native:machinelearningservices:Compute": ("computeName", r"[a-zA-Z](-?[a-zA-Z0-9]){1,23}"),
    "azure-native:machinelearningservices:OnlineEndpoint": ("endpointName", r"[a-zA-Z][a-zA-Z0-9-]{1,30}[a-zA-Z0-9]"),
    "azure-native:managedidentity:UserAssignedIdentity": ("resourceName", r"[a-zA-Z0-9][a-zA-Z0-9_-]{2,127}"),
    "azure-native:cognitiveservices:Account": ("accountName", r"[a-zA-Z0-9][a-zA-Z0-9.-]{0,62}[a-zA-Z0-9]"),
    "azure-native:network:VirtualNetwork": ("virtualNetworkName", r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}\w"),
    "azure-native:monitor:ActionGroup": ("groupShortName", r".{1,12}"),
    "azure-native:consumption:Budget": ("budgetName", r"[a-zA-Z0-9_-]{1,63}"),
}
SCOPES = (  # what a name is unique in
    "location", "region", "zone", "cluster", "clusterName", "project", "vpcId", "role", "groupName",
    "autoscalingGroupName", "domainId", "keyRing",
)  # fmt: skip
NAME_KEYS = (
    "bucket", "accountId", "roleId", "nodeGroupName", "scheduledActionName", "addonName", "pipelineName", "domainName",
    "userProfileName", "name",
)  # fmt: skip
# A second one of the name is made although the first stands: the name is a label only.
LABELS_ONLY = {"gcp:monitoring/alertPolicy:AlertPolicy", "gcp:billing/budget:Budget"}
# The cloud takes a second one as a change of the first: no error, and nothing is there twice.
UPSERTS = {
    "aws:cloudwatch/metricAlarm:MetricAlarm", "aws:cloudwatch/eventRule:EventRule", "aws:iam/rolePolicy:RolePolicy",
    "aws:sns/topic:Topic", "aws:sqs/queue:Queue", "aws:autoscaling/schedule:Schedule", "aws:autoscaling/policy:Policy",
    "aws:cloudwatch/eventTarget:EventTarget",  # PutTargets updates one that is there
    "aws:sns/topicSubscription:TopicSubscription",  # Subscribe answers with the subscription that is there
    "gcp:projects/serviceIdentity:ServiceIdentity",
}  # fmt: skip

DELETION_PROTECTION = ("deletionProtection", "deletionProtectionEnabled")


def refusals(token: str, inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(property, reason) for everything that the cloud would refuse."""
    return [*_name(token, inputs), *_tags(token, inputs), *(RULES[token](inputs) if token in RULES else ())]


# Inputs that tell one thing without tags from another.
TELLS_APART = (
    "member", "role", "policyArn", "name", "cluster", "location", "region", "topic", "accountId", "roleId", "bucket",
    "routeTableId", "subnetId", "autoscalingGroupName", "scheduledActionName", "roleAssignmentName", "scope",
    "roleDefinitionId", "subnetName", "virtualNetworkName", "resourceGroupName", "cryptoKeyId", "containerName",
    "queueUrl", "rule", "targetId", "arn", "destinationCidrBlock", "federatedIdentityCredentialResourceName",
)  # fmt: skip


BY_NAME = ("aws:iam/role:Role", "aws:iam/instanceProfile:InstanceProfile", "aws:iam/policy:Policy")


def named(token: str, path: str, things: Mapping[str, Mapping[str, Any]]) -> str:
    """The one thing of a type that a path names (an identity such as ROLE/POLICY); "" where there is none, or several.

    The stand-ins' own identities are made up: a path names what it has all the telling inputs of.
    """
    fitting = []
    for key, thing in things.items():
        if thing["type"] != token:
            continue
        told = [thing["inputs"][name] for name in TELLS_APART if isinstance(thing["inputs"].get(name), str)]
        if token == "azure-native:authorization:RoleAssignment":
            told = [thing["inputs"]["roleAssignmentName"]]
        if token == "azure-native:authorization:RoleDefinition":
            told = [thing["inputs"]["roleDefinitionId"]]
        if token == "aws:cloudwatch/eventTarget:EventTarget":
            told = [thing["inputs"]["rule"], thing["inputs"]["targetId"]]
        if token == "aws:autoscaling/tag:Tag":
            told.append(thing["inputs"]["tag"]["key"])
        if token in BY_NAME and thing["inputs"].get("name") != path.rpartition("/")[2]:
            continue  # a role's name may begin like another's
        if told and all(value in path for value in told):
            fitting.append((sum(map(len, told)), key))
    fitting.sort(reverse=True)  # a subnet `kubernetes` fits the path of `kubernetes-api` too, by less of it
    alone = len(fitting) == 1 or (len(fitting) > 1 and fitting[0][0] > fitting[1][0])
    return fitting[0][1] if alone else ""


def identity(token: str, inputs: Mapping[str, Any]) -> tuple[str, ...] | None:
    """What the cloud allows once: the type, the stated name and what it is unique in; None where a second one is made."""
    if token == "gcp:projects/serviceIdentity:ServiceIdentity":
        return (token, str(inputs.get("project")), str(inputs.get("service")))
    if token == "aws:cloudwatch/eventTarget:EventTarget":
        return (token, str(inputs.get("rule")), str(inputs.get("targetId")))
    if token == "aws:sns/topicSubscription:TopicSubscription":
        return (token, str(inputs.get("topic")), str(inputs.get("protocol")), str(inputs.get("endpoint")))
    if token.startswith("gcp:") and token.lower().endswith("iammember"):  # one more member beside the others
        return (token, *(f"{key}={inputs[key]}" for key in sorted(inputs) if isinstance(inputs[key], str)))
    if token.startswith("kubernetes:"):
        metadata = inputs.get("metadata") or {}
        key, scope = metadata.get("name") or inputs.get("name"), metadata.get("namespace") or inputs.get("namespace")
        return (token, str(key), str(scope)) if isinstance(key, str) else None
    if token in LABELS_ONLY:
        return None
    if token.partition(":")[0] == "aws" and token.endswith(("Attachment", "Association", "Versioning")):
        return None
    if token.startswith("azure-native:"):  # a resource is its path
        path = [
            f"{key}={inputs[key]}" for key in sorted(inputs) if key.endswith("Name") and isinstance(inputs[key], str)
        ]
        return (token, *path) if len(path) > 1 or token == "azure-native:resources:ResourceGroup" else None
    own = next((key for key in NAME_KEYS if isinstance(inputs.get(key), str)), None)
    if own is None:
        return None
    if token.startswith("aws:s3/") and token != "aws:s3/bucket:Bucket":
        return None
    scope = [f"{key}={inputs[key]}" for key in SCOPES if key != own and isinstance(inputs.get(key), str)]
    return (token, f"{own}={inputs[own]}", *scope)


def beside(token: str, inputs: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> str:
    """Why the cloud does not make it beside `others` (their inputs, of one type); "" where it does."""
    scope, key = {"aws:ec2/subnet:Subnet": ("vpcId", "cidrBlock"),
                  "gcp:compute/subnetwork:Subnetwork": ("network", "ipCidrRange"),
                  "azure-native:network:Subnet": ("virtualNetworkName", "addressPrefix")}.get(token, ("", ""))  # fmt: skip
    for other in others if scope else ():
        if other.get(scope) == inputs.get(scope) and any(_apart([str(other.get(key)), str(inputs.get(key))], key)):
            return f"InvalidSubnet.Conflict: {inputs.get(key)} overlaps {other.get(key)}"
    return ""


def known(value: Any) -> bool:
    """Whether nothing in the value is open."""
    return value is not None and UNKNOWN not in json.dumps(value, default=str)


def _name(token: str, inputs: Mapping[str, Any]) -> Faults:
    if token in NAMES:
        key, pattern = NAMES[token]
        value = inputs.get(key)
        if isinstance(value, str) and known(value) and not re.fullmatch(pattern, value):
            yield key, f"is not a name that the cloud takes: {value!r} ({pattern})"


def _tags(token: str, inputs: Mapping[str, Any]) -> Faults:
    package = token.partition(":")[0]
    keys = {"aws": ("tags",), "azure-native": ("tags",), "gcp": ("labels", "userLabels", "resourceLabels")}
    if token == "gcp:monitoring/notificationChannel:NotificationChannel":  # whose labels are its settings
        keys["gcp"] = ("userLabels",)
    for key in keys.get(package, ()):
        held = inputs.get(key)
        if not isinstance(held, Mapping):
            continue
        if len(held) > (64 if package == "gcp" else 50):
            yield key, f"{len(held)} are too many"
        for tag, value in held.items():
            text = str(value)
            if not known(text):
                continue
            if package == "gcp" and not (re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", tag) and re.fullmatch(_LABEL, text)):
                yield f"{key}.{tag}", f"is not a label of Google Cloud: {text!r}"
            if package == "aws" and (tag.lower().startswith("aws:") or len(tag) > 128 or len(text) > 256):
                yield f"{key}.{tag}", "is not a tag of AWS: reserved, or too long"
            if package == "azure-native" and (re.search(r"[<>%&\\?/]", tag) or len(tag) > 512 or len(text) > 256):
                yield f"{key}.{tag}", "is not a tag of Azure: a sign that is not allowed, or too long"


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _ordered(inputs: Mapping[str, Any], *keys: str, path: str = "") -> Faults:
    """Each figure is at most the next one; those that are not stated are left out."""
    stated = [(key, figure) for key in keys if (figure := _number(inputs.get(key))) is not None]
    for (low, a), (high, b) in itertools.pairwise(stated):
        if a > b:
            yield f"{path}{low}", f"{low} {a:g} is above {high} {b:g}"


def _network(value: Any, path: str) -> Faults:
    if isinstance(value, str) and known(value):
        try:
            ipaddress.ip_network(value)
        except ValueError as error:
            yield path, f"is not a range of addresses: {error}"


def launch_template(inputs: Mapping[str, Any]) -> Faults:
    kind = inputs.get("instanceType")
    cards = [one for one in inputs.get("networkInterfaces") or [] if isinstance(one, Mapping)]
    fabric = [one for one in cards if str(one.get("interfaceType", "")).startswith("efa")]
    if fabric and isinstance(kind, str) and len(fabric) > EFA_MAX.get(kind, 64):
        yield "networkInterfaces", f"{len(fabric)} EFA interfaces, {kind} takes {EFA_MAX[kind]}"
    places = [(one.get("networkCardIndex", 0), one.get("deviceIndex", 0)) for one in cards]
    if len(places) != len(set(places)):
        yield "networkInterfaces", "two interfaces have one network card and device index"
    if len(cards) > 1 and any(str(one.get("associatePublicIpAddress")).lower() == "true" for one in cards):
        yield "networkInterfaces", "a public address cannot be given to a machine with several interfaces"
    if cards and inputs.get("vpcSecurityGroupIds"):
        yield "vpcSecurityGroupIds", "security groups belong to the network interfaces where there are any"
    market = (inputs.get("instanceMarketOptions") or {}).get("marketType")
    placement = inputs.get("placement") or {}
    target = (inputs.get("capacityReservationSpecification") or {}).get("capacityReservationTarget")
    if market == "capacity-block":
        if placement.get("groupName"):
            yield "placement.groupName", "machines of a Capacity Block cannot be in a placement group of one's own"
        if not target:
            yield "capacityReservationSpecification", "a Capacity Block has to be named as the target"
    if market == "spot" and target:
        yield "capacityReservationSpecification", "spot machines cannot use a reservation"
    for index, disk in enumerate(inputs.get("blockDeviceMappings") or []):
        yield from _disk(disk.get("ebs") or {}, f"blockDeviceMappings[{index}].ebs")


def _disk(disk: Mapping[str, Any], path: str) -> Faults:
    size, kind = _number(disk.get("volumeSize")), disk.get("volumeType")
    if size is not None and kind in ("gp2", "gp3", "io2") and not 1 <= size <= 65536:
        yield f"{path}.volumeSize", f"{size:g} GiB is outside of 1 to 65536"
    iops, throughput = _number(disk.get("iops")), _number(disk.get("throughput"))
    if kind == "gp3" and throughput is not None and not 125 <= throughput <= 2000:
        yield f"{path}.throughput", f"gp3 gives 125 to 2000 MiB/s, not {throughput:g}"
    if kind == "gp3" and iops is not None and throughput is not None and throughput > 0.25 * iops:
        yield f"{path}.throughput", "gp3 gives at most 0.25 MiB/s for each of its operations per second"


def scaling_group(inputs: Mapping[str, Any]) -> Faults:
    yield from _ordered(inputs, "minSize", "desiredCapacity", "maxSize")
    if inputs.get("launchTemplate") and inputs.get("mixedInstancesPolicy"):
        yield "launchTemplate", "stands beside a mixed instances policy, which has its own"
    if inputs.get("availabilityZones") and inputs.get("vpcZoneIdentifiers"):
        yield "availabilityZones", "follow from the subnets"
    spread = (inputs.get("mixedInstancesPolicy") or {}).get("instancesDistribution") or {}
    share = _number(spread.get("onDemandPercentageAboveBaseCapacity"))
    if share is not None and not 0 <= share <= 100:
        yield "mixedInstancesPolicy.instancesDistribution", f"{share:g} is no percentage"


def scaling_schedule(inputs: Mapping[str, Any]) -> Faults:
    when, zone = inputs.get("recurrence"), inputs.get("timeZone")
    if isinstance(when, str) and len(when.split()) != 5:
        yield "recurrence", f"is no cron expression of five fields: {when!r}"
    if isinstance(zone, str) and zone not in zoneinfo.available_timezones():
        yield "timeZone", f"is no time zone: {zone!r}"
    if not any(key in inputs for key in ("minSize", "maxSize", "desiredCapacity")):
        yield "desiredCapacity", "nothing is to be changed"


def schedule(inputs: Mapping[str, Any]) -> Faults:
    when, zone = inputs.get("scheduleExpression"), inputs.get("scheduleExpressionTimezone")
    if isinstance(when, str) and known(when) and not re.fullmatch(r"(at|rate|cron)\([^()]+\)", when):
        yield "scheduleExpression", f"is neither at(), rate() nor cron(): {when!r}"
    if isinstance(zone, str) and zone not in zoneinfo.available_timezones():
        yield "scheduleExpressionTimezone", f"is no time zone: {zone!r}"


def _document(*keys: str) -> Rule:
    def rule(inputs: Mapping[str, Any]) -> Faults:
        for key in keys:
            text = inputs.get(key)
            if isinstance(text, str) and known(text):
                try:
                    json.loads(text)
                except ValueError as error:
                    yield key, f"MalformedPolicyDocument: {error}"

    return rule


def cloud_key(inputs: Mapping[str, Any]) -> Faults:
    yield from _document("policy")(inputs)
    window = _number(inputs.get("deletionWindowInDays"))
    if window is not None and not 7 <= window <= 30:
        yield "deletionWindowInDays", f"{window:g} is outside of 7 to 30"


def log_group(inputs: Mapping[str, Any]) -> Faults:
    days = _number(inputs.get("retentionInDays"))
    if days is not None and days not in LOG_RETENTION:
        yield "retentionInDays", f"{days:g} is none of the periods that there are"


def eks_nodes(inputs: Mapping[str, Any]) -> Faults:
    sizes = inputs.get("scalingConfig") or {}
    yield from _ordered(sizes, "minSize", "desiredSize", "maxSize", path="scalingConfig.")
    if _number(sizes.get("maxSize")) == 0:
        yield "scalingConfig.maxSize", "has to be at least 1"
    for index, taint in enumerate(inputs.get("taints") or []):
        if taint.get("effect") not in ("NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"):
            yield f"taints[{index}].effect", f"is no effect: {taint.get('effect')!r}"
    if inputs.get("launchTemplate") and (inputs.get("diskSize") or inputs.get("remoteAccess")):
        yield "diskSize", "belongs to the launch template where there is one"


def endpoint_configuration(inputs: Mapping[str, Any]) -> Faults:
    for index, variant in enumerate(inputs.get("productionVariants") or []):
        path = f"productionVariants[{index}]"
        serverless, kind = variant.get("serverlessConfig"), variant.get("instanceType")
        if serverless and kind:
            yield f"{path}.serverlessConfig", "stands beside an instance type"
        if serverless:
            memory = _number(serverless.get("memorySizeInMb"))
            if memory is not None and memory not in {1024, 2048, 3072, 4096, 5120, 6144}:
                yield f"{path}.serverlessConfig.memorySizeInMb", f"{memory:g} is none of the sizes"
            if (_number(serverless.get("maxConcurrency")) or 1) > 200:
                yield f"{path}.serverlessConfig.maxConcurrency", "is at most 200"
        if isinstance(kind, str) and known(kind) and not kind.startswith("ml."):
            yield f"{path}.instanceType", f"is no type of SageMaker: {kind!r}"
        scaling = variant.get("managedInstanceScaling") or {}
        yield from _ordered(scaling, "minInstanceCount", "maxInstanceCount", path=f"{path}.managedInstanceScaling.")


def lustre(inputs: Mapping[str, Any]) -> Faults:
    size, rate = _number(inputs.get("storageCapacity")), _number(inputs.get("perUnitStorageThroughput"))
    kind = str(inputs.get("deploymentType", "SCRATCH_1"))
    if size is not None and size != 1200 and size % 2400:
        yield "storageCapacity", f"{size:g} GiB is neither 1200 nor a multiple of 2400"
    allowed = {"PERSISTENT_2": {125, 250, 500, 1000}, "PERSISTENT_1": {12, 40, 50, 100, 200}}.get(kind)
    if allowed is not None and rate not in allowed:
        yield "perUnitStorageThroughput", f"{kind} has {sorted(allowed)} MB/s per TiB, not {rate}"
    if allowed is None and rate is not None:
        yield "perUnitStorageThroughput", f"{kind} has none"
    if kind != "PERSISTENT_2" and len(inputs.get("subnetIds") or []) > 1:
        yield "subnetIds", "the file system is in one zone"


def fleet(inputs: Mapping[str, Any]) -> Faults:
    target = inputs.get("targetCapacitySpecification") or {}
    if inputs.get("type") == "instant" and inputs.get("replaceUnhealthyInstances"):
        yield "replaceUnhealthyInstances", "an instant fleet replaces nothing"
    total = _number(target.get("totalTargetCapacity")) or 0
    parts = [_number(target.get(key)) or 0 for key in ("onDemandTargetCapacity", "spotTargetCapacity")]
    if sum(parts) > total:
        yield "targetCapacitySpecification", f"{sum(parts):g} machines are more than the {total:g} of the target"


def node_pool(inputs: Mapping[str, Any]) -> Faults:
    node = inputs.get("nodeConfig") or {}
    kind, placement = str(node.get("machineType", "")), inputs.get("placementPolicy") or {}
    sizes = inputs.get("autoscaling") or {}
    yield from _ordered(sizes, "minNodeCount", "maxNodeCount", path="autoscaling.")
    yield from _ordered(sizes, "totalMinNodeCount", "totalMaxNodeCount", path="autoscaling.")
    if any(key.startswith("total") for key in sizes) and any(key in sizes for key in ("minNodeCount", "maxNodeCount")):
        yield "autoscaling", "counts of the whole pool stand beside counts of a zone"
    modes = [
        name
        for name, on in (
            ("spot", node.get("spot")),
            ("preemptible", node.get("preemptible")),
            ("flexStart", node.get("flexStart")),
            ("reservation", (node.get("reservationAffinity") or {}).get("consumeReservationType") == "SPECIFIC_RESERVATION"),
        )
        if on
    ]  # fmt: skip
    if len(modes) > 1:
        yield "nodeConfig", f"takes its machines one way, not by {' and '.join(modes)}"
    if node.get("flexStart") and _number(sizes.get("minNodeCount") or sizes.get("totalMinNodeCount")):
        yield "autoscaling", "machines that start flexibly come when asked for: the minimum is 0"
    yield from _gpus(node, kind)
    yield from _slice(inputs, kind, placement)


def _gpus(node: Mapping[str, Any], kind: str) -> Faults:
    stated = sum(_number(one.get("count")) or 0 for one in node.get("guestAccelerators") or [])
    if stated and kind in GPUS_OF_MACHINE and stated != GPUS_OF_MACHINE[kind]:
        yield "nodeConfig.guestAccelerators", f"{stated:g} GPUs, {kind} has {GPUS_OF_MACHINE[kind]}"
    if stated and kind in TPU_CHIPS:
        yield "nodeConfig.guestAccelerators", f"{kind} has TPUs"


def _slice(inputs: Mapping[str, Any], kind: str, placement: Mapping[str, Any]) -> Faults:
    topology = placement.get("tpuTopology")
    if topology is None or not known(topology):
        return
    if kind not in TPU_CHIPS:
        yield "placementPolicy.tpuTopology", f"{kind} has no TPUs"
        return
    per_machine, sides = TPU_CHIPS[kind]
    lengths = [int(part) for part in str(topology).split("x") if part.isdigit()]
    if len(lengths) != sides:
        yield "placementPolicy.tpuTopology", f"a topology of {kind} has {sides} sides, not {topology}"
        return
    if any(length & (length - 1) for length in lengths) and (sides == 2 or any(length % 4 for length in lengths)):
        yield "placementPolicy.tpuTopology", f"there is no {topology} of {kind}"
    chips = math.prod(lengths)
    if chips % per_machine:
        yield "placementPolicy.tpuTopology", f"{topology} has {chips} chips, {kind} has {per_machine}"
        return
    machines = chips // per_machine
    counts = [inputs.get("nodeCount"), inputs.get("initialNodeCount"), (inputs.get("autoscaling") or {}).get("maxNodeCount"),
              (inputs.get("autoscaling") or {}).get("totalMaxNodeCount")]  # fmt: skip
    for count in counts:
        if machines > 1 and _number(count) not in (None, 0.0, float(machines)):
            yield "placementPolicy.tpuTopology", f"{topology} of {kind} is {machines} machines, not {count}"
            return


def cluster(inputs: Mapping[str, Any]) -> Faults:
    window = inputs.get("maintenancePolicy") or {}
    start = (window.get("dailyMaintenanceWindow") or {}).get("startTime")
    if isinstance(start, str) and not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", start):
        yield "maintenancePolicy.dailyMaintenanceWindow.startTime", f"is no time of day: {start!r}"
    master = (inputs.get("privateClusterConfig") or {}).get("masterIpv4CidrBlock")
    if isinstance(master, str) and known(master) and not master.endswith("/28"):
        yield "privateClusterConfig.masterIpv4CidrBlock", f"has to be a /28: {master!r}"


def cloud_run(inputs: Mapping[str, Any]) -> Faults:
    template = inputs.get("template") or {}
    for index, container in enumerate(template.get("containers") or []):
        limits = (container.get("resources") or {}).get("limits") or {}
        path = f"template.containers[{index}].resources.limits"
        if "nvidia.com/gpu" not in limits:
            continue
        if str(limits["nvidia.com/gpu"]) != "1":
            yield f"{path}.nvidia.com/gpu", "an instance has one GPU"
        if float(str(limits.get("cpu", 0))) < 4:
            yield f"{path}.cpu", "a GPU asks for at least 4 CPUs"
        memory = re.fullmatch(r"(\d+)Gi", str(limits.get("memory", "")))
        if memory is None or int(memory.group(1)) < 16:
            yield f"{path}.memory", "a GPU asks for at least 16Gi"
        if not (template.get("nodeSelector") or {}).get("accelerator"):
            yield "template.nodeSelector.accelerator", "which GPU is not said"
    yield from _ordered(template.get("scaling") or {}, "minInstanceCount", "maxInstanceCount", path="template.scaling.")


def filestore(inputs: Mapping[str, Any]) -> Faults:
    least = {"BASIC_HDD": 1024, "BASIC_SSD": 2560, "ZONAL": 1024, "REGIONAL": 1024, "ENTERPRISE": 1024}
    size = _number((inputs.get("fileShares") or {}).get("capacityGb"))
    if size is not None and size < least.get(str(inputs.get("tier")), 0):
        yield "fileShares.capacityGb", f"{inputs['tier']} begins at {least[str(inputs['tier'])]} GiB"


def subnetwork(inputs: Mapping[str, Any]) -> Faults:
    yield from _network(inputs.get("ipCidrRange"), "ipCidrRange")
    ranges = [inputs.get("ipCidrRange"), *(one.get("ipCidrRange") for one in inputs.get("secondaryIpRanges") or [])]
    yield from _apart([one for one in ranges if isinstance(one, str) and known(one)], "secondaryIpRanges")


def _apart(ranges: list[str], path: str) -> Faults:
    try:
        nets = [ipaddress.ip_network(one) for one in ranges]
    except ValueError:
        return
    for at, one in enumerate(nets):
        for other in nets[at + 1 :]:
            if one.version == other.version and one.overlaps(other):
                yield path, f"{one} and {other} overlap"


def cloud_key_gcp(inputs: Mapping[str, Any]) -> Faults:
    period = str(inputs.get("rotationPeriod", ""))
    if period and known(period) and (not period.endswith("s") or float(period[:-1]) < 86400):
        yield "rotationPeriod", f"is at least one day, in seconds with an s: {period!r}"


def scale_set(inputs: Mapping[str, Any]) -> Faults:
    profile = inputs.get("virtualMachineProfile") or {}
    if profile.get("evictionPolicy") and profile.get("priority") not in ("Spot", "Low"):
        yield "virtualMachineProfile.evictionPolicy", "belongs to spot machines"
    prefix = (profile.get("osProfile") or {}).get("computerNamePrefix")
    if known(prefix) and prefix is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,57}", str(prefix)):
        yield "virtualMachineProfile.osProfile.computerNamePrefix", f"is not how a host name begins: {prefix!r}"
    if profile.get("billingProfile") and profile.get("priority") != "Spot":
        yield "virtualMachineProfile.billingProfile", "a highest price belongs to spot machines"
    count = _number((inputs.get("sku") or {}).get("capacity"))
    if inputs.get("singlePlacementGroup") is True and count is not None and count > 100:
        yield "sku.capacity", f"one placement group takes 100 machines, not {count:g}"
    if inputs.get("orchestrationMode") == "Flexible" and inputs.get("upgradePolicy", {}).get("mode") == "Automatic":
        yield "upgradePolicy.mode", "flexible scale sets know no automatic upgrades"


def _pool(pool: Mapping[str, Any], path: str) -> Faults:
    yield from _ordered(pool, "minCount", "count", "maxCount", path=path)
    mode, spot = pool.get("mode"), pool.get("scaleSetPriority") == "Spot"
    if mode == "System" and spot:
        yield f"{path}scaleSetPriority", "machines of the system cannot be spot"
    if mode == "System" and _number(pool.get("count")) == 0:
        yield f"{path}count", "the system needs a machine"
    if not spot and (pool.get("scaleSetEvictionPolicy") or pool.get("spotMaxPrice")):
        yield f"{path}scaleSetEvictionPolicy", "belongs to spot machines"
    if pool.get("enableAutoScaling") is not True and (pool.get("minCount") or pool.get("maxCount")):
        yield f"{path}enableAutoScaling", "limits stand without scaling"
    pods = _number(pool.get("maxPods"))
    if pods is not None and not 10 <= pods <= 250:
        yield f"{path}maxPods", f"{pods:g} is outside of 10 to 250"
    name = pool.get("name")
    if isinstance(name, str) and not re.fullmatch(r"[a-z][a-z0-9]{0,11}", name):
        yield f"{path}name", f"is not a name of a pool: {name!r}"


def agent_pool(inputs: Mapping[str, Any]) -> Faults:
    yield from _pool(inputs, "")


def managed_cluster(inputs: Mapping[str, Any]) -> Faults:
    pools = inputs.get("agentPoolProfiles") or []
    for index, pool in enumerate(pools):
        yield from _pool(pool, f"agentPoolProfiles[{index}].")
    if not any(pool.get("mode") == "System" for pool in pools):
        yield "agentPoolProfiles", "there is no pool for the system"
    zone = inputs.get("privateLinkResources")
    if zone:
        yield "privateLinkResources", "is given by the cloud"


def autoscale(inputs: Mapping[str, Any]) -> Faults:
    for index, profile in enumerate(inputs.get("profiles") or []):
        capacity = {k: float(v) for k, v in (profile.get("capacity") or {}).items() if str(v).isdigit()}
        yield from _ordered(capacity, "minimum", "default", "maximum", path=f"profiles[{index}].capacity.")
        zone = ((profile.get("recurrence") or {}).get("schedule") or {}).get("timeZone")
        if zone in zoneinfo.available_timezones() and "/" in str(zone):
            yield f"profiles[{index}].recurrence.schedule.timeZone", f"wants the name that Windows has for {zone}"
    if len(inputs.get("profiles") or []) > 20:
        yield "profiles", "are at most 20"


def lustre_azure(inputs: Mapping[str, Any]) -> Faults:
    kind, size = (inputs.get("sku") or {}).get("name"), _number(inputs.get("storageCapacityTiB"))
    step = LUSTRE_STEP_TIB.get(str(kind))
    if step is None:
        yield "sku.name", f"is no kind of file system: {kind!r}"
    elif size is not None and size % step:
        yield "storageCapacityTiB", f"{kind} comes in steps of {step} TiB, not {size:g}"
    if len(inputs.get("zones") or []) != 1:
        yield "zones", "the file system is in one zone"


def budget_azure(inputs: Mapping[str, Any]) -> Faults:
    start = str((inputs.get("timePeriod") or {}).get("startDate", ""))
    if known(start) and not re.match(r"\d{4}-\d\d-01", start):
        yield "timePeriod.startDate", f"has to be the first of a month: {start!r}"
    if len(inputs.get("notifications") or {}) > 5:
        yield "notifications", "are at most 5"


def ranges_azure(inputs: Mapping[str, Any]) -> Faults:
    yield from _network(inputs.get("addressPrefix"), "addressPrefix")
    for one in (inputs.get("addressSpace") or {}).get("addressPrefixes") or []:
        yield from _network(one, "addressSpace.addressPrefixes")
    held = [one.get("addressPrefix") for one in inputs.get("subnets") or [] if isinstance(one, Mapping)]
    yield from _apart([one for one in held if isinstance(one, str) and known(one)], "subnets")


def subnet_aws(inputs: Mapping[str, Any]) -> Faults:
    yield from _network(inputs.get("cidrBlock"), "cidrBlock")
    value = inputs.get("cidrBlock")
    if isinstance(value, str) and (found := re.search(r"/(\d+)$", value)) and not 16 <= int(found.group(1)) <= 28:
        yield "cidrBlock", f"InvalidSubnet.Range: {value} is outside of /16 to /28"


RULES: dict[str, Rule] = {
    "aws:autoscaling/group:Group": scaling_group,
    "aws:autoscaling/schedule:Schedule": scaling_schedule,
    "aws:cloudwatch/logGroup:LogGroup": log_group,
    "aws:ec2/fleet:Fleet": fleet,
    "aws:ec2/launchTemplate:LaunchTemplate": launch_template,
    "aws:ec2/subnet:Subnet": subnet_aws,
    "aws:ec2/vpc:Vpc": subnet_aws,
    "aws:eks/nodeGroup:NodeGroup": eks_nodes,
    "aws:fsx/lustreFileSystem:LustreFileSystem": lustre,
    "aws:iam/policy:Policy": _document("policy"),
    "aws:iam/role:Role": _document("assumeRolePolicy"),
    "aws:iam/rolePolicy:RolePolicy": _document("policy"),
    "aws:kms/key:Key": cloud_key,
    "aws:s3/bucketPolicy:BucketPolicy": _document("policy"),
    "aws:sagemaker/endpointConfiguration:EndpointConfiguration": endpoint_configuration,
    "aws:scheduler/schedule:Schedule": schedule,
    "gcp:cloudrunv2/service:Service": cloud_run,
    "gcp:compute/subnetwork:Subnetwork": subnetwork,
    "gcp:container/cluster:Cluster": cluster,
    "gcp:container/nodePool:NodePool": node_pool,
    "gcp:filestore/instance:Instance": filestore,
    "gcp:kms/cryptoKey:CryptoKey": cloud_key_gcp,
    "azure-native:compute:VirtualMachineScaleSet": scale_set,
    "azure-native:consumption:Budget": budget_azure,
    "azure-native:containerservice:AgentPool": agent_pool,
    "azure-native:containerservice:ManagedCluster": managed_cluster,
    "azure-native:insights:AutoscaleSetting": autoscale,
    "azure-native:monitor:AutoscaleSetting": autoscale,
    "azure-native:network:Subnet": ranges_azure,
    "azure-native:network:VirtualNetwork": ranges_azure,
    "azure-native:storagecache:AmlFilesystem": lustre_azure,
}
