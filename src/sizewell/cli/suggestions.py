"""An error of the command line in the form of all errors: where, what was found, what is allowed, what to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import click

from sizewell.sizing.aliases import alias

WRITING = ("--log-file", "--output", "--html")  # a guess must not write into what the line names


def nearest(word: str, known: Iterable[str]) -> str:
    """The line that names what was most likely meant; nothing where nothing is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1, 0.5)
    return f"\n  fix: did you mean {near[0]}?" if near else ""


def message(error: click.UsageError, arguments: Sequence[str] = ()) -> str:
    """What to print of an error that click found in a line of these arguments."""
    context = error.ctx
    assert context is not None  # noqa: S101 - click states it with each error of a line
    command, path = context.command, context.command_path
    actions = command.list_commands(context) if isinstance(command, click.Group) else []
    where = f"{path.partition(' ')[2]}: ".removeprefix(": ")
    if isinstance(error, click.NoSuchCommand):
        behind = _spec_behind(error.command_name, context, arguments)
        kind = f"an action of `{path}`" if context.parent else "a command"
        text = f"'{error.command_name}' is not {kind}; choose from {', '.join(actions)}"
        text += behind or (not context.parent and _meant(error.command_name)) or nearest(error.command_name, actions)
    elif isinstance(error, click.NoSuchOption):
        fix = _option_meant(error.option_name, context, arguments)
        text = f"{where}unknown option {error.option_name}" + (f"\n  fix: {fix}" if fix else "")
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


def _spec_behind(word: str, context: click.Context, arguments: Sequence[str]) -> str:
    """The line for a word of another tool, or for a command with actions, that has a spec behind it; else ""."""
    said = context.info_name or "" if context.parent else word
    rest = arguments[arguments.index(said) + 1 :] if said in arguments else []
    spec = next((each for each in rest if each.lower().endswith((".yaml", ".yml", ".json"))), "")
    row = alias("command SPEC", said)
    return f"\n  fix: use `{row.meant.replace('SPEC', shlex.quote(spec))}`" if spec and row else ""


def _meant(word: str) -> str:
    """The line that says what a command of another tool is here; "" where nobody wrote it down."""
    row = alias("command", word)
    if row is None:
        return ""
    return f"\n  fix: {f'use `{row.meant}`' if row.meant else row.why}"


def _option_meant(option: str, context: click.Context, arguments: Sequence[str]) -> str:
    """What somebody means who writes this option: by its meaning, else by its letters; "" where nothing is known.

    An option is named where the line with it in place of the unknown one can be read.
    """
    from difflib import get_close_matches

    path = context.command_path
    parameters = context.command.get_params(context)
    named = {parameter.name for parameter in parameters if isinstance(parameter, click.Argument)}
    known = [name for parameter in parameters for name in parameter.opts if name[:2] == "--" and name not in WRITING]
    before, value = _around(option, context, arguments)
    row = alias("option", option)
    meant = row.meant if row else ""
    near = get_close_matches(option, [*known, *(["--stack"] if "stack" in named else [])], 1, 0.7)
    if "stack" in named and (meant == "STACK" or near == ["--stack"]):
        return f"name the stack without an option: `{path} {value or 'STACK'}`"
    files = {"spec", "specs", "file", "config"} & named
    if files and option.lstrip("-") in ("file", "f", "filename", "input", "i", "spec", "path"):
        return f"name the file without an option: `{' '.join(['sizewell', *before])} {value or 'FILE'}`"
    if row and value == "json" and "--json" in known:
        return f"write `{' '.join(['sizewell', *before])} --json`"
    if row and row.why and row.meant in (*named, *known):
        return row.why.replace("$", _value(option, value))
    candidates = [meant] if meant in known else near
    return next((f"did you mean {name}?" for name in candidates if _reads(option, name, context, arguments)), "")


def _around(option: str, context: click.Context, arguments: Sequence[str]) -> tuple[list[str], str]:
    """The line up to an option, and the value behind it; "" where none is there."""
    at = next((i for i, word in enumerate(arguments) if word.partition("=")[0] == option), None)
    if at is None:
        return context.command_path.split()[1:], ""
    following = arguments[at + 1] if at + 1 < len(arguments) else ""
    value = arguments[at].partition("=")[2] or ("" if following.startswith("-") else following)
    return list(arguments[:at]), value


def _value(option: str, value: str) -> str:
    """The value as a spec takes it: a region with its cloud."""
    if option not in ("--region", "--cloud", "--zone", "--location"):
        return value or "H100"
    from sizewell.sizing.catalog import load
    from sizewell.sizing.workload.model import Place
    from sizewell.sizing.workload.names import place_meant

    meant = place_meant(Place(cloud=value), load()).removeprefix("write ")
    return meant.partition(", or ")[0] or value or "aws/us-east-1"


def _reads(option: str, name: str, context: click.Context, arguments: Sequence[str]) -> bool:
    """Whether the command can read its line with one option in place of the other."""
    if not arguments:
        return True
    rest = list(arguments)
    for word in context.command_path.split()[1:]:
        rest = rest[rest.index(word) + 1 :] if word in rest else rest
    changed = [name + word[len(option) :] if word.partition("=")[0] == option else word for word in rest]
    try:
        context.command.make_context(context.info_name, changed, parent=context.parent)
    except click.exceptions.Exit:  # --help
        return False
    except click.UsageError as error:
        others = isinstance(error, click.NoSuchOption) and error.option_name != option
        return others or isinstance(error, click.MissingParameter)  # neither is about the option that is tried
    return True


def _name(parameter: click.Parameter) -> str:
    return "/".join(parameter.opts) if isinstance(parameter, click.Option) else parameter.human_readable_name
