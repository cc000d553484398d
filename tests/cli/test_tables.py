"""The tables that a person reads, as golden files. After a wanted change: UPDATE_GOLDENS=1 pytest tests/cli."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from sizewell.cli import changes, decision_text, explain, output
from sizewell.sizing.choose.candidates import Cause, Rejection
from sizewell.sizing.choose.decide import NothingFits
from sizewell.sizing.choose.explain import Change, Effect, Explanation, NextLayout, Part, Scaling
from sizewell.sizing.records.decision import (
    Alternative,
    Bounds,
    Capacity,
    CatalogRef,
    Checkpoint,
    Cost,
    Decision,
    Fallback,
    Guard,
    LineItemRecord,
    Memory,
    Parallelism,
    Performance,
    Pool,
    RejectionGroup,
    Replicas,
    Schedule,
    SpecRef,
    Workload,
)
from sizewell.sizing.records.jobs import Layout

GOLDEN = Path(__file__).parent / "golden"
GIB = 2**30


def bounds(floor: str, expected: str, ceiling: str) -> Bounds:
    return Bounds(floor=Decimal(floor), expected=Decimal(expected), ceiling=Decimal(ceiling))


def pool(**changed: object) -> Pool:
    stated = {
        "role": "replicas",
        "cloud": "aws",
        "region": "us-east-1",
        "zones": ("us-east-1a", "us-east-1b"),
        "instance_type": "g6.xlarge",
        "accelerator": "l4",
        "accelerators_per_node": 1,
        "market": "on-demand",
        "capacity": Capacity(mode="on-demand"),
        "nodes_min": 1,
        "nodes_initial": 1,
        "nodes_max": 3,
        "fallbacks": (Fallback(instance_type="g5.xlarge", region="us-east-1", market="on-demand"),),
        "node_hours_per_month": bounds("730", "1100", "2190"),
        "disk_bytes_per_node": 200 * 10**9,
    }
    return Pool(**{**stated, **changed})  # type: ignore[arg-type]


def serving(**changed: object) -> Workload:
    stated = {
        "spec": SpecRef(name="chat", digest="a" * 64),
        "kind": "inference",
        "pools": (pool(),),
        "replicas": Replicas(min=1, initial=1, max=3, devices_per_replica=1),
        "memory": Memory(
            per_device_bytes=18 * GIB,
            usable_bytes=22 * GIB,
            low_bytes=17 * GIB,
            high_bytes=19 * GIB,
            grade="calibrated",
            breakdown={"weights": 15 * GIB, "kv_cache": 2 * GIB, "context": GIB, "drafts": 0},
        ),
        "performance": Performance(
            metric="requests_per_s_within_slo",
            value=4.76,
            low=3.1,
            high=6.0,
            grade="roofline",
            bottleneck="memory bandwidth",
            figures={"load_share": 0.84, "ttft_s": 0.31, "tpot_s": 0.024, "output_tokens_per_s": 1200},
        ),
        "guard": Guard(
            signal="requests", min_utilization_percent=5, window_s=2700, grace_s=3600, action="scale-to-zero"
        ),
        "schedule": Schedule(
            text="Mon-Fri 07:00-21:00 Europe/London", hours_per_week=Decimal(70), time_zone="Europe/London"
        ),
        "budget": {"usd_per_month": Decimal(800)},
        "line_items": (
            LineItemRecord(
                component="chat",
                what="g6.xlarge, on-demand, us-east-1",
                unit="machine-hour",
                cadence="monthly",
                quantity=bounds("730", "1100", "2190"),
                usd_per_unit=Decimal("0.8048"),
            ),
            LineItemRecord(
                component="chat",
                what="egress to the internet",
                unit="GB",
                cadence="monthly",
                quantity=bounds("0", "40", "80"),
                unpriced="no price for us-east-1",
                confidence="assumed usage",
            ),
        ),
        "cost": Cost(
            one_off=bounds("0", "0", "0"),
            unpriced=("chat: egress to the internet: no price for us-east-1",),
            per_million_tokens_usd=Decimal("0.28"),
        ),
        "alternatives": (
            Alternative(
                cloud="gcp",
                region="us-central1",
                instance_type="g2-standard-4",
                accelerator="l4",
                nodes=2,
                market="on-demand",
                usd_per_month=Decimal("1031.97"),
                why_not="146.69 USD a month more",
            ),
            Alternative(
                cloud="edge",
                region="all",
                instance_type="dgx-spark",
                accelerator="gb10",
                nodes=1,
                market="purchase",
                why_not="edge cannot be provisioned",
            ),
        ),
        "rejections": (
            RejectionGroup(
                cause="memory",
                count=7,
                example="aws/g4dn.xlarge: needs 18.0 GiB per device, 14.6 usable",
                shapes=("aws/g4dn.xlarge",),
            ),
            RejectionGroup(cause="region", count=120, example="azure/Standard_ND96: infra allows aws", shapes=()),
        ),
        "assumptions": ("arrivals at random (Poisson)", "prompts share no prefix"),
    }
    return Workload(**{**stated, **changed})  # type: ignore[arg-type]


def training() -> Workload:
    return serving(
        spec=SpecRef(name="pretrain-of-a-very-long-name-indeed", digest="b" * 64),
        kind="training",
        pools=(
            pool(
                role="workers",
                cloud="azure",
                region="southcentralus",
                zones=(),
                instance_type="Standard_ND96isr_H100_v5",
                accelerator="h100-sxm",
                accelerators_per_node=8,
                market="spot",
                capacity=Capacity(mode="spot"),
                nodes_min=0,
                nodes_initial=4,
                nodes_max=4,
                fallbacks=(),
            ),
        ),
        replicas=None,
        schedule=None,
        budget={"usd_per_run": Decimal(9000)},
        parallelism=Parallelism(tensor=8, data=4, zero_stage=1, gradient_accumulation=16, checkpointing="selective"),
        checkpoint=Checkpoint(store="dev-pretrain", interval_s=1320, keep=4, bytes_each=112 * 10**9),
        performance=Performance(
            metric="run_time_s",
            value=208_000,
            low=190_000,
            high=260_000,
            grade="calibrated",
            bottleneck="compute",
            figures={"step_s": 12.4, "tokens_per_s": 331_000, "mfu": 0.447},
            waterfall={"matrix_products": 9.0, "attention": 2.1, "gradients": 0.8, "pipeline_bubble": 0.5},
        ),
        line_items=(
            LineItemRecord(
                component="pretrain",
                what="Standard_ND96isr_H100_v5, spot, southcentralus",
                unit="machine-hour",
                cadence="monthly",
                quantity=bounds("0", "233.616", "704"),
                usd_per_unit=Decimal("31.25"),
            ),
            LineItemRecord(
                component="pretrain",
                what="reserved block",
                unit="block",
                cadence="once",
                quantity=bounds("1", "1", "1"),
                usd_per_unit=Decimal("9061.63"),
            ),
        ),
        cost=Cost(
            run_rate=bounds("0", "7300.5", "22000"),
            one_off=bounds("9061.63", "9061.63", "9061.63"),
            per_run_usd=Decimal("7300.50"),
        ),
    )


def decision(*workloads: Workload) -> Decision:
    return Decision(
        schema="sizewell.decision/1",
        stack="dev-aws",
        environment="dev",
        decided_on=date(2026, 9, 20),
        owner="search",
        cost_center="c-1",
        catalog=CatalogRef(digest="c" * 64, as_of="2026-09-17"),
        workloads=workloads or (serving(),),
    )


NOTHING = NothingFits(
    workload="big",
    nearest=(
        Rejection(
            cloud="aws",
            instance_type="p6-b200.48xlarge",
            accelerator="b200",
            cause=Cause.MEMORY,
            reason="needs 214.2 GiB per device, 178.6 usable",
            shortfall=1.2,
            relax="allow quantized weights",
        ),
    ),
    relax=("allow quantized weights", "allow more nodes"),
    rejections=(RejectionGroup(cause="memory", count=250, example="", shapes=()),),
)


EXPLAINED = Explanation(
    workload="tune",
    machines="1 x p5.48xlarge (8 x h100-sxm), spot, aws us-east-1",
    memory=(Part(name="weights", value=40.0 * GIB, share=0.8), Part(name="activations", value=10.0 * GIB, share=0.2)),
    used_bytes=50 * GIB,
    high_bytes=55 * GIB,
    usable_bytes=79 * GIB,
    waterfall=(Part(name="matrix_products", value=2.0, share=0.8), Part(name="gradients", value=0.5, share=0.2)),
    bottleneck="compute",
    layout=Layout(data=8, zero_stage=3, micro_batch=4, checkpointing="selective"),
    next_layout=NextLayout(layout=Layout(tensor=2, data=4), step_s=2.6, why_it_loses="4.0% slower"),
    remarks=(),
    half_devices=4,
    half=(
        Change(what="as it is", enough=False, outcome="needs 91.2 GiB per device, 79.1 usable"),
        Change(what="method: lora", enough=True, outcome="fits; the run takes 3.1 h"),
    ),
    scaling=Scaling(devices=8, efficiency=0.55, warning="16 devices reach 55% of the throughput per device of 8"),
    sensitivity=(
        Effect(what="25 % more samples", machines="1 x p5.48xlarge", usd=12.5, change_percent=25.0),
        Effect(what="half the time", machines="", usd=None, change_percent=None),
    ),
    alternatives=serving().alternatives,
    compared=(),
    asked=None,
    machine_types={"choice": 1, "alternative": 5, "dominated": 144, "rejected": 127},
)


def printed(show: Callable[..., None], *arguments: object) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show(output.console(), *arguments)
    return out.getvalue()


@pytest.fixture
def golden(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    monkeypatch.delenv("COLUMNS", raising=False)

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        assert max(map(len, text.splitlines())) <= 100
        if os.environ.get("UPDATE_GOLDENS"):
            path.write_text(text)
        wanted = path.read_text() if path.exists() else ""
        difference = "\n".join(difflib.unified_diff(wanted.splitlines(), text.splitlines(), name, "now", lineterm=""))
        assert not difference, f"{difference}\nif it is wanted: UPDATE_GOLDENS=1 pytest tests/cli/test_tables.py"

    return compare


def test_serving(golden: Callable[[str, str], None]) -> None:
    golden("serving.txt", printed(decision_text.workload_block, serving(), decision()))


def test_training(golden: Callable[[str, str], None]) -> None:
    golden("training.txt", printed(decision_text.workload_block, training(), decision()))


def test_summary(golden: Callable[[str, str], None]) -> None:
    rows = [(serving(), "chat"), (training(), "pretrain"), (None, "big: nothing fits")]
    golden("summary.txt", printed(decision_text.summary, rows))


def test_nothing_fits(golden: Callable[[str, str], None]) -> None:
    golden("nothing_fits.txt", printed(decision_text.nothing_fits, NOTHING))


def test_explanation(golden: Callable[[str, str], None]) -> None:
    golden("explanation.txt", printed(explain.show, EXPLAINED))


def test_bars_fill_what_is_usable() -> None:
    lines = decision_text.bars({"weights": 30 * GIB, "kv": 10 * GIB}, 80 * GIB)
    assert [line.count("█") for line in lines[:2]] == [round(decision_text.BAR * 3 / 8), round(decision_text.BAR / 8)]
    assert lines[-1].split()[:2] == ["free", "40.00"]
    assert sum(line.count("█") + line.count("░") for line in lines) in range(
        decision_text.BAR - 1, decision_text.BAR + 2
    )


def test_waterfall_falls_without_gap() -> None:
    lines = decision_text.waterfall({"compute": 6.0, "network": 3.0, "bubble": 3.0})
    starts = [len(line) - line.count("█") for line in lines]
    ends = [len(line) for line in lines]
    assert starts[1:] == ends[:-1]


def test_changes_between_decisions() -> None:
    before = decision()
    assert changes.changes(before, before) == []
    assert changes.changes(before, before.model_copy(update={"catalog": CatalogRef(digest="d", as_of="x")})) == []
    more = serving(pools=(pool(nodes_max=9),))
    assert changes.changes(before, decision(more)) == [
        "chat: 1..3 x g6.xlarge on-demand in aws us-east-1 would become 1..9 x g6.xlarge on-demand in aws us-east-1"
    ]
    assert changes.changes(before, decision(training())) == [
        "chat: would be removed",
        "pretrain-of-a-very-long-name-indeed: would be added",
    ]
    slower = serving(performance=serving().performance.model_copy(update={"value": 4.5}))
    assert changes.changes(before, decision(slower)) == ["chat: performance.value: 4.76 would become 4.5"]
    other = serving(assumptions=("arrivals at random (Poisson)", "two prompts in three share a prefix"))
    assert changes.changes(before, decision(other)) == [
        "chat: assumptions: without: prompts share no prefix",
        "chat: assumptions: with: two prompts in three share a prefix",
    ]
    assert changes.changes(before, before.model_copy(update={"owner": "x"})) == ["owner: search would become x"]
