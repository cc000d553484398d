"""The rules, one module per subject; `RULES` is all of them, sorted by id. What `@rule` marks in a module is a rule."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from sizewell.policy.rule import Rule, declared


def _all() -> tuple[Rule, ...]:
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return declared(__name__)


RULES: Final[tuple[Rule, ...]] = _all()
