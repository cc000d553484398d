"""`sizewell policy`: judge stacks by the rules, without the Pulumi CLI; or list the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizewell.cli import judges, judging, output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import INPUT, PATH, Choice, iso_date, stacks
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.policy.config import Config
    from sizewell.policy.engine import Report
    from sizewell.recording.plans import Planned

DESCRIPTION = """Check what stacks would build against the policies: spend, correctness, safety, ownership.

The stack's program runs in this process against a recorder; nothing is built, no account is
needed.
"""
EXAMPLES = """examples:
  sizewell policy dev-aws                         one stack
  sizewell policy                                 every stack of the project
  sizewell policy dev --profile standard          every resource, accelerator or not
  sizewell policy --base origin/main              a change, by the policies that it is made against
  sizewell policy --plan plan.json                a program in any language, by the engine's plan
  sizewell policy --list                          the rules, their levels and what each prevents
  sizewell policy --pack policy                   the pack for `pulumi up --policy-pack policy`

exit code: 0 nothing mandatory failed, 1 something did, 4 a decision is missing or out of date
(its specs name other workloads or cannot be read), 64 a wrong configuration or usage, 69 a
program failed
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", nargs=-1, shell_complete=stacks, help="stacks (default: all)")
@click.option(
    "--plan", multiple=True, type=INPUT, metavar="FILE", help="judge `pulumi preview --json --show-sames` instead"
)
@click.option(
    "--engine", type=Choice(("auto", "offline", "pulumi")), default="auto", help="how the program is evaluated (auto)"
)
@click.option("--state", type=INPUT, metavar="FILE", help="what stands now, for what a program does not show")
@click.option(
    "--profile",
    type=Choice(("accelerators", "standard", "strict")),
    help="what is judged, instead of what the configuration says",
)
@click.option("--list", is_flag=True, help="list the rules instead")
@click.option("--pack", type=PATH, metavar="DIR", help="write the pack for `pulumi --policy-pack DIR` instead")
@click.option("--config", type=PATH, metavar="FILE", help=f"levels, parameters and waivers ({judging.DEFAULT_CONFIG})")
@click.option("--base", metavar="REF", help="judge the change since this git revision, by its policies")
@click.option("--usage", type=PATH, metavar="FILE", help="usage that resources do not state: stored data, egress")
@click.option("--discounts", type=PATH, metavar="FILE", help="own rates and commitments")
@click.option("--on", type=iso_date, metavar="DATE", help="date of the prices and waivers to use (today)")
@click.option("--json", is_flag=True, help="print JSON")
def command(args: Arguments) -> int:
    if args.pack is not None:
        from sizewell.policy.pack import write_pack

        written = write_pack(args.pack)
        for path in written:
            output.note(f"wrote {path}")
        output.note(f"pulumi preview --policy-pack {args.pack}")
        if args.json:
            output.print_json({"schema": schema_of("policy-pack"), "files": [str(path) for path in written]})
        return 0
    root = Path.cwd() if args.plan else project.root()
    settings = judging.config(args.config, root)
    if args.profile:
        settings = replace(settings, profile=args.profile)
    if args.list:
        return _list(settings, as_json=args.json)
    from sizewell.cli.specs import out_of_step
    from sizewell.preview.pipeline import Request, against_base, stacks_of
    from sizewell.recording.plans import from_file, planned, state_of

    known = () if args.plan else stacks_of(root)
    if not args.plan:
        project.must_be_stacks(args.stack, known, root)
    at_base, said_of_prices = judges.base_prices(root, args.base, usage=args.usage, discounts=args.discounts)
    prices = judging.at_prices(at_base) if at_base else judging.own_prices(args.usage, args.discounts)
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    settings, environments, said = _judges(args, root, settings, known)
    said = (*said, *said_of_prices)
    reports: dict[str, Report | SizewellError] = {}
    state = state_of(args.state) if args.state else None
    with output.progress("evaluating") as tell:
        stands = None if args.base else args.state
        request = Request(
            root=root, on=on, base=args.base, base_state=stands, state=args.state, plan_files=tuple(args.plan),
            engine=args.engine, progress=tell,
        )  # fmt: skip
        with against_base(request) as judged:

            def report(name: str, read: Planned) -> Report | SizewellError:
                try:
                    change = judged(name, read)
                    change = replace(change, plan=judging.in_environment(change.plan, environments))
                    return judging.judge(
                        change.plan, judging.decision_of(root, name), settings, on, change.changes,
                        root=root, before=change.before, prices=prices,
                    )  # fmt: skip
                except SizewellError as error:
                    return error

            for path in args.plan:
                read = from_file(path, root, state)
                reports[read.after.stack or path.stem] = report(read.after.stack, read)
            for name in () if args.plan else args.stack or known:
                tell(f"evaluating {name}")
                try:
                    read = planned(root, name, engine=args.engine, state=state)
                except SizewellError as error:
                    reports[name] = error
                else:
                    reports[name] = report(name, read)
    old, out_of_date = ((), "") if args.plan else out_of_step(root, [*reports])
    for sentence in old:
        output.note(f"decision out of date: {sentence}")
    if args.json:
        output.print_json({name: {**_document(report), "judge": list(said)} for name, report in reports.items()})
    else:
        _print(reports, said)
    failed = [report for report in reports.values() if not isinstance(report, SizewellError) and not report.ok]
    errors = [report.exit_code for report in reports.values() if isinstance(report, SizewellError)]
    return 1 if failed else max([*errors, 4 if out_of_date else 0])


def _judges(
    args: Arguments, root: Path, settings: Config, stacks: Sequence[str]
) -> tuple[Config, Mapping[str, str], tuple[str, ...]]:
    """The policies that judge, environments that are the base's, and what a change says otherwise of either."""
    if not args.base:
        return settings, {}, judges.said_of(root, args.config, settings, stacks)
    from sizewell.preview.base import must_be_a_revision

    must_be_a_revision(root, args.base, "--base")
    before, lines = judges.policies_at(root, args.base, args.config, settings)
    environments, more = judges.environments_at(root, args.base, stacks)
    said = tuple(f"{line} (the version of {args.base[:40]} applies)" for line in (*lines, *more))
    return before, environments, said


def _document(report: Report | SizewellError) -> dict[str, Any]:
    if isinstance(report, SizewellError):
        return {"schema": schema_of("policy-report"), "error": str(report), "cause": list(report.cause)}
    results = [asdict(result) for result in report.results]
    return {
        "schema": schema_of("policy-report"),
        "ok": report.ok,
        "passed": report.passed,
        "rules": report.rules,
        "summary": report.summary(),
        "not_judged": len(report.not_judged),
        "elsewhere": len(report.elsewhere),
        "results": results,
    }


def _print(reports: dict[str, Report | SizewellError], said: Sequence[str]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from sizewell.policy.engine import NOT_JUDGED, grouped

    console = output.console()
    for change in said:
        console.print(Text.assemble(("changes to the checks", "yellow"), f": {change}"))
    for stack, report in reports.items():
        if isinstance(report, SizewellError):
            console.print(Text.assemble((stack, "bold"), ": not judged"))
            console.print(f"  {report}", soft_wrap=True)
            continue
        unseen = report.not_judged
        failed, warned, waived = (
            len(grouped(results))
            for results in (
                report.failed(),
                [each for each in report.failed("advisory") if each not in unseen],
                report.waived,
            )
        )
        hidden = f", {len(unseen)} not judged" if unseen else ""
        counts = f": {failed} failed, {warned} advisory, {waived} waived{hidden}"
        console.print(Text.assemble((stack, "bold"), counts))
        if summary := report.summary():
            console.print(Padding(Text(summary), (0, 0, 0, 2)))
        for result in sorted(grouped(report.results), key=lambda result: (result.level != "mandatory", result.rule)):
            state: str = result.outcome if result.outcome != "violation" else result.level
            state = "not judged" if result.rule == NOT_JUDGED and state == "undetermined" else state
            style = "red" if result.level == "mandatory" and result.outcome != "waived" else "yellow"
            what, _, fix = result.sentence().partition("\n")
            line = Text.assemble((state, style), f" {result.rule}: {what}")
            console.print(Padding(line, (0, 0, 0, 2)))
            if fix:
                console.print(f"  {fix}", soft_wrap=True)  # a command stays in one piece
            if result.reason:
                console.print(Padding(f"waived: {result.reason}", (0, 0, 0, 4)))


def _list(settings: Config, *, as_json: bool) -> int:
    from sizewell.policy.rules import RULES

    rows: list[dict[str, Any]] = [
        {
            "rule": rule.id,
            "area": rule.area,
            "levels": {name: settings.level(rule, name) for name in ("dev", "staging", "prod")},
            "prevents": rule.prevents,
            "parameters": settings.parameters(rule),
        }
        for rule in sorted(RULES, key=lambda rule: (rule.area, rule.id))
    ]
    if as_json:
        output.print_json(rows)
        return 0
    console = output.console()
    made = output.table("rule", "area", "level", "prevents")
    for row in rows:
        levels = row["levels"]
        same = len(set(levels.values())) == 1
        level = levels["dev"] if same else "\n".join(f"{name} {level}" for name, level in levels.items())
        parameters = [f"{name}: {_pasted(value)}" for name, value in row["parameters"].items()]
        made.add_row(row["rule"], row["area"], level, "\n".join([row["prevents"], *parameters]))
    console.print(made)
    return 0


def _pasted(value: object) -> str:
    """A parameter as a configuration takes it.

    >>> _pasted({"dev": 50}), _pasted(["443", "nfs"]), _pasted(3)
    ('{dev: 50}', "['443', nfs]", '3')
    """
    import yaml

    return (
        str(yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)).removesuffix("...\n").strip()
    )
