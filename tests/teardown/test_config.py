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


def test_the_guide_s_settings_are_read_and_match_the_schema(tmp_path: Path) -> None:
    whole = {**BLOCKS[0], **BLOCKS[1]}
    event = "BEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20261201\nEND:VEVENT"
    (tmp_path / "stacks/config").mkdir(parents=True)
    (tmp_path / "stacks/config/freeze.ics").write_text(f"BEGIN:VCALENDAR\nVERSION:2.0\n{event}\nEND:VCALENDAR\n")
    config = parse_config(whole, tmp_path)
    schema = json.loads((ROOT / "src/sizewell/schemas/teardown.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(json.dumps(whole, default=str)), schema)
    assert config.open_at("dev", MONDAY)
    assert not config.open_at("dev", MONDAY.replace(hour=22))
    assert not config.open_at("dev", MONDAY.replace(day=22))  # a Sunday
    assert config.open_at("prod", MONDAY)  # no windows: at any time
    assert not config.open_at("prod", datetime(2026, 12, 25, 12, tzinfo=UTC))  # a holiday
    assert not config.open_at("prod", datetime(2026, 12, 1, 12, tzinfo=UTC))  # an event
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
        ({"environments": {"dev": {"mode": "ACT"}}}, "environments.dev.mode: must be 'observe' or 'act', got 'ACT'"),
        ({"environments": {"dev": {"mode": {"emty": "act"}}}}, "environments.dev.mode.emty: unknown key"),
        ({"identities": {123456789012: {"reads": {}}}}, "identities.123456789012: must be text.*\\n  fix: put it in quotes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_by_its_path(change: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError, match=where):
        parse_config({"schema": "sizewell.teardown/1", "journal": "s3://b/x", **change})


WINDOW = {"days": ["mon"], "start": "07:00", "end": "21:00", "time_zone": "Europe/London"}
ACCOUNT = "123456789012"
AWS_KEY = "AKIA" + "Q" * 16


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"environments": {"dev": {"windows": [{**WINDOW, "end": "07:00"}]}}}, r"environments\.dev\.windows\[0\]: start and end are both 07:00"),
        ({"environments": {"dev": {"windows": [{**WINDOW, "start": 420}]}}}, r"windows\[0\]\.start: 420 is not a time of day in quotes"),
        ({"environments": {"dev": {"windows": [{**WINDOW, "start": "07:00+01:00"}]}}}, r"windows\[0\]\.start: '07:00\+01:00' is not"),
        ({"environments": {"dev": {"windows": [{**WINDOW, "start": "24:00"}]}}}, r"windows\[0\]\.start: '24:00' is not"),
        ({"environments": {"dev": {"windows": [{**WINDOW, "time_zone": "BST"}]}}}, r"time_zone: 'BST' is not an IANA time zone"),
        ({"environments": {"dev": {"empty_days": float("inf")}}}, r"empty_days: must be a finite number"),
        ({"stack_grace_hours": float("nan")}, r"stack_grace_hours: must be a finite number"),
        ({"stack_grace_hours": 1e300}, r"stack_grace_hours: must be at most 8760"),
        ({"protected": {"dev-aws": {"until": "31/12/2026", "reason": "x"}}}, r"protected\.dev-aws\.until: '31/12/2026' is neither a day"),
        ({"protected": {"dev-aws": {"until": "9999-12-31", "reason": "x"}}}, r"protected\.dev-aws\.until: '9999-12-31' is neither a day"),
        ({"prometheus": {"dev-x": {"url": "http://p", "queued": "a"}}}, r"prometheus\.dev-x\.running: is missing"),
        ({"prometheus": {"dev-x": {"url": "http://p", "pools": {"a": {"running": "b"}}}}}, r"prometheus\.dev-x\.pools\.a\.queued: is missing"),
        ({"prometheus": {"dev-x": {"url": "http://p", "pools": {"a": {}}}}}, r"prometheus\.dev-x\.pools\.a: names no query"),
        ({"prometheus": {"dev-x": {"url": "http://p", "token_env": "Bearer abc"}}}, r"token_env: must be the name of an environment variable"),
        ({"prometheus": {"dev-x": {"url": "http://me:s3cr3t-word@p"}}}, r"prometheus\.dev-x\.url: holds a secret"),
        ({"prometheus": {"dev-x": {"url": "http://me:pw@p:9090"}}}, r"prometheus\.dev-x\.url: holds a secret"),
        ({"prometheus": {"dev-x": {"url": "https://p/api?token=s3cr3tvalue"}}}, r"prometheus\.dev-x\.url: holds a secret"),
        ({"journal": "az://acct/cont/p?sv=2024&sig=abcdef"}, "journal: holds a secret"),
        ({"identities": {ACCOUNT: {"reads": {"AWS_SECRET_ACCESS_KEY": "abc"}}}}, r"reads\.AWS_SECRET_ACCESS_KEY: holds a secret"),
        ({"identities": {ACCOUNT: {"reads": {"CLOUDSDK_CONFIG": "x"}}}}, r"reads\.CLOUDSDK_CONFIG: unknown setting: nothing reads it"),
        ({"identities": {ACCOUNT: {"deletes": {"dev": {"AWS_PROFIL": "x"}}}}}, r"deletes\.dev\.AWS_PROFIL: unknown setting.*\n.*did you mean AWS_PROFILE\?"),
        ({"identities": {ACCOUNT: {"deletes": {"dve": {"AWS_PROFILE": "x"}}}}}, r"deletes\.dve: unknown environment.*\n.*did you mean dev\?"),
        ({"identities": {ACCOUNT: {"reads": {"AWS_PROFILE": AWS_KEY}}}}, r"reads\.AWS_PROFILE: holds a secret"),
        ({"identities": {ACCOUNT: {}}}, rf"identities\.{ACCOUNT}: names no setting"),
        ({"identities": {"dev": {"reads": {"AWS_PROFILE": "x"}}}}, r"identities\.dev: must be an account of AWS"),
        ({"mail": {"host": "s", "sender": "a@b.c", "user": "me"}}, r"mail\.password_env: is missing"),
        ({"mail": {"host": "s", "sender": "a@b.c", "user": "me", "password_env": "P", "tls": "none"}}, r"mail\.tls: none sends the password in clear"),
        ({"mail": {"host": "smtp://s:25", "sender": "a@b.c"}}, r"mail\.host: must be the name of a server"),
    ],
)  # fmt: skip
def test_what_would_be_passed_over_is_a_fault(change: dict[str, Any], said: str) -> None:
    """Each with its path, what was found and the way out."""
    with pytest.raises(ConfigError, match=said):
        parse_config({"schema": "sizewell.teardown/1", "journal": "s3://b/x", **change})


def test_a_date_that_does_not_exist_is_named_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "stacks/config").mkdir(parents=True)
    file = tmp_path / "stacks/config/teardown.yaml"
    file.write_text(
        "schema: sizewell.teardown/1\njournal: s3://b/x\nprotected: {dev-x: {until: 2026-11-31, reason: x}}\n"
    )
    with pytest.raises(
        ConfigError, match=r"teardown\.yaml:3:28: protected\.dev-x\.until: 2026-11-31 cannot be read: day "
    ):
        read_config(tmp_path)


def test_whole_days_are_a_window_to_24_00() -> None:
    window = {"days": ["mon"], "start": "00:00", "end": "24:00", "time_zone": "UTC"}
    config = parse_config(
        {"schema": "sizewell.teardown/1", "journal": "s3://b/x", "environments": {"dev": {"windows": [window]}}}
    )
    hours = [MONDAY.replace(hour=hour) for hour in range(24)]
    assert all(config.open_at("dev", at) for at in hours)
    assert not config.open_at("dev", MONDAY.replace(day=24, hour=0))


def test_the_one_who_deletes_is_found_by_what_its_environment_means() -> None:
    identities = {ACCOUNT: {"deletes": {"prod": {"AWS_PROFILE": "deletes"}}}}
    config = parse_config({"schema": "sizewell.teardown/1", "journal": "s3://b/x", "identities": identities})
    assert config.deleter([ACCOUNT], "Production") == {"AWS_PROFILE": "deletes"}
    assert config.deleter([ACCOUNT], "dev") == {}


def test_environments_are_known_by_what_they_mean() -> None:
    named = {"Production": {"expiry": "firm"}, "development": {"empty_days": 3}}
    config = parse_config({"schema": "sizewell.teardown/1", "journal": "s3://b/x", "environments": named})
    assert config.limits().environments == {"prod": Rules(firm=True), "dev": Rules()}
    assert config.limits().empty_days == {"dev": 3}
