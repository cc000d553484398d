"""What machines without a scheduler start when they boot: the run of their workload; without one nothing is built."""

import pulumi

from sizewell.components.settings import Settings
from sizewell.launch import machines, reach, volumes
from sizewell.launch.launch import launch_of
from sizewell.launch.target import Target
from sizewell.sizing.billing import standing
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload


def run_at_boot(
    decision: Decision, workload: Workload, pool: Pool, settings: Settings, target: Target
) -> dict[str, object]:
    """Arguments of the machines that start the run of `sizewell:run`; without one none (`check_started` refuses it)."""
    run = settings.runs.get(workload.spec.name)
    if run is None:
        return {}
    launch = launch_of(decision, workload, pool, run, target)
    reach.check(launch, internet=settings.internet)
    folders = (volumes.DATA,) if volumes.has_files(workload) else ()
    script = machines.first_boot(volumes.reading(launch, workload), region=pool.region, folders=folders)
    return {"start_script": script}


def check_started(decision: Decision, settings: Settings) -> None:
    """Where machines of no cluster and no scheduler would start nothing, and bill, an update ends with a ConfigError of
    every such workload before anything is built. A preview warns: what a decision costs needs no image.
    """
    idle = {
        workload.spec.name: pool.instance_type
        for workload in decision.workloads
        for pool in workload.pools
        if workload.scheduler == "none"
        and workload.spec.name not in settings.runs
        and standing.target_of(pool.managed, workload.scheduler, cloud=pool.cloud, fleet=pool.provision == "fleet")
        in ("machines", "fleet")
    }
    faults = [
        Fault(
            path=f"sizewell:run.{name}.image",
            message=f"is missing: the {kind} of {name} would be billed but start nothing",
            fix=f"pulumi config set --path 'sizewell:run.{name}.image' IMAGE (and .suspend true to start it by hand)",
        )
        for name, kind in idle.items()
    ]
    if faults:
        error = ConfigError(faults, subject=f"configuration of {decision.stack}")
        if not pulumi.runtime.is_dry_run():
            raise error
        pulumi.log.warn(str(error))
