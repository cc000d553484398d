"""Whose file a text is: by the keys that the tool's own documentation requires."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import yaml

from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.workload.foreign.command import is_known
from sizewell.sizing.workload.foreign.python import is_script
from sizewell.sizing.workload.text import BYTES_MAX, SpecLoader, check_bounds

Tool = Literal["skypilot", "kubernetes", "dstack", "compose", "dockerfile", "command", "settings", "python", "azureml",
               "sagemaker", "vertex"]  # fmt: skip
CALLED: Final[Mapping[Tool, str]] = {
    "skypilot": "a SkyPilot task",
    "kubernetes": "a Kubernetes manifest",
    "dstack": "a dstack configuration",
    "azureml": "an Azure Machine Learning job",
    "sagemaker": "a request of SageMaker",
    "vertex": "a custom job of Vertex AI",
    "compose": "a Compose file",
    "dockerfile": "a Dockerfile",
    "command": "a command line",
    "settings": "a file of a training's settings",
    "python": "a Python script",
}
_SKYPILOT: Final = ("run", "setup", "num_nodes", "file_mounts", "workdir", "envs", "service")
_SKYPILOT_RESOURCES: Final = ("cloud", "use_spot", "any_of", "ordered", "image_id", "disk_size", "autostop", "infra")
_MODELS: Final = ("base_model", "model_name_or_path")  # of Axolotl; of transformers, TRL and LLaMA-Factory
_TRAINED: Final = ("num_epochs", "num_train_epochs", "max_steps", "learning_rate", "micro_batch_size", "datasets",
                   "per_device_train_batch_size", "finetuning_type", "adapter", "output_dir")  # fmt: skip
_PRETRAINED: Final = ("train_iters", "train_micro_batch_size_per_gpu", "train_batch_size")  # of GPT-NeoX
_DSTACK: Final = ("task", "service", "dev-environment")


class _Loader(SpecLoader):
    """As a spec is read, with merge keys, and with tags that only the tool knows (`!override`) left out."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^(?:<<)$"), ["<"])
_Loader.add_constructor("tag:yaml.org,2002:null", yaml.SafeLoader.construct_yaml_null)


def _untagged(loader: Any, _tag: str, node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    return (
        loader.construct_sequence(node, deep=True)
        if isinstance(node, yaml.SequenceNode)
        else loader.construct_scalar(node)
    )


_Loader.add_multi_constructor("!", _untagged)


def documents(text: str, origin: str) -> list[Any]:
    """The YAML documents of a text. SpecError where it is none."""
    try:
        check_bounds(text, origin, documents_max=1000, nodes_max=200_000)
        return [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = (mark.line + 1, mark.column + 1) if mark else None
        message = f"is not valid YAML: {getattr(error, 'problem', None) or str(error).splitlines()[0]}"
        fix = "check quotes, colons and indentation"
        if "{{" in text:
            message, fix = "is a template, not YAML", "render it first: helm template CHART > rendered.yaml"
        raise SpecError([Fault(path="", message=message, fix=fix, at=at)], subject=origin) from None


def tool_of(document: object) -> Tool | None:
    """The tool whose document this is.

    >>> tool_of({"apiVersion": "batch/v1", "kind": "Job"}), tool_of({"resources": {}, "run": "x"})
    ('kubernetes', 'skypilot')
    >>> tool_of({"type": "task"}), tool_of({"services": {"web": {"image": "nginx"}}}), tool_of({"kind": "notebook"})
    ('dstack', 'compose', None)
    """
    if isinstance(document, str):
        return "command" if is_known(document) else None
    if not isinstance(document, Mapping):
        return None
    if "apiVersion" in document and "kind" in document:
        return "kubernetes"
    if "azuremlschemas" in str(document.get("$schema")) and ("command" in document or "jobs" in document):
        return "azureml"
    if any(key in document for key in ("ResourceConfig", "ProductionVariants")):
        return "sagemaker"
    if any("workerPoolSpecs" in each for each in (document, document.get("jobSpec") or {})):
        return "vertex"
    services = document.get("services")
    if isinstance(services, Mapping) and any(
        isinstance(service, Mapping) and ("image" in service or "build" in service) for service in services.values()
    ):
        return "compose"
    if "kind" in document:
        return None
    if any(key in document for key in _MODELS) and any(key in document for key in _TRAINED):
        return "settings"
    plain = {str(key).replace("-", "_") for key in document}
    if {"num_layers", "hidden_size"} <= plain and plain.intersection(_PRETRAINED):
        return "settings"
    if document.get("type") in _DSTACK:
        return "dstack"
    resources = document.get("resources")
    wanted = resources if isinstance(resources, Mapping) else {}
    if any(key in document for key in _SKYPILOT) or any(key in wanted for key in _SKYPILOT_RESOURCES):
        return "skypilot"
    return None


def tool_of_text(text: str) -> Tool | None:
    """As `tool_of`, of a text that may be no YAML at all."""
    if len(text) > BYTES_MAX:
        return None
    try:
        read = documents(text, "")
    except SpecError:
        read = []
    if any(isinstance(each, Mapping) for each in read):
        return next((tool for each in read if (tool := tool_of(each))), None)
    if re.search(r"(?m)^kind:", text):  # of a spec that is no YAML
        return None
    if is_script(text):
        return "python"
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if re.search(r"(?m)^FROM \S+", text):
        return "dockerfile"
    return "command" if is_known("\n".join(lines)) else None
