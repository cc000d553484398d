"""What clouds say of their stock: each answer and each form of error is the row that a person reads.

Nothing here was recorded of an account. Answers are made by the published schemas: EC2's by botocore's model, against
which each is validated; Google's by the discovery document of compute v1, revision 20261106 (`advice.capacity`,
`advice.calendarMode`, `machineTypes`); Azure's by azure-mgmt-computerecommender 1.0.0b3 (`PlacementScore`) and the SKU
and usage lists that doctor reads. Errors are in the forms of botocore, google.rpc.Status and Azure Resource Manager.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from sizewell.clouds.calls import Timeouts
from sizewell.clouds.preflight.needs import Machines
from sizewell.clouds.stock.asking import KEPT_S, Kept, stock
from sizewell.clouds.stock.rows import Row, best
from tests.clouds.preflight_needs import machines, needs
from tests.clouds.rest_server import Reply, Server
from tests.clouds.test_preflight_aws import ACCOUNT, answered, refused, reservation, zone  # noqa: F401 - a fixture
from tests.clouds.test_preflight_gcp import error

FAST = Timeouts(attempts=1)
G6 = {"instance_type": "g6.12xlarge", "zones": (), "quota": "L-3819A6DF", "vcpus": 48, "accelerators": 4}
FLEET = {**G6, "market": "spot", "kinds": ("g6.12xlarge", "g5.12xlarge", "g6e.12xlarge"), "now": 2}


def aws_rows(*pools: Machines, **more: Any) -> list[Row]:
    return stock(needs("aws", ACCOUNT, pools or (machines(**FLEET),)), timeouts=FAST, **more)


def ec2(**changed: Any) -> dict[tuple[str, str], Any]:
    """A region of three zones that sell every type that is asked for, but for the last zone."""

    def offered(asked: dict[str, Any]) -> dict[str, Any]:
        (named,) = asked["Filters"]
        rows = [(kind, place) for kind in named["Values"] for place in ("us-east-1a", "us-east-1b")]
        listed = [
            {"InstanceType": k, "LocationType": asked["LocationType"], "Location": f"{place}"} for k, place in rows
        ]
        return {"InstanceTypeOfferings": listed}

    names = [("us-east-1a", "use1-az4"), ("us-east-1b", "use1-az6"), ("us-east-1c", "use1-az1")]
    answers = {
        "GetCallerIdentity": {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/deployer"},
        "DescribeAvailabilityZones": {"AvailabilityZones": [zone(*each) for each in names]},
        "DescribeInstanceTypeOfferings": offered,
        "GetSpotPlacementScores": {
            "SpotPlacementScores": [
                {"Region": "us-east-1", "AvailabilityZoneId": "use1-az6", "Score": 9},
                {"Region": "us-east-1", "AvailabilityZoneId": "use1-az4", "Score": 3},
            ]
        },
        "GetServiceQuota": {"Quota": {"QuotaName": "All G and VT Spot Instance Requests", "Value": 768.0}},
        "DescribeInstances": {"Reservations": []},
        **changed,
    }
    service = {"GetCallerIdentity": "sts", "GetServiceQuota": "service-quotas"}
    return {(service.get(name, "ec2"), name): answer for name, answer in answers.items()}


def shown(rows: list[Row]) -> list[tuple[str, str]]:
    return [(row.zone, row.state) for row in rows]


def test_ec2_scores_each_zone_of_a_fleet(answered):  # noqa: F811
    asked = answered(ec2())
    rows = aws_rows()
    assert shown(rows) == [("us-east-1a", "unlikely"), ("us-east-1b", "likely")]
    assert best(rows).detail == "score 9 of 10 for g6.12xlarge, g5.12xlarge, g6e.12xlarge"
    assert {row.sources for row in rows} == {("ec2:GetSpotPlacementScores",)}
    assert all(row.asked_at.endswith("Z") and row.machines == 2 for row in rows)
    assert asked.count(("ec2", "GetSpotPlacementScores")) == 1


@pytest.mark.parametrize("score", [0, 11, -1])
def test_a_score_off_its_scale_is_unknown(answered, score):  # noqa: F811
    row = {"Region": "us-east-1", "AvailabilityZoneId": "use1-az6", "Score": score}
    answered(ec2(GetSpotPlacementScores={"SpotPlacementScores": [row]}))
    rows = aws_rows()
    assert {row.state for row in rows} == {"unknown"}
    assert f"scores {score}, and its scale is 1 to 10" in rows[0].detail


def test_the_score_is_asked_for_the_machines_that_begin_in_one_zone_of_one_region(answered):  # noqa: F811
    sent = []
    answered(ec2(GetSpotPlacementScores=lambda asked: sent.append(asked) or {"SpotPlacementScores": []}))
    assert shown(aws_rows()) == [("us-east-1a", "unknown"), ("us-east-1b", "unknown")]
    assert sent == [
        {
            "InstanceTypes": ["g6.12xlarge", "g5.12xlarge", "g6e.12xlarge"],
            "TargetCapacity": 2,
            "SingleAvailabilityZone": True,
            "RegionNames": ["us-east-1"],
        }
    ]


def test_fewer_than_three_types_are_not_scored_as_their_score_says_nothing(answered):  # noqa: F811
    asked = answered(ec2())
    rows = aws_rows(machines(**{**FLEET, "kinds": ("g6.12xlarge",)}))
    assert {row.state for row in rows} == {"unknown"}
    assert "fewer than 3 types" in rows[0].detail
    assert ("ec2", "GetSpotPlacementScores") not in asked


def test_ec2_publishes_no_stock_of_on_demand_machines(answered):  # noqa: F811
    answered(ec2())
    rows = aws_rows(machines(**{**G6, "zones": ("use1-az6",)}))
    assert shown(rows) == [("us-east-1b", "unknown")]
    assert rows[0].detail == "sold here; EC2 publishes no stock of on-demand machines"
    assert not rows[0].failed


@pytest.mark.parametrize(
    ("zones", "offered", "told"),
    [
        ((), {"InstanceTypeOfferings": []}, [("", "unavailable", "size again with another region in infra")]),
        (("us-east-1c",), None, [("us-east-1c", "unavailable", "use a zone that sells it: us-east-1a, us-east-1b")]),
    ],
)
def test_a_place_that_does_not_sell_the_type(answered, zones, offered, told):  # noqa: F811
    answered(ec2(**({"DescribeInstanceTypeOfferings": offered} if offered else {})))
    rows = aws_rows(machines(**{**G6, "zones": zones}))
    assert [(row.zone, row.state, row.fix) for row in rows] == told


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("us-east-1-bos-1a", [("us-east-1a", "unknown"), ("us-east-1b", "unknown")]),  # not opted in to
        ("eu-west-1a", [("", "unknown")]),
    ],
)
def test_zones_that_are_not_the_account_s_or_the_region_s(answered, place, told):  # noqa: F811
    rows = [{"InstanceType": "g6.12xlarge", "Location": each} for each in ("us-east-1a", "us-east-1b", place)]
    answered(ec2(DescribeInstanceTypeOfferings={"InstanceTypeOfferings": rows}))
    found = aws_rows(machines(**G6))
    assert shown(found) == told
    assert found[0].failed is (place == "eu-west-1a")


BLOCK = {"market": "capacity-block", "block_hours": 48, "zones": (), "now": 2, "quota": ""}
OFFERING = {
    "CapacityBlockOfferingId": "cb-0123456789abcdef0",
    "InstanceType": "p5.48xlarge",
    "AvailabilityZone": "us-east-1b",
    "InstanceCount": 2,
    "StartDate": "2026-12-01T11:30:00Z",
    "EndDate": "2026-12-03T11:30:00Z",
    "CapacityBlockDurationHours": 48,
    "UpfrontFee": "3019.20",
    "CurrencyCode": "USD",
}


def test_a_capacity_block_is_available_where_and_from_when_it_is_offered(answered):  # noqa: F811
    from datetime import UTC, datetime

    dates = {key: datetime.fromisoformat(OFFERING[key]).astimezone(UTC) for key in ("StartDate", "EndDate")}
    answered(ec2(DescribeCapacityBlockOfferings={"CapacityBlockOfferings": [{**OFFERING, **dates}]}))
    rows = aws_rows(machines(**BLOCK))
    assert shown(rows) == [("us-east-1a", "unavailable"), ("us-east-1b", "available")]
    assert rows[1].detail == "a capacity block of 48 h from 2026-12-01T11:30Z for 3,019.20 USD"
    assert rows[1].reservable_from == "2026-12-01T11:30Z"


@pytest.mark.parametrize("change", [{"InstanceCount": 1}, {"CapacityBlockDurationHours": 24}])
def test_an_offering_of_fewer_machines_or_hours_is_refused(answered, change):  # noqa: F811
    other = {key: value for key, value in OFFERING.items() if "Date" not in key} | change
    answered(ec2(DescribeCapacityBlockOfferings={"CapacityBlockOfferings": [other]}))
    assert {row.state for row in aws_rows(machines(**BLOCK))} == {"unknown"}


def test_an_api_that_answers_for_another_type_is_refused(answered):  # noqa: F811
    other = {**OFFERING, "InstanceType": "p5en.48xlarge"}
    other = {key: value for key, value in other.items() if "Date" not in key}
    answered(ec2(DescribeCapacityBlockOfferings={"CapacityBlockOfferings": [other]}))
    rows = aws_rows(machines(**BLOCK))
    assert {row.state for row in rows} == {"unknown"}
    assert "answers for p5en.48xlarge, and was asked about p5.48xlarge" in rows[0].detail


RESERVED = {"instance_type": "g6.12xlarge", "reservation": "cr-0123456789abcdef0", "zones": (), "count": 5, "now": 5}


def held(**changes: Any) -> dict[str, Any]:
    row = {"InstanceType": "g6.12xlarge", "AvailabilityZone": "us-east-1b", "TotalInstanceCount": 8}
    row |= {"AvailableInstanceCount": 8, **changes}
    return ec2(DescribeCapacityReservations={"CapacityReservations": [reservation(**row)]})


@pytest.mark.parametrize(
    ("free", "stack", "state"),
    [
        (8, "", "available"),
        (5, "dev", "available"),
        (2, "", "unavailable"),
        (0, "", "unavailable"),
        (4, "dev", "unknown"),  # the others may be taken by this stack's own machines
        (0, "dev", "unknown"),
    ],
)
def test_a_reservation_holds_the_machines_that_are_free(answered, free, stack, state):  # noqa: F811
    answered(held(AvailableInstanceCount=free))
    pools = (machines(**RESERVED),)
    found = stock(replace(needs("aws", ACCOUNT, pools), stack=stack), timeouts=FAST)
    assert shown(found) == [("us-east-1a", "unavailable"), ("us-east-1b", state)]
    assert f"{free} of them free" in found[1].detail
    assert ("begins with 5" in found[1].detail) is (free < 5)


@pytest.mark.parametrize("place", [{}, {"AvailabilityZone": "", "AvailabilityZoneId": "use1-az6"}])
def test_a_reservation_holds_machines_in_its_own_zone_alone(answered, place):  # noqa: F811
    answered(held(**place))
    rows = aws_rows(machines(**RESERVED))
    assert shown(rows) == [("us-east-1a", "unavailable"), ("us-east-1b", "available")]
    assert rows[0].detail == "reservation cr-0123456789abcdef0: is in us-east-1b"
    (row,) = aws_rows(machines(**{**RESERVED, "zones": ("us-east-1a",)}))
    assert (row.state, row.fix) == ("unavailable", "pulumi config set --path 'sizewell:zones[0]' us-east-1b")


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"AvailabilityZone": "us-east-1f"}, "unavailable"),  # which sells no such machine
        ({"InstanceType": "g5.12xlarge"}, "unavailable"),
        ({"State": "expired"}, "unavailable"),
        ({"TotalInstanceCount": 4, "AvailableInstanceCount": 4}, "unavailable"),
        ({"CapacityReservationId": "cr-00000000000000001"}, "unknown"),
        ({"State": "scheduled", "AvailableInstanceCount": 0}, "available"),
    ],
)
def test_another_reservation_holds_none(answered, change, state):  # noqa: F811
    row = held()["ec2", "DescribeCapacityReservations"]["CapacityReservations"][0] | change
    answered(ec2(DescribeCapacityReservations={"CapacityReservations": [row]}))
    assert best(aws_rows(machines(**RESERVED))).state == state


def test_what_exceeds_a_quota_cannot_be_had(answered):  # noqa: F811
    answered(ec2(GetServiceQuota={"Quota": {"QuotaName": "All G Spot", "Value": 90.0}}))
    rows = aws_rows()
    assert {row.state for row in rows} == {"unavailable"}
    assert "90 vCPU, the stack may grow to 96" in rows[0].detail
    assert "request-service-quota-increase" in rows[0].fix


DENIED = [
    ("DescribeInstanceTypeOfferings", FLEET, "ec2:DescribeInstanceTypeOfferings"),
    ("DescribeAvailabilityZones", FLEET, "ec2:DescribeAvailabilityZones"),
    ("GetSpotPlacementScores", FLEET, "ec2:GetSpotPlacementScores"),
    ("DescribeCapacityBlockOfferings", BLOCK, "ec2:DescribeCapacityBlockOfferings"),
    ("DescribeCapacityReservations", {"reservation": "cr-0123456789abcdef0"}, "ec2:DescribeCapacityReservations"),
]


@pytest.mark.parametrize(("operation", "pool", "right"), DENIED)
def test_a_right_that_is_missing_is_told_by_name(answered, operation, pool, right):  # noqa: F811
    answered(ec2(**{operation: refused("UnauthorizedOperation")}))
    rows = aws_rows(machines(**pool))
    assert {row.state for row in rows} == {"unknown"}
    assert right in rows[0].detail
    assert rows[0].fix.startswith("let an administrator allow")
    assert right in rows[0].fix


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("RequestLimitExceeded", "no answer"),
        ("MaxConfigLimitExceeded", "MaxConfigLimitExceeded"),
        ("InvalidParameterValue", "InvalidParameterValue"),
    ],
)
def test_an_error_is_no_stock(answered, code, says):  # noqa: F811
    answered(ec2(GetSpotPlacementScores=refused(code)))
    rows = aws_rows()
    assert {row.state for row in rows} == {"unknown"}
    assert says in rows[0].detail
    assert rows[0].failed
    assert ("24 hours" in rows[0].fix) is (code == "MaxConfigLimitExceeded")


@pytest.mark.parametrize(
    ("caller", "says"),
    [
        (refused("ExpiredToken"), "not logged in"),
        ({"Account": "999999999999", "Arn": "arn:aws:iam::999999999999:user/x"}, "the stack is limited to"),
    ],
)
def test_nobody_and_somebody_else_are_not_answered(answered, caller, says):  # noqa: F811
    asked = answered(ec2(GetCallerIdentity=caller))
    (row,) = aws_rows()
    assert (row.state, row.failed) == ("unknown", True)
    assert says in row.detail
    assert asked == [("sts", "GetCallerIdentity")]


def test_a_managed_service_publishes_no_stock_and_is_not_asked(answered):  # noqa: F811
    asked = answered(ec2())
    (row,) = aws_rows(machines(managed="sagemaker"))
    assert row.state == "unknown"
    assert "publishes no stock" in row.detail
    assert asked == []


def test_answers_are_kept_for_minutes(answered, tmp_path):  # noqa: F811
    asked, now = answered(ec2()), [1_000_000.0]

    def again(**more: Any) -> list[Row]:
        return aws_rows(kept=Kept(tmp_path / "a/stock.json", clock=lambda: now[0], **more))

    first = again()
    number = len(asked)
    now[0] += KEPT_S - 1
    assert again() == first
    assert asked[number:] == [("sts", "GetCallerIdentity")]  # whose they are
    assert [row.state for row in again(old=False)] == [row.state for row in first]
    assert len(asked) > number + 3
    now[0] += KEPT_S + 1
    number = len(asked)
    again()
    assert len(asked) > number + 3


def test_a_kept_file_that_nobody_can_read_is_none(answered, tmp_path):  # noqa: F811
    answered(ec2())
    path = tmp_path / "stock.json"
    for text in ("{", "[]", '{"x": 1}', '{"x": ["a", 1]}'):
        path.write_text(text)
        assert [row.state for row in aws_rows(kept=Kept(path))] == ["unlikely", "likely"]
        assert json.loads(path.read_text())


def test_errors_are_not_kept(answered, tmp_path):  # noqa: F811
    path = tmp_path / "stock.json"
    answered(ec2(GetSpotPlacementScores=refused("RequestLimitExceeded")))
    assert {row.state for row in aws_rows(kept=Kept(path))} == {"unknown"}
    answered(ec2())
    assert best(aws_rows(kept=Kept(path))).state == "likely"


PORTAL = Reply(b"<html><body>login portal</body></html>")


@pytest.mark.parametrize("service", ["sts", "ec2"])
@pytest.mark.parametrize("pool", [G6, FLEET, BLOCK, RESERVED])
def test_a_page_of_a_proxy_is_no_answer_of_aws(server, monkeypatch, service, pool):
    """botocore reads it as an empty answer: "sold in no zone", "none is offered", "does not exist"."""
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    caller = f"<GetCallerIdentityResult><Account>{ACCOUNT}</Account></GetCallerIdentityResult>"
    meta = "<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>"
    own = Reply(f"<GetCallerIdentityResponse>{caller}{meta}</GetCallerIdentityResponse>".encode())
    server.answers["POST /"] = [own, PORTAL] if service == "ec2" else [PORTAL]
    rows = aws_rows(machines(**pool))
    assert {(row.state, row.failed) for row in rows} == {("unknown", True)}
    assert any(f"no answer: {says}" in rows[0].detail for says in ("status 200 without a request id", "its answer"))


# Google Cloud

PROJECT, REGION = "petsnap-dev", "us-central1"
COMPUTE = f"/compute/v1/projects/{PROJECT}"
ADVICE = f"POST {COMPUTE}/regions/{REGION}/advice/capacity"
CALENDAR = f"POST {COMPUTE}/regions/{REGION}/advice/calendarMode"
L4 = {"region": REGION, "zones": (), "instance_type": "g2-standard-4", "vcpus": 4, "accelerators": 1}
L4 |= {"quota": "PREEMPTIBLE_NVIDIA_L4_GPUS", "market": "spot", "count": 1}
TPU = {
    **L4,
    "instance_type": "ct5lp-hightpu-4t",
    "accelerator": "tpu-v5e",
    "accelerators": 4,
    "use": "training",
    "now": 2,
    "quota": "",
}
SCORES = {"us-central1-a": 0.3, "us-central1-b": 0.9, "us-central1-c": 0.45}


def sold(path: str, _: Any) -> Reply:
    kind = path.rpartition("name%3D")[2] or path.rpartition("name=")[2]
    rows = {f"zones/{name}": {"machineTypes": [{"name": kind}]} for name in (*SCORES, "us-east1-b")}
    return Reply({"items": {**rows, "zones/europe-west4-a": {"warning": {"code": "NO_RESULTS_ON_PAGE"}}}})


def advised(_: str, body: Any) -> Reply:
    (place,) = body["distributionPolicy"]["zones"]
    name = place["zone"].removeprefix("zones/")
    ((_, wanted),) = body["instanceFlexibilityPolicy"]["instanceSelections"].items()
    shard = {"zone": f"https://www.googleapis.com/compute/v1/projects/{PROJECT}/zones/{name}"}
    shard |= {"machineType": wanted["machineTypes"][0], "instanceCount": body["size"], "provisioningModel": "SPOT"}
    scores = {"obtainability": SCORES[name], "estimatedUptime": "3600s"}
    return Reply({"recommendations": [{"scores": scores, "shards": [shard]}]})


def calendar(_: str, body: Any) -> Reply:
    ((spec, _wanted),) = body["futureResourcesSpecs"].items()
    row = {
        "recommendationId": "0",
        "recommendationType": "FUTURE_RESERVATION",
        "location": "zones/us-central1-b",
        "startTime": "2026-12-04T08:00:00Z",
        "endTime": "2026-12-05T08:00:00Z",
        "otherLocations": {"zones/us-central1-a": {"status": "NO_CAPACITY", "details": "none left"}},
    }
    return Reply({"recommendations": [{"recommendationsPerSpec": {spec: row}}]})


@pytest.fixture
def google(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("GOOGLE_ENDPOINT_URL", server.url)
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "token")
    limits = [{"metric": "PREEMPTIBLE_NVIDIA_L4_GPUS", "limit": 8.0, "usage": 0.0}]
    server.answers |= {
        f"GET {COMPUTE}/aggregated/machineTypes": sold,
        f"GET {COMPUTE}/regions/{REGION}": [Reply({"quotas": limits})],
        f"GET {COMPUTE}": [Reply({"quotas": []})],
        ADVICE: advised,
        CALENDAR: calendar,
    }
    return server


def gcp_rows(*pools: Machines, project: str = PROJECT, **more: Any) -> list[Row]:
    return stock(needs("gcp", project, pools or (machines(**L4),)), timeouts=FAST, **more)


def test_google_scores_each_zone_by_itself(google):
    rows = gcp_rows()
    assert shown(rows) == [("us-central1-a", "unlikely"), ("us-central1-b", "likely"), ("us-central1-c", "uncertain")]
    assert rows[1].detail == "obtainability 0.9 of 1, most run for 60 minutes or more"
    assert google.asked.count(ADVICE) == 3


def test_on_demand_is_unknown_now_and_the_calendar_says_from_when(google):
    rows = gcp_rows(machines(**{**L4, "market": "on-demand", "quota": "NVIDIA_L4_GPUS"}))
    assert {row.state for row in rows} == {"unknown"}
    assert [row.reservable_from for row in rows] == ["", "2026-12-04T08:00:00Z", ""]
    assert rows[0].detail.endswith("its calendar has no day left")
    assert rows[2].detail.endswith("its calendar says nothing of this zone")
    assert ADVICE not in google.asked


def test_tpus_are_asked_of_the_calendar_in_chips_and_of_no_advice(google):
    sent = []
    google.answers[CALENDAR] = lambda path, body: sent.append(body) or calendar(path, body)
    rows = gcp_rows(machines(**{**TPU, "market": "on-demand"}), machines(**{**TPU, "pool": "spot-workers"}))
    (spec,) = sent[0]["futureResourcesSpecs"].values()
    assert spec["targetResources"] == {
        "aggregateResources": {
            "vmFamily": "VM_FAMILY_CLOUD_TPU_LITE_POD_SLICE_CT5LP",
            "acceleratorCount": "8",
            "workloadType": "BATCH",
        }
    }
    assert "capacity advice has no TPUs" in rows[-1].detail
    assert {row.state for row in rows} == {"unknown"}
    assert ADVICE not in google.asked


@pytest.mark.parametrize(
    "shard",
    [
        {"machineType": "g2-standard-8"},
        {"zone": f"projects/{PROJECT}/zones/us-east1-b"},
        {"provisioningModel": "STANDARD"},
        {"instanceCount": 2},
    ],
)
def test_advice_for_something_else_is_refused(google, shard):
    google.answers[ADVICE] = [Reply({"recommendations": [{"scores": {"obtainability": 1.0}, "shards": [shard]}]})]
    rows = gcp_rows()
    assert {row.state for row in rows} == {"unknown"}
    assert "and was asked about" in rows[0].detail


def test_zones_of_another_type_are_refused(google):
    google.answers[f"GET {COMPUTE}/aggregated/machineTypes"] = [
        Reply({"items": {"zones/us-central1-a": {"machineTypes": [{"name": "g2-standard-48"}]}}})
    ]
    (row,) = gcp_rows()
    assert row.state == "unknown"
    assert "answers for g2-standard-48" in row.detail


@pytest.mark.parametrize(
    ("key", "market", "right"),
    [
        (ADVICE, "spot", "compute.advice.capacity"),
        (CALENDAR, "on-demand", "compute.advice.calendarMode"),
        (f"GET {COMPUTE}/aggregated/machineTypes", "spot", "compute.machineTypes.list"),
    ],
)
def test_a_permission_that_is_missing_is_told_by_name(google, key, market, right):
    google.answers[key] = [error(403, f"Required '{right}' permission", "IAM_PERMISSION_DENIED")]
    rows = gcp_rows(machines(**{**L4, "market": market}))
    assert {row.state for row in rows} == {"unknown"}
    assert f"denied, {right} is missing" in rows[0].detail
    assert rows[0].fix == f"let an administrator allow {right}"


@pytest.mark.parametrize(
    ("reply", "says", "failed"),
    [
        (error(429, "Quota exceeded", "RATE_LIMIT_EXCEEDED"), "no answer", True),
        (error(403, "Rate", "rateLimitExceeded"), "no answer", True),
        (error(503, "backend"), "no answer", True),
        (error(400, "Invalid value for field 'size'"), "Invalid value", True),
        (error(401, "expired"), "not logged in", True),
        (error(403, "Compute Engine API is off: enable it", "SERVICE_DISABLED"), "enable it", True),
        (Reply({"recommendations": []}), "gives this zone no score", False),
        (Reply(b"<html>proxy</html>"), "no answer", True),
    ],
)
def test_no_score_of_google_is_unknown(google, reply, says, failed):
    google.answers[ADVICE] = [reply]
    rows = gcp_rows()
    assert {row.state for row in rows} == {"unknown"}
    assert says in rows[0].detail
    assert {row.failed for row in rows} == {failed}


@pytest.mark.parametrize(
    ("key", "market", "body"),
    [
        (ADVICE, "spot", {"recommendations": ["x"]}),
        (ADVICE, "spot", {"recommendations": [{"scores": {"obtainability": "high"}}]}),
        (ADVICE, "spot", {"recommendations": {"scores": {}}}),
        (ADVICE, "spot", {"recommendations": [{"scores": {"obtainability": 7}}]}),
        (ADVICE, "spot", {"recommendations": [{"scores": {"obtainability": True}}]}),
        (CALENDAR, "on-demand", {"recommendations": [{"recommendationsPerSpec": ["x"]}]}),
        (CALENDAR, "on-demand", {"recommendations": [{"recommendationsPerSpec": {"pool": {"location": 7}}}]}),
        (CALENDAR, "on-demand", {"recommendations": [{"recommendationsPerSpec": {"other": {}}}]}),
        (f"GET {COMPUTE}/aggregated/machineTypes", "spot", {"items": ["x"]}),
        (f"GET {COMPUTE}/aggregated/machineTypes", "spot", {}),
        (f"GET {COMPUTE}/aggregated/machineTypes", "spot", {"status": "ok"}),
    ],
)
def test_an_answer_of_google_of_another_form_is_no_stock(google, key, market, body):
    google.answers[key] = [Reply(body)]
    assert {row.state for row in gcp_rows(machines(**{**L4, "market": market}))} == {"unknown"}


def reserved(zone: str, **specific: Any) -> Reply:
    held = {"count": "8", "inUseCount": "0", "instanceProperties": {"machineType": "g2-standard-4"}, **specific}
    return Reply({"name": "r1", "zone": f"x/zones/{zone}", "status": "READY", "specificReservation": held})


@pytest.mark.parametrize(
    ("used", "stack", "state"), [(0, "", "available"), (6, "", "unavailable"), (6, "dev", "unknown")]
)
def test_a_reservation_of_google_holds_what_is_free_in_its_zone(google, used, stack, state):
    pool = machines(**{**L4, "market": "on-demand", "reservation": "r1", "now": 5})
    at = f"GET {COMPUTE}/zones/{{}}/reservations/r1"
    for name in SCORES:
        google.answers[at.format(name)] = [error(404, "not found")]
    google.answers[at.format("us-central1-b")] = [reserved("us-central1-b", inUseCount=str(used))]
    rows = stock(replace(needs("gcp", PROJECT, (pool,)), stack=stack), timeouts=FAST)
    assert shown(rows) == [("us-central1-a", "unavailable"), ("us-central1-b", state), ("us-central1-c", "unavailable")]
    for reply in ({}, {"status": "READY", "specificReservation": {}}, reserved("us-central1-a")):
        google.answers[at.format("us-central1-b")] = [reply if isinstance(reply, Reply) else Reply(reply)]
        row = gcp_rows(pool)[1]
        assert (row.state, row.failed) == ("unknown", True), row
        assert "its answer is not the reservation r1" in row.detail


def test_a_reservation_of_chips_is_not_judged(google):
    body = {"name": "r1", "status": "READY", "aggregateReservation": {"vmFamily": "x"}}
    google.answers[f"GET {COMPUTE}/zones/us-central1-b/reservations/r1"] = [Reply(body)]
    (row,) = gcp_rows(machines(**{**TPU, "market": "on-demand", "reservation": "r1", "zones": ("us-central1-b",)}))
    assert (row.state, row.failed) == ("unknown", False)


def test_a_zone_that_google_does_not_sell_in_and_a_region(google):
    (row,) = gcp_rows(machines(**{**L4, "zones": ("us-central1-f",)}))
    assert (row.state, row.zone) == ("unavailable", "us-central1-f")
    assert row.fix == "use a zone that sells it: us-central1-a, us-central1-b, us-central1-c"
    (row,) = gcp_rows(machines(**{**L4, "region": "us-west9"}))
    assert (row.state, row.detail) == ("unavailable", "sold in no zone of the region")


def test_a_project_has_to_be_named(google):
    (row,) = stock(replace(needs("gcp", PROJECT, (machines(**L4),)), accounts=()), timeouts=FAST)
    assert "exactly one project" in row.detail
    assert row.failed
    assert google.asked == []


def test_two_pools_that_exceed_a_quota_together(google):
    google.answers[f"GET {COMPUTE}/regions/{REGION}"] = [
        Reply({"quotas": [{"metric": "PREEMPTIBLE_NVIDIA_L4_GPUS", "limit": 3.0, "usage": 0.0}]})
    ]
    one = machines(**{**L4, "count": 2})
    assert {row.state for row in gcp_rows(one)} != {"unavailable"}
    rows = gcp_rows(one, replace(one, pool="batch-workers"))
    assert {(row.pool, row.state) for row in rows} == {
        ("train-workers", "unavailable"),
        ("batch-workers", "unavailable"),
    }


# Azure

SUBSCRIPTION, AZURE_REGION, SIZE = "00000000-0000-4000-8000-000000000001", "eastus", "Standard_NC24ads_A100_v4"
AT = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute"
PLACED = f"POST {AT}/locations/{AZURE_REGION}/placementScores/spot/generate"
A100 = {"region": AZURE_REGION, "zones": (), "instance_type": SIZE, "market": "spot", "vcpus": 24, "accelerators": 1}
A100 |= {"quota": "", "count": 1, "now": 1}


def sku(name: str = SIZE, zones: tuple[str, ...] = ("1", "2"), **changes: Any) -> dict[str, Any]:
    return {
        "resourceType": "virtualMachines",
        "name": name,
        "family": "StandardNCADSA100v4Family",
        "locationInfo": [{"location": AZURE_REGION, "zones": list(zones)}],
        "capabilities": [{"name": "vCPUs", "value": "24"}],
        "restrictions": [],
        **changes,
    }


def placed(_: str, body: Any) -> Reply:
    by_zone = {"1": "Low", "2": "High", "3": "DataNotFoundOrStale", "": "Medium"}
    rows = [
        {
            "sku": each["sku"],
            "region": AZURE_REGION,
            **({"availabilityZone": zone} if zone else {}),
            "score": score,
            "isQuotaAvailable": True,
        }
        for each in body["desiredSizes"]
        for zone, score in by_zone.items()
        if bool(zone) is body["availabilityZones"]
    ]
    return Reply({**body, "placementScores": rows})


@pytest.fixture
def azure(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("AZURE_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AZURE_ACCESS_TOKEN", "token")
    used = {"lowPriorityCores": 100, "StandardNCADSA100v4Family": 100, "cores": 100}
    rows = [{"name": {"value": name}, "currentValue": 0, "limit": limit} for name, limit in used.items()]
    server.answers |= {
        f"GET {AT}/skus": [Reply({"value": [sku()]})],
        f"GET {AT}/locations/{AZURE_REGION}/usages": [Reply({"value": rows})],
        PLACED: placed,
    }
    return server


def azure_rows(*pools: Machines, **more: Any) -> list[Row]:
    return stock(needs("azure", SUBSCRIPTION, pools or (machines(**A100),)), timeouts=FAST, **more)


def test_azure_scores_each_zone_of_a_pool_of_aks(azure):
    rows = azure_rows()
    assert shown(rows) == [("1", "unlikely"), ("2", "likely")]
    assert rows[1].detail == "placement score High"
    assert any(f"{PLACED}?api-version=2025-06-05" in request for request in azure.asked)


def test_a_region_without_zones_has_one_score(azure):
    azure.answers[f"GET {AT}/skus"] = [Reply({"value": [sku(zones=())]})]
    assert shown(azure_rows()) == [("", "uncertain")]


def test_stale_data_is_unknown(azure):
    azure.answers[f"GET {AT}/skus"] = [Reply({"value": [sku(zones=("3",))]})]
    (row,) = azure_rows()
    assert (row.state, row.detail) == ("unknown", "Azure has no fresh data of this size here")


def test_on_demand_of_azure_is_unknown_where_nothing_restricts_it(azure):
    rows = azure_rows(machines(**{**A100, "market": "on-demand", "zones": ("eastus-2",)}))
    assert shown(rows) == [("2", "unknown")]
    assert PLACED not in "".join(azure.asked)


def closed(kind: str, *zones: str) -> list[dict[str, Any]]:
    info = {"locations": [AZURE_REGION], "zones": list(zones)}
    return [{"type": kind, "reasonCode": "NotAvailableForSubscription", "restrictionInfo": info}]


def test_restrictions_of_a_size(azure):
    azure.answers[f"GET {AT}/skus"] = [Reply({"value": [sku(restrictions=closed("Location"))]})]
    (row,) = azure_rows()
    assert (row.state, row.zone) == ("unavailable", "")
    assert "NotAvailableForSubscription" in row.detail
    azure.answers[f"GET {AT}/skus"] = [Reply({"value": [sku(restrictions=closed("Zone", "2"))]})]
    assert shown(azure_rows()) == [("1", "unlikely"), ("2", "unavailable")]
    azure.answers[f"GET {AT}/skus"] = [Reply({"value": []})]
    assert shown(azure_rows()) == [("", "unavailable")]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"sku": "Standard_NC48ads_A100_v4", "region": AZURE_REGION, "score": "High"}, "was asked about"),
        ({"sku": SIZE, "region": "westus", "score": "High"}, "answers for westus"),
    ],
)
def test_a_score_of_another_size_or_region_is_refused(azure, row, says):
    azure.answers[PLACED] = [Reply({"placementScores": [row]})]
    rows = azure_rows()
    assert {each.state for each in rows} == {"unknown"}
    assert says in rows[0].detail


def refusal(status: int, code: str, message: str) -> Reply:
    return Reply({"error": {"code": code, "message": message}}, status)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (
            refusal(403, "AuthorizationFailed", "does not have authorization to perform action"),
            "denied, Microsoft.Compute/locations/placementScores/generate/action is missing",
        ),
        (refusal(429, "TooManyRequests", "retry later"), "no answer"),
        (refusal(401, "ExpiredAuthenticationToken", "expired"), "not logged in"),
        (refusal(409, "MissingSubscriptionRegistration", "register Microsoft.Compute"), "register"),
        (refusal(400, "InvalidParameter", "desiredCount"), "desiredCount"),
    ],
)
def test_no_score_of_azure_is_unknown(azure, reply, says):
    azure.answers[PLACED] = [reply]
    rows = azure_rows()
    assert {row.state for row in rows} == {"unknown"}
    assert says in rows[0].detail
    assert {row.failed for row in rows} == {True}


@pytest.mark.parametrize(
    "body",
    [
        {"placementScores": "High"},
        {"placementScores": [["High"]]},
        {"placementScores": [{"sku": [SIZE], "region": AZURE_REGION}]},
        {"placementScores": [{"sku": SIZE, "region": AZURE_REGION, "availabilityZone": "1", "score": ["High"]}]},
        {"placementScores": None},
    ],
)
def test_an_answer_of_another_form_is_no_stock(azure, body):
    azure.answers[PLACED] = [Reply(body)]
    assert {row.state for row in azure_rows()} == {"unknown"}


def test_sizes_without_a_list_are_no_answer(azure):
    azure.answers[f"GET {AT}/skus"] = [Reply({"status": "ok"})]
    (row,) = azure_rows()
    assert (row.state, row.failed) == ("unknown", True)


def test_a_quota_of_spot_cores_that_azure_names(azure):
    row = {"sku": SIZE, "region": AZURE_REGION, "availabilityZone": "1", "score": "High", "isQuotaAvailable": False}
    azure.answers[PLACED] = [Reply({"placementScores": [row]})]
    assert shown(azure_rows())[0] == ("1", "unavailable")


def test_a_group_of_reservations_may_be_in_use(azure):
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/h"
    held = {"name": "r", "sku": {"name": SIZE, "capacity": 2}, "zones": ["1"]}
    listed = [{**held, "properties": {"provisioningState": "Succeeded"}}]
    azure.answers[f"GET {group}"] = [Reply({"name": "h", "location": AZURE_REGION})]
    azure.answers[f"GET {group}/capacityReservations"] = [Reply({"value": listed})]
    pool = machines(**{**A100, "market": "on-demand", "reservation": group, "zones": ("1",)})
    assert shown(azure_rows(pool)) == [("1", "uncertain")]
    azure.answers[f"GET {group}/capacityReservations"] = [Reply({"value": []})]
    assert shown(azure_rows(pool)) == [("1", "unavailable")]
    for key, reply in ((group, {}), (f"{group}/capacityReservations", {"status": "ok"})):
        azure.answers[f"GET {key}"] = [Reply(reply)]
        (row,) = azure_rows(pool)
        assert (row.state, row.failed) == ("unknown", True)


@pytest.mark.parametrize(
    ("zones", "told"),
    [
        ([("1", 1), ("2", 4)], [("1", "unavailable"), ("2", "uncertain")]),  # 2 of one zone are none of another
        ([("2", 2), ("2", 2)], [("1", "unavailable"), ("2", "uncertain")]),
        ([("", 4)], [("", "uncertain")]),
    ],
)
def test_a_group_of_reservations_holds_what_each_zone_has(azure, zones, told):
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/h"
    rows = [
        {"name": "r", "sku": {"name": SIZE, "capacity": number}, "properties": {"provisioningState": "Succeeded"}}
        | ({"zones": [zone]} if zone else {})
        for zone, number in zones
    ]
    azure.answers[f"GET {group}"] = [Reply({"name": "h", "location": AZURE_REGION})]
    azure.answers[f"GET {group}/capacityReservations"] = [Reply({"value": rows})]
    pool = machines(**{**A100, "market": "on-demand", "reservation": group, "count": 4, "now": 4})
    assert shown(azure_rows(pool)) == told


# All of them

LATENCY_S = 0.25


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_six_zones_and_forty_types_within_ten_seconds(cloud, request, capsys):
    kinds = [f"type-{number}" for number in range(40)]
    zones = [f"us-central1-{letter}" for letter in "abcdef"]
    if cloud == "aws":
        pools = [
            machines(**{**FLEET, "instance_type": k, "kinds": (k, "x", "y"), "pool": k, "quota": ""}) for k in kinds
        ]
        places = [(f"us-east-1{letter}", f"use1-az{number}") for number, letter in enumerate("abcdef")]
        scores = [{"Region": "us-east-1", "AvailabilityZoneId": name, "Score": 9} for _, name in places]
        offered = lambda asked: {  # noqa: E731
            "InstanceTypeOfferings": [
                {"InstanceType": kind, "Location": place}
                for kind in asked["Filters"][0]["Values"]
                for place, _ in places
            ]
        }
        play = request.getfixturevalue("answered")
        play(
            ec2(
                DescribeAvailabilityZones={"AvailabilityZones": [zone(*each) for each in places]},
                DescribeInstanceTypeOfferings=offered,
                GetSpotPlacementScores={"SpotPlacementScores": scores},
            ),
            LATENCY_S,
        )
        ask = lambda: aws_rows(*pools)  # noqa: E731
    elif cloud == "gcp":
        server = request.getfixturevalue("google")
        SCORES.update(dict.fromkeys(zones, 0.8))
        request.addfinalizer(lambda: [SCORES.pop(name) for name in zones[3:]])
        request.addfinalizer(lambda: SCORES.update({"us-central1-a": 0.3, "us-central1-b": 0.9, "us-central1-c": 0.45}))
        late(server)
        ask = lambda: gcp_rows(*(machines(**{**L4, "instance_type": k, "pool": k, "quota": ""}) for k in kinds))  # noqa: E731
    else:
        server = request.getfixturevalue("azure")
        server.answers[f"GET {AT}/skus"] = [
            Reply({"value": [sku(kind, ("1", "2", "3", "4", "5", "6")) for kind in kinds]})
        ]
        late(server)
        ask = lambda: azure_rows(*(machines(**{**A100, "instance_type": k, "pool": k, "count": 0}) for k in kinds))  # noqa: E731
    begun = time.monotonic()
    rows = ask()
    took = time.monotonic() - begun
    with capsys.disabled():
        print(f"\n{cloud}: 6 zones, 40 types, {LATENCY_S:g} s a call: {took:.1f} s, {len(rows)} rows")
    assert len(rows) == 240
    assert [row.detail for row in rows if row.failed] == []
    assert took < 10


def late(server: Server) -> None:
    for key, planned in list(server.answers.items()):
        if callable(planned):
            server.answers[key] = lambda path, body, f=planned: replace(f(path, body), delay_s=LATENCY_S)
        else:
            server.answers[key] = [replace(reply, delay_s=LATENCY_S) for reply in planned]


def test_the_rights_of_ec2_are_calls_that_read():
    import botocore.session

    from sizewell.clouds.aws import READING
    from sizewell.clouds.stock.asking import STOCKS

    calls = {
        right.partition(":")[0]: set(botocore.session.get_session().get_service_model(name).operation_names)
        for right, name in (("ec2:", "ec2"), ("servicequotas:", "service-quotas"))
    }
    for rights in STOCKS["aws"].SOURCES.values():
        for right in rights:
            service, _, call = right.partition(":")
            assert call in calls[service]
            assert call.startswith(READING)
