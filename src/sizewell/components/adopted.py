"""A stack on a Kubernetes cluster that already exists: queues and jobs, and no machines."""

from collections.abc import Callable, Sequence
from typing import Any

import pulumi

from sizewell.components import bursting
from sizewell.components.facts import owned_args, pool_facts
from sizewell.components.kubernetes.program import build_runs
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.components.tags import physical_name
from sizewell.launch.adopted import adopted_target, kubeconfig_fault, version_fault
from sizewell.launch.target import Target, beside, machine_of
from sizewell.sizing.records.decision import Decision, Pool, Workload

UNCOUNTED = 10_000  # where the catalog has no number, accelerators alone bound the queue


def build(decision: Decision, settings: Settings) -> dict[str, object]:
    """A queue for the decision's machines, unless the cluster has one, and what the configuration says runs on them."""
    cluster, kubeconfig = settings.cluster, settings.kubeconfig
    assert cluster is not None and kubeconfig is not None  # noqa: S101, PT018  (read_settings has refused one alone)
    kubeconfig = pulumi.Output.from_input(kubeconfig).apply(_config)
    bursting.check(decision, cluster, settings.runs)
    pairs = bursting.baseline(decision, cluster)
    burst = bursting.machines(decision, cluster)
    outputs: dict[str, object] = {}
    queue = cluster.queue

    def target(workload: Workload, pool: Pool) -> Target:
        return bursting.target(decision, cluster, (workload, pool), settings, queue=queue)

    there = _there(settings, kubeconfig, _theirs(decision, pairs, settings, target))
    in_cloud = pulumi.ResourceOptions()
    if burst is not None and cluster.burst is not None:
        from sizewell.components.aws import burst as on_aws

        on_aws.check_network(decision, settings)
        in_cloud = on_aws.there(burst[1], settings, cluster.burst)
        there = pulumi.ResourceOptions.merge(there, pulumi.ResourceOptions(depends_on=in_cloud.depends_on))
    installed: tuple[str, ...] = () if cluster.operators else ("jobset", "kuberay", "lws", "keda")
    if not queue and cluster.operators:
        from sizewell.components.kubernetes.queueing import Queueing

        queue = physical_name(decision.stack, limit=40)
        flavors = [_flavor(queue, pairs, settings)]
        if burst is not None:
            flavors.append(_burst_flavor(queue, *burst))
        args: Any = {**owned_args(decision), "kubeconfig": kubeconfig, "flavors": flavors}
        args["operators"] = list(cluster.operators)
        args["namespaces"] = sorted({run.namespace for run in settings.runs.values()} or {"default"})
        outputs["queues"] = {"queues": Queueing("queues", args, there).queues}
        installed = tuple(cluster.operators)

    for workload, pool in pairs:
        if pool.adopted:
            outputs[pool_name(workload, pool)] = {"rate": _rate(decision, workload, pool)}
    if burst is not None and cluster.burst is not None:
        whose = next(pair for pair in pairs if cluster.bursts(pair[0].spec.name))
        account = (settings.namespace(whose[0].spec.name), target(*whose).account)
        reach: Any = {"kubeconfig": kubeconfig, "options": in_cloud}
        outputs |= on_aws.build(decision, *burst, settings, burst=cluster.burst, account_of_pods=account, **reach)

    return outputs | build_runs(
        decision,
        pairs,
        settings,
        where="adopted",
        kubeconfig=kubeconfig,
        target=target,
        prioritized="queues" in outputs,
        installed=installed,
        options=there,
    )


def _rate(decision: Decision, workload: Workload, pool: Pool) -> pulumi.Output[str]:
    """The machines as a line of the bill: nothing of them is made, and a preview prices their hours all the same."""
    from sizewell.components.kubernetes.adopted import AdoptedPool

    return AdoptedPool(pool_name(workload, pool), adopted_pool_args(decision, workload, pool)).instance_type


def adopted_pool_args(decision: Decision, workload: Workload, pool: Pool) -> Any:
    """What a decision says of machines that already exist."""
    return {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "place": pool.cloud,
        "region": pool.region,
        "instance_type": pool.instance_type,
        "market": pool.market,
        "nodes_min": pool.nodes_min,
        "nodes_initial": pool.nodes_initial,
        "nodes_max": pool.nodes_max,
    }


def _theirs(
    decision: Decision,
    pairs: Sequence[tuple[Workload, Pool]],
    settings: Settings,
    target: Callable[[Workload, Pool], Target],
) -> list[str]:
    """Kinds of what runs whose operator the cluster brings, and not we."""
    from sizewell.launch.kinds import KINDS
    from sizewell.launch.launch import launch_of
    from sizewell.launch.manifests import manifests

    made = [
        manifest["kind"]
        for workload, pool in pairs
        if (run := settings.runs.get(workload.spec.name))
        for manifest in manifests(launch_of(decision, workload, pool, run, target(workload, pool)))
    ]
    ours = settings.cluster is not None and bool(settings.cluster.operators)
    return sorted(kind for kind in set(made) & KINDS.keys() if not ours or kind == "InferenceService")


def _there(settings: Settings, kubeconfig: pulumi.Output[str], theirs: Sequence[str]) -> pulumi.ResourceOptions:
    """Namespaces and queue that the configuration names, and the definitions of `theirs`, read before anything is made:
    a preview ends where one is not there, or is of a version that we do not know, and says which.
    """
    import pulumi_kubernetes as kubernetes

    from sizewell.launch.kinds import KINDS, KUEUE

    spaces = sorted({run.namespace for run in settings.runs.values()})
    if not spaces:
        return pulumi.ResourceOptions()
    provider = kubernetes.Provider("what-is-there", kubeconfig=kubeconfig)
    options = pulumi.ResourceOptions(provider=provider)
    read: list[pulumi.Resource] = [
        kubernetes.core.v1.Namespace.get(f"namespace-{space}-has-to-be-there", space, options)
        for space in spaces
        if space != "default"
    ]
    if settings.cluster is not None and (queue := settings.cluster.queue):
        read += [
            kubernetes.apiextensions.CustomResource.get(
                f"queue-{queue}-has-to-be-in-{space}", KUEUE, "LocalQueue", f"{space}/{queue}", options
            )
            for space in spaces
        ]
    for kind in theirs:
        api = KINDS[kind][0]
        name = f"{kind.lower()}s.{api.partition('/')[0]}"
        definition = kubernetes.apiextensions.v1.CustomResourceDefinition.get(f"{name}-has-to-be-there", name, options)
        definition.spec.apply(lambda spec, kind=kind, api=api: _serves(kind, api, spec.versions))
        read.append(definition)
    return pulumi.ResourceOptions(depends_on=read)


def _serves(kind: str, api: str, versions: Sequence[Any]) -> None:
    """RunError where the cluster's definition of a kind does not serve the version that we write."""
    if fault := version_fault(kind, api, [version.name for version in versions if version.served]):
        raise pulumi.RunError(f"sizewell:cluster: {fault}")


def _config(text: str) -> str:
    """The kubeconfig as it is; what is wrong with it is said without it, since it is a secret."""
    if type(text) is not str:  # what stands in for an encrypted value outside of the engine
        return text
    if fault := kubeconfig_fault(text):
        raise pulumi.RunError(f"sizewell:kubeconfig: {fault}")
    return text


def _burst_flavor(queue: str, workload: Workload, pool: Pool) -> dict[str, object]:
    """The burst's machines, which the same queue fills once the cluster's own are full."""
    from sizewell.components.aws.eks.node_config import queue_flavor

    shape = find_shape(pool.cloud, pool.instance_type)
    assert shape is not None  # noqa: S101  (bursting.check refuses an unknown type)
    args = {"nodes_min": 0, "nodes_max": pool.nodes_max, "capacity_mode": pool.capacity.mode}
    return {**queue_flavor(args, shape, queue=pool_name(workload, pool)), "queue": queue}


def _flavor(queue: str, pairs: list[tuple[Workload, Pool]], settings: Settings) -> dict[str, object]:
    """The decision's machines as one flavor: the cluster's labels do not tell pools apart."""
    first = pairs[0][1]
    machine, shape = machine_of(first), find_shape(first.cloud, first.instance_type)
    alike = [pool for _, pool in pairs if pool.instance_type == first.instance_type]
    memory = (shape.memory_bytes if shape else None) or UNCOUNTED * 2**30
    cluster = settings.cluster
    others = beside(adopted_target(cluster, first, name=queue)) if cluster else {}
    stated = cluster.taints.items() if cluster else ()
    taints = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in stated]
    return {
        "name": queue,
        "node_labels": dict(settings.cluster.selector) if settings.cluster else {},
        "resource": machine.resource,
        "accelerators_per_machine": machine.devices,
        "cpus_per_machine": machine.cpus or UNCOUNTED,
        "memory_gib_per_machine": memory // 2**30,
        "machines": sum(pool.nodes_max for pool in alike),
        **({"beside_per_machine": others} if others else {}),
        **({"tolerations": taints} if taints else {}),
    }
