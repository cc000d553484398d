"""The project's settings: which file is read, what overrides it, and what is told of a file that is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizewell.cli import settings
from sizewell.cli.commands import Arguments, arguments_of
from sizewell.cli.settings import SETTINGS
from sizewell.sizing.errors import ConfigError

from .conftest import Sizewell
from .lines import parsed

VALUES = {
    "base": '"main"',
    "max_age": '"30d"',
    "usage": '"usage.yaml"',
    "discounts": '"rates.yaml"',
    "color": '"never"',
    "quiet": "true",
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM", "SIZEWELL_USAGE", "SIZEWELL_DISCOUNTS"):
        monkeypatch.delenv(name, raising=False)


def stated(folder: Path, text: str | None = None, name: str = "sizewell.toml") -> None:
    (folder / name).write_text("\n".join(f"{key} = {value}" for key, value in VALUES.items()) if text is None else text)
    for file in ("usage.yaml", "rates.yaml", "env.yaml"):
        (folder / file).write_text("")


def filled(*line: str) -> Arguments:
    return arguments_of(parsed(line))


def test_each_setting_is_tested() -> None:
    assert VALUES.keys() == SETTINGS.keys()


def test_the_file_fills_in_what_the_line_does_not_say(project: Path) -> None:
    stated(project)
    args = filled("preview")
    assert (args.base, args.max_age, args.color, args.quiet) == ("main", "30d", "never", True)
    assert (args.usage, args.discounts) == (project / "usage.yaml", project / "rates.yaml")
    assert filled("policy").usage == project / "usage.yaml"
    assert filled("size", "x.yaml").max_age == "30d"
    assert not hasattr(filled("policy"), "max_age")


def test_pyproject_states_the_same_in_a_table(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stated(project, '[project]\nname = "shop"\n\n[tool.sizewell]\nmax_age = "7d"\n', "pyproject.toml")
    (project / "stacks/deep").mkdir()
    monkeypatch.chdir(project / "stacks/deep")
    assert filled("preview").max_age == "7d"


def test_a_flag_overrides_the_environment_which_overrides_the_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated(project)
    flags = ("--base", "v1", "--max-age", "1d", "--usage", "env.yaml", "--color", "always")
    monkeypatch.setenv("SIZEWELL_USAGE", "other.yaml")
    args = filled("preview", *flags)
    assert (args.base, args.max_age, args.usage, args.color) == ("v1", "1d", Path("env.yaml"), "always")
    assert filled("preview").usage == Path("other.yaml")
    (project / "sizewell.toml").write_text('color = "always"')
    assert filled("preview").color == "always"
    monkeypatch.setenv("NO_COLOR", "1")
    assert filled("preview").color is None


def test_a_line_that_compares_with_something_else_takes_no_base(project: Path) -> None:
    stated(project)
    assert filled("preview", "--base-state", "env.yaml").base is None
    assert filled("preview", "--plan", "env.yaml").base is None
    assert filled("preview", "--base", "").base is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('base = "main"\nmax_aeg = "30d"', "sizewell.toml:2: max_aeg: unknown setting\n  fix: did you mean max_age?"),
        ('guardrails = "x"', "sizewell.toml:1: guardrails: unknown setting\n  fix: settings are base, max_age"),
        ("\nbase = 3", 'sizewell.toml:2: base: must be a git revision, such as "origin/main", got 3'),
        ('max_age = "30"', "sizewell.toml:1: max_age: must be a duration, such as \"30d\", got '30'"),
        ('color = "red"', "sizewell.toml:1: color: must be auto, always or never"),
        ('color = ["never"]', "sizewell.toml:1: color: must be auto, always or never"),
        ('quiet = "yes"', "sizewell.toml:1: quiet: must be true or false"),
        ('usage = ""', "sizewell.toml:1: usage: must be a path"),
        ('usage = "nowhere.yaml"', "nowhere.yaml: no such file"),
        ('base = "main"\nbase = "v1"', "sizewell.toml:2: is not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_error(text: str, told: str, project: Path, sizewell: Sizewell) -> None:
    stated(project, text)
    done = sizewell("preview")
    assert (done.code, done.out) == (64, "")
    assert told in done.err


def test_both_files_are_one_error(project: Path, sizewell: Sizewell) -> None:
    stated(project)
    stated(project, '[tool.sizewell]\nbase = "main"\n', "pyproject.toml")
    assert "both have settings\n  fix: move all of them to sizewell.toml" in sizewell("policy").err


def test_doctor_says_which_file_is_read_and_goes_on_where_it_is_wrong(project: Path, sizewell: Sizewell) -> None:
    assert "no sizewell.toml and no [tool.sizewell]" in sizewell("doctor").out
    stated(project, 'max_age = "7d"')
    assert "read from sizewell.toml: max_age = 7d" in sizewell("doctor").out
    stated(project, "max_age = 7")
    done = sizewell("doctor", "--json")
    assert done.code == 64
    assert "sizewell.toml:1: max_age: must be a duration" in done.out
    assert "stacks/config" in done.out or "specs" in done.out


def test_commands_without_a_project_read_none(project: Path, sizewell: Sizewell) -> None:
    stated(project, "wrong")
    assert sizewell("completion", "bash").code == 0
    assert sizewell("--version").code == 0
    assert sizewell("size", "--help").code == 0


def test_a_change_of_the_settings_is_listed_by_its_preview(project: Path) -> None:
    from sizewell.cli.preview import _settings

    stated(project, 'max_age = "30d"\n')
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(project))
    for line in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "base")):
        subprocess.run([*git, *line], check=True)
    assert _settings(project, "HEAD") == []
    stated(project, 'base = "main"\n')
    assert [row.partition(" (")[0] for row in _settings(project, "HEAD")] == [
        "sizewell.toml: base: not set -> main",
        "sizewell.toml: max_age: 30d -> not set",
    ]
    stated(project, "wrong")
    with pytest.raises(ConfigError):
        _settings(project, "HEAD")


def test_what_is_not_utf_8_is_told(project: Path) -> None:
    (project / "sizewell.toml").write_bytes(b"base = '\xff'")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        settings.read(project)
