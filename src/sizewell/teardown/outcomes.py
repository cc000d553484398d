"""What a run of teardown works with, what it answers, and what it notes of that in the journal."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from sizewell.teardown.backend import Backend
from sizewell.teardown.config import TeardownConfig
from sizewell.teardown.gather import StackStatus, StatusReader
from sizewell.teardown.journal import Journal
from sizewell.teardown.planning import Row
from sizewell.teardown.timeline import recorded

LOG: Final = logging.getLogger(__name__)
Outcome = Literal["done", "told", "unheard", "would", "observed", "held back", "not due", "failed", "left over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one row of the plan."""

    stack: str
    pool: str
    action: str  # "empty", "destroy", "notice"
    outcome: Outcome
    detail: str


@dataclass(slots=True)
class Run:
    """One run: what it works with, and what it answers and notes. `fresh` makes a StatusReader that has asked nothing
    yet; `now` is the clock of acts.
    """

    backend: Backend
    config: TeardownConfig
    journal: Journal
    fresh: Callable[[], StatusReader]
    exports: Path
    project: str  # as Pulumi.yaml names it
    yes: bool = False
    data: Sequence[str] = ()  # stacks whose data may go
    images: Sequence[str] = ()  # stacks whose image stores go with them
    tag_of: Callable[[str], str] = str.lower  # a name as tags spell it
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    cluster: str = ""  # the Kubernetes cluster that this runs in; "": none
    send: Callable[[str, Mapping[str, Any]], None] | None = None
    outdated: Callable[[], str] = lambda: ""  # why the settings of this run count no more
    statuses: Sequence[StackStatus] = ()  # what the plan rests on: its samples are kept for `size --observed`
    only: Collection[str] = ()  # stacks that were named: of no other anything is said
    results: list[Result] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    answered: set[tuple[str, str]] = field(default_factory=set)  # held back, and nothing that an owner has to hear
    gone: set[str] = field(default_factory=set)  # stacks of which nothing stands any more
    undelivered: set[tuple[str, str]] = field(default_factory=set)  # messages of this run that nobody took

    def record(self, kind: str, row: Row, **content: Any) -> None:
        about = {"stack": row.stack, "subject": row.pool, "owner": self.owners.get(row.stack, "")}
        self.journal.write(kind, self.now(), **about, action=row.action, why=row.why, **content)

    def fails(self, row: Row, why: str) -> None:
        self.record("failed", row, detail=why[:2000])
        self.say(row, "failed", why.partition("\n")[0])

    def say(
        self, row: Row, outcome: Outcome, detail: str, *, action: str = "", to: Literal["owner", "report", ""] = "owner"
    ) -> None:
        """A line of this run's answer. What is held back is noted for the report too, and its owner hears of it; not
        where a person asked for it and reads this, nor where another run is at it, which says so itself.
        """
        subject = f"{row.stack}/{row.pool}" if row.pool else row.stack
        LOG.info("%s: %s: %s: %s", subject, action or row.action, outcome, detail)
        if outcome == "held back" and to != "owner":
            self.answered.add((row.stack, row.pool))
        if outcome == "held back" and to and self.yes:
            self.record("held", row, detail=detail, **({} if to == "owner" else {"asked": True}))
        self.results.append(
            Result(stack=row.stack, pool=row.pool, action=action or row.action, outcome=outcome, detail=detail)
        )

    def keep_timeline(self, status: StackStatus | None, at: datetime) -> None:
        """What a notice or an act rests on, for `teardown replay`."""
        if status is None or status.facts is None:
            return
        path = self.exports.parent / "timelines" / f"{status.name}-{at:%Y%m%dT%H%M%SZ}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(recorded(status.facts, at))
        path.write_text(text, encoding="utf-8")
        self.journal.keep(f"timelines/{path.name}", text.encode())


def saved(row: Row) -> str:
    """US dollars per month of an act, as the journal has it; `?`: not known."""
    return "?" if row.saves_usd_per_month is None else str(row.saves_usd_per_month)
