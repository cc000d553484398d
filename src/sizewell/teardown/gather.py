"""Facts for decisions: states, what the clouds count and measure, queues, saves, leases and earlier notices.

What cannot be read is never taken for nothing: a pool that a cloud did not respond for is not counted, and so unknown;
a store that does not respond counts as saved just now; a queue that does not respond is unanswered, not empty.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np

from sizewell.clouds.calls import CloudError, together
from sizewell.clouds.clients import Client
from sizewell.recording.sources.state import State
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.errors import ServiceError, SizewellError
from sizewell.sizing.records.stackname import cluster_of
from sizewell.teardown.backend import LEASE_TAG, Backend, Listed
from sizewell.teardown.clients import client_of, must_be_own
from sizewell.teardown.config import TeardownConfig
from sizewell.teardown.decide import decide
from sizewell.teardown.enginelocks import EngineLock, update_of
from sizewell.teardown.exports import Exports
from sizewell.teardown.journal import Journal
from sizewell.teardown.queues import queue_of, requests_of
from sizewell.teardown.reading import Question
from sizewell.teardown.records import (
    Contradiction,
    Counted,
    Episode,
    GuardLimits,
    Pool,
    Protection,
    Stack,
    Told,
    Update,
    Verdict,
    until_of,
)
from sizewell.teardown.saves import Saves, Times
from sizewell.teardown.standing import Standing, standing, usd_per_hour
from sizewell.teardown.telemetry import pools as telemetry
from sizewell.teardown.telemetry.observation import Observation
from sizewell.teardown.telemetry.pools import limits_of, must_be_measurable
from sizewell.teardown.units import StackParts, Unit, remaining, stack_parts, store_uris
from sizewell.teardown.usage import (
    DAYS,
    PoolUsage,
    added_up,
    contradictions_seen,
    empty_since,
    empty_spans,
    idle_episodes,
    uncounted_at,
    updates_seen,
)

LOG: Final = logging.getLogger(__name__)
SEEN_S_MAX: Final = 86_400.0  # samples are asked for no further back, to find out whether a notice still counts
_SAMPLES: Final = frozenset({"cloudwatch", "monitoring", "prometheus"})  # services that have no machines
_REFERENCE: Final = "pulumi:pulumi:StackReference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What earlier runs kept, by stack and pool."""

    usage: Mapping[str, Sequence[PoolUsage]]  # by stack alone
    empty: Mapping[tuple[str, str], Sequence[tuple[float, float]]]  # since when, and until when, it had no machine
    idle: Mapping[tuple[str, str], Episode]
    updating: Mapping[str, float]  # when a run saw last that an update was running, by stack alone
    contradictions: Mapping[tuple[str, str], tuple[Contradiction, ...]]
    uncounted: Mapping[tuple[str, str], tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a pool's verdict rests on."""

    source: str
    window_s: float = 0.0
    received: int = 0
    due: int = 0
    newest_age_s: float | None = None
    missing: str = ""  # why there is none
    gone: bool = False  # the cloud has none of what the state says
    fix: str = ""  # what a person does about what is missing, where the call that failed knows


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatus:
    """One pool: its facts, what they rest on, its verdict."""

    unit: Unit
    pool: Pool
    evidence: Evidence
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class StackStatus:
    """One stack: its facts, its verdict, its pools. `fault`: why nothing is known of it."""

    name: str
    parts: StackParts | None
    facts: Stack | None
    verdict: Verdict
    pools: tuple[PoolStatus, ...] = ()
    fault: str = ""
    updated: str = ""  # when its state was written last, as the backend says it, and what stood in it
    beside: tuple[str, ...] = ()  # stacks that stand beside it: its end, its images, its checkpoints
    stores: tuple[str, ...] = ()


@dataclass(slots=True)
class StatusReader:
    """Everything that is asked, and what was answered already."""

    backend: Backend
    config: TeardownConfig
    accounts: Callable[[str], Sequence[str]]  # `sizewell:accounts` of a stack's configuration
    catalog: Catalog
    journal: Journal | None = None
    cache: Path | None = None
    receivers: Callable[[str], int | None] = lambda _: None  # how many `sizewell:notify` names; None: not known
    _usage: Kept | None = None
    _locks: Mapping[str, Sequence[EngineLock]] | None = None
    _states: Mapping[str, str] | None = None  # when they were written
    _references: dict[str, frozenset[str]] = field(default_factory=dict)  # by stack that stands: those that it reads
    _reading: Lock = field(default_factory=Lock)
    _clouds: dict[tuple[str, str], Client] = field(default_factory=dict)
    _saves: Saves = field(default_factory=Saves)

    def all(
        self, at: datetime, only: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None
    ) -> list[StackStatus]:
        """Every stack of the backend, or those named, by name. ServiceError where the backend does not respond."""
        listed = {stack.name: stack for stack in self.backend.stacks()}
        wanted = [name for name in sorted(listed) if cluster_of(name) == name and (not only or name in only)]

        def read(name: str) -> StackStatus:
            progress(f"looking at {name}")
            return self.one(listed, name, at)

        self._engine_locks()  # once, before twenty-four threads ask for them
        with ThreadPoolExecutor(max_workers=24) as threads:
            return list(threads.map(read, wanted))

    def one(self, listed: Mapping[str, Listed], name: str, at: datetime) -> StackStatus:
        """One stack; a fault of its own makes it unknown, and no other."""
        beside = tuple(sorted(other for other in listed if other != name and cluster_of(other) == name))
        try:
            return self._status(listed, name, at, beside)
        except (SizewellError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            LOG.info("%s cannot be read: %s", name, reason)
            verdict = Verdict(subject=name, action="unknown", clause="unread", reason=reason)
            return StackStatus(
                name=name,
                parts=None,
                facts=None,
                verdict=verdict,
                fault=str(error),
                beside=beside,
                updated=listed[name].updated,
            )

    def usage(self, stack: str, at: datetime) -> list[PoolUsage]:
        """How busy the pools of a stack were in the hours that runs have kept. ServiceError where the journal does not
        respond.
        """
        return list(self._kept(at).usage.get(stack, ()))

    def _kept(self, at: datetime) -> Kept:
        with self._reading:
            if self._usage is None:
                kept = self.journal.kept("usage", since=at - timedelta(days=DAYS)) if self.journal else []
                by_stack: dict[str, list[PoolUsage]] = {}
                for usage in added_up(kept):
                    by_stack.setdefault(usage.stack, []).append(usage)
                self._usage = Kept(
                    usage=by_stack,
                    empty=empty_spans(kept),
                    idle=idle_episodes(kept),
                    updating=updates_seen(kept),
                    contradictions=contradictions_seen(kept),
                    uncounted=uncounted_at(kept),
                )
            return self._usage

    def state(self, stack: Listed) -> State:
        """The state of a stack."""
        state = Exports(self.backend, self.cache).state(self._written(stack))
        stands = any(each.custom and not each.type.startswith("pulumi:") for each in state.resources)
        named = (str(each.inputs.get("name") or each.id) for each in state.resources if each.type == _REFERENCE)
        self._references[stack.name] = frozenset(named) if stands else frozenset()
        return state

    def leases(self, stack: str) -> tuple[Protection, ...]:
        """What keeps a stack by a person's word, in its tags and in the journal, what ended too. ServiceError where one
        of the two cannot be read.
        """
        tagged = lease_of(self.backend.tags(stack), stack)
        return (*((tagged,) if tagged else ()), *(self.journal.leases(stack) if self.journal else ()))

    def standing(self, listed: Mapping[str, Listed], name: str, on: date) -> Standing:
        """What a stack and those beside it would go on costing."""
        listed = {each: self._written(stack) for each, stack in listed.items()}
        return standing(Exports(self.backend, self.cache), listed, name, self.catalog, on)

    def _written(self, stack: Listed) -> Listed:
        """A stack as it is kept in the cache of states: by when its state was written, too."""
        if self.cache is None or not stack.updated:
            return stack
        with self._reading:
            if self._states is None:
                self._states = self.backend.states_written()
        return replace(stack, updated=f"{stack.updated}.{self._states.get(stack.name, '')}")

    def _status(self, listed: Mapping[str, Listed], name: str, at: datetime, beside: tuple[str, ...]) -> StackStatus:
        self._kept(at)  # what of it cannot be read holds the stack, as a lease would
        state = self.state(listed[name])
        parts = stack_parts(state, name)
        stores = self._stores(listed, name)
        leases = self.leases(name)
        saved = self._saves.below(stores)
        observed = together({unit.urn: partial(self.observe, unit, name, at) for unit in parts.units}, at_once=4)
        pools = []
        for unit in parts.units:
            observation = self._without_what_is_gone(unit, observed[unit.urn], name, at)
            notices = self._told(name, unit.name, parts.environment)
            pool = self._pool(unit, observation, saved, at, stack=name, notices=notices)
            pools.append((unit, pool, _evidence(pool, observation, at)))
        facts = Stack(
            name=name,
            environment=parts.environment or "unnamed",
            created_s=parts.created_s if parts.created_s is not None else at.timestamp(),
            pools=tuple(pool for _, pool, _ in pools),
            expires_at=parts.expires_at,
            protected=self.config.protection(name),
            leases=leases,
            notices=self._told(name, "", parts.environment),
            receivers=self.receivers(name),
            update=self._update(listed[name], parts.project, at),
            updated_s=self._updated_s(name, state, at),
            pending=parts.pending,
            episodes=(episode,) if (episode := self._kept(at).idle.get((name, ""))) else (),
        )
        status = StackStatus(
            name=name,
            parts=parts,
            facts=facts,
            verdict=Verdict(subject=name, action="unknown", clause="undecided", reason=""),
            pools=tuple(
                PoolStatus(
                    unit=unit,
                    pool=pool,
                    evidence=evidence,
                    verdict=Verdict(subject=unit.name, action="unknown", clause="undecided", reason=""),
                )
                for unit, pool, evidence in pools
            ),
            updated=f"{listed[name].updated} {parts.digest}",
            beside=beside,
            stores=stores,
        )
        status = self.decided(status, facts, at)
        if status.verdict.action == "destroy" or status.verdict.next_step == "destroy":
            dependents = self._dependents(listed, name, parts.project)
            status = self.decided(status, replace(facts, dependents=dependents), at) if dependents else status
        return status

    def decided(self, status: StackStatus, facts: Stack, at: datetime) -> StackStatus:
        """A stack with the verdicts that follow from its facts."""
        parts = status.parts
        assert parts is not None  # noqa: S101  (facts are of a stack that was read)
        verdict, verdicts = decide(facts, self.config.limits(), at)
        for given in (verdict, *verdicts):
            LOG.debug("%s: %s: %s (%s): %s", status.name, given.subject, given.action, given.clause, given.reason)
        if parts.going == 0:  # destroyed, or never built: a second destroy would do nothing again and again
            verdict = Verdict(subject=status.name, action="keep", clause="nothing", reason=remaining(parts.protected))
        pools = tuple(
            replace(pool, verdict=_worded(pool.unit, given)) for pool, given in zip(status.pools, verdicts, strict=True)
        )
        return replace(status, facts=facts, verdict=verdict, pools=pools)

    def _told(self, stack: str, subject: str, environment: str | None) -> tuple[Told, ...]:
        """The notices that count: one that said that nothing would be changed announces no act."""
        if self.journal is None:
            return ()
        acts = [act for act in ("empty", "destroy") if self.config.acts(environment or "unnamed", act)]
        return self.journal.told(stack, subject, acts=acts)

    def _update(self, listed: Listed, project: str, at: datetime) -> Update | None:
        """The update of a stack that runs, by the backend's own word or by the engine's locks in it."""
        if listed.updating:
            return Update(by="as the backend says", since_s=at.timestamp())
        held = [lock for lock in self._engine_locks().get(listed.name, ()) if not project or lock.project == project]
        if held:
            self._read_on()
        return update_of(held, self.journal.records if self.journal else (), at)

    def _read_on(self) -> None:
        """What a run beside this one has written meanwhile: that it begins, before its engine locks a stack and saves
        the state, which would else be taken for somebody's update.
        """
        with self._reading:
            if self.journal is not None:
                self.journal.read()

    def _engine_locks(self) -> Mapping[str, Sequence[EngineLock]]:
        with self._reading:
            if self._locks is None:
                self._locks = {}
                by_stack: dict[str, list[EngineLock]] = {}
                for lock in self.backend.locks():
                    by_stack.setdefault(lock.stack, []).append(lock)
                self._locks = by_stack
            return self._locks

    def _updated_s(self, name: str, state: State, at: datetime) -> float | None:
        """When somebody updated a stack last, or was seen to; what teardown itself wrote is no update."""
        times = [] if state.saved is None else [state.saved.timestamp()]
        if self.journal is not None:
            if any(saved_s >= at.timestamp() for saved_s in times):
                self._read_on()
            times = [saved_s for saved_s in times if not self.journal.own_update(name, saved_s)]
        seen_s = self._kept(at).updating.get(name)
        return max(times if seen_s is None else [*times, seen_s], default=None)

    def _dependents(self, listed: Mapping[str, Listed], name: str, project: str) -> tuple[str, ...]:
        """Stacks of the project that stand and read the outputs of a stack; those beside it go with it."""
        others = [other for other in listed if cluster_of(other) != name]
        missing = [other for other in others if other not in self._references]
        with ThreadPoolExecutor(max_workers=8) as threads:
            list(threads.map(lambda other: self.state(listed[other]), missing))
        wanted = {name, f"{project}/{name}"}
        return tuple(
            sorted(
                other
                for other in others
                for reference in self._references.get(other, ())
                if reference == name or "/".join(reference.split("/")[-2:]) in wanted
            )
        )

    def _stores(self, listed: Mapping[str, Listed], name: str) -> tuple[str, ...]:
        keeper = f"checkpoints-{name}"
        return store_uris(self.state(listed[keeper])) if keeper in listed else ()

    def observe(self, unit: Unit, stack: str, at: datetime) -> Observation:
        """The machines and samples of a pool. CloudError where it is not known."""
        guard = limits_of(unit)
        seconds = guard.window_s + guard.grace_s
        if not unit.serving and not unit.managed:
            must_be_measurable(unit)
            seconds = max(seconds, self._unseen_s(unit, stack, at))
        client = self.cloud(unit.cloud, stack)
        must_be_own(unit, self.accounts(stack))
        stated = self.config.prometheus.get(stack)
        return telemetry.observe(client, Question(unit=unit, stack=stack, at=at, seconds=seconds, prometheus=stated))

    def _without_what_is_gone(
        self, unit: Unit, observation: Observation | CloudError, stack: str, at: datetime
    ) -> Observation | CloudError:
        """A pool that a destroy took before it failed or was killed has no machines: the destroy continues from there.

        Only what its cloud does not have counts, or the state; a pool that is missing without a destroy is unknown.
        """
        began_s = self.journal.destroying_s(stack) if self.journal else None
        measured = unit.kind == "pool" and unit.sized_by and not unit.serving and not unit.managed
        if began_s is None or not measured or not isinstance(observation, CloudError):
            return observation
        if observation.reason != "missing" or observation.service in _SAMPLES:
            return observation
        idle = self._kept(at).idle.get((stack, unit.name))  # since a look that found it idle nobody has counted it
        since_s = min(began_s, idle.until_s) if idle else began_s
        since = f"{datetime.fromtimestamp(began_s, at.tzinfo):%Y-%m-%d %H:%M} UTC"
        empty = Counted(start_s=since_s, end_s=at.timestamp(), machines=frozenset())
        return Observation(source=f"the destroy that began on {since}, which took it", counted=(empty,))

    def _unseen_s(self, unit: Unit, stack: str, at: datetime) -> float:
        if self.journal is None:
            return 0.0
        idle = self._kept(at).idle.get((stack, unit.name))
        return unseen_s(idle, self.journal.told(stack, unit.name), limits_of(unit), at.timestamp())

    def cloud(self, name: str, stack: str) -> Client:
        """A client of a cloud for a stack, after its login was compared with the stack's accounts."""
        accounts = tuple(self.accounts(stack))
        if not accounts:
            fix = f"pulumi config set --path 'sizewell:accounts[0]' ACCOUNT --stack {stack}"
            raise CloudError(
                "teardown", "refused", f"{stack}: sizewell:accounts is not set, so the login cannot be checked", fix=fix
            )
        key = (name, ",".join(accounts))
        if key not in self._clouds:
            self._clouds[key] = client_of(name, accounts, self.config)
        return self._clouds[key]

    def _pool(
        self,
        unit: Unit,
        observation: Observation | CloudError,
        saved: Times | ServiceError,
        at: datetime,
        *,
        stack: str,
        notices: tuple[Told, ...],
    ) -> Pool:
        known = observation if isinstance(observation, Observation) else Observation(source="")
        # A store that does not respond counts as written just now, so that `saved` in decide.py keeps the pool. An
        # empty tuple would say that nothing was ever saved, and let it be emptied.
        manifests, parts = ((at.timestamp(),), ()) if isinstance(saved, ServiceError) else saved
        manifests, parts = (tuple(min(each, at.timestamp()) for each in times) for times in (manifests, parts))
        stated, guard = self.config.prometheus.get(stack), limits_of(unit)
        queue, jobs = queue_of(unit, stated, at)
        asked = requests_of(unit, stated, at, guard.window_s + guard.grace_s + known.late_s)
        counted = self._with_earlier(known.counted, stack, unit, at)
        machines = counted[-1].machines if counted else frozenset()
        return Pool(
            name=unit.name,
            accelerators_per_machine=1 if known.per == "machine" else max(unit.accelerators_per_machine, 1),
            counted=counted,
            nodes_min=unit.nodes_min,
            capacity=unit.capacity,
            guard=guard,
            period_s=known.period_s,
            late_s=known.late_s,
            utilization_percent=known.utilization_percent,
            power_w=known.power_w,
            processes=known.processes,
            memory_percent=known.memory_percent,
            sm_percent=known.sm_percent,
            idle_power_w=self.config.idle_power_w.get(unit.instance_type),
            requests_per_s=known.requests_per_s if asked is None else asked,
            jobs=jobs,
            queue=queue,
            saves_s=manifests,
            parts_s=parts,
            notices=notices,
            wakes_s=self.journal.wakes_s(stack, unit.name) if self.journal else (),
            emptied_s=self.journal.emptied_s(stack, unit.name) if self.journal else (),
            episodes=(episode,) if (episode := self._kept(at).idle.get((stack, unit.name))) else (),
            contradictions=self._kept(at).contradictions.get((stack, unit.name), ()),
            uncounted_s=self._kept(at).uncounted.get((stack, unit.name), ()),
            usd_per_hour=usd_per_hour(self.catalog, unit, len(machines), at.date()),
        )

    def _with_earlier(self, counted: tuple[Counted, ...], stack: str, unit: Unit, at: datetime) -> tuple[Counted, ...]:
        """What earlier runs counted before it: some clouds say for two days alone that a pool had no machine."""
        if not counted or counted[0].machines:
            return counted
        before = self._kept(at).empty.get((stack, unit.name), ())
        return (replace(counted[0], start_s=empty_since(counted[0].start_s, before)), *counted[1:])


def _worded(unit: Unit, verdict: Verdict) -> Verdict:
    """A pool without a guard has nobody's word for when it counts as idle."""
    if unit.guard is None and verdict.clause == "spared":
        return replace(
            verdict, reason=verdict.reason.replace("its guard only notifies", "it has no guard: report only")
        )
    if unit.guard is not None and unit.guard.action != "notify" and verdict.clause == "spared":
        return replace(
            verdict, reason=verdict.reason.replace("its guard only notifies", "its own guard alone stops it")
        )
    return verdict


def unseen_s(idle: Episode | None, told: Iterable[Told], guard: GuardLimits, at_s: float) -> float:
    """How far back samples say whether a notice still counts, in seconds: to where the last run saw the pool idle, or
    else to the youngest notice whose grace is over; 0 where neither is, or it is too long ago.
    """
    ages = [at_s - idle.until_s] if idle else []
    ages += [at_s - notice.at_s for notice in told if notice.heard and at_s - notice.at_s >= guard.grace_s]
    return min((age_s + 300 for age_s in ages if 0 <= age_s <= SEEN_S_MAX), default=0.0)


_GONE: Final = frozenset({"404", "NotFound", "ResourceNotFound", "ResourceNotFoundException"})


def _evidence(pool: Pool, observation: Observation | CloudError, at: datetime) -> Evidence:
    if isinstance(observation, CloudError):
        gone = observation.reason == "missing" and observation.code in _GONE
        fix = observation.fix if observation.reason in ("login", "denied", "refused") else ""
        return Evidence(source=observation.service, missing=str(observation).partition("\n")[0], gone=gone, fix=fix)
    seconds = pool.guard.window_s + pool.guard.grace_s
    machines = pool.machines_at(at.timestamp()) or frozenset()
    due = int(seconds // pool.period_s) * len(machines) * pool.accelerators_per_machine
    end_s = at.timestamp() - pool.late_s
    received = sum(len(series.between(end_s - seconds, end_s + 1)) for series in pool.utilization_percent.values())
    newest = max((series.newest_s for series in pool.utilization_percent.values()), default=-np.inf)
    age = at.timestamp() - newest
    return Evidence(
        source=observation.source,
        window_s=seconds,
        received=min(received, due),
        due=due,
        newest_age_s=float(age) if np.isfinite(age) else None,
    )


def lease_of(tags: Mapping[str, str], stack: str) -> Protection | None:
    """The lease in a stack's tags: `2026-12-01 why`. ServiceError where the tag is none: it is not passed over."""
    text = tags.get(LEASE_TAG)
    if text is None:
        return None
    word, _, reason = text.partition(" ")
    try:
        until, unclear = until_of(word)
        return Protection(until=until, reason=reason or "no reason given", unclear=unclear)
    except ValueError:
        raise ServiceError(
            f"{stack}: its tag {LEASE_TAG} is {text!r}, not a date or time and a reason\n"
            f"  fix: sizewell keep {stack} 24h --reason TEXT"
        ) from None


def blind(stacks: Sequence[StackStatus]) -> tuple[tuple[str, ...], int]:
    """The pools with machines, or of unknown size, of which telemetry is missing, and how many there are in all; a
    stack that cannot be read counts as one.
    """
    total, names = 0, []
    for stack in stacks:
        if stack.fault:
            total += 1
            names.append(stack.name)
        if stack.verdict.clause == "nothing":  # destroyed: what is left of its components has nothing to measure
            continue
        for pool in stack.pools:
            if pool.unit.kind != "pool" or (pool.verdict.clause == "nothing_to_take" and pool.verdict.action == "keep"):
                continue
            total += 1
            if pool.verdict.clause == "unseen" or pool.evidence.missing:
                names.append(f"{stack.name}/{pool.pool.name}")
    return tuple(names), total
