"""`doctor --cloud` for somebody who has only just arrived: without extras, a login or a network one line says what to do."""

from __future__ import annotations

import logging
import sys

import pytest

from sizewell.clouds.calls import Timeouts
from sizewell.clouds.preflight.run import preflight
from tests.clouds.preflight_needs import machines, needs

CLOUDS = {  # an account, what is imported, what installs it, what logs in
    "aws": ("123456789012", "boto3", "sizewell[aws]", "aws sso login"),
    "gcp": ("petsnap-dev", "google.auth", "sizewell[gcp]", "gcloud auth application-default login"),
    "azure": ("00000000-0000-0000-0000-000000000001", "azure.identity", "sizewell[azure]", "az login"),
}
TOKENS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "GOOGLE_OAUTH_ACCESS_TOKEN": "token",
    "AZURE_ACCESS_TOKEN": "token",
}
ELSEWHERE = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_ID", *TOKENS)


def only_finding(cloud):
    (finding,) = preflight(needs(cloud, CLOUDS[cloud][0], (machines(),)), timeouts=Timeouts(attempts=2))
    return finding


@pytest.fixture
def nobody(monkeypatch, tmp_path):
    """Nobody's machine: no variables, files or programs that log in."""
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_EC2_METADATA_DISABLED", "NO_GCE_CHECK"):
        monkeypatch.setenv(name, "true")


@pytest.mark.parametrize("cloud", CLOUDS)
def test_without_the_extra_the_command_that_installs_it_is_said(cloud, nobody, monkeypatch):
    _, module, installs, _ = CLOUDS[cloud]
    monkeypatch.setitem(sys.modules, module, None)
    told = only_finding(cloud)
    assert (told.about, told.code) == ("account", 64)
    assert told.fix.startswith("run: pip install ")
    assert installs in told.fix  # with where this one came from, if that is known


@pytest.mark.parametrize("cloud", CLOUDS)
def test_without_a_login_the_command_that_logs_in_is_said(cloud, nobody):
    told = only_finding(cloud)
    assert (told.about, told.code, "not logged in" in told.detail) == ("account", 64, True)
    assert CLOUDS[cloud][-1] in told.fix
    assert len(told.detail) < 250
    if cloud == "azure":  # each of its credentials would log a paragraph to the terminal
        assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("azure").handlers)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_without_a_network_that_is_said_at_once(cloud, nobody, monkeypatch):
    for name, value in TOKENS.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_ENDPOINT_URL", "GOOGLE_ENDPOINT_URL", "AZURE_ENDPOINT_URL"):
        monkeypatch.setenv(name, "https://cloud.invalid")
    told = only_finding(cloud)
    assert (told.about, told.code, "no response" in told.detail) == ("account", 69, True)
    assert "check the network" in told.fix
