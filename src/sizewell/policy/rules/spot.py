"""Spot machines: how they are chosen, what happens when they are reclaimed, and what should run on them."""

from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameter, Parameters, StackVerdicts, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.readers.common import any_contains
from sizewell.resources.recorded import UNKNOWN, Inapplicable, Unknown
from sizewell.resources.stackfacts import Job, Pool, StackFacts, Thing
from sizewell.resources.values import Flag, either, every, flag, get

_STRATEGIES_BY_CAPACITY: Final = (
    "price-capacity-optimized",
    "capacity-optimized",
    "capacity-optimized-prioritized",
    "priceCapacityOptimized",
    "capacityOptimized",
    "capacityOptimizedPrioritized",
)
_AUTOSCALING_GROUP: Final = "aws:autoscaling/group:Group"
_FLEET: Final = "aws:ec2/fleet:Fleet"
_SPOT_FLEET_REQUEST: Final = "aws:ec2/spotFleetRequest:SpotFleetRequest"


@rule(
    "spot-strategy",
    area="correctness",
    subject="pools",
    prevents="spot machines that are reclaimed soonest",
    level="advisory",
    clouds=("aws",),
    types=(_AUTOSCALING_GROUP, _FLEET, _SPOT_FLEET_REQUEST),
)
def spot_strategy(pool: Pool, _: Parameters) -> Verdict:
    """Spot machines are chosen by available capacity, and replaced before they are reclaimed.

    >>> from sizewell.policy.examples import pool
    >>> cheap = {"spotOptions": {"allocationStrategy": "lowest-price"}}
    >>> spot_strategy(pool(type="aws:ec2/fleet:Fleet", market="spot", inputs=cheap), {}).fix
    'set the allocation strategy to price-capacity-optimized'
    """
    if pool.market not in ("spot", "mixed", UNKNOWN):
        return None
    if pool.type == _AUTOSCALING_GROUP:
        policy = pool.inputs.get("mixedInstancesPolicy")
        if policy is None:
            return Undetermined("the market") if pool.market is UNKNOWN else None  # one type: nothing to choose from
        strategy = get(policy, "instancesDistribution", "spotAllocationStrategy")
        rebalances = flag(pool.inputs.get("capacityRebalance"))
    elif pool.type == _FLEET:
        strategy = get(pool.inputs, "spotOptions", "allocationStrategy")
        stated = get(pool.inputs, "spotOptions", "maintenanceStrategies", "capacityRebalance")
        rebalances = UNKNOWN if stated is UNKNOWN else stated is not None
    else:
        strategy = pool.inputs.get("allocationStrategy")
        stated = get(pool.inputs, "spotMaintenanceStrategies", "capacityRebalance")
        rebalances = UNKNOWN if stated is UNKNOWN else stated is not None
    if UNKNOWN in (pool.market, strategy, rebalances):
        return Undetermined("the market and its allocation strategy")
    if strategy not in _STRATEGIES_BY_CAPACITY:
        return Violation(
            f"{strategy or 'the default strategy'} takes the cheapest machines, which are reclaimed first",
            "set the allocation strategy to price-capacity-optimized",
        )
    if not rebalances:
        return Violation(
            "capacity rebalancing is off: machines at risk are not replaced before they are reclaimed",
            "turn capacity rebalancing on",
        )
    return None


@rule(
    "spot-single-choice",
    area="correctness",
    subject="pools",
    prevents="spot pools that find no capacity",
    level="advisory",
    clouds=("aws",),
    parameters={
        "choices": Parameter(
            default=3, schema={"type": "integer", "minimum": 1}, meaning="least combinations of machine type and zone"
        )
    },
)
def spot_single_choice(pool: Pool, parameters: Parameters) -> Verdict:
    """Spot capacity comes from several machine types and zones; from one of them it is often not available.

    >>> from sizewell.policy.examples import pool
    >>> one = pool(market="spot", kinds=("g6.xlarge",), zones=1, machine={})
    >>> spot_single_choice(one, {"choices": 3}).fix
    'name more machine types or zones, with the price-capacity-optimized strategy'
    >>> spot_single_choice(pool(market="spot", kinds=("g6.xlarge", "g5.xlarge"), zones=2), {"choices": 3}) is None
    True
    """
    if (
        pool.market not in ("spot", UNKNOWN)
        or pool.single
        or pool.gang is True
        or pool.type.startswith(("gcp:", "azure-native:"))
    ):
        return None
    if isinstance(pool.kinds, Unknown) or isinstance(pool.zones, Unknown):
        return Undetermined("machine types and zones")
    choices = max(1, len(pool.kinds)) * (pool.zones or 1)
    if choices >= parameters["choices"]:
        return None
    if pool.market is UNKNOWN:
        return Undetermined("the market")
    return Violation(
        f"{choices} combination{'' if choices == 1 else 's'} of type and zone: one shortage stops the work",
        "name more machine types or zones, with the price-capacity-optimized strategy",
    )


@rule(
    "spot-notice-unheard",
    area="correctness",
    subject="stack",
    prevents="work lost despite the interruption notice",
    level="advisory",
    clouds=("aws",),
)
def spot_notice_unheard(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Spot interruption notices are received: two minutes are enough to save a checkpoint.

    >>> from sizewell.policy.examples import pool, stack
    >>> fleet = pool(type="aws:ec2/fleet:Fleet", accelerator="l4", market="spot")
    >>> spot_notice_unheard(stack(pools=(fleet,)), {})[0][1].fix
    'send EC2 Spot Instance Interruption Warning events to a queue or function'
    """
    spot = [
        pool
        for pool in facts.pools
        if pool.type in {"aws:ec2/fleet:Fleet", "aws:ec2/spotFleetRequest:SpotFleetRequest"}
        and pool.accelerated is not False
        and pool.market in ("spot", "mixed", UNKNOWN)
    ]
    heard: Flag = False
    for event in facts.graph.of("aws:cloudwatch/eventRule:EventRule") if spot else ():
        pattern = event.inputs.get("eventPattern")
        if event.inputs.get("state") == "DISABLED":
            continue
        heard = either(heard, UNKNOWN if pattern is UNKNOWN else any_contains(pattern, ("spot instance interruption",)))
    return [
        (
            pool.urn,
            require(
                heard,
                message="interruption notices are not handled: the work since the last checkpoint is lost",
                fix="send EC2 Spot Instance Interruption Warning events to a queue or function",
                unknown="which events are handled",
            ),
        )
        for pool in spot
    ]


_AKS: Final = "azure-native:containerservice:"


@rule(
    "azure-spot-eviction",
    area="correctness",
    subject="pools",
    prevents="disks of evicted machines that are still billed",
    clouds=("azure",),
    types=(
        "azure-native:compute:VirtualMachineScaleSet",
        "azure-native:compute:VirtualMachine",
        "azure-native:containerservice:AgentPool",
        "azure-native:containerservice:ManagedCluster",
    ),
)
def azure_spot_eviction(pool: Pool, _: Parameters) -> Verdict:
    """An evicted Azure spot machine is deleted, at the market's price: the disks of a deallocated one are still billed.

    Where nothing is stated, AKS deletes its machines; scale sets and single machines are deallocated.

    >>> from sizewell.policy.examples import pool
    >>> evicted = pool(market="spot", cloud="azure", machine={"evictionPolicy": "Deallocate"})
    >>> azure_spot_eviction(evicted, {}).fix
    'set the eviction policy to Delete'
    >>> silent = pool(market="spot", cloud="azure", type="azure-native:containerservice:AgentPool", machine={})
    >>> azure_spot_eviction(silent, {}) is None
    True
    """
    if pool.market is UNKNOWN:
        return Undetermined("the market")
    if pool.market != "spot":
        return None
    policy = get(pool.machine, "evictionPolicy", default=get(pool.machine, "scaleSetEvictionPolicy"))
    if policy is None and pool.type.startswith(_AKS):
        policy = "Delete"
    limit = get(pool.machine, "billingProfile", "maxPrice", default=get(pool.machine, "spotMaxPrice", default=-1))
    if UNKNOWN in (policy, limit):
        return Undetermined("eviction policy and price limit")
    if policy != "Delete":
        return Violation(
            "evicted machines are deallocated, and their disks are still billed: the eviction policy is not Delete",
            "set the eviction policy to Delete",
        )
    if float(str(limit)) != -1:
        message = (
            f"a price limit of {limit} evicts the machines when the spot price rises; the on-demand price is "
            "the upper limit anyway"
        )
        return Violation(message, "set the price limit to -1")
    return None


@rule(
    "fleet-leaves-instances",
    area="spend",
    subject="things",
    prevents="machines that outlive their fleet",
    clouds=("aws",),
    types=(_FLEET, _SPOT_FLEET_REQUEST),
)
def fleet_leaves_instances(thing: Thing, _: Parameters) -> Verdict:
    """A fleet terminates its machines when it is deleted or expires.

    >>> from sizewell.policy.examples import thing
    >>> fleet_leaves_instances(thing(type="aws:ec2/fleet:Fleet"), {}).message
    'deleting the fleet leaves its machines running, billing and unmanaged'
    >>> gone = {"terminateInstances": True, "terminateInstancesWithExpiration": True}
    >>> fleet_leaves_instances(thing(type="aws:ec2/fleet:Fleet", inputs=gone), {}) is None
    True
    """
    inputs = thing.inputs
    if thing.type == _FLEET:
        wanted = ("terminateInstances", "terminateInstancesWithExpiration")
    else:
        wanted = ("terminateInstancesOnDelete", "terminateInstancesWithExpiration")
    return require(
        every(*(flag(inputs.get(name)) for name in wanted)),
        message="deleting the fleet leaves its machines running, billing and unmanaged",
        fix=f"set {wanted[0]} and {wanted[1]} to true",
        unknown="what the fleet does with its machines",
    )


@rule(
    "gke-spot-reservation",
    area="correctness",
    subject="pools",
    prevents="pools that the cloud rejects",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def gke_spot_reservation(pool: Pool, _: Parameters) -> Verdict:
    """Spot machines do not run in a reservation: state that, or the pool is rejected.

    >>> from sizewell.policy.examples import pool
    >>> spot = {"nodeConfig": {"spot": True, "reservationAffinity": {"consumeReservationType": "ANY_RESERVATION"}}}
    >>> gke_spot_reservation(pool(type="gcp:container/nodePool:NodePool", market="spot", inputs=spot), {}).fix
    'set reservationAffinity.consumeReservationType to NO_RESERVATION'
    """
    if pool.market not in ("spot", UNKNOWN):
        return None
    affinity = get(pool.inputs, "nodeConfig", "reservationAffinity", "consumeReservationType")
    if affinity is UNKNOWN:
        return Undetermined("the reservation affinity")
    if affinity in {None, "NO_RESERVATION"}:
        return None
    if pool.market is UNKNOWN:
        return Undetermined("the market")
    return Violation(
        "spot nodes with a reservation are rejected",
        "set reservationAffinity.consumeReservationType to NO_RESERVATION",
    )


_KINDS_WITHOUT_STATE: Final = ("inference", "batch-inference")


@rule(
    "spot-without-checkpoints",
    area="spend",
    subject="pools",
    prevents="training that a spot interruption loses and that is paid for twice",
)
def spot_without_checkpoints(pool: Pool, _: Parameters) -> Verdict:
    """Training on spot without a checkpoint store loses everything at the first interruption.

    >>> from sizewell.policy.examples import pool
    >>> spot_without_checkpoints(pool(accelerator="l4", market="spot"), {}).fix
    'add a checkpoint store and tag the pool sizewell-checkpoint-store, or sizewell-workload=inference'
    >>> spot_without_checkpoints(pool(accelerator="l4", market="spot", registration={"kind": "pool"}), {}).fix
    'name its checkpoint store in `writer`; for what keeps no state, add facts {"workloadKind": "inference"}'
    >>> spot_without_checkpoints(pool(accelerator="l4", market="spot", workload_kind="inference"), {}) is None
    True
    """
    if pool.accelerated is False or pool.market not in ("spot", "mixed", UNKNOWN):
        return None
    if pool.workload_kind in _KINDS_WITHOUT_STATE or pool.checkpoints is True:
        return None
    if UNKNOWN in (pool.market, pool.workload_kind, pool.checkpoints):
        return Undetermined("the market, the workload and its checkpoint store")
    fix = "add a checkpoint store and tag the pool sizewell-checkpoint-store, or sizewell-workload=inference"
    if pool.registration is not None:
        fix = 'name its checkpoint store in `writer`; for what keeps no state, add facts {"workloadKind": "inference"}'
    return Violation("no checkpoint store is declared: a spot interruption loses the whole run", fix)


@rule(
    "interruptible-on-demand",
    area="spend",
    subject="pools",
    prevents="on-demand prices for work that could run on spot",
    level="advisory",
)
def interruptible_on_demand(pool: Pool, _: Parameters) -> Verdict:
    """Work that may be interrupted is not bought on demand, at two to four times the price.

    >>> from sizewell.policy.examples import pool
    >>> interruptible_on_demand(pool(interruptible=True, market="on-demand"), {}).fix
    'use the spot market, or say in the spec that the work is not interruptible'
    >>> interruptible_on_demand(pool(interruptible=True, market="spot"), {}) is None
    True
    """
    if pool.interruptible is False or pool.reserved not in ("", UNKNOWN):
        return None
    if UNKNOWN in (pool.interruptible, pool.market, pool.reserved) or isinstance(pool.declared_market, Unknown):
        return Undetermined("the market")
    if pool.market != "on-demand" or pool.declared_market.startswith("reserved"):
        return None
    if pool.declared_market == "on-demand" and get(pool.registration, "decisionDigest") is not None:
        return None  # the decision weighed spot, its checkpoints and restarts included, and took something else
    return Violation(
        "the spec says the work may be interrupted, but the machines are on demand, at several times the spot price",
        "use the spot market, or say in the spec that the work is not interruptible",
    )


@rule(
    "managed-spot-job",
    area="correctness",
    subject="jobs",
    prevents="managed spot training that cannot finish",
    clouds=("aws",),
)
def managed_spot_job(job: Job, _: Parameters) -> Verdict:
    """Managed spot training waits at least as long as it runs, and has somewhere to resume from.

    >>> from sizewell.policy.examples import job
    >>> managed_spot_job(job(spot=True, run_seconds_max=10, wait_seconds_max=5, checkpoint=True), {}).fix
    'set maxWaitTimeInSeconds to at least maxRuntimeInSeconds'
    >>> managed_spot_job(job(spot=True, run_seconds_max=10, wait_seconds_max=20, checkpoint=True), {}) is None
    True
    """
    if job.spot is False:
        return None
    if isinstance(job.spot, Unknown):
        return Undetermined("whether it runs on spot")
    if job.checkpoint is not True and not isinstance(job.checkpoint, Inapplicable):
        message = "managed spot training without a checkpoint location: an interruption loses the whole run"
        return Violation(message, "set checkpointConfig.s3Uri")
    run, wait = job.run_seconds_max, job.wait_seconds_max
    if isinstance(run, Unknown) or isinstance(wait, Unknown):
        return Undetermined("its run and wait times")
    if wait is None or (run is not None and wait < run):
        message = "the job is rejected or ends unfinished: its maximum wait time is shorter than its run time"
        return Violation(message, "set maxWaitTimeInSeconds to at least maxRuntimeInSeconds")
    return None
