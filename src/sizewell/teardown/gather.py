"""Facts for decisions: states, what the clouds count and measure, queues, saves, leases and earlier notices.

What cannot be read is never taken for nothing: a pool that a cloud did not respond for is not counted, and so unknown;
a store that does not respond counts as saved just now; a queue that does not respond is said to be so.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

import numpy as np

from sizewell import source
from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Deadline, together
from sizewell.clouds.gcp import Google
from sizewell.clouds.rest import Reader, base_url
from sizewell.recording.sources.files import read_state
from sizewell.recording.sources.state import State, read_full_state
from sizewell.resources.pricing import price
from sizewell.resources.recorded import Plan
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.errors import ServiceError, SizewellError
from sizewell.sizing.money import Priced, Unpriced
from sizewell.sizing.records.stackname import cluster_of
from sizewell.teardown import saves
from sizewell.teardown.backend import LEASE_TAG, Backend, Listed
from sizewell.teardown.config import TeardownConfig
from sizewell.teardown.decide import decide
from sizewell.teardown.journal import Journal
from sizewell.teardown.records import Counted, GuardLimits, Job, Pool, Protection, Queue, Stack, Verdict
from sizewell.teardown.telemetry import azure as azure_telemetry
from sizewell.teardown.telemetry import azureml, cloudwatch, google, prometheus, sagemaker, vertex
from sizewell.teardown.telemetry.cloudwatch import POWER
from sizewell.teardown.telemetry.observation import Observation, hangs
from sizewell.teardown.units import StackParts, Unit, clusters_of, stack_parts, store_uris
from sizewell.teardown.usage import DAYS, PoolUsage, added_up, empty_since, empty_spans

# What earlier runs kept: how busy pools were, by stack; since when they had no machine, by stack and pool.
Kept = tuple[dict[str, list[PoolUsage]], dict[tuple[str, str], list[tuple[float, float]]]]
TOLD_S_MAX: Final = 86_400.0  # an older notice is given again: samples are asked for as far back as it
DEADLINE_S: Final = 300.0
# Why nothing is known of what has no size to measure, and what stops it instead, by kind of unit.
UNMEASURED: Final = {
    "notebook": "a notebook: its accelerators are not measured, its own idle limit stops it; to remove it, destroy it",
    "endpoint": "an endpoint whose requests are not counted here (serverless, Cloud Run): its own autoscaling scales "
    "it down; to remove it, destroy it",
    "cluster": "a HyperPod cluster: it cannot scale to zero, its guard deletes it; to remove it, destroy it",
    "pool": "a pool that registers no size: built by an older release (run `pulumi up`), or its service runs machines "
    "only for jobs and stops them itself",
}
_AZURE_PROMETHEUS: Final = "https://prometheus.monitor.azure.com/.default"


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
class Looked:
    """One pool: its facts, what they rest on, its verdict."""

    unit: Unit
    pool: Pool
    evidence: Evidence
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedStack:
    """One stack: its facts, its verdict, its pools. `fault`: why nothing is known of it."""

    name: str
    parts: StackParts | None
    facts: Stack | None
    verdict: Verdict
    pools: tuple[Looked, ...] = ()
    fault: str = ""
    updating: bool = False
    beside: tuple[str, ...] = ()  # stacks that stand beside it: its end, its images, its checkpoints
    stores: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """US dollars per month that go on, whatever is emptied or destroyed."""

    emptied: Decimal  # with every pool at its smallest size
    kept: Decimal  # after a destroy: what is protected
    beside: Mapping[str, Decimal | None]  # the stacks beside it; None: not all of it has a price
    unpriced: tuple[str, ...]


@dataclass(slots=True)
class Gatherer:
    """Everything that is asked, and what was answered already."""

    backend: Backend
    config: TeardownConfig
    accounts: Callable[[str], Sequence[str]]  # `sizewell:accounts` of a stack's configuration
    catalog: Catalog
    journal: Journal | None = None
    cache: Path | None = None
    _usage: Kept | None = None
    _reading: Lock = field(default_factory=Lock)
    _clouds: dict[tuple[str, str], Any] = field(default_factory=dict)
    _written: dict[str, tuple[tuple[float, ...], tuple[float, ...]] | ServiceError] = field(default_factory=dict)

    def all(
        self, at: datetime, only: Sequence[str] = (), told: Callable[[str], None] = lambda _: None
    ) -> list[LookedStack]:
        """Every stack of the backend, or those named, by name. ServiceError where the backend does not respond."""
        listed = {stack.name: stack for stack in self.backend.stacks()}
        wanted = [name for name in sorted(listed) if cluster_of(name) == name and (not only or name in only)]

        def look(name: str) -> LookedStack:
            told(f"looking at {name}")
            return self.one(listed, name, at)

        with ThreadPoolExecutor(max_workers=24) as threads:
            return list(threads.map(look, wanted))

    def one(self, listed: Mapping[str, Listed], name: str, at: datetime) -> LookedStack:
        """One stack; a fault of its own is said of it, and of no other."""
        beside = tuple(sorted(other for other in listed if other != name and cluster_of(other) == name))
        try:
            return self._looked(listed, name, at, beside)
        except (SizewellError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            verdict = Verdict(subject=name, action="unknown", clause="unread", reason=reason)
            return LookedStack(name=name, parts=None, facts=None, verdict=verdict, fault=str(error), beside=beside)

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
        with tempfile.TemporaryDirectory(prefix="sizewell-teardown-") as folder:
            return read_full_state(self._exported(stack, Path(folder)))

    def standing(self, listed: Mapping[str, Listed], name: str, on: date) -> Standing:
        """What a stack and those beside it would go on costing. Lines without a price are named, never nought."""
        own = price(self._plan(listed[name]), self.catalog, on=on)
        protected = {resource.urn for resource in self.state(listed[name]).resources if resource.protect}
        emptied, kept = Decimal(0), Decimal(0)
        unpriced: list[str] = []
        for item in own.items:
            cost = item.cost()
            if isinstance(cost, Unpriced):
                unpriced.append(item.what)
            elif item.cadence == "monthly":
                emptied += cost.floor
                kept += cost.floor if item.resource in protected else Decimal(0)
        beside: dict[str, Decimal | None] = {}
        for other in sorted(listed):
            if other != name and cluster_of(other) == name:
                total = price(self._plan(listed[other]), self.catalog, on=on).cost().run_rate
                beside[other] = None if total.unpriced else total.usd_per_month.expected
        return Standing(emptied=emptied, kept=kept, beside=beside, unpriced=tuple(unpriced))

    def _plan(self, stack: Listed) -> Plan:
        with tempfile.TemporaryDirectory(prefix="sizewell-teardown-") as folder:
            path = self._exported(stack, Path(folder))
            return read_state(path)

    def _exported(self, stack: Listed, folder: Path) -> Path:
        """The raw state of a stack in a file: exported again only where it was written since."""
        key = f"{stack.name}.{stack.updated.replace(':', '').replace('/', '')}.json"
        kept = self.cache / key if self.cache and stack.updated else None
        if kept is not None and kept.exists():
            return kept
        path = folder / "state.json"
        self.backend.export(stack.name, path)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            for older in kept.parent.glob(f"{stack.name}.*.json"):
                older.unlink(missing_ok=True)
            _put(path.read_bytes(), kept)
        return path

    def _looked(self, listed: Mapping[str, Listed], name: str, at: datetime, beside: tuple[str, ...]) -> LookedStack:
        parts = stack_parts(self.state(listed[name]), name)
        stores = self._stores(listed, name)
        lease = lease_of(self.backend.tags(name), name)
        notices = self._notices(name, parts, at)
        saved = self._saves(stores)
        limits = self.config.limits()
        observed = together({unit.urn: self._question(unit, parts, at) for unit in parts.units}, at_once=4)
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
        if parts.going == 0:  # destroyed, or never built: a second destroy would do nothing again and again
            left = f"only {len(parts.protected)} protected resources remain" if parts.protected else "nothing stands"
            verdict = replace(verdict, action="keep", clause="nothing", reason=left, next_step="", next_at=None)
        return LookedStack(
            name=name,
            parts=parts,
            facts=facts,
            verdict=verdict,
            pools=tuple(
                Looked(unit=unit, pool=pool, evidence=evidence, verdict=_told(unit, given))
                for (unit, pool, evidence), given in zip(pools, verdicts, strict=True)
            ),
            updating=listed[name].updating,
            beside=beside,
            stores=stores,
        )

    def _notices(self, name: str, parts: StackParts, at: datetime) -> tuple[float, ...]:
        """When the owner was told of the end that is next: the date, or else the emptiness of the last days."""
        if self.journal is None:
            return ()
        end = parts.expires_at
        soon = max(self.config.expiry_notice_days, default=0)
        if end is not None and (end - at.date()).days <= soon:
            return self.journal.notices(name, "", f"end {end.isoformat()}")
        days = self.config.limits().empty_days.get(parts.environment, 0.0)
        told = self.journal.notices(name, "", "empty")
        return tuple(told_s for told_s in told if at.timestamp() - told_s <= days * 86_400)

    def _stores(self, listed: Mapping[str, Listed], name: str) -> tuple[str, ...]:
        keeper = f"checkpoints-{name}"
        return store_uris(self.state(listed[keeper])) if keeper in listed else ()

    def _saves(self, stores: Sequence[str]) -> tuple[tuple[float, ...], tuple[float, ...]] | ServiceError:
        manifests: list[float] = []
        parts: list[float] = []
        for uri in stores:
            if uri not in self._written:
                try:
                    self._written[uri] = saves.written(uri)
                except ServiceError as error:
                    self._written[uri] = error
            written = self._written[uri]
            if isinstance(written, ServiceError):
                return written
            manifests += written[0]
            parts += written[1]
        return tuple(manifests), tuple(parts)

    def _question(self, unit: Unit, parts: StackParts, at: datetime) -> Callable[[], Observation]:
        return lambda: self.observe(unit, parts.name, at)

    def observe(self, unit: Unit, stack: str, at: datetime) -> Observation:
        """The machines and samples of a pool. CloudError where it is not known."""
        if unit.serving:
            return self._serving(unit, stack, at)
        if unit.managed:
            return self._managed(unit, stack, at)
        if unit.kind != "pool" or not unit.sized_by:
            raise CloudError("teardown", "missing", UNMEASURED.get(unit.kind, UNMEASURED["pool"]))
        if not unit.resources:
            raise CloudError(
                "teardown", "missing", "the state has no resource with its size: the update was interrupted"
            )
        guard = unit.guard or GuardLimits()
        told = self.journal.notices(stack, unit.name, "idle") if self.journal else ()
        since_s = min(
            (at.timestamp() - told_s for told_s in told if at.timestamp() - told_s >= guard.grace_s), default=0.0
        )
        seconds = max(guard.window_s + guard.grace_s, since_s if since_s <= TOLD_S_MAX else 0.0)
        cloud = self.cloud(unit.cloud, stack)
        must_be_own(unit, self.accounts(stack))
        if isinstance(cloud, Aws):
            return cloudwatch.observe(cloud, unit, at, seconds)
        if isinstance(cloud, Google):
            return google.observe(cloud, unit, at, seconds)
        if unit.sized_by == "scale-set":
            return azure_telemetry.observe(cloud, unit, at, seconds)
        return self._in_prometheus(cloud, unit, stack, at, seconds)

    def _serving(self, unit: Unit, stack: str, at: datetime) -> Observation:
        """An endpoint: its machines and its requests, told of and never stopped here."""
        guard = _limits_of(unit)
        cloud = self.cloud(unit.cloud, stack)
        seconds = guard.window_s + guard.grace_s
        if isinstance(cloud, Aws):
            return sagemaker.observe(cloud, unit, at, seconds)
        if isinstance(cloud, Google):
            must_be_own(unit, self.accounts(stack))
            return vertex.observe(cloud, unit, at, seconds)
        must_be_own(unit, self.accounts(stack))
        return azureml.endpoint(cloud, unit, at, seconds)

    def _managed(self, unit: Unit, stack: str, at: datetime) -> Observation:
        """What its service counts: a notebook, a HyperPod cluster, a cluster of Azure ML; never stopped here."""
        guard = _limits_of(unit)
        cloud = self.cloud(unit.cloud, stack)
        must_be_own(unit, self.accounts(stack))
        observation: Observation | None = None
        if isinstance(cloud, Aws) and unit.kind == "cluster":
            observation = sagemaker.hyperpod(cloud, unit, at, guard.window_s + guard.grace_s)
        elif isinstance(cloud, Aws):
            observation = sagemaker.notebook(cloud, unit, at)
        elif isinstance(cloud, Azure):
            observation = azureml.compute(cloud, unit, at)
        if observation is None:
            raise CloudError("teardown", "missing", UNMEASURED[unit.kind])
        return observation

    def _in_prometheus(self, cloud: Azure, unit: Unit, stack: str, at: datetime, seconds: float) -> Observation:
        """An AKS pool: counted by Azure, measured by the exporter that the cluster's Prometheus scrapes."""
        started = azure_telemetry.machines(cloud, unit)
        api, scrape_s = self._prometheus(unit, stack)
        samples = {}
        metric = unit.measured.get("metric", "")
        names = {"label": unit.measured.get("machine", ""), "machines": set(started)}
        if unit.measured and started:
            samples = prometheus.samples(api, unit.measured["metric"], at=at, seconds=seconds + 300, **names)  # type: ignore[arg-type]
        return Observation(
            source=f"Prometheus {unit.measured.get('metric', '')}",
            counted=azure_telemetry.counted(cloud, unit, started, at),
            utilization_percent=samples,
            power_w=prometheus.samples(api, POWER[metric], at=at, seconds=seconds + 300, **names)  # type: ignore[arg-type]
            if metric in POWER and hangs(samples)
            else {},
            period_s=scrape_s,
            late_s=azure_telemetry.LATE_S,
        )

    def _prometheus(self, unit: Unit, stack: str) -> tuple[Reader, float]:
        deadline = Deadline(DEADLINE_S)
        stated = self.config.prometheus.get(stack)
        if stated is not None:
            return prometheus.reader(stated.url, deadline, token_env=stated.token_env), stated.scrape_s
        metrics = unit.arguments.get("metrics")
        url = metrics.get("queryUrl") if isinstance(metrics, Mapping) else None
        if not isinstance(url, str) or not url.startswith("http"):
            fix = f"name its API under prometheus.{stack} in stacks/config/teardown.yaml"
            raise CloudError("prometheus", "missing", "the pool has no Prometheus registered", fix=fix)
        return prometheus.reader(
            base_url("azure", "prometheus", url), deadline, headers=_azure_token(_AZURE_PROMETHEUS)
        ), 30.0

    def cloud(self, name: str, stack: str) -> Aws | Google | Azure:
        """A client of a cloud for a stack, after its login was compared with the stack's accounts."""
        accounts = tuple(self.accounts(stack))
        if not accounts:
            fix = f"pulumi config set --path 'sizewell:accounts[0]' ACCOUNT --stack {stack}"
            raise CloudError(
                "teardown", "refused", f"{stack}: sizewell:accounts is not set, so the login cannot be checked", fix=fix
            )
        key = (name, ",".join(accounts))
        if key not in self._clouds:
            self._clouds[key] = _client(name, accounts, self.config)
        client: Aws | Google | Azure = self._clouds[key]
        return client

    def _pool(
        self,
        unit: Unit,
        observation: Observation | CloudError,
        saved: tuple[tuple[float, ...], tuple[float, ...]] | ServiceError,
        at: datetime,
        *,
        stack: str,
    ) -> Pool:
        known = observation if isinstance(observation, Observation) else Observation(source="")
        manifests, parts = ((at.timestamp(),), ()) if isinstance(saved, ServiceError) else saved
        queue, jobs = self._queue(unit, stack, at)
        counted = self._with_earlier(known.counted, stack, unit, at)
        machines = counted[-1].machines if counted else frozenset()
        rate = self.catalog.price(unit.cloud, unit.instance_type, unit.region, unit.market, at.date())
        hourly = float(rate.amount) * len(machines) if isinstance(rate, Priced) else None
        guard = _limits_of(unit)
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
            idle_power_w=self.config.idle_power_w.get(unit.instance_type),
            requests_per_s=known.requests_per_s,
            jobs=jobs,
            queue=queue,
            saves_s=manifests,
            parts_s=parts,
            notices_s=self.journal.notices(stack, unit.name, "idle") if self.journal else (),
            usd_per_hour=hourly,
        )

    def _with_earlier(self, counted: tuple[Counted, ...], stack: str, unit: Unit, at: datetime) -> tuple[Counted, ...]:
        """What earlier runs counted before it: some clouds say for two days alone that a pool had no machine."""
        if not counted or counted[0].machines:
            return counted
        before = self._kept(at)[1].get((stack, unit.name), ())
        return (replace(counted[0], start_s=empty_since(counted[0].start_s, before)), *counted[1:])

    def _queue(self, unit: Unit, stack: str, at: datetime) -> tuple[Queue, tuple[Job, ...]]:
        """Whether the pool's scheduler answered, and its jobs: a Kubernetes pool has one, machines alone have none
        unless `teardown.yaml` names its queries.
        """
        stated = self.config.prometheus.get(stack)
        if stated is None or not (stated.queued or stated.running):
            return ("unanswered" if unit.scheduled else "none"), ()
        jobs: list[Job] = []
        asking: tuple[tuple[Literal["queued", "running"], str], ...] = (
            ("queued", stated.queued),
            ("running", stated.running),
        )
        try:
            api = prometheus.reader(stated.url, Deadline(60.0), token_env=stated.token_env)
            for state, query in asking:
                number = prometheus.count(api, query, at) if query else 0.0
                if number > 0:
                    name = f"{number:g} {'that wait' if state == 'queued' else 'that run'}"
                    jobs.append(Job(name=name, state=state, since_s=at.timestamp()))
        except CloudError:
            return "unanswered", ()
        complete = bool(stated.queued and stated.running)
        return ("asked" if complete or not unit.scheduled else "unanswered"), tuple(jobs)


def _limits_of(unit: Unit) -> GuardLimits:
    """By which limits a unit is idle: its guard's; an endpoint without one is told of, by its requests."""
    guard = unit.guard or GuardLimits(signal="requests" if unit.serving else "accelerator_utilization")
    return guard if unit.guard and unit.sized_by else replace(guard, action="notify")  # no size that is moved here


def _told(unit: Unit, verdict: Verdict) -> Verdict:
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


def clusters_by_stack(backend: Backend) -> dict[str, tuple[str, ...]]:
    """The Kubernetes clusters that each stack of a backend has, by stack. ServiceError where a state cannot be read."""
    named = {}
    with tempfile.TemporaryDirectory(prefix="sizewell-teardown-") as folder:
        for stack in backend.stacks():
            path = Path(folder) / "state.json"
            backend.export(stack.name, path)
            named[stack.name] = clusters_of(read_full_state(path))
    return named


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


def missing_share(stacks: Sequence[LookedStack]) -> float:
    """Share of the pools with machines, or of unknown size, of which telemetry is missing; stacks that cannot be read
    count as one.
    """
    total = missing = 0
    for stack in stacks:
        if stack.fault:
            total, missing = total + 1, missing + 1
        if stack.verdict.clause == "nothing":  # destroyed: what is left of its components has nothing to measure
            continue
        for looked in stack.pools:
            if looked.unit.kind != "pool" or (
                looked.verdict.clause == "nothing_to_take" and looked.verdict.action == "keep"
            ):
                continue
            total += 1
            missing += looked.verdict.clause == "unseen" or bool(looked.evidence.missing)
    return missing / total if total else 0.0


def aws_client(deadline: Deadline, profile: str | None) -> Aws:
    """Clients that read, under a profile; None: whatever is logged in."""
    return Aws(deadline, profile=profile)


def _client(name: str, accounts: Sequence[str], config: TeardownConfig) -> Aws | Google | Azure:
    """A client that reads, under the identity of the account. CloudError where another account is logged in."""
    identity = next((config.identities[account] for account in accounts if account in config.identities), None)
    settings = dict(identity.reads) if identity else {}
    deadline = Deadline(DEADLINE_S)
    if name == "aws":
        aws = aws_client(deadline, settings.get("AWS_PROFILE"))
        account = str(aws.call("sts", "us-east-1", "get_caller_identity")["Account"])
        if account not in accounts:
            raise _foreign("AWS account", account, accounts)
        return aws
    if name == "gcp":
        return Google(deadline, impersonate=settings.get("GOOGLE_IMPERSONATE_SERVICE_ACCOUNT", ""))
    if name == "azure":
        return Azure(deadline, identity=settings.get("AZURE_CLIENT_ID", ""))
    raise CloudError("teardown", "missing", f"a pool on {name or 'a cluster of its own'} is its owner's responsibility")


def must_be_own(unit: Unit, accounts: Sequence[str]) -> None:
    """CloudError where a pool's resources lie in a project or subscription that is none of its stack's accounts."""
    if unit.cloud == "gcp":
        place, what = google.project_of(unit), "project"
    elif unit.cloud == "azure":
        place, what = (*unit.resources, *unit.serving, *unit.managed)[0].id.split("/")[2], "subscription"
    else:
        return  # an AWS account is the login's, which was compared
    if place not in accounts:
        raise CloudError("teardown", "refused", f"{what} {place} is not one of the stack's: {', '.join(accounts)}")


def _foreign(what: str, identity: str, accounts: Sequence[str]) -> CloudError:
    allowed = ", ".join(accounts)
    return CloudError(
        "teardown",
        "refused",
        f"{what} {identity} is logged in; the stack belongs to {allowed}",
        fix=f"log in to {allowed}",
    )


def _azure_token(scope: str) -> Callable[[], Mapping[str, str]]:
    def headers() -> Mapping[str, str]:
        if token := os.environ.get("AZURE_PROMETHEUS_TOKEN") or os.environ.get("AZURE_ACCESS_TOKEN"):
            return {"Authorization": f"Bearer {token}"}
        try:
            import azure.identity
        except ImportError:
            fix = f"run: {source.install('azure')}"
            raise CloudError("azure", "login", "azure-identity is not installed", fix=fix) from None
        return {"Authorization": f"Bearer {azure.identity.DefaultAzureCredential().get_token(scope).token}"}

    return headers


def _put(data: bytes, path: Path) -> None:
    """Whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)
