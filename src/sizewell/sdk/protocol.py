"""The engine's protocol, as the SDK brings it, without the rest of the SDK, whose import alone takes half a second."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any


def modules(*names: str) -> tuple[Any, ...]:
    """Modules of `pulumi.runtime.proto`, by name. ImportError where the SDK is not installed.

    The protocol lies inside the SDK's package, and importing a part of a package runs the package first. So empty
    packages stand in `sys.modules` in its place while the parts are imported, and go again: a later `import pulumi`
    has to find the real one. Not where the SDK is loaded already. Call it before other threads import anything.
    """
    placeholders = [] if "pulumi" in sys.modules else _placeholders()
    try:
        return tuple(import_module(f"pulumi.runtime.proto.{name}") for name in names)
    finally:
        for name in placeholders:
            del sys.modules[name]


def _placeholders() -> list[str]:
    root = find_spec("pulumi")
    if root is None or not root.submodule_search_locations:
        raise ImportError("the pulumi package is not installed")
    folder = Path(next(iter(root.submodule_search_locations)))
    for name, path in (("pulumi", folder), ("pulumi.runtime", folder / "runtime")):
        module = ModuleType(name)
        module.__path__ = [str(path)]
        sys.modules[name] = module
    return ["pulumi", "pulumi.runtime"]
