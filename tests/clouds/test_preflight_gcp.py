"""Pre-flight on Google Cloud: each planted fault is the one that is told, and its healthy twin tells nothing.

The answers have the fields of Google's discovery documents (compute v1, serviceusage v1, cloudresourcemanager v3,
cloudbilling v1, monitoring v3, artifactregistry v1; read on 2026-11-22). Errors are in the form of google.rpc.Status.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from sizewell.clouds.calls import Timeouts
from sizewell.clouds.preflight import gcp as preflight_gcp
from sizewell.clouds.preflight import rights
from sizewell.clouds.preflight.run import preflight
from tests.clouds.preflight_needs import Declared, by_state, machines, needs
from tests.clouds.rest_server import Reply, Server

PROJECT, REGION, ZONE = "petsnap-dev", "us-central1", "us-central1-a"
COMPUTE = f"GET /compute/v1/projects/{PROJECT}"
FAST = Timeouts(attempts=1)
RESOURCES = (
    Declared("gcp:compute/network:Network", "net", {}),
    Declared("gcp:container/cluster:Cluster", "cluster", {}),
    Declared("gcp:kms/cryptoKey:CryptoKey", "key", {}),
    Declared(
        "gcp:monitoring/notificationChannel:NotificationChannel",
        "chat-mail",
        {"type": "email", "displayName": "mail for chat", "userLabels": {"sizewell-stack": "dev"}},
    ),
    Declared(
        "gcp:monitoring/notificationChannel:NotificationChannel",
        "chat-notices",
        {"type": "pubsub", "displayName": "Notices of chat", "userLabels": {"sizewell-stack": "dev"}},
    ),
    Declared(
        "gcp:container/nodePool:NodePool",
        "chat",
        {"nodeLocations": [ZONE], "nodeConfig": {"machineType": "g2-standard-4"}},
    ),
)
APIS = ("cloudkms", "compute", "container", "monitoring", "serviceusage")


def stack(**changes: Any) -> Any:
    base = {"region": REGION, "zones": (), "instance_type": "g2-standard-4", "vcpus": 4, "accelerators": 1}
    pool = machines(**{**base, "quota": "NVIDIA_L4_GPUS", **changes})
    registry = f"{REGION}-docker.pkg.dev/{PROJECT}/mirror"
    return needs("gcp", PROJECT, (pool,), *RESOURCES, registry=registry)


def error(code: int, message: str, reason: str = "") -> Reply:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
    return Reply({"error": {"code": code, "message": message, "status": "X", "details": details}}, code)


def services(*names: str) -> Reply:
    rows = [
        {
            "name": f"projects/1/services/{name}.googleapis.com",
            "config": {"name": f"{name}.googleapis.com"},
            "state": "ENABLED",
        }
        for name in names
    ]
    return Reply({"services": rows})


def reserved(**changes: Any) -> Reply:
    specific = {"count": "4", "inUseCount": "1", "instanceProperties": {"machineType": "g2-standard-4"}}
    specific |= changes.pop("specific", {})
    return Reply({"name": "r1", "status": "READY", "specificReservation": specific, **changes})


def channels(*rows: dict[str, Any]) -> Reply:
    """The stack's channels, changed by `rows` in turn, and one of another stack that is off and waits for its code."""
    own = [
        {"displayName": "mail for chat", "type": "email", "enabled": True, "verificationStatus": "VERIFIED"},
        {"displayName": "Notices of chat", "type": "pubsub"},
    ]
    other = {"displayName": "mail for chat", "type": "email", "enabled": False, "verificationStatus": "UNVERIFIED"}
    listed = [
        {**channel, **row, "name": f"projects/{PROJECT}/notificationChannels/{number}", "userLabels": LABELS}
        for number, (channel, row) in enumerate(zip(own, rows or ({}, {}), strict=False))
    ]
    return Reply({"notificationChannels": [*listed, {**other, "name": "o", "userLabels": {"sizewell-stack": "prod"}}]})


LABELS = {"sizewell-stack": "dev"}
RESERVATION = f"{COMPUTE}/zones/{ZONE}/reservations/r1"
MACHINE_TYPE = f"{COMPUTE}/zones/{ZONE}/machineTypes/g2-standard-4"
CHANNELS = f"GET /v3/projects/{PROJECT}/notificationChannels"
REPOSITORY = f"GET /v1/projects/{PROJECT}/locations/{REGION}/repositories/mirror"
HEALTHY: dict[str, Any] = {
    f"GET /v3/projects/{PROJECT}": Reply({"name": "projects/1", "projectId": PROJECT, "state": "ACTIVE"}),
    f"GET /v1/projects/{PROJECT}/billingInfo": Reply({"projectId": PROJECT, "billingEnabled": True}),
    f"GET /v1/projects/{PROJECT}/services": services(*APIS),
    MACHINE_TYPE: Reply({"name": "g2-standard-4", "zone": ZONE}),
    f"{COMPUTE}/regions/{REGION}": Reply({"quotas": [{"metric": "NVIDIA_L4_GPUS", "limit": 8.0, "usage": 6.0}]}),
    COMPUTE: Reply({"quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 8.0, "usage": 6.0}]}),
    RESERVATION: reserved(),
    CHANNELS: channels(),
    REPOSITORY: Reply({"name": "mirror", "format": "DOCKER"}),
    f"POST /v3/projects/{PROJECT}:testIamPermissions": lambda _path, body: Reply({"permissions": body["permissions"]}),
}


@pytest.fixture(autouse=True)
def _replayed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_ENDPOINT_URL", server.url)
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "token")


def answered(server: Server, **_: Any) -> None:
    for key, reply in HEALTHY.items():
        server.answers[key] = reply if callable(reply) else [reply]


def test_nothing_is_found_in_a_healthy_project(server):
    answered(server)
    found = by_state(preflight(stack(), timeouts=FAST) + preflight(stack(reservation="r1"), timeouts=FAST))
    assert found["wrong"] == []
    assert found["note"] == []
    asked = {request.partition("?")[0] for request in server.asked}
    assert asked == set(HEALTHY)


AGGREGATED = f"GET /compute/v1/projects/{PROJECT}/aggregated/machineTypes"
PLANTED = [
    (
        {f"GET /v3/projects/{PROJECT}": error(403, "denied")},
        {},
        "account",
        "does not exist, or you may not see it",
        "sizewell:accounts",
    ),
    (
        {f"GET /v3/projects/{PROJECT}": Reply({"state": "DELETE_REQUESTED"})},
        {},
        "account",
        "is DELETE_REQUESTED",
        "sizewell:accounts",
    ),
    (
        {f"GET /v3/projects/{PROJECT}": error(401, "expired")},
        {},
        "account",
        "not logged in: status 401: expired",
        "log in",
    ),
    (
        {f"GET /v1/projects/{PROJECT}/billingInfo": Reply({"billingEnabled": False})},
        {},
        "account",
        "no billing account",
        "gcloud billing projects link petsnap-dev",
    ),
    *[
        (
            {f"GET /v1/projects/{PROJECT}/services": services(*(api for api in APIS if api != missing))},
            {},
            "apis",
            f"1 of {len(APIS)} are off: {missing}.googleapis.com",
            f"gcloud services enable {missing}.googleapis.com --project={PROJECT}",
        )
        for missing in APIS
    ],
    (
        {
            MACHINE_TYPE: error(404, "not found"),
            AGGREGATED: Reply(
                {
                    "items": {
                        "zones/us-central1-b": {"machineTypes": [{"name": "g2-standard-4"}]},
                        "zones/us-east1-b": {"warning": {}},
                    }
                }
            ),
        },
        {},
        "g2-standard-4 in us-central1-a",
        "is not sold there",
        "'sizewell:zones[0]' us-central1-b",
    ),
    (
        {MACHINE_TYPE: error(404, "not found"), AGGREGATED: Reply({"items": {}})},
        {},
        "g2-standard-4 in us-central1-a",
        "is not sold there",
        "not a zone of this project",
    ),
    (
        {f"{COMPUTE}/regions/{REGION}": Reply({"quotas": [{"metric": "NVIDIA_L4_GPUS", "limit": 8.0, "usage": 7.0}]})},
        {},
        "quota NVIDIA_L4_GPUS in us-central1",
        "8, 7 in use; the stack may grow to 2",
        "raise NVIDIA_L4_GPUS",
    ),
    (
        {COMPUTE: Reply({"quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 0.0, "usage": 0.0}]})},
        {},
        "quota GPUS_ALL_REGIONS in us-central1",
        "0, 0 in use",
        "raise GPUS_ALL_REGIONS",
    ),
    (
        {RESERVATION: error(404, "not found")},
        {"reservation": "r1"},
        "reservation r1 in us-central1-a",
        "does not exist in this zone",
        "another reservation",
    ),
    (
        {RESERVATION: reserved(status="CREATING")},
        {"reservation": "r1"},
        "reservation r1 in us-central1-a",
        "is CREATING",
        "another reservation",
    ),
    (
        {RESERVATION: reserved(specific={"instanceProperties": {"machineType": "a2-highgpu-1g"}})},
        {"reservation": "r1"},
        "reservation r1 in us-central1-a",
        "is for a2-highgpu-1g",
        "another reservation",
    ),
    (
        {RESERVATION: reserved(specific={"inUseCount": "3"})},
        {"reservation": "r1"},
        "reservation r1 in us-central1-a",
        "has 1 free machines",
        "another reservation",
    ),
    (
        {CHANNELS: channels({"verificationStatus": "UNVERIFIED"}, {})},
        {},
        "receivers",
        "not verified: mail for chat",
        "code",
    ),
    (
        {CHANNELS: channels({"enabled": False}, {})},
        {},
        "receivers",
        f"switched off: mail for chat (projects/{PROJECT}/notificationChannels/0)",
        f"gcloud beta monitoring channels update CHANNEL --enabled --project={PROJECT}",
    ),
    (
        {CHANNELS: channels({})},
        {},
        "receivers",
        "no longer in the project: Notices of chat",
        "pulumi refresh -s",
    ),
    (
        {REPOSITORY: error(404, "not found")},
        {},
        "repository mirror",
        "does not exist",
        "gcloud artifacts repositories create mirror",
    ),
    ({REPOSITORY: Reply({"format": "PYTHON"})}, {}, "repository mirror", "contains PYTHON", "repository of images"),
    *[
        (
            {
                f"POST /v3/projects/{PROJECT}:testIamPermissions": lambda _path, body, missing=missing: Reply(
                    {"permissions": [held for held in body["permissions"] if held != missing]}
                )
            },
            {},
            "rights",
            f"missing {missing}",
            "has to grant a role",
        )
        for missing in (
            "cloudkms.cryptoKeys.create",
            "compute.networks.create",
            "container.clusters.connect",
            "container.clusters.create",
            "container.clusters.update",
            "monitoring.notificationChannels.create",
        )
    ],
]


@pytest.mark.parametrize(("answers", "asked", "about", "says", "mends"), PLANTED)
def test_a_planted_fault_is_the_one_that_is_told(server, answers, asked, about, says, mends):  # noqa: PLR0917
    answered(server)
    for key, reply in answers.items():
        server.answers[key] = reply if callable(reply) else [reply]
    (told,) = by_state(preflight(stack(**asked), timeouts=FAST))["wrong"]
    assert (told.about, told.code) == (about, 64)
    assert says in told.detail
    assert mends in told.fix


def test_each_thing_that_is_asked_has_a_planted_fault_and_a_healthy_twin(server, capsys):
    answered(server)
    found = preflight(stack(), timeouts=FAST) + preflight(stack(reservation="r1"), timeouts=FAST)
    healthy = {finding.about for finding in found if finding.state == "ok"}
    planted = {about for _, _, about, _, _ in PLANTED}
    off = {f"{api}.googleapis.com" for api in APIS}  # each is planted as missing above
    with capsys.disabled():
        print(f"\nGoogle Cloud: asked {len(healthy)}, planted {len(planted)}; APIs {len(off)}; faults {len(PLANTED)}")
    assert planted == healthy
    assert set(preflight_gcp.apis_of(stack())) == off


@pytest.mark.parametrize("key", list(HEALTHY))
def test_silence_is_no_answer(server, key):
    answered(server)
    server.reply(key, error(503, "unavailable"))
    told = by_state(preflight(stack(reservation="r1" if "reservations" in key else ""), timeouts=FAST))["wrong"]
    assert told
    assert {finding.code for finding in told} == {69}


@pytest.mark.parametrize("key", [key for key in HEALTHY if f"/v3/projects/{PROJECT}" not in key.split(" ")[1:]])
def test_a_denied_question_is_said_and_stops_nothing(server, key):
    answered(server)
    server.reply(key, error(403, "API has not been used", "SERVICE_DISABLED"))
    found = by_state(preflight(stack(reservation="r1" if "reservations" in key else ""), timeouts=FAST))
    assert found["wrong"] == []
    assert any("not known" in finding.detail or "unknown" in finding.detail for finding in found["note"])


def test_a_stack_that_is_not_up_yet_lacks_no_channel(server):
    answered(server)
    server.reply(CHANNELS, Reply({}))
    assert by_state(preflight(stack(), timeouts=FAST))["wrong"] == []


def test_channels_to_topics_without_subscription_reach_nobody(server):
    answered(server)
    channel = Declared("gcp:monitoring/notificationChannel:NotificationChannel", "n", {"type": "pubsub"})
    asked = needs("gcp", PROJECT, (), channel)
    (told,) = by_state(preflight(asked, timeouts=FAST))["wrong"]
    assert "notices are not delivered" in told.detail


def test_a_family_quota_is_said_to_be_unseen(server):
    answered(server)
    found = by_state(preflight(stack(quota="GPUS_PER_GPU_FAMILY{gpu_family=NVIDIA_H100}"), timeouts=FAST))
    assert "by the console and Cloud Quotas" in found["note"][0].detail


def test_without_one_project_nothing_is_asked(server):
    two = needs("gcp", PROJECT, ())
    (told,) = preflight(type(two)(**{**{f: getattr(two, f) for f in two.__slots__}, "accounts": ()}), timeouts=FAST)
    assert (told.code, server.asked) == (64, [])
    assert "sizewell:accounts" in told.fix


def test_every_module_of_the_stacks_has_its_api():
    kinds = [kind for kind in rights.RIGHTS if kind.startswith("gcp:")]
    modules = {kind.removeprefix("gcp:").partition("/")[0] for kind in kinds}
    assert modules <= set(preflight_gcp.APIS)


def test_a_stack_is_asked_about_in_under_15_seconds_at_100_ms_a_call(server):
    answered(server)
    for replies in server.answers.values():
        for reply in replies if isinstance(replies, list) else ():
            reply.delay_s = 0.1
    try:
        began = time.monotonic()
        preflight(stack(reservation="r1"))
        assert 0.2 < time.monotonic() - began < 15
    finally:
        for reply in HEALTHY.values():
            if isinstance(reply, Reply):
                reply.delay_s = 0.0
