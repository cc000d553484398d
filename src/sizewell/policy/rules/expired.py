from __future__ import annotations

from datetime import date

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.readers.common import expiry
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import Text, get, text
from sizewell.sizing.records.registration import REGISTRATION_KEY


def expired(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """An expired stack is not updated: it is taken down or given a new expiry date.

    >>> from sizewell.policy.examples import pool, stack
    >>> from datetime import date
    >>> old = pool(accelerator="l4", expires="2026-01-31")
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
    ends |= {pool.urn: pool.expires for pool in facts.pools}
    ends |= {
        thing.urn: expiry(None, thing.tags)
        for thing in facts.things
        if thing.bills and thing.registration is None and thing.tags is not None and thing.urn not in ends
    }
    return ends


RULE = Rule(
    id="expired",
    area="ownership",
    subject="stack",
    prevents="updates that restart an expired stack",
    judge=expired,
)
