from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get


def key_protected(thing: Thing, _: Parameters) -> Verdict:
    """The key of a checkpoint store is protected like the store: without it every checkpoint is unreadable.

    >>> from sizewell.policy.examples import thing
    >>> kept = {"kind": "checkpoints"}
    >>> key_protected(thing(type="aws:kms/key:Key", registration=kept), {}).fix
    'set protect=True on the key'
    """
    kind = get(thing.registration, "kind")
    if thing.protect:
        return None
    if kind is UNKNOWN:
        return Undetermined("the purpose of the key")
    if kind not in ("checkpoints", "keys"):
        return None
    return Violation(
        "a destroy deletes the key, and checkpoints encrypted with it become unreadable", "set protect=True on the key"
    )


RULE = Rule(
    id="key-protected",
    area="safety",
    subject="things",
    prevents="checkpoints made unreadable with their key",
    judge=key_protected,
    types=(
        "aws:kms/key:Key",
        "gcp:kms/cryptoKey:CryptoKey",
        "azure-native:keyvault:Vault",
        "azure-native:keyvault:Key",
    ),
)
