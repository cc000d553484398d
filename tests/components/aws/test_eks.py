"""EKS: control plane, accelerator pools and device plugins; what they make, what they refuse, and their laws."""

import base64
import json

import pytest
from aws_recording import (
    GUARD,
    OWNED,
    PLACE,
    PROD,
    check_right,
    component,
    golden,
    only,
    record,
    refusals,
)
from hypothesis import given
from hypothesis import strategies as st

from sizewell.components.aws import instances
from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks import node_config as eks_node_config
from sizewell.components.aws.eks import scaling as eks_scaling
from sizewell.components.aws.eks.autoscaler import EksAutoscaler
from sizewell.components.aws.eks.cluster import EksCluster
from sizewell.components.aws.eks.images import ImageMirror
from sizewell.components.aws.eks.nodes import EksNodeGroup
from sizewell.components.aws.eks.plugins import EksDevicePlugins
from sizewell.components.aws.eks.volumes import LustreVolume
from sizewell.components.kubernetes_versions import default_version
from sizewell.components.machines import find_shape
from sizewell.resources.readers.pools import MEASURED
from sizewell.sizing import catalog
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.errors import ArgsError

LATEST = default_version("eks").version
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
CLUSTER = {**OWNED, **PLACE}
PROD_CLUSTER = {
    **PROD,
    **PLACE,
    "kms_key_arn": KEY,
    "admin_arns": ["arn:aws:iam::123456789012:role/platform"],
    "system_nodes": 3,
    "lustre": True,
}
ONE_ZONE = {**PLACE, "zones": ["us-east-1a"], "subnet_ids": ["subnet-1"]}
HOURS = {"time_zone": "Europe/London", "windows": [{"days": "mon-fri", "start": "07:00", "end": "21:00"}]}
POOL = {
    **OWNED,
    **ONE_ZONE,
    "cluster": "sizewell-dev-aws-eks",
    "cluster_security_group_id": "sg-cluster",
    "instance_type": "g6.xlarge",
    "nodes_min": 0,
    "nodes_initial": 1,
    "nodes_max": 4,
    "capacity_mode": "on-demand",
    "disk_gib": 100,
    "guard": GUARD,
    "schedule": HOURS,
    "writer": {"bucket": "store", "key_alias": "alias/store"},
}
BLOCK_POOL = {
    **PROD,
    **ONE_ZONE,
    "kms_key_arn": KEY,
    "cluster": "sizewell-prod-aws-eks",
    "cluster_security_group_id": "sg-cluster",
    "instance_type": "p5.48xlarge",
    "nodes_min": 0,
    "nodes_initial": 4,
    "nodes_max": 4,
    "capacity_mode": "capacity-block",
    "capacity_block": {
        "id": "cr-0123456789abcdef0",
        "starts": "2026-12-28T11:30:00Z",
        "ends": "2026-12-31T12:30:00+01:00",
    },
    "gang": True,
    "lustre": True,
    "disk_gib": 500,
    "namespace": "training",
    "service_account": "pretrain",
    "writer": {"bucket": "store", "key_alias": "alias/store"},
}
NEURON_POOL = {**POOL, "instance_type": "trn1.32xlarge", "gang": True, "nodes_initial": 2}
PROD_PLUGINS = {key: value for key, value in PROD.items() if key != "account"}
SCALER = {**OWNED, "region": "us-east-1", "cluster": "sizewell-dev-aws-eks", "kubeconfig": "{}"}
PROD_SCALER = {
    **PROD_PLUGINS,
    "region": "eu-west-1",
    "cluster": "sizewell-prod-aws-eks",
    "kubeconfig": "{}",
    "pools": {"serve": "spot", "base": "reservation", "chat": "on-demand"},
    "registry": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/sizewell-prod-aws-images",
}
MIRROR = {**OWNED, "region": "us-east-1", "images": [*eks_charts.IMAGES.values(), eks_charts.autoscaler_image(LATEST)]}
VOLUME = {
    **OWNED,
    "kubeconfig": "{}",
    "file_system_id": "fs-0123456789abcdef0",
    "dns_name": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
    "mount_name": "abcdef",
    "capacity_gib": 14400,
}
TEMPLATE, NODES = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"


@pytest.mark.parametrize(
    ("form", "cls", "name", "args"),
    [
        ("eks-cluster-dev", EksCluster, "eks", CLUSTER),
        ("eks-cluster-prod", EksCluster, "eks", PROD_CLUSTER),
        ("eks-pool-dev", EksNodeGroup, "chat", POOL),
        ("eks-pool-prod", EksNodeGroup, "pretrain", BLOCK_POOL),
        ("eks-pool-neuron", EksNodeGroup, "pretrain", NEURON_POOL),
        ("eks-plugins-dev", EksDevicePlugins, "plugins", {**OWNED, "kubeconfig": "{}", "runtimes": ["cuda"]}),
        (
            "eks-plugins-prod",
            EksDevicePlugins,
            "plugins",
            {
                **PROD_PLUGINS,
                "kubeconfig": "{}",
                "runtimes": ["cuda", "neuron"],
                "efa": True,
                "region": "eu-west-1",
                "registry": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/sizewell-prod-aws-images",
            },
        ),
        ("eks-autoscaler-dev", EksAutoscaler, "scaler", SCALER),
        ("eks-autoscaler-prod", EksAutoscaler, "scaler", PROD_SCALER),
        ("images-dev", ImageMirror, "images", MIRROR),
        (
            "images-prod",
            ImageMirror,
            "images",
            {**PROD, "region": "us-east-1", "images": MIRROR["images"], "kms_key_arn": KEY},
        ),
        ("volume-dev", LustreVolume, "data", VOLUME),
        ("volume-prod", LustreVolume, "data", {**VOLUME, **PROD_PLUGINS, "namespace": "training", "read_only": True}),
    ],
)
def test_makes_what_is_written_down(form, cls, name, args):
    resources = record(lambda: cls(name, args), stack="prod-aws" if "prod" in form else "dev-aws")
    check_right(resources)
    golden(form, resources)


def test_a_pool_without_accelerators_keeps_other_pods_away_and_needs_no_plugin():
    plain = {key: value for key, value in POOL.items() if key != "guard"} | {"instance_type": "m7i.xlarge"}
    resources = record(lambda: EksNodeGroup("tags", plain))
    check_right(resources)
    group = only(resources, NODES).inputs
    assert group["amiType"] == "AL2023_x86_64_STANDARD"
    assert group["labels"] == {"sizewell/pool": "tags"}
    assert [(one["key"], one["effect"]) for one in group["taints"]] == [("sizewell/pool", "NO_SCHEDULE")]
    tags = {one.inputs["tag"]["key"] for one in resources if one.type == "aws:autoscaling/tag:Tag"}
    assert "k8s.io/cluster-autoscaler/node-template/taint/sizewell/pool" in tags
    assert not [key for key in tags if "nvidia" in key or "neuron" in key]
    assert not [one for one in resources if "MetricAlarm" in one.type]


def test_the_control_plane_is_private_and_says_everything():
    cluster = only(record(lambda: EksCluster("eks", CLUSTER)), "aws:eks/cluster:Cluster").inputs
    assert cluster["vpcConfig"]["endpointPublicAccess"] is False
    assert cluster["vpcConfig"]["endpointPrivateAccess"] is True
    assert sorted(cluster["enabledClusterLogTypes"]) == sorted(eks_node_config.LOGS)
    assert cluster["encryptionConfig"]["resources"] == ["secrets"]
    assert cluster["deletionProtection"] is False
    prod = only(record(lambda: EksCluster("eks", PROD_CLUSTER), "prod-aws"), "aws:eks/cluster:Cluster").inputs
    assert prod["deletionProtection"] is True


def test_named_ranges_reach_the_api_and_nobody_else():
    public = {**CLUSTER, "public_cidrs": ["203.0.113.0/28"]}
    config = only(record(lambda: EksCluster("eks", public)), "aws:eks/cluster:Cluster").inputs["vpcConfig"]
    assert (config["endpointPublicAccess"], list(config["publicAccessCidrs"])) == (True, ["203.0.113.0/28"])
    assert config["endpointPrivateAccess"] is True
    rule = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
    private = record(lambda: EksCluster("eks", {**CLUSTER, "api_cidrs": ["10.9.0.0/24"]}))
    check_right(private)
    opened = only(private, rule, "eks-api-0").inputs
    assert (opened["cidrIpv4"], opened["fromPort"], opened["toPort"]) == ("10.9.0.0/24", 443, 443)
    assert only(private, "aws:eks/cluster:Cluster").inputs["vpcConfig"]["endpointPublicAccess"] is False
    assert not [one for one in record(lambda: EksCluster("eks", CLUSTER)) if one.name == "eks-api-0"]


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        ({"public_cidrs": ["0.0.0.0/0"]}, "public_cidrs[0]", "wider than /16"),
        ({"public_cidrs": []}, "public_cidrs", "at least one"),
        ({"api_cidrs": ["203.0.113.0/28"]}, "api_cidrs[0]", "not a private range"),
    ],
)
def test_ranges_that_are_refused(change, path, says):
    with pytest.raises(ArgsError) as error:
        record(lambda: EksCluster("eks", {**CLUSTER, **change}))
    (fault,) = error.value.faults
    assert fault.path == path
    assert says in str(fault)


def test_the_kubeconfig_is_a_secret():
    inputs = record(lambda: EksCluster("eks", CLUSTER))
    made = component(inputs, "sizewell-aws:index:EksCluster")
    assert "kubeconfig" not in made.inputs
    text = eks_node_config.kubeconfig(cluster="c", endpoint="https://x", authority="Y2E=", region="us-east-1")
    assert "token" not in json.loads(text)["users"][0]["user"]


def test_machines_of_one_job_have_one_card_per_interface():
    resources = record(lambda: EksNodeGroup("pretrain", BLOCK_POOL), "prod-aws")
    template, nodes = only(resources, TEMPLATE).inputs, only(resources, NODES).inputs
    cards = template["networkInterfaces"]
    assert [card["deviceIndex"] for card in cards] == [0] + [1] * 31
    assert {card["interfaceType"] for card in cards[1:]} == {"efa-only"}
    assert "sg-cluster" in cards[0]["securityGroups"]
    assert template["instanceMarketOptions"]["marketType"] == "capacity-block"
    assert nodes["capacityType"] == "CAPACITY_BLOCK"
    assert nodes["scalingConfig"]["desiredSize"] == 0
    assert "placement" not in template
    assert not [one for one in resources if one.type == "aws:ec2/placementGroup:PlacementGroup"]


def test_a_block_s_machines_come_when_it_begins_and_are_drained_before_its_end():
    resources = record(lambda: EksNodeGroup("pretrain", BLOCK_POOL), "prod-aws")
    actions = [one.inputs for one in resources if one.type == "aws:autoscaling/schedule:Schedule"]
    sizes = {one["startTime"]: (one["minSize"], one["desiredCapacity"], one["maxSize"]) for one in actions}
    assert sizes == {"2026-12-28T11:30:00Z": (0, 4, 4), "2026-12-31T10:50:00Z": (0, 0, 4)}
    running = {**BLOCK_POOL, "capacity_block": {"id": "cr-0123456789abcdef0"}}
    nodes = only(record(lambda: EksNodeGroup("pretrain", running), "prod-aws"), NODES).inputs
    assert nodes["scalingConfig"]["desiredSize"] == 4


def test_plug_ins_pull_from_where_machines_without_a_way_out_can():
    charts = eks_charts.charts(runtimes=["cuda", "neuron"], efa=True, registry="1.dkr.ecr/mirror", region="eu-west-1")
    images = [
        charts["nvidia-device-plugin"]["values"]["image"],
        charts["neuron"]["values"]["devicePlugin"]["image"],
        charts["aws-efa-k8s-device-plugin"]["values"]["image"],
    ]
    assert [one["repository"].partition("/")[0] for one in images] == [
        "1.dkr.ecr",
        "1.dkr.ecr",
        "602401143452.dkr.ecr.eu-west-1.amazonaws.com",
    ]
    mirror = record(lambda: ImageMirror("images", {**MIRROR, "account": "123456789012"}))
    held = {one.inputs["name"] for one in mirror if one.type == "aws:ecr/repository:Repository"}
    assert {one.partition("/")[2].rpartition(":")[0] for one in MIRROR["images"]} == {
        name.partition("/")[2] for name in held
    }


def group_tags(args, stack="dev-aws"):
    """Tags of the Auto Scaling group behind a pool, and whether machines get them too."""
    resources = record(lambda: EksNodeGroup("pool", args), stack)
    tags = [one.inputs["tag"] for one in resources if one.type == "aws:autoscaling/tag:Tag"]
    assert not any(tag["propagateAtLaunch"] for tag in tags)
    return {tag["key"]: tag["value"] for tag in tags}


def test_the_autoscaler_knows_a_machine_of_a_group_that_has_none():
    tags = group_tags(NEURON_POOL)
    node = only(record(lambda: EksNodeGroup("pool", NEURON_POOL)), NODES).inputs
    told = {key.partition("/label/")[2]: value for key, value in tags.items() if "/label/" in key}
    assert told == node["labels"]
    template = eks_scaling.TEMPLATE
    assert tags[f"{template}/taint/aws.amazon.com/neuron"] == "present:NoSchedule"
    resources = {key.partition("/resources/")[2]: value for key, value in tags.items() if "/resources/" in key}
    assert resources == {
        "aws.amazon.com/neuron": "16",
        "vpc.amazonaws.com/efa": "8",
        "hugepages-2Mi": "10256Mi",
        "ephemeral-storage": "6016Gi",
    }
    assert len(tags) <= 50 - 10  # an Auto Scaling group takes 50; EKS has some of its own


@pytest.mark.parametrize(
    ("change", "cluster", "stays"),
    [
        ({}, "sizewell-dev-aws-eks", "2700s"),
        ({"guard": {**GUARD, "window_s": 900}}, "sizewell-dev-aws-eks", "900s"),
        ({"guard": None}, "sizewell-dev-aws-eks", "1800s"),
        ({"capacity_mode": "reservation", "reservation": "cr-0123456789abcdef0"}, "sizewell-dev-aws-eks", "8760h"),
    ],
)
def test_an_empty_machine_stays_for_its_idle_window_and_a_reserved_one_for_good(change, cluster, stays):
    args = {key: value for key, value in {**POOL, **change}.items() if value is not None}
    tags = group_tags(args)
    assert tags[eks_scaling.DISCOVERY] == cluster
    assert tags[f"{eks_scaling.TEMPLATE}/autoscaling-options/scaledownunneededtime"] == stays


def test_a_capacity_block_is_none_of_the_autoscaler_s_business_but_ends_with_the_stack():
    assert group_tags(BLOCK_POOL, "prod-aws") == {"sizewell-project": "sizewell", "sizewell-stack": "prod-aws"}


def test_no_machine_comes_outside_of_working_hours():
    resources = record(lambda: EksNodeGroup("chat", POOL))
    actions = [one.inputs for one in resources if one.type == "aws:autoscaling/schedule:Schedule"]
    sizes = {one["scheduledActionName"]: (one["minSize"], one["desiredCapacity"], one["maxSize"]) for one in actions}
    assert sizes == {"start-0": (0, 1, 4), "end-0": (0, 0, 0)}


def test_the_autoscaler_moves_the_groups_of_its_cluster_only():
    statements = json.loads(eks_scaling.policy(region="us-east-1", cluster="sizewell-dev-aws-eks"))["Statement"]
    look, own, move = statements
    assert all(action.partition(":")[2].startswith(("Describe", "Get")) for action in look["Action"])
    assert own["Resource"] == "arn:aws:eks:us-east-1:*:nodegroup/sizewell-dev-aws-eks/*"
    assert sorted(move["Action"]) == [
        "autoscaling:SetDesiredCapacity",
        "autoscaling:TerminateInstanceInAutoScalingGroup",
    ]
    assert move["Condition"] == {"StringEquals": {"aws:ResourceTag/sizewell-autoscaled": "sizewell-dev-aws-eks"}}


def test_the_autoscaler_is_of_the_cluster_s_own_version_and_takes_empty_machines_only():
    resources = record(lambda: EksAutoscaler("scaler", PROD_SCALER), "prod-aws")
    release = only(resources, "kubernetes:helm.sh/v3:Release").inputs
    values = release["values"]
    assert values["image"]["tag"].startswith(f"v{LATEST}.")
    assert values["image"]["repository"].startswith(PROD_SCALER["registry"])
    assert values["autoDiscovery"]["tags"] == ["sizewell-autoscaled={{ .Values.autoDiscovery.clusterName }}"]
    assert values["extraArgs"]["scale-down-utilization-threshold"] == "0"
    assert values["expanderPriorities"] == {
        "10": ["^eks-sizewell-prod-aws-chat-.*"],
        "20": ["^eks-sizewell-prod-aws-serve-.*"],
        "30": ["^eks-sizewell-prod-aws-base-.*"],
    }
    association = only(resources, "aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert (association["namespace"], association["serviceAccount"]) == (
        release["namespace"],
        values["rbac"]["serviceAccount"]["name"],
    )


def test_a_volume_stays_when_its_claim_goes():
    resources = record(lambda: LustreVolume("data", VOLUME))
    spec = only(resources, "kubernetes:core/v1:PersistentVolume").inputs["spec"]
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["csi"]["volumeHandle"] == VOLUME["file_system_id"]
    assert only(resources, "kubernetes:core/v1:PersistentVolumeClaim").inputs["spec"]["accessModes"] == [
        "ReadWriteMany"
    ]


def test_a_placement_group_only_without_a_reservation():
    reserved = {**NEURON_POOL, "capacity_mode": "reservation", "reservation": "cr-0123456789abcdef0"}
    for args, count in ((NEURON_POOL, 1), (reserved, 0)):
        resources = record(lambda args=args: EksNodeGroup("pretrain", args))
        groups = [one for one in resources if one.type == "aws:ec2/placementGroup:PlacementGroup"]
        assert len(groups) == count


@pytest.mark.parametrize(
    ("args", "image", "taint"),
    [
        (POOL, "AL2023_x86_64_NVIDIA", "nvidia.com/gpu"),
        (NEURON_POOL, "AL2023_x86_64_NEURON", "aws.amazon.com/neuron"),
    ],
)
def test_image_and_taint_follow_the_accelerator(args, image, taint):
    nodes = only(record(lambda: EksNodeGroup("pool", args)), NODES).inputs
    assert nodes["amiType"] == image
    assert [(one["key"], one["effect"]) for one in nodes["taints"]] == [(taint, "NO_SCHEDULE")]
    assert nodes["nodeRepairConfig"]["enabled"] is True


def test_a_spot_pool_names_its_types_in_the_group():
    args = {**POOL, "capacity_mode": "spot", "fallback_types": ["g5.xlarge"]}
    resources = record(lambda: EksNodeGroup("pool", args))
    assert only(resources, NODES).inputs["instanceTypes"] == ["g6.xlarge", "g5.xlarge"]
    assert "instanceType" not in only(resources, TEMPLATE).inputs


def test_pods_write_checkpoints_and_cannot_delete_them():
    resources = record(lambda: EksNodeGroup("pool", POOL))
    association = only(resources, "aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert (association["namespace"], association["serviceAccount"]) == ("default", "pool")
    policy = only(resources, "aws:iam/rolePolicy:RolePolicy", "pool-writer-checkpoints").inputs["policy"]
    assert "Delete" not in policy
    reaching = [one.name for one in resources if one.type.endswith("RolePolicy") and "s3:" in str(one.inputs["policy"])]
    assert reaching == ["pool-writer-checkpoints"]


@pytest.mark.parametrize(
    ("cls", "args", "change", "path", "sentence"),
    [
        (EksCluster, CLUSTER, {"zones": ["us-east-1a"]}, "zones", "must be at least two, got 1"),
        (
            EksAutoscaler,
            SCALER,
            {"pools": {"pretrain": "capacity-block"}},
            "pools.pretrain",
            "must be reservation, spot or on-demand, got 'capacity-block'",
        ),
        (EksAutoscaler, SCALER, {"cluster": ""}, "cluster", "is empty; name the cluster"),
        (EksCluster, CLUSTER, {"version": "1.27"}, "version", "must be the cluster's Kubernetes version, one of 1.34"),
        (EksCluster, CLUSTER, {"version": "latest"}, "version", "got 'latest'"),
        (EksCluster, CLUSTER, {"system_type": "g6.xlarge"}, "system_type", "without accelerators, got 'g6.xlarge'"),
        (EksCluster, CLUSTER, {"system_nodes": 1}, "system_nodes", "2 to 20, got 1"),
        (
            EksCluster,
            CLUSTER,
            {"admin_arns": ["arn:aws:iam::123456789012:root"]},
            "admin_arns[0]",
            "must be an IAM role or user ARN (never root)",
        ),
        (
            EksCluster,
            CLUSTER,
            {"addon_versions": {"vpc-cni": "v1.18.3-eksbuild.1"}},
            "addon_versions.vpc-cni",
            "must be 1.18.4 or later, got v1.18.3-eksbuild.1",
        ),
        (
            EksCluster,
            CLUSTER,
            {"addon_versions": {"coredns": "1"}},
            "addon_versions.coredns",
            "must be an add-on version",
        ),
        (EksNodeGroup, POOL, {"instance_type": "m7i.large"}, "guard", "the machines have no accelerator"),
        (EksNodeGroup, POOL, {"instance_type": "g9.huge"}, "instance_type", "is not in the catalog: 'g9.huge'"),
        (
            EksNodeGroup,
            BLOCK_POOL,
            {"capacity_block": {"purchase": "confirmed", "max_price_usd": 9100, "duration_hours": 72}},
            "capacity_block.id",
            "a node group adopts a block and does not buy one",
        ),
        (
            EksNodeGroup,
            BLOCK_POOL,
            {"capacity_block": {"id": "cr-0123456789abcdef0", "ends": "2026-12-31"}},
            "capacity_block.ends",
            "must be an ISO time with its zone",
        ),
        (ImageMirror, MIRROR, {"images": []}, "images", "is empty"),
        (ImageMirror, MIRROR, {"images": ["nvidia/k8s-device-plugin:1"]}, "images[0]", "must be REGISTRY/PATH:TAG"),
        (
            ImageMirror,
            MIRROR,
            {"images": ["nvcr.io/nvidia/plugin:latest"]},
            "images[0]",
            "with a tag other than latest",
        ),
        (
            ImageMirror,
            MIRROR,
            {"images": ["nvcr.io/nvidia/plugin:1", "ghcr.io/nvidia/plugin:2"]},
            "images",
            "name a repository twice: nvidia/plugin",
        ),
        (LustreVolume, VOLUME, {"capacity_gib": 100}, "capacity_gib", "1200 to 1048576, got 100"),
        (LustreVolume, VOLUME, {"claim": "Data Set"}, "claim", "must be a DNS label"),
        (EksNodeGroup, BLOCK_POOL, {"nodes_min": 1}, "nodes_min", "must be 0 with a capacity block, got 1"),
        (
            EksNodeGroup,
            BLOCK_POOL,
            {"zones": ["us-east-1a", "us-east-1b"]},
            "zones",
            "must be exactly one for machines of one job, got 2",
        ),
        (
            EksNodeGroup,
            POOL,
            {"reservation": "cr-0123456789abcdef0"},
            "reservation",
            "is given, but capacity_mode is on-demand: choose exactly one way to get machines",
        ),
        (EksNodeGroup, POOL, {"capacity_mode": "flex-start"}, "capacity_mode", "must be one of on-demand, spot"),
        (EksNodeGroup, POOL, {"namespace": "Team A"}, "namespace", "must be a DNS label"),
        (EksNodeGroup, POOL, {"start_script": "true"}, "start_script", "is an unknown argument"),
        (
            EksDevicePlugins,
            {**OWNED, "kubeconfig": "{}", "runtimes": ["cuda"]},
            {"runtimes": []},
            "runtimes",
            "is empty",
        ),
        (
            EksDevicePlugins,
            {**OWNED, "kubeconfig": "{}", "runtimes": ["cuda"]},
            {"runtimes": ["rocm"]},
            "runtimes[0]",
            "must be cuda or neuron, got 'rocm'",
        ),
    ],
)
def test_refuses(cls, args, change, path, sentence):
    found = refusals(cls, {**args, **change})
    assert any(at == path and sentence in text for at, text in found), found


ACCELERATED = [one for one in catalog.load().shapes if one.cloud == "aws" and one.runtime in ("cuda", "neuron")]


@given(st.sampled_from(ACCELERATED), st.booleans())
def test_interfaces_follow_the_network_cards(shape: Shape, gang: bool):
    cards = instances.network_interfaces(shape, gang=gang, security_groups=["sg-1"])
    efa = eks_node_config.has_efa(shape, gang=gang)
    apart = efa and shape.network_cards > shape.rdma_interfaces
    assert sum("efa" in card.get("interface_type", "") for card in cards) == (shape.rdma_interfaces if efa else 0)
    assert len(cards) == (shape.rdma_interfaces + apart if efa else 1)
    assert [card["network_card_index"] for card in cards] == list(range(len(cards)))
    assert [card["device_index"] for card in cards] == [0] + [0 if apart else 1] * (len(cards) - 1)
    assert all(("interface_type" in card) == efa for card in cards)


@given(st.sampled_from(ACCELERATED), st.booleans())
def test_first_boot_says_only_what_the_machine_has(shape: Shape, gang: bool):
    efa = eks_node_config.has_efa(shape, gang=gang)
    text = base64.b64decode(eks_node_config.first_boot(shape, efa=efa)).decode()
    assert f'"maxPods": {110 if (shape.vcpus or 99) < 30 else 250}' in text
    assert ("RAID0" in text) == bool(shape.local_nvme_bytes)
    assert ("nr_hugepages" in text) == efa
    assert text.rstrip().endswith("--SIZEWELL--")


@given(st.sampled_from(ACCELERATED))
def test_every_accelerated_machine_has_image_taint_and_metric(shape: Shape):
    assert eks_node_config.image_type(shape) != eks_node_config.IMAGE_TYPES[""]
    assert eks_node_config.taints(shape)[0]["key"] in eks_node_config.TAINT_KEYS.values()
    present = [key for key in eks_node_config.labels(shape, pool="p", efa=False) if key.endswith(".present")]
    assert len(present) == 1


def test_what_the_guard_stopped_stays_stopped_until_somebody_wakes_it():
    resources = record(lambda: EksNodeGroup("chat", {**POOL, "account": "123456789012"}))
    stop = only(resources, "aws:cloudwatch/metricAlarm:MetricAlarm", "chat-idle-stop").inputs
    rule = only(resources, "aws:cloudwatch/eventRule:EventRule", "chat-stop").inputs
    assert rule["scheduleExpression"] == "rate(1 hour)"  # a stop that failed is tried again
    assert json.loads(rule["eventPattern"])["resources"] == [
        f"arn:aws:cloudwatch:us-east-1:123456789012:alarm:{stop['name']}"
    ]
    steps = {
        one["name"]: one
        for one in json.loads(only(resources, "aws:ssm/document:Document").inputs["content"])["mainSteps"]
    }
    hold = steps["ToLeast"]["inputs"]
    assert (hold["Api"], hold["MinSize"], hold["MaxSize"], hold["DesiredCapacity"]) == (
        "UpdateAutoScalingGroup",
        0,
        0,
        0,
    )
    for step, words in (("WhetherAllAreIdle", ("idle", "LookAtTheAlarm")), ("WhetherItStands", ("ALARM", "ToLeast"))):
        (choice,) = steps[step]["inputs"]["Choices"]
        assert (choice["StringEquals"], choice["NextStep"]) == words
    wakes = only(resources, "aws:autoscaling/schedule:Schedule", "chat-start-0").inputs
    assert (wakes["desiredCapacity"], wakes["maxSize"]) == (1, 4)
    policy = json.loads(only(resources, "aws:iam/rolePolicy:RolePolicy", "chat-stop-group").inputs["policy"])
    nodes = only(resources, NODES).inputs["nodeGroupName"]
    assert policy["Statement"][0]["Resource"].endswith(f"/{eks_scaling.managed_group(nodes)}")
    scaler = json.loads(eks_scaling.policy(region="us-east-1", cluster="c"))["Statement"][2]["Action"]
    assert "autoscaling:UpdateAutoScalingGroup" not in scaler  # the autoscaler cannot lift what the guard has set


def test_a_pool_that_keeps_machines_goes_down_to_those_and_may_grow_again():
    kept = {key: value for key, value in POOL.items() if key != "schedule"} | {"nodes_min": 1}
    resources = record(lambda: EksNodeGroup("chat", kept))
    content = json.loads(only(resources, "aws:ssm/document:Document").inputs["content"])
    stop = content["mainSteps"][-1]["inputs"]
    assert (stop["DesiredCapacity"], "MaxSize" in stop, "MinSize" in stop) == (1, False, False)
    assert content["mainSteps"][0]["inputs"]["InputPayload"]["Least"] == 1


def test_a_machine_that_needs_a_newer_driver_than_the_image_has_is_refused():
    """G7's RTX PRO 4500 wants NVIDIA's 595, and EKS's image brings 580: its machines would join without a GPU."""
    (fault,) = [
        fault
        for fault in refusals(EksNodeGroup, {**POOL, "instance_type": "g7.2xlarge"})
        if fault[0] == "instance_type"
    ]
    assert "needs NVIDIA's driver 595 or later, and eks's own images have 580" in fault[1]


def selects(addon, part, labels):
    """Whether a DaemonSet of an add-on stands on a machine with these labels, by its required node affinity."""
    told = json.loads(eks_charts.addons(versions={}, lustre=False)[addon]["configuration_values"])
    (terms,) = told[part]["affinity"]["nodeAffinity"].values()
    known = {"kubernetes.io/arch": "amd64", **labels}
    holds = {
        "Exists": lambda one: one["key"] in known,
        "In": lambda one: known.get(one["key"]) in one["values"],
        "NotIn": lambda one: known.get(one["key"]) not in one["values"],
    }
    return any(all(holds[one["operator"]](one) for one in t["matchExpressions"]) for t in terms["nodeSelectorTerms"])


def test_every_accelerator_of_the_catalog_is_measured_and_its_health_seen():
    """Not by the add-on's list of instance types, on which some of the catalog are not."""
    parts = {"cuda": ("dcgmExporter", "dcgmAgent"), "neuron": ("neuronMonitor", None)}
    shapes = [one for one in catalog.load().shapes if one.cloud == "aws" and one.accelerators and one.runtime in parts]
    for shape in shapes:
        labels = eks_node_config.labels(shape, pool="train", efa=False)
        exporter, health = parts[shape.runtime]
        assert selects("amazon-cloudwatch-observability", exporter, labels), shape.instance_type
        assert health is None or selects("eks-node-monitoring-agent", health, labels), shape.instance_type
        system = eks_node_config.labels(find_shape("aws", "m7i.large"), pool="system", efa=False)
        assert not selects("amazon-cloudwatch-observability", exporter, system)
    unlisted = {one.instance_type for one in shapes if "rack" not in one.traits} - MEASURED
    assert {"p5.4xlarge", "g7e.48xlarge", "g6f.large"} <= unlisted
    assert {one.instance_type for one in shapes} >= MEASURED


def test_machines_are_renewed_where_none_more_is_to_be_had():
    groups = [one for one in record(lambda: EksNodeGroup("train", POOL)) if one.type == "aws:eks/nodeGroup:NodeGroup"]
    assert [one.inputs["updateConfig"] for one in groups] == [{"maxUnavailable": 1, "updateStrategy": "MINIMAL"}]
