"""Google Cloud's price sheet of an account: the pricing export of Cloud Billing, one JSON object for each SKU.

The fields are those of docs.cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/pricing-data (table
cloud_pricing_export), as `bq extract --destination_format=NEWLINE_DELIMITED_JSON` and `bq query --format=json` write
them. A contract prices parts (a core, a gibibyte, a GPU), and a machine is their sum, as in the list:
`clouds.prices.gcp`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from sizewell.clouds.prices import gcp
from sizewell.sizing.catalog import Catalog
from sizewell.sizing.catalog.imports import Imported
from sizewell.sizing.catalog.machine_prices import listed_in, vcpus_by_name
from sizewell.sizing.catalog.rates import Discounts, Rate
from sizewell.sizing.errors import ConfigError, Fault

MARKETS: Final = ("on-demand", "flex-start", "reserved-1y", "reserved-3y")  # spot moves, and is not contracted
_LISTED: Final = "list_price"
_OWN: Final = "billing_account_price"
_STEP: Final = Decimal("0.05")  # of memory for each vCPU: Google sells 0.9, 1, 2, 3.75, 4, 6.5 and 8 GiB
_ROUNDED: Final = Decimal("0.00001")  # of a price: what rounding to a millionth makes of it
_FIELDS: Final = ("sku", "pricing_unit", _LISTED)


def read_sheet(path: Path, catalog: Catalog, on: date) -> Imported:
    """What the account pays for the machines of each region, where it is not the list price. ConfigError otherwise."""
    rows = list(_rows(path))
    if not rows:
        raise ConfigError([Fault(path=str(path), message="has no prices", fix=_how())])
    imported = Imported(Discounts())
    newest = max(str(row.get("pricing_as_of_time") or row.get("export_time") or "")[:10] for _, row in rows)
    listed, own, contracted = [], [], 0
    for place, row in rows:
        if str(row.get("pricing_as_of_time") or row.get("export_time") or "")[:10] != newest:
            _left_out(imported, "of an earlier day")
            continue
        description = str(row["sku"].get("description") or "")
        if gcp.part_of(description) is None:
            _left_out(imported, "not a part of a machine")
            continue
        contract = row.get(_OWN) or None
        contracted += contract is not None
        listed.append(_item(place, row, row[_LISTED]))
        own.append(_item(place, row, contract or row[_LISTED]))
    if not contracted:
        raise ConfigError([Fault(path=str(path), message=f"has no {_OWN}: the account pays list prices")])
    by_list, by_contract = gcp.parts(listed, on), gcp.parts(own, on)
    rates: list[Rate] = []
    for region in sorted(region for cloud, region in catalog.region_facts if cloud == gcp.CLOUD):
        every = gcp.sold_in(catalog, region)
        usual = {(each.instance_type, each.market): each.usd for each in gcp.machines(by_list, every, region)}
        contracts: dict[tuple[str, str], set[str]] = {}
        for each in gcp.machines(by_contract, every, region):
            if each.market in MARKETS and each.usd and each.unit == "hour":
                contracts.setdefault((each.instance_type, each.market), set()).add(each.usd)
        for (name, market), prices in sorted(contracts.items()):
            if len(prices) > 1:
                _left_out(imported, "machines with two prices for one part")
            elif (usd := min(prices)) != usual.get((name, market)):
                rates.append(Rate(cloud=gcp.CLOUD, instance_type=name, region=region, market=market, usd=Decimal(usd)))
        known = {each.instance_type for each in every}
        for name, contracted_usd in _by_list_price(by_list, by_contract, region):
            if name in known:
                continue
            if contracted_usd is None:
                _left_out(
                    imported, "machine types whose memory does not follow from the list: they keep the list price"
                )
            else:
                rates.append(
                    Rate(cloud=gcp.CLOUD, instance_type=name, region=region, market="on-demand", usd=contracted_usd)
                )
    imported.rates = Discounts(tuple(rates))
    return imported


def _by_list_price(listed: gcp.Parts, own: gcp.Parts, region: str) -> Iterator[tuple[str, Decimal | None]]:
    """What the other machines of a region cost by contract, which no row of the catalog describes: their list price is
    so many cores and so much memory at the prices of the list, and the same at the account's. None where it is not.
    """
    for name, markets in listed_in(gcp.CLOUD, region).items():
        keys = [(kind, name.partition("-")[0]) for kind in ("core", "ram")]
        prices = [_usd(parts, (key, "on-demand", region)) for parts in (listed, own) for key in keys]
        stated = [price for price in prices if price is not None]
        if len(stated) < len(prices) or stated[:2] == stated[2:] or "on-demand" not in markets:
            continue
        core, ram, own_core, own_ram = stated
        vcpus = vcpus_by_name(name)
        if vcpus is None or not ram:
            yield name, None
            continue
        each = ((markets["on-demand"] / vcpus - core) / ram / _STEP).quantize(Decimal(1)) * _STEP  # GiB for each vCPU
        whole = vcpus * (core + each * ram)
        fits = each > 0 and abs(whole - markets["on-demand"]) <= markets["on-demand"] * _ROUNDED
        yield name, (vcpus * (own_core + each * own_ram)).quantize(Decimal("1e-6")) if fits else None


def _usd(parts: gcp.Parts, key: tuple[gcp.Kind, str, str]) -> Decimal | None:
    """The one price in US dollars of a part; None where the list has none, or several."""
    prices = parts.get(key, [])
    return prices[0].usd if len(prices) == 1 and prices[0].currency == "USD" else None


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    text = path.read_text(encoding="utf-8")
    whole = text.lstrip().startswith("[")
    try:
        rows = enumerate(json.loads(text), 1) if whole else ()
    except ValueError as error:
        raise ConfigError([Fault(path=str(path), message=f"is not JSON, or truncated: {error}", fix=_how())]) from None
    for number, row in rows or _lines(path, text):
        place = f"{path} {'entry' if whole else 'line'} {number}"
        if not isinstance(row, dict) or not all(isinstance(row.get(name), dict | str) for name in _FIELDS):
            raise ConfigError([Fault(path=place, message=f"has not {', '.join(_FIELDS)}", fix=_how())])
        yield place, row


def _lines(path: Path, text: str) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                message = f"is not JSON, or truncated: {error}"
                raise ConfigError([Fault(path=f"{path} line {number}", message=message, fix=_how())]) from None


def _item(place: str, row: Mapping[str, Any], price: Mapping[str, Any]) -> dict[str, Any]:
    """The SKU as the catalog's own interface would list it, at this price."""
    rates = []
    for tier in price.get("tiered_rates") or ():
        try:
            usd, quantity = Decimal(str(tier["usd_amount"])), Decimal(str(tier.get("pricing_unit_quantity") or 1))
        except (KeyError, InvalidOperation):
            usd = quantity = Decimal(-1)
        if not usd.is_finite() or not quantity.is_finite() or usd < 0 or quantity <= 0:
            stated = tier.get("usd_amount")
            raise ConfigError([Fault(path=f"{place}: usd_amount", found=stated, allowed="0 or more US dollars")])
        whole, part = divmod((usd / quantity).quantize(Decimal("1e-9")), 1)
        money = {"currencyCode": "USD", "units": str(int(whole)), "nanos": int(part.scaleb(9))}
        rates.append({"startUsageAmount": tier.get("start_usage_amount") or 0, "unitPrice": money})
    expression = {"usageUnit": row["pricing_unit"], "tieredRates": rates}
    return {
        "description": row["sku"].get("description"),
        "skuId": row["sku"].get("id"),
        "serviceRegions": (row.get("geo_taxonomy") or {}).get("regions") or ["global"],
        "pricingInfo": [{"pricingExpression": expression}],
    }


def _left_out(imported: Imported, reason: str) -> None:
    imported.left_out[reason] = imported.left_out.get(reason, 0) + 1


def _how() -> str:
    return "export the table cloud_pricing_export: bq extract --destination_format=NEWLINE_DELIMITED_JSON"
