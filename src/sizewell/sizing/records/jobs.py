"""What is to be run and on what: the inputs of every memory and time prediction. Pure records, no arithmetic.

`TrainingJob` and `ServingJob` say what the work is, `Cluster` what it runs on, `Layout` how it is split.
The same records serve `sizewell size`, `sizewell explain` and `sizewell validate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sizewell.sizing.catalog.records import Accelerator, Architecture

Checkpointing = Literal["none", "selective", "full"]
Method = Literal["pretrain", "full", "lora", "qlora"]
Schedule = Literal["1f1b", "gpipe"]
Grade = Literal["measured", "interpolated", "calibrated", "roofline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A training or fine-tuning run. Batches count samples (sequences, images); tokens = samples x sequence_length."""

    architecture: Architecture
    method: Method = "pretrain"
    precision: str = "bf16"  # compute: bf16 | fp16 | fp8 | fp4 | tf32 | fp32
    weights: str = ""  # stored weights; "" as `precision`; qlora: "nf4" | "int4" | "int8"
    gradients: str = ""  # that are accumulated and reduced: fp32 | bf16 | fp16; "" as the software does
    unsharded_gradients: bool = False  # micro-batches but the last are not synchronised (`no_sync`)
    pipeline_schedule: str = ""  # 1f1b | interleaved | gpipe; "" 1F1B, interleaved where the search finds that faster
    optimizer: str = "adamw"
    sequence_length: int = 0
    global_batch: int = 1  # samples per optimizer step, over all devices
    samples: float | None = None  # in the whole run
    checkpointing: Checkpointing | None = None  # None: the layout search chooses
    attention: Literal["flash", "eager"] = "flash"
    packed: bool = True
    lora_rank: int = 0
    lora_targets: tuple[str, ...] = ()  # () = the framework's default
    preference: str = ""  # dpo | orpo | kto | reward: learns from which answers people prefer
    framework: str = "pytorch"  # pytorch | jax | tensorflow
    engine: str = ""  # megatron | nemo | torchtitan | maxtext | llm-foundry | litgpt | ... where known
    engine_assumed: bool = False  # nobody names it, and it is what such work usually runs
    entry_script: str = ""  # that is launched, and whose layouts alone are searched; "": any layout
    stages: bool = True  # whether what runs it can divide a model into stages, along a sequence and by experts
    compiled: bool | None = False  # by a compiler that fuses kernels; None: not stated, halfway between
    fully_sharded: bool = False  # by Megatron-FSDP, in place of Megatron-Core's distributed optimizer
    cpu_offload: bool = False
    chunked_loss: bool = False
    optimizer_in_backward: bool = False
    activation_offload: bool = False
    async_tensor: bool = False  # products split so that tensor-parallel traffic runs beside them, where not the default

    @property
    def reference(self) -> bool:
        """Whether a frozen copy of the model is held; beside adapters it is the base model itself."""
        return self.preference in ("dpo", "kto") and self.method not in ("lora", "qlora")

    @property
    def forwards(self) -> float:
        """Passes forward of a sequence beside the one that is trained: of the reference, and for KTO's estimate of the
        divergence one more of both (DPOTrainer and KTOTrainer of TRL 1.16).
        """
        return {"dpo": 1.0, "kto": 3.0}.get(self.preference, 0.0)

    @property
    def scored(self) -> bool:
        """Whether a sequence gets one number in place of logits."""
        return self.preference == "reward"

    @property
    def paired(self) -> bool:
        """Whether sequences are read by twos: the answer that is preferred, and the other."""
        return self.preference in ("dpo", "orpo", "reward")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How many times as long as predicted the parts of a service take, as it was measured on one accelerator."""

    accelerator: str = ""  # key of the one that was measured
    steps: float = 1.0  # what each step takes: weights and cache read, the engine's own time
    prompts: float = 1.0  # reading prompts: products, attention, launches of kernels
    wait_s: float = 0.0  # of a first token, beyond what the device takes: on whichever accelerator

    def on(self, accelerator: Accelerator) -> tuple[float, float]:
        """(steps, prompts) there. What is measured of one counts for another as far as it is slower.

        >>> from sizewell.sizing.catalog import load
        >>> pace = Pace(accelerator="l4", steps=1.2, prompts=0.8)
        >>> pace.on(load().accelerator("l4")), pace.on(load().accelerator("t4"))
        ((1.2, 0.8), (1.2, 1.0))
        """
        if accelerator.key == self.accelerator:
            return self.steps, self.prompts
        return max(1.0, self.steps), max(1.0, self.prompts)

    def said(self) -> str:
        """In words.

        >>> Pace(steps=1.2, prompts=0.8, wait_s=0.04).said()
        'a step takes 1.20 times as long as predicted, reading a prompt 0.80 times, a first token waits 40 ms more'
        """
        wait = f", a first token waits {1000 * self.wait_s:.0f} ms more" if self.wait_s else ""
        return (
            f"a step takes {self.steps:.2f} times as long as predicted, reading a prompt {self.prompts:.2f} times{wait}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """Speculative decoding: `tokens` are proposed to each sequence, and one step of the model accepts some of them."""

    draft: Architecture | None = None  # that proposes; None: n-grams of the prompt, which take no time of the device
    name: str = ""  # of its checkpoint; "" as of the draft
    weights: str = "bf16"  # of the draft
    dense_weights: str = ""
    weights_group: int = 0
    block: int = 0
    tokens: int = 5
    acceptance: float = 0.0  # probability that a proposed token is accepted where those before it were

    @property
    def tokens_per_step(self) -> float:
        """Tokens that a step of the model adds to a sequence, at the mean: those accepted and one of its own
        (Leviathan et al., "Fast inference from transformers via speculative decoding", 2023, equation 1).

        >>> [round(Speculation(tokens=4, acceptance=a).tokens_per_step, 2) for a in (0.0, 0.5, 0.8, 1.0)]
        [1.0, 1.94, 3.36, 5.0]
        """
        if self.acceptance >= 1.0:
            return self.tokens + 1.0
        return (1.0 - self.acceptance ** (self.tokens + 1)) / (1.0 - self.acceptance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingJob:
    """Inference: requests of `input_tokens` and `output_tokens`, or samples of vision, encoder and diffusion models."""

    architecture: Architecture
    weights: str = "bf16"  # fp32 | bf16 | fp16 | fp8 | int8 | fp4 | int4
    dense_weights: str = ""  # of all that is no routed expert, where the checkpoint stores it otherwise
    weights_group: int = 0  # values that share a scale, where the checkpoint says it; 0: as usual for the format
    made_at_load: bool = False  # its engine makes `weights` of 16-bit ones, which are what is stored and fetched
    block: int = 0  # rows and columns that share a scale: no device's part of a matrix may cut through one; 0: any
    kv: str = ""  # "" as 16-bit; fp8
    input_tokens: float = 0
    output_tokens: float = 0
    max_sequence_length: int = 0  # 0: input + output
    longest_tokens: int = 0  # of the longest request that has to be taken, where the spec says how lengths spread
    engine: str = "vllm"
    engine_assumed: bool = False  # as of training
    memory_fraction: float = 0.9  # of the device, that the engine may use
    passes_per_sample: float = 1.0  # forward passes: denoising steps, twice with guidance; 1 elsewhere
    adapters: int = 0  # LoRA adapters in each replica's device memory, of which a request uses one
    adapter_rank: int = 0  # that the engine reserves room for
    prefix: float = 0.0  # share of a prompt's tokens that the prefix cache holds
    attention_by_request: bool = False  # devices of a replica share experts, each attends to requests of its own
    pace: Pace | None = None  # None: as predicted
    speculation: Speculation | None = None

    @property
    def drafting(self) -> ServingJob | None:
        """The draft model as a job of its own, beside which it runs; None without one."""
        of = self.speculation
        if of is None or of.draft is None:
            return None
        return replace(
            self,
            architecture=of.draft,
            weights=of.weights,
            dense_weights=of.dense_weights,
            weights_group=of.weights_group,
            block=of.block,
            speculation=None,
            adapters=0,
            adapter_rank=0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What the job runs on: `nodes` equal machines of `per_node` accelerators.

    `scale_up` is the number of accelerators, over all nodes, in one fast domain (8 in an HGX, 72 in an NVL72, the slice
    on TPU, 1 over PCIe); `link_bytes_per_s` is per accelerator inside it, bidirectional; `network_bytes_per_s` per
    accelerator between domains, one direction.
    """

    accelerator: Accelerator
    per_node: int
    nodes: int = 1
    scale_up: int = 1
    link_bytes_per_s: float | None = None
    network_bytes_per_s: float | None = None
    fabric: str = ""
    topology: str = ""  # TPU slice, "4x4x8"
    host_vcpus: float | None = None  # of one machine; None: not known, so decoding is taken to keep up
    storage_bytes_per_s: float | None = None  # that one machine reads training data at; None: as for vCPUs

    @property
    def devices(self) -> int:
        return self.per_node * self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a job is split: tensor x pipeline x context x data = devices; experts are spread over data (and context).

    With `expert` > 1 a device holds whole experts (Megatron-Core's expert-tensor size 1), else `tensor` divides them.
    """

    tensor: int = 1
    pipeline: int = 1
    virtual_pipeline: int = 1
    schedule: Schedule = "1f1b"  # gpipe: all forward passes before the first backward one
    context: int = 1
    data: int = 1
    expert: int = 1
    zero_stage: int = 0  # 0 DDP, 1 optimizer state, 2 + gradients, 3 + weights (FSDP)
    shard_group: int = 0  # devices that ZeRO shards over; 0 = all of `data`
    sequence_parallel: bool = False
    micro_batch: int = 1
    checkpointing: Checkpointing = "none"

    @property
    def devices(self) -> int:
        return self.tensor * self.pipeline * self.context * self.data


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """Peak bytes on the fullest device, itemised; `low` and `high` are the edges of the 80 % band."""

    breakdown: tuple[tuple[str, int], ...]  # (item, bytes), largest cause first is the printer's business
    low_bytes: int
    high_bytes: int
    grade: Grade
    assumptions: tuple[str, ...] = ()

    @property
    def total_bytes(self) -> int:
        return sum(size for _, size in self.breakdown)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEstimate:
    """Time of one optimizer step, itemised as a waterfall that sums to `step_s`; the 80 % band around it."""

    step_s: float
    waterfall: tuple[tuple[str, float], ...]  # (item, seconds): compute, memory, intra-node, inter-node, bubble, ...
    bottleneck: str
    mfu: float  # model FLOPs (attention counted as causal half) per step / (step_s x devices x dense peak)
    tokens_per_s: float  # all devices; samples x sequence_length / step_s (samples/s for vision)
    low_s: float
    high_s: float
    grade: Grade
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingEstimate:
    """One replica under a stated load. Rates are for the replica, latencies at the stated percentile."""

    batch: float  # sequences in flight
    output_tokens_per_s: float
    requests_per_s: float  # or samples/s
    ttft_s: float
    tpot_s: float
    e2e_s: float
    low: float  # 80 % band of requests_per_s
    high: float
    bottleneck: str
    grade: Grade
    assumptions: tuple[str, ...] = ()
