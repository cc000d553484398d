"""Locks of the engine where states are objects in a store (S3, GCS, Blob, a folder): which stacks are being updated.

The engine's own listing says so of stacks at a service alone. Elsewhere it puts
`.pulumi/locks/organization/PROJECT/STACK/ID.json` for as long as it works on a state, and a killed one leaves it there:
nothing but `pulumi cancel` takes it away (pulumi 3.260, pkg/backend/diy/lock.go).
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from sizewell.launch.scripts.store import MissingError, StoreError
from sizewell.sizing.errors import ServiceError, UsageError
from sizewell.teardown import processes
from sizewell.teardown.journal import connect
from sizewell.teardown.records import Update

LOCKS: Final = ".pulumi/locks/"
STATES: Final = ".pulumi/stacks/"
DESTROY_MAX: Final = timedelta(hours=3)  # no destroy of teardown's runs longer: it is stopped after two


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLock:
    """Who holds a stack in the engine's backend."""

    project: str
    stack: str
    user: str
    host: str
    pid: int
    at: datetime

    @property
    def by(self) -> str:
        return f"{self.user}@{self.host}, process {self.pid}" if self.pid else "its lock cannot be read"


def locks(url: str) -> tuple[EngineLock, ...]:
    """Every lock of a backend; () for a service, which says itself what is being updated.

    ServiceError where they cannot be read: then nobody knows that a stack is not being updated.
    """
    uri = store_uri(url)
    if not uri:
        return ()
    try:
        store = connect(uri)
        names = [name for name in store.list(LOCKS) if name.endswith(".json")]
        return tuple(lock for name in names if (lock := _lock(store, name)) is not None)
    except MissingError:
        return ()
    except (StoreError, UsageError) as error:
        raise ServiceError(
            f"the locks of the backend cannot be read: {str(error).partition(';')[0]}\n"
            f"  fix: let this login list and read {LOCKS} there"
        ) from None


def states_written(url: str) -> dict[str, str]:
    """When each stack's state was written in a backend of files, by stack; {} for a service. ServiceError where they
    cannot be listed.

    The engine lists the time of the last update. What edits a state (`pulumi state protect`, an import) leaves that.
    """
    uri = store_uri(url)
    try:
        written = connect(uri).written(STATES) if uri else {}
    except (StoreError, UsageError) as error:
        raise ServiceError(f"the states of the backend cannot be listed: {str(error).partition(';')[0]}") from None
    states: dict[str, str] = {}
    for name, at in sorted(written.items()):
        stack, ending, rest = name.rpartition("/")[2].partition(".json")
        if ending and rest in ("", ".gz"):  # of each project that has such a stack: the engine names one alone
            states[stack] = f"{states.get(stack, '')}{at:%Y%m%dT%H%M%S%f}"
    return states


def broken_state(url: str) -> str:
    """The first state of a backend that is no JSON, as one that was cut off is, by its place there; "" where none is.

    The engine lists no stack of a backend that has such a one, and does not say which.
    """
    uri = store_uri(url)
    try:
        store = connect(uri) if uri else None
        names = sorted(store.list(STATES)) if store else []
        for name in (each for each in names if each.endswith((".json", ".json.attrs")) and ".bak" not in each):
            try:
                json.loads(store.get(name))  # type: ignore[union-attr]
            except ValueError:
                return f"{uri}/{name}"
    except (StoreError, UsageError):
        pass
    return ""


def store_uri(url: str) -> str:
    """Where a backend keeps its objects, as this project's stores are named; "" for a service.

    >>> store_uri("s3://states/team?region=us-east-1&awssdk=v2"), store_uri("https://api.pulumi.com")
    ('s3://states/team', '')
    >>> store_uri("azblob://states?storage_account=petsnap"), store_uri("file:///srv/states")
    ('az://petsnap/states', 'file:///srv/states')
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if parts.scheme == "azblob":
        account = parse_qs(parts.query).get("storage_account", [os.environ.get("AZURE_STORAGE_ACCOUNT", "")])[0]
        return f"az://{account}/{parts.netloc}{path}"
    if parts.scheme == "file" and parts.netloc == "~":
        return f"file://{Path.home()}{path}"
    return f"{parts.scheme}://{parts.netloc}{path}" if parts.scheme in ("s3", "gs", "file") else ""


def _lock(store: Any, name: str) -> EngineLock | None:
    """One lock; None where it was taken away meanwhile. One that cannot be read, as of an engine that was killed while
    it wrote it, holds its stack alone, since it was written.
    """
    *_, project, stack, _ = name.split("/")
    try:
        held = json.loads(store.get(name))
        return EngineLock(
            project=project,
            stack=stack,
            user=str(held.get("username") or "?"),
            host=str(held.get("hostname") or "?"),
            pid=int(held.get("pid") or 0),
            at=_time(str(held["timestamp"])),
        )
    except MissingError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        written = store.written(name).get(name)
        return written and EngineLock(project=project, stack=stack, user="", host="", pid=0, at=written)


def _time(text: str) -> datetime:
    """A time as Go writes it: more digits of a second than Python reads, on some releases."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def update_of(held: Iterable[EngineLock], records: Sequence[Mapping[str, Any]], at: datetime) -> Update | None:
    """The update that holds a stack; the oldest lock that may be alive before those that are known to be over."""
    updates = [
        Update(
            by=lock.by,
            since_s=lock.at.timestamp(),
            over=over(lock, records, at),
            own=any(not _ended(record, records, lock.at) for record in _that_started(lock, records)),
        )
        for lock in held
    ]
    return min(updates, key=lambda update: (bool(update.over), update.own, update.since_s), default=None)


def over(lock: EngineLock, records: Iterable[Mapping[str, Any]], at: datetime) -> str:
    """How it is known that a lock's engine no longer runs; "" where it may.

    Known alone of engines that a teardown started, as the journal has it: its process is gone from this machine, or the
    time is over after which it stops its engine. An old lock of somebody else's is said, and left to a person.
    """
    for record in _that_started(lock, records):
        here = lock.host == socket.gethostname() and processes.gone(record.get("process"))
        if here and not processes.runs(lock.pid):
            return "the teardown that started it was killed, and its engine is gone"
        if at - lock.at > DESTROY_MAX:
            return f"the teardown that started it ends its engine after {DESTROY_MAX.total_seconds() / 3600:g} hours"
    return ""


def _that_started(lock: EngineLock, records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The acts of teardown that may have started a lock's engine: the same stack and host, shortly before it."""
    return [
        record
        for record in records
        if record["kind"] == "begin"
        and record.get("action") == "destroy"
        and record["stack"] == lock.stack
        and record.get("host") == lock.host
        and -timedelta(minutes=1) <= lock.at - datetime.fromisoformat(str(record["at"])) <= DESTROY_MAX
    ]


def _ended(begun: Mapping[str, Any], records: Iterable[Mapping[str, Any]], at: datetime) -> bool:
    """Whether an act had an outcome by `at`: an engine that began after it is somebody else's."""
    began = datetime.fromisoformat(str(begun["at"]))
    return any(
        record["kind"] in ("done", "failed")
        and record["stack"] == begun["stack"]
        and record.get("action") == "destroy"
        and began <= datetime.fromisoformat(str(record["at"])) <= at
        for record in records
    )
