"""What Azure says of its stock: restrictions of sizes, spot placement scores, reservations, quotas.

Of on-demand machines it publishes nothing but restrictions. Scores are High, Medium or Low for a size in a zone, where
Azure has fresh data (learn.microsoft.com/azure/virtual-machine-scale-sets/spot-placement-score).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

from sizewell.clouds.azure import Azure
from sizewell.clouds.preflight import azure as preflight
from sizewell.clouds.preflight.needs import Machines, Needs
from sizewell.clouds.stock.quotas import Said, beyond, quota_questions
from sizewell.clouds.stock.rows import (
    ANYWHERE,
    Answers,
    Place,
    Question,
    Row,
    State,
    of,
    only,
    place,
    reserved,
    silent,
)

SOLD: Final = "Microsoft.Compute/skus"
SCORES: Final = "Microsoft.Compute/locations/placementScores"
RESERVATIONS: Final = "Microsoft.Compute/capacityReservationGroups"
SOURCES: Final = {
    SOLD: (f"{SOLD}/read",),
    SCORES: (f"{SCORES}/generate/action",),  # the role Compute Recommendations Role has it alone
    RESERVATIONS: (f"{RESERVATIONS}/read", f"{RESERVATIONS}/capacityReservations/read"),
    "quotas": ("Microsoft.Compute/locations/usages/read",),
}
SCORES_API: Final = "2025-06-05"
SIZES_SCORED: Final = 5  # in one call
STATES: Final[dict[str, State]] = {"High": "likely", "Medium": "uncertain", "Low": "unlikely"}
WORDS: Final = {
    "DataNotFoundOrStale": "Azure has no fresh data of this size here",
    "RestrictedSkuNotAvailable": "Azure scores no size that is restricted for the subscription",
}
Batch = tuple[tuple[str, ...], int, bool]  # of a call for scores: sizes, how many machines, zone by zone


def account(needs: Needs, _azure: Azure) -> str:
    return preflight.subscription_of(needs)


def questions(needs: Needs, azure: Azure, subscription: str) -> dict[str, Question]:
    at = f"subscriptions/{subscription}"
    asked: dict[str, Question] = {}
    for region in needs.regions:
        sizes = partial(_sizes, azure, at, region, _kinds(needs, region))
        asked[_sold_name(needs, region)] = Question(SOLD, SOURCES[SOLD], sizes)
    for machines in needs.machines:
        if machines.reservation:
            group = partial(_reservation, azure, machines)
            asked[_reservation_name(machines)] = Question(RESERVATIONS, SOURCES[RESERVATIONS], group)
    return asked


def further(needs: Needs, azure: Azure, subscription: str, got: Answers) -> dict[str, Question]:
    at = f"subscriptions/{subscription}"

    def quotas(region: str, local: list[Machines]) -> Said:
        sizes = got[_sold_name(needs, region)].data or {}
        return preflight.quotas(region, local, sizes, preflight.usage_of(azure, at, region))

    asked = quota_questions(needs, SOURCES["quotas"], quotas)
    for region in needs.regions:
        for batch in _batches(needs, region, got):
            scores = partial(_scores, azure, at, region, batch)
            asked[_scores_name(region, batch)] = Question(SCORES, SOURCES[SCORES], scores)
    return asked


def _kinds(needs: Needs, region: str) -> list[str]:
    return sorted({each.instance_type for each in needs.machines if each.region == region})


def _sold_name(needs: Needs, region: str) -> str:
    return f"sizes of {region}: {', '.join(_kinds(needs, region))}"


def _scores_name(region: str, batch: Batch) -> str:
    return f"scores in {region} of {batch}"


def _reservation_name(machines: Machines) -> str:
    return f"reservation {machines.reservation} for {machines.now} {machines.instance_type} in {machines.zones}"


def _batches(needs: Needs, region: str, got: Answers) -> list[Batch]:
    sizes = got[_sold_name(needs, region)].data or {}
    alike: dict[tuple[int, bool], set[str]] = {}
    for machines in needs.machines:
        size = sizes.get(machines.instance_type)
        if machines.region == region and machines.market == "spot" and not machines.reservation and size is not None:
            zonal = bool(preflight.open_zones(size)[0])
            alike.setdefault((machines.now, zonal), set()).add(machines.instance_type)
    return [
        (tuple(sorted(kinds)[start : start + SIZES_SCORED]), number, zonal)
        for (number, zonal), kinds in sorted(alike.items())
        for start in range(0, len(kinds), SIZES_SCORED)
    ]


def _sizes(azure: Azure, at: str, region: str, kinds: list[str]) -> dict[str, Any]:
    kept = ("name", "family", "locationInfo", "restrictions", "capabilities")
    rows = preflight.sizes_of(azure, at, region)
    for kind in rows.keys() & set(kinds):
        preflight.open_zones(rows[kind])  # whether it is in the documented form
    return {kind: {key: rows[kind].get(key) for key in kept} for kind in kinds if kind in rows}


def _scores(azure: Azure, at: str, region: str, batch: Batch) -> dict[str, dict[str, Any]]:
    """By size and zone: the score, and whether the quota suffices."""
    kinds, number, zonal = batch
    body = {"desiredLocations": [region], "desiredSizes": [{"sku": kind} for kind in kinds], "desiredCount": number}
    path = f"{at}/providers/Microsoft.Compute/locations/{region}/placementScores/spot/generate"
    answer = azure.reader().query(path, {**body, "availabilityZones": zonal}, **{"api-version": SCORES_API})
    scores: dict[str, dict[str, Any]] = {kind: {} for kind in kinds}
    for row in answer.get("placementScores") or ():
        only([region], str(row.get("region", "")).replace(" ", "").lower(), "azure")
        only(kinds, row.get("sku"), "azure")
        scores[row["sku"]][str(row.get("availabilityZone") or "")] = (
            str(row.get("score")),
            row.get("isQuotaAvailable"),
        )
    return scores


def _reservation(azure: Azure, machines: Machines) -> dict[str, Place]:
    """What the group is in each of its zones, "" where its machines are in none; how many are in use is not asked."""
    group, members = preflight.reservations_in(azure, machines.reservation)
    anywhere = replace(machines, count=machines.now, zones=())
    zones = [tuple(row.get("zones") or [""]) for row in members if row["sku"]["name"] == machines.instance_type]
    by_zone = {zone: [row for row in members if zone in (row.get("zones") or [""])] for each in zones for zone in each}
    if not by_zone:
        return {ANYWHERE: place(preflight.reserved(anywhere, group, members), None)}
    return {zone: place(preflight.reserved(anywhere, group, rows), None) for zone, rows in by_zone.items()}


def rows(machines: Machines, needs: Needs, got: Answers) -> list[Row]:
    sold = got[_sold_name(needs, machines.region)]
    zones = [zone.removeprefix(f"{machines.region}-") for zone in machines.zones]
    if sold.error is not None:
        return [silent(machines, "azure", zone, sold) for zone in zones or [""]]
    size = sold.data.get(machines.instance_type)
    if size is None:
        fix = "size again with another region in infra"
        return [of(machines, "azure", "", "unavailable", "not sold in the region", sold, fix=fix)]
    there, closed = preflight.open_zones(size)
    if "" in closed:
        detail = f"restricted for the subscription in the region: {closed['']}"
        return [of(machines, "azure", "", "unavailable", detail, sold, fix=preflight.RESTRICTED)]
    made = []
    held = got[_reservation_name(machines)].data if machines.reservation else None
    regional = held is not None and "" in held and not zones  # a reservation of the region, and in none of its zones
    for zone in zones or ([] if regional else sorted(there | closed.keys())) or [""]:
        if zone in there or not zone:
            made.append(_row(machines, zone, needs, got))
            continue
        why = f"restricted for the subscription: {closed[zone]}" if zone in closed else "not sold in this zone"
        fix = f"use a zone that has it: {', '.join(sorted(there))}" if there else preflight.RESTRICTED
        made.append(of(machines, "azure", zone, "unavailable", why, sold, fix=fix))
    return beyond(made, machines, needs, got)


def _row(machines: Machines, zone: str, needs: Needs, got: Answers) -> Row:
    if machines.reservation:
        said = got[_reservation_name(machines)]
        row = reserved(machines, "azure", zone, said, own=bool(needs.stack), holds="uncertain")
        return replace(row, detail=f"{row.detail}, if nobody else uses it") if row.state == "uncertain" else row
    if machines.market != "spot":
        detail = f"sold here without restriction; Azure publishes no stock of {machines.market} machines"
        return of(machines, "azure", zone, "unknown", detail, got[_sold_name(needs, machines.region)])
    kind, batches = machines.instance_type, _batches(needs, machines.region, got)
    batch = next(each for each in batches if kind in each[0] and each[1] == machines.now)
    said = got[_scores_name(machines.region, batch)]
    if said.error is not None:
        return silent(machines, "azure", zone, said)
    score, quota = said.data[kind].get(zone, ("", None))
    if quota is False:
        fix = f"raise lowPriorityCores in the portal: Quotas, Compute, {machines.region}"
        return of(machines, "azure", zone, "unavailable", "beyond the quota of spot cores", said, fix=fix)
    if score not in STATES:
        return of(machines, "azure", zone, "unknown", WORDS.get(score, "Azure gives no score here"), said)
    return of(machines, "azure", zone, STATES[score], f"placement score {score}", said)
