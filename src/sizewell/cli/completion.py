"""`sizewell completion`: a script with which a shell completes commands, actions, options and their choices."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

DESCRIPTION = """Print a completion script for a shell: commands, actions, options and their choices.

Print it again after an upgrade: the script lists the options of this version.
"""
EXAMPLES = """examples:
  sizewell completion bash > ~/.local/share/bash-completion/completions/sizewell
  sizewell completion zsh > "${fpath[1]}/_sizewell"
  sizewell completion fish > ~/.config/fish/completions/sizewell.fish

exit code: 0 success, 64 wrong usage
"""
SHELLS: Final = ("bash", "zsh", "fish")
_FILES: Final = ("FILE", "FOLDER", "DIR", "PATH", "SPEC")  # metavars of arguments that are files or folders


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    print(script(args.shell), end="")
    return 0


def script(shell: str) -> str:
    """The script of one shell, made from the parsers of all commands."""
    import shtab

    from sizewell.cli.main import whole_parser

    parser = whole_parser()
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # how shtab is told
    return shtab.complete(parser, shell=shell).rstrip("\n") + "\n"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public name for it
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                yield from _actions(inner)
