"""Managed services: endpoints, notebooks, Kubernetes control planes, jobs."""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Final, TypeVar

from sizewell.resources import aws_nodes, azure_nodes, controlled, standing
from sizewell.resources.gcp_nodes import last_part, run_size
from sizewell.resources.graph import Graph
from sizewell.resources.readers import clocks, guards
from sizewell.resources.readers.cloud import Reader, Readers
from sizewell.resources.readers.common import base, decoded, is_accelerated_name
from sizewell.resources.readers.network import is_world
from sizewell.resources.recorded import INAPPLICABLE, UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.stackfacts import Fact
from sizewell.resources.values import (
    Count,
    Flag,
    Text,
    cloud_of,
    count,
    either,
    every,
    flag,
    get,
    items,
    negated,
    text,
)
from sizewell.sizing.providers import cloud_of_service

F = TypeVar("F", bound=Fact)
_PRIVATE: Final = tuple(
    ipaddress.IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)


def read(graph: Graph, readers: Readers, kind: type[F]) -> tuple[F, ...]:
    """The facts of one kind, in the order of the types."""
    facts: list[F] = []
    for token, reader in readers.items():
        for resource in graph.of(token):
            details = reader(graph, resource)
            if details is not None:
                facts.append(kind(**base(graph, resource), **details))
    return tuple(facts)


def _accelerated(resource: RecordedResource, kind: Text) -> Flag:
    return UNKNOWN if isinstance(kind, Unknown) else is_accelerated_name(cloud_of(resource.type), kind)


def _ml_accelerated(kind: object) -> Flag:
    name = text(kind)
    return UNKNOWN if isinstance(name, Unknown) else is_accelerated_name(cloud_of_service("sagemaker"), name)


def sagemaker_endpoint(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    production, shadow = (items(resource.inputs.get(f"{word}Variants")) for word in ("production", "shadowProduction"))
    return _sagemaker_variants(graph, resource, production, shadow)


def controlled_endpoint(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    """An endpoint's configuration that Cloud Control makes: one that reaches zero."""
    if resource.inputs.get("typeName") != controlled.ENDPOINT_CONFIGURATION:
        return None
    return _sagemaker_variants(graph, resource, controlled.variants(graph, resource), ())


def _sagemaker_variants(
    graph: Graph,
    resource: RecordedResource,
    production: tuple[object, ...] | Unknown,
    shadow: tuple[object, ...] | Unknown,
) -> dict[str, object] | None:
    if isinstance(production, Unknown) or isinstance(shadow, Unknown) or UNKNOWN in (*production, *shadow):
        return {"accelerated": UNKNOWN, "scales": UNKNOWN, "kinds": UNKNOWN}
    variants = (*production, *shadow)  # a shadow answers nobody, and its machines are billed like the others
    live = [variant for variant in variants if get(variant, "serverlessConfig") is None]
    if not live:
        return None
    managed = [get(variant, "managedInstanceScaling") for variant in live]
    outside = [_scaled_outside(graph, resource, get(variant, "variantName")) for variant in live]
    least: list[Count] = []
    for scaling, variant, (moved, fewest) in zip(managed, live, outside, strict=True):
        initial = get(variant, "initialInstanceCount", default=1)
        below: object = UNKNOWN if moved is UNKNOWN else fewest if moved else initial
        fewest_stated = count(get(scaling, "minInstanceCount", default=below))
        kept = at_least(resource.inputs, variant)
        least.append(max(fewest_stated, kept) if isinstance(fewest_stated, int) else fewest_stated)
    return {
        "accelerated": either(*(_ml_accelerated(get(variant, "instanceType")) for variant in live)),
        "scales": either(
            *(UNKNOWN if s is UNKNOWN else _enabled(s) for s in managed), *(moved for moved, _ in outside)
        ),
        "nodes_min": UNKNOWN if UNKNOWN in least else sum(value for value in least if isinstance(value, int)),
        "nodes_max": None,
        "keeps_one": _REAL_TIME if any(at_least(resource.inputs, variant) for variant in live) else "",
        "kinds": _kinds([get(variant, "instanceType") for variant in live]),
    }


_REAL_TIME: Final = (
    "add asyncInferenceConfig to its configuration, with a scaling target of minCapacity 0 and a policy, or an expiry "
    "that something acts on: a real-time variant of a model keeps an instance"
)


def at_least(configuration: object, variant: object) -> int:
    """Instances that a variant always has: one, unless it is asynchronous, or made for inference components, which
    names no model.

    Source: AWS, "Scale an endpoint to zero instances", SageMaker AI Developer Guide, from memory.
    """
    asynchronous = get(configuration, "asyncInferenceConfig") is not None
    return 0 if asynchronous or get(variant, "modelName") is None else 1


def _scaled_outside(graph: Graph, config: RecordedResource, variant: object) -> tuple[Flag, Count]:
    """Whether Application Auto Scaling moves a variant of this configuration, down as well as up; and its minimum."""
    hosts = graph.referring(config, "aws:sagemaker/endpoint:Endpoint", "endpointConfigName")
    names = {host.inputs.get("name") for host in hosts} if isinstance(hosts, tuple) else set()
    unnamed = not names or UNKNOWN in names or None in names
    flags: list[Flag] = []
    fewest: Count = None
    for target in graph.of("aws:appautoscaling/target:Target"):
        address = target.inputs.get("resourceId")
        if target.inputs.get("serviceNamespace") != "sagemaker":
            continue
        if isinstance(address, str):
            _, _, rest = address.partition("/")
            endpoint, _, named = rest.partition("/variant/")
            if named != variant or not (unnamed or endpoint in names):
                continue
        least, most = count(target.inputs.get("minCapacity")), count(target.inputs.get("maxCapacity"))
        wide: Flag = UNKNOWN if UNKNOWN in (least, most) else (most or 0) > (least or 0)  # type: ignore[operator]
        policies = [
            policy
            for policy in graph.of("aws:appautoscaling/policy:Policy")
            if policy.inputs.get("resourceId") in {address, UNKNOWN} or address is UNKNOWN
        ]
        flags.append(every(wide, either(False, *(_takes_away(policy) for policy in policies))))
        fewest = least
    return either(False, *flags), fewest


def _takes_away(policy: RecordedResource) -> Flag:
    tracking = policy.inputs.get("targetTrackingScalingPolicyConfiguration")
    if tracking is not None:
        return negated(flag(get(tracking, "disableScaleIn")))
    steps = items(get(policy.inputs, "stepScalingPolicyConfiguration", "stepAdjustments"))
    if isinstance(steps, Unknown):
        return UNKNOWN
    moves = [count(get(step, "scalingAdjustment")) for step in steps]
    return either(False, *(UNKNOWN if move is UNKNOWN else isinstance(move, int) and move < 0 for move in moves))


def _bare(kind: Text) -> Text:
    return kind if isinstance(kind, Unknown) else kind.removeprefix("ml.")


def _kinds(stated: list[object]) -> tuple[str, ...] | Unknown:
    return UNKNOWN if UNKNOWN in stated else tuple(str(kind).removeprefix("ml.") for kind in stated if kind)


def _enabled(scaling: object) -> bool:
    return scaling is not None and get(scaling, "status", default="ENABLED") == "ENABLED"


_TASK: Final = "aws:ecs/taskDefinition:TaskDefinition"
_TARGET: Final = "aws:appautoscaling/target:Target"


def ecs_service(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    """A service whose tasks hold GPUs, on machines of this program or of another."""
    tasks = graph.referenced(resource, "taskDefinition", _TASK)
    definitions = [task.inputs.get("containerDefinitions") for task in tasks] if isinstance(tasks, tuple) else []
    gpu = either(False, *(UNKNOWN if isinstance(text(each), Unknown) else '"GPU"' in str(each) for each in definitions))
    if gpu is False or (gpu is UNKNOWN and _fargate_alone(graph, resource, tasks)):
        return None
    targets = graph.referring(resource, _TARGET, "resourceId")
    wanted = count(resource.inputs.get("desiredCount", 0))
    if isinstance(targets, Unknown):
        return {"accelerated": gpu, "scales": UNKNOWN, "nodes_min": UNKNOWN, "nodes_max": None, "what": "service"}
    targets = targets or tuple(
        each for each in graph.of(_TARGET) if str(each.inputs.get("resourceId")).endswith(f"/{resource.name}")
    )
    bounds = [(count(each.inputs.get("minCapacity")), count(each.inputs.get("maxCapacity"))) for each in targets]
    least, most = bounds[0] if bounds else (wanted, wanted)
    wide: Flag = UNKNOWN if UNKNOWN in (least, most) else (most or 0) > (least or 0)  # type: ignore[operator]
    policies = [
        policy
        for target in targets
        for policy in graph.of("aws:appautoscaling/policy:Policy")
        if policy.inputs.get("resourceId") == target.inputs.get("resourceId")
    ]
    return {
        "what": "service",
        "keeps_one": (
            f"set {'minCapacity of its scaling target' if bounds else 'desiredCount'} to 0 while nobody calls it, or "
            "add an expiry that something acts on"
        ),
        "accelerated": gpu,
        "scales": every(wide, either(False, *(_takes_away(policy) for policy in policies))),
        "nodes_min": least,
        "nodes_max": most,
    }


def _fargate_alone(graph: Graph, service: RecordedResource, tasks: tuple[RecordedResource, ...] | Unknown) -> bool:
    """Whether tasks run on Fargate, which has no accelerators: by their service, or by what all of them are for."""
    if aws_nodes.on_fargate(graph, service) is True:
        return True
    kinds = [items(task.inputs.get("requiresCompatibilities")) for task in tasks] if isinstance(tasks, tuple) else []
    return bool(kinds) and all(kind == ("FARGATE",) for kind in kinds)


def vertex_endpoint(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    dedicated = get(resource.inputs, "deployConfig", "dedicatedResources")
    least = count(get(dedicated, "minReplicaCount", default=1))
    most = count(get(dedicated, "maxReplicaCount", default=least))
    kind = text(get(dedicated, "machineSpec", "machineType"))
    wide: Flag = UNKNOWN if UNKNOWN in (least, most) else (most or 0) > (least or 0)  # type: ignore[operator]
    return {
        "accelerated": UNKNOWN if isinstance(kind, Unknown) else bool(kind),
        "scales": wide,
        "nodes_min": least,
        "nodes_max": most,
        "kinds": _kinds([kind] if kind != "" else []),
    }


def cloud_run(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    template = resource.inputs.get("template")
    containers = items(get(template, "containers"))
    selected = get(template, "nodeSelector", "accelerator")
    if isinstance(containers, Unknown):
        accelerated: Flag = UNKNOWN if selected is None else True
    else:
        gpus = [get(each, "resources", "limits", "nvidia.com/gpu") for each in containers]
        asked = (UNKNOWN if gpu is UNKNOWN else gpu is not None for gpu in gpus)
        accelerated = either(selected is not None, *asked)
    if accelerated is False:
        return None
    size = run_size(resource.inputs)
    return {
        "what": "worker pool" if resource.type.endswith(":WorkerPool") else "service",
        "accelerated": accelerated,
        "scales": UNKNOWN if size.least is UNKNOWN else size.least == 0 or size.most != size.least,
        "nodes_min": size.least,
        "nodes_max": size.most,
    }


def azure_endpoint(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    details = resource.inputs.get("onlineDeploymentProperties", resource.inputs.get("properties"))
    if get(details, "endpointComputeType") == "Kubernetes":
        return None
    kind = text(get(details, "instanceType"))
    scale = get(details, "scaleSettings", "scaleType")
    capacity = count(get(resource.inputs, "sku", "capacity", default=1))
    moved = azure_nodes.autoscaled(graph, resource, capacity)
    size = fixed(capacity) if moved is None else moved
    return {
        "accelerated": _accelerated(resource, kind),
        "scales": either(
            UNKNOWN if scale is UNKNOWN else scale == "TargetUtilization",
            UNKNOWN if size.most is UNKNOWN and moved is not None else moved is not None,
        ),
        "nodes_min": size.least,
        "nodes_max": size.most,
        "kinds": _kinds([kind] if kind != "" else []),
    }


def notebook_size(graph: Graph, resource: RecordedResource, reader: Reader) -> Size:
    """One machine, and none while it is idle where the notebook stops itself."""
    stops = (reader(graph, resource) or {}).get("stops_itself")
    return Size(least=0 if stops is True else 1, wanted=1, most=1)


def notebook_instance(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    inputs = resource.inputs
    config = inputs.get("lifecycleConfigName")
    configs = graph.referenced(
        resource,
        "lifecycleConfigName",
        "aws:sagemaker/notebookInstanceLifecycleConfiguration:NotebookInstanceLifecycleConfiguration",
    )
    stops: Flag = config is not None
    if isinstance(configs, tuple) and configs:
        stops = _starts_stop(configs[0].inputs)
    elif isinstance(configs, Unknown):
        stops = UNKNOWN
    return {
        "accelerated": _ml_accelerated(inputs.get("instanceType")),
        "kind": _bare(text(inputs.get("instanceType"))),
        "stops_itself": either(stops, clocks.stops(graph, resource)),
        "public": _is_not(inputs.get("directInternetAccess"), "Disabled"),
        "root": _is_not(inputs.get("rootAccess"), "Disabled"),
        "own_key": inputs.get("kmsKeyId") is not None,
    }


_STOP: Final = re.compile("autostop|auto-stop|idle|stop-notebook-instance", re.IGNORECASE)
_STARTS_NOTHING: Final = re.compile(  # comments, variables, and what brings or prepares a file
    r"#|(export\s+)?\w+=\S*$|(sudo\s+)?((wget|curl|echo|printf)\b(?!.*[|>])|(chmod|chown|cp|mv|rm|mkdir|touch|git|tar|unzip)\b"
    r"|(python3? -m )?pip3?\b|(apt|apt-get|yum|dnf|conda)\b|aws s3\b)"
)


def _starts_stop(inputs: object) -> Flag:
    """Whether a line of the start script that does something names what stops a notebook, within a day of idleness."""
    script = decoded(get(inputs, "onStart"))
    if isinstance(script, Unknown):
        return UNKNOWN
    lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in script.replace("\\\n", " ").splitlines()]
    variables = {match[1]: match[2] for line in lines if (match := _ASSIGNED.match(line))}
    return any(
        _STOP.search(command) and not _STARTS_NOTHING.match(command)
        for line in lines
        if _soon_enough(re.sub(r"\$\{?(\w+)\}?", lambda name: variables.get(name[1], name[0]), line))
        for command in map(str.strip, re.split("&&|;", line))
    )


_ASSIGNED: Final = re.compile(r"""(?:export\s+)?(\w+)=["']?(\d+)["']?$""")
_IDLE_SECONDS: Final = re.compile(r"(?:--time|--idle[_-]time|\s-t|\bsleep)[\s=]+(\d+)\b")
_LATER: Final = re.compile(r"\bnow\s*\+\s*(\d+)\s*(minute|hour|day|week)")
_CRON: Final = re.compile(r"(?:^|[\"'\s])((?:[\d*/,-]+\s+){4}[\w*/,-]+)\s")
_MINUTES: Final = {"minute": 1, "hour": 60, "day": 1440, "week": 7 * 1440}


def _soon_enough(line: str) -> bool:
    """Whether what a line starts acts within a day of idleness, every week; one that states no time is taken to."""
    waits = [int(seconds) / 60 for seconds in _IDLE_SECONDS.findall(line)]
    waits += [int(size) * _MINUTES[unit] for size, unit in _LATER.findall(line)]
    often = all(guards.stops_often(cron) for cron in _CRON.findall(line))
    return often and all(wait <= guards.LONGEST_IDLE_MINUTES for wait in waits)


def _is_not(value: object, wanted: str) -> Flag:
    return UNKNOWN if isinstance(value, Unknown) else bool(value != wanted)


def domain(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    settings = get(resource.inputs, "defaultUserSettings")
    idle: list[Flag] = [
        _idle_on(get(settings, app, "appLifecycleManagement", "idleSettings", "lifecycleManagement"))
        for app in ("jupyterLabAppSettings", "codeEditorAppSettings")
    ]
    named = standing.named({key: resource.inputs.get(key) for key in ("defaultUserSettings", "defaultSpaceSettings")})
    return {
        # A domain runs nothing by itself, and users may choose any machine; what it sets for them is what is known.
        "accelerated": UNKNOWN if isinstance(named, Unknown) else named != "",
        "stops_itself": either(*idle),
        "public": _is_not(resource.inputs.get("appNetworkAccessType"), "VpcOnly"),
        "root": False,
        "own_key": resource.inputs.get("kmsKeyId") is not None,
    }


def _idle_on(value: object) -> Flag:
    return UNKNOWN if isinstance(value, Unknown) else bool(value == "ENABLED")


def workbench(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    setup = resource.inputs.get("gceSetup")
    timeout = get(setup, "metadata", "idle-timeout-seconds")
    kind = last_part(text(get(setup, "machineType")))
    attached = get(setup, "acceleratorConfigs")
    return {
        "accelerated": either(
            _accelerated(resource, kind),
            UNKNOWN if attached is UNKNOWN else bool(attached),
        ),
        "stops_itself": either(
            resource.inputs.get("desiredState") == "STOPPED",
            UNKNOWN if timeout is UNKNOWN else timeout is not None and str(timeout) != "0",
        ),
        "public": negated(flag(get(setup, "disablePublicIp"))),
        "root": _is_not(get(setup, "metadata", "notebook-disable-root"), "true"),
        "own_key": get(setup, "bootDisk", "kmsKey") is not None,
    }


def colab(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    timeout = get(resource.inputs, "idleShutdownConfig", "idleTimeout")
    attached = get(resource.inputs, "machineSpec", "acceleratorType")
    kind = text(get(resource.inputs, "machineSpec", "machineType"))
    return {
        "accelerated": either(
            _accelerated(resource, kind), UNKNOWN if attached is UNKNOWN else attached not in (None, "")
        ),
        "stops_itself": UNKNOWN if timeout is UNKNOWN else timeout is not None,
        "public": flag(get(resource.inputs, "networkSpec", "enableInternetAccess")),
        "root": False,
        "own_key": get(resource.inputs, "encryptionSpec", "kmsKeyName") is not None,
    }


def compute_instance(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    outer = resource.inputs.get("properties")
    kind_of = get(outer, "computeType")
    if kind_of is UNKNOWN:
        return dict.fromkeys(("accelerated", "kind", "stops_itself", "public", "root"), UNKNOWN)
    if kind_of != "ComputeInstance":
        return None
    inner = get(outer, "properties")
    idle = get(inner, "idleTimeBeforeShutdown")
    kind = text(get(inner, "vmSize"))
    return {
        "accelerated": _accelerated(resource, kind),
        "kind": kind,
        "stops_itself": either(UNKNOWN if idle is UNKNOWN else idle is not None, guards.stopped_instance(inner)),
        "public": flag(get(inner, "enableNodePublicIp"), default=True),
        "root": flag(get(inner, "enableRootAccess")),
        "own_key": False,
    }


def eks(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    config = resource.inputs.get("vpcConfig")
    secrets = get(resource.inputs, "encryptionConfig", "resources")
    listed = items(secrets)
    logs = items(resource.inputs.get("enabledClusterLogTypes"))
    return {
        "public_endpoint": _exposed(
            flag(get(config, "endpointPublicAccess"), default=True), get(config, "publicAccessCidrs")
        ),
        "secrets_encrypted": UNKNOWN if isinstance(listed, Unknown) else "secrets" in listed,
        "logged": UNKNOWN if isinstance(logs, Unknown) else {"api", "audit", "authenticator"} <= set(logs),
        "workload_identity": INAPPLICABLE,  # Pod Identity and IRSA need no switch on the cluster
        "local_accounts": False,
        "deletion_protection": flag(resource.inputs.get("deletionProtection")),
    }


def _exposed(public: Flag, ranges: object) -> Flag:
    if public is not True:
        return public
    return is_world(ranges) if ranges is UNKNOWN or items(ranges) else True


def _is_private(cidr: object) -> bool:
    """Whether a range holds private addresses alone.

    >>> _is_private("10.0.0.0/8"), _is_private("203.0.113.0/28"), _is_private("?")
    (True, False, False)
    """
    try:
        network = ipaddress.ip_network(str(cidr))
    except ValueError:
        return False
    return any(network.version == 4 and network.subnet_of(each) for each in _PRIVATE)


def gke(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    inputs = resource.inputs
    addressed = flag(get(inputs, "controlPlaneEndpointsConfig", "ipEndpointsConfig", "enabled"), default=True)
    private: Flag = True if addressed is False else flag(get(inputs, "privateClusterConfig", "enablePrivateEndpoint"))
    authorised = get(inputs, "masterAuthorizedNetworksConfig")
    blocks = items(get(authorised, "cidrBlocks"))
    # nobody who is named can use a public endpoint for private ranges, and it is reachable all the same
    ranges = [get(block, "cidrBlock") for block in blocks] if isinstance(blocks, tuple) else [UNKNOWN]
    outside: Flag = (
        UNKNOWN if UNKNOWN in ranges else is_world(ranges) or (bool(ranges) and all(map(_is_private, ranges)))
    )
    unlisted: Flag = UNKNOWN if authorised is UNKNOWN else authorised is None
    state = get(inputs, "databaseEncryption", "state")
    pool = get(inputs, "workloadIdentityConfig", "workloadPool")
    components = items(get(inputs, "loggingConfig", "enableComponents"))
    service = inputs.get("loggingService")
    return {
        "public_endpoint": False if private is True else either(private is UNKNOWN and UNKNOWN, unlisted, outside),
        "secrets_encrypted": UNKNOWN if state is UNKNOWN else state == "ENCRYPTED",
        "logged": UNKNOWN
        if isinstance(components, Unknown)
        else service != "none" and (inputs.get("loggingConfig") is None or bool(components)),
        "workload_identity": bool(inputs.get("workloadIdentityConfig") is not None and pool != "")
        or flag(inputs.get("enableAutopilot")),
        "local_accounts": flag(get(inputs, "masterAuth", "clientCertificateConfig", "issueClientCertificate")),
        "deletion_protection": flag(inputs.get("deletionProtection"), default=True),
    }


def aks(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    inputs = resource.inputs
    access = get(inputs, "apiServerAccessProfile")
    private = flag(get(access, "enablePrivateCluster"))
    ranges = items(get(access, "authorizedIPRanges"))
    limited: Flag = False if ranges == () else negated(is_world(ranges))
    kms = flag(get(inputs, "securityProfile", "azureKeyVaultKms", "enabled"))
    omsagent = flag(get(inputs, "addonProfiles", "omsagent", "enabled"))
    settings = graph.referring(resource, "azure-native:monitor:DiagnosticSetting", "resourceUri")
    return {
        "public_endpoint": negated(either(private, limited)),
        "secrets_encrypted": kms,
        "logged": either(omsagent, UNKNOWN if isinstance(settings, Unknown) else bool(settings)),
        "workload_identity": flag(get(inputs, "securityProfile", "workloadIdentity", "enabled")),
        "local_accounts": negated(flag(inputs.get("disableLocalAccounts"))),
        "deletion_protection": INAPPLICABLE,  # Azure has none on the cluster; locks are resources of their own
    }


def training_job(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    inputs = resource.inputs
    checkpoint = get(inputs, "checkpointConfig", "s3Uri")
    return {
        "accelerated": _ml_accelerated(get(inputs, "resourceConfig", "instanceType")),
        "run_seconds_max": count(get(inputs, "stoppingCondition", "maxRuntimeInSeconds")),
        "wait_seconds_max": count(get(inputs, "stoppingCondition", "maxWaitTimeInSeconds")),
        "spot": flag(inputs.get("enableManagedSpotTraining")),
        "checkpoint": checkpoint is UNKNOWN or bool(checkpoint),
        "isolated": flag(inputs.get("enableNetworkIsolation")),
        "own_key": UNKNOWN
        if inputs.get("resourceConfig") is UNKNOWN
        else get(inputs, "resourceConfig", "volumeKmsKeyId") is not None,
    }


def pipeline(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    """The first training step of a pipeline; while its text is not known, the arguments of its component."""
    definition = resource.inputs.get("pipelineDefinition")
    if isinstance(definition, Unknown):
        return _declared(graph, resource)
    try:
        steps = json.loads(str(definition or "{}")).get("Steps", [])
    except (ValueError, AttributeError):
        return None
    job = next((get(step, "Arguments") for step in steps if get(step, "Type") == "Training"), None)
    if job is None:
        return None
    return {
        "accelerated": _ml_accelerated(get(job, "ResourceConfig", "InstanceType")),
        "run_seconds_max": count(get(job, "StoppingCondition", "MaxRuntimeInSeconds")),
        "wait_seconds_max": count(get(job, "StoppingCondition", "MaxWaitTimeInSeconds")),
        "spot": flag(get(job, "EnableManagedSpotTraining")),
        "checkpoint": bool(get(job, "CheckpointConfig", "S3Uri")),
        "isolated": flag(get(job, "EnableNetworkIsolation")),
        "own_key": get(job, "ResourceConfig", "VolumeKmsKeyId") is not None,
    }


def workflow(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    """A workflow of ours that starts training jobs; what others do is in no field."""
    sizes = any(owner.type == "sizewell-gcp:index:AcceleratorPool" for owner in graph.ancestors(resource))
    return _declared(graph, resource) if get(graph.registration(resource), "kind") == "pool" and not sizes else None


def _declared(graph: Graph, resource: RecordedResource) -> dict[str, object]:
    """The jobs of a definition that is known only after deployment, as the arguments of its component say."""
    owner = graph.owner(resource)
    if owner is None:
        return dict.fromkeys(("accelerated", "run_seconds_max", "spot", "isolated", "own_key"), UNKNOWN)
    seconds, hours = count(owner.inputs.get("maxRunS")), count(owner.inputs.get("maxRunHours"))
    if seconds is None and hours is not None:
        seconds = UNKNOWN if isinstance(hours, Unknown) else hours * 3600
    return {
        "accelerated": get(owner.inputs, "sizewell", "accelerator") is not None,
        "run_seconds_max": seconds,
        "checkpoint": INAPPLICABLE,
        "isolated": INAPPLICABLE,
        "own_key": INAPPLICABLE,
    }


def batch_job(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    properties = text(resource.inputs.get("containerProperties"))
    platforms = items(resource.inputs.get("platformCapabilities"))
    gpu: Flag = UNKNOWN if isinstance(properties, Unknown) else '"GPU"' in properties
    if gpu is UNKNOWN and platforms == ("FARGATE",):  # which has no accelerators
        gpu = False
    return {
        "accelerated": gpu,
        "run_seconds_max": count(get(resource.inputs, "timeout", "attemptDurationSeconds")),
        "isolated": INAPPLICABLE,
        "checkpoint": INAPPLICABLE,
        "own_key": INAPPLICABLE,
    }


def azure_job(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    del graph
    properties = get(resource.inputs, "properties")
    limit = get(properties, "limits", "timeout")
    return {
        "accelerated": True,
        "run_seconds_max": UNKNOWN if limit is UNKNOWN else (None if limit is None else duration_seconds(str(limit))),
        "isolated": INAPPLICABLE,
        "checkpoint": INAPPLICABLE,
        "own_key": INAPPLICABLE,
    }


def duration_seconds(stated: str) -> int | None:
    """Seconds of an ISO 8601 duration of days, hours, minutes and seconds; None where it is none.

    >>> duration_seconds("PT2H30M"), duration_seconds("P1D"), duration_seconds("soon")
    (9000, 86400, None)
    """
    import re

    match = re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", stated)
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
