"""Peak memory and step time of Hugging Face's Trainer on one GPU, cut at the moments of a step.

    python benchmarks/trainer_memory.py --out runs.jsonl [--seconds 500] [--only REGEX]

Needs a GPU, PyTorch, transformers, peft and accelerate; runs with `nf4` or an 8-bit optimizer need bitsandbytes, those
with `zero` DeepSpeed. Weights are random values of the stated shape, so nothing is downloaded. Each run is a process of
its own.

A step is cut where the Trainer says so: forward and backward end at `on_pre_optimizer_step`, the optimizer's step at
`on_optimizer_step`. Bytes are those of PyTorch's allocator (`allocated`, `reserved`) and what the device lacks
altogether (`device`: with the context and libraries). `step_s` is the median of the steps after the first.

`benchmarks/measured/trainer_h100.jsonl` has what it wrote on 2026-11-26 on one NVIDIA H100 80GB HBM3 with PyTorch
2.11.0+cu130, transformers 5.17.0, peft 0.21.0, accelerate 1.15.0, bitsandbytes 0.50.2 and DeepSpeed 0.19.8.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import traceback
from dataclasses import asdict, dataclass
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

    @property
    def name(self) -> str:
        parts = [self.model, self.method, self.weights, self.optim, f"s{self.seq}", f"b{self.batch}"]
        parts += ["gc" if self.gc else "nogc", f"a{self.accum}"]
        if self.method != "full":
            parts += [f"r{self.rank}"] + ["qv"] * (self.targets != "all-linear")
        return "-".join(parts + [f"z{self.zero}"] * bool(self.zero) + ["offload"] * self.offload)

    @property
    def needs_extras(self) -> bool:
        """The libraries for both start CUDA while they are imported, and a forked process cannot start it again."""
        return bool(self.zero) or self.method == "qlora" or "8bit" in self.optim


# hidden, layers, heads, KV heads, head size, feed-forward, vocabulary, tied embeddings
SHAPES = {
    "tiny": ("Llama", 64, 2, 4, 2, 16, 128, 512, False),
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
}
_OWN_SETTINGS: dict[str, dict[str, Any]] = {"Mistral": {"sliding_window": None}, "Phi3": {"pad_token_id": 0}}


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
    if family in ("Llama", "Gemma2", "Qwen3"):
        settings["head_dim"] = head_dim
    if family == "Olmoe":
        settings |= {"num_experts": 64, "num_experts_per_tok": 8}
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
                child.weight.data.cpu(), requires_grad=False, quant_type="nf4", compress_statistics=True
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
    return get_peft_model(
        model,
        LoraConfig(
            r=run.rank, lora_alpha=2 * run.rank, lora_dropout=0.0, target_modules=targets, task_type="CAUSAL_LM"
        ),
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
    torch.set_default_dtype(held)
    with torch.device(device):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=held, attn_implementation=run.attn)
    torch.set_default_dtype(torch.float32)
    row["params"] = sum(p.numel() for p in model.parameters())
    if run.method == "qlora":
        model = quantized(model)
    if run.method != "full":
        model = with_adapter(model, run)
    row["trainable"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
    row["weights_bytes"] = torch.cuda.memory_allocated() if gpu else 0

    class Tokens(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 1000

        def __getitem__(self, i: int) -> dict[str, Any]:
            ids = torch.randint(0, config.vocab_size, (run.seq,), generator=torch.Generator().manual_seed(i))
            return {"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids)}

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

    arguments = transformers.TrainingArguments(
        output_dir=f"/tmp/trainer-memory-{os.getpid()}",
        max_steps=run.steps,
        per_device_train_batch_size=run.batch,
        gradient_accumulation_steps=run.accum,
        gradient_checkpointing=run.gc,
        gradient_checkpointing_kwargs={"use_reentrant": False} if run.gc else None,
        bf16=True,
        optim=run.optim,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        learning_rate=1e-5,
        disable_tqdm=True,
        deepspeed=deepspeed_config(run),
        use_cpu=not gpu,
        remove_unused_columns=False,
    )
    transformers.Trainer(model=model, args=arguments, train_dataset=Tokens(), callbacks=[Moments()]).train()
    row["steps"] = steps
    if gpu:
        moments = ("forward_backward_peak", "optimizer_peak", "rest_peak")
        row["peak_allocated"] = max(step.get(moment, 0) for step in steps for moment in moments)
        row["peak_reserved"] = max(step["reserved"] for step in steps)
        row["peak_device"] = max(step["device"] for step in steps)
    row["step_s"] = sorted(step["s"] for step in steps[1:])[len(steps[1:]) // 2]
    row["versions"] = {each.__name__: each.__version__ for each in (torch, transformers, peft, accelerate)}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=600, help="begin no further run after these")
    parser.add_argument("--run-seconds", type=float, default=60, help="end a run that takes longer")
    parser.add_argument("--only", default=".", help="runs whose name matches this regular expression")
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="cpu tries the script, with `--only tiny`"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.update(TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
    if given.one:
        attempt(Run(**json.loads(given.one)), given.device, given.out)

    # Read once, before CUDA starts, and inherited by each run.
    import peft  # noqa: F401
    import torch
    from transformers import AutoModelForCausalLM, Trainer  # noqa: F401

    forks = not torch.cuda.is_initialized()
    began = time.monotonic()
    runs = all_runs() if given.device == "cuda" else [Run(model="tiny", seq=64, steps=3)]
    for run in (run for run in runs if re.search(given.only, run.name)):
        if time.monotonic() - began > given.seconds:
            print("out of time before", run.name)
            return
        child = os.fork()
        if child == 0 and (run.needs_extras or not forks):
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
