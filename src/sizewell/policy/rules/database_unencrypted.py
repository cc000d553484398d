from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import flag

_STORED: Final = {
    "aws:rds/instance:Instance": "storageEncrypted",
    "aws:rds/cluster:Cluster": "storageEncrypted",
    "aws:docdb/cluster:Cluster": "storageEncrypted",
    "aws:neptune/cluster:Cluster": "storageEncrypted",
    "aws:redshift/cluster:Cluster": "encrypted",
    "aws:elasticache/replicationGroup:ReplicationGroup": "atRestEncryptionEnabled",
}


def database_unencrypted(thing: Thing, _: Parameters) -> Verdict:
    """A database is encrypted at rest: it cannot be encrypted afterwards without a copy.

    >>> from sizewell.policy.examples import thing
    >>> database_unencrypted(thing(type="aws:rds/instance:Instance", inputs={}), {}).fix
    'set storageEncrypted to true'
    """
    key = _STORED.get(thing.type, "storageEncrypted")
    inherits = any(thing.inputs.get(other) is not None for other in ("snapshotIdentifier", "replicateSourceDb"))
    if inherits and thing.inputs.get(key) is None:
        return None
    return require(
        flag(thing.inputs.get(key)),
        message="its disks, backups and snapshots are not encrypted",
        fix=f"set {key} to true",
        unknown="the encryption",
    )


RULE = Rule(
    id="database-unencrypted",
    area="safety",
    subject="things",
    prevents="data readable in backups and snapshots",
    judge=database_unencrypted,
    clouds=("aws",),
    types=tuple(_STORED),
)
