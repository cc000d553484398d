"""The compact form says what the CSV says, and nothing where it is stale or damaged."""

from __future__ import annotations

import json
from dataclasses import fields
from decimal import Decimal

import pytest

from sizewell.sizing.catalog import compact, load, loading, rows, table

OFFERS = (
    "cloud,instance_type,region,zone,market,usd_per_hour,effective_from,effective_to,basis,source,confidence,interruption\n"
    "aws,g6.xlarge,us-east-1,,on-demand,0.77,2026-11-01,,list,our account,high,\n"
    "aws,g6.xlarge,us-east-1,use1-az1,spot,0.30,2026-11-20,,observed,our account,medium,<5%\n"
)
FEES = (
    "cloud,key,name,unit,region,usd,from_quantity,effective_from,source,confidence\n"
    "aws,nat.gb,NAT gateway data,GB,us-east-1,0.04,0,2026-11-20,our account,high\n"
)
RATES = "rates:\n  - {cloud: aws, instance_type: p5.48xlarge, region: af-south-1, market: on-demand, usd: 50}\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "offers.csv").write_text(OFFERS)
    (tmp_path / "rates.yaml").write_text(RATES)
    return tmp_path


def read(folder):
    return loading._read(loading.DATA, folder)


def test_every_fact_is_the_same_with_and_without_it(folder):
    plain = read(folder)
    compact.write(plain, folder)
    quick = read(folder)
    assert isinstance(quick.offers_by_type, compact.Offers)
    for field in fields(plain):
        if field.init and field.name not in ("offers_by_type", "all_offers", "fees"):
            assert getattr(quick, field.name) == getattr(plain, field.name), field.name
    assert list(quick.offers_by_type) == list(plain.offers_by_type)
    assert len(quick.all_offers) == len(plain.all_offers)
    assert tuple(quick.all_offers) == plain.all_offers
    assert dict(quick.offers_by_type) == dict(plain.offers_by_type)
    assert tuple(quick.fees) == plain.fees
    assert quick.all_offers[-1] == plain.all_offers[-1]
    assert quick.fees[:3] == plain.fees[:3]
    assert quick.price("aws", "g6.xlarge", "us-east-1") == plain.price("aws", "g6.xlarge", "us-east-1")


def test_it_makes_the_offers_of_the_types_that_are_asked_for(folder):
    compact.write(read(folder), folder)
    quick = read(folder)
    assert quick.price("aws", "g6.xlarge", "us-east-1").amount == Decimal("0.77")
    assert set(quick.offers_by_type._made) == {("aws", "g6.xlarge")}


@pytest.fixture
def tables_read(monkeypatch):
    """The tables whose rows are read from CSV from now on, shipped ones and the project's own."""
    names = set()

    def noted(name, *rest, lines=table.lines):
        names.add(name)
        return lines(name, *rest)

    monkeypatch.setattr(table, "lines", noted)
    monkeypatch.setattr(rows, "lines", noted)
    return names


def test_no_row_of_a_price_or_fee_is_read_from_csv_beside_it(folder, tables_read):
    """Whatever the catalog says of a project's own prices comes from the compact form, or loading takes ten times as long."""
    (folder / "fees.csv").write_text(FEES)
    (folder / "offers").mkdir()
    (folder / "offers/day.csv").write_text(OFFERS.replace("2026-11", "2026-10"))
    (folder / "engines").mkdir()
    (folder / "engines/ours.yaml").write_text("engine: ours\n")
    plain = read(folder)
    priced = {name for name in tables_read if name.removeprefix("catalog/").startswith(("offers", "fees"))}
    shipped = {f"offers/{path.name}" for path in (loading.DATA / "offers").glob("*.csv")} | {"fees.csv"}
    assert priced == shipped | {"catalog/offers.csv", "catalog/offers/day.csv", "catalog/fees.csv"}
    others = tables_read - priced
    assert "shapes.csv" in others or any(name.startswith("shapes/") for name in others)

    compact.write(plain, folder)
    tables_read.clear()
    quick = read(folder)
    assert isinstance(quick.offers_by_type, compact.Offers)
    assert isinstance(quick.fees, compact.Fees)
    assert tables_read == others
    assert quick.owned == plain.owned == {("aws", "g6.xlarge"), ("aws", "p5.48xlarge")}


@pytest.mark.parametrize("key", ["owned", "count", "as_of", "types", "fees"])
def test_one_that_lacks_a_fact_is_not_read(folder, key):
    """As one that an earlier version wrote: nothing is taken for none."""
    plain = read(folder)
    compact.write(plain, folder)
    path = folder / compact.NAME
    assert compact.read(folder, plain.digest) is not None
    head, _, body = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps({k: v for k, v in json.loads(head).items() if k != key}).encode() + b"\n" + body)
    assert compact.read(folder, plain.digest) is None
    assert read(folder).owned == plain.owned


@pytest.mark.parametrize("name", ["offers.csv", "rates.yaml"])
def test_a_changed_file_makes_it_stale(folder, name):
    compact.write(read(folder), folder)
    text = (folder / name).read_text()
    (folder / name).write_text(text.replace("0.77", "0.78").replace("usd: 50", "usd: 49"))
    again = read(folder)
    assert not isinstance(again.offers_by_type, compact.Offers)
    usd = again.price("aws", "g6.xlarge", "us-east-1").amount
    assert usd == (Decimal("0.78") if name == "offers.csv" else Decimal("0.77"))


def test_a_new_file_makes_it_stale(folder):
    compact.write(read(folder), folder)
    (folder / "offers").mkdir()
    (folder / "offers/more.csv").write_text(OFFERS.replace("0.77,2026-11-01", "0.70,2026-11-02"))
    assert read(folder).price("aws", "g6.xlarge", "us-east-1").amount == Decimal("0.70")


def test_a_damaged_one_is_not_read(folder):
    plain = read(folder)
    compact.write(plain, folder)
    path = folder / compact.NAME
    whole = path.read_bytes()
    middle = len(whole) // 2
    for damaged in (
        b"",
        whole[:100],
        whole[:-1],
        whole[:middle],
        whole[:middle] + b"9" + whole[middle + 1 :] if whole[middle : middle + 1] != b"9" else whole[:-2],
        whole.replace(b'"count"', b'"kount"', 1),
        b"{}\n" + whole.partition(b"\n")[2],
        b"\xff" + whole[1:],
        whole.replace(b'"usd_per_hour"', b'"usd_per_week"', 1),
    ):
        path.write_bytes(damaged)
        assert compact.read(folder, plain.digest) is None
        assert read(folder).price("aws", "g6.xlarge", "us-east-1").amount == Decimal("0.77")


def test_a_refresh_leaves_it_beside_its_rows(tmp_path, monkeypatch):
    from sizewell.cli import refresh
    from sizewell.clouds.prices.asking import Readings
    from sizewell.sizing.catalog.refresh import Listed, Place

    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    place = Place(cloud="aws", market="on-demand", region="us-east-1", whole=False)
    row = Listed(cloud="aws", instance_type="g6.xlarge", region="us-east-1", market="on-demand", usd="0.9", currency="USD",
                 unit="Hrs", since="", basis="list", source="test")  # fmt: skip
    monkeypatch.setattr("sizewell.clouds.prices.asking.ask", lambda *_, **__: Readings(rows=[(place, [row])]))
    monkeypatch.setattr(refresh, "questions", lambda *_: {})
    from sizewell.cli.main import main

    assert main(["prices", "refresh", "--on", "2026-11-22", "--json"]) == 0
    assert (tmp_path / "catalog" / compact.NAME).exists()
    quick = loading._read(loading.DATA, tmp_path / "catalog")
    assert isinstance(quick.offers_by_type, compact.Offers)
    assert quick.price("aws", "g6.xlarge", "us-east-1").amount == Decimal("0.9")
    assert load().price("aws", "g6.xlarge", "us-east-1").amount == Decimal("0.9")
