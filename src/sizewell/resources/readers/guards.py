"""What a guard does, not that there is one: the action, its direction, its time, and which machines it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Flag, count, either, every, flag, get, items, negated, number, text

SOON: Final = timedelta(days=31)  # a single stop later than that is no guard against a month's bill
LONGEST_IDLE_MINUTES: Final = 24 * 60
FAR: Final = 2030  # a single stop from then on is none, also where the day is not stated
METRIC_WORDS: Final = ("gpu", "dcgm", "neuron", "tpu", "accelerator", "duty_cycle")  # in the names of metrics
_DURATION: Final = re.compile(r"^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$")


def minutes(value: object) -> Any:
    """A duration in minutes: ISO 8601, seconds with an "s", a Go duration, plain minutes; None where it is none.

    >>> minutes("P30D"), minutes("2592000s"), minutes("720h"), minutes("PT15M"), minutes("Never")
    (43200.0, 43200.0, 43200.0, 15.0, None)
    """
    if isinstance(value, Unknown):
        return UNKNOWN
    stated = str(value or "")
    match = _DURATION.match(stated)
    if match and stated not in {"", "P", "PT"}:
        days, hours, mins, seconds = (int(part or 0) for part in match.groups())
        return days * 1440.0 + hours * 60 + mins + seconds / 60
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", stated)
    if parts and re.sub(r"(\d+(?:\.\d+)?)([hms])", "", stated) == "":
        return sum(float(size) * {"h": 60, "m": 1, "s": 1 / 60}[unit] for size, unit in parts)
    return None


def stops_often(cron: object) -> Flag:
    """Whether a cron line fires at least every week: no day of the month, month or year is named.

    >>> stops_often("0 20 * * MON-FRI"), stops_often("0 0 1 1 *"), stops_often("cron(0 20 ? * * 2025)")
    (True, False, False)
    """
    if isinstance(cron, Unknown):
        return UNKNOWN
    fields = str(cron or "").removeprefix("cron(").removesuffix(")").split()
    return len(fields) >= 5 and fields[2] in {"*", "?"} and fields[3] == "*" and fields[5:] in ([], ["*"])


def runs(start: object, end: object, on: date | None) -> Flag:
    """Whether what recurs between two times does so soon, and for a month at least; the day may not be stated.

    >>> day = date(2026, 11, 26)
    >>> runs(None, None, day), runs("2025-01-01T20:00:00Z", "2025-02-01T20:00:00Z", day), runs("2031-01-01", None, day)
    (True, False, False)
    """
    if UNKNOWN in (start, end):
        return UNKNOWN
    first, last = _day(start), _day(end)
    begins = start is None or (first is not None and (first.year < FAR if on is None else first <= on + SOON))
    lasts = end is None or (last is not None and (last.year >= FAR if on is None else last > on + SOON))
    return begins and lasts


def refused(inputs: Mapping[str, object], group: object) -> bool:
    """Whether a scheduled action asks for fewer machines than its group's minimum then, below which AWS sets none (from
    memory of its API; no page that was read says what becomes of the action). -1 leaves a size as it is.
    """
    wanted, least = count(inputs.get("desiredCapacity")), count(inputs.get("minSize"))
    if least in (None, -1):
        least = count(get(group, "minSize"))
    return isinstance(wanted, int) and isinstance(least, int) and 0 <= wanted < least


def scheduled_stop(action: RecordedResource, group: object, on: date | None) -> Flag:
    """Whether a scheduled action of an Auto Scaling group brings it to nothing, again and again or soon."""
    if refused(action.inputs, group):
        return False
    sizes = [count(action.inputs.get(key)) for key in ("desiredCapacity", "maxSize")]
    empties = either(*(UNKNOWN if size is UNKNOWN else size == 0 for size in sizes))
    recurrence, start = action.inputs.get("recurrence"), action.inputs.get("startTime")
    if recurrence is not None:
        return every(empties, stops_often(recurrence), runs(start, action.inputs.get("endTime"), on))
    return every(empties, UNKNOWN if start is UNKNOWN else _soon(start, on))


def _soon(when: object, on: date | None) -> bool:
    day = _day(when)
    return day is not None and (day.year < FAR if on is None else on <= day <= on + SOON)


def _day(when: object) -> date | None:
    try:
        return datetime.fromisoformat(str(when)).date()
    except ValueError:
        return None


def scales_in(policy: RecordedResource) -> Flag:
    """Whether a scaling policy of a group ever takes machines away."""
    inputs = policy.inputs
    kind = text(inputs.get("policyType"), "SimpleScaling")
    if isinstance(kind, Unknown):
        return UNKNOWN
    if kind == "TargetTrackingScaling":
        return negated(flag(get(inputs, "targetTrackingConfiguration", "disableScaleIn")))
    if kind == "PredictiveScaling":
        return False  # it only adds ahead of the load
    steps = items(inputs.get("stepAdjustments"))
    if isinstance(steps, Unknown):
        return UNKNOWN
    moves = [number(inputs.get("scalingAdjustment")), *(number(get(step, "scalingAdjustment")) for step in steps)]
    exact = inputs.get("adjustmentType") == "ExactCapacity"
    return either(*(_less(move, exact=exact) for move in moves))


def _less(move: Decimal | Unknown | None, *, exact: bool) -> Flag:
    if isinstance(move, Unknown):
        return UNKNOWN
    return move is not None and (move == 0 if exact else move < 0)


def tracks(policy: RecordedResource) -> Flag:
    """Whether a policy follows a load by itself, down as well; one of steps does what an alarm tells it."""
    kind = text(policy.inputs.get("policyType"), "SimpleScaling")
    return every(UNKNOWN if isinstance(kind, Unknown) else kind == "TargetTrackingScaling", scales_in(policy))


def idle_alarm(graph: Graph, alarm: RecordedResource) -> Flag:
    """Whether an alarm fires when accelerators are idle and then does something that takes machines away."""
    inputs = alarm.inputs
    stated = [inputs.get(key) for key in ("metricName", "namespace")]
    queries = inputs.get("metricQueries")
    watched: Flag = (
        UNKNOWN
        if UNKNOWN in (*stated, queries)
        else any(word in f"{stated[0]} {stated[1]} {queries}".lower() for word in METRIC_WORDS)
    )
    operator = inputs.get("comparisonOperator")
    below: Flag = UNKNOWN if operator is UNKNOWN else str(operator or "Less").startswith("Less")
    if queries is not None and watched is True:
        below = True  # an expression may count idleness either way
    enabled = flag(inputs.get("actionsEnabled"), default=True)
    return every(watched, below, enabled, _acts(graph, alarm))


def _acts(graph: Graph, alarm: RecordedResource) -> Flag:
    actions = alarm.inputs.get("alarmActions")
    if actions is None:
        actions = alarm.inputs.get("okActions")
    policies = graph.referenced(alarm, "alarmActions", "aws:autoscaling/policy:Policy")
    if isinstance(policies, tuple) and policies:
        return either(*(scales_in(policy) for policy in policies))
    listed = items(actions)
    if isinstance(listed, Unknown):
        return graph.stated(alarm, "alarmActions", actions)
    return bool(listed)


# EC2's own actions of an alarm on one machine. Source: Amazon CloudWatch User Guide, "Create alarms to stop, terminate,
# reboot, or recover an EC2 instance", from memory.
_EC2_STOPS: Final = re.compile(r":ec2:(stop|terminate)$|/AWS_EC2\.InstanceId\.(Stop|Terminate)/")
_LEAST_LOAD_PERCENT: Final = 1  # an idle Linux machine is below that; an alarm on less would hardly ever fire


def stop_alarm(alarm: RecordedResource) -> Flag:
    """Whether an alarm stops its machine by an action of EC2's own when a load falls, of whatever metric that is.

    It bounds what an idle machine costs. That a job may be busy on its accelerator alone is the team's own risk: the
    missing metric of the accelerator is said by a rule of its own.
    """
    inputs = alarm.inputs
    operator, least, metric = (inputs.get(key) for key in ("comparisonOperator", "threshold", "metricName"))
    actions = items(inputs.get("alarmActions"))
    if isinstance(actions, Unknown) or UNKNOWN in (operator, metric):
        return UNKNOWN
    limit = number(least)
    fires: Flag = UNKNOWN if isinstance(limit, Unknown) else limit is not None and limit >= _LEAST_LOAD_PERCENT
    stops = either(False, *(UNKNOWN if each is UNKNOWN else bool(_EC2_STOPS.search(str(each))) for each in actions))
    enabled = flag(inputs.get("actionsEnabled"), default=True)
    return every(metric is not None and str(operator).startswith("Less"), fires, enabled, stops)


def any_of(resources: tuple[RecordedResource, ...] | Unknown, judge: Any) -> Flag:
    """Whether one of the resources that refer to something does what `judge` asks; UNKNOWN where one may."""
    if isinstance(resources, Unknown):
        return UNKNOWN
    return either(*(judge(resource) for resource in resources)) if resources else False


def exist(*groups: tuple[RecordedResource, ...] | Unknown) -> Flag:
    """Whether anything of it is there."""
    return either(*(UNKNOWN if isinstance(each, Unknown) else bool(each) for each in groups))


def stop_schedule(graph: Graph, instance: RecordedResource) -> Flag:
    """Whether a Compute Engine machine has an instance schedule that stops it."""
    if instance.inputs.get("resourcePolicies") is None:
        return False
    policies = graph.referenced(instance, "resourcePolicies", "gcp:compute/resourcePolicy:ResourcePolicy")
    if isinstance(policies, Unknown):
        return UNKNOWN
    if not policies:  # a policy that stands outside of this plan
        return True
    return either(*(_stops(policy.inputs.get("instanceSchedulePolicy"), graph.expiries.on) for policy in policies))


def _stops(policy: object, on: date | None) -> Flag:
    start, end = get(policy, "startTime"), get(policy, "expirationTime")
    return every(stops_often(get(policy, "vmStopSchedule", "schedule")), runs(start, end, on))


_STACK: Final = "aws:cloudformation/stack:Stack"
_SCHEDULER_TEMPLATE: Final = "instance-scheduler"  # in the address of the solution's template


def obeyed_tag(graph: Graph, tags: object) -> Flag:
    """Whether a machine carries the tag that Instance Scheduler on AWS, deployed by the same program, looks for.

    Its parameters are the solution's, with their defaults (from memory): TagName "Schedule", SchedulingActive "Yes",
    ScheduleEC2 "Enabled", in releases before 3 ScheduledServices.
    """
    flags: list[Flag] = []
    for stack in graph.of(_STACK):
        template, stated = stack.inputs.get("templateUrl"), stack.inputs.get("parameters")
        if template is not UNKNOWN and _SCHEDULER_TEMPLATE not in str(template):
            continue
        keys = ("TagName", "SchedulingActive", "ScheduleEC2", "ScheduledServices")
        tag, active, machines, services = (get(stated, key) for key in keys)
        if UNKNOWN in (template, stated, tag, active, machines, services):
            flags.append(UNKNOWN)
            continue
        works = str(active or "Yes") == "Yes" and str(machines or "Enabled") != "Disabled"
        works = works and str(services or "EC2") in {"EC2", "Both"}
        value = get(tags, str(tag or "Schedule"))
        flags.append(UNKNOWN if works and value is UNKNOWN else works and value not in (None, ""))
    return either(False, *flags)


def azure_scales_in(setting: RecordedResource) -> Flag:
    """Whether an autoscale setting ever takes machines away: a rule that decreases, or a profile of its own hours."""
    profiles = items(setting.inputs.get("profiles"))
    enabled = flag(setting.inputs.get("enabled"), default=True)
    if isinstance(profiles, Unknown):
        return UNKNOWN
    flags: list[Flag] = []
    for profile in profiles:
        rules = items(get(profile, "rules"))
        flags.append(
            UNKNOWN
            if isinstance(rules, Unknown)
            else either(False, *(_is(get(rule, "scaleAction", "direction"), "Decrease") for rule in rules))
        )
        flags.append(profile_empties(profile))
    return every(enabled, either(False, *flags))


def stopped_instance(instance: object) -> Flag:
    """Whether a schedule of an Azure ML compute instance stops it every week; one that starts it alone does not."""
    listed = items(get(instance, "schedules", "computeStartStop"))
    if isinstance(listed, Unknown):
        return UNKNOWN
    return either(False, *(_stops_instance(each) for each in listed))


def _stops_instance(schedule: object) -> Flag:
    action, status = get(schedule, "action"), get(schedule, "status", default="Enabled")
    cron, frequency = get(schedule, "cron", "expression"), get(schedule, "recurrence", "frequency")
    often = stops_often(cron) if cron is not None else str(frequency) in {"Minute", "Hour", "Day", "Week"}
    return every(_is(action, "Stop"), _is(status, "Enabled"), UNKNOWN if frequency is UNKNOWN else often)


def profile_empties(profile: object) -> Flag:
    """Whether a profile with hours of its own brings a scale set to nothing."""
    hours = get(profile, "recurrence")
    most = count(get(profile, "capacity", "maximum"))
    return every(UNKNOWN if hours is UNKNOWN else hours is not None, UNKNOWN if most is UNKNOWN else most == 0)


def _is(value: object, wanted: str) -> Flag:
    return UNKNOWN if value is UNKNOWN else str(value) == wanted
