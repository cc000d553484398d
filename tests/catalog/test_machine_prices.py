"""Prices of machine types of which the catalog knows nothing else."""

from __future__ import annotations

import csv
import re
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sizewell.cli.main import main
from sizewell.sizing.catalog import load, loading, machine_prices
from sizewell.sizing.money import Priced, Unpriced

ON = date(2026, 11, 26)


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_the_digest_of_the_catalog_covers_the_files(cloud: str) -> None:
    assert load().machine_prices[cloud].sha256 == machine_prices.checksum(cloud)


@pytest.mark.parametrize(
    ("cloud", "kind", "region", "market", "usd"),
    [  # as the providers' price lists have them
        ("aws", "t3.micro", "us-east-1", "on-demand", "0.0104"),
        ("aws", "m5.large", "us-east-1", "on-demand", "0.096"),
        ("aws", "m6i.large", "eu-west-1", "on-demand", "0.107"),
        ("azure", "Standard_D2s_v3", "eastus", "on-demand", "0.096"),
        ("azure", "standard_b2s", "westeurope", "on-demand", "0.048"),
        ("azure", "Standard_E8as_v5", "eastus", "on-demand", "0.452"),  # Karpenter's table has 0.82, with Windows
        ("gcp", "e2-medium", "us-central1", "on-demand", "0.03350571"),
        ("gcp", "e2-medium", "us-central1", "spot", "0.020106"),
    ],
)
def test_a_type_without_a_shape_has_its_list_price(cloud: str, kind: str, region: str, market: str, usd: str) -> None:
    found = load().price(cloud, kind, region, market, ON)
    assert isinstance(found, Priced)
    assert found.amount == Decimal(usd)
    assert found.source
    assert date.fromisoformat(found.date) < ON


@pytest.mark.parametrize(
    ("cloud", "kind", "region", "on"),
    [
        ("aws", "m1.small", "eu-central-2", ON),  # not sold there
        ("aws", "t3.micro", "../aws/us-east-1", ON),
        ("aws", "t9.micro", "us-east-1", ON),
        ("aws", "t3.micro", "us-east-1", date(2026, 1, 1)),  # before the day on which it was seen
        ("gcp", "a3-highgpu-8g", "africa-south1", ON),  # accelerators have rows of their own, or no price
    ],
)
def test_what_nobody_published_has_no_price(cloud: str, kind: str, region: str, on: date) -> None:
    assert isinstance(load().price(cloud, kind, region, "on-demand", on), Unpriced)


@pytest.mark.parametrize("region", machine_prices.regions("azure"))
def test_no_size_of_azure_costs_a_windows_licence_more_than_its_siblings(region: str) -> None:
    """Sizes of one series cost alike for each vCPU; a difference of 0.046 USD an hour is the licence to the digit."""
    least: dict[str, Decimal] = {}
    each: list[tuple[str, str, Decimal]] = []
    for name, market in machine_prices.listed_in("azure", region).items():
        match = re.fullmatch(r"standard_([de])(\d+)(?:-\d+)?([a-z]*_v[3-6])", name)
        if match is not None and "on-demand" in market:
            series, usd = match[1] + match[3], market["on-demand"] / int(match[2])
            each.append((name, series, usd))
            least[series] = min(usd, least.get(series, usd))
    assert each
    assert [name for name, series, usd in each if Decimal("0.0455") < usd - least[series] < Decimal("0.0465")] == []


def test_another_catalog_has_no_prices_but_its_own(tmp_path: Any) -> None:
    shutil.copytree(loading.DATA, tmp_path, dirs_exist_ok=True)
    (tmp_path / "machine_prices.csv").unlink()
    assert isinstance(load(tmp_path).price("aws", "t3.micro", "us-east-1", "on-demand", ON), Unpriced)


def test_no_file_has_a_machine_with_accelerators() -> None:
    """Their prices decide what is chosen, and have rows of their own with sources and dates."""
    catalog = load()
    for path in machine_prices.FOLDER.rglob("*.csv"):
        head, *rows = (line.split(",") for line in path.read_text(encoding="utf-8").splitlines())
        assert [row[0] for row in rows if catalog.says(path.name.partition(".")[0], row[0], "accelerated")] == []
        assert len({row[0].lower() for row in rows}) == len(rows)
        assert {len(row) for row in rows} == {len(head)}


@pytest.mark.parametrize("path", sorted(machine_prices.FOLDER.glob("*.csv")), ids=lambda path: path.stem)
def test_what_is_written_is_what_is_read(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [(row.pop("instance_type"), row) for row in csv.DictReader(stream)]
    prices = [(region, name, float(usd)) for name, row in rows for region, usd in row.items() if usd]
    monkeypatch.setattr(machine_prices, "FOLDER", tmp_path)
    machine_prices.write(*path.stem.split("."), prices)
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_prices_show_tells_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prices", "show", "Standard_D2s_v3", "--region", "eastus"]) == 0
    assert "0.096" in capsys.readouterr().out
