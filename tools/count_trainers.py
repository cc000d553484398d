"""Peak memory of transformers' and TRL's own trainers as PyTorch allocates it, on a CPU: no constant is fitted to it.

    python tools/count_trainers.py OUT.json [REGEX]

Each run is a process that trains two steps of a small model by the trainer itself (`benchmarks/trainer_memory.py`) and
counts every storage that is allocated and freed. TRL's loss is counted as on a GPU: with its kernels, which allocate
nothing, in place of what it does without them. OUT.json is a list of cases as `sizewell validate` reads them. Needs
torch, transformers, peft, trl and datasets, which Sizewell does not depend on.
"""

# ruff: noqa: SLF001 - what TRL has no public names for
from __future__ import annotations

import json
import os
import re
import sys
import types
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import peft
import torch
import transformers
import trl
import trl.kernels.chunked_logprob as tiles
import trl.trainer.utils

from benchmarks import trainer_memory
from benchmarks.trainer_memory import Run
from tools.allocations import Peak

GIB = 2**30
SMALL = ("Llama", 256, 2, 4, 2, 64, 768, 16384, False)
TIED = (*SMALL[:-1], True)
# A prompt of one token: the loss reads all others.
LENGTHS: dict[str, Any] = {"seq": 256, "optim": "adamw_torch_fused", "steps": 2, "prompt": 1}


def runs() -> list[tuple[Run, tuple[Any, ...]]]:
    """What is counted, and the shape of its model."""
    made = []
    for by, batch in (("trainer", 4), ("sft", 4), ("dpo", 2), ("kto", 4), ("reward", 2)):
        base = Run(model="llama", by=by, batch=batch, **LENGTHS)
        bf16 = replace(base, weights="bf16")
        made += [(each, SMALL) for each in (bf16, replace(bf16, gc=False), base, replace(base, gc=False))]
        if by in ("trainer", "sft", "dpo"):
            made += [(replace(bf16, method="lora", gc=gc), SMALL) for gc in (True, False)]
            made += [(replace(bf16, model="llama-tied"), TIED)]
    return made


class _Kernel:
    def __getitem__(self, _grid: Any) -> Any:
        return lambda *_, **__: None


def as_on_a_gpu() -> None:
    """TRL's tiles stay as they are, and its kernels work in place; a product is summed into what is there."""
    tiles._use_triton = trl.trainer.utils._use_triton = lambda _device: True
    tiles._forward_kernel = tiles._backward_kernel = _Kernel()
    tiles._addmm_fp32 = lambda total, _a, _b: total.add_(0.0)
    tiles.triton = types.SimpleNamespace(cdiv=lambda a, b: -(-a // b))


def peak(run: Run) -> int:
    """Most bytes allocated in two steps."""
    as_on_a_gpu()
    config = trainer_memory.model_config(run.model)
    config.use_cache = False
    held = torch.float32 if run.weights == "fp32" else torch.bfloat16
    model = trainer_memory.built(run, config, held, "cpu")
    if run.method != "full":
        model = trainer_memory.with_adapter(model, run)
    reference = None
    if run.method == "full" and run.by in ("dpo", "kto"):
        reference = trainer_memory.built(run, config, held, "cpu").requires_grad_(False)
    arguments = trainer_memory.arguments_of(run, gpu=False)
    trainer = trainer_memory.trainer_of(run, model, reference, arguments, vocabulary=config.vocab_size)
    tracker = Peak()
    tracker.parameters = {tuple(p.shape) for p in model.parameters() if p.dim() > 1}
    with tracker:
        for network in (model, reference):
            for tensor in [*network.parameters(), *network.buffers()] if network is not None else ():
                tracker.hold(tensor.untyped_storage())
        trainer.train()
    return tracker.most


def case(run: Run, most: int) -> dict[str, Any]:
    """The row of a case: what ran, in the words of the truth set."""
    _, hidden, layers, heads, kv_heads, head_dim, ffn, vocab, tied = trainer_memory.SHAPES[run.model]
    lora = run.method == "lora"
    precision = "bf16" if lora else "bf16-true" if run.weights == "bf16" else "autocast to bf16"
    used = (torch, transformers, peft, trl)
    return {
        "id": f"counted-{run.name}",
        "kind": f"finetune_{run.method}",
        "metric": "peak_memory_per_device",
        "value": round(most / GIB, 6),
        "unit": "GiB",
        "model": {
            "name": run.model, "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads,
            "head_dim": head_dim, "ffn": ffn, "ffn_gated": True, "vocab": vocab, "tied_embeddings": tied,
        },
        "hardware": {"device": "h200-sxm", "count": 1},
        "workload": {
            "method": "LoRA" if lora else "Full finetune",
            "seq_len": run.seq,
            "micro_batch": run.sequences,
            "precision": precision,
            "parallelism": {},
            "activation_checkpointing": run.gc,
            "optimizer": run.optim,
            "counted": "allocated",
            "engine": "transformers" if run.by == "trainer" else "trl",
            **({"lora_rank": run.rank, "lora_targets": "all linear"} if lora else {}),
            **({"preference": run.by} if run.by not in ("trainer", "sft") else {}),
        },
        "source": {
            "title": "counted by PyTorch's own allocations (tools/count_trainers.py)",
            "path": ", ".join(f"{each.__name__} {each.__version__}" for each in used),
        },
        "source_family": "counted-trainers",
        "hw_family": "none",
        "core": True,
    }  # fmt: skip


def counted(run: Run) -> int:
    """`peak` in a process of its own, which inherits what was imported."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writes, str(peak(run)).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as said:
        text = said.read()
    os.waitpid(child, 0)
    return int(text)


def main() -> int:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    out, wanted = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "."
    rows = []
    for run, shape in runs():
        trainer_memory.SHAPES[run.model] = shape
        if re.search(wanted, run.name):
            rows.append(case(run, counted(run)))
            print(f"{rows[-1]['id']:70} {rows[-1]['value']:9.4f} GiB", file=sys.stderr, flush=True)
            out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
