"""One evaluation: set the SDK's runtime up on a thread of its own, run the program, collect what was registered."""

from __future__ import annotations

import asyncio
import linecache
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pulumi

from sizewell import source
from sizewell.recording.evaluate.isolation import isolated
from sizewell.recording.evaluate.monitor import Engine, Monitor, Unsupported
from sizewell.recording.evaluate.project import Project, read_project
from sizewell.resources.recorded import Plan
from sizewell.sdk import runtime
from sizewell.sdk.quick import Unlike, quick
from sizewell.sizing.errors import ServiceError, SizewellError, UsageError


def run(
    project_dir: Path,
    stack: str,
    *,
    program: Path | str | Callable[[], object] | None,
    config: Mapping[str, str] | None,
    answers: Mapping[str, Mapping[str, object]] | None,
    replaces: Path | None,
) -> Plan:
    """See `recording.evaluate.evaluate`."""
    if callable(program):
        project = read_project(project_dir, stack, program=project_dir)
        entry: Callable[[], object] = program
    else:
        project = read_project(project_dir, stack, program=None if program is None else Path(program))
        entry = _program(project.program)
    case = _Case(project, stack.rpartition("/")[2], entry, {**project.config, **(config or {})}, answers or {})
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
    monitor = Monitor(
        project=project.name,
        stack=stack,
        config=case.config,
        answers=case.answers,
        loop=loop,
        narrow=narrow,
    )
    outcome: list[BaseException] = []

    def body() -> None:
        try:
            _run_program(loop, monitor, engine, case)
        except BaseException as error:  # noqa: BLE001 - judged below, on the caller's thread
            outcome.append(error)

    directory = project.program if project.program.is_dir() else project.program.parent
    with isolated(directory, project.root, replaces=replaces), quick():
        # A new thread has an empty context: settings, configuration and root resource of the SDK start from nothing.
        thread = threading.Thread(target=body, name=f"evaluate {stack}", daemon=True)
        thread.start()
        thread.join()
    error = outcome[0] if outcome else None
    if isinstance(error, Unlike):
        if narrow is not None:
            raise _Mismatch({resource.type for resource in monitor.recorded() if resource.name == error.name})
        error = error.__cause__
    if error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0)):
        raise _explained(error, project, stack, monitor) from None
    if engine.errors:
        raise ServiceError(f"stack {stack}: the program reported an error: {engine.errors[0]}")
    return Plan(
        project=project.name,
        stack=stack,
        resources=monitor.recorded(),
        outputs=monitor.outputs,
        config=dict(case.config),
        origin="evaluated",
        notes=(*project.notes, *monitor.notes, *(f"warning: {text}" for text in engine.warnings)),
    )


def _run_program(loop: asyncio.AbstractEventLoop, monitor: Monitor, engine: Engine, case: _Case) -> None:
    project = case.project
    asyncio.set_event_loop(loop)
    executor = _Executor(monitor, loop)
    runtime.configure(
        project=project.name,
        stack=case.stack,
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


def _explained(error: BaseException, project: Project, stack: str, monitor: Monitor) -> SizewellError:
    """The error as the user is told: a refusal of ours as it is, else the program's own last line."""
    if isinstance(error, SizewellError):
        return error
    if isinstance(error, SystemExit):
        return ServiceError(f"stack {stack}: the program called sys.exit({error.code!r})")
    if isinstance(error, Unsupported | pulumi.RunError):
        return ServiceError(f"stack {stack}: {error}")
    if told := source.missing(error):
        return UsageError(f"stack {stack}: {told}")
    where = _last_line(error, project)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    message = f"stack {stack}: the program failed{where}\n  {what}"
    if isinstance(error, ModuleNotFoundError):
        wanted = "-r requirements.txt" if (project.root / "requirements.txt").exists() else str(error.name)
        message += (
            f"\n  fix: install it for the Python that evaluates the program: {sys.executable} -m pip install {wanted}"
        )
    if monitor.unanswered:
        calls = ", ".join(dict.fromkeys(monitor.unanswered))
        message += f"\n  it asked the cloud for {calls}, which is unknown offline"
    return ServiceError(message)


def _last_line(error: BaseException, project: Project) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename:
        return f" in {_relative(error.filename, project)}, line {error.lineno}: {(error.text or '').strip()}"
    own = [
        frame
        for frame in frames
        if frame.filename.startswith(f"{project.root}/")
        and "site-packages" not in frame.filename
        and not frame.filename.startswith((runtime.FOLDER, str(Path(__file__).parent)))
    ]
    if not own:
        return ""
    frame = own[-1]
    linecache.checkcache(frame.filename)
    line = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
    return f" in {_relative(frame.filename, project)}, line {frame.lineno}: {line}"


def _relative(filename: str, project: Project) -> str:
    path = Path(filename)
    return str(path.relative_to(project.root)) if path.is_relative_to(project.root) else path.name
