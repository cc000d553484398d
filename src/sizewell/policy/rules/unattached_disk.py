from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Disk
from sizewell.resources.values import get


def unattached_disk(disk: Disk, _: Parameters) -> Verdict:
    """Disks are attached: an unused one is still billed, and is usually a leftover of a deleted machine.

    >>> from sizewell.policy.examples import disk
    >>> unattached_disk(disk(attached=False), {}).fix
    'attach it, snapshot and delete it, or tag it sizewell-keep with a reason'
    >>> unattached_disk(disk(attached=True), {}) is None
    True
    """
    if get(disk.tags, "sizewell-keep") is not None:
        return None
    return require(
        disk.attached,
        message="the disk is billed every month but is not attached to a machine",
        fix="attach it, snapshot and delete it, or tag it sizewell-keep with a reason",
        unknown="what it is attached to",
    )


RULE = Rule(
    id="unattached-disk",
    area="spend",
    subject="disks",
    prevents="disks that are billed after their machine is gone",
    judge=unattached_disk,
    level="advisory",
)
