"""The pack alone: one command writes a folder that `pulumi --policy-pack` starts in any project, without a component."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sizewell.cli.main import main
from sizewell.policy.pack import FILES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", FILES)
def test_the_repositorys_own_pack_is_the_one_that_is_written(name):
    assert (ROOT / "policy" / name).read_text(encoding="utf-8") == FILES[name]


def test_one_command_writes_it_and_keeps_a_configuration(tmp_path, capsys):
    folder = tmp_path / "policy"
    assert main(["policy", "--pack", str(folder)]) == 0
    assert (folder / "config.yaml").read_text().startswith("profile: standard")
    (folder / "config.yaml").write_text("profile: strict\n")
    assert main(["policy", "--pack", str(folder)]) == 0
    assert (folder / "config.yaml").read_text() == "profile: strict\n"
    assert os.access(folder / "start/bin/python", os.X_OK)
    assert "pulumi preview --policy-pack" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["policy", "--pack", str(tmp_path / "file")]) == 64
    assert "cannot write the policy pack" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("pulumi") is None, reason="no engine on PATH")
def test_the_engine_starts_it_for_a_program_without_a_component(tmp_path):
    """The engine loads the pack from its folder, beside a program that knows nothing of Sizewell."""
    main(["policy", "--pack", str(tmp_path / "policy")])
    options = f"{{toolchain: pip, virtualenv: {sys.prefix}}}"
    (tmp_path / "Pulumi.yaml").write_text(f"name: team\nruntime: {{name: python, options: {options}}}\n")
    (tmp_path / "__main__.py").write_text('import pulumi\npulumi.export("a", "b")\n')
    environment = {
        **os.environ, "PULUMI_BACKEND_URL": f"file://{tmp_path}", "PULUMI_CONFIG_PASSPHRASE": "x", "HOME": str(tmp_path),
        "PULUMI_SKIP_UPDATE_CHECK": "true", "SIZEWELL_PYTHON": sys.executable, "PULUMI_HOME": str(tmp_path / "home"),
    }  # fmt: skip
    run = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": 120}
    assert subprocess.run(["pulumi", "stack", "init", "dev"], check=False, **run).returncode == 0
    done = subprocess.run(["pulumi", "preview", "--policy-pack", "policy"], check=False, **run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sizewell" in done.stdout
