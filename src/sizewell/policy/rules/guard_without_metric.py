from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, require
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool


def guard_without_metric(pool: Pool, _: Parameters) -> Verdict:
    """An idle guard sees nothing without an agent that reports what the accelerators do.

    >>> from sizewell.policy.examples import pool
    >>> guard_without_metric(pool(accelerator="l4", guarded=True, metrics=False), {}).message
    'the idle guard has no data: accelerator utilization is not reported, so idle machines are still billed'
    >>> guard_without_metric(pool(accelerator="l4", guarded=True, metrics=True), {}) is None
    True
    """
    if pool.accelerated is False or pool.guarded is False:
        return None
    if pool.guarded is UNKNOWN and pool.metrics is not True:
        return Undetermined("the guard")
    return require(
        pool.metrics,
        message=(
            "the idle guard has no data: accelerator utilization is not reported, so idle machines are still billed"
        ),
        fix="install the metrics agent at first boot (CloudWatch agent nvidia_gpu, DCGM exporter, neuron-monitor)",
        unknown="the start script",
    )


RULE = Rule(
    id="guard-without-metric",
    area="spend",
    subject="pools",
    prevents="an idle guard that never fires",
    judge=guard_without_metric,
)
