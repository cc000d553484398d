"""What carries a stack's tag and is in no state: moto's account, and answers of Google's and Azure's references."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import Deadline
from sizewell.clouds.gcp import Google
from sizewell.recording.sources.state import State, StateResource
from sizewell.teardown.aws.reads import in_aws
from sizewell.teardown.azure.reads import in_azure
from sizewell.teardown.gcp.reads import in_google
from sizewell.teardown.orphans import in_cloud, unknown_to
from sizewell.teardown.things import Owner, Thing
from tests.clouds.rest_server import Reply, serving

REGION = "us-east-1"


def state(*resources: StateResource) -> State:
    return State(project="sizewell", stack="dev-aws", resources=resources)


def known(identity: str, kind: str = "t", **outputs: Any) -> StateResource:
    return StateResource(urn="u", type=kind, name="n", id=identity, outputs=outputs)


GROUP, NODES = "aws:autoscaling/group:Group", "aws:eks/nodeGroup:NodeGroup"
POOL = "gcp:container/nodePool:NodePool"
GKE, EKS = "gcp:container/cluster:Cluster", "aws:eks/cluster:Cluster"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with mock_aws():
        yield boto3.client("ec2", REGION)


def tagged(kind: str, stack: str = "dev-aws", **more: str) -> list[dict[str, Any]]:
    tags = [{"Key": key, "Value": value} for key, value in {"sizewell-stack": stack, **more}.items()]
    return [{"ResourceType": kind, "Tags": tags}]


def machine(ec2: Any, stack: str = "dev-aws", **more: str) -> str:
    launched = ec2.run_instances(
        ImageId="ami-12c6146b", MinCount=1, MaxCount=1, TagSpecifications=tagged("instance", stack, **more)
    )
    return str(launched["Instances"][0]["InstanceId"])


def test_a_machine_of_nobody_is_found_and_one_of_a_group_is_not(account: Any) -> None:
    lost, own, ended, other = machine(account), machine(account), machine(account), machine(account, "dev-b")
    account.terminate_instances(InstanceIds=[ended])
    vpc = account.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=tagged("vpc"))["Vpc"]["VpcId"]
    adrift = account.create_volume(
        AvailabilityZone=f"{REGION}a", Size=1, TagSpecifications=tagged("volume")
    )["VolumeId"]  # fmt: skip
    things = in_aws(Aws(Deadline(30)), [REGION, REGION], "dev-aws")
    orphans = unknown_to(things, state(known(own), known(vpc)))
    names = [thing.identity.rpartition("/")[2] for thing in orphans]
    assert sorted(names) == sorted([lost, adrift])
    assert other not in names
    assert {thing.kind for thing in orphans} == {"ec2 instance", "ec2 volume"}


def test_what_another_project_has_of_the_stack_s_name_is_left_out(account: Any) -> None:
    """Two projects may each have a stack dev-aws in one account."""
    own, other = (machine(account, **{"sizewell-project": project}) for project in ("vision", "speech"))
    by_hand = machine(account)  # a person copied one tag of it
    things = in_cloud(Aws(Deadline(30)), [], [REGION], Owner(project="vision", stack="dev-aws"))
    assert {thing.identity.rpartition("/")[2] for thing in things} == {own, by_hand}
    assert other not in {own, by_hand}


def test_a_group_without_machines_is_found(account: Any) -> None:
    """The tagging API lists no group; one of another stack is not listed either."""
    template = account.create_launch_template(LaunchTemplateName="t", LaunchTemplateData={"ImageId": "ami-12c6146b"})
    scaling = boto3.client("autoscaling", REGION)
    for name, stack in (("mine", "dev-aws"), ("other", "dev-b")):
        scaling.create_auto_scaling_group(
            AutoScalingGroupName=name,
            LaunchTemplate={"LaunchTemplateId": template["LaunchTemplate"]["LaunchTemplateId"], "Version": "$Latest"},
            MinSize=0,
            MaxSize=2,
            AvailabilityZones=[f"{REGION}a"],
            Tags=[{"Key": "sizewell-stack", "Value": stack, "PropagateAtLaunch": True}],
        )
    (group,) = in_aws(Aws(Deadline(30)), [REGION], "dev-aws")
    assert (group.kind, group.identity.rpartition("/")[2]) == ("autoscaling autoScalingGroup", "mine")
    assert unknown_to([group], state()) == [group]
    assert unknown_to([group], state(known("mine", GROUP, name="mine"))) == []


@pytest.mark.parametrize(
    ("tags", "resource", "lost"),
    [
        ({"aws:autoscaling:groupName": "group"}, known("group", GROUP, name="group"), False),
        ({"aws:autoscaling:groupName": "group"}, known("group", "aws:iam/role:Role", name="group"), True),
        ({"aws:autoscaling:groupName": "another"}, known("group", GROUP, name="group"), True),
        ({"aws:ec2:fleet-id": "fleet-1"}, known("fleet-1", "aws:ec2/fleet:Fleet"), False),
        ({"eks:nodegroup-name": "nodes"}, known("cluster:nodes", NODES), False),
        ({"goog-k8s-node-pool-name": "train"}, known("p/r/c/train", POOL, name="train"), False),
        ({"goog-k8s-cluster-name": "train"}, known("p/r/train", GKE, name="train"), False),
        ({"goog-k8s-cluster-name": "train"}, known("p/r/c/train", POOL, name="train"), True),
        ({"aws:eks:cluster-name": "train"}, known("train", EKS), False),
        ({}, known("i-2"), True),
        ({}, known("i-1"), False),
    ],
)
def test_what_a_known_group_made_is_no_orphan(tags: dict[str, str], resource: StateResource, *, lost: bool) -> None:
    thing = Thing(identity=f"arn:aws:ec2:{REGION}:1:instance/i-1", kind="ec2 instance", tags=tags)
    assert bool(unknown_to([thing], state(resource))) == lost


NAMED = "sizewell-dev-aws-train-nodes"
GROUP_ARN = f"arn:aws:autoscaling:{REGION}:1:autoScalingGroup:7f3c:autoScalingGroupName/{NAMED}"


@pytest.mark.parametrize(
    ("identity", "inputs", "outputs", "lost"),
    [
        (GROUP_ARN, {"tags": {"sizewell-id": "role"}}, {"name": NAMED}, True),  # another's name
        (GROUP_ARN, {"tags": [{"key": "sizewell-id", "value": "group"}]}, {"name": NAMED}, False),
        (GROUP_ARN, {"tags": {"sizewell-id": "group"}}, {"name": "another"}, True),  # a second one of it
        (GROUP_ARN, {}, {"arn": GROUP_ARN}, False),  # of a release without the tag
        (GROUP_ARN, {}, {"name": NAMED}, True),
    ],
)
def test_a_name_that_another_resource_has_too_makes_nothing_known(
    identity: str, inputs: dict[str, Any], outputs: dict[str, Any], *, lost: bool
) -> None:
    resource = StateResource(urn="u", type="t", name="n", id="x", inputs=inputs, outputs=outputs)
    thing = Thing(identity=identity, kind="autoscaling autoScalingGroup", tags={"sizewell-id": "group"})
    assert bool(unknown_to([thing], state(resource))) == lost


@pytest.mark.parametrize(
    ("group", "lost"), [("MC_dev_train_eastus", False), ("mc_DEV_train_eastus", False), ("dev", True)]
)
def test_what_aks_makes_in_a_group_of_its_own_is_no_orphan(group: str, *, lost: bool) -> None:
    """It carries the cluster's tags (https://learn.microsoft.com/azure/aks/use-tags), the group itself too."""
    kind = "azure-native:containerservice:ManagedCluster"
    cluster = known("/subscriptions/s/c", kind, nodeResourceGroup="MC_dev_train_eastus")
    path = f"/subscriptions/s/resourceGroups/{group}"
    tags = {"sizewell-id": "cluster"}
    balancer = Thing(identity=f"{path}/providers/Microsoft.Network/loadBalancers/kubernetes", kind="x", tags=tags)
    own = Thing(identity=path, kind="Microsoft.Resources/resourceGroups", tags=tags)
    assert bool(unknown_to([balancer], state(cluster))) == lost
    assert bool(unknown_to([own], state(cluster))) == lost


def test_components_of_a_state_make_nothing_known() -> None:
    """They have no identity, and so no thing is theirs."""
    component = StateResource(urn="u", type="sizewell-aws:index:GpuNodeGroup", name="train", custom=False)
    lost = Thing(identity=f"arn:aws:ec2:{REGION}:1:instance/i-1", kind="ec2 instance", tags={})
    assert unknown_to([lost], state(component)) == [lost]


def test_google_and_azure_are_asked_by_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        for cloud in ("GOOGLE", "AZURE"):
            monkeypatch.setenv(f"{cloud}_ENDPOINT_URL", server.url)
        monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "t")
        monkeypatch.setenv("AZURE_ACCESS_TOKEN", "t")
        name = "//compute.googleapis.com/projects/p/zones/z/disks/d"
        server.reply(
            "GET /v1/projects/p:searchAllResources",
            Reply({"results": [{"name": name, "assetType": "compute.googleapis.com/Disk"}]}),
        )
        (disk,) = in_google(Google(Deadline(30)), "p", "dev-gcp")
        assert unknown_to([disk], state(known("projects/p/zones/z/disks/other"))) == [disk]
        assert unknown_to([disk], state(known("projects/p/zones/z/disks/d"))) == []
        identity = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/D"
        group = "/subscriptions/s/resourceGroups/g"
        server.reply("GET /subscriptions/s/resources", Reply({"value": [{"id": identity, "type": "disk"}]}))
        server.reply("GET /subscriptions/s/resourcegroups", Reply({"value": [{"id": group}]}))
        own, around = in_azure(Azure(Deadline(30)), "s", "dev-azure")
        assert around.identity == group
        assert unknown_to([own], state(known(identity.lower()))) == []
        assert unknown_to([own], state()) == [own]
        assert any("sizewell-stack" in asked for asked in server.asked)
