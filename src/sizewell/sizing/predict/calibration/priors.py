"""The constants that time of training rests on: meaning, prior, how far a fit may pull it, where the prior is from.

A prior is a measurement of its own (the matmul ceilings), or what physics or practice says; `sigma` is the standard
deviation of its logarithm, 0 for a constant that is not fitted. `tools/calibrate.py` is the only user.
"""

from __future__ import annotations

from typing import NamedTuple

CEILINGS = "matmul ceiling measured by stas00/ml-engineering compute/accelerator/README.md@744d01e"
PRACTICE = "estimate: common practice, before fitting"


class Prior(NamedTuple):
    value: float
    sigma: float
    meaning: str
    source: str = PRACTICE
    upper: float | None = None  # a physical limit that no fit may pass


def priors() -> dict[str, Prior]:
    """All constants by name, in the order of the file."""
    table: dict[str, Prior] = {}
    for family, width, value, sigma, source in (
        ("volta", "16bit", 0.80, 0.0, PRACTICE),
        ("turing", "16bit", 0.70, 0.0, PRACTICE),
        ("ampere", "16bit", 0.84, 0.08, CEILINGS),
        ("ada", "16bit", 0.75, 0.0, PRACTICE),
        ("ada", "8bit", 0.65, 0.15, PRACTICE),
        ("hopper", "16bit", 0.76, 0.08, CEILINGS),
        ("hopper", "8bit", 0.70, 0.08, CEILINGS),
        ("blackwell", "16bit", 0.78, 0.0, CEILINGS),
        ("blackwell", "8bit", 0.76, 0.08, CEILINGS),
        ("blackwell", "4bit", 0.60, 0.0, PRACTICE),
        ("cdna3", "16bit", 0.55, 0.25, CEILINGS),
        ("cdna3", "8bit", 0.50, 0.25, PRACTICE),
        ("cdna4", "16bit", 0.66, 0.0, CEILINGS),
        ("cdna4", "8bit", 0.60, 0.0, PRACTICE),
        ("gaudi", "16bit", 0.90, 0.0, CEILINGS),
        ("gaudi", "8bit", 0.85, 0.25, CEILINGS),
        ("tpu", "16bit", 0.88, 0.12, PRACTICE),
        ("tpu-256", "16bit", 0.80, 0.15, PRACTICE),
        ("tpu-256", "8bit", 0.75, 0.0, PRACTICE),
        ("tpu", "8bit", 0.80, 0.15, PRACTICE),
        ("trainium", "16bit", 0.70, 0.25, PRACTICE),
        ("trainium", "8bit", 0.60, 0.0, PRACTICE),
        ("other", "16bit", 0.70, 0.0, PRACTICE),
        ("other", "8bit", 0.60, 0.0, PRACTICE),
        ("other", "4bit", 0.50, 0.0, PRACTICE),
        ("other", "32bit", 0.60, 0.0, PRACTICE),
    ):
        table[f"matmul_fraction.{family}.{width}"] = Prior(
            value, sigma, "achievable share of the dense peak in large matrix products", source, upper=1.0
        )
    for family, value, sigma in (
        ("ampere", 0.60, 0.15),
        ("hopper", 0.50, 0.0),
        ("blackwell", 0.45, 0.15),
        ("tpu", 0.45, 0.15),
        ("other", 0.40, 0.15),
    ):
        table[f"attention_fraction.{family}"] = Prior(
            value, sigma, "achievable share of the 16-bit peak in fused attention with wide heads", upper=0.9
        )
    for family, value, sigma in (("hopper", 0.36, 0.15), ("blackwell", 0.25, 0.0)):
        table[f"attention_fraction_plain.{family}"] = Prior(
            value, sigma, "the same with kernels that were written for the generation before", upper=0.9
        )
    for name, value, sigma, meaning in (
        ("memory_fraction", 0.80, 0.0, "achievable share of the memory bandwidth"),
        ("wave", 1.7e6, 0.0, "outputs of a product that are lost in the last, partly filled wave of tiles"),
        ("tile", 24.0, 0.4, "rows or columns that a matrix product wastes at each side"),
        (
            "head_dim_half",
            1.0,
            0.0,
            (
                "head size at which fused attention reaches half of its best, over that at which exponentials take as "
                "long as products"
            ),
        ),
        ("grouped_gemm_fraction", 0.80, 0.0, "speed of expert products over that of dense products of the same shape"),
        (
            "power_exponent",
            0.30,
            0.0,
            "how speed falls with the power limit: (watts over the family's full power) ^ this",
        ),
        (
            "elementwise_passes.fused",
            1.0,
            0.2,
            "memory traffic of norms, activations and residuals over the least possible, fused kernels",
        ),
        ("elementwise_passes.eager", 2.0, 0.0, "the same with one kernel per operation"),
        ("cast_passes", 4.0, 0.3, "bytes moved per value to scale and cast operands to 8 or 4 bits"),
        ("kernels_per_layer", 12.0, 0.0, "kernels of one layer's forward pass, fused"),
        ("kernels_per_expert", 3.0, 0.0, "kernels that each local expert of a layer adds to its forward pass"),
        ("kernel_gap_s", 3e-6, 0.0, "idle time between kernels"),
        ("kernel_gap_s.xla", 1e-6, 0.0, "idle time between kernels of a program compiled whole"),
        ("link_fraction.nvlink", 0.78, 0.0, "achievable share of the link, one direction"),
        ("link_fraction.pcie", 0.45, 0.0, "achievable share of the link, one direction, through the host"),
        ("link_fraction.ici", 0.75, 0.0, "achievable share of the link, one direction"),
        ("link_fraction.neuronlink", 0.60, 0.0, "achievable share of the link, one direction"),
        ("link_fraction.xgmi", 0.65, 0.0, "achievable share of the link, one direction"),
        ("link_fraction.roce", 0.70, 0.0, "achievable share of the link, one direction"),
        ("network_fraction.rdma", 0.75, 0.0, "achievable share of the network between domains"),
        ("network_fraction.tcp", 0.50, 0.0, "achievable share of the network between domains"),
        ("network_fraction.dcn", 0.60, 0.0, "achievable share of the network between slices"),
        (
            "overlap.tensor",
            0.50,
            0.2,
            "share of tensor-parallel traffic that hides behind products, where they are split for it",
        ),
        ("overlap.tensor.xla", 0.60, 0.0, "the same where a compiler splits products into parts (Wang et al. 2023)"),
        ("overlap.expert", 0.30, 0.0, "share of expert-parallel traffic that hides behind products"),
        ("overlap.context", 0.80, 0.0, "share of context-parallel traffic that hides behind attention"),
        ("overlap.shards", 0.85, 0.0, "share of weight gathering and gradient scattering that hides behind compute"),
        ("overlap.gradients", 0.70, 0.15, "share of gradient reduction that hides behind backward"),
        ("overlap.pipeline", 0.60, 0.0, "share of pipeline sends that hides behind compute"),
        ("latency_s.inner", 6e-6, 0.0, "latency of a hop inside a domain"),
        ("latency_s.ici", 2e-6, 0.0, "latency of a hop on the torus"),
        ("latency_s.outer", 15e-6, 0.0, "latency of a hop between domains"),
        (
            "useful_share",
            0.90,
            0.10,
            "share of a pre-training run's wall time, failures of machines apart, that is not evaluation or done twice",
        ),
        ("straggler_per_doubling", 0.008, 0.0, "slowdown per doubling of domains: the slowest device sets the pace"),
        ("step_overhead_s.fused", 0.008, 0.0, "per step, whatever its size: data, clipping, logging, launch"),
        ("step_overhead_s.eager", 0.030, 0.0, "the same without fused kernels or compilation"),
        (
            "step_floor_s.vision",
            0.006,
            0.0,
            "per micro-batch of a convolutional network, whatever its size: launches, reduction",
        ),
        ("step_floor_s.diffusion", 0.030, 0.4, "per micro-batch of a diffusion network, whatever its size"),
        (
            "bytes_per_flop.vision",
            0.012,
            0.4,
            "bytes of activations moved per FLOP in convolutional networks of 30 M parameters",
        ),
        (
            "bytes_per_flop.diffusion",
            0.004,
            0.4,
            "bytes of activations moved per FLOP in diffusion networks of 1 B parameters",
        ),
        ("offload_bytes_per_s", 2e10, 0.0, "rate of an optimizer on the host"),
    ):
        upper = 1.0 if "fraction" in name or "share" in name or name.startswith("overlap") else None
        table[name] = Prior(value, sigma, meaning, upper=upper)
    return table
