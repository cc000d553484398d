"""The completion scripts, loaded and asked in bash, and in zsh and fish where these shells are installed."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from sizewell.cli.main import COMMANDS

from .conftest import Sizewell
from .lines import leaves

# The scripts ask the `sizewell` on PATH.
PROGRAM = Path(sys.executable).with_name("sizewell")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one stack and a file, and the command on PATH."""
    (tmp_path / "stacks/config").mkdir(parents=True)
    (tmp_path / "stacks/config/Pulumi.dev-aws.yaml").write_text("")
    (tmp_path / "example.yaml").write_text("")
    monkeypatch.setenv("PATH", f"{PROGRAM.parent}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offers(*words: str) -> list[str]:
    """What the command prints to the script of bash: kind and word of each offer."""
    asked = {"SIZEWELL_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([PROGRAM], env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (("",), [*COMMANDS, "help"]),
        (("pre",), ["preview"]),
        (
            ("teardown", ""),
            [
                "plan",
                "run",
                "status",
                "pause",
                "resume",
                "accept-gap",
                "publish",
                "fetch",
                "report",
                "observed",
                "schedule",
                "replay",
            ],
        ),
        (("prices", "sh"), ["show"]),
        (("preview", "--ba"), ["--base", "--base-state"]),
        (("teardown", "plan", "--for"), ["--format"]),
        (("preview", "--format", ""), ["terminal", "markdown", "json", "html", "focus"]),
        (("size", "--color", "a"), ["auto", "always"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("help", "pr"), ["preview", "prices"]),
        (("preview", "dev"), ["dev-aws"]),
        (("teardown", "run", "--data", ""), ["dev-aws"]),
    ],
)
def test_what_is_offered(line: tuple[str, ...], offered: list[str], project: Path) -> None:
    assert offers("sizewell", *line) == [f"plain,{word}" for word in offered]


def test_files_are_completed_where_files_are_taken_and_stacks_where_stacks_are(project: Path) -> None:
    """By what their help calls them: a new argument is completed like those that are there."""
    for name, leaf in leaves():
        for parameter in leaf.params:
            shown = parameter.metavar or parameter.human_readable_name.upper()
            if shown in ("FILE", "FOLDER", "DIR", "PATH", "SPEC"):
                assert isinstance(parameter.type, click.Path), (name, shown)
            if shown in ("STACK", "STACKS"):
                offered = parameter.shell_complete(click.Context(leaf), "")
                assert [item.value for item in offered] == ["dev-aws"], (name, shown)


def test_bash_completes(project: Path) -> None:
    """In an interactive shell, where a file is left to bash itself."""
    (project / "sizewell.bash").write_text(_script("bash"))
    setup = f"source {project}/sizewell.bash"
    for line, completed in (
        ("prev", "preview"),
        ("size exam", "size example.yaml"),
        ("preview dev", "preview dev-aws"),
    ):
        assert f"sizewell {completed}" in _typed(("bash", "--norc", "-i"), setup, f"sizewell {line}"), line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_one_of_its_shell(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(_script(shell))
    parsed = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True, check=False)
    assert (parsed.returncode, parsed.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pre", {"preview"}),
        ("preview --ba", {"--base", "--base-state"}),
        ("teardown re", {"replay", "report", "resume"}),
        ("preview --format m", {"markdown"}),
        ("teardown run --data dev", {"dev-aws"}),
    ],
)
def test_fish_completes(line: str, offered: set[str], project: Path) -> None:
    (project / "sizewell.fish").write_text(_script("fish"))
    asked = f"source {project}/sizewell.fish; complete -C 'sizewell {line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked], cwd=project, capture_output=True, text=True, check=True, timeout=60
    )
    assert {row.split("\t")[0] for row in done.stdout.split("\n") if row} == offered


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("prev", "preview"),
        ("teardown sche", "teardown schedule"),
        ("preview --form", "preview --format"),  # of a command whose arguments are stacks
        ("prices show --reg", "prices show --region"),  # of one whose arguments are not completed
        ("teardown plan --format mar", "teardown plan --format markdown"),
        ("preview dev", "preview dev-aws"),
    ],
)
def test_zsh_completes(line: str, completed: str, project: Path) -> None:
    (project / "_sizewell").write_text(_script("zsh"))
    setup = f"fpath=({project} $fpath); autoload -Uz compinit; compinit -u -D"
    assert f"sizewell {completed}" in _typed(("zsh", "-f", "-i"), setup, f"sizewell {line}")


def _script(shell: str) -> str:
    done = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def _typed(shell: tuple[str, ...], setup: str, line: str) -> str:
    """What stands on the command line of an interactive shell after the line and the Tab key."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="dumb", HOME=str(Path.cwd()))
        os.execvp(shell[0], shell)  # noqa: S606 - in the terminal that was just made
    try:
        os.write(terminal, f"PS1='READY> '; {setup}; echo SET-UP\n".encode())
        _until(terminal, r"\nSET-UP[\s\S]*READY> ")
        os.write(terminal, f"{line}\t".encode())
        return _until(terminal, re.escape(line) + r"\S* ?[^\s>]* ")
    finally:
        os.kill(child, 9)
        os.close(terminal)
        os.waitpid(child, 0)


def _until(terminal: int, pattern: str) -> str:
    """What the terminal prints until it matches; all of it after a pause of 20 seconds."""
    read, deadline = "", time.monotonic() + 20
    while time.monotonic() < deadline and not re.search(pattern, read):
        if select.select([terminal], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):
                read += os.read(terminal, 65_536).decode(errors="replace").replace("\r", "")
    return read


def test_what_is_not_a_shell_is_refused(sizewell: Sizewell) -> None:
    done = sizewell("completion", "zhs")
    assert done.code == 64
    assert "did you mean zsh?" in done.err
