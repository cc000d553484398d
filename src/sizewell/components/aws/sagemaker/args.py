"""Arguments of the SageMaker components, and how a decision becomes them. Pure.

Instance types are written as EC2 writes them (g6.xlarge); SageMaker's `ml.` is added where it is needed.
"""

from typing import Annotated, Any, NotRequired, TypedDict

from sizewell.components.aws.args import AccountArgs, SubnetsArgs, WriterArgs, bucket_name
from sizewell.components.bounds import Between, OneOf, Pattern
from sizewell.components.facts import owned_args, pool_facts
from sizewell.components.forms import PlaceArgs
from sizewell.components.owned import GuardArgs
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Pool, Workload

DAY_S = 86400
IMAGE = Pattern(
    r"\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[\w./-]+(:[\w.-]+|@sha256:[0-9a-f]{64})",
    "an image in ECR with its tag or digest",
    because="SageMaker pulls only from there",
)


class PlacedArgs(PlaceArgs, SubnetsArgs):
    """Where in a private network something of SageMaker stands."""

    zones: list[str]
    """Where the subnets lie; at least two for endpoints."""
    kms_key_alias: NotRequired[str]
    """Alias of that key, as alias/name: so that its users can be checked before the key exists."""


class TrainingPipelineArgs(PlacedArgs):
    """A pipeline with one training step; it is billed only while an execution of it runs."""

    instance_type: str
    """EC2 instance type that SageMaker trains on."""
    nodes: Annotated[int, Between(1, 256)]
    """Machines of one run."""
    capacity_mode: Annotated[str, OneOf(("on-demand", "spot"))]
    """on-demand or spot (SageMaker's managed spot training)."""
    image: Annotated[str, IMAGE]
    """Container image in ECR."""
    max_run_s: Annotated[int, Between(60, 28 * DAY_S, fix="SageMaker stops every job after 28 days")]
    """Maximum run time in seconds; SageMaker stops the job then."""
    max_wait_s: NotRequired[int]
    """Maximum time of the run and of waiting for spot capacity together; default twice max_run_s."""
    writer: WriterArgs
    """Checkpoint store: for checkpoints and the trained model."""
    channels: NotRequired[dict[str, str]]
    """Input channels by name, each an s3:// location."""
    hyperparameters: NotRequired[dict[str, str]]
    """Passed to the container unchanged."""
    environment_variables: NotRequired[dict[str, str]]
    """Environment of the container; holds no secrets."""
    disk_gib: Annotated[int, Between(1, 16384)]
    """Disk of each machine; not used where the type has local disks."""


class ModelArgs(TypedDict):
    """The container that answers for a model."""

    image: Annotated[str, IMAGE]
    """Container image in ECR."""
    model_data: NotRequired[str]
    """s3:// location of the packed model; the container has no other access to it."""
    environment_variables: NotRequired[dict[str, str]]
    """Environment of the container; holds no secrets."""


class RealtimeEndpointArgs(PlacedArgs, ModelArgs):
    """A model behind a real-time endpoint that follows its load."""

    instance_type: str
    """EC2 instance type that SageMaker hosts on."""
    nodes_min: int
    """Minimum number of machines; with 0 the endpoint scales to zero without requests, and the first request then
    fails and starts it."""
    nodes_initial: int
    """Machines at creation; afterwards autoscaling changes the number."""
    nodes_max: int
    """Most machines."""
    concurrency: float
    """Concurrent requests that one copy of the model can serve."""
    accelerators_per_copy: NotRequired[int]
    """Accelerators of one copy; default all of the machine."""
    memory_mib_per_copy: NotRequired[Annotated[int, Between(128, 4 * 1024 * 1024)]]
    """Host memory of one copy; default 1024."""
    startup_s: NotRequired[Annotated[int, Between(60, 3600)]]
    """Timeout for the start of a container in seconds, 60 to 3600; default 1800."""


class AsyncEndpointArgs(PlacedArgs, ModelArgs):
    """A model behind an asynchronous endpoint: requests and results in S3, no machines while the queue is empty."""

    instance_type: str
    """EC2 instance type that SageMaker hosts on."""
    nodes_max: Annotated[int, Between(1, 100)]
    """Maximum number of machines; the minimum is 0."""
    concurrency: Annotated[int, Between(1, 1000)]
    """Concurrent requests that one machine can serve, 1 to 1000."""
    results: WriterArgs
    """Where results and errors are written."""
    startup_s: NotRequired[Annotated[int, Between(60, 3600)]]
    """Timeout for the start of a container in seconds, 60 to 3600; default 1800."""


class ServerlessEndpointArgs(PlaceArgs, AccountArgs, ModelArgs):
    """A small model without machines: no accelerator, at most 6 GB, nothing billed while nobody asks."""

    accelerator: NotRequired[str]
    """What the model was sized for; must be empty, serverless inference has no accelerators."""
    memory_mib: int
    """1024 to 6144 in steps of 1024."""
    max_concurrency: Annotated[int, Between(1, 200)]
    """Requests at a time, 1 to 200."""


class NotebookArgs(PlacedArgs):
    """A notebook on an accelerator that stops itself."""

    instance_type: str
    """EC2 instance type that SageMaker notebooks run on."""
    disk_gib: Annotated[int, Between(5, 16384)]
    """Disk of the notebook; kept, and billed, while it is stopped."""
    guard: NotRequired[GuardArgs]
    """When it counts as idle; default an hour under 5 %. It stops after window and grace without work."""
    reads: NotRequired[list[str]]
    """Buckets that it may read."""
    writer: NotRequired[WriterArgs]
    """Checkpoint store that it may write to."""


class StudioDomainArgs(PlacedArgs):
    """Studio for a team, inside the network, its apps shut down when idle."""

    idle_minutes: NotRequired[Annotated[int, Between(60, 525600)]]
    """Minutes without work after which an app is shut down, 60 to 525600; default 60."""
    users: NotRequired[list[str]]
    """Names of user profiles."""
    reads: NotRequired[list[str]]
    """Buckets that users may read."""
    disk_gib: NotRequired[Annotated[int, Between(5, 16384)]]
    """Largest disk of a space; default 100."""


def _placed(decision: Decision, workload: Workload, pool: Pool) -> dict[str, object]:
    return {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "region": pool.region,
        "instance_type": pool.instance_type,
    }


def disk_gib(pool: Pool) -> int:
    return max(-(-pool.disk_bytes_per_node // 2**30), 75)


def training_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings, image: str) -> dict[str, Any]:
    """Training on SageMaker as a decision says it; the longest run is twice the upper end of the predicted time."""
    bucket = bucket_name(decision, workload, settings)
    predicted_s = workload.performance.high if workload.performance.metric == "run_time_s" else 86400.0
    return {
        **_placed(decision, workload, pool),
        "nodes": max(pool.nodes_max, 1),
        "capacity_mode": pool.capacity.mode,
        "image": image,
        "max_run_s": min(max(int(2 * predicted_s), 3600), 28 * 86400),
        "writer": {"bucket": bucket, "key_alias": f"alias/{bucket}"},
        "disk_gib": disk_gib(pool),
    }


def endpoint_args(decision: Decision, workload: Workload, pool: Pool, image: str) -> dict[str, Any]:
    """Serving on SageMaker as a decision says it."""
    replicas = workload.replicas
    args: dict[str, object] = {
        **_placed(decision, workload, pool),
        "image": image,
        "nodes_min": pool.nodes_min,
        "nodes_initial": pool.nodes_initial,
        "nodes_max": pool.nodes_max,
        "concurrency": float((replicas and replicas.concurrency_per_replica) or 4),
    }
    if replicas is not None and 0 < replicas.devices_per_replica <= pool.accelerators_per_node:
        args["accelerators_per_copy"] = replicas.devices_per_replica
    return args


def notebook_args(decision: Decision, workload: Workload, pool: Pool) -> dict[str, Any]:
    """A notebook as a decision says it."""
    guard = {"guard": workload.guard.model_dump()} if workload.guard else {}
    return {**_placed(decision, workload, pool), "disk_gib": disk_gib(pool), **guard}
