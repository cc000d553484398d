"""Peak memory of training steps as PyTorch itself allocates it, without a device: cases that no constant was fitted to.

    python tools/count_training.py OUT.json [NAME ...]

Runs two training steps of each case with tensors that have shapes but no data (FakeTensorMode) and counts every
storage that PyTorch allocates and frees: parameters, gradients, optimizer states, what autograd keeps, what operators
return. The figure is what `torch.cuda.max_memory_allocated` would report but for what kernels allocate inside one
operator (workspaces of matrix products, partial sums of attention's backward pass), which is not seen. OUT.json is a
list of cases as `sizewell validate` reads them. Needs torch, transformers, peft and torchvision, which Sizewell does
not depend on; weights are random, nothing is downloaded.
"""

# ruff: noqa: SLF001 - what PyTorch has no public names for
from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import peft
import torch
import torchvision
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import flash_attention_mask

from tools.allocations import Peak

GIB = 2**30
_LEARNING_RATE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Model:
    """A published model's dimensions, and how the libraries build it from them."""

    name: str
    build: Callable[[], Any]
    stated: dict[str, Any] = field(default_factory=dict)  # dimensions as a case states them
    image: int = 0
    encoder: bool = False


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a model is trained: `narrow` holds weights, gradients and states in bf16, else autocast over fp32 weights."""

    name: str
    batch: int
    seq: int = 0
    narrow: bool = False
    recompute: bool = False
    accumulate: int = 1
    rank: int = 0
    targets: str = ""  # "all" or "q and v"
    optimizer: str = "AdamW"


def _flash(_module: Any, query: Any, key: Any, value: Any, _mask: Any, scaling: float | None = None,
           dropout: float = 0.0, **other: Any) -> tuple[Any, None]:  # fmt: skip
    """PyTorch's flash attention by its own name: what a GPU runs, where a CPU would choose another kernel."""
    causal = bool(other.get("is_causal", True))
    out = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout, causal, scale=scaling)[0]
    return out.transpose(1, 2).contiguous(), None


def _dropout(values: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: ARG001
    """Dropout as a GPU runs it: a mask of a byte for each value, where a CPU keeps one of the values' own type."""
    return torch.ops.aten.native_dropout(values, p, True)[0] if training and p else values


torch.nn.functional.dropout = _dropout
AttentionInterface.register("counted", _flash)
AttentionMaskInterface.register("counted", flash_attention_mask)


def _decoder(kind: str, name: str, **dims: Any) -> Model:
    """A decoder of Hugging Face's `kind`; the case states its dimensions in the truth set's words."""
    words = {
        "layers": "num_hidden_layers", "hidden": "hidden_size", "heads": "num_attention_heads", "vocab": "vocab_size",
        "kv_heads": "num_key_value_heads", "head_dim": "head_dim", "ffn": "intermediate_size",
        "tied_embeddings": "tie_word_embeddings",
    }  # fmt: skip
    gated = dims.pop("gated", True)
    known = {words[key]: value for key, value in dims.items()}

    def build() -> Any:
        config = transformers.CONFIG_MAPPING[kind](**known, max_position_embeddings=8192, pad_token_id=0)
        config._attn_implementation = "counted"
        config.use_cache = False
        return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="counted")

    return Model(name=name, build=build, stated={**dims, "gated": gated})


def _bert(name: str, layers: int, hidden: int, heads: int) -> Model:
    def build() -> Any:
        config = transformers.BertConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                                         intermediate_size=4 * hidden)  # fmt: skip
        return transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="counted")

    return Model(name=name, build=build, encoder=True)


def _vision(name: str, function: str, image: int) -> Model:
    return Model(name=name, build=getattr(torchvision.models, function), image=image)


DECODERS = """
Qwen2.5-0.5B           | qwen2    | 24 |  896 | 14 |  2 |  64 |  4864 | 151936 | tied
Llama-3.2-1B           | llama    | 16 | 2048 | 32 |  8 |  64 |  8192 | 128256 | tied
pythia-1.4b            | gpt_neox | 24 | 2048 | 16 | 16 | 128 |  8192 |  50304 | ungated
Qwen2.5-1.5B           | qwen2    | 28 | 1536 | 12 |  2 | 128 |  8960 | 151936 | tied
gemma-2-2b             | gemma2   | 26 | 2304 |  8 |  4 | 256 |  9216 | 256000 | tied
Llama-3.2-3B           | llama    | 28 | 3072 | 24 |  8 | 128 |  8192 | 128256 | tied
Phi-3-mini-4k-instruct | phi3     | 32 | 3072 | 32 | 32 |  96 |  8192 |  32064 |
Qwen3-4B               | qwen3    | 36 | 2560 | 32 |  8 | 128 |  9728 | 151936 | tied
Mistral-7B-v0.1        | mistral  | 32 | 4096 | 32 |  8 | 128 | 14336 |  32000 |
OLMo-2-1124-7B         | olmo2    | 32 | 4096 | 32 | 32 | 128 | 11008 | 100352 |
Llama-3.1-8B           | llama    | 32 | 4096 | 32 |  8 | 128 | 14336 | 128256 |
Qwen2.5-14B            | qwen2    | 48 | 5120 | 40 |  8 | 128 | 13824 | 152064 |
Qwen2.5-32B            | qwen2    | 64 | 5120 | 40 |  8 | 128 | 27648 | 152064 |
SmolLM2-1.7B           | llama    | 24 | 2048 | 32 | 32 |  64 |  8192 |  49152 | tied
Qwen3-1.7B             | qwen3    | 28 | 2048 | 16 |  8 | 128 |  6144 | 151936 | tied
gemma-3-1b-it          | gemma3_text | 26 | 1152 | 4 | 1 | 256 | 6912 | 262144 | tied
gemma-2-9b             | gemma2   | 42 | 3584 | 16 |  8 | 256 | 14336 | 256000 | tied
Qwen2.5-7B             | qwen2    | 28 | 3584 | 28 |  4 | 128 | 18944 | 152064 |
Llama-3.1-70B          | llama    | 80 | 8192 | 64 |  8 | 128 | 28672 | 128256 |
"""
"""Name, kind, layers, hidden, heads, KV heads, head size, feed-forward, vocabulary, what differs."""


def decoders(names: str) -> tuple[Model, ...]:
    """The models of `DECODERS` with these names, in their order."""
    known = {}
    for line in DECODERS.strip().splitlines():
        name, kind, *counts, differs = (cell.strip() for cell in line.split("|"))
        layers, hidden, heads, kv_heads, head_dim, ffn, vocab = map(int, counts)
        dims: dict[str, Any] = {
            "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "ffn": ffn,
            "vocab": vocab, "tied_embeddings": differs == "tied", "gated": differs != "ungated",
        }  # fmt: skip
        known[name] = _decoder(kind, name, **dims)
    return tuple(known[name] for name in names.split())


FULL = (
    Run(name="amp-b1-s2048", batch=1, seq=2048),
    Run(name="amp-b4-s2048-recompute", batch=4, seq=2048, recompute=True),
    Run(name="amp-b1-s1024-accumulate4", batch=1, seq=1024, accumulate=4),
    Run(name="bf16-b1-s512", batch=1, seq=512, narrow=True),
    Run(name="bf16-b2-s4096", batch=2, seq=4096, narrow=True),
    Run(name="bf16-b1-s8192-recompute", batch=1, seq=8192, narrow=True, recompute=True),
)
LORA = (
    Run(name="lora16-all-b1-s2048", batch=1, seq=2048, rank=16, targets="all"),
    Run(name="lora16-all-b2-s4096-recompute", batch=2, seq=4096, rank=16, targets="all", recompute=True),
    Run(name="lora8-qv-b1-s2048-bf16", batch=1, seq=2048, rank=8, targets="q and v", narrow=True),
    Run(
        name="lora64-all-b4-s2048-bf16-recompute",
        batch=4,
        seq=2048,
        rank=64,
        targets="all",
        narrow=True,
        recompute=True,
    ),
)
LATER = (  # counted after the formulas were mended, committed before they were
    Run(name="bf16-b3-s1536", batch=3, seq=1536, narrow=True),
    Run(name="amp-b2-s3072-recompute", batch=2, seq=3072, recompute=True),
    Run(name="amp-b2-s1280-accumulate2", batch=2, seq=1280, accumulate=2),
    Run(name="lora32-all-b3-s1024", batch=3, seq=1024, rank=32, targets="all"),
)
IMAGES = (
    Run(name="amp-b32", batch=32, optimizer="SGD momentum"),
    Run(name="amp-b128", batch=128, optimizer="SGD momentum"),
    Run(name="amp-b128-adamw", batch=128),
)
TEXTS = (
    Run(name="amp-b32-s128", batch=32, seq=128),
    Run(name="amp-b16-s512", batch=16, seq=512),
    Run(name="bf16-b64-s512", batch=64, seq=512, narrow=True),
)
PLAN: tuple[tuple[tuple[Model, ...], tuple[Run, ...]], ...] = (
    (
        decoders(
            "Qwen2.5-0.5B Llama-3.2-1B pythia-1.4b Qwen2.5-1.5B gemma-2-2b Llama-3.2-3B Phi-3-mini-4k-instruct Qwen3-4B"
            " Mistral-7B-v0.1 OLMo-2-1124-7B Llama-3.1-8B"
        ),
        FULL,
    ),
    (
        decoders(
            "Llama-3.2-1B Qwen2.5-1.5B Llama-3.2-3B gemma-2-2b Mistral-7B-v0.1 Llama-3.1-8B Qwen2.5-14B Qwen2.5-32B"
            " Llama-3.1-70B"
        ),
        LORA,
    ),
    (decoders("SmolLM2-1.7B Qwen3-1.7B gemma-3-1b-it gemma-2-9b Qwen2.5-7B"), LATER),
    ((_bert("bert-base-uncased", 12, 768, 12), _bert("bert-large-uncased", 24, 1024, 16)), TEXTS),
    (
        (
            _vision("resnet50", "resnet50", 224), _vision("vit-base-16", "vit_b_16", 224),
            _vision("vit-large-16", "vit_l_16", 224), _vision("convnext-base", "convnext_base", 224),
            _vision("swin-base", "swin_b", 224), _vision("efficientnet-b0", "efficientnet_b0", 224),
            _vision("efficientnet-b4", "efficientnet_b4", 380),
        ),
        IMAGES,
    ),
)  # fmt: skip


def peak(model: Model, run: Run) -> tuple[int, int]:
    """(most bytes allocated in two training steps, parameters)."""
    tracker = Peak()
    network = _built(model, torch.bfloat16 if run.narrow or run.rank else torch.float32)
    parameters = sum({id(p): p.numel() for p in network.parameters()}.values())
    if run.rank:
        network = _adapted(network, run)
    with FakeTensorMode(), tracker:
        _allocate(network)
        tracker.parameters = {tuple(p.shape) for p in network.parameters() if p.dim() > 1}
        if run.recompute:
            network.gradient_checkpointing_enable()
            if run.rank:
                network.enable_input_require_grads()
        trained = [p for p in network.parameters() if p.requires_grad]
        optimizer = (
            torch.optim.AdamW(trained, lr=_LEARNING_RATE, fused=True)
            if run.optimizer == "AdamW"
            else torch.optim.SGD(trained, lr=_LEARNING_RATE, momentum=0.9)
        )
        for _ in range(2):
            for _ in range(run.accumulate):
                cast = nullcontext() if run.narrow else torch.autocast("cpu", dtype=torch.bfloat16)
                with cast:
                    loss = _loss(network, model, run)
                loss.backward()
                del loss
            optimizer.step()
            optimizer.zero_grad()
        return tracker.most, parameters


def _built(model: Model, weights: Any) -> Any:
    """The network in training mode, its parameters of the type `weights`, nothing of it allocated yet."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(weights)
    try:
        with torch.device("meta"):
            return model.build().train()
    finally:
        torch.set_default_dtype(usual)


def _allocate(network: Any) -> None:
    """Gives every parameter and buffer a storage; what is shared stays shared."""
    new: dict[int, Any] = {}
    for module in network.modules():
        for name, old in module._parameters.items():
            if old is not None:
                fresh = new.setdefault(id(old), None)
                if fresh is None:
                    fresh = new[id(old)] = torch.nn.Parameter(_empty(old), old.requires_grad)
                module._parameters[name] = fresh
        for name, old in module._buffers.items():
            if old is not None:
                module._buffers[name] = _empty(old)


def _empty(like: Any) -> Any:
    return torch.empty(tuple(like.shape), dtype=like.dtype)


def _adapted(network: Any, run: Run) -> Any:
    """LoRA as PEFT makes it: adapters in fp32 unless all is held in bf16."""
    targets: Any = "all-linear" if run.targets == "all" else ["q_proj", "v_proj"]
    config = peft.LoraConfig(r=run.rank, target_modules=targets, task_type="CAUSAL_LM")
    return peft.get_peft_model(network, config, autocast_adapter_dtype=not run.narrow)


def _loss(network: Any, model: Model, run: Run) -> Any:
    if model.image:
        images = torch.empty(run.batch, 3, model.image, model.image, dtype=torch.bfloat16 if run.narrow else None)
        return torch.nn.functional.cross_entropy(network(images), torch.zeros(run.batch, dtype=torch.long))
    tokens = torch.zeros(run.batch, run.seq, dtype=torch.long)
    labels = torch.zeros(run.batch, dtype=torch.long) if model.encoder else tokens
    return network(input_ids=tokens, labels=labels).loss


def case(model: Model, run: Run, most: int, parameters: int) -> dict[str, Any]:
    """The row of a case: what ran, in the words of the truth set."""
    precision = "bf16-true" if run.narrow else "bf16" if run.rank else "autocast bf16 (fp32 weights)"
    workload: dict[str, Any] = {
        "precision": precision,
        "optimizer": run.optimizer,
        "micro_batch": run.batch,
        "global_batch": run.batch * run.accumulate,
        "grad_accum": run.accumulate,
        "activation_checkpointing": "full" if run.recompute else "none",
        "counted": "allocated",
        "engine": "pytorch" if model.image else "peft" if run.rank else "transformers",
        "parallelism": {},
    }
    if run.seq:
        workload["seq_len"] = run.seq
    if run.rank:
        workload |= {"method": "lora", "lora_rank": run.rank, "lora_targets": run.targets}
    kind = "finetune_lora" if run.rank else "train" if model.image else "finetune_full"
    libraries = (
        (torch, transformers, peft) if run.rank else (torch, torchvision) if model.image else (torch, transformers)
    )
    versions = ", ".join(f"{library.__name__} {library.__version__}" for library in libraries)
    return {
        "id": f"counted-{model.name}-{run.name}".lower(),
        "kind": kind,
        "metric": "peak_memory_per_device",
        "value": round(most / GIB, 3),
        "unit": "GiB",
        "model": {"name": model.name, **model.stated, "params_computed": parameters},
        "hardware": {"device": "h200-sxm", "count": 1},
        "workload": workload,
        "source": {"title": "counted by PyTorch's own allocations (tools/count_training.py)", "path": versions},
        "source_family": "counted-allocations",
        "hw_family": "none",
        "core": True,
    }


def wanted(names: list[str]) -> Iterator[tuple[Model, Run]]:
    """The plan's cases, those of `names` (parts of an id) if there are any."""
    for models, runs in PLAN:
        for model in models:
            for run in runs:
                if not names or any(name in f"{model.name}-{run.name}".lower() for name in names):
                    yield model, run


def main() -> int:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    out, names = Path(sys.argv[1]), [name.lower() for name in sys.argv[2:]]
    rows = []
    for model, run in wanted(names):
        most, parameters = peak(model, run)
        rows.append(case(model, run, most, parameters))
        print(f"{rows[-1]['id']:70} {rows[-1]['value']:9.3f} GiB", file=sys.stderr, flush=True)
        out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
