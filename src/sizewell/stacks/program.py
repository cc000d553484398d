"""Every stack of a project: its name finds the decision, the decision's clouds find the components.

`dev-aws` builds what `decisions/dev-aws.json` says; `checkpoints-dev-aws` builds the checkpoint stores of that
decision, so that a cluster's destroy cannot reach them; `ttl-dev-aws` builds its hard end, and comes up first;
`images-dev-aws` builds the registry of what an EKS cluster without internet access runs, to be filled before it.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pulumi

from sizewell import source
from sizewell.components.booting import check_started
from sizewell.components.configured import check_config, say_when_nothing_is_to_do
from sizewell.components.kubernetes.program import check_names
from sizewell.components.notify import unheard
from sizewell.components.settings import Settings, read_settings
from sizewell.sizing.errors import ConfigError, Fault, UsageError
from sizewell.sizing.places import placed, read_yaml
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.stackname import cluster_of


def run(folder: Path) -> None:
    """See `sizewell.stacks.run`."""
    with _located(folder / "config" / f"Pulumi.{pulumi.get_stack()}.yaml"):
        _run(folder)


@contextmanager
def _located(configuration: Path) -> Iterator[None]:
    """Give faults of what the stack is configured with the file, line and column where its configuration states it."""
    try:
        yield
    except ConfigError as error:
        try:
            places = read_yaml(configuration).places
        except ConfigError:  # it lies elsewhere
            raise error from None
        file = str(configuration.relative_to(configuration.parents[2]))
        stated = [fault for fault in error.faults if f"config.{_key(fault)}" in places]
        others = [fault for fault in error.faults if fault not in stated]
        faults = [*placed(stated, places, under="config.", file=file), *others]
        raise ConfigError(faults, subject=error.subject) from None


def _key(fault: Fault) -> str:
    """The key of the configuration that a fault is about, such as `sizewell:accounts` of `sizewell:accounts[0]`."""
    return fault.path.partition(".")[0].partition("[")[0]


def _run(folder: Path) -> None:
    gc.disable()  # the SDKs' modules are a million objects that stay; looking through them takes a sixth of a preview
    stack = pulumi.get_stack()
    cluster = cluster_of(stack)
    decision = Decision.from_json(folder / "decisions" / f"{cluster}.json")
    settings = read_settings()
    check_names(decision, settings)
    check_config(decision, settings)

    if silent := unheard(decision, stack.removesuffix(f"-{cluster}") if stack != cluster else ""):
        pulumi.log.warn(silent)
    pools = [pool for workload in decision.workloads for pool in workload.pools]
    clouds = sorted({pool.cloud for pool in pools if not pool.adopted})
    if (
        cluster == stack
        and settings.kubeconfig is None
        and (there := sorted({pool.cloud for pool in pools if pool.adopted}))
    ):
        message = f"is missing: the decision's machines exist already ({', '.join(there)}), in a cluster to adopt"
        fix = f"pulumi config set --secret -s {cluster} sizewell:kubeconfig (`sizewell docs adopt-a-cluster`)"
        raise ConfigError([Fault(path="sizewell:kubeconfig", message=message, fix=fix)], subject=stack)
    if cluster == stack and settings.kubeconfig is not None:  # on machines that already exist
        _export(importlib.import_module("sizewell.components.adopted").build(decision, settings))
        return
    if cluster == stack:
        check_started(decision, settings)
    for cloud in clouds:
        outputs = _built(folder, decision, settings, cloud)
        say_when_nothing_is_to_do(decision, stack.removesuffix(f"-{cluster}"), outputs)
        _export(outputs)


def _built(folder: Path, decision: Decision, settings: Settings, cloud: str) -> dict[str, object]:
    """What one cloud's part of the stack exports."""
    stack = pulumi.get_stack()
    cluster = cluster_of(stack)
    try:
        program = importlib.import_module(f"sizewell.components.{cloud}.program")
    except ModuleNotFoundError as error:
        if told := source.missing(error):
            raise UsageError(told) from error
        raise
    workloads = [w for w in decision.workloads if any(pool.cloud == cloud for pool in w.pools)]
    if decision.expires_at is not None and stack in (cluster, f"ttl-{cluster}"):
        settings = replace(settings, firm_end=_firm(folder, decision.environment))
    if cluster == stack:
        outputs: dict[str, object] = program.build(decision, workloads, settings)
    elif stack.startswith("ttl-"):
        outputs = program.build_ttl(decision, settings)
    elif stack.startswith("images-"):
        build = getattr(program, "build_images", None)  # where networks of ours have no internet access
        outputs = build(decision, workloads, settings) if build else {}
    else:
        outputs = program.build_checkpoints(decision, [w for w in workloads if w.checkpoint], settings)
    return outputs


def _firm(folder: Path, environment: str) -> bool:
    """Whether teardown.yaml lets the end of an environment's stacks stop what is in use."""
    from sizewell.teardown.config import PATH, read_config  # of stacks that end alone

    if not (folder.parent / PATH).exists():
        return False
    rules = read_config(folder.parent).limits().rules(environment)
    return rules is not None and rules.firm


def _export(outputs: dict[str, object]) -> None:
    for name, value in outputs.items():
        pulumi.export(name, value)
