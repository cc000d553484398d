from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get, text
from sizewell.sizing.units import plural


def ml_compute_idle_seconds(pool: Pool, parameters: Parameters) -> Verdict:
    """Azure ML compute scales to zero soon after its last job.

    >>> from sizewell.policy.examples import pool
    >>> slow = pool(machine={"scaleSettings": {"nodeIdleTimeBeforeScaleDown": "PT2H", "minNodeCount": 0}})
    >>> ml_compute_idle_seconds(slow, {"seconds": 1800}).fix
    'set nodeIdleTimeBeforeScaleDown to PT30M'
    """
    from sizewell.resources.readers.services import duration_seconds

    if isinstance(pool.nodes_min, Unknown):
        return Undetermined("the smallest number of nodes")
    if pool.nodes_min:
        kept = plural(pool.nodes_min, "node")
        return Violation(f"{kept} billed without a job to run", "set scaleSettings.minNodeCount to 0")
    stated = text(get(pool.machine, "scaleSettings", "nodeIdleTimeBeforeScaleDown"), "PT2M")
    if isinstance(stated, Unknown):
        return Undetermined("the idle time before scale-down")
    seconds = duration_seconds(stated)
    if seconds is not None and seconds <= parameters["seconds"]:
        return None
    return Violation(
        f"idle nodes are billed for {stated} after every job",
        f"set nodeIdleTimeBeforeScaleDown to PT{parameters['seconds'] // 60}M",
    )


RULE = Rule(
    id="ml-compute-idle-seconds",
    area="spend",
    subject="pools",
    prevents="Azure ML nodes that are billed between jobs",
    judge=ml_compute_idle_seconds,
    clouds=("azure",),
    types=("azure-native:machinelearningservices:Compute",),
    parameters={
        "seconds": Parameter(
            default=1800, schema={"type": "integer", "minimum": 60}, meaning="longest idle time before scale-down"
        )
    },
)
