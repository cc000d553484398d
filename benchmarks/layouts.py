"""The layout search over the whole catalog: a 405B model up to 16,384 devices, a 7B fine-tuning, a thousand jobs.

The searches use one core and no threads, so that processor time is what they take on a core of their own; wall time is
printed beside it. Seen on 2026-11-21 on two cores with six other processes, processor time, least and median: 7B 32 and
45 ms (before layouts' memory was worked out as columns: 37 and 64), 405B 0.76 and 0.86 s (0.84 and 0.88). The same day
with the two cores to itself, two runs: 7B 37 and 54 ms on the clock, 46 and 44 ms of processor time; 405B 0.77 and
0.83 s on the clock; 1,000 jobs 48 and 53 s; 147 MiB.
"""

from __future__ import annotations

import time
from dataclasses import replace

from benchmarks.measure import median_s, peak_memory_bytes, report
from sizewell.sizing import catalog
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.predict.layouts.search import LayoutRefusal, search_all
from sizewell.sizing.predict.layouts.space import space
from sizewell.sizing.records.jobs import Cluster, TrainingJob

LLAMA_405B = Architecture(
    key="llama-405b", layers=126, hidden=16384, heads=128, kv_heads=8, head_dim=128, ffn=53248, vocab=128256
)
MISTRAL_7B = Architecture(
    key="mistral-7b", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=32000
)
DEVICES_MAX = 16_384


def clusters(devices_max: int) -> list[Cluster]:
    """Every shape of the catalog with accelerators that train, in every power of two of machines, each once."""
    facts = catalog.load()
    found: dict[tuple[object, ...], Cluster] = {}
    for shape in facts.shapes:
        if not shape.accelerator:
            continue
        accelerator = facts.accelerators[shape.accelerator]
        if not (accelerator.flop_per_s.get("bf16") or accelerator.flop_per_s.get("fp16")):
            continue
        network = shape.network_bytes_per_s / shape.accelerators if shape.network_bytes_per_s else None
        nodes = 1
        while nodes * shape.accelerators <= devices_max:
            devices = nodes * shape.accelerators
            scale_up = min(max(1, shape.scale_up), devices)
            key = (accelerator.key, shape.accelerators, nodes, scale_up, network, shape.fabric)
            found[key] = Cluster(
                accelerator=accelerator,
                per_node=shape.accelerators,
                nodes=nodes,
                scale_up=scale_up,
                link_bytes_per_s=accelerator.link_bytes_per_s,
                network_bytes_per_s=network,
                fabric=shape.fabric,
            )
            nodes *= 2
    return list(found.values())


def main() -> bool:
    """Print each figure against its limit; True when one is missed."""
    pretrain = TrainingJob(architecture=LLAMA_405B, sequence_length=8192, global_batch=2048, engine="megatron")
    tune = TrainingJob(architecture=MISTRAL_7B, method="full", sequence_length=4096, global_batch=64)
    every = clusters(DEVICES_MAX)
    single = [cluster for cluster in every if cluster.nodes == 1]
    legal = sum(len(space(pretrain, c.devices, c.scale_up, max(c.scale_up, c.per_node))) for c in every)
    fits = sum(not isinstance(answer, LayoutRefusal) for answer in search_all(pretrain, every))
    missed = False
    print(f"   405B: {len(every)} clusters, {legal:,} layouts; {fits} clusters hold it")
    for clock, kind in ((time.perf_counter, "wall"), (time.process_time, "processor")):
        large = median_s(lambda: search_all(pretrain, every), clock=clock)
        small = median_s(lambda: search_all(tune, single), runs=21, clock=clock) * 1e3
        missed |= report(f"405B over the catalog up to 16,384 devices, {kind}", large, 1.0, "s")
        missed |= report(f"7B fine-tuning over {len(single)} machines, {kind}", small, 50.0, "ms")
    started, busy = time.perf_counter(), time.process_time()
    for i in range(1000):
        search_all(replace(tune, sequence_length=1024 * (1 + i % 8), global_batch=64 * (1 + i // 8)), single)
    what = "1,000 fine-tuning jobs over the same machines"
    missed |= report(f"{what}, one process, wall", time.perf_counter() - started, 60.0, "s")
    missed |= report(f"{what}, processor", time.process_time() - busy, 60.0, "s")
    missed |= report("peak memory", peak_memory_bytes() / 2**20, 300.0, "MiB")
    return missed


if __name__ == "__main__":
    main()
