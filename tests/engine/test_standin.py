"""The stand-ins themselves: a small program over three providers, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import harness
import pytest
import sdk_types

PROGRAM = """
import pulumi
import pulumi_aws as aws
import pulumi_gcp as gcp

vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
subnet = aws.ec2.Subnet("a", vpc_id=vpc.id, cidr_block="10.0.1.0/24")
bucket = gcp.storage.Bucket("data", name="data-bucket", location="US")
"""


@pytest.fixture
def small(tmp_path: Path):
    source = tmp_path / "source"
    (source / "stacks").mkdir(parents=True)
    (source / "stacks" / "__main__.py").write_text(PROGRAM)
    (source / "Pulumi.yaml").write_text(
        "name: small\nmain: stacks/\nruntime: {name: python, options: {toolchain: pip, virtualenv: .venv}}\n"
    )
    engine = harness.project(tmp_path, source=source)
    engine.run("stack", "init", "dev")
    return engine


def test_up_and_destroy_go_through_the_stand_ins(small):
    plan = small.preview("dev")
    assert {step["op"] for step in plan["steps"]} == {"create"}
    small.up("dev")
    assert {r["type"] for r in small.cloud("aws").values()} == {"aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"}
    again = small.preview("dev")
    assert {step["op"] for step in again["steps"]} == {"same"}
    small.destroy("dev")
    assert small.cloud("aws") == {}
    assert small.cloud("gcp") == {}


def test_an_order_to_fail_fails_the_update_and_the_next_one_mends_it(small):
    small.order({"call": "create", "type": "aws:ec2/subnet:Subnet", "then": "fail", "message": "SubnetLimitExceeded"})
    failed = small.up("dev", check=False)
    assert failed.returncode != 0
    assert "SubnetLimitExceeded" in failed.stdout + failed.stderr
    small.up("dev")
    assert len(small.cloud("aws")) == 2


@pytest.mark.parametrize(
    ("token", "inputs", "where"),
    [
        ("aws:ec2/vpc:Vpc", {"cidrBlok": "10.0.0.0/16"}, "cidrBlok"),
        ("aws:ec2/subnet:Subnet", {"cidrBlock": "10.0.0.0/24"}, "vpcId"),
        (
            "aws:ec2/launchTemplate:LaunchTemplate",
            {"metadataOptions": {"httpToken": "required"}},
            "metadataOptions.httpToken",
        ),
        ("gcp:storage/bucket:Bucket", {"location": "US", "versioning": {"enabled": "maybe"}}, "versioning.enabled"),
        ("azure-native:storage:StorageAccount", {"kind": "StorageV2", "resourceGroupName": "r", "sku": {}}, "sku.name"),
        ("aws:ec2/nothing:Nothing", {}, ""),
    ],
)
def test_inputs_are_checked_against_the_sdk(token, inputs, where):
    assert where in [path for path, _ in sdk_types.faults(token, inputs)]
