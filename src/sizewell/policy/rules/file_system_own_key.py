from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Disk


def file_system_own_key(disk: Disk, _: Parameters) -> Verdict:
    """File systems with datasets and weights are encrypted with a customer-managed key.

    >>> from sizewell.policy.examples import disk
    >>> file_system_own_key(disk(kind="file-system"), {}).fix
    'name a customer-managed key'
    """
    if disk.kind != "file-system":
        return None
    return require(
        disk.own_key,
        message="backups of the file system are not encrypted with a customer-managed key",
        fix="name a customer-managed key",
        unknown="the key",
    )


RULE = Rule(
    id="file-system-own-key",
    area="safety",
    subject="disks",
    prevents="data that leaks with a backup",
    judge=file_system_own_key,
    level="advisory",
)
