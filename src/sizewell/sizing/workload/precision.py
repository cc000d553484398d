"""The form in which a model is published: by its `quantization_config`, by its name, or by the catalog's own list.

People run a checkpoint as it is published, so a spec that leaves `model.weights` open is sized in that form.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sizewell import csvtables
from sizewell.sizing.errors import Fault, SpecError

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.engine import InferenceEngine
    from sizewell.sizing.catalog.records import Architecture

# What a name of a checkpoint says, the narrowest first; between letters and digits a name has -, _, . or /.
_IN_NAMES: Final[tuple[tuple[str, str], ...]] = (
    (r"mxfp4|nvfp4|fp4", "fp4"),
    (r"awq(?:[-_]?int4)?|w4a16|w4a8|int4|4bit|bnb[-_]4bit|q4(?:_k_[sm]|_[01])?|iq4_(?:xs|nl)", "int4"),
    (r"gptq[-_]?(?:int)?8|w8a8|w8a16|int8|8bit|q8_0|q6_k|q5(?:_k_[sm]|_[01])?", "int8"),
    (r"gptq(?:[-_]?int4)?|gptq[-_]?4bit", "int4"),
    (r"fp8(?:[-_](?:dynamic|block|static|kv|static-pertensor))*", "fp8"),
)
STORED: Final = frozenset({"fp32", "bf16", "fp16", "fp8", "fp4", "int8", "int4", "nf4", "tf32"})
"""What weights may be stored as, or computed in where a spec says nothing of their form."""
SIXTEEN_BIT: Final = ("fp16", "fp32", "bf16")  # as weights are published, or wider
_EDGE: Final = r"(?:^|(?<=[-_./ :]))(?:{})(?:$|(?=[-_./ :]))"
_CONTAINER: Final = re.compile(_EDGE.format("gguf|bnb|quantized"), re.IGNORECASE)
_DROPPED: Final = re.compile(r"[-_. :]+$")
_BITS: Final = {(4, "int"): "int4", (8, "int"): "int8", (8, "float"): "fp8", (4, "float"): "fp4"}
_METHODS: Final = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "mxfp4": "fp4",
    "nvfp4": "fp4",
    "modelopt_fp4": "fp4",
    "eetq": "int8",
}
_BY_BITS: Final = frozenset({"awq", "gptq", "gptq_marlin", "awq_marlin", "hqq", "auto-round", "autoround"})


def published_weights(model: Mapping[str, object]) -> str | None:
    """The stored precision of the model that a spec's `model` names, as `model.weights` has it; None for 16 bits.

    SpecError for a `quantization_config` of a method or width that is not sized.
    """
    content = model.get("config_content")
    if isinstance(content, Mapping):
        return weights_of_config(content, str(model.get("config") or "config.json"))
    name = model.get("name")
    if not isinstance(name, str):
        return None
    listed = native_form(name)
    return listed.weights if listed else weights_of_name(name)


class Native(NamedTuple):
    """How a checkpoint stores its weights: routed experts, and what is none where that differs."""

    weights: str
    dense: str = ""  # "" as `weights`
    group: int = 0  # values that share a scale; 0 as is usual for the format


@dataclass(frozen=True, slots=True, kw_only=True)
class _Published:
    """A row of native_weights.csv; see `Native`."""

    model: str
    weights: str
    dense: str = ""
    group: int = 0
    source: str
    checked: str


def native_form(name: str) -> Native | None:
    """The form of a model that is published quantized without saying so in its name; None where it is not.

    >>> native_form("moonshotai/Kimi-K2.5"), native_form("Qwen/Qwen3-8B")
    (Native(weights='int4', dense='bf16', group=32), None)
    """
    return _listed().get(name.lower())


_BLOCK: Final = 128
_BLOCKS_BY_NAME: Final = re.compile(r"(?:^|/)qwen[\w.-]*-fp8$", re.IGNORECASE)
"""Qwen's own checkpoints in fp8: `weight_block_size` of their config.json is [128, 128]."""


def block_of(name: str | None, config: Mapping[str, Any] | None, weights: str) -> int:
    """Rows and columns that share a scale in a checkpoint as it is published; 0 where a matrix may be cut anywhere.

    In fp8 those of DeepSeek's recipe, which the models of the catalog's list follow; in 4-bit integers the group of AWQ
    and GPTQ along a row, 128 where it is not stated. What an engine makes of 16-bit weights while it loads them has one
    scale for a matrix.

    >>> block_of("Qwen/Qwen3-30B-A3B-FP8", None, "fp8"), block_of("RedHatAI/Qwen3-8B-FP8-dynamic", None, "fp8")
    (128, 0)
    >>> block_of("deepseek-ai/DeepSeek-R1", None, "fp8"), block_of("Qwen/Qwen3-8B", None, "int4")
    (128, 128)
    """
    stated = (config or {}).get("quantization_config") or ((config or {}).get("text_config") or {}).get(
        "quantization_config"
    )
    if weights == "fp8":
        if isinstance(stated, Mapping):
            size = stated.get("weight_block_size")
            return max(map(_whole, size), default=0) if isinstance(size, list) else 0
        listed = native_form(name or "")
        return _BLOCK if (listed and listed.weights == "fp8") or _BLOCKS_BY_NAME.search(name or "") else 0
    if weights == "int4":
        group = _whole(stated.get("group_size")) if isinstance(stated, Mapping) else 0
        listed = native_form(name or "")
        return group or (listed.group if listed else 0) or _BLOCK
    return 0


def weights_of_name(name: str) -> str | None:
    """What the name of a checkpoint says about its weights; None where it says nothing.

    >>> [weights_of_name(n) for n in ("RedHatAI/Llama-3.1-8B-Instruct-FP8-dynamic", "TheBloke/Llama-2-7B-AWQ")]
    ['fp8', 'int4']
    >>> weights_of_name("unsloth/Qwen3-8B-GGUF"), weights_of_name("Qwen/Qwen3-8B")
    ('int4', None)
    """
    word = _form_in_name(name)
    if word is not None:
        return word[0]
    return "int4" if re.search(_EDGE.format("gguf|bnb"), name, re.IGNORECASE) else None


def base_names(name: str) -> Iterator[str]:
    """The names under which a catalog may know the model that a quantized checkpoint was made of, the nearest first.

    >>> list(base_names("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic"))
    ['RedHatAI/Meta-Llama-3.1-8B-Instruct', 'Meta-Llama-3.1-8B-Instruct', 'Meta-Llama-3.1-8B']
    """
    if weights_of_name(name) is None:
        return
    bare = name
    for pattern, _ in _IN_NAMES:
        bare = re.sub(_EDGE.format(pattern), "", bare, flags=re.IGNORECASE)
    bare = re.sub(r"[-_. :]{2,}", "-", _CONTAINER.sub("", bare))
    bare = _DROPPED.sub("", re.sub(r"-dynamic$|-static$|-block$", "", _DROPPED.sub("", bare), flags=re.IGNORECASE))
    yield bare
    last = bare.rpartition("/")[2]
    if last != bare:
        yield last
    untuned = re.sub(r"-(?:Instruct|Chat|it)$", "", last, flags=re.IGNORECASE)
    if untuned != last:
        yield untuned


# What people write for a number format, the first that is found; what follows in brackets says how gradients are kept.
_WRITTEN: Final[tuple[tuple[str, str], ...]] = (
    (r"nf4|bnb", "nf4"),
    (r"e2m1", "fp4"),
    (r"float8|e4m3(?:fn)?|e5m2|mxfp8", "fp8"),
    (r"bfloat16|brain float", "bf16"),
    (r"float16|half", "fp16"),
    (r"tensorfloat(?:32)?|tf32", "tf32"),
    (r"float32|single|full", "fp32"),
    (r"bf16|amp|mixed|autocast", "bf16"),
    (r"f?p?16|f16", "fp16"),
    (r"f?p?32|f32", "fp32"),
)
_WIDTHS: Final = {32: "fp32", 16: "bf16", 8: "fp8", 4: "fp4"}


def understood(written: object, allowed: Collection[str]) -> str:
    """Which of the allowed number formats somebody means who writes it in words, bits or bytes; "" where unknown.

    >>> stored = ("fp32", "bf16", "fp16", "fp8", "fp4", "int8", "int4")
    >>> [understood(word, stored) for word in ("bf16 (fp32 gradient accumulation)", "16 and 32", "2 bytes", 16)]
    ['bf16', 'bf16', 'bf16', 'bf16']
    >>> [understood(word, stored) for word in ("MXFP4", "AWQ", "Q4_K_M", "fp8 (E4M3)", "half", "whatever")]
    ['fp4', 'int4', 'int4', 'fp8', 'fp16', '']
    """
    if isinstance(written, bool) or not isinstance(written, str | int):
        return ""
    text = re.sub(r"\(.*", "", str(written).lower()).strip() or str(written).lower()
    if width := re.fullmatch(r"(\d+)[- ]?(bytes?|bits?|)(?: ?(?:and|/|\+) ?32(?:[- ]?bits?)?)?", text):
        bits = int(width[1]) * (8 if width[2].startswith("byte") or int(width[1]) in (1, 2) else 1)
        stored = (f"int{bits}", _WIDTHS.get(bits, ""))  # "4bit" is what libraries call integers of four bits
        return next((name for name in (stored if "bit" in width[2] else stored[::-1]) if name in allowed), "")
    if found := _form_in_name(text):
        return found[0] if found[0] in allowed else ""
    for pattern, name in _WRITTEN:
        if re.search(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])", text) and name in allowed:
            return name
    return ""


def published_so(name: str | None, weights: str | None) -> bool:
    """Whether a model is published in such weights: its own files say how they are stored, no engine has to be told.

    >>> published_so("openai/gpt-oss-120b", "fp4"), published_so("Qwen/Qwen3-8B", "fp8")
    (True, False)
    """
    return name is not None and weights is not None and published_weights({"name": name}) == weights


def prepared(engine: InferenceEngine, name: str | None, weights: str | None) -> bool:
    """Whether such weights have to be prepared beforehand: no release of the model has them, and the engine does not
    make them of 16-bit ones while it loads them.

    >>> from sizewell.sizing.catalog.engines import ENGINES
    >>> [prepared(ENGINES["vllm"], "Qwen/Qwen3-8B", weights) for weights in ("int4", "fp8", "bf16", None)]
    [True, False, False, False]
    """
    as_loaded = weights is None or weights in (*SIXTEEN_BIT, *engine.at_load)
    return not (as_loaded or published_so(name, weights))


def known_model(name: str, catalog: Catalog) -> Architecture:
    """The catalog's model of that name, or the one that a quantized checkpoint of that name was made of.

    KeyError with the nearest names where it knows neither.
    """
    try:
        return catalog.model(name)
    except KeyError:
        for base in base_names(name):
            try:
                return catalog.model(base)
            except KeyError:
                continue
        raise


def weights_of_config(config: Mapping[str, Any], name: str) -> str | None:
    """The stored precision that a Hugging Face `config.json` states in its `quantization_config`.

    Modules that the configuration leaves in 16 bits are counted as the engines load them: embeddings and head.
    SpecError names a method or width that is not sized.
    """
    stated = config.get("quantization_config") or (config.get("text_config") or {}).get("quantization_config")
    if not isinstance(stated, Mapping):
        return None
    method = str(stated.get("quant_method") or stated.get("quant_algo") or "").lower()
    weights: str | None = None
    if method in _METHODS:
        weights = _METHODS[method]
    elif method in _BY_BITS:
        weights = _BITS.get((_whole(stated.get("bits") or stated.get("w_bit") or 4), "int"))
    elif method == "bitsandbytes":
        weights = "int4" if stated.get("load_in_4bit") or stated.get("_load_in_4bit") else "int8"
    elif method == "compressed-tensors":
        weights = _of_groups(stated)
    elif method.startswith("modelopt") or stated.get("quant_algo"):
        algorithm = str(stated.get("quant_algo") or "").lower()
        weights = (
            "fp4" if "fp4" in algorithm else "fp8" if "fp8" in algorithm else "int4" if "int4" in algorithm else None
        )
    if weights is None:
        bits = stated.get("bits")
        raise SpecError(
            [
                Fault(
                    path=f"{name}: quantization_config",
                    message=f"{method or 'a method without a name'}{f' in {bits} bits' if bits else ''} is not sized",
                    fix="state model.weights: int4, int8, fp8 or fp4, whichever takes as many bytes",
                )
            ],
            subject=name,
        )
    return weights


def _of_groups(stated: Mapping[str, object]) -> str | None:
    """Compressed-tensors: the widest of the groups' weights, as that is what fits."""
    groups = stated.get("config_groups")
    widths = [
        (_whole(weights.get("num_bits")), str(weights.get("type") or "int"))
        for group in (groups.values() if isinstance(groups, Mapping) else ())
        if isinstance(group, Mapping) and isinstance(weights := group.get("weights"), Mapping)
    ]
    return _BITS.get(max(widths)) if widths else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _form_in_name(name: str) -> tuple[str, str] | None:
    """(stored precision, the pattern that says it)."""
    for pattern, weights in _IN_NAMES:
        if re.search(_EDGE.format(pattern), name, re.IGNORECASE):
            return weights, pattern
    return None


@cache
def _listed() -> Mapping[str, Native]:
    """Models that are published quantized without saying so in their name, by key and by the part after the slash."""
    rows = csvtables.read(_Published, Path(__file__).parents[1] / "catalog/data/native_weights.csv")
    forms = {row.model.lower(): Native(row.weights, row.dense, row.group) for row in rows}
    return forms | {key.rpartition("/")[2]: native for key, native in forms.items()}
