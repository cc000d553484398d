"""The page of what has run where, when and by which version, and of what never has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from sizewell.evidence.record import STAGES, WHAT, Record, Stage
from sizewell.sizing.providers import CLOUDS

ABOUT = (
    "Generated from the signed records in `evidence/`, each of one run of `sizewell evidence` in somebody's account.\n"
    "What was not tried is never counted as passed; tests against stand-ins of clouds are not listed here."
)


def page(records: Sequence[Record], *, about: str = "") -> str:
    """The page in Markdown, newest run first."""
    records = sorted(records, key=lambda each: (each.started_at, each.run), reverse=True)
    lines = ["# What has run in real accounts", "", about or ABOUT, "", "## By stage", ""]
    lines += [f"| stage | {' | '.join(CLOUDS)} |", f"| --- |{' --- |' * len(CLOUDS)}"]
    for name in STAGES:
        cells = [_cell([each for each in records if _is_on(each, cloud)], STAGES.index(name)) for cloud in CLOUDS]
        lines.append(f"| **{name}**: {WHAT[name]} | {' | '.join(cells)} |")
    lines += ["", "## Runs", ""]
    if not records:
        lines.append("None so far: nothing here has been shown to work in a real account.")
    for record in records:
        lines += _run(record)
    return "\n".join(lines).rstrip() + "\n"


def _is_on(record: Record, cloud: str) -> bool:
    return any(each.cloud == cloud for each in record.machines)


def _cell(records: Sequence[Record], number: int) -> str:
    """What is known of a stage on a cloud, by its newest run that tried it."""
    for record in records:
        stage = record.stages[number]
        if stage.outcome != "not tried":
            return f"{stage.outcome} {record.started_at[:10]}, {record.versions.get('sizewell', '?')}"
    return "never tried"


def _run(record: Record) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    machines = "; ".join(
        f"at most {each.nodes_max} x {each.instance_type} {each.market} in {each.cloud} {each.region}"
        for each in record.machines
    )
    limits = record.limits
    spent = f"at most {limits.usd_spent_max:.2f} of {limits.usd:.2f} USD"
    took = f"{limits.seconds_spent / 60:.0f} of {limits.seconds / 60:.0f} minutes"
    broken = "" if limits.kept else "; **a limit was passed**"
    clock = "; the machine's clock went back" if record.clock_went_back else ""
    times = f"; taken up again {record.interrupted} times" if record.interrupted else ""
    tried = f" Tried before: {', '.join(earlier(record))}." if record.attempts else ""
    return [
        f"### {record.started_at[:16].replace('T', ' ')} UTC, run {record.run[:8]}",
        "",
        f"{machines}. {versions}. {spent[0].upper()}{spent[1:]}, {took}{broken}{times}{clock}.{tried}",
        "",
        "| stage | outcome | minutes | figures |",
        "| --- | --- | --: | --- |",
        *(_row(stage) for stage in record.stages),
        "",
    ]


def earlier(record: Record) -> list[str]:
    """What was tried before the last time, and why it failed; equal ones that follow each other once, with a number."""
    words = [f"{each.stage} ({each.cause})" for each in record.attempts]
    runs = [(each, len(list(same))) for each, same in groupby(words)]
    return [each if number == 1 else f"{number} x {each}" for each, number in runs]


def _row(stage: Stage) -> str:
    outcome = f"{stage.outcome}: {stage.cause}" if stage.cause else stage.outcome
    minutes = "" if stage.seconds is None else f"{stage.seconds / 60:.1f}"
    figures = ", ".join(f"{name} {value:,g}" for name, value in stage.figures.items())
    return f"| {stage.stage} | {outcome} | {minutes} | {figures} |"
