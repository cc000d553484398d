"""From a decision to what every cloud's arguments share, and to what a component registers. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sizewell.components.forms import PoolArgs
from sizewell.components.owned import OwnedArgs, assemble
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision, Pool, Workload


def owned_args(decision: Decision) -> OwnedArgs:
    """Whose the component is, and until when."""
    owned = lasting_args(decision)
    if decision.expires_at:
        owned["expires"] = decision.expires_at.isoformat()
    return owned


def lasting_args(decision: Decision) -> OwnedArgs:
    """Whose the component is, where it outlives the stack's machines."""
    owned: OwnedArgs = {"environment": decision.environment, "owner": decision.owner}
    if decision.cost_center:
        owned["cost_center"] = decision.cost_center
    return owned


def guard_args(workload: Workload, *, prepaid: bool) -> dict[str, object]:
    """The idle guard, if there is one; stopping prepaid capacity saves nothing, so there it only notifies."""
    if workload.guard is None:
        return {}
    return {"guard": {**workload.guard.model_dump(), "action": "notify" if prepaid else workload.guard.action}}


def schedule_args(workload: Workload) -> dict[str, object]:
    """Working hours, if there are any."""
    schedule = workload.schedule
    if schedule is None or not schedule.windows:
        return {}
    windows = [{"days": days, "start": start, "end": end} for days, start, end in schedule.windows]
    return {"schedule": {"time_zone": schedule.time_zone, "windows": windows}}


def is_gang(workload: Workload, pool: Pool) -> bool:
    """Whether the pool's machines work on one job together."""
    return workload.parallelism is not None and pool.nodes_max > 1


def has_queues(pairs: Collection[tuple[Workload, Pool]]) -> bool:
    """Whether the cluster of these pools gets a queue for each: jobs of several machines need all of them or none,
    nothing else asks for queued machines, and AKS's Ray waits there too.
    """
    return any(
        is_gang(workload, pool)
        or pool.capacity.mode == "queued"
        or (workload.scheduler == "ray" and pool.cloud in CLOUDS and CLOUDS[pool.cloud].cluster.queues_ray)
        for workload, pool in pairs
    )


def machines_args(
    decision: Decision,
    workload: Workload,
    pool: Pool,
    *,
    zones: Sequence[str],
    disk_gib_min: int,
    from_zero: Collection[str] = (),
    prepaid: Collection[str] = (),
) -> PoolArgs:
    """What a decision says of a pool's machines on every cloud; the cloud adds the type, and what only it has.

    The fewest are none with working hours, and with capacity modes `from_zero`; in modes `prepaid` a guard only tells,
    since stopping saves nothing.
    """
    mode = pool.capacity.mode
    args: dict[str, object] = {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "region": pool.region,
        "zones": list(zones),
        "nodes_min": 0 if schedule_args(workload) or mode in from_zero else pool.nodes_min,
        "nodes_initial": pool.nodes_initial,
        "nodes_max": pool.nodes_max,
        "capacity_mode": mode,
        "gang": is_gang(workload, pool),
        "disk_gib": max(-(-pool.disk_bytes_per_node // 2**30), disk_gib_min),
    }
    if pool.capacity.reservation:
        args["reservation"] = pool.capacity.reservation
    return assemble(PoolArgs, args, guard_args(workload, prepaid=mode in prepaid), schedule_args(workload))


def pool_facts(decision: Decision, workload: Workload, pool: Pool) -> dict[str, object]:
    """What the pool's resources cannot say: expected hours, the market that was decided, by which decision."""
    hours = pool.node_hours_per_month
    facts: dict[str, object] = {
        "decisionDigest": decision.digest(),
        "workloadKind": workload.kind,
        "accelerator": pool.accelerator,
        "acceleratorsPerNode": pool.accelerators_per_node,
        "market": pool.market,
        "nodeHoursPerMonth": {
            "floor": float(hours.floor),
            "expected": float(hours.expected),
            "ceiling": float(hours.ceiling),
        },
        "interruptible": workload.interruptible,
    }
    if workload.checkpoint:
        facts["checkpointStore"] = workload.checkpoint.store
    if workload.schedule:
        facts["schedule"] = workload.schedule.text
    return facts


def of_machines(shape: Shape) -> dict[str, object]:
    """What a component registers about its type of machine."""
    return {
        "instanceType": shape.instance_type,
        "accelerator": shape.accelerator,
        "acceleratorsPerNode": shape.accelerators,
    }


def of_capacity(mode: str) -> dict[str, str]:
    """What a component registers about how it gets its machines: what is reserved bills as on demand.

    >>> of_capacity("queued")
    {'market': 'flex-start', 'capacityMode': 'queued'}
    """
    return {"market": {"reservation": "on-demand", "queued": "flex-start"}.get(mode, mode), "capacityMode": mode}


def of_sizes(least: int, initial: int | None = None, most: int | None = None) -> dict[str, object]:
    """What a component registers about how many machines it has; one number: it always has so many."""
    return {
        "nodesMin": least,
        "nodesInitial": least if initial is None else initial,
        "nodesMax": least if most is None else most,
    }


def of_pool(shape: Shape, args: Mapping[str, Any], *, sizes: tuple[int, int, int] | None = None) -> dict[str, object]:
    """What a component registers about its machines: their type, how it gets them, how many (least, initial, most).

    Without `sizes` the arguments say how many; where they name no capacity mode, machines are bought on demand.
    """
    least, initial, most = sizes or (args["nodes_min"], args["nodes_initial"], args["nodes_max"])
    capacity = of_capacity(args.get("capacity_mode", "on-demand"))
    return {**of_machines(shape), **capacity, **of_sizes(least, initial, most)}


def store_facts(decision: Decision, workload: Workload) -> dict[str, object]:
    """How full a checkpoint store gets: empty at the floor, `keep` checkpoints and one being written at the ceiling."""
    facts: dict[str, object] = {"decisionDigest": decision.digest(), "workloadKind": workload.kind}
    if checkpoint := workload.checkpoint:
        full = float(checkpoint.bytes_each * checkpoint.keep)
        facts["bytesExpected"] = {"floor": 0.0, "expected": full, "ceiling": full + checkpoint.bytes_each}
    return facts
