"""Types that bill and for which the catalog has no list price: they are seen, named and unpriced, never nothing.

Each names the fee that it is billed by, so that a team's own rate (`rates: [{fee: NAME, usd: ...}]`) prices it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stores import stored
from sizewell.resources.values import get, number, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval

Path = tuple[str | int, ...]


def standing(what: str, key: str, *times: Path) -> Pricer:
    """Bills by the hour around the clock, as many as the product of the numbers at these paths (1 where silent)."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        stated = [number(get(resource.inputs, *path, default=1)) for path in times]
        hours = HOURS_PER_MONTH
        for each in stated:
            hours *= each if isinstance(each, Decimal) else Decimal(1)
        quantity = UNKNOWN if UNKNOWN in stated else Interval.exactly(amount(hours))
        return (context.fee(resource, what=what, key=key, unit="hour", quantity=quantity, how="around the clock"),)

    return price


def holds(what: str, key: str, *path: str) -> Pricer:
    """Bills by the gigabyte that an input provisions."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        size = number(get(resource.inputs, *path))
        if size is None:
            return (context.unpriced(resource, what, "no size is stated"),)
        quantity = size if isinstance(size, Unknown) else Interval.exactly(amount(size))
        return (context.fee(resource, what=what, key=key, unit="GB-month", quantity=quantity),)

    return price


def keeps(what: str, key: str) -> Pricer:
    """Bills by what it holds, which only a usage file says."""
    return lambda resource, context: stored(resource, context, key=key, what=what)


def by_use(what: str, **fees: str) -> Pricer:
    """Bills by use: `fees` is measure -> fee. What nobody stated is named outside the totals."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        lines = [
            context.fee(
                resource,
                what=f"{what}, {measure.replace('_', ' ')}",
                key=key,
                unit=measure.replace("_", " "),
                quantity=use,
                how="from the usage file",
                confidence="assumed usage",
            )
            for measure, key in fees.items()
            if (use := context.usage.of(resource, measure)) is not None
        ]
        if not lines:
            name = context.graph.component(resource)
            context.outside.append(f"{name}: {what} ({resource.name}): use not stated, not in totals")
        return tuple(lines) or Free("billed by use, which is not stated")

    return price


def unstated(what: str, why: str, **fees: str) -> Pricer:
    """Bills by use, and much: unpriced, not outside the totals, where nobody stated the use."""
    stated = by_use(what, **fees)

    def price(resource: RecordedResource, context: Context) -> Outcome:
        if any(context.usage.of(resource, measure) is not None for measure in fees):
            return stated(resource, context)
        return (context.unpriced(resource, what, f"{why}; put {' or '.join(fees)} in a usage file"),)

    return price


def _when(condition: Callable[[Any], Any], yes: Pricer, no: Pricer) -> Pricer:
    """One of two, by an input; unpriced where that is not known yet."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        met = condition(resource.inputs)
        if isinstance(met, Unknown):
            return (context.unpriced(resource, "usage, by which it is billed", "known only after deployment"),)
        return (yes if met else no)(resource, context)

    return price


def free(reason: str) -> Pricer:
    """Bills nothing of its own, for this reason."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        del resource, context
        return Free(reason)

    return price


def _says(path: Path, *words: str) -> Callable[[Any], Any]:
    def test(inputs: Any) -> Any:
        stated = text(get(inputs, *path))
        return stated if isinstance(stated, Unknown) else any(word in stated.lower() for word in words)

    return test


_TOKENS: Final = {"million_input_tokens": "tokens.input", "million_output_tokens": "tokens.output"}
_PODS: Final = {"vcpu_hours": "vcpu_hour", "memory_gigabyte_hours": "memory_gb_hour"}


def _fees(service: str, measures: Mapping[str, str]) -> dict[str, str]:
    return {measure: f"{service}.{name}" for measure, name in measures.items()}


_FARGATE: Final = unstated("Fargate tasks", "they are billed by their requests", **_fees("fargate", _PODS))
_FARGATE_SCHEDULE: Final = "aws:scheduler/schedule:Schedule"
_RATE: Final = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_MINUTES: Final = {"minute": 1, "hour": 60, "day": 1440}
# Minutes that one run of a scheduled task bills: AWS bills at least one; the middle is an assumption.
_LEAST_MINUTES, _ASSUMED_MINUTES = Decimal(1), Decimal(5)


def _task(resource: RecordedResource, context: Context) -> Outcome:
    """A Fargate task that EventBridge Scheduler starts at a rate: from one minute a run to one run after the other."""
    stated = any(context.usage.of(resource, measure) is not None for measure in _PODS)
    interval = None if stated else _minutes_between(resource, context)
    cpu, memory = number(resource.inputs.get("cpu")), number(resource.inputs.get("memory"))
    if interval is None or not isinstance(cpu, Decimal) or not isinstance(memory, Decimal):
        return _FARGATE(resource, context)
    hours = Interval(
        *(
            amount(min(minutes, interval) / interval * HOURS_PER_MONTH)
            for minutes in (_LEAST_MINUTES, _ASSUMED_MINUTES, interval)
        )
    )
    measures = " and ".join(_PODS)
    how = (
        f"a run every {interval} minutes: 1 minute each to always running, {_ASSUMED_MINUTES} assumed; "
        f"put {measures} in a usage file"
    )
    return tuple(
        context.fee(
            resource,
            what=f"scheduled Fargate task, {what}",
            key=f"fargate.{_PODS[measure]}",
            unit=unit,
            quantity=hours.times(amount(each / 1024)),
            how=how,
            confidence="assumed usage",
        )
        for measure, what, unit, each in (
            ("vcpu_hours", "CPU", "vCPU-hour", cpu),
            ("memory_gigabyte_hours", "memory", "GB-hour", memory),
        )
    )


def _minutes_between(task: RecordedResource, context: Context) -> Decimal | None:
    """Minutes between two runs of a task by the one schedule that starts it at a rate; None where it is not that."""
    schedules = context.graph.referring(task, _FARGATE_SCHEDULE, "target")
    if isinstance(schedules, Unknown) or len(schedules) != 1:
        return None
    inputs = schedules[0].inputs
    rate = _RATE.fullmatch(str(inputs.get("scheduleExpression")))
    count = number(get(inputs, "target", "ecsParameters", "taskCount", default=1))
    if rate is None or inputs.get("state") == "DISABLED" or count != 1:
        return None
    return Decimal(int(rate[1]) * _MINUTES[rate[2]]) or None


_BEDROCK: Final = by_use("model tokens", **_fees("bedrock", _TOKENS))
_AGENTCORE: Final = by_use("agent runtime", **_fees("bedrock.agentcore", _PODS))
_EMR: Final = standing("EMR cluster", "emr.cluster.hour")
_VERTEX: Final = by_use("model tokens", **_fees("vertex", _TOKENS))
_OPENAI: Final = by_use("model tokens", **_fees("cognitive", _TOKENS))

AWS: Final[dict[str, Pricer]] = {
    "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput": standing(
        "Bedrock model units", "bedrock.model_unit.hour", ("modelUnits",)
    ),
    "aws:bedrock/customModel:CustomModel": unstated(
        "model customization",
        "it is billed by the tokens that it trains on",
        million_input_tokens="bedrock.training_tokens",
    ),
    "aws:bedrock/evaluationJob:EvaluationJob": _BEDROCK,
    "aws:bedrock/agentAgent:AgentAgent": _BEDROCK,
    "aws:bedrock/agentFlow:AgentFlow": _BEDROCK,
    "aws:bedrock/agentKnowledgeBase:AgentKnowledgeBase": _BEDROCK,
    "aws:bedrock/agentDataSource:AgentDataSource": _BEDROCK,
    "aws:bedrock/inferenceProfile:InferenceProfile": _BEDROCK,
    "aws:bedrock/guardrail:Guardrail": _BEDROCK,
    "aws:bedrockmodel/invocationJob:InvocationJob": _BEDROCK,
    "aws:bedrock/agentcoreAgentRuntime:AgentcoreAgentRuntime": _AGENTCORE,
    "aws:bedrock/agentcoreBrowser:AgentcoreBrowser": _AGENTCORE,
    "aws:bedrock/agentcoreCodeInterpreter:AgentcoreCodeInterpreter": _AGENTCORE,
    "aws:bedrock/agentcoreHarness:AgentcoreHarness": _AGENTCORE,
    "aws:bedrock/agentcoreGateway:AgentcoreGateway": by_use("tool calls", requests="bedrock.agentcore.request"),
    "aws:bedrock/agentcoreMemory:AgentcoreMemory": by_use("memory events", requests="bedrock.agentcore.memory_event"),
    "aws:ebs/fastSnapshotRestore:FastSnapshotRestore": standing("fast snapshot restore", "ebs.fast_restore.hour"),
    "aws:ebs/snapshotCopy:SnapshotCopy": keeps("disk snapshot", "ebs.snapshot"),
    "aws:ebs/snapshotImport:SnapshotImport": keeps("disk snapshot", "ebs.snapshot"),
    "aws:ec2/ami:Ami": by_use("snapshots of the image", stored_gigabytes="ebs.snapshot"),
    "aws:ec2/amiCopy:AmiCopy": by_use("snapshots of the image", stored_gigabytes="ebs.snapshot"),
    "aws:ec2/amiFromInstance:AmiFromInstance": by_use("snapshots of the image", stored_gigabytes="ebs.snapshot"),
    "aws:ec2/dedicatedHost:DedicatedHost": standing("dedicated host", "dedicated_host.hour"),
    "aws:ec2/vpnConnection:VpnConnection": standing("VPN connection", "vpn.connection.hour"),
    "aws:ec2transitgateway/transitGateway:TransitGateway": free("billed by attachment"),
    "aws:ecs/cluster:Cluster": free("billed by what runs in it"),
    "aws:ecs/taskDefinition:TaskDefinition": _when(
        _says(("requiresCompatibilities", 0), "fargate"), _task, free("runs on priced machines")
    ),
    "aws:ecs/service:Service": _when(_says(("launchType",), "fargate"), _FARGATE, free("runs on priced machines")),
    "aws:eks/capability:Capability": standing("EKS capability", "eks.capability.hour"),
    "aws:emr/cluster:Cluster": _EMR,
    "aws:emr/instanceGroup:InstanceGroup": _EMR,
    "aws:emr/instanceFleet:InstanceFleet": _EMR,
    "aws:emrserverless/application:Application": by_use("Spark jobs", **_fees("emr_serverless", _PODS)),
    "aws:fsx/backup:Backup": keeps("file system backup", "fsx.backup"),
    "aws:fsx/fileCache:FileCache": holds("file cache", "fsx.cache", "storageCapacity"),
    "aws:fsx/ontapFileSystem:OntapFileSystem": holds("file system", "fsx.ontap", "storageCapacity"),
    "aws:fsx/openZfsFileSystem:OpenZfsFileSystem": holds("file system", "fsx.openzfs", "storageCapacity"),
    "aws:fsx/windowsFileSystem:WindowsFileSystem": holds("file system", "fsx.windows", "storageCapacity"),
    "aws:lambda/provisionedConcurrencyConfig:ProvisionedConcurrencyConfig": standing(
        "provisioned concurrency", "lambda.provisioned.hour", ("provisionedConcurrentExecutions",)
    ),
    "aws:opensearch/domain:Domain": standing(
        "search domain", "opensearch.instance.hour", ("clusterConfig", "instanceCount")
    ),
    "aws:opensearch/serverlessCollection:ServerlessCollection": standing("search collection", "opensearch.ocu.hour"),
    "aws:sagemaker/featureGroup:FeatureGroup": by_use("feature store requests", requests="sagemaker.feature.request"),
    "aws:sagemaker/labelingJob:LabelingJob": unstated(
        "labelling", "it is billed by object", requests="sagemaker.label"
    ),
    "aws:sagemaker/mlflowTrackingServer:MlflowTrackingServer": standing("MLflow server", "sagemaker.mlflow.hour"),
    "aws:sagemaker/mlflowApp:MlflowApp": by_use("MLflow", requests="sagemaker.mlflow.request"),
    "aws:cloudwatch/compositeAlarm:CompositeAlarm": standing("composite alarm", "cloudwatch.composite_alarm.hour"),
    "aws:s3/vectorsVectorBucket:VectorsVectorBucket": by_use("vectors", stored_gigabytes="s3.vectors"),
    "aws:s3/filesFileSystem:FilesFileSystem": keeps("file system", "s3.files"),
}

GCP: Final[dict[str, Pricer]] = {
    "gcp:artifactregistry/repository:Repository": by_use("stored images", stored_gigabytes="artifacts.gb_month"),
    "gcp:cloudrun/service:Service": unstated(
        "Cloud Run service", "it is billed by its requests", requests="cloudrun.request", **_fees("cloudrun", _PODS)
    ),
    "gcp:cloudrunv2/job:Job": unstated(
        "Cloud Run job",
        "it is billed by its run time",
        gpu_seconds="cloudrun.gpu.l4.second",
        **_fees("cloudrun", _PODS),
    ),
    "gcp:cloudrunv2/workerPool:WorkerPool": unstated(
        "Cloud Run workers",
        "they are billed while they run",
        gpu_seconds="cloudrun.gpu.l4.second",
        **_fees("cloudrun", _PODS),
    ),
    "gcp:compute/futureReservation:FutureReservation": standing("reserved machines", "future_reservation.hour"),
    "gcp:compute/haVpnGateway:HaVpnGateway": standing("VPN gateway", "vpn.gateway.hour"),
    "gcp:compute/image:Image": keeps("disk image", "image.gb_month"),
    "gcp:compute/instantSnapshot:InstantSnapshot": keeps("instant snapshot", "snapshot.instant"),
    "gcp:compute/machineImage:MachineImage": keeps("machine image", "image.machine"),
    "gcp:compute/nodeGroup:NodeGroup": standing("sole-tenant nodes", "sole_tenant.hour", ("initialSize",)),
    "gcp:compute/regionCommitment:RegionCommitment": standing("commitment of machines", "commitment.hour"),
    "gcp:compute/securityPolicy:SecurityPolicy": standing("Cloud Armor policy", "armor.policy.hour"),
    "gcp:compute/snapshot:Snapshot": keeps("disk snapshot", "snapshot.gb_month"),
    "gcp:compute/storagePool:StoragePool": holds("storage pool", "hyperdisk.pool", "poolProvisionedCapacityGb"),
    "gcp:compute/vPNTunnel:VPNTunnel": standing("VPN tunnel", "vpn.tunnel.hour"),
    "gcp:dataproc/cluster:Cluster": standing("Dataproc cluster", "dataproc.cluster.hour"),
    "gcp:dataproc/batch:Batch": by_use("Spark jobs", **_fees("dataproc_serverless", _PODS)),
    "gcp:filestore/backup:Backup": keeps("file system backup", "filestore.backup"),
    "gcp:netapp/storagePool:StoragePool": holds("storage pool", "netapp", "capacityGib"),
    "gcp:netapp/volume:Volume": free("part of the storage pool"),
    "gcp:parallelstore/instance:Instance": holds("file system", "parallelstore", "capacityGib"),
    "gcp:vertex/aiCacheConfig:AiCacheConfig": _VERTEX,
    "gcp:vertex/aiFeatureOnlineStore:AiFeatureOnlineStore": standing("feature store", "vertex.feature_store.hour"),
    "gcp:vertex/aiFeatureStore:AiFeatureStore": standing("feature store", "vertex.feature_store.hour"),
    "gcp:vertex/aiFeatureGroup:AiFeatureGroup": free("a view of a BigQuery table"),
    "gcp:vertex/aiIndex:AiIndex": by_use("building the index", stored_gigabytes="vertex.index.gb"),
    "gcp:vertex/aiIndexEndpoint:AiIndexEndpoint": free("billed by the indexes deployed to it"),
    "gcp:vertex/aiMetadataStore:AiMetadataStore": by_use("metadata", stored_gigabytes="vertex.metadata.gb_month"),
    "gcp:vertex/aiRagCorpus:AiRagCorpus": _VERTEX,
    "gcp:vertex/aiReasoningEngine:AiReasoningEngine": by_use("agent runtime", **_fees("vertex.agent", _PODS)),
    "gcp:vertex/aiTensorboard:AiTensorboard": by_use("experiment data", stored_gigabytes="vertex.tensorboard.gb_month"),
}

AZURE: Final[dict[str, Pricer]] = {
    "azure-native:app:Job": unstated("container job", "it is billed by its run time", **_fees("container_apps", _PODS)),
    "azure-native:cognitiveservices:Account": _OPENAI,
    "azure-native:cognitiveservices:CommitmentPlan": standing("commitment", "cognitive.commitment.hour"),
    "azure-native:cognitiveservices:Deployment": _when(
        _says(("sku", "name"), "provisioned"),
        standing("provisioned throughput units", "openai.ptu.hour", ("sku", "capacity")),
        _OPENAI,
    ),
    "azure-native:compute:DedicatedHost": standing("dedicated host", "dedicated_host.hour"),
    "azure-native:compute:GalleryImageVersion": keeps("image version", "image.gb_month"),
    "azure-native:compute:Image": keeps("disk image", "image.gb_month"),
    "azure-native:compute:RestorePoint": keeps("restore point", "disk.snapshot"),
    "azure-native:compute:Snapshot": keeps("disk snapshot", "disk.snapshot"),
    "azure-native:containerinstance:ContainerGroup": standing("container group", "container_instances.hour"),
    "azure-native:containerservice:Fleet": free("a hub without machines; its clusters are priced separately"),
    "azure-native:databricks:Workspace": by_use("Databricks units", vcpu_hours="databricks.dbu"),
    "azure-native:hdinsight:Cluster": standing("HDInsight cluster", "hdinsight.cluster.hour"),
    "azure-native:logic:Workflow": by_use("workflow actions", requests="logic.action"),
    "azure-native:machinelearningservices:InferenceEndpoint": standing("inference endpoint", "azureml.inference.hour"),
    "azure-native:machinelearningservices:InferencePool": standing("inference pool", "azureml.inference.hour"),
    "azure-native:machinelearningservices:Job": by_use("serverless job machines", machine_hours="azureml.job.hour"),
    "azure-native:machinelearningservices:ServerlessEndpoint": by_use("model tokens", **_fees("azureml", _TOKENS)),
    "azure-native:monitor:AzureMonitorWorkspace": by_use("metric samples", requests="monitor.sample"),
    "azure-native:netapp:CapacityPool": standing("capacity pool", "netapp.pool.hour"),
    "azure-native:netapp:CapacityPoolVolume": free("part of the capacity pool"),
    "azure-native:network:ApplicationGateway": standing("application gateway", "appgw.hour"),
    "azure-native:network:AzureFirewall": standing("firewall", "firewall.hour"),
    "azure-native:network:BastionHost": standing("bastion host", "bastion.hour"),
    "azure-native:network:DdosProtectionPlan": standing("DDoS protection plan", "ddos.hour"),
    "azure-native:network:ExpressRouteCircuit": standing("ExpressRoute circuit", "expressroute.hour"),
    "azure-native:network:PublicIPPrefix": standing("public IPv4 prefix", "ipv4.prefix.hour"),
    "azure-native:network:VirtualNetworkGateway": standing("network gateway", "vnet_gateway.hour"),
    "azure-native:search:Service": standing("search units", "search.unit.hour", ("replicaCount",), ("partitionCount",)),
    "azure-native:storage:FileShare": by_use("file share", stored_gigabytes="files.gb_month"),
    "azure-native:storagecache:Cache": standing("file cache", "hpc_cache.hour"),
    "azure-native:synapse:BigDataPool": by_use("Spark jobs", vcpu_hours="synapse.vcore_hour"),
}

TABLE: Final[dict[str, Pricer]] = {**AWS, **GCP, **AZURE}
