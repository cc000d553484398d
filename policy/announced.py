"""What rules say of themselves before they are loaded: the engine waits for these words, then starts the program.

`announced.json` has them, written by `make generate`. They stand for the rules until those are loaded, which takes
longer than the pack may take to answer; then `differing` compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

Level = Literal["mandatory", "advisory", "disabled"]
LEVELS: Final[tuple[Level, ...]] = ("mandatory", "advisory", "disabled")
ALONE: Final = ("things", "purchases", "grants", "openings", "jobs")  # subjects that one resource makes up
TOTAL: Final = "cost-total"  # not a rule: the line with the bill that a plain `pulumi preview` shows
FILE: Final = Path(__file__).parent / "announced.json"
RULES: Final = Path(__file__).parent / "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A setting of a rule: its default and the JSON Schema of its values."""

    default: Any
    schema: Mapping[str, Any]
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What the engine and a configuration ask of a rule: its name, levels and parameters, and what it prevents.

    `subject` is the field of `StackFacts` whose entries the rule judges one by one, or "stack" for all at once.
    """

    id: str
    subject: str
    prevents: str  # the money or failure, in a few words
    level: Level = "mandatory"
    levels: Mapping[str, Level] = field(default_factory=dict)  # by environment, where it differs
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    evaluator_only: bool = False  # needs what a policy process cannot see

    def defaults(self) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in self.parameters.items()}

    def level_in(self, environment: str) -> Level:
        return self.levels.get(environment, self.level)


def announced() -> Sequence[Announcement]:
    """The rules as the file has them; the rules themselves where it has others than stand beside it."""
    entries = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    standing = {path.stem for path in RULES.glob("*.py")} - {"__init__"}
    if {entry["id"].replace("-", "_") for entry in entries} != standing:
        from policy import rules

        return rules.RULES
    return [_read(entry) for entry in entries]


def _read(entry: dict[str, Any]) -> Announcement:
    parameters = {name: Parameter(**stated) for name, stated in entry.pop("parameters", {}).items()}
    return Announcement(**entry, parameters=parameters)


def written(rules: Iterable[Announcement]) -> str:
    """The file about `rules`; what is as it is by default is left out."""
    return json.dumps([_entry(rule) for rule in rules], indent=1, ensure_ascii=False) + "\n"


def _entry(rule: Announcement) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": rule.id, "subject": rule.subject, "prevents": rule.prevents}
    if rule.level != "mandatory":
        entry["level"] = rule.level
    if rule.levels:
        entry["levels"] = dict(rule.levels)
    if rule.parameters:
        entry["parameters"] = {
            name: {"default": one.default, "schema": dict(one.schema), "meaning": one.meaning}
            for name, one in rule.parameters.items()
        }
    if rule.evaluator_only:
        entry["evaluator_only"] = True
    return entry


def differing(said: Sequence[Announcement], rules: Sequence[Announcement]) -> list[str]:
    """The ids of rules that are not what was said of them."""
    before, now = ({rule.id: json.dumps(_entry(rule), sort_keys=True) for rule in listed} for listed in (said, rules))
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
