from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import count, get


def key_deletion_window(thing: Thing, parameters: Parameters) -> Verdict:
    """A deleted key of production or of checkpoints can be restored for weeks: without it the data is unreadable.

    >>> from sizewell.policy.examples import thing
    >>> short = thing(type="aws:kms/key:Key", environment="prod", inputs={"deletionWindowInDays": 7})
    >>> key_deletion_window(short, {"days": 30}).fix
    'set deletionWindowInDays to 30'
    """
    days = count(thing.inputs.get("deletionWindowInDays", 30))
    if isinstance(days, Unknown):
        return Undetermined("the deletion window")
    kind = get(thing.registration, "kind")
    # what components encrypt beside checkpoints and networks' logs goes with its machines: disks, notices
    keeps = kind == "checkpoints" or (thing.environment == "prod" and kind in (None, "network", "storage", UNKNOWN))
    if not keeps or (days or 0) >= parameters["days"]:
        return None
    return Violation(
        f"{days} days after a mistaken deletion everything encrypted with the key is unreadable",
        f"set deletionWindowInDays to {parameters['days']}",
    )


RULE = Rule(
    id="key-deletion-window",
    area="safety",
    subject="things",
    prevents="checkpoints made unreadable with their key",
    judge=key_deletion_window,
    clouds=("aws",),
    types=("aws:kms/key:Key",),
    parameters={
        "days": Parameter(
            default=30, schema={"type": "integer", "minimum": 7}, meaning="least days before a key is deleted"
        )
    },
)
