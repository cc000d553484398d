"""The `sizewell` command: arguments in, exit code out. Each command is a file beside this one.

Exit codes and environment variables: `sizewell.cli.reference`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn

from sizewell import logs
from sizewell.cli import log_output, modes
from sizewell.sizing.errors import SizewellError, UsageError

COMMANDS: Final = {
    "init": "create a Pulumi project that previews cleanly and passes the policies",
    "size": "what to run a workload on, how long it takes, what it costs",
    "explain": "why: memory per device, time per step, what would change the choice",
    "preview": "what a change costs, buys and destroys, before it is built",
    "policy": "check stacks against the policies: idle spend, lost checkpoints, open access",
    "prices": "show, compare and refresh prices; import rates of your own",
    "launch": "what runs on the machines: manifests for kubectl, or a script for sbatch",
    "teardown": "take idle, empty and expired stacks down, with notice, grace and a record",
    "keep": "exempt a stack from teardown until a date",
    "wake": "scale a stack's pools up again after a guard, a teardown or an expiry",
    "reconcile": "find resources with a stack's tag that are in no state; adopt or delete them",
    "validate": "compare predictions with published measurements",
    "doctor": "check the installation, the project and, with --cloud, the account",
    "completion": "print a completion script for bash, zsh or fish",
}
_HEADINGS: Final = re.compile(
    r"^(?:usage|positional arguments|options(?: of every command)?|examples?|exit codes?|Start with):", re.MULTILINE
)
HINT: Final = "`sizewell COMMAND --help` has examples of each"


class Parser(argparse.ArgumentParser):
    """Raises instead of exiting, and guesses what was meant. What argparse tells of a parser in private alone is asked
    for here, and by nobody else.
    """

    subparsers: argparse.Action | None = None

    @property
    def commands(self) -> dict[str, Parser]:
        """The parsers of its commands, or of a command's actions, by name; none where it has none."""
        choices: Any = self.subparsers.choices if self.subparsers else None
        return dict(choices or {})

    @property
    def options(self) -> tuple[str, ...]:
        """Each option as it is written: `-h`, `--help`."""
        return tuple(self._option_string_actions)

    @property
    def own_actions(self) -> tuple[argparse.Action, ...]:
        """What it takes itself, its commands as one."""
        return tuple(self._actions)

    def add_subparsers(self, **options: Any) -> Any:
        """As argparse has it, and kept for `commands`."""
        self.subparsers = super().add_subparsers(**options)
        return self.subparsers

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it, but each parser refuses by itself what it does not know, and says what is near."""
        self.given = list(args or ())
        namespace, rest = super().parse_known_args(args, namespace)
        if rest:
            from sizewell.cli.suggestions import unknown_arguments

            raise UsageError(unknown_arguments(self, rest))
        return namespace, rest

    def error(self, message: str) -> NoReturn:
        known = self.options
        unknown = [word for word in self.given if word[:2] == "--" and word.partition("=")[0] not in known]
        if "required" in message and unknown:  # a mistyped option is the nearer fault
            from sizewell.cli.suggestions import unknown_arguments

            raise UsageError(unknown_arguments(self, unknown))
        from sizewell.cli.suggestions import prefix

        raise UsageError(f"{prefix(self)}{message}\n  fix: see `{self.prog} --help`")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from sizewell.cli.suggestions import unknown_choice

            raise UsageError(unknown_choice(self, action, str(value)))

    def print_help(self, file: Any = None) -> None:
        """As argparse has it, with headings in bold where the output is coloured."""
        text = self.format_help()
        if modes.in_color(sys.stdout):
            text = _HEADINGS.sub("\x1b[1m\\g<0>\x1b[0m", text)
        (file or sys.stdout).write(text)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Gives the column of summaries room for the longest command, which Python 3.11 measures without its indent."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = 2 * self._indent_increment + max(map(len, COMMANDS))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; nothing but the exit code comes back, for bad input and interruptions too."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    modes.choose(color=modes.color_of(arguments))  # until they are parsed
    gc.set_threshold(100_000, 50, 100)  # a command is short: most of what it loads is there until it ends
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for some takes 30 ms, and nothing has one
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign must not end the answer
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except SizewellError as error:
        modes.error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        print("\nsizewell: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit stays silent
        return 141
    except Exception as error:
        if isinstance(error, OSError) and error.errno in modes.FULL:
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            what = f"the output could not be written: {os.strerror(error.errno)}"
            modes.error(f"{what}\n  fix: free some space there, or write elsewhere, and run it again")
            return 74
        if os.environ.get("SIZEWELL_DEBUG"):
            raise
        from sizewell import source

        if message := source.missing(error):
            modes.error(message)
            return 64
        kind = type(error).__name__
        what = f"internal error, not caused by your input: {kind}: {error}"
        modes.error(f"{what}\n  fix: report it with the output of the same command under SIZEWELL_DEBUG=1")
        return 70
    return code


def command() -> NoReturn:
    """The installed command: `main`, and then the process ends at once.

    What the interpreter would free one by one on its way out, the system frees in one go: 60 ms of a short command.
    """
    from sizewell.cli import environment

    environment.hand_over(sys.argv[1:])
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the exit code has reported a reader that went away
            stream.flush()
    os._exit(code)


def _run(arguments: list[str]) -> int:
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] == ["help"]:
        words = words[1:]
        arguments = [*words, "--help"]
    parser = _parser(arguments)
    if not {"-h", "--help"}.isdisjoint(arguments):  # whatever else the line says, half of an option too
        arguments = _asked_about(parser, words) or arguments
    if not arguments:
        parser.print_help()
        return 0
    try:
        args = parser.parse_args(arguments)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    _apply_settings(args)
    modes.choose(color=getattr(args, "color", "auto"), quiet=getattr(args, "quiet", False))
    with log_output.recorded(getattr(args, "verbose", 0), getattr(args, "log_file", None)):
        logs.log(__name__, "%s begins", args.run.__module__)
        code: int = args.run(args)
        logs.log(__name__, "exit code %d", code)
    return code


def _asked_about(parser: Parser, words: list[str]) -> list[str]:
    """The line that prints the help of the command that some words name; none where they name no command."""
    if not parser.commands:
        return ["--help"]
    name = next((word for word in words if word in parser.commands), None)
    if name is None:
        return [] if words else ["--help"]
    rest = _asked_about(parser.commands[name], words[words.index(name) + 1 :])
    return [name, *rest] if rest else []


def _apply_settings(args: argparse.Namespace) -> None:
    """Fill in what the project's settings say and the line does not."""
    command = args.run.__module__.rpartition(".")[2]
    if command in ("init", "completion"):  # neither is about the project here
        return
    from sizewell.cli import settings
    from sizewell.cli.project import nearest

    root = nearest()
    try:
        stated = settings.NONE if root is None else settings.read(root)
        settings.apply(args, command, stated)
    except SizewellError:
        if command != "doctor":  # which names what is wrong as one of its findings
            raise


def whole_parser() -> Parser:
    """The parser with the arguments of every command, which a line needs of one command only."""
    parser = _parser([], COMMANDS)
    parser.commands["help"].add_argument("command", choices=tuple(COMMANDS))
    return parser


def _parser(arguments: list[str], named: Iterable[str] = ()) -> Parser:
    parser = Parser(
        prog="sizewell",
        description="From an AI workload spec to right-sized, priced, policy-checked Pulumi clusters.",
        epilog="Start with:\n  sizewell size examples/chat.yaml\n\n" + HINT,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="print the version")
    modes.arguments(parser)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser, required=True)
    wanted = set(named or [word for word in arguments if word in COMMANDS][:1])
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        if name in wanted:  # the others would only be imported to be forgotten
            module: Any = importlib.import_module(f"sizewell.cli.{name}")
            command.description, command.epilog = module.DESCRIPTION, module.EXAMPLES
            module.arguments(command)
            command.set_defaults(run=module.run)
            for leaf in _leaves(command):
                modes.arguments(leaf)
    commands.add_parser("help", help="the help of a command: `sizewell help size`", allow_abbrev=False)
    return parser


def _leaves(parser: Parser) -> Iterator[Parser]:
    """The parser, or those of its actions: `plan`, `run`, … of `teardown`."""
    if not parser.commands:
        yield parser
    for inner in parser.commands.values():
        yield from _leaves(inner)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"sizewell {version('sizewell')}")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
