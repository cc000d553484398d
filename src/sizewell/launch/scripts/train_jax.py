"""Train a causal language model with JAX on TPU, GPU (or, to try it, CPU): one mesh of data x fsdp x tensor.

zero_stage 0 copies the weights over the data axis, anything above shards them over fsdp (XLA gathers what a layer needs
and scatters gradients); tensor splits each layer's matrices. Weights and AdamW's state are fp32, the computation bf16.
A key of random numbers follows from (seed, step), so there is none whose state could be lost.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import run
from checkpoint import CARRIERS, Block
from data import open_samples
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from run import Settings, WrongInputError
from store import Store

DTYPES = {"float32": "F32", "bfloat16": "BF16", "int32": "I32"}
BETA1, BETA2, EPS = 0.9, 0.95, 1e-8
DATA = ("data", "fsdp")  # the axes that samples are spread over
PARTS = {  # dimensions of each weight (layers stacked in front), and the axis each is split over
    "embed": (("vocab", "hidden"), P("tensor", "fsdp")),
    "head": (("hidden", "vocab"), P("fsdp", "tensor")),
    "norm": (("hidden",), P(None)),
    "attn_norm": (("layers", "hidden"), P(None, None)),
    "mlp_norm": (("layers", "hidden"), P(None, None)),
    "q": (("layers", "hidden", "heads", "head_dim"), P(None, "fsdp", "tensor", None)),
    "k": (("layers", "hidden", "kv_heads", "head_dim"), P(None, "fsdp", "tensor", None)),
    "v": (("layers", "hidden", "kv_heads", "head_dim"), P(None, "fsdp", "tensor", None)),
    "o": (("layers", "heads", "head_dim", "hidden"), P(None, "tensor", None, "fsdp")),
    "gate": (("layers", "hidden", "ffn"), P(None, "fsdp", "tensor")),
    "up": (("layers", "hidden", "ffn"), P(None, "fsdp", "tensor")),
    "down": (("layers", "ffn", "hidden"), P(None, "tensor", "fsdp")),
}


class JaxComm:
    """What `checkpoint.Comm` asks for, over the devices: bytes travel as arrays of the longest one's length."""

    def __init__(self) -> None:
        self.rank, self.size = jax.process_index(), jax.process_count()

    def gather(self, data: bytes) -> list[bytes]:
        lengths = self._all(np.array([len(data)], np.int32)).reshape(-1)
        padded = np.zeros(max(1, int(lengths.max())), np.uint8)
        padded[: len(data)] = np.frombuffer(data, np.uint8)
        rows = self._all(padded).reshape(self.size, -1)
        return [row[:length].tobytes() for row, length in zip(rows, lengths, strict=True)]

    def most(self, value: int) -> int:
        return int(self._all(np.array([value], np.int32)).max())

    def _all(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(multihost_utils.process_allgather(values))


class JaxJob:
    """The model, its optimizer and its data, on this process's devices."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.sizes = settings.sizes()
        self.mesh = _mesh(settings, self.sizes)
        copies = self.mesh.shape["data"] * self.mesh.shape["fsdp"]
        if settings.samples_per_step % (copies * settings.micro_batch):
            raise WrongInputError(
                f"samples_per_step {settings.samples_per_step}: must be a multiple of {copies} data-parallel copies x "
                f"micro_batch {settings.micro_batch}"
            )
        self.turns = settings.samples_per_step // (copies * settings.micro_batch)
        self.samples = open_samples(
            settings.data,
            sequence_length=settings.sequence_length,
            vocab=self.sizes["vocab"],
            seed=settings.seed,
            cache=settings.data_cache,
        )
        self.shardings = {name: NamedSharding(self.mesh, spec) for name, (_, spec) in PARTS.items()}
        start = jax.jit(partial(weights, self.sizes), out_shardings=self.shardings)
        zeros = jax.jit(lambda: {name: jnp.zeros(self._shape(name)) for name in PARTS}, out_shardings=self.shardings)
        self.state = {"model": start(jax.random.key(settings.seed)), "exp_avg": zeros(), "exp_avg_sq": zeros()}
        same = dict.fromkeys(self.state, self.shardings)
        self._step = jax.jit(
            partial(update, settings), donate_argnums=0, out_shardings=(same, NamedSharding(self.mesh, P()))
        )
        self._read: dict[tuple[str, str], dict[Any, np.ndarray]] = {}

    def _shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.sizes[dimension] for dimension in PARTS[name][0])

    def step(self, step: int, first_sample: int) -> float:
        s = self.settings
        shape = (self.turns, s.samples_per_step // self.turns, s.sequence_length + 1)
        sharding = NamedSharding(self.mesh, P(None, DATA, None))

        def rows(index: tuple[slice, ...]) -> np.ndarray:  # called for each block that a device of this process holds
            turns = range(*index[0].indices(shape[0]))
            low, high, _ = index[1].indices(shape[1])
            return np.stack(
                [
                    self.samples.batch(range(first_sample + t * shape[1] + low, first_sample + t * shape[1] + high))
                    for t in turns
                ]
            )

        tokens = jax.make_array_from_callback(shape, sharding, rows)
        self.state, loss = self._step(self.state, tokens, jnp.int32(step), jnp.float32(s.rate(step)))
        return float(loss)

    def blocks(self) -> list[Block]:
        blocks = []
        for kind, arrays in self.state.items():
            for name, array in arrays.items():
                seen = set()
                for shard in sorted(array.addressable_shards, key=lambda each: each.replica_id):
                    spot = tuple(each.indices(size)[:2] for each, size in zip(shard.index, array.shape, strict=True))
                    if spot in seen:
                        continue
                    seen.add(spot)
                    blocks.append(self._block(kind, name, array, shard, spot))
        return blocks

    def _block(self, kind: str, name: str, array: jax.Array, shard: Any, spot: tuple[tuple[int, int], ...]) -> Block:
        def write(values: np.ndarray) -> None:
            self._read.setdefault((kind, name), {})[spot] = values

        dtype = DTYPES[array.dtype.name]
        return Block(
            name=f"{kind}/{name}",
            dtype=dtype,
            shape=array.shape,
            offset=tuple(start for start, _ in spot),
            extent=tuple(end - start for start, end in spot),
            read=lambda: np.asarray(shard.data).view(CARRIERS[dtype]),
            write=write,
            owner=shard.replica_id == 0,
        )

    def resumed(self, step: int) -> None:  # noqa: ARG002 - the optimizer's count is the step that `step` is called with
        """Arrays cannot be written into: make them anew of what was read."""
        for (kind, name), values in self._read.items():
            array = self.state[kind][name]

            def block(index: Any, values: Any = values, array: jax.Array = array) -> np.ndarray:
                spot = tuple(each.indices(size)[:2] for each, size in zip(index, array.shape, strict=True))
                return values[spot].view(array.dtype)

            self.state[kind][name] = jax.make_array_from_callback(array.shape, array.sharding, block)
        self._read.clear()

    def describe(self) -> dict[str, object]:
        return self.samples.describe()


def weights(sizes: dict[str, int], key: jax.Array) -> dict[str, jax.Array]:
    """Weights at random; what adds to the stream starts smaller, so that depth does not blow it up."""
    made = {}
    for number, (name, (dimensions, _)) in enumerate(PARTS.items()):
        shape = tuple(sizes[dimension] for dimension in dimensions)
        deep = (2 * sizes["layers"]) ** -0.5 if name in ("o", "down") else 1.0
        drawn = 0.02 * deep * jax.random.normal(jax.random.fold_in(key, number), shape, jnp.float32)
        made[name] = jnp.ones(shape, jnp.float32) if name.endswith("norm") else drawn
    return made


def logits(settings: Settings, w: dict[str, jax.Array], tokens: jax.Array, key: jax.Array) -> jax.Array:
    """Logits [batch, length, vocab] of token numbers [batch, length]: RMSNorm, rotary positions, SwiGLU."""
    dtype = jnp.bfloat16 if settings.precision == "bf16" else jnp.float32
    w = {name: value.astype(dtype) for name, value in w.items()}
    layered = {name: w.pop(name) for name, (dimensions, _) in PARTS.items() if dimensions[0] == "layers"}

    def drop(x: jax.Array, key: jax.Array) -> jax.Array:
        if not settings.dropout:
            return x
        keep = jax.random.bernoulli(key, 1 - settings.dropout, x.shape)
        return jnp.where(keep, x / (1 - settings.dropout), 0).astype(x.dtype)

    def layer(x: jax.Array, weights_and_key: tuple[dict[str, jax.Array], jax.Array]) -> tuple[jax.Array, None]:
        w, key = weights_and_key
        h = _normed(x, w["attn_norm"])
        q, k, v = (jnp.einsum("bth,hnd->btnd", h, w[name]) for name in ("q", "k", "v"))
        a = jax.nn.dot_product_attention(_rotated(q), _rotated(k), v, is_causal=True)
        x = x + drop(jnp.einsum("btnd,ndh->bth", a, w["o"]), jax.random.fold_in(key, 0))
        h = _normed(x, w["mlp_norm"])
        h = jax.nn.silu(h @ w["gate"]) * (h @ w["up"])
        return x + drop(h @ w["down"], jax.random.fold_in(key, 1)), None

    policy = {
        "none": None,
        "selective": jax.checkpoint_policies.dots_with_no_batch_dims_saveable,
        "full": jax.checkpoint_policies.nothing_saveable,
    }[settings.checkpointing]
    body = jax.checkpoint(layer, policy=policy) if policy else layer
    keys = jax.random.split(key, layered["q"].shape[0])
    x, _ = jax.lax.scan(body, w["embed"][tokens], (layered, keys))
    return (_normed(x, w["norm"]) @ w["head"]).astype(jnp.float32)


def _normed(x: jax.Array, weight: jax.Array) -> jax.Array:
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5)).astype(x.dtype) * weight


def _rotated(x: jax.Array) -> jax.Array:
    length, dim = x.shape[1], x.shape[3]
    frequency = 10000.0 ** (-jnp.arange(0, dim, 2, dtype=jnp.float32) / dim)
    angle = (jnp.arange(length, dtype=jnp.float32)[:, None] * frequency)[None, :, None, :]
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    turned = (first * jnp.cos(angle) - second * jnp.sin(angle), second * jnp.cos(angle) + first * jnp.sin(angle))
    return jnp.concatenate(turned, -1).astype(x.dtype)


def update(
    settings: Settings, state: Any, tokens: jax.Array, step: jax.Array, rate: jax.Array
) -> tuple[Any, jax.Array]:
    """One step of AdamW on tokens [turns, samples, length + 1]; gradients are summed over the turns in fp32."""
    key = jax.random.fold_in(jax.random.key(settings.seed), step)

    def loss_of(w: dict[str, jax.Array], tokens: jax.Array, key: jax.Array) -> jax.Array:
        scores = jax.nn.log_softmax(logits(settings, w, tokens[:, :-1], key))
        return -jnp.take_along_axis(scores, tokens[:, 1:, None], -1).mean()

    def turn(carry: Any, each: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        total, gradient = carry
        loss, more = jax.value_and_grad(loss_of)(state["model"], each[0], jax.random.fold_in(key, each[1]))
        return (total + loss, jax.tree.map(jnp.add, gradient, more)), None

    turns = tokens.shape[0]
    nothing = jax.tree.map(jnp.zeros_like, state["model"])
    (loss, gradient), _ = jax.lax.scan(turn, (jnp.float32(0), nothing), (tokens, jnp.arange(turns)))
    gradient = jax.tree.map(lambda g: g / turns, gradient)
    if settings.clip:
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradient)))
        gradient = jax.tree.map(lambda g: g * jnp.minimum(1.0, settings.clip / (norm + 1e-6)), gradient)
    count = (step + 1).astype(jnp.float32)
    first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state["exp_avg"], gradient)
    second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, state["exp_avg_sq"], gradient)

    def moved(name: str) -> jax.Array:
        w = state["model"][name]
        decay = 0.0 if name.endswith("norm") else settings.weight_decay
        change = (first[name] / (1 - BETA1**count)) / (jnp.sqrt(second[name] / (1 - BETA2**count)) + EPS)
        return w - rate * (change + decay * w)

    return {"model": {name: moved(name) for name in PARTS}, "exp_avg": first, "exp_avg_sq": second}, loss / turns


def _mesh(settings: Settings, sizes: dict[str, int]) -> Mesh:
    if settings.model or settings.method != "pretrain":
        raise WrongInputError(
            "train_jax.py pretrains the built-in transformer: give --dimensions and no --model (MaxText has others)"
        )
    devices = jax.device_count()
    shards = settings.shard_group or devices // settings.tensor
    shards = 1 if settings.zero_stage == 0 else shards
    if devices % (settings.tensor * max(1, shards)):
        raise WrongInputError(f"tensor {settings.tensor} x shard_group {shards}: must divide the {devices} devices")
    shape = {"data": devices // settings.tensor // shards, "fsdp": shards, "tensor": settings.tensor}
    for name, (dimensions, spec) in PARTS.items():
        for dimension, axis in zip(dimensions, spec, strict=False):
            if axis and sizes[dimension] % shape[axis]:
                raise WrongInputError(
                    f"{dimension} {sizes[dimension]} of {name}: must be a multiple of {shape[axis]} devices ({axis})"
                )
    return jax.make_mesh(tuple(shape.values()), tuple(shape), axis_types=(jax.sharding.AxisType.Auto,) * 3)


def join() -> None:
    """Meet the others: by the variables of `spawn.py`, by those of a JobSet, or as JAX finds them on a TPU slice."""
    env = os.environ
    if "RANK" in env:
        place = (f"{env['MASTER_ADDR']}:{env['MASTER_PORT']}", int(env["WORLD_SIZE"]), int(env["RANK"]))
    elif "SIZEWELL_COORDINATOR" in env:
        node = env.get("SIZEWELL_NODE") or env.get("JOB_COMPLETION_INDEX") or "0"
        place = (env["SIZEWELL_COORDINATOR"], int(env.get("SIZEWELL_NODES", "1")), int(node))
    else:
        if env.get("TPU_WORKER_HOSTNAMES"):
            jax.distributed.initialize()
        return
    if place[1] > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        local = {"local_device_ids": [int(env["LOCAL_RANK"])]} if int(env.get("LOCAL_WORLD_SIZE", "1")) > 1 else {}
        if env.get("JAX_PLATFORMS") == "cpu":
            local = {}
        jax.distributed.initialize(*place, **local)


def body(settings: Settings, store: Store, stop: run.Stop) -> int:
    join()
    stop.listen()  # JAX's own preemption service has taken SIGTERM
    code = run.train(settings, JaxJob(settings), JaxComm(), store, stop)
    if jax.process_count() > 1:
        jax.distributed.shutdown()
    return code


if __name__ == "__main__":
    sys.exit(run.main(body))
