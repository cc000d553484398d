"""`sizewell economics STACK` and `--all`: ways to pay for what stacks decided, and what to commit to over all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from sizewell.cli import project
from sizewell.cli.answers import as_decided, read_all
from sizewell.cli.economics_text import hours, percent
from sizewell.cli.forecast_text import Part
from sizewell.economics.commitments import Shared, Used, clock_of, measured, shared
from sizewell.economics.compare import Comparison, compare, rounded
from sizewell.economics.place import Place
from sizewell.economics.usage import read_usage
from sizewell.economics.ways import NAMES, in_words, months_of, work_of
from sizewell.sizing.catalog import Catalog
from sizewell.sizing.catalog.managed import RAW
from sizewell.sizing.choose.explain import sized
from sizewell.sizing.choose.pricing import Option
from sizewell.sizing.errors import UsageError
from sizewell.sizing.records.decision import Decision, Pool
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

ALMOST: Final = Decimal("0.999")  # of the hours: all of them
ALIKE: Final = Decimal("0.01")  # by which hours of two sizings may differ, as their prices do


@dataclass(frozen=True, kw_only=True)
class OfStacks:
    """The work of stacks, each with its ways to pay, and the commitments that it shares."""

    months: int
    uses: tuple[Used, ...]
    comparisons: tuple[Comparison, ...]
    shared: tuple[Shared, ...]
    notes: tuple[str, ...]


class Read(NamedTuple):
    """What all stacks are read with."""

    root: Path
    catalog: Catalog
    months: int
    on: date


def of_stacks(read: Read, stacks: Sequence[str]) -> OfStacks:
    """Reads decisions and specs of some stacks; UsageError where one has no decision."""
    known = [path.stem for path in project.decisions(read.root)]
    open_yet = project.undecided(read.root)
    if not stacks and not known:
        one = open_yet[0] if open_yet else "STACK"
        raise UsageError(f"--all: no stack has a decision yet\n  fix: decide one: sizewell size --stack {one}")
    project.must_be_stacks(stacks, known, read.root)
    notes = [] if stacks else [
        f"{stack} is in no figure: it has specs and no decision; `sizewell size --stack {stack}` decides"
        for stack in open_yet
    ]  # fmt: skip
    uses = tuple(use for stack in dict.fromkeys(stacks or known) for use in _uses(read, stack, notes))
    rows = shared(uses, read.months)
    for use in uses:
        if use.work.lasts_months < read.months:
            day = read.on + timedelta(seconds=use.work.spec.ttl_s or 0)
            notes.append(f"{use.stack}/{use.work.name} ends on {day}, and is counted until then")
    for use in uses:
        name, market, managed = f"{use.stack}/{use.work.name}", use.work.chosen.deal.market, use.work.chosen.managed
        if not use.work.is_covered:
            where = managed if managed != RAW else use.work.option.cloud if market == "on-demand" else NAMES[market]
            notes.append(f"{name} runs on {where}: no commitment covers it")
        elif use.work.own_term_months:
            term = f"{use.work.machines} for {plural(use.work.own_term_months // 12, 'year')}"
            notes.append(f"committed already, and in no figure here: {term}, from today on ({name}, "
                         "capacity.savings_plan)")  # fmt: skip
        if use.work.reserved:
            notes.append(f"{name}: {use.work.reserved}; counted are the hours in which it is used")
        notes += [f"{name}: {each}" for each in use.work.unknown]
    for row in rows:
        loose = [f"{use.stack}/{use.work.name}" for use in row.users if clock_of(use.work) is None]
        if len(row.users) > 1 and loose:
            notes.append(f"nobody states when {', '.join(loose)} runs: counted as if at the same time as the others")
    notes += _bought_already(rows)
    if sum(bool(row.taken.covered) for row in rows) > 1:
        notes.append("what covers machines of several types is used as if their busiest hours were the same")
    comparisons = tuple(compare(use.work) for use in uses)
    for use, best in zip(uses, (each.cheapest for each in comparisons), strict=True):
        if best is not None:
            notes += [f"{use.stack}/{use.work.name}, {best.way.name}: {each}" for each in best.way.aged]
    return OfStacks(
        months=read.months, uses=uses, comparisons=comparisons, shared=rows, notes=tuple(dict.fromkeys(notes))
    )


def _bought_already(rows: Sequence[Shared]) -> Iterator[str]:
    """What is to know of the commitments that are sold or bought for machines."""
    for row in rows:
        place = row.place
        if not place.terms:
            sold = "has a price that is known here; catalog/rates.yaml may state one"
            yield f"no commitment to {place.instance_type} in {place.cloud} {place.region} {sold}"
        others = [place.told(each) for each in place.several]
        own = (each for each in place.own_commitments if each not in others)
        yield from (f"committed already, and in no figure here: {each}" for each in own)
        yield from (f"over, and counted no more: {each}" for each in place.ended)
        whole = sum((each.hours for each in row.taken.months), Decimal(0)) + sum(row.taken.covered.values())
        for each, covered in row.taken.covered.items():
            share = f"{percent(covered / whole)} of the hours of {place.instance_type} in {place.region}"
            yield f"bought already, and in no figure here: {place.told(each)} covers {share}, if nothing else uses it"


def of_usage(read: Read, path: Path) -> OfStacks:
    """What to commit to for machines whose hours a file has."""
    usage = read_usage(path, read.catalog)
    profiles = [
        (Place(catalog=read.catalog, **machine._asdict(), on=read.on, months=read.months), demand)
        for machine, demand in usage.demands.items()
    ]
    rows = measured(profiles, net=usage.is_bill)
    days = f"{(usage.last - usage.first).total_seconds() / 86_400:.1f}".removesuffix(".0")
    notes = [f"{path.name} covers {days} days from {usage.first:%Y-%m-%d} on: each month is 730 hours like these"]
    if usage.is_bill:
        notes.append("hours that are billed on demand are counted, and none of spot or of what a commitment covers")
    notes += [f"{each} is in no figure: the catalog does not know it" for each in usage.unknown]
    notes += [
        f"{row.place.instance_type} in {row.place.region} is in no figure: it has no known price on demand"
        for row in rows
        if row.usd is None
    ]
    notes += _bought_already(rows)
    return OfStacks(months=read.months, uses=(), comparisons=(), shared=rows, notes=tuple(dict.fromkeys(notes)))


def _uses(read: Read, stack: str, notes: list[str]) -> Iterator[Used]:
    root, catalog, months, on = read
    path = project.decision_path(root, stack)
    decision = Decision.from_json(path)
    specs = {spec.name: spec for spec in read_all(project.spec_paths(root, stack), catalog)}
    ends = decision.expires_at
    if ends is not None and ends <= on:
        notes.append(f"{stack} is in no figure: it ended on {ends} by its decision")
        return
    for workload in decision.workloads:
        name, pool = workload.spec.name, workload.pools[0]
        if name not in specs:
            notes.append(
                f"{stack}/{name} is in no figure: its spec is gone; `sizewell size --stack {stack}` decides anew"
            )
            continue
        stated = project.environment(root, stack)
        sizing, best = sized(specs[name], as_decided(catalog, path), stack=stack, on=on, environment=stated)
        decided = (pool.cloud, pool.region, pool.instance_type, pool.market, pool.managed)
        option = next((each for each in sizing.options if decided == (each.cloud, each.deal.region, each.instance_type,
                       each.deal.market, each.managed)), best)  # fmt: skip
        if option is None:
            notes.append(
                f"{stack}/{name} is in no figure: nothing fits any more; `sizewell size --stack {stack}` says why"
            )
            continue
        left = specs[name]
        if ends is not None:  # from the day that it was decided on, not from today
            left = left.model_copy(update={"ttl_s": (ends - on) / timedelta(seconds=1)})
        work = work_of(left, option, months_of(left, months), {})
        same = (option.cloud, option.deal.region, option.instance_type) == decided[:3]
        if same and (change := _changed(pool, option)):
            notes.append(f"{stack}/{name} {change}; `sizewell size --stack {stack}` decides anew")
        if not same:
            now = f"would not be today: counted is {work.machines}; `sizewell size --check --stack {stack}`"
            notes.append(f"{stack}/{name} is decided on {pool.instance_type} in {pool.region} and {now}")
        notes += [f"{stack}/{name}: its pool in {each.cloud} is in no figure" for each in workload.pools[1:]]
        yield Used(stack, work)
    undecided = specs.keys() - {workload.spec.name for workload in decision.workloads}
    notes += [f"{stack}/{name} is in no figure: its spec is new or renamed; `sizewell size --stack {stack}` decides it"
              for name in specs if name in undecided]  # fmt: skip


def _changed(pool: Pool, option: Option) -> str:
    """How its machines would be decided otherwise today, though they are of the same type; "" where they would not."""
    counts = pool.nodes_initial, option.counts.initial
    before, now = pool.node_hours_per_month.expected, option.hours.expected
    if counts[0] != counts[1]:
        return (f"is decided with {plural(counts[0], 'machine')}, and by its spec today it needs {counts[1]}: "
                f"counted is {plural(counts[1], 'machine')}")  # fmt: skip
    if abs(now - before) > ALIKE * max(now, before):
        return (f"is decided for {before:,.0f} machine-hours a month, and by its spec today it runs {now:,.0f}: "
                f"counted is {now:,.0f}")  # fmt: skip
    return ""


def _workloads(said: OfStacks) -> Part:
    """What each costs in the cheapest way."""
    stacks = len({use.stack for use in said.uses})
    rows = []
    for use, comparison in zip(said.uses, said.comparisons, strict=True):
        rented = next(row for row in comparison.rows if row.way.key == "on-demand")
        best, held = comparison.cheapest, _held(said, use)
        usd, way = _usd(best.usd if best else None), best.way.name if best else "?"
        if best and best.way.commits and held:
            usd, way = "", "committed already" if held > ALMOST else "committed in part already"
        used = percent(use.work.demand.utilization)
        rows.append([use.stack, use.work.name, use.work.machines, used, _usd(rented.usd), usd, way])
    return Part(
        f"{plural(len(rows), 'workload')} of {plural(stacks, 'stack')} over {plural(said.months, 'month')}",
        heads=("stack", "workload", "machines", "used", "on demand", "cheapest", "way to pay"),
        rows=rows,
        texts=("stack", "workload", "machines", "way to pay"),
    )


def _held(said: OfStacks, use: Used) -> Decimal:
    """The share of its hours that is bought already, by itself or with those that run on the same machines."""
    if use.work.own_term_months >= use.work.months:
        return Decimal(1)
    shares = (row.covered_already for row in said.shared if any(each is use for each in row.users))
    return next(shares, None) or Decimal(0)


def parts(said: OfStacks) -> Iterator[Part]:
    """What is said, in order."""
    if said.uses:
        yield _workloads(said)
    bought = [row for row in said.shared if row.plan and row.is_known]
    unknown = [row for row in said.shared if not row.is_known]
    title = "what to commit to, over all of them"
    if bought:
        saved = sum((_saved(row) for row in bought), Decimal(0))
        yield Part(
            f"{title}: {_usd(saved)} USD less in {plural(said.months, 'month')}",
            heads=("machines", "used", "on demand", "with it", "saves", "covers", "is used"),
            rows=[
                [
                    f"{row.demand.machines} x {row.place.instance_type}", percent(row.demand.utilization),
                    _usd(row.on_demand_usd), _usd(row.usd), percent(_saved(row) / (row.on_demand_usd or Decimal(1))),
                    percent(row.coverage or Decimal(0)), percent(row.utilization or Decimal(0)),
                ]
                for row in bought
            ],
            texts=("machines",),
        )  # fmt: skip
        yield Part("what that binds", [_bound(row) for row in bought])
    else:
        unpriced = [
            f"{row.place.instance_type} in {row.place.cloud} {row.place.region}"
            for row in said.shared
            if row.on_demand_usd is None
        ]
        why = ["no commitment costs less than the hours on demand that it would cover"]
        if unknown and len(unknown) == len(said.shared):
            why = ["what is bought already covers these machines, and it is not known how much of them"]
        if not said.shared:
            why = ["no work runs on demand on machines that a commitment covers"]
        if unpriced:
            why = [f"whether one would cost less is not known: {', '.join(unpriced)} has no known price on demand"]
        yield Part(f"{title}: nothing", why)
    if unknown:
        yield Part("what has to be known first", [line for row in unknown for line in _first(row)])
    if said.notes:
        yield Part("notes", said.notes)


def _first(row: Shared) -> Iterator[str]:
    """What keeps a commitment to machines from being advised."""
    place = row.place
    for each in row.taken.unknown:
        yield (
            f"how much of {place.instance_type} in {place.region} is covered by {place.told(each)}: the seller's page "
            "of its use says so, and `--usage` takes a bill, in which what it covers is left out"
        )


def _usd(usd: Decimal | None) -> str:
    return "?" if usd is None else f"{usd:,.0f}"


def _saved(row: Shared) -> Decimal:
    return (row.on_demand_usd or Decimal(0)) - (row.usd or Decimal(0))


def _bound(row: Shared) -> str:
    users = ", ".join(f"{use.stack}/{use.work.name}" for use in row.users)
    place = row.place
    bought = f"{place.instance_type} in {place.cloud} {place.region}: {in_words(row.plan, 'machine')}, in every hour"
    halved = f"{_usd(row.halved_usd)} USD against {_usd(row.halved_on_demand_usd)} on demand"
    return f"{bought}{users and f'; for {users}'}. If demand halves, {halved}"


def document(said: OfStacks) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema": schema_of("commitments"),
        "months": said.months,
        "workloads": [
            {
                "stack": use.stack,
                "workload": use.work.name,
                "machine": {"cloud": use.work.option.cloud, "region": use.work.option.deal.region,
                            "instance_type": use.work.instance_type},
                "machines": use.work.demand.machines,
                "utilization": rounded(use.work.demand.utilization),
                "hours_per_day": hours(use.work.demand.utilization).removesuffix(" h"),
                "ways": [
                    {"way": row.way.key, "name": row.way.name, "usd": row.usd, "usd_by_month": row.by_month}
                    | ({"unpriced": row.way.reason} if row.usd is None else {})
                    for row in comparison.rows
                ],
            }
            for use, comparison in zip(said.uses, said.comparisons, strict=True)
        ],
        "commitments": [
            {
                "machine": {"cloud": row.place.cloud, "region": row.place.region,
                            "instance_type": row.place.instance_type},
                "workloads": [f"{use.stack}/{use.work.name}" for use in row.users],
                "machines": row.demand.machines,
                "demand": [
                    {"machines": step.machines, "hours_per_month": rounded(step.hours)} for step in row.demand.steps
                ],
                "committed_already": row.owned,
                "hours_covered_already": rounded(row.covered_already),
                "covered_by_an_unknown_share": [row.place.told(each) for each in row.taken.unknown],
                "committed": [
                    {"from_month": each.month + 1, "market": each.term.market, "machines": each.machines}
                    for each in row.plan
                ],
                "usd_on_demand": rounded(row.on_demand_usd),
                "usd": rounded(row.usd),
                "usd_if_demand_halves": rounded(row.halved_usd),
                "usd_on_demand_if_demand_halves": rounded(row.halved_on_demand_usd),
                "coverage": rounded(row.coverage),
                "utilization_of_commitment": rounded(row.utilization),
            }
            for row in said.shared
        ],
        "notes": said.notes,
    }  # fmt: skip
