"""The scheduled workflow of examples/workflows/prune.yml, its steps run as they stand there, over stores of files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((ROOT / "examples/workflows/prune.yml").read_text())
LEFT = "parts/000000000009-aa/00000-0000.safetensors"


def test_what_is_left_over_is_found_and_goes_only_in_the_job_that_a_person_lets_go(tmp_path: Path) -> None:
    stores = [tmp_path / name for name in ("one", "two")]
    for store in stores:
        (store / LEFT).parent.mkdir(parents=True)
        (store / LEFT).write_bytes(b"half")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "pip").write_text('#!/bin/sh\necho "$@" >> pip.txt\n')
    (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(tmp_path / "output")}
    environment |= {**WORKFLOW["env"], "STORES": " ".join(store.as_uri() for store in stores), "HOURS": "-1"}
    find, prune = WORKFLOW["jobs"]["find"], WORKFLOW["jobs"]["prune"]

    def run(job: dict[str, list[dict[str, str]]]) -> str:
        said = ""
        for step in job["steps"]:
            if "run" in step:
                done = subprocess.run(
                    ["bash", "-e", "-c", step["run"]],
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, done.stderr
                said += done.stdout
        return said

    assert run(find).splitlines() == [f"{store.as_uri()}/{LEFT}" for store in stores]
    assert (tmp_path / "output").read_text() == "left=2\n"
    assert all((store / LEFT).exists() for store in stores)
    assert (prune["needs"], prune["if"], prune["environment"]) == ("find", "needs.find.outputs.left != '0'", "prune")
    run(prune)
    assert not any((store / LEFT).exists() for store in stores)
    assert (
        len({step["with"].get("role-to-assume") for job in (find, prune) for step in job["steps"] if "with" in step})
        == 3
    )


@pytest.mark.scan
@pytest.mark.parametrize("name", ["prune.yml", "prices.yml"])
def test_zizmor_finds_nothing(name: str) -> None:
    tool = ROOT / ".venv-checkov/bin/zizmor"
    words = [tool, "--offline", "--no-progress", ROOT / "examples/workflows" / name]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
