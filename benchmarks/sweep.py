"""A thousand different specs through `sizewell size`, as a user sweeps them: files in, one decision each out."""

from __future__ import annotations

import itertools
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.measure import ROOT, report

COUNT = 1000
LIMIT_S = 60.0
LIMIT_MIB = 300.0
CHAT = ("meta-llama/Llama-3.1-8B", "mistralai/Mistral-7B-v0.1", "Qwen/Qwen2.5-14B", "meta-llama/Llama-3.1-70B")
SEED = 7


def specs(count: int = COUNT) -> Iterator[dict[str, Any]]:
    """Specs that no two are alike of: serving, batches, fine-tuning, pre-training and notebooks, by turns."""
    draw = random.Random(SEED)
    makers = itertools.cycle((_chat, _tune, _vision, _chat, _night, _tune, _notebook, _chat, _pretrain, _images))
    for number, make in zip(range(count), makers, strict=False):
        yield {"name": f"sweep-{number:04}", **make(draw, number)}


def _chat(draw: random.Random, number: int) -> dict[str, Any]:
    model = CHAT[number % len(CHAT)]
    return {
        "kind": "inference",
        "model": {"name": model, "weights": draw.choice(["bf16", "fp8", "int4"])},
        "traffic": {
            "rps": round(draw.uniform(0.1, 40), 2),
            "input_tokens": draw.randrange(100, 3200),
            "output_tokens": draw.randrange(20, 800),
        },
        "slo": {"ttft": f"{draw.randrange(400, 3000)}ms", "tpot": f"{draw.randrange(40, 200)}ms"},
    }


def _tune(draw: random.Random, number: int) -> dict[str, Any]:
    method = draw.choice(["full", "lora", "qlora"])
    return {
        "kind": "fine-tuning",
        "model": {"name": CHAT[number % 3], "precision": "bf16"},
        "training": {
            "method": method,
            "samples": draw.randrange(5_000, 200_000),
            "sequence_length": draw.choice([512, 1024, 2048, 4096]),
            "global_batch": draw.choice([16_384, 65_536, 131_072]),
        },
        "deadline": f"{draw.randrange(1, 10)}d",
    }


def _pretrain(draw: random.Random, _: int) -> dict[str, Any]:
    billions = draw.choice([1, 3, 7, 13])
    layers, hidden = {1: (16, 2048), 3: (28, 3072), 7: (32, 4096), 13: (40, 5120)}[billions]
    return {
        "kind": "training",
        "model": {"params": f"{billions}B", "layers": layers, "hidden": hidden, "heads": hidden // 128, "vocab": 32000},
        "training": {
            "tokens": f"{draw.randrange(2, 60)}B",
            "sequence_length": draw.choice([2048, 4096]),
            "global_batch": "1M",
        },
        "deadline": f"{draw.randrange(5, 30)}d",
    }


def _vision(draw: random.Random, _: int) -> dict[str, Any]:
    return {
        "kind": "inference",
        "model": {"name": "resnet-50", "precision": "fp16"},
        "traffic": {"rps": draw.randrange(1, 5000), "images": {"resolution": draw.choice([224, 336])}},
        "slo": {"latency": f"{draw.randrange(50, 500)}ms"},
    }


def _night(draw: random.Random, number: int) -> dict[str, Any]:
    return {
        "kind": "batch-inference",
        "model": {"name": CHAT[number % 3], "weights": "fp8"},
        "batch": {
            "records": f"{draw.randrange(1, 50)}M",
            "tokens_per_record": draw.randrange(100, 800),
            "window": f"{draw.randrange(4, 20)}h",
        },
    }


def _images(draw: random.Random, _: int) -> dict[str, Any]:
    return {
        "kind": "training",
        "model": "resnet-50",
        "training": {
            "samples": f"{draw.randrange(1, 40)}M",
            "epochs": draw.randrange(5, 50),
            "global_batch": draw.choice([1024, 4096]),
            "images": {"resolution": 224},
        },
        "deadline": f"{draw.randrange(1, 8)}d",
    }


def _notebook(draw: random.Random, number: int) -> dict[str, Any]:
    gib = draw.choice([16, 24, 40, 80])
    return {"kind": "notebook", "resources": {"gpu": f"{gib}GB..", "nodes": 1}, "utilization": f"{5 + number % 60}%"}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for one in specs():
            paths.append(Path(folder) / f"{one['name']}.yaml")
            paths[-1].write_text(yaml.safe_dump(one), encoding="utf-8")
        command = [sys.executable, "-m", "cli.main", "size", "--on", "2026-11-20", *map(str, paths)]
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - started
    if done.returncode not in (0, 3, 5):
        print(done.stderr[-2000:])
        return 1
    kinds = Counter("nothing fits" if "nothing fits" in line else "sized" for line in done.stdout.splitlines())
    print(f"exit {done.returncode}, {len(done.stdout.splitlines())} lines, {kinds['nothing fits']} nothing fits")
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    missed = report(f"sizewell size of {COUNT} specs", seconds, LIMIT_S, "s")
    return int(missed | report(f"memory of sizewell size of {COUNT} specs", peak_mib, LIMIT_MIB, "MiB"))


if __name__ == "__main__":
    sys.exit(main())
