"""The documentation that follows from the rules: the table of policies and the schema of the configuration."""

from __future__ import annotations

import json

from sizewell.policy.config import schema
from sizewell.policy.rule import Rule
from sizewell.policy.rules import RULES
from sizewell.sizing.records.stackname import ENVIRONMENTS

_AREAS = {
    "spend": "Spend: what costs money while nothing is working",
    "correctness": "Correctness: what cannot start, or starts but does not work",
    "safety": "Safety: data loss, leaks and unauthorized access",
    "ownership": "Ownership: owner, cost center, environment and expiry",
}
_HEAD = """# Policies

The {count} rules of the policy pack, generated from `src/sizewell/policy/rules/`. The same rules run in
`pulumi preview --policy-pack policy`, in `sizewell policy` and in `sizewell preview`. Levels, parameters and waivers
are set in `policy/config.yaml` ([its schema](../../src/sizewell/schemas/policy.schema.json)). A value that is not known
yet makes a rule *undetermined*, which counts as failed at the rule's level; so does a rule that raises.

What components build is judged by Checkov too, after conversion; the checks that do not apply are listed in
`tests/scanner/skips.yaml` with the reason and the rule that covers them instead. Which rule or check catches which
planted weakness is in [planted weaknesses](mutations.md).
"""


def table() -> list[dict[str, str]]:
    """One row per rule: id, area, level, clouds, parameters, what it asks and what it prevents."""
    return [
        {
            "rule": rule.id,
            "area": rule.area,
            "level": _level(rule),
            "clouds": ", ".join(rule.clouds),
            "parameters": "; ".join(f"{name} = {_json(p.default)}" for name, p in rule.parameters.items()),
            "asks": _asks(rule),
            "prevents": rule.prevents,
        }
        for rule in RULES
    ]


def _asks(rule: Rule) -> str:
    return (rule.judge.__doc__ or "").strip().split("\n")[0].rstrip(".")


def _level(rule: Rule) -> str:
    levels = {environment: rule.level_in(environment) for environment in ENVIRONMENTS}
    if len(set(levels.values())) == 1:
        return rule.level
    return ", ".join(f"{level} in {environment}" for environment, level in levels.items() if level != rule.level) + (
        f", else {rule.level}"
    )


def _json(value: object) -> str:
    return json.dumps(value)


def reference() -> dict[str, str]:
    """The generated files: path from the repository's root -> content."""
    rows = table()
    lines = [_HEAD.replace("{count}", str(len(rows)))]
    for area, title in _AREAS.items():
        mine = [row for row in rows if row["area"] == area]
        lines += [f"## {title}", "", f"{len(mine)} rules.", "", "| rule | requires | prevents | level | parameters |"]
        lines.append("| --- | --- | --- | --- | --- |")
        for row in mine:
            parameters = f"`{row['parameters']}`" if row["parameters"] else ""
            cells = (f"`{row['rule']}`", row["asks"], row["prevents"], row["level"], parameters)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return {
        "docs/reference/policies.md": "\n".join(lines).rstrip() + "\n",
        "src/sizewell/schemas/policy.schema.json": json.dumps(schema(), indent=2, ensure_ascii=False) + "\n",
    }
