"""What an unstated service level costs stands beside the price."""

from __future__ import annotations

import re
from decimal import Decimal

from sizewell.sizing.choose.decide import NothingFits, decide
from sizewell.sizing.records.decision import Cost, Decision

from .conftest import ON, spec

HEARS = {"kind": "inference", "model": "openai/whisper-large-v3", "traffic": {"rps": 2}, "infra": ["aws/us-east-1"]}


def cost(facts, **more) -> Cost:
    answer = decide([spec(**HEARS, **more)], facts, stack="", on=ON)
    assert isinstance(answer, Decision)
    return answer.workloads[0].cost


def test_the_price_of_a_stricter_level_is_what_it_costs_when_stated(facts):
    said = cost(facts).assumed_level
    assert said is not None
    assert said.startswith("assumed, as slo is not stated: latency 10s; ")
    price = re.search(r"([\d,.]+) USD a month with latency 2s", said)
    assert price
    stated = cost(facts, slo={"latency": "2s"}).run_rate
    assert stated is not None
    assert Decimal(price[1].replace(",", "")) == round(stated.expected, 2)


def test_nothing_is_said_where_the_level_is_stated(facts):
    assert cost(facts, slo={"latency": "10s"}).assumed_level is None


def test_a_bound_of_a_long_recording_is_said_of_all_of_it(facts):
    """Of half an hour heard in sixty parts a bound of one part would be sixty times tighter than what was stated."""
    heard = {**HEARS, "traffic": {"rps": "50/d", "audio": "30m"}, "slo": {"latency": "4s"}}
    answer = decide([spec(**heard)], facts, stack="", on=ON)
    assert isinstance(answer, NothingFits)
    reasons = [each.reason for each in answer.nearest if "misses the slo" in each.reason]
    assert reasons
    assert all("4000 allowed" in reason for reason in reasons)
