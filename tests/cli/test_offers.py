"""`sizewell offers`: what can be had, by accelerator, with the prices of the catalog."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from sizewell.sizing.catalog import load

from .conftest import Sizewell

ON = ("--on", "2026-11-20")


def test_each_accelerator_has_one_line_with_its_cheapest_machine(sizewell: Sizewell) -> None:
    rows = json.loads(sizewell("offers", "--json", *ON).out)
    names = [row["accelerator"] for row in rows]
    assert len(names) == len(set(names)) >= 25
    assert {row["cloud"] for row in rows} <= {"aws", "gcp", "azure"}
    done = sizewell("offers", *ON)
    assert max(map(len, done.out.splitlines())) <= 100


@pytest.mark.parametrize("words", [["H100:8"], ["8xH100"], ["8 H100"], ["h100*8"]])
def test_a_count_is_understood_as_people_say_it(words: list[str], sizewell: Sizewell) -> None:
    rows = json.loads(sizewell("offers", *words, "--json", *ON).out)
    assert {row["accelerators"] for row in rows} == {8}
    assert {row["accelerator"] for row in rows} <= {"h100-sxm", "h100-pcie", "h100-nvl"}


def test_a_price_is_that_of_the_catalog_in_the_region(sizewell: Sizewell) -> None:
    rows = json.loads(sizewell("offers", "L4", "--region", "us-east-1", "--json", *ON).out)
    row = next(row for row in rows if row["instance_type"] == "g6.xlarge")
    price = load().price("aws", "g6.xlarge", "us-east-1")
    assert Decimal(row["on_demand"]["usd_per_hour"]) == price.amount  # type: ignore[union-attr]
    assert row["on_demand"]["region"] == "us-east-1"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("H1000", "name one of a10, a100"),
        ("L4 --cloud amazon", "--cloud: must be one of aws"),
        ("L4 --cloud amazon", "fix: --cloud aws"),
        ("L4 --region us-esat-1", "did you mean us-east-1?"),
        ("L4 --region London", "did you mean eu-west-2 or europe-west2 or uksouth?"),
        ("A100 --cloud azure --region London", "did you mean uksouth?"),
        ("p5.48xlarge", "sizewell offers H100-SXM:8"),
        ("g5", "sizewell offers A10G"),
    ],
)
def test_what_nobody_sells_is_told(line: str, says: str, sizewell: Sizewell) -> None:
    done = sizewell("offers", *line.split(), *ON)
    assert done.code == 64
    assert says in done.err


@pytest.mark.parametrize(
    "words",
    [["RTX 4090"], ["RTX 3090"], ["H100 SXM5 80GB", "--region", "eu-central-1"], ["L4:3"], ["TPU7x", "--cloud", "aws"]],
)
def test_a_wider_search_is_named_only_where_it_has_prices(words: list[str], sizewell: Sizewell) -> None:
    done = sizewell("offers", *words, *ON)
    said = done.out + done.err
    wider = json.loads(sizewell("offers", *words, "--all", "--json", *ON).out)
    priced = any(row["on_demand"] or row["spot"] for row in wider)
    assert ("--all has other sellers" in said) == priced
    if "it is sold without" in said:
        more = ["--all"] if "with --all" in said else []
        assert json.loads(sizewell("offers", words[0], *more, "--json", *ON).out)


def test_a_slice_of_tpus_is_called_one(sizewell: Sizewell) -> None:
    done = sizewell("offers", "v5litepod-64", *ON)
    assert done.code == 64
    assert "sizewell offers V5E; in a spec write resources: {tpu: {type: v5e, topology: 8x8}}" in done.err
    assert sizewell("offers", "V5E", *ON).code == 0


def test_a_region_of_another_cloud_is_called_that(sizewell: Sizewell) -> None:
    done = sizewell("offers", "--cloud", "aws", "--region", "europe-west3")
    assert (done.code, "europe-west3 is of gcp, and --cloud names aws" in done.err) == (64, True), done.err
    assert "fix: --cloud gcp" in done.err
    assert sizewell("offers", "--cloud", "gcp", "--region", "europe-west3").code == 0


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (("L4", "--region", "eu-central-1a"), "did you mean eu-central-1?"),
        (("ND96isr",), "sizewell offers H100-SXM or sizewell offers H200-SXM"),
    ],
)
def test_a_zone_and_a_family_of_machines_have_a_way_that_helps(
    sizewell: Sizewell, arguments: tuple[str, ...], fix: str
) -> None:
    assert fix in sizewell("offers", *arguments).err
