"""`sizewell reconcile`: what the cloud has by a stack's tag and no state knows. Changes nothing."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from sizewell.cli import output, project
from sizewell.cli.teardown import opened
from sizewell.sizing.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sizewell.teardown.gather import Gatherer
    from sizewell.teardown.orphans import Thing
    from sizewell.teardown.units import StackParts

DESCRIPTION = """List what the cloud has with a stack's tag and no state knows: what an update that was killed, a
lost answer or a failed deletion left. It changes nothing; what is listed a person adopts (pulumi
import) or deletes. Things that carry no tag of their own, such as rules and policies, are not seen.
"""
EXAMPLES = """example:
  sizewell reconcile dev-aws

exit code: 0 all is known, 6 something is in no state, 64 bad input, 69 a cloud did not answer
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", metavar="STACK", help="a stack of the backend")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> int:
    from sizewell.teardown.backend import Backend
    from sizewell.teardown.orphans import unknown_to
    from sizewell.teardown.units import stack_parts

    root = project.root()
    listed = {stack.name: stack for stack in Backend(root=root).stacks()}
    project.must_be_stacks([args.stack], sorted(listed))
    _, _, fresh = opened(root)
    gatherer = fresh()
    state = gatherer.state(listed[args.stack])
    parts = stack_parts(state, args.stack)
    clouds = parts.clouds or _stated_clouds(root, args.stack)
    if not clouds:
        raise UsageError(
            f"{args.stack}: neither its state nor its decision names a cloud\n  fix: nothing is to be looked for"
        )
    things = [thing for cloud in clouds for thing in _things(gatherer, cloud, args.stack, parts)]
    orphans = unknown_to(things, state)
    if args.json:
        output.print_json([asdict(thing) for thing in orphans])
        return 6 if orphans else 0
    for operation in state.pending_operations:
        print(f"pending: {operation.type} {operation.resource.urn.rpartition('::')[2]} ({operation.resource.type})")
    if state.pending_operations:
        print(f"  pulumi refresh -s {args.stack} asks what became of each")
    table = output.table("kind", "region", "what no state knows")
    for thing in orphans:
        table.add_row(thing.kind, thing.region, thing.identity)
    if orphans:
        output.console().print(table)
        print("adopt each with `pulumi import`, or delete it; then run this again")
    print(f"{len(things)} things have the tag of {args.stack}; {len(orphans)} are in no state")
    return 6 if orphans else 0


def _stated_clouds(root: Path, stack: str) -> tuple[str, ...]:
    """The clouds of the stack's decision, where its state has nothing yet."""
    from sizewell.sizing.errors import DecisionError
    from sizewell.sizing.records.decision import Decision

    try:
        decision = Decision.from_json(project.decision_path(root, stack))
    except DecisionError:
        return ()
    return tuple(sorted({pool.cloud for workload in decision.workloads for pool in workload.pools}))


def _things(gatherer: Gatherer, cloud: str, stack: str, parts: StackParts) -> Sequence[Thing]:
    from sizewell.clouds.aws import Aws
    from sizewell.clouds.azure import Azure
    from sizewell.clouds.gcp import Google
    from sizewell.teardown.orphans import in_aws, in_azure, in_google

    client = gatherer.cloud(cloud, stack)
    tag = _legal(stack)
    if isinstance(client, Aws):
        return in_aws(client, parts.regions, tag)
    things: list[Thing] = []
    for account in gatherer.accounts(stack):
        if isinstance(client, Google):
            things += in_google(client, account, tag)
        elif isinstance(client, Azure):
            things += in_azure(client, account, tag)
    return things


def _legal(stack: str) -> str:
    from sizewell.components.tags import legal

    return legal(stack)
