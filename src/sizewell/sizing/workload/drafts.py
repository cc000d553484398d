"""Draft models of speculative decoding: which go with a model, and why another does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sizewell.sizing.catalog.engine import NGRAM
from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.catalog.tokenizers import tokenizer
from sizewell.sizing.errors import Fault
from sizewell.sizing.predict.architecture import local_layers, params_total

if TYPE_CHECKING:
    from collections.abc import Callable

    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Architecture
    from sizewell.sizing.workload.model import Engine, Model, Traffic

PATH: Final = "traffic.speculative.draft"
SMALLER: Final = 4  # times smaller than the model is what is proposed as its draft
NAMED: Final = 2
BARS: Final = {
    "windows": "takes no draft with a window in some layers alone, as {draft} has",
    "images": "takes no draft model beside a model that reads images",
}
"""What keeps an engine's release from starting with a draft model, in words; see `InferenceEngine.undrafted`."""
UNPUBLISHED: Final = ("maxtext/", "litgpt/")  # names of configurations, which no engine loads
HEADS: Final = frozenset({"eagle", "peagle", "medusa", "mtp", "hydra", "nextn", "dflash", "speculator", "assistant"})
"""Words in the names of heads, and of models that share their target's states, which are trained for one model."""


def fitting(
    model: Architecture, catalog: Catalog, *, tokens: float = 0.0, but: str = "", name: str | None = None
) -> list[str]:
    """The catalog's models that may propose to `model`, the smallest first: with its tokenizer, far fewer parameters,
    and a context of so many tokens. `name` is the model's, where it has one; nobody knows whose tokenizer another has.
    """
    if name is None or not model.vocab:
        return []
    fit = [
        each
        for each in catalog.models.values()
        if each.kind == "decoder"
        and each.key != but
        and "/" in each.key
        and not each.key.startswith(UNPUBLISHED)
        and each.vocab == model.vocab
        and tokenizer(each.key) == tokenizer(model.key)
        and SMALLER * params_total(each) < params_total(model)
        and tokens <= (each.max_sequence_length or tokens)
    ]
    return [each.key for each in sorted(fit, key=params_total)]


def named(names: list[str]) -> str:
    """`, as A or B` of the first of them."""
    return f", as {' or '.join(names[:NAMED])}" if names else ""


def bars(draft: Architecture, model: Architecture | None) -> list[str]:
    """Which of `BARS` there are for a pair; a model that nobody knows has none of its own."""
    images = model is not None and model.kind == "decoder" and model.image_tokens > 0
    found = {"windows": 0 < local_layers(draft) < draft.layers, "images": images}
    return [bar for bar in BARS if found[bar]]


def too_old(name: str, draft: Architecture, model: Architecture, engine: Engine) -> list[Fault]:
    """A release that is known not to start with such a pair."""
    known = ENGINES[engine.name].undrafted if engine.name in ENGINES else {}
    release = f"{(engine.version or '').lstrip('v')}."
    return [
        Fault(
            path="engine.version",
            message=f"{engine.name} {engine.version} {BARS[bar].format(draft=name)}",
            fix=f"write a later release and try whether it starts, or draft: {NGRAM}",
        )
        for bar in bars(draft, model)
        if any(release.startswith(f"{each}.") for each in known.get(bar, ()))
    ]


def unknown(
    name: str, model: Architecture | None, of: Model, catalog: Catalog, meant: Callable[[list[str]], str]
) -> Fault:
    """A name that the catalog does not know: of a head that was trained for one model, or of another model."""
    fit = fitting(model, catalog, name=of.name) if model is not None else []
    same = f"name a draft of the same tokenizer{named(fit)}, or draft: {NGRAM}"
    if HEADS & {word.rstrip("s") for word in re.findall("[a-z]+", name.lower())}:
        message = (
            f"'{name}' is by its name a head trained for one model: EAGLE, MTP and other such heads are not predicted"
        )
        return Fault(path=PATH, found=name, message=message, fix=same)
    message = f"'{name}' is not one of the {len(catalog.models)} models in the catalog"
    return Fault(path=PATH, found=name, message=message, fix=meant(fit or list(catalog.models)) or same)


def unfit(
    name: str, draft: Architecture, model: Architecture, catalog: Catalog, *, of: Model, load: Traffic
) -> list[Fault]:
    """Why a language model cannot propose to the one that is served: other tokens, or too short a context."""
    tokens = float((load.input_tokens or 0) + (load.output_tokens or 0))
    fit = fitting(model, catalog, tokens=tokens, but=draft.key, name=of.name)
    fix = f"name a draft of the same tokenizer{named(fit)}, or draft: {NGRAM}"
    stands = of.dimensions is None or of.dimensions.vocab is not None
    if stands and model.vocab and draft.vocab and model.vocab != draft.vocab:
        message = f"{name} has a vocabulary of {draft.vocab:,} tokens, {of.label} of {model.vocab:,}: "
        return [Fault(path=PATH, found=name, message=f"{message}engines refuse the pair", fix=fix)]
    if of.name is not None and tokenizer(draft.key) != tokenizer(model.key):
        message = (
            f"{name} has another tokenizer than {of.label}, if one of as many tokens: an engine starts with the pair, "
            "and accepts next to nothing"
        )
        return [Fault(path=PATH, found=name, message=message, fix=fix)]
    reads = draft.max_sequence_length
    if reads and tokens > reads:
        message = (
            f"{name} reads {reads:,} tokens, requests have {tokens:,.0f}: beyond, it proposes nothing that is right"
        )
        longer = f"name a draft that reads {tokens:,.0f} tokens{named(fit)}" if fit else "shorten the requests"
        return [Fault(path=PATH, found=name, message=message, fix=f"{longer}, or draft: {NGRAM}")]
    return []
