"""Rates of attention, of matrix products in bf16 and fp8, and of whole forward passes, by length, on one GPU.

    python benchmarks/gpu_rates.py rates.jsonl

Needs a GPU, PyTorch and transformers; each figure is the median of repeated calls.
`benchmarks/measured/kernels_h100.jsonl` holds what was measured so on 2026-11-26 on one NVIDIA H100 80GB HBM3 (PyTorch
2.11.0+cu130, transformers 5.17.0); the pass over 131,072 tokens was not reached in the time that there was.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad, scaled_dot_product_attention

Row = dict[str, Any]


def timed(call: Callable[[], object], seconds: float, least: int = 3) -> float:
    """Median seconds of a call that is waited for, over `seconds` of calls."""
    call()
    torch.cuda.synchronize()
    taken: list[float] = []
    ends = time.perf_counter() + seconds
    while len(taken) < least or (time.perf_counter() < ends and len(taken) < 50):
        begun = time.perf_counter()
        call()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - begun)
    return sorted(taken)[len(taken) // 2]


def attention() -> Iterator[Row]:
    """Causal attention of one sequence; floating-point operations are those of the causal half."""
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        for head_dim in (128, 64):
            for tokens in (2**n for n in range(9, 19)):
                heads = 32 if tokens <= 65536 else 8
                q, k, v = (
                    torch.randn(1, heads, tokens, head_dim, device="cuda", dtype=torch.bfloat16) for _ in range(3)
                )
                with sdpa_kernel(backend):
                    seconds = timed(lambda q=q, k=k, v=v: scaled_dot_product_attention(q, k, v, is_causal=True), 0.25)
                yield {
                    "kind": "attention",
                    "backend": str(backend),
                    "head_dim": head_dim,
                    "heads": heads,
                    "tokens": tokens,
                    "seconds": seconds,
                    "flop_per_s": 2 * tokens * tokens * head_dim * heads / seconds,
                }


def products() -> Iterator[Row]:
    """(m, k) x (k, n): bf16; fp8 as one product, scaled by row, and with the activations quantized each time."""
    for k, n in ((4096, 4096), (4096, 14336), (14336, 4096), (8192, 28672), (3584, 18944)):
        for m in (1, 8, 16, 64, 256, 1024, 4096, 8192):
            a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
            b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
            rows = max(m, 16)  # the fewest that the fp8 product takes
            a8, b8 = torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
            one = torch.ones((), device="cuda")
            by_row, by_column = torch.ones(rows, 1, device="cuda"), torch.ones(1, n, device="cuda")

            def fp8(left: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, b8: torch.Tensor = b8) -> None:
                torch._scaled_mm(left, b8.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=True)  # noqa: SLF001

            def quantized_each_time(a: torch.Tensor = a, m: int = m, scale_b: torch.Tensor = by_column) -> None:
                scale = a.abs().amax(dim=1, keepdim=True).float().clamp(min=1e-6) / 448
                q = (a / scale).to(torch.float8_e4m3fn)
                if m < 16:
                    q = pad(q.view(torch.uint8), (0, 0, 0, 16 - m)).view(torch.float8_e4m3fn)
                    scale = pad(scale, (0, 0, 0, 16 - m), value=1.0)
                fp8(q, scale, scale_b)

            yield {
                "kind": "matmul",
                "m": m,
                "k": k,
                "n": n,
                "bf16_s": timed(lambda a=a, b=b: a @ b.t(), 0.06),
                "fp8_s": timed(lambda a8=a8, one=one: fp8(a8, one, one), 0.06),
                "fp8_rowwise_s": timed(lambda a8=a8, x=by_row, y=by_column: fp8(a8, x, y), 0.06),
                "fp8_dynamic_s": timed(quantized_each_time, 0.06),
            }


def forward_passes() -> Iterator[Row]:
    """Eager forward passes of an 8B Llama over one prompt, with a cache, logits of the last token alone."""
    config = transformers.LlamaConfig(
        hidden_size=4096,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        intermediate_size=14336,
        vocab_size=128256,
        max_position_embeddings=300000,
    )
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    torch.set_default_dtype(torch.float32)
    for tokens in (1, 128, 512, 2048, 8192, 32768, 65536, 131072):
        ids = torch.randint(0, 1000, (1, tokens), device="cuda")
        torch.cuda.reset_peak_memory_stats()
        with torch.no_grad():
            seconds = timed(lambda ids=ids: model(ids, logits_to_keep=1, use_cache=True), 0.5, least=2)
        yield {
            "kind": "prefill",
            "model": "llama-3.1-8b",
            "tokens": tokens,
            "seconds": seconds,
            "peak": torch.cuda.max_memory_allocated(),
        }


def main(out: Path) -> None:
    with out.open("a") as file:
        file.write(
            json.dumps({"kind": "device", "name": torch.cuda.get_device_name(), "torch": torch.__version__}) + "\n"
        )
        for measure in (attention, products, forward_passes):
            for row in measure():
                file.write(json.dumps(row) + "\n")
                file.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
