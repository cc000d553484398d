"""What the journal adds up to, by owner, stack and month. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthOfStack:
    """One stack in one month. What was emptied saves until somebody wakes it: the rate is given, not a sum."""

    month: str
    owner: str
    stack: str
    emptied: int
    destroyed: int
    saved_usd_per_month: Decimal
    unpriced: int  # acts of which nobody knows what they save
    held_back: tuple[str, ...]  # why, and how often
    failed: int
    left_over: tuple[str, ...] = ()  # what the cloud still had when it was asked last, in words
    left_usd_per_month: Decimal | None = Decimal(0)  # of that; None: not all of it has a price


# Acts of `wake` and `reconcile`: nothing is saved, held back or left over by them.
BY_HAND: Final = frozenset({"wake", "adopt", "delete"})


def monthly_report(records: Iterable[Mapping[str, Any]]) -> list[MonthOfStack]:
    """Rows by month, owner and stack."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        if record.get("action") in BY_HAND:
            continue
        key = (str(record["at"])[:7], str(record.get("owner", "")), str(record["stack"]))
        groups.setdefault(key, []).append(record)
    rows = []
    for (month, owner, stack), own in sorted(groups.items()):
        done = [record for record in own if record["kind"] == "done"]
        amounts = [_amount(record.get("saves_usd_per_month")) for record in done]
        left: Mapping[str, Any] = next((record for record in reversed(own) if record["kind"] == "left"), {})
        held = Counter(str(record["detail"]) for record in own if record["kind"] == "held")
        rows.append(
            MonthOfStack(
                month=month,
                owner=owner,
                stack=stack,
                emptied=sum(record["action"] == "empty" for record in done),
                destroyed=sum(record["action"] == "destroy" for record in done),
                saved_usd_per_month=sum((amount for amount in amounts if amount is not None), Decimal(0)),
                unpriced=amounts.count(None),
                held_back=tuple(f"{why} ({count} times)" if count > 1 else why for why, count in held.items()),
                failed=sum(record["kind"] == "failed" for record in own),
                left_over=tuple(map(str, left.get("left", ()))),
                left_usd_per_month=_amount(left.get("usd_per_month", 0)),
            )
        )
    return rows


def _amount(text: Any) -> Decimal | None:
    try:
        return Decimal(str(text))
    except InvalidOperation:
        return None
