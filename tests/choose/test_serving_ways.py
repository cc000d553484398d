"""What is advised for a service that no machine holds, or answers in time, works when it is followed."""

from __future__ import annotations

import re

import pytest
import yaml

from sizewell.sizing.choose.decide import nothing_fits, size_one

from .conftest import ON, spec

CHAT = {"kind": "inference", "traffic": {"rps": 0.5, "input_tokens": 1000, "output_tokens": 500}}
SLO = {"ttft": "3s", "tpot": "80ms"}
DRAWN = {"kind": "inference", "traffic": {"rps": 0.05, "images": {"resolution": 1024, "steps": 28}}}


def told(wish, facts):
    sizing = size_one(spec(**wish), facts, stack="", on=ON)
    assert sizing.best() is None
    return nothing_fits(sizing, None)


def followed(wish, way):
    """The spec with one way out followed as it is written."""
    dropped = re.findall(r"resources\.(\w+)", way.partition(":")[0])
    way = re.sub(r"^(?:use|name more or larger accelerators[^:]*:|allow more time:) ", "", way)
    path, _, value = way.partition(": ")
    section, _, field = path.partition(".")
    stated = wish.get(section, {}) if isinstance(wish.get(section), dict) else {"name": wish[section]}
    stated = {key: value for key, value in stated.items() if key not in dropped}
    return {**wish, section: {**stated, field: yaml.safe_load(value)} if field else {**stated, **yaml.safe_load(value)}}


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        # published in fp8: no other format of 8 bits is smaller
        ({**CHAT, "model": "deepseek-ai/DeepSeek-R1", "slo": SLO, "resources": {"accelerators": {"H100": 8}}}, "int4"),
        (
            {**CHAT, "model": "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "resources": {"accelerators": {"H100": 2}}},
            "accelerators: [",
        ),
        # one device does not, and two of a larger kind do
        (
            {
                "kind": "inference",
                "model": {"name": "meta-llama/Llama-3.1-70B-Instruct", "weights": "fp8"},
                "traffic": {"rps": 0.1, "input_tokens": 15000, "output_tokens": 1000},
                "slo": {"ttft": "10s", "tpot": "60ms"},
                "resources": {"accelerators": "h100-sxm", "gpus": 1},
            },
            "gpus: 2",
        ),
        # the upper edge of fp8 is above what 24 GB have
        (
            {
                **DRAWN,
                "model": "black-forest-labs/FLUX.1-dev",
                "slo": {"latency": "60s"},
                "resources": {"gpu": "24GB..24GB"},
            },
            "name more or larger accelerators",
        ),
        (
            {
                **CHAT,
                "model": "meta-llama/Llama-3.1-8B-Instruct",
                "slo": {"ttft": "100ms", "tpot": "10ms"},
                "resources": {"accelerators": ["L4"]},
            },
            "slo: {ttft",
        ),
    ],
)
def test_each_way_works(facts, wish, says):
    answer = told(wish, facts)
    ways = [way for line in answer.relax for way in line.split(", or ") if "spot_policy" not in way]
    assert any(says in way for way in ways)
    for way in ways:
        assert size_one(spec(**followed(wish, way)), facts, stack="", on=ON).best() is not None, way


def test_a_replica_over_several_machines_is_said_not_to_be_sized(facts):
    wish = {**CHAT, "model": "meta-llama/Llama-3.1-405B-Instruct", "resources": {"accelerators": {"H100": 16}}}
    assert any("over several machines yourself: it is sized inside one alone" in way for way in told(wish, facts).relax)


def test_no_market_is_advised_for_a_machine_that_does_not_do(facts):
    wish = {**CHAT, "model": "deepseek-ai/DeepSeek-R1", "slo": SLO, "resources": {"accelerators": {"H100": 8}}}
    assert not any("spot_policy" in way or "capacity" in way for way in told(wish, facts).relax)


@pytest.mark.parametrize(
    ("place", "named"),
    [("edge", "rtx-4090"), ("aws/ap-southeast-2", "a10g")],
)
def test_a_larger_accelerator_that_is_advised_is_sold_in_the_place_and_larger(facts, place, named):
    wish = {**CHAT, "model": "meta-llama/Llama-3.1-70B-Instruct", "slo": {"ttft": "10s", "tpot": "200ms"}}
    wish |= {"resources": {"accelerators": [named]}, "infra": [place]}
    sizing = size_one(spec(**wish), facts, stack="", on=ON)
    ways = ", or ".join(nothing_fits(sizing, None).relax) if sizing.best() is None else ""
    cloud, _, region = place.partition("/")
    for key in re.findall(r"accelerators: \[([\w-]+)\]", ways):
        assert facts.accelerators[key].memory_bytes > 1.1 * facts.accelerators[named].memory_bytes
        shapes = [s for s in facts.shapes if s.accelerator == key and s.cloud == cloud]
        assert shapes
        if region:
            offers = [o for s in shapes for o in facts.offers(s.cloud, s.instance_type, on=ON)]
            assert region in {o.region for o in offers if o.market == "on-demand"}
