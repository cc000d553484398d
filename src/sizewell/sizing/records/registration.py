"""What a component of ours registers about itself as Pulumi inputs, beside its own arguments.

Policies and prices read inputs only (outputs are unknown at preview), so a component states there what its resources
cannot say: the market that was decided, the hours it is expected to run, the environment, the decision it follows.
The keys are camelCase, as they stand in the plan. Written by `components`, read by `resources` and `policy`.
"""

from __future__ import annotations

import re
from typing import Any, Final, NotRequired, TypedDict

REGISTRATION_KEY: Final = "sizewell"  # the input of a component under which the record stands
ENVIRONMENTS: Final = ("dev", "staging", "prod")


def normal_environment(stated: str) -> str:
    """One of dev, staging and prod, where a name means one of them.

    >>> normal_environment("Production"), normal_environment("development")
    ('prod', 'dev')
    """
    lower = stated.lower()
    return next((name for name in ENVIRONMENTS if lower.startswith(name[:4])), lower)


def stack_environment(stack: str) -> str:
    """What a stack's name says about its environment, "" where it says nothing.

    >>> stack_environment("checkpoints-prod-aws"), stack_environment("main")
    ('prod', '')
    """
    parts = re.split(r"[-_./]", stack.lower())
    return next((name for name in ENVIRONMENTS if any(part.startswith(name[:4]) for part in parts)), "")


class Hours(TypedDict):
    """Machine-hours per month of the whole pool; floor <= expected <= ceiling."""

    floor: float
    expected: float
    ceiling: float


class Registration(TypedDict):
    """One component's statement about itself. Absent keys mean "does not apply"."""

    kind: str  # "pool" | "checkpoints" | "network" | "storage" | "cluster" | "endpoint" | "notebook"
    name: str  # as the reader knows it: the workload's or store's name
    environment: str  # dev | staging | prod
    owner: NotRequired[str]
    costCenter: NotRequired[str]
    expires: NotRequired[str]  # ISO date
    decisionDigest: NotRequired[str]
    workloadKind: NotRequired[str]  # training | fine-tuning | inference | batch-inference | notebook
    cloud: NotRequired[str]
    region: NotRequired[str]
    instanceType: NotRequired[str]
    accelerator: NotRequired[str]
    acceleratorsPerNode: NotRequired[int]
    market: NotRequired[str]
    capacityMode: NotRequired[str]
    nodesMin: NotRequired[int]
    nodesInitial: NotRequired[int]
    nodesMax: NotRequired[int]
    nodeHoursPerMonth: NotRequired[Hours]
    interruptible: NotRequired[bool]
    checkpointStore: NotRequired[str]  # "" or absent: none
    guard: NotRequired[dict[str, Any]]  # as `sizing.records.decision.Guard`
    schedule: NotRequired[str]
    bytesExpected: NotRequired[dict[str, float]]  # storage: floor, expected, ceiling in bytes
