"""A stack's needs, small enough to read: what the planted faults are planted into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sizewell.clouds.preflight.findings import Finding
from sizewell.clouds.preflight.needs import Machines, Needs


@dataclass(frozen=True)
class Declared:
    type: str
    name: str
    inputs: Mapping[str, Any]


def machines(**changes: Any) -> Machines:
    base = Machines(
        pool="train-workers",
        region="us-east-1",
        zones=("us-east-1a",),
        instance_type="p5.48xlarge",
        market="on-demand",
        reservation="",
        count=2,
        vcpus=192,
        accelerators=8,
        quota="L-417A185B",
    )
    return replace(base, **changes)


def needs(cloud: str, account: str, pools: tuple[Machines, ...], *resources: Declared, **config: Any) -> Needs:
    return Needs(
        stack="dev",
        cloud=cloud,
        accounts=(account,),
        machines=pools,
        types=tuple(sorted({resource.type for resource in resources})),
        resources=resources,
        quotas={("p5.48xlarge", "on-demand"): ("L-417A185B", 192), ("p5.48xlarge", "spot"): ("L-7212CCBC", 192)},
        config={f"sizewell:{key}": value for key, value in config.items()},
    )


def by_state(findings: list[Finding]) -> dict[str, list[Finding]]:
    return {state: [f for f in findings if f.state == state] for state in ("ok", "note", "wrong")}
