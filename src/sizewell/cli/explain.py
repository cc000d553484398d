"""`sizewell explain`: why the choice is what it is, and what would change it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizewell.cli import output, project
from sizewell.cli.answers import STDIN, as_decided, document, read_all, size_all
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import PATH, Choice, iso_date
from sizewell.sizing.errors import UsageError
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from rich.console import Console

    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.choice import Sizing
    from sizewell.sizing.choose.decide import Answer, NothingFits
    from sizewell.sizing.choose.elsewhere import ByTheToken
    from sizewell.sizing.choose.explain import Explanation
    from sizewell.sizing.choose.pricing import Option
    from sizewell.sizing.records.jobs import Layout
    from sizewell.sizing.workload.read import WorkloadSpec

    Tried = tuple[WorkloadSpec, Sizing, Option | None]

DESCRIPTION = """Explain a choice: memory per device, where the time of a step goes, what would have to change to
fit on half the devices, the next-best layout, the speed-up from twice the devices, what drives
the cost, and what was rejected.
"""
EXAMPLES = """examples:
  sizewell explain finetune.yaml
  sizewell explain --stack dev-aws                a stack, on the day of its decision
  sizewell explain chat.yaml --why h100  why not a machine with an H100
  sizewell explain chat.yaml --checklist deploy
  sizewell explain chat.yaml --json
  sizewell explain chat.yaml --html report.html   a page to forward, without scripts

exit code: 0 explained, 5 nothing fits, 64 a spec or the command line is wrong
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("spec", nargs=-1, type=PATH, help="spec files, - for standard input")
@click.option("--stack", metavar="NAME", help="explain the specs of this stack")
@click.option(
    "--why", metavar="NAME", help="why this machine type, or each type with this accelerator, was chosen or not"
)
@click.option(
    "--checklist", type=Choice(("scale", "deploy")), help="fill in a checklist from the decision's own records"
)
@click.option("--on", type=iso_date, metavar="DATE", help="use the prices of this date (default: today)")
@click.option("--json", is_flag=True, help="print JSON")
@click.option("--html", type=PATH, metavar="FILE", help="write one page to forward; - prints it")
def command(args: Arguments) -> int:
    paths = list(args.spec)
    on, cloud, stated = args.on, None, ""
    if args.stack:
        root = project.root()
        stated = project.environment(root, args.stack)
        decided = project.decision_path(root, args.stack)
        paths = paths or project.spec_paths(root, args.stack)
        if decided.exists():
            from sizewell.sizing.records.decision import Decision

            decision = Decision.from_json(decided)
            on = on or decision.decided_on
            cloud = next((pool.cloud for workload in decision.workloads for pool in workload.pools), None)
    if not paths:
        raise UsageError(
            "no spec named\n  fix: write one, `sizewell new chat`, then `sizewell explain chat.yaml`; or --stack NAME"
        )
    on = on or date.today()  # noqa: DTZ011 - the user's own calendar

    from sizewell.sizing.catalog import load

    catalog = as_decided(load(), project.decision_path(project.root(), args.stack) if args.stack else None)
    specs = read_all(paths, catalog)
    if args.why and (seller := catalog.sellers.get(args.why.lower())):
        output.print_json(_plain(seller)) if args.json else print(f"{seller.name} is not built: {seller.not_built}")
        return 0
    if args.html is not None and (args.checklist or args.why or args.json):
        raise UsageError(
            "--html cannot be combined with --json, --why or --checklist\n  fix: leave --json, --why and --checklist "
            "out"
        )
    if args.checklist or args.why:
        from sizewell.sizing.choose.explain import sized

        tried = [
            (spec, *sized(spec, catalog, stack=args.stack or "", on=on, cloud=cloud, environment=stated))
            for spec in specs
        ]
        documents = _checklists(tried, args, cloud) if args.checklist else _verdicts(tried, args, catalog)
        if args.json:
            output.print_json(documents[0] if len(documents) == 1 else documents)
        return 5 if any(chosen is None for _, _, chosen in tried) else 0
    answers = explained(specs, catalog, stack=args.stack or "", on=on, cloud=cloud, environment=stated)
    from sizewell.sizing.choose.elsewhere import by_the_token

    tokens = [by_the_token(spec, catalog, on) for spec in specs]
    if args.html is not None:
        sizings = size_all(specs, catalog, stack=args.stack, on=on, environment=stated)
        write_page(args.html, sizings, answers, tokens)
    elif args.json:
        documents = [
            {**_document(answer), "by_the_token": [_plain(offer) for offer in offers]}
            for answer, offers in zip(answers, tokens, strict=True)
        ]
        output.print_json(documents[0] if len(documents) == 1 else documents)
    else:
        _print(answers, tokens)
    return 5 if any(not hasattr(answer, "memory") for answer in answers) else 0


def explained(
    specs: Sequence[WorkloadSpec], catalog: Catalog, *, stack: str, on: date, cloud: str | None, environment: str
) -> list[Explanation | NothingFits]:
    """The explanation of each spec, with a sign of life."""
    from sizewell.sizing.choose.explain import explain

    with output.progress("trying") as tell:
        answers = []
        for spec in specs:
            tell(f"explaining {spec.name}")
            answers.append(explain(spec, catalog, stack=stack, on=on, cloud=cloud, environment=environment))
    return answers


def write_page(
    path: Path,
    decided: Sequence[Answer],
    explained: Sequence[Explanation | NothingFits],
    tokens: Sequence[tuple[ByTheToken, ...]],
) -> None:
    """The page of `--html`: what was decided, from its records, beside what explains it."""
    from sizewell.cli.report import page

    text = page(decided, explained, tokens)
    if path == STDIN:
        print(text, end="")
    else:
        output.write_file(path, [text], "--html")
        output.note(f"wrote {path}")


def _verdicts(tried: list[Tried], args: Arguments, catalog: Catalog) -> list[Any]:
    """Print and return what became of the machine types that `--why` names, for each spec."""
    from sizewell.sizing.choose.why import asked_for, counts, verdicts

    console, documents = output.console(), []
    for spec, sizing, chosen in tried:
        every = verdicts(sizing, chosen)
        asked, number = asked_for(every, args.why, catalog), counts(every)
        machines = [dataclasses.asdict(verdict) for verdict in asked]
        documents.append(
            {"schema": schema_of("why"), "workload": spec.name, "why": machines, "machine_types": dict(number)}
        )
        if args.json:
            continue
        made = output.table("machine type", "accelerators", "is", "because")
        for verdict in asked:
            devices = f"{verdict.accelerators} x {verdict.accelerator}" if verdict.accelerator else "none"
            cause = f"{verdict.outcome}: {verdict.cause}" if verdict.cause else verdict.outcome
            made.add_row(f"{verdict.cloud} {verdict.instance_type}", devices, cause, verdict.reason)
        console.print(f"{spec.name}: {_number_of_types(number)}")
        console.print(made)
    return documents


def _checklists(tried: list[Tried], args: Arguments, cloud: str | None) -> list[Any]:
    """Print and return a checklist for each spec, or what came nearest where nothing fits."""
    from sizewell.cli import decision_text
    from sizewell.sizing.choose.checklist import checklist
    from sizewell.sizing.choose.decide import nothing_fits

    console, documents = output.console(), []
    for spec, sizing, chosen in tried:
        if chosen is None:
            answer = nothing_fits(sizing, cloud)
            documents.append(document(answer))
            if not args.json:
                decision_text.nothing_fits(console, answer)
            continue
        lines = checklist(args.checklist, sizing, chosen)
        documents.append(
            {
                "schema": schema_of("checklist"),
                "workload": spec.name,
                "checklist": args.checklist,
                "lines": [dataclasses.asdict(line) for line in lines],
            }
        )
        if args.json:
            continue
        made = output.table(args.checklist, "answer", "from")
        before = ""
        for line in lines:
            made.add_row(line.point if line.point != before else "", line.answer, line.source)
            before = line.point
        console.print(spec.name, style="bold")
        console.print(made)
    return documents


def _number_of_types(number: Mapping[str, int]) -> str:
    plural = {"choice": "the choice", "alternative": "alternatives"}
    parts = [f"{count} {plural.get(outcome, outcome)}" for outcome, count in number.items()]
    return f"of {sum(number.values())} machine types {', '.join(parts)}"


def _document(answer: Explanation | NothingFits) -> dict[str, Any]:
    if not hasattr(answer, "memory"):
        return document(answer)
    data = {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
    return {"schema": schema_of("explanation"), **{name: _plain(value) for name, value in data.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _print(answers: list[Explanation | NothingFits], tokens: list[tuple[ByTheToken, ...]]) -> None:
    from sizewell.cli import decision_text
    from sizewell.sizing.choose.decide import NothingFits

    console = output.console()
    for index, (answer, offers) in enumerate(zip(answers, tokens, strict=True)):
        if index:
            console.print()
        if isinstance(answer, NothingFits):
            decision_text.nothing_fits(console, answer)
        else:
            show(console, answer)
        decision_text.by_the_token(console, offers)


def show(console: Console, explanation: Explanation) -> None:
    """One workload's explanation."""
    from sizewell.cli import decision_text
    from sizewell.sizing.units import gib, short_duration

    decision_text.head(console, explanation.workload, explanation.machines)
    if explanation.memory:
        used, high, usable = (
            gib(size) for size in (explanation.used_bytes, explanation.high_bytes, explanation.usable_bytes)
        )
        console.print()
        decision_text.head(
            console, "memory of one device", f"{used:.1f} of {usable:.1f} GiB usable, up to {high:.1f} in the band"
        )
        for line in decision_text.bars(
            {part.name: round(part.value) for part in explanation.memory}, explanation.usable_bytes
        ):
            console.print(f"  {line}")
    limit = f", limited by {explanation.bottleneck}" if explanation.bottleneck not in ("", "none") else ""
    if explanation.waterfall:
        step_s = sum(part.value for part in explanation.waterfall)
        console.print()
        decision_text.head(console, "one step", f"{short_duration(step_s)}{limit}")
        for line in decision_text.waterfall({part.name: part.value for part in explanation.waterfall}):
            console.print(f"  {line}")
    elif limit:
        console.print()
        decision_text.head(console, "speed", limit.removeprefix(", "))
    for remark in explanation.remarks:
        decision_text.item(console, remark)
    if explanation.layout is not None:
        decision_text.item(console, f"split: {_layout(explanation.layout)}")
    if explanation.next_layout is not None:
        other = explanation.next_layout
        decision_text.item(
            console, f"next best: {_layout(other.layout)}, {short_duration(other.step_s)} a step: {other.why_it_loses}"
        )
    if explanation.scaling is not None:
        twice, reached = 2 * explanation.scaling.devices, explanation.scaling.efficiency
        speed = (
            explanation.scaling.warning
            if reached is None
            else f"{2 * reached:.3g} x the speed ({reached:.0%} of twice)"
        )
        decision_text.item(console, f"on {twice} devices instead of {explanation.scaling.devices}: {speed}")
        if reached is not None and explanation.scaling.warning:
            decision_text.item(console, f"warning: {explanation.scaling.warning}")
    if explanation.half:
        console.print()
        devices = f"{explanation.half_devices} device{'s' * (explanation.half_devices != 1)}"
        decision_text.head(console, "on half the devices", devices if explanation.half_devices else "")
        for change in explanation.half:
            decision_text.item(console, f"{'enough ' if change.enough else 'no     '} {change.what}: {change.outcome}")
    if explanation.sensitivity:
        made = output.table("if available", "then", "USD", "change", right=("USD", "change"))
        for effect in explanation.sensitivity:
            usd = "?" if effect.usd is None else f"{effect.usd:,.2f}"
            percent = "" if effect.change_percent is None else f"{effect.change_percent:+.1f} %"
            percent_cell = output.signed(percent, effect.change_percent)
            made.add_row(effect.what, effect.machines or "nothing fits", usd if effect.machines else "", percent_cell)
        console.print()
        console.print(made)
    decision_text.alternatives(console, explanation.alternatives, runs=explanation.layout is not None)
    decision_text.item(console, f"{_number_of_types(explanation.machine_types)}; `--why NAME` explains each")


def _layout(layout: Layout) -> str:
    ways = [
        f"{name} {size}"
        for name in ("tensor", "pipeline", "context", "expert", "data")
        if (size := getattr(layout, name)) > 1
    ]
    more = [f"ZeRO-{layout.zero_stage}"] if layout.zero_stage else []
    more += [f"micro-batch {layout.micro_batch}"]
    more += [f"{layout.checkpointing} checkpointing"] if layout.checkpointing != "none" else []
    return ", ".join([*ways, *more])
