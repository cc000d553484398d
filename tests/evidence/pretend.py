"""A cloud, an engine and a clock that outlive the process that is killed, and what goes wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema

from sizewell.clouds.calls import CloudError
from sizewell.evidence import record
from sizewell.evidence.journal import Clock, Journal, Notes, path_of, read
from sizewell.evidence.record import Machine, Record
from sizewell.evidence.run import Left, Run, StageError, record_of
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ServiceError, SizewellError

SCHEMA = json.loads((Path(record.__file__).parents[1] / "schemas/evidence.schema.json").read_text(encoding="utf-8"))
CATALOG = load()
RESOURCES = tuple(f"resource-{number}" for number in range(8))
ENDING = "ttl"  # the last to go


class KilledError(BaseException):
    """The process ends here; nothing of it runs any more, its engine does."""


class SlowClock(Clock):
    """A second passes at each look; `skew_s` is what somebody does to the time of day."""

    def __init__(self) -> None:
        self.at_s, self.skew_s = 1_000_000.0, 0.0

    def now_s(self) -> float:
        self.at_s += 1
        return self.at_s + self.skew_s

    def steady_s(self) -> float:
        self.at_s += 1
        return self.at_s

    def sleep(self, seconds: float) -> None:
        self.at_s += seconds


@dataclass
class Fault:
    """What a call answers in place of doing its work; `half`: after half of it; `times`: how often."""

    call: str
    error: Callable[[], SizewellError]
    times: int = 1
    half: bool = False


def denied() -> SizewellError:
    return CloudError("ec2", "denied", "UnauthorizedOperation")


def expired() -> SizewellError:
    return CloudError("sts", "login", "ExpiredToken")


def throttled() -> SizewellError:
    return CloudError("tagging", "unanswered", "ThrottlingException: Rate exceeded")


def silent() -> SizewellError:
    return CloudError("tagging", "unanswered", "no answer")


def no_capacity() -> SizewellError:
    return ServiceError("trial: pulumi up failed: InsufficientInstanceCapacity")


def broken() -> SizewellError:
    return ServiceError("trial: pulumi failed: something")


def quota() -> SizewellError:
    return StageError("quota", "quota of G instances", {"checks": 3, "checks_failed": 1})


@dataclass
class Pretend:
    """A World; `kill_at` ends the process at that step."""

    clock: SlowClock = field(default_factory=SlowClock)
    cloud: set[str] = field(default_factory=set)
    state: set[str] = field(default_factory=set)
    engine: list[str] = field(default_factory=list)  # what an engine that nobody watches is about to build
    locked: bool = False
    faults: list[Fault] = field(default_factory=list)
    steps: int = 0
    kill_at: int = 0
    calls: list[str] = field(default_factory=list)
    slow_s: float = 0.0  # that `up` takes
    lag: int = 0  # for how many lists a thing is still listed that was deleted

    def step(self) -> None:
        self.steps += 1
        self.clock.at_s += 7
        if self.engine and self.steps % 2:
            self._build(self.engine.pop(0))
        if self.steps == self.kill_at:
            raise KilledError

    def _build(self, name: str) -> None:
        self.cloud.add(name)
        self.state.add(name)

    def _call(self, name: str, half: bool = False) -> None:
        self.calls.append(name)
        for fault in self.faults:
            if fault.call == name and fault.times > 0 and fault.half == half:
                fault.times -= 1
                raise fault.error()

    def rights(self) -> Any:
        self.step()
        self._call("rights")
        return {"checks": 12, "checks_failed": 0}

    def up(self, seconds: float) -> Any:
        self._call("up")
        self.clock.at_s += self.slow_s
        self.locked = True
        for number, name in enumerate((ENDING, *RESOURCES)):
            if number == 4:
                try:
                    self._call("up", half=True)
                except SizewellError:
                    self.locked = False
                    raise
            try:
                self.step()
                self.cloud.add(name)
                self.step()  # killed here: the answer is lost
            except KilledError:
                self.engine = [ENDING, *RESOURCES][number + 1 :]
                raise
            self.state.add(name)
        self.locked = False
        return {"resources": len(self.state)}

    def reachable(self, seconds: float) -> Any:
        self.step()
        self._call("reachable")
        return {"resources_listed": len(self.cloud), "endpoints": 1, "endpoints_reached": 1}

    def guard(self, seconds: float) -> Any:
        for _ in range(5):
            self.step()
            self.clock.sleep(60)
        self._call("guard")
        return {"machines_at_first": 1, "machines_at_last": 0}

    def end_engine(self) -> None:
        self.step()
        self._call("end_engine")
        self.engine, self.locked = [], False

    def take_down(self, last: bool) -> None:
        self._call("take_down")
        if self.locked:
            raise ServiceError("currently locked")
        for number, name in enumerate(sorted(self.state - {ENDING})):
            if number == 3:
                self._call("take_down", half=True)
            self.step()
            self.cloud.discard(name)
            self.step()
            self.state.discard(name)
        if self.cloud - {ENDING}:
            raise ServiceError("ttl stays")
        self.cloud.discard(ENDING)
        self.state.discard(ENDING)

    def left(self) -> Left:
        self.step()
        self._call("left")
        if not self.cloud and self.lag:
            self.lag -= 1
            return Left(1, 0, ("deleted a minute ago",))
        return Left(len(self.cloud), len(self.cloud), tuple(sorted(self.cloud)))

    def take_in(self) -> None:
        self.step()
        self._call("take_in")
        self.state |= self.cloud


class Steps(Journal):
    """A journal before and after each write of which the process may be killed."""

    world: Pretend

    def write(self) -> None:
        self.world.step()
        super().write()
        self.world.step()


def notes(clock: Clock, **more: Any) -> Notes:
    stage_s = {"rights": 180, "up": 2400, "reachable": 300, "guard": 7500, "destroyed": 2700, "inventory": 300}
    stated = {
        "stack": "trial",
        "stacks": ["ttl-trial", "trial"],
        "wanted": ["rights", "up", "reachable", "guard"],
        "usd_limit": 5.0,
        "seconds_limit": 14_400.0,
        "usd_per_hour_max": 0.9,
        "usd_once_max": 0.0,
        "stage_s": stage_s,
        "versions": {"sizewell": "0.1.0", "python": "3.11.8", "pulumi": "v3.210.0"},
        "machines": [
            Machine(cloud="aws", region="us-east-1", instance_type="g4dn.xlarge", market="on-demand", nodes_max=1)
        ],
        "clouds": ["aws"],
        "regions": ["us-east-1"],
        "started_s": clock.now_s(),
        "seen_s": clock.now_s(),
    }
    return Notes(schema="sizewell.evidence-run/1", **{**stated, **more})


def started(root: Path, world: Pretend, **more: Any) -> Run:
    """A process of `run`, which writes its journal before it does anything."""
    run = _run(root, world, notes(world.clock, **more), resumed=False)
    run.journal.write()
    return run


def taken_up(root: Path, world: Pretend) -> Run:
    """A process of `resume` or `clean`."""
    return _run(root, world, read(path_of(root, "trial")), resumed=True)


def _run(root: Path, world: Pretend, own: Notes, *, resumed: bool) -> Run:
    journal = Steps(path_of(root, "trial"), own, world.clock, resumed=resumed)
    journal.world = world
    return Run(journal=journal, world=world, clock=world.clock)


def the_record(run: Run) -> Record:
    """The record of a run, held to its schema and its own form."""
    text = record_of(run, {}).to_json()
    jsonschema.validate(json.loads(text), SCHEMA, cls=jsonschema.Draft202012Validator)
    return record.read(text, "the record", CATALOG)
