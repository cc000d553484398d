"""How well twice the machines would be used: the best layout on n devices against the best on 2n."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sizewell.sizing.predict.layouts import search as layouts
from sizewell.sizing.records.jobs import Cluster, TrainingJob

LOW = 0.6  # below, most of what is added is lost


@dataclass(frozen=True, slots=True)
class ScalingEfficiency:
    """Throughput per device on twice the devices over that on these, with the same global batch."""

    devices: int
    efficiency: float
    warning: str  # "" from 60 % up


def scaling_efficiency(job: TrainingJob, cluster: Cluster) -> ScalingEfficiency:
    """How well twice the nodes would be used, the global batch kept; NaN where one of the two has no layout."""
    plans = layouts.search(job, cluster, best=1)
    plans_on_twice = layouts.search(job, replace(cluster, nodes=cluster.nodes * 2), best=1)
    if isinstance(plans, layouts.LayoutRefusal) or isinstance(plans_on_twice, layouts.LayoutRefusal):
        return ScalingEfficiency(cluster.devices, math.nan, "no valid layout on one of the two sizes")
    efficiency = plans[0].time.step_s / (2 * plans_on_twice[0].time.step_s)
    warning = ""
    if efficiency < LOW:
        warning = (
            f"{2 * cluster.devices} devices reach {efficiency:.0%} of the throughput per device of {cluster.devices}"
        )
    return ScalingEfficiency(cluster.devices, efficiency, warning)
