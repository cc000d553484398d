"""Kubernetes versions by managed service: until when each has standard support, and what follows the version. Pure.

All of them stand in kubernetes_versions.csv, each with its source. A version that is past `supported_until` comes up
nowhere (AKS) or at six times the fee (EKS), so the default is moved there, and nowhere else, before that day.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Final

from sizewell.components.faults import Faults
from sizewell.csvtables import Day, Text, one_of
from sizewell.sizing.catalog import table
from sizewell.sizing.errors import CatalogError, Fault

FILE: Final = "kubernetes_versions.csv"
SERVICES: Final = ("eks", "hyperpod", "aks")  # GKE's clusters follow a release channel and name no version


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesVersion:
    """A minor version of Kubernetes on one managed service."""

    service: Annotated[str, one_of(SERVICES)]
    version: str
    supported_until: Day
    """Last day of standard support, or of the month that the service names (YYYY-MM-DD)."""
    default: bool
    autoscaler: Text
    """Tag of the cluster autoscaler of the same minor version; "" where the service scales itself."""
    ubuntu: Text
    """Ubuntu's release of machines with os_sku Ubuntu; "" where machines have another system."""
    source: table.Source
    checked: Day


@functools.cache
def kubernetes_versions() -> tuple[KubernetesVersion, ...]:
    """All rows of the table; CatalogError where it cannot be read."""
    faults: list[Fault] = []
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    rows = table.read(KubernetesVersion, FILE, text, sources={}, faults=faults)
    if faults:
        raise CatalogError(faults)
    return tuple(rows)


def versions_of(service: str) -> dict[str, KubernetesVersion]:
    """What a service supports, by minor version."""
    return {row.version: row for row in kubernetes_versions() if row.service == service}


def default_version(service: str) -> KubernetesVersion:
    """What a cluster gets that names no version.

    >>> default_version("aks").ubuntu
    '24.04'
    """
    return next(row for row in versions_of(service).values() if row.default)


def minor(version: str) -> str:
    """Without the patch release.

    >>> minor("1.35.7"), minor("1.36")
    ('1.35', '1.36')
    """
    return ".".join(version.split(".")[:2])


def check_known_version(faults: Faults, args: Mapping[str, object], service: str) -> KubernetesVersion:
    """What a cluster's `version` brings with it: it must be in the table, since something has to follow it."""
    known = versions_of(service)
    version = args.get("version", default_version(service).version)
    found = known.get(minor(str(version)))
    faults.must(
        found is not None,
        "version",
        f"must be the cluster's Kubernetes version, one of {', '.join(known)}, got {version!r}",
    )
    return found or default_version(service)
