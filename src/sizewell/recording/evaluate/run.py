"""One evaluation: set the SDK's runtime up on a thread of its own, run the program, collect what was registered."""

from __future__ import annotations

import asyncio
import ctypes
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Final

from sizewell.recording.contents import expanded
from sizewell.recording.evaluate.answers import MARK
from sizewell.recording.evaluate.failures import explained, relative
from sizewell.recording.evaluate.isolation import isolated
from sizewell.recording.evaluate.monitor import Engine, Monitor
from sizewell.recording.evaluate.project import Project, read_project
from sizewell.recording.evaluate.traced import Traced
from sizewell.resources.hidden import FIX
from sizewell.resources.recorded import Hidden, Plan, RecordedResource
from sizewell.sdk import runtime, stand_ins
from sizewell.sdk.quick import Unlike, quick
from sizewell.sizing.errors import ServiceError, UsageError


def run(
    project_dir: Path,
    stack: str,
    *,
    program: Path | str | Callable[[], object] | None,
    config: Mapping[str, str] | None,
    answers: Mapping[str, Mapping[str, object]] | None,
    replaces: Path | None,
    traced: Traced | None = None,
) -> Plan:
    """See `recording.evaluate.evaluate`; `traced` keeps the requests, and where their values are from."""
    if callable(program):
        project = read_project(project_dir, stack, program=project_dir)
        entry: Callable[[], object] = program
    else:
        project = read_project(project_dir, stack, program=None if program is None else Path(program))
        entry = _program(project.program)
    case = _Case(project, stack.rpartition("/")[2], entry, {**project.config, **(config or {})}, answers or {}, traced)
    for _ in range(_MOST_TRIES):
        try:
            return _attempt(case, replaces, _narrow)
        except _Mismatch as mismatch:  # an output of some type cannot hold what its input was
            if mismatch.types <= _narrow:
                break
            _narrow.update(mismatch.types)
    return _attempt(case, replaces, None)


_MOST_TRIES = 8
_narrow: set[str] = set()  # types that were seen to have outputs unlike their inputs, in this process


@dataclass(frozen=True, slots=True)
class _Case:
    """What is run: everything that stays the same between two attempts."""

    project: Project
    stack: str
    entry: Callable[[], Any]
    config: Mapping[str, str]
    answers: Mapping[str, Mapping[str, Any]]
    traced: Traced | None


class _Mismatch(Exception):  # noqa: N818 - a signal between attempts
    """The SDK could not read an echoed input as the output of the same name, of a resource of one of `types`."""

    def __init__(self, types: set[str]) -> None:
        super().__init__()
        self.types = types


def _program(path: Path) -> Callable[[], object]:
    main = path / "__main__.py" if path.is_dir() else path
    if not main.is_file():
        raise UsageError(f"{main}: no such program\n  fix: see `main:` in Pulumi.yaml")
    return lambda: (runpy.run_path(str(path), run_name="__main__"), None)[1]


def _attempt(case: _Case, replaces: Path | None, narrow: AbstractSet[str] | None) -> Plan:
    """One run of the program; `narrow` are the types whose lists and mappings are not echoed, None for all."""
    project, stack = case.project, case.stack
    loop = asyncio.new_event_loop()
    # What fails is told once, as the evaluation's own error; asyncio's reports of futures left behind say it again.
    loop.set_exception_handler(lambda _loop, _context: None)
    engine = Engine()
    monitor = (Monitor if case.traced is None else case.traced.monitor)(
        project=project.name,
        stack=stack,
        config=case.config,
        answers=case.answers,
        loop=loop,
        narrow=narrow,
        root=project.root,
    )
    outcome: list[BaseException] = []

    def body() -> None:
        try:
            _run_program(loop, monitor, engine, case)
        except BaseException as error:  # noqa: BLE001 - judged below, on the caller's thread
            outcome.append(error)

    directory = project.program if project.program.is_dir() else project.program.parent
    with isolated(directory, project.root, replaces=replaces), quick(), case.traced or nullcontext():
        # A new thread has an empty context: settings, configuration and root resource of the SDK start from nothing.
        thread = threading.Thread(target=body, name=f"evaluate {stack}", daemon=True)
        thread.start()
        thread.join(_seconds())
        if thread.is_alive():
            raise ServiceError(
                f"stack {stack}: the program was not done after {_seconds():g} s: {_stopped(thread, project)}\n"
                f"  fix: find what it waits for, or allow more with {SECONDS_VARIABLE}"
            )
    error = outcome[0] if outcome else None
    if isinstance(error, Unlike):
        if narrow is not None:
            raise _Mismatch({resource.type for resource in monitor.recorded() if resource.name == error.name})
        error = error.__cause__
    if error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0)):
        raise explained(error, project, stack, monitor) from None
    if isinstance(error, SystemExit):
        monitor.hidden += _left_early(error, project)
    if engine.errors:
        raise ServiceError(f"stack {stack}: the program reported an error: {engine.errors[0]}")
    plan = Plan(
        project=project.name,
        stack=stack,
        resources=tuple(_readable(resource) for resource in monitor.recorded()),
        outputs=monitor.outputs,
        config=dict(case.config),
        origin="evaluated",
        notes=(*monitor.notes, *(f"warning: {text}" for text in engine.warnings)),
        hidden=(*project.hidden, *monitor.hidden),
        lookups=tuple(monitor.lookups),
        root=str(project.root),
    )
    return expanded(plan, project.root, monitor.unread)


def _left_early(error: SystemExit, project: Project) -> list[Hidden]:
    """That a program ends itself before its last line, where it may have come to other resources under the engine."""
    root = project.root.resolve()
    steps = [s for s in traceback.extract_tb(error.__traceback__) if Path(s.filename).resolve().is_relative_to(root)]
    if not steps or (len(steps) == 1 and steps[0].lineno == _last_line(steps[0].filename)):
        return []
    left = Hidden(
        name=f"{relative(steps[-1].filename, project)}, line {steps[-1].lineno}",
        what="what comes after it",
        may_hide="other resources, also with accelerators",
        why="the program ends itself there with sys.exit()",
        fix="run it where it does not end so, or give a plan of the engine with --plan",
        digest=_digest(steps[-1].filename),
    )
    return [left]


def _last_line(file: str) -> int:
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)


def _digest(file: str) -> str:
    try:
        return sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""


def _readable(resource: RecordedResource) -> RecordedResource:
    """A resource whose name a reader can read, where the program made it of what nobody knows."""
    return replace(resource, name=resource.name.replace(MARK, "?")) if MARK in resource.name else resource


def _told_to(monitor: Monitor, project: Project) -> Callable[[str, str], None]:
    """What is said where a program decides by what is not known."""

    def tell(about: str, where: str) -> None:
        file, _, line = where.rpartition(":")
        place = f"{relative(file, project)}, line {line}"
        hidden = Hidden(
            name=place,
            what="what the program makes there",
            may_hide="more, fewer or other resources than are shown",
            shown_too=True,
            why=f"it follows from {about}",
            fix=_SET if about.startswith(stand_ins.VARIABLE) else FIX,
            digest=_digest(file),
        )
        if hidden not in monitor.hidden:
            monitor.hidden.append(hidden)

    return tell


_SET: Final = "set it as the deployment does and run this again, or put the value into the stack's configuration"


def _seconds() -> float:
    """How long a program may take."""
    stated = os.environ.get(SECONDS_VARIABLE, "")
    try:
        return float(stated or _SECONDS)
    except ValueError:
        raise UsageError(f"{SECONDS_VARIABLE}: must be a number of seconds, got {stated!r}") from None


def _stopped(thread: threading.Thread, project: Project) -> str:
    """Make a program that does not end go out of its loop, and say where it was."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001
    place = ""
    while frame is not None:
        if frame.f_code.co_filename.startswith(f"{project.root}/") and not place:
            place = f"it was in {relative(frame.f_code.co_filename, project)}, line {frame.f_lineno}"
        frame = frame.f_back
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
    thread.join(1)
    return place or "it waits in code of others"


SECONDS_VARIABLE: Final = "SIZEWELL_EVALUATION_SECONDS"
_SECONDS: Final = 300.0


def _run_program(loop: asyncio.AbstractEventLoop, monitor: Monitor, engine: Engine, case: _Case) -> None:
    project = case.project
    asyncio.set_event_loop(loop)
    stand_ins.tell_to(_told_to(monitor, project))
    executor = _Executor(monitor, loop)
    runtime.configure(
        project=project.name,
        stack=case.stack,
        organization=project.organization or "organization",
        root=project.root,
        monitor=monitor,
        engine=engine,
        callbacks=monitor.callbacks,
        config=case.config,
        secret_keys=project.secret_keys,
    )
    try:
        loop.run_until_complete(runtime.run(case.entry))
    finally:
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        if pending:
            loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        executor.shutdown(wait=True)
        loop.close()
        asyncio.set_event_loop(None)


class _Executor(ThreadPoolExecutor):
    """Runs the SDK's calls of the monitor in place: they are dictionary work, a thread each would cost more.

    With transforms registered they go to threads, because the monitor then waits for the program's loop.
    """

    def __init__(self, monitor: Monitor, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(max_workers=32, thread_name_prefix="evaluate")
        self._monitor = monitor
        self._loop = loop
        self._in_a_thread = loop.run_in_executor
        self._numbers = count()
        self._local = threading.local()
        monitor.sequence = lambda: int(self._local.number)
        loop.set_default_executor(self)
        loop.run_in_executor = self._run_in_executor  # type: ignore[method-assign, assignment]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        number = next(self._numbers)

        def numbered() -> object:
            self._local.number = number
            return fn(*args, **kwargs)

        return super().submit(numbered)

    def _run_in_executor(self, executor: Any, fn: Callable[..., object], *args: object) -> asyncio.Future[object]:
        """The loop's method: what is run in place is done at once; whoever awaits it lets the others go on first."""
        if executor is not None or not runtime.calls_the_monitor(fn) or self._monitor.callbacks.in_use:
            return self._in_a_thread(executor, fn, *args)
        future = self._loop.create_future()
        self._local.number = next(self._numbers)
        try:
            self._loop.call_soon(future.set_result, fn(*args))
        except BaseException as error:  # noqa: BLE001 - handed on
            self._loop.call_soon(future.set_exception, error)
        return future
