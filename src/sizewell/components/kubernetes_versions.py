"""Kubernetes versions by managed service: until when each has standard support, and what follows the version. Pure.

All of them stand in kubernetes_versions.csv, each with its source. A version that is past `supported_until` comes up
nowhere (AKS) or at six times the fee (EKS), so the default is moved there, and nowhere else, before that day.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from sizewell.components.faults import Faults
from sizewell.sizing.catalog import table
from sizewell.sizing.errors import CatalogError, Fault

FILE: Final = "kubernetes_versions.csv"
COLUMNS: Final = ("service", "version", "supported_until", "default", "autoscaler", "ubuntu", "source", "checked")
SERVICES: Final = ("eks", "hyperpod", "aks")  # GKE's clusters follow a release channel and name no version


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesVersion:
    """A minor version of Kubernetes on one managed service."""

    service: str
    version: str
    supported_until: str
    """Last day of standard support, or of the month that the service names (YYYY-MM-DD)."""
    default: bool
    autoscaler: str
    """Tag of the cluster autoscaler of the same minor version; "" where the service scales itself."""
    ubuntu: str
    """Ubuntu's release of machines with os_sku Ubuntu; "" where machines have another system."""
    source: str
    checked: str


def _made(row: table.Row) -> KubernetesVersion:
    return KubernetesVersion(
        service=row.one_of("service", SERVICES),
        version=row.required("version"),
        supported_until=row.day("supported_until"),
        default=row.flag("default"),
        autoscaler=row.text("autoscaler"),
        ubuntu=row.text("ubuntu"),
        source=row.source(),
        checked=row.day("checked"),
    )


@functools.cache
def kubernetes_versions() -> tuple[KubernetesVersion, ...]:
    """All rows of the table; CatalogError where it cannot be read."""
    faults: list[Fault] = []
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    rows = table.read(FILE, text, COLUMNS, _made, sources={}, faults=faults)
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


def check_known_version(faults: Faults, args: Mapping[str, Any], service: str) -> KubernetesVersion:
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
