"""Arguments of the Azure Machine Learning components, and how a decision becomes them. Pure."""

from typing import Annotated, Any, NotRequired

import pulumi

from sizewell.components.azure.args import GroupArgs, WriterArgs, checkpoint_store_args, writer_of
from sizewell.components.azure.keys.args import CustomerKeyArgs
from sizewell.components.bounds import Between
from sizewell.components.facts import guard_args, is_gang, owned_args, pool_facts, schedule_args
from sizewell.components.forms import PlaceArgs
from sizewell.components.owned import GuardArgs, ScheduleArgs
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Pool, Workload

IDLE_S = 900  # how long a machine of a cluster waits for the next job, by default
NOTEBOOK_IDLE_S = 1800
CLUSTER_IDLE = Between(
    60, 1800, words="60 to 1800", because="longer means idle machines that are billed after every job"
)


class AmlWorkspaceArgs(PlaceArgs, GroupArgs):
    """An Azure Machine Learning workspace that nobody reaches from the internet."""

    subnet_id: pulumi.Input[str]
    """Private subnet of the endpoints to workspace, storage and registry."""
    private_dns_zone_ids: NotRequired[pulumi.Input[dict[str, str]]]
    """Private DNS zones by service: blob, file, registry, workspace, notebooks."""
    salt: str
    """Suffix that makes the names of storage, vault and registry globally unique."""
    outbound: NotRequired[str]
    """approved (default): machines reach Azure's own services only; internet: packages from anywhere."""
    outbound_hosts: NotRequired[list[str]]
    """Additional host names that machines may reach, such as huggingface.co; needs an Azure Firewall, which is
    billed."""
    key: NotRequired[CustomerKeyArgs]
    """Customer-managed key for the workspace's data."""
    log_days: NotRequired[Annotated[int, Between(30, 730)]]
    """Logs are kept this long; default 90."""


class AmlComputeClusterArgs(PlaceArgs, GroupArgs):
    """Equal GPU machines that Azure ML starts for jobs and takes away after them."""

    subnet_id: NotRequired[pulumi.Input[str]]
    """Private subnet, for the private endpoint to the checkpoint store."""
    private_dns_zone_ids: NotRequired[pulumi.Input[dict[str, str]]]
    """Private DNS zones by service; blob is for the private endpoint to the checkpoints."""
    workspace: pulumi.Input[str]
    """Name of the workspace."""
    vm_size: str
    """Size that the catalog knows, as Standard_NC24ads_A100_v4."""
    nodes_min: NotRequired[int]
    """Minimum number of machines; must be 0."""
    nodes_max: Annotated[int, Between(1, 100, fix="nodes_max must not be below nodes_min, and 0 would run nothing")]
    """Most machines."""
    idle_s: NotRequired[Annotated[int, CLUSTER_IDLE]]
    """Idle time after which a machine is removed; default 900, at most 1800."""
    capacity_mode: str
    """on-demand (dedicated) or spot (low priority: no guarantee, no notice, its own quota)."""
    gang: NotRequired[bool]
    """Whether all machines work on one job."""
    writer: NotRequired[WriterArgs]
    """Checkpoint store that jobs may write to."""
    storage_id: NotRequired[pulumi.Input[str]]
    """Id of the workspace's storage account, for the jobs' identity."""
    registry_id: NotRequired[pulumi.Input[str]]
    """Id of the workspace's registry, for the jobs' identity."""


class AmlComputeInstanceArgs(PlaceArgs, GroupArgs):
    """A notebook on a GPU that stops itself."""

    workspace: pulumi.Input[str]
    """Name of the workspace."""
    vm_size: str
    """Size that the catalog knows."""
    idle_s: NotRequired[Annotated[int, Between(900, 259200, words="900 to 259200 (15 minutes to 3 days)")]]
    """It stops this long after the last work; default 1800, Azure allows 900 to 259200."""
    user: NotRequired[str]
    """Object id of the person who may use it; default whoever builds it."""
    user_tenant: NotRequired[str]
    """Tenant of that person."""
    schedule: NotRequired[ScheduleArgs]
    """Working hours."""


class AmlOnlineEndpointArgs(PlaceArgs, GroupArgs):
    """A managed online endpoint with one deployment."""

    workspace: pulumi.Input[str]
    """Name of the workspace."""
    vm_size: str
    """Size that the catalog knows."""
    nodes_min: int
    """Minimum number of machines; at least 1, since a managed online endpoint cannot scale to zero."""
    nodes_initial: int
    """Machines at creation; afterwards autoscaling changes the number."""
    nodes_max: int
    """Most machines."""
    image: str
    """Container with a tag or digest, as myregistry.azurecr.io/vllm:0.11.0; machines reach Azure's registries."""
    model: NotRequired[str]
    """Model that is mounted: azureml://registries/... or the id of a model version."""
    environment_variables: NotRequired[dict[str, str]]
    """Environment of the container; holds no secrets."""
    port: NotRequired[Annotated[int, Between(1, 65535)]]
    """Port of the container; default 8000 (vLLM)."""
    health_path: NotRequired[str]
    """Path of the health probe; default /health."""
    scoring_path: NotRequired[str]
    """Path of requests; default /v1/chat/completions."""
    concurrency: NotRequired[Annotated[int, Between(1, 1000)]]
    """Concurrent requests per machine; default 4."""
    auth: NotRequired[str]
    """aad (Entra tokens, the default) or token (short-lived tokens of the endpoint). Keys do not expire and are
    rejected."""
    live: NotRequired[bool]
    """Whether the deployment gets requests by default; Azure accepts that only once it exists."""
    schedule: NotRequired[ScheduleArgs]
    """Working hours; outside of them one machine remains."""
    guard: NotRequired[GuardArgs]
    """Idle guard: notifies when there are no requests; an endpoint cannot scale to zero."""
    registries: NotRequired[list[str]]
    """Ids of container registries, besides the workspace's own, that images are pulled from."""
    notify: NotRequired[list[str]]
    """E-mail addresses notified of idleness."""


def _placed(decision: Decision, workload: Workload, pool: Pool) -> dict[str, object]:
    return {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "region": pool.region,
        "vm_size": pool.instance_type,
    }


def workspace_args(decision: Decision, region: str, settings: Settings) -> dict[str, object]:
    """Arguments of the one workspace of a region, all but the network's ids."""
    return {**owned_args(decision), "region": region, "salt": f"{settings.salt}/{decision.stack}/{region}"}


def compute_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, object]:
    """A cluster for a decision's training, fine-tuning or batch work; Azure ML starts it from zero for each job."""
    args = {
        **_placed(decision, workload, pool),
        "nodes_max": max(pool.nodes_max, 1),
        "capacity_mode": pool.capacity.mode,
        "gang": is_gang(workload, pool),
    }
    if workload.checkpoint:
        store = checkpoint_store_args(decision, workload, settings)
        args["writer"] = writer_of(store)
    return args


def instance_args(decision: Decision, workload: Workload, pool: Pool) -> dict[str, object]:
    """A notebook as a decision says it; its guard's window and grace are how long it idles."""
    args = {**_placed(decision, workload, pool), **schedule_args(workload)}
    if workload.guard:
        args["idle_s"] = min(max(workload.guard.window_s + workload.guard.grace_s, 900), 259200)
    return args


def endpoint_args(decision: Decision, workload: Workload, pool: Pool, container: dict[str, Any]) -> dict[str, Any]:
    """Serving as a decision says it; where it says zero, one machine stands: the service goes no lower."""
    replicas = workload.replicas
    least = max(pool.nodes_min, 1)
    return {
        **_placed(decision, workload, pool),
        **guard_args(workload, prepaid=True),  # it only tells: there is no size zero to go to
        **schedule_args(workload),
        **container,
        "nodes_min": least,
        "nodes_initial": max(pool.nodes_initial, least),
        "nodes_max": max(pool.nodes_max, least),
        "concurrency": int((replicas and replicas.concurrency_per_replica) or 4),
    }
