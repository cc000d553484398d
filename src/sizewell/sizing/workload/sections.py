"""The base of every section of a spec, and the section `model` in its three forms."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from sizewell.sizing import units
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.workload.fields import Count, CountOrZero, refuse


def default(value: Any, why: str, **more: Any) -> Any:
    """A field's default with the reason that `--show-spec` prints beside it."""
    return Field(value, json_schema_extra={"x-why": why}, **more)


class Section(BaseModel):
    """A part of a spec: unknown keys are refused, nothing changes after reading."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, arbitrary_types_allowed=True, ser_json_inf_nan="constants"
    )


class Dimensions(Section):
    """A model by its numbers, where the catalog does not know it; what is left out is estimated from `params`."""

    params: Count | None = None
    active_params: Count | None = None
    family: Literal["decoder", "encoder", "vision", "diffusion"] = default("decoder", "most served models are decoders")
    layers: Count | None = None
    hidden: Count | None = None
    heads: Count | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    ffn: Count | None = None
    gated: bool | None = None
    vocab: Count | None = None
    tied_embeddings: bool | None = None
    experts: Count | None = None
    experts_per_token: Count | None = None
    expert_ffn: Count | None = None
    shared_experts: CountOrZero | None = None
    dense_layers: CountOrZero | None = None
    kv_lora_rank: Count | None = None
    q_lora_rank: Count | None = None
    qk_rope_head_dim: Count | None = None
    qk_nope_head_dim: Count | None = None
    v_head_dim: Count | None = None
    sliding_window: Count | None = None
    max_sequence_length: Count | None = None
    forward_flop_per_sample: Count | None = None
    resolution: Count | None = None
    extra_params: CountOrZero | None = None
    image_tokens: CountOrZero | None = None


class Adapters(Section):
    """LoRA adapters that are served beside one base model; each request names one of them."""

    count: Count
    rank: Annotated[Count, Field(le=512)] = default(16, "the usual rank of published recipes, and the engine's default")
    resident: Count | None = default(None, "all of them in every replica's device memory")


class Model(Section):
    """Which model: exactly one of a catalog name, a Hugging Face config.json (its content is kept), or dimensions."""

    name: str | None = None
    config_path: str | None = Field(None, alias="config")
    config: dict[str, Any] | None = Field(None, alias="config_content")
    dimensions: Dimensions | None = None
    precision: Literal["bf16", "fp16", "fp8", "fp4", "tf32", "fp32"] = default(
        "bf16", "16-bit with the range of fp32 is what frameworks train in"
    )
    weights: Literal["fp32", "bf16", "fp16", "fp8", "fp4", "int8", "int4", "nf4"] | None = default(
        None, "as the model is published, else as the precision; nf4 for qlora"
    )
    kv: Literal["fp16", "bf16", "fp8", "int8"] | None = default(None, "16-bit KV cache, the serving engines' default")
    adapters: Adapters | None = None
    published_params: Count | None = Field(None, alias="params")

    _architecture: Architecture | None = PrivateAttr(default=None)  # see `architecture_of`

    @property
    def label(self) -> str:
        """What a reader calls it."""
        if self.name or self.config_path:
            return self.name or str(self.config_path)
        params = self.dimensions.params if self.dimensions else None
        return f"{units.show_count(params)} parameters" if params else "own dimensions"


_HUB = re.compile(r"^(?:hf://(?:models/)?|hf:|(?:https://)?huggingface\.co/|(?:https://)?hf\.co/)(?=[^/]+/[^/]+$)")
"""What stands before the name of a model on the Hub, which is the name that people mean."""


def model_form(value: object) -> object:
    """Any of the three forms of `model` as the fields of `Model`."""
    if isinstance(value, Model) or value is None:
        return value
    allowed = "a model name, a path to a Hugging Face config.json, or a mapping with name, config, or params and layers"
    if isinstance(value, str):
        if not re.fullmatch(r"[A-Za-z0-9~./][A-Za-z0-9._~/ +:-]{0,300}", value):
            raise refuse(allowed)
        value = _HUB.sub("", value)
        return {"config": value} if value.endswith(".json") else {"name": value}
    if not isinstance(value, dict):
        raise refuse(allowed, "write model: NAME")
    known = {"name", "config", "config_content", "precision", "weights", "kv", "adapters"}
    forms = [key for key in ("name", "config") if key in value]
    beside = {"params"} if forms == ["config"] else set()  # what is published of a model whose file leaves parts out
    dimensions = {key: item for key, item in value.items() if key in Dimensions.model_fields and key not in beside}
    rest = {key: item for key, item in value.items() if key not in dimensions}
    if len(forms) == 2:
        raise refuse("one of name and config, not both", "remove one of them")
    if forms and dimensions:
        own, other = ", ".join(sorted(dimensions)), forms[0]
        published = other == "config" or str(value[other]) in load().models
        way = f"remove {own}; or {other}, where its figures are yours"
        if not published:
            way = f"remove {other}"  # which leads nowhere: what it is stands in its figures
        raise refuse(f"{other} or dimensions, not both", way)
    if not forms and not dimensions and set(rest) <= known:
        raise refuse(allowed, "add name, config or params")
    for key in forms:
        if not isinstance(value[key], str) or not value[key].strip():
            raise refuse(allowed, f"write {key} as text")
    return {**rest, **({"dimensions": dimensions} if dimensions else {})}
