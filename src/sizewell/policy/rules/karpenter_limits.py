from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get


def karpenter_limits(thing: Thing, _: Parameters) -> Verdict:
    """A Karpenter pool has limits: without them a loop of pods starts machines until the quota is used up.

    >>> from sizewell.policy.examples import thing
    >>> karpenter_limits(thing(type="kubernetes:karpenter.sh/v1:NodePool", inputs={"spec": {}}), {}).fix
    'set spec.limits (nvidia.com/gpu, cpu)'
    """
    limits = get(thing.inputs, "spec", "limits")
    if limits is UNKNOWN:
        return Undetermined("the limits")
    if limits:
        return None
    return Violation(
        "without limits runaway pods start machines up to the account's quota", "set spec.limits (nvidia.com/gpu, cpu)"
    )


RULE = Rule(
    id="karpenter-limits",
    area="spend",
    subject="things",
    prevents="unlimited machines",
    judge=karpenter_limits,
    clouds=("kubernetes",),
    types=("kubernetes:karpenter.sh/v1:NodePool",),
)
