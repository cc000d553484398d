"""Decisions made by hand for the tests of components, one per stack; `python tests/components/decisions.py` writes them.

The figures are plausible, not sized: components must not care.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from sizewell.sizing.records.decision import (
    Bounds,
    Capacity,
    CapacityBlock,
    CatalogRef,
    Checkpoint,
    Cost,
    Decision,
    Fallback,
    Guard,
    Memory,
    Parallelism,
    Performance,
    Pool,
    Replicas,
    Schedule,
    SpecRef,
    Workload,
)

FIXTURES = Path(__file__).parent / "fixtures"
ZERO = Bounds(floor=Decimal(0), expected=Decimal(0), ceiling=Decimal(0))
GUARD = Guard(
    signal="accelerator_utilization", min_utilization_percent=5, window_s=2700, grace_s=3600, action="scale-to-zero"
)
HOURS = Schedule(
    text="Mon-Fri 07:00-21:00 Europe/London",
    hours_per_week=Decimal(70),
    time_zone="Europe/London",
    windows=(("mon-fri", "07:00", "21:00"),),
)


def pool(cloud: str, instance_type: str, accelerator: str, count: int, **changes: Any) -> Pool:
    nodes = changes.pop("nodes", (0, 1, 2))
    mode = changes.pop("mode", "on-demand")
    capacity = changes.pop("capacity", Capacity(mode=mode))
    market = {"reservation": "on-demand", "queued": "flex-start"}.get(mode, mode)
    regions = {"aws": "us-east-1", "gcp": "us-central1", "azure": "eastus"}
    zones = {
        "aws": ("us-east-1a",),
        "gcp": ("us-central1-b" if instance_type.startswith("ct6e") else "us-central1-a",),
        "azure": ("1",),
    }
    settings: dict[str, Any] = {
        "role": "workers",
        "cloud": cloud,
        "region": regions[cloud],
        "zones": zones[cloud],
        "instance_type": instance_type,
        "accelerator": accelerator,
        "accelerators_per_node": count,
        "market": market,
        "capacity": capacity,
        "nodes_min": nodes[0],
        "nodes_initial": nodes[1],
        "nodes_max": nodes[2],
        "node_hours_per_month": Bounds(
            floor=Decimal(nodes[0] * 730), expected=Decimal(nodes[1] * 300), ceiling=Decimal(nodes[2] * 730)
        ),
        "disk_bytes_per_node": 200 * 2**30,
    }
    return Pool(**{**settings, **changes})


def workload(name: str, kind: str, *pools: Pool, checkpoint: bool = False, **changes: Any) -> Workload:
    settings: dict[str, Any] = {
        "spec": SpecRef(name=name, digest="0" * 64),
        "kind": kind,
        "pools": pools,
        "memory": Memory(
            per_device_bytes=40 * 2**30,
            usable_bytes=79 * 2**30,
            low_bytes=36 * 2**30,
            high_bytes=44 * 2**30,
            grade="calibrated",
            breakdown={"weights": 40 * 2**30},
        ),
        "performance": Performance(
            metric="run_time_s", value=3600, low=3000, high=4200, grade="roofline", bottleneck="compute", figures={}
        ),
        "line_items": (),
        "cost": Cost(run_rate=ZERO, one_off=ZERO),
        "guard": GUARD,
    }
    if checkpoint:
        settings["checkpoint"] = Checkpoint(store=f"store-{name}", interval_s=1800, keep=4, bytes_each=112 * 10**9)
    return Workload(**{**settings, **changes})


def decision(stack: str, *workloads: Workload, **changes: Any) -> Decision:
    settings: dict[str, Any] = {
        "stack": stack,
        "environment": stack.split("-", maxsplit=1)[0],
        "decided_on": date(2026, 9, 1),
        "owner": "ml-platform",
        "cost_center": "ml-1234",
        "catalog": CatalogRef(digest="0" * 64, as_of="2026-08-03"),
        "workloads": workloads,
    }
    if settings["environment"] == "dev":
        settings["expires_at"] = date(2026, 9, 22)
    return Decision(**{**settings, **changes})


def serving(name: str, served: Pool, **changes: Any) -> Workload:
    replicas = Replicas(min=served.nodes_min, initial=served.nodes_initial, max=served.nodes_max, devices_per_replica=1)
    return workload(name, "inference", served, replicas=replicas, **changes)


def training(name: str, trained: Pool, **changes: Any) -> Workload:
    devices = trained.nodes_max * trained.accelerators_per_node
    neuron = trained.accelerator.startswith(("trainium", "inferentia"))
    layout = Parallelism(data=max(devices, 1), zero_stage=1 if neuron else 3)
    return workload(name, "training", trained, checkpoint=True, parallelism=layout, **changes)


BLOCK = Capacity(
    mode="capacity-block",
    block=CapacityBlock(
        duration_hours=72, max_price_usd=Decimal(9100), purchase="confirmed", id="cr-0123456789abcdef0"
    ),
)


def all_decisions() -> tuple[Decision, ...]:
    return (
        decision(
            "dev-aws",
            serving("chat", pool("aws", "g6.xlarge", "l4", 1, role="replicas"), schedule=HOURS),
            training(
                "tune",
                pool(
                    "aws",
                    "g6e.xlarge",
                    "l40s",
                    1,
                    mode="spot",
                    nodes=(0, 1, 1),
                    fallbacks=(Fallback(instance_type="g6e.2xlarge", region="us-east-1", market="spot"),),
                ),
                interruptible=True,
            ),
        ),
        decision("staging-aws", training("pretrain", pool("aws", "p4d.24xlarge", "a100-40gb-sxm", 8, nodes=(0, 2, 2)))),
        decision(
            "prod-aws",
            training(
                "pretrain",
                pool("aws", "p5.48xlarge", "h100-sxm", 8, nodes=(0, 4, 4), mode="capacity-block", capacity=BLOCK),
            ),
            serving(
                "chat",
                pool(
                    "aws",
                    "g6e.12xlarge",
                    "l40s",
                    4,
                    nodes=(1, 1, 2),
                    role="replicas",
                    zones=("us-east-1a", "us-east-1b"),
                ),
            ),
        ),
        decision(
            "dev-gcp",
            serving("chat", pool("gcp", "g2-standard-8", "l4", 1, role="replicas"), schedule=HOURS),
            training(
                "pretrain",
                pool("gcp", "ct6e-standard-4t", "tpu-v6e", 4, nodes=(0, 4, 4), mode="spot", tpu_topology="4x4"),
                framework="jax",
            ),
        ),
        decision(
            "staging-gcp",
            training("pretrain", pool("gcp", "a3-highgpu-8g", "h100-sxm", 8, nodes=(0, 2, 2), mode="flex-start")),
        ),
        decision(
            "prod-gcp",
            training(
                "pretrain",
                pool(
                    "gcp",
                    "a3-megagpu-8g",
                    "h100-sxm",
                    8,
                    nodes=(0, 4, 4),
                    capacity=Capacity(mode="reservation", reservation="h100-2026"),
                ),
            ),
            serving("chat", pool("gcp", "g2-standard-8", "l4", 1, nodes=(1, 1, 4), role="replicas")),
        ),
        decision(
            "dev-azure",
            serving(
                "chat",
                pool("azure", "Standard_NC24ads_A100_v4", "a100-80gb-pcie", 1, role="replicas", mode="spot"),
                schedule=HOURS,
                interruptible=True,
            ),
        ),
        decision(
            "prod-azure",
            training("pretrain", pool("azure", "Standard_ND96isr_H100_v5", "h100-sxm", 8, nodes=(0, 2, 4))),
        ),
    )


def by_stack(stack: str) -> Decision:
    return next(one for one in all_decisions() if one.stack == stack)


if __name__ == "__main__":
    for one in all_decisions():
        one.write(FIXTURES / f"{one.stack}.json")
