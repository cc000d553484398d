"""Every secure or frugal property of what the components build is undone in turn; a rule, or Checkov, must notice.

The plans are those of the repository's own stacks and of the components in every form that their tests write down. What
is planted stands in mutants.yaml; each mutant and its killers stand in docs/reference/mutations.md.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path

import pytest
import yaml
from checkov_run import SKIPS, judge, skip_of
from ends import EXPIRIES
from judged_plans import ROOT, slug
from mutation_page import page
from planting import Case, Mutant, Places, cases, mutants, planted

from sizewell.policy.config import Config
from sizewell.policy.engine import evaluate
from sizewell.policy.rules import RULES
from sizewell.resources import Plan, facts, price
from sizewell.sizing.catalog import load

pytestmark = pytest.mark.scan

ON = date(2026, 9, 1)  # before the forms' own ends
PAGE = ROOT / "docs/reference/mutations.md"
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/policy/test_mutants.py"
ELSEWHERE: dict[str, str] = yaml.safe_load((Path(__file__).parent / "elsewhere.yaml").read_text())
CASES = [
    case
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text())
]


def found_in(case: Case) -> set[tuple[str, str, str]]:
    """(rule, resource, what it says but for the numbers) of everything that the rules say about a plan."""
    catalog = load()
    pricing = price(case.plan, catalog, on=ON)
    stated = facts(
        case.plan, catalog, pricing=pricing, decision=case.decision, changes=case.changes, on=ON, expiries=EXPIRIES
    )
    results = evaluate(stated, Config(), on=ON).results
    broken = [result.message for result in results if result.outcome == "error"]
    assert not broken, broken
    return {(result.rule, result.urn, re.sub(r"[\d.,]+", "", result.message)) for result in results}


@cache
def found_before(name: str) -> set[tuple[str, str, str]]:
    return found_in(cases()[name])


def killed_by_rules(places: Mapping[Mutant, Places]) -> dict[Mutant, list[str]]:
    """All rules that notice each mutant, in any of the plans that have it."""
    return {
        mutant: sorted(
            {
                rule
                for name, positions in where.items()
                for rule, *_ in found_in(planted(mutant, name, positions)) - found_before(name)
            }
        )
        for mutant, where in places.items()
    }


def killed_by_checkov(places: Mapping[Mutant, Places], folder: Path) -> dict[Mutant, list[str]]:
    """The checks that fail on each mutant and not without it, documented skips left out; one run of Checkov for all."""
    subjects: dict[str, Plan] = {}
    for number, (mutant, where) in enumerate(places.items()):
        for name, positions in where.items():
            subjects[f"mutant-{number}--{slug(name)}"] = planted(mutant, name, positions).plan
            subjects[f"before--{slug(name)}"] = cases()[name].plan
    failed: dict[str, set[tuple[str, str]]] = {name: set() for name in subjects}
    for one in judge(subjects, folder).failed:
        if skip_of(one) is None:
            failed[one.plan].add((one.check, one.resource))
    killed = {}
    for number, (mutant, where) in enumerate(places.items()):
        fresh = [failed[f"mutant-{number}--{slug(name)}"] - failed[f"before--{slug(name)}"] for name in where]
        killed[mutant] = sorted({check for found in fresh for check, _ in found})
    return killed


def test_planted_weaknesses_are_caught(tmp_path: Path) -> None:
    places = mutants()
    killed = killed_by_rules(places)
    built: dict[str, list[Mutant]] = {}
    for mutant in sorted(killed, key=str):
        for rule in killed[mutant]:
            built.setdefault(rule, []).append(mutant)
    by_name = {str(mutant): killers for mutant, killers in killed.items()}
    unmade = [
        f"{one['check']}: {one['rule']} does not catch {one['weakness']}"
        for one in SKIPS
        if "rule" in one and one["rule"] not in by_name.get(one["weakness"], ())
    ]
    assert unmade == []
    left = {mutant: places[mutant] for mutant, killers in killed.items() if not killers}
    killed |= killed_by_checkov(left, tmp_path) if left else {}
    missed = [str(mutant) for mutant, killers in killed.items() if not killers]
    assert len(killed) >= 400, f"only {len(killed)} mutants"
    assert len(missed) <= 0.03 * len(killed), f"{len(missed)} of {len(killed)} survive: " + "; ".join(missed)
    idle = {rule.id for rule in RULES} - set(built)
    assert idle == set(ELSEWHERE), (
        "a rule kills a planted weakness, or elsewhere.yaml says why no component can have it"
    )
    text = page(killed, built, ELSEWHERE)
    if os.environ.get("SIZEWELL_REFRESH"):
        PAGE.write_text(text, encoding="utf-8")
    stands = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    lines = difflib.unified_diff(stands.splitlines(), text.splitlines(), "committed", "now", lineterm="", n=1)
    assert text == stands, "\n".join([*list(lines)[:60], f"refresh: {REFRESH}"])


def test_rules_that_no_component_can_violate_catch_a_program_without_components() -> None:
    plain = {case["rule"] for case in CASES if not any(row["type"].startswith("sizewell-") for row in case["bad"])}
    assert sorted(set(ELSEWHERE) - plain) == []
    assert all(len(reason.split()) >= 5 for reason in ELSEWHERE.values())
