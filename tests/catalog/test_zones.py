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


GOOGLE = (  # GoogleCloudPlatform/region-picker@HEAD data/regions.json of August 2025
    "africa-south1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1 asia-south2 "
    "asia-southeast1 asia-southeast2 australia-southeast1 australia-southeast2 europe-central2 europe-north1 "
    "europe-southwest1 europe-west1 europe-west10 europe-west12 europe-west2 europe-west3 europe-west4 europe-west6 "
    "europe-west8 europe-west9 me-central1 me-central2 me-west1 northamerica-northeast1 northamerica-northeast2 "
    "southamerica-east1 southamerica-west1 us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4"
)


def test_the_regions_are_those_that_the_clouds_publish() -> None:
    session = pytest.importorskip("botocore.session").get_session()
    amazon = {name for part in ("aws", "aws-us-gov") for name in session.get_available_regions("ec2", part)}
    known = {cloud: {region for where, region in FACTS.region_facts if where == cloud} for cloud in ("aws", "gcp")}
    assert known["aws"] == amazon
    assert set(GOOGLE.split()) <= known["gcp"]  # newer ones are in the catalog
