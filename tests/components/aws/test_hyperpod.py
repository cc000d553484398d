"""HyperPod: what it makes, what it refuses, what it costs, and the laws of its groups."""

import json
from datetime import date

import pytest
from aws_recording import GUARD, OWNED, PLACE, PROD, ROOT, check_right, golden, only, plain, record, refusals
from hypothesis import given
from hypothesis import strategies as st

from sizewell import resources
from sizewell.components.aws.eks.plugins import EksDevicePlugins
from sizewell.components.aws.hyperpod import desired_state
from sizewell.components.aws.hyperpod.agents import HyperPodAgents
from sizewell.components.aws.hyperpod.cluster import HyperPodCluster
from sizewell.components.aws.places import places_of, zones_with
from sizewell.policy import engine as policies
from sizewell.policy.config import Config
from sizewell.recording.evaluate import evaluate
from sizewell.resources.facts import facts
from sizewell.sizing import catalog
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.money import Unpriced

EKS = {
    "eks_cluster_arn": "arn:aws:eks:us-east-1:123456789012:cluster/sizewell-dev-aws-eks",
    "cluster_security_group_id": "sg-cluster",
    "lifecycle_scripts": "s3://sagemaker-petsnap/lifecycle",
}
GROUP = {"name": "workers", "instance_type": "g5.12xlarge", "instances": 2, "zone": "us-east-1b"}
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/pretrain-2026"
BARE = {key: value for key, value in EKS.items() if key != "lifecycle_scripts"}
DEV = {
    **OWNED,
    **PLACE,
    **BARE,
    "groups": [{**GROUP, "labels": {"sizewell/pool": "train"}, "taints": ["nvidia.com/gpu"]}],
    "writer": {"bucket": "store", "key_alias": "alias/store"},
    "guard": {**GUARD, "action": "notify"},
}
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
CHART = "oci://123456789012.dkr.ecr.us-east-1.amazonaws.com/hyperpod-helm-chart"
AGENTS = {**OWNED, "region": "us-east-1", "kubeconfig": "{}", "chart": CHART, "version": "0.1.0"}
PROD_AGENTS = {
    **{key: value for key, value in PROD.items() if key != "account"},
    "region": "us-east-1",
    "kubeconfig": "{}",
    "chart": "charts/hyperpod-helm-chart-0.1.0.tgz",
}
CONTROLLED = "aws:cloudcontrol/resource:Resource"


@pytest.mark.parametrize(
    ("form", "cls", "args"),
    [
        ("hyperpod-dev", HyperPodCluster, DEV),
        ("hyperpod-prod", HyperPodCluster, LIVE),
        ("hyperpod-agents-dev", HyperPodAgents, AGENTS),
        ("hyperpod-agents-prod", HyperPodAgents, PROD_AGENTS),
    ],
)
def test_makes_what_is_written_down(form, cls, args):
    found = record(lambda: cls("train", args), stack="prod-aws" if "prod" in form else "dev-aws")
    check_right(found)
    golden(form, found)


def state(args):
    text = desired_state.desired_state(
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


def test_pods_find_their_machines_by_label_and_others_stay_off():
    (group,) = state(DEV)["InstanceGroups"]
    assert group["KubernetesConfig"] == {
        "Labels": {"sizewell/pool": "train"},
        "Taints": [{"Key": "nvidia.com/gpu", "Value": "present", "Effect": "NoSchedule"}],
    }
    assert "LifeCycleConfig" not in group
    assert "KubernetesConfig" not in state(LIVE)["InstanceGroups"][0]


def test_pods_write_checkpoints_and_the_guard_tells():
    found = record(lambda: HyperPodCluster("train", DEV))
    writer = only(found, "aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert (writer["clusterName"], writer["serviceAccount"]) == ("sizewell-dev-aws-eks", "train")
    alarm = only(found, "aws:cloudwatch/metricAlarm:MetricAlarm").inputs
    assert alarm["dimensions"] == {"ClusterName": "sizewell-dev-aws-eks"}
    assert alarm["treatMissingData"] == "notBreaching"


def test_plug_ins_count_devices_where_hyperpod_is_testing():
    args = {**OWNED, "kubeconfig": "{}", "runtimes": ["cuda", "neuron"], "efa": True, "hyperpod": True}
    charts = [one.inputs["values"] for one in record(lambda: EksDevicePlugins("p", args)) if "Release" in one.type]
    text = json.dumps([plain(values) for values in charts])
    assert text.count("sagemaker.amazonaws.com/node-health-status") == 3


def test_the_agents_bring_nothing_that_other_components_bring():
    values = only(record(lambda: HyperPodAgents("h", AGENTS)), "kubernetes:helm.sh/v3:Release").inputs["values"]
    on = {key for key, value in values.items() if value.get("enabled")}
    assert on == {"health-monitoring-agent", "deep-health-check", "job-auto-restart", "hyperpod-patching"}
    assert values["nvidia-device-plugin"] == {"devicePlugin": {"enabled": False}}


@pytest.mark.parametrize(
    ("change", "path", "sentence"),
    [
        ({"chart": "hyperpod"}, "chart", "must be an oci:// address or a .tgz file, got 'hyperpod'"),
        ({"version": ""}, "version", "every update would use the newest chart"),
        ({"region": "us-east-9"}, "region", "does not exist on AWS"),
    ],
)
def test_the_agents_refuse(change, path, sentence):
    found = refusals(HyperPodAgents, {**AGENTS, **change})
    assert any(at == path and sentence in text for at, text in found), found


def test_a_group_is_priced_and_what_a_plan_costs_is_not_known():
    plan = evaluate(ROOT, "prod-aws", program=lambda: HyperPodCluster("train", LIVE))
    pricing = resources.price(plan, catalog.load(), on=date(2026, 11, 21))
    assert not pricing.unknown
    machines = [one for one in pricing.items if "machine-hour" in one.unit]
    assert [one.what.partition(",")[0] for one in machines] == ["ml.g5.12xlarge"]
    assert machines[0].quantity.expected == 2 * 730
    unpriced = [one for one in pricing.items if isinstance(one.price, Unpriced)]
    assert [one.what for one in unpriced] == ["16 x ml.p5.48xlarge, training plan pretrain-2026"]


@pytest.mark.parametrize(
    ("change", "market", "failed"),
    [
        ({}, "on-demand", {"idle-exposure", "minimum-above-zero-in-dev"}),
        ({"training_plan_arn": PLAN}, "training-plan", set()),
    ],
)
def test_what_is_priced_as_machines_with_accelerators_is_judged_as_such(change, market, failed):
    args = {key: value for key, value in DEV.items() if key not in ("guard", "writer")}
    args["groups"] = [{**GROUP, "instance_type": "p5.48xlarge", "zone": "us-east-1a", **change}]
    plan = evaluate(ROOT, "dev-aws", program=lambda: HyperPodCluster("train", args))
    stack = facts(plan, catalog.load(), environment="dev")
    assert [(pool.accelerator, pool.nodes_min, pool.market) for pool in stack.pools] == [("h100-sxm", 2, market)]
    (registered,) = [each.inputs["sizewell"] for each in plan.resources if "sizewell" in each.inputs]
    assert registered["market"] == market
    report = policies.evaluate(stack, Config(profile="accelerators"), on=date(2026, 11, 21))
    assert report.accelerators is True
    assert {each.rule for each in report.failed() if each.resource == "train-cluster"} == failed


def test_its_machines_change_addresses_in_their_own_network_only():
    policy = next(
        one.inputs["policy"]
        for one in record(lambda: HyperPodCluster("train", LIVE), "prod-aws")
        if one.name == "train-machines-addresses"
    )
    change = next(one for one in json.loads(policy)["Statement"] if one["Sid"] == "Addresses")
    assert change["Condition"] == {"ArnLikeIfExists": {"ec2:Vpc": "arn:aws:ec2:us-east-1:*:vpc/vpc-1"}}
    with_network = desired_state.machine_policy(region="us-east-1", vpc="", cluster_arn="", stack="Dev AWS")
    named = {statement["Sid"]: statement for statement in json.loads(with_network)["Statement"]}
    subnets, pods = named["Subnets"], named["Pods"]
    assert subnets["Resource"] == "arn:aws:ec2:us-east-1:*:subnet/*"
    assert subnets["Condition"] == {"StringEquals": {"aws:ResourceTag/sizewell-stack": "dev-aws"}}
    assert pods["Resource"] == "arn:aws:eks:us-east-1:*:cluster/*"
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
        ({"groups": [{**GROUP, "instances": 2.5}]}, "groups[0].instances", "must be a whole number"),
        ({"groups": [{**GROUP, "zone": "us-east-1f"}]}, "groups[0].zone", "must be one of the cluster's zones"),
        ({"groups": [{**GROUP, "training_plan_arn": "plan-7"}]}, "groups[0].training_plan_arn", "is bought already"),
        (
            {"groups": [{**GROUP, "deep_health_checks": ["Stress"]}]},
            "groups[0].deep_health_checks[0]",
            "must be one of InstanceStress, InstanceConnectivity, got 'Stress'",
        ),
        ({"groups": [{**GROUP, "count": 2}]}, "groups[0].count", "is an unknown argument"),
        ({"groups": [{**GROUP, "disk_gib": 0}]}, "groups[0].disk_gib", "1 to 16384, got 0"),
        ({"lifecycle_scripts": "/scripts"}, "lifecycle_scripts", "must be an s3:// folder, got '/scripts'"),
        ({"first_script": "rm -rf /"}, "first_script", "must be the name of a shell script"),
        ({"first_script": "setup.sh"}, "first_script", "is given without lifecycle_scripts"),
        ({"guard": GUARD}, "guard.action", "must be notify: HyperPod keeps the number of machines"),
        ({"service_account": "My Account"}, "service_account", "must be a DNS label"),
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
    desired_state.check_hyperpod("x", args)
    (group,) = state(args)["InstanceGroups"]
    assert group["InstanceType"] == f"ml.{shape.instance_type}"
    assert group["InstanceCount"] == instances
    assert ("OnStartDeepHealthChecks" in group) == bool(shape.accelerators)


def test_each_group_is_sold_in_its_own_zone_and_not_in_the_others():
    """Two groups in two zones, one of which does not offer the type of the other's group."""
    own, other = zones_with("p6-b200.48xlarge", "us-east-1")[0], zones_with("p5en.48xlarge", "us-east-1")[0]
    assert other not in zones_with("p6-b200.48xlarge", "us-east-1")
    args = {**DEV, "zones": [other, own]}
    tune = {**GROUP, "name": "tune", "instance_type": "p5en.48xlarge", "zone": other}
    train = {**GROUP, "name": "train", "instance_type": "p6-b200.48xlarge"}
    record(lambda: HyperPodCluster("train", {**args, "groups": [{**train, "zone": own}, tune]}))
    found = refusals(HyperPodCluster, {**args, "groups": [{**train, "zone": other}, tune]})
    assert "does not offer p6-b200.48xlarge" in str(found)


def test_a_driver_that_nobody_wrote_down_is_said():
    """HyperPod has images of its own; that EKS's do not drive a type says what to look for."""
    group = {**GROUP, "instance_type": "g7.12xlarge"}
    plan = evaluate(ROOT, "dev-aws", program=lambda: HyperPodCluster("h", {**DEV, "groups": [group]}))
    assert any("whether HyperPod's image drives g7.12xlarge is unknown" in note for note in plan.notes)
    plan = evaluate(ROOT, "dev-aws", program=lambda: HyperPodCluster("h", DEV))
    assert not [note for note in plan.notes if "HyperPod's image" in note]
