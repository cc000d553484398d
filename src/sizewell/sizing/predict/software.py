"""What is known of the software that runs a model, where it changes memory or speed: one row for each, traits by name.

The names are those by which jobs and published measurements call it (`TrainingJob.engine`, `ServingJob.engine`); an
engine that Sizewell launches says by `predicted_as` which row is its own. Software without a row has no trait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from sizewell import csvtables
from sizewell.sizing.records.jobs import TrainingJob

Trait = Literal[
    "paged",  # keeps its cache in pages and takes a share of the device for it
    "frees-windows",  # gives the blocks back that fall out of a sliding window
    "whole-heads",  # divides whole heads only; others pad or repeat them
    "megatron",  # Megatron's kernels and its distributed optimizer
    "optimizer-in-place",  # gathers weights and reduces gradients in their own buffers
    "transformer-engine",  # keeps 8-bit inputs and recomputes modules one by one
    "vendor-attention",  # the vendor's attention kernels, written for each generation
    "keeps-less",  # its fused kernels keep fewer activations for the backward pass
    "fused",  # normalisation, activation and dropout are one kernel each, without being asked to compile
    "tuned-convolutions",
    "quantises-head",  # the output head too (bitsandbytes through Lightning)
    "replicates-tables",  # tensor parallelism keeps embeddings and head on every device
    "casts-up",  # what is not quantised is cast to fp32 (PEFT's preparation for k-bit training)
    "foreach",  # PyTorch's own optimizers as they are, which step over all parameters at once
    "trainer",  # Hugging Face's Trainer: PyTorch's allocator as it is, tables' states of 8-bit optimizers in 32 bits
    "launches",  # transformers' modules as they are: Python launches each kernel, one by one
    "shards-alone",  # divides a model by FSDP or ZeRO, never by tensor, pipeline or context parallelism
    "staged-if-asked",  # divides into stages the program that is written for it: where a schedule of them is stated
    "one-stage",  # divides a model over data and tensor ranks, never into stages, along a sequence or by experts
    "optimizer-alone",  # shards the optimizer's state and nothing else (ZeRO-1), and divides no sequence
    "distributed-optimizer",  # shards the optimizer's state alone, beside whole gradients in fp32 (Megatron-Core)
    "adapters-shard-alone",  # divides a model with adapters by FSDP alone
    "flattens",  # gradients go into one flat buffer, and the step into an fp32 copy of it (DeepSpeed)
    "sixteen-bit",  # fine-tunes in 16 bits alone: weights, gradients and states, without a master copy
    "offloads-inputs",  # recomputes every layer, from inputs that wait in the host's memory
    "tiles-loss",  # goes over the output matrix tile by tile and never holds the logits
    "wide-adapters",  # adapters are in fp32 beside 16-bit weights, and each keeps its own copy of its input
]


def _traits(cell: str) -> tuple[str, ...]:
    traits = csvtables.words(cell)
    if unknown := set(traits) - set(get_args(Trait)):
        raise ValueError(f"unknown traits: {', '.join(sorted(unknown))}")
    return traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """A row of software.csv."""

    name: str
    traits: Annotated[tuple[str, ...], _traits]
    note: csvtables.Text = ""
    source: str


SOFTWARE: Final = {
    row.name: row.traits for row in csvtables.read(Software, Path(__file__).parent / "data/software.csv")
}


def gradient_bytes(engine: str, precision: str, stated: str = "") -> float:
    """Bytes per value of the buffer that gradients are accumulated and reduced in: as the run states, else as the
    software does. Megatron-LM's is in fp32 unless the run is in fp16; the recipes of Megatron-Bridge and NeMo that
    figures are published with turn that off (`grad_reduce_in_fp32=False`), and others reduce what the backward pass
    makes (DeepSpeed: `data_types.grad_accum_dtype` is the model's where nobody states it).

    >>> gradient_bytes("megatron", "bf16"), gradient_bytes("megatron-bridge", "bf16"), gradient_bytes("", "fp32")
    (4.0, 2.0, 4.0)
    >>> gradient_bytes("deepspeed", "bf16"), gradient_bytes("deepspeed", "bf16", "fp32")
    (2.0, 4.0)
    """
    if stated:
        return 4.0 if stated in ("fp32", "tf32") else 2.0
    wide = precision == "fp32" or (engine == "megatron" and precision != "fp16")
    return 4.0 if wide else 2.0


def kept_gradients(engine: str, precision: str) -> str:
    """The format that a run which states none keeps its gradients in, where that is not what published figures of the
    software are of: Megatron-LM adds up in fp32 for bf16 unless it is told `--grad-reduce-in-bf16`, and so do the
    recipes of NeMo (`grad_reduce_in_fp32=True` for bf16), but for those that only measure speed.

    >>> kept_gradients("megatron-bridge", "bf16"), kept_gradients("nemo", "fp16"), kept_gradients("deepspeed", "bf16")
    ('fp32', '', '')
    """
    return "fp32" if engine in software_with("distributed-optimizer") and precision != "fp16" else ""


def measured_as(engine: str) -> str:
    """The name under which errors of training software are kept: Hugging Face's libraries all run its Trainer.

    >>> measured_as("trl"), measured_as("torchtitan"), measured_as("")
    ('trainer', 'torchtitan', 'pytorch')
    """
    return "trainer" if engine in software_with("trainer") else engine or "pytorch"


def as_run(job: TrainingJob) -> TrainingJob:
    """The job with what its software does where nobody states it: both who sizes a run and who predicts a published one
    ask here. torchtune's recipes have `dtype: bf16` for a full fine-tune, Unsloth's `get_peft_model` has
    `use_gradient_checkpointing="unsloth"`. Hugging Face's Trainer keeps no master copy beside 16-bit weights: it runs
    weights in fp32 under autocast (4 bytes a parameter, 4 of gradients, 8 of AdamW's states, and 16-bit copies).

    >>> from sizewell.sizing.catalog.records import Architecture
    >>> as_run(TrainingJob(architecture=Architecture(key="x"), method="full", engine="torchtune")).weights
    'bf16'
    >>> made = as_run(TrainingJob(architecture=Architecture(key="x"), method="qlora", engine="unsloth"))
    >>> made.checkpointing, made.activation_offload
    ('full', True)
    """
    computes_so = job.method == "full" and job.precision in ("bf16", "fp16", "fp8")
    if computes_so and not job.weights and job.engine in software_with("sixteen-bit"):
        job = replace(job, weights="fp16" if job.precision == "fp16" else "bf16")
    if job.method == "full" and job.precision in ("bf16", "fp16") and not job.weights:
        job = replace(job, weights="fp32") if job.engine in software_with("trainer") else job
    if job.scored and not job.architecture.tied_embeddings:  # `AutoModelForSequenceClassification`: no output matrix
        job = replace(job, architecture=replace(job.architecture, tied_embeddings=True))
    adapted = job.method in ("lora", "qlora", "full")
    if adapted and job.engine in software_with("offloads-inputs") and job.checkpointing in (None, "full"):
        job = replace(job, checkpointing="full", activation_offload=True)
    return job


@cache
def software_with(trait: Trait) -> frozenset[str]:
    """The software with a trait.

    >>> sorted(software_with("tuned-convolutions"))
    ['maxdiffusion', 'mlperf']
    """
    return frozenset(name for name, traits in SOFTWARE.items() if trait in traits)
