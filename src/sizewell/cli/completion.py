"""`sizewell completion`: the script with which a shell asks the command what completes a word."""

from __future__ import annotations

from typing import Final

import click

from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import Choice

DESCRIPTION = """Print a completion script for a shell.

At each Tab the script asks the installed `sizewell`: commands, actions, options, their choices, files, and the stacks
of the project. It need not be printed again after an upgrade.
"""
EXAMPLES = """examples:
  sizewell completion bash > ~/.local/share/bash-completion/completions/sizewell
  sizewell completion zsh > "${fpath[1]}/_sizewell"
  sizewell completion fish > ~/.config/fish/completions/sizewell.fish

exit code: 0 success, 64 wrong usage
"""
SHELLS: Final = ("bash", "zsh", "fish")  # of bash, 4.4 or later


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("shell", type=Choice(SHELLS), help="bash, zsh or fish")
def command(args: Arguments) -> int:
    from click.shell_completion import get_completion_class

    from sizewell.cli.main import COMPLETING, SIZEWELL

    shell = get_completion_class(args.shell)
    assert shell is not None  # noqa: S101 - click has each of SHELLS
    print(shell(SIZEWELL, {}, "sizewell", COMPLETING).source())
    return 0
