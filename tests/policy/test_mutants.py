"""Every secure or frugal property of what the components build is undone in turn; a rule must notice.

The plans are those of the repository's own stacks. A mutant is one property of one type under one component; it counts
where the property is there (or, for a value that opens something, where it could be). `python tests/policy/test_mutants.py` prints the table: each mutant and its killer.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from policy.config import Config
from policy.decisions import read_decision
from policy.engine import evaluate
from resources import Plan, RecordedResource, facts, price
from resources.graph import Graph
from resources.values import canonical
from sizing.catalog import load

ROOT = Path(__file__).parents[2]
ON = date(2026, 11, 21)
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


@cache
def plans() -> tuple[Plan, ...]:
    from preview.evaluate import evaluate as run

    stacks = sorted(path.stem.removeprefix("Pulumi.") for path in (ROOT / "stacks/config").glob("Pulumi.*.yaml"))
    return tuple(run(ROOT, stack) for stack in stacks)


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


def mutants() -> dict[tuple[str, str, str], list[tuple[Plan, tuple[int, ...]]]]:
    """(component, type, property) -> the plans that have it, with the positions of its resources there."""
    found: dict[tuple[str, str, str], list[tuple[Plan, tuple[int, ...]]]] = {}
    for plan in plans():
        graph = Graph(plan)
        here: dict[tuple[str, str, str], list[int]] = {}
        for position, resource in enumerate(plan.resources):
            kind = canonical(resource.type)
            for path, value in TABLE.get(kind, {}).items():
                if (kind, path) not in EQUIVALENT and _applies(resource, path, value):
                    here.setdefault((owner(graph, resource), kind, path), []).append(position)
        for key, positions in here.items():
            found.setdefault(key, []).append((plan, tuple(positions)))
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


def table() -> list[tuple[str, list[str]]]:
    """(mutant, the rules that notice it). A mutant is a weakness in a component's code: it is in all its resources."""
    before = {plan.stack: found_in(plan) for plan in plans()}
    rows = []
    for (component, kind, path), places in mutants().items():
        killers: set[str] = set()
        for plan, positions in places:
            changed = list(plan.resources)
            for position in positions:
                changed[position] = mutated(changed[position], path, TABLE[kind][path])
            fresh = found_in(replace(plan, resources=tuple(changed))) - before[plan.stack]
            killers.update(rule for rule, _ in fresh)
            if killers:
                break
        rows.append((f"{component} / {kind.rsplit(':', 1)[1]}.{path.removesuffix('?')}", sorted(killers)))
    return rows


def test_planted_weaknesses_are_caught() -> None:
    rows = table()
    missed = [name for name, killers in rows if not killers]
    assert len(rows) >= 120, f"only {len(rows)} mutants"
    assert len(missed) <= 0.05 * len(rows), f"{len(missed)} of {len(rows)} survive: " + "; ".join(missed)


if __name__ == "__main__":
    listed = table()
    for mutant, rules in listed:
        print(f"{mutant}: {', '.join(rules) or 'SURVIVES'}")
    killed = sum(bool(rules) for _, rules in listed)
    print(f"{killed} of {len(listed)} killed", file=sys.stderr)
