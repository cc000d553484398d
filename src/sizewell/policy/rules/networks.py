"""Networks: what comes in and goes out, which addresses are public, what is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sizewell.policy.rule import (
    Parameter,
    Parameters,
    StackVerdicts,
    Undetermined,
    Verdict,
    Violation,
    forbid,
    require,
    rule,
)
from sizewell.resources import standing
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Opening, Pool, StackFacts, Thing
from sizewell.resources.values import Flag, either, every, flag, get, items, text
from sizewell.sizing.providers import CLOUDS

WEB_PORTS: Final = frozenset({"80", "443", "80,443", "443,80"})


_SOURCES: Final[Mapping[str, str]] = {
    "aws": "ranges or security groups",
    "gcp": "ranges or source tags",
    "azure": "ranges or application security groups",
}
_SESSIONS: Final[Mapping[str, str]] = {"aws": "Session Manager", "gcp": "a tunnel through IAP", "azure": "Bastion"}


@rule(
    "ingress-from-world",
    area="safety",
    subject="openings",
    around_accelerators=True,
    prevents="unauthorized access to machines",
    clouds=(*CLOUDS, ""),  # also those of other providers
)
def ingress_from_world(opening: Opening, _: Parameters) -> Verdict:
    """No port is open to the whole internet, directly or through another rule.

    The ports of web applications are judged by `web-port-from-world`, which knows what stands behind them.

    >>> from sizewell.policy.examples import opening
    >>> ingress_from_world(opening(world=True, ports="8888"), {}).message
    'port 8888 is open to the internet: anyone can connect to what listens there'
    >>> ingress_from_world(opening(world=False), {}) is None
    True
    """
    if opening.direction != "ingress" or opening.ports in WEB_PORTS:
        return None
    ports = "every port" if opening.ports == "all" else f"port {opening.ports}"
    return forbid(
        opening.world,
        message=f"{ports} is open to the internet: anyone can connect to what listens there",
        fix=f"name the {_SOURCES.get(opening.cloud, 'ranges')} that need it, or use "
        f"{_SESSIONS.get(opening.cloud, 'a session service')} instead",
        unknown="the source of the rule",
    )


@rule(
    "web-port-from-world",
    area="safety",
    subject="stack",
    around_accelerators=True,
    prevents="requests by outsiders on your accelerators",
)
def web_port_from_world(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """In a stack with accelerators, web ports are not open to everyone either: each request costs machine time.

    A web application without accelerators is meant to be reached.

    >>> from sizewell.policy.examples import opening, pool, stack
    >>> door = opening(world=True, ports="443")
    >>> web_port_from_world(stack(openings=(door,), pools=(pool(accelerator="l4"),)), {})[0][1].fix
    'name the ranges or security groups that need it, or put a gateway with authentication in front of it'
    >>> web_port_from_world(stack(openings=(door,)), {})
    []
    """
    doors = [door for door in facts.openings if door.direction == "ingress" and door.ports in {*WEB_PORTS, UNKNOWN, ""}]
    beside = standing.accelerated(facts)
    return [] if beside is False else [(door.urn, _judge_opening(door, beside)) for door in doors]


def _judge_opening(door: Opening, accelerated: Flag) -> Verdict:
    if door.world is False:
        return None
    if door.ports not in WEB_PORTS or door.world is UNKNOWN or accelerated is UNKNOWN:
        return Undetermined("its ports, its source or its targets")
    return Violation(
        f"port {door.ports} is open to the internet: anyone can use your accelerators at your cost",
        f"name the {_SOURCES.get(door.cloud, 'ranges')} that need it, or put a gateway with authentication in front of "
        "it",
    )


@rule(
    "egress-to-world",
    area="safety",
    subject="openings",
    prevents="weights exfiltrated unnoticed",
    level="advisory",
    parameters={
        "ports": Parameter(
            default=["443", "80", "53", "123"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="ports on which machines may reach the whole internet",
        )
    },
)
def egress_to_world(opening: Opening, parameters: Parameters) -> Verdict:
    """Machines cannot reach the whole internet on every port, which would let weights be copied out.

    >>> from sizewell.policy.examples import opening
    >>> egress_to_world(opening(direction="egress", world=True, ports="all"), {"ports": ["443"]}).fix
    'allow 443 alone, or endpoints and prefix lists'
    """
    if opening.direction != "egress" or opening.ports in parameters["ports"]:
        return None
    ports = "any port" if opening.ports == "all" else f"port {opening.ports}"
    return forbid(
        every(opening.world, opening.ports if opening.ports is UNKNOWN else True),
        message=f"egress on {ports} is open to any destination: weights and data could be exfiltrated unnoticed",
        fix=f"allow {', '.join(parameters['ports'])} alone, or endpoints and prefix lists",
        unknown="the target of the rule",
    )


@rule(
    "public-address",
    area="safety",
    subject="pools",
    prevents="machines reachable from the internet",
    debatable=True,
)
def public_address(pool: Pool, _: Parameters) -> Verdict:
    """Accelerator machines have no public address: it is billed, and reachable from the internet.

    >>> from sizewell.policy.examples import pool
    >>> public_address(pool(accelerator="l4", public_address=True), {}).fix
    'give the machines no public address; use a NAT gateway or endpoints'
    """
    if pool.accelerated is False and pool.environment != "prod":
        return None
    return forbid(
        pool.public_address,
        message="every machine has a public address, which is exposed and billed by the hour",
        fix="give the machines no public address; use a NAT gateway or endpoints",
        unknown="whether the machines get public addresses",
    )


@rule(
    "public-address-asked-for",
    area="safety",
    subject="pools",
    prevents="machines that a program opens to the internet",
    level="advisory",
    levels={"prod": "mandatory"},
)
def public_address_asked_for(pool: Pool, _: Parameters) -> Verdict:
    """In production neither accelerator machines nor a cluster's nodes ask for public addresses.

    A cluster's default that nobody set is left to `public-address`.

    >>> from sizewell.policy.examples import pool
    >>> public_address_asked_for(pool(accelerator="l4", public_address=True), {}).fix
    'give the machines no public address; use a NAT gateway or endpoints'
    """
    by_default = pool.type in _PRIVATE_BY_CHOICE and get(pool.inputs, *_PRIVATE_BY_CHOICE[pool.type]) is None
    if by_default or (pool.accelerated is False and pool.type not in _NODES):
        return None  # a web server without accelerators may be meant to be reached
    return forbid(
        pool.public_address,
        message="the program gives every machine a public address, where it is reachable from the internet",
        fix="give the machines no public address; use a NAT gateway or endpoints",
        unknown="whether the machines get public addresses",
    )


_NODES: Final = (
    *("aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"),
    *("azure-native:containerservice:AgentPool", "azure-native:containerservice:ManagedCluster"),
)
_PRIVATE_BY_CHOICE: Final = {
    "gcp:container/nodePool:NodePool": ("networkConfig", "enablePrivateNodes"),
    "gcp:container/cluster:Cluster": ("privateClusterConfig", "enablePrivateNodes"),
}


@rule(
    "subnet-public-addresses",
    area="safety",
    subject="things",
    prevents="machines reachable from the internet",
    clouds=("aws",),
    types=("aws:ec2/subnet:Subnet",),
)
def subnet_public_addresses(thing: Thing, _: Parameters) -> Verdict:
    """A subnet does not assign public addresses automatically.

    >>> from sizewell.policy.examples import thing
    >>> subnet_public_addresses(thing(inputs={"mapPublicIpOnLaunch": True}), {}).fix
    'set mapPublicIpOnLaunch to false'
    """
    return forbid(
        flag(thing.inputs.get("mapPublicIpOnLaunch")),
        message="every machine in the subnet gets a public address, which is exposed and billed by the hour",
        fix="set mapPublicIpOnLaunch to false",
        unknown="the subnet's addresses",
    )


@rule(
    "endpoint-unreachable",
    area="correctness",
    subject="stack",
    prevents="machines that start but cannot reach anything",
    clouds=("aws",),
)
def endpoint_unreachable(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Machines reach the endpoints of AWS services: their security group lets HTTPS in.

    >>> from sizewell.policy.examples import resource, stack
    >>> group = resource("aws:ec2/securityGroup:SecurityGroup", "endpoints", {"name": "endpoints"})
    >>> inputs = {"vpcEndpointType": "Interface", "securityGroupIds": ["endpoints"]}
    >>> endpoint_unreachable(stack(group, resource("aws:ec2/vpcEndpoint:VpcEndpoint", "ecr", inputs)), {})[0][1].fix
    'allow port 443 from the network'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for endpoint in facts.graph.of("aws:ec2/vpcEndpoint:VpcEndpoint"):
        kind = text(endpoint.inputs.get("vpcEndpointType"), "Gateway")
        groups = facts.graph.referenced(endpoint, "securityGroupIds", "aws:ec2/securityGroup:SecurityGroup")
        if isinstance(kind, Unknown) or isinstance(groups, Unknown):
            verdicts.append((endpoint.urn, Undetermined("the endpoint's kind and security groups")))
            continue
        if kind != "Interface" or not groups:
            continue
        urns = {group.urn for group in groups}
        inward = [opening for opening in facts.openings if opening.direction == "ingress" and opening.group in urns]
        if any(opening.ports in ("all", "443") for opening in inward):
            verdicts.append((endpoint.urn, None))
        elif any(opening.ports is UNKNOWN for opening in inward) or any(
            opening.group == str(UNKNOWN) for opening in facts.openings
        ):
            verdicts.append((endpoint.urn, Undetermined("the ports that its security group opens")))
        else:
            message = "nothing can reach this endpoint: machines start, cannot pull images, and bill"
            verdicts.append((endpoint.urn, Violation(message, "allow port 443 from the network")))
    return verdicts


@rule(
    "flow-logs",
    area="safety",
    subject="stack",
    prevents="leaks that cannot be traced",
    level="advisory",
    clouds=("aws", "gcp"),
)
def flow_logs(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """In production the network has flow logs.

    >>> from sizewell.policy.examples import resource, stack
    >>> vpc = resource("aws:ec2/vpc:Vpc", "main")
    >>> flow_logs(stack(vpc, environment="prod"), {})[0][1].fix
    'add a flow log to the network'
    """
    if facts.environment != "prod":
        return []
    verdicts: list[tuple[str, Verdict]] = []
    for vpc in facts.graph.of("aws:ec2/vpc:Vpc"):
        logs = facts.graph.referring(vpc, "aws:ec2/flowLog:FlowLog", "vpcId")
        verdict = require(
            UNKNOWN
            if isinstance(logs, Unknown)
            else either(*(_logs_accepted_traffic(log.inputs.get("trafficType")) for log in logs)),
            message="flow logs are off for the network: after a leak it is unknown where data went",
            fix="add a flow log to the network",
            unknown="what the flow log records",
        )
        verdicts.append((vpc.urn, verdict))
    for subnet in facts.graph.of("gcp:compute/subnetwork:Subnetwork"):
        if _between_accelerators(subnet, facts.graph):
            continue
        logged = subnet.inputs.get("logConfig") is not None
        message = "flow logs are off for the subnetwork: after a leak it is unknown where data went"
        verdicts.append((subnet.urn, None if logged else Violation(message, "set logConfig on the subnetwork")))
    return verdicts


def _logs_accepted_traffic(traffic: Any) -> Flag:
    """Whether a log has the traffic that was let through: what was refused leaks nothing."""
    return UNKNOWN if traffic is UNKNOWN else traffic in ("ALL", "ACCEPT")


def _between_accelerators(subnet: RecordedResource, graph: Graph) -> bool:
    """Whether it carries collectives alone: of an RDMA profile, or a further interface of a pool's machines."""
    networks = graph.referenced(subnet, "network", "gcp:compute/network:Network")
    if isinstance(networks, tuple) and any(network.inputs.get("networkProfile") for network in networks):
        return True
    for pool in graph.of("gcp:container/nodePool:NodePool"):
        further = items(get(pool.inputs, "networkConfig", "additionalNodeNetworkConfigs"))
        if not isinstance(further, tuple) or not further:
            continue
        names = [get(network, "subnetwork") for network in further]
        if subnet.inputs.get("name", subnet.name) in names or (
            UNKNOWN in names and subnet.urn in pool.property_dependencies.get("networkConfig", ())
        ):
            return True
    return False


@rule(
    "network-policy-open",
    area="safety",
    subject="things",
    prevents="a network policy that admits everybody",
    debatable=True,
    firm_in=("prod",),
    clouds=("kubernetes",),
    types=("kubernetes:networking.k8s.io/v1:NetworkPolicy",),
)
def network_policy_open(thing: Thing, _: Parameters) -> Verdict:
    """A network policy names who may connect: one that admits all is none.

    >>> from sizewell.policy.examples import thing
    >>> open_to_all = {"spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]}}
    >>> network_policy_open(thing(type="kubernetes:networking.k8s.io/v1:NetworkPolicy", inputs=open_to_all), {}).fix
    'name pods, namespaces or addresses under from'
    """
    admitted = items(get(thing.inputs, "spec", "ingress"))
    if isinstance(admitted, Unknown):
        return Undetermined("whom it admits")
    for each in admitted:
        sources = items(get(each, "from"))
        if isinstance(sources, Unknown) or UNKNOWN in sources:
            return Undetermined("whom it admits")
        whom = either(*(_everybody(source) for source in sources)) if sources else True
        if whom is UNKNOWN:
            return Undetermined("whom it admits")
        if whom:
            message = "the network policy admits everybody: any pod, or the internet, reaches what it should close"
            return Violation(message, "name pods, namespaces or addresses under from")
    return None


def _everybody(source: Any) -> Flag:
    """All pods of all namespaces, or all addresses."""
    cidr, spaces, pods = (
        get(source, *path) for path in (("ipBlock", "cidr"), ("namespaceSelector",), ("podSelector",))
    )
    if UNKNOWN in (cidr, spaces, pods):
        return UNKNOWN
    return cidr in {"0.0.0.0/0", "::/0"} or (spaces == {} and not pods)
