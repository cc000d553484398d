"""A project of its own for each test, and the command in this process or as a stranger would run it."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHAT = """
name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
infra: [aws/us-east-1]
owner: search
cost_center: c-1
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Sizewell = Callable[..., Done]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Pulumi project with the specs of one stack, `dev-aws`, and nothing decided."""
    (tmp_path / "Pulumi.yaml").write_text("name: test\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
    (tmp_path / "stacks/specs/dev-aws").mkdir(parents=True)
    (tmp_path / "stacks/specs/dev-aws/chat.yaml").write_text(CHAT)
    (tmp_path / "stacks/decisions").mkdir()
    (tmp_path / "stacks/config").mkdir()
    (tmp_path / "stacks/config/Pulumi.dev-aws.yaml").write_text("config: {}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sizewell(monkeypatch: pytest.MonkeyPatch) -> Sizewell:
    """The command, in this process."""
    from sizewell.cli.main import main

    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
        return Done(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def decisions() -> dict[tuple[str, ...], bytes]:
    """What `decide` has decided so far."""
    return {}


@pytest.fixture
def decide(project: Path, sizewell: Sizewell, decisions: dict[tuple[str, ...], bytes]) -> Callable[[], Path]:
    """The specs of `project` decided on a date of the catalog; equal specs are sized once, which takes most of a test."""

    def decided() -> Path:
        path = project / "stacks/decisions/dev-aws.json"
        specs = tuple(spec.read_text() for spec in sorted(project.glob("stacks/specs/dev-aws/*")))
        if specs in decisions:
            path.write_bytes(decisions[specs])
            return path
        done = sizewell("size", "--stack", "dev-aws", "--on", "2026-09-20")
        assert done.code in (0, 3), done.err
        decisions[specs] = path.read_bytes()
        return path

    return decided


@pytest.fixture
def stranger() -> Sizewell:
    """The command as an own process, with an environment that says nothing."""

    def run(*arguments: str, cwd: Path = ROOT, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "sizewell.cli.main", *arguments],
            cwd=cwd,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run
