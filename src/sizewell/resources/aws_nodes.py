"""How AWS resources say what machines they start: launch templates, overrides, markets. Read by prices and facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import MIXED, Mix, Weighted
from sizewell.resources.values import Count, Flag, Text, contains_unknown, count, either, flag, get, items, number, text

LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
LAUNCH_CONFIGURATION: Final = "aws:ec2/launchConfiguration:LaunchConfiguration"
GROUP: Final = "aws:autoscaling/group:Group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """What a group of EC2 machines is made of. `types` is UNKNOWN where the plan does not say yet."""

    types: tuple[str, ...] | Unknown
    market: Text
    template: RecordedResource | Unknown | None  # None: there is none, or it lives outside the plan
    mix: Mix | None = None  # of a market that is MIXED
    weighted: Weighted | None = None  # where its size is in units of which its types count different numbers

    @property
    def template_inputs(self) -> Any:
        if isinstance(self.template, Unknown):
            return UNKNOWN
        return {} if self.template is None else self.template.inputs


def template_of(graph: Graph, resource: RecordedResource, prop: str) -> RecordedResource | Unknown | None:
    templates = graph.referenced(resource, prop, LAUNCH_TEMPLATE)
    if isinstance(templates, Unknown):
        return UNKNOWN
    return templates[0] if templates else None


def instance_type(graph: Graph, instance: RecordedResource) -> Text:
    """The type of one machine: its own, else that of its template; not known where that lives outside the plan."""
    if instance.inputs.get("instanceType") is not None or instance.inputs.get("launchTemplate") is None:
        return text(instance.inputs.get("instanceType"))
    template = template_of(graph, instance, "launchTemplate")
    return text(template.inputs.get("instanceType")) if isinstance(template, RecordedResource) else UNKNOWN


def is_stopped(graph: Graph, instance: RecordedResource) -> bool:
    """Whether the program stops the machine, which then bills its disks alone."""
    states = graph.referring(instance, "aws:ec2transitgateway/instanceState:InstanceState", "instanceId")
    return isinstance(states, tuple) and any(each.inputs.get("state") == "stopped" for each in states)


def on_fargate(graph: Graph, resource: RecordedResource) -> Flag:
    """Whether a service runs on Fargate: by its launch type, or by a capacity provider, which is of a group's machines
    where this program makes it.
    """
    service = resource.inputs
    strategies = items(get(service, "capacityProviderStrategies"))
    if isinstance(strategies, Unknown):
        return UNKNOWN
    named = [get(service, "launchType"), *(get(each, "capacityProvider") for each in strategies)]
    kinds = [text(each) for each in named]
    known = [each for each in kinds if isinstance(each, str)]
    if any(each.upper().startswith("FARGATE") for each in known):
        return True
    made = graph.referenced(resource, "capacityProviderStrategies", "aws:ecs/capacityProvider:CapacityProvider")
    return UNKNOWN if UNKNOWN in kinds and not (isinstance(made, tuple) and made) else False


def template_market(inputs: object) -> Text:
    market = text(get(inputs, "instanceMarketOptions", "marketType"), "on-demand")
    return market if isinstance(market, Unknown) else market.lower()


def group_nodes(graph: Graph, group: RecordedResource) -> Nodes:
    """The machines of an Auto Scaling group: its template, or the overrides and shares of a mixed policy."""
    policy = group.inputs.get("mixedInstancesPolicy")
    if group.inputs.get("launchConfiguration") is not None:
        return _configured_nodes(graph, group)
    prop = "mixedInstancesPolicy" if policy is not None else "launchTemplate"
    template = template_of(graph, group, prop)
    inputs = UNKNOWN if isinstance(template, Unknown) else ({} if template is None else template.inputs)
    outside = template is None and group.inputs.get(prop) is not None
    own = UNKNOWN if outside else text(get(inputs, "instanceType"))
    market: Text = UNKNOWN if outside else template_market(inputs)
    types = _types(own, get(policy, "launchTemplate", "overrides"))
    if policy is not None:
        market = _distribution(policy, market)
    return Nodes(types=types, market=market, template=template, mix=_mix(policy) if market == MIXED else None)


def _configured_nodes(graph: Graph, group: RecordedResource) -> Nodes:
    """The machines of a group with a launch configuration, the older form, read as a template that says the same."""
    configurations = graph.referenced(group, "launchConfiguration", LAUNCH_CONFIGURATION)
    if isinstance(configurations, Unknown) or not configurations:
        return Nodes(types=UNKNOWN, market=UNKNOWN, template=UNKNOWN if isinstance(configurations, Unknown) else None)
    inputs = configurations[0].inputs
    extra = items(inputs.get("ebsBlockDevices"))
    devices = UNKNOWN if isinstance(extra, Unknown) else [inputs.get("rootBlockDevice"), *extra]
    mappings = (
        devices if isinstance(devices, Unknown) else [{"ebs": device} for device in devices if device is not None]
    )
    bid = inputs.get("spotPrice")
    market = {"marketType": UNKNOWN} if isinstance(bid, Unknown) else {"marketType": "spot"} if bid else None
    said = {
        "blockDeviceMappings": mappings,
        "instanceMarketOptions": market or {},
        "monitoring": {"enabled": inputs.get("enableMonitoring", True)},  # on, unlike in a template
        "placement": {"tenancy": inputs.get("placementTenancy")},
    }
    template = replace(configurations[0], inputs={**inputs, **said})
    own = text(inputs.get("instanceType"))
    types = UNKNOWN if isinstance(own, Unknown) else (own,) if own else ()
    return Nodes(types=types, market=template_market(template.inputs), template=template)


def _types(own: Text, overrides: object) -> tuple[str, ...] | Unknown:
    listed = items(overrides)
    if isinstance(listed, Unknown):
        return UNKNOWN
    names = [_named(entry) for entry in listed]
    if any(name is UNKNOWN for name in names):
        return UNKNOWN
    stated = tuple(str(name) for name in names if name)
    if stated:
        return stated
    return UNKNOWN if isinstance(own, Unknown) else ((own,) if own else ())


def _named(entry: object) -> object:
    """The type that an override or a specification names; one that states requirements leaves it to AWS, whatever type
    the template names.
    """
    return get(entry, "instanceType", default=None if get(entry, "instanceRequirements") is None else UNKNOWN)


def _distribution(policy: object, template: Text) -> Text:
    if isinstance(policy, Unknown):
        return UNKNOWN
    shares = get(policy, "instancesDistribution")
    base = number(get(shares, "onDemandBaseCapacity", default=0))
    above = number(get(shares, "onDemandPercentageAboveBaseCapacity", default=100))
    if isinstance(base, Unknown) or isinstance(above, Unknown):
        return UNKNOWN
    if base == 0 and above == 0:
        return "spot"
    if above == 100:
        return template
    return MIXED


def _mix(policy: object) -> Mix | None:
    shares = get(policy, "instancesDistribution")
    base = number(get(shares, "onDemandBaseCapacity", default=0))
    above = number(get(shares, "onDemandPercentageAboveBaseCapacity", default=100))
    if isinstance(base, Decimal) and isinstance(above, Decimal):
        return Mix(base=base, percent_above=above)
    return None


def fleet_nodes(graph: Graph, fleet: RecordedResource) -> Nodes:
    """The machines of an EC2 fleet or a spot fleet request."""
    configs = items(fleet.inputs.get("launchTemplateConfigs"))
    specifications = items(fleet.inputs.get("launchSpecifications"))
    template = template_of(graph, fleet, "launchTemplateConfigs")
    market, mix = fleet_mix(fleet)
    if isinstance(configs, Unknown) or isinstance(specifications, Unknown):
        return Nodes(types=UNKNOWN, market=market, template=template)
    names: list[object] = [_named(entry) for entry in specifications]
    for config in configs:
        overrides = items(get(config, "overrides"))
        names.extend([UNKNOWN] if isinstance(overrides, Unknown) else [_named(entry) for entry in overrides])
    names = [name for name in names if name] if UNKNOWN not in names else [UNKNOWN]
    if not names:
        inputs = UNKNOWN if isinstance(template, Unknown) else ({} if template is None else template.inputs)
        names = [get(inputs, "instanceType", default=UNKNOWN)]
    types = UNKNOWN if any(name is UNKNOWN for name in names) else tuple(dict.fromkeys(str(name) for name in names))
    return Nodes(types=types, market=market, template=template, mix=mix)


def fleet_mix(fleet: RecordedResource) -> tuple[Text, Mix | None]:
    """What a fleet buys: of its target the parts that are stated for a market, and the rest in its default one."""
    spot: Count = None
    if fleet.type.endswith("SpotFleetRequest"):
        whole, firm = count(fleet.inputs.get("targetCapacity")), count(fleet.inputs.get("onDemandTargetCapacity"))
        default: Text = "spot"
    else:
        target = fleet.inputs.get("targetCapacitySpecification")
        whole, firm, spot = (
            count(get(target, key)) for key in ("totalTargetCapacity", "onDemandTargetCapacity", "spotTargetCapacity")
        )
        stated = text(get(target, "defaultTargetCapacityType"), "on-demand")
        default = stated if isinstance(stated, Unknown) else stated.lower()
    if default == "on-demand" and not spot and spot is not UNKNOWN:
        return default, None
    if isinstance(default, Unknown) or UNKNOWN in (whole, firm, spot):
        return UNKNOWN, None
    base = firm if isinstance(firm, int) else 0
    if default == "on-demand" and isinstance(whole, int) and isinstance(spot, int):
        base = max(whole - spot, 0)
    if default not in ("spot", "on-demand") or base in (0, whole):
        return "on-demand" if base else "spot" if default == "on-demand" else default, None
    return MIXED, Mix(base=Decimal(base), percent_above=Decimal(0))


def fleet_size(graph: Graph, fleet: RecordedResource) -> tuple[Count, Count, Count]:
    """(smallest, wanted, largest): the target, unless whoever moves the size owns it (the plan ignores the target);
    then the bounds are those that the fleet's component registered.
    """
    target = get(fleet.inputs, "targetCapacitySpecification", "totalTargetCapacity")
    wanted = count(target if target is not None else fleet.inputs.get("targetCapacity"))
    moved = any(path.startswith(("targetCapacitySpecification", "targetCapacity")) for path in fleet.ignore_changes)
    registration = graph.registration(fleet) if moved else None
    least, most = count(get(registration, "nodesMin")), count(get(registration, "nodesMax"))
    if least is None or most is None:
        return wanted, wanted, wanted
    if isinstance(wanted, int) and isinstance(most, int):
        most = max(wanted, most)
    return least, wanted, most


def node_group_nodes(graph: Graph, group: RecordedResource) -> Nodes:
    """The machines of an EKS managed node group."""
    template = template_of(graph, group, "launchTemplate")
    inputs = UNKNOWN if isinstance(template, Unknown) else ({} if template is None else template.inputs)
    listed = items(group.inputs.get("instanceTypes"))
    own = text(_named(inputs))
    if template is None and group.inputs.get("launchTemplate"):
        own = UNKNOWN
    if isinstance(listed, tuple) and listed:
        types: tuple[str, ...] | Unknown = (
            UNKNOWN if any(name is UNKNOWN for name in listed) else tuple(str(name) for name in listed)
        )
    elif isinstance(listed, Unknown):
        types = UNKNOWN
    else:
        types = UNKNOWN if isinstance(own, Unknown) else ((own,) if own else ("t3.medium",))  # the service's default
    market = text(group.inputs.get("capacityType"), "ON_DEMAND")
    asked = template_market(inputs)
    if isinstance(asked, str) and asked != "on-demand":  # what the template asks for is what the machines would be
        market = asked
    return Nodes(
        types=types,
        market=market if isinstance(market, Unknown) else market.lower().replace("_", "-"),
        template=template,
    )


def public_address(machine: object) -> Flag | None:
    """Whether a launch template, or an instance's own inputs, give a public address; None where they are silent."""
    interfaces = items(get(machine, "networkInterfaces"))
    if isinstance(interfaces, Unknown):
        return UNKNOWN
    stated = [get(entry, "associatePublicIpAddress") for entry in interfaces or (machine,)]
    return either(*map(flag, stated)) if any(each is not None for each in stated) else None


def subnets_give_addresses(graph: Graph, resource: RecordedResource, prop: str) -> Flag:
    """Whether a subnet of this program, among those that an input names, gives machines public addresses by itself."""
    subnets = graph.referenced(resource, prop, "aws:ec2/subnet:Subnet")
    if isinstance(subnets, Unknown):
        return UNKNOWN
    return either(*(flag(subnet.inputs.get("mapPublicIpOnLaunch")) for subnet in subnets))


def licence(image: object, machine: object = None) -> str:
    """What of an operating system is billed beside the machine: "Windows", "Windows with SQL Server"; "" for Linux.

    As far as the kind of the image or the machine's own inputs say: what is behind an identifier is not known.
    """
    kind = text(image)
    kind = "" if isinstance(kind, Unknown) else kind.rsplit("/", 1)[-1]
    if flag(get(machine, "getPasswordData")) is True or re.search("windows", kind, re.IGNORECASE):
        return f"Windows with {kind.partition('SQL')[1]} Server" if "SQL" in kind else "Windows"
    return kind if kind.startswith(("Red Hat", "SUSE", "RHEL", "Ubuntu Pro")) or "SQL Server" in kind else ""


def looked_up(image: object) -> bool:
    """Whether nothing says what is on an image: it is looked up, so its licence is not known before."""
    return isinstance(image, Unknown)


def weights(pool: RecordedResource) -> Mapping[str, int] | Unknown:
    """How many units of the size of a group or a fleet one machine of each type counts, {} where each counts one; not
    known where the unit is a vCPU or a MiB of memory, of which the types that AWS chooses have as many as they have.

    A type that the template names stands for "".
    """
    unit = get(pool.inputs, "targetCapacitySpecification", "targetCapacityUnitType")
    for each in (pool.inputs.get("desiredCapacityType"), pool.inputs.get("targetCapacityUnitType"), unit):
        if text(each, "units") not in ("units", ""):
            return UNKNOWN
    mixed = get(pool.inputs, "mixedInstancesPolicy", "launchTemplate")
    listed = [items(get(mixed, "overrides")), items(pool.inputs.get("launchSpecifications"))]
    configs = items(pool.inputs.get("launchTemplateConfigs"))
    listed += [items(get(config, "overrides")) for config in ((UNKNOWN,) if isinstance(configs, Unknown) else configs)]
    by_type: dict[str, int] = {}
    for entries in listed:
        for entry in (UNKNOWN,) if isinstance(entries, Unknown) else entries:
            stated = count(get(entry, "weightedCapacity", default=1))
            if not isinstance(stated, int) or entry is UNKNOWN:
                return UNKNOWN
            named = _named(entry)
            by_type.setdefault(named if isinstance(named, str) else "", stated or 1)
    return {} if set(by_type.values()) <= {1} else by_type


def takes_the_cheapest(pool: RecordedResource) -> bool:
    """Whether machines on demand are of the type that costs least for each unit, not of the first that is listed.

    Source: docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html; of fleets, from memory,
    docs.aws.amazon.com/AWSEC2/latest/APIReference/API_OnDemandOptionsRequest.html.
    """
    inputs = pool.inputs
    if pool.type == GROUP:
        stated = get(inputs, "mixedInstancesPolicy", "instancesDistribution", "onDemandAllocationStrategy")
        return str(stated) == "lowest-price"
    own = "onDemandAllocationStrategy" if pool.type.endswith("SpotFleetRequest") else ""
    stated = inputs.get(own) if own else get(inputs, "onDemandOptions", "allocationStrategy")
    return str(stated or "lowestPrice").replace("-", "").lower() == "lowestprice"


def dedicated_network(graph: Graph, resource: RecordedResource, prop: str) -> bool:
    """Whether the network of a machine makes all of its machines dedicated."""
    subnets = graph.referenced(resource, prop, "aws:ec2/subnet:Subnet")
    networks = [
        network
        for subnet in (subnets if isinstance(subnets, tuple) else ())
        if isinstance(found := graph.referenced(subnet, "vpcId", "aws:ec2/vpc:Vpc"), tuple)
        for network in found
    ]
    return any(network.inputs.get("instanceTenancy") == "dedicated" for network in networks)


def zones(graph: Graph, resource: RecordedResource, machine: object, prop: str) -> tuple[str, ...] | Unknown:
    """The availability zones that machines stand in, as stated or by the subnets that the input `prop` names."""
    for key in (("availabilityZones",), ("availabilityZone",), ("placement", "availabilityZone")):
        stated = items(get(machine, *key))
        if isinstance(stated, Unknown) or contains_unknown(stated):
            return UNKNOWN
        if stated:
            return tuple(map(str, stated))
    named = items(resource.inputs.get(prop))
    subnets = graph.referenced(resource, prop, "aws:ec2/subnet:Subnet")
    if isinstance(subnets, Unknown) or not subnets or (isinstance(named, tuple) and len(named) != len(subnets)):
        return UNKNOWN
    placed = [text(subnet.inputs.get("availabilityZone")) for subnet in subnets]
    return UNKNOWN if UNKNOWN in placed or "" in placed else tuple(dict.fromkeys(map(str, placed)))


def block_devices(template_inputs: Any) -> tuple[Mapping[str, object], ...] | Unknown:
    """The `ebs` part of each block device mapping of a launch template."""
    mappings = items(get(template_inputs, "blockDeviceMappings"))
    if isinstance(mappings, Unknown):
        return UNKNOWN
    devices = [get(entry, "ebs") for entry in mappings]
    if any(device is UNKNOWN for device in devices):
        return UNKNOWN
    return tuple(device for device in devices if device)
