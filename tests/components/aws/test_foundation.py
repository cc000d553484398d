"""Network, plain machines and checkpoint store: what they make."""

import base64
import re

import pulumi
import pytest
from aws_recording import GUARD, OWNED, PLACE, PROD, check_right, golden, only, record, refusals

from sizewell.components.aws import instances
from sizewell.components.aws.network import Network
from sizewell.components.aws.nodes import GpuNodeGroup
from sizewell.components.aws.storage.checkpoints import CheckpointStore
from sizewell.sizing import catalog

HOURS = {"time_zone": "Europe/London", "windows": [{"days": "mon-fri", "start": "07:00", "end": "21:00"}]}
STORE = {"bucket": "store", "key_alias": "alias/store"}
ONE_ZONE = {**PLACE, "zones": ["us-east-1a"], "subnet_ids": ["subnet-1"]}
NETWORK = {**OWNED, "region": "us-east-1", "zones": ["us-east-1a"]}
PROD_NETWORK = {
    **PROD,
    "region": "us-east-1",
    "zones": ["use1-az1", "use1-az4"],
    "cidr": "10.64.0.0/18",
    "endpoint_services": ["ssm", "sts", "ecr.api", "ecr.dkr", "logs"],
}
SPOT = {
    **OWNED,
    **PLACE,
    "instance_type": "g6.xlarge",
    "nodes_min": 0,
    "nodes_initial": 1,
    "nodes_max": 4,
    "capacity_mode": "spot",
    "fallback_types": ["g5.xlarge"],
    "disk_gib": 100,
    "guard": GUARD,
    "schedule": HOURS,
    "writer": STORE,
    "start_script": "systemctl start trainer",
    "mounts": [{"dns_name": "fs-1.fsx.us-east-1.amazonaws.com", "mount_name": "abcdef", "path": "/data"}],
}
BLOCK = {
    **PROD,
    **ONE_ZONE,
    "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/1",
    "instance_type": "p5.48xlarge",
    "nodes_min": 0,
    "nodes_initial": 4,
    "nodes_max": 4,
    "capacity_mode": "capacity-block",
    "capacity_block": {
        "id": "cr-0123456789abcdef0",
        "starts": "2026-12-28T11:30:00Z",
        "ends": "2026-12-31T11:30:00Z",
    },
    "gang": True,
    "disk_gib": 500,
    "writer": STORE,
    "guard": {**GUARD, "action": "notify"},
}
BOUGHT = {
    **BLOCK,
    "capacity_block": {"purchase": "confirmed", "duration_hours": 72, "max_price_usd": 9100.0},
}
NEURON = {
    **OWNED,
    **ONE_ZONE,
    "instance_type": "trn1.32xlarge",
    "nodes_min": 0,
    "nodes_initial": 2,
    "nodes_max": 2,
    "capacity_mode": "on-demand",
    "gang": True,
    "disk_gib": 200,
    "guard": GUARD,
}
KEPT = {key: value for key, value in OWNED.items() if key != "expires"}  # a store outlives its cluster


@pytest.mark.parametrize(
    ("form", "cls", "args"),
    [
        ("network-dev", Network, NETWORK),
        ("network-prod", Network, PROD_NETWORK),
        ("machines-spot-dev", GpuNodeGroup, SPOT),
        ("machines-neuron-dev", GpuNodeGroup, NEURON),
        ("machines-block-prod", GpuNodeGroup, BLOCK),
        ("machines-bought-prod", GpuNodeGroup, BOUGHT),
        ("checkpoints-dev", CheckpointStore, {**KEPT, "region": "us-east-1", "bucket": "checkpoints-1"}),
        (
            "checkpoints-prod",
            CheckpointStore,
            {
                **{key: value for key, value in PROD.items() if key != "account"},
                "region": "us-east-1",
                "bucket": "checkpoints-2",
                "retention_days": 60,
                "versions_days": 90,
            },
        ),
    ],
)
def test_makes_what_is_written_down(form, cls, args):
    resources = record(lambda: cls("work", args), stack="prod-aws" if "prod" in form else "dev-aws")
    check_right(resources)
    golden(form, resources)


def script_of(resources):
    template = only(resources, "aws:ec2/launchTemplate:LaunchTemplate").inputs
    return base64.b64decode(template["userData"]).decode()


def test_file_systems_are_mounted_before_the_work_starts():
    resources = record(lambda: GpuNodeGroup("work", SPOT))
    lines = script_of(resources).splitlines()
    assert lines.index("mount -a -t lustre") < lines.index("systemctl start trainer")
    assert any(line.startswith("echo 'fs-1.fsx.us-east-1.amazonaws.com@tcp:/abcdef /data lustre") for line in lines)
    rules = [one.inputs for one in resources if one.type.endswith("SecurityGroupEgressRule")]
    assert {(988, 988), (1018, 1023)} <= {(one.get("fromPort"), one.get("toPort")) for one in rules}
    without = record(lambda: GpuNodeGroup("work", {key: value for key, value in SPOT.items() if key != "mounts"}))
    assert "lustre" not in script_of(without)
    assert 988 not in {one.inputs.get("fromPort") for one in without}


@pytest.mark.parametrize(
    ("args", "begins", "drains"),
    [(BLOCK, "2026-12-28T11:30:00Z", "2026-12-31T10:50:00Z"), (BOUGHT, None, None)],
)
def test_a_block_s_machines_come_when_it_begins_and_are_drained_before_its_end(args, begins, drains):
    resources = record(lambda: GpuNodeGroup("work", args), "prod-aws")
    assert only(resources, "aws:autoscaling/group:Group").inputs["desiredCapacity"] == 0
    for name, start, size in (("work-begin", begins, 4), ("work-drain", drains, 0)):
        action = only(resources, "aws:autoscaling/schedule:Schedule", name).inputs
        assert action["startTime"] == start or start is None
        assert (action["minSize"], action["desiredCapacity"], action["maxSize"]) == (0, size, 4)


def test_a_block_that_runs_already_gives_its_machines_at_once():
    args = {**BLOCK, "capacity_block": {"id": "cr-0123456789abcdef0", "ends": "2026-12-31T11:30:00Z"}}
    resources = record(lambda: GpuNodeGroup("work", args), "prod-aws")
    assert only(resources, "aws:autoscaling/group:Group").inputs["desiredCapacity"] == 4
    assert only(resources, "aws:autoscaling/schedule:Schedule").name == "work-drain"


@pytest.mark.parametrize(
    ("args", "change", "path", "sentence"),
    [
        (SPOT, {"mounts": [{**SPOT["mounts"][0], "path": "data"}]}, "mounts[0].path", "must be a folder of its own"),
        (SPOT, {"mounts": [{**SPOT["mounts"][0], "path": "/etc/x"}]}, "mounts[0].path", "got '/etc/x'"),
        (SPOT, {"mounts": SPOT["mounts"] * 2}, "mounts", "name a path twice"),
        (SPOT, {"mounts": [{"path": "/data"}]}, "mounts[0].dns_name", "is missing"),
        (BLOCK, {"capacity_block": {**BLOCK["capacity_block"], "ends": "soon"}}, "capacity_block.ends", "got 'soon'"),
        (BLOCK, {"capacity_block": {**BLOCK["capacity_block"], "starts": "now"}}, "capacity_block.starts", "got 'now'"),
        (
            BLOCK,
            {"capacity_block": {**BLOCK["capacity_block"], "starts": "2026-12-31T11:00:00Z"}},
            "capacity_block.ends",
            "must be over 40 minutes after starts",
        ),
    ],
)
def test_refuses(args, change, path, sentence):
    found = refusals(GpuNodeGroup, {**args, **change})
    assert any(at == path and sentence in text for at, text in found), found


def test_the_first_card_of_a_b300_carries_no_efa():
    """17 cards, one for IP: asking the first for EFA is refused, and so is a second index on the others."""
    cards = instances.network_interfaces(
        catalog.load().shape("aws", "p6-b300.48xlarge"), gang=True, security_groups=["sg"]
    )
    assert [card["interface_type"] for card in cards] == ["interface"] + ["efa-only"] * 16
    assert {card["device_index"] for card in cards} == {0}
    assert [card["network_card_index"] for card in cards] == list(range(17))
    alone = instances.network_interfaces(
        catalog.load().shape("aws", "p6-b300.48xlarge"), gang=False, security_groups=["sg"]
    )
    assert len(alone) == 1
    assert "interface_type" not in alone[0]


def test_a_network_may_have_the_range_of_carriers():
    record(lambda: Network("net", {**NETWORK, "cidr": "100.64.0.0/16"}))


PARAMETER = "resolve:ssm:/aws/service/"
AL2023 = f"{PARAMETER}ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"


@pytest.mark.parametrize(
    ("machine", "image", "refused"),
    [
        ("g6.xlarge", AL2023, True),
        ("g6.xlarge", f"{PARAMETER}canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id", True),
        ("g6.xlarge", f"{PARAMETER}ecs/optimized-ami/amazon-linux-2023/recommended/image_id", True),
        (
            "g6.xlarge",
            f"{PARAMETER}eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id",
            True,
        ),
        ("inf2.xlarge", f"{PARAMETER}deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id", True),
        ("g6.xlarge", f"{PARAMETER}deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id", False),
        ("inf2.xlarge", f"{PARAMETER}neuron/dlami/base/amazon-linux-2023/latest/image_id", False),
        ("g6.xlarge", "ami-0123456789abcdef0", False),  # whose name nobody knows
        ("g6.xlarge", "resolve:ssm:/acme/images/gpu", False),
    ],
)
def test_an_image_that_is_known_to_have_no_driver_is_refused_with_one_that_has(machine, image, refused):
    """It was accepted, and offered as the way out of an ended one: machines that are billed and nothing can use."""
    args = {**SPOT, "instance_type": machine, "image": image}
    args.pop("fallback_types")
    args.pop("start_script", None)
    if not refused:
        assert record(lambda: GpuNodeGroup("work", args))
        return
    ((path, said),) = refusals(GpuNodeGroup, args)
    assert (path, "has no driver for the" in said) == ("image", True)
    (way_out,) = re.findall(r"resolve:ssm:\S+(?=, or install the driver by start_script)", said)
    assert record(lambda: GpuNodeGroup("work", {**args, "image": way_out}))
    assert record(lambda: GpuNodeGroup("work", {**args, "start_script": "dnf install -y nvidia-driver"}))


def test_an_image_whose_nvidia_driver_does_not_know_the_gpu_is_refused():
    image = f"{PARAMETER}deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id"
    args = {**SPOT, "instance_type": "p3.2xlarge", "image": image}
    args.pop("fallback_types")
    args.pop("start_script", None)
    ((path, said),) = refusals(GpuNodeGroup, args)
    assert (path, "needs NVIDIA's proprietary kernel modules" in said) == ("image", True)
    assert record(lambda: GpuNodeGroup("work", {**args, "start_script": "./proprietary-driver.sh"}))


def test_the_way_out_of_an_ended_image_has_the_driver():
    ended = f"{PARAMETER}ami-amazon-linux-latest/amzn2-ami-kernel-5.10-hvm-x86_64-gp2"
    (said, *_) = [text for path, text in refusals(GpuNodeGroup, {**SPOT, "image": ended}) if path == "image"]
    assert "base-oss-nvidia-driver-gpu-al2023" in said


def test_an_output_in_place_of_a_value_is_called_one():
    args = {**SPOT, "vpc_cidr": pulumi.Output.from_input("10.0.0.0/16")}
    (said,) = [text for path, text in refusals(GpuNodeGroup, args) if path == "vpc_cidr"]
    assert "got an output, whose value a check before the update does not have" in said
    assert "0x" not in said
