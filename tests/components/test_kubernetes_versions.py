"""One table says which version of Kubernetes each managed service gets; what follows a version is taken from its row."""

import inspect
import re
from datetime import date

import pulumi
import pytest
from aws_decisions import HYPERPOD
from aws_decisions import KUBERNETES as ON_EKS
from aws_recording import OWNED, only, record, refusals

from sizewell.components.aws.eks import args as eks_args
from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks.autoscaler import EksAutoscaler
from sizewell.components.aws.eks.cluster import EksCluster
from sizewell.components.azure.aks import args as aks_args
from sizewell.components.azure.aks import charts as aks_charts
from sizewell.components.azure.aks.cluster import AksCluster
from sizewell.components.azure.aks.operators import AksOperators
from sizewell.components.faults import Faults
from sizewell.components.kubernetes_versions import (
    check_version,
    default_version,
    following,
    support_faults,
    version_faults,
)
from sizewell.components.settings import Settings
from sizewell.sizing.catalog import lifetimes

OPERATORS = {
    **OWNED,
    "kubeconfig": "{}",
    "runtimes": ["cuda", "rocm"],
    "infiniband": True,
    "amd_driver_image": "petsnap.azurecr.io/amdgpu-driver",
}

PLACED = {**OWNED, "region": "us-east-1"}  # of the rest of a cluster's arguments nothing is judged here


@pytest.mark.parametrize(("args", "services"), [(eks_args, ("eks", "hyperpod")), (aks_args, ("aks",))])
def test_the_arguments_pages_name_the_default(args, services):
    stated = re.findall(r"(\d\.\d\d) by default|built with (\d\.\d\d)", inspect.getsource(args))
    assert {one or other for one, other in stated} == {default_version(service).version for service in services}


@pytest.mark.parametrize(("version", "release", "name"), [("1.34", "22.04", "jammy"), ("1.35", "24.04", "noble")])
def test_drivers_on_aks_follow_the_version_of_the_cluster(version, release, name):
    """os_sku Ubuntu is 22.04 up to Kubernetes 1.34 and 24.04 from 1.35 on: a driver container with the sources of
    another release finds no headers of the machine's kernel.
    """
    resources = record(lambda: AksOperators("operators", {**OPERATORS, "version": version}))
    maps = [one.inputs["data"] for one in resources if one.type == "kubernetes:core/v1:ConfigMap"]
    assert len(maps) == 3
    for packages in maps:
        releases = {line.split()[3] for line in packages["custom-repo.list"].splitlines()}
        assert releases == {name, f"{name}-updates", f"{name}-security"}
    images = aks_charts.mirror_images(runtimes=["cuda"], driver="operator", infiniband=True, ubuntu=release)
    tags = [image.rpartition(":")[2] for image in images if "driver:" in image]
    assert [re.search(r"ubuntu([\d.]+)", tag)[1] for tag in tags] == [release, release]
    sentences = {text for _, text in refusals(AksOperators, {**OPERATORS, "version": version, "amd_driver_image": ""})}
    assert any(f":ubuntu-{release}-KERNEL-" in text for text in sentences)


SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s"


def test_a_version_that_no_cluster_has_is_refused_with_those_that_are_known():
    (fault,) = refusals(AksOperators, {**OPERATORS, "version": "1.27"})
    assert fault[0] == "version"
    assert "one of 1.28, 1.29, 1.30, 1.31, 1.32, 1.33, 1.34, 1.35, 1.36, 1.37, got '1.27'" in fault[1]


@pytest.mark.parametrize(("version", "warned"), [("1.36", False), ("1.37", True)])
def test_a_version_on_which_nothing_was_tried_is_built_with_a_warning(version, warned, monkeypatch):
    said = []
    monkeypatch.setattr(pulumi.log, "warn", said.append)
    for service in ("eks", "aks"):
        faults = Faults(f"cluster on {service}")
        check_version(faults, {"version": version}, service, builds=True)
        faults.done()
    assert [f"version {version} on {service}" in text for service, text in zip(("eks", "aks"), said, strict=False)] == (
        [True, True] if warned else []
    )


@pytest.mark.parametrize("version", [row.version for row in lifetimes.load().kubernetes if row.autoscaler])
def test_the_autoscaler_on_eks_follows_the_version_of_the_cluster(version):
    args = {**OWNED, "region": "us-east-1", "cluster": "c", "kubeconfig": "{}", "version": version}
    resources = record(lambda: EksAutoscaler("scaler", args))
    values = only(resources, "kubernetes:helm.sh/v3:Release").inputs["values"]
    assert values["image"]["tag"] == following("eks", version).autoscaler
    assert eks_charts.autoscaler_image(version).endswith(values["image"]["tag"])


def test_what_follows_a_version_follows_the_one_that_the_cluster_has():
    """A cluster that AWS has upgraded says so; the autoscaler is that version's, whatever was asked for once."""
    args = {
        **OWNED,
        "region": "us-east-1",
        "cluster": "c",
        "kubeconfig": "{}",
        "version": pulumi.Output.from_input("1.35"),
    }
    resources = record(lambda: EksAutoscaler("scaler", args))
    values = only(resources, "kubernetes:helm.sh/v3:Release").inputs["values"]
    assert values["image"]["tag"] == following("eks", "1.35").autoscaler


@pytest.mark.parametrize("version", [None, "1.35"])
@pytest.mark.parametrize("cloud", ["aws", "azure"])
def test_a_version_that_nobody_stated_is_left_to_the_cloud(cloud, version):
    """Asked back, what the cloud upgraded by itself would be a downgrade, which no cloud does."""
    stated = {"version": version} if version else {}
    if cloud == "aws":
        args = {
            **OWNED,
            "region": "us-east-1",
            "zones": ["us-east-1a", "us-east-1b"],
            "subnet_ids": ["subnet-a", "subnet-b"],
            "vpc_id": "vpc-v",
            "vpc_cidr": "10.0.0.0/16",
            **stated,
        }
        resources = record(lambda: EksCluster("c", args))
        (cluster,) = [one for one in resources if one.type == "aws:eks/cluster:Cluster"]
        key, built = "version", default_version("eks").version
    else:
        args = {**OWNED, "region": "eastus", "zones": [], "resource_group": "g", "subnet_id": SUBNET, **stated}
        resources = record(lambda: AksCluster("c", args))
        (cluster,) = [one for one in resources if one.type == "azure-native:containerservice:ManagedCluster"]
        key, built = "kubernetesVersion", default_version("aks").version
    assert cluster.inputs[key] == (version or built)
    assert (key in cluster.ignore_changes) is (version is None)


def test_a_cluster_with_hyperpod_s_machines_has_a_version_that_hyperpod_takes():
    def pairs(decision):
        return [(workload, pool) for workload in decision.workloads for pool in workload.pools]

    settings = Settings(project="p", stack="s")
    assert eks_args.built_version(pairs(ON_EKS), settings) == default_version("eks").version
    assert eks_args.built_version(pairs(HYPERPOD), settings) == default_version("hyperpod").version
    known = lifetimes.load()
    assert set(known.versions("hyperpod")) <= set(known.versions("eks"))


@pytest.mark.parametrize(
    ("stated", "services", "sentence"),
    [
        ("1.36", ["aks", "eks"], ""),
        ("1.36.2", ["aks"], ""),
        ("1.36", ["hyperpod"], "is '1.36', which is no Kubernetes version of hyperpod"),
        ("1.3", ["eks"], "is '1.3', which is no Kubernetes version of eks"),
        ("1.99", ["eks"], "is '1.99', which is no Kubernetes version of eks"),
        ("latest", ["aks"], "is 'latest', which is no Kubernetes version of aks"),
        (
            "1.33",
            ["aks"],
            (
                "is 1.33, whose standard support on aks ended on 2026-07-31; Azure builds none, and upgrades those that "
                "stand without asking"
            ),
        ),
        ("1.36", ["gke"], "is given, and GKE's clusters follow the release channel REGULAR"),
        ("1.36", [], "is given, and the stack builds no Kubernetes cluster"),
    ],
)
def test_a_configured_version_is_one_that_the_cloud_has_and_supports(stated, services, sentence):
    faults = version_faults(stated, services, date(2026, 11, 26))
    assert [fault.message for fault in faults] == ([sentence] if sentence else [])
    assert all(fault.path == "sizewell:kubernetesVersion" and fault.fix for fault in faults)


def test_a_version_in_extended_support_is_built_where_that_is_asked_for():
    (fault,) = version_faults("1.33", ["eks"], date(2026, 11, 26))
    assert "or pulumi config set sizewell:kubernetesSupport extended, which is billed, until 2027-07-29" in fault.fix
    assert version_faults("1.33", ["eks", "aks"], date(2026, 11, 26), "extended") == []
    (fault,) = version_faults("1.31", ["eks"], date(2026, 11, 27), "extended")
    assert fault.message.startswith("is 1.31, whose extended support on eks ended on 2026-11-26")
    assert "kubernetesSupport" not in fault.fix
    for component in (EksCluster, AksCluster):
        args = {**PLACED, "version": "1.33"}
        ((_, said),) = [each for each in refusals(component, args) if each[0] == "version"]
        assert 'or support "extended" until 2027-07-' in said
        assert [each for each in refusals(component, {**args, "support": "extended"}) if each[0] == "version"] == []


@pytest.mark.parametrize(
    ("stated", "services", "sentence"),
    [
        ("extended", ["eks", "aks"], ""),
        ("standard", ["eks"], ""),
        ("extended", ["aks", "gke"], "is given, and GKE's clusters follow the release channel REGULAR"),
        ("extended", [], "is given, and the stack builds no Kubernetes cluster"),
        ("lts", ["aks"], "standard or extended"),
    ],
)
def test_a_configured_support_is_one_that_the_clusters_have(stated, services, sentence):
    assert [sentence in str(fault) for fault in support_faults(stated, services)] == ([True] if sentence else [])


def test_extended_support_is_an_argument_of_the_clusters():
    eks = {"region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"], "subnet_ids": ["subnet-a", "subnet-b"]}
    eks |= {"vpc_id": "vpc-v", "vpc_cidr": "10.0.0.0/16", **OWNED, "version": "1.33", "support": "extended"}
    cluster = only(record(lambda: EksCluster("c", eks)), "aws:eks/cluster:Cluster")
    assert cluster.inputs["upgradePolicy"] == {"supportType": "EXTENDED"}
    aks = {**OWNED, "region": "eastus", "zones": [], "resource_group": "g", "subnet_id": SUBNET}
    for support, plan, tier in ((None, None, "Standard"), ("extended", "AKSLongTermSupport", "Premium")):
        args = {**aks, **({"support": support} if support else {})}
        cluster = only(record(lambda args=args: AksCluster("c", args)), "azure-native:containerservice:ManagedCluster")
        assert (cluster.inputs.get("supportPlan"), cluster.inputs["sku"]["tier"]) == (plan, tier)


def test_a_stack_s_support_goes_to_its_clusters_and_holds_their_upgrades_until_it_ends():
    settings = Settings(project="p", stack="s", kubernetes_version="1.33", kubernetes_support="extended")
    pairs = [(workload, pool) for workload in ON_EKS.workloads for pool in workload.pools]
    assert eks_args.version_args(pairs, settings) == {"version": "1.33", "support": "extended"}
    assert settings.kubernetes_args() == {"version": "1.33", "support": "extended"}
    assert Settings(project="p", stack="s").kubernetes_args() == {}


def test_a_version_beyond_the_table_is_named_with_the_command_that_reads_it():
    (fault,) = version_faults("1.99", ["eks"], date(2026, 11, 26))
    assert "sizewell ages refresh" in fault.fix


@pytest.mark.parametrize(
    ("component", "args", "version", "says"),
    [
        (EksCluster, PLACED, "v1.36", "must be the cluster's Kubernetes version, one of 1.34"),
        (EksCluster, PLACED, "1.36.2", "must be the cluster's Kubernetes version, one of 1.34"),
        (EksCluster, PLACED, "1.36.", "must be the cluster's Kubernetes version, one of 1.34"),
        (EksCluster, {**PLACED, "hyperpod": True}, "v1.35", "must be the cluster's Kubernetes version, one of 1.34"),
        (
            EksCluster,
            PLACED,
            "1.33",
            "ended on 2026-07-29; AWS builds none, and upgrades one that stands by itself",
        ),
        (AksCluster, PLACED, "v1.36", "must be the cluster's Kubernetes version, one of 1.34"),
        (AksCluster, PLACED, "1.33", "is 1.33, whose standard support on aks ended on 2026-07-31"),
    ],
)
def test_a_cluster_is_built_with_a_version_that_the_cloud_still_builds_in_its_own_form(component, args, version, says):
    found = [text for path, text in refusals(component, {**args, "version": version}) if path == "version"]
    assert len(found) == 1, found
    assert says in found[0]


@pytest.mark.parametrize(
    ("service", "version", "takes"),
    [
        ("eks", "1.36.2", "1.36"),
        ("eks", "v1.36", "1.36"),
        ("eks", "1.35-eks-1", "1.35"),
        ("aks", "v1.35", "1.35"),
        ("aks", "1.36.x", "1.36"),
        ("eks", "l.36", default_version("eks").version),
        ("eks", "1.3699", default_version("eks").version),
    ],
)
def test_the_mend_of_a_version_in_another_form_is_the_minor_that_was_written(service, version, takes):
    faults = Faults("Cluster")
    check_version(faults, {"version": version}, service, builds=True)
    (fault,) = faults.found
    assert fault.fix.startswith(f"set version to {takes},")


def test_aks_takes_a_patch_release_and_what_follows_a_cluster_takes_what_it_says():
    assert [path for path, _ in refusals(AksCluster, {**PLACED, "version": "1.36.1"}) if path == "version"] == []
    assert record(lambda: AksOperators("operators", {**OPERATORS, "version": "1.33.4"}))


@pytest.mark.parametrize(("services", "stated"), [(["eks"], "v1.36"), (["eks"], "1.36.4"), (["aks"], "v1.36")])
def test_a_stack_states_a_version_as_the_cloud_takes_it(services, stated):
    (fault,) = version_faults(stated, services, date(2026, 11, 26))
    assert fault.message == f"is {stated!r}, which is no Kubernetes version of {services[0]}"
    assert "refresh" not in fault.fix
