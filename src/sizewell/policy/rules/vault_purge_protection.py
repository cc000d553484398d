from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import flag, get


def vault_purge_protection(thing: Thing, _: Parameters) -> Verdict:
    """A key vault cannot be purged at once: without its keys checkpoints are unreadable.

    >>> from sizewell.policy.examples import thing
    >>> vault_purge_protection(thing(inputs={"properties": {}}), {}).fix
    'set properties.enablePurgeProtection to true'
    """
    return require(
        flag(get(thing.inputs, "properties", "enablePurgeProtection")),
        message="without purge protection deleting the vault makes every checkpoint encrypted with its keys unreadable",
        fix="set properties.enablePurgeProtection to true",
        unknown="purge protection",
    )


RULE = Rule(
    id="vault-purge-protection",
    area="safety",
    subject="things",
    prevents="checkpoints made unreadable with their key",
    judge=vault_purge_protection,
    clouds=("azure",),
    types=("azure-native:keyvault:Vault",),
)
