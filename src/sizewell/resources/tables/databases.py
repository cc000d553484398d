"""Prices of managed databases: PostgreSQL, MySQL, MariaDB, Aurora and Azure SQL by machine and storage provisioned.

What the catalog has no row for is a "?" that names the fee: `sizewell prices refresh --kind fees` reads them. Backups,
traffic are not in the lines; what a licence adds (Oracle, SQL Server) has no price here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Final

from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stores import stored
from sizewell.resources.tables import gaps
from sizewell.resources.values import Text, cloud_of, count, flag, get, number, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.catalog import lifetimes
from sizewell.sizing.catalog.databases import azure_size, cloud_sql_shape
from sizewell.sizing.catalog.machine_prices import vcpus_by_name
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem

RDS_INSTANCE: Final = "aws:rds/instance:Instance"
RDS_CLUSTER: Final = "aws:rds/cluster:Cluster"
Number = Decimal | Unknown | None
_NOT_YET: Final = "known only after deployment"
_AWS_ENGINES: Final = {"postgres": "postgresql", "mysql": "mysql", "mariadb": "mariadb"}
_AURORA_ENGINES: Final = {
    "aurora": "aurora-mysql",
    "aurora-mysql": "aurora-mysql",
    "aurora-postgresql": "aurora-postgresql",
}
_INCLUDED: Final = ((400, 12000, 500), (0, 3000, 125))  # of gp3: from how many GB on, IOPS and MB/s in its price
_LEAST_IOPS: Final = 1000  # of io1
_LEAST_IO1_GB: Final = 100
# Of extended support, before it doubles. Source: aws.amazon.com/rds/postgresql/pricing (from memory)
_SAME_RATE_YEARS: Final = 2
_SERVERLESS: Final = "db.serverless"
_IO_OPTIMIZED: Final = "aurora-iopt1"


def _hours(
    resource: RecordedResource,
    context: Context,
    *,
    key: str,
    count: Decimal | Interval = Decimal(1),
    unit: str = "hour",
) -> LineItem:
    """A fee by the hour, as many as `count`, around the clock."""
    many = count if isinstance(count, Interval) else Interval.exactly(count)
    quantity = Interval(*(amount(bound * HOURS_PER_MONTH) for bound in (many.floor, many.expected, many.ceiling)))
    return context.fee(
        resource, what=f"database machine, {key}", key=key, unit=unit, quantity=quantity, how="around the clock"
    )


def _provisioned(
    resource: RecordedResource, context: Context, *, key: str, quantity: Number, what: str, unit: str = "GB-month"
) -> LineItem:
    if quantity is None:
        return context.unpriced(resource, f"{what}, {key}", "no size is stated")
    bills = quantity if isinstance(quantity, Unknown) else Interval.exactly(amount(quantity))
    return context.fee(resource, what=f"{what}, {key}", key=key, unit=unit, quantity=bills)


def _stated(inputs: Mapping[str, object], other: Mapping[str, object], key: str) -> object:
    """An input, or where it is silent that of another resource, which it takes it from."""
    value = inputs.get(key)
    return other.get(key) if value is None else value


def _rds_instance(resource: RecordedResource, context: Context) -> Outcome:
    """A machine with its own storage; a replica has the engine and the storage of what it copies where it is silent."""
    inputs = resource.inputs
    primary = context.graph.referenced(resource, "replicateSourceDb", RDS_INSTANCE)
    copied = primary[0].inputs if not isinstance(primary, Unknown) and primary else {}
    engine = text(_stated(inputs, copied, "engine"))
    kind = text(inputs.get("instanceClass"))
    several = flag(inputs.get("multiAz"))
    if isinstance(engine, Unknown) or isinstance(kind, Unknown) or isinstance(several, Unknown) or not kind:
        return (context.unpriced(resource, "database", f"its engine, class or zones: {_NOT_YET}"),)
    deployment = "multi_az" if several else "single_az"
    if engine in _AWS_ENGINES:
        machine = _hours(resource, context, key=f"rds.{_AWS_ENGINES[engine]}.{deployment}.{kind.lower()}")
    else:
        why = f"{engine or 'an engine that is not stated'}: only PostgreSQL, MySQL and MariaDB have a price here"
        machine = context.unpriced(resource, f"database machine, {kind}", why)
    size = number(_stated(inputs, copied, "allocatedStorage"))
    version = text(_stated(inputs, copied, "engineVersion"))
    support = _extended(
        resource, context, engine=engine, version=version, kind=kind, machines=Decimal(2 if several else 1)
    )
    return (machine, *support, *_rds_storage(resource, context, deployment, size))


def _extended(
    resource: RecordedResource, context: Context, *, engine: str, version: Text, kind: str, machines: Decimal
) -> tuple[LineItem, ...]:
    """Support of a version whose standard support has ended, by the vCPU-hour; unless it is switched off."""
    off = text(resource.inputs.get("engineLifecycleSupport")) == "open-source-rds-extended-support-disabled"
    if off or isinstance(version, Unknown) or not version or kind == _SERVERLESS:
        return ()
    year = _year_of_extended_support(engine, version, context)
    what = f"extended support of {engine} {version}"
    if year is None:
        why = "RDS runs no such version any more and upgrades it to one in extended support, whose year sets the fee"
        return (context.unpriced(resource, what, why),)
    if not year:
        return ()
    vcpus = vcpus_by_name(kind.removeprefix("db."))
    if vcpus is None:
        return (context.unpriced(resource, what, f"how many vCPUs {kind} has is not known"),)
    key = "rds.extended_support.vcpu_hour" if year <= _SAME_RATE_YEARS else "rds.extended_support.year3.vcpu_hour"
    hours = Interval.exactly(amount(machines * vcpus * HOURS_PER_MONTH))
    return (context.fee(resource, what=what, key=key, unit="vCPU-hour", quantity=hours, how="around the clock"),)


def _year_of_extended_support(engine: str, version: str, context: Context) -> int | None:
    """1 in the first year after standard support, 0 before; None of a version older than all of the table, which RDS
    has upgraded to one of those. MariaDB has no extended support.
    """
    parts = version.split(".")
    major = parts[0] if engine.endswith(("postgres", "postgresql")) else ".".join(parts[:2])
    known = [row for row in lifetimes.load().releases if (row.kind, row.name) == ("database", f"aws:rds/{engine}")]
    paid = [row for row in known if "extended support" in row.note]
    row = next((row for row in paid if row.version == major), None)
    if row is not None and row.supported_until:
        until = date.fromisoformat(row.supported_until)
        return max((context.on - until).days, 0) // 365 + 1 if context.on > until else 0
    asked, oldest = lifetimes.number(major), min((lifetimes.number(row.version) for row in paid), default=())
    return None if row is None and asked and asked < oldest[: len(asked)] else 0


def _rds_storage(resource: RecordedResource, context: Context, deployment: str, size: Number) -> tuple[LineItem, ...]:
    iops = number(resource.inputs.get("iops"))
    volume = text(resource.inputs.get("storageType"), "gp2" if iops is None else "io1")
    if isinstance(volume, Unknown):
        return (context.unpriced(resource, "database storage", f"its type: {_NOT_YET}"),)
    key = f"rds.{deployment}.{volume}"
    if volume == "io1" and isinstance(size, Decimal):
        size = max(size, Decimal(_LEAST_IO1_GB))
    lines = [_provisioned(resource, context, key=f"{key}.gb_month", quantity=size, what="database storage")]
    throughput = number(resource.inputs.get("storageThroughput"))
    free_iops, free_mbps = _included(size)
    if volume in {"io1", "io2"}:
        iops = (
            max(iops, Decimal(_LEAST_IOPS))
            if isinstance(iops, Decimal)
            else Decimal(_LEAST_IOPS)
            if iops is None
            else UNKNOWN
        )
        free_iops = Decimal(0)
    for stated, included, unit, what in (
        (iops, free_iops, "IOPS-month", "provisioned IOPS"),
        (throughput, free_mbps, "MB/s-month", "provisioned throughput"),
    ):
        if stated is None:
            continue
        beyond = stated - included if isinstance(stated, Decimal) and isinstance(included, Decimal) else UNKNOWN
        if isinstance(beyond, Unknown) or beyond > 0:
            name = f"{key}.{'iops' if what.endswith('IOPS') else 'mbps'}_month"
            lines.append(_provisioned(resource, context, key=name, quantity=beyond, what=what, unit=unit))
    return tuple(lines)


def _included(size: Number) -> tuple[Number, Number]:
    """IOPS and MB/s that the price of a gp3 volume holds."""
    if not isinstance(size, Decimal):
        return UNKNOWN, UNKNOWN
    return next((Decimal(iops), Decimal(mbps)) for least, iops, mbps in _INCLUDED if size >= least)


def _rds_cluster(resource: RecordedResource, context: Context) -> Outcome:
    """Aurora bills what it holds and, without I/O-Optimized, what it reads and writes; its machines are instances."""
    engine = text(resource.inputs.get("engine"))
    storage = text(resource.inputs.get("storageType"))
    if isinstance(engine, Unknown) or isinstance(storage, Unknown):
        return (context.unpriced(resource, "database cluster", f"its engine or storage: {_NOT_YET}"),)
    if engine not in _AURORA_ENGINES:
        why = "machines and storage of a cluster of three zones have no price in the catalog"
        return (context.unpriced(resource, f"database cluster, {engine}", why),)
    optimized = storage == _IO_OPTIMIZED
    key = "rds.aurora.io_optimized.gb_month" if optimized else "rds.aurora.gb_month"
    lines = stored(resource, context, key=key, what="Aurora storage")
    if optimized:
        return lines
    requests = context.by_use(
        resource, measure="requests", what="Aurora I/O requests", key="rds.aurora.io_request", unit="request"
    )
    return (*lines, *requests)


def _aurora_instance(resource: RecordedResource, context: Context) -> Outcome:
    """A machine of an Aurora cluster by its class, or between the smallest and largest capacity of a serverless one."""
    clusters = context.graph.referenced(resource, "clusterIdentifier", RDS_CLUSTER)
    cluster = clusters[0].inputs if not isinstance(clusters, Unknown) and clusters else {}
    engine = text(_stated(resource.inputs, cluster, "engine"))
    kind = text(resource.inputs.get("instanceClass"))
    storage = text(cluster.get("storageType"))
    if isinstance(engine, Unknown) or isinstance(kind, Unknown) or isinstance(storage, Unknown) or not kind:
        return (context.unpriced(resource, "database machine", f"its engine, class or storage: {_NOT_YET}"),)
    if engine not in _AURORA_ENGINES:
        why = f"{engine or 'an engine that is not stated'}: only Aurora has a price here"
        return (context.unpriced(resource, f"database machine, {kind}", why),)
    key = f"rds.{_AURORA_ENGINES[engine]}"
    if storage == _IO_OPTIMIZED:
        key += ".io_optimized"
    version = text(_stated(resource.inputs, cluster, "engineVersion"))
    support = _extended(resource, context, engine=engine, version=version, kind=kind, machines=Decimal(1))
    if kind != _SERVERLESS:
        return (_hours(resource, context, key=f"{key}.{kind.lower()}"), *support)
    scaling = cluster.get("serverlessv2ScalingConfiguration")
    least, most = number(get(scaling, "minCapacity")), number(get(scaling, "maxCapacity"))
    if not isinstance(least, Decimal) or not isinstance(most, Decimal) or least > most:
        return (context.unpriced(resource, "serverless capacity", "its cluster's bounds are not in this plan"),)
    units = Interval(least, least, most)
    return (_hours(resource, context, key=f"{key}.acu_hour", count=units, unit="ACU-hour"),)


def _cloud_sql(resource: RecordedResource, context: Context) -> Outcome:
    """Cores and memory, or a shared core, in one zone or two; Enterprise Plus and SQL Server have no price here."""
    settings = resource.inputs.get("settings")
    version, tier = text(resource.inputs.get("databaseVersion")), text(get(settings, "tier"))
    place = text(get(settings, "availabilityType"), "ZONAL")
    edition, disk = text(get(settings, "edition"), "ENTERPRISE"), text(get(settings, "diskType"), "PD_SSD")
    activation = text(get(settings, "activationPolicy"), "ALWAYS")
    facts = (version, tier, place, edition, disk, activation)
    if any(isinstance(fact, Unknown) for fact in facts):
        return (context.unpriced(resource, "database", f"its version or tier: {_NOT_YET}"),)
    engine = {"POSTGRES": "postgresql", "MYSQL": "mysql"}.get(str(version).partition("_")[0])
    if engine is None or edition != "ENTERPRISE" or disk not in {"PD_SSD", "PD_HDD"}:
        why = f"{version or 'no version'}, {edition}, {disk}: only Enterprise PostgreSQL and MySQL have one"
        return (context.unpriced(resource, f"database, {tier}", why),)
    key = f"sql.{engine}.{str(place).lower()}"
    gigabytes = number(get(settings, "diskSize", default=10))
    storage = _provisioned(
        resource, context, key=f"{key}.{'ssd' if disk == 'PD_SSD' else 'hdd'}_gb_month", quantity=gigabytes,
        what="database storage",
    )  # fmt: skip
    if activation == "NEVER":
        address = get(settings, "ipConfiguration", "ipv4Enabled", default=True)
        if flag(address) is False:
            return (storage,)
        idle = context.standing(resource, what="public IPv4 address, not in use", key="sql.ipv4.idle_hour")
        return (storage, idle)
    pool = count(resource.inputs.get("nodeCount"))
    if pool not in (None, 1):
        return (context.unpriced(resource, f"read pool, {pool} nodes", "its machines have no price here"), storage)
    if tier in {"db-f1-micro", "db-g1-small"}:
        return (_hours(resource, context, key=f"{key}.{tier}"), storage)
    shape = cloud_sql_shape(str(tier))
    if shape is None:
        return (context.unpriced(resource, f"database machine, {tier}", "a tier whose cores are not known"), storage)
    cores, memory = shape
    return (
        _hours(resource, context, key=f"{key}.vcpu_hour", count=cores, unit="vCPU-hour"),
        _hours(resource, context, key=f"{key}.ram_gib_hour", count=memory, unit="GiB-hour"),
        storage,
    )


def _azure(engine: str) -> Pricer:
    """A flexible server: machines by size, or by series and cores; a standby bills as much again, its disk too (from
    memory).
    """

    def price(resource: RecordedResource, context: Context) -> Outcome:
        kind, tier = text(get(resource.inputs, "sku", "name")), text(get(resource.inputs, "sku", "tier"))
        mode = text(get(resource.inputs, "highAvailability", "mode"), "Disabled")
        if isinstance(kind, Unknown) or isinstance(tier, Unknown) or isinstance(mode, Unknown) or not kind:
            return (context.unpriced(resource, "database", f"its size or availability: {_NOT_YET}"),)
        servers = Decimal(1 if mode == "Disabled" else 2)
        nodes = number(get(resource.inputs, "cluster", "clusterSize", default=1))
        if isinstance(nodes, Unknown):
            return (context.unpriced(resource, "database cluster", f"its size: {_NOT_YET}"),)
        servers *= nodes if isinstance(nodes, Decimal) else 1
        size = number(get(resource.inputs, "storage", "storageSizeGB"))
        held = size * servers if isinstance(size, Decimal) else size
        disk = text(get(resource.inputs, "storage", "type"))
        if isinstance(disk, Unknown):
            return (context.unpriced(resource, "database storage", f"its type: {_NOT_YET}"),)
        kept = "" if disk in ("", "Premium_LRS") else f".{disk.lower()}"
        key = f"{engine}{kept}.gb_month"
        storage = _provisioned(resource, context, key=key, quantity=held, what="database storage")
        return (_azure_machine(resource, context, engine, kind, servers), storage)

    return price


def _azure_machine(resource: RecordedResource, context: Context, engine: str, kind: str, servers: Decimal) -> LineItem:
    """By the meter of the size where there is one, else by the core: Azure's list has either."""
    said = azure_size(kind)
    if said is None:
        return context.unpriced(resource, f"database machine, {kind}", "a size whose series is not known")
    letters, cores, features, version = said
    if letters == "B":
        return _hours(resource, context, key=f"{engine}.b{cores}{features}.hour", count=servers)
    series = f"{engine}.{(letters + features + version).lower()}"
    by_core = f"{series}.vcore_hour"
    cloud, listed = cloud_of(resource.type), context.catalog.fees_of
    if listed(cloud, by_core) and not listed(cloud, f"{series}.{cores}.hour"):
        return _hours(resource, context, key=by_core, count=servers * cores, unit="vCPU-hour")
    return _hours(resource, context, key=f"{series}.{cores}.hour", count=servers)


def _machine_of(service: str) -> Pricer:
    """A machine of a cluster of DocumentDB or Neptune, which costs more where the cluster bills no I/O."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        clusters = context.graph.referenced(resource, "clusterIdentifier", f"aws:{service}/cluster:Cluster")
        cluster = clusters[0].inputs if not isinstance(clusters, Unknown) and clusters else {}
        kind, storage = text(resource.inputs.get("instanceClass")), text(cluster.get("storageType"), "standard")
        if isinstance(kind, Unknown) or isinstance(storage, Unknown) or not kind:
            return (context.unpriced(resource, "database machine", f"its class or storage: {_NOT_YET}"),)
        return (_hours(resource, context, key=f"{service}.{'' if storage == 'standard' else f'{storage}.'}{kind}"),)

    return price


_AZURE_SQL_SIZE: Final = re.compile(r"(GP|BC|HS)_(S_)?([A-Z0-9]+)(?:_(\d+))?", re.IGNORECASE)
_DTU_SIZE: Final = re.compile(r"(?:B|S|P)\d+|Basic", re.IGNORECASE)
_DTU_INCLUDED_GB: Final = {"b": 2, "s": 250, "p": 500}  # of storage, by tier
# A database of vCores without a stated size may grow to 32 GB, and room for its log of 30 % is billed with it.
# Source: learn.microsoft.com/azure/azure-sql/database/resource-limits-vcore-single-databases (from memory)
_DEFAULT_SQL_BYTES: Final = 32 * 2**30
_WITH_LOG: Final = Decimal("1.3")


def _azure_sql(resource: RecordedResource, context: Context) -> Outcome:
    """A database of Azure SQL: by its size in DTUs, or by its vCores with licence, replicas and storage."""
    inputs = resource.inputs
    pool, licence = text(inputs.get("elasticPoolId")), text(inputs.get("licenseType"), "LicenseIncluded")
    if isinstance(pool, str) and pool:
        return Free("billed with its elastic pool")
    if inputs.get("secondaryType") is not None:
        return (context.unpriced(resource, "database", "a replica of another has no price here"),)
    name, cores = text(get(inputs, "sku", "name")), number(get(inputs, "sku", "capacity"))
    gigabytes = number(inputs.get("maxSizeGb"))  # as the other provider states it
    size = gigabytes * 2**30 if isinstance(gigabytes, Decimal) else number(inputs.get("maxSizeBytes", gigabytes))
    if any(isinstance(each, Unknown) for each in (pool, name, size, licence)):
        return (context.unpriced(resource, "database", f"its pool, size or licence: {_NOT_YET}"),)
    if isinstance(name, Unknown) or isinstance(size, Unknown) or not name:
        return (context.unpriced(resource, "database", "no size is stated"),)
    if _DTU_SIZE.fullmatch(name):
        return _by_dtu(resource, context, name.lower(), size)
    said = _AZURE_SQL_SIZE.fullmatch(name)
    if said is None or isinstance(cores, Unknown):
        return (context.unpriced(resource, f"database, {name}", "a size whose vCores are not known"),)
    cores = Decimal(said[4]) if said[4] else cores
    if cores is None:
        return (context.unpriced(resource, f"database, {name}", "a size whose vCores are not known"),)
    tier = said[1].lower()
    series = f"sql.{tier}.{said[3].lower()}"
    zones = flag(inputs.get("zoneRedundant"))
    if isinstance(zones, Unknown):
        return (context.unpriced(resource, "database", f"its replicas: {_NOT_YET}"),)
    if said[2]:
        used = _serverless_sql(tier)(resource, context)
        return (*(used if isinstance(used, tuple) else ()), *_sql_storage(resource, context, tier, size, zones=zones))
    replicas = number(inputs.get("highAvailabilityReplicaCount", 0)) if tier == "hs" else Decimal(0)
    if isinstance(replicas, Unknown):
        return (context.unpriced(resource, "database", f"its replicas: {_NOT_YET}"),)
    machines = cores * (1 + (replicas or 0))
    lines = [_hours(resource, context, key=f"{series}.vcore_hour", count=machines, unit="vCPU-hour")]
    if zones and tier == "gp":
        lines.append(
            _hours(resource, context, key=f"{series}.zone_redundancy.vcore_hour", count=cores, unit="vCPU-hour")
        )
    # Hyperscale has no licence fee since December 2023. Source, read 2026-11-27:
    # learn.microsoft.com/azure/azure-sql/database/sql-database-paas-overview
    if licence != "BasePrice" and tier != "hs":
        lines.append(_hours(resource, context, key=f"sql.{tier}.licence.vcore_hour", count=cores, unit="vCPU-hour"))
    return (*lines, *_sql_storage(resource, context, tier, size, zones=zones))


def _sql_storage(
    resource: RecordedResource, context: Context, tier: str, size: Decimal | None, *, zones: bool | None
) -> tuple[LineItem, ...]:
    if tier == "hs":
        return stored(resource, context, key="sql.hs.gb_month", what="database storage")
    held = (size or _DEFAULT_SQL_BYTES) / Decimal(2**30) * _WITH_LOG
    key = f"sql.{tier}{'.zone_redundancy' if zones and tier == 'gp' else ''}.gb_month"
    return (_provisioned(resource, context, key=key, quantity=held, what="database storage and log"),)


def _by_dtu(resource: RecordedResource, context: Context, name: str, size: Decimal | None) -> Outcome:
    line = _hours(resource, context, key=f"sql.dtu.{name}")
    above = (size or 0) / Decimal(2**30) - _DTU_INCLUDED_GB[name[0]]
    if above <= 0:
        return (line,)
    key = f"sql.dtu.{name[0]}.gb_month"
    return line, _provisioned(resource, context, key=key, quantity=above, what="storage above what is included")


def _serverless_sql(tier: str) -> Pricer:
    key = f"sql.{tier}.serverless.vcore_hour"
    return gaps.unstated("serverless database", "it is billed by the vCores that it uses", vcpu_hours=key)


AWS: Final[Mapping[str, Pricer]] = {
    **{f"aws:{service}/clusterInstance:ClusterInstance": _machine_of(service) for service in ("docdb", "neptune")},
    RDS_INSTANCE: _rds_instance,
    RDS_CLUSTER: _rds_cluster,
    "aws:rds/clusterInstance:ClusterInstance": _aurora_instance,
}
GCP: Final[Mapping[str, Pricer]] = {"gcp:sql/databaseInstance:DatabaseInstance": _cloud_sql}
AZURE: Final[Mapping[str, Pricer]] = {
    "azure-native:sql:Database": _azure_sql,
    "azure-native:dbforpostgresql:Server": _azure("postgresql"),
    "azure-native:dbformysql:Server": _azure("mysql"),
}
