"""What MLPerf's training rules fix and its logs leave out: samples per epoch, evaluations, lengths, model shapes.

Rules: mlcommons/training_policies training_rules.adoc (evaluation frequency and size), reference implementations in
mlcommons/training (shapes, data sets), as remembered; each figure is marked in `source` of the model it makes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.records.jobs import Layout, TrainingJob

REFERENCE = "mlcommons/training reference implementation (from memory)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One run to accuracy: how many samples it takes and how much is evaluated on the way."""

    samples: float
    sequence_length: int = 0
    evaluate_every: float = 0.0  # samples
    evaluate_on: float = 0.0  # samples
    skip_evaluations: int = 0
    lora_targets: tuple[str, ...] = ()
    forward_flop_per_sample: float | None = None  # where the benchmark trains at another resolution than the model's

    def run_s(self, samples_per_s: float, job: TrainingJob, layout: Layout) -> float:
        """Seconds to accuracy; evaluating a sample costs its forward pass, a third of training it (half with LoRA)."""
        forward = 1 / 2 if job.method in ("lora", "qlora") else 1 / 3
        evaluations = 0.0
        if self.evaluate_every:
            evaluations = max(0.0, self.samples / self.evaluate_every - self.skip_evaluations)
        at_once = layout.data * layout.micro_batch
        extra = math.ceil(self.evaluate_on / at_once) * at_once if at_once < 4 * self.evaluate_on else self.evaluate_on
        return (self.samples + forward * evaluations * extra) / samples_per_s


def benchmark(case: Mapping[str, Any]) -> Benchmark | None:
    """The rules of the case's benchmark, with the samples that its runs took; None for anything but time to train."""
    runs = case["also"].get("samples_to_converge_runs")
    if case["metric"] != "time_to_train_min" or not runs:
        return None
    runs = sorted(float(run) for run in runs)
    kept = runs[1:-1] if len(runs) > 4 else runs
    count = sum(kept) / len(kept)
    name = case["model"]["name"].lower()
    batch = float(case["workload"].get("global_batch") or 1)
    if "gpt-3" in name:
        return Benchmark(samples=count / 2048, sequence_length=2048, evaluate_every=24576, evaluate_on=5760)
    if "405b" in name:
        return Benchmark(samples=count, sequence_length=8192, evaluate_every=46080, evaluate_on=5760)
    if "8b" in name:
        return Benchmark(samples=count, sequence_length=8192, evaluate_every=12288, evaluate_on=1024)
    if "70b" in name:
        skipped = math.floor(0.125 * batch + 2)
        return Benchmark(
            samples=count,
            sequence_length=8192,
            evaluate_every=384,
            evaluate_on=173,
            skip_evaluations=skipped,
            lora_targets=("q", "k", "v", "o"),
        )
    if "bert" in name:
        every = 0.05 * (230.23 * batch + 3_000_000)
        return Benchmark(samples=count, sequence_length=256, evaluate_every=every, evaluate_on=10000)
    if "resnet" in name:
        return Benchmark(samples=count * 1_281_167, evaluate_every=4 * 1_281_167, evaluate_on=50000)
    if "retinanet" in name or "ssd" in name:
        return Benchmark(samples=count * 1_170_301, evaluate_every=1_170_301, evaluate_on=24781)
    if "flux" in name:
        # 256 x 256: 256 image and 256 text tokens through 8.9 B parameters each, as the streams have their own.
        return Benchmark(
            samples=count, evaluate_every=262_144, evaluate_on=29696, forward_flop_per_sample=2 * 512 * 8.9e9
        )
    return Benchmark(samples=count)


def known_model(name: str) -> Architecture | None:
    """Shape of a model that cases name without its dimensions."""
    text = name.lower()
    for word, a in KNOWN:
        if word in text:
            return a
    return None


NEMO = "NVIDIA/NeMo recipe of that name (from memory)"
LEVANTER = "stanford-crfm/levanter config of that size (from memory)"
CHECKED = "2026-11-21"


def _decoder(key: str, source: str, *, layers: int, hidden: int, heads: int, vocab: int) -> Architecture:
    """A GPT: plain feed-forward of four times the width, as many KV heads as heads."""
    return Architecture(
        key=key,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        ffn=4 * hidden,
        gated=False,
        vocab=vocab,
        source=source,
        checked=CHECKED,
    )


KNOWN: tuple[tuple[str, Architecture], ...] = (
    (
        "bert-large",
        Architecture(
            key="bert-large",
            kind="encoder",
            layers=24,
            hidden=1024,
            heads=16,
            kv_heads=16,
            head_dim=64,
            ffn=4096,
            gated=False,
            vocab=30522,
            tied_embeddings=True,
            biases="all",
            learned_positions=512,
            max_sequence_length=512,
            source=REFERENCE,
            checked=CHECKED,
        ),
    ),
    ("gpt3-5b", _decoder("gpt3-5b", NEMO, layers=24, hidden=4096, heads=32, vocab=51200)),
    ("nemotron-8b", _decoder("nemotron-8b", NEMO, layers=32, hidden=4096, heads=32, vocab=256000)),
    ("nemotron-22b", _decoder("nemotron-22b", NEMO, layers=40, hidden=6144, heads=48, vocab=256000)),
    ("gpt-2-style-345m", _decoder("gpt2-345m", LEVANTER, layers=24, hidden=1024, heads=16, vocab=50257)),
    ("gpt-2-style-6.7b", _decoder("gpt2-6.7b", LEVANTER, layers=32, hidden=4096, heads=32, vocab=50257)),
    ("gpt-2-style-13b", _decoder("gpt2-13b", LEVANTER, layers=40, hidden=5120, heads=40, vocab=50257)),
)
