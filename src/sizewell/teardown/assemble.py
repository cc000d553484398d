"""From what was gathered to a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, time

from sizewell.sizing.errors import SizewellError
from sizewell.sizing.records.stackname import cluster_of
from sizewell.sizing.units import plural
from sizewell.teardown.backend import Listed
from sizewell.teardown.clauses import unwatched
from sizewell.teardown.gather import PoolStatus, StackStatus, StatusReader, blind
from sizewell.teardown.matching import must_match, remarks
from sizewell.teardown.news import advice
from sizewell.teardown.planning import Plan, Row, Span, StackPlan, monthly
from sizewell.teardown.units import backup_of
from sizewell.teardown.usage import PoolUsage


def make_plan(
    reader: StatusReader,
    project: str,
    at: datetime,
    only: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Plan, list[StackStatus]]:
    """What would be done at a time, and the facts that it rests on. ServiceError where the backend does not respond,
    ConfigError where a stack that is protected does not exist.
    """
    listed = {stack.name: stack for stack in reader.backend.stacks()}
    decided = (path.stem for path in (reader.backend.root / "stacks" / "decisions").glob("*.json"))  # not built yet
    stacks = sorted(name for name in {*listed, *decided} if cluster_of(name) == name)
    must_match(reader.config, stacks, at)
    statuses = reader.all(at, only, progress)
    names, total = blind(statuses)
    missing = 100 * len(names) / total if total else 0.0
    limit, least = reader.config.halt_missing_percent, reader.config.halt_missing_pools
    # A share and a number: of two pools one is half, and its own verdict keeps it. Many at once are a broken source.
    halts = missing >= limit and len(names) >= least
    named = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    halted = f"telemetry of {missing:.0f} % of the pools is missing ({limit:g} % halts): {named}" if halts else ""
    way_out = "repair the telemetry; `sizewell teardown plan` shows each pool" if halts else ""
    if reader.journal is not None and (gap := reader.journal.gap()):
        halted, way_out = gap, f"put it back from a copy, or go on without it: `{reader.journal.way_out}`"
    return (
        Plan(
            project=project,
            at=at,
            stacks=tuple(_stack(reader, listed, status, at) for status in statuses),
            missing_percent=round(missing, 1),
            halted=halted,
            way_out=way_out,
            remarks=remarks(reader, stacks, statuses, at, every=not only),
        ),
        statuses,
    )


def _stack(reader: StatusReader, listed: Mapping[str, Listed], status: StackStatus, at: datetime) -> StackPlan:
    name, parts = status.name, status.parts
    pools = tuple(_pool(name, pool, at) for pool in status.pools)
    hourly = [pool.pool.usd_per_hour for pool in status.pools]
    saves = sum(usd_per_hour for usd_per_hour in hourly if usd_per_hour is not None) if None not in hourly else None
    verdict = status.verdict
    row = Row(
        stack=name,
        pool="",
        action=verdict.action,
        clause=verdict.clause,
        why=verdict.reason,
        next_step=verdict.next_step,
        next_at=verdict.next_at,
        advice=advice("unheard" if verdict.unheard else verdict.clause, verdict.action, name),
        about=verdict.about,
        tell=verdict.tell,
        episode=verdict.episode.name if verdict.episode else "",
        saves_usd_per_month=monthly(saves) if verdict.action == "destroy" else None,
    )
    update = status.facts.update if status.facts else None
    notes = []
    if update is not None:
        notes.append(f"the engine's lock on it: {update.by}{f'; {update.over}' if update.over else ''}")
    if parts is None:
        return StackPlan(stack=name, owner="", environment="", row=row, notes=tuple(notes))
    if parts.pending:
        number = len(parts.pending)
        count = "1 operation is" if number == 1 else f"{number} operations are"
        notes.append(f"an update was killed, and {count} pending: sizewell reconcile {name} lists what they created")
    if parts.expires_at is not None and f"ttl-{name}" not in status.beside:
        notes.append(f"it expires on {parts.expires_at}, and without ttl-{name} only this run takes it down")
    accounts = tuple(reader.accounts(name))
    if not accounts:
        notes.append("sizewell:accounts is not set: nothing is read from the cloud and nothing is stopped")
    notes += [_half_idle(usage) for usage in reader.usage(name, at) if usage.half_idle and _stays(usage, status)]
    notes += [note for pool in status.pools if (note := _woken(pool))]
    acts = {step for each in (row, *pools) for step in (each.action, each.next_step)} & {"empty", "destroy"}
    if observed := sorted(step for step in acts if not reader.config.acts(parts.environment, step)):
        notes.append(f"mode is observe: {' and '.join(observed)} would be noted, and nothing changed")
    kept = [f"{resource.name} ({resource.type}, protected)" for resource in parts.protected]
    kept += [_beside(other) for other in status.beside]
    bills, words = None, []
    over = row.clause == "nothing" and bool(parts.protected)  # destroyed, and what was protected is billed on
    if over or any(planned.action not in ("keep", "unknown") for planned in (row, *pools)):
        try:
            standing = reader.standing(listed, name, at.date())
        except SizewellError as error:
            words.append(f"not priced: {str(error).partition(chr(10))[0]}")
        else:
            destroyed = over or row.action == "destroy"
            bills = standing.kept if destroyed else standing.emptied
            if not destroyed:
                words.append("everything except machines, at the smallest size")
            elif parts.protected:
                words.append("protected resources")
            if destroyed and standing.kept_by_use:  # 20 TB in a bucket are in no figure, and no nought
                more = f"{standing.kept:,.2f} without what is billed by use, such as what is stored"
                words.append(f"{more}: {', '.join(standing.kept_by_use)}")
                bills = None
            for other, usd in standing.beside.items():
                words.append(f"{other}: {'?' if usd is None else f'{usd:,.2f}'} USD per month")
            if standing.unpriced:
                bills = None
                words.append(f"without a price: {', '.join(sorted(set(standing.unpriced))[:5])}")
    return StackPlan(
        stack=name,
        owner=parts.owner,
        environment=parts.environment,
        row=row,
        pools=pools,
        updated=status.updated,
        bills_on_usd_per_month=bills,
        bills_on=tuple(words),
        kept=tuple(kept),
        data=tuple(
            f"{what} {resource.name} ({resource.id or resource.type}; {backup_of(resource)})"
            for what, resource in parts.stateful
        ),
        notes=tuple(notes),
        accounts=accounts,
        clouds=parts.clouds,
        beside=status.beside,
    )


def _woken(status: PoolStatus) -> str:
    """What a schedule does to an idle pool: it brings its machines back each working day, to idleness again."""
    schedule = status.unit.arguments.get("schedule")
    if status.verdict.action not in ("warn", "empty") or not isinstance(schedule, Mapping):
        return ""
    hours = sum(_weekly_hours(window) for window in schedule.get("windows") or () if isinstance(window, Mapping))
    usd = monthly(status.pool.usd_per_hour)
    price = "at a price that is not known" if usd is None else f"for {float(usd) * hours / 168:,.2f} USD per month"
    return f"{status.pool.name}: its schedule starts machines, {hours:g} hours a week, {price}: remove it if unused"


def _stays(usage: PoolUsage, status: StackStatus) -> bool:
    """Whether a pool goes on running on the machines that were measured: what is idle comes down anyway."""
    return any(
        pool.unit.name == usage.pool
        and pool.unit.instance_type == usage.instance_type
        and pool.verdict.action == "keep"
        for pool in status.pools
    )


def _half_idle(usage: PoolUsage) -> str:
    return (
        f"{usage.pool}: busy {usage.busy:.0%} of {plural(len(usage.hours), 'hour')} on "
        f"{usage.nodes} x {usage.instance_type}; "
        f"to check whether fewer or smaller machines suffice: sizewell teardown observed {usage.stack}"
    )


def _weekly_hours(window: Mapping[str, object]) -> float:
    """Hours a week of a window of working hours, such as mon-fri 07:00 to 21:00."""
    names = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    days = 0
    for part in str(window.get("days")).lower().split(","):
        first, _, last = part.strip().partition("-")
        if first in names:
            days += (names.index(last) - names.index(first)) % 7 + 1 if last in names else 1
    start, end = (time.fromisoformat(str(window.get(key) or "00:00")) for key in ("start", "end"))
    minutes = (end.hour - start.hour) * 60 + end.minute - start.minute
    return days * (minutes % 1440 or 1440) / 60


def _beside(stack: str) -> str:
    if stack.startswith("checkpoints-"):
        return f"{stack}: never taken down by teardown"
    return (
        f"{stack}: destroyed last, once nothing is billed"
        if stack.startswith("ttl-")
        else f"{stack}: destroyed on request"
    )


def _advice(stack: str, status: PoolStatus) -> str:
    evidence, verdict = status.evidence, status.verdict
    if evidence.fix and verdict.action in ("unknown", "warn"):
        return evidence.fix  # of the call that was refused: it knows more than the clause does
    clause = "gone" if evidence.gone else "unheard" if verdict.unheard else verdict.clause
    return advice(clause, verdict.action, stack, status.pool.name)


def _pool(stack: str, status: PoolStatus, at: datetime) -> Row:
    verdict, evidence, pool = status.verdict, status.evidence, status.pool
    machines = pool.machines_at(at.timestamp())
    why = verdict.reason
    if evidence.missing:
        why = f"{why}: {evidence.missing}"
    return Row(
        stack=stack,
        pool=pool.name,
        action=verdict.action,
        clause=verdict.clause,
        why=why,
        source=evidence.source,
        window_s=evidence.window_s,
        samples_received=evidence.received,
        samples_due=evidence.due,
        newest_age_s=None if evidence.newest_age_s is None else round(evidence.newest_age_s, 1),
        machines=None if machines is None else len(machines),
        saves_usd_per_month=monthly(pool.usd_per_hour) if verdict.action in ("warn", "empty") else None,
        next_step=verdict.next_step,
        next_at=verdict.next_at,
        advice=_advice(stack, status),
        about=verdict.about,
        tell=verdict.tell,
        episode=verdict.episode.name if verdict.episode else "",
        unwatched=unwatched(pool) if machines else (),
        spans=tuple(
            Span(
                start=datetime.fromtimestamp(span.start_s, UTC),
                end=datetime.fromtimestamp(span.end_s, UTC),
                machines=_size(span.machines),
            )
            for span in pool.counted
        ),
    )


def _size(machines: frozenset[str]) -> int:
    """Machines of a span: by name, or `3 machines` where only their number was recorded."""
    (first, *others) = machines or ("",)
    if not others and first.endswith(" machines"):
        return int(float(first.partition(" ")[0]))
    return len(machines)
