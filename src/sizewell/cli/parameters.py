"""What a value on the command line may be; the rest are types of click itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import click

from sizewell.cli.suggestions import nearest
from sizewell.sizing.errors import UsageError


class Choice(click.Choice[str]):
    """One of a few words; a refusal names the one that is meant, where the words have a row in the table of aliases.

    `taken`: such a word is taken for the one that it means.
    """

    def __init__(self, choices: Sequence[str], of: str = "", *, taken: bool = False) -> None:
        super().__init__(choices)
        self.of = of
        self.taken = taken

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if self.taken and value not in self.choices:
            from sizewell.sizing.aliases import alias

            row = alias(self.of, str(value))
            value = row.meant if row and row.meant in self.choices else value
        return super().convert(value, param, ctx)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        from sizewell.sizing.aliases import alias

        row = alias(self.of, str(value)) if self.of else None
        meant = (
            f"\n  fix: {f'write {row.meant}' if row.meant else row.why}" if row else nearest(str(value), self.choices)
        )
        return f"must be one of {', '.join(self.choices)}, got '{value}'{meant}"


class _Input(click.Path[Path]):
    """A file to be read; `-` is standard input."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if value != "-":
            return super().convert(value, param, ctx)
        from sizewell.cli import output

        output.note_that_it_waits()
        return Path("/dev/stdin")


PATH: Final = click.Path(path_type=Path)  # a file or a folder, whether it exists or not
INPUT: Final = _Input(path_type=Path)


def iso_date(text: str) -> date:
    """A date such as 2026-08-20."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"must be a date such as 2026-08-20, got {text!r}") from None


def one_form(**stated: object) -> None:
    """Refuse two forms of one answer, options by their names.

    >>> one_form(json=True, html=None)
    """
    asked = [f"--{name}" for name, value in stated.items() if value]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} are forms of one answer\n  fix: leave all but one of them out")


def by_cloud(option: str, stated: Sequence[str]) -> dict[str, str]:
    """Values by cloud, of `CLOUD=VALUE`. UsageError for another form, and for two values of a cloud."""
    from sizewell.sizing.providers import CLOUDS

    named: dict[str, str] = {}
    for each in stated:
        cloud, sign, value = each.partition("=")
        if not sign or not value or cloud not in CLOUDS:
            raise UsageError(f"{option}: must be CLOUD=VALUE with a cloud of {', '.join(CLOUDS)}, got {each!r}")
        if named.setdefault(cloud, value) != value:
            raise UsageError(f"{option}: {cloud} is named twice, with {named[cloud]} and {value}\n  fix: name one")
    return named


def stacks(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The stacks that complete a word: those with a configuration file, in stacks/config or in this folder."""
    files = [file for folder in ("stacks/config", ".") for file in Path(folder).glob("Pulumi.*.yaml")]
    names = {file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in files}
    return sorted(name for name in names if name.startswith(incomplete))
