from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import text


def endpoint_unreachable(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Machines reach the endpoints of AWS services: their security group lets HTTPS in.

    >>> from sizewell.policy.examples import resource, stack
    >>> group = resource("aws:ec2/securityGroup:SecurityGroup", "endpoints", {"name": "endpoints"})
    >>> inputs = {"vpcEndpointType": "Interface", "securityGroupIds": ["endpoints"]}
    >>> endpoint_unreachable(stack(group, resource("aws:ec2/vpcEndpoint:VpcEndpoint", "ecr", inputs)), {})[0][1].fix
    'let port 443 in from the network'
    """
    found: list[tuple[str, Verdict]] = []
    for endpoint in facts.graph.of("aws:ec2/vpcEndpoint:VpcEndpoint"):
        kind = text(endpoint.inputs.get("vpcEndpointType"), "Gateway")
        groups = facts.graph.referenced(endpoint, "securityGroupIds", "aws:ec2/securityGroup:SecurityGroup")
        if isinstance(kind, Unknown) or isinstance(groups, Unknown):
            found.append((endpoint.urn, Undetermined("the endpoint's kind and security groups")))
            continue
        if kind != "Interface" or not groups:
            continue
        urns = {group.urn for group in groups}
        ways = [one for one in facts.openings if one.direction == "ingress" and one.group in urns]
        if any(one.ports in ("all", "443") for one in ways):
            found.append((endpoint.urn, None))
        elif any(one.ports is UNKNOWN for one in ways) or any(one.group == str(UNKNOWN) for one in facts.openings):
            found.append((endpoint.urn, Undetermined("the ports that its security group opens")))
        else:
            message = "nothing reaches this endpoint: machines start, pull no image and bill until somebody notices"
            found.append((endpoint.urn, Violation(message, "let port 443 in from the network")))
    return found


RULE = Rule(
    id="endpoint-unreachable",
    area="correctness",
    subject="stack",
    prevents="machines that start and reach nothing",
    judge=endpoint_unreachable,
    clouds=("aws",),
)
