"""AWS machines as pools: Auto Scaling groups, instances, fleets, EKS node groups, Batch environments."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, Final

from sizewell.resources import aws_nodes, controlled
from sizewell.resources.graph import Graph
from sizewell.resources.readers import clocks, guards, task_machines
from sizewell.resources.readers.autoscalers import eks_autoscaler
from sizewell.resources.readers.common import ONE_MACHINE, SWITCHED_OFF, decoded, tags_of
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.schedules import least_size
from sizewell.resources.sizes import Size
from sizewell.resources.stackfacts import PAID
from sizewell.resources.values import (
    Count,
    Flag,
    Text,
    canonical,
    count,
    either,
    every,
    flag,
    get,
    items,
    negated,
    text,
)
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.machine_prices import vcpus_by_name

METRIC_AGENTS: Final = ("nvidia_gpu", "dcgm", "neuron-monitor", "neuron_monitor", "nvidia-smi", "gpu_utilization")


def plain(value: object) -> Flag:
    """Whether a value is given, where nothing is known about where it comes from."""
    return UNKNOWN if isinstance(value, Unknown) else bool(value)


def _stated_in(graph: Graph, template: object) -> Callable[[Any], Flag]:
    if not isinstance(template, RecordedResource):
        return plain
    return lambda key: graph.stated(template, "blockDeviceMappings", key)


def _machine(template: object, stated: Callable[[object], Flag] = plain) -> dict[str, Any]:
    """What a launch template (or an instance's own inputs) says about each machine."""
    script = decoded(get(template, "userDataBase64", default=get(template, "userData")))
    interfaces = items(get(template, "networkInterfaces"))
    public = aws_nodes.public_address(template)
    reservation = get(template, "capacityReservationSpecification", "capacityReservationTarget")
    reserved = text(
        get(reservation, "capacityReservationId", default=get(reservation, "capacityReservationResourceGroupArn"))
    )
    group = text(get(template, "placement", "groupName", default=get(template, "placementGroup")))
    efa: Flag = False
    if isinstance(interfaces, tuple):
        kinds = [text(get(entry, "interfaceType")) for entry in interfaces]
        efa = either(*(UNKNOWN if isinstance(kind, Unknown) else kind.startswith("efa") for kind in kinds))
    return {
        "machine": template,
        "start_script": script,
        "metrics": UNKNOWN if isinstance(script, Unknown) else any(name in script.lower() for name in METRIC_AGENTS),
        "public_address": False if public is None else public,
        "reserved": reserved,
        "placement": UNKNOWN if isinstance(group, Unknown) else group != "",
        "gang": UNKNOWN if isinstance(interfaces, Unknown) else efa,
        "template_kind": text(get(template, "instanceType")),
        "disk_gib": _disk_gib(aws_nodes.block_devices(template)),
        **_encryption(aws_nodes.block_devices(template), stated),
    }


def _disk_gib(devices: Any) -> Count:
    if isinstance(devices, Unknown):
        return UNKNOWN
    sizes = [count(get(device, "volumeSize")) for device in devices]
    return UNKNOWN if UNKNOWN in sizes else max((size for size in sizes if isinstance(size, int)), default=None)


def _encryption(devices: Any, stated: Callable[[object], Flag]) -> dict[str, Flag]:
    """No mapping at all means the image's disk, which is as encrypted as the image: not stated, so not encrypted."""
    if isinstance(devices, Unknown):
        return {"disks_encrypted": UNKNOWN, "own_key": UNKNOWN}
    if not devices:
        return {"disks_encrypted": False, "own_key": False}
    keys = [get(device, "kmsKeyId") for device in devices]
    return {
        "disks_encrypted": every(*(flag(get(device, "encrypted")) for device in devices)),
        "own_key": every(*(stated(key) for key in keys)),
    }


def _group(graph: Graph, resource: RecordedResource) -> list[dict[str, Any]]:
    nodes = aws_nodes.group_nodes(graph, resource)
    policies = graph.referring(resource, "aws:autoscaling/policy:Policy", "autoscalingGroupName")
    schedules = graph.referring(resource, "aws:autoscaling/schedule:Schedule", "autoscalingGroupName")
    alarms = graph.referring(resource, "aws:cloudwatch/metricAlarm:MetricAlarm", "dimensions")
    tags = items(resource.inputs.get("tags"))
    by_cluster = isinstance(tags, tuple) and any(
        str(get(tag, "key")).startswith("k8s.io/cluster-autoscaler/") for tag in tags
    )
    subnets = items(resource.inputs.get("vpcZoneIdentifiers"))
    zones = items(resource.inputs.get("availabilityZones"))
    machine = _machine(nodes.template_inputs, _stated_in(graph, nodes.template))
    group = text(resource.inputs.get("placementGroup"))
    wanted, most = (count(resource.inputs.get(key)) for key in ("desiredCapacity", "maxSize"))
    size = least_size(graph, resource, Size(least=_always(resource), wanted=wanted, most=most))
    ends = negated(either(_suspends(resource, "Terminate"), flag(resource.inputs.get("protectFromScaleIn"))))
    return [
        {
            **machine,
            "attached_accelerator": _required(resource, nodes.template_inputs),
            "reserved": _reserved(graph, nodes.template, machine["reserved"]),
            "placement": either(machine["placement"], UNKNOWN if isinstance(group, Unknown) else group != ""),
            "kinds": nodes.types,
            "market": nodes.market,
            "nodes_min": size.least,
            "nodes_wanted": size.wanted,
            "nodes_max": size.most,
            "moved": guards.exist(policies, schedules, alarms),
            "scales": either(
                by_cluster,
                every(ends, guards.any_of(policies, guards.tracks)),
                _follows_tasks(graph, resource),
            ),
            "scheduled": every(
                ends,
                either(
                    every(
                        negated(_suspends(resource, "ScheduledActions")),
                        guards.any_of(
                            schedules, lambda action: guards.scheduled_stop(action, resource.inputs, graph.expiries.on)
                        ),
                    ),
                    clocks.stops(graph, resource),
                    guards.obeyed_tag(graph, tags_of(resource)),
                ),
            ),
            "guarded": every(
                ends,
                negated(_suspends(resource, "AlarmNotification")),
                guards.any_of(alarms, lambda alarm: guards.idle_alarm(graph, alarm)),
            ),
            "zones": _several(graph, resource, subnets, zones),
            "serves": _answers(graph, resource),
        }
    ]


_ATTACHMENT: Final = "aws:autoscaling/attachment:Attachment"


def _answers(graph: Graph, group: RecordedResource) -> Flag:
    """Whether a load balancer sends requests to the group."""
    stated = [
        graph.stated(group, key, group.inputs.get(key))
        for key in ("targetGroupArns", "loadBalancers", "trafficSources")
    ]
    return either(*stated, guards.exist(graph.referring(group, _ATTACHMENT, "autoscalingGroupName")))


def _suspends(group: RecordedResource, process: str) -> Flag:
    """Whether the group leaves a process undone, such as taking machines away."""
    listed = items(group.inputs.get("suspendedProcesses"))
    if isinstance(listed, Unknown):
        return UNKNOWN
    if process in listed:
        return True
    return UNKNOWN if UNKNOWN in listed else False


def _always(group: RecordedResource) -> Count:
    """Machines that always run: the smallest size, and those of a warm pool that are not stopped."""
    least, pool = count(group.inputs.get("minSize")), group.inputs.get("warmPool")
    if pool is None or get(pool, "poolState", default="Stopped") != "Running":
        return least
    ready = count(get(pool, "minSize", default=0))
    if isinstance(least, Unknown) or isinstance(ready, Unknown):
        return UNKNOWN
    return max(least or 0, ready or 0)


def _follows_tasks(graph: Graph, group: RecordedResource) -> Flag:
    """Whether a capacity provider of ECS keeps the group as large as its tasks need."""
    providers = graph.referring(group, task_machines.PROVIDER, "autoScalingGroupProvider")
    return guards.any_of(providers, task_machines.managed)


def _reserved(graph: Graph, template: Any, stated: Text) -> Text:
    """The reservation; one of this plan by its name, because its id is known only once it stands."""
    if stated is not UNKNOWN or not isinstance(template, RecordedResource):
        return stated
    reservations = graph.referenced(template, "capacityReservationSpecification", *_RESERVATIONS)
    return reservations[0].name if isinstance(reservations, tuple) and reservations else stated


_RESERVATIONS: Final = (
    "aws:ec2/capacityReservation:CapacityReservation",
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
    "aws:resourcegroups/group:Group",
)


def _required(group: RecordedResource, template: object) -> Text:
    """Accelerators that a group asks for by what machines have, without naming a type."""
    overrides = items(get(group.inputs, "mixedInstancesPolicy", "launchTemplate", "overrides"))
    asked = [get(template, "instanceRequirements")]
    asked += [get(entry, "instanceRequirements") for entry in overrides] if isinstance(overrides, tuple) else [UNKNOWN]
    for needs in (each for each in asked if each is not None and each is not UNKNOWN):
        least = count(get(needs, "acceleratorCount", "min"))
        named = get(needs, "acceleratorNames", 0, default=get(needs, "acceleratorManufacturers", 0))
        if least is UNKNOWN or named is UNKNOWN:
            return UNKNOWN
        if least or named or get(needs, "acceleratorTypes") is not None:
            return str(named or "any accelerator")
    return ""


def _several(graph: Graph, resource: RecordedResource, subnets: Any, zones: Any) -> int | Unknown | None:
    """Zones of a group. A list that is not known yet is made of at most the subnets that it depends on: of one it is
    that one, and a component of ours that names as many zones takes them all; any other may be a part of them.
    """
    if isinstance(subnets, Unknown):
        made = graph.referenced(resource, "vpcZoneIdentifiers", "aws:ec2/subnet:Subnet")
        most = len(made) if isinstance(made, tuple) else 0
        return most if most and most in (1, _own_zones(graph, resource)) else UNKNOWN
    if isinstance(zones, Unknown):
        return UNKNOWN
    return max(len(subnets), len(zones)) or None


def _instance(graph: Graph, resource: RecordedResource) -> list[dict[str, Any]]:
    template = aws_nodes.template_of(graph, resource, "launchTemplate")
    own = resource.inputs
    inherited: Any = UNKNOWN if isinstance(template, Unknown) else ({} if template is None else template.inputs)
    merged: object = own if inherited == {} else ({**inherited, **own} if inherited is not UNKNOWN else own)
    kind = aws_nodes.instance_type(graph, resource)
    machine = _machine(merged, _stated_in(graph, template))
    root = get(own, "rootBlockDevice")
    extra = items(get(own, "ebsBlockDevices"))
    devices: object = UNKNOWN
    if isinstance(extra, tuple) and root is not UNKNOWN and UNKNOWN not in extra:
        devices = tuple(device for device in (root, *extra) if device is not None)
    if inherited == {} or devices:
        machine.update(_encryption(devices, lambda key: graph.stated(resource, "rootBlockDevice", key)))
    market = "spot" if resource.type.endswith("SpotInstanceRequest") else aws_nodes.template_market(merged)
    return [
        {
            **machine,
            "kinds": UNKNOWN if isinstance(kind, Unknown) else ((kind,) if kind else ()),
            "market": market,
            **(SWITCHED_OFF if aws_nodes.is_stopped(graph, resource) else ONE_MACHINE),
            "zones": 1,
            "scheduled": _stopped(graph, resource) if resource.type == _INSTANCE else False,
            "guarded": guards.any_of(
                graph.referring(resource, "aws:cloudwatch/metricAlarm:MetricAlarm", "dimensions"),
                lambda alarm: guards.idle_alarm(graph, alarm),
            ),
        }
    ]


def _stopped(graph: Graph, machine: RecordedResource) -> Flag:
    """Whether something outside of the machine stops it, by the clock or by an alarm of EC2's own."""
    return either(
        guards.any_of(
            graph.referring(machine, "aws:cloudwatch/metricAlarm:MetricAlarm", "dimensions"), guards.stop_alarm
        ),
        clocks.stops(graph, machine),
        guards.obeyed_tag(graph, tags_of(machine)),
    )


def _fleet(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    nodes = aws_nodes.fleet_nodes(graph, resource)
    least, wanted, most = aws_nodes.fleet_size(graph, resource)
    until = text(resource.inputs.get("validUntil"))
    ends = flag(resource.inputs.get("terminateInstancesWithExpiration"))
    return [
        {
            **_machine(nodes.template_inputs, _stated_in(graph, nodes.template)),
            "kinds": nodes.types,
            "market": nodes.market,
            "nodes_min": least,
            "nodes_wanted": wanted,
            "nodes_max": most,
            **({"expiry": graph.expiries.judged(until, acted=ends)} if until != "" else {}),
        }
    ]


def _node_group(graph: Graph, resource: RecordedResource) -> list[dict[str, Any]]:
    nodes = aws_nodes.node_group_nodes(graph, resource)
    scaling = resource.inputs.get("scalingConfig")
    machine = _machine(nodes.template_inputs, _stated_in(graph, nodes.template))
    if nodes.template is None and not resource.inputs.get("launchTemplate"):
        machine.update({"disks_encrypted": True, "own_key": False})  # the service's own template encrypts
    least, most = count(get(scaling, "minSize")), count(get(scaling, "maxSize"))
    subnets = items(resource.inputs.get("subnetIds"))
    # by the name of the Auto Scaling group behind it, which is an output of the node group
    policies = graph.referring(resource, "aws:autoscaling/policy:Policy", "autoscalingGroupName")
    schedules = graph.referring(resource, "aws:autoscaling/schedule:Schedule", "autoscalingGroupName")
    followed = guards.any_of(policies, guards.tracks)
    autoscaler = eks_autoscaler(graph, resource)
    return [
        {
            **machine,
            "kubernetes": True,
            "reserved": _reserved(graph, nodes.template, machine["reserved"]),
            "kinds": nodes.types,
            "market": nodes.market,
            "nodes_min": least,
            "nodes_wanted": count(get(scaling, "desiredSize")),
            "nodes_max": most,
            # an autoscaler finds managed groups by itself, where one runs
            "scales": every(either(least == 0, _room(least, most)), either(followed, autoscaler is not False)),
            "autoscaler_elsewhere": autoscaler is UNKNOWN and followed is not True,
            "scheduled": either(
                guards.any_of(
                    schedules, lambda action: guards.scheduled_stop(action, scaling or {}, graph.expiries.on)
                ),
                clocks.stops(graph, resource),
            ),
            "zones": _own_zones(graph, resource) if isinstance(subnets, Unknown) else (len(subnets) or None),
        }
    ]


def _room(least: Count, most: Count) -> Flag:
    if isinstance(least, Unknown) or isinstance(most, Unknown):
        return UNKNOWN
    return (most or 0) > (least or 0)


def _own_zones(graph: Graph, resource: RecordedResource) -> int | Unknown:
    """Zones of subnets that are not known yet: a component of ours names one zone for each of them."""
    owner = graph.owner(resource)
    zones = None if owner is None else items(owner.inputs.get("zones"))
    return len(zones) if isinstance(zones, tuple) and zones else UNKNOWN


_LONGEST_ATTEMPT_S: Final = 6 * 3600


def _starts_again(graph: Graph) -> Flag:
    """Whether all jobs of the plan are short and tried again, so that an interruption loses a part of a day at most."""
    flags: list[Flag] = []
    for job in graph.of("aws:batch/jobDefinition:JobDefinition"):
        limit = count(get(job.inputs, "timeout", "attemptDurationSeconds"))
        tries = count(get(job.inputs, "retryStrategy", "attempts"))
        if UNKNOWN in (limit, tries):
            flags.append(UNKNOWN)
        else:
            short = 0 < (limit or 0) <= _LONGEST_ATTEMPT_S  # type: ignore[operator]
            flags.append(short and (tries or 0) >= 2 and _after_host_loss(job) != "EXIT")  # type: ignore[operator]
    return every(*flags) if flags else False


def _after_host_loss(job: RecordedResource) -> str:
    """What Batch does with a job whose machine was reclaimed: the first condition that meets it decides, else RETRY
    (docs.aws.amazon.com/batch, "Automated job retries": such a job's status reason begins with "Host EC2").
    """
    conditions = items(get(job.inputs, "retryStrategy", "evaluateOnExits"))
    if isinstance(conditions, Unknown):
        return "EXIT"
    for condition in conditions:
        reason = text(get(condition, "onStatusReason"), "*")
        elsewhere = any(get(condition, key) for key in ("onExitCode", "onReason"))
        if not elsewhere and not isinstance(reason, Unknown) and fnmatchcase("Host EC2 (instance) terminated.", reason):
            return str(text(get(condition, "action"), "")).upper()
    return "RETRY"


def _batch(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    compute = resource.inputs.get("computeResources")
    kind = text(get(compute, "type"), "EC2")
    types = items(get(compute, "instanceTypes"))
    least = count(get(compute, "minVcpus", default=get(compute, "minvCpus", default=0)))  # CloudFormation's spelling
    market: Text = UNKNOWN if isinstance(kind, Unknown) else ("spot" if kind.upper() == "SPOT" else "on-demand")
    kinds: tuple[str, ...] | Unknown = (
        UNKNOWN if isinstance(types, Unknown) or UNKNOWN in types else tuple(str(name) for name in types)
    )
    return [
        {
            "machine": compute,
            "kinds": kinds,
            "market": market,
            "nodes_min": _machines_with(least, kinds),
            "nodes_wanted": _machines_with(count(get(compute, "desiredVcpus", default=0)), kinds),
            "nodes_max": _machines_with(count(get(compute, "maxVcpus", default=get(compute, "maxvCpus"))), kinds),
            "scales": True,
            "guarded": _ends_idle(least),  # Batch ends machines without jobs, down to the minimum
            "metrics": True,
            **({"workload_kind": "batch-inference"} if _starts_again(graph) is True else {}),
        }
    ]


def _machines_with(vcpus: Count, kinds: tuple[str, ...] | Unknown) -> Count:
    """How many machines have so many vCPUs, of the smallest of the types; Batch counts vCPUs."""
    if not isinstance(vcpus, int) or vcpus == 0:
        return vcpus
    shapes = load().shapes_by_type
    known = [
        shape.vcpus if (shape := shapes.get(("aws", kind))) is not None else vcpus_by_name(kind)
        for kind in (() if isinstance(kinds, Unknown) else kinds)
    ]
    sizes = [each for each in known if each]
    return -(-vcpus // min(sizes)) if sizes and len(sizes) == len(known) else UNKNOWN


def _ends_idle(least: Count) -> Flag:
    return UNKNOWN if isinstance(least, Unknown) else not least


def _hyperpod(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    """Groups of a HyperPod cluster: each keeps its number of machines, whatever works on them."""
    native = canonical(resource.type) == controlled.NATIVE_HYPERPOD
    made = controlled.HYPERPOD if native else resource.inputs.get("typeName")
    if made not in (controlled.HYPERPOD, UNKNOWN):
        return []
    state = controlled.state_of(resource)
    groups = UNKNOWN if made is UNKNOWN else controlled.groups(graph, resource)
    guarded = get(graph.registration(resource), "guard")
    common: dict[str, Any] = {
        "kubernetes": True,  # or Slurm, whose machines nothing in a program measures either
        "guarded": UNKNOWN if isinstance(guarded, Unknown) else guarded is not None,
        "disks_encrypted": True,  # by the service where no key is named
        "own_key": True,
    }
    if state is not UNKNOWN:
        tags = items(get(state, "tags"))
        common["tags"] = UNKNOWN if isinstance(tags, Unknown) else {str(get(t, "key")): get(t, "value") for t in tags}
    elif graph.owner(resource) is None:
        common["tags"] = UNKNOWN
    else:
        common["tags"] = None  # a component writes them into the text that is not known yet
    if isinstance(groups, Unknown):
        sizes = dict.fromkeys(("nodes_min", "nodes_wanted", "nodes_max"), UNKNOWN)
        return [{**common, "kinds": UNKNOWN, "own_key": UNKNOWN, "reserved": UNKNOWN, **sizes}]
    return [
        {
            **common,
            "kinds": UNKNOWN if isinstance(kind := text(get(group, "instanceType")), Unknown)
            else (kind.removeprefix("ml."),),
            "market": UNKNOWN if isinstance(plan, Unknown) else PAID if plan else "on-demand",
            "reserved": plan,
            "nodes_min": size.least,
            "nodes_wanted": size.wanted,
            "nodes_max": size.most,
            "zones": 1,
            **({} if state is UNKNOWN else {"own_key": _volume_keys(group)}),
        }
        for group in groups
        for plan, size in [(controlled.plan_of(group), controlled.group_size(state, group))]
    ]  # fmt: skip


def _volume_keys(group: object) -> Flag:
    volumes = items(get(group, "instanceStorageConfigs"))
    if isinstance(volumes, Unknown):
        return UNKNOWN
    return bool(volumes) and every(*(plain(get(each, "ebsVolumeConfig", "volumeKmsKeyId")) for each in volumes))


_INSTANCE: Final = "aws:ec2/instance:Instance"

READERS: Final = {
    aws_nodes.GROUP: _group,
    _INSTANCE: _instance,
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": _instance,
    "aws:ec2/fleet:Fleet": _fleet,
    "aws:ec2/spotFleetRequest:SpotFleetRequest": _fleet,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "aws:batch/computeEnvironment:ComputeEnvironment": _batch,
    controlled.CLOUD_CONTROL: _hyperpod,
    controlled.NATIVE_HYPERPOD: _hyperpod,
}
