"""What the journal adds up to, by owner, stack and month."""

from decimal import Decimal
from typing import Any

from sizewell.teardown.report import monthly_report


def record(kind: str, at: str, **more: Any) -> dict[str, Any]:
    owner = {"owner": "ml-platform", "stack": "dev-aws", "action": "destroy"}
    return {"kind": kind, "at": f"{at}T12:00:00+00:00", **owner, **more}


def test_what_was_saved_held_back_and_left_over_by_owner_and_month():
    held = "no window of dev is open now"
    rows = monthly_report(
        [
            record("done", "2026-10-03", action="empty", saves_usd_per_month="100.50"),
            record("done", "2026-11-03", action="empty", saves_usd_per_month="?"),
            record("held", "2026-11-04", detail=held),
            record("held", "2026-11-05", detail=held),
            record("failed", "2026-11-05", detail="x"),
            record("done", "2026-11-06", saves_usd_per_month="250"),
            record("left", "2026-11-06", left=["disk vol-1", "disk vol-2"], usd_per_month="16.00"),
            record("left", "2026-11-07", left=["disk vol-1"], usd_per_month="8.00"),
            record("done", "2026-11-07", owner="research", stack="lab", saves_usd_per_month="1"),
        ]
    )
    assert [(row.month, row.owner, row.stack) for row in rows] == [
        ("2026-10", "ml-platform", "dev-aws"),
        ("2026-11", "ml-platform", "dev-aws"),
        ("2026-11", "research", "lab"),
    ]
    november = rows[1]
    assert (november.emptied, november.destroyed, november.failed, november.unpriced) == (1, 1, 1, 1)
    assert november.saved_usd_per_month == Decimal(250)
    assert november.held_back == (f"{held} (2 times)",)
    assert (november.left_over, november.left_usd_per_month) == (("disk vol-1",), Decimal("8.00"))
    assert (rows[2].left_over, rows[2].left_usd_per_month) == ((), Decimal(0))


def test_what_has_no_price_is_no_sum():
    (row,) = monthly_report([record("left", "2026-11-06", left=["disk vol-1"], usd_per_month="?")])
    assert row.left_usd_per_month is None


def test_what_a_person_woke_or_adopted_is_no_act_without_a_price():
    woken = record("done", "2026-11-06", action="wake", detail="desired 1")
    adopted = record("done", "2026-11-06", action="adopt", owner="")
    (row,) = monthly_report([woken, adopted, record("done", "2026-11-07", saves_usd_per_month="250")])
    assert (row.destroyed, row.saved_usd_per_month, row.unpriced) == (1, Decimal(250), 0)
    assert monthly_report([woken, adopted]) == []
