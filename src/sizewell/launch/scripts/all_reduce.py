"""Burn-in of a cluster's links: an all-reduce over all devices, timed, against what the machines should reach.

Started by torchrun or srun on every machine: `torchrun ... all_reduce.py --bytes 4294967296 --least 240e9`. It sums a
tensor of ones, so that a wrong answer is seen as well as a slow one, and prints one line of JSON by the first rank.
Exit code 0: as fast as asked for and right; 1: too slow; 2: a wrong sum. On CPUs it runs over gloo.

Bus bandwidth is what nccl-tests call it: bytes / seconds x 2 (n - 1) / n, the rate that each link has to carry
(github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time


def bus_bytes_per_s(payload_bytes: float, seconds: float, ranks: int) -> float:
    """Rate on each link, of an all-reduce of `payload_bytes` over `ranks`.

    >>> bus_bytes_per_s(8e9, 0.02, 8)
    700000000000.0
    """
    return payload_bytes / seconds * 2 * (ranks - 1) / ranks


def verdict(*, seconds: list[float], payload_bytes: int, ranks: int, least: float, right: bool) -> dict[str, object]:
    """What is printed: the median round counts, so that one hiccup does not fail a machine."""
    middle = statistics.median(seconds)
    rate = bus_bytes_per_s(payload_bytes, middle, ranks) if ranks > 1 else 0.0
    return {
        "ranks": ranks,
        "bytes": payload_bytes,
        "rounds": len(seconds),
        "seconds": middle,
        "slowest_seconds": max(seconds),
        "bus_bytes_per_s": rate,
        "least_bytes_per_s": least,
        "right": right,
        "passed": right and (ranks == 1 or rate >= least),
    }


def exit_code(outcome: dict[str, object]) -> int:
    return 0 if outcome["passed"] else 1 if outcome["right"] else 2


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="all-reduce over all ranks, timed")
    parser.add_argument("--bytes", type=int, default=2**32, help="of the tensor on each rank")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.0, help="bus bytes per second that pass")
    return parser.parse_args(words)


def main() -> int:
    import torch
    import torch.distributed as dist

    args = arguments()
    local = int(os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID", "0")))
    for ours, slurms in (("RANK", "SLURM_PROCID"), ("WORLD_SIZE", "SLURM_NTASKS")):
        os.environ.setdefault(ours, os.environ.get(slurms, "0" if ours == "RANK" else "1"))
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", local) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpu else "gloo")
    ranks = dist.get_world_size()
    tensor = torch.empty(args.bytes // 4, dtype=torch.float32, device=device)
    seconds, right = [], True
    for number in range(args.warm_up + args.rounds):
        tensor.fill_(1)
        dist.barrier()
        if gpu:
            torch.cuda.synchronize()
        start = time.perf_counter()
        dist.all_reduce(tensor)
        if gpu:
            torch.cuda.synchronize()
        if number >= args.warm_up:
            seconds.append(time.perf_counter() - start)
        right = right and bool((tensor[:: max(1, tensor.numel() // 1000)] == ranks).all())
    slowest = torch.tensor([*seconds, 0.0 if right else 1.0], dtype=torch.float64 if not gpu else torch.float32)
    slowest = slowest.to(device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)  # the last rank to be ready ends a round
    *rounds, wrong = slowest.tolist()
    outcome = verdict(seconds=rounds, payload_bytes=tensor.numel() * 4, ranks=ranks, least=args.least, right=not wrong)
    if dist.get_rank() == 0:
        print(json.dumps(outcome), flush=True)
    dist.destroy_process_group()
    return exit_code(outcome)


if __name__ == "__main__":
    sys.exit(main())
