"""A generated year of an organisation's bill, 5 million rows of FOCUS 1.2, read by `forecast`: 60 s and 1 GB at most.

The file has all columns of FOCUS, an hour a row, and rows of 40 stacks among those of others. Where pyarrow is
installed the same rows are read from Parquet too.

Seen on 28 November 2026 (Python 3.11, two busy cores, processor time): 3.1 GB of CSV in 43 s and 0.44 GB, the same in
0.25 GB of Parquet in 36 s and 0.92 GB.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory

from benchmarks.measure import PYTHON, ROOT, peak_memory_bytes, report
from sizewell.preview.render.focus import COLUMNS

ROWS = 5_000_000
LIMIT_S, LIMIT_GB = 60, 1.0
BEGAN = datetime(2025, 11, 1, tzinfo=UTC)
NAMES = tuple(name for name in COLUMNS if not name.startswith("x_"))
MACHINES = (("g6.xlarge", "0.8048"), ("g4dn.xlarge", "0.526"), ("m5.large", "0.096"), ("p5.48xlarge", "55.04"))


def rows(count: int) -> Iterator[list[str]]:
    """Rows by hour: 570 resources, of which 120 are of 40 stacks; each hour of each is another amount."""
    resources = []
    for number in range(570):
        machine, price = MACHINES[number % 4]
        tags = {"Name": f"machine-{number}", "team": f"team-{number % 9}"}
        if number < 120:
            tags |= {"user:sizewell-stack": f"stack-{number % 40}", "user:sizewell-id": f"{number:016x}"}
        fixed = dict.fromkeys(NAMES, "") | {
            "BillingAccountId": "123456789012", "BillingAccountName": "Example", "BillingCurrency": "USD",
            "ChargeCategory": "Usage", "ChargeDescription": f"${price} per On Demand Linux {machine} Instance Hour",
            "ChargeFrequency": "Usage-Based", "ConsumedUnit": "Hours", "ContractedUnitPrice": price,
            "InvoiceIssuerName": "Amazon Web Services, Inc.", "ListUnitPrice": price, "PricingCategory": "Standard",
            "PricingUnit": "Hours", "ProviderName": "AWS", "PublisherName": "Amazon Web Services, Inc.",
            "RegionId": "us-east-1", "RegionName": "US East (N. Virginia)",
            "ResourceId": f"arn:aws:ec2:us-east-1:123456789012:instance/i-{number:017x}", "ResourceType": "Instance",
            "ServiceCategory": "Compute", "ServiceName": "Amazon Elastic Compute Cloud",
            "SkuId": f"SKU{number % 4}", "SkuPriceId": f"SKU{number % 4}.JRTCKXETXF", "Tags": json.dumps(tags),
            "SubAccountId": "210987654321", "SubAccountName": "ml",
        }  # fmt: skip
        if "SkuMeter" in fixed:
            fixed["SkuMeter"] = f"BoxUsage:{machine}"
        resources.append((fixed, Decimal(price)))
    made, hour = 0, 0
    while True:
        at = BEGAN + timedelta(hours=hour)
        month = at.replace(day=1, hour=0)
        after = (month + timedelta(days=32)).replace(day=1)
        times = {"BillingPeriodStart": month, "BillingPeriodEnd": after, "ChargePeriodStart": at,
                 "ChargePeriodEnd": at + timedelta(hours=1)}  # fmt: skip
        shown = {name: f"{each:%Y-%m-%dT%H:%M:%SZ}" for name, each in times.items()}
        for number, (fixed, price) in enumerate(resources):
            used = Decimal(3600 - (number * hour) % 1800) / 3600
            cost, quantity = f"{used * price:.10f}", f"{used:.10f}"
            costs = dict.fromkeys(("BilledCost", "ContractedCost", "EffectiveCost", "ListCost"), cost)
            quantities = dict.fromkeys(("ConsumedQuantity", "PricingQuantity"), quantity)
            cells = {**fixed, **shown, **costs, **quantities}
            yield [cells[name] for name in NAMES]
            made += 1
            if made == count:
                return
        hour = (hour + 1) % 8760


def write(path: Path, count: int) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(NAMES)
        writer.writerows(rows(count))


def to_parquet(path: Path) -> Path:
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet, string

    target = path.with_suffix(".parquet")
    options = arrow_csv.ConvertOptions(column_types=dict.fromkeys(NAMES, string()))
    with (
        arrow_csv.open_csv(path, convert_options=options) as source,
        parquet.ParquetWriter(target, source.schema) as into,
    ):
        for batch in source:
            into.write_batch(batch)
    return target


def read(path: Path) -> None:
    """In a process of its own, whose memory is that of reading alone."""
    from sizewell.economics.bill import read_bill

    began, spent = time.perf_counter(), time.process_time()
    bill = read_bill([path])
    total = sum(charge.usd for charge in bill.charges)
    print(json.dumps({
        "seconds": time.perf_counter() - began, "processor_s": time.process_time() - spent, "rows": bill.rows,
        "usd": str(total), "gb": peak_memory_bytes() / 1e9, "charges": len(bill.charges), "twice": bill.twice_rows,
    }))  # fmt: skip


def main() -> int:
    count = int(sys.argv[-1]) if sys.argv[-1].isdigit() else ROWS
    missed = False
    with TemporaryDirectory() as place:
        path = Path(place) / "bill.csv"
        write(path, count)
        sums = set()
        for file in (path, *((to_parquet(path),) if find_spec("pyarrow") else ())):
            command = [PYTHON, "-c", f"from benchmarks.bill import *; read(Path({str(file)!r}))"]
            seen = json.loads(run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
            what = f"{seen['rows']:,} rows, {file.stat().st_size / 1e9:.2f} GB of {file.suffix[1:]}"
            missed |= report(what, seen["processor_s"], LIMIT_S, "s")
            missed |= report(f"{what}: memory", seen["gb"], LIMIT_GB, "GB")
            print(f"   {seen['seconds']:.1f} s by the clock, {seen['charges']:,} charges, {seen['usd']} USD")
            sums.add(seen["usd"])
        missed |= len(sums) != 1
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
