"""A bill becomes charges without loss: to the last digit, whatever its form, each row once."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest

from sizewell.economics.bill import NEEDED, Bill, read_bill
from sizewell.sizing.catalog.imports import read_rates
from sizewell.sizing.errors import ConfigError, UsageError

from .bills import other, row, write


def total(bill: Bill) -> Decimal:
    return sum((charge.usd for charge in bill.charges), Decimal(0))


def test_rows_that_differ_in_time_alone_are_one_charge_to_the_last_digit(tmp_path: Path) -> None:
    hours = [
        row("0.8048000001", PricingQuantity="1", ChargePeriodStart=f"2026-10-01T{hour:02}:00:00Z") for hour in range(24)
    ]
    bill = read_bill([write(tmp_path / "b.csv", *hours)])
    (charge,) = bill.charges
    assert (charge.usd, charge.quantity, charge.rows) == (Decimal("19.3152000024"), 24, 24)
    assert (charge.month, charge.ends, charge.machine, charge.market, charge.unit) == (
        "2026-10", "2026-11-01", "g6.xlarge", "on-demand", "hour",
    )  # fmt: skip
    assert charge.last == "2026-10-01T23:00:00Z"


def test_equal_rows_count_once_in_a_file_and_over_files_and_what_that_leaves_out_is_known(tmp_path: Path) -> None:
    one = write(tmp_path / "a.csv", row(), row(), other("3.10"))
    again = write(tmp_path / "b.csv", row(), other("4.05"))
    bill = read_bill([one, again])
    assert (bill.rows, bill.twice_rows, bill.twice_usd) == (5, 2, Decimal("1175.008"))
    assert total(bill) == Decimal("594.654")


def test_what_is_paid_upfront_is_counted_by_the_hours_that_it_covers(tmp_path: Path) -> None:
    fee = other("0", ChargeCategory="Purchase", BilledCost="4000", PricingUnit="Units")
    used = row(BilledCost="0", EffectiveCost="333.33", CommitmentDiscountStatus="Used", PricingCategory="Committed")
    idle = row(BilledCost="0", EffectiveCost="50", CommitmentDiscountStatus="Unused", PricingCategory="Committed")
    bill = read_bill([write(tmp_path / "b.csv", fee, used, idle)])
    assert total(bill) == Decimal("383.33")
    assert sum(each.billed_usd for each in bill.charges) == 4000
    assert [each.usd for each in bill.charges if each.unused] == [50]


@pytest.mark.parametrize(
    ("cells", "category"),
    [
        ({"ChargeCategory": "Credit"}, "credit"),
        ({"ChargeCategory": "Tax"}, "tax"),
        ({"ChargeCategory": "Adjustment"}, "adjustment"),
        ({"ChargeClass": "Correction"}, "correction"),
        ({"ChargeCategory": "Purchase"}, "usage"),
    ],
)
def test_credits_tax_and_corrections_are_told_apart(tmp_path: Path, cells: dict[str, str], category: str) -> None:
    (charge,) = read_bill([write(tmp_path / "b.csv", row("-5", **cells))]).charges
    assert (charge.category, charge.usd) == (category, -5)


@pytest.mark.parametrize(
    ("tags", "stack"),
    [
        ('{"user:sizewell-stack": "dev"}', "dev"),
        ('{"user_sizewell_stack": "dev"}', "dev"),
        ('{"sizewell:stack": "dev"}', "dev"),
        ('[{"key": "sizewell-stack", "value": "dev"}]', "dev"),
        ('{"Sizewell-Stack": "dev"}', "dev"),
        ("NULL", ""),
        ("not json", ""),
        ("", ""),
    ],
)
def test_tags_as_each_seller_spells_them(tmp_path: Path, tags: str, stack: str) -> None:
    (charge,) = read_bill([write(tmp_path / "b.csv", row(Tags=tags))]).charges
    assert charge.tags.get("sizewell-stack", "") == stack


@pytest.mark.parametrize(
    ("cells", "machine"),
    [
        ({"SkuPriceDetails": "", "SkuMeter": "USE1-BoxUsage:p5.48xlarge"}, "p5.48xlarge"),
        ({"SkuPriceDetails": "NULL", "x_UsageType": "SpotUsage:g6.xlarge"}, "g6.xlarge"),
        ({"SkuPriceDetails": "", "SkuMeter": "USE1-Host:ml.g6.xlarge"}, "ml.g6.xlarge"),
        (
            {"SkuPriceDetails": "", "x_SkuDetails": '{"ServiceType": "Standard_NC40ads_H100_v5"}'},
            "Standard_NC40ads_H100_v5",
        ),
        ({"SkuPriceDetails": "", "SkuMeter": "EBS:VolumeUsage.gp3"}, ""),
    ],
)
def test_the_machine_type_wherever_it_stands(tmp_path: Path, cells: dict[str, str], machine: str) -> None:
    (charge,) = read_bill([write(tmp_path / "b.csv", row(**cells))]).charges
    assert charge.machine == machine


@pytest.mark.parametrize(
    ("rows", "without", "said"),
    [
        ([row()], ("EffectiveCost", "Tags"), "it lacks EffectiveCost, Tags"),
        ([row(), row(BillingCurrency="")], (), "b.csv line 3: BillingCurrency"),
        ([row("12,50")], (), "b.csv line 2: EffectiveCost"),
        ([row("NaN")], (), "b.csv line 2"),
        ([row(BilledCost="", EffectiveCost="")], (), "BilledCost: is empty, and so is EffectiveCost"),
        ([row(BillingPeriodStart="October")], (), "b.csv line 2: BillingPeriodStart"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(
    tmp_path: Path, rows: list[dict[str, str]], without: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        read_bill([write(tmp_path / "b.csv", *rows, without=without)])
    assert said in str(error.value)


def test_a_row_that_is_cut_off_and_a_file_that_is_no_bill(tmp_path: Path) -> None:
    path = write(tmp_path / "b.csv", row(), row("3"))
    whole = path.read_text()
    for cut, said in ((30, "cannot be read: unexpected end of data"), (80, "has fewer or more cells than columns")):
        path.write_text(whole[:-cut])
        with pytest.raises(ConfigError, match=f"b.csv line 3: {said}"):
            read_bill([path])
    (tmp_path / "c.csv").write_text("")
    with pytest.raises(ConfigError, match="is no bill in the columns of FOCUS"):
        read_bill([tmp_path / "c.csv"])
    (tmp_path / "c.csv").write_text("BillingPeriodStart;Tags\n")
    with pytest.raises(ConfigError, match="separate its columns by commas"):
        read_bill([tmp_path / "c.csv"])
    (tmp_path / "c.csv").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(ConfigError, match="is a zip archive"):
        read_bill([tmp_path / "c.csv"])
    (tmp_path / "c.csv").write_text(whole.splitlines()[0] + "\n")
    with pytest.raises(ConfigError, match="has no rows"):
        read_bill([tmp_path / "c.csv"])
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_bill([tmp_path / "d.csv"])
    with pytest.raises(UsageError, match="no such file"):
        read_bill([tmp_path / "e.csv"])


def test_a_bill_of_a_provider_without_effective_costs_counts_what_is_billed(tmp_path: Path) -> None:
    assert total(read_bill([write(tmp_path / "b.csv", row(EffectiveCost="NULL"))])) == Decimal("587.504")


def test_gzip_and_parquet_say_the_same_as_csv(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [row(), row(), other("3.1000000001"), other("-7", ChargeCategory="Credit"), row("1.25", Tags="")]
    plain = read_bill([write(tmp_path / "b.csv", *rows)])
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((tmp_path / "b.csv").read_bytes()))
    table = pa.Table.from_pylist([
        {name: _as(name, cell) for name, cell in each.items()} for each in rows
    ], schema=pa.schema([(name, _type(pa, name)) for name in rows[0]]))  # fmt: skip
    parquet.write_table(table, tmp_path / "b.parquet")
    for name in ("b.csv.gz", "b.parquet"):
        bill = read_bill([tmp_path / name])
        assert (bill.rows, bill.twice_rows, total(bill)) == (plain.rows, plain.twice_rows, total(plain))
        assert [(each.usd, each.tags, each.machine, each.month, each.category) for each in bill.charges] == [
            (each.usd, each.tags, each.machine, each.month, each.category) for each in plain.charges
        ]


def _as(name: str, cell: str) -> object:
    from datetime import datetime

    if name == "Tags":
        return list(json.loads(cell).items()) if cell else None
    if name.endswith(("Cost", "Quantity", "UnitPrice")):
        return Decimal(cell)
    return datetime.fromisoformat(cell) if "Period" in name else cell


def _type(pa: object, name: str) -> object:
    if name == "Tags":
        return pa.map_(pa.string(), pa.string())  # type: ignore[attr-defined]
    if name.endswith(("Cost", "Quantity", "UnitPrice")):
        return pa.decimal128(38, 18)  # type: ignore[attr-defined]
    return pa.timestamp("ms", tz="UTC") if "Period" in name else pa.string()  # type: ignore[attr-defined]


def test_parquet_without_pyarrow_says_how_to_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / "b.parquet").write_bytes(b"PAR1....")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"sizewell\[bills\].*or export the bill as CSV"):
        read_bill([tmp_path / "b.parquet"])


def test_the_columns_that_are_needed_are_of_every_version_of_focus() -> None:
    fixture = Path(__file__).parents[1] / "preview/fixtures/focus-1.2-columns.csv"
    if not fixture.exists():
        fixture = next(Path(__file__).parents[1].rglob("focus-1.2-columns.csv"))
    known = fixture.read_text()
    assert all(f"{name}," in known for name in NEEDED)


@pytest.mark.parametrize(
    ("unit", "size", "quantity", "price"),
    [
        ("Hours", "", "744", "0.096"),
        ("1 Hour", "1", "744", "0.096"),
        ("10 Hours", "10", "74.4", "0.96"),
        ("100 Hours", "100", "7.44", "9.6"),
        ("100 Hours", "", "7.44", "9.6"),
        ("Hours", "100", "7.44", "9.6"),
    ],
)
def test_hours_in_blocks_are_hours_to_a_comparison_and_to_an_import(
    tmp_path: Path, unit: str, size: str, quantity: str, price: str
) -> None:
    azure = {"ProviderName": "Microsoft", "RegionId": "eastus", "SkuPriceDetails": ""}
    cells = {"PricingUnit": unit, "PricingQuantity": quantity, "ContractedUnitPrice": price}
    details = {"x_PricingBlockSize": size, "x_SkuDetails": '{"ServiceType": "Standard_D2s_v5"}'}
    bill = write(tmp_path / "b.csv", row("71.424", **azure, **cells, **details))
    (charge,) = read_bill([bill]).charges
    assert (charge.unit, charge.quantity, charge.usd_per_unit) == ("hour", 744, Decimal("0.096"))
    (rate,) = read_rates(bill).rates.rates
    assert (rate.instance_type, rate.usd) == ("Standard_D2s_v5", Decimal("0.096"))


@pytest.mark.parametrize(
    ("unit", "size", "said"),
    [("10K", "10000", ("10k", 3)), ("1/Month", "1", ("1/month", 3)), ("100 GB/Month", "100", ("gb-month", 300))],
)
def test_other_blocks_are_of_known_units_alone(tmp_path: Path, unit: str, size: str, said: tuple[str, int]) -> None:
    bill = write(tmp_path / "b.csv", other("3", PricingUnit=unit, PricingQuantity="3", x_PricingBlockSize=size))
    (charge,) = read_bill([bill]).charges
    assert (charge.unit, charge.quantity) == said


def test_another_currency_is_read_at_the_dollars_it_states_and_else_stands_apart(tmp_path: Path) -> None:
    """Nothing is added up over currencies: a row has dollars, or is in no charge."""
    dollars = {"x_EffectiveCostInUsd": "11", "x_BilledCostInUsd": ""}
    rows = [
        row("1", x_EffectiveCostInUsd="", x_BilledCostInUsd=""),
        row("10", BillingCurrency="EUR", PricingQuantity="2", **dollars),
        row("10", BillingCurrency="EUR", PricingQuantity="2", **dollars),
        row("20", BillingCurrency="EUR", x_EffectiveCostInUsd="", x_BilledCostInUsd=""),
        row("20", BillingCurrency="EUR", x_EffectiveCostInUsd="", x_BilledCostInUsd=""),
        row("30", BillingCurrency="GBP", x_EffectiveCostInUsd="", x_BilledCostInUsd=""),
    ]
    bill = read_bill([write(tmp_path / "b.csv", *rows)])
    assert [(each.usd, each.billed_usd, each.usd_per_unit) for each in bill.charges] == [
        (1, 1, Decimal("0.8048")),
        (11, 11, None),
    ]
    assert [(each.currency, each.usd) for each in bill.foreign] == [("EUR", 20), ("GBP", 30)]
    assert (bill.in_usd, bill.twice_rows, bill.twice_usd) == ({"EUR": 1}, 2, 11)
