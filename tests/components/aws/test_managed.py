"""From a decision to SageMaker, EKS, shared storage, budget and hard end."""

import dataclasses
import json

import pytest
from aws_decisions import CONFIG, HYPERPOD, IMAGE, KUBERNETES, MACHINES, SAGEMAKER, SETTINGS
from aws_recording import check_right, children, component, golden, only, record
from decisions import decision, pool, serving
from hypothesis import given
from hypothesis import strategies as st

from sizewell.components.aws import instances, program, targets
from sizewell.components.settings import Settings
from sizewell.launch.run import Run
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Task

ADOPTED = {"vpc_id": "vpc-1", "vpc_cidr": "10.0.0.0/16", "subnet_ids": ["subnet-1", "subnet-2"]}


def built(what, settings=SETTINGS, config=CONFIG):
    return record(lambda: program.build(what, what.workloads, settings), stack=what.stack, config=config)


def outline(resources):
    """Type and name of our components; the order of registration is the SDK's affair."""
    return {(one.type.rsplit(":", 1)[-1], one.name) for one in resources if one.type.startswith("sizewell-aws:")}


def test_kubernetes_is_one_cluster_with_a_pool_for_each_workload_and_its_data():
    resources = built(KUBERNETES)
    check_right([one for one in resources if not one.type.startswith("pulumi:providers")])
    assert outline(resources) == {
        ("Network", "network-us-east-1"),
        ("EksCluster", "cluster-us-east-1"),
        ("EksNodeGroup", "pretrain"),
        ("EksNodeGroup", "chat"),
        ("EksDevicePlugins", "plugins-us-east-1"),
        ("EksAutoscaler", "autoscaler-us-east-1"),
        ("SharedStorage", "pretrain-data"),
        ("LustreVolume", "pretrain-data"),
    }
    plugins = component(resources, "sizewell-aws:index:EksDevicePlugins").inputs
    assert (plugins["runtimes"], plugins["efa"]) == (["cuda"], True)
    services = {one.name for one in children(resources) if one.type == "aws:ec2/vpcEndpoint:VpcEndpoint"}
    assert {"network-us-east-1-eks-auth", "network-us-east-1-logs"} <= services
    subnets = [one.name for one in children(resources) if one.type == "aws:ec2/subnet:Subnet"]
    assert len(subnets) == 2  # the machines stand in one zone, the control plane in two
    files = component(resources, "sizewell-aws:index:SharedStorage").inputs
    assert (files["zone"], files["bytesNeeded"]) == ("us-east-1a", 12 * 10**12)


def test_hyperpod_is_machines_of_an_eks_cluster_that_its_agents_watch():
    resources = built(HYPERPOD)
    check_right([one for one in resources if not one.type.startswith("pulumi:providers")])
    assert outline(resources) == {
        ("Network", "network-us-east-1"),
        ("EksCluster", "cluster-us-east-1"),
        ("EksDevicePlugins", "plugins-us-east-1"),
        ("HyperPodAgents", "hyperpod-us-east-1"),
        ("HyperPodCluster", "pretrain"),
    }
    told = component(resources, "sizewell-aws:index:HyperPodCluster").inputs
    (group,) = told["groups"]
    assert (group["instanceType"], group["instances"], group["zone"]) == ("p4d.24xlarge", 2, "us-east-1a")
    assert group["labels"]["vpc.amazonaws.com/efa.present"] == "true"
    assert told["guard"]["action"] == "notify"  # HyperPod keeps the machines that it was asked for
    assert component(resources, "sizewell-aws:index:EksDevicePlugins").inputs["hyperpod"] is True
    assert "network-us-east-1-sagemaker-api" in {one.name for one in children(resources)}
    with pytest.raises(ConfigError, match="AWS publishes HyperPod's Helm chart in a git repository only"):
        built(HYPERPOD, config={})


def test_the_name_of_each_component_s_resources_is_its_own():
    for what in (KUBERNETES, SAGEMAKER, MACHINES):
        resources = built(what)
        urns = [one.urn for one in resources]
        assert len(set(urns)) == len(urns)


def test_sagemaker_takes_each_kind_of_work_as_it_is():
    resources = built(SAGEMAKER)
    check_right([one for one in resources if not one.type.startswith("pulumi:providers")])
    assert outline(resources) == {
        ("Network", "network-us-east-1"),
        ("RealtimeEndpoint", "chat"),
        ("TrainingPipeline", "tune"),
        ("Notebook", "lab"),
    }
    pipeline = component(resources, "sizewell-aws:index:TrainingPipeline").inputs
    assert pipeline["capacityMode"] == "spot"
    assert pipeline["maxRunS"] == 8400  # twice the upper end of what was predicted
    assert pipeline["sizewell"]["decisionDigest"] == SAGEMAKER.digest()
    endpoint = component(resources, "sizewell-aws:index:RealtimeEndpoint").inputs
    assert endpoint["zones"] == ["us-east-1a", "us-east-1b"]


def test_who_may_use_the_network_s_key_is_known_before_the_key_is_there():
    resources = built(SAGEMAKER)
    aliases = {one.inputs["name"] for one in resources if one.type == "aws:kms/alias:Alias"}
    policies = {one.name: one.inputs["policy"] for one in resources if one.type == "aws:iam/rolePolicy:RolePolicy"}
    for name in ("lab-notebook-key", "tune-job-key"):
        for statement in json.loads(policies[name])["Statement"]:
            assert statement["Condition"]["ForAnyValue:StringEquals"]["kms:ResourceAliases"] in aliases
    network = {**ADOPTED, "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/1"}
    adopted = built(SAGEMAKER, dataclasses.replace(SETTINGS, network=network))
    assert "kmsKeyAlias" not in component(adopted, "sizewell-aws:index:Notebook").inputs


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "sizewell:sagemaker.chat.image: is missing: a decision does not name a container"),
        (
            {"sizewell:sagemaker": json.dumps({"chat": {"image": IMAGE, "imaeg": "x"}})},
            "sizewell:sagemaker.chat.imaeg: must be one of image",
        ),
    ],
)
def test_which_container_runs_is_not_guessed(config, sentence):
    with pytest.raises(ConfigError) as caught:
        built(SAGEMAKER, config=config)
    assert sentence in str(caught.value)


def test_machines_of_a_node_group_reach_their_file_system():
    resources = built(MACHINES)
    rules = [one for one in children(resources) if one.name.startswith("pretrain-nodes-to-lustre")]
    assert sorted(one.inputs["fromPort"] for one in rules) == [988, 1018]
    assert only(resources, "aws:fsx/lustreFileSystem:LustreFileSystem").inputs["storageCapacity"] == 14400


def test_an_adopted_network_is_used_as_it_is():
    there = {
        "vpc_id": "vpc-1",
        "vpc_cidr": "10.0.0.0/16",
        "subnet_ids": ["subnet-1", "subnet-2"],
        "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/1",
    }
    settings = Settings(project="sizewell", stack="staging-aws", network=there)
    resources = built(KUBERNETES, settings)
    assert not [one for one in resources if one.type == "aws:ec2/vpc:Vpc"]
    cluster = only(resources, "aws:eks/cluster:Cluster").inputs
    assert cluster["vpcConfig"]["subnetIds"] == ["subnet-1", "subnet-2"]


REGISTRY = "123456789012.dkr.ecr.us-east-1.amazonaws.com"


def pulled(value):
    """Every image that values of charts name: whole, or in parts."""
    if isinstance(value, dict) or hasattr(value, "items"):
        if "repository" in value:
            yield "/".join(value[key] for key in ("registry", "repository") if value.get(key))
        for one in value.values():
            yield from pulled(one)


def test_a_cluster_without_a_way_out_pulls_from_the_mirror_that_was_filled_before():
    runs = {name: Run(image=f"{REGISTRY}/{name}:1", model="/models/llama") for name in ("pretrain", "chat")}
    settings = Settings(project="sizewell", stack=KUBERNETES.stack, accounts=("123456789012",), runs=runs)
    task = Task(model="meta-llama/Llama-3.1-8B", family="decoder", weights="bf16", precision="bf16", method="pretrain")
    works = tuple(one.model_copy(update={"task": task}) for one in KUBERNETES.workloads)
    what = KUBERNETES.model_copy(update={"workloads": works})
    stack = f"images-{what.stack}"
    mirror = record(lambda: program.build_images(what, what.workloads, settings), stack=stack)
    check_right([one for one in mirror if not one.type.startswith("pulumi:providers")])
    held = {one.inputs["name"] for one in mirror if one.type == "aws:ecr/repository:Repository"}
    releases = [one for one in built(what, settings) if one.type.endswith("Release")]
    assert {one.inputs["name"] for one in releases} >= {"jobset", "nvidia-device-plugin", "cluster-autoscaler"}
    found = {image for one in releases for image in pulled(one.inputs["values"])}
    assert all(image.partition("/")[0].endswith(".dkr.ecr.us-east-1.amazonaws.com") for image in found), found
    ours = {image.partition("/")[2] for image in found if image.startswith(f"{REGISTRY}/")}
    assert ours
    assert ours <= held
    assert all("expires" not in one.inputs.get("tags", {}) for one in mirror)  # a destroyed cluster finds it again


def test_an_adopted_network_may_have_a_way_out():
    settings = Settings(project="sizewell", stack="staging-aws", network={"vpc_id": "vpc-1", "vpc_cidr": "10.0.0.0/16"})
    assert program.build_images(KUBERNETES, KUBERNETES.workloads, settings) == {}
    there = {**settings.network, "subnet_ids": ["subnet-1", "subnet-2"]}
    resources = built(KUBERNETES, dataclasses.replace(settings, network=there))
    assert "registry" not in component(resources, "sizewell-aws:index:EksDevicePlugins").inputs
    named = built(
        KUBERNETES, dataclasses.replace(settings, network=there), {**CONFIG, "sizewell:registry": "r.example/m"}
    )
    assert component(named, "sizewell-aws:index:EksAutoscaler").inputs["registry"] == "r.example/m"


def test_images_that_machines_cannot_pull_are_named(monkeypatch):
    said = []
    monkeypatch.setattr("pulumi.log.warn", lambda text, *_, **__: said.append(text))
    runs = {"chat": Run(image="vllm/vllm-openai:v0.11.0"), "pretrain": Run(image=f"{REGISTRY}/train:1")}
    settings = Settings(project="sizewell", stack=KUBERNETES.stack, runs=runs)
    targets._say_what_cannot_be_pulled([(one, one.pools[0]) for one in KUBERNETES.workloads], settings)
    assert len(said) == 1
    assert "chat: the network has no internet access, so its machines cannot pull vllm/vllm-openai:v0.11.0" in said[0]


def test_a_budget_stands_where_every_workload_has_one():
    with_one = decision(
        "dev-aws",
        serving("chat", pool("aws", "g6.xlarge", "l4", 1, role="replicas"), budget={"usd_per_month": 400}),
        serving("talk", pool("aws", "g6.xlarge", "l4", 1, role="replicas"), budget={"usd_per_month": 200}),
    )
    budget = only(built(with_one), "aws:budgets/budget:Budget").inputs
    assert budget["limitAmount"] == "600.00"
    assert not [one for one in built(SAGEMAKER) if one.type == "aws:budgets/budget:Budget"]


def test_the_hard_end_has_a_stack_of_its_own():
    resources = record(lambda: program.build_ttl(SAGEMAKER, SETTINGS), stack="staging-aws")
    guard = component(resources, "sizewell-aws:index:TtlGuard").inputs
    assert (guard["stack"], guard["ends"]) == ("dev-aws", "2026-09-22")
    check_right([one for one in resources if not one.type.startswith("pulumi:providers")])
    forever = decision("prod-aws", *MACHINES.workloads)
    assert not outline(record(lambda: program.build_ttl(forever, SETTINGS), stack="staging-aws"))


PAIRS = [(one, one.pools[0]) for what in (KUBERNETES, SAGEMAKER, MACHINES) for one in what.workloads]


@given(
    st.lists(st.sampled_from([f"us-east-1{letter}" for letter in "abcdef"]), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(PAIRS), max_size=3),
)
def test_the_network_has_the_pools_zones_first_and_two_where_two_are_wanted(zones, pairs):
    found = targets.network_zones("us-east-1", zones, pairs)
    assert found[: len(zones)] == zones
    assert len(set(found)) == len(found) <= max(len(zones), 2)
    if any(targets.target_of(*pair) != "machines" for pair in pairs):
        assert len(found) >= 2


def test_a_second_zone_is_named_as_the_first():
    pairs = [pair for pair in PAIRS if targets.target_of(*pair) == "kubernetes"]
    assert targets.network_zones("us-east-1", ["use1-az1"], pairs) == ["use1-az1", "use1-az2"]


def test_plain_machines_pay_for_no_endpoint_of_others():
    pairs = [pair for pair in PAIRS if targets.target_of(*pair) == "machines"]
    assert targets.endpoint_services(pairs) == list(instances.DEFAULT_ENDPOINTS)


@pytest.mark.parametrize(("name", "what"), [("kubernetes-staging", KUBERNETES), ("sagemaker-dev", SAGEMAKER)])
def test_the_stack_is_written_down(name, what):
    golden(f"stack-{name}", [one for one in built(what) if not one.custom])


@pytest.mark.parametrize(
    ("zones", "network"),
    [
        (["us-east-1a", "use1-atl2-az1"], ["us-east-1a", "use1-atl2-az1", "us-east-1b"]),
        (["us-east-1-dfw-2a"], ["us-east-1-dfw-2a", "us-east-1a", "us-east-1b"]),
        (["use1-az2", "use1-atl2-az1"], ["use1-az2", "use1-atl2-az1", "use1-az1"]),
        (["us-east-1a", "us-east-1c"], ["us-east-1a", "us-east-1c"]),
    ],
)
def test_a_control_plane_has_two_zones_that_are_no_local_zones(zones, network, monkeypatch):
    monkeypatch.setattr(targets, "target_of", lambda *_: "kubernetes")
    wide = targets.network_zones("us-east-1", zones, [(None, None)])
    assert wide == network
    assert len(targets.control_zones(wide)) >= 2
