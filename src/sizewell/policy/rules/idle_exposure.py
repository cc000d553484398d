from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import either, every


def idle_exposure(pool: Pool, parameters: Parameters) -> Verdict:
    """A pool with accelerators must be able to stop by itself: scale to zero, a schedule, an expiry or an idle guard.

    >>> from sizewell.policy.examples import pool
    >>> idle_exposure(pool(accelerator="h100-sxm", nodes_min=1), {}).fix
    'set the minimum to 0 with an autoscaler, or add a schedule, an idle guard or the tag sizewell-expires'
    >>> idle_exposure(pool(accelerator="h100-sxm", nodes_min=1, guarded=True), {}) is None
    True
    """
    del parameters
    if pool.accelerated is False:
        return None
    least = pool.nodes_min
    empty = least if isinstance(least, Unknown) else least == 0
    falls = every(empty, either(pool.scales, pool.nodes_wanted == 0))
    expires = pool.expires if isinstance(pool.expires, Unknown) else pool.expires != ""
    stops = either(falls, pool.scheduled, expires, pool.guarded)
    if stops is True:
        return None
    if isinstance(pool.accelerated, Unknown) or isinstance(stops, Unknown):
        return Undetermined("machine type, minimum, schedule, expiry or guard")
    return Violation(
        f"{pool.accelerator} machines run and bill around the clock when nobody works: nothing ever stops this pool",
        "set the minimum to 0 with an autoscaler, or add a schedule, an idle guard or the tag sizewell-expires",
    )


RULE = Rule(
    id="idle-exposure",
    area="spend",
    subject="pools",
    prevents="accelerators that bill while nobody works",
    judge=idle_exposure,
)
