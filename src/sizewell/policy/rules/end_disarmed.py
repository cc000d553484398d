from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get


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


RULE = Rule(
    id="end-disarmed",
    area="spend",
    subject="things",
    prevents="stops that do not happen, or fail unnoticed",
    judge=end_disarmed,
    level="advisory",
    clouds=("aws", "gcp", "azure"),
    types=("aws:scheduler/schedule:Schedule", "gcp:cloudscheduler/job:Job", "azure-native:logic:Workflow"),
)
