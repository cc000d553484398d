"""Images and charts, asked of a registry that answers as the distribution specification says."""

from __future__ import annotations

import pytest

from sizewell.clouds.calls import Deadline, Timeouts
from sizewell.clouds.connections import http_client
from sizewell.clouds.preflight.pulls import charts_of, images_of, pulls
from sizewell.clouds.registry import Registries
from tests.clouds.preflight_needs import Declared, by_state, machines, needs
from tests.clouds.rest_server import Reply

QUICK = Timeouts(attempts=2, backoff_s=0.01)
VALUES = {"image": {"repository": "nvcr.io/nvidia/k8s-device-plugin", "tag": "v0.17.4"}}
RESOURCES = (
    Declared(
        "kubernetes:helm.sh/v3:Release",
        "plugins",
        {
            "chart": "nvidia-device-plugin",
            "version": "0.17.4",
            "repositoryOpts": {"repo": "https://charts.example.com/plugins"},
            "values": VALUES,
        },
    ),
    Declared(
        "kubernetes:helm.sh/v3:Release",
        "kueue",
        {"chart": "oci://registry.k8s.io/kueue/charts/kueue", "version": "0.14.4"},
    ),
    Declared("kubernetes:batch/v1:Job", "train", {"spec": {"containers": [{"image": "docker.io/petsnap/train:2.8"}]}}),
    Declared("kubernetes:batch/v1:Job", "own", {"image": "1.dkr.ecr.us-east-1.amazonaws.com/own:1"}),
)
STACK = needs("aws", "123456789012", (machines(),), *RESOURCES)
INDEX = b"entries:\n  other:\n  - version: 0.17.4\n  nvidia-device-plugin:\n  - name: x\n    version: 0.17.4\n"
CHALLENGE = (
    'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:petsnap/train:pull"'
)
TRAIN = "HEAD /registry-1.docker.io/v2/petsnap/train/manifests/2.8"
HEALTHY = {
    "HEAD /nvcr.io/v2/nvidia/k8s-device-plugin/manifests/v0.17.4": [Reply(None)],
    "HEAD /registry.k8s.io/v2/kueue/charts/kueue/manifests/0.14.4": [Reply(None)],
    "GET /charts.example.com/plugins/index.yaml": [Reply(INDEX)],
    TRAIN: [Reply(None, 401, {"WWW-Authenticate": CHALLENGE}), Reply(None)],
    "GET /auth.docker.io/token": [Reply({"token": "everybody's"})],
}


def asked(server, monkeypatch, **answers):
    monkeypatch.setenv("REGISTRY_ENDPOINT_URL", server.url)
    server.answers.update({key: list(replies) for key, replies in {**HEALTHY, **answers}.items()})
    registries = Registries(deadline=Deadline(20), http=http_client(), timeouts=QUICK)
    return by_state(list(pulls(STACK, registries)))


def test_everything_that_a_stack_pulls_is_asked_for_and_the_clouds_own_is_not():
    assert {f"{image.host}/{image.name}:{image.reference}" for image in images_of(STACK)} == {
        "nvcr.io/nvidia/k8s-device-plugin:v0.17.4",
        "docker.io/petsnap/train:2.8",
    }
    assert len(charts_of(STACK)) == 2


def test_nothing_is_found_where_all_is_there(server, monkeypatch):
    found = asked(server, monkeypatch)
    assert not found.get("wrong")
    (healthy,) = found["ok"]
    assert "4 of 4 exist" in healthy.detail
    tokens = [headers.get("Authorization") for headers in server.headers]
    assert tokens.count("Bearer everybody's") == 1
    assert (
        "GET /auth.docker.io/token?service=registry.docker.io&scope=repository%3Apetsnap%2Ftrain%3Apull" in server.asked
    )


@pytest.mark.parametrize(
    ("key", "reply", "says"),
    [
        (TRAIN, Reply(None, 404), "docker.io/petsnap/train:2.8 does not exist"),
        (next(iter(HEALTHY)), Reply(None, 404), "k8s-device-plugin:v0.17.4 does not exist"),
        (
            "GET /charts.example.com/plugins/index.yaml",
            Reply(INDEX.replace(b"x\n    version: 0.17.4", b"x")),
            "chart nvidia-device-plugin",
        ),
        ("HEAD /registry.k8s.io/v2/kueue/charts/kueue/manifests/0.14.4", Reply(None, 404), "chart kueue 0.14.4"),
    ],
)
def test_what_is_missing_is_the_one_that_is_told(server, monkeypatch, key, reply, says):
    (fault,) = asked(server, monkeypatch, **{key: [reply]})["wrong"]
    assert says in fault.detail
    assert fault.code == 64


def test_silence_is_no_answer_and_a_closed_registry_is_said(server, monkeypatch):
    (fault,) = asked(server, monkeypatch, **{TRAIN: [Reply(None, 503)]})["wrong"]
    assert fault.code == 69
    found = asked(server, monkeypatch, **{TRAIN: [Reply(None, 403)]})
    assert "not known without a login: docker.io/petsnap/train:2.8" in found["note"][0].detail
