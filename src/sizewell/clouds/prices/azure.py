"""Azure's retail prices: one question for each region, all pages of it.

The format is that of learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.connections import http_client
from sizewell.clouds.prices.fee_meter import Meter
from sizewell.clouds.prices.meters import AZURE
from sizewell.clouds.prices.price_list import FEES, ON_DEMAND, Begun, PriceList, Question, Row, Scope
from sizewell.clouds.rest import Reader, base_url
from sizewell.sizing.catalog.catalog import EVERYWHERE
from sizewell.sizing.catalog.refresh import Listed, Place
from sizewell.sizing.catalog.refresh_fees import ListedFee

VERSION: Final = "2023-01-01-preview"  # the first with savings plans
SOURCE: Final = "Azure Retail Prices API"
TERMS: Final = {"1 Year": "reserved-1y", "3 Years": "reserved-3y"}
GLOBAL: Final = ("Global", "")  # how the region of meters is written that have one price
_NO_LINUX_MACHINE: Final = re.compile(r"Windows|\bWin\b|Dedicated|Cloud ?Services")
"""Products beside Linux machines in a list of virtual machines, as a dump of five regions of August 2026 names them
(andy-diericks/azure-pricing-radar@cf741f2): "NCCadsv5 Srs Win" is Windows too.
"""
UNPROVEN: Final = "list; a listed price does not prove that the region can deploy it"


def reader(deadline: Deadline, timeouts: Timeouts | None = None) -> Reader:
    """The price list, which asks for no login; `AZURE_ENDPOINT_URL_PRICES` is another address of it."""
    return Reader(
        service="azure prices",
        base=base_url("azure", "prices", "https://prices.azure.com"),
        deadline=deadline,
        timeouts=timeouts or Timeouts(),
        http=http_client(connections=4),
    )


def machines(prices: Reader, region: str) -> Iterator[Listed]:
    """Linux machines of a region: on demand, spot, and savings plans of one and three years. CloudError otherwise."""
    wanted = (
        "serviceName eq 'Virtual Machines'",
        "priceType eq 'Consumption'",
        f"armRegionName eq '{region}'",
        "contains(productName, 'Windows') eq false",
    )
    yield from _asked(prices, wanted)


def sold(prices: Reader) -> Iterator[Listed]:
    """Linux machines with accelerators (names in N) on demand in all regions: where which of them are sold."""
    wanted = (
        "serviceName eq 'Virtual Machines'",
        "priceType eq 'Consumption'",
        "contains(armSkuName, 'Standard_N')",
        "contains(productName, 'Windows') eq false",
        "contains(skuName, 'Spot') eq false",
        "contains(skuName, 'Low Priority') eq false",
    )
    for row in _asked(prices, wanted):
        if row.market == "on-demand":
            yield replace(row, accelerated=True)


def _asked(prices: Reader, wanted: Sequence[str]) -> Iterator[Listed]:
    """The machines of all pages that meet every condition. CloudError where one does not come."""
    parameters = {
        "api-version": VERSION,
        "currencyCode": "'USD'",
        "meterRegion": "'primary'",
        "$filter": " and ".join(wanted),
    }
    for item in prices.pages("api/retail/prices", items="Items", link="NextPageLink", **parameters):
        yield from _rows(item)


def fees(prices: Reader, region: str, meters: Sequence[Meter] = AZURE) -> Iterator[ListedFee]:
    """What stands beside machines in a region, and what is listed for all regions ("Global"); a question for each
    product, or for a service whose products are told apart here.
    """
    asked: dict[tuple[str, str], list[Meter]] = {}
    for meter in meters:
        asked.setdefault((meter.service, meter.family), []).append(meter)
    places = " or ".join(f"armRegionName eq '{place}'" for place in (region, *GLOBAL))
    for (service, product), group in asked.items():
        wanted = (
            f"serviceName eq '{service}'",
            *((f"productName eq '{product}'",) if product else ()),
            "priceType eq 'Consumption'",
            f"({places})",
        )
        parameters = {"api-version": VERSION, "currencyCode": "'USD'", "$filter": " and ".join(wanted)}
        for item in prices.pages("api/retail/prices", items="Items", link="NextPageLink", **parameters):
            place = str(item.get("armRegionName") or "")
            if item.get("type") != "Consumption" or place not in (region, *GLOBAL):
                continue
            for meter in group:
                named = _named(meter, item)
                if named is not None:
                    yield from _fee(meter, item, EVERYWHERE if place in GLOBAL else region, named)


def _named(meter: Meter, item: dict[str, object]) -> dict[str, str] | None:
    """What the names of an item fill into the key of its fee; None where it is another one."""
    named: dict[str, str] = {}
    for pattern, field in ((meter.product, "productName"), (meter.sku, "skuName"), (meter.name, "meterName")):
        said = re.fullmatch(pattern or ".*", str(item.get(field) or ""))
        if said is None:
            return None
        named |= said.groupdict()
    return named if meter.product or item.get("productName") == meter.family else None


def _fee(meter: Meter, item: dict[str, Any], region: str, named: dict[str, str]) -> Iterator[ListedFee]:
    yield from meter.tier(
        cloud="azure",
        named=named,
        region=region,
        start=str(item.get("tierMinimumUnits") or 0).removesuffix(".0"),
        usd=str(item.get("retailPrice")),
        currency=str(item.get("currencyCode") or ""),
        unit=str(item.get("unitOfMeasure") or ""),
        since=str(item.get("effectiveStartDate") or "")[:10],
        source=f"{SOURCE}, {item.get('productName')}, {item.get('meterName')}",
    )


def _rows(item: dict[str, Any]) -> Iterator[Listed]:
    name, sku = str(item.get("armSkuName") or ""), str(item.get("skuName") or "")
    product = str(item.get("productName") or "")
    if not name or "Low Priority" in sku or _NO_LINUX_MACHINE.search(product):
        return
    if item.get("type") != "Consumption" or item.get("tierMinimumUnits"):
        return
    if "retailPrice" not in item or "currencyCode" not in item:
        raise CloudError("azure prices", "unanswered", f"an item without price or currency: {sku or name}")
    common: dict[str, Any] = {
        "cloud": "azure",
        "instance_type": name,
        "region": str(item.get("armRegionName") or ""),
        "currency": str(item["currencyCode"]),
        "unit": str(item.get("unitOfMeasure") or ""),
        "since": str(item.get("effectiveStartDate") or "")[:10],
        "source": SOURCE,
    }
    spot = sku.endswith(" Spot")
    basis = "list" if spot else UNPROVEN
    yield Listed(market="spot" if spot else "on-demand", usd=str(item["retailPrice"]), basis=basis, **common)
    for plan in item.get("savingsPlan") or ():
        market = TERMS.get(str(plan.get("term")))
        if market and not spot:
            yield Listed(market=market, usd=str(plan.get("retailPrice")), basis="list; savings plan", **common)


def _begin(scope: Scope) -> Begun:
    return Begun(places=lambda region: _places(region, scope), sold=lambda: sold(reader(scope.deadline)))


def _places(region: str, scope: Scope) -> dict[Place, Question]:
    """One list has all markets of a region: it is read once, and each market takes its rows."""
    prices = reader(scope.deadline)
    lock = threading.Lock()
    read: list[list[Listed]] = []

    def rows(market: str) -> Question:
        def take() -> Iterator[Row]:
            if market == FEES:
                return fees(prices, region)
            with lock:
                if not read:
                    read.append(list(machines(prices, region)))
            return (row for row in read[0] if row.market == market)

        return take

    return {
        Place(cloud="azure", market=market, region=region, whole=market == ON_DEMAND): rows(market)
        for market in scope.markets(capacity=())
    }


PRICES: Final = PriceList(begin=_begin, not_enabled=())
