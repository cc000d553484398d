"""What Google says of its stock: capacity advice for spot, the calendar of reservations, reservations, quotas.

`advice.capacity` (Compute v1) scores spot machines alone, no TPUs. Its score is of the request as a whole, so that each
zone is asked by itself: a regional score is that of the zone which Google would choose. `advice.calendarMode` says from
when machines can be reserved for days, which is not whether they can be had now. Of on-demand and flex-start machines
Google publishes nothing (cloud.google.com/compute/docs/instances/view-vm-availability).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.clouds.gcp import Google
from sizewell.clouds.preflight import gcp as preflight
from sizewell.clouds.preflight.needs import Machines, Needs
from sizewell.clouds.stock.quotas import beyond, quota_questions
from sizewell.clouds.stock.rows import (
    Answers,
    Got,
    Place,
    Question,
    Row,
    State,
    of,
    only,
    place,
    reserved,
    silent,
    within,
)

SOLD: Final = "compute.machineTypes.aggregatedList"
ADVICE: Final = "compute.advice.capacity"
CALENDAR: Final = "compute.advice.calendarMode"
RESERVATIONS: Final = "compute.reservations.get"
SOURCES: Final = {
    SOLD: ("compute.machineTypes.list",),
    ADVICE: (ADVICE,),
    CALENDAR: (CALENDAR,),
    RESERVATIONS: (RESERVATIONS,),
    "quotas": ("compute.regions.get", "compute.projects.get"),
}
# Google's own bands: high from 0.7, medium from 0.4.
LIKELY, UNCERTAIN = 0.7, 0.4
RESERVED_S: Final = 86_400  # the shortest that the calendar reserves
_SPEC: Final = "pool"
_STATUS: Final = {
    "NO_CAPACITY": "its calendar has no day left",
    "NOT_SUPPORTED": "its calendar does not have them",
    "": "its calendar says nothing of this zone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuFamily:
    """A row of tpu_families.csv: how the calendar calls machines with a TPU, which it reserves in chips."""

    accelerator: str  # the catalog's key
    family: str
    source: str


TPU_FAMILIES: Final[Mapping[str, TpuFamily]] = {
    row.accelerator: row for row in csvtables.read(TpuFamily, Path(__file__).parent / "data/tpu_families.csv")
}


def account(needs: Needs, _google: Google) -> str:
    return preflight.project_of(needs)


def questions(needs: Needs, google: Google, project: str) -> dict[str, Question]:
    asked = quota_questions(needs, SOURCES["quotas"], partial(preflight.quotas, google, project))
    for machines in needs.machines:
        selling = partial(preflight.zones_selling, google, project, machines.instance_type)
        asked[f"zones of {machines.instance_type}"] = Question(SOLD, SOURCES[SOLD], selling)
        if machines.accelerators and not machines.reservation and machines.market != "spot":
            calendar = partial(_calendar, google, project, machines)
            asked[_calendar_name(machines)] = Question(CALENDAR, SOURCES[CALENDAR], calendar)
    return asked


def further(needs: Needs, google: Google, project: str, got: Answers) -> dict[str, Question]:
    asked: dict[str, Question] = {}
    for machines in needs.machines:
        scored = machines.market == "spot" and TPU_FAMILIES.get(machines.accelerator) is None
        source, ask = (RESERVATIONS, _reservation) if machines.reservation else (ADVICE, _advice)
        for zone in _zones_of(machines, got) if scored or machines.reservation else ():
            asked[_about(machines, zone)] = Question(
                source, SOURCES[source], partial(ask, google, project, machines, zone)
            )
    return asked


def _zones_of(machines: Machines, got: Answers) -> list[str]:
    """The zones of a pool's own that sell its machines, else all of its region; its own without an answer."""
    sold = got[f"zones of {machines.instance_type}"]
    local = [zone for zone in sold.data or () if zone.rpartition("-")[0] == machines.region]
    return [zone for zone in machines.zones if zone in local or sold.error is not None] if machines.zones else local


def _workload(machines: Machines) -> str:
    return "SERVING" if machines.use == "serving" else "BATCH"


def _calendar_name(machines: Machines) -> str:
    return f"calendar of {machines.now} {machines.instance_type} in {machines.region}, {_workload(machines)}"


def _about(machines: Machines, zone: str) -> str:
    return f"{machines.reservation or machines.market} for {machines.now} {machines.instance_type} in {zone}"


def _advice(google: Google, project: str, machines: Machines, zone: str) -> dict[str, Any]:
    """Score and expected uptime of spot machines in one zone; CloudError where it is another's."""
    kind = machines.instance_type
    answer = google.reader("compute").query(
        f"compute/v1/projects/{project}/regions/{machines.region}/advice/capacity",
        {
            "distributionPolicy": {"targetShape": "ANY_SINGLE_ZONE", "zones": [{"zone": f"zones/{zone}"}]},
            "instanceFlexibilityPolicy": {"instanceSelections": {_SPEC: {"machineTypes": [kind]}}},
            "instanceProperties": {"scheduling": {"provisioningModel": "SPOT"}},
            "size": machines.now,
        },
    )
    advised: dict[str, Any] = dict((answer.get("recommendations") or [{}])[0])
    shards = advised.get("shards") or ()
    for shard in shards:
        only([kind], str(shard.get("machineType", kind)).rpartition("/")[2], "compute")
        only([zone], str(shard.get("zone", zone)).rpartition("/")[2], "compute")
        only(["SPOT"], shard.get("provisioningModel", "SPOT"), "compute")
    counted = [int(shard["instanceCount"]) for shard in shards if "instanceCount" in shard]
    only([machines.now], sum(counted) if counted else machines.now, "compute")
    scores = dict(advised.get("scores") or {})
    if "obtainability" in scores:
        within(scores["obtainability"], 0, 1, "compute")
    return scores


def _calendar(google: Google, project: str, machines: Machines) -> dict[str, tuple[str, str]]:
    """By zone: its status, and from when the machines could be reserved for a day, "" where they cannot."""
    target: dict[str, Any] = {
        "specificSkuResources": {"machineType": machines.instance_type, "instanceCount": str(machines.now)}
    }
    if tpu := TPU_FAMILIES.get(machines.accelerator):
        chips = {"vmFamily": tpu.family, "acceleratorCount": str(machines.now * machines.accelerators)}
        target = {"aggregateResources": {**chips, "workloadType": _workload(machines)}}
    span = {"minDuration": f"{RESERVED_S}s", "maxDuration": f"{RESERVED_S}s"}
    answer = google.reader("compute").query(
        f"compute/v1/projects/{project}/regions/{machines.region}/advice/calendarMode",
        {"futureResourcesSpecs": {_SPEC: {"targetResources": target, "timeRangeSpec": span}}},
    )
    zones: dict[str, tuple[str, str]] = {}
    for advised in answer.get("recommendations") or ():
        for spec, row in (advised.get("recommendationsPerSpec") or {}).items():
            only([_SPEC], spec, "compute")
            for elsewhere, other in (row.get("otherLocations") or {}).items():
                zones.setdefault(elsewhere.removeprefix("zones/"), (str(other.get("status")), ""))
            if row.get("location"):
                zones[str(row["location"]).removeprefix("zones/")] = ("RECOMMENDED", str(row.get("startTime", "")))
    return zones


def _reservation(google: Google, project: str, machines: Machines, zone: str) -> dict[str, Place]:
    row = preflight.reservation_in(google, project, machines.reservation, zone)
    free = preflight.free_in(row) if "specificReservation" in row else None
    return {zone: place(preflight.reserved(replace(machines, count=0), zone, row), free)}


def rows(machines: Machines, needs: Needs, got: Answers) -> list[Row]:
    sold = got[f"zones of {machines.instance_type}"]
    if sold.error is not None and not machines.zones:
        return [silent(machines, "gcp", "", sold)]
    return beyond(list(_rows(machines, sold, got, own=bool(needs.stack))), machines, needs, got)


def _rows(machines: Machines, sold: Got, got: Answers, *, own: bool) -> Iterator[Row]:
    there = _zones_of(machines, got)
    for zone in machines.zones or there or [""]:
        said = got.get(_about(machines, zone))
        if zone not in there:
            local = [each for each in sold.data if each.rpartition("-")[0] == machines.region]
            where = ", ".join(local or sold.data[:5])
            fix = f"use a zone that sells it: {where}" if where else "name another machine type, or project"
            detail = "not sold in this zone" if zone else "sold in no zone of the region"
            yield of(machines, "gcp", zone, "unavailable", detail, sold, fix=fix)
        elif said is not None:
            yield _said(machines, zone, said, own=own)
        elif sold.error is not None:
            yield silent(machines, "gcp", zone, sold)
        else:
            yield _unpublished(machines, zone, sold, got.get(_calendar_name(machines)))


def _said(machines: Machines, zone: str, said: Got, *, own: bool) -> Row:
    if machines.reservation:
        return reserved(machines, "gcp", zone, said, own=own)
    if said.error is not None:
        return silent(machines, "gcp", zone, said)
    score = said.data.get("obtainability")
    if score is None:
        return of(machines, "gcp", zone, "unknown", "Google gives this zone no score", said)
    found: State = "likely" if score >= LIKELY else "uncertain" if score >= UNCERTAIN else "unlikely"
    uptime = str(said.data.get("estimatedUptime", "")).removesuffix("s")
    minutes = f", most run for {float(uptime) / 60:.0f} minutes or more" if uptime.isdigit() else ""
    return of(machines, "gcp", zone, found, f"obtainability {score:g} of 1{minutes}", said)


def _unpublished(machines: Machines, zone: str, sold: Got, said: Got | None) -> Row:
    """Nothing says whether it can be had now; the calendar from when it can be reserved, where it is asked."""
    what = f"sold here; Google publishes no stock of {machines.market} machines"
    if machines.market == "spot":
        what = "sold here; Google's capacity advice has no TPUs"
    row = of(machines, "gcp", zone, "unknown", what, sold, *([said] if said else []))
    if said is None:
        return row
    if said.error is not None:
        told = silent(machines, "gcp", zone, said)
        return replace(row, detail=f"{what}; its calendar: {told.detail}", fix=told.fix)
    status, start = said.data.get(zone, ("", ""))
    told_by = f"a day of it can be reserved from {start}" if start else _STATUS.get(status, f"its calendar: {status}")
    return replace(row, detail=f"{what}; {told_by}", reservable_from=start)
