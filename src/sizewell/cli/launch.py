"""`sizewell launch`: what runs on a stack's machines, as manifests for kubectl or a script for sbatch."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sizewell.cli import output
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import Choice, stacks
from sizewell.cli.project import configuration, decision_path, decisions, root
from sizewell.sizing.errors import ConfigError, Fault, UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.components.settings import Settings
    from sizewell.launch.launch import Launch
    from sizewell.launch.target import Target
    from sizewell.sizing.records.decision import Decision, Pool, Workload

DESCRIPTION = """Print what runs on a stack's machines, for each of its workloads or for one.

The decision says which machines, how the work is split, how long it may take and where its state
goes; you name the image. Nothing is started: pipe the manifests into kubectl, the script into
sbatch, or run it as root on each machine. Settings under sizewell:run in the stack's
configuration need not be repeated.
"""
EXAMPLES = """examples:
  sizewell launch staging-gcp pretrain-2b --image registry/train:2.8 | kubectl apply -f -
  sizewell launch dev-gcp resnet50 --image tritonserver:25.10-py3 --model gs://bucket/models
  sizewell launch staging-aws --image train:2.8 --burn-in     try the machines first
  sizewell launch staging-aws --image train:2.8 --format slurm | sbatch
  sizewell launch staging-aws --image train:2.8 --format machine > boot.sh    a machine's first boot
  sizewell launch coreweave pretrain --then prod-aws | bash    the second, when the first is full
  sizewell launch prod-azure chat-70b --image rocm/vllm:TAG --writer CLIENT_ID

exit code: 0 printed, 64 there is no such decision, or the run does not fit it
"""
FORMATS: Final = ("kubernetes", "slurm", "machine")
FLAGS: Final = ("image", "model", "draft", "namespace", "prefix", "output")


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", shell_complete=stacks, help="whose decision")
@click.argument("workload", required=False, help="one workload (default: all)")
@click.option("--image", metavar="IMAGE", help="container image with a tag or digest")
@click.option("--command", metavar="LINE", help="command line of the containers, instead of the template's")
@click.option("--model", metavar="MODEL", help="weights instead of the spec's: a name, s3://, gs:// or a path")
@click.option("--draft", metavar="MODEL", help="weights of the draft instead of the spec's: a name, or a path")
@click.option("--namespace", metavar="NAME", help="Kubernetes namespace (default)")
@click.option(
    "--prefix", metavar="NAME", help="name of the run: the same name resumes it, another one starts a second run (main)"
)
@click.option("--output", metavar="URI", help="where the results of a batch are written")
@click.option("--format", type=Choice(FORMATS), default="kubernetes", help="what to print (kubernetes)")
@click.option("--burn-in", is_flag=True, help="a test of the machines, or of the served model")
@click.option(
    "--then",
    metavar="STACK",
    shell_complete=stacks,
    help="print a script that submits to that stack when this one is full",
)
@click.option("--after", metavar="TIME", help="how long the run waits for room before --then (30m)")
@click.option("--queue", metavar="QUEUE", default="", help="Kueue's local queue")
@click.option("--writer", metavar="IDENTITY", default="", help="identity that writes checkpoints: e-mail or client id")
@click.option("--json", is_flag=True, help="print the manifests, or the script, in a JSON object")
def command(args: Arguments) -> int:
    """Print; nothing is started."""
    from sizewell.launch import images, reach

    _check_then(args)
    project = root()
    decision = _decision(project, args.stack)
    config = configuration(project, args.stack)
    chosen = _chosen(decision, args.workload, args.stack, config)
    settings = _settings(project, args.stack, config)
    made = [
        _setting(decision, (workload, pool), args, config, settings) for workload in chosen for pool in workload.pools
    ]
    if args.queue and args.format == "kubernetes":
        for pair in [(workload, pool) for workload in chosen for pool in workload.pools]:
            _check_queue(decision, pair, args, config)
    adopted = bool(config.get("cluster"))
    for launch in made if not args.burn_in else ():
        reach.check(launch, internet=settings.internet or adopted, adopted=adopted)
        for doubt in images.doubts(launch):
            output.note(doubt)
        if args.format == "kubernetes":
            reach.check_form(launch, adopted=adopted)
            _say_what_is_missing(launch, config)
    if args.then:
        return _overflow(made, args)
    if args.format == "slurm":
        from sizewell.launch import slurm

        scripts = [slurm.burn_in(launch) if args.burn_in else slurm.script(launch) for launch in made]
        return _one(scripts, args, "sbatch takes one script")
    if args.format == "machine":
        from sizewell.launch import machines

        if args.burn_in:
            raise UsageError(
                "--burn-in is not available with --format machine\n  fix: use slurm or kubernetes, which start it on "
                "all machines"
            )
        regions = [pool.region for workload in chosen for pool in workload.pools]
        scripts = [machines.first_boot(launch, region=region) for launch, region in zip(made, regions, strict=True)]
        return _one(scripts, args, "a machine runs one script")
    from sizewell.launch.manifests import as_yaml, manifests, trials

    documents = [manifest for launch in made for manifest in (trials(launch) if args.burn_in else manifests(launch))]
    if args.json:
        output.print_json(_document(args, manifests=documents))
    else:
        sys.stdout.write(as_yaml(documents))
    return 0


def _decision(project: Path, stack: str) -> Decision:
    from sizewell.sizing.records.decision import Decision

    path = decision_path(project, stack)
    if not path.exists():
        known = ", ".join(file.stem for file in decisions(project)) or "none yet"
        raise UsageError(f"no decision for stack '{stack}'\n  fix: name one of {known}")
    return Decision.from_json(path)


def _check_then(args: Arguments) -> None:
    """UsageError for flags that do not go with --then, or that only go with it."""
    if args.after and not args.then:
        raise UsageError("--after is for --then, which names the stack that takes over\n  fix: add --then STACK")
    if args.then and (args.format != "kubernetes" or args.burn_in):
        wrong = "--burn-in" if args.burn_in else f"--format {args.format}"
        raise UsageError(f"--then is not available with {wrong}: it moves a run between queues\n  fix: leave one out")
    if args.then == args.stack:
        raise UsageError(f"--then names {args.stack} itself\n  fix: name the stack that takes over")


def _overflow(made: list[Launch], args: Arguments) -> int:
    """The script that moves a run to a second stack; the workload there has the same name, or is the only one."""
    from sizewell.launch import overflow, reach
    from sizewell.sizing.units import UnitError, duration_s

    try:
        after = int(duration_s(args.after or "30m"))
    except UnitError as error:
        raise ConfigError([Fault(path="--after", found=args.after, allowed=error.allowed, fix=error.fix)]) from error
    if len(made) != 1:
        raise UsageError(f"{args.stack} has {len(made)} workloads\n  fix: name one: --then moves one run")
    project = root()
    decision, config = _decision(project, args.then), configuration(project, args.then)
    same = [one.spec.name for one in decision.workloads if one.spec.name == made[0].plan.name]
    settings = _settings(project, args.then, config)
    chosen = _chosen(decision, same[0] if same else None, args.then, config)
    pairs = [(workload, pool) for workload in chosen for pool in workload.pools]
    if len(pairs) != 1:
        raise UsageError(
            f"{args.then} has no workload {made[0].plan.name}, and {len(pairs)} others\n"
            "  fix: give the same name to the workload that takes over"
        )
    second, adopted = _setting(decision, pairs[0], args, config, settings), bool(config.get("cluster"))
    reach.check(second, internet=settings.internet or adopted, adopted=adopted)
    _say_what_is_missing(second, config)
    return _one([overflow.script(made[0], second, after_s=after)], args, "")


def _say_what_is_missing(launch: Launch, config: Mapping[str, Any]) -> None:
    """Notes with what the cluster may lack: a priority class, or operators that the program has not installed."""
    from sizewell.components.kubernetes.objects import PRIORITIES
    from sizewell.components.kubernetes.program import operators

    if (priority := launch.run.priority) and not (priority in PRIORITIES and launch.target.queue):
        output.note(
            f"{launch.plan.name} has priority {priority}, and without that class the cluster refuses its pods: "
            f"`kubectl get priorityclass {priority}`"
        )
    if config.get("cluster") or launch.plan.name in (config.get("run") or {}):
        return
    missing = [name for name in operators([launch]) if not (name == "jobset" and launch.target.queue)]
    if missing:
        at = f"sizewell:run.{launch.plan.name}"
        output.note(
            f"{launch.plan.name} needs {' and '.join(missing)} in the cluster; the stack installs what {at} needs: "
            f"set {at}.image and `pulumi up`, or install it yourself"
        )


def _document(args: Arguments, **content: Any) -> dict[str, Any]:
    return {"schema": schema_of("launch"), "stack": args.stack, "format": args.format, **content}


def _one(scripts: list[str], args: Arguments, why: str) -> int:
    if len(scripts) > 1:
        raise UsageError(f"{args.stack} has {len(scripts)} workloads\n  fix: name one: {why}")
    if args.json:
        output.print_json(_document(args, script=scripts[0]))
    else:
        sys.stdout.write(scripts[0])
    return 0


def _chosen(decision: Decision, name: str | None, stack: str, config: Mapping[str, Any]) -> list[Workload]:
    """The workloads that run: not the one that says what the burst's machines are."""
    from sizewell.components import bursting
    from sizewell.launch.adopted import read_adopted

    running = list(decision.workloads)
    if config.get("cluster"):
        cluster = read_adopted(config["cluster"])
        bursting.check(decision, cluster, config.get("run") or {})
        running = [workload for workload, _ in bursting.baseline(decision, cluster)]
    if name is None:
        return running
    matches = [workload for workload in running if workload.spec.name == name]
    if not matches:
        known = ", ".join(workload.spec.name for workload in running)
        raise UsageError(f"'{name}' is not a runnable workload of {stack}\n  fix: name one of {known}")
    return matches


def _settings(project: Path, stack: str, config: Mapping[str, Any]) -> Settings:
    """What names of buckets follow from, as a running program would read it."""
    import yaml

    from sizewell.components.settings import Settings

    text = (project / "Pulumi.yaml").read_text(encoding="utf-8")
    return Settings(
        project=str((yaml.safe_load(text) or {}).get("name", "")),
        stack=stack,
        organization=str(config.get("organization") or ""),
        accounts=tuple(map(str, config.get("accounts") or ())),
        network=dict(config.get("network") or {}),
    )


def _setting(
    decision: Decision,
    pair: tuple[Workload, Pool],
    args: Arguments,
    config: Mapping[str, Any],
    settings: Settings,
) -> Launch:
    from sizewell.launch.launch import launch_of
    from sizewell.launch.run import read_run

    name = pair[0].spec.name
    stated = (config.get("run") or {}).get(name) or {}
    flags = {key: getattr(args, key) for key in FLAGS if getattr(args, key) is not None}
    if args.command is not None:
        flags["command"] = shlex.split(args.command)
    if not isinstance(stated, dict) or not (stated.get("image") or flags.get("image")):
        fix = f"give --image, or set sizewell:run.{name}.image in the stack's configuration"
        raise ConfigError([Fault(path=f"{name}: image", message="a decision names no image", fix=fix)])
    workload_run = read_run({**stated, **flags}, f"run.{name}")
    return launch_of(decision, *pair, workload_run, _target(decision, pair, args, config, settings))


def _check_queue(decision: Decision, pair: tuple[Workload, Pool], args: Arguments, config: Mapping[str, Any]) -> None:
    """UsageError for a local queue that is not where the workload runs: what names it would wait for ever, unseen."""
    workload, _ = pair
    stack, name, stated = decision.stack, workload.spec.name, config.get("run") or {}
    known = _queue_of(decision, pair, config)
    adopted = "name it as sizewell:cluster.queue, which is looked up before anything is made"
    way_out = adopted if config.get("cluster") else "leave --queue out"
    if args.queue != known:
        there = f"its queue is {known}" if known else "it has none"
        raise UsageError(f"'{args.queue}' is not a queue of {name} on {stack}: {there}\n  fix: {known or way_out}")
    spaces = sorted({str(run.get("namespace", "default")) for run in stated.values()} or {"default"})
    space = args.namespace or str((stated.get(name) or {}).get("namespace", "default"))
    if space not in spaces:
        fix = f"set sizewell:run.{name}.namespace, and `pulumi up`, or name one of {', '.join(spaces)}"
        raise UsageError(f"queue {known} is not in namespace {space}\n  fix: {fix}")


def _queue_of(decision: Decision, pair: tuple[Workload, Pool], config: Mapping[str, Any]) -> str:
    """Name of the local queue of a pool, "" where it has none.

    The stack's cluster has the queues that its program makes, an adopted one the queue that its configuration names,
    whose being there `pulumi up` looks at.
    """
    from sizewell.components.facts import has_queues
    from sizewell.components.machines import pool_name
    from sizewell.components.tags import physical_name
    from sizewell.launch.adopted import read_adopted
    from sizewell.sizing.billing import standing

    workload, pool = pair
    if config.get("cluster"):
        cluster = read_adopted(config["cluster"])
        return cluster.queue or (physical_name(decision.stack, limit=40) if cluster.operators else "")
    near = [(w, p) for w in decision.workloads for p in w.pools if (p.cloud, p.region) == (pool.cloud, pool.region)]
    near = [
        (w, p)
        for w, p in near
        if standing.target_of(p.managed, w.scheduler, cloud=p.cloud, fleet=p.provision == "fleet") in standing.ON_EKS
    ]
    if pair not in near or not has_queues(near):
        return ""
    name = pool_name(workload, pool)
    limit = CLOUDS[pool.cloud].cluster.queue_name_max if pool.cloud in CLOUDS else None
    return physical_name(name, limit=limit) if limit else name


def _target(
    decision: Decision,
    pair: tuple[Workload, Pool],
    args: Arguments,
    config: Mapping[str, Any],
    settings: Settings,
) -> Target:
    """Where it runs: a cluster that the configuration adopts, else ours on the pool's cloud."""
    from sizewell.components import bursting
    from sizewell.launch.adopted import read_adopted

    workload, pool = pair
    queue = args.queue or (_queue_of(decision, pair, config) if args.format == "kubernetes" else "")
    if pool.adopted and not config.get("cluster"):
        message = f"is missing: the machines exist already ({pool.cloud}), so specify how pods select them"
        raise ConfigError([Fault(path="sizewell:cluster", message=message, fix="`sizewell docs adopt-a-cluster`")])
    if config.get("cluster"):
        cluster = read_adopted(config["cluster"])
        return bursting.target(decision, cluster, pair, settings, queue=queue, pooled=not args.burn_in)
    cloud: Any = importlib.import_module(f"sizewell.components.{pool.cloud}.launching")
    annotated = CLOUDS[pool.cloud].cluster.annotates_identities
    writer = {"writer": args.writer} if annotated else {}
    target: Target = cloud.target(decision, workload, pool, settings, queue=queue, **writer)
    if workload.checkpoint and annotated and not target.account_annotations and args.format == "kubernetes":
        output.note(f"{workload.spec.name}: pods cannot write checkpoints yet; give --writer (`pulumi stack output`)")
    return target
