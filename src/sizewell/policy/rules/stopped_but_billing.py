from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing

_STATES: Final = {
    "aws:ec2transitgateway/instanceState:InstanceState": "state",  # the provider's own place for it
    "gcp:compute/instance:Instance": "desiredStatus",
    "gcp:workbench/instance:Instance": "desiredState",
}


def stopped_but_billing(thing: Thing, _: Parameters) -> Verdict:
    """A stopped machine keeps its disks and addresses, which are still billed: delete it to save money.

    >>> from sizewell.policy.examples import thing
    >>> off = thing(type="gcp:compute/instance:Instance", inputs={"desiredStatus": "TERMINATED"})
    >>> stopped_but_billing(off, {}).message
    'stopped machines keep disks and addresses, which are still billed'
    """
    state = thing.inputs.get(_STATES[thing.type])
    if state is UNKNOWN:
        return Undetermined("whether it runs")
    if str(state).upper() not in {"STOPPED", "TERMINATED", "SUSPENDED"}:
        return None
    return Violation(
        "stopped machines keep disks and addresses, which are still billed",
        "delete the machine and keep a snapshot of what matters",
    )


RULE = Rule(
    id="stopped-but-billing",
    area="spend",
    subject="things",
    prevents="stopped machines that are still billed",
    judge=stopped_but_billing,
    level="advisory",
    types=tuple(_STATES),
)
