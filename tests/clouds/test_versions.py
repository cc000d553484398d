"""Kubernetes versions as the clouds state them: what runs beside what is configured, and what is offered beside the table.

Answers have the shapes of botocore's model, of the example in Azure's REST reference (Managed Clusters - List Kubernetes
Versions) and of Google's discovery document (container v1, ServerConfig).
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.gcp import Google
from sizewell.clouds.preflight import versions
from sizewell.sizing.catalog import lifetimes
from tests.clouds.preflight_needs import Declared, machines, needs
from tests.clouds.rest_server import Reply, Server

KNOWN = lifetimes.load()
ON = date(2026, 11, 26)
SUBSCRIPTION, PROJECT, REGION = "00000000-0000-0000-0000-000000000001", "petsnap", "us-central1"
KEY = "kubernetesVersion"


class Eks:
    """What EKS answers, by operation."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def call(self, service: str, region: str, operation: str, **_: Any) -> dict[str, Any]:
        answer = self.answers[operation]
        if isinstance(answer, CloudError):
            raise answer
        return answer

    def pages(self, service: str, region: str, operation: str, items: str, **_: Any) -> list[Any]:
        return self.answers[operation]


def stack(cloud: str, type_: str, **config: Any) -> Any:
    cluster = Declared(type_, "cluster", {"name": "c", "location": REGION})
    return needs(cloud, PROJECT if cloud == "gcp" else SUBSCRIPTION, (machines(),), cluster, **config)


@pytest.mark.parametrize(
    ("runs", "config", "state", "detail", "fix"),
    [
        ("1.36", {}, "ok", "which the stack leaves as it is", ""),
        ("1.36", {KEY: "1.36"}, "ok", "as sizewell:kubernetesVersion states", ""),
        (
            "1.37",
            {KEY: "1.36"},
            "wrong",
            "an update would ask for a downgrade",
            "pulumi config set -s dev sizewell:kubernetesVersion 1.37",
        ),
        (
            "1.35",
            {KEY: "1.36"},
            "note",
            "the next update upgrades the control plane",
            "`sizewell docs upgrade-a-cluster`",
        ),
        ("1.34", {KEY: "1.36"}, "wrong", "by one minor version at a time", "sizewell:kubernetesVersion 1.35, update"),
        ("", {KEY: "1.36"}, "note", "does not say which version", ""),
    ],
)
def test_what_runs_is_held_beside_what_is_stated(runs, config, state, detail, fix):
    asked = Eks(describe_cluster={"cluster": {"version": runs}})
    (finding,) = versions.of_eks(stack("aws", versions.EKS, **config), asked, "us-east-1")
    assert (finding.about, finding.state) == ("kubernetes", state)
    assert detail in finding.detail
    assert fix in finding.fix


def test_a_cluster_that_is_not_built_yet_is_no_finding():
    asked = Eks(describe_cluster=CloudError("eks", "missing", "no cluster found"))
    assert list(versions.of_eks(stack("aws", versions.EKS), asked, "us-east-1")) == []
    denied = Eks(describe_cluster=CloudError("eks", "denied", "no"))
    with pytest.raises(CloudError):
        list(versions.of_eks(stack("aws", versions.EKS), denied, "us-east-1"))


@pytest.fixture
def azure(server: Server, monkeypatch: pytest.MonkeyPatch) -> Azure:
    monkeypatch.setenv("AZURE_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AZURE_ACCESS_TOKEN", "token")
    return Azure(Deadline(10), timeouts=Timeouts(attempts=1))


@pytest.fixture
def google(server: Server, monkeypatch: pytest.MonkeyPatch) -> Google:
    monkeypatch.setenv("GOOGLE_ENDPOINT_URL", server.url)
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "token")
    return Google(Deadline(10), timeouts=Timeouts(attempts=1))


def test_aks_is_known_by_its_tag_and_says_the_patch_that_it_runs(azure, server):
    own = {
        "name": "c1",
        "tags": {"sizewell-stack": "dev"},
        "properties": {"kubernetesVersion": "1.36", "currentKubernetesVersion": "1.37.1"},
    }
    other = {"name": "c2", "tags": {"sizewell-stack": "prod"}, "properties": {"kubernetesVersion": "1.34"}}
    path = f"GET /subscriptions/{SUBSCRIPTION}/providers/Microsoft.ContainerService/managedClusters"
    server.reply(path, Reply({"value": [own, other, {"name": "c3"}]}))
    found = list(versions.of_aks(stack("azure", versions.AKS, **{KEY: "1.36"}), azure, f"subscriptions/{SUBSCRIPTION}"))
    assert [finding.state for finding in found] == ["wrong"]
    assert found[0].detail.startswith("c1 runs Kubernetes 1.37.1 (supported until 2027-10-31)")


def test_gke_says_what_its_control_plane_runs(google, server):
    path = f"GET /v1/projects/{PROJECT}/locations/{REGION}/clusters/c"
    server.reply(path, Reply({"name": "c", "currentMasterVersion": "1.34.9-gke.1655001"}))
    (finding,) = versions.of_gke(stack("gcp", versions.GKE), google, PROJECT)
    assert finding.state == "ok"
    assert "runs Kubernetes 1.34.9-gke.1655001 (supported until 2026-10-01)" in finding.detail


def test_eks_lists_its_versions_with_their_ends():
    rows = [
        {"clusterVersion": "1.37", "endOfStandardSupportDate": datetime(2027, 12, 2, tzinfo=UTC), "endOfExtendedSupportDate": datetime(2028, 12, 2, tzinfo=UTC), "versionStatus": "STANDARD_SUPPORT"},
        {"clusterVersion": "1.36", "endOfStandardSupportDate": datetime(2027, 8, 2, tzinfo=UTC), "versionStatus": "STANDARD_SUPPORT"},
        {"clusterVersion": "1.34", "endOfStandardSupportDate": datetime(2026, 12, 2, tzinfo=UTC), "versionStatus": "STANDARD_SUPPORT"},
        {"clusterVersion": "1.29", "versionStatus": "UNSUPPORTED"},
    ]  # fmt: skip
    listed = versions.offered_by_eks(Eks(describe_cluster_versions=rows), "us-east-1")
    accepted = lifetimes.accept(KNOWN, listed, ON)
    own = {row.version: row for row in accepted.rows}
    assert own["1.37"].supported_until == "2027-12-02"
    assert own["1.37"].extended_until == "2028-12-02"
    assert not own["1.37"].built, "what follows it is not known"
    assert accepted.moved == ("eks 1.37: supported until an unknown day, now 2027-12-02",)
    assert own["1.36"].autoscaler == KNOWN.versions("eks")["1.36"].autoscaler
    assert own["1.36"].checked == "2026-11-26"
    assert "1.29" not in own


def test_aks_lists_no_ends_and_those_of_the_table_stay(azure, server):
    path = f"GET /subscriptions/{SUBSCRIPTION}/providers/Microsoft.ContainerService/locations/eastus/kubernetesVersions"
    rows = [
        {"version": version, "capabilities": {"supportPlan": ["KubernetesOfficial"]}}
        for version in ("1.36", "1.37", "1.35", "1.38")
    ]
    server.reply(path, Reply({"values": [*rows, {"version": "1.39", "isPreview": True}]}))
    accepted = lifetimes.accept(KNOWN, versions.offered_by_aks(azure, SUBSCRIPTION, "eastus"), ON)
    own = {row.version: row for row in accepted.rows}
    assert accepted.new == ("aks 1.38",)
    assert own["1.38"].supported_until == "", "unknown, never for ever"
    assert own["1.38"].ubuntu == "24.04"
    assert own["1.36"].supported_until == "2027-06-30"
    assert accepted.gone == ("aks 1.34",), "Azure has it no longer, four days before its announced end"
    assert lifetimes.ended(own["1.34"].supported_until, ON)
    assert "1.39" not in own


def test_gke_lists_those_of_the_channel_that_clusters_follow(google, server):
    path = f"GET /v1/projects/{PROJECT}/locations/{REGION}/serverConfig"
    channels = [
        {"channel": "RAPID", "validVersions": ["1.38.0-gke.1"]},
        {"channel": "REGULAR", "validVersions": ["1.36.3-gke.1640000", "1.36.2-gke.1", "1.35.7-gke.1222000"]},
    ]
    server.reply(path, Reply({"channels": channels}))
    listed = versions.offered_by_gke(google, PROJECT, REGION)
    assert [each.version for each in listed] == ["1.35", "1.36"]


def test_an_empty_list_is_no_answer_and_ends_nothing(google, server):
    server.reply(f"GET /v1/projects/{PROJECT}/locations/{REGION}/serverConfig", Reply({}))
    with pytest.raises(CloudError):
        versions.offered_by_gke(google, PROJECT, REGION)


def test_a_version_that_is_newer_than_all_listed_may_come_to_the_region_yet():
    listed = [lifetimes.Listed(service="eks", version="1.36", source="x")]
    accepted = lifetimes.accept(KNOWN, listed, ON)
    assert "eks 1.37" not in accepted.gone
    assert accepted.gone == ("eks 1.34", "eks 1.35")


def test_eks_has_images_for_each_version_and_family_or_not():
    names = []

    class Ssm:
        def call(self, service, region, operation, Names):  # noqa: N803 - boto3's own
            names.extend(Names)
            assert len(Names) <= 10
            there = [name for name in Names if "neuron" not in name and "/1.37/" not in name]
            return {"Parameters": [{"Name": name} for name in there], "InvalidParameters": []}

    found = versions.images_of_eks(Ssm(), ["1.35", "1.36", "1.37"], "us-east-1")
    assert "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id" in names
    assert {each.name: (each.offered, each.kubernetes) for each in found}["eks/AL2023_x86_64_NEURON"] == (False, ())
    accepted = lifetimes.accept_images(KNOWN, found, ON)
    assert accepted.gone == ("eks/AL2023_x86_64_NEURON al2023",)
    assert "eks/AL2023_x86_64_NVIDIA al2023: for Kubernetes up to 1.37, now up to 1.36" in accepted.moved


def test_every_family_that_machines_are_built_from_is_asked_for():
    from sizewell.components.aws.eks import node_config

    assert set(versions.EKS_IMAGES) >= set(node_config.IMAGE_TYPES.values())
    for name in [*(f"eks/{family}" for family in versions.EKS_IMAGES), "gke/COS_CONTAINERD"]:
        assert [row for row in KNOWN.releases if (row.kind, row.name) == ("system", name)], name
    for name, version in versions.AKS_IMAGES:
        assert KNOWN.release("system", name, version), name


def test_aks_lists_its_images_by_system_and_kind(azure, server):
    path = f"GET /subscriptions/{SUBSCRIPTION}/providers/Microsoft.ContainerService/locations/eastus/nodeImageVersions"
    rows = [
        {"os": "AKSUbuntu", "sku": "2404gen2containerd", "version": "202611.05.0"},
        {"os": "AKSAzureLinux", "sku": "V3gen2", "version": "202611.05.0"},
    ]
    server.reply(path, Reply({"value": rows}))
    accepted = lifetimes.accept_images(KNOWN, versions.images_of_aks(azure, SUBSCRIPTION, "eastus"), ON)
    assert accepted.gone == ("aks/Ubuntu 22.04",)
    assert {row.version for row in accepted.systems if not lifetimes.ended(row.supported_until, ON)} == {"24.04", "3.0"}


@pytest.mark.parametrize(("types", "gone"), [(["COS_CONTAINERD", "UBUNTU_CONTAINERD"], 0), (["UBUNTU_CONTAINERD"], 2)])
def test_gke_lists_the_types_of_its_images(google, server, types, gone):
    server.reply(f"GET /v1/projects/{PROJECT}/locations/{REGION}/serverConfig", Reply({"validImageTypes": types}))
    accepted = lifetimes.accept_images(KNOWN, versions.images_of_gke(google, PROJECT, REGION), ON)
    assert len(accepted.gone) == gone


def test_no_images_are_no_answer_and_end_nothing(azure, google, server):
    server.reply(f"GET /v1/projects/{PROJECT}/locations/{REGION}/serverConfig", Reply({}))
    path = f"GET /subscriptions/{SUBSCRIPTION}/providers/Microsoft.ContainerService/locations/eastus/nodeImageVersions"
    server.reply(path, Reply({"value": []}))
    with pytest.raises(CloudError):
        versions.images_of_gke(google, PROJECT, REGION)
    with pytest.raises(CloudError):
        versions.images_of_aks(azure, SUBSCRIPTION, "eastus")
    with pytest.raises(CloudError):
        versions.images_of_eks(Eks(get_parameters={"Parameters": []}), ["1.36"], "us-east-1")
