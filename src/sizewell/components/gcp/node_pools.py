"""Node pools of GKE: GPU types, node counts, placement, scheduler jobs. Pure."""

import base64
import json
from collections.abc import Sequence
from typing import Any

from sizewell.components.gcp.args import FABRIC_NETWORKS, AcceleratorPoolArgs, NodesArgs
from sizewell.components.kubernetes.objects import GKE_TOPOLOGY
from sizewell.components.machines import find_slices, shape_by_name
from sizewell.components.owned import ScheduleArgs
from sizewell.sizing.catalog.records import Shape, Slice
from sizewell.sizing.workload.schedule import end_days

QUEUED_CLASS = "queued-provisioning.gke.io"
UNCOUNTED = 10_000  # CPUs or GiB where the catalog has none: the accelerators alone then limit the queue


def is_tpu(machine_type: str) -> bool:
    """Whether a machine type carries TPU chips, by its row or by its slices."""
    shape = shape_by_name("gcp", machine_type)
    return bool(shape is not None and shape.runtime == "tpu") or bool(find_slices(machine_type))


def gpu_type(machine_type: str) -> str | None:
    """GKE's name of the accelerator of a machine type; None where it has no GPU that GKE attaches.

    >>> gpu_type("a3-megagpu-8g"), gpu_type("ct6e-standard-4t")
    ('nvidia-h100-mega-80gb', None)
    """
    shape = shape_by_name("gcp", machine_type)
    return (shape.cloud_accelerator or None) if shape is not None else None


def disk_type(machine_type: str) -> str:
    """What a machine boots from: newer families from Hyperdisk only."""
    shape = shape_by_name("gcp", machine_type)
    return (shape.boot_disk if shape is not None else "") or "pd-balanced"


def slices_of(args: AcceleratorPoolArgs, tpu_slice: Slice | None) -> int:
    """How many node pools: one per multi-host slice, otherwise one."""
    if tpu_slice is None or not tpu_slice.multi_host:
        return 1
    return args["nodes_max"] // tpu_slice.vms


def counts(args: AcceleratorPoolArgs, tpu_slice: Slice | None, number: int = 0) -> dict[str, Any]:
    """Either a fixed number of nodes or autoscaling, never both; `number` is the slice's, where there are several.

    A multi-host slice has exactly its machines or none: the autoscaler takes it up and down as a whole, and a minimum
    of one slice's machines keeps the first slice up and none of the others.
    """
    low, now, high = args["nodes_min"], args["nodes_initial"], args["nodes_max"]
    if tpu_slice is not None and tpu_slice.multi_host:
        low, now, high = (tpu_slice.vms if total > number * tpu_slice.vms else 0 for total in (low, now, high))
    if low == high and args["capacity_mode"] not in ("flex-start", "queued"):
        return {"node_count": high // len(args["zones"])}
    return {
        "initial_node_count": now // len(args["zones"]),  # both counts are per zone
        "autoscaling": {"total_min_node_count": low, "total_max_node_count": high, "location_policy": "ANY"},
    }


def placement(args: AcceleratorPoolArgs, tpu_slice: Slice | None) -> dict[str, Any]:
    """COMPACT with the topology for a multi-host slice; COMPACT for GPUs of one job where the mode allows it.

    Never beside a workload policy, which packs by itself: slices of TPU7x have one (`workload_policy`) and no type.
    """
    if tpu_slice is not None:
        if not tpu_slice.multi_host:
            return {}
        if workload_policy(tpu_slice):
            return {"placement_policy": {"type": "", "tpu_topology": tpu_slice.topology}}
        return {"placement_policy": {"type": "COMPACT", "tpu_topology": tpu_slice.topology}}
    mode, machine_type = args["capacity_mode"], args["machine_type"]
    shape = shape_by_name("gcp", machine_type)
    packs = shape is not None and mode in shape.packing
    return {"placement_policy": {"type": "COMPACT"}} if args.get("gang") and packs else {}


def workload_policy(tpu_slice: Slice | None) -> dict[str, str]:
    """What packs the machines of a TPU7x slice; {} for what compact placement packs.

    "Creation of a managed instance group with tpu7x-standard-4t machine type with placement policy is not supported.
    Use workload policy instead." (github.com/vllm-project/ci-infra/pull/547, AI-Hypercomputer/xpk/pull/671)
    """
    if tpu_slice is None or not tpu_slice.multi_host:
        return {}
    shape = shape_by_name("gcp", tpu_slice.machine_type)
    if shape is None or "workload-policy" not in shape.packing:
        return {}
    return {"type": "HIGH_THROUGHPUT", "accelerator_topology": tpu_slice.topology}


def capacity(args: AcceleratorPoolArgs) -> dict[str, Any]:
    """Keys of the node configuration that get the machines, by mode."""
    mode = args["capacity_mode"]
    none = {"consume_reservation_type": "NO_RESERVATION"}
    if mode == "reservation":
        key = "compute.googleapis.com/reservation-name"
        named = {"consume_reservation_type": "SPECIFIC_RESERVATION", "key": key, "values": [args.get("reservation")]}
        return {"reservation_affinity": named}
    if mode == "spot":
        return {"spot": True, "reservation_affinity": none}
    if mode in ("flex-start", "queued"):
        limit = {"max_run_duration": f"{args.get('max_run_hours', 168) * 3600}s", "reservation_affinity": none}
        return {**limit, "flex_start": True} if mode == "flex-start" else limit
    return {}


def failed_runs(workflow: str) -> str:
    """Monitoring filter: runs of one workflow that failed."""
    kind = "workflows.googleapis.com/Workflow"
    return (
        f'metric.type="workflows.googleapis.com/finished_execution_count" AND metric.labels.status="FAILED" '
        f'AND resource.type="{kind}" AND resource.labels.workflow_id="{workflow}"'
    )


def failed_starts(jobs: Sequence[str]) -> str:
    """Monitoring filter: calls of scheduled jobs that got no good answer
    (cloud.google.com/monitoring/api/metrics_gcp_c#gcp-cloudscheduler).
    """
    named = ",".join(f'"{job}"' for job in jobs)
    return (
        f'metric.type="cloudscheduler.googleapis.com/job/attempt_count" AND metric.labels.response_class!="2xx" '
        f'AND resource.type="cloud_scheduler_job" AND resource.labels.job_id=one_of({named})'
    )


def upgrades(mode: str) -> dict[str, object]:
    """How machines are renewed: one goes before one comes; those of flex-start and queues are not kept for it.

    (cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies#short-lived-upgrades-flex-start,
    terraform-google-modules/terraform-google-kubernetes-engine#2352)
    """
    if mode in ("flex-start", "queued"):
        return {"strategy": "SHORT_LIVED"}
    return {"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1}


def maintenance(args: AcceleratorPoolArgs) -> dict[str, object]:
    """Machines of one job are serviced together and with notice, where the family and the way to get them allow it."""
    shape = shape_by_name("gcp", args["machine_type"])
    announced = shape is not None and "announced-maintenance" in shape.traits
    serviced = announced and args["capacity_mode"] in ("on-demand", "reservation")
    return {"host_maintenance_policy": {"maintenance_interval": "PERIODIC"}} if args.get("gang") and serviced else {}


def node_labels(args: AcceleratorPoolArgs) -> dict[str, str]:
    labels = dict(args.get("labels", {}))
    if args["capacity_mode"] == "queued":
        labels["cloud.google.com/gke-queued"] = "true"
    return labels


def resource_of(machine_type: str) -> str:
    """What pods ask for of a machine type; "" where it has no accelerator.

    >>> resource_of("g2-standard-4"), resource_of("ct6e-standard-4t"), resource_of("n2-standard-4")
    ('nvidia.com/gpu', 'google.com/tpu', '')
    """
    if is_tpu(machine_type):
        return "google.com/tpu"
    shape = shape_by_name("gcp", machine_type)
    return "" if shape is not None and not shape.accelerators else "nvidia.com/gpu"


def measured(accelerators: int, metric: str) -> dict[str, object]:
    """What a pool registers about where the use of its machines is published; nothing without accelerators."""
    if not accelerators:
        return {}
    published = {"source": "cloud-monitoring", "metric": metric, "per": "accelerator", "machine": "node_name"}
    return {"measured": published}


def guest_accelerators(shape: Shape) -> list[dict[str, object]]:
    """GPUs with the driver that Google installs: the driver is there exactly once."""
    kind = gpu_type(shape.instance_type)
    if kind is None or is_tpu(shape.instance_type):
        return []
    driver = {"gpu_driver_version": "LATEST"}
    return [{"type": kind, "count": shape.accelerators, "gpu_driver_installation_config": driver}]


def agent_member(email: str, agent: str) -> str:
    """The IAM member of another service's agent in the same project: all of them begin with the project's number.

    >>> agent_member("service-123@container-engine-robot.iam.gserviceaccount.com", "compute-system")
    'serviceAccount:service-123@compute-system.iam.gserviceaccount.com'
    """
    return f"serviceAccount:{email.split('@', maxsplit=1)[0]}@{agent}.iam.gserviceaccount.com"


def kubeconfig(*, cluster: str, endpoint: str) -> str:
    """How kubectl reaches the cluster by its DNS name: for each call a token of whoever is logged in.

    Google serves the name with a public certificate, so no authority of the cluster's own is named.
    """
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "provideClusterInfo": True,
        "interactiveMode": "Never",
    }
    server = {"server": f"https://{endpoint}"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
            "users": [{"name": cluster, "user": {"exec": plugin}}],
        }
    )


def queue_flavor(args: NodesArgs, shape: Shape, *, queue: str, pools: int) -> dict[str, object]:
    """The pool as a queue sees it: its most machines are the quota, queued ones are asked for first.

    One node pool is told by its name; the node pools of several slices by the labels that they share.
    """
    labels = {"cloud.google.com/gke-nodepool": queue} if pools == 1 else dict(args.get("labels", {}))
    flavor: dict[str, object] = {
        "name": queue,
        "node_labels": labels,
        "resource": resource_of(shape.instance_type),
        "accelerators_per_machine": shape.accelerators,
        "cpus_per_machine": shape.vcpus or UNCOUNTED,
        "memory_gib_per_machine": (shape.memory_bytes or UNCOUNTED * 2**30) // 2**30,
        "machines": args["nodes_max"],
    }
    if levels := topology_levels(args, shape):
        flavor["topology_levels"] = levels
    if args["capacity_mode"] != "queued":
        return flavor
    topology = {"tpu_topology": args["tpu_topology"]} if args.get("tpu_topology") else {}
    return {**flavor, "provisioning_class": QUEUED_CLASS, **topology}


def topology_levels(args: NodesArgs, shape: Shape) -> list[str]:
    """Labels by which a queue packs a job's machines: those of GPUs with GPUDirect that stand all the time.

    A queue that packs counts the machines that are there: behind an autoscaler that starts from none it would admit
    nothing, and Google's own queue for queued machines does not pack (github.com/GoogleCloudPlatform/cluster-toolkit,
    examples/gke-a3-ultragpu against gke-consumption-options/dws-flex-start-queued-provisioning).
    """
    stands = args["nodes_min"] == args["nodes_max"] and args["capacity_mode"] in ("on-demand", "reservation")
    return list(GKE_TOPOLOGY) if stands and args.get("gang") and shape.fabric in FABRIC_NETWORKS else []


def hours(schedule: ScheduleArgs) -> dict[str, dict[str, str]]:
    """Two clocks per window: what they ask the pool's workflow for, working at its start and zero at its end."""
    clocks = {}
    for number, window in enumerate(schedule["windows"]):
        for edge, size in (("start", "working"), ("end", "zero")):
            clock = window["start"] if edge == "start" else window["end"]
            hour, minute = (23, 59) if clock == "24:00" else (int(clock[:2]), int(clock[3:]))
            days = window["days"] if edge == "start" else end_days(window["days"], window["start"], window["end"])
            clocks[f"{edge}-{number}"] = {
                "schedule": f"{minute} {hour} * * {days.upper()}",
                "time_zone": schedule["time_zone"],
                "size": size,
            }
    return clocks


def execution(size: str) -> str:
    """The body that starts a run of the pool's workflow, base64 as Cloud Scheduler wants it."""
    return base64.b64encode(json.dumps({"argument": json.dumps({"size": size})}).encode()).decode()


def pool_filter(metric: str, *, cluster: str, pools: list[str]) -> str:
    """Monitoring filter: a metric of the nodes of some pools."""
    label = 'metadata.user_labels."cloud.google.com/gke-nodepool"'
    names = ",".join(f'"{pool}"' for pool in pools)
    return (
        f'metric.type="{metric}" AND resource.type="k8s_node" '
        f'AND resource.labels.cluster_name="{cluster}" AND {label}=one_of({names})'
    )
