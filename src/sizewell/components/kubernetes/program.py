"""From a decision and the stack's configuration to what runs on a cluster: nothing where no image is named."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pulumi

from sizewell.components.facts import guard_args, owned_args, schedule_args
from sizewell.components.kubernetes import run_args as to
from sizewell.components.kubernetes.objects import PRIORITIES
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.components.tags import physical_name
from sizewell.launch import reach, serving
from sizewell.launch.launch import Launch, launch_of
from sizewell.launch.target import Target
from sizewell.launch.volumes import with_claim
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload

Pair = tuple[Workload, Pool]


def build_runs(
    decision: Decision,
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    where: str,
    kubeconfig: pulumi.Input[str],
    target: Callable[[Workload, Pool], Target],
    queued: bool = False,
    prioritized: bool | None = None,
    installed: Sequence[str] = (),
    registry: pulumi.Input[str] = "",
    volumes: Mapping[str, pulumi.Resource] | None = None,
    options: pulumi.ResourceOptions | None = None,
) -> dict[str, object]:
    """What runs of each pool that `sizewell:run` names an image for, and the operators that it needs.

    `where` names the operators' component; `queued`: a queue has installed JobSet already; `installed` are there too.
    `prioritized`: the stack's queue has brought its priority classes (None: where it is `queued`).
    `registry`: a mirror of the operators' images, for a network without internet access. `volumes`: by workload the
    file system that its pods mount, by the claim that `claim_of` names.
    """
    volumes = volumes or {}
    named = []
    for workload, pool in wanted(pairs, settings):
        launch = launch_of(decision, workload, pool, settings.runs[workload.spec.name], target(workload, pool))
        if workload.spec.name in volumes:
            launch = with_claim(launch, workload, claim_of(workload))
        named.append((launch, (workload, pool)))
    if not named:
        return {}
    for launch, _ in named:
        reach.check(launch, internet=settings.internet, adopted=settings.kubeconfig is not None)
        reach.check_form(launch, adopted=settings.kubeconfig is not None)
    missing = [operator for operator in operators(launch for launch, _ in named) if operator not in installed]
    missing = [operator for operator in missing if not (queued and operator == "jobset")]
    after: list[pulumi.Resource] = []
    if missing:
        from sizewell.components.kubernetes.operators import Operators

        args: Any = {**owned_args(decision), "kubeconfig": kubeconfig, "operators": missing}
        args |= {"registry": registry} if registry != "" else {}
        after = [Operators(f"operators-{where}", args, options)]
    ours = PRIORITIES if (queued if prioritized is None else prioritized) else ()
    classes = _priority_classes(
        {launch.run.priority for launch, _ in named} - {"", *ours}, where=where, kubeconfig=kubeconfig
    )
    held = pulumi.ResourceOptions(depends_on=[*after, *volumes.values(), *classes])
    held = pulumi.ResourceOptions.merge(options, held)
    return {
        f"{launch.target.pool}-run": _build(decision, workload, launch, kubeconfig, held)
        for launch, (workload, _) in named
    }


def _priority_classes(names: Collection[str], *, where: str, kubeconfig: pulumi.Input[str]) -> list[pulumi.Resource]:
    """PriorityClasses that runs name and no queue of the stack brings, read before anything that runs is made.

    Kubernetes takes a job that names one which is not there, and refuses each of its pods.
    """
    if not names:
        return []
    import pulumi_kubernetes as kubernetes

    provider = kubernetes.Provider(f"priorities-{where}", kubeconfig=pulumi.Output.secret(kubeconfig))
    options = pulumi.ResourceOptions(provider=provider)
    read = kubernetes.scheduling.v1.PriorityClass.get
    return [read(f"priority-{name}-has-to-be-there", name, options) for name in sorted(names)]


def namespaces(
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    where: str,
    kubeconfig: pulumi.Input[str],
    options: pulumi.ResourceOptions | None = None,
) -> pulumi.ResourceOptions:
    """Options of all that stands in the namespaces of runs: they come first, and those that no cluster brings are made.

    Of a cluster that we build; an adopted one has them already. They stay when nobody names them any more, since others
    may have put something into them.
    """
    spaces = {settings.namespace(workload.spec.name) for workload, _ in wanted(pairs, settings)} - {"default"}
    if not spaces:
        return pulumi.ResourceOptions.merge(options, None)
    import pulumi_kubernetes as kubernetes

    provider = kubernetes.Provider(f"namespaces-{where}", kubeconfig=pulumi.Output.secret(kubeconfig))
    made = [
        kubernetes.core.v1.Namespace(
            f"namespace-{where}-{space}",
            metadata={"name": space, "labels": {"app.kubernetes.io/managed-by": "sizewell"}},
            opts=pulumi.ResourceOptions(provider=provider, retain_on_delete=True),
        )
        for space in sorted(spaces)
    ]
    return pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=made))


def queues_of(
    decision: Decision,
    where: str,
    pairs: Sequence[Pair],
    settings: Settings,
    flavors: Sequence[Mapping[str, object]],
    *,
    kubeconfig: pulumi.Input[str],
    registry: pulumi.Input[str] = "",
    options: pulumi.ResourceOptions | None = None,
) -> dict[str, object]:
    """Kueue with these flavors in the namespaces of what runs, and its jobs' operators; nothing without flavors."""
    if not flavors:
        return {}
    from sizewell.components.kubernetes.queueing import Queueing

    args: dict[str, object] = {**owned_args(decision), "kubeconfig": kubeconfig, "flavors": list(flavors)}
    if registry != "":
        args["registry"] = registry
    if spaces := sorted({settings.runs[workload.spec.name].namespace for workload, _ in wanted(pairs, settings)}):
        args["namespaces"] = spaces
    if any(workload.scheduler == "ray" for workload, _ in pairs):
        args["operators"] = ["jobset", "kuberay"]
    queues = Queueing.of(f"queues-{where}", args, opts=options)
    return {f"queues-{where}": {"queues": queues.queues}}


def claim_of(workload: Workload) -> str:
    """Name of the claim of a workload's file system, in the namespace of its run."""
    return physical_name(f"{workload.spec.name}-data", limit=63)


def wanted(pairs: Sequence[Pair], settings: Settings) -> list[Pair]:
    """The pools whose workload has a run; ConfigError where one names none of the workloads."""
    return [pair for pair in pairs if pair[0].spec.name in settings.runs]


def check_names(decision: Decision, settings: Settings) -> None:
    """Every `sizewell:run.<workload>` has to be a workload of the decision, and no two pools are called the same."""
    known = [workload.spec.name for workload in decision.workloads]
    wrong = [
        Fault(
            path=f"sizewell:run.{name}",
            message=f"is not a workload of {decision.stack}",
            fix=f"one of {', '.join(known)}",
        )
        for name in settings.runs
        if name not in known
    ]
    pools = [pool_name(workload, pool) for workload in decision.workloads for pool in workload.pools]
    wrong += [
        Fault(path=name, message="is the name of two pools", fix="give one of the two specs another name")
        for name, count in Counter(pools).items()
        if count > 1
    ]
    if wrong:
        raise ConfigError(wrong, subject=f"configuration of {decision.stack}")


def operators(settings: Any) -> list[str]:
    """What the settings' manifests need in the cluster, each once."""
    needed: list[str] = []
    for launch in settings:
        kind = launch.plan.kind
        if kind in ("training", "fine-tuning"):
            needed.append("kuberay" if launch.plan.scheduler == "ray" else "jobset")
        elif kind == "batch-inference":
            needed.append("jobset")
        elif kind == "inference":
            needed += ["lws"] if serving.nodes_per_replica(launch) > 1 else []
            needed += ["keda"] if serving.scales(launch) else []
    return list(dict.fromkeys(needed))


def _build(
    decision: Decision,
    workload: Workload,
    launch: Launch,
    kubeconfig: pulumi.Input[str],
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """One workload's component."""
    from sizewell.components.kubernetes.notebook import NotebookServer
    from sizewell.components.kubernetes.serving import ServedModel
    from sizewell.components.kubernetes.training import BatchRun, TrainingRun

    shapes: Mapping[str, tuple[Any, Any]] = {
        "inference": (ServedModel, to.ServedModelArgs),
        "batch-inference": (BatchRun, to.BatchRunArgs),
        "notebook": (NotebookServer, to.NotebookServerArgs),
    }
    component, shape = shapes.get(workload.kind, (TrainingRun, to.TrainingRunArgs))
    args = {**owned_args(decision), **to.args_of(launch, shape), "kubeconfig": kubeconfig}
    if workload.kind in ("inference", "notebook"):
        args |= {**guard_args(workload, prepaid=False), **schedule_args(workload)}
    made = component(launch.name, args, options)
    return {"objects": made.objects}
