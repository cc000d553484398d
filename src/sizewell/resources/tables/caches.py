"""Prices of ElastiCache: nodes by engine and class, in a cluster of one engine or in shards with replicas."""

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


AWS: Final[Mapping[str, Pricer]] = {
    "aws:elasticache/cluster:Cluster": _cluster,
    GROUP: _group,
}
