from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import count
from sizewell.sizing.units import plural


def more_than_decided(pool: Pool, _: Parameters) -> Verdict:
    """A pool has no more machines, and no other type, than the decision that was reviewed.

    >>> from sizewell.policy.examples import pool
    >>> decided = {"instanceType": "g6.xlarge", "nodesMax": 2, "nodesMin": 0}
    >>> more_than_decided(pool(kinds=("g6.xlarge",), nodes_min=0, nodes_max=8, registration=decided), {}).message
    'up to 8 machines, but the decision says 2: up to 4 times the reviewed cost'
    >>> more_than_decided(pool(kinds=("g6.xlarge",), nodes_min=0, nodes_max=2, registration=decided), {}) is None
    True
    """
    registered = {} if pool.registration is None else pool.registration
    declared = registered.get("instanceType")
    if declared is None or registered.get("nodesMax") is None or pool.single:
        return None
    stated = (declared, registered.get("nodesMax"), registered.get("nodesMin"))
    if isinstance(pool.kinds, Unknown) or isinstance(pool.nodes_max, Unknown) or UNKNOWN in stated:
        return Undetermined("machine type and maximum size, as decided and as built")
    fix = "decide again with `sizewell size` and commit the decision, or build what it says"
    if declared not in pool.kinds:
        if registered.get("kind") is UNKNOWN and pool.accelerated is not False:
            return Undetermined("the workload of the machines")
        if registered.get("kind") == "pool" and pool.accelerated is not False:
            return Violation(f"starts {', '.join(pool.kinds)} machines, but the decision says {declared}", fix)
        return None  # a system pool beside the decided one
    most, least = count(registered.get("nodesMax")), count(registered.get("nodesMin"))
    built = max(pool.nodes_max or 0, pool.nodes_wanted if isinstance(pool.nodes_wanted, int) else 0)
    if isinstance(most, int) and built > most:
        times = built / max(most, 1)
        message = f"up to {plural(built, 'machine')}, but the decision says {most}"
        message += f": up to {times:g} times the reviewed cost"
        return Violation(message, fix)
    if isinstance(least, int) and isinstance(pool.nodes_min, int) and pool.nodes_min > least:
        return Violation(f"at least {plural(pool.nodes_min, 'machine')}, but the decision says {least}", fix)
    return None


RULE = Rule(
    id="more-than-decided",
    area="spend",
    subject="pools",
    prevents="capacity that was not reviewed",
    judge=more_than_decided,
)
