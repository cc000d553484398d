"""The policy process says of a program what the evaluator says: all weak programs, the mended ones and the sound ones.

Each program is told to a session as the engine tells it: every resource before it is made, with its inputs, and all of
them at the end, with their dependencies and with outputs that are not known yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sound import aws, azure, gcp, kubernetes
from test_weaknesses import CLOUDS, ON, STANDARD, plan_of, programs
from weak.rows import Ref, Row

from sizewell.policy.announced import announced
from sizewell.policy.announcement import OF_WHOLE_POOLS, WHOLE_POOLS
from sizewell.policy.engine import evaluate
from sizewell.policy.expiring import expiries_of
from sizewell.policy.opening import Opening
from sizewell.policy.rules import RULES
from sizewell.policy.session import Session
from sizewell.resources import Plan, facts, price
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.values import canonical
from sizewell.sizing.catalog import load

HIDDEN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # the engine's word for a text that is not known yet
IDLE = [rule for rule in RULES if rule.id in OF_WHOLE_POOLS]
ALONE = frozenset(rule.id for rule in RULES if rule.evaluator_only)  # what a policy process cannot see


def suites() -> Iterator[tuple[str, list[Row], str]]:
    for name, rows, weakness in programs():
        yield f"weak {name}", rows, weakness.stack
    for cloud, cases in CLOUDS.items():
        for weakness in cases:
            yield f"mended {cloud}: {weakness.name}", weakness.mended, weakness.stack
    for module in (aws, gcp, azure, kubernetes):
        for program in module.PROGRAMS:
            yield f"sound {module.__name__}: {program.name}", program.rows, program.stack


def told(value: Any) -> Any:
    if value is UNKNOWN:
        return HIDDEN
    if isinstance(value, dict):
        return {key: told(part) for key, part in value.items()}
    return [told(part) for part in value] if isinstance(value, (list, tuple)) else value


def by_the_engine(plan: Plan) -> set[tuple[str, str, str, str]]:
    from pulumi.runtime.proto import analyzer_pb2

    opening = Opening(
        said=announced(), config=STANDARD, project=plan.project, stack=plan.stack, settings=dict(plan.config)
    )
    session = Session(opening)
    results = []
    end = analyzer_pb2.AnalyzeStackRequest()
    for resource in plan.resources:
        request = analyzer_pb2.AnalyzeRequest(type=resource.type, name=resource.name, urn=resource.urn)
        request.properties.update(told(dict(resource.inputs)))
        results += session.one(request)
        message = end.resources.add(type=resource.type, name=resource.name, urn=resource.urn)
        message.dependencies.extend(resource.dependencies)
        for prop, urns in resource.property_dependencies.items():
            message.propertyDependencies[prop].urns.extend(urns)
    results += session.whole(end.resources).results
    return {(each.rule, each.urn, each.message, each.level) for each in results if each.level != "disabled"}


def by_the_evaluator(plan: Plan) -> set[tuple[str, str, str, str]]:
    today = datetime.now(UTC).date()  # a policy process reads the clock itself
    stated = facts(
        plan,
        load(),
        pricing=price(plan, load(), on=today),
        on=today,
        expiries=expiries_of(STANDARD, None, plan.stack, ""),
    )
    results = evaluate(stated, STANDARD, on=today).results
    return {(each.rule, each.urn, each.message, each.level) for each in results if each.rule not in ALONE}


@pytest.mark.parametrize("suite", ["weak", "mended", "sound"])
def test_evaluator_and_engine_agree(suite: str) -> None:
    differing = {}
    for name, rows, stack in suites():
        if name.startswith(suite):
            plan = plan_of(rows, stack)
            evaluated, engine = by_the_evaluator(plan), by_the_engine(plan)
            if evaluated != engine:
                differing[name] = (sorted(evaluated - engine), sorted(engine - evaluated))
    assert differing == {}


def test_a_pool_that_one_resource_shows_whole_is_judged_before_it_is_built() -> None:
    """`pulumi up --skip-preview` asks of each resource before it makes it; at the end the pool would stand."""
    from pulumi.runtime.proto import analyzer_pb2

    early = set()
    for name, rows, stack in suites():
        plan = plan_of(rows, stack)
        opening = Opening(
            said=announced(), config=STANDARD, project=plan.project, stack=plan.stack, settings=dict(plan.config)
        )
        pools = [resource for resource in plan.resources if canonical(resource.type) in WHOLE_POOLS]
        session = Session(opening) if pools else None
        for resource in pools:
            assert session is not None
            request = analyzer_pb2.AnalyzeRequest(type=resource.type, name=resource.name, urn=resource.urn)
            request.properties.update(told(dict(resource.inputs)))
            if "idle-exposure" in {each.rule for each in session.one(request)}:
                early.add((name.partition(" ")[0], canonical(resource.type)))
    assert {kind for suite, kind in early if suite == "weak"} == set(WHOLE_POOLS)
    assert {suite for suite, _ in early} == {"weak"}


def redirected(rows: list[Row], pool: Row, to: Row) -> list[Row]:
    """What stands beside a pool, speaking of another pool instead."""
    names = {pool["name"], str(pool["inputs"].get("name", pool["name"]))}
    own = str(to["inputs"].get("name", to["name"]))

    def spoken(value: Any) -> Any:
        if isinstance(value, Ref):
            return Ref(to["name"]) if value.name == pool["name"] else value
        if isinstance(value, dict):
            return {key: spoken(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [spoken(part) for part in value]
        if isinstance(value, str):
            return re.sub(rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?![\w-])", own, value)
        return value

    return [{**row, "inputs": spoken(row["inputs"])} for row in rows if row is not pool]


def exposed(rows: list[Row], stack: str) -> set[str]:
    """The resources that idle-exposure refuses for certain."""
    plan = plan_of(rows, stack)
    results = evaluate(facts(plan, load(), on=ON), STANDARD, on=ON, rules=IDLE).results
    return {each.urn for each in results if each.outcome == "violation"}


def test_nothing_beside_a_pool_that_is_judged_before_it_is_built_ends_it() -> None:
    """Every guard of every careful program, turned to such a pool: a reader that lets one end it takes it off the list."""
    weak: dict[str, tuple[Row, str]] = {}
    careful: list[tuple[list[Row], Row, str]] = []
    for name, rows, stack in suites():
        plan = plan_of(rows, stack)
        pools = {pool.urn for pool in facts(plan, load(), on=ON).pools}
        for row, resource in zip(rows, plan.resources, strict=True):
            if name.startswith("weak"):
                kind = canonical(resource.type)
                if kind in WHOLE_POOLS and kind not in weak and exposed([row], stack) == {resource.urn}:
                    weak[kind] = (row, stack)
            elif resource.urn in pools and len(rows) > 1:
                careful.append((rows, row, name))
    assert set(weak) == set(WHOLE_POOLS)
    assert len(careful) > 50
    ended = []
    for kind, (pool, stack) in weak.items():
        for rows, guarded, name in careful:
            if guarded["type"].partition(":")[0] != kind.partition(":")[0]:
                continue
            beside = [row for row in redirected(rows, guarded, pool) if row["name"] != pool["name"]]
            together = plan_of([pool, *beside], stack)
            if together.resources[0].urn not in exposed([pool, *beside], stack):
                ended.append((kind, name))
    assert ended == []
