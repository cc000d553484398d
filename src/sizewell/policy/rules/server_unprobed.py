from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pods


def server_unprobed(pods: Pods, _: Parameters) -> Verdict:
    """A server on accelerators has readiness and liveness probes; a job, which ends by itself, needs none.

    >>> from sizewell.policy.examples import pods
    >>> server_unprobed(pods(accelerators=1, serves=True, readiness=True), {}).fix
    'add a livenessProbe to the serving container'
    >>> server_unprobed(pods(accelerators=8, serves=False), {}) is None
    True
    """
    if pods.serves is False or pods.accelerators == 0 or (pods.readiness is True and pods.liveness is True):
        return None
    if isinstance(pods.accelerators, Unknown) or pods.serves is UNKNOWN:
        return Undetermined("its accelerators and its callers")
    if pods.readiness is False:
        return Violation(
            "no readiness probe: requests fail while weights are loading, and a bad rollout replaces good pods",
            "add a readinessProbe to the serving container, and a startupProbe for as long as it loads",
        )
    if pods.liveness is False:
        return Violation(
            "no liveness probe: a server that hangs is not restarted and is still billed",
            "add a livenessProbe to the serving container",
        )
    return Undetermined("the probes")


RULE = Rule(
    id="server-unprobed",
    area="correctness",
    subject="pods",
    prevents="servers that hang and are billed, and requests that fail",
    judge=server_unprobed,
    level="advisory",
    clouds=("kubernetes",),
)
