"""Peak memory and step time of Hugging Face's Trainer on one GPU, cut at the moments of a step.

    python benchmarks/trainer_memory.py --out runs.jsonl [--seconds 500] [--only REGEX] [--unseen]

Needs a GPU, PyTorch, transformers, peft and accelerate; runs with `nf4` or an 8-bit optimizer need bitsandbytes, those
with `zero` DeepSpeed. Weights are random values of the stated shape, so nothing is downloaded. Each run is a process of
its own.

A step is cut where the Trainer says so: forward and backward end at `on_pre_optimizer_step`, the optimizer's step at
`on_optimizer_step`. Bytes are those of PyTorch's allocator (`allocated`, `reserved`) and what the device lacks
altogether (`device`: with the context and libraries). `step_s` is the median of the steps after the first.

`benchmarks/measured/trainer_h100.jsonl` has what it wrote on 2026-11-26 on one NVIDIA H100 80GB HBM3 with PyTorch
2.11.0+cu130, transformers 5.17.0, peft 0.21.0, accelerate 1.15.0, bitsandbytes 0.50.2 and DeepSpeed 0.19.8.

`--unseen` has runs of other models, of TRL's trainers and of Liger's kernels, for predictions to be judged by: what it
writes goes into no fit. They need trl, datasets and liger-kernel too. `benchmarks/measured/unseen_h100.jsonl` is what
they took on another H100 of that kind on 2026-11-27, with TRL 1.16.0.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Run:
    """One configuration of the Trainer; `rank` and `targets` count for adapters alone."""

    model: str
    method: str = "full"  # full | lora | qlora
    weights: str = "fp32"  # as the model is held: fp32 (autocast computes in bf16), bf16, nf4
    optim: str = "adamw_torch"  # the Trainer's own names
    seq: int = 1024
    batch: int = 1
    gc: bool = True  # gradient checkpointing
    accum: int = 1
    rank: int = 16
    targets: str | tuple[str, ...] = "all-linear"
    attn: str = "sdpa"
    zero: int = 0  # stage of DeepSpeed's ZeRO; 0: without DeepSpeed
    offload: bool = False  # ZeRO's optimizer (stage 3: weights too) in host memory
    steps: int = 4
    prompt: int = 0  # tokens before each answer that is preferred; 0: half of `seq`
    by: str = "trainer"  # trainer | sft | dpo | kto | reward: transformers' Trainer, or one of TRL's
    liger: bool = False  # Liger's kernels in place of the model's own
    varying: bool = False  # sequences of a quarter of `seq` to all of it, padded to the longest of a batch
    compiled: bool = False
    computes: str = "bf16"  # fp16 | bf16 by autocast; fp32: no autocast

    @property
    def name(self) -> str:
        parts = [self.model, self.method, self.weights, self.optim, f"s{self.seq}", f"b{self.batch}"]
        parts += ["gc" if self.gc else "nogc", f"a{self.accum}"]
        if self.method != "full":
            parts += [f"r{self.rank}"] + ["qv"] * (self.targets != "all-linear")
        parts += [self.by] * (self.by != "trainer") + ["liger"] * self.liger + ["varying"] * self.varying
        parts += ["compiled"] * self.compiled + [self.computes] * (self.computes != "bf16")
        return "-".join(parts + [f"z{self.zero}"] * bool(self.zero) + ["offload"] * self.offload)

    @property
    def sequences(self) -> int:
        """Sequences of a micro-batch: preferences come as two answers each."""
        return self.batch * (2 if self.by in ("dpo", "reward") else 1)

    @property
    def needs_a_gpu(self) -> bool:
        """Whether its libraries run on no CPU."""
        quantises = self.method == "qlora" or "8bit" in self.optim
        return quantises or bool(self.zero) or self.liger or self.compiled or self.computes == "fp16"


# hidden, layers, heads, KV heads, head size, feed-forward, vocabulary, tied embeddings
SHAPES = {
    "qwen2.5-0.5b": ("Qwen2", 896, 24, 14, 2, 64, 4864, 151936, True),
    "qwen2.5-1.5b": ("Qwen2", 1536, 28, 12, 2, 128, 8960, 151936, True),
    "qwen2.5-3b": ("Qwen2", 2048, 36, 16, 2, 128, 11008, 151936, True),
    "qwen2.5-7b": ("Qwen2", 3584, 28, 28, 4, 128, 18944, 152064, False),
    "llama-3.2-1b": ("Llama", 2048, 16, 32, 8, 64, 8192, 128256, True),
    "llama-3.2-3b": ("Llama", 3072, 28, 24, 8, 128, 8192, 128256, True),
    "llama-3.1-8b": ("Llama", 4096, 32, 32, 8, 128, 14336, 128256, False),
    "llama-2-7b": ("Llama", 4096, 32, 32, 32, 128, 11008, 32000, False),
    "mistral-7b": ("Mistral", 4096, 32, 32, 8, 128, 14336, 32000, False),
    "gemma-2-2b": ("Gemma2", 2304, 26, 8, 4, 256, 9216, 256000, True),
    "qwen3-4b": ("Qwen3", 2560, 36, 32, 8, 128, 9728, 151936, True),
    "phi-3-mini": ("Phi3", 3072, 32, 32, 32, 96, 8192, 32064, False),
    "olmoe-1b-7b": ("Olmoe", 2048, 16, 16, 16, 128, 1024, 50304, False),
    "qwen3-0.6b": ("Qwen3", 1024, 28, 16, 8, 128, 3072, 151936, True),
    "qwen3-1.7b": ("Qwen3", 2048, 28, 16, 8, 128, 6144, 151936, True),
    "qwen3-8b": ("Qwen3", 4096, 36, 32, 8, 128, 12288, 151936, False),
    "qwen2.5-14b": ("Qwen2", 5120, 48, 40, 8, 128, 13824, 152064, False),
    "qwen2.5-32b": ("Qwen2", 5120, 64, 40, 8, 128, 27648, 152064, False),
    "mistral-nemo-12b": ("Mistral", 5120, 40, 32, 8, 128, 14336, 131072, False),
    "phi-4": ("Phi3", 5120, 40, 40, 10, 128, 17920, 100352, False),
    "gemma-3-1b": ("Gemma3Text", 1152, 26, 4, 1, 256, 6912, 262144, True),
    "gemma-2-9b": ("Gemma2", 3584, 42, 16, 8, 256, 14336, 256000, True),
    "smollm2-1.7b": ("Llama", 2048, 24, 32, 32, 64, 8192, 49152, True),
    "olmo-2-1b": ("Olmo2", 2048, 16, 16, 16, 128, 8192, 100352, False),
    "pythia-2.8b": ("GPTNeoX", 2560, 32, 32, 32, 80, 10240, 50304, False),
    "pythia-6.9b": ("GPTNeoX", 4096, 32, 32, 32, 128, 16384, 50432, False),
    "granite-3.1-2b": ("Granite", 2048, 40, 32, 8, 64, 8192, 49155, True),
    "glm-4-9b": ("Glm", 4096, 40, 32, 2, 128, 13696, 151552, False),
    "llama-2-13b": ("Llama", 5120, 40, 40, 40, 128, 13824, 32000, False),
    "starcoder2-3b": ("Starcoder2", 3072, 30, 24, 2, 128, 12288, 49152, True),
    "qwen3-moe-10-layers": ("Qwen3Moe", 2048, 10, 32, 4, 128, 768, 151936, False),
    "bert-large": ("Bert", 1024, 24, 16, 16, 64, 4096, 30522, True),
}
UNGATED = frozenset({"GPTNeoX", "Starcoder2", "Bert"})
EXPERTS = {"olmoe-1b-7b": (64, 8), "qwen3-moe-10-layers": (128, 8)}  # in all, of a token
_OWN_SETTINGS: dict[str, dict[str, Any]] = {
    "Mistral": {"sliding_window": None},
    "Phi3": {"pad_token_id": 0},
    "Glm": {"pad_token_id": 0, "eos_token_id": 1},
    "Starcoder2": {"sliding_window": None},
    "GPTNeoX": {"hidden_act": "gelu"},
}


def model_config(name: str) -> Any:
    import transformers

    if name == "gpt2-xl":
        return transformers.GPT2Config(n_embd=1600, n_layer=48, n_head=25, vocab_size=50257, n_positions=1024)
    family, hidden, layers, heads, kv_heads, head_dim, ffn, vocab, tied = SHAPES[name]
    settings: dict[str, Any] = {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": ffn,
        "vocab_size": vocab,
        "tie_word_embeddings": tied,
        "max_position_embeddings": 32768,
    }
    if family in ("Llama", "Gemma2", "Gemma3Text", "Qwen3", "Qwen3Moe", "Mistral", "Glm"):
        settings["head_dim"] = head_dim
    if name in EXPERTS:
        experts, chosen = EXPERTS[name]
        settings |= {"num_experts": experts, "num_experts_per_tok": chosen}
    if family == "Qwen3Moe":
        settings |= {"moe_intermediate_size": ffn, "intermediate_size": 6144}
    return getattr(transformers, f"{family}Config")(**settings, **_OWN_SETTINGS.get(family, {}))


def all_runs() -> list[Run]:
    small, eight = "qwen2.5-1.5b", "llama-3.1-8b"
    fused, paged = "adamw_torch_fused", "paged_adamw_8bit"
    full_bf16 = {"weights": "bf16"}
    lora = {"method": "lora", "weights": "bf16"}
    qlora = {"method": "qlora", "weights": "nf4"}
    return [
        # The optimizer's moment.
        *(
            Run(model=small, optim=optim, seq=512)
            for optim in ("adamw_torch", fused, "adafactor", "sgd", "adamw_bnb_8bit")
        ),
        *(Run(model="qwen2.5-7b", **full_bf16, optim=optim, seq=512) for optim in ("adamw_torch", fused, "adafactor")),
        Run(model=eight, **full_bf16, seq=512, optim=fused),
        Run(model="llama-2-7b", **full_bf16),
        # Sequence, batch and vocabulary, with and without recomputation.
        *(Run(model=small, seq=seq) for seq in (512, 2048, 4096)),
        *(Run(model=small, seq=seq, gc=False) for seq in (512, 2048)),
        *(Run(model="qwen2.5-0.5b", batch=batch) for batch in (2, 4, 8)),
        *(Run(model="qwen2.5-0.5b", batch=batch, gc=False) for batch in (1, 4)),
        Run(model="qwen2.5-0.5b", batch=4, accum=4),
        Run(model="llama-3.2-1b", batch=4),
        Run(model="llama-3.2-1b", seq=4096),
        Run(model="llama-3.2-1b", seq=2048, batch=2, gc=False),
        Run(model="llama-3.2-3b"),
        Run(model="llama-3.2-3b", seq=2048, batch=2, **full_bf16),
        Run(model="llama-3.2-3b", seq=2048, batch=2, **full_bf16, gc=False),
        Run(model="gemma-2-2b", attn="eager"),
        Run(model="gemma-2-2b", seq=2048, batch=2, **full_bf16, attn="eager"),
        Run(model="qwen3-4b", **full_bf16, seq=2048, batch=2),
        Run(model="phi-3-mini", **full_bf16, seq=2048),
        Run(model="gpt2-xl", batch=4),
        Run(model="gpt2-xl", batch=4, gc=False),
        Run(model="qwen2.5-3b"),
        Run(model="qwen2.5-3b", **full_bf16, seq=4096, batch=2),
        Run(model="olmoe-1b-7b", **full_bf16, batch=2),
        # Adapters.
        *(
            run
            for model in ("llama-2-7b", eight, "qwen2.5-7b", "mistral-7b")
            for run in (Run(model=model, **lora), Run(model=model, **lora, seq=2048, batch=4, optim=fused))
        ),
        Run(model=eight, **lora, seq=512, batch=4, targets=("q_proj", "v_proj"), rank=8),
        Run(model=eight, **lora, seq=2048, gc=False),
        Run(model=eight, **lora, seq=4096, batch=2, rank=64),
        Run(model=eight, **lora, seq=8192),
        Run(model=small, **lora, batch=4),
        Run(model=small, **lora, batch=4, gc=False),
        Run(model=small, method="lora", batch=4),
        Run(model="llama-3.2-3b", **lora, seq=2048, batch=4),
        Run(model="qwen3-4b", **lora, batch=8),
        Run(model="gemma-2-2b", **lora, batch=4, attn="eager"),
        Run(model="olmoe-1b-7b", **lora, batch=2, targets=("q_proj", "v_proj")),
        *(
            run
            for model in ("llama-2-7b", eight, "qwen2.5-7b", "llama-3.2-3b")
            for run in (Run(model=model, **qlora, seq=512), Run(model=model, **qlora, seq=2048, batch=2, optim=paged))
        ),
        Run(model=eight, **qlora, batch=4, gc=False, rank=64),
        Run(model=small, **qlora, batch=8),
        Run(model="mistral-7b", **qlora, seq=4096, rank=64),
        # DeepSpeed on one device.
        *(Run(model=small, zero=stage) for stage in (1, 2, 3)),
        *(Run(model="llama-3.2-3b", zero=stage) for stage in (2, 3)),
        *(Run(model=small, zero=stage, offload=True) for stage in (2, 3)),
        Run(model="llama-3.2-3b", zero=3, offload=True),
        Run(model=eight, **lora, zero=2),
    ]


def small(run: Run) -> Run:
    """The run with few short sequences, of a model of the same family whose shape is made small."""
    family, _, _, heads, kv_heads, *_, tied = SHAPES[run.model]
    SHAPES[run.model] = (family, 64, 2, 4, 4 if heads == kv_heads else 2, 16, 128, 512, tied)
    return replace(run, seq=64, batch=min(2, run.batch), steps=3)


def unseen_runs() -> list[Run]:
    """Runs unlike those of `all_runs` in model, shape or software, that no constant is fitted to."""
    fused, paged = "adamw_torch_fused", "paged_adamw_8bit"
    full = {"optim": fused}
    bf16 = {"weights": "bf16", "optim": fused}
    lora = {"method": "lora", "weights": "bf16", "optim": fused}
    qlora = {"method": "qlora", "weights": "nf4", "optim": fused}
    return [
        # TRL's trainers.
        Run(model="qwen3-1.7b", **bf16, seq=2048, batch=4, by="sft"),
        Run(model="qwen3-8b", **lora, seq=2048, batch=2, by="sft"),
        Run(model="qwen2.5-1.5b", **bf16, seq=1024, batch=4, by="dpo"),
        Run(model="llama-3.1-8b", **lora, seq=1024, batch=2, by="dpo"),
        Run(model="llama-3.2-1b", **full, seq=1024, batch=4, by="dpo"),
        Run(model="llama-3.2-1b", **bf16, seq=1024, batch=8, by="reward"),
        Run(model="qwen3-1.7b", **bf16, seq=1024, batch=4, by="kto"),
        # All weights trained.
        Run(model="qwen3-0.6b", **full, seq=2048, batch=4),
        Run(model="qwen3-0.6b", **full, seq=2048, batch=2, gc=False),
        Run(model="qwen3-1.7b", **bf16, seq=4096, batch=2),
        Run(model="llama-3.2-1b", **bf16, seq=8192, batch=2),
        Run(model="llama-3.2-1b", **full, batch=8, gc=False),
        Run(model="llama-3.2-3b", **bf16, batch=4, accum=4),
        Run(model="gemma-3-1b", **bf16, seq=2048, batch=4),
        Run(model="gemma-3-1b", **full, seq=1024, batch=2, gc=False),
        Run(model="smollm2-1.7b", **full, seq=2048, batch=2),
        Run(model="smollm2-1.7b", **full, seq=2048, batch=2, gc=False),
        Run(model="olmo-2-1b", **bf16, seq=2048, batch=4, gc=False),
        Run(model="pythia-2.8b", **full, batch=2),
        Run(model="pythia-2.8b", **bf16, batch=4, gc=False),
        Run(model="granite-3.1-2b", **full, batch=2),
        Run(model="starcoder2-3b", **bf16, seq=2048, batch=2, gc=False),
        Run(model="mistral-7b", weights="bf16", optim="adafactor", seq=2048),
        Run(model="qwen3-moe-10-layers", **bf16, seq=2048, batch=1),
        Run(model="bert-large", **full, seq=512, batch=32, gc=False),
        Run(model="llama-3.2-1b", **full, seq=2048, batch=4, computes="fp16"),
        Run(model="qwen2.5-0.5b", **full, batch=4, computes="fp32"),
        Run(model="llama-3.2-1b", **full, seq=2048, batch=4, varying=True, steps=8),
        # Adapters.
        Run(model="qwen3-8b", **lora, seq=2048, batch=2, rank=32),
        Run(model="qwen3-8b", **lora, seq=2048, gc=False, rank=8, targets=("q_proj", "v_proj")),
        Run(model="qwen2.5-14b", **lora),
        Run(model="mistral-nemo-12b", **lora, seq=4096),
        Run(model="phi-4", **lora, batch=2),
        Run(model="llama-3.1-8b", **lora, batch=8, rank=128),
        Run(model="llama-3.1-8b", **lora, seq=16384),
        Run(model="llama-3.2-1b", **lora, seq=2048, batch=8, gc=False),
        Run(model="gemma-2-9b", **lora, attn="eager"),
        Run(model="glm-4-9b", **lora, seq=2048),
        Run(model="llama-2-13b", **lora, seq=2048, batch=2),
        Run(model="pythia-6.9b", **lora, batch=4),
        Run(model="qwen2.5-7b", **lora, seq=2048, batch=4, varying=True, steps=8),
        # Liger's kernels.
        Run(model="llama-3.2-3b", **bf16, seq=4096, batch=2, liger=True),
        Run(model="qwen2.5-7b", **lora, seq=4096, batch=2, liger=True),
        # Adapters over quantised weights.
        Run(model="qwen3-8b", **qlora),
        Run(model="qwen3-8b", method="qlora", weights="nf4", optim=paged, seq=4096),
        Run(model="qwen2.5-14b", **qlora, seq=2048, rank=64),
        Run(model="gemma-2-9b", **qlora, attn="eager"),
        Run(model="llama-3.2-1b", **qlora, seq=2048, batch=4),
        Run(model="qwen3-4b", **qlora, seq=2048, gc=False),
        Run(model="phi-4", **qlora, batch=2),
        Run(model="llama-2-13b", **qlora, seq=512, batch=4, rank=64),
        Run(model="qwen3-8b", **qlora, seq=2048, batch=2, by="sft"),
        Run(model="llama-3.2-3b", weights="bf16", optim="adamw_bnb_8bit", seq=2048, batch=2),
        Run(model="qwen2.5-32b", **qlora),
        Run(model="llama-3.2-1b", **full, seq=2048, batch=4, gc=False, compiled=True),
    ]


def quantized(model: Any) -> Any:
    """The model with its linear layers, but for the output head, in NF4 with double quantization."""
    import bitsandbytes
    import torch

    for parent in list(model.modules()):
        for key, child in list(parent.named_children()):
            if not isinstance(child, torch.nn.Linear) or key == "lm_head":
                continue
            layer = bitsandbytes.nn.Linear4bit(
                child.in_features,
                child.out_features,
                bias=child.bias is not None,
                compute_dtype=torch.bfloat16,
                quant_type="nf4",
                compress_statistics=True,
                device="meta",
            )
            layer.weight = bitsandbytes.nn.Params4bit(
                child.weight.data, requires_grad=False, quant_type="nf4", compress_statistics=True
            )
            if child.bias is not None:
                layer.bias = torch.nn.Parameter(child.bias.data, requires_grad=False)
            setattr(parent, key, layer.to("cuda"))
            del child
    model.is_loaded_in_4bit = True
    return model


def with_adapter(model: Any, run: Run) -> Any:
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    if run.method == "qlora":
        model = prepare_model_for_kbit_training(
            model, use_gradient_checkpointing=run.gc, gradient_checkpointing_kwargs={"use_reentrant": False}
        )
    elif run.gc:
        model.enable_input_require_grads()
    targets = run.targets if isinstance(run.targets, str) else list(run.targets)
    task = "CAUSAL_LM" if run.by != "reward" else "SEQ_CLS"
    return get_peft_model(
        model,
        LoraConfig(r=run.rank, lora_alpha=2 * run.rank, lora_dropout=0.0, target_modules=targets, task_type=task),
    )


def deepspeed_config(run: Run) -> dict[str, Any] | None:
    if not run.zero:
        return None
    zero: dict[str, Any] = {"stage": run.zero}
    if run.offload:
        zero["offload_optimizer"] = {"device": "cpu"}
        if run.zero == 3:
            zero["offload_param"] = {"device": "cpu"}
    return {
        "zero_optimization": zero,
        "bf16": {"enabled": True},
        "train_micro_batch_size_per_gpu": run.batch,
        "gradient_accumulation_steps": run.accum,
        "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-5, "torch_adam": not run.offload}},
    }


def samples(run: Run, vocabulary: int) -> Any:
    """Random tokens for transformers' Trainer: sequences that are all as long as stated, unless they vary."""
    import torch

    class Tokens(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 1000

        def __getitem__(self, i: int) -> dict[str, Any]:
            chance = torch.Generator().manual_seed(i)
            length = int(torch.randint(run.seq // 4, run.seq + 1, (1,), generator=chance)) if run.varying else run.seq
            ids = torch.randint(0, vocabulary, (length,), generator=chance)
            labels = torch.tensor(i % 2) if run.model.startswith("bert") else ids
            return {"input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}

    return Tokens()


def padded(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A batch of sequences of several lengths, as `DataCollatorForSeq2Seq` makes it."""
    from torch.nn.utils.rnn import pad_sequence

    fills = {"input_ids": 0, "labels": -100, "attention_mask": 0}
    return {name: pad_sequence([row[name] for row in rows], True, fill) for name, fill in fills.items()}


def preferences(run: Run, count: int) -> Any:
    """Texts of words that are a token each, in the columns that TRL's trainer expects."""
    import random

    from datasets import Dataset

    chance = random.Random(1)

    def words(length: int) -> str:
        return " ".join(f"w{chance.randrange(400)}" for _ in range(length))

    asked = run.prompt or run.seq // 2
    if run.by == "sft":
        return Dataset.from_dict(
            {"input_ids": [[chance.randrange(3, 400) for _ in range(run.seq)] for _ in range(count)]}
        )
    rows: dict[str, Any] = {"prompt": [words(asked) for _ in range(count)]}
    # The tokenizer's end of text follows each answer.
    if run.by == "kto":
        return Dataset.from_dict(
            rows
            | {
                "completion": [" " + words(run.seq - asked - 1) for _ in range(count)],
                "label": [i % 2 == 0 for i in range(count)],
            }
        )
    if run.by == "reward":
        return Dataset.from_dict({name: [words(run.seq - 1) for _ in range(count)] for name in ("chosen", "rejected")})
    return Dataset.from_dict(
        rows | {name: [" " + words(run.seq - asked - 1) for _ in range(count)] for name in ("chosen", "rejected")}
    )


def word_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0, "</s>": 1, "<unk>": 2} | {f"w{i}": i + 3 for i in range(400)}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


def arguments_of(run: Run, *, gpu: bool) -> dict[str, Any]:
    """What is asked of the trainer."""
    return {
        "output_dir": f"/tmp/trainer-memory-{os.getpid()}",
        "max_steps": run.steps,
        "per_device_train_batch_size": run.batch,
        "gradient_accumulation_steps": run.accum,
        "gradient_checkpointing": run.gc,
        "gradient_checkpointing_kwargs": {"use_reentrant": False} if run.gc else None,
        "bf16": run.computes == "bf16",
        "fp16": run.computes == "fp16",
        "optim": run.optim,
        "report_to": [],
        "save_strategy": "no",
        "logging_strategy": "no",
        "learning_rate": 1e-5,
        "disable_tqdm": True,
        "deepspeed": deepspeed_config(run),
        "use_cpu": not gpu,
        "use_liger_kernel": run.liger,
        "torch_compile": run.compiled,
    }


def trainer_of(
    run: Run, model: Any, reference: Any, arguments: dict[str, Any], *, vocabulary: int, callback: Any = None
) -> Any:
    """The trainer that runs it: transformers' own, or TRL's with what it sets by default."""
    import transformers

    if run.by == "trainer":
        return transformers.Trainer(
            model=model,
            args=transformers.TrainingArguments(**arguments, remove_unused_columns=False),
            train_dataset=samples(run, vocabulary),
            data_collator=padded if run.varying else None,
            callbacks=[callback] if callback else None,
        )
    import trl

    names = {"sft": "SFT", "dpo": "DPO", "kto": "KTO", "reward": "Reward"}
    configuration = getattr(trl, f"{names[run.by]}Config")(**arguments, max_length=run.seq)
    given: dict[str, Any] = {"ref_model": reference} if reference is not None else {}
    return getattr(trl, f"{names[run.by]}Trainer")(
        model=model,
        args=configuration,
        train_dataset=preferences(run, run.steps * run.batch * run.accum),
        processing_class=word_tokenizer(),
        callbacks=[callback] if callback else None,
        **given,
    )


def built(run: Run, config: Any, held: Any, device: str) -> Any:
    """The model with random weights, in the format that it is held in."""
    import torch
    import transformers

    kinds = {"bert": "AutoModelForSequenceClassification"}
    kind = kinds.get(run.model.partition("-")[0], "AutoModelForCausalLM")
    if run.by == "reward":
        kind, config.num_labels, config.pad_token_id = "AutoModelForSequenceClassification", 1, 0
    torch.set_default_dtype(held)
    with torch.device(device):
        model = getattr(transformers, kind).from_config(config, dtype=held, attn_implementation=run.attn)
    torch.set_default_dtype(torch.float32)
    return model


def measured(run: Run, device: str) -> dict[str, Any]:
    import accelerate
    import peft
    import torch
    import transformers

    gpu = device == "cuda"
    row: dict[str, Any] = {"case": run.name, **asdict(run)}
    if gpu:
        torch.zeros(1, device="cuda")
        free, total = torch.cuda.mem_get_info()
        row |= {"device_total": total, "context": total - free, "gpu": torch.cuda.get_device_name()}
    config = model_config(run.model)
    config.use_cache = False
    held = torch.float32 if run.weights == "fp32" else torch.bfloat16
    model = built(run, config, held, device)
    row["params"] = sum(p.numel() for p in model.parameters())
    if run.method == "qlora":
        model = quantized(model)
    if run.method != "full":
        model = with_adapter(model, run)
    reference = None
    if run.by in ("dpo", "kto") and run.method == "full":
        reference = built(run, config, held, device)
    row["trainable"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
    row["weights_bytes"] = torch.cuda.memory_allocated() if gpu else 0

    steps: list[dict[str, float]] = []

    class Moments(transformers.TrainerCallback):
        step: dict[str, float]

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            if gpu:
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
            self.step = {"before": torch.cuda.memory_allocated() if gpu else 0, "started": time.perf_counter()}

        def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
            if gpu:
                self.step["forward_backward_peak"] = torch.cuda.max_memory_allocated()
                self.step["with_gradients"] = torch.cuda.memory_allocated()
                torch.cuda.reset_peak_memory_stats()

        def on_optimizer_step(self, *_: Any, **__: Any) -> None:
            if gpu:
                self.step["optimizer_peak"] = torch.cuda.max_memory_allocated()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            if gpu:
                torch.cuda.synchronize()
                free, total = torch.cuda.mem_get_info()
                self.step["after"] = torch.cuda.memory_allocated()
                self.step["rest_peak"] = torch.cuda.max_memory_allocated()
                self.step["reserved"] = torch.cuda.max_memory_reserved()
                self.step["device"] = total - free
            self.step["s"] = time.perf_counter() - self.step.pop("started")
            steps.append(self.step)

    def forward(*given: Any, **named: Any) -> Any:
        loss = of_trainer(*given, **named)
        if gpu:
            callback.step["after_forward"] = torch.cuda.memory_allocated()
            callback.step["forward_peak"] = torch.cuda.max_memory_allocated()
        return loss

    callback = Moments()
    trainer = trainer_of(
        run, model, reference, arguments_of(run, gpu=gpu), vocabulary=config.vocab_size, callback=callback
    )
    of_trainer, trainer.compute_loss = trainer.compute_loss, forward
    trainer.train()
    row["steps"] = steps
    if gpu:
        moments = ("forward_backward_peak", "optimizer_peak", "rest_peak")
        row["peak_allocated"] = max(step.get(moment, 0) for step in steps for moment in moments)
        row["peak_reserved"] = max(step["reserved"] for step in steps)
        row["peak_device"] = max(step["device"] for step in steps)
        row["retries"] = torch.cuda.memory_stats()["num_alloc_retries"]
    row["step_s"] = sorted(step["s"] for step in steps[1:])[len(steps[1:]) // 2]
    used = [torch, transformers, peft, accelerate]
    used += [sys.modules[name] for name in ("trl", "bitsandbytes", "liger_kernel", "deepspeed") if name in sys.modules]
    row["versions"] = {each.__name__: getattr(each, "__version__", "") for each in used}
    return row


def attempt(run: Run, device: str, out: Path) -> None:
    """Measure and write a line; a run that fails (out of memory, say) writes its error, and the next goes on."""
    try:
        if run.zero:
            os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1")
            os.environ["MASTER_PORT"] = str(29500 + os.getpid() % 400)
        row = measured(run, device)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is this run's result
        trace = traceback.format_exc()[-1500:]
        row = {"case": run.name, **asdict(run), "error": f"{type(error).__name__}: {error}"[:600], "trace": trace}
    with out.open("a") as file:
        file.write(json.dumps(row) + "\n")
    sys.stdout.flush()
    os._exit(0)


@contextmanager
def capability_without_cuda(cuda: Any) -> Iterator[None]:
    """Bitsandbytes asks for the compute capability while it is imported, which starts CUDA; the driver knows it too."""
    asks = cuda.get_device_capability
    try:
        said = subprocess.run(
            ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
        )
        major, minor = said.stdout.split()[0].split(".")
        cuda.get_device_capability = lambda *_: (int(major), int(minor))
    except (OSError, subprocess.CalledProcessError):
        pass
    yield
    cuda.get_device_capability = asks


def starts(device: str) -> bool:
    """Whether CUDA starts in a forked process: it does where nothing started it before."""
    import torch

    try:
        torch.zeros(1, device=device)
    except RuntimeError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=600, help="begin no further run after these")
    parser.add_argument("--run-seconds", type=float, default=60, help="end a run that takes longer")
    parser.add_argument("--only", default=".", help="runs whose name matches this regular expression")
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="cpu tries the script, on small shapes"
    )
    parser.add_argument("--unseen", action="store_true", help="the runs that no constant is fitted to")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.update(TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", PYTORCH_NVML_BASED_CUDA_CHECK="1")
    if given.one:
        attempt(Run(**json.loads(given.one)), given.device, given.out)

    import torch

    with capability_without_cuda(torch.cuda):  # read once, before CUDA starts, and inherited by each run
        import peft  # noqa: F401
        from transformers import AutoModelForCausalLM, Trainer  # noqa: F401

        if given.unseen:
            from trl import DPOTrainer, KTOTrainer, RewardTrainer, SFTTrainer  # noqa: F401
    forks = not torch.cuda.is_initialized()
    began = time.monotonic()
    runs = unseen_runs() if given.unseen else all_runs()
    if given.device == "cpu":
        runs = [small(run) for run in runs if not run.needs_a_gpu and run.model in SHAPES]
    for run in (run for run in runs if re.search(given.only, run.name)):
        if time.monotonic() - began > given.seconds:
            print("out of time before", run.name)
            return
        child = os.fork()
        if child == 0 and (run.zero or not (forks and starts(given.device))):  # DeepSpeed starts CUDA as it is imported
            own = [sys.executable, __file__, "--out", str(given.out), "--one", json.dumps(asdict(run))]
            os.execv(sys.executable, [*own, "--device", given.device])
        if child == 0:
            attempt(run, given.device, given.out)
        ends = time.monotonic() + given.run_seconds
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > ends:
                os.kill(child, 9)
                os.waitpid(child, 0)
                with given.out.open("a") as file:
                    file.write(json.dumps({"case": run.name, **asdict(run), "error": "took too long"}) + "\n")
                break
            time.sleep(0.05)
        row = json.loads(given.out.read_text().splitlines()[-1])
        figures = f"{row.get('peak_allocated', 0) / 1e9:.2f} GB allocated, {row.get('step_s', 0):.3f} s a step"
        print(f"{time.monotonic() - began:6.1f} s  {row['case']}: {row.get('error', figures)[:150]}", flush=True)


if __name__ == "__main__":
    main()
