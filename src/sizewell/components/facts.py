"""From a decision to what every cloud's arguments share, and to what a component registers. Pure."""

from typing import Any

from sizewell.components.owned import OwnedArgs
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


def guard_args(workload: Workload, *, prepaid: bool) -> dict[str, Any]:
    """The idle guard, if there is one; stopping prepaid capacity saves nothing, so there it only notifies."""
    if workload.guard is None:
        return {}
    return {"guard": {**workload.guard.model_dump(), "action": "notify" if prepaid else workload.guard.action}}


def schedule_args(workload: Workload) -> dict[str, Any]:
    """Working hours, if there are any."""
    schedule = workload.schedule
    if schedule is None or not schedule.windows:
        return {}
    windows = [{"days": days, "start": start, "end": end} for days, start, end in schedule.windows]
    return {"schedule": {"time_zone": schedule.time_zone, "windows": windows}}


def pool_facts(decision: Decision, workload: Workload, pool: Pool) -> dict[str, Any]:
    """What the pool's resources cannot say: expected hours, the market that was decided, by which decision."""
    hours = pool.node_hours_per_month
    facts: dict[str, Any] = {
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


def store_facts(decision: Decision, workload: Workload) -> dict[str, Any]:
    """How full a checkpoint store gets: empty at the floor, `keep` checkpoints and one being written at the ceiling."""
    facts: dict[str, Any] = {"decisionDigest": decision.digest(), "workloadKind": workload.kind}
    if checkpoint := workload.checkpoint:
        full = float(checkpoint.bytes_each * checkpoint.keep)
        facts["bytesExpected"] = {"floor": 0.0, "expected": full, "ceiling": full + checkpoint.bytes_each}
    return facts
