"""Google Cloud's REST APIs, reading only.

Credentials are the application default ones (google-auth), or a token in `GOOGLE_OAUTH_ACCESS_TOKEN`, which Pulumi's
provider reads too. `GOOGLE_ENDPOINT_URL` and `GOOGLE_ENDPOINT_URL_COMPUTE` set base addresses.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

import httpx

from sizewell import source
from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.connections import FAILURES, check_proxy, http_client
from sizewell.clouds.rest import Reader, base_url

LOG: Final = logging.getLogger(__name__)
_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
TOKEN_S: Final = 120.0  # as google-auth has it
_LOGIN: Final = "run: gcloud auth application-default login"


class Google:
    """Readers by service (`compute`, `serviceusage`, …) that share connections and one token."""

    cloud: Final = "gcp"

    def __init__(self, deadline: Deadline, *, timeouts: Timeouts | None = None, impersonate: str = "") -> None:
        """`impersonate`: e-mail address of the service account in whose name is read; "": whoever is logged in."""
        self._impersonated = impersonate
        self.deadline, self.timeouts = deadline, timeouts or Timeouts()
        self._http = http_client()
        self._lock = threading.Lock()
        self._credentials: Any = None
        self._no_login: CloudError | None = None

    def reader(self, service: str, *, authorized: bool = True) -> Reader:
        """`https://SERVICE.googleapis.com`; without `authorized` no token is sent (public lists with an API key)."""
        return Reader(
            service=service,
            base=base_url("google", service, f"https://{service}.googleapis.com"),
            deadline=self.deadline,
            headers=self._headers if authorized else dict,
            timeouts=self.timeouts,
            http=self._http,
        )

    def _headers(self) -> dict[str, str]:
        token = os.environ.get("GOOGLE_OAUTH_ACCESS_TOKEN")
        if token and not self._impersonated:
            return {"Authorization": f"Bearer {token}"}
        try:
            import google.auth
            import google.auth.exceptions
        except ImportError:
            fix = f"run: {source.install('gcp')}"
            raise CloudError("google", "login", "google-auth is not installed", fix=fix, local=True) from None
        with self._lock:
            if self._no_login is not None:  # looking again would ask the metadata server again, for seconds
                raise self._no_login
            try:
                if self._credentials is None:
                    self._credentials, _ = google.auth.default(scopes=_SCOPES)
                    if self._impersonated:
                        self._credentials = _impersonating(self._credentials, self._impersonated)
                if not self._credentials.valid:
                    LOG.info("asking for a token")
                    self._credentials.refresh(_transport(self._http))
            except google.auth.exceptions.TransportError as error:
                raise CloudError("google", "unanswered", f"no token: {error}", local=True) from error
            except google.auth.exceptions.GoogleAuthError as error:
                detail = str(error).partition("\n")[0]
                self._no_login = CloudError("google", "login", detail, fix=_LOGIN, local=True)
                raise self._no_login from error
            return {"Authorization": f"Bearer {self._credentials.token}"}


def _impersonating(source: Any, account: str) -> Any:
    """Credentials of a service account that whoever is logged in may take the place of."""
    from google.auth import impersonated_credentials

    base = base_url("google", "iamcredentials", "https://iamcredentials.googleapis.com")
    place = f"{base}/v1/projects/-/serviceAccounts/{account}:generateAccessToken"
    return impersonated_credentials.Credentials(
        source_credentials=source, target_principal=account, target_scopes=list(_SCOPES), iam_endpoint_override=place
    )


def _transport(http: httpx.Client) -> Callable[..., SimpleNamespace]:
    """What google-auth asks for tokens with (`google.auth.transport.Request`), through our client and its proxy."""
    import google.auth.exceptions

    def request(
        url: str, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] | None = None,
        timeout: float | None = None, **_: object,
    ) -> SimpleNamespace:  # fmt: skip
        try:
            answer = http.request(method, url, content=body, headers=headers, timeout=timeout or TOKEN_S)
        except FAILURES as error:
            check_proxy("google", error)
            raise google.auth.exceptions.TransportError(f"{type(error).__name__}: {error}") from error
        return SimpleNamespace(status=answer.status_code, headers=answer.headers, data=answer.content)

    return request
