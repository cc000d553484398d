"""Prices of Google Cloud storage, network and managed services: buckets, Filestore, NAT, Cloud Run, Vertex AI."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from sizewell.resources import gcp_nodes, pools
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.kinds import OF_KUBERNETES
from sizewell.resources.readers import services
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.stores import stored
from sizewell.resources.tables import gcp_managed
from sizewell.resources.tables.gaps import by_use, unstated
from sizewell.resources.tables.gcp_compute import disk_key, machine_hours, private_machine_hours, provisioned
from sizewell.resources.values import Text, canonical, count, flag, get, items, negated, number, text
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem

_RULES: Final = "lb.forwarding_rules.hour"
_RULES_TOGETHER: Final = 5  # forwarding rules of a project that one price covers
_GLOBAL_ADDRESS: Final = "gcp:compute/globalAddress:GlobalAddress"  # which balancers alone may use
_RULE_TYPES: Final = (
    "gcp:compute/forwardingRule:ForwardingRule",
    "gcp:compute/globalForwardingRule:GlobalForwardingRule",
)
_ADDRESS_TAKERS: Final = (  # what an address serves, and the input that names it
    ("gcp:compute/instance:Instance", "networkInterfaces"),
    ("gcp:compute/instanceFromTemplate:InstanceFromTemplate", "networkInterfaces"),
    ("gcp:compute/instanceTemplate:InstanceTemplate", "networkInterfaces"),
    ("gcp:compute/routerNat:RouterNat", "natIps"),
)
_SYMMETRIC: Final = ("", "GOOGLE_SYMMETRIC_ENCRYPTION", "EXTERNAL_SYMMETRIC_ENCRYPTION")
# The kind of disk that stands in two zones alone, and whose rates are those of both. Source, from memory:
# cloud.google.com/compute/disks-image-pricing.
_OF_TWO_ZONES: Final = "hyperdisk-balanced-high-availability"
_CONTINENTS: Final = ("US", "EU", "ASIA")  # multi-regions; the others that are no region are pairs
_GOOGLE_APIS: Final = ("all-apis", "vpc-sc")  # bundles that an endpoint of Private Service Connect reaches
NAT_CAP_VMS: Final = 32  # Cloud NAT bills by VM-hour up to this many


def _bucket(resource: RecordedResource, context: Context) -> Outcome:
    kind = text(resource.inputs.get("storageClass"), "STANDARD")
    if isinstance(kind, Unknown):
        return (context.unpriced(resource, "object storage", "the storage class is known only after deployment"),)
    place = text(resource.inputs.get("location"))
    if isinstance(place, Unknown):
        return (context.unpriced(resource, "object storage", "its location is known only after deployment"),)
    key = f"gcs.{kind.lower()}"
    if resource.inputs.get("customPlacementConfig") is not None:
        key += ".dual_region"
    elif place and "-" not in place:  # no region, but several
        key += f".{'multi' if place.upper() in _CONTINENTS else 'dual'}_region_{place.lower()}"
    return stored(resource, context, key=key, what=f"object storage, {key}")


def _disk(resource: RecordedResource, context: Context) -> Outcome:
    pools_named = context.graph.referenced(resource, "storagePool", "gcp:compute/storagePool:StoragePool")
    if isinstance(resource.inputs.get("storagePool"), str) or (isinstance(pools_named, tuple) and pools_named):
        return Free("billed with the storage pool that it is in")
    key = disk_key(text(resource.inputs.get("type"), "pd-standard"))
    if isinstance(key, Unknown):
        return (context.unpriced(resource, "disk", "the disk type is known only after deployment"),)
    return (
        pools.standing_disk(resource, context, gigabytes=resource.inputs.get("size"), key=key, what="disk"),
        *provisioned(resource, context, resource.inputs, key),
    )


def _regional_disk(resource: RecordedResource, context: Context) -> Outcome:
    """A disk in two zones: billed in each, unless its kind has a price of both."""
    one, how = _disk(resource, context), "billed in both of its zones"
    if str(gcp_nodes.last_part(text(resource.inputs.get("type")))) == _OF_TWO_ZONES:
        return one
    lines = () if isinstance(one, Free) else one
    return tuple(replace(line, quantity=line.quantity.times(Decimal(2)), how=how) for line in lines)


def _filestore(resource: RecordedResource, context: Context) -> Outcome:
    tier = text(resource.inputs.get("tier"))
    if isinstance(tier, Unknown):
        return (context.unpriced(resource, "Filestore", "the tier is known only after deployment"),)
    key = {"BASIC_SSD": "filestore.zonal", "ZONAL": "filestore.zonal"}.get(tier.upper(), f"filestore.{tier.lower()}")
    gigabytes = get(resource.inputs, "fileShares", "capacityGb")
    return (pools.standing_disk(resource, context, gigabytes=gigabytes, key=key, what="file system"),)


def _lustre(resource: RecordedResource, context: Context) -> Outcome:
    throughput = number(resource.inputs.get("perUnitStorageThroughput"))
    if not isinstance(throughput, Decimal):
        return (context.unpriced(resource, "Managed Lustre", "the throughput tier is not known"),)
    key = f"lustre.{int(throughput)}"
    return (
        pools.standing_disk(
            resource, context, gigabytes=resource.inputs.get("capacityGib"), key=key, what="file system"
        ),
    )


def _nat(resource: RecordedResource, context: Context) -> Outcome:
    most = amount(NAT_CAP_VMS * HOURS_PER_MONTH)
    behind = private_machine_hours(context, context.region(resource))
    known = min(behind, most) if behind else most
    which = "machines of this program without a public address" if behind else "no machine of this program is behind it"
    return (
        context.fee(
            resource,
            what="NAT gateway",
            key="nat.vm_hour",
            unit="VM-hour",
            quantity=Interval(Decimal(0), known, most),
            how=f"by VM-hour, at most {NAT_CAP_VMS} VMs; {which}",
            confidence="assumed usage",
        ),
        *context.by_use(resource, measure="processed_gigabytes", what="NAT gateway data", key="nat.gb", unit="GB"),
    )


def _address(resource: RecordedResource, context: Context) -> Outcome:
    kind = text(resource.inputs.get("addressType"), "EXTERNAL")
    if kind == "INTERNAL":
        return Free("internal addresses are free")
    if resource.inputs.get("ipVersion") == "IPV6":
        return Free("IPv6 addresses are free")
    used = _use_of(resource, context)
    if used == "balancer":
        return Free("an address in use by a forwarding rule is free")
    if used == "idle":
        idle = context.standing(resource, what="external IPv4 address, not in use", key="ipv4.idle_hour")
        return (replace(idle, confidence="nothing of this program uses it"),)
    return (context.standing(resource, what="external IPv4 address", key="ipv4.hour"),)


def _use_of(address: RecordedResource, context: Context) -> str:
    """What takes an address in this program: "balancer", "machine", or "idle" for nothing, or a machine that stands."""
    graph = context.graph
    for kind in _RULE_TYPES:
        rules = graph.referring(address, kind, "ipAddress")
        if isinstance(rules, Unknown) or rules:
            return "balancer" if isinstance(rules, tuple) else "machine"
    for kind, prop in _ADDRESS_TAKERS:
        takers = graph.referring(address, kind, prop)
        if isinstance(takers, Unknown):
            return "machine"
        if takers:
            stopped = all(each.inputs.get("desiredStatus") in ("TERMINATED", "SUSPENDED") for each in takers)
            return "idle" if stopped else "machine"
    named = [each for each in graph.plan.resources if address.urn in each.dependencies]
    balanced = canonical(address.type) == _GLOBAL_ADDRESS or any(each.type.startswith(OF_KUBERNETES) for each in named)
    return "idle" if not named else "balancer" if balanced else "machine"


def _forwarding(resource: RecordedResource, context: Context) -> Outcome:
    scheme = text(resource.inputs.get("loadBalancingScheme"), "EXTERNAL")
    target = text(resource.inputs.get("target"))
    endpoint = isinstance(target, str) and ("/serviceAttachments/" in target or target in _GOOGLE_APIS)
    attached = context.graph.referenced(resource, "target", "gcp:compute/serviceAttachment:ServiceAttachment")
    if endpoint or (isinstance(attached, tuple) and attached):
        return (
            context.standing(resource, what="Private Service Connect endpoint", key="psc.endpoint.hour"),
            *context.by_use(resource, measure="processed_gigabytes", what="endpoint data", key="psc.gb", unit="GB"),
        )
    regional = resource.type == "gcp:compute/forwardingRule:ForwardingRule" and scheme == "EXTERNAL_MANAGED"
    known = regional and context.catalog.fees_of("gcp", "lb.regional.forwarding_rule.hour")
    kind = "lb.regional" if known else "lb"  # not known of any region: by the price of global ones
    before = context.allowances.get(("gcp", _RULES), Decimal(0))
    context.allowances["gcp", _RULES] = before + 1
    rule, key = (f"forwarding rule above {_RULES_TOGETHER}", f"{kind}.forwarding_rule.hour")
    if before == 0 and not known:
        rule, key = f"forwarding rules, 1 to {_RULES_TOGETHER} of a project together", _RULES
    standing = () if 0 < before < _RULES_TOGETHER and not known else (context.standing(resource, what=rule, key=key),)
    return (
        *standing,
        *context.by_use(
            resource, measure="processed_gigabytes", what="load balancer data", key=f"{kind}.gb", unit="GB"
        ),
    )


_RUN_FEES: Final = {"vcpu_hours": "cloudrun.vcpu_hour", "memory_gigabyte_hours": "cloudrun.memory_gb_hour"}
_UP_FEES: Final = {measure: f"cloudrun.instance.{key.partition('.')[2]}" for measure, key in _RUN_FEES.items()}
_WORKER_FEES: Final = {measure: f"cloudrun.worker.{key.partition('.')[2]}" for measure, key in _RUN_FEES.items()}
_WORKERS: Final = "gcp:cloudrunv2/workerPool:WorkerPool"


def _run_containers(resource: RecordedResource) -> tuple[Any, ...] | Unknown:
    """Containers of a service or pool of workers, or of a job, whose template holds one of its tasks."""
    template = resource.inputs.get("template")
    return items(get(template, "containers", default=get(template, "template", "containers")))


def _run_sizes(resource: RecordedResource, context: Context) -> dict[str, Decimal]:
    """What one instance takes for an hour; nothing where a size is not known."""
    del context
    containers = _run_containers(resource)
    if isinstance(containers, Unknown) or not containers:
        return {}
    limits = [get(each, "resources", "limits", default={}) for each in containers]
    cpus = [_amount_of(get(each, "cpu", default="1")) for each in limits]
    memory = [_amount_of(get(each, "memory", default="512Mi")) for each in limits]
    gpus = [number(get(each, "nvidia.com/gpu", default=0)) for each in limits]
    known = [[each for each in listed if isinstance(each, Decimal)] for listed in (cpus, memory, gpus)]
    if any(len(listed) < len(limits) for listed in known):
        return {}
    each_cpu, each_memory, each_gpu = (sum(listed, Decimal(0)) for listed in known)
    return {"vcpu_hours": each_cpu, "memory_gigabyte_hours": each_memory, "gpu_seconds": each_gpu * 3600}


_BY_REQUEST: Final = by_use("Cloud Run service", requests="cloudrun.request", **_RUN_FEES)
_ALWAYS_ON: Final = unstated(
    "Cloud Run instances that always run", "they are billed by their CPU and memory with and without requests",
    _run_sizes, **_UP_FEES,
)  # fmt: skip
_JOB: Final = by_use("Cloud Run job", **_UP_FEES)


def _run_gpu(resource: RecordedResource) -> Text:
    """The part of a fee's key that says which GPU an instance has; "" where it has none."""
    template = resource.inputs.get("template")
    inner = get(template, "template")
    kind = text(get(template, "nodeSelector", "accelerator", default=get(inner, "nodeSelector", "accelerator")))
    containers = _run_containers(resource)
    if isinstance(kind, Unknown) or isinstance(containers, Unknown):
        return UNKNOWN
    asked = any(get(each, "resources", "limits", "nvidia.com/gpu") is not None for each in containers)
    return (kind or "nvidia-l4").removeprefix("nvidia-") if kind or asked else ""


def _run_job(resource: RecordedResource, context: Context) -> Outcome:
    """By its runs, as a function is; with a GPU unpriced until somebody states them."""
    gpu = _run_gpu(resource)
    if gpu == "":
        return _JOB(resource, context)
    fees = {"gpu_seconds": f"cloudrun.gpu.{gpu}.second" if isinstance(gpu, str) else "cloudrun.gpu", **_UP_FEES}
    return unstated("Cloud Run job", "it is billed by its run time", _run_sizes, **fees)(resource, context)


def _workers(resource: RecordedResource, context: Context) -> Outcome:
    """Instances of a pool of workers, which are billed as long as they are up."""
    gpu, size, sizes = _run_gpu(resource), gcp_nodes.run_size(resource.inputs), _run_sizes(resource, context)
    template = resource.inputs.get("template")
    redundancy = get(template, "gpuZonalRedundancyDisabled", default=resource.inputs.get("gpuZonalRedundancyDisabled"))
    if size.most == 0:
        return Free("no instance of it runs")
    zonal = "second" if flag(redundancy) is True else "zonal_second"
    known = isinstance(gpu, str) and redundancy is not UNKNOWN
    fees = dict(_WORKER_FEES)
    if gpu != "":
        fees = {"gpu_seconds": f"cloudrun.gpu.{gpu}.{zonal}" if known else "cloudrun.gpu", **fees}
    hours = size.hours() if isinstance(size.most, int) else None
    stated = any(context.usage.of(resource, measure) is not None for measure in fees)
    if stated or hours is None or not sizes:
        return unstated("Cloud Run workers", "they are billed while they run", _run_sizes, **fees)(resource, context)
    return tuple(
        context.fee(
            resource,
            what=f"Cloud Run workers, {measure.replace('_', ' ')}",
            key=key,
            unit=measure.replace("_", " "),
            quantity=hours[0].times(sizes[measure]),
            how=charges.BY_INSTANCES,
            confidence=hours[1],
        )
        for measure, key in fees.items()
    )


def _run(resource: RecordedResource, context: Context) -> Outcome:
    template = resource.inputs.get("template")
    containers = items(get(template, "containers"))
    listed = containers if isinstance(containers, tuple) else ()
    accelerated = next(
        (each for each in listed if get(each, "resources", "limits", "nvidia.com/gpu") is not None), None
    )
    gpus = number(get(accelerated, "resources", "limits", "nvidia.com/gpu"))
    if gpus is None:
        instances = gcp_nodes.run_size(resource.inputs)
        if instances.least == 0:
            return _BY_REQUEST(resource, context)
        return _kept(resource, context, listed, instances) or _ALWAYS_ON(resource, context)
    redundancy = get(template, "gpuZonalRedundancyDisabled", default=get(resource.inputs, "gpuZonalRedundancyDisabled"))
    kind = text(get(template, "nodeSelector", "accelerator"), "nvidia-l4")
    if isinstance(gpus, Unknown) or redundancy is UNKNOWN or isinstance(kind, Unknown):
        return (context.unpriced(resource, "Cloud Run GPU", "known only after deployment"),)
    zonal = "second" if flag(redundancy) is True else "zonal_second"
    hours, above = _run_hours(resource, context)
    seconds = context.usage.of(resource, "gpu_seconds")
    if seconds is None and hours is not None:
        seconds = hours.times(Decimal(3600) * gpus)
    up = None if seconds is None or not gpus else seconds.times(1 / gpus)
    limits = get(accelerated, "resources", "limits")
    lines = [(f"Cloud Run GPU, {kind}", f"cloudrun.gpu.{kind.removeprefix('nvidia-')}.{zonal}", "GPU-second", seconds)]
    for name, key, unit in (
        ("cpu", "cloudrun.cpu.second", "vCPU-second"),
        ("memory", "cloudrun.memory.gib_second", "GiB-second"),
    ):
        size = text(get(limits, name), "")
        known = isinstance(size, str) and size.removesuffix("Gi").isdigit() and up is not None
        used = up.times(Decimal(str(size).removesuffix("Gi"))) if known and up is not None else None
        lines.append((f"Cloud Run {name}, {size} with the GPU", key, unit, used))
    more = () if seconds is None or not above else (context.unpriced(resource, "Cloud Run GPU, more instances", above),)
    return (
        *(
            context.fee(
                resource,
                what=what,
                key=key,
                unit=unit,
                quantity=quantity,
                how=charges.BY_INSTANCES,
                confidence="assumed usage",
            )
            for what, key, unit, quantity in lines
        ),
        *more,
    )


def _kept(
    resource: RecordedResource, context: Context, containers: tuple[Any, ...], size: Size
) -> tuple[LineItem, ...] | None:
    """CPU and memory of the instances that a service always keeps, where they are billed with and without requests.

    None where they are billed otherwise: CPU that is idle outside of requests costs less, at a rate of its own.
    """
    template = resource.inputs.get("template")
    if get(template, "spec") is not None:  # the first version of the service, in which CPU is idle unless this says no
        throttled = get(template, "metadata", "annotations", "run.googleapis.com/cpu-throttling", default="true")
        whole = str(throttled).lower() == "false"
    else:  # and in the second where resources are stated and say nothing of it
        whole = all(flag(get(each, "resources", "cpuIdle")) is False and get(each, "resources") for each in containers)
    stated = any(context.usage.of(resource, measure) is not None for measure in _RUN_FEES)
    cpus = [_amount_of(get(each, "resources", "limits", "cpu", default="1")) for each in containers]
    memory = [_amount_of(get(each, "resources", "limits", "memory", default="512Mi")) for each in containers]
    known = [each for each in (*cpus, *memory) if isinstance(each, Decimal)]
    if stated or not whole or not containers or len(known) < len(cpus) + len(memory) or not isinstance(size.least, int):
        return None
    most = size.most if isinstance(size.most, int) else size.least
    seconds = Interval(*(amount(each * HOURS_PER_MONTH * 3600) for each in (size.least, size.least, most)))
    if not isinstance(size.most, int):
        context.outside.append(
            f"{context.graph.component(resource)}: instances above the {size.least} that are kept ({resource.name}): "
            "use not stated, not in totals"
        )
    return tuple(
        context.fee(
            resource,
            what=f"Cloud Run instances that are kept, {what}",
            key=key,
            unit=unit,
            quantity=seconds.times(sum((each for each in sizes if isinstance(each, Decimal)), Decimal(0))),
            how=charges.BY_INSTANCES,
        )
        for what, key, unit, sizes in (
            ("CPU", "cloudrun.cpu.second", "vCPU-second", cpus),
            ("memory", "cloudrun.memory.gib_second", "GiB-second", memory),
        )
    )


_UNITS: Final = {"m": Decimal("0.001"), "Mi": 1 / Decimal(1024), "Gi": Decimal(1), "M": Decimal(10**6) / 2**30,
                 "G": Decimal(10**9) / 2**30, "": Decimal(1)}  # fmt: skip


def _amount_of(stated: object) -> Decimal | None:
    """CPUs, or GiB of memory, as Kubernetes writes them.

    >>> [float(_amount_of(each)) for each in ("1000m", "2Gi", "512Mi")], _amount_of("some")
    ([1.0, 2.0, 0.5], None)
    """
    match = re.fullmatch(r"([\d.]+)(m|Mi|Gi|M|G)?", str(stated))
    return Decimal(match[1]) * _UNITS[match[2] or ""] if match else None


def _run_hours(resource: RecordedResource, context: Context) -> tuple[Interval | None, str]:
    """Instance-hours per month: as the component registered them, else between the sizes that the service may have.

    Where nothing bounds them from above they are those of the instances that always run, and why there may be more.
    """
    stated = get(context.graph.registration(resource), "nodeHoursPerMonth")
    bounds = [number(get(stated, key)) for key in ("floor", "expected", "ceiling")]
    if all(isinstance(bound, Decimal) for bound in bounds):
        floor, expected, ceiling = (amount(bound) for bound in bounds if isinstance(bound, Decimal))
        return Interval(floor, expected, ceiling), ""
    if context.usage.of(resource, "gpu_seconds") is not None:
        return None, ""
    size = gcp_nodes.run_size(resource.inputs)
    if not isinstance(size.most, int) and isinstance(size.least, int) and size.least:
        size, above = fixed(size.least), f"{size.unbounded()}, above the {size.least} that always run"
    else:
        above = ""
    hours = size.hours() if isinstance(size.most, int) else None
    return (None if hours is None else hours[0]), above


def _workbench(resource: RecordedResource, context: Context) -> Outcome:
    """A notebook's machine with its accelerators, its two disks and its address; stopped, its disks alone."""
    setup: object = resource.inputs.get("gceSetup", resource.inputs)
    kind = gcp_nodes.last_part(text(get(setup, "machineType"), "e2-standard-4"))
    lines: list[LineItem] = []
    if text(resource.inputs.get("desiredState"), "ACTIVE") != "STOPPED":
        listed = gcp_nodes.configured_accelerators(get(setup, "acceleratorConfigs"))
        affinity = {"type": get(setup, "reservationAffinity", "consumeReservationType", default="RESERVATION_NONE")}
        machine = gcp_nodes.instance_machine(
            {"machineType": kind, "guestAccelerators": listed, "reservationAffinity": affinity}
        )
        size = services.notebook_size(context.graph, resource, services.workbench)
        lines += machine_hours(resource, context, machine, size)
        public = negated(flag(get(setup, "disablePublicIp")))
        lines += pools.addresses(resource, context, public=public, hours=size.hours())
    data = get(setup, "dataDisks", 0, default=get(setup, "dataDisks"))
    for disk, least, what in ((get(setup, "bootDisk"), 150, "notebook boot disk"), (data, 100, "notebook disk")):
        gigabytes = get(disk, "diskSizeGb", default=least)
        stated = text(get(disk, "diskType"), "PD_BALANCED")
        if isinstance(stated, Unknown):
            lines.append(context.unpriced(resource, what, "the disk type is known only after deployment"))
            continue
        key = str(disk_key(stated.lower().replace("_", "-")))
        lines.append(pools.standing_disk(resource, context, gigabytes=gigabytes, key=key, what=what))
        lines += provisioned(resource, context, disk, key, what=what)
    return tuple(lines)


def _deployment(resource: RecordedResource, context: Context) -> Outcome:
    dedicated = get(resource.inputs, "deployConfig", "dedicatedResources")
    if dedicated is None:
        return (context.unpriced(resource, "model endpoint", "the machine type is chosen by the service"),)
    return gcp_managed.dedicated(resource, context, dedicated)


def _endpoint(resource: RecordedResource, context: Context) -> Outcome:
    del resource
    context.outside.append(
        "Vertex AI endpoint: models that are deployed to it outside the plan are billed by machine-hour"
    )
    return Free("billed by the models deployed to it")


def _workflow(resource: RecordedResource, context: Context) -> Outcome:
    """A workflow is free; the training jobs that it starts are not, and only its component says their machines.

    The one of a pool in a cluster starts nothing: it sizes machines that the plan has.
    """
    stated = context.graph.registration(resource)
    owners = {owner.type for owner in context.graph.ancestors(resource)}
    if stated is None or stated.get("kind") != "pool" or "sizewell-gcp:index:AcceleratorPool" in owners:
        return Free("the first 5,000 steps of a month are free")
    size = Size(least=0, wanted=0, most=count(stated.get("nodesMax")))
    kind, market = text(stated.get("instanceType")), text(stated.get("market"))
    return (pools.machines(resource, context, instance_type=kind, market=market, size=size, premium="vertex"),)


def _key(resource: RecordedResource, context: Context) -> Outcome:
    """A key by its active version; one in hardware, or kept elsewhere, by a price of its own."""
    level = text(get(resource.inputs, "versionTemplate", "protectionLevel"), "SOFTWARE")
    if isinstance(level, Unknown):
        return (context.unpriced(resource, "encryption key", "its protection is known only after deployment"),)
    if level == "SOFTWARE":
        return (context.monthly(resource, what="encryption key", key="kms.key"),)
    algorithm = text(get(resource.inputs, "versionTemplate", "algorithm"))
    sort = "" if isinstance(algorithm, Unknown) or algorithm in _SYMMETRIC else ".asymmetric"
    return (context.monthly(resource, what=f"encryption key, {level}", key=f"kms.key.{level.lower()}{sort}"),)


def _key_version(resource: RecordedResource, context: Context) -> Outcome:
    """A further version of a key, at the price of its key."""
    keys = context.graph.referenced(resource, "cryptoKey", "gcp:kms/cryptoKey:CryptoKey")
    if isinstance(keys, Unknown) or len(keys) != 1:
        return (context.unpriced(resource, "version of an encryption key", "the protection of its key is not known"),)
    return _key(replace(resource, inputs=keys[0].inputs), context)


def _scheduler(resource: RecordedResource, context: Context) -> Outcome:
    return (context.monthly(resource, what="scheduled job", key="scheduler.job"),)


TABLE: Final[dict[str, Pricer]] = {
    "gcp:storage/bucket:Bucket": _bucket,
    "gcp:compute/disk:Disk": _disk,
    "gcp:compute/regionDisk:RegionDisk": _regional_disk,
    "gcp:filestore/instance:Instance": _filestore,
    "gcp:lustre/instance:Instance": _lustre,
    "gcp:compute/routerNat:RouterNat": _nat,
    "gcp:compute/address:Address": _address,
    _GLOBAL_ADDRESS: _address,
    "gcp:compute/forwardingRule:ForwardingRule": _forwarding,
    "gcp:compute/globalForwardingRule:GlobalForwardingRule": _forwarding,
    "gcp:cloudrunv2/service:Service": _run,
    "gcp:cloudrunv2/job:Job": _run_job,
    _WORKERS: _workers,
    "gcp:workbench/instance:Instance": _workbench,
    "gcp:vertex/aiEndpoint:AiEndpoint": _endpoint,
    "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment": _deployment,
    "gcp:workflows/workflow:Workflow": _workflow,
    "gcp:kms/cryptoKey:CryptoKey": _key,
    "gcp:kms/cryptoKeyVersion:CryptoKeyVersion": _key_version,
    "gcp:cloudscheduler/job:Job": _scheduler,
}
