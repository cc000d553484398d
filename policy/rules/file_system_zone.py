from __future__ import annotations

from policy.rule import Parameters, Rule, StackVerdicts, Verdict, Violation
from resources.recorded import Unknown
from resources.stackfacts import StackFacts
from resources.values import items


def file_system_zone(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A parallel file system stands in the zone of the machines that read it.

    >>> from policy.examples import disk, pool, stack
    >>> far = disk(type="gcp:lustre/instance:Instance", kind="file-system", zone="us-central1-b", cloud="gcp")
    >>> near = pool(accelerator="l4", cloud="gcp", inputs={"zone": "us-central1-a"})
    >>> file_system_zone(stack(disks=(far,), pools=(near,)), {})[0][1].fix
    'create the file system in us-central1-a'
    """
    zones: set[str] = set()
    for pool in facts.pools:
        if pool.accelerated is True:
            for key in ("zone", "location", "availabilityZone"):
                value = pool.inputs.get(key)
                if isinstance(value, str) and value.count("-") == 2:
                    zones.add(value)
            listed = items(pool.inputs.get("nodeLocations"))
            zones.update(str(entry) for entry in (() if isinstance(listed, Unknown) else listed))
    found: list[tuple[str, Verdict]] = []
    for disk in facts.disks:
        if disk.kind != "file-system" or not zones or not isinstance(disk.zone, str) or disk.zone.count("-") != 2:
            continue
        if disk.zone in zones:
            found.append((disk.urn, None))
        else:
            message = (
                f"it stands in {disk.zone}, its readers in {', '.join(sorted(zones))}: slow reads and zone traffic"
            )
            found.append((disk.urn, Violation(message, f"create the file system in {min(zones)}")))
    return found


RULE = Rule(
    id="file-system-zone",
    area="correctness",
    subject="stack",
    prevents="accelerators that wait for data from another zone",
    judge=file_system_zone,
)
