"""`sizewell completion`: a script with which a shell completes commands, actions, options and their choices."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sizewell.cli.main import Parser

DESCRIPTION = """Print a completion script for a shell: commands, actions, options, their choices, and stacks.

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
# Names of stacks are those of their configuration files, in the folder of the project or in stacks/config.
_STACKS: Final = {
    "bash": "_sizewell_stacks",
    "zsh": "_sizewell_stacks",
    "fish": "(__sizewell_stacks)",
    "preamble": {
        "bash": """_sizewell_stacks() {
  local file names=()
  for file in stacks/config/Pulumi.*.yaml Pulumi.*.yaml; do
    [[ -e $file ]] && file=${file##*/Pulumi.} && names+=("${file%.yaml}")
  done
  compgen -W "${names[*]}" -- "$1"
}""",
        "zsh": """_sizewell_stacks() {
  local -a names
  names=(stacks/config/Pulumi.*.yaml(N:t:r) Pulumi.*.yaml(N:t:r))
  compadd -- ${names#Pulumi.}
}""",
        "fish": """function __sizewell_stacks
  set -l files stacks/config/Pulumi.*.yaml Pulumi.*.yaml
  string replace -r '^.*Pulumi\\.(.*)\\.yaml$' '$1' $files
end""",
    },
}
# zsh shows the help of an argument that it cannot complete, and then does not complete an option either.
_NOTHING: Final = {"zsh": "( )"}


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
        if complete := _values(action, shtab.FILE, shell):
            action.complete = complete  # type: ignore[attr-defined]  # how shtab is told
    return shtab.complete(parser, shell=shell).rstrip("\n") + "\n"


def _values(action: argparse.Action, files: Any, shell: str) -> Any:
    """How the values of an argument are completed; None where shtab knows, or there is nothing to offer."""
    if action.metavar in _FILES:
        return files
    if action.metavar == "STACK":
        return _STACKS
    if shell == "zsh" and not action.option_strings and action.choices is None:
        return _NOTHING
    return None


def _actions(parser: Parser) -> Iterator[argparse.Action]:
    yield from parser.own_actions
    for inner in parser.commands.values():
        yield from _actions(inner)
