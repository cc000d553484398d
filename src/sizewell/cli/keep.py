"""`sizewell keep`: a lease in a stack's tags, or a later end in its decision."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import iso_date, stacks
from sizewell.sizing.errors import UsageError
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.teardown.units import StackParts

DESCRIPTION = """Keep a stack: teardown neither scales down nor destroys anything of it until a day is over.

The lease is a stack tag in the backend (sizewell:keep). A lease is not enough for a stack that
expires before it ends, as ttl-STACK does not read tags: the command then changes the expiry date in
the decision, and nothing else, and prints which stacks to update, in which order, and what the
update replaces.
"""
EXAMPLES = """example:
  sizewell keep dev-aws --until 2026-11-27 --reason "demo on Friday"
  sizewell keep dev-aws --end

exit code: 0 kept, 64 bad input, 69 the backend does not respond
"""
DAYS_MAX = 90


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", shell_complete=stacks, help="a stack in the backend")
@click.option("--until", type=iso_date, metavar="DATE", help=f"last day, at most {DAYS_MAX} days from today")
@click.option("--reason", metavar="TEXT", help="reason, shown in the plan")
@click.option("--end", is_flag=True, help="remove the lease")
@click.option("--json", is_flag=True, help="print what was done as JSON")
@click.option("--on", type=iso_date, metavar="DATE", help="today (default: by the clock, in UTC)")
def command(args: Arguments) -> int:
    from sizewell.teardown.backend import LEASE_TAG, Backend
    from sizewell.teardown.gather import lease_of
    from sizewell.teardown.records import end_of

    root = project.root()
    stack: str = args.stack
    backend = Backend(root=root)
    project.must_be_stacks([stack], [each.name for each in backend.stacks()])
    if args.end:
        held = LEASE_TAG in backend.tags(stack)
        if held:
            backend.remove_tag(stack, LEASE_TAG)
        _say(args, [f"{stack}: the lease is removed" if held else f"{stack}: it has no lease"], until=None)
        return 0
    until, reason = _checked(args)
    parts = _parts(backend, stack)
    if parts.expires_at is not None and until >= parts.expires_at:
        _say(args, _later(root, stack, until, parts), until=until, held="decision")
        return 0
    backend.set_tag(stack, LEASE_TAG, f"{until.isoformat()} {reason}")
    lease = lease_of(backend.tags(stack), stack)
    if lease is None or lease.until != end_of(until):
        raise UsageError(
            f"{stack}: the backend did not store the tag {LEASE_TAG}\n  fix: use a backend with stack tags"
        )
    guards = "its idle guards stay on: a pool that is idle for their window and grace is still scaled down"
    _say(args, [f"{stack}: kept until {until} is over in every time zone: {reason}", guards], until=until, held="lease")
    return 0


def _say(args: Arguments, lines: Sequence[str], *, until: date | None, held: str = "nothing") -> None:
    """What was done; `held` is what keeps the stack: a lease, or a later end in its decision."""
    if args.json:
        through = until.isoformat() if until else None
        document = {"stack": args.stack, "held_by": held, "through": through, "reason": args.reason or ""}
        output.print_json({"schema": schema_of("keep"), **document, "notes": list(lines)})
        return
    for line in lines:
        print(line)


def _checked(args: Arguments) -> tuple[date, str]:
    today: date = args.on or datetime.now(UTC).date()
    until: date | None = args.until
    if until is None or args.reason is None:
        raise UsageError("--until and --reason are needed\n  fix: sizewell keep STACK --until DATE --reason TEXT")
    if not today <= until <= today + timedelta(days=DAYS_MAX):
        raise UsageError(f"--until: must be {today} to {today + timedelta(days=DAYS_MAX)}, got {until}")
    reason = " ".join(str(args.reason).split())
    if not reason or len(reason) > 200:
        raise UsageError(f"--reason: must have 1 to 200 characters, got {len(reason)}")
    return until, reason


def _parts(backend: object, stack: str) -> StackParts:
    import tempfile

    from sizewell.recording.sources.state import read_full_state
    from sizewell.teardown.backend import Backend
    from sizewell.teardown.units import stack_parts

    assert isinstance(backend, Backend)  # noqa: S101  (imported late: the command's help needs none of it)
    with tempfile.TemporaryDirectory(prefix="sizewell-keep-") as folder:
        path = Path(folder) / "state.json"
        backend.export(stack, path)
        return stack_parts(read_full_state(path), stack)


def _later(root: Path, stack: str, until: date, parts: StackParts) -> list[str]:
    """Move the end in the decision, the end alone; what was done, and what has to follow, in lines."""
    from sizewell.sizing.records.decision import Decision

    path = project.decision_path(root, stack)
    decision = Decision.from_json(path)
    if decision.edited:
        raise UsageError(f"{project.shown(path)}: was edited by hand\n  fix: sizewell size --stack {stack}, then again")
    ends = until + timedelta(days=1)
    if decision.expires_at is None or decision.expires_at < ends:
        decision.model_copy(update={"expires_at": ends}).write(path)
        moved = f"expires_at is {ends}; it was {decision.expires_at}, and nothing else changed"
    else:
        moved = f"expires_at is {decision.expires_at} already; the stack has not been updated since"
    lines = [
        f"{project.shown(path)}: {moved}",
        (
            f"A lease is not enough: {stack} ends on {parts.expires_at} at 00:00 UTC, and ttl-{stack} does not read "
            "tags. Instead:"
        ),
        f"  1. commit {project.shown(path)}",
        f"  2. pulumi up -s ttl-{stack}     first: it stops the machines",
        f"  3. pulumi up -s {stack}         tags and schedules that contain the date",
    ]
    fleets = [unit.name for unit in parts.units if unit.sized_by == "ec2-fleet"]
    if fleets:
        named = ", ".join(fleets)
        lines.append(
            f"Step 3 replaces spot fleets, as AWS cannot change their valid_until: {named}; their machines are "
            "terminated."
        )
    return lines
