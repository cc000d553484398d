"""Managed services that start accelerator machines by themselves, and whether they release them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from sizewell.policy.rule import Parameter, Parameters, Undetermined, Verdict, Violation, rule
from sizewell.resources import standing
from sizewell.resources.readers.common import is_accelerated_name
from sizewell.resources.readers.guards import LONGEST_IDLE_MINUTES, minutes, stopped_instance
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Stated, Thing
from sizewell.resources.values import (
    Flag,
    cloud_of,
    contains_unknown,
    count,
    either,
    every,
    flag,
    get,
    items,
    negated,
    number,
)
from sizewell.sizing.providers import CLOUDS

WHOLE: Final = "whole"  # beside the inputs of a part: those of what it is a part of


def _names_accelerators(value: Any, cloud: str) -> Flag:
    """Whether a machine type anywhere inside carries accelerators, or accelerators are asked for by name."""
    named = standing.named(value)
    return either(_has_type(value, cloud), UNKNOWN if isinstance(named, Unknown) else named != "")


def _has_type(value: Any, cloud: str) -> Flag:
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, str):
        return is_accelerated_name(cloud, value.removeprefix("ml."))
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return either(*(_has_type(part, cloud) for part in value)) if isinstance(value, list | tuple) else False


def _too_long(value: Any) -> Flag:
    wait = minutes(value)
    return UNKNOWN if wait is UNKNOWN else wait is None or wait > LONGEST_IDLE_MINUTES


def _emr(inputs: Mapping[str, Any]) -> Flag:
    groups = {key: inputs.get(key) for key in ("masterInstanceGroup", "coreInstanceGroup", "masterInstanceFleet",
                                               "coreInstanceFleet")}  # fmt: skip
    return every(_names_accelerators(groups, "aws"), _emr_waits(inputs))


def _emr_waits(inputs: Any) -> Flag:
    """Whether a cluster of EMR waits for more steps when it has none left, or does not end soon after."""
    idle = number(get(inputs, "autoTerminationPolicy", "idleTimeout"))
    stays: Flag = UNKNOWN if isinstance(idle, Unknown) else idle is None or idle > LONGEST_IDLE_MINUTES * 60
    return every(stays, flag(get(inputs, "keepJobFlowAliveWhenNoSteps"), default=True))


def _emr_group(inputs: Mapping[str, Any]) -> Flag:
    """Task machines of EMR, which end with the cluster that they are added to."""
    own = {key: value for key, value in inputs.items() if key != WHOLE}
    return every(_names_accelerators(own, "aws"), _emr_waits(inputs.get(WHOLE, UNKNOWN)))


def _dataproc(inputs: Mapping[str, Any]) -> Flag:
    config = inputs.get("clusterConfig")
    ends = [get(config, "lifecycleConfig", key) for key in ("idleDeleteTtl", "autoDeleteTime")]
    return every(
        _names_accelerators(config, "gcp"), UNKNOWN if UNKNOWN in ends else ends[1] is None and _too_long(ends[0])
    )


def _gke(inputs: Mapping[str, Any]) -> Flag:
    limits = items(get(inputs, "clusterAutoscaling", "resourceLimits"))
    if isinstance(limits, Unknown) or contains_unknown(limits):
        return UNKNOWN
    least = [
        count(get(limit, "minimum")) for limit in limits if str(get(limit, "resourceType")) not in _PLAIN_RESOURCES
    ]
    return any(isinstance(nodes, int) and nodes > 0 for nodes in least)


_PLAIN_RESOURCES: Final = ("cpu", "memory", "None")  # what is not an accelerator of a cluster that makes its own nodes


def _container_app(inputs: Mapping[str, Any]) -> Flag:
    listed = items(get(inputs, "template", "containers"))
    if isinstance(listed, Unknown):
        return UNKNOWN
    least = count(get(inputs, "template", "scale", "minReplicas", default=0))
    name = inputs.get("workloadProfileName")
    asked = [get(container, "resources", "gpu") for container in listed]
    asks = either(
        UNKNOWN if name is UNKNOWN else standing.profile_of(str(name or ""), inputs.get(WHOLE)) != "",
        *(UNKNOWN if gpu is UNKNOWN else bool(gpu) for gpu in asked),
    )
    return every(asks, UNKNOWN if least is UNKNOWN else bool(least))


ENVIRONMENT: Final = "azure-native:app:ManagedEnvironment"


def _environment(inputs: Mapping[str, Any]) -> Flag:
    listed = items(inputs.get("workloadProfiles"))
    if isinstance(listed, Unknown) or contains_unknown(listed):
        return UNKNOWN
    return any(
        bool(count(get(profile, "minimumCount")))
        and is_accelerated_name(cloud_of(ENVIRONMENT), str(get(profile, "workloadProfileType")))
        for profile in listed
    )


def _ml_compute(inputs: Mapping[str, Any]) -> Flag:
    kind, inner = get(inputs, "properties", "computeType"), get(inputs, "properties", "properties")
    if kind is UNKNOWN or contains_unknown(inner):
        return UNKNOWN
    idle = (
        get(inner, "idleTimeBeforeShutdown")
        if kind == "ComputeInstance"
        else get(inner, "scaleSettings", "nodeIdleTimeBeforeScaleDown", default="PT2M")
    )
    judged = kind in {"ComputeInstance", "AmlCompute"} and not (
        kind == "ComputeInstance" and stopped_instance(inner) is True
    )
    return every(judged, _names_accelerators(get(inner, "vmSize"), "azure"), _too_long(idle))


def _workbench(inputs: Mapping[str, Any]) -> Flag:
    setup = inputs.get("gceSetup")
    idle = number(get(setup, "metadata", "idle-timeout-seconds"))
    stays: Flag = UNKNOWN if isinstance(idle, Unknown) else idle is None or not 0 < idle <= LONGEST_IDLE_MINUTES * 60
    state = inputs.get("desiredState")
    runs: Flag = UNKNOWN if state is UNKNOWN else state != "STOPPED"
    return every(runs, _names_accelerators(setup, "gcp"), stays)


def _studio(inputs: Mapping[str, Any]) -> Flag:
    settings = inputs.get("defaultUserSettings")
    for app in ("jupyterLabAppSettings", "codeEditorAppSettings"):
        idle = get(settings, app, "appLifecycleManagement", "idleSettings")
        if isinstance(idle, Unknown) or contains_unknown(idle):
            return UNKNOWN
        limit = number(get(idle, "idleTimeoutInMinutes"))
        ends = isinstance(limit, Decimal) and limit <= LONGEST_IDLE_MINUTES
        if idle is not None and not (ends and get(idle, "lifecycleManagement") == "ENABLED"):
            return True
    return False


def _studio_app(inputs: Mapping[str, Any]) -> Flag:
    kernel = inputs.get("appType")
    return (
        UNKNOWN
        if kernel is UNKNOWN
        else every(kernel != "Canvas", _names_accelerators(inputs.get("resourceSpec"), "aws"))
    )


def _throughput(inputs: Mapping[str, Any]) -> Flag:
    """Model units without a term bill by the hour until they are deleted; those with one are a purchase."""
    return UNKNOWN if inputs.get("commitmentDuration") is UNKNOWN else inputs.get("commitmentDuration") is None


def _desktops(inputs: Mapping[str, Any]) -> Flag:
    """Fleets of AppStream stand ready where nothing else is stated; others bill their machines by session."""
    fleet = inputs.get("fleetType")
    ready: Flag = UNKNOWN if fleet is UNKNOWN else fleet not in ("ON_DEMAND", "ELASTIC")
    return every(_names_accelerators(inputs, "aws"), ready)


def _model_pool(inputs: Mapping[str, Any]) -> Flag:
    least = count(get(inputs, "dedicatedResources", "minReplicaCount"))
    kept: Flag = UNKNOWN if isinstance(least, Unknown) else bool(least)
    return every(kept, _names_accelerators(get(inputs, "dedicatedResources", "machineSpec"), "gcp"))


def _persistent(inputs: Mapping[str, Any]) -> Flag:
    listed = items(inputs.get("resourcePools"))
    return UNKNOWN if isinstance(listed, Unknown) else _names_accelerators(listed, "gcp")


def _colab(inputs: Mapping[str, Any]) -> Flag:
    idle = get(inputs, "idleShutdownConfig", "idleTimeout", default="10800s")  # the service's default is three hours
    limit = minutes(idle)
    stays: Flag = UNKNOWN if limit is UNKNOWN else limit is None or not 0 < limit < LONGEST_IDLE_MINUTES
    return every(_names_accelerators(inputs.get("machineSpec"), "gcp"), stays)


def _spark(inputs: Mapping[str, Any]) -> Flag:
    pause = inputs.get("autoPause")
    delay = number(get(pause, "delayInMinutes", default=15))
    late: Flag = UNKNOWN if isinstance(delay, Unknown) else delay is None or delay > LONGEST_IDLE_MINUTES
    return every(_names_accelerators(inputs, "azure"), either(negated(flag(get(pause, "enabled"))), late))


def _fleet(inputs: Mapping[str, Any]) -> Flag:
    """Machines of Azure's compute fleets that come back when they are taken, or are never asked whether they work."""
    regular = count(get(inputs, "regularPriorityProfile", "capacity", default=0))
    spot = count(get(inputs, "spotPriorityProfile", "capacity", default=0))
    again = flag(get(inputs, "spotPriorityProfile", "maintain"), default=True)
    kept = either(
        UNKNOWN if isinstance(regular, Unknown) else bool(regular),
        every(again, UNKNOWN if isinstance(spot, Unknown) else bool(spot)),
    )
    return every(kept, _names_accelerators(inputs.get("vmSizesProfile"), "azure"))


def _batch_pool(inputs: Mapping[str, Any]) -> Flag:
    sizes = [
        count(get(inputs, "scaleSettings", "fixedScale", key, default=0))
        for key in ("targetDedicatedNodes", "targetLowPriorityNodes")
    ]
    formula = get(inputs, "scaleSettings", "autoScale", "formula")
    kept = either(
        *(UNKNOWN if isinstance(size, Unknown) else bool(size) for size in sizes),
        UNKNOWN if isinstance(formula, Unknown) else _never_zero(str(formula or "")),
    )
    return every(kept, _names_accelerators(inputs.get("vmSize"), "azure"))


def _never_zero(formula: str) -> bool:
    """Whether a formula of Batch sets a number of nodes that is written down and above zero, by itself or as the least.

    >>> _never_zero("n = 2; $TargetDedicatedNodes = n;"), _never_zero("$TargetLowPriorityNodes = max(1, $tasks);")
    (True, True)
    >>> _never_zero("$TargetDedicatedNodes = 2; $TargetDedicatedNodes = min(4, $tasks);")
    False
    """
    stated = {
        key: value.strip() for key, value in re.findall(r"(\$?\w+)\s*=(?!=)([^;]*)", formula)
    }  # the last one holds
    targets = [stated.get(key, "0") for key in ("$TargetDedicatedNodes", "$TargetLowPriorityNodes")]
    return any(re.match(r"(?:max\(\s*)?[1-9]\d*\s*(?:,|$)", stated.get(each, each)) for each in targets)


def _desk(inputs: Mapping[str, Any]) -> Flag:
    """Desks of WorkSpaces; they are always on where nothing else is stated."""
    mode = get(inputs, "workspaceProperties", "runningMode")
    ready: Flag = UNKNOWN if mode is UNKNOWN else bool(mode != "AUTO_STOP")
    return every(_names_accelerators(inputs.get("workspaceProperties"), "aws"), ready)


def _builders(inputs: Mapping[str, Any]) -> Flag:
    """Fleets of CodeBuild hold at least one machine as long as they exist."""
    return _names_accelerators(inputs, "aws")


def _beanstalk(inputs: Mapping[str, Any]) -> Flag:
    """Environments of Elastic Beanstalk hold at least one machine as long as they exist."""
    listed = items(inputs.get("settings"))
    if isinstance(listed, Unknown):
        return UNKNOWN
    entries = [(get(entry, "name"), get(entry, "value")) for entry in listed]
    kinds = [value for name, value in entries if name is UNKNOWN or str(name).startswith("InstanceType")]
    return _names_accelerators([part for kind in kinds for part in _words(kind)], "aws")


def _words(value: Any) -> list[Any]:
    return [UNKNOWN] if value is UNKNOWN else re.split(r"[,\s]+", str(value))


def _workstations(inputs: Mapping[str, Any]) -> Flag:
    """Workstations of Google Cloud stop after 20 minutes where nothing else is stated; "0s" is never."""
    machine = get(inputs, "host", "gceInstance")
    ahead, idle = count(get(machine, "poolSize", default=0)), inputs.get("idleTimeout", "1200s")
    limit = minutes(idle)
    stays: Flag = UNKNOWN if limit is UNKNOWN else limit is None or not 0 < limit <= LONGEST_IDLE_MINUTES
    return every(
        _names_accelerators(machine, "gcp"), either(stays, UNKNOWN if isinstance(ahead, Unknown) else bool(ahead))
    )


def _stream(inputs: Mapping[str, Any]) -> Flag:
    """Workers of a stream in Dataflow stay; those of a batch end with it."""
    asked = items(inputs.get("additionalExperiments"))
    if isinstance(asked, Unknown) or UNKNOWN in asked:
        return UNKNOWN
    streams = flag(inputs.get("enableStreamingEngine"), default="enable_streaming_engine" in asked)
    return every(_names_accelerators(inputs, "gcp"), streams)


def _host(inputs: Mapping[str, Any]) -> Flag:
    """A host of one's own bills until it is released, with or without machines on it."""
    return _names_accelerators(inputs, "aws")


def _azure_host(inputs: Mapping[str, Any]) -> Flag:
    return _names_accelerators(inputs, "azure")


def _lab(inputs: Mapping[str, Any]) -> Flag:
    idle, left = (get(inputs, "autoShutdownProfile", key) for key in ("shutdownOnIdle", "shutdownOnDisconnect"))
    stays: Flag = UNKNOWN if UNKNOWN in (idle, left) else idle in (None, "None") and left != "Enabled"
    return every(stays, _names_accelerators(inputs.get("virtualMachineProfile"), "azure"))


def _container_group(inputs: Mapping[str, Any]) -> Flag:
    """Container groups start again when they end, where nothing else is stated."""
    listed, again = items(inputs.get("containers")), inputs.get("restartPolicy", "Always")
    if isinstance(listed, Unknown) or contains_unknown(listed):
        return UNKNOWN
    asks = any(get(container, "resources", key, "gpu") for container in listed for key in ("requests", "limits"))
    return every(asks, UNKNOWN if again is UNKNOWN else again == "Always")


_ITS_CLUSTER: Final = "set autoTerminationPolicy.idleTimeout of its cluster to an hour"
_Reader = tuple[Callable[[Mapping[str, Any]], Flag], str]
_READERS: Final[Mapping[str, _Reader]] = {
    "aws:emr/cluster:Cluster": (_emr, "set autoTerminationPolicy.idleTimeout to an hour"),
    "aws:emr/instanceGroup:InstanceGroup": (_emr_group, _ITS_CLUSTER),
    "aws:emr/instanceFleet:InstanceFleet": (_emr_group, _ITS_CLUSTER),
    "aws:sagemaker/domain:Domain": (_studio, "enable idle shutdown with idleTimeoutInMinutes of 60"),
    "aws:sagemaker/app:App": (_studio_app, "start apps from a space whose domain stops them when idle"),
    "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput": (
        _throughput,
        "call the model on demand, or delete the units after testing",
    ),
    "aws:appstream/fleet:Fleet": (_desktops, "set fleetType to ON_DEMAND with a disconnect timeout"),
    "aws:workspaces/workspace:Workspace": (_desk, "set workspaceProperties.runningMode to AUTO_STOP"),
    "aws:codebuild/fleet:Fleet": (_builders, "build on demand: projects take GPU machines without a fleet"),
    "aws:elasticbeanstalk/environment:Environment": (_beanstalk, "serve it from a group or service that reaches 0"),
    "aws:ec2/dedicatedHost:DedicatedHost": (_host, "take machines on shared hosts, or release the host after use"),
    "gcp:workstations/workstationConfig:WorkstationConfig": (
        _workstations,
        "set idleTimeout to 1200s and poolSize to 0",
    ),
    "gcp:dataflow/job:Job": (_stream, "read in batches, so that the workers end with the job"),
    "gcp:dataflow/flexTemplateJob:FlexTemplateJob": (_stream, "read in batches, so that the workers end with the job"),
    "azure-native:compute:DedicatedHost": (_azure_host, "take machines on shared hosts, or delete the host after use"),
    "azure-native:labservices:Lab": (_lab, "set autoShutdownProfile.shutdownOnIdle to UserAbsence"),
    "azure-native:containerinstance:ContainerGroup": (_container_group, "set restartPolicy to OnFailure"),
    "gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool": (
        _model_pool,
        "serve from Cloud Run, which reaches 0, or delete it when nobody calls it: minReplicaCount is at least 1",
    ),
    "gcp:vertex/aiPersistentResource:AiPersistentResource": (_persistent, "start custom jobs without it"),
    "gcp:colab/runtimeTemplate:RuntimeTemplate": (_colab, "set idleShutdownConfig.idleTimeout to 3600s"),
    "azure-native:synapse:BigDataPool": (_spark, "enable autoPause with delayInMinutes of 15"),
    "azure-native:azurefleet:Fleet": (_fleet, "use a scale set with an autoscaler that reaches 0"),
    "azure-native:batch:Pool": (_batch_pool, "set scaleSettings.autoScale with a formula that reaches 0"),
    "gcp:dataproc/cluster:Cluster": (_dataproc, "set lifecycleConfig.idleDeleteTtl to 3600s"),
    "gcp:container/cluster:Cluster": (_gke, "set the minimum of the accelerator's resourceLimits to 0"),
    "gcp:workbench/instance:Instance": (_workbench, "set the metadata idle-timeout-seconds to 3600"),
    "azure-native:app:ContainerApp": (_container_app, "set template.scale.minReplicas to 0"),
    ENVIRONMENT: (_environment, "set minimumCount of the profile to 0"),
    "azure-native:machinelearningservices:Compute": (_ml_compute, "set idleTimeBeforeShutdown to PT30M"),
}
_SERVING: Final = (  # what answers users may keep accelerators where users are
    "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput",
    "gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool",
    "azure-native:azurefleet:Fleet",
    "aws:elasticbeanstalk/environment:Environment",
    "aws:ec2/dedicatedHost:DedicatedHost",
    "gcp:dataflow/job:Job",
    "gcp:dataflow/flexTemplateJob:FlexTemplateJob",
    "azure-native:compute:DedicatedHost",
    "azure-native:containerinstance:ContainerGroup",
)


@rule(
    "accelerators-kept",
    area="spend",
    subject="things",
    prevents="managed accelerators that are billed while idle",
    about_accelerators=True,
    clouds=(*CLOUDS, "kubernetes", ""),  # also those of other providers, and what operators start
    parameters={
        "baseline": Parameter(
            default=["prod"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="environments in which a service may keep a minimum size",
        )
    },
)
def accelerators_kept(thing: Thing, parameters: Parameters) -> Verdict:
    """Services that start accelerator machines by themselves release them: by scaling to zero, or after a time.

    >>> from sizewell.policy.examples import thing
    >>> group = {"coreInstanceGroup": {"instanceType": "g6e.12xlarge"}}
    >>> accelerators_kept(thing(type="aws:emr/cluster:Cluster", inputs=group), {"baseline": ["prod"]}).fix
    'set autoTerminationPolicy.idleTimeout to an hour'
    """
    if thing.type not in _READERS:
        return _unread(thing, parameters) if thing.unread else None
    keeps, fix = _READERS[thing.type]
    if thing.type in _SERVING and thing.environment in parameters["baseline"]:
        return None
    kept = keeps(thing.inputs if thing.whole is None else {**thing.inputs, WHOLE: thing.whole})
    if isinstance(kept, Unknown):
        return Undetermined("how long it keeps accelerators when idle")
    if not kept or thing.expiry.counts is True:
        return None
    return Violation("it keeps accelerators when idle, and they are billed around the clock", fix)


_CODE: Final = (  # they have no machines of their own with accelerators, and no input that ends one
    "aws:lambda/function:Function",
    "gcp:cloudfunctions/function:Function",
    "gcp:cloudfunctionsv2/function:Function",
    "azure-native:web:WebApp",
    "azure-native:web:WebAppSlot",
    "azure:appservice/linuxFunctionApp:LinuxFunctionApp",
    "azure:appservice/windowsFunctionApp:WindowsFunctionApp",
)


def _unread(thing: Thing, parameters: Parameters) -> Verdict:
    """Of a type that nobody reads: it names accelerators, and nothing in it ends that."""
    if thing.stated is not None:
        return _stated(thing, thing.stated, parameters)
    inputs: Any = thing.inputs
    if thing.type == "aws:cloudcontrol/resource:Resource":
        inputs = _parsed(inputs.get("desiredState"))
    what = standing.named(inputs)
    if what == "" or thing.expiry.counts is True or standing.ends(inputs, thing.expiries):
        return None
    if thing.environment in parameters["baseline"] and standing.moves(inputs):
        return None
    if isinstance(what, Unknown):
        return Undetermined("its machine type")
    if thing.type in _CODE:
        return Undetermined(f"whether its code starts {what}, which it names")
    return _endless(f"it names {what}", thing)


def _stated(thing: Thing, machines: Stated, parameters: Parameters) -> Verdict:
    """Of a custom resource whose operator starts the machines that it names."""
    if thing.expiry.counts is True or standing.ends(machines.sizes, thing.expiries):
        return None
    if thing.environment in parameters["baseline"] and standing.moves(machines.sizes):
        return None
    return _endless(f"its operator keeps {machines.words()}", thing)


def _endless(what: str, thing: Thing) -> Violation:
    return Violation(
        f"{what}, and nothing in it ends that: no minimum of 0, no idle time, no end{thing.expiry.also()}",
        "give it a minimum of 0, an idle time or an end, or waive this for it until a day",
    )


def _parsed(document: Any) -> Any:
    if isinstance(document, Unknown):
        return UNKNOWN
    try:
        return json.loads(document) if isinstance(document, str) else {}
    except ValueError:
        return {}
