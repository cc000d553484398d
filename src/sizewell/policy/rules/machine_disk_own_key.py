from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Pool

_NODES: Final = ("aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool")  # tokens of all pods lie there
_TYPES: Final = (
    "aws:autoscaling/group:Group",
    "aws:ec2/instance:Instance",
    "aws:ec2/fleet:Fleet",
    "aws:eks/nodeGroup:NodeGroup",
    "gcp:container/nodePool:NodePool",
    "gcp:compute/instance:Instance",
)


def machine_disk_own_key(pool: Pool, _: Parameters) -> Verdict:
    """The disks of accelerator machines and cluster nodes are encrypted with a customer-managed key.

    >>> from sizewell.policy.examples import pool
    >>> machine_disk_own_key(pool(accelerator="l4"), {}).fix
    'name a customer-managed key for the disks'
    """
    if (pool.accelerated is False and pool.type not in _NODES) or pool.disks_encrypted is False:
        return None
    return require(
        pool.own_key,
        message="no customer-managed key: a shared snapshot of the disk can be read in another account",
        fix="name a customer-managed key for the disks",
        unknown="the key",
    )


RULE = Rule(
    id="machine-disk-own-key",
    area="safety",
    subject="pools",
    prevents="weights that leak with a snapshot",
    judge=machine_disk_own_key,
    level="advisory",
    types=_TYPES,
)
