"""What commands have in common: options that stand anywhere in the line, the layout of their help, how they run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Final

import click

from sizewell import logs
from sizewell.cli import log_output, terminal
from sizewell.cli.parameters import PATH, Choice
from sizewell.sizing.errors import SizewellError

WITHOUT_SETTINGS: Final = ("init", "completion", "docs")  # none is about the project here
_HEADINGS: Final = re.compile(r"^(?:examples?|workloads|exit code|Start with)(?=:)", re.MULTILINE)
_OF_EVERY_COMMAND: Final = (
    click.Option(["-q", "--quiet"], is_flag=True, help="no remarks and no progress on stderr"),
    click.Option(
        ["--color"], type=Choice(terminal.COLORS), help="auto: on a terminal, unless NO_COLOR is set or TERM is dumb"
    ),
    click.Option(["--no-color", "color"], flag_value="never", help="same as --color never"),
    click.Option(
        ["-v", "--verbose"], count=True, help="print each step on stderr: calls, waits, files; -vv: details as well"
    ),
    click.Option(["--log-file"], type=PATH, metavar="FILE", help="append steps and details to a file"),
)


class Arguments(SimpleNamespace):
    """What a line says: an attribute for each argument and option."""


class _Formatter(click.HelpFormatter):
    """Headings in bold; click leaves that out where the output is plain."""

    def write_heading(self, heading: str) -> None:
        super().write_heading(click.style(heading, bold=True))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, prefix or f"{click.style('Usage', bold=True)}: ")


class _Context(click.Context):
    formatter_class = _Formatter


class Command(click.Command):
    """A command, or an action of one. Its function takes `Arguments` and returns the exit code."""

    context_class = _Context

    def __init__(self, name: str | None, **more: Any) -> None:  # what `click.command` hands on
        super().__init__(name, context_settings={"max_content_width": 100}, **more)
        click.help_option("-h", "--help", help="print this help")(self)
        self.params += _OF_EVERY_COMMAND

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click has it, but an option without its value does not take the next option for it."""
        stacks = sum(word.partition("=")[0] == "--stack" for word in args)
        if stacks > 1 and not isinstance(self, click.Group):  # click would drop the first in silence
            raise click.UsageError("--stack names one stack\n  fix: run it once for each", ctx)
        try:
            rest = super().parse_args(ctx, args)
        except click.BadOptionUsage as error:
            error.ctx = ctx  # which click leaves out of this one
            raise
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        names = {name for option in options for name in option.opts}
        for option in options:
            value = ctx.params.get(option.name or "")
            for each in value if isinstance(value, tuple) else (value,):
                if str(each) in names and not ctx.resilient_parsing:
                    raise click.BadOptionUsage(option.opts[-1], f"{option.opts[-1]} needs a value, got {each}", ctx)
        return rest

    def invoke(self, ctx: click.Context) -> int:
        assert self.callback is not None  # noqa: S101 - a command without a function is a group
        args = arguments_of(ctx)
        terminal.choose(color=args.color or "auto", quiet=args.quiet)
        with log_output.recorded(args.verbose, args.log_file):
            logs.log(__name__, "%s begins", self.callback.__module__)
            code: int = self.callback(args)
            logs.log(__name__, "exit code %d", code)
        return code

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [each for each in self.get_params(ctx) if each not in _OF_EVERY_COMMAND]
        _write_options("Options", own, ctx, formatter)
        _write_options("Options of every command", _OF_EVERY_COMMAND, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Line by line as it is written: examples stand in columns."""
        if self.epilog:
            formatter.write_paragraph()
            formatter.write(_HEADINGS.sub(lambda match: click.style(match[0], bold=True), self.epilog.rstrip()) + "\n")


class Group(Command, click.Group):
    """A command with actions."""

    command_class = Command

    def __init__(self, name: str | None, **more: Any) -> None:
        super().__init__(name, **{"no_args_is_help": False, "subcommand_metavar": "ACTION ...", **more})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As they were declared, not by the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        return click.Group.invoke(self, ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


def arguments_of(context: click.Context) -> Arguments:
    """What the line says, and the project's settings where it says nothing."""
    args = Arguments(**context.params)
    above = context.parent
    while above is not None:  # `sizewell -q size` is the same as `sizewell size -q`
        for name, value in above.params.items():
            setattr(args, name, getattr(args, name, None) or value)
        above = above.parent
    command = context.command_path.split()[1]
    if command in WITHOUT_SETTINGS:
        return args
    from sizewell.cli import settings
    from sizewell.cli.project import nearest

    root = nearest()
    try:
        settings.apply(args, command, settings.NONE if root is None else settings.read(root))
    except SizewellError:
        if command != "doctor":  # which names what is wrong as one of its findings
            raise
    return args


def _write_options(
    heading: str, parameters: Iterable[click.Parameter], context: click.Context, formatter: click.HelpFormatter
) -> None:
    options = [each for each in parameters if isinstance(each, click.Option)]
    with formatter.section(heading):
        formatter.write_dl([record for option in options if (record := option.get_help_record(context))])
