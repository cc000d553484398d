"""docs/howto/adopt-in-an-organisation.md, followed literally: its files are written, its commands run, and what it arrives at
is the example repository. What a pull request there is told stands recorded beside it, by tools/generate.py.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from test_run import GIT, git

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/repositories/python"
TYPESCRIPT = ROOT / "examples/repositories/typescript"
GUIDE = ROOT / "docs/howto/adopt-in-an-organisation.md"
PROGRAM = ("Pulumi.yaml", "Pulumi.prod.yaml", "requirements.txt", "__main__.py")  # what stands before Sizewell comes
BLOCK = re.compile(r"(?:^`(?P<path>[\w./]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


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


def test_what_is_recorded_is_what_the_engine_planned():
    plan = json.loads((TYPESCRIPT / "recorded/plan.json").read_text())
    steps = {step["urn"].rpartition("::")[2]: step["op"] for step in plan["steps"]}
    assert (steps["embedders"], steps["evening"], steps["vectors"]) == ("same", "delete", "replace")
    changed = (TYPESCRIPT / "recorded/change.diff").read_text()
    program = (TYPESCRIPT / "index.ts").read_text()
    removed = [line[1:] for line in changed.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert [line for line in removed if line not in program.splitlines()] == []  # the change is one of this program
    for line in [line[1:].strip() for line in changed.splitlines() if line.startswith("+    ")]:
        assert re.search(r'"(.*)"', line)[1] in json.dumps(plan)
    comment = (TYPESCRIPT / "recorded/comment.md").read_text()
    assert all(said in comment for said in ("g6e.2xlarge", "**Policy failed**: `idle-exposure`", "vectors", "evening"))
    assert "engine pulumi" in comment


def test_the_workflows_differ_where_the_language_does():
    python, typescript = (
        yaml.safe_load((example / ".github/workflows/preview.yml").read_text()) for example in (EXAMPLE, TYPESCRIPT)
    )
    last = [each["jobs"]["preview"]["steps"][-1] for each in (python, typescript)]
    assert last[0]["uses"] == last[1]["uses"]
    assert last[1]["with"] == {"plan": "plan.json", "new-only": True}
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert set(last[0]["with"]) | set(last[1]["with"]) <= set(inputs)
