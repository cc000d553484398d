"""The machines that a published training run had: domains, slices, networks, from the source's words or as usual."""

from __future__ import annotations

import re

from sizewell.accuracy.cases import Case
from sizewell.sizing.catalog.records import Accelerator
from sizewell.sizing.records.jobs import Cluster

# Bytes per second and device, one direction, of the machine that a device is usually sold in.
USUAL_NETWORK: tuple[tuple[str, float], ...] = (
    ("gb300", 100e9),
    ("gb200", 50e9),
    ("b300", 100e9),
    ("b200", 50e9),
    ("h100", 50e9),
    ("h200", 50e9),
    ("h800", 50e9),
    ("a100", 25e9),
    ("v100", 12.5e9),
    ("mi", 50e9),
    ("gaudi3", 75e9),
    ("gaudi2", 37.5e9),
    ("trainium1", 6.25e9),
    ("trainium2", 25e9),
    ("tpu-v5e", 1.6e9),
    ("tpu-v5p", 6.25e9),
    ("tpu-v6e", 12.5e9),
    ("tpu", 3.1e9),
    ("l40s", 25e9),
)


def cluster_of(case: Case, accelerator: Accelerator, devices: int) -> Cluster:
    """The machines; TPU slices by the number of slices, NVLink domains as the part is built."""
    per_node = max(1, min(int(case.hardware.get("per_node") or 8), devices))
    if accelerator.runtime == "tpu":
        slices = number(case.parallelism.get("dcn_dp")) or 1.0
        scale_up = int(min(devices / slices, accelerator.scale_up_max))
    else:
        scale_up = (
            accelerator.scale_up_max if accelerator.scale_up_max > 16 else min(accelerator.scale_up_max, per_node)
        )
    network, fabric = network_of(str(case.hardware.get("interconnect") or ""), accelerator, per_node)
    return Cluster(
        accelerator=accelerator,
        per_node=per_node,
        nodes=max(1, devices // per_node),
        scale_up=max(1, min(scale_up, devices)),
        link_bytes_per_s=accelerator.link_bytes_per_s,
        network_bytes_per_s=network,
        fabric=fabric,
    )


def network_of(text: str, accelerator: Accelerator, per_node: int) -> tuple[float, str]:
    """Bytes per second and device between machines, from the source's words, else what the device is sold with.

    >>> class A: key = "h100-sxm"; runtime = "cuda"
    >>> network_of("Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s", A, 8)
    (50000000000.0, 'infiniband')
    """
    if accelerator.runtime != "tpu" and "gaudi" not in accelerator.key:
        compute = re.search(r"[Cc]ompute: *([^,;]*)", text)
        words = compute.group(1) if compute else text
        pattern = r"(\d+) ?x[^\d,;]*(?:ConnectX-\d|BF\d)?[^\d,;]*(?<!X)(\d{3}) ?(?:G|/|,|;|$)"
        each = [(int(count), float(rate)) for count, rate in re.findall(pattern, words)]
        if each:
            count, rate = max(each, key=lambda pair: pair[0] * pair[1])
            return count * rate * 1e9 / 8 / per_node, "infiniband"
        total = re.search(r"(\d+) Gbps \w+/node", text)
        if total:
            return float(total.group(1)) * 1e9 / 8 / per_node, "roce"
        paths = re.search(r"(\d+) OmniPath links/node", text)
        if paths:
            return int(paths.group(1)) * 12.5e9 / per_node, "omnipath"
    for word, rate in USUAL_NETWORK:
        if word in accelerator.key:
            return rate, "ici" if accelerator.runtime == "tpu" else "infiniband"
    return 3e9, ""


def number(value: object) -> float:
    """The value where it is a number, else 0."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
