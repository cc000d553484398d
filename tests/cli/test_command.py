"""The command as a stranger meets it: help, bad words, pipes, terminals, interruptions."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sizewell.cli.main import COMMANDS

from .conftest import ROOT, Sizewell

SIZEWELL = [sys.executable, "-m", "sizewell.cli.main"]


def test_without_arguments_it_helps(stranger: Sizewell) -> None:
    done = stranger()
    assert done.code == 0
    assert "sizewell new chat" in done.out
    assert all(f"\n  {command} " in done.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str, sizewell: Sizewell) -> None:
    done = sizewell(command, "--help")
    assert done.code == 0
    assert f"sizewell {command}" in done.out
    assert "exit code" in done.out
    assert max(map(len, done.out.splitlines())) <= 100


def test_version(stranger: Sizewell) -> None:
    done = stranger("--version")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("sizewell ")


def test_no_colour_and_no_tricks_in_a_pipe(stranger: Sizewell) -> None:
    done = stranger("size", "examples/chat.yaml", "--on", "2026-09-20", TERM="xterm-256color")
    assert "\x1b" not in done.out + done.err
    assert done.err == ""


def test_a_terminal_that_knows_only_ascii(stranger: Sizewell) -> None:
    done = stranger("size", "examples/chat.yaml", "--on", "2026-09-20", PYTHONIOENCODING="ascii")
    assert done.code in (0, 3), done.err
    assert done.out.isascii()


def test_narrow_columns_do_not_break_it(stranger: Sizewell) -> None:
    done = stranger("size", "examples/chat.yaml", "--on", "2026-09-20", COLUMNS="60")
    assert done.code in (0, 3), done.err


@pytest.mark.parametrize("form", [["--json"], []], ids=["json", "table"])
def test_the_reader_may_leave(form: list[str]) -> None:
    process = subprocess.Popen(
        [*SIZEWELL, "size", "examples/chat.yaml", *form], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_fault(closed: str, tmp_path: Path) -> None:
    """As they are for a command that a daemon or cron starts."""
    line = f"{shlex.join([*SIZEWELL, 'offers', 'H100', '--cloud', 'aws'])} {closed}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_no_fault_of_the_command() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*SIZEWELL, "size", "examples/chat.yaml"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 74
    assert "could not be written: No space left on device" in done.stderr


def test_interrupted(tmp_path: Path) -> None:
    fifo = tmp_path / "spec.yaml"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*SIZEWELL, "size", str(fifo)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background of a script ignores the signal, and so would the command that inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    writer = os.open(fifo, os.O_WRONLY)  # returns when the command reads: it is past its imports
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    os.close(writer)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "sizewell: interrupted"


@pytest.mark.parametrize(("extra", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_only_on_a_terminal_that_wants_it(extra: dict[str, str], coloured: bool, tmp_path: Path) -> None:
    main, side = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "PYTHONPATH": str(ROOT / "src"), **extra}
    process = subprocess.Popen([*SIZEWELL, "doctor"], cwd=tmp_path, stdout=side, stderr=side, env=environment)
    os.close(side)
    shown = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and select.select([main], [], [], 1 if process.poll() is not None else 30)[0]:
        try:
            chunk = os.read(main, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    process.wait(60)
    os.close(main)
    assert b"catalog" in shown
    assert (b"\x1b[" in shown) is coloured


def test_size_imports_neither_pulumi_nor_a_cloud_sdk(stranger: Sizewell) -> None:
    code = (
        "import sys; from sizewell.cli.main import main; main(['size', 'examples/chat.yaml', '--json']);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not loaded & {"pulumi", "pulumi_aws", "grpc", "boto3", "botocore", "azure", "google", "rich", "requests"}


@pytest.mark.parametrize(("line", "own"), [(["--help"], set()), (["keep", "--help"], {"keep"}), (["nothing"], set())])
def test_help_loads_no_other_command_and_nothing_heavy(line: list[str], own: set[str]) -> None:
    code = (
        f"import sys; from sizewell.cli.main import main; main({line}); print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert {name for name in COMMANDS if f"sizewell.cli.{name}" in loaded} == own
    assert not loaded & {"pydantic", "numpy", "rich", "yaml", "pulumi", "argparse"}


def test_a_fault_of_ours_is_no_traceback(sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("wires crossed")

    monkeypatch.setattr("sizewell.sizing.choose.decide.decide", broken)
    done = sizewell("size", str(ROOT / "examples/chat.yaml"))
    assert done.code == 70
    assert "internal error, not caused by your input: RuntimeError: wires crossed" in done.err
    monkeypatch.setenv("SIZEWELL_DEBUG", "1")
    with pytest.raises(RuntimeError):
        sizewell("size", str(ROOT / "examples/chat.yaml"))


def test_a_second_stack_is_not_dropped_in_silence(sizewell: Sizewell) -> None:
    done = sizewell("size", "--stack", "dev", "--stack=prod")
    assert done.code == 64
    assert "--stack names one stack\n  fix: run it once for each" in done.err
