"""HyperPod: what it makes, what it refuses, what it costs, and the laws of its groups."""

import json
from datetime import date

import pytest
from aws_recording import OWNED, PLACE, PROD, ROOT, check_right, golden, only, record, refusals
from hypothesis import given
from hypothesis import strategies as st

import resources
from components.aws import hyperpod_plans
from components.aws.hyperpod import HyperPodCluster
from components.aws.places import places_of
from preview.evaluate import evaluate
from sizing import catalog
from sizing.catalog.records import Shape

EKS = {
    "eks_cluster_arn": "arn:aws:eks:us-east-1:123456789012:cluster/sizewell-dev-aws-eks",
    "cluster_security_group_id": "sg-cluster",
    "lifecycle_scripts": "s3://sagemaker-petsnap/lifecycle",
}
GROUP = {"name": "workers", "instance_type": "g5.12xlarge", "instances": 2, "zone": "us-east-1b"}
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/pretrain-2026"
DEV = {**OWNED, **PLACE, **EKS, "groups": [GROUP]}
LIVE = {
    **PROD,
    **PLACE,
    **EKS,
    "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/1",
    "first_script": "setup.sh",
    "groups": [
        {
            "name": "pretrain",
            "instance_type": "p5.48xlarge",
            "instances": 16,
            "zone": "us-east-1a",
            "training_plan_arn": PLAN,
            "disk_gib": 1000,
        },
        {**GROUP, "name": "evaluate", "deep_health_checks": ["InstanceStress"]},
    ],
}
CONTROLLED = "aws:cloudcontrol/resource:Resource"


@pytest.mark.parametrize(("form", "args"), [("hyperpod-dev", DEV), ("hyperpod-prod", LIVE)])
def test_makes_what_is_written_down(form, args):
    found = record(lambda: HyperPodCluster("train", args), stack="prod-aws" if "prod" in form else "dev-aws")
    check_right(found)
    golden(form, found)


def state(args):
    text = hyperpod_plans.desired_state(
        args,
        cluster="c",
        role_arn="r",
        key_arn="k",
        eks_arn="e",
        security_groups=["sg-cluster", "sg-own"],
        subnet_ids=["subnet-1", "subnet-2"],
        tags={"managed-by": "sizewell"},
    )
    return json.loads(text)


def test_machines_are_tested_before_they_join_and_replaced_when_they_fail():
    found = state(LIVE)
    assert found["NodeRecovery"] == "Automatic"
    assert found["NodeProvisioningMode"] == "Continuous"
    pretrain, evaluation = found["InstanceGroups"]
    assert pretrain["OnStartDeepHealthChecks"] == ["InstanceStress", "InstanceConnectivity"]
    assert evaluation["OnStartDeepHealthChecks"] == ["InstanceStress"]
    assert pretrain["TrainingPlanArn"] == PLAN
    assert "TrainingPlanArn" not in evaluation
    assert pretrain["LifeCycleConfig"] == {"OnCreate": "setup.sh", "SourceS3Uri": EKS["lifecycle_scripts"]}
    assert {"Key": "managed-by", "Value": "sizewell"} in found["Tags"]


def test_each_group_stands_in_the_subnet_of_its_own_zone():
    pretrain, evaluation = state(LIVE)["InstanceGroups"]
    assert pretrain["OverrideVpcConfig"] == {"SecurityGroupIds": ["sg-cluster", "sg-own"], "Subnets": ["subnet-1"]}
    assert evaluation["OverrideVpcConfig"]["Subnets"] == ["subnet-2"]


def test_a_group_is_priced_and_one_of_a_plan_is_paid_already():
    plan = evaluate(ROOT, "prod-aws", program=lambda: HyperPodCluster("train", LIVE))
    pricing = resources.price(plan, catalog.load(), on=date(2026, 11, 21))
    assert not pricing.unknown
    machines = [one for one in pricing.items if "machine-hour" in one.unit]
    assert [one.what.partition(",")[0] for one in machines] == ["ml.g5.12xlarge"]
    assert machines[0].quantity.expected == 2 * 730


def test_its_machines_change_addresses_in_their_own_network_only():
    policy = next(
        one.inputs["policy"]
        for one in record(lambda: HyperPodCluster("train", LIVE), "prod-aws")
        if one.name == "train-machines-addresses"
    )
    change = next(one for one in json.loads(policy)["Statement"] if one["Sid"] == "Addresses")
    assert change["Condition"] == {"ArnEqualsIfExists": {"ec2:Vpc": "arn:aws:ec2:us-east-1:123456789012:vpc/vpc-1"}}
    assert only(record(lambda: HyperPodCluster("train", LIVE), "prod-aws"), CONTROLLED)


@pytest.mark.parametrize(
    ("change", "path", "sentence"),
    [
        ({"groups": []}, "groups", "is empty; name at least one group"),
        ({"groups": [GROUP, GROUP]}, "groups", "name a group twice: workers"),
        ({"groups": [{**GROUP, "name": "my group"}]}, "groups[0].name", "must be letters, digits and -"),
        ({"groups": [{**GROUP, "instance_type": "ml.g5.xlarge"}]}, "groups[0].instance_type", "is written without ml."),
        ({"groups": [{**GROUP, "instance_type": "g9.huge"}]}, "groups[0].instance_type", "is not in the catalog"),
        (
            {"groups": [{**GROUP, "instance_type": "inf2.xlarge"}]},
            "groups[0].instance_type",
            "SageMaker does not offer inf2.xlarge for hyperpod",
        ),
        ({"groups": [{**GROUP, "instances": -1}]}, "groups[0].instances", "0 to 6758, got -1"),
        ({"groups": [{**GROUP, "instances": 2.5}]}, "groups[0].instances", "must be a plain whole number"),
        ({"groups": [{**GROUP, "zone": "us-east-1f"}]}, "groups[0].zone", "must be one of the cluster's zones"),
        ({"groups": [{**GROUP, "training_plan_arn": "plan-7"}]}, "groups[0].training_plan_arn", "is bought already"),
        (
            {"groups": [{**GROUP, "deep_health_checks": ["Stress"]}]},
            "groups[0].deep_health_checks[0]",
            "must be one of InstanceStress, InstanceConnectivity, got 'Stress'",
        ),
        ({"groups": [{**GROUP, "count": 2}]}, "groups[0].count", "is no argument"),
        ({"groups": [{**GROUP, "disk_gib": 0}]}, "groups[0].disk_gib", "1 to 16384, got 0"),
        ({"lifecycle_scripts": "/scripts"}, "lifecycle_scripts", "must be an s3:// folder, got '/scripts'"),
        ({"first_script": "rm -rf /"}, "first_script", "must be the name of a shell script"),
        ({"eks_cluster_arn": "training"}, "eks_cluster_arn", "must be the ARN of an EKS cluster, got 'training'"),
    ],
)
def test_refuses(change, path, sentence):
    found = refusals(HyperPodCluster, {**DEV, **change})
    assert any(at == path and sentence in text for at, text in found), found


OFFERED = [
    one
    for one in catalog.load().shapes
    if one.cloud == "aws"
    and "hyperpod" in one.managed
    and (not (sold := places_of(one.instance_type)) or "us-east-1" in sold)
]


@given(st.sampled_from(OFFERED), st.integers(0, 64), st.sampled_from(PLACE["zones"]))
def test_every_type_that_is_offered_makes_a_group(shape: Shape, instances: int, zone: str):
    args = {**DEV, "groups": [{**GROUP, "instance_type": shape.instance_type, "instances": instances, "zone": zone}]}
    hyperpod_plans.check_hyperpod("x", args)
    (group,) = state(args)["InstanceGroups"]
    assert group["InstanceType"] == f"ml.{shape.instance_type}"
    assert group["InstanceCount"] == instances
    assert ("OnStartDeepHealthChecks" in group) == bool(shape.accelerators)
