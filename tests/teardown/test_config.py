"""The settings of the project and of the guide, and what they allow."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from sizewell.sizing.errors import ConfigError
from sizewell.teardown.config import parse_config, read_config
from sizewell.teardown.records import Limits, Rules

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/howto/tear-down.md").read_text(encoding="utf-8")
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)]
MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_the_project_s_own_settings_are_the_defaults() -> None:
    limits = read_config(ROOT).limits()
    assert limits.environments == {name: Rules() for name in ("dev", "staging", "prod")}
    assert replace(limits, environments=None) == Limits()


def test_the_guide_s_settings_are_read_and_match_the_schema() -> None:
    whole = {**BLOCKS[0], **BLOCKS[1]}
    config = parse_config(whole)
    schema = json.loads((ROOT / "src/sizewell/schemas/teardown.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(json.dumps(whole, default=str)), schema)
    assert config.open_at("dev", MONDAY)
    assert not config.open_at("dev", MONDAY.replace(hour=22))
    assert not config.open_at("dev", MONDAY.replace(day=22))  # a Sunday
    assert config.open_at("prod", MONDAY)  # no windows: at any time
    assert not config.open_at("qa", MONDAY)  # not named: never
    protection = config.protection("dev-gcp")
    assert protection is not None
    assert protection.until == datetime(2027, 1, 1, 12, tzinfo=UTC)  # the day is over everywhere
    assert "prod" not in config.limits().empty_days


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"journal": "http://example/x"}, "journal"),
        ({"journal": None}, "journal"),
        ({"schema": "sizewell.teardown/2"}, "schema"),
        ({"coverage": 0.2}, "coverage"),
        ({"halt_missing_percent": 0}, "halt_missing_percent"),
        ({"environments": {"dev": {"windows": [{"days": ["mon"], "start": "25:00", "end": "1:00", "time_zone": "UTC"}]}}}, "start"),
        ({"environments": {"dev": {"empty_days": 0}}}, "empty_days"),
        ({"environments": {"dev": {"empty_days": 1}}}, "environments.dev.empty_days"),
        ({"environments": {"dev": {"empty_days": 3}}, "stack_grace_hours": 49}, "environments.dev.empty_days"),
        ({"protected": {"dev-aws": {"until": "2026-12-31"}}}, "reason"),
        ({"protected": {"dev-aws": {"reason": "x"}}}, "until"),
        ({"protected": {"dev-aws": {"until": "friday", "reason": "x"}}}, "until"),
        ({"environments": {"prod": {}, "Production": {}}}, "prod, Production are all prod"),
        ({"limits": {}}, "limits"),
        ({"idle_power_w": {"g6.12xlarge": -16}}, "idle_power_w"),
        ({"expiry_notice_days": [7, -1]}, "expiry_notice_days"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_by_its_path(change: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError, match=where):
        parse_config({"schema": "sizewell.teardown/1", "journal": "s3://b/x", **change})


def test_environments_are_known_by_what_they_mean() -> None:
    named = {"Production": {"expiry": "firm"}, "development": {"empty_days": 3}}
    config = parse_config({"schema": "sizewell.teardown/1", "journal": "s3://b/x", "environments": named})
    assert config.limits().environments == {"prod": Rules(firm=True), "dev": Rules()}
    assert config.limits().empty_days == {"dev": 3}
