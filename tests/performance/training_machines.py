"""Machines and models that the tests of training time and layouts share."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from sizewell.sizing import catalog
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.records.jobs import Cluster, TrainingJob

LLAMA_8B = Architecture(
    key="llama-8b", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=128256
)
LLAMA_70B = replace(LLAMA_8B, key="llama-70b", layers=80, hidden=8192, heads=64, ffn=28672)
MIXTRAL = replace(LLAMA_8B, key="mixtral", vocab=32000, experts=8, experts_per_token=2, expert_ffn=14336)
DEEPSEEK = Architecture(
    key="deepseek",
    layers=13,
    hidden=2048,
    heads=16,
    kv_heads=16,
    head_dim=192,
    ffn=8192,
    vocab=32000,
    experts=32,
    experts_per_token=4,
    expert_ffn=1024,
    shared_experts=1,
    dense_layers=3,
    kv_lora_rank=256,
    q_lora_rank=512,
    qk_rope_head_dim=64,
    qk_nope_head_dim=128,
    v_head_dim=128,
)
RESNET = Architecture(
    key="resnet", kind="vision", forward_flop_per_sample=8.2e9, resolution=224, params_stated=25_557_032
)


@cache
def cluster(
    key: str = "h100-sxm", *, nodes: int = 1, per_node: int = 8, scale_up: int = 8, gbs: float = 50.0
) -> Cluster:
    accelerator = catalog.load().accelerator(key)
    return Cluster(
        accelerator=accelerator,
        per_node=per_node,
        nodes=nodes,
        scale_up=scale_up,
        link_bytes_per_s=accelerator.link_bytes_per_s,
        network_bytes_per_s=gbs * 1e9,
        fabric="infiniband",
    )


def job(architecture: Architecture = LLAMA_8B, **changes: object) -> TrainingJob:
    base = TrainingJob(architecture=architecture, sequence_length=4096, global_batch=128, engine="megatron")
    if architecture.kind == "vision":
        base = replace(base, sequence_length=0, global_batch=2048, engine="")
    return replace(base, **changes)  # type: ignore[arg-type]
