"""What pods ask for by name, sizes of clouds that nobody reads, and who may log in to nodes."""

from __future__ import annotations

from typing import Any

import pytest

from sizewell.resources import UNKNOWN, Plan, RecordedResource, facts
from sizewell.resources.graph import Graph
from sizewell.resources.readers import devices
from sizewell.resources.standing import named
from sizewell.sizing.catalog import load


@pytest.mark.parametrize(
    ("name", "amount", "asked"),
    [
        ("nvidia.com/GRID_A100-10C", "1", ("1",)),
        ("nvidia.com/GH100_H100_SXM5_80GB", "1", ("1",)),
        ("nvidia.com/gpumem", "3000", (1,)),
        ("nvidia.com/rdma_shared_device_a", "1", ()),
        ("nvidia.com/hostdev", "1", ()),
        ("volcano.sh/vgpu-number", "1", ("1",)),
        ("volcano.sh/vgpu-memory", "3000", (1,)),
        ("tencent.com/vcuda-core", "0", ("0",)),
        ("cambricon.com/mlu370", "1", ("1",)),
        ("koordinator.sh/gpu-memory", "3000", (1,)),
        ("vpc.amazonaws.com/efa", "4", ()),
        ("somebody.example/frobnicator", "1", (UNKNOWN,)),
        ("somebody.example/frobnicator", "0", ()),
        ("ephemeral-storage", "1Gi", ()),
        ("hugepages-2Mi", "1Gi", ()),
        ("cpu", UNKNOWN, ()),
    ],
)
def test_what_a_name_asks_for(name: str, amount: Any, asked: tuple[Any, ...]) -> None:
    assert devices.of({name: amount}) == asked


def test_a_scheduler_that_reads_parts_of_devices_elsewhere_is_not_known() -> None:
    graph = Graph(Plan(project="p", stack="s", resources=()))
    spec = {"containers": [{"image": "x"}]}
    assert devices.asked(spec, graph) == 0
    assert devices.asked({**spec, "schedulerName": "runai-scheduler"}, graph) is UNKNOWN


@pytest.mark.parametrize(
    ("key", "size", "known"),
    [
        ("flavorId", "p2s.2xlarge.8", True),
        ("flavorId", "s6.2xlarge.8", False),
        ("flavorId", "t2-90", True),
        ("flavorId", "b2-90", False),
        ("shape", "BM.GPU4.8", True),
        ("nodeType", "L4-1-24G", True),
        ("instanceType", "GN10Xp.20XLARGE320", True),
        ("instanceType", "PNV5b.48XLARGE768", True),
        ("instanceType", "S5.MEDIUM8", False),
        ("instanceType", "m5.2xlarge", False),
    ],
)
def test_sizes_of_other_clouds(key: str, size: str, known: bool) -> None:
    assert bool(named({key: size})) is known


@pytest.mark.parametrize(
    ("access", "world"),
    [
        ({"ec2SshKey": "k"}, True),
        ({"ec2SshKey": "k", "sourceSecurityGroupIds": ["sg-1"]}, False),
        ({"ec2SshKey": "k", "sourceSecurityGroupIds": UNKNOWN}, UNKNOWN),
        (None, None),
    ],
)
def test_who_may_log_in_to_nodes_of_eks(access: Any, world: Any) -> None:
    kind = "aws:eks/nodeGroup:NodeGroup"
    inputs = {"clusterName": "c", "instanceTypes": ["g6e.12xlarge"], "remoteAccess": access}
    pool = RecordedResource(urn=f"urn:pulumi:s::p::{kind}::g", type=kind, name="g", inputs=inputs)
    openings = facts(Plan(project="p", stack="s", resources=(pool,)), load()).openings
    assert [(each.ports, each.world) for each in openings] == ([] if world is None else [("22", world)])
