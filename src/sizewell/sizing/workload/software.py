"""The software that a spec may name (`engine`): for which work, on which accelerators, and as what it is predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.predict.software import software_with

Work = Literal["serving", "training"]


ALL_METHODS: Final = frozenset({"full", "lora", "qlora"})
PREFERENCES: Final = frozenset({"dpo", "orpo", "kto", "reward"})
"""Methods that learn from which answers people prefer (TRL's trainers of these names, and what is built on them)."""
_PREFERRED: Final = ALL_METHODS | PREFERENCES
_SIXTEEN_BIT: Final = frozenset({"full", "lora"})  # no weights in 4 bits beside adapters
# Both have grown from text to speech and to image generators; no release classifies images (from memory).
_GENERATIVE: Final = frozenset({"decoder", "encoder", "speech", "diffusion"})
_PYTORCH: Final = frozenset({"cuda", "rocm"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """One engine: `runtimes` it is released for (from the projects' own installation pages, from memory)."""

    work: Work
    runtimes: frozenset[str]
    predicted_as: str  # whose fitted constants predict it; "" for plain PyTorch
    methods: frozenset[str] = ALL_METHODS  # of training: what it can do
    stages: bool = True  # of training: whether it divides a model into stages, along a sequence and by experts
    families: frozenset[str] = frozenset()  # that it serves, where no record of `ENGINES` says it


_STATED: Final[Mapping[str, Software]] = {
    "vllm": Software(
        work="serving", runtimes=frozenset({"cuda", "rocm", "tpu", "neuron", "gaudi", "cpu"}), predicted_as="vllm"
    ),
    "tensorrt-llm": Software(
        work="serving", runtimes=frozenset({"cuda"}), predicted_as="tensorrt-llm", families=_GENERATIVE
    ),
    "sglang": Software(
        work="serving", runtimes=frozenset({"cuda", "rocm", "tpu"}), predicted_as="sglang", families=_GENERATIVE
    ),
    "jetstream": Software(
        work="serving", runtimes=frozenset({"tpu"}), predicted_as="jetstream", families=frozenset({"decoder"})
    ),
    "llama.cpp": Software(work="serving", runtimes=frozenset({"cuda", "rocm", "cpu"}), predicted_as="llama.cpp"),
    "fsdp": Software(
        work="training", runtimes=frozenset({"cuda", "rocm", "tpu", "gaudi"}), predicted_as="", stages=False
    ),
    "megatron": Software(work="training", runtimes=_PYTORCH, predicted_as="megatron-bridge", methods=_SIXTEEN_BIT),
    "nemo": Software(work="training", runtimes=frozenset({"cuda"}), predicted_as="nemo", methods=_SIXTEEN_BIT),
    "transformers": Software(work="training", runtimes=_PYTORCH, predicted_as="transformers"),
    "peft": Software(work="training", runtimes=_PYTORCH, predicted_as="peft", methods=frozenset({"lora", "qlora"})),
    "trl": Software(work="training", runtimes=_PYTORCH, predicted_as="trl", methods=_PREFERRED),
    "axolotl": Software(work="training", runtimes=_PYTORCH, predicted_as="axolotl", methods=_PREFERRED),
    "llama-factory": Software(work="training", runtimes=_PYTORCH, predicted_as="llama-factory", methods=_PREFERRED),
    "unsloth": Software(work="training", runtimes=frozenset({"cuda"}), predicted_as="unsloth", methods=_PREFERRED),
    "torchtune": Software(work="training", runtimes=_PYTORCH, predicted_as="torchtune", methods=ALL_METHODS | {"dpo"}),
    "torchtitan": Software(work="training", runtimes=_PYTORCH, predicted_as="torchtitan", methods=frozenset({"full"})),
    "deepspeed": Software(work="training", runtimes=frozenset({"cuda", "rocm", "gaudi"}), predicted_as="deepspeed"),
    "maxtext": Software(work="training", runtimes=frozenset({"tpu", "cuda"}), predicted_as="maxtext"),
    "neuron": Software(work="training", runtimes=frozenset({"neuron"}), predicted_as="neuron"),
}
# An engine that is launched and loads models by their names may be asked for as well, without a row above.
SOFTWARE: Final[Mapping[str, Software]] = {
    **_STATED,
    **{
        name: Software(work="serving", runtimes=frozenset(engine.images), predicted_as=engine.predicted_as)
        for name, engine in ENGINES.items()
        if engine.hub and name not in _STATED
    },
}


def serves(name: str, family: str, *, writes: bool = True) -> bool:
    """Whether an engine for serving takes such models, by the record that launches it."""
    engine = ENGINES.get(name)
    return engine.serves(family, writes=writes) if engine else family in SOFTWARE[name].families


def work_of(kind: str) -> Work | None:
    """Which software a kind of workload runs; None for a notebook.

    >>> work_of("fine-tuning"), work_of("batch-inference"), work_of("notebook")
    ('training', 'serving', None)
    """
    if kind in ("training", "fine-tuning"):
        return "training"
    return "serving" if kind in ("inference", "batch-inference") else None


def staged(name: str) -> bool:
    """Whether software for training divides a model into stages, at least a program that is written in them.

    >>> [staged(name) for name in ("nemo", "deepspeed", "fsdp", "torchtune", "transformers")]
    [True, True, False, False, False]
    """
    runs = SOFTWARE[name].predicted_as
    alone = runs in (software_with("shards-alone") | software_with("one-stage"))
    return SOFTWARE[name].stages and (not alone or runs in software_with("staged-if-asked"))


def named_for(work: Work) -> tuple[str, ...]:
    """Names of the engines for such work."""
    return tuple(name for name, software in SOFTWARE.items() if software.work == work)
