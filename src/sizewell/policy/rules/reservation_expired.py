from __future__ import annotations

from datetime import date

from sizewell.policy.rule import Parameter, Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import StackFacts


def reservation_expired(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """A pool's reservation is still open, and long enough: a group with an expired one retries for ever.

    >>> from sizewell.policy.examples import purchase, stack
    >>> from datetime import date
    >>> ended = purchase(inputs={"endDate": "2026-01-01T00:00:00Z"})
    >>> reservation_expired(stack(purchases=(ended,), on=date(2026, 2, 1)), {"days": 1})[0][1].fix
    'renew the reservation, or start the pool without it'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for purchase in facts.purchases:
        end = purchase.inputs.get("endDate")
        if end is UNKNOWN:
            verdicts.append((purchase.urn, Undetermined("the end date")))
        elif isinstance(end, str) and facts.on is not None:
            last = date.fromisoformat(end[:10])
            if (last - facts.on).days < parameters["days"]:
                message = f"the reservation ends on {last.isoformat()}: after that its pool cannot start machines"
                verdicts.append(
                    (purchase.urn, Violation(message, "renew the reservation, or start the pool without it"))
                )
            else:
                verdicts.append((purchase.urn, None))
    return verdicts


RULE = Rule(
    id="reservation-expired",
    area="correctness",
    subject="stack",
    prevents="pools that wait for an expired reservation",
    judge=reservation_expired,
    parameters={
        "days": Parameter(default=1, schema={"type": "integer", "minimum": 0}, meaning="least days that must be left")
    },
)
