from __future__ import annotations

from typing import Final

from policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from resources.recorded import UNKNOWN, Unknown
from resources.stackfacts import Thing
from resources.values import flag, get, items

_ALARM: Final = "aws:cloudwatch/metricAlarm:MetricAlarm"
_POLICY: Final = "gcp:monitoring/alertPolicy:AlertPolicy"
_SETTING: Final = "azure-native:monitor:AutoscaleSetting"
_RULES: Final = "azure-native:alertsmanagement:PrometheusRuleGroup"
_SWITCHES: Final = {_ALARM: "actionsEnabled", _POLICY: "enabled", _SETTING: "enabled", _RULES: "enabled"}
_ACTIONS: Final = {_ALARM: "alarmActions", _POLICY: "notificationChannels", _SETTING: "profiles", _RULES: "rules"}


def guard_disarmed(thing: Thing, _: Parameters) -> Verdict:
    """A guard is on, and does or tells something: an alarm, a policy of alerts, an autoscale setting.

    >>> from policy.examples import thing
    >>> off = {"actionsEnabled": False, "alarmActions": ["arn"]}
    >>> guard_disarmed(thing(type="aws:cloudwatch/metricAlarm:MetricAlarm", inputs=off), {}).fix
    'set actionsEnabled to true'
    """
    switch, actions = _SWITCHES[thing.type], _ACTIONS[thing.type]
    on = flag(thing.inputs.get(switch), default=True)
    if on is UNKNOWN:
        return Undetermined("whether it is on")
    if not on:
        message = "the guard is switched off: what it should stop bills on, and nobody is told"
        return Violation(message, f"set {switch} to true")
    stated = thing.inputs.get(actions)
    if thing.type == _RULES:
        alerts = items(stated)
        if isinstance(alerts, Unknown):
            return Undetermined("its rules")
        if UNKNOWN in [get(one, key) for one in alerts for key in ("alert", "enabled", "actions")]:
            return Undetermined("what its rules do")
        off = [one for one in alerts if get(one, "alert") and get(one, "enabled", default=True) is False]
        if off:
            message = "an alert of the guard is switched off: what it should see bills on, and nobody is told"
            return Violation(message, "set enabled to true on its rules")
        stated = [one for one in alerts if not get(one, "alert") or get(one, "actions")]
    if stated in (None, []):
        message = "the guard neither stops anything nor tells anybody: what it sees bills on"
        return Violation(message, f"give it {actions}")
    return None


RULE = Rule(
    id="guard-disarmed",
    area="spend",
    subject="things",
    prevents="an idle guard that does nothing",
    judge=guard_disarmed,
    types=tuple(_SWITCHES),
)
