"""The settings of scheduled runs, beside their journal: `settings/000000000007.json`, each put once.

The image of a schedule has the program alone. What it goes by stands in the repository: `sizewell teardown publish`
puts those files next to the journal, under the next number; a run begins by fetching the newest, or does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sizewell.sizing.errors import ConfigError, Fault, UsageError
from sizewell.sizing.versions import content, schema_of
from sizewell.teardown.config import PATH, read_config
from sizewell.teardown.journal import Journal

FOLDER: Final = "settings"
CONFIG: Final = "stacks/config"
FETCHED: Final = ".sizewell/settings.json"  # in the folder: which version it is
PUBLISH: Final = "sizewell teardown publish, in the project, with the files corrected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of the settings: its number, who published it when, the files by their paths in the project."""

    number: int
    at: str
    by: str
    files: Mapping[str, str]

    def __str__(self) -> str:
        return (
            f"settings {self.number}, published on {self.at[:16].replace('T', ' ')} UTC by {self.by or 'nobody named'}"
        )


def files_of(root: Path) -> dict[str, str]:
    """What a run reads of a project: Pulumi.yaml and the files of stacks/config. ConfigError where teardown.yaml is
    missing or wrong.
    """
    read_config(root)
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in _paths(root)}


def _paths(root: Path) -> Iterator[Path]:
    yield root / "Pulumi.yaml"
    yield root / PATH
    for kind in ("Pulumi.*.yaml", "*.ics"):
        yield from sorted((root / CONFIG).glob(kind))


def publish(journal: Journal, files: Mapping[str, str], at: datetime, by: str) -> tuple[Version, bool]:
    """The newest version, and whether it is new: the same files again are none. UsageError where another publishes at
    the same moment.
    """
    newest = max(journal.numbers(FOLDER), default=0)
    if newest and (same := _same(journal, newest, files)) is not None:
        return same, False
    number = newest + 1
    document = {"schema": schema_of("teardown-settings"), "at": at.isoformat(), "by": by, "files": dict(files)}
    if not journal.put_numbered(FOLDER, number, json.dumps(document, sort_keys=True).encode()):
        raise UsageError(f"another published settings {number} at the same moment\n  fix: publish again")
    return Version(number=number, at=at.isoformat(), by=by, files=files), True


def _same(journal: Journal, number: int, files: Mapping[str, str]) -> Version | None:
    """A version where it has these files; None where it has others, or cannot be read: then a new one replaces it."""
    try:
        version = _read(number, journal.numbered(FOLDER, number), journal)
    except (UsageError, ConfigError):
        return None
    return version if dict(version.files) == dict(files) else None


def fetch(journal: Journal, folder: Path) -> Version:
    """Write the newest version into a folder, as a project. ConfigError or UsageError where there is none, or it is
    wrong: a run does nothing then, and falls back to no older one.
    """
    newest = _newest(journal)
    if newest is None:
        raise UsageError(f"{journal.store.uri}: has no settings of teardown\n  fix: {PUBLISH}")
    version = _read(*newest, journal)
    if folder.exists() and any(folder.iterdir()):
        if not (folder / FETCHED).exists():
            raise UsageError(f"{folder}: has something else in it\n  fix: name a folder that is empty, or is not there")
        for path in _paths(folder):
            path.unlink(missing_ok=True)
    for name, text in version.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    config = read_config(folder)
    if config.journal.rstrip("/") != journal.store.uri.rstrip("/"):
        message = f"is {config.journal}, but these settings were published to {journal.store.uri}"
        raise ConfigError([Fault(path="journal", message=message, fix=PUBLISH)], subject=f"{PATH} of {version}")
    (folder / FETCHED).parent.mkdir(exist_ok=True)
    (folder / FETCHED).write_text(json.dumps({"number": version.number}), encoding="utf-8")
    return version


def outdated(root: Path, journal: Journal) -> str:
    """Why what a run began with counts no more; "" where it does, or the settings are those of a checkout."""
    path = root / FETCHED
    if not path.exists():
        return ""
    number, numbers = json.loads(path.read_text(encoding="utf-8"))["number"], journal.numbers(FOLDER)
    if max(numbers, default=0) == number:
        return ""
    return (
        f"settings {max(numbers, default=0)} were published since this run began with {number}: the next run reads them"
    )


def _newest(journal: Journal) -> tuple[int, Mapping[str, Any]] | None:
    numbers = journal.numbers(FOLDER)
    try:
        return (max(numbers), journal.numbered(FOLDER, max(numbers))) if numbers else None
    except UsageError as error:
        raise UsageError(f"{str(error).partition(chr(10))[0]}\n  fix: {PUBLISH}") from None


def _read(number: int, document: Mapping[str, Any], journal: Journal) -> Version:
    subject = f"{journal.store.uri}/{FOLDER}/{number:012d}.json"
    content("teardown-settings", document, subject)
    files = document.get("files")
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise ConfigError([Fault(path="files", message="is no map of paths to texts", fix=PUBLISH)], subject=subject)
    for name in files:
        path = PurePosixPath(name)
        if name != "Pulumi.yaml" and (path.parent != PurePosixPath(CONFIG) or path.name.startswith("..")):
            message = f"names {name!r}, which is neither Pulumi.yaml nor a file of {CONFIG}"
            raise ConfigError([Fault(path="files", message=message, fix=PUBLISH)], subject=subject)
    for name in ("Pulumi.yaml", PATH):
        if name not in files:
            raise ConfigError([Fault(path="files", message=f"has no {name}", fix=PUBLISH)], subject=subject)
    return Version(number=number, at=str(document.get("at", "")), by=str(document.get("by", "")), files=files)
