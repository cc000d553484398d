"""One rule per file; `RULES` is all of them, sorted by id. Adding a file here adds a rule."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from sizewell.policy.rule import Rule


def _found() -> tuple[Rule, ...]:
    rules = [import_module(f"{__name__}.{module.name}").RULE for module in iter_modules(__path__)]
    return tuple(sorted(rules, key=lambda rule: rule.id))


RULES: Final[tuple[Rule, ...]] = _found()
