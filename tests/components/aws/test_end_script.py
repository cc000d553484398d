"""The script that ends a stack, by the real boto3 against moto's server: what it stops, what it leaves, and twice."""

import json
import subprocess
from pathlib import Path

import pytest

from sizewell.components.aws.limits.expiry import END_SCRIPT

pytestmark = pytest.mark.frameworks

HERE = Path(__file__).parent
PYTHON = HERE.parents[2] / ".venv-train" / "bin" / "python"


@pytest.fixture(scope="module")
def outcome():
    done = subprocess.run(
        [PYTHON, HERE / "end_script_check.py"],
        input=END_SCRIPT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_what_bills_is_at_zero(outcome):
    stands = outcome["stands"]["dev-aws"]
    assert stands["group"] == [0, 0, 4]  # the maximum is Pulumi's
    assert stands["nodes"] == [0, 0, 4]
    assert stands["instance"] == "terminated"
    assert stands["endpoints"] == 0
    assert stands["notebook"] == "Stopped"


def test_no_autoscaler_brings_a_machine_back(outcome):
    stands = outcome["stands"]["dev-aws"]
    assert stands["held"] == stands["emptied"] == ["Launch"]
    assert outcome["stands"]["prod-aws"]["emptied"] == []


def test_data_stay_and_are_named(outcome):
    stands = outcome["stands"]["dev-aws"]
    assert stands["bucket"]
    assert stands["volume"] == "available"
    kept = outcome["runs"][0]["kept"]
    assert "arn:aws:s3:::dev-aws-checkpoints" in kept
    assert any(":volume/" in arn for arn in kept)


def test_another_stack_of_the_account_is_as_it_was(outcome):
    stands = outcome["stands"]["prod-aws"]
    assert (stands["group"], stands["nodes"]) == ([1, 2, 4], [1, 2, 4])
    assert (stands["instance"], stands["endpoints"], stands["notebook"]) == ("running", 1, "InService")
    assert not any("prod-aws" in arn for run in outcome["runs"] for arn in run["ended"])


def test_a_second_run_finds_nothing_left_to_end(outcome):
    first, second = outcome["runs"]
    assert first["failed"] == second["failed"] == []
    assert len(first["ended"]) == 6
    assert second["ended"] == []
