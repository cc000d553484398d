"""Machines that tasks of ECS hold: a capacity provider keeps its group as large as the tasks of its services need."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.readers.common import shape_of
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size
from sizewell.resources.values import Count, Flag, Text, cloud_of, count, get, items, number
from sizewell.sizing.catalog import load

PROVIDER: Final = "aws:ecs/capacityProvider:CapacityProvider"
_SERVICE: Final = "aws:ecs/service:Service"
TASK: Final = "aws:ecs/taskDefinition:TaskDefinition"
_MACHINES: Final = (  # that may join a cluster; a cluster without them has those of another program
    "aws:autoscaling/group:Group",
    "aws:ec2/instance:Instance",
    "aws:ec2/fleet:Fleet",
    "aws:ec2/spotFleetRequest:SpotFleetRequest",
)
_TARGET: Final = "aws:appautoscaling/target:Target"
_CPU_UNITS: Final = 1024  # of one vCPU
_MIB: Final = 2**20
_MOST_TASKS: Final = 5_000
Room = tuple[Decimal, Decimal, Decimal]  # accelerators, vCPUs, bytes of memory


def managed(provider: RecordedResource) -> Flag:
    """Whether a capacity provider changes the size of its group by itself."""
    status = get(provider.inputs, "autoScalingGroupProvider", "managedScaling", "status", default="DISABLED")
    return status if isinstance(status, Unknown) else bool(status == "ENABLED")


def raised(graph: Graph, group: RecordedResource, size: Size, kinds: tuple[str, ...] | Unknown) -> Size:
    """The size of a group with the machines that the tasks of its capacity providers hold, up to its maximum."""
    providers = graph.referring(group, PROVIDER, "autoScalingGroupProvider")
    if isinstance(providers, Unknown) or isinstance(kinds, Unknown) or not kinds:
        return size
    shape = shape_of(load(), cloud_of(group.type), kinds[0])
    if shape is None or shape.vcpus is None or shape.memory_bytes is None or not isinstance(size.most, int):
        return size
    whole = (Decimal(shape.accelerators), Decimal(shape.vcpus), Decimal(shape.memory_bytes))
    names = [each for each in providers if managed(each) is True]
    tasks = [
        (_task(graph, service), *_bounds(graph, service))
        for service in graph.of(_SERVICE)
        if any(each in names for each in _providers(graph, service))
    ]
    least, wanted = (min(_machines(whole, [(need, bounds[at]) for need, *bounds in tasks]), size.most) for at in (0, 1))
    now = size.least if size.wanted is None else size.wanted
    return replace(
        size,
        least=max(least, size.least) if isinstance(size.least, int) else size.least,
        wanted=max(wanted, now) if isinstance(now, int) and wanted else size.wanted,
    )


def brought(graph: Graph, service: RecordedResource) -> bool:
    """Whether ECS itself brings the machines of a service: by a provider that it names, or by one of the program where
    it names none, which its cluster may take by default.
    """
    named = service.inputs.get("launchType") or service.inputs.get("capacityProviderStrategies")
    providers = _providers(graph, service) if named else graph.of(PROVIDER)
    return any(each.inputs.get("managedInstancesProvider") is not None for each in providers)


def elsewhere(graph: Graph, service: RecordedResource) -> bool:
    """Whether a service of GPU tasks runs on machines that the program does not have."""
    size = service.inputs.get("desiredCount", 0)
    if size == 0 or _task(graph, service)[0] == 0:
        return False
    machines = any(graph.of(kind) for kind in _MACHINES)
    return not machines and not _providers(graph, service)


def _providers(graph: Graph, service: RecordedResource) -> tuple[RecordedResource, ...]:
    named = graph.referenced(service, "capacityProviderStrategies", PROVIDER)
    return () if isinstance(named, Unknown) else named


def _bounds(graph: Graph, service: RecordedResource) -> tuple[Count, Count]:
    """Tasks at the least, and as stated."""
    wanted = count(service.inputs.get("desiredCount", 0))
    targets = graph.referring(service, _TARGET, "resourceId")
    if isinstance(targets, Unknown) or not targets:
        return wanted, wanted
    least = count(targets[0].inputs.get("minCapacity"))
    return least, max(least, wanted) if isinstance(least, int) and isinstance(wanted, int) else wanted


def _task(graph: Graph, service: RecordedResource) -> Room:
    definitions = graph.referenced(service, "taskDefinition", TASK)
    inputs = definitions[0].inputs if isinstance(definitions, tuple) and definitions else {}
    containers = list(containers_of(inputs.get("containerDefinitions")))
    gpus = sum((_known(get(need, "value")) for need in _of_gpus(containers)), Decimal(0))
    cpu = _known(task_size(inputs, "cpu")) or sum((_known(get(each, "cpu")) for each in containers), Decimal(0))
    memory = _known(task_size(inputs, "memory")) or sum(
        (_known(get(each, "memoryReservation", default=get(each, "memory"))) for each in containers), Decimal(0)
    )
    return gpus, cpu / _CPU_UNITS, memory * _MIB


_SPELLED: Final = re.compile(r"\s*(\d*\.?\d+)\s*(?:vcpu|gb)\s*", re.IGNORECASE)


def task_size(task: Mapping[str, Any], key: str) -> Decimal | Unknown | None:
    """CPU units or MiB of a task, which may be written "1 vCPU" and "2 GB" as well (ECS's RegisterTaskDefinition).

    >>> task_size({"cpu": ".5 vCPU"}, "cpu"), task_size({"memory": "2GB"}, "memory"), task_size({"cpu": "256"}, "cpu")
    (Decimal('512.0'), Decimal('2048'), Decimal('256'))
    """
    stated = task.get(key)
    spelled = _SPELLED.fullmatch(stated) if isinstance(stated, str) else None
    return Decimal(spelled[1]) * 1024 if spelled else number(stated)


def _of_gpus(containers: list[Any]) -> list[Any]:
    needs = (need for each in containers for need in _listed(get(each, "resourceRequirements")))
    return [need for need in needs if get(need, "type") == "GPU"]


def asked(task: Mapping[str, Any]) -> Text:
    """The accelerators for which a task definition asks; "" where it asks for none, as on Fargate, which has none."""
    stated, for_ = task.get("containerDefinitions"), _listed(task.get("requiresCompatibilities"))
    if isinstance(stated, Unknown):
        return UNKNOWN if "EC2" in for_ else ""
    return f"{len(needs)} x GPU" if (needs := _of_gpus(list(containers_of(stated)))) else ""


def containers_of(stated: object) -> Iterator[Any]:
    """The containers of a task definition, which states them as JSON."""
    if isinstance(stated, str):
        try:
            stated = json.loads(stated)
        except ValueError:
            return
    yield from _listed(stated)


def _listed(value: object) -> tuple[Any, ...]:
    listed = items(value)
    return listed if isinstance(listed, tuple) else ()


def _known(value: object) -> Decimal:
    stated = number(value)
    return stated if isinstance(stated, Decimal) else Decimal(0)


def _machines(whole: Room, tasks: list[tuple[Room, Count]]) -> int:
    """Machines for so many of each task: the largest first, each on the first machine with room."""
    left: list[Room] = []
    for need, many in sorted(tasks, key=lambda task: task[0], reverse=True):
        for _ in range(min(many if isinstance(many, int) else 0, _MOST_TASKS)):
            at = next((at for at, room in enumerate(left) if _fits(room, need)), None)
            if at is None:
                if not _fits(whole, need):
                    break
                left.append(whole)
                at = len(left) - 1
            left[at] = tuple(has - takes for has, takes in zip(left[at], need, strict=True))  # type: ignore[assignment]
    return len(left)


def _fits(room: Room, need: Room) -> bool:
    return all(has >= takes for has, takes in zip(room, need, strict=True))
