"""Under which names the sellers list managed databases: PostgreSQL, MySQL, MariaDB and Aurora.

AWS: the product families and attributes that infracost/infracost@95ba4f49 asks by (internal/resources/aws,
db_instance.go and rds_cluster.go), the usage types of public bills and of GetProducts answers of 2026. Google: SKU
descriptions of Mumbai of September 2026 in a public note, and those that infracost asks by. Azure: product, SKU and
meter of answers for the East US of July 2026 in a public note, and infracost's patterns. Of MySQL's larger machines
public notes differ: a meter by the core, or one for each size; both are read. Editions that carry a licence (Oracle,
SQL Server) and Cloud SQL's Enterprise Plus are not read: they stay a "?".
"""

from __future__ import annotations

from typing import Final

from sizewell.clouds.prices.fee_meter import Meter

_ENGINES: Final = {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB"}
_DEPLOYMENTS: Final = {
    "single_az": ("Single-AZ", "InstanceUsage", ""),
    "multi_az": ("Multi-AZ", "Multi-AZUsage", "Multi-AZ-"),
}
_VOLUMES: Final = {"gp2": "GP2-Storage", "gp3": "GP3-Storage", "io1": "PIOPS-Storage"}
_IOPS: Final = {"gp3": "GP3-PIOPS", "io1": "PIOPS"}
AWS: Final = (
    *(
        Meter(
            key=f"rds.{engine}.{deployment}.{{instanceType}}", service="AmazonRDS", family="Database Instance",
            name=rf"{usage}:db\..+", unit="Hrs", asked=(("databaseEngine", listed),),
            attributes=(("deploymentOption", option),),
            title=f"Database machine, {listed}, {option}, {{instanceType}}", catalog_unit="hour",
        )
        for engine, listed in _ENGINES.items()
        for deployment, (option, usage, _) in _DEPLOYMENTS.items()
    ),
    *(
        Meter(
            key=f"rds.aurora-{engine}.{storage}{{instanceType}}", service="AmazonRDS", family="Database Instance",
            name=rf"{usage}:db\..+", unit="Hrs", asked=(("databaseEngine", f"Aurora {_ENGINES[engine]}"),),
            title=f"Database machine, Aurora {_ENGINES[engine]}, {{instanceType}}", catalog_unit="hour",
        )
        for engine in ("postgresql", "mysql")
        for storage, usage in (("", "InstanceUsage"), ("io_optimized.", "InstanceUsageIOOptimized"))
    ),
    *(
        Meter(
            key=f"rds.aurora-{engine}.acu_hour", service="AmazonRDS", family="ServerlessV2",
            name="Aurora:ServerlessV2Usage", unit="ACU-Hr", asked=(("databaseEngine", f"Aurora {_ENGINES[engine]}"),),
            title=f"Aurora {_ENGINES[engine]}, serverless", catalog_unit="ACU-hour",
        )
        for engine in ("postgresql", "mysql")
    ),
    *(
        Meter(
            key=f"rds.{deployment}.{volume}.gb_month", service="AmazonRDS", family="Database Storage",
            name=f"RDS:{zones}{usage}", unit="GB-Mo",
            title=f"Database storage, {volume}, {option}", catalog_unit="GB-month",
        )
        for deployment, (option, _, zones) in _DEPLOYMENTS.items()
        for volume, usage in _VOLUMES.items()
    ),
    Meter(
        key="rds.aurora.gb_month", service="AmazonRDS", family="Database Storage", name="Aurora:StorageUsage",
        unit="GB-Mo", title="Aurora storage", catalog_unit="GB-month",
    ),
    *(
        Meter(
            key=f"rds.{deployment}.{volume}.iops_month", service="AmazonRDS", family="Provisioned IOPS",
            name=f"RDS:{zones}{usage}", unit="IOPS-Mo",
            title=f"Provisioned IOPS of a database, {volume}, {option}", catalog_unit="IOPS-month",
        )
        for deployment, (option, _, zones) in _DEPLOYMENTS.items()
        for volume, usage in _IOPS.items()
    ),
    Meter(
        key="rds.aurora.io_request", service="AmazonRDS", family="System Operation", name="Aurora:StorageIOUsage",
        unit="IOs", title="Aurora I/O request", catalog_unit="request",
    ),
)  # fmt: skip
CLOUD_SQL: Final = "9662-B51E-5089"
_PARTS: Final = {
    "vcpu_hour": ("vCPU", "h", "vCPU-hour"),
    "ram_gib_hour": ("RAM", "GiBy.h", "GiB-hour"),
    "ssd_gb_month": ("Standard storage", "GiBy.mo", "GiB-month"),
    "hdd_gb_month": ("Low cost storage", "GiBy.mo", "GiB-month"),
    "db-f1-micro": ("Micro instance", "h", "hour"),
    "db-g1-small": ("Small instance", "h", "hour"),
}
GCP: Final = tuple(
    Meter(
        key=f"sql.{engine}.{place.lower()}.{part}", service=CLOUD_SQL, unit=unit,
        name=rf"Cloud SQL for {_ENGINES[engine]}: {place} - {words}(?: in .+)?",
        title=f"Cloud SQL for {_ENGINES[engine]}, {place.lower()}, {words}", catalog_unit=catalog_unit,
    )
    for engine in ("postgresql", "mysql")
    for place in ("Zonal", "Regional")
    for part, (words, unit, catalog_unit) in _PARTS.items()
)  # fmt: skip
_SIZED: Final = (
    r"(?:Azure Database|Az DB) for (?:{engine}|PGSQL) Flexible Server "
    r"(?:General Purpose|Memory Optimized|Business Critical) +(?:- )?"
    r"(?P<series>[A-Z][a-z]+v\d+)(?: Series)?(?: Compute)?"
)
AZURE: Final = tuple(
    Meter(service=f"Azure Database for {engine}", key=f"{engine.lower()}.{key}", product=product.format(engine=engine),
          sku=sku, name=name, unit=unit, title=f"Azure Database for {engine}, {title}", catalog_unit=catalog_unit)
    for engine in ("PostgreSQL", "MySQL")
    for key, product, sku, name, unit, title, catalog_unit in (
        (
            "{size}.hour", "Azure Database for {engine} Flexible Server Burstable BS Series Compute", "",
            r"(?P<size>B\d+\w*?)(?: vCore)?", "1 Hour", "{size}", "hour",
        ),
        (
            "{series}.{cores}.hour",
            _SIZED,
            r"(?P<cores>\d+) vCore", "vCore", "1 Hour", "{series}, {cores} cores", "hour",
        ),
        (
            "{series}.vcore_hour",
            r"Azure Database for {engine} Flexible Server General Purpose (?P<series>[A-Z][a-z]+v\d+) Series Compute",
            "vCore", "vCore", "1 Hour", "{series}, a core", "vCPU-hour",
        ),
        (
            "{series}.{cores}.hour",
            r"Azure Database for {engine} Flexible Server Memory Optimized (?P<series>[A-Z][a-z]+v\d+) Series Compute",
            r"Standard_.+", r"(?P<cores>\d+) vCore", "1 Hour", "{series}, {cores} cores", "hour",
        ),
        (
            "gb_month", "(?:Azure Database|Az DB) for {engine} Flex(?:ible)? Server Storage", "", "Storage Data Stored",
            "1 GB/Month", "storage", "GB-month",
        ),
    )
)  # fmt: skip
