"""What a decision may never say: less than nothing free, infinity, more than everything, or more from fewer machines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from sizewell.sizing.catalog import Catalog
from sizewell.sizing.choose.decide import NothingFits, decide
from sizewell.sizing.records.decision import Decision

from .conftest import ON, chat, night, spec, tune

BATCH = {"records": "2M", "window": "6h"}
# One of each kind of work, those first whose choice had less than nothing free.
SPECS = [
    night(model="openai/whisper-large-v3", batch={**BATCH, "records": "200k"}),
    night(model="mistralai/Mistral-7B-Instruct-v0.3", batch={**BATCH, "tokens_per_record": 4000}),
    night(model="BAAI/bge-large-en-v1.5", batch={**BATCH, "tokens_per_record": 512}),
    night(model="resnet50", batch={**BATCH, "images": {"resolution": 224}}),
    night(model="stabilityai/stable-diffusion-xl-base-1.0", batch={**BATCH, "records": "100k"}),
    night(model={"name": "meta-llama/Llama-3.1-70B", "weights": "int4"}),
    night(),
    chat(),
    chat(model="openai/whisper-large-v3", traffic={"rps": 5}, slo={"latency": "5s"}),
    chat(model="black-forest-labs/FLUX.1-schnell", traffic={"rps": 0.5}, slo={"latency": "20s"}),
    chat(model="BAAI/bge-large-en-v1.5", traffic={"rps": 500, "input_tokens": 400}, slo={"latency": "200ms"}),
    chat(model="meta-llama/Llama-3.1-405B", traffic={"rps": 20, "input_tokens": 1500, "output_tokens": 300}),
    chat(model="google/gemma-3-27b-it", traffic={"concurrent_users": 300, "input_tokens": 3000, "output_tokens": 500}),
    chat(model="resnet50", traffic={"rps": 3000}, slo={"latency": "200ms"}),
    tune(),
    tune(model="deepseek-ai/DeepSeek-V3", deadline="20d"),
    tune(training={"method": "qlora", "tokens": "20M", "sequence_length": 4096}),
    spec(kind="notebook", resources={"gpu": "24GB.."}),
    spec(kind="notebook", model="meta-llama/Llama-3.1-8B"),
    spec(
        kind="training",
        model="meta-llama/Llama-3.1-8B",
        training={"tokens": "20B", "sequence_length": 8192},
        deadline="30d",
    ),
]


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a decision with the path to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


@pytest.mark.parametrize("one", SPECS, ids=lambda s: f"{s.kind}-{s.model.label if s.model else 'any'}")
def test_no_figure_is_impossible(facts: Catalog, one):
    answer = decide([one], facts, stack="", on=ON)
    assert isinstance(answer, Decision), answer
    text = answer.to_json()
    assert "Infinity" not in text
    assert "NaN" not in text
    for workload in answer.workloads:
        free = workload.memory.usable_bytes - workload.memory.per_device_bytes
        assert free >= 0, workload.memory
        figures = workload.performance.figures
        for name in ("mfu", "goodput", "load_share"):
            assert 0 <= figures.get(name, 0.0) <= 1, (name, figures)
        assert 0 < workload.performance.low <= workload.performance.value <= workload.performance.high
        for alternative in workload.alternatives:
            assert "inf " not in alternative.why_not
            assert "nan" not in alternative.why_not.split()
        for group in workload.rejections:
            assert " inf" not in group.example
    for path, value in numbers(json.loads(text)):
        assert math.isfinite(value), path
        assert value >= 0, path


@pytest.mark.parametrize("kind", ["rps", "users", "records"])
def test_twice_the_load_never_needs_less_and_the_end_of_the_search_is_said(small: Catalog, kind):
    """Doubled until nothing fits: machines only grow, what they take is never under the load, and the limit is said."""
    nodes, load = 0, 4.0
    for _ in range(40):
        if kind == "records":
            one = night(batch={"records": int(load * 1000), "tokens_per_record": 400, "window": "8h"})
        else:
            rate = {"rps": load} if kind == "rps" else {"concurrent_users": int(load * 10), "think_time": "10s"}
            one = chat(
                traffic={**rate, "input_tokens": 1500, "output_tokens": 300}, resources={"accelerators": ["H100"]}
            )
        answer = decide([one], small, stack="", on=ON)
        if isinstance(answer, NothingFits):
            assert nodes > 100
            assert any("one pool has at most 2,048" in rejection.reason for rejection in answer.nearest), answer
            return
        workload = answer.workloads[0]
        machines = workload.pools[0].nodes_initial
        if kind != "records":
            assert machines >= nodes
            figures = workload.performance.figures
            assert workload.performance.value >= figures["requests_per_s"] * (1 - 1e-6)
            if kind == "rps":
                assert figures["requests_per_s"] == pytest.approx(load, rel=1e-4)
        nodes, load = machines, load * 2
    pytest.fail("the search never ended")
