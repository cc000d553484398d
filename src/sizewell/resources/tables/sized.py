"""Types whose fee goes by the size of something else: the memory of a function, the instances of a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import get, items, number, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem

_FUNCTION: Final = "aws:lambda/function:Function"
_UNITS_OF_AN_INSTANCE: Final = (
    10  # learn.microsoft.com/azure/application-gateway/application-gateway-autoscaling-zone-redundant
)


def _kept_ready(resource: RecordedResource, context: Context) -> Outcome:
    """Instances of a function that stay ready bill the memory that it has, on the processor that it runs on."""
    what = "provisioned concurrency"
    functions = context.graph.referenced(resource, "functionName", _FUNCTION)
    if isinstance(functions, Unknown) or len(functions) != 1:
        return (context.unpriced(resource, what, "it goes by the memory of its function, which is not in this plan"),)
    inputs = functions[0].inputs
    megabytes = number(get(inputs, "memorySize", default=128))
    instances = number(resource.inputs.get("provisionedConcurrentExecutions"))
    processor = text(get(inputs, "architectures", 0), "x86_64")
    if not isinstance(megabytes, Decimal) or not isinstance(instances, Decimal) or isinstance(processor, Unknown):
        return (context.unpriced(resource, what, "how much is known only after deployment"),)
    arm = "arm." if processor == "arm64" else ""
    line = context.fee(
        resource,
        what=f"{what}, {instances:f} x {megabytes:f} MB",
        key=f"lambda.provisioned.{arm}gb_hour",
        unit="GB-hour",
        quantity=Interval.exactly(amount(instances * megabytes / 1024 * HOURS_PER_MONTH)),
        how="around the clock",
    )
    return (line,)


def _prefix(resource: RecordedResource, context: Context) -> Outcome:
    """Every address of a prefix bills by the hour."""
    length, version = number(resource.inputs.get("prefixLength")), text(resource.inputs.get("publicIPAddressVersion"))
    what = f"public prefix{f' /{length:f}' if isinstance(length, Decimal) else ''}"
    if not isinstance(length, Decimal) or isinstance(version, Unknown):
        return (context.unpriced(resource, what, "it goes by prefixLength, which is not known"),)
    if version.lower() == "ipv6":
        return (context.unpriced(resource, what, "what a prefix of IPv6 costs is not known"),)
    addresses = Decimal(2) ** (32 - length)
    line = context.fee(
        resource,
        what=f"{what}, {addresses:f} addresses",
        key="ipv4.prefix.address_hour",
        unit="hour",
        quantity=Interval.exactly(amount(addresses * HOURS_PER_MONTH)),
        how="around the clock",
    )
    return (line,)


def _gateway(resource: RecordedResource, context: Context) -> Outcome:
    """An application gateway: of version 2 a price by the hour and capacity units, before that each instance."""
    name = text(get(resource.inputs, "sku", "name"))
    instances = number(get(resource.inputs, "sku", "capacity"))
    if isinstance(name, Unknown) or not name:
        return (context.unpriced(resource, "application gateway", "its SKU is not known"),)
    key, what = f"appgw.{name.lower()}", f"application gateway, {name}"
    newer = name.lower().endswith("_v2")
    each = Decimal(1) if newer or name.lower() == "basic" or instances is None else instances
    if isinstance(each, Unknown):
        return (context.unpriced(resource, what, "how many instances it has is known only after deployment"),)
    lines = [_hourly(resource, context, what, f"{key}.hour", Interval.exactly(each))]
    if not newer:
        return tuple(lines)
    scaled = get(resource.inputs, "autoscaleConfiguration")
    units = "capacity units"
    if scaled is not None or instances is None:
        least = number(get(scaled, "minCapacity", default=0))
        context.outside.append(
            f"{context.graph.component(resource)}: {units} by use ({resource.name}): not stated, not in totals"
        )
        instances = least
    if not isinstance(instances, Decimal):
        lines.append(context.unpriced(resource, units, "how many instances it has is known only after deployment"))
    elif instances:
        reserved = Interval.exactly(instances * _UNITS_OF_AN_INSTANCE)
        said = f"{units}, {_UNITS_OF_AN_INSTANCE} for each instance"
        lines.append(_hourly(resource, context, said, f"{key}.capacity_unit_hour", reserved))
    return tuple(lines)


def _hourly(resource: RecordedResource, context: Context, what: str, key: str, units: Interval) -> LineItem:
    hours = units.times(HOURS_PER_MONTH)
    return context.fee(resource, what=what, key=key, unit="hour", quantity=hours, how="around the clock")


def _circuit(resource: RecordedResource, context: Context) -> Outcome:
    """A circuit bills its bandwidth, by tier and by whether its data is metered."""
    tier, family = (text(get(resource.inputs, "sku", part)) for part in ("tier", "family"))
    megabits = number(get(resource.inputs, "serviceProviderProperties", "bandwidthInMbps"))
    if get(resource.inputs, "expressRoutePort") is not None and megabits is None:
        gigabits = number(resource.inputs.get("bandwidthInGbps"))
        if str(tier).lower() in ("local", "standard") and isinstance(gigabits, Decimal):
            return Free("a circuit on a port, which is billed")
    if isinstance(tier, Unknown) or isinstance(family, Unknown) or not isinstance(megabits, Decimal) or not tier:
        return (context.unpriced(resource, "ExpressRoute circuit", "its tier, data plan or bandwidth is not known"),)
    key = f"expressroute.{tier}.{family or 'metereddata'}.{megabits:f}.month".lower()
    if (family or "metereddata").lower() == "metereddata":
        name = context.graph.component(resource)
        context.outside.append(f"{name}: outbound data of the circuit ({resource.name}): not stated, not in totals")
    return (context.monthly(resource, what=f"ExpressRoute circuit, {megabits:f} Mbit/s", key=key),)


def _protocols(resource: RecordedResource, context: Context) -> Outcome:
    """A file transfer server bills each of its protocols; SFTP where it states none."""
    listed = items(resource.inputs.get("protocols"))
    what = "file transfer server, for each protocol"
    if isinstance(listed, Unknown):
        return (context.unpriced(resource, what, "how many protocols it has is known only after deployment"),)
    return (context.standing(resource, what=what, key="transfer.protocol.hour", count=max(len(listed), 1)),)


_NODE_TEMPLATE: Final = "gcp:compute/nodeTemplate:NodeTemplate"


def _sole_tenant(resource: RecordedResource, context: Context) -> Outcome:
    """Sole-tenant nodes bill the type that their template names."""
    templates = context.graph.referenced(resource, "nodeTemplate", _NODE_TEMPLATE)
    nodes = number(get(resource.inputs, "initialSize", default=get(resource.inputs, "autoscalingPolicy", "minNodes")))
    kind = UNKNOWN if isinstance(templates, Unknown) or len(templates) != 1 else templates[0].inputs.get("nodeType")
    what = "sole-tenant nodes"
    if not isinstance(kind, str) or not isinstance(nodes, Decimal):
        return (context.unpriced(resource, what, "their type or number is not in this plan"),)
    if not nodes:
        return Free("nothing of it is ordered")
    return (_hourly(resource, context, f"{what}, {kind}", f"sole_tenant.{kind}.hour".lower(), Interval.exactly(nodes)),)


def _commitment(resource: RecordedResource, context: Context) -> Outcome:
    """A commitment bills the vCPUs, gigabytes and accelerators that it is to, used or not."""
    plan, family = (text(resource.inputs.get(key), default) for key, default in (("plan", ""), ("type", "general")))
    lines: list[LineItem] = []
    for each in _listed(resource.inputs.get("resources")):
        kind, many = text(get(each, "type")), number(get(each, "amount"))
        what = f"commitment to {kind}"
        if not isinstance(many, Decimal) or isinstance(kind, Unknown) or isinstance(plan, Unknown) or family is UNKNOWN:
            lines.append(context.unpriced(resource, what, "how much is known only after deployment"))
            continue
        accelerator = text(get(each, "acceleratorType")) if kind.upper() == "ACCELERATOR" else ""
        units = many / 1024 if kind.upper() == "MEMORY" else many  # megabytes
        named = f"{kind}.{accelerator}" if accelerator else kind
        key = f"commitment.{family}.{plan}.{named}.hour".lower()
        lines.append(_hourly(resource, context, what, key, Interval.exactly(units)))
    return tuple(lines) or (context.unpriced(resource, "commitment", "what it is to is known only after deployment"),)


def _containers(resource: RecordedResource, context: Context) -> Outcome:
    """A container group bills the CPU, memory and GPUs that its containers request, as long as it runs."""
    what = "container group"
    amounts: dict[tuple[str, str], Decimal] = {}
    for container in _listed(resource.inputs.get("containers")):
        requests = get(
            container, "resources", "requests", default=get(container, "properties", "resources", "requests")
        )
        gpu = text(get(requests, "gpu", "sku"))
        for name, key, stated in (
            ("vCPUs", "vcpu_hour", get(requests, "cpu", default=1)),
            ("memory", "memory_gb_hour", get(requests, "memoryInGB", default=Decimal("1.5"))),
            (f"{gpu} GPUs", f"gpu.{gpu}.hour".lower(), get(requests, "gpu", "count", default=0)),
        ):
            each = number(stated)
            if not isinstance(each, Decimal) or isinstance(gpu, Unknown):
                return (context.unpriced(resource, what, "how much is known only after deployment"),)
            amounts[name, key] = amounts.get((name, key), Decimal(0)) + each
    if not amounts:
        return (context.unpriced(resource, what, "its containers are known only after deployment"),)
    sku, priority = (text(resource.inputs.get(part)) for part in ("sku", "priority"))
    if isinstance(sku, Unknown) or isinstance(priority, Unknown):
        return (context.unpriced(resource, what, "its SKU or priority is known only after deployment"),)
    kinds = (each.lower() for each in (sku, priority) if each.lower() not in ("", "standard", "regular"))
    prefix = ".".join(("container_instances", *kinds))
    ends = str(resource.inputs.get("restartPolicy", "Always")) != "Always"
    lines = []
    for (name, key), each in amounts.items():
        if each:
            hours = Interval(Decimal(0), each, each) if ends else Interval.exactly(each)
            lines.append(_hourly(resource, context, f"{what}, {name}", f"{prefix}.{key}", hours))
    return tuple(lines)


def _listed(value: object) -> tuple[object, ...]:
    listed = items(value)
    return () if isinstance(listed, Unknown) else tuple(listed)


AWS: Final[Mapping[str, Pricer]] = {
    "aws:lambda/provisionedConcurrencyConfig:ProvisionedConcurrencyConfig": _kept_ready,
    "aws:transfer/server:Server": _protocols,
}
GCP: Final[Mapping[str, Pricer]] = {
    "gcp:compute/nodeGroup:NodeGroup": _sole_tenant,
    "gcp:compute/regionCommitment:RegionCommitment": _commitment,
}
AZURE: Final[Mapping[str, Pricer]] = {
    "azure-native:containerinstance:ContainerGroup": _containers,
    "azure-native:network:PublicIPPrefix": _prefix,
    "azure-native:network:ApplicationGateway": _gateway,
    "azure-native:network:ExpressRouteCircuit": _circuit,
}
