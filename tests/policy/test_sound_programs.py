"""Sixty programs of careful teams (tests/policy/sound/), written before a rule was run on them, are let through.

They serve in production, work by the clock, stand on a reserved baseline, are web applications or data platforms. What
is refused stands in `REFUSED` with its reason: it may not grow beyond one finding.
"""

from __future__ import annotations

from datetime import date

import pytest
from ends import EXPIRIES
from sound import aws, azure, gcp, kubernetes
from sound.programs import Program
from test_weaknesses import plan_of

from sizewell.policy.config import parse_config
from sizewell.policy.engine import Result, evaluate
from sizewell.resources import facts, price
from sizewell.sizing.catalog import load

ON = date(2026, 11, 22)
PROGRAMS = [
    (cloud.__name__.rpartition(".")[2], each) for cloud in (aws, gcp, azure, kubernetes) for each in cloud.PROGRAMS
]
REFUSED = {  # (program, rule) -> why that stands
    ("a GKE pool on a reservation for training", "gke-specific-reservation"): "the rule is right: the program lacks"
    " nodeLocations, so nodes outside of the reservation's zone are never started",
}
ACCELERATED = {"serving", "scheduled", "reserved"}


def judged(program: Program, profile: str) -> tuple[Result, ...]:
    plan = plan_of(program.rows, program.stack)
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    return evaluate(stated, parse_config({"profile": profile}), on=ON).results


def test_there_are_sixty_of_five_kinds_on_four_providers() -> None:
    assert len(PROGRAMS) >= 60
    assert {(cloud, program.purpose) for cloud, program in PROGRAMS} == {
        (cloud, purpose) for cloud in ("aws", "gcp", "azure", "kubernetes") for purpose in (*ACCELERATED, "web", "data")
    }


@pytest.mark.parametrize("program", [pytest.param(each, id=f"{cloud}: {each.name}") for cloud, each in PROGRAMS])
def test_a_careful_program_is_let_through(program: Program) -> None:
    refused = {result.rule: result.message for result in judged(program, "standard") if result.level == "mandatory"}
    assert {(program.name, rule) for rule in refused} == {key for key in REFUSED if key[0] == program.name}, refused
    if program.purpose not in ACCELERATED:
        assert judged(program, "accelerators") == ()


def test_at_most_one_is_refused() -> None:
    assert len(REFUSED) <= 1
