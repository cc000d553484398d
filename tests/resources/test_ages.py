"""What ages of a plan is told with its end, what happens then, and the command that mends it."""

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pulumi_aws
import pulumi_azure_native
import pulumi_gcp
import pytest

from sizewell.resources.ages import Aging, aging, kubernetes, pressing
from sizewell.resources.readers import offers
from sizewell.resources.recorded import UNKNOWN, RecordedResource
from sizewell.resources.values import cloud_of
from sizewell.sizing import catalog
from sizewell.sizing.catalog import lifetimes
from sizewell.sizing.catalog.machine_prices import is_listed
from sizewell.sizing.catalog.systems import ended_service

KNOWN = lifetimes.load()
ON = date(2026, 11, 26)


AKS, AGENTS = (f"azure-native:containerservice:{kind}" for kind in ("ManagedCluster", "AgentPool"))
GKE = "gcp:container/cluster:Cluster"
EKS_NODES = "aws:eks/nodeGroup:NodeGroup"
LAMBDA, SITE = "aws:lambda/function:Function", "azure-native:web:WebApp"


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


STANDARD = {"upgradePolicy": {"supportType": "STANDARD"}}
LTS = {"supportPlan": "AKSLongTermSupport", "sku": {"name": "Base", "tier": "Premium"}}


@pytest.mark.parametrize(
    ("type_", "inputs", "end", "said", "fix"),
    [
        ("aws:eks/cluster:Cluster", {"version": "1.31"}, ("2026-11-26", "ended"),
         "extended support on 2026-11-26; AWS builds no such cluster",
         "one that stands takes each minor version by `aws eks update-cluster-version` before that: 1.32, 1.33, 1.34"),
        ("aws:eks/cluster:Cluster", {"version": "1.33"}, ("2026-07-29", "ended"),
         "extended support is billed at six times the fee until 2027-07-29", "1.34"),
        ("aws:eks/cluster:Cluster", {"version": "1.33", **STANDARD},
         ("2026-07-29", "ended"), "its upgrade policy STANDARD has no extended support", "1.34"),
        ("aws:eks/cluster:Cluster", {"version": "1.34", **STANDARD},
         ("2026-12-02", "in 30 days"), "then AWS upgrades the cluster by itself", "set its version to 1.35, then pulumi up"),
        (AKS, {"kubernetesVersion": "1.32.9"}, ("2026-03-31", "ended"), "Azure builds no such cluster",
         "or its plan for long-term support, in the Premium tier, until 2027-03-31"),
        (AKS, {"kubernetesVersion": "1.32.9", **LTS}, ("2027-03-31", "later"), "support ends in 124 days", ""),
        (AKS, {"kubernetesVersion": "1.34", **LTS}, ("2027-11-30", "later"), "on 2027-11-30", ""),
        (GKE, {"minMasterVersion": "1.33", "releaseChannel": {"channel": "EXTENDED"}}, ("2027-06-03", "later"), "support ends in", ""),
        ("aws:eks/cluster:Cluster", {"version": "1.29"}, ("", "ended"), "as that of the newer 1.31 has; AWS builds no such",
         "one that stands takes each minor version by `aws eks update-cluster-version` before that: 1.30, 1.31, 1.32"),
        (AKS, {"kubernetesVersion": "1.29"}, ("2025-03-31", "ended"), "Azure builds no such cluster", "1.35"),
        (AKS, {"kubernetesVersion": "1.30", **LTS}, ("2026-07-31", "ended"), "support ended on 2026-07-31", "1.35"),
        (AKS, {"kubernetesVersion": "1.27", **LTS}, ("", "ended"), "as that of the newer 1.28 has", "1.35"),
        (AKS, {"kubernetesVersion": "1.40", **LTS}, ("", "unknown"), "not in the table", "sizewell ages refresh"),
        (GKE, {"minMasterVersion": "1.32", "releaseChannel": {"channel": "EXTENDED"}}, ("2027-02-11", "in 90 days"),
         "support ends in 76 days", "a new cluster: set min_master_version to 1.35, then pulumi up; one that stands"),
        (GKE, {"minMasterVersion": "1.30", "releaseChannel": {"channel": "EXTENDED"}}, ("", "ended"),
         "as that of the newer 1.31 has", "gcloud container clusters upgrade"),
        (GKE, {"minMasterVersion": "1.31", "location": "us-central1"}, ("2026-01-16", "ended"), "support ended on",
         "`gcloud container clusters upgrade CLUSTER --location us-central1 --master --cluster-version VERSION`"),
        (GKE, {"minMasterVersion": "1.34"}, ("2026-10-01", "ended"), "support ended on",
         "set min_master_version to 1.35, then pulumi up"),
        ("gcp:container/getEngineVersions:getEngineVersions", {"versionPrefix": "1.34."}, ("2026-10-01", "ended"),
         "support ended on", "set version_prefix to 1.35, then pulumi up"),
    ],
)  # fmt: skip
def test_a_version_goes_by_the_support_that_its_cluster_has(type_, inputs, end, said, fix):
    (found,) = aging([made(type_, **inputs)], KNOWN, date(2026, 11, 27))
    assert (found.until, found.when) == end
    assert said in found.detail
    assert fix in found.fix


def test_a_cluster_of_google_is_named_in_a_command_as_google_names_it():
    standing = replace(
        made(GKE, "c", minMasterVersion="1.32"), outputs={"name": "c-1a2b3c4", "location": "europe-west4"}
    )
    (found,) = aging([standing], KNOWN, date(2026, 11, 27))
    assert "gcloud container clusters upgrade c-1a2b3c4 --location europe-west4 --master" in found.fix


@pytest.mark.parametrize(
    ("cluster", "nodes", "said", "fix"),
    [
        (("aws:eks/cluster:Cluster", "version", "1.36"), (EKS_NODES, "version", "clusterName", "1.32"),
         "too old for its control plane, which is on 1.36 and takes 1.33 and newer", "set its version to 1.36"),
        (("aws:eks/cluster:Cluster", "version", "1.35"), (EKS_NODES, "version", "clusterName", "1.36"),
         "newer than its control plane, which is on 1.35", "set its version to 1.35"),
        ((AKS, "kubernetesVersion", "1.36"), (AGENTS, "orchestratorVersion", "resourceName", "1.32"),
         "too old for its control plane", "set its version to 1.36"),
        ((AKS, "kubernetesVersion", "1.36"), (AGENTS, "orchestratorVersion", "resourceName", "1.33"),
         "support ended on 2026-07-31", "set its version to 1.36"),
        ((GKE, "minMasterVersion", "1.35.2-gke.1"), ("gcp:container/nodePool:NodePool", "version", "cluster", "1.36"),
         "newer than its control plane", "set its version to 1.35"),
        ((AKS, "kubernetesVersion", "1.36"), (AGENTS, "orchestratorVersion", "resourceName", "1.36.1"), "", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("linked", ["by name", "by the engine"])
def test_nodes_are_compared_with_their_control_plane(cluster, nodes, said, fix, linked):
    type_, key, runs = cluster
    control = made(type_, "c", **{key: runs, "resourceName": "c"})
    other = made(type_, "other", **{key: "1.34"})  # a second cluster beside it
    kind, version_key, link, version = nodes
    pool = made(kind, "pool", **{version_key: version, link: "c" if linked == "by name" else UNKNOWN})
    if linked == "by the engine":
        pool = replace(pool, property_dependencies={link: (control.urn,)})
    found = [each for each in aging([control, other, pool], KNOWN, date(2026, 11, 27)) if each.resource == "pool"]
    assert bool(found) is bool(said)
    for each in found:
        assert said in each.detail
        assert each.fix == fix
        assert pressing([each])


def test_pools_inside_of_a_cluster_are_compared_too_and_ended_ones_of_an_unknown_cluster_are_said():
    inside = made(AKS, kubernetesVersion="1.35", agentPoolProfiles=[{"name": "system", "orchestratorVersion": "1.36"}])
    found = next(each for each in aging([inside], KNOWN, ON) if each.resource == "system")
    assert "on the nodes of system: newer than its control plane, which is on 1.35" in found.detail
    alone = made("aws:eks/nodeGroup:NodeGroup", "g", version="1.31", clusterName="elsewhere")
    (found,) = aging([alone], KNOWN, date(2026, 11, 27))
    assert (found.resource, found.when, found.fix) == ("g", "ended", "set its version to its control plane's")


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"releaseVersion": "1.33.5-20260101"}, "support ended on 2026-07-29"),
        ({"releaseVersion": "1.31.9-20250101"}, "too old for its control plane"),
        ({"releaseVersion": "1.33.5-20260101", "version": "1.36"}, "beside version 1.36: EKS refuses the pair"),
        ({"releaseVersion": "1.36.1-20261112", "version": "1.36"}, ""),
        ({"releaseVersion": "1.20.3-51709849", "amiType": "BOTTLEROCKET_x86_64"}, ""),  # Bottlerocket's own number
    ],
)
def test_the_image_of_a_node_group_says_its_version(inputs, said):
    control = made("aws:eks/cluster:Cluster", "c", version="1.36", resourceName="c")
    group = made(EKS_NODES, "n", clusterName="c", **inputs)
    found = [each for each in aging([control, group], KNOWN, date(2026, 11, 27)) if each.resource == "n"]
    assert bool(found) is bool(said)
    assert said in " ".join(each.detail for each in found)


def chart(name, version):
    return made("kubernetes:helm.sh/v3:Release", chart=name, version=version)


def rds(engine, version):
    return made("aws:rds/instance:Instance", engine=engine, engineVersion=version)


def pod(image):
    return made("kubernetes:core/v1:Pod", spec={"containers": [{"image": image}]})


def site(version, kind="app,linux"):
    return made(SITE, kind=kind, siteConfig={"linuxFxVersion": version})


def dataproc(version):
    return made("gcp:dataproc/cluster:Cluster", clusterConfig={"softwareConfig": {"imageVersion": version}})


def composer(version):
    return made("gcp:composer/environment:Environment", config={"softwareConfig": {"imageVersion": version}})


def disk(image):
    return made("gcp:compute/instance:Instance", bootDisk={"initializeParams": {"image": image}})


AZURE_POSTGRES, CLOUD_SQL = "azure-native:dbforpostgresql:Server", "gcp:sql/databaseInstance:DatabaseInstance"


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (chart("gpu-operator", "v23.9.0"), "older than v25.10.1"),
        (chart("kueue", "0.6.2"), "older than 0.16.6"),
        (pod("ghcr.io/kedacore/keda:2.14.0"), "older than 2.18.1"),
        (rds("postgres", "10.23"), "older than 11"),
        (rds("mysql", "5.6.51"), "older than 5.7"),
        (rds("mysql", "8.0.39"), "support ended on 2026-07-31"),
        (rds("aurora-mysql", "5.7.mysql_aurora.2.11.1"), "support ended on 2024-10-31"),
        (made(AZURE_POSTGRES, version="11"), "support ended on 2026-07-31"),
        (made(CLOUD_SQL, databaseVersion="POSTGRES_11"), "support ended on 2023-11-09"),
        (made(CLOUD_SQL, databaseVersion="POSTGRES_9_6"), "older than 11"),
        (made(CLOUD_SQL, databaseVersion="MYSQL_5_6"), "older than 5.7"),
        (made("gcp:cloudfunctions/function:Function", runtime="python37"), "older than 3.10"),
        (
            made("gcp:cloudfunctionsv2/function:Function", buildConfig={"runtime": "python38"}),
            "gcp/functions python38: ",
        ),
        (made(LAMBDA, runtime="nodejs0.10"), "older than 4.3"),
        (
            site("Python|3.8", "functionapp,linux"),
            "azure/functions python 3.8: support ended on 2025-10-31 (it is older",
        ),
        (site("Node|16", "functionapp,linux"), "azure/functions node 16: support ended on 2026-04-30"),
        (site("DOTNET-ISOLATED|5.0", "functionapp,linux"), "older than 6"),
        (site("DOTNET-ISOLATED|7.0", "functionapp,linux"), "azure/functions dotnet 7: support ended on 2024-05-14"),
        (site("PYTHON|3.8"), "azure/app-service python 3.8: support ended"),
        (site("PHP|8.0"), "azure/app-service php 8.0: support ended on 2025-12-31 (it is older than 8.1"),
        (site("PHP|7.4"), "older than 8.1"),
        (
            chart("oci://public.ecr.aws/karpenter/karpenter", "0.37.0"),
            "support ended on 2025-01-28 (it is older than 1.0",
        ),
        (chart("karpenter", "0.16.3"), "older than 1.0"),
        (chart("cert-manager", "v1.12.0"), "chart cert-manager 1.12: support ended on 2025-05-19"),
        (chart("oci://quay.io/jetstack/charts/cert-manager", "v1.8.0"), "older than 1.10"),
        (chart("istiod", "1.20.0"), "chart istiod 1.20: support ended on 2024-06-25"),
        (chart("keda", "2.9.0"), "chart keda 2.9"),
        (made("aws:emr/cluster:Cluster", releaseLabel="emr-6.5.0"), "aws/emr 6.5.0: support ended on 2026-10-15"),
        (made("aws:emr/cluster:Cluster", releaseLabel="emr-7.5.0"), "aws/emr 7.5.0: support ended on 2026-11-20"),
        (made("aws:glue/job:Job", glueVersion="2.0"), "support ended on 2026-04-01"),
        (dataproc("2.0-debian10"), "gcp/dataproc 2.0: support ended on 2025-09-30"),
        (dataproc("1.5-ubuntu18"), "older than 2.0"),
        (dataproc("2.1.40-rocky8"), "gcp/dataproc 2.1.40: support ended on 2026-03-31"),
        (composer("composer-1.20.12-airflow-1.10.15"), "gcp/composer 1.20.12: support ended on 2026-09-15"),
        (composer("composer-2.0.31-airflow-2.3.3"), "take Cloud Composer 3"),
        (made("aws:redshift/cluster:Cluster", nodeType="dc2.large"), "dc2.large: retired since"),
        (disk("debian-cloud/debian-8"), "Debian 8 (debian-cloud/debian-8): support ended on 2020-06-30"),
        (disk("windows-cloud/windows-2008-r2"), "Windows Server 2008 (windows-cloud/windows-2008-r2): support ended"),
        (disk("ubuntu-os-cloud/ubuntu-2410-oracular-amd64"), "Ubuntu 24.10 (ubuntu-os-cloud"),
        (disk("suse-cloud/sles-12-sp5"), "SLES 12.5 (suse-cloud/sles-12-sp5): support ended on 2024-10-31"),
        (disk("fedora-cloud/fedora-cloud-base-gcp-39-1-5-x86-64"), "Fedora 39"),
        (disk("centos-cloud/centos-stream-8"), "CentOS Stream 8"),
    ],
)
def test_what_is_older_than_the_table_has_ended_too(resource, said):
    (found,) = pressing(aging([resource], KNOWN, date(2026, 11, 27)))
    assert found.when == "ended"
    assert said in found.detail


@pytest.mark.parametrize(
    ("resource", "to"),
    [
        (rds("postgres", "10.23"), "engineVersion to 15 or newer"),
        (made(AZURE_POSTGRES, version="11"), "version to 16 or newer"),
        (made(CLOUD_SQL, databaseVersion="POSTGRES_11"), "databaseVersion to 16 or newer"),
        (made("aws:opensearch/domain:Domain", engineVersion="OpenSearch_2.5"), "engineVersion to 2.19 or newer"),
        (rds("aurora-mysql", "5.7.mysql_aurora.2.12.0"), "engineVersion"),  # no newer one is in the table
    ],
)
def test_the_fix_of_a_database_names_its_own_input_and_a_version_that_lasts(resource, to):
    (found,) = pressing(aging([resource], KNOWN, date(2026, 11, 27)))
    assert found.fix == f"raise {to}, after a backup"


@pytest.mark.parametrize(
    "resource",
    [
        chart("kueue", "0.19.5"), chart("gpu-operator", "v26.3.0"), chart("gpu-operator", "25.10.x"), chart("kueue", "0"),
        pod("ghcr.io/kedacore/keda:2.20.2"), pod("registry.k8s.io/kueue/kueue:main"), pod("nvcr.io/nvidia/driver:570"),
        rds("postgres", "16.4"), rds("mysql", "8"), rds("mysql", "8.4.3"),
        rds("aurora-mysql", "8.0.mysql_aurora.3.08.0"), rds("oracle-ee", "19"),
        made(AZURE_POSTGRES, version="17"), made(CLOUD_SQL, databaseVersion="POSTGRES_17"),
        chart("karpenter", "1.14.1"), chart("cert-manager", "v1.21.0"), chart("cert-manager", "v1.99.0"),
        dataproc("2.3-ubuntu22"), composer("composer-3-airflow-2.10.5"), composer("composer-2.9.7-airflow-2.9.3"),
        made("aws:emr/cluster:Cluster", releaseLabel="emr-7.12.0"), made("aws:glue/job:Job", glueVersion="5.0"),
        made("aws:emr/cluster:Cluster", releaseLabel=UNKNOWN), made("aws:redshift/cluster:Cluster", nodeType="ra3.large"),
        made("gcp:cloudfunctions/function:Function", runtime="go121"), site("Java|17"),
        disk("suse-cloud/sles-15"), disk("windows-cloud/windows-2025"), disk("fedora-coreos-cloud/fedora-coreos-stable"),
        made(CLOUD_SQL, databaseVersion="SQLSERVER_2022_STANDARD"),
    ],
)  # fmt: skip
def test_what_is_newer_or_says_no_version_has_not_ended(resource):
    assert not pressing(aging([resource], KNOWN, date(2026, 11, 27)))


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
        made("aws:rds/instance:Instance", engine="db2-se", engineVersion="19"),
    ]
    assert aging(resources, KNOWN, ON) == ()


@pytest.mark.parametrize(
    "resource",
    [
        made("aws:rds/instance:Instance", engine=UNKNOWN, engineVersion="13"),
        made(AKS, resourceName=UNKNOWN, kubernetesVersion="1.36", agentPoolProfiles=UNKNOWN),
        made(GKE, name=UNKNOWN, nodeVersion=UNKNOWN, minMasterVersion="1.36"),
        made("aws:eks/cluster:Cluster", name=UNKNOWN, version=UNKNOWN),
        made(EKS_NODES, version=UNKNOWN, amiType=UNKNOWN, releaseVersion=UNKNOWN),
        made("kubernetes:helm.sh/v3:Release", chart=UNKNOWN, version="1", values={"image": {"repository": "a/b", "tag": UNKNOWN}}),
        made("kubernetes:helm.sh/v3:Release", chart="oci://registry-1.docker.io/bitnamicharts/redis", values={"global": {"imageRegistry": UNKNOWN}}),
        made("gcp:compute/getImage:getImage", project="debian-cloud", family=UNKNOWN),
        dataproc(UNKNOWN), composer(UNKNOWN), site(UNKNOWN), disk(UNKNOWN),
    ],
)  # fmt: skip
def test_a_value_that_is_not_known_yet_is_passed_over(resource):
    assert not pressing(aging([resource], KNOWN, ON))


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


def azure_image(offer, sku, publisher="canonical"):
    return {"publisher": publisher, "offer": offer, "sku": sku, "version": "latest"}


AL2 = "resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2"
DLAMI = "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu"
FOCAL = "resolve:ssm:/aws/service/canonical/ubuntu/server/20.04/stable/current/amd64/hvm/ebs-gp2/ami-id"
DISK = {"bootDisk": {"initializeParams": {"image": "debian-cloud/debian-10"}}}
PROFILE = {"storageProfile": {"imageReference": azure_image("ubuntu-hpc", "2004", "microsoft-dsvm")}}


@pytest.mark.parametrize(
    ("type_", "inputs", "said"),
    [
        (EKS_NODES, {"amiType": "AL2_x86_64_GPU"}, "AL2_x86_64_GPU: support ended on 2025-11-26"),
        (EKS_NODES, {"amiType": "AL2_ARM_64"}, "Kubernetes 1.32 was the last that had it"),
        ("aws:batch/computeEnvironment:ComputeEnvironment",
         {"computeResources": {"ec2Configurations": [{"imageType": "ECS_AL2_NVIDIA"}]}},
         "Amazon Linux 2 (ECS_AL2_NVIDIA): support ended on 2026-06-30"),
        ("aws:sagemaker/notebookInstance:NotebookInstance", {"platformIdentifier": "notebook-al1-v1"},
         "Amazon Linux 1 (notebook-al1-v1): support ended on 2023-12-31"),
        ("aws:ec2/launchTemplate:LaunchTemplate", {"imageId": AL2}, f"Amazon Linux 2 ({AL2}): support ended"),
        ("aws:ec2/instance:Instance", {"ami": FOCAL}, f"Ubuntu 20.04 ({FOCAL}): support ended on 2025-05-31"),
        ("aws-native:ec2:LaunchTemplate", {"launchTemplateData": {"imageId": AL2}}, "Amazon Linux 2"),
        ("gcp:compute/instance:Instance", DISK, "Debian 10 (debian-cloud/debian-10): support ended on 2024-06-30"),
        ("azure-native:compute:VirtualMachineScaleSet", {"virtualMachineProfile": PROFILE},
         "Ubuntu 20.04 (microsoft-dsvm:ubuntu-hpc:2004): support ended"),
        ("azure:compute/linuxVirtualMachine:LinuxVirtualMachine",
         {"sourceImageReference": azure_image("0001-com-ubuntu-server-focal", "20_04-lts-gen2")}, "Ubuntu 20.04"),
        ("gcp:compute/instance:Instance", {"guestAccelerators": [{"type": "nvidia-tesla-k80", "count": 1}]},
         "nvidia-tesla-k80: retired since 2024-05-01"),
        ("azure-native:compute:VirtualMachine", {"hardwareProfile": {"vmSize": "Standard_NV12s_v3"}},
         "Standard_NV12s_v3: was to be retired on 2026-09-30, as was known on 2025-12-18"),
        ("azure-native:compute:VirtualMachineScaleSet", {"sku": {"name": "Standard_NC6s_v3"}}, "since 2025-09-30"),
        ("azure-native:machinelearningservices:Compute", {"properties": {"properties": {"vmSize": "STANDARD_NC6"}}},
         "STANDARD_NC6: retired since 2023-09-06"),
        (AGENTS, {"vmSize": "Standard_NC24r"}, "retired since 2023-09-06"),
        (AGENTS, {"vmSize": "Standard_ND12s"}, "retired since 2023-09-06"),
        (AGENTS, {"osSKU": "CBLMariner"}, "Azure Linux 2 (CBLMariner): support ended on 2025-11-30"),
        (AGENTS, {"osSKU": "Windows2019"}, "Kubernetes 1.32 was the last that had it"),
        ("azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool", {"osSku": "WindowsAnnual"}, "ended"),
        ("gcp:compute/instance:Instance", {"bootDisk": {"initializeParams": {"image": "rhel-cloud/rhel-7"}}},
         "RHEL 7 (rhel-cloud/rhel-7): support ended on 2024-06-30"),
        ("gcp:compute/instance:Instance", {"bootDisk": {"initializeParams": {"image": "windows-cloud/windows-2012-r2"}}},
         "Windows Server 2012"),
        ("azure-native:compute:VirtualMachine", {"image": azure_image("RHEL", "7.9", "RedHat")}, "RHEL 7"),
        ("kubernetes:helm.sh/v3:Release", {"chart": "ingress-nginx", "version": "4.11.3"}, "the project is retired"),
        ("kubernetes:apps/v1:Deployment", {"spec": {"image": "docker.io/bitnami/postgresql:15.4.0-debian-11-r10"}},
         "support ended on 2025-09-29 (images with a version were taken away"),
        ("kubernetes:apps/v1:Deployment", {"spec": {"image": "bitnami/redis:7.2"}}, "docker.io/bitnamilegacy"),
        ("kubernetes:apps/v1:Deployment", {"spec": {"image": "registry.k8s.io/ingress-nginx/controller:v1.11.3"}}, "retired"),
        ("kubernetes:apps/v1:Deployment", {"spec": {"image": "k8s.gcr.io/pause:3.5"}}, "take registry.k8s.io"),
        ("aws:msk/cluster:Cluster", {"kafkaVersion": "2.7.1"}, "aws:msk/kafka 2.7: support ended on 2024-09-11"),
        ("aws:neptune/cluster:Cluster", {"engineVersion": "1.1.0.0"}, "support ended on 2025-03-15"),
        ("aws:mq/broker:Broker", {"engineType": "RabbitMQ", "engineVersion": "3.12.13"}, "aws:mq/rabbitmq 3.12"),
        ("aws:docdb/cluster:Cluster", {"engineVersion": "3.6.0"}, "extended support until 2029-03-30, at a fee"),
        ("aws:elasticache/replicationGroup:ReplicationGroup", {"engine": "redis", "engineVersion": "5.0.6"}, "2026-01-31"),
        ("aws:opensearch/domain:Domain", {"engineVersion": "OpenSearch_2.5"}, "ended on 2025-11-07"),
        ("aws:rds/instance:Instance", {"engine": "mariadb", "engineVersion": "10.4.34"}, "aws:rds/mariadb 10.4"),
        ("gcp:sql/databaseInstance:DatabaseInstance", {"databaseVersion": "MYSQL_8_0_31"}, "ended on 2026-04-30"),
        ("gcp:sql/databaseInstance:DatabaseInstance", {"databaseVersion": "POSTGRES_14"}, "ended on 2026-11-12"),
        ("azure-native:dbformysql:Server", {"version": "5.7"}, "ended on 2026-07-31 (end of standard support"),
        (AGENTS, {"osSKU": "Flatcar"}, "Flatcar on AKS preview (Flatcar): support ended on 2026-06-08"),
        (LAMBDA, {"runtime": "python3.9"}, "support ended on 2025-12-15 (functions with it can be changed until 2027-03-03"),
        (LAMBDA, {"runtime": "python3.10"}, "support was to end on 2026-10-31, as was known on 2026-08-22"),
        ("aws-native:lambda:Function", {"runtime": "nodejs12.x"}, "created or changed with it since 2023-04-30"),
        ("gcp:cloudfunctionsv2/function:Function", {"buildConfig": {"runtime": "nodejs18"}}, "since 2025-10-30"),
        ("gcp:cloudfunctions/function:Function", {"runtime": "nodejs14"}, "gcp/functions nodejs14: support ended"),
        (SITE, {"kind": "functionapp,linux", "siteConfig": {"linuxFxVersion": "Python|3.9"}},
         "azure/functions python 3.9: support ended on 2025-10-31"),
        (SITE, {"kind": "app,linux", "siteConfig": {"linuxFxVersion": "NODE|18-lts"}}, "azure/app-service node 18"),
        (SITE, {"siteConfig": {"linuxFxVersion": "DOTNETCORE|6.0"}}, "azure/app-service dotnet 6: support ended"),
        ("azure:appservice/linuxFunctionApp:LinuxFunctionApp",
         {"siteConfig": {"applicationStack": {"powershellCoreVersion": "7.2"}}}, "azure/functions powershell 7.2"),
        ("azure-native:network:LoadBalancer", {"sku": {"name": "Basic"}}, "Basic: support ended on 2025-09-30"),
        ("azure:network/publicIp:PublicIp", {"sku": "Basic"}, "take the SKU Standard"),
        (AKS, {"networkProfile": {"loadBalancerSku": "basic"}}, "azure/aks-load-balancer Basic"),
        (AKS, {"agentPoolProfiles": [{"type": "AvailabilitySet"}]}, "VirtualMachineScaleSets or VirtualMachines"),
        (AGENTS, {"type": "AvailabilitySet"}, "support ended on 2025-09-30"),
        ("azure:cognitive/deployment:Deployment", {"model": {"name": "gpt-4", "version": "0613"}}, "gpt-4 0613"),
        (GKE, {"minMasterVersion": "1.32.13"}, "Kubernetes 1.32.13 on gke: support ended on 2026-04-11"),
        (GKE, {"minMasterVersion": "1.31", "releaseChannel": {"channel": "EXTENDED"}}, "support ended on 2026-10-25"),
        ("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", {"spec": {"amiSelectorTerms": [{"alias": "al2@latest"}]}},
         "al2@latest of Karpenter: support ended on 2025-11-26 (Amazon Linux 2"),
        ("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", {"spec": {"amiFamily": "AL2"}}, "1.32 was the last"),
        ("kubernetes:batch/v1beta1:CronJob", {}, "batch/v1beta1 of CronJob: Kubernetes 1.24 was the last that served it"),
        ("kubernetes:autoscaling/v2beta2:HorizontalPodAutoscaler", {}, "Kubernetes 1.25 was the last"),
        ("kubernetes:resource.k8s.io/v1alpha2:ResourceClass", {}, "Kubernetes 1.30 was the last"),
        ("kubernetes:resource.k8s.io/v1alpha3:ResourceClaimTemplate", {}, "Kubernetes 1.33 was the last"),
        ("kubernetes:policy/v1beta1:PodDisruptionBudgetPatch", {}, "Kubernetes 1.24 was the last"),
        ("aws:appmesh/mesh:Mesh", {}, "AWS App Mesh: the service ended on 2026-09-30; take Amazon ECS Service Connect"),
        ("aws:kinesis/analyticsApplication:AnalyticsApplication", {}, "Kinesis Data Analytics for SQL: the service ended"),
        ("aws:elastictranscoder/pipeline:Pipeline", {}, "ended on 2025-11-13; take AWS Elemental MediaConvert"),
        ("aws-native:evidently:Project", {}, "Evidently: the service ended on 2025-10-16; take AWS AppConfig"),
        ("aws:pinpoint/app:App", {}, "of Amazon Pinpoint: the service ended on 2026-10-30"),
        ("azure-native:dbformariadb:Server", {}, "Database for MariaDB: the service ended on 2025-09-19"),
        ("azure-native:synapse/v20210601:KustoPool", {}, "Data Explorer pools of Azure Synapse: the service ended"),
        ("gcp:pubsub/liteTopic:LiteTopic", {}, "Pub/Sub Lite: the service ended on 2026-03-18; take Pub/Sub"),
        (AKS, {"addonProfiles": {"httpApplicationRouting": {"enabled": True}}}, "httpApplicationRouting: support ended"),
        (AKS, {"podIdentityProfile": {"enabled": True}}, "take workload identity"),
        ("azure:containerservice/kubernetesCluster:KubernetesCluster", {"httpApplicationRoutingEnabled": True},
         "ended on 2025-03-03"),
        ("azure-native:containerinstance:ContainerGroup",
         {"containers": [{"resources": {"requests": {"gpu": {"count": 1, "sku": "V100"}}}}]}, "V100: support ended"),
        ("azure:containerservice/group:Group", {"containers": [{"gpu": {"count": 1, "sku": "K80"}}]}, "K80: support"),
        ("azure-native:cognitiveservices:Account", {"kind": "LUIS"}, "take conversational language understanding"),
        ("aws:rds/cluster:Cluster", {"engineMode": "serverless"}, "take engine_mode provisioned with serverlessv2"),
        ("aws:rds/cluster:Cluster", {"engineMode": "multimaster"}, "multimaster: support ended on 2023-02-28"),
        ("aws:rds/instance:Instance", {"instanceClass": "db.m4.large"}, "retired since 2024-06-01; take db.m7g"),
        ("aws:rds/clusterInstance:ClusterInstance", {"instanceClass": "db.r4.large"}, "take db.r7g or db.r6i"),
    ],
)  # fmt: skip
def test_ended_systems_machines_and_apis_are_named_in_any_program(type_, inputs, said):
    (found,) = pressing(aging([made(type_, **inputs)], KNOWN, date(2026, 11, 27)))
    assert found.when == "ended"
    assert said in f"{found.detail}; {found.fix}"
    assert found.fix


@pytest.mark.parametrize(
    ("type_", "inputs", "fix"),
    [
        (AGENTS, {"osSKU": "CBLMariner"}, "set osSKU to Ubuntu or AzureLinux"),
        (EKS_NODES, {"amiType": "AL2_ARM_64"}, "take an ami_type of Amazon Linux 2023 or Bottlerocket"),
        ("azure-native:compute:VirtualMachine", {"image": azure_image("0001-com-ubuntu-server-focal", "20_04-lts")},
         "such as Ubuntu 24.04 or Debian 12"),
        ("gcp:compute/instance:Instance", DISK, "such as Debian 12, Ubuntu 24.04 or Rocky Linux 9"),
        ("aws:ec2/instance:Instance", {"ami": FOCAL}, "such as Amazon Linux 2023 or Ubuntu 24.04"),
        ("azure-native:compute:VirtualMachineScaleSet", {"virtualMachineProfile": PROFILE}, "SKU 2204 or 2404"),
        ("aws:ec2/instance:Instance", {"ami": f"{DLAMI}-ubuntu-20.04/latest/ami-id"}, "take the Deep Learning AMI of"),
        ("aws:ec2/instance:Instance",
         {"ami": "resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2/gpu/recommended/image_id"},
         "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended"),
        ("aws:ec2/launchTemplate:LaunchTemplate",
         {"imageId": "resolve:ssm:/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id"},
         "amazon-linux-2023/x86_64/nvidia"),
        ("gcp:compute/instance:Instance",
         {"bootDisk": {"initializeParams": {"image": "deeplearning-platform-release/pytorch-latest-gpu-debian-11"}}},
         "take a newer Deep Learning VM"),
        ("gcp:compute/instance:Instance", {"bootDisk": {"initializeParams": {"image": "windows-cloud/windows-2016"}}},
         "take Windows Server 2022 or 2025"),
        (AGENTS, {"osSKU": "Windows2019"}, "or to a newer one of Windows"),
    ],
)  # fmt: skip
def test_the_fix_of_an_ended_system_names_those_that_its_place_has(type_, inputs, fix):
    (found,) = pressing(aging([made(type_, **inputs)], KNOWN, date(2026, 11, 27)))
    assert fix in found.fix


@pytest.mark.parametrize(
    ("image", "until", "on"),
    [
        (f"{DLAMI}-ubuntu-22.04/latest/ami-id", "2027-04-01", date(2027, 7, 15)),
        (
            "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
            "2027-04-01",
            date(2027, 3, 1),
        ),
        ("Windows_Server-2016-English-Full-Base-*", "2027-01-12", date(2026, 11, 27)),
        ("MicrosoftWindowsServer:WindowsServer:2016-datacenter-gensecond", "2027-01-12", date(2026, 11, 27)),
        ("projects/fedora-cloud/global/images/fedora-cloud-base-gcp-43-1-6-x86-64", "2026-12-09", date(2026, 11, 27)),
        ("debian-12-amd64-*", "2028-06-30", date(2028, 6, 1)),
        ("RHEL-8.10.0_HVM-*", "2029-05-31", date(2029, 5, 1)),
    ],
)
def test_a_coming_end_of_any_system_is_told(image, until, on):
    (found,) = pressing(aging([made("aws:ec2/instance:Instance", ami=image)], KNOWN, on))
    assert found.until == until


def test_a_chart_whose_images_were_taken_away_is_told_unless_it_names_others():
    bitnami = {"chart": "oci://registry-1.docker.io/bitnamicharts/postgresql", "version": "15.5.0"}
    classic = {"chart": "redis", "repositoryOpts": {"repo": "https://charts.bitnami.com/bitnami"}}
    for inputs in (bitnami, classic):
        (found,) = pressing(aging([made("kubernetes:helm.sh/v3:Release", **inputs)], KNOWN, date(2026, 11, 27)))
        assert found.when == "ended"
        assert "docker.io/bitnamilegacy" in found.detail
        assert inputs["chart"].rpartition("/")[2] in found.what
        elsewhere = {"global": {"imageRegistry": "mirror.example"}}
        assert not pressing(aging([made("kubernetes:helm.sh/v3:Release", **inputs, values=elsewhere)], KNOWN, ON))


@pytest.mark.parametrize(
    ("type_", "inputs"),
    [
        (EKS_NODES, {"amiType": "AL2023_x86_64_NVIDIA", "instanceTypes": ["g6.xlarge"]}),
        ("aws:ec2/instance:Instance", {"ami": FOCAL.replace("ubuntu/server/20.04", "ubuntu/pro-server/20.04")}),
        ("gcp:compute/instance:Instance", {"bootDisk": {"initializeParams": {"image": "ubuntu-2404-noble-v20042004"}}}),
        ("azure-native:compute:VirtualMachine",
         {"hardwareProfile": {"vmSize": "Standard_NC4as_T4_v3"}, "image": azure_image("ubuntu-pro-focal", "pro-20_04")}),
        (AGENTS, {"vmSize": "Standard_NC24ads_A100_v4", "osSKU": "Ubuntu"}),
        (AGENTS, {"vmSize": "Standard_ND96isr_H100_v5", "osSKU": "AzureLinux3"}),
        (AGENTS, {"vmSize": "Standard_NC40ads_H100_v5", "osSKU": "Windows2022", "type": "VirtualMachineScaleSets"}),
        ("kubernetes:apps/v1:Deployment", {"spec": {"image": "bitnamilegacy/redis:7.2"}}),
        ("kubernetes:apps/v1:Deployment", {"spec": {"image": "mirror.example/bitnami/redis:7.2"}}),
        ("kubernetes:apps/v1:Deployment", {"spec": {"image": "bitnami/redis:latest"}}),
        ("aws:msk/cluster:Cluster", {"kafkaVersion": "3.9.x"}),
        ("gcp:sql/databaseInstance:DatabaseInstance", {"databaseVersion": "POSTGRES_17"}),
        ("aws:opensearch/domain:Domain", {"engineVersion": "Elasticsearch_7.10"}),
        ("aws:elasticache/replicationGroup:ReplicationGroup", {"engine": "valkey", "engineVersion": "8.0"}),
        (LAMBDA, {"runtime": "python3.13"}),
        (LAMBDA, {"runtime": "nodejs24.x"}),
        (LAMBDA, {"runtime": "python3.99"}),
        (LAMBDA, {"packageType": "Image", "imageUri": "1.dkr.ecr.us-east-1.amazonaws.com/f:1", "runtime": UNKNOWN}),
        ("gcp:cloudfunctionsv2/function:Function", {"buildConfig": {"runtime": "nodejs22"}}),
        (SITE, {"siteConfig": {"linuxFxVersion": "DOCKER|nginx:1.27"}}),
        (SITE, {"siteConfig": {"linuxFxVersion": "NODE|22-lts"}}),
        (SITE, {"siteConfig": UNKNOWN}),
        ("azure-native:network:LoadBalancer", {"sku": {"name": "Standard"}}),
        ("aws:kinesis/stream:Stream", {}),
        ("aws:pinpoint/smsChannel:SmsChannel", {}),
        ("azure-native:storagecache:AmlFilesystem", {}),
        ("gcp:pubsub/topic:Topic", {}),
        (AKS, {"addonProfiles": {"httpApplicationRouting": {"enabled": False}, "azurepolicy": {"enabled": True}}}),
        ("azure-native:cognitiveservices:Account", {"kind": "OpenAI"}),
        ("aws:rds/cluster:Cluster", {"engineMode": "provisioned"}),
        ("aws:rds/instance:Instance", {"instanceClass": "db.m7g.large"}),
        (AKS, {"networkProfile": {"loadBalancerSku": "standard"}}),
        (GKE, {"minMasterVersion": "1.33", "releaseChannel": {"channel": "EXTENDED"}}),
        ("gcp:compute/instance:Instance", {"bootDisk": {"initializeParams": {"image": "windows-cloud/windows-2019"}}}),
        ("gcp:compute/instance:Instance", {"bootDisk": {"initializeParams": {"image": "rhel-cloud/rhel-9-v20260701"}}}),
        ("azure-native:compute:VirtualMachine", {"image": azure_image("RHEL", "9_7", "RedHat")}),
        ("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", {"spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]}}),
        ("kubernetes:batch/v1:CronJob", {}),
        # kinds that came later into the same version of the group
        ("kubernetes:networking.k8s.io/v1beta1:IPAddress", {}),
        ("kubernetes:admissionregistration.k8s.io/v1beta1:ValidatingAdmissionPolicy", {}),
    ],
)  # fmt: skip
def test_what_is_supported_is_not_said_to_have_ended(type_, inputs):
    assert not pressing(aging([made(type_, **inputs)], KNOWN, date(2026, 11, 27)))


def test_of_what_ended_whole_no_version_is_named_and_none_is_asked_for():
    chart = made("kubernetes:helm.sh/v3:Release", chart="ingress-nginx", version="4.11.3")
    (found,) = pressing(aging([chart], KNOWN, date(2026, 11, 28)))
    assert found.what == "chart ingress-nginx"
    assert "take a controller of the Gateway API" in found.detail
    assert found.fix == "no version of it is supported: take another in its place"


def beanstalk(platform):
    return made("aws:elasticbeanstalk/environment:Environment", solutionStackName=f"64bit {platform}")


def build(image):
    return made("aws:codebuild/project:Project", environment={"image": f"aws/codebuild/{image}"})


def rds(engine, version):
    return made("aws:rds/instance:Instance", engine=engine, engineVersion=version)


def functions(version, runtime):
    settings = [{"name": "FUNCTIONS_EXTENSION_VERSION", "value": version}]
    site = {"linuxFxVersion": runtime, "appSettings": settings}
    return made(SITE, kind="functionapp,linux", siteConfig=site)


def gateway(tier):
    return made("azure-native:network:ApplicationGateway", sku={"name": tier, "tier": tier})


def vpn(sku, kind):
    return made("azure-native:network:VirtualNetworkGateway", sku={"name": sku}, gatewayType=kind)


@pytest.mark.parametrize(
    ("resource", "ended"),
    [
        (rds("sqlserver-se", "12.00.6449.1.v1"), ["sqlserver 12.00"]),
        (rds("sqlserver-ee", "15.00.4455.2.v1"), []),
        (rds("oracle-ee", "12.1.0.2.v30"), ["oracle 12.1"]),
        (rds("oracle-se2", "19.0.0.0.ru-2026-07.rur-2026-07.r1"), []),
        (made("aws:opensearch/domain:Domain", engineVersion="Elasticsearch_7.4"), ["elasticsearch 7.4"]),
        (made("aws:elasticsearch/domain:Domain", elasticsearchVersion="6.7"), ["elasticsearch 6.7"]),
        (made("aws:opensearch/domain:Domain", engineVersion="Elasticsearch_6.8"), []),  # whose end is not known
        (made("aws:msk/cluster:Cluster", kafkaVersion="2.8.1"), ["kafka 2.8.1"]),
        (beanstalk("Amazon Linux 2 v3.5.0 running Python 3.8"), ["beanstalk Amazon Linux 2"]),
        (beanstalk("Amazon Linux 2018.03 v2.9.0 running Multi-container Docker"), ["beanstalk Amazon Linux AMI"]),
        (beanstalk("Amazon Linux 2023 v6.1.0 running Node.js 18"), ["beanstalk node 18"]),
        (beanstalk("Amazon Linux 2023 v4.5.0 running Python 3.13"), []),
        (build("standard:4.0"), ["codebuild standard 4.0"]),
        (build("standard:7.0"), []),
        (build("amazonlinux2-x86_64-standard:3.0"), ["codebuild amazonlinux2-x86_64-standard 3.0"]),
        (made("aws:kinesisanalyticsv2/application:Application", runtimeEnvironment="FLINK-1_8"), ["flink 1.8"]),
        (made("aws:kinesisanalyticsv2/application:Application", runtimeEnvironment="FLINK-1_20"), []),
        (made("aws:kinesisanalyticsv2/application:Application", runtimeEnvironment="SQL-1_0"), []),
        (made("azure-native:synapse:BigDataPool", sparkVersion="3.3"), ["synapse-spark 3.3"]),
        (made("azure-native:hdinsight:Cluster", properties={"clusterVersion": "4.0"}), ["hdinsight 4.0"]),
        (functions("~3", "PYTHON|3.10"), ["functions python 3.10", "functions-host 3"]),
        (functions("~4", "PYTHON|3.13"), []),
        (gateway("WAF"), ["application-gateway WAF"]),
        (gateway("Standard_v2"), []),
        (made("azure-native:cdn:Profile", sku={"name": "Standard_Verizon"}), ["cdn Standard_Verizon"]),
        (made("azure-native:cdn:Profile", sku={"name": "Premium_AzureFrontDoor"}), []),
        (vpn("VpnGw1", "Vpn"), ["vpn-gateway VpnGw1"]),
        (vpn("Standard", "ExpressRoute"), []),
        (made("azure-native:storage:StorageAccount", kind="BlobStorage"), ["storage-account BlobStorage"]),
        (made("gcp:sql/databaseInstance:DatabaseInstance", databaseVersion="SQLSERVER_2022_STANDARD"), []),
    ],
)  # fmt: skip
def test_products_that_their_cloud_ended_are_said(resource, ended):
    found = aging([resource], KNOWN, date(2026, 11, 28))
    assert sorted(each.what.partition("/")[2] for each in found if each.when == "ended") == ended
    assert all(each.fix for each in found if each.when == "ended")


def test_the_way_out_of_a_retired_size_of_azure_is_a_size_with_a_price():
    notes = [row.note for row in KNOWN.releases if row.kind == "machine" and row.name.startswith("azure/")]
    named = {size for note in notes for size in note.removeprefix("take ").split(" or ") if not size.startswith("a ")}
    listed = {shape.instance_type for shape in catalog.load().shapes}
    assert named
    assert [size for size in sorted(named) if size not in listed and not is_listed("azure", size)] == []


AGENT, PROFILE = "aws:bedrock/agentAgent:AgentAgent", "aws:bedrock/inferenceProfile:InferenceProfile"
THROUGHPUT = "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput"
ARN = "arn:aws:bedrock:us-east-1::foundation-model/"


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (made(AGENT, foundationModel="anthropic.claude-v2:1"), "anthropic.claude-v2:1 of Amazon Bedrock: support ended on"),
        (made(AGENT, foundationModel="eu.anthropic.claude-3-5-sonnet-20240620-v1:0"), "ended on 2026-07-30; requests"),
        (made(AGENT, foundationModel="us.anthropic.claude-opus-4-1-20250805-v1:0"), "support ends in 42 days"),
        (made(AGENT, foundationModel="global.anthropic.claude-sonnet-4-20250514-v1:0"), "support ended on 2026-10-14"),
        (made("aws-native:bedrock:Agent", foundationModel="amazon.titan-text-express-v1"), "had ended by then"),
        (made(THROUGHPUT, modelArn=f"{ARN}anthropic.claude-v2:1:200k"), "support ended on 2025-07-21"),
        (made(THROUGHPUT, modelArn=f"{ARN}meta.llama3-70b-instruct-v1:0"), "sells no new provisioned throughput"),
        (made(PROFILE, modelSource={"copyFrom": f"{ARN}anthropic.claude-3-sonnet-20240229-v1:0"}), "2026-07-30"),
        (
            made(PROFILE, modelSource={"copyFrom": "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.meta.llama3-2-1b-instruct-v1:0"}),
            "eu.meta.llama3-2-1b-instruct-v1:0 of Amazon Bedrock: support ended on 2026-07-07",
        ),
        (made("aws:bedrock/customModel:CustomModel", baseModelIdentifier=f"{ARN}cohere.command-text-v14"), "2025-08-12"),
        (made(LAMBDA, environment={"variables": {"MODEL": "anthropic.claude-3-haiku-20240307-v1:0"}}), "2026-09-10"),
        (made("gcp:cloudrunv2/service:Service", template={"containers": [{"envs": [{"value": "gemini-1.5-pro-002"}]}]}), "Vertex AI"),
        (
            made("aws:ecs/taskDefinition:TaskDefinition", containerDefinitions='[{"environment": [{"name": "M", "value": "anthropic.claude-v2"}]}]'),
            "model anthropic.claude-v2 of",
        ),
        (made("aws:sfn/stateMachine:StateMachine", definition=f'{{"ModelId": "{ARN}amazon.nova-reel-v1:1"}}'), "2026-09-30"),
        (made("aws:organizations/policy:Policy", content=f'{{"Resource": "{ARN}anthropic.claude-v2"}}'), ""),
        (made("aws:sfn/stateMachine:StateMachine", definition="{not JSON"), ""),
        (made("gcp:dialogflow/cxGenerator:CxGenerator", llmModelSettings={"model": "gemini-2.0-flash-001"}), "2026-06-01"),
        (made(AGENT, foundationModel="anthropic.claude-sonnet-4-6"), ""),
        (made(AGENT, foundationModel="amazon.nova-lite-v1:0"), ""),
        (made(AGENT, foundationModel="eu.anthropic.claude-haiku-4-5-20251001-v1:0"), ""),
        (made(AGENT, foundationModel="meta.llama3-70b-instruct-v1:0"), ""),
        (made(THROUGHPUT, modelArn=f"{ARN}amazon.nova-pro-v1:0"), ""),
        (replace(made(THROUGHPUT, modelArn=f"{ARN}meta.llama3-70b-instruct-v1:0"), outputs={"id": "1"}), ""),
        (made("aws:iam/policy:Policy", policy={"Statement": [{"Resource": f"{ARN}anthropic.claude-v2:1"}]}), ""),
        (made("aws:route53/record:Record", name="meta.example.com", records=["amazon.titan.example"]), ""),
        (made("gcp:cloudrunv2/service:Service", template={"containers": [{"envs": [{"value": "gemini-3.5-flash"}]}]}), ""),
    ],
)  # fmt: skip
def test_a_model_of_a_cloud_s_own_service_is_told_by_any_of_its_names(resource, said):
    found = [each.detail for each in pressing(aging([resource], KNOWN, date(2026, 11, 27)))]
    assert (len(found), said in "".join(found)) == (1 if said else 0, True)


CANARY, RUNNER = "aws:synthetics/canary:Canary", "aws:apprunner/service:Service"
FLOW_LOG, VM, CLASSIC_VM = (
    "azure-native:network:FlowLog",
    "azure-native:compute:VirtualMachine",
    "azure:compute/virtualMachine:VirtualMachine",
)
GROUP = "urn:pulumi:dev::p::azure-native:network:NetworkSecurityGroup::web"
VHD = {"createOption": "FromImage", "vhd": {"uri": "https://a.blob.core.windows.net/vhds/os.vhd"}}
MANAGED = {"createOption": "FromImage", "managedDisk": {"storageAccountType": "Premium_LRS"}}
NETWORK = "/subscriptions/0/resourceGroups/n/providers/Microsoft.Network/"


def app_runner(runtime):
    values = {"runtime": runtime, "startCommand": "run"}
    return made(
        RUNNER, sourceConfiguration={"codeRepository": {"codeConfiguration": {"codeConfigurationValues": values}}}
    )


def vm(os_disk, *data_disks):
    return made(VM, storageProfile={"osDisk": os_disk, "dataDisks": list(data_disks)})


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (made(CANARY, runtimeVersion="syn-nodejs-puppeteer-3.9"), "nodejs-puppeteer 3.9: support ended on 2024-01-08"),
        (made(CANARY, runtimeVersion="syn-nodejs-puppeteer-3.5"), "it is older than 3.8"),
        (made(CANARY, runtimeVersion="syn-1.0"), "nodejs-puppeteer 1.0"),
        (made(CANARY, runtimeVersion="syn-nodejs-2.2"), "nodejs-puppeteer 2.2"),
        (made(CANARY, runtimeVersion="syn-python-selenium-1.0"), "python-selenium 1.0"),
        (made("aws-native:synthetics:Canary", runtimeVersion="syn-python-selenium-5.1"), "ended on 2026-02-03"),
        (made(CANARY, runtimeVersion="syn-nodejs-puppeteer-15.0"), ""),
        (made(CANARY, runtimeVersion="syn-python-selenium-8.0"), ""),
        (made(CANARY, runtimeVersion="syn-nodejs-playwright-4.0"), ""),
        (app_runner("NODEJS_14"), "app-runner NODEJS_14: support ended on 2025-12-01"),
        (app_runner("PHP_81"), "ended on 2025-12-31"),
        (app_runner("NODEJS_22"), ""),
        (made(FLOW_LOG, targetResourceId=f"{NETWORK}networkSecurityGroups/web"), "none can be created after 2025-06-30"),
        (replace(made(FLOW_LOG, targetResourceId=UNKNOWN), property_dependencies={"targetResourceId": (GROUP,)}), "none can be"),
        (made("azure:network/networkWatcherFlowLog:NetworkWatcherFlowLog", networkSecurityGroupId=f"{NETWORK}networkSecurityGroups/w"), "none can be"),
        (replace(made(FLOW_LOG, targetResourceId=f"{NETWORK}networkSecurityGroups/web"), outputs={"id": "1"}), ""),
        (made(FLOW_LOG, targetResourceId=f"{NETWORK}virtualNetworks/v"), ""),
        (made("azure-native:cdn:Profile", sku={"name": "Standard_Microsoft"}), "none can be created after 2025-09-30"),
        (made("azure-native:frontdoor:FrontDoor", frontDoorName="f"), "(classic): none can be created any more"),
        (made("azure:frontdoor/frontdoor:Frontdoor", name="f"), "(classic): none can be created any more"),
        (replace(made("azure-native:frontdoor:FrontDoor"), outputs={"id": "1"}), ""),
        (made("azure-native:frontdoor:Policy"), ""),
        (vm(VHD), "azure/disk unmanaged"),
        (vm(MANAGED, VHD), "azure/disk unmanaged"),
        (made(CLASSIC_VM, storageOsDisk={"vhdUri": "https://a.blob.core.windows.net/vhds/os.vhd"}), "azure/disk unmanaged"),
        (made(CLASSIC_VM, storageOsDisk={"managedDiskType": "Standard_LRS"}), ""),
        (vm(MANAGED, MANAGED), ""),
        (made("azure-native:sql:Database", sku={"name": "GP_Fsv2_8"}), "azure/sql-database GP_Fsv2: support was to end"),
        (made("azure:mssql/database:Database", skuName="GP_Gen5_2"), ""),
        (made("azure-native:maps:Account", sku={"name": "S1"}), "azure/maps S1"),
        (made("azure-native:maps:Account", sku={"name": "G2"}), ""),
        (made("azure-native:web:StaticSite", sku={"name": "Dedicated"}), "azure/static-site Dedicated"),
        (made("azure-native:azureplaywrightservice:Account"), "Microsoft Playwright Testing"),
        (made(VM, hardwareProfile={"vmSize": "Standard_HB60rs"}), "Standard_HB60rs: retired since 2024-08-31"),
    ],
)  # fmt: skip
def test_what_is_closed_to_new_ones_is_said_of_new_ones(resource, said):
    found = [each.detail for each in pressing(aging([resource], KNOWN, date(2026, 11, 27)))]
    assert (bool(found), said in "".join(found)) == (bool(said), True)


INSTALLED = tuple(
    token
    for package in (pulumi_aws, pulumi_azure_native, pulumi_gcp)
    for token in re.findall(r'"((?:aws|azure-native|gcp):[\w./-]+:\w+)"', Path(package.__file__).read_text())
)
# Of aws-native and of classic Azure, whose packages are not installed here.
ELSEWHERE = {
    *(f"aws/{each}:*" for each in (
        "iot1click", "iotanalytics", "iotevents", "kinesisanalytics", "lookoutequipment", "lookoutmetrics",
        "lookoutvision", "nimblestudio", "opsworks", "panorama", "proton", "robomaker", "simspaceweaver",
    )),
    *(f"aws/pinpoint:{each}" for each in ("ApplicationSettings", "Campaign", "InAppTemplate", "Segment")),
    *(f"azure/{each}" for each in (
        "healthcare:Service", "hpc:Cache", "lab:*", "mariadb:*", "media:*", "mixedreality:RemoteRenderingAccount",
        "mysql:Server", "network:FrontDoor", "postgresql:Server",
    )),
}  # fmt: skip


def test_each_row_of_a_service_names_a_type_that_its_provider_has():
    rows = {row.name: row for row in KNOWN.releases if row.kind in ("service", "closed") and ":" in row.name}
    alone = {name: replace(KNOWN, releases=(replace(row, kind="service"),)) for name, row in rows.items()}
    matched = {
        name
        for name, known in alone.items()
        for token in INSTALLED
        if name.startswith(f"{cloud_of(token)}/") and ended_service(cloud_of(token), token, known)
    }
    assert set(rows) - matched == ELSEWHERE


def test_each_row_of_a_runtime_or_an_offer_is_read_of_a_type_that_its_provider_has():
    reader = Path(offers.__file__).read_text()
    names = {row.name for row in KNOWN.releases if row.kind in ("runtime", "sku", "closed") and ":" not in row.name}
    assert not [
        name
        for name in names
        if f'"{name}"' not in reader and not name.startswith(("azure/functions", "azure/app-service"))
    ]
    types = re.findall(r'"((?:aws|azure-native|gcp):[\w./-]+:\w+)"', reader)
    assert set(types) <= set(INSTALLED)


EKS, VOLUMES = "aws:eks/cluster:Cluster", {"volumes": [{"name": "v", "cephfs": {"monitors": ["10.0.0.1"]}}]}


def persistent(**spec):
    return made("kubernetes:core/v1:PersistentVolume", spec={"capacity": {"storage": "10Gi"}, **spec})


@pytest.mark.parametrize(
    ("resource", "clusters", "said"),
    [
        (made("kubernetes:core/v1:Pod", spec=VOLUMES), ["1.34"], "volume cephfs: Kubernetes 1.30 was the last"),
        (made("kubernetes:apps/v1:Deployment", spec={"template": {"spec": VOLUMES}}), [], "volume cephfs"),
        (made("kubernetes:ray.io/v1:RayCluster", spec={"workerGroupSpecs": [{"template": {"spec": VOLUMES}}]}), [], "cephfs"),
        (persistent(glusterfs={"endpoints": "g", "path": "v"}), ["1.35"], "Kubernetes 1.25 was the last that had its plugin"),
        (persistent(rbd={"image": "i"}), ["1.30", "1.35"], "rbd.csi.ceph.com"),
        (persistent(scaleIO={"gateway": "g"}), [], "no version that is supported has its plugin"),
        (persistent(rbd={"image": "i"}), ["1.30"], ""),
        (made("kubernetes:storage.k8s.io/v1:StorageClass", provisioner="kubernetes.io/rbd"), ["1.35"], "volume rbd"),
        (made("kubernetes:storage.k8s.io/v1:StorageClass", provisioner="kubernetes.io/scaleio"), [], "volume scaleIO"),
        (made("kubernetes:storage.k8s.io/v1:StorageClass", provisioner="rbd.csi.ceph.com"), [], ""),
        (made("kubernetes:storage.k8s.io/v1:StorageClass", provisioner="kubernetes.io/no-provisioner"), [], ""),
        (made("kubernetes:core/v1:Pod", spec={"volumes": [{"name": "g", "gitRepo": {"repository": "r"}}]}), ["1.34"], "init container"),
        (made("kubernetes:core/v1:Pod", spec={"volumes": [{"name": "g", "gitRepo": {"repository": "r"}}]}), ["1.32"], ""),
        (persistent(csi={"driver": "rbd.csi.ceph.com"}), ["1.35"], ""),
        (persistent(nfs={"server": "s", "path": "/"}), ["1.35"], ""),
        (made("kubernetes:core/v1:Pod", spec={"volumes": [{"name": "rbd", "emptyDir": {}}]}), [], ""),
        (made("kubernetes:core/v1:ConfigMap", data={"rbd": "x"}), [], ""),
    ],
)  # fmt: skip
def test_a_volume_of_a_plugin_that_kubernetes_has_no_more_is_said(resource, clusters, said):
    clusters = [made(EKS, f"c{place}", version=version) for place, version in enumerate(clusters)]
    found = [
        f"{each.detail}; {each.fix}"
        for each in pressing(aging([*clusters, resource], KNOWN, ON))
        if each.kind == "kubernetes-api"
    ]
    assert (len(found), said in "".join(found)) == (1 if said else 0, True)
