"""Places and machines that the spec excludes and that would do, found by sizing there: what is advised then works."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sizewell.sizing.choose.candidates import IN_A_CLUSTER, OTHER_MACHINES, OTHER_PLACES, Cause, Rejection
from sizewell.sizing.choose.choice import Sizing, size

if TYPE_CHECKING:
    from sizewell.sizing.choose.pricing import Option


def with_ways(sizing: Sizing, nearest: Iterable[Rejection]) -> list[Rejection]:
    """The rejections; those by place or by `resources` each with a place or a machine that does the work, if any."""
    known: dict[str, str] = {}

    def way(rejection: Rejection) -> str:
        if rejection.cause is Cause.REGION and rejection.relax:
            here = rejection.relax == OTHER_PLACES
            key = f"{'' if here else '+'}{rejection.cloud}"
            if key not in known:
                known[key] = (_other_regions if here else _other_cloud)(sizing, rejection.cloud)
            if known[key] or not sizing.need.names_hardware:
                return known[key]
        if rejection.relax == IN_A_CLUSTER:
            key = f"scheduler of {rejection.cloud}"
            if key not in known:
                known[key] = IN_A_CLUSTER if _sized(sizing, rejection.cloud, scheduler="kubernetes") else ""
            if known[key]:
                return known[key]
        if rejection.relax in (OTHER_MACHINES, IN_A_CLUSTER) or rejection.cause is Cause.REGION:
            if OTHER_MACHINES not in known:
                known[OTHER_MACHINES] = _other_machines(sizing)
            return known[OTHER_MACHINES]
        return rejection.relax

    return [replace(rejection, relax=way(rejection)) for rejection in nearest]


def _other_cloud(sizing: Sizing, cloud: str) -> str:
    return f"add {cloud} to infra" if _sized(sizing, cloud, places=((cloud, "", ""),)) else ""


def _other_regions(sizing: Sizing, cloud: str) -> str:
    """Regions of the same cloud; where none of the residency asked for does, one outside it."""
    anywhere = ((cloud, "", ""),)
    if option := _sized(sizing, cloud, places=anywhere):
        return f"add {cloud}/{option.deal.region} to infra"
    if sizing.need.residency and (option := _sized(sizing, cloud, places=anywhere, residency="")):
        return f"use {cloud}/{option.deal.region}, which is outside data.residency: {sizing.need.residency}"
    return ""


def _other_machines(sizing: Sizing) -> str:
    """The best machine with other numbers of the accelerators that are asked for, as they are on another cloud, and
    where nothing is asked for in `resources`.
    """
    need, ways = sizing.need, list[str]()
    numbers: dict[str, object] = {"nodes": None, "devices": None}
    if need.accelerators and (need.nodes or need.devices) and (option := _sized(sizing, None, **numbers)):
        count = option.fleet.nodes * option.candidate.shape.accelerators
        wanted = f"{{{option.candidate.shape.accelerator}: {count}}}"
        ways.append(f"use resources: {{accelerators: {wanted}}} ({option.instance_type} on {option.cloud})")
    if need.accelerators and need.places and (option := _sized(sizing, None, places=())):
        ways.append(f"add {option.cloud} to infra ({option.instance_type})")
    free = {**numbers, "accelerators": None, "instance_types": frozenset(), "tpu": None}
    option = _sized(sizing, None, **free, memory_bytes_min=0, memory_bytes_max=None)
    if option is not None:
        ways.append(f"widen resources, such as resources: {{instance_type: {option.instance_type}}} on {option.cloud}")
    return ", or ".join(ways)


def _sized(sizing: Sizing, cloud: str | None, **changed: object) -> Option | None:
    """The best option of a cloud that components build, under requirements of which some are changed."""
    need = replace(sizing.need, **changed)  # type: ignore[arg-type]  # fields of it
    return size(sizing.spec, replace(sizing.setting, need=need)).best(cloud)
