"""Prices of Cosmos DB: throughput that is provisioned; what is billed by request is the line of the account."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, get, items, number
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval

ACCOUNT: Final = "azure-native:cosmosdb:DatabaseAccount"
DATABASES: Final = tuple(
    f"azure-native:cosmosdb:{name}"
    for name in (
        "SqlResourceSqlDatabase",
        "MongoDBResourceMongoDBDatabase",
        "GremlinResourceGremlinDatabase",
        "CassandraResourceCassandraKeyspace",
    )
)
CONTAINERS: Final = {  # type -> the input that names its database
    "azure-native:cosmosdb:SqlResourceSqlContainer": "databaseName",
    "azure-native:cosmosdb:MongoDBResourceMongoDBCollection": "databaseName",
    "azure-native:cosmosdb:GremlinResourceGremlinGraph": "databaseName",
    "azure-native:cosmosdb:CassandraResourceCassandraTable": "keyspaceName",
    "azure-native:cosmosdb:TableResourceTable": "",
}
_WHAT: Final = "provisioned throughput"
# What a container gets that states none. Source, from memory: learn.microsoft.com/azure/cosmos-db/set-throughput.
_LEAST_UNITS: Final = 400
_AUTOSCALE_FLOOR: Final = Decimal("0.1")  # of its maximum; from memory: .../provision-throughput-autoscale


def _database(resource: RecordedResource, context: Context) -> Outcome:
    return _stated(resource, context) or Free("throughput is that of its containers")


def _container(resource: RecordedResource, context: Context) -> Outcome:
    stated = _stated(resource, context)
    if stated:
        return stated
    if (named := CONTAINERS[canonical(resource.type)]) and _shares(resource, context, named):
        return Free("it shares the throughput of its database")
    accounts = context.graph.referenced(resource, "accountName", ACCOUNT)
    if isinstance(accounts, tuple) and len(accounts) == 1 and _serverless(accounts[0]):
        return Free("requests are billed with the account")
    why = f"none is stated: it has at least {_LEAST_UNITS} request units per second, unless its account is serverless"
    return (context.unpriced(resource, _WHAT, why),)


def _shares(resource: RecordedResource, context: Context, named: str) -> bool:
    databases = context.graph.referenced(resource, named, *DATABASES)
    return isinstance(databases, tuple) and any(get(each.inputs, "options", default=None) for each in databases)


def _serverless(account: RecordedResource) -> bool:
    listed = items(account.inputs.get("capabilities"))
    return not isinstance(listed, Unknown) and any(get(each, "name") == "EnableServerless" for each in listed)


def _stated(resource: RecordedResource, context: Context) -> Outcome | None:
    """The line of what the options of a resource state; None where they state nothing."""
    fixed = number(get(resource.inputs, "options", "throughput"))
    most = number(get(resource.inputs, "options", "autoscaleSettings", "maxThroughput"))
    if isinstance(fixed, Unknown) or isinstance(most, Unknown):
        return (context.unpriced(resource, _WHAT, "known only after deployment"),)
    if fixed is None and most is None:
        return None
    if most is None:
        units, how = Interval.exactly(fixed or Decimal(0)), "around the clock"
    else:
        units, how = Interval(most * _AUTOSCALE_FLOOR, most, most), "autoscale: a tenth of the maximum to all of it"
    return (
        context.fee(
            resource,
            what=_WHAT if most is None else f"{_WHAT}, autoscale",
            key="cosmosdb.ru_hour" if most is None else "cosmosdb.autoscale.ru_hour",
            unit="RU/s-hour",
            quantity=units.times(amount(HOURS_PER_MONTH)),
            how=how,
        ),
    )


TABLE: Final[dict[str, Pricer]] = {
    **dict.fromkeys(DATABASES, _database),
    **dict.fromkeys(CONTAINERS, _container),
}
