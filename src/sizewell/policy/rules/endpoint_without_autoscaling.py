from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Endpoint


def endpoint_without_autoscaling(endpoint: Endpoint, _: Parameters) -> Verdict:
    """A model endpoint on accelerators scales with its load; a fixed one is billed for the peak at night.

    >>> from sizewell.policy.examples import endpoint
    >>> endpoint_without_autoscaling(endpoint(accelerated=True, scales=False), {}).fix
    'add a scaling target with a policy, or managed instance scaling'
    >>> endpoint_without_autoscaling(endpoint(accelerated=True, scales=True), {}) is None
    True
    """
    if endpoint.accelerated is False:
        return None
    return require(
        endpoint.scales,
        message="the endpoint is not autoscaled: it is billed for its peak around the clock",
        fix="add a scaling target with a policy, or managed instance scaling",
        unknown="its scaling",
    )


RULE = Rule(
    id="endpoint-without-autoscaling",
    area="spend",
    subject="endpoints",
    prevents="endpoints that are billed for peak capacity at night",
    judge=endpoint_without_autoscaling,
    levels={"dev": "advisory"},
)
