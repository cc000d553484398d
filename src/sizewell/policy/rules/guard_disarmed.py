from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import StackFacts, Thing
from sizewell.resources.values import Flag, either, flag, get, items

_ALARM: Final = "aws:cloudwatch/metricAlarm:MetricAlarm"
_POLICY: Final = "gcp:monitoring/alertPolicy:AlertPolicy"
_SETTING: Final = "azure-native:monitor:AutoscaleSetting"
_RULES: Final = "azure-native:alertsmanagement:PrometheusRuleGroup"
_SWITCHES: Final = {_ALARM: "actionsEnabled", _POLICY: "enabled", _SETTING: "enabled", _RULES: "enabled"}
_ACTIONS: Final = {_ALARM: "alarmActions", _POLICY: "notificationChannels", _SETTING: "profiles", _RULES: "rules"}
_EVENTS: Final = "aws:cloudwatch/eventRule:EventRule"
_WAITING: Final = {
    _EVENTS: "eventPattern",
    "aws:cloudwatch/compositeAlarm:CompositeAlarm": "alarmRule",
}


def guard_disarmed(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A guard is enabled, and stops or notifies: an alarm, an alert policy, an autoscale setting.

    An alarm may also be what a rule of EventBridge or another alarm waits for; such a rule of a guarded component
    starts what stops it, so it is on as well, and waits for one of the component's own alarms.

    >>> from sizewell.policy.examples import stack, thing
    >>> off = {"actionsEnabled": False, "alarmActions": ["arn"]}
    >>> guard_disarmed(stack(things=(thing(type="aws:cloudwatch/metricAlarm:MetricAlarm", inputs=off),)), {})[0][1].fix
    'set actionsEnabled to true'
    """
    switches = [(thing.urn, _judged(thing, facts.graph)) for thing in facts.things if thing.type in _SWITCHES]
    return switches + [
        (event.urn, verdict) for event in facts.graph.of(_EVENTS) if (verdict := _starts(event, facts.graph))
    ]


def _starts(event: RecordedResource, graph: Graph) -> Verdict:
    """A rule of EventBridge that starts something in a role's name, beside the alarms of a guarded component."""
    alarms = [alarm for alarm in graph.beside(event, _ALARM) if graph.registration(alarm) is not None]
    targets = graph.referring(event, "aws:cloudwatch/eventTarget:EventTarget", "rule")
    if not alarms or isinstance(targets, Unknown) or not any("roleArn" in target.inputs for target in targets):
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


def _judged(thing: Thing, graph: Graph) -> Verdict:
    switch, actions = _SWITCHES[thing.type], _ACTIONS[thing.type]
    on = flag(thing.inputs.get(switch), default=True)
    if on is UNKNOWN:
        return Undetermined("whether it is on")
    if not on:
        message = "the guard is disabled: what it should stop is still billed, and nobody is notified"
        return Violation(message, f"set {switch} to true")
    stated = thing.inputs.get(actions)
    if thing.type == _RULES:
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
        waited = _waited_for(thing, graph) if thing.type == _ALARM else False
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
    for kind, key in _WAITING.items():
        for watcher in graph.of(kind):
            said, sources = watcher.inputs.get(key), watcher.property_dependencies.get(key, ())
            named = isinstance(said, str) and any(name in said for name in names)
            waiting.append(
                True if named or alarm.urn in sources else UNKNOWN if said is UNKNOWN and not sources else False
            )
    return either(*waiting)


RULE = Rule(
    id="guard-disarmed",
    area="spend",
    subject="stack",
    prevents="an idle guard that does nothing",
    judge=guard_disarmed,
)
