"""Lines of the command as click reads them, without running anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from sizewell.cli.main import SIZEWELL


def leaves(command: click.Command = SIZEWELL, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Each command and each action of one, by its words; `help` is none, as it has the help of the others."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for word in command.list_commands(context):
        inner = command.get_command(context, word)
        assert inner is not None
        if word != "help":
            yield from leaves(inner, f"{name} {word}".strip())


def parsed(words: Sequence[str]) -> click.Context:
    """The context of the command that a line names, with what it says; click's own error for a line that is wrong."""
    context = SIZEWELL.make_context("sizewell", [*words])
    while isinstance(context.command, click.Group):
        named = len(words) - len(context.args) - 1
        name, inner, rest = context.command.resolve_command(context, [words[named], *context.args])
        assert inner is not None
        words = rest
        context = inner.make_context(name, [*rest], parent=context)
    return context
