"""Whether the end of a stack stops what is in use is said in teardown.yaml, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sizewell.components.limits import ttl_args
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Decision
from sizewell.stacks import program

ROOT = Path(__file__).parents[2]


def write(root: Path, environments: dict[str, object]) -> Path:
    path = root / "stacks/config/teardown.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"schema": "sizewell.teardown/1", "journal": "s3://b/x", "environments": environments}
    path.write_text(json.dumps(content))
    return root / "stacks"


def test_an_end_is_firm_where_its_environment_says_so(tmp_path: Path) -> None:
    assert program._firm(tmp_path / "stacks", "dev") is False  # no such file
    folder = write(tmp_path, {"Development": {"expiry": "firm"}, "staging": {}})
    assert [program._firm(folder, name) for name in ("dev", "staging", "prod")] == [True, False, False]
    write(tmp_path, {"dev": {"expiry": "hard"}})
    with pytest.raises(ConfigError, match="expiry"):
        program._firm(folder, "dev")


@pytest.mark.parametrize("firm", [True, False])
def test_the_expiry_s_arguments_say_whether_it_is_firm(firm: bool) -> None:
    decision = Decision.from_json(ROOT / "stacks/decisions/dev-aws.json")
    args = ttl_args(decision, "us-east-1", firm=firm)
    assert args is not None
    assert args["firm"] is firm
