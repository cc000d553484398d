"""`sizewell forecast`: what stacks cost in the months ahead, and an estimate beside the bill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizewell.cli import output, project, terminal
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import INPUT, PATH, iso_date, one_form, stacks
from sizewell.sizing.errors import UsageError
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.economics.actual import Actual
    from sizewell.economics.ahead import About, Ahead
    from sizewell.economics.bill import Charge
    from sizewell.preview.pipeline import Dated, Request
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.records.decision import Decision

DESCRIPTION = """Forecast what stacks cost month by month, with schedules, ends, blocks and own commitments, by owner,
cost center and environment, and against their budgets.

With --actual, the estimate of each closed month stands beside what was billed, line by line, with what explains the
difference. The bill is FOCUS 1.0 to 1.2 of AWS, Google Cloud or Azure, in CSV or Parquet.
"""
EXAMPLES = """examples:
  sizewell forecast                               every stack, 12 months
  sizewell forecast prod-aws --months 6 --json
  sizewell forecast --actual october.csv          was the estimate right?
  sizewell forecast --actual october.csv --write proved
                                                  and what the bill proves, as files:
  sizewell prices import proved/rates.yaml
  sizewell preview --usage proved/usage.yaml

exit code: 0 success, 64 a bill, another file or the line is wrong, 69 the program of a stack failed
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", nargs=-1, shell_complete=stacks, help="stacks (default: all)")
@click.option("--months", type=click.IntRange(1, 120), default=12, metavar="N", help="how many months (default: 12)")
@click.option("--actual", multiple=True, type=INPUT, metavar="FILE", help="a bill in the columns of FOCUS; repeatable")
@click.option("--write", type=PATH, metavar="FOLDER", help="with --actual: write rates.yaml and usage.yaml into it")
@click.option("--teardown", is_flag=True, help="with --actual: add what teardown saved, by its journal")
@click.option("--usage", type=PATH, metavar="FILE", help="usage that resources do not state: egress, requests, storage")
@click.option("--discounts", type=PATH, metavar="FILE", help="own rates and commitments")
@click.option("--on", type=iso_date, metavar="DATE", help="forecast from this date on (default: today)")
@click.option("--json", is_flag=True, help="print JSON")
@click.option("--markdown", is_flag=True, help="print Markdown")
@click.option("--html", type=PATH, metavar="FILE", help="write a page with plots; - prints it")
def command(args: Arguments) -> int:
    one_form(json=args.json, markdown=args.markdown, html=args.html)
    if not args.actual and (args.write or args.teardown):
        option = "--write" if args.write else "--teardown"
        raise UsageError(f"{option}: rests on a bill\n  fix: name one with --actual FILE, or leave {option} out")

    from sizewell.cli import forecast_text as text
    from sizewell.economics.actual import closed_months, compare
    from sizewell.economics.ahead import days_of, months_from
    from sizewell.economics.bill import read_bill
    from sizewell.preview.pipeline import Request, at_dates, stacks_of
    from sizewell.sizing.catalog import load

    root = project.root()
    project.must_be_stacks(args.stack, stacks_of(root), root)
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    catalog = load()
    with output.progress("reading the bill") as tell:
        bill = read_bill(args.actual) if args.actual else None
        past = closed_months(bill, on) if bill else ()
        request = Request(root=root, on=on, stacks=tuple(args.stack), limits=_limits(root), usage=args.usage,
                          discounts=args.discounts, progress=tell)  # fmt: skip
        rates = _rates(request, catalog)
        changes = [day for each in rates.bought for day in (each.since, _next(each.until))]
        days = days_of(months_from(on, args.months), changes)
        billed = days_of((date.fromisoformat(f"{month}-01") for month in past), changes)
        dated = at_dates(request, sorted({day for parts in (*days.values(), *billed.values()) for day in parts}))
    charges = _charges(dated)
    about = _about(root, dated, charges)
    forecast = _ahead(request, dated, charges, about, days=days, catalog=catalog)
    actual = None if bill is None else compare(bill, charges, _project(dated, charges, about, catalog), on)
    saved = _saved(root, actual, on) if args.teardown and actual else {}
    if actual is not None:
        actual = _proved(dated, actual)
        if args.write:
            _write(args.write, actual)
    units = _units(root, actual)
    if args.json:
        output.print_json(_document(forecast, actual, saved, units))
    elif args.markdown:
        print(text.markdown(forecast, actual, saved, units), end="")
    elif args.html is not None:
        from sizewell.cli.forecast_page import page

        output.write_page(args.html, page(forecast, actual, saved, units))
    else:
        text.show(forecast, actual, saved, units)
    last = dated.previews[max(dated.previews)]
    return last.exit_code if any(stack.failed for stack in last.stacks) else 0


def _next(day: date) -> date:
    return day if day == date.max else date.fromordinal(day.toordinal() + 1)


def _limits(root: Path) -> Any:
    from sizewell.cli.preview import GUARDRAILS
    from sizewell.preview import guardrails

    own = root / GUARDRAILS
    return guardrails.read_limits(own) if own.exists() else guardrails.NO_LIMITS


def _rates(request: Request, catalog: Catalog) -> Any:
    from sizewell.sizing.catalog.overlay import read_own_rates

    return read_own_rates(request.discounts, catalog) if request.discounts else catalog.rates


def _charges(dated: Dated) -> dict[date, list[Charge]]:
    from sizewell.economics.bill import estimated
    from sizewell.preview.render.focus import rows_of

    return {day: estimated(rows_of(preview)) for day, preview in dated.previews.items()}


def _decision(root: Path, stack: str) -> Decision | None:
    from sizewell.sizing.errors import DecisionError
    from sizewell.sizing.records.decision import Decision

    path = root / "stacks/decisions" / f"{stack}.json"  # its own: a stack that goes by another's makes no workload
    try:
        return Decision.from_json(path) if path.exists() else None
    except DecisionError:
        return None  # a preview says what is wrong with it; whose the stack is stands in its tags


def _about(root: Path, dated: Dated, charges: Mapping[date, Sequence[Charge]]) -> dict[str, About]:
    from sizewell.economics.ahead import About
    from sizewell.resources.expiry import USUAL_TAGS

    last = max(dated.previews)
    tags: dict[str, dict[str, str]] = {}
    for charge in charges[last]:
        tags.setdefault(charge.stack, {}).update(charge.tags)
    known = {}
    for stack in dated.previews[last].stacks:
        decision, own = _decision(root, stack.stack), tags.get(stack.stack, {})
        tagged = next((own[tag] for tag in USUAL_TAGS if own.get(tag)), "")
        known[stack.stack] = About(
            stack=stack.stack,
            owner=decision.owner if decision else own.get("sizewell-owner", ""),
            cost_center=decision.cost_center if decision else own.get("sizewell-cost-center", ""),
            environment=decision.environment if decision else own.get("sizewell-environment", ""),
            ends=_day(tagged) if tagged else decision.expires_at if decision else None,
            end_unread=tagged if tagged and _day(tagged) is None else "",
            budget_usd=stack.budget.usd_per_month if stack.budget else None,
            begins=_begins(decision),
            failed=bool(stack.failed),
            outside=stack.outside,
        )
    return known


def _day(stated: str) -> date | None:
    """The day of a tag's date or time; None where it is neither."""
    try:
        return date.fromisoformat(stated[:10])
    except ValueError:
        return None


def _begins(decision: Decision | None) -> dict[str, date]:
    """When the purchased block of each workload begins."""
    return {
        workload.spec.name: date.fromisoformat(pool.capacity.block.start[:10])
        for workload in (decision.workloads if decision else ())
        for pool in workload.pools
        if pool.capacity.block is not None and pool.capacity.block.start
    }


def _ahead(
    request: Request,
    dated: Dated,
    charges: Mapping[date, Sequence[Charge]],
    about: Mapping[str, About],
    *,
    days: Mapping[date, tuple[date, ...]],
    catalog: Catalog,
) -> Ahead:
    from sizewell.economics.ahead import after, ahead
    from sizewell.preview.pipeline import stacks_of

    rates = _rates(request, catalog)
    first, end = min(days), after(max(days))
    notes = [f"{each.title}: its last day is {each.until}; what it covers has its own price afterwards"
             for each in rates.bought if first <= each.until < end]  # fmt: skip
    notes += [f"{each.stack} ends on {each.ends}: nothing is counted from then on, as if something ended it on that day"
              for each in about.values() if each.ends and each.ends < end]  # fmt: skip
    notes += [f"{each.stack}: the end of its tags, {each.end_unread!r}, is not a date: none is counted"
              for each in about.values() if each.end_unread]  # fmt: skip
    last = dated.previews[max(dated.previews)]
    notes += [f"{stack.stack} is in no figure: {stack.failed.splitlines()[0]}" for stack in last.stacks if stack.failed]
    others = set(stacks_of(request.root)) - set(about)

    def paid(day: date) -> Decimal:
        force = (each for each in rates.bought if each.since <= day <= each.until)
        return sum((each.bought[unit] * each.usd_of[unit] for each in force for unit in each.bought), Decimal(0))

    if others and rates.bought:
        notes.append("commitments are counted as far as these stacks use them: others may use the rest")
    return ahead(days, charges, tuple(about.values()), None if others else paid, notes)


def _project(
    dated: Dated, charges: Mapping[date, Sequence[Charge]], about: Mapping[str, About], catalog: Catalog
) -> Any:
    from sizewell.economics.actual import Project

    lines = [charge for each in charges.values() for charge in each]
    kinds = catalog.shapes_by_type

    def accelerated(cloud: str, machine: str) -> bool:
        shape = kinds.get((cloud, machine.removeprefix("ml.")))
        return shape is not None and shape.accelerators > 0

    return Project(
        stacks=about,
        # A program that writes one stack's name into the tags of all: the stack of that name has them.
        tags={tag: charge.stack for charge in lines if (tag := charge.tags.get("sizewell-stack"))}
        | {name: name for name in about},
        resources=dated.resources,
        # A program of one's own has no tag of its project, and yet a row of another project's is none of it.
        names=tuple(
            {name for charge in lines if (name := charge.tags.get("sizewell-project") or _named_in(charge.urn))}
        ),
        accelerated=accelerated,
    )


def _named_in(urn: str) -> str:
    """The project that a resource's URN names; "" where there is no URN."""
    return "".join(urn.split("::")[1:2])


def _proved(dated: Dated, actual: Actual) -> Actual:
    """The use that the bill proves, without what no resource of the stacks is billed by."""
    from dataclasses import replace

    from sizewell.resources.usage import Usage
    from sizewell.sizing.money import Interval

    stated = Usage({urn: {key: Interval.exactly(value) for key, value in uses.items()}
                    for urn, uses in actual.usage.items()})  # fmt: skip
    counts = dated.counting(stated) if stated.entries else set()
    kept = {
        urn: {key: value for key, value in uses.items() if (urn, key) in counts} for urn, uses in actual.usage.items()
    }
    return replace(actual, usage={urn: uses for urn, uses in kept.items() if uses})


def _write(folder: Path, actual: Actual) -> None:
    from sizewell.cli.forecast_text import usage_file
    from sizewell.sizing.catalog.imports import as_yaml
    from sizewell.sizing.files import write_whole

    files = {"rates.yaml": as_yaml(actual.rates, ", ".join(actual.files)) if actual.rates else "",
             "usage.yaml": usage_file(actual)}  # fmt: skip
    for name, content in files.items():
        if content:
            try:
                write_whole(folder / name, content)
            except OSError as error:
                if error.errno in terminal.FULL:
                    raise
                told = f"--write: {folder}: {error.strerror}\n  fix: name a folder that can be made and written"
                raise UsageError(told) from None
            output.note(f"wrote {folder / name}")
        else:
            output.note(f"{folder / name}: not written, as the bill proves nothing that it would have")


def _saved(root: Path, actual: Actual, on: date) -> dict[str, Decimal]:
    """What teardown saved in the months of the bill, by stack."""
    from sizewell.teardown.config import read_config
    from sizewell.teardown.journal import Journal, connect, in_lines
    from sizewell.teardown.report import monthly_report

    journal = Journal(connect(read_config(root).journal)).read()
    if journal.unread:
        output.note(f"what teardown saved lacks what cannot be read: {', '.join(in_lines(journal.unread))}")
    sums: dict[str, Decimal] = {}
    for row in monthly_report(journal.records, datetime(on.year, on.month, on.day, tzinfo=UTC)):
        if row.month in actual.months and row.saved_usd:
            sums[row.stack] = sums.get(row.stack, Decimal(0)) + row.saved_usd
    return sums


def _units(root: Path, actual: Actual | None) -> dict[str, tuple[str, Decimal]]:
    """What each stack of one workload makes in a month, as it was decided: runs, or million tokens."""
    made: dict[str, tuple[str, Decimal]] = {}
    for stack in actual.stacks() if actual else ():
        decision = _decision(root, stack)
        if decision is None or len(decision.workloads) != 1:
            continue
        cost = decision.workloads[0].cost
        month = cost.run_rate.expected if cost.run_rate else None
        for name, each in (("run", cost.per_run_usd), ("1M tokens", cost.per_million_tokens_usd)):
            if each and month and stack not in made:
                made[stack] = (name, month / each)
    return made


def _document(
    forecast: Ahead, actual: Actual | None, saved: Mapping[str, Decimal], units: Mapping[str, tuple[str, Decimal]]
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema": schema_of("forecast"),
        "months": [f"{month:%Y-%m}" for month in forecast.months],
        "usd_by_month": forecast.usd,
        "usd": sum(forecast.usd, Decimal(0)),
        "stacks": [
            {
                "stack": row.about.stack,
                "owner": row.about.owner,
                "cost_center": row.about.cost_center,
                "environment": row.about.environment,
                "ends": row.about.ends,
                "budget_usd_per_month": row.about.budget_usd,
                "over_budget_in": [f"{forecast.months[number]:%Y-%m}" for number in row.over()],
                "usd_by_month": None if row.about.failed else row.usd,
                "unpriced": row.unpriced,
                "outside": row.about.outside,
                "lines": [
                    {"component": line.component, "what": line.what, "usd_by_month": line.usd} for line in row.lines
                ],
            }
            for row in forecast.rows
        ],
        **{f"by_{key}": forecast.by(key) for key in ("owner", "cost_center", "environment")},
        "notes": forecast.notes,
    }
    if actual is None:
        return document
    return document | {
        "actual": {
            "files": actual.files,
            "months": actual.months,
            "rows": actual.rows,
            "usd": actual.usd,
            "invoiced_usd": actual.billed_usd,
            "estimated_usd": actual.estimated_usd,
            "billed_usd": actual.ours_usd,
            "causes": actual.causes(),
            "stacks": [
                {
                    "stack": stack,
                    "estimated_usd": estimated,
                    "billed_usd": billed,
                    "off": stack in actual.off(),
                    "causes": actual.causes(stack),
                    "saved_by_teardown_usd": saved.get(stack),
                    "unit": units[stack][0] if stack in units else None,
                    "units_per_month": units[stack][1].quantize(Decimal("0.0001")) if stack in units else None,
                }
                for stack, (estimated, billed) in actual.stacks().items()
            ],
            "lines": [asdict(line) for line in actual.lines],
            "not_ours": [
                {"month": month, "service": service, "usd": usd} for (month, service), usd in actual.not_ours.items()
            ],
            "unused_commitments_usd": actual.unused_usd,
            "idle_accelerators_usd": actual.idle_usd,
            "not_closed": [asdict(each) for each in actual.open],
            "rows_read_in_usd": actual.in_usd,
            "other_currencies": [
                {"stack": stack or None, "currency": currency, "amount": amount}
                for (stack, currency), amount in actual.foreign.items()
            ],
            "equal_rows": actual.twice_rows,
            "equal_rows_usd": actual.twice_usd,
            "last_row_of": actual.partial,
            "without_rows": [{"stack": stack, "estimated_usd": usd} for stack, usd in actual.absent.items()],
            "rates": [
                {"cloud": rate.cloud, "instance_type": rate.instance_type, "region": rate.region,
                 "market": rate.market, "usd": rate.usd}
                for rate in actual.rates.rates
            ],
            "usage": [{"resource": urn, **uses} for urn, uses in actual.usage.items()],
        }
    }  # fmt: skip
