"""Why this hardware, what watches it, how it is got hold of: from the stack's decision, for the folds of a preview."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from sizewell.launch import images
from sizewell.preview import records
from sizewell.resources.ages import Aging, aging, pressing
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import Plan
from sizewell.resources.unfit import unfit
from sizewell.sizing.catalog import lifetimes
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.money import Unpriced
from sizewell.sizing.records.decision import Decision, Guard, Pool, Workload

BLOCK_DRAIN: Final = timedelta(minutes=40)  # EC2 takes the machines 30 minutes before a block's end; 10 to drain them


def choices_of(decision: Decision) -> tuple[records.Choice, ...]:
    """The chosen pools and their runners-up, chosen first, in the decision's order."""
    choices: list[records.Choice] = []
    for workload in decision.workloads:
        choices += [
            records.Choice(
                workload=workload.spec.name,
                label=pool.instance_type,
                cloud=pool.cloud,
                region=pool.region,
                nodes=pool.nodes_max,
                market=pool.market,
                managed="" if pool.managed == "raw" else pool.managed,
                chosen=True,
                usd_per_month=_usd_per_month(workload),
                usd_per_run=_usd_per_run(workload),
                performance=workload.performance.value,
                metric=workload.performance.metric,
                why_not="chosen",
            )
            for pool in workload.pools
        ]
        choices += [
            records.Choice(
                workload=workload.spec.name,
                label=other.instance_type,
                cloud=other.cloud,
                region=other.region,
                nodes=other.nodes,
                market=other.market,
                managed=other.managed or "",
                chosen=False,
                usd_per_month=other.usd_per_month,
                usd_per_run=other.usd_per_run,
                performance=other.performance,
                metric=workload.performance.metric,
                why_not=other.why_not,
            )
            for other in workload.alternatives
        ]
    return tuple(choices)


def _usd_per_run(workload: Workload) -> Decimal | None:
    """None where the work does not end, or a line of it has no price."""
    run = workload.run()
    return None if run is None or run.unpriced else run.usd.expected


def _usd_per_month(workload: Workload) -> Decimal | None:
    """Of a workload with all that its stack has once; None where a line has no price or all is paid beforehand."""
    whole = workload.bill().run_rate.whole
    if isinstance(whole, Unpriced):
        return None
    return workload.cost.alone_usd_per_month or whole.expected or None


def evidence_of(decision: Decision) -> tuple[records.Evidence, ...]:
    """What each choice rests on: prediction with its band, memory, unit prices, assumptions."""
    return tuple(
        records.Evidence(
            workload=workload.spec.name,
            kind=workload.kind,
            metric=workload.performance.metric,
            value=workload.performance.value,
            low=workload.performance.low,
            high=workload.performance.high,
            grade=workload.performance.grade,
            bottleneck=workload.performance.bottleneck,
            memory_per_device_bytes=workload.memory.per_device_bytes,
            memory_usable_bytes=workload.memory.usable_bytes,
            memory_breakdown=workload.memory.breakdown,
            usd_per_run=workload.cost.per_run_usd,
            usd_per_million_tokens=workload.cost.per_million_tokens_usd,
            usd_per_thousand_samples=workload.cost.per_thousand_samples_usd,
            assumptions=workload.assumptions,
        )
        for workload in decision.workloads
    )


def guarded_of(decision: Decision) -> tuple[records.Guarded, ...]:
    """Each pool's idle guard; a pool without one says so, prepaid capacity is reported and not stopped."""
    return tuple(_guarded(workload, pool) for workload in decision.workloads for pool in workload.pools)


def _guarded(workload: Workload, pool: Pool) -> records.Guarded:
    name = workload.spec.name
    guard = workload.guard
    if guard is None:
        return records.Guarded(component=name, signal="none", idle_when="nobody watches", then="nothing")
    prepaid = pool.capacity.mode == "capacity-block"
    return records.Guarded(
        component=name,
        signal=guard.signal.replace("_", " "),
        idle_when=_idle_when(guard),
        then="notify only: capacity is prepaid, stopping saves nothing" if prepaid else _then(guard),
        saves_usd_per_hour=None if prepaid else _machine_price(workload, pool),
    )


def _idle_when(guard: Guard) -> str:
    return f"below {guard.min_utilization_percent:g} % for {_span(guard.window_s)}"


def _then(guard: Guard) -> str:
    if guard.action == "notify":
        return "notify"
    return f"notify, then after {_span(guard.grace_s)} {guard.action.replace('-', ' ')}"


def _machine_price(workload: Workload, pool: Pool) -> Decimal | None:
    """US dollars per hour of the pool's machines at their initial size."""
    for item in workload.line_items:
        if item.unit == "machine-hour" and item.usd_per_unit is not None and pool.instance_type in item.what:
            return (item.usd_per_unit * max(pool.nodes_initial, 1)).quantize(Decimal("0.01"))
    return None


def _span(seconds: float) -> str:
    """A duration in the unit that a person would use.

    >>> _span(2700), _span(3600), _span(259200)
    ('45 min', '1 h', '3 d')
    """
    if seconds % 86400 == 0 and seconds >= 86400:
        return f"{seconds / 86400:g} d"
    if seconds % 3600 == 0 and seconds >= 3600:
        return f"{seconds / 3600:g} h"
    return f"{seconds / 60:g} min"


def capacity_of(decision: Decision) -> tuple[records.CapacityNote, ...]:
    """How machines are got hold of, zone by zone, with what happens when there are none."""
    return tuple(
        records.CapacityNote(component=workload.spec.name, text="; ".join(_capacity(workload, pool)))
        for workload in decision.workloads
        for pool in workload.pools
    )


def _capacity(workload: Workload, pool: Pool) -> Iterable[str]:
    zones = f" in {', '.join(pool.zones)}" if pool.zones else ""
    yield f"{pool.capacity.mode}{zones} ({pool.region}), {pool.nodes_min} to {pool.nodes_max} x {pool.instance_type}"
    block = pool.capacity.block
    if block is not None:
        start = f" from {block.start}" if block.start else ", the earliest that is offered"
        yield f"block of {block.duration_hours} h{start}, purchase {block.purchase}"
    if pool.capacity.reservation:
        yield f"from reservation {pool.capacity.reservation}"
    for fallback in pool.fallbacks:
        yield f"else {fallback.instance_type} in {fallback.region}, {fallback.market}"
    if workload.interruptible and workload.checkpoint is not None:
        checkpoint = workload.checkpoint
        yield (
            f"may be interrupted: a checkpoint of {_size(checkpoint.bytes_each)} every "
            f"{_span(round(checkpoint.interval_s / 60) * 60 or 60)}, {checkpoint.keep} kept in {checkpoint.store}"
        )


def ages_of(plan: Plan, catalog: Catalog, on: date, *, sized: bool) -> tuple[records.Age, ...]:
    """Versions in use that are supported no longer, or not for much longer, soonest first; then what does not fit."""
    return tuple(
        records.Age(
            component=age.resource, what=age.what, until=age.until, when=age.when, detail=age.detail, fix=age.fix
        )
        for age in what_presses(plan, catalog, on, sized=sized)
        if age.when != "later"
    )


def what_presses(plan: Plan, catalog: Catalog, on: date, *, sized: bool) -> tuple[Aging, ...]:
    """What ages and what does not fit, as previews and `doctor` say it.

    `sized`: whether a decision stands behind the stack, whose configuration then sets the versions.
    """
    known = lifetimes.load()
    ages = aging((*plan.resources, *plan.lookups), known, on, stack=plan.stack if sized else "")
    return pressing((*ages, *unfit(Graph(plan), catalog, known, images, on)))


def ends_of(decision: Decision) -> tuple[records.End, ...]:
    """The stack's own end, and for each dated block of capacity by when work has to be saved."""
    ends = []
    if decision.expires_at is not None:
        ends.append(records.End(component="", text=f"the stack expires on {decision.expires_at.isoformat()}"))
    for workload in decision.workloads:
        for block in (pool.capacity.block for pool in workload.pools):
            if block is None or not block.start:
                continue
            end = datetime.fromisoformat(block.start) + timedelta(hours=block.duration_hours)
            saved = end - BLOCK_DRAIN
            ends.append(
                records.End(
                    component=workload.spec.name,
                    text=f"the block ends {_minute(end)}; a checkpoint has to be written by {_minute(saved)}, "
                    "when its machines are drained",
                )
            )
    return tuple(ends)


def _minute(when: datetime) -> str:
    moment = when.astimezone(UTC) if when.tzinfo else when
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _size(count: int) -> str:
    """Bytes in the unit that a person would use.

    >>> _size(112 * 10**9), _size(45 * 10**6)
    ('112 GB', '45 MB')
    """
    return f"{count / 1e9:,.0f} GB" if count >= 10**9 else f"{count / 1e6:,.0f} MB"
