"""The software that such work usually runs, for predictions where nobody names it.

A rule of a few lines, by what the work is and never by whose run it is: figures of a run depend on its software by up
to a third (kernels, sharding, recomputation), and the plainest software is not what most people run. Practice as the
projects document it: Megatron-Core where experts or 8- and 4-bit training are wanted (Transformer Engine's recipes),
Hugging Face's PEFT for adapters, MaxText in JAX, Neuron's own stack, PyTorch's FSDP for the rest; vLLM for serving.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.sizing.catalog.records import Architecture

NARROW: Final = frozenset({"fp8", "fp4", "int8"})
PYTORCH: Final = ""  # plain PyTorch with FSDP, as predictions spell it
SERVING: Final = "vllm"
SHOWN: Final[Mapping[str, str]] = {
    PYTORCH: "PyTorch with FSDP",
    "megatron-bridge": "Megatron-Core on GPUs",
    "megatron": "Megatron-LM",
    "peft": "Hugging Face PEFT",
    "trl": "Hugging Face TRL",
    "maxtext": "MaxText",
    "neuron": "Neuron",
    "torch-xla": "PyTorch/XLA",
    "habana": "Gaudi's PyTorch bridge",
}
COMPILES: Final = frozenset({"tpu", "neuron"})
"""Runtimes whose programs a compiler always makes: kernels are fused whatever the framework is."""
UNFUSED_ATTENTION: Final = frozenset({"tpu-v2", "tpu-v3"})
"""Accelerators that fused attention is not compiled for, whatever the software (AI-Hypercomputer/maxtext#791)."""
BUILDS: Final[Mapping[str, str]] = {"rocm": " for ROCm", "tpu": " for TPU", "neuron": " for Neuron"}
"""What an engine's own builds for other accelerators than NVIDIA's are called."""
_OWN: Final[Mapping[str, str]] = {"tpu": "torch-xla", "neuron": "neuron", "gaudi": "habana"}


def usual_training(
    architecture: Architecture,
    *,
    method: str,
    precision: str,
    framework: str = "",
    runtime: str = "cuda",
    split: bool | None = None,
) -> str:
    """The training software that is assumed, as predictions name it; "" is PyTorch with FSDP.

    `split` says whether layers are divided over devices (tensor or pipeline parallelism), which is Megatron's way, or
    known not to be (sharded by FSDP or ZeRO alone); None where it is not stated. `framework` is "" where not stated: on
    TPU that is JAX.

    >>> from sizewell.sizing.catalog.records import Architecture
    >>> dense = Architecture(key="x", kind="decoder", layers=2, hidden=64)
    >>> [usual_training(dense, method="full", precision=name) for name in ("bf16", "fp8")]
    ['', 'megatron-bridge']
    """
    if framework == "jax" or (runtime == "tpu" and framework != "pytorch"):
        return "maxtext"
    if runtime in _OWN:
        return _OWN[runtime]
    if architecture.kind in ("vision", "diffusion"):
        return PYTORCH
    if runtime in ("cuda", "rocm") and method != "qlora" and split is not False:
        if precision == "fp16":  # without bf16: hardware and software from before fused attention
            return "megatron" if split else PYTORCH
        if split or precision in NARROW or architecture.experts:
            return "megatron-bridge"
    return "peft" if method in ("lora", "qlora") else PYTORCH
