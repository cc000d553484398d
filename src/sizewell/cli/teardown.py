"""`sizewell teardown`: what of the backend's stacks is idle, empty or past its end, and taking that down."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sizewell.cli import keep, output, project
from sizewell.cli.commands import Arguments, Group
from sizewell.cli.parameters import INPUT, PATH, Choice, stacks
from sizewell.sizing.errors import UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from sizewell.teardown.config import TeardownConfig
    from sizewell.teardown.gather import StackStatus, StatusReader
    from sizewell.teardown.journal import Journal
    from sizewell.teardown.planning import Plan, Row
    from sizewell.teardown.records import Limits, Verdict
    from sizewell.teardown.settings import Version

DESCRIPTION = """Take idle and expired stacks down without losing data or running work.

`plan` checks each stack of the backend and prints what is to be done with it and its pools: keep, warn, empty (scale to
the smallest size), destroy, or unknown (not enough evidence: reported, kept), with the reason, the samples behind it,
what it saves and what is still billed. It changes nothing.

`run` does what is due, after notifying the owners; without --yes it only prints it. It checks everything again before
each action, and acts on at most 5 stacks or 20 % of them.

`status` shows the fleet: state, use, next act, leases and cost; --html FILE writes it as a page.

`pause` and `resume` hold single stacks or all, from the next look on; without --until for 7 days.

`accept-gap` goes on without records of the journal that are missing or cannot be read: until then nothing is stopped.

`report` adds up by owner and month what was saved, what was held back and why, and lists what observe mode
would have stopped.

`schedule` prints a GitHub workflow or a CronJob that runs it once an hour; on AWS the component TeardownSchedule does.
`publish` puts the settings where such runs read them.

`observed` writes how busy each pool's accelerators were, for `sizewell size SPEC --observed FILE`.

`replay FILE` prints what is decided at each step of a recorded timeline, to try other limits.

Its settings are in stacks/config/teardown.yaml; `sizewell docs tear-down` explains them.
"""
EXAMPLES = """example:
  sizewell teardown plan
  sizewell teardown plan --format json > plan.json
  sizewell teardown run --plan plan.json --yes
  sizewell teardown replay weekend.json               written by `sizewell new --example weekend`

exit code: 0 done, nothing due, or held back until a later run; 6 what was asked for by name
or --plan was held back; 64 bad input; 69 something outside failed: run again
"""


def _time(text: str) -> datetime:
    """A time with its zone, such as 2026-11-20T12:00:00Z."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time; write 2026-11-20T12:00:00Z") from None
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write 2026-11-20T12:00:00Z")
    return at.astimezone(UTC)


command = Group("teardown", help=DESCRIPTION, epilog=EXAMPLES)
_stacks = click.argument("stacks", nargs=-1, shell_complete=stacks, help="only these; default: all of the backend")
_at = click.option("--at", type=_time, metavar="TIME", help="decide as of this time (default: now)")


# What every action opens ----------------------------------------------------------------------------------------------


def cache() -> Path:
    """Where states that were read are kept."""
    from sizewell.sizing.files import cache_folder

    return cache_folder() / "states"


def opened(root: Path) -> tuple[TeardownConfig, Journal, Callable[[], StatusReader]]:
    """The project's settings, its journal, and what makes a reader of statuses."""
    from sizewell.sizing.catalog import load
    from sizewell.teardown.backend import Backend
    from sizewell.teardown.config import read_config
    from sizewell.teardown.gather import StatusReader
    from sizewell.teardown.journal import Journal, connect

    config = read_config(root)
    journal = Journal(connect(config.journal)).read()
    keep.note_gaps(journal)
    catalog = load()
    states = cache()

    def fresh() -> StatusReader:
        return StatusReader(
            backend=Backend(root=root),
            config=config,
            accounts=lambda stack: accounts(root, stack),
            receivers=lambda stack: receivers(root, stack),
            catalog=catalog,
            journal=journal.read(),
            cache=states / _place(root),
        )

    return config, journal, fresh


def accounts(root: Path, stack: str) -> Sequence[str]:
    """`sizewell:accounts` of a stack's configuration; () where it names none."""
    stated = project.configuration(root, stack).get("accounts") or ()
    return tuple(str(account) for account in stated) if isinstance(stated, list) else ()


def receivers(root: Path, stack: str) -> int | None:
    """How many receivers `sizewell:notify` names for a stack; None where a secret keeps that to itself."""
    stated = project.configuration(root, stack).get("notify") or {}
    if not isinstance(stated, dict) or "secure" in stated:
        return None
    lists = [stated.get(kind) or () for kind in ("emails", "webhooks", "pagerduty")]
    return sum(len(each) for each in lists) if all(isinstance(each, list | tuple) for each in lists) else None


def project_name(root: Path) -> str:
    """The name in Pulumi.yaml."""
    import yaml

    data = yaml.safe_load((root / "Pulumi.yaml").read_text(encoding="utf-8"))
    return str(data["name"])


def _place(root: Path) -> str:
    """One folder of cached states for each project and backend."""
    import hashlib

    place = f"{root.resolve()}\0{os.environ.get('PULUMI_BACKEND_URL', '')}"
    return hashlib.sha256(place.encode()).hexdigest()[:16]


# plan, run ------------------------------------------------------------------------------------------------------------


def _made(
    args: Arguments, root: Path, fresh: Callable[[], StatusReader], at: datetime, *, also: Sequence[str] = ()
) -> tuple[Plan, list[StackStatus]]:
    from sizewell.teardown.assemble import make_plan

    reader = fresh()
    if args.stacks or also:
        project.must_be_stacks((*args.stacks, *also), [stack.name for stack in reader.backend.stacks()])
    if beside := sorted(set(also) - set(args.stacks)) if args.stacks else []:
        raise UsageError(f"{', '.join(beside)}: not one of the stacks that are named\n  fix: name it too")
    with output.progress("querying the backend") as tell:
        plan, statuses = make_plan(reader, project_name(root), at, args.stacks, tell)
    for remark in plan.remarks:
        output.note(remark)
    return plan, statuses


@command.command("plan", help="what would be done with each stack; changes nothing")
@_stacks
@_at
@click.option("--format", type=Choice(("table", "markdown", "json", "html")), default="table", help="default: table")
@click.option("--json", "format", flag_value="json", help="same as --format json")
def _plan(args: Arguments) -> int:
    from sizewell.teardown import render
    from sizewell.teardown.planning import to_json

    root = project.root()
    _, _, fresh = opened(root)
    plan, _ = _made(args, root, fresh, args.at or datetime.now(UTC))
    if args.format == "json":
        output.print_json(to_json(plan))
    elif args.format == "markdown":
        print(render.markdown(plan), end="")
    elif args.format == "html":
        print(_page(plan), end="")
    else:
        _table(plan)
    return 0


_STYLES: Final = {"destroy": "red", "empty": "yellow", "unknown": "yellow"}  # what takes away, and what nobody can tell


def _table(plan: Plan) -> None:
    from sizewell.teardown import render

    table = output.table("stack", "pool", "verdict", "why", "USD/month", "next", right=("USD/month",))
    for stack in plan.stacks:
        for row in stack.rows:
            saves = (
                render.dollars(row.saves_usd_per_month)
                if row.action in ("empty", "destroy") or (row.action == "warn" and row.pool)
                else ""
            )
            rest = render.evidence(row)
            why = f"{row.why}\n  {rest}" if rest else row.why
            following = render.following(row).replace(" from ", "\n")
            style = _STYLES.get(row.action, "")
            table.add_row("" if row.pool else row.stack, row.pool, row.action, why, saves, following, style=style)
    console = output.console()
    console.print(table)
    for stack in plan.stacks:
        for remark in render.after(stack):
            console.print(f"{stack.stack}: {remark}")
    if plan.halted:
        console.print(f"halted: {plan.halted}")
    console.print(f"\n{render.headline(plan)}")


def _page(plan: Plan) -> str:
    from markupsafe import Markup

    from sizewell.preview.render import pages
    from sizewell.teardown import render

    def shown(row: Row) -> dict[str, str]:
        more = (render.evidence(row), render.following(row))
        picture = render.timeline(row, plan.at) if row.pool and row.spans else ""
        return {
            "subject": f"pool {row.pool}" if row.pool else "the stack",
            "action": row.action,
            "why": row.why,
            "more": "; ".join(each for each in more if each),
            "timeline": Markup(picture),  # noqa: S704 - of times and counts alone
        }

    stacks = [
        {
            "name": stack.stack,
            "owner": stack.owner,
            "environment": stack.environment,
            "rows": [shown(row) for row in stack.rows],
            "remarks": list(render.after(stack)),
        }
        for stack in plan.stacks
    ]
    return pages.render(
        "teardown.html",
        heading="Teardown plan",
        at=f"{plan.at:%Y-%m-%d %H:%M}",
        project=plan.project,
        headline=render.headline(plan),
        halted=plan.halted,
        remarks=list(plan.remarks),
        stacks=stacks,
    )


@command.command("run", help="do what is due; without --yes only print it")
@_stacks
@_at
@click.option("--plan", type=INPUT, metavar="FILE", help="only what this plan (--format json) has, if it is due")
@click.option("--yes", is_flag=True, help="do it; without --yes it is only printed")
@click.option(
    "--data", multiple=True, metavar="STACK", shell_complete=stacks, help="destroy its disks and file systems too"
)
@click.option(
    "--images", multiple=True, metavar="STACK", shell_complete=stacks, help="destroy images-STACK too, after its stack"
)
@click.option("--json", is_flag=True, help="print the results as JSON")
def _run(args: Arguments) -> int:
    from sizewell.components.tags import legal
    from sizewell.sizing.validating import read_json
    from sizewell.teardown import settings
    from sizewell.teardown.backend import Backend
    from sizewell.teardown.planning import must_be_own
    from sizewell.teardown.run import Runner

    root = project.root()
    config, journal, fresh = opened(root)
    at = args.at or datetime.now(UTC)
    chosen = None
    if args.plan is not None:
        data = read_json(args.plan, "sizewell teardown plan --json > plan.json")
        chosen = must_be_own(
            data, project=project_name(root), at=at, hours_max=config.plan_hours_max, source=str(args.plan)
        )
    if args.yes and args.at is not None:
        raise UsageError("--at and --yes: a run with --yes always uses the current time\n  fix: leave one of them out")
    plan, statuses = _made(args, root, fresh, at, also=(*args.data, *args.images))
    exports = root / ".sizewell" / "exports"
    runner = Runner(
        backend=Backend(root=root),
        config=config,
        journal=journal,
        fresh=fresh,
        statuses=statuses,
        only=args.stacks,
        exports=exports,
        project=project_name(root),
        yes=args.yes,
        data=args.data,
        images=args.images,
        tag_of=legal,
        cluster=os.environ.get("SIZEWELL_CLUSTER", ""),
        outdated=lambda: settings.outdated(root, journal),
    )
    results = runner.run(plan, chosen)
    if args.json:
        output.print_json([asdict(result) for result in results])
    else:
        table = output.table("stack", "pool", "what", "outcome", "detail")
        for result in results:
            table.add_row(result.stack, result.pool, result.action, result.outcome, result.detail)
        console = output.console()
        if results:
            console.print(table)
        counts = {
            each: sum(result.outcome == each for result in results)
            for each in dict.fromkeys(r.outcome for r in results)
        }
        summary = ", ".join(f"{number} {each}" for each, number in counts.items())
        console.print(f"\n{summary or 'nothing is due'}" + ("" if args.yes else "; nothing was changed (no --yes)"))
        if unknown := _unknown(plan):
            console.print(unknown)
    if any(result.outcome == "failed" for result in results):
        return 69
    # What a schedule holds back is said to owners; a person asked for the acts of a plan, and for these stacks.
    held = {result.stack for result in results if result.outcome == "held back"}
    return 6 if held and (args.stacks or chosen or held & {*args.data, *args.images}) else 0


def _unknown(plan: Plan) -> str:
    """Pools that a run keeps because their use could not be read; "" where all could."""
    names = [f"{row.stack}/{row.pool}" for stack in plan.stacks for row in stack.pools if row.action == "unknown"]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    why = "`sizewell teardown plan` says why"
    return f"kept, as nobody can tell: {', '.join(names[:5])}{more}; {why}" if names else ""


@command.command("status", help="the fleet: state, use, next act, leases and cost of each stack; changes nothing")
@_stacks
@_at
@click.option("--html", type=PATH, metavar="FILE", help="write it as one page, with two weeks of use; - prints it")
@click.option("--json", is_flag=True, help="print it as JSON")
def _status(args: Arguments) -> int:
    from concurrent.futures import ThreadPoolExecutor

    from sizewell.cli import fleet
    from sizewell.cli.answers import STDIN
    from sizewell.sizing.errors import SizewellError
    from sizewell.teardown.fleet import fleet as fleet_of

    if args.html is not None and args.json:
        raise UsageError("--html cannot be combined with --json\n  fix: leave one of them out")
    root = project.root()
    config, _, fresh = opened(root)
    at = args.at or datetime.now(UTC)
    reader = fresh()
    plan, statuses = _made(args, root, lambda: reader, at)
    names = [status.name for status in statuses if not status.fault]
    listed = {stack.name: stack for stack in reader.backend.stacks()}

    def smallest(name: str) -> Decimal | None:
        try:
            standing = reader.standing(listed, name, at.date())
        except (SizewellError, KeyError):
            return None
        alone = standing.kept_by_use and standing.emptied == standing.kept  # what is protected stands alone
        return None if standing.unpriced or alone else round(standing.emptied, 2)

    with ThreadPoolExecutor(max_workers=8) as threads:
        costs = dict(zip(names, threads.map(smallest, names), strict=True))
    stacks = fleet_of(plan, statuses, {name: reader.usage(name, at) for name in names}, costs, config)
    if args.json:
        output.print_json(fleet.document(plan, stacks))
    elif args.html == STDIN:
        print(fleet.page(plan, stacks), end="")
    elif args.html is not None:
        output.write_file(args.html, [fleet.page(plan, stacks)], "--html")
        output.note(f"wrote {args.html}")
    else:
        fleet.table(plan, stacks)
    return 0


@command.command("pause", help="stop nothing of a stack, or of all, until a time; from anywhere")
@click.argument("stacks", nargs=-1, shell_complete=stacks, help="stacks")
@click.option("--all", "everything", is_flag=True, help="every stack that the journal is kept for")
@keep.until_option
@keep.zone_option
@click.option("--reason", required=True, metavar="TEXT", help="reason, shown in the plan")
@keep.journal_option
@click.option("--json", is_flag=True, help="print what was noted as JSON")
def _pause(args: Arguments) -> int:
    from sizewell.teardown.until import moment

    now = keep.clock()
    until = moment(args.until or "7d", now, zone=args.zone)
    return _paused(args, now, until, keep.one_line(args.reason))


@command.command("resume", help="end a pause; owners are notified anew before anything is stopped")
@click.argument("stacks", nargs=-1, shell_complete=stacks, help="stacks")
@click.option("--all", "everything", is_flag=True, help="the pause of every stack; those of single stacks stay")
@keep.journal_option
@click.option("--json", is_flag=True, help="print what was noted as JSON")
def _resume(args: Arguments) -> int:
    now = keep.clock()
    return _paused(args, now, now, "ended")


def _paused(args: Arguments, now: datetime, until: datetime, reason: str) -> int:
    """Write a pause for stacks or for all (stack ""), or end it."""
    if bool(args.stacks) == args.everything:
        option = keep.option(args)
        pause = f"pause STACK --until 4h --reason TEXT{option}"
        resume = f"resume STACK{option}, or sizewell teardown resume --all{option}"
        raise UsageError(f"name stacks, or --all\n  fix: sizewell teardown {resume if until == now else pause}")
    journal, _ = keep.opened(args, args.stacks)
    for stack in args.stacks or ("",):
        if until == now and not journal.paused(stack, now):
            said = [f"{stack}: it has no pause of its own" if stack else "no pause of all stacks holds"]
            _lines(args, [*said, *_still(journal, stack, now)])
            continue
        longer = keep.longer_than(journal, "pause", stack, now, until) if until > now else []
        journal.write("pause", now, stack=stack, subject="", until=until.isoformat(), reason=reason, by=keep.who())
        ended = "the pause is ended; owners are notified anew, and have the whole grace"
        held = f"teardown stops nothing until {until:%Y-%m-%d %H:%M} UTC: {reason}"
        after = _still(journal, stack, now) if until == now else [*longer, keep.unheld(stack or "STACK")]
        _lines(args, [f"{stack or 'every stack'}: {ended if until == now else held}", *after])
    _lines(args, [keep.written(journal)])
    if args.json:
        output.print_json({"stacks": list(args.stacks), "all": args.everything, "until": until.isoformat()})
    return 0


def _still(journal: Journal, stack: str, now: datetime) -> list[str]:
    """What holds after a pause of a stack, or of all (""), has ended."""
    if not stack:
        return keep.still_held(journal, now)
    return [*keep.still_paused(journal, stack, now), *keep.still_leased(journal, stack, now)]


def _lines(args: Arguments, lines: Sequence[str]) -> None:
    if not args.json:
        print("\n".join(lines))


@command.command("accept-gap", help="go on without records of the journal that cannot be read")
@click.option("--reason", required=True, metavar="TEXT", help="reason, written to the journal")
@keep.journal_option
@click.option("--json", is_flag=True, help="print what was accepted as JSON")
def _accept_gap(args: Arguments) -> int:
    from sizewell.teardown.journal import Journal, connect, in_lines
    from sizewell.teardown.usage import DAYS

    now, reason = datetime.now(UTC), keep.one_line(args.reason)
    uri = keep.address(args)
    journal = Journal(connect(uri)).read()
    keep.note_another(uri, journal)
    journal.look_for_gaps(since=now - timedelta(days=DAYS))
    accepted = journal.accept(now, reason=reason, by=keep.who())
    if args.json:
        output.print_json({"accepted": accepted})
        return 0
    for line in in_lines(accepted):
        print(f"{line}: accepted")
    if accepted:
        print("A lease or a pause that was in it holds no longer: give it again. Owners are notified anew.")
    else:
        before = f"; accepted before: {', '.join(in_lines(journal.unread))}" if journal.unread else ""
        print(f"{uri}: nothing to accept{before}")
    return 0


# Settings of schedules ------------------------------------------------------------------------------------------------


@command.command("publish", help="put this project's settings where scheduled runs read them: beside the journal")
@click.option("--json", is_flag=True, help="print what was published as JSON")
def _publish(args: Arguments) -> int:
    from sizewell.teardown import settings
    from sizewell.teardown.config import PATH as CONFIG
    from sizewell.teardown.config import read_config
    from sizewell.teardown.journal import Journal, connect
    from sizewell.teardown.matching import by_itself

    root = project.root()
    files = settings.files_of(root)
    config, now = read_config(root), datetime.now(UTC)
    for remark in by_itself(config, now):
        output.note(f"{CONFIG}: {remark}")
    version, new = settings.publish(Journal(connect(config.journal)), files, now, keep.who())
    return _version(args, version, "" if new else "nothing changed since ", "runs read them from now on")


@command.command("fetch", help="write the newest published settings into a folder; what a scheduled run begins with")
@click.argument("folder", type=click.Path(path_type=Path), help="where to; it gets a Pulumi.yaml and stacks/config")
@keep.journal_option
@click.option("--json", is_flag=True, help="print what was fetched as JSON")
def _fetch(args: Arguments) -> int:
    from sizewell.teardown import settings
    from sizewell.teardown.journal import Journal, connect

    fetched = settings.fetch(Journal(connect(keep.address(args))), args.folder)
    return _version(args, fetched, "", f"written to {args.folder}")


def _version(args: Arguments, version: Version, before: str, after: str) -> int:
    if args.json:
        output.print_json(
            {"number": version.number, "at": version.at, "by": version.by, "files": sorted(version.files)}
        )
    else:
        print(f"{before}{version}, {plural(len(version.files), 'file')}: {after}")
    return 0


@command.command("report", help="savings, and what was held back, by owner and month")
@_at
@click.option("--json", is_flag=True, help="print it as JSON")
def _report(args: Arguments) -> int:
    from sizewell.teardown.journal import in_lines
    from sizewell.teardown.report import monthly_report
    from sizewell.teardown.savings import stops

    _, journal, _ = opened(project.root())
    at = args.at or datetime.now(UTC)
    rows = monthly_report(journal.records, at)
    noted = [stop for stop in stops(journal.records) if not stop.acted]
    if args.json:
        lost = {"unread": journal.unread} if journal.unread else {}
        output.print_json(
            {"months": [asdict(row) for row in rows], "observed": [asdict(stop) for stop in noted], **lost}
        )
        return 0
    if journal.unread:
        output.note(f"the sums lack what cannot be read: {', '.join(in_lines(journal.unread))}")
    numbers = ("emptied", "destroyed", "held\nback", "failed", "saved", "left\nover")  # narrow: names need the width
    table = output.table("month", "owner", "stack", *numbers, right=numbers)
    for row in rows:
        more = " + ?" if row.unpriced else ""
        usd = "?" if row.left_usd_per_month is None else f"{row.left_usd_per_month:,.2f}"
        counts = (row.emptied, row.destroyed, row.held, row.failed)
        saved = f"{row.saved_usd:,.2f}{more}" + (f"\n{_hours(row.hours_not_run)}" if row.hours_not_run else "")
        left = usd if row.left_over else ""
        table.add_row(row.month, row.owner, row.stack, *map(str, counts), saved, left)
    if not rows:
        print(
            "no run has recorded an act, or what it would have done: `sizewell teardown run --yes` does, once an hour"
        )
        return 0
    output.console().print(table)
    print("saved: US dollars in that month, the hours not run at the rate of what ran, for 30 days at most")
    print("left over: US dollars per month")
    for row in rows:  # why: sentences, which no column holds
        for what, reasons in (("held back", row.held_back), ("left over", row.left_over)):
            for reason in reasons:
                print(f"{row.stack}, {row.month}: {what}: {reason}")
    if noted:
        print("\nobserved, nothing was changed:")
    for row in rows:
        if row.observed_usd:
            print(f"{row.stack}, {row.month}: would have saved {row.observed_usd:,.2f} USD")
    for stop in noted:
        what = f"{stop.stack}/{stop.pool}" if stop.pool else stop.stack
        done = "destroyed" if stop.action == "destroy" else "emptied"
        print(f"{what}: would have been {done} on {stop.at:%Y-%m-%d %H:%M} UTC: {stop.why}")
        if stop.ended:
            print(f"  {(stop.ended - stop.at).total_seconds() / 3600:,.1f} hours later: {stop.after}")
    if noted:
        print(
            "\nWas one of these wrong? Then before `mode: act`: a longer `idle: window` in its spec, `protected` in "
            "teardown.yaml, or `sizewell keep STACK 7d --reason TEXT`."
        )
    return 0


def _hours(hours: float) -> str:
    return f"{hours:,.0f} h" if hours >= 10 else f"{hours:.1f} h"


@command.command("observed", help="how busy the pools were, as files for `size --observed`")
@click.argument("stacks", nargs=-1, shell_complete=stacks, help="only these; default: all that earlier runs have seen")
@click.option("--at", type=_time, metavar="TIME", help="the two weeks before this time (default: now)")
@click.option("--json", is_flag=True, help="print the measurements as JSON, too")
def _observed(args: Arguments) -> int:
    import yaml

    from sizewell.teardown.usage import HOURS_MIN, measurement

    root = project.root()
    _, _, fresh = opened(root)
    reader, at = fresh(), args.at or datetime.now(UTC)
    names = sorted(stack.name for stack in reader.backend.stacks())
    project.must_be_stacks(args.stacks, names)
    usages = [usage for name in args.stacks or names for usage in reader.usage(name, at)]
    folder = root / ".sizewell" / "observed"
    measured: list[dict[str, Any]] = []
    table = output.table(
        "stack", "pool", "machines", "hours seen", "busy", "what smaller machines would do", right=("busy",)
    )
    for usage in usages:
        machines = f"{usage.nodes} x {usage.instance_type}"
        if len(usage.hours) < HOURS_MIN:  # no load is known by them, and no verdict rests on them
            missing = f"not known yet: {HOURS_MIN} hours are needed"
            table.add_row(usage.stack, usage.pool, machines, str(len(usage.hours)), f"{usage.busy:.0%}", missing)
            continue
        specs = [path for path in (root / "stacks/specs" / usage.stack).glob("*.yaml") if _is_of(path.stem, usage.pool)]
        spec = max(specs, key=lambda path: len(path.stem), default=None)
        file = folder / f"{usage.stack}-{usage.pool}.json"
        folder.mkdir(parents=True, exist_ok=True)
        workload = yaml.safe_load(spec.read_text(encoding="utf-8"))["name"] if spec is not None else usage.pool
        measured.append(measurement(usage, workload))
        file.write_text(json.dumps(measured[-1], indent=1) + "\n", encoding="utf-8")
        shown = project.shown(spec) if spec is not None else "SPEC"
        command = f"sizewell size {shown} --observed {project.shown(file)}"
        table.add_row(usage.stack, usage.pool, machines, str(len(usage.hours)), f"{usage.busy:.0%}", command)
    if args.json:
        output.print_json(measured)
    elif usages:
        output.console().print(table)
    else:
        print("no run has kept samples of them: `sizewell teardown run --yes` does, once an hour")
    return 0


def _is_of(spec: str, pool: str) -> bool:
    """Whether a pool is a workload's: it has its name, or that and a role where the workload has several."""
    return pool == spec or pool.startswith(f"{spec}-")


@command.command("schedule", help="print what runs it once an hour: for GitHub, or for a cluster")
@click.argument("where", type=Choice(("github", "kubernetes")), help="a workflow, or a CronJob")
@click.option("--image", required=True, metavar="NAME@sha256:…", help="what ci/teardown/Dockerfile builds")
@click.option("--cloud", multiple=True, type=Choice(tuple(CLOUDS)), help="github: log in there (default: aws)")
@click.option("--trust", metavar="OWNER/NAME", help="github: print what the clouds have to trust instead")
@click.option("--cluster", default="", metavar="NAME", help="kubernetes: the cluster that it runs in")
@click.option("--namespace", metavar="NAME", default="sizewell-teardown", show_default=True, help="kubernetes")
@click.option(
    "--account", metavar="NAME", default="teardown", show_default=True, help="kubernetes: its service account"
)
@click.option("--json", is_flag=True, help="print the file's text in a JSON object")
def _schedule(args: Arguments) -> int:
    from sizewell.teardown import schedules
    from sizewell.teardown.backend import Backend
    from sizewell.teardown.config import journal_of
    from sizewell.teardown.exports import clusters_by_stack

    schedules.must_be_pinned(args.image)
    if args.where == "github":
        clouds = args.cloud or [CLOUDS.aws.name]
        text = schedules.trust(args.trust, clouds) if args.trust else schedules.workflow(args.image, clouds)
        return _file(args, text)
    if not args.cluster:
        fix = "name a cluster that no stack of this backend builds"
        raise UsageError(f"a CronJob needs --cluster NAME, the cluster that it runs in\n  fix: {fix}")
    root = project.root()
    schedules.must_outlive(args.cluster, clusters_by_stack(Backend(root=root)))
    names = {"cluster": args.cluster, "namespace": args.namespace, "account": args.account}
    text = schedules.cron_job(args.image, **names, journal=journal_of(root))
    return _file(args, text)


def _file(args: Arguments, text: str) -> int:
    if args.json:
        output.print_json({"schema": schema_of("schedule"), "where": args.where, "text": text})
    else:
        print(text, end="")
    return 0


# replay ---------------------------------------------------------------------------------------------------------------


@command.command("replay", help="what is decided at each step of a recorded timeline")
@click.argument("file", type=INPUT, help="a timeline, as JSON; - for standard input")
@click.option("--json", is_flag=True, help="print the verdicts as JSON")
def _replay(args: Arguments) -> int:
    from sizewell.teardown.timeline import counts_never, read_timeline, replay

    timeline = read_timeline(args.file)
    for remark in counts_never(timeline):
        output.note(f"{args.file}: {remark}")
    steps = list(replay(timeline, _limits(max(timeline.steps))))
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
    console.print(
        f"\n{plural(len(steps), 'step')}; {plural(stopped, 'decision')} would scale down or destroy something"
    )
    return 0


def _limits(at: datetime) -> Limits:
    """Today's limits: the project's where it has some, else those of a file that states none. What of them is likely
    not meant at a time is said.
    """
    from sizewell.teardown.config import PATH, SCHEMA, TeardownConfig, read_config
    from sizewell.teardown.matching import by_itself

    root = project.nearest() or Path()  # the settings decide by themselves: a folder may have no more than them
    if (root / PATH).exists():
        config = read_config(root)
        for remark in by_itself(config, at):
            output.note(f"{PATH}: {remark}")
        return config.limits()
    config = TeardownConfig(schema=SCHEMA, journal="file:///")
    stated = f"environments {', '.join(config.environments)}, without windows or closed days"
    output.note(f"no {PATH} here: decided by the defaults ({stated})")
    return config.limits()


def _flat(both: list[Any]) -> list[Verdict]:
    stack, pools = both
    return [stack, *pools]


def _next(verdict: Verdict) -> str:
    if not verdict.next_step:
        return ""
    return (
        f"{verdict.next_step} from {verdict.next_at:%m-%d %H:%M}"
        if verdict.next_at
        else f"{verdict.next_step} once nothing holds it"
    )


def _document(at: datetime, stack: Verdict, pools: tuple[Verdict, ...]) -> dict[str, Any]:
    return {"at": at.isoformat(), "stack": _plain(stack), "pools": [_plain(pool) for pool in pools]}


def _plain(verdict: Verdict) -> dict[str, Any]:
    record = asdict(verdict)
    record["next_at"] = verdict.next_at.isoformat() if verdict.next_at else None
    return record
