from __future__ import annotations

from policy.rule import Parameters, Rule, Verdict, require
from resources.stackfacts import Pool
from resources.values import flag, get


def node_auto_repair(pool: Pool, _: Parameters) -> Verdict:
    """A broken node is replaced by itself; otherwise it bills and does nothing.

    >>> from policy.examples import pool
    >>> node_auto_repair(pool(accelerator="l4", inputs={"management": {"autoRepair": False}}), {}).fix
    'set management.autoRepair to true'
    """
    flexible = flag(get(pool.inputs, "nodeConfig", "flexStart"))
    if flexible is True:
        return None
    return require(
        flag(get(pool.inputs, "management", "autoRepair"), default=True),
        message="a broken node keeps billing until somebody notices",
        fix="set management.autoRepair to true",
        unknown="auto-repair",
    )


RULE = Rule(
    id="node-auto-repair",
    area="correctness",
    subject="pools",
    prevents="broken nodes that bill",
    judge=node_auto_repair,
    level="advisory",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
