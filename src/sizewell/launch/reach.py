"""What a run would fetch or ask for where there is none: refused before anything is submitted. Pure."""

from __future__ import annotations

from typing import Final

from sizewell.launch import serving
from sizewell.launch.setting import Setting
from sizewell.sizing.errors import ConfigError, Fault

# Variables of huggingface_hub that say that no download from the Hub is meant
# (huggingface.co/docs/huggingface_hub/package_reference/environment_variables).
ELSEWHERE: Final = ("HF_ENDPOINT", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def hub_model(of: Setting) -> str:
    """The model that the run's own line would download from the Hugging Face Hub; "" where it downloads none.

    A name is what is neither a path nor a URI; with a variable that names a mirror, or none at all, it is not fetched
    from the Hub. A command of the user's own is not looked into.
    """
    if of.run.command or of.plan.kind == "notebook" or set(ELSEWHERE) & set(dict(of.run.env)):
        return ""
    if of.plan.kind == "inference" and not serving.engine_of(of).hub:
        return ""
    model = of.run.model or of.task.model or ""
    return "" if model.startswith(("/", "./", "../")) or "://" in model else model


def check(of: Setting, *, internet: bool) -> None:
    """ConfigError where the run downloads its model from the Hub and its network does not lead there."""
    model = "" if internet else hub_model(of)
    if not model:
        return
    at = f"run.{of.plan.name}"
    message = f"{model} is a name on the Hugging Face Hub, which the stack's network cannot reach"
    bucket = "" if of.plan.kind in ("training", "fine-tuning") else ", or to a bucket that the run may read"
    fix = (
        f"set {at}.model to a folder of the image or of a volume{bucket}; "
        f"or {at}.env.HF_ENDPOINT to a mirror in the network"
    )
    raise ConfigError([Fault(path=f"{at}.model", message=message, fix=fix)], subject=f"run {of.plan.name}")


def check_form(of: Setting, *, adopted: bool) -> None:
    """ConfigError where the run asks for KServe on a cluster that the stack builds, which has none.

    On an adopted one its definition is read before anything is made.
    """
    if adopted or of.plan.kind != "inference" or of.run.form != "kserve":
        return
    at = f"run.{of.plan.name}.form"
    message = "is kserve, and a cluster that the stack builds has no KServe: nothing would create its pods"
    fix = (
        f"leave {at} out: a Deployment serves, and KEDA scales it, just the same; or install KServe yourself and adopt "
        "the cluster from another stack (docs/howto/adopt-a-cluster.md)"
    )
    raise ConfigError([Fault(path=at, message=message, fix=fix)], subject=f"run {of.plan.name}")
