"""`sizewell size SPEC --observed FILE`: a measurement is judged and the measured load is sized."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workload.test_measured import VLLM, page

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


SERVICE = """
workload: chat
running: {on: aws/us-east-1, instance_type: g6e.xlarge}
replicas: 1
"""


@pytest.fixture
def beside(project: Path, sizewell: Sizewell):
    """`size --observed` of files by name and content."""
    (project / "chat.yaml").write_text(CHAT)

    def run(files: dict[str, str], *more: str):
        for name, text in files.items():
            (project / name).write_text(text)
        return sizewell("size", "chat.yaml", *(part for name in files for part in ("--observed", name)), *ON, *more)

    return run


def test_a_load_test_beside_its_prediction(beside) -> None:
    data = json.loads(beside({"bench.json": json.dumps(VLLM), "service.yaml": SERVICE}, "--json").out)
    assert data["schema"] == "sizewell.as-measured/1"
    (run,) = data["measurements"]
    assert (run["clients"], run["rps"], run["replicas"]) == (32, None, 1)
    row = next(each for each in run["figures"] if (each["figure"], each["statistic"]) == ("tpot", "p50"))
    assert row["measured_s"] == pytest.approx(0.056)
    assert row["ratio"] == pytest.approx(row["measured_s"] / row["predicted_s"])
    assert row["at_measured_rates_s"] == pytest.approx(row["measured_s"], rel=0.02)
    assert data["rates"]["accelerator"] == "l40s"
    assumed = data["answer"]["workloads"][0]["assumptions"]
    assert any(each.startswith("as measured on l40s: a step takes") for each in assumed)
    said = beside({"bench.json": json.dumps(VLLM), "service.yaml": SERVICE})
    words = " ".join(said.out.split())
    for part in ("1 x g6e.xlarge in aws/us-east-1", "32 clients that wait on 1 replica", "2 requests failed",
                 "measured rates: a step takes", "as predicted:", "at the measured rates:"):  # fmt: skip
        assert part in words
    assert max(map(len, said.out.splitlines())) <= 100
    assert said.code == 0
    shown = (ROOT / "docs/howto/simulate-traffic.md").read_text(encoding="utf-8").partition("\n32 clients that")[2]
    table = shown.partition("```")[0].splitlines()[1:]
    assert len(table) > 5
    assert set(table) <= set(said.out.splitlines()), "the page shows what is printed"


def test_a_speed_that_the_machine_cannot_have_is_told(beside) -> None:
    """Less between tokens than the prompts of others take: something else than this machine was measured."""
    fast = {key: value / 3 if "tpot" in key or "itl" in key else value for key, value in VLLM.items()}
    said = beside({"bench.json": json.dumps(fast), "service.yaml": SERVICE}).out
    assert "as fast as the device can be and no faster, a step is: reading the 15.0 GB of weights in bf16" in " ".join(
        said.split()
    )


def test_two_pages_of_metrics_beside_their_prediction(beside) -> None:
    files = {"first.prom": page(1), "second.prom": page(2), "service.yaml": "workload: chat\nbetween: 10m\n"}
    data = json.loads(beside(files, "--json").out)
    assert data["running"].endswith(", as decided")
    assert data["measurements"][0]["rps"] == pytest.approx(1000 / 600)
    assert data["measurements"][0]["prefix"] == 0.25
    assert "1,000 requests ended in 600 s, as stated" in data["findings"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.yaml": MEASURED, "b.yaml": MEASURED}, "--observed b.yaml is a second file of what runs, after a.yaml"),
        ({"a.json": json.dumps(VLLM), "b.yaml": SERVICE.replace("chat", "other")}, "is of 'other', the spec is of 'chat'"),
        ({"a.json": json.dumps(VLLM), "b.yaml": SERVICE.replace("g6e.xlarge", "g6e.xlrage")}, "did you mean"),
        ({"a.json": json.dumps(VLLM), "b.yaml": SERVICE + "rps: 4\n"}, "rps"),
        ({"a.prom": page(1)}, "save the engine's page twice"),
        ({"a.json": json.dumps({**VLLM, "duration": -3})}, "duration: must be a number above 0, got -3"),
    ],
)  # fmt: skip
def test_wrong_measurement_of_times(beside, files: dict[str, str], message: str) -> None:
    done = beside(files)
    assert done.code == 64
    assert message in done.err
    assert done.out == ""


def test_shipped_example(sizewell: Sizewell) -> None:
    path = ROOT / "examples/observed/petsnap-vlm-fp16.yaml"
    done = sizewell("size", str(ROOT / "examples" / path.name), "--observed", str(path), *ON)
    assert done.code in (0, 3), done.err
    assert max(map(len, done.out.splitlines())) <= 100
