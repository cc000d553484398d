"""What was stopped, or would have been, for how long, and what that saved: hours not run times the rate. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sizewell.teardown.planning import HOURS_PER_MONTH, Plan, Row

# Nobody knows how long what was stopped would have run. A choice of this project, not a measurement.
COUNTED: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A pool or a stack (`pool` "") that was stopped, or that observe mode only noted (`acted` False)."""

    stack: str
    pool: str
    owner: str
    action: str
    acted: bool
    why: str
    at: datetime
    usd_per_hour: Decimal | None  # None: not known
    ended: datetime | None = None  # when it was seen running or in use again; None: it was not
    clause: str = ""  # the reason that was seen then
    after: str = ""  # that, in words

    def hours(self, month: str, at: datetime) -> float:
        """How many hours of a month (`2026-11`, UTC) it did not run, or need not have run, until `at`."""
        if self.usd_per_hour == 0:  # a stack whose pools were emptied before: theirs are the hours
            return 0.0
        start = datetime.fromisoformat(f"{month}-01T00:00:00+00:00")
        end = (start + timedelta(days=32)).replace(day=1)
        until = min(self.ended or at, self.at + COUNTED, at, end)
        return max((until - max(self.at, start)).total_seconds(), 0.0) / 3600

    def months(self, at: datetime) -> Iterator[str]:
        """The months in which it did not run; that in which it was stopped in any case."""
        until = min(self.ended or at, self.at + COUNTED, at)
        year, month = self.at.year, self.at.month
        while True:
            yield f"{year}-{month:02d}"
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
            if (year, month) > (until.year, until.month):
                return


def stops(records: Iterable[Mapping[str, Any]]) -> list[Stop]:
    """Every stop that a journal has, oldest first. One that is stopped again was running in between."""
    made: list[Stop] = []
    running: dict[tuple[str, str, str, bool], int] = {}  # stops that have not ended, by what they stopped
    for record in records:
        kind, action = record["kind"], str(record.get("action", ""))
        if kind not in ("done", "would", "ended") or action not in ("empty", "destroy", "wake"):
            continue
        at = datetime.fromisoformat(record["at"])
        stack, pool = str(record["stack"]), str(record.get("subject", ""))
        if action == "wake":
            ends = [(stack, pool, "empty", acted) for acted in (True, False)]
        else:
            ends = [(stack, pool, action, bool(record.get("acted", kind == "done")))]
        if kind == "done" and action != "wake":  # what observe mode noted of it is done now, and counted as that
            ends += [key for key in running if key[0] == stack and key[1] in (pool, pool or key[1]) and not key[3]]
        for key in ends:
            if key in running:
                number, says = running.pop(key), record if kind == "ended" or action == "wake" else {}
                clause, after = str(says.get("clause", "")), str(says.get("why", ""))
                made[number] = replace(made[number], ended=at, clause=clause, after=after)
        if kind == "ended" or action == "wake" or "saves_usd_per_month" not in record:  # of a stack beside: no machines
            continue
        running[ends[0]] = len(made)
        made.append(
            Stop(
                stack=stack,
                pool=pool,
                owner=str(record.get("owner", "")),
                action=action,
                acted=kind == "done",
                why=str(record.get("why", "")),
                at=at,
                usd_per_hour=_hourly(record.get("saves_usd_per_month")),
            )
        )
    return made


def ends(stop: Stop, plan: Plan) -> Row | None:
    """The row of a look by which a stop is over; None where it goes on, or where the look cannot tell."""
    rows = {(row.stack, row.pool): row for stack in plan.stacks for row in stack.rows}
    row = rows.get((stop.stack, stop.pool))
    if row is None or row.action in ("unknown", stop.action) or row.clause == "window":
        return None
    if stop.acted and (row.clause == "nothing" or (stop.pool and not row.machines)):
        return None
    return row


def _hourly(usd_per_month: Any) -> Decimal | None:
    try:
        return Decimal(str(usd_per_month)) / HOURS_PER_MONTH
    except InvalidOperation:
        return None
