from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Pool


def machine_disk_unencrypted(pool: Pool, _: Parameters) -> Verdict:
    """The disks of machines are encrypted: they contain datasets and weights.

    >>> from sizewell.policy.examples import pool
    >>> machine_disk_unencrypted(pool(disks_encrypted=False), {}).fix
    'set encrypted on every disk of the machines, or encryption at host'
    """
    if pool.type == "azure-native:machinelearningservices:Compute" or pool.type.startswith("aws:batch/"):
        return None
    return require(
        pool.disks_encrypted,
        message="the disks and their snapshots are not encrypted",
        fix="set encrypted on every disk of the machines, or encryption at host",
        unknown="the disks",
    )


RULE = Rule(
    id="machine-disk-unencrypted",
    area="safety",
    subject="pools",
    prevents="data readable in disks and snapshots",
    judge=machine_disk_unencrypted,
)
