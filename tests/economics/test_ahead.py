"""Months ahead: ends, blocks and commitments by their days, the sum of the lines to the cent."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from sizewell.economics.ahead import UNUSED, About, ahead, days_of, months_from
from sizewell.economics.bill import estimated

from .test_actual import line

MONTHS = months_from(date(2026, 11, 28), 3)


def test_whole_months_from_the_next_on() -> None:
    assert months_from(date(2026, 12, 1), 1) == (date(2026, 12, 1),)
    assert [str(day) for day in MONTHS] == ["2026-12-01", "2027-01-01", "2027-02-01"]


def test_a_stack_counts_until_the_day_on_which_it_ends() -> None:
    lines = {month: estimated([line("730", "1")]) for month in MONTHS}
    (one,) = ahead(days_of(MONTHS, ()), lines, [About(stack="dev", ends=date(2027, 1, 11))], None).rows
    assert one.usd == (730, Decimal("235.48"), 0)  # 10 of 31 days
    (gone,) = ahead(days_of(MONTHS, ()), lines, [About(stack="dev", ends=date(2026, 1, 1))], None).rows
    assert gone.usd == (0, 0, 0)


def test_a_commitment_that_ends_within_a_month_splits_it_by_days() -> None:
    end = date(2027, 1, 16)
    days = days_of(MONTHS, (end, date(2030, 1, 1), date.max))
    assert days[MONTHS[1]] == (MONTHS[1], end)
    covered, dear = (
        estimated([line("730", "0.5", CommitmentDiscountType="Own commitment")]),
        estimated([line("730", "1")]),
    )
    lines = {MONTHS[0]: covered, MONTHS[1]: covered, end: dear, MONTHS[2]: dear}
    forecast = ahead(days, lines, [About(stack="dev")], lambda day: Decimal(400 if day < end else 0))
    assert forecast.rows[0].usd == (365, Decimal("176.61") + Decimal("376.77"), 730)
    assert forecast.rows[1].about.stack == UNUSED
    assert forecast.rows[1].usd == (35, Decimal("16.94"), 0)  # 400 a month are paid, 365 are used
    assert forecast.usd == tuple(sum(each) for each in zip(*(row.usd for row in forecast.rows), strict=True))


def test_a_block_is_paid_once_in_the_month_in_which_it_begins() -> None:
    block = line("100", "30", ChargeFrequency="One-Time", x_Component="run")
    lines = {month: estimated([block]) for month in MONTHS}
    begins = {"run": date(2027, 1, 20)}
    assert ahead(days_of(MONTHS, ()), lines, [About(stack="dev", begins=begins)], None).usd == (0, 3000, 0)
    assert ahead(days_of(MONTHS, ()), lines, [About(stack="dev")], None).usd == (3000, 0, 0)
    past = {"run": date(2026, 10, 1)}
    assert ahead(days_of(MONTHS, ()), lines, [About(stack="dev", begins=past)], None).usd == (0, 0, 0)


def test_budgets_groups_and_lines_without_a_price() -> None:
    lines = {month: estimated([line("730", "1"), line("5", "", x_Unpriced="no price")]) for month in MONTHS}
    about = About(stack="dev", owner="search", budget_usd=Decimal(700))
    forecast = ahead(days_of(MONTHS, ()), lines, [about, About(stack="none", owner="web")], None)
    assert forecast.rows[0].over() == (0, 1, 2)
    assert forecast.rows[0].unpriced == ("chat: g6.xlarge, on-demand, us-east-1: no price",)
    assert forecast.by("owner") == {"search": 2190, "web": 0}
    assert forecast.rows[1].usd == (0, 0, 0)
