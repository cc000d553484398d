"""Write the prices of machines without accelerators from what Karpenter's providers publish.

A file per cloud and region:

    python tools/machine_prices.py --aws FILE --azure FILE --gcp FILE

Each FILE is the generated table of a checkout: `zz_generated.pricing_aws.go` of aws/karpenter-provider-aws,
`zz_generated.pricing.go` of Azure/karpenter-provider-azure, `initial-prices.json` of
cloudpilot-ai/karpenter-provider-gcp. A cloud that is not named keeps what it has. The row of
`sizing/catalog/data/machine_prices.csv` (source and day) is edited by hand; the checksums are printed.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

from sizewell.sizing.catalog import load, machine_prices
from sizewell.sizing.files import write_whole

Row = tuple[str, str, float, float | None]  # region, type, on demand, spot
_REGION = re.compile(r'^\s*(?:initialOnDemandPrices\[)?"([a-z0-9-]+)"\]?(?::| =).*\{$')
_PRICE = re.compile(r'"([A-Za-z0-9_.-]+)":\s+([0-9.]+)')
_NOT_ASKED = re.compile(r"Basic_.*|.*_?Type ?\d|Standard_(N|M|H|G|PB|SQL).*|SQLG.*")  # hosts, GPUs, large memory, old


def of_go(text: str) -> Iterator[Row]:
    """Prices on demand by region, as both providers generate them."""
    region = ""
    for line in text.splitlines():
        if (starts := _REGION.match(line)) is not None:
            region = starts[1]
        for name, price in _PRICE.findall(line):
            yield region, name, float(price), None


def of_json(text: str) -> Iterator[Row]:
    """Prices on demand and spot by region."""
    for region, markets in json.loads(text)["prices"].items():
        for name, price in markets["on_demand"].items():
            yield region, name, price, markets.get("spot", {}).get(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for cloud in ("aws", "azure", "gcp"):
        parser.add_argument(f"--{cloud}", type=Path)
    catalog = load()
    for cloud, path in vars(parser.parse_args()).items():
        if path is None:
            continue
        text = path.read_text(encoding="utf-8")
        by_region: dict[str, list[str]] = {}
        for region, name, price, spot in of_json(text) if path.suffix == ".json" else of_go(text):
            if price > 0 and not _NOT_ASKED.fullmatch(name) and not catalog.says(cloud, name, "accelerated"):
                row = f"{name},{price:.7g},{'' if not spot else f'{spot:.7g}'}"
                by_region.setdefault(region, []).append(row)
        for region, rows in by_region.items():
            lines = ["instance_type,on_demand,spot", *sorted(rows)]
            write_whole(machine_prices.FOLDER / cloud / f"{region}.csv", "\n".join(lines) + "\n")
        print(cloud, sum(map(len, by_region.values())), "prices", machine_prices.checksum(cloud))


if __name__ == "__main__":
    main()
