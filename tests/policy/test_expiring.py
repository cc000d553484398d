"""What acts on the expiry of a stack of Sizewell's components: an expiry stack, or a teardown that destroys."""

from __future__ import annotations

from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizewell.policy.config import parse_config
from sizewell.policy.expiring import expiries_of, takes_down
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.errors import ConfigError
from sizewell.teardown.config import parse_config as parse_teardown

ON = date(2026, 11, 26)
ENVIRONMENTS: list[dict[str, Any] | None] = [
    None,
    {},
    {"dev": {}},
    {"dev": {"mode": "act"}},
    {"Development": {"mode": {"destroy": "act"}}},
    {"dev": {"mode": {"empty": "act"}}},
    {"prod": {"mode": "act"}},
]


def project(root: Path, content: dict[str, Any]) -> Path:
    (root / "stacks/config").mkdir(parents=True)
    (root / "stacks/config/teardown.yaml").write_text(yaml.safe_dump(content))
    return root


@pytest.mark.parametrize(("mode", "environments"), list(product(("observe", "act"), ENVIRONMENTS)))
def test_teardown_acts_where_its_own_configuration_says_so(
    tmp_path: Path, mode: str, environments: dict[str, Any] | None
) -> None:
    content = {"schema": "sizewell.teardown/1", "journal": "file:///x", "mode": mode}
    if environments is not None:
        content["environments"] = environments
    config = parse_teardown(content)
    root = project(tmp_path, content)
    for environment in ("dev", "staging"):
        expected = config.acts(environment, "destroy") and config.limits().rules(environment) is not None
        assert takes_down(root, "main", environment) is expected, environment
    assert takes_down(root, "main", "prod") is False  # unless `production` names the stack


def test_production_is_taken_down_where_it_is_named(tmp_path: Path) -> None:
    content = {"mode": "act", "environments": {"prod": {}}, "production": ["prod-eval"]}
    root = project(tmp_path, content)
    assert takes_down(root, "prod-eval", "prod") is True
    assert takes_down(root, "prod-aws", "prod") is False


def test_an_expiry_stack_acts_where_its_end_is_firm_and_an_unknown_project_is_unknown(tmp_path: Path) -> None:
    root = project(tmp_path, {"environments": {"Dev": {"expiry": "firm"}, "staging": {}}})
    assert takes_down(root, "dev-aws", "dev") is False
    for stack in ("dev-aws", "staging-aws"):
        (root / f"stacks/config/Pulumi.ttl-{stack}.yaml").write_text("config: {}\n")
    assert takes_down(root, "dev-aws", "dev") is True
    assert takes_down(root, "staging-aws", "staging") is False  # it only notifies
    (root / "stacks/config/teardown.yaml").unlink()
    assert takes_down(root, "dev-aws", "dev") is False
    assert takes_down(None, "dev-aws", "dev") is UNKNOWN


def test_the_configuration_names_tags_and_the_farthest_day(tmp_path: Path) -> None:
    config = parse_config({"expiry": {"tags": ["team-end"], "days_max": 30}})
    expiries = expiries_of(config, tmp_path, "dev", "dev")
    at = type(expiries)(**{**{name: getattr(expiries, name) for name in expiries.__slots__}, "on": ON})
    assert at.of(None, {"Team-End": "2026-12-20"}).counts is True
    assert at.of(None, {"team-end": "2027-01-20"}).why_not == "its expiry, 2027-01-20, is more than 30 days ahead"
    assert at.of({"expires": "2026-12-20"}, {}).why_not == "nothing acts on its expiry"


def test_a_wrong_section_names_each_fault() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"expiry": {"tag": ["a"], "days_max": 0, "tags": "expires"}})
    assert {fault.path for fault in caught.value.faults} == {"expiry.tag", "expiry.days_max", "expiry.tags"}
