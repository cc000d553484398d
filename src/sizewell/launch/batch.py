"""Offline inference over a set of records: pieces that are answered one by one, each written once. Pure."""

from __future__ import annotations

import math
from typing import Final

from sizewell.launch import files, images, pods
from sizewell.launch.jobs import jobset, limited
from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest
from sizewell.launch.serving import converting, longest_request, unloaded
from sizewell.launch.training import checkpoint_uri, deadline_s
from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.launching import LEAST_ROOM, beyond_batch, longest_answer

ENGINE: Final = ENGINES["vllm"]  # whose Python interface batch_infer.py calls
PIECE_S: Final = 900  # of work in one piece: what an interruption repeats at most
MOST_PIECES: Final = 10_000


def manifests(launch: Launch) -> list[Manifest]:
    """An indexed Job in a JobSet: as many pods as replicas, as many pieces as quarters of an hour of work."""
    possible(launch)
    objects, name = [pods.account(launch)], ""
    if not launch.run.command:
        mine = scripts()
        name = pods.scripts_name(launch.name, mine)
        objects.append(pods.scripts(launch, mine))
    replicas, devices = _replicas(launch)
    pod = pods.template(
        limited(launch, deadline_s(launch)),
        pods.Container(
            command=command(launch),
            env={"SIZEWELL_PIECES": str(pieces(launch)), "VLLM_CACHE_ROOT": f"{pods.CACHE}/vllm"},
            files=name,
        ),
        devices=devices,
    )
    return [*objects, jobset(launch, pod, pods=replicas, deadline_s=deadline_s(launch), pieces=pieces(launch))]


def scripts() -> dict[str, str]:
    return {"batch_infer.py": files.script("batch_infer.py"), **files.training()}


def pieces(launch: Launch) -> int:
    """At least one for each replica, no more than there are records."""
    replicas, _ = _replicas(launch)
    run_s = 3600.0 if launch.plan.run_time_s is None else launch.plan.run_time_s
    wanted = max(replicas, math.ceil(replicas * run_s / PIECE_S))
    return max(1, min(wanted, MOST_PIECES, launch.task.records or MOST_PIECES))


def command(launch: Launch) -> list[str]:
    """The line that every pod runs; which piece is its own it sees by its completion index."""
    task, replicas = launch.task, launch.plan.replicas
    data = launch.plan.data
    devices = replicas.devices_per_replica if replicas else 1
    settings: dict[str, object] = {"tensor_parallel_size": devices * launch.machine.processes_per_device}
    if replicas and replicas.concurrency_per_replica:
        settings["max_num_seqs"] = replicas.concurrency_per_replica
    if longest := longest_request(task, least=LEAST_ROOM):
        settings["max_model_len"] = longest
    settings["max_tokens"] = longest_answer(task, longest)
    if task.weights == "fp32":
        settings["dtype"] = "float32"
    elif not launch.machine.bf16:
        settings["dtype"] = "half"
    if word := converting(launch, ENGINE):
        settings["quantization"] = word
    words = [
        "--input",
        data or "",
        "--output",
        launch.run.output or checkpoint_uri(launch),
        "--pieces",
        str(pieces(launch)),
    ]
    words += ["--model", launch.run.model or task.model or ""]
    return ["python3", f"{pods.SCRIPTS}/batch_infer.py", *words, *[f"{key}={value}" for key, value in settings.items()]]


def _replicas(launch: Launch) -> tuple[int, int]:
    """(pods at a time, devices of each)."""
    replicas = launch.plan.replicas
    if replicas is None:
        return launch.nodes, launch.machine.devices
    return max(1, replicas.initial), min(replicas.devices_per_replica, launch.machine.devices)


def possible(launch: Launch) -> None:
    """ConfigError where the decision or the run does not say what to read, to write or to load."""
    if wrong := images.faults(launch, engine=ENGINE):
        raise ConfigError(wrong, subject=f"run {launch.plan.name}")
    if launch.run.command:
        return
    name = launch.plan.name
    fix = f"set run.{name}.command and an image that answers them"
    wrong = [
        Fault(path=more.path, message=more.message, fix=f"{fix}: {more.software}") for more in beyond_batch(launch.task)
    ]
    if wrong:
        raise ConfigError(wrong, subject=f"run {name}")
    wrong = unloaded(launch, ENGINE)
    data = launch.plan.data
    if not data or "://" not in data:
        fix = f"add data: {{location: s3://..., size: ...}} to the spec and decide again, or set run.{name}.command"
        wrong.append(Fault(path="storage.location", message="is missing: the location of the records", fix=fix))
    if not (launch.target.store or launch.run.output):
        fix = f"set run.{name}.output to a folder of a store, as s3://bucket/answers"
        wrong.append(Fault(path=f"run.{name}.output", message="is missing: where to write the results", fix=fix))
    if not (launch.run.model or launch.task.model):
        fix = f"set run.{name}.model"
        wrong.append(Fault(path=f"run.{name}.model", message="is missing: the decision has no model", fix=fix))
    if wrong:
        raise ConfigError(wrong, subject=f"run {name}")
