from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get


def owner_and_expiry_tags(thing: Thing, parameters: Parameters) -> Verdict:
    """Everything that is billed states its owner and, outside production, its expiry date.

    >>> from sizewell.policy.examples import thing
    >>> rule = {"owner": ["sizewell-owner", "owner"], "expires": ["sizewell-expires"], "permanent": ["prod"]}
    >>> owner_and_expiry_tags(thing(bills=True, environment="dev"), rule).fix
    'tag it sizewell-owner and sizewell-expires'
    >>> tagged = {"owner": "ml", "sizewell-expires": "2026-12-31"}
    >>> owner_and_expiry_tags(thing(bills=True, environment="dev", tags=tagged), rule) is None
    True
    """
    if not thing.bills or thing.tags is None:
        return None
    if isinstance(thing.tags, Unknown):
        return Undetermined("the tags")
    keys = {key.lower() for key, value in thing.tags.items() if value not in (None, "")}
    # checkpoints outlive the machines that wrote them, and what ends a stack outlives the stack
    outlives = get(thing.registration, "kind") in ("checkpoints", "limits")
    kept = thing.environment in parameters["permanent"] or outlives
    missing = []
    if not keys & {key.lower() for key in parameters["owner"]}:
        missing.append(parameters["owner"][0])
    if not kept and not keys & {key.lower() for key in parameters["expires"]}:
        missing.append(parameters["expires"][0])
    if not missing:
        return None
    return Violation(
        "the tags for its owner and its expiry date are missing: it will not be taken down automatically",
        f"tag it {' and '.join(missing)}",
    )


RULE = Rule(
    id="owner-and-expiry-tags",
    area="ownership",
    subject="things",
    prevents="orphans that are billed for months",
    judge=owner_and_expiry_tags,
    parameters={
        "owner": Parameter(
            default=["sizewell-owner", "owner"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="tags that name an owner; any one counts",
        ),
        "expires": Parameter(
            default=["sizewell-expires", "expires"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="tags that name an expiry date; any one counts",
        ),
        "permanent": Parameter(
            default=["prod"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="environments whose resources need no expiry date",
        ),
    },
)
