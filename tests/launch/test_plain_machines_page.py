"""docs/howto/run-on-plain-machines.md: its commands run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/run-on-plain-machines.md").read_text(encoding="utf-8")
COMMANDS = [
    line.strip() for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
]


def test_the_commands_of_the_page_run(tmp_path):
    commands = [line for line in COMMANDS if line]
    assert len(commands) >= 4
    for number, command in enumerate(commands):
        line = re.sub(r"^sizewell ", f"{sys.executable} -m sizewell.cli.main ", command)
        line = re.sub(r"(\w+\.sh)$", rf"{tmp_path}/\1", line)
        done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{number}: {command}: {done.stderr}"
    assert "sizewell-run@0" in (tmp_path / "boot.sh").read_text()


@pytest.mark.parametrize("code", ["64", "76", "75", "69"])
def test_the_codes_of_the_page_are_the_unit_s(code):
    from sizewell.launch import machines

    assert code in PAGE
    assert int(code) in (*machines.ENDS, 75, 69)
