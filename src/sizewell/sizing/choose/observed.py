"""Right-sizing: what a running workload was measured to use, and what it should run on instead.

A device that is half idle has one of two reasons. With few sequences in flight and room for more, each step reads all
weights for little work: a batching problem, which a smaller device does not solve. With the batch that fits, the load
is too small for the hardware: then the measured load is sized anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn, TypeVar

from pydantic import BeforeValidator, Field, ValidationError

from sizewell.sizing.catalog.records import Accelerator, Shape
from sizewell.sizing.choose.candidates import Cause
from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.money import HOURS_PER_MONTH, Price, Unpriced
from sizewell.sizing.predict.memory import usable_bytes
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.units import gib, short_duration
from sizewell.sizing.versions import content
from sizewell.sizing.workload.fields import Bytes, Count, PerSecond, Seconds, Share
from sizewell.sizing.workload.model import Place, Section, Word, place_form

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.choice import Sizing
    from sizewell.sizing.workload.read import WorkloadSpec

BUSY: Final = 0.70  # from here up an accelerator is worth its money
ROOM: Final = 2.0  # times the measured batch that must fit before the batch is called small
GREEDY: Final = 0.80  # a serving engine that holds this share of its device has taken what it was given
MARGIN: Final = 1.10  # on a measured peak, before a smaller device is believed
NAMED: Final = 5  # machine types named in a finding

Verdict = Literal["busy", "batching", "oversized", "right"]


class Running(Section):
    """The machines that the measurement is of."""

    on: Annotated[Place, BeforeValidator(place_form)]
    instance_type: Word
    nodes: Count = 1


class Service(Section):
    """What a measurement of times is of, where its files do not say so."""

    workload: str
    running: Running | None = None
    replicas: Count | None = None  # that were measured together
    between_s: Seconds | None = Field(None, alias="between")  # of two pages of metrics


class Observed(Section):
    """A measurement: means over the hours in which the workload ran, peaks for memory."""

    workload: str
    running: Running
    utilization: Share  # of the accelerators: engine active, not CPU
    memory_bytes: Bytes | None = Field(None, alias="memory")  # peak of one device
    kv_cache: Share | None = None  # share of a serving engine's cache that was used at the peak
    batch: Count | None = None  # sequences in flight of a replica, or the micro-batch
    rps: PerSecond | None = None
    step_time_s: Seconds | None = Field(None, alias="step_time")


@dataclass(frozen=True, slots=True, kw_only=True)
class RightSizing:
    """What the measurement says, and the decision for what was measured."""

    workload: str
    verdict: Verdict
    findings: tuple[str, ...]
    now_usd_per_month: Price  # of the running machines, on demand and around the clock
    answer: Decision | NothingFits

    @property
    def saving_usd_per_month(self) -> Decimal | None:
        """Expected US dollars a month that the decision is cheaper; None where one of the two is not known."""
        if isinstance(self.now_usd_per_month, Unpriced) or isinstance(self.answer, NothingFits):
            return None
        sized = self.answer.workloads[0].bill().run_rate.whole
        return None if isinstance(sized, Unpriced) else self.now_usd_per_month.amount - sized.expected


def read_observed(path: str | Path, catalog: Catalog) -> Observed:
    """A measurement file; SpecError with every fault, what the catalog does not know among them."""
    text, observed = _read(Path(path), Observed)
    device = _device(observed.running, catalog, text, path)
    if observed.memory_bytes is not None and observed.memory_bytes > device.memory_bytes:
        message = (
            f"{gib(observed.memory_bytes):.1f} GiB is more than the {gib(device.memory_bytes):.1f} of a {device.name}"
        )
        _refuse("memory", message, "state the peak of one device", text, path)
    return observed


def read_service(path: Path, catalog: Catalog) -> Service:
    """A file beside a measurement of times; SpecError with every fault."""
    text, service = _read(path, Service)
    if service.running is not None:
        _device(service.running, catalog, text, path)
    return service


Read = TypeVar("Read", bound=Section)


def _read(path: Path, model: type[Read]) -> tuple[str, Read]:
    from sizewell.sizing.workload.faults import fault_of
    from sizewell.sizing.workload.places import placed
    from sizewell.sizing.workload.text import load_mapping, read_text

    text = read_text(path)
    raw = content("observed", load_mapping(text, str(path)), str(path))
    try:
        return text, model.model_validate(raw)
    except ValidationError as error:
        faults = [fault_of(item, raw, model) for item in error.errors(include_url=False)]
        raise SpecError(placed(faults, text), subject=str(path)) from None


def _device(running: Running, catalog: Catalog, text: str, path: str | Path) -> Accelerator:
    """The accelerator of the machines that are named; SpecError where there is none."""
    try:
        shape = _shape(running, catalog)
    except KeyError as error:
        _refuse("running.instance_type", str(error.args[0]), "use the provider's name for it", text, path)
    device = catalog.accelerators.get(shape.accelerator)
    if device is None:
        _refuse("running.instance_type", f"{shape.instance_type} has no accelerator", "", text, path)
    return device


def _refuse(where: str, message: str, fix: str, text: str, path: str | Path) -> NoReturn:
    from sizewell.sizing.workload.places import placed

    raise SpecError(placed([Fault(path=where, message=message, fix=fix)], text), subject=str(path)) from None


def right_size(spec: WorkloadSpec, observed: Observed, catalog: Catalog, *, on: date) -> RightSizing:
    """Judge a measurement and size the measured load. SpecError where spec and measurement do not belong together."""
    if observed.workload != spec.name:
        message = f"the measurement is of '{observed.workload}', the spec is of '{spec.name}'"
        raise SpecError([Fault(path="workload", message=message, fix="name the spec that runs there")])
    shape = _shape(observed.running, catalog)
    device = catalog.accelerators[shape.accelerator]
    measured = _at_measured_load(spec, observed)
    sizing = size_one(measured, catalog, stack="", on=on)
    findings = [*_memory_findings(observed, device, sizing), *_time_findings(observed, sizing)]
    answer = decide([measured], catalog, stack="", on=on)
    region = observed.running.on.region or ""
    price = catalog.price(shape.cloud, shape.instance_type, region, "on-demand", on)
    now: Price = price
    if not isinstance(price, Unpriced):
        whole = price.amount * observed.running.nodes * HOURS_PER_MONTH
        now = type(price)(whole.quantize(Decimal("0.01")), price.source, price.date)
    room = _room(observed, device)
    verdict: Verdict
    if observed.utilization >= BUSY:
        verdict = "busy"
        findings.insert(0, f"busy {observed.utilization:.0%} of the time: no capacity to remove")
    elif observed.batch is not None and room is not None and room >= ROOM:
        verdict = "batching"
        more = int(observed.batch * room)
        findings.insert(
            0,
            f"busy {observed.utilization:.0%} of the time with {observed.batch} in flight, where {more} would fit: a "
            f"batching problem, not a hardware one; raise the batch before changing the machine",
        )
    else:
        saves = RightSizing(
            workload=spec.name, verdict="right", findings=(), now_usd_per_month=now, answer=answer
        ).saving_usd_per_month
        verdict = "oversized" if saves is not None and saves > 0 else "right"
        reason = (
            "the load is too small for the machines" if verdict == "oversized" else "nothing cheaper serves the load"
        )
        findings.insert(0, f"busy {observed.utilization:.0%} of the time: {reason}")
    return RightSizing(
        workload=spec.name, verdict=verdict, findings=tuple(findings), now_usd_per_month=now, answer=answer
    )


def _shape(running: Running, catalog: Catalog) -> Shape:
    return catalog.shape(running.on.cloud, running.instance_type)


def _at_measured_load(spec: WorkloadSpec, observed: Observed) -> WorkloadSpec:
    """The spec with the measured rate in place of the stated load."""
    if spec.traffic is None or observed.rps is None:
        return spec
    load = {"rps": observed.rps, "requests_per_hour": None, "concurrent_users": None, "think_time_s": 0.0}
    return spec.model_copy(update={"traffic": spec.traffic.model_copy(update=load)})


def _room(observed: Observed, device: Accelerator) -> float | None:
    """How many times the measured batch the device would hold; None where the measurement does not say."""
    if observed.kv_cache is not None:
        return 1 / observed.kv_cache
    if observed.memory_bytes is None or observed.memory_bytes > GREEDY * device.memory_bytes:
        return None
    # What grows with the batch is at most all that was measured, so this is the least that more memory would hold.
    return usable_bytes(device) / observed.memory_bytes


def _memory_findings(observed: Observed, device: Accelerator, sizing: Sizing) -> list[str]:
    used = observed.memory_bytes
    if used is None:
        return []
    if observed.kv_cache is None and sizing.spec.kind == "inference" and used > GREEDY * device.memory_bytes:
        return [f"{gib(used):.1f} GiB is what the engine reserves, not what it needs; state kv_cache: the share used"]
    needs = used * MARGIN
    at_hand = sizing.setting.catalog.accelerators
    smaller = [
        rejection.instance_type
        for rejection in sizing.rejections
        if rejection.cause is Cause.MEMORY
        and rejection.cloud == observed.running.on.cloud
        and rejection.accelerator
        and usable_bytes(at_hand[rejection.accelerator]) >= needs
    ]
    findings = [f"peak {gib(used):.1f} of {gib(usable_bytes(device)):.1f} GiB usable"]
    if smaller:
        named = ", ".join(sorted(smaller)[:NAMED]) + (" and others" if len(smaller) > NAMED else "")
        findings.append(f"predicted not to fit, but the measured peak and {MARGIN - 1:.0%} more would: {named}")
    return findings


def _time_findings(observed: Observed, sizing: Sizing) -> list[str]:
    if observed.step_time_s is None:
        return []
    same = (
        option.fleet.training
        for option in sizing.options
        if option.instance_type == observed.running.instance_type and option.fleet.nodes == observed.running.nodes
    )
    predicted = next((estimate for estimate in same if estimate is not None), None)
    if predicted is None:
        return []
    times = observed.step_time_s / predicted.step_s
    step = f"a step takes {short_duration(observed.step_time_s)}, predicted {short_duration(predicted.step_s)}"
    if observed.step_time_s > predicted.high_s:
        return [f"{step}: {times:.1f} x, above the band; look at the input pipeline and the batch before the machine"]
    return [f"{step}: {times:.1f} x, within the band"]
