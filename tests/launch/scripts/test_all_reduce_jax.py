"""The burn-in of TPU slices, on four devices of this machine's CPU."""

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.frameworks

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".venv-train/bin/python"
SCRIPT = ROOT / "src/sizewell/launch/scripts/all_reduce_jax.py"


@pytest.mark.parametrize(("least", "code"), [("0", 0), ("1e15", 1)])
def test_all_devices_sum_and_a_rate_is_judged_where_one_is_asked_for(least, code):
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    words = [PYTHON, SCRIPT, "--bytes", "40000", "--rounds", "2", "--warm-up", "1", "--least", least]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    said = json.loads(done.stdout)
    assert (said["ranks"], said["right"], said["passed"]) == (4, True, code == 0)
