"""Rows in the columns of FOCUS (FinOps Open Cost and Usage Specification), so that an estimate joins the bill.

One row per line of the bill after the change, for the month that the preview looks at. What an estimate cannot know
(invoice, account) is empty; what FOCUS has no column for begins with `x_`. A cost that nobody knows is empty, never 0.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from typing import Final

from preview import records

COLUMNS: Final = (
    "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart",
    "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart",
    "CommitmentDiscountId", "CommitmentDiscountType", "ConsumedQuantity", "ConsumedUnit", "ContractedCost",
    "ContractedUnitPrice", "EffectiveCost", "InvoiceIssuerName", "ListCost", "ListUnitPrice", "PricingCategory",
    "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId", "RegionName", "ResourceId",
    "ResourceName", "ResourceType", "ServiceCategory", "ServiceName", "SkuId", "SkuPriceId", "SubAccountId",
    "SubAccountName", "Tags", "x_Stack", "x_Component", "x_FloorCost", "x_CeilingCost", "x_Urn", "x_How",
    "x_Confidence", "x_Unpriced", "x_PriceSource", "x_PriceDate",
)  # fmt: skip

_PROVIDERS: Final = {"aws": "AWS", "gcp": "Google Cloud", "azure-native": "Microsoft", "azure": "Microsoft"}
_UNITS: Final = {"machine-hour": "Hours", "hour": "Hours", "GB-month": "GB-Months", "GB": "GB", "request": "Requests"}
# Services by the module of a resource's type token: the category of FOCUS.
_CATEGORIES: Final = (
    ("AI and Machine Learning", ("sagemaker", "vertex", "machinelearning", "bedrock", "cognitiveservices")),
    ("Storage", ("s3", "ebs", "fsx", "efs", "storage", "filestore", "lustre", "netapp", "storagecache", "disk")),
    ("Networking", ("lb", "natgateway", "vpcendpoint", "eip", "address", "router", "network", "globaladdress")),
    ("Management and Governance", ("cloudwatch", "logging", "monitoring", "operationalinsights", "insights")),
    ("Security", ("kms", "secretsmanager", "keyvault")),
    ("Databases", ("dynamodb", "rds", "sql", "documentdb", "cosmosdb")),
    ("Compute", ("ec2", "autoscaling", "compute", "container", "containerservice", "eks", "batch", "lambda", "tpu")),
)


def render(preview: records.Preview) -> str:
    """CSV with a header, one row per line item, sorted by stack, component and description."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for stack in preview.stacks:
        rows = [row for row in stack.rows if row.sign != "-"]
        lines = [(row, line) for row in [*rows, *stack.unchanged.rows] for line in row.lines]
        for row, line in sorted(lines, key=lambda pair: (pair[0].component, pair[1].what, pair[1].resource)):
            writer.writerow(_focus(preview.on, stack, row, line))
    return buffer.getvalue()


def _focus(on: date, stack: records.Stack, row: records.Row, line: records.Line) -> dict[str, str]:
    start = on.replace(day=1)
    end = start.replace(year=start.year + 1, month=1) if start.month == 12 else start.replace(month=start.month + 1)
    token = _type_of(line.resource)
    once = line.cadence == "once"
    cost = str(line.usd.expected) if line.usd is not None else ""
    price = str(line.usd_per_unit) if line.usd_per_unit is not None else ""
    own = line.source.startswith("own ") or ", own discount" in line.source
    unit = _UNITS.get(line.unit, line.unit)
    return {
        key: _cell(value)
        for key, value in {
            "BilledCost": cost,
            "BillingCurrency": "USD",
            "BillingPeriodStart": f"{start.isoformat()}T00:00:00Z",
            "BillingPeriodEnd": f"{end.isoformat()}T00:00:00Z",
            "ChargePeriodStart": f"{start.isoformat()}T00:00:00Z",
            "ChargePeriodEnd": f"{end.isoformat()}T00:00:00Z",
            "ChargeCategory": "Purchase" if once else "Usage",
            "ChargeDescription": line.what,
            "ChargeFrequency": "One-Time" if once else "Usage-Based",
            "ConsumedQuantity": "" if once else str(line.quantity.expected),
            "ConsumedUnit": "" if once else unit,
            "ContractedCost": cost,
            "ContractedUnitPrice": price,
            "EffectiveCost": cost,
            "InvoiceIssuerName": _provider(token),
            "ListCost": "" if own else cost,
            "ListUnitPrice": "" if own else price,
            "PricingCategory": _pricing_category(line),
            "PricingQuantity": str(line.quantity.expected),
            "PricingUnit": unit,
            "ProviderName": _provider(token),
            "PublisherName": _provider(token),
            "RegionId": row.region or (stack.regions[0] if len(stack.regions) == 1 else ""),
            "ResourceName": line.resource.rpartition("::")[2],
            "ResourceType": token,
            "ServiceCategory": _category(token),
            "ServiceName": _service(token),
            "Tags": json.dumps(line.tags or {"sizewell-stack": stack.stack}, sort_keys=True),
            "x_Stack": stack.stack,
            "x_Component": line.component,
            "x_FloorCost": str(line.usd.floor) if line.usd is not None else "",
            "x_CeilingCost": str(line.usd.ceiling) if line.usd is not None else "",
            "x_Urn": line.resource,
            "x_How": line.how,
            "x_Confidence": line.confidence,
            "x_Unpriced": line.unpriced,
            "x_PriceSource": line.source,
            "x_PriceDate": line.date,
        }.items()
    }


def _cell(value: str) -> str:
    """Text that a spreadsheet does not take for a formula.

    >>> _cell("=1+1"), _cell("-5.00")
    ("'=1+1", '-5.00')
    """
    if value[:1] in ("=", "+", "@", "\t") or (value.startswith("-") and not value[1:2].isdigit()):
        return f"'{value}"
    return value


def _type_of(urn: str) -> str:
    parts = urn.split("::")
    return parts[2].rpartition("$")[2] if len(parts) > 3 else ""


def _provider(token: str) -> str:
    return _PROVIDERS.get(token.partition(":")[0], "")


def _service(token: str) -> str:
    parts = token.split(":")
    return parts[1].partition("/")[0] if len(parts) > 1 else ""


def _category(token: str) -> str:
    words = [word for word in token.lower().replace("/", ":").split(":")[1:] if word]
    for category, modules in _CATEGORIES:
        if any(word == module for word in words for module in modules):
            return category
    return "Other" if token else ""


def _pricing_category(line: records.Line) -> str:
    what = f"{line.what} {line.source}".lower()
    if "spot" in what:
        return "Dynamic"
    return "Committed" if "reserved" in what or "commitment" in what else "Standard"
