from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import get, items

_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
_RULES: Final = (
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
    "aws:ec2/securityGroupRule:SecurityGroupRule",
    _GROUP,
)


def security_group_unused(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Security groups are in use: an unused one was meant for machines that now lack it.

    >>> from sizewell.policy.examples import resource, stack
    >>> security_group_unused(stack(resource("aws:ec2/securityGroup:SecurityGroup", "nodes")), {})[0][1].fix
    'name the group where the machines, endpoints or jobs are made, or delete it'
    """
    groups = facts.graph.of(_GROUP)
    if not groups:
        return []
    users = [user for user in facts.graph.plan.resources if user.custom and user.type not in _RULES]
    used = {urn for user in users for urns in user.property_dependencies.values() for urn in urns}
    named: set[str] = set()
    open_ends = False
    for user in users:
        for place in (user.inputs, get(user.inputs, "vpcConfig"), get(user.inputs, "networkInterfaces", 0)):
            for key in ("securityGroups", "securityGroupIds", "vpcSecurityGroupIds", "securityGroup"):
                listed = items(get(place, key))
                stated: tuple[Any, ...] = (UNKNOWN,) if isinstance(listed, Unknown) else listed
                open_ends |= UNKNOWN in stated and not user.property_dependencies
                named.update(str(entry) for entry in stated)
    verdicts: list[tuple[str, Verdict]] = []
    for group in groups:
        if group.urn in used or group.name in named or group.inputs.get("name") in named:
            verdicts.append((group.urn, None))
        elif open_ends:
            verdicts.append((group.urn, Undetermined("which groups the machines use")))
        else:
            message = "this security group is not used: the machines that it was written for have another one, or none"
            fix = "name the group where the machines, endpoints or jobs are made, or delete it"
            verdicts.append((group.urn, Violation(message, fix)))
    return verdicts


RULE = Rule(
    id="security-group-unused",
    area="safety",
    subject="stack",
    prevents="machines without the rules written for them",
    judge=security_group_unused,
    level="advisory",
    clouds=("aws",),
)
