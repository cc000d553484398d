"""Where a workload runs and writes on Nimbus."""

from sizewell.components.settings import Settings
from sizewell.launch.target import Target
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload


def store_uri(decision: Decision, workload: Workload, settings: Settings) -> str:
    """URI of the workload's checkpoint store; "" where it has none."""
    del settings
    return f"nimbus://{decision.stack}-{workload.spec.name}" if workload.checkpoint else ""


def target(decision: Decision, workload: Workload, pool: Pool, settings: Settings, *, queue: str = "") -> Target:
    """Nimbus has no cluster to launch into."""
    del decision, pool, settings, queue
    fault = Fault(path="scheduler", message="must be none on Nimbus", fix="scheduler: none")
    raise ConfigError([fault], subject=workload.spec.name)
