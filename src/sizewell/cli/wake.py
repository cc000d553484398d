"""`sizewell wake`: undo what a guard, an emptying or an expiry did to the sizes of a stack's pools."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from sizewell.cli import keep, output, project, terminal
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import stacks
from sizewell.cli.teardown import opened
from sizewell.sizing.errors import UsageError
from sizewell.sizing.versions import schema_of

DESCRIPTION = """Scale pools up again: resume suspended launches, switch autoscaling on, undo a maximum size of 0.
Each pool gets the sizes that it was built with, and its initial number of
machines.

It starts machines, which are billed. An expired stack stays down: keep it, or move its expiry date first.
"""
EXAMPLES = """example:
  sizewell wake dev-aws
  sizewell wake dev-aws train

exit code: 0 awake, 64 bad input, 69 the cloud or the backend failed: run it again
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", shell_complete=stacks, help="a stack in the backend")
@click.argument("pool", required=False, help="one of its pools (default: all)")
@click.option("--json", is_flag=True, help="print what was done as JSON")
def command(args: Arguments) -> int:
    from sizewell.clouds.calls import CloudError
    from sizewell.teardown import act
    from sizewell.teardown.backend import Backend
    from sizewell.teardown.clients import must_be_own
    from sizewell.teardown.units import stack_parts

    root = project.root()
    listed = {stack.name: stack for stack in Backend(root=root).stacks()}
    project.must_be_stacks([args.stack], sorted(listed))
    _, journal, fresh = opened(root)
    reader = fresh()
    parts = stack_parts(reader.state(listed[args.stack]), args.stack)
    now = keep.clock()
    leased = any(lease.until > now for lease in reader.leases(args.stack))
    if parts.expires_at is not None and now.date() >= parts.expires_at and not leased:
        raise UsageError(
            f"{args.stack}: it expired on {parts.expires_at} (00:00 UTC), and is taken down once it is idle, or at "
            f"once where its end is firm\n"
            f"  fix: sizewell keep {args.stack} 7d --reason TEXT, then wake it"
        )
    units = [unit for unit in parts.units if unit.kind == "pool" and unit.sized_by]
    if args.pool is not None:
        project_pools = [unit.name for unit in units]
        units = [unit for unit in units if unit.name == args.pool]
        if not units:
            known = ", ".join(project_pools) or "none that can be scaled up"
            raise UsageError(f"{args.stack} has no pool {args.pool!r}\n  fix: name one of {known}")
    if not units:
        raise UsageError(
            f"{args.stack} has no pool that can be scaled up: its state registers none\n"
            f"  fix: where it was destroyed, build it again: pulumi up --stack {args.stack}"
        )
    if gone := [unit.name for unit in units if not unit.resources]:
        raise UsageError(
            f"{args.stack}: a destroy that was killed or failed has taken the machines' group of {', '.join(gone)}\n"
            f"  fix: build it again: pulumi up --stack {args.stack}"
        )
    about = {"stack": args.stack, "owner": parts.owner, "action": "wake", "why": "a person"}
    lock = journal.lock(args.stack, now)
    failed = 0
    pools: list[dict[str, str]] = []
    try:
        for unit in units:
            lock.must_hold()
            try:
                cloud = reader.cloud(unit.cloud, args.stack)
                must_be_own(unit, reader.accounts(args.stack))
                journal.write("begin", datetime.now(UTC), **about, subject=unit.name)
                with output.progress(f"waking {unit.name}"):
                    detail = act.wake(cloud, unit)
                journal.write("done", datetime.now(UTC), **about, subject=unit.name, detail=detail)
                pools.append({"pool": unit.name, "outcome": "awake", "detail": detail})
                if not args.json:
                    print(f"{unit.name}: {detail}")
            except CloudError as error:
                journal.write("failed", datetime.now(UTC), **about, subject=unit.name, detail=str(error)[:2000])
                failed += 1
                pools.append({"pool": unit.name, "outcome": "failed", "detail": str(error)})
                terminal.error(f"{unit.name}: {error}")
    finally:
        lock.release()
    if args.json:
        output.print_json({"schema": schema_of("wake"), "stack": args.stack, "pools": pools})
    return 69 if failed else 0
