from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, require
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pods


def pod_not_tolerating(pods: Pods, _: Parameters) -> Verdict:
    """A pod that requests accelerators tolerates the taint of their nodes: otherwise it waits for ever.

    >>> from sizewell.policy.examples import pods
    >>> pod_not_tolerating(pods(accelerators=1, tolerates=False), {}).fix
    'add a toleration of nvidia.com/gpu, google.com/tpu, aws.amazon.com/neuron or sku (operator: Exists)'
    """
    if isinstance(pods.accelerators, Unknown):
        return Undetermined("the accelerators that it asks for")
    if not pods.accelerators:
        return None
    return require(
        pods.tolerates,
        message="the pod does not tolerate the taint of the accelerators: it never starts while they are billed",
        fix="add a toleration of nvidia.com/gpu, google.com/tpu, aws.amazon.com/neuron or sku (operator: Exists)",
        unknown="the tolerations",
    )


RULE = Rule(
    id="pod-not-tolerating",
    area="correctness",
    subject="pods",
    prevents="jobs that wait while their machines are billed",
    judge=pod_not_tolerating,
    level="advisory",
    clouds=("kubernetes",),
)
