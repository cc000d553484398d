"""Documents behind Google Cloud's managed services: machines, jobs as documents. Pure."""

import json
from typing import Any, Final

from sizewell.components.gcp.node_pools import gpu_type
from sizewell.components.gcp.services.args import STRATEGIES, VertexTrainingArgs
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.choose import services

RUN_REGIONS: Final = services.RUN_REGIONS  # where Cloud Run has the L4


def vertex_accelerator(machine_type: str) -> str | None:
    """Vertex AI's name of the GPU of a machine type; None where it has none.

    >>> vertex_accelerator("g2-standard-8"), vertex_accelerator("a3-megagpu-8g")
    ('NVIDIA_L4', 'NVIDIA_H100_MEGA_80GB')
    """
    gke_name = gpu_type(machine_type)
    return gke_name.upper().replace("-", "_") if gke_name else None


def machine_spec(shape: Shape) -> dict[str, Any]:
    """How Vertex AI's API names a machine."""
    kind = vertex_accelerator(shape.instance_type)
    spec = {"machineType": shape.instance_type}
    return {**spec, "acceleratorType": kind, "acceleratorCount": shape.accelerators} if kind else spec


def worker_pools(args: VertexTrainingArgs, shape: Shape) -> list[dict[str, object]]:
    """One machine that leads, and the others: Vertex AI wants exactly one replica in the first pool."""
    container: dict[str, object] = {"imageUri": args["image"]}
    if command := args.get("command"):
        container["command"] = list(command)
    if arguments := args.get("arguments"):
        container["args"] = list(arguments)
    if variables := args.get("environment_variables"):
        container["env"] = [{"name": key, "value": value} for key, value in sorted(variables.items())]
    worker = {
        "machineSpec": machine_spec(shape),
        "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": args.get("disk_gib", 200)},
        "containerSpec": container,
    }
    pools = [{**worker, "replicaCount": 1}]
    return pools if args["nodes"] == 1 else [*pools, {**worker, "replicaCount": args["nodes"] - 1}]


def custom_job(
    name: str,
    args: VertexTrainingArgs,
    shape: Shape,
    *,
    project: str,
    key: str,
    attachment: str | None,
    labels: dict[str, str],
) -> dict[str, object]:
    """The job as Vertex AI's API takes it: it ends by itself, resumes from its checkpoints, and shows no shell."""
    hours, mode = args["max_run_hours"], args["capacity_mode"]
    scheduling: dict[str, object] = {
        "strategy": STRATEGIES[mode],
        "timeout": f"{hours * 3600}s",
        "restartJobOnWorkerRestart": mode == "spot",
        "disableRetries": mode != "spot",
    }
    if mode == "flex-start":
        scheduling["maxWaitDuration"] = "604800s"
    spec: dict[str, object] = {
        "workerPoolSpecs": worker_pools(args, shape),
        "scheduling": scheduling,
        "serviceAccount": f"{args['writer_account']}@{project}.iam.gserviceaccount.com",
        "baseOutputDirectory": {"outputUriPrefix": f"gs://{args['bucket']}/{name}"},
        "enableWebAccess": False,
    }
    if attachment:
        spec["pscInterfaceConfig"] = {"networkAttachment": attachment}
    return {"displayName": name, "jobSpec": spec, "labels": labels, "encryptionSpec": {"kmsKeyName": key}}


def start_workflow(job: dict[str, object], *, project: str, region: str) -> str:
    """A workflow that creates one job and returns its name; a run of it starts one run of the training."""
    create = {
        "call": "googleapis.aiplatform.v1.projects.locations.customJobs.create",
        "args": {"parent": f"projects/{project}/locations/{region}", "region": region, "body": job},
        "result": "created",
    }
    return json.dumps({"main": {"steps": [{"create": create}, {"end": {"return": "${created.name}"}}]}}, sort_keys=True)
