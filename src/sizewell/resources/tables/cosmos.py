"""Prices of Cosmos DB: throughput that is provisioned; what is billed by request is the line of the account."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, NamedTuple

from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.graph import normal_region
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, flag, get, items, number, text
from sizewell.sizing.billing.charges import Charge
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
# What is provisioned is billed in each region of the account. Source, read 2026-11-28:
# learn.microsoft.com/azure/cosmos-db/optimize-cost-regions.
# A region spread over zones bills a quarter more, unless the account writes in several or the throughput scales by
# itself. Source, from memory: learn.microsoft.com/azure/reliability/reliability-cosmos-db-nosql.
_SPREAD_OVER_ZONES: Final = Decimal("1.25")
# Of a free-tier account, in all of its regions together. Source, from memory: .../cosmos-db/free-tier
_FREE_UNITS: Final = Decimal(1000)


class _Place(NamedTuple):
    """A region of an account."""

    region: str
    zones: bool


def _database(resource: RecordedResource, context: Context) -> Outcome:
    return _stated(resource, context) or Free("throughput is that of its containers")


def _container(resource: RecordedResource, context: Context) -> Outcome:
    stated = _stated(resource, context)
    if stated:
        return stated
    if (named := CONTAINERS[canonical(resource.type)]) and _shares(resource, context, named):
        return Free("it shares the throughput of its database")
    account = _account(resource, context)
    if account is not None and _serverless(account):
        return Free("requests are billed with the account")
    why = f"none is stated: it has at least {_LEAST_UNITS} request units per second, unless its account is serverless"
    return (context.unpriced(resource, _WHAT, why),)


def _shares(resource: RecordedResource, context: Context, named: str) -> bool:
    databases = context.graph.referenced(resource, named, *DATABASES)
    return isinstance(databases, tuple) and any(get(each.inputs, "options", default=None) for each in databases)


def _account(resource: RecordedResource, context: Context) -> RecordedResource | None:
    accounts = context.graph.referenced(resource, "accountName", ACCOUNT)
    return accounts[0] if isinstance(accounts, tuple) and len(accounts) == 1 else None


def _serverless(account: RecordedResource) -> bool:
    listed = items(account.inputs.get("capabilities"))
    by_name = not isinstance(listed, Unknown) and any(get(each, "name") == "EnableServerless" for each in listed)
    return by_name or account.inputs.get("capacityMode") == "Serverless"


def _places(account: RecordedResource) -> tuple[_Place, ...] | Unknown:
    """The regions of an account; () where it names none."""
    listed = items(account.inputs.get("locations"))
    if isinstance(listed, Unknown):
        return listed
    places = []
    for each in listed:
        name, zones = text(get(each, "locationName")), flag(get(each, "isZoneRedundant"))
        if isinstance(name, Unknown) or isinstance(zones, Unknown):
            return UNKNOWN
        places.append(_Place(normal_region(cloud_of(ACCOUNT), name), zones is True))
    return tuple(places)


def _stated(resource: RecordedResource, context: Context) -> Outcome | None:
    """The lines of what the options of a resource state, one for each region; None where they state nothing."""
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
    account, component = _account(resource, context), context.graph.component(resource)
    if account is None:
        context.outside.append(f"{component}: {_WHAT} ({resource.name}): in further regions of its account, not stated")
    places = _places(account) if account is not None else ()
    several = flag(account.inputs.get("enableMultipleWriteLocations")) if account is not None else False
    if isinstance(several, Unknown) or isinstance(places, Unknown):
        return (context.unpriced(resource, _WHAT, "the regions of its account are known only after deployment"),)
    writes = several is True and len(places) > 1
    sort = ("autoscale." if most is not None else "") + ("multi_write." if writes else "")
    words = _WHAT + (", autoscale" if most is not None else "") + (", writes in several regions" if writes else "")
    lines = []
    for place in places or (None,):
        zones = place is not None and place.zones and not writes and most is None
        billed = units.times(_SPREAD_OVER_ZONES) if zones else units
        if account is not None and flag(account.inputs.get("enableFreeTier")) is True:
            billed = _beyond_free(billed, account, context)
        charge = Charge(
            component=component,
            what=words if place is None or len(places) == 1 else f"{words}, {place.region}",
            fee=f"cosmosdb.{sort}ru_hour",
            unit="RU/s-hour",
            quantity=billed.times(amount(HOURS_PER_MONTH)),
            how=f"{how}, x {_SPREAD_OVER_ZONES} for zones" if zones else how,
        )
        lines.append(context.line(resource, charge, None if place is None else place.region))
    return tuple(lines)


def _beyond_free(units: Interval, account: RecordedResource, context: Context) -> Interval:
    """What is left of units once the account's free ones are taken by those that come first."""
    key = (account.urn, "cosmosdb.free_units")
    left = _FREE_UNITS - context.allowances.get(key, Decimal(0))
    context.allowances[key] = _FREE_UNITS - left + min(left, units.ceiling)
    return Interval(*(max(each - left, Decimal(0)) for each in (units.floor, units.expected, units.ceiling)))


TABLE: Final[dict[str, Pricer]] = {
    **dict.fromkeys(DATABASES, _database),
    **dict.fromkeys(CONTAINERS, _container),
}
