"""The checklists are filled in from the decision's own records: every point, each with its figure and its source."""

from __future__ import annotations

import re

import pytest

from sizewell.sizing.choose.checklist import CHECKLISTS, checklist
from sizewell.sizing.choose.decide import size_one

from .conftest import ON, chat, night, spec, tune

SPECS = [
    chat(),
    chat(traffic={"concurrent_users": 500, "think_time": "20s", "input_tokens": 800, "output_tokens": 200}),
    chat(model="resnet50", traffic={"rps": 3}, slo={"latency": "200ms"}),
    night(),
    tune(),
    spec(kind="training", model="meta-llama/Llama-3.1-8B", training={"tokens": "100B", "sequence_length": 8192}),
    spec(kind="notebook", resources={"gpu": "24GB.."}),
]


@pytest.mark.parametrize("name", CHECKLISTS)
@pytest.mark.parametrize("one", SPECS, ids=lambda s: f"{s.kind}-{s.model.label if s.model else 'any'}")
def test_every_point_has_its_answer_and_source_in_order(facts, one, name):
    sizing = size_one(one, facts, stack="", on=ON)
    lines = checklist(name, sizing, sizing.best())
    points = [line.point for line in lines]
    assert list(dict.fromkeys(points)) == list(CHECKLISTS[name])
    for line in lines:
        assert line.answer.strip(), line
        assert line.source.strip(), line
        assert not re.search(r"\b(nan|inf|None)\b", line.answer), line


def test_the_figures_are_those_of_the_decision(facts):
    sizing = size_one(chat(), facts, stack="", on=ON)
    chosen = sizing.best()
    answers = {line.point: line.answer for line in reversed(checklist("scale", sizing, chosen))}
    assert answers["scale"] == "8.03B parameters"
    assert chosen.deal.region in answers["latency and locality"] or "first token" in answers["latency and locality"]
    month = f"{chosen.cost.run_rate.usd_per_month.expected:,.0f}"
    assert any(month in line.answer for line in checklist("deploy", sizing, chosen) if line.point == "yield")


def test_what_to_observe_has_a_name_and_the_figure_that_is_predicted(facts):
    photos = night(model={"name": "resnet50"}, batch={"records": "50M", "window": "8h", "images": {"resolution": 224}})
    sizing = size_one(photos, facts, stack="", on=ON)
    chosen = sizing.best()
    answers = {line.point: line.answer for line in checklist("deploy", sizing, chosen)}
    assert re.fullmatch(r"samples/s \([\d,]+\)", answers["observe"])
    assert "should be 1.6" in answers["load-test"]
    runner_up = next(line.answer for line in checklist("deploy", sizing, chosen) if "runner-up" in line.answer)
    assert "cannot be provisioned" not in runner_up
    scale = {line.point: line for line in reversed(checklist("scale", sizing, chosen))}
    assert scale["scale"].answer == "25.6M parameters"
    assert scale["accelerator interconnect"].source == "catalog"
