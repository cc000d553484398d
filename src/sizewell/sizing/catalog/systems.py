"""What ends of what programs name: systems of machines' images, machine types, and versions of Kubernetes's APIs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from fnmatch import translate
from functools import cache
from typing import Final

from sizewell.sizing.catalog.lifetimes import Lifetimes, Release
from sizewell.sizing.catalog.succession import older

# Name of a row `image/NAME` of kind system in releases.csv -> names of images and platforms that say it, with the
# version where there are several. Ubuntu Pro and SUSE's system for SAP are supported for longer.
_SYSTEMS: Final = {
    ("windows-server-on-aks", "2019"): r"^windows2019$",  # osSku: elsewhere it is supported for longer
    ("windows-server-on-aks", "2022"): r"^windows2022$",
    ("windows-annual-channel-on-aks", "annual"): r"^windowsannual$",
    ("ubuntu-on-aks", "22.04"): r"^ubuntu2204$",
    ("flatcar-on-aks", "preview"): r"^flatcar$",
    ("azure-linux-with-os-guard-on-aks", "preview"): r"^azurelinuxosguard$",
    ("azure-linux", "2"): r"^(?:cbl)?mariner$|^azurelinux2",
    ("amazon-linux", "1"): r"amzn-ami-|notebook-al1-",
    ("amazon-linux", "2"): r"amzn2-ami|amazon[- ]linux[- ]2(?!\d)|notebook-al2-|^(?:E[CK]S_)?AL2(?!\d)",
    ("ubuntu", ""): r"(?:ubuntu|canonical)(?!.*\bpro\b).*?(?<!\d)(\d\d)[._-]?(04|10)(?!\d)",
    ("debian", ""): r"debian\D{0,12}(\d{1,2})(?!\d)",
    ("centos-stream", ""): r"centos\W?stream\D{0,12}(\d{1,2})(?!\d)",
    ("centos", ""): r"centos\D{0,12}([5-8])(?!\d{2})",
    ("rhel", ""): r"rhel\D{0,12}(10|[5-9])(?:[._-]?\d{1,2})?(?!\d)",
    (
        "oracle-linux",
        "",
    ): r"(?:oracle\W?linux:|^)ol(10|[5-9])(?!\d{3})|oracle\W?linux:(10|[5-9])(?:[._-]?\d{1,2})?(?!\d)",
    ("sles", ""): r"\bsles(?!.*\bsap\b)\D{0,8}(\d\d)\W?sp(\d)",
    ("fedora", ""): r"fedora(?!\W?coreos).*?(?<![\d_x.])(\d\d)(?!\d)",
    ("windows-server", ""): r"windows\D{0,12}(20\d\d)(?!\d)",
}
# Names that a release goes by, in images that say no number.
_CALLED: Final = {
    "ubuntu": {
        "trusty": "14.04", "xenial": "16.04", "bionic": "18.04", "focal": "20.04", "jammy": "22.04", "noble": "24.04",
        "oracular": "24.10", "plucky": "25.04", "questing": "25.10",
    },
    "debian": {"stretch": "9", "buster": "10", "bullseye": "11", "bookworm": "12", "trixie": "13"},
}  # fmt: skip
_PATTERNS: Final = {system: re.compile(pattern, re.IGNORECASE) for system, pattern in _SYSTEMS.items()}


def system_of(image: str, known: Lifetimes, on: date | None = None) -> Release | None:
    """The row of the operating system in an image; None where its name does not say which, or no row has it.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> [row and f"{row.name} {row.version}" for row in (system_of(image, load()) for image in (
    ...     "AL2_x86_64_GPU", "AL2023_x86_64_NVIDIA", "microsoft-dsvm:ubuntu-hpc:2004", "suse-cloud/sles-12-sp5",
    ...     "Fedora-Cloud-Base-AmazonEC2.x86_64-39-1.5", "debian-cloud/debian-7"))]
    ['eks/AL2_x86_64_GPU al2', None, 'image/ubuntu 20.04', 'image/sles 12.5', 'image/fedora 39', 'image/debian 7']
    """
    if (row := known.release("system", f"eks/{image}", "al2")) is not None:
        return row
    for name, version in _named_in(image):
        rows = [row for row in known.releases if (row.kind, row.name) == ("system", f"image/{name}")]
        stated = next((row for row in rows if row.version == version), None)
        return stated or older(rows, version, on)
    return None


def _named_in(image: str) -> Iterator[tuple[str, str]]:
    """Systems that an image's name says, the one that says most first."""
    for (name, fixed), pattern in _PATTERNS.items():
        if (match := pattern.search(image)) is not None:
            yield name, fixed or ".".join(part for part in match.groups() if part)
    for name, called in _CALLED.items():
        for word, version in called.items():
            if re.search(rf"\b{word}\b", image, re.IGNORECASE) and not re.search(r"\bpro\b", image, re.IGNORECASE):
                yield name, version


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
        ("Sles", "SLES"),
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


def ended_service(cloud: str, type_: str, known: Lifetimes, kind: str = "service") -> Release | None:
    """The row of a service that a cloud ends, or is closed, by a resource's type; its version is the service's name.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> ended_service("aws", "aws:appmesh/mesh:Mesh", load()).version, ended_service("aws", "aws:s3/bucket:Bucket", load())
    ('AWS App Mesh', None)
    """  # noqa: E501
    _, module, named = type_.split(":")  # aws-native's lex:Bot is of Lex V2, aws' lex/bot:Bot of V1
    rows = (row for row in known.releases if row.kind == kind and row.name.startswith(f"{cloud}/"))
    of = (f"{module.partition('/')[0]}:{named}", f"{module}:{named}")
    return next((row for row in rows if any(map(_named(row.name).fullmatch, of))), None)


# Name of the rows of a cloud's models -> what names one, in a group without what stands around it: an ARN or regions
# of an inference profile, the length of a context, a publisher.
_MODELS: Final = {
    name: re.compile(pattern)
    for name, pattern in {
        "aws/bedrock": r"(?:arn:aws[\w-]*:bedrock:[\w-]*:\d*:(?:foundation-model|inference-profile)/)?"
        r"(?:(?:[a-z]{2}(?:-gov)?|apac|global)\.)?([a-z\d]+\.[a-z\d][\w.:-]*?)(?::\d+k)?",
        "gcp/vertex": r"(?:.*publishers/google/models/)?(gemini-[\w.-]+?)(?:@[\w-]+)?",
    }.items()
}


def ended_model(stated: str, known: Lifetimes) -> Release | None:
    """The row of a model that a cloud ends, by its id, its ARN or that of an inference profile.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> arn = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-v2:1"
    >>> rows = (ended_model(stated, load()) for stated in (arn, "eu.meta.llama3-2-1b-instruct-v1:0", "amazon.com"))
    >>> [row and row.supported_until for row in rows]
    ['2025-07-21', '2026-07-07', None]
    """
    for name, pattern in _MODELS.items():
        if (named := pattern.fullmatch(stated)) is not None:
            rows = (row for row in known.releases if (row.kind, row.name) == ("model", name))
            if (row := next((row for row in rows if _whole(row.version).fullmatch(named[1])), None)) is not None:
                return row
    return None


VOLUME: Final = "Volume"  # in place of an API, of the plugins of volumes that Kubernetes had in its own tree


def removed(api: str, kind: str, known: Lifetimes) -> Release | None:
    """The row of a kind in a version of its API that Kubernetes no longer serves.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> removed("batch/v1beta1", "CronJob", load()).kubernetes, removed("batch/v1", "CronJob", load())
    ('..1.24', None)
    """
    if api == VOLUME:
        return known.release("kubernetes-api", VOLUME, kind)
    group, _, version = api.rpartition("/")
    kind = kind.removesuffix("List").removesuffix("Patch")
    return known.release("kubernetes-api", f"{group}/{kind}", version)


def _named(row: str) -> re.Pattern[str]:
    return _whole(row.partition("/")[2])


@cache
def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern), re.IGNORECASE)
