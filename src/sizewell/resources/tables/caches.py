"""Prices of caches: nodes by engine and class, in a cluster of one engine or in shards with replicas, or gigabytes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import get, items, number, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval

GROUP: Final = "aws:elasticache/replicationGroup:ReplicationGroup"
_NOT_YET: Final = "its engine, class or number of nodes: known only after deployment"


def _nodes(resource: RecordedResource, context: Context, nodes: Decimal | Unknown) -> Outcome:
    engine, kind = text(resource.inputs.get("engine"), "redis"), text(resource.inputs.get("nodeType"))
    if isinstance(engine, Unknown) or isinstance(kind, Unknown) or isinstance(nodes, Unknown):
        return (context.unpriced(resource, "cache nodes", _NOT_YET),)
    if not kind:
        return (context.unpriced(resource, "cache nodes", "their class is that of another resource"),)
    key = f"elasticache.{engine}.{kind}"
    hours = Interval.exactly(amount(nodes * HOURS_PER_MONTH))
    return (
        context.fee(resource, what=f"cache node, {key}", key=key, unit="hour", quantity=hours, how="around the clock"),
    )


def _cluster(resource: RecordedResource, context: Context) -> Outcome:
    groups = context.graph.referenced(resource, "replicationGroupId", GROUP)
    if isinstance(resource.inputs.get("replicationGroupId"), str) or (not isinstance(groups, Unknown) and groups):
        return Free("a replica of a group, which states its nodes")
    return _nodes(resource, context, _stated(resource, "numCacheNodes", 1))


def _group(resource: RecordedResource, context: Context) -> Outcome:
    if resource.inputs.get("numCacheClusters") is not None:
        return _nodes(resource, context, _stated(resource, "numCacheClusters", 1))
    listed = items(resource.inputs.get("nodeGroupConfigurations"))
    if isinstance(listed, tuple) and listed and resource.inputs.get("replicasPerNodeGroup") is None:
        counts = [number(get(shard, "replicaCount", default=0)) for shard in listed]
        known = [count for count in counts if isinstance(count, Decimal)]
        return _nodes(resource, context, sum(known, Decimal(len(known))) if len(known) == len(counts) else UNKNOWN)
    shards, replicas = _stated(resource, "numNodeGroups", 1), _stated(resource, "replicasPerNodeGroup", 0)
    if isinstance(shards, Unknown) or isinstance(replicas, Unknown):
        return (context.unpriced(resource, "cache nodes", _NOT_YET),)
    return _nodes(resource, context, shards * (1 + replicas))


def _stated(resource: RecordedResource, key: str, default: int) -> Decimal | Unknown:
    value = number(resource.inputs.get(key))
    return Decimal(default) if value is None else value


def _azure(resource: RecordedResource, context: Context) -> Outcome:
    """Azure Cache for Redis: one node, a pair, or in the Premium tier each shard with its replicas."""
    name, family, capacity = (text(get(resource.inputs, "sku", key)) for key in ("name", "family", "capacity"))
    shards = _stated(resource, "shardCount", 1)
    replicas = _stated(resource, "replicasPerPrimary", 1)
    if resource.inputs.get("replicasPerPrimary") is None:
        replicas = _stated(resource, "replicasPerMaster", 1)
    counts = (name, family, capacity, shards, replicas)
    if any(isinstance(each, Unknown) for each in counts) or not isinstance(shards, Decimal):
        return (context.unpriced(resource, "cache nodes", _NOT_YET),)
    nodes = Decimal(1) if str(name).lower() == "basic" else Decimal(2)
    if str(name).lower() == "premium" and isinstance(replicas, Decimal):
        nodes = max(shards, Decimal(1)) * (1 + replicas)
    key = f"redis.{name}.{family}{capacity}".lower()
    hours = Interval.exactly(amount(nodes * HOURS_PER_MONTH))
    return (
        context.fee(resource, what=f"cache node, {key}", key=key, unit="hour", quantity=hours, how="around the clock"),
    )


_CAPACITY_TIERS: Final = ((101, "m5"), (36, "m4"), (11, "m3"), (5, "m2"), (0, "m1"))  # from how many GB on


def _google(resource: RecordedResource, context: Context) -> Outcome:
    """Memorystore for Redis: each gigabyte at the price of its capacity tier, again on each read replica."""
    tier, gigabytes = text(resource.inputs.get("tier"), "BASIC"), number(resource.inputs.get("memorySizeGb"))
    replicas = _stated(resource, "replicaCount", 1 if tier == "STANDARD_HA" else 0)
    if isinstance(tier, Unknown) or not isinstance(gigabytes, Decimal) or isinstance(replicas, Unknown):
        return (context.unpriced(resource, "cache", "its tier or size is not known"),)
    if replicas > 1 or resource.inputs.get("readReplicasMode") == "READ_REPLICAS_ENABLED":
        return (context.unpriced(resource, "cache with read replicas", "its nodes have no price here"),)
    size = next(name for least, name in _CAPACITY_TIERS if gigabytes >= least)
    key = f"redis.{'standard' if tier == 'STANDARD_HA' else 'basic'}.{size}.gib_hour"
    hours = Interval.exactly(amount(gigabytes * HOURS_PER_MONTH))
    return (context.fee(resource, what=f"cache, {key}", key=key, unit="GiB-hour", quantity=hours),)


AWS: Final[Mapping[str, Pricer]] = {
    "aws:elasticache/cluster:Cluster": _cluster,
    GROUP: _group,
}
AZURE: Final[Mapping[str, Pricer]] = {"azure-native:redis:Redis": _azure}
GCP: Final[Mapping[str, Pricer]] = {"gcp:redis/instance:Instance": _google}
