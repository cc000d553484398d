"""What the journal adds up to, by owner, stack and month. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sizewell.teardown.news import cut_off
from sizewell.teardown.savings import Stop, stops


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthOfStack:
    """One stack in one month."""

    month: str
    owner: str
    stack: str
    emptied: int
    destroyed: int
    hours_not_run: float  # of what was stopped, in this month
    saved_usd: Decimal  # those hours at the rate of their machines
    unpriced: int  # stops of which nobody knows the rate
    observed: int  # stops that observe mode only noted
    observed_usd: Decimal  # what they would have saved in this month
    held: int  # acts that were held back, each time
    held_back: tuple[str, ...]  # why, and how often
    failed: int
    left_over: tuple[str, ...] = ()  # what the cloud still had when it was asked last, in words
    left_usd_per_month: Decimal | None = Decimal(0)  # of that; None: not all of it has a price


# Acts of `wake` and `reconcile`: nothing is saved, held back or left over by them.
BY_HAND: Final = frozenset({"wake", "adopt", "delete"})


def monthly_report(records: Sequence[Mapping[str, Any]], at: datetime) -> list[MonthOfStack]:
    """Rows by month, owner and stack, as of a time: what has not ended is counted until then."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    stopped: dict[tuple[str, str, str], list[Stop]] = {}
    killed = cut_off(records, at)
    for record in records:
        counts = record["kind"] in ("done", "held", "failed", "left") or _holds(record) or record in killed
        if record.get("action") in BY_HAND or not counts:
            continue
        key = (str(record["at"])[:7], str(record.get("owner", "")), str(record["stack"]))
        groups.setdefault(key, []).append(record)
    for stop in stops(records):
        for month in stop.months(at):
            groups.setdefault((month, stop.owner, stop.stack), [])
            stopped.setdefault((month, stop.owner, stop.stack), []).append(stop)
    rows = []
    for (month, owner, stack), own in sorted(groups.items()):
        done = [record for record in own if record["kind"] == "done"]
        here = stopped.get((month, owner, stack), [])
        left: Mapping[str, Any] = next((record for record in reversed(own) if record["kind"] == "left"), {})
        held = Counter(str(record["detail"]) for record in own if record["kind"] == "held")
        held.update(str(record["text"]).partition(". Next: ")[0] for record in own if _holds(record))
        rows.append(
            MonthOfStack(
                month=month,
                owner=owner,
                stack=stack,
                emptied=sum(record["action"] == "empty" for record in done),
                destroyed=sum(record["action"] == "destroy" for record in done),
                hours_not_run=round(sum(stop.hours(month, at) for stop in here if stop.acted), 1),
                saved_usd=_worth([stop for stop in here if stop.acted], month, at),
                unpriced=sum(stop.usd_per_hour is None for stop in here),
                observed=sum(not stop.acted and f"{stop.at:%Y-%m}" == month for stop in here),
                observed_usd=_worth([stop for stop in here if not stop.acted], month, at),
                held=held.total(),
                held_back=tuple(f"{why} ({count} times)" if count > 1 else why for why, count in held.items()),
                failed=sum(record["kind"] in ("failed", "begin") for record in own),
                left_over=tuple(map(str, left.get("left", ()))),
                left_usd_per_month=_amount(left.get("usd_per_month", 0)),
            )
        )
    return rows


def _holds(record: Mapping[str, Any]) -> bool:
    """Whether a message says why something waits, of which there is no record of its own: a closed day, an update that
    runs, samples that are missing.
    """
    said = record["kind"] == "message" and record.get("why") == "held back" and record["stack"] and record.get("text")
    return bool(said) and not all(" held " in str(key) for key in record["keys"])


def _worth(stopped: Iterable[Stop], month: str, at: datetime) -> Decimal:
    known = ((stop.usd_per_hour, stop.hours(month, at)) for stop in stopped)
    return round(sum((rate * Decimal(hours) for rate, hours in known if rate is not None), Decimal(0)), 2)


def _amount(text: Any) -> Decimal | None:
    try:
        return Decimal(str(text))
    except InvalidOperation:
        return None
