"""What Checkov judges: every stack of the repository, and every component in the forms that its own tests write down."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from preview.evaluate import evaluate
from resources.recorded import Plan

ROOT = Path(__file__).parents[2]
FORMED = ("test_eks", "test_fleets", "test_limits", "test_sagemaker", "test_storage")  # of tests/components/aws
ALONE = {"test_fleets": "SpotFleet", "test_storage": "SharedStorage"}  # modules of one component


@cache
def stacks() -> tuple[Plan, ...]:
    """The plans of the repository's own stacks."""
    names = sorted(path.stem.removeprefix("Pulumi.") for path in (ROOT / "stacks/config").glob("Pulumi.*.yaml"))
    return tuple(evaluate(ROOT, name) for name in names)


@cache
def forms() -> dict[str, Plan]:
    """Name -> plan of components in every form that their tests write down; those of one stack's name together."""
    built: dict[str, list[tuple[type, str, dict[str, object]]]] = {}
    for stack, cls, form, args in (*_aws(), *_gcp()):
        built.setdefault(stack, []).append((cls, form, args))
    return {f"components-{stack}": _plan(stack, made) for stack, made in built.items()} | {
        "components-checkpoints-azure": _azure_store()
    }


def _plan(stack: str, made: list[tuple[type, str, dict[str, object]]]) -> Plan:
    def program() -> None:
        for cls, form, args in made:
            cls(form, args)

    return evaluate(ROOT, stack, program=program)


def _aws() -> Iterator[tuple[str, type, str, dict[str, object]]]:
    for module_name in FORMED:
        module = importlib.import_module(module_name)
        for mark in module.test_makes_what_is_written_down.pytestmark:
            for form, *values in mark.args[1]:
                stated = [one for one in values if isinstance(one, str) and one.endswith("-aws")]
                stack = (stated or ["prod-aws" if "prod" in form else "dev-aws"])[0]
                made = next((one for one in values if isinstance(one, type)), None)
                made = made or getattr(module, ALONE[module_name])
                args = next(one for one in values if isinstance(one, dict))
                name = form if "-" in form else f"{made.__name__.lower()}-{form}"
                yield stack, made, name, args


def _gcp() -> Iterator[tuple[str, type, str, dict[str, object]]]:
    pools, services = importlib.import_module("test_pools"), importlib.import_module("test_services")
    made = {form: (pools.AcceleratorPool, args) for form, args in pools.FORMS.items()} | services.FORMS
    for form, (cls, args) in made.items():
        yield ("prod-gcp" if "prod" in form else "dev-gcp"), cls, form, args


def _azure_store() -> Plan:
    program = importlib.import_module("components.azure.program")
    decided = importlib.import_module("decisions").by_stack("prod-azure")
    kept = [one for one in decided.workloads if one.checkpoint]
    stack = "checkpoints-prod-azure"
    how = importlib.import_module("components.settings").Settings(project="sizewell", stack=stack)
    return evaluate(ROOT, stack, program=lambda: program.build_checkpoints(decided, kept, how))
