"""The rules as rows of a table, and as the documentation site shows them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import yaml

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
            cells = (f"[`{row['rule']}`](policies/{row['rule']}.md)", row["asks"], row["prevents"], *levels, parameters)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def rule_page(rule: Rule, case: Mapping[str, Any]) -> str:
    """One rule in Markdown: why it is there, a program that breaks it and one that keeps it, how to waive it.

    The programs are those of a case of tests/policy/cases, by which the tests judge the rule.
    """
    explained = (rule.judge.__doc__ or "").split(">>>")[0]
    why = "\n".join(line.strip() for line in explained.strip().splitlines())
    (place, sentence), *_ = case["says"].items()
    levels = [f"| {profile} | {_level(rule, profile)} |" for profile in PROFILES]
    settings = [f"| `{name}` | {each.meaning} | `{_json(each.default)}` |" for name, each in rule.parameters.items()]
    parts = [
        f"# {rule.id}", why, f"It prevents {rule.prevents}.",
        "\n".join(["| profile | level |", "| --- | --- |", *levels]),
        *(["\n".join(["| parameter | meaning | default |", "| --- | --- | --- |", *settings])] if settings else []),
        "## A program that breaks it", _program(case, case["bad"]), f"> {place}: {sentence}\n>\n> fix: {case['fix']}",
        "## A program that keeps it", _program(case, mended(case), kind="good_"),
        "## An exception", WAIVER.format(rule=rule.id, place=place),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


WAIVER = """In `policy/config.yaml`, with who answers for it and the last day on which it holds:

```yaml
waivers:
  - {{rule: {rule}, resource: {place}, owner: ml-platform, reason: load test of this week, expires: 2026-12-31}}
```"""
_BESIDE = ("stack", "decision", "changes", "settings", "expiry_tags")


def _program(case: Mapping[str, Any], rows: list[dict[str, Any]], kind: str = "") -> str:
    """The resources of a case as a Pulumi program in YAML, and what else it is judged by."""
    resources: dict[str, Any] = {}
    for row in rows:
        properties = {
            **(row.get("inputs") or {}),
            **{key: f"${{{name}.id}}" for key, name in (row.get("refs") or {}).items()},
        }
        stated = {"type": row["type"], "properties": properties, "options": row.get("options")}
        name = row["name"] if row["name"] not in resources else f"{row['name']}-{row['type'].rsplit(':', 1)[-1]}"
        resources[name] = {key: value for key, value in stated.items() if value}
    beside = {key: case.get(f"{kind}{key}", case.get(key)) for key in _BESIDE if key in case or f"{kind}{key}" in case}
    text = yaml.safe_dump(_plain({"resources": resources}), sort_keys=False, width=110)
    said = f"Judged with {json.dumps(_plain(beside))}.\n\n" if beside else ""
    return f"{said}```yaml\nname: example\nruntime: yaml\n{text}```"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def mended(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The resources of a case after its mend: `NAME:path` sets an input, `NAME:` drops a resource, `NAME@option`."""
    rows: list[dict[str, Any]] = copy.deepcopy(case["bad"])
    for where, value in (case.get("mend") or {}).items():
        if "@" in where:
            name, option = where.split("@")
            for row in [row for row in rows if row["name"] == name and not row["type"].startswith("sizewell-")]:
                row.setdefault("options", {})[option] = tuple(value) if isinstance(value, list) else value
            continue
        name, path = where.split(":", 1)
        if not path:
            rows = [row for row in rows if row["name"] != name]
            continue
        row = next(row for row in rows if row["name"] == name)
        target: Any = row["inputs"]
        *steps, last = path.split(".")
        for step in steps:
            target = target[int(step)] if isinstance(target, list) else target.setdefault(step, {})
        if isinstance(target, list):
            target[int(last)] = value
        elif value is None:
            target.pop(last, None)
        else:
            target[last] = value
    return rows + (case.get("add") or [])
