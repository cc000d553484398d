from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Disk


def disk_unencrypted(disk: Disk, _: Parameters) -> Verdict:
    """Disks and file systems outside machines are encrypted.

    >>> from sizewell.policy.examples import disk
    >>> disk_unencrypted(disk(encrypted=False), {}).fix
    'set encrypted to true'
    """
    return require(
        disk.encrypted,
        message="the disk and its snapshots are not encrypted",
        fix="set encrypted to true",
        unknown="the encryption",
    )


RULE = Rule(
    id="disk-unencrypted",
    area="safety",
    subject="disks",
    prevents="data readable in disks and snapshots",
    judge=disk_unencrypted,
)
