"""Nodes of an AKS cluster: names, disks, taints, labels, their queue, the idle query; maintenance, kubeconfig. Pure."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sizewell.components.azure.scale_sets import is_virtual
from sizewell.components.owned import GuardArgs
from sizewell.components.tags import short_hash
from sizewell.launch.target import POOL_TAINT
from sizewell.sizing.catalog.records import Shape

TAINT = "sku=gpu:NoSchedule"
SPOT = "kubernetes.azure.com/scalesetpriority"  # AKS puts it on spot machines as label and taint, stated or not
RESOURCES = {"": "", "cuda": "nvidia.com/gpu", "rocm": "amd.com/gpu"}
LOGS = (
    "kube-apiserver",
    "kube-audit-admin",
    "kube-controller-manager",
    "kube-scheduler",
    "cluster-autoscaler",
    "guard",
)
MONITORING_READER = "b0d8363b-8ddd-447d-831f-62ca05bff136"  # Monitoring Data Reader
CLUSTER_ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"  # Azure Kubernetes Service RBAC Cluster Admin
KEY_CRYPTO_USER = "12338af0-0e69-4776-bea7-57ae8d297424"  # Key Vault Crypto User
KEY_VAULT_CONTRIBUTOR = "f25e0fa2-a7c8-4377-a976-54943a77a395"  # links the API server to the vault; reads no key
RESERVED_ACTIONS = (
    "Microsoft.Compute/capacityReservationGroups/read",
    "Microsoft.Compute/capacityReservationGroups/deploy/action",
    "Microsoft.Compute/capacityReservationGroups/capacityReservations/read",
    "Microsoft.Compute/capacityReservationGroups/capacityReservations/deploy/action",
)
ENTRA_SERVER = "6dae42f8-4368-4678-94ff-3960e28e3630"  # AKS's application in every Entra tenant
SCRAPE_S = 30
# Percent of time that a GPU works, and the label with its machine: NVIDIA's DCGM exporter, AMD's metrics exporter
# (github.com/ROCm/device-metrics-exporter, docs/configuration/metricslist.md).
BUSY = {"cuda": ("DCGM_FI_DEV_GPU_UTIL", "Hostname"), "rocm": ("gpu_gfx_activity", "hostname")}


def runtime_of(shape: Shape) -> str:
    """The kind of GPU: cuda, rocm or "" for none."""
    if not shape.accelerators:
        return ""
    return shape.runtime


def driver_of(shape: Shape, *, gang: bool) -> str:
    """Who owns the driver by default: AKS, whose images come from Azure's own registry; for AMD's GPUs and for
    machines of one job, whose driver has to load nvidia-peermem, the operator.
    """
    return "operator" if shape.runtime == "rocm" or (gang and not is_virtual(shape)) else "aks"


def agent_pool_name(name: str) -> str:
    """AKS takes 12 lower-case letters and digits, beginning with a letter.

    >>> agent_pool_name("chat"), agent_pool_name("llama-pretraining-run")
    ('chat', 'llamap5747b8')
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    plain = plain if plain[:1].isalpha() else f"p{plain}"
    return plain if len(plain) <= 12 and plain == name else f"{plain[:6]}{short_hash(name, length=6)}"


def os_disk(shape: Shape, *, disk_gib: int) -> dict[str, object]:
    """Ephemeral where the machine's own disk holds it: free, faster, and gone with the machine."""
    kind = "Ephemeral" if disk_gib <= shape.temporary_bytes // 2**30 else "Managed"
    return {"os_disk_type": kind, "os_disk_size_gb": disk_gib}


def market(mode: str, *, reservation: str = "") -> dict[str, Any]:
    """Exactly one way to get machines. A deallocated spot machine keeps its disk and its quota: evicted is deleted."""
    if mode == "spot":
        return {"scale_set_priority": "Spot", "scale_set_eviction_policy": "Delete", "spot_max_price": -1.0}
    regular: dict[str, object] = {"scale_set_priority": "Regular"}
    return {**regular, "capacity_reservation_group_id": reservation} if mode == "reservation" else regular


def taints(shape: Shape, mode: str) -> list[str]:
    """Only pods that ask for a GPU come onto its machines; without one, only those that name the pool."""
    own = TAINT if runtime_of(shape) else f"{POOL_TAINT}=present:NoSchedule"
    return [own, f"{SPOT}=spot:NoSchedule"] if mode == "spot" else [own]


def labels(shape: Shape, *, pool: str, mode: str, owned_by_aks: bool) -> dict[str, str]:
    known = {"sizewell/pool": pool}
    if runtime_of(shape):
        known |= {"sku": "gpu", "sizewell/accelerator": shape.accelerator}
    if owned_by_aks and runtime_of(shape):
        known["nvidia.com/gpu.deploy.driver"] = "false"  # beside others whose driver is the operator's
    return {**known, SPOT: "spot"} if mode == "spot" else known


def tolerations(mode: str = "spot") -> list[dict[str, str]]:
    """What pods need to stand on GPU machines, spot ones too."""
    tolerated = [{"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}]
    if mode == "spot":
        tolerated.append({"key": SPOT, "operator": "Equal", "value": "spot", "effect": "NoSchedule"})
    return tolerated


def maintenance(*, day: str, start: str, held: Mapping[str, Any] | None = None) -> dict[str, object]:
    """One window a week, in UTC, on none of the days `held` (start, end)."""
    schedule = {"weekly": {"day_of_week": day, "interval_weeks": 1}}
    window = {"schedule": schedule, "duration_hours": 6, "start_time": start, "utc_offset": "+00:00"}
    return {**window, "not_allowed_dates": [dict(held)]} if held else window


def credential(kubeconfigs: Sequence[Any]) -> str:
    """The first kubeconfig of those that Azure answers; the SDK gives it as an object or as it came."""
    first = kubeconfigs[0]
    return str(first["value"] if isinstance(first, dict) else first.value)


def kubeconfig(given: str, *, cluster: str) -> str:
    """How kubectl reaches the cluster, from what Azure answers: a token by Entra for each call, nothing that lasts.

    `kubelogin` takes who is logged in to the Azure CLI; AAD_LOGIN_METHOD says otherwise, as workloadidentity in CI.
    """
    import yaml

    server = yaml.safe_load(base64.b64decode(given))["clusters"][0]["cluster"]
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "kubelogin",
        "args": ["get-token", "--server-id", ENTRA_SERVER, "--login", "azurecli"],
        "interactiveMode": "Never",
    }
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


def idle_query(guard: GuardArgs, *, cluster: str, pool: str, seconds: int, runtime: str = "cuda") -> str:
    """True when every GPU of the pool stayed under the limit for `seconds`, and was seen all that time.

    Without 95 % of the samples of each machine nothing is idle: a machine that just came, or that its exporter lost,
    counts as busy, and an empty pool has no samples at all.
    """
    metric, host = BUSY[runtime]
    chosen = f'{metric}{{cluster="{cluster}",{host}=~"aks-{pool}-.+"}}[{seconds}s]'
    seen = int(seconds / SCRAPE_S * 0.95)
    busiest = f"max(max_over_time({chosen})) < {guard['min_utilization_percent']:g}"
    return f"{busiest} and min(count_over_time({chosen})) >= {seen}"


def measured(shape: Shape) -> dict[str, object]:
    """What a pool registers about where the use of its machines is published; nothing where nobody does."""
    runtime = runtime_of(shape)
    if runtime not in BUSY:
        return {}
    metric, machine = BUSY[runtime]
    return {"measured": {"source": "prometheus", "metric": metric, "per": "accelerator", "machine": machine}}


def queue_flavor(
    args: Mapping[str, Any], shape: Shape, *, queue: str, beside: Mapping[str, str] | None = None
) -> dict[str, object]:
    """The pool as a queue sees it: its most machines are the quota; `beside` is what else of each pods ask for."""
    return {
        "name": queue,
        "node_labels": {"sizewell/pool": queue},
        "resource": RESOURCES[runtime_of(shape)],
        "accelerators_per_machine": shape.accelerators,
        "cpus_per_machine": shape.vcpus or UNCOUNTED,
        "memory_gib_per_machine": (shape.memory_bytes or UNCOUNTED * 2**30) // 2**30,
        "machines": args["nodes_max"],
        "tolerations": tolerations(args["capacity_mode"]),
        **({"beside_per_machine": dict(beside)} if beside else {}),
    }


UNCOUNTED = 10_000  # where the catalog has no number, GPUs alone bound the queue
