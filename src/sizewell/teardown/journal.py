"""Which notices were given, what was done, and who works on which stack: numbered objects that are put once.

    journal/000000000042.json        one record; the next number is put on the condition that it is not taken
    locks/STACK/000000000003.json    who holds the stack and until when; the number is the fence
    locks/STACK/000000000003.released.json
    kept/exports/, kept/timelines/   what an act rested on, for whoever asks later
    kept/usage/20261120T120000Z.json how busy each pool was in the hours before
    settings/000000000007.json       what scheduled runs go by, as `sizewell teardown publish` put it

A record that is missing or cannot be read may have been a lease: it holds every stack until a person goes on without it
(`sizewell teardown accept-gap`), which is a record too.

Nothing is replaced and nothing deleted, so that the writer needs neither right. Two runners that race for a number meet
in the store's own condition (If-None-Match, generation 0): one has it, the other reads what stands there. A runner that
lost its time finds a higher number than its own, and stops before its next act.
"""

from __future__ import annotations

import json
import logging
import math
import re
import socket
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sizewell import source
from sizewell.launch.scripts import store as object_store
from sizewell.launch.scripts.store import MissingError, RefusedError, Store, StoreError, TakenError
from sizewell.sizing.errors import ServiceError, UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.versions import refusal, schema_of
from sizewell.teardown import processes
from sizewell.teardown.records import KEPT, OPEN, Protection, Told, printable, until_of

LOG: Final = logging.getLogger(__name__)
LOCK: Final = timedelta(hours=3)  # longer than a destroy may take
_ACCEPT: Final = "teardown accept-gap --reason TEXT"
_NUMBER: Final = re.compile(r"(?:.*/)?(\d{12})(?:\.released)?\.json")
_AHEAD: Final = 10_000  # a number so far beyond the last is none that a runner of this journal took
_KEPT: Final = ("pools", "empty")  # lists of what a run kept of the use of pools
# What a record of a kind has beside its kind, time and stack, and is read of it without asking whether it is there.
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("begin", "done", "would", "ended", "cancelled", "left"), ()),
    "notice": ("subject", "about"),
    "lease": ("until", "reason"),
    "pause": ("until", "reason"),
    "gap": ("names",),
    "message": ("keys",),
    "held": ("detail",),
    "failed": ("detail",),
}


def connect(uri: str) -> Store:
    """The store at a URI. UsageError where it cannot be one, ServiceError where nobody answers."""
    try:
        return object_store.connect(uri)
    except RefusedError as error:
        text = str(error).replace("checkpoint URI", "URI")
        if isinstance(error.__context__, ImportError):  # said for an image of a run, which this is not
            extra = next(name for name, cloud in CLOUDS.items() if uri.startswith(cloud.data_schemes))
            text = f"{text.partition(' in the image')[0]}, which is not installed\n  fix: {source.install(extra)}"
        raise UsageError(text) from None
    except StoreError as error:
        raise ServiceError(str(error)) from None


class HeldError(ServiceError):
    """Another runner works on the stack, or took it over."""


@dataclass(slots=True)
class Journal:
    """The journal at a store; `records` are those that were there when it was read, oldest first.

    `unread`: what is missing or cannot be read, by its name, and why. `option`: what a command that is printed
    needs beside its words to act on this journal, where it is not the project's own.
    """

    store: Store
    option: str = ""
    records: list[Mapping[str, Any]] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    _next: int = 1

    def read(self) -> Journal:
        """Read what is new; ServiceError where the store does not respond."""
        before = set(self.unread)
        for name in sorted(self._listed("journal/")):
            match = _NUMBER.fullmatch(name)
            if match is None or int(match[1]) > self._next + _AHEAD:
                self.unread[name] = "is no name of a record of this journal"
                continue
            # Listed or not: a list that was made while others wrote may lack one, and what is not there was deleted.
            for number in range(self._next, int(match[1]) + 1):
                self._take(f"journal/{number:012d}.json")
                self._next = number + 1
        for line in in_lines({name: why for name, why in self.gaps().items() if name not in before}):
            LOG.info("%s/%s", self.store.uri, line)
        return self

    def _take(self, name: str) -> None:
        record, wrong = self._checked(name, "teardown-record")
        if wrong := wrong or _malformed(record) or _misplaced(record, name):
            self.unread[name] = wrong
        else:
            self.records.append(record)

    def command(self, words: str) -> str:
        """A command that acts on this journal, as a person has to type it."""
        return f"sizewell {words}{self.option}"

    @property
    def way_out(self) -> str:
        """The command that goes on without what cannot be read."""
        return self.command(_ACCEPT)

    def gaps(self) -> dict[str, str]:
        """What cannot be read and nobody has accepted, by name, and why."""
        accepted = {name for record in self.records if record["kind"] == "gap" for name in record["names"]}
        return {name: why for name, why in self.unread.items() if name not in accepted}

    def gap(self) -> str:
        """That in a sentence, without the way out; "" where there is none."""
        lines = in_lines(self.gaps())
        if not lines:
            return ""
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        return f"{self.store.uri}/{lines[0]}{more}: it may have held a lease, a pause or a sign of use"

    def look_for_gaps(self, since: datetime) -> None:
        """Read, beside the records, what else runs rest on: samples kept since a time, and locks of stacks."""
        self.kept("usage", since=since)
        for stack in sorted({name.split("/")[1] for name in self._listed("locks/") if name.count("/") == 2}):
            numbers, released = self._locks(stack)
            if numbers and max(numbers) not in released:
                self._lock_record(stack, max(numbers))

    def accept(self, at: datetime, *, reason: str, by: str) -> dict[str, str]:
        """Go on without what cannot be read: what that is, by name, and why it could not be. Who could hold an
        unreadable lock holds it no longer.
        """
        gaps = self.gaps()
        if gaps:
            self.write("gap", at, stack="", subject="", names=sorted(gaps), reason=reason, by=by)
        for name in gaps:
            if name.startswith("locks/"):
                self._release(name)
        return gaps

    def write(self, kind: str, at: datetime, **content: Any) -> int:
        """Put one record under the next number; its number."""
        record = {
            "schema": "sizewell.teardown-record/1",
            "id": uuid.uuid4().hex,
            "kind": kind,
            "at": at.isoformat(),
            **content,
        }
        # The next number, put on condition, and not one object that is replaced: nobody needs the right to overwrite,
        # no record is lost to a race, and a gap shows that something was deleted. So nothing may replace or delete.
        for _ in range(10_000):
            record["number"] = self._next  # in the record too, so that a copy under another number shows
            if self._put(f"journal/{self._next:012d}.json", json.dumps(record, sort_keys=True).encode()):
                self.records.append(record)
                self._next += 1
                LOG.debug("%s: record %d: %s", self.store.uri, self._next - 1, kind)
                return self._next - 1
            LOG.debug("%s: number %d was taken by another runner", self.store.uri, self._next)
            self.read()
        raise ServiceError(f"{self.store.uri}: 10,000 consecutive numbers were taken")

    def keep(self, name: str, data: bytes) -> None:
        """Keep what an act rests on beside the journal. ServiceError where the store does not take it."""
        self._put(f"kept/{name}", data)

    def kept(self, folder: str, *, since: datetime) -> list[tuple[str, Mapping[str, Any]]]:
        """(name, document) of what was kept in a folder, by names that are times, oldest first. ServiceError where the
        store does not respond.
        """
        oldest = f"kept/{folder}/{since:%Y%m%dT%H%M%SZ}"
        names = sorted(name for name in self._listed(f"kept/{folder}/") if name >= oldest)
        with ThreadPoolExecutor(max_workers=16) as threads:
            read = zip(names, threads.map(lambda name: self._checked(name, "pool-usage"), names), strict=True)
        documents = []
        for name, (document, wrong) in read:
            if wrong := wrong or _without(document, _KEPT) or _listless(document, _KEPT):
                self.unread[name] = wrong
            else:
                documents.append((name, document))
        return documents

    def numbers(self, folder: str) -> list[int]:
        """The numbers of the documents in a folder. ServiceError where the store does not respond."""
        return sorted(_number(name, self.store.uri) for name in self._listed(f"{folder}/"))

    def numbered(self, folder: str, number: int) -> Mapping[str, Any]:
        """One of them. UsageError where it cannot be read, ServiceError where the store does not respond."""
        name = f"{folder}/{number:012d}.json"
        document, wrong = self._checked(name)
        if wrong:
            raise UsageError(f"{self.store.uri}/{name}: {wrong}\n  fix: put it there again, under the next number")
        return document

    def put_numbered(self, folder: str, number: int, data: bytes) -> bool:
        """Whether a number was free. ServiceError where the store does not take it."""
        return self._put(f"{folder}/{number:012d}.json", data)

    def told(self, stack: str, subject: str, *, acts: Collection[str] = ()) -> tuple[Told, ...]:
        """The notices to the owner of a stack, of a pool of it (`subject`) or of itself (""), oldest first; but those
        that said of one of the acts of today that it would only be noted, and those before its last destroy: what is
        built again has been announced to nobody. With them the words that it stays (KEPT).
        """
        destroyed = max((n for n, record in enumerate(self.records) if _destroyed(record, stack)), default=-1)
        return tuple(
            Told(
                at_s=datetime.fromisoformat(record["at"]).timestamp(),
                about=str(record["about"]) if record["kind"] == "notice" else KEPT,
                heard=any(who != "report" for who in record.get("heard", ())),  # "report": older releases, for nobody
                due_s=datetime.fromisoformat(record["due"]).timestamp() if record.get("due") else -math.inf,
                machines=frozenset(record["machines"]) if "machines" in record else None,
            )
            for record in self.records[destroyed + 1 :]
            if record["stack"] == stack
            and (
                (record["kind"] == "notice" and record["subject"] == subject and record.get("observed") not in acts)
                or (record["kind"] == "message" and subject in record.get("keeps", ()))
            )
        )

    def wakes_s(self, stack: str, pool: str) -> tuple[float, ...]:
        """When somebody woke a pool."""
        return self._times(stack, pool, "wake")

    def emptied_s(self, stack: str, pool: str) -> tuple[float, ...]:
        """When a run began to empty a pool."""
        return self._times(stack, pool, "empty", "begin")

    def _times(self, stack: str, pool: str, action: str, kind: str = "") -> tuple[float, ...]:
        return tuple(
            datetime.fromisoformat(record["at"]).timestamp()
            for record in self.records
            if record.get("action") == action
            and kind in ("", record["kind"])
            and record["stack"] == stack
            and record["subject"] == pool
        )

    def leases(self, stack: str) -> tuple[Protection, ...]:
        """What keeps a stack by a person's word that is recorded here, what ended too: leases of it, pauses of it and
        of all stacks. Each holds to its own end, so that nobody shortens what somebody else asked for; a record that
        ends a kind ends all of that kind before it. What cannot be read may be such a word.
        """
        leases = list(self._lost())
        for kind, whose in (("lease", stack), ("pause", stack), ("pause", "")):
            given = self._given(kind, whose)
            for number, record in enumerate(given):
                until, unclear = until_of(str(record["until"]))
                ends = (datetime.fromisoformat(later["at"]) for later in given[number:] if _is_end(later))
                until = min([until, *ends])
                since_s = datetime.fromisoformat(record["at"]).timestamp()
                said = printable(str(record["reason"]))
                reason = f"teardown is paused: {said}" if kind == "pause" else said
                leases.append(Protection(until=until, reason=reason, since_s=since_s, unclear=unclear))
        return tuple(leases)

    def paused(self, stack: str, at: datetime) -> bool:
        """Whether a pause of a stack, or of all (""), holds."""
        return self.longest("pause", stack, at) is not None

    def longest(self, kind: str, stack: str, at: datetime) -> Mapping[str, Any] | None:
        """The lease or pause of a stack, or of all (""), that holds at a time the longest; None where none does."""
        given = self._given(kind, stack)
        ended = max((number for number, record in enumerate(given) if _is_end(record)), default=-1)
        held = [record for record in given[ended + 1 :] if until_of(str(record["until"]))[0] > at]
        return max(held, key=lambda record: until_of(str(record["until"]))[0], default=None)

    def _given(self, kind: str, stack: str) -> list[Mapping[str, Any]]:
        return [record for record in self.records if record["kind"] == kind and record["stack"] == stack]

    def _lost(self) -> Iterator[Protection]:
        accepted = {
            name: datetime.fromisoformat(record["at"])
            for record in self.records
            if record["kind"] == "gap"
            for name in record["names"]
        }
        for name, why in self.unread.items():
            reason = f"{name} of the journal {why}, and may be a lease: `{self.way_out}` goes on without it"
            yield Protection(until=accepted.get(name, OPEN), reason=reason)

    def own_update(self, stack: str, at_s: float) -> bool:
        """Whether the state of a stack was written then by an act of teardown: that is nobody's update."""
        began = math.inf
        for record in self.records:
            if record["stack"] != stack or record.get("action") != "destroy":
                continue
            when = datetime.fromisoformat(record["at"]).timestamp()
            if record["kind"] == "begin":
                began = when
            elif record["kind"] in ("done", "failed"):
                if began - 60 <= at_s <= when + 60:
                    return True
                began = math.inf
        return began - 60 <= at_s <= began + LOCK.total_seconds()  # it was killed: until when its lock would have held

    def destroying_s(self, stack: str) -> float | None:
        """Since when a destroy of a stack has been going on that did not come to its end: it failed, or was killed."""
        began: float | None = None
        for record in self.records:
            if record["stack"] == stack and record.get("action") == "destroy":
                if record["kind"] == "begin" and began is None:
                    began = datetime.fromisoformat(record["at"]).timestamp()
                elif record["kind"] == "done":
                    began = None
        return began

    def begun_saving(self, stack: str, since_s: float) -> str:
        """What a destroy of a stack saves, in US dollars a month, by its first attempt since a time, as one that was
        killed or failed has taken a part already; "" where no attempt says it.
        """
        says = ""
        for record in self.records:
            if record["stack"] == stack and record.get("action") == "destroy":
                if record["kind"] == "begin" and datetime.fromisoformat(record["at"]).timestamp() >= since_s:
                    says = says or str(record.get("saves_usd_per_month", ""))
                elif record["kind"] == "done":
                    says = ""
        return says

    def lock(self, stack: str, at: datetime, *, holder: str = "") -> Lock:
        """Hold a stack. HeldError where another does."""
        numbers, released = self._locks(stack)
        newest = max(numbers, default=0)
        if newest and newest not in released:
            record = self._lock_record(stack, newest)
            if record is None:
                name = f"locks/{stack}/{newest:012d}.json"
                why = f"{self.store.uri}/{name} {self.unread[name]}: who works on the stack is not known"
                raise HeldError(f"{stack}: {why}\n  fix: {self.way_out}, once nobody does")
            if at < datetime.fromisoformat(record["until"]) and not processes.gone(record.get("process")):
                raise HeldError(
                    f"{stack}: {record['holder']} has been working on it since {_minute(record['at'])}, until "
                    f"{_minute(record['until'])} at most\n"
                    "  fix: wait for it, or run again after that time"
                )
        # A higher number and not the same lock again: whoever held the old one finds the new one at its next
        # `must_hold` and stops, however late it wakes up. Clocks decide only when a lock is over, never who holds it.
        number = newest + 1
        who = holder or f"runner {uuid.uuid4().hex[:8]}"
        data = {
            "schema": schema_of("teardown-lock"),
            "holder": who,
            "id": uuid.uuid4().hex,
            "at": at.isoformat(),
            "until": (at + LOCK).isoformat(),
            "host": socket.gethostname(),
            "process": processes.this(),
        }
        if not self._put(f"locks/{stack}/{number:012d}.json", json.dumps(data, sort_keys=True).encode()):
            raise HeldError(f"{stack}: another runner acquired it at the same moment\n  fix: run again")
        LOG.info("%s: locked as number %d until %s", stack, number, data["until"])
        return Lock(journal=self, stack=stack, number=number, until=at + LOCK)

    def _lock_record(self, stack: str, number: int) -> Mapping[str, Any] | None:
        """Who holds a stack; None where that cannot be read."""
        name = f"locks/{stack}/{number:012d}.json"
        record, wrong = self._checked(name, "teardown-lock")
        if wrong := wrong or _without(record, ("holder", "at", "until")) or _timeless(record, "until"):
            self.unread[name] = wrong
            return None
        return record

    def _locks(self, stack: str) -> tuple[set[int], set[int]]:
        numbers: set[int] = set()
        released: set[int] = set()
        for name in self._listed(f"locks/{stack}/"):
            (released if name.endswith(".released.json") else numbers).add(_number(name, self.store.uri))
        return numbers, released

    def _release(self, name: str) -> None:
        data = json.dumps({"schema": schema_of("teardown-lock")}).encode()
        self._put(f"{name.removesuffix('.json')}.released.json", data)

    def _listed(self, below: str) -> Iterator[str]:
        try:
            yield from (name for name in self.store.list(below) if name.endswith(".json"))
        except MissingError:
            return
        except StoreError as error:
            raise ServiceError(_unanswered(self.store.uri, error)) from None

    def _checked(self, name: str, schema: str = "") -> tuple[Mapping[str, Any], str]:
        """A document, where a schema is named of a version that this release reads; or why it cannot be read."""
        try:
            document = json.loads(self.store.get(name))
        except MissingError:
            return {}, "is missing"
        except StoreError as error:
            if self.store.uri.startswith("file:"):  # the folder was listed: it is this one that does not open
                return {}, f"cannot be opened: {str(error).partition(';')[0].rpartition(': ')[2]}"
            raise ServiceError(_unanswered(self.store.uri, error)) from None
        except (ValueError, RecursionError):
            return {}, "is not JSON"
        if not isinstance(document, dict):
            return {}, "is no JSON object"
        wrong, fix = refusal(schema, document.get("schema")) if schema else ("", "")
        if wrong and "schema" not in document:
            return document, "names no schema"
        return document, f"has a schema that is not read: {wrong}; {fix}" if wrong else ""

    def _put(self, name: str, data: bytes) -> bool:
        """Whether the name was free, or held these very bytes: an answer was lost."""
        try:
            self.store.put(name, data)
        except TakenError:
            return False
        except StoreError as error:
            raise ServiceError(f"the journal cannot be written: {error}") from None
        return True


def in_lines(names: Mapping[str, str]) -> list[str]:
    """What cannot be read and why, in a line each; consecutive records of one reason are one.

    >>> in_lines({f"journal/{number:012d}.json": "is missing" for number in (2, 3, 4, 9)})
    ['journal/000000000002.json to 000000000004.json is missing (3 records)', 'journal/000000000009.json is missing']
    """
    lines: list[str] = []
    group: list[str] = []
    for name in (*sorted(names), ""):
        if group and not (_follows(group[-1], name) and names[group[-1]] == names[name]):
            to = f" to {group[-1].rpartition('/')[2]}" if len(group) > 1 else ""
            count = f" ({len(group)} records)" if len(group) > 1 else ""
            lines.append(f"{group[0]}{to} {names[group[0]]}{count}")
            group = []
        group.append(name)
    return lines


def _follows(name: str, other: str) -> bool:
    """Whether a record's number is the next after that of another in one folder."""
    one, two = _NUMBER.fullmatch(name), _NUMBER.fullmatch(other)
    together = name.rpartition("/")[0] == other.rpartition("/")[0]
    return together and one is not None and two is not None and int(two[1]) == int(one[1]) + 1


def _destroyed(record: Mapping[str, Any], stack: str) -> bool:
    return record["kind"] == "done" and record["stack"] == stack and record.get("action") == "destroy"


def _is_end(record: Mapping[str, Any]) -> bool:
    """Whether a lease or a pause is the end of those before it: it holds until it was given."""
    return until_of(str(record["until"]))[0] <= datetime.fromisoformat(record["at"])


_END: Final = timedelta(minutes=1)  # an end of leases is one that holds until it is given, to the minute


def _malformed(record: Mapping[str, Any]) -> str:
    """Why nobody can tell what a record says; "" where it can be told."""
    kind = str(record.get("kind"))
    acts = ("subject", "why", "id") if record.get("action") in ("empty", "destroy") else ()
    needed = ("kind", "at", "stack", *_PARTS.get(kind, ()), *(acts if kind in ("begin", "done", "failed") else ()))
    lists = {"gap": ("names",), "message": ("keys",)}.get(kind, ())
    wrong = _without(record, needed) or _timeless(record, "at") or _listless(record, lists) or _unknown(record, kind)
    if not wrong and kind in ("lease", "pause"):
        try:
            if not isinstance(record["until"], str):
                return f"has an `until` that is no text: {json.dumps(record['until'])[:40]}"
            until, _ = until_of(record["until"])
            if until < datetime.fromisoformat(record["at"]) - _END:
                return f"ends before it was given: `until` is {record['until'][:30]}"
        except ValueError as error:
            return f"has an `until` that cannot be read: {error}"
    return wrong


def _unknown(record: Mapping[str, Any], kind: str) -> str:
    """That a kind is none that is read, or that a lease is of no stack: what it held would be passed over."""
    if kind not in _PARTS:
        return f"is of a kind that this release does not know, {kind[:40]!r}"
    stack = record["stack"]
    named = isinstance(stack, str) and (stack or kind != "lease")
    return "" if named else f"is a {kind} of no stack: {str(stack)[:40]!r}"


def _misplaced(record: Mapping[str, Any], name: str) -> str:
    """That a record stands under the number of another, whose place it took; older releases wrote no number."""
    own = f"journal/{record['number']:012d}.json" if isinstance(record.get("number"), int) else name
    return "" if own == name else f"is a copy of {own}"


def _without(record: Mapping[str, Any], needed: Sequence[str]) -> str:
    missing = [key for key in needed if key not in record]
    return f"has no {', '.join(missing)}" if missing else ""


def _listless(record: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((f"has no list in {key!r}" for key in keys if not isinstance(record[key], list)), "")


def _minute(time: Any) -> str:
    """A time of a record as people read it; the text of one that is none."""
    try:
        return f"{datetime.fromisoformat(str(time)).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return str(time)


def _timeless(record: Mapping[str, Any], key: str) -> str:
    """Why a time cannot be read; "" where it can, and has its zone."""
    try:
        return "" if datetime.fromisoformat(str(record[key])).tzinfo else f"has no time zone in {key!r}"
    except ValueError:
        return f"has no time in {key!r}: {str(record[key])[:40]!r}"


def _number(name: str, uri: str) -> int:
    match = _NUMBER.fullmatch(name)
    if match is None:
        raise ServiceError(
            f"{uri}/{name}: is no name that teardown gives\n  fix: find out what writes there; remove it"
        )
    return int(match[1])


def _unanswered(uri: str, error: Exception) -> str:
    """What a person does about it; the store's own advice after the semicolon is for a job."""
    reason = str(error).partition(";")[0]
    first = "let this user read and write that folder" if uri.startswith("file:") else "log in to its account"
    return (
        f"the journal does not respond: {reason}\n"
        f"  fix: {first}, or set another `journal:` in stacks/config/teardown.yaml"
    )


@dataclass(frozen=True, slots=True)
class Lock:
    """A stack that is held; its number is the fence."""

    journal: Journal
    stack: str
    number: int
    until: datetime

    def must_hold(self, at: datetime | None = None) -> None:
        """HeldError where its time is over or another runner took the stack; asked before each act."""
        numbers, released = self.journal._locks(self.stack)  # noqa: SLF001  (two halves of one thing)
        if max(numbers, default=0) != self.number or self.number in released:
            raise HeldError(f"{self.stack}: another runner has taken it over\n  fix: run again")
        if (at or datetime.now(UTC)) >= self.until:
            raise HeldError(f"{self.stack}: it was held for too long\n  fix: run again")

    def release(self) -> None:
        self.journal._release(f"locks/{self.stack}/{self.number:012d}.json")  # noqa: SLF001
