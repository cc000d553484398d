"""What stops and starts machines by the clock from outside of them: calls of EventBridge, of Systems Manager, of Cloud
Scheduler, and Azure's own auto-shutdown.

Policies ask whether a machine is stopped often enough (`stops`), prices which hours it runs (`calls`): one table is
read for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.readers import guards
from sizewell.resources.readers.common import tags_of
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Count, Flag, canonical, either, every, flag, get, items, negated, text

SCHEDULER: Final = "aws:scheduler/schedule:Schedule"
EVENT_RULE: Final = "aws:cloudwatch/eventRule:EventRule"
_EVENT_TARGET: Final = "aws:cloudwatch/eventTarget:EventTarget"
_ASSOCIATION: Final = "aws:ssm/association:Association"
_CLOUD_SCHEDULER: Final = "gcp:cloudscheduler/job:Job"
_SHUTDOWN: Final = "azure-native:devtestlab:GlobalSchedule"
_INSTANCE: Final = "aws:ec2/instance:Instance"
_GROUP: Final = "aws:autoscaling/group:Group"
_STOP, _START, _RESIZE = "stop", "start", "resize"
# What each call does to each kind of machine: an API of AWS, an automation of its own, an old built-in target.
_CALLS: Final = {
    _INSTANCE: {
        "aws-sdk:ec2:stopInstances": _STOP,
        "aws-sdk:ec2:terminateInstances": _STOP,
        "automation-definition/AWS-StopEC2Instance": _STOP,
        "automation-definition/AWS-TerminateEC2Instance": _STOP,
        "target/stop-instance": _STOP,
        "target/terminate-instance": _STOP,
        "aws-sdk:ec2:startInstances": _START,
        "automation-definition/AWS-StartEC2Instance": _START,
    },
    _GROUP: {
        "aws-sdk:autoscaling:updateAutoScalingGroup": _RESIZE,
        "aws-sdk:autoscaling:setDesiredCapacity": _RESIZE,
        "aws-sdk:autoscaling:deleteAutoScalingGroup": _STOP,
    },
    "aws:eks/nodeGroup:NodeGroup": {
        "aws-sdk:eks:updateNodegroupConfig": _RESIZE,
        "aws-sdk:eks:deleteNodegroup": _STOP,
        "automation-definition/AWS-UpdateEKSManagedNodeGroup": _RESIZE,
    },
    "aws:sagemaker/notebookInstance:NotebookInstance": {
        "aws-sdk:sagemaker:stopNotebookInstance": _STOP,
        "aws-sdk:sagemaker:startNotebookInstance": _START,
    },
}
_SIZES: Final = tuple(
    re.compile(rf'"({names})"\s*:\s*\[?\s*"?(\d+)')
    for names in ("(NodeGroup)?MinSize", "DesiredCapacity|(NodeGroup)?DesiredSize", "(NodeGroup)?MaxSize")
)
_GOOGLE: Final = {
    "/instances/{name}/stop": _STOP,
    "/instances/{name}/suspend": _STOP,
    "/instances/{name}/start": _START,
    "/instances/{name}/resume": _START,
}
_RESIZED: Final = re.compile(r"/instanceGroupManagers/(?P<name>[^/]+)/resize\?size=(?P<size>\d+)$")
_RATE: Final = re.compile(r"^rate\((\d+) (minute|hour|day)s?\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Something that happens to one machine or group by the clock. Sizes are None where it leaves them as they are."""

    when: object  # a line of cron, a rate; UNKNOWN
    zone: object = "UTC"
    live: Flag  # it is switched on, and goes on for a month at least
    ours: Flag  # it is about this machine
    known: bool = True  # what it does is known
    least: Count = None
    wanted: Count = None
    most: Count = None
    named: bool = True  # the engine or a name says that it is about this machine


def stops(graph: Graph, machine: RecordedResource) -> Flag:
    """Whether something stops this machine, or empties this group, every week at least."""
    return either(
        False, *(every(call.live, _often(call.when), call.ours, _empties(call)) for call in calls(graph, machine))
    )


def _empties(call: Call) -> Flag:
    return call.wanted == 0 or call.most == 0 if call.known else UNKNOWN


def _often(when: object) -> Flag:
    if isinstance(when, Unknown):
        return UNKNOWN
    rate = _RATE.match(str(when or ""))
    if rate:
        return int(rate[1]) * {"minute": 1, "hour": 60, "day": 1440}[rate[2]] <= 7 * 1440
    return guards.stops_often(when)


def calls(graph: Graph, machine: RecordedResource) -> Iterator[Call]:
    """Every call by the clock that is about a machine, or may be."""
    kind = canonical(machine.type)
    if kind in _CALLS:
        yield from _by_events(graph, machine)
    if kind == _INSTANCE:
        yield from _by_associations(graph, machine)
    if kind.startswith("gcp:"):
        yield from _by_cloud_scheduler(graph, machine)
    if kind.startswith("azure-native:"):
        yield from _by_shutdown(graph, machine)


def _by_events(graph: Graph, machine: RecordedResource) -> Iterator[Call]:
    on = graph.expiries.on
    for schedule in graph.of(SCHEDULER):
        inputs = schedule.inputs
        state = inputs.get("state")
        yield from _of_aws(
            graph, machine, schedule, "target", inputs.get("target"), when=inputs.get("scheduleExpression"),
            live=every(UNKNOWN if state is UNKNOWN else state != "DISABLED",
                       guards.runs(inputs.get("startDate"), inputs.get("endDate"), on)),
            zone=inputs.get("scheduleExpressionTimezone") or "UTC",
        )  # fmt: skip
    for rule in graph.of(EVENT_RULE):  # as CloudFormation states it, with its targets
        inside = items(rule.inputs.get("targets"))
        for target in inside if isinstance(inside, tuple) else ():
            when, live = rule.inputs.get("scheduleExpression"), rule.inputs.get("state") != "DISABLED"
            yield from _of_aws(graph, machine, rule, "targets", target, when=when, live=live)
    for target in graph.of(_EVENT_TARGET):
        rules = graph.referenced(target, "rule", EVENT_RULE)
        if isinstance(rules, Unknown):
            yield from _of_aws(graph, machine, target, "input", target.inputs, when=UNKNOWN, live=True)
            continue
        for rule in rules:
            when = rule.inputs.get("scheduleExpression")
            live = rule.inputs.get("state") != "DISABLED"
            yield from _of_aws(graph, machine, target, "input", target.inputs, when=when, live=live)


def _of_aws(
    graph: Graph,
    machine: RecordedResource,
    schedule: RecordedResource,
    prop: str,
    target: object,
    *,
    when: object,
    live: Flag,
    zone: object = "UTC",
) -> Iterator[Call]:
    """What a target does to this machine, which its input `prop` names."""
    arn, said = text(get(target, "arn")), text(get(target, "input"))
    sources = schedule.property_dependencies.get(prop, ())
    if isinstance(arn, Unknown):  # a function of the program, most often: what it does is its own code
        yield Call(when=when, zone=zone, live=live, ours=UNKNOWN, known=False, named=machine.urn in sources)
        return
    does = next((does for call, does in _CALLS[canonical(machine.type)].items() if call in arn), "")
    if not does:
        return
    named = graph.referenced(schedule, prop, canonical(machine.type))
    own = [machine.inputs.get("name"), *(machine.outputs.get(key) for key in ("id", "name", "arn"))]
    ours: Flag = UNKNOWN
    if isinstance(named, tuple):
        ours = machine in named or any(isinstance(name, str) and name and name in str(said) for name in own)
    if ours is not False:
        yield _call(does, said, when=when, zone=zone, live=live, ours=ours, named=ours is True)


def _call(does: str, said: object, **stated: Any) -> Call:
    if does != _RESIZE:
        size = 1 if does == _START else 0
        return Call(least=size, wanted=size, most=1, **stated)
    if isinstance(said, Unknown):
        return Call(known=False, **stated)
    found = [pattern.search(str(said)) for pattern in _SIZES]
    least, wanted, most = (None if each is None else int(each.groups()[-1]) for each in found)
    return Call(least=least, wanted=wanted, most=most, **stated)


def _by_associations(graph: Graph, machine: RecordedResource) -> Iterator[Call]:
    """Automations of Systems Manager that an association runs by the clock."""
    for association in graph.of(_ASSOCIATION):
        name = text(association.inputs.get("name"))
        document = "" if isinstance(name, Unknown) else f"automation-definition/{name.rsplit('/', 1)[-1]}"
        does = _CALLS[_INSTANCE].get(document, "")
        if not does and name is not UNKNOWN:
            continue
        props = ("parameters", "targets", "instanceId")
        named = [graph.referenced(association, prop, canonical(machine.type)) for prop in props]
        ours = either(*(UNKNOWN if isinstance(each, Unknown) else machine in each for each in named))
        if ours is not False:
            stated: dict[str, Any] = {"when": association.inputs.get("scheduleExpression"), "live": True, "ours": ours}
            yield _call(does, "", **stated) if does else Call(known=False, named=ours is True, **stated)


def _by_cloud_scheduler(graph: Graph, machine: RecordedResource) -> Iterator[Call]:
    """Jobs that call the API of Compute Engine."""
    name = machine.inputs.get("name")
    for job in graph.of(_CLOUD_SCHEDULER):
        uri = get(job.inputs, "httpTarget", "uri")
        live = negated(flag(job.inputs.get("paused")))
        stated: dict[str, Any] = {
            "when": job.inputs.get("schedule"),
            "zone": job.inputs.get("timeZone") or "UTC",
            "live": live,
        }
        if uri is UNKNOWN:
            if machine.urn in job.property_dependencies.get("httpTarget", ()):
                yield Call(ours=UNKNOWN, known=False, **stated)
            continue
        if not isinstance(name, str):
            continue
        for ending, does in _GOOGLE.items():
            if str(uri).endswith(ending.format(name=name)):
                yield _call(does, "", ours=True, **stated)
        if (resized := _RESIZED.search(str(uri))) and resized["name"] == name:
            yield Call(wanted=int(resized["size"]), ours=True, **stated)


def _by_shutdown(graph: Graph, machine: RecordedResource) -> Iterator[Call]:
    """Azure's auto-shutdown, which stops a virtual machine and starts none."""
    tasks = graph.referring(machine, _SHUTDOWN, "targetResourceId")
    if isinstance(tasks, Unknown):
        yield Call(when=UNKNOWN, live=UNKNOWN, ours=UNKNOWN, known=False, named=False)
        return
    for task in tasks:
        inputs = task.inputs
        status, kind = flag(inputs.get("status")), text(inputs.get("taskType"))
        days = items(get(inputs, "weeklyRecurrence", "weekdays"))
        recurs = either(
            UNKNOWN if inputs.get("dailyRecurrence") is UNKNOWN else get(inputs, "dailyRecurrence", "time") is not None,
            UNKNOWN if isinstance(days, Unknown) else bool(days),
        )
        does: Flag = UNKNOWN if isinstance(kind, Unknown) else kind == "ComputeVmShutdownTask"
        yield Call(
            when="cron(0 0 ? * * *)" if recurs is True else UNKNOWN if recurs is UNKNOWN else None,
            live=UNKNOWN if UNKNOWN in (status, does) else status,
            ours=does,
            least=0,
            wanted=0,
            most=1,
        )


def at_other_times(graph: Graph, machine: RecordedResource) -> str:
    """What stops a machine at times that no plan states; "" where nothing does."""
    kind = canonical(machine.type)
    if kind not in (_INSTANCE, _GROUP):
        return ""
    if guards.obeyed_tag(graph, tags_of(machine)) is True:
        return "the periods of Instance Scheduler"
    alarms = graph.referring(machine, "aws:cloudwatch/metricAlarm:MetricAlarm", "dimensions")
    if kind == _INSTANCE and guards.any_of(alarms, guards.stop_alarm) is True:
        return "an alarm that stops it when it is idle"
    return ""
