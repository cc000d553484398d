"""Prices of Azure machines that a service starts: Batch pools, fleets, reservations, container apps with a GPU."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from sizewell.resources import azure_nodes, pools
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.readers.common import is_accelerated_name
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.tables import azure_compute, gaps
from sizewell.resources.values import Text, cloud_of, count, get, items, number, text
from sizewell.sizing.money import LineItem, Unpriced


def _batch_pool(resource: RecordedResource, context: Context) -> Outcome:
    """Dedicated and spot machines of a Batch pool; a formula that scales it bounds nothing."""
    kind = text(resource.inputs.get("vmSize"))
    scale = resource.inputs.get("scaleSettings")
    stated = get(scale, "fixedScale")
    if isinstance(kind, Unknown) or isinstance(stated, Unknown):
        return (context.unpriced(resource, "batch machines", "known only after deployment"),)
    if get(scale, "autoScale") is not None and context.usage.of(resource, "machine_hours") is None:
        why = "the number follows a formula; put machine_hours in a usage file"
        return (context.unpriced(resource, f"batch machines, {kind}", why),)
    dedicated = count(get(stated, "targetDedicatedNodes", default=0))
    spot = count(get(stated, "targetLowPriorityNodes", default=0))
    lines = []
    for market, nodes in (("on-demand", dedicated), ("spot", spot)):
        if nodes != 0 or (market == "on-demand" and stated is None):
            name = kind if kind.startswith("Standard_") else f"Standard_{kind.removeprefix('STANDARD_')}"
            size = fixed(nodes) if stated is not None else Size(least=0, wanted=0, most=None)
            lines.append(pools.machines(resource, context, instance_type=name, market=market, size=size))
            lines += _licences(resource, context, _batch_profile(resource.inputs), kind=name, market=market, size=size)
    return tuple(lines) or Free("no machines")


def _batch_profile(inputs: object) -> object:
    """What a Batch pool says of its machines, as a virtual machine says it."""
    stated = get(inputs, "deploymentConfiguration", "virtualMachineConfiguration")
    storage = {"imageReference": get(stated, "imageReference")}
    settings = {"windowsConfiguration": get(stated, "windowsConfiguration")}
    return {"storageProfile": storage, "osProfile": settings, "licenseType": get(stated, "licenseType")}


def _licences(
    resource: RecordedResource, context: Context, profile: object, *, kind: str, market: str, size: Size
) -> list[LineItem]:
    machine = replace(azure_nodes.profile_machine(kind, profile), market=market)
    hours = pools.pool_hours(resource, context, size, kind)
    return azure_compute.licences(resource, context, machine, hours)


def _fleet(resource: RecordedResource, context: Context) -> Outcome:
    """A compute fleet: its spot and regular capacity, at the dearest of its machine types."""
    inputs = resource.inputs
    kinds = items(inputs.get("vmSizesProfile"))
    names = kinds if isinstance(kinds, Unknown) else tuple(text(get(kind, "name")) for kind in kinds)
    if isinstance(names, Unknown) or not names or any(isinstance(name, Unknown) for name in names):
        return (context.unpriced(resource, "fleet machines", "known only after deployment"),)
    lines = []
    for market, profile in (("spot", "spotPriorityProfile"), ("on-demand", "regularPriorityProfile")):
        stated = inputs.get(profile)
        if stated is not None:
            size = fixed(count(get(stated, "capacity", default=0)))
            kind, line = _dearest(resource, context, names, market, size)
            base = get(inputs, "computeProfile", "baseVirtualMachineProfile")
            lines += [line, *_licences(resource, context, base, kind=kind, market=market, size=size)]
    return tuple(lines) or (context.unpriced(resource, "fleet machines", "no capacity is stated"),)


def _dearest(
    resource: RecordedResource, context: Context, names: tuple[Any, ...], market: str, size: Size
) -> tuple[str, LineItem]:
    lines = [(name, pools.machines(resource, context, instance_type=name, market=market, size=size)) for name in names]
    missing = [each for each in lines if isinstance(each[1].price, Unpriced)]
    return missing[0] if missing else max(lines, key=lambda each: getattr(each[1].price, "amount", Decimal(0)))


def _reservation(resource: RecordedResource, context: Context) -> Outcome:
    """Reserved machines are billed like running ones, used or not."""
    kind = text(get(resource.inputs, "sku", "name"))
    size = fixed(count(get(resource.inputs, "sku", "capacity", default=1)))
    return (pools.machines(resource, context, instance_type=kind, market="on-demand", size=size),)


_FEES: Final = {"vcpu_hours": "container_apps.vcpu_hour", "memory_gigabyte_hours": "container_apps.memory_gb_hour"}


def _replica(resource: RecordedResource, context: Context) -> dict[str, Decimal]:
    """What one replica takes for an hour; nothing where a size is not known."""
    del context
    listed = items(get(resource.inputs, "template", "containers"))
    sizes = [get(each, "resources") for each in listed] if isinstance(listed, tuple) else []
    cpus = [number(get(each, "cpu")) for each in sizes]
    memory = [number(str(get(each, "memory", default="")).removesuffix("Gi")) for each in sizes]
    known = [[each for each in stated if isinstance(each, Decimal)] for stated in (cpus, memory)]
    if not sizes or any(len(each) < len(sizes) for each in known):
        return {}
    cpu, gigabytes = (sum(each, Decimal(0)) for each in known)
    return {"vcpu_hours": cpu, "memory_gigabyte_hours": gigabytes}


_BY_REQUEST: Final = gaps.by_use("container app", **_FEES)
_ALWAYS_ON: Final = gaps.unstated(
    "container app that always runs", "its replicas are billed with and without requests", _replica, **_FEES
)
_JOB: Final = gaps.by_use("container job", **_FEES)
_GPU_JOB: Final = gaps.unstated("container job with GPUs", "it is billed by its run time", _replica, **_FEES)


def _profile(resource: RecordedResource, context: Context) -> Text:
    """The profile that it runs in, and its type where the environment stands in this plan: its name is free."""
    name = text(resource.inputs.get("workloadProfileName"))
    for prop in ("managedEnvironmentId", "environmentId"):
        environments = context.graph.referenced(resource, prop, "azure-native:app:ManagedEnvironment")
        for environment in environments if isinstance(environments, tuple) else ():
            profiles = items(environment.inputs.get("workloadProfiles"))
            if isinstance(profiles, Unknown):
                return UNKNOWN
            for profile in profiles:
                if not isinstance(name, Unknown) and get(profile, "name") == name:
                    kind = text(get(profile, "workloadProfileType"))
                    return UNKNOWN if isinstance(kind, Unknown) else f"{name} {kind}"
    return name


def _container_app(resource: RecordedResource, context: Context) -> Outcome:
    """With a GPU profile by the hours of its replicas, else by what it requests."""
    profile = _profile(resource, context)
    if isinstance(profile, str) and is_accelerated_name(cloud_of(resource.type), profile.rpartition(" ")[2]):
        return Free("runs on the machines of its profile, which are billed with the environment")
    scale = get(resource.inputs, "template", "scale")
    least = count(get(scale, "minReplicas", default=0))
    if isinstance(profile, Unknown) or "gpu" not in profile.lower():
        return (_BY_REQUEST if least == 0 and not isinstance(profile, Unknown) else _ALWAYS_ON)(resource, context)
    size = Size(least=least, wanted=least, most=count(get(scale, "maxReplicas", default=10)))
    hours = pools.pool_hours(resource, context, size, "")
    gpus = number(get(resource.inputs, "template", "containers", 0, "resources", "gpu", default=1))
    kind = next((name for name in ("a100", "t4") if name in profile.lower()), "unknown")
    return (
        context.fee(
            resource,
            what=f"container app GPU, {kind}",
            key=f"container_apps.gpu.{kind}.hour",
            unit="GPU-hour",
            quantity=hours[0].times(gpus) if hours is not None and isinstance(gpus, Decimal) else None,
            how="from the smallest to the largest number of replicas",
            confidence="assumed usage",
        ),
    )


def _container_job(resource: RecordedResource, context: Context) -> Outcome:
    """By its runs, as a function is; with a GPU profile unpriced until somebody states them."""
    profile = _profile(resource, context)
    accelerated = isinstance(profile, Unknown) or "gpu" in profile.lower()
    return (_GPU_JOB if accelerated else _JOB)(resource, context)


TABLE: Final[dict[str, Pricer]] = {
    "azure-native:batch:Pool": _batch_pool,
    "azure-native:azurefleet:Fleet": _fleet,
    "azure-native:compute:CapacityReservation": _reservation,
    "azure-native:app:ContainerApp": _container_app,
    "azure-native:app:Job": _container_job,
}
