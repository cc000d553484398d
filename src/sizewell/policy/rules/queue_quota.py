from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import contains_unknown, count, get

_ACCELERATORS: Final = ("nvidia.com/gpu", "google.com/tpu", "amd.com/gpu", "aws.amazon.com/neuron")


def queue_quota(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A pool's maximum fits the queue's quota: an autoscaler starts nodes that the queue never fills.

    >>> from sizewell.policy.examples import pool, resource, stack
    >>> flavors = [{"resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}]
    >>> queue = {"spec": {"resourceGroups": [{"flavors": flavors}]}}
    >>> big = pool(accelerator="l4", accelerators=4, nodes_max=4)
    >>> name = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"
    >>> queue_quota(stack(resource(name, "queue", queue), pools=(big,)), {})[0][1].fix
    'raise nominalQuota to 16 or lower the maximum sizes'
    """
    queues = [r for r in facts.graph.plan.resources if r.type.endswith(":ClusterQueue")]
    if not queues:
        return []
    quota = 0
    accelerators = False
    for queue in queues:
        if contains_unknown(queue.inputs.get("spec")):
            return [(queue.urn, Undetermined("the quotas"))]
        for group in get(queue.inputs, "spec", "resourceGroups", default=()):
            for flavor in get(group, "flavors", default=()):
                for entry in get(flavor, "resources", default=()):
                    if get(entry, "name") in _ACCELERATORS:
                        accelerators = True
                        amount = count(get(entry, "nominalQuota"))
                        quota += amount if isinstance(amount, int) else 0
    wanted = 0
    for pool in facts.pools:
        if pool.accelerated is False:
            continue
        if UNKNOWN in (pool.accelerated, pool.nodes_max, pool.accelerators):
            return [(queues[0].urn, Undetermined(f"the size of {pool.name}"))]
        if isinstance(pool.nodes_max, int) and isinstance(pool.accelerators, int):
            wanted += pool.nodes_max * pool.accelerators
    if quota == 0 and accelerators:
        message = "the queue has no quota for accelerators: jobs wait while machines may be billed"
        return [(queues[0].urn, Violation(message, "set nominalQuota to what was reserved"))]
    if wanted <= quota:
        return [(queues[0].urn, None)]
    return [
        (
            queues[0].urn,
            Violation(
                (
                    f"the pools can grow to {wanted} accelerators, the queue's quota is {quota}: the rest would "
                    "be billed unused"
                ),
                f"raise nominalQuota to {wanted} or lower the maximum sizes",
            ),
        )
    ]


RULE = Rule(
    id="queue-quota",
    area="correctness",
    subject="stack",
    prevents="nodes beyond the queue's quota",
    judge=queue_quota,
    level="advisory",
)
