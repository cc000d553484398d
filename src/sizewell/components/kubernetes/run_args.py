"""Arguments of what runs on a Kubernetes cluster, and how a workload's launch becomes them and back. Pure."""

from collections.abc import Mapping
from datetime import date
from typing import Any, NotRequired, TypedDict

import pulumi

from sizewell.components.facts import of_capacity
from sizewell.components.forms import InsideArgs
from sizewell.components.machines import find_shape, find_slices
from sizewell.components.owned import GuardArgs, ScheduleArgs
from sizewell.launch.launch import Launch, launch_with
from sizewell.launch.plan import RunPlan, Saves, Window, WorkingHours
from sizewell.launch.run import LISTS, Run
from sizewell.launch.target import Disks, Target
from sizewell.sizing.records.decision import Guard, Parallelism, Replicas, Task


class MachinesArgs(TypedDict):
    """The machines that it runs on, as the catalog and the cluster's scheduler know them."""

    cloud: str
    """Cloud of the machine type: aws, gcp or azure."""
    instance_type: str
    """Machine type that the catalog knows."""
    nodes: int
    """Machines of the job."""
    nodes_max: NotRequired[int]
    """Maximum number of machines of the pool; default as nodes."""
    topology: NotRequired[str]
    """Of a TPU slice, as 4x4."""
    capacity_mode: NotRequired[str]
    """on-demand by default; spot shortens the time that a pod has to end."""
    block_start: NotRequired[str]
    """Start of a capacity block, ISO time; a run saves before the block ends."""
    block_hours: NotRequired[int]
    """Length of the block."""
    selector: NotRequired[dict[str, str]]
    """Labels that select the machines; may be missing only if the pods are placed otherwise."""
    placed: NotRequired[bool]
    """Whether the queue selects the machines of each job, as it does where it has several flavors."""
    cpus: NotRequired[int]
    """CPUs of the smallest machine that the queue may choose; default of the instance type."""
    memory_gib: NotRequired[int]
    """Memory of the smallest machine that the queue may choose; default of the instance type."""
    taints: NotRequired[dict[str, str]]
    """Taints of the machines: key and effect."""
    rdma_resource: NotRequired[str]
    """Resource of the RDMA interfaces, as vpc.amazonaws.com/efa or rdma/ib."""
    rdma_count: NotRequired[int]
    """RDMA interfaces of each machine."""
    fabric: NotRequired[str]
    """GPUDirect protocol of a GKE cluster made for it, such as gpudirect-tcpxo."""
    queue: NotRequired[str]
    """Local queue of Kueue."""
    topology_levels: NotRequired[list[str]]
    """Topology labels of the queue, widest first."""


class ContainerArgs(TypedDict):
    """What runs; everything except the image has a default."""

    image: str
    """Image with a tag other than latest, or a digest."""
    command: NotRequired[list[str]]
    """Command, instead of the template's own."""
    args: NotRequired[list[str]]
    """Added to the command."""
    env: NotRequired[dict[str, str]]
    """Environment variables; no secrets."""
    secrets: NotRequired[list[str]]
    """Secrets of the namespace whose keys become environment variables."""
    namespace: NotRequired[str]
    """Namespace; default default."""
    model: NotRequired[str]
    """Weights: a name on the Hub, s3:// or gs://, a path."""
    draft: NotRequired[str]
    """Weights of the draft in place of the decision's: a name on the Hub, a path."""
    engine: NotRequired[str]
    """vllm or triton; default by the model."""
    form: NotRequired[str]
    """deployment or kserve."""
    metrics: NotRequired[str]
    """Address of the Prometheus that the autoscaler queries."""
    callers: NotRequired[list[str]]
    """Namespaces, such as a gateway's, whose pods may call a served model; its own always may."""
    wake: NotRequired[str]
    """Query that counts waiting requests while nothing is running."""
    prefix: NotRequired[str]
    """Name of the run in the store: the same name resumes, another starts a new run."""
    output: NotRequired[str]
    """URI of a batch's results."""
    claims: NotRequired[dict[str, str]]
    """Existing volume claims and the folder that each is mounted at."""
    restarts: NotRequired[int]
    """Number of failures after which a run is given up; default 10."""
    root: NotRequired[bool]
    """User of the container, if it has to be root."""
    suspend: NotRequired[bool]
    """Created, but not started."""
    priority: NotRequired[str]
    """An existing PriorityClass (queues made by Sizewell come with sizewell-low, -medium, -high): its place in the
    queue
    and what it may preempt."""


class IdentityArgs(TypedDict):
    """Who the pods are."""

    account: str
    """Kubernetes service account; it is created."""
    annotations: NotRequired[dict[str, pulumi.Input[str]]]
    """Annotations that link it to the cloud's identity."""
    pod_labels: NotRequired[dict[str, str]]
    """Labels that the cloud requires on its pods."""


class TaskArgs(TypedDict):
    """The task, as in a decision's `task`."""

    model: NotRequired[str]
    """Name of the model."""
    dimensions: NotRequired[dict[str, int]]
    """layers, hidden, heads, ... of a model without a name."""
    not_built_in: NotRequired[list[str]]
    """What a model by its dimensions has that the entry scripts' own transformer has not, as tied embeddings."""
    family: NotRequired[str]
    """decoder, encoder, vision or diffusion."""
    engine: NotRequired[str]
    """Engine named in the spec, such as vllm; default by the model's family."""
    engine_version: NotRequired[str]
    """Its release, as in the spec."""
    experts: NotRequired[int]
    """Routed experts of a layer; the entry scripts train none."""
    resolution: NotRequired[int]
    """Side of images in pixels."""
    precision: NotRequired[str]
    """Precision of the computation."""
    weights: NotRequired[str]
    """Precision of stored weights: bf16, fp8, int4, ..."""
    loading_bytes: NotRequired[int]
    """Bytes of 16-bit weights on a device, where they do not fit while another format is made of them."""
    kv: NotRequired[str]
    """Precision of the KV cache."""
    adapters: NotRequired[int]
    """LoRA adapters served on the model."""
    adapters_resident: NotRequired[int]
    """Of them in device memory at once."""
    adapter_rank: NotRequired[int]
    """Rank that room is reserved for."""
    expert_parallel: NotRequired[bool]
    """Whether a model that is served over several devices has whole experts on each."""
    draft: NotRequired[str]
    """Model that proposes tokens in speculative decoding, or ngram."""
    draft_tokens: NotRequired[int]
    """Tokens that it proposes before each step."""
    model_type: NotRequired[str]
    """Of the model's config.json, by which an engine looks for its layers."""
    method: NotRequired[str]
    """pretrain, full or lora."""
    optimizer: NotRequired[str]
    """adamw."""
    offload: NotRequired[str]
    """optimizer, where its state and its step are the host's; the entry scripts keep it on the device."""
    lora_rank: NotRequired[int]
    """Rank of the adapters."""
    lora_targets: NotRequired[list[str]]
    """Matrices with adapters: all-linear, or q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj."""
    no_sync: NotRequired[bool]
    """Whether gradients are reduced after the last micro-batch of a step alone."""
    sequence_length: NotRequired[int]
    """Tokens of a sample, or of a mean request."""
    request_tokens_max: NotRequired[int]
    """Tokens of the longest request that the engine takes; twice the mean where it is not stated."""
    samples_per_step: NotRequired[int]
    """Total over all devices."""
    steps: NotRequired[int]
    """Tokens of the whole run."""
    records: NotRequired[int]
    """Of a batch."""
    input_tokens: NotRequired[int]
    """Of a request."""
    output_tokens: NotRequired[int]
    """Tokens of a response."""
    users: NotRequired[int]
    """Concurrent users, each waiting for the response before sending the next request."""
    ttft_s: NotRequired[float]
    """Seconds to the first token, at most."""
    tpot_s: NotRequired[float]
    """Seconds from token to token, at most."""
    latency_s: NotRequired[float]
    """Seconds to the end of a response, at most."""
    percentile: NotRequired[float]
    """Share of requests for which these hold, as 0.95."""
    deadline_s: NotRequired[float]
    """Maximum time in seconds."""


class ParallelismArgs(TypedDict):
    """How training is split over the devices."""

    tensor: NotRequired[int]
    """Devices that share each layer."""
    pipeline: NotRequired[int]
    """Pipeline stages; the entry scripts have one."""
    virtual_pipeline: NotRequired[int]
    """Virtual stages per stage."""
    context: NotRequired[int]
    """Devices that share a sequence; the entry scripts have one."""
    data: NotRequired[int]
    """Copies, or shards of a copy."""
    expert: NotRequired[int]
    """Devices that share the experts; the entry scripts have one."""
    zero_stage: NotRequired[int]
    """0 to 3: what is sharded over data."""
    shard_group: NotRequired[int]
    """Devices to shard over; 0: all."""
    micro_batch: NotRequired[int]
    """Samples per device and micro-batch."""
    gradient_accumulation: NotRequired[int]
    """Micro-batches of a step."""
    checkpointing: NotRequired[str]
    """Activation checkpointing: none, selective or full."""


class ReplicasArgs(TypedDict):
    """Copies of a served model."""

    min: int
    """Fewest."""
    initial: int
    """At first."""
    max: int
    """Most."""
    devices_per_replica: int
    """Devices per replica."""
    concurrency_per_replica: NotRequired[int]
    """Concurrent requests per replica."""
    in_flight_target: NotRequired[float]
    """Requests in flight on each replica, above which the autoscaler adds one."""
    spare: NotRequired[int]
    """Replicas beyond those that the requests in flight ask for."""


class RunArgs(InsideArgs):
    """What all workloads on a cluster take."""

    machines: MachinesArgs
    """The machines that it runs on."""
    container: ContainerArgs
    """What runs."""
    identity: NotRequired[IdentityArgs]
    """Service account of the pods; default one with the component's name."""
    task: NotRequired[TaskArgs]
    """The work to do."""
    store: NotRequired[str]
    """URI of the checkpoints: s3://, gs:// or az://."""
    data: NotRequired[str]
    """URI or folder of the data."""
    figures: NotRequired[dict[str, float]]
    """What was predicted: run_time_s, run_time_s_at_most, checkpoint_write_s, cold_start_s, e2e_s, requests_per_s."""
    guard: NotRequired[GuardArgs]
    """When it counts as idle."""
    schedule: NotRequired[ScheduleArgs]
    """Working hours."""


class TrainingRunArgs(RunArgs):
    """One training or fine-tuning run on one or several machines."""

    framework: NotRequired[str]
    """pytorch or jax; default pytorch."""
    scheduler: NotRequired[str]
    """kubernetes (a JobSet) or ray (a RayJob); default kubernetes."""
    parallelism: NotRequired[ParallelismArgs]
    """Parallelism."""
    checkpoint_interval_s: NotRequired[float]
    """Seconds between checkpoints."""
    checkpoints_kept: NotRequired[int]
    """Number of checkpoints to keep."""


class BatchRunArgs(RunArgs):
    """Offline inference over records, piece by piece."""

    replicas: ReplicasArgs
    """Concurrent copies of the model."""


class ServedModelArgs(RunArgs):
    """A model that answers requests."""

    replicas: ReplicasArgs
    """Copies of the model."""


class NotebookServerArgs(RunArgs):
    """A notebook with accelerators."""

    disk_gib: NotRequired[int]
    """Disk that is kept when the notebook is deleted; default 50."""
    disk_class: NotRequired[str]
    """Storage class of the disk; default the cluster's default."""
    disk_driver: NotRequired[str]
    """CSI driver of the cluster, for a storage class of the notebook's own, as ebs.csi.aws.com."""
    disk_parameters: NotRequired[dict[str, str]]
    """Parameters of that driver, as {type: gp3}."""


class BurnInArgs(RunArgs):
    """A test of machines before they are trusted, or of a served model."""

    served: NotRequired[bool]
    """Test the served model of the same name with load instead of the machines with an all-reduce."""
    replicas: NotRequired[ReplicasArgs]
    """Copies of the served model."""


TRAINS = ("training", "fine-tuning")  # kinds of workloads that save what they have learned


def args_of(launch: Launch, shape: type) -> dict[str, Any]:
    """Arguments of a component from a launch: those that the TypedDict `shape` knows, without the kubeconfig."""
    plan, target = launch.plan, launch.target
    machines: dict[str, object] = {
        "cloud": plan.cloud,
        "instance_type": plan.instance_type,
        "nodes": plan.nodes,
        "nodes_max": plan.nodes_max,
        "topology": plan.tpu_topology,
        "capacity_mode": plan.capacity_mode,
        "block_start": plan.window.start if plan.window else None,
        "block_hours": plan.window.hours if plan.window else None,
        "selector": dict(target.selector),
        "taints": dict(target.taints),
        "rdma_resource": target.rdma[0],
        "rdma_count": target.rdma[1],
        "fabric": target.fabric,
        "queue": target.queue,
        "placed": target.placed,
        "cpus": target.room[0],
        "memory_gib": target.room[1],
        "topology_levels": list(target.levels),
    }
    identity: dict[str, object] = {
        "account": target.account,
        "annotations": dict(target.account_annotations),
        "pod_labels": dict(target.pod_labels),
    }
    predicted = {
        "run_time_s": plan.run_time_s,
        "run_time_s_at_most": plan.run_time_s_at_most,
        "data_bytes_per_s": plan.data_bytes_per_s or None,
    }
    args: dict[str, object] = {
        "machines": _told(machines),
        "container": _container(launch.run),
        "identity": _told(identity),
        "task": plan.task.model_dump(exclude_none=True) if plan.task else None,
        "parallelism": plan.parallelism.model_dump() if plan.parallelism else None,
        "replicas": plan.replicas.model_dump(exclude_none=True) if plan.replicas else None,
        "store": target.store,
        "data": plan.data,
        "figures": {**plan.figures, **{key: value for key, value in predicted.items() if value is not None}},
        "framework": plan.framework,
        "scheduler": "ray" if plan.scheduler == "ray" else "kubernetes",
        "checkpoint_interval_s": plan.saves.interval_s if plan.saves else None,
        "checkpoints_kept": plan.saves.keep if plan.saves else None,
        "served": plan.kind == "inference" or None,
        "disk_class": target.disks.storage_class,
        "disk_driver": target.disks.driver,
        "disk_parameters": dict(target.disks.parameters),
    }
    known = shape.__annotations__  # of a TypedDict: its own and those it inherits
    return {key: value for key, value in _told(args).items() if key in known}


def launch_of_args(name: str, kind: str, stack: str, args: Mapping[str, Any]) -> Launch:
    """The launch that the arguments describe; they have been checked."""
    machines = args["machines"]
    identity = args.get("identity") or {"account": name}
    target = Target(
        cluster="other",
        pool=name,
        account=identity["account"],
        account_annotations=identity.get("annotations", {}),
        pod_labels=identity.get("pod_labels", {}),
        selector=machines.get("selector", {}),
        taints=tuple(machines.get("taints", {}).items()),
        queue=machines.get("queue", ""),
        placed=machines.get("placed", False),
        room=(machines.get("cpus", 0), machines.get("memory_gib", 0)),
        levels=tuple(machines.get("topology_levels", ())),
        store=args.get("store", ""),
        rdma=(machines.get("rdma_resource", ""), machines.get("rdma_count", 0)),
        fabric=machines.get("fabric", ""),
        disks=Disks(
            storage_class=args.get("disk_class", ""),
            driver=args.get("disk_driver", ""),
            parameters=args.get("disk_parameters", {}),
        ),
    )
    return launch_with(plan_of(name, kind, stack, args), run_of(args["container"]), target)


def plan_of(name: str, kind: str, stack: str, args: Mapping[str, Any]) -> RunPlan:
    """What the arguments say of a run, and nothing that they do not say."""
    machines, figures = args["machines"], dict(args.get("figures", {}))
    mode = machines.get("capacity_mode", "on-demand")
    run_time_s, data_bytes_per_s = figures.pop("run_time_s", None), figures.pop("data_bytes_per_s", 0.0)
    return RunPlan(
        stack=stack,
        environment=args["environment"],
        expires_at=date.fromisoformat(args["expires"]) if args.get("expires") else None,
        name=name,
        kind=kind,
        framework=args.get("framework", "pytorch"),
        scheduler=args.get("scheduler", "kubernetes"),
        task=Task(**args["task"]) if "task" in args else None,
        parallelism=Parallelism(**args["parallelism"]) if "parallelism" in args else None,
        replicas=Replicas(**args["replicas"]) if "replicas" in args else None,
        guard=Guard(**args["guard"]) if "guard" in args else None,
        hours=_hours(args["schedule"]) if "schedule" in args else None,
        saves=_saves(args) if kind in TRAINS else None,
        data=args.get("data"),
        data_bytes_per_s=data_bytes_per_s,
        run_time_s=run_time_s,
        run_time_s_at_most=figures.pop("run_time_s_at_most", run_time_s),
        figures=figures,
        cloud=machines["cloud"],
        instance_type=machines["instance_type"],
        accelerator=accelerator_of(machines),
        tpu_topology=machines.get("topology"),
        market=of_capacity(mode)["market"],
        capacity_mode=mode,
        window=_window(machines) if mode == "capacity-block" else None,
        nodes=machines["nodes"],
        nodes_max=machines.get("nodes_max", machines["nodes"]),
    )


def run_of(container: Mapping[str, Any]) -> Run:
    """The run of a container's arguments."""
    lists = {key: tuple(container[key]) for key in LISTS if key in container}
    pairs = {key: tuple(container[key].items()) for key in ("env", "claims") if key in container}
    return Run(**{**container, **lists, **pairs})


def accelerator_of(machines: Mapping[str, Any]) -> str:
    """Catalog key of the machines' accelerator; "" where the catalog does not know them."""
    shape = find_shape(machines["cloud"], machines["instance_type"])
    slices = find_slices(machines["instance_type"])
    return shape.accelerator if shape else slices[0].accelerator if slices else ""


def _container(run: Run) -> dict[str, object]:
    plain = Run(image=run.image)
    stated = {key: getattr(run, key) for key in Run.__slots__ if getattr(run, key) != getattr(plain, key)}
    for key, value in stated.items():
        if isinstance(value, tuple):
            stated[key] = dict(value) if key in ("env", "claims") else list(value)
    return {"image": run.image, **stated}


def _hours(schedule: Mapping[str, Any]) -> WorkingHours:
    windows = tuple((window["days"], window["start"], window["end"]) for window in schedule["windows"])
    return WorkingHours(time_zone=schedule["time_zone"], windows=windows)


def _saves(args: Mapping[str, Any]) -> Saves | None:
    if not args.get("store"):
        return None
    return Saves(interval_s=args.get("checkpoint_interval_s", 900.0), keep=args.get("checkpoints_kept", 4))


def _window(machines: Mapping[str, Any]) -> Window:
    return Window(hours=machines.get("block_hours", 24), start=machines.get("block_start"))


def _told(args: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in args.items() if value not in (None, "", (), [], {}) and value != 0}
