"""An error of the command line in the form of all errors: where, what was found, what is allowed, what to do."""

from __future__ import annotations

from collections.abc import Iterable

import click


def nearest(word: str, known: Iterable[str]) -> str:
    """The line that names what was most likely meant; nothing where nothing is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1, 0.5)
    return f"\n  fix: did you mean {near[0]}?" if near else ""


def message(error: click.UsageError) -> str:
    """What to print of an error that click found."""
    context = error.ctx
    assert context is not None  # noqa: S101 - click states it with each error of a line
    command, path = context.command, context.command_path
    actions = command.list_commands(context) if isinstance(command, click.Group) else []
    where = f"{path.partition(' ')[2]}: ".removeprefix(": ")
    if isinstance(error, click.NoSuchCommand):
        kind = f"an action of `{path}`" if context.parent else "a command"
        text = f"'{error.command_name}' is not {kind}; choose from {', '.join(actions)}"
        text += (not context.parent and _meant(error.command_name)) or nearest(error.command_name, actions)
    elif isinstance(error, click.NoSuchOption):
        known = [name for parameter in command.get_params(context) for name in parameter.opts if name[:2] == "--"]
        text = f"{where}unknown option {error.option_name}{nearest(error.option_name, known)}"
        if error.option_name[1:].isdigit():
            text += ": a value with a minus sign is read as an option, and nothing here is below zero"
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        text = f"{where}{_name(error.param)} is missing"
    elif isinstance(error, click.BadParameter) and error.param is not None:
        text = f"{where}{_name(error.param)}: {error.message}"
    elif actions and not isinstance(error, click.BadOptionUsage):
        text = f"{where}{'ACTION' if context.parent else 'COMMAND'} is missing; choose from {', '.join(actions)}"
    else:
        text = where + error.message[0].lower() + error.message[1:].removesuffix(".")
    return text if "\n  fix:" in text else f"{text}\n  fix: see `{path} --help`"


def _meant(word: str) -> str:
    """The line that says what a command of another tool is here; "" where nobody wrote it down."""
    from sizewell.sizing.aliases import alias

    row = alias("command", word)
    if row is None:
        return ""
    return f"\n  fix: {f'use `{row.meant}`' if row.meant else row.why}"


def _name(parameter: click.Parameter) -> str:
    return "/".join(parameter.opts) if isinstance(parameter, click.Option) else parameter.human_readable_name
