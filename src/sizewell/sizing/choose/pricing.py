"""Candidates -> priced options: hours, spot rework and the line items that the decision states and the preview repeats.

An option is one fleet in one market of one region. Options are compared by what the workload costs in all: a service
by the month, a run by the run. A machine without a price is no option, unless the region sells it and its sister
regions have one: that estimate, and a quarter more, is compared, and the line stays unpriced. Where a smaller thing (a
disk, a bucket, a control plane) has no price in a region, it is never taken for free: it counts twice what it costs
where that is known, the whole option a quarter more, and its line stays unpriced.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from sizewell.sizing.billing import costing
from sizewell.sizing.billing.fees_compared import ComparedFee
from sizewell.sizing.billing.standing import Footing, target_of
from sizewell.sizing.billing.tariff import COMMITTED, PREPAID, Tariff, with_premium
from sizewell.sizing.catalog.managed import RAW, STANDING
from sizewell.sizing.catalog.records import PROVISIONABLE, Shape
from sizewell.sizing.choose import bill, blocks, orchestration, services
from sizewell.sizing.choose.candidates import Candidate, Deal
from sizewell.sizing.choose.disks import Disk, disk_of_machine
from sizewell.sizing.choose.fleet import Fleet
from sizewell.sizing.choose.requirements import BLOCK_DRAIN_S, Requirements
from sizewell.sizing.choose.setting import NodeCounts, Setting
from sizewell.sizing.choose.shared_storage import FileSystem, Reads, file_system
from sizewell.sizing.choose.start_up import start_up_s
from sizewell.sizing.money import HOURS_PER_MONTH, Cost, Interval, LineItem, Priced, Unpriced, total
from sizewell.sizing.predict.spot import Interruptions, interruptions
from sizewell.sizing.providers import CLOUDS

ALWAYS_ON = (("vertex", "inference"), ("azureml", "inference"))  # endpoints that keep one machine at the least
SPOT_GANG_DEVICES = 64  # estimate: how many devices one run keeps on spot machines without being told to
SPOT_GANG_S = (
    3 * 86_400.0
)  # estimate: how long several machines of a type in a zone are kept on spot without being told to
SPOT_LARGE_S = 7 * 86_400.0  # estimate: the same for one machine of a type that is rarely left over
SPOT_SMALL_S = 28 * 86_400.0  # estimate: the same for one machine of any other type
SCARCE_DEVICES = {"on-demand": 16, "spot": 8}
"""Estimate: machines of eight are often handed out one at a time when they are asked for, and never left over as spot
machines for long."""
LARGE_MACHINE = 8  # accelerators from which on a machine is of those
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


@dataclass(frozen=True, kw_only=True)
class Option:
    """One fleet, in one market of one region, run by us or by a service, with what it costs."""

    setting: Setting
    candidate: Candidate
    fleet: Fleet
    deal: Deal
    managed: str = RAW
    scheduler: str = "none"
    served: str = ""  # "async": requests wait in a queue, no machine stands while it is empty
    provision: str = ""  # "fleet": spot machines of several types
    counts: NodeCounts
    hours: Interval  # machine-hours per month (of the whole purchase, for a capacity block)
    run_s: float | None  # wall time of a run, interruptions included
    interruptions: Interruptions | None
    checkpoint_bytes: int
    reads: Reads | None = None
    storage: FileSystem | None = None  # None: object storage keeps up
    usd_per_hour: float = 0.0  # of a machine, with the service's premium
    shared: tuple[LineItem, ...] | None = None  # its part of its stack's standing lines; None: it stands alone

    @property
    def cloud(self) -> str:
        return self.candidate.shape.cloud

    @property
    def instance_type(self) -> str:
        return self.candidate.shape.instance_type

    @property
    def name(self) -> tuple[str, str, str, str, int, str]:
        """What breaks ties."""
        return (self.cloud, self.instance_type, self.deal.region, self.deal.zone, self.fleet.nodes, self.managed)

    @property
    def prepaid(self) -> bool:
        return self.deal.market in PREPAID

    @property
    def stands(self) -> bool:
        """Whether its machines are paid for in every hour, needed or not."""
        return self.deal.market in COMMITTED or self.managed in STANDING

    @property
    def nodes_mean(self) -> float:
        """Machines that are up at the mean of the hours in which a service runs."""
        follows = self.fleet.by_hour and not self.stands
        return nodes_mean(self.setting.need, self.fleet, self.counts) if follows else float(self.counts.initial)

    @cached_property
    def footing(self) -> Footing:
        """Which standing parts its stack has because of it."""
        return _footing(self)

    @cached_property
    def disk(self) -> Disk:
        """The boot disk of each of its machines."""
        return disk_of_machine(self)

    @cached_property
    def items(self) -> tuple[LineItem, ...]:
        return bill.line_items(self)

    @cached_property
    def cost(self) -> Cost:
        return total(self.items)

    @cached_property
    def _totals(self) -> tuple[float, float]:
        return _total_usd(self)

    @property
    def total_usd(self) -> float:
        """The month of a service, the whole of a run; stand-ins for what has no price included."""
        return self._totals[0]

    @property
    def rank_usd(self) -> float:
        """What options are compared by: `total_usd`, own care, and more where a line has no price."""
        return self._totals[1]

    @property
    def usd_per_month(self) -> Decimal | None:
        """Expected cost of a month; None where a line of it has no price."""
        month = self.cost.run_rate.whole
        return None if isinstance(month, Unpriced) else month.expected

    @property
    def run_usd(self) -> Decimal | None:
        """Machines of one run, from the first minute to the last, rework included; None where they have no price."""
        return None if self.deal.estimate else self.compared_run_usd

    @property
    def compared_month_usd(self) -> Decimal:
        """The month that options are compared by: of what has no price, what stands in for it in `total_usd`."""
        priced = self.cost.run_rate.usd_per_month.expected
        if self.usd_per_month is not None:
            return priced
        if self.setting.need.training is None:
            return Decimal(repr(self.total_usd))
        machines = self.hours.expected * Decimal(repr(self.usd_per_hour)) if self.deal.estimate else Decimal(0)
        return (priced + machines) * Decimal(repr(UNKNOWN_MARGIN))

    @property
    def compared_run_usd(self) -> Decimal | None:
        """Machines of one run, at an estimate where they have no price; None where the work does not end."""
        if self.run_s is None:
            return None
        if self.prepaid and not self.deal.estimate:
            return self.cost.one_off.usd.expected
        seconds = Decimal(repr(self.run_s)) * self.fleet.nodes
        return (seconds / 3600 * Decimal(repr(self.usd_per_hour))).quantize(Decimal("0.01"))

    @cached_property
    def careful(self) -> float:
        """Times its machines' cost that it is compared at: the careful end of what is known from little.

        A speed that few published runs tell of stands at the upper edge of its band, an old spot price a quarter
        higher; both together less than twice, as they are independent.
        """
        time = self.fleet.training
        logs = [math.log(UNKNOWN_MARGIN)] if self.deal.old else []
        if time is not None and self.seldom_measured:
            logs.append(math.log(time.high_s / time.step_s))
        return math.exp(math.hypot(*logs))

    @property
    def seldom_measured(self) -> bool:
        """Whether the speed of a run on its accelerators is known from few published runs."""
        if self.fleet.training is None:
            return False
        from sizewell.sizing.predict.performance.training import seldom_measured  # needs NumPy, as no service does

        return seldom_measured(self.candidate.accelerator.family)

    @property
    def scarce(self) -> bool:
        """Whether clouds seldom hand out so many large machines in this market when they are asked for them."""
        shape, least = self.candidate.shape, SCARCE_DEVICES.get(self.deal.market)
        many = least is not None and self.fleet.nodes * shape.accelerators >= least
        return many and shape.accelerators >= LARGE_MACHINE and not self.candidate.adopted

    @property
    def plainness(self) -> tuple[bool, bool, int, int]:
        """What decides between options that cost nearly the same: known hardware that is handed out when it is asked
        for, few ways of splitting, few nodes.
        """
        split = self.fleet.layout
        ways = (split.tensor, split.pipeline, split.context, split.expert) if split else ()
        kinds = sum(each > 1 for each in ways) if split else int(self.fleet.devices_per_replica > 1)
        # A service waits once. A slice of TPUs is handed out whole or not at all, whatever its machines are.
        waits = self.scarce and self.fleet.training is not None and self.candidate.accelerator.runtime != "tpu"
        return (self.seldom_measured, waits, kinds, self.fleet.nodes)

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


def options_of(
    candidate: Candidate, setting: Setting, markets: tuple[str, ...], *, least_extra_usd: float = 0.0
) -> list[Option]:
    """The options of a candidate worth comparing.

    For each fleet, market and who runs it the region with the cheapest machine, and the cheapest in all of those in
    which everything else that bills is priced too. `least_extra_usd` is what any option costs beside its machines.
    """
    options: list[Option] = []
    for market in markets:
        deals = [deal for deal in candidate.deals if deal.market == market]
        by_way: dict[str, list[Deal]] = {}
        for deal in deals:
            for way in ways_of(candidate, deal, setting):
                by_way.setdefault(way, []).append(deal)
        for way, places in by_way.items():
            priced = _worth_pricing(candidate, places, way, setting)
            for fleet in candidate.fleets:
                if market == "spot" and too_long_for_spot(setting.need, fleet, candidate.shape):
                    continue
                first = make_option(candidate, fleet, places[0], setting, managed=way)
                best: Option | None = None
                for deal in priced:
                    # `priced` goes from the cheapest hour up, so no later deal can do better either. Both summands
                    # have to stay lower bounds: a region whose hour costs more may have cheaper storage and network.
                    if best is not None and _least_usd(best, deal) + least_extra_usd > best.rank_usd:
                        break
                    option = first if deal is places[0] else make_option(candidate, fleet, deal, setting, managed=way)
                    if option is not None and (best is None or option.order < best.order):
                        best = option
                options += [option for option in (best, None if first is best else first) if option is not None]
    return options


def _least_usd(option: Option, deal: Deal) -> float:
    """No more than an option's machines cost at another deal, however seldom they are taken away there."""
    stretch = option.interruptions.stretch if option.interruptions is not None else 1.0
    hours, _ = _machine_hours(option)
    return hours / stretch * option.usd_per_hour * float(deal.usd_per_hour / option.deal.usd_per_hour)


def ways_of(candidate: Candidate, deal: Deal, setting: Setting) -> tuple[str, ...]:
    """Who may run a candidate that is bought this way."""
    if not candidate.provisioned:
        return (RAW,)
    return services.ways(setting.need, candidate.shape, deal.region, deal.market, setting.catalog)


def make_option(
    candidate: Candidate, fleet: Fleet, deal: Deal, setting: Setting, *, managed: str = RAW
) -> Option | None:
    """Hours and cost of one fleet at one deal; None where interruptions make the run miss its deadline, and where a
    service does not have so many machines or no price.
    """
    need = setting.need
    rate = usd_per_hour(candidate, deal, managed, setting)
    if rate is None or (managed == "cloud-run" and fleet.nodes > services.RUN_INSTANCES_MAX):
        return None
    counts = node_counts(fleet, setting, managed)
    run_s, broken, bytes_each = fleet.run_s, None, 0
    if need.training is not None and run_s is not None:
        bytes_each = setting.checkpoint_bytes
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
    block = deal.market == "capacity-block"
    if block and need.block_s is not None and (run_s or 0.0) > need.block_s - BLOCK_DRAIN_S:
        return None
    if block and fleet.nodes > (blocks.nodes_max(deal.market, candidate.shape.cloud) or fleet.nodes):
        return None
    # Interruptions come whole: on spot the deadline has room for one more than the share that is expected.
    spare_s = broken.restart_s + broken.interval_s if broken is not None and deal.market == "spot" else 0.0
    latest_s = math.inf if need.deadline_s is None else need.deadline_s - spare_s
    if run_s is not None and (not math.isfinite(run_s) or run_s > latest_s):
        return None
    served = "async" if _waits(need, managed) else ""
    hours = _hours(need, fleet, counts, deal, run_s, managed=managed, served=served)
    if block and need.block_usd_max is not None and float(hours.expected) * rate > need.block_usd_max:
        return None
    reads = _reads(need, fleet, run_s)
    if managed != RAW and reads is not None and not reads.streams and need.team.managed == "auto":
        return None  # no file system of ours stands beside a service's machines
    spec_scheduler = need.scheduler if candidate.buildable else "none"
    option = Option(
        setting=setting,
        candidate=candidate,
        fleet=fleet,
        deal=deal,
        managed=managed,
        scheduler=spec_scheduler if spec_scheduler != "auto" else "none",
        served=served,
        counts=counts,
        hours=hours,
        run_s=run_s,
        interruptions=broken,
        checkpoint_bytes=bytes_each,
        reads=reads,
        storage=file_system(candidate.shape.cloud, reads)
        if reads is not None and not reads.streams and managed == RAW
        else None,
        usd_per_hour=rate,
    )
    scheduler = _scheduler(option) if candidate.buildable else option.scheduler
    return option if scheduler == option.scheduler else replace(option, scheduler=scheduler)


def too_long_for_spot(need: Requirements, fleet: Fleet, shape: Shape) -> bool:
    """Whether a run lasts longer than spot machines are counted on: several of one type in one zone, one of eight
    devices, one of fewer. So many of eight devices that one of them is always taken away are not counted on at all.

    `spot_policy: spot` takes them all the same.
    """
    if not need.market_open or need.training is None:
        return False
    large = shape.accelerators >= SCARCE_DEVICES["spot"]
    if large and fleet.nodes * shape.accelerators > SPOT_GANG_DEVICES:
        return True
    longest = SPOT_GANG_S if fleet.nodes > 1 else SPOT_LARGE_S if large else SPOT_SMALL_S
    return (fleet.run_s or 0.0) > longest


def _scheduler(option: Option) -> str:
    """By the rule, with what a cluster of our own would cost here; what is adopted is a Kubernetes cluster."""
    need, cloud = option.setting.need, option.cloud
    if option.candidate.adopted:
        return "ray" if need.scheduler == "ray" else "kubernetes"
    if need.scheduler != "auto" or option.managed != RAW or option.counts.maximum < 2:
        cluster_usd = 0.0
    else:
        fees, alone = option.setting.fees, option.footing
        cluster_usd = fees.standing(replace(alone, target="kubernetes")).usd - fees.standing(alone).usd
    return orchestration.scheduler_of(
        need,
        cloud=cloud,
        managed=option.managed,
        nodes_max=option.counts.maximum,
        machines_usd=float(option.hours.expected) * option.usd_per_hour,
        cluster_usd=cluster_usd,
        accelerated=bool(option.candidate.shape.accelerator),
    )


def _footing(option: Option) -> Footing:
    need, deal = option.setting.need, option.deal
    gang = need.training is not None and option.counts.maximum > 1
    return Footing(
        kind=need.kind,
        cloud=option.cloud,
        region=deal.region,
        environment=option.setting.environment,
        target=target_of(option.managed, option.scheduler, cloud=option.cloud, fleet=option.provision == "fleet"),
        zones=zones_of(option),
        two_zones=deal.market == "spot" and not gang and option.managed == RAW,
        windows=need.windows,
        guarded=bool(option.candidate.shape.accelerator),  # a guard measures accelerators
        stops=need.stops and not option.prepaid and not need.reserved and option.managed not in STANDING,
        checkpoints=bool(option.checkpoint_bytes),
        files=option.storage is not None,
        waits=option.served == "async",
        from_zero=option.counts.minimum == 0,
    )


def zones_of(option: Option) -> tuple[str, ...]:
    """The zones of its pool: those that the spec names, those where it is in stock, or the one that its price is of."""
    need, deal, said = option.setting.need, option.deal, option.setting.catalog.in_stock
    places = {zone for cloud, region, zone in need.places if zone and (cloud, region) == (option.cloud, deal.region)}
    if said and not places and (taken := said.zones_of(option.cloud, deal.region, option.instance_type, deal.market)):
        return taken
    return (deal.zone,) if deal.zone else tuple(sorted(places))


def usd_per_hour(candidate: Candidate, deal: Deal, managed: str, setting: Setting) -> float | None:
    """Of a machine with the service's premium; None where that has no price."""
    if managed == RAW:
        return float(deal.usd_per_hour)
    shape = candidate.shape
    if managed == "cloud-run":
        fees = setting.fees
        gpu, cpu, gib = (fees.fee(shape.cloud, key, deal.region) for key in bill.RUN_KEYS)
        return 3600 * (gpu.usd + (shape.vcpus or 0) * cpu.usd + services.run_gib(shape) * gib.usd)
    market = services.listed_market(managed, deal.market)
    tariff = Tariff(setting.catalog, shape.cloud, deal.region, setting.on)
    price = tariff.machine(shape.instance_type, market, managed)
    if market == deal.market and (deal.zone or deal.estimate):
        price = with_premium(Priced(deal.usd_per_hour, "", ""), tariff.premium(managed, shape.instance_type))
    return float(price.amount) if isinstance(price, Priced) else None


def _waits(need: Requirements, managed: str) -> bool:
    """Whether requests are so rare, and may take so long, that they wait in a queue for a machine to start."""
    if managed != "sagemaker" or need.arrivals is None or need.level is None:
        return False
    bound_s = need.level.e2e_s if need.level.ttft_s is None else None
    patient = bound_s is not None and bound_s >= start_up_s(need.serving)
    return patient and services.up_share(need, services.ASYNC_KEPT_S) < 0.5


def _reads(need: Requirements, fleet: Fleet, run_s: float | None) -> Reads | None:
    """What a run reads of its data, and how fast it has to, the time to start up taken off."""
    if not need.data_bytes or run_s is None or need.kind == "notebook":
        return None
    work_s = max(1.0, (fleet.run_s or run_s) - start_up_s(need.training or need.serving))
    return Reads(bytes_per_s=need.data_bytes * need.data_passes / work_s, data_bytes=need.data_bytes, nodes=fleet.nodes)


def node_counts(fleet: Fleet, setting: Setting, managed: str = RAW) -> NodeCounts:
    """Between which sizes the pool moves.

    Down to nothing, except a service in production; up to what was sized, and for a service outside development half as
    much again for peaks.
    """
    need, nodes = setting.need, fleet.nodes
    if managed in STANDING:
        return NodeCounts(minimum=nodes, initial=nodes, maximum=nodes)
    if need.arrivals is None:
        return NodeCounts(minimum=0, initial=nodes, maximum=nodes)
    most = nodes if setting.environment == "dev" else math.ceil(nodes * 1.5)
    if need.nodes is not None and need.nodes.high is not None:
        most = max(nodes, min(most, need.nodes.high))
    around_the_clock = need.hours_per_week >= costing.HOURS_PER_WEEK
    promised = need.warm and setting.environment != "dev"  # development is where a cold start is allowed
    least = 1 if (setting.environment == "prod" or promised) and around_the_clock else 0
    if setting.environment != "dev" and need.nodes is not None and around_the_clock:
        least = max(least, min(need.nodes.low, nodes)) if setting.environment == "prod" else least
    if managed == "cloud-run":
        cold = services.may_start_cold(need, services.KEPT_WARM_S, services.RUN_COLD_START_S)
        least = 0 if cold or setting.environment == "dev" else 1
        most = min(most, services.RUN_INSTANCES_MAX)
    elif (managed, need.kind) in ALWAYS_ON:
        least = max(1, least)
    elif _waits(need, managed):
        least = 0
    if least and fleet.by_hour:
        least = min(nodes, max(least + need.arrivals.spare, fleet.warm))
    elif least and (need.arrivals.bursts or need.arrivals.spare):
        least = nodes  # no machine starts within a burst, nor while another is gone
    return NodeCounts(minimum=least, initial=nodes, maximum=most)


def _hours(
    need: Requirements,
    fleet: Fleet,
    counts: NodeCounts,
    deal: Deal,
    run_s: float | None,
    *,
    managed: str = RAW,
    served: str = "",
) -> Interval:
    """Machine-hours of the pool: per month, or of the whole block that is bought; commitments are billed around the
    clock.
    """
    if deal.market in COMMITTED or managed in STANDING:
        month = costing.amount(counts.initial * HOURS_PER_MONTH)
        return Interval(month, month, costing.amount(counts.maximum * HOURS_PER_MONTH))
    if run_s is not None and deal.market in PREPAID:
        days = math.ceil(need.block_s / blocks.DAY_S) if need.block_s else blocks.days(run_s)
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
    followed = Decimal(repr(nodes_mean(need, fleet, counts))) / counts.initial if fleet.by_hour else Decimal(1)
    if (managed, need.kind) in ALWAYS_ON:
        return costing.node_hours(
            nodes_min=counts.minimum, nodes_initial=counts.initial, nodes_max=counts.maximum, utilization=followed
        )
    used = need.utilization if need.utilization is not None else Decimal(1)
    if managed == "cloud-run" or served == "async":
        kept_s = services.KEPT_WARM_S if managed == "cloud-run" else services.ASYNC_KEPT_S
        used = min(used, Decimal(repr(services.up_share(need, kept_s))))
    return costing.node_hours(
        nodes_min=counts.minimum,
        nodes_initial=counts.initial,
        nodes_max=counts.maximum,
        hours_per_week=need.hours_per_week,
        utilization=used * followed,
    )


def nodes_mean(need: Requirements, fleet: Fleet, counts: NodeCounts) -> float:
    """Nodes that are up at the mean over the hours in which the service runs, where the fleet follows the week."""
    week = need.arrivals.week if need.arrivals else None
    assert week is not None  # noqa: S101 - only services have hours
    return sum(part * nodes for part, nodes in standing(need, fleet, counts)) / math.fsum(week.open)


def standing(need: Requirements, fleet: Fleet, counts: NodeCounts) -> Iterator[tuple[float, int]]:
    """Parts of hours of the week, and the nodes that are up in each, where the fleet follows the week.

    One that is not needed any more stands for a while: autoscaler and guard wait whether load comes back.
    """
    arrivals = need.arrivals
    assert arrivals is not None  # noqa: S101 - only services have hours
    assert arrivals.week is not None  # noqa: S101
    hours = arrivals.week.open
    needed = [counts.within(nodes) if part else 0 for nodes, part in zip(fleet.by_hour, hours, strict=True)]
    back, part = divmod(arrivals.scale_in_s / 3600, 1.0)
    for hour, weight in enumerate(hours):
        stood = max(needed[hour - step] for step in range(min(168, int(back) + 1)))
        yield weight * part, max(stood, needed[(hour - int(back) - 1) % 168])
        yield weight * (1 - part), stood


def _machine_hours(option: Option) -> tuple[float, float]:
    """Machine-hours that an option is compared by, of the month or the whole run, and how many months that is."""
    hours, months = float(option.hours.expected), 1.0
    if option.setting.need.training is not None and option.run_s is not None and option.deal.market not in PREPAID:
        months = max(1.0, option.run_s / 3600 / float(HOURS_PER_MONTH))
        committed = option.deal.market in COMMITTED
        hours = hours * math.ceil(months) if committed else option.fleet.nodes * option.run_s / 3600
    return hours, months


def _total_usd(option: Option) -> tuple[float, float]:
    """What the option costs in all, the month or the whole run, and the figure that it is compared by.

    In floating point, to compare thousands; the line items of those that are shown are exact.
    """
    setting, deal, cloud = option.setting, option.deal, option.cloud
    need, fees = setting.need, setting.fees
    machine_hours, months = _machine_hours(option)
    usd = machine_hours * option.usd_per_hour
    if not option.candidate.provisioned:
        usd += leaving_usd(option)
        return usd, usd
    extras: list[tuple[ComparedFee, float]] = [(fees.standing(option.footing), months)]
    if option.managed == "cloud-run":
        extras += [(fees.fee(cloud, key, deal.region), 0.0) for key in bill.RUN_KEYS]  # their price is in the hour
    gigabytes = Decimal(option.disk.gigabytes)
    disk, units = bill.disk_of(option.candidate.shape, option.managed, need.kind, option.scheduler, gigabytes=gigabytes)
    if disk:
        standing = need.kind == "notebook" and option.managed == "sagemaker"
        used = months if standing else machine_hours / float(HOURS_PER_MONTH)
        extras.append((fees.fee(cloud, disk, deal.region), float(units) * used))
    if option.checkpoint_bytes:
        stored = option.checkpoint_bytes * setting.keep / costing.BILLED_GIGABYTE
        stores = costing.object_key(cloud, setting.environment)
        extras.append((fees.fee(cloud, stores, deal.region), stored * months))
    if option.storage is not None:
        extras.append((fees.fee(cloud, option.storage.fee_key, deal.region), option.storage.gib * months))
    usd += sum(fee.usd * quantity for fee, quantity in extras) + leaving_usd(option)
    care = services.care_usd_per_month(need) * months if option.managed == RAW else 0.0
    known = not deal.estimate and all(fee.known for fee, _ in extras)
    nowhere = any(fee.known is None for fee, _ in extras)
    margin = 1.0 if known else UNKNOWN_MARGIN
    doubt = (option.careful - 1) * machine_hours * option.usd_per_hour
    return usd, math.inf if nowhere else max(usd * margin, usd + doubt) + care


def leaving_usd(option: Option, *, owned: bool = False, times: float = 1.0) -> float:
    """What its data cost on their way to the machines: once for a training run, each time for records of a batch.

    No resource of the stack bills it, the place where the data lie does: it decides, and stands beside the bill.
    `owned`: the way to machines of one's own, which are in no cloud. `times`: of that in a month, which tiers count.
    """
    need, to = option.setting.need, _leaving_to(option, owned=owned)
    if to is None:
        return 0.0
    gigabytes = times * leaving_gigabytes(option)
    return option.setting.fees.leaving(need.data_cloud, need.data_region, gigabytes, to=to).usd


def leaving_bounds(option: Option, *, owned: bool = False) -> tuple[float, ...]:
    """The `times` at which another tier of that price begins."""
    need, to = option.setting.need, _leaving_to(option, owned=owned)
    if to is None:
        return ()
    tiers = option.setting.fees.leaving_tiers(need.data_cloud, need.data_region, to=to)
    return tuple(float(tier.from_quantity) / leaving_gigabytes(option) for tier in tiers[1:])


def leaving_bytes(option: Option, *, owned: bool = False) -> int:
    """The data of a run that come from elsewhere; 0 where they are at hand, or nobody states how many are read."""
    return option.setting.need.data_bytes if _leaving_to(option, owned=owned) is not None else 0


def leaving_gigabytes(option: Option) -> float:
    """The data of a training run, or of all runs of a batch in a month, as they are billed."""
    need, runs = option.setting.need, 1.0
    if need.batch is not None and need.batch.every_s:
        runs = float(HOURS_PER_MONTH) * 3600 / need.batch.every_s
    return runs * need.data_bytes / costing.BILLED_GIGABYTE


def leaving_unknown(option: Option, *, owned: bool = False) -> str:
    """Why nothing is counted for data that may cost something on their way to the machines, in words; "" where all is.

    `owned` as above. Who reads a notebook's data how often, nobody states; a path or a public URL bills nothing.
    """
    need, here = option.setting.need, option.deal.region
    place = f"{need.data_cloud} {need.data_region}".strip()
    if not place:
        return ""
    if not need.data_cloud:
        unsaid = need.data_region != here and not owned
        return (
            f"data.location is not stated: what data cost on their way from {place} is in no figure" if unsaid else ""
        )
    if not need.data_region and need.data_cloud == option.cloud and not owned:
        return f"data.region is not stated: data are counted as if they were in {here}"
    to = _leaving_place(option, owned=owned)
    if to is None:
        return ""
    if need.kind == "notebook":
        return f"how often a notebook reads its data is not known: what data leaving {place} cost is in no figure"
    if not need.data_bytes:
        return f"data.size is not stated: what data leaving {place} cost is in no figure"
    if not option.setting.fees.leaving_tiers(need.data_cloud, need.data_region, to=to):
        return f"no price of data that leave {need.data_cloud} is known: what those from {place} cost is in no figure"
    return ""


def _leaving_to(option: Option, *, owned: bool) -> str | None:
    """The region that data go to, "" for out of their cloud; None where none leave or are counted."""
    need = option.setting.need
    return _leaving_place(option, owned=owned) if need.data_bytes and need.kind != "notebook" else None


def _leaving_place(option: Option, *, owned: bool) -> str | None:
    need = option.setting.need
    if bool(need.data_cloud) and (owned or need.data_cloud != option.cloud):
        return ""
    away = bool(need.data_cloud) and bool(need.data_region) and need.data_region != option.deal.region
    return option.deal.region if away else None


def _worth_pricing(candidate: Candidate, places: Sequence[Deal], managed: str, setting: Setting) -> list[Deal]:
    """Of deals by price, those in regions where everything has one, and that none beats in machine and all fees."""
    kept: list[tuple[Deal, tuple[float, ...]]] = []
    for deal in places:
        fees = _fees_beside(candidate, deal, managed, setting)
        if fees is not None and not any(
            other.advisor == deal.advisor and all(less <= more for less, more in zip(theirs, fees, strict=True))
            for other, theirs in kept
        ):
            kept.append((deal, fees))
    return [deal for deal, _ in kept]


def _fees_beside(candidate: Candidate, deal: Deal, managed: str, setting: Setting) -> tuple[float, ...] | None:
    """What is billed beside the machine in the deal's region, each at its price there; None where one has none."""
    cloud, need, fees = candidate.shape.cloud, setting.need, setting.fees
    away = float(bool(need.data_region) and need.data_region != deal.region)
    if not candidate.provisioned:
        return (away,)
    disk = bill.disk_of(candidate.shape, managed, need.kind, "none")[0]
    training = need.training is not None
    alike = (cloud, deal.region, setting.environment, managed, need.kind, need.windows, training, disk)
    if alike not in fees.beside:
        keys = [disk] if disk else []
        keys += [costing.object_key(cloud, setting.environment)] if training else []
        keys += bill.RUN_KEYS if managed == "cloud-run" else ()
        standing = [
            fees.standing(
                Footing(
                    kind=need.kind,
                    cloud=cloud,
                    region=deal.region,
                    environment=setting.environment,
                    target=target_of(managed, scheduler, cloud=cloud, fleet=False),
                    windows=need.windows,
                    checkpoints=training,
                )
            )
            for scheduler in ("none", "kubernetes")
        ]
        each = [*standing, *(fees.fee(cloud, key, deal.region) for key in keys)]
        known = standing[0].known is True and all(fee.known for fee in each[2:])
        fees.beside[alike] = tuple(fee.usd for fee in each) if known else None
    usd_beside = fees.beside[alike]
    return None if usd_beside is None else (away, *usd_beside)


def least_extras_usd(setting: Setting) -> dict[str, float]:
    """What every option in a cloud bills beside its machines, at the least: a lower bound over all regions."""
    fees = setting.fees
    stored = setting.checkpoint_bytes * setting.keep / costing.BILLED_GIGABYTE
    return {
        cloud: _least_standing_usd(setting, cloud) + stored * fees.cheapest(cloud, CLOUDS[cloud].fees.object_storage)
        for cloud in PROVISIONABLE
    }


def _least_standing_usd(setting: Setting, cloud: str) -> float:
    """The cheapest standing parts in any region that may be, run by anybody who may."""
    need, asked = setting.need, setting.need.team.managed
    regions = {region for where, region, _ in need.places if where == cloud and region} or setting.catalog.regions(
        cloud
    )
    managed = CLOUDS[cloud].services if cloud in CLOUDS else ()
    ways = [way for way in (RAW, *managed) if asked in ("auto", way)]
    targets = {target_of(way, "none", cloud=cloud, fleet=False) for way in ways}
    footings = [
        Footing(
            kind=need.kind,
            cloud=cloud,
            region=region,
            environment=setting.environment,
            target=target,
            guarded=False,
            checkpoints=need.training is not None,
        )
        for region in regions
        for target in targets
    ]
    return min((setting.fees.standing(footing).usd for footing in footings), default=0.0)
