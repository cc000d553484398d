"""Network, plain machines and checkpoint store: what they make."""

import pytest
from aws_recording import GUARD, OWNED, PLACE, PROD, check_right, golden, record

from components.aws.checkpoints import CheckpointStore
from components.aws.network import Network
from components.aws.nodes import GpuNodeGroup

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
    "capacity_block": {"id": "cr-0123456789abcdef0"},
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
