"""Facts for decisions: states, what the clouds count and measure, queues, saves, leases and earlier notices.

What cannot be read is never taken for nothing: a pool that a cloud did not respond for is not counted, and so unknown;
a store that does not respond counts as saved just now; a queue that does not respond is unanswered, not empty.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
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
from sizewell.teardown.exports import Exports
from sizewell.teardown.journal import Journal
from sizewell.teardown.queues import queue_of
from sizewell.teardown.reading import Question
from sizewell.teardown.records import Counted, Pool, Protection, Stack, Verdict
from sizewell.teardown.saves import Saves, Times
from sizewell.teardown.standing import Standing, standing, usd_per_hour
from sizewell.teardown.telemetry import pools as telemetry
from sizewell.teardown.telemetry.observation import Observation
from sizewell.teardown.telemetry.pools import limits_of, must_be_measurable
from sizewell.teardown.units import StackParts, Unit, stack_parts, store_uris
from sizewell.teardown.usage import DAYS, PoolUsage, added_up, empty_since, empty_spans

# What earlier runs kept: how busy pools were, by stack; since when they had no machine, by stack and pool.
Kept = tuple[dict[str, list[PoolUsage]], dict[tuple[str, str], list[tuple[float, float]]]]
LOG: Final = logging.getLogger(__name__)
NOTICE_S_MAX: Final = 86_400.0  # an older notice is given again: samples are asked for as far back as it


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a pool's verdict rests on."""

    source: str
    window_s: float = 0.0
    received: int = 0
    due: int = 0
    newest_age_s: float | None = None
    missing: str = ""  # why there is none


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
    updating: bool = False
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
    _usage: Kept | None = None
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
            return StackStatus(name=name, parts=None, facts=None, verdict=verdict, fault=str(error), beside=beside)

    def usage(self, stack: str, at: datetime) -> list[PoolUsage]:
        """How busy the pools of a stack were in the hours that runs have kept. ServiceError where the journal does not
        respond.
        """
        return self._kept(at)[0].get(stack, [])

    def _kept(self, at: datetime) -> Kept:
        with self._reading:
            if self._usage is None:
                kept = self.journal.kept("usage", since=at - timedelta(days=DAYS)) if self.journal else []
                by_stack: dict[str, list[PoolUsage]] = {}
                for usage in added_up(kept):
                    by_stack.setdefault(usage.stack, []).append(usage)
                self._usage = (by_stack, empty_spans(kept))
            return self._usage

    def state(self, stack: Listed) -> State:
        """The state of a stack."""
        return Exports(self.backend, self.cache).state(stack)

    def standing(self, listed: Mapping[str, Listed], name: str, on: date) -> Standing:
        """What a stack and those beside it would go on costing."""
        return standing(Exports(self.backend, self.cache), listed, name, self.catalog, on)

    def _status(self, listed: Mapping[str, Listed], name: str, at: datetime, beside: tuple[str, ...]) -> StackStatus:
        parts = stack_parts(self.state(listed[name]), name)
        stores = self._stores(listed, name)
        lease = lease_of(self.backend.tags(name), name)
        notices = self._notices(name, parts, at)
        saved = self._saves.below(stores)
        limits = self.config.limits()
        observed = together({unit.urn: partial(self.observe, unit, name, at) for unit in parts.units}, at_once=4)
        pools = []
        for unit in parts.units:
            observation = observed[unit.urn]
            pool = self._pool(unit, observation, saved, at, stack=name)
            pools.append((unit, pool, _evidence(pool, observation, at)))
        facts = Stack(
            name=name,
            environment=parts.environment or "unnamed",
            created_s=parts.created_s if parts.created_s is not None else at.timestamp(),
            pools=tuple(pool for _, pool, _ in pools),
            expires_at=parts.expires_at,
            protected=self.config.protection(name),
            leases=(lease,) if lease else (),
            notices_s=notices,
        )
        verdict, verdicts = decide(facts, limits, at)
        for given in (verdict, *verdicts):
            LOG.debug("%s: %s: %s (%s): %s", name, given.subject, given.action, given.clause, given.reason)
        if parts.going == 0:  # destroyed, or never built: a second destroy would do nothing again and again
            left = f"only {len(parts.protected)} protected resources remain" if parts.protected else "nothing stands"
            verdict = replace(verdict, action="keep", clause="nothing", reason=left, next_step="", next_at=None)
        return StackStatus(
            name=name,
            parts=parts,
            facts=facts,
            verdict=verdict,
            pools=tuple(
                PoolStatus(unit=unit, pool=pool, evidence=evidence, verdict=_worded(unit, given))
                for (unit, pool, evidence), given in zip(pools, verdicts, strict=True)
            ),
            updating=listed[name].updating,
            beside=beside,
            stores=stores,
        )

    def _notices(self, name: str, parts: StackParts, at: datetime) -> tuple[float, ...]:
        """When the owner was notified of the end that is next: the date, or else the emptiness of the last days."""
        if self.journal is None:
            return ()
        end = parts.expires_at
        soon = max(self.config.expiry_notice_days, default=0)
        if end is not None and (end - at.date()).days <= soon:
            return self.journal.notices(name, "", f"end {end.isoformat()}")
        days = self.config.limits().empty_days.get(parts.environment, 0.0)
        given = self.journal.notices(name, "", "empty")
        return tuple(given_s for given_s in given if at.timestamp() - given_s <= days * 86_400)

    def _stores(self, listed: Mapping[str, Listed], name: str) -> tuple[str, ...]:
        keeper = f"checkpoints-{name}"
        return store_uris(self.state(listed[keeper])) if keeper in listed else ()

    def observe(self, unit: Unit, stack: str, at: datetime) -> Observation:
        """The machines and samples of a pool. CloudError where it is not known."""
        guard = limits_of(unit)
        seconds = guard.window_s + guard.grace_s
        if not unit.serving and not unit.managed:
            must_be_measurable(unit)
            seconds = max(seconds, self._notice_age_s(unit, stack, at))
        client = self.cloud(unit.cloud, stack)
        must_be_own(unit, self.accounts(stack))
        stated = self.config.prometheus.get(stack)
        return telemetry.observe(client, Question(unit=unit, stack=stack, at=at, seconds=seconds, prometheus=stated))

    def _notice_age_s(self, unit: Unit, stack: str, at: datetime) -> float:
        """How long ago the youngest notice was given whose grace is over; 0 where there is none, or it is too old.

        Between such a notice and now every sample counts: use after it takes it back.
        """
        grace_s = limits_of(unit).grace_s
        given = self.journal.notices(stack, unit.name, "idle") if self.journal else ()
        ages = (at.timestamp() - given_s for given_s in given)
        youngest = min((age_s for age_s in ages if age_s >= grace_s), default=0.0)
        return youngest if youngest <= NOTICE_S_MAX else 0.0

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
    ) -> Pool:
        known = observation if isinstance(observation, Observation) else Observation(source="")
        # A store that does not respond counts as written just now, so that `saved` in decide.py keeps the pool. An
        # empty tuple would say that nothing was ever saved, and let it be emptied.
        manifests, parts = ((at.timestamp(),), ()) if isinstance(saved, ServiceError) else saved
        queue, jobs = queue_of(unit, self.config.prometheus.get(stack), at)
        counted = self._with_earlier(known.counted, stack, unit, at)
        machines = counted[-1].machines if counted else frozenset()
        return Pool(
            name=unit.name,
            accelerators_per_machine=1 if known.per == "machine" else max(unit.accelerators_per_machine, 1),
            counted=counted,
            nodes_min=unit.nodes_min,
            capacity=unit.capacity,
            guard=limits_of(unit),
            period_s=known.period_s,
            late_s=known.late_s,
            utilization_percent=known.utilization_percent,
            power_w=known.power_w,
            idle_power_w=self.config.idle_power_w.get(unit.instance_type),
            requests_per_s=known.requests_per_s,
            jobs=jobs,
            queue=queue,
            saves_s=manifests,
            parts_s=parts,
            notices_s=self.journal.notices(stack, unit.name, "idle") if self.journal else (),
            usd_per_hour=usd_per_hour(self.catalog, unit, len(machines), at.date()),
        )

    def _with_earlier(self, counted: tuple[Counted, ...], stack: str, unit: Unit, at: datetime) -> tuple[Counted, ...]:
        """What earlier runs counted before it: some clouds say for two days alone that a pool had no machine."""
        if not counted or counted[0].machines:
            return counted
        before = self._kept(at)[1].get((stack, unit.name), ())
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


def _evidence(pool: Pool, observation: Observation | CloudError, at: datetime) -> Evidence:
    if isinstance(observation, CloudError):
        return Evidence(source=observation.service, missing=str(observation).partition("\n")[0])
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
    day, _, reason = text.partition(" ")
    try:
        return Protection(until=date.fromisoformat(day), reason=reason or "no reason given")
    except ValueError:
        raise ServiceError(
            f"{stack}: its tag {LEASE_TAG} is {text!r}, not a date and a reason\n"
            f"  fix: sizewell keep {stack} --until DATE --reason TEXT"
        ) from None


def missing_share(stacks: Sequence[StackStatus]) -> float:
    """Share of the pools with machines, or of unknown size, of which telemetry is missing; stacks that cannot be read
    count as one.
    """
    total = missing = 0
    for stack in stacks:
        if stack.fault:
            total, missing = total + 1, missing + 1
        if stack.verdict.clause == "nothing":  # destroyed: what is left of its components has nothing to measure
            continue
        for pool in stack.pools:
            if pool.unit.kind != "pool" or (pool.verdict.clause == "nothing_to_take" and pool.verdict.action == "keep"):
                continue
            total += 1
            missing += pool.verdict.clause == "unseen" or bool(pool.evidence.missing)
    return missing / total if total else 0.0
