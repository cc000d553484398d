from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Endpoint
from sizewell.resources.values import count, get
from sizewell.sizing.units import plural


def endpoint_differs(endpoint: Endpoint, _: Parameters) -> Verdict:
    """An endpoint serves from the machines that were decided, and no more of them.

    >>> from sizewell.policy.examples import endpoint
    >>> decided = {"instanceType": "g6.xlarge", "nodesMax": 2}
    >>> endpoint_differs(endpoint(kinds=("p5.48xlarge",), registration=decided), {}).message
    'serves from p5.48xlarge, but the decision says g6.xlarge: the cost is not the one that was reviewed'
    """
    decided = get(endpoint.registration, "instanceType")
    if decided is None or endpoint.kinds == ():
        return None
    most = count(get(endpoint.registration, "nodesMax"))
    fix = "decide again with `sizewell size` and commit the decision, or build what it says"
    least = count(get(endpoint.registration, "nodesMin"))
    if (
        UNKNOWN in (decided, most, least)
        or isinstance(endpoint.kinds, Unknown)
        or isinstance(endpoint.nodes_max, Unknown)
    ):
        return Undetermined("machine type and size, as decided and as built")
    other = [kind for kind in endpoint.kinds if kind != decided]
    if other:
        message = f"serves from {other[0]}, but the decision says {decided}: the cost is not the one that was reviewed"
        return Violation(message, fix)
    if isinstance(most, int) and endpoint.nodes_max is not None and endpoint.nodes_max > most:
        return Violation(f"up to {plural(endpoint.nodes_max, 'machine')}, but the decision says {most}", fix)
    if isinstance(least, int) and isinstance(endpoint.nodes_min, Unknown):
        return Undetermined("the minimum number of machines")
    if isinstance(least, int) and isinstance(endpoint.nodes_min, int) and endpoint.nodes_min > max(least, 1):
        return Violation(f"at least {plural(endpoint.nodes_min, 'machine')}, but the decision says {least}", fix)
    return None


RULE = Rule(
    id="endpoint-differs",
    area="spend",
    subject="endpoints",
    prevents="endpoints on machines that were not reviewed",
    judge=endpoint_differs,
)
