"""Every rule against its table: the row violates it with that sentence, the mended row does not; and nothing else does."""

from __future__ import annotations

import ast
import copy
import functools
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from ends import EXPIRIES

from sizewell.policy.config import Config
from sizewell.policy.engine import Report, evaluate
from sizewell.policy.reference import mended as with_mends
from sizewell.policy.rules import RULES
from sizewell.resources import Plan, RecordedResource, facts, price
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.catalog import load

HERE = Path(__file__).parent
ON = date(2026, 11, 21)
CASES = [case for path in sorted((HERE / "cases").glob("*.yaml")) for case in yaml.safe_load(path.read_text())]
IDS = [f"{case['rule']}-{index}" for index, case in enumerate(CASES)]
BY_ID = {rule.id: rule for rule in RULES}


def urn_of(row: dict[str, Any], stack: str) -> str:
    return f"urn:pulumi:{stack}::cases::{row['type']}::{row['name']}"


def recorded(rows: list[dict[str, Any]], stack: str) -> tuple[RecordedResource, ...]:
    urns = {row["name"]: urn_of(row, stack) for row in rows}
    # a component and its main resource may share a name, as in real programs
    parents = {row["name"]: urn_of(row, stack) for row in reversed(rows) if row["type"].startswith("sizewell-")}
    made = []
    for row in rows:
        inputs = dict(row.get("inputs") or {})
        refs = row.get("refs") or {}
        for prop in refs:
            inputs.setdefault(prop, UNKNOWN)
        made.append(
            RecordedResource(
                urn=urn_of(row, stack),
                type=row["type"],
                name=row["name"],
                inputs=inputs,
                parent=parents.get(row.get("parent", "")),
                custom=not row["type"].startswith("sizewell-"),
                property_dependencies={prop: (urns[name],) for prop, name in refs.items()},
                **row.get("options", {}),
            )
        )
    return tuple(made)


def judged(case: dict[str, Any], *, mended: bool) -> Report:
    stack = case.get("stack", "dev")
    rows = with_mends(case) if mended else case["bad"]
    plan = Plan(
        project="cases",
        stack=stack,
        resources=recorded(rows, stack),
        config={"aws:region": "us-east-1", "gcp:region": "us-central1"},
    )
    catalog = load()
    kind = "good_" if mended else ""
    urns = {row["name"]: urn_of(row, stack) for row in rows}
    changes = case.get(f"{kind}changes", case.get("changes", {}))
    found = facts(
        plan,
        catalog,
        pricing=price(plan, catalog, on=ON),
        decision=case.get(f"{kind}decision", case.get("decision")),
        changes={urns[name]: change for name, change in changes.items()},
        before=replace(plan, resources=recorded(case["before"], stack)) if "before" in case else None,
        on=ON,
        expiries=replace(EXPIRIES, tags=tuple(case.get("expiry_tags", ()))),
    )
    rule = BY_ID[case["rule"]]
    settings = {rule.id: case["settings"]} if "settings" in case else {}
    return evaluate(found, Config(settings=settings), on=ON, rules=[rule])


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_row_violates_its_rule(case: dict[str, Any]) -> None:
    report = judged(case, mended=False)
    assert [result.outcome for result in report.results] == [case.get("outcome", "violation")] * len(report.results)
    assert report.results, "nothing was found"
    for result in report.results:
        assert result.message
        assert result.fix
        assert not result.message.endswith("."), "one sentence, without a full stop"
        assert len(result.message) < 200


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_mended_row_does_not(case: dict[str, Any]) -> None:
    assert [result.message for result in judged(case, mended=True).results] == []


def test_every_rule_has_a_row() -> None:
    assert {rule.id for rule in RULES} - {case["rule"] for case in CASES} == set()


def speaking_lines() -> dict[Path, set[int]]:
    """Lines of rules where a violation is made, by `Violation(` itself or by `require` and `forbid`."""
    found: dict[Path, set[int]] = {}
    for path in sorted((Path(__file__).parents[2] / "src/sizewell/policy/rules").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.func if isinstance(node, ast.Call) else None
            if isinstance(name, ast.Name) and name.id in {"Violation", "require", "forbid"}:
                found.setdefault(path, set()).add(name.lineno)
    return found


def test_every_branch_that_says_violation_is_reached_by_a_row() -> None:
    """Whatever place in a rule can refuse does so in some row of the tables."""
    wanted, reached = speaking_lines(), {}

    def lines(frame: Any, event: str, _: Any) -> Any:
        path = Path(frame.f_code.co_filename)
        if path not in wanted:
            return None
        if event == "line":
            reached.setdefault(path, set()).add(frame.f_lineno)
        return lines

    before = sys.gettrace()
    sys.settrace(lines)
    try:
        for case in CASES:
            judged(case, mended=False)
    finally:
        sys.settrace(before)
    missed = {path.name: sorted(where - reached.get(path, set())) for path, where in wanted.items()}
    assert {name: where for name, where in missed.items() if where} == {}


POINTS = {
    f"{area}: {point}": rules
    for area, points in yaml.safe_load((HERE / "points.yaml").read_text()).items()
    for point, rules in points.items()
}


@pytest.mark.parametrize("point", POINTS)
def test_every_point_of_a_correct_cluster_has_a_rule_that_refuses_what_lacks_it(point: str) -> None:
    for rule in POINTS[point]:
        assert rule in BY_ID, rule
        assert any(case["rule"] == rule for case in CASES), f"{rule} has no row"


def test_at_least_half_of_the_rows_use_no_component_of_ours() -> None:
    plain = [case for case in CASES if not any(row["type"].startswith("sizewell-") for row in case["bad"])]
    assert len(plain) >= len(CASES) / 2


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_sentence_is_the_one_that_was_read(case: dict[str, Any]) -> None:
    refresh = "read it, then: .venv/bin/python tests/policy/test_cases.py"
    assert {key: case.get(key) for key in ("says", "fix")} == said(case), refresh


FREE_KEYS = (
    "variables",
    "data",
    "tags",
    "labels",
    "metadata",
    "resourceLabels",
    "dimensions",
    "values",
    "limits",
    "nodeSelector",
)


def keys_of(value: Any) -> set[str]:
    """All keys inside a value, not those that a person chooses (tags and the like)."""
    if isinstance(value, dict):
        inner = [keys_of(part) for key, part in value.items() if key not in FREE_KEYS]
        return set(value).union(*inner)
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    return set()


OF_EARLIER_RELEASES = ("gcp:tpu/node:Node",)  # programs that pin those have it


def test_inputs_are_spelled_as_the_providers_spell_them() -> None:
    """A table in a spelling of its own would prove nothing: every key, at every depth, stands in the provider's SDK."""
    from importlib.util import find_spec

    wrong = []
    for case in CASES:
        mends = [row for row in with_mends(case) if row["name"] in {bad["name"] for bad in case["bad"]}]
        for row in case["bad"] + mends + (case.get("add") or []):
            package = row["type"].split(":")[0]
            if package not in {"aws", "gcp", "azure-native"} or row["type"] in OF_EARLIER_RELEASES:
                continue
            spec = find_spec(f"pulumi_{package.replace('-', '_')}")
            assert spec is not None
            assert spec.submodule_search_locations is not None
            module = row["type"].split(":")[1].split("/")[0].lower()
            folder = Path(next(iter(spec.submodule_search_locations))) / {"lambda": "lambda_"}.get(module, module)
            kind = row["type"].rsplit(":", 1)[1]
            source = sdk_source(folder, kind)
            assert source, f"{row['type']} is not in pulumi_{package}"
            for name in {**keys(row), **(row.get("refs") or {})}:
                snaked = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
                if f'"{name}"' not in source and not re.search(rf"\b{snaked}\b", source):
                    wrong.append(f"{row['type']}: {name}")
    assert sorted(set(wrong)) == []


def keys(row: dict[str, Any]) -> dict[str, None]:
    return dict.fromkeys(keys_of({k: v for k, v in (row.get("inputs") or {}).items() if k not in FREE_KEYS}))


@functools.cache
def sdk_source(folder: Path, kind: str) -> str:
    own = next(
        (text for path in folder.glob("*.py") if f"class {kind}(pulumi.CustomResource" in (text := path.read_text())),
        "",
    )
    nested = folder / "_inputs.py"
    return own + (nested.read_text() if own and nested.exists() else "")


def paths(value: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*prefix, key)
        yield from paths(part, (*prefix, key))


def masked(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return UNKNOWN
    head, *rest = path
    if isinstance(value, list):
        return [masked(part, tuple(rest)) if index == head else part for index, part in enumerate(value)]
    return {key: masked(part, tuple(rest)) if key == head else part for key, part in value.items()}


# What is not known yet is another resource's output, not what somebody wrote down; nor is it what a cloud refuses.
LITERAL = ("secret-in-plain-text", "refused-by-cloud")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_no_unknown_value_lets_a_bad_row_pass(case: dict[str, Any]) -> None:
    """Each value of the row is hidden in turn: the rule still refuses, or says that it cannot judge. It never raises."""
    for mended in (False, True):
        rows = with_mends(case) if mended else case["bad"]
        for index, row in enumerate(rows):
            for path in paths(row.get("inputs") or {}):
                hidden = copy.deepcopy(rows)
                hidden[index]["inputs"] = masked(hidden[index]["inputs"], path)
                kept = {key: case[f"good_{key}"] for key in ("decision", "changes") if mended and f"good_{key}" in case}
                outcomes = {r.outcome for r in judged({**case, **kept, "bad": hidden}, mended=False).results}
                assert "error" not in outcomes, (row["name"], path)
                assert mended or outcomes or case["rule"] in LITERAL, (row["name"], path)


def test_no_rule_fails_over_a_value_that_is_not_known_whatever_it_judges() -> None:
    """Each value of each row is hidden in turn, then all of them, and every rule looks: none of them raises."""
    failed = set()
    for case in CASES:
        stack = case.get("stack", "dev")
        rows = recorded(case["bad"], stack)
        for at, row in enumerate(rows):
            inputs = dict(row.inputs)
            blinded = [masked(inputs, path) for path in paths(inputs) if len(path) < 3]
            for hidden in (*blinded, dict.fromkeys(inputs, UNKNOWN)):
                resources = (*rows[:at], replace(row, inputs=hidden), *rows[at + 1 :])
                plan = Plan(project="cases", stack=stack, resources=resources, config={"aws:region": "us-east-1"})
                report = evaluate(facts(plan, load(), on=ON, expiries=EXPIRIES), Config(), on=ON, rules=RULES)
                failed |= {(result.rule, row.type) for result in report.results if result.outcome == "error"}
    assert not failed


def said(case: dict[str, Any]) -> dict[str, Any]:
    """What the rule says of the row: the sentence by resource, and the line that mends it."""
    (result,) = judged(case, mended=False).results
    return {"says": {result.resource or "stack": result.message}, "fix": result.fix}


def with_sentences(text: str) -> str:
    """The rows of a file, each with what its rule says now as its last two lines."""
    head, *rows = re.split(r"^(?=- rule:)", text, flags=re.MULTILINE)
    return head + "".join(map(with_sentence, rows))


def with_sentence(row: str) -> str:
    lines = [line for line in row.splitlines() if not line.startswith(("  says:", "  fix:"))]
    (case,) = yaml.safe_load(row)
    end = max(index for index, line in enumerate(lines) if line.startswith(("- ", "  "))) + 1
    lines[end:end] = [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in said(case).items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for path in sorted((HERE / "cases").glob("*.yaml")):
        path.write_text(with_sentences(path.read_text(encoding="utf-8")), encoding="utf-8")
