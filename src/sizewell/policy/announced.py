"""What rules say of themselves before they are loaded: the engine waits for these words, then starts the program.

`announced.json` has them, written by `make generate`. They stand for the rules until those are loaded, which takes
longer than the pack may take to answer; then `differing` compares the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from sizewell.policy.announcement import Announcement, Parameter
from sizewell.sizing.versions import content, schema_of

FILE: Final = Path(__file__).parent / "announced.json"
RULES: Final = Path(__file__).parent / "rules"
_DECLARATION: Final = re.compile(r"^@rule\(\s*\"([a-z0-9-]+)\"", re.MULTILINE)  # found without importing the rules


def announced() -> Sequence[Announcement]:
    """The rules as the file has them; the rules themselves where their modules declare others than the file has."""
    entries = stated(FILE) if FILE.exists() else []
    declared = {name for path in RULES.glob("*.py") for name in _DECLARATION.findall(path.read_text(encoding="utf-8"))}
    if {entry["id"] for entry in entries} != declared:
        from sizewell.policy import rules

        return rules.RULES
    return [_read(entry) for entry in entries]


def stated(path: Path) -> list[dict[str, Any]]:
    """The entries of such a file; ConfigError where a newer release wrote it."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return list(data if isinstance(data, list) else content("announced", data, path.name)["rules"])  # a list: at first


def _read(entry: dict[str, Any]) -> Announcement:
    parameters = {name: Parameter(**stated) for name, stated in entry.pop("parameters", {}).items()}
    return Announcement(**entry, parameters=parameters)


def written(rules: Iterable[Announcement]) -> str:
    """The file about `rules`; what is as it is by default is left out."""
    data = {"schema": schema_of("announced"), "rules": [_entry(rule) for rule in rules]}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _entry(rule: Announcement) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": rule.id, "subject": rule.subject, "prevents": rule.prevents}
    if rule.level != "mandatory":
        entry["level"] = rule.level
    if rule.levels:
        entry["levels"] = dict(rule.levels)
    if rule.parameters:
        entry["parameters"] = {
            name: {"default": parameter.default, "schema": dict(parameter.schema), "meaning": parameter.meaning}
            for name, parameter in rule.parameters.items()
        }
    if rule.evaluator_only:
        entry["evaluator_only"] = True
    return entry


def differing(said: Sequence[Announcement], rules: Sequence[Announcement]) -> list[str]:
    """The ids of rules that are not what was said of them."""
    before, now = ({rule.id: json.dumps(_entry(rule), sort_keys=True) for rule in listed} for listed in (said, rules))
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
