"""`sizewell evidence`: an acceptance run in one's own account, its record, and the page of all records."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Group
from sizewell.cli.parameters import PATH, Choice, stacks
from sizewell.sizing.errors import ConfigError, DecisionError, Fault, SizewellError, UsageError
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.evidence.journal import Notes
    from sizewell.evidence.prepare import Prepared
    from sizewell.evidence.record import Name, Record, Stage
    from sizewell.evidence.run import Run
    from sizewell.sizing.records.decision import Decision
    from sizewell.teardown.backend import Backend

DESCRIPTION = """Build a small stack in your own account, look at it, destroy it, and keep a record of that.

`run` prints each stage with its price, and does them with --yes: rights and quotas, up, reachable, its guard seen
to fire on idle machines (--stage guard: it takes over an hour), destroyed, and an inventory by tags. The limits of
money and time leave enough for the last two. Killed at any point, `resume` goes on and `clean` takes it down; both end
with an inventory. If this machine fails, the expiry stack, which is built first, stops the machines on the day
that ttl in the spec gives.

`write` shows the record, and with --yes writes and signs it. The record has no free text: versions, regions,
machine types, figures, durations and causes in fixed words. `add` files a signed record under evidence/ and
writes the page there; a record that was changed is refused.
"""
EXAMPLES = """examples:
  sizewell evidence run trial                         what would be done, with prices
  sizewell evidence run trial --max-usd 5 --yes
  sizewell evidence resume trial                      after a crash; or clean: take it down
  sizewell evidence write trial                       the record, shown
  sizewell evidence write trial --bill focus.csv --key ~/.ssh/id_ed25519 --yes
  sizewell evidence probe http://127.0.0.1:8000 --model NAME --output bench.json
  sizewell evidence add .sizewell/evidence/records/2026-11-28-aws-us-east-1-1a2b3c4d.json

exit code: 0 done and nothing is left, 4 the decision is out of date, 6 a stage failed and nothing
is left, 64 bad input, 69 the engine or a cloud did not respond: once a run has begun, something
may be left, and `sizewell evidence clean STACK` takes it down
"""
DEFAULT: Final = ("rights", "up", "reachable")
OFFERED: Final = (*DEFAULT, "guard")
DEFAULT_TIME: Final = "3h"
_AS_OPTIONS: Final = {"--resume": "resume", "--clean": "clean"}


class _Evidence(Group):
    """`evidence --resume` is `evidence resume`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_AS_OPTIONS.get(word, word) for word in args[:1]] + args[1:])


command = _Evidence("evidence", help=DESCRIPTION, epilog=EXAMPLES)
_stack = click.argument("stack", shell_complete=stacks, help="a stack with a decision, of which nothing stands")
_of_a_run = click.argument(
    "stack", required=False, shell_complete=stacks, help="the stack of the run (default: the one that is not over)"
)
_json = click.option("--json", is_flag=True, help="print the record as JSON")


@command.command("run", help="Print the stages with their prices; with --yes, do them.")
@_stack
@click.option("--stage", "stages", multiple=True, type=Choice(OFFERED), help="only these (default: all but guard)")
@click.option("--max-usd", type=float, default=5.0, metavar="USD", help="limit of money (default: 5)")
@click.option("--max-time", default=DEFAULT_TIME, metavar="DURATION", help="limit of time, from `up` on (default: 3h)")
@click.option("--yes", is_flag=True, help="do it")
@_json
def run(args: Arguments) -> int:
    from sizewell.cli.specs import out_of_step
    from sizewell.evidence import journal
    from sizewell.evidence.prepare import hours_to_end, prepared

    root, now, today = project.root(), datetime.now(UTC), date.today()  # noqa: DTZ011 - the user's own calendar
    decision = _decision(root, args.stack)
    usd, seconds = _limits(args)
    edited, undecided = out_of_step(root, [args.stack])
    if undecided:
        raise DecisionError(f"decision out of date: {undecided}")
    for sentence in edited:
        output.note(f"decision out of date: {sentence}")
    path = journal.path_of(root, args.stack)
    with journal.held(path):
        if path.exists() and journal.read(path).unfinished:
            fix = f"sizewell evidence resume {args.stack}, or clean in place of resume"
            raise UsageError(f"{args.stack}: an earlier run of it may have left something\n  fix: {fix}")
        wanted: Sequence[Any] = args.stages or DEFAULT
        if {"reachable", "guard"} & {*wanted}:
            wanted = ("up", *wanted)
        plan = prepared(
            root,
            args.stack,
            decision,
            engine=_engine(),
            wanted=wanted,
            usd_limit=usd,
            seconds_limit=seconds,
            now=now,
            today=today,
        )
        started = _opened(root, plan.notes, journal.Journal(path, plan.notes, journal.Clock(), resumed=False))
        end_usd = plan.notes.usd_per_hour_max * hours_to_end(decision, today)
        if not args.yes:
            if args.json:
                end = {"expires": str(decision.expires_at), "usd_until_it_expires_max": round(end_usd, 2)}
                output.print_json({"schema": schema_of("evidence-plan"), **_plan(started, plan), **end})
                return 0
            _print_plan(started, plan)
            if "up" in plan.notes.wanted:
                ends = f"ttl-{args.stack} stops its machines on {decision.expires_at}"
                until = f"{ends}, at most {end_usd:.2f} USD until then"
                output.console().print(f"if this machine fails: {until}; the rest is billed until `evidence clean`")
            print(f"nothing was built; to do it: {_typed(args, usd)}")
            return 0
        _must_be_empty(started)
        if path.exists():
            output.note(f"{args.stack}: the journal of its earlier run is replaced, and with it what `write` shows")
        started.journal.write()
        return _went(started, started.go, as_json=args.json)


def _typed(args: Arguments, usd: float) -> str:
    """The line that does what a plan has shown."""
    stages = [f"--stage {name}" for name in args.stages]
    limit = [] if args.max_time == DEFAULT_TIME else [f"--max-time {project.typed(args.max_time)}"]
    return " ".join(["sizewell evidence run", args.stack, *stages, f"--max-usd {usd:g}", *limit, "--yes"])


@command.command("resume", help="Go on with a run that was killed, up to its end: nothing left.")
@_of_a_run
@_json
def resume(args: Arguments) -> int:
    with _taken_up(args) as started:
        if not started.journal.built:
            notes = started.journal.notes
            if notes.decision not in ("", _decision(project.root(), notes.stack).digest()):
                what = f"{notes.stack} was sized again since its run began, and nothing of it is built"
                raise UsageError(f"{what}\n  fix: begin anew: sizewell evidence run {notes.stack}")
            _must_be_empty(started)
        return _went(started, started.go, as_json=args.json)


@command.command("clean", help="Try no further stage: destroy what a run has built, and ask what is left.")
@_of_a_run
@_json
def clean(args: Arguments) -> int:
    with _taken_up(args) as started:
        return _went(started, lambda: started.down("not asked for"), as_json=args.json)


@command.command("write", help="Show the record of a run; with --yes, write it and sign it.")
@_of_a_run
@click.option("--key", type=PATH, metavar="FILE", help="an SSH key of yours that signs it")
@click.option("--bill", type=PATH, multiple=True, metavar="FILE", help="FOCUS export with what the run cost")
@click.option("--observed", type=PATH, metavar="FILE", help="measurement during the run, as `size --observed` takes it")
@click.option("--yes", is_flag=True, help="write it under .sizewell/evidence/records")
@_json
def write(args: Arguments) -> int:
    from sizewell.evidence import signing
    from sizewell.evidence.journal import FOLDER
    from sizewell.sizing.files import write_whole

    with _taken_up(args, over=True) as started:
        stack = started.journal.notes.stack
        record = _record(started, _added(started, args.bill, args.observed))
        print(record.to_json(), end="")
        if not args.yes:
            files = [f"--bill {project.typed(each)}" for each in args.bill]
            files += [f"--observed {project.typed(args.observed)}"] if args.observed else []
            line = " ".join(["sizewell evidence write", stack, *files, "--key FILE --yes"])
            output.note(f"nothing was written; to do it: {line}")
            return 0
        if args.key is None:
            raise UsageError(
                f"--key is missing: a record is signed\n  fix: sizewell evidence write {stack} --key FILE --yes"
            )
        target = project.root() / FOLDER / "records" / record.file_name
        with tempfile.TemporaryDirectory(prefix="sizewell-evidence-") as folder:
            draft = Path(folder) / record.file_name
            draft.write_text(record.to_json(), encoding="utf-8")
            signature = signing.sign(draft, args.key).read_text(encoding="ascii")
        write_whole(signing.beside(target), signature)
        write_whole(target, record.to_json())
        output.note(f"wrote {project.shown(target)}; to file it: sizewell evidence add {project.typed(target)}")
        return 0


@command.command("probe", help="Ask a served model many times, and write how fast it answers.")
@click.argument("url", help="its address, as http://127.0.0.1:8000; it is asked at /v1/completions")
@click.option("--model", required=True, metavar="NAME", help="as the server names it")
@click.option("--clients", type=click.IntRange(1, 256), default=8, help="that wait for their answers (default: 8)")
@click.option("--requests", type=click.IntRange(1, 10_000), default=200, help="in all (default: 200)")
@click.option("--input-tokens", type=click.IntRange(1, 100_000), default=500, help="of a prompt (default: about 500)")
@click.option("--output-tokens", type=click.IntRange(2, 10_000), default=150, help="at most (default: 150)")
@click.option("--output", "target", type=PATH, metavar="FILE", help="write it here (default: print it)")
@click.option("--json", is_flag=True, help="print it, beside the file of --output")
def probe(args: Arguments) -> int:
    from sizewell.evidence.probe import Load, probe

    if not args.url.startswith(("http://", "https://")):
        raise UsageError(f"URL: must begin with http:// or https://, got {args.url!r}")
    load = Load(
        clients=args.clients,
        requests=args.requests,
        input_tokens=args.input_tokens,
        output_tokens=args.output_tokens,
    )
    with output.progress(f"asking {args.url}") as tell:
        found = probe(args.url, args.model, load, begun=tell)
    if args.json or args.target is None:
        output.print_json(found)
    if args.target is None:
        return 0
    output.write_file(args.target, [json.dumps(found, indent=1) + "\n"], "--output")
    file = project.typed(args.target)
    first, each = found["mean_ttft_ms"], found.get("mean_tpot_ms", 0.0)
    if not args.json:
        print(
            f"{found['completed']} answers: {first:.0f} ms to the first token, {each:.1f} ms for each further one, "
            f"{found['output_throughput']:.0f} tokens a second; {found['failed']} failed"
        )
    output.note(f"beside its prediction: sizewell size SPEC --observed {file}")
    return 0


@command.command("add", help="Check a signed record and file it under evidence/, with the page of all of them.")
@click.argument("file", type=PATH, help="a record; its signature is beside it, as FILE.sig")
@click.option("--signers", type=PATH, metavar="FILE", help="trusted keys (default: evidence/allowed_signers)")
@_json
def add(args: Arguments) -> int:
    from sizewell.evidence import page, signing
    from sizewell.sizing.files import write_whole

    root = project.root()
    folder = root / "evidence"
    signers = args.signers or root / signing.SIGNERS
    record = _checked(args.file, signers)
    filed = {path: _checked(path, signers) for path in sorted(folder.glob("*.json"))}
    target = folder / record.file_name
    known = filed.get(target)
    if known is not None and known != record and known.run != record.run:
        raise UsageError(f"{project.shown(target)}: is of another run\n  fix: keep both: rename neither, add one alone")
    text, signature = args.file.read_text(encoding="utf-8"), signing.beside(args.file).read_text(encoding="utf-8")
    write_whole(signing.beside(target), signature)
    write_whole(target, text)
    write_whole(folder / "README.md", page.page([*(each for path, each in filed.items() if path != target), record]))
    if args.json:
        output.print_json({"schema": schema_of("evidence-filed"), "file": project.shown(target), "run": record.run})
    else:
        print(f"filed {project.shown(target)}; evidence/README.md has {len({*filed, target})} of them")
    return 0


# What the actions share -----------------------------------------------------------------------------------------------


def _limits(args: Arguments) -> tuple[float, float]:
    from sizewell.sizing.units import duration_s

    if not 0 < args.max_usd <= 1000:
        raise UsageError(f"--max-usd: must be above 0 and at most 1000, got {args.max_usd:g}")
    try:
        seconds = duration_s(args.max_time)
    except ValueError as error:
        raise UsageError(f"--max-time: {error}") from None
    if not 0 < seconds <= 86_400:
        raise UsageError(f"--max-time: must be above 0 and at most 24h, got {args.max_time}")
    return args.max_usd, seconds


def _decision(root: Path, stack: str) -> Decision:
    from sizewell.sizing.records.decision import Decision

    path = project.decision_path(root, stack)
    if not path.is_file():
        known = ", ".join(each.stem for each in project.decisions(root)) or "none so far"
        fix = f"sizewell new notebook --stack {stack}, then sizewell size --stack {stack}; decided are: {known}"
        raise UsageError(f"{stack} has no decision\n  fix: {fix}")
    return Decision.from_json(path)


def _engine() -> str:
    """The engine's version; "0.0" where there is none, which `up` then says."""
    import shutil
    import subprocess

    if shutil.which("pulumi") is None:
        return "0.0"
    done = subprocess.run(["pulumi", "version"], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.strip() or "0.0"


def _opened(root: Path, notes: Notes, opened_journal: Any) -> Run:
    """A run with the real engine and clouds."""
    from sizewell.cli import doctor, teardown
    from sizewell.evidence.run import Run
    from sizewell.evidence.world import Account, Check, connects
    from sizewell.sizing.catalog import load
    from sizewell.teardown.backend import Backend
    from sizewell.teardown.config import PATH, parse_config, read_config
    from sizewell.teardown.gather import StatusReader

    stated = (root / PATH).exists()
    config = read_config(root) if stated else parse_config({"schema": schema_of("teardown"), "journal": "file:///none"})
    catalog = load()

    def fresh() -> StatusReader:  # without the journal of teardown: no lease keeps what a run has built
        backend = Backend(root=root, begun=opened_journal.engine)
        return StatusReader(
            backend=backend, config=config, accounts=lambda stack: teardown.accounts(root, stack), catalog=catalog
        )

    def checks() -> list[Check]:
        found = doctor.account(notes.stack, datetime.now(UTC).date())
        for each in found:
            if each.state == "wrong":
                output.note(f"{each.about}: {each.detail}" + (f"\n  fix: {each.fix}" if each.fix else ""))
        return [Check(each.about, each.state, each.code) for each in found]

    world = Account(
        root=root,
        project=teardown.project_name(root),
        journal=opened_journal,
        clock=opened_journal.clock,
        fresh=fresh,
        checks=checks,
        connect=connects,
    )
    return Run(journal=opened_journal, world=world, clock=opened_journal.clock, say=_say)


def _say(text: str) -> None:
    """Say how it goes, as long as somebody reads: a terminal that closed ends no run."""
    with suppress(OSError):
        output.note(text)


def _must_be_empty(started: Run) -> None:
    """Refuse a stack of which something stands: a run destroys what has its tags."""
    from sizewell.evidence.world import Account

    world = started.world
    assert isinstance(world, Account)  # noqa: S101
    backend, notes = world.fresh().backend, started.journal.notes
    if "up" not in notes.wanted:
        return
    listed = {each.name: each.resources for each in backend.stacks()}
    with ExitStack() as undo:
        for stack in notes.stacks:
            if listed.get(stack):
                fix = "name a stack that has not been built: a run destroys it at its end"
                raise UsageError(f"{stack} stands: it has {listed[stack]} resources\n  fix: {fix}")
            if stack not in listed:
                undo.callback(_removed, backend, stack)
                backend.init(stack)
            with output.progress(f"looking for what has the tags of {stack}"):
                comparison = world.reconciler(stack).look()
            if comparison.fault:
                what = f"{stack}: its program does not evaluate: {comparison.fault}"
                raise UsageError(f"{what}\n  fix: sizewell preview {stack}")
            if comparison.things or comparison.orphans:
                number = max(comparison.things, comparison.orphans)
                fix = f"sizewell reconcile {stack} lists it; delete it, or name another stack"
                raise UsageError(f"{stack}: {number} resources have its tags or names already\n  fix: {fix}")
        undo.pop_all()


def _removed(backend: Backend, stack: str) -> None:
    """Take away a stack that was made to look, where the run is refused then."""
    with suppress(SizewellError):
        backend.remove(stack)


@contextmanager
def _taken_up(args: Arguments, *, over: bool = False) -> Iterator[Run]:
    """A run by its journal, held as long as it is worked on."""
    from sizewell.evidence import journal

    root = project.root()
    stack = args.stack
    if stack is None:
        names = journal.unfinished(root) or (
            sorted(each.stem for each in (root / journal.FOLDER).glob("*.json")) if over else []
        )
        if len(names) != 1:
            what = f"there are {len(names)}: {', '.join(names)}" if names else "there is none in this project"
            raise UsageError(
                f"STACK is missing, and of runs that are not over {what}\n  fix: name the stack of the run"
            )
        stack = names[0]
    project.decision_path(root, stack)  # a name, and no path
    path = journal.path_of(root, stack)
    journal.read(path)  # before a lock is made beside nothing
    with journal.held(path):
        notes = journal.read(path)
        yield _opened(root, notes, journal.Journal(path, notes, journal.Clock(), resumed=not over))


def _record(started: Run, found: dict[Name, Stage]) -> Record:
    """The record of a run that has come to an end, checked as `add` checks it."""
    from sizewell.evidence import record
    from sizewell.evidence.run import record_of
    from sizewell.sizing.catalog import load

    notes = started.journal.notes
    if "begun" in {step.state for step in notes.steps.values()} or notes.steps["destroyed"].state == "planned":
        fix = f"sizewell evidence resume {notes.stack}, or clean in place of resume"
        raise UsageError(f"{notes.stack}: its run was cut off, and has no outcome yet\n  fix: {fix}")
    return record.read(record_of(started, found).to_json(), f"the record of {notes.stack}", load())


def _added(started: Run, bills: Sequence[Path], observed: Path | None) -> dict[Name, Stage]:
    """Stages whose figures come from files: a bill, a measurement."""
    from sizewell.evidence.record import Stage
    from sizewell.sizing.units import plural

    notes, found = started.journal.notes, {}
    if bills:
        from sizewell.economics.bill import read_bill

        repeated = _must_be_of_the_run(bills, notes)
        bill, subject = read_bill(bills), ", ".join(map(str, bills))
        if foreign := sorted({each.currency for each in bill.foreign if _is_of(each.tags, notes)}):
            what = (
                f"has charges of {notes.stack} in {', '.join(foreign)}, which state no US dollars: nothing is converted"
            )
            fix = "export it with x_EffectiveCostInUsd, or in USD; a record without --bill has its other stages"
            raise ConfigError([Fault(path="BillingCurrency", message=what, fix=fix)], subject=subject)
        charges = [each for each in bill.charges if _is_of(each.tags, notes)]
        if not any(each.category == "usage" for each in charges):
            what = f"has no {'usage' if charges else 'charge'} of {' or '.join(notes.stacks)}"
            fix = "take the export of that month, once its rows have the tag sizewell-stack; they come a day later"
            raise ConfigError([Fault(path="Tags", message=what, fix=fix)], subject=subject)
        # What was used is held against what was said before: a credit pays for it, and a tax comes on top.
        credited, taxes = (sum(each.usd for each in charges if each.category == name) for name in ("credit", "tax"))
        usd = round(float(sum(each.usd for each in charges) - credited - taxes), 4)
        bound = round(started.spent_usd(started.journal.elapsed_s), 4)
        figures: dict[Any, float] = {"usd_billed": max(usd, 0.0), "usd_previewed": bound}
        figures |= {"usd_credits": round(float(-credited), 4)} if credited < 0 else {}
        figures |= {"usd_taxes": round(float(taxes), 4)} if taxes > 0 else {}
        if repeated:
            figures["rows_counted_once"] = repeated
            many = f"{plural(repeated, 'row')} of {notes.stack} equal another in every column, and are not counted"
            output.note(f"{subject}: {many}: export it with ResourceId, if they are of several resources")
        over = usd > bound
        found["billed"] = Stage(
            stage="billed", outcome="failed" if over else "passed", cause="limit" if over else "", figures=figures
        )
    if observed is not None:
        found["measured"] = _measured(notes, observed)
    return found  # type: ignore[return-value]


def _is_of(tags: Mapping[str, str], notes: Notes) -> bool:
    """Whether something with these tags is of a run: of its stacks, and of no other project that calls one alike."""
    from sizewell.cli.teardown import project_name
    from sizewell.components.tags import legal

    own = legal(project_name(project.root()))
    return tags.get("sizewell-stack") in notes.stacks and tags.get("sizewell-project", own) == own


def _must_be_of_the_run(bills: Sequence[Path], notes: Notes) -> int:
    """ConfigError where a bill has a charge of the stack from another time (of another run, or an earlier stack) or
    another cloud; else how many of its rows equal another one.
    """
    from sizewell.sizing.catalog.focus import cloud_of, own_tags, pairs_of, read_rows

    seen: set[int] = set()
    number = 0

    begun, over = (datetime.fromtimestamp(at, UTC) for at in (notes.started_s, notes.ended_s or notes.seen_s))
    for path in bills:
        rows = read_rows(path)
        places = {name: place for place, name in enumerate(rows.columns)}
        if missing := [name for name in ("Tags", "ChargePeriodStart", "ChargePeriodEnd") if name not in places]:
            what = f"the column {missing[0]} is missing: what is of the run cannot be told"
            raise ConfigError([rows.fault(message=what, fix="export it with that column")])
        for row in rows:
            if not _is_of(own_tags(pairs_of(row[places["Tags"]])), notes):
                continue
            number += 1
            seen.add(hash(tuple(row)))
            cloud = cloud_of({name: row[place] for name, place in places.items()})
            if cloud and cloud not in notes.clouds:
                what = f"is of {cloud}, and {notes.stack} ran on {', '.join(notes.clouds)}"
                raise ConfigError([rows.fault("ProviderName", message=what, fix="leave the rows of other clouds out")])
            start, end = (_moment(row[places[name]]) for name in ("ChargePeriodStart", "ChargePeriodEnd"))
            if end <= begun or start > over:
                run = f"from {begun:%Y-%m-%d %H:%M} to {over:%Y-%m-%d %H:%M} UTC"
                what = f"is of {start:%Y-%m-%d %H:%M}, and the run was {run}"
                fix = f"export the hours of the run alone, or leave the other rows of {notes.stack} out"
                raise ConfigError([rows.fault("ChargePeriodStart", message=what, fix=fix)])
    return number - len(seen)


def _moment(cell: object) -> datetime:
    """A time of a bill; of none that is one, the oldest, which is of no run."""
    try:
        at = datetime.fromisoformat(str(cell))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _measured(notes: Notes, path: Path) -> Stage:
    """A measurement of the run beside what its decision predicts."""
    from sizewell.evidence.record import Stage
    from sizewell.sizing.catalog import load
    from sizewell.sizing.choose.observed import read_observed
    from sizewell.sizing.workload.measured import kinds

    stack = notes.stack
    decision = _decision(project.root(), stack)
    if notes.decision not in ("", decision.digest()):
        fix = f"take back the decision that ran, or run again: sizewell evidence run {stack}"
        raise UsageError(f"--observed: {stack} was sized again since it ran, and predicts something else\n  fix: {fix}")
    if kinds([path])[0]:
        return Stage(stage="measured", outcome="passed", figures=_times(stack, decision, path))
    measured = read_observed(path, load())
    workload = next((w for w in decision.workloads if w.spec.name == measured.workload), None)
    types = {pool.instance_type for pool in workload.pools} if workload else set()
    if workload is None or measured.running.instance_type not in types:
        known = ", ".join(f"{w.spec.name} on {pool.instance_type}" for w in decision.workloads for pool in w.pools)
        what = f"is of {measured.workload} on {measured.running.instance_type}, and {stack} has {known}"
        raise ConfigError([Fault(path="workload", message=what, fix="measure the stack that ran")], subject=str(path))
    pairs = {
        "utilization_measured": measured.utilization,
        "step_time_s_measured": measured.step_time_s,
        "step_time_s_predicted": workload.performance.figures.get("step_s"),
        "memory_bytes_measured": measured.memory_bytes,
        "memory_bytes_predicted": workload.memory.per_device_bytes,
        "rps_measured": measured.rps,
    }
    output.note(f"the same file sizes it by what was measured: sizewell size SPEC --observed {project.typed(path)}")
    figures: Any = {name: float(value) for name, value in pairs.items() if value is not None}
    return Stage(stage="measured", outcome="passed", figures=figures)


def _times(stack: str, decision: Decision, path: Path) -> Any:
    """What a load test of the stack's served model measured, beside what is predicted of that load."""
    from sizewell.sizing.catalog import load
    from sizewell.sizing.choose.as_measured import compare
    from sizewell.sizing.choose.observed import Service
    from sizewell.sizing.workload.measured import read_all
    from sizewell.sizing.workload.read import read_spec

    runs, served = read_all([path]), [w for w in decision.workloads if "ttft_s" in w.performance.figures]
    if len(runs) != 1 or len(served) != 1:
        what = f"has {len(runs)} load tests, and {stack} {len(served)} served language models"
        raise ConfigError(
            [Fault(path="", message=what, fix="name one load test of a stack with one")], subject=str(path)
        )
    (workload,) = served
    pool, folder = workload.pools[0], project.root() / "stacks/specs" / stack
    specs = [spec for each in sorted(folder.glob("*.yaml")) if (spec := read_spec(each)).name == workload.spec.name]
    if [spec.digest() for spec in specs] != [workload.spec.digest]:
        what = f"the spec of {workload.spec.name} in {project.shown(folder)} is not the one that was decided"
        raise UsageError(f"--observed: {what}\n  fix: take it back as it was")
    running = {"on": f"{pool.cloud}/{pool.region}", "instance_type": pool.instance_type}
    service = Service.model_validate(
        {"workload": workload.spec.name, "running": {**running, "nodes": max(pool.nodes_initial, 1)}}
    )
    ((_, _, rows),) = compare(specs[0], runs, service, load(), on=decision.decided_on).runs
    found = json.loads(path.read_text(encoding="utf-8")).get("output_throughput")
    figures = {"output_tokens_per_s_measured": float(found)} if isinstance(found, int | float) else {}
    for row in rows:
        if row.statistic == "mean" and row.figure in ("ttft", "tpot"):
            figures[f"{row.figure}_s_measured"] = round(row.measured_s, 6)
            figures[f"{row.figure}_s_predicted"] = round(row.predicted_s, 6)
    return figures


def _checked(path: Path, signers: Path) -> Record:
    """A record whose signature, form and names are in order."""
    from sizewell.evidence import record, signing
    from sizewell.sizing.catalog import load

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}\n  fix: name a record that `evidence write` wrote") from None
    signing.verify(path, signers)
    return record.read(text, str(path), load())


def _went(started: Run, do: Callable[[], bool], *, as_json: bool) -> int:
    """Do it and say how it ended; the exit code."""
    from sizewell.teardown.backend import interruptible

    notes = started.journal.notes
    try:
        with interruptible():
            gone = do()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            started.journal.interrupt()
        if not started.journal.over:
            what = f"something may stand: sizewell evidence resume {notes.stack}, or clean in place of resume"
            with suppress(OSError):
                print(f"sizewell: {what}", file=sys.stderr)  # with --quiet too
        raise
    record = _record(started, {})
    if as_json:
        print(record.to_json(), end="")
    else:
        _print(record)
        for name in notes.tagged[:20]:
            print(f"still there: {name}")
        if gone:
            print(f"nothing is left; the record: sizewell evidence write {notes.stack}")
        else:
            print(f"something may be left; to take it down: sizewell evidence clean {notes.stack}")
    if not gone:
        return 69
    return 6 if record.failed else 0


def _print(record: Record) -> None:
    from sizewell.evidence.page import earlier

    table = output.table("stage", "outcome", "minutes", "figures")
    for stage in record.stages:
        minutes = "" if stage.seconds is None else f"{stage.seconds / 60:.1f}"
        figures = ", ".join(f"{name} {value:,g}" for name, value in stage.figures.items())
        table.add_row(
            stage.stage, f"{stage.outcome}: {stage.cause}" if stage.cause else stage.outcome, minutes, figures
        )
    output.console().print(table)
    if record.attempts:
        print(f"tried before: {', '.join(earlier(record))}")


def _plan(started: Run, plan: Prepared) -> dict[str, Any]:
    from sizewell.evidence.prepare import usd_at_most
    from sizewell.evidence.run import LAST, LIVE

    notes = started.journal.notes
    last = LAST if "up" in notes.wanted else ()
    names = [name for name in (*LIVE, *last) if name in notes.wanted or name in last]
    return {
        "stacks": notes.stacks,
        "rights": plan.rights,
        "types_without_rights_in_table": plan.unlisted,
        "usd_per_hour_max": notes.usd_per_hour_max,
        "usd_max": round(usd_at_most(notes), 2),
        "outside": plan.outside,
        "usd_limit": notes.usd_limit,
        "seconds_limit": notes.seconds_limit,
        "stages": [
            {"stage": name, "seconds_max": notes.stage_s[name], "usd_max": started.price(name)} for name in names
        ],
    }


def _print_plan(started: Run, plan: Prepared) -> None:
    from sizewell.evidence.prepare import usd_at_most
    from sizewell.evidence.record import WHAT
    from sizewell.sizing.units import plural

    table = output.table("stage", "what", "minutes, at most", "USD, at most")
    for each in _plan(started, plan)["stages"]:
        table.add_row(each["stage"], WHAT[each["stage"]], f"{each['seconds_max'] / 60:.0f}", f"{each['usd_max']:.2f}")
    console, notes = output.console(), started.journal.notes
    console.print(table)
    if "up" not in notes.wanted:
        console.print("it builds nothing and costs nothing")
        return
    console.print(f"in all, at most {usd_at_most(notes):.2f} USD until it is down, with an hour that is billed whole")
    for machine in notes.machines:
        where = f"{machine.cloud} {machine.region}"
        console.print(f"at most {machine.nodes_max} x {machine.instance_type}, {machine.market}, {where}")
    rate = f"{notes.usd_per_hour_max:.2f} USD an hour with everything on; the first hour counts whole"
    console.print(f"{rate}; limits: {notes.usd_limit:g} USD, {notes.seconds_limit / 60:.0f} minutes from `up` on")
    for text in plan.outside:
        console.print(f"outside the price: {text}")
    unlisted = f"; of {plural(plan.unlisted, 'type')} no table has them" if plan.unlisted else ""
    console.print(f"rights to build it: {', '.join(plan.rights) or 'not known'}{unlisted}")
