"""Google Cloud machines as pools: node pools, inline pools of a cluster, instances, groups, TPU VMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sizewell.resources import gcp_nodes
from sizewell.resources.gcp_nodes import CLUSTER, Machine
from sizewell.resources.graph import Graph
from sizewell.resources.readers import clocks, guards
from sizewell.resources.readers.common import ONE_MACHINE, SWITCHED_OFF, tags_within
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.schedules import least_size
from sizewell.resources.values import Count, Flag, Text, count, either, flag, get, items, text

METRIC_AGENTS: Final = ("ops-agent", "ops_agent", "dcgm")


def _attached(machine: Machine) -> Text:
    """Accelerators attached to a general machine; the machine's own are known by its type."""
    if isinstance(machine.attached, Unknown):
        return UNKNOWN
    kinds = [text(get(entry, "type")) for entry in machine.attached]
    return UNKNOWN if UNKNOWN in kinds else next((kind for kind in kinds if kind), "")


def _kinds(machine: Machine) -> tuple[str, ...] | Unknown:
    return UNKNOWN if isinstance(machine.kind, Unknown) else (machine.kind,)


def _identity(graph: Graph, owner: RecordedResource, prop: str, account: object) -> Flag:
    """Whether the machines run as the project's default service account; one made in this plan is another."""
    stated = text(account)
    if isinstance(stated, Unknown):
        return False if graph.stated(owner, prop, stated) is True else UNKNOWN
    return stated in {"", "default"} or stated.endswith("-compute@developer.gserviceaccount.com")


def _identity_of_instance(graph: Graph, owner: RecordedResource, inputs: object) -> Flag:
    """The same of a machine of one's own: without a block it has no account at all, unlike what gcloud starts.

    Source: github.com/hashicorp/terraform-provider-google/issues/14423.
    """
    account = get(inputs, "serviceAccount")
    return False if account in (None, {}) else _identity(graph, owner, "serviceAccount", get(account, "email"))


def _reservation(config: object) -> Text:
    affinity = get(config, "reservationAffinity")
    kind = text(get(affinity, "consumeReservationType", default=get(affinity, "type")))
    if isinstance(kind, Unknown):
        return UNKNOWN
    if kind == "SPECIFIC_RESERVATION":
        values = items(get(affinity, "values", default=get(affinity, "specificReservation", "values")))
        return UNKNOWN if isinstance(values, Unknown) or UNKNOWN in values else ",".join(map(str, values)) or "unnamed"
    return ""


def _node_config(graph: Graph, pool: RecordedResource, config: Any, **more: Any) -> dict[str, object]:
    machine = gcp_nodes.node_machine(config, **more)
    key = get(config, "bootDiskKmsKey")
    return {
        "machine": config,
        "kinds": _kinds(machine),
        "market": machine.market,
        "attached_accelerator": _attached(machine),
        "kubernetes": True,
        "metrics": True,  # duty cycle and GPU utilization are system metrics of GKE
        "default_identity": _identity(graph, pool, "nodeConfig", get(config, "serviceAccount")),
        "own_key": graph.stated(pool, "nodeConfig", key),
        "reserved": _reservation(config),
        "disk_gib": count(get(config, "diskSizeGb")),
    }


def _node_pool(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    clusters = graph.referenced(resource, "cluster", CLUSTER)
    cluster = clusters[0] if isinstance(clusters, tuple) and clusters else None
    zones = gcp_nodes.pool_zones(resource, cluster)
    size = gcp_nodes.pool_size(resource, zones)
    scaling = resource.inputs.get("autoscaling")
    placement = text(get(resource.inputs, "placementPolicy", "type"))
    queued = flag(get(resource.inputs, "queuedProvisioning", "enabled"))
    config = _node_config(graph, resource, resource.inputs.get("nodeConfig"), queued=queued)
    limit = get(resource.inputs, "nodeConfig", "maxRunDuration")
    private = gcp_nodes.private_nodes(resource, UNKNOWN if isinstance(clusters, Unknown) else cluster)
    topology = text(get(resource.inputs, "placementPolicy", "tpuTopology"))
    return [
        {
            **config,
            "workload_identity": False if cluster is None else _gives_identities(cluster.inputs),
            "nodes_min": size.least,
            "nodes_wanted": size.wanted,
            "nodes_max": size.most,
            "scales": either(UNKNOWN if scaling is UNKNOWN else scaling is not None, queued),
            "scheduled": UNKNOWN if limit is UNKNOWN else limit is not None,
            "placement": UNKNOWN if isinstance(placement, Unknown) else placement == "COMPACT",
            "zones": zones,
            "gang": UNKNOWN if isinstance(topology, Unknown) else topology != "",
            "public_address": UNKNOWN if private is UNKNOWN else private is not True,
        }
    ]


def _gives_identities(cluster: Mapping[str, Any]) -> Flag:
    pool = get(cluster, "workloadIdentityConfig", "workloadPool")
    return UNKNOWN if pool is UNKNOWN else bool(pool)


def _cluster(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    """Pools inside a cluster resource: the default pool unless it is removed, and inline ones."""
    if (
        flag(resource.inputs.get("removeDefaultNodePool")) is True
        or flag(resource.inputs.get("enableAutopilot")) is True
    ):
        return []
    private = flag(get(resource.inputs, "privateClusterConfig", "enablePrivateNodes"))
    public: Flag = UNKNOWN if private is UNKNOWN else not private
    inline = items(resource.inputs.get("nodePools"))
    if isinstance(inline, Unknown):
        return [{"kinds": UNKNOWN, "public_address": public}]
    pools = inline or (
        {"nodeConfig": resource.inputs.get("nodeConfig"), "initialNodeCount": get(resource.inputs, "initialNodeCount")},
    )
    details = []
    for pool in pools:
        initial: Count = get(pool, "nodeCount", default=get(pool, "initialNodeCount", default=1))
        scaling = get(pool, "autoscaling")
        details.append(
            {
                **_node_config(graph, resource, get(pool, "nodeConfig")),
                "nodes_min": get(scaling, "minNodeCount", default=initial) if scaling is not None else initial,
                "nodes_wanted": initial,
                "nodes_max": get(scaling, "maxNodeCount", default=initial) if scaling is not None else initial,
                "scales": UNKNOWN if scaling is UNKNOWN else scaling is not None,
                "public_address": public,
                "tags": tags_within(resource, get(pool, "nodeConfig", "resourceLabels")),
            }
        )
    return details


def _instance_details(graph: Graph, owner: RecordedResource, inputs: object) -> dict[str, Any]:
    machine = gcp_nodes.instance_machine(inputs)
    interfaces = items(get(inputs, "networkInterfaces"))
    public: Flag = UNKNOWN
    if isinstance(interfaces, tuple):
        public = either(*(_has_address(entry) for entry in interfaces)) if interfaces else False
    script = text(get(inputs, "metadataStartupScript", default=get(inputs, "metadata", "startup-script")))
    boot = get(inputs, "bootDisk", "kmsKeySelfLink", default=get(inputs, "disks", 0, "diskEncryptionKey"))
    limit = get(inputs, "scheduling", "maxRunDuration")
    return {
        "machine": inputs,
        "kinds": _kinds(machine),
        "market": machine.market,
        "attached_accelerator": _attached(machine),
        "public_address": public,
        "default_identity": _identity_of_instance(graph, owner, inputs),
        "start_script": script,
        "metrics": UNKNOWN if isinstance(script, Unknown) else any(name in script for name in METRIC_AGENTS),
        "own_key": graph.stated(owner, "bootDisk" if "bootDisk" in owner.inputs else "disks", boot),
        "reserved": _reservation(inputs),
        "scheduled": either(_short(limit), guards.stop_schedule(graph, owner)),
    }


def _short(limit: object) -> Flag:
    """Whether a longest run is a week at most."""
    seconds = count(get(limit, "seconds", default=limit if isinstance(limit, str) else None))
    if isinstance(limit, str) and limit.endswith("s"):
        seconds = count(limit.removesuffix("s"))
    if UNKNOWN in (limit, seconds):
        return UNKNOWN
    return isinstance(seconds, int) and seconds <= _LONGEST_RUN_S


def _has_address(interface: Any) -> Flag:
    configs = get(interface, "accessConfigs")
    return UNKNOWN if configs is UNKNOWN else configs is not None and len(configs) > 0


def _instance(graph: Graph, resource: RecordedResource) -> list[dict[str, Any]]:
    details = _instance_details(graph, resource, resource.inputs)
    return [
        {
            **details,
            **(ONE_MACHINE if gcp_nodes.instance_machine(resource.inputs).runs else SWITCHED_OFF),
            "zones": 1,
            "scheduled": either(details["scheduled"], clocks.stops(graph, resource)),
        }
    ]


def _copied(graph: Graph, resource: RecordedResource) -> list[dict[str, Any]]:
    inputs = gcp_nodes.copied_inputs(graph, resource)
    details = _instance_details(graph, resource, inputs)
    template = gcp_nodes.template_of(graph, resource)
    if isinstance(template, RecordedResource) and "serviceAccount" not in resource.inputs:
        details["default_identity"] = _identity_of_instance(graph, template, inputs)
    if resource.inputs.get("sourceMachineImage") is not None:  # what it does not state, it takes from there
        for key, fact in (("serviceAccount", "default_identity"), ("networkInterfaces", "public_address")):
            if key not in resource.inputs:
                details[fact] = UNKNOWN
    if isinstance(template, RecordedResource) and resource.inputs.get("resourcePolicies") is None:
        details["scheduled"] = either(details["scheduled"], guards.stop_schedule(graph, template))
    return [
        {
            **details,
            **(ONE_MACHINE if gcp_nodes.instance_machine(inputs).runs else SWITCHED_OFF),
            "zones": 1,
            "scheduled": either(details["scheduled"], clocks.stops(graph, resource)),
        }
    ]


_BACKENDS: Final = (
    "gcp:compute/backendService:BackendService",
    "gcp:compute/regionBackendService:RegionBackendService",
)


def _group(graph: Graph, resource: RecordedResource) -> list[dict[str, Any]]:
    template = gcp_nodes.template_of(graph, resource)
    inputs: Any = template.inputs if isinstance(template, RecordedResource) else UNKNOWN
    size = least_size(graph, resource, gcp_nodes.group_size(graph, resource))
    scalers = [graph.referring(resource, kind, "target") for kind in gcp_nodes.AUTOSCALERS]
    scales = either(*(guards.any_of(autoscalers, _scales_in) for autoscalers in scalers))
    details = _instance_details(graph, template if isinstance(template, RecordedResource) else resource, inputs)
    return [
        {
            **details,
            "scheduled": either(details["scheduled"], clocks.stops(graph, resource)),
            "nodes_min": size.least,
            "nodes_wanted": size.wanted,
            "nodes_max": size.most,
            "scales": scales,
            "serves": guards.exist(*(graph.referring(resource, kind, "backends") for kind in _BACKENDS)),
        }
    ]


def _scales_in(scaler: RecordedResource) -> Flag:
    mode = get(scaler.inputs, "autoscalingPolicy", "mode", default="ON")
    return UNKNOWN if mode is UNKNOWN else str(mode) == "ON"


def _tpu(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    inputs: object = resource.inputs
    node = get(inputs, "tpu", "nodeSpecs", 0, "node", default=inputs)
    scheduling = get(node, "schedulingConfig")
    spot = either(flag(get(scheduling, "preemptible")), flag(get(scheduling, "spot")))
    kind = text(get(node, "acceleratorType", default=get(node, "acceleratorConfig", "type")), "v2-8")
    reserved = flag(get(scheduling, "reserved"))
    return [
        {
            "machine": node,
            "kinds": UNKNOWN if isinstance(kind, Unknown) else (kind,),
            "attached_accelerator": UNKNOWN if isinstance(kind, Unknown) else f"tpu {kind}",
            "market": UNKNOWN if spot is UNKNOWN else ("spot" if spot is True else "on-demand"),
            **ONE_MACHINE,
            "metrics": True,  # the duty cycle is a system metric of TPU VMs
            "public_address": flag(get(node, "networkConfig", "enableExternalIps")),
            "default_identity": _identity(graph, resource, "serviceAccount", get(node, "serviceAccount", "email")),
            "reserved": "reserved" if reserved is True else (UNKNOWN if reserved is UNKNOWN else ""),
        }
    ]


_LONGEST_RUN_S: Final = 7 * 24 * 3600

READERS: Final = {
    gcp_nodes.NODE_POOL: _node_pool,
    CLUSTER: _cluster,
    "gcp:compute/instance:Instance": _instance,
    gcp_nodes.FROM_TEMPLATE: _copied,
    gcp_nodes.FROM_IMAGE: _copied,
    "gcp:compute/instanceGroupManager:InstanceGroupManager": _group,
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager": _group,
    "gcp:tpu/v2Vm:V2Vm": _tpu,
    "gcp:tpu/v2QueuedResource:V2QueuedResource": _tpu,
}
