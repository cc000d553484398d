"""Which row of what ages says of a version: its own, its release's, or the next one's where it is older still. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Final

from sizewell.sizing.catalog.lifetimes import Release, ended, number

EVERY: Final = "*"  # the version of a row that is of all of them
PLAIN: Final = re.compile(r"v?\d+(?:\.\d+)*")
_RUNTIME: Final = re.compile(r"([A-Za-z-]*) ?(\d[\d.]*?)(?:\.x)?")  # python39, python3.9, python 3.9, nodejs18.x
_TOGETHER: Final = ("go", "php", "python", "ruby")  # languages whose two numbers Google writes as one: python310
_NUMBERED: Final = r"\d+(?:\.\d+)*(?!\w)"


def row_of(rows: Iterable[Release], version: str, on: date) -> Release | None:
    """The row that says of a version, of all that have its name.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> rows = [row for row in load().releases if (row.kind, row.name) == ("chart", "cert-manager")]
    >>> today = date(2026, 11, 27)
    >>> [(row.version, row.supported_until) for row in (
    ...     row_of(rows, version, today) for version in ("v1.12.3", "1.9.1", "1.99.0")) if row]
    [('1.12', '2025-05-19'), ('1.9.1', '2023-05-19')]
    """
    named = tuple(rows)
    plain = version.removeprefix("v")
    exact = next((row for row in named if row.version.removeprefix("v") == plain), None)
    return exact or _release_of(named, plain) or _every(named) or older(named, version, on)


def _release_of(rows: Iterable[Release], version: str) -> Release | None:
    """The row of the minor or the major version, the longer one where there are both."""
    within = [
        row
        for row in rows
        if re.fullmatch(_NUMBERED, row.version.removeprefix("v"))
        and f"{version}.".startswith(f"{row.version.removeprefix('v')}.")
    ]
    return max(within, key=lambda row: len(row.version), default=None)


def _every(rows: Iterable[Release]) -> Release | None:
    return next((row for row in rows if row.version == EVERY), None)


def older(rows: Iterable[Release], version: str, on: date | None) -> Release | None:
    """A version that has no row, by the next one that has ended: what is older than that has ended too.

    Without a day, by one that had ended when it was looked at.
    """
    if not PLAIN.fullmatch(version):
        return None
    newer = [
        row
        for row in rows
        if PLAIN.fullmatch(row.version) and number(row.version)[: len(number(version))] > number(version)
    ]
    over = [row for row in newer if row.gone and (on is None or ended(row.supported_until, on))]
    if not over:
        return None
    next_ = min(over, key=lambda row: number(row.version))
    return replace(next_, version=version, note=f"it is older than {next_.version}, whose support ended then")


def runtime_row(rows: Iterable[Release], version: str, on: date) -> Release | None:
    """The row of a language with its version, among those of one service.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> rows = [row for row in load().releases if (row.kind, row.name) == ("runtime", "gcp/functions")]
    >>> row = runtime_row(rows, "python38", date(2026, 11, 27))
    >>> row.version, row.note, runtime_row(rows, "python399", date(2026, 11, 27))
    ('python38', 'it is older than 3.10, whose support ended then', None)
    """
    named = tuple(rows)
    exact = next((row for row in named if row.version == version), None)
    language, numbered = language_of(version)
    if exact is not None or not numbered:
        return exact
    same = [(row, language_of(row.version)) for row in named]
    row = row_of((replace(row, version=of) for row, (lang, of) in same if lang == language and of), numbered, on)
    return row and replace(row, version=version)  # as the program states it


def language_of(runtime: str) -> tuple[str, str]:
    """A runtime's language and its version, "" where it states none.

    >>> [language_of(name) for name in ("python39", "nodejs18.x", "node 18", "php74", "provided.al2", "2.0")]
    [('python', '3.9'), ('nodejs', '18'), ('node', '18'), ('php', '7.4'), ('provided.al2', ''), ('', '2.0')]
    """
    parts = _RUNTIME.fullmatch(runtime)
    if parts is None:
        return runtime, ""
    language, version = parts[1], parts[2]
    if language in _TOGETHER and "." not in version and len(version) > 1:
        version = f"{version[0]}.{version[1:]}"
    return language, version
