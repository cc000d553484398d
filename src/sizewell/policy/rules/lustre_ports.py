from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Opening, StackFacts

_WANTED: Final = frozenset({988, *range(1018, 1024)})


def lustre_ports(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Lustre clients reach their file system: ports 988 and 1018 to 1023.

    >>> from sizewell.policy.examples import opening, resource, stack
    >>> group = resource("aws:ec2/securityGroup:SecurityGroup", "lustre", {"name": "lustre"})
    >>> disk = resource("aws:fsx/lustreFileSystem:LustreFileSystem", "data", {"securityGroupIds": ["lustre"]})
    >>> only = opening(group=group.urn, ports="988")
    >>> lustre_ports(stack(group, disk, openings=(only,)), {})[0][1].message
    'clients cannot reach the file system on 6 ports: mounts hang while machines are billed'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for disk in facts.graph.of("aws:fsx/lustreFileSystem:LustreFileSystem"):
        groups = facts.graph.referenced(disk, "securityGroupIds", "aws:ec2/securityGroup:SecurityGroup")
        if isinstance(groups, Unknown):
            verdicts.append((disk.urn, Undetermined("its security groups")))
            continue
        if not groups:
            continue
        urns = {group.urn for group in groups}
        inward = [opening for opening in facts.openings if opening.direction == "ingress" and opening.group in urns]
        open_ports = frozenset().union(*(_ports(opening) for opening in inward if opening.ports is not UNKNOWN))
        missing = len(_WANTED - open_ports)
        if not missing:
            verdicts.append((disk.urn, None))
        elif any(opening.ports is UNKNOWN for opening in inward) or any(
            opening.group == str(UNKNOWN) for opening in facts.openings
        ):
            verdicts.append((disk.urn, Undetermined("the ports that its security group opens")))
        else:
            message = f"clients cannot reach the file system on {missing} ports: mounts hang while machines are billed"
            verdicts.append((disk.urn, Violation(message, "open 988 and 1018-1023 to the machines that mount it")))
    return verdicts


def _ports(opening: Opening) -> frozenset[int]:
    if opening.ports == "all":
        return _WANTED
    first, _, last = str(opening.ports).partition("-")
    if not first.isdigit() or not (last or first).isdigit():
        return frozenset()
    return _WANTED & frozenset(range(int(first), int(last or first) + 1))


RULE = Rule(
    id="lustre-ports",
    area="correctness",
    subject="stack",
    prevents="mounts that hang while machines are billed",
    judge=lustre_ports,
    clouds=("aws",),
)
