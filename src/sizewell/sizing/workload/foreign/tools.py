"""One reader for each tool: its document to drafts of specs.

By the tools' own references as they stood in 2026-11: docs.skypilot.co (yaml-spec), dstack.ai (.dstack.yml), the
Compose Deploy specification, the API of Kubernetes, the API references of SageMaker (CreateTrainingJob,
CreateEndpointConfig) and of Vertex AI (CustomJobSpec).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from sizewell import csvtables
from sizewell.sizing import units
from sizewell.sizing.workload.foreign.command import (
    assigned,
    lines_of,
    read_commands,
    read_settings,
    settings_of,
    unpacked,
)
from sizewell.sizing.workload.foreign.draft import Draft
from sizewell.sizing.workload.foreign.python import read_script
from sizewell.sizing.workload.foreign.recognise import Tool

REPLICAS: Final = "how many are needed follows from the load"
_DEVICE: Final = re.compile(
    r"(?:nvidia|amd)\.com/(?:gpu|mig-)|google\.com/tpu|habana\.ai/gaudi|aws\.amazon\.com/neuron"
)
_SLICES: Final = {
    "tpu-v4-podslice": "v4", "tpu-v5-lite-podslice": "v5e", "tpu-v5-lite-device": "v5e", "tpu-v5p-slice": "v5p",
    "tpu-v6e-slice": "v6e",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLabel:
    """A row of node_labels.csv: what a label says that pods require of their machine, and of which cloud it is."""

    label: str
    says: Literal["accelerator", "type", "region", "zone", "spot", "slice", "topology"]
    cloud: str = ""
    source: str


def drafts(tool: Tool, document: Any) -> list[Draft]:
    """The workloads with accelerators that a document describes."""
    readers: Mapping[Tool, Callable[[Any], Iterator[Draft]]] = {
        "skypilot": _skypilot,
        "kubernetes": _kubernetes,
        "dstack": _dstack,
        "azureml": _azureml,
        "sagemaker": _sagemaker,
        "vertex": _vertex,
        "compose": _compose,
        "dockerfile": _dockerfile,
        "command": _command,
        "settings": _settings,
        "python": lambda text: iter([read_script(text)]),
    }
    return list(readers[tool](document))


def configured(documents: list[Any]) -> list[Any]:
    """Manifests whose containers have the values of the ConfigMaps among them, as Kubernetes gives them.

    >>> maps = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"MODEL": "a/b"}}
    >>> configured([maps, {"containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}])[1]
    {'containers': [{'env': [{'name': 'MODEL', 'value': 'a/b'}]}]}
    """
    each = [item for document in documents for item in (_mapping(document).get("items") or [document])]
    maps = {
        str(_mapping(item.get("metadata")).get("name")): _mapping(item.get("data"))
        for item in each
        if isinstance(item, Mapping) and item.get("kind") == "ConfigMap"
    }
    return [_configured(document, maps) for document in documents] if maps else documents


def _configured(node: Any, maps: Mapping[str, Mapping[str, Any]]) -> Any:
    if isinstance(node, list):
        return [_configured(item, maps) for item in node]
    if not isinstance(node, Mapping):
        return node
    made = {key: _configured(value, maps) for key, value in node.items()}
    whole = [
        (str(source.get("prefix") or "") + str(name), value)
        for source in _mappings(node.get("envFrom"))
        for name, value in maps.get(str(_mapping(source.get("configMapRef")).get("name")), {}).items()
    ]
    stated = []
    for variable in _mappings(node.get("env")):
        named = _mapping(_mapping(variable.get("valueFrom")).get("configMapKeyRef"))
        value = maps.get(str(named.get("name")), {}).get(str(named.get("key")))
        stated.append({"name": variable.get("name"), "value": value} if value is not None else variable)
    if whole or stated:
        own = {str(each.get("name")) for each in stated}
        made["env"] = [*({"name": name, "value": value} for name, value in whole if name not in own), *stated]
        made.pop("envFrom", None)
    return made


def _settings(document: Mapping[str, Any]) -> Iterator[Draft]:
    """The settings of a training as Axolotl, LLaMA-Factory and TRL read them: the options of a command line in YAML."""
    options = settings_of(document)
    draft = Draft(name=str(document.get("run_name") or "training"), work="training")
    engine = next((engine for key, engine in _SETTINGS_OF if key in document), "")
    if engine:
        draft.take("engine", engine, "its settings")
    read_settings(draft, options, "the file")
    yield draft


_SETTINGS_OF: Final = (("base_model", "axolotl"), ("finetuning_type", "llama-factory"), ("cutoff_len", "llama-factory"),
                       ("use_peft", "trl"))  # fmt: skip


def _command(text: str) -> Iterator[Draft]:
    stated = assigned(text)
    draft = Draft(name="service", environment=stated)
    _slurm(draft, text)
    draft.commands = lines_of(text, stated)
    unpacked(draft)
    read_commands(draft, "the command")
    if draft.name == "service" and draft.work == "training":
        draft.name = "training"
    if draft.work == "service" and (limit := draft.values.pop("deadline", None)):
        draft.taken = [(key, at) for key, at in draft.taken if key != "deadline"]
        draft.leave(f"the time of sbatch, {limit}", "a service has no end; schedule: {on: ...} says when it runs")
    yield draft


def _slurm(draft: Draft, text: str) -> None:
    """What the lines of sbatch say: the name, the accelerators, on how many nodes, how long."""
    options: dict[str, str] = {}
    for name, value in re.findall(r"(?m)^#SBATCH\s+--?([\w-]+)[= ]\s*(\S+)", text):
        options[{"J": "job-name", "N": "nodes", "t": "time", "G": "gpus"}.get(name, name)] = value
    if not options:
        return
    draft.name = options.get("job-name", draft.name)
    draft.said = {"accelerators": "the lines of sbatch"}
    nodes = _whole(options.get("nodes", "1").partition("-")[0]) or 1
    asked = next((options[name] for name in ("gres", "gpus-per-node", "gpus") if name in options), "")
    *kind, count = re.sub(r"^gpu:", "", asked).split(":")
    if asked and (each := _whole(count)):
        draft.asked += kind
        draft.machines = nodes
        draft.devices = each if "gpus" in options and "gres" not in options else each * nodes
    if limit := re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+)(?::\d+)?", options.get("time", "")):
        days, hours, minutes = (int(part or 0) for part in limit.groups())
        hours_in_all = days * 24 + hours + (1 if minutes else 0)
        draft.values["deadline"] = f"{max(hours_in_all, 1)}h"
        draft.taken.append(("deadline", "the time of sbatch"))


def _dockerfile(text: str) -> Iterator[Draft]:
    """The image of the last stage, its variables, and what its ENTRYPOINT and CMD run."""
    lines = re.sub(r"\\\s*\n", " ", text)
    images = re.findall(r"(?m)^FROM (?:--\S+ )?(\S+)", lines)
    stated = {name: value.strip("'\"") for name, value in re.findall(r"(?m)^ENV\s+(\w+)[= ](\S+)", lines)}
    draft = Draft(name="service", image=images[-1], environment=stated)
    words: list[str] = []
    for instruction in ("ENTRYPOINT", "CMD"):
        if found := re.findall(rf"(?m)^{instruction}\s+(.+)$", lines):
            words += _exec_form(found[-1])
    draft.commands = lines_of(words, stated) if words else []
    read_commands(draft, "the Dockerfile")
    yield draft


def _exec_form(stated: str) -> list[str]:
    """The words of an instruction: a JSON list, or a line of a shell."""
    try:
        words = json.loads(stated)
    except ValueError:
        words = None
    return [str(word) for word in words] if isinstance(words, list) else stated.split()


def _skypilot(task: Mapping[str, Any]) -> Iterator[Draft]:
    environment = _environment(task.get("envs"))
    draft = Draft(name=str(task.get("name") or "task"), environment=environment)
    draft.commands = lines_of(task.get("run"), environment)
    wanted = _mapping(task.get("resources"))
    choices = wanted.get("any_of") or wanted.get("ordered") or []
    alternatives = [_mapping(each) for each in choices] if isinstance(choices, list) else []
    nodes = _whole(task.get("num_nodes")) or 1
    counts: set[int] = set()
    for each in (wanted, *alternatives):
        for name, count in _sky_accelerators(each.get("accelerators")):
            draft.asked.append(name)
            counts.add(count)
        place = _sky_place(each)
        if place:
            draft.places.append(place)
        for kind in _listed(each.get("instance_type")):
            draft.values.setdefault("resources.instance_type", []).append(kind)
        if each.get("use_spot") is not None:
            draft.spot = bool(each["use_spot"])
    if len(counts) == 1:
        draft.devices, draft.machines = counts.pop() * nodes, nodes
    elif counts:
        draft.leave(
            "resources.accelerators", "different numbers of different accelerators: each may be used, in any number"
        )
    service = _mapping(task.get("service"))
    if service:
        draft.work = "service"
        _sky_service(draft, service)
    draft.said = {"accelerators": "resources.accelerators", "infra": "resources", "spot": "resources.use_spot"}
    read_commands(draft, "run")
    _buckets(draft, _mapping(task.get("file_mounts")))
    draft.leave_rest(task, ("name", "resources", "num_nodes", "envs", "run", "service", "file_mounts"))
    read = ("accelerators", "any_of", "ordered", "instance_type", "use_spot", "infra", "cloud", "region", "zone")
    draft.leave_rest(wanted, read, "resources.")
    yield draft


def _sky_accelerators(stated: Any) -> Iterator[tuple[str, int]]:
    """`H100:8`, `H100`, `{H100: 8}`, and lists and sets of them."""
    if isinstance(stated, Mapping):
        yield from ((str(name), _whole(count) or 1) for name, count in stated.items() if count is not None)
        for name in (name for name, count in stated.items() if count is None):  # a set, as YAML writes one
            yield from _sky_accelerators(str(name))
    elif isinstance(stated, list):
        for each in stated:
            yield from _sky_accelerators(each)
    elif stated is not None:
        name, _, count = str(stated).partition(":")
        yield name, _whole(count) or 1


def _sky_place(resources: Mapping[str, Any]) -> str:
    stated = resources.get("infra") or "/".join(
        str(resources[key]) for key in ("cloud", "region", "zone") if resources.get(key)
    )
    return str(stated).rstrip("/*") if stated else ""


def _sky_service(draft: Draft, service: Mapping[str, Any]) -> None:
    policy = _mapping(service.get("replica_policy"))
    rate, most = policy.get("target_qps_per_replica"), _whole(policy.get("max_replicas"))
    if isinstance(rate, int | float) and most:
        draft.take("traffic.rps", rate * most, f"service: {rate} a second for each of at most {most} replicas")
    elif policy or service.get("replicas") is not None:
        draft.leave("service: replicas", REPLICAS)


def _buckets(draft: Draft, mounts: Mapping[str, Any]) -> None:
    """The first bucket that is mounted and not written to is where data lies; the others are named."""
    others = []
    for path, stated in mounts.items():
        source = str(_mapping(stated).get("source") or stated)
        if re.match(r"(?:s3|gs)://", source) and "data.location" not in draft.values and "check" not in str(path):
            draft.take("data.location", source, f"file_mounts: {path}")
        else:
            others.append(str(path))
    if others:
        draft.leave(f"file_mounts: {', '.join(others)}", "files and checkpoints are no part of a spec")


# Kinds that serve and that train; what others are for is seen by what they run.
_SERVE: Final = ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "InferenceService", "LeaderWorkerSet",
                 "RayService", "Service", "LLMInferenceService")  # fmt: skip
_TRAIN: Final = ("PyTorchJob", "MPIJob", "TFJob", "JAXJob", "TrainJob")


def _kubernetes(document: Mapping[str, Any]) -> Iterator[Draft]:
    kind = str(document.get("kind"))
    if kind == "List":
        for item in document.get("items") or []:
            yield from _kubernetes(_mapping(item))
        return
    spec = _mapping(document.get("spec"))
    pods = [(pod, copies) for pod, copies in _pods(spec, 1) if any(map(_asked_devices, _mappings(pod["containers"])))]
    if not pods:
        return
    pod, _ = pods[-1]  # of a group the workers, which stand behind their leader
    container = next(each for each in _mappings(pod["containers"]) if _asked_devices(each))
    environment = {
        str(each.get("name")): str(each["value"]) for each in _mappings(container.get("env")) if "value" in each
    }
    draft = Draft(
        name=str(_mapping(document.get("metadata")).get("name") or kind.lower()),
        image=str(container.get("image") or ""),
        environment=environment,
        work="service" if kind in _SERVE else "training" if kind in _TRAIN else None,
    )
    command, given = container.get("command") or [], container.get("args") or []
    draft.commands = lines_of([*_listed(command), *_listed(given)], environment)
    if any(draft.commands) and not _listed(command):  # the image's own program, which its arguments follow
        draft.commands[0].insert(0, draft.image)
    draft.commands += lines_of(spec.get("entrypoint"), environment)  # of a RayJob
    if not any(draft.commands):  # a launcher, which asks for no accelerator, starts what these run
        others = [each for pod, _ in _pods(spec, 1) for each in _mappings(pod["containers"])]
        draft.commands = [words for each in others for words in lines_of(each.get("command"), environment)]
    device, each = _asked_devices(container) or ("", 0)
    counted = [(_asked_devices(one) or ("", 0))[1] * many for p, many in pods for one in _mappings(p["containers"])]
    draft.devices = sum(counted) if kind not in _SERVE else None
    bounds = [
        f"{key}: {number}"
        for key, number in _numbers(spec, ("minReplicas", "maxReplicas", "completions", "parallelism"))
    ]
    if kind in _SERVE:
        stated = ", ".join(bounds) or f"replicas: {spec.get('replicas', 1)}"
        draft.leave(f"{stated} with {each} x {device}", REPLICAS)
    elif bounds:
        draft.leave(", ".join(bounds), "how many run at once follows from how long all of it may take")
    _labels(draft, pod, device)
    if spec.get("schedule"):
        draft.leave(f"schedule: {spec['schedule']}", "state how often: batch.every")
    read_commands(draft, f"containers: {container.get('name', '')}".rstrip(": "))
    if not draft.model:
        _stored(draft, container, spec)
    if kind == "CronJob" and draft.work is None and draft.model:  # a model over data, again and again
        draft.work = "batch"
    beside = [str(other.get("name")) for other in _mappings(pod["containers"]) if other is not container]
    if beside:
        draft.leave(f"containers: {', '.join(beside)}", "ask for no accelerator")
    draft.leave_rest(container, ("name", "image", "command", "args", "env", "resources"), "container.")
    yield draft


def _pods(node: Any, copies: int) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Every pod that a resource makes, wherever its kind has it, and how many of it."""
    if isinstance(node, list):
        for item in node:
            yield from _pods(item, copies)
    if not isinstance(node, Mapping):
        return
    if isinstance(node.get("containers"), list):
        yield node, copies
        return
    per_node = _mapping(node.get("resourcesPerNode"))  # of a TrainJob's trainer
    if per_node:
        yield {"containers": [{**node, "resources": per_node}]}, copies * (_whole(node.get("numNodes")) or 1)
        return
    model = _mapping(node.get("model"))
    if "modelFormat" in model:  # of an InferenceService
        yield {**node, "containers": [model]}, copies
        return
    for key in ("replicas", "size", "parallelism"):
        copies *= _whole(node.get(key)) or 1
    for value in node.values():
        yield from _pods(value, copies)


def _numbers(node: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """The keys of a document that state a number, wherever they stand outside its pods."""
    for key, value in _mapping(node).items():
        if key in keys and (number := _whole(value)):
            yield str(key), number
        elif key not in ("containers", "metadata"):
            yield from _numbers(value, keys)


def _stored(draft: Draft, container: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
    """The model of a server that is described and not started by a command: by where it lies, or by Ray's own key."""
    place = str(container.get("storageUri") or "")
    named = re.fullmatch(r"hf://([\w.-]+/[\w.-]+).*", place) or re.search(
        r"model_source[\"']?: *[\"']?([\w.-]+/[\w.-]+)", str(spec.get("serveConfigV2") or "")
    )
    if named:
        draft.model = named[1]
        draft.taken.append(("model", "storageUri" if place else "serveConfigV2"))


def _asked_devices(container: Mapping[str, Any]) -> tuple[str, int] | None:
    resources = _mapping(container.get("resources"))
    for part in ("limits", "requests"):
        for name, amount in _mapping(resources.get(part)).items():
            if _DEVICE.match(str(name)) and _whole(amount):
                return str(name), _whole(amount) or 1
    return None


def _labels(draft: Draft, pod: Mapping[str, Any], device: str) -> None:
    """Which machines the pods run on: names of accelerators, machine types, regions, whether they may be reclaimed."""
    cloud, topology = "", ""
    regions: list[str] = []
    known = _node_labels()
    for label, values in _required_labels(pod):
        row = known.get(label)
        if row is None:
            draft.leave(f"nodeSelector: {label}", "is a label of your cluster")
            continue
        cloud = row.cloud or cloud
        if row.says == "accelerator":
            draft.asked += values
            draft.said["accelerators"] = label
        elif row.says == "type":
            draft.take("resources.instance_type", values, label)
        elif row.says in ("region", "zone"):  # which the region is read from
            regions += values
        elif row.says == "spot":
            draft.spot = any(value.lower() in ("spot", "true") for value in values)
            draft.said["spot"] = label
        elif row.says == "topology":
            topology = values[0]
        elif values[0] in _SLICES:
            draft.take("resources.tpu", {"type": _SLICES[values[0]]}, label)
        else:
            draft.leave(f"{label}: {values[0]}", "is no slice of TPUs that is known here")
    if topology and "resources.tpu" in draft.values:
        draft.values["resources.tpu"]["topology"] = topology
    draft.said["infra"] = "the labels of its machines"
    draft.places += [f"{cloud}/{region}" if cloud else region for region in regions]
    if cloud and not regions:
        draft.places.append(cloud)
    if not draft.asked and not {"resources.instance_type", "resources.tpu"} & draft.values.keys():
        draft.leave(device, "which accelerator it is stands nowhere: any that fits may be chosen")


@cache
def _node_labels() -> Mapping[str, NodeLabel]:
    return {row.label: row for row in csvtables.read(NodeLabel, Path(__file__).parents[1] / "data/node_labels.csv")}


def _required_labels(pod: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for key, value in _mapping(pod.get("nodeSelector")).items():
        yield str(key), [str(value)]
    affinity = _mapping(_mapping(pod.get("affinity")).get("nodeAffinity"))
    required = _mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    for term in _mappings(required.get("nodeSelectorTerms")):
        for each in _mappings(term.get("matchExpressions")):
            if each.get("operator") == "In" and each.get("values"):
                yield str(each.get("key")), [str(value) for value in _listed(each.get("values"))]


def _dstack(run: Mapping[str, Any]) -> Iterator[Draft]:
    environment = _environment(run.get("env"))
    draft = Draft(name=str(run.get("name") or run["type"]), image=str(run.get("image") or ""), environment=environment)
    draft.work = {"service": "service", "dev-environment": "notebook"}.get(str(run["type"]))  # type: ignore[assignment]
    script = run.get("commands")
    draft.commands = lines_of("\n".join(str(line) for line in _listed(script)), environment)
    draft.said = {"accelerators": "resources.gpu", "infra": "backends, regions", "spot": "spot_policy"}
    nodes = _whole(run.get("nodes")) or 1
    resources = _mapping(run.get("resources"))
    each = _dstack_gpu(draft, resources.get("gpu"))
    if each and resources.get("gpu") is not None:
        draft.devices, draft.machines = each * nodes, nodes
    model = run.get("model")
    served = str(_mapping(model).get("name") or model or "")
    if "/" in served:
        draft.model = served
        draft.taken.append(("model", "model"))
    backends, regions = _listed(run.get("backends")), _listed(run.get("regions"))
    draft.places += [f"{cloud}/{region}" for cloud in backends for region in regions] or [
        str(each) for each in backends
    ]
    if regions and not backends:
        draft.places += [str(region) for region in regions]
    if run.get("spot_policy") in ("spot", "on-demand"):
        draft.spot = run["spot_policy"] == "spot"
    elif run.get("spot_policy"):
        draft.leave(f"spot_policy: {run['spot_policy']}", "is what a spec without it means")
    if run.get("max_duration") not in (None, "off") and draft.work is None:
        draft.values["deadline"] = str(run["max_duration"])
        draft.taken.append(("deadline", "max_duration"))
    most = _whole(re.split(r"\.\.", str(run.get("replicas") or ""))[-1])
    scaling = _mapping(run.get("scaling"))
    rate = scaling.get("target")
    if scaling.get("metric") == "rps" and isinstance(rate, int | float) and most:
        draft.take("traffic.rps", rate * most, f"scaling: {rate} a second for each of at most {most} replicas")
    elif most:
        draft.leave(f"replicas: {run['replicas']}", REPLICAS)
    for kind in _listed(run.get("instance_types")):
        draft.values.setdefault("resources.instance_type", []).append(str(kind))
    read_commands(draft, "commands")
    read = ("type", "name", "image", "env", "commands", "nodes", "resources", "model", "backends", "regions",
            "spot_policy", "max_duration", "replicas", "scaling", "instance_types")  # fmt: skip
    draft.leave_rest(run, read if draft.values.get("deadline") else tuple(k for k in read if k != "max_duration"))
    draft.leave_rest(resources, ("gpu",), "resources.")
    yield draft


def _dstack_gpu(draft: Draft, stated: Any) -> int:
    """`H100:8`, `80GB`, `24GB..:2`, `A100,H100:80GB:4`, a number, or a mapping; how many, 0 where none is asked for."""
    if stated is None:
        return 0
    if isinstance(stated, Mapping):
        names, memory = [str(name) for name in _listed(stated.get("name"))], str(stated.get("memory") or "")
        count = stated.get("count", 1)
    else:
        parts = str(stated).split(":")
        memory = next((part for part in parts if re.search(r"\d\s*[GT]B", part, re.IGNORECASE)), "")
        count = next((part for part in parts if re.fullmatch(r"[\d.]+", part)), 1)
        names = [
            name for part in parts if part not in (memory, count) for name in part.split(",")
            if name.lower() not in ("nvidia", "amd", "google", "intel", "tenstorrent")
        ]  # fmt: skip
    exact = re.fullmatch(r"\d+\s*GB", memory, re.IGNORECASE)
    draft.asked += [f"{name}-{memory.replace(' ', '')}" if exact else name for name in names]
    if memory and not names:
        draft.take("resources.gpu", memory if ".." in memory else f"{memory}..", "resources.gpu")
    elif memory and not exact:
        draft.leave(f"resources.gpu: {memory}", "the names of the accelerators say it")
    return _whole(str(count).split("..")[0]) or 1


def _azureml(job: Mapping[str, Any]) -> Iterator[Draft]:
    """A job of Azure Machine Learning, by the schema of its command job; of a pipeline each job that is one."""
    if "command" not in job:
        for name, inner in _mapping(job.get("jobs")).items():
            yield from _azureml({"name": name, "type": "command", **_mapping(inner)})
        return
    environment = _environment(job.get("environment_variables"))
    image = str(_mapping(job.get("environment")).get("image") or "")
    name = job.get("name") or job.get("display_name") or job.get("experiment_name") or "job"
    draft = Draft(name=str(name), image=image, environment=environment)
    draft.commands = lines_of(str(job["command"]), environment)
    wanted = _mapping(job.get("resources"))
    draft.machines = _whole(wanted.get("instance_count")) or 1
    if kind := wanted.get("instance_type"):
        draft.take("resources.instance_type", [str(kind)], "resources.instance_type")
    each = _whole(_mapping(job.get("distribution")).get("process_count_per_instance"))
    draft.devices = each * draft.machines if each else None
    seconds = _whole(_mapping(job.get("limits")).get("timeout"))
    read_commands(draft, "command")
    if seconds and draft.work != "service":
        draft.take("deadline", units.show_duration(seconds), "limits.timeout")
    if draft.machines > 1 and not each:
        draft.leave(f"resources.instance_count: {draft.machines}", "how many are needed is found")
    read = ("$schema", "type", "name", "display_name", "experiment_name", "command", "environment_variables",
            "resources", "distribution", "limits")  # fmt: skip
    draft.leave_rest(job, read)
    yield draft


def _sagemaker(request: Mapping[str, Any]) -> Iterator[Draft]:
    """A request that trains, or an endpoint's: its machines, its time, its hyperparameters, its container."""
    trains = "ResourceConfig" in request
    part = request["ResourceConfig"] if trains else next(iter(_mappings(request["ProductionVariants"])), {})
    machines, where = _mapping(part), "ResourceConfig" if trains else "ProductionVariants"
    name = request.get("TrainingJobName") or machines.get("ModelName") or request.get("EndpointConfigName")
    container = _mapping(request.get("PrimaryContainer")) or _mapping(request.get("AlgorithmSpecification"))
    draft = Draft(
        name=str(name or "job"),
        work="training" if trains else "service",
        image=str(container.get("TrainingImage") or container.get("Image") or ""),
        environment=_environment(container.get("Environment") or request.get("Environment")),
    )
    draft.commands = lines_of([*_listed(container.get("ContainerEntrypoint"))], draft.environment)
    read_commands(draft, "its container")
    draft.work = "training" if trains else "service"
    if kind := str(machines.get("InstanceType") or "").removeprefix("ml."):
        draft.take("resources.instance_type", [kind], where)
    count = _whole(machines.get("InstanceCount") or machines.get("InitialInstanceCount")) or 1
    if trains:
        draft.take("resources.nodes", count, where)
        read_settings(draft, settings_of(_mapping(request.get("HyperParameters"))), "HyperParameters")
        if seconds := _whole(_mapping(request.get("StoppingCondition")).get("MaxRuntimeInSeconds")):
            draft.take("deadline", units.show_duration(seconds), "StoppingCondition")
        draft.spot = True if request.get("EnableManagedSpotTraining") else None
    else:
        draft.leave(f"InitialInstanceCount: {count}", REPLICAS)
    draft.places, draft.said = ["aws"], {"infra": "the service", "spot": "EnableManagedSpotTraining"}
    read = (where, "TrainingJobName", "EndpointConfigName", "PrimaryContainer", "AlgorithmSpecification", "Environment",
            "HyperParameters", "StoppingCondition", "EnableManagedSpotTraining")  # fmt: skip
    draft.leave_rest(request, read)
    draft.leave_rest(machines, ("InstanceType", "InstanceCount", "InitialInstanceCount", "ModelName"), f"{where}.")
    yield draft


def _vertex(document: Mapping[str, Any]) -> Iterator[Draft]:
    """A custom job: the machines of all its pools, and what the container of the first one runs."""
    job = _mapping(document.get("jobSpec")) or document
    pools = _mappings(job.get("workerPoolSpecs"))
    if not pools:
        return
    container = _mapping(pools[0].get("containerSpec"))
    environment = {str(each.get("name")): str(each.get("value")) for each in _mappings(container.get("env"))}
    draft = Draft(name=str(document.get("displayName") or "job"), image=str(container.get("imageUri") or ""),
                  environment=environment)  # fmt: skip
    draft.commands = lines_of([*_listed(container.get("command")), *_listed(container.get("args"))], environment)
    draft.said = dict.fromkeys(("accelerators", "infra", "spot"), "workerPoolSpecs")
    machines = [(_mapping(pool.get("machineSpec")), _whole(pool.get("replicaCount")) or 1) for pool in pools]
    draft.machines = sum(count for _, count in machines)
    draft.devices = sum((_whole(each.get("acceleratorCount")) or 0) * count for each, count in machines) or None
    draft.asked = [str(each["acceleratorType"]).replace("_", "-") for each, _ in machines if "acceleratorType" in each]
    kinds = dict.fromkeys(str(each["machineType"]) for each, _ in machines if "machineType" in each)
    draft.take("resources.instance_type", [*kinds], "workerPoolSpecs.machineSpec")
    draft.places = ["gcp"]
    scheduling = _mapping(job.get("scheduling"))
    read_commands(draft, "containerSpec")
    draft.work = draft.work or "training"
    if limit := re.fullmatch(r"(\d+)s", str(scheduling.get("timeout"))):
        draft.take("deadline", units.show_duration(int(limit[1])), "scheduling.timeout")
    draft.spot = True if scheduling.get("strategy") == "SPOT" else None
    draft.leave_rest(job, ("workerPoolSpecs", "scheduling", "displayName"))
    yield draft


def _compose(document: Mapping[str, Any]) -> Iterator[Draft]:
    beside = [str(name) for name, stated in document["services"].items() if _compose_devices(_mapping(stated)) is None]
    for name, stated in document["services"].items():
        service = _mapping(stated)
        devices = _compose_devices(service)
        if devices is None:
            continue
        environment = _environment(service.get("environment"))
        draft = Draft(name=str(name), image=str(service.get("image") or ""), environment=environment)
        words: list[Any] = []
        for key in ("entrypoint", "command"):
            part = service.get(key)
            words += part.split() if isinstance(part, str) else _listed(part)
        draft.commands = lines_of(words, environment) if words else []
        if draft.commands and not service.get("entrypoint"):
            draft.commands[0].insert(0, draft.image)
        read_commands(draft, f"services.{name}")
        draft.work = draft.work or ("service" if service.get("ports") else None)
        draft.devices = devices or None if draft.work != "service" else None
        said = units.plural(devices, "GPU") if devices else "every GPU of the host"
        draft.leave(f"services.{name}: {said}", "which accelerator it is stands nowhere: any that fits may be chosen")
        read = ("image", "environment", "entrypoint", "command", "deploy", "gpus", "runtime")
        draft.leave_rest(service, read, f"services.{name}.")
        if beside:
            draft.leave(f"services: {', '.join(beside)}", "ask for no accelerator")
        yield draft


def _compose_devices(service: Mapping[str, Any]) -> int | None:
    """GPUs that a service reserves: 0 for all of the host, None for none."""
    reserved = _mapping(_mapping(_mapping(service.get("deploy")).get("resources")).get("reservations"))
    gpus = service.get("gpus")
    asked = [each for each in _mappings(reserved.get("devices")) if _for_gpus(each)] + _mappings(gpus)
    if not asked:
        return 0 if gpus == "all" or service.get("runtime") == "nvidia" else None
    counts = [len(_listed(each.get("device_ids"))) or _whole(each.get("count")) or 0 for each in asked]
    return 0 if 0 in counts else sum(counts)


def _for_gpus(device: Mapping[str, Any]) -> bool:
    return "gpu" in [str(each) for each in _listed(device.get("capabilities"))] or "nvidia" in str(device.get("driver"))


def _environment(stated: Any) -> dict[str, str]:
    """`{NAME: value}` or `[NAME=value]`; a name without a value says nothing."""
    if isinstance(stated, Mapping):
        return {str(name): str(value) for name, value in stated.items() if value is not None}
    pairs = [str(each).partition("=") for each in _listed(stated)]
    return {name: value for name, given, value in pairs if given}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _whole(value: Any) -> int | None:
    try:
        number = units.count(value) if isinstance(value, str) else int(value)
    except (units.UnitError, TypeError, ValueError):
        return None
    return number if number >= 1 else None
