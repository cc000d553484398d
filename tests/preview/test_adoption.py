"""docs/howto/adopt-in-an-organisation.md, followed literally: its files are written, its commands run, and what it arrives at
is the example repository; what a pull request there is told stands recorded beside it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_run import GIT, git

from sizewell.cli.main import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/repositories/python"
GUIDE = ROOT / "docs/howto/adopt-in-an-organisation.md"
PROGRAM = ("Pulumi.yaml", "Pulumi.prod.yaml", "requirements.txt", "__main__.py")  # what stands before Sizewell comes
BLOCK = re.compile(r"(?:^`(?P<path>[\w./]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/preview/test_adoption.py"


@pytest.fixture
def repository(tmp_path):
    for name in PROGRAM:
        shutil.copy(EXAMPLE / name, tmp_path / name)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "the program")
    return tmp_path


def test_the_guide_leads_to_the_example(repository):
    place = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = 0
    for block in BLOCK.finditer(GUIDE.read_text(encoding="utf-8")):
        if block["path"]:
            path = repository / block["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], encoding="utf-8")
        elif block["kind"] == "bash":
            done = subprocess.run(
                ["bash", "-euc", block["text"]], cwd=repository, env={**GIT, "PATH": place}, capture_output=True, text=True,
                check=False, timeout=120,
            )  # fmt: skip
            assert done.returncode == 0, f"{block['text']}\n{done.stdout}{done.stderr}"
            ran += 1
    assert ran >= 4
    made = {
        name
        for name in git(repository, "ls-files").splitlines()
        if not name.startswith(("policy/start", "policy/__main"))
    }
    here = {
        path.relative_to(EXAMPLE).as_posix()
        for path in EXAMPLE.rglob("*")
        if path.is_file() and "recorded" not in path.parts
    }
    here = {
        name for name in here if "__pycache__" not in name and not name.startswith(("policy/start", "policy/__main"))
    }
    assert made == here
    for name in sorted(made):
        assert (repository / name).read_text() == (EXAMPLE / name).read_text(), name


def masked(text):
    """A comment without what a refresh of prices changes."""
    text = re.sub(
        r'^Old prices:.*\n|<p class="old">.*\n|  $|catalog [0-9a-f]{12}|@[0-9a-f]{7}', "", text, flags=re.MULTILINE
    )
    return re.sub(r"[\d.,]+", "0", re.sub(r"\(\d+ days? old\)", "", text))


def test_the_recorded_comment_is_what_the_change_is_told(repository, monkeypatch, capsys):
    git(repository, "apply", str(EXAMPLE / "recorded/change.diff"))
    monkeypatch.chdir(repository)
    common = [
        "preview",
        "prod",
        "--base",
        "HEAD",
        "--on",
        "2026-11-22",
        "--new-only",
        "--usage",
        str(EXAMPLE / "usage.yaml"),
    ]
    for form, name in (("markdown", "comment.md"), ("html", "page.html")):
        main([*common, "--format", form, "--policies", str(EXAMPLE / "policy/config.yaml")])
        text, path = capsys.readouterr().out, EXAMPLE / "recorded" / name
        if os.environ.get("SIZEWELL_REFRESH"):
            path.write_text(text, encoding="utf-8")
        assert masked(text) == masked(path.read_text(encoding="utf-8")), f"refresh: {REFRESH}"
    assert "g6e.12xlarge" in (EXAMPLE / "recorded/comment.md").read_text()
