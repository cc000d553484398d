"""Who runs the machines: we ourselves, or a managed service of the cloud; what each can run, and what it adds.

A service asks more for the machine and takes work off the team. `managed: auto` weighs the two: where nobody looks
after machines (`team: {platform_engineers: 0}`), running them yourself counts what a person's care costs, and the
cheaper way wins; with a platform team the care is its job and costs nothing more. docs/howto/managed-or-own.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.catalog.managed import ASKED_ONLY, KINDS, RAW, SAGEMAKER_USE, TITLES, markets_of
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.money import Unpriced
from sizewell.sizing.predict.architecture import params_total
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.requirements import Requirements

# Loaded cost of an engineer: median wage of software developers, 133,080 USD a year (US Bureau of Labor Statistics,
# May 2024, from memory), wages being 70 % of what an employer pays (same, Employer Costs), over 2,080 hours.
ENGINEER_USD_PER_HOUR: Final = Decimal(91)
# Hours a month that machines of one's own take: images and drivers, access, machines that fail or were forgotten; for
# a service also its restarts and calls at night. Estimates.
CARE_HOURS_PER_MONTH: Final[Mapping[str, int]] = {
    "notebook": 2,
    "training": 4,
    "fine-tuning": 4,
    "batch-inference": 4,
    "inference": 8,
}
# Cloud Run: one L4 beside 4 or 8 CPUs with 4 GiB each; files that are loaded lie in the instance's memory.
RUN_REGIONS: Final = ("us-central1", "us-east4", "europe-west1", "europe-west4", "asia-southeast1", "asia-south1")
RUN_GIB_PER_CPU: Final = 4
RUN_RUNTIME_GIB: Final = 4  # of the container itself: estimate
RUN_INSTANCES_MAX: Final = 100
KEPT_WARM_S: Final = 900.0  # an idle instance stays up to 15 minutes (cloud.google.com/run/docs, from memory)
RUN_COLD_START_S: Final = 60.0  # image streaming, driver in 5 s, loading the weights: estimate
ASYNC_KEPT_S: Final = 900.0  # our endpoints go to zero after this long without a request


def ways(need: Requirements, shape: Shape, region: str, market: str, catalog: Catalog) -> tuple[str, ...]:
    """Who may run a machine type bought in one market of a region for this workload: "raw" and services."""
    asked = need.team.managed
    if asked != "auto":
        fits = asked == RAW or (not refusal(asked, need, shape, catalog) and sold(asked, need, region, market))
        return (asked,) if fits else ()
    possible = [RAW]
    if need.scheduler in ("auto", "none"):
        for service in offered(shape.cloud, asked):
            wanted = need.team.care_counts or service == "cloud-run"
            if wanted and not refusal(service, need, shape, catalog) and sold(service, need, region, market):
                possible.append(service)
    return tuple(possible)


def offered(cloud: str, asked: str) -> tuple[str, ...]:
    """The services of a cloud that are weighed: those that have to be asked for only where one is."""
    return tuple(service for service in _of(cloud) if service == asked or service not in ASKED_ONLY)


def sold(service: str, need: Requirements, region: str, market: str) -> bool:
    """Whether a service is there in a region, and has its machines in a market."""
    if service == "cloud-run" and region not in RUN_REGIONS:
        return False
    markets = markets_of(service, need.kind)
    return market in markets


def refusal(service: str, need: Requirements, shape: Shape, catalog: Catalog) -> str:
    """Why a service cannot run this workload on a machine type; "" where it can."""
    title = TITLES[service]
    if service not in _of(shape.cloud):
        return f"{title} is not on {shape.cloud}"
    if need.kind not in KINDS[service]:
        return f"{need.kind} cannot be provisioned on {title}"
    if not shape.accelerator:
        return f"machines without accelerators are not used on {title}"
    if service in ("sagemaker", "hyperpod"):
        use = "hyperpod" if service == "hyperpod" else SAGEMAKER_USE[need.kind]
        if use not in shape.managed:
            uses = ", ".join(sorted(shape.managed)) or "nothing"
            return f"{shape.instance_type} is not offered on SageMaker for {use} (for {uses})"
        premium = catalog.sagemaker_premium(shape.instance_type)
        return premium.reason if isinstance(premium, Unpriced) else ""
    if service == "vertex" and shape.runtime == "tpu":
        return f"{shape.accelerator} cannot be provisioned on Vertex AI"
    return _run_refusal(need, shape) if service == "cloud-run" else ""


def _run_refusal(need: Requirements, shape: Shape) -> str:
    if "cloud-run" not in shape.managed:
        return "Cloud Run has one L4 with 4 or 8 CPUs"
    job = need.serving
    if job is None:
        return "Cloud Run needs a model, and the spec has none"
    bytes_each = {"fp32": 4.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5, "int4": 0.5, "nf4": 0.5}.get(job.weights, 2.0)
    gib = params_total(job.architecture) * bytes_each / 2**30 + RUN_RUNTIME_GIB
    room = run_gib(shape)
    return f"the weights take {gib:.0f} GiB of memory while they are loaded, {room} GiB there" if gib > room else ""


def _of(cloud: str) -> tuple[str, ...]:
    return CLOUDS[cloud].services if cloud in CLOUDS else ()


def run_gib(shape: Shape) -> int:
    """Memory of the Cloud Run instance that stands for a G2 machine type.

    >>> from sizewell.sizing.catalog import load
    >>> run_gib(load().shape("gcp", "g2-standard-4"))
    16
    """
    return (shape.vcpus or 0) * RUN_GIB_PER_CPU


def listed_market(service: str, market: str) -> str:
    """The market whose list price counts: SageMaker publishes none for its spot, on-demand is never too little."""
    return "on-demand" if service == "sagemaker" else market


def care_usd_per_month(need: Requirements) -> float:
    """What looking after machines of one's own costs a team without platform engineers; 0 where there are some."""
    if not need.team.care_counts:
        return 0.0
    return CARE_HOURS_PER_MONTH[need.kind] * float(ENGINEER_USD_PER_HOUR)


def up_share(need: Requirements, kept_s: float) -> float:
    """Share of the open hours in which an instance that goes to zero is up: some request came within `kept_s`.

    With arrivals at random at a rate r that is 1 - e^(-r x kept_s); with users who come and go it is all of them.
    """
    arrivals = need.arrivals
    rate = arrivals.requests_per_s if arrivals else None
    if arrivals is None or rate is None:
        return 1.0
    if arrivals.week is None:
        return -math.expm1(-rate * kept_s)
    hours = zip(arrivals.week.shares, arrivals.week.open, strict=True)
    return math.fsum(-math.expm1(-rate * s * kept_s) * o for s, o in hours) / math.fsum(arrivals.week.open)


def may_start_cold(need: Requirements, kept_s: float, start_s: float) -> bool:
    """Whether the requests that find no instance, and wait for one, are few enough for the service level."""
    level = need.level
    bounds = [bound for bound in (level.ttft_s, level.e2e_s) if bound is not None] if level else []
    if not level or (bounds and min(bounds) >= start_s):
        return True
    return _cold_share(need, kept_s) <= 1.0 - level.percentile


def _cold_share(need: Requirements, kept_s: float) -> float:
    """Share of the requests before which none came within `kept_s`."""
    week = need.arrivals.week if need.arrivals else None
    rate = need.arrivals.requests_per_s if need.arrivals else None
    if week is None or rate is None:
        return 1.0 - up_share(need, kept_s)
    hours = [share * part for share, part in zip(week.shares, week.open, strict=True)]
    cold = (math.exp(-rate * share * kept_s) for share in week.shares)
    return math.fsum(c * h for c, h in zip(cold, hours, strict=True)) / math.fsum(hours)
