"""Models whose `config.json` must not be counted as a transformer of its dimensions, each with what to do instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from sizewell import csvtables
from sizewell.sizing.workload.towers import parts_of

MACHINE_ALONE: Final = (
    "size the machine alone: kind: notebook with resources: {gpu: 24GB..}, in place of the model and its load; gpu "
    "holds 2 bytes a parameter to serve it or for LoRA (bf16), 16 to train all of it (AdamW), and the activations"
)
_OF_TWO_STACKS: Final = {"google-t5/t5-large": 738e6, "bigscience/mt0-xxl": 12.9e9}  # in the catalog, by parameters
TWO_STACKS: Final = (
    "name one of the catalog if it is as large (google-t5/t5-large of 0.7B, bigscience/mt0-xxl of 13B); else "
    + MACHINE_ALONE
)
_PUBLISHED: Final = (
    "state the published number of all its parameters beside the file: model: {config: ..., params: 9.7B}"
)
_EACH: Final = (
    "size each by itself: model: {family: vision, params, resolution, forward_flop_per_sample} for images, "
    "{family: encoder, params, layers, hidden, heads, vocab} for texts"
)
_A_HYBRID: Final = (
    "name a hybrid of the catalog that is as large (nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, "
    f"nvidia/Nemotron-H-56B-Base-8K); else {MACHINE_ALONE}"
)
BY_FLOPS: Final = (
    "state what is published of it: model: {family: vision, params: 89M, resolution: 224, forward_flop_per_sample: 31B}"
)


@dataclass(frozen=True, slots=True)
class OtherKind:
    """What a model is, and the way out that predicts it rightly."""

    what: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusualModel:
    """A row of unusual_models.csv: what says that layers are not those of a transformer, though dimensions are stated.

    A field counts where the file has it with any value but none, zero or false.
    """

    by: Literal["field", "model_type"]
    name: str
    what: str
    source: str


@cache
def _unusual(by: str) -> Mapping[str, str]:
    rows = csvtables.read(UnusualModel, Path(__file__).parent / "data/unusual_models.csv")
    return {row.name: row.what for row in rows if row.by == by}


_SPEECH = frozenset({
    "whisper", "wav2vec2", "wav2vec2-bert", "wav2vec2-conformer", "hubert", "wavlm", "unispeech", "unispeech-sat",
    "speech_to_text", "parakeet_ctc", "parakeet_encoder", "parakeet_tdt", "parakeet_rnnt", "moshi", "moonshine",
    "seamless_m4t", "seamless_m4t_v2", "speecht5", "canary", "parakeet", "granite_speech", "bark", "vits", "musicgen",
    "musicgen_melody", "encodec", "dac", "mimi", "csm", "kyutai_speech_to_text", "higgs_audio_v2", "dia",
    "audio-spectrogram-transformer", "fastspeech2_conformer", "univnet", "pocket_tts", "voxtral_encoder",
    "voxtral_realtime", "voxtral_realtime_encoder", "qwen2_audio_encoder", "vibevoice",
})  # fmt: skip
_ALSO_SPEECH = frozenset({"faster-whisper", "w2v-bert", "seamless", "mms-1b", "conformer", "data2vec-audio"})
_ALSO_WORDS = frozenset({"align", "dac", "mimi", "dia", "csm", "minimax"})  # and families with models of other kinds
_PAIRED = frozenset({
    "clip", "siglip", "siglip2", "align", "altclip", "blip", "chinese_clip", "clap", "clipseg", "flava", "groupvit",
    "metaclip_2", "owlvit", "owlv2", "vision-text-dual-encoder", "x_clip", "xclip", "bridgetower", "clvp", "jina_clip",
    "aimv2", "tipsv2", "videoprism", "grounding-dino",
})  # fmt: skip
_TASKS = ("ForImageClassification", "ForObjectDetection", "ForCTC", "ForAudioClassification", "ForSemanticSegmentation",
          "ForInstanceSegmentation", "ForUniversalSegmentation", "ForDepthEstimation", "ForImageSegmentation",
          "ForVideoClassification", "ForTextToSpeech", "ForTextToWaveform", "ForPrediction", "ForImageToImage",
          "ForZeroShotObjectDetection", "ForMaskedImageModeling", "ForTextToSpectrogram", "ForXVector",
          "ForMaskGeneration")  # fmt: skip
_RECURRENT_TYPES = frozenset({"mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv5", "rwkv6", "rwkv7", "recurrent_gemma",
                              "jamba", "zamba", "zamba2", "bamba", "nemotron_h", "falcon_h1", "granitemoehybrid",
                              "qwen3_next", "qwen3_5", "qwen3_5_moe", "lfm2", "lfm2_moe", "lfm2_vl", "kimi_linear",
                              "minimax", "xlstm", "olmo_hybrid", "bailing_hybrid"})  # fmt: skip
_RECURRENT_KEYS = ("ssm_state_size", "mamba_num_heads", "linear_num_key_heads", "state_size", "hybrid_override_pattern",
                   "attn_layer_period", "attn_layer_indices", "mamba_d_state", "ssm_cfg", "lru_width")  # fmt: skip
_RECURRENT_LAYERS = frozenset(
    {"linear_attention", "mamba", "mamba2", "recurrent", "conv", "ssm", "lightning_attention"}
)
PLAIN_VISION: Final = frozenset({"vit", "deit", "dinov2", "dinov2_with_registers", "dinov3_vit", "clip_vision_model",
                                 "chinese_clip_vision_model", "siglip_vision_model", "ijepa", "vit_msn",
                                 "internvl_vision", "intern_vit_6b"})  # fmt: skip
"""Image models that are transformers over patches and nothing else: counted by their dimensions."""
_WRITES: Final = ("ForCausalLM", "LMHeadModel", "LMHead", "ForSequenceClassification", "ForMaskedLM")
"""Ends of the classes that are a language model and no more; of a kind that is not known, others are something else."""


def other_kind(config: Mapping[str, Any], text: Mapping[str, object], *, known: bool) -> OtherKind | None:
    """What a model is that no count of a plain transformer is right for; None for what is counted.

    A state that does not grow with the context, a second stack with attention across: both memory and time differ.
    `known`: whether the language model's own type is one that is counted.
    """
    top = str(config.get("model_type") or "").lower()
    model_type = str(text.get("model_type") or top).lower()
    made_for = [str(architecture) for architecture in config.get("architectures") or []]
    if top in _SPEECH or model_type in _SPEECH:
        return OtherKind("a speech model", _speech(top, model_type))
    if top in _PAIRED:
        return OtherKind("a pair of encoders", _EACH)
    if model_type not in PLAIN_VISION and any(architecture.endswith(_TASKS) for architecture in made_for):
        return OtherKind(f"a model for another task ({', '.join(made_for)})", BY_FLOPS)
    if _recurrent(text, model_type) or top in _RECURRENT_TYPES:
        return OtherKind("a state-space, recurrent or hybrid model", _A_HYBRID)
    if _two_stacks(config, text):
        return OtherKind("an encoder-decoder", TWO_STACKS)
    if model_type in _unusual("model_type"):
        return OtherKind(_unusual("model_type")[model_type], MACHINE_ALONE)
    if unusual := next((what for field, what in _unusual("field").items() if text.get(field)), ""):
        return OtherKind(unusual, MACHINE_ALONE)
    if (
        "vocab_size" not in text
        and text.get("image_size")
        and text.get("patch_size")
        and model_type not in PLAIN_VISION
    ):
        return OtherKind("an image model other than a plain vision transformer", BY_FLOPS)
    width, hidden = text.get("embedding_size") or text.get("input_embedding_size"), text.get("hidden_size")
    if width and width != hidden and "vocab_size" in text:
        return OtherKind(f"a model whose embedding has {width} columns of its own", MACHINE_ALONE)
    if made_for and not known and not parts_of(config) and not any(name.endswith(_WRITES) for name in made_for):
        return OtherKind(
            f"a model of a kind that is not known ({', '.join(made_for)})",
            "if it only encodes texts: model: {family: encoder, params, layers, hidden, heads, vocab}; for images: "
            f"model: {{family: vision, params, resolution, forward_flop_per_sample}}; else {MACHINE_ALONE}",
        )
    return None


_TWO_STACKS_CALLED: Final = re.compile(
    r"(?:^|[-_/])(?:(?:m|by|code|long|u|madlad)?t5|mt0|t0(?:pp)?|ul2|m?bart|pegasus|opus-mt|nllb|m2m100|prophetnet)(?:[-_.]|$)",
    re.IGNORECASE,
)


def two_stacks_by_name(name: str) -> bool:
    """Whether a model is called as one of the families of encoder-decoders, whose config.json is not counted.

    >>> [two_stacks_by_name(name) for name in ("google/flan-t5-xl", "facebook/bart-large", "org/starting-point")]
    [True, True, False]
    """
    return _TWO_STACKS_CALLED.search(name) is not None


_SPEAKS_CALLED: Final = re.compile(
    r"(?:^|[-_/.])(?:kokoro|x?tts\d*|bark|vits\d*|speecht5|tortoise|piper|tacotron\d*|fastspeech\d*|chatterbox|zonos|"
    r"fish-speech|hifigan|(?:cosyvoice|styletts|melotts|openvoice|vibevoice)\w*)(?:[-_.]|$)",
    re.IGNORECASE,
)


def speaks_by_name(name: str) -> bool:
    """Whether a model is called as one of the families that make speech of text.

    >>> [speaks_by_name(name) for name in ("hexgrad/Kokoro-82M", "coqui/XTTS-v2", "suno/bark", "org/embark-7b")]
    [True, True, True, False]
    """
    return _SPEAKS_CALLED.search(name) is not None


_FILMS_CALLED: Final = re.compile(
    r"(?:^|[-_/.])(?:wan[-_]?\d[\d.]*|wan-?ai|hunyuan-?video\w*|cogvideo\w*|ltx-?\w*|mochi|open-?sora|animatediff\w*|"
    r"skyreels\w*|zeroscope\w*|videocrafter\w*|allegro|pyramid-flow\w*|step-video\w*|sora|veo|kling\w*|svd|"
    r"stable-video-diffusion|(?:text|image)[-_]to[-_]video\w*|[ti]2v)(?:[-_./]|$)",
    re.IGNORECASE,
)


def films_by_name(name: str) -> bool:
    """Whether a model is called as one of the families that make video.

    >>> names = ("Wan-AI/Wan2.1-T2V-14B", "tencent/HunyuanVideo", "Lightricks/LTX-Video", "genmo/mochi-1-preview")
    >>> [films_by_name(name) for name in (*names, "wangzhang/qwen-7b", "llava-hf/LLaVA-NeXT-Video-7B-hf")]
    [True, True, True, True, False, False]
    """
    return _FILMS_CALLED.search(name) is not None


def machine_alone_for(name: str) -> str:
    """What a model makes that is not predicted, by its name, so that its machine alone is sized; "" for another."""
    if speaks_by_name(name):
        return "makes speech of text, which is not predicted"
    return "makes video, which is not predicted" if films_by_name(name) else ""


def way_by_name(name: str) -> str:
    """The way out for a model by what it is called, as of its config.json; "" where the name says nothing.

    >>> [way_by_name(name)[:25] for name in ("openai/whisper-small", "facebook/wav2vec2-base", "org/Mistral-7B")]
    ['to serve it name openai/w', 'for transcription size op', '']
    >>> way_by_name("state-spaces/mamba-2.8b")[:28]
    'name a hybrid of the catalog'
    """
    words = re.sub(r"[-_.\s]+", "-", name.lower())

    def called(types: frozenset[str]) -> bool:
        return any(re.search(rf"(?:^|[-/]){re.sub('_', '-', each)}(?:-|/|\d|$)", words) for each in types)

    if two_stacks_by_name(name):
        return two_stacks_way(name)
    if machine_alone_for(name):
        return MACHINE_ALONE
    if called(_SPEECH - _ALSO_WORDS | _ALSO_SPEECH):
        return _speech("whisper" if "whisper" in words else "")
    if called(_PAIRED - _ALSO_WORDS):
        return _EACH
    return _A_HYBRID if called(_RECURRENT_TYPES - _ALSO_WORDS) else ""


def two_stacks_way(name: str) -> str:
    """The way out for an encoder-decoder by its name: one of the catalog of the size that the name says, if there is.

    >>> two_stacks_way("google/mt5-xxl-13B")[:52], two_stacks_way("facebook/nllb-200-3.3B") == MACHINE_ALONE
    ('name one of the catalog that is as large (bigscience', True)
    """
    size = re.search(r"(?<![\d.])(\d+(?:\.\d+)?)([bm])(?![a-z])", name, re.IGNORECASE)
    if size is None:
        return TWO_STACKS
    params = float(size[1]) * (1e9 if size[2].lower() == "b" else 1e6)
    alike = [known for known, own in _OF_TWO_STACKS.items() if 2 / 3 < own / params < 3 / 2]
    return (
        f"name one of the catalog that is as large ({', '.join(alike)}); else {MACHINE_ALONE}"
        if alike
        else MACHINE_ALONE
    )


def unknown_parts(config: Mapping[str, object]) -> OtherKind:
    """A model with parts that see or hear whose parameters nobody has counted."""
    return OtherKind(
        f"a model with {' and '.join(parts_of(config))} of a kind whose parameters are not known", _PUBLISHED
    )


def _speech(*types: str) -> str:
    if "whisper" in types:
        return f"to serve it name openai/whisper-large-v3 of the catalog; to train it, or another size, {MACHINE_ALONE}"
    return f"for transcription size openai/whisper-large-v3 of the catalog; else {MACHINE_ALONE}"


def _recurrent(text: Mapping[str, object], model_type: str) -> bool:
    kinds = text.get("layer_types")
    layers = isinstance(kinds, list) and any(kind in _RECURRENT_LAYERS for kind in kinds)
    return model_type in _RECURRENT_TYPES or layers or any(text.get(key) for key in _RECURRENT_KEYS)


def _two_stacks(config: Mapping[str, object], text: Mapping[str, object]) -> bool:
    stated = text.get("is_encoder_decoder") or config.get("is_encoder_decoder")
    both = isinstance(config.get("encoder"), Mapping) and isinstance(config.get("decoder"), Mapping)
    return bool(stated or both or any(text.get(key) for key in ("num_decoder_layers", "decoder_layers")))
