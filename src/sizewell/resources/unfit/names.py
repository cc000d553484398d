"""Names that a cloud refuses: too long, or with characters that it does not take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, get, items

_POOL: Final = (r"[a-z][a-z0-9]{0,11}", "1 to 12 lower-case letters and digits, a letter first")
_WINDOWS: Final = (r"[a-z][a-z0-9]{0,5}", "1 to 6 lower-case letters and digits on Windows, a letter first")
_GKE: Final = (r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", "1 to 40 lower-case letters, digits and hyphens, a letter first")
_ACCOUNT: Final = (r"[a-z0-9]{3,24}", "3 to 24 lower-case letters and digits")
_VAULT: Final = (r"[A-Za-z](?!.*--)[A-Za-z0-9-]{1,22}[A-Za-z0-9]", "3 to 24 letters, digits and single hyphens")
_REGISTRY: Final = (r"[A-Za-z0-9]{5,50}", "5 to 50 letters and digits")

# Type -> (input, pattern, in words). Sources: learn.microsoft.com/azure/azure-resource-manager/management/
# resource-name-rules and /azure/aks/use-system-pools; cloud.google.com/kubernetes-engine/docs/reference/rest (names of
# clusters and node pools); docs.aws.amazon.com/eks/latest/APIReference (CreateCluster, CreateNodegroup) and
# /AmazonS3/latest/userguide/bucketnamingrules.html; all from memory, 2026-11-27.
NAMES: Final = {
    "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool": ("name", *_POOL),
    "azure-native:containerservice:AgentPool": ("agentPoolName", *_POOL),
    "azure-native:storage:StorageAccount": ("accountName", *_ACCOUNT),
    "azure:storage/account:Account": ("name", *_ACCOUNT),
    "azure-native:keyvault:Vault": ("vaultName", *_VAULT),
    "azure:keyvault/keyVault:KeyVault": ("name", *_VAULT),
    "azure-native:containerregistry:Registry": ("registryName", *_REGISTRY),
    "azure:containerservice/registry:Registry": ("name", *_REGISTRY),
    "gcp:container/cluster:Cluster": ("name", *_GKE),
    "gcp:container/nodePool:NodePool": ("name", *_GKE),
    "aws:eks/cluster:Cluster": (
        "name", r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", "1 to 100 letters, digits, hyphens and underscores",
    ),
    "aws:eks/nodeGroup:NodeGroup": (
        "nodeGroupName", r"[0-9A-Za-z][A-Za-z0-9_-]{0,62}", "1 to 63 letters, digits, hyphens and underscores",
    ),
    "aws:s3/bucket:Bucket": (
        "bucket", r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "3 to 63 lower-case letters, digits, dots and hyphens",
    ),
}  # fmt: skip


def of(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Names that are stated; the provider makes the others as its cloud takes them."""
    type_, inputs = canonical(resource.type), resource.inputs
    if type_ in NAMES:
        key, pattern, words = NAMES[type_]
        windows = "AgentPool" in type_ or "NodePool" in type_
        if windows and inputs.get("osType") == "Windows":
            pattern, words = _WINDOWS
        yield from _wrong(key, inputs.get(key), pattern, words)
    if type_ == "azure-native:containerservice:ManagedCluster":
        profiles = items(inputs.get("agentPoolProfiles"))
        for profile in () if isinstance(profiles, Unknown) else profiles:
            pattern, words = _WINDOWS if get(profile, "osType") == "Windows" else _POOL
            yield from _wrong("name of a pool", get(profile, "name"), pattern, words)


def _wrong(key: str, name: object, pattern: str, words: str) -> Iterator[tuple[str, str]]:
    if isinstance(name, str) and name and not re.fullmatch(pattern, name):
        yield f"{key} {name!r} ({len(name)} characters) is refused by its cloud", f"name it with {words}"
