"""Scaling: how far pools grow, who owns their current size, what may be removed while it is empty."""

from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameter, Parameters, StackVerdicts, Undetermined, Verdict, Violation, rule
from sizewell.resources.readers.devices import is_device
from sizewell.resources.readers.guards import minutes
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool, StackFacts, Thing
from sizewell.resources.values import contains_unknown, count, declared_type, either, get, items, text
from sizewell.sizing.units import plural


@rule(
    "group-maximum",
    area="spend",
    subject="pools",
    prevents="unlimited scaling mistakes",
    parameters={
        "nodes": Parameter(default=64, schema={"type": "integer", "minimum": 1}, meaning="largest maximum size")
    },
)
def group_maximum(pool: Pool, parameters: Parameters) -> Verdict:
    """A group has a deliberate maximum: a typo or a loop must not start a thousand machines.

    >>> from sizewell.policy.examples import pool
    >>> group_maximum(pool(accelerator="l4", nodes_max=1000), {"nodes": 64}).fix
    'lower the maximum size to 64, or raise parameters.group-maximum.nodes'
    >>> group_maximum(pool(accelerator="l4", nodes_max=8), {"nodes": 64}) is None
    True
    """
    if pool.type.startswith("aws:batch/"):  # counts vCPUs
        return None
    if isinstance(pool.nodes_max, Unknown):
        return Undetermined("the maximum size")
    if pool.nodes_max is None or pool.nodes_max <= parameters["nodes"]:
        return None
    return Violation(
        f"a scaling mistake can start {pool.nodes_max} machines at once",
        f"lower the maximum size to {parameters['nodes']}, or raise parameters.group-maximum.nodes",
    )


# A request keeps what it asks for, until it ends: it has no minimum.
_FLEETS: Final = dict.fromkeys(
    ("aws:ec2/spotFleetRequest:SpotFleetRequest", "aws:ec2/fleet:Fleet"),
    "set validUntil and terminateInstancesWithExpiration, or use an Auto Scaling group whose minimum is 0",
)


@rule(
    "minimum-above-zero-in-dev",
    area="spend",
    subject="pools",
    prevents="development machines that are billed at night and on weekends",
    parameters={
        "environments": Parameter(
            default=["dev"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="environments whose pools must be able to reach zero",
        )
    },
)
def minimum_above_zero_in_dev(pool: Pool, parameters: Parameters) -> Verdict:
    """In development an accelerator pool can reach zero: otherwise it is billed on nights and weekends.

    >>> from sizewell.policy.examples import pool
    >>> dev = {"environments": ["dev"]}
    >>> minimum_above_zero_in_dev(pool(accelerator="l4", environment="dev", nodes_min=1), dev).fix
    'set the minimum size to 0'
    >>> fleet = {"type": "aws:ec2/fleet:Fleet", "accelerator": "l4", "environment": "dev", "nodes_min": 1}
    >>> minimum_above_zero_in_dev(pool(**fleet), dev).fix.partition(",")[0]
    'set validUntil and terminateInstancesWithExpiration'
    >>> minimum_above_zero_in_dev(pool(accelerator="l4", environment="prod", nodes_min=1), dev) is None
    True
    """
    if pool.accelerated is False or pool.single or pool.paid or pool.nodes_min in (0, None):
        return None
    if isinstance(pool.environment, Unknown):
        return Undetermined("the environment")
    if pool.environment not in parameters["environments"] or (pool.type in _FLEETS and pool.expiry.counts is True):
        return None
    if isinstance(pool.nodes_min, Unknown) or isinstance(pool.accelerated, Unknown):
        return Undetermined("the minimum size")
    kept = plural(pool.nodes_min or 0, f"{pool.accelerator} machine")
    return Violation(
        f"a {pool.environment} stack is billed for at least {kept} every night",
        pool.keeps_one or _FLEETS.get(pool.type, "set the minimum size to 0"),
    )


_CURRENT_SIZE_INPUTS: Final = {
    "aws:autoscaling/group:Group": ("desiredCapacity",),
    "aws:ec2/fleet:Fleet": ("targetCapacitySpecification",),
    "aws:eks/nodeGroup:NodeGroup": ("scalingConfig",),
    "gcp:container/nodePool:NodePool": ("initialNodeCount", "nodeCount"),
    "azure-native:containerservice:AgentPool": ("count",),
    "azure-native:compute:VirtualMachineScaleSet": ("sku",),
}


@rule(
    "current-size-owned",
    area="correctness",
    subject="pools",
    prevents="updates that restart what a guard stopped",
    level="advisory",
    types=tuple(_CURRENT_SIZE_INPUTS),
)
def current_size_owned(pool: Pool, _: Parameters) -> Verdict:
    """Autoscalers and guards move the current size; an update that resets it starts machines that are not needed.

    >>> from sizewell.policy.examples import pool
    >>> scaled = {"type": "aws:autoscaling/group:Group", "inputs": {"desiredCapacity": 4}, "scales": True}
    >>> current_size_owned(pool(accelerator="l4", **scaled), {}).fix
    'add desiredCapacity to ignore_changes'
    >>> current_size_owned(pool(accelerator="l4", ignore_changes=("desiredCapacity",), **scaled), {}) is None
    True
    """
    moved = either(pool.scales, pool.moved, pool.scheduled, pool.guarded)
    if moved is False:
        return None
    stated = [prop for prop in _CURRENT_SIZE_INPUTS[pool.type] if pool.inputs.get(prop) is not None]
    ignored = tuple(path.split(".")[0].split("[")[0] for path in pool.resource.ignore_changes)
    if not stated or any(prop in ignored for prop in stated):
        return None
    if moved is UNKNOWN:
        return Undetermined("what changes the size")
    return Violation(
        "the next update restarts every machine that the autoscaler or guard has stopped",
        f"add {stated[0]} to ignore_changes",
    )


@rule(
    "gke-size-or-autoscaling",
    area="correctness",
    subject="pools",
    prevents="updates that undo autoscaling",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def gke_size_or_autoscaling(pool: Pool, _: Parameters) -> Verdict:
    """A GKE pool has a fixed size or an autoscaler, not both: each update would undo the other.

    >>> from sizewell.policy.examples import pool
    >>> both = {"nodeCount": 2, "autoscaling": {"maxNodeCount": 4}}
    >>> gke_size_or_autoscaling(pool(type="gcp:container/nodePool:NodePool", inputs=both), {}).fix
    'drop nodeCount, or drop autoscaling'
    """
    if pool.inputs.get("nodeCount") is None or pool.inputs.get("autoscaling") is None:
        return None
    return Violation(
        "every update resets the size that the autoscaler chose: nodes are stopped and started needlessly",
        "drop nodeCount, or drop autoscaling",
    )


@rule(
    "capacity-wait",
    area="correctness",
    subject="things",
    prevents="groups that start machines after a failed update",
    level="advisory",
    clouds=("aws",),
    types=("aws:autoscaling/group:Group",),
)
def capacity_wait(thing: Thing, _: Parameters) -> Verdict:
    """An update does not wait for scarce capacity: a group that times out exists in the cloud and not in the state.

    >>> from sizewell.policy.examples import thing
    >>> group = "aws:autoscaling/group:Group"
    >>> capacity_wait(thing(type=group, inputs={"desiredCapacity": 2}), {}).fix
    'set waitForCapacityTimeout to "0"'
    >>> capacity_wait(thing(type=group, inputs={"waitForCapacityTimeout": "0"}), {}) is None
    True
    """
    if not declared_type(thing.resource).startswith("aws:"):
        return None  # CloudFormation waits for no machine
    waits = text(thing.inputs.get("waitForCapacityTimeout"), "10m")
    if isinstance(waits, Unknown):
        return Undetermined("the capacity timeout")
    if waits in {"0", "0s", "0m"} or thing.inputs.get("desiredCapacity") == 0:
        return None
    return Violation(
        f"when capacity is short the update fails after {waits}, but the group keeps starting machines",
        'set waitForCapacityTimeout to "0"',
    )


@rule(
    "queue-quota",
    area="correctness",
    subject="stack",
    prevents="nodes beyond the queue's quota",
    level="advisory",
)
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
                    if is_device(str(get(entry, "name"))):
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


@rule(
    "karpenter-limits",
    area="spend",
    subject="things",
    prevents="unlimited machines",
    about_accelerators=True,
    clouds=("kubernetes",),
    types=("kubernetes:karpenter.sh/v1:NodePool",),
)
def karpenter_limits(thing: Thing, _: Parameters) -> Verdict:
    """A Karpenter pool has limits: without them a loop of pods starts machines until the quota is used up.

    >>> from sizewell.policy.examples import thing
    >>> karpenter_limits(thing(type="kubernetes:karpenter.sh/v1:NodePool", inputs={"spec": {}}), {}).fix
    'set spec.limits (nvidia.com/gpu, cpu)'
    """
    limits = get(thing.inputs, "spec", "limits")
    if limits is UNKNOWN:
        return Undetermined("the limits")
    if limits:
        return None
    return Violation(
        "without limits runaway pods start machines up to the account's quota", "set spec.limits (nvidia.com/gpu, cpu)"
    )


@rule(
    "karpenter-consolidation",
    area="correctness",
    subject="things",
    prevents="jobs killed to save prepaid money",
    debatable=True,
    about_accelerators=True,
    clouds=("kubernetes",),
    types=("kubernetes:karpenter.sh/v1:NodePool",),
)
def karpenter_consolidation(thing: Thing, _: Parameters) -> Verdict:
    """Karpenter must not consolidate reserved machines: they are prepaid, and may not be available again.

    >>> from sizewell.policy.examples import thing
    >>> needs = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]}]
    >>> spec = {"template": {"spec": {"requirements": needs}}}
    >>> pool = thing(type="kubernetes:karpenter.sh/v1:NodePool", cloud="kubernetes", inputs={"spec": spec})
    >>> karpenter_consolidation(pool, {}).fix
    'set disruption.consolidateAfter to Never, or disruption.budgets with nodes: "0"'
    """
    spec = thing.inputs.get("spec")
    if spec is UNKNOWN:
        return Undetermined("the node pool's spec")
    needs = items(get(spec, "template", "spec", "requirements"))
    if isinstance(needs, Unknown):
        return Undetermined("the requirements")
    kinds = [get(need, "values") for need in needs if get(need, "key") == "karpenter.sh/capacity-type"]
    if not any(isinstance(values, list) and "reserved" in values for values in kinds):
        return Undetermined("the requirements") if contains_unknown(needs) else None
    disruption = get(spec, "disruption")
    budgets = items(get(disruption, "budgets"))
    quiet = get(disruption, "consolidateAfter") == "Never" or (
        isinstance(budgets, tuple) and any(str(get(budget, "nodes")) in {"0", "0%"} for budget in budgets)
    )
    if quiet:
        return None
    return Violation(
        "Karpenter may remove prepaid machines in the middle of a job, which saves nothing",
        'set disruption.consolidateAfter to Never, or disruption.budgets with nodes: "0"',
    )


_EMPTY_MINUTES_MAX: Final = 24 * 60


@rule(
    "empty-nodes-stay",
    area="spend",
    subject="things",
    prevents="empty machines that are still billed",
    about_accelerators=True,
    clouds=("kubernetes",),
    types=("kubernetes:karpenter.sh/v1:NodePool",),
)
def empty_nodes_stay(thing: Thing, _: Parameters) -> Verdict:
    """Karpenter removes empty machines within a day; prepaid ones may stay.

    >>> from sizewell.policy.examples import thing
    >>> spec = {"disruption": {"consolidateAfter": "Never"}}
    >>> pool = thing(type="kubernetes:karpenter.sh/v1:NodePool", cloud="kubernetes", inputs={"spec": spec})
    >>> empty_nodes_stay(pool, {}).fix
    'set disruption.consolidationPolicy to WhenEmpty and consolidateAfter to 10m, and allow disruption in budgets'
    """
    spec = thing.inputs.get("spec")
    needs = items(get(spec, "template", "spec", "requirements"))
    disruption = get(spec, "disruption")
    after = get(disruption, "consolidateAfter")
    budgets = items(get(disruption, "budgets"))
    if spec is UNKNOWN or contains_unknown(needs) or contains_unknown(disruption):
        return Undetermined("when empty machines are removed")
    if isinstance(needs, Unknown) or isinstance(budgets, Unknown):
        return Undetermined("when empty machines are removed")
    if any("reserved" in (get(need, "values") or ()) for need in needs):
        return None
    wait = minutes(after)
    always = [budget for budget in budgets if get(budget, "schedule") is None]
    closed = any(str(get(budget, "nodes")) in {"0", "0%"} for budget in always)
    if after != "Never" and (wait is None or wait <= _EMPTY_MINUTES_MAX) and not closed:
        return None
    return Violation(
        "empty machines are not removed within a day and are still billed",
        "set disruption.consolidationPolicy to WhenEmpty and consolidateAfter to 10m, and allow disruption in budgets",
    )
