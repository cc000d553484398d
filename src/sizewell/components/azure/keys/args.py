"""Arguments of the keys of one's own, and what they refuse. Pure."""

from typing import NotRequired, TypedDict

import pulumi

from sizewell.components.azure.checks import check_region
from sizewell.components.faults import Faults
from sizewell.components.forms import PlaceArgs


class CustomerKeyArgs(TypedDict):
    """A customer-managed key, and an identity that may use it."""

    key_url: pulumi.Input[str]
    """URL of the key, with its version."""
    vault_id: pulumi.Input[str]
    """Id of the vault."""
    identity_id: pulumi.Input[str]
    """Identity that may wrap and unwrap with the key."""
    client_id: NotRequired[pulumi.Input[str]]
    """The identity's client id."""


class CustomerKeysArgs(PlaceArgs):
    """A vault with keys for disks and Kubernetes secrets."""

    salt: str
    """Suffix that makes the vault's name globally unique."""
    protected: NotRequired[bool]
    """Whether a destroy keeps vault and keys; default true."""


def check_keys(name: str, args: CustomerKeysArgs) -> None:
    faults = Faults.of(name, args, CustomerKeysArgs)
    check_region(faults, args)
    faults.must(bool(args.get("salt")), "salt", "is empty: the name of a vault is globally unique")
    protected = args.get("protected", True)
    faults.must(isinstance(protected, bool), "protected", f"must be true or false, got {protected!r}")
    faults.done()
