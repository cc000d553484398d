"""`sizewell validate`: predict what others measured and published, and print how far off the predictions are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sizewell.cli import output
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import PATH
from sizewell.sizing.errors import UsageError
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from sizewell.accuracy.report import Table

DESCRIPTION = """Compare the predictions of memory, time and throughput with published measurements.

Every gradeable case is predicted from its model, hardware and workload alone, by the functions
that `size` uses.
Without a path, the bundled cases are graded.
"""
EXAMPLES = """examples:
  sizewell validate
  sizewell validate --no-engine                   as for a spec that names no engine
  sizewell validate --left-out --no-engine        as for a source that was not fitted; takes minutes
  sizewell validate cases/ --json rows.json       one row a case, with prediction, error and band
  sizewell validate cases/memory.json --json -    the same on standard output

exit code: 0 graded, however large the error; 64 a file is not a list of cases
"""
SHORT: Final = {"within 20 %": "< 20 %", "half-width": "band ±"}
ROOM: Final = 44  # columns of a group's name


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("path", type=PATH, nargs=-1, help="case files or folders of them")
@click.option("--no-engine", is_flag=True, help="predict without the name of the software that ran, as most specs do")
@click.option(
    "--left-out", is_flag=True, help="predict each source with constants and bands fitted to all others; takes minutes"
)
@click.option("--json", metavar="OUT", is_flag=False, flag_value="-", help="write the rows as JSON; - prints them")
def command(args: Arguments) -> int:
    for path in args.path:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder\n  fix: without a path, the bundled cases are graded")
    from sizewell.accuracy import validate

    tables: tuple[Table, ...]
    with output.progress("reading the cases") as tell:
        if args.left_out:
            from sizewell.accuracy.left_out import coverage_table, left_out, margins, margins_table, record

            show = lambda what: tell(f"fitting {what} without each source in turn")  # noqa: E731
            report = left_out(args.path, engines=not args.no_engine, progress=show)
            fitted = validate(args.path, engines=not args.no_engine)
            before = {} if args.path else record(engines=not args.no_engine)  # of the bundled cases
            tables = (
                *report.tables,
                coverage_table(report.rows),
                margins_table(margins(report, fitted, before)),
            )
        else:
            tell_done = lambda done, total: tell(f"predicting case {done} of {total}")  # noqa: E731
            report = validate(args.path, progress=tell_done, engines=not args.no_engine)
            tables = report.tables
    if args.json == "-":
        output.print_json(report.to_json())
        return 0
    console = output.console()
    for index, table in enumerate(tables):
        if not table.rows:
            continue
        first, *rest = (SHORT.get(name, name) for name in table.header)
        made = output.table(first, *rest, right=tuple(name for name in rest if name != "reason"))
        made.padding = (0, 1, 0, 0)
        for group, *figures in table.rows:
            made.add_row(group if len(group) <= ROOM else group.replace(" · ", " ·\n  "), *figures)
        console.print(f"{'' if index == 0 else chr(10)}{table.title}", style="bold")
        console.print(made)
    core = sum(row.core for row in report.rows)
    console.print(f"\n{plural(len(report.rows), 'case')} graded, {core} of them core; {report.ungraded} not gradeable")
    if args.json:
        _write(Path(args.json), report.to_json())
    return 0


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    import json

    output.write_file(path, [json.dumps(rows, indent=1, ensure_ascii=False), "\n"], "--json")
    output.note(f"wrote {plural(len(rows), 'row')} to {path}")
