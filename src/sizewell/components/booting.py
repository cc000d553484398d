"""What machines without a scheduler start when they boot: the run of their workload, or nothing, which is said."""

from typing import Any

import pulumi

from sizewell.components.settings import Settings
from sizewell.launch import machines, reach
from sizewell.launch.setting import setting
from sizewell.launch.target import Target
from sizewell.sizing.records.decision import Decision, Pool, Workload


def run_at_boot(
    decision: Decision, workload: Workload, pool: Pool, settings: Settings, target: Target
) -> dict[str, Any]:
    """Arguments of the machines that start the run of `sizewell:run`; without one a warning that they will idle."""
    name = workload.spec.name
    run = settings.runs.get(name)
    if run is None:
        pulumi.log.warn(
            f"{name}: its machines start nothing, and bill: name what runs, "
            f"`pulumi config set --path 'sizewell:run.{name}.image' IMAGE` (docs/howto/run-on-plain-machines.md)"
        )
        return {}
    of = setting(decision, workload, pool, run, target)
    reach.check(of, internet=settings.internet)
    script = machines.first_boot(of, region=pool.region)
    return {"start_script": script}
