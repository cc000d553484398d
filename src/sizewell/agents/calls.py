"""Run command lines in a process of their own, forked from one that has read the catalog and the commands already."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.util import get_temp_dir
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from sizewell.agents.projects import Line, copied
from sizewell.sizing.errors import ServiceError

Run = Callable[[Sequence[str]], int]  # the entry of the command: a line in, its exit code out
SECONDS_MAX: Final = 180.0
LOOKED: Final = 0.1  # seconds between two looks whether a call was ended
LEAVING: Final = 3.0  # seconds that calls have to end when the server does
OVER_BUDGET: Final = 2
DECIDED: Final = (0, OVER_BUDGET, 3)  # exit codes of `size --stack` that have written a decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command said."""

    code: int
    out: str
    err: str
    last: bool = True  # false: a line before it failed, and this is what that one said


class Caller:
    """Runs lines of the command in `root`. `warm` are modules that are loaded once, before the first call."""

    def __init__(self, root: Path, run: Run, warm: Sequence[str]) -> None:
        self.root, self._run = root, run
        self.ended = Event()
        self._calls: dict[str, Event] = {}  # those that run, by the folder of each
        forks = "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if forks else "spawn")
        if forks:
            self._context.set_forkserver_preload([*warm, "sizewell.agents.warm"])

    def once(self) -> Caller:
        """The same for one call, which `end` ends alone."""
        made = copy.copy(self)
        made.ended = Event()
        return made

    def end(self) -> None:
        """End what runs by this one, with the programs that it started."""
        self.ended.set()

    def leave(self) -> None:
        """End every call, and take away what is temporary."""
        for ended in list(self._calls.values()):
            ended.set()
        until = time.monotonic() + LEAVING
        while self._calls and time.monotonic() < until:
            time.sleep(LOOKED / 2)
        for folder in (*self._calls, get_temp_dir()):
            shutil.rmtree(folder, ignore_errors=True)

    def __call__(self, line: Line) -> Done:
        """Run one line, on a copy of the project where it states changes."""
        folder = tempfile.mkdtemp(prefix="sizewell-")
        self._calls[folder] = self.ended
        try:
            return self._call(line, Path(folder).resolve())
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            del self._calls[folder]

    def _call(self, line: Line, folder: Path) -> Done:
        if line.writes:
            written = folder / "written"
            written.mkdir()
            done = self._lines([[*line.words, f"--folder={written}"]], line.stdin, self.root, folder)
            texts = [path.read_text(encoding="utf-8") for path in written.iterdir()]
            return replace(done, out=json.dumps({"text": texts[0]})) if texts else done
        if not line.changes or not (self.root / "Pulumi.yaml").is_file():  # without a project the command says so
            return self._lines([list(line.words)], line.stdin, self.root, folder)
        place = folder / "copy" / self.root.name
        stacks = copied(self.root, line.changes, place)
        decide = [["size", "--stack", stack, "--json"] for stack in stacks]
        done = self._lines([*decide, list(line.words)], line.stdin, place, folder)
        said = [text.replace(f"{place}/", "").replace(str(place), ".") for text in (done.out, done.err)]
        return replace(done, out=said[0], err=said[1])

    def _lines(self, lines: list[list[str]], stdin: str, root: Path, folder: Path) -> Done:
        ours, theirs = self._context.Pipe()
        given = (theirs, self._run, lines, stdin, (str(root), str(folder)))
        child = self._context.Process(target=_child, args=given, daemon=False)
        child.start()
        theirs.close()
        shown = f"sizewell {' '.join(lines[-1])}"
        until = time.monotonic() + SECONDS_MAX
        try:
            while not ours.poll(LOOKED):
                if self.ended.is_set():
                    raise ServiceError(f"`{shown}` was ended, as nobody waits for it\n  fix: call it again")
                if time.monotonic() > until:
                    said = f"`{shown}` has no answer after {SECONDS_MAX:.0f} s and was ended"
                    raise ServiceError(f"{said}\n  fix: run it in a terminal, with -v to see what it waits for")
            done: Done = ours.recv()
        except (EOFError, ConnectionError):
            raise ServiceError(f"`{shown}` ended without an answer\n  fix: run it in a terminal to see why") from None
        finally:
            _kill(child.pid)
            child.kill()
            child.join()
            ours.close()
        return done


def _kill(group: int) -> None:
    """End a process that leads a group, with what it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has not begun, or is gone
            os.killpg(group, signal.SIGKILL)


def _watch(server: Connection, folder: str) -> None:
    """End this process, with what it started, once nobody is there to take its answer."""
    with contextlib.suppress(OSError):
        server.poll(None)  # the server sends nothing: only its end is heard
    shutil.rmtree(folder, ignore_errors=True)
    _kill(os.getpid())
    os._exit(1)


def _child(answer: Connection, run: Run, lines: list[list[str]], stdin: str, places: tuple[str, str]) -> None:
    """Run lines one after another and send what the last one said, or the first that failed.

    Nothing that a program prints reaches the descriptors of the server, which are the wire to the client. `places` are
    the folder of the project and one for what is temporary, which the server takes away.
    """
    root, folder = places
    try:
        os.chdir(root)
    except FileNotFoundError:  # of a copy: the server has left
        os._exit(1)
    if hasattr(os, "setsid"):
        os.setsid()
    Thread(target=_watch, args=(answer, folder), daemon=True).start()
    tempfile.tempdir = folder
    os.environ.update(TMPDIR=folder)  # of the programs that it starts
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    if hasattr(signal, "alarm"):
        signal.alarm(round(SECONDS_MAX) + 5)  # a program that holds the interpreter's lock keeps `_watch` from it
    sys.dont_write_bytecode = True  # of the project's own modules, into its folders
    done, over = Done(code=70, out="", err=""), ""
    for number, words in enumerate(lines):
        out, err = io.StringIO(), io.StringIO()
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(words)
        last = number + 1 == len(lines)
        done = Done(code=code, out=out.getvalue(), err=err.getvalue(), last=last)
        if last and over:
            done = replace(done, code=code or OVER_BUDGET, err=over + done.err)
        if code not in DECIDED:
            break
        over += err.getvalue() if code == OVER_BUDGET else ""
    with contextlib.suppress(OSError):  # of a client that has left
        answer.send(done)
    os._exit(0)  # what a program of the project left running ends with its process
