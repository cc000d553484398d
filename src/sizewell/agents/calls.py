"""Run command lines in a process of their own, forked from one that has read the catalog and the commands already."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from sizewell.agents.projects import Line, copied
from sizewell.sizing.errors import ServiceError

Run = Callable[[Sequence[str]], int]  # the entry of the command: a line in, its exit code out
SECONDS_MAX: Final = 180.0
DECIDED: Final = (0, 2, 3)  # exit codes of `size --stack` that have written a decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command said."""

    code: int
    out: str
    err: str


class Caller:
    """Runs lines of the command in `root`. `warm` are modules that are loaded once, before the first call."""

    def __init__(self, root: Path, run: Run, warm: Sequence[str]) -> None:
        self.root, self._run = root, run
        forks = "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if forks else "spawn")
        if forks:
            self._context.set_forkserver_preload([*warm, "sizewell.agents.warm"])

    def __call__(self, line: Line) -> Done:
        """Run one line, on a copy of the project where it states changes."""
        if not line.changes and not line.writes:
            return self._lines([list(line.words)], line.stdin, self.root)
        with tempfile.TemporaryDirectory(prefix="sizewell-") as folder:
            if line.writes:
                done = self._lines([[*line.words, f"--folder={folder}"]], line.stdin, self.root)
                texts = [path.read_text(encoding="utf-8") for path in Path(folder).iterdir()]
                return replace(done, out=json.dumps({"text": texts[0]})) if texts else done
            place = Path(folder).resolve() / self.root.name
            stacks = copied(self.root, line.changes, place)
            decide = [["size", "--stack", stack, "--json"] for stack in stacks]
            done = self._lines([*decide, list(line.words)], line.stdin, place)
            return replace(done, err=done.err.replace(f"{place}/", "").replace(str(place), "."))

    def _lines(self, lines: list[list[str]], stdin: str, folder: Path) -> Done:
        ours, theirs = self._context.Pipe()
        child = self._context.Process(target=_child, args=(theirs, self._run, lines, stdin, str(folder)), daemon=False)
        child.start()
        theirs.close()
        shown = f"sizewell {' '.join(lines[-1])}"
        try:
            if not ours.poll(SECONDS_MAX):
                said = f"`{shown}` has no answer after {SECONDS_MAX:.0f} s and was ended"
                raise ServiceError(f"{said}\n  fix: run it in a terminal, with -v to see what it waits for")
            done: Done = ours.recv()
        except EOFError:
            raise ServiceError(f"`{shown}` ended without an answer\n  fix: run it in a terminal to see why") from None
        finally:
            child.kill()
            child.join()
            ours.close()
        return done


def _child(answer: Connection, run: Run, lines: list[list[str]], stdin: str, folder: str) -> None:
    """Run lines one after another and send what the last one said, or the first that failed.

    Nothing that a program prints reaches the descriptors of the server, which are the wire to the client.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    if hasattr(signal, "alarm"):
        signal.alarm(round(SECONDS_MAX) + 5)  # where the server is gone, nobody else ends a program that hangs
    os.chdir(folder)
    sys.dont_write_bytecode = True  # of the project's own modules, into its folders
    done = Done(code=70, out="", err="")
    for number, words in enumerate(lines):
        out, err = io.StringIO(), io.StringIO()
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(words)
        done = Done(code=code, out=out.getvalue(), err=err.getvalue())
        if number + 1 < len(lines) and code not in DECIDED:
            break
    answer.send(done)
    answer.close()
    os._exit(0)  # what a program of the project left running ends with its process
