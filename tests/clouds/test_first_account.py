"""docs/howto/first-account.md: its commands run, and each command of a cloud is one that a planted fault is mended by."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sizewell.cli.main import main
from sizewell.cli.project import config
from tests.clouds import test_preflight_aws, test_preflight_azure, test_preflight_gcp
from tests.clouds.test_preflight_aws import answered  # noqa: F401 - a fixture

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/first-account.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
MENDING = [command for command in re.findall(r"`((?:aws|gcloud|az|pulumi) [^`]+)`", PAGE) if command != "pulumi up"]


def test_there_are_commands_for_each_cloud():
    assert {command.split()[2] for command in COMMANDS} == {"prod-aws", "prod-gcp", "prod-azure"}
    assert len(MENDING) >= 8


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_asks_the_stand_ins(command, server, answered, monkeypatch, capsys):  # noqa: F811
    """In the example project: the account is in order, and each answer that a stand-in has not is a line of its own."""
    none_yet = test_preflight_aws.refused("ResourceNotFoundException")
    answered({**test_preflight_aws.healthy(), ("eks", "DescribeCluster"): none_yet})
    (account,) = (config(ROOT, command.split()[2]) or {})["sizewell:accounts"]
    for variable in ("GOOGLE_ENDPOINT_URL", "AZURE_ENDPOINT_URL", "REGISTRY_ENDPOINT_URL"):
        monkeypatch.setenv(variable, server.url)
    for variable in ("GOOGLE_OAUTH_ACCESS_TOKEN", "AZURE_ACCESS_TOKEN"):
        monkeypatch.setenv(variable, "token")
    for key, reply in {**test_preflight_gcp.HEALTHY, **test_preflight_azure.HEALTHY}.items():
        named = key.replace(test_preflight_gcp.PROJECT, account).replace(test_preflight_azure.SUBSCRIPTION, account)
        server.answers[named] = reply if callable(reply) else [reply]
    monkeypatch.chdir(ROOT)
    assert main([*command.split()[1:], *([] if "--json" in command else ["--json"])]) == 64
    found = {finding["about"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert found["account"]["state"] == "ok"
    # prod-gcp has no accelerators: no quota of theirs is asked about
    assert len(found) >= (4 if "prod-gcp" in command else 6)
    assert all(finding["fix"] for finding in found.values() if finding["state"] == "wrong")


@pytest.mark.parametrize("command", MENDING)
def test_a_command_of_the_page_mends_a_planted_fault(command):
    """The start of the command stands among what the planted faults are mended by."""
    mends = {
        case.values[-1] if hasattr(case, "values") else case[-1]
        for module in (test_preflight_aws, test_preflight_gcp, test_preflight_azure)
        for case in module.PLANTED
    }
    assert any(part in command for part in mends if len(part) > 8), command


@pytest.mark.parametrize("words", [["doctor", "--cloud"], ["doctor", "prod-aws"], ["doctor", "no-stack", "--cloud"]])
def test_what_is_said_where_the_words_are_wrong(words, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(words) == 64
    assert "fix:" in capsys.readouterr().err
