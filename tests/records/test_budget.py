"""A budget is read in one place: what sizing keeps, what the command and a preview say, what a policy stops."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

import sizewell
from sizewell.policy.examples import stack
from sizewell.policy.rule import Violation
from sizewell.policy.rules.monthly_budget import monthly_budget
from sizewell.sizing.records.budget import exceeded, of_stack, to_spare

ROOM = Path(next(iter(sizewell.__path__)))
KEYS = re.compile(r"[\"']usd_per_(month|run)[\"']")
SPEAKS = {  # files in which the keys of a decision's budget stand
    "sizing/records/budget.py",
    "preview/guardrails.py",  # keys of its own file
    "policy/rules/monthly_budget.py",  # a parameter of the rule that has the same name
}


def test_the_keys_of_a_budget_stand_in_one_place() -> None:
    files = {
        path.relative_to(ROOM).as_posix()
        for path in ROOM.rglob("*.py")
        if "budget" in (code := path.read_text(encoding="utf-8")).lower() and KEYS.search(code)
    }
    assert files == SPEAKS


@pytest.mark.parametrize(
    ("month", "run", "over"),
    [("900", None, False), ("900.01", None, True), ("1", "50", False), ("1", "50.01", True)],
)
def test_a_limit_itself_is_inside(month: str, run: str | None, over: bool) -> None:
    budget = {"usd_per_month": Decimal(900), "usd_per_run": Decimal(50)}
    spent = {"usd_per_month": Decimal(month), "usd_per_run": None if run is None else Decimal(run)}
    assert exceeded(budget, **spent) is over
    assert (min(to_spare(budget, **spent).values()) < 0) is over


def test_a_stack_has_a_budget_where_each_of_its_workloads_has_one() -> None:
    assert of_stack([Decimal(0), Decimal(1)]) == 1
    assert of_stack([None, Decimal(1)]) is None


def test_the_policy_takes_the_same_sum() -> None:
    class Free:
        def cost(self):
            from sizewell.sizing.money import Cost, Interval, RunRate

            return Cost(RunRate(Interval.exactly(Decimal(150))))

    def verdict(*budgets):
        decision = {"workloads": [{"budget": each} for each in budgets]}
        return monthly_budget(stack(decision=decision, pricing=Free()), {"usd_per_month": {}})[0][1]

    assert isinstance(verdict({"usd_per_month": "100"}, {"usd_per_month": "49.99"}), Violation)
    assert verdict({"usd_per_month": "100"}, {"usd_per_month": "50"}) is None
    assert verdict({"usd_per_month": "100"}, {}) is None
