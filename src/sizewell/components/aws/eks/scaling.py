"""What the cluster's autoscaler reads and may do: tags of Auto Scaling groups, chart, role. Pure.

Sources: github.com/kubernetes/autoscaler, tag cluster-autoscaler-1.36.1, cloudprovider/aws/README.md (tags, policy),
and chart 9.56.0.
"""

import math
from collections.abc import Mapping
from typing import Any

import pulumi

from sizewell.components.aws import policies
from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks import node_config as eks_node_config
from sizewell.components.aws.instances import runtime_of
from sizewell.components.inputs import derive
from sizewell.components.owned import GuardArgs
from sizewell.components.tags import legal
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.units import GIB

DISCOVERY = (
    "sizewell-autoscaled"  # own tag: EKS gives its usual ones to every group, the system pool's and a block's too
)
TEMPLATE = "k8s.io/cluster-autoscaler/node-template"
UNNEEDED_S = 1800  # an empty machine stays so long where no guard says how long
NEVER = "8760h"  # reserved machines are paid anyway, and may not come back
NAMESPACE, ACCOUNT = "kube-system", "cluster-autoscaler"
RESOURCES = {"cuda": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron"}
USABLE_DISK = 0.85  # what a kubelet leaves pods of a disk: 10 % stay free, system and images take the rest (estimate)
PRIORITIES = {"reservation": 30, "spot": 20, "on-demand": 10}  # what is paid first, then what is cheap


def group_tags(
    shape: Shape,
    *,
    pool: str,
    project: str,
    stack: str,
    cluster: pulumi.Input[str],
    mode: str,
    efa: bool,
    disk_gib: int,
    guard: GuardArgs | None,
) -> dict[str, pulumi.Input[str]]:
    """Tags of a pool's Auto Scaling group, which a managed node group does not hand on: whose it is, for the hard end;
    that the autoscaler may move it; and what a machine of it would be, since a group of none has none to look at.

    A capacity block comes and goes by its dates, so the autoscaler never sees it.
    """
    marks: dict[str, pulumi.Input[str]] = {"sizewell-project": legal(project), "sizewell-stack": legal(stack)}
    if mode == "capacity-block":
        return marks
    marks[DISCOVERY] = cluster
    for key, value in eks_node_config.labels(shape, pool=pool, efa=efa).items():
        marks[f"{TEMPLATE}/label/{key}"] = value
    for taint in eks_node_config.taints(shape):
        marks[f"{TEMPLATE}/taint/{taint['key']}"] = f"{taint['value']}:NoSchedule"
    for key, value in resources(shape, efa=efa, disk_gib=disk_gib).items():
        marks[f"{TEMPLATE}/resources/{key}"] = value
    unneeded = NEVER if mode == "reservation" else f"{guard['window_s'] if guard else UNNEEDED_S}s"
    marks[f"{TEMPLATE}/autoscaling-options/scaledownunneededtime"] = unneeded
    return marks


def resources(shape: Shape, *, efa: bool, disk_gib: int) -> dict[str, str]:
    """What pods may ask a machine for that its type alone does not tell the autoscaler.

    Where a machine has disks of its own, pods write onto those.
    """
    disk = shape.local_nvme_bytes / GIB or disk_gib
    amounts = {
        **({RESOURCES[runtime_of(shape)]: str(shape.accelerators)} if runtime_of(shape) else {}),
        "ephemeral-storage": f"{math.floor(disk * USABLE_DISK)}Gi",
    }
    if efa:
        amounts |= {
            "vpc.amazonaws.com/efa": str(shape.rdma_interfaces),
            "hugepages-2Mi": f"{eks_node_config.HUGE_PAGES * 2}Mi",
        }
    return amounts


def tag_name(key: str) -> str:
    """How the resource of a tag is called.

    >>> tag_name("sizewell-stack"), tag_name("k8s.io/cluster-autoscaler/node-template/label/sizewell/pool")
    ('tag-sizewell-stack', 'tag-label-sizewell-pool')
    """
    return "tag-" + key.removeprefix(f"{TEMPLATE}/").replace("/", "-")


def policy(*, region: str, cluster: str) -> str:
    """See every group, move those that are tagged as this cluster's."""
    return policies.policy(
        [
            {
                "Sid": "Look",
                "Effect": "Allow",
                "Action": [
                    "autoscaling:DescribeAutoScalingGroups",
                    "autoscaling:DescribeAutoScalingInstances",
                    "autoscaling:DescribeLaunchConfigurations",
                    "autoscaling:DescribeScalingActivities",
                    "ec2:DescribeImages",
                    "ec2:DescribeInstanceTypes",
                    "ec2:DescribeLaunchTemplateVersions",
                    "ec2:GetInstanceTypesFromInstanceRequirements",
                ],
                "Resource": "*",
                "Condition": {"StringEquals": {"aws:RequestedRegion": region}},
            },
            {
                "Sid": "LookAtOwn",
                "Effect": "Allow",
                "Action": "eks:DescribeNodegroup",
                "Resource": f"arn:{policies.partition(region)}:eks:{region}:*:nodegroup/{cluster}/*",
            },
            {
                "Sid": "Move",
                "Effect": "Allow",
                "Action": ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
                "Resource": f"arn:{policies.partition(region)}:autoscaling:{region}:*:autoScalingGroup:*",
                "Condition": {"StringEquals": {f"aws:ResourceTag/{DISCOVERY}": cluster}},
            },
        ]
    )


def managed_group(node_group: str) -> str:
    """The Auto Scaling group of a managed node group, as a policy names it: EKS calls it after the node group and a
    UUID, so that no other node group's fits.

    >>> managed_group("chat")
    'eks-chat-????????-????-????-????-????????????'
    """
    return "-".join(["eks", node_group, *("?" * digits for digits in (8, 4, 4, 4, 12))])


GROUP_NAME = "^eks-[0-9A-Za-z-]+$"


def priorities(groups: Mapping[str, str]) -> dict[str, list[str]]:
    """Expressions of Auto Scaling groups by priority; `groups`: capacity mode by name of the managed node group.

    >>> priorities({"lab": "spot", "base": "reservation"})
    {'20': ['^eks-lab-.*'], '30': ['^eks-base-.*']}
    """
    by_priority: dict[str, list[str]] = {}
    for group, mode in groups.items():
        by_priority.setdefault(str(PRIORITIES[mode]), []).append(f"^eks-{group}-.*")
    return dict(sorted(by_priority.items()))


def chart(
    *,
    cluster: pulumi.Input[str],
    region: str,
    registry: pulumi.Input[str],
    groups: Mapping[str, str],
    image: pulumi.Input[str],
) -> dict[str, Any]:
    """The pinned chart, its pod on the system pool; a mirror in `registry` has the public `image` too.

    Machines go only when no pod but those of DaemonSets is on them (threshold 0): no job loses a machine to packing.
    """
    arguments = {
        "expander": "priority,least-waste" if groups else "least-waste",
        "balance-similar-node-groups": False,  # machines of one job stand in one zone
        "scale-down-utilization-threshold": "0",
        "scale-down-gpu-utilization-threshold": "0",
        "scale-down-unneeded-time": f"{UNNEEDED_S}s",
        "ignore-daemonsets-utilization": True,
        "skip-nodes-with-system-pods": True,
        "skip-nodes-with-local-storage": True,
        "max-node-provision-time": "30m",  # the largest machines need a quarter of an hour to start
    }
    release = "cluster-autoscaler"
    return {
        "chart": release,
        "version": "9.56.0",
        "repository": "https://kubernetes.github.io/autoscaler",
        "values": {
            "fullnameOverride": release,
            "awsRegion": region,
            "autoDiscovery": {"clusterName": cluster, "tags": [DISCOVERY + "={{ .Values.autoDiscovery.clusterName }}"]},
            "image": derive(eks_charts.image, image, registry),
            "rbac": {"serviceAccount": {"name": ACCOUNT}},
            "extraArgs": arguments,
            **({"expanderPriorities": priorities(groups)} if groups else {}),
            "nodeSelector": {"sizewell/pool": "system"},
            "resources": {
                "requests": {"cpu": "100m", "memory": "600Mi"},
                "limits": {"cpu": "1", "memory": "600Mi"},
            },
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65534,
                "runAsGroup": 65534,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containerSecurityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
        },
    }


def role_policy(*, region: str, cluster: pulumi.Input[str]) -> pulumi.Input[str]:
    """The policy, at once where the cluster's name is known."""
    return derive(lambda name: policy(region=region, cluster=name), cluster)
