"""How a seller lists a fee, and what the catalog makes of a listed price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sizewell.sizing.catalog.refresh import HOURLY
from sizewell.sizing.catalog.refresh_fees import ListedFee


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """How a seller lists one fee of the catalog, or many; a row of meters_<cloud>.csv.

    A key such as "rds.mysql.single_az.{instanceType}" stands for many: it is filled with what the list says of each.
    """

    key: str
    service: str
    family: str = ""  # AWS: product family; Azure: product, or any of the service where `product` tells them apart
    name: str  # a regular expression for the whole name
    product: str = ""  # Azure: a regular expression for the whole product, its named groups go into the key
    sku: str = ""  # Azure: the same for the SKU
    unit: str  # as the seller writes it; of an hour, any of the ways in which an hour is written
    per: str = "1"  # times the listed price: the price of the catalog's unit
    title: str = ""  # name and unit of a fee that the catalog has no row of yet
    catalog_unit: str = ""
    free_below: int = 0  # quantity that costs nothing and that the catalog has a tier for
    free_allowance: int = 0  # quantity that costs nothing for an account and that the catalog leaves out
    place: str = "regionCode"  # AWS: the attribute that names the region
    attributes: tuple[tuple[str, str], ...] = ()  # AWS: further attributes that a product must have
    machine: str = ""  # AWS: filled as the key is: the price is that of a machine-hour with a service's premium on it
    asked: tuple[tuple[str, str], ...] = ()  # AWS: attributes that are part of the question, where a family is large
    source: str  # where the name was seen: a key of data/sources.csv

    def tier(
        self,
        *,
        cloud: str,
        region: str,
        start: str,
        usd: str,
        currency: str,
        unit: str,
        since: str,
        source: str,
        named: Mapping[str, str] | None = None,
    ) -> Iterator[ListedFee]:
        """What the catalog makes of one listed price from a quantity on: text as it was sent, unchecked.

        `named` fills the key and the title. Raises KeyError where it lacks what they name.
        """
        if self.free_allowance and start == "0" and _nothing(usd):
            return  # for the account's first ones
        bound = "0" if self.free_allowance and start == str(self.free_allowance) else start
        hours = self.unit.lower() in HOURLY and unit.strip().lower() in HOURLY
        common: dict[str, str] = {
            "cloud": cloud,
            "key": self.key.format_map({name: value.lower() for name, value in (named or {}).items()}),
            "name": self.title.format_map(named or {}),
            "region": region,
            "currency": currency,
            "unit": unit,
            "meter_unit": unit if hours else self.unit,
            "since": since,
            "source": source,
            "catalog_unit": self.catalog_unit,
            "per": self.per,
            "machine": self.machine.format_map(named or {}),
        }
        if self.free_below and bound == "0":
            yield ListedFee(from_quantity="0", usd="0", **common)
            bound = str(self.free_below)
        yield ListedFee(from_quantity=bound, usd=usd, **common)


def _nothing(usd: str) -> bool:
    try:
        return Decimal(usd) == 0
    except InvalidOperation:
        return False
