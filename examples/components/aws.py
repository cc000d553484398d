"""One component alone, in a program that has nothing to do with our stacks: spot machines with GPUs in a network given.

Run it in any Pulumi project: `pulumi config set vpc vpc-...`, `pulumi config set subnet subnet-...`, `pulumi up`.
"""

import pulumi

from sizewell.components.aws import GpuNodeGroup

config = pulumi.Config()
machines = GpuNodeGroup(
    "render",
    {
        "environment": "dev",
        "owner": "graphics",
        "region": "us-east-1",
        "zones": ["us-east-1a"],
        "vpc_id": config.require("vpc"),
        "vpc_cidr": "10.0.0.0/16",
        "subnet_ids": [config.require("subnet")],
        "instance_type": "g6.xlarge",
        "nodes_min": 0,
        "nodes_initial": 1,
        "nodes_max": 4,
        "capacity_mode": "spot",
        "fallback_types": ["g5.xlarge"],
        "disk_gib": 100,
        # what keeps no state may be interrupted; training names its store: "writer"
        "facts": {"workloadKind": "batch-inference"},
        "guard": {
            "signal": "accelerator_utilization",
            "min_utilization_percent": 5,
            "window_s": 2700,
            "grace_s": 3600,
            "action": "scale-to-zero",
        },
    },
)
pulumi.export("group", machines.group_name)
