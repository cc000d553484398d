"""Google Cloud's billing catalog as a stand-in: documented items with the figures that were published of us-central1.

The item is a recorded answer (the test data of broadinstitute/hamm, read 2026-11-22) in the form of
docs.cloud.google.com/billing/v1/how-tos/catalog-api; a price of a part is put in. Where the prices come from:
G2 and L4 (a worked example of g2-standard-8, 0.853608 in all); A3 Mega (maplespeed's recorded parts); A3 with flex-start (a
bill of a3-highgpu-8g in zenn.dev, August 2025, with every SKU id); A4 (tests of SpareCores' crawler); G4 and its slices
(cloud.google.com/skus/sku-groups/g4-on-demand-vms as quoted there); N2 and E2 (as quoted there and in gcosts).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.clouds.rest_server import Reply, Server

PAGE = 9
SAMPLE = json.loads("""
{
  "name": "services/6F81-5844-456A/skus/2037-B859-1728", "skuId": "2037-B859-1728",
  "description": "Custom Instance Core running in Los Angeles",
  "category": {"serviceDisplayName": "Compute Engine", "resourceFamily": "Compute", "resourceGroup": "CPU",
               "usageType": "OnDemand"},
  "serviceRegions": ["us-west2"],
  "pricingInfo": [{
    "summary": "",
    "pricingExpression": {
      "usageUnit": "h", "usageUnitDescription": "hour", "baseUnit": "s", "baseUnitDescription": "second",
      "baseUnitConversionFactor": 3600, "displayQuantity": 1,
      "tieredRates": [{"startUsageAmount": 0,
                       "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 37970000}}]
    },
    "currencyConversionRate": 1, "effectiveTime": "2019-01-17T13:07:15.915Z"
  }],
  "serviceProviderName": "Google"
}
""")
Items = list[dict[str, Any]]
PARTS = (
    ("G2 Instance Core running in Americas", "h", "0.024988"),
    ("G2 Instance Ram running in Americas", "GiBy.h", "0.002927"),
    ("Nvidia L4 GPU running in Americas", "h", "0.560040"),
    ("A3Plus Instance Core running in Americas", "h", "0.026924"),
    ("A3Plus Instance Ram running in Americas", "GiBy.h", "0.002344"),
    ("Nvidia H100 80GB Plus GPU running in Americas", "h", "10.344276"),
    ("SSD backed Local Storage", "GiBy.mo", "0.08"),
    ("Nvidia H100 80GB GPU attached to DWS Defined Duration VMs running in Americas", "h", "4.200761"),
    ("DWS Defined Duration A3 Core running in Americas", "h", "0.010934"),
    ("DWS Defined Duration A3 Ram running in Americas", "GiBy.h", "0.000952"),
    ("DWS Defined Duration SSD backed Local Storage running in Americas", "GiBy.mo", "0.08"),
    ("Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas", "h", "4.954200"),
    ("G4 Instance Core running in Iowa", "h", "0.048910"),
    ("G4 Instance Ram running in Iowa", "GiBy.h", "0.005870"),
    ("RTX 6000 96GB running in Iowa", "h", "1.095650"),
    ("1/8 vGPU no lssd running in Iowa", "h", "0.646880"),
    ("1/8 vGPU no lssd attached to DWS Defined Duration VMs running in Iowa", "h", "0.323440"),
    ("N2 Instance Core running in Americas", "h", "0.031611"),
    ("N2 Instance Ram running in Americas", "GiBy.h", "0.004237"),
    ("E2 Instance Core running in Americas", "h", "0.02181159"),
    ("E2 Instance Ram running in Americas", "GiBy.h", "0.00292353"),
    ("A2 Instance Core running in Americas", "h", "0.031611"),
    ("A2 Instance Ram running in Americas", "GiBy.h", "0.004237"),
    ("Nvidia Tesla A100 GPU running in Americas", "h", "2.933750"),
    ("Nvidia Tesla A100 80GB GPU running in Americas", "h", "3.928100"),
    ("A3 Instance Core running in Americas", "h", "0.0249000"),
    ("A3 Instance Ram running in Americas", "GiBy.h", "0.0022867"),
    ("Nvidia H100 80GB GPU running in Americas", "h", "9.796551"),
    ("TpuV5e running in Americas", "h", "1.2"),
    ("TpuV5p running in Americas", "h", "4.2"),
    ("TpuV6e running in Americas", "h", "2.7"),
    # what is listed beside them and is none of these machines
    ("N2 Custom Instance Core running in Americas", "h", "0.033174"),
    ("C3 Sole Tenancy Instance Core running in Americas", "h", "0.05"),
    ("Sole Tenancy Premium for A3 Sole Tenancy Instance Core running in Americas", "h", "0.003"),
    ("Reserved Nvidia H100 80GB Mega GPU in Americas in Calendar Mode", "h", "4.841121"),
    ("Reserved Nvidia Tesla A100 GPU in Americas", "h", "0"),
    ("Nvidia L4 Virtual Workstation GPU running in Americas", "h", "0.76004"),
    ("Commitment v1: G2 Cpu in Americas for 5 Years", "h", "0.01"),
    ("Licensing Fee for Ubuntu Pro on VM with 18 VCPU", "h", "0.06"),
)


def item(description: str, unit: str, usd: str, region: str = "us-central1") -> dict[str, Any]:
    """One SKU as it is listed."""
    made = copy.deepcopy(SAMPLE)
    whole, _, rest = f"{Decimal(usd):.9f}".partition(".")
    made["description"], made["serviceRegions"] = description, [region]
    expression = made["pricingInfo"][0]["pricingExpression"]
    expression["usageUnit"] = unit
    expression["tieredRates"][0]["unitPrice"] |= {"units": whole, "nanos": int(rest)}
    return made


def items(parts: Iterable[tuple[str, str, str]] = PARTS) -> Items:
    """The list of Compute Engine."""
    return [item(*part) for part in parts]


def serve(
    server: Server, listed: Callable[[], Items] = items, change: Callable[[Reply, int], Reply] | None = None
) -> None:
    """Answer the list of Compute Engine by page token; `change` may spoil the answer to the nth request (from 1)."""
    asked = {"count": 0}

    def answer(path: str, _: Any) -> Reply:
        asked["count"] += 1
        start = int(parse_qs(urlsplit(path).query).get("pageToken", ["0"])[0])
        rows = listed()
        body = {"skus": rows[start : start + PAGE]}
        if start + PAGE < len(rows):
            body["nextPageToken"] = str(start + PAGE)
        return change(Reply(body), asked["count"]) if change else Reply(body)

    server.answers["GET /v1/services/6F81-5844-456A/skus"] = answer
