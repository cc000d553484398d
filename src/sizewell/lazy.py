"""Public names that are imported when they are asked for, so that a command loads what it needs and no more."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def names(package: str, defined: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of `package` for names that other modules define: name -> "module:name in it" or "module"."""

    def attribute(name: str) -> object:
        if name not in defined:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, own = defined[name].partition(":")
        try:
            value = getattr(importlib.import_module(module), own or name)
        except ModuleNotFoundError as error:
            from sizewell import source

            if told := source.missing(error):
                error.add_note(told)  # below the traceback of a program that the engine runs
            raise
        setattr(sys.modules[package], name, value)
        return value

    return attribute
