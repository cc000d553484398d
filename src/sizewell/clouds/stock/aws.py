"""What EC2 says of its stock: zones that sell a type, spot placement scores, capacity blocks, reservations, quotas.

Of on-demand machines it publishes nothing. Scores are from 1 to 10 for one request in one zone, always low for fewer
than three types, so that those are not asked (docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError
from sizewell.clouds.preflight import aws as preflight
from sizewell.clouds.preflight.needs import Machines, Needs
from sizewell.clouds.stock.quotas import beyond, quota_questions
from sizewell.clouds.stock.rows import (
    ANYWHERE,
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

SOLD: Final = "ec2:DescribeInstanceTypeOfferings"
SCORES: Final = "ec2:GetSpotPlacementScores"
BLOCKS: Final = "ec2:DescribeCapacityBlockOfferings"
RESERVATIONS: Final = "ec2:DescribeCapacityReservations"
SOURCES: Final = {
    SOLD: (SOLD, "ec2:DescribeAvailabilityZones"),
    SCORES: (SCORES,),
    BLOCKS: (BLOCKS,),
    RESERVATIONS: (RESERVATIONS,),
    "quotas": ("servicequotas:GetServiceQuota", "ec2:DescribeInstances"),
}
TYPES_SCORED: Final = 3  # with fewer the score is low, whatever there is
# The bands are ours: EC2 says that 10 is highly likely and 1 not likely.
LIKELY, UNCERTAIN = 8, 4


def account(needs: Needs, aws: Aws) -> str:
    caller = str(aws.call("sts", needs.regions[0], "get_caller_identity")["Account"])
    if needs.accounts and caller not in needs.accounts:
        detail = f"logged in to {caller}; the stack is limited to {', '.join(needs.accounts)}"
        raise CloudError("aws", "refused", detail, fix="log in to that account")
    return caller


def questions(needs: Needs, aws: Aws, _account: str) -> dict[str, Question]:
    asked = quota_questions(needs, SOURCES["quotas"], partial(preflight.quotas, needs, aws))
    for region in needs.regions:
        kinds = _kinds(needs, region)
        asked[_sold_name(needs, region)] = Question(SOLD, SOURCES[SOLD], partial(_zones, aws, region, kinds))
        for service in ("ec2", "service-quotas"):
            aws.client(service, region)  # boto3 makes clients in one thread at a time
    for machines in needs.machines:
        source, ask = _asked(machines)
        if ask is not None:
            asked[_about(machines)] = Question(source, SOURCES[source], partial(ask, machines, aws))
    return asked


def further(_needs: Needs, _aws: Aws, _account: str, _got: Answers) -> dict[str, Question]:
    return {}


def _asked(machines: Machines) -> tuple[str, Any]:
    """What has an answer for a pool's market, and how it is asked; ("", None) where EC2 publishes none."""
    if machines.reservation:
        return RESERVATIONS, _reservation
    if machines.block_hours:
        return BLOCKS, _blocks
    return (SCORES, _scores) if len(machines.kinds) >= TYPES_SCORED else ("", None)


def _about(machines: Machines) -> str:
    kinds, block = ", ".join(machines.kinds or [machines.instance_type]), f"{machines.block_hours} h"
    what = f"{machines.reservation or machines.market} for {machines.now} of {kinds} in {machines.region}"
    return f"{what} {machines.zones}, {block} from {machines.block_start or 'the earliest'}"


def _kinds(needs: Needs, region: str) -> list[str]:
    local = (each for each in needs.machines if each.region == region)
    return sorted({kind for machines in local for kind in (machines.instance_type, *machines.kinds)})


def _sold_name(needs: Needs, region: str) -> str:
    return f"zones of {region} that sell {', '.join(_kinds(needs, region))}"


def _zones(aws: Aws, region: str, kinds: list[str]) -> dict[str, Any]:
    """Ids of the region's zones by name, and the names of those that sell each type."""
    listed = aws.call("ec2", region, "describe_availability_zones")["AvailabilityZones"]
    ids = {zone["ZoneName"]: zone["ZoneId"] for zone in listed}
    offered: dict[str, list[str]] = {kind: [] for kind in kinds}
    asked = {"LocationType": "availability-zone", "Filters": [{"Name": "instance-type", "Values": kinds}]}
    for row in aws.pages("ec2", region, "describe_instance_type_offerings", "InstanceTypeOfferings", **asked):
        only(kinds, row["InstanceType"], "ec2")
        if row["Location"] in ids:  # not in a local zone that the account has not opted in to
            offered[row["InstanceType"]].append(row["Location"])
        elif not row["Location"].startswith(region):
            only([region], row["Location"], "ec2")
    return {"ids": ids, "offered": offered}


def _scores(machines: Machines, aws: Aws) -> dict[str, int]:
    """The score of each zone, by its id."""
    asked = {"InstanceTypes": list(machines.kinds), "TargetCapacity": machines.now, "SingleAvailabilityZone": True}
    asked |= {"RegionNames": [machines.region]}
    scores = {}
    for row in aws.pages("ec2", machines.region, "get_spot_placement_scores", "SpotPlacementScores", **asked):
        only([machines.region], row.get("Region", machines.region), "ec2")
        within(row["Score"], 1, 10, "ec2")
        scores[row["AvailabilityZoneId"]] = row["Score"]
    return scores


def _blocks(machines: Machines, aws: Aws) -> list[dict[str, str]]:
    """The offerings, earliest first."""
    asked: dict[str, Any] = {"InstanceType": machines.instance_type, "InstanceCount": machines.now}
    asked["CapacityDurationHours"] = machines.block_hours
    if machines.block_start:
        start = datetime.fromisoformat(machines.block_start)
        asked["StartDateRange"] = start if start.tzinfo else start.replace(tzinfo=UTC)
    rows = [*aws.pages("ec2", machines.region, "describe_capacity_block_offerings", "CapacityBlockOfferings", **asked)]
    for row in rows:
        only([machines.instance_type], row["InstanceType"], "ec2")
        only([machines.now], row.get("InstanceCount", machines.now), "ec2")
        only([machines.block_hours], row.get("CapacityBlockDurationHours", machines.block_hours), "ec2")
    return [
        {
            "zone": row.get("AvailabilityZone", ""),
            "start": f"{row['StartDate']:%Y-%m-%dT%H:%MZ}",
            "fee": f"{float(row['UpfrontFee']):,.2f} {row['CurrencyCode']}",
        }
        for row in sorted(rows, key=lambda row: row["StartDate"])
    ]


def _reservation(machines: Machines, aws: Aws) -> dict[str, Place]:
    """What the reservation is in its zone, by the zone's name and its id."""
    anywhere, now = replace(machines, count=machines.now, zones=()), datetime.now(UTC)
    if not machines.reservation.startswith("cr-"):
        return {ANYWHERE: place(preflight.reservations(aws, machines.region, [anywhere], now), None)}
    row = preflight.reservation(aws, machines.region, machines.reservation)
    named = [row[key] for key in ("AvailabilityZone", "AvailabilityZoneId") if row.get(key)]
    only([machines.reservation], row.get("CapacityReservationId", machines.reservation), "ec2")
    begun = row and row["State"] != "scheduled"  # until then none is free, and it is told that it is scheduled
    found = place(preflight.reserved("", anywhere, row, now), row["AvailableInstanceCount"] if begun else None)
    return dict.fromkeys(named or [ANYWHERE], found)


def rows(machines: Machines, needs: Needs, got: Answers) -> list[Row]:
    sold = got[_sold_name(needs, machines.region)]
    if sold.error is not None:
        return [silent(machines, "aws", zone, sold) for zone in machines.zones or ("",)]
    by_id = {zone_id: name for name, zone_id in sold.data["ids"].items()}
    offered = {zone for kind in machines.kinds or (machines.instance_type,) for zone in sold.data["offered"][kind]}
    made = []
    for zone in [by_id.get(zone, zone) for zone in machines.zones] or sorted(offered) or [""]:
        if zone in offered:
            made.append(_row(machines, zone, sold, got.get(_about(machines)), own=bool(needs.stack)))
            continue
        where = f"use a zone that sells it: {', '.join(sorted(offered))}"
        detail = "not sold in this zone" if offered else "sold in no zone of the region"
        fix = where if offered else "size again with another region in infra"
        made.append(of(machines, "aws", zone, "unavailable", detail, sold, fix=fix))
    return beyond(made, machines, needs, got)


def _row(machines: Machines, zone: str, sold: Got, said: Got | None, *, own: bool) -> Row:
    if said is None:
        detail = f"sold here; EC2 publishes no stock of {machines.market} machines"
        if machines.market == "spot":
            detail = f"sold here; EC2 gives fewer than {TYPES_SCORED} types a low score, whatever there is: not asked"
        return of(machines, "aws", zone, "unknown", detail, sold)
    if said.error is not None:
        row = silent(machines, "aws", zone, said)
        limit = said.error.code == "MaxConfigLimitExceeded"
        fix = "ask again in a day: until then EC2 scores only what was asked within 24 hours"
        return replace(row, fix=fix) if limit else row
    if machines.reservation:
        return _reserved(machines, zone, sold, said, own=own)
    if machines.block_hours:
        return _offered(machines, zone, said)
    score = said.data.get(sold.data["ids"].get(zone))
    if score is None:
        return of(machines, "aws", zone, "unknown", "EC2 gives this zone no score", said)
    state: State = "likely" if score >= LIKELY else "uncertain" if score >= UNCERTAIN else "unlikely"
    return of(machines, "aws", zone, state, f"score {score} of 10 for {', '.join(machines.kinds)}", said)


def _offered(machines: Machines, zone: str, said: Got) -> Row:
    first = next((each for each in said.data if each["zone"] == zone), None)
    if first is None:
        fix = "state another start or duration in capacity.block, or another region"
        detail = f"no capacity block of {machines.block_hours} h is offered"
        return of(machines, "aws", zone, "unavailable", detail, said, fix=fix)
    detail = f"a capacity block of {machines.block_hours} h from {first['start']} for {first['fee']}"
    return replace(of(machines, "aws", zone, "available", detail, said), reservable_from=first["start"])


def _reserved(machines: Machines, zone: str, sold: Got, said: Got, *, own: bool) -> Row:
    """By the zone's name: an answer may have its id alone."""
    names = {zone_id: name for name, zone_id in sold.data["ids"].items()}
    said = replace(said, data={names.get(key, key): held for key, held in said.data.items()})
    return reserved(machines, "aws", zone, said, own=own)
