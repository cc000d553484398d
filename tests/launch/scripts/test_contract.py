"""The checkpoint contract with S3's conditional writes, by counts: a sample in every run, all of it in `make soak`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from processes import PYTHON

pytestmark = pytest.mark.frameworks

RECORD = Path(__file__).parents[1] / "control_plane/contract.json"


def run(kills: int, corruptions: int, lost: int) -> dict[str, dict[str, int]]:
    script = Path(__file__).with_name("contract_check.py")
    words = [str(count) for count in (kills, corruptions, lost)]
    done = subprocess.run([PYTHON, script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return found


def judge(found: dict[str, dict[str, int]], kills: int, corruptions: int, lost: int) -> None:
    assert {what: counts["complete checkpoints lost"] for what, counts in found.items()} == dict.fromkeys(found, 0)
    assert found["kills"]["kills"] == kills
    assert found["kills"]["kept by the store"] == found["kills"]["parts left after pruning"] == 0
    assert found["corruptions"]["corruptions"] == corruptions
    assert found["lost answers"]["lost answers"] >= lost


def test_no_complete_checkpoint_is_lost() -> None:
    judge(run(5, 6, 30), 5, 6, 30)


@pytest.mark.soak
def test_no_complete_checkpoint_is_lost_in_hundreds_of_faults() -> None:
    found = run(200, 200, 2000)
    judge(found, 200, 200, 2000)
    assert found["kills"]["saves cut off"] > 20, "kills have to meet saves"
    if os.environ.get("SIZEWELL_REFRESH"):
        record = {**json.loads(RECORD.read_text()), **found}
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
