"""Printing: a console of at most 100 columns, plain where it is no terminal, and progress on a terminal's stderr."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

from sizewell import logs
from sizewell.cli import terminal
from sizewell.sizing.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDTH = 100


def console() -> Console:
    """Standard output through rich: colour on a terminal that wants it, never wider than 100 columns."""
    from rich import console as rich_console

    class Console(rich_console.Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, which is a failed policy here

    columns = os.environ.get("COLUMNS", "")
    wanted = int(columns) if columns.isdigit() and int(columns) > 0 else None
    as_it_is: dict[str, Any] = {"highlight": False, "emoji": False, "markup": False}
    if sys.stdout.isatty():
        width = min(wanted or shutil.get_terminal_size().columns, WIDTH)
        system: Literal["auto"] | None = "auto" if terminal.in_color(sys.stdout) else None
        return Console(width=max(width, 40), color_system=system, **as_it_is)
    plain = cast("TextIO", _Stripped(sys.stdout))
    forced: Literal["standard"] | None = "standard" if terminal.is_forced() else None
    width = max(min(wanted or WIDTH, WIDTH), 40)
    return Console(file=plain, width=width, force_terminal=terminal.is_forced(), color_system=forced, **as_it_is)


class _Stripped:
    """Writes on, without the blanks that pad a line: a file or a pipe has no use for them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding or "utf-8"

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(r" +(?=\n)", "", text))

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return False


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without lines but under the head; the columns named in `right` hold figures."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold", show_edge=False)
    for column in columns:
        made.add_column(
            column, justify="right" if column in right else "left", no_wrap=column in right, overflow="fold"
        )
    return made


def print_json(data: Any) -> None:
    """One JSON document on standard output; money is text, as in a decision."""
    print(json.dumps(data, indent=2, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def note(text: str) -> None:
    """A remark beside the answer, on stderr; nothing with --quiet."""
    if not terminal.is_quiet():
        print(f"sizewell: {text}", file=sys.stderr)


def note_that_it_waits() -> None:
    """Say that standard input is read, where nothing but a person at the terminal can give it."""
    if sys.stdin is not None and sys.stdin.isatty():
        note("reading standard input from the terminal; Ctrl-D ends it")


def write_file(path: Path, pieces: Iterable[str], option: str) -> None:
    """What an option such as --output names, as UTF-8; UsageError where it cannot be written, but for a full disk."""
    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        logs.log(__name__, "%s: wrote %s", option, path)
    except OSError as error:
        if error.errno in terminal.FULL:
            raise  # exit code 74, as for standard output
        raise UsageError(f"{option}: {path}: {error.strerror}\n  fix: name a file in a folder that exists") from None


def write_page(path: Path, page: str) -> None:
    """What --html names; - is standard output."""
    if str(path) == "-":
        print(page, end="")
    else:
        write_file(path, [page], "--html")


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Say on a terminal's stderr that work goes on, from the second second; wiped out at the end.

    Yields a function that changes what is said.
    """
    latest = [what]

    def now(text: str) -> None:
        latest[0] = text

    if terminal.is_quiet() or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield now
        return
    done = threading.Event()
    started = time.monotonic()

    def tell() -> None:
        shown = False
        while not done.wait(1.0):
            shown = True
            sys.stderr.write(f"\r\x1b[2K{latest[0]} ... {time.monotonic() - started:.0f} s")
            sys.stderr.flush()
        if shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield now
    finally:
        done.set()
        thread.join()


def signed(text: str, change: Decimal | float | None) -> Text:
    """A change as a cell of a table: what costs more is red, what costs less green."""
    from rich.text import Text

    return Text(text, style="" if not change else "red" if change > 0 else "green")


def dollars(amount: Decimal | None, *, cents: bool = True) -> str:
    """An amount with thousands separated; `?` for what nobody knows."""
    if amount is None:
        return "?"
    return f"{amount:,.2f}" if cents else f"{amount:,.0f}"
