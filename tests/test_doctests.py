"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = ("sizing", "resources", "policy", "preview", "cli", "components")
PROGRAMS = {"policy.__main__", "cli.demo"}  # importing them runs them, or they only print


def modules() -> list[str]:
    names = []
    for package in PACKAGES:
        root = importlib.import_module(package)
        names += [package, *(m.name for m in pkgutil.walk_packages(root.__path__, f"{package}."))]
    return sorted(set(names) - PROGRAMS)


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
