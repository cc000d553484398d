from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.stackfacts import Pods


def pod_as_root(pods: Pods, _: Parameters) -> Verdict:
    """Containers do not run as root: a flaw in the runtime then does not give control of the machine.

    >>> from sizewell.policy.examples import pods
    >>> pod_as_root(pods(root=True), {}).fix
    'set securityContext.runAsNonRoot to true'
    """
    return forbid(
        pods.root,
        message="the container runs as root: a vulnerability of the runtime gives root on the machine",
        fix="set securityContext.runAsNonRoot to true",
        unknown="the container's user",
    )


RULE = Rule(
    id="pod-as-root",
    area="safety",
    subject="pods",
    prevents="root on the machine through a container",
    judge=pod_as_root,
    level="advisory",
    clouds=("kubernetes",),
)
