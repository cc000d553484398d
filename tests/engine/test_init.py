"""A project that `sizewell init` made, under the real engine: from Pulumi's own template, and all of its stacks built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import harness
import pytest
import wheels
import yaml

from sizewell.cli import environment, scaffold
from sizewell.cli.main import main

ACCOUNTS = {"aws": "123456789012", "gcp": "shop-dev-123456", "azure": "00000000-0000-0000-0000-000000000000"}


def flags(cloud: str) -> list[str]:
    answers = {"cloud": cloud, "account": ACCOUNTS[cloud], "owner": "@acme/ml", "notify": "ml@example.com"}
    return [*(word for key, value in answers.items() for word in (f"--{key}", value)), "--forge", "none", "--offline"]


@pytest.mark.parametrize(
    ("cloud", "stacks"),
    [
        ("aws", ["dev"]),
        *(pytest.param(cloud, ["ttl-dev", "dev", "prod"], marks=pytest.mark.soak) for cloud in ACCOUNTS),
    ],
)
def test_every_stack_is_built(cloud: str, stacks: list[str], tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "shop"), *flags(cloud)]) == 0
    engine = harness.project(tmp_path / "engine", source=tmp_path / "shop")
    shutil.copytree(tmp_path / "shop" / "policy", engine.project / "policy")
    package = {"azure": "azure-native"}.get(cloud, cloud)
    for stack in stacks:
        engine.run("stack", "init", stack)
        before = len(engine.cloud(package))
        engine.up(stack, *(["--policy-pack", "policy"] if "prod" in stacks else []))
        assert len(engine.cloud(package)) > before, f"{stack} builds nothing"
        if stack == "dev" and "prod" in stacks:  # the stand-in takes names of Azure's zones for the world's
            engine.destroy(stack)


def test_pulumi_install_fills_the_environment_of_program_and_pack(tmp_path: Path) -> None:
    """What the root's requirements.txt pins is in `.venv` after it, where programs, `doctor` and the pack look."""
    shop = tmp_path / "shop"
    assert main(["init", str(shop), *flags("aws")]) == 0
    (shop / "requirements.txt").write_text("sizewell[aws]==0.1.0\n")
    stack = shop / "stacks/requirements.txt"
    kept = stack.read_text()
    shelf = wheels.shelf(tmp_path / "shelf", {"sizewell": "0.1.0", "setuptools": "900.0", "wheel": "900.0"})
    engine = harness.Engine(
        project=shop,
        environment={
            **harness.environment(tmp_path / "engine", warm=False),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(shelf),
            "PULUMI_PYTHON_CMD": sys.executable,
        },
        clouds=tmp_path / "clouds",
    )
    stack.unlink()  # as in a project that an earlier version made
    engine.run("install", "--no-plugins")
    assert environment.version_in(shop / ".venv") == ""
    pack = [str(shop / "policy/start/bin/python"), "-u", "-m", "pulumi.policy", "1", str(shop / "policy")]
    done = subprocess.run(pack, env=engine.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"policy pack sizewell: No module named 'sizewell' ({shop / '.venv'})\n  fix: run")
    stack.write_text(kept)
    engine.run("install", "--no-plugins")
    assert environment.version_in(shop / ".venv") == "0.1.0"
    question = "import sizewell; print(sizewell.VERSION)"
    done = subprocess.run([shop / ".venv/bin/python", "-c", question], capture_output=True, text=True, check=True)
    assert done.stdout == "0.1.0\n"


def test_pulumi_new_takes_the_same_template(tmp_path: Path) -> None:
    """The template by its path, then `init`: the same project as `init` alone makes, and a project is a template too."""
    environment = harness.environment(tmp_path / "engine")

    def new(source: Path, name: str) -> Path:
        folder = tmp_path / name / "shop"
        folder.mkdir(parents=True)
        words = ["pulumi", "new", str(source), "--generate-only", "--yes", "--name", "shop"]
        words += ["--description", scaffold.DESCRIPTION]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return folder

    def texts(folder: Path) -> dict[str, str]:
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != "Pulumi.yaml"]
        return {str(path.relative_to(folder)): path.read_text() for path in files}

    alone = tmp_path / "alone" / "shop"
    assert main(["init", str(alone), *flags("aws")]) == 0
    from_template = new(scaffold.template(), "template")
    assert not (from_template / "stacks/decisions").exists()
    assert main(["init", str(from_template), *flags("aws")]) == 0
    assert texts(from_template) == texts(alone)
    for folder in (alone, from_template):
        assert yaml.safe_load((folder / "Pulumi.yaml").read_text())["name"] == "shop"
    assert texts(new(alone, "project")) == texts(alone)
