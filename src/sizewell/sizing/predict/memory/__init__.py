"""Memory per device, predicted: of a training step and of a serving replica, and what a device has to give."""

from sizewell.sizing.predict.memory.columns import Layouts
from sizewell.sizing.predict.memory.device import usable_bytes
from sizewell.sizing.predict.memory.serving import (
    ServingParts,
    adapter_bytes,
    adapter_params_per_token,
    bytes_for_one,
    kv_cache_tokens,
    loading_bytes,
    longest_held,
    room_bytes,
    sequence_bytes,
    serving_budget_bytes,
    serving_memory,
    serving_parts,
    serving_usable_bytes,
    weight_bytes,
)
from sizewell.sizing.predict.memory.states import ModelStates, adapter_params, reference_bytes
from sizewell.sizing.predict.memory.training import (
    Runtimes,
    edges,
    model_states,
    peak_bytes,
    training_memories,
    training_memory,
)

__all__ = [
    "Layouts",
    "ModelStates",
    "Runtimes",
    "ServingParts",
    "adapter_bytes",
    "adapter_params",
    "adapter_params_per_token",
    "bytes_for_one",
    "edges",
    "kv_cache_tokens",
    "loading_bytes",
    "longest_held",
    "model_states",
    "peak_bytes",
    "reference_bytes",
    "room_bytes",
    "sequence_bytes",
    "serving_budget_bytes",
    "serving_memory",
    "serving_parts",
    "serving_usable_bytes",
    "training_memories",
    "training_memory",
    "usable_bytes",
    "weight_bytes",
]
