"""A thousand different specs through `sizewell size`, as a user sweeps them: files in, one decision each out.

Memory is that of all processes together (pages that they share count once), processor time too: wall time says little
where others share the cores. Seen on 2026-11-21 on two cores that at least four other processes wanted too: 160 s of
wall time, 111 s of processor time, 230 MiB in four processes. The same day with the two cores to itself, two runs: 53
and 54 s of wall time, 99 and 102 s of processor time, 239 MiB.
"""

from __future__ import annotations

import itertools
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
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
        command = [sys.executable, "-m", "sizewell.cli.main", "size", "--on", "2026-11-20", *map(str, paths)]
        before, started = processor_s(), time.monotonic()
        with (Path(folder) / "out").open("w+", encoding="utf-8") as out:
            sweep = subprocess.Popen(command, cwd=ROOT, stdout=out)
            peak_bytes, processes = 0, 1
            while sweep.poll() is None:
                some = family(sweep.pid)
                peak_bytes = max(peak_bytes, sum(map(pss_bytes, some)))
                processes = max(processes, len(some))
                time.sleep(0.5)
            seconds = time.monotonic() - started
            out.seek(0)
            lines = out.read().splitlines()
    if sweep.returncode not in (0, 2, 3, 5):
        return 1
    nowhere = sum("nothing fits" in line for line in lines)
    print(f"exit {sweep.returncode}, {len(lines)} lines, {nowhere} nothing fits, {processes} processes")
    missed = report(f"sizewell size of {COUNT} specs, wall", seconds, LIMIT_S, "s")
    report(
        f"processor time of all its processes, {len(os.sched_getaffinity(0))} cores", processor_s() - before, 120, "s"
    )
    return int(
        missed | report("memory of all its processes together, at the peak", peak_bytes / 2**20, LIMIT_MIB, "MiB")
    )


def processor_s() -> float:
    """Of all children so far, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def family(pid: int) -> list[int]:
    """A process and all that it started, and those."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def pss_bytes(pid: int) -> int:
    """Memory of a process; pages that it shares count by its share."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    sys.exit(main())
