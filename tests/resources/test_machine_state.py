"""What a machine's state, its cluster and its unit of size say: verdicts on programs that state them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sizewell.resources import Plan, RecordedResource, facts
from sizewell.resources.stackfacts import Pool
from sizewell.sizing.catalog import load


def make(kind: str, name: str, inputs: dict[str, Any], **depends: RecordedResource) -> RecordedResource:
    refs = {key: (other.urn,) for key, other in depends.items()}
    return RecordedResource(
        urn=f"urn:pulumi:dev::t::{kind}::{name}", type=kind, name=name, inputs=inputs, property_dependencies=refs
    )


def pool(*resources: RecordedResource) -> Pool:
    (seen,) = facts(Plan(project="t", stack="dev", resources=resources), load(), on=date(2026, 11, 21)).pools
    return seen


@pytest.mark.parametrize(("state", "most"), [("RUNNING", 1), ("TERMINATED", 0), ("SUSPENDED", 0)])
def test_a_machine_that_is_switched_off_is_none(state: str, most: int) -> None:
    inputs = {"machineType": "a2-highgpu-2g", "zone": "us-central1-a", "desiredStatus": state}
    seen = pool(make("gcp:compute/instance:Instance", "t", inputs))
    assert (seen.nodes_min, seen.nodes_wanted, seen.nodes_max) == (most, most, most)


@pytest.mark.parametrize("stated", [True, False])
def test_new_node_pools_take_the_metadata_mode_of_their_cluster(stated: bool) -> None:
    identities = {"workloadIdentityConfig": {"workloadPool": "acme.svc.id.goog"}} if stated else {}
    cluster = make("gcp:container/cluster:Cluster", "c", {"removeDefaultNodePool": True, **identities})
    nodes = {"cluster": "c", "nodeConfig": {"machineType": "g2-standard-4"}}
    seen = pool(cluster, make("gcp:container/nodePool:NodePool", "gpu", nodes, cluster=cluster))
    assert seen.workload_identity is stated


@pytest.mark.parametrize(("vcpus", "machines"), [(0, 0), (96, 3), (97, 4)])
def test_a_batch_environment_counts_machines_and_not_their_vcpus(vcpus: int, machines: int) -> None:
    compute = {"type": "EC2", "instanceTypes": ["p3.8xlarge"], "minVcpus": vcpus, "maxVcpus": 128}
    seen = pool(make("aws:batch/computeEnvironment:ComputeEnvironment", "b", {"computeResources": compute}))
    assert (seen.nodes_min, seen.nodes_max) == (machines, 4)
