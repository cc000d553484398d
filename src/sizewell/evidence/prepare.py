"""Before a run: what it would build, what that costs at most, and why it is refused."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sizewell.clouds.preflight.rights import needed
from sizewell.evidence.journal import Notes
from sizewell.evidence.record import STAGES, Machine, Name, Package
from sizewell.evidence.record import version as allowed_version
from sizewell.evidence.world import longest_guard_s
from sizewell.preview.pipeline import Request, run_preview
from sizewell.recording.evaluate import evaluate
from sizewell.sizing.catalog.managed import RAW
from sizewell.sizing.errors import ServiceError, UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision
from sizewell.teardown.config import PATH, read_config

HOURS_PER_MONTH = 730
STAGE_S: Mapping[Name, float] = {  # limits, not predictions: a stage that takes longer is stopped
    "rights": 180.0,
    "up": 2400.0,
    "reachable": 300.0,
    "destroyed": 2700.0,
    "inventory": 300.0,
}
_PACKAGES: tuple[Package, ...] = ("sizewell", "pulumi-aws", "pulumi-gcp", "pulumi-azure-native")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The notes of a run, what its price leaves out, and the rights that building it takes."""

    notes: Notes
    outside: tuple[str, ...]
    rights: tuple[str, ...]
    unlisted: int  # types of resources whose rights are in no table


def prepared(
    root: Path,
    stack: str,
    decision: Decision,
    *,
    engine: str,
    wanted: Sequence[Name],
    usd_limit: float,
    seconds_limit: float,
    now: datetime,
    today: date,
) -> Prepared:
    """A run that has not begun. UsageError where it is not to begin."""
    stacks = _stacks(root, stack, decision, today)
    types = [kind for each in stacks for kind in _types(root, each)]
    per_hour, once, outside = _price(root, stacks, today)
    pools = [pool for workload in decision.workloads for pool in workload.pools]
    watched = [w for w in decision.workloads if w.guard and any(pool.managed == RAW for pool in w.pools)]
    if "guard" in wanted and not watched:
        what = f"--stage guard: no machines of {stack} have a guard that is watched: a managed service stops its own"
        raise UsageError(f"{what}\n  fix: leave it out, or name a stack of machines of your own")
    guards = [(w.guard.window_s, w.guard.grace_s) for w in decision.workloads if w.guard]
    notes = Notes(
        schema="sizewell.evidence-run/1",
        stack=stack,
        stacks=list(stacks),
        wanted=[name for name in STAGES if name in wanted],
        usd_limit=usd_limit,
        seconds_limit=seconds_limit,
        usd_per_hour_max=round(per_hour, 6),
        usd_once_max=round(once, 4),
        stage_s={**STAGE_S, "guard": longest_guard_s(guards)},
        versions=_versions(engine),
        machines=[
            Machine(
                cloud=pool.cloud,
                region=pool.region,
                instance_type=pool.instance_type,
                market=pool.market,  # type: ignore[arg-type]
                nodes_max=pool.nodes_max,
            )
            for pool in pools
        ],
        clouds=sorted({pool.cloud for pool in pools}),
        regions=sorted({pool.region for pool in pools}),
        decision=decision.digest(),
        started_s=now.timestamp(),
        seen_s=now.timestamp(),
    )
    _must_fit(notes)
    rights, unlisted = needed(sorted({*types}))
    return Prepared(notes=notes, outside=outside, rights=tuple(rights), unlisted=unlisted)


def hours_to_end(decision: Decision, today: date) -> int:
    """Hours, at most, until the expiry stack takes the stack down where nobody else does."""
    assert decision.expires_at is not None  # noqa: S101  (`prepared` refuses it)
    return (decision.expires_at - today).days * 24


def _stacks(root: Path, stack: str, decision: Decision, today: date) -> tuple[str, str]:
    if adopted := sorted({pool.cloud for w in decision.workloads for pool in w.pools if pool.adopted}):
        what = f"its machines exist already ({', '.join(adopted)}), and are nothing to build and destroy"
        raise UsageError(f"{stack}: {what}\n  fix: name a stack on {', '.join(CLOUDS)}")
    if saving := [w.spec.name for w in decision.workloads if w.checkpoint]:
        fix = f"name a stack without; small: sizewell new notebook --stack {stack}-trial"
        raise UsageError(f"{stack}: {', '.join(saving)} keeps checkpoints, which no run destroys\n  fix: {fix}")
    if (root / "stacks/config" / f"Pulumi.images-{stack}.yaml").exists():
        fix = "name a stack that runs no images of a registry of its own"
        raise UsageError(f"{stack}: images-{stack} must be filled before it, by hand\n  fix: {fix}")
    if decision.expires_at is None:
        what = f"{stack} has no end: nothing would take it down if this machine failed"
        raise UsageError(f"{what}\n  fix: set ttl: 1d in its spec, then sizewell size --stack {stack}")
    if hours_to_end(decision, today) <= 0:
        raise UsageError(f"{stack}: expired on {decision.expires_at}\n  fix: sizewell size --stack {stack}")
    environment = decision.environment
    rules = read_config(root).limits().rules(environment) if (root / PATH).exists() else None
    if rules is None or not rules.firm:
        what = f"{stack}: its end is not firm, so ttl-{stack} would only notify if this machine failed"
        raise UsageError(f"{what}\n  fix: environments: {{{environment}: {{expiry: firm}}}} in {PATH}")
    file = f"stacks/config/Pulumi.ttl-{stack}.yaml"
    if not (root / file).exists():
        fix = f"cp stacks/config/Pulumi.{stack}.yaml {file}, and leave sizewell:run out of it"
        raise UsageError(f"{file} is missing: ttl-{stack} ends the stack if this machine fails\n  fix: {fix}")
    return f"ttl-{stack}", stack


def _types(root: Path, stack: str) -> list[str]:
    """What a stack builds, by type. UsageError where something of it would outlive its destroy."""
    resources = evaluate(root, stack).resources
    for resource in resources:
        if resource.protect:
            what = f"{stack}: {resource.name} ({resource.type}) is protected, and would stay"
            raise UsageError(f"{what}\n  fix: name a stack that has no capacity block and no store of data")
    return [each.type for each in resources if each.custom and not each.type.startswith("pulumi:")]


def _price(root: Path, stacks: Sequence[str], today: date) -> tuple[float, float, tuple[str, ...]]:
    """US dollars an hour with everything on, those paid once, and what is in neither."""
    preview = run_preview(Request(root=root, on=today, stacks=tuple(stacks)))
    per_hour, once = 0.0, 0.0
    outside: tuple[str, ...] = ()
    for each in preview.stacks:
        if each.after is None:
            raise ServiceError(f"{each.stack}: has no price: {each.failed}\n  fix: sizewell preview {each.stack}")
        if each.unpriced:
            what = f"{each.stack}: without a price, so no limit holds: {', '.join(each.unpriced[:5])}"
            raise UsageError(f"{what}\n  fix: sizewell preview {each.stack} says which; choose others")
        per_hour += float(each.after.usd_per_month.ceiling) / HOURS_PER_MONTH
        once += float(each.after.usd_once.ceiling)
        outside += each.outside
    return per_hour, once, outside


def usd_at_most(notes: Notes) -> float:
    """US dollars until it is down: up, the stages asked for that wait, down and the inventory, and an hour that some
    things are billed whole; nothing where nothing is built.
    """
    if "up" not in notes.wanted:
        return 0.0
    seconds = sum(notes.stage_s[name] for name in ("up", "destroyed", "inventory"))
    return notes.usd_once_max + notes.usd_per_hour_max * (seconds + 3600) / 3600


def _must_fit(notes: Notes) -> None:
    """UsageError where the limits leave no time to build it and take it down."""
    if "up" not in notes.wanted:
        return
    seconds = sum(notes.stage_s[name] for name in ("up", "destroyed", "inventory"))
    if seconds > notes.seconds_limit:
        what = f"--max-time: {notes.seconds_limit / 60:.0f} minutes do not hold what up and down may take"
        raise UsageError(f"{what}\n  fix: --max-time {seconds / 60:.0f}m or more")
    usd = usd_at_most(notes)
    if usd > notes.usd_limit:
        what = f"--max-usd: {notes.stack} may cost {usd:.2f} USD until it is down, more than {notes.usd_limit:g}"
        raise UsageError(f"{what}\n  fix: --max-usd {math.ceil(usd * 100) / 100:.2f} or more, or a smaller stack")


def _versions(engine: str) -> dict[Package, str]:
    found: dict[Package, str] = {"python": platform.python_version(), "pulumi": allowed_version(engine)}
    for package in _PACKAGES:
        try:
            found[package] = allowed_version(version(package))
        except PackageNotFoundError:
            continue
    return found
