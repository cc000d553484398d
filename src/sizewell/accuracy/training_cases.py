"""A training memory case as a job, a layout and a device; what is left open follows the engine's defaults.

Assumptions, in words: batches in tokens are divided by the sequence length; data parallelism is what the devices leave
over after tensor, pipeline and context parallelism; FSDP counts as ZeRO-3 (SHARD_GRAD_OP as ZeRO-2); Megatron and NeMo
shard the optimizer (ZeRO-1), use sequence parallelism with tensor parallelism and recompute nothing unless stated;
torchtune, litgpt `bf16-true` and adapters hold everything trained in 16 bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from sizewell.accuracy.cases import Case
from sizewell.accuracy.describe import (
    JAX_ENGINES,
    architecture_of,
    counted,
    device_of,
    engine_of,
    gradients_of,
    products_in,
    stated_split,
    unsynchronised,
)
from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.predict.memory.states import MEGATRON
from sizewell.sizing.predict.software import as_run, software_with
from sizewell.sizing.predict.usual import SHOWN, usual_training
from sizewell.sizing.records.jobs import Checkpointing, Layout, TrainingJob

_UNSTATED_DEVICES = 512
_ALPACA_TOKENS = 1000  # the peak is set by the longest samples of the set, about a thousand tokens
SIXTEEN_BIT = software_with("sixteen-bit")
HUGGING_FACE = frozenset({"transformers", "transformers-2024", "unsloth", "llama-factory", "peft", "axolotl", "trl"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCase:
    """What to predict: `layout` is None where the source says too little to name one."""

    job: TrainingJob
    layout: Layout | None
    accelerator: Accelerator
    measure: str  # device | reserved | allocated: what the published memory figure counts
    assumptions: tuple[str, ...] = ()


def training_case(case: Case) -> TrainingCase:
    """The records of a training case; CannotPredictError where the source says too little."""
    w = case.workload
    a, device, engine = architecture_of(case), device_of(case), engine_of(case)
    assumed: list[str] = []
    count = case.hardware.get("count")
    if not count:
        count = _UNSTATED_DEVICES
        assumed.append(f"{count} devices, as the source does not say")
    count = int(count)
    sequence = _sequence(case, a, assumed)
    method = _method(case)
    checkpointing, offload = _checkpointing(w.get("activation_checkpointing"))
    precision, weights = _precision(products_in(w.get("precision")), device, engine, method, case)
    nobody_says = not engine
    if nobody_says:
        # Layers divided by a program without a name are counted as plain PyTorch's, which needs more.
        sharded = False if stated_split(case) is False else None
        engine = usual_training(a, method=method, precision=precision, runtime=device.runtime, split=sharded)
        precision, weights = _precision(products_in(w.get("precision")), device, engine, method, case)
        assumed.append(f"run by {SHOWN[engine]}, as the source names no software")
    job = TrainingJob(
        architecture=a,
        method=method,
        precision=precision,
        weights=weights,
        optimizer=optimizer_of(case),
        gradients=gradients_of(case),
        unsharded_gradients=unsynchronised(case),
        sequence_length=sequence,
        lora_rank=rank_of(case) if method in ("lora", "qlora") else 0,
        lora_targets=targets_of(case) if method in ("lora", "qlora") else (),
        attention=_attention(w, engine),
        preference=str(w.get("preference") or ""),
        packed=bool(w.get("packed", True)),
        framework="jax" if engine in JAX_ENGINES else "pytorch",
        engine=engine,
        engine_assumed=nobody_says,
        compiled=bool(w.get("compile")),
        cpu_offload=bool(w.get("cpu_offload")) or "offload" in str(w.get("method") or ""),
        chunked_loss=bool(w.get("chunked_ce")),
        optimizer_in_backward=bool(w.get("optimizer_in_bwd")),
        activation_offload=bool(w.get("activation_offload")) or offload,
    )
    layout = _layout(case, count, engine_of(case), assumed)  # without a name, nothing is sharded that nobody states
    # What a source does not say of Unsloth's checkpoints was measured before it had any in the host's memory.
    job = replace(as_run(replace(job, checkpointing=checkpointing)), activation_offload=job.activation_offload)
    job = replace(job, checkpointing=job.checkpointing or _default_checkpointing(engine, job))
    if layout is not None:
        layout = replace(layout, checkpointing=job.checkpointing or "none")
        job = replace(job, global_batch=_global_batch(case, layout, sequence, count))
    else:
        job = replace(job, global_batch=_global_batch(case, None, sequence, count))
    return TrainingCase(
        job=job,
        layout=layout,
        accelerator=device,
        measure=counted(case),
        assumptions=tuple(assumed),
    )


def _sequence(case: Case, model: Architecture, assumed: list[str]) -> int:
    stated = case.workload.get("seq_len")
    if isinstance(stated, int | float) and stated:
        return int(stated)
    if model.kind in ("vision", "diffusion"):
        return 0
    if isinstance(stated, str) and "alpaca" in stated:
        assumed.append(f"{_ALPACA_TOKENS} tokens per unpacked sample")
        return _ALPACA_TOKENS
    length = 512 if model.kind == "encoder" else min(4096, model.max_sequence_length or 2048)
    assumed.append(f"sequences of {length} tokens, as the source does not say")
    return length


def _method(case: Case) -> Any:
    said = f"{case.workload.get('method') or ''} {case.kind}".lower()
    bits, quantised = case.workload.get("base_bits"), str(case.workload.get("quantization") or "").lower()
    if "qlora" in said or bits == 4 or (quantised not in ("", "none") and "lora" in said):
        return "qlora"
    if "lora" in said or "adapter" in said or case.workload.get("lora"):
        return "lora"
    return "full" if "full" in said or case.kind == "finetune_full" else "pretrain"


def _precision(said: str, device: Accelerator, engine: str, method: str, case: Case) -> tuple[str, str]:
    """(computing precision, stored weights); weights "" lets the recipe follow the engine."""
    text = said.lower()
    stored = ""
    if "nvfp4" in text or "fp4" in text:
        computing = "fp4"
    elif "fp8" in text or "float8" in text or "int8" in text or text == "see submission (fp8 typical for nvidia llm)":
        computing = "fp8" if "fp8" in device.flop_per_s or "int8" in text else "bf16"
    elif "fp32" in text and "autocast" not in text and "fp32 weights" not in text:
        computing = "fp32"
    elif "tf32" in text:
        computing = "tf32"
    elif "fp16" in text or (text == "amp" and device.family in ("volta", "turing")):
        computing = "fp16"
    else:
        computing = "bf16" if "bf16" in device.flop_per_s else "fp16"
    if method == "qlora":
        quantised = str(case.workload.get("quantization") or "").lower()
        stored = "int4" if "gptq" in quantised else "nf4" if quantised == "nf4" else "nf4-dq"
        computing = "bf16" if computing in ("fp4", "fp8") else computing
    elif "fp32 weights" in text:
        stored = "fp32"
    elif "true" in text or "optimizer in bf16" in text or (engine in SIXTEEN_BIT and method == "lora"):
        stored = "bf16"
    elif text == "amp" or text.startswith("autocast") or (method == "full" and engine in HUGGING_FACE and _whole(case)):
        stored = "fp32"  # mixed precision through autocast, over fp32 weights
    return computing, stored


def _whole(case: Case) -> bool:
    """Whether every device holds the whole model state."""
    return not any(case.parallelism.get(name) for name in ("zero", "fsdp", "tp", "pp"))


def stored_of(case: Case, precision: str, engine: str) -> str:
    """In what weights that are all trained are kept, under Hugging Face's Trainer: "" follows the software."""
    text = products_in(case.workload.get("precision"))
    if "true" in text:
        return "bf16" if precision == "bf16" else precision
    return "fp32" if "autocast" in text or (engine in HUGGING_FACE and _whole(case)) else ""


def optimizer_of(case: Case) -> str:
    """The optimizer that ran, AdamW where its source does not say."""
    said = str(case.workload.get("optimizer") or "adamw")
    text = said.lower()
    if text in ("adamw_torch", "adamw_torch_fused", "sgd"):  # names of torch.optim as Hugging Face's Trainer has them
        return text
    for word, name in (
        ("8bit", "adamw8bit"),
        ("8-bit", "adamw8bit"),
        ("adamw", "adamw"),
        ("adam", "adamw"),
        ("lamb", "lamb"),
        ("lion", "lion"),
        ("lars", "lars"),
        ("adafactor", "adafactor"),
        ("sgd", "sgd-momentum"),
    ):
        if word in text:
            return name
    return said


def _checkpointing(said: object) -> tuple[Checkpointing | None, bool]:
    """(what is checkpointed, whether checkpoints are offloaded); None where it is not stated."""
    if said is None:
        return None, False
    if isinstance(said, bool):
        return ("full" if said else "none"), False
    text = str(said).lower()
    if "offload" in text:
        return "full", True
    if text.startswith(("select", "minimal")):
        return "selective", False
    return ("none" if text in ("none", "false", "no") else "full"), False


def _default_checkpointing(engine: str, job: TrainingJob) -> Checkpointing | None:
    """Fine-tuning recipes of Hugging Face's family and torchtune recompute; the rest do not unless they say so."""
    if engine in HUGGING_FACE | {"torchtune"} and job.method != "pretrain":
        return "full"
    return "none" if engine == "litgpt" else None


def _attention(w: Any, engine: str) -> Literal["flash", "eager"]:
    """Fused attention unless the source means otherwise: Megatron in fp16, of 2021 and 2022, had none yet."""
    said, precision = str(w.get("framework") or "").lower(), str(w.get("precision") or "").lower()
    old = engine in ("megatron", "megatron-deepspeed") and "fp16" in precision
    return "eager" if said == "hf" or old else "flash"


def rank_of(case: Case) -> int:
    stated = _number(case.workload.get("lora_rank"))
    if stated:
        return int(stated)
    match = re.search(r"r ?=? ?(\d+)", str(case.workload.get("method") or ""))
    if match:
        return int(match.group(1))
    trainable, a = case.workload.get("trainable_params"), architecture_of(case)
    if trainable and a.layers:  # as many as the trained parameters make over q and v
        return max(1, round(float(trainable) / (a.layers * 4 * a.hidden)))
    return 8


def targets_of(case: Case) -> tuple[str, ...]:
    said = f"{case.workload.get('lora_targets') or ''} {case.workload.get('method') or ''}".lower().strip()
    if said.startswith("adapter"):
        return ("scale",) if "v2" in said else ("prompt",)
    if "all" in said:
        return ("q", "k", "v", "o", "gate", "up", "down")
    if "q and v" in said:
        return ("q", "v")
    if engine_of(case) == "torchtune" and not case.workload.get("lora_rank"):
        return ("q", "v", "o", "gate", "up", "down")
    return ()


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value else None


def _degree(value: object) -> int:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def _layout(case: Case, count: int, engine: str, assumed: list[str]) -> Layout | None:
    p, w = case.parallelism, case.workload
    if not p and count > 1 and not isinstance(w.get("parallelism"), str):
        return None
    if isinstance(w.get("parallelism"), str) and "DP" not in str(w["parallelism"]):
        return None
    tensor, pipeline, context = _degree(p.get("tp")), _degree(p.get("pp")), _degree(p.get("cp"))
    data = max(1, count // (tensor * pipeline * context))
    micro = _number(w.get("micro_batch")) or _number(w.get("per_device_batch")) or _batch_in_words(w.get("batch"))
    micro_batch = max(1, int(micro)) if micro else 1
    if _number(w.get("per_device_batch")) and not _number(w.get("micro_batch")):
        micro_batch = max(1, int(float(w["per_device_batch"]) * tensor * pipeline * context))
    if not micro:
        assumed.append("micro-batch of 1, as the source does not say")
    fsdp, zero = p.get("fsdp"), p.get("zero")
    stage = 0
    if isinstance(zero, int):
        stage = zero
    elif isinstance(fsdp, str):
        stage = 2 if "GRAD_OP" in fsdp else 3
    elif isinstance(fsdp, int) and fsdp > 0 and (fsdp > 1 or count == 1 or "cp" in p):
        stage = 3
    elif engine in ("megatron", "megatron-bridge", "nemo", "mlperf") and data * context > 1:
        stage = 1
    elif engine in JAX_ENGINES:
        stage = 3
    slices = _degree(p.get("dcn_dp"))
    return Layout(
        tensor=tensor,
        pipeline=pipeline,
        virtual_pipeline=_degree(p.get("vp")),
        schedule="gpipe" if "gpipe" in str(p.get("schedule") or "").lower() else "1f1b",
        context=context,
        data=data,
        expert=_degree(p.get("ep")),
        zero_stage=stage,
        shard_group=max(1, data // slices) if stage == 3 and slices > 1 else 0,
        sequence_parallel=_sequence_parallel(p, engine, tensor),
        micro_batch=micro_batch,
    )


def _sequence_parallel(p: Any, engine: str, tensor: int) -> bool:
    if "sequence_parallel" in p:
        return bool(p["sequence_parallel"])
    return tensor > 1 and engine in (MEGATRON - {"megatron-deepspeed"}) | {"torchtitan", "mlperf"}


def _batch_in_words(said: object) -> float | None:
    if isinstance(said, int | float):
        return float(said)
    match = re.match(r"(\d+) per GPU", str(said or ""))
    return float(match.group(1)) if match else None


def _global_batch(case: Case, layout: Layout | None, sequence: int, count: int) -> int:
    w = case.workload
    stated = _number(w.get("global_batch"))
    if stated:
        return int(stated)
    tokens = _number(w.get("global_batch_tokens"))
    if tokens and sequence:
        return max(1, round(tokens / sequence))
    per_device = _number(w.get("per_device_batch"))
    if per_device:
        return max(1, round(per_device * count))
    if layout is None:
        tokens_wanted = 4e6 if case.metric in ("gpu_hours", "duration_days") else 16384.0 * count
        return max(1, round(tokens_wanted / max(1, sequence))) if sequence else 256 * count
    return max(1, int(layout.micro_batch * layout.data * (_number(w.get("grad_accum")) or 1)))
