"""Fees by class that are read from lists: databases and caches of AWS."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from sizewell.sizing.catalog import fee_lists, load
from sizewell.sizing.catalog.rates import parse_discounts
from sizewell.sizing.money import Priced, Unpriced

ON = date(2026, 11, 26)


def test_the_digest_of_the_catalog_covers_the_files():
    assert {each.name: each.sha256 for each in load().fee_lists} == {
        path.stem: fee_lists.checksum(path.stem) for path in fee_lists.FOLDER.iterdir()
    }


@pytest.mark.parametrize(
    ("key", "region", "usd"),
    [  # as aws.amazon.com/rds/*/pricing and /elasticache/pricing have them
        ("rds.postgresql.single_az.db.r6g.large", "us-east-1", "0.225"),
        ("rds.postgresql.multi_az.db.t4g.medium", "us-east-1", "0.129"),
        ("rds.mysql.single_az.db.m5.xlarge", "us-east-1", "0.342"),  # the list says "db.m5.xl"
        ("rds.aurora-postgresql.db.r6g.large", "us-east-1", "0.26"),
        ("rds.single_az.gp3.gb_month", "eu-west-1", "0.127"),
        ("elasticache.valkey.cache.r7g.large", "us-east-1", "0.1752"),
    ],
)
def test_a_fee_of_a_class_is_that_of_the_list(key, region, usd):
    price = load().fee("aws", key, region, ON)
    assert isinstance(price, Priced)
    assert price.amount == Decimal(usd)


@pytest.mark.parametrize(
    ("key", "region", "on"),
    [
        ("rds.postgresql.single_az.db.r9z.large", "us-east-1", ON),
        ("rds.postgresql.single_az.db.r6g.large", "../rds/us-east-1", ON),
        ("rds.postgresql.single_az.db.r6g.large", "us-east", ON),
        ("rds.postgresql.single_az.db.r6g.large", "", ON),
        ("rds.postgresql.single_az.db.r6g.large", "us-east-1", date(2026, 1, 1)),  # before anybody saw it
    ],
)
def test_what_no_list_has_is_not_known(key, region, on):
    assert isinstance(load().fee("aws", key, region, on), Unpriced)


def test_the_newer_of_a_row_and_a_list_counts():
    key = "rds.postgresql.single_az.db.t3.large"  # a row of May 2026 and a list of October
    dates = [load().fee("aws", key, "us-east-1", on).date for on in (date(2026, 6, 1), ON)]
    assert dates == ["2026-05-03", "2026-10-15"]


def test_an_own_rate_goes_before_a_list():
    rates = parse_discounts({"rates": [{"cloud": "aws", "fee": "elasticache.*", "percent": 10}]})
    price = replace(load(), rates=rates).fee("aws", "elasticache.redis.cache.m5.large", "us-east-1", ON)
    assert price.amount == Decimal("0.1404")
