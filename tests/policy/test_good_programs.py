"""A wrong alarm is worse than a missing rule: careful programs without a component of ours are let through.

The programs (tests/policy/good/) are what a platform team writes who has read its cloud's guides. Nothing mandatory may
be said of them; what is advised is written down here, so that a rule that begins to talk is noticed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from ends import EXPIRIES

from sizewell.launch import images
from sizewell.policy.config import DEFAULT_FILE, read_config
from sizewell.policy.engine import evaluate as judge
from sizewell.policy.rules import RULES
from sizewell.recording.evaluate import evaluate
from sizewell.resources import facts, price
from sizewell.resources.graph import Graph
from sizewell.resources.unfit import unfit
from sizewell.sizing.catalog import lifetimes, load

ON = date(2026, 11, 21)
CONFIG = {
    "aws": {"aws:region": "us-east-1", "aws:allowedAccountIds": '["123456789012"]'},
    "gcp": {"gcp:project": "team", "gcp:region": "us-central1"},
    "azure": {"azure-native:location": "eastus", "azure-native:subscriptionId": "0000"},
}
MONEY = {"unpriced-resource", "hourly-budget"}  # of a service that is not of AI
TEXTS = {"bucket-plain-http", "bucket-policy-open", "open-trust", "writer-can-delete"}  # made of what the cloud names
UNWATCHED = {"accelerator-metrics-missing"}  # stopped by the clock, and nobody sees what they do until then
ADVISED = {
    "group_on_a_schedule": UNWATCHED,
    "guarded_spot_group": TEXTS - {"open-trust"},
    "store_alone": TEXTS - {"open-trust"},
    "reserved_block": MONEY | UNWATCHED,  # whoever bought the block paid it
    "cluster_of_kubernetes": {"machine-disk-own-key"},
    "notebook_that_stops": MONEY,  # its volume has no price in most regions
    "azure vault_and_key": MONEY,  # nor has a key in hardware
    "deployer_of_github": {"open-trust"},
    "machine_for_a_day": UNWATCHED,
    "pipeline_of_data": MONEY,
    "gcp pipeline_of_data": set(),  # BigQuery is billed by use
    "set_on_a_schedule": UNWATCHED,
    "spot_set": UNWATCHED,
    "azure store_alone": set(),
    "web_application": MONEY,
}


def programs(cloud: str) -> tuple[Callable[[], None], ...]:
    spec = importlib.util.spec_from_file_location(f"good_{cloud}", Path(__file__).parent / "good" / f"{cloud}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return tuple(module.PROGRAMS)


@pytest.mark.parametrize("cloud", sorted(CONFIG))
def test_careful_programs_pass_without_noise(cloud: str, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: team\nruntime: python\n", encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n", encoding="utf-8")
    found = programs(cloud)
    assert len(found) >= 10
    for program in found:
        plan = evaluate(tmp_path, "dev", program=program, config=CONFIG[cloud])
        assert len(plan.resources) > 2, program.__name__
        stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
        report = judge(stated, replace(read_config(DEFAULT_FILE), profile="standard"), on=ON)
        refused = [(r.rule, r.resource, r.message) for r in report.results if r.level == "mandatory"]
        assert refused == [], program.__name__
        known = ADVISED.get(f"{cloud} {program.__name__}", ADVISED.get(program.__name__, set()))
        assert {r.rule for r in report.results} == known, program.__name__
        assert report.rules > len(RULES) / 2  # most rules looked
        wrong = unfit(Graph(plan), load(), lifetimes.load(), images, ON)
        assert [each.detail for each in wrong] == [], program.__name__
