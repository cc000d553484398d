"""Machines that are billed while nothing works on them: pools, endpoints, notebooks, jobs and pods."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from sizewell.policy.rule import Parameter, Parameters, StackVerdicts, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.readers.keda import keda_scales
from sizewell.resources.readers.pods import accelerators_asked, chart_asks
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Endpoint, Job, Notebook, Pool, StackFacts, Thing
from sizewell.resources.values import Flag, canonical, contains_unknown, count, either, every, flag, get, items, text
from sizewell.sizing.billing import charges
from sizewell.sizing.units import plural

_BASELINE: Final = Parameter(
    default=["prod"],
    schema={"type": "array", "items": {"type": "string"}},
    meaning="environments in which what serves may keep a minimum",
)


@rule(
    "idle-exposure",
    area="spend",
    subject="pools",
    prevents="accelerators that are billed while idle",
    parameters={
        "baseline": Parameter(
            default=["prod"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="environments in which a pool that follows its load, or is reserved, may keep a minimum",
        ),
        "scheduler_tags": Parameter(
            default=[],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="tags that your instance scheduler acts on, such as Schedule",
        ),
    },
)
def idle_exposure(pool: Pool, parameters: Parameters) -> Verdict:
    """A pool with accelerators can stop by itself: scale to zero, a schedule, an expiry or an idle guard.

    In `baseline` environments a pool may keep a minimum where something takes it down to that when the load falls, and
    machines may stand in capacity that is reserved: that is billed anyway, and the reservation is judged by its own
    end.

    >>> from sizewell.policy.examples import pool
    >>> usual = {"baseline": ["prod"], "scheduler_tags": []}
    >>> idle_exposure(pool(accelerator="h100-sxm", nodes_min=1), usual).fix
    'set the minimum to 0 with an autoscaler, or add a schedule, an idle guard or an expiry that something acts on'
    >>> idle_exposure(pool(accelerator="h100-sxm", nodes_min=1, guarded=True), usual) is None
    True
    >>> idle_exposure(pool(accelerator="h100-sxm", nodes_min=1, scales=True, environment="prod"), usual) is None
    True
    >>> fixed = pool(accelerator="h100-sxm", nodes_min=2, nodes_max=2, scales=True, environment="prod")
    >>> idle_exposure(fixed, usual) is None
    False
    """
    if pool.accelerated is False:
        return None
    least, most = pool.nodes_min, pool.nodes_max
    fixed = isinstance(least, int) and isinstance(most, int) and 0 < most <= least  # nothing can take any away
    empty = least if isinstance(least, Unknown) else least == 0
    falls = every(empty, either(pool.scales, pool.nodes_wanted == 0))
    obeyed = any(get(pool.tags, tag) not in (None, "") for tag in parameters["scheduler_tags"])
    served: Flag = False
    if pool.environment in parameters["baseline"]:
        reserved: Flag = UNKNOWN if isinstance(pool.reserved, Unknown) else pool.reserved != ""
        served = either(False if fixed else pool.scales, reserved)
    stops = either(falls, pool.scheduled, pool.expiry.counts, pool.guarded, obeyed, served, pool.paid)
    if stops is True:
        return None
    if isinstance(pool.accelerated, Unknown) or isinstance(stops, Unknown):
        return Undetermined("machine type, minimum, schedule, expiry or guard")
    message = (
        f"{pool.accelerator} machines are billed around the clock: nothing stops this pool when it is idle"
        f"{pool.expiry.also()}"
    )
    if pool.type == _NODE_GROUP and least == 0:
        return Violation(message, _AUTOSCALER)
    if pool.keeps_one:
        return Violation(message, f"{pool.keeps_one}; or add an expiry that something acts on")
    return Violation(
        message,
        "set the minimum to 0 with an autoscaler, or add a schedule, an idle guard or an expiry that something acts on",
    )


_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_AUTOSCALER: Final = (
    "install the cluster autoscaler, or set desiredSize to 0; where another program installs it, tag the node group "
    "k8s.io/cluster-autoscaler/enabled"
)


@rule(
    "autoscaler-elsewhere",
    area="spend",
    subject="pools",
    prevents="node groups that are billed at their desired size because no autoscaler runs",
    level="advisory",
    clouds=("aws",),
    types=(_NODE_GROUP,),
)
def autoscaler_elsewhere(pool: Pool, _: Parameters) -> Verdict:
    """An EKS node group is emptied by a cluster autoscaler alone; Karpenter and Auto Mode leave its machines running.

    Where the program has none and another one may, nothing here shows that one runs.

    >>> from sizewell.policy.examples import pool
    >>> autoscaler_elsewhere(pool(accelerator="l4", nodes_wanted=2, autoscaler_elsewhere=True), {}).message
    '2 l4 machines are billed around the clock unless another program runs a cluster autoscaler; this one has none'
    >>> autoscaler_elsewhere(pool(accelerator="l4", nodes_wanted=2), {}) is None
    True
    """
    if not pool.autoscaler_elsewhere or pool.accelerated is False or pool.nodes_wanted == 0 or pool.scheduled is True:
        return None
    if pool.expiry.counts is True or pool.guarded is True or pool.paid:
        return None
    if isinstance(pool.accelerated, Unknown) or isinstance(pool.nodes_wanted, Unknown):
        return Undetermined("machine type or size")
    if pool.nodes_wanted == pool.nodes_min:
        return None
    wanted = pool.nodes_wanted or 1
    return Violation(
        f"{plural(wanted, f'{pool.accelerator} machine')} {'is' if wanted == 1 else 'are'} billed around the clock "
        "unless another program runs a cluster autoscaler; this one has none",
        "see that the cluster runs one (kubectl -n kube-system get deployments), or start with desiredSize 0",
    )


@rule(
    "idle-exposure-budget",
    area="spend",
    subject="stack",
    prevents="large hourly costs that are not monitored",
    parameters={
        "usd_per_hour": Parameter(
            default={"dev": 10, "staging": 50, "prod": 150},
            schema={"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            meaning="US dollars per hour of accelerators without guard and schedule, by environment",
        )
    },
)
def idle_exposure_budget(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """The hourly cost of idle accelerators without a guard stays under a limit.

    >>> from sizewell.policy.examples import pool, stack
    >>> idle = pool(accelerator="h100-sxm", nodes_wanted=1)
    >>> idle_exposure_budget(stack(pools=(idle,)), {"usd_per_hour": {"dev": 10}})[0][1]
    Undetermined(what='the price of the stack')
    >>> planned = pool(accelerator="h100-sxm", nodes_wanted=1, market="training-plan")
    >>> idle_exposure_budget(stack(pools=(planned,)), {"usd_per_hour": {"dev": 10}})
    [('', None)]
    """
    limit = parameters["usd_per_hour"].get(facts.environment)
    exposed = [
        pool
        for pool in facts.pools
        if pool.accelerated is not False
        and pool.nodes_max != 0  # switched off
        and either(pool.guarded, pool.scheduled, _scales_to_zero(pool), _is_prepaid(pool)) is not True
    ]
    if limit is None or not exposed:
        return [("", None)]
    if facts.pricing is None:
        return [("", Undetermined("the price of the stack"))]
    urns = {pool.urn for pool in exposed}
    lines = [line for line in facts.pricing.items if line.resource in urns and line.unit in (*charges.RUNNING, "?")]
    lines = [line for line in lines if line.cadence == "monthly"]  # what is bought once is billed whatever it does
    hourly = Decimal(0)
    for line in sorted(lines, key=lambda line: line.resource):  # engines register in an order of their own
        cost = line.cost()
        if not hasattr(cost, "ceiling"):
            return [(line.resource, Undetermined("the price of its machines"))]
        hourly += cost.ceiling / 730
    if hourly <= limit:
        return [("", None)]
    names = ", ".join(sorted({pool.name for pool in exposed}))
    return [
        (
            "",
            Violation(
                f"{hourly:.2f} USD an hour of accelerators without guard or schedule in {names}, limit {limit}",
                "add an idle guard or a schedule, or lower the maximum size",
            ),
        )
    ]


def _scales_to_zero(pool: Pool) -> Flag:
    """Whether something takes machines without work down, to none."""
    return every(pool.nodes_min if isinstance(pool.nodes_min, Unknown) else pool.nodes_min == 0, pool.scales)


def _is_prepaid(pool: Pool) -> Flag:
    """Whether it stands in reserved capacity, which is billed whatever its machines do."""
    if pool.paid:
        return True
    return UNKNOWN if isinstance(pool.reserved, Unknown) else pool.reserved != ""


_STATE_INPUTS: Final = {
    "aws:ec2transitgateway/instanceState:InstanceState": "state",  # the provider's own place for it
    "gcp:compute/instance:Instance": "desiredStatus",
    "gcp:workbench/instance:Instance": "desiredState",
}


@rule(
    "stopped-but-billing",
    area="spend",
    subject="things",
    prevents="stopped machines that are still billed",
    level="advisory",
    types=tuple(_STATE_INPUTS),
)
def stopped_but_billing(thing: Thing, _: Parameters) -> Verdict:
    """A stopped machine keeps its disks and addresses, which are still billed: delete it to save money.

    >>> from sizewell.policy.examples import thing
    >>> off = thing(type="gcp:compute/instance:Instance", inputs={"desiredStatus": "TERMINATED"})
    >>> stopped_but_billing(off, {}).message
    'stopped machines keep disks and addresses, which are still billed'
    """
    state = thing.inputs.get(_STATE_INPUTS[thing.type])
    if state is UNKNOWN:
        return Undetermined("whether it runs")
    if str(state).upper() not in {"STOPPED", "TERMINATED", "SUSPENDED"}:
        return None
    return Violation(
        "stopped machines keep disks and addresses, which are still billed",
        "delete the machine and keep a snapshot of what matters",
    )


@rule(
    "ml-compute-idle-seconds",
    area="spend",
    subject="pools",
    prevents="Azure ML nodes that are billed between jobs",
    clouds=("azure",),
    types=("azure-native:machinelearningservices:Compute",),
    parameters={
        "seconds": Parameter(
            default=1800, schema={"type": "integer", "minimum": 60}, meaning="longest idle time before scale-down"
        )
    },
)
def ml_compute_idle_seconds(pool: Pool, parameters: Parameters) -> Verdict:
    """Azure ML compute scales to zero soon after its last job.

    >>> from sizewell.policy.examples import pool
    >>> slow = pool(machine={"scaleSettings": {"nodeIdleTimeBeforeScaleDown": "PT2H", "minNodeCount": 0}})
    >>> ml_compute_idle_seconds(slow, {"seconds": 1800}).fix
    'set nodeIdleTimeBeforeScaleDown to PT30M'
    """
    from sizewell.resources.readers.services import duration_seconds

    if isinstance(pool.nodes_min, Unknown):
        return Undetermined("the smallest number of nodes")
    if pool.nodes_min:
        kept = plural(pool.nodes_min, "node")
        return Violation(f"{kept} billed without a job to run", "set scaleSettings.minNodeCount to 0")
    stated = text(get(pool.machine, "scaleSettings", "nodeIdleTimeBeforeScaleDown"), "PT2M")
    if isinstance(stated, Unknown):
        return Undetermined("the idle time before scale-down")
    seconds = duration_seconds(stated)
    if seconds is not None and seconds <= parameters["seconds"]:
        return None
    return Violation(
        f"idle nodes are billed for {stated} after every job",
        f"set nodeIdleTimeBeforeScaleDown to PT{parameters['seconds'] // 60}M",
    )


@rule(
    "endpoint-keeps-machines",
    area="spend",
    subject="endpoints",
    prevents="endpoints that are billed at night",
    levels={"staging": "advisory"},
    about_accelerators=True,
    parameters={"baseline": _BASELINE},
)
def endpoint_keeps_machines(endpoint: Endpoint, parameters: Parameters) -> Verdict:
    """Outside production a model endpoint on accelerators reaches zero, or ends.

    >>> from sizewell.policy.examples import endpoint
    >>> kept = endpoint(accelerated=True, environment="dev", nodes_min=2)
    >>> endpoint_keeps_machines(kept, {"baseline": ["prod"]}).fix
    'set its minimum to 0, or serve from a service that starts on demand'
    """
    if endpoint.accelerated is False or endpoint.nodes_min == 0:
        return None
    if isinstance(endpoint.environment, Unknown):
        return Undetermined("the environment")
    if endpoint.environment in parameters["baseline"]:
        return None
    if endpoint.expiry.counts is True:
        return None
    if UNKNOWN in (endpoint.nodes_min, endpoint.accelerated, endpoint.expiry.counts):
        return Undetermined("its minimum or its expiry")
    least = endpoint.nodes_min if isinstance(endpoint.nodes_min, int) else 1
    return Violation(
        f"at least {plural(least, 'machine')} of a {endpoint.what} {'is' if least == 1 else 'are'} billed every night"
        f"{endpoint.expiry.also()}",
        endpoint.keeps_one
        or _NEVER_ZERO.get(endpoint.type, "set its minimum to 0, or serve from a service that starts on demand"),
    )


_NEVER_ZERO: Final[Mapping[str, str]] = {  # endpoints whose service refuses a minimum of 0, and the way out
    "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment": (
        "serve from Cloud Run, which reaches 0, or delete it when nobody calls it: its minimum is at least 1"
    ),
    "azure-native:machinelearningservices:OnlineDeployment": (
        "serve from a container app, which reaches 0, or delete it when nobody calls it: its minimum is at least 1"
    ),
}


@rule(
    "endpoint-without-autoscaling",
    area="spend",
    subject="endpoints",
    prevents="endpoints that are billed for peak capacity at night",
    levels={"dev": "advisory"},
)
def endpoint_without_autoscaling(endpoint: Endpoint, _: Parameters) -> Verdict:
    """A model endpoint on accelerators scales with its load; a fixed one is billed for the peak at night.

    >>> from sizewell.policy.examples import endpoint
    >>> endpoint_without_autoscaling(endpoint(accelerated=True, scales=False), {}).fix
    'add a scaling target with a policy, or managed instance scaling'
    >>> endpoint_without_autoscaling(endpoint(accelerated=True, scales=True), {}) is None
    True
    """
    if endpoint.accelerated is False:
        return None
    return require(
        endpoint.scales,
        message="the endpoint is not autoscaled: it is billed for its peak around the clock",
        fix=_SCALED_BY.get(endpoint.type, "add a scaling target with a policy, or managed instance scaling"),
        unknown="its scaling",
    )


_BETWEEN: Final = "set scalingMode to AUTOMATIC, and minInstanceCount below maxInstanceCount"
_REPLICAS: Final = "set minReplicaCount below maxReplicaCount"
_SCALED_BY: Final[Mapping[str, str]] = {  # services whose endpoints are scaled in another way than SageMaker's
    "aws:ecs/service:Service": "add a scaling target with a policy",
    "gcp:cloudrunv2/service:Service": _BETWEEN,
    "gcp:cloudrunv2/workerPool:WorkerPool": _BETWEEN,
    "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment": _REPLICAS,
    "azure-native:machinelearningservices:OnlineDeployment": (
        "add an autoscale setting (azure_native.monitor.AutoscaleSetting) whose targetResourceUri is the deployment"
    ),
}
_STOPS: Final[Mapping[str, str]] = {
    "aws:sagemaker/notebookInstance:NotebookInstance": (
        "name a lifecycle configuration whose onStart stops it when it is idle (lifecycleConfigName)"
    ),
    "aws:sagemaker/domain:Domain": "enable idle shutdown with idleTimeoutInMinutes of 60",
    "gcp:workbench/instance:Instance": "set the metadata idle-timeout-seconds to 3600",
    "gcp:colab/runtimeTemplate:RuntimeTemplate": "set idleShutdownConfig.idleTimeout to 3600s",
    "azure-native:machinelearningservices:Compute": "set idleTimeBeforeShutdown to PT30M",
}


@rule(
    "notebook-without-auto-stop",
    area="spend",
    subject="notebooks",
    prevents="notebooks that are billed on weekends",
)
def notebook_without_auto_stop(notebook: Notebook, _: Parameters) -> Verdict:
    """A notebook stops itself when nobody uses it.

    >>> from sizewell.policy.examples import notebook
    >>> notebook_without_auto_stop(notebook(accelerated=True), {}).message
    'nothing stops the notebook when it is idle: it is billed around the clock'
    >>> notebook_without_auto_stop(notebook(accelerated=True, stops_itself=True), {}) is None
    True
    """
    return require(
        notebook.stops_itself,
        message="nothing stops the notebook when it is idle: it is billed around the clock",
        fix=_STOPS.get(notebook.type, "set an idle shutdown"),
        unknown="its idle shutdown",
    )


@rule(
    "job-without-maximum-time",
    area="spend",
    subject="jobs",
    prevents="hanging jobs that are billed indefinitely",
    clouds=("aws", "gcp", "azure", "kubernetes"),
    parameters={
        "hours": Parameter(default=168, schema={"type": "number", "minimum": 0}, meaning="longest maximum run time")
    },
)
def job_without_maximum_time(job: Job, parameters: Parameters) -> Verdict:
    """A job ends by itself when it hangs.

    >>> from sizewell.policy.examples import job
    >>> job_without_maximum_time(job(accelerated=True), {"hours": 168}).fix
    'set a maximum run time'
    >>> job_without_maximum_time(job(accelerated=True, run_seconds_max=3600), {"hours": 168}) is None
    True
    """
    if job.accelerated is False:
        return None
    if isinstance(job.run_seconds_max, Unknown):
        return Undetermined("the maximum run time")
    if job.run_seconds_max is None:
        return Violation(
            "without a maximum run time a hanging job is billed until somebody notices", "set a maximum run time"
        )
    if job.run_seconds_max > parameters["hours"] * 3600:
        message = f"it may run for {job.run_seconds_max / 3600:g} h before it is stopped, limit {parameters['hours']}"
        return Violation(message, "lower the maximum run time")
    return None


# Kinds that hold what pods they start, so that what is not known of them may be accelerators.
_SERVERS: Final = (
    "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Pod", "RayCluster", "RayService", "RayJob",
    "LeaderWorkerSet", "InferenceService", "Notebook",
)  # fmt: skip
_KNATIVE: Final = "kubernetes:serving.knative.dev/"
# Kinds whose pods end with their work, for which there is another rule, and those that only describe pods.
_ENDING: Final = ("Job", "JobPatch", "CronJob", "JobSet", "Workflow", "CronWorkflow", "Template", "Runtime", "Class")
_RAY_CLUSTER_PATHS: Final[dict[str, tuple[str, ...]]] = {
    "RayCluster": (),
    "RayService": ("rayClusterConfig",),
    "RayJob": ("rayClusterSpec",),
}
_COMMANDS_THAT_WAIT: Final = ("pause", "sleep infinity", "tail -f /dev/null", "sleep inf")


@rule(
    "server-never-ends",
    area="spend",
    subject="stack",
    prevents="pods that hold accelerators without requests",
    about_accelerators=True,
    clouds=("kubernetes",),
    parameters={"baseline": _BASELINE},
)
def server_never_ends(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """Pods that hold accelerators until somebody deletes them need a scaler that reaches zero, or an expiry.

    >>> from sizewell.policy.examples import resource, stack
    >>> pod = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    >>> server = resource("kubernetes:apps/v1:Deployment", "m", {"spec": {"replicas": 1, "template": {"spec": pod}}})
    >>> server_never_ends(stack(server, environment="dev"), {"baseline": ["prod"]})[0][1].fix
    'add a KEDA ScaledObject with minReplicaCount 0, or an expiry that something acts on'
    """
    if facts.environment in parameters["baseline"]:
        return []
    charts = [
        (resource.urn, _judge_chart(resource))
        for resource in facts.graph.plan.resources
        if chart_asks(resource) is not False
    ]
    servers = [
        (resource.urn, _judge_workload(facts, resource))
        for resource in facts.graph.plan.resources
        if resource.custom
        and resource.type.startswith("kubernetes:")
        and _stands(resource)
        and (_may_ask(resource) or accelerators_asked(resource, facts.graph) != 0)
    ]
    return charts + servers


def _stands(resource: RecordedResource) -> bool:
    """Whether the pods of a resource run until somebody deletes or scales it, whatever operator its kind is of."""
    kind = canonical(resource.type).rsplit(":", 1)[-1]
    return kind in _SERVERS or not kind.endswith(_ENDING)


def _may_ask(resource: RecordedResource) -> bool:
    kind = canonical(resource.type)
    known = kind.rsplit(":", 1)[-1] in _SERVERS or kind.startswith(_KNATIVE)
    return known and contains_unknown(resource.inputs.get("spec"))


def _judge_workload(facts: StackFacts, resource: RecordedResource) -> Verdict:
    spec = resource.inputs.get("spec")
    if spec is UNKNOWN:
        return Undetermined("what it starts")
    expiry = facts.graph.expiries.of(None, {**_metadata(resource, "annotations"), **_metadata(resource, "labels")})
    if expiry.counts is True:
        return None
    kind = canonical(resource.type).rsplit(":", 1)[-1]
    if kind in _RAY_CLUSTER_PATHS:
        ends = _ray_cluster_stays(get(spec, *_RAY_CLUSTER_PATHS[kind]) if _RAY_CLUSTER_PATHS[kind] else spec)
        if kind == "RayJob":
            ends = either(ends, flag(get(spec, "shutdownAfterJobFinishes")))
    elif kind == "Pod" and get(spec, "activeDeadlineSeconds") is not None:
        ends = True
    elif canonical(resource.type).startswith(_KNATIVE):
        ends = _knative_reaches_zero(get(spec, "template", "metadata", "annotations"))
    elif kind == "DaemonSet":
        ends = False  # nothing scales it: KEDA needs a scale of its own
    elif kind == "InferenceService":
        least = count(get(spec, "predictor", "minReplicas", default=1))
        ends = UNKNOWN if least is UNKNOWN else least == 0
    else:
        ends = either(
            count(get(spec, "replicas")) == 0, *(keda_scales(other, resource) for other in facts.graph.plan.resources)
        )
    if ends is True and not any(word in f"{_commands(spec)}" for word in _COMMANDS_THAT_WAIT):
        return None
    if ends is UNKNOWN or accelerators_asked(resource, facts.graph) in (UNKNOWN, 0):
        return Undetermined("what scales it, and its minimum")
    return Violation(
        f"its pods hold accelerators around the clock, with or without requests{expiry.also()}",
        f"{_to_zero(canonical(resource.type))}, or an expiry that something acts on",
    )


def _to_zero(kind: str) -> str:
    """What takes a kind's pods away; KEDA scales what has a scale of its own."""
    if kind.startswith(_KNATIVE):
        return 'set autoscaling.knative.dev/min-scale to "0"'
    last = kind.rsplit(":", 1)[-1]
    return {
        "Pod": "set activeDeadlineSeconds",
        "DaemonSet": "make it a Deployment with a KEDA ScaledObject of minReplicaCount 0",
        "InferenceService": "set predictor.minReplicas to 0",
        "RayCluster": "set the workers' minReplicas to 0 and enableInTreeAutoscaling",
        "RayService": "set the workers' minReplicas to 0 and enableInTreeAutoscaling",
    }.get(last, "add a KEDA ScaledObject with minReplicaCount 0")


def _knative_reaches_zero(notes: object) -> Flag:
    """Whether a revision is taken down to nothing without requests: Knative's default, but for a minimum of its own."""
    least = [get(notes, f"autoscaling.knative.dev/{key}") for key in ("min-scale", "minScale")]
    by = get(notes, "autoscaling.knative.dev/class", default="kpa")
    if UNKNOWN in (notes, by, *least):
        return UNKNOWN
    # The class that follows the CPU never goes below one.
    return all(str(each) == "0" for each in least if each is not None) and "hpa" not in str(by)


def _judge_chart(release: RecordedResource) -> Verdict:
    """A release whose values ask for accelerators says in its values as well that something brings them to zero."""
    values = release.inputs.get("values")
    if chart_asks(release) is UNKNOWN:
        return Undetermined("what the chart starts")
    if _reaches_zero(values):
        return None
    return Violation(
        "its pods hold accelerators around the clock, with or without requests",
        "set the least replicas of the chart's autoscaler to 0",
    )


_MINIMUM_KEYS: Final = ("minReplicas", "minReplicaCount", "replicaCount", "replicas", "minScale")


def _reaches_zero(value: Any) -> bool:
    """Whether values state a least number of zero, of an autoscaler that is not switched off."""
    if isinstance(value, Mapping):
        if value.get("enabled") is False:
            return False
        stated = [value[key] for key in _MINIMUM_KEYS if key in value]
        return any(str(least) == "0" for least in stated) or any(map(_reaches_zero, value.values()))
    return isinstance(value, list | tuple) and any(map(_reaches_zero, value))


def _metadata(resource: RecordedResource, key: str) -> dict[str, Any]:
    stated = get(resource.inputs, "metadata", key)
    return dict(stated) if isinstance(stated, dict) else {}


def _commands(spec: Any) -> list[str]:
    """Images, commands and arguments of the containers, each as one text."""
    if isinstance(spec, dict):
        own = [spec[key] for key in ("command", "args") if isinstance(spec.get(key), list)]
        joined = [" ".join(map(str, part)) for part in own]
        image = str(spec.get("image", "")).partition("@")[0].partition(":")[0].rsplit("/", 1)[-1]
        return [*joined, *(["pause"] if image == "pause" else []), *(t for v in spec.values() for t in _commands(v))]
    return [text for part in spec for text in _commands(part)] if isinstance(spec, list | tuple) else []


def _ray_cluster_stays(spec: Any) -> Flag:
    groups = items(get(spec, "workerGroupSpecs"))
    scaled = flag(get(spec, "enableInTreeAutoscaling"))
    if isinstance(groups, Unknown) or UNKNOWN in groups:
        return UNKNOWN
    least = [count(get(group, "minReplicas", default=0)) for group in groups]
    return UNKNOWN if UNKNOWN in (scaled, *least) else scaled is True and not any(least)
