"""`sizewell size`: specs in, machines, time and cost out; with --stack the stack's decision is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizewell.cli import output, project, supporting
from sizewell.cli.answers import (
    as_decided,
    document,
    exit_code,
    is_decision,
    max_age_s,
    read_all,
    size_all,
)
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import INPUT, PATH, iso_date
from sizewell.sizing.errors import DecisionError, SizewellError, UsageError
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.decide import Answer
    from sizewell.sizing.records.decision import Decision, Workload
    from sizewell.sizing.workload.read import WorkloadSpec

DESCRIPTION = """Size workloads: the machines, how many, where and in which market, with memory, speed and cost.

Prints and writes nothing, unless --stack names a stack: then its decision is written to
stacks/decisions/STACK.json, completely, or not at all if nothing fits. Commit that file:
`pulumi up` builds what it says.
"""
EXAMPLES = """examples:
  sizewell size chat.yaml                         one workload, in full; `sizewell new` writes it
  sizewell size specs/*.yaml                      many, one line each
  sizewell size chat.yaml --json                  the decision as JSON
  sizewell size chat.yaml --html page.html      a page: cost against speed, memory by device
  sizewell size chat.yaml --show-spec             the spec with every default
  sizewell size SPEC --observed FILE              is what runs now larger than it needs to be?
  sizewell size SPEC --observed bench.json        how far was the prediction off? sized as measured
  sizewell size --stack dev-aws                   decide its specs, write the decision
  sizewell size --stack dev-aws --in-stock        of what can be had now (`sizewell stock`)
  sizewell size --check                           would a committed decision come out differently?

A spec of four lines is enough to start:
  name: chat
  kind: inference
  model: meta-llama/Llama-3.1-8B
  traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}

exit code: 0 success, 2 over budget, 3 something is unpriced, 4 out of date (--check, --max-age),
5 nothing fits, 64 a spec or the command line is wrong
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("spec", nargs=-1, type=PATH, help="spec files, - for standard input (default with --stack: its own)")
@click.option("--stack", metavar="NAME", help="write the decision of this stack")
@click.option("--check", is_flag=True, help="write nothing; exit 4 if a decision would change")
@click.option("--show-spec", is_flag=True, help="print the specs with every default and its source")
@click.option("--details", is_flag=True, help="print each spec in full, even if there are many")
@click.option(
    "--observed",
    type=INPUT,
    metavar="FILE",
    multiple=True,
    help="compare one spec with what was measured of it: use, a load test, or two pages of vLLM's metrics",
)
@click.option(
    "--in-stock/--no-in-stock",
    default=None,
    help="ask the clouds, and choose what can be had (default: as the stack's decision was)",
)
@click.option("--account", multiple=True, metavar="CLOUD=ACCOUNT", help="whose stock --in-stock asks, as gcp=PROJECT")
@click.option("--on", type=iso_date, metavar="DATE", help="use the prices of this date (default: today)")
@click.option("--json", is_flag=True, help="print JSON")
@click.option("--html", type=PATH, metavar="FILE", help="write the page of `explain --html`; - prints it")
@click.option("--max-age", metavar="AGE", help="exit 4 if the newest accelerator price is older, such as 30d")
def command(args: Arguments) -> int:
    if args.html is not None and (args.json or args.check or args.show_spec or args.observed):
        raise UsageError(
            "--html cannot be combined with --json, --check, --show-spec or --observed\n  fix: leave the others out"
        )
    if args.in_stock and (args.check or args.show_spec or args.observed):
        raise UsageError("--in-stock cannot be combined with --check, --show-spec or --observed\n  fix: leave it out")
    if args.account and not args.in_stock:
        raise UsageError(
            "--account: names whose stock is asked, and none is asked\n  fix: add --in-stock, or leave it out"
        )
    if args.check:
        return _check(args)
    paths = list(args.spec)
    target: Path | None = None
    beside: list[Path] = []
    stated = ""
    if args.stack:
        root = project.root()
        target = project.decision_path(root, args.stack)
        paths = paths or project.spec_paths(root, args.stack)
        stated = project.environment(root, args.stack)
    if not paths:
        raise UsageError(
            "no spec named\n  fix: write one, `sizewell new chat`, then `sizewell size chat.yaml`; or --stack NAME"
        )
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    oldest_s = max_age_s(args.max_age)

    from sizewell.sizing.catalog import load

    with output.progress("reading the catalog") as tell:
        catalog = load()
        tell(f"reading {plural(len(paths), 'spec')}")
        specs = read_all(paths, catalog)
    if args.show_spec:
        return _show(specs, as_json=args.json)
    if args.observed:
        if args.stack:
            raise UsageError("--observed advises and writes nothing\n  fix: leave --stack out, then change the spec")
        from sizewell.cli import rightsize

        return rightsize.run(specs, args.observed, catalog, on=on, as_json=args.json)
    if args.in_stock:
        answers = _in_stock(specs, catalog, args, on=on, environment=stated)
        catalog = replace(catalog, in_stock=next((each.in_stock for each in answers if is_decision(each)), None))
    else:
        catalog = as_decided(catalog, target) if args.in_stock is None else catalog
        answers = size_all(specs, catalog, stack=args.stack, on=on, environment=stated)
    for answer in answers:
        _tell_of_stock(answer)
    if target is not None and is_decision(answers[0]):
        answers[0].write(target)
        beside = supporting.write(root, answers[0])
    if args.html is not None:
        from sizewell.cli.explain import explained, write_page
        from sizewell.sizing.choose.elsewhere import by_the_token

        why = explained(specs, catalog, stack=args.stack or "", on=on, cloud=None, environment=stated)
        write_page(args.html, answers, why, [by_the_token(spec, catalog, on) for spec in specs])
    if args.html is None or target is not None:
        _print(answers, args, target, specs, catalog)
    if target is not None and not args.json:
        _tell_what_comes_first(answers, root, beside)
    aged = _age(catalog, on, oldest_s)
    _old_prices(catalog, answers, on)
    if target is not None:
        _longer_support(catalog, answers, root, on)
    return exit_code(answers, stale=aged)


def _in_stock(
    specs: Sequence[WorkloadSpec], catalog: Catalog, args: Arguments, *, on: date, environment: str
) -> list[Answer]:
    """One answer for all specs of a stack, else one for each, of what can be had now."""
    from sizewell.cli import stock
    from sizewell.cli.parameters import by_cloud

    accounts = by_cloud("--account", args.account)
    config = (project.config(project.root(), args.stack) or {}) if args.stack else {}
    preferred = tuple(str(zone) for zone in config.get("sizewell:zones") or ())
    answers = []
    for group in [specs] if args.stack else [[spec] for spec in specs]:
        stated: Mapping[tuple[str, str | None], tuple[str, ...]] = {
            (s.name, p.region): (p.zone,) for s in group for p in s.infra if p.zone
        }

        def zones(
            name: str, region: str, stated: Mapping[tuple[str, str | None], tuple[str, ...]] = stated
        ) -> tuple[str, ...]:
            return stated.get((name, region), preferred)

        def decided(known: Catalog, group: Sequence[WorkloadSpec] = group) -> Answer:
            return size_all(group, known, stack=args.stack or "", on=on, environment=environment)[0]

        ask = partial(stock.asked, catalog=catalog, config=config, accounts=accounts, zones=zones)
        answer, rows = stock.in_stock(group, catalog, decided, ask)
        answers.append(answer)
        for doubt in stock.doubts(rows) if is_decision(answer) else ():
            output.note(doubt)
    return answers


def _tell_of_stock(answer: Answer) -> None:
    if is_decision(answer) and answer.in_stock is not None:
        from sizewell.cli.stock import said

        output.note(said(answer.in_stock, answer))


def _show(specs: Sequence[WorkloadSpec], *, as_json: bool) -> int:
    from sizewell.sizing.versions import schema_of
    from sizewell.sizing.workload.resolved import as_yaml, resolved

    if as_json:
        schema = schema_of("spec")
        output.print_json(
            [{"schema": schema, "name": spec.name, "digest": spec.digest(), "spec": resolved(spec)} for spec in specs]
        )
        return 0

    print("---\n".join(as_yaml(spec) for spec in specs), end="")
    return 0


def _print(
    answers: Sequence[Answer],
    args: Arguments,
    target: Path | None,
    specs: Sequence[WorkloadSpec],
    catalog: Catalog,
) -> None:
    if args.json:
        documents = [document(answer) for answer in answers]
        output.print_json(documents[0] if len(documents) == 1 else documents)
        from sizewell.cli.decision_text import budgets

        for workload in (each for answer in answers if is_decision(answer) for each in answer.workloads):
            for text in (text for text, over in budgets(workload) if over):
                output.note(f"{workload.spec.name}: {text}")
        return
    from sizewell.cli import decision_text
    from sizewell.sizing.choose.elsewhere import by_the_token
    from sizewell.sizing.choose.worth import worth

    asked = {spec.name: spec for spec in specs}
    console = output.console()
    rows: list[tuple[Workload | None, str]] = []
    for answer in answers:
        if is_decision(answer):
            rows += [(workload, workload.spec.name) for workload in answer.workloads]
        else:
            rows.append((None, f"{answer.workload}: nothing fits"))
    if len(rows) > 1:
        decision_text.summary(console, rows)
    for answer in answers:
        if not is_decision(answer):
            console.print()
            decision_text.nothing_fits(console, answer)
        elif len(rows) == 1 or args.details:
            for workload in answer.workloads:
                if len(rows) > 1:
                    console.print()
                decision_text.workload_block(console, workload, answer)
                for line in filter(None, (worth(catalog, pool, answer) for pool in workload.pools)):
                    console.print(f"\n{line}")
                decision_text.by_the_token(console, by_the_token(asked[workload.spec.name], catalog, answer.decided_on))
    if target is not None:
        decided = all(is_decision(answer) for answer in answers)
        console.print()
        if decided:
            console.print(f"wrote {project.shown(target)}: review and commit it; `pulumi up` builds what it says")
            for answer in answers:
                if is_decision(answer):
                    print(_end(answer, specs))  # as it is: it names a command to be copied
        else:
            state = "is untouched" if target.exists() else "was not written"
            console.print(f"{project.shown(target)} {state}")


def _end(decision: Decision, specs: Sequence[WorkloadSpec]) -> str:
    """When the stack ends."""
    if decision.expires_at is None:
        without = ", ".join(spec.name for spec in specs if spec.ttl_s is None)
        return f"it never expires, as {without} has no ttl: `ttl: 30d` in every spec of the stack changes that"
    ttl = f"ttl-{decision.stack}"
    cost = f"the total has its cost (`sizewell preview {ttl}`)"
    return f"it expires on {decision.expires_at}: the stack {ttl} ends it; {cost}"


def _tell_what_comes_first(answers: Sequence[Answer], root: Path, written: Sequence[Path]) -> None:
    """The supporting stacks, and the commands that build them, each on a line of its own that can be copied."""
    if written:
        print(f"wrote {', '.join(map(project.shown, written))}: the supporting stacks, in the same account")
    for answer in answers:
        if is_decision(answer) and (lines := supporting.commands(root, answer)):
            print("before its first update, once (`sizewell docs run-a-stack`):")
            print("\n".join(f"  {line}" for line in lines))


def _age(catalog: Catalog, on: date, oldest_s: float | None) -> bool:
    """Say how old the prices are where that matters; True where they are older than --max-age allows."""
    from sizewell.sizing.catalog.history import fresh_days

    days = (on - date.fromisoformat(catalog.as_of)).days
    stale = oldest_s is not None and days * 86_400 > oldest_s
    if stale or days > fresh_days("on-demand"):
        limit = f", older than {oldest_s / 86_400:g} days" if stale and oldest_s is not None else ""
        age = f"{plural(days, 'day')} old{limit}"
        output.note(f"the newest accelerator price is from {catalog.as_of}, {age}; `sizewell docs refresh-prices`")
    return stale


def _old_prices(catalog: Catalog, answers: Sequence[Answer], on: date) -> None:
    """Name the prices that the answers rest on and that are too old for their kind."""
    from sizewell.sizing.catalog.history import fresh_days, stale_prices

    pools = [pool for answer in answers if is_decision(answer) for w in answer.workloads for pool in w.pools]
    used = [(pool.cloud, pool.instance_type, pool.region, pool.market) for pool in pools]
    for old in stale_prices(catalog, used, on):
        age = f"is from {old.date}, {plural(old.age_days(on) or 0, 'day')} old (limit {fresh_days(old.market)})"
        what = f"the {old.market} price of {old.instance_type} in {old.region}"
        output.note(f"{what} {age}: sizewell prices show {old.instance_type}")


def _longer_support(catalog: Catalog, answers: Sequence[Answer], root: Path, on: date) -> None:
    """Name what a stack's configuration adds to its clusters, which a decision, of the specs alone, does not count."""
    from sizewell.components.access import cluster_clouds
    from sizewell.sizing.catalog import lifetimes
    from sizewell.sizing.money import HOURS_PER_MONTH, Priced
    from sizewell.sizing.providers import CLOUDS

    for answer in filter(is_decision, answers):
        config = project.config(root, answer.stack) or {}
        if config.get("sizewell:kubernetesSupport") != "extended":
            continue
        for cloud in cluster_clouds(answer):
            fees, service = CLOUDS[cloud].fees, CLOUDS[cloud].cluster.name.lower()
            known = lifetimes.load().versions(service)
            row = known.get(lifetimes.minor(str(config.get("sizewell:kubernetesVersion", ""))))
            over = row is not None and lifetimes.ended(row.supported_until, on)
            if not fees.control_plane_extended or not (over or fees.extended_at_once):
                continue
            for region in sorted({p.region for w in answer.workloads for p in w.pools if p.cloud == cloud}):
                usual, longer = (
                    catalog.fee(cloud, key, region, on) for key in (fees.control_plane, fees.control_plane_extended)
                )
                if isinstance(usual, Priced) and isinstance(longer, Priced):
                    high, low = (output.dollars(price.amount * HOURS_PER_MONTH) for price in (longer, usual))
                    output.note(
                        f"the {service.upper()} cluster in {region} is billed {high} USD a month in extended support, "
                        f"not the {low} of the decision, which is of the specs alone: "
                        f"`sizewell preview {answer.stack}` counts it"
                    )


@dataclass(frozen=True)
class Verdict:
    """What a decision would be today: `changes` says how it differs, one line each."""

    stack: str
    state: str  # "in order", "would change", "nothing fits any more", "not decided yet"
    changes: tuple[str, ...] = ()


def _check(args: Arguments) -> int:
    root = project.root()
    stacks = [project.decision_path(root, args.stack)] if args.stack else project.decided_or_not(root)
    if args.spec and not args.stack:
        raise UsageError("--check reads stacks/specs/STACK\n  fix: name a stack: --stack dev-aws")
    if args.stack and not args.spec and not stacks[0].is_file():
        project.spec_paths(root, args.stack)  # says which stacks there are, where this one has no specs either
    if not stacks:
        raise UsageError("no decisions under stacks/decisions\n  fix: write one: sizewell size --stack dev-aws")
    from sizewell.sizing.catalog import load

    catalog = load()
    named = list(args.spec)
    verdicts = []
    with output.progress("deciding again") as tell:
        for path in stacks:
            tell(f"deciding {path.stem} again")
            verdicts.append(_verdict(path, named, root, catalog))
    if args.json:
        output.print_json([{"stack": v.stack, "state": v.state, "changes": v.changes} for v in verdicts])
    else:
        for verdict in verdicts:
            print(f"{verdict.stack}: {verdict.state}")
            for change in verdict.changes:
                print(f"  {change}")
    stale = any(verdict.state != "in order" for verdict in verdicts)
    if stale and not args.json:
        output.note("to accept: sizewell size --stack STACK, review the change, commit it")
    today = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    return 4 if _age(catalog, today, max_age_s(args.max_age)) or stale else 0


def out_of_date(root: Path, stacks: Sequence[str]) -> tuple[str, ...]:
    """Decisions of these stacks that would come out otherwise from the specs as they stand, in one sentence each."""
    from sizewell.sizing.catalog import load

    catalog, remarks = load(), []
    for stack in stacks:
        path = root / "stacks/decisions" / f"{stack}.json"
        if not path.exists():
            continue
        try:
            verdict = _verdict(path, (), root, catalog)
        except SizewellError as error:
            verdict = Verdict(stack, "cannot be checked", (str(error).partition("\n")[0],))
        if verdict.state != "in order":
            changes = "; ".join(" ".join(change.split()) for change in verdict.changes[:3])
            remarks.append(
                f"{stack}: {verdict.state}: {changes}; decide with `sizewell size --stack {stack}` and commit it"
            )
    return tuple(remarks)


def _verdict(path: Path, specs: Sequence[Path], root: Path, catalog: Catalog) -> Verdict:
    from sizewell.sizing.records.decision import Decision

    if not specs and not path.is_file():
        return Verdict(
            path.stem, "not decided yet", (f"its specs have no decision: sizewell size --stack {path.stem}",)
        )
    try:
        before = Decision.from_json(path)
    except DecisionError as error:
        return Verdict(path.stem, "cannot be read", (str(error),))
    changes = ["the file was edited by hand: its checksum does not match its content"] if before.edited else []
    wanted = read_all(specs or project.spec_paths(root, path.stem), catalog)
    stated = project.environment(root, path.stem)
    answer = size_all(wanted, as_decided(catalog, path), stack=path.stem, on=before.decided_on, environment=stated)[0]
    if not is_decision(answer):
        return Verdict(path.stem, "nothing fits any more", (*changes, str(answer)))
    from sizewell.cli.changes import changes as changed

    changes += changed(before, answer)
    return Verdict(path.stem, "would change" if changes else "in order", tuple(changes))
