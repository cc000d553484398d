from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get

_ALARM: Final = "aws:cloudwatch/metricAlarm:MetricAlarm"
_POLICY: Final = "gcp:monitoring/alertPolicy:AlertPolicy"
_MACHINES: Final = {"AutoScalingGroupName", "Fleet", "ClusterName", "EndpointName", "InferenceComponentName"}
_BELOW: Final = ("LessThanThreshold", "LessThanOrEqualToThreshold", "COMPARISON_LT", "COMPARISON_LE")


def silence_is_not_idleness(thing: Thing, _: Parameters) -> Verdict:
    """A guard does not treat missing data as idleness: an agent that died must not end the job that it watched.

    >>> from sizewell.policy.examples import thing
    >>> hasty = {"comparisonOperator": "LessThanThreshold", "treatMissingData": "breaching"}
    >>> silence_is_not_idleness(thing(type="aws:cloudwatch/metricAlarm:MetricAlarm", inputs=hasty), {}).fix
    'set treatMissingData to notBreaching'
    """
    if thing.type == _ALARM:
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


RULE = Rule(
    id="silence-is-not-idleness",
    area="correctness",
    subject="things",
    prevents="working jobs stopped because their metrics stopped",
    judge=silence_is_not_idleness,
    clouds=("aws", "gcp"),
    types=(_ALARM, _POLICY),
)
