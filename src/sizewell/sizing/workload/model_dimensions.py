"""A model from the figures that a spec states: what is left out is estimated from the parameter count, and listed.

The estimates are the proportions of published decoders of that size: hidden about 100 to 128 times the layers, heads of
128 in a number that groups of devices divide, eight KV heads from 3B parameters on, a gated feed-forward block of 3.5
times hidden; eight experts for a token where fewer parameters are active than there are. The parameter count is the
stated one: it settles what the shape leaves open, and a shape that cannot have it is refused.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.architecture import faults, params_active, params_total
from sizewell.sizing.units import short_number

if TYPE_CHECKING:
    from sizewell.sizing.workload.model import Dimensions


APART: Final = 0.15  # of the stated parameters: names are rounded (8B for 8.03), and norms, biases and heads differ
ROUNDED: Final = 0.05  # what a round number hides, which decides nothing
ACTIVE_APART: Final = 0.5  # of the stated active ones, which some publish without embeddings or shared experts
WIDEST: Final = 16  # feed-forward widths in hidden widths; published decoders have 2 to 8
VOCAB: Final = (32_000, 262_144)  # of published decoders, from Llama 2's to Gemma 3's


def from_dimensions(dims: Dimensions, name: str) -> Architecture:
    """The architecture; SpecError with everything that is impossible about it."""
    stated = {
        key: value for key, value in dims if value is not None and key not in ("params", "active_params", "family")
    }
    architecture = Architecture(
        key=name,
        kind=dims.family,
        params_stated=dims.params,
        params_active_stated=dims.active_params,
        **stated,
    )
    language = dims.family in ("decoder", "encoder")
    architecture = _completed(architecture, dims) if language else _of_samples(architecture, dims)
    all_faults = [_as_missing(fault, stated) for fault in faults(architecture)]
    if language and not all_faults:
        all_faults = _against_params(architecture, dims)
    if all_faults:
        raise SpecError(all_faults, subject=name)
    return architecture


def _as_missing(fault: Fault, stated: dict[str, object]) -> Fault:
    """A fault of a key that the spec does not state says so, and not that its value is 0."""
    key = fault.path.rpartition(".")[2]
    if fault.message or key in stated or fault.found not in (0, None):
        return fault
    return Fault(path=fault.path, message="is missing; the model's other figures do not give it", fix=f"add {key}: ...")


def _of_samples(model: Architecture, dims: Dimensions) -> Architecture:
    """A vision or diffusion model: its stated parameters, as blocks do not tell of convolutions and cross-attention."""
    if dims.params:
        return replace(model, layers=0, hidden=0)
    if not (model.layers and model.hidden):
        return model
    heads = model.heads or max(1, model.hidden // 64)
    return replace(
        model,
        heads=heads,
        kv_heads=model.kv_heads or heads,
        head_dim=model.head_dim or model.hidden // heads,
        ffn=model.ffn or 4 * model.hidden,
        gated=bool(dims.gated),
    )


def _against_params(model: Architecture, dims: Dimensions) -> list[Fault]:
    """Faults of stated parameters that no model of the stated shape has."""
    params, shape = dims.params, _shape(dims)
    if params and not dims.ffn and not model.experts and model.ffn > WIDEST * model.hidden:
        message = (
            f"{short_number(params)} in {shape} need feed-forward layers {model.ffn // model.hidden} times as wide "
        )
        return [
            Fault(
                path="model.params",
                message=f"{message}as hidden; published models have 2 to 8 times",
                fix="correct params or the shape, or state ffn; for a mixture of experts, active_params or experts",
            )
        ]
    counted = params_total(model) - model.extra_params + (dims.extra_params or 0)
    pairs = [("params", params, counted, APART)]
    pairs += [("active_params", dims.active_params, params_active(model), ACTIVE_APART)] if dims.experts else []
    wrong = []
    for key, has, gives, apart in pairs:
        if not has or abs(gives - has) <= apart * has:
            continue
        beside = ", or add extra_params for what stands beside the language model" if gives < has else ""
        message = f"{short_number(has)} contradicts the shape beside it: {shape} give {short_number(gives)}"
        fix = f"write {short_number(gives)}, or correct the shape{beside if key == 'params' else ''}"
        wrong.append(Fault(path=f"model.{key}", message=message, fix=fix))
    return wrong


def _shape(dims: Dimensions) -> str:
    """The stated figures that parameters are counted from."""
    counted = ("layers", "hidden", "ffn", "vocab", "experts", "expert_ffn", "extra_params")
    return ", ".join(f"{key} {getattr(dims, key):,}" for key in counted if getattr(dims, key))


def _completed(model: Architecture, dims: Dimensions) -> Architecture:
    assumed = [
        key
        for key in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab")
        if not getattr(model, key) and not (key == "ffn" and model.expert_ffn)
    ]
    params = float(dims.active_params or dims.params or 0)
    layers, hidden = model.layers, model.hidden
    if not hidden:
        # 12 h^2 per layer; with layers = h / 112 that is 12 h^3 / 112 in all.
        cube = params / 12 * 112 if not layers else 0.0
        raw = cube ** (1 / 3) if cube else (params / 12 / layers) ** 0.5
        hidden = _width(raw)
    if not layers:
        layers = max(1, round(params / (12 * hidden * hidden)))
    heads = model.heads or max(1, hidden // (model.head_dim or 128))
    while hidden % heads and not model.head_dim:
        heads -= 1
    kv_heads = model.kv_heads or (8 if heads % 8 == 0 and params >= 3e9 and dims.family == "decoder" else heads)
    full = replace(
        model,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=model.head_dim or hidden // heads,
        ffn=model.ffn or (0 if model.experts and model.expert_ffn else round(3.5 * hidden / 64) * 64),
        vocab=model.vocab or 32_000,
    )
    if dims.params and not model.ffn and not model.experts:
        sparse = dims.active_params and dims.active_params < SPARSE * dims.params
        if sparse:
            assumed.append("experts")
            full = _with_experts(full, dims.params, dims.active_params or 0)
        else:
            full = _with_params(full, dims.params)
    elif dims.params:
        full = _nearest(full, dims, dims.params)
    if dims.params and not model.extra_params:
        full = replace(full, extra_params=max(0, dims.params - params_total(full)))
    note = f"{', '.join(assumed)} estimated from {dims.params or 0:,} parameters" if assumed else ""
    return replace(full, assumed=(note,) if note else ())


def _nearest(model: Architecture, dims: Dimensions, params: int) -> Architecture:
    """The model of the stated shape whose parameters are nearest to the stated ones, by what the shape leaves open:
    whether feed-forward layers are gated, whether the embeddings are the output head too, how large the vocabulary is.
    """
    gated = (model.gated,) if dims.gated is not None else (True, False)
    tied = (model.tied_embeddings,) if dims.tied_embeddings is not None else (False, True)
    variants = [replace(model, gated=g, tied_embeddings=t) for g, t in product(gated, tied)]
    if not dims.kv_heads and model.heads:  # as Falcon: taken where no other way of the same shape is near
        variants += [replace(each, kv_heads=1) for each in variants]
    if not dims.vocab:
        variants = [_with_vocab(each, params) for each in variants]
    apart = [abs(params_total(each) - params) / params for each in variants]
    for these in (range(len(gated) * len(tied)), range(len(variants))):
        nearest = min(these, key=lambda index: max(ROUNDED, apart[index]))
        if apart[nearest] <= APART:
            return variants[nearest]
    return variants[0]


def _with_vocab(model: Architecture, params: int) -> Architecture:
    """The vocabulary that brings the whole model to `params`, within those that published models have."""
    tables = model.hidden * (1 if model.tied_embeddings or model.kind != "decoder" else 2)
    vocab = (params - params_total(replace(model, vocab=0))) // tables
    return replace(model, vocab=min(max(vocab, VOCAB[0]), VOCAB[1]))


SPARSE = 0.9  # active parameters of all, under which there are experts that a token does not visit
EXPERTS_PER_TOKEN = 8  # what most published mixtures have


def _width(raw: float) -> int:
    """Whole heads of 128: from 24 on in eights, from 8 on in fours, as groups of devices have to divide them.

    >>> _width(4210.0), _width(8680.0), _width(1500.0), _width(100.0)
    (4096, 8192, 1536, 128)
    """
    step = 128 * (8 if raw >= 24 * 128 else 4 if raw >= 8 * 128 else 1)
    return max(128, round(raw / step) * step)


def _with_experts(model: Architecture, params: int, active: int) -> Architecture:
    """Experts in place of the feed-forward block: all take `params` with the rest, those of a token `active`."""
    rest = params_total(replace(model, ffn=0))
    visited = max(active - rest, active // 2)
    experts = round(EXPERTS_PER_TOKEN * (params - rest) / visited)
    width = (params - rest) / (experts * (3 if model.gated else 2) * model.hidden * model.layers)
    return replace(model, ffn=0, experts=experts, experts_per_token=EXPERTS_PER_TOKEN, expert_ffn=max(1, int(width)))


def _with_params(model: Architecture, params: int) -> Architecture:
    """The feed-forward width that brings the whole model to `params`, not below one hidden width."""
    matrices = 3 if model.gated else 2
    rest = params_total(replace(model, ffn=0))
    width = (params - rest) / (matrices * model.hidden * model.layers)
    return replace(model, ffn=max(model.hidden, int(width / 64) * 64))
