"""Whether a model whose layers are a decoder's writes text, or only embeds, ranks or classifies what it reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sizewell.sizing.workload.sections import Model

_ENDS: Final = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForEmbedding",
                "ForRetrieval", "ForScoring", "EmbedModel", "EmbeddingModel", "RewardModel", "ForReward")  # fmt: skip
_BARE: Final = re.compile(r"(?:Llama|Mistral|Mixtral|Qwen\d|Gemma\d?(?:Text)?|Phi\d?|Llama\w*Bidirec\w*)Model")
"""Layers without the head that words come from, as embedding models after these families are published."""
_CALLED: Final = re.compile(
    r"embed|rerank|retriev|cross-?encoder|sentence-transformers|(?:^|[-_/])(?:bge|gte|e5|sfr)(?=[-_\d/]|$)",
    re.IGNORECASE,
)


def embeds_by_name(name: str) -> bool:
    """Whether a model is called as one that embeds or ranks texts.

    >>> [embeds_by_name(name) for name in ("Qwen/Qwen3-Embedding-8B", "BAAI/bge-reranker-v2-gemma", "Qwen/Qwen3-8B")]
    [True, True, False]
    """
    return _CALLED.search(name) is not None


def writes_nothing(model: Model) -> str:
    """What says that a model writes no text: its classes, or its name; "" where nothing does.

    A file of Qwen3-Embedding has the class of the language model that it was made of, so that names count as well.
    """
    config = model.config or {}
    classes = config.get("architectures")
    made_for = [str(each) for each in classes] if isinstance(classes, list) else []
    if made_for and all(each.endswith(_ENDS) or _BARE.fullmatch(each) for each in made_for):
        return f"it is made for {', '.join(made_for)}"
    names = (model.name, model.config_path, config.get("_name_or_path"))
    named = next((name for name in names if isinstance(name, str) and embeds_by_name(name)), "")
    return f"{named} is named as one that embeds or ranks texts" if named else ""
