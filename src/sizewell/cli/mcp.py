"""`sizewell mcp`: the read-only commands as tools of an agent, over the Model Context Protocol."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from sizewell import source
from sizewell.cli import environment, output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import PATH
from sizewell.sizing.errors import UsageError
from sizewell.sizing.versions import schema_of

DESCRIPTION = """Serve the read-only commands as tools to an agent, over the Model Context Protocol on standard input
and output: size, explain, offers, simulate, economics, preview, policy, teardown's plan and more.

No tool changes a cloud or a file of the project; what a change would be is tried on a copy. It needs the
extra `mcp`.
"""
EXAMPLES = """examples:
  sizewell mcp --list                             the tools and what each takes
  claude mcp add sizewell -- sizewell mcp         in the folder of the project
  sizewell mcp --project /home/me/shop            what a client's configuration starts

exit code: 0 the client closed standard input, 64 no such folder, or the extra is missing
"""
# Loaded once by the process that calls are forked from.
WARM: Final = (
    *(f"sizewell.cli.{name}" for name in ("size", "explain", "offers", "simulate", "economics", "preview", "policy")),
    "sizewell.cli.docs", "sizewell.cli.settings", "sizewell.preview.pipeline", "sizewell.recording.evaluate.run",
    "sizewell.sizing.choose.decide", "sizewell.sizing.choose.explain", "sizewell.economics.compare",
    "sizewell.sizing.workload.read", "sizewell.sizing.workload.resolved", "sizewell.preview.render.json",
    "sizewell.teardown.assemble", "numpy",
)  # fmt: skip


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.option("--project", type=PATH, metavar="FOLDER", help="folder of the project (default: this one, or above it)")
@click.option("--list", is_flag=True, help="list the tools instead")
@click.option("--json", is_flag=True, help="with --list: print JSON, with the schema of what each takes")
def command(args: Arguments) -> int:
    from sizewell.agents.tools import TOOLS, described

    if args.json and not args.list:
        raise UsageError(
            "--json is the form of --list; what is served is JSON always\n  fix: add --list, or leave it out"
        )
    if args.list:
        rows = [{"tool": tool.name, "what": tool.what, "takes": described(tool)} for tool in TOOLS]
        if args.json:
            output.print_json({"schema": schema_of("tools"), "tools": rows})
            return 0
        table = output.table("tool", "what it answers", "takes")
        for tool in TOOLS:
            table.add_row(tool.name, tool.what, ", ".join(each for each in tool.takes.model_fields if each != "part"))
        output.console().print(table)
        return 0
    if args.project is not None:
        if not args.project.is_dir():
            raise UsageError(f"mcp: --project: {args.project}: no such folder\n  fix: name the folder with Pulumi.yaml")
        os.chdir(args.project)
        if unfit := environment.hand_over(["mcp"]):
            raise UsageError(f"mcp: {unfit}")
    if find_spec("mcp") is None:
        raise UsageError(f"mcp: the package mcp is not installed in {sys.prefix}\n  fix: {source.install('mcp')}")
    from sizewell.agents.calls import Caller
    from sizewell.agents.server import serve
    from sizewell.cli.main import main
    from sizewell.cli.reference import EXITS

    root = (project.nearest() or Path.cwd()).resolve()
    os.chdir(root)
    output.note(f"serving the tools of {root} on standard input and output; Ctrl-C ends it")
    serve(Caller(root, main, WARM), EXITS)
    return 0
