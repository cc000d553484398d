"""Arguments of the Azure Machine Learning components, and how a decision becomes them. Pure."""

from typing import Any, NotRequired, TypedDict

import pulumi

from sizewell.components.azure.args import GroupArgs, WriterArgs, checkpoint_store_args, writer_of
from sizewell.components.facts import guard_args, is_gang, owned_args, pool_facts, schedule_args
from sizewell.components.forms import PlaceArgs
from sizewell.components.owned import GuardArgs, ScheduleArgs
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Pool, Workload

IDLE_S = 900  # how long a machine of a cluster waits for the next job, unless told
NOTEBOOK_IDLE_S = 1800


class CustomerKeyArgs(TypedDict):
    """A key of one's own, and an identity that may use it."""

    key_url: pulumi.Input[str]
    """URL of the key, with its version."""
    vault_id: pulumi.Input[str]
    """Id of the vault."""
    identity_id: pulumi.Input[str]
    """Identity that may wrap and unwrap with the key."""
    client_id: NotRequired[pulumi.Input[str]]
    """The identity's client id."""


class AmlWorkspaceArgs(PlaceArgs, GroupArgs):
    """An Azure Machine Learning workspace that nobody reaches from the internet."""

    subnet_id: pulumi.Input[str]
    """Private subnet of the endpoints to workspace, storage and registry."""
    private_dns_zone_ids: NotRequired[pulumi.Input[dict[str, str]]]
    """Private DNS zones by service: blob, file, registry, workspace, notebooks."""
    salt: str
    """Keeps the globally unique names (storage, vault, registry) apart from everybody else's."""
    outbound: NotRequired[str]
    """approved unless told: machines reach Azure's own services only; or internet, for packages from anywhere."""
    outbound_hosts: NotRequired[list[str]]
    """Further host names that machines may reach, as huggingface.co; Azure builds a firewall for them, which bills."""
    key: NotRequired[CustomerKeyArgs]
    """Key of one's own for the workspace's data."""
    log_days: NotRequired[int]
    """Logs are kept this long; 90 unless told."""


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
    """Fewest machines: 0, which is the only right answer."""
    nodes_max: int
    """Most machines."""
    idle_s: NotRequired[int]
    """A machine without work goes after this; 900 unless told, at most 1800."""
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
    idle_s: NotRequired[int]
    """It stops this long after the last work; 1800 unless told. Azure wants 900 to 259200."""
    user: NotRequired[str]
    """Object id of the one person who may use it; whoever builds it, unless told."""
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
    """Fewest machines; at least one, since a managed online endpoint has no size zero."""
    nodes_initial: int
    """Machines at creation; afterwards autoscale owns the number."""
    nodes_max: int
    """Most machines."""
    image: str
    """Container with a tag or digest, as myregistry.azurecr.io/vllm:0.11.0; machines reach Azure's registries."""
    model: NotRequired[str]
    """Model that is mounted: azureml://registries/... or the id of a model version."""
    environment_variables: NotRequired[dict[str, str]]
    """Environment of the container; holds no secrets."""
    port: NotRequired[int]
    """Port on which the container answers; 8000 unless told (vLLM)."""
    health_path: NotRequired[str]
    """Path on which it answers health probes; /health unless told."""
    scoring_path: NotRequired[str]
    """Path on which it answers requests; /v1/chat/completions unless told."""
    concurrency: NotRequired[int]
    """Requests at a time for each machine; 4 unless told."""
    auth: NotRequired[str]
    """aad (Entra tokens) unless told, or token (short-lived ones of the endpoint). Keys do not end, and are refused."""
    live: NotRequired[bool]
    """Whether requests go to the deployment without naming it; Azure takes that only once the deployment stands."""
    schedule: NotRequired[ScheduleArgs]
    """Working hours; outside of them one machine stays."""
    guard: NotRequired[GuardArgs]
    """Idle guard: who hears when nobody asks anything; an endpoint cannot go to zero."""
    registries: NotRequired[list[str]]
    """Ids of container registries beside the workspace's own that the image is pulled from."""
    notify: NotRequired[list[str]]
    """E-mail addresses that hear of idleness."""


def _placed(decision: Decision, workload: Workload, pool: Pool) -> dict[str, Any]:
    return {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "region": pool.region,
        "vm_size": pool.instance_type,
    }


def workspace_args(decision: Decision, region: str, settings: Settings) -> dict[str, Any]:
    """Arguments of the one workspace of a region, all but the network's ids."""
    return {**owned_args(decision), "region": region, "salt": f"{settings.salt}/{decision.stack}/{region}"}


def compute_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
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


def instance_args(decision: Decision, workload: Workload, pool: Pool) -> dict[str, Any]:
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
