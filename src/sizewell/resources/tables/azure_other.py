"""Prices of Azure storage and network: storage accounts, gateways, addresses, load balancers, vaults, workspaces."""

from __future__ import annotations

from typing import Final

from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.stores import stored
from sizewell.resources.values import get, text


def _account(resource: RecordedResource, context: Context) -> Outcome:
    sku = text(get(resource.inputs, "sku", "name"), "Standard_LRS")
    if isinstance(sku, Unknown):
        return (context.unpriced(resource, "object storage", "the redundancy is known only after deployment"),)
    key = f"blob.hot_{sku.rsplit('_', 1)[-1].lower()}"
    return stored(resource, context, key=key, what=f"object storage, {key}")


def _nat(resource: RecordedResource, context: Context) -> Outcome:
    return (
        context.standing(resource, what="NAT gateway", key="nat.hour"),
        *context.by_use(resource, measure="processed_gigabytes", what="NAT gateway data", key="nat.gb", unit="GB"),
    )


def _address(resource: RecordedResource, context: Context) -> Outcome:
    return (context.standing(resource, what="public IPv4 address", key="ipv4.hour"),)


def _balancer(resource: RecordedResource, context: Context) -> Outcome:
    sku = text(get(resource.inputs, "sku", "name"), "Basic")
    if sku == "Basic":
        return Free("basic load balancers are free")
    return (
        context.standing(resource, what="load balancer rules", key="lb.standard.hour"),
        *context.by_use(
            resource, measure="processed_gigabytes", what="load balancer data", key="lb.standard.gb", unit="GB"
        ),
    )


def _logs(resource: RecordedResource, context: Context) -> Outcome:
    lines = context.by_use(resource, measure="ingested_gigabytes", what="log ingestion", key="logs.ingested", unit="GB")
    return lines or Free("billed by what is written, which is not stated")


def _private_endpoint(resource: RecordedResource, context: Context) -> Outcome:
    return (context.standing(resource, what="private endpoint", key="private_endpoint.hour"),)


def _registry(resource: RecordedResource, context: Context) -> Outcome:
    sku = text(get(resource.inputs, "sku", "name"), "Basic")
    if isinstance(sku, Unknown):
        return (context.unpriced(resource, "container registry", "the tier is known only after deployment"),)
    return (context.standing(resource, what=f"container registry, {sku}", key=f"acr.{sku.lower()}"),)


def _vault(resource: RecordedResource, context: Context) -> Outcome:
    del resource, context
    return Free("billed by operation, under a dollar a month at this use")


def _zone(resource: RecordedResource, context: Context) -> Outcome:
    return (context.monthly(resource, what="private DNS zone", key="private_dns.zone", region="all"),)


TABLE: Final[dict[str, Pricer]] = {
    "azure-native:storage:StorageAccount": _account,
    "azure-native:network:NatGateway": _nat,
    "azure-native:network:PublicIPAddress": _address,
    "azure-native:network:LoadBalancer": _balancer,
    "azure-native:network:PrivateEndpoint": _private_endpoint,
    "azure-native:operationalinsights:Workspace": _logs,
    "azure-native:containerregistry:Registry": _registry,
    "azure-native:privatedns:PrivateZone": _zone,
    "azure-native:keyvault:Vault": _vault,
    "azure-native:keyvault:Key": _vault,
    "azure-native:keyvault:Secret": _vault,
}
