"""The `sizewell` command: arguments in, exit code out. Each command is a file beside this one.

Exit codes and environment variables: `sizewell.cli.reference`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from sizewell.cli import terminal
from sizewell.cli.commands import Command, Group
from sizewell.cli.parameters import Choice
from sizewell.sizing.errors import SizewellError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: Final = {
    "init": "create a Pulumi project that previews cleanly and passes the policies",
    "new": "write a first spec of a usual workload, or an example",
    "size": "what to run a workload on, how long it takes, what it costs",
    "preview": "what a change costs, buys and destroys, before it is built",
    "policy": "check stacks against the policies: idle spend, lost checkpoints, open access",
    "docs": "print a page of the documentation, which is installed too",
    "explain": "why: memory per device, time per step, what would change the choice",
    "simulate": "requests one by one over the fleet of a service, and the smallest that holds",
    "economics": "rent, commit, buy or call an API: what each costs over months, and which wins when",
    "forecast": "months ahead by stack and owner; an estimate beside the bill, and what explains the difference",
    "offers": "which accelerators can be had, on which machines, where and at which price",
    "stock": "can it be had now? what the clouds say of their machines, zone by zone",
    "prices": "show, compare and refresh prices; import rates of your own",
    "ages": "until when versions are supported; read what the clouds offer today",
    "import": "write a spec from a SkyPilot task, a manifest, a dstack or Compose file, or a command line",
    "launch": "what runs on the machines: manifests for kubectl, or a script for sbatch",
    "teardown": "take idle, empty and expired stacks down, with notice, grace and a record",
    "keep": "exempt a stack from teardown until a date",
    "wake": "scale a stack's pools up again after a guard, a teardown or an expiry",
    "reconcile": "find resources with a stack's tag that are in no state; adopt or delete them",
    "leave": "write the plain Pulumi program of a stack, without Sizewell; the engine sees no change",
    "evidence": "build a small stack in your account, destroy it, and keep a signed record of that",
    "validate": "compare predictions with published measurements",
    "doctor": "check the installation, the project and, with --cloud, the account",
    "mcp": "the read-only commands as tools of an agent (Model Context Protocol)",
    "completion": "print a completion script for bash, zsh or fish",
}
FIRST: Final = tuple(COMMANDS)[:6]  # the help shows them before the others
COMPLETING: Final = "SIZEWELL_COMPLETE"  # set by the completion scripts, which ask the command what to offer


_LISTED: Final = {**COMMANDS, "help": "the help of a command: `sizewell help size`"}
_HELP: Final = click.Command("help", params=[click.Argument(["command"], type=Choice(tuple(COMMANDS)))])


class _Sizewell(Group):
    """The command itself. Only the module of the command that a line names is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_LISTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == _HELP.name:
            return _HELP  # to be completed; `_run` has turned its line into one with --help
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"sizewell.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, first in (("First day", True), ("Later", False)):
            with formatter.section(heading):
                formatter.write_dl([(name, text) for name, text in _LISTED.items() if (name in FIRST) is first])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=text) for name, text in _LISTED.items() if name.startswith(incomplete)]
        return names + Command.shell_complete(self, ctx, incomplete)


SIZEWELL: Final = _Sizewell(
    "sizewell",
    subcommand_metavar="COMMAND ...",
    help="From an AI workload spec to right-sized, priced, policy-checked Pulumi clusters.",
    epilog="Start with:\n  sizewell new chat\n  sizewell size chat.yaml\n\n"
    "`sizewell COMMAND --help` has examples of each, `sizewell docs` the pages",
)
click.version_option(
    None, "-V", "--version", package_name="sizewell", message="%(prog)s %(version)s", help="print the version"
)(SIZEWELL)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; nothing but the exit code comes back, for bad input and interruptions too."""
    _open_streams()
    arguments = sys.argv[1:] if argv is None else list(argv)
    terminal.choose(color=terminal.color_of(arguments))  # until they are parsed
    gc.set_threshold(100_000, 50, 100)  # a command is short: most of what it loads is there until it ends
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for some takes 30 ms, and nothing has one
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign must not end the answer
    try:
        if instruction := os.environ.get(COMPLETING):
            from click.shell_completion import shell_complete

            return shell_complete(SIZEWELL, {}, "sizewell", COMPLETING, instruction)
        code = _run(arguments)
        sys.stdout.flush()
    except SizewellError as error:
        terminal.error(str(error))
        return error.exit_code
    except KeyboardInterrupt as error:
        with contextlib.suppress(OSError):  # of a terminal that is closed
            print("\nsizewell: interrupted", file=sys.stderr)
        if error.args:  # by which signal, as `interruptible` says
            return 128 + int(error.args[0])
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit stays silent
        return 141
    except Exception as error:
        if isinstance(error, OSError) and error.errno in terminal.FULL:
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            what = f"the output could not be written: {os.strerror(error.errno)}"
            terminal.error(f"{what}\n  fix: free some space there, or write elsewhere, and run it again")
            return 74
        if os.environ.get("SIZEWELL_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno in terminal.DENIED and error.filename:
            what = f"{error.filename}: {os.strerror(error.errno).lower()}"
            terminal.error(
                f"{what}\n  fix: change its permissions, or work in a folder of your own; it can be run again"
            )
            return 64
        from sizewell import source

        if message := source.missing(error):
            terminal.error(message)
            return 64
        kind = type(error).__name__
        what = f"internal error, not caused by your input: {kind}: {error}"
        terminal.error(f"{what}\n  fix: report it with the output of the same command under SIZEWELL_DEBUG=1")
        return 70
    return code


def _open_streams() -> None:
    """What reads and writes nothing in place of the streams that are closed, as those of a daemon's command may be."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process


def command() -> NoReturn:
    """The installed command: `main`, and then the process ends at once.

    What the interpreter would free one by one on its way out, the system frees in one go: 60 ms of a short command.
    """
    from sizewell.cli import environment

    _open_streams()
    unfit = environment.hand_over(sys.argv[1:])
    if unfit:
        sys.stderr.write(f"sizewell: {unfit}\n")
    code = 64 if unfit else main()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the exit code has reported a reader that went away
            stream.flush()
    os._exit(code)


def _run(arguments: list[str]) -> int:
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] == ["help"]:
        words = words[1:]
        arguments = [*words, "--help"]
    # Whatever else the line says, half of an option too.
    if not arguments or not {"-h", "--help"}.isdisjoint(arguments):
        arguments = _asked_about(words) or arguments
    try:
        with SIZEWELL.make_context("sizewell", arguments, color=terminal.in_color(sys.stdout)) as context:
            code: int = SIZEWELL.invoke(context)
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code
    except click.UsageError as error:
        from sizewell.cli import suggestions

        raise UsageError(suggestions.message(error, arguments)) from None
    return code


def _asked_about(words: list[str]) -> list[str]:
    """The line that prints the help of the command that some words name; none where they name no command."""
    path: list[str] = []
    group: click.Command | None = SIZEWELL
    while isinstance(group, click.Group):
        context = click.Context(group)
        known = group.list_commands(context)
        name = next((word for word in words if word in known), None)
        if name is None:
            return [] if words else [*path, "--help"]
        path.append(name)
        group = group.get_command(context, name)
        words = words[words.index(name) + 1 :]
    return [*path, "--help"]


if __name__ == "__main__":
    sys.exit(main())
