from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get, items

_AWS: Final = "aws:budgets/budget:Budget"
_GCP: Final = "gcp:billing/budget:Budget"
_AZURE: Final = "azure-native:consumption:Budget"


def budget_unheard(thing: Thing, _: Parameters) -> Verdict:
    """A budget notifies somebody before it is spent.

    >>> from sizewell.policy.examples import thing
    >>> budget_unheard(thing(type="aws:budgets/budget:Budget", inputs={"limitAmount": "900"}), {}).fix
    'add notifications with thresholds and subscribers'
    """
    inputs = thing.inputs
    if thing.type == _GCP:
        heard, steps = inputs.get("allUpdatesRule"), inputs.get("thresholdRules")
        fix = "add thresholdRules, and allUpdatesRule with a topic or channel"
    else:
        steps = inputs.get("notifications")
        heard = steps
        fix = "add notifications with thresholds and subscribers"
        listed = items(list(steps.values()) if thing.type == _AZURE and isinstance(steps, dict) else steps)
        if not isinstance(listed, Unknown):
            keys = (
                "subscriberEmailAddresses",
                "subscriberSnsTopicArns",
                "contactEmails",
                "contactGroups",
                "contactRoles",
            )
            heard = [
                notification
                for notification in listed
                if any(get(notification, key) for key in keys if get(notification, key) is not UNKNOWN)
            ]
            heard = heard or [
                notification for notification in listed if any(get(notification, key) is UNKNOWN for key in keys)
            ]
    if UNKNOWN in (heard, steps):
        return Undetermined("the receivers of the budget's notices")
    if heard and steps:
        return None
    return Violation("the budget notifies nobody when it is exceeded", fix)


RULE = Rule(
    id="budget-unheard",
    area="spend",
    subject="things",
    prevents="budgets exceeded without notice",
    judge=budget_unheard,
    types=(_AWS, _GCP, _AZURE),
)
