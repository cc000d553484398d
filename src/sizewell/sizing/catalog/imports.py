"""Rates of one's own out of other files: a rates file, a table of rates, a bill, Azure's price sheet.

FOCUS is read by its specification's columns (1.0 to 1.2): `ContractedUnitPrice` by the hour of usage whose machine type
`SkuPriceDetails` or `SkuMeter` names. A Cost and Usage Report of AWS (docs.aws.amazon.com/cur: version 1 with columns
such as lineItem/UnblendedRate, version 2 with line_item_unblended_rate) has the rate of every line; the net one, after
discounts, counts where the report has it. A price sheet of a Microsoft Customer Agreement
(learn.microsoft.com/azure/cost-management-billing/dataset-schema/price-sheet-mca) has list price and own price of each
meter: what they differ by is the rate of a machine type. What is no machine-hour is counted, never guessed.

Google's price sheet, whose entries are parts of machines, is read in `clouds.prices.google_sheet`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.catalog.focus import (
    MARKETS,
    METERS,
    SHORT,
    Rows,
    block_of,
    cloud_of,
    is_linux,
    is_parquet,
    machine_of,
    plain,
    read_rows,
)
from sizewell.sizing.catalog.machine_prices import is_listed
from sizewell.sizing.catalog.rates import Discounts, Rate, SharedOut, parse_discounts
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.places import Mark, Place, read_text, read_yaml
from sizewell.sizing.providers import CLOUDS

TABLE: Final = ("cloud", "instance_type", "region", "market", "fee", "percent", "usd")
FOCUS: Final = (
    "ContractedUnitPrice",
    "PricingUnit",
    "PricingCategory",
    "ChargeCategory",
    "RegionId",
    "BillingCurrency",
)
SHEET: Final = ("MeterCategory", "MeterName", "MarketPrice", "UnitPrice", "UnitOfMeasure", "PriceType", "Currency")
CUR: Final = (
    *("line_item_line_item_type", "line_item_usage_type", "line_item_operation", "line_item_usage_start_date"),
    *("line_item_unblended_rate", "line_item_currency_code", "pricing_unit", "product_region_code"),
)
NET: Final = "line_item_net_unblended_rate"  # after discounts; only reports of accounts that have some
LINUX: Final = "RunInstances"  # the operation of a machine with Linux; others have a number behind it
NO_LINUX: Final = (
    "windows",
    "dedicated host",
    "cloud services",
)  # what a meter's product says that is no Linux machine
HOURS: Final = ("hour", "hours", "hr", "hrs", "1 hour", "instance hours")
ROUNDED: Final = Decimal("0.05")  # percent: what rounding of two prices makes of one discount


@dataclass(slots=True)
class Imported:
    """Rates of a file, and how many of its rows were none, by the reason."""

    rates: Discounts
    left_out: dict[str, int] = field(default_factory=dict)


_PACKED: Final = {
    b"\x1f\x8b": ("is compressed with gzip", "unpack it first: gunzip FILE"),
    b"PK\x03\x04": ("is a zip archive or a spreadsheet", "unpack it, or save the sheet as CSV"),
}
"""Formats in which invoices and price sheets are often packed, by their first bytes: the format, and how to unpack
it."""


def _check_packed(path: Path) -> None:
    if not path.is_file():
        return  # said by who reads it
    with path.open("rb") as file:
        start = file.read(4)
    for first, (message, fix) in _PACKED.items():
        if start.startswith(first):
            raise ConfigError([Fault(path=str(path), message=message, fix=fix.replace("FILE", path.name))])


class _Rows(csv.DictReader):  # type: ignore[type-arg]  # Python 3.11 refuses the argument
    """Rows by column name, which know where in the file each of their cells begins."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        super().__init__(lines)
        self._path = path
        self._lines = lines
        self._before = 0

    def __next__(self) -> dict[str | Any, str | Any]:
        self._before = self.line_num
        return super().__next__()

    def at(self, column: str = "") -> Mark:
        """Line and column, from 1, of a cell of the last row; column 0 for the row, and where it has several lines."""
        names = list(self.fieldnames or ())
        if column not in names or self.line_num - self._before > 1:
            return (self.line_num, 0)
        return (self.line_num, _column_of(self._lines[self.line_num - 1], names.index(column)))

    def fault(
        self, column: str = "", *, shown: str = "", message: str = "", found: str = "", allowed: str = ""
    ) -> Fault:
        """What is wrong with a cell of the last row, or with the row."""
        return Fault(
            path=shown or column,
            message=message,
            found=found,
            allowed=allowed,
            at=self.at(column),
            file=str(self._path),
        )


class _Bill:
    """Rows of a bill in Parquet, which has no places but the number of a row."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self.columns = rows, rows.columns

    def __iter__(self) -> Iterator[dict[str | Any, str | Any]]:
        for cells in self._rows:
            yield {name: cell if isinstance(cell, tuple) else plain(cell)
                   for name, cell in zip(self.columns, cells, strict=True)}  # fmt: skip

    @property
    def line_num(self) -> int:
        return self._rows.line

    def fault(
        self, column: str = "", *, shown: str = "", message: str = "", found: str = "", allowed: str = ""
    ) -> Fault:
        """What is wrong with a cell of the last row."""
        return self._rows.fault(shown or column, message=message, found=found, allowed=allowed)


_IN_DOLLARS: Final = "export it in US dollars, or delete the rows in other currencies"
_FREE: Final = re.compile(r"0*\.?0+")  # of a free tier, or by a credit: no rate


def _column_of(line: str, cell: int) -> int:
    """Where a cell of a line begins, from 1; 0 where the line has fewer.

    >>> _column_of('aws,"g6, the small one",usd', 2)
    25
    """
    quoted, passed = False, 0
    for position, character in enumerate(line, 1):
        if passed == cell:
            return position
        if character == '"':
            quoted = not quoted
        passed += character == "," and not quoted
    return len(line) + 1 if passed == cell else 0


def read_rates(path: Path, known: Collection[tuple[str, str]] | None = None) -> Imported:
    """The rates of a file, by its form. Raises ConfigError with file, line and column of what is wrong.

    Of a bill or a price sheet those machine types count that are `known` (cloud and type) or have a list price; the
    others are left out.
    """
    if path.suffix in (".yaml", ".yml"):
        document = read_yaml(path)
        return Imported(parse_discounts(document.data, str(path), document.places))
    if is_parquet(path):
        bill = _Bill(read_rows(path))
        if not set(FOCUS) <= set(bill.columns):
            missing = ", ".join(name for name in FOCUS if name not in bill.columns)
            raise ConfigError([Fault(path=str(path), message=f"is no bill in the columns of FOCUS: lacks {missing}")])
        return _of_known(_bill(bill, _focus), known)
    _check_packed(path)
    text = read_text(path).removeprefix("\ufeff")  # which spreadsheets write in front of "CSV UTF-8"
    reader = _Rows(path, text.splitlines())
    header = tuple(reader.fieldnames or ())
    separator = next((mark for mark in (";", "\t") if len(header) == 1 and mark in header[0]), "")
    if separator:
        shown = "a semicolon" if separator == ";" else "a tab"
        message = f"its columns are separated by {shown}, must be by a comma"
        fix = "write it with commas, and with points in numbers (0.08)"
        raise ConfigError([Fault(path=f"{path} line 1", message=message, fix=fix)])
    if set(FOCUS) <= set(header):
        return _of_known(_bill(reader, _focus), known)
    if set(CUR) <= set(columns := [_column(name) for name in header]):
        reader.fieldnames = columns
        return _of_known(_bill(reader, _usage), known)
    named = {name.strip().lower() for name in header}
    if {name.lower() for name in SHEET} <= named:
        return _of_known(_sheet(reader), known)
    if {"cloud", "usd"} <= set(header) <= set(TABLE) or {"cloud", "percent"} <= set(header) <= set(TABLE):
        return _table(path, reader)
    raise ConfigError(
        [
            Fault(
                path=f"{path} line 1",
                message=f"is not a rates table, bill or price sheet: {','.join(header)[:80] or 'no columns'}",
                fix=f"a table has {', '.join(TABLE)}; a FOCUS export {', '.join(FOCUS)};"
                f" an AWS report {', '.join(CUR)}; Azure's sheet {', '.join(SHEET)}",
            )
        ]
    )


def _table(path: Path, reader: _Rows) -> Imported:
    entries: list[dict[str, Any]] = []
    places: dict[str, Place] = {}
    for row in reader:
        line = reader.at()
        places[f"rates[{len(entries)}]"] = Place(line, line, scalar=False)
        if None in row or None in row.values():
            raise ConfigError([reader.fault(message="has fewer or more cells than columns")])
        for key in row:
            places[f"rates[{len(entries)}].{key}"] = Place(reader.at(key), reader.at(key), scalar=True)
        entries.append({key: value for key, value in row.items() if value})
    return Imported(parse_discounts({"rates": entries}, str(path), places))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Charge:
    """A line of a bill that is a machine-hour; the texts are as they stand in the columns named."""

    cloud: str
    machine: str
    region: str
    market: str
    period: str
    usd: str
    usd_column: str
    currency: str
    currency_column: str
    block: Decimal = Decimal(1)  # hours that the price is of

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.cloud, self.machine, self.region, self.market)


def _focus(row: Mapping[str, str]) -> _Charge | str:
    """What a line of a FOCUS export is, or why it is left out."""
    reason = _left_out(row)
    if reason:
        return reason
    return _Charge(
        cloud=cloud_of(row),
        machine=machine_of(row),
        region=row["RegionId"],
        market=MARKETS[row["PricingCategory"].lower()],
        period=row.get("ChargePeriodStart") or "",
        usd=row["ContractedUnitPrice"],
        usd_column="ContractedUnitPrice",
        currency=row.get("PricingCurrency") or row["BillingCurrency"],
        currency_column="BillingCurrency",
        block=block_of(row)[1],
    )


def _usage(row: Mapping[str, str]) -> _Charge | str:
    """What a line of AWS's Cost and Usage Report is, or why it is left out."""
    usage = row["line_item_usage_type"]
    meter = next((start for start in METERS if start in usage), "")
    if row["line_item_line_item_type"] != "Usage":
        return "no on-demand usage"
    if not meter:
        return "no machine type named"
    if row["pricing_unit"].strip().lower() not in HOURS:
        return "not billed by the hour"
    market = "spot" if meter.startswith("Spot") else "on-demand"
    if market == "on-demand" and row["line_item_operation"] != LINUX:
        return "an operating system other than Linux"
    column = NET if row.get(NET) else "line_item_unblended_rate"
    if _FREE.fullmatch(row[column]):
        return "free of charge"
    return _Charge(
        cloud=CLOUDS.aws.name,
        machine=usage.partition(meter)[2],
        region=row["product_region_code"],
        market=market,
        period=row["line_item_usage_start_date"],
        usd=row[column],
        usd_column=column,
        currency=row["line_item_currency_code"],
        currency_column="line_item_currency_code",
    )


def _column(name: str) -> str:
    """A column of a report of version 1 by its name in version 2.

    >>> _column("lineItem/NetUnblendedRate")
    'line_item_net_unblended_rate'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip().replace("/", "_")).lower()


def _bill(reader: _Rows | _Bill, charge_of: Callable[[Mapping[str, str]], _Charge | str]) -> Imported:
    """The price of every machine-hour of a bill, the newest period's where it changed."""
    latest: dict[tuple[str, str, str, str], tuple[str, Decimal, int]] = {}
    faults: list[Fault] = []
    imported = Imported(Discounts())
    for row in reader:
        if None in row or None in row.values():
            faults.append(reader.fault(message=SHORT))
            break
        charge = charge_of(row)
        if isinstance(charge, str):
            imported.left_out[charge] = imported.left_out.get(charge, 0) + 1
            continue
        if charge.currency != "USD":
            fault = reader.fault(charge.currency_column, found=charge.currency, allowed="USD")
            faults.append(replace(fault, fix=_IN_DOLLARS))
            break
        try:
            usd = Decimal(charge.usd) / charge.block
        except InvalidOperation:
            usd = Decimal(-1)
        if not usd.is_finite() or usd <= 0:
            faults.append(reader.fault(charge.usd_column, found=charge.usd, allowed="more than 0"))
            continue
        before = latest.get(charge.key)
        if before is not None and before[0] == charge.period and before[1] != usd and charge.market != "spot":
            message = f"contradicts line {before[2]}: two prices for {' '.join(charge.key)} in one period"
            faults.append(reader.fault(charge.usd_column, message=message))
        if before is None or charge.period >= before[0]:
            latest[charge.key] = (charge.period, usd, reader.line_num)
    if faults:
        raise ConfigError(faults)
    rates = tuple(
        Rate(cloud=cloud, instance_type=machine, region=region, market=market, usd=usd)
        for (cloud, machine, region, market), (_, usd, _) in sorted(latest.items())
        if market != "spot"
    )
    imported.rates = Discounts(rates)
    if spot := sum(key[3] == "spot" for key in latest):
        imported.left_out["spot, whose price changes"] = spot
    return imported


def _of_known(imported: Imported, known: Collection[tuple[str, str]] | None) -> Imported:
    if known is None:
        return imported
    rates = tuple(
        rate
        for rate in imported.rates.rates
        if (rate.cloud, rate.instance_type) in known or is_listed(rate.cloud, rate.instance_type)
    )
    if len(rates) < len(imported.rates.rates):
        imported.left_out["machine types that the catalog does not have"] = len(imported.rates.rates) - len(rates)
    imported.rates = replace(imported.rates, rates=rates)
    return imported


def _sheet(reader: _Rows) -> Imported:
    """Percent off the list by machine type, where it is the same in every region of the sheet."""
    reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
    category, meter, market, unit_price, unit, kind, currency = (name.lower() for name in SHEET)
    percents: dict[str, set[Decimal]] = {}
    faults: list[Fault] = []
    imported = Imported(Discounts())
    for row in reader:
        if None in row or None in row.values():
            faults.append(reader.fault(message=SHORT))
            break
        product = f"{row.get('product', '')} {row.get('metersubcategory', '')}".lower()
        name = row[meter].strip()
        reason = ""
        if row[category] != "Virtual Machines" or not name:
            reason = "not a virtual machine"
        elif row[kind] != "Consumption":
            reason = "no pay-as-you-go price"
        elif block_of({"PricingUnit": row[unit]})[0] != "hour":  # both prices are of one block: the percent is theirs
            reason = "not billed by the hour"
        elif any(word in product for word in NO_LINUX) or name.endswith((" Spot", " Low Priority")):
            reason = "an operating system other than Linux, or spot"
        elif _FREE.fullmatch(row[unit_price]):
            reason = "free of charge"
        if reason:
            imported.left_out[reason] = imported.left_out.get(reason, 0) + 1
            continue
        if row[currency] != "USD":
            fault = reader.fault(currency, shown="Currency", found=row[currency], allowed="USD")
            faults.append(replace(fault, fix=_IN_DOLLARS))
            break
        try:
            listed, own = Decimal(row[market]), Decimal(row[unit_price])
        except InvalidOperation:
            listed = own = Decimal(-1)
        if not listed.is_finite() or not own.is_finite() or not 0 < own <= listed:
            allowed = "more than 0 and not above MarketPrice"
            faults.append(reader.fault(unit_price, shown="UnitPrice", found=row[unit_price], allowed=allowed))
            continue
        for each in name.split("/"):
            percent = ((1 - own / listed) * 100).quantize(Decimal("0.01"))
            percents.setdefault("Standard_" + each.strip().replace(" ", "_"), set()).add(percent)
    if faults:
        raise ConfigError(faults)
    differing = sum(max(discounts) - min(discounts) > ROUNDED for discounts in percents.values())
    if differing:
        imported.left_out["machine types whose discount differs by region"] = differing
    imported.rates = Discounts(
        tuple(
            Rate(
                cloud=CLOUDS.azure.name,
                instance_type=name,
                market="on-demand",
                percent=min(discounts).normalize() + Decimal(0),
            )
            for name, discounts in sorted(percents.items())
            if max(discounts) - min(discounts) <= ROUNDED and min(discounts) > 0
        )
    )
    return imported


def _left_out(row: Mapping[str, str]) -> str:
    if row["ChargeCategory"] != "Usage":
        return "no usage"
    if block_of(row)[0] != "hour":
        return "not billed by the hour"
    if not cloud_of(row):
        return "by another provider"
    if row["PricingCategory"].lower() not in MARKETS:
        return "committed or of another category"
    if not machine_of(row):
        return "no machine type named"
    if _FREE.fullmatch(row["ContractedUnitPrice"]):
        return "free of charge"
    return "" if is_linux(row) else "an operating system other than Linux"


def as_yaml(rates: Discounts, origin: str) -> str:
    """A rates file, in the order in which the rates count."""
    lines = [f"# imported from {origin}", "rates:"] if rates.rates else [f"# imported from {origin}"]
    lines += [f"  - {{{', '.join(_pairs(rate))}}}" for rate in rates.rates]
    if rates.commitments:
        lines.append("commitments:")
    for held in rates.commitments:
        pairs = (
            *(f"{key}: {_quoted(text)}" for key in ("cloud", "instance_type", "fee", "region")
              if (text := getattr(held, key))),
            f"count: {held.count}",
            f"usd_per_hour: {held.usd_per_hour:f}",
            *(("flexible: true",) if held.flexible else ()),
            *((f"sizes: {{{', '.join(f'{json.dumps(name)}: {each:f}' for name, each in held.sizes)}}}",)
              if held.sizes else ()),
            *_terms_of(held),
        )  # fmt: skip
        lines.append(f"  - {{{', '.join(pairs)}}}")
    if rates.resource_commitments:
        lines.append("resource_commitments:")
    for each in rates.resource_commitments:
        keys = (*_OF_RESOURCES, *(("gpus", "usd_per_gpu_hour") if each.gpus else ()))
        amounts = (f"{key}: {getattr(each, key):f}" for key in keys)
        pairs = (f"cloud: {_quoted(each.cloud)}", f"region: {_quoted(each.region)}",
                 f"machines: {json.dumps(list(each.machines))}", *amounts, *_terms_of(each))  # fmt: skip
        lines.append(f"  - {{{', '.join(pairs)}}}")
    if rates.savings_plans:
        lines.append("savings_plans:")
    for plan in rates.savings_plans:
        terms = ", ".join(f"{json.dumps(pattern)}: {off:f}" for pattern, off in plan.percents)
        where = f"cloud: {_quoted(plan.cloud)}, " + (f"region: {_quoted(plan.region)}, " if plan.region else "")
        spend = ", ".join((f"usd_per_hour: {plan.usd_per_hour:f}", *_terms_of(plan)))
        lines.append(f"  - {{{where}percent: {{{terms}}}, {spend}}}")
    if rates.billing_accounts:
        lines.append("billing_accounts:")
    for account in rates.billing_accounts:
        stated = [(key, getattr(account, key)) for key in ("cloud", "id", "name") if getattr(account, key)]
        lines.append(f"  - {{{', '.join(f'{key}: {json.dumps(value)}' for key, value in stated)}}}")
    return "\n".join(lines) + "\n"


_OF_RESOURCES: Final = ("vcpus", "memory_gb", "usd_per_vcpu_hour", "usd_per_gb_hour")


def _terms_of(held: SharedOut) -> tuple[str, ...]:
    since = () if held.since == date.min else (f"from: {held.since.isoformat()}",)
    return (*since, f"until: {held.until.isoformat()}")


def _pairs(rate: Rate) -> Iterable[str]:
    for key in ("cloud", "instance_type", "region", "market", "fee"):
        if value := getattr(rate, key):
            yield f"{key}: {_quoted(value)}"
    for key, amount in (("percent", rate.percent), ("usd", rate.usd)):
        if amount is not None:
            yield f"{key}: {amount:f}"


def _quoted(text: str) -> str:
    return (
        json.dumps(text)
        if text == "*" or not text.replace("-", "").replace(".", "").replace("_", "").isalnum()
        else text
    )
