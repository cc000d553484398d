"""The table of docs/concepts/memory.md is what is predicted and what PyTorch counted of that run."""

from __future__ import annotations

import json
from pathlib import Path

from sizewell.sizing import catalog
from sizewell.sizing.predict.memory import training_memory
from sizewell.sizing.records.jobs import Layout, TrainingJob
from sizewell.sizing.units import GIB

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
