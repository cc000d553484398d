"""One component alone: spot machines with one A100 each in a network given.

Run it in any Pulumi project: `pulumi config set group RESOURCE_GROUP`, `pulumi config set subnet ID`,
`pulumi config set securityGroup ID`, `pulumi up`.
"""

import pulumi

from sizewell.components.azure import GpuScaleSet

config = pulumi.Config()
machines = GpuScaleSet(
    "render",
    {
        "environment": "dev",
        "owner": "graphics",
        "region": "eastus",
        "zones": ["1"],
        "resource_group": config.require("group"),
        "subnet_id": config.require("subnet"),
        "security_group_id": config.require("securityGroup"),
        "vm_size": "Standard_NC24ads_A100_v4",
        "nodes_min": 0,
        "nodes_initial": 1,
        "nodes_max": 4,
        "capacity_mode": "spot",
        "disk_gib": 200,
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
pulumi.export("machines", machines.scale_set_name)
