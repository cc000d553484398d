"""`sizewell size SPEC --observed FILE`: a measurement is judged and the measured load is sized."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import CHAT, ROOT, Sizewell

ON = ("--on", "2026-09-20")
MEASURED = """
workload: chat
running: {on: aws/us-east-1, instance_type: g6e.12xlarge, nodes: 2}
utilization: 11%
memory: 24GB
kv_cache: 80%
batch: 2
rps: 0.2
"""


@pytest.fixture
def judge(project: Path, sizewell: Sizewell):
    (project / "chat.yaml").write_text(CHAT)

    def run(measured: str, *more: str):
        (project / "measured.yaml").write_text(measured)
        return sizewell("size", "chat.yaml", "--observed", "measured.yaml", *ON, *more)

    return run


def test_too_large_for_its_load(judge) -> None:
    data = json.loads(judge(MEASURED, "--json").out)
    assert data["schema"] == "sizewell.right-sizing/1"
    assert data["verdict"] == "oversized"
    assert float(data["saving_usd_per_month"]) > 0
    pool = data["answer"]["workloads"][0]["pools"][0]
    assert pool["nodes_max"] * pool["accelerators_per_node"] < 8
    assert "larger than the load needs" in " ".join(judge(MEASURED).out.split())


def test_a_small_batch_is_no_matter_of_hardware(judge) -> None:
    """40 % busy with two in flight where the cache holds 25: the batch, not the machine."""
    data = json.loads(judge(MEASURED.replace("11%", "40%").replace("80%", "8%"), "--json").out)
    assert data["verdict"] == "batching"
    assert "with 2 in flight, where 25 would fit" in data["findings"][0]
    full = json.loads(judge(MEASURED.replace("11%", "40%"), "--json").out)
    assert full["verdict"] != "batching", "with the cache full there is no room for a larger batch"


def test_busy_is_left_alone(judge) -> None:
    assert json.loads(judge(MEASURED.replace("11%", "82%"), "--json").out)["verdict"] == "busy"


def test_what_an_engine_holds_is_not_what_it_needs(judge) -> None:
    measured = MEASURED.replace("memory: 24GB", "memory: 43GiB").replace("kv_cache: 80%\n", "")
    assert "state kv_cache" in json.loads(judge(measured, "--json").out)["findings"][1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("workload: chat", "workload: other", "the measurement is of 'other', the spec is of 'chat'"),
        ("g6e.12xlarge", "g6e.13xlarge", "did you mean"),
        ("nodes: 2", "nodes: none", "running.nodes: must be a count"),
        ("utilization: 11%", "utilization: 11", "utilization: must be a percentage"),
        ("utilization: 11%\n", "", "utilization: is missing"),
        ("memory: 24GB", "memory: 240GB", "is more than the"),
        ("rps:", "rpss:", "did you mean 'rps'?"),
        ("g6e.12xlarge", "m6i.2xlarge", "has no accelerator"),
    ],
)
def test_wrong_measurement(old: str, new: str, message: str, judge) -> None:
    done = judge(MEASURED.replace(old, new))
    assert done.code == 64
    assert message in done.err
    assert done.out == ""


def test_wrong_usage(judge, sizewell: Sizewell) -> None:
    assert judge(MEASURED, "--stack", "dev-aws").code == 64
    assert sizewell("size", "chat.yaml", "chat.yaml", "--observed", "measured.yaml").code == 64
    assert sizewell("size", "chat.yaml", "--observed", "nowhere.yaml").code == 64


def test_shipped_example(sizewell: Sizewell) -> None:
    path = ROOT / "examples/observed/petsnap-vlm-fp16.yaml"
    done = sizewell("size", str(ROOT / "examples" / path.name), "--observed", str(path), *ON)
    assert done.code in (0, 3), done.err
    assert max(map(len, done.out.splitlines())) <= 100
