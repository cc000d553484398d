from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool


def machine_disk_oversized(pool: Pool, parameters: Parameters) -> Verdict:
    """A machine's boot disk is not oversized: it is billed as long as the machine exists, full or empty.

    >>> from sizewell.policy.examples import pool
    >>> machine_disk_oversized(pool(disk_gib=100000), {"gib": 4096}).fix
    'lower the disk to 4096 GiB, or raise parameters.machine-disk-oversized.gib'
    """
    if isinstance(pool.disk_gib, Unknown):
        return Undetermined("the size of the boot disk")
    if pool.disk_gib is None or pool.disk_gib <= parameters["gib"]:
        return None
    return Violation(
        f"each machine is billed for a boot disk of {pool.disk_gib} GiB",
        f"lower the disk to {parameters['gib']} GiB, or raise parameters.machine-disk-oversized.gib",
    )


RULE = Rule(
    id="machine-disk-oversized",
    area="spend",
    subject="pools",
    prevents="empty disks that are billed with every machine",
    judge=machine_disk_oversized,
    level="advisory",
    parameters={"gib": Parameter(default=4096, schema={"type": "integer", "minimum": 1}, meaning="largest boot disk")},
)
