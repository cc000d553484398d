"""Public images that a decision's EKS clusters run, for networks without internet access. Pure."""

from collections.abc import Sequence

from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks.args import plugin_args
from sizewell.components.facts import is_gang
from sizewell.components.kubernetes.objects import OPERATOR_IMAGES
from sizewell.sizing.records.decision import Decision, Pool, Workload


def operators_of(workload: Workload) -> tuple[str, ...]:
    """The operators that a workload's run may ask for."""
    if workload.kind in ("training", "fine-tuning"):
        return ("kuberay",) if workload.scheduler == "ray" else ("jobset",)
    return {"batch-inference": ("jobset",), "inference": ("lws", "keda")}.get(workload.kind, ())


def images_of(decision: Decision, pools: Sequence[tuple[Workload, Pool]], version: str) -> list[str]:
    """Images of device plugins, of the autoscaler and of operators; those of AWS lie in its own registry of the region.

    Which images the workloads run says the configuration; they belong into ECR as well.
    """
    plugins = {"cuda": "nvidia-device-plugin", "neuron": "neuron"}
    images = [eks_charts.IMAGES[plugins[runtime]] for runtime in plugin_args(decision, pools)["runtimes"]]
    if any(pool.managed == "raw" and pool.capacity.mode != "capacity-block" for _, pool in pools):
        images.append(eks_charts.autoscaler_image(version))
    if any(is_gang(*pair) for pair in pools):  # jobs of several machines wait in a queue, which brings JobSet
        images += [*OPERATOR_IMAGES["kueue"], *OPERATOR_IMAGES["jobset"]]
    for workload, _ in pools:
        images += [image for operator in operators_of(workload) for image in OPERATOR_IMAGES[operator]]
    return list(dict.fromkeys(images))
