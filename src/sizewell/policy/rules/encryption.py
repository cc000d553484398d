"""Encryption at rest, and the keys without which nothing can be read again."""

from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameter, Parameters, StackVerdicts, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Disk, Pool, StackFacts, Thing
from sizewell.resources.values import Flag, count, either, flag, get, items
from sizewell.sizing.catalog import load


@rule(
    "disk-unencrypted",
    area="safety",
    subject="disks",
    prevents="data readable in disks and snapshots",
)
def disk_unencrypted(disk: Disk, _: Parameters) -> Verdict:
    """Disks and file systems outside machines are encrypted.

    >>> from sizewell.policy.examples import disk
    >>> disk_unencrypted(disk(encrypted=False), {}).fix
    'set encrypted to true'
    """
    return require(
        disk.encrypted,
        message="the disk and its snapshots are not encrypted",
        fix="set encrypted to true",
        unknown="the encryption",
    )


@rule(
    "machine-disk-unencrypted",
    area="safety",
    subject="pools",
    prevents="data readable in disks and snapshots",
    debatable=True,
)
def machine_disk_unencrypted(pool: Pool, _: Parameters) -> Verdict:
    """The disks of machines are encrypted: they contain datasets and weights.

    >>> from sizewell.policy.examples import pool
    >>> machine_disk_unencrypted(pool(disks_encrypted=False), {}).fix
    'set encrypted on every disk of the machines'
    """
    if pool.type == "azure-native:machinelearningservices:Compute" or pool.type.startswith("aws:batch/"):
        return None
    # Azure encrypts managed disks by keys of its own whatever is stated: not what stands on the machine's host.
    on_host = pool.type.startswith("azure")
    return require(
        pool.disks_encrypted,
        message="temporary disks and caches on the machines' hosts are not encrypted; managed disks are"
        if on_host
        else "the disks and their snapshots are not encrypted",
        fix="set encryption at host" if on_host else "set encrypted on every disk of the machines",
        unknown="the disks",
    )


_NODE_POOLS: Final = ("aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool")  # tokens of all pods lie there
_MACHINE_TYPES: Final = (
    "aws:autoscaling/group:Group",
    "aws:ec2/instance:Instance",
    "aws:ec2/fleet:Fleet",
    "aws:eks/nodeGroup:NodeGroup",
    "gcp:container/nodePool:NodePool",
    "gcp:compute/instance:Instance",
)


@rule(
    "machine-disk-own-key",
    area="safety",
    subject="pools",
    prevents="weights that leak with a snapshot",
    level="advisory",
    types=_MACHINE_TYPES,
)
def machine_disk_own_key(pool: Pool, _: Parameters) -> Verdict:
    """The disks of accelerator machines and cluster nodes are encrypted with a customer-managed key.

    >>> from sizewell.policy.examples import pool
    >>> machine_disk_own_key(pool(accelerator="l4"), {}).fix
    'name a customer-managed key for the disks'
    """
    if (pool.accelerated is False and pool.type not in _NODE_POOLS) or pool.disks_encrypted is False:
        return None
    return require(
        pool.own_key,
        message="no customer-managed key: a shared snapshot of the disk can be read in another account",
        fix="name a customer-managed key for the disks",
        unknown="the key",
    )


_ENCRYPTION_FLAGS: Final = {
    "aws:rds/instance:Instance": "storageEncrypted",
    "aws:rds/cluster:Cluster": "storageEncrypted",
    "aws:docdb/cluster:Cluster": "storageEncrypted",
    "aws:neptune/cluster:Cluster": "storageEncrypted",
    "aws:redshift/cluster:Cluster": "encrypted",
    "aws:elasticache/replicationGroup:ReplicationGroup": "atRestEncryptionEnabled",
}


@rule(
    "database-unencrypted",
    area="safety",
    subject="things",
    prevents="data readable in backups and snapshots",
    clouds=("aws",),
    types=tuple(_ENCRYPTION_FLAGS),
)
def database_unencrypted(thing: Thing, _: Parameters) -> Verdict:
    """A database is encrypted at rest: it cannot be encrypted afterwards without a copy.

    >>> from sizewell.policy.examples import thing
    >>> database_unencrypted(thing(type="aws:rds/instance:Instance", inputs={}), {}).fix
    'set storageEncrypted to true'
    """
    key = _ENCRYPTION_FLAGS.get(thing.type, "storageEncrypted")
    inherits = any(thing.inputs.get(other) is not None for other in ("snapshotIdentifier", "replicateSourceDb"))
    if inherits and thing.inputs.get(key) is None:
        return None
    return require(
        flag(thing.inputs.get(key)),
        message="its disks, backups and snapshots are not encrypted",
        fix=f"set {key} to true",
        unknown="the encryption",
    )


@rule(
    "file-system-own-key",
    area="safety",
    subject="disks",
    prevents="data that leaks with a backup",
    level="advisory",
)
def file_system_own_key(disk: Disk, _: Parameters) -> Verdict:
    """File systems with datasets and weights are encrypted with a customer-managed key.

    >>> from sizewell.policy.examples import disk
    >>> file_system_own_key(disk(kind="file-system"), {}).fix
    'name a customer-managed key'
    """
    if disk.kind != "file-system":
        return None
    return require(
        disk.own_key,
        message="backups of the file system are not encrypted with a customer-managed key",
        fix="name a customer-managed key",
        unknown="the key",
    )


_CLOUD_RUN_SERVICE: Final = "gcp:cloudrunv2/service:Service"


@rule(
    "endpoint-own-key",
    area="safety",
    subject="things",
    prevents="weights that leak with a volume",
    level="advisory",
    clouds=("aws", "gcp"),
    types=(
        _CLOUD_RUN_SERVICE,
        "aws:sagemaker/endpointConfiguration:EndpointConfiguration",
        "aws:sagemaker/notebookInstance:NotebookInstance",
        "aws:sagemaker/domain:Domain",
    ),
)
def endpoint_own_key(thing: Thing, _: Parameters) -> Verdict:
    """Volumes of endpoints and notebooks are encrypted with a customer-managed key.

    Serverless endpoints have no volume, and machines with disks of their own encrypt them by hardware and refuse a key.

    >>> from sizewell.policy.examples import thing
    >>> endpoint_own_key(thing(type="aws:sagemaker/notebookInstance:NotebookInstance"), {}).fix
    'set kmsKeyId'
    """
    if thing.type == _CLOUD_RUN_SERVICE:
        if thing.inputs.get("template") is UNKNOWN:
            return Undetermined("the key of its image")
        if get(thing.inputs, "template", "encryptionKey") is not None:
            return None
        return Violation("its image is not encrypted with a customer-managed key", "set template.encryptionKey")
    config = thing.type.endswith("EndpointConfiguration")
    prop = "kmsKeyArn" if config else "kmsKeyId"
    if thing.inputs.get(prop) is not None:
        return None
    variants = items(thing.inputs.get("productionVariants")) if config else ()
    if isinstance(variants, tuple) and variants and all(_keeps_nothing(variant) for variant in variants):
        return None
    return Violation("its volume is not encrypted with a customer-managed key", f"set {prop}")


def _keeps_nothing(variant: Any) -> bool:
    kind = get(variant, "instanceType")
    return isinstance(get(variant, "serverlessConfig"), dict) or (
        isinstance(kind, str) and load().says("aws", kind, "local-disk")
    )


_TOPIC_KEY_INPUTS: Final = {
    "aws:sns/topic:Topic": ("kmsMasterKeyId",),
    "aws:sqs/queue:Queue": ("kmsMasterKeyId", "sqsManagedSseEnabled"),
}


@rule(
    "topic-own-key",
    area="safety",
    subject="things",
    prevents="messages readable at rest",
    level="advisory",
    clouds=("aws",),
    types=tuple(_TOPIC_KEY_INPUTS),
)
def topic_own_key(thing: Thing, _: Parameters) -> Verdict:
    """Notices and queues are encrypted.

    >>> from sizewell.policy.examples import thing
    >>> topic_own_key(thing(type="aws:sns/topic:Topic"), {}).fix
    'set kmsMasterKeyId'
    """
    props = _TOPIC_KEY_INPUTS[thing.type]
    if any(thing.inputs.get(prop) not in (None, False) for prop in props):
        return None
    if props[-1] != props[0] and thing.inputs.get(props[-1]) is None:
        return None  # a queue is encrypted unless it says otherwise
    return Violation("its messages are not encrypted", f"set {props[0]}")


_NOTICES: Final = (
    ("gcp:monitoring/notificationChannel:NotificationChannel", "labels"),
    ("gcp:billing/budget:Budget", "allUpdatesRule"),
)


@rule(
    "pubsub-own-key",
    area="safety",
    subject="stack",
    prevents="messages readable at rest",
    level="advisory",
    clouds=("gcp",),
)
def pubsub_own_key(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Pub/Sub topics use a customer-managed key, except those that carry only alerts and budget notices.

    >>> from sizewell.policy.examples import resource, stack
    >>> pubsub_own_key(stack(resource("gcp:pubsub/topic:Topic", "prompts")), {})[0][1].fix
    'set kmsKeyName'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for topic in facts.graph.of("gcp:pubsub/topic:Topic"):
        if topic.inputs.get("kmsKeyName") is not None:
            verdicts.append((topic.urn, None))
            continue
        senders = [facts.graph.referring(topic, kind, prop) for kind, prop in _NOTICES]
        if any(not isinstance(sender, Unknown) and sender for sender in senders):
            verdicts.append((topic.urn, None))
        elif any(isinstance(sender, Unknown) for sender in senders):
            verdicts.append((topic.urn, Undetermined("the messages sent to the topic")))
        else:
            message = "its messages are not encrypted with a customer-managed key"
            verdicts.append((topic.urn, Violation(message, "set kmsKeyName")))
    return verdicts


_AZURE_KEY: Final = "azure-native:keyvault:Key"


@rule(
    "key-rotation",
    area="safety",
    subject="things",
    prevents="a leaked key that stays valid for all data",
    types=("aws:kms/key:Key", "gcp:kms/cryptoKey:CryptoKey", _AZURE_KEY),
)
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
    elif thing.type == _AZURE_KEY:
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


@rule(
    "key-protected",
    area="safety",
    subject="things",
    prevents="checkpoints made unreadable with their key",
    types=(
        "aws:kms/key:Key",
        "gcp:kms/cryptoKey:CryptoKey",
        "azure-native:keyvault:Vault",
        "azure-native:keyvault:Key",
    ),
)
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


@rule(
    "key-deletion-window",
    area="safety",
    subject="things",
    prevents="checkpoints made unreadable with their key",
    clouds=("aws",),
    types=("aws:kms/key:Key",),
    parameters={
        "days": Parameter(
            default=30, schema={"type": "integer", "minimum": 7}, meaning="least days before a key is deleted"
        )
    },
)
def key_deletion_window(thing: Thing, parameters: Parameters) -> Verdict:
    """A deleted key of production or of checkpoints can be restored for weeks: without it the data is unreadable.

    >>> from sizewell.policy.examples import thing
    >>> short = thing(type="aws:kms/key:Key", environment="prod", inputs={"deletionWindowInDays": 7})
    >>> key_deletion_window(short, {"days": 30}).fix
    'set deletionWindowInDays to 30'
    """
    days = count(thing.inputs.get("deletionWindowInDays", 30))
    if isinstance(days, Unknown):
        return Undetermined("the deletion window")
    kind = get(thing.registration, "kind")
    # what components encrypt beside checkpoints and networks' logs goes with its machines: disks, notices
    keeps = kind == "checkpoints" or (thing.environment == "prod" and kind in (None, "network", "storage", UNKNOWN))
    if not keeps or (days or 0) >= parameters["days"]:
        return None
    return Violation(
        f"{days} days after a mistaken deletion everything encrypted with the key is unreadable",
        f"set deletionWindowInDays to {parameters['days']}",
    )


@rule(
    "vault-purge-protection",
    area="safety",
    subject="things",
    prevents="checkpoints made unreadable with their key",
    clouds=("azure",),
    types=("azure-native:keyvault:Vault",),
)
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


@rule(
    "vault-network",
    area="safety",
    subject="things",
    prevents="secrets readable from anywhere",
    levels={"dev": "advisory"},
    clouds=("azure",),
    types=("azure-native:keyvault:Vault",),
)
def vault_network(thing: Thing, _: Parameters) -> Verdict:
    """A key vault is closed to the internet.

    >>> from sizewell.policy.examples import thing
    >>> vault_network(thing(inputs={"properties": {}}), {}).fix
    'set publicNetworkAccess to Disabled, or networkAcls.defaultAction to Deny'
    """
    properties = thing.inputs.get("properties")
    access, default = get(properties, "publicNetworkAccess"), get(properties, "networkAcls", "defaultAction")
    closed = either(
        UNKNOWN if access is UNKNOWN else str(access).lower() in {"disabled", "false"},
        UNKNOWN if default is UNKNOWN else default == "Deny",
    )
    return require(
        closed,
        message="the vault is open to the internet: one leaked credential can read every secret",
        fix="set publicNetworkAccess to Disabled, or networkAcls.defaultAction to Deny",
        unknown="the vault's network",
    )
