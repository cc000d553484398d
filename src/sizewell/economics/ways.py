"""The ways to pay for the work of one option: each says what is paid when, for whatever hours are needed.

What is billed beside the machines (disks, a control plane, storage) is the same in all ways of the cloud, as `size`
states it. A way without a price says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final

from sizewell.economics.baseline import Purchase, baseline, held
from sizewell.economics.demand import Demand, demand_of, mixed
from sizewell.economics.moving import moving
from sizewell.economics.own import OWN, owned
from sizewell.economics.payments import Payment, monthly, once, paid_by, total_usd, unpriced
from sizewell.economics.place import TERM_MONTHS, Place
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.owning import OF_A_SERVER, Figure, figures_of, server_for
from sizewell.sizing.billing.tariff import COMMITTED, Tariff, weakness
from sizewell.sizing.catalog.catalog import EVERYWHERE
from sizewell.sizing.catalog.history import fresh_days, stale_prices
from sizewell.sizing.catalog.managed import RAW, TITLES, markets_of
from sizewell.sizing.catalog.records import EDGE, ON_PREMISES
from sizewell.sizing.choose.candidates import Deal
from sizewell.sizing.choose.elsewhere import by_the_machine, by_the_token
from sizewell.sizing.choose.pricing import (
    Option,
    leaving_bounds,
    leaving_unknown,
    leaving_usd,
    make_option,
    too_long_for_spot,
)
from sizewell.sizing.choose.requirements import UNSTATED
from sizewell.sizing.choose.workloads import tokens_of
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem, Priced, Unpriced
from sizewell.sizing.predict.spot import run_times
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.units import plural
from sizewell.sizing.workload.checks import FLEX_START_S, contradictions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sizewell.sizing.workload.read import WorkloadSpec

BY_THE_HOUR: Final = ("on-demand", "spot", "flex-start")
BOTH: Final = "+".join(COMMITTED)  # terms of several lengths, and no hour above them
ELSEWHERE: Final = "another-cloud"
NAMES: Final = {
    "on-demand": "on demand",
    "spot": "spot",
    "flex-start": "flex-start",
    "reserved-1y": "commit 1 year",
    "reserved-3y": "commit 3 years",
    BOTH: "commit 1 + 3 years",
    "capacity-block": "capacity block",
    OWN: OWN,
    "api": "API per token",
    ELSEWHERE: "another cloud",
}
BLOCK: Final = "capacity-block"
SECONDS_PER_MONTH: Final = 730 * 3600
LEAST: Final = 1e-6  # of a chance that is told
YOURS: Final = "your machines"
_NOT_COUNTED: Final = "its disks and storage, and the work to move there, are in no figure, and nothing here builds it"
_RATED: Final = "your rate in every hour, as they cost it whether they are used or not; `size` counts hours of use"
Pay = Callable[[Demand], tuple[Payment, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How long a run takes on machines that may be reclaimed, and what they cost then."""

    hours_in_half: float  # of all runs: at most so long
    hours_in_95_percent: float
    usd_in_95_percent: Decimal  # of such a run, with all that is billed beside its machines
    deadline_hours: float | None
    chance_to_miss: float | None  # of the deadline

    @property
    def words(self) -> str:
        """What of it a person decides by."""
        most = f"at most {self.hours_in_95_percent:,.1f} h ({self.usd_in_95_percent:,.2f} USD) in 95 of 100"
        said = f"by estimated interruptions a run takes {self.hours_in_half:,.1f} h in half of all cases, {most}"
        if self.deadline_hours is None or self.chance_to_miss is None:
            return said
        missed = f"{100 * self.chance_to_miss:.2g} %" if self.chance_to_miss > LEAST else "none in a million"
        return f"{said}; {missed} take longer than the {self.deadline_hours:,.1f} h to the deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to pay, or why it has no price."""

    key: str
    name: str
    pay: Pay | None = None
    reason: str = ""  # why it has no price
    bound: str = "nothing"  # what is bound, and for how long
    notes: tuple[str, ...] = ()
    estimated: bool = False  # a price of it is no list price
    left_out: str = ""  # why `size` would not take it for this spec, though it has a price
    plan: tuple[Purchase, ...] = ()  # of a mix: what is committed
    spread: Spread | None = None  # of a run that interruptions make longer
    aged: tuple[str, ...] = ()  # prices of its machines that are too old to rely on, in words

    @property
    def commits(self) -> bool:
        """Whether it binds machines of a cloud for years."""
        return bool(self.plan) or self.key in COMMITTED

    @property
    def said(self) -> tuple[str, ...]:
        """All that is to know of it."""
        return (*self.notes, *self.aged)


@dataclass(frozen=True, kw_only=True)
class Work:
    """The work of a spec as it is sized: what is needed in a month, and what comes out of it."""

    spec: WorkloadSpec
    option: Option  # paid by the hour on demand, with a price or without
    chosen: Option
    months: int
    demand: Demand
    runs: Decimal | None  # a month, of what ends
    tokens: Decimal | None  # a month: of a run's work, or that a service answers with
    figures: Mapping[str, Figure]  # of own hardware; without a machine's price where nobody knows it
    tariff: Tariff = field(repr=False)
    bytes_per_s: float | None = None  # of the way that data take from elsewhere; None where nobody states it
    bills: dict[tuple[str, Decimal], tuple[LineItem, ...]] = field(default_factory=dict, init=False, repr=False)

    @property
    def name(self) -> str:
        return self.option.setting.need.name

    @property
    def instance_type(self) -> str:
        return self.option.instance_type

    @property
    def is_own(self) -> bool:
        """Whether the machines are owned, so that a rate of theirs is no rent."""
        return self.option.cloud in (ON_PREMISES, EDGE)

    @property
    def is_covered(self) -> bool:
        """Whether commitments cover its machines: a cloud's own, which no service resells, on demand or committed."""
        rented = self.option.cloud in CLOUDS and self.option.managed == RAW
        return rented and self.chosen.deal.market in ("on-demand", *COMMITTED)

    @property
    def lasts_months(self) -> Decimal:
        """For how long it runs, in months of 730 hours, at most as many as are counted."""
        ends_s = self.spec.ttl_s
        return (
            Decimal(self.months)
            if ends_s is None
            else min(Decimal(self.months), Decimal(ends_s) / (HOURS_PER_MONTH * 3600))
        )

    @property
    def own_term_months(self) -> int:
        """For how long its spec takes a commitment to all its machines (capacity.savings_plan); 0 where it does not."""
        return TERM_MONTHS.get(self.chosen.deal.market, 0)

    @property
    def place(self) -> Place:
        """Where its machines are: what is sold and bought there."""
        setting = self.option.setting
        return Place(
            catalog=setting.catalog,
            cloud=self.option.cloud,
            region=self.option.deal.region,
            instance_type=self.instance_type,
            on=setting.on,
            months=self.months,
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the spec leaves open or binds, that every total hangs on, in words."""
        spec, said = self.spec, []
        if self.demand == demand_of(self.option):
            said += [f"assumed: {each}; --utilization states it"
                     for each in self.option.setting.need.assumptions if UNSTATED in each]  # fmt: skip
        if spec.capacity is not None and spec.capacity.reservation:
            said.append(f"{self.reserved}; on demand is here without it")
        if spec.capacity is not None and spec.capacity.savings_plan:
            said.append("the spec takes a commitment (capacity.savings_plan); the other ways are here as if it did not")
        return (*said, *self.unknown)

    @property
    def reserved(self) -> str:
        """What is billed beside the hours counted where the spec runs on a reservation, in words; "" elsewhere."""
        of = self.spec.capacity.reservation if self.spec.capacity else None
        return f"{of} (capacity.reservation) is billed in every hour, used or not" if of else ""

    @property
    def unknown(self) -> tuple[str, ...]:
        """What nobody states or knows, and every cloud's total leaves out, in words."""
        return tuple(filter(None, [leaving_unknown(self.option)]))

    def data(self, demand: Demand, *, owned: bool = False) -> tuple[Payment, ...]:
        """What data cost that lie elsewhere: read by each run where machines are rented, copied once to one's own.

        Records of a batch are new each time, and go the way to either. Another cloud has a copy as own machines do.
        """
        need, copied = self.option.setting.need, owned and self.option.setting.need.batch is None
        times = Decimal(1) if copied else self._readings(demand)
        usd = leaving_usd(self.option, owned=owned, times=float(times))
        if not usd:
            return ()
        line = LineItem(
            component=self.name,
            what=f"data leaving {need.data_cloud} {need.data_region}".rstrip(),
            unit="run" if need.batch is None else "month",
            quantity=Interval.exactly(times),
            price=Priced(Decimal(repr(usd)) / times, "the fees of its place for data that leave it", ""),
        )
        return (once(line),) if copied else monthly([line], self.lasts_months)

    @property
    def bends(self) -> tuple[Decimal, ...]:
        """Utilizations between which what every way costs is a straight line: by the demand, and the tiers of data."""
        full = self.demand.at(Decimal(1))
        bounds = (bound for owned in (False, True) for bound in leaving_bounds(self.option, owned=owned))
        tiers = (Decimal(repr(bound)) / self._readings(full) for bound in bounds)
        return tuple(sorted({*self.demand.bends, *(at for at in tiers if at < 1)}))

    def _readings(self, demand: Demand) -> Decimal:
        """How often a month data come to the machines: the runs of a training; of a batch, its runs as sized are 1."""
        if self.option.setting.need.batch is None:
            return (self.runs or Decimal(1)) * (demand.hours / self.demand.hours if self.demand.hours else 0)
        sized_hours = demand_of(self.option).hours
        return demand.hours / sized_hours if sized_hours else Decimal(0)

    @property
    def machines(self) -> str:
        """Which machines, in words."""
        return f"{self.demand.machines} x {self.instance_type}"

    def line(self, market: str, hours: Decimal) -> LineItem:
        """Machine-hours of one month in a market."""
        machines = charges.machines(self.name, self.instance_type, Interval.exactly(hours), market=market)
        return self.tariff.line(machines)

    def beside(self, hours: Decimal) -> tuple[LineItem, ...]:
        """What a month bills beside its machines where they run for so many hours."""
        return tuple(item for item in self.bill(self.option, hours) if not self.runs_it(item))

    def bill(self, option: Option, hours: Decimal) -> tuple[LineItem, ...]:
        """What the machines of a market bill in a month of so many machine-hours; each worked out once."""
        asked = (option.deal.market, hours)
        if asked not in self.bills:
            at = option if option.stands else replace(option, hours=Interval.exactly(hours))
            self.bills[asked] = at.items
        return self.bills[asked]

    def runs_it(self, item: LineItem) -> bool:
        """Whether a line is of the machines that do the work: those of its cluster's own care are beside them."""
        return item.component == self.name and item.unit in charges.RUNNING


def months_of(spec: WorkloadSpec, months: int) -> int:
    """The months in which it is billed, as whole ones: until its stack ends."""
    return months if spec.ttl_s is None else min(months, max(1, math.ceil(spec.ttl_s / SECONDS_PER_MONTH)))


def work_of(
    spec: WorkloadSpec,
    chosen: Option,
    months: int,
    stated: Mapping[str, Figure],
    utilization: Decimal | None = None,
    *,
    bytes_per_s: float | None = None,
) -> Work:
    """The work of what `size` chose; `utilization` in place of the share of hours that the spec implies."""
    option = in_market(chosen, "on-demand") or chosen
    demand = demand_of(option)
    at = demand if utilization is None else demand.at(utilization)
    accelerators = option.candidate.shape.accelerators
    server = server_for(option.setting.catalog, option.candidate.shape.accelerator, at.machines * accelerators)
    runs = None
    if option.run_s is not None and option.setting.need.arrivals is None:
        runs = at.hours / (option.fleet.nodes * Decimal(repr(option.run_s)) / 3600)
    count, tokens = tokens_of(option), None
    if count is not None and demand.hours:
        tokens = Decimal(repr(count)) * (runs if runs is not None else at.hours / demand.hours)
    return Work(
        spec=spec,
        option=option,
        chosen=chosen,
        months=months,
        demand=at,
        runs=runs,
        tokens=tokens or None,
        figures={**figures_of(server[0] if server else None), **stated},
        tariff=Tariff(option.setting.catalog, option.cloud, option.deal.region, option.setting.on),
        bytes_per_s=bytes_per_s,
    )


def in_market(chosen: Option, market: str) -> Option | None:
    """The same machines in another market of the same region; None where interruptions make a run miss its deadline."""
    if chosen.deal.market == market:
        return chosen
    catalog, on, region = chosen.setting.catalog, chosen.setting.on, chosen.deal.region
    price = catalog.price(chosen.cloud, chosen.instance_type, region, market, on)
    offers = catalog.offers(chosen.cloud, chosen.instance_type, region=region, market=market, on=on)
    deal = Deal(
        market=market,
        region=region,
        zone=chosen.deal.zone,
        usd_per_hour=price.amount if isinstance(price, Priced) else Decimal(0),
        advisor=next((offer.interruption for offer in offers if offer.interruption), ""),
    )
    made = make_option(chosen.candidate, chosen.fleet, deal, chosen.setting, managed=chosen.managed)
    return made and replace(made, scheduler=chosen.scheduler, shared=chosen.shared, provision="")


def ways_of(work: Work) -> tuple[Way, ...]:
    """Every way, those without a price among them; mixes last."""
    plain = [*_by_the_hour(work), *(_committed(work, market) for market in COMMITTED), _block(work)]
    api = _api(work)
    return (*plain, _own(work), *([api] if api else []), *_mixed(work, plain), *_elsewhere(work))


def _priced(work: Work, way: Way) -> Way:
    """The way, or why it has none where its machines have no price."""
    assert way.pay is not None  # noqa: S101 - only ways that are paid are looked at
    running = [payment.item for payment in way.pay(work.demand)]
    missing = [item for item in running if isinstance(item.price, Unpriced) and work.runs_it(item)]
    if missing:
        reason = missing[0].price.reason if isinstance(missing[0].price, Unpriced) else ""
        reason += "; catalog/rates.yaml may state one"
        return replace(way, pay=None, reason=reason, bound="", notes=())
    guessed = any(weakness(item.price) for item in running if work.runs_it(item))
    markets = (item.asked.market for item in running if item.asked and work.runs_it(item))
    return replace(way, estimated=way.estimated or guessed, aged=_aged(work, markets))


def _aged(work: Work, markets: Iterable[str]) -> tuple[str, ...]:
    """The prices in some markets that are too old to rely on, each with its age."""
    on, place = work.option.setting.on, (work.option.cloud, work.instance_type, work.option.deal.region)
    old = stale_prices(work.option.setting.catalog, [(*place, market) for market in markets], on)
    return tuple(
        f"its {each.market} price is from {each.date}, {plural(each.age_days(on) or 0, 'day')} old "
        f"(limit {fresh_days(each.market)}): sizewell prices show {each.instance_type}"
        for each in old
    )


def _by_the_hour(work: Work) -> Iterator[Way]:
    """On demand, spot with its rework, and flex-start for runs where it is sold."""
    if work.is_own:
        pay = partial(_around_the_clock, work, "on-demand", work.lasts_months)
        yield _priced(work, Way(key="on-demand", name=YOURS, pay=pay, bound=f"{work.machines}, yours", notes=(_RATED,)))
    for market in BY_THE_HOUR[work.is_own :]:
        if reason := "" if market == "on-demand" else _not_sold(work, market):
            if market != "flex-start":
                yield Way(key=market, name=NAMES[market], reason=reason, bound="")
            continue
        if market == "flex-start" and work.runs is None:
            continue
        if market == "flex-start" and (work.option.run_s or 0) > FLEX_START_S:
            days = f"{(work.option.run_s or 0) / 86_400:.1f} days"
            reason = (
                f"a run takes {days}, and its machines are taken away after seven: each part of it waits for capacity"
            )
            yield Way(key=market, name=NAMES[market], reason=reason, bound="")
            continue
        if market == "spot" and work.spec.spot_policy == "on-demand":
            yield Way(
                key=market, name=NAMES[market], reason="spot_policy: on-demand in the spec rules it out", bound=""
            )
            continue
        option = in_market(work.chosen, market) if market != work.option.deal.market else work.option
        if option is None:
            yield Way(
                key=market, name=NAMES[market], reason="interruptions would make a run miss its deadline", bound=""
            )
            continue
        rework = Decimal(1)
        if option.run_s is not None and work.option.run_s is not None:
            rework = Decimal(repr(option.run_s)) / Decimal(repr(work.option.run_s))
        pay = partial(_hourly, work, option, rework)
        more = f"{100 * (rework - 1):.1f} % more hours for rework" if rework > 1 else ""
        spread = _spread(work, option) if market == "spot" else None
        taken = "it may be reclaimed at any time" if market == "spot" else ""
        kept = _no_spot(work, option) if market == "spot" else ""
        notes = tuple(filter(None, (kept or taken, more, spread.words if spread else "")))
        yield _priced(work, Way(key=market, name=NAMES[market], pay=pay, notes=notes, left_out=kept, spread=spread))


def _no_spot(work: Work, option: Option) -> str:
    """Why `size` would not take spot for a spec that leaves it open; what it asks for has been tried."""
    spec, need = work.spec, option.setting.need
    if spec.spot_policy != "auto":
        return ""
    if too_long_for_spot(need, option.fleet, option.candidate.shape):
        return "so long or large a run is taken away before its end; `size` takes it with spot_policy: spot alone"
    if need.interruptible:
        return ""
    asked = spec.model_copy(update={"spot_policy": "spot", "capacity": None})
    refused = next((fault for fault in contradictions(asked, ()) if fault.path == "spot_policy"), None)
    if refused is not None:
        return f"`size` never takes it: {refused.path}: {refused.message}"
    without = " and no capacity" if spec.capacity is not None else ""
    return f"an interruption loses work, and `size` takes it with spot_policy: spot{without} alone"


def _spread(work: Work, option: Option) -> Spread | None:
    """From the times between interruptions that the expected time rests on; None for what does not end."""
    if option.interruptions is None or option.run_s is None or work.option.run_s is None or not work.runs:
        return None
    times = run_times(option.interruptions, option.run_s / option.interruptions.stretch)
    latest_s, moved = option.setting.need.deadline_s, moving(option, work.bytes_per_s)
    hours = times.within(0.95) / 3600
    longer = Decimal(repr(hours * 3600 / work.option.run_s))
    usd = total_usd(_hourly(work, option, longer, work.demand)) / (work.runs * work.lasts_months)
    return Spread(
        hours_in_half=times.within(0.5) / 3600,
        hours_in_95_percent=hours,
        usd_in_95_percent=usd,
        deadline_hours=None if latest_s is None else latest_s / 3600,
        chance_to_miss=None if latest_s is None else times.longer_than(latest_s - (moved.seconds if moved else 0)),
    )


def _hourly(work: Work, option: Option, rework: Decimal, demand: Demand) -> tuple[Payment, ...]:
    return (*monthly(work.bill(option, demand.hours * rework), work.lasts_months), *work.data(demand))


def _not_sold(work: Work, market: str) -> str:
    """Why a market does not serve; "" where it does. A rate of one's own that names the market is an offer."""
    option, managed = work.option, work.option.managed
    if managed != RAW and market not in BY_THE_HOUR:
        return f"it is of machines of one's own; {TITLES[managed]} runs these"
    if managed != RAW and market not in markets_of(managed, option.setting.need.kind):
        return f"{TITLES[managed]} does not sell it"
    if market in option.candidate.shape.markets or work.place.is_sold(market):
        return ""
    return f"{work.instance_type} is not sold that way in {option.cloud}"


def _committed(work: Work, market: str) -> Way:
    term, name = TERM_MONTHS[market], NAMES[market]
    if reason := _not_sold(work, market):
        return Way(key=market, name=name, reason=reason, bound="")
    bought = -(-work.months // term) * term
    pay = partial(_around_the_clock, work, market, bought)
    again = f"bought {plural(bought // term, 'time')}, at today's price" if bought > term else ""
    later = f"paid until month {bought}" if bought > work.months else ""
    notes = tuple(filter(None, (again, later)))
    bound = f"{work.machines}, every hour of {term} months"
    return _priced(work, Way(key=market, name=name, pay=pay, bound=bound, notes=notes))


def _around_the_clock(work: Work, market: str, bought: Decimal | int, demand: Demand) -> tuple[Payment, ...]:
    machines = work.line(market, demand.machines * HOURS_PER_MONTH)
    return (*monthly([machines], bought), *monthly(work.beside(demand.hours), work.lasts_months), *work.data(demand))


def _block(work: Work) -> Way:
    way = Way(key=BLOCK, name=NAMES[BLOCK], bound="")
    if reason := _not_sold(work, BLOCK):
        return replace(way, reason=reason)
    if work.runs is None or work.option.run_s is None:
        return replace(way, reason="a block is bought for a run that ends")
    option = in_market(work.chosen, BLOCK)
    if option is None:
        return replace(way, reason="the run is longer than its block")
    run_hours = Decimal(repr(work.option.run_s)) * option.fleet.nodes / 3600
    days = option.hours.expected / option.fleet.nodes / 24
    pay = partial(_in_blocks, work, option.hours.expected / run_hours)
    bound = f"{work.machines} for {plural(int(days), 'day')} from a date on, paid before each run"
    return _priced(work, replace(way, pay=pay, bound=bound))


def _in_blocks(work: Work, times: Decimal, demand: Demand) -> tuple[Payment, ...]:
    machines = work.line(BLOCK, demand.hours * times)
    items = [replace(machines, cadence="monthly"), *work.beside(demand.hours)]
    return (*monthly(items, work.lasts_months), *work.data(demand))


def _own(work: Work) -> Way:
    figures, shape = work.figures, work.option.candidate.shape
    device = work.option.setting.catalog.accelerators.get(shape.accelerator or "")
    if not shape.accelerators:
        reason = "servers are counted by their accelerators, and the work needs none"
        return Way(key=OWN, name=OWN, reason=reason, bound="")
    if work.is_own:
        return Way(key=OWN, name=OWN, reason="the machines are yours already", bound="")
    cloud = CLOUDS.get(work.option.cloud)
    if cloud and device and device.vendor in cloud.seller.lower().split():  # nobody sells a server with one
        return Way(key=OWN, name=OWN, reason=f"{device.name} is rented from {cloud.seller} alone", bound="")
    if missing := [key for key in OF_A_SERVER if key not in figures]:
        what = shape.accelerator or "no accelerator"
        reason = f"the catalog has no server with {what}: state {', '.join(missing)} in a file for --hardware"
        return Way(key=OWN, name=OWN, reason=reason, bound="")
    return own_with(work, figures)


def own_with(work: Work, figures: Mapping[str, Figure]) -> Way:
    """Own hardware at some figures: as many whole servers as have the accelerators of the peak, and one more where one
    more machine is wanted than the load needs: it holds while a server is gone.
    """
    arrivals = work.option.setting.need.arrivals
    spare = min(1 if arrivals is not None and arrivals.spare else 0, work.demand.machines - 1)
    of_one = max(1, work.option.candidate.shape.accelerators)
    each, wanted = int(figures["accelerators"].value), (work.demand.machines - spare) * of_one
    servers = -(-wanted // each) + spare
    lifetime, weeks = figures["lifetime_months"].value, figures["lead_time_weeks"].value
    notes = [f"delivered after {weeks.normalize():f} weeks, which are not in the figures"] if weeks else []
    if work.months > lifetime:
        notes.append(f"bought again after {lifetime.normalize():f} months")
    if unknown := leaving_unknown(work.option, owned=True):
        notes.append(unknown)
    notes += _copied(work)
    if spare:
        notes.append("one server more than the load needs, to hold while one is gone (traffic.redundancy)")
    elif idle := servers * each - wanted:
        notes.append(f"{plural(idle, 'accelerator')} of {servers * each} left over: whole servers are counted")
    storage, unstored = work.option.storage, ""
    if storage is not None:
        unstored = f"storage for its data, {storage.gib:,.0f} GiB in a cloud, is in no figure"
        notes.append(unstored)
    return Way(
        key=OWN,
        name=OWN,
        pay=partial(_on_own, work, figures, servers),
        bound=f"{plural(servers, 'server')} with {plural(each, 'accelerator')}, until sold",
        notes=tuple(notes),
        estimated=any(figure.is_estimate for key, figure in figures.items() if key != "lead_time_weeks"),
        left_out=unstored,
    )


def _copied(work: Work) -> list[str]:
    """What data cost on their way out of their cloud, and how long they take, in words."""
    moved = moving(work.option, work.bytes_per_s, owned=True)
    return [
        f"{each.item.what}: {paid_by([each], each.first):,.2f} USD {'a month' if each.last else 'once, for a copy'}"
        for each in work.data(work.demand, owned=True)
    ] + ([moved.words] if moved else [])


def _on_own(work: Work, figures: Mapping[str, Figure], servers: int, demand: Demand) -> tuple[Payment, ...]:
    return (*owned(work.name, figures, servers, work.months, demand), *work.data(demand, owned=True))


def _api(work: Work) -> Way | None:
    """The cheapest seller of the model per token; None for what no seller could answer."""
    spec = work.spec
    if spec.kind != "inference" or work.tokens is None:
        return None
    offers = by_the_token(spec, work.option.setting.catalog, work.option.setting.on)
    if not offers:
        reason = "no seller of the model per token is in the catalog"
        if spec.traffic is None or spec.traffic.requests_per_s is None:
            reason = "the traffic states no rate of requests, such as traffic.rps"
        elif spec.model is not None and spec.model.adapters is not None:
            reason = "nobody sells the model with adapters of one's own"
        return Way(key="api", name=NAMES["api"], reason=reason, bound="")
    cheapest = offers[0]
    price, today = cheapest.price, demand_of(work.option).hours

    def pay(demand: Demand) -> tuple[Payment, ...]:
        share = demand.hours / today
        lines = (
            ("input", cheapest.input_tokens, price.input_usd),
            ("output", cheapest.output_tokens, price.output_usd),
        )
        return monthly(
            (
                LineItem(
                    component=work.name,
                    what=f"{what} tokens of {price.listed_as}",
                    unit="million tokens",
                    quantity=Interval.exactly(tokens * share / 1_000_000),
                    price=Priced(usd, price.source, price.effective_from),
                )
                for what, tokens, usd in lines
            ),
            work.lasts_months,
        )

    more = f"the cheapest of {plural(len(offers), 'seller')}" if len(offers) > 1 else "the one seller known"
    name = f"API of {cheapest.seller.name}"
    return Way(key="api", name=name, pay=pay, notes=(more, "its speed is not that of the service level"))


def _elsewhere(work: Work) -> Iterator[Way]:
    """The cheapest machines of another cloud with the same accelerators; nothing for work that needs none.

    It is advised by no headline: what stands beside its machines is not known here.
    """
    option, shape, on = work.option, work.option.candidate.shape, work.option.setting.on
    if not shape.accelerators or work.is_own:
        return
    fleet = option.fleet
    trains = option.setting.need.training is not None
    joined = fleet.nodes > 1 and (trains or fleet.devices_per_replica > shape.accelerators)
    found = by_the_machine(option.setting.catalog, shape, on, joined=joined)
    if not found:
        between = " and states a network between them" if joined else ""
        reason = f"no other cloud in the catalog sells machines with {shape.carries}{between}"
        yield Way(key=ELSEWHERE, name=NAMES[ELSEWHERE], reason=reason, bound="")
        return
    best = found[0]
    price = Priced(best.usd_per_hour, best.offer.source, best.offer.effective_from)
    days = (on - date.fromisoformat(best.offer.effective_from)).days
    where = "" if best.offer.region == EVERYWHERE else f" in {best.offer.region}"
    sold = f"{best.shape.instance_type}{where}: {best.usd_per_hour.normalize():f} USD an hour"
    said = [f"{sold}, a price of {best.offer.effective_from}, {plural(days, 'day')} old ({best.offer.basis})"]
    sellers = plural(len({each.offer.cloud for each in found}), "seller")
    said += [f"the cheapest of {sellers} known"] if len(found) > 1 else []
    said += [best.shape.note] if best.shape.note else []
    if best.is_old:
        said.append(f"too old to rely on (limit {fresh_days('on-demand')} days)")
    if unknown := leaving_unknown(option, owned=True):
        said.append(unknown)
    said += _copied(work)
    yield Way(
        key=ELSEWHERE,
        name=f"on {best.offer.cloud}",
        pay=partial(_rented_elsewhere, work, best.shape.instance_type, price),
        notes=(*said, _NOT_COUNTED),
        estimated=best.is_weak,
        left_out=_NOT_COUNTED,
    )


def _rented_elsewhere(work: Work, instance_type: str, price: Priced, demand: Demand) -> tuple[Payment, ...]:
    quantity = Interval.exactly(demand.hours)
    machines = LineItem(component=work.name, what=instance_type, unit="hour", quantity=quantity, price=price)
    return (*monthly([machines], work.lasts_months), *work.data(demand, owned=True))


def _mixed(work: Work, plain: Sequence[Way]) -> Iterator[Way]:
    """The commitments that cost least with on-demand hours above them, and the same with spot above them.

    None where no commitment pays, or all machines are on one of one term throughout, which has a row of its own.
    """
    by_key = {way.key: way for way in plain}
    rented = by_key["on-demand"]
    if rented.pay is None or not work.demand.hours:
        return
    terms = [term for term in work.place.terms if not _not_sold(work, term.market)]
    hour_usd = _machine_usd(work, rented.pay(work.demand)) / work.demand.hours
    whole_months = int(work.lasts_months)
    months = [work.demand] * whole_months
    if rest := work.lasts_months - whole_months:
        months.append(mixed([(rest, work.demand)]))
    plan = baseline(months, terms, hour_usd) if terms else ()
    committed = {held(plan, month) for month in range(work.months)}
    whole = committed == {work.demand.machines}
    markets = [market for market in COMMITTED if any(each.term.market == market for each in plan)]
    if not plan or (whole and len(markets) == 1):
        return
    bound = f"{in_words(plan, 'machine')}, in every hour"
    aged = tuple(line for market in markets for line in by_key[market].aged)
    if whole:
        pay = partial(with_plan, work, rented.pay, plan)
        estimated = any(by_key[market].estimated for market in markets)
        yield Way(key=BOTH, name=NAMES[BOTH], pay=pay, bound=bound, estimated=estimated, aged=aged, plan=plan)
        return
    for way in plain:
        if way.key in ("on-demand", "spot") and way.pay is not None:
            yield Way(
                key=f"commit+{way.key}",
                name=f"commit + {way.name}",
                pay=partial(with_plan, work, way.pay, plan),
                bound=bound,
                notes=(
                    f"of {work.demand.machines} machines, those that cost less committed than on demand",
                    *way.notes,
                ),
                estimated=way.estimated,
                left_out=way.left_out,
                aged=(*aged, *way.aged),
                plan=plan,
            )


def in_words(plan: Sequence[Purchase], what: str) -> str:
    """What is bought and when: purchases of one term and month together.

    >>> from sizewell.economics.baseline import Term
    >>> term = Term("reserved-1y", 12, Decimal(1))
    >>> in_words([Purchase(0, term, 2), Purchase(12, term, 1)], "machine")
    '2 machines for 1 year, 1 machine for 1 year from month 13 on'
    """
    bought: dict[tuple[int, str], int] = {}
    for each in plan:
        bought[each.month, each.term.market] = bought.get((each.month, each.term.market), 0) + each.machines
    return ", ".join(
        f"{plural(count, what)} for {NAMES[market].removeprefix('commit ')}"
        + (f" from month {month + 1} on" if month else "")
        for (month, market), count in sorted(bought.items())
    )


def _machine_usd(work: Work, payments: Iterable[Payment]) -> Decimal:
    """What a month's machines cost, to the last digit."""
    running = [each for each in payments if work.runs_it(each.item) and each.last == max(1, int(work.lasts_months))]
    share = min(work.lasts_months, Decimal(1))  # of less than a month
    prices = ((each.item.quantity.expected, each.item.price) for each in running)
    return sum((hours * price.amount for hours, price in prices if isinstance(price, Priced)), Decimal(0)) / share


def with_plan(work: Work, above: Pay, plan: tuple[Purchase, ...], demand: Demand) -> tuple[Payment, ...]:
    """What commitments are paid, and what is above them."""
    payments = [
        Payment(work.line(each.term.market, each.machines * HOURS_PER_MONTH), each.month + 1, each.end) for each in plan
    ]
    whole = above(demand)
    payments += [each for each in whole if not work.runs_it(each.item)]
    running = [each for each in whole if work.runs_it(each.item)]
    for each in running:
        start = each.first
        for month in range(each.first + 1, each.last + 2):  # months with the same commitments are one payment
            if month <= each.last and held(plan, month - 1) == held(plan, start - 1):
                continue
            share = demand.hours_beyond(held(plan, start - 1)) / demand.hours if demand.hours else Decimal(0)
            payments.append(Payment(replace(each.item, quantity=each.item.quantity.times(share)), start, month - 1))
            start = month
    return tuple(payments)


def without_price(work: Work, ways: Iterable[Way]) -> tuple[str, ...]:
    """Lines beside the machines that have no price, and are in no figure."""
    return tuple(dict.fromkeys(reason for way in ways if way.pay for reason in unpriced(way.pay(work.demand))))
