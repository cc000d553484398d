"""What services refuse of any program: images of registries that they do not read, units of throughput that they do not
sell, windows of capacity, and an EKS cluster under HyperPod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.resources.ages import images_in
from sizewell.resources.controlled import CLOUD_CONTROL, HYPERPOD, NATIVE_HYPERPOD, groups, state_of
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, get
from sizewell.sizing.catalog.lifetimes import Lifetimes, minor, number
from sizewell.sizing.providers import CLOUDS

DATA: Final = Path(__file__).parents[1] / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registries:
    """A row of registries.csv: from which registries a service takes its images."""

    types: str  # a regular expression for the whole type
    hosts: str  # a regular expression for the host of an image, which is Docker Hub's where it names none
    takes: str  # in words
    instead: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """A row of provisioned_units.csv: how many units of throughput a deployment of a model has at least."""

    model: str
    global_min: int  # of all regions, or of a data zone
    global_step: int
    regional_min: int
    regional_step: int
    source: str


_REGISTRIES: Final = csvtables.read(Registries, DATA / "registries.csv")
_UNITS: Final = {row.model: row for row in csvtables.read(Units, DATA / "provisioned_units.csv")}
DOCKER_HUB: Final = "docker.io"


def of_images(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Images that a service cannot pull."""
    type_ = canonical(resource.type)
    for row in _REGISTRIES:
        if not re.fullmatch(row.types, type_):
            continue
        for image in dict.fromkeys(images_in(resource.inputs)):
            if not re.fullmatch(row.hosts, _host(image)):
                yield f"image {image} is refused: {row.takes}", row.instead


def _host(image: str) -> str:
    """The registry that an image names.

    >>> _host("quay.io/a/b:1"), _host("vllm/vllm-openai:v0.11.0"), _host("localhost:5000/a")
    ('quay.io', 'docker.io', 'localhost:5000')
    """
    host, slash, _ = image.partition("/")
    return host if slash and ("." in host or ":" in host or host == "localhost") else DOCKER_HUB


# Type of a deployment -> path of its SKU, path of its model.
DEPLOYMENTS: Final = {
    "azure-native:cognitiveservices:Deployment": (("sku",), ("properties", "model", "name")),
    "azure:cognitive/deployment:Deployment": (("sku",), ("model", "name")),
}


def of_units(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Units of throughput that Azure does not sell for a model."""
    if (type_ := canonical(resource.type)) not in DEPLOYMENTS:
        return
    at, of = DEPLOYMENTS[type_]
    kind, capacity, model = get(resource.inputs, *at, "name"), get(resource.inputs, *at, "capacity"), _UNITS.get(
        str(get(resource.inputs, *of))
    )  # fmt: skip
    if model is None or not isinstance(kind, str) or isinstance(capacity, Unknown | bool | None):
        return
    if not kind.endswith("ProvisionedManaged"):
        return
    regional = kind == "ProvisionedManaged"
    least, step = (model.regional_min, model.regional_step) if regional else (model.global_min, model.global_step)
    try:
        units = int(float(capacity))
    except (TypeError, ValueError):
        return
    if units < least or (units - least) % step:
        sells = f"{kind} of {model.model} has {least} units at least, and more in steps of {step}"
        nearest = max(least, least + -(-(units - least) // step) * step)
        yield f"capacity {units} is refused: {sells}", f"state capacity {nearest}"


BLOCK_SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
"""Machines of Azure's block (learn.microsoft.com/javascript/api/@azure/arm-compute/capacityreservation, 2026-11-27)."""
OFFERING: Final = "aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering"
RESERVATION: Final = "azure-native:compute:CapacityReservation"


def of_window(resource: RecordedResource, on: date) -> Iterator[tuple[str, str]]:
    """A block of capacity that is asked for too early, for a time that is not sold, or in another size."""
    type_, inputs = canonical(resource.type), resource.inputs
    if type_ == OFFERING:
        yield from _ahead(type_, "start_date_range", inputs.get("startDateRange"), on)
        yield from _ahead(type_, "end_date_range", inputs.get("endDateRange"), on, past_only=True)
        hours = inputs.get("capacityDurationHours")
        if isinstance(hours, int) and not _sold(hours):
            said = (
                f"capacity_duration_hours {hours} is not sold: blocks last whole days up to 14, or whole weeks up to 26"
            )
            yield said, f"state {min(max(24, -(-hours // 24) * 24), 336) if hours <= 336 else -(-hours // 168) * 168}"
        machines, most = inputs.get("instanceCount"), CLOUDS[cloud_of(type_)].capacity.block_nodes_max
        if isinstance(machines, int) and most is not None and not 1 <= machines <= most:
            yield f"instance_count {machines} is refused: a block has up to {most}", "ask for several blocks"
    elif type_ == RESERVATION and get(inputs, "scheduleProfile", "end") is not None:
        start, end = (_day(get(inputs, "scheduleProfile", key)) for key in ("start", "end"))
        yield from _ahead(type_, "the start of the block", get(inputs, "scheduleProfile", "start"), on)
        if start and end and not _sold(24 * (end - start).days):
            said = f"a block of {(end - start).days} days is not sold"
            yield f"{said}: it lasts whole days up to 14, or 3 to 26 whole weeks", "state another end"
        size = get(inputs, "sku", "capacity")
        if isinstance(size, int) and size not in BLOCK_SIZES:
            yield f"capacity {size} is refused: a block has {', '.join(map(str, BLOCK_SIZES))}", "take one of these"


def _ahead(type_: str, what: str, stated: Any, on: date, *, past_only: bool = False) -> Iterator[tuple[str, str]]:
    day, days = _day(stated), CLOUDS[cloud_of(type_)].capacity.block_days_ahead
    if day is None or days is None:
        return
    latest = on + timedelta(days=days)
    if day < on:
        yield f"{what} {day.isoformat()} is past", "name a day that is to come"
    elif day > latest and not past_only:
        said = f"{what} {day.isoformat()} is {(day - on).days} days ahead: blocks start within {days} days"
        yield said, f"name a day until {latest.isoformat()}, or ask again later"


def _sold(hours: int) -> bool:
    """Whether a block may last so long.

    >>> [_sold(hours) for hours in (24, 36, 336, 360, 504, 4368, 4536)]
    [True, False, True, False, True, True, False]
    """
    return hours % 24 == 0 and 24 <= hours <= 182 * 24 and (hours <= 336 or hours % 168 == 0)


def _day(stated: Any) -> date | None:
    try:
        when = datetime.fromisoformat(str(stated))
    except ValueError:
        return None
    return (when.astimezone(UTC) if when.tzinfo else when).date()


CLUSTER: Final = "aws:eks/cluster:Cluster"


def of_hyperpod(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Machines that are not SageMaker's, and an EKS cluster whose way of logging in HyperPod does not take
    (docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-prerequisites.html).
    """
    stated = _is_hyperpod(resource) and state_of(resource) is not UNKNOWN  # a component adds the prefix to its argument
    listed = groups(graph, resource) if stated else ()
    for group in () if isinstance(listed, Unknown) else listed:
        machine = get(group, "instanceType")
        if isinstance(machine, str) and not machine.startswith("ml."):
            yield f"instance type {machine} is no machine of SageMaker", f"name ml.{machine}"
    for cluster in _beneath(graph, resource):
        if get(cluster.inputs, "accessConfig", "authenticationMode", default="CONFIG_MAP") == "CONFIG_MAP":
            said = f"HyperPod refuses EKS cluster {cluster.name} with authentication mode CONFIG_MAP"
            yield (
                f"{said}, which is EKS's default",
                "set its access_config to authentication_mode API or API_AND_CONFIG_MAP",
            )


def of_hyperpod_version(graph: Graph, resource: RecordedResource, known: Lifetimes) -> Iterator[tuple[str, str]]:
    """An EKS cluster under HyperPod that is newer than it was known to take."""
    rows = list(known.versions("hyperpod").values())
    for cluster in _beneath(graph, resource) if rows else ():
        version = cluster.inputs.get("version")
        if isinstance(version, str) and number(minor(version)) > number(rows[-1].version):
            newest = rows[-1].version
            said = f"EKS {version} of {cluster.name} is newer than HyperPod takes, as was known on {rows[-1].checked}"
            yield f"{said}: {newest}", f"set its version to {newest}"


def _is_hyperpod(resource: RecordedResource) -> bool:
    type_ = canonical(resource.type)
    return type_ == NATIVE_HYPERPOD or (type_ == CLOUD_CONTROL and resource.inputs.get("typeName") == HYPERPOD)


def _beneath(graph: Graph, resource: RecordedResource) -> tuple[RecordedResource, ...]:
    """The EKS cluster on which a HyperPod cluster runs, where it is in the plan."""
    if not _is_hyperpod(resource):
        return ()
    link = "desiredState" if canonical(resource.type) == CLOUD_CONTROL else "orchestrator"
    clusters = graph.referenced(resource, link, CLUSTER)
    return clusters if isinstance(clusters, tuple) and len(clusters) == 1 else ()
