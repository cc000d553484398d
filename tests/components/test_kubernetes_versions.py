"""One table says which version of Kubernetes each managed service gets; what follows a version is taken from its row."""

import inspect
import re
from datetime import date
from pathlib import Path

import pytest
from aws_decisions import HYPERPOD
from aws_decisions import KUBERNETES as ON_EKS
from aws_recording import OWNED, only, record, refusals

import sizewell.components
from sizewell.components.aws.eks import args as eks_args
from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks.autoscaler import EksAutoscaler
from sizewell.components.azure.aks import args as aks_args
from sizewell.components.azure.aks import charts as aks_charts
from sizewell.components.azure.aks.operators import AksOperators
from sizewell.components.kubernetes_versions import SERVICES, default_version, kubernetes_versions, versions_of

FOLDER = Path(sizewell.components.__file__).parent
OPERATORS = {
    **OWNED,
    "kubeconfig": "{}",
    "runtimes": ["cuda", "rocm"],
    "infiniband": True,
    "amd_driver_image": "petsnap.azurecr.io/amdgpu-driver",
}


def test_every_row_has_its_end_its_source_and_what_follows_it():
    rows = kubernetes_versions()
    assert len({(row.service, row.version) for row in rows}) == len(rows)
    for row in rows:
        assert row.source, row
        assert date.fromisoformat(row.checked) <= date.fromisoformat(row.supported_until), row
        assert (row.ubuntu in aks_charts.CODENAMES) is (row.service == "aks"), row
        if row.service != "aks":
            assert row.autoscaler.startswith(f"v{row.version}."), row


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_one_default_which_was_supported_for_months_when_it_was_checked(service):
    defaults = [row for row in versions_of(service).values() if row.default]
    assert len(defaults) == 1
    supported = date.fromisoformat(defaults[0].supported_until) - date.fromisoformat(defaults[0].checked)
    assert supported.days > 90


def test_no_code_names_a_version_of_its_own():
    """A default beside the table would stay behind when the table moves on."""
    named = [
        f"{path.relative_to(FOLDER)}: {line.strip()}"
        for path in sorted(FOLDER.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"""["':]v?1\.3[0-9]["'.]""", line) and ">>>" not in line and "busybox" not in line
    ]
    printed = re.compile(r"^[('].*[)']$")  # by a doctest
    assert not [line for line in named if not printed.match(line.partition(": ")[2])]


@pytest.mark.parametrize("args", [eks_args, aks_args])
def test_the_arguments_pages_name_the_default(args):
    service = args.__name__.split(".")[-2]
    stated = re.findall(r"(\d\.\d\d) by default", inspect.getsource(args))
    assert set(stated) == {default_version(service).version}


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


def test_a_version_that_nothing_follows_is_refused_with_those_that_are_known():
    (fault,) = refusals(AksOperators, {**OPERATORS, "version": "1.33"})
    assert fault[0] == "version"
    assert "one of 1.34, 1.35, 1.36, 1.37, got '1.33'" in fault[1]


@pytest.mark.parametrize("version", versions_of("eks"))
def test_the_autoscaler_on_eks_follows_the_version_of_the_cluster(version):
    args = {**OWNED, "region": "us-east-1", "cluster": "c", "kubeconfig": "{}", "version": version}
    resources = record(lambda: EksAutoscaler("scaler", args))
    values = only(resources, "kubernetes:helm.sh/v3:Release").inputs["values"]
    assert values["image"]["tag"] == versions_of("eks")[version].autoscaler
    assert eks_charts.autoscaler_image(version).endswith(values["image"]["tag"])


def test_a_cluster_with_hyperpod_s_machines_has_a_version_that_hyperpod_takes():
    def pairs(decision):
        return [(workload, pool) for workload in decision.workloads for pool in workload.pools]

    assert eks_args.cluster_version(pairs(ON_EKS)) == default_version("eks").version
    assert eks_args.cluster_version(pairs(HYPERPOD)) == default_version("hyperpod").version
    assert set(versions_of("hyperpod")) <= set(versions_of("eks"))
