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

import pytest

from sizewell.cli.main import COMMANDS, whole_parser

from .conftest import Sizewell

ASKED = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
$(complete -p sizewell | sed 's/.*-F \\([^ ]*\\).*/\\1/') sizewell "${COMP_WORDS[COMP_CWORD]}" sizewell
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sizewell.cli.completion import script

    path = tmp_path_factory.mktemp("completion") / "sizewell"
    path.write_text(script("bash"))
    return path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (("",), {*COMMANDS, "help"}),
        (("pre",), {"preview"}),
        (("teardown", ""), {"plan", "run", "report", "schedule", "replay"}),
        (("prices", "sh"), {"show"}),
        (("preview", "--ba"), {"--base", "--base-state"}),
        (("teardown", "plan", "--for"), {"--format"}),
        (("preview", "--format", ""), {"terminal", "markdown", "json", "html", "focus"}),
        (("size", "--color", "a"), {"auto", "always"}),
        (("completion", ""), {"bash", "zsh", "fish"}),
        (("help", "pr"), {"preview", "prices"}),
        (("size", "exam"), {"example.yaml"}),
        (("preview", "--usage", "exam"), {"example.yaml"}),
        (("preview", "dev"), {"dev-aws"}),
    ],
)
def test_bash_completes(line: tuple[str, ...], offered: set[str], bash_script: Path, tmp_path: Path) -> None:
    _project(tmp_path)
    (tmp_path / "example.yaml").write_text("")
    done = subprocess.run(
        ["bash", "-c", ASKED, "bash", str(bash_script), "sizewell", *line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.replace("bash: compopt: not currently executing completion function", "").strip() == ""
    given = set(done.stdout.split())
    assert offered <= given
    assert all(word.startswith(line[-1]) for word in given)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_has_every_command_and_option(shell: str, sizewell: Sizewell, tmp_path: Path) -> None:
    done = sizewell("completion", shell)
    assert (done.code, done.err) == (0, "")
    for command in COMMANDS:
        assert command in done.out
    for option in ("base-state", "check-decisions", "burn-in", "prod-account"):
        assert option in done.out
    if shutil.which(shell):
        (tmp_path / "script").write_text(done.out)
        parsed = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True, check=False)
        assert (parsed.returncode, parsed.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pre", {"preview"}),
        ("preview --ba", {"--base", "--base-state"}),
        ("teardown re", {"replay", "report"}),
        ("preview --format m", {"markdown"}),
        ("teardown run --data dev", {"dev-aws"}),
    ],
)
def test_fish_completes(line: str, offered: set[str], sizewell: Sizewell, tmp_path: Path) -> None:
    (tmp_path / "sizewell.fish").write_text(sizewell("completion", "fish").out)
    _project(tmp_path)
    asked = f"source {tmp_path}/sizewell.fish; complete -C 'sizewell {line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
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
def test_zsh_completes(line: str, completed: str, sizewell: Sizewell, tmp_path: Path) -> None:
    _project(tmp_path)
    (tmp_path / "_sizewell").write_text(sizewell("completion", "zsh").out)
    assert f"sizewell {completed}" in _typed_in_zsh(f"sizewell {line}", tmp_path)


def _project(folder: Path) -> None:
    (folder / "stacks/config").mkdir(parents=True)
    (folder / "stacks/config/Pulumi.dev-aws.yaml").write_text("")


def _typed_in_zsh(line: str, folder: Path) -> str:
    """What stands on the command line of an interactive zsh after the line and the Tab key."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", HOME=str(folder))
        os.execlp("zsh", "zsh", "-f", "-i")  # noqa: S606 - in the terminal that was just made
    try:
        setup = f"PS1='READY> '; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; print SET-UP"
        os.write(terminal, f"{setup}\n".encode())
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


def test_no_other_command_loads_the_library() -> None:
    code = "import sys; from sizewell.cli.main import main; main(['--version']); print('shtab' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"
    assert whole_parser().prog == "sizewell"
