"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import sizewell

PROGRAMS = {"sizewell.cli.demo"}  # it only prints


def modules() -> list[str]:
    names = ["sizewell", *(module.name for module in pkgutil.walk_packages(sizewell.__path__, "sizewell."))]
    return sorted(set(names) - PROGRAMS)


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
