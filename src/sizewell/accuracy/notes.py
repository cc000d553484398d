"""Why a case is far off, for the accuracy page: what is known about the case, else what its source says about itself.

Notes explain errors to a reader; no prediction reads them.
"""

from __future__ import annotations

from sizewell.accuracy.cases import Case
from sizewell.accuracy.report import Row

_NOTES: tuple[tuple[str, str], ...] = (
    # training time
    ("mlperf-v5.0-bert-mi300x", "tinygrad's own compiler and kernels, an eighth of the speed that vendor kernels give"),
    (
        "mlperf-v4.0-bert-h100",
        "at a width of 1,024 norms and casts to 8 bits are half of the prediction; the submission's kernels fuse them",
    ),
    (
        "deepseek-v3-pretrain",
        "layout not stated; their own kernels and a pipeline built to hide expert traffic, predicted as plain PyTorch",
    ),
    ("tpur-v5p-deepseek3", "28 % of peak: sorting tokens for 256 experts costs a TPU more than memory traffic alone"),
    ("tpur-v5p-llama4-maverick", "as for other models of many experts on TPU v5p: sorting tokens costs more"),
    ("card-llama3_1-8B", "14 % of peak if all hours were steps; the card counts all stages, long context included"),
    ("card-", "hours of a model card: all stages and losses of a run of months, on a cluster that is not described"),
    (
        "mb26.06-qwen3_30b_a3b-gb200",
        "published with 23,766 half a year earlier, same machines and layout; the case does not say what changed",
    ),
    (
        "mb26.06-deepseekv3-gb",
        "25.11 of the same program is predicted within 12 %; what 26.06 does better is in no field of the case",
    ),
    ("mlperf-v5.0-llama2_70b_lora-mi300x-32", "four times 8 devices take 38 % of their time: a network of their own"),
    (
        "mlperf-v4.0-llama2_70b_lora-l40s",
        "layout not stated; over PCIe all its traffic is exposed, and the search may have found a better one",
    ),
    ("mlperf-v4.0-llama2_70b_lora-gaudi2", "layout not stated; the only fine-tuning on Gaudi there is"),
    (
        "dle-bert-pre-v100-sxm-32gb",
        "published with a third more tokens per second at four times the length, where attention does more work",
    ),
    (
        "mlperf-v4.1-stable_diffusion-tpu-v5p",
        "two images per device: what a step costs whatever its batch is one constant for all hardware, more on a TPU",
    ),
    ("tl-table-tinyllama", "hours worked out from a throughput of 24,100 tokens/s: nothing of a long run's losses"),
    (
        "lf-a10040-bf16-mpt70b-s2048-g64",
        "70 B on 64 devices of 40 GB leaves the allocator no room; 128 of them are predicted within 2 %",
    ),
    ("mlperf-v4.0-ssd-l40s", "one share of detection's memory traffic for all hardware; L40S has a cache of 96 MB"),
    ("mlperf-v4.0-resnet-h100-64", "50 images per device: the fixed cost of a step is half; the submission graphs it"),
    (
        "mt-tier-v6e-llama3.1405b",
        "an approximate figure in the source; one sequence per device, weights gathered often",
    ),
    # serving
    ("dle-rn50-inf", "eager PyTorch: kernel launches of its release set the pace of small batches"),
    ("mlpi51-resnet-rtx-4090", "one share of the peak for Ada's cards, whether made for servers or for desktops"),
    ("llamacpp-pp", "llama.cpp's prefill of 4-bit weights unpacks them for each product; kernels differ by device"),
    ("aic-tpot-2026_04_06_gpt_oss", "16 sequences on 4 devices: fused 4-bit expert kernels of a later release"),
    ("mlpi51-llama2-70b-99.9-mi300x", "vLLM on ROCm under a limit of 40 ms per token; predicted with CUDA's overheads"),
    (
        "mlpi51-whisper",
        "stated in samples, read as tokens (else ten times the peak); from dimensions alone, nothing is fitted to it",
    ),
    ("mlpi41-gptj", "answers by beam search of four, which shares the prompt's cache; predicted as four answers"),
    ("mlpi41-mixtral", "a third of the requests are mathematics and code with long answers; lengths are their mean"),
    ("mlpi51-mixtral", "a third of the requests are mathematics and code with long answers; lengths are their mean"),
    # memory
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
