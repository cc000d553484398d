"""Why a case is far off, for the accuracy page: what is known about the case, else what its source says about itself.

Notes explain errors to a reader; no prediction reads them.
"""

from __future__ import annotations

from sizing.validation.cases import Case
from sizing.validation.report import Row

_NOTES: tuple[tuple[str, str], ...] = (
    (
        "tune-qlora-l2-7b",
        "torchtune of April 2024 quantised on the device: the peak is in loading, which is not modelled",
    ),
    (
        "tune-ladder-8-bit",
        "the 8-bit optimizer of that version unpacks states of whole tensors; only packed ones are counted",
    ),
    (
        "mem-bloom-L634",
        "its neighbour with twice the micro-batch is published with 9 GB less; single iterations in whole GB",
    ),
    ("mem-bloom", "single iterations with memory in whole GB; two identical runs differ by 6 GB"),
    (
        "lit-lora-stablelm-base-alpha-3b-2gpu",
        "FSDP at start-up held the whole weights and their flat copy; not modelled",
    ),
    ("peft-70b", "one run with few details; buffers of ZeRO-3 beyond the gathered layers are not modelled"),
    ("tune-l3-8b-lora", "unpacked samples: the longest batch sets the peak, its length is assumed"),
    ("vllm-2031", "vLLM of early 2024, whose profiling run took far more than any later version"),
    (
        "vllm-12569",
        "what is left of the device is a tenth of it, so 3 GiB of unexplained workspace are a third of the cache",
    ),
    ("vllm-17122", "V0 engine; workspaces beyond the profiled prefill are not modelled"),
    ("vllm019-w-gemma-3", "the vision tower is not in the dimensions that the source states"),
    ("vllm019-kv-gemma-3", "the vision tower and its encoder cache are not in the dimensions that the source states"),
    ("vllm019-kv-llama-4", "the vision tower is not in the dimensions that the source states"),
    ("ds-autotp", "24.0 GiB are exactly 12.85 B parameters in 16 bits: the source's GB are GiB"),
)
_LONGEST = 180


def note(row: Row, case: Case) -> str:
    """One sentence: a written note, or what was assumed and what the source says about its own uncertainty."""
    for prefix, text in _NOTES:
        if row.id.startswith(prefix):
            return text
    parts = []
    if row.assumptions:
        parts.append("assumed: " + "; ".join(row.assumptions[:2]))
    uncertainty = str(case.raw.get("uncertainty") or "").strip()
    if uncertainty:
        parts.append("source: " + (uncertainty if len(uncertainty) <= _LONGEST else uncertainty[: _LONGEST - 1] + "…"))
    return ". ".join(parts) or "no cause found in what the source states"
