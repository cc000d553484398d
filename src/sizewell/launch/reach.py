"""What a run would fetch or ask for where there is none: refused before anything is submitted. Pure."""

from __future__ import annotations

from typing import Final

from sizewell.launch import serving
from sizewell.launch.launch import Launch
from sizewell.sizing.billing.standing import WITH_CLUSTER
from sizewell.sizing.catalog.engine import NGRAM
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.units import GIB

# Variables of huggingface_hub that say that no download from the Hub is meant
# (huggingface.co/docs/huggingface_hub/package_reference/environment_variables).
OFFLINE: Final = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
ELSEWHERE: Final = ("HF_ENDPOINT", *OFFLINE)


def hub_models(launch: Launch) -> dict[str, str]:
    """What the run's own line would download from the Hugging Face Hub: models by the key that names them otherwise.

    A name is what is neither a path nor a URI; with a variable that names a mirror, or none at all, it is not fetched
    from the Hub. A command of the user's own is not looked into.
    """
    if launch.run.command or launch.plan.kind == "notebook" or set(ELSEWHERE) & set(dict(launch.run.env)):
        return {}
    served, run, task = launch.plan.kind == "inference", launch.run, launch.task
    engine = serving.engine_of(launch)
    if served and "hub" not in engine.reads:
        return {}
    models = {"model": run.model or (task.model if not served or engine.hub else "") or ""}
    if served and task.draft not in (None, NGRAM):
        models["draft"] = run.draft or task.draft or ""
    return {
        key: model
        for key, model in models.items()
        if model and not model.startswith(("/", "./", "../")) and "://" not in model and not is_file(model)
    }


def is_file(model: str) -> bool:
    """Whether a decision names its model by the config.json that it was sized by, which has no weights.

    >>> is_file("models/config.json"), is_file("Qwen/Qwen3-8B")
    (True, False)
    """
    return model.lower().endswith(".json")


def unnamed(launch: Launch, *, internet: bool) -> list[Fault]:
    """That the weights of a model that was sized by its config.json are named nowhere."""
    run, task = launch.run, launch.task
    if run.model or run.command or launch.plan.kind == "notebook" or not is_file(task.model or ""):
        return []
    at = f"run.{launch.plan.name}.model"
    message = f"is missing: the model was sized by {task.model}, which has no weights"
    trained = launch.plan.kind in ("training", "fine-tuning")
    buckets = launch.plan.kind == "batch-inference" or serving.engine_of(launch).reads & {"s3", "gs", "az"}
    several = ["a name on the Hub"] * (internet or "HF_ENDPOINT" in dict(run.env)) + [
        "a folder of the image or of a volume"
    ]
    several += ["a bucket that the run may read"] * (bool(buckets) and not trained)
    places = " or ".join((", ".join(several[:-1]), several[-1]) if several[1:] else several)
    return [Fault(path=at, message=message, fix=f"set {at} (`--model`) to where they lie: {places}")]


def beyond_disk(launch: Launch) -> list[Fault]:
    """That the weights that the run downloads are more than the boot disk of its machines holds.

    What is streamed from a bucket, lies in a mounted folder or comes with a command of the user's own lands nowhere.
    """
    plan, run, at = launch.plan, launch.run, f"run.{launch.plan.name}"
    model = run.model or launch.task.model or ""
    elsewhere = model.startswith(("/", "./", "../")) or "://" in model or is_file(model)
    if run.command or not model or elsewhere or not plan.disk_bytes or set(OFFLINE) & set(dict(run.env)):
        return []
    several = plan.scheduler in WITH_CLUSTER and plan.replicas is not None
    copies = max(1, launch.machine.devices // plan.replicas.devices_per_replica) if several and plan.replicas else 1
    if copies * plan.weights_bytes <= plan.disk_bytes:
        return []
    times = f"{copies} times " if copies > 1 else ""
    message = (
        f"{model}: the weights, {times}{plan.weights_bytes / GIB:,.0f} GiB, are downloaded to the disk of a machine, "
        f"which has {plan.disk_bytes / GIB:,.0f} GiB"
    )
    buckets = plan.kind == "batch-inference" or serving.engine_of(launch).reads & {"s3", "gs", "az"}
    bucket = ", or a bucket that the run may read" if buckets else ""
    fix = (
        f"size the spec again, which gives machines a disk for them; or set {at}.model to a folder of a volume{bucket}"
    )
    return [Fault(path=f"{at}.model", message=message, fix=fix)]


def check(launch: Launch, *, internet: bool, adopted: bool = False) -> None:
    """ConfigError where the run downloads a model from the Hub and its network does not lead there, or no disk of the
    machines holds it; what disks the machines of an adopted cluster have is not known.
    """
    faults, at = unnamed(launch, internet=internet), f"run.{launch.plan.name}"
    faults += [] if adopted else beyond_disk(launch)
    for key, model in ({} if internet else hub_models(launch)).items():
        message = f"{model} is a name on the Hugging Face Hub, which the stack's network cannot reach"
        buckets = launch.plan.kind == "batch-inference" or serving.engine_of(launch).reads & {"s3", "gs", "az"}
        trained = launch.plan.kind in ("training", "fine-tuning")
        bucket = ", or to a bucket that the run may read" if buckets and not trained and key == "model" else ""
        fix = (
            f"set {at}.{key} to a folder of the image or of a volume{bucket}; "
            f"or {at}.env.HF_ENDPOINT to a mirror in the network"
        )
        faults.append(Fault(path=f"{at}.{key}", message=message, fix=fix))
    if faults:
        raise ConfigError(faults, subject=f"run {launch.plan.name}")


def check_form(launch: Launch, *, adopted: bool) -> None:
    """ConfigError where the run asks for KServe on a cluster that the stack builds, which has none.

    On an adopted one its definition is read before anything is made.
    """
    if adopted or launch.plan.kind != "inference" or launch.run.form != "kserve":
        return
    at = f"run.{launch.plan.name}.form"
    message = "is kserve, and a cluster that the stack builds has no KServe: nothing would create its pods"
    fix = (
        f"leave {at} out: a Deployment serves, and KEDA scales it, just the same; or install KServe yourself and adopt "
        "the cluster from another stack (`sizewell docs adopt-a-cluster`)"
    )
    raise ConfigError([Fault(path=at, message=message, fix=fix)], subject=f"run {launch.plan.name}")
