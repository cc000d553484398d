"""What `-v` and `--log-file` show: the loggers of all rooms (`sizewell.clouds.rest`), silent until asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sizewell.sizing.errors import UsageError

FORMAT = "%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s"


@contextmanager
def recorded(verbosity: int, file: Path | None) -> Iterator[None]:
    """Print what is logged within on stderr (1: steps, 2: details as well), and write all of it to a file.

    Without either nothing of `logging` is imported: 12 ms of a command that takes 500.
    """
    if not verbosity and file is None:
        yield
        return
    import logging
    import time

    formatter = logging.Formatter(FORMAT, datefmt="%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handlers: list[logging.Handler] = []
    if verbosity:
        handlers.append(logging.StreamHandler())
        handlers[0].setLevel(logging.INFO if verbosity == 1 else logging.DEBUG)
    if file is not None:
        try:
            handlers.append(logging.FileHandler(file, encoding="utf-8"))
        except OSError as error:
            fix = "name a file in a folder that exists"
            raise UsageError(f"--log-file: {file}: {error.strerror}\n  fix: {fix}") from None
    # Of our own rooms alone: the loggers of HTTP clients and SDKs write whole addresses, with the keys in them.
    ours = logging.getLogger("sizewell")
    before = ours.level
    ours.setLevel(logging.DEBUG)
    for handler in handlers:
        handler.setFormatter(formatter)
        ours.addHandler(handler)
    try:
        yield
    finally:
        ours.setLevel(before)
        for handler in handlers:
            ours.removeHandler(handler)
            handler.close()
