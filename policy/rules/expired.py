from __future__ import annotations

from datetime import date

from policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from resources.recorded import Unknown
from resources.stackfacts import StackFacts


def expired(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """What has passed its end is not built again: it is taken down or given a new end.

    >>> from policy.examples import pool, stack
    >>> from datetime import date
    >>> old = pool(accelerator="l4", expires="2026-01-31")
    >>> expired(stack(pools=(old,), on=date(2026, 2, 1)), {})[0][1].fix
    'take the stack down, or give it a new ttl and decide again'
    """
    found: list[tuple[str, Verdict]] = []
    for pool in facts.pools:
        if isinstance(pool.expires, Unknown):
            found.append((pool.urn, Undetermined("its end")))
            continue
        if not pool.expires or facts.on is None:
            continue
        try:
            end = date.fromisoformat(pool.expires[:10])
        except ValueError:
            message = f"{pool.expires!r} is no date: no sweep will ever take it down"
            found.append((pool.urn, Violation(message, "write the end as YYYY-MM-DD")))
            continue
        if end < facts.on:
            message = f"its end was {end.isoformat()}: an update brings back what should have been taken down"
            found.append((pool.urn, Violation(message, "take the stack down, or give it a new ttl and decide again")))
        else:
            found.append((pool.urn, None))
    return found


RULE = Rule(
    id="expired",
    area="ownership",
    subject="stack",
    prevents="updates that revive what has ended",
    judge=expired,
)
