"""Pools: what every cloud's machines have in common, then one module per cloud for what it says in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables, logs
from sizewell.resources.graph import Graph
from sizewell.resources.readers import pods
from sizewell.resources.readers.cloud import PoolReaders
from sizewell.resources.readers.common import accelerator_of, any_contains, base, machine_facts
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import Flag, canonical, cloud_of, count, either, flag, get, items, text

_METRIC_AGENTS: Final = ("dcgm", "gpu-operator", "neuron-monitor")
_IN_STACK: Final = ("kubernetes:helm.sh", "kubernetes:apps/", "kubernetes:core/")
_ADDON: Final = "aws:eks/addon:Addon"
_CONTAINER_INSIGHTS: Final = "amazon-cloudwatch-observability"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A row of container_insights.csv: a type of machine that CloudWatch's add-on measures by itself."""

    exporter: str
    instance_type: str
    source: str


MEASURED: Final = frozenset(
    row.instance_type for row in csvtables.read(Measured, Path(__file__).parent / "data" / "container_insights.csv")
)


def pools(
    graph: Graph,
    catalog: object,
    readers: PoolReaders,
    *,
    checkpoints_in_stack: Flag,
) -> tuple[Pool, ...]:
    agents = _agents_in_stack(graph)
    read_pools: list[Pool] = []
    for resource in graph.plan.resources:
        reader = readers.get(canonical(resource.type))
        if reader is None:
            continue
        pools_of_it = [
            _pool(graph, catalog, resource, details, checkpoints=checkpoints_in_stack, agents=agents)
            for details in reader(graph, resource)
        ]
        logs.detail(__name__, "%s: read as %d pools by %s", resource.urn, len(pools_of_it), reader.__name__)
        read_pools += pools_of_it
    return tuple(read_pools)


def _agents_in_stack(graph: Graph) -> Agents:
    """What in the stack reports what accelerators of a Kubernetes cluster do.

    CloudWatch's add-on and chart put their exporters on the instance types that they list, unless they are told where.
    """
    everywhere: Flag = False
    listed = False
    for resource in graph.plan.resources:
        if resource.type != _ADDON and not resource.type.startswith(_IN_STACK):
            continue
        if any_contains(resource.inputs, (_CONTAINER_INSIGHTS,)):
            settings = [resource.inputs.get(key) for key in ("configurationValues", "values")]
            told = any("affinity" in str(setting) for setting in settings)
            everywhere = either(everywhere, UNKNOWN if UNKNOWN in settings else told)
            listed = True
        elif any_contains(resource.inputs, _METRIC_AGENTS):
            everywhere = True
    return Agents(everywhere=everywhere, listed=listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """Which pools of Kubernetes clusters something in the stack measures: all, or those of listed types."""

    everywhere: Flag
    listed: bool

    def of(self, kinds: Any, added: Any) -> Flag:
        """Whether machines of these types are measured; `added` names an agent that the cluster has already.

        What an add-on outside of the plan was told is not known.
        """
        there: Flag = UNKNOWN if isinstance(added, Unknown) else bool(added)
        if not self.listed and added != _CONTAINER_INSIGHTS:
            return either(self.everywhere, there)
        if isinstance(kinds, Unknown):
            return either(self.everywhere, UNKNOWN)
        seen = MEASURED.issuperset(kinds)
        return either(self.everywhere, seen or (UNKNOWN if added == _CONTAINER_INSIGHTS else there))


def _pool(
    graph: Graph,
    catalog: Any,
    resource: RecordedResource,
    details: dict[str, Any],
    *,
    checkpoints: Flag,
    agents: Agents,
) -> Pool:
    common = base(graph, resource)
    registration = common["registration"]
    kinds = details.get("kinds", ())
    attached = details.pop("attached_accelerator", "")
    on_kubernetes = details.pop("kubernetes", False)
    serves = details.pop("serves", False)
    accelerator, per_machine = accelerator_of(catalog, cloud_of(resource.type), kinds)
    if isinstance(attached, Unknown):
        accelerator, per_machine = UNKNOWN, UNKNOWN
    elif attached:
        accelerator, per_machine = attached, None
    ours = registration if registration is not None and _is_its_own(registration, kinds) else None
    tags = details.get("tags", common["tags"])
    details.pop("tags", None)
    store = get(ours, "checkpointStore", default=get(tags, "sizewell-checkpoint-store"))
    guard = get(ours, "guard")
    market = text(get(ours, "market", default=get(tags, "sizewell-market")))
    values: dict[str, Any] = {
        **common,
        "tags": tags,
        "accelerator": accelerator,
        "accelerators": per_machine,
        **machine_facts(catalog, cloud_of(resource.type), kinds),
        "declared_market": market,
        "expiry": graph.expiries.of(registration, tags),
        "guarded": False,
        "metrics": False,
        "scheduled": False,
        "interruptible": flag(get(ours, "interruptible", default=get(tags, "sizewell-interruptible"))),
        "workload_kind": text(get(ours, "workloadKind", default=get(tags, "sizewell-workload"))),
        **_declared(graph, resource),
        **details,
    }
    values["guarded"] = either(values["guarded"], UNKNOWN if isinstance(guard, Unknown) else guard is not None)
    agent = get(ours, "metricsAgent")
    reported = agents.of(kinds, agent) if on_kubernetes else False
    if values["metrics"] is UNKNOWN and get(ours, "measured") not in (None, UNKNOWN):
        values["metrics"] = True  # a script that waits for an address; the component says what its first boot reports
    values["metrics"] = either(values["metrics"], reported)
    if values["workload_kind"] == "" and (serves if not on_kubernetes else _serve_only(graph)) is True:
        values["workload_kind"] = "inference"
    hours = get(ours, "schedule")
    values["scheduled"] = either(values["scheduled"], UNKNOWN if isinstance(hours, Unknown) else bool(hours))
    named = UNKNOWN if isinstance(store, Unknown) else bool(store)
    values["checkpoints"] = either(named, checkpoints, values.get("checkpoints", False))
    return Pool(**values)


def _serve_only(graph: Graph) -> bool:
    """Whether all pods with accelerators of the plan serve, so that nothing is lost with a machine."""
    asking = [each for each in pods.pods(graph) if each.accelerators != 0]
    return bool(asking) and all(each.serves is True for each in asking) and not pods.jobs(graph)


def _declared(graph: Graph, resource: RecordedResource) -> dict[str, object]:
    """The arguments of the component that makes the pool, which it registers as inputs."""
    owner = graph.owner(resource)
    if owner is None or owner is resource:
        return {}
    arguments = owner.inputs
    named = [arguments.get(key) for key in ("instanceType", "machineType", "vmSize", "systemType", "systemMachineType")]
    listed, zones = items(arguments.get("instanceTypes")), items(arguments.get("zones"))
    kinds = UNKNOWN if isinstance(listed, Unknown) else [kind for kind in (*named, *listed) if kind is not None]
    return {
        "declared_kinds": UNKNOWN if isinstance(kinds, Unknown) or UNKNOWN in kinds else tuple(map(str, kinds)),
        "declared_disk_gib": count(arguments.get("diskGib")),
        "declared_topology": text(arguments.get("tpuTopology")),
        "declared_zones": UNKNOWN if isinstance(zones, Unknown) else (len(zones) or None),
        "checkpoints": UNKNOWN if isinstance(arguments.get("writer"), Unknown) else arguments.get("writer") is not None,
    }


def _is_its_own(registration: Any, kinds: Any) -> bool:
    """Whether a component's statement is about these machines and not about a system pool beside them."""
    declared = registration.get("instanceType")
    return declared is None or isinstance(declared, Unknown) or isinstance(kinds, Unknown) or declared in kinds
