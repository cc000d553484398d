"""Nodes of clusters: taints, drivers, repair and upgrades, templates, and the pool that runs the cluster itself."""

from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import (
    Parameter,
    Parameters,
    StackVerdicts,
    Undetermined,
    Verdict,
    Violation,
    forbid,
    require,
    rule,
)
from sizewell.resources.gcp_nodes import CLUSTER, NODE_POOL
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Pool, StackFacts
from sizewell.resources.values import flag, get, items
from sizewell.sizing.units import plural

_NODE_POOLS: Final = (
    "gcp:container/nodePool:NodePool",
    "azure-native:containerservice:AgentPool",
    "aws:eks/nodeGroup:NodeGroup",
)


@rule(
    "accelerator-taint",
    area="correctness",
    subject="pools",
    prevents="small pods that keep accelerator nodes running",
    level="advisory",
    types=_NODE_POOLS,
)
def accelerator_taint(pool: Pool, _: Parameters) -> Verdict:
    """Accelerator nodes are tainted: any other pod that lands there keeps them from scaling down.

    >>> from sizewell.policy.examples import pool
    >>> bare = pool(type="azure-native:containerservice:AgentPool", cloud="azure", accelerator="h100-sxm")
    >>> accelerator_taint(bare, {}).fix
    'taint the nodes (nvidia.com/gpu, google.com/tpu or sku=gpu, NoSchedule)'
    """
    if pool.accelerated is False:
        return None
    taints = items(
        get(
            pool.inputs,
            "nodeConfig",
            "taints",
            default=get(pool.inputs, "nodeTaints", default=get(pool.inputs, "taints")),
        )
    )
    if isinstance(taints, Unknown) or isinstance(pool.accelerated, Unknown):
        return Undetermined("the taints")
    if taints or (pool.cloud == "azure" and pool.market == "spot"):  # AKS taints its spot machines by itself
        return None
    return Violation(
        "without a taint any pod can be scheduled on these nodes and keep them from scaling down",
        "taint the nodes (nvidia.com/gpu, google.com/tpu or sku=gpu, NoSchedule)",
    )


@rule(
    "one-driver-owner",
    area="correctness",
    subject="stack",
    prevents="GPUs that do not work because of two drivers",
)
def one_driver_owner(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """The accelerator driver comes from one place: the cloud's image or the GPU operator, never both.

    >>> from sizewell.policy.examples import pool, resource, stack
    >>> chart = resource("kubernetes:helm.sh/v3:Release", "gpu", {"chart": "gpu-operator"})
    >>> node_pool = pool(type="azure-native:containerservice:AgentPool", cloud="azure", accelerator="h100-sxm")
    >>> one_driver_owner(stack(chart, pools=(node_pool,)), {})[0][1].fix
    'set driver.enabled: false in the chart, or gpuProfile.driver: None on the pools'
    """
    verdicts: list[tuple[str, Verdict]] = []
    operators = [
        resource
        for resource in facts.graph.plan.resources
        if resource.type.startswith("kubernetes:helm.sh/") and _may_be_the_operator(resource.inputs.get("chart"))
    ]
    for operator in operators:
        enabled = flag(get(operator.inputs, "values", "driver", "enabled"), default=True)
        owners = [
            pool
            for pool in facts.pools
            if pool.accelerated is not False
            and _cloud_installs_driver(pool)
            and _may_be_together(facts, operator, pool)
        ]
        if enabled is False or not owners:
            verdicts.append((operator.urn, None))
        elif UNKNOWN in (enabled, operator.inputs.get("chart")):
            verdicts.append((operator.urn, Undetermined("driver.enabled of the chart")))
        else:
            message = (
                f"the nodes of {owners[0].name} get two drivers, the cloud's and the operator's: the GPUs do not work"
            )
            fix = "set driver.enabled: false in the chart, or gpuProfile.driver: None on the pools"
            verdicts.append((operator.urn, Violation(message, fix)))
    return verdicts


_CLUSTERS: Final = (
    "aws:eks/cluster:Cluster",
    "gcp:container/cluster:Cluster",
    "azure-native:containerservice:ManagedCluster",
)


def _may_be_together(facts: StackFacts, operator: RecordedResource, pool: Pool) -> bool:
    """Whether an operator and a pool may be in one cluster: not where the plan tells that theirs are two."""
    inside = facts.graph.provider(operator)
    machines = facts.graph.by_urn.get(pool.urn)
    if inside is None or machines is None:
        return True
    theirs, its = _clusters(facts, inside, "kubeconfig"), set[str]()
    for key in ("clusterName", "cluster", "resourceName"):
        its |= _clusters(facts, machines, key)
    return not theirs or not its or bool(theirs & its)


def _clusters(facts: StackFacts, resource: RecordedResource, prop: str) -> set[str]:
    referenced = facts.graph.referenced(resource, prop, *_CLUSTERS)
    return {cluster.urn for cluster in referenced} if isinstance(referenced, tuple) else set()


def _may_be_the_operator(chart: Any) -> bool:
    return chart is UNKNOWN or "gpu-operator" in str(chart)


def _cloud_installs_driver(pool: Pool) -> bool:
    """Whether the cloud puts its own driver on the nodes."""
    if pool.type == "azure-native:containerservice:AgentPool":
        return bool(get(pool.inputs, "gpuProfile", "driver", default="Install") != "None")
    if pool.type == "gcp:container/nodePool:NodePool":
        driver = get(
            pool.inputs, "nodeConfig", "guestAccelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion"
        )
        return driver not in {"INSTALLATION_DISABLED", None}
    if pool.type == "aws:eks/nodeGroup:NodeGroup":
        return "NVIDIA" in str(pool.inputs.get("amiType", ""))
    return False


_EKS_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"


@rule(
    "node-auto-repair",
    area="correctness",
    subject="pools",
    prevents="broken nodes that are still billed",
    level="advisory",
    clouds=("gcp", "aws"),
    types=("gcp:container/nodePool:NodePool", _EKS_NODE_GROUP),
)
def node_auto_repair(pool: Pool, _: Parameters) -> Verdict:
    """A broken node is replaced automatically; otherwise it is billed and does nothing.

    >>> from sizewell.policy.examples import pool
    >>> node_auto_repair(pool(accelerator="l4", inputs={"management": {"autoRepair": False}}), {}).fix
    'set management.autoRepair to true'
    """
    if pool.type == _EKS_NODE_GROUP:
        if pool.accelerated is False:
            return None
        return require(
            flag(get(pool.inputs, "nodeRepairConfig", "enabled")),
            message="a machine with a broken accelerator is billed until somebody notices",
            fix="set nodeRepairConfig.enabled to true",
            unknown="node repair",
        )
    flexible = flag(get(pool.inputs, "nodeConfig", "flexStart"))
    if flexible is True:
        return None
    return require(
        flag(get(pool.inputs, "management", "autoRepair"), default=True),
        message="a broken node is billed until somebody notices",
        fix="set management.autoRepair to true",
        unknown="auto-repair",
    )


_NO_RELEASE_CHANNEL: Final = (None, "", "UNSPECIFIED")  # no release channel


@rule(
    "gke-auto-upgrade",
    area="correctness",
    subject="stack",
    prevents="pools that the cloud rejects",
    clouds=("gcp",),
)
def gke_auto_upgrade(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A node pool of a cluster on a release channel is upgraded with it: the API refuses one that is not.

    >>> from sizewell.policy.examples import resource, stack
    >>> on = resource("gcp:container/cluster:Cluster", "k8s", {"name": "k8s", "releaseChannel": {"channel": "REGULAR"}})
    >>> off = {"cluster": "k8s", "management": {"autoUpgrade": False}}
    >>> gke_auto_upgrade(stack(on, resource("gcp:container/nodePool:NodePool", "gpu", off)), {})[0][1].fix
    'set management.autoUpgrade to true; a maintenance exclusion protects long jobs from upgrades'
    """
    verdicts: list[tuple[str, Verdict]] = []
    nameless = any(cluster.inputs.get("name") is UNKNOWN for cluster in facts.graph.of(CLUSTER))
    for pool in facts.graph.of(NODE_POOL):
        upgraded = get(pool.inputs, "management", "autoUpgrade")
        clusters = facts.graph.referenced(pool, "cluster", CLUSTER)
        if upgraded is not False and upgraded is not UNKNOWN:
            verdicts.append((pool.urn, None))
        elif isinstance(clusters, Unknown) or (nameless and not clusters):
            verdicts.append((pool.urn, Undetermined("its cluster")))
        else:
            channels = [get(cluster.inputs, "releaseChannel", "channel") for cluster in clusters]
            if not any(channel is UNKNOWN or channel not in _NO_RELEASE_CHANNEL for channel in channels):
                verdicts.append((pool.urn, None))
            elif upgraded is UNKNOWN or UNKNOWN in channels:
                verdicts.append((pool.urn, Undetermined("auto-upgrade and the release channel")))
            else:
                message = f"a cluster on channel {channels[0]} rejects a pool without auto-upgrade"
                fix = "set management.autoUpgrade to true; a maintenance exclusion protects long jobs from upgrades"
                verdicts.append((pool.urn, Violation(message, fix)))
    return verdicts


_AUTOSCALING_GROUP: Final = "aws:autoscaling/group:Group"


@rule(
    "template-conflict",
    area="correctness",
    subject="pools",
    prevents="groups that are rejected after their cluster has been built",
    clouds=("aws",),
    types=(_EKS_NODE_GROUP, _AUTOSCALING_GROUP, "aws:ec2/fleet:Fleet"),
)
def template_conflict(pool: Pool, _: Parameters) -> Verdict:
    """A launch template does not repeat settings of its group: EKS, fleets and mixed groups refuse both.

    >>> from sizewell.policy.examples import pool
    >>> twice = {"type": "aws:eks/nodeGroup:NodeGroup", "inputs": {"instanceTypes": ["g6.xlarge"]}}
    >>> template_conflict(pool(machine={"instanceType": "g6.xlarge"}, template_kind="g6.xlarge", **twice), {}).fix
    'remove instanceType from the launch template'
    """
    if not isinstance(pool.machine, Unknown) and not pool.machine:
        return None
    machine, inputs = pool.machine, pool.inputs
    market = get(machine, "instanceMarketOptions", "marketType")
    wrong: list[tuple[str, str, str]] = []
    if pool.type == _EKS_NODE_GROUP:
        said = (pool.template_kind, market, get(machine, "iamInstanceProfile"), pool.start_script)
        if UNKNOWN in (machine, *said) or inputs.get("instanceTypes") is UNKNOWN:
            return Undetermined("the launch template")
        script = "" if isinstance(pool.start_script, Unknown) else pool.start_script
        own_image = get(machine, "imageId") is not None or str(inputs.get("amiType", "AL2")).startswith("BOTTLEROCKET")
        wrong = [
            ("instanceType", "the machine type", "instanceType")
            if pool.template_kind and inputs.get("instanceTypes")
            else ("", "", ""),
            ("instanceMarketOptions", "the market", "instanceMarketOptions") if market == "spot" else ("", "", ""),
            ("iamInstanceProfile", "the role", "iamInstanceProfile") if said[2] is not None else ("", "", ""),
            ("userData", "a start script that is not a MIME document", "userData")
            if script and "mime-version" not in script.lower() and not own_image
            else ("", "", ""),
        ]
    elif pool.type != _AUTOSCALING_GROUP or inputs.get("mixedInstancesPolicy") is not None:
        if machine is UNKNOWN or market is UNKNOWN:
            return Undetermined("the launch template")
        wrong = [("instanceMarketOptions", "the market", "instanceMarketOptions")] if market == "spot" else []
    for key, what, prop in wrong:
        if key:
            message = f"the launch template names {what}, which belongs in its group: the group is rejected"
            return Violation(message, f"remove {prop} from the launch template")
    return None


_SYSTEM_POOLS: Final = (
    "gcp:container/nodePool:NodePool",
    "azure-native:containerservice:AgentPool",
    "azure-native:containerservice:ManagedCluster",
    "aws:eks/nodeGroup:NodeGroup",
)


@rule(
    "system-pool-minimum",
    area="spend",
    subject="pools",
    prevents="system machines that are billed at night and on weekends",
    level="advisory",
    types=_SYSTEM_POOLS,
    parameters={
        "nodes": Parameter(
            default={"dev": 2, "staging": 3, "prod": 6},
            schema={"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
            meaning="largest minimum of machines without accelerators, by environment",
        )
    },
)
def system_pool_minimum(pool: Pool, parameters: Parameters) -> Verdict:
    """System machines run all the time: in development one or two are enough.

    >>> from sizewell.policy.examples import pool
    >>> nodes = {"type": "gcp:container/nodePool:NodePool", "environment": "dev", "nodes_min": 5}
    >>> system_pool_minimum(pool(**nodes), {"nodes": {"dev": 2}}).fix
    'set the minimum size to 2, or raise parameters.system-pool-minimum.nodes'
    """
    if pool.accelerated is True or pool.nodes_min in (0, None):
        return None
    if isinstance(pool.environment, Unknown):
        return Undetermined("the environment")
    limit = parameters["nodes"].get(pool.environment)
    if limit is None:
        return None
    if isinstance(pool.nodes_min, Unknown):
        return Undetermined("the minimum size")
    if (pool.nodes_min or 0) <= limit:
        return None
    if pool.accelerated is UNKNOWN:
        return Undetermined("the machine type")
    kept = plural(pool.nodes_min or 0, "machine")
    return Violation(
        f"a {pool.environment} stack is billed for {kept} without accelerators every night",
        f"set the minimum size to {limit}, or raise parameters.system-pool-minimum.nodes",
    )


@rule(
    "system-pool-on-spot",
    area="correctness",
    subject="stack",
    prevents="accelerators that wait for their scheduler",
)
def system_pool_on_spot(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """The pool that runs the schedulers and agents is not on spot: otherwise accelerators wait for it, and are billed.

    >>> from sizewell.policy.examples import pool, stack
    >>> system = pool(type="gcp:container/nodePool:NodePool", market="spot", kinds=("e2-standard-4",))
    >>> system_pool_on_spot(stack(pools=(system, pool(accelerator="l4"))), {})[0][1].fix
    'run the system pool on demand'
    """
    if not any(pool.accelerated is not False for pool in facts.pools):
        return []
    verdicts: list[tuple[str, Verdict]] = []
    for pool in facts.pools:
        if pool.type not in _NODE_POOLS or pool.accelerated is True or pool.workload_kind not in ("", UNKNOWN):
            continue  # a workload's own machines without accelerators run no schedulers
        if pool.accelerated is UNKNOWN and pool.market in ("spot", UNKNOWN):
            verdicts.append((pool.urn, Undetermined("its machine type")))
            continue
        verdict = forbid(
            UNKNOWN if pool.market is UNKNOWN else pool.market == "spot",
            message="a spot interruption removes schedulers and agents while the accelerators are billed",
            fix="run the system pool on demand",
            unknown="the market",
        )
        verdicts.append((pool.urn, verdict))
    return verdicts
