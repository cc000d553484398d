from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Pool


def accelerator_metrics_missing(pool: Pool, _: Parameters) -> Verdict:
    """Accelerator metrics are reported: without them neither a person nor a guard can tell which machines are idle.

    >>> from sizewell.policy.examples import pool
    >>> accelerator_metrics_missing(pool(accelerator="l4"), {}).message
    'accelerator utilization is not reported: no metrics agent is installed'
    >>> accelerator_metrics_missing(pool(accelerator="l4", metrics=True), {}) is None
    True
    """
    if pool.accelerated is False or pool.guarded is True:
        return None  # a guard without metrics has a rule of its own
    return require(
        pool.metrics,
        message="accelerator utilization is not reported: no metrics agent is installed",
        fix="install the metrics agent at first boot (CloudWatch agent nvidia_gpu, DCGM exporter, neuron-monitor)",
        unknown="the start script",
    )


RULE = Rule(
    id="accelerator-metrics-missing",
    area="correctness",
    subject="pools",
    prevents="machines whose idleness no guard can see",
    judge=accelerator_metrics_missing,
    level="advisory",
)
