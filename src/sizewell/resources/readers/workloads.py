"""How many pods of a Kubernetes resource stand, whoever scales it: replicas, autoscalers' minimums, worker groups.

One answer for all who ask: what accelerators are asked for, which machines pods hold, whether a server ever ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.readers.keda import aims_at, keda_scales
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Count, canonical, count, flag, get

_ENDING: Final = (
    "Job",
    "JobSet",
    "Workflow",
    "CronWorkflow",
    "Run",
    "Task",
)  # how kinds end whose pods end by themselves
_DESCRIBES: Final = ("Template", "Runtime", "Class")  # and of which none are started
_SCALER: Final = ":HorizontalPodAutoscaler"
_SCALED: Final = "kubernetes:keda.sh/"
_KNATIVE: Final = "kubernetes:serving.knative.dev/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Pods of one specification: the least that an autoscaler leaves, and those that run without its load."""

    path: str
    spec: Any
    least: Count
    wanted: Count
    running: Count  # while there is work for them
    ends: bool = False  # with their work
    everywhere: bool = False  # one on each machine that there is


def standing(resource: RecordedResource, graph: Graph, specs: Iterable[tuple[str, Any]]) -> Iterator[Standing]:
    """Each specification of pods inside a resource, with how many pods of it stand."""
    kind = canonical(resource.type).rsplit(":", 1)[-1].removesuffix("Patch")
    ends, everywhere = kind.endswith(_ENDING), kind == "DaemonSet"
    none = everywhere or kind.endswith(_DESCRIBES)
    stated = [get(resource.inputs, "spec", key) for key in ("replicas", "parallelism")]
    off = next((count(each) for each in stated if each is not None), None) == 0
    bounds = None if ends or none else _scaled(resource, graph)
    for path, spec in specs:
        least, wanted = _along(resource, path.split(".")) if bounds is None else bounds
        yield Standing(
            path=path,
            spec=spec,
            least=0 if none else least,
            wanted=0 if none else wanted,
            running=0 if off else max(wanted, 1) if isinstance(wanted, int) else wanted,
            ends=ends,
            everywhere=everywhere,
        )


def _along(resource: RecordedResource, path: list[str]) -> tuple[Count, Count]:
    """(least, wanted) by the numbers on the way to a specification: of sets in sets, they multiply."""
    least: Count = 1
    wanted: Count = 1
    value: Any = resource.inputs
    for step in ("", *path):
        value = get(value, int(step) if step.isdigit() else step) if step else value
        if value is UNKNOWN:
            return UNKNOWN, UNKNOWN
        few, many = _of(resource, value, step)
        least, wanted = times(least, few), times(wanted, many)
    return least, wanted


def _of(resource: RecordedResource, value: Any, step: str) -> tuple[Count, Count]:
    if not isinstance(value, Mapping):
        return 1, 1
    if canonical(resource.type).startswith(_KNATIVE):
        notes = get(value, "metadata", "annotations") if step == "template" else None
        stated = [get(notes, f"autoscaling.knative.dev/{key}") for key in ("min-scale", "minScale")]
        number = count(next((each for each in stated if each is not None), 0)) if step == "template" else 1
        return number, number
    if (
        step == "workerTemplate"
        and (size := count(get(resource.inputs, "spec", "leaderWorkerTemplate", "size"))) is not None
    ):
        beside = get(resource.inputs, "spec", "leaderWorkerTemplate", "leaderTemplate") is not None
        number = size - 1 if isinstance(size, int) and beside else size
        return number, number
    least = count(value.get("minReplicas"))
    wanted = count(next((value[key] for key in ("replicas", "parallelism") if value.get(key) is not None), None))
    if "rayStartParams" in value and step.isdigit():  # a group of workers: without a number, none
        scaled = flag(get(resource.inputs, "spec", "enableInTreeAutoscaling", default=get(
            resource.inputs, "spec", "rayClusterConfig", "enableInTreeAutoscaling"))) is True  # fmt: skip
        hosts = count(value.get("numOfHosts")) or 1
        wanted = (least or 0) if wanted is None else wanted
        least = (least or 0) if scaled else wanted
        if isinstance(least, int) and isinstance(wanted, int):
            wanted = max(wanted, least)
        return times(least, hosts), times(wanted, hosts)
    if least is None:
        return (1, 1) if wanted is None else (wanted, wanted)
    if wanted is None or isinstance(least, Unknown) or isinstance(wanted, Unknown):
        return least, least if wanted is None else wanted
    return least, max(least, wanted)


def times(first: Count, second: Count) -> Count:
    if 0 in (first, second):
        return 0
    return first * second if isinstance(first, int) and isinstance(second, int) else UNKNOWN


def _scaled(resource: RecordedResource, graph: Graph) -> tuple[Count, Count] | None:
    """(least, wanted) where an autoscaler of the program aims at a resource; None where none does."""
    replicas = count(get(resource.inputs, "spec", "replicas"))
    for scaler in graph.plan.resources:
        if scaler.type.startswith(_SCALED) and scaler.type.endswith(":ScaledObject"):
            aimed = aims_at(scaler, resource)
            if aimed is False:
                continue
            if aimed is UNKNOWN:
                return UNKNOWN, UNKNOWN
            least = count(get(scaler.inputs, "spec", "minReplicaCount", default=0))
            falls = keda_scales(scaler, resource)
            if isinstance(least, Unknown) or falls is UNKNOWN:
                return UNKNOWN, UNKNOWN
            return (0, 0) if falls is True else (max(least or 0, 1),) * 2
        if scaler.type.startswith("kubernetes:autoscaling") and scaler.type.endswith(_SCALER):
            aimed = aims_at(scaler, resource)
            if aimed is False or replicas == 0:  # which stops the autoscaler
                continue
            least = count(get(scaler.inputs, "spec", "minReplicas", default=1))
            if aimed is UNKNOWN or least is None or isinstance(least, Unknown):
                return UNKNOWN, UNKNOWN
            return least, max(least, replicas) if isinstance(replicas, int) else least if replicas is None else UNKNOWN
    return None
