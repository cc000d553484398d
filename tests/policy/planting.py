"""Plant weaknesses into what components build: one property of one type under one component, undone.

The table (mutants.yaml) has for each type of resource what is undone and how:

    path: value                     set an input; null takes it away; `*` is every entry of a list
    path | words: value             another value of the same input
    path & path: [value, value]     several at once, where one alone is held by the other
    path?: value                    only where the input is stated
    "@protect": false               an option of the resource
    "@gone": true                   the resource is not there
    "@add words": {type, inputs}    something stands beside it that should not
    "@change": replace              what the update does to it
    ... in Component, Component     only in these, where elsewhere it would do no harm

Types may end in `*`. Under `decision` stand the fields of the committed decision.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from judged_plans import ROOT, forms, stacks

from sizewell.policy.decisions import read_decision
from sizewell.resources import Plan, RecordedResource
from sizewell.resources.graph import Graph
from sizewell.resources.values import canonical

HERE = Path(__file__).parent
TABLE: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "mutants.yaml").read_text())
DECISION = "decision"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A weakness in a component's code: it is in all resources of one type that the component makes."""

    component: str
    type: str
    key: str  # of the table
    table: str = ""  # the table's pattern of types

    @property
    def value(self) -> Any:
        return TABLE[self.table or self.type][self.key]

    @property
    def shown(self) -> str:
        return (
            self.key.replace("?", "").replace("@", "option ", 1)
            if self.key.startswith("@p")
            else self.key.replace("?", "")
        )

    def __str__(self) -> str:
        return f"{self.component.removeprefix('sizewell-')} / {self.type.rsplit(':', 1)[-1]}.{self.shown}"


@dataclass(frozen=True, slots=True)
class Case:
    """A plan to judge, with what stands beside it."""

    plan: Plan
    decision: Mapping[str, Any] | None = None
    changes: Mapping[str, str] = field(default_factory=dict)


Places = Mapping[str, tuple[int, ...]]  # plan -> positions of the resources in it


@cache
def cases() -> Mapping[str, Case]:
    named = {plan.stack: plan for plan in stacks()} | dict(forms())
    directory = ROOT / "stacks/decisions"
    return {
        name: Case(plan, read_decision(directory, plan.stack) if name == plan.stack else None)
        for name, plan in named.items()
    }


def mutants() -> dict[Mutant, Places]:
    """Each mutant -> where it can be planted."""
    found: dict[Mutant, dict[str, tuple[int, ...]]] = {}
    patterns = [pattern for pattern in TABLE if "*" in pattern]
    for name, case in cases().items():
        graph = Graph(case.plan)
        for position, resource in enumerate(case.plan.resources):
            kind = canonical(resource.type)
            for table in [kind, *(pattern for pattern in patterns if fnmatchcase(kind, pattern))]:
                for key, value in TABLE.get(table, {}).items():
                    component = owner(graph, resource)
                    if key.startswith("sizewell.decisionDigest") and case.decision is None:
                        continue  # nothing stands that it could differ from
                    if _meant(key, component) and _applies(resource, key, value):
                        places = found.setdefault(Mutant(component, kind, key, table), {})
                        places[name] = (*places.get(name, ()), position)
        for key in TABLE[DECISION] if case.decision is not None else ():
            if list(_targets(dict(case.decision or {}), key.partition(" | ")[0].split("."))):
                found.setdefault(Mutant("decision", DECISION, key), {})[name] = ()
    return found


def _meant(key: str, component: str) -> bool:
    _, limited, names = key.partition(" in ")
    return not limited or component.rsplit(":", 1)[-1] in names.split(", ")


def owner(graph: Graph, resource: RecordedResource) -> str:
    chain = [resource, *graph.ancestors(resource)]
    return next((one.type for one in chain if one.type.startswith("sizewell-")), "stack")


def _settings(key: str, value: Any) -> list[tuple[str, Any]]:
    """(path, value) of each input that a key of the table sets."""
    paths = [path.strip().removesuffix("?") for path in key.partition(" | ")[0].split(" & ")]
    return list(zip(paths, value if len(paths) > 1 else [value], strict=True))


def _targets(value: Any, steps: list[str]) -> Iterator[tuple[Any, str]]:
    """(container, last step) of every place that a path leads to, where all that stands above is there."""
    head, *rest = steps
    if isinstance(value, list):
        chosen = value if head == "*" else value[int(head) : int(head) + 1] if head.isdigit() else []
        if not rest:
            yield from ((value, str(value.index(one))) for one in chosen)
            return
        for one in chosen:
            yield from _targets(one, rest)
    elif isinstance(value, Mapping):
        if not rest:
            yield value, head
        elif head in value:
            yield from _targets(value[head], rest)


def _applies(resource: RecordedResource, key: str, value: Any) -> bool:
    """Whether there is something to undo; a path with "?" counts only where the property is stated."""
    if key.startswith(("@gone", "@change", "@add")):
        return True
    if key.startswith("@"):
        return bool(getattr(resource, key[1:]))
    only_there = "?" in key
    inputs = _plain(resource.inputs)
    return all(
        any(
            _undoes(container, last, wanted, only_there=only_there)
            for container, last in _targets(inputs, path.split("."))
        )
        for path, wanted in _settings(key, value)
    )


def _undoes(container: Any, last: str, value: Any, *, only_there: bool) -> bool:
    if isinstance(container, list):
        return True
    if only_there and last not in container:
        return False
    stands = container.get(last)
    if value in (None, {}, []):
        return stands is not None and stands not in ({}, []) and stands is not False
    return bool(stands != value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def planted(mutant: Mutant, name: str, positions: tuple[int, ...]) -> Case:
    case = cases()[name]
    if mutant.type == DECISION:
        decision = copy.deepcopy(_plain(case.decision))
        for path, value in _settings(mutant.key, mutant.value):
            _set(decision, path, value)
        return replace(case, decision=decision)
    resources = list(case.plan.resources)
    touched = [resources[position] for position in positions]
    if mutant.key.startswith("@change"):
        return replace(case, changes={one.urn: mutant.value for one in touched})
    if mutant.key.startswith("@gone"):
        resources = [one for one in resources if one not in touched]
    elif mutant.key.startswith("@add"):
        resources += [_beside(one, mutant.value) for one in touched]
    else:
        for position in positions:
            resources[position] = _mutated(resources[position], mutant.key, mutant.value)
    return replace(case, plan=replace(case.plan, resources=tuple(resources)))


def _beside(resource: RecordedResource, stated: Mapping[str, Any]) -> RecordedResource:
    kind = stated["type"]
    return RecordedResource(
        urn=f"{resource.urn}-beside-{kind}",
        type=kind,
        name=f"{resource.name}-beside",
        inputs=stated.get("inputs", {}),
        parent=resource.parent if resource.custom else resource.urn,
        property_dependencies=dict.fromkeys(stated.get("refs", ()), (resource.urn,)),
    )


def _mutated(resource: RecordedResource, key: str, value: Any) -> RecordedResource:
    if key.startswith("@"):
        return replace(resource, **{key[1:]: tuple(value) if isinstance(value, list) else value})
    inputs = copy.deepcopy(_plain(resource.inputs))
    gone = set()
    for path, wanted in _settings(key, value):
        _set(inputs, path, wanted)
        if "." not in path:
            gone.add(path)
    backed = {prop: urns for prop, urns in resource.property_dependencies.items() if prop not in gone}
    return replace(resource, inputs=inputs, property_dependencies=backed)


def _set(value: Any, path: str, wanted: Any) -> None:
    for container, last in list(_targets(value, path.split("."))):
        if isinstance(container, list):
            container[int(last)] = wanted
        elif wanted is None:
            container.pop(last, None)
        else:
            container[last] = wanted
