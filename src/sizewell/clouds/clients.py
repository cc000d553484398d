"""The client of each cloud's APIs; what it needs of an SDK is imported when one is made."""

from __future__ import annotations

from typing import Final, Protocol

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import Deadline, Timeouts
from sizewell.clouds.gcp import Google
from sizewell.sizing.providers.cloud import PerCloud


class Client(Protocol):
    """What every client has; how it asks is its cloud's own."""

    deadline: Deadline

    @property
    def cloud(self) -> str: ...


class Making(Protocol):
    """Makes a client. CloudError where the SDK or a login is missing."""

    def __call__(self, deadline: Deadline, *, timeouts: Timeouts | None = None) -> Client: ...


CLIENTS: Final = PerCloud[Making](aws=Aws, gcp=Google, azure=Azure)
