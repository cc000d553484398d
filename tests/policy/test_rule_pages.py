"""The page of each rule: its programs are the ones that `test_cases.py` judges, and its waiver is one."""

from __future__ import annotations

import re

import pytest
import yaml
from test_cases import CASES

from sizewell.policy.config import parse_config
from sizewell.policy.reference import mended, rule_page
from sizewell.policy.rule import Rule
from sizewell.policy.rules import RULES

FIRST = {case["rule"]: case for case in reversed(CASES)}


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_a_page_has_the_programs_that_are_judged_and_a_waiver_that_holds(rule: Rule) -> None:
    case = FIRST[rule.id]
    text = rule_page(rule, case)
    breaks, keeps, waiver = (yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))
    for program, rows in ((breaks, case["bad"]), (keeps, mended(case))):
        made = list((program["resources"] or {}).values())
        assert [each["type"] for each in made] == [row["type"] for row in rows]
        for each, row in zip(made, rows, strict=True):
            assert each.get("properties", {}).keys() >= (row.get("inputs") or {}).keys()
    assert rule.prevents in text
    assert case["fix"] in text
    (entry,) = parse_config(waiver).waivers
    assert (entry.rule, entry.owner) == (rule.id, "ml-platform")
