"""A training run: its entry script, its variables, its JobSet. Pure.

The scripts and their variables are described in `launch/scripts/README.md`. Every machine runs the same line: one
process per device under `spawn.py`, or on TPU one process per machine. A run that starts again finds its newest
complete checkpoint under its URI and goes on from there.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sizewell.launch import files, images, pods
from sizewell.launch.jobs import JOB, PORT, coordinator, jobset, limited, packed
from sizewell.launch.pods import Manifest
from sizewell.launch.setting import Setting
from sizewell.sizing.errors import ConfigError, Fault

BEFORE_BLOCK_ENDS_S: Final = 40 * 60  # the cloud ends machines half an hour before the window does


def manifests(of: Setting) -> list[Manifest]:
    """Everything of one run, in the order in which each finds what it refers to."""
    possible(of)
    objects = [pods.account(of)]
    name = ""
    if not of.run.command:
        name = pods.scripts_name(of.name, files.training())
        objects.append(pods.scripts(of, files.training()))
    return [*objects, pods.among_themselves(of), job(of, name)]


def job(of: Setting, scripts: str) -> Manifest:
    """The JobSet; `scripts` names their ConfigMap."""
    several = of.nodes > 1
    env: dict[str, Any] = {**pods.network_env(of.machine, of.target, several=several), **variables(of)}
    env |= between_slices(of)
    pod = pods.template(
        limited(of, deadline_s(of)),
        pods.Container(command=command(of), env=env, files=scripts, ports={"rendezvous": PORT} if several else {}),
        devices=of.machine.devices,
        annotations=packed(of.target) if several else None,
    )
    return jobset(of, pod, pods=of.nodes, deadline_s=deadline_s(of))


def between_slices(of: Setting) -> dict[str, Any]:
    """What several TPU slices of one job are told, which talk over the network; nothing elsewhere."""
    if of.machine.runtime != "tpu" or not of.nodes > of.machine.hosts > 1:
        return {}
    return {
        "MEGASCALE_COORDINATOR_ADDRESS": coordinator(of.name),
        "MEGASCALE_NUM_SLICES": str(of.nodes // of.machine.hosts),
        "MEGASCALE_SLICE_ID": JOB,
    }


def command(of: Setting) -> list[str]:
    """The line that every machine runs."""
    script = f"{pods.SCRIPTS}/{entry(of)}"
    if entry(of) == "train_jax.py":
        return ["python3", script]
    return ["python3", f"{pods.SCRIPTS}/spawn.py", "--processes", str(processes(of)), script]


def entry(of: Setting) -> str:
    """Which script trains: by framework and accelerator."""
    if of.plan.framework == "jax" or of.machine.runtime == "tpu":
        return "train_jax.py"
    return "train_neuron.py" if of.machine.runtime == "neuron" else "train_fsdp.py"


def processes(of: Setting) -> int:
    """Processes on each machine: one per device, on Neuron one per core."""
    return of.machine.devices * of.machine.processes_per_device


def variables(of: Setting) -> dict[str, str]:
    """The settings of the entry script, as the decision has them; nothing where the run has a command of its own."""
    if of.run.command:
        return {}
    task, layout, saves = of.task, of.plan.parallelism, of.plan.saves
    settings: dict[str, Any] = {
        "CHECKPOINT_URI": checkpoint_uri(of),
        "LOCK_DAYS": lock_days(of) if of.target.store.startswith("gs://") else None,
        "CHECKPOINT_INTERVAL_S": int(saves.interval_s) if saves else None,
        "KEEP": saves.keep if saves else None,
        "GRACE_S": of.grace,
        "DEADLINE": deadline(of),
        "TIME_LIMIT_S": deadline_s(of) or None,
        "DATA": of.plan.data,
        "MODEL": of.run.model or task.model,
        "DIMENSIONS": ",".join(f"{key}={value}" for key, value in (task.dimensions or {}).items()),
        "METHOD": task.method,
        "LORA_RANK": task.lora_rank,
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
    settings["NODES"] = of.nodes
    if of.machine.runtime != "tpu":  # on a slice JAX finds the others by itself
        settings["COORDINATOR"] = f"{coordinator(of.name)}:{PORT}" if of.nodes > 1 else f"127.0.0.1:{PORT}"
    else:
        del settings["NODES"]
    return {f"SIZEWELL_{key}": str(value) for key, value in settings.items() if value not in (None, "")}


def checkpoint_uri(of: Setting) -> str:
    """Where this run's state goes: the decision's store, and below it the run's own prefix."""
    return f"{of.target.store.rstrip('/')}/{of.run.prefix}" if of.target.store else ""


def lock_days(of: Setting) -> int:
    """For so long nobody deletes what a run saves, by mistake or not: as the stores of all clouds have it."""
    return 30 if of.plan.environment == "prod" else 7


def deadline_s(of: Setting) -> int:
    """Seconds of running after which a run has gone wrong: the spec's deadline, else three times what was predicted."""
    if of.task.deadline_s:
        return int(of.task.deadline_s)
    longest_s = of.plan.run_time_s_at_most
    return 0 if longest_s is None else int(max(3600, 3 * longest_s))


def deadline(of: Setting) -> str:
    """When the machines are gone for certain: the end of a block that has a start, or the stack's last day."""
    ends = []
    window = of.plan.window
    if window and window.start:
        start = datetime.fromisoformat(window.start)
        start = start.astimezone(UTC) if start.tzinfo else start.replace(tzinfo=UTC)
        ends.append(start + timedelta(hours=window.hours, seconds=-BEFORE_BLOCK_ENDS_S))
    if day := of.plan.expires_at:
        ends.append(datetime(day.year, day.month, day.day, tzinfo=UTC))
    return f"{min(ends):%Y-%m-%dT%H:%M:%SZ}" if ends else ""


def possible(of: Setting) -> None:
    """ConfigError where the entry scripts cannot do what was decided; a command of one's own can do anything."""
    if wrong := images.faults(of):
        raise ConfigError(wrong, subject=f"run {of.plan.name}")
    if of.run.command:
        return
    task, layout, name = of.task, of.plan.parallelism, of.plan.name
    fix = f"set run.{name}.command and an image that trains it"
    wrong = []

    def must(holds: bool, path: str, message: str, way_out: str = fix) -> None:
        if not holds:
            wrong.append(Fault(path=path, message=message, fix=way_out))

    again = "run `sizewell size --stack STACK` and commit the decision"
    must(of.plan.task is not None, "task", "is not in the decision: it was made by an older version", again)
    must(task.family in (None, "decoder"), "task.family", f"is {task.family}: the entry scripts train language models")
    must(task.method != "qlora", "task.method", "is qlora, which the entry scripts do not shard")
    must(of.plan.framework != "tensorflow", "framework", "is tensorflow, for which there is no entry script")
    for key in ("pipeline", "context", "expert"):
        value = getattr(layout, key, 1)
        must(
            value == 1, f"parallelism.{key}", f"is {value}: the entry scripts support data and tensor parallelism only"
        )
    if layout is not None:
        most = max(of.nodes, of.plan.nodes_max)
        there, wanted = most * of.machine.devices, layout.data * layout.tensor * layout.pipeline
        message = f"is over {wanted} devices, the pool has {there}: {most} machines of {of.machine.devices}"
        must(wanted <= there, "parallelism", message, again)
    store = "without a checkpoint store a training run is lost with its machines"
    must(bool(of.target.store), "checkpoint", f"is missing: {store}", "add checkpoint: to the spec, and decide again")
    if wrong:
        raise ConfigError(wrong, subject=f"run {name}")
