"""A model from the figures that a spec states: what is left out is estimated from the parameter count, and listed.

The estimates are the proportions of published decoders of that size: hidden about 100 to 128 times the layers, heads of
128 in a number that groups of devices divide, eight KV heads from 3B parameters on, a gated feed-forward block of 3.5
times hidden; eight experts for a token where fewer parameters are active than there are. Whatever they give, the
parameter count is the stated one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.architecture import faults, params_total

if TYPE_CHECKING:
    from sizewell.sizing.workload.model import Dimensions


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
    if dims.family in ("decoder", "encoder"):
        architecture = _completed(architecture, dims)
    all_faults = faults(architecture)
    if all_faults:
        raise SpecError(all_faults, subject=name)
    return architecture


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
    if dims.params and assumed:
        counted = params_total(full)
        full = replace(full, extra_params=max(0, dims.params - counted)) if not model.extra_params else full
    note = f"{', '.join(assumed)} estimated from {dims.params or 0:,} parameters" if assumed else ""
    return replace(full, assumed=(note,) if note else ())


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
