"""The scheduled workflow of examples/workflows/prices.yml, its steps run as they stand there, by an installed wheel."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from tests.clouds import price_standin as standin
from tests.clouds.price_standin import truth
from tests.clouds.rest_server import Reply, Server, serving
from tests.package.test_wheel import Installed, installed  # noqa: F401 - a fixture

WORKFLOW = Path(__file__).parents[2] / "examples/workflows/prices.yml"
GH = """#!/bin/sh
echo "$@" >> "$GH_LOG"
if [ "$2" = create ] && [ -n "$GH_THERE" ]; then exit 1; fi
cp body.md "$GH_LOG.body"
"""


def runs() -> list[str]:
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.fixture
def runner(installed: Installed, tmp_path: Path):  # noqa: F811
    """A checkout with a remote, and on the path the wheel's command and a `gh` that takes down what it is told."""
    home, remote = tmp_path / "checkout", tmp_path / "remote.git"
    tools = tmp_path / "bin"
    tools.mkdir()
    paths = [str(installed.site), sysconfig.get_path("purelib")]
    start = f"import sys; sys.path += {paths!r}; from sizewell.cli.main import main; sys.exit(main())"
    # What the workflow asks of all regions and kinds, this run asks of one: the last value of an option counts.
    narrow = "--cloud azure --region westeurope --kind on-demand --on 2026-11-22"
    commands = {
        # EKS has no stand-in here: what `ages refresh` does is for tests/cli/test_ages.py, what follows from it for this
        "sizewell": '#!/bin/sh\nif [ "$1" = ages ]; then echo "$@" >> "$GH_LOG.ages"; exit "${AGES:-0}"; fi\n'
        f'exec {sys.executable} -S -c {shlex.quote(start)} "$@" {narrow}\n',
        "gh": GH,
        "pip": '#!/bin/sh\necho "$@" > "$GH_LOG.pip"\n',
    }
    for name, text in commands.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    home.mkdir()
    (home / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    shutil.copytree(installed.project / "stacks", home / "stacks")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "start"],
                    ["remote", "add", "origin", str(remote)], ["push", "-q", "origin", "main"]):  # fmt: skip
        subprocess.run([*git, *command], cwd=home, check=True)

    def run(server: Server, **more: str) -> list[int]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment |= {"PATH": f"{tools}:{os.environ['PATH']}", "GH_LOG": str(tmp_path / "gh.log"), "GH_TOKEN": "t",
                        "AZURE_ENDPOINT_URL_PRICES": server.url, "HOME": str(tmp_path), **more}  # fmt: skip
        codes = []
        for script in runs():
            done = subprocess.run(
                ["bash", "-e", "-c", script], cwd=home, env=environment, check=False, capture_output=True, timeout=120
            )
            codes.append(done.returncode)
            if done.returncode:
                break
        return codes

    return run, home, remote, tmp_path / "gh.log"


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def test_new_prices_become_a_pull_request_with_the_rows_and_what_they_change(runner) -> None:
    run, home, remote, log = runner
    with serving() as server:
        standin.serve(server)
        assert run(server) == [0, 0, 0]
    (branch,) = [name for name in git(remote, "branch", "--format=%(refname:short)").split() if name != "main"]
    assert branch.startswith("prices-")
    diff = git(remote, "diff", "--stat", "main", branch)
    assert "catalog/offers/azure-2026-11-22.csv" in diff
    assert "summary.txt" not in diff
    row = truth("westeurope")["Standard_NC24ads_A100_v4", "on-demand"]
    assert f"{row.normalize():f}" in git(remote, "show", f"{branch}:catalog/offers/azure-2026-11-22.csv")
    assert log.read_text().startswith("pr create --title Prices of ")
    body = Path(f"{log}.body").read_text()
    assert f"{len([k for k in truth('westeurope') if k[1] == 'on-demand'])} prices accepted" in body
    assert "azure on-demand:" in body
    assert git(home, "status", "--porcelain", "catalog/") == ""


def test_nothing_new_opens_nothing(runner) -> None:
    run, _, remote, log = runner
    with serving() as server:
        standin.serve(server, listed=lambda _: [])
        assert run(server) == [0, 0, 0]
    assert git(remote, "branch", "--format=%(refname:short)").split() == ["main"]
    assert not log.exists()


def test_a_pull_request_that_is_open_gets_the_new_rows(runner) -> None:
    run, _, _, log = runner
    with serving() as server:
        standin.serve(server)
        assert run(server, GH_THERE="yes") == [0, 0, 0]
    assert [line.split()[1] for line in log.read_text().splitlines()] == ["create", "edit"]


def test_a_seller_that_is_down_does_not_fail_the_run_and_a_wrong_command_does(runner) -> None:
    run, home, remote, log = runner
    with serving() as server:
        server.answers["GET /api/retail/prices"] = lambda *_: Reply({"error": {"code": "404"}}, 404)
        assert run(server) == [0, 0, 0]
        assert run(server, AGES="69") == [0, 0, 0]
        assert run(server, AGES="64")[1:] == [64]
    assert not log.exists()
    assert git(remote, "branch", "--format=%(refname:short)").split() == ["main"]
    assert set(Path(f"{log}.ages").read_text().splitlines()) == {"ages refresh --region aws=us-east-1"}
    (home / "Pulumi.yaml").unlink()
    with serving() as server:
        assert run(server, AGES="69")[1:] == [64]
