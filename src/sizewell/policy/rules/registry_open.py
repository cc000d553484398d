from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import flag


def registry_open(thing: Thing, _: Parameters) -> Verdict:
    """A registry of images authenticates who pushes and who pulls.

    >>> from sizewell.policy.examples import thing
    >>> registry_open(thing(type="azure-native:containerregistry:Registry", inputs={"adminUserEnabled": True}), {}).fix
    'set adminUserEnabled to false and assign roles instead'
    """
    admin, anonymous = (flag(thing.inputs.get(key)) for key in ("adminUserEnabled", "anonymousPullEnabled"))
    if admin is True:
        return Violation(
            "the admin account is on: one password allows pushing other code into every job",
            "set adminUserEnabled to false and assign roles instead",
        )
    if anonymous is True:
        return Violation(
            "anonymous pull is on: anyone can read the images, and the traffic is billed to you",
            "set anonymousPullEnabled to false",
        )
    return Undetermined("who can push and pull") if UNKNOWN in (admin, anonymous) else None


RULE = Rule(
    id="registry-open",
    area="safety",
    subject="things",
    prevents="untrusted code in your jobs",
    judge=registry_open,
    clouds=("azure",),
    types=("azure-native:containerregistry:Registry",),
)
