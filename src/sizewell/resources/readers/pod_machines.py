"""Machines that pods hold: what stands on a pool of the program keeps its machines running, whatever its minimum is.

Pods are put on the pools that take them (labels, taints, cluster) and fit (accelerators, CPU, memory), the largest
first, each on the first machine with room. A pool has at least the machines that this takes, up to its maximum, where
something adds machines for pods that wait. Pods of a registered component are in its own hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final
from weakref import WeakKeyDictionary

from sizewell.resources import azure_nodes, gcp_nodes
from sizewell.resources.graph import Graph
from sizewell.resources.kinds import OF_KUBERNETES, kind_of
from sizewell.resources.readers import devices
from sizewell.resources.readers.autoscalers import eks_autoscaler
from sizewell.resources.readers.common import accelerator_of, shape_of
from sizewell.resources.readers.pods import workloads
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size
from sizewell.resources.values import (
    Count,
    Flag,
    canonical,
    cloud_of,
    contains_unknown,
    count,
    flag,
    get,
    items,
    number,
)
from sizewell.sizing.catalog import load

NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_EKS: Final = "aws:eks/cluster:Cluster"
_CLUSTERS: Final = (gcp_nodes.CLUSTER, _EKS, azure_nodes.MANAGED_CLUSTER)
_ELSEWHERE: Final = "elsewhere"
_MOST_PODS: Final = 5_000  # of one specification; no pool has machines for more
_UNITS: Final = {
    "m": Decimal("0.001"), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Machines that pods hold of one pool: at the minimums of their autoscalers, and as they are stated."""

    least: Count
    wanted: Count


@dataclass(slots=True, kw_only=True)
class _Pool:
    key: tuple[str, int]
    cloud: str
    cluster: str  # URN, "" for one outside of the plan
    kind: str  # machine type, "" where it is not known
    accelerator: str
    accelerators: Decimal | None  # None where nobody knows how many
    vcpus: Decimal | None
    memory: Decimal | None
    labels: Mapping[str, object] | Unknown
    taints: tuple[tuple[str, str], ...] | Unknown
    own_name: object
    spot: Flag
    size: Size
    grows: Flag
    machines: list[_Machine] = field(default_factory=list)

    @property
    def most(self) -> int | None:
        """How many machines it may have; None where there is no limit."""
        size = self.size
        bound = size.most if self.grows is not False else size.wanted if size.wanted is not None else size.least
        return bound if isinstance(bound, int) else None


@dataclass(slots=True)
class _Machine:
    accelerators: Decimal
    vcpus: Decimal
    memory: Decimal
    apart: set[int] = field(default_factory=set)  # pods of which each wants a machine without the others


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pod:
    urn: str
    spec: Any
    least: Count
    wanted: Count
    asks: bool  # for machines with accelerators
    accelerators: Decimal  # whole devices
    vcpus: Decimal
    memory: Decimal
    apart: bool
    cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the pods of a program stand."""

    pools: Mapping[tuple[str, int], Held] = field(default_factory=dict)
    left: frozenset[str] = frozenset()  # resources with pods for which no pool of the program has room
    jobs: frozenset[str] = frozenset()  # those whose pods have machines started for them, and end


_PLACED: WeakKeyDictionary[Graph, Placement] = WeakKeyDictionary()


def raised(graph: Graph, resource: RecordedResource, size: Size, index: int = 0) -> Size:
    """The size of a pool with the machines that pods hold of it."""
    held = placement(graph).pools.get((resource.urn, index))
    if held is None:
        return size
    least, wanted = _more(size.least, held.least), size.wanted
    if isinstance(held.wanted, Unknown):
        wanted = UNKNOWN
    elif held.wanted:
        wanted = _more(size.least if size.wanted is None else size.wanted, held.wanted)
    return replace(size, least=least, wanted=wanted)


def _more(stated: Count, held: Count) -> Count:
    if isinstance(held, int) and isinstance(stated, int):
        return max(held, stated)
    return held if stated is None and held else stated


def placement(graph: Graph) -> Placement:
    """Where the pods of a plan stand, worked out once."""
    if graph not in _PLACED:
        _PLACED[graph] = _placed(graph)
    return _PLACED[graph]


def _placed(graph: Graph) -> Placement:
    resources = [each for each in graph.plan.resources if each.custom and each.type.startswith(OF_KUBERNETES)]
    if not resources:
        return Placement()
    pools = list(_pools(graph))
    pods: list[_Pod] = []
    jobs: list[_Pod] = []
    for each in resources:
        if graph.registration(each) is not None:
            continue
        for ends, pod in _pods(graph, each):
            (jobs if ends else pods).append(pod)
    pods.sort(key=lambda pod: (pod.accelerators, pod.vcpus, pod.memory), reverse=True)
    held: dict[tuple[str, int], Held] = {}
    left: frozenset[str] = frozenset()
    counts: dict[str, dict[tuple[str, int], int]] = {}
    unsure: set[tuple[str, int]] = set()
    for bound in ("least", "wanted"):
        for pool in pools:
            pool.machines = []
        left = frozenset(_put(pods, pools, bound, unsure))
        counts[bound] = {pool.key: len(pool.machines) for pool in pools}
    for pool in pools:
        least = counts["least"][pool.key]
        if pool.grows is not True:  # pods stand on the machines that there are, and nothing is known to add any
            least = min(least, pool.size.wanted if isinstance(pool.size.wanted, int) else _running(pool))
        wanted: Count = UNKNOWN if pool.key in unsure else counts["wanted"][pool.key] if pool.grows is not False else 0
        if least or wanted is UNKNOWN or wanted:
            held[pool.key] = Held(least=least, wanted=wanted)
    started = {
        pod.urn for pod in jobs for pool in pools
        if pod.asks and pool.grows is not False and pool.most != 0 and _takes(pool, pod)
    }  # fmt: skip
    return Placement(pools=held, left=left, jobs=frozenset(started))


# -- which machines take them -----------------------------------------------------------------------------------------


def _put(pods: list[_Pod], pools: list[_Pool], bound: str, unsure: set[tuple[str, int]]) -> Iterator[str]:
    """Open a machine of a pool for each pod that fits on no open one; the resources for whose pods none can be."""
    for index, pod in enumerate(pods):
        fitting = sorted((pool for pool in pools if _takes(pool, pod)), key=_size_of)
        many = getattr(pod, bound)
        if many is UNKNOWN:
            unsure.update(pool.key for pool in fitting[:1] if pool.grows is not False and _weighs(pod, pool))
            continue
        if not all(_seat(index, pod, fitting) for _ in range(min(many or 0, _MOST_PODS))):
            yield pod.urn


def _seat(index: int, pod: _Pod, fitting: list[_Pool]) -> bool:
    for pool in fitting:
        for machine in pool.machines:
            if _fits(machine, pod) and not (pod.apart and index in machine.apart):
                _take(machine, pod, index)
                return True
    # Machines that run anyway come before those that are started for it.
    ordered = sorted(fitting, key=lambda pool: len(pool.machines) >= _running(pool))
    for pool in ordered:
        if pool.most is None or len(pool.machines) < pool.most:
            machine = _empty(pool)
            pool.machines.append(machine)
            _take(machine, pod, index)
            return True
    return False


def _running(pool: _Pool) -> int:
    return pool.size.least if isinstance(pool.size.least, int) else 0


def _empty(pool: _Pool) -> _Machine:
    endless = Decimal("Infinity")
    return _Machine(
        accelerators=endless if pool.accelerators is None else pool.accelerators,
        vcpus=endless if pool.vcpus is None else _allocatable(pool.vcpus),
        memory=endless if pool.memory is None else pool.memory,
    )


def _allocatable(vcpus: Decimal) -> Decimal:
    """CPUs of a machine without what its system takes: 6 % of the first, 1 % of the second, 0.5 % of the next two and
    0.25 % of the others.

    Source: cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes and the image of EKS, from memory; AKS
    takes more.

    >>> float(_allocatable(Decimal(4)))
    3.92
    """
    steps = ((1, Decimal("0.06")), (1, Decimal("0.01")), (2, Decimal("0.005")), (10**6, Decimal("0.0025")))
    taken, rest = Decimal(0), vcpus
    for width, share in steps:
        part = min(rest, Decimal(width))
        taken, rest = taken + part * share, rest - part
    return vcpus - taken


def _fits(machine: _Machine, pod: _Pod) -> bool:
    return machine.accelerators >= pod.accelerators and machine.vcpus >= pod.vcpus and machine.memory >= pod.memory


def _take(machine: _Machine, pod: _Pod, index: int) -> None:
    machine.accelerators -= pod.accelerators
    machine.vcpus -= pod.vcpus
    machine.memory -= pod.memory
    machine.apart.add(index)


def _weighs(pod: _Pod, pool: _Pool) -> bool:
    """Whether more of such pods need more machines."""
    return bool(pod.asks or pod.vcpus or pod.memory or pod.apart or not _running(pool))


def _size_of(pool: _Pool) -> tuple[object, ...]:
    """The smallest machine that does first: pods without accelerators keep off machines with some."""
    endless = Decimal("Infinity")
    return pool.accelerators or (endless if pool.accelerator else Decimal(0)), pool.vcpus or endless


def _takes(pool: _Pool, pod: _Pod) -> bool:
    if pod.cluster == _ELSEWHERE or (pool.cluster and pod.cluster and pool.cluster != pod.cluster):
        return False
    if pod.asks and not pool.accelerator:
        return False
    if not _fits(_empty(pool), pod):
        return False
    return _tolerated(pool, pod) and _chosen(pool, pod.spec)


def _tolerated(pool: _Pool, pod: _Pod) -> bool:
    """Whether nothing keeps a pod off a pool. What asks for accelerators is let onto machines with some: GKE and the
    plugins of others add that toleration, and a pod without it never starts.
    """
    tolerations = items(get(pod.spec, "tolerations"))
    if isinstance(pool.taints, Unknown) or isinstance(tolerations, Unknown):
        return True
    for key, value in pool.taints:
        ours = any(
            each is UNKNOWN
            or (get(each, "key") in (key, None) and get(each, "operator", default="Equal") == "Exists")
            or (get(each, "key") == key and str(get(each, "value", default="")) == value)
            for each in tolerations
        )
        if not ours and not (pod.asks and devices.is_device(key)):
            return False
    return True


def _chosen(pool: _Pool, spec: Any) -> bool:
    """Whether a pool has the labels that a pod requires; one that nobody knows it may have."""
    selector = get(spec, "nodeSelector")
    if isinstance(selector, Mapping) and not all(
        _has(pool, str(key), "In", (value,)) for key, value in selector.items()
    ):
        return False
    required = get(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = items(get(required, "nodeSelectorTerms"))
    if isinstance(terms, Unknown) or not terms:
        return True
    return any(_meets(pool, term) for term in terms)


def _meets(pool: _Pool, term: Any) -> bool:
    stated = items(get(term, "matchExpressions"))
    if isinstance(stated, Unknown):
        return True
    for each in stated:
        values = items(get(each, "values"))
        if isinstance(values, tuple) and not _has(pool, str(get(each, "key")), str(get(each, "operator")), values):
            return False
    return True


_NAMES: Final = (  # labels that hold a pool's own name
    "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "agentpool", "kubernetes.azure.com/agentpool",
)  # fmt: skip
_TYPES: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_GKE_KIND: Final = "cloud.google.com/gke-accelerator"
_UNSTATED: Final = ("karpenter.", "eks.amazonaws.com/compute-type")  # of machines that no pool is stated for
_SPOT: Final = {
    "cloud.google.com/gke-spot": ("true", "false"),
    "eks.amazonaws.com/capacityType": ("SPOT", "ON_DEMAND"),
    "kubernetes.azure.com/scalesetpriority": ("spot", "regular"),
}
_ANYBODYS: Final = ("kubernetes.io/", "topology.", "failure-domain.", "kubernetes.azure.com/", "cloud.google.com/")


def _has(pool: _Pool, label: str, operator: str, values: tuple[Any, ...]) -> bool:
    value = _label(pool, label)
    if value is UNKNOWN or UNKNOWN in values:
        return True
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    if operator == "NotIn":
        return str(value) not in map(str, values)
    if operator != "In":
        return value is not None
    if label == _GKE_KIND and value is not None:
        return any(_same_accelerator(str(value), str(each)) for each in values)
    return value is not None and str(value) in map(str, values)


def _label(pool: _Pool, label: str) -> object:
    """The value of a label of a pool's machines; None where they have none, UNKNOWN where nobody knows."""
    if isinstance(pool.labels, Unknown):
        return UNKNOWN
    if label in pool.labels:
        return pool.labels[label]
    if label in _NAMES:
        return pool.own_name
    if label in _TYPES:
        return pool.kind or UNKNOWN
    if label in _SPOT:
        return UNKNOWN if pool.spot is UNKNOWN else _SPOT[label][0 if pool.spot else 1]
    if label.startswith(_UNSTATED):
        return None
    if label == _GKE_KIND:
        return pool.accelerator or None
    if devices.names_accelerators(label):
        return UNKNOWN if pool.accelerator else None
    return UNKNOWN if label.startswith(_ANYBODYS) or ".kubernetes.io/" in label else None


def _same_accelerator(own: str, wanted: str) -> bool:
    """Whether two names are of one accelerator, as far as the first word of each tells.

    >>> _same_accelerator("l4", "nvidia-l4"), _same_accelerator("h100-sxm", "nvidia-h100-80gb")
    (True, True)
    >>> _same_accelerator("t4", "nvidia-l4")
    False
    """
    first = [name.lower().removeprefix("nvidia-").removeprefix("tesla-").partition("-")[0] for name in (own, wanted)]
    return first[0] == first[1] or own == "unknown accelerator"


# -- pods -------------------------------------------------------------------------------------------------------------


def _pods(graph: Graph, resource: RecordedResource) -> Iterator[tuple[bool, _Pod]]:
    for each in workloads(resource, graph):
        if each.everywhere or each.running == 0 or isinstance(each.spec, Unknown):
            continue
        asked = devices.asked(each.spec, graph)
        cpu, memory = (_requested(each.spec, name) for name in ("cpu", "memory"))
        if isinstance(asked, Unknown):
            continue
        yield (
            each.ends,
            _Pod(
                urn=resource.urn,
                spec=each.spec,
                least=each.least,
                wanted=each.wanted,
                asks=bool(asked),
                accelerators=Decimal(0 if devices.shared(each.spec) or devices.uses_unasked(each.spec) else asked or 0),
                vcpus=cpu,
                memory=memory,
                apart=_apart(each.spec),
                cluster=_cluster_of(graph, resource),
            ),
        )


def _requested(spec: Any, name: str) -> Decimal:
    """What the containers of a pod ask for; a limit without a request is one."""
    own = items(get(spec, "containers"))
    total = Decimal(0)
    for container in own if isinstance(own, tuple) else ():
        stated = get(container, "resources", "requests", name, default=get(container, "resources", "limits", name))
        total += _amount(stated)
    return total


def _amount(stated: object) -> Decimal:
    """A quantity of Kubernetes; 0 for what is not known.

    >>> _amount("500m"), _amount("4Gi"), _amount(2), _amount(UNKNOWN)
    (Decimal('0.500'), Decimal('4294967296'), Decimal('2'), Decimal('0'))
    """
    if stated is None or isinstance(stated, Unknown):
        return Decimal(0)
    written = str(stated)
    unit = next((each for each in sorted(_UNITS, key=len, reverse=True) if written.endswith(each)), "")
    value = number(written.removesuffix(unit))
    return value * _UNITS.get(unit, Decimal(1)) if isinstance(value, Decimal) else Decimal(0)


def _apart(spec: Any) -> bool:
    """Whether each of its pods wants a machine without the others."""
    required = items(get(spec, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"))
    return isinstance(required, tuple) and any(
        get(each, "topologyKey") == "kubernetes.io/hostname" for each in required
    )


def _cluster_of(graph: Graph, resource: RecordedResource) -> str:
    """The cluster of the plan that a resource is installed into; `_ELSEWHERE` for another, "" where nothing says it."""
    provider = graph.provider(resource)
    stated = None if provider is None else provider.inputs.get("kubeconfig")
    if provider is None or stated is None:
        return ""
    named = graph.referenced(provider, "kubeconfig", *_CLUSTERS)
    if isinstance(named, tuple) and named:
        return named[0].urn
    if contains_unknown(stated) or provider.property_dependencies.get("kubeconfig"):
        return ""
    return _ELSEWHERE


# -- pools ------------------------------------------------------------------------------------------------------------


def _pools(graph: Graph) -> Iterator[_Pool]:
    for each in graph.of(gcp_nodes.NODE_POOL):
        clusters = graph.referenced(each, "cluster", gcp_nodes.CLUSTER)
        cluster = clusters[0] if isinstance(clusters, tuple) and clusters else None
        size = gcp_nodes.pool_size(each, gcp_nodes.pool_zones(each, cluster))
        yield _gke(each, 0, each.inputs, size, "" if cluster is None else cluster.urn)
    for each in graph.of(gcp_nodes.CLUSTER):
        if flag(each.inputs.get("removeDefaultNodePool")) is True or flag(each.inputs.get("enableAutopilot")) is True:
            continue
        inline = items(each.inputs.get("nodePools"))
        for index, pool in enumerate(inline if isinstance(inline, tuple) else ()):
            if isinstance(pool, Mapping):
                alone = replace(each, inputs=pool)
                yield _gke(each, index, pool, gcp_nodes.pool_size(alone, gcp_nodes.pool_zones(alone, each)), each.urn)
        if inline == ():
            least = gcp_nodes.pool_size(
                replace(each, inputs={**each.inputs, "autoscaling": None}), gcp_nodes.pool_zones(each)
            )
            yield _gke(each, 0, {"nodeConfig": each.inputs.get("nodeConfig")}, least, each.urn)
    for each in graph.of(NODE_GROUP):
        yield _eks(graph, each)
    for each in graph.of(azure_nodes.AGENT_POOL):
        clusters = graph.referenced(each, "resourceName", azure_nodes.MANAGED_CLUSTER)
        yield _aks(each, 0, each.inputs, clusters[0].urn if isinstance(clusters, tuple) and clusters else "")
    for each in graph.of(azure_nodes.MANAGED_CLUSTER):
        profiles = items(each.inputs.get("agentPoolProfiles"))
        for index, profile in enumerate(profiles if isinstance(profiles, tuple) else ()):
            yield _aks(each, index, profile, each.urn)


def _gke(resource: RecordedResource, index: int, inputs: Mapping[str, Any], size: Size, cluster: str) -> _Pool:
    config, scaling = get(inputs, "nodeConfig"), get(inputs, "autoscaling")
    machine = gcp_nodes.node_machine(config)
    added = machine.attached if isinstance(machine.attached, tuple) else ()
    name = next((str(get(each, "type")) for each in added), "")
    many = next((number(get(each, "count", default=1)) for each in added), None)
    taints = items(get(config, "taints"))
    return _pool(
        resource, index, "" if isinstance(machine.kind, Unknown) else machine.kind, size, cluster,
        labels=get(config, "labels", default={}),
        taints=taints if isinstance(taints, Unknown) else tuple(
            (str(get(each, "key")), str(get(each, "value", default="")))
            for each in taints if not str(get(each, "effect")).upper().startswith("PREFER")
        ) + (() if not _accelerated(resource, machine.kind, name) else (("nvidia.com/gpu", "present"),)),
        own_name=get(inputs, "name", default=UNKNOWN),
        spot=UNKNOWN if isinstance(machine.market, Unknown) else machine.market == "spot",
        grows=UNKNOWN if scaling is UNKNOWN else scaling is not None,
        attached=(name, many if isinstance(many, Decimal) else None),
    )  # fmt: skip


def _accelerated(resource: RecordedResource, kind: object, attached: str) -> bool:
    """Whether GKE taints the machines of a pool by itself: those with GPUs."""
    return bool(attached) or (
        isinstance(kind, str) and accelerator_of(load(), cloud_of(resource.type), (kind,))[0] != ""
    )


def _eks(graph: Graph, resource: RecordedResource) -> _Pool:
    from sizewell.resources import aws_nodes

    scaling, taints = resource.inputs.get("scalingConfig"), items(resource.inputs.get("taints"))
    nodes = aws_nodes.node_group_nodes(graph, resource)
    clusters = graph.referenced(resource, "clusterName", _EKS)
    least, wanted, most = (count(get(scaling, key)) for key in ("minSize", "desiredSize", "maxSize"))
    return _pool(
        resource, 0, nodes.types[0] if isinstance(nodes.types, tuple) and nodes.types else "",
        Size(least=least, wanted=wanted, most=most),
        clusters[0].urn if isinstance(clusters, tuple) and clusters else "",
        labels=get(resource.inputs, "labels", default={}),
        taints=taints if isinstance(taints, Unknown) else tuple(
            (str(get(each, "key")), str(get(each, "value", default="")))
            for each in taints if not str(get(each, "effect")).upper().startswith("PREFER")
        ),
        own_name=get(resource.inputs, "nodeGroupName", default=UNKNOWN),
        spot=UNKNOWN if isinstance(nodes.market, Unknown) else nodes.market == "spot",
        grows=eks_autoscaler(graph, resource),
    )  # fmt: skip


def _aks(resource: RecordedResource, index: int, profile: Any, cluster: str) -> _Pool:
    machine = azure_nodes.agent_machine(profile)
    stated = items(get(profile, "nodeTaints"))
    taints = stated if isinstance(stated, Unknown) else tuple(
        (str(each).partition("=")[0], str(each).partition("=")[2].partition(":")[0])
        for each in stated if each is not UNKNOWN and not str(each).endswith(":PreferNoSchedule")
    )  # fmt: skip
    spot: Flag = UNKNOWN if isinstance(machine.market, Unknown) else machine.market == "spot"
    if spot is True and isinstance(taints, tuple):
        taints += (("kubernetes.azure.com/scalesetpriority", "spot"),)
    return _pool(
        resource, index, "" if isinstance(machine.kind, Unknown) else machine.kind,
        azure_nodes.agent_size(profile), cluster,
        labels=get(profile, "nodeLabels", default={}),
        taints=taints,
        own_name=get(profile, "agentPoolName", default=get(profile, "name", default=UNKNOWN)),
        spot=spot,
        grows=flag(get(profile, "enableAutoScaling")),
    )  # fmt: skip


def _pool(
    resource: RecordedResource,
    index: int,
    kind: str,
    size: Size,
    cluster: str,
    *,
    attached: tuple[str, Decimal | None] = ("", None),
    **stated: Any,
) -> _Pool:
    cloud, catalog = cloud_of(resource.type), load()
    shape = shape_of(catalog, cloud, kind)
    accelerator, many = accelerator_of(catalog, cloud, (kind,)) if kind else (UNKNOWN, UNKNOWN)
    if attached[0]:
        accelerator, many = attached[0], None if attached[1] is None else int(attached[1])
    return _Pool(
        key=(resource.urn, index),
        cloud=cloud,
        cluster=cluster,
        kind=kind,
        accelerator="unknown accelerator" if isinstance(accelerator, Unknown) else accelerator,
        accelerators=Decimal(many) if isinstance(many, int) else None,
        vcpus=None if shape is None or shape.vcpus is None else Decimal(shape.vcpus),
        memory=None if shape is None or shape.memory_bytes is None else Decimal(shape.memory_bytes),
        size=size,
        **stated,
    )


def starters(graph: Graph) -> str:
    """What starts machines for pods that find no room, beside the pools that are stated; "" where nothing does."""
    for each in sorted(graph.plan.resources, key=lambda each: each.name):  # the engine tells them in no fixed order
        if each.type.startswith(OF_KUBERNETES) and (row := kind_of(each.type)) is not None and row.brings == "machines":
            return f"{canonical(each.type).rsplit(':', 1)[-1]} {each.name}"
    for each in graph.of(_EKS):
        if flag(get(each.inputs, "computeConfig", "enabled")) is True:
            return "EKS Auto Mode"
    for each in graph.of(gcp_nodes.CLUSTER):
        if flag(get(each.inputs, "clusterAutoscaling", "enabled")) is True:
            return "node auto-provisioning of GKE"
    return ""
