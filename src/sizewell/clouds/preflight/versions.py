"""Which Kubernetes versions run, and which the clouds offer, in their own words and beside the stack's configuration.

A cluster that the cloud has upgraded is adopted: what is stated below it is named, with the line that states what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError
from sizewell.clouds.gcp import Google
from sizewell.clouds.preflight.findings import Finding, wrong
from sizewell.clouds.preflight.needs import Needs
from sizewell.sizing.catalog.lifetimes import Listed, ListedImages, load, minor, number
from sizewell.sizing.providers.cloud import PerCloud

KEY: Final = "sizewell:kubernetesVersion"
ABOUT: Final = "kubernetes"
AKS_API: Final = "2025-05-01"
EKS, AKS, GKE = (
    "aws:eks/cluster:Cluster",
    "azure-native:containerservice:ManagedCluster",
    "gcp:container/cluster:Cluster",
)


def of_eks(needs: Needs, aws: Aws, region: str) -> Iterator[Finding]:
    """The stack's EKS clusters of a region."""
    names = [name for each in needs.of(EKS) if isinstance(name := each.inputs.get("name"), str)]
    for name in names:
        try:
            cluster = aws.call("eks", region, "describe_cluster", name=name)["cluster"]
        except CloudError as error:
            if error.reason != "missing":
                raise
            continue  # of another region, or not built yet
        yield from compared(needs, "eks", name, str(cluster.get("version", "")))


def of_aks(needs: Needs, azure: Azure, at: str) -> Iterator[Finding]:
    """The stack's AKS clusters, known by their tag: Pulumi names them."""
    path = f"{at}/providers/Microsoft.ContainerService/managedClusters"
    for cluster in azure.reader().pages(path, items="value", **{"api-version": AKS_API}):
        if (cluster.get("tags") or {}).get("sizewell-stack") == needs.stack:
            said = cluster.get("properties") or {}
            version = said.get("currentKubernetesVersion") or said.get("kubernetesVersion") or ""
            yield from compared(needs, "aks", str(cluster.get("name")), str(version))


def of_gke(needs: Needs, google: Google, project: str) -> Iterator[Finding]:
    """The stack's GKE clusters; Google upgrades them, and a maintenance exclusion holds until the end of support."""
    for each in needs.of(GKE):
        name, place = each.inputs.get("name"), each.inputs.get("location")
        if not (isinstance(name, str) and isinstance(place, str)):
            continue
        try:
            cluster = google.reader("container").get(f"v1/projects/{project}/locations/{place}/clusters/{name}")
        except CloudError as error:
            if error.reason != "missing":
                raise
            continue
        yield from compared(needs, "gke", name, str(cluster.get("currentMasterVersion", "")))


def compared(needs: Needs, service: str, cluster: str, runs: str) -> Iterator[Finding]:
    """What a cluster runs beside what the configuration states, and until when that is supported."""
    if not runs:
        yield Finding(ABOUT, "note", f"{cluster}: the cloud does not say which version it runs")
        return
    stated = needs.config.get(KEY)
    here, asked = number(minor(runs)), number(minor(str(stated))) if stated else ()
    row = load().versions(service).get(minor(runs))
    until = f"supported until {row.supported_until}" if row and row.supported_until else "until when is unknown"
    says = f"{cluster} runs Kubernetes {runs} ({until})"
    set_to = f"pulumi config set -s {needs.stack} {KEY}"
    if not stated:
        yield Finding(ABOUT, "ok", f"{says}, which the stack leaves as it is")
    elif asked == here:
        yield Finding(ABOUT, "ok", f"{says}, as {KEY} states")
    elif asked < here:
        detail = f"{says}, and {KEY} is {stated}: an update would ask for a downgrade, which no cloud does"
        yield wrong(ABOUT, detail, f"{set_to} {minor(runs)}")
    elif asked > (here[0], here[1] + 1):
        detail = f"{says}, and {KEY} is {stated}: a control plane goes up by one minor version at a time"
        yield wrong(ABOUT, detail, f"{set_to} {here[0]}.{here[1] + 1}, update, then the next one")
    else:
        detail = f"{says}, and {KEY} is {stated}: the next update upgrades the control plane"
        yield Finding(ABOUT, "note", detail, "read `sizewell docs upgrade-a-cluster` before")


def offered_by_eks(aws: Aws, region: str) -> list[Listed]:
    """All versions that EKS has in a region, with the ends that AWS states."""
    rows = aws.pages("eks", region, "describe_cluster_versions", "clusterVersions", includeAll=True)
    listed = [
        Listed(
            service="eks",
            version=str(row["clusterVersion"]),
            supported_until=_day(row.get("endOfStandardSupportDate")),
            extended_until=_day(row.get("endOfExtendedSupportDate")),
            source=f"eks describe-cluster-versions in {region}",
        )
        for row in rows
        if row.get("versionStatus", "") != "UNSUPPORTED"
    ]
    return _some(listed, "EKS", "clusterVersions")


def offered_by_aks(azure: Azure, subscription: str, region: str) -> list[Listed]:
    """All versions that AKS has in a region for every plan, and that are no preview; it states no ends."""
    path = f"subscriptions/{subscription}/providers/Microsoft.ContainerService/locations/{region}/kubernetesVersions"
    answer = azure.reader().get(path, **{"api-version": AKS_API})
    listed = [
        Listed(service="aks", version=str(row["version"]), source=f"AKS kubernetesVersions in {region}")
        for row in _rows(answer, "values", "AKS")
        if not row.get("isPreview") and _official(row)
    ]
    return _some(listed, "AKS", "values")


def _official(row: dict[str, Any]) -> bool:
    """Not for the plan of long-term support alone, which is another tier of the cluster."""
    plans = (row.get("capabilities") or {}).get("supportPlan")
    return not plans or "KubernetesOfficial" in plans


def offered_by_gke(google: Google, project: str, region: str) -> list[Listed]:
    """All minor versions of the release channel that clusters follow; GKE states no ends."""
    answer = google.reader("container").get(f"v1/projects/{project}/locations/{region}/serverConfig")
    regular = [row for row in _rows(answer, "channels", "GKE") if row.get("channel") == "REGULAR"]
    versions = {minor(str(version)) for row in regular for version in row.get("validVersions", ())}
    source = f"GKE serverConfig in {region}, channel REGULAR"
    listed = [Listed(service="gke", version=version, source=source) for version in sorted(versions, key=number)]
    return _some(listed, "GKE", "channels, REGULAR")


# Families of EKS's images by the names of their public parameters: architecture and variant
# (docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html, checked 2026-11-26).
EKS_IMAGES: Final = {
    "AL2023_x86_64_STANDARD": "x86_64/standard",
    "AL2023_x86_64_NVIDIA": "x86_64/nvidia",
    "AL2023_ARM_64_NVIDIA": "arm64/nvidia",
    "AL2023_x86_64_NEURON": "x86_64/neuron",
}
# Families of AKS's images by the start of `os` and `sku` of what its gallery lists.
AKS_IMAGES: Final = {
    ("aks/Ubuntu", "22.04"): ("AKSUbuntu", "2204"),
    ("aks/Ubuntu", "24.04"): ("AKSUbuntu", "2404"),
    ("aks/AzureLinux", "3.0"): ("AKSAzureLinux", "V3"),
}
# The list is in no version of the interface but previews.
AKS_IMAGES_API: Final = "2025-10-02-preview"


def images_of_eks(aws: Aws, versions: Sequence[str], region: str) -> list[ListedImages]:
    """EKS's own images, for each of these minor versions."""
    names = {
        f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/{path}/recommended/image_id": (family, version)
        for family, path in EKS_IMAGES.items()
        for version in versions
    }
    asked = list(names)
    there: dict[str, list[str]] = {family: [] for family in EKS_IMAGES}
    for start in range(0, len(asked), 10):  # at most, in one call
        answer = aws.call("ssm", region, "get_parameters", Names=asked[start : start + 10])
        for parameter in answer["Parameters"]:
            family, version = names[str(parameter["Name"])]
            there[family].append(version)
    if not any(there.values()):
        raise CloudError("EKS", "unanswered", "listed no images (/aws/service/eks/optimized-ami)")
    source = f"ssm get-parameters /aws/service/eks/optimized-ami in {region}"
    return [
        ListedImages(name=f"eks/{family}", kubernetes=tuple(found), offered=bool(found), source=source)
        for family, found in there.items()
    ]


def images_of_aks(azure: Azure, subscription: str, region: str) -> list[ListedImages]:
    """AKS's own images; of which Kubernetes version it does not say."""
    path = f"subscriptions/{subscription}/providers/Microsoft.ContainerService/locations/{region}/nodeImageVersions"
    answer = azure.reader().get(path, **{"api-version": AKS_IMAGES_API})
    listed = [(str(row.get("os", "")), str(row.get("sku", ""))) for row in _rows(answer, "value", "AKS")]
    if not any(os == system and sku.startswith(start) for os, sku in listed for system, start in AKS_IMAGES.values()):
        raise CloudError("AKS", "unanswered", "lists none of the families of images that it is known to have (value)")
    return [
        ListedImages(
            name=name,
            version=version,
            offered=any(os == system and sku.startswith(start) for os, sku in listed),
            source=f"AKS nodeImageVersions in {region}",
        )
        for (name, version), (system, start) in AKS_IMAGES.items()
    ]


def images_of_gke(google: Google, project: str, region: str) -> list[ListedImages]:
    """The types of images that GKE builds nodes with."""
    answer = google.reader("container").get(f"v1/projects/{project}/locations/{region}/serverConfig")
    types = answer.get("validImageTypes")
    if not types:
        raise CloudError("GKE", "unanswered", "listed no images (validImageTypes)")
    source = f"GKE serverConfig in {region}, validImageTypes"
    return [ListedImages(name="gke/COS_CONTAINERD", offered="COS_CONTAINERD" in types, source=source)]


def _rows(answer: dict[str, Any], key: str, service: str) -> Iterable[dict[str, Any]]:
    rows = answer.get(key)
    if not isinstance(rows, list) or not rows:
        raise CloudError(service, "unanswered", f"listed no versions ({key})")
    return rows


def _some(listed: list[Listed], service: str, key: str) -> list[Listed]:
    """An empty list is no news that every version has gone."""
    if not listed:
        raise CloudError(service, "unanswered", f"listed no versions ({key})")
    return listed


def _day(value: Any) -> str:
    return "" if value is None else value.date().isoformat() if hasattr(value, "date") else str(value)[:10]


@dataclass(frozen=True)
class Listing:
    """How a cloud lists the versions that it offers."""

    offered: Callable[[Any, str, str], list[Listed]]  # by its client, an account and a region
    images: Callable[[Any, str, str, Sequence[str]], list[ListedImages]]  # as well by minor versions that it offers
    account: str = ""  # what it lists versions of, beside a region; "" where the login says it


LISTINGS: Final = PerCloud[Listing](
    aws=Listing(
        lambda client, _, region: offered_by_eks(client, region),
        lambda client, _, region, versions: images_of_eks(client, versions, region),
    ),
    gcp=Listing(offered_by_gke, lambda client, project, region, _: images_of_gke(client, project, region), "PROJECT"),
    azure=Listing(
        offered_by_aks,
        lambda client, subscription, region, _: images_of_aks(client, subscription, region),
        "SUBSCRIPTION",
    ),
)
