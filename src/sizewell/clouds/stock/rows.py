"""What is said of one machine type in one zone, and what a question is that a cloud answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol

from sizewell.clouds.calls import CloudError
from sizewell.clouds.preflight.findings import Finding
from sizewell.clouds.preflight.needs import Machines, Needs

State = Literal["available", "likely", "uncertain", "unlikely", "unavailable", "unknown"]
ANYWHERE: Final = "*"  # all zones
BEST_FIRST: Final[tuple[State, ...]] = ("available", "likely", "uncertain", "unknown", "unlikely", "unavailable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One machine type in one zone: how likely it can be had, who says so and when.

    available: the cloud holds it, as a reservation or an offering; likely, uncertain, unlikely: its own score of the
    request; unavailable: it is not sold there, not to this account, or beyond a quota; unknown: no answer.
    """

    pool: str
    cloud: str
    region: str
    zone: str  # "": the region as a whole
    instance_type: str
    market: str
    machines: int  # asked for at once
    fallback: bool  # where the pool would go if it had no capacity
    state: State
    detail: str
    sources: tuple[str, ...]  # the calls that say so; (): nothing was asked
    asked_at: str  # ISO time in UTC of the oldest of their answers; "": nothing was answered
    fix: str = ""
    reservable_from: str = ""  # ISO time from which the cloud offers to reserve it
    failed: bool = False  # unknown because no answer came


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that is asked. What `ask` returns is JSON, so that it can be kept for minutes."""

    source: str
    rights: tuple[str, ...]
    ask: Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """The answer to a question, or why there is none."""

    question: Question
    data: Any = None
    at: str = ""
    error: CloudError | None = None


Answers = Mapping[str, Got]  # by the question's name


class Stock(Protocol):
    """What a cloud's module asks, with the cloud's own client."""

    @property
    def SOLD(self) -> str: ...  # noqa: N802 - the call that says where a machine type is sold
    @property
    def SOURCES(self) -> Mapping[str, tuple[str, ...]]: ...  # noqa: N802 - what is asked, and the rights that it takes
    def account(self, needs: Needs, client: Any, /) -> str:
        """Whose stock is asked. CloudError without a login, or with that of another account."""
        ...

    def questions(self, needs: Needs, client: Any, account: str, /) -> dict[str, Question]: ...
    def further(self, needs: Needs, client: Any, account: str, got: Answers, /) -> dict[str, Question]:
        """What can only be asked once the first answers are there."""
        ...

    def rows(self, machines: Machines, needs: Needs, got: Answers, /) -> Sequence[Row]: ...


def of(machines: Machines, cloud: str, zone: str, state: State, detail: str, *said_by: Got, fix: str = "") -> Row:
    """A row about a pool's machines in a zone."""
    return Row(
        pool=machines.pool,
        cloud=cloud,
        region=machines.region,
        zone=zone,
        instance_type=machines.instance_type,
        market=machines.market,
        machines=machines.now,
        fallback=machines.fallback,
        state=state,
        detail=detail,
        sources=tuple(dict.fromkeys(got.question.source for got in said_by if got.question.source)),
        asked_at=min((got.at for got in said_by if got.at), default=""),
        fix=fix,
    )


def silent(machines: Machines, cloud: str, zone: str, got: Got) -> Row:
    """Unknown, as a question had no answer: why, the right that is missing by its name, and the way out."""
    assert got.error is not None  # noqa: S101 - asked only of those
    detail, fix = _why(got.error, got.question.rights)
    return replace(of(machines, cloud, zone, "unknown", detail, got, fix=fix), failed=True)


Place = tuple[str, str, str, int | None]  # of a reservation: state, detail and fix as doctor has them, machines free


def place(found: Iterable[Finding], free: int | None) -> Place:
    """What a reservation is in one place."""
    first = next(iter(found))
    return first.state, first.detail, first.fix, free


def reserved(machines: Machines, cloud: str, zone: str, said: Got, *, own: bool, holds: State = "available") -> Row:
    """What a reservation says of one zone: it holds machines where it is, and no more than are free.

    The answer has a `Place` for each zone of it; that of ANYWHERE is of all zones. `own`: some of the machines in it
    may be the stack's.
    """
    if said.error is not None:
        return silent(machines, cloud, zone, said)
    places: Mapping[str, Place] = said.data
    about = f"reservation {machines.reservation.rpartition('/')[2]}"
    if zone not in places and ANYWHERE not in places:
        there = ", ".join(places)
        fix = f"pulumi config set --path 'sizewell:zones[0]' {min(places)}" if machines.zones else ""
        return of(machines, cloud, zone, "unavailable", f"{about}: is in {there or 'no zone'}", said, fix=fix)
    state, detail, fix, free = places.get(zone) or places[ANYWHERE]
    found: State = "unavailable" if state == "wrong" else "unknown" if state == "note" else holds
    if found == holds and free is not None and free < machines.now:
        detail, found = f"{detail}; the pool begins with {machines.now}", "unknown" if own else "unavailable"
        fix = "see whether this stack's own machines are in it" if own else "name a reservation with more room"
    return of(machines, cloud, zone, found, f"{about}: {detail}", said, fix=fix)


def _why(error: CloudError, rights: Sequence[str]) -> tuple[str, str]:
    named = ", ".join(rights)
    if error.code in ("SERVICE_DISABLED", "accessNotConfigured"):  # Google's answer of an API that is off is a 403 too
        return f"{error.service}: {error.detail}", error.fix or "enable the API that the message names, and ask again"
    if error.reason == "denied" and named:
        return f"denied, {named} is missing: {error.detail}", f"let an administrator allow {named}"
    if error.reason == "login":
        return f"not logged in: {error.detail}", error.fix or "log in, and ask again"
    if error.reason == "unanswered":
        local = "check the network and its proxy (HTTPS_PROXY), and ask again"
        return f"no answer: {error.detail}", error.fix or (local if error.local else "ask again in a minute")
    return f"{error.service}: {error.detail}", error.fix or "see the cloud's message"


def only(asked: Sequence[object], answered: object, service: str) -> None:
    """CloudError where an API answers for something else than what it was asked about."""
    if answered not in asked:
        wanted = ", ".join(map(str, asked))
        raise CloudError(service, "unanswered", f"answers for {answered}, and was asked about {wanted}")


def within(score: object, lowest: float, highest: float, service: str) -> None:
    """CloudError where a score is not on its API's scale."""
    if isinstance(score, bool) or not isinstance(score, int | float) or not lowest <= score <= highest:
        raise CloudError(service, "unanswered", f"scores {score!r}, and its scale is {lowest:g} to {highest:g}")


def best(rows: Sequence[Row]) -> Row:
    """The row of the zone where a machine can be had most likely; of equals the first."""
    return min(rows, key=lambda row: BEST_FIRST.index(row.state))
