"""Keep, warn, empty, destroy or unknown: one verdict for each pool, one for the stack.

`HOLDS` is the one order of reasons, for stacks and for pools. The first that holds says why nothing is taken away; only
where none does, what is past its end, empty or idle goes, and only after its owner was notified.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Final, Literal

from sizewell.teardown.clauses import (
    UNKNOWN,
    UNKNOWN_WITHOUT_MACHINES,
    USE,
    USE_WITHOUT_MACHINES,
    Clause,
    first,
    machines_left,
    unseen_before,
    used_before,
)
from sizewell.teardown.looks import Look, interruptions, minutes, when
from sizewell.teardown.records import (
    DAILY_S,
    DAY_S,
    KEPT,
    OPEN,
    PREPAID,
    Action,
    Episode,
    Limits,
    Pool,
    Protection,
    Rules,
    Series,
    Stack,
    Told,
    Verdict,
    machines_of,
)

Due = Literal["idle", "expired", "empty", ""]  # why something would go: a pool by its idleness, a stack by the others


@dataclass(frozen=True, slots=True)
class Subject:
    """What may be stopped: a stack as a whole with all its pools, or one pool of it."""

    stack: Stack
    pools: tuple[Look, ...]
    limits: Limits
    at: datetime
    due: Due  # what would take it away if nothing held it
    why: str = ""  # that, in words; of a stack that would not go, why not
    clause: str = ""  # of a stack that would not go

    @property
    def pool(self) -> Pool | None:
        return self.pools[0].pool if self.due == "idle" else None

    @property
    def rules(self) -> Rules | None:
        """What may be stopped in its environment; None where nothing may, or it is production that nobody named."""
        if self.stack.environment == "prod" and self.stack.name not in self.limits.production:
            return None
        return self.limits.rules(self.stack.environment)

    @property
    def end(self) -> datetime:
        """When its stack expires."""
        assert self.stack.expires_at is not None  # noqa: S101  (asked of stacks that expire)
        return datetime.combine(self.stack.expires_at, time(), UTC)

    @property
    def notices(self) -> tuple[Told, ...]:
        return self.pool.notices if self.pool else self.stack.notices

    @property
    def announced(self) -> tuple[Told, ...]:
        """The notices that were sent of all its machines: one that joined since, however old it is, is in none."""
        there = machines_of((look.pool for look in self.pools), self.at.timestamp())
        if there is None:
            return self.notices
        return tuple(each for each in self.notices if each.machines is None or there <= each.machines)

    @property
    def grace_s(self) -> float:
        """From a notice until the act at the earliest."""
        return self.pools[0].pool.guard.grace_s if self.due == "idle" else self.limits.stack_grace_s

    def verdict(self, action: Action, clause: str, reason: str) -> Verdict:
        subject = self.pool.name if self.pool else self.stack.name
        says = f"{self.why}; {reason}" if self.due in ("expired", "empty") and reason else reason or self.why
        return Verdict(subject=subject, action=action, clause=clause, reason=says)


def decide(stack: Stack, limits: Limits, at: datetime) -> tuple[Verdict, tuple[Verdict, ...]]:
    """The verdict on a stack, and those on its pools, at a time. Pure: it reads no clock."""
    at = at.astimezone(UTC)
    looks = tuple(Look(stack=stack, pool=pool, limits=limits, at=at) for pool in stack.pools)
    pools = tuple(
        replace(given, contradictions=look.contradictions(), episode=given.episode or _spared_episode(look, given))
        for look in looks
        for given in [_decided(Subject(stack, (look,), limits, at, "idle"))]
    )
    verdicts = [_decided(Subject(stack, looks, limits, at, *why)) for why in _whys(stack, looks, limits, at)]
    verdict = verdicts[1] if len(verdicts) > 1 and _is_nearer(*verdicts) else verdicts[0]
    # What held it may be gone at the next look, and what was in use before this one out of reach.
    episode = verdict.episode or (None if stack.expires_at is None else _quiet(stack, looks, at.timestamp()))
    return replace(verdict, episode=episode), pools


def _is_nearer(expired: Verdict, empty: Verdict) -> bool:
    """Whether a stack past its end goes sooner as empty: an end takes nothing back of what its owner was told."""
    if expired.action != "warn" or expired.clause not in ("expired", "window"):
        return False
    if empty.action != "warn" or empty.tell or empty.next_at is None:
        return empty.action == "destroy"
    return expired.tell or expired.next_at is None or empty.next_at < expired.next_at


def _decided(subject: Subject) -> Verdict:
    """The first reason that holds, or what becomes of a stack or a pool that none does."""
    for hold in HOLDS:
        if (verdict := hold(subject)) is not None:
            return _past_end(subject, verdict)
    return _goes(subject)


# What holds ---------------------------------------------------------------------------------------------------------


def nothing_to_take(subject: Subject) -> Verdict | None:
    """A pool without machines; whether its stack goes is another question."""
    if subject.pool is None or not subject.pools[0].counted or subject.pools[0].machines:
        return None
    return subject.verdict("keep", "nothing_to_take", "it has no machines")


def protected(subject: Subject) -> Verdict | None:
    """teardown.yaml protects the stack, or somebody's word does."""
    held = _held(subject.stack.protected, subject.at)
    return subject.verdict("keep", "protected", held) if held else None


def leased(subject: Subject) -> Verdict | None:
    """A lease holds until its instant, past the end of the stack too; of several, the one that ends last says so."""
    for lease in sorted(subject.stack.leases, key=lambda lease: lease.until, reverse=True):
        if held := _held(lease, subject.at):
            return subject.verdict("keep", "leased", held)
    return None


def updating(subject: Subject) -> Verdict | None:
    """The engine has its lock on the stack: an update runs, or was killed and left it."""
    update = subject.stack.update
    if update is not None and not update.over:
        what = "a teardown has been destroying it" if update.own else "an update of it has been running"
        since = f"{what} since {when(update.since_s)} ({update.by})"
        way_out = f"; if no engine runs there any more: pulumi cancel --stack {subject.stack.name}"
        old = subject.at.timestamp() - update.since_s > subject.limits.update_s_max
        return subject.verdict("unknown" if old else "keep", "updating", since + (way_out if old else ""))
    if subject.stack.pending and subject.due != "idle":
        killed = "an update was killed, and the state may lack resources that it created"
        return subject.verdict("unknown", "killed", f"{killed}: sizewell reconcile {subject.stack.name} lists them")
    return None


def depended_on(subject: Subject) -> Verdict | None:
    """Stacks that stand and read its outputs by StackReference. A pool's size is none of those outputs."""
    if not subject.stack.dependents or subject.due == "idle":
        return None
    return subject.verdict("keep", "depended_on", f"other stacks refer to it: {', '.join(subject.stack.dependents)}")


def in_use(subject: Subject) -> Verdict | None:
    """One of its pools is in use."""
    return _says(subject, "keep", USE, USE_WITHOUT_MACHINES, (machines_left, used_before))


def unproved(subject: Subject) -> Verdict | None:
    """Its newest checkpoint is not whole. Emptying a pool takes nothing of it."""
    if not subject.stack.unproved or subject.due == "idle":
        return None
    return subject.verdict("unknown", "unproved", _incomplete(subject.stack))


def _incomplete(stack: Stack) -> str:
    return f"its newest checkpoint is incomplete: {stack.unproved}"


_SAVES_NOTHING: Final = "stopping it saves nothing"
CAPACITY: Final[Mapping[str, str]] = {
    # Billed by use, unlike the others: what was waited for is a person's to give up.
    "queued": "capacity (queued) was waited for: stopping it saves its rate, and it has to be queued for again",
    "prepaid": f"how its capacity is paid is not known: it counts as prepaid, and {_SAVES_NOTHING}",
}


def prepaid(subject: Subject) -> Verdict | None:
    """Machines that are paid for or were queued for: stopping them saves nothing, and may not be undone."""
    for look in subject.pools:
        if look.pool.capacity in PREPAID and look.machines:
            reason = CAPACITY.get(look.pool.capacity, f"capacity ({look.pool.capacity}) is prepaid: {_SAVES_NOTHING}")
            idle = first(UNKNOWN, look) is None
            said = f"{_idle(look)}; {reason}" if subject.pool and idle else _of_pool(subject, look, reason)
            return subject.verdict("warn" if idle else "keep", "prepaid", said)
    return None


def unknown(subject: Subject) -> Verdict | None:
    """Nobody can tell whether one of its pools is in use."""
    return _says(subject, "unknown", UNKNOWN, UNKNOWN_WITHOUT_MACHINES, (unseen_before,))


def spared(subject: Subject) -> Verdict | None:
    """What is reported and not stopped: production that nobody named, pools whose guard or smallest size says so."""
    if subject.due not in ("expired", "idle", "empty"):
        return None
    reason = ""
    if subject.pool is not None and subject.pool.guard.action == "notify":
        reason = "its guard only notifies"
    elif subject.rules is None:
        reason = _reported(subject)
    elif subject.pool is not None and len(subject.pools[0].machines) <= subject.pool.nodes_min:
        reason = f"it is at its smallest size, {subject.pool.nodes_min}"
    elif subject.due == "empty" and subject.stack.environment not in subject.limits.empty_days:
        reason = (
            f"no empty_days are set for {subject.stack.environment}: an empty stack is only reported, until its end"
        )
    if not reason:
        return None
    said = f"{_idle(subject.pools[0])}; {reason}" if subject.pool else reason
    return subject.verdict("warn", "spared", said)


# The one order of reasons, for stacks and for pools. What is in use comes before what nobody can tell: one busy
# accelerator is enough, and it must not be hidden by another one that reports nothing.
HOLDS: Final[tuple[Callable[[Subject], Verdict | None], ...]] = (
    nothing_to_take,
    protected,
    leased,
    updating,
    depended_on,
    in_use,
    unproved,
    prepaid,
    unknown,
    spared,
)
FIRM: Final = frozenset({"in_use", "prepaid", "unknown"})  # what a firm end passes over


def _says(
    subject: Subject,
    action: Action,
    clauses: tuple[Clause, ...],
    without_machines: tuple[Clause, ...],
    of_stacks: tuple[Clause, ...],
) -> Verdict | None:
    """What a group of clauses says of a pool, or of each pool of a stack that would go."""
    if not subject.due:
        return None
    if subject.pool is not None:
        said = first(clauses, subject.pools[0])
        return subject.verdict(action, said[0], said[1]) if said else None
    reasons = []
    for look in subject.pools:
        empty = look.counted and not look.machines
        if (said := first(without_machines if empty else (*clauses, *of_stacks), look)) is not None:
            reasons.append(_of_pool(subject, look, said[1]))
    return subject.verdict(action, "in_use" if action == "keep" else "unknown", "; ".join(reasons)) if reasons else None


def _past_end(subject: Subject, verdict: Verdict) -> Verdict:
    """What holds a stack past its end is said to its owner each day, and a firm end passes over some of it."""
    if subject.due in ("", "empty") and subject.pool is None:
        for_good = verdict.clause == "protected" and subject.stack.protected and subject.stack.protected.until >= OPEN
        return verdict if for_good else _coming_end(subject, verdict)
    if subject.due != "expired" or verdict.clause in ("protected", "leased", "updating"):
        return verdict
    day = subject.stack.expires_at
    action: Action = "warn" if verdict.action == "keep" else verdict.action
    if subject.rules is None:  # once: nothing follows from it
        reason = verdict.reason if verdict.clause == "spared" else f"{verdict.reason}; {_reported(subject)}"
        reported = replace(verdict, action=action, reason=reason, about=f"end {day} reported")
        return _telling(subject, reported, since_s=subject.stack.created_s)
    if subject.rules.firm and verdict.clause in FIRM:
        return _firm(subject, replace(verdict, action=action))
    held = replace(verdict, action=action, next_step="destroy", about=_stays(subject))
    return _telling(subject, held, since_s=subject.at.timestamp() - DAILY_S)


def _firm(subject: Subject, verdict: Verdict) -> Verdict:
    """A firm end destroys what is in use too: a grace after a last notice that somebody heard, and in its window."""
    since_s = _firm_since_s(subject)
    heard = _heard(subject.stack.notices, _last(subject), since_s)
    goes = max(heard + subject.grace_s if heard else subject.at.timestamp() + subject.grace_s, 0.0)
    goes_at = max(datetime.fromtimestamp(goes, UTC), subject.end + timedelta(seconds=subject.grace_s))
    reason = f"{verdict.reason}; its end is firm in {subject.stack.environment}"
    held = unproved(subject)
    reason = f"{reason}, {_incomplete(subject.stack)}" if held else reason
    if heard is None or subject.at < goes_at:
        opens = _opens(subject, goes_at) if held is None else None
        last = replace(
            verdict, clause="firm", reason=reason, next_step="destroy", next_at=opens, about=_last(subject)[0]
        )
        return _telling(subject, replace(last, action="warn"), since_s=since_s, prefix=_last(subject))
    if held is not None:
        waits = replace(held, reason=reason, next_step="destroy", about=_stays(subject))
        return _telling(subject, waits, since_s=subject.at.timestamp() - DAILY_S)
    return _in_hours(subject, replace(verdict, action="destroy", clause="firm", reason=reason))


def _firm_since_s(subject: Subject) -> float:
    """Since when a notice of a firm end counts: use ends none, a lease or an update does."""
    return max(subject.end.timestamp(), *interruptions(subject.stack, subject.at.timestamp()))


def _stays(subject: Subject) -> str:
    """What the daily word to the owner is about that something holds a stack past its end."""
    return f"end {subject.stack.expires_at} kept"


def _last(subject: Subject) -> tuple[str, str]:
    """What the last notices of an end are about, while something is in use and while nothing is."""
    return f"end {subject.stack.expires_at} last", f"end {subject.stack.expires_at} 0 days"


# What goes ----------------------------------------------------------------------------------------------------------


def _whys(stack: Stack, looks: tuple[Look, ...], limits: Limits, at: datetime) -> list[tuple[Due, str, str]]:
    """Why a stack would go, past its end or without machines for days or both; or why not, and the clause of that."""
    end = None if stack.expires_at is None else datetime.combine(stack.expires_at, time(), UTC)
    empty = _emptiness(stack, looks, limits, at)
    if end is None or at < end:
        return [empty]
    expired: tuple[Due, str, str] = ("expired", f"it expired on {end:%Y-%m-%d} at 00:00 UTC", "")
    return [expired, empty] if empty[0] else [expired]


def _emptiness(stack: Stack, looks: tuple[Look, ...], limits: Limits, at: datetime) -> tuple[Due, str, str]:
    """That a stack has had no machines for days; or why that is not so, and the clause that says so."""
    days = limits.empty_days.get(stack.environment, max(limits.empty_days.values(), default=14.0))
    start_s = at.timestamp() - days * DAY_S
    if not looks:
        return "", "it has no pools that could be empty: only its expiry takes it down", "poolless"
    if stack.created_s > start_s:
        return "", "it is too young to be destroyed as empty", "young"
    for look in looks:
        if any(span.machines and span.end_s > start_s for span in look.pool.counted):
            return "", f"{look.pool.name} had machines within {days:g} days", "machines"
        used_s = max((_last_used(look, series) for series in look.pool.utilization_percent.values()), default=-math.inf)
        if start_s < used_s <= look.seen_s - look.needed_s:  # later use is a contradiction: `used_uncounted`
            said = f"an accelerator of {look.pool.name} reported use until {when(used_s)}, less than {days:g} days ago"
            return "", said, "used"
    counted_s = max(_counted_since(look.pool, at.timestamp()) for look in looks)
    if counted_s > start_s:
        since = when(counted_s) if counted_s < at.timestamp() else ""
        said = f"machines have been counted without a gap since {since}" if since else "machines are not counted now"
        return "", f"{said}: not for {days:g} days", "uncounted"
    return "empty", f"it has been empty for {days:g} days", ""


def _empties(subject: Subject) -> datetime:
    """From when on a stack without machines counts as empty if it gets none; OPEN where that is not to be said."""
    stack, at_s = subject.stack, subject.at.timestamp()
    days = subject.limits.empty_days.get(stack.environment)
    since = [stack.created_s]
    for look in subject.pools:
        since += [span.end_s for span in look.pool.counted if span.machines]
        since += [_last_used(look, series) for series in look.pool.utilization_percent.values()]
        since.append(_counted_since(look.pool, at_s))
    if days is None or not subject.pools or max(since) >= at_s - max(look.pool.period_s for look in subject.pools):
        return OPEN
    return datetime.fromtimestamp(max(max(since) + days * DAY_S, at_s), UTC)


def _last_used(look: Look, series: Series) -> float:
    """When an accelerator was seen in use last, counted or not; minus infinity where never."""
    used = (series.values >= look.pool.guard.min_utilization_percent) & (series.at_s <= look.at_s)
    return float(series.at_s[used].max(initial=-math.inf))


def _goes(subject: Subject) -> Verdict:
    """What becomes of a stack or a pool that nothing holds."""
    if not subject.due:
        kept = subject.verdict("unknown" if subject.clause == "uncounted" else "keep", subject.clause, "")
        return _coming_end(subject, kept)
    at_s = subject.at.timestamp()
    episode = _episode(subject)
    act: Action = "empty" if subject.pool else "destroy"
    about = f"end {subject.stack.expires_at} 0 days" if subject.due == "expired" else subject.due
    notices = subject.announced
    # Of an end, what named its day counts, before it or after; that it is in use and stays announces nothing.
    days = (0, *subject.limits.expiry_notice_days)
    of_end = tuple(f"end {subject.stack.expires_at} {each} days" for each in days)
    prefix: str | tuple[str, ...] = of_end if subject.due == "expired" else about
    # Whose last word was that it stays was notified of no act.
    stays = [each.at_s for each in notices if each.heard and each.about in (KEPT, _stays(subject))]
    since_s = max(episode.since_s, *stays, -math.inf)
    heard = _heard(notices, prefix, since_s)
    if subject.due == "expired" and subject.rules is not None and subject.rules.firm:
        # Told while it was in use: the stack goes then, idle or not, and is not told another time each evening.
        last = _heard(subject.notices, _last(subject), _firm_since_s(subject))
        if last is not None and (heard is None or last > heard):
            notices, heard, since_s, prefix = subject.notices, last, _firm_since_s(subject), _last(subject)
    goes_s = at_s + subject.grace_s
    if heard is not None:  # no sooner than it was said either, though a window was widened since
        goes_s = min(
            max(each.at_s + subject.grace_s, each.due_s)
            for each in notices
            if each.heard and each.at_s >= since_s and _is_about(each, prefix)
        )
    if subject.due == "expired":
        goes_s = max(goes_s, subject.end.timestamp() + subject.grace_s)
    saves = subject.pool.usd_per_hour if subject.pool else None
    verdict = replace(
        subject.verdict("warn", subject.due, _idle(subject.pools[0]) if subject.pool else ""),
        episode=episode,
        saves_usd_per_hour=saves,
    )
    # A pool has to have been idle for its grace before the notice's grace is over: told and idle are two conditions.
    look = subject.pools[0] if subject.pool else None
    unready = "" if look is None else look.unready()
    if heard is None or at_s < goes_s or unready:
        goes = _opens(subject, datetime.fromtimestamp(goes_s, UTC)) if at_s <= goes_s else None
        if unready and goes is None:  # no time is named: it depends on samples that nobody has yet
            verdict = replace(verdict, reason=f"{verdict.reason}; {unready}")
        clause = "told" if subject.pool else subject.due
        waits = replace(verdict, clause=clause, about=about, next_step=act, next_at=goes)
        return _telling(subject, waits, since_s=since_s, prefix=prefix, notices=notices)
    reason = verdict.reason
    if subject.pool:
        grace = minutes(subject.grace_s)
        reason = f"{reason}, and for {grace} before; notified {minutes(at_s - heard)} ago"
    return _in_hours(subject, replace(verdict, action=act, reason=reason))


def _opens(subject: Subject, at: datetime) -> datetime | None:
    """When something of the environment may be stopped, from a time on; what is announced is no earlier than that."""
    return (subject.rules or Rules()).opens(at)


def _in_hours(subject: Subject, verdict: Verdict) -> Verdict:
    """What is due, or that it waits for the hours in which its environment may be stopped."""
    rules = subject.rules or Rules()
    opens = _opens(subject, subject.at)
    if opens == subject.at:
        return verdict
    closed = rules.closed_at(subject.at)
    said = f"{closed[1]}: nothing is stopped" if closed else f"no window of {subject.stack.environment} is open now"
    waits = replace(verdict, action="warn", clause="window", reason=f"{verdict.reason}; {said}")
    return replace(waits, next_step=verdict.action, next_at=opens)


def _episode(subject: Subject) -> Episode:
    """The time of idleness of which a notice tells: since when a pool was idle, or a stack empty or quiet."""
    at_s = subject.at.timestamp()
    if subject.due == "expired":
        return _quiet(subject.stack, subject.pools, at_s) or Episode(since_s=at_s, until_s=at_s)
    episodes = [look.episode() for look in subject.pools]
    since_s, until_s = max(each.since_s for each in episodes), min(each.until_s for each in episodes)
    return Episode(since_s=since_s, until_s=max(since_s, until_s))


def _spared_episode(look: Look, verdict: Verdict) -> Episode | None:
    """Of a pool that stays when it is idle: its stack may go, and runs read its samples from the last look on."""
    return look.episode() if verdict.clause == "spared" else None


def _quiet(stack: Stack, looks: tuple[Look, ...], at_s: float) -> Episode | None:
    """Since when a stack was not used, leased, woken, updated or given machines, and none of its pools went unseen for
    its window: from then on a notice of its end counts. None where a pool is in use, or nobody can tell.

    What came before the first thing that is known of a pool ends no notice. A run reads the samples since its last look
    alone, so that what an earlier look found bounds it; the first look of all does, whatever it found.
    """
    earlier = max(stack.episodes, key=lambda each: each.until_s, default=None)
    for look in looks:
        empty = look.counted and not look.machines
        if first((*USE_WITHOUT_MACHINES, *UNKNOWN_WITHOUT_MACHINES) if empty else (*USE, *UNKNOWN), look) is not None:
            return None if earlier else Episode(since_s=at_s, until_s=at_s)
    known_s = -math.inf if earlier is None else earlier.until_s
    times = [*interruptions(stack, at_s), *([] if earlier is None else [earlier.since_s])]
    since_s = max([*times, *(max(look.interrupted_s(), look.unseen_until(known_s)) for look in looks)])
    return Episode(since_s=since_s, until_s=max(since_s, min([look.seen_s for look in looks], default=at_s)))


# Telling ------------------------------------------------------------------------------------------------------------


def _heard(notices: tuple[Told, ...], prefix: str | tuple[str, ...], since_s: float) -> float | None:
    """When an owner heard first of a step, since a time; None where nobody did."""
    return min(
        (each.at_s for each in notices if each.heard and each.at_s >= since_s and _is_about(each, prefix)),
        default=None,
    )


def _is_about(notice: Told, prefix: str | tuple[str, ...]) -> bool:
    return not notice.about or notice.about.startswith(prefix)


def _telling(
    subject: Subject,
    verdict: Verdict,
    *,
    since_s: float,
    prefix: str | tuple[str, ...] = "",
    notices: tuple[Told, ...] | None = None,
) -> Verdict:
    """Whether the owner is told now: nobody was notified of this step since a time. Where nobody can be, nothing
    follows.
    """
    notices = subject.notices if notices is None else notices
    own = [each for each in notices if each.at_s >= since_s and _is_about(each, prefix or verdict.about)]
    if any(each.heard for each in own):
        return verdict
    receivers = subject.stack.receivers  # None, as where a look does not ask for them: somebody may be there
    if receivers or (receivers is None and not own):  # what nobody took before is sent again as what it is, with a time
        return replace(verdict, tell=True)
    why = "sizewell:notify names no receiver" if receivers == 0 else "no receiver took the notice"
    told_s = max((each.at_s for each in own), default=-float("inf"))
    again = receivers is None or subject.at.timestamp() - told_s >= DAILY_S
    reason = f"{verdict.reason}; nobody was notified: {why}"
    return replace(verdict, reason=reason, tell=again, unheard=True, next_step="", next_at=None)


def _coming_end(subject: Subject, verdict: Verdict) -> Verdict:
    """The end of a stack that comes soon, once for each of the days of notice; `ttl-STACK` reads no lease."""
    days_of_notice = subject.limits.expiry_notice_days
    if subject.stack.expires_at is None or subject.at >= subject.end:
        return verdict
    days = (subject.end - subject.at).total_seconds() / DAY_S
    if days > max(days_of_notice, default=0):
        return verdict
    about = f"end {subject.stack.expires_at} {min(each for each in days_of_notice if days <= each)} days"
    reason = f"it expires on {subject.end:%Y-%m-%d} at 00:00 UTC"
    coming = replace(verdict, about=about)
    if verdict.action != "unknown" or not subject.due:  # not yet called empty is no doubt about its use
        coming = replace(coming, action="warn", clause="expires")
    since_s = subject.stack.created_s
    if subject.rules is None:
        return _telling(subject, replace(coming, reason=f"{reason}; {_reported(subject)}"), since_s=since_s)
    words = [*subject.stack.leases, *([subject.stack.protected] if subject.stack.protected else [])]
    # The end of a lease ends what was told before it: the owner has the whole grace from then on.
    begins = max([subject.end, *(word.until for word in words)])
    held = f"; {verdict.reason}" if verdict.clause in ("leased", "protected") or subject.due == "empty" else ""
    if not words and (emptied := _empties(subject)) < begins:  # it goes sooner then, for that reason
        begins, held = emptied, f"; without machines it counts as empty from {when(emptied.timestamp())}"
    goes = None if begins >= OPEN else _opens(subject, begins + timedelta(seconds=subject.grace_s))
    if standing := _standing(subject):  # no time is named at which nothing happens
        held, goes = f"{held}; {standing}", None
    coming = replace(coming, reason=f"{reason}{held}", next_step="destroy", next_at=goes)
    return _telling(subject, coming, since_s=since_s)


def _standing(subject: Subject) -> str:
    """What is known before a stack's end and would hold it then: it does not pass by itself, as use does."""
    past = replace(subject, due="expired", why="")
    firm = subject.rules is not None and subject.rules.firm
    holds = [hold(past) for hold in (depended_on, unproved, *(() if firm else (prepaid,)))]
    killed = updating(past) if subject.stack.pending else None
    said = [each.reason.removeprefix("; ") for each in (killed, *holds) if each is not None]
    return "; ".join(said)


# Words ----------------------------------------------------------------------------------------------------------------


def _held(protection: Protection | None, at: datetime) -> str:
    """Why a protection or lease keeps the stack until its instant; "" afterwards or without one."""
    if protection is None or at >= protection.until:
        return ""
    if protection.until >= OPEN:
        return f"kept: {protection.reason}"
    unclear = f" ({protection.unclear})" if protection.unclear else ""
    return f"kept until {when(protection.until.timestamp())}{unclear}: {protection.reason}"


def _reported(subject: Subject) -> str:
    """Why nothing of an environment is stopped."""
    act = "stopped" if subject.pool else "destroyed"
    if subject.stack.environment == "prod":
        return f"production is only reported, not {act}"
    return f"teardown.yaml has no environment {subject.stack.environment!r}: it is only reported, not {act}"


def _idle(look: Look) -> str:
    guard = look.pool.guard
    return f"idle: under {guard.min_utilization_percent:g} % on every accelerator for {minutes(guard.window_s)}"


def _of_pool(subject: Subject, look: Look, reason: str) -> str:
    return reason if subject.pool else f"pool {look.pool.name}: {reason}"


def _counted_since(pool: Pool, end_s: float) -> float:
    """Since when somebody has counted the pool's machines all the time until `end_s`; that itself where nobody does."""
    since_s, reached_s = end_s, -math.inf
    for counted in pool.counted:
        if counted.start_s > reached_s + pool.period_s:
            since_s = counted.start_s
        reached_s = max(reached_s, counted.end_s)
    return since_s if reached_s >= end_s - pool.period_s else end_s
