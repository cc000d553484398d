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
def test_examples_in_docstrings(name, monkeypatch):
    # doctest asks before each docstring whether any file has changed since it was read: half of the time.
    monkeypatch.setattr("linecache.checkcache", lambda filename=None: None)
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
