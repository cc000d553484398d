"""Weights in fewer bits stand beside the choice, priced, where the spec leaves them open."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec

ON = date(2026, 11, 20)
CHAT = """
name: x
kind: inference
model: meta-llama/Llama-3.1-70B
infra: [azure]
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
slo: {ttft: 2s, tpot: 60ms}
"""


def workload(text):
    decision = decide([parse_spec(text, catalog=load())], load(), stack="", on=ON)
    assert isinstance(decision, Decision), decision
    return decision.workloads[0]


def test_a_service_in_16_bits_has_what_fewer_bits_would_cost_and_what_they_lose():
    chosen = workload(CHAT)
    (narrower, *others) = [item for item in chosen.alternatives if item.weights]
    assert narrower.weights == "fp8"  # the first that costs no quality
    month = chosen.cost.run_rate.expected
    assert narrower.usd_per_month < month
    assert f"{month - narrower.usd_per_month:,.2f} USD a month cheaper" in narrower.why_not
    assert "no loss measured (Kurtic et al. 2025)" in narrower.why_not
    prices = [narrower.usd_per_month, *(item.usd_per_month for item in others)]
    assert prices == sorted(prices, reverse=True)  # what loses more quality has to cost less
    # The same machines are chosen when the spec says so.
    named = workload(CHAT.replace("meta-llama/Llama-3.1-70B", "{name: meta-llama/Llama-3.1-70B, weights: fp8}"))
    assert (named.pools[0].instance_type, named.pools[0].nodes_initial) == (narrower.instance_type, narrower.nodes)
    assert named.cost.run_rate.expected == pytest.approx(narrower.usd_per_month, abs=Decimal("0.01"))
    assert not [item for item in named.alternatives if item.weights]  # it has said what it wants


def test_a_checkpoint_that_is_published_in_fewer_bits_and_an_embedding_have_no_such_alternative():
    published = workload(CHAT.replace("meta-llama/Llama-3.1-70B", "deepseek-ai/DeepSeek-V3"))
    embedding = CHAT.replace("meta-llama/Llama-3.1-70B", "BAAI/bge-large-en-v1.5")
    embedding = embedding.replace("input_tokens: 1500, output_tokens: 300", "input_tokens: 300")
    embedding = embedding.replace("{ttft: 2s, tpot: 60ms}", "{latency: 1s}")
    for sized in (published, workload(embedding)):
        assert not [item for item in sized.alternatives if item.weights]
