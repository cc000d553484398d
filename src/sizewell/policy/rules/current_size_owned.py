from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import either

_SIZES: Final = {
    "aws:autoscaling/group:Group": ("desiredCapacity",),
    "aws:ec2/fleet:Fleet": ("targetCapacitySpecification",),
    "aws:eks/nodeGroup:NodeGroup": ("scalingConfig",),
    "gcp:container/nodePool:NodePool": ("initialNodeCount", "nodeCount"),
    "azure-native:containerservice:AgentPool": ("count",),
    "azure-native:compute:VirtualMachineScaleSet": ("sku",),
}


def current_size_owned(pool: Pool, _: Parameters) -> Verdict:
    """Autoscalers and guards move the current size; an update that resets it starts machines that are not needed.

    >>> from sizewell.policy.examples import pool
    >>> scaled = {"type": "aws:autoscaling/group:Group", "inputs": {"desiredCapacity": 4}, "scales": True}
    >>> current_size_owned(pool(accelerator="l4", **scaled), {}).fix
    'add desiredCapacity to ignore_changes'
    >>> current_size_owned(pool(accelerator="l4", ignore_changes=("desiredCapacity",), **scaled), {}) is None
    True
    """
    moved = either(pool.scales, pool.moved, pool.scheduled, pool.guarded)
    if moved is False:
        return None
    stated = [prop for prop in _SIZES[pool.type] if pool.inputs.get(prop) is not None]
    ignored = tuple(path.split(".")[0].split("[")[0] for path in pool.resource.ignore_changes)
    if not stated or any(prop in ignored for prop in stated):
        return None
    if moved is UNKNOWN:
        return Undetermined("what changes the size")
    return Violation(
        "the next update restarts every machine that the autoscaler or guard has stopped",
        f"add {stated[0]} to ignore_changes",
    )


RULE = Rule(
    id="current-size-owned",
    area="correctness",
    subject="pools",
    prevents="updates that restart what a guard stopped",
    judge=current_size_owned,
    level="advisory",
    types=tuple(_SIZES),
)
