"""The rules as rows of a table, and as the documentation site shows them."""

from __future__ import annotations

import json

from sizewell.policy.config import PROFILES, Config, Profile
from sizewell.policy.engine import NOT_JUDGED, WITH_ACCELERATORS
from sizewell.policy.rule import Rule
from sizewell.policy.rules import RULES
from sizewell.sizing.records.stackname import ENVIRONMENTS

_AREAS = {
    "spend": "Spend: what costs money while nothing is working",
    "correctness": "Correctness: what cannot start, or starts but does not work",
    "safety": "Safety: data loss, leaks and unauthorized access",
    "ownership": "Ownership: owner, cost center, environment and expiry",
}


def table() -> list[dict[str, str]]:
    """One row per rule: id, area, level in each profile, clouds, parameters, what it asks and what it prevents."""
    return [
        {
            "rule": rule.id,
            "area": rule.area,
            **{profile: _level(rule, profile) for profile in PROFILES},
            "clouds": ", ".join(rule.clouds),
            "parameters": "; ".join(f"{name} = {_json(p.default)}" for name, p in rule.parameters.items()),
            "asks": _asks(rule),
            "prevents": rule.prevents,
        }
        for rule in RULES
    ]


def _asks(rule: Rule) -> str:
    return (rule.judge.__doc__ or "").strip().split("\n")[0].rstrip(".")


def _level(rule: Rule, profile: Profile) -> str:
    """The level of a rule in a profile; `accelerators` judges what has some and what surrounds them."""
    config = Config(profile=profile)
    levels = {environment: config.level(rule, environment) for environment in ENVIRONMENTS}
    usual = levels.get("prod", rule.level)
    others = [f"{level} in {environment}" for environment, level in levels.items() if level != usual]
    text = ", ".join([*others, f"else {usual}" if others else usual])
    if profile != "accelerators" or rule.id == NOT_JUDGED or rule.about_accelerators:
        return text
    if rule.around_accelerators or rule.subject == "stack":
        return f"{text}; in stacks with accelerators"
    return f"{text}; of what has accelerators" if rule.subject in WITH_ACCELERATORS else "counted"


def _json(value: object) -> str:
    return json.dumps(value)


def sections() -> str:
    """Every rule in Markdown, by area: what it requires and prevents, its level in each profile, its parameters.

    The documentation site has them below docs/reference/policies.md. In git they would be a second copy of what stands
    above each rule, that every new rule has to write again.
    """
    rows = table()
    lines: list[str] = []
    for area, title in _AREAS.items():
        lines += [f"## {title}", "", f"| rule | requires | prevents | {' | '.join(PROFILES)} | parameters |"]
        lines.append("| --- | --- | --- | --- | --- | --- | --- |")
        for row in (row for row in rows if row["area"] == area):
            parameters = f"`{row['parameters']}`" if row["parameters"] else ""
            levels = (row[profile] for profile in PROFILES)
            cells = (f"`{row['rule']}`", row["asks"], row["prevents"], *levels, parameters)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)
