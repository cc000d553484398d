"""Right-sizing from what a running workload really uses: `sizewell size --observed FILE`.

A file of measurements (YAML or JSON) in, one verdict out:

    idle        hardly anything runs: stop it, or let it scale to zero
    batching    busy for a part of the time with few requests at once: the software leaves the device waiting, and a
                smaller device would wait as well
    smaller     a cheaper machine holds its memory and does its work
    keep        nothing cheaper does
    larger      it is short of memory or time

Utilization is the accelerator's, never the CPU's; without it there is no verdict, since no data is not idleness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from sizing import units
from sizing.catalog.records import PROVISIONABLE, Shape
from sizing.errors import Fault, SpecError
from sizing.money import HOURS_PER_MONTH, Priced
from sizing.performance.serving_constants import constants
from sizing.performance.serving_replica import peak_flop_per_s

if TYPE_CHECKING:
    from sizing.catalog import Catalog

Verdict = Literal["idle", "batching", "smaller", "keep", "larger"]

IDLE_BELOW: Final = 0.05
BATCHING_BELOW: Final = 0.6
SMALL_BATCH: Final = 8.0
BUSY_ABOVE: Final = 0.9
MEMORY_SPARE: Final = 1.1  # room above the largest use that was seen
TARGET: Final = 0.8  # utilization to size for
WORTH: Final = 0.9  # a change below ten percent is not worth a migration
OPTIONS: Final = 5
GIB: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What was measured of a running workload, per accelerator where nothing else is said."""

    workload: str
    cloud: str
    region: str
    instance_type: str
    nodes: int
    market: str
    utilization_mean: float
    utilization_p95: float
    memory_used_bytes: int  # largest seen on any device
    batch: float | None  # requests (or samples) in flight per replica, mean
    weights: str  # precision that runs


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallerFleet:
    """Machines that would do what was measured."""

    instance_type: str
    region: str
    accelerator: str
    nodes: int
    usd_per_month: Decimal
    utilization_expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The verdict with its reason and numbers; `options` are cheapest first and may be empty."""

    workload: str
    verdict: Verdict
    reason: str
    usd_per_month: Decimal | None  # of what runs now; None where it has no price
    saves_usd_per_month: Decimal | None
    options: tuple[SmallerFleet, ...]


def read_observed(path: str | Path) -> Observed:
    """Read a file of measurements; SpecError with every fault."""
    from sizing.spec_yaml import load_mapping, read_text

    return parse_observed(load_mapping(read_text(Path(path)), str(path)), str(path))


def parse_observed(data: Mapping[str, Any], origin: str = "observed") -> Observed:
    """Measurements from plain data, every fault collected.

    >>> parse_observed({"workload": "chat", "cloud": "aws", "region": "us-east-1", "instance_type": "g5.xlarge",
    ...     "accelerator_utilization": "40%", "memory_used": "18GB"}).utilization_p95
    0.4
    """
    faults: list[Fault] = []
    known = ("workload", "cloud", "region", "instance_type", "nodes", "market", "accelerator_utilization",
             "accelerator_utilization_p95", "memory_used", "batch", "weights")  # fmt: skip
    for key in data:
        if key not in known:
            import difflib

            near = difflib.get_close_matches(str(key), known, 1, 0.5)
            fix = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            faults.append(Fault(path=str(key), message="is not a measurement that is read", fix=fix))

    def text(key: str, default: str = "") -> str:
        value = data.get(key, default)
        if not isinstance(value, str) or not value:
            faults.append(Fault(path=key, found=value, allowed="a name", fix=f"add {key}"))
            return ""
        return value

    def measured(key: str, parse: Callable[[object], Any], default: object = None) -> Any:
        value = data.get(key, default)
        if value is None:
            return None
        try:
            return parse(value)
        except units.UnitError as error:
            faults.append(Fault(path=key, found=value, allowed=error.allowed, fix=error.fix))
            return None

    mean = measured("accelerator_utilization", units.share)
    if mean is None and "accelerator_utilization" not in data:
        fix = "measure the accelerator (DCGM, nvidia-smi, duty cycle); CPU utilization says nothing about it"
        faults.append(Fault(path="accelerator_utilization", message="is missing; no data is not idleness", fix=fix))
    memory = measured("memory_used", units.size_bytes)
    if memory is None and "memory_used" not in data:
        faults.append(Fault(path="memory_used", message="is missing", fix="add the largest use seen on a device: 18GB"))
    batch = data.get("batch")
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int | float) or batch <= 0):
        faults.append(Fault(path="batch", found=batch, allowed="a number above 0", fix="state requests in flight"))
    found = Observed(
        workload=text("workload", "workload"),
        cloud=text("cloud"),
        region=text("region"),
        instance_type=text("instance_type"),
        nodes=measured("nodes", units.count, 1) or 1,
        market=text("market", "on-demand"),
        utilization_mean=mean or 0.0,
        utilization_p95=measured("accelerator_utilization_p95", units.share) or mean or 0.0,
        memory_used_bytes=memory or 0,
        batch=float(batch) if isinstance(batch, int | float) else None,
        weights=text("weights", "bf16"),
    )
    if faults:
        raise SpecError(faults, subject=origin)
    return found


def right_size(observed: Observed, catalog: Catalog, *, on: date) -> Advice:
    """The verdict on what runs. SpecError where the catalog does not know the machine."""
    try:
        shape = catalog.shape(observed.cloud, observed.instance_type)
    except KeyError as error:
        raise SpecError([Fault(path="instance_type", message=str(error.args[0]))], subject=observed.workload) from None
    if not shape.accelerator:
        fault = Fault(path="instance_type", message="has no accelerator; accelerators are what is sized")
        raise SpecError([fault], subject=observed.workload)
    now = catalog.price(shape.cloud, shape.instance_type, observed.region, observed.market, on)
    monthly = _monthly(now.amount, observed.nodes) if isinstance(now, Priced) else None
    usable = catalog.accelerators[shape.accelerator].memory_bytes
    busy, used = observed.utilization_p95, observed.memory_used_bytes

    def advice(verdict: Verdict, reason: str, options: tuple[SmallerFleet, ...] = ()) -> Advice:
        saves = monthly - options[0].usd_per_month if options and monthly is not None else None
        return Advice(
            workload=observed.workload,
            verdict=verdict,
            reason=reason,
            usd_per_month=monthly,
            saves_usd_per_month=saves,
            options=options,
        )

    if busy < IDLE_BELOW:
        return advice("idle", f"busy {busy:.0%} of the time at most: stop it, or let a guard scale it to zero")
    if used * 1.02 > usable:
        return advice("larger", f"{used / GIB:.1f} GiB used of {usable / GIB:.1f} GiB: no room is left")
    small = observed.batch is not None and observed.batch < SMALL_BATCH
    if small and busy < BATCHING_BELOW:
        return advice(
            "batching",
            f"busy {observed.utilization_mean:.0%} with {observed.batch:g} requests at once: a batching problem, not a "
            f"hardware one. Each step reads all weights for few requests; raise the batch (concurrency, dynamic "
            f"batching) before changing machines, a smaller device would only be slower",
        )
    if busy > BUSY_ABOVE:
        return advice("larger", f"busy {busy:.0%} at the 95th percentile: peaks wait; add machines or a faster device")
    options = _smaller(observed, shape, catalog, on, monthly)
    held = f"{used / GIB:.1f} GiB of memory and {busy:.0%} busy at the 95th percentile"
    if not options:
        return advice("keep", f"{held}: nothing that is at least {1 - WORTH:.0%} cheaper does the same")
    best = options[0]
    return advice("smaller", f"{held}: {best.nodes} x {best.instance_type} does the same", options)


def _smaller(
    observed: Observed, shape: Shape, catalog: Catalog, on: date, monthly: Decimal | None
) -> tuple[SmallerFleet, ...]:
    """Fleets of the same cloud and region that hold the memory and do the work, cheaper by a tenth or more."""
    devices = shape.accelerators * observed.nodes
    need_bytes = observed.memory_used_bytes * MEMORY_SPARE
    compute, bandwidth = _speed(shape, catalog, observed.weights)
    found: list[SmallerFleet] = []
    for other in catalog.shapes:
        if other.cloud != shape.cloud or other.cloud not in PROVISIONABLE or not other.accelerator:
            continue
        accelerator = catalog.accelerators[other.accelerator]
        same_runtime = accelerator.runtime == catalog.accelerators[shape.accelerator].runtime
        if not same_runtime or accelerator.memory_bytes < need_bytes:
            continue
        its_compute, its_bandwidth = _speed(other, catalog, observed.weights)
        if not its_compute or not its_bandwidth:
            continue
        # The slower of the two resources decides how much of the work one device takes over.
        ratio = max(compute / its_compute, bandwidth / its_bandwidth)
        wanted = math.ceil(devices * observed.utilization_p95 * ratio / TARGET - 1e-9)
        nodes = max(1, math.ceil(wanted / other.accelerators))
        price = catalog.price(other.cloud, other.instance_type, observed.region, observed.market, on)
        if not isinstance(price, Priced):
            continue
        usd = _monthly(price.amount, nodes)
        if monthly is not None and usd > monthly * Decimal(str(WORTH)):
            continue
        busy = devices * observed.utilization_p95 * ratio / (nodes * other.accelerators)
        found.append(
            SmallerFleet(
                instance_type=other.instance_type,
                region=observed.region,
                accelerator=other.accelerator,
                nodes=nodes,
                usd_per_month=usd,
                utilization_expected=round(busy, 3),
            )
        )
    return tuple(sorted(found, key=lambda fleet: (fleet.usd_per_month, fleet.instance_type))[:OPTIONS])


def _speed(shape: Shape, catalog: Catalog, weights: str) -> tuple[float, float]:
    """FLOP/s and bytes/s that one accelerator of the machine reaches."""
    accelerator = catalog.accelerators[shape.accelerator]
    family = constants().family(accelerator.family)
    return (
        peak_flop_per_s(accelerator, weights) * family.compute,
        accelerator.memory_bytes_per_s * family.memory,
    )


def _monthly(usd_per_hour: Decimal, nodes: int) -> Decimal:
    return (usd_per_hour * nodes * HOURS_PER_MONTH).quantize(Decimal("0.01"))
