from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import flag, get

_EKS: Final = "aws:eks/nodeGroup:NodeGroup"


def node_auto_repair(pool: Pool, _: Parameters) -> Verdict:
    """A broken node is replaced automatically; otherwise it is billed and does nothing.

    >>> from sizewell.policy.examples import pool
    >>> node_auto_repair(pool(accelerator="l4", inputs={"management": {"autoRepair": False}}), {}).fix
    'set management.autoRepair to true'
    """
    if pool.type == _EKS:
        if pool.accelerated is False:
            return None
        return require(
            flag(get(pool.inputs, "nodeRepairConfig", "enabled")),
            message="a machine with a broken accelerator is billed until somebody notices",
            fix="set nodeRepairConfig.enabled to true",
            unknown="node repair",
        )
    flexible = flag(get(pool.inputs, "nodeConfig", "flexStart"))
    if flexible is True:
        return None
    return require(
        flag(get(pool.inputs, "management", "autoRepair"), default=True),
        message="a broken node is billed until somebody notices",
        fix="set management.autoRepair to true",
        unknown="auto-repair",
    )


RULE = Rule(
    id="node-auto-repair",
    area="correctness",
    subject="pools",
    prevents="broken nodes that are still billed",
    judge=node_auto_repair,
    level="advisory",
    clouds=("gcp", "aws"),
    types=("gcp:container/nodePool:NodePool", _EKS),
)
