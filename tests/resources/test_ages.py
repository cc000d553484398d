"""What ages of a plan is told with its end, what happens then, and the command that mends it."""

from dataclasses import replace
from datetime import date

import pytest

from sizewell.resources.ages import Aging, aging, kubernetes, pressing
from sizewell.resources.recorded import UNKNOWN, RecordedResource
from sizewell.sizing.catalog import lifetimes

KNOWN = lifetimes.load()
ON = date(2026, 11, 26)


def made(type_, name="x", **inputs):
    return RecordedResource(urn=f"urn:{name}", type=type_, name=name, inputs=inputs)


@pytest.mark.parametrize(
    ("on", "when"),
    [
        ("2027-05-03", "later"),
        ("2027-05-04", "in 90 days"),
        ("2027-07-03", "in 30 days"),
        ("2027-08-02", "in 30 days"),
        ("2027-08-03", "ended"),
    ],
)
def test_a_cluster_is_told_ninety_and_thirty_days_before_its_end(on, when):
    cluster = made("aws:eks/cluster:Cluster", version="1.36", name="c")
    looked = replace(KNOWN, kubernetes=tuple(replace(row, checked=on) for row in KNOWN.kubernetes))
    (found,) = aging([cluster], looked, date.fromisoformat(on), stack="prod-aws")
    assert found.when == when
    assert found.until == "2027-08-02"
    assert bool(found.fix) is (when != "later")
    assert bool(pressing([found])) is (when != "later")


def test_an_end_that_nobody_looked_up_for_ninety_days_is_no_longer_relied_on():
    cluster = made("aws:eks/cluster:Cluster", version="1.36", name="c")
    (found,) = pressing(aging([cluster], KNOWN, date(2027, 2, 25), stack="prod-aws"))
    assert (found.when, found.fix) == ("unknown", "sizewell ages refresh")
    assert "as far as was known on 2026-11-26, 91 days ago" in found.detail
    assert not pressing(aging([cluster], KNOWN, date(2027, 2, 24), stack="prod-aws"))


def test_the_command_that_mends_it_raises_one_minor_version():
    found = kubernetes("aks", "1.34.7", KNOWN, ON, stack="prod-azure", resource="c")
    assert found.when == "in 30 days"
    assert found.fix == "pulumi config set -s prod-azure sizewell:kubernetesVersion 1.35, then pulumi up"
    assert "Azure builds no such cluster" in found.detail


def test_a_version_beyond_the_table_is_unknown_and_told():
    found = kubernetes("eks", "1.50", KNOWN, ON, stack="s", resource="c")
    assert (found.when, found.fix) == ("unknown", "sizewell ages refresh")
    assert pressing([found]) == (found,)


def test_what_a_state_says_goes_before_what_was_asked():
    """After an automatic upgrade the state knows more than the program."""
    cluster = replace(made("aws:eks/cluster:Cluster", version="1.34", name="c"), outputs={"version": "1.35"})
    (found,) = aging([cluster], KNOWN, ON)
    assert found.what == "Kubernetes 1.35 on eks"


@pytest.mark.parametrize(
    ("resource", "what", "when"),
    [
        (made("kubernetes:helm.sh/v3:Release", chart="keda", version="2.18.1"), "chart keda 2.18.1", "ended"),
        (
            made("kubernetes:helm.sh/v3:Release", chart="oci://registry.k8s.io/kueue/charts/kueue", version="0.16.6"),
            "chart kueue 0.16.6",
            "ended",
        ),
        (
            made("kubernetes:apps/v1:Deployment", spec={"containers": [{"image": "mirror.io/x/kedacore/keda:2.18.1"}]}),
            "image ghcr.io/kedacore/keda 2.18.1",
            "ended",
        ),
        (
            made("aws:rds/instance:Instance", engine="postgres", engineVersion="14.9"),
            "database aws:rds/postgres 14",
            "later",
        ),
        (
            made("aws:rds/cluster:Cluster", engine="postgres", engineVersion="13.4"),
            "database aws:rds/postgres 13",
            "ended",
        ),
        (
            made("aws:eks/addon:Addon", addonName="vpc-cni", addonVersion="v1.21.1-eksbuild.8"),
            "addon vpc-cni v1.21.1-eksbuild.8",
            "unknown",
        ),
        (
            made("azure-native:containerservice/v20250501:ManagedCluster", kubernetesVersion="1.34"),
            "Kubernetes 1.34 on aks",
            "in 30 days",
        ),
        (
            made("gcp:container/cluster:Cluster", minMasterVersion="1.34.9-gke.1"),
            "Kubernetes 1.34.9-gke.1 on gke",
            "ended",
        ),
        (
            made(
                "azure-native:cognitiveservices/v20250601:Deployment",
                properties={"model": {"name": "gpt-35-turbo", "version": "0613"}},
            ),
            "model azure-openai/gpt-35-turbo 0613",
            "ended",
        ),
        (
            made(
                "azure-native:cognitiveservices:Deployment",
                properties={"model": {"name": "gpt-9", "version": "2027-01-01"}},
            ),
            "model azure-openai/gpt-9 2027-01-01",
            "unknown",
        ),
    ],
)
def test_each_kind_is_read_from_its_resource(resource, what, when):
    (found,) = aging([resource], KNOWN, ON)
    assert (found.what, found.when) == (what, when)


def test_unknown_values_and_strangers_are_passed_over():
    resources = [
        made("aws:eks/cluster:Cluster", version=UNKNOWN),
        made("gcp:container/cluster:Cluster", releaseChannel={"channel": "REGULAR"}),
        made("kubernetes:helm.sh/v3:Release", chart="somebody-s-own", version="1.0.0"),
        made("aws:rds/instance:Instance", engine="oracle-ee", engineVersion="19"),
    ]
    assert aging(resources, KNOWN, ON) == ()


def test_each_version_is_told_once_soonest_end_first():
    keda = made("kubernetes:helm.sh/v3:Release", chart="keda", version="2.18.1")
    cluster = made("aws:eks/cluster:Cluster", version="1.36", name="c")
    found = aging([cluster, keda, replace(keda, name="again")], KNOWN, ON)
    assert [each.kind for each in found] == ["chart", "kubernetes"]
    assert isinstance(found[0], Aging)


def test_a_clock_far_ahead_finds_every_version_ended():
    found = kubernetes("eks", "1.36", KNOWN, date(2040, 1, 1), stack="s", resource="c")
    assert found.when == "ended"


def test_a_program_of_its_own_is_not_told_to_set_what_it_does_not_read():
    cluster = made("aws:eks/cluster:Cluster", version="1.34", name="c")
    (found,) = aging([cluster], KNOWN, date(2026, 11, 26))
    assert found.fix == "set its version to 1.35, then pulumi up"


def test_an_end_that_lay_ahead_when_it_was_read_may_have_been_postponed():
    model = {"name": "o3-mini", "version": "2025-01-31"}
    (found,) = aging([made("azure-native:cognitiveservices:Deployment", properties={"model": model})], KNOWN, ON)
    assert (found.when, "support was to end on 2026-10-01, as was known on 2026-09-02" in found.detail) == (
        "ended",
        True,
    )
    (strange,) = aging(
        [made("azure-native:cognitiveservices:Deployment", properties={"model": {**model, "version": "x"}})], KNOWN, ON
    )
    assert pressing([strange]) == (strange,)
