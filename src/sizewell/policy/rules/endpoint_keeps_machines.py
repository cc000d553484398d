from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Endpoint
from sizewell.sizing.units import plural


def endpoint_keeps_machines(endpoint: Endpoint, parameters: Parameters) -> Verdict:
    """In development a model endpoint on accelerators reaches zero, or is deleted at night.

    >>> from sizewell.policy.examples import endpoint
    >>> kept = endpoint(accelerated=True, environment="dev", nodes_min=2)
    >>> endpoint_keeps_machines(kept, {"environments": ["dev"]}).fix
    'set its minimum to 0, or serve from a service that starts on demand'
    """
    if endpoint.accelerated is False or endpoint.nodes_min == 0:
        return None
    if isinstance(endpoint.environment, Unknown):
        return Undetermined("the environment")
    if endpoint.environment not in parameters["environments"]:
        return None
    tags = endpoint.tags if isinstance(endpoint.tags, dict) else {}
    if any(str(key).endswith("expires") for key in tags) or (endpoint.registration or {}).get("expires"):
        return None
    if isinstance(endpoint.nodes_min, Unknown) or isinstance(endpoint.accelerated, Unknown):
        return Undetermined("its minimum")
    return Violation(
        f"a development stack is billed for at least {plural(endpoint.nodes_min or 1, 'machine')} every night",
        "set its minimum to 0, or serve from a service that starts on demand",
    )


RULE = Rule(
    id="endpoint-keeps-machines",
    area="spend",
    subject="endpoints",
    prevents="development endpoints that are billed at night",
    judge=endpoint_keeps_machines,
    level="advisory",
    levels={"dev": "mandatory"},
    parameters={
        "environments": Parameter(
            default=["dev"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="environments whose endpoints must be able to reach zero",
        )
    },
)
