"""Train a causal language model on Trainium with PyTorch/XLA: data parallelism, optimizer state sharded over it
(ZeRO-1).

The model, its data and the loop are those of `train_fsdp.py`. The trained weights lie one after another in one flat
row, of which each process keeps its share in fp32 with AdamW's state: gradients are scattered onto the shares, the
share is updated, the new weights are gathered. All of it is in one graph of XLA, into which the learning rate goes as a
tensor, since a number would be compiled in. Without torch_xla it runs on CPU over gloo: that is how it is tried.
"""

from __future__ import annotations

import os
import sys

import run
import torch
import torch.distributed as dist
from checkpoint import Block
from data import open_samples
from run import Settings, WrongInputError
from store import Store
from torch import nn
from torch.nn.functional import cross_entropy
from train_fsdp import TorchComm, build, from_numpy, to_numpy

BETA1, BETA2, EPS = 0.9, 0.95, 1e-8


class Cpu:
    """Processes on CPU, over gloo."""

    kind = "cpu"

    def __init__(self) -> None:
        self.device = torch.device("cpu")

    def scatter_sum(self, row: torch.Tensor, share: int) -> torch.Tensor:
        """The `share` values of this process in the sum of everybody's row."""
        mine = torch.empty(share, dtype=row.dtype, device=row.device)
        dist.reduce_scatter_tensor(mine, row)
        return mine

    def gather(self, mine: torch.Tensor, size: int) -> torch.Tensor:
        """Everybody's shares as one row."""
        row = torch.empty(mine.numel() * size, dtype=mine.dtype, device=mine.device)
        dist.all_gather_into_tensor(row, mine)
        return row

    def sum(self, value: torch.Tensor) -> torch.Tensor:
        dist.all_reduce(value)
        return value

    def mark(self) -> None:
        """The end of a graph."""


class Neuron(Cpu):
    """NeuronCores, by torch_xla."""

    kind = "xla"

    def __init__(self) -> None:
        import torch_xla
        import torch_xla.core.xla_model as xm

        self._xm, self._xla = xm, torch_xla
        self.device = torch_xla.device()

    def scatter_sum(self, row: torch.Tensor, share: int) -> torch.Tensor:
        return self._xm.reduce_scatter(self._xm.REDUCE_SUM, row, 1.0, 0, row.numel() // share)

    def gather(self, mine: torch.Tensor, size: int) -> torch.Tensor:  # noqa: ARG002 - XLA knows how many there are
        return self._xm.all_gather(mine, dim=0)

    def sum(self, value: torch.Tensor) -> torch.Tensor:
        return self._xm.all_reduce(self._xm.REDUCE_SUM, value)

    def mark(self) -> None:
        self._xla.sync()


class NeuronJob:
    """The model, this process's share of weights and optimizer state, and the data."""

    def __init__(self, settings: Settings, devices: Cpu) -> None:
        s = self.settings = settings
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        if s.tensor > 1 or s.shard_group:
            raise WrongInputError(
                f"tensor {s.tensor}, shard_group {s.shard_group}: train_neuron.py splits by data alone (ZeRO-1); a "
                "layout with tensor parallelism on Trainium needs NeuronX Distributed in its place"
            )
        if s.samples_per_step % (self.size * s.micro_batch):
            raise WrongInputError(
                f"samples_per_step {s.samples_per_step}: must be a multiple of {self.size} processes x "
                f"micro_batch {s.micro_batch}"
            )
        self.local_samples = s.samples_per_step // self.size
        self.devices = devices
        torch.manual_seed(s.seed)
        model, vocab = build(s)
        self.model: nn.Module = model.to(devices.device)
        self.trained = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        total = sum(p.numel() for p in self.trained.values())
        self.share = -(-total // self.size)
        flat = torch.nn.functional.pad(
            torch.cat([p.detach().flatten() for p in self.trained.values()]), (0, self._padding(total))
        )
        decays = torch.cat([torch.full((p.numel(),), float(p.dim() > 1)) for p in self.trained.values()])
        low = self.rank * self.share
        self.mine = {"model": flat[low : low + self.share].clone()}
        self.mine |= {moment: torch.zeros_like(self.mine["model"]) for moment in ("exp_avg", "exp_avg_sq")}
        decays = torch.nn.functional.pad(decays, (0, self._padding(total)))[low : low + self.share]
        self.decay = (s.weight_decay * decays).to(devices.device)
        self.samples = open_samples(
            s.data, sequence_length=s.sequence_length, vocab=vocab, seed=s.seed, cache=s.data_cache
        )

    def _padding(self, total: int) -> int:
        return self.share * self.size - total

    def step(self, step: int, first_sample: int) -> float:
        s, device = self.settings, self.devices.device
        torch.manual_seed((s.seed * 1_000_003 + step) * 65_537 + self.rank)
        self.model.train()
        start = first_sample + self.rank * self.local_samples
        turns = self.local_samples // s.micro_batch
        total = torch.zeros((), device=device)
        for turn in range(turns):
            low = start + turn * s.micro_batch
            tokens = torch.from_numpy(self.samples.batch(range(low, low + s.micro_batch))).to(torch.long).to(device)
            with torch.autocast(self.devices.kind, torch.bfloat16, enabled=s.precision == "bf16"):
                logits = self.model(tokens[:, :-1])
            logits = getattr(logits, "logits", logits)
            loss = cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten()) / turns
            loss.backward()
            total = total + loss.detach()
        count = torch.tensor(float(step + 1), device=device)
        self._update(torch.tensor(s.rate(step), device=device), count)
        total = self.devices.sum(total)
        self.devices.mark()
        return float(total.cpu()) / self.size

    def _update(self, rate: torch.Tensor, count: torch.Tensor) -> None:
        """AdamW on this process's share; then everybody's new weights into the model."""
        row = torch.cat([_gradient(p).flatten() for p in self.trained.values()]) / self.size
        gradient = self.devices.scatter_sum(torch.nn.functional.pad(row, (0, self._padding(row.numel()))), self.share)
        if self.settings.clip:
            norm = self.devices.sum(gradient.square().sum()).sqrt()
            gradient = gradient * (self.settings.clip / (norm + 1e-6)).clamp(max=1.0)
        with torch.no_grad():
            weights, first, second = self.mine["model"], self.mine["exp_avg"], self.mine["exp_avg_sq"]
            first.copy_(BETA1 * first + (1 - BETA1) * gradient)
            second.copy_(BETA2 * second + (1 - BETA2) * gradient * gradient)
            change = (first / (1 - BETA1**count)) / ((second / (1 - BETA2**count)).sqrt() + EPS)
            weights.copy_(weights - rate * (change + self.decay * weights))
        self._spread()
        for p in self.trained.values():
            p.grad = None

    def _spread(self) -> None:
        """The shares of all, as the model's weights."""
        row = self.devices.gather(self.mine["model"], self.size)
        at = 0
        with torch.no_grad():
            for p in self.trained.values():
                p.copy_(row[at : at + p.numel()].view(p.shape))
                at += p.numel()

    def blocks(self) -> list[Block]:
        """Of each weight, flat, the stretch in this process's share: any number of processes can read it."""
        blocks, at = [], 0
        low, high = self.rank * self.share, (self.rank + 1) * self.share
        for name, p in self.trained.items():
            start, end = max(low, at), min(high, at + p.numel())
            if start < end:
                for kind, row in self.mine.items():
                    blocks.append(self._block(f"{kind}/{name}", p.numel(), start - at, row[start - low : end - low]))
            at += p.numel()
        return blocks

    def _block(self, name: str, total: int, offset: int, row: torch.Tensor) -> Block:
        return Block(
            name=name,
            dtype="F32",
            shape=(total,),
            offset=(offset,),
            extent=(row.numel(),),
            read=lambda: to_numpy(row),
            write=lambda values: from_numpy(row, values),
        )

    def resumed(self, step: int) -> None:
        if step:
            self._spread()
            self.devices.mark()

    def describe(self) -> dict[str, object]:
        return self.samples.describe()


def _gradient(p: nn.Parameter) -> torch.Tensor:
    return torch.zeros_like(p) if p.grad is None else p.grad


def _devices() -> Cpu:
    try:
        from torch_xla import runtime
    except ImportError:
        print("no torch_xla: on CPU, which is for a trial", file=sys.stderr, flush=True)
        return Cpu()
    return Neuron() if runtime.world_size() == dist.get_world_size() else Cpu()


def body(settings: Settings, store: Store, stop: run.Stop) -> int:
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)
    try:
        import torch_xla.distributed.xla_backend  # noqa: F401 - registers the backend
        from torch_xla import runtime

        dist.init_process_group("gloo" if runtime.device_type() == "CPU" else "xla", init_method="env://")
    except ImportError:
        dist.init_process_group("gloo")
    code = run.train(settings, NeuronJob(settings, _devices()), TorchComm(), store, stop)
    dist.destroy_process_group()
    return code


if __name__ == "__main__":
    sys.exit(run.main(body))
