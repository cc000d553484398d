"""`sizewell economics SPEC | STACK`: rent, commit, buy or call an API: what each costs, and what wins when."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizewell.cli import output, project
from sizewell.cli.answers import read_all
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import INPUT, PATH, iso_date, one_form, stacks
from sizewell.cli.project import typed
from sizewell.sizing.errors import UsageError
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.economics.compare import Comparison

DESCRIPTION = """Compare the ways to pay for the machines that `size` decides: on demand, spot with its rework,
commitments, capacity blocks, own hardware, an API priced per token, another cloud, and a mix of two.

Each has its total, its cash flow, its price per hour of use, and the utilization from which it is the cheapest.
Of stacks it compares what they decided, and says what to commit to over the hours of all of them.
"""
EXAMPLES = """examples:
  sizewell economics chat.yaml
  sizewell economics chat.yaml --months 12
  sizewell economics train.yaml --utilization 40%   used in 40 % of all hours
  sizewell economics train.yaml --hardware own.yaml  figures of your own servers
  sizewell economics chat.yaml --html page.html     a page with plots
  sizewell economics prod-aws dev-aws               the work of stacks, and what to commit to
  sizewell economics --all --html page.html         of every stack that has a decision
  sizewell economics --usage hours.csv              what to commit to for machines that ran

--hardware reads a file such as
  machine_usd: {value: 290000, source: a quote of 2026-10-02}
  accelerators: 8
  power_w: 10200
  usd_per_kwh: 0.09
`sizewell docs rent-commit-buy` lists its keys. --usage reads a bill (FOCUS, by the hour) or
  hour,machine,region,count
  2026-11-02T13:00Z,g6.xlarge,us-east-1,3

exit code: 0 success, 3 no way has a price, 5 nothing fits, 64 a spec, a file or the line is wrong
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("what", nargs=-1, shell_complete=stacks, help="a spec file, - for standard input, or names of stacks")
@click.option("--all", "every", is_flag=True, help="all stacks that have a decision")
@click.option("--months", type=click.IntRange(1, 120), default=36, metavar="N", help="over how long (default: 36)")
@click.option(
    "--utilization", metavar="PERCENT", help="share of all hours that is used (default: what the spec implies)"
)
@click.option("--bandwidth", metavar="RATE", help="of the way that data of the spec take, such as 10Gbit/s")
@click.option("--hardware", type=INPUT, metavar="FILE", help="figures of own hardware, as YAML")
@click.option("--usage", type=INPUT, metavar="FILE", help="machines by the hour, or a bill, in place of decisions")
@click.option("--on", type=iso_date, metavar="DATE", help="use the prices of this date (default: today)")
@click.option("--json", is_flag=True, help="print JSON")
@click.option("--markdown", is_flag=True, help="print Markdown")
@click.option("--html", type=PATH, metavar="FILE", help="write a page with plots; - prints it")
def command(args: Arguments) -> int:
    one_form(json=args.json, markdown=args.markdown, html=args.html)
    path = None if args.usage else _spec(args)
    if path is None:
        return _of_usage_or_stacks(args)
    share, bytes_per_s = _share(args.utilization), _bandwidth(args.bandwidth)

    from sizewell.economics.compare import compare
    from sizewell.economics.own import read_figures
    from sizewell.economics.ways import months_of, work_of
    from sizewell.sizing.catalog import load
    from sizewell.sizing.choose.explain import sized

    stated = read_figures(args.hardware) if args.hardware else {}
    catalog = load()
    (spec,) = read_all([path], catalog)
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    with output.progress(f"sizing {spec.name}"):
        _, option = sized(spec, catalog, stack="", on=on)
    if option is None:
        raise NothingToPayError(f"{spec.name}: nothing fits\n  fix: `sizewell size {typed(str(path))}` says why")
    comparison = compare(work_of(spec, option, months_of(spec, args.months), stated, share, bytes_per_s=bytes_per_s))
    if args.json:
        output.print_json(_document(comparison))
    elif args.markdown:
        from sizewell.cli import economics_text

        print(economics_text.markdown(comparison), end="")
    elif args.html is not None:
        from sizewell.cli.economics_page import page

        output.write_page(args.html, page(comparison))
    else:
        _print(comparison)
    return 0 if comparison.priced else 3


def _spec(args: Arguments) -> Path | None:
    """The spec that is named; None where stacks are."""
    specs = [
        each for each in args.what if each == "-" or Path(each).suffix in (".yaml", ".yml") or Path(each).is_file()
    ]
    if args.every and args.what:
        raise UsageError(f"--all: {args.what[0]} is named too\n  fix: leave out one of them")
    if not args.every and not args.what:
        raise UsageError("names nothing to pay for\n  fix: name a spec file or stacks, or add --all for all stacks")
    if specs and len(args.what) > 1:
        raise UsageError(f"{specs[0]}: one spec is compared at a time, and no stack with it\n  fix: name it alone")
    if specs:
        return Path(specs[0])
    of_a_spec = {"--utilization": args.utilization, "--bandwidth": args.bandwidth, "--hardware": args.hardware}
    for option, stated in of_a_spec.items():
        if stated is not None:
            raise UsageError(
                f"{option}: is of one spec\n  fix: name stacks/specs/STACK/NAME.yaml, or leave {option} out"
            )
    return None


def _of_usage_or_stacks(args: Arguments) -> int:
    from sizewell.cli.economics_stacks import Read, document, of_stacks, of_usage, parts
    from sizewell.cli.forecast_text import markdown_parts, show_parts
    from sizewell.sizing.catalog import load

    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    if args.usage:
        of_a_spec = {"--utilization": args.utilization, "--bandwidth": args.bandwidth, "--hardware": args.hardware}
        others = {"--all": args.every, **of_a_spec}
        named = [*args.what, *(option for option, stated in others.items() if stated)]
        if named:
            raise UsageError(f"--usage: {named[0]} is named too\n  fix: leave out one of them")
        with output.progress(f"reading {args.usage.name}"):
            said = of_usage(Read(Path(), load(), args.months, on), args.usage)
    else:
        with output.progress("sizing"):
            said = of_stacks(Read(project.root(), load(), args.months, on), args.what)
    if args.json:
        output.print_json(document(said))
    elif args.markdown:
        print(markdown_parts(parts(said)), end="")
    elif args.html is not None:
        from sizewell.cli.economics_page import page_of_stacks

        output.write_page(args.html, page_of_stacks(said, parts(said)))
    else:
        show_parts(parts(said))
    priced = any(each.priced for each in said.comparisons) or any(row.usd is not None for row in said.shared)
    return 0 if priced else 3


class NothingToPayError(UsageError):
    """No machine does the work of the spec at all."""

    exit_code = 5


def _share(text: str | None) -> Decimal | None:
    if text is None:
        return None
    from sizewell.sizing.units import UnitError, share

    try:
        stated = Decimal(repr(share(text)))
    except UnitError as error:
        raise UsageError(
            f"--utilization: {error}, got {text!r}\n  fix: state the share of hours that is used, such as 40%"
        ) from None
    if not stated:
        raise UsageError(
            "--utilization: 0% needs no machine\n  fix: state the share of hours that is used, such as 40%"
        )
    return stated


def _bandwidth(text: str | None) -> float | None:
    if text is None:
        return None
    from sizewell.economics.moving import bandwidth
    from sizewell.sizing.units import UnitError

    try:
        return bandwidth(text)
    except UnitError as error:
        raise UsageError(f"--bandwidth: {error}, got {text!r}\n  fix: --bandwidth 10Gbit/s") from None


def _print(comparison: Comparison) -> None:
    from sizewell.cli import economics_text as text

    console = output.console()
    console.print(text.heading(comparison), style="bold")
    for line in text.facts(comparison):
        console.print(line)
    console.print()
    heads, rows = text.table(comparison)
    made = output.table(*heads, right=tuple(heads[1:-1]))
    for row in rows:
        made.add_row(*row)
    console.print(made)
    for title, lines in text.sections(comparison):
        console.print()
        console.print(title, style="bold")
        for line in lines:
            console.print(f"  {line}", soft_wrap=False)
    if (heads_rows := text.inputs(comparison)) is not None:
        heads, rows = heads_rows
        console.print()
        console.print("what moves the break-even of own hardware", style="bold")
        made = output.table(*heads, right=tuple(heads[2:]))
        for row in rows:
            made.add_row(*row)
        console.print(made)


def _document(comparison: Comparison) -> dict[str, Any]:
    from sizewell.economics.compare import rounded
    from sizewell.economics.moving import moving

    work = comparison.work
    return {
        "schema": schema_of("economics"),
        "workload": work.name,
        "machine": {"cloud": work.option.cloud, "region": work.option.deal.region, "instance_type": work.instance_type},
        "machines": work.demand.machines,
        "months": work.months,
        "machine_hours_per_month": rounded(work.demand.hours),
        "utilization": rounded(work.demand.utilization),
        "runs_per_month": rounded(work.runs),
        "million_tokens_per_month": rounded(work.tokens and work.tokens / 1_000_000),
        "ways": [
            {
                "way": row.way.key,
                "name": row.way.name,
                "usd": row.usd,
                **({"unpriced": row.way.reason} if row.usd is None else {}),
                "estimated": row.way.estimated,
                "upfront_usd": row.upfront_usd,
                "usd_by_month": row.by_month,
                "usd_per_hour_of_use": rounded(row.usd_per_hour),
                "usd_per_run": rounded(row.usd_per_run),
                "usd_per_million_tokens": rounded(row.usd_per_million_tokens),
                "usd_if_demand_halves": row.halved_usd,
                "cheapest_between_utilizations": [[rounded(low), rounded(high)] for low, high in row.wins],
                "bound": row.way.bound,
                "committed": [
                    {"from_month": each.month + 1, "market": each.term.market, "machines": each.machines}
                    for each in row.way.plan
                ],
                "notes": row.way.said,
                **(
                    {
                        "run": {
                            key: value if value is None else rounded(Decimal(value))
                            for key, value in asdict(row.way.spread).items()
                        }
                    }
                    if row.way.spread
                    else {}
                ),
            }
            for row in comparison.rows
        ],
        "break_evens": [
            {
                "cheaper_below": each.below,
                "cheaper_above": each.above if each.utilization is not None else None,
                "never_cheaper": each.above if each.utilization is None else None,
                "utilization": rounded(each.utilization),
                "hours_per_day": rounded(each.hours_per_day),
            }
            for each in comparison.break_evens
        ],
        "own_hardware": {
            name: {"value": figure.value, "unit": figure.unit, "source": figure.source}
            for name, figure in work.figures.items()
        },
        "sensitivity": [
            {"input": each.name, "at_80_percent": rounded(each.less), "at_120_percent": rounded(each.more)}
            for each in comparison.effects
        ],
        "data_hours": {
            name: rounded(Decimal(repr(moved.seconds)) / 3600) if moved else None
            for name, moved in (
                ("each_run", moving(work.option, work.bytes_per_s)),
                ("copied_out_of_its_cloud", moving(work.option, work.bytes_per_s, owned=True)),
            )
        },
        "in_no_figure": comparison.unpriced,
        "own_commitments": work.place.own_commitments,
        "assumed": work.assumed,
    }
