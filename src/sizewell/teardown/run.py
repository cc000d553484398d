"""One run: tell owners, empty idle pools, destroy stacks that are past their end. Everything is read again before each
act; the journal has each act before it is begun and after it ended, so that an interrupted run is taken up by the next.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from sizewell.sizing.errors import ServiceError, SizewellError
from sizewell.sizing.units import plural
from sizewell.teardown import act, news, processes, saves
from sizewell.teardown.backend import Backend, Listed
from sizewell.teardown.clock import must_be_right
from sizewell.teardown.config import TeardownConfig
from sizewell.teardown.gather import StackStatus, StatusReader
from sizewell.teardown.journal import HeldError, Journal
from sizewell.teardown.leftovers import Leftover, left_over
from sizewell.teardown.notices import Notice, post
from sizewell.teardown.planning import Approved, Plan, Row, StackPlan
from sizewell.teardown.records import DAY_S, Update
from sizewell.teardown.savings import Stop, ends, stops
from sizewell.teardown.telling import Channels
from sizewell.teardown.things import Owner
from sizewell.teardown.timeline import recorded
from sizewell.teardown.units import backup_of, keys_of_backups, remaining, stack_parts
from sizewell.teardown.usage import empty_of, kept, usage_of

LOG: Final = logging.getLogger(__name__)
Outcome = Literal["done", "told", "unheard", "would", "observed", "held back", "not due", "failed", "left over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one row of the plan."""

    stack: str
    pool: str
    action: str  # "empty", "destroy", "notice"
    outcome: Outcome
    detail: str


WRITTEN_SINCE: Final = "its state was written after the plan was made: plan again"


@dataclass(slots=True)
class Runner:
    """Carries a plan out. `fresh` makes a StatusReader that has asked nothing yet; `now` is the clock of acts."""

    backend: Backend
    config: TeardownConfig
    journal: Journal
    fresh: Callable[[], StatusReader]
    exports: Path
    project: str  # as Pulumi.yaml names it
    yes: bool = False
    data: Sequence[str] = ()  # stacks whose data may go
    images: Sequence[str] = ()  # stacks whose image stores go with them
    tag_of: Callable[[str], str] = str.lower  # a name as tags spell it
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    cluster: str = ""  # the Kubernetes cluster that this runs in; "": none
    send: Callable[[str, Mapping[str, Any]], None] | None = None
    outdated: Callable[[], str] = lambda: ""  # why the settings of this run count no more
    statuses: Sequence[StackStatus] = ()  # what the plan rests on: its samples are kept for `size --observed`
    only: Collection[str] = ()  # stacks that were named: of no other anything is said
    results: list[Result] = field(default_factory=list)
    _owners: dict[str, str] = field(default_factory=dict)
    _answered: set[tuple[str, str]] = field(default_factory=set)  # held back, and nothing that an owner has to hear
    _gone: set[str] = field(default_factory=set)  # stacks of which nothing stands any more
    _undelivered: set[tuple[str, str]] = field(default_factory=set)  # messages of this run that nobody took

    def run(self, plan: Plan, chosen: Mapping[tuple[str, str], Approved] | None = None) -> list[Result]:
        """Carry out what is due in `plan`; of it only what `chosen` has, where an earlier plan was approved.

        ServiceError where nothing may be done at all: telemetry is missing, the clock is wrong.
        """
        self._owners = {stack.stack: stack.owner for stack in plan.stacks}
        asked = set(self.only)
        if chosen is not None:
            self.only = {stack for stack, _ in chosen}
        self._gone = {stack.stack for stack in plan.stacks if stack.row.clause == "nothing"}
        self._check_clock(plan)
        self._keep_usage(plan.at)
        self._finish_emptied(plan)
        self._hear_of_acts()  # of an earlier run, which was killed before it said what it did
        if plan.halted:
            if self.yes:
                self._hear([news.halted(plan)])
            raise ServiceError(f"halted: {plan.halted}; nothing was done\n  fix: {plan.way_out}")
        self._end_stops(plan)
        self._cancel_left(plan)
        given = plan if chosen is None else replace(plan, stacks=_of(plan, chosen))
        self._notices(given)
        self._observe(given)
        due = [stack for stack in plan.stacks if self._acts(stack)]
        allowed = self._allowed(len(plan.stacks))
        LOG.info("%d of %d stacks have something due; at most %d in this run", len(due), len(plan.stacks), allowed)
        # What failed at its last attempts goes last, and failures have a number of their own: one stack that cannot be
        # destroyed would else be tried in each run, as the one that saves most, and no other would ever be.
        failures = self._failures()
        named = {*self.data, *self.images}  # asked for by a person: no later run does it by itself
        acted = failed = 0
        for stack in sorted(
            due, key=lambda stack: (stack.stack not in named, failures.get(stack.stack, 0), -_saving(stack))
        ):
            rows = [row for row in self._acts(stack) if chosen is None or _approved(chosen, row)]
            for row in self._acts(stack):
                if row not in rows:
                    self._say(row, "held back", "it is not in the given plan", to="report")
            if not rows:
                continue
            if acted >= allowed or failed >= allowed:
                for row in rows:  # no later run destroys what holds data
                    held = self._held_for_data(stack, row)
                    waits = f"{plural(allowed, 'stack')} at most in one run; the next run continues"
                    self._say(row, "held back", held or waits)
                continue
            states = {row: chosen[row.stack, row.pool].updated if chosen else stack.updated for row in rows}
            outcomes = self._stack(stack, states)
            acted += "done" in outcomes or "would" in outcomes
            failed += "failed" in outcomes
            self._hear_of_acts()
        for row in [row for stack in given.stacks for row in stack.rows] if chosen else ():
            act = chosen.get((row.stack, row.pool)) if chosen else None
            if act is not None and act.action != row.action:
                why = f"by now it is {row.action}: {row.why}"
                self._say(row, "held back", why, action=act.action, to="report")
        here = {(row.stack, row.pool) for stack in plan.stacks for row in stack.rows}
        for (name, pool), act in (chosen or {}).items():
            if (name, pool) not in here and (not asked or name in asked):
                row = Row(stack=name, pool=pool, action="keep", clause="gone", why="it was in the given plan")
                gone = f"{name} has no pool {pool} now" if (name, "") in here else f"there is no stack {name} now"
                self._say(
                    row, "held back", f"{gone}: it was removed or renamed; plan again", action=act.action, to="report"
                )
        if chosen is None and asked:
            for row, outcome, detail in waiting(plan, {(each.stack, each.pool) for each in self.results}):
                self._say(row, outcome, detail, action=row.next_step or "run", to="report")
        for stack in plan.stacks:  # destroyed by an earlier run, or by a person
            if stack.row.clause == "nothing" and chosen is None:
                self._after(stack)
        self._hear_of_acts()
        if chosen is None:  # who gives a plan reads what becomes of it
            self._hear_of_what_stands(plan)
        return self.results

    def _acts(self, stack: StackPlan) -> list[Row]:
        """What is to be done with a stack: destroyed as a whole, or else some of its pools emptied. A destroy that is
        held back for data, or failed again, leaves no idle machine running.
        """
        rows = [row for row in stack.rows if row.action in ("empty", "destroy")]
        acts = [row for row in rows if self.config.acts(stack.environment, row.action)]
        if not acts or acts[0].action != "destroy":
            return acts
        if stack.data and stack.stack not in self.data:
            return acts
        return acts[1:] if acts[1:] and self._failures().get(stack.stack, 0) > 1 else acts[:1]

    def _held_for_data(self, stack: StackPlan, row: Row) -> str:
        """What is said of a destroy that only its owner can let happen; "": it is none."""
        held = row.action == "destroy" and stack.data and stack.stack not in self.data
        return _without_data(stack.stack, stack.data) if held else ""

    def _observe(self, plan: Plan) -> None:
        """Note what would be done where teardown observes: once for each time of idleness, in words in each run."""
        stopped = {(stop.stack, stop.pool, stop.action) for stop in self._stops() if not stop.acted}
        for stack in plan.stacks:
            for row in stack.taken(self.data):
                if self.config.acts(stack.environment, row.action):
                    continue
                if self.yes and (row.stack, row.pool, row.action) not in stopped:
                    self._record("would", row, saves_usd_per_month=_saved(row), clause=row.clause)
                mode = f"mode is observe for {row.action} in {stack.environment}"
                self._say(row, "observed", f"would be done, {mode}: {row.why}")

    def _stops(self) -> list[Stop]:
        """What was stopped, or would have been, and was not seen in use since."""
        return [stop for stop in stops(self.journal.records) if stop.ended is None]

    def _end_stops(self, plan: Plan) -> None:
        """Note which of those run or are in use again: what they saved, or would have, is counted until then."""
        for stop in self._stops() if self.yes else ():
            if (row := ends(stop, plan)) is not None:
                about = {"stack": stop.stack, "subject": stop.pool, "owner": stop.owner, "action": stop.action}
                self.journal.write("ended", self.now(), **about, why=row.why, acted=stop.acted, clause=row.clause)

    def _finish_emptied(self, plan: Plan) -> None:
        """Note as emptied what a run began that was killed, where its machines are gone: it could not write that."""
        least = {
            (status.name, each.pool.name): each.pool.nodes_min for status in self.statuses for each in status.pools
        }
        rows = {(row.stack, row.pool): row for stack in plan.stacks for row in stack.pools}
        for record in news.cut_off(self.journal.records, self.now()) if self.yes else ():
            row = rows.get((record["stack"], record["subject"]))
            if record["action"] != "empty" or row is None or row.machines is None:
                continue
            if row.machines > least.get((row.stack, row.pool), 0):
                continue
            detail = f"the run that began it at {record['at'][:16]} UTC was killed; its machines are gone"
            saves = record.get("saves_usd_per_month", "?")
            act = replace(row, action="empty", why=str(record["why"]))
            self._record("done", act, detail=detail, saves_usd_per_month=saves)
            self._say(act, "done", detail)

    def _cancel_left(self, plan: Plan) -> None:
        """Cancel the locks that engines of killed teardowns left on stacks that are not destroyed now: else no
        `pulumi up` of a person would begin either.
        """
        rows = {stack.stack: stack.row for stack in plan.stacks if stack.row.action != "destroy"}
        for status in self.statuses if self.yes else ():
            update = status.facts.update if status.facts else None
            if update is not None and update.over and status.name in rows:
                row = rows[status.name]
                try:
                    self._cancel(row, update)
                except SizewellError as error:
                    self._say(row, "failed", str(error).partition("\n")[0], action="cancel")
                else:
                    self._say(row, "done", f"the engine's lock of {update.by}: {update.over}", action="cancel")

    def _cancel(self, row: Row, update: Update) -> None:
        self._record("cancelled", row, detail=f"{update.by}: {update.over}")
        act.cancel(self.backend, row.stack)

    def _failures(self) -> dict[str, int]:
        """How many acts on each stack failed since the last one that did not."""
        failures: dict[str, int] = {}
        for record in self.journal.records:
            if record["kind"] == "failed":
                failures[record["stack"]] = failures.get(record["stack"], 0) + 1
            elif record["kind"] == "done":
                failures.pop(record["stack"], None)
        return failures

    def _keep_usage(self, at: datetime) -> None:
        """How busy the accelerators were, which pools had none, and which are idle since when, in one object."""
        pools = [(stack.name, each.unit, each.pool) for stack in self.statuses for each in stack.pools]
        usages = [usage for each in pools if (usage := usage_of(*each)) is not None]
        empty = {(stack, unit.name): span for stack, unit, pool in pools if (span := empty_of(pool)) is not None}
        verdicts = [
            (stack.name, name, verdict)
            for stack in self.statuses
            for name, verdict in (
                ("", stack.verdict),
                *((each.pool.name, each.verdict) for each in stack.pools),
            )
        ]
        idle = {(stack, pool): given.episode for stack, pool, given in verdicts if given.episode is not None}
        updating = {
            stack.name: at
            for stack in self.statuses
            if stack.facts and (update := stack.facts.update) is not None and not update.over and not update.own
        }
        seen = {(stack.name, each.pool.name): each for stack in self.statuses for each in stack.pools}
        counted = {key: each.pool.machines_at(at.timestamp()) is not None for key, each in seen.items()}
        uncounted = {key: at for key, known in counted.items() if not known}
        contradictions = {
            key: each.verdict.contradictions
            for key, each in seen.items()
            if each.verdict.contradictions or each.pool.contradictions  # that one has none any more has to be known too
        }
        if self.yes and (usages or empty or idle or updating or contradictions or uncounted):
            document = kept(
                usages, empty=empty, idle=idle, updating=updating, contradictions=contradictions, uncounted=uncounted
            )
            self.journal.keep(f"usage/{at:%Y%m%dT%H%M%SZ}.json", json.dumps(document).encode())

    def _check_clock(self, plan: Plan) -> None:
        if self.yes:
            clouds = sorted({cloud for stack in plan.stacks for cloud in stack.clouds})
            for cloud in clouds[:1]:
                must_be_right(cloud, self.now(), off_s_max=self.config.clock_off_s_max)

    def _allowed(self, stacks: int) -> int:
        """How many stacks one run may touch: the smaller of the number and the share, and one of few."""
        # A share as well as a number: a broken metric makes every stack look idle at once, and a small backend
        # would lose all of it to a number alone.
        share = int(stacks * self.config.at_most_percent / 100)
        return min(self.config.at_most_stacks, max(share, 1 if self.config.at_most_percent else 0))

    # Acts -------------------------------------------------------------------------------------------------------------

    def _stack(self, stack: StackPlan, states: Mapping[Row, str]) -> set[Outcome]:
        """What became of the acts on a stack; `states`: which state of it each of them was planned for."""
        before = len(self.results)
        if not stack.accounts:
            for row in states:
                self._say(row, "held back", "sizewell:accounts is not set, so the login cannot be checked")
            return set()
        if not self.yes:
            for row, state in states.items():
                if held := self._held_for_data(stack, row):
                    self._say(row, "held back", held)
                elif state == stack.updated:
                    self._say(row, "would", f"{row.why}; --yes does it")
                else:
                    self._say(row, "held back", WRITTEN_SINCE)
            return {"would"}
        try:
            lock = self.journal.lock(stack.stack, self.now())
        except HeldError as error:  # another run does it, and says so
            for row in states:
                self._say(row, "held back", str(error).partition("\n")[0], to="")
            return set()
        row = next(iter(states))
        try:
            for row, state in states.items():
                self._act(row, state, lock.must_hold)
        except HeldError as error:
            self._say(row, "held back", str(error).partition("\n")[0])
        finally:
            lock.release()
        return {result.outcome for result in self.results[before:]}

    def _act(self, row: Row, state: str, must_hold: Callable[[datetime], None]) -> None:
        """One act, after everything was read again, on the state that it was planned for."""
        try:
            if old := self.outdated():  # somebody may have protected the stack meanwhile
                self._say(row, "held back", old)
                return
            reader = self.fresh()
            listed = {each.name: each for each in self.backend.stacks()}
            if row.stack not in listed:
                self._say(row, "done", "it is already gone")
                return
            # The plan is minutes or hours old, and may come from a file. What is acted on is read under the lock, by a
            # reader without any earlier answer: a cache here would act on what a person has taken back meanwhile.
            at = self.now()
            status = replace(reader, cache=None).one(listed, row.stack, at)
            if not status.fault and status.updated != state:
                self._say(row, "held back", WRITTEN_SINCE)
                return
            if not self._still(row, status):
                return
            if status.parts is not None and self.cluster and self.cluster in status.parts.clusters:
                self._say(row, "held back", f"this is running in its cluster {self.cluster}: schedule it elsewhere")
                return
            must_hold(self.now())
            self._keep_timeline(status, at)  # the time of the look: later ones are in nothing that it saw
            if row.action == "empty":
                self._empty(reader, status, row)
            else:
                self._destroy(reader, status, row, must_hold)
        except HeldError:
            raise
        except SizewellError as error:
            self._fails(row, str(error))

    def _still(self, row: Row, status: StackStatus) -> bool:
        """Whether the act is due at a new look too, by the same clauses as in the plan; else it is held back."""
        verdict = _verdict(status, row.pool)
        if verdict != row.action:
            self._say(row, "held back", f"when checked again it is {verdict}: {_reason(status, row.pool)}")
        return verdict == row.action

    def _keep_timeline(self, status: StackStatus | None, at: datetime) -> None:
        """What a notice or an act rests on, for `teardown replay`."""
        if status is None or status.facts is None:
            return
        path = self.exports.parent / "timelines" / f"{status.name}-{at:%Y%m%dT%H%M%SZ}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(recorded(status.facts, at))
        path.write_text(text, encoding="utf-8")
        self.journal.keep(f"timelines/{path.name}", text.encode())

    def _empty(self, reader: StatusReader, status: StackStatus, row: Row) -> None:
        unit = next(pool.unit for pool in status.pools if pool.pool.name == row.pool)
        cloud = reader.cloud(unit.cloud, status.name)
        self._record("begin", row, process=processes.this(), saves_usd_per_month=_saved(row))
        detail = act.empty(cloud, unit)
        end = status.facts.expires_at if status.facts else None
        past = {"past_end": True} if end is not None and self.now().date() >= end else {}
        self._record("done", row, detail=detail, saves_usd_per_month=_saved(row), **past)
        self._say(row, "done", detail)

    def _destroy(
        self, reader: StatusReader, status: StackStatus, row: Row, must_hold: Callable[[datetime], None]
    ) -> None:
        assert status.parts is not None and status.facts is not None  # noqa: S101, PT018  (it was read, and is due)
        for cloud in status.parts.clouds:  # the login is the stack's, on each of them
            reader.cloud(cloud, status.name)
        if status.parts.stateful and status.name not in self.data:
            names = [f"{what} {resource.name} ({backup_of(resource)})" for what, resource in status.parts.stateful]
            self._say(row, "held back", _without_data(status.name, names))
            return
        proofs = [proof for uri in status.stores for proof in saves.prove(uri)]
        if broken := [proof for proof in proofs if proof.fault]:
            facts = replace(status.facts, unproved=f"{broken[0].uri}: {broken[0].fault}")
            self._still(row, reader.decided(status, facts, self.now()))
            return
        if proofs and not self._still(row, self.fresh().one(self._listed(), row.stack, self.now())):
            return  # whole checkpoints take long to read: somebody may have come back meanwhile
        if status.facts.update is not None:  # of an engine that is known to run no more, or it would not be due
            self._cancel(row, status.facts.update)
        # The fence is asked last, after everything that takes long. "begin" is written before the act and has where the
        # stack lies: once its state is empty, that record alone tells the next run where to look for leftovers.
        must_hold(self.now())
        self._record(
            "begin",
            row,
            proofs=[f"{proof.uri} step {proof.step}" for proof in proofs],
            clouds=list(status.parts.clouds),
            regions=list(status.parts.regions),
            clusters=list(status.parts.clusters),
            host=socket.gethostname(),
            process=processes.this(),
            saves_usd_per_month=_saved(row),
        )
        if keys := keys_of_backups(reader.state(self._listed()[status.name])):
            deleter = self._deleter(reader, status)  # the one that reads does not write states
            act.protect(self.backend, status.name, [key.urn for key in keys], environment=deleter)
        export = self.exports / f"{status.name}-{self.now():%Y%m%dT%H%M%SZ}.json"
        act.destroy(
            self.backend,
            status.name,
            kept=export,
            environment=self._deleter(reader, status),
            keep=lambda data: self.journal.keep(f"exports/{export.name}", data),
        )
        left = reader.state(self._listed()[status.name])
        remains = [
            resource for resource in left.resources if resource.custom and not resource.type.startswith("pulumi:")
        ]
        unkept = [resource.urn for resource in remains if not resource.protect]
        detail = f"its state was kept in {export}; {remaining(remains)}"
        if unkept:
            self._fails(row, f"still in its state: {plural(len(unkept), 'resource')}, such as {unkept[0]}")
            return
        self._record(
            "done",
            row,
            detail=detail,
            saves_usd_per_month=self.journal.begun_saving(row.stack, status.facts.updated_s or 0.0) or _saved(row),
            left=[resource.urn for resource in remains],
        )
        self._say(row, "done", detail)
        self._gone.add(row.stack)
        self._asked_after(reader, status.name, status.beside)

    def _listed(self) -> dict[str, Listed]:
        return {each.name: each for each in self.backend.stacks()}

    # After a destroy --------------------------------------------------------------------------------------------------

    def _after(self, stack: StackPlan) -> None:
        """What stands beside a stack of which nothing stands any more: its end goes once nothing is billed, its images
        on request, its checkpoints never.
        """
        wanted = [f"ttl-{stack.stack}", *([f"images-{stack.stack}"] if stack.stack in self.images else [])]
        if not set(wanted) & set(stack.beside) or not stack.accounts:
            return
        if not self.config.open_at(stack.environment, self.now()):
            return
        if not self.config.acts(stack.environment, "destroy"):
            return
        words = [*self.journal.read().leases(stack.stack), self.config.protection(stack.stack)]
        if any(word is not None and word.until > self.now() for word in words):
            return
        if not self.yes:
            for other in sorted(set(wanted) & set(stack.beside)):
                row = replace(
                    stack.row, stack=other, pool="", action="destroy", why=f"nothing of {stack.stack} remains"
                )
                self._say(row, "would", f"{row.why}; --yes does it once nothing of it is billed")
            return
        try:
            lock = self.journal.lock(stack.stack, self.now())
        except HeldError as error:
            self._say(replace(stack.row, action="destroy"), "held back", str(error).partition("\n")[0])
            return
        try:
            self._asked_after(self.fresh(), stack.stack, stack.beside)
        finally:
            lock.release()

    def _asked_after(self, reader: StatusReader, name: str, beside: Sequence[str]) -> None:
        """Ask the cloud what remains of a destroyed stack, report it with its price, and end the stacks beside it."""
        row = Row(stack=name, pool="", action="destroy", clause="after", why=f"the state of {name} is empty")
        begun = [
            record
            for record in self.journal.read().records
            if record["kind"] == "begin" and record["stack"] == name and "clusters" in record
        ]
        places: Mapping[str, Any] = begun[-1] if begun else {"clouds": (), "regions": (), "clusters": ()}
        try:
            left = [
                each
                for cloud in places["clouds"]
                for each in left_over(
                    reader.cloud(cloud, name),
                    reader.accounts(name),
                    places["regions"],
                    Owner(project=self.tag_of(self.project), stack=self.tag_of(name)),
                    clusters=places["clusters"],
                    catalog=reader.catalog,
                    on=self.now().date(),
                )
            ]
        except SizewellError as error:
            why = f"it is not known what it left: {str(error).partition(chr(10))[0]}; ttl-{name} stays"
            self._say(row, "held back", why)
            return
        # The stack that ends it goes last, and not while anything of it is billed: it is the only thing left that would
        # still take the rest away. Without a record of where the stack was, no answer proves that nothing is there.
        for other in (f"ttl-{name}", f"images-{name}"):
            if other not in beside or (other.startswith("images-") and name not in self.images):
                continue
            billing = [each for each in left if each.bills]
            end = replace(row, stack=other)
            if not begun and other.startswith("ttl-"):
                self._say(
                    end,
                    "held back",
                    f"there is no record of where {name} was deployed: make sure that nothing is billed, then destroy "
                    f"it",
                )
            elif billing and other.startswith("ttl-"):
                self._say(end, "held back", f"{name} left resources that are billed: {_listing(billing)}")
            else:
                self._end(reader, end, name)
        if left:
            self._record("left", row, left=[each.words() for each in left], usd_per_month=_total(left))
            self._say(row, "left over", _listing(left), action="look")

    def _end(self, reader: StatusReader, row: Row, name: str) -> None:
        """Destroy a stack beside one that is gone."""
        parts = stack_parts(reader.state(self._listed()[row.stack]), row.stack)
        if parts.going == 0:
            return
        if parts.stateful or parts.pending:
            self._say(row, "held back", f"{row.stack} holds data, or an update of it was killed: check it by hand")
            return
        self._record("begin", row, process=processes.this())
        export = self.exports / f"{row.stack}-{self.now():%Y%m%dT%H%M%SZ}.json"
        environment = self.config.deleter(reader.accounts(name), parts.environment)
        try:
            act.destroy(
                self.backend,
                row.stack,
                kept=export,
                environment=environment,
                keep=lambda data: self.journal.keep(f"exports/{export.name}", data),
            )
        except SizewellError as error:
            self._fails(row, str(error))
            return
        self._record("done", row, detail=f"its state was kept in {export}")
        self._say(row, "done", f"its state was kept in {export}")

    def _deleter(self, reader: StatusReader, status: StackStatus) -> Mapping[str, str]:
        """Settings of the identity that deletes in the stack's account and environment."""
        environment = status.parts.environment if status.parts else ""
        return self.config.deleter(reader.accounts(status.name), environment)

    # Notices ----------------------------------------------------------------------------------------------------------

    def _notices(self, plan: Plan) -> None:
        """Tell owners what comes, where `decide` says that they were not notified of it."""
        for stack in plan.stacks:
            goes = stack.row in stack.taken(self.data) and self.config.acts(stack.environment, stack.row.action)
            for row in stack.rows if not goes else ():  # its pools go with it, without one
                if row.tell and self.yes:
                    self._tell(stack, row, plan.at)
                elif row.tell:
                    self._say(row, "would", f"tell {stack.owner or 'its owner'}: {row.why}")

    def _due(self, stack: StackPlan, row: Row, at: datetime) -> datetime | None:
        """When what a notice announces is due: its grace runs from the notice, which is sent after the look."""
        rules = self.config.limits().rules(stack.environment)
        if row.next_at is None or rules is None:
            return row.next_at
        if rules.opens(row.next_at - timedelta(seconds=1)) == row.next_at:  # it waits for its hours, not for its grace
            return max(row.next_at, self.now())
        return rules.opens(row.next_at + (self.now() - at)) or row.next_at

    def _tell(self, stack: StackPlan, row: Row, at: datetime) -> None:
        row = replace(row, next_at=self._due(stack, row, at))
        acts = self.config.acts(stack.environment, row.next_step)
        text = notice(stack, row, acts=acts)
        observed = {"observed": row.next_step} if row.next_step and not acts else {}
        try:
            if not self._channels.receivers(stack.stack).count:
                self._unheard(row, text)
                return
        except ServiceError as error:
            self._say(row, "failed", f"no notice was delivered: {str(error).partition(chr(10))[0]}", action="notice")
            return
        step = Notice(stack=row.stack, pool=row.pool, about=row.about, text=text)
        heard, failed = self._channels.to_owner(stack.stack, step)
        if not heard:
            self._say(row, "failed", f"no notice was delivered: {failed[0]}", action="notice")
            return
        self._keep_timeline(next((each for each in self.statuses if each.name == row.stack), None), at)
        due = {"due": row.next_at.isoformat()} if row.next_at is not None else {}
        about = {"about": row.about, "episode": row.episode, **observed, **due}
        self._record("notice", row, **about, heard=heard, unheard=failed, text=text)
        self._say(row, "told", "; ".join([text, *(f"not told: {each}" for each in failed)]), action="notice")

    @property
    def _channels(self) -> Channels:
        return Channels(backend=self.backend, config=self.config, fresh=self.fresh, send=self.send or post)

    def _unheard(self, row: Row, text: str) -> None:
        """A notice for which there is nobody: it counts for nothing, and is said once a day."""
        day_ago_s = self.now().timestamp() - DAY_S
        told = self.journal.told(row.stack, row.pool)
        if any(not notice.heard and notice.about == row.about and notice.at_s > day_ago_s for notice in told):
            return
        self._record("notice", row, about=row.about, episode=row.episode, heard=[], unheard=[], text=text)
        self._say(row, "unheard", f"sizewell:notify names no receiver, so nothing follows: {text}", action="notice")

    # Messages of what was done, failed or stands ----------------------------------------------------------------------

    def _hear_of_acts(self) -> None:
        """Say what acts became, of this run and of earlier ones that did not live to say it."""
        if self.yes:
            self._hear(news.happened(self.journal.read().records, self.now()))

    def _hear_of_what_stands(self, plan: Plan) -> None:
        """Say what is not known, warned of and held back."""
        if not self.yes:
            return
        held = [
            (each.stack, each.pool, each.action, f"{each.outcome}: {each.detail}")
            for each in self.results
            if each.outcome in ("held back", "left over", "unheard")
            and each.action != "message"
            and (each.stack, each.pool) not in self._answered
        ]
        self._hear(news.stands(plan, held))
        if (stuck := news.stuck(self.journal.read().records, self.now())) is not None:
            self._hear([stuck])

    def _hear(self, what: Sequence[news.News]) -> None:
        """Tell what was not told yet, or not since yesterday. It is noted after it was sent: a run that is killed
        between the two says it twice, and none leaves it out.
        """
        fresh = [
            each
            for each in what
            if (each.stack, each.key) not in self._undelivered
            and (not self.only or not each.stack or each.stack in self.only)
        ]
        for stack, own in news.unsaid(fresh, self.journal.records, self.now()):
            kinds = {each.kind for each in own}
            about = next(kind for kind in ("failed", "held back", "stopped") if kind in kinds)
            text = news.message(own, self._owners.get(stack, ""))
            calm = about == "stopped"
            heard, failed = self._channels.to_anybody(Notice(stack=stack, pool="", about=about, text=text, calm=calm))
            row = Row(stack=stack, pool="", action="keep", clause="message", why=about)
            if not heard and (failed or not stack):
                # A stack that was destroyed took its topic with it: no route to its addresses is left, which is no
                # fault of this run. It is tried in each run for some days.
                why = "; ".join(failed) or "teardown.yaml names no operators"
                outcome: Outcome = "unheard" if calm or stack in self._gone else "failed"
                tried = f"tried {own[0].key}"
                if not news.said_today(stack, tried, self.journal.records, self.now()):
                    self._say(row, outcome, f"{why}; nobody heard: {text}", action="message")
                    if stack:  # it is printed daily, and tried in each run
                        self._record("message", row, keys=[tried], heard=[], unheard=failed, text="")
                if stack:
                    self._undelivered |= {(each.stack, each.key) for each in own}
                    continue
            elif not heard and not any(each.stack == stack and each.outcome == "unheard" for each in self.results):
                nobody = f"neither sizewell:notify of {stack} nor teardown.yaml names a receiver"
                self._say(row, "unheard", f"{nobody}; nobody heard: {text}", action="message")
            LOG.info("%s: %s; %s", stack or "the operators", text, f"told {', '.join(heard)}" if heard else "unheard")
            self._record("message", row, keys=[each.key for each in own], heard=heard, unheard=failed, text=text)

    # Records ----------------------------------------------------------------------------------------------------------

    def _record(self, kind: str, row: Row, **content: Any) -> None:
        about = {"stack": row.stack, "subject": row.pool, "owner": self._owners.get(row.stack, "")}
        self.journal.write(kind, self.now(), **about, action=row.action, why=row.why, **content)

    def _fails(self, row: Row, why: str) -> None:
        self._record("failed", row, detail=why[:2000])
        self._say(row, "failed", why.partition("\n")[0])

    def _say(
        self, row: Row, outcome: Outcome, detail: str, *, action: str = "", to: Literal["owner", "report", ""] = "owner"
    ) -> None:
        """A line of this run's answer. What is held back is noted for the report too, and its owner hears of it; not
        where a person asked for it and reads this, nor where another run is at it, which says so itself.
        """
        subject = f"{row.stack}/{row.pool}" if row.pool else row.stack
        LOG.info("%s: %s: %s: %s", subject, action or row.action, outcome, detail)
        if outcome == "held back" and to != "owner":
            self._answered.add((row.stack, row.pool))
        if outcome == "held back" and to and self.yes:
            self._record("held", row, detail=detail, **({} if to == "owner" else {"asked": True}))
        self.results.append(
            Result(stack=row.stack, pool=row.pool, action=action or row.action, outcome=outcome, detail=detail)
        )


_TO_COME: Final = frozenset({"expires", "uncounted"})  # of a stack that is not past its end: nothing is to be done yet
_HOLDS: Final = frozenset({"window", "updating", "protected", "leased"})  # these keep what would not go, too


def waiting(plan: Plan, answered: Collection[tuple[str, str]]) -> Iterator[tuple[Row, Outcome, str]]:
    """Of stacks that were named, what is not answered yet: what would go and is held, with its reason; what goes
    later, with its time.
    """
    for row in [row for stack in plan.stacks for row in stack.rows]:
        holds = row.action in ("warn", "unknown") or row.clause in _HOLDS
        if not holds or (row.stack, row.pool) in answered or not (row.pool or row.clause not in _TO_COME):
            continue
        when = f"; from {row.next_at:%Y-%m-%d %H:%M} UTC" if row.next_at else ""
        yield row, "not due" if row.next_at and row.clause != "window" else "held back", f"{row.why}{when}"


def _of(plan: Plan, chosen: Mapping[tuple[str, str], Approved]) -> tuple[StackPlan, ...]:
    """The stacks of which an earlier plan was approved: nothing is done with others, and their owners hear nothing."""
    named = {stack for stack, _ in chosen}
    return tuple(stack for stack in plan.stacks if stack.stack in named)


def _without_data(stack: str, data: Sequence[str]) -> str:
    way_out = f"save it, then sizewell teardown run {stack} --data {stack} --yes"
    return f"{news.DATA}: {', '.join(data[:5])}; {way_out}"


def _listing(left: Sequence[Leftover]) -> str:
    """Leftovers in a line."""
    more = f" and {len(left) - 5} more" if len(left) > 5 else ""
    return "; ".join(each.words() for each in left[:5]) + more


def _total(left: Sequence[Leftover]) -> str:
    """US dollars per month of all; `?` where one of them has no price."""
    known = [each.usd_per_month for each in left if each.usd_per_month is not None]
    return str(sum(known)) if len(known) == len(left) else "?"


def notice(stack: StackPlan, row: Row, *, acts: bool = True) -> str:
    """The text for an owner, with the command that objects; `acts`: whether the step is taken, or only noted."""
    what = f"pool {row.pool} of {row.stack}" if row.pool else f"stack {row.stack}"
    due = f" from {row.next_at:%Y-%m-%d %H:%M} UTC" if row.next_at else ""
    due += " once nothing holds it any more" if row.next_step and not row.next_at else ""
    done = {"empty": "emptied", "destroy": "destroyed"}.get(row.next_step, "")
    verb = "" if not done else f" is {done}" if acts else f" would be {done}"
    object_ = f"sizewell keep {row.stack} 24h --reason TEXT"
    whose = f" ({stack.owner})" if stack.owner else ""
    observed = "" if acts or not done else " This is only observed, and not done: say if it is wrong."
    return f"{what}{whose}{verb}{due}: {row.why}.{observed} To {'object' if verb else 'postpone its end'}: {object_}"


def _saved(row: Row) -> str:
    """US dollars per month of an act, as the journal has it; `?`: not known."""
    return "?" if row.saves_usd_per_month is None else str(row.saves_usd_per_month)


def _approved(chosen: Mapping[tuple[str, str], Approved], row: Row) -> bool:
    """Whether a plan that was given has this very act."""
    return (row.stack, row.pool) in chosen and chosen[row.stack, row.pool].action == row.action


def _saving(stack: StackPlan) -> float:
    return float(sum(row.saves_usd_per_month or 0 for row in stack.rows))


def _verdict(status: StackStatus, pool: str) -> str:
    if not pool:
        return status.verdict.action
    return next((each.verdict.action for each in status.pools if each.pool.name == pool), "gone")


def _reason(status: StackStatus, pool: str) -> str:
    if not pool:
        return status.verdict.reason
    return next((each.verdict.reason for each in status.pools if each.pool.name == pool), "it is not in the state")
