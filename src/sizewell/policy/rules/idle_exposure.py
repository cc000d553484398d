from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import Flag, either, every, get


def idle_exposure(pool: Pool, parameters: Parameters) -> Verdict:
    """A pool with accelerators can stop by itself: scale to zero, a schedule, an expiry or an idle guard.

    In `baseline` environments a pool may keep a minimum where something takes it down to that when the load falls, and
    machines may stand in capacity that is reserved: that is billed anyway, and the reservation is judged by its own
    end.

    >>> from sizewell.policy.examples import pool
    >>> usual = {"baseline": ["prod"], "scheduler_tags": []}
    >>> idle_exposure(pool(accelerator="h100-sxm", nodes_min=1), usual).fix
    'set the minimum to 0 with an autoscaler, or add a schedule, an idle guard or the tag sizewell-expires'
    >>> idle_exposure(pool(accelerator="h100-sxm", nodes_min=1, guarded=True), usual) is None
    True
    >>> idle_exposure(pool(accelerator="h100-sxm", nodes_min=1, scales=True, environment="prod"), usual) is None
    True
    """
    if pool.accelerated is False:
        return None
    least = pool.nodes_min
    empty = least if isinstance(least, Unknown) else least == 0
    falls = every(empty, either(pool.scales, pool.nodes_wanted == 0))
    expires = pool.expires if isinstance(pool.expires, Unknown) else pool.expires != ""
    obeyed = any(get(pool.tags, tag) not in (None, "") for tag in parameters["scheduler_tags"])
    served: Flag = False
    if pool.environment in parameters["baseline"]:
        reserved: Flag = UNKNOWN if isinstance(pool.reserved, Unknown) else pool.reserved != ""
        served = either(pool.scales, reserved)
    stops = either(falls, pool.scheduled, expires, pool.guarded, obeyed, served)
    if stops is True:
        return None
    if isinstance(pool.accelerated, Unknown) or isinstance(stops, Unknown):
        return Undetermined("machine type, minimum, schedule, expiry or guard")
    return Violation(
        f"{pool.accelerator} machines are billed around the clock: nothing stops this pool when it is idle",
        "set the minimum to 0 with an autoscaler, or add a schedule, an idle guard or the tag sizewell-expires",
    )


RULE = Rule(
    id="idle-exposure",
    area="spend",
    subject="pools",
    prevents="accelerators that are billed while idle",
    judge=idle_exposure,
    parameters={
        "baseline": Parameter(
            default=["prod"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="environments in which a pool that follows its load, or is reserved, may keep a minimum",
        ),
        "scheduler_tags": Parameter(
            default=[],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="tags that your instance scheduler acts on, such as Schedule",
        ),
    },
)
