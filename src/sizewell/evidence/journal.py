"""What a run has begun and what came of it, on disk before it goes on: replaced whole, synced, its folder too."""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sizewell.evidence.record import STAGES, Amount, Attempt, Cause, Figure, Machine, Name, Package
from sizewell.sizing.errors import UsageError
from sizewell.sizing.files import write_whole
from sizewell.sizing.versions import refusal
from sizewell.teardown import processes

TIMED: Final[tuple[Name, ...]] = ("rights", "up", "reachable", "guard", "destroyed", "inventory")  # with a limit each
FOLDER: Final = Path(".sizewell/evidence")
Live = Literal["planned", "begun", "passed", "failed", "not tried"]


class Clock:
    """Time of day, and seconds that no change of the clock moves."""

    def now_s(self) -> float:
        return time.time()

    def steady_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class Step(_Kept):
    """A stage as the journal has it. `begun` that stands at the start of a process was cut off: nobody knows more."""

    state: Live = "planned"
    cause: Cause = ""
    seconds: Amount | None = None
    usd_max: Amount | None = None
    figures: dict[Figure, Amount] = Field(default_factory=dict)


class Notes(_Kept):
    """The run: its limits, where its resources may be, how far it got."""

    schema_id: Literal["sizewell.evidence-run/1"] = Field("sizewell.evidence-run/1", alias="schema")
    run: str = Field(default_factory=lambda: uuid.uuid4().hex)
    stack: str
    stacks: Annotated[
        list[str], Field(min_length=1)
    ]  # in the order in which they come up: the expiry stack first, the stack itself last
    wanted: list[Name]
    usd_limit: Amount
    seconds_limit: Amount
    usd_per_hour_max: Amount
    usd_once_max: Amount
    stage_s: dict[Name, Amount]
    versions: dict[Package, str]
    machines: list[Machine]
    clouds: list[str]
    regions: list[str]
    clusters: list[str] = Field(default_factory=list)  # what they make themselves carries their name alone
    tagged: list[str] = Field(default_factory=list)  # names of what was still there when somebody looked last
    unseen: dict[str, int] = Field(default_factory=dict)  # by stack: what may be in no state, and nobody could look up
    engine: dict[str, str] = Field(default_factory=dict)  # the process of `pulumi` that runs, or was cut off
    decision: str = ""  # the digest of the decision that was run; "": of a release that did not note it
    started_s: float
    seen_s: float  # the time of day at the last word
    ended_s: float | None = None
    elapsed_s: Amount = 0.0  # since `up` began, as far as it is known
    interrupted: Annotated[int, Field(ge=0)] = 0
    clock_went_back: bool = False
    steps: dict[Name, Step] = Field(default_factory=lambda: {name: Step() for name in STAGES})
    attempts: list[Attempt] = Field(default_factory=list)  # that failed or were cut off, and were followed by another

    @model_validator(mode="after")
    def _whole(self) -> Notes:
        if lacking := {*STAGES} - {*self.steps} | {*TIMED} - {*self.stage_s}:
            raise ValueError(f"steps, stage_s: nothing is said of {', '.join(sorted(lacking))}")
        if self.engine and not self.engine.get("pid", "").isdecimal():
            raise ValueError("engine.pid: is no number")
        return self

    @property
    def unfinished(self) -> bool:
        """Whether something of it may be left."""
        return self.steps["up"].state not in ("planned", "not tried") and self.steps["inventory"].state != "passed"


class Journal:
    """The notes of a run in a file, held by one process at a time."""

    def __init__(self, path: Path, notes: Notes, clock: Clock, *, resumed: bool) -> None:
        self.path, self.notes, self.clock = path, notes, clock
        self._from_s, self._before_s = clock.steady_s(), notes.elapsed_s
        notes.interrupted += resumed and notes.ended_s is None
        if resumed and self.built and notes.ended_s is None:
            # Between two processes only the time of day is there to go by. One that went back says nothing: the run
            # then ends, since nobody knows how long it has been billed.
            gap_s = clock.now_s() - notes.seen_s
            notes.clock_went_back |= gap_s < 0
            self._before_s += max(gap_s, 0.0)

    @property
    def elapsed_s(self) -> float:
        """Seconds since something may be billed."""
        notes = self.notes
        if not self.built or notes.ended_s is not None:
            return notes.elapsed_s
        return self._before_s + self.clock.steady_s() - self._from_s

    @property
    def built(self) -> bool:
        """Whether an engine may have built something: from the moment before it starts."""
        return self.notes.steps["up"].state not in ("planned", "not tried")

    @property
    def over(self) -> bool:
        """Whether nothing of the run is left, as far as the cloud was asked."""
        return not self.notes.unfinished

    def write(self) -> None:
        """Put down how it stands. What comes next only comes once this is on the disk."""
        notes = self.notes
        notes.elapsed_s, notes.seen_s = self.elapsed_s, self.clock.now_s()
        write_whole(self.path, notes.model_dump_json(by_alias=True, indent=1) + "\n")
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def begin(self, name: Name, usd_max: float) -> None:
        """A stage begins; `up` starts the time that is billed."""
        if name == "up":
            self._from_s, self._before_s = self.clock.steady_s(), 0.0
        earlier = self.notes.steps[name]
        if earlier.state in ("begun", "failed"):
            self._tried(name, earlier.cause or "killed", earlier.seconds)
        self.notes.steps[name] = Step(state="begun", usd_max=usd_max)
        self.write()

    def tried(self, name: Name, cause: Cause, seconds: float) -> None:
        """A stage that has begun failed, and is tried again."""
        self._tried(name, cause, seconds)
        self.write()

    def _tried(self, name: Name, cause: Cause, seconds: float | None) -> None:
        self.notes.attempts.append(Attempt(stage=name, cause=cause, seconds=seconds and round(seconds, 1)))

    def interrupt(self) -> None:
        """Whoever runs it has it end here: what has begun was cut off, and why."""
        for step in self.notes.steps.values():
            if step.state == "begun":
                step.cause = "interrupted"
        self.write()

    def engine(self, pid: int | None) -> None:
        """An engine is about to change a stack; None: it has ended."""
        self.notes.engine = {} if pid is None else processes.of(pid)
        self.write()

    def end(
        self,
        name: Name,
        state: Live,
        cause: Cause = "",
        *,
        seconds: float | None = None,
        figures: dict[Figure, float] | None = None,
    ) -> None:
        """What came of a stage."""
        usd_max = self.notes.steps[name].usd_max
        step = Step(state=state, cause=cause, seconds=seconds, usd_max=usd_max, figures=figures or {})
        self.notes.steps[name] = step
        self.write()

    def finish(self) -> None:
        """Nothing of it is left: what it took and cost moves no more."""
        elapsed_s = self.elapsed_s
        self.notes.elapsed_s, self.notes.ended_s = elapsed_s, self.clock.now_s()
        self.write()


def path_of(root: Path, stack: str) -> Path:
    """The journal of a stack's run."""
    return root / FOLDER / f"{stack}.json"


def unfinished(root: Path) -> list[str]:
    """The stacks whose run may have left something."""
    return [each.stack for path in sorted((root / FOLDER).glob("*.json")) if (each := read(path)).unfinished]


def read(path: Path) -> Notes:
    """The notes of a run. UsageError where there are none, or they are damaged."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"{path}: no run of {path.stem} has been started here\n  fix: sizewell evidence run {path.stem}"
        ) from None
    try:
        wrong, fix = refusal("evidence-run", json.loads(text).get("schema"))
    except (ValueError, AttributeError):
        wrong = ""  # which the form below says with its place
    if wrong:
        raise UsageError(f"{path}: schema {wrong}\n  fix: {fix}")
    try:
        notes = Notes.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(
            f"{path}: the journal is damaged at {'.'.join(map(str, first['loc'])) or 'its start'}: {first['msg']}\n"
            f"  fix: take the stacks down without it: pulumi destroy -s {path.stem}, then of ttl-{path.stem}; "
            f"sizewell reconcile {path.stem} lists what is left; then remove the file"
        ) from None
    if notes.stack != path.stem:
        raise UsageError(
            f"{path}: stack: is of {notes.stack}, where its name says {path.stem}\n"
            f"  fix: name it {notes.stack}{path.suffix}"
        )
    return notes


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a run: UsageError where another process does. The system lets go of it where this one is killed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (FileExistsError, NotADirectoryError):
        stands = next(each for each in (path.parent, *path.parent.parents) if each.exists() and not each.is_dir())
        raise UsageError(f"{stands} is no folder\n  fix: move it away, and run again") from None
    with path.with_suffix(".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"{path.stem}: another `sizewell evidence` works on it\n  fix: wait until it has ended"
            ) from None
        yield


def moment(seconds: float) -> str:
    """A time as records have it.

    >>> moment(0)
    '1970-01-01T00:00:00Z'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


Say = Callable[[str], None]
