"""A budget is read in one place: what sizing keeps, what the command and a preview say, what a policy stops."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

import sizewell
from sizewell.policy.examples import stack
from sizewell.policy.rule import Violation
from sizewell.policy.rules.spending import monthly_budget
from sizewell.sizing.money import Interval, OneOff, RunRate
from sizewell.sizing.records.budget import exceeded, of_stack, to_spare, unpriced_of

ROOM = Path(next(iter(sizewell.__path__)))
KEYS = re.compile(r"[\"']usd_per_(month|run)[\"']")
SPEAKS = {  # files in which the keys of a decision's budget stand
    "sizing/records/budget.py",
    "preview/guardrails.py",  # keys of its own file
    "policy/rules/spending.py",  # a parameter of the rule that has the same name
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
    spent = {
        "run_rate": RunRate(Interval.exactly(Decimal(month))),
        "run": None if run is None else OneOff(Interval.exactly(Decimal(run))),
    }
    assert exceeded(budget, **spent) is over
    assert (min(usd for usd in to_spare(budget, **spent).values() if usd is not None) < 0) is over
    assert (to_spare(budget, **spent)["usd_per_run"] is None) is (run is None), "nobody knows the cost of a run"


@pytest.mark.parametrize(("priced", "over"), [("1", False), ("900", False), ("900.01", True)])
def test_a_month_with_a_line_without_a_price_never_keeps_a_budget(priced: str, over: bool) -> None:
    month = RunRate(Interval.exactly(Decimal(priced)), ("chat: p4d.24xlarge: no price in eu-west-1",))
    left = to_spare({"usd_per_month": Decimal(900)}, run_rate=month, run=None)["usd_per_month"]
    assert left == (Decimal("-0.01") if over else None)
    assert exceeded({"usd_per_month": Decimal(900)}, run_rate=month, run=None) is over


@pytest.mark.parametrize(("priced", "over"), [("1", False), ("50", False), ("50.01", True)])
def test_a_run_with_a_line_without_a_price_never_keeps_a_budget(priced: str, over: bool) -> None:
    run = OneOff(Interval.exactly(Decimal(priced)), ("train: OS disks: no price in brazilsouth",))
    spent = {"run_rate": RunRate(Interval.exactly(Decimal(1))), "run": run}
    assert to_spare({"usd_per_run": Decimal(50)}, **spent) == {"usd_per_run": Decimal("-0.01") if over else None}
    assert exceeded({"usd_per_run": Decimal(50)}, **spent) is over
    assert unpriced_of("usd_per_run", **spent) == run.unpriced
    assert unpriced_of("usd_per_month", **spent) == ()


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
