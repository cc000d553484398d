"""Reading rows: what is wrong is told by file, row, column and value, all of it at once; records go back into rows."""

from __future__ import annotations

import csv
import functools
import io
import shutil

import pytest

from sizewell.sizing.catalog import loading as whole
from sizewell.sizing.catalog import table
from sizewell.sizing.catalog.records import (
    Accelerator,
    Architecture,
    Family,
    Fee,
    Offer,
    Processor,
    Quota,
    Region,
    SagemakerPremium,
    Seller,
    Shape,
    Slice,
    TokenPrice,
    Withheld,
    Zones,
)
from sizewell.sizing.errors import CatalogError

GOOD = "aws,p5.48xlarge,us-east-1,,on-demand,55.04,2026-07-20,,list,a list,high,"

RUNTIMES = {chip.key: chip.runtime for chip in whole.load().accelerators.values()}


def offers(*lines):
    faults = []
    text = "\n".join([",".join(table.columns_of(Offer)), *lines])
    records = table.read(Offer, "offers/aws.csv", text, sources={"key": "a source"}, faults=faults)
    return records, [str(fault) for fault in faults]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("55.04", "n/a", "offers/aws.csv row 3: usd_per_hour: not a number: 'n/a'"),
        ("55.04", "NaN", "offers/aws.csv row 3: usd_per_hour: not a number: 'NaN'"),
        ("55.04", "inf", "offers/aws.csv row 3: usd_per_hour: not a number: 'inf'"),
        ("55.04", "", "offers/aws.csv row 3: usd_per_hour: must not be empty"),
        ("2026-07-20", "2026 (v9)", "offers/aws.csv row 3: effective_from: not a date (YYYY-MM-DD): '2026 (v9)'"),
        ("2026-07-20", "2026-13-01", "offers/aws.csv row 3: effective_from: not a date (YYYY-MM-DD): '2026-13-01'"),
        (",,list", ",soon,list", "offers/aws.csv row 3: effective_to: not a date (YYYY-MM-DD): 'soon'"),
        ("on-demand", "ondemand", "offers/aws.csv row 3: market: must be one of on-demand, spot, "),
        (
            "high",
            "certain",
            "offers/aws.csv row 3: confidence: must be one of high, medium, low, estimate, got 'certain'",
        ),
        (",high,", ",high,often", "offers/aws.csv row 3: interruption: must be one of (empty), <5%, "),
        ("a list", "", "offers/aws.csv row 3: source: must not be empty"),
        ("a list", "@nobody", "offers/aws.csv row 3: source: '@nobody' is not a key of sources.csv"),
        ("us-east-1", "", "offers/aws.csv row 3: region: must not be empty"),
        (",high", "", "offers/aws.csv row 3: has 11 cells, must have 12"),
    ],
)
def test_a_wrong_cell_is_named(old, new, message):
    records, faults = offers(GOOD, GOOD.replace(old, new))
    assert len(records) == 1
    assert len(faults) == 1
    assert faults[0].startswith(message)


def test_a_source_key_stands_for_its_source():
    records, faults = offers(GOOD.replace("a list", "@key"))
    assert (records[0].source, faults) == ("a source", [])


def test_a_wrong_row_leaves_the_others_as_they_are():
    """A file without a fault is read in one go, another one row by row: both ways agree."""
    sources = table.read_sources("", (whole.DATA / "sources.csv").read_text(encoding="utf-8"), [])
    for path in sorted((whole.DATA / "offers").glob("*.csv")):
        text, faults, at = path.read_text(encoding="utf-8"), [], []
        in_one_go = table.read(Offer, path.name, text, sources=sources, faults=faults)
        assert not faults
        one_by_one = table.read(Offer, path.name, text + "one cell\n", sources=sources, faults=faults, at=at)
        assert one_by_one == in_one_go
        assert [str(fault).split(":")[0] for fault in faults] == [f"{path.name} row {len(in_one_go) + 2}"]
        assert at == [f"{path.name} row {number}" for number in range(2, len(in_one_go) + 2)]


def test_a_price_of_any_size_is_a_number():
    records, faults = offers(GOOD.replace("55.04", "1e400"))
    assert (str(records[0].usd_per_hour), faults) == ("1E+400", [])


def test_a_cell_of_a_field_in_several_columns_and_a_list_of_sources_are_named():
    """Also where the field's first cell is empty, as of most machines that nobody sells."""
    rows = list(csv.DictReader((whole.DATA / "shapes/aws.csv").read_text(encoding="utf-8").splitlines()))[:1]
    assert not rows[0]["purchase_usd_low"]
    for column, message in (("purchase_usd_high", "not a whole number: '@x'"), ("traits_source", "'@x' is not a key")):
        stream, faults = io.StringIO(), []
        csv.writer(stream).writerows([rows[0], [*(rows[0] | {column: "@x"}).values()]])
        sources = table.read_sources("", (whole.DATA / "sources.csv").read_text(encoding="utf-8"), [])
        table.read(Shape, "shapes.csv", stream.getvalue(), sources=sources, faults=faults)
        assert [str(fault).partition(message)[0] for fault in faults] == [f"shapes.csv row 2: {column}: "]


def test_wrong_columns_are_named():
    faults = []
    table.read(Fee, "fees.csv", "cloud,key,price\n", sources={}, faults=faults)
    assert str(faults[0]).startswith("fees.csv row 1: the columns must be cloud,key,name,unit,")
    assert "unknown ['price']" in str(faults[0])


def test_all_wrong_cells_of_all_files_are_told_at_once(tmp_path):
    shutil.copytree(whole.DATA, tmp_path, dirs_exist_ok=True)
    for file, old, new in (("fees.csv", ",0.045,", ",free,"), ("shapes/aws.csv", ",8,96,", ",eight,96,")):
        path = tmp_path / file
        path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CatalogError) as raised:
        whole.load(tmp_path)
    assert {fault.message for fault in raised.value.faults} == {"not a number: 'free'", "not a whole number: 'eight'"}
    assert raised.value.exit_code == 64


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    shutil.copytree(whole.DATA, tmp_path, dirs_exist_ok=True)
    (tmp_path / "fees.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogError, match=r"fees\.csv: is not UTF-8"):
        whole.load(tmp_path)


@pytest.mark.parametrize(
    ("record", "complete", "records"),
    [
        (Accelerator, None, lambda c: c.accelerators.values()),
        (Shape, functools.partial(whole._of_shapes, RUNTIMES), lambda c: c.shapes),
        (Family, None, lambda c: c.families),
        (Processor, None, lambda c: c.processors),
        (Zones, None, lambda c: c.zone_facts.values()),
        (Slice, None, lambda c: c.slices),
        (Offer, None, lambda c: c.all_offers),
        (Withheld, None, lambda c: c.withheld),
        (Region, None, lambda c: c.region_facts.values()),
        (Fee, None, lambda c: c.fees),
        (Quota, None, lambda c: c.quotas),
        (SagemakerPremium, None, lambda c: c.sagemaker_premiums.values()),
        (Seller, None, lambda c: c.sellers.values()),
        (TokenPrice, None, lambda c: c.token_prices),
        (Architecture, whole._of_models, lambda c: c.models.values()),
    ],
)
def test_a_record_written_is_the_record_read(record, complete, records):
    before = list(records(whole.load()))
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([table.columns_of(record), *map(table.cells_of, before)])
    faults = []
    assert table.read(record, "x.csv", stream.getvalue(), sources={}, faults=faults, complete=complete) == before
    assert not faults
