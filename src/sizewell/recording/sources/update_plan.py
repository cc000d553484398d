"""Plans that `pulumi preview --save-plan` wrote: what each resource's inputs will differ by from what stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sizewell.recording.sources.files import (
    BEFORE_ONLY,
    OPERATIONS,
    REPLACING,
    Collector,
    PreviewFile,
    foreign,
    newer,
    opened,
)
from sizewell.resources.recorded import Plan
from sizewell.sizing.errors import UsageError

_ENGINES_RESOURCES = ("pulumi:providers:", "pulumi:pulumi:Stack")


def read_update_plan(path: Path, state: Plan | None = None) -> PreviewFile:
    """The plan, with what does not change taken from `state`; UsageError where something stands and none is given."""
    stands = state.by_urn() if state is not None else {}
    after = Collector()
    merged: dict[str, Mapping[str, object]] = {}
    config: dict[str, str] = {}
    replaced: set[str] = set()
    with opened(path) as stream:
        for key in stream.members():
            if key == "config":
                stated = stream.value()
                config = {k: v for k, v in stated.items() if isinstance(v, str)} if isinstance(stated, dict) else {}
            if key != "resourcePlans" or stream.peek() != "{":
                if key != "config":
                    stream.value()
                continue
            for urn in stream.members():
                row = stream.value()
                goal, steps = _row(urn, row, path)
                replaced |= {urn} if REPLACING.intersection(steps) else set()
                if goal is None or (steps and set(steps) <= BEFORE_ONLY):
                    continue
                old = stands.get(urn)
                if old is None and steps != ["create"] and not str(goal.get("type")).startswith(_ENGINES_RESOURCES):
                    raise UsageError(
                        f"{path}: it has only what changes of {urn}\n"
                        "  fix: add what stands, --state FILE with the output of `pulumi stack export`, or write the "
                        "plan with `pulumi preview --json --show-sames`"
                    )
                diff = goal.get("inputDiff") or {}
                new = {**(diff.get("adds") or {}), **(diff.get("updates") or {})}
                after.add({**goal, "urn": urn, "inputs": new, "outputs": {}})
                gone = set(diff.get("deletes") or ())
                if old is not None:
                    merged[urn] = {name: value for name, value in old.inputs.items() if name not in gone}
    project, stack = after.names or ((state.project, state.stack) if state else ("", ""))
    if state is not None and after.names and (state.project, state.stack) != after.names:
        raise UsageError(
            f"the state given is of the stack {state.stack} of {state.project}, the plan is of {stack} of {project}\n"
            f"  fix: write it with `pulumi stack export -s {stack}`"
        )
    known = {**(state.config if state else {}), **config}
    plan = after.plan(project, stack, known, "pulumi preview --save-plan", ())
    resources = tuple(
        replace(each, inputs={**merged.get(each.urn, {}), **each.inputs}, outputs=stands[each.urn].outputs)
        if each.urn in stands
        else each
        for each in plan.resources
    )
    before = state or Plan(project=project, stack=stack, resources=(), config=known, origin=plan.origin)
    return PreviewFile(
        before=before, after=replace(plan, resources=resources), complete=True, replaced=frozenset(replaced)
    )


def _row(urn: str, row: Any, path: Path) -> tuple[Mapping[str, Any] | None, list[str]]:
    if not isinstance(row, dict) or not isinstance(row.get("steps") or [], list) or urn.count("::") < 3:
        raise foreign(path, f"the plan of a resource is not one: {urn[:60]}")
    steps = [str(step) for step in row.get("steps") or ()]
    if unknown := [step for step in steps if step not in OPERATIONS]:
        raise newer(path, f"a step is of the kind {unknown[0]!r}")
    goal = row.get("goal")
    return (goal if isinstance(goal, dict) else None), steps
