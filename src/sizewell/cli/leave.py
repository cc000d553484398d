"""`sizewell leave`: the plain Pulumi program of a stack, which needs no Sizewell."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import INPUT, PATH, stacks
from sizewell.sizing.versions import schema_of

DESCRIPTION = """Write the program of a stack anew as plain Pulumi: the resources of the providers' own SDKs,
in files by part, with scripts and manifests beside them, and nothing of Sizewell.

URNs, options, configuration and outputs stay, so the engine's next preview from that folder has
nothing to do. Runs offline; what cannot be written is refused by path, and nothing is written then.
"""
EXAMPLES = """examples:
  sizewell leave dev-aws                            into plain-dev-aws/
  sizewell leave dev-aws --to ../dev-aws
  pulumi stack export -s dev-aws > state.json
  sizewell leave dev-aws --state state.json         where the program decides by what a cloud says

exit code: 0 written, 64 bad input or something that cannot be written, 69 the program failed
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", shell_complete=stacks, help="a stack of the project, Sizewell's or a plain one")
@click.option("--to", type=PATH, metavar="FOLDER", help="a new or empty folder (default: plain-STACK)")
@click.option("--state", type=INPUT, metavar="FILE", help="output of `pulumi stack export`: what the cloud answered")
@click.option("--json", is_flag=True, help="print what was written as JSON")
def command(args: Arguments) -> int:
    from sizewell.leave.leaving import leave

    root = project.root()
    stack: str = args.stack
    known = _known(root)
    if known:
        project.must_be_stacks([stack.rpartition("/")[2]], known)
    folder = args.to if args.to is not None else Path(f"plain-{stack.rpartition('/')[2]}")
    left = leave(root, stack, folder, state=args.state)
    if args.json:
        document = {"stack": stack, "folder": str(folder), "resources": left.resources}
        files = [{"path": path, "lines": lines} for path, lines in left.files.items()]
        output.print_json({"schema": schema_of("leave"), **document, "files": files, "notes": list(left.notes)})
        return 0
    modules = [lines for path, lines in left.files.items() if path.endswith(".py") and lines]
    print(
        f"{stack}: {left.resources} resources in {folder}/: {len(modules)} files of Python, "
        f"{sum(modules) // len(modules)} lines each on average, and {len(left.files) - len(modules)} others"
    )
    for note in left.notes:
        print(f"note: {note}")
    print(f"\nnext: cd {shlex.quote(str(folder))} && pulumi install && pulumi preview -s {stack}")
    print("It has nothing to do; if it has, stay with this project: nothing has changed. See `sizewell docs leave`.")
    return 0


def _known(root: Path) -> list[str]:
    """The stacks that the project has files of."""
    files = [*root.glob("Pulumi.*.yaml"), *root.glob("*/config/Pulumi.*.yaml"), *root.glob("stacks/decisions/*.json")]
    return sorted({path.stem.removeprefix("Pulumi.") for path in files})
