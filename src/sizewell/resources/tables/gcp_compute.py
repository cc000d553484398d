"""Prices of Google Cloud machines: node pools, clusters, instances, groups, TPU VMs, reservations."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from sizewell.resources import gcp_nodes, pools, sustained
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.gcp_nodes import CLUSTER, Machine
from sizewell.resources.readers import pod_machines
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.schedules import schedule_of
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.tables import disks, gaps, reserved
from sizewell.resources.values import Flag, Text, cloud_of, count, either, flag, get, items, negated, number, text
from sizewell.sizing.billing import charges
from sizewell.sizing.money import Interval, LineItem


def disk_key(kind: Text) -> Text:
    """The catalog's key for a disk type: "pd-balanced" is "pd.balanced", "hyperdisk-ml" is "hyperdisk.ml"."""
    return kind if isinstance(kind, Unknown) else str(gcp_nodes.last_part(kind)).replace("-", ".", 1)


def _machines(
    resource: RecordedResource,
    context: Context,
    machine: Machine,
    size: Size,
    *,
    public: Flag | None = None,
    cluster: RecordedResource | None = None,
) -> list[LineItem]:
    lines: list[LineItem] = []
    hours = pools.pool_hours(resource, context, size, machine.kind if isinstance(machine.kind, str) else "")
    if machine.runs:
        if machine.on_nodes:
            pools.on_host(resource, context, "gcp:compute/nodeGroup:NodeGroup")
            lines += _local_disks(resource, context, machine, hours)
        else:
            lines += machine_hours(resource, context, machine, size, cluster)
        lines += pools.licences(resource, context, instance_type=machine.kind, system=machine.system, hours=hours)
        if isinstance(machine.image, Unknown):
            pools.licence_not_known(resource, context)
        if (has := machine.public if public is None else public) is not None:
            fee = "ipv4.spot_hour" if machine.market == "spot" else "ipv4.hour"
            lines += pools.addresses(resource, context, public=has, hours=hours, key=fee, each=machine.addresses)
    if machine.keeps_disks and schedule_of(context.graph, resource) is not None and isinstance(size.most, int):
        hours = size.hours()  # a schedule stops the machine, and its disks stay
    if machine.stops:
        hours = fixed(size.most).hours()  # and so does a limit of its run
    key = disk_key(machine.disk_type)
    if machine.own_disk:
        return [*lines, *_more_disks(resource, context, machine, hours)]
    if isinstance(key, Unknown):
        lines.append(context.unpriced(resource, "boot disks", "the disk type is known only after deployment"))
    elif machine.disk_gigabytes is None:
        context.outside.append(f"{context.graph.component(resource)}: boot disk of the image, size not stated")
    else:
        gigabytes = number(machine.disk_gigabytes)
        lines.append(pools.disk(resource, context, gigabytes=gigabytes, key=key, hours=hours))
        lines += provisioned(resource, context, machine.disk, key, hours, what="boot disks")
    return [*lines, *_more_disks(resource, context, machine, hours)]


def machine_hours(
    resource: RecordedResource, context: Context, machine: Machine, size: Size, cluster: RecordedResource | None = None
) -> list[LineItem]:
    """The machines with their accelerators and local SSDs, as far as no reservation of this program covers them."""
    line = rest = pools.machines(resource, context, instance_type=machine.kind, market=machine.market, size=size)
    if machine.market == "on-demand":
        zones = gcp_nodes.zones_of(context.graph, resource, cluster)
        rest = reserved.beyond(line, context, reserved.gcp(resource, context, machine=machine, zones=zones))
    hours = pools.pool_hours(resource, context, size, machine.kind if isinstance(machine.kind, str) else "")
    beside = _local_disks(resource, context, machine, hours)
    beside += attached(resource, context, machine, size)
    return _sustained(resource, context, machine, [rest, *reserved.likewise(beside, line, rest)])


def _sustained(resource: RecordedResource, context: Context, machine: Machine, lines: list[LineItem]) -> list[LineItem]:
    """The lines with the discount for sustained use, where they are of machines on demand."""
    kind = machine.kind
    if machine.market != "on-demand" or not isinstance(kind, str) or context.graph.registration(resource) is not None:
        return lines
    return list(sustained.less(lines, context.catalog.sustained_use(cloud_of(resource.type), kind)))


def _more_disks(
    resource: RecordedResource, context: Context, machine: Machine, hours: tuple[Interval, str] | None
) -> list[LineItem]:
    """Disks that a template makes with each machine, beside the one that it boots from."""
    if isinstance(machine.more_disks, Unknown):
        return [context.unpriced(resource, "data disks", "the disks are known only after deployment")]
    lines: list[LineItem] = []
    for disk in machine.more_disks:
        key = disk_key(text(get(disk, "diskType"), "pd-standard"))
        if isinstance(key, Unknown):
            lines.append(context.unpriced(resource, "data disks", "the disk type is known only after deployment"))
            continue
        gigabytes = number(get(disk, "diskSizeGb"))
        lines.append(pools.disk(resource, context, gigabytes=gigabytes, key=key, hours=hours, what="data disks"))
        lines += provisioned(resource, context, disk, key, hours, what="data disks")
    return lines


def provisioned(
    resource: RecordedResource,
    context: Context,
    disk: object,
    key: str,
    hours: tuple[Interval, str] | None = disks.ALWAYS,
    *,
    what: str = "disk",
) -> list[LineItem]:
    """What is provisioned for a disk beside its gigabytes."""
    iops, throughput = get(disk, "provisionedIops"), get(disk, "provisionedThroughput")
    if not any(row.disk == key for row in disks.ROWS) and any(each not in (None, 0) for each in (iops, throughput)):
        # A kind that is newer than the table: what is provisioned of it is never nothing.
        return [context.unpriced(resource, f"{what} performance", f"what {key} bills for IOPS and MB/s is not known")]
    return disks.performance(resource, context, disk=key, iops=iops, throughput=throughput, hours=hours, what=what)


def _local_disks(
    resource: RecordedResource, context: Context, machine: Machine, hours: tuple[Interval, str] | None
) -> list[LineItem]:
    """Local SSDs that are added to a machine; those that come with its type are in its price."""
    shape = context.catalog.shapes_by_type.get(("gcp", str(machine.kind)))
    if machine.local_disks in (0, None) or (shape is not None and shape.local_nvme_bytes):
        return []
    added, each = number(machine.local_disks), number(machine.local_gigabytes)
    if not isinstance(added, Decimal) or not isinstance(each, Decimal):
        return [context.unpriced(resource, "local SSDs", "known only after deployment")]
    key = "local_ssd.spot" if machine.market == "spot" else "local_ssd"
    return [pools.disk(resource, context, gigabytes=added * each, key=key, hours=hours, what="local SSDs")]


def attached(
    resource: RecordedResource, context: Context, machine: Machine, size: Size, *, premium: str = ""
) -> list[LineItem]:
    """Accelerators attached to a general machine bill by their own hours, beside the machine's.

    Machine types with accelerators of their own have them in their price, stated once more or not. `premium` names a
    managed service whose surcharge is part of the hour.
    """
    if isinstance(machine.attached, Unknown):
        return [context.unpriced(resource, "accelerators", "attached accelerators are not known yet")]
    if not isinstance(machine.kind, str) or context.catalog.says("gcp", machine.kind, "accelerated"):
        return []
    return [_attached(resource, context, machine, size, entry, premium=premium) for entry in machine.attached]


def _attached(
    resource: RecordedResource, context: Context, machine: Machine, size: Size, accelerator: object, *, premium: str
) -> LineItem:
    kind, each = text(get(accelerator, "type")), number(get(accelerator, "count", default=1))
    hours = pools.pool_hours(resource, context, size, machine.kind if isinstance(machine.kind, str) else "")
    if isinstance(kind, Unknown) or not isinstance(each, Decimal) or machine.market is UNKNOWN:
        return context.unpriced(resource, "attached accelerators", "known only after deployment")
    if hours is None:
        return context.unpriced(resource, "attached accelerators", size.unbounded())
    short = gcp_nodes.accelerator_name(kind)
    unit = "spot_hour" if machine.market == "spot" else "hour"
    return context.fee(
        resource,
        what=f"{short} attached to {machine.kind}",
        key=f"n1.gpu.{short}.{unit}",
        unit=charges.ACCELERATOR_HOUR,
        quantity=hours[0].times(each),
        how=f"{each} for each machine-hour",
        premium=premium,
    )


_AUTOPILOT: Final = gaps.unstated(
    "Autopilot pods",
    "they are billed by their requests",
    vcpu_hours="gke.autopilot.vcpu_hour",
    memory_gigabyte_hours="gke.autopilot.memory_gb_hour",
)


def _node_pool(resource: RecordedResource, context: Context) -> Outcome:
    clusters = context.graph.referenced(resource, "cluster", CLUSTER)
    cluster = clusters[0] if isinstance(clusters, tuple) and clusters else None
    machine = gcp_nodes.node_machine(
        resource.inputs.get("nodeConfig"), queued=flag(get(resource.inputs, "queuedProvisioning", "enabled"))
    )
    size = pod_machines.raised(
        context.graph, resource, gcp_nodes.pool_size(resource, gcp_nodes.pool_zones(resource, cluster))
    )
    private = gcp_nodes.private_nodes(resource, UNKNOWN if isinstance(clusters, Unknown) else cluster)
    return tuple(_machines(resource, context, machine, size, public=negated(private), cluster=cluster))


def _cluster(resource: RecordedResource, context: Context) -> Outcome:
    lines = [context.standing(resource, what="cluster control plane, gke.control_plane", key="gke.control_plane")]
    autopilot = flag(resource.inputs.get("enableAutopilot"))
    if autopilot is True:
        pods = _AUTOPILOT(resource, context)
        return (*lines, *(pods if isinstance(pods, tuple) else ()))
    if flag(resource.inputs.get("removeDefaultNodePool")) is not True:
        public = negated(flag(get(resource.inputs, "privateClusterConfig", "enablePrivateNodes")))
        inline = items(resource.inputs.get("nodePools"))
        if isinstance(inline, Unknown):
            lines.append(context.unpriced(resource, "node pools", "the pools are known only after deployment"))
        elif inline:
            for index, pool in enumerate(inline):
                if isinstance(pool, Unknown):
                    reason = "the pool is known only after deployment"
                    lines.append(context.unpriced(resource, "node pool", reason))
                    continue
                alone = replace(resource, inputs=pool)
                size = gcp_nodes.pool_size(alone, gcp_nodes.pool_zones(alone, resource))
                size = pod_machines.raised(context.graph, resource, size, index)
                inside = gcp_nodes.node_machine(pool.get("nodeConfig"))
                lines.extend(_machines(resource, context, inside, size, public=public))
        else:
            machine = gcp_nodes.node_machine(resource.inputs.get("nodeConfig"))
            initial = count(get(resource.inputs, "initialNodeCount", default=1))
            zones = gcp_nodes.pool_zones(resource)
            total = initial * zones if isinstance(initial, int) and isinstance(zones, int) else UNKNOWN
            lines.extend(_machines(resource, context, machine, fixed(total), public=public))
    return tuple(lines)


def _instance(resource: RecordedResource, context: Context) -> Outcome:
    machine = gcp_nodes.instance_machine(resource.inputs)
    source = get(resource.inputs, "bootDisk", "source")
    if source is not None:  # a disk of its own, which says what it was made of
        owned = context.graph.referenced(resource, "bootDisk", *_DISKS)
        image = owned[0].inputs.get("image") if isinstance(owned, tuple) and owned else UNKNOWN
        machine = replace(machine, image=image, system=gcp_nodes.licence(image), own_disk=True)
    lines = _machines(resource, context, machine, _one(resource.inputs))
    extra = items(resource.inputs.get("attachedDisks"))
    if isinstance(extra, Unknown):
        lines.append(context.unpriced(resource, "attached disks", "known only after deployment"))
    return tuple(lines) or Free("it is stopped, and the size of its disk is not stated")


def _from_template(resource: RecordedResource, context: Context) -> Outcome:
    """A machine as its template says, except for what it states itself."""
    inputs = gcp_nodes.copied_inputs(context.graph, resource)
    if isinstance(inputs, Unknown):
        return (context.unpriced(resource, "machine", "its template is not in this plan"),)
    return tuple(_machines(resource, context, gcp_nodes.instance_machine(inputs), _one(inputs)))


def _one(inputs: object) -> Size:
    """One machine, and none at the least where it ends by itself."""
    return Size(least=0 if gcp_nodes.ends_after(inputs) else 1, wanted=1, most=1)


def _group(resource: RecordedResource, context: Context) -> Outcome:
    template = gcp_nodes.template_of(context.graph, resource)
    inputs: object = template.inputs if isinstance(template, RecordedResource) else UNKNOWN
    machine = gcp_nodes.instance_machine(inputs)
    lines = _machines(resource, context, machine, gcp_nodes.group_size(context.graph, resource))
    for key, state in (("targetStoppedSize", "stopped"), ("targetSuspendedSize", "suspended")):
        if count(resource.inputs.get(key)) not in (0, None):
            lines.append(context.unpriced(resource, f"{state} machines", "their disks and memory are not counted"))
    return tuple(lines)


def private_machine_hours(context: Context, region: Text) -> Decimal:
    """Expected hours of this program's machines in a region that have no public address, as far as they are known."""
    hours = Decimal(0)
    for kind, size_of in _SIZES.items():
        for each in context.graph.of(kind):
            machine, size = size_of(each, context)
            if machine is None or not machine.runs or context.region(each) != region:
                continue
            kind_of = machine.kind if isinstance(machine.kind, str) else ""
            bounded = pools.pool_hours(each, context, size, kind_of)
            hours += bounded[0].expected if bounded is not None else 0
    return hours


def _private_instance(resource: RecordedResource, context: Context) -> tuple[Machine | None, Size]:
    del context
    return _private(resource.inputs), fixed(1)


def _private_group(resource: RecordedResource, context: Context) -> tuple[Machine | None, Size]:
    template = gcp_nodes.template_of(context.graph, resource)
    inputs = template.inputs if isinstance(template, RecordedResource) else UNKNOWN
    return _private(inputs), gcp_nodes.group_size(context.graph, resource)


def _private(inputs: object) -> Machine | None:
    """The machine, where none of its interfaces has a public address, one of its own resource included."""
    interfaces = items(get(inputs, "networkInterfaces"))
    if isinstance(interfaces, Unknown) or any(get(each, "accessConfigs") for each in interfaces):
        return None
    return gcp_nodes.instance_machine(inputs) if get(inputs, "machineType") is not None else None


def _private_pool(resource: RecordedResource, context: Context) -> tuple[Machine | None, Size]:
    clusters = context.graph.referenced(resource, "cluster", CLUSTER)
    cluster = clusters[0] if isinstance(clusters, tuple) and clusters else None
    private = gcp_nodes.private_nodes(resource, UNKNOWN if isinstance(clusters, Unknown) else cluster)
    size = pod_machines.raised(
        context.graph, resource, gcp_nodes.pool_size(resource, gcp_nodes.pool_zones(resource, cluster))
    )
    return (gcp_nodes.node_machine(resource.inputs.get("nodeConfig")) if private is True else None), size


_SIZES: Final = {
    "gcp:compute/instance:Instance": _private_instance,
    "gcp:compute/instanceGroupManager:InstanceGroupManager": _private_group,
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager": _private_group,
    gcp_nodes.NODE_POOL: _private_pool,
}


def _template(resource: RecordedResource, context: Context) -> Outcome:
    del resource, context
    return Free("priced with the group that uses it")


def _tpu(resource: RecordedResource, context: Context) -> Outcome:
    inputs: object = resource.inputs
    node = get(inputs, "tpu", "nodeSpecs", 0, "node")  # a queued resource wraps the node
    inputs = node if node is not None else inputs
    kind = text(get(inputs, "acceleratorType", default=get(inputs, "acceleratorConfig", "type")), "v2-8")
    topology = text(get(inputs, "acceleratorConfig", "topology"))
    scheduling = get(inputs, "schedulingConfig")
    spot = either(
        flag(get(scheduling, "preemptible")), flag(get(scheduling, "spot")), flag(get(resource.inputs, "spot"))
    )
    if isinstance(kind, Unknown) or isinstance(topology, Unknown):
        return (context.unpriced(resource, "TPU VM", "the type is known only after deployment"),)
    tpu = gcp_nodes.tpu_slice(context.catalog, kind, topology)
    if tpu is None:
        return (context.unpriced(resource, f"TPU VM {kind}", "no such slice in the catalog"),)
    machine, vms = tpu
    market: Text = UNKNOWN if spot is UNKNOWN else ("spot" if spot is True else "on-demand")
    lines = [pools.machines(resource, context, instance_type=machine, market=market, size=fixed(vms))]
    more = items(get(inputs, "networkConfigs"))
    networks = [get(inputs, "networkConfig"), *([UNKNOWN] if isinstance(more, Unknown) else more)]
    public = either(*(flag(get(each, "enableExternalIps")) for each in networks))
    lines += pools.addresses(resource, context, public=public, hours=fixed(vms).hours())
    return tuple(lines)


def _reservation(resource: RecordedResource, context: Context) -> Outcome:
    """Reserved machines are billed like running ones, used or not."""
    size = fixed(count(get(resource.inputs, "specificReservation", "count")))
    machine = replace(gcp_nodes.reserved_machine(context.graph, resource), market="on-demand")
    lines = [pools.machines(resource, context, instance_type=machine.kind, market="on-demand", size=size)]
    lines += attached(resource, context, machine, size)
    lines = _sustained(resource, context, machine, lines)
    return (*lines, *_local_disks(resource, context, machine, size.hours()))


_DISKS: Final = ("gcp:compute/disk:Disk", "gcp:compute/regionDisk:RegionDisk")
TABLE: Final[dict[str, Pricer]] = {
    "gcp:container/nodePool:NodePool": _node_pool,
    "gcp:container/cluster:Cluster": _cluster,
    "gcp:compute/instance:Instance": _instance,
    gcp_nodes.FROM_TEMPLATE: _from_template,
    gcp_nodes.FROM_IMAGE: _from_template,
    "gcp:compute/instanceTemplate:InstanceTemplate": _template,
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate": _template,
    "gcp:compute/instanceGroupManager:InstanceGroupManager": _group,
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager": _group,
    "gcp:tpu/v2Vm:V2Vm": _tpu,
    "gcp:tpu/v2QueuedResource:V2QueuedResource": _tpu,
    reserved.GCP: _reservation,
}
