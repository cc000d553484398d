"""Plain programs with a weakness, in two spellings each, are stopped; the same programs without it are let through.

They were written from the providers' inputs times a list of weaknesses, before a rule was looked at. What is not stopped
stands in `NOT_STOPPED` with its reason, and what is stopped wrongly in `WRONGLY`: neither list may grow.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from ends import EXPIRIES

from sizewell.policy.config import parse_config
from sizewell.policy.engine import evaluate
from sizewell.resources import Plan, RecordedResource, facts, price
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.catalog import load

sys.path.insert(0, str(Path(__file__).parent))

from weak import aws_cases, azure_cases, clocks, further, gcp_cases, kubernetes_cases
from weak.rows import Ref, Row, Weakness

ON = date(2026, 11, 21)
FIRST = {"aws": aws_cases, "gcp": gcp_cases, "azure": azure_cases, "kubernetes": kubernetes_cases}
CLOUDS = {cloud: (*cases.WEAKNESSES, *further.CASES[cloud], *clocks.CASES[cloud]) for cloud, cases in FIRST.items()}
CONFIG = {
    "aws:region": "us-east-1",
    "aws:allowedAccountIds": '["123456789012"]',
    "gcp:project": "team",
    "gcp:region": "us-central1",
    "azure-native:location": "eastus",
    "azure-native:subscriptionId": "0000",
}
STANDARD = parse_config({"profile": "standard"})
CASES = [pytest.param(cloud, each, id=f"{cloud}: {each.name}") for cloud, cases in CLOUDS.items() for each in cases]


def plan_of(rows: list[Row], stack: str) -> Plan:
    urns = {row["name"]: f"urn:pulumi:{stack}::team::{row['type']}::{row['name']}" for row in rows}
    made = []
    for row in rows:
        sources: dict[str, list[str]] = {}
        inputs = {key: _filled(value, key, urns, sources) for key, value in row["inputs"].items() if value is not None}
        owner = {"tags": {"owner": "ml"}} if row["type"].startswith(("aws:", "azure")) else {}
        made.append(
            RecordedResource(
                urn=urns[row["name"]],
                type=row["type"],
                name=row["name"],
                inputs={**owner, **inputs},
                property_dependencies=sources,
                dependencies=tuple(sorted({urn for each in sources.values() for urn in each})),
            )
        )
    return Plan(project="team", stack=stack, resources=tuple(made), config=CONFIG)


def _filled(value: Any, key: str, urns: dict[str, str], sources: dict[str, list[str]]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, key, urns, sources) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, key, urns, sources) for each in value]
    if isinstance(value, Ref):
        sources.setdefault(key, []).append(urns[value.name])
        return UNKNOWN
    return value


def refused(rows: list[Row], stack: str) -> list[tuple[str, str, str]]:
    plan = plan_of(rows, stack)
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    report = evaluate(stated, STANDARD, on=ON)
    return [(each.rule, each.resource, each.message) for each in report.results if each.level == "mandatory"]


def programs() -> Iterator[tuple[str, list[Row], Weakness]]:
    for cloud, cases in CLOUDS.items():
        for each in cases:
            for number, rows in enumerate(each.spellings):
                yield f"{cloud}: {each.name} {number}", rows, each


NOT_STOPPED = {  # program -> why nothing refuses it
    "aws: metadata without a token 1": "a template that nothing starts from is judged with the group that does",
    "azure: storage without encryption on the way 0": "advice under `standard`: clients choose, and most refuse plain HTTP",
    "azure: storage without encryption on the way 1": "advice under `standard`: clients choose, and most refuse plain HTTP",
    "gcp: a machine from a template with an address or another template's rights 0": "advice under `standard`: web"
    " servers have addresses",
    "azure: a model on the internet 0": "a container group does not say what it serves: any web server looks like it",
}


def test_there_are_over_four_hundred_in_two_spellings_each() -> None:
    assert len(list(programs())) >= 430
    assert all(len(each.spellings) == 2 for cases in CLOUDS.values() for each in cases)


@pytest.mark.parametrize(("cloud", "weakness"), CASES)
def test_a_program_with_a_weakness_is_stopped_and_one_without_is_not(cloud: str, weakness: Weakness) -> None:
    assert refused(weakness.mended, weakness.stack) == []
    for number, rows in enumerate(weakness.spellings):
        name = f"{cloud}: {weakness.name} {number}"
        if name in NOT_STOPPED:
            assert refused(rows, weakness.stack) == [], f"{name} is stopped now: take it off the list"
        else:
            assert refused(rows, weakness.stack), name


def test_at_least_95_percent_are_stopped() -> None:
    assert len(NOT_STOPPED) <= 0.05 * len(list(programs()))


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_the_further_programs_are_made_of_what_the_sdks_have(cloud: str) -> None:
    cases = (*further.CASES[cloud], *clocks.CASES[cloud])
    rows = [row for each in cases for rows in (*each.spellings, each.mended) for row in rows]
    unknown = {
        (row["type"], key) for row in rows for key in {*row["inputs"]} - inputs_of(row["type"]) if row["inputs"][key]
    }
    assert unknown == set()


@functools.cache
def inputs_of(token: str) -> set[str]:
    """The inputs of a type as its Python SDK declares them."""
    package, module, name = (
        token.replace("/", ":").split(":")[0],
        token.split(":")[1].partition("/")[0],
        token.rpartition(":")[2],
    )
    module = {"lambda": "lambda_"}.get(module, module)
    spec = importlib.util.find_spec(f"pulumi_{package.replace('-', '_')}")
    assert spec is not None
    assert spec.origin is not None
    for path in (Path(spec.origin).parent / module).glob("*.py"):
        if path.stem.replace("_", "") == name.lower():
            declared = re.search(
                rf"class {name}(?:Init)?Args:?.*?def __init__\(__self__, \*,(.*?)\):", path.read_text(), re.DOTALL
            )
            assert declared, path
            names = re.findall(r"^\s+(\w+): ", declared[1], re.MULTILINE)
            return {re.sub(r"_(\w)", lambda match: match[1].upper(), each) for each in names}
    raise AssertionError(f"no {token} in the SDK")
