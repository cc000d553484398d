"""What ends of what programs name: systems of machines' images, machine types, and versions of Kubernetes's APIs."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache
from typing import Final

from sizewell.sizing.catalog.lifetimes import Lifetimes, Release

# Names of images and platforms -> name and version of a row `image/NAME` of kind system in releases.csv. Ubuntu Pro is
# supported for longer.
_SYSTEMS: Final = {
    ("amazon-linux", "1"): r"amzn-ami-|notebook-al1-",
    ("amazon-linux", "2"): r"amzn2-ami|amazon-linux-2(?!\d)|notebook-al2-|^(?:E[CK]S_)?AL2(?!\d)",
    ("ubuntu", "18.04"): r"(?:ubuntu|canonical)(?!.*\bpro\b).*(?:(?<!\d)18[._-]?04(?!\d)|bionic)",
    ("ubuntu", "20.04"): r"(?:ubuntu|canonical)(?!.*\bpro\b).*(?:(?<!\d)20[._-]?04(?!\d)|focal)",
    ("debian", "10"): r"debian\D{0,12}10(?!\d)|\bbuster\b",
    ("debian", "11"): r"debian\D{0,12}11(?!\d)|\bbullseye\b",
    ("centos", "7"): r"centos\D{0,12}7(?!\d)",
    ("centos", "8"): r"centos\D{0,12}8(?!\d)",
    ("rhel", "7"): r"rhel\D{0,12}7(?:[._-]?\d)?(?!\d)",
    ("windows-server", "2012"): r"windows\D{0,12}2012",
    ("windows-server-on-aks", "2019"): r"^windows2019$",  # osSku: elsewhere it is supported for longer
    ("windows-server-on-aks", "2022"): r"^windows2022$",
    ("windows-annual-channel-on-aks", "annual"): r"^windowsannual$",
    ("ubuntu-on-aks", "22.04"): r"^ubuntu2204$",
    ("flatcar-on-aks", "preview"): r"^flatcar$",
    ("azure-linux-with-os-guard-on-aks", "preview"): r"^azurelinuxosguard$",
    ("azure-linux", "2"): r"^(?:cbl)?mariner$|^azurelinux2",
}
_PATTERNS: Final = {system: re.compile(pattern, re.IGNORECASE) for system, pattern in _SYSTEMS.items()}


def system_of(image: str, known: Lifetimes) -> Release | None:
    """The row of the operating system in an image; None where its name does not say which, or no row has it.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> [row and f"{row.name} {row.version}" for row in (system_of(image, load()) for image in (
    ...     "AL2_x86_64_GPU", "AL2023_x86_64_NVIDIA", "microsoft-dsvm:ubuntu-hpc:2004", "debian-cloud/debian-12"))]
    ['eks/AL2_x86_64_GPU al2', None, 'image/ubuntu 20.04', None]
    """
    if (row := known.release("system", f"eks/{image}", "al2")) is not None:
        return row
    for (name, version), pattern in _PATTERNS.items():
        if pattern.search(image):
            return known.release("system", f"image/{name}", version)
    return None


def title(row: Release) -> str:
    """A system as people call it.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> title(load().release("system", "image/amazon-linux", "2")), title(load().release("system", "image/centos", "7"))
    ('Amazon Linux 2', 'CentOS 7')
    """
    group, _, name = row.name.partition("/")
    words = name.replace("-", " ").title()
    for wrong, right in (
        ("Centos", "CentOS"),
        ("Rhel", "RHEL"),
        ("With Os Guard", "with OS Guard"),
        ("On Aks", "on AKS"),
    ):
        words = words.replace(wrong, right)
    return f"{words} {row.version}" if group == "image" else name


def retired(machine: str, known: Lifetimes) -> Release | None:
    """The row of a machine type, or of an accelerator that is attached to one, that a cloud retires.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> retired("Standard_NV12s_v3", load()).supported_until, retired("Standard_NV36ads_A10_v5", load())
    ('2026-09-30', None)
    """
    rows = [row for row in known.releases if row.kind == "machine"]
    return next((row for row in rows if _named(row.name).fullmatch(machine.rpartition("/")[2])), None)


def removed(api: str, kind: str, known: Lifetimes) -> Release | None:
    """The row of a kind in a version of its API that Kubernetes no longer serves.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> removed("batch/v1beta1", "CronJob", load()).kubernetes, removed("batch/v1", "CronJob", load())
    ('..1.24', None)
    """
    group, _, version = api.rpartition("/")
    kind = kind.removesuffix("List").removesuffix("Patch")
    return known.release("kubernetes-api", f"{group}/{kind}", version)


@cache
def _named(row: str) -> re.Pattern[str]:
    return re.compile(translate(row.partition("/")[2]), re.IGNORECASE)
