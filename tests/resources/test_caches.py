"""ElastiCache in a preview: each node at the price of its engine and class in us-east-1."""

from decimal import Decimal

import pytest

from sizewell.resources import UNKNOWN
from sizewell.sizing.money import Unpriced
from tests.resources.test_ai_types import make, priced

CLUSTER, GROUP = "aws:elasticache/cluster:Cluster", "aws:elasticache/replicationGroup:ReplicationGroup"


@pytest.mark.parametrize(
    ("kind", "inputs", "nodes"),
    [
        (CLUSTER, {"engine": "memcached", "numCacheNodes": 3}, 3),
        (CLUSTER, {"engine": "redis"}, 1),
        (GROUP, {"numCacheClusters": 2}, 2),
        (GROUP, {"numNodeGroups": 3, "replicasPerNodeGroup": 2}, 9),
        (GROUP, {"nodeGroupConfigurations": [{"replicaCount": 1}, {"replicaCount": 2}]}, 5),
    ],
)
def test_a_cache_bills_each_of_its_nodes(kind, inputs, nodes):
    pricing = priced(make(kind, {"nodeType": "cache.m5.large", **inputs}))
    assert pricing.cost().run_rate.usd_per_month.expected == Decimal("0.156") * nodes * 730


def test_a_cache_whose_nodes_are_not_known_or_stand_elsewhere():
    (line,) = priced(make(GROUP, {"nodeType": "cache.m5.large", "numNodeGroups": UNKNOWN})).items
    assert isinstance(line.price, Unpriced)
    assert priced(make(CLUSTER, {"replicationGroupId": "group"})).items == ()
