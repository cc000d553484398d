from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import Flag, flag, get

_AZURE: Final = "azure-native:keyvault:Key"


def key_rotation(thing: Thing, _: Parameters) -> Verdict:
    """Keys are rotated, and deleted only after weeks: without its key every checkpoint is unreadable.

    >>> from sizewell.policy.examples import thing
    >>> key_rotation(thing(type="aws:kms/key:Key"), {}).fix
    'set enableKeyRotation to true'
    """
    if thing.type == "gcp:kms/cryptoKey:CryptoKey":
        period = thing.inputs.get("rotationPeriod")
        on: Flag = UNKNOWN if period is UNKNOWN else period is not None
        fix = "set rotationPeriod to 7776000s"
    elif thing.type == _AZURE:
        policy = get(thing.inputs, "properties", "rotationPolicy", "lifetimeActions")
        on, fix = UNKNOWN if policy is UNKNOWN else bool(policy), "set properties.rotationPolicy"
    else:
        on, fix = flag(thing.inputs.get("enableKeyRotation")), "set enableKeyRotation to true"
    return require(
        on,
        message="the key is not rotated: once leaked it decrypts everything written later",
        fix=fix,
        unknown="rotation",
    )


RULE = Rule(
    id="key-rotation",
    area="safety",
    subject="things",
    prevents="a leaked key that stays valid for all data",
    judge=key_rotation,
    clouds=("aws", "gcp", "azure"),
    types=("aws:kms/key:Key", "gcp:kms/cryptoKey:CryptoKey", _AZURE),
)
