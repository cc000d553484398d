"""Every resource of 62 public programs is priced, free, billed by use, or has no price: one of the four, with a reason.

The programs are those in Python of pulumi/examples (Apache 2.0) that are evaluated without an account, as the evaluator
recorded them on 2026-11-26; texts are cut after 48 characters.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sizewell.resources.pricing import price
from sizewell.resources.recorded import UNKNOWN, Hidden, Plan, RecordedResource
from sizewell.sizing.catalog import load
from sizewell.sizing.money import Unpriced

PROGRAMS: dict[str, Any] = json.loads((Path(__file__).parent / "public_programs.json").read_text(encoding="utf-8"))
ON = date(2026, 11, 26)


def value(recorded: Any) -> Any:
    if isinstance(recorded, dict):
        return {key: value(each) for key, each in recorded.items()}
    if isinstance(recorded, list):
        return [value(each) for each in recorded]
    return UNKNOWN if recorded == "<unknown>" else recorded


def plan_of(program: str) -> Plan:
    stated = PROGRAMS[program]
    head = "urn:pulumi:dev::p::"
    return Plan(
        project="p",
        stack="dev",
        config=stated["config"],
        hidden=tuple(
            Hidden(name=name, what=what, may_hide="more", why="not known") for name, what in stated["hidden"]
        ),
        resources=tuple(
            RecordedResource(
                urn=f"{head}{kind}::{name}", type=kind, name=name, custom=custom, inputs=value(inputs),
                parent=f"{head}{parent}" if parent else None,
            )
            for kind, name, parent, custom, inputs in stated["resources"]
        ),
    )  # fmt: skip


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_the_four_states_add_up_to_all_resources(program: str) -> None:
    plan = plan_of(program)
    pricing = price(plan, load(), on=ON)
    hidden = {each.urn for each in pricing.hidden}
    without = {line.resource for line in pricing.items if isinstance(line.price, Unpriced)}
    states = Counter[str]()
    states.update({line.resource for line in pricing.items} - without)
    states.update(urn for urn, _, _ in pricing.free)
    states.update(urn for urn, _, _ in pricing.by_use)
    states.update(without)
    assert {urn: states[urn] for urn in plan.by_urn()} == dict.fromkeys(plan.by_urn(), 1)
    assert without - {""} == {urn for urn, _, _ in (*pricing.unpriced, *pricing.unknown)} | (
        hidden & set(plan.by_urn())
    )
    for _, kind, reason in (*pricing.free, *pricing.by_use, *pricing.unpriced, *pricing.unknown):
        assert reason, kind
    counts = pricing.coverage
    assert counts.detected == sum(
        (counts.estimated, counts.free, counts.by_use, counts.unpriced, counts.unknown, counts.not_judged)
    )


@pytest.mark.parametrize(
    "kind",
    [
        "aws:sqs/queue:Queue", "aws:sns/topic:Topic", "aws:ecr/repository:Repository", "gcp:pubsub/topic:Topic",
        "gcp:pubsub/subscription:Subscription", "gcp:logging/projectBucketConfig:ProjectBucketConfig",
    ],
)  # fmt: skip
def test_what_is_billed_by_what_flows_through_it_is_not_called_free(kind: str) -> None:
    one = RecordedResource(urn="u", type=kind, name="n", inputs={})
    plan = Plan(project="p", stack="dev", resources=(one,), config={"aws:region": "us-east-1"})
    pricing = price(plan, load(), on=ON)
    assert [token for _, token, _ in pricing.by_use] == [kind]
    assert pricing.free == ()
