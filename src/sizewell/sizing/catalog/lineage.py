"""What the layers of a family of models keep that no dimension tells: known by its name or by its `model_type`.

Read off the modules of transformers 5 (Llama's layer has two RMS norms and q, k, v of matrices of their own; what
follows differs from it), whose allocations `tools/count_training.py` counts.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Trait = Literal[
    "around",  # norms before and after attention and feed-forward: four of each layer
    "queries",  # norms of queries and keys
    "wide",  # norms scale in fp32
    "capped",  # logits pass through a tanh
    "one-qkv",  # q, k and v are views of one product, which v keeps
    "one-gate",  # gate and up are views of one product
    "no-fp16",  # numbers leave the range of fp16: engines refuse it
]
_NAMED: Final[tuple[tuple[str, tuple[Trait, ...]], ...]] = (
    (r"gemma-?2(?=$|[-_])", ("around", "wide", "capped", "no-fp16")),
    (r"gemma-?3(?=$|[-_])|medgemma|embeddinggemma", ("around", "queries", "wide", "no-fp16")),
    (r"gemma-?[34](?=$|[-_n])", ("around", "queries", "wide")),
    (r"(?:code)?gemma(?=$|[-_])", ("wide",)),
    (r"qwen-?3", ("queries",)),
    (r"olmo-?[23](?=$|[-_])", ("queries", "wide")),
    (r"phi-?(?:3(?:\.5)?|4)(?=$|[-_])(?!.*moe)", ("one-qkv", "one-gate")),
    (r"pythia|gpt[-_]neox|dolly-v2|redpajama-incite", ("one-qkv",)),
    (r"glm4(?=$)|glm-4-(?:9|32)b-0414", ("one-gate", "no-fp16")),
    (r"glm(?=$)|glm-4-(?:9|32)b", ("one-gate",)),
)
_FAMILIES: Final = tuple((re.compile(rf"(?:^|[-_./])(?:{name})", re.IGNORECASE), traits) for name, traits in _NAMED)


def lineage(name: str) -> tuple[Trait, ...]:
    """The traits of a model by its name.

    >>> lineage("google/gemma-2-2b"), lineage("google/gemma-2b"), lineage("qwen3_moe"), lineage("llama")
    (('around', 'wide', 'capped', 'no-fp16'), ('wide',), ('queries',), ())
    >>> lineage("microsoft/phi-4"), lineage("Phi-3.5-mini-instruct"), lineage("Phi-3.5-MoE-instruct")
    (('one-qkv', 'one-gate'), ('one-qkv', 'one-gate'), ())
    """
    return next((traits for family, traits in _FAMILIES if family.search(name)), ())
