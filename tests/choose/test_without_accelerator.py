"""Machines without accelerators: when they are the choice, what a decision says of them, and what they refuse."""

from __future__ import annotations

import pytest

from sizewell.sizing.catalog import Catalog
from sizewell.sizing.choose.candidates import Cause
from sizewell.sizing.choose.choice import Sizing
from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.records.decision import Decision, Workload

from .conftest import ON, spec

CPU = {"accelerators": ["cpu"]}
TAGS = {"model": "bert-base-uncased", "traffic": {"rps": 2, "input_tokens": 128}, "slo": {"latency": "300ms"}}
PHOTOS = {"model": "resnet50", "traffic": {"rps": 3, "images": {"resolution": 224}}, "slo": {"latency": "300ms"}}
TALK = {
    "model": {"name": "meta-llama/Llama-3.2-1B", "weights": "int4"},
    "traffic": {"rps": 0.05, "input_tokens": 200, "output_tokens": 100},
    "slo": {"ttft": "10s", "tpot": "250ms"},
}


def chosen(facts: Catalog, **keys: object) -> Workload:
    answer = decide([spec(**{"kind": "inference", **keys})], facts, stack="dev-gcp", on=ON)
    assert isinstance(answer, Decision), str(answer)
    return answer.workloads[0]


def sized(facts: Catalog, **keys: object) -> Sizing:
    return size_one(spec(**{"kind": "inference", **keys}), facts, stack="", on=ON)


@pytest.mark.parametrize(
    ("work", "engine", "weights"),
    [(TAGS, "text-embeddings-inference", "fp32"), (PHOTOS, "triton", "fp32"), (TALK, "llama.cpp", "int4")],
    ids=["classifier", "photos", "chat"],
)
def test_small_models_are_served_without_an_accelerator(
    facts: Catalog, work: dict[str, object], engine: str, weights: str
) -> None:
    record = chosen(facts, **work, resources=CPU)
    pool = record.pools[0]
    assert (pool.accelerator, pool.accelerators_per_node) == ("", 0)
    assert record.guard is None
    assert record.scheduler == "kubernetes"
    assert record.task is not None
    assert record.task.weights == weights
    assert record.performance.grade == "roofline"
    assert record.memory.per_device_bytes <= record.memory.usable_bytes
    said = " / ".join(record.assumptions)
    assert f"no accelerator: {engine} on " in said
    assert "run by vllm" not in said


def test_a_rare_classifier_takes_the_cheaper_machine_without_one(facts: Catalog) -> None:
    """Named for nothing: three photos a second are no work for a GPU, and the price says so."""
    record = chosen(facts, **PHOTOS)
    assert record.pools[0].accelerator == ""
    assert any(other.accelerator for other in record.alternatives)


def test_more_load_never_takes_fewer_machines(facts: Catalog) -> None:
    """Doubling the traffic up to what is searched: more or larger machines, never less money, then a limit by name."""
    before = 0.0
    for doubling in range(0, 18, 3):
        load = {**PHOTOS["traffic"], "rps": 3 * 2**doubling}  # type: ignore[dict-item]
        answer = decide(
            [spec(kind="inference", **{**PHOTOS, "traffic": load}, resources=CPU)], facts, stack="dev-gcp", on=ON
        )
        if isinstance(answer, NothingFits):
            assert "nodes, one pool has at most" in str(answer)
            return
        record = answer.workloads[0]
        assert record.performance.value >= 3 * 2**doubling
        assert record.performance.value >= before
        before = record.performance.value


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"model": "black-forest-labs/FLUX.1-schnell", "traffic": {"rps": 1}}, "serves diffusion models without"),
        ({"model": "openai/whisper-large-v3", "traffic": {"rps": 1}}, "serves speech without an accelerator"),
        ({**TALK, "model": {"name": "meta-llama/Llama-3.2-1B", "weights": "fp8"}}, "fp8 weights of decoder models"),
        ({**TAGS, "model": {"name": "bert-base-uncased", "weights": "int4"}}, "int4 weights of encoder models"),
        ({**TALK, "engine": "sglang"}, "sglang has no release for machines without accelerators"),
        ({**TALK, "engine": "tensorrt-llm"}, "tensorrt-llm has no release for machines without accelerators"),
        ({**TAGS, "scheduler": "none"}, "serve in Kubernetes only, and scheduler is none"),
    ],
)
def test_what_cannot_run_there_is_refused_by_name(facts: Catalog, keys: dict[str, object], reason: str) -> None:
    sizing = sized(facts, **keys, resources={"instance_type": "m7i.4xlarge"})
    why = next(r for r in sizing.rejections if r.instance_type == "m7i.4xlarge")
    assert why.cause in (Cause.RUNTIME, Cause.ACCELERATOR)
    assert reason in why.reason


@pytest.mark.parametrize(
    ("keys", "rule", "way"),
    [
        ({**TAGS, "scheduler": "none", "infra": ["aws"]}, "serve in Kubernetes only, and scheduler is none", "scheduler: kubernetes"),
        ({**TAGS, "scheduler": "slurm"}, "serve in Kubernetes only, and scheduler is slurm", "scheduler: kubernetes"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wish", [{"accelerators": ["cpu"]}, {"instance_type": "m7i.4xlarge"}])
def test_the_rule_that_keeps_work_from_processors_is_named(
    facts: Catalog, keys: dict[str, object], rule: str, way: str, wish: dict[str, object]
) -> None:
    """Seen with cpu and scheduler none: the nearest were a Gaudi machine and another cloud, and "widen resources"."""
    answer = decide([spec(**{"kind": "inference", **keys, "resources": wish})], facts, stack="", on=ON)
    assert isinstance(answer, NothingFits)
    assert rule in answer.nearest[0].reason
    assert any(way in line for line in answer.relax), answer.relax


def test_batches_that_ask_for_processors_are_told_that_they_need_accelerators(facts: Catalog) -> None:
    batch = {"records": "1M", "window": "8h"}
    one = spec(kind="batch-inference", model="resnet50", batch=batch, resources={"accelerators": ["cpu"]})
    answer = decide([one], facts, stack="", on=ON)
    assert isinstance(answer, NothingFits)
    assert "batch-inference is sized for accelerators only" in answer.nearest[0].reason
    assert "leave cpu out of resources.accelerators" in answer.relax


def test_work_of_other_kinds_stays_with_accelerators(facts: Catalog) -> None:
    night = size_one(
        spec(kind="batch-inference", model="resnet50", batch={"records": "1M", "window": "8h"}), facts, stack="", on=ON
    )
    why = next(r for r in night.rejections if r.instance_type == "m7i.xlarge")
    assert why.reason == "has no accelerator; batch-inference is sized for accelerators only"
    shared = next(r for r in night.rejections if r.instance_type == "e2-standard-4")
    assert "its processor is not fixed" in shared.reason


def test_every_machine_type_has_its_verdict(facts: Catalog) -> None:
    sizing = sized(facts, **TAGS)
    tried = {(c.shape.cloud, c.shape.instance_type) for c in sizing.trial.candidates}
    refused = {(r.cloud, r.instance_type) for r in sizing.trial.rejections}
    assert not tried & refused
    assert len(tried) + len(refused) == len(facts.shapes)


def test_where_there_is_no_capacity_the_same_kind_of_machine_stands_in(facts: Catalog) -> None:
    """The run's image and engine are for processors: no GPU takes over."""
    record = chosen(facts, **TAGS)
    kinds = {facts.shape("gcp", other.instance_type).accelerator for other in record.pools[0].fallbacks}
    assert record.pools[0].accelerator == ""
    assert kinds <= {""}
    assert record.memory.grade == "roofline"
