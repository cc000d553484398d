"""Which versions go together: known good, known bad, or unknown, each with its reason. Pure.

A pair is bad only where a row of the tables says so, and good only where one does; everything else is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from sizewell.sizing.catalog.lifetimes import DriverRange, Lifetimes, Release, number

CUDA_DRIVERS: Final = {11: 450, 12: 525, 13: 580}
"""Lowest branch of the driver by CUDA's major version
(docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html, checked 2026-11-26)."""


_CAPABILITIES: Final = {"volta": 70, "turing": 75, "ampere": 86, "ada": 89, "hopper": 90}
_OTHERWISE: Final = {
    "a100": 80,
    "a30": 80,
    "jetson": 87,
    "b200": 100,
    "gb200": 100,
    "b300": 103,
    "gb300": 103,
    "rtx-pro": 120,
}
"""Compute capability times ten, of a generation and of those whose names begin so (developer.nvidia.com/cuda-gpus, from
memory)."""


def capability(accelerator: str, family: str) -> int:
    """The compute capability of one of NVIDIA's GPUs, times ten; 0 where it is not known.

    >>> capability("a100-80gb-sxm", "ampere"), capability("a10g", "ampere"), capability("tpu-v6e", "tpu")
    (80, 86, 0)
    """
    named = next((cap for word, cap in _OTHERWISE.items() if accelerator.startswith(word)), 0)
    return named or _CAPABILITIES.get(family, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether two things go together, and why."""

    state: Literal["good", "bad", "unknown"]
    reason: str


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The one that decides for all: bad before unknown before good."""
    return min(verdicts, key=lambda verdict: ("bad", "unknown", "good").index(verdict.state))


def driver_for(known: DriverRange | None, branch: int | None, accelerator: str) -> Verdict:
    """Whether a branch of NVIDIA's driver drives an accelerator.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> driver_for(load().driver_range("rtx-pro-4500-bse", "blackwell"), 580, "rtx-pro-4500-bse").reason
    "rtx-pro-4500-bse needs NVIDIA's driver 595 or later, and it would have 580"
    >>> driver_for(load().driver_range("v100-16gb", "volta"), 595, "v100-16gb").state
    'bad'
    """
    if branch is None:
        return Verdict(state="unknown", reason="which driver it has is in no document that was read")
    if known is None:
        return Verdict(state="unknown", reason=f"no drivers are recorded for {accelerator}")
    if known.driver_min is not None and branch < known.driver_min:
        if known.grade != "documented":
            reason = (
                f"{accelerator} was seen with NVIDIA's driver {known.driver_min} and later, and it would have {branch}"
            )
            return Verdict(state="unknown", reason=reason)
        reason = f"{accelerator} needs NVIDIA's driver {known.driver_min} or later, and it would have {branch}"
        return Verdict(state="bad", reason=reason)
    if known.driver_max is not None and branch > known.driver_max:
        reason = (
            f"{known.driver_max} is the last branch of NVIDIA's driver for {accelerator}, and it would have {branch}"
        )
        return Verdict(state="bad", reason=reason)
    return Verdict(state="good", reason=known.source)


def cuda_for(known: DriverRange | None, branch: int | None, cuda: str, accelerator: str) -> Verdict:
    """Whether an image with this CUDA runs on an accelerator behind a branch of the driver.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> cuda_for(load().driver_range("v100-16gb", "volta"), 580, "13.0", "v100-16gb").reason
    'CUDA 12 is the last one for v100-16gb, and the image has 13.0'
    >>> cuda_for(load().driver_range("h100-sxm", "hopper"), 570, "13.0", "h100-sxm").reason
    "CUDA 13.0 needs NVIDIA's driver 580 or later, and it would have 570"
    """
    if not cuda:
        return Verdict(state="unknown", reason="which CUDA the image has is not recorded")
    major = number(cuda)[0]
    if known is not None and known.cuda_max and major > number(known.cuda_max)[0]:
        reason = f"CUDA {known.cuda_max} is the last one for {accelerator}, and the image has {cuda}"
        return Verdict(state="bad", reason=reason)
    if known is not None and known.cuda_min and number(cuda) < number(known.cuda_min)[: len(number(cuda))]:
        reason = f"{accelerator} needs CUDA {known.cuda_min} or later, and the image has {cuda}"
        return Verdict(state="bad", reason=reason)
    least = CUDA_DRIVERS.get(major)
    if branch is None or least is None or known is None:
        return Verdict(state="unknown", reason="driver, CUDA or accelerator are not recorded")
    if branch < least:
        reason = f"CUDA {cuda} needs NVIDIA's driver {least} or later, and it would have {branch}"
        return Verdict(state="bad", reason=reason)
    return Verdict(state="good", reason="docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html")


def release_for(release: Release, kubernetes: str) -> Verdict:
    """Whether a chart or an image is published for a minor version of Kubernetes.

    What its project tests it with is not all that it runs on: beyond that it is unknown, and bad for a system alone,
    which a service offers for these versions and no others.
    """
    if not release.kubernetes:
        return Verdict(state="unknown", reason=f"{release.name} {release.version} states no versions of Kubernetes")
    low, _, high = release.kubernetes.partition("..")
    if number(low) <= number(kubernetes) and (not high or number(kubernetes) <= number(high)):
        return Verdict(state="good", reason=release.source)
    reason = f"{release.name} {release.version} is published for Kubernetes {release.kubernetes}, not for {kubernetes}"
    return Verdict(state="bad" if release.kind == "system" else "unknown", reason=reason)


def cluster_drivers(known: Lifetimes, service: str) -> dict[str, int]:
    """Branches of NVIDIA's driver in what a managed service's own images bring, by image."""
    ours = (row for row in known.releases if row.kind == "system" and row.name.startswith(f"{service}/"))
    return {row.name.partition("/")[2]: row.driver for row in ours if row.driver is not None}


def branches(known: Lifetimes, service: str, *, virtual: bool = False) -> tuple[int, ...]:
    """Branches of the driver that a service's images bring for GPUs, or for virtual ones where it has one for them.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> branches(load(), "aks"), branches(load(), "aks", virtual=True), branches(load(), "gke")
    ((580,), (570,), ())
    """
    images = cluster_drivers(known, service)
    chosen = {branch for name, branch in images.items() if "grid" not in images or (name == "grid") == virtual}
    return tuple(sorted(chosen))


def undriven(known: Lifetimes, service: str, accelerator: str, family: str, *, virtual: bool = False) -> str:
    """Why none of a service's own images drives an accelerator; "" where one does, or may.

    A service is a cloud's Kubernetes, or the cloud itself: the image of its plain machines.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> undriven(load(), "eks", "rtx-pro-4500-bse", "blackwell")
    "rtx-pro-4500-bse needs NVIDIA's driver 595 or later, and eks's own images have 580"
    >>> undriven(load(), "eks", "h100-sxm", "hopper"), undriven(load(), "gke", "v100-16gb", "volta")
    ('', '')
    >>> undriven(load(), "aws", "v100-16gb", "volta")
    "580 is the last branch of NVIDIA's driver for v100-16gb, and aws's own images have 595"
    """
    chosen = branches(known, service, virtual=virtual)
    verdicts = [driver_for(known.driver_range(accelerator, family), branch, accelerator) for branch in chosen]
    if not verdicts or any(verdict.state != "bad" for verdict in verdicts):
        return ""
    needs = verdicts[0].reason.partition(", and it would have")[0]
    return f"{needs}, and {service}'s own images have {' and '.join(map(str, chosen))}"
