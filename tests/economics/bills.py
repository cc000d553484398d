"""Bills in the columns of FOCUS for tests: rows by what differs from an hour of a machine of the stack `dev`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

ROW = {
    "BillingPeriodStart": "2026-10-01T00:00:00Z", "BillingPeriodEnd": "2026-11-01T00:00:00Z",
    "ChargePeriodStart": "2026-10-01T00:00:00Z", "ChargePeriodEnd": "2026-11-01T00:00:00Z",
    "BillingCurrency": "USD", "ChargeCategory": "Usage", "ChargeClass": "", "ProviderName": "AWS",
    "ServiceName": "Amazon Elastic Compute Cloud", "RegionId": "us-east-1", "PricingCategory": "Standard",
    "PricingUnit": "Hours", "PricingQuantity": "730", "ContractedUnitPrice": "0.8048", "BilledCost": "587.504",
    "EffectiveCost": "587.504", "CommitmentDiscountStatus": "", "SkuPriceDetails": '{"InstanceType": "g6.xlarge"}',
    "ResourceId": "i-1", "Tags": '{"user:sizewell-stack": "dev"}',
}  # fmt: skip


def row(usd: str | None = None, *, tags: dict[str, str] | None = None, **cells: str) -> dict[str, str]:
    """A row; `usd` is what it costs, effective and as invoiced."""
    costs = {} if usd is None else {"BilledCost": usd, "EffectiveCost": usd}
    named = {} if tags is None else {"Tags": json.dumps(tags)}
    return {**ROW, **costs, **named, **cells}


def other(usd: str, **cells: str) -> dict[str, str]:
    """A row of another service than machines'."""
    return row(usd, **{"ServiceName": "Amazon S3", "SkuPriceDetails": "", "PricingUnit": "GB", **cells})


def write(path: Path, *rows: dict[str, str], without: tuple[str, ...] = ()) -> Path:
    columns = [name for name in rows[0] if name not in without]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path
