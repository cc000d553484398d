"""Programs of users around our components: what the documentation lets them write breaks no mandatory rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
import pytest
from ends import EXPIRIES

from sizewell.components.aws.network import Network
from sizewell.components.aws.nodes import GpuNodeGroup
from sizewell.policy.config import DEFAULT_FILE, read_config
from sizewell.policy.engine import evaluate as judge
from sizewell.recording.evaluate import evaluate
from sizewell.resources import facts, price
from sizewell.sizing.catalog import load

ON = date(2026, 11, 26)
OWNED = {"environment": "prod", "owner": "research", "cost_center": "ml-1", "account": "123456789012"}
CONFIG = {
    "aws:region": "us-east-1",
    "aws:allowedAccountIds": '["123456789012"]',
    "azure-native:location": "eastus",
    "azure-native:subscriptionId": "0000",
}
GUARD = {"signal": "accelerator_utilization", "min_utilization_percent": 5, "window_s": 2700, "grace_s": 3600, "action": "scale-to-zero"}  # fmt: skip


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., dict[str, tuple[str, str]]]:
    """(level, message) by rule, of what is said of a program."""
    (tmp_path / "Pulumi.yaml").write_text("name: team\nruntime: python\n", encoding="utf-8")
    (tmp_path / "Pulumi.prod.yaml").write_text("config: {}\n", encoding="utf-8")

    def of(program: Callable[[], None]) -> dict[str, tuple[str, str]]:
        plan = evaluate(tmp_path, "prod", program=program, config=CONFIG)
        stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
        report = judge(stated, read_config(DEFAULT_FILE), on=ON)
        return {result.rule: (result.level, result.message) for result in (*report.results, *report.elsewhere)}

    return of


def group(**changes: Any) -> None:
    provider = aws.Provider("us-east-1", region="us-east-1", allowed_account_ids=["123456789012"])
    options = pulumi.ResourceOptions(provider=provider)
    zones = ["us-east-1a", "us-east-1b"]
    network = Network("net", {**OWNED, "region": "us-east-1", "zones": zones}, options)
    args: dict[str, Any] = {
        **OWNED,
        "region": "us-east-1",
        "zones": zones[:1],
        "vpc_id": network.vpc_id,
        "vpc_cidr": "10.40.0.0/16",
        "s3_prefix_list_id": network.s3_prefix_list_id,
        "kms_key_arn": network.kms_key_arn,
        "subnet_ids": network.subnet_ids.apply(lambda ids: ids[:1]),
        "instance_type": "g6.xlarge",
        "capacity_mode": "on-demand",
        "nodes_min": 0,
        "nodes_initial": 0,
        "nodes_max": 2,
        "disk_gib": 200,
        "guard": GUARD,
        **changes,
    }
    GpuNodeGroup("train", args, options)


def test_a_subnet_taken_out_of_a_list_is_not_counted_as_all_of_them(told):
    """Which of the network's two subnets a function takes is known when they stand: never before, and never both."""
    found = told(lambda: group(gang=True, instance_type="p5.48xlarge"))
    for rule in ("built-as-declared", "gang-in-one-zone"):
        assert "spread over" not in found.get(rule, ("", ""))[1], found[rule]


def test_a_list_of_subnets_that_is_known_is_counted(told):
    found = told(lambda: group(subnet_ids=["subnet-1", "subnet-2"]))
    assert "2 zones" in found["built-as-declared"][1]


def test_a_pool_whose_machines_write_to_a_store_has_one(told):
    writer = {"bucket": "petsnap-checkpoints", "key_alias": "alias/petsnap-checkpoints"}
    bare = told(lambda: group(capacity_mode="spot"))
    assert bare["spot-without-checkpoints"][0] == "mandatory"
    assert "spot-without-checkpoints" not in told(lambda: group(capacity_mode="spot", writer=writer))


def clusters(*, operators_on: str, pools_on: str) -> None:
    made = {}
    for name in ("a", "b"):
        cluster = aws.eks.Cluster(name, role_arn="r", vpc_config={"subnet_ids": ["s"]})
        made[name] = cluster
    inside = kubernetes.Provider("inside", kubeconfig=made[operators_on].endpoint.apply(lambda _: "{}"))
    kubernetes.helm.v3.Release(
        "gpu", chart="gpu-operator", version="v25.10.1", values={"driver": {"enabled": True}},
        opts=pulumi.ResourceOptions(provider=inside),
    )  # fmt: skip
    aws.eks.NodeGroup(
        "pool", cluster_name=made[pools_on].name, node_role_arn="r", subnet_ids=["s"], instance_types=["g6.xlarge"],
        ami_type="AL2023_x86_64_NVIDIA", scaling_config={"min_size": 0, "desired_size": 0, "max_size": 2},
    )  # fmt: skip


def test_an_operator_of_one_cluster_owns_no_driver_in_another(told):
    assert "one-driver-owner" in told(lambda: clusters(operators_on="a", pools_on="a"))
    assert "one-driver-owner" not in told(lambda: clusters(operators_on="a", pools_on="b"))
