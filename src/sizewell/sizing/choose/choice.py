"""Choosing among priced options, and saying why the others lost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from sizewell.sizing.billing.tariff import COMMITTED
from sizewell.sizing.catalog.catalog import EVERYWHERE
from sizewell.sizing.catalog.managed import RAW, STANDING, TITLES
from sizewell.sizing.catalog.records import EDGE, PROVISIONABLE
from sizewell.sizing.choose import blocks, services
from sizewell.sizing.choose.bill import unpriced_lines
from sizewell.sizing.choose.candidates import (
    ELSEWHERE_MARKETS,
    NEARLY,
    WORTH_THE_WAIT,
    Candidate,
    Cause,
    Rejection,
    Trial,
    rejected,
    try_all,
)
from sizewell.sizing.choose.elsewhere import BY_THE_API, by_the_token
from sizewell.sizing.choose.fleet import LATER
from sizewell.sizing.choose.pricing import (
    SPOT_GANG_DEVICES,
    Option,
    least_extras_usd,
    make_option,
    options_of,
    too_long_for_spot,
    usd_per_hour,
    ways_of,
)
from sizewell.sizing.choose.requirements import Requirements
from sizewell.sizing.choose.setting import Setting
from sizewell.sizing.money import Interval, OneOff, RunRate
from sizewell.sizing.providers import clouds_where
from sizewell.sizing.records.budget import exceeded
from sizewell.sizing.records.decision import Alternative, Fallback, RejectionGroup
from sizewell.sizing.units import plural, short_duration

if TYPE_CHECKING:
    from sizewell.sizing.workload.read import WorkloadSpec

ALTERNATIVES_BUILDABLE = 3
ALTERNATIVES_ELSEWHERE = 2
EDGE_DEVICES = 4  # the most that are listed as an alternative
ALIKE = 1.05  # times that predictions cannot tell apart: their bands are several times as wide
FALLBACKS = 3
CENT = 0.005
OTHER_MARKETS = ("on-demand", "spot", "flex-start", "capacity-block", "reserved-1y", "reserved-3y")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """One workload, tried against the whole catalog: every option that serves, best first, and every rejection."""

    spec: WorkloadSpec
    setting: Setting
    trial: Trial
    options: tuple[Option, ...]  # best first; those that cannot be provisioned among them
    rejections: tuple[Rejection, ...]

    @property
    def need(self) -> Requirements:
        return self.setting.need

    def best(self, cloud: str | None = None) -> Option | None:
        """The best option that a component can build, in one cloud or in any."""
        return next(
            (o for o in self.options if o.candidate.buildable and (cloud is None or o.cloud == cloud)),
            None,
        )


def size(spec: WorkloadSpec, setting: Setting, *, apart: bool = False, unpriced: bool = False) -> Sizing:
    """All options of a spec, by its objective, and all rejections; `apart`: the best of each cloud are among them.

    `unpriced`: machines that nobody has a price of serve as well.
    """
    need = setting.need

    least = least_extras_usd(setting)
    # By machine type. Not only to save time: `try_all` prunes by the options that it appraised, so those that are
    # ranked afterwards have to be the same ones.
    known: dict[tuple[str, str], list[Option]] = {}

    def offered(candidate: Candidate) -> list[Option]:
        name = (candidate.shape.cloud, candidate.shape.instance_type)
        if name not in known:
            markets = need.markets if candidate.provisioned else ELSEWHERE_MARKETS
            extra = least.get(candidate.shape.cloud, 0.0) if candidate.provisioned else 0.0
            own = setting.for_machine(
                candidate.accelerator.runtime, candidate.shape.accelerators, own_program=candidate.own_program
            )
            known[name] = options_of(candidate, own, markets, least_extra_usd=extra)
        return known[name]

    def appraise(candidate: Candidate) -> float | None:
        # What is launched comes before what is cheaper and cannot be: it must not be left out for the other's price.
        return None if candidate.own_program else min((o.rank_usd for o in offered(candidate)), default=None)

    trial = try_all(need, setting.catalog, setting.on, appraise, least, apart=apart, unpriced=unpriced)
    if need.training is not None and _lacking(trial, apart=apart):
        # Only now, as each refused machine is searched once more.
        known.clear()
        how = {"apart": apart, "unpriced": unpriced, "own_programs": True}
        trial = try_all(need, setting.catalog, setting.on, appraise, least, **how)
    options: list[Option] = []
    rejections = list(trial.rejections)
    for candidate in trial.candidates:
        priced = offered(candidate)
        if not priced:
            rejections.append(_no_option(candidate, setting))
        options += priced
    sizing = Sizing(
        spec=spec,
        setting=setting,
        trial=trial,
        options=tuple(ordered(options, need)),
        rejections=tuple(rejections),
    )
    if need.batch is None:
        return sizing
    return replace(sizing, options=tuple(ordered([_with_fleet(sizing, each) for each in sizing.options], need)))


def _lacking(trial: Trial, *, apart: bool) -> bool:
    """Whether no machine that components build does what the entry scripts run; `apart`: of any cloud."""
    built = {candidate.shape.cloud for candidate in trial.candidates if candidate.buildable}
    return bool(set(PROVISIONABLE) - built) if apart else not built


def ordered(options: Sequence[Option], need: Requirements) -> list[Option]:
    """Best first by the objective: the cheapest; or within the budget the fastest, or the least cost x time.

    What the entry scripts run comes before what needs a program of one's own, where they run such work at all. Of those
    that cost nearly as little as the cheapest the plainest comes first. A budget limits what `time` and `balanced` may
    spend; where nothing is inside it, the cheapest comes first. Of those that take at most `ALIKE` times as long as the
    fastest that can be provisioned, the cheapest counts as the fastest.
    """
    launched = [o for o in options if o.candidate.buildable and not o.candidate.own_program]
    if need.objective == "cost" or need.kind == "notebook":
        whole = [o for o in launched if not on_several(o, need)] or launched
        least = min((o.rank_usd for o in whole), default=0.0)
        small = min((o.rank_usd for o in launched if _small(o, need)), default=math.inf)
        # A batch that one small machine does is not made to wait for hours for a large one that costs a little less.
        instead = need.batch is not None and small <= WORTH_THE_WAIT * least
        nearly = NEARLY * (small if instead else least)

        def plainest(option: Option) -> tuple[object, ...]:
            near = option.candidate.buildable and option.rank_usd <= nearly and (_small(option, need) or not instead)
            plain = option.plainness if near else ()
            later = (option.candidate.own_program, on_several(option, need))
            return (*later, 0.0 if near else option.rank_usd, plain, *option.order)

        return sorted(options, key=plainest)

    # "Within 5 % of the fastest", not "within 5 % of each other": the latter is not transitive, and which option came
    # first would follow from the order in which they were compared.
    fastest = min((o.seconds for o in launched if within_budget(o, need)), default=0.0)

    def key(option: Option) -> tuple[object, ...]:
        inside = within_budget(option, need)
        merit = max(option.seconds, fastest * ALIKE) if need.objective == "time" else option.seconds * option.rank_usd
        return (not inside, option.candidate.own_program, merit if inside else 0.0, *option.order)

    return sorted(options, key=key)


def on_several(option: Option, need: Requirements) -> bool:
    """Whether the accelerators that a notebook asks for are on several machines, of which it works on one."""
    return need.kind == "notebook" and need.nodes is None and option.fleet.nodes > 1


def _small(option: Option, need: Requirements) -> bool:
    """Whether it is one machine of a kind that clouds hand out when they are asked for it, and surely in time."""
    served, trained = option.fleet.serving, option.fleet.training
    slower = served.requests_per_s / served.low if served else trained.high_s / trained.step_s if trained else 0.0
    latest_s = (option.run_s or 0.0) * slower
    in_time = need.deadline_s is None or latest_s <= need.deadline_s
    return option.fleet.nodes == 1 and not option.scarce and in_time


def within_budget(option: Option, need: Requirements) -> bool:
    """Whether the option costs no more than the spec's limits."""
    if not need.budget:
        return True
    month, run = option.compared_month_usd, option.compared_run_usd
    return not exceeded(
        need.budget,
        run_rate=RunRate(Interval.exactly(month)),
        run=None if run is None else OneOff(Interval.exactly(run)),
    )


def alternatives(sizing: Sizing, chosen: Option) -> tuple[Alternative, ...]:
    """Runner-ups: other types that components build, the same type in other markets, and offers elsewhere.

    A type that differs only in its name (the same devices in the same place at the same cost) is listed once.
    """
    seen = {(chosen.cloud, chosen.instance_type)}
    kinds = {_kind(chosen)}
    buildable: list[Option] = []
    elsewhere: list[Option] = []
    for option in sizing.options:
        name = (option.cloud, option.instance_type)
        if name in seen or _kind(option) in kinds or many_edge_devices(option):
            continue
        group, most = (
            (buildable, ALTERNATIVES_BUILDABLE) if option.candidate.buildable else (elsewhere, ALTERNATIVES_ELSEWHERE)
        )
        if len(group) < most:
            seen.add(name)
            kinds.add(_kind(option))
            group.append(option)
    others = [*_half(sizing, chosen), *_other_ways(chosen, chosen.setting), *_other_markets(chosen, chosen.setting)]
    others = [_with_fleet(sizing, option) for option in others]
    ranked = sorted(buildable + elsewhere, key=lambda option: option.order)
    ranked += _without_accelerator(sizing, chosen, ranked)
    # What was left out for its risk or its time alone, at a fraction of the cost, is what a reader should see first.
    others.sort(key=lambda option: not (_withheld(option, sizing.need) or _fewer(option, chosen)))
    first = sum(_withheld(option, sizing.need) or _fewer(option, chosen) for option in others)
    listed = [_alternative(option, chosen, sizing.need) for option in [*others[:first], *ranked, *others[first:]]]
    return (*listed, *_by_the_token(sizing))


def _fewer(option: Option, chosen: Option) -> bool:
    return option.instance_type == chosen.instance_type and 2 * option.fleet.nodes <= chosen.fleet.nodes


def _half(sizing: Sizing, chosen: Option) -> list[Option]:
    """For objective `time` the same machines, at most half of them: what the last doubling buys, and for how much."""
    if sizing.need.objective != "time":
        return []
    same = (chosen.cloud, chosen.instance_type, chosen.deal.market, chosen.deal.region, chosen.managed)
    fewer = [
        o
        for o in sizing.options
        if (o.cloud, o.instance_type, o.deal.market, o.deal.region, o.managed) == same and _fewer(o, chosen)
    ]
    return sorted(fewer, key=lambda o: -o.fleet.nodes)[:1]


def many_edge_devices(option: Option) -> bool:
    """Whether an option is a fleet of edge devices: one stands where it is used, dozens replace no rented machine."""
    return option.cloud == EDGE and option.fleet.nodes > EDGE_DEVICES


def _withheld(option: Option, need: Requirements) -> bool:
    """Whether an option is on spot machines that a run of this length gets only where the spec asks for them."""
    return option.deal.market == "spot" and too_long_for_spot(need, option.fleet, option.candidate.shape)


def _kind(option: Option) -> tuple[object, ...]:
    """What a person tells two options apart by, without the name of the type."""
    shape, deal = option.candidate.shape, option.deal
    devices = (shape.cloud, shape.accelerator, shape.accelerators, option.fleet.nodes)
    return (*devices, deal.region, deal.market, option.managed, round(option.total_usd, 2))


def _by_the_token(sizing: Sizing) -> tuple[Alternative, ...]:
    """The cheapest seller of the same tokens; no machine of it is built, and none is counted."""
    offers = by_the_token(sizing.spec, sizing.setting.catalog, sizing.setting.on)[:1]
    return tuple(
        Alternative(
            cloud=offer.seller.seller,
            region=EVERYWHERE,
            instance_type=offer.price.listed_as,
            accelerator="",
            nodes=0,
            market=BY_THE_API,
            usd_per_month=offer.usd_per_month.quantize(Decimal("0.01")),
            why_not=f"{offer.price.input_usd:f} USD per million tokens in and {offer.price.output_usd:f} out; "
            "Sizewell does not provision APIs, and data leaves the account",
        )
        for offer in offers
    )


def _without_accelerator(sizing: Sizing, chosen: Option, listed: Sequence[Option]) -> tuple[Option, ...]:
    """The best machine without accelerator, where the model is small enough for one and none is named yet."""
    named = [chosen, *listed]
    if any(not option.candidate.shape.accelerator for option in named):
        return ()
    best = (o for o in sizing.options if o.candidate.buildable and not o.candidate.shape.accelerator)
    return tuple(itertools.islice(best, 1))


def _alternative(option: Option, chosen: Option, need: Requirements) -> Alternative:
    monthly = None if option.prepaid else option.usd_per_month
    return Alternative(
        cloud=option.cloud,
        region=option.deal.region,
        instance_type=option.instance_type,
        accelerator=option.candidate.shape.accelerator,
        nodes=option.fleet.nodes,
        market=option.deal.market,
        managed=None if option.managed == RAW else option.managed,
        usd_per_month=monthly,
        usd_per_run=option.run_usd,
        performance=performance_value(option),
        why_not=why_not(option, chosen, need),
    )


def why_not(option: Option, chosen: Option, need: Requirements) -> str:
    """Why an option that serves was not taken."""
    reasons = []
    if not option.candidate.buildable:
        reasons.append(f"{option.cloud} cannot be provisioned")
    if option.deal.unknown:
        known = not unpriced_lines(option.items[:1])
        reasons.append("what you pay for it is not known" if known else "no price of it is known")
    if option.candidate.own_program and not chosen.candidate.own_program:
        reasons.append("its layout needs a program of your own")
    if on_several(option, need) and not on_several(chosen, need):
        reasons.append("a notebook works on one machine")
    if option.deal.market not in need.markets and option.candidate.provisioned:
        reasons.append(_market_reason(option.deal.market, need))
    elif _withheld(option, need):
        many = option.fleet.nodes * option.candidate.shape.accelerators > SPOT_GANG_DEVICES
        what = "so many machines are spot" if many else "a run this long uses spot machines"
        reasons.append(f"{what} only with spot_policy: spot")
    if option.managed != chosen.managed and (way := _way_reason(option, need)):
        reasons.append(way)
    if not reasons and option.careful > max(1.0, chosen.careful) and option.total_usd < chosen.total_usd:
        reasons.append(f"compared at {option.careful:.2f} times its machines' cost, as {doubts(option)}")
    elif not reasons and need.objective == "cost" and option.rank_usd < chosen.rank_usd:
        reasons.append(f"nearly the same cost, but {_less_plain(option, chosen)}")
    missing = unpriced_lines(option.items)
    if missing:
        reasons.append(f"not fully priced ({missing[0].split(':')[0]})")
    about = "about " if missing or unpriced_lines(chosen.items) else ""
    unknown = option.deal.unknown or chosen.deal.unknown
    differences = [] if unknown else _differences(option, chosen, need)
    more, cheaper = (
        [f"{about}{' and '.join(amounts)} {word}"] if amounts else []
        for word, sign in (("more", 1), ("cheaper", -1))
        for amounts in [[f"{sign * usd:,.2f} USD {unit}" for usd, unit in differences if sign * usd > CENT]]
    )
    month, now = option.usd_per_month, chosen.usd_per_month
    if option.deal.market in COMMITTED and option.run_s is not None and month is not None:
        # A run's price and a month's are two things: a commitment bills the month, whatever runs in it.
        runs = "?" if now is None else f"{now:,.2f}"
        reasons.append(f"bills {month:,.2f} USD a month, used or not; the runs of a month cost {runs}")
    elif more or reasons or need.objective != "cost":
        reasons += more + cheaper
    longer = option.seconds / chosen.seconds if chosen.seconds else 1.0
    if option.run_s is None:
        longer = longer if need.objective != "cost" else 1.0
    if longer > (1.05 if need.objective == "cost" else 1.005):
        reasons.append(f"{longer:.{1 if longer >= 1.1 else 2}f} x as long")
    elif need.objective == "time" and longer < 0.995 and option.candidate.buildable:
        reasons.append(f"{longer:.2f} x as long, which predictions cannot tell apart")
    return "; ".join(reasons) or "the same cost; of equals, the first by name is chosen"


def _less_plain(option: Option, chosen: Option) -> str:
    """What makes an option less plain than the chosen one; see `Option.plainness`."""
    unknown, scarce, kinds, nodes = (
        ours > theirs for ours, theirs in zip(option.plainness, chosen.plainness, strict=True)
    )
    if unknown:
        return doubts(option)
    if scarce or (option.scarce and not chosen.scarce):
        return f"clouds seldom have such machines {'left over' if option.deal.market == 'spot' else 'free'}"
    return "split in more ways" if kinds else "on more machines" if nodes else "another of nearly equals is chosen"


def doubts(option: Option) -> str:
    """What of an option is known from little."""
    reasons = ["few published runs tell how fast it is"] if option.seldom_measured else []
    return " and ".join([*reasons, *(["its spot price is old"] if option.deal.old else [])])


def _differences(option: Option, chosen: Option, need: Requirements) -> list[tuple[float, str]]:
    """What an option costs more than the chosen one, like with like: a run with a run, a month with a month."""
    if need.training is None or option.run_usd is None or chosen.run_usd is None:
        return [(option.total_usd - chosen.total_usd, "a month")]
    run = float(option.run_usd - chosen.run_usd)
    beside = option.total_usd - float(option.run_usd) - chosen.total_usd + float(chosen.run_usd)
    return [(run, "a run"), *([(beside, "for supporting resources")] if abs(beside) >= 0.5 else [])]


def _way_reason(option: Option, need: Requirements) -> str:
    """Why not the same machines, run by somebody else."""
    if need.team.managed != "auto":
        return f"managed is {need.team.managed}"
    if option.managed == RAW and services.care_usd_per_month(need):
        hours = services.CARE_HOURS_PER_MONTH[need.kind]
        worth = services.care_usd_per_month(need)
        return (
            f"takes about {hours} h of operations a month ({worth:,.0f} USD, estimate), and there are no "
            "platform engineers"
        )
    if option.managed not in (RAW, "cloud-run") and not need.team.care_counts:
        count = need.team.platform_engineers
        cared = f"{count} platform engineer{'s operate' if count != 1 else ' operates'} the machines"
        return f"{TITLES[option.managed]} is not needed, {cared}"
    return ""


def _asked_market(need: Requirements) -> str:
    """What of `capacity` rules other markets out; "" where `spot_policy` alone does."""
    if need.markets == (blocks.MARKET,):
        return "capacity.block is confirmed"
    if need.markets == ("flex-start",):
        return "capacity.flex_start is asked for"
    if need.reserved:
        return "capacity.reservation is on demand"
    return "capacity requires a commitment" if set(need.markets) & set(COMMITTED) else ""


def _market_reason(market: str, need: Requirements) -> str:
    if market == "spot":
        return (
            _asked_market(need) or "spot_policy is on-demand"
            if need.interruptible
            else "an interruption drops requests"
            if need.kind == "inference"
            else "an interruption loses work"
        )
    return {
        "on-demand": _asked_market(need) or "spot_policy is spot",
        "capacity-block": "bought in advance, needs capacity: {block: {purchase: confirmed}}",
        "flex-start": "starts when capacity is available, needs capacity: {flex_start: true}",
        "reserved-1y": "a commitment for one year",
        "reserved-3y": "a commitment for three years",
    }.get(market, f"market {market} is not requested")


def _other_markets(chosen: Option, setting: Setting) -> list[Option]:
    options = []
    for market in OTHER_MARKETS:
        if market == chosen.deal.market:
            continue
        deals = [deal for deal in chosen.candidate.deals if deal.market == market]
        same = [deal for deal in deals if deal.region == chosen.deal.region]
        once = market in ("capacity-block", "flex-start")  # for a run, not for a service or for every night
        if not deals or (once and setting.need.training is None):
            continue
        deal = (same or deals)[0]
        ways = ways_of(chosen.candidate, deal, setting)
        if not ways and chosen.managed in STANDING:
            continue  # it has its machines in no other market
        way = chosen.managed if chosen.managed in ways or not ways else ways[0]
        option = make_option(chosen.candidate, chosen.fleet, deal, setting, managed=way)
        if option is not None:
            options.append(option)
    return options


def _other_ways(chosen: Option, setting: Setting) -> list[Option]:
    """The same machines, run by the other services that could, or by the team itself."""
    need, shape, deal = setting.need, chosen.candidate.shape, chosen.deal
    options = []
    for way in (RAW, *services.offered(chosen.cloud, need.team.managed)):
        runs = way == RAW or (
            not services.refusal(way, need, shape, setting.catalog)
            and services.sold(way, need, deal.region, deal.market)
        )
        if way != chosen.managed and runs:
            option = make_option(chosen.candidate, chosen.fleet, deal, setting, managed=way)
            options += [option] if option is not None else []
    return options


def _with_fleet(sizing: Sizing, chosen: Option) -> Option:
    """Spot machines for records that are worked off one by one come from a fleet of several types, where there are.

    An Auto Scaling group does as well for one job's machines; a fleet looks for capacity in every type and zone, and
    hears of interruptions. Where the price is of one zone, the machines stay there.
    """
    lone = sizing.need.batch is not None and chosen.deal.market == "spot" and not chosen.deal.zone
    if (
        chosen.cloud not in clouds_where(lambda cloud: cloud.machines.fleets)
        or not lone
        or chosen.managed != RAW
        or chosen.scheduler != "none"
    ):
        return chosen
    types_in_region = {f.instance_type for f in fallbacks(sizing, chosen) if f.region == chosen.deal.region}
    return replace(chosen, provision="fleet") if types_in_region - {chosen.instance_type} else chosen


def fallbacks(sizing: Sizing, chosen: Option) -> tuple[Fallback, ...]:
    """Where the same pool finds machines when the first choice has none.

    Types that do it with no more nodes, then other regions of the same type; a training job's are all of one kind.
    """
    same_region: list[Fallback] = []
    if chosen.managed != RAW:
        return ()  # a service takes the type that it is told
    for option in sizing.options:
        if (
            option.managed != RAW
            or option.cloud != chosen.cloud
            or option.fleet.nodes > chosen.fleet.nodes
            or not option.candidate.buildable
        ):
            continue
        if option.deal.market != chosen.deal.market:
            continue
        if option.candidate.accelerator.runtime != chosen.candidate.accelerator.runtime:
            continue  # another engine, and another image
        if option.instance_type == chosen.instance_type or option.deal.region != chosen.deal.region:
            continue
        if chosen.setting.need.training is not None and not _same_machine(option, chosen):
            continue
        entry = Fallback(
            instance_type=option.instance_type, region=option.deal.region, zones=(), market=option.deal.market
        )
        if entry not in same_region and len(same_region) < FALLBACKS:
            same_region.append(entry)
    places = [d for d in chosen.candidate.deals if d.market == chosen.deal.market and d.region != chosen.deal.region]
    elsewhere = [
        Fallback(instance_type=chosen.instance_type, region=deal.region, zones=(), market=deal.market)
        for deal in places[: max(0, FALLBACKS - len(same_region))]
    ]
    return (*same_region, *elsewhere)


def _same_machine(option: Option, chosen: Option) -> bool:
    mine, other = option.candidate.shape, chosen.candidate.shape
    return mine.accelerator == other.accelerator and mine.accelerators == other.accelerators


def rejection_groups(rejections: Iterable[Rejection]) -> tuple[RejectionGroup, ...]:
    """Rejections by cause, in the order of the causes; the example is the one that came nearest."""
    groups: list[RejectionGroup] = []
    all_rejections = list(rejections)
    for cause in Cause:
        same = [rejection for rejection in all_rejections if rejection.cause is cause]
        if not same:
            continue
        nearest = min(same, key=lambda r: (r.shortfall, r.shape))
        groups.append(
            RejectionGroup(
                cause=cause.value,
                count=len(same),
                example=f"{nearest.shape}: {nearest.reason}",
                shapes=tuple(sorted(r.shape for r in same)),
            )
        )
    return tuple(groups)


def performance_value(option: Option) -> float | None:
    """The figure of `sizing.records.decision.Performance.value` for an option."""
    if option.run_s is not None:
        return significant(option.run_s)
    if option.fleet.replica_rate:
        return significant(option.fleet.replica_rate * option.fleet.replicas)
    return None


def significant(value: float, digits: int = 6) -> float:
    """A float to six significant digits: what lies beyond is arithmetic, not knowledge.

    >>> significant(1234.56789)
    1234.57
    """
    return float(f"{value:.{digits}g}")


def _over_the_limit(candidate: Candidate, setting: Setting) -> Rejection | None:
    """That the block which a spec confirms costs more than it allows, with both figures."""
    need, limit = setting.need, setting.need.block_usd_max
    if limit is None or need.markets != (blocks.MARKET,):
        return None
    unlimited = replace(setting, need=replace(need, block_usd_max=None))
    usd = min(
        (float(o.hours.expected) * o.usd_per_hour for o in options_of(candidate, unlimited, need.markets)), default=None
    )
    if usd is None:
        return None
    reason = f"the block costs {usd:,.2f} USD, capacity.block.max_price is {limit:,.2f} USD"
    way = f"use capacity.block.max_price: {blocks.limit_text(usd)}, or leave capacity out"
    return rejected(candidate.shape, Cause.MARKET, reason, shortfall=usd / max(limit, 1.0), relax=way)


def _no_option(candidate: Candidate, setting: Setting) -> Rejection:
    """Why a machine that does the work has no option: the service's charge for it is not stated, or runs break off."""
    need, shape = setting.need, candidate.shape
    if (over := _over_the_limit(candidate, setting)) is not None:
        return over
    deals = [deal for deal in candidate.deals if deal.market in need.markets]
    ways = [(deal, way) for deal in deals for way in ways_of(candidate, deal, setting)]
    priced = any(usd_per_hour(candidate, deal, way, setting) is not None for deal, way in ways)
    fleet = min(candidate.fleets, key=lambda f: f.run_s or 0.0)
    allowed = need.deadline_s or need.block_s
    if {deal.market for deal, _ in ways} == {"spot"} and too_long_for_spot(need, fleet, shape):
        cause, relax = Cause.MARKET, "use spot_policy: spot to run on machines that can be reclaimed all the same"
        days = (fleet.run_s or 0.0) / 86_400
        machines = f"{fleet.nodes} machine{'s' if fleet.nodes > 1 else ''}"
        reason = f"only the spot price is known, and {machines} would be needed for {days:.1f} days"
    elif not priced or allowed is None:
        title = TITLES.get(need.team.managed, "the service")
        cause, relax = Cause.MANAGED, "use managed: auto"
        reason = f"{title} has no price for {shape.instance_type}, or not that many"
    else:
        cause, relax = Cause.TOO_SLOW, LATER
        if need.markets == ("spot",):
            relax = "use spot_policy: on-demand or auto: without interruptions it ends in time"
        run_s = fleet.run_s or 0.0
        reason = f"{short_duration(run_s)} on {plural(fleet.nodes, 'node')} without interruptions, with them more than "
        reason += f"the {short_duration(allowed)} allowed"
    return rejected(shape, cause, reason, shortfall=1.01, relax=relax)


def usd(value: Decimal | None) -> str:
    return "?" if value is None else f"{value:,.2f} USD"
