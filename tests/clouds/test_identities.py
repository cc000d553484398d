"""In whose name is read: a service account that is impersonated, a managed identity; a token of another is not used."""

from __future__ import annotations

from typing import Any

import pytest

from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import Deadline
from sizewell.clouds.gcp import Google
from tests.clouds.rest_server import Reply, serving

READER = "teardown-reads@petsnap-dev.iam.gserviceaccount.com"


def test_a_service_account_is_impersonated(monkeypatch: pytest.MonkeyPatch) -> None:
    import google.auth
    from google.oauth2.credentials import Credentials

    source = Credentials(token="of-a-person")  # type: ignore[no-untyped-call]
    monkeypatch.setattr(google.auth, "default", lambda **_: (source, "petsnap-dev"))
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "of-somebody-else")
    call = f"POST /v1/projects/-/serviceAccounts/{READER}:generateAccessToken"
    with serving() as server:
        server.reply(call, Reply({"accessToken": "of-the-reader", "expireTime": "2099-01-01T00:00:00Z"}))
        monkeypatch.setenv("GOOGLE_ENDPOINT_URL_IAMCREDENTIALS", server.url)
        headers = Google(Deadline(10.0), impersonate=READER).reader("compute").headers()
    assert headers == {"Authorization": "Bearer of-the-reader"}
    assert (server.asked, server.headers[0]["authorization"]) == ([call], "Bearer of-a-person")
    assert Google(Deadline(10.0)).reader("compute").headers() == {"Authorization": "Bearer of-somebody-else"}


def test_a_managed_identity_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    import azure.identity

    made: list[dict[str, str]] = []

    class Credential:
        def __init__(self, **settings: str) -> None:
            made.append(settings)

        def get_token(self, _: str) -> Any:
            return type("Token", (), {"token": "of-the-identity"})

    monkeypatch.setattr(azure.identity, "DefaultAzureCredential", Credential)
    monkeypatch.setenv("AZURE_ACCESS_TOKEN", "of-somebody-else")
    assert Azure(Deadline(10.0), identity="1-2-3").reader().headers() == {"Authorization": "Bearer of-the-identity"}
    (settings,) = made
    assert {key: value for key, value in settings.items() if key.endswith("_client_id")} == {
        "managed_identity_client_id": "1-2-3",
        "workload_identity_client_id": "1-2-3",
    }
