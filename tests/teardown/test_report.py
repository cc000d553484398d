"""What the journal adds up to, by owner, stack and month."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sizewell.teardown.report import monthly_report

AT = datetime(2026, 11, 21, tzinfo=UTC)


def record(kind: str, at: str, **more: Any) -> dict[str, Any]:
    owner = {"owner": "ml-platform", "stack": "dev-aws", "action": "destroy", "subject": ""}
    return {"kind": kind, "at": f"{at}T12:00:00+00:00", **owner, **more}


def emptied(at: str, usd_per_month: str = "730") -> dict[str, Any]:
    return record("done", at, action="empty", subject="train", saves_usd_per_month=usd_per_month)


def test_what_was_held_back_and_left_over_by_owner_and_month():
    held = "it was updated after the plan was made"
    rows = monthly_report(
        [
            emptied("2026-10-03"),
            emptied("2026-11-03", "?"),
            record("held", "2026-11-04", detail=held),
            record("held", "2026-11-05", detail=held),
            record("failed", "2026-11-05", detail="x"),
            record("done", "2026-11-06", saves_usd_per_month="250"),
            record("left", "2026-11-06", left=["disk vol-1", "disk vol-2"], usd_per_month="16.00"),
            record("left", "2026-11-07", left=["disk vol-1"], usd_per_month="8.00"),
            record("done", "2026-11-07", owner="research", stack="lab", saves_usd_per_month="1"),
        ],
        AT,
    )
    assert [(row.month, row.owner, row.stack) for row in rows] == [
        ("2026-10", "ml-platform", "dev-aws"),
        ("2026-11", "ml-platform", "dev-aws"),
        ("2026-11", "research", "lab"),
    ]
    november = rows[1]
    assert (november.emptied, november.destroyed, november.failed, november.unpriced) == (1, 1, 1, 1)
    assert (november.held, november.held_back) == (2, (f"{held} (2 times)",))
    assert (november.left_over, november.left_usd_per_month) == (("disk vol-1",), Decimal("8.00"))
    assert (rows[2].left_over, rows[2].left_usd_per_month) == ((), Decimal(0))


def test_what_waits_without_a_record_of_its_own_is_held_back_as_its_owner_was_told():
    closed = "pool train of dev-aws: not stopped: idle; closed: freeze"
    says = {"action": "keep", "why": "held back", "text": f"{closed}. Next: wait"}
    own = record("message", "2026-11-06", keys=["dev-aws held empty"], **says)  # it has a record of kind held
    told = [record("message", f"2026-11-0{day}", keys=["dev-aws/train window"], **says) for day in (4, 5)]
    others = [record("message", "2026-11-07", **{**says, "why": why}, keys=["x"]) for why in ("stopped", "failed")]
    (row,) = monthly_report([*told, own, *others], AT)
    assert row.held_back == (f"{closed} (2 times)",)


def test_a_stack_whose_pools_were_emptied_before_adds_no_hours_of_its_own():
    (row,) = monthly_report([emptied("2026-11-18"), record("done", "2026-11-19", saves_usd_per_month="0")], AT)
    assert (row.emptied, row.destroyed, row.hours_not_run, row.saved_usd) == (1, 1, 60.0, Decimal("60.00"))


def test_what_is_saved_is_hours_not_run_times_the_rate():
    twenty = []
    for day in range(1, 21):  # emptied at noon, and running again six hours later
        twenty.append(emptied(f"2026-11-{day:02d}"))
        again = record("ended", f"2026-11-{day:02d}", action="empty", subject="train", acted=True)
        twenty.append({**again, "at": f"2026-11-{day:02d}T18:00:00+00:00"})
    (row,) = monthly_report(twenty, AT)
    assert (row.emptied, row.hours_not_run, row.saved_usd) == (20, 120.0, Decimal("120.00"))


def test_what_is_still_off_is_counted_in_each_month_and_for_thirty_days_at_most():
    rows = monthly_report([emptied("2026-10-30")], AT)
    assert [(row.month, row.emptied, row.hours_not_run) for row in rows] == [
        ("2026-10", 1, 36.0),
        ("2026-11", 0, 20 * 24.0),
    ]
    assert rows[1].saved_usd == Decimal("480.00")
    later = monthly_report([emptied("2026-10-30")], datetime(2027, 3, 1, tzinfo=UTC))
    assert sum(row.hours_not_run for row in later) == 30 * 24


def test_a_wake_ends_a_saving():
    woken = {**record("done", "2026-11-03", action="wake", subject="train"), "at": "2026-11-03T13:00:00+00:00"}
    (row,) = monthly_report([emptied("2026-11-03"), woken], AT)
    assert (row.hours_not_run, row.saved_usd) == (1.0, Decimal("1.00"))


def test_what_observe_mode_noted_is_no_saving():
    noted = record("would", "2026-11-03", action="empty", subject="train", saves_usd_per_month="730")
    (row,) = monthly_report([noted], datetime(2026, 11, 4, 12, tzinfo=UTC))
    assert (row.emptied, row.saved_usd, row.observed, row.observed_usd) == (0, Decimal(0), 1, Decimal("24.00"))


def test_what_has_no_price_is_no_sum():
    (row,) = monthly_report([record("left", "2026-11-06", left=["disk vol-1"], usd_per_month="?")], AT)
    assert row.left_usd_per_month is None


def test_what_a_person_woke_or_adopted_is_no_act_without_a_price():
    woken = record("done", "2026-11-06", action="wake", detail="desired 1")
    adopted = record("done", "2026-11-06", action="adopt", owner="")
    (row,) = monthly_report([woken, adopted, record("done", "2026-11-07", saves_usd_per_month="250")], AT)
    assert (row.destroyed, row.unpriced) == (1, 0)
    assert monthly_report([woken, adopted], AT) == []


def test_what_was_noted_and_then_done_is_counted_once():
    noted = record("would", "2026-11-18", action="empty", subject="train", saves_usd_per_month="730")
    stack = record("would", "2026-11-18", saves_usd_per_month="730")
    done = record("done", "2026-11-19", saves_usd_per_month="730")
    (row,) = monthly_report([noted, stack, done], AT)
    assert (row.observed_usd, row.saved_usd) == (Decimal(48), Decimal(36))  # a day of each, then a day and a half


def test_an_act_that_was_killed_has_failed():
    (row,) = monthly_report([record("begin", "2026-11-20", why="expired")], AT)
    assert (row.failed, row.destroyed) == (1, 0)
    (row,) = monthly_report([record("begin", "2026-11-20"), record("done", "2026-11-20")], AT)
    assert (row.failed, row.destroyed) == (0, 1)
