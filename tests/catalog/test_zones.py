"""Zones that offer a scarce type: rows of AWS are by id, and others who looked found the machines there."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sizewell.sizing import catalog

FACTS = catalog.load(catalog.loading.DATA)
ROOT = Path(__file__).parents[2]
ROWS = [tuple(row) for row in csv.reader((catalog.loading.DATA / "zones.csv").open(encoding="utf-8"))]


def made(*arguments: str) -> list[tuple[str, ...]]:
    command = [sys.executable, str(ROOT / "tools/aws_zones.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [tuple(row) for row in csv.reader(done.stdout.splitlines())]


def test_the_rows_are_what_the_tool_makes() -> None:
    pytest.importorskip("moto")
    assert made() == [row for row in ROWS if row[0] == "aws"]


def test_one_s_own_answers_make_rows(tmp_path: Path) -> None:
    offering = {"InstanceType": "p5.48xlarge", "LocationType": "availability-zone-id", "Location": "use2-az3"}
    small = {**offering, "InstanceType": "t3.micro"}
    (tmp_path / "us-east-2.json").write_text(json.dumps({"InstanceTypeOfferings": [offering, small]}))
    rows = made("--answers", str(tmp_path), "--source", "our account", "--checked", "2026-11-20")
    assert rows == [("aws", "p5.48xlarge", "us-east-2", "use2-az3", "our account", "2026-11-20")]


def test_spot_prices_were_seen_in_zones_that_offer_the_type() -> None:
    """Spot quotes come from other sources than the offerings."""
    quotes = [
        offer
        for offer in FACTS.all_offers
        if re.fullmatch(r"[a-z]+\d-az\d", offer.zone)  # no Local Zone, as use1-atl2-az1: offerings name none of them
        and FACTS.zones("aws", offer.instance_type, offer.region)
    ]
    assert len(quotes) > 20
    for offer in quotes:
        assert offer.zone in FACTS.zones("aws", offer.instance_type, offer.region), offer
