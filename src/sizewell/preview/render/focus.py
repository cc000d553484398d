"""Rows in the columns of FOCUS 1.2 (FinOps Open Cost and Usage Specification), so that an estimate joins the bill.

One row per line of the bill after the change, for the month that the preview looks at. What an estimate cannot know
(invoice, the seller's id of a commitment, a billing account that no rates file names) is empty, or says so; what FOCUS
has no column for begins with `x_`. A cost that nobody knows is empty, never 0: in these two an estimate is no whole
FOCUS dataset, which allows neither. Rows join a bill by the tag `sizewell-id`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final

from sizewell.preview import records
from sizewell.preview.render.bills import BILLS, NO_BILL, Bill
from sizewell.sizing.billing.charges import MACHINE_HOUR
from sizewell.sizing.money import Interval
from sizewell.sizing.providers import CLOUDS

COLUMNS: Final = (
    "AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency",
    "BillingPeriodEnd", "BillingPeriodStart", "CapacityReservationId", "CapacityReservationStatus", "ChargeCategory",
    "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart",
    "CommitmentDiscountCategory",
    "CommitmentDiscountId", "CommitmentDiscountName", "CommitmentDiscountQuantity", "CommitmentDiscountStatus",
    "CommitmentDiscountType", "CommitmentDiscountUnit", "ConsumedQuantity", "ConsumedUnit", "ContractedCost",
    "ContractedUnitPrice", "EffectiveCost", "InvoiceId", "InvoiceIssuerName", "ListCost", "ListUnitPrice",
    "PricingCategory", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId", "RegionName",
    "ResourceId", "ResourceName", "ResourceType", "ServiceCategory", "ServiceName", "ServiceSubcategory", "SkuId",
    "SkuPriceId", "SubAccountId", "SubAccountName", "SubAccountType", "Tags", "x_Stack", "x_Component", "x_FloorCost",
    "x_CeilingCost", "x_InstanceType", "x_Urn", "x_How", "x_Confidence", "x_Unpriced", "x_PriceSource", "x_PriceDate",
)  # fmt: skip

_COMMITTED: Final = ("own commitment", "own savings plan")
_SELLERS: Final = {
    package: cloud for name, cloud in CLOUDS.items() for package in (name, cloud.provider.package)
}  # by the package of a type
# Services by a word of a resource's type token: category and subcategory of FOCUS. The first that fits counts.
_KINDS: Final = (
    ("AI and Machine Learning", "Generative AI", "bedrock cognitiveservices"),
    ("AI and Machine Learning", "AI Platforms", "sagemaker vertex machinelearningservices notebooks workbench"),
    ("Storage", "Object Storage", "s3 storage storageaccount"),
    ("Storage", "File Storage", "fsx efs filestore lustre parallelstore netapp storagecache"),
    ("Storage", "Block Storage", "ebs disk regiondisk snapshot"),
    ("Networking", "Application Networking", "lb alb elb loadbalancer apigatewayv2"),
    ("Networking", "Network Infrastructure", "natgateway vpcendpoint eip address globaladdress router network"),
    ("Networking", "Network Routing", "dns privatedns route53 networkconnectivity"),
    ("Management and Governance", "Observability", "cloudwatch logging monitoring monitor operationalinsights"),
    ("Security", "Secret Management", "kms secretsmanager secretmanager keyvault"),
    ("Databases", "NoSQL Databases", "dynamodb documentdb cosmosdb firestore"),
    ("Databases", "Relational Databases", "rds sql"),
    ("Integration", "Workflow Orchestration", "scheduler cloudscheduler workflows sfn logic"),
    ("Integration", "Messaging", "sqs sns pubsub servicebus"),
    ("Compute", "Serverless Compute", "lambda cloudrunv2 cloudrun app web cloudfunctionsv2"),
    ("Compute", "Containers", "eks ecs ecr container containerservice containerregistry artifactregistry"),
    ("Compute", "Virtual Machines", "ec2 autoscaling compute batch tpu azurefleet emr dataproc"),
)  # fmt: skip


def render(preview: records.Preview) -> str:
    """CSV with a header, one row per line item, sorted by stack, component and description."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows_of(preview))
    return buffer.getvalue()


def rows_of(preview: records.Preview) -> Iterator[dict[str, str]]:
    """The rows as they are compared with a bill: without what protects a spreadsheet."""
    for stack in preview.stacks:
        rows = [row for row in stack.rows if row.sign != "-"]
        lines = [(row, line) for row in [*rows, *stack.unchanged.rows] for line in row.lines]
        for row, line in sorted(lines, key=lambda pair: (pair[0].component, pair[1].what, pair[1].resource)):
            yield _focus(preview.on, stack, row, line)


def _focus(on: date, stack: records.Stack, row: records.Row, line: records.Line) -> dict[str, str]:
    start = on.replace(day=1)
    end = start.replace(year=start.year + 1, month=1) if start.month == 12 else start.replace(month=start.month + 1)
    token = _type_of(line.resource)
    once = line.cadence == "once"
    cost = str(line.usd.expected) if line.usd is not None else ""
    price = str(line.usd_per_unit) if line.usd_per_unit is not None else ""
    listed = line.usd_per_unit if line.terms == "list" else line.list_usd_per_unit
    unit = _unit(line.unit)
    category, subcategory = _category(token)
    return {
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
        "ListCost": "" if listed is None else str(_cents(line.quantity.expected * listed)),
        "ListUnitPrice": "" if listed is None else str(listed),
        "PricingCategory": _pricing_category(line),
        "PricingQuantity": str(line.quantity.expected),
        "PricingUnit": unit,
        "ProviderName": _provider(token),
        "PublisherName": _provider(token),
        "RegionId": row.region or (stack.regions[0] if len(stack.regions) == 1 else ""),
        "ResourceName": line.resource.rpartition("::")[2],
        "ResourceType": token,
        **_account(token, stack),
        **_commitment(line, unit),
        "ServiceCategory": category,
        "ServiceName": _service(token, line.unit, line.what),
        "ServiceSubcategory": subcategory,
        "Tags": json.dumps(line.tags or {"sizewell-stack": stack.stack}, sort_keys=True),
        "x_Stack": stack.stack,
        "x_Component": line.component,
        "x_FloorCost": str(line.usd.floor) if line.usd is not None else "",
        "x_CeilingCost": str(line.usd.ceiling) if line.usd is not None else "",
        "x_InstanceType": line.what.partition(",")[0] if line.unit == MACHINE_HOUR else "",
        "x_Urn": line.resource,
        "x_How": line.how,
        "x_Confidence": line.confidence,
        "x_Unpriced": line.unpriced,
        "x_PriceSource": line.source,
        "x_PriceDate": line.date,
    }


def _account(token: str, stack: records.Stack) -> dict[str, str]:
    """The account, project or subscription that the stack's configuration names, and whose bill it is on."""
    package = token.partition(":")[0]
    cells: dict[str, str] = {}
    if account := stack.accounts.get(package, ""):
        cells |= {"SubAccountId": account, "SubAccountType": _SELLERS[package].account.billed_as}
    if billed := stack.billing_accounts.get(package):
        cells |= {"BillingAccountId": billed.id, "BillingAccountName": billed.name}
        cells["BillingAccountType"] = _billing_account_type(package, billed.id)
    return cells


def _billing_account_type(package: str, account: str) -> str:
    """What the seller calls an account that pays, as FOCUS 1.2 lists it in its examples; Microsoft's by the id's form.

    >>> _billing_account_type("aws", "012345678901")
    'Payer Account'
    >>> _billing_account_type("azure-native", "/providers/Microsoft.Billing/billingAccounts/1/billingProfiles/AB-CD")
    'Billing Profile'
    """
    if payer := _bill(package).payer:
        return payer
    if "/billingprofiles/" in account.lower():
        return "Billing Profile"
    return "Subscription" if "/subscriptions/" in account.lower() else "Billing Account"


def _commitment(line: records.Line, unit: str) -> dict[str, str]:
    """What covers the line where a commitment does; its id is ours, since only the seller knows its own."""
    if _pricing_category(line) != "Committed":
        return {}
    plan = line.terms == "own savings plan"
    own = line.terms in _COMMITTED
    name = f"{line.what.replace(', on-demand', '')}{', ' + line.how if own and line.how else ''}"
    return {
        "CommitmentDiscountCategory": "Spend" if plan else "Usage",
        "CommitmentDiscountId": f"estimate: {name}",
        "CommitmentDiscountName": name,
        "CommitmentDiscountQuantity": str(line.usd.expected if plan and line.usd else line.quantity.expected),
        "CommitmentDiscountStatus": "Unused" if line.what.endswith("unused") else "Used",
        "CommitmentDiscountType": "Savings plan" if plan else "Own commitment" if own else "Reservation",
        "CommitmentDiscountUnit": "USD" if plan else unit,
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
    package = token.partition(":")[0]
    return _SELLERS[package].seller if package in _SELLERS else package or "unknown"


def _bill(package: str) -> Bill:
    seller = _SELLERS.get(package)
    return BILLS[seller.name] if seller is not None and seller.provider.package == package else NO_BILL


def _service(token: str, unit: str, what: str = "") -> str:
    package, _, rest = token.partition(":")
    module, bill = rest.partition(":")[0].partition("/")[0], _bill(package)
    if unit in _OF_MACHINES and module in ("eks", "container", "containerservice"):
        module = bill.machines or module
    parts = bill.parts.get(module, {})
    if service := next((name for words, name in bill.lines.items() if what.startswith(words)), ""):
        return service
    apart = next((parts[word] for word in parts if word in _words(token)), "")
    return apart or bill.services.get(module, module) or "unknown"


_OF_MACHINES: Final = (
    MACHINE_HOUR,
    "GB-month",
)  # of a cluster: its machines and their disks, which are not its service's


def _words(token: str) -> frozenset[str]:
    return frozenset(word for word in token.lower().replace("/", ":").split(":")[1:] if word)


def _category(token: str) -> tuple[str, str]:
    """Category and subcategory, as FOCUS spells them.

    >>> _category("aws:fsx/lustreFileSystem:LustreFileSystem"), _category("x:y:Z")
    (('Storage', 'File Storage'), ('Other', 'Other (Other)'))
    """
    words = _words(token)
    for category, subcategory, modules in _KINDS:
        if words & frozenset(modules.split()):
            return category, subcategory
    return "Other", "Other (Other)"


def _cents(usd: Decimal) -> Decimal:
    return Interval.exactly(usd).cents().expected


def _unit(unit: str) -> str:
    """A unit as FOCUS writes it: plural, capitalised, measures as they are.

    >>> _unit("machine-hour"), _unit("GB-month"), _unit("GPU-second"), _unit("GB"), _unit("1M tokens")
    ('Hours', 'GB-Months', 'GPU-Seconds', 'GB', '1M Tokens')
    """
    unit = unit.removeprefix("machine-")
    if unit in ("GB", "GiB", "TB", "?", ""):
        return unit
    parts = [part if part[:1].isdigit() or not part.islower() else part.capitalize() for part in unit.split("-")]
    last = parts[-1]
    head, space, tail = last.rpartition(" ")
    tail = tail if tail.endswith("s") else f"{tail}s"
    parts[-1] = f"{head}{space}{tail[:1].upper()}{tail[1:]}"
    return "-".join(parts)


def _pricing_category(line: records.Line) -> str:
    if line.terms in _COMMITTED:
        return "Committed"
    what = line.what.lower()
    if "spot" in what:
        return "Dynamic"
    return "Committed" if "reserved" in what else "Standard"
