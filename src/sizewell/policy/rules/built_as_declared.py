from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get, text


def built_as_declared(pool: Pool, _: Parameters) -> Verdict:
    """What is built matches the component's arguments: machine type, disk of each machine, zones.

    >>> from sizewell.policy.examples import pool
    >>> built_as_declared(pool(disk_gib=2000, declared_disk_gib=200), {}).message
    'each machine gets a disk of 2000 GiB, but its component says 200: the difference is billed around the clock'
    >>> built_as_declared(pool(template_kind="p5.48xlarge", declared_kinds=("g6.xlarge",)), {}).fix
    'name g6.xlarge in the template'
    """
    told = pool.declared_disk_gib
    if told is not None and pool.disk_gib is not None:
        if isinstance(told, Unknown) or isinstance(pool.disk_gib, Unknown):
            return Undetermined("the disk's size, as declared and as built")
        if pool.disk_gib > told:
            return Violation(
                (
                    f"each machine gets a disk of {pool.disk_gib} GiB, but its component says {told}: the difference "
                    "is billed around the clock"
                ),
                f"set the disk to {told} GiB, or decide again with `sizewell size`",
            )
    kinds = pool.declared_kinds
    if pool.template_kind != "" and kinds != ():
        if isinstance(kinds, Unknown) or isinstance(pool.template_kind, Unknown):
            return Undetermined("the machine type, as declared and as built")
        if pool.template_kind not in kinds:
            message = (
                f"the template names {pool.template_kind}, which differs from its component: whatever is "
                "started from it"
            )
            return Violation(f"{message} is billed for another machine type", f"name {kinds[0]} in the template")
    if pool.declared_topology != "":
        topology = text(get(pool.inputs, "placementPolicy", "tpuTopology"))
        if isinstance(topology, Unknown) or isinstance(pool.declared_topology, Unknown):
            return Undetermined("the topology, as declared and as built")
        if topology == "" and isinstance(pool.nodes_max, Unknown):
            return Undetermined("how many machines there are")
        if topology == "" and (pool.nodes_max or 0) != 1 and pool.accelerated is not False:
            message = (
                f"the machines do not form a slice of {pool.declared_topology}: they are billed but the job "
                f"does not start"
            )
            return Violation(message, f"set placementPolicy.tpuTopology to {pool.declared_topology}")
    if pool.declared_zones is not None and pool.zones is not None:
        if isinstance(pool.declared_zones, Unknown) or isinstance(pool.zones, Unknown):
            return Undetermined("the zones, as declared and as built")
        if pool.zones > pool.declared_zones:
            message = f"the machines are spread over {pool.zones} zones, but the component says {pool.declared_zones}"
            return Violation(f"{message}: traffic between them is billed", "give the pool the zones that were declared")
    return None


RULE = Rule(
    id="built-as-declared",
    area="spend",
    subject="pools",
    prevents="disks, machines and zones that were not sized",
    judge=built_as_declared,
)
