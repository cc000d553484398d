"""Counting a model from its dimensions: parameters, FLOPs, bytes of attention cache; refusing shapes that cannot be.

Conventions: one multiply-add is two FLOPs; backward costs twice forward; the lookup of an embedding costs nothing, the
projection onto the vocabulary does. Attention over s tokens costs 4 x heads x head_dim x s per token and layer forward,
half of that where a causal mask spares the upper triangle (Kaplan et al. 2020; PaLM 2022, appendix B).
"""

from __future__ import annotations

from collections.abc import Mapping

from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.errors import Fault, SpecError

_LARGEST = 100_000_000  # of any dimension; beyond it is a slip of the keyboard


def params_total(model: Architecture) -> int:
    """All parameters held in memory: counted from the dimensions, or as published where there are none to count."""
    if not model.layers or not model.hidden:
        return model.params_stated or 0
    dense, expert = stage_params(model, range(model.layers), first=True, last=True)
    return dense + expert


# Values that a pass hands on, counted: 11.1 M for 8.2 GFLOP in ResNet-50, 250 M for 402 GFLOP in MLPerf's RetinaNet,
# whose scores of 264 classes are wide products. By the rule below that is a network of so many parameters.
_AS_WIDE_AS = {"retinanet-resnext50": 1.22e8}


def width_params(model: Architecture) -> float:
    """Parameters that tell how wide an image network is: width grows with their square root, and what is moved
    per FLOP falls with it.
    """
    return _AS_WIDE_AS.get(model.key, float(max(1e6, params_total(model))))


def params_active(model: Architecture) -> int:
    """Parameters that one token passes through, embedding table included; `extra_params` are not among them."""
    if not model.layers or not model.hidden:
        return model.params_active_stated or model.params_stated or 0
    idle = expert_layers(model) * max(0, model.experts - model.experts_per_token) * _expert_params(model)
    return params_total(model) - model.extra_params - idle


def matmul_params(model: Architecture) -> int:
    """Active parameters that take part in a matrix product: all but the embedding and position tables."""
    table = 0 if model.kind == "vision" else model.vocab * model.hidden
    return params_active(model) - embedding_params(model) - output_params(model) + table


def attention_params(model: Architecture) -> int:
    """Parameters of one layer's attention: Q, K, V and output, or the low-rank factors of latent attention (MLA).

    >>> attention_params(Architecture(key="x", layers=1, hidden=4096, heads=32, kv_heads=8, head_dim=128))
    41943040
    """
    if model.kv_lora_rank:
        query_dim = model.qk_nope_head_dim + model.qk_rope_head_dim
        query = (
            model.hidden * model.q_lora_rank + model.q_lora_rank + model.q_lora_rank * model.heads * query_dim
            if model.q_lora_rank
            else model.hidden * model.heads * query_dim
        )
        latent = model.hidden * (model.kv_lora_rank + model.qk_rope_head_dim) + model.kv_lora_rank
        expand = model.kv_lora_rank * model.heads * (model.qk_nope_head_dim + model.v_head_dim)
        return query + latent + expand + model.heads * model.v_head_dim * model.hidden
    query_width, kv_width = model.heads * model.head_dim, model.kv_heads * model.head_dim
    weights = 2 * model.hidden * query_width + 2 * model.hidden * kv_width
    bias = {"none": 0, "qkv": query_width + 2 * kv_width, "all": query_width + 2 * kv_width + model.hidden}[
        model.biases
    ]
    return weights + bias


def feed_forward_params(model: Architecture) -> int:
    """Parameters of one dense feed-forward block: three matrices where it is gated, two where it is not."""
    matrices = 3 if model.gated else 2
    bias = model.ffn * (matrices - 1) + model.hidden if model.biases == "all" else 0
    return matrices * model.hidden * model.ffn + bias


def routed_expert_params(model: Architecture) -> int:
    """Parameters of all routed experts of one layer: what expert parallelism divides."""
    return model.experts * _expert_params(model)


def _expert_params(model: Architecture) -> int:
    matrices = 3 if model.gated else 2
    bias = model.expert_ffn * (matrices - 1) + model.hidden if model.biases == "all" else 0
    return matrices * model.hidden * model.expert_ffn + bias


def has_experts(model: Architecture, layer: int) -> bool:
    """Whether `layer` (from 0) is a mixture of experts.

    >>> a = Architecture(key="x", layers=6, experts=8, dense_layers=1, moe_every=2)
    >>> [has_experts(a, layer) for layer in range(6)]
    [False, False, True, False, True, False]
    """
    return (
        model.experts > 0
        and layer >= model.dense_layers
        and (layer - model.dense_layers + 1) % max(1, model.moe_every) == 0
    )


def expert_layers(model: Architecture, layers: range | None = None) -> int:
    """How many of `layers` (all where None) are a mixture of experts."""
    if not model.experts:
        return 0
    start, stop = (0, model.layers) if layers is None else (layers.start, layers.stop)
    every = max(1, model.moe_every)

    def before(layer: int) -> int:
        return max(0, layer - model.dense_layers) // every

    return before(stop) - before(start)


def norm_params(model: Architecture) -> int:
    """Two normalisations per layer; layer norm (models with biases) has a shift beside the scale."""
    return 2 * model.hidden * (2 if model.biases == "all" else 1)


def embedding_params(model: Architecture) -> int:
    """The token table and, where the model has one, the table of learned positions."""
    return (model.vocab + model.learned_positions) * model.hidden


def output_params(model: Architecture) -> int:
    """The projection onto the vocabulary, where it is a matrix of its own."""
    return 0 if model.tied_embeddings or model.kind != "decoder" else model.vocab * model.hidden


def stage_params(model: Architecture, layers: range, *, first: bool, last: bool) -> tuple[int, int]:
    """(dense, routed expert) parameters of a pipeline stage: the first has the embeddings, the last the head.

    With tied embeddings the first and the last of several stages both keep the table.
    """
    with_experts = expert_layers(model, layers)
    router_and_shared = model.hidden * model.experts + model.shared_experts * _expert_params(model)
    dense = len(layers) * (attention_params(model) + norm_params(model))
    dense += (len(layers) - with_experts) * feed_forward_params(model) + with_experts * router_and_shared
    if first:
        dense += embedding_params(model) + model.extra_params
    if last:
        dense += model.hidden * (2 if model.biases == "all" else 1) + output_params(model)
        dense += model.vocab * model.hidden if model.tied_embeddings and not first else 0
    return dense, with_experts * routed_expert_params(model)


def local_layers(model: Architecture) -> int:
    """How many layers attend to a sliding window only."""
    if not model.sliding_window:
        return 0
    if model.sliding_window_layers:
        return model.sliding_window_layers
    return model.layers - (model.layers // model.global_attention_every if model.global_attention_every else 0)


def score_and_value_dims(model: Architecture) -> tuple[int, int]:
    """Width per head of the score product and of the value product."""
    if model.kv_lora_rank:
        return model.qk_nope_head_dim + model.qk_rope_head_dim, model.v_head_dim
    return model.head_dim, model.head_dim


def attention_context(seq: float, window: int, *, causal: bool) -> float:
    """Tokens that a token of a sequence of `seq` attends to, on average; `window` 0: no window.

    >>> attention_context(4096, 0, causal=True), attention_context(4096, 1024, causal=True)
    (2048.0, 896.0)
    """
    if not window or window >= seq:
        return seq / 2 if causal else float(seq)
    return window - window * window / (2 * seq) if causal else float(window)


def attention_flop_per_token(model: Architecture, seq: float, *, causal: bool = True) -> float:
    """FLOPs of the attention scores and of their product with the values: all layers, forward, per token of `seq`."""
    causal = causal and model.kind == "decoder"
    local = local_layers(model)
    reach = local * attention_context(seq, model.sliding_window, causal=causal)
    reach += (model.layers - local) * attention_context(seq, 0, causal=causal)
    return 2.0 * model.heads * sum(score_and_value_dims(model)) * reach


def forward_flop_per_token(model: Architecture, context: float) -> float:
    """FLOPs of one forward pass for a token that attends to `context` tokens (decoding: the tokens in the cache)."""
    local = local_layers(model)
    reach = local * min(context, model.sliding_window) + (model.layers - local) * context
    return 2.0 * matmul_params(model) + 2.0 * model.heads * sum(score_and_value_dims(model)) * reach


def train_flop_per_token(model: Architecture, seq: float, *, causal: bool = True) -> float:
    """FLOPs of forward and backward per token: 6 per active matrix parameter, and three times the attention.

    `causal=False` counts the whole score matrix, the convention of PaLM's and Megatron's MFU.
    """
    return 6.0 * matmul_params(model) + 3.0 * attention_flop_per_token(model, seq, causal=causal)


def forward_flop_per_sample(model: Architecture, seq: float = 0) -> float:
    """FLOPs of one forward pass over a sample: an image or a denoising step, else a sequence of `seq` tokens."""
    if model.forward_flop_per_sample:
        return model.forward_flop_per_sample
    return seq * (2.0 * matmul_params(model) + attention_flop_per_token(model, seq))


# The decoder of latents that Stable Diffusion's, SDXL's and FLUX's autoencoders share (Rombach et al. 2022; diffusers'
# AutoencoderKL: 128, 256, 512 and 512 channels, three residual blocks a level, eight pixels a side to a position).
_DECODED_FLOP_PER_PIXEL = 9.46e6  # counted by layer: convolutions and projections
_DECODED_VALUES_PER_PIXEL = 1.115e4  # read and written by kernels that fuse a norm with its activation, counted so too
_DECODED_SCORES_WIDTH = 512  # of its one attention block, over all positions


def decoding_flop(model: Architecture) -> float:
    """FLOPs of turning a diffusion model's last latents into one picture; 0 for other models."""
    pixels = _drawn_pixels(model)
    positions = pixels / 64.0
    return pixels * _DECODED_FLOP_PER_PIXEL + 4.0 * positions**2 * _DECODED_SCORES_WIDTH


def sample_flop(model: Architecture, seq: float = 0, passes: float = 1.0) -> float:
    """FLOPs of one sample: its forward passes, and the decoder's of a picture."""
    return passes * forward_flop_per_sample(model, seq) + decoding_flop(model)


def decoding_values(model: Architecture) -> float:
    """Values that the same moves through memory, at least."""
    return _drawn_pixels(model) * _DECODED_VALUES_PER_PIXEL


def _drawn_pixels(model: Architecture) -> float:
    return float(model.resolution) ** 2 if model.kind == "diffusion" and model.resolution else 0.0


def kv_values_per_token(model: Architecture, *, context: float = 0) -> float:
    """Values cached per token, all layers: K and V per KV head, or the latent vector and the shared rotary key of MLA.

    With `context` > 0 layers with a sliding window keep no more than the window, averaged over the context.
    """
    per_layer = (
        model.kv_lora_rank + model.qk_rope_head_dim if model.kv_lora_rank else 2 * model.kv_heads * model.head_dim
    )
    local = local_layers(model) if context else 0
    kept = min(1.0, model.sliding_window / context) if local else 1.0
    return per_layer * (model.layers - local + local * kept)


def kv_bytes_per_token(model: Architecture, bytes_per_value: float = 2, *, context: float = 0) -> float:
    """Bytes of attention cache per token, all layers, before tensor parallelism divides the KV heads.

    >>> a = Architecture(key="llama-3-70b", layers=80, hidden=8192, heads=64, kv_heads=8, head_dim=128)
    >>> kv_bytes_per_token(a, 2)
    327680.0
    """
    return kv_values_per_token(model, context=context) * bytes_per_value


OPEN: Mapping[str, str] = {
    "tied_embeddings": "whether the output head shares the embeddings",
    "gated": "whether feed-forward layers are gated",
    "max_sequence_length": "the longest sequence",
    "shared_experts": "shared experts",
    "image_tokens": "tokens of an image",
    "extra_params": "parameters beside the language model",
    "ffn": "feed-forward width",
    "dense_layers": "layers without experts",
    "q_lora_rank": "rank of compressed queries",
    "qk_nope_head_dim": "width of keys without positions",
    "v_head_dim": "width of values",
    "layers": "layers",
    "forward_flop_per_sample": "FLOPs of a sample",
    "expert_ffn": "width of an expert",
    "experts_per_token": "experts of a token",
    "kv_heads": "key-value heads",
    "vocab": "vocabulary",
    "head_dim": "width of a head",
}
"""What the fields that catalog rows leave open are called in a sentence."""


def assumptions(model: Architecture) -> tuple[str, ...]:
    """What a model's source leaves open, in sentences: an architecture lists the bare names of such fields.

    >>> assumptions(Architecture(key="x", assumed=("vocab", "max_sequence_length", "4 heads, by its name")))[1]
    'assumed of the model, as its source does not say: vocabulary, the longest sequence'
    """
    bare = [OPEN.get(note, note) for note in model.assumed if " " not in note]
    sentences = tuple(note for note in model.assumed if " " in note)
    return (*sentences, f"assumed of the model, as its source does not say: {', '.join(bare)}") if bare else sentences


UNKNOWN_KIND = "architecture "
"""How the note starts that a configuration's own kind is not known: counted as a transformer of its dimensions."""


def is_speech_recognizer(model: Architecture) -> bool:
    """Whether a decoder as deep as the encoder stands behind it (speech recognition): the one kind of encoder whose
    work per sample is stated and not counted from tokens.
    """
    return model.kind == "encoder" and bool(model.layers and model.forward_flop_per_sample)


def served_family(model: Architecture) -> str:
    """What an engine has to be made for to serve it: speech, else the kind of the model."""
    return "speech" if is_speech_recognizer(model) else model.kind


def cross_attention_bytes(model: Architecture) -> float:
    """16-bit keys and values of what a sample's encoder heard, for every layer that writes: half of them.

    The positions heard follow from the encoder's FLOPs: two for each of its parameters, half of the model's.

    >>> whisper = Architecture(key="x", kind="encoder", layers=64, hidden=1280, kv_heads=20, heads=20, head_dim=64,
    ...     ffn=5120, gated=False, vocab=51866, tied_embeddings=True, forward_flop_per_sample=2.5e12)
    >>> round(cross_attention_bytes(whisper) / 1e6)
    309
    """
    positions = (model.forward_flop_per_sample or 0.0) / max(1, params_total(model))
    return 2 * 2.0 * model.layers / 2 * model.kv_heads * model.head_dim * positions


def is_guess(model: Architecture) -> bool:
    """Whether only the dimensions are known: what is predicted of it has the lowest grade and twice the band."""
    return any(note.startswith(UNKNOWN_KIND) for note in model.assumed)


def faults(model: Architecture, path: str = "model") -> tuple[Fault, ...]:
    """Everything that is impossible about the shape; () for a model that can exist."""
    all_faults: list[Fault] = []

    def wrong(field: str, value: object, allowed: str) -> None:
        all_faults.append(Fault(path=f"{path}.{field}", found=value, allowed=allowed))

    if model.kind in ("vision", "diffusion") and not model.layers:
        if not model.forward_flop_per_sample or model.forward_flop_per_sample < 0:
            wrong("forward_flop_per_sample", model.forward_flop_per_sample, "the FLOPs of one forward pass, above 0")
        if not model.params_stated or model.params_stated < 0:
            wrong("params", model.params_stated, "the number of parameters, above 0")
        return tuple(all_faults)
    counted = {"layers": model.layers, "hidden": model.hidden, "heads": model.heads}
    if model.kind in ("decoder", "encoder"):
        counted["vocab"] = model.vocab
    if not model.kv_lora_rank:
        counted |= {"kv_heads": model.kv_heads, "head_dim": model.head_dim}
    if not model.experts or expert_layers(model) < model.layers:
        counted["ffn"] = model.ffn
    if model.experts:
        counted["expert_ffn"] = model.expert_ffn
    for field, value in counted.items():
        if not 1 <= value <= _LARGEST:
            wrong(field, value, f"1 to {_LARGEST:,}")
    if model.heads > 0 and model.kv_heads > 0 and model.heads % model.kv_heads:
        wrong("kv_heads", model.kv_heads, f"a divisor of heads ({model.heads})")
    if model.experts and not 1 <= model.experts_per_token <= model.experts:
        wrong("experts_per_token", model.experts_per_token, f"1 to {model.experts} (experts)")
    if model.kv_lora_rank and not (model.qk_rope_head_dim and model.qk_nope_head_dim and model.v_head_dim):
        wrong(
            "v_head_dim", model.v_head_dim, "above 0, with qk_rope_head_dim and qk_nope_head_dim, for latent attention"
        )
    return tuple(all_faults)


def check(model: Architecture, path: str = "model") -> Architecture:
    """The same architecture; raises SpecError with every fault of an impossible shape."""
    all_faults = faults(model, path)
    if all_faults:
        raise SpecError(all_faults, subject=model.key or path)
    return model
