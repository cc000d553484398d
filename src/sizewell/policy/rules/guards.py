"""Guards against idle machines: alarms that act, schedules that run, metrics without which no guard can see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.policy.rule import Parameters, StackVerdicts, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Pool, StackFacts, Thing
from sizewell.resources.values import Flag, either, flag, get, items

_METRIC_ALARM: Final = "aws:cloudwatch/metricAlarm:MetricAlarm"
_ALERT_POLICY: Final = "gcp:monitoring/alertPolicy:AlertPolicy"
_AUTOSCALE_SETTING: Final = "azure-native:monitor:AutoscaleSetting"
_PROMETHEUS_RULES: Final = "azure-native:alertsmanagement:PrometheusRuleGroup"
_SWITCHES: Final = {
    _METRIC_ALARM: "actionsEnabled",
    _ALERT_POLICY: "enabled",
    _AUTOSCALE_SETTING: "enabled",
    _PROMETHEUS_RULES: "enabled",
}
_ACTIONS: Final = {
    _METRIC_ALARM: "alarmActions",
    _ALERT_POLICY: "notificationChannels",
    _AUTOSCALE_SETTING: "profiles",
    _PROMETHEUS_RULES: "rules",
}
_EVENT_RULE: Final = "aws:cloudwatch/eventRule:EventRule"
_EVENT_SOURCES: Final = {
    _EVENT_RULE: "eventPattern",
    "aws:cloudwatch/compositeAlarm:CompositeAlarm": "alarmRule",
}


@rule(
    "guard-disarmed",
    area="spend",
    subject="stack",
    prevents="an idle guard that does nothing",
)
def guard_disarmed(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A guard is enabled, and stops or notifies: an alarm, an alert policy, an autoscale setting.

    An alarm may also be what a rule of EventBridge or another alarm waits for; such a rule of a guarded component
    starts what stops it, so it is on as well, and waits for one of the component's own alarms.

    >>> from sizewell.policy.examples import stack, thing
    >>> off = {"actionsEnabled": False, "alarmActions": ["arn"]}
    >>> guard_disarmed(stack(things=(thing(type="aws:cloudwatch/metricAlarm:MetricAlarm", inputs=off),)), {})[0][1].fix
    'set actionsEnabled to true'
    """
    switches = [(thing.urn, _judge_guard(thing, facts.graph)) for thing in facts.things if thing.type in _SWITCHES]
    return switches + [
        (event.urn, verdict) for event in facts.graph.of(_EVENT_RULE) if (verdict := _starts(event, facts.graph))
    ]


def _starts(event: RecordedResource, graph: Graph) -> Verdict:
    """A rule of EventBridge that starts something in a role's name, beside the alarms of a guarded component."""
    alarms = [alarm for alarm in graph.beside(event, _METRIC_ALARM) if graph.registration(alarm) is not None]
    targets = graph.referring(event, "aws:cloudwatch/eventTarget:EventTarget", "rule")
    starts = not isinstance(targets, Unknown) and any("roleArn" in target.inputs for target in targets)
    ours, state = graph.registration(event) is not None, event.inputs.get("state")
    if not starts and ours and state is UNKNOWN:
        return Undetermined("whether it is on")
    if not starts and ours and state == "DISABLED":
        message = "a rule of the guard is disabled: nobody is notified when what it watches fails"
        return Violation(message, "set state to ENABLED")
    if not alarms or not starts:
        return None
    if event.inputs.get("state") in ("DISABLED", UNKNOWN):
        return Violation("the guard's trigger is disabled: what it should stop is still billed", "set state to ENABLED")
    pattern = event.inputs.get("eventPattern")
    sources = event.property_dependencies.get("eventPattern", ())
    if pattern is UNKNOWN and not any(alarm.urn in sources for alarm in alarms):
        return Undetermined("the alarm that triggers it")
    if isinstance(pattern, str) and not any(str(alarm.inputs.get("name")) in pattern for alarm in alarms):
        return Violation("the guard's trigger does not match any of its alarms", "name the alarm in eventPattern")
    return None


def _judge_guard(thing: Thing, graph: Graph) -> Verdict:
    switch, actions = _SWITCHES[thing.type], _ACTIONS[thing.type]
    on = flag(thing.inputs.get(switch), default=True)
    if on is UNKNOWN:
        return Undetermined("whether it is on")
    if not on:
        message = "the guard is disabled: what it should stop is still billed, and nobody is notified"
        return Violation(message, f"set {switch} to true")
    stated = thing.inputs.get(actions)
    if thing.type == _PROMETHEUS_RULES:
        alerts = items(stated)
        if isinstance(alerts, Unknown):
            return Undetermined("its rules")
        if UNKNOWN in [get(alert, key) for alert in alerts for key in ("alert", "enabled", "actions")]:
            return Undetermined("what its rules do")
        off = [alert for alert in alerts if get(alert, "alert") and get(alert, "enabled", default=True) is False]
        if off:
            message = "an alert of the guard is disabled: idle machines are still billed, and nobody is notified"
            return Violation(message, "set enabled to true on its rules")
        stated = [alert for alert in alerts if not get(alert, "alert") or get(alert, "actions")]
    if stated in (None, []):
        waited = _waited_for(thing, graph) if thing.type == _METRIC_ALARM else False
        if waited is UNKNOWN:
            return Undetermined("whether a rule is triggered by the alarm")
        if waited:
            return None
        message = "the guard neither stops anything nor notifies anyone: idle machines are still billed"
        return Violation(message, f"give it {actions}")
    return None


def _waited_for(alarm: Thing, graph: Graph) -> Flag:
    """Whether an event rule or a composite alarm names the alarm."""
    names = [name for name in (alarm.inputs.get("name"), alarm.name) if isinstance(name, str)]
    waiting: list[Flag] = []
    for kind, key in _EVENT_SOURCES.items():
        for watcher in graph.of(kind):
            said, sources = watcher.inputs.get(key), watcher.property_dependencies.get(key, ())
            named = isinstance(said, str) and any(name in said for name in names)
            waiting.append(
                True if named or alarm.urn in sources else UNKNOWN if said is UNKNOWN and not sources else False
            )
    return either(*waiting)


@rule(
    "end-disarmed",
    area="spend",
    subject="things",
    prevents="stops that do not happen, or fail unnoticed",
    level="advisory",
    types=("aws:scheduler/schedule:Schedule", "gcp:cloudscheduler/job:Job", "azure-native:logic:Workflow"),
)
def end_disarmed(thing: Thing, _: Parameters) -> Verdict:
    """A schedule that stops machines is enabled, and its failures are recorded.

    >>> from sizewell.policy.examples import thing
    >>> end_disarmed(thing(type="aws:scheduler/schedule:Schedule", inputs={"state": "DISABLED"}), {}).fix
    'set state to ENABLED'
    """
    if thing.type == "gcp:cloudscheduler/job:Job":
        paused = thing.inputs.get("paused")
        if paused is UNKNOWN:
            return Undetermined("whether it is paused")
        if paused:
            return Violation("the schedule is paused: what it should stop is still billed", "drop paused")
        return None
    if thing.type == "azure-native:logic:Workflow":
        if thing.inputs.get("state") is UNKNOWN:
            return Undetermined("whether it is on")
        if thing.inputs.get("state") in ("Disabled", "Suspended"):
            return Violation("the workflow is disabled: what it should stop is still billed", "set state to Enabled")
        return None
    state, lost = thing.inputs.get("state"), get(thing.inputs, "target", "deadLetterConfig")
    if state is UNKNOWN or thing.inputs.get("target") is UNKNOWN:
        return Undetermined("whether it is enabled, and its dead-letter target")
    if state == "DISABLED":
        return Violation("the schedule is disabled: what it should stop is still billed", "set state to ENABLED")
    if lost is None:
        message = "failed stops are not recorded: what they should have stopped is still billed"
        return Violation(message, "add target.deadLetterConfig")
    return None


_MACHINES: Final = {"AutoScalingGroupName", "Fleet", "ClusterName", "EndpointName", "InferenceComponentName"}
_BELOW: Final = ("LessThanThreshold", "LessThanOrEqualToThreshold", "COMPARISON_LT", "COMPARISON_LE")


@rule(
    "silence-is-not-idleness",
    area="correctness",
    subject="things",
    prevents="working jobs stopped because their metrics stopped",
    clouds=("aws", "gcp"),
    types=(_METRIC_ALARM, _ALERT_POLICY),
)
def silence_is_not_idleness(thing: Thing, _: Parameters) -> Verdict:
    """A guard does not treat missing data as idleness: an agent that died must not end the job that it watched.

    >>> from sizewell.policy.examples import thing
    >>> hasty = {"comparisonOperator": "LessThanThreshold", "treatMissingData": "breaching"}
    >>> silence_is_not_idleness(thing(type="aws:cloudwatch/metricAlarm:MetricAlarm", inputs=hasty), {}).fix
    'set treatMissingData to notBreaching'
    """
    if thing.type == _METRIC_ALARM:
        below, silence = thing.inputs.get("comparisonOperator"), thing.inputs.get("treatMissingData")
        bad, fix = "breaching", "set treatMissingData to notBreaching"
    else:
        condition = get(thing.inputs, "conditions", 0, "conditionThreshold")
        below, silence = get(condition, "comparison"), get(condition, "evaluationMissingData")
        bad, fix = "EVALUATION_MISSING_DATA_ACTIVE", "set evaluationMissingData to EVALUATION_MISSING_DATA_INACTIVE"
    if silence is not UNKNOWN and silence != bad:
        return None
    if UNKNOWN in (below, silence):
        return Undetermined("how missing data is treated")
    if below not in _BELOW and not set(get(thing.inputs, "dimensions", default={})) & _MACHINES:
        return None  # an alarm on something else may want to hear of silence
    return Violation("missing data counts as idle: if the agent dies, the guard stops machines that are working", fix)


_AT_BOOT: Final[Mapping[str, str]] = {
    "aws": "install the metrics agent at first boot (CloudWatch agent nvidia_gpu, DCGM exporter, neuron-monitor)",
    "gcp": "install the metrics agent at first boot (Ops Agent, DCGM exporter)",
    "azure": "install the metrics agent at first boot (DCGM exporter)",
}
_ANYWHERE: Final = "install the metrics agent at first boot (DCGM exporter)"
_IN_EKS: Final = (
    "add the add-on amazon-cloudwatch-observability to its cluster, as EksCluster does, or a DCGM exporter; where "
    "another program brings it, waive the rule for this pool"
)
_IN_AKS: Final = (
    "turn on managed Prometheus in its cluster and export the GPUs' metrics there, as AksCluster and AksOperators do; "
    "where another program has the cluster, waive the rule for this pool"
)
_AGENTS: Final = {  # what measures a pool whose machines take no start script
    "aws:eks/nodeGroup:NodeGroup": _IN_EKS,
    "aws:cloudcontrol/resource:Resource": _IN_EKS,
    "azure-native:containerservice:AgentPool": _IN_AKS,
    "azure-native:containerservice:ManagedCluster": _IN_AKS,
}


@rule(
    "guard-without-metric",
    area="spend",
    subject="pools",
    prevents="an idle guard that never fires",
)
def guard_without_metric(pool: Pool, _: Parameters) -> Verdict:
    """An idle guard sees nothing without an agent that reports what the accelerators do.

    Where a program states no start script, the image may bring the agent of the metric that its guard watches.

    >>> from sizewell.policy.examples import pool
    >>> guard_without_metric(pool(accelerator="l4", guarded=True, start_script="apt-get update"), {}).message
    'the idle guard has no data: accelerator utilization is not reported, so idle machines are still billed'
    >>> guard_without_metric(pool(accelerator="l4", guarded=True), {}) is None
    True
    """
    if pool.accelerated is False or pool.guarded is False:
        return None
    if pool.registration is None and pool.start_script == "":
        return None
    if pool.guarded is UNKNOWN and pool.metrics is not True:
        return Undetermined("the guard")
    return require(
        pool.metrics,
        message=(
            "the idle guard has no data: accelerator utilization is not reported, so idle machines are still billed"
        ),
        fix=_AGENTS.get(pool.type, _AT_BOOT.get(pool.cloud, _ANYWHERE)),
        unknown="the start script",
    )


@rule(
    "accelerator-metrics-missing",
    area="correctness",
    subject="pools",
    prevents="machines whose idleness no guard can see",
    level="advisory",
)
def accelerator_metrics_missing(pool: Pool, _: Parameters) -> Verdict:
    """Accelerator metrics are reported: without them neither a person nor a guard can tell which machines are idle.

    >>> from sizewell.policy.examples import pool
    >>> accelerator_metrics_missing(pool(accelerator="l4"), {}).message
    'accelerator utilization is not reported: no metrics agent is installed'
    >>> accelerator_metrics_missing(pool(accelerator="l4", metrics=True), {}) is None
    True
    """
    if pool.accelerated is False or (pool.guarded is True and pool.start_script != ""):
        return None  # a guard without metrics has a rule of its own
    return require(
        pool.metrics,
        message="accelerator utilization is not reported: no metrics agent is installed",
        fix=_AGENTS.get(pool.type, _AT_BOOT.get(pool.cloud, _ANYWHERE)),
        unknown="the start script",
    )
