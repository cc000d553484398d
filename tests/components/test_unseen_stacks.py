"""Forty programs that were written from the reference alone are taken, priced, and let through by every policy."""

import sys
from datetime import date
from pathlib import Path

import pytest
from unseen_stacks import STACKS

from sizewell.policy.config import parse_config
from sizewell.policy.engine import evaluate as judge
from sizewell.recording.evaluate import evaluate
from sizewell.resources import facts, price
from sizewell.sizing import catalog

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/judges"))
import cloudformation  # noqa: E402  (of the folder above)

ON = date(2026, 11, 26)
CONFIG = {"azure-native:subscriptionId": "00000000-0000-0000-0000-000000000001"}  # without it, a scope is not known
REFUSED = {  # mandatory rules that these programs do break, each for a reason that its words say
    "gcp vertex": {"endpoint-keeps-machines"},  # at least one machine, around the clock, in development
    "kubernetes served": {"server-never-ends"},  # a minimum of one replica without a guard
}


def test_there_are_forty():
    assert len(STACKS) == 40


@pytest.mark.scan
@pytest.mark.parametrize("name", STACKS)
def test_what_follows_the_reference_is_taken(name):
    what, build, stack = STACKS[name]
    known = catalog.load()
    plan = evaluate(ROOT, stack, program=build, config=CONFIG)
    pricing = price(plan, known, on=ON)
    assert pricing.unknown == (), what
    results = judge(facts(plan, known, pricing=pricing, on=ON), parse_config({"profile": "standard"}), on=ON).results
    refused = {result.rule for result in results if result.level == "mandatory"}
    assert refused == REFUSED.get(name, set()), [r.message for r in results if r.level == "mandatory"]
    wrong = [fault for one in plan.resources if one.type.startswith("aws:") for fault in cloudformation.judge(one)[2]]
    assert wrong == []
