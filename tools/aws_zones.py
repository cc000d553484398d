"""Rows of `zones.csv` for AWS: `python tools/aws_zones.py` prints them, for review.

They are of the types that AWS sells as capacity blocks, in the regions where the catalog knows them to be sold. Zones
are named by id (`use1-az4`), which is the same place for every account; names (`us-east-1a`) are not. The answers of
DescribeInstanceTypeOfferings are those that the package moto carries; with `--answers FOLDER` they are one's own, a
file `REGION.json` for each region, written by

    aws ec2 describe-instance-type-offerings --region REGION --location-type availability-zone-id > REGION.json
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from sizewell.sizing.catalog import Catalog, load

SOURCE = "@moto-zones"
CHECKED = "2026-10-01"  # of moto 5.2.5: when it was published


def answers(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Region and offerings of each file, packed or plain, as moto and as the command line write them."""
    for path in sorted(folder.glob("*.json*")):
        data = path.read_bytes()
        stated = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        yield path.name.partition(".")[0], stated["InstanceTypeOfferings"] if isinstance(stated, dict) else stated


def recorded() -> Path:
    """Where moto has AWS's answers by zone id."""
    return Path(str(files("moto"))) / "ec2/resources/instance_type_offerings/availability-zone-id"


def rows(folder: Path, catalog: Catalog, source: str, checked: str) -> list[tuple[str, ...]]:
    """Rows by type and region; says on standard error which offerings the catalog knows no sale of."""
    scarce = {s.instance_type for s in catalog.shapes if s.cloud == "aws" and "capacity-block" in s.markets}
    zones: dict[tuple[str, str], set[str]] = defaultdict(set)
    for region, offerings in answers(folder):
        for offering in offerings:
            if offering["InstanceType"] in scarce:
                zones[offering["InstanceType"], region].add(offering["Location"])
    made: list[tuple[str, ...]] = []
    for (name, region), ids in sorted(zones.items()):
        offers, sold = catalog.offers("aws", name), catalog.sold.get(("aws", name), ())
        if region in {offer.region for offer in offers} | {place.region for place in sold}:
            made.append(("aws", name, region, " | ".join(sorted(ids)), source, checked))
        else:
            print(f"left out: {name} in {region}, where the catalog knows no sale of it", file=sys.stderr)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=Path, metavar="FOLDER", help="own answers of AWS in place of moto's")
    parser.add_argument("--source", default=SOURCE, help="what the rows name as their source")
    parser.add_argument("--checked", default=CHECKED, metavar="DATE", help="when AWS was asked")
    given = parser.parse_args()
    text = io.StringIO()
    found = rows(given.answers or recorded(), load(), given.source, given.checked)
    csv.writer(text, lineterminator="\n").writerows(found)
    print(text.getvalue(), end="")


if __name__ == "__main__":
    main()
