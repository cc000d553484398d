"""Pull requests that were written down before the preview ran on them: what it has to say of each, figures as arithmetic.

The cases stand in pulls/*.yaml. A case has the resources before and after as plain rows (`${name}` is an output of that
resource, unknown until it is built), and what is expected: sums over pulls/prices.yaml, rows, needs, the exit code.
"""

from __future__ import annotations

import ast
import operator
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizewell.policy.config import parse_config
from sizewell.preview import records
from sizewell.preview.assemble import assemble
from sizewell.preview.changes import changed
from sizewell.preview.diff import Side, compare
from sizewell.preview.guardrails import NO_LIMITS, parse_limits
from sizewell.preview.render import html as page
from sizewell.preview.render import markdown, terminal
from sizewell.resources import Plan, RecordedResource, facts, price
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.catalog import load

ON = date(2026, 11, 21)
FOLDER = Path(__file__).parent / "pulls"
PRICES = {name: Decimal(str(value)) for name, value in yaml.safe_load((FOLDER / "prices.yaml").read_text()).items()}
CASES = [
    case
    for path in sorted(FOLDER.glob("*.yaml"))
    if path.name != "prices.yaml"
    for case in yaml.safe_load(path.read_text())
]
CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}
CENTS = Decimal("0.02")  # each line is rounded to the cent once, before it is added

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def worked_out(expression: Any) -> Decimal:
    """A figure of a case: numbers, names of prices.yaml, + - * / and brackets."""

    def value(node: ast.expr) -> Decimal:
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Name):
            return PRICES[node.id]
        assert isinstance(node, ast.Constant)
        return Decimal(str(node.value))

    return value(ast.parse(str(expression), mode="eval").body)


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:dev::team::{type_}::{name}"


def plan_of(rows: dict[str, Any], config: dict[str, str]) -> Plan:
    urns = {name: urn(row["type"], name) for name, row in rows.items()}
    made = []
    for name, row in rows.items():
        stated = {key: value for key, value in row.items() if key not in ("type", "options")}
        if "type_" in stated:
            stated["type"] = stated.pop("type_")
        options = dict(row.get("options", {}))
        from_others: dict[str, list[str]] = {}
        inputs = {key: _filled(value, key, urns, from_others) for key, value in stated.items()}
        provider = options.pop("provider", None)
        made.append(
            RecordedResource(
                urn=urns[name],
                type=row["type"],
                name=name,
                inputs=inputs,
                protect=options.pop("protect", False),
                retain_on_delete=options.pop("retainOnDelete", False),
                aliases=tuple(urn(row["type"], alias) for alias in options.pop("aliases", ())),
                provider=f"{urns[provider]}::id" if provider else None,
                property_dependencies=from_others,
                dependencies=tuple(sorted({each for many in from_others.values() for each in many})),
            )
        )
        assert not options, f"{name}: unknown options {options}"
    return Plan(project="team", stack="dev", resources=tuple(made), config=config)


def _filled(value: Any, key: str, urns: dict[str, str], from_others: dict[str, list[str]]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, key, urns, from_others) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, key, urns, from_others) for each in value]
    match = re.fullmatch(r"\$\{(\w+)\}", value) if isinstance(value, str) else None
    if match is None:
        return value
    from_others.setdefault(key, []).append(urns[match[1]])
    return UNKNOWN


def sides(case: dict[str, Any]) -> tuple[Plan, Plan]:
    plans = []
    for side in ("base", "head"):
        rows = dict(case[side])
        repeated = case.get("base_repeat" if side == "base" else "repeat")
        if repeated:
            rows |= {f"each-{number}": repeated["resource"] for number in range(repeated["count"])}
        plans.append(plan_of(rows, {**CONFIG, **case.get("config", {}), **case.get(f"{side}_config", {})}))
    return plans[0], plans[1]


def previewed(case: dict[str, Any]) -> records.Preview:
    before, after = sides(case)
    catalog = load()
    limits = parse_limits(case["guardrails"]) if "guardrails" in case else NO_LIMITS
    waivers = [
        {"rule": "unpriced-resource", "resource": name, "reason": reason, "expires": date(2026, 12, 31)}
        for name, reason in case.get("waive_unpriced", {}).items()
    ]
    stack = compare(
        "dev",
        Side(plan=before, pricing=price(before, catalog, on=ON)),
        Side(plan=after, pricing=price(after, catalog, on=ON)),
        base="main@1a2b3c4",
        policies=_judged(before, after, waivers) if waivers else None,
        budget=limits.budgets.get("dev"),
    )
    provenance = records.Provenance(catalog_digest="0", catalog_as_of="2026-11-21", age_days=0)
    return assemble([stack], on=ON, provenance=provenance, limits=limits)


def _judged(before: Plan, after: Plan, waivers: list[dict[str, Any]]) -> records.PolicyReport:
    from sizewell.policy.engine import evaluate

    pricing = price(after, load(), on=ON)
    changes = {urn: change.kind for urn, change in changed(before, after).items()}
    stated = facts(after, load(), pricing=pricing, changes=changes, on=ON)
    report = evaluate(stated, parse_config({"waivers": waivers}), on=ON)
    return records.PolicyReport(
        findings=tuple(
            records.PolicyFinding(policy=each.rule, level="advisory", component=each.resource, resource=each.urn,
                                  message=each.message, waived=each.reason if each.outcome == "waived" else "")
            for each in report.results if each.rule == "unpriced-resource"
        )
    )  # fmt: skip


def said(row: records.Row) -> str:
    return " ".join((row.what, row.was, row.how, *row.changes))


def component_rows(comment: str) -> list[str]:
    return [line for line in comment.splitlines() if re.match(r"\| (\\[+~-]|=) \|", line)]


def figure_of(found: records.Preview, key: str) -> Decimal:
    before, after = found.before.usd_per_month, found.after.usd_per_month
    grown = after.ceiling - before.ceiling
    return {
        "before": before.expected,
        "after": after.expected,
        "change": found.change_usd_per_month,
        "ceiling_grows": grown,
        "ceiling_grows_at_least": grown,
    }[key]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"].replace(" ", "-"))
def test_a_pull_request(case: dict[str, Any]) -> None:
    found = previewed(case)
    stack, comment = found.stacks[0], markdown.render(found)
    for key in ("before", "after", "change", "ceiling_grows"):
        if key in case:
            assert abs(figure_of(found, key) - worked_out(case[key])) < CENTS, key
    if "ceiling_grows_at_least" in case:
        assert figure_of(found, "ceiling_grows_at_least") >= worked_out(case["ceiling_grows_at_least"])
    rows = {row.component: row for row in stack.rows}
    for expected in case.get("rows", ()):
        assert expected["of"] in rows, f"no row of {expected['of']}"
        row = rows[expected["of"]]
        assert row.sign == expected.get("sign", row.sign)
        for text in expected.get("says", ()):
            assert text in said(row), said(row)
        for key in ("before", "after"):
            if key in expected:
                assert getattr(row, key).expected == worked_out(expected[key])
    if case.get("all_rows"):
        assert set(rows) == {expected["of"] for expected in case["rows"]}
    assert not set(case.get("no_rows", ())) & set(rows)
    if "needs" in case:
        assert {(need["kind"], need["of"]) for need in case["needs"]} == {(n.kind, n.component) for n in stack.needs}
        for need in case["needs"]:
            if need.get("data"):
                assert any(n.data for n in stack.needs if n.component == need["of"]), "the data is not named"
    assert bool(stack.unpriced) == case.get("unpriced", bool(stack.unpriced))
    assert found.exit_code == case.get("exit", found.exit_code), found.exit_reason
    assert found.silent == case.get("silent", found.silent)
    for text in case.get("comment", ()):
        assert text in comment, comment
    for text in case.get("not_comment", ()):
        assert text not in comment, comment
    if "comment_rows" in case:
        assert len(component_rows(comment)) == case["comment_rows"], comment
    if stack.unpriced:
        assert "?" in comment
    terminal.render(found, width=120)
    page.render(found)
