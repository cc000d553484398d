"""Openings: one fact for each direction of each firewall rule, whatever the cloud calls it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Final

from sizewell import csvtables
from sizewell.resources.graph import Graph
from sizewell.resources.readers.common import base
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Opening
from sizewell.resources.values import Flag, Text, cloud_of, either, every, flag, get, items, text

WORLD: Final = ("0.0.0.0/0", "::/0", "0::0/0", "*", "Internet", "internet", "Any", "any")
_INLINE: Final = {
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
}


def aws(graph: Graph, resource: RecordedResource, kind: str) -> list[Opening]:
    """What a security group or a rule of one opens."""
    if kind in _INLINE:
        return [each for prop in ("ingress", "egress") for each in _inline(graph, resource, prop)]
    if kind == "aws:ec2/securityGroupRule:SecurityGroupRule":
        return [_aws(graph, resource, resource.inputs, text(resource.inputs.get("type"), "ingress"))]
    if kind == "aws:eks/nodeGroup:NodeGroup":
        return _remote_access(graph, resource)
    return [_separate(graph, resource, _SEPARATE[kind])] if kind in _SEPARATE else []


def _remote_access(graph: Graph, resource: RecordedResource) -> list[Opening]:
    """SSH to the machines of an EKS node group: from the whole internet where no security groups are named as source.

    Source: Amazon EKS API reference, RemoteAccessConfig.
    """
    access = resource.inputs.get("remoteAccess")
    if get(access, "ec2SshKey") is None:
        return []
    groups = items(get(access, "sourceSecurityGroupIds"))
    world: Flag = UNKNOWN if isinstance(groups, Unknown) or access is UNKNOWN else not groups
    return [Opening(**base(graph, resource), direction="ingress", world=world, ports="22", protocol="tcp")]


def gcp(graph: Graph, resource: RecordedResource, kind: str) -> list[Opening]:
    """What a firewall rule, or a rule of a firewall policy, opens."""
    if kind in _POLICY_RULES:
        return _policy_rule(graph, resource)
    return [_gcp(graph, resource)] if kind == "gcp:compute/firewall:Firewall" else []


def azure(graph: Graph, resource: RecordedResource, kind: str) -> list[Opening]:
    """What a network security group, or a rule of one, opens."""
    if kind == "azure-native:network:SecurityRule":
        return _azure(graph, resource, resource.inputs)
    if kind == "azure-native:machinelearningservices:Compute":
        return _public_login(graph, resource)
    if kind != "azure-native:network:NetworkSecurityGroup":
        return []
    rules = items(resource.inputs.get("securityRules"))
    if isinstance(rules, Unknown):
        return [Opening(**base(graph, resource), world=UNKNOWN)]
    return [opening for rule in rules for opening in _azure(graph, resource, rule)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Firewall:
    """A row of firewalls.csv: where the rules of another cloud's firewall say who comes in."""

    type: str
    rules: str = ""  # the input that lists them; empty where the resource is one
    inward: tuple[tuple[str, str], ...] = ()  # what a rule says that lets in; empty where all of them do
    passing: tuple[tuple[str, str], ...] = ()  # what it says where it allows and does not drop
    sources: tuple[str, ...]
    ports: tuple[str, ...]  # one input with a port or a range, or the lowest and the highest
    source: str


FIREWALLS: Final = {
    row.type: row for row in csvtables.read(Firewall, Path(__file__).parent.parent / "data/firewalls.csv")
}
_LIKE_FIREWALLS: Final = re.compile(r"firewall|security_?group|security_?list|sec_?group|network_?acl", re.IGNORECASE)


def elsewhere(graph: Graph, resource: RecordedResource) -> list[Opening]:
    """What a firewall of another cloud than the three lets in."""
    if (row := FIREWALLS.get(resource.type)) is None:
        return []
    rules = items(resource.inputs.get(row.rules)) if row.rules else (resource.inputs,)
    if isinstance(rules, Unknown):
        return [Opening(**base(graph, resource), world=UNKNOWN, ports=UNKNOWN)]
    openings = []
    for rule in rules:
        stated = [(get(rule, key), value) for key, value in (*row.inward, *row.passing)]
        if any(said not in {None, UNKNOWN} and str(said).lower() != value.lower() for said, value in stated):
            continue
        opening = Opening(
            **base(graph, resource),
            world=is_world(*(get(rule, source) for source in row.sources)),
            ports=_span([get(rule, *path.split(">")) for path in row.ports], get(rule, "protocol")),
            protocol=text(get(rule, "protocol")),
            group=resource.urn,
        )
        openings.append(opening)
    return openings


def _span(stated: list[object], protocol: object) -> Text:
    """Ports that stand in one input ("22", "1-65535", "22/22") or in two.

    >>> _span(["22/22"], "tcp"), _span(["8000-9000"], "tcp"), _span([22, 22], "tcp"), _span([None], "")
    ('22', '8000-9000', '22', 'all')
    """
    if UNKNOWN in stated:
        return UNKNOWN
    if stated[0] in {None, "all", "0", "any"}:
        return "all"
    low, _, high = str(stated[0]).replace("/", "-").partition("-")
    low, high = (low, high or low) if len(stated) == 1 else (_whole(stated[0]), _whole(stated[1]))
    return _ports("0" if (low, high) == ("1", "65535") else low, high, protocol)


def unread(resource: RecordedResource) -> bool:
    """Whether a resource of another cloud is called a firewall, and nobody here knows how its rules are written."""
    kind = resource.type.rpartition(":")[2]
    foreign = resource.custom and not cloud_of(resource.type) and resource.type not in FIREWALLS
    return foreign and _LIKE_FIREWALLS.search(kind) is not None and "database" not in resource.type.lower()


def _public_login(graph: Graph, compute: RecordedResource) -> list[Opening]:
    """Azure Machine Learning opens a port of SSH on machines' public addresses where that is asked for."""
    inner = get(compute.inputs, "properties", "properties")
    asked = [get(inner, "sshSettings", "sshPublicAccess"), get(inner, "remoteLoginPortPublicAccess")]
    world = either(*(UNKNOWN if each is UNKNOWN else each == "Enabled" for each in asked))
    return [] if world is False else [Opening(**base(graph, compute), direction="ingress", world=world, ports="of SSH")]


_SEPARATE: Final = {
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "ingress",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "egress",
}


_POLICY_RULES: Final = tuple(
    f"gcp:compute/{name[0].lower()}{name[1:]}:{name}"
    for name in ("NetworkFirewallPolicyRule", "RegionNetworkFirewallPolicyRule", "FirewallPolicyRule")
)


def _policy_rule(graph: Graph, resource: RecordedResource) -> list[Opening]:
    """A rule of a firewall policy that lets in or out."""
    inputs = resource.inputs
    if inputs.get("action") not in ("allow", UNKNOWN) or flag(inputs.get("disabled")) is True:
        return []
    direction = "egress" if inputs.get("direction") == "EGRESS" else "ingress"
    peers = get(inputs, "match", "srcIpRanges" if direction == "ingress" else "destIpRanges")
    layers = items(get(inputs, "match", "layer4Configs"))
    listed = [None] if isinstance(layers, Unknown) else list(layers)
    ports = [UNKNOWN if isinstance(layers, Unknown) else _spans(get(layer, "ports")) for layer in listed]
    return [
        Opening(
            **base(graph, resource),
            direction=direction,
            world=every(is_world(peers), UNKNOWN if inputs.get("action") is UNKNOWN else True),
            ports=each,
            protocol=text(get(layer, "ipProtocol")),
            described=inputs.get("description") is not None,
        )
        for layer, each in zip(listed, ports, strict=True)
    ]


def _spans(ports: object) -> Text:
    listed = items(ports)
    if isinstance(listed, Unknown) or UNKNOWN in listed:
        return UNKNOWN
    return ",".join(str(port) for port in listed) or "all"


def _prefixes(graph: Graph, resource: RecordedResource, prop: str, rule: object) -> list[object]:
    """The ranges of prefix lists of this plan that a rule names."""
    if get(rule, "prefixListIds") is None and get(rule, "prefixListId") is None:
        return []
    lists = graph.referenced(resource, prop, "aws:ec2/managedPrefixList:ManagedPrefixList")
    entries = [items(each.inputs.get("entries")) for each in lists] if isinstance(lists, tuple) else []
    return [get(entry, "cidr") for listed in entries if isinstance(listed, tuple) for entry in listed]


def _inline(graph: Graph, group: RecordedResource, prop: str) -> list[Opening]:
    rules = items(group.inputs.get(prop))
    if isinstance(rules, Unknown):
        return [Opening(**base(graph, group), direction=prop, world=UNKNOWN, ports=UNKNOWN, group=group.urn)]
    return [_aws(graph, group, rule, prop, group=group.urn) for rule in rules]


def is_world(*values: object) -> Flag:
    """Whether one of several ranges, or all of them together, is the internet."""
    flags: list[Flag] = []
    for value in values:
        listed = items(value)
        if isinstance(listed, Unknown):
            flags.append(UNKNOWN)
        else:
            flags.extend(UNKNOWN if entry is UNKNOWN else entry in WORLD for entry in listed)
            flags.append(covers_world([entry for entry in listed if isinstance(entry, str)]))
    return either(*flags) if flags else False


def covers_world(ranges: list[str]) -> bool:
    """Whether ranges are most of the internet, in one piece or in many: a sixteenth of it is nobody's own.

    >>> covers_world(["0.0.0.0/1", "128.0.0.0/1"]), covers_world(["10.0.0.0/8", "192.168.0.0/16"])
    (True, False)
    """
    sizes = {4: 0, 6: 0}
    for entry in ranges:
        try:
            network = ip_network(entry, strict=False)
        except ValueError:
            continue
        if not network.is_private:
            sizes[network.version] += network.num_addresses
    return sizes[4] >= 2**28 or sizes[6] >= 2**124


def _ports(low: object, high: object, protocol: object) -> Text:
    if UNKNOWN in (low, high, protocol):
        return UNKNOWN
    if str(protocol) in {"-1", "all", "*"} or low is None or (str(low), str(high)) in {("0", "65535"), ("-1", "-1")}:
        return "all"
    start, end = _whole(low), _whole(high if high is not None else low)
    return start if start == end else f"{start}-{end}"


def _whole(value: object) -> str:
    return str(int(value)) if isinstance(value, float) else str(value)


def _aws(graph: Graph, resource: RecordedResource, rule: object, direction: Text, *, group: str = "") -> Opening:
    """An opening of a rule inside a group (`direction` is then the input that holds it) or of one that stands alone."""
    if isinstance(rule, Unknown):
        way = direction if isinstance(direction, str) else "ingress"
        return Opening(**base(graph, resource), direction=way, world=UNKNOWN, ports=UNKNOWN, group=group)
    alone = flag(get(rule, "self"))
    prop = str(direction) if group else "prefixListIds"
    if not group:
        parents = graph.referenced(resource, "securityGroupId", *_INLINE)
        group = parents[0].urn if isinstance(parents, tuple) and parents else str(get(rule, "securityGroupId"))
    return Opening(
        **base(graph, resource),
        direction=direction if isinstance(direction, str) else "ingress",
        world=is_world(get(rule, "cidrBlocks"), get(rule, "ipv6CidrBlocks"), _prefixes(graph, resource, prop, rule)),
        self_reference=alone,
        ports=_ports(get(rule, "fromPort"), get(rule, "toPort"), get(rule, "protocol")),
        protocol=text(get(rule, "protocol")),
        group=group,
        described=bool(get(rule, "description")) if get(rule, "description") is not UNKNOWN else True,
    )


def _separate(graph: Graph, resource: RecordedResource, direction: str) -> Opening:
    rule = resource.inputs
    groups = graph.referenced(resource, "securityGroupId", *_INLINE)
    peers = graph.referenced(resource, "referencedSecurityGroupId", *_INLINE)
    group = groups[0].urn if isinstance(groups, tuple) and groups else str(rule.get("securityGroupId"))
    own: Flag = False
    if rule.get("referencedSecurityGroupId") is not None:
        same = isinstance(peers, tuple) and any(peer.urn == group for peer in peers)
        own = same or (
            rule.get("referencedSecurityGroupId") == rule.get("securityGroupId") and not isinstance(peers, Unknown)
        )
    return Opening(
        **base(graph, resource),
        direction=direction,
        world=is_world(rule.get("cidrIpv4"), rule.get("cidrIpv6"), _prefixes(graph, resource, "prefixListId", rule)),
        self_reference=own,
        ports=_ports(rule.get("fromPort"), rule.get("toPort"), rule.get("ipProtocol")),
        protocol=text(rule.get("ipProtocol")),
        group=group,
        described=bool(rule.get("description")) if rule.get("description") is not UNKNOWN else True,
    )


def _gcp(graph: Graph, resource: RecordedResource) -> Opening:
    inputs = resource.inputs
    direction = "egress" if inputs.get("direction") == "EGRESS" else "ingress"
    allows = items(inputs.get("allows"))
    disabled = flag(inputs.get("disabled"))
    peers = inputs.get("sourceRanges") if direction == "ingress" else inputs.get("destinationRanges")
    narrowed = any(inputs.get(key) is not None for key in ("sourceTags", "sourceServiceAccounts"))
    if peers is None and not narrowed:
        peers = "0.0.0.0/0"  # the service's default
    world = is_world(peers)
    if disabled is True or allows == ():
        world = False
    ports: list[str] = []
    hidden = isinstance(allows, Unknown)
    for allow in allows if isinstance(allows, tuple) else ():
        stated = items(get(allow, "ports"))
        hidden |= isinstance(stated, Unknown) or UNKNOWN in stated
        ports.extend(["all"] if isinstance(stated, Unknown) or not stated else map(str, stated))
    return Opening(
        **base(graph, resource),
        direction=direction,
        world=world,
        ports=UNKNOWN if hidden else ",".join(ports),
        protocol=text(get(allows, 0, "protocol")) if isinstance(allows, tuple) else UNKNOWN,
        group=resource.urn,
    )


def _azure(graph: Graph, resource: RecordedResource, rule: object) -> list[Opening]:
    if get(rule, "access") == "Deny":
        return []
    direction = "egress" if get(rule, "direction") == "Outbound" else "ingress"
    side = "source" if direction == "ingress" else "destination"
    ports = get(rule, "destinationPortRange", default=get(rule, "destinationPortRanges"))
    listed = items(ports)
    return [
        Opening(
            **base(graph, resource),
            direction=direction,
            world=is_world(get(rule, f"{side}AddressPrefix"), get(rule, f"{side}AddressPrefixes")),
            ports=UNKNOWN
            if isinstance(listed, Unknown) or UNKNOWN in listed
            else ",".join("all" if p == "*" else str(p) for p in listed),
            protocol=text(get(rule, "protocol")),
            group=resource.urn,
        )
    ]
