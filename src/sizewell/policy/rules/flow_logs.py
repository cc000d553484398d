from __future__ import annotations

from typing import Any

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Verdict, Violation, require
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import Flag, either, get, items


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
            else either(*(_accepted(log.inputs.get("trafficType")) for log in logs)),
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


def _accepted(traffic: Any) -> Flag:
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


RULE = Rule(
    id="flow-logs",
    area="safety",
    subject="stack",
    prevents="leaks that cannot be traced",
    judge=flow_logs,
    level="advisory",
    clouds=("aws", "gcp"),
)
