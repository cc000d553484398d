"""From stage to stage: what a run does next, when it stops, and how it ends with nothing left.

Nothing here knows a cloud or the engine: a `World` acts and asks. From `up` on every way, of a failure, a limit, a
killed process and a clock that went back, leads through `destroyed` and `inventory`; only an inventory that was
answered and empty ends the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from sizewell.clouds.calls import CloudError
from sizewell.evidence.journal import Clock, Journal, Live, Say, moment
from sizewell.evidence.record import STAGES, WHAT, Cause, Figure, Limits, Name, Record, Stage
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.versions import schema_of

Figures = dict[Figure, float]
LIVE: Final[tuple[Name, ...]] = ("rights", "up", "reachable", "guard")
LAST: Final[tuple[Name, ...]] = ("destroyed", "inventory")
ROUNDS: Final = 4  # of taking down what is left
WAIT_S: Final = 30.0  # before the next: a cloud's list lags behind what was deleted
# How providers and the engine say why; the first that matches.
_SAYS: Final[tuple[tuple[Cause, str], ...]] = (
    ("throttled", r"throttl|rate ?exceeded|too ?many ?requests|requestlimitexceeded|\b429\b"),
    ("login", r"expired ?token|token .{0,40}expired|invalidclienttokenid|not logged in|reauthenticat|aadsts"),
    ("capacity", r"insufficient\w*capacity|zone_resource_pool|stockout|sku ?not ?available|allocationfailed|capacity"),
    ("quota", r"quota|limit ?exceeded|vcpulimit"),
    ("denied", r"access ?denied|unauthori[sz]ed|authori[sz]ationfailed|permission|forbidden|\b403\b"),
    ("unanswered", r"timed? ?out|not finished after|unavailable|connection|\b50[0234]\b"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Left:
    """What a cloud still lists of a stack: how much, how much of it is billed, and its names for its owner alone."""

    things: int
    billed: int
    names: tuple[str, ...] = ()
    unseen: int = 0  # nobody can tell whether they are there


class StageError(SizewellError):
    """A stage that was tried and failed, with figures."""

    def __init__(self, cause: Cause, detail: str, figures: Figures | None = None) -> None:
        self.because, self.figures = cause, figures or {}
        super().__init__(detail)


class SkipError(SizewellError):
    """A stage that cannot be tried here: it neither passed nor failed."""

    def __init__(self, cause: Cause) -> None:
        self.because = cause
        super().__init__(f"not tried: {cause}")


class World(Protocol):
    """The engine and the clouds of one run. Each method raises a SizewellError where it fails."""

    def rights(self) -> Figures: ...
    def up(self, seconds: float) -> Figures: ...
    def reachable(self, seconds: float) -> Figures: ...
    def guard(self, seconds: float) -> Figures: ...
    def end_engine(self) -> None:
        """End an engine that a killed process left, or wait for it; free the stacks that it held."""

    def take_down(self, last: bool) -> None:
        """Destroy the stacks, from their states; done again where it was done. The last time also where what a lost
        answer left cannot be taken in before.
        """

    def left(self) -> Left:
        """Ask the clouds what is still there."""

    def take_in(self) -> None:
        """Delete what stands in no state, as a lost answer leaves it."""


def cause_of(error: SizewellError) -> Cause:
    """Why something failed, in a word that a record may have.

    >>> cause_of(SizewellError("dev: up failed: InsufficientInstanceCapacity")), cause_of(SizewellError("boom"))
    ('capacity', 'engine')
    """
    if isinstance(error, StageError):
        return error.because
    text = str(error)
    said: Cause = next((cause for cause, words in _SAYS if re.search(words, text, re.IGNORECASE)), "")
    if isinstance(error, CloudError):
        if error.reason == "login":
            return "login"
        if error.reason == "denied":
            return "denied"
        return said or ("missing" if error.reason == "missing" else "unanswered")
    return said or "engine"


@dataclass(slots=True)
class Run:
    """One run, by its journal."""

    journal: Journal
    world: World
    clock: Clock
    say: Say = lambda _: None

    def go(self) -> bool:
        """Do the stages that are left, then take everything down; whether nothing is left."""
        notes = self.journal.notes
        for name in LIVE:
            step = notes.steps[name]
            if step.state == "begun" and name == "up":  # nobody knows how far it got: it is taken down
                self.journal.end("up", "failed", step.cause or "killed")
            elif step.state in ("planned", "begun"):
                if cause := self._not_now(name):
                    begun = step.state == "begun"
                    self.journal.end(
                        name, "failed" if begun else "not tried", (step.cause or "killed") if begun else cause
                    )
                else:
                    self._stage(name)
        return self.down()

    def down(self, cause: Cause = "earlier stage") -> bool:
        """Take down what may stand, and ask until nothing is there; whether nothing is."""
        notes = self.journal.notes
        for name in LIVE:
            if notes.steps[name].state == "begun":
                self.journal.end(name, "failed", notes.steps[name].cause or "killed")
            elif notes.steps[name].state == "planned":
                self.journal.end(name, "not tried", cause if name in notes.wanted else "not asked for")
        if not self.journal.built:
            for name in LAST:
                self.journal.end(name, "not tried", "nothing built")
            if notes.ended_s is None:
                self.journal.finish()
            return True
        if self.journal.over:
            return True
        return self._take_down()

    def price(self, name: Name) -> float:
        """US dollars that a stage costs at most; nothing before something stands."""
        notes = self.journal.notes
        if name == "rights" or "up" not in notes.wanted:
            return 0.0
        once = notes.usd_once_max if name == "up" else 0.0
        return round(once + notes.usd_per_hour_max * notes.stage_s.get(name, 0.0) / 3600, 4)

    def spent_usd(self, elapsed_s: float) -> float:
        """US dollars that were billed at most: the first hour whole, since some things are billed by the hour."""
        notes = self.journal.notes
        if not self.journal.built:
            return 0.0
        return round(notes.usd_once_max + notes.usd_per_hour_max * (max(elapsed_s, 0.0) + 3600) / 3600, 4)

    def _not_now(self, name: Name) -> Cause:
        """Why a stage is not tried; "" where it is."""
        notes = self.journal.notes
        if name not in notes.wanted:
            return "not asked for"
        if notes.clock_went_back and name != "rights":
            return "clock"
        if name == "up" and notes.steps["rights"].state == "failed":
            return "earlier stage"
        if name in ("reachable", "guard") and notes.steps["up"].state != "passed":
            return "earlier stage"
        if self._seconds_left(name) < notes.stage_s[name]:
            return "limit"
        return ""

    def _seconds_left(self, name: Name) -> float:
        """What the limits of time and of money leave for a stage, once taking down has its time."""
        notes = self.journal.notes
        if name == "rights":
            return notes.stage_s[name]
        seconds = notes.seconds_limit
        if notes.usd_per_hour_max > 0:
            seconds = min(seconds, (notes.usd_limit - notes.usd_once_max) / notes.usd_per_hour_max * 3600 - 3600)
        return seconds - self.journal.elapsed_s - sum(notes.stage_s[each] for each in LAST)

    def _stage(self, name: Name) -> None:
        acts: dict[Name, Callable[[float], Figures]] = {
            "rights": lambda _: self.world.rights(),
            "up": self.world.up,
            "reachable": self.world.reachable,
            "guard": self.world.guard,
        }
        notes = self.journal.notes
        price = self.price(name)
        self.say(f"{name}: {WHAT[name]}; at most {notes.stage_s[name] / 60:.0f} minutes and {price:.2f} USD")
        self.journal.begin(name, price)
        begun_s = self.clock.steady_s()
        try:
            figures = acts[name](notes.stage_s[name])
        except SkipError as error:
            self.journal.end(name, "not tried", error.because)
            self.say(f"{name}: {error}")
        except SizewellError as error:
            seconds, own = self.clock.steady_s() - begun_s, error.figures if isinstance(error, StageError) else {}
            self.journal.end(name, "failed", cause_of(error), seconds=seconds, figures=own)
            self.say(f"{name}: failed: {error}")
        else:
            self.journal.end(name, "passed", seconds=self.clock.steady_s() - begun_s, figures=figures)
            self.say(f"{name}: passed")

    def _take_down(self) -> bool:
        journal, steady_s = self.journal, self.clock.steady_s
        begun_s, rounds, faults = steady_s(), 0, list[SizewellError]()
        self.say(f"destroyed: {WHAT['destroyed']}; at most {self.price('destroyed'):.2f} USD")
        journal.begin("destroyed", self.price("destroyed"))
        for rounds in range(1, ROUNDS + 1):
            faults, left, round_s = [], None, steady_s()
            try:
                self.world.end_engine()
                self.world.take_down(last=rounds == ROUNDS)
            except SizewellError as error:
                faults.append(error)
            try:  # also where the destroy failed: the list tells what of it stands
                left = self.world.left()
                journal.notes.tagged = list(left.names[:50])
                if left.things:
                    self.world.take_in()
            except SizewellError as error:
                faults.append(error)
            for fault in faults:
                self.say(f"destroyed: round {rounds} of {ROUNDS}: {fault}")
            if not faults and left is not None and not left.things:
                break
            if rounds < ROUNDS:
                causes: list[Cause] = [cause_of(fault) for fault in faults]
                for cause in causes or ["left"]:
                    journal.tried("destroyed", cause, steady_s() - round_s)
                self.clock.sleep(WAIT_S * rounds)
        ended: tuple[Live, Cause] = ("failed", cause_of(faults[0])) if faults else ("passed", "")
        journal.end("destroyed", *ended, seconds=steady_s() - begun_s, figures={"rounds": rounds})
        return self._inventory()

    def _inventory(self) -> bool:
        """The last look, which alone says that nothing is left."""
        journal = self.journal
        journal.begin("inventory", self.price("inventory"))
        begun_s = self.clock.steady_s()
        try:
            left = self.world.left()
        except SizewellError as error:
            journal.end("inventory", "failed", cause_of(error), seconds=self.clock.steady_s() - begun_s)
            self.say(f"inventory: it is not known what is left: {error}")
            return False
        journal.notes.tagged = list(left.names[:50])
        figures: Figures = {"resources_left": left.things, "resources_left_billed": left.billed}
        figures |= {"resources_not_known": left.unseen} if left.unseen else {}
        seconds = self.clock.steady_s() - begun_s
        if left.things or journal.notes.steps["destroyed"].state != "passed":
            # A destroy that failed may have left what carries no tag: an empty list then proves too little.
            journal.end("inventory", "failed", "left", seconds=seconds, figures=figures)
            for name in left.names[:20]:
                self.say(f"inventory: still there: {name}")
            return False
        journal.end("inventory", "passed", seconds=seconds, figures=figures)
        journal.finish()
        return True


def record_of(run: Run, found: dict[Name, Stage]) -> Record:
    """The record of a run that is over, unchecked; `found`: stages whose figures come from files, as a bill."""
    notes, elapsed_s = run.journal.notes, run.journal.elapsed_s
    elapsed_s, spent = round(elapsed_s, 1), run.spent_usd(elapsed_s)
    ended_s = max(notes.ended_s if notes.ended_s is not None else notes.seen_s, notes.started_s)
    stages = []
    for name in STAGES:
        step = notes.steps[name]
        if name in found:
            stages.append(found[name])
        elif name in ("checkpoint", "collective"):
            stages.append(Stage(stage=name, outcome="not tried", cause="not automated"))
        elif name in ("measured", "billed"):
            stages.append(Stage(stage=name, outcome="not tried", cause="no data"))
        elif step.state == "planned" or step.state == "begun":  # noqa: PLR1714  (which narrows the type)
            stages.append(Stage(stage=name, outcome="failed", cause="killed", usd_max=step.usd_max))
        else:
            stages.append(
                Stage(
                    stage=name,
                    outcome=step.state,
                    cause=step.cause,
                    seconds=None if step.seconds is None else round(step.seconds, 1),
                    usd_max=step.usd_max,
                    figures=step.figures,
                )
            )
    kept = spent <= notes.usd_limit and elapsed_s <= notes.seconds_limit
    return Record.model_construct(  # `record.read` checks it, and says what is wrong
        schema_id=schema_of("evidence"),
        run=notes.run,
        versions=notes.versions,
        machines=tuple(notes.machines),
        started_at=moment(notes.started_s),
        ended_at=moment(ended_s),
        interrupted=notes.interrupted,
        clock_went_back=notes.clock_went_back,
        limits=Limits(
            usd=notes.usd_limit,
            seconds=notes.seconds_limit,
            usd_per_hour_max=notes.usd_per_hour_max,
            usd_spent_max=spent,
            seconds_spent=elapsed_s,
            kept=kept,
        ),
        stages=tuple(stages),
        attempts=tuple(notes.attempts),
    )
