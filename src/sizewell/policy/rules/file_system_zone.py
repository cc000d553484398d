from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import items


def file_system_zone(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A parallel file system is in the zone of the machines that read it.

    >>> from sizewell.policy.examples import disk, pool, stack
    >>> far = disk(type="gcp:lustre/instance:Instance", kind="file-system", zone="us-central1-b", cloud="gcp")
    >>> near = pool(accelerator="l4", cloud="gcp", inputs={"zone": "us-central1-a"})
    >>> file_system_zone(stack(disks=(far,), pools=(near,)), {})[0][1].fix
    'create the file system in us-central1-a'
    """
    zones: set[str] = set()
    unsure = False
    for pool in facts.pools:
        if pool.accelerated is False:
            continue
        listed = items(pool.inputs.get("nodeLocations"))
        places = [pool.inputs.get(key) for key in ("zone", "location", "availabilityZone")]
        places += [UNKNOWN] if isinstance(listed, Unknown) else listed
        zones.update(place for place in places if isinstance(place, str) and place.count("-") == 2)
        unsure |= UNKNOWN in places or pool.accelerated is UNKNOWN
    verdicts: list[tuple[str, Verdict]] = []
    for disk in facts.disks:
        if disk.kind != "file-system" or not (zones or unsure):
            continue
        if isinstance(disk.zone, Unknown) or (unsure and disk.zone not in zones):
            verdicts.append((disk.urn, Undetermined("the zones of the file system and its readers")))
        elif disk.zone.count("-") != 2:
            continue
        elif disk.zone in zones:
            verdicts.append((disk.urn, None))
        else:
            message = (
                f"it is in {disk.zone}, its readers in {', '.join(sorted(zones))}: reads are slow and "
                "traffic between zones is billed"
            )
            verdicts.append((disk.urn, Violation(message, f"create the file system in {min(zones)}")))
    return verdicts


RULE = Rule(
    id="file-system-zone",
    area="correctness",
    subject="stack",
    prevents="accelerators that wait for data from another zone",
    judge=file_system_zone,
)
