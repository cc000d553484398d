"""What rules say of themselves before they are loaded: the engine waits for these words, then starts the program.

The schema of the configuration has them, which editors read too and `make generate` writes: reading it takes 4 ms,
loading the rules some 240 ms of processor time, and every preview waits for it (docs/adr/0009). What the schema says
stands for the rules until those are loaded; then `differing` compares the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from sizewell.policy.announcement import STATED, Announcement, Parameter

FILE: Final = Path(__file__).parents[1] / "schemas" / "policy.schema.json"
RULES: Final = Path(__file__).parent / "rules"
_DECLARATION: Final = re.compile(r"^@rule\(\s*\"([a-z0-9-]+)\"", re.MULTILINE)  # found without importing the rules


def announced() -> Sequence[Announcement]:
    """The rules as the schema has them; the rules themselves where their modules declare others."""
    known = list(_read(json.loads(FILE.read_text(encoding="utf-8")))) if FILE.exists() else []
    declared = {name for path in RULES.glob("*.py") for name in _DECLARATION.findall(path.read_text(encoding="utf-8"))}
    if {rule.id for rule in known} != declared:
        from sizewell.policy import rules

        return rules.RULES
    return known


def _read(schema: dict[str, Any]) -> Iterator[Announcement]:
    parameters = schema["properties"]["parameters"]["properties"]
    for name, rule in schema["$defs"]["levels_of_rules"]["properties"].items():
        described = parameters.get(name, {}).get("properties", {})
        yield Announcement(
            id=name,
            prevents=rule["description"],
            parameters={key: Parameter.of_schema(value) for key, value in described.items()},
            **rule[STATED],
        )


def differing(said: Sequence[Announcement], rules: Sequence[Announcement]) -> list[str]:
    """The ids of rules that are not what was said of them."""
    before, now = ({rule.id: _compared(rule) for rule in listed} for listed in (said, rules))
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _compared(rule: Announcement) -> str:
    parameters = {name: parameter.described() for name, parameter in rule.parameters.items()}
    return json.dumps([rule.prevents, rule.stated(), parameters], sort_keys=True)
