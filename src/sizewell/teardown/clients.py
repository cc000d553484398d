"""Who asks a cloud for a stack: clients that read, once it is certain that the stack lies where they are logged in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Deadline
from sizewell.clouds.gcp import Google
from sizewell.sizing.providers.cloud import PerCloud
from sizewell.teardown.config import TeardownConfig
from sizewell.teardown.telemetry import google
from sizewell.teardown.units import Unit

DEADLINE_S: Final = 300.0
Client = Aws | Google | Azure


def client_of(cloud: str, accounts: Sequence[str], config: TeardownConfig) -> Client:
    """A client that reads, under the identity of the account. CloudError where another account is logged in."""
    if cloud not in _CLIENTS:
        reason = f"a pool on {cloud or 'a cluster of its own'} is its owner's responsibility"
        raise CloudError("teardown", "missing", reason)
    identity = next((config.identities[account] for account in accounts if account in config.identities), None)
    return _CLIENTS[cloud](accounts, dict(identity.reads) if identity else {})


def must_be_own(unit: Unit, accounts: Sequence[str]) -> None:
    """CloudError where a pool's resources lie in a project or subscription that is none of its stack's accounts."""
    if unit.cloud not in _PLACES:
        return
    what, place_of = _PLACES[unit.cloud]
    if place_of is None:
        return
    place = place_of(unit)
    if place not in accounts:
        raise CloudError("teardown", "refused", f"{what} {place} is not one of the stack's: {', '.join(accounts)}")


def aws_client(deadline: Deadline, profile: str | None) -> Aws:
    """Clients that read, under a profile; None: whatever is logged in."""
    return Aws(deadline, profile=profile)


def _aws(accounts: Sequence[str], settings: Mapping[str, str]) -> Aws:
    aws = aws_client(Deadline(DEADLINE_S), settings.get("AWS_PROFILE"))
    account = str(aws.call("sts", "us-east-1", "get_caller_identity")["Account"])
    if account not in accounts:
        allowed = ", ".join(accounts)
        reason = f"AWS account {account} is logged in; the stack belongs to {allowed}"
        raise CloudError("teardown", "refused", reason, fix=f"log in to {allowed}")
    return aws


def _google(_: Sequence[str], settings: Mapping[str, str]) -> Google:
    return Google(Deadline(DEADLINE_S), impersonate=settings.get("GOOGLE_IMPERSONATE_SERVICE_ACCOUNT", ""))


def _azure(_: Sequence[str], settings: Mapping[str, str]) -> Azure:
    return Azure(Deadline(DEADLINE_S), identity=settings.get("AZURE_CLIENT_ID", ""))


def _subscription(unit: Unit) -> str:
    return (*unit.resources, *unit.serving, *unit.managed)[0].id.split("/")[2]


_CLIENTS: Final = PerCloud[Callable[[Sequence[str], Mapping[str, str]], Client]](aws=_aws, gcp=_google, azure=_azure)
# What a cloud's own identities of resources say of where they lie. An AWS login is in one account, which was compared
# with the stack's when the client was made; one of Google Cloud or Azure reaches every project or subscription.
_PLACES: Final = PerCloud[tuple[str, Callable[[Unit], str] | None]](
    aws=("account", None), gcp=("project", google.project_of), azure=("subscription", _subscription)
)
