"""Candidates -> priced options: hours, spot rework and the line items that the decision states and the preview repeats.

An option is one fleet in one market of one region. Options are compared by what the workload costs in all: a service
by the month, a run by the run. A machine without a price is no option. Where a smaller thing (a disk, a bucket, a
control plane) has no price in a region, it is never taken for free: it counts twice what it costs where that is known,
the whole option a quarter more, and its line stays unpriced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

from sizing import costing
from sizing.candidates import Candidate, Deal
from sizing.catalog.records import PROVISIONABLE
from sizing.fees_compared import ComparedFee, ComparedFees
from sizing.fleets import Fleet
from sizing.money import HOURS_PER_MONTH, Cost, Interval, LineItem, Unpriced, total
from sizing.requirements import Requirements
from sizing.spot import Interruptions, checkpoint_bytes, interruptions

if TYPE_CHECKING:
    from sizing.catalog import Catalog

DISK_BYTES = 200 * costing.BILLED_GIGABYTE  # image, container and a cache of the weights
KEEP = 2
WITH_CLUSTER = frozenset({"gcp"})  # clouds whose pool is a part of a cluster of our own
BLOCK_DAY_S = 86_400.0
BLOCK_DRAIN_S = 2_400.0  # instances are reclaimed from 30 minutes before the end; 10 more to write the last checkpoint
PREPAID = ("capacity-block", "purchase")
COMMITTED = ("reserved-1y", "reserved-3y")  # bill around the clock, used or not
UNKNOWN_MARGIN = 1.25  # by which an option has to be cheaper before a line without a price is put up with
# Between markets and clouds of the same price the plainer one wins.
MARKET_ORDER = (
    "on-demand",
    "spot",
    "flex-start",
    "reserved-1y",
    "reserved-3y",
    "capacity-block",
    "calendar",
    "purchase",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the prices of all options of a workload have in common."""

    need: Requirements
    catalog: Catalog
    on: date
    environment: str  # dev | staging | prod
    store: str  # name of the checkpoint store
    keep: int = KEEP
    interval_s: float | None = None  # between checkpoints; None: the best one
    fees: ComparedFees


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCounts:
    minimum: int
    initial: int
    maximum: int


@dataclass(frozen=True, kw_only=True)
class Option:
    """One fleet, in one market of one region, with what it costs."""

    setting: Setting
    candidate: Candidate
    fleet: Fleet
    deal: Deal
    counts: NodeCounts
    hours: Interval  # machine-hours per month (of the whole purchase, for a capacity block)
    run_s: float | None  # wall time of a run, interruptions included
    interruptions: Interruptions | None
    checkpoint_bytes: int
    total_usd: float  # the month of a service, the whole of a run; stand-ins for what has no price included
    rank_usd: float  # what options are compared by: `total_usd`, and more where a line has no price
    shares_cluster: bool = False  # another workload of the stack pays for the cluster that it runs in

    @property
    def cloud(self) -> str:
        return self.candidate.shape.cloud

    @property
    def instance_type(self) -> str:
        return self.candidate.shape.instance_type

    @property
    def name(self) -> tuple[str, str, str, str, int]:
        """What breaks ties."""
        return (self.cloud, self.instance_type, self.deal.region, self.deal.zone, self.fleet.nodes)

    @property
    def prepaid(self) -> bool:
        return self.deal.market in PREPAID

    @cached_property
    def items(self) -> tuple[LineItem, ...]:
        return line_items(self)

    @cached_property
    def cost(self) -> Cost:
        return total(self.items)

    @property
    def run_usd(self) -> Decimal | None:
        """Machines of one run, from the first minute to the last, rework included."""
        if self.run_s is None:
            return None
        if self.prepaid:
            return self.cost.one_off.usd.expected
        seconds = Decimal(repr(self.run_s)) * self.fleet.nodes
        return (seconds / 3600 * self.deal.usd_per_hour).quantize(Decimal("0.01"))

    @property
    def order(self) -> tuple[object, ...]:
        """Cheapest first, ties by market and name."""
        return (self.rank_usd, MARKET_ORDER.index(self.deal.market), *self.name)

    @property
    def seconds(self) -> float:
        """What objective `time` makes small: the run, or how long an answer takes."""
        if self.run_s is not None:
            return self.run_s
        return self.fleet.serving.e2e_s if self.fleet.serving else 0.0


def options_of(candidate: Candidate, setting: Setting, markets: tuple[str, ...]) -> list[Option]:
    """The options of a candidate worth comparing.

    For each fleet and market the cheapest region, and the cheapest in which everything else that bills is priced too.
    """
    found: list[Option] = []
    for market in markets:
        deals = [deal for deal in candidate.deals if deal.market == market]
        if not deals:
            continue
        priced = next((deal for deal in deals if _fees_known(candidate, deal, setting)), None)
        chosen = [deal for deal in (priced, deals[0]) if deal is not None]
        for fleet in candidate.fleets:
            for deal in dict.fromkeys(chosen):
                option = make_option(candidate, fleet, deal, setting)
                if option is not None:
                    found.append(option)
    return found


def make_option(candidate: Candidate, fleet: Fleet, deal: Deal, setting: Setting) -> Option | None:
    """Hours and total of one fleet at one deal; None where interruptions make the run miss its deadline."""
    need = setting.need
    counts = node_counts(fleet, setting)
    run_s, broken, bytes_each = fleet.run_s, None, 0
    if need.training is not None and run_s is not None:
        bytes_each = _checkpoint_bytes(need)
        broken = interruptions(
            work_s=run_s,
            nodes=fleet.nodes,
            devices=fleet.nodes * candidate.shape.accelerators,
            bytes_each=bytes_each,
            spot=deal.market == "spot",
            advisor=deal.advisor,
            interval_s=setting.interval_s,
        )
        run_s *= broken.stretch
    elif need.batch is not None and run_s is not None and deal.market == "spot":
        # Records are work in small pieces: a reclaimed machine loses one batch and the time to start another.
        broken = interruptions(
            work_s=run_s,
            nodes=1,
            devices=candidate.shape.accelerators,
            bytes_each=0,
            spot=True,
            advisor=deal.advisor,
            interval_s=60.0,
        )
        run_s *= broken.stretch
    if deal.market == "capacity-block" and need.block_s is not None and (run_s or 0.0) > need.block_s - BLOCK_DRAIN_S:
        return None
    if run_s is not None and (not math.isfinite(run_s) or (need.deadline_s is not None and run_s > need.deadline_s)):
        return None
    hours = _hours(need, fleet, counts, deal, run_s)
    total_usd, rank_usd = _total_usd(
        candidate, fleet, deal, hours=hours, run_s=run_s, bytes_each=bytes_each, setting=setting
    )
    return Option(
        setting=setting,
        candidate=candidate,
        fleet=fleet,
        deal=deal,
        counts=counts,
        hours=hours,
        run_s=run_s,
        interruptions=broken,
        checkpoint_bytes=bytes_each,
        total_usd=total_usd,
        rank_usd=rank_usd,
    )


def node_counts(fleet: Fleet, setting: Setting) -> NodeCounts:
    """Between which sizes the pool moves.

    Down to nothing, except a service in production; up to what was sized, and for a service outside development half as
    much again for peaks.
    """
    need, nodes = setting.need, fleet.nodes
    if need.arrivals is None:
        return NodeCounts(minimum=0, initial=nodes, maximum=nodes)
    most = nodes if setting.environment == "dev" else math.ceil(nodes * 1.5)
    if need.nodes is not None and need.nodes.high is not None:
        most = max(nodes, min(most, need.nodes.high))
    around_the_clock = need.hours_per_week >= costing.HOURS_PER_WEEK
    least = 1 if setting.environment == "prod" and around_the_clock else 0
    if setting.environment != "dev" and need.nodes is not None and around_the_clock:
        least = max(least, min(need.nodes.low, nodes)) if setting.environment == "prod" else least
    return NodeCounts(minimum=least, initial=nodes, maximum=most)


def line_items(option: Option) -> tuple[LineItem, ...]:
    """Everything that the option bills and that some resource of its stack, or of its checkpoint stack, stands for."""
    setting, shape, deal = option.setting, option.candidate.shape, option.deal
    need, catalog, on = setting.need, setting.catalog, setting.on
    items = [
        costing.machine_hours(
            catalog,
            component=need.name,
            cloud=shape.cloud,
            instance_type=shape.instance_type,
            region=deal.region,
            market=deal.market,
            on=on,
            hours=option.hours,
            cadence="once" if option.prepaid else "monthly",
        )
    ]
    if not option.candidate.buildable:
        return tuple(items)
    disk = costing.boot_disk(shape.cloud, shape.instance_type)
    if disk:
        items.append(
            costing.disks(
                catalog,
                component=need.name,
                cloud=shape.cloud,
                region=deal.region,
                on=on,
                gigabytes_each=Decimal(DISK_BYTES // costing.BILLED_GIGABYTE),
                hours=option.hours,
                key=disk,
            )
        )
    if option.checkpoint_bytes:
        items.append(
            costing.object_storage(
                catalog,
                component=need.name,
                cloud=shape.cloud,
                region=deal.region,
                on=on,
                gigabytes=stored_gigabytes(option.checkpoint_bytes, setting.keep),
            )
        )
    if shape.cloud in WITH_CLUSTER and not option.shares_cluster:
        items += costing.cluster(
            catalog, component=f"cluster-{deal.region}", cloud=shape.cloud, region=deal.region, on=on
        )
    return tuple(items)


def stored_gigabytes(bytes_each: int, keep: int) -> Interval:
    """What a checkpoint store holds: nothing yet, `keep` checkpoints, and those with one more being written."""
    each = Decimal(bytes_each) / costing.BILLED_GIGABYTE
    return Interval(Decimal(0), costing.amount(each * keep), costing.amount(each * (keep + 1)))


def _checkpoint_bytes(need: Requirements) -> int:
    from sizing.architecture import params_total

    job = need.training
    assert job is not None  # noqa: S101 - asked only for training
    params = float(params_total(job.architecture))
    trained = params
    if job.method in ("lora", "qlora"):
        from sizing.memory import adapter_params

        trained = float(adapter_params(job))
    return checkpoint_bytes(job.method, params, trained, job.optimizer)


def _hours(need: Requirements, fleet: Fleet, counts: NodeCounts, deal: Deal, run_s: float | None) -> Interval:
    """Machine-hours of the pool: per month, or of the whole block that is bought; commitments bill around the clock."""
    if deal.market in COMMITTED:
        month = costing.amount(counts.initial * HOURS_PER_MONTH)
        return Interval(month, month, costing.amount(counts.maximum * HOURS_PER_MONTH))
    if run_s is not None and deal.market in PREPAID:
        days = max(1, math.ceil((need.block_s or run_s + BLOCK_DRAIN_S) / BLOCK_DAY_S))
        return Interval.exactly(costing.amount(fleet.nodes * days * 24))
    if run_s is not None:
        runs = 1.0
        if need.batch is not None and need.batch.every_s:
            runs = float(HOURS_PER_MONTH) * 3600 / need.batch.every_s
        whole = counts.maximum * float(HOURS_PER_MONTH)
        expected = fleet.nodes * run_s / 3600 * runs
        if need.utilization is not None:
            expected = float(need.utilization) * whole
        return Interval(Decimal(0), costing.amount(min(expected, whole)), costing.amount(whole))
    return costing.node_hours(
        nodes_min=counts.minimum,
        nodes_initial=counts.initial,
        nodes_max=counts.maximum,
        hours_per_week=need.hours_per_week,
        utilization=need.utilization if need.utilization is not None else Decimal(1),
    )


def _total_usd(
    candidate: Candidate,
    fleet: Fleet,
    deal: Deal,
    *,
    hours: Interval,
    run_s: float | None,
    bytes_each: int,
    setting: Setting,
) -> tuple[float, float]:
    """What the option costs in all, the month or the whole run, and the figure that it is compared by.

    In floating point, to compare thousands; the line items of those that are shown are exact.
    """
    need, cloud = setting.need, candidate.shape.cloud
    machine_hours = float(hours.expected)
    months = 1.0
    if need.training is not None and run_s is not None and deal.market not in PREPAID:
        months = max(1.0, run_s / 3600 / float(HOURS_PER_MONTH))
        committed = deal.market in COMMITTED
        machine_hours = machine_hours * math.ceil(months) if committed else fleet.nodes * run_s / 3600
    usd = machine_hours * float(deal.usd_per_hour)
    if not candidate.buildable:
        return usd, usd
    disk = costing.boot_disk(cloud, candidate.shape.instance_type)
    extras: list[tuple[ComparedFee, float]] = []
    if disk:
        gigabytes = DISK_BYTES / costing.BILLED_GIGABYTE
        extras.append((setting.fees.fee(cloud, disk, deal.region), gigabytes * machine_hours / float(HOURS_PER_MONTH)))
    if bytes_each:
        stored = bytes_each * setting.keep / costing.BILLED_GIGABYTE
        extras.append((setting.fees.fee(cloud, costing.OBJECT_STORAGE[cloud], deal.region), stored * months))
    if cloud in WITH_CLUSTER:
        extras.append((setting.fees.cluster(cloud, deal.region), months))
    usd += sum(fee.usd * quantity for fee, quantity in extras)
    known = all(fee.known for fee, _ in extras)
    nowhere = any(fee.known is None for fee, _ in extras)
    return usd, math.inf if nowhere else usd if known else usd * UNKNOWN_MARGIN


def _fees_known(candidate: Candidate, deal: Deal, setting: Setting) -> bool:
    cloud = candidate.shape.cloud
    keys = [costing.boot_disk(cloud, candidate.shape.instance_type)]
    keys += [costing.OBJECT_STORAGE[cloud]] if setting.need.training and cloud in costing.OBJECT_STORAGE else []
    if cloud in WITH_CLUSTER and not setting.fees.cluster(cloud, deal.region).known:
        return False
    return all(not key or setting.fees.fee(cloud, key, deal.region).known for key in keys)


def least_extras_usd(setting: Setting) -> dict[str, float]:
    """What every option in a cloud bills beside its machines, at the least: a lower bound over all regions."""
    need, cheapest = setting.need, setting.fees.cheapest
    stored = 0.0
    if need.training is not None:
        stored = _checkpoint_bytes(need) * setting.keep / costing.BILLED_GIGABYTE
    return {
        cloud: (
            cheapest(cloud, costing.CONTROL_PLANE[cloud]) * float(HOURS_PER_MONTH) if cloud in WITH_CLUSTER else 0.0
        )
        + stored * cheapest(cloud, costing.OBJECT_STORAGE[cloud])
        for cloud in PROVISIONABLE
    }


def unpriced_lines(option: Option) -> tuple[str, ...]:
    """The lines of an option that nobody can price, with the reason."""
    return tuple(f"{item.what}: {item.price.reason}" for item in option.items if isinstance(item.price, Unpriced))
