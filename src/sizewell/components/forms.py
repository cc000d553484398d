"""Arguments that components of several clouds have in common: a place, a pool, what stands inside a cluster. Pure.

A cloud's own component adds what only that cloud has. Counts, types and zones are plain values, never Outputs: a policy
has to know them at preview.
"""

from typing import Annotated, NotRequired, TypedDict

import pulumi

from sizewell.components.bounds import Between
from sizewell.components.owned import GuardArgs, OwnedArgs, ScheduleArgs

# Machines of a cluster's own, on which no workload runs.
SYSTEM_NODES = Between(2, 20, fix="two machines keep DNS available while one is replaced")


class PlaceArgs(OwnedArgs):
    """What stands in a region."""

    region: str
    """Region as the cloud writes it: us-east-1, us-central1, eastus."""


class PoolArgs(PlaceArgs):
    """Equal machines of one type, whose number changes."""

    zones: list[str]
    """Zones of the machines (on AWS of their subnets; on Azure 1, 2, 3, and none: regional); those of one job are in
    one."""
    nodes_min: int
    """Fewest machines."""
    nodes_initial: int
    """Machines at creation (with a capacity block: once it begins); afterwards autoscalers, schedule and guard change
    the number."""
    nodes_max: int
    """Most machines."""
    capacity_mode: str
    """How to get machines: on-demand, spot or reservation; on AWS also capacity-block, on Google Cloud
    flex-start and queued."""
    reservation: NotRequired[str]
    """For mode reservation: the id (cr-...) or resource group's ARN on AWS, the name on Google Cloud, the id of the
    capacity reservation group on Azure."""
    gang: NotRequired[bool]
    """Whether all machines work on one job: one zone, packed closely, with RDMA where the type has it."""
    disk_gib: int
    """Disk that each machine boots from; on AKS ephemeral where the machine's own disk holds it."""
    guard: NotRequired[GuardArgs]
    """Idle guard; on EKS it watches the busiest accelerator of the whole cluster."""
    schedule: NotRequired[ScheduleArgs]
    """Working hours."""


class PodsArgs(TypedDict):
    """Who the pods of a workload are."""

    namespace: NotRequired[str]
    """Kubernetes namespace of the workload; default default."""
    service_account: NotRequired[str]
    """Kubernetes service account of the workload; default the name of the component."""


class InsideArgs(OwnedArgs):
    """What is made inside a Kubernetes cluster."""

    kubeconfig: pulumi.Input[str]
    """Kubeconfig, the cluster's output. Kept secret."""


class VolumeArgs(InsideArgs):
    """A file system for pods of one namespace."""

    capacity_gib: int
    """Its size, which limits what pods can store."""
    namespace: NotRequired[str]
    """Namespace of the pods; default default."""
    claim: NotRequired[str]
    """Name of the claim that pods mount; default data."""
    read_only: NotRequired[bool]
    """Whether pods may only read."""


class StorageArgs(PlaceArgs):
    """A file system in the machines' zone."""

    bytes_needed: Annotated[int, Between(1, 2**60, fix="data.size in the spec")]
    """Bytes of data that have to fit; the size is the next one that the cloud sells."""


class BudgetArgs(PlaceArgs):
    """What a stack may cost in a month; the region is that of the notices, a budget itself has none."""

    stack: str
    """Name of the stack whose costs count, found by its tag or label."""
    monthly_usd: float
    """US dollars in a month; Azure uses the subscription's currency, so it must be billed in US dollars."""
    emails: NotRequired[list[str]]
    """Receivers of notices, besides the cloud's topic or owners; on AWS each confirms once."""


class EndArgs(PlaceArgs):
    """The hard end of another stack in one region."""

    stack: str
    """Name of the stack that it scales to zero."""
    ends: str
    """ISO date; the stack expires at 00:00 UTC."""
    firm: NotRequired[bool]
    """Scale it to zero then, in use or not; default: notify once a day of what still runs, and stop nothing."""
