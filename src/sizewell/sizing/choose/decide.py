"""Specs and catalog in, the decision of a stack out; or which workload nothing fits, and what to relax.

`decide` is pure: it reads no clock, no file and no network. The same specs, catalog and date give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from sizewell import logs
from sizewell.sizing.billing.fees_compared import ComparedFees
from sizewell.sizing.catalog import host
from sizewell.sizing.catalog.records import ON_PREMISES, PROVISIONABLE
from sizewell.sizing.choose import blocks, serving_ways, wider
from sizewell.sizing.choose.bill import standing_items
from sizewell.sizing.choose.candidates import IN_A_CLUSTER, Cause, Rejection
from sizewell.sizing.choose.choice import Sizing, rejection_groups, size
from sizewell.sizing.choose.fleet import FAR, SET_BATCH
from sizewell.sizing.choose.impossible import impossible, nearness
from sizewell.sizing.choose.own_batch import grown
from sizewell.sizing.choose.pricing import Option
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.choose.setting import KEEP, Setting
from sizewell.sizing.choose.workloads import workload_record
from sizewell.sizing.errors import Fault, SpecError, UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import CatalogRef, Decision, RejectionGroup
from sizewell.sizing.records.jobs import Pace
from sizewell.sizing.records.registration import UNASSIGNED
from sizewell.sizing.records.stackname import UNSTATED, environment_of
from sizewell.sizing.units import GIB, short_duration

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.workload.read import WorkloadSpec

NEAREST = 5
EXCLUDED = (Cause.REGION, Cause.CONSTRAINT)  # by the spec itself
ELSEWHERE = {  # places that Sizewell does not provision in, and what people do who have machines there
    ON_PREMISES: "give your own machines a rate and name their cluster: `sizewell docs adopt-a-cluster`",
    "edge": "edge devices are sized but not provisioned: install the model yourself, or name a cloud in infra",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingFits:
    """No machine that a component can build does the work: the nearest ones, why not, and what to relax."""

    workload: str
    nearest: tuple[Rejection, ...]
    relax: tuple[str, ...]
    rejections: tuple[RejectionGroup, ...]
    impossible: tuple[str, ...] = ()  # wishes that are under a bound of the hardware, each with by how much

    def __str__(self) -> str:
        lines = [f"{self.workload}: nothing fits", *(f"  impossible: {wish}" for wish in self.impossible)]
        lines += [f"  {rejection.shape}: {rejection.reason}" for rejection in self.nearest]
        lines += [f"  relax: {way}" for way in self.relax]
        return "\n".join(lines)


Answer = Decision | NothingFits


def decide(
    specs: Sequence[WorkloadSpec],
    catalog: Catalog,
    *,
    stack: str,
    on: date,
    environment: str = "",
    pace: Pace | None = None,
) -> Decision | NothingFits:
    """The decision of `stack` ("" for none: nothing is written then) on a day; all its workloads on one cloud, but for
    those that ask for machines that already exist: these stand beside it.

    `environment` is what the stack's configuration states (`sizewell:environment`); without it the name says which it
    is, and a stack that says nothing is development. The decision records the answer, and policies ask again.
    `pace` is how fast the service was measured to be.

    UsageError for no spec or two of the same name; SpecError for a spec that names what the catalog does not know.
    """
    if not specs:
        raise UsageError("no spec to size")
    names = [spec.name for spec in specs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"two specs are named {', '.join(twice)}; workloads of a stack need different names")
    cloud = cloud_of(stack)
    # `apart` must be true wherever `best` is asked for one cloud below: without it the search prunes against the best
    # of all clouds, and what would do on the cloud that the workloads have in common may be rejected as more expensive.
    apart = cloud is not None or len(specs) > 1
    environment = environment_of(stack, environment) or UNSTATED
    sizings = [
        size_one(spec, catalog, stack=stack, on=on, apart=apart, environment=environment, pace=pace) for spec in specs
    ]
    chosen: list[Option] = []
    built = [sizing for sizing in sizings if not _adopts(sizing)]
    if cloud is None and len(built) > 1:
        # For all together and before any is chosen: each one's cheapest would spread the stack over several clouds.
        cloud = _cheapest_common(built)
        if cloud is None and all(sizing.best() for sizing in built):
            return _no_common_cloud(built)
    for sizing in sizings:
        its_cloud = None if _adopts(sizing) else cloud
        option = sizing.best(its_cloud)
        if option is None:
            return nothing_fits(sizing, its_cloud)
        chosen.append(option)
        shown = f"{option.deal.market} {option.cloud} {option.instance_type} in {option.deal.region}"
        ways = (len(sizing.options), len(sizing.rejections))
        logs.log(__name__, "%s: %s, of %d options; %d machine types do not serve", sizing.need.name, shown, *ways)
    lives = [spec.ttl_s for spec in specs if spec.ttl_s is not None]
    ends = bool(lives) and len(lives) == len(specs)
    chosen = share_standing(chosen, ends=ends)
    owners = [spec.owner for spec in specs if spec.owner != UNASSIGNED]
    centers = [spec.cost_center for spec in specs if spec.cost_center != UNASSIGNED]
    return Decision(
        schema="sizewell.decision/1",
        stack=stack,
        environment=environment,
        decided_on=on,
        expires_at=on + timedelta(seconds=min(lives)) if ends else None,
        owner=next(iter(owners), UNASSIGNED),
        cost_center=next(iter(centers), UNASSIGNED),
        catalog=CatalogRef(digest=catalog.digest, as_of=catalog.as_of),
        in_stock=catalog.in_stock,
        workloads=tuple(workload_record(sizing, option) for sizing, option in zip(sizings, chosen, strict=True)),
    )


def share_standing(chosen: Sequence[Option], *, ends: bool = False) -> list[Option]:
    """Workloads of one stack in one region share network and cluster; the first of them has the lines of all."""
    together: dict[tuple[str, str], list[Option]] = {}
    for option in chosen:
        together.setdefault((option.cloud, option.deal.region), []).append(option)
    return [
        replace(option, shared=standing_items(group, ends=ends) if group[0] is option else ())
        for option in chosen
        for group in (together[option.cloud, option.deal.region],)
    ]


def size_one(
    spec: WorkloadSpec,
    catalog: Catalog,
    *,
    stack: str,
    on: date,
    apart: bool = False,
    environment: str = "",
    pace: Pace | None = None,
) -> Sizing:
    """One spec against the whole catalog: what `decide`, `explain` and the benchmarks share."""
    _check_start(spec, on)
    checkpoint = spec.checkpoint
    need = requirements(spec, catalog)
    setting = Setting(
        need=need if pace is None else need.at(pace),
        catalog=catalog,
        on=on,
        fees=ComparedFees.of(catalog, on),
        environment=environment_of(stack, environment) or UNSTATED,
        store=f"{stack}-{spec.name}" if stack else spec.name,
        keep=checkpoint.keep if checkpoint else KEEP,
        interval_s=checkpoint.interval_s if checkpoint else None,
    )
    if setting.need.arrivals is not None and setting.need.arrivals.simulated:
        from sizewell.sizing.choose.simulated import size_for_bursts

        return size_for_bursts(spec, setting, apart=apart, clouds=tuple(PROVISIONABLE))
    sizing = size(spec, setting, apart=apart)
    if sizing.best() is None and setting.need.training is not None:
        sizing = grown(sizing, lambda larger: size(spec, larger, apart=apart))
    _check_limit(spec, sizing)
    if sizing.best() is None and (sizing.need.names_hardware or _adopts(sizing)):
        # Of machines that the spec names the price is one answer of several: the others do not wait for it.
        unpriced = size(spec, sizing.setting, apart=apart, unpriced=True)
        return unpriced if unpriced.best() is not None else sizing
    return sizing


def _check_start(spec: WorkloadSpec, on: date) -> None:
    """A block that is to be bought starts while it is sold; one that is bought starts when it does."""
    block = spec.capacity.block if spec.capacity else None
    days = max(cloud.capacity.block_days_ahead or 0 for cloud in CLOUDS.values() if "block" in cloud.capacity.forms)
    if block is None or block.start is None or block.id is not None:
        return
    ahead = (date.fromisoformat(block.start[:10]) - on).days
    if ahead > days:
        latest = on + timedelta(days=days)
        fault = Fault(
            path="capacity.block.start",
            message=f"{block.start} is {ahead} days ahead: blocks are sold that start within {days} days",
            fix=f"name a day until {latest.isoformat()}, or leave start out for the earliest that is offered",
        )
        raise SpecError([fault], subject=spec.name)


def _check_limit(spec: WorkloadSpec, sizing: Sizing) -> None:
    """A purchase that is confirmed has a maximum price. Only here, as the figure to state is of this run's block."""
    block, best = spec.capacity.block if spec.capacity else None, sizing.best()
    stated = block is None or block.max_price_usd is not None or block.id is not None
    if block is None or best is None or stated or block.purchase != "confirmed":
        return
    usd = float(best.hours.expected) * best.usd_per_hour
    fault = Fault(
        path="capacity.block.max_price",
        message=f"is missing; a confirmed purchase needs a maximum price, this run's block costs {usd:,.2f} USD",
        fix=f"add max_price: {blocks.limit_text(usd)}",
    )
    raise SpecError([fault], subject=spec.name)


def nothing_fits(sizing: Sizing, cloud: str | None) -> NothingFits:
    """The nearest rejections of one workload, one for each reason, and how to make them fit."""
    asked = {place for place, _, _ in sizing.need.places}
    clouds = asked if asked and not asked & set(PROVISIONABLE) else set(PROVISIONABLE)
    judged = [r for r in sizing.rejections if r.cause is not Cause.ACCELERATOR]
    # A rejection for want of an accelerator tells a reader nothing, unless the spec asks for machines without one: then
    # the rule that keeps the work off them is the answer, and comes before what other machines lack.
    types, asks = sizing.need.instance_types or (), host.RUNTIME in (sizing.need.accelerators or ())
    without = [r for r in sizing.rejections if r.cause is Cause.ACCELERATOR and r.relax and r.cloud in clouds]
    ruled = [r for r in without if r.instance_type in types or (asks and not types)]
    pool = ruled + [r for r in judged if r.cloud in clouds]
    if cloud is not None:
        pool = [r for r in pool if r.cloud == cloud] or pool
    # What the spec itself excludes is shown only where it allows no machine at all. Filtered before ranking, not ranked
    # last: a list cut at NEAREST would otherwise be filled up with machines that the reader has ruled out.
    pool = [r for r in pool if r.cause not in EXCLUDED] or [r for r in judged if r.cause not in EXCLUDED] or pool
    if all(r.cause in EXCLUDED for r in pool):  # that other machines are not the ones named says nothing
        named = [r for r in pool if r.instance_type in types]
        pool = named or [r for r in pool if r.relax == IN_A_CLUSTER and sizing.need.names_hardware] or pool
    many = [r for r in pool if r.cause is Cause.NODES]
    if many and min(r.shortfall for r in many) > FAR:  # a machine that is too slow would need still more of them
        pool = many
    ranked = sorted(pool, key=nearness)
    nearest: list[Rejection] = []
    for rejection in ranked:
        if len(nearest) < NEAREST and rejection.reason not in {near.reason for near in nearest}:
            nearest.append(rejection)
    nearest = _with_ways(sizing, nearest)
    beyond = impossible(sizing)
    helped = [
        r for r in nearest if r.cause is not Cause.LAYOUT or math.isfinite(r.shortfall) or r.relax.startswith(SET_BATCH)
    ] or nearest
    ways = {r.cause: r.relax for r in reversed(helped) if r.relax}  # of each cause the nearest's
    # A bound of the hardware is not lifted by what else a smaller machine lacks.
    memory = sizing.need.training is None  # a run that is impossible needs time, whatever a smaller machine lacks
    others = [way for cause, way in reversed(ways.items()) if not beyond or memory or cause is not Cause.MEMORY]
    elsewhere = next((o for o in sizing.options if not o.candidate.buildable), None)
    if elsewhere is not None and elsewhere.cloud in asked:  # what the spec names does the work: nothing is to widen
        others, nearest = [], [r for r in nearest if r.cause not in EXCLUDED]
    shown = clouds | {r.cloud for r in nearest}
    unrated = elsewhere is not None or any(r.cloud == ON_PREMISES and r.cause is Cause.NO_PRICE for r in nearest)
    others += [way for place, way in ELSEWHERE.items() if place in shown and (place != ON_PREMISES or unrated)]
    relax = list(dict.fromkeys([*(wish.relax for wish in beyond if wish.relax), *others]))
    if elsewhere is not None:
        relax.append(f"{_at_work(elsewhere)}; {elsewhere.cloud} cannot be provisioned")
    if cloud is not None and (other := sizing.best()) is not None:
        relax.append(f"{other.cloud} {other.instance_type} would fit; the stack is on {cloud}")
    return NothingFits(
        workload=sizing.need.name,
        nearest=tuple(nearest),
        relax=tuple(relax),
        rejections=rejection_groups(sizing.rejections),
        impossible=tuple(f"{wish.what}: {_times(wish.factor)} {wish.than}" for wish in beyond),
    )


def _with_ways(sizing: Sizing, nearest: list[Rejection]) -> list[Rejection]:
    nearest = wider.with_ways(sizing, nearest)
    if sizing.need.training is None:
        return serving_ways.with_ways(sizing, nearest)
    from sizewell.sizing.choose.more_room import with_ways  # its layouts need NumPy, which other workloads do without

    return with_ways(sizing, nearest)


def _at_work(option: Option) -> str:
    """A machine that does the work, with the memory that is taken of a device and how fast it is."""
    fleet, memory = option.fleet, option.fleet.memory
    text = f"{fleet.nodes} x {option.cloud} {option.instance_type} would fit"
    if memory.breakdown:
        text += f": {memory.total_bytes / GIB:,.1f} of {fleet.usable_bytes / GIB:,.1f} GiB a device"
    if option.run_s is not None:
        return f"{text}, {short_duration(option.run_s)} a run"
    if fleet.replica_rate and fleet.serving is not None:
        text += f", {fleet.replica_rate * fleet.replicas:.3g} requests/s within slo"
        text += f", {fleet.serving.tpot_s * 1000:.3g} ms a token" if fleet.serving.tpot_s else ""
    return text


def _times(factor: float) -> str:
    if factor < 1.1:  # where "1.0 times" would say that it is enough
        return f"{max(factor, 1.001):.3g} times" if factor < 1.01 else f"{factor:.2f} times"
    return f"{factor:.1f} times" if factor < 100 else f"{factor:,.0f} times"


def cloud_of(stack: str) -> str | None:
    """The cloud that a stack's name says, where it says one."""
    words = stack.split("-")[1:]
    return next((word for word in words if word in PROVISIONABLE), None)


def _adopts(sizing: Sizing) -> bool:
    """Whether a spec names only places whose machines already exist."""
    places = {place for place, _, _ in sizing.need.places}
    return bool(places) and not places & set(PROVISIONABLE)


def _cheapest_common(sizings: Sequence[Sizing]) -> str | None:
    """The cloud on which all workloads together come out best; None where no cloud has them all."""
    best: tuple[float, str] | None = None
    for cloud in PROVISIONABLE:
        best_options = [sizing.best(cloud) for sizing in sizings]
        if all(option is not None for option in best_options):
            options = [option for option in best_options if option is not None]
            key = (sum(o.rank_usd for o in options), cloud)
            best = key if best is None or key < best else best
    return best[1] if best else None


def _no_common_cloud(sizings: Sequence[Sizing]) -> NothingFits:
    lines = tuple(f"{s.need.name} fits on {option.cloud}" for s in sizings if (option := s.best()) is not None)
    return NothingFits(
        workload=", ".join(sizing.need.name for sizing in sizings),
        nearest=(),
        relax=("a stack uses one cloud: split the workloads over two stacks", *lines),
        rejections=(),
    )
