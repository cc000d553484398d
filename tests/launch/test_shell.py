"""The bash files of first boot by themselves; test_slurm_boot.py and test_machines.py run them."""

import subprocess
import sys
from pathlib import Path

import pytest

from sizewell.launch import files, shell

PROGRAMS = sorted(path.name for path in files.FOLDER.glob("*.sh"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_checker_of_shell_scripts_finds_nothing(name):
    # SC2034, SC2154: variables of others; SC2317, SC2329: functions that others call
    words = [Path(sys.executable).parent / "shellcheck", "-s", "bash", "-e", "SC2034,SC2154,SC2317,SC2329"]
    done = subprocess.run([*words, files.FOLDER / name], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_machines_get_the_file_without_its_comments_and_nothing_else(name):
    whole = files.script(name).splitlines()
    assert shell.program(name).splitlines() == [line for line in whole if not line.lstrip().startswith("# ")]
    assert len(shell.program(name)) < len(files.script(name))


def test_each_store_has_its_commands():
    assert {f"store_{scheme}.sh" for scheme in shell.STORES} == {name for name in PROGRAMS if name.startswith("store")}


def test_what_python_writes_is_one_word_of_bash(tmp_path):
    odd = 'it\'s $HOME `id` "x" *\nsecond line'
    script = "\n".join([*shell.variables(ODD=odd), 'printf %s "$ODD"'])
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == odd
