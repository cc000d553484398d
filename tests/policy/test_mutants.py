"""Every secure or frugal property of what the components build is undone in turn; a rule, or Checkov, must notice.

The plans are those of the repository's own stacks and of the components in every form. A mutant is one property of one
type under one component; it counts where the property is there (or, for a value that opens something, where it could
be). Each mutant and its killer stand in docs/reference/mutations.md.
"""

from __future__ import annotations

import copy
import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from checkov_run import judge, skip_of
from judged_plans import forms, stacks

from policy.config import Config
from policy.decisions import read_decision
from policy.engine import evaluate
from resources import Plan, RecordedResource, facts, price
from resources.graph import Graph
from resources.values import canonical
from sizing.catalog import load

ROOT = Path(__file__).parents[2]
ON = date(2026, 11, 21)
PAGE = ROOT / "docs/reference/mutations.md"
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/policy/test_mutants.py"
TABLE: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "mutants.yaml").read_text())
# Undone without harm: the value is the safe one in this place, or another property holds the same door.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("gcp:storage/bucket:Bucket", "retentionPolicy"): "object retention holds the same lock",
    ("azure-native:storage:StorageAccount", "publicNetworkAccess"): "the network rules still deny",
    ("azure-native:storage:StorageAccount", "networkRuleSet.defaultAction"): "public network access is still off",
    ("azure-native:keyvault:Vault", "properties.publicNetworkAccess"): "the network rules still deny",
    ("azure-native:keyvault:Vault", "properties.networkAcls.defaultAction"): "public network access is still off",
    (
        "gcp:container/cluster:Cluster",
        "privateClusterConfig.enablePrivateEndpoint",
    ): "authorised networks still limit it",
    ("gcp:container/cluster:Cluster", "masterAuthorizedNetworksConfig"): "the endpoint is still private",
    ("gcp:container/nodePool:NodePool", "networkConfig.enablePrivateNodes"): "the cluster still makes nodes private",
    ("gcp:container/cluster:Cluster", "privateClusterConfig.enablePrivateNodes"): "the pools still make nodes private",
}
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
# Undone without harm in one component only: what it stands under holds it.
EQUIVALENT_THERE: dict[tuple[str, str, str], str] = {
    ("sizewell-aws:index:SpotFleet", LAUNCH_TEMPLATE, "instanceType"): "the fleet's overrides name the machines",
    ("sizewell-aws:index:SpotFleet", LAUNCH_TEMPLATE, "instanceMarketOptions"): "its machines are spot already",
}


@cache
def plans() -> Mapping[str, Plan]:
    return {plan.stack: plan for plan in stacks()} | forms()


@cache
def decision(stack: str) -> Mapping[str, Any] | None:
    return read_decision(ROOT / "stacks/decisions", stack)


def found_in(plan: Plan) -> set[tuple[str, str]]:
    catalog = load()
    stated = facts(plan, catalog, pricing=price(plan, catalog, on=ON), decision=decision(plan.stack), on=ON)
    return {(result.rule, result.urn) for result in evaluate(stated, Config(), on=ON).results}


def owner(graph: Graph, resource: RecordedResource) -> str:
    parents = [parent.type for parent in graph.ancestors(resource) if parent.type.startswith("sizewell-")]
    return parents[0] if parents else "stack"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A weakness in a component's code: it is in all resources of one type that the component makes."""

    component: str
    type: str
    path: str

    @property
    def value(self) -> Any:
        return TABLE[self.type][self.path]

    def __str__(self) -> str:
        return f"{self.component} / {self.type.rsplit(':', 1)[1]}.{self.path.removesuffix('?')}"


def mutants() -> dict[Mutant, dict[str, tuple[int, ...]]]:
    """Each mutant -> the plans that have it, with the positions of its resources there."""
    found: dict[Mutant, dict[str, tuple[int, ...]]] = {}
    for name, plan in plans().items():
        graph = Graph(plan)
        for position, resource in enumerate(plan.resources):
            kind = canonical(resource.type)
            for path, value in TABLE.get(kind, {}).items():
                mutant = Mutant(owner(graph, resource), kind, path)
                harmless = (kind, path) in EQUIVALENT or (mutant.component, kind, path) in EQUIVALENT_THERE
                if not harmless and _applies(resource, path, value):
                    places = found.setdefault(mutant, {})
                    places[name] = (*places.get(name, ()), position)
    return found


def _applies(resource: RecordedResource, path: str, value: Any) -> bool:
    """Whether there is something to undo; a path with "?" counts only where the property is stated."""
    only_there, path = path.endswith("?"), path.removesuffix("?")
    if path.startswith("@"):
        return bool(getattr(resource, path[1:]))
    target: Any = dict(resource.inputs)
    *steps, last = path.split(".")
    for step in steps:
        if isinstance(target, list):
            target = target[int(step)] if len(target) > int(step) else None
        else:
            target = target.get(step) if isinstance(target, Mapping) else None
    if not isinstance(target, Mapping) and not isinstance(target, list):
        return False
    if only_there and (not isinstance(target, Mapping) or last not in target):
        return False
    if value in (None, {}, []):
        return target.get(last) not in (None, {}, [], False) if isinstance(target, Mapping) else True
    return not isinstance(target, Mapping) or target.get(last) != value


def mutated(resource: RecordedResource, path: str, value: Any) -> RecordedResource:
    path = path.removesuffix("?")
    if path.startswith("@"):
        return replace(resource, **{path[1:]: tuple(value) if isinstance(value, list) else value})
    inputs = copy.deepcopy(dict(resource.inputs))
    target: Any = inputs
    *steps, last = path.split(".")
    for step in steps:
        target = target[int(step)] if isinstance(target, list) else target[step]
    if value is None:
        target.pop(last)
    else:
        target[last] = value
    backed = {k: v for k, v in resource.property_dependencies.items() if steps or k != last}
    return replace(resource, inputs=inputs, property_dependencies=backed)


def planted(mutant: Mutant, name: str, positions: tuple[int, ...]) -> Plan:
    changed = list(plans()[name].resources)
    for position in positions:
        changed[position] = mutated(changed[position], mutant.path, mutant.value)
    return replace(plans()[name], resources=tuple(changed))


def killed_by_rules(places: Mapping[Mutant, Mapping[str, tuple[int, ...]]]) -> dict[Mutant, list[str]]:
    """The rules that notice each mutant, in the first plan in which any does."""
    before = {name: found_in(plan) for name, plan in plans().items()}
    killed = {}
    for mutant, where in places.items():
        killers: set[str] = set()
        for name, positions in sorted(where.items(), key=lambda item: len(plans()[item[0]].resources)):
            killers = {rule for rule, _ in found_in(planted(mutant, name, positions)) - before[name]}
            if killers:
                break
        killed[mutant] = sorted(killers)
    return killed


def killed_by_checkov(places: Mapping[Mutant, Mapping[str, tuple[int, ...]]], folder: Path) -> dict[Mutant, list[str]]:
    """The checks that fail on each mutant and not without it, documented skips left out; one run of Checkov for all."""
    subjects: dict[str, Plan] = {}
    for number, (mutant, where) in enumerate(places.items()):
        for name, positions in where.items():
            subjects[f"mutant-{number}--{name}"] = planted(mutant, name, positions)
            subjects[f"before--{name}"] = plans()[name]
    failed: dict[str, set[tuple[str, str]]] = {name: set() for name in subjects}
    for one in judge(subjects, folder).failed:
        if skip_of(one) is None:
            failed[one.plan].add((one.check, one.resource))
    killed = {}
    for number, (mutant, where) in enumerate(places.items()):
        fresh = [failed[f"mutant-{number}--{name}"] - failed[f"before--{name}"] for name in where]
        killed[mutant] = sorted({check for found in fresh for check, _ in found})
    return killed


def document(killed: Mapping[Mutant, list[str]]) -> str:
    count = sum(1 for killers in killed.values() if killers)
    lines = [
        "# Planted weaknesses and what catches them",
        "",
        "<!-- written by tests/policy/test_mutants.py -->",
        "",
        "Each secure or frugal property of what a component builds is undone in all resources that have it; one of our",
        f"own rules, else a check of Checkov (`CKV…`), must notice. {count} of {len(killed)} are caught.",
        "",
        "| Component | Resource | Property | Caught by |",
        "| --- | --- | --- | --- |",
    ]
    for mutant in sorted(killed, key=str):
        caught = ", ".join(f"`{killer}`" for killer in killed[mutant][:4]) or "nothing"
        shown = mutant.path.removesuffix("?").replace("@", "option ")
        lines.append(f"| {mutant.component} | {mutant.type.rsplit(':', 1)[1]} | `{shown}` | {caught} |")
    return "\n".join([*lines, ""])


def test_planted_weaknesses_are_caught(tmp_path: Path) -> None:
    places = mutants()
    killed = killed_by_rules(places)
    left = {mutant: places[mutant] for mutant, killers in killed.items() if not killers}
    killed |= killed_by_checkov(left, tmp_path) if left else {}
    missed = [str(mutant) for mutant, killers in killed.items() if not killers]
    assert len(killed) >= 120, f"only {len(killed)} mutants"
    assert len(missed) <= 0.05 * len(killed), f"{len(missed)} of {len(killed)} survive: " + "; ".join(missed)
    text = document(killed)
    if os.environ.get("SIZEWELL_REFRESH"):
        PAGE.write_text(text, encoding="utf-8")
    stands = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    lines = difflib.unified_diff(stands.splitlines(), text.splitlines(), "committed", "now", lineterm="", n=1)
    assert text == stands, "\n".join([*list(lines)[:60], f"refresh: {REFRESH}"])
