"""Who asks a cloud for a stack: clients that read, once it is certain that the stack lies where they are logged in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sizewell.clouds.calls import CloudError
from sizewell.clouds.clients import Client
from sizewell.sizing.providers.cloud import PerCloud
from sizewell.teardown.aws import reads as aws
from sizewell.teardown.azure import reads as azure
from sizewell.teardown.config import TeardownConfig
from sizewell.teardown.gcp import reads as gcp
from sizewell.teardown.reading import Reads
from sizewell.teardown.units import Unit

READS: Final = PerCloud[Reads](aws=aws.READS, gcp=gcp.READS, azure=azure.READS)


def client_of(cloud: str, accounts: Sequence[str], config: TeardownConfig) -> Client:
    """A client that reads, under the identity of the account. CloudError where another account is logged in."""
    if cloud not in READS:
        reason = f"a pool on {cloud or 'a cluster of its own'} is its owner's responsibility"
        raise CloudError("teardown", "missing", reason)
    identity = next((config.identities[account] for account in accounts if account in config.identities), None)
    return READS[cloud].client(accounts, dict(identity.reads) if identity else {})


def must_be_own(unit: Unit, accounts: Sequence[str]) -> None:
    """CloudError where a pool's resources lie in a project or subscription that is none of its stack's accounts."""
    if unit.cloud not in READS:
        return
    what, place_of = READS[unit.cloud].place
    if place_of is None:
        return
    place = place_of(unit)
    if place not in accounts:
        raise CloudError("teardown", "refused", f"{what} {place} is not one of the stack's: {', '.join(accounts)}")
