"""A training run: its entry script, its variables, its JobSet. Pure.

The scripts and their variables are described in `launch/scripts/README.md`. Every machine runs the same line: one
process per device under `spawn.py`, or on TPU one process per machine. A run that starts again finds its newest
complete checkpoint under its URI and continues from there.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from sizewell.launch import files, images, pods
from sizewell.launch.jobs import JOB, PORT, coordinator, jobset, limited, packed
from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.launching import Script, beyond, entry_script

DATA: Final = "SIZEWELL_DATA"  # the entry scripts' variable for it (`launch/scripts/README.md`)
BEFORE_BLOCK_ENDS_S: Final = 40 * 60  # the cloud ends machines half an hour before the window does


def manifests(launch: Launch) -> list[Manifest]:
    """Everything of one run, in the order in which each finds what it refers to."""
    possible(launch)
    objects = [pods.account(launch)]
    name = ""
    if not launch.run.command:
        name = pods.scripts_name(launch.name, files.training())
        objects.append(pods.scripts(launch, files.training()))
    return [*objects, pods.among_themselves(launch), job(launch, name)]


def job(launch: Launch, scripts: str) -> Manifest:
    """The JobSet; `scripts` names their ConfigMap."""
    several = launch.nodes > 1
    env: dict[str, object] = {**pods.network_env(launch.machine, launch.target, several=several), **variables(launch)}
    env |= between_slices(launch)
    pod = pods.template(
        limited(launch, deadline_s(launch)),
        pods.Container(command=command(launch), env=env, files=scripts, ports={"rendezvous": PORT} if several else {}),
        devices=launch.machine.devices,
        annotations=packed(launch.target) if several else None,
    )
    return jobset(launch, pod, pods=launch.nodes, deadline_s=deadline_s(launch))


def between_slices(launch: Launch) -> dict[str, object]:
    """What several TPU slices of one job are told, which talk over the network; nothing elsewhere."""
    if launch.machine.runtime != "tpu" or not launch.nodes > launch.machine.hosts > 1:
        return {}
    return {
        "MEGASCALE_COORDINATOR_ADDRESS": coordinator(launch.name),
        "MEGASCALE_NUM_SLICES": str(launch.nodes // launch.machine.hosts),
        "MEGASCALE_SLICE_ID": JOB,
    }


def command(launch: Launch) -> list[str]:
    """The line that every machine runs."""
    script = f"{pods.SCRIPTS}/{entry(launch)}"
    if entry(launch) == "train_jax.py":
        return ["python3", script]
    return ["python3", f"{pods.SCRIPTS}/spawn.py", "--processes", str(processes(launch)), script]


def entry(launch: Launch) -> Script:
    """Which script trains: by framework and accelerator."""
    return entry_script(launch.plan.framework, launch.machine.runtime)


def processes(launch: Launch) -> int:
    """Processes on each machine: one per device, on Neuron one per core."""
    return launch.machine.devices * launch.machine.processes_per_device


def variables(launch: Launch) -> dict[str, str]:
    """The settings of the entry script, as the decision has them; nothing where the run has a command of its own."""
    if launch.run.command:
        return {}
    task, layout, saves = launch.task, launch.plan.parallelism, launch.plan.saves
    settings: dict[str, object] = {
        "CHECKPOINT_URI": checkpoint_uri(launch),
        "LOCK_DAYS": lock_days(launch) if launch.target.store.startswith("gs://") else None,
        "CHECKPOINT_INTERVAL_S": int(saves.interval_s) if saves else None,
        "KEEP": saves.keep if saves else None,
        "GRACE_S": launch.grace,
        "DEADLINE": deadline(launch),
        "TIME_LIMIT_S": deadline_s(launch) or None,
        "DATA": launch.plan.data,
        "MODEL": launch.run.model or task.model,
        "DIMENSIONS": ",".join(f"{key}={value}" for key, value in (task.dimensions or {}).items()),
        "METHOD": task.method,
        "LORA_RANK": task.lora_rank,
        "LORA_TARGETS": ",".join(task.lora_targets or ()),
        "NO_SYNC": 1 if task.no_sync else None,
        "PRECISION": task.precision,
        "SEQUENCE_LENGTH": task.sequence_length,
        "SAMPLES_PER_STEP": task.samples_per_step,
        "STEPS": task.steps,
    }
    if layout:
        settings |= {
            "MICRO_BATCH": layout.micro_batch,
            "TENSOR": layout.tensor,
            "ZERO_STAGE": layout.zero_stage,
            "SHARD_GROUP": layout.shard_group,
            "CHECKPOINTING": layout.checkpointing,
        }
    settings["NODES"] = launch.nodes
    if launch.machine.runtime != "tpu":  # on a slice JAX finds the others by itself
        settings["COORDINATOR"] = f"{coordinator(launch.name)}:{PORT}" if launch.nodes > 1 else f"127.0.0.1:{PORT}"
    else:
        del settings["NODES"]
    return {f"SIZEWELL_{key}": str(value) for key, value in settings.items() if value not in (None, "")}


def checkpoint_uri(launch: Launch) -> str:
    """Where this run's state goes: the decision's store, and below it the run's own prefix."""
    return f"{launch.target.store.rstrip('/')}/{launch.run.prefix}" if launch.target.store else ""


def lock_days(launch: Launch) -> int:
    """For so long nobody deletes what a run saves, by mistake or not: as the stores of all clouds have it."""
    return 30 if launch.plan.environment == "prod" else 7


def deadline_s(launch: Launch) -> int:
    """Seconds of running after which a run has gone wrong: the spec's deadline, else three times what was predicted."""
    if launch.task.deadline_s:
        return int(launch.task.deadline_s)
    longest_s = launch.plan.run_time_s_at_most
    return 0 if longest_s is None else int(max(3600, 3 * longest_s))


def deadline(launch: Launch) -> str:
    """When the machines are gone for certain: the end of a block that has a start, or the stack's last day."""
    ends = []
    window = launch.plan.window
    if window and window.start:
        start = datetime.fromisoformat(window.start)
        start = start.astimezone(UTC) if start.tzinfo else start.replace(tzinfo=UTC)
        ends.append(start + timedelta(hours=window.hours, seconds=-BEFORE_BLOCK_ENDS_S))
    if day := launch.plan.expires_at:
        ends.append(datetime(day.year, day.month, day.day, tzinfo=UTC))
    return f"{min(ends):%Y-%m-%dT%H:%M:%SZ}" if ends else ""


def possible(launch: Launch) -> None:
    """ConfigError where the entry scripts cannot do what was decided; a command of one's own can do anything."""
    if wrong := images.faults(launch):
        raise ConfigError(wrong, subject=f"run {launch.plan.name}")
    if launch.run.command:
        return
    task, layout, name = launch.task, launch.plan.parallelism, launch.plan.name
    fix = f"set run.{name}.command and an image that trains it"
    wrong = []

    def must(holds: bool, path: str, message: str, way_out: str = fix) -> None:
        if not holds:
            wrong.append(Fault(path=path, message=message, fix=way_out))

    again = "run `sizewell size --stack STACK` and commit the decision"
    told = f"give the run its task, {fix}; for a decision without one {again}"
    must(launch.plan.task is not None, "task", "is missing: the entry scripts go by the model and the method", told)
    if launch.run.model:
        task = task.model_copy(update={"model": launch.run.model, "dimensions": None})
    for more in beyond(task, launch.plan.framework, layout, launch.machine.runtime):
        must(False, more.path, more.message, f"{fix}: {more.software}")
    if layout is not None:
        most = max(launch.nodes, launch.plan.nodes_max)
        each, wanted = processes(launch), layout.data * layout.tensor * layout.pipeline
        there = most * each
        kind = "devices" if each == launch.machine.devices else "cores"
        message = f"is over {wanted} {kind}, the pool has {there}: {most} machines of {each}"
        must(wanted <= there, "parallelism", message, again)
    store = "without a checkpoint store a training run is lost with its machines"
    must(
        bool(launch.target.store), "checkpoint", f"is missing: {store}", "add checkpoint: to the spec, and decide again"
    )
    variable = f"run.{name}.env: {{{DATA}: ...}}"
    must(
        bool(launch.plan.data) or DATA in dict(launch.run.env),
        "storage.location",
        "is missing: the location of the training data, without which the entry scripts train on made-up numbers",
        "add data: {location: s3://..., size: ...} to the spec and decide again, or state data: s3://... where the "
        f"component is used without a decision; or set {variable} to a folder or URI of token shards (to synthetic for "
        "a trial of the machines)",
    )
    if wrong:
        raise ConfigError(wrong, subject=f"run {name}")
