"""From a case's own words to the records of the model, the device and the software that ran."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from sizewell import csvtables
from sizewell.accuracy.benchmarks import known_model
from sizewell.accuracy.cases import Case
from sizewell.sizing.catalog import Catalog, load
from sizewell.sizing.catalog.lineage import lineage
from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.predict.architecture import check, params_total

JAX_ENGINES = frozenset({"maxtext", "maxdiffusion", "levanter"})


class CannotPredictError(SizewellError):
    """A case lacks what a prediction needs; the message says what."""


@cache
def catalog() -> Catalog:
    return load()


_KEPT = re.compile(r"\(?[^();,]*\bgrad[^();,]*\)?")

_GRADIENTS = (
    (r"fp32|float32|\b32\b|full", "fp32"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|float16|\b16\b", "fp16"),
)


def products_in(said: object) -> str:
    """What a source says of the precision of the products: the words without those on gradients, which are kept apart.

    >>> products_in("bf16 (fp32 gradient accumulation)"), products_in("bf16 (weights, grads and optimizer in bf16)")
    ('bf16', 'bf16 (weights, grads and optimizer in bf16)')
    """
    text = str(said or "").lower()
    return text if "weights" in text else _KEPT.sub("", text).strip()


def gradients_of(case: Case) -> str:
    """The format of accumulated and reduced gradients that a source states; "" where it leaves that to the software."""
    stated = str(case.workload.get("gradient_dtype") or case.workload.get("grad_dtype") or "")
    words = _KEPT.search(str(case.workload.get("precision") or "").lower())
    said = f"{stated} {words[0] if words else ''}".lower()
    if "weights" in said:
        return ""
    return next((name for pattern, name in _GRADIENTS if re.search(pattern, said)), "")


def unsynchronised(case: Case) -> bool:
    """Whether a source says that micro-batches accumulate without synchronisation, and so unsharded."""
    said = (case.workload.get("no_sync"), case.parallelism.get("no_sync"), case.workload.get("unsharded_gradients"))
    return any(value is True for value in said)


def device_of(case: Case) -> Accelerator:
    """The catalog's accelerator; a class of cards ("24GB-class", "generic") is any card with that much memory."""
    name, memory_gb = str(case.hardware.get("device") or ""), case.hardware.get("mem_gb")
    facts = catalog()
    try:
        return facts.accelerator(name)
    except KeyError:
        pass
    for part in re.split(r"[/ ]|-class", name):
        try:
            return facts.accelerator(part)
        except KeyError:
            continue
    if memory_gb:
        return replace(_card(float(memory_gb)), memory_bytes=int(float(memory_gb) * 2**30))
    if name in ("unspecified", "generic") or "class" in name:
        return facts.accelerator("a100-80gb-sxm")
    raise CannotPredictError(f"device {name!r} is not in the catalog")


def _card(memory_gb: float) -> Accelerator:
    name = "h100-sxm" if memory_gb >= 80 else "a100-40gb-sxm" if memory_gb >= 40 else "rtx-4090"
    return catalog().accelerator(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineName:
    """A row of engines.csv: the software that a case means; of several rows that fit the first counts."""

    by: Literal["engine", "repository"]  # how the case's own words begin; what its repository or title has in it
    text: str
    engine: str
    note: csvtables.Text = ""


@cache
def _engine_names(by: str) -> tuple[EngineName, ...]:
    rows = csvtables.read(EngineName, Path(__file__).parent / "data/engines.csv")
    return tuple(row for row in rows if row.by == by)


def engine_of(case: Case) -> str:
    """The software that ran: as the case says, else the one that its repository is about; "" where not stated."""
    said = str(case.workload.get("engine") or case.workload.get("framework") or "").lower()
    repo = case.repo.lower()
    if "training_results" in repo or "inference_results" in repo:
        return "mlperf"
    for row in _engine_names("engine"):
        if said.startswith(row.text):
            return row.engine
    for row in _engine_names("repository"):
        if row.text in repo or row.text in case.title.lower():
            return row.engine
    return said.split(" ")[0]


def counted(case: Case) -> str:
    """What a published peak counts: "device", or what the framework's allocator has "reserved" or "allocated", which
    is neither context nor communicators.
    """
    stated = case.workload.get("counted")
    if stated:
        return str(stated)
    engine = engine_of(case)
    if case.workload.get("phase") or engine in ("litgpt", "exllama"):
        return "allocated"
    if engine == "torchtune":
        return "allocated" if case.kind == "inference" else "reserved"
    return "reserved" if engine == "torchtitan" else "device"


def stated_split(case: Case) -> bool | None:
    """Whether a source states that layers are divided over devices by Megatron's means, or that weights are sharded
    as PyTorch does it (tensor parallelism may stand beside that); None: it says neither.
    """
    stated = case.parallelism
    if isinstance(stated.get("fsdp"), int) and stated["fsdp"] > 1:
        return False
    if any(isinstance(stated.get(name), int) and stated[name] > 1 for name in ("tp", "pp")):
        return True
    return False if stated.get("fsdp") or stated.get("zero") else None


_NOISE = re.compile(r"\(.*?\)|-instruct|-chat|-it$|-hf$|-quantized\..*$|-w8a8$|-w4a16$|^meta-|^megatron-(?=\d)")


@cache
def _by_name(name: str) -> Architecture | None:
    """The catalog's architecture of that name, exactly or without what says nothing about its shape."""
    facts = catalog()
    plain = _NOISE.sub("", name.lower().strip()).strip(" -")
    for spelling in (
        name,
        name.lower(),
        plain,
        plain.replace(" ", "-"),
        plain.replace("-v1.5", "").replace(" v1.5", ""),
    ):
        try:
            return facts.model(spelling)
        except KeyError:
            continue
    return None


def architecture_of(case: Case) -> Architecture:
    """The model by the dimensions that the case states; by its name in the catalog where it states none."""
    stated = case.model
    name = str(stated.get("name") or "model")
    known = _by_name(name)
    layers, hidden = stated.get("layers"), stated.get("hidden")
    if not layers or not hidden:
        known = known or known_model(name)
        if known is None:
            raise CannotPredictError(f"the source states no dimensions of {name!r} and the catalog does not know it")
        return known
    if known is not None and (known.layers, known.hidden) == (layers, hidden) and _same(known, case):
        return known
    return check(_from_dimensions(case, known))


def _same(known: Architecture, case: Case) -> bool:
    """Whether the catalog's model is the case's: everything that both state agrees."""
    pairs = (
        (known.ffn, case.model.get("ffn")),
        (known.vocab, case.model.get("vocab")),
        (known.heads, case.model.get("heads")),
        (known.kv_heads, case.model.get("kv_heads")),
    )
    return all(not stated or not ours or stated == ours for ours, stated in pairs)


def _from_dimensions(case: Case, known: Architecture | None) -> Architecture:
    stated = case.model
    name, hidden, layers = str(stated.get("name") or "model"), int(stated["hidden"]), int(stated["layers"])
    assumed: list[str] = []
    ffn = int(stated.get("ffn") or 4 * hidden)
    heads = int(stated.get("heads") or 0)
    if not heads:
        heads = max(1, hidden // 128)
        assumed.append(f"{heads} heads of 128, as the source does not say")
    kv_heads = int(stated.get("kv_heads") or heads)
    gated = stated.get("ffn_gated", stated.get("gated"))
    if gated is None:
        gated = known.gated if known else not (ffn == 4 * hidden and kv_heads == heads)
        assumed.append(f"{'three' if gated else 'two'} feed-forward matrices, as the source does not say")
    experts = int(stated.get("num_experts") or 0)
    encoder = "bert" in name.lower()
    tied = stated.get("tied_embeddings", stated.get("tie_word_embeddings"))
    a = Architecture(
        key=name,
        kind="encoder" if encoder else "decoder",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=int(stated.get("head_dim") or hidden // heads),
        ffn=ffn,
        gated=bool(gated) and not encoder,
        vocab=int(stated.get("vocab") or case.workload.get("vocab") or 32000),
        tied_embeddings=bool(tied),
        experts=experts,
        experts_per_token=int(stated.get("experts_per_tok") or 0),
        expert_ffn=int(stated.get("moe_ffn") or (ffn if experts else 0)),
        shared_experts=int(stated.get("n_shared_experts") or 0),
        dense_layers=int(stated.get("first_k_dense") or 0),
        kv_lora_rank=int(stated.get("kv_lora_rank") or 0),
        q_lora_rank=int(stated.get("q_lora_rank") or 0),
        qk_rope_head_dim=int(stated.get("qk_rope_head_dim") or 0),
        qk_nope_head_dim=int(stated.get("qk_nope_head_dim") or 0),
        v_head_dim=int(stated.get("v_head_dim") or 0),
        max_sequence_length=stated.get("block_size") or (known.max_sequence_length if known else None),
        biases="all" if not gated or encoder else "none",
        traits=lineage(name),
        params_active_stated=int(stated["params_active"]) if stated.get("params_active") else None,
        assumed=tuple(assumed),
        source=str(stated.get("spec_source") or ""),
    )
    if known is not None and known.layers == layers and known.hidden == hidden:
        a = replace(
            a,
            sliding_window=known.sliding_window,
            sliding_window_layers=known.sliding_window_layers,
            global_attention_every=known.global_attention_every,
            moe_every=known.moe_every,
            shared_experts=a.shared_experts or known.shared_experts,
            extra_params=known.extra_params,
        )
    return _tied_by_count(a, case) if tied is None else a


def _tied_by_count(model: Architecture, case: Case) -> Architecture:
    """Where the source does not say whether the output matrix is the embedding: whichever its parameter count fits."""
    stated = case.model
    count = stated.get("params_total") or stated.get("params_computed") or (stated.get("params_b") or 0) * 1e9
    if not count or model.kind != "decoder":
        return model
    shared = replace(model, tied_embeddings=True)
    return min((model, shared), key=lambda option: abs(params_total(option) - count))
