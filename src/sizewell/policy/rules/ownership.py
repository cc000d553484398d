"""Tags and dates: whose a resource is, who pays for it, which environment it belongs to, until when."""

from __future__ import annotations

from datetime import date

from sizewell.policy.rule import Parameter, Parameters, StackVerdicts, Undetermined, Verdict, Violation, rule
from sizewell.policy.tags import any_of, tagged
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import StackFacts, Thing
from sizewell.resources.values import Text, get, text
from sizewell.sizing.records.registration import REGISTRATION_KEY, UNASSIGNED


@rule(
    "expired",
    area="ownership",
    subject="stack",
    prevents="updates that restart an expired stack",
)
def expired(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """An expired stack is not updated: it is taken down or given a new expiry date.

    >>> from sizewell.policy.examples import pool, stack
    >>> from datetime import date
    >>> from sizewell.resources.expiry import Expiry
    >>> old = pool(accelerator="l4", expiry=Expiry(stated="2026-01-31"))
    >>> expired(stack(pools=(old,), on=date(2026, 2, 1)), {})[0][1].fix
    'take the stack down, or give it a new ttl and decide again'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for urn, expires in _ends(facts).items():
        if isinstance(expires, Unknown):
            verdicts.append((urn, Undetermined("its end")))
            continue
        if not expires or facts.on is None:
            continue
        try:
            end = date.fromisoformat(expires[:10])
        except ValueError:
            message = f"{expires!r} is not a date: it will never be taken down automatically"
            verdicts.append((urn, Violation(message, "write the date as YYYY-MM-DD")))
            continue
        if end <= facts.on:  # at 00:00 UTC of the day, as the hard end
            message = f"it expired on {end.isoformat()}: an update restarts what should have been taken down"
            verdicts.append((urn, Violation(message, "take the stack down, or give it a new ttl and decide again")))
        else:
            verdicts.append((urn, None))
    return verdicts


def _ends(facts: StackFacts) -> dict[str, Text]:
    """The end of each component that states one, of each pool, and of what else bills and is tagged with one."""
    ends: dict[str, Text] = {}
    for resource in facts.graph.plan.resources:
        stated = get(resource.inputs, REGISTRATION_KEY, "expires")
        if stated is not None:
            ends[resource.urn] = text(stated)
    ends |= {pool.urn: pool.expiry.stated for pool in facts.pools}
    ends |= {
        thing.urn: thing.expiry.stated
        for thing in facts.things
        if thing.bills and thing.registration is None and thing.tags is not None and thing.urn not in ends
    }
    return ends


@rule(
    "owner-and-expiry-tags",
    area="ownership",
    subject="things",
    prevents="orphans that are billed for months",
    debatable=True,
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
def owner_and_expiry_tags(thing: Thing, parameters: Parameters) -> Verdict:
    """Everything that is billed states its owner and, outside production, its expiry date.

    >>> from sizewell.policy.examples import thing
    >>> rule = {"owner": ["sizewell-owner", "owner"], "expires": ["sizewell-expires"], "permanent": ["prod"]}
    >>> owner_and_expiry_tags(thing(bills=True, environment="dev"), rule).fix
    'tag it sizewell-owner and sizewell-expires'
    >>> alone = {"owner": "ml", "managed-by": "sizewell"}
    >>> owner_and_expiry_tags(thing(bills=True, environment="dev", tags=alone, registration={}), rule).fix
    'set expires among the arguments of its component'
    >>> owner_and_expiry_tags(thing(bills=True, environment="dev", tags=alone, decided=True), rule).fix
    'set ttl in every spec of the stack, then run `sizewell size --stack STACK`'
    >>> tagged = {"owner": "ml", "sizewell-expires": "2026-12-31"}
    >>> owner_and_expiry_tags(thing(bills=True, environment="dev", tags=tagged), rule) is None
    True
    """
    if not thing.bills or thing.tags is None:
        return None
    if isinstance(thing.tags, Unknown):
        return Undetermined("the tags")
    keys = {key.lower() for key, value in thing.tags.items() if value not in (None, "", UNASSIGNED)}
    # checkpoints and copies of images outlive the machines, and what ends a stack outlives the stack
    outlives = get(thing.registration, "kind") in ("checkpoints", "limits", "registry")
    kept = thing.environment in parameters["permanent"] or outlives
    owned = bool(keys & {key.lower() for key in parameters["owner"]})
    ends = kept or bool(keys & {key.lower() for key in parameters["expires"]})
    if owned and ends:
        return None
    lacks = [key for key, stated in (("owner", owned), ("expires", ends)) if not stated]
    tags = " and ".join(parameters[key][0] for key in lacks)
    words = " and ".join({"owner": "its owner", "expires": "its expiry date"}[key] for key in lacks)
    then = "nobody is told what becomes of it" if ends else "it will not be taken down automatically"
    fix = f"tag it {tags}"
    if thing.tags.get("managed-by") == "sizewell":  # its tags are made of the specs of its stack
        fix = f"set {' and '.join(lacks)} among the arguments of its component"
        if thing.decided:
            keys_of_specs = " and ".join({"owner": "owner", "expires": "ttl"}[key] for key in lacks)
            fix = f"set {keys_of_specs} in every spec of the stack, then run `sizewell size --stack STACK`"
    shown = f"the tags for {words} are" if len(lacks) > 1 else f"the tag for {words} is"
    return Violation(f"{shown} missing: {then}", fix)


@rule(
    "cost-center-tag",
    area="ownership",
    subject="things",
    prevents="costs that cannot be assigned",
    level="advisory",
    parameters={"keys": any_of("sizewell-cost-center", "cost-center", "costcenter", what="a cost centre")},
)
def cost_center_tag(thing: Thing, parameters: Parameters) -> Verdict:
    """Everything that is billed states its cost center.

    >>> from sizewell.policy.examples import thing
    >>> cost_center_tag(thing(bills=True), {"keys": ["sizewell-cost-center"]}).fix
    'tag it sizewell-cost-center'
    """
    return tagged(thing, parameters["keys"], message="its cost cannot be assigned to a cost center: the tag is missing")


@rule(
    "environment-tag",
    area="ownership",
    subject="things",
    prevents="production mistaken for leftovers, or the reverse",
    level="advisory",
    parameters={"keys": any_of("sizewell-environment", "environment", "env", what="an environment")},
)
def environment_tag(thing: Thing, parameters: Parameters) -> Verdict:
    """Everything that is billed states its environment: a cleanup must know what is production.

    >>> from sizewell.policy.examples import thing
    >>> environment_tag(thing(bills=True), {"keys": ["sizewell-environment"]}).fix
    'tag it sizewell-environment'
    """
    return tagged(
        thing,
        parameters["keys"],
        message="the tag for its environment is missing: a cleanup cannot tell whether it is production",
    )
