"""The tables of docs/concepts/memory.md are what is predicted and what PyTorch counted of those runs."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest

from sizewell.accuracy.cases import Case
from sizewell.accuracy.predict import predict
from sizewell.sizing import catalog
from sizewell.sizing.predict.memory import training_memory
from sizewell.sizing.records.jobs import Layout, TrainingJob
from sizewell.sizing.units import GIB
from tools.carry_cases import compact, measured

ROOT = Path(__file__).parents[2]
CASE = "qwen2.5-1.5b-full-fp32-adamw_torch_fused-s512-b1-gc-a1"


def rows() -> list[str]:
    lines = (ROOT / "benchmarks/measured/trainer_h100.jsonl").read_text(encoding="utf-8").splitlines()
    run = next(each for each in map(json.loads, lines) if each["case"] == CASE)
    step = run["steps"][-1]
    facts = catalog.load()
    job = TrainingJob(
        architecture=facts.model("Qwen/Qwen2.5-1.5B"), method="full", weights="fp32", sequence_length=512, global_batch=1,
        engine="transformers", checkpointing="full",
    )  # fmt: skip
    memory = training_memory(job, Layout(checkpointing="full"), facts.accelerators["h100-sxm"])
    parts = dict(memory.breakdown)
    made = sum(parts.get(name, 0) for name in ("gradients", "activations", "logits and loss", "buffers"))
    counted = {
        "weights": (parts["weights"], run["weights_bytes"]),
        "optimizer": (parts["optimizer"], step["before"] - run["weights_bytes"]),
        "gradients, activations and copies at the peak": (made, step["forward_backward_peak"] - step["before"]),
        "kept by the allocator": (parts["allocator"], step["reserved"] - step["forward_backward_peak"]),
        "context": (parts["context"], step["device"] - step["reserved"]),
        "in all": (memory.total_bytes, step["device"]),
    }
    return [f"| {name} | {ours / GIB:.2f} | {theirs / GIB:.2f} |" for name, (ours, theirs) in counted.items()]


def test_the_page_has_todays_figures():
    page = (ROOT / "docs/concepts/memory.md").read_text(encoding="utf-8")
    assert [row for row in rows() if row not in page] == []


GROUPS = {"full": "all weights", "lora": "LoRA", "qlora": "QLoRA", "trl": "TRL: SFT, DPO, KTO, reward"}


def of_unseen() -> dict[str, list[tuple[str, float, bool]]]:
    """By group and quantity of the runs that no fit has seen: error, and whether the band holds the measurement."""
    path = ROOT / "benchmarks/measured/unseen_h100.jsonl"
    by = {run["case"]: run for run in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    found: dict[str, list[tuple[str, float, bool]]] = {}
    for row in measured(path, "unseen-h100"):
        case = Case(compact(row))
        run, answer = by[case.id.removeprefix("h100-").removesuffix("-s")], predict(case)
        assert not isinstance(answer, str), (case.id, answer)
        group = run["method"] if run["by"] == "trainer" else "trl"
        inside = answer.low <= row["value"] <= answer.high
        found.setdefault(group, []).append((row["unit"], answer.value / row["value"] - 1, inside))
    return found


def unseen_rows() -> list[str]:
    made = []
    for group, name in GROUPS.items():
        cells = [name]
        for unit in ("GB", "s"):
            errors = [(error, inside) for of, error, inside in of_unseen()[group] if of == unit]
            cells += [str(len(errors))] if unit == "GB" else []
            cells += [f"{median(abs(error) for error, _ in errors):.1%}".replace("%", " %")]
            cells += [f"{median(error for error, _ in errors):+.1%}".replace("%", " %")]
            cells += [f"{sum(inside for _, inside in errors)} of {len(errors)}"]
        made.append(f"| {' | '.join(cells)} |")
    return made


def test_the_page_has_the_errors_of_the_runs_that_no_fit_has_seen():
    page = (ROOT / "docs/concepts/memory.md").read_text(encoding="utf-8")
    assert [row for row in unseen_rows() if row not in page] == []


@pytest.mark.parametrize(("group", "most"), [("full", 0.08), ("lora", 0.03), ("qlora", 0.03), ("trl", 0.03)])
def test_memory_of_runs_that_no_fit_has_seen_is_predicted(group, most):
    assert median(abs(error) for unit, error, _ in of_unseen()[group] if unit == "GB") <= most


def test_unpacking_of_weights_in_four_bits_is_in_the_time_of_a_step():
    assert median(abs(error) for unit, error, _ in of_unseen()["qlora"] if unit == "s") <= 0.2
