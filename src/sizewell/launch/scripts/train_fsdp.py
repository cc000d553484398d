"""Train a causal language model with PyTorch on GPUs (or, to try it, on CPUs), split as the decision says.

zero_stage 0 is DDP; 1 and 2 keep whole weights between forward and backward, 3 shards them too (FSDP2); a shard_group
smaller than the data-parallel size shards inside it and copies across (HSDP); tensor splits each layer's matrices.
Weights and AdamW's state are fp32, the computation bf16. Every random draw of step n follows from (seed, n, process),
so there is no generator whose state could be lost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import run
import torch
import torch.distributed as dist
from checkpoint import CARRIERS, Block
from data import open_samples
from run import Settings, WrongInputError
from store import Store
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from transformer import Transformer

DTYPES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16", torch.float64: "F64", torch.int64: "I64"}
MOMENTS = ("exp_avg", "exp_avg_sq")
ADAM = {"betas": (0.9, 0.95), "eps": 1e-8}


class TorchComm:
    """What `checkpoint.Comm` asks for, over a group of CPU processes beside the one of the devices."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._group = dist.new_group(backend="gloo")

    def gather(self, data: bytes) -> list[bytes]:
        gathered: list[Any] = [None] * self.size
        dist.all_gather_object(gathered, data, group=self._group)
        return gathered

    def most(self, value: int) -> int:
        tensor = torch.tensor([value])
        dist.all_reduce(tensor, dist.ReduceOp.MAX, group=self._group)
        return int(tensor)


class TorchJob:
    """The model, its optimizer and its data, on this process's device."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rank, world = dist.get_rank(), dist.get_world_size()
        local = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
        self.mesh = _mesh(settings, world, self.device.type)
        copies = world // settings.tensor
        self.copy = self.rank // settings.tensor  # which data-parallel share of a step is this process's
        if settings.samples_per_step % (copies * settings.micro_batch):
            raise WrongInputError(
                f"samples_per_step {settings.samples_per_step}: must be a multiple of {copies} data-parallel copies x "
                f"micro_batch {settings.micro_batch}"
            )
        self.local_samples = settings.samples_per_step // copies
        for turn in range(
            int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        ):  # one after another: one whole model in memory at a time
            if turn == local:
                torch.manual_seed(settings.seed)
                model, vocab = build(settings)
                self.model = self._split(model)
            dist.barrier()
        self.forward: Callable[..., Any] = self.model
        if settings.zero_stage == 0 and copies > 1:
            group = self.mesh["data"].get_group() if settings.tensor > 1 else None
            self.forward = DistributedDataParallel(self.model, process_group=group)
        self.trained = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        self.optimizer = self._adamw()
        self.samples = open_samples(
            settings.data,
            sequence_length=settings.sequence_length,
            vocab=vocab,
            seed=settings.seed,
            cache=settings.data_cache,
        )

    def _split(self, model: nn.Module) -> nn.Module:
        s = self.settings
        layers = next(m for m in model.modules() if isinstance(m, nn.ModuleList))
        if s.tensor > 1:
            plan = {
                f"{part}.{name}": style()
                for part, names, style in (
                    ("self_attn", ("q_proj", "k_proj", "v_proj"), ColwiseParallel),
                    ("self_attn", ("o_proj",), RowwiseParallel),
                    ("mlp", ("gate_proj", "up_proj"), ColwiseParallel),
                    ("mlp", ("down_proj",), RowwiseParallel),
                )
                for name in names
            }
            for layer in layers:
                parallelize_module(layer, self.mesh["tensor"], plan, src_data_rank=None)
        if s.zero_stage == 0:
            return model.to(self.device)
        bf16 = (
            MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
            if s.precision == "bf16"
            else MixedPrecisionPolicy()
        )
        mesh = self.mesh["copies", "shards"] if s.shard_group else self.mesh["data"]
        for layer in layers:
            fully_shard(layer, mesh=mesh, mp_policy=bf16, reshard_after_forward=s.zero_stage == 3)
        fully_shard(model, mesh=mesh, mp_policy=bf16, reshard_after_forward=s.zero_stage == 3)
        return model.to(self.device)

    def _adamw(self) -> torch.optim.AdamW:
        """AdamW with its state made at once, so that a resume has where to write; matrices decay, the rest does not."""
        groups: dict[Any, list[nn.Parameter]] = {}
        for p in self.trained.values():  # one group for each mesh: operations over many tensors need one
            groups.setdefault((p.dim() > 1, _mesh_key(p)), []).append(p)
        optimizer = torch.optim.AdamW(
            [
                {"params": group, "weight_decay": self.settings.weight_decay * decays}
                for (decays, _), group in groups.items()
            ],
            **ADAM,
        )
        for p in self.trained.values():
            optimizer.state[p] = {"step": torch.tensor(0.0), **{moment: torch.zeros_like(p) for moment in MOMENTS}}
        return optimizer

    def step(self, step: int, first_sample: int) -> float:
        s = self.settings
        torch.manual_seed((s.seed * 1_000_003 + step) * 65_537 + self.copy)
        self.model.train()
        start = first_sample + self.copy * self.local_samples
        turns = self.local_samples // s.micro_batch
        total = torch.zeros((), device=self.device)
        for turn in range(turns):
            low = start + turn * s.micro_batch
            tokens = torch.from_numpy(self.samples.batch(range(low, low + s.micro_batch))).to(self.device, torch.long)
            self._sync_gradients(turn == turns - 1)
            loss = self._loss(tokens) / turns
            loss.backward()
            total += loss.detach()
        self._clip()
        for group in self.optimizer.param_groups:
            group["lr"] = s.rate(step)
        self.optimizer.step()
        self.optimizer.zero_grad()
        dist.all_reduce(total)
        return float(total) / dist.get_world_size()

    def _loss(self, tokens: torch.Tensor) -> torch.Tensor:
        mixed = self.settings.precision == "bf16" and self.settings.zero_stage == 0  # FSDP casts by itself
        with torch.autocast(self.device.type, torch.bfloat16, enabled=mixed):
            logits = self.forward(tokens[:, :-1])
        logits = getattr(logits, "logits", logits)
        return cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())

    def _sync_gradients(self, now: bool) -> None:
        """Add gradients up over the processes in the last turn only, unless each is to keep its own shard of them."""
        if isinstance(self.forward, DistributedDataParallel):
            self.forward.require_backward_grad_sync = now
        elif self.settings.zero_stage > 0:
            sharded = self.settings.zero_stage > 1 and not self.settings.no_sync
            self.model.set_requires_gradient_sync(now or sharded)

    def _clip(self) -> None:
        """Scale the gradient to norm `clip` at most. One sum over all; what n processes hold counts 1/n in each."""
        if not self.settings.clip:
            return
        world = dist.get_world_size()
        square = torch.zeros((), device=self.device)
        grads = [p.grad for p in self.trained.values() if p.grad is not None]
        for grad in grads:
            square += _local(grad).float().square().sum() * (_pieces(grad) / world)
        dist.all_reduce(square)
        scale = (self.settings.clip / (square.sqrt() + 1e-6)).clamp(max=1.0)
        for grad in grads:
            _local(grad).mul_(scale)

    def blocks(self) -> list[Block]:
        state = {f"model/{name}": p.detach() for name, p in self.trained.items()}
        for name, p in self.trained.items():
            state |= {f"{moment}/{name}": self.optimizer.state[p][moment] for moment in MOMENTS}
        kept = self.model.state_dict().keys()
        state |= {f"buffer/{name}": b for name, b in self.model.named_buffers() if name in kept}
        return [block for name, tensor in state.items() if (block := self._block(name, tensor)) is not None]

    def _block(self, name: str, tensor: torch.Tensor) -> Block | None:
        offset = (0,) * tensor.dim()
        local = _local(tensor)
        split: set[str] = set()
        if isinstance(tensor, DTensor):
            extent, offset = compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
            assert tuple(extent) == tuple(local.shape)  # noqa: S101 - torch's own account of what it holds
            split = {
                n
                for n, p in zip(tensor.device_mesh.mesh_dim_names or (), tensor.placements, strict=True)
                if not isinstance(p, Replicate)
            }
        if not local.numel():
            return None
        return Block(
            name=name,
            dtype=DTYPES[tensor.dtype],
            shape=tuple(tensor.shape),
            offset=tuple(offset),
            extent=tuple(local.shape),
            read=lambda: to_numpy(local),
            write=lambda values: from_numpy(local, values),
            owner=_writes(self.mesh, split),
        )

    def resumed(self, step: int) -> None:
        for state in self.optimizer.state.values():
            state["step"] = torch.tensor(float(step))

    def describe(self) -> dict[str, object]:
        return self.samples.describe()


def build(settings: Settings) -> tuple[nn.Module, int]:
    """The whole model on CPU in fp32, and how many tokens it knows."""
    if not settings.model:
        if settings.method != "pretrain":
            raise WrongInputError(
                f"method {settings.method!r} needs --model: the built-in transformer has no weights to start from"
            )
        sizes = settings.sizes()
        if any(sizes[key] % settings.tensor for key in ("heads", "kv_heads", "ffn")):
            raise WrongInputError(
                f"tensor {settings.tensor}: must divide heads, kv_heads and ffn of {settings.dimensions}"
            )
        return Transformer(sizes, dropout=settings.dropout, recompute=settings.checkpointing), sizes["vocab"]
    try:
        from transformers import AutoConfig, AutoModelForCausalLM
    except ImportError:
        raise WrongInputError("--model needs transformers in the image: pip install transformers") from None
    try:
        config = AutoConfig.from_pretrained(settings.model)
        if settings.method == "pretrain":
            model = AutoModelForCausalLM.from_config(config).float()
        else:
            model = AutoModelForCausalLM.from_pretrained(settings.model, config=config, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise WrongInputError(f"model {settings.model!r}: {str(error).splitlines()[0]}") from None
    model.config.use_cache = False
    if settings.checkpointing != "none":
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if settings.method == "lora":
        try:
            from peft import LoraConfig, get_peft_model
        except ImportError:
            raise WrongInputError("--method lora needs peft in the image: pip install peft") from None
        rank = settings.lora_rank
        # GPT-2's matrices are of a class of transformers' own.
        found = (name for name, each in model.named_modules() if type(each).__name__ in ("Linear", "Conv1D"))
        targets = settings.adapted(found)
        model.enable_input_require_grads()
        model = get_peft_model(
            model, LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=targets, task_type="CAUSAL_LM")
        )
    if settings.tensor > 1 and (settings.method == "lora" or not hasattr(_first_layer(model), "self_attn")):
        raise WrongInputError(
            f"tensor {settings.tensor}: here only for the built-in transformer and models laid out as Llama, "
            "without adapters"
        )
    return model, int(config.get_text_config().vocab_size)


def _first_layer(model: nn.Module) -> nn.Module:
    return next(iter(next(m for m in model.modules() if isinstance(m, nn.ModuleList))))


def _mesh(settings: Settings, world: int, device: str) -> DeviceMesh:
    """Data x tensor, data being copies x shards if there is a shard group. Tensor is innermost: on the fast links."""
    if world % settings.tensor:
        raise WrongInputError(f"tensor {settings.tensor}: must divide the {world} processes")
    data = world // settings.tensor
    if not settings.shard_group:
        return init_device_mesh(device, (data, settings.tensor), mesh_dim_names=("data", "tensor"))
    if data % settings.shard_group or settings.zero_stage == 0:
        raise WrongInputError(
            f"shard_group {settings.shard_group}: must divide {data} data-parallel copies, with zero_stage above 0"
        )
    shape = (data // settings.shard_group, settings.shard_group, settings.tensor)
    return init_device_mesh(device, shape, mesh_dim_names=("copies", "shards", "tensor"))


def _writes(mesh: DeviceMesh, split: set[str]) -> bool:
    """Whether this process is the one that writes what it holds: the first of those that hold the same."""
    place = mesh.get_coordinate() or []
    return all(place[number] == 0 for number, name in enumerate(mesh.mesh_dim_names or ()) if name not in split)


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _pieces(tensor: torch.Tensor) -> int:
    """Into how many blocks a tensor is split."""
    pieces = 1
    if isinstance(tensor, DTensor):
        for size, placement in zip(tensor.device_mesh.shape, tensor.placements, strict=True):
            pieces *= 1 if isinstance(placement, Replicate) else size
    return pieces


def _mesh_key(tensor: torch.Tensor) -> Any:
    return (tensor.device_mesh.mesh_dim_names, tensor.placements) if isinstance(tensor, DTensor) else None


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's bits on the host, in the type that carries them."""
    host = tensor.detach().cpu().contiguous()
    return host.view(torch.uint8).numpy().reshape(-1).view(CARRIERS[DTYPES[tensor.dtype]]).reshape(tuple(tensor.shape))


def from_numpy(tensor: torch.Tensor, values: np.ndarray) -> None:
    """Write bits into a tensor, in place."""
    raw = torch.from_numpy(np.ascontiguousarray(values).reshape(-1).view(np.uint8))
    with torch.no_grad():
        tensor.copy_(raw.view(tensor.dtype).view(tensor.shape))


def body(settings: Settings, store: Store, stop: run.Stop) -> int:
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    code = run.train(settings, TorchJob(settings), TorchComm(), store, stop)
    dist.destroy_process_group()
    return code


if __name__ == "__main__":
    sys.exit(run.main(body))
