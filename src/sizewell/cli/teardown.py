"""`sizewell teardown replay`: what is decided about a recorded timeline at each step. Stops nothing."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewell.cli import output

if TYPE_CHECKING:
    from datetime import datetime

    from sizewell.teardown.records import Verdict

DESCRIPTION = """Say what idle, empty and expired mean for a stack that was recorded.

`replay FILE` reads a timeline (what was seen of a stack by time) and prints what is decided at each
of its steps, for the stack and for each pool, and why: for people who tune limits, or ask why
something was stopped or kept. It reads one file, asks no cloud and stops nothing.
The format of FILE: docs/reference/timeline.schema.json.
"""
EXAMPLES = """example:
  sizewell teardown replay examples/timelines/weekend.json
  sizewell teardown replay examples/timelines/weekend.json --json

exit code: 0 replayed, 64 the file is not a timeline
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(metavar="ACTION", required=True)
    replay = commands.add_parser("replay", help="what is decided at each step of a recorded timeline")
    replay.add_argument("file", type=Path, metavar="FILE", help="a timeline, as JSON")
    replay.add_argument("--json", action="store_true", help="print the verdicts as JSON")


def run(args: argparse.Namespace) -> int:
    from sizewell.teardown.records import Limits
    from sizewell.teardown.timeline import read_timeline, replay

    timeline = read_timeline(args.file)
    steps = list(replay(timeline, Limits()))
    if args.json:
        output.print_json([_document(at, stack, pools) for at, stack, pools in steps])
        return 0
    table = output.table("time, UTC", "what", "verdict", "why", "next")
    for at, stack, pools in steps:
        for place, verdict in enumerate((stack, *pools)):
            time = f"{at:%Y-%m-%d %H:%M}" if place == 0 else ""
            table.add_row(time, verdict.subject, verdict.action, verdict.reason, _next(verdict))
    console = output.console()
    console.print(table)
    stopped = sum(verdict.action in ("empty", "destroy") for _, *both in steps for verdict in _flat(both))
    console.print(f"\n{len(steps)} steps; {stopped} verdicts would take something away")
    return 0


def _flat(both: list[Any]) -> list[Verdict]:
    stack, pools = both
    return [stack, *pools]


def _next(verdict: Verdict) -> str:
    if not verdict.next_step or verdict.next_at is None:
        return ""
    return f"{verdict.next_step} from {verdict.next_at:%m-%d %H:%M}"


def _document(at: datetime, stack: Verdict, pools: tuple[Verdict, ...]) -> dict[str, Any]:
    return {"at": at.isoformat(), "stack": _plain(stack), "pools": [_plain(pool) for pool in pools]}


def _plain(verdict: Verdict) -> dict[str, Any]:
    record = asdict(verdict)
    record["next_at"] = verdict.next_at.isoformat() if verdict.next_at else None
    return record
