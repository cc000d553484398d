"""What a component of ours registers about itself as Pulumi inputs, beside its own arguments.

Policies and prices read inputs only (outputs are unknown at preview), so a component states there what its resources
cannot say: the market that was decided, the hours it is expected to run, the environment, the decision it follows.
The keys are camelCase, as they stand in the plan. Written by `components`, read by `resources` and `policy`.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

UNASSIGNED: Final = "unassigned"  # owner or cost center of a stack whose specs name none
GUARD_WINDOW_S: Final = (600, 43_200)  # of an idle guard: 10 minutes to 12 hours, so that window and grace fit a day
GUARD_SHARE: Final = 0.5  # utilization below which machines may count as idle, at most
REGISTRATION_KEY: Final = "sizewell"  # the input of a component under which the record stands


class Hours(TypedDict):
    """Machine-hours per month of the whole pool; floor <= expected <= ceiling."""

    floor: float
    expected: float
    ceiling: float


class Measured(TypedDict):
    """Where the use of each accelerator of a pool is published, so that a state suffices to read it."""

    source: str  # cloudwatch | cloud-monitoring | azure-monitor | prometheus
    metric: str
    per: str  # "accelerator", or "machine" where the busiest accelerator of a machine is published
    namespace: NotRequired[str]
    dimension: NotRequired[str]  # which name the pool's samples carry
    value: NotRequired[str]  # the pool's own under that name, where no resource has it
    machine: NotRequired[str]  # the label that names the machine


class Registration(TypedDict):
    """One component's statement about itself. Absent keys mean "does not apply"."""

    schema: NotRequired[str]  # sizewell.registration/1; absent in states of before there were versions
    kind: str  # "pool" | "checkpoints" | "network" | "storage" | "cluster" | "registry" | "endpoint" | "notebook"
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
    measured: NotRequired[Measured]  # absent: nothing publishes what each of its accelerators does
    metricsAgent: NotRequired[str]  # what publishes it in a cluster that already exists; looked up before the pool
    sizedBy: NotRequired[str]  # whose size is moved to empty and wake it, a key of `sized` in teardown/<cloud>/types.py
    bytesExpected: NotRequired[dict[str, float]]  # storage: floor, expected, ceiling in bytes
