"""One run: tell owners, empty idle pools, destroy stacks that are past their end; in which order, and how many."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from sizewell.sizing.errors import ServiceError, SizewellError
from sizewell.sizing.units import plural
from sizewell.teardown import news
from sizewell.teardown.acting import after, cancel, held_for_data, take
from sizewell.teardown.announcing import hear, hear_of_acts, hear_of_what_stands, send_notices
from sizewell.teardown.clock import must_be_right
from sizewell.teardown.outcomes import Outcome, Result, Run, saved
from sizewell.teardown.planning import Approved, Plan, Row, StackPlan
from sizewell.teardown.savings import Stop, ends, stops
from sizewell.teardown.usage import empty_of, kept, usage_of

LOG: Final = logging.getLogger(__name__)


class Runner(Run):
    """Carries a plan out."""

    __slots__ = ()

    def run(self, plan: Plan, chosen: Mapping[tuple[str, str], Approved] | None = None) -> list[Result]:
        """Carry out what is due in `plan`; of it only what `chosen` has, where an earlier plan was approved.

        ServiceError where nothing may be done at all: telemetry is missing, the clock is wrong.
        """
        self.owners = {stack.stack: stack.owner for stack in plan.stacks}
        asked = set(self.only)
        if chosen is not None:
            self.only = {stack for stack, _ in chosen}
        self.gone = {stack.stack for stack in plan.stacks if stack.row.clause == "nothing"}
        self._check_clock(plan)
        self._keep_usage(plan.at)
        self._finish_emptied(plan)
        hear_of_acts(self)  # of an earlier run, which was killed before it said what it did
        if plan.halted:
            if self.yes:
                hear(self, [news.halted(plan)])
            raise ServiceError(f"halted: {plan.halted}; nothing was done\n  fix: {plan.way_out}")
        self._end_stops(plan)
        self._cancel_left(plan)
        given = plan if chosen is None else replace(plan, stacks=_of(plan, chosen))
        send_notices(self, given)
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
            for row in self._acts(stack) if stack in given.stacks else ():  # of others the plan says nothing
                if row not in rows:
                    self.say(row, "held back", "it is not in the given plan", to="report")
            if not rows:
                continue
            if acted >= allowed or failed >= allowed:
                for row in rows:  # no later run destroys what holds data
                    held = held_for_data(self, stack, row)
                    most = f"{plural(allowed, 'stack')} at most in one run; the next run continues"
                    tried = (
                        f"{plural(failed, 'stack')} failed before it, and a run tries no more; the next begins with it"
                    )
                    self.say(row, "held back", held or (most if acted >= allowed else tried))
                continue
            states = {row: chosen[row.stack, row.pool].updated if chosen else stack.updated for row in rows}
            outcomes = take(self, stack, states)
            acted += "done" in outcomes or "would" in outcomes
            failed += "failed" in outcomes
            hear_of_acts(self)
        for row in [row for stack in given.stacks for row in stack.rows] if chosen else ():
            act = chosen.get((row.stack, row.pool)) if chosen else None
            if act is not None and act.action != row.action:
                why = f"by now it is {row.action}: {row.why}"
                self.say(row, "held back", why, action=act.action, to="report")
        here = {(row.stack, row.pool) for stack in plan.stacks for row in stack.rows}
        for (name, pool), act in (chosen or {}).items():
            if (name, pool) not in here and (not asked or name in asked):
                row = Row(stack=name, pool=pool, action="keep", clause="gone", why="it was in the given plan")
                gone = f"{name} has no pool {pool} now" if (name, "") in here else f"there is no stack {name} now"
                self.say(
                    row, "held back", f"{gone}: it was removed or renamed; plan again", action=act.action, to="report"
                )
        if chosen is None:
            stacks = {each.stack: each for each in plan.stacks}
            for row, outcome, detail in waiting(plan, {(each.stack, each.pool) for each in self.results}):
                held = held_for_data(self, stacks[row.stack], row)
                said = f"{detail}; {held}" if held else detail
                if asked or (row.clause == "updating" and not row.pool):  # each run names the engine at work on a stack
                    self.say(row, outcome, said, action=row.next_step or "run", to="report" if asked else "")
        for stack in plan.stacks:  # destroyed by an earlier run, or by a person
            if stack.row.clause == "nothing" and chosen is None:
                after(self, stack)
        hear_of_acts(self)
        if chosen is None:  # who gives a plan reads what becomes of it
            hear_of_what_stands(self, plan)
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

    def _observe(self, plan: Plan) -> None:
        """Note what would be done where teardown observes: once for each time of idleness, in words in each run."""
        stopped = {(stop.stack, stop.pool, stop.action) for stop in self._stops() if not stop.acted}
        for stack in plan.stacks:
            for row in stack.taken(self.data):
                if self.config.acts(stack.environment, row.action):
                    continue
                if self.yes and (row.stack, row.pool, row.action) not in stopped:
                    self.record("would", row, saves_usd_per_month=saved(row), clause=row.clause)
                mode = f"mode is observe for {row.action} in {stack.environment}"
                self.say(row, "observed", f"would be done, {mode}: {row.why}")

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
            self.record("done", act, detail=detail, saves_usd_per_month=saves)
            self.say(act, "done", detail)

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
                    cancel(self, row, update)
                except SizewellError as error:
                    self.say(row, "failed", str(error).partition("\n")[0], action="cancel")
                else:
                    self.say(row, "done", f"the engine's lock of {update.by}: {update.over}", action="cancel")

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


def _approved(chosen: Mapping[tuple[str, str], Approved], row: Row) -> bool:
    """Whether a plan that was given has this very act."""
    return (row.stack, row.pool) in chosen and chosen[row.stack, row.pool].action == row.action


def _saving(stack: StackPlan) -> float:
    return float(sum(row.saves_usd_per_month or 0 for row in stack.rows))
