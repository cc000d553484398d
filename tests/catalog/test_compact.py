"""The compact form says what the CSV says, and nothing where it is stale or damaged."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields
from decimal import Decimal

import pytest

from sizewell.sizing.catalog import compact, load, loading, table
from sizewell.sizing.catalog.loading import keep_compact

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
    keep_compact(folder)
    quick = read(folder)
    assert isinstance(quick.offers_by_type, compact.Offers)
    assert_the_same(quick, plain)
    assert quick.all_offers[-1] == plain.all_offers[-1]
    assert quick.fees[:3] == plain.fees[:3]
    assert quick.price("aws", "g6.xlarge", "us-east-1") == plain.price("aws", "g6.xlarge", "us-east-1")


def assert_the_same(quick, plain):
    for field in fields(plain):
        if field.init and field.name not in ("offers_by_type", "all_offers", "fees"):
            assert getattr(quick, field.name) == getattr(plain, field.name), field.name
    assert list(quick.offers_by_type) == list(plain.offers_by_type)
    assert len(quick.all_offers) == len(plain.all_offers)
    assert tuple(quick.all_offers) == plain.all_offers
    assert dict(quick.offers_by_type) == dict(plain.offers_by_type)
    assert tuple(quick.fees) == plain.fees


def test_it_makes_the_offers_of_the_types_that_are_asked_for(folder):
    keep_compact(folder)
    quick = read(folder)
    assert quick.price("aws", "g6.xlarge", "us-east-1").amount == Decimal("0.77")
    rated = ("aws", "p5.48xlarge")  # whether a rate adds an offer depends on those of its type
    assert set(quick.offers_by_type._made) == {("aws", "g6.xlarge"), rated}


@pytest.fixture
def tables_read(monkeypatch):
    """The tables whose rows are read from CSV from now on, shipped ones and the project's own."""
    names = set()

    def noted(name, *rest, lines=table.lines):
        names.add(name)
        return lines(name, *rest)

    monkeypatch.setattr(table, "lines", noted)
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

    keep_compact(folder)
    tables_read.clear()
    quick = read(folder)
    assert isinstance(quick.offers_by_type, compact.Offers)
    assert isinstance(quick.fees, compact.Fees)
    assert tables_read == others
    assert quick.owned == plain.owned == {("aws", "g6.xlarge"), ("aws", "p5.48xlarge")}


def digest_of_tables(folder):
    return loading._read(loading.DATA, folder, tables_alone=True).digest


def with_second_line(path, change):
    """The file with another second line and a checksum that is right."""
    first, second, body = path.read_bytes().split(b"\n", 2)
    rest = json.dumps(change(json.loads(second))).encode() + b"\n" + body
    digest = first.split()[1].decode()
    path.write_bytes(f"{compact.FORMAT} {digest} {zlib.crc32(rest):08x}\n".encode() + rest)


@pytest.mark.parametrize("key", ["owned", "count", "as_of", "types", "fees", "sources", "columns", "fee_keys"])
def test_one_that_lacks_a_fact_is_not_read(folder, key):
    """As one that an earlier version wrote: nothing is taken for none."""
    plain = read(folder)
    keep_compact(folder)
    digest, path = digest_of_tables(folder), folder / compact.NAME
    with_second_line(path, dict)
    assert compact.read(folder, digest) is not None
    with_second_line(path, lambda stated: {k: v for k, v in stated.items() if k != key})
    assert compact.read(folder, digest) is None
    assert read(folder).owned == plain.owned


def test_one_of_other_columns_is_not_read(folder):
    keep_compact(folder)
    with_second_line(
        folder / compact.NAME, lambda stated: {**stated, "columns": ["usd_per_week", *stated["columns"][1:]]}
    )
    assert compact.read(folder, digest_of_tables(folder)) is None


def test_a_changed_table_makes_it_stale(folder, caplog):
    keep_compact(folder)
    caplog.set_level("INFO", "sizewell.sizing")
    read(folder)
    (folder / "offers.csv").write_text(OFFERS.replace("0.77", "0.78"))
    again = read(folder)
    quick, plain = [record.getMessage().partition(" prices and fees from ")[2] for record in caplog.records]
    assert quick == "prices.compact"
    assert plain.startswith("the tables (prices.compact is missing")
    assert not isinstance(again.offers_by_type, compact.Offers)
    assert again.price("aws", "g6.xlarge", "us-east-1").amount == Decimal("0.78")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rates.yaml", RATES.replace("usd: 50", "usd: 49")),
        ("rates.yaml", RATES.replace("p5.48xlarge", "p5en.48xlarge")),
        ("rates.yaml", RATES + "  - {cloud: aws, instance_type: g6.xlarge, region: af-south-1, usd: 0.9}\n"),
        ("rates.yaml", "rates:\n  - {cloud: aws, instance_type: g6.xlarge, region: us-east-1, market: on-demand, usd: 0.5}\n"),
        ("rates/more.yaml", "rates:\n  - {cloud: aws, fee: nat.gb, usd: 0.01}\n  - {cloud: gcp, percent: 5}\n"),
        ("engines/ours.yaml", "engine: ours\n"),
    ],
)  # fmt: skip
def test_changed_rates_and_engines_count_at_once_and_leave_it_valid(folder, name, text, tables_read):
    """They are read at every load: a catalog of ten times the rows does not take ten times as long for a new rate."""
    keep_compact(folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    tables_read.clear()
    quick = read(folder)
    assert isinstance(quick.offers_by_type, compact.Offers)
    assert quick.fees._made is None
    assert not [table for table in tables_read if table.removeprefix("catalog/").startswith(("offers", "fees"))]
    (folder / compact.NAME).unlink()
    assert_the_same(quick, read(folder))


def test_a_new_file_makes_it_stale(folder):
    keep_compact(folder)
    (folder / "offers").mkdir()
    (folder / "offers/more.csv").write_text(OFFERS.replace("0.77,2026-11-01", "0.70,2026-11-02"))
    assert read(folder).price("aws", "g6.xlarge", "us-east-1").amount == Decimal("0.70")


def test_a_damaged_one_is_not_read(folder):
    """Every byte of its first line, bytes all over the rest and the beginning of every part: nothing wrong is taken."""
    keep_compact(folder)
    digest, path = digest_of_tables(folder), folder / compact.NAME
    whole = path.read_bytes()
    first, second, _ = whole.split(b"\n", 2)
    starts = [len(first) + len(second) + 2 + at for _, _, at, _ in json.loads(second)["types"]]
    places = {*range(len(first) + 200), *range(0, len(whole), len(whole) // 300), *starts[::8], len(whole) - 1}
    with path.open("r+b") as file:
        for place in sorted(places):
            for other in (whole[place] ^ 1, whole[place] ^ 0x80):  # a digit or letter more, no UTF-8
                file.seek(place)
                file.write(bytes([other]))
                file.flush()
                assert compact.read(folder, digest) is None, place
            file.seek(place)
            file.write(whole[place : place + 1])
    assert compact.read(folder, digest) is not None


def test_one_that_is_cut_off_or_longer_is_not_read(folder):
    plain = read(folder)
    keep_compact(folder)
    digest, path = digest_of_tables(folder), folder / compact.NAME
    whole = path.read_bytes()
    for damaged in (
        b"",
        *(whole[: len(whole) * part // 40] for part in range(40)),
        whole[:-1],
        whole + b"\n",
        whole.partition(b"\n")[2],
        b"{}\n" + whole.partition(b"\n")[2],
        whole.replace(b"0.77", b"7.70"),
    ):
        path.write_bytes(damaged)
        assert compact.read(folder, digest) is None
    assert_the_same(read(folder), plain)


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
