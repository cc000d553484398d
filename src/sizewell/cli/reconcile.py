"""`sizewell reconcile`: what the cloud has by a stack's tag and no state knows is listed, adopted or deleted."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import stacks
from sizewell.cli.teardown import opened, project_name
from sizewell.sizing.errors import SizewellError, UsageError
from sizewell.sizing.providers import clouds_where
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sizewell.reconcile.adoption import Match
    from sizewell.reconcile.reconciler import Comparison, Outcome, Reconciler
    from sizewell.recording.sources.state import State
    from sizewell.sizing.records.decision import Decision
    from sizewell.teardown.config import TeardownConfig
    from sizewell.teardown.gather import StatusReader
    from sizewell.teardown.journal import Journal
    from sizewell.teardown.things import Thing

DESCRIPTION = """List resources that have a stack's tag but are in no state, as left by a killed update, a capacity
error or a lost response. Each is matched with a resource of the stack by its tag. Resources that
cannot have tags, such as rules and routes, are matched by the name that the program gives them:
the provider is asked whether they exist. What cannot be looked up either way is listed, and so is
what its provider cannot import.

--adopt adds the matched resources to the state, and the next `pulumi up` continues with them.
--delete adds them and destroys them; resources that hold data stay in the state unless --data is
given. Both only print what they would do unless --yes is given. A resource that is matched by its
name alone is adopted but not deleted. A resource that is not part of the stack, or exists twice,
is left alone: check it by hand. The same adopts a stack whose state was lost.
"""
EXAMPLES = """example:
  sizewell reconcile dev-aws
  sizewell reconcile dev-aws --adopt --yes

exit code: 0 every resource is in a state, 6 a resource is in no state or cannot be looked up,
64 bad input, 69 a cloud did not respond or the engine failed: run it again
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", shell_complete=stacks, help="a stack in the backend")
@click.option("--adopt", is_flag=True, help="add the matched resources to the state")
@click.option("--delete", is_flag=True, help="destroy the matched resources")
@click.option("--data", is_flag=True, help="with --delete: destroy what holds data too")
@click.option("--yes", is_flag=True, help="do it; without --yes it is only printed")
@click.option("--json", is_flag=True, help="print the list as JSON")
def command(args: Arguments) -> int:
    if args.adopt and args.delete:
        raise UsageError("reconcile: --adopt and --delete exclude each other\n  fix: give one of them")
    from sizewell.reconcile.reconciler import Reconciler
    from sizewell.teardown.backend import Backend

    if (args.yes or args.data) and not (args.adopt or args.delete):
        raise UsageError("--yes and --data need --adopt or --delete\n  fix: give one of the two")
    root = project.root()
    backend = Backend(root=root)
    listed = {stack.name: stack for stack in backend.stacks()}
    project.must_be_stacks([args.stack], sorted(listed))
    config, journal, fresh = opened(root)
    reader = fresh()
    if not reader.accounts(args.stack):
        fix = f"pulumi config set --path 'sizewell:accounts[0]' ACCOUNT --stack {args.stack}"
        raise UsageError(f"{args.stack}: sizewell:accounts is not set, so the login cannot be checked\n  fix: {fix}")
    name = project_name(root)
    reconciler = Reconciler(
        backend=backend,
        stack=args.stack,
        project=name,
        things=lambda state: _things(reader, root, args.stack, state, name),
        identity_of=lambda kind, resource: _identity(name, args.stack, kind, resource),
    )
    for lock in backend.locks():
        if lock.stack == args.stack and lock.project in ("", name):
            held = f"{args.stack}: an update of it has held its lock since {lock.at:%Y-%m-%d %H:%M} UTC ({lock.by})"
            output.note(f"{held}; if no engine runs there any more: pulumi cancel --stack {args.stack} --yes")
    with output.progress(f"querying the clouds for {args.stack}"):
        comparison = reconciler.look()
    if args.yes:
        outcome = _act(args, reconciler, comparison, journal, _deleter(config, reader, args.stack))
        comparison = reconciler.look()
        if not args.json:
            for match in outcome.done:
                print(f"{'deleted' if args.delete else 'adopted'}: {match.wanted.type} {match.wanted.name}")
            for match, why in outcome.kept:
                print(f"adopted, not deleted: {match.wanted.type} {match.wanted.name}: {why}")
    if args.json:
        output.print_json(_document(comparison))
    else:
        _print(args, comparison)
    return 6 if comparison.orphans or comparison.sorted.unseen or comparison.fault else 0


def _act(
    args: Arguments,
    reconciler: Reconciler,
    comparison: Comparison,
    journal: Journal,
    deleter: Mapping[str, str],
) -> Outcome:
    """Adopt or delete under the stack's lock, with a record before and after."""
    action = "delete" if args.delete else "adopt"
    about = {"stack": args.stack, "subject": "", "owner": "", "action": action, "why": "a person"}
    lock = journal.lock(args.stack, datetime.now(UTC))
    try:
        named = [match.wanted.urn for match in comparison.sorted.matches]
        journal.write("begin", datetime.now(UTC), **about, resources=named)
        lock.must_hold()
        try:
            if args.delete:
                outcome = reconciler.delete(comparison, data=args.data, environment=deleter)
            else:
                outcome = reconciler.adopt(comparison)
        except SizewellError as error:
            journal.write("failed", datetime.now(UTC), **about, detail=str(error)[:2000])
            raise
        journal.write("done", datetime.now(UTC), **about, resources=[match.wanted.urn for match in outcome.done])
    finally:
        lock.release()
    return outcome


def _deleter(config: TeardownConfig, reader: StatusReader, stack: str) -> Mapping[str, str]:
    """Settings of the identity that deletes in the stack's account and environment."""
    from sizewell.sizing.records.stackname import environment_of

    return config.deleter(reader.accounts(stack), environment_of(stack, ""))


def _print(args: Arguments, comparison: Comparison) -> None:
    rows: list[tuple[str, str]] = []
    for match in comparison.sorted.matches:
        identity = match.thing.identity if match.thing else f"{match.wanted.type} {match.identity}"
        rows.append((identity, _would(args, match)))
    for things, what in (
        (comparison.sorted.duplicates, "a duplicate: delete the copy that is not used"),
        (comparison.sorted.unmatched, "no resource of the stack: left by one, or made by hand"),
    ):
        rows += [(thing.identity, what) for thing in things]
    table = output.table("in no state", "what it is")
    for row in rows:
        table.add_row(*row)
    if rows:
        output.console().print(table)
    for thing, reason in comparison.sorted.refused:
        print(f"cannot be adopted: {thing.identity}: {reason}; delete it by hand, and the next update creates it again")
    for thing in comparison.sorted.gone:
        print(f"gone: {thing.identity}: only its tag is listed still")
    for urn in comparison.sorted.unseen:
        name, kind = urn.rpartition("::")[2], urn.split("::")[2].rpartition("$")[2]
        why = "it cannot have tags, and no provider can tell whether it exists"
        print(f"cannot be looked up: {name} ({kind}): {why}; check it by hand")
    for urn in comparison.sorted.pending:
        print(
            f"pending: {urn.rpartition('::')[2]} ({urn.split('::')[2].rpartition('$')[2]}): the cloud does not list it"
        )
    if comparison.fault:
        print(f"it is not known what the program would build: {comparison.fault}")
    found = f"{plural(comparison.things, 'resource')} {'has' if comparison.things == 1 else 'have'}"
    absent = "1 is" if comparison.orphans == 1 else f"{comparison.orphans} are"
    print(f"{found} the tag of {args.stack}; {absent} not in the state")
    if comparison.sorted.matches or comparison.sorted.pending:
        how = "delete" if args.delete else "adopt"
        changed = "" if args.yes or not (args.adopt or args.delete) else "nothing was changed; "
        print(
            f"{changed}to {how} {'what is left' if args.yes else 'them'}: sizewell reconcile {args.stack} --{how} --yes"
        )


def _would(args: Arguments, match: Match) -> str:
    """What the command does with a resource that it matched."""
    if match.by_name_alone:
        return f"{'kept' if args.delete else 'adopt as'} {match.wanted.name}: check it first, as only its name matches"
    if args.delete and match.data and not args.data:
        return f"adopt as {match.wanted.name}, and do not delete it, as it holds data ({match.data})"
    return f"{'delete' if args.delete else 'adopt'} as {match.wanted.name}"


def _document(comparison: Comparison) -> dict[str, Any]:
    return {
        "schema": schema_of("reconciliation"),
        "things": comparison.things,
        "matched": [
            {
                "urn": match.wanted.urn,
                "type": match.wanted.type,
                "identity": match.identity,
                "data": match.data,
                "thing": asdict(match.thing) if match.thing else None,
            }
            for match in comparison.sorted.matches
        ],
        "duplicates": [asdict(thing) for thing in comparison.sorted.duplicates],
        "unmatched": [asdict(thing) for thing in comparison.sorted.unmatched],
        "refused": [{**asdict(thing), "why": why} for thing, why in comparison.sorted.refused],
        "gone": [asdict(thing) for thing in comparison.sorted.gone],
        "pending": list(comparison.sorted.pending),
        "unseen": list(comparison.sorted.unseen),
        "fault": comparison.fault,
    }


def _decision(root: Path, stack: str) -> Decision | None:
    from sizewell.sizing.errors import DecisionError
    from sizewell.sizing.records.decision import Decision

    try:
        return Decision.from_json(project.decision_path(root, stack))
    except DecisionError:
        return None


def _things(reader: StatusReader, root: Path, stack: str, state: State, project_: str) -> list[Thing]:
    """Everything with the stack's tag in each of its clouds: those of its state, and of its decision where an update
    was killed before much stood.
    """
    from sizewell.components.tags import legal
    from sizewell.teardown.orphans import in_cloud
    from sizewell.teardown.things import Owner
    from sizewell.teardown.units import stack_parts

    parts, decision = stack_parts(state, stack), _decision(root, stack)
    pools = [pool for workload in decision.workloads for pool in workload.pools] if decision else []
    clouds = sorted({*parts.clouds, *(pool.cloud for pool in pools)})
    if not clouds:
        raise UsageError(
            f"{stack}: neither its state nor its decision names a cloud\n  fix: none needed, as a stack without a "
            f"cloud has no resources"
        )
    by_region = clouds_where(lambda cloud: cloud.regions.asked_apart)
    regions = {*parts.regions, *(pool.region for pool in pools if pool.cloud in by_region)}
    accounts, owner = reader.accounts(stack), Owner(project=legal(project_), stack=legal(stack))
    return [thing for cloud in clouds for thing in in_cloud(reader.cloud(cloud, stack), accounts, regions, owner)]


def _identity(project_: str, stack: str, kind: str, name: str) -> str:
    from sizewell.components.tags import sizewell_id

    return sizewell_id(project=project_, stack=stack, type_token=kind, name=name)
