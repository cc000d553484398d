"""One component alone: a queue for eight machines of a Kubernetes cluster of any origin, by its kubeconfig.

Run it in any Pulumi project: `pulumi config set --secret kubeconfig "$(cat ~/.kube/config)"`, `pulumi up`.
"""

import pulumi

from sizewell.components.kubernetes import Queueing

queues = Queueing(
    "queues",
    {
        "environment": "dev",
        "owner": "research",
        "kubeconfig": pulumi.Config().require_secret("kubeconfig"),
        "flavors": [
            {
                "name": "h100",
                "node_labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
                "resource": "nvidia.com/gpu",
                "accelerators_per_machine": 8,
                "cpus_per_machine": 208,
                "memory_gib_per_machine": 1872,
                "machines": 8,
            }
        ],
    },
)
pulumi.export("queues", queues.queues)
