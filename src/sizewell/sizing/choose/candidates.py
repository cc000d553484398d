"""Every machine type of the catalog, tried against the requirements: a `Candidate` with its fleets, or a `Rejection`.

Each shape ends up in one of the two, exactly once. Checks go from cheap to dear: place, constraints, runtime, price,
then memory and speed, which are worked out once per kind of machine and not once per offer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from sizewell import logs
from sizewell.sizing.catalog import buildable, host, kernels, residency
from sizewell.sizing.catalog.catalog import EVERYWHERE
from sizewell.sizing.catalog.engines import ENGINES, engine_for
from sizewell.sizing.catalog.history import fresh_days
from sizewell.sizing.catalog.managed import RAW, TITLES
from sizewell.sizing.catalog.rates import Discounts
from sizewell.sizing.catalog.records import EDGE, PROVISIONABLE, Accelerator, Offer, Shape, Slice
from sizewell.sizing.catalog.spot import FAR_BELOW, UsualSpot
from sizewell.sizing.choose import blocks, orchestration, services
from sizewell.sizing.choose.fleet import Fleet, FleetRefusal, Machine
from sizewell.sizing.choose.fleets import FleetSearch
from sizewell.sizing.choose.requirements import Requirements
from sizewell.sizing.money import Priced
from sizewell.sizing.predict.architecture import served_family
from sizewell.sizing.predict.performance import processors
from sizewell.sizing.predict.performance.serving_replica import peak_flop_per_s
from sizewell.sizing.providers import CLOUDS, market_sold
from sizewell.sizing.records.jobs import ServingJob, TrainingJob
from sizewell.sizing.workload.software import SOFTWARE, named_for

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog


ELSEWHERE_MARKETS = ("on-demand", "purchase")  # of other sellers and own hardware, whichever market the spec asks for

KEPT_ELSEWHERE = 2
AHEAD = 24  # shapes that are searched together, even where the bound would reject the later ones
WORTH_THE_WAIT = 1.1  # times the cost of scarce machines that others may have, for a batch (estimate)
NEARLY = 1.03  # times that nobody decides by: predictions and prices differ by more
KEPT = 3  # buildable candidates that no bound rejects: the choice and its runners-up


class Cause(Enum):
    """Why a shape does not serve, in the order in which it is found out."""

    REGION = "region"  # not where the spec allows it
    CONSTRAINT = "constraint"  # not what the spec's resources allow
    ACCELERATOR = "accelerator"  # has none
    RUNTIME = "runtime"  # framework or weight format does not run there
    NO_PRICE = "no-price"
    MARKET = "market"  # not sold in the market that the spec asks for
    MANAGED = "managed"  # not offered by the service, or without the scheduler, that the spec asks for
    MEMORY = "memory"
    LAYOUT = "layout"  # no valid way to split the work over it
    SLO = "slo"
    TOO_SLOW = "too-slow"
    NODES = "nodes"
    DEARER = "dearer"  # cannot beat what was found, by a lower bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal:
    """A shape in one market of one region at its price there: of spot the usual one, otherwise the cheapest."""

    market: str
    region: str
    zone: str
    usd_per_hour: Decimal
    advisor: str = ""  # how often spot is reclaimed, as the vendor's advisor puts it
    estimate: str = ""  # basis of a price that is not published and was estimated from sister regions; else ""
    old: bool = False  # whether the price is older than prices of its market stay true
    unknown: bool = False  # nobody knows the price: `usd_per_hour` orders machines by their peak and says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A shape that serves: the fleets of it that would do, and what it costs where."""

    shape: Shape
    accelerator: Accelerator
    fleets: tuple[Fleet, ...]
    deals: tuple[Deal, ...]
    adopted: bool = False  # machines that already exist, in a cluster that the stack adopts, at the project's rate

    @property
    def provisioned(self) -> bool:
        """Whether components make the machines, and what is billed beside them."""
        return self.shape.cloud in PROVISIONABLE

    @property
    def own_program(self) -> bool:
        """Whether only layouts that the entry scripts do not have do the work here."""
        return self.fleets[0].own_program

    @property
    def buildable(self) -> bool:
        """Whether a component can build it, or adopt it; else it is an alternative at most."""
        return self.provisioned or self.adopted


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A shape that does not serve, and why, with its numbers. `shortfall` is needed / available where that is known."""

    cloud: str
    instance_type: str
    accelerator: str
    cause: Cause
    reason: str
    shortfall: float = math.inf
    relax: str = ""

    @property
    def shape(self) -> str:
        return f"{self.cloud}/{self.instance_type}"


@dataclass(frozen=True, slots=True)
class Trial:
    """All shapes, each in one of the two."""

    candidates: tuple[Candidate, ...]
    rejections: tuple[Rejection, ...]


@dataclass(slots=True)
class _Context:
    need: Requirements
    catalog: Catalog
    on: date
    slices: Mapping[str, tuple[Slice, ...]]
    search: FleetSearch
    unpriced: bool  # machines that the spec names are taken without a price
    fleets: dict[object, tuple[Fleet, ...] | FleetRefusal] = field(default_factory=dict)  # by kind of machine
    drafts: dict[object, tuple[Fleet, ...] | FleetRefusal] = field(default_factory=dict)  # found before asked for


@dataclass(frozen=True, slots=True)
class _Open:
    """A shape that passed the cheap checks; what it costs at the very least (0 where no bound is known)."""

    index: int
    shape: Shape
    accelerator: Accelerator
    machine: Machine
    deals: tuple[Deal, ...]
    floor_usd: float
    beside_usd: float = 0.0  # of that, what supporting resources cost in a month


Appraise = Callable[[Candidate], float | None]
"""What the best option of a candidate costs in all; None where it has none, or none that can be priced in full."""


def try_all(
    need: Requirements,
    catalog: Catalog,
    on: date,
    appraise: Appraise | None = None,
    extra_usd: Mapping[str, float] | None = None,
    *,
    apart: bool = False,
    unpriced: bool = False,
    own_programs: bool = False,
    hours: float = 0.0,
    usd_max: float = math.inf,
) -> Trial:
    """Every shape of the catalog as a candidate or a rejection, in the catalog's order.

    With `appraise`, runs are tried from the cheapest lower bound up, and shapes whose bound is above what the best few
    really cost are rejected without a search for a layout. `extra_usd` is what any option in a cloud costs
    beside its machines, at the least. `apart` keeps the best few of each cloud, for who has to stay on one. `unpriced`
    takes machines that nobody has a price of: layout, number, time and energy do not follow from it. With
    `own_programs` a run that an entry script has no layout for on a machine may have one of another program. `hours` is
    how long each machine of a service is billed at the least, which bounds what it costs; `usd_max` is what nothing is
    worked out above.
    """
    slices: dict[str, list[Slice]] = {}
    for legal in catalog.slices:
        slices.setdefault(legal.machine_type, []).append(legal)
    by_type = {name: tuple(items) for name, items in slices.items()}
    context = _Context(need, catalog, on, by_type, FleetSearch(need, own_programs=own_programs), unpriced)
    if need.training is not None:
        context.search.training.bound(tuple(catalog.accelerators.values()))
    outcomes: dict[int, Candidate | Rejection] = {}
    opened: list[_Open] = []
    for index, shape in enumerate(catalog.shapes):
        admitted = _admit(index, shape, context)
        if isinstance(admitted, _Open):
            if hours:
                floor = hours * float(min(deal.usd_per_hour for deal in admitted.deals))
                admitted = replace(admitted, floor_usd=floor)
            least = (extra_usd or {}).get(shape.cloud, 0.0)
            whole = admitted.floor_usd + least
            opened.append(replace(admitted, floor_usd=whole, beside_usd=least) if admitted.floor_usd else admitted)
        else:
            outcomes[index] = admitted
    nearly = NEARLY * (WORTH_THE_WAIT if need.batch is not None else 1.0)
    totals: dict[str, list[float]] = {}  # totals of the best few, by where a component can build them

    def rivals(item: _Open) -> tuple[list[float], int]:
        """What the best of its kind cost, and how many of them are kept."""
        cloud = item.shape.cloud
        buildable = cloud in PROVISIONABLE or _adopted(item.shape, context)
        same = totals.setdefault((cloud if apart else "any") if buildable else "elsewhere", [])
        return same, KEPT if buildable else KEPT_ELSEWHERE

    def beaten(item: _Open) -> bool:
        same, kept = rivals(item)
        # Right only while `floor_usd` is never above what `appraise` says of any option of the machine: a cost that is
        # added there has to be left out here, or to have a lower bound. Not ">=": of equals all are worked out, so that
        # the name decides between them and not the order of the queue; and of nearly equals, so that the plainest does.
        return len(same) >= kept and item.floor_usd > max(same[kept - 1], nearly * same[0])

    queue = sorted(opened, key=lambda o: (o.floor_usd, o.shape.cloud, o.shape.instance_type))
    for position, item in enumerate(queue):
        same, _ = rivals(item)
        if item.floor_usd > usd_max:
            outcomes[item.index] = _dearer(item, usd_max)
            continue
        if item.machine.key not in context.fleets:
            if beaten(item):
                outcomes[item.index] = _dearer(item, same[0])
                continue
            if need.training is not None:
                _work_ahead(queue[position:], beaten, context)
        outcome = _work_out(item, context)
        outcomes[item.index] = outcome
        if appraise is not None and item.floor_usd and isinstance(outcome, Candidate):
            worth = appraise(outcome)
            if worth is not None:
                same.append(worth)
                same.sort()
    ordered = [outcomes[index] for index in range(len(catalog.shapes))]
    if logs.has_details():
        for outcome in ordered:
            if isinstance(outcome, Rejection):
                logs.detail(__name__, "%s: %s: %s: %s", need.name, outcome.shape, outcome.cause.value, outcome.reason)
            else:
                fits = f"{outcome.shape.cloud}/{outcome.shape.instance_type}"
                logs.detail(__name__, "%s: %s: serves, %d fleets", need.name, fits, len(outcome.fleets))
    return Trial(
        tuple(outcome for outcome in ordered if isinstance(outcome, Candidate)),
        tuple(outcome for outcome in ordered if isinstance(outcome, Rejection)),
    )


def rejected(shape: Shape, cause: Cause, reason: str, shortfall: float = math.inf, relax: str = "") -> Rejection:
    """A rejection of a machine type."""
    return Rejection(
        cloud=shape.cloud,
        instance_type=shape.instance_type,
        accelerator=shape.accelerator,
        cause=cause,
        reason=reason,
        shortfall=shortfall,
        relax=relax,
    )


def _admit(index: int, shape: Shape, context: _Context) -> _Open | Rejection:
    """The checks that cost nothing: place, constraints, runtime, price."""
    # The first check that fails names the cause, so the order is part of the answer: what the spec excludes comes
    # before what the machine lacks, and both before its price. Otherwise a machine in a cloud that the spec never named
    # would be reported as unpriced, and the reader would wait for a price.
    need = context.need
    if need.places and all(cloud != shape.cloud for cloud, _, _ in need.places):
        return rejected(shape, Cause.REGION, f"infra allows {_places(need)}", relax=f"add {shape.cloud} to infra")
    accelerator = context.catalog.device(shape)
    if accelerator is None:
        reason = "has no accelerator, and its processor is not fixed"
        return rejected(shape, Cause.ACCELERATOR, reason)
    if not shape.accelerator and (unsized := _unsized(need)):
        return rejected(shape, Cause.ACCELERATOR, unsized, relax=_sized(need))
    wrong = _constraint(shape, accelerator, context)
    if wrong:
        return rejected(shape, Cause.CONSTRAINT, wrong, relax=OTHER_MACHINES)
    if unbuilt := buildable.refusal(
        shape, family=accelerator.family, scheduler=need.scheduler, managed=need.team.managed
    ):
        clustered = need.scheduler not in buildable.ON_CLUSTERS and not buildable.refusal(
            shape, family=accelerator.family, scheduler="kubernetes", managed=need.team.managed
        )  # as on nodes whose image has another driver
        return rejected(shape, Cause.CONSTRAINT, unbuilt, relax=IN_A_CLUSTER if clustered else OTHER_MACHINES)
    unfit, way_out = _runtime(accelerator, need, theirs=_adopted(shape, context))
    if unfit:
        return rejected(shape, Cause.RUNTIME, unfit, relax=way_out)
    offers = _offers(shape, need, context.catalog, context.on)
    estimated = _estimated(shape, context)
    sells = shape.cloud not in CLOUDS or any(market_sold(shape.cloud, market) for market in need.markets)
    gone = "" if offers else context.catalog.retired(shape.cloud, shape.instance_type)
    if context.unpriced and sells and not gone and (not offers or _adopted(shape, context)):
        machine = machine_of(shape, accelerator, context.slices.get(shape.instance_type, ()), need)
        return _Open(index, shape, accelerator, machine, (_unknown(shape, accelerator, context),), 0.0)
    if not offers:
        reason = f"no price for {shape.instance_type} on {context.on.isoformat()}"
        named = f"{reason}: retired {gone}" if gone and need.names_hardware else reason
        return rejected(shape, Cause.NO_PRICE, named, relax=OTHER_MACHINES if gone else "")
    placed = [offer for offer in offers if _allowed(offer, need)]
    if not placed and not estimated:
        where = f"residency {need.residency}" if need.residency else f"infra {_places(need)}"
        regions = sorted({offer.region for offer in offers})
        more = f" and {len(regions) - 4} more regions" if len(regions) > 4 else ""
        reason = f"priced in {', '.join(regions[:4])}{more}, none within {where}"
        return rejected(shape, Cause.REGION, reason, relax=OTHER_PLACES)
    markets = need.markets if shape.cloud in PROVISIONABLE else ELSEWHERE_MARKETS
    deals = (*_deals(placed, context, every=len(placed) == len(offers)), *estimated)
    wanted = [deal for deal in deals if deal.market in markets]
    if not wanted:
        sold = ", ".join(sorted({deal.market for deal in deals}))
        reason = f"priced {sold}, not {' or '.join(markets)}"
        once = sold == "capacity-block" and need.training is not None
        relax = BUY_A_BLOCK.format("24h") if once else _other_market(sold, need) or OTHER_MACHINES
        return rejected(shape, Cause.MARKET, reason, relax=relax)
    said = context.catalog.in_stock
    refusals = {
        deal: said.refusal(shape.cloud, deal.region, shape.instance_type, deal.market) for deal in deals if said
    }
    if said and all(map(refusals.get, wanted)):
        reason = f"when its cloud was asked, at {said.asked_at}: {refusals[wanted[0]]}"
        return rejected(shape, Cause.MARKET, reason, relax="ask again: size --in-stock")
    deals = tuple(deal for deal in deals if not refusals.get(deal))
    wanted = [deal for deal in deals if deal.market in markets]
    if shape.cloud in PROVISIONABLE and (unmanaged := _managed(shape, wanted, context)):
        return rejected(shape, Cause.MANAGED, unmanaged, relax="use managed: auto and scheduler: auto")
    machine = machine_of(shape, accelerator, context.slices.get(shape.instance_type, ()), need)
    floor = 0.0
    if need.training is not None and need.objective == "cost":
        hours = context.search.training.least_run_s(machine) / 3600
        floor = hours * float(min(deal.usd_per_hour for deal in wanted))
    return _Open(index, shape, accelerator, machine, deals, floor)


IN_A_CLUSTER = "use scheduler: kubernetes"  # `wider` says so where it helps
OTHER_MACHINES = "widen resources"  # these two are said in figures where nothing fits (`wider`)
OTHER_PLACES = "widen infra or data.residency"
BUY_A_BLOCK = "buy a block of it: capacity: {{block: {{duration: {}, purchase: confirmed}}}}"


def _other_market(sold: str, need: Requirements) -> str:
    """What asks for the markets that a machine is sold in; "" where no words of the spec do for such work."""
    ways = {
        "on-demand": "spot_policy: on-demand, and no capacity",
        "spot": "spot_policy: spot" if need.interruptible else "",
        "flex-start": "capacity: {flex_start: true}" if need.kind != "inference" else "",
        "capacity-block": "capacity: {block: {duration: 24h, purchase: confirmed}}" if need.kind != "inference" else "",
        "reserved-1y": "capacity: {savings_plan: {term: 1y}}",
        "reserved-3y": "capacity: {savings_plan: {term: 3y}}",
    }
    known = [ways[market] for market in sold.split(", ") if ways.get(market)]
    return f"use {' or '.join(known)}" if known else ""


def _unknown(shape: Shape, accelerator: Accelerator, context: _Context) -> Deal:
    """A deal at no known price, where the spec wants it, or the cloud sells the type, or sells anything."""
    catalog, need = context.catalog, context.need
    asked = [region for cloud, region, _ in need.places if cloud == shape.cloud and region]
    sold = [row.region for row in catalog.sold.get((shape.cloud, shape.instance_type), ())]
    selling = Counter(offer.region for offer in catalog.all_offers if offer.cloud == shape.cloud)
    open_to_all = [
        region
        for region, _ in selling.most_common()
        if _place_allowed(shape.cloud, region, "", need)
        and ((fact := catalog.region(shape.cloud, region)) is None or fact.access == "open")
    ]
    peak = max(accelerator.flop_per_s.values(), default=0) / 1e15
    return Deal(
        market=need.markets[0],
        region=(asked or sold or open_to_all or [EVERYWHERE])[0],
        zone="",
        usd_per_hour=Decimal(repr(max(1.0, shape.accelerators * peak))),
        estimate="no price of it is known",
        unknown=True,
    )


def _work_ahead(queue: Sequence[_Open], beaten: Callable[[_Open], bool], context: _Context) -> None:
    """Search layouts on the next machines of the queue together, and on those that will probably be needed after them.

    One search over many machines is much faster than one for each.
    """
    fleets, drafts = context.fleets, context.drafts
    ahead = {item.machine.key: item.machine for item in queue[:AHEAD] if item.machine.key not in fleets}
    if not ahead.keys() <= drafts.keys():
        likely = dict(ahead)
        for position in range(AHEAD, len(queue) if fleets else 0):
            item = queue[position]
            if item.machine.key not in fleets and item.machine.key not in likely and not beaten(item):
                likely |= {item.machine.key: item.machine for item in queue[position : position + AHEAD]}
        missing = {key: machine for key, machine in likely.items() if key not in fleets and key not in drafts}
        laid_out = context.search.training.fleets(tuple(missing.values()))
        # Only the next AHEAD go to `fleets` below, and not all that is known: the caller works out whatever stands in
        # `fleets` without asking whether its bound is too high. Drafts save time alone; if they went there as well,
        # which machines are rejected as too expensive would follow from how well this function guesses.
        drafts.update(zip(missing, laid_out, strict=True))
    fleets.update({key: drafts[key] for key in ahead})


def _work_out(item: _Open, context: _Context) -> Candidate | Rejection:
    """Memory and speed, once per kind of machine."""
    outcome = context.fleets.get(item.machine.key)
    if outcome is None:
        outcome = context.fleets[item.machine.key] = context.search.fleets(item.machine)
    if isinstance(outcome, FleetRefusal):
        return rejected(item.shape, Cause(outcome.cause), outcome.reason, outcome.shortfall, outcome.relax)
    return Candidate(
        shape=item.shape,
        accelerator=item.accelerator,
        fleets=outcome,
        deals=item.deals,
        adopted=_adopted(item.shape, context),
    )


def _adopted(shape: Shape, context: _Context) -> bool:
    """Whether the machines are the project's own: the spec names where they are, and the project what they cost.

    Edge devices are never: no cluster of them is adopted.
    """
    if shape.cloud in PROVISIONABLE or shape.cloud == EDGE:
        return False
    named = any(cloud == shape.cloud for cloud, _, _ in context.need.places)
    return (named and context.unpriced) or (named and (shape.cloud, shape.instance_type) in context.catalog.owned)


def _dearer(item: _Open, best_usd: float) -> Rejection:
    beside = f" and {item.beside_usd:,.2f} USD a month for supporting resources" if item.beside_usd else ""
    reason = (
        f"at least {item.floor_usd - item.beside_usd:,.2f} USD a run even without communication{beside}, the best "
        f"option is compared at {best_usd:,.2f} USD" + (" for both" if beside else "")
    )
    return rejected(item.shape, Cause.DEARER, reason, shortfall=item.floor_usd / max(best_usd, 0.01))


def machine_of(shape: Shape, accelerator: Accelerator, slices: Iterable[Slice], need: Requirements) -> Machine:
    """What of a shape decides memory and speed; shapes that agree in it share their fleets."""
    alone = Machine(accelerator=accelerator, count=shape.accelerators or 1, scale_up=shape.scale_up)
    if need.training is None:  # replicas and notebooks stay inside a machine: its network plays no part
        return replace(alone, host_vcpus=shape.vcpus) if need.batch is not None and _decodes(need) else alone
    legal = tuple(item for item in slices if not need.tpu or not need.tpu[1] or item.topology == need.tpu[1])
    fabric = shape.fabric_bytes_per_s or shape.network_bytes_per_s
    return replace(
        alone,
        fabric=shape.fabric,
        network_bytes_per_s=fabric / shape.accelerators if fabric and shape.accelerators else None,
        slices=tuple((item.vms, item.chips, item.topology) for item in legal),
        host_vcpus=shape.vcpus if _decodes(need) else None,
        host_memory_bytes=shape.memory_bytes if need.training.cpu_offload else None,
        together_max=_together_max(shape, need),
        processes=accelerator.processes_per_device,
    )


def _together_max(shape: Shape, need: Requirements) -> int:
    """Most machines of one job: as many as one network has and, for a capacity block alone, as many as one block."""
    bounds = [blocks.nodes_max(market, shape.cloud) for market in need.markets]
    known = [bound for bound in bounds if bound is not None]
    most = buildable.together_max(shape)
    return min(most, *known) if len(known) == len(bounds) else most


def _decodes(need: Requirements) -> bool:
    """Whether the hosts have images to decode for a run: vCPUs play no part in anything else."""
    model = need.architecture
    return model is not None and (model.kind in ("vision", "diffusion") or model.image_tokens > 0)


def _constraint(shape: Shape, accelerator: Accelerator, context: _Context) -> str:
    """Which of the spec's limits on the hardware the shape breaks; "" for none."""
    need = context.need
    if need.instance_types and shape.instance_type not in need.instance_types:
        return f"resources.instance_type requires {', '.join(sorted(need.instance_types))}"
    known_as = accelerator.key if shape.accelerator else host.RUNTIME
    if need.accelerators is not None and known_as not in need.accelerators:
        return f"resources.accelerators requires {', '.join(need.accelerator_words)}"
    nodes = need.nodes_of(shape.accelerators) if need.devices is not None and shape.accelerators else None
    if nodes is not None and nodes.high is not None and nodes.high < nodes.low:
        return f"has {shape.accelerators} accelerators, and no number of them is what resources.gpus requires"
    if need.tpu is not None:
        generations = {item.generation for item in context.slices.get(shape.instance_type, ())}
        inside = need.training is None  # replicas and notebooks stay inside a machine
        slices = context.slices.get(shape.instance_type, ())
        topologies = {item.topology for item in slices if item.vms == 1 or not inside}
        if need.tpu[0] not in generations:
            return f"resources.tpu requires {need.tpu[0]}"
        if need.tpu[1] and need.tpu[1] not in topologies:
            return f"has no {need.tpu[1]} slice{' in one machine' if inside else ''}"
    if not shape.accelerator:
        asked = need.memory_bytes_min or need.memory_bytes_max is not None
        return "has no accelerator, which resources.gpu requires" if asked else ""
    sold_gb = accelerator.memory_bytes * 1.04  # "24 GB" on the box is a little less for a program
    if need.memory_bytes_min and sold_gb < need.memory_bytes_min:
        return f"{accelerator.memory_bytes / 1e9:.0f} GB per accelerator, {need.memory_bytes_min / 1e9:.0f} requested"
    if need.memory_bytes_max is not None and accelerator.memory_bytes > need.memory_bytes_max * 1.08:
        has = f"{accelerator.memory_bytes / 1e9:.0f} GB per accelerator"
        return f"{has}, at most {need.memory_bytes_max / 1e9:.0f} allowed"
    return ""


# Runtimes that compile a model and support a part of them: taken where the framework is native or the spec names it.
_PORTED: Mapping[str, str] = {
    "tpu": "PyTorch/XLA",
    "neuron": "torch-neuronx",
    "gaudi": "Gaudi's PyTorch bridge",
    "rocm": "ROCm",
}
# Weight formats with kernels in the runtimes' usual serving and training stacks; CUDA has all.
_FORMATS: Mapping[str, frozenset[str]] = {
    "rocm": frozenset({"fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4"}),
    "tpu": frozenset({"fp32", "bf16", "fp16", "fp8", "int8"}),
    "neuron": frozenset({"fp32", "bf16", "fp16", "fp8", "int8"}),
    "gaudi": frozenset({"fp32", "bf16", "fp16", "fp8"}),
}


def _unsized(need: Requirements) -> str:
    """Why work is not for machines without accelerators, whatever model it is; "" where it may be."""
    if need.kind != "inference" or need.serving is None:
        return f"has no accelerator; {need.kind} is sized for accelerators only"
    if need.scheduler in ("slurm", "none"):
        return f"has no accelerator; such machines serve in Kubernetes only, and scheduler is {need.scheduler}"
    return ""


def _sized(need: Requirements) -> str:
    """What makes work that `_unsized` refuses one for machines without accelerators, or ends the wish for them."""
    if need.kind != "inference" or need.serving is None:
        return "leave cpu out of resources.accelerators"
    return "use scheduler: kubernetes (or auto), or leave cpu out of resources.accelerators"


def _on_processor(need: Requirements) -> str:
    """Why the software cannot run without an accelerator; "" when it can."""
    assert need.serving is not None  # noqa: S101 - `_unsized` has refused it otherwise
    if need.engine and host.RUNTIME not in SOFTWARE[need.engine].runtimes:
        return f"{need.engine} has no release for machines without accelerators"
    return processors.refusal(need.serving)


def _runtime(accelerator: Accelerator, need: Requirements, *, theirs: bool) -> tuple[str, str]:
    """Why the software cannot run on the accelerator, and the way out; two empty texts when it can.

    `theirs`: the machines are the project's own, so what they need is known to it.
    """
    runtime, other = accelerator.runtime, "name another accelerator in resources"
    if runtime == host.RUNTIME:
        if need.serving is not None and need.serving.adapters:
            return "LoRA adapters are not launched on machines without accelerators", "use machines with accelerators"
        if need.serving is not None and need.serving.speculation:
            reason = "speculative decoding is not launched on machines without accelerators"
            return reason, "use machines with accelerators"
        return _on_processor(need), "use machines with accelerators"
    if accelerator.no_builds:
        return accelerator.no_builds, other
    if runtime != "cuda" and runtime not in _FORMATS:
        return f"{accelerator.name} is not supported by released builds of the frameworks ({runtime})", other
    if runtime != "cuda" and need.framework not in accelerator.frameworks:
        has = ", ".join(accelerator.frameworks)
        way = f"use framework: {' or '.join(accelerator.frameworks)}" if has else other
        return f"{need.framework} does not run on {accelerator.name} ({has or runtime})", way
    if need.engine and runtime not in SOFTWARE[need.engine].runtimes:
        work = SOFTWARE[need.engine].work
        builds = [name for name in named_for(work) if runtime in SOFTWARE[name].runtimes]
        way = f"use engine: {' or '.join(builds)}, or leave engine out" if builds else other
        return f"{need.engine} has no release for {accelerator.name} ({runtime})", way
    if need.serving is not None and need.serving.adapters and runtime not in _adapter_runtimes(need):
        return f"LoRA adapters are not launched on {accelerator.name} ({runtime})", "merge each adapter into its model"
    if (
        need.serving is not None
        and need.serving.speculation
        and runtime not in ENGINES["vllm"].flags["speculative"].only
    ):
        reason = f"speculative decoding is not launched on {accelerator.name} ({runtime})"
        return reason, "remove traffic.speculative"
    named = theirs or need.names_hardware or need.engine in ("jetstream", "maxtext", "neuron")
    if runtime in _PORTED and not named and not (runtime == "tpu" and need.framework != "pytorch"):
        reason = (
            f"a model has to be ported to {accelerator.name} ({_PORTED[runtime]}); name it in resources to allow it"
        )
        return reason, f"resources: {{accelerators: {accelerator.key}}}, once the model is ported"
    job = need.training or need.serving
    return ("", "") if job is None else _number_format(accelerator, need, job)


def _adapter_runtimes(need: Requirements) -> tuple[str, ...]:
    """Runtimes on which the engine is launched with LoRA adapters."""
    return (ENGINES[need.engine] if need.engine else engine_for("decoder")).flags["adapters"].only


def _number_format(accelerator: Accelerator, need: Requirements, job: TrainingJob | ServingJob) -> tuple[str, str]:
    """As `_runtime`: what has no kernels or no units for the precision of the work."""
    runtime = accelerator.runtime
    weights = job.weights or getattr(job, "precision", "bf16")
    if need.training is not None and accelerator.family == "inferentia":
        return f"{accelerator.name} is built for inference; use Trainium for training", "use Trainium"
    if need.training is not None and need.training.method == "qlora" and runtime != "cuda":
        way = "use training.method: lora with model.weights: bf16, or a GPU of NVIDIA"
        return f"QLoRA's kernels (bitsandbytes) are released for CUDA, not for {runtime}", way
    if runtime != "cuda" and weights not in _FORMATS[runtime]:
        way = f"use model.weights: {' or '.join(sorted(_FORMATS[runtime]))}"
        return f"{weights} weights have no released kernels for {runtime}", way
    if need.serving is not None and (lacking := _without_kernels(accelerator, need, weights))[0]:
        return lacking
    if need.serving is not None and (lacking := _draft_without_kernels(accelerator, need, need.serving))[0]:
        return lacking
    if peak_flop_per_s(accelerator, getattr(job, "precision", weights)) <= 0:
        return (
            f"the catalog has no FLOP/s of {accelerator.name} in {weights}",
            "change model.precision or model.weights",
        )
    if need.training is not None:
        precision = need.training.precision
        if precision in ("bf16", "fp8", "fp4") and not accelerator.flop_per_s.get(precision):
            instead = next((name for name in ("bf16", "fp16") if accelerator.flop_per_s.get(name)), "fp32")
            return f"{accelerator.name} has no {precision} units", f"use model.precision: {instead}"
        if need.training.preference and runtime not in SOFTWARE["trl"].runtimes:
            return f"TRL, which trains by {need.training.preference}, has no release for {runtime}", "use a GPU"
    return "", ""


# vLLM ends at start: "The model type 'gemma3' does not support float16" (vllm-project/vllm issues 14817 and 18733,
# read 2026-11-28; its list has gemma2, gemma3, gemma3_text, glm4 and plamo2). TEI computes in fp16 there as well.
NO_FP16 = ("vllm", "text-embeddings-inference")


def _without_kernels(accelerator: Accelerator, need: Requirements, weights: str) -> tuple[str, str]:
    """As `_runtime`: an engine that does not run on that generation of accelerators, or not with such weights."""
    assert need.architecture is not None  # noqa: S101 - what is served has one
    engine = need.engine or engine_for(served_family(need.architecture), accelerator.runtime).name
    kv = need.serving.kv if need.serving is not None else ""
    if kernels.missing_cache(engine, kv, accelerator.family) is not None:
        reason = f"{engine} has no kernels for a cache in fp8 on {accelerator.name}"
        return reason, "leave model.kv out, or name a newer accelerator in resources"
    without_bf16 = accelerator.runtime == "cuda" and not accelerator.flop_per_s.get("bf16")
    if "no-fp16" in need.architecture.traits and without_bf16 and engine in NO_FP16:
        reason = f"{engine} refuses {need.architecture.key} in fp16, and {accelerator.name} has no bf16"
        return reason, "name a newer accelerator in resources"
    row = kernels.missing(engine, weights, accelerator.family)
    if row is None or row.only:
        return "", ""
    if row.weights == kernels.ANY:
        return f"no release of {engine} runs on {accelerator.name}", "name a newer accelerator in resources"
    formats = " or ".join(kernels.instead(engine, accelerator.family))
    reason = f"{engine} has no kernels for {weights} weights on {accelerator.name}"
    return reason, f"use model.weights: {formats}, or name a newer accelerator in resources"


def _draft_without_kernels(accelerator: Accelerator, need: Requirements, job: ServingJob) -> tuple[str, str]:
    """As `_runtime`: what the checkpoint of the draft is stored in, which runs beside the model."""
    drafting = job.drafting
    if drafting is None or drafting.weights == "bf16":
        return "", ""
    reason, way = "", "name a draft in 16 bits, or another accelerator in resources"
    if accelerator.runtime != "cuda" and drafting.weights not in _FORMATS[accelerator.runtime]:
        reason = f"{drafting.weights} weights of the draft have no released kernels for {accelerator.runtime}"
    elif lacking := _without_kernels(accelerator, need, drafting.weights)[0]:
        reason = lacking.replace("weights", "weights of the draft")
    return reason, way if reason else ""


def _managed(shape: Shape, deals: Iterable[Deal], context: _Context) -> str:
    """Why the service or the scheduler that the spec asks for cannot have this type; "" where it can."""
    need, asked = context.need, context.need.team.managed
    if unscheduled := orchestration.refusal(need, shape.cloud):
        return unscheduled
    if asked in ("auto", RAW):
        return ""
    if refused := services.refusal(asked, need, shape, context.catalog):
        return refused
    if any(services.sold(asked, need, deal.region, deal.market) for deal in deals):
        return ""
    markets = ", ".join(sorted({f"{deal.market} in {deal.region}" for deal in deals})[:4])
    return f"{TITLES[asked]} has none of {markets} for {need.kind}"


def least_usd_here(shape: Shape, need: Requirements, catalog: Catalog, on: date) -> float:
    """The least price of a machine by the hour within the places and markets of the spec; infinite where it has none.

    Of places that are named though nothing is bought there (the edge, machines of one's own) it is 0.
    """
    if need.places and shape.cloud not in {cloud for cloud, _, _ in need.places}:
        return math.inf
    if shape.cloud not in PROVISIONABLE:
        return 0.0 if need.places else math.inf
    offers = _offers(shape, need, catalog, on)
    here = (float(o.usd_per_hour) for o in offers if o.market in need.markets and _allowed(o, need))
    return min(here, default=math.inf)


def _offers(shape: Shape, need: Requirements, catalog: Catalog, on: date) -> tuple[Offer, ...]:
    """The offers of a machine everywhere, and in regions that not everybody may use where the spec names them."""
    offers = catalog.offers(shape.cloud, shape.instance_type, on=on)
    for region in {region for cloud, region, _ in need.places if cloud == shape.cloud and region}:
        fact = catalog.region(shape.cloud, region)
        if fact is not None and fact.access != "open":
            named = catalog.offers(shape.cloud, shape.instance_type, region=region, on=on)
            offers += tuple(offer for offer in named if offer.region == region)
    return offers


def _allowed(offer: Offer, need: Requirements) -> bool:
    return _place_allowed(offer.cloud, offer.region, offer.zone, need)


def _place_allowed(cloud: str, region: str, zone: str, need: Requirements) -> bool:
    if need.places and not any(
        cloud == allowed and place in ("", region) and (not zone_asked or zone in ("", zone_asked))
        for allowed, place, zone_asked in need.places
    ):
        return False
    return not need.residency or residency.of(cloud, region) == need.residency


def _deals(offers: Sequence[Offer], context: _Context, *, every: bool) -> tuple[Deal, ...]:
    """What each market of each region asks, dearest last within a market; of one machine type.

    With `every` offer of the type they are the same for all specs.
    """
    if not offers:
        return ()
    usual = context.catalog.spot(offers[0].cloud, offers[0].instance_type, context.on)
    if not every:
        return _cheapest(offers, usual, context)
    key = ("deals", offers[0].cloud, offers[0].instance_type, context.on)
    if key not in context.catalog.memo:
        context.catalog.memo[key] = _cheapest(offers, usual, context)
    return context.catalog.memo[key]  # type: ignore[no-any-return]


def _estimated(shape: Shape, context: _Context) -> tuple[Deal, ...]:
    """On-demand deals in regions that sell the type and have no price of it, where the spec allows them."""
    if shape.cloud not in PROVISIONABLE:
        return ()
    deals: list[Deal] = []
    for region, guess in context.catalog.estimates(shape.cloud, shape.instance_type, context.on).items():
        fact = context.catalog.region(shape.cloud, region)
        named = any((cloud, where) == (shape.cloud, region) for cloud, where, _ in context.need.places)
        if _place_allowed(shape.cloud, region, "", context.need) and (named or fact is None or fact.access == "open"):
            usd, why = guess.usd_per_hour, str(guess)
            if context.catalog.may_be_priced(shape.cloud, shape.instance_type, region):
                price = context.catalog.price(shape.cloud, shape.instance_type, region, "on-demand", context.on)
                usd, why = (price.amount, "") if isinstance(price, Priced) else (usd, why)
            deals.append(Deal(market="on-demand", region=region, zone="", usd_per_hour=usd, estimate=why))
    return tuple(sorted(deals, key=lambda deal: (deal.usd_per_hour, deal.region)))


def _cheapest(offers: Iterable[Offer], usual: Mapping[str, UsualSpot], context: _Context) -> tuple[Deal, ...]:
    """One deal for each market of each region.

    A spot deal has the region's usual price, and the zone of the cheapest quote that is not far below it.
    """
    rates = context.catalog.rates
    since = (context.on - timedelta(days=fresh_days("spot"))).isoformat()
    best: dict[tuple[str, str], tuple[bool, Decimal, Offer]] = {}
    for offer in offers:
        key = (offer.market, offer.region)
        place = usual.get(offer.region) if offer.market == "spot" else None
        usd = offer.usd_per_hour
        far = place is not None and bool(place.quotes) and usd < FAR_BELOW * place.usd_per_hour
        order = (far, -usd if far else usd, offer.zone)
        if key not in best or order < (best[key][0], best[key][1], best[key][2].zone):
            best[key] = (far, order[1], offer)
    deals = [
        Deal(
            market=o.market,
            region=o.region,
            zone=o.zone,
            usd_per_hour=_own_usd(usual[o.region].usd_per_hour if o.market == "spot" else o.usd_per_hour, o, rates),
            advisor=o.interruption,
            old=o.market == "spot" and usual[o.region].as_of < since,
        )
        for _, _, o in best.values()
    ]
    return tuple(sorted(deals, key=lambda deal: (deal.market, deal.usd_per_hour, deal.region, deal.zone)))


def _own_usd(usd: Decimal, offer: Offer, rates: Discounts) -> Decimal:
    """What the project pays for it by rates of its own."""
    if not rates.rates:
        return usd
    price = rates.machine(Priced(usd, "", ""), offer.cloud, offer.instance_type, offer.region, offer.market)
    return price.amount if isinstance(price, Priced) else usd


def _places(need: Requirements) -> str:
    return ", ".join("/".join(part for part in place if part) for place in need.places)
