"""What Checkov and the planted weaknesses are judged on: every stack of the repository, and every form of a component.

The forms are those that the components' own tests write down (`test_makes_what_is_written_down` in every module below
tests/components): the tests run here with the evaluator watched, so a new form is judged without being named again.
Evaluating all of them takes half a minute; the processes of one test run share what the first of them found.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.util
import inspect
import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import sizewell.recording.evaluate
from sizewell.resources.recorded import Plan

ROOT = Path(__file__).parents[2]
COMPONENTS = ROOT / "tests/components"
WRITTEN = "test_makes_what_is_written_down"


@cache
def stacks() -> tuple[Plan, ...]:
    """The plans of the repository's own stacks."""
    return tuple(_shared()["stacks"])


@cache
def forms() -> Mapping[str, Plan]:
    """Name ("eks-pool-dev, dev-aws") -> plan of a component in a form that its tests write down."""
    found: Mapping[str, Plan] = _shared()["forms"]
    return found


def slug(name: str) -> str:
    """A form's name as a folder's."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)


@cache
def _shared() -> dict[str, Any]:
    """All plans, evaluated by whichever process of this test run asks first."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return {"stacks": _stacks(), "forms": _forms()}
    place = Path(tempfile.gettempdir()) / f"sizewell-plans-{run}"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.exists():
            found: dict[str, Any] = pickle.loads(place.read_bytes())  # noqa: S301  (written by this very test run)
            place.unlink()
            place.with_suffix(".lock").unlink()
            return found
        made = {"stacks": _stacks(), "forms": _forms()}
        place.write_bytes(pickle.dumps(made))
        return made


def _stacks() -> list[Plan]:
    names = sorted(path.stem.removeprefix("Pulumi.") for path in (ROOT / "stacks/config").glob("Pulumi.*.yaml"))
    return [sizewell.recording.evaluate.evaluate(ROOT, name) for name in names]


def _forms() -> dict[str, Plan]:
    found: dict[str, Plan] = {}
    for path in sorted(COMPONENTS.rglob("conftest.py")):
        _module(path)  # each names the folders that the tests beside it import from
    for path in sorted(COMPONENTS.rglob("test_*.py")):
        if f"def {WRITTEN}" not in path.read_text(encoding="utf-8"):
            continue
        for form, plan in _written_down(_module(path)):
            found[f"{path.stem.removeprefix('test_')} {form}, {plan.stack}"] = plan
    recording = importlib.import_module("stacks_recording")
    for stack in recording.STACKS:
        with _watched() as seen, contextlib.suppress(_Seen):
            recording.recorded(f"checkpoints-{stack}")
        found |= {f"decided {plan.stack}": plan for plan in seen if len(plan.resources) > 1}
    return found


def _module(path: Path) -> Any:
    name = "_".join(("forms", *path.relative_to(COMPONENTS).with_suffix("").parts))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _written_down(module: Any) -> Iterator[tuple[str, Plan]]:
    """Each form of one module, with the plan that its test looks at."""
    test = getattr(module, WRITTEN)
    for values in _parameters(test):
        form = str(values.get("form") or values.get("name") or next(iter(values.values()), ""))
        with _watched() as seen, contextlib.suppress(_Seen):
            test(**values)
        assert seen, f"{module.__name__}: {form} evaluates nothing"
        yield form, seen[0]


def _parameters(test: Callable[..., None]) -> list[dict[str, Any]]:
    """Every combination of what `parametrize` gives a test."""
    made: list[dict[str, Any]] = [{}]
    for mark in getattr(test, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        stated, rows = mark.args[:2]
        names = [name.strip() for name in stated.split(",")] if isinstance(stated, str) else list(stated)
        rows = [row.values if hasattr(row, "values") and not isinstance(row, dict) else row for row in rows]
        rows = [row if len(names) > 1 else ((row,) if not isinstance(row, tuple) else row) for row in rows]
        made = [{**before, **dict(zip(names, row, strict=True))} for before in made for row in rows]
    assert set(inspect.signature(test).parameters) <= {name for one in made for name in one}, "a fixture is needed"
    return made


class _Seen(BaseException):
    """A test has evaluated what it is about."""


@contextlib.contextmanager
def _watched() -> Iterator[list[Plan]]:
    """Collect the plan of the evaluation that a test asks for, and leave the test there."""
    seen: list[Plan] = []
    real = sizewell.recording.evaluate.evaluate

    @functools.wraps(real)
    def evaluate(*args: Any, **options: Any) -> Plan:
        seen.append(real(*args, **options))
        raise _Seen

    with contextlib.ExitStack() as patches:
        for module in list(sys.modules.values()):
            if (
                module is not sizewell.recording.evaluate and vars(module).get("evaluate") is real
            ):  # getattr loads lazy modules
                patches.enter_context(mock.patch.object(module, "evaluate", evaluate))
        yield seen
