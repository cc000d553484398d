"""A bill of any size as the charges that a comparison needs: rows that differ in time alone are one, to the last digit.

Rows that are equal in every column are counted once, and how much that leaves out is known: a delivery that stands
twice in a file, or in two files, is no second bill. Costs are those of `EffectiveCost`, in which what is paid upfront
for a commitment is spread over the hours that it covers; `BilledCost` is what the invoice has.

A row in another currency is read at the dollars that the seller states beside it (x_EffectiveCostInUsd); one without
stays in its currency, apart from the charges: nothing is converted here, and no sum has two currencies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.catalog.focus import (
    MARKETS,
    Rows,
    any_machine_of,
    block_of,
    cloud_of,
    is_linux,
    own_tags,
    pairs_of,
    plain,
    read_rows,
)
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.money import ESTIMATE, LATER_PRICE

NEEDED: Final = (
    *("BillingPeriodStart", "BillingPeriodEnd", "BillingCurrency", "ChargeCategory", "ProviderName", "ServiceName"),
    *("PricingCategory", "PricingUnit", "PricingQuantity", "BilledCost", "EffectiveCost", "Tags"),
)
_ALSO: Final = (
    *("ChargeClass", "RegionId", "SkuMeter", "SkuPriceDetails", "CommitmentDiscountStatus", "ServiceProviderName"),
    *("CapacityReservationStatus", "ContractedUnitPrice", "ChargeFrequency", "x_UsageType", "x_InstanceType"),
    *("x_SkuDetails", "x_SkuMeterSubcategory", "x_PricingBlockSize", "x_Operation"),
)
_OF_ESTIMATES: Final = (
    *("ChargeDescription", "x_Stack", "x_Component", "x_Urn", "x_Unpriced", "CommitmentDiscountType"),
    "x_Confidence",
)
_AMOUNTS: Final = ("PricingQuantity", "EffectiveCost", "BilledCost")
_APART: Final = {"credit": "credit", "tax": "tax", "adjustment": "adjustment"}
CLUSTER_TAGS: Final = ("aws:eks:cluster-name", "eks:cluster-name", "goog-k8s-cluster-name", "aks-managed-cluster-name")
USD: Final = "USD"
AGAIN: Final = "export the bill again"
_IN_USD: Final = ("x_EffectiveCostInUsd", "x_BilledCostInUsd")  # Microsoft's, beside costs in the currency billed in
COMMITTED: Final = "committed"  # the market of what a commitment covers
ZERO: Final = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Rows of a month that differ in time alone, or a line of an estimate."""

    month: str  # of the billing period, "2026-10"
    ends: str  # of that period, the first day after it
    category: str  # usage, credit, tax, adjustment or correction
    cloud: str
    service: str
    region: str
    machine: str
    market: str  # of a machine
    unit: str
    meter: str  # as the seller names it; "" where it does not
    unused: bool  # of a commitment or a reservation
    once: bool
    linux: bool
    quantity: Decimal
    usd: Decimal  # effective
    billed_usd: Decimal
    usd_per_unit: Decimal | None  # as contracted
    tags: Mapping[str, str]  # Sizewell's own
    cluster: str  # that the seller says it is of
    rows: int
    last: str  # the newest beginning of a charge
    currency: str = USD  # of what is called `usd` here; another one only in `Bill.foreign`
    what: str = ""  # of an estimate, as all below
    stack: str = ""
    component: str = ""
    urn: str = ""
    unpriced: str = ""
    own_commitment: bool = False
    later_price: bool = False  # no price of its month is known


@dataclass(slots=True, kw_only=True)
class Bill:
    """Charges of one or more files; `until` is the last moment that a row of each month is of."""

    files: tuple[str, ...]
    charges: list[Charge] = field(default_factory=list)
    rows: int = 0
    until: dict[str, str] = field(default_factory=dict)
    twice_rows: int = 0
    twice_usd: Decimal = ZERO
    foreign: list[Charge] = field(default_factory=list)  # in other currencies, without a cost in dollars
    in_usd: dict[str, int] = field(default_factory=dict)  # currency -> rows that were read at the dollars they state


def read_bill(paths: Iterable[Path]) -> Bill:
    """What some files bill. ConfigError with file and line of what is wrong."""
    paths = tuple(paths)
    bill = Bill(files=tuple(path.name for path in paths))
    seen: set[int] = set()
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for path in paths:
        rows = read_rows(path)
        names = _named(rows, path)
        _add(rows, names, groups, bill, seen)
        for charge in _charges(groups, names, path):
            (bill.charges if charge.currency == USD else bill.foreign).append(charge)
        groups.clear()
    if not bill.rows:
        raise ConfigError([Fault(path=", ".join(map(str, paths)), message="has no rows", fix="export the bill again")])
    return bill


def estimated(rows: Iterable[Mapping[str, str]]) -> list[Charge]:
    """The lines of an estimate, in the columns that `preview --format focus` writes."""
    names = (*NEEDED, *_ALSO, *_OF_ESTIMATES)
    amounts = dict.fromkeys(_AMOUNTS, 0)
    groups: dict[tuple[Any, ...], list[Any]] = {}
    keys = tuple(name for name in names if name not in amounts)
    for number, row in enumerate(rows):
        quantity, usd, billed = (Decimal(row[name] or 0) for name in _AMOUNTS)
        key = (*(row.get(name, "") for name in keys), number)
        groups[key] = [1, quantity, usd, billed, row.get("ChargePeriodStart", ""), number + 2]
    return list(_charges(groups, (*keys, ""), Path(ESTIMATE)))


def _named(rows: Rows, path: Path) -> tuple[str, ...]:
    """The columns that tell charges apart, of those that the file has."""
    missing = [name for name in NEEDED if name not in rows.columns]
    if "ServiceProviderName" in rows.columns and "ProviderName" in missing:  # as FOCUS calls it from 1.3 on
        missing.remove("ProviderName")
    if missing:
        few = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
        message = f"is no bill in the columns of FOCUS 1.0 to 1.2: it lacks {few}"
        fix = "export FOCUS from the cloud's billing console, with all columns"
        if len(rows.columns) == 1:
            fix = "separate its columns by commas; " + fix
        raise ConfigError([Fault(path=str(path), message=message, fix=fix)])
    return tuple(name for name in (*NEEDED, *_ALSO) if name in rows.columns and name not in _AMOUNTS)


def _add(
    rows: Rows, names: tuple[str, ...], groups: dict[tuple[Any, ...], list[Any]], bill: Bill, seen: set[int]
) -> None:
    # Five million rows come through here: what is done for each is looked up once before, and done in place.
    place = {name: number for number, name in enumerate(rows.columns)}
    key_of = itemgetter(*(place[name] for name in names))
    quantity_at, usd_at, billed_at = (place[name] for name in _AMOUNTS)
    month_at, period_at = place["BillingPeriodStart"], place["BillingPeriodEnd"]
    begin_at, end_at = place.get("ChargePeriodStart", month_at), place.get("ChargePeriodEnd", period_at)
    until = bill.until
    currency_at = place["BillingCurrency"]
    for row in rows:
        digest = hash(tuple(row))
        if row[currency_at] != USD:
            row = _in_usd(rows, row, place, bill, again=digest in seen)  # noqa: PLW2901
        try:
            quantity, usd, billed = Decimal(row[quantity_at]), Decimal(row[usd_at]), Decimal(row[billed_at])
        except InvalidOperation:
            quantity, usd, billed = _amounts(rows, row, (quantity_at, usd_at, billed_at))
        bill.rows += 1
        if digest in seen:
            bill.twice_rows += 1
            bill.twice_usd += usd if row[currency_at] == USD else ZERO
            continue
        seen.add(digest)
        key = key_of(row)
        group = groups.get(key)
        if group is None:
            groups[key] = [1, quantity, usd, billed, row[begin_at], rows.line]
        else:
            group[0] += 1
            group[1] += quantity
            group[2] += usd
            group[3] += billed
            group[4] = max(group[4], row[begin_at])
        month = row[month_at]
        if row[end_at] > until.get(month, ""):
            until[month] = row[end_at]


def _in_usd(rows: Rows, row: Any, place: Mapping[str, int], bill: Bill, *, again: bool) -> Any:
    """A row in another currency at the dollars that it states; as it is where it states none."""
    stated = [plain(row[place[name]]) if name in place else "" for name in _IN_USD]
    currency = plain(row[place["BillingCurrency"]])
    if not currency:
        raise ConfigError([rows.fault("BillingCurrency", message="is empty", fix="export the bill with its currency")])
    if not any(stated):
        return row
    if not again:
        bill.in_usd[currency] = bill.in_usd.get(currency, 0) + 1
    dollars = {"EffectiveCost": stated[0] or stated[1], "BilledCost": stated[1] or stated[0], "BillingCurrency": USD}
    dollars |= {"ContractedUnitPrice": ""}  # in the currency billed in: no rate is proved by it
    cells = list(row)
    for name, cell in dollars.items():
        if name in place:
            cells[place[name]] = cell
    return cells


def _amounts(rows: Rows, row: Any, places: tuple[int, ...]) -> tuple[Decimal, ...]:
    """Amounts of a row in which one is missing or none; no effective cost: what is billed."""
    numbers: list[Decimal | None] = []
    for name, at in zip(_AMOUNTS, places, strict=True):
        text = plain(row[at])
        try:
            numbers.append(Decimal(text) if text else None)
        except InvalidOperation:
            raise ConfigError([rows.fault(name, found=text, allowed="a number")]) from None
    quantity, usd, billed = numbers
    if usd is None and billed is None:
        raise ConfigError([rows.fault("BilledCost", message="is empty, and so is EffectiveCost")])
    usd = billed if usd is None else usd
    return quantity or ZERO, usd or ZERO, billed if billed is not None else usd or ZERO


def _charges(groups: Mapping[tuple[Any, ...], list[Any]], names: tuple[str, ...], path: Path) -> Iterable[Charge]:
    read: dict[Any, tuple[dict[str, str], str]] = {}
    for key, (rows, quantity, usd, billed, last, line) in groups.items():
        cells = dict(zip(names, key, strict=True))
        row: dict[str, Any] = {name: cell if isinstance(cell, tuple) else plain(cell) for name, cell in cells.items()}
        for amount in (quantity, usd, billed):
            if not amount.is_finite():
                where = f"{path} line {line}"
                raise ConfigError([Fault(path=where, found=str(amount), allowed="numbers alone", fix=AGAIN)])
        if row["Tags"] not in read:
            tags = pairs_of(row["Tags"])
            cluster = next((tags[name] for name in CLUSTER_TAGS if name in tags), "")
            read[row["Tags"]] = own_tags(tags), cluster
        own, cluster = read[row["Tags"]]
        category = row["ChargeCategory"].lower()
        if row.get("ChargeClass", "").lower() == "correction":
            category = "correction"
        price = _price(row.get("ContractedUnitPrice", ""))
        unit, block = block_of(row)
        machine = any_machine_of(row)
        market = row["PricingCategory"].lower()
        if row.get("CommitmentDiscountStatus", "").lower() == "used" or market.startswith("commit"):
            market = COMMITTED
        yield Charge(
            month=_day(row["BillingPeriodStart"], "BillingPeriodStart", path, line)[:7],
            ends=_day(row["BillingPeriodEnd"], "BillingPeriodEnd", path, line),
            category="correction" if category == "correction" else _APART.get(category, "usage"),
            cloud=cloud_of(row) or row.get("ProviderName", ""),
            service=row["ServiceName"],
            region=row.get("RegionId", ""),
            machine=machine,
            market=MARKETS.get(market, market) if machine else "",
            unit=unit,
            meter=row.get("SkuMeter", "") or row.get("x_UsageType", ""),
            unused="unused" in (row.get("CommitmentDiscountStatus", "").lower(),
                                row.get("CapacityReservationStatus", "").lower()),
            once=row.get("ChargeFrequency", "").lower() == "one-time",
            linux=is_linux(row),
            quantity=quantity * block,
            usd=usd,
            billed_usd=billed,
            usd_per_unit=None if price is None else price / block,
            tags=own,
            cluster=cluster,
            rows=rows,
            last=str(last),
            currency=row["BillingCurrency"],
            what=row.get("ChargeDescription", ""),
            stack=row.get("x_Stack", ""),
            component=row.get("x_Component", ""),
            urn=row.get("x_Urn", ""),
            unpriced=row.get("x_Unpriced", ""),
            own_commitment=row.get("CommitmentDiscountType", "") in ("Own commitment", "Savings plan"),
            later_price=row.get("x_Confidence", "") == LATER_PRICE,
        )  # fmt: skip


def _price(text: str) -> Decimal | None:
    try:
        price = Decimal(text)
    except InvalidOperation:
        return None
    return price if price.is_finite() else None


def _day(text: str, column: str, path: Path, line: int) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        where = f"{path} line {line}: {column}"
        allowed = "a date, such as 2026-10-01T00:00:00Z"
        raise ConfigError([Fault(path=where, found=text, allowed=allowed, fix=AGAIN)]) from None
