"""Arguments of components that work on a Kubernetes cluster of any origin. Pure: no Pulumi resources, no cloud."""

from typing import Annotated, NotRequired, TypedDict

import pulumi

from sizewell.components.bounds import Between, OneOf
from sizewell.components.forms import InsideArgs
from sizewell.components.owned import OwnedArgs


class FlavorArgs(TypedDict):
    """The machines of one pool as a Kueue flavor, with one quota, and one queue unless several pools share it."""

    name: str
    """Name of the flavor, and of the queue that jobs are sent to."""
    queue: NotRequired[str]
    """Name of the queue, where flavors share one: those that come first fill first."""
    node_labels: dict[str, str]
    """Labels that select the pool's machines."""
    resource: str
    """Name of the accelerators, as nvidia.com/gpu or google.com/tpu; empty for machines without."""
    accelerators_per_machine: int
    """Accelerators of each machine."""
    cpus_per_machine: int
    """CPUs of each machine."""
    memory_gib_per_machine: int
    """Memory of each machine."""
    machines: int
    """Maximum number of machines: what is reserved, or the pool's maximum. It sets the quota."""
    beside_per_machine: NotRequired[dict[str, str]]
    """Other resources of each machine that pods request, as {rdma/ib: "1", hugepages-2Mi: 5120Mi}; without a
    quota for them such pods are not admitted."""
    topology_levels: NotRequired[list[str]]
    """Node labels from the widest block to the host, for machines that are packed closely."""
    provisioning_class: NotRequired[str]
    """Class of the provisioning request for queued capacity."""
    tpu_topology: NotRequired[str]
    """Topology of the TPU slice of queued capacity, as 4x4."""
    tolerations: NotRequired[list[dict[str, str]]]
    """Taints of the machines besides that of the accelerator; jobs admitted by the queue tolerate them."""


class AdoptedPoolArgs(OwnedArgs):
    """Machines that already exist, as the project's catalog knows them."""

    place: str
    """Their location, as named in the catalog: on-premises, coreweave."""
    region: str
    """Region of their price; all where the rate is the same everywhere."""
    instance_type: str
    """Type of the machines, a row of the project's catalog."""
    market: Annotated[str, OneOf(("on-demand", "purchase"))]
    """How they are paid for: on-demand for an hourly rate, purchase for machines that were bought."""
    nodes_min: int
    """Minimum number of machines of the workload."""
    nodes_initial: int
    """Initial number of machines."""
    nodes_max: int
    """Maximum number of machines."""


class QueueingArgs(InsideArgs):
    """Kueue with a queue for each pool, and the operators of jobs of several machines."""

    flavors: list[FlavorArgs]
    """The pools."""
    namespaces: NotRequired[list[str]]
    """Namespaces whose jobs may use the queues; default `default`. They have to exist."""
    operators: NotRequired[list[str]]
    """jobset, kuberay, lws, keda: operators to install with the queue; default jobset."""
    registry: NotRequired[pulumi.Input[str]]
    """Mirror of the images of Kueue and the operators, for a network without internet access; default their own."""
    max_run_seconds: NotRequired[Annotated[int, Between(600, 604800, fix="queued machines run for at most 7 days")]]
    """How long queued machines are requested; 604800 (7 days) by default."""


class OperatorsArgs(InsideArgs):
    """Operators of what runs, without a queue."""

    operators: list[str]
    """jobset, kuberay, lws, keda."""
    registry: NotRequired[pulumi.Input[str]]
    """Mirror of their public images, for a network without internet access."""
