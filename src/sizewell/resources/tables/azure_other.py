"""Prices of Azure storage and network: storage accounts, gateways, addresses, load balancers, vaults, workspaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stores import stored
from sizewell.resources.values import get, items, number, text


def _account(resource: RecordedResource, context: Context) -> Outcome:
    if resource.inputs.get("kind") == "FileStorage":
        return ()  # holds file shares alone: what they provision is a row of meters.csv
    sku = text(get(resource.inputs, "sku", "name"), "Standard_LRS")
    if isinstance(sku, Unknown):
        return (context.unpriced(resource, "object storage", "the redundancy is known only after deployment"),)
    tier, copies = text(resource.inputs.get("accessTier"), "Hot"), sku.rsplit("_", 1)[-1].lower()
    if isinstance(tier, Unknown):
        return (context.unpriced(resource, "object storage", "the access tier is known only after deployment"),)
    premium = sku.startswith("Premium")
    key = f"blob.{'premium' if premium else tier.lower()}_{copies}"
    return stored(resource, context, key=key, what=f"object storage, {key}")


def _classic_account(resource: RecordedResource, context: Context) -> Outcome:
    """The same by the other provider, which states tier and redundancy apart."""
    inputs = resource.inputs
    tier, copies = text(inputs.get("accountTier")), text(inputs.get("accountReplicationType"))
    sku = UNKNOWN if isinstance(tier, Unknown) or isinstance(copies, Unknown) else f"{tier}_{copies}"
    stated = {"kind": inputs.get("accountKind"), "sku": {"name": sku}, "accessTier": inputs.get("accessTier")}
    return _account(replace(resource, inputs=stated), context)


def _nat(resource: RecordedResource, context: Context) -> Outcome:
    return (
        context.standing(resource, what="NAT gateway", key="nat.hour"),
        *context.by_use(resource, measure="processed_gigabytes", what="NAT gateway data", key="nat.gb", unit="GB"),
    )


def _address(resource: RecordedResource, context: Context) -> Outcome:
    if resource.inputs.get("publicIPAddressVersion") == "IPv6":
        return Free("IPv6 addresses are free")
    if isinstance(resource.inputs.get("publicIPPrefix"), Mapping):
        return Free("billed with the prefix that it is of")
    everywhere = get(resource.inputs, "sku", "tier") == "Global"
    key = "ipv4.global_hour" if everywhere else "ipv4.hour"
    return (context.standing(resource, what="public IPv4 address", key=key),)


def _balancer(resource: RecordedResource, context: Context) -> Outcome:
    """A standard balancer by its rules, those that balance and those for outbound traffic; NAT rules are free."""
    sku = text(get(resource.inputs, "sku", "name"), "Basic")
    if sku == "Basic":
        return Free("basic load balancers are free")
    data = context.by_use(
        resource, measure="processed_gigabytes", what="load balancer data", key="lb.standard.gb", unit="GB"
    )
    if isinstance(sku, Unknown) or sku == "Gateway":
        return (context.standing(resource, what="gateway load balancer", key="lb.gateway.hour"), *data)
    listed = [items(resource.inputs.get(key)) for key in ("loadBalancingRules", "outboundRules")]
    if any(isinstance(each, Unknown) for each in listed):
        return (context.unpriced(resource, "load balancer rules", "the rules are known only after deployment"), *data)
    rules = sum(len(each) for each in listed if isinstance(each, tuple))
    if not rules:
        return data or Free("a balancer without rules is free")
    lines = [context.standing(resource, what=f"load balancer rules, 1 to {_RULES_TOGETHER}", key="lb.standard.hour")]
    if rules > _RULES_TOGETHER:
        more = rules - _RULES_TOGETHER
        what = f"load balancer rules above {_RULES_TOGETHER}"
        lines.append(context.standing(resource, what=what, key="lb.standard.rule_hour", count=more))
    return (*lines, *data)


def _logs(resource: RecordedResource, context: Context) -> Outcome:
    lines = context.by_use(resource, measure="ingested_gigabytes", what="log ingestion", key="logs.ingested", unit="GB")
    return lines or Free("billed by what is written, which is not stated")


def _private_endpoint(resource: RecordedResource, context: Context) -> Outcome:
    return (context.standing(resource, what="private endpoint", key="private_endpoint.hour"),)


def _registry(resource: RecordedResource, context: Context) -> Outcome:
    sku = text(get(resource.inputs, "sku", "name"), "Basic")
    if isinstance(sku, Unknown):
        return (context.unpriced(resource, "container registry", "the tier is known only after deployment"),)
    copies = items(resource.inputs.get("georeplications"))  # of the other provider: each is billed as a registry
    if isinstance(copies, Unknown):
        return (context.unpriced(resource, "container registry", "its replications are known only after deployment"),)
    many = 1 + len(copies)
    return (context.standing(resource, what=f"container registry, {sku}", key=f"acr.{sku.lower()}", count=many),)


def _vault(resource: RecordedResource, context: Context) -> Outcome:
    del resource, context
    return Free("billed by operation, under a dollar a month at this use")


def _key(resource: RecordedResource, context: Context) -> Outcome:
    """A key in software bills by operation; one in hardware by the month, RSA of 2,048 bits less than others."""
    kind = text(get(resource.inputs, "properties", "kty"))
    bits = number(get(resource.inputs, "properties", "keySize", default=2048))
    if isinstance(kind, Unknown):
        return (context.unpriced(resource, "key", "its kind is known only after deployment"),)
    if not kind.upper().endswith("-HSM"):
        return _vault(resource, context)
    key = "keyvault.hsm_key" + ("" if kind.upper() == "RSA-HSM" and bits == _PLAIN_BITS else ".advanced")
    return (context.monthly(resource, what=f"key in hardware, {kind}", key=key),)


def _zone(resource: RecordedResource, context: Context) -> Outcome:
    return (context.monthly(resource, what="private DNS zone", key="private_dns.zone", region="all"),)


def _public_zone(resource: RecordedResource, context: Context) -> Outcome:
    if resource.inputs.get("zoneType") == "Private":
        return _zone(resource, context)
    return (context.monthly(resource, what="DNS zone", key="dns.zone", region="all"),)


_PLAIN_BITS: Final = 2048  # of an RSA key at the lower price
_RULES_TOGETHER: Final = 5  # rules of a balancer that one price covers
TABLE: Final[dict[str, Pricer]] = {
    "azure-native:storage:StorageAccount": _account,
    "azure:storage/account:Account": _classic_account,
    "azure-native:network:NatGateway": _nat,
    "azure-native:network:PublicIPAddress": _address,
    "azure-native:network:LoadBalancer": _balancer,
    "azure-native:network:PrivateEndpoint": _private_endpoint,
    "azure-native:operationalinsights:Workspace": _logs,
    "azure-native:containerregistry:Registry": _registry,
    "azure-native:privatedns:PrivateZone": _zone,
    "azure-native:dns:Zone": _public_zone,
    "azure-native:keyvault:Vault": _vault,
    "azure-native:keyvault:Key": _key,
    "azure-native:keyvault:Secret": _vault,
}
