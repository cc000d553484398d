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


def params_total(a: Architecture) -> int:
    """All parameters held in memory: counted from the dimensions, or as published where there are none to count."""
    if not a.layers or not a.hidden:
        return a.params_stated or 0
    dense, expert = stage_params(a, range(a.layers), first=True, last=True)
    return dense + expert


# Values that a pass hands on, counted: 11.1 M for 8.2 GFLOP in ResNet-50, 250 M for 402 GFLOP in MLPerf's RetinaNet,
# whose scores of 264 classes are wide products. By the rule below that is a network of so many parameters.
_AS_WIDE_AS = {"retinanet-resnext50": 1.22e8}


def width_params(a: Architecture) -> float:
    """Parameters that tell how wide an image network is: width grows with their square root, and what is moved
    per FLOP falls with it.
    """
    return _AS_WIDE_AS.get(a.key, float(max(1e6, params_total(a))))


def params_active(a: Architecture) -> int:
    """Parameters that one token passes through, embedding table included; `extra_params` are not among them."""
    if not a.layers or not a.hidden:
        return a.params_active_stated or a.params_stated or 0
    idle = expert_layers(a) * max(0, a.experts - a.experts_per_token) * _expert_params(a)
    return params_total(a) - a.extra_params - idle


def matmul_params(a: Architecture) -> int:
    """Active parameters that take part in a matrix product: all but the embedding and position tables."""
    table = 0 if a.kind == "vision" else a.vocab * a.hidden
    return params_active(a) - embedding_params(a) - output_params(a) + table


def attention_params(a: Architecture) -> int:
    """Parameters of one layer's attention: Q, K, V and output, or the low-rank factors of latent attention (MLA).

    >>> attention_params(Architecture(key="x", layers=1, hidden=4096, heads=32, kv_heads=8, head_dim=128))
    41943040
    """
    if a.kv_lora_rank:
        query_dim = a.qk_nope_head_dim + a.qk_rope_head_dim
        query = (
            a.hidden * a.q_lora_rank + a.q_lora_rank + a.q_lora_rank * a.heads * query_dim
            if a.q_lora_rank
            else a.hidden * a.heads * query_dim
        )
        latent = a.hidden * (a.kv_lora_rank + a.qk_rope_head_dim) + a.kv_lora_rank
        expand = a.kv_lora_rank * a.heads * (a.qk_nope_head_dim + a.v_head_dim)
        return query + latent + expand + a.heads * a.v_head_dim * a.hidden
    query_width, kv_width = a.heads * a.head_dim, a.kv_heads * a.head_dim
    weights = 2 * a.hidden * query_width + 2 * a.hidden * kv_width
    bias = {"none": 0, "qkv": query_width + 2 * kv_width, "all": query_width + 2 * kv_width + a.hidden}[a.biases]
    return weights + bias


def feed_forward_params(a: Architecture) -> int:
    """Parameters of one dense feed-forward block: three matrices where it is gated, two where it is not."""
    matrices = 3 if a.gated else 2
    bias = a.ffn * (matrices - 1) + a.hidden if a.biases == "all" else 0
    return matrices * a.hidden * a.ffn + bias


def routed_expert_params(a: Architecture) -> int:
    """Parameters of all routed experts of one layer: what expert parallelism divides."""
    return a.experts * _expert_params(a)


def _expert_params(a: Architecture) -> int:
    matrices = 3 if a.gated else 2
    bias = a.expert_ffn * (matrices - 1) + a.hidden if a.biases == "all" else 0
    return matrices * a.hidden * a.expert_ffn + bias


def has_experts(a: Architecture, layer: int) -> bool:
    """Whether `layer` (from 0) is a mixture of experts.

    >>> a = Architecture(key="x", layers=6, experts=8, dense_layers=1, moe_every=2)
    >>> [has_experts(a, layer) for layer in range(6)]
    [False, False, True, False, True, False]
    """
    return a.experts > 0 and layer >= a.dense_layers and (layer - a.dense_layers + 1) % max(1, a.moe_every) == 0


def expert_layers(a: Architecture, layers: range | None = None) -> int:
    """How many of `layers` (all where None) are a mixture of experts."""
    if not a.experts:
        return 0
    start, stop = (0, a.layers) if layers is None else (layers.start, layers.stop)
    every = max(1, a.moe_every)

    def before(layer: int) -> int:
        return max(0, layer - a.dense_layers) // every

    return before(stop) - before(start)


def norm_params(a: Architecture) -> int:
    """Two normalisations per layer; layer norm (models with biases) has a shift beside the scale."""
    return 2 * a.hidden * (2 if a.biases == "all" else 1)


def embedding_params(a: Architecture) -> int:
    """The token table and, where the model has one, the table of learned positions."""
    return (a.vocab + a.learned_positions) * a.hidden


def output_params(a: Architecture) -> int:
    """The projection onto the vocabulary, where it is a matrix of its own."""
    return 0 if a.tied_embeddings or a.kind != "decoder" else a.vocab * a.hidden


def stage_params(a: Architecture, layers: range, *, first: bool, last: bool) -> tuple[int, int]:
    """(dense, routed expert) parameters of a pipeline stage: the first has the embeddings, the last the head.

    With tied embeddings the first and the last of several stages both keep the table.
    """
    with_experts = expert_layers(a, layers)
    router_and_shared = a.hidden * a.experts + a.shared_experts * _expert_params(a)
    dense = len(layers) * (attention_params(a) + norm_params(a))
    dense += (len(layers) - with_experts) * feed_forward_params(a) + with_experts * router_and_shared
    if first:
        dense += embedding_params(a) + a.extra_params
    if last:
        dense += a.hidden * (2 if a.biases == "all" else 1) + output_params(a)
        dense += a.vocab * a.hidden if a.tied_embeddings and not first else 0
    return dense, with_experts * routed_expert_params(a)


def local_layers(a: Architecture) -> int:
    """How many layers attend to a sliding window only."""
    if not a.sliding_window:
        return 0
    if a.sliding_window_layers:
        return a.sliding_window_layers
    return a.layers - (a.layers // a.global_attention_every if a.global_attention_every else 0)


def score_and_value_dims(a: Architecture) -> tuple[int, int]:
    """Width per head of the score product and of the value product."""
    if a.kv_lora_rank:
        return a.qk_nope_head_dim + a.qk_rope_head_dim, a.v_head_dim
    return a.head_dim, a.head_dim


def attention_context(seq: float, window: int, *, causal: bool) -> float:
    """Tokens that a token of a sequence of `seq` attends to, on average; `window` 0: no window.

    >>> attention_context(4096, 0, causal=True), attention_context(4096, 1024, causal=True)
    (2048.0, 896.0)
    """
    if not window or window >= seq:
        return seq / 2 if causal else float(seq)
    return window - window * window / (2 * seq) if causal else float(window)


def attention_flop_per_token(a: Architecture, seq: float, *, causal: bool = True) -> float:
    """FLOPs of the attention scores and of their product with the values: all layers, forward, per token of `seq`."""
    causal = causal and a.kind == "decoder"
    local = local_layers(a)
    reach = local * attention_context(seq, a.sliding_window, causal=causal)
    reach += (a.layers - local) * attention_context(seq, 0, causal=causal)
    return 2.0 * a.heads * sum(score_and_value_dims(a)) * reach


def forward_flop_per_token(a: Architecture, context: float) -> float:
    """FLOPs of one forward pass for a token that attends to `context` tokens (decoding: the tokens in the cache)."""
    local = local_layers(a)
    reach = local * min(context, a.sliding_window) + (a.layers - local) * context
    return 2.0 * matmul_params(a) + 2.0 * a.heads * sum(score_and_value_dims(a)) * reach


def train_flop_per_token(a: Architecture, seq: float, *, causal: bool = True) -> float:
    """FLOPs of forward and backward per token: 6 per active matrix parameter, and three times the attention.

    `causal=False` counts the whole score matrix, the convention of PaLM's and Megatron's MFU.
    """
    return 6.0 * matmul_params(a) + 3.0 * attention_flop_per_token(a, seq, causal=causal)


def forward_flop_per_sample(a: Architecture, seq: float = 0) -> float:
    """FLOPs of one forward pass over a sample: an image or a denoising step, else a sequence of `seq` tokens."""
    if a.forward_flop_per_sample:
        return a.forward_flop_per_sample
    return seq * (2.0 * matmul_params(a) + attention_flop_per_token(a, seq))


# The decoder of latents that Stable Diffusion's, SDXL's and FLUX's autoencoders share (Rombach et al. 2022; diffusers'
# AutoencoderKL: 128, 256, 512 and 512 channels, three residual blocks a level, eight pixels a side to a position).
_DECODED_FLOP_PER_PIXEL = 9.46e6  # counted by layer: convolutions and projections
_DECODED_VALUES_PER_PIXEL = 1.115e4  # read and written by kernels that fuse a norm with its activation, counted so too
_DECODED_SCORES_WIDTH = 512  # of its one attention block, over all positions


def decoding_flop(a: Architecture) -> float:
    """FLOPs of turning a diffusion model's last latents into one picture; 0 for other models."""
    pixels = _drawn_pixels(a)
    positions = pixels / 64.0
    return pixels * _DECODED_FLOP_PER_PIXEL + 4.0 * positions**2 * _DECODED_SCORES_WIDTH


def sample_flop(a: Architecture, seq: float = 0, passes: float = 1.0) -> float:
    """FLOPs of one sample: its forward passes, and the decoder's of a picture."""
    return passes * forward_flop_per_sample(a, seq) + decoding_flop(a)


def decoding_values(a: Architecture) -> float:
    """Values that the same moves through memory, at least."""
    return _drawn_pixels(a) * _DECODED_VALUES_PER_PIXEL


def _drawn_pixels(a: Architecture) -> float:
    return float(a.resolution) ** 2 if a.kind == "diffusion" and a.resolution else 0.0


def kv_values_per_token(a: Architecture, *, context: float = 0) -> float:
    """Values cached per token, all layers: K and V per KV head, or the latent vector and the shared rotary key of MLA.

    With `context` > 0 layers with a sliding window keep no more than the window, averaged over the context.
    """
    per_layer = a.kv_lora_rank + a.qk_rope_head_dim if a.kv_lora_rank else 2 * a.kv_heads * a.head_dim
    local = local_layers(a) if context else 0
    kept = min(1.0, a.sliding_window / context) if local else 1.0
    return per_layer * (a.layers - local + local * kept)


def kv_bytes_per_token(a: Architecture, bytes_per_value: float = 2, *, context: float = 0) -> float:
    """Bytes of attention cache per token, all layers, before tensor parallelism divides the KV heads.

    >>> a = Architecture(key="llama-3-70b", layers=80, hidden=8192, heads=64, kv_heads=8, head_dim=128)
    >>> kv_bytes_per_token(a, 2)
    327680.0
    """
    return kv_values_per_token(a, context=context) * bytes_per_value


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


def assumptions(a: Architecture) -> tuple[str, ...]:
    """What a model's source leaves open, in sentences: an architecture lists the bare names of such fields.

    >>> assumptions(Architecture(key="x", assumed=("vocab", "max_sequence_length", "4 heads, by its name")))[1]
    'assumed of the model, as its source does not say: vocabulary, the longest sequence'
    """
    bare = [OPEN.get(note, note) for note in a.assumed if " " not in note]
    sentences = tuple(note for note in a.assumed if " " in note)
    return (*sentences, f"assumed of the model, as its source does not say: {', '.join(bare)}") if bare else sentences


UNKNOWN_KIND = "architecture "
"""How the note starts that a configuration's own kind is not known: counted as a transformer of its dimensions."""


def is_speech_recognizer(a: Architecture) -> bool:
    """Whether a decoder as deep as the encoder stands behind it (speech recognition): the one kind of encoder whose
    work per sample is stated and not counted from tokens.
    """
    return a.kind == "encoder" and bool(a.layers and a.forward_flop_per_sample)


def cross_attention_bytes(a: Architecture) -> float:
    """16-bit keys and values of what a sample's encoder heard, for every layer that writes: half of them.

    The positions heard follow from the encoder's FLOPs: two for each of its parameters, half of the model's.

    >>> whisper = Architecture(key="x", kind="encoder", layers=64, hidden=1280, kv_heads=20, heads=20, head_dim=64,
    ...     ffn=5120, gated=False, vocab=51866, tied_embeddings=True, forward_flop_per_sample=2.5e12)
    >>> round(cross_attention_bytes(whisper) / 1e6)
    309
    """
    positions = (a.forward_flop_per_sample or 0.0) / max(1, params_total(a))
    return 2 * 2.0 * a.layers / 2 * a.kv_heads * a.head_dim * positions


def is_guess(a: Architecture) -> bool:
    """Whether only the dimensions are known: what is predicted of it has the lowest grade and twice the band."""
    return any(note.startswith(UNKNOWN_KIND) for note in a.assumed)


def faults(a: Architecture, path: str = "model") -> tuple[Fault, ...]:
    """Everything that is impossible about the shape; () for a model that can exist."""
    all_faults: list[Fault] = []

    def wrong(field: str, value: object, allowed: str) -> None:
        all_faults.append(Fault(path=f"{path}.{field}", found=value, allowed=allowed))

    if a.kind in ("vision", "diffusion") and not a.layers:
        if not a.forward_flop_per_sample or a.forward_flop_per_sample < 0:
            wrong("forward_flop_per_sample", a.forward_flop_per_sample, "the FLOPs of one forward pass, above 0")
        if not a.params_stated or a.params_stated < 0:
            wrong("params", a.params_stated, "the number of parameters, above 0")
        return tuple(all_faults)
    counted = {"layers": a.layers, "hidden": a.hidden, "heads": a.heads}
    if a.kind in ("decoder", "encoder"):
        counted["vocab"] = a.vocab
    if not a.kv_lora_rank:
        counted |= {"kv_heads": a.kv_heads, "head_dim": a.head_dim}
    if not a.experts or expert_layers(a) < a.layers:
        counted["ffn"] = a.ffn
    if a.experts:
        counted["expert_ffn"] = a.expert_ffn
    for field, value in counted.items():
        if not 1 <= value <= _LARGEST:
            wrong(field, value, f"1 to {_LARGEST:,}")
    if a.heads > 0 and a.kv_heads > 0 and a.heads % a.kv_heads:
        wrong("kv_heads", a.kv_heads, f"a divisor of heads ({a.heads})")
    if a.experts and not 1 <= a.experts_per_token <= a.experts:
        wrong("experts_per_token", a.experts_per_token, f"1 to {a.experts} (experts)")
    if a.kv_lora_rank and not (a.qk_rope_head_dim and a.qk_nope_head_dim and a.v_head_dim):
        wrong("v_head_dim", a.v_head_dim, "above 0, with qk_rope_head_dim and qk_nope_head_dim, for latent attention")
    return tuple(all_faults)


def check(a: Architecture, path: str = "model") -> Architecture:
    """The same architecture; raises SpecError with every fault of an impossible shape."""
    all_faults = faults(a, path)
    if all_faults:
        raise SpecError(all_faults, subject=a.key or path)
    return a
