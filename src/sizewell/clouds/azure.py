"""Azure Resource Manager and the public price list, reading only.

Credentials are azure-identity's default chain (the Azure CLI's login, a workload identity, a service principal), or a
token in `AZURE_ACCESS_TOKEN`. `AZURE_ENDPOINT_URL` and `AZURE_ENDPOINT_URL_MANAGEMENT` set base addresses.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import Any, Final

from sizewell import source
from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.connections import http_client
from sizewell.clouds.rest import Reader, base_url

_QUIET: Final = logging.NullHandler()
_SCOPE: Final = "https://management.azure.com/.default"
_HOSTS: Final = {"management": "https://management.azure.com", "prices": "https://prices.azure.com"}


class Azure:
    """Readers by service (`management`, and `prices`, which needs no login) that share connections and one token."""

    cloud: Final = "azure"

    def __init__(self, deadline: Deadline, *, timeouts: Timeouts | None = None, identity: str = "") -> None:
        """`identity`: client id of the managed identity, or of the workload's, that reads; "": whoever is logged in."""
        self._identity = identity
        self.deadline, self.timeouts = deadline, timeouts or Timeouts()
        self._http = http_client()
        self._lock = threading.Lock()
        self._credential: Any = None

    def reader(self, service: str = "management") -> Reader:
        """The reader of one of the two services."""
        return Reader(
            service="azure" if service == "management" else f"azure {service}",
            base=base_url("azure", service, _HOSTS[service]),
            deadline=self.deadline,
            headers=self._headers if service == "management" else dict,
            timeouts=self.timeouts,
            http=self._http,
        )

    def _headers(self) -> dict[str, str]:
        token = os.environ.get("AZURE_ACCESS_TOKEN")
        if token and not self._identity:
            return {"Authorization": f"Bearer {token}"}
        try:
            import azure.core.exceptions
            import azure.identity
        except ImportError:
            fix = f"run: {source.install('azure')}"
            raise CloudError("azure", "login", "azure-identity is not installed", fix=fix) from None
        logging.getLogger("azure.identity").setLevel(logging.ERROR)  # the exception says what its warnings say
        with self._lock:
            # Each credential that has no login logs a paragraph; what is to be done is in the error.
            logging.getLogger("azure").addHandler(_QUIET)
            try:
                if self._credential is None:
                    own = {"managed_identity_client_id": self._identity, "workload_identity_client_id": self._identity}
                    # Its own waits are 300 s a call: behind a proxy that does not respond nobody would see an end.
                    limits = {"connection_timeout": self.timeouts.connect_s, "read_timeout": self.timeouts.read_s}
                    self._credential = azure.identity.DefaultAzureCredential(
                        **limits, retry_total=1, **(own if self._identity else {})
                    )
                token = self._credential.get_token(_SCOPE).token  # kept by azure-identity until it expires
            except azure.core.exceptions.ServiceRequestError as error:
                raise CloudError("azure", "unanswered", f"no token: {error}") from error
            except azure.core.exceptions.ClientAuthenticationError as error:
                raise CloudError("azure", "login", str(error).partition("\n")[0], fix="run: az login") from error
            return {"Authorization": f"Bearer {token}"}
