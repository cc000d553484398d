"""Hugging Face `config.json` -> Architecture, by the dimensions that it states under whatever name.

The language model of a multimodal file leaves out what its own type has by default; that is filled in from `_NESTED`.

What decides no bytes is skipped; what the file leaves open and sizing needs is assumed and listed in `assumed`; a
dimension without which no size follows is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.sizing.catalog.lineage import lineage
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.architecture import (
    UNKNOWN_KIND,
    attention_params,
    check,
    feed_forward_params,
    norm_params,
    params_total,
)
from sizewell.sizing.workload.other_kinds import (
    BY_FLOPS,
    MACHINE_ALONE,
    PLAIN_VISION,
    OtherKind,
    other_kind,
    unknown_parts,
)
from sizewell.sizing.workload.towers import TEXT_PARTS, image_pixels, image_tokens, params_beside, parts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """A row of dimension_names.csv: a dimension, and the keys by which published configurations state it."""

    dimension: str
    names: tuple[str, ...]  # the commonest first: the first that a file has counts
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFile:
    """A row of other_files.csv: a key that no model's configuration has, and what file has it."""

    key: str
    what: str
    fix: str  # {by_flops} is how a model is stated by its published FLOPs
    source: str


_DATA: Final = Path(__file__).parent / "data"


@cache
def dimension_names() -> Mapping[str, tuple[str, ...]]:
    """The keys by which published configurations and trainers state each dimension."""
    return {row.dimension: row.names for row in csvtables.read(Dimension, _DATA / "dimension_names.csv")}


_ENCODERS = frozenset({"bert", "roberta", "distilbert", "electra", "xlm-roberta", "deberta", "deberta-v2", "modernbert",
                       "camembert", "mpnet", "ernie", "data2vec-text", "ibert", "megatron-bert", "roformer",
                       "xlm-roberta-xl", "roberta-prelayernorm", "jina_embeddings_v3", "nomic_bert", "eurobert", "gte",
                       "esmc", "bert-generation", "nystromformer"})  # fmt: skip
_GATED_ENCODERS = frozenset({"modernbert", "nomic_bert", "eurobert", "gte", "esmc"})
_UNGATED = frozenset({"gpt2", "gpt_neox", "gptj", "gpt_neo", "opt", "bloom", "falcon", "mpt", "gpt_bigcode", "phi",
                      "starcoder2", "stablelm_epoch", "codegen", "openai-gpt", "ctrl", "arcee", "apertus", "nanochat",
                      "jais2", "persimmon"})  # fmt: skip
_ROTARY_ENCODERS = _GATED_ENCODERS | {"roformer", "jina_embeddings_v3"}
_LEARNED_POSITIONS = frozenset({"gpt2", "opt", "gpt_neo", "gpt_bigcode", "openai-gpt"}) | (_ENCODERS - _ROTARY_ENCODERS)
_KNOWN = _ENCODERS | _UNGATED | {
    "llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3",
    "gemma3_text", "phi3", "phimoe", "deepseek_v2", "deepseek_v3", "kimi_k2", "gpt_oss", "llama4", "llama4_text",
    "olmo", "olmo2", "olmo3", "olmoe", "cohere", "cohere2", "stablelm", "granite", "internlm2", "baichuan", "yi",
    "glm", "glm4", "glm4_moe", "glm4_moe_lite", "minimax_m2", "smollm3", "exaone", "exaone4", "dbrx", "vit", "helium",
    "seed_oss", "ernie4_5", "ernie4_5_moe", "granitemoe", "granitemoeshared", "ministral3", "minicpm3", "solar_open",
    "flex_olmo", "cwm", "hyperclovax", "internlm3", "bitnet", "vaultgemma", "gemma3n", "gemma3n_text", "gemma4",
    "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen3_vl_text", "qwen3_vl_moe_text",
    "gemma4_text", "gemma4_unified", "gemma4_unified_text", "modernbert-decoder", "aria_text", "mllama",
    "mllama_text_model", "glm4v_text", "glm4v_moe_text", "chatglm", "fuyu", "persimmon", "kimi_vl",
}  # fmt: skip
_LLAMA_4_LOCAL_ATTENTION = 8192


# Defaults of the configuration classes of Transformers (4.57), which a nested part is written without.
_NESTED: Mapping[str, Mapping[str, int]] = {
    "llama": {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 11008,
              "vocab_size": 32000},
    "mistral": {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
                "intermediate_size": 14336, "vocab_size": 32000},
    "gemma": {"num_hidden_layers": 28, "hidden_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 16,
              "head_dim": 256, "intermediate_size": 24576, "vocab_size": 256000},
    "gemma2": {"num_hidden_layers": 26, "hidden_size": 2304, "num_attention_heads": 8, "num_key_value_heads": 4,
               "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000, "sliding_window": 4096},
    "gemma3_text": {"num_hidden_layers": 26, "hidden_size": 2304, "num_attention_heads": 8, "num_key_value_heads": 4,
                    "head_dim": 256, "intermediate_size": 9216, "vocab_size": 262208, "sliding_window": 4096},
}  # fmt: skip


def from_hf_config(config: Mapping[str, object], name: str, *, params: int | None = None) -> Architecture:
    """The architecture that a Hugging Face `config.json` describes; what it leaves open stands in `.assumed`.

    `params` is the published number of all parameters; what the layers leave of it belongs to other parts.
    Raises SpecError that names what is missing where the dimensions do not suffice.
    """
    try:
        return check(_as_published(_read(config, name, published=params is not None), name, params))
    except (TypeError, ValueError, AttributeError) as error:
        fix = f"correct the file; if its library reads it so, {MACHINE_ALONE}"
        fault = Fault(path=f"{name}: config.json", message=f"a dimension is not a number: {error}", fix=fix)
        raise SpecError([fault], subject=name) from None


def context_of(config: Mapping[str, object]) -> int | None:
    """The longest text that a configuration allows, with the factor by which it stretches positions; None if unsaid."""
    text, _ = _text_part(config)
    positions = _first(text, dimension_names()["positions"])
    stretch = text.get("rope_scaling") or text.get("rope_parameters") or {}
    if not isinstance(positions, int) or isinstance(positions, bool) or not isinstance(stretch, Mapping):
        return None
    factor, trained = stretch.get("factor"), stretch.get("original_max_position_embeddings") or positions
    if isinstance(factor, int | float) and isinstance(trained, int):
        return max(positions, int(factor * trained))
    return positions if not stretch or "factor" not in stretch else None


_SLACK = 0.98  # of a published number, below which the language model alone would be larger than the whole


def _as_published(model: Architecture, name: str, params: int | None) -> Architecture:
    """The architecture with as many parameters as are published of it, those that are not counted beside the layers."""
    if params is None or not model.layers:
        return model if params is None else replace(model, params_stated=params)
    counted = params_total(replace(model, extra_params=0))
    if params < _SLACK * counted:
        message = f"{params / 1e9:.3g}B are fewer than the {counted / 1e9:.3g}B that {name} has in its layers alone"
        fix = "state the published number of all parameters, or leave params out"
        raise SpecError([Fault(path="model.params", found=params, message=message, fix=fix)], subject=name)
    return replace(model, extra_params=max(0, params - counted))


def _refused(other: OtherKind, config: Mapping[str, object], text: Mapping[str, object], name: str) -> SpecError:
    model_type = str(config.get("model_type") or text.get("model_type") or "a model without a type")
    message = f"{model_type} is {other.what}, which is not counted from its config.json"
    fault = Fault(path=f"{name}: model_type", found=model_type, message=message, fix=other.fix)
    return SpecError([fault], subject=name)


def _read(config: Mapping[str, Any], name: str, *, published: bool) -> Architecture:
    """The architecture of a configuration, not checked yet; `published`: its number of parameters is known."""
    text, assumed = _text_part(config)
    if wrong := _other_file(config, name):
        raise SpecError([wrong], subject=name)
    known = str(text.get("model_type") or config.get("model_type") or "") in _KNOWN | PLAIN_VISION
    if other := other_kind(config, text, known=known):
        raise _refused(other, config, text, name)
    kind = _kind(config, text)
    if kind == "vision":  # predicted by its FLOPs like those of the catalog, not as layers of a language model
        a = _vision_transformer(text, name)
        return replace(a, layers=0, hidden=0, heads=0, kv_heads=0, head_dim=0, ffn=0)
    dims = {field: _first(text, names) for field, names in dimension_names().items()}
    missing = [field for field in ("layers", "hidden", "heads", "vocab") if not dims[field] and dims[field] != 0]
    if missing and not known and config.get("model_type"):
        raise _refused(OtherKind(f"a model without {' and '.join(missing)}", MACHINE_ALONE), config, text, name)
    if several := next((field for field in ("expert_ffn", "experts", "heads") if isinstance(dims[field], list)), ""):
        raise _refused(
            OtherKind(f"a model with several {several} ({dims[several]})", MACHINE_ALONE), config, text, name
        )
    if missing:
        looked = "; ".join(f"{field} as {', '.join(dimension_names()[field])}" for field in missing)
        message = f"has no {' and no '.join(missing)} (looked for {looked})"
        fix = (
            "use the config.json of a Hugging Face model, or state one by its figures: model: {params, layers, hidden}"
        )
        raise SpecError([Fault(path=f"{name}: config.json", message=message, fix=fix)], subject=name)
    model_type = str(text.get("model_type") or config.get("model_type") or "")
    if model_type not in _KNOWN:
        assumed.append(
            f"{UNKNOWN_KIND}{model_type or 'unnamed'!r} is unknown: counted as a transformer of these dimensions"
        )
    layers, hidden, heads = (int(dims[field]) for field in ("layers", "hidden", "heads"))
    ffn = dims["ffn"]
    if isinstance(ffn, list):
        ffn = max(ffn)
    gated = _gated(text, model_type, assumed)
    if not ffn and dims["experts"] and dims["expert_ffn"]:
        ffn = dims["expert_ffn"]
    if not ffn:
        ffn = 4 * hidden
        assumed.append(f"feed-forward size taken as 4 x hidden = {ffn}")
    kv_heads = dims["kv_heads"]
    if text.get("multi_query") and not text.get("new_decoder_architecture"):
        kv_heads = 1  # whatever number stands beside it
    elif kv_heads is None:
        kv_heads = heads
    head_dim = dims["head_dim"] or (hidden // heads if heads else 0)
    if not dims["head_dim"] and heads and hidden % heads and not text.get("kv_lora_rank"):
        raise SpecError(
            [
                Fault(
                    path=f"{name}: hidden_size",
                    found=hidden,
                    allowed=f"a multiple of the {heads} heads, or head_dim stated",
                )
            ],
            subject=name,
        )
    window, every = _window(text, model_type)
    experts = 0 if text.get("is_moe") is False or text.get("enable_moe_block") is False else int(dims["experts"] or 0)
    expert_ffn = int(dims["expert_ffn"] or (ffn if experts else 0))
    shared = int(dims["shared_experts"] or 0) if experts else 0
    if not shared and text.get("shared_expert_intermediate_size") and expert_ffn:
        shared = round(int(text["shared_expert_intermediate_size"]) / expert_ffn)
    if model_type.startswith("llama4"):
        shared = 1
    positions = dims["positions"]
    beside = params_beside(config, hidden) if parts_of(config) else 0
    if beside is None and not published:
        raise _refused(unknown_parts(config), config, text, name)
    return Architecture(
        key=name,
        kind=kind,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=int(kv_heads),
        head_dim=int(head_dim),
        ffn=int(text.get("intermediate_size_mlp") or ffn) if model_type.startswith("llama4") else int(ffn),
        gated=gated,
        vocab=int(dims["vocab"]),
        tied_embeddings=_tied(config, text, model_type, assumed),
        experts=experts,
        experts_per_token=_experts_per_token(dims["experts_per_token"], experts, assumed),
        expert_ffn=expert_ffn,
        shared_experts=shared,
        dense_layers=_dense_layers(text),
        moe_every=int(text.get("interleave_moe_layer_step") or text.get("decoder_sparse_step") or 1),
        kv_lora_rank=int(text.get("kv_lora_rank") or 0),
        q_lora_rank=int(text.get("q_lora_rank") or 0),
        qk_rope_head_dim=int(text.get("qk_rope_head_dim") or 0) if text.get("kv_lora_rank") else 0,
        qk_nope_head_dim=int(text.get("qk_nope_head_dim") or 0),
        v_head_dim=int(text.get("v_head_dim") or 0) if text.get("kv_lora_rank") else 0,
        sliding_window=window,
        global_attention_every=every,
        biases=_biases(text, model_type),
        traits=lineage(model_type),
        learned_positions=int(positions or 0) if model_type in _LEARNED_POSITIONS else 0,
        max_sequence_length=int(positions) if positions else None,
        image_tokens=image_tokens(config),
        image_pixels=image_pixels(config),
        extra_params=(beside or 0) + _per_layer_tables(text, layers, hidden),
        assumed=tuple(assumed),
        source=f"{name}: config.json",
    )


def _dense_layers(text: Mapping[str, Any]) -> int:
    """Leading layers without experts, by number or as a list of all layers or of the dense ones."""
    if kinds := text.get("mlp_layer_types"):
        return next((layer for layer, kind in enumerate(kinds) if kind != "dense"), len(kinds))
    dense = text.get("mlp_only_layers") or []
    leading = next((layer for layer in range(len(dense) + 1) if layer not in dense), 0)
    return int(_first(text, ("first_k_dense_replace", "moe_layer_start_index")) or leading)


def _per_layer_tables(text: Mapping[str, Any], layers: int, hidden: int) -> int:
    """A table of embeddings for each layer and what mixes it in (Gemma 3n, Gemma 4): held, hardly computed with."""
    width = int(text.get("hidden_size_per_layer_input") or 0)
    rows = int(text.get("vocab_size_per_layer_input") or 0)
    return layers * width * (rows + 3 * hidden)


_WITHIN = ("attn_config", "ffn_config")  # in which DBRX and MPT state heads and experts


def _text_part(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[str]]:
    """The language model's part with what its type has by default, and a line that says what was filled in."""
    for key in TEXT_PARTS:
        part = config.get(key)
        if isinstance(part, Mapping):
            usual = _NESTED.get(str(part.get("model_type")), {})
            left_out = [name for name in usual if name not in part]
            line = f"{', '.join(left_out)} as {part.get('model_type')} has them by default: {key} leaves them out"
            return {**usual, **part}, [line] if left_out else []
    within = [config[key] for key in _WITHIN if isinstance(config.get(key), Mapping)]
    return ({**{key: value for part in within for key, value in part.items()}, **config} if within else config), []


_ITS_CONFIG = "use the model's config.json"


def _other_file(config: Mapping[str, object], name: str) -> Fault | None:
    """A file that is no model's configuration, by what only such files state."""
    if not config:
        return Fault(path=name, message="is empty", fix=_ITS_CONFIG)
    if config.get("peft_type") or config.get("base_model_name_or_path"):
        base, kind = config.get("base_model_name_or_path"), str(config.get("peft_type") or "adapter").lower()
        message = f"is the configuration of a {kind} for {base or 'a model that it does not name'}, not of a model"
        return Fault(path=name, message=message, fix=f"name the base model{f': model: {base}' if base else ''}")
    if pipeline := config.get("_class_name"):
        part = "the index of" if str(pipeline).endswith("Pipeline") else "a part of"
        message = f"is {part} a pipeline of diffusers ({pipeline}), not the configuration of a model"
        fix = "name a model of the catalog, or state model: {family: diffusion, params, forward_flop_per_sample}"
        return Fault(path=name, message=message, fix=fix)
    if "architectures" in config or ("model_type" in config and "model_format" not in config):
        return None
    other_files = csvtables.read(OtherFile, _DATA / "other_files.csv")
    found = next((row for row in other_files if row.key in config), None)
    if found is None:
        return None
    message = f"is {found.what}, not a model's configuration"
    return Fault(path=name, message=message, fix=found.fix.replace("{by_flops}", BY_FLOPS))


def _kind(config: Mapping[str, object], text: Mapping[str, object]) -> Any:
    model_type = str(text.get("model_type") or config.get("model_type") or "")
    if model_type in _ENCODERS:
        return "encoder"
    if "vocab_size" not in text and text.get("image_size") and text.get("patch_size"):
        return "vision"
    return "decoder"


def _first(config: Mapping[str, object], names: tuple[str, ...]) -> Any:
    return next((config[name] for name in names if config.get(name) is not None), None)


def _gated(text: Mapping[str, object], model_type: str, assumed: list[str]) -> bool:
    if model_type in _UNGATED or model_type in _ENCODERS - _GATED_ENCODERS:
        return False
    activation = str(_first(text, ("hidden_act", "hidden_activation", "activation_function")) or "")
    if model_type in _KNOWN or "silu" in activation or "swi" in activation or "glu" in activation.replace("gelu", ""):
        return True
    if activation:
        assumed.append(f"two feed-forward matrices, since the activation is {activation}")
        return False
    assumed.append("three feed-forward matrices (gated), as the configuration does not say")
    return True


def _tied(config: Mapping[str, object], text: Mapping[str, object], model_type: str, assumed: list[str]) -> bool:
    """Whether one matrix serves both ends. Where a multimodal file contradicts itself it is counted as two.

    Transformers 4 goes by the language model's part, 5 by the top level (vLLM then copies that down), and the weights
    have what they were saved with: only two matrices are safe to count on.
    """
    inner, outer = text.get("tie_word_embeddings"), config.get("tie_word_embeddings")
    if text is not config and inner is not None and outer is not None and bool(inner) != bool(outer):
        assumed.append(
            f"output embeddings of their own: tie_word_embeddings is {str(bool(outer)).lower()} at the top level, by "
            f"which Transformers 5 goes, and {str(bool(inner)).lower()} in the language model's part, by which 4 goes"
        )
        return False
    stated = inner if inner is not None else outer
    if stated is not None:
        return bool(stated)
    ties_by_default = {"gpt2", "opt", "bloom", "mpt", "falcon", "gemma", "gemma2", "gemma3", "gemma3_text", "cohere"}
    return model_type in ties_by_default or model_type in _ENCODERS


_BIASED = ("qwen2", "qwen2_moe", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text")  # queries, keys, values


def _biases(text: Mapping[str, object], model_type: str) -> Any:
    if (
        model_type in ("gpt2", "opt", "bloom", "gpt_neox", "gpt_bigcode", "phi", "starcoder2")
        or model_type in _ENCODERS - _GATED_ENCODERS
    ):
        return "all"
    if model_type in _BIASED or text.get("attention_bias") is True or text.get("qkv_bias") is True:
        return "qkv"
    return "none"


def _experts_per_token(stated: Any, experts: int, assumed: list[str]) -> int:
    if not experts:
        return 0
    if stated is None:
        assumed.append("2 experts per token, as the configuration does not say")
        return min(2, experts)
    return int(stated)


def _window(text: Mapping[str, Any], model_type: str) -> tuple[int, int]:
    """(window, each n-th layer is global); (0, 0) without one."""
    if model_type.startswith("llama4"):
        return int(text.get("attention_chunk_size") or _LLAMA_4_LOCAL_ATTENTION), 4
    window = int(text.get("sliding_window") or 0)
    if not window or text.get("use_sliding_window") is False:
        return 0, 0
    kinds = text.get("layer_types")
    if isinstance(kinds, list) and kinds:
        full = sum(kind == "full_attention" for kind in kinds)
        return (0, 0) if full == len(kinds) else (window, round(len(kinds) / full) if full else 0)
    pattern = text.get("sliding_window_pattern") or {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gpt_oss": 2}.get(
        model_type, 0
    )
    return window, int(pattern)


def _encoder_params(model: Architecture, *, patch: int) -> int:
    patches = (model.resolution // patch) ** 2 if model.resolution else 0
    blocks = model.layers * (attention_params(model) + feed_forward_params(model) + norm_params(model))
    return blocks + 3 * patch * patch * model.hidden + patches * model.hidden


def _side(stated: Any, usual: int) -> int:
    return int((stated[0] if isinstance(stated, list) else stated) or usual)


def _vision_transformer(config: Mapping[str, Any], name: str) -> Architecture:
    """A vision transformer: FLOPs of one forward pass at the stated resolution."""
    dims = {field: _first(config, dimension_names()[field]) for field in ("layers", "hidden", "heads", "ffn")}
    if missing := [field for field, value in dims.items() if not value and field != "ffn"]:
        raise SpecError(
            [Fault(path=f"{name}: config.json", message=f"has no {field}") for field in missing], subject=name
        )
    layers, hidden, heads = (int(dims[field]) for field in ("layers", "hidden", "heads"))
    resolution = config.get("image_size") or 224
    resolution = int(resolution[0] if isinstance(resolution, list) else resolution)
    patch = _side(config.get("patch_size"), 16)
    ffn = int(dims["ffn"] or float(config.get("mlp_ratio") or 4) * hidden)
    a = Architecture(key=name, kind="vision", layers=layers, hidden=hidden, heads=heads, kv_heads=heads,
                     head_dim=hidden // heads, ffn=ffn, gated=False, biases="all", resolution=resolution,
                     source=f"{name}: config.json")  # fmt: skip
    tokens = (resolution // patch) ** 2 + 1
    block = attention_params(a) + feed_forward_params(a)
    flop = tokens * layers * (2.0 * block + 4.0 * hidden * tokens) + 2.0 * tokens * 3 * patch * patch * hidden
    params = _encoder_params(a, patch=patch)
    if config.get("model_type") == "siglip_vision_model" and config.get("vision_use_head") is not False:
        params += hidden + block + 2 * hidden  # one more block reads the picture off all patches
    return replace(a, forward_flop_per_sample=flop, params_stated=params)
