"""`sizewell keep`: a lease in the journal of teardown, and a later end in the stack's decision."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import stacks
from sizewell.sizing.errors import ConfigError, ServiceError, UsageError
from sizewell.sizing.records.stackname import cluster_of, normal_environment
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from datetime import date

    from sizewell.teardown.journal import Journal
    from sizewell.teardown.units import StackParts

DESCRIPTION = """Keep a stack: teardown neither scales down nor destroys anything of it until a time,
past its end too.

The lease is written to the journal (`journal:` in stacks/config/teardown.yaml, --journal or
SIZEWELL_JOURNAL), and counts from the next look on, wherever that runs. With --journal no project
and no backend is needed; in a project whose own journal that is, names are checked as without it.

ttl-STACK reads no lease and no pause: it only notifies, but where `expiry: firm` is set for the environment it
scales the stack to zero. There the command also changes the expiry date in the decision, and prints
which stacks to update, and what that replaces.
"""
EXAMPLES = """examples:
  sizewell keep dev-aws 4h --reason "demo"
  sizewell keep dev-aws --until 2027-02-01T18:00 --zone Europe/London --reason "demo on Monday"
  sizewell keep dev-aws --end

exit code: 0 kept, 64 bad input, 69 the journal or the backend does not respond
"""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")  # as the engine has it
journal_option = click.option(
    "--journal", metavar="URI", help="the journal, without a project (default: SIZEWELL_JOURNAL, else teardown.yaml's)"
)
until_option = click.option(
    "--until", metavar="TIME", help="a day (through its end), a time with its zone, or a duration such as 4h"
)
zone_option = click.option("--zone", default="", metavar="NAME", help="time zone of a time that has none")


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", shell_complete=stacks, help="a stack")
@click.argument("duration", required=False, help="from now on, such as 4h or 3d; or --until")
@until_option
@zone_option
@click.option("--reason", metavar="TEXT", help="reason, shown in the plan; needed but with --end")
@click.option("--end", is_flag=True, help="end the lease")
@journal_option
@click.option("--json", is_flag=True, help="print what was done as JSON")
def command(args: Arguments) -> int:
    from sizewell.teardown.backend import LEASE_TAG, Backend
    from sizewell.teardown.until import moment

    now = clock()
    stack: str = args.stack
    if args.end:
        if args.duration or args.until:
            asked = args.duration or f"--until {args.until}"
            raise UsageError(
                f"--end ends the lease now, and {asked} is a time\n"
                f"  fix: sizewell keep {stack} --end{option(args)}, or "
                f"sizewell keep {stack} {asked} --reason TEXT{option(args)}"
            )
        journal, root = opened(args, [stack])
        held = journal.longest("lease", stack, now) is not None
        if held:
            _lease(journal, args, now, now, "ended")
        backend = Backend(root=root) if root else None
        try:
            if backend is not None and LEASE_TAG in backend.tags(stack):  # of an older release
                backend.remove_tag(stack, LEASE_TAG)
                held = True
        except ServiceError as error:
            output.note(f"{stack}: whether it has a tag {LEASE_TAG} is not known: {_first_line(error)}")
        lines = [f"{stack}: the lease is ended" if held else f"{stack}: it has no lease"]
        _say(args, [*lines, *still_paused(journal, stack, now), written(journal)], until=None)
        return 0
    until = moment(_one_time(args), now, zone=args.zone, option="--until" if args.until else "keep")
    if args.reason is None:
        till = f"--until {args.until}" if args.until else args.duration
        raise UsageError(
            f"--reason is missing: the plan shows it\n  fix: sizewell keep {stack} {till} --reason TEXT{option(args)}"
        )
    reason = one_line(args.reason)
    journal, root = opened(args, [stack])
    longer = longer_than(journal, "lease", stack, now, until)
    _lease(journal, args, now, until, reason)
    lines = [f"{stack}: kept until {until:%Y-%m-%d %H:%M} UTC: {reason}"]
    lines += longer
    guards, unread = unheld(stack).split("\n")
    lines.append(guards)
    try:
        lines += [unread] if root is None else _beyond_the_end(root, stack, until)
    except ServiceError as error:  # the lease is written, and holds
        output.note(f"{stack}: its state was not read: {_first_line(error)}")
        lines.append(unread)
        lines.append("no expiry date was changed: where its end is firm, keep it again where its state can be read")
    _say(args, [*lines, written(journal)], until=until, held="lease")
    return 0


def clock() -> datetime:
    """By the clock alone: a lease of another day would be past, or hold for longer than 90 days."""
    return datetime.now(UTC)


def written(journal: Journal) -> str:
    """Where a word was put: in a wrong journal no run reads it."""
    return f"journal: {journal.store.uri}"


def unheld(stack: str) -> str:
    """What reads no record of the journal, in two lines."""
    return (
        "idle guards stay on: a pool that is idle for their window and grace is still scaled down\n"
        f"ttl-{stack} reads no lease and no pause: with `expiry: firm` it scales the stack to zero at its end"
    )


def _one_time(args: Arguments) -> str:
    """Until when, as the line has it. UsageError where it has none, or two."""
    if args.until and args.duration:
        two = f"{args.duration!r} and --until {args.until} are two times"
        fix = f"sizewell keep {args.stack} {args.duration} --reason TEXT{option(args)}, or --until alone"
        raise UsageError(f"{two}\n  fix: {fix}")
    if not (args.until or args.duration):
        from sizewell.teardown.until import soon

        fix = f"sizewell keep {args.stack} 4h --reason TEXT{option(args)}, or --until {soon(clock())} in place of 4h"
        raise UsageError(f"until when is not said: neither a duration nor --until\n  fix: {fix}")
    return str(args.until or args.duration)


def _beyond_the_end(root: Path, stack: str, until: datetime) -> list[str]:
    """Move the end in the decision where it is firm and the lease goes beyond it; what was done, in lines."""
    from sizewell.teardown.backend import Backend

    backend = Backend(root=root)
    parts = _parts(backend, stack)
    if parts.expires_at is None or until <= datetime.combine(parts.expires_at, time(), UTC):
        return []
    if not _firm(root, parts) or f"ttl-{stack}" not in [each.name for each in backend.stacks()]:
        return []
    return _later(root, stack, (until - timedelta(seconds=1)).date(), parts)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _firm(root: Path, parts: StackParts) -> bool:
    """Whether the stack's end scales it to zero, in use or not."""
    from sizewell.teardown.config import read_config

    rules = read_config(root).limits().rules(normal_environment(parts.environment))
    return rules is not None and rules.firm


def opened(args: Arguments, named: Sequence[str]) -> tuple[Journal, Path | None]:
    """The journal, and the project's folder: None where the journal alone was named. UsageError for unknown stacks."""
    from sizewell.teardown.journal import Journal, connect

    for stack in named:
        _must_be_a_name(stack)
    uri = stated(args)
    root = _project_of(uri) if uri else _root()
    if root is not None:
        _check_names(root, named)
    journal = Journal(connect(address(args)), option=option(args)).read()
    note_gaps(journal)
    note_another(uri, journal)
    known = {str(record["stack"]) for record in journal.records if record["kind"] not in ("lease", "pause")}
    for stack in named:
        if root is None and stack not in known:
            output.note(f"{stack}: the journal {uri} has no act or notice of it: is the name right? Nothing checks it")
    return journal, root


def _project_of(uri: str) -> Path | None:
    """The project in which the command runs, where its own file names that journal too; else None."""
    from sizewell.teardown.config import journal_of

    folder = project.nearest()
    try:
        own = journal_of(folder) if folder is not None else ""
    except (ConfigError, UsageError):
        return None
    return folder if own and own.rstrip("/") == uri.rstrip("/") else None


def note_another(uri: str, journal: Journal) -> None:
    """Say what a reader of the success alone would not see: that no run has written to this journal so far, or that
    `uri` goes before that of the project's own file.
    """
    from sizewell.teardown.config import journal_of

    if not journal.records and not journal.unread and not journal.numbers("settings"):
        output.note(f"{journal.store.uri}: nothing has written to this journal yet: is it the one that runs read?")
    folder = project.nearest() if uri else None
    if folder is None:
        return
    try:
        own = journal_of(folder)
    except (ConfigError, UsageError):
        return
    if own.rstrip("/") != uri.rstrip("/"):
        output.note(f"stacks/config/teardown.yaml names another journal, {own}, which has nothing of this")


def stated(args: Arguments) -> str:
    """The journal that the line or the environment names; "" where neither does."""
    return str(args.journal or os.environ.get("SIZEWELL_JOURNAL", ""))


def option(args: Arguments) -> str:
    """What a command that is printed has to repeat of the line, to act on the same journal."""
    return f" --journal {shlex.quote(uri)}" if (uri := stated(args)) else ""


def address(args: Arguments) -> str:
    """Where the journal is: as stated, else as the project's file has it. Errors name the way that needs no project."""
    from sizewell.teardown.config import journal_of

    if uri := stated(args):
        return uri
    root = _root()
    try:
        return journal_of(root)
    except ConfigError as error:
        raise UsageError(f"{error}\n{_ALONE}") from None


def _root() -> Path:
    try:
        return project.root()
    except UsageError as error:
        raise UsageError(f"{error}\n{_ALONE}") from None


_ALONE = "  fix: or name the journal itself: --journal URI, or SIZEWELL_JOURNAL, for which no file is read"


def _must_be_a_name(stack: str) -> None:
    """UsageError for what no stack is called, and for a stack that teardown never stops by itself."""
    if not _NAME.fullmatch(stack):
        found = "an empty name" if not stack else repr(stack)
        parts = stack.split("/")
        if len(parts) > 1 and all(_NAME.fullmatch(part) and part.strip(".") for part in parts):
            raise UsageError(
                f"{found} is no name of a stack alone: it has its organisation\n  fix: name it as {parts[-1]}"
            )
        raise UsageError(
            f"{found} is no name of a stack: letters, digits, . _ and -\n  fix: name it as `pulumi stack ls` does"
        )
    if (of := cluster_of(stack)) != stack:
        raise UsageError(f"{stack} stands beside {of}, and is not taken down for itself\n  fix: name {of}")


def note_gaps(journal: Journal) -> None:
    """Say what of the journal cannot be read, and the way out."""
    from sizewell.teardown.journal import in_lines

    for line in in_lines(journal.gaps()):
        output.note(f"{journal.store.uri}/{line}")
    if journal.gaps():
        what = "it may have held a lease, a pause or a sign of use: nothing is stopped until it is put back"
        output.note(f"{what}, or: {journal.way_out}")


def _check_names(root: Path, named: Sequence[str]) -> None:
    """UsageError for a name that is no stack's: of the backend, or of the project's files where that does not respond.
    A brake must work on a machine without the engine.
    """
    from sizewell.teardown.backend import Backend

    if not named:
        return
    try:
        known = [each.name for each in Backend(root=root).stacks()]
    except ServiceError as error:
        files = [*(root / "stacks/config").glob("Pulumi.*.yaml"), *(root / "stacks/decisions").glob("*.json")]
        known = sorted({path.stem.removeprefix("Pulumi.") for path in files})
        if unknown := next((name for name in named if name not in known), ""):
            close = get_close_matches(unknown, known, n=1)
            fix = f"did you mean {close[0]}?" if close else f"the project has {', '.join(known) or 'none'}."
            raise UsageError(
                f"no stack '{unknown}' in the project's files, and the backend was not asked: {_first_line(error)}\n"
                f"  fix: {fix} Outside of the project's folder, with --journal URI, no name is checked."
            ) from None
        output.note(f"names were checked by stacks/config and stacks/decisions alone: {_first_line(error)}")
        return
    project.must_be_stacks(named, known)


def one_line(text: str) -> str:
    """A reason, in one line. UsageError where it says nothing, or too much."""
    reason = " ".join(str(text).split())
    if not reason.isprintable():
        raise UsageError(f"--reason: has signs that no line can show: {reason[:40]!r}")
    if not reason or len(reason) > 200:
        raise UsageError(f"--reason: must have 1 to 200 characters, got {len(reason)}")
    return reason


def who() -> str:
    """Who asks, as the record has it."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return ""


def longer_than(journal: Journal, kind: str, stack: str, now: datetime, until: datetime) -> list[str]:
    """That an earlier lease or pause holds for longer, and how to end them."""
    from sizewell.teardown.records import until_of

    record = journal.longest(kind, stack, now)
    held = until_of(str(record["until"]))[0] if record is not None else now
    if record is None or held <= until:
        return []
    whose = stack or "--all"
    end = journal.command(f"keep {stack} --end" if kind == "lease" else f"teardown resume {whose}")
    by = f" of {record['by']}" if record.get("by") else ""
    return [
        f"an earlier {kind}{by} holds on until {held:%Y-%m-%d %H:%M} UTC: {record['reason']}; `{end}` ends them all"
    ]


def still_held(journal: Journal, now: datetime) -> list[str]:
    """The stacks that a pause of their own holds, whatever ends for all."""
    named = sorted({str(record["stack"]) for record in journal.records if record["kind"] == "pause"} - {""})
    held = [stack for stack in named if journal.longest("pause", stack, now) is not None]
    return [f"pauses of single stacks hold on: {', '.join(held)}"] if held else []


def still_leased(journal: Journal, stack: str, now: datetime) -> list[str]:
    """That a lease holds a stack all the same."""
    from sizewell.teardown.records import until_of

    record = journal.longest("lease", stack, now)
    if record is None:
        return []
    until = until_of(str(record["until"]))[0]
    return [f"a lease of it holds until {until:%Y-%m-%d %H:%M} UTC: `{journal.command(f'keep {stack} --end')}` ends it"]


def still_paused(journal: Journal, stack: str, now: datetime) -> list[str]:
    """The pauses under which nothing of a stack is stopped all the same."""
    from sizewell.teardown.records import until_of

    lines = []
    for whose, end in ((stack, f"resume {stack}"), ("", "resume --all")):
        if (record := journal.longest("pause", whose, now)) is not None:
            until = until_of(str(record["until"]))[0]
            of = "of every stack" if not whose else "of it"
            way = journal.command(f"teardown {end}")
            lines.append(f"a pause {of} holds until {until:%Y-%m-%d %H:%M} UTC: `{way}` ends it")
    return lines


def _lease(journal: Journal, args: Arguments, now: datetime, until: datetime, reason: str) -> None:
    journal.write("lease", now, stack=args.stack, subject="", until=until.isoformat(), reason=reason, by=who())


def _say(args: Arguments, lines: Sequence[str], *, until: datetime | None, held: str = "nothing") -> None:
    """What was done; `held` is what keeps the stack."""
    if args.json:
        document = {"stack": args.stack, "held_by": held, "until": until.isoformat() if until else None}
        output.print_json({"schema": schema_of("keep"), **document, "reason": args.reason or "", "notes": list(lines)})
        return
    for line in lines:
        print(line)


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
    if not path.exists():
        return [f"ttl-{stack} reads no lease, and scales it to zero on {parts.expires_at} (00:00 UTC) all the same"]
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
            f"The lease holds teardown alone: ttl-{stack} does not read it, and scales {stack} to zero on "
            f"{parts.expires_at} at 00:00 UTC, unless you"
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
