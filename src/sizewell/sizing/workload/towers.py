"""The parts that see and hear beside a language model: their parameters, for the models whose parts are known.

Counted module by module as transformers builds them, with what joins them to the language model. A `config.json` states
the dimensions of such a part under names of its own (`hidden_size` of a Qwen2-VL's `vision_config` is the width of the
language model), so a kind that is not listed here is refused and never counted by what its fields seem to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Config = Mapping[str, Any]
TEXT_PARTS: Final = ("text_config", "language_config", "llm_config")
_NO_PARTS: Final = frozenset({*TEXT_PARTS, "quantization_config", "compression_config", "generation_config"})


def parts_of(config: Config) -> list[str]:
    """The keys of the parts that a configuration has beside a language model; [] for text alone.

    >>> parts_of({"text_config": {"model_type": "llama"}, "vision_config": {"depth": 32}})
    ['vision_config']
    """
    made_for = config.get("architectures") or [""]
    if config.get("model_type") in _COUNTED and str(made_for[0]).endswith("ForCausalLM"):
        return []  # the language model of such a file alone
    stated = [key for key, value in config.items() if key.endswith("_config") and key not in _NO_PARTS and _part(value)]
    return [*stated, *(key for key in ("embd_layer", "audio_processor", "visual", "img_processor") if config.get(key))]


def _part(value: object) -> bool:
    """Whether a section is a model of its own, and not settings of one."""
    keys = ("model_type", "num_hidden_layers", "hidden_size", "depth", "layers", "d_model", "encoder_layers", "width")
    return isinstance(value, Mapping) and any(value.get(key) for key in keys)


def params_beside(config: Config, width: int) -> int | None:
    """Parameters of all parts beside a language model `width` values wide; None where the kind is not known."""
    count = _COUNTED.get(str(config.get("model_type")))
    if count is None:
        return None
    try:
        return count(config, width)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):  # a dimension that its kind always has is not stated
        return None


PICTURE: Final = 1024
"""Pixels along a side of a picture, for models that read one at its own size."""


def image_tokens(config: Config) -> int:
    """Tokens that one picture takes of a prompt: the model's own number, or those of `PICTURE` x `PICTURE` pixels.

    0 where the kind is not known, where pictures are cut into a varying number of tiles, and in Llama 3.2 Vision, whose
    prompts attend to them across.

    >>> image_tokens({"model_type": "gemma3", "mm_tokens_per_image": 256, "vision_config": {}})
    256
    >>> qwen = {"model_type": "qwen2_5_vl", "vision_config": {"patch_size": 14, "spatial_merge_size": 2}}
    >>> image_tokens(qwen)
    1369
    """
    kind, vision = str(config.get("model_type")), config.get("vision_config")
    if not isinstance(vision, Mapping):
        return 0
    if stated := config.get("mm_tokens_per_image") or config.get("image_seq_length"):
        return int(stated)
    if pixels := image_pixels(config):
        return (-(-PICTURE // pixels)) ** 2
    if kind in ("llava", "paligemma") and vision.get("image_size") and vision.get("patch_size"):
        return _patches(vision)
    if kind == "llama4":  # one tile
        return round(_patches(vision) * float(vision.get("pixel_shuffle_ratio", 0.5)) ** 2)
    return 0


def image_pixels(config: Config) -> int:
    """Pixels along a side of what one token is of a picture, where it takes as many as it is large; 0 for others."""
    usual, vision = _PIXELS_A_TOKEN.get(str(config.get("model_type"))), config.get("vision_config")
    fixed = config.get("mm_tokens_per_image") or config.get("image_seq_length")
    if usual is None or fixed or not isinstance(vision, Mapping):
        return 0
    merged = int(vision.get("spatial_merge_size") or config.get("spatial_merge_size") or usual[1])
    return _side(vision.get("patch_size") or usual[0]) * merged


_PIXELS_A_TOKEN: Final[Mapping[str, tuple[int, int]]] = {  # (patch, patches merged along a side) where they are unsaid
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "glm4v", "glm4v_moe", "glm46v", "kimi_vl", "mistral3"), (14, 2)),
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_moe"), (16, 2)),
}


def _side(value: Any) -> int:
    return int(value[0] if isinstance(value, list | tuple) else value)


def _blocks(layers: int, d: int, ffn: int, *, gated: bool = False, bias: bool = True, rms: bool = False) -> int:
    """Transformer blocks of width `d`: four matrices of attention, two or three of feed-forward, two norms."""
    matrices = 4 * d * d + (3 if gated else 2) * d * ffn
    biases = (4 * d + (2 if gated else 1) * ffn + d) if bias else 0
    return layers * (matrices + biases + 2 * d * (1 if rms else 2))


def _patches(v: Config, usual: int = 0) -> int:
    return (_side(v.get("image_size") or usual) // _side(v["patch_size"])) ** 2


def _linear(into: int, out: int, *, bias: bool = True) -> int:
    return into * out + (out if bias else 0)


def _clip(v: Config) -> int:
    d, patch = int(v["hidden_size"]), _side(v["patch_size"])
    outside = d + 3 * patch * patch * d + (_patches(v) + 1) * d + 4 * d  # class, patches, positions, two norms
    return outside + _blocks(int(v["num_hidden_layers"]), d, int(v["intermediate_size"]))


def _siglip(v: Config) -> int:
    d, ffn, patch = (
        int(v.get("hidden_size", 1152)),
        int(v.get("intermediate_size", 4304)),
        _side(v.get("patch_size", 14)),
    )
    layers = int(v.get("num_hidden_layers", 27))
    positions = (_side(v.get("image_size", 224)) // patch) ** 2
    return _linear(3 * patch * patch, d) + positions * d + 2 * d + _blocks(layers, d, ffn)


def _pixtral(v: Config) -> int:
    d, patch = int(v["hidden_size"]), _side(v["patch_size"])
    blocks = _blocks(int(v["num_hidden_layers"]), d, int(v["intermediate_size"]), gated=True, bias=False, rms=True)
    return 3 * patch * patch * d + d + blocks


def _intern(v: Config) -> int:
    d, patch = int(v["hidden_size"]), _side(v["patch_size"])
    outside = d + _linear(3 * patch * patch, d) + (_patches(v) + 1) * d
    return (
        outside
        + _blocks(int(v["num_hidden_layers"]), d, int(v["intermediate_size"]))
        + 2 * d * int(v["num_hidden_layers"])
    )


_TOWERS: Final[Mapping[str, Callable[[Config], int]]] = {
    "clip_vision_model": _clip,
    "siglip_vision_model": _siglip,
    "pixtral": _pixtral,
}


def _tower(config: Config, usual: str) -> tuple[int, int]:
    """(parameters, width) of a vision part that is a model of its own, by its `model_type`; `usual` where unsaid."""
    v = config["vision_config"]
    return _TOWERS[str(v.get("model_type") or usual)](v), int(v.get("hidden_size", 1152))


def _llava(config: Config, width: int) -> int:
    params, d = _tower(config, "clip_vision_model")
    return params + _linear(d, width) + _linear(width, width) + width  # the last: what ends a row of an image


def _mistral3(config: Config, width: int) -> int:
    params, d = _tower(config, "pixtral")
    merged, bias = d * int(config.get("spatial_merge_size", 2)) ** 2, bool(config.get("multimodal_projector_bias"))
    return params + d + merged * d + _linear(d, width, bias=bias) + _linear(width, width, bias=bias)


def _gemma3(config: Config, width: int) -> int:
    params, d = _tower(config, "siglip_vision_model")
    return params + d * width + d


def _paligemma(config: Config, width: int) -> int:
    params, d = _tower(config, "siglip_vision_model")
    return params + _linear(d, width)


def _idefics3(config: Config, width: int) -> int:
    v = config["vision_config"]
    return _siglip(v) + int(v.get("hidden_size", 1152)) * int(config.get("scale_factor", 2)) ** 2 * width


def _internvl(config: Config, width: int) -> int:
    v = config["vision_config"]
    merged = int(v["hidden_size"]) * round(1 / float(config.get("downsample_ratio", 0.5))) ** 2
    return _intern(v) + 2 * merged + _linear(merged, width) + _linear(width, width)


def _merger(d: int, width: int, *, norm: int) -> int:
    """Four neighbouring patches joined into one token."""
    return norm + _linear(4 * d, 4 * d) + _linear(4 * d, width)


def _qwen2_vl(config: Config, width: int) -> int:
    v = config["vision_config"]
    d, patch = int(v.get("embed_dim", 1280)), _side(v.get("patch_size", 14))
    ffn = int(d * v.get("mlp_ratio", 4))
    patches = 3 * int(v.get("temporal_patch_size", 2)) * patch * patch * d
    return patches + _blocks(int(v.get("depth", 32)), d, ffn) + _merger(d, width, norm=2 * d)


def _qwen2_5_vl(config: Config, width: int) -> int:
    v = config["vision_config"]
    d, patch = int(v.get("hidden_size", 1280)), _side(v.get("patch_size", 14))
    patches = 3 * int(v.get("temporal_patch_size", 2)) * patch * patch * d
    blocks = _blocks(int(v.get("depth", 32)), d, int(v.get("intermediate_size", 3420)), gated=True, rms=True)
    return patches + blocks + _merger(d, width, norm=d)


def _qwen3_vl(config: Config, width: int) -> int:
    v = config["vision_config"]
    d, patch = int(v["hidden_size"]), _side(v["patch_size"])
    outside = (
        _linear(3 * int(v.get("temporal_patch_size", 2)) * patch * patch, d) + int(v["num_position_embeddings"]) * d
    )
    deep = len(v.get("deepstack_visual_indexes") or ()) * _merger(d, width, norm=2 * 4 * d)
    return outside + _blocks(int(v["depth"]), d, int(v["intermediate_size"])) + _merger(d, width, norm=2 * d) + deep


def _glm4v(config: Config, width: int) -> int:
    v = config["vision_config"]
    d, patch, out = int(v["hidden_size"]), _side(v["patch_size"]), int(v.get("out_hidden_size", width))
    outside = _linear(3 * int(v.get("temporal_patch_size", 2)) * patch * patch, d) + _patches(v) * d + 2 * d
    joined = _linear(d * int(v.get("spatial_merge_size", 2)) ** 2, out) + out * out + 2 * out
    joined += 3 * out * int(v["intermediate_size"])
    return outside + _blocks(int(v["depth"]), d, out, gated=True, bias=False, rms=True) + joined


def _llama4(config: Config, width: int) -> int:
    v = config["vision_config"]
    joined, out = (
        round(int(v["hidden_size"]) / float(v.get("pixel_shuffle_ratio", 0.5)) ** 2),
        int(v["projector_output_dim"]),
    )
    return _clip(v) + joined * int(v["projector_input_dim"]) + int(v["projector_input_dim"]) * out + out * width


def _mllama(config: Config, width: int) -> int:
    v = config["vision_config"]
    d, ffn, tiles = (int(v[key]) for key in ("hidden_size", "intermediate_size", "max_num_tiles"))
    positions, ratios = _patches(v) + 1, len(v.get("supported_aspect_ratios") or ()) + 1
    layers = int(v["num_hidden_layers"]) + int(v["num_global_layers"])
    blocks = _blocks(layers, d, ffn) - layers * 4 * d  # the projections of attention have no biases
    outside = d + 3 * _side(v["patch_size"]) ** 2 * d + positions * d + 4 * d
    by_ratio = ratios * tiles * (positions + 2) * d
    seen = d * (1 + len(v["intermediate_layers_indices"]))
    return blocks + outside + by_ratio + _linear(seen, width) + 8 * width  # the last: words that only the input has


def _kimi_vl(config: Config, width: int) -> int:
    v = config["vision_config"]
    d, patch = int(v["hidden_size"]), _side(v["patch_size"])
    outside = _linear(3 * patch * patch, d) + int(v["init_pos_emb_height"]) * int(v["init_pos_emb_width"]) * d + 2 * d
    merged = 4 * d
    joined = 2 * d + _linear(merged, merged) + _linear(merged, width)
    return outside + _blocks(int(v["num_hidden_layers"]), d, int(v["intermediate_size"])) + joined


def _audio_encoder(a: Config) -> tuple[int, int]:
    """(parameters, width) of an encoder after Whisper's: two convolutions, fixed positions, keys without a bias."""
    d = int(a.get("d_model") or a["hidden_size"])
    layers = int(a.get("encoder_layers") or a["num_hidden_layers"])
    ffn = int(a.get("encoder_ffn_dim") or a["intermediate_size"])
    ends = _linear(3 * int(a.get("num_mel_bins", 128)), d) + _linear(3 * d, d)
    return ends + int(a.get("max_source_positions", 1500)) * d + _blocks(layers, d, ffn) - layers * d + 2 * d, d


def _qwen2_audio(config: Config, width: int) -> int:
    params, d = _audio_encoder(config["audio_config"])
    return params + _linear(d, width)


def _voxtral(config: Config, width: int) -> int:
    params, _ = _audio_encoder(config["audio_config"])
    return params + int(config["audio_config"]["intermediate_size"]) * width + width * width


def _audio_flamingo(config: Config, width: int) -> int:
    params, d = _audio_encoder(config["audio_config"])
    return params + _linear(d, width) + _linear(width, width)


def _fuyu(config: Config, width: int) -> int:
    """A model that takes pixels as they are: Fuyu projects its patches with one matrix."""
    return _linear(3 * int(config.get("patch_size", 30)) ** 2, width)


_COUNTED: Final[Mapping[str, Callable[[Config, int], int]]] = {
    **dict.fromkeys(("llava", "llava_next", "llava_next_video", "llava_onevision"), _llava),
    **dict.fromkeys(("gemma3", "shieldgemma2"), _gemma3),
    **dict.fromkeys(("idefics3", "smolvlm"), _idefics3),
    **dict.fromkeys(("internvl", "internvl_chat", "qianfan_ocr"), _internvl),
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_moe"), _qwen3_vl),
    **dict.fromkeys(("glm4v", "glm4v_moe", "glm46v"), _glm4v),
    **dict.fromkeys(("kimi_vl",), _kimi_vl),
    **dict.fromkeys(("audioflamingo3", "musicflamingo"), _audio_flamingo),
    "mistral3": _mistral3,
    "paligemma": _paligemma,
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "llama4": _llama4,
    "mllama": _mllama,
    "qwen2_audio": _qwen2_audio,
    "voxtral": _voxtral,
    "fuyu": _fuyu,
}
