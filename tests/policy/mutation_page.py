"""docs/reference/mutations.md: each planted weakness and what catches it, each rule and what it catches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planting import Mutant


def page(
    killed: Mapping[Mutant, Sequence[str]], built: Mapping[str, Sequence[Mutant]], elsewhere: Mapping[str, str]
) -> str:
    """The page.

    Args:
        killed: Each mutant with what notices it: rules of ours, else checks of Checkov.
        built: Each rule with the mutants that it notices.
        elsewhere: Each rule that nothing a component builds can violate, and why.

    """
    count = sum(1 for killers in killed.values() if killers)
    ours = sum(1 for killers in killed.values() if killers and not killers[0].startswith("CKV"))
    share = 100 * count / len(killed)
    lines = [
        "# Planted weaknesses and what catches them",
        "",
        "<!-- written by tests/policy/test_mutants.py -->",
        "",
        "Each secure or frugal property of what a component builds is undone in all resources that have it; one of our",
        f"own rules, else a check of Checkov (`CKV…`), must notice. {count} of {len(killed)} are caught ({share:.1f} %),",
        f"{ours} by rules of ours.",
        "What is undone, and to what, stands in `tests/policy/mutants.yaml`.",
        "",
        "| Component | Resource | What is undone | Caught by |",
        "| --- | --- | --- | --- |",
    ]
    for mutant in sorted(killed, key=str):
        caught = ", ".join(f"`{killer}`" for killer in killed[mutant]) or "nothing"
        component = mutant.component.removeprefix("sizewell-").replace(":index:", " ")
        lines.append(
            f"| {component} | {mutant.type.rsplit(':', 1)[-1]} | `{mutant.shown.replace('|', '–')}` | {caught} |"
        )
    lines += [
        "",
        "## Each rule and the weaknesses that it catches",
        "",
        f"{len(built)} rules catch at least one planted weakness each.",
        "",
        "| Rule | Weaknesses | One of them |",
        "| --- | --- | --- |",
    ]
    lines += [f"| `{rule}` | {len(built[rule])} | {str(built[rule][0]).replace('|', '–')} |" for rule in sorted(built)]
    lines += [
        "",
        "## Rules that nothing a component builds can violate",
        "",
        f"{len(elsewhere)} rules judge programs without components of ours; each catches a hand-written program",
        "(`tests/policy/cases/`).",
        "",
        "| Rule | Why no component can violate it |",
        "| --- | --- |",
    ]
    lines += [f"| `{rule}` | {elsewhere[rule]} |" for rule in sorted(elsewhere)]
    return "\n".join([*lines, ""])
