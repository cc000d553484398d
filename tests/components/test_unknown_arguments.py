"""Every argument that is documented as an output is tried with one that nobody knows yet, as in a first preview."""

import asyncio
import importlib
import inspect
import sys
import typing
from itertools import product
from pathlib import Path

import pulumi
import pytest

from sizewell.components.inventory import args_type, clouds, component_classes
from sizewell.components.owned import Owned
from sizewell.recording.evaluate import evaluate

HERE = Path(__file__).parent
sys.path[:0] = [*(str(HERE / cloud) for cloud in clouds()), str(HERE.parent / "launch")]
ROOT = HERE.parents[1]
WRITTEN_DOWN = "test_makes_what_is_written_down"


class Unknown(pulumi.Output):
    """An output of a resource that is not there yet."""

    def __init__(self):
        async def answer(value):
            return value

        known = asyncio.ensure_future(answer(False))
        super().__init__(set(), asyncio.ensure_future(answer(None)), known)


def calls(function):
    """The arguments of each case of a test."""
    cases = [{}]
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "parametrize":
            names, values = mark.args[0], mark.args[1]
            names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
            rows = [value if len(names) > 1 else (value,) for value in values]
            cases = [{**case, **dict(zip(names, row, strict=True))} for case, row in product(cases, rows)]
    return cases


def built(cloud):
    """Component, name, arguments and stack of all forms that a cloud's tests write down."""
    found = []
    start = Owned.__init__

    def noted(self, name, args, *more, **options):
        found.append((type(self), name, dict(args), pulumi.get_stack()))
        start(self, name, args, *more, **options)

    folder = HERE / cloud
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Owned, "__init__", noted)
        patch.setattr(importlib.import_module("gcp_recording"), "golden", lambda *_: None)
        for path in sorted(folder.glob("test_*.py")):
            module = load(path)
            if hasattr(module, "golden") and module.golden.__module__ != module.__name__:
                patch.setattr(module, "golden", lambda *_: None)  # what is written down is others' to compare
            for name, function in vars(module).items():
                if name == WRITTEN_DOWN or name in ALSO:
                    for case in calls(function):
                        function(**case)
    return found


def load(path):
    spec = importlib.util.spec_from_file_location(f"unknown_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ALSO = ("test_operators_are_pinned_releases", "test_machines_that_are_there_are_a_record_and_nothing_is_made")


def outputs(shape, given, path=()):
    """Paths of the arguments in `given` that may be outputs."""
    for key, kind in shape.__annotations__.items():
        if key in given:
            yield from _within(kind, given[key], (*path, key))


def _within(kind, value, path):
    origin = typing.get_origin(kind)
    parts = typing.get_args(kind)
    if origin in (typing.NotRequired, typing.Required, typing.Annotated):
        yield from _within(parts[0], value, path)
    elif "Union" in str(origin) and "Output" in str(parts[-1]):  # pulumi.Input: a value, or an output or future of it
        yield path
        yield from _within(parts[0], value, path)
    elif origin is list and isinstance(value, list):
        for number, item in enumerate(value[:1]):
            yield from _within(parts[0], item, (*path, number))
    elif origin is dict and isinstance(value, dict):
        for key, item in [*value.items()][:1]:
            yield from _within(parts[1], item, (*path, key))
    elif inspect.isclass(kind) and typing.is_typeddict(kind) and isinstance(value, dict):
        yield from outputs(kind, value, path)


def with_unknown(given, path):
    key, *rest = path
    changed = dict(given) if isinstance(given, dict) else list(given)
    changed[key] = with_unknown(changed[key], rest) if rest else Unknown()
    return changed


@pytest.mark.parametrize("cloud", clouds())
def test_each_is_tried_with_an_unknown_one(cloud):
    tried, wrong, seen = set(), {}, set()
    for cls, name, args, stack in built(cloud):
        seen.add(cls)
        for path in outputs(args_type(cls), args):
            if (cls, path) in tried:
                continue
            tried.add((cls, path))
            try:
                evaluate(ROOT, stack, program=lambda c=cls, n=name, a=args, p=path: c(n, with_unknown(a, p)))
            except Exception as error:  # noqa: BLE001  (whatever it is, it is what a user would meet)
                wrong[f"{cls.__name__}.{'.'.join(map(str, path))}"] = f"{type(error).__name__}: {error}"[:300]
    assert wrong == {}
    missing = {one.__name__ for one in component_classes(cloud)} - {cls.__name__ for cls in seen}
    assert missing == set()
    assert len(tried) >= len(seen) - 3
