"""`pulumi preview` of a stack against a hand-written program with the same resources, under the same engine.

The other program says each resource by itself, as one would who writes without components, decisions and checks: the
same types, names and inputs, references where the stack has references. It is written out from what the stack makes, so
that the two cannot drift apart, and both previews are compared before anything is measured. Stand-in providers answer
for the clouds. Runs take turns; machines are noisy, so the median of the ratios pair by pair counts.

Seen on 2026-11-21, two cores of x86_64 with other work on them: dev-aws, 74 resources, 0.99 x both on the clock and in
processor time.
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, report

sys.path.insert(0, str(ROOT / "tests" / "engine"))
import harness
import sdk_types
from pulumi import _types

from sizewell.recording.evaluate import evaluate
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource

STACKS = ("dev-aws",)
RUNS = 5
LIMIT = 1.15


def written_out(plan: Plan) -> str:
    """A program with the plan's resources, one statement for each, and nothing else."""
    variables: dict[str, str] = {}
    statements: list[str] = []
    modules: dict[str, None] = {}
    for one in plan.resources:
        if not one.custom or one.type == "pulumi:pulumi:Stack":
            continue
        variables[one.urn] = variable = f"r{len(variables)}"
        module, cls = _spelling(one)
        modules[module.partition(".")[0]] = None
        words = [f"    {ours}={_literal(_given(one, key), one, key, variables)}," for ours, key in _arguments(one)]
        options = [f"provider={variables[one.provider.rsplit('::', 1)[0]]}"] if one.provider else []
        options += ["protect=True"] if one.protect else []
        options += [f"ignore_changes={list(one.ignore_changes)!r}"] if one.ignore_changes else []
        referred = {urn for urns in one.property_dependencies.values() for urn in urns}
        after = [variables[urn] for urn in one.dependencies if urn in variables and urn not in referred]
        options += [f"depends_on=[{', '.join(after)}]"] if after else []
        statements += [f"{variable} = {module}.{cls}(", f"    {one.name!r},", *words]
        statements += [f"    opts=pulumi.ResourceOptions({', '.join(options)}),", ")"]
    return "\n".join(["import pulumi", *(f"import {module}" for module in modules), "", *statements, ""])


def _spelling(one: RecordedResource) -> tuple[str, str]:
    if one.type.startswith("pulumi:providers:"):
        return sdk_types.MODULES[one.type.rpartition(":")[2]], "Provider"
    cls = sdk_types.resource_class(one.type)
    assert cls is not None
    return ".".join(cls.__module__.split(".")[:2]), cls.__name__


def _arguments(one: RecordedResource) -> list[tuple[str, str]]:
    """(name in Python, name in the plan) of each input."""
    if one.type.startswith("pulumi:providers:"):
        spelt = {"allowedAccountIds": "allowed_account_ids", "region": "region", "project": "project"}
    else:
        args = sdk_types.args_class(one.type)
        assert args is not None
        spelt = {theirs: ours for ours, theirs in _types.input_type_py_to_pulumi_names(args).items()}
    return [(spelt[key], key) for key, value in one.inputs.items() if value is not None and key in spelt]


def _given(one: RecordedResource, key: str) -> Any:
    """An input as a program states it; a provider's lists are JSON in a plan."""
    value = one.inputs[key]
    is_json = one.type.startswith("pulumi:providers:") and isinstance(value, str) and value.startswith("[")
    return json.loads(value) if is_json else value


def _literal(value: Any, one: RecordedResource, key: str, variables: Mapping[str, str]) -> str:
    """Python text of a value of the input `key`; what is known only later is the id of what it comes from."""
    if value is UNKNOWN:
        known = [variables[urn] for urn in one.property_dependencies.get(key, ()) if urn in variables]
        return f"{known[0]}.id" if known else repr(key)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k!r}: {_literal(v, one, key, variables)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_literal(item, one, key, variables) for item in value) + "]"
    return repr(value)


def compared(stack: str, folder: Path) -> bool:
    ours = harness.project(folder / "ours", warm=False)
    plan = evaluate(ours.project, stack)
    source = folder / "source"
    (source / "stacks").mkdir(parents=True)
    shutil.copy(ROOT / "Pulumi.yaml", source)
    shutil.copytree(ROOT / "stacks" / "config", source / "stacks" / "config")
    (source / "stacks" / "__main__.py").write_text(written_out(plan), encoding="utf-8")
    theirs = harness.project(folder / "theirs", source=source, warm=False)
    seen = []
    for engine in (ours, theirs):
        engine.run("stack", "init", stack)
        seen.append(_made(engine.preview(stack)))
    if seen[0] != seen[1]:
        raise AssertionError(f"{stack}: the programs make different resources: {sorted(seen[0] ^ seen[1])[:5]}")
    for engine in (ours, theirs):
        engine.environment["SIZEWELL_STANDIN_TRUSTS"] = "1"
    pairs = [(_cost(ours, stack), _cost(theirs, stack)) for _ in range(RUNS)]
    wall, processor = (statistics.median(a[at] / b[at] for a, b in pairs) for at in (0, 1))
    mine, other = (statistics.median(pair[at][0] for pair in pairs) for at in (0, 1))
    print(f"   {stack}, {len(seen[0])} resources: {mine:.2f} s; written out by hand: {other:.2f} s")
    print(f"   on the clock: {wall:.3f} x")
    return report(f"pulumi preview of {stack} / hand-written, processor time", processor, LIMIT, "x")


def _made(preview: Mapping[str, Any]) -> set[tuple[str, str]]:
    urns = [step["urn"] for step in preview["steps"]]
    ends = [urn.split("::") for urn in urns]
    kinds = {(parts[2].split("$")[-1], parts[3]) for parts in ends}
    return {kind for kind in kinds if not kind[0].startswith(("sizewell-", "pulumi:pulumi:Stack"))}


def _cost(engine: harness.Engine, stack: str) -> tuple[float, float]:
    """Seconds on the clock and of processors, that one preview takes with all of its processes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    engine.run("preview", "-s", stack)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    if reason := harness.missing():
        print(f"   left out: {reason}")
        return 0
    missed = False
    for stack in STACKS:
        with tempfile.TemporaryDirectory() as name:
            missed |= compared(stack, Path(name))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
