"""What a mistyped command, option or choice was most likely meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import argparse


class Parser(Protocol):
    """What is asked of the parser of a command; `main.Parser` has it, and imports this module."""

    prog: str

    @property
    def subparsers(self) -> argparse.Action | None: ...

    @property
    def options(self) -> Iterable[str]: ...


def unknown_choice(parser: Parser, action: argparse.Action, word: str) -> str:
    """A command, an action or a choice that there is not, and the nearest that there is."""
    known = [str(choice) for choice in action.choices or ()]
    listed = ", ".join(known)
    if action is parser.subparsers:
        kind = "a command" if action.metavar == "COMMAND" else f"an action of `{parser.prog}`"
        return f"'{word}' is not {kind}; choose from {listed}{_hint(word, known, parser.prog)}"
    name = "/".join(action.option_strings) or str(action.metavar or action.dest)
    return f"{prefix(parser)}{name}: must be one of {listed}, got '{word}'{_hint(word, known, parser.prog)}"


def unknown_arguments(parser: Parser, words: Sequence[str]) -> str:
    """Options that a command does not have, and the nearest that it has; or words that it does not take."""
    first = next((word for word in words if word.startswith("-")), "")
    if not first:
        return f"{prefix(parser)}takes no further argument: {' '.join(words)}\n  fix: see `{parser.prog} --help`"
    options = [option for option in parser.options if option.startswith("--")]
    return f"{prefix(parser)}unknown option {first}{_hint(first.partition('=')[0], options, parser.prog)}"


def prefix(parser: Parser) -> str:
    """What a message of a command begins with: `teardown plan: `; nothing at the top."""
    command = parser.prog.partition(" ")[2]
    return f"{command}: " if command else ""


def _hint(word: str, known: Iterable[str], program: str) -> str:
    near = get_close_matches(word, list(known), 1, 0.5)
    return f"\n  fix: did you mean {near[0]}?" if near else f"\n  fix: see `{program} --help`"
