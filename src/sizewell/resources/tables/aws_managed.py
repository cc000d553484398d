"""Prices of AWS managed machine learning: SageMaker endpoints and notebooks, batch environments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from sizewell.resources import controlled, pools
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.readers import services
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.values import Text, count, get, items, number, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.catalog.machine_prices import listed_in
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem, Priced

ENDPOINT_CONFIGURATION: Final = "aws:sagemaker/endpointConfiguration:EndpointConfiguration"
SCALING_TARGET: Final = "aws:appautoscaling/target:Target"


def ec2_type(ml_type: object) -> Any:
    """A SageMaker type such as "ml.g5.xlarge" as EC2 names it; UNKNOWN stays."""
    kind = text(ml_type)
    return kind if isinstance(kind, Unknown) else kind.removeprefix("ml.")


def _machines(resource: RecordedResource, context: Context, ml_type: Any, size: Size) -> LineItem:
    line = pools.machines(
        resource, context, instance_type=ec2_type(ml_type), market="on-demand", size=size, premium="sagemaker"
    )
    return replace(line, what=f"ml.{line.what}") if not isinstance(ml_type, Unknown) else line


def _endpoint(resource: RecordedResource, context: Context) -> Outcome:
    configurations = context.graph.referenced(resource, "endpointConfigName", ENDPOINT_CONFIGURATION)
    inputs: Mapping[str, object] = {}
    if isinstance(configurations, Unknown) or not configurations:
        variants = _controlled_variants(resource, context)
        if variants is None:
            return (context.unpriced(resource, "endpoint", "its configuration is not in this plan"),)
    else:
        inputs = configurations[0].inputs
        variants, shadows = (items(inputs.get(key)) for key in ("productionVariants", "shadowProductionVariants"))
        if not isinstance(variants, Unknown):
            variants = UNKNOWN if isinstance(shadows, Unknown) else (*variants, *shadows)
    if isinstance(variants, Unknown):
        return (context.unpriced(resource, "endpoint", "its variants are known only after deployment"),)
    lines: list[LineItem] = []
    for variant in variants:
        if (serverless := get(variant, "serverlessConfig")) is not None:
            lines.extend((*_kept_ready(resource, context, serverless), *_serverless(resource, context)))
            continue
        size = variant_size(context, variant)
        if isinstance(size.least, int):
            size = replace(size, least=max(size.least, services.at_least(inputs, variant)))
        lines.append(_machines(resource, context, get(variant, "instanceType", default=UNKNOWN), size))
        gigabytes = number(get(variant, "volumeSizeInGb"))
        if gigabytes is not None:
            hours = pools.pool_hours(resource, context, size, str(ec2_type(get(variant, "instanceType"))))
            key, weak = _storage(resource, context, "ebs.gp3.gb_month")
            line = pools.disk(resource, context, gigabytes=gigabytes, key=key, hours=hours)
            lines.append(replace(line, confidence=line.confidence or weak))
    return tuple(lines)


def _storage(resource: RecordedResource, context: Context, as_machine: str) -> tuple[str, str]:
    """The fee of a disk of SageMaker, and what is weak about it: a component's decision counts it as a machine's."""
    if context.graph.registration(resource) is None:
        return "sagemaker.gb_month", ""
    return as_machine, "SageMaker's disks cost more"


def _kept_ready(resource: RecordedResource, context: Context, config: object) -> tuple[LineItem, ...]:
    """Provisioned concurrency of a serverless variant bills around the clock, by the memory that it has."""
    stated = get(config, "provisionedConcurrency")
    if stated is None:
        return ()
    what, megabytes, instances = "provisioned concurrency", number(get(config, "memorySizeInMb")), number(stated)
    if not isinstance(megabytes, Decimal) or not isinstance(instances, Decimal):
        return (context.unpriced(resource, what, "how much is known only after deployment"),)
    line = context.fee(
        resource,
        what=f"{what} of {megabytes:f} MB",
        key=f"sagemaker.serverless.provisioned.{megabytes:f}mb.hour",
        unit="hour",
        quantity=Interval.exactly(amount(instances * HOURS_PER_MONTH)),
        how="around the clock",
    )
    return (line,)


def _serverless(resource: RecordedResource, context: Context) -> tuple[LineItem, ...]:
    """A serverless variant bills the memory of its requests for as long as they take."""
    used = context.usage.of(resource, "gigabyte_seconds")
    if used is None:
        name = context.graph.component(resource)
        context.outside.append(f"{name}: serverless endpoint ({resource.name}): use not stated, not in totals")
        return ()
    return (
        context.fee(
            resource,
            what="serverless endpoint",
            key="sagemaker.serverless.gb_second",
            unit="GB-second",
            quantity=used,
            how="from the usage file",
            confidence="assumed usage",
        ),
    )


def _controlled_variants(resource: RecordedResource, context: Context) -> tuple[object, ...] | Unknown | None:
    """Variants of an endpoint whose configuration Cloud Control makes: the named one, else the one beside it."""
    wanted = resource.inputs.get("endpointConfigName")
    for other in context.graph.of(controlled.CLOUD_CONTROL):
        if other.inputs.get("typeName") != controlled.ENDPOINT_CONFIGURATION:
            continue
        state = controlled.state_of(other)
        beside = other.parent == resource.parent
        if get(state, "endpointConfigName") == wanted if state is not UNKNOWN else beside:
            return controlled.variants(context.graph, other)
    return None


def _controlled(resource: RecordedResource, context: Context) -> Outcome:
    """A resource that AWS Cloud Control makes: what it is stands in `typeName`."""
    kind = text(resource.inputs.get("typeName"))
    if kind == controlled.ENDPOINT_CONFIGURATION:
        return Free("priced with the endpoint that uses it")
    if kind == "AWS::SageMaker::InferenceComponent":
        return Free("runs on the endpoint's machines")
    if kind == controlled.HYPERPOD:
        return _hyperpod(resource, context)
    what = "Cloud Control resource" if isinstance(kind, Unknown) or not kind else kind
    return (context.unpriced(resource, what, "no price rule for this Cloud Control resource"),)


def _hyperpod(resource: RecordedResource, context: Context) -> Outcome:
    """Machines of a HyperPod cluster by group; what a training plan costs was settled when it was bought."""
    groups = controlled.groups(context.graph, resource)
    if isinstance(groups, Unknown):
        return (context.unpriced(resource, "HyperPod cluster", "its groups are known only after deployment"),)
    lines: list[LineItem] = []
    state = controlled.state_of(resource)
    for group in groups:
        kind = get(group, "instanceType", default=UNKNOWN)
        size = controlled.group_size(state, group)
        if (plan := controlled.plan_of(group)) != "":
            lines.append(_planned(resource, context, kind, size, plan))
            continue
        if get(group, "capacityRequirements", "spot") is not None:
            lines.append(context.unpriced(resource, f"{kind}, spot", "AWS lists no price of HyperPod's spot machines"))
            continue
        lines.append(_machines(resource, context, kind, size))
        if not isinstance(ec2_type(kind), Unknown):
            gigabytes = number(controlled.disk_gigabytes(group))
            hours = pools.pool_hours(resource, context, size, str(ec2_type(kind)))
            lines.append(pools.disk(resource, context, gigabytes=gigabytes, key="ebs.gp3.gb_month", hours=hours))
    return tuple(lines) or Free("it has no machines")


def _planned(resource: RecordedResource, context: Context, kind: Any, size: Size, plan: Text) -> LineItem:
    """Machines of a training plan: AWS says its price when it offers the plan, and lists none."""
    number_of = "?" if isinstance(size.most, Unknown) else size.most
    name = "a training plan" if isinstance(plan, Unknown) else f"training plan {plan.rpartition('/')[2]}"
    machine = "machine" if isinstance(ec2_type(kind), Unknown) else f"ml.{ec2_type(kind)}"
    why = "AWS lists no price of a training plan: it is on the offer that was bought"
    return replace(context.unpriced(resource, f"{number_of} x {machine}, {name}", why), cadence="once")


def _pipeline(resource: RecordedResource, context: Context) -> Outcome:
    return pools.started_jobs(resource, context, service="sagemaker") or Free("billed by the jobs that it starts")


def variant_size(context: Context, variant: object) -> Size:
    """Instances of one production variant: its own managed scaling, or a scaling target that names it, or fixed."""
    initial = count(get(variant, "initialInstanceCount", default=1))
    managed = get(variant, "managedInstanceScaling")
    if managed is not None:
        return Size(
            least=count(get(managed, "minInstanceCount")), wanted=initial, most=count(get(managed, "maxInstanceCount"))
        )
    name = get(variant, "variantName")
    for target in context.graph.of(SCALING_TARGET):
        if target.inputs.get("serviceNamespace") != "sagemaker":
            continue
        target_id = target.inputs.get("resourceId")
        if target_id is UNKNOWN or (isinstance(name, str) and str(target_id).endswith(f"variant/{name}")):
            return Size(
                least=count(target.inputs.get("minCapacity")),
                wanted=initial,
                most=count(target.inputs.get("maxCapacity")),
            )
    return fixed(initial)


def _configuration(resource: RecordedResource, context: Context) -> Outcome:
    del resource, context
    return Free("priced with the endpoint that uses it")


def _notebook(resource: RecordedResource, context: Context) -> Outcome:
    gigabytes = number(resource.inputs.get("volumeSize"))
    size = Decimal(5) if gigabytes is None else gigabytes
    key, weak = _storage(resource, context, "ebs.gp2.gb_month")
    disk = pools.standing_disk(resource, context, gigabytes=size, key=key, what="notebook disk")
    machines = services.notebook_size(context.graph, resource, services.notebook_instance)
    machine = _machines(resource, context, resource.inputs.get("instanceType"), machines)
    return machine, replace(disk, confidence=disk.confidence or weak)


def _app(resource: RecordedResource, context: Context) -> Outcome:
    kind = get(resource.inputs, "resourceSpec", "instanceType")
    if kind is None:
        return Free("billed by the instance that a user starts")
    return (_machines(resource, context, kind, fixed(1)),)


def _batch(resource: RecordedResource, context: Context) -> Outcome:
    """A Batch compute environment: from its smallest to its largest vCPU count; machines of its dearest type."""
    compute = resource.inputs.get("computeResources")
    kinds = items(get(compute, "instanceTypes"))
    most = number(get(compute, "maxVcpus", default=get(compute, "maxvCpus")))  # CloudFormation's spelling
    if text(get(compute, "type"), "") in ("FARGATE", "FARGATE_SPOT"):
        return (context.unpriced(resource, "Fargate tasks", "they are billed by the jobs' requests"),)
    if isinstance(kinds, Unknown) or not isinstance(most, Decimal) or not kinds or UNKNOWN in kinds:
        return (context.unpriced(resource, "batch machines", "types or the largest vCPU count are not known"),)
    kind = text(get(compute, "type"), "EC2")
    if isinstance(kind, Unknown):
        return (context.unpriced(resource, "batch machines", "the market is known only after deployment"),)
    lines: list[LineItem] = []
    for name in kinds:
        machine = _of_family(context, str(name), context.region(resource))
        vcpus = pools.vcpus(context, "aws", machine)
        if vcpus is None:
            why = "Batch chooses the types" if str(name) in _CHOSEN else "how many vCPUs it has is not known"
            return (context.unpriced(resource, f"batch machines, {name}", why),)
        least = number(get(compute, "minVcpus", default=get(compute, "minvCpus", default=0)))
        size = Size(
            least=-(-int(least) // vcpus) if isinstance(least, Decimal) else UNKNOWN,
            wanted=0 if least == 0 else (-(-int(least) // vcpus) if isinstance(least, Decimal) else UNKNOWN),
            most=-(-int(most) // vcpus),
        )
        market = "spot" if kind.upper() == "SPOT" else "on-demand"
        line = pools.machines(resource, context, instance_type=machine, market=market, size=size)
        weak = "" if machine == str(name) else f"the smallest type of {name}"
        lines.append(replace(line, confidence=line.confidence or weak))
    return (max(lines, key=_ceiling),)


def _ceiling(line: LineItem) -> Decimal:
    cost = line.cost()
    return Decimal("Infinity") if not hasattr(cost, "ceiling") else cost.ceiling


_CHOSEN: Final = ("optimal", "default_x86_64", "default_arm64")  # of no family: as Batch has them at the time


def _of_family(context: Context, name: str, region: Text) -> str:
    """The machine type that stands for a family ("m5"), whose price goes by the vCPU: its smallest that has a price."""
    if "." in name or name in _CHOSEN or isinstance(region, Unknown):
        return name
    sizes = [kind for kind in listed_in("aws", region) if kind.startswith(f"{name}.")]
    sizes += [kind for cloud, kind in context.catalog.shapes_by_type if cloud == "aws" and kind.startswith(f"{name}.")]
    known = {kind: vcpus for kind in sizes if (vcpus := pools.vcpus(context, "aws", kind)) is not None}
    return min(known, key=lambda kind: (known[kind], kind), default=name)


def _training(resource: RecordedResource, context: Context) -> Outcome:
    """A training job: at most its machines for its longest run time, paid once."""
    config = resource.inputs.get("resourceConfig")
    seconds = number(get(resource.inputs, "stoppingCondition", "maxRuntimeInSeconds", default=86400))
    machines = number(get(config, "instanceCount", default=1))
    if not isinstance(seconds, Decimal) or not isinstance(machines, Decimal):
        return (
            replace(context.unpriced(resource, "training job", "machines or run time are not known"), cadence="once"),
        )
    line = _machines(resource, context, get(config, "instanceType", default=UNKNOWN), fixed(1))
    most = amount(machines * seconds / 3600)
    how = f"at most {machines} machines x {seconds / 3600:.1f} h"
    return (
        replace(line, cadence="once", quantity=Interval(Decimal(0), most, most), how=how, confidence="longest run"),
    )


def _tuning(resource: RecordedResource, context: Context) -> Outcome:
    """A hyperparameter search: at most all of its training jobs for their longest run time, paid once."""
    search = get(resource.inputs, "hyperParameterTuningJobConfig", default=get(resource.inputs, "config"))
    jobs = number(get(search, "resourceLimits", "maxNumberOfTrainingJobs", default=1))
    job = get(resource.inputs, "trainingJobDefinition")
    if job is None:
        job = get(resource.inputs, "trainingJobDefinitions", 0)
    config = get(job, "resourceConfig", default=get(job, "hyperParameterTuningResourceConfig"))
    seconds = number(get(job, "stoppingCondition", "maxRuntimeInSeconds", default=86400))
    each = number(get(config, "instanceCount", default=1))
    if not isinstance(jobs, Decimal) or not isinstance(seconds, Decimal) or not isinstance(each, Decimal):
        line = context.unpriced(resource, "hyperparameter search", "jobs, machines or run time are not known")
        return (replace(line, cadence="once"),)
    line = _machines(resource, context, get(config, "instanceType", default=UNKNOWN), fixed(1))
    most = amount(jobs * each * seconds / 3600)
    how = f"at most {jobs} jobs x {each} machines x {seconds / 3600:.1f} h"
    return (
        replace(line, cadence="once", quantity=Interval(Decimal(0), most, most), how=how, confidence="longest run"),
    )


def _monitoring(resource: RecordedResource, context: Context) -> Outcome:
    """Jobs that a schedule starts: their machines are stated, how long they run is not."""
    config = get(
        resource.inputs, "monitoringScheduleConfig", "monitoringJobDefinition", "monitoringResources", "clusterConfig"
    )
    config = config if config is not None else get(resource.inputs, "jobResources", "clusterConfig")
    if context.usage.of(resource, "machine_hours") is None:
        why = "how long its jobs run is not stated; put machine_hours in a usage file"
        return (context.unpriced(resource, "monitoring jobs", why),)
    return (_machines(resource, context, get(config, "instanceType", default=UNKNOWN), fixed(1)),)


def _domain(resource: RecordedResource, context: Context) -> Outcome:
    """A domain of Studio runs nothing; the apps that its users open are billed by the machine that it sets for them."""
    kinds = sorted(_app_kinds(resource.inputs))
    if len(kinds) == 1 and context.usage.of(resource, "machine_hours") is not None:
        return (_machines(resource, context, kinds[0], fixed(1)),)
    name = context.graph.component(resource)
    for kind in kinds:
        price = _machines(resource, context, kind, fixed(1)).price
        rate = f"{price.amount} USD/h" if isinstance(price, Priced) else "unpriced"
        context.outside.append(f"{name}: apps on {kind} ({resource.name}): {rate} each while open, not in totals")
    return Free("the apps that users open are billed")


def _app_kinds(value: object, key: str = "") -> set[str]:
    if isinstance(value, dict):
        return {kind for inner, each in value.items() for kind in _app_kinds(each, inner)}
    if isinstance(value, (list, tuple)):
        return {kind for each in value for kind in _app_kinds(each, key)}
    return {value} if key == "instanceType" and isinstance(value, str) and value.startswith("ml.") else set()


TABLE: Final[dict[str, Pricer]] = {
    "aws:sagemaker/domain:Domain": _domain,
    "aws:sagemaker/hyperParameterTuningJob:HyperParameterTuningJob": _tuning,
    "aws:sagemaker/monitoringSchedule:MonitoringSchedule": _monitoring,
    "aws:sagemaker/dataQualityJobDefinition:DataQualityJobDefinition": _monitoring,
    "aws:sagemaker/endpoint:Endpoint": _endpoint,
    "aws:sagemaker/endpointConfiguration:EndpointConfiguration": _configuration,
    "aws:sagemaker/notebookInstance:NotebookInstance": _notebook,
    "aws:sagemaker/app:App": _app,
    "aws:sagemaker/pipeline:Pipeline": _pipeline,
    controlled.CLOUD_CONTROL: _controlled,
    controlled.NATIVE_HYPERPOD: _hyperpod,
    "aws:sagemaker/trainingJob:TrainingJob": _training,
    "aws:batch/computeEnvironment:ComputeEnvironment": _batch,
}
