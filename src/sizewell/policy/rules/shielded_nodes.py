from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import flag, get


def shielded_nodes(pool: Pool, _: Parameters) -> Verdict:
    """Machines verify at boot that they were not changed.

    >>> from sizewell.policy.examples import pool
    >>> shielded_nodes(pool(machine={}), {}).fix
    'set shieldedInstanceConfig.enableIntegrityMonitoring to true'
    """
    config = get(pool.machine, "shieldedInstanceConfig")
    return require(
        flag(get(config, "enableIntegrityMonitoring"), default=config is None and False),
        message="integrity monitoring is off: a change of the boot chain is not detected",
        fix="set shieldedInstanceConfig.enableIntegrityMonitoring to true",
        unknown="the shielded instance settings",
    )


RULE = Rule(
    id="shielded-nodes",
    area="safety",
    subject="pools",
    prevents="an undetected change of the boot chain",
    judge=shielded_nodes,
    level="advisory",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool", "gcp:compute/instance:Instance"),
)
