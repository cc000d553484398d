"""`-v` and `--log-file`: what the rooms log is shown to who asks, and to nobody else."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from sizewell.cli import log_output
from tests.clouds.rest_server import Reply, serving

from .conftest import CHAT, ROOT, Sizewell


@pytest.fixture
def chat(tmp_path: Path) -> str:
    (tmp_path / "chat.yaml").write_text(CHAT)
    return str(tmp_path / "chat.yaml")


def test_nothing_is_logged_unless_asked_and_logging_is_not_even_imported() -> None:
    code = (
        "import sys; from sizewell.cli.main import main; main(['size', 'examples/chat.yaml', '--json']);"
        "print('logging' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "False"


def test_a_command_says_its_steps_before_and_after_the_command(chat: str, sizewell: Sizewell) -> None:
    plain = sizewell("size", chat, "-q")
    for line in (("-v", "size", chat, "-q"), ("size", chat, "--verbose", "-q")):
        done = sizewell(*line)
        assert done.out == plain.out
        steps = [row.split(" ", 1)[1] for row in done.err.splitlines()]
        assert steps[0] == "INFO sizewell.cli.commands: sizewell.cli.size begins"
        assert steps[-1] == "INFO sizewell.cli.commands: exit code 0"
        assert any(step.startswith("INFO sizewell.sizing.choose.decide: chat: ") for step in steps[1:-1])
    assert logging.getLogger("sizewell").handlers == []


def test_a_file_takes_the_details_and_is_appended_to(chat: str, sizewell: Sizewell, tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    for _ in range(2):
        assert sizewell("size", chat, "-q", "--log-file", str(file)).err == ""
    assert file.read_text().count("exit code 0") == 2
    done = sizewell("size", chat, "--log-file", str(tmp_path / "no" / "run.log"))
    assert done.code == 64
    assert "--log-file" in done.err
    assert "\n  fix: " in done.err


def test_calls_are_shown_without_what_is_secret(
    sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The key of an API stands in the query, tokens in headers; the loggers of the HTTP client would print the first."""
    from sizewell.clouds.calls import Deadline, Timeouts
    from sizewell.clouds.rest import Reader

    with serving() as server, log_output.recorded(0, tmp_path / "run.log"):
        server.reply("GET /v1/skus", Reply({}, 429, {"Retry-After": "0"}), Reply({"skus": []}))
        asked = Reader(
            service="billing", base=server.url, deadline=Deadline(10), headers=lambda: {"Authorization": "Bearer t0ken"},
            timeouts=Timeouts(attempts=2),
        )  # fmt: skip
        assert list(asked.pages("v1/skus", items="skus", key="k3y")) == []
    text = (tmp_path / "run.log").read_text()
    assert text.count("/v1/skus: ") == 2
    assert "waiting 0.0 s" in text
    assert "k3y" not in text
    assert "t0ken" not in text


def test_details_say_why_a_machine_was_rejected_and_how_many_layouts_were_timed(chat: str, sizewell: Sizewell) -> None:
    steps, details = sizewell("-v", "size", chat, "-q"), sizewell("-vv", "size", chat, "-q")
    assert "DEBUG" not in steps.err
    assert "DEBUG sizewell.sizing.choose.candidates: chat: " in details.err
    assert ": memory: needs " in details.err
    assert details.out == steps.out
    tuned = sizewell("-vv", "size", str(ROOT / "examples/petsnap-vlm-qlora.yaml"), "-q")
    assert "legal layouts, " in tuned.err


def test_details_say_where_each_price_is_from_and_what_read_each_pool(sizewell: Sizewell, tmp_path: Path) -> None:
    stack = json.dumps({"deployment": {"resources": [_INSTANCE]}})
    (tmp_path / "state.json").write_text(stack)
    file = tmp_path / "run.log"
    assert sizewell("preview", "--plan", str(tmp_path / "state.json"), "--log-file", str(file)).code in (0, 1, 2, 3)
    lines = [line.split(" ", 1)[1] for line in file.read_text().splitlines()]
    assert f"INFO sizewell.recording.sources.files: {tmp_path / 'state.json'}: state of dev, 1 resources" in lines
    priced = [line for line in lines if line.startswith(f"DEBUG sizewell.resources.pricing: {_INSTANCE['urn']}: ")]
    assert any(" from " in line for line in priced)
    assert any("s3cret" not in line and "read as 1 pools" in line for line in lines)
    assert "s3cret" not in file.read_text()


_INSTANCE = {
    "urn": "urn:pulumi:dev::shop::aws:ec2/instance:Instance::trainer",
    "type": "aws:ec2/instance:Instance",
    "custom": True,
    "id": "i-1",
    "inputs": {"instanceType": "g6.xlarge", "availabilityZone": "us-east-1a", "userData": "export KEY=s3cret"},
}
