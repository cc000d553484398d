from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.readers.network import covers_world
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import Flag, either, flag, get, items

_FLAGS: Final[Mapping[str, str]] = {
    "aws:rds/instance:Instance": "publiclyAccessible",
    "aws:rds/clusterInstance:ClusterInstance": "publiclyAccessible",
    "aws:redshift/cluster:Cluster": "publiclyAccessible",
    "aws:redshiftserverless/workgroup:Workgroup": "publiclyAccessible",
    "aws:dms/replicationInstance:ReplicationInstance": "publiclyAccessible",
    "aws:mq/broker:Broker": "publiclyAccessible",
    "azure-native:cache:Redis": "enableNonSslPort",
    "azure-native:redis:Redis": "enableNonSslPort",
}
_ACCESS: Final = (  # of these whoever says nothing is on the internet
    "azure-native:documentdb:DatabaseAccount",
    "azure-native:cosmosdb:DatabaseAccount",
    "azure-native:sql:Server",
)
_RULES: Final = (
    "azure-native:sql:FirewallRule",
    "azure-native:dbforpostgresql:FirewallRule",
    "azure-native:dbformysql:FirewallRule",
    "azure-native:cache:FirewallRule",
    "azure-native:redis:FirewallRule",
    "azure-native:synapse:IpFirewallRule",
)
_KAFKA: Final = "aws:msk/cluster:Cluster"
_ALLOYDB: Final = "gcp:alloydb/instance:Instance"
_CLOUD_SQL: Final = "gcp:sql/databaseInstance:DatabaseInstance"


def database_public(thing: Thing, _: Parameters) -> Verdict:
    """A database is reachable only from inside the network, or from a named range.

    >>> from sizewell.policy.examples import thing
    >>> database_public(thing(type="aws:rds/instance:Instance", inputs={"publiclyAccessible": True}), {}).fix
    'keep it in private subnets, or name the ranges that need it'
    """
    open_ = _open(thing.type, thing.inputs)
    if isinstance(open_, Unknown):
        return Undetermined("who can reach the database")
    if not open_:
        return None
    return Violation(
        "the database is open to the internet: anyone can try passwords",
        "keep it in private subnets, or name the ranges that need it",
    )


def _open(kind: str, inputs: Mapping[str, Any]) -> Flag:
    if kind in _FLAGS:
        return flag(inputs.get(_FLAGS[kind]))
    if kind in _ACCESS:
        stated = inputs.get("publicNetworkAccess")
        rules = either(*(_given(inputs.get(key)) for key in ("ipRules", "isVirtualNetworkFilterEnabled")))
        return UNKNOWN if UNKNOWN in (stated, rules) else stated == "Enabled" and not rules
    if kind in _RULES:
        first, last = inputs.get("startIpAddress"), inputs.get("endIpAddress")
        if UNKNOWN in (first, last):
            return UNKNOWN
        return str(first).startswith("0.") and int(str(last).partition(".")[0] or 0) > 63
    if kind == _KAFKA:
        stated = get(inputs, "brokerNodeGroupInfo", "connectivityInfo", "publicAccess", "type")
        return UNKNOWN if stated is UNKNOWN else bool(stated == "SERVICE_PROVIDED_EIPS")
    path, key = (
        (("networkConfig", "authorizedExternalNetworks"), "cidrRange")
        if kind == _ALLOYDB
        else (("settings", "ipConfiguration", "authorizedNetworks"), "value")
    )
    listed = items(get(inputs, *path))
    if isinstance(listed, Unknown):
        return UNKNOWN
    ranges = [get(entry, key) for entry in listed]
    return True if covers_world([each for each in ranges if isinstance(each, str)]) else (UNKNOWN in ranges and UNKNOWN)


def _given(value: Any) -> Flag:
    return UNKNOWN if value is UNKNOWN else bool(value)


RULE = Rule(
    id="database-public",
    area="safety",
    subject="things",
    prevents="unauthorized access to databases",
    judge=database_public,
    types=(*_FLAGS, *_ACCESS, *_RULES, _KAFKA, _ALLOYDB, _CLOUD_SQL),
)
