"""Write the prices of machines without accelerators from what Karpenter's providers publish.

A file per cloud and market, a row per type and a column per region:

    python tools/machine_prices.py --aws FILE --azure FILE --gcp FILE

Each FILE is the generated table of a checkout: `zz_generated.pricing_aws.go` of aws/karpenter-provider-aws,
`zz_generated.pricing.go` of Azure/karpenter-provider-azure, `initial-prices.json` of
cloudpilot-ai/karpenter-provider-gcp. A cloud that is not named keeps what it has. The row of
`sizing/catalog/data/machine_prices.csv` (source and day) is edited by hand; the checksums are printed.

Azure's table has the price with Windows in cells of some series: a size there costs 0.046 USD an hour and vCPU more
than its siblings in the region, which is the licence to the digit. Those cells are written without it.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sizewell.sizing.catalog import load, machine_prices

Row = tuple[str, str, float, float | None]  # region, type, on demand, spot
_REGION = re.compile(r'^\s*(?:initialOnDemandPrices\[)?"([a-z0-9-]+)"\]?(?::| =).*\{$')
_PRICE = re.compile(r'"([A-Za-z0-9_.-]+)":\s+([0-9.]+)')
_NOT_ASKED = re.compile(r"Basic_.*|.*_?Type ?\d|Standard_(N|M|H|G|PB|SQL).*|SQLG.*")  # hosts, GPUs, large memory, old

_SERIES = re.compile(r"Standard_([DE])(\d+)(?:-\d+)?([a-z]*)_(v\d+)")  # whose sizes cost alike for each vCPU
_WINDOWS = 0.046  # USD an hour and vCPU


def without_windows(prices: Mapping[str, float]) -> dict[str, float]:
    """The prices of a region of Azure, each without a Windows licence.

    >>> without_windows({"Standard_E8as_v5": 0.82, "Standard_E16as_v5": 0.904, "Standard_E16-4as_v5": 0.904})
    {'Standard_E8as_v5': 0.452, 'Standard_E16as_v5': 0.904, 'Standard_E16-4as_v5': 0.904}
    """
    sizes = {name: match for name in prices if (match := _SERIES.fullmatch(name))}
    least: dict[tuple[str, ...], float] = {}
    for name, match in sizes.items():
        key = (match[1], match[3], match[4])
        least[key] = min(least.get(key, prices[name]), prices[name] / int(match[2]))
    plain = dict(prices)
    for name, match in sizes.items():
        vcpus, usual = int(match[2]), least[match[1], match[3], match[4]]
        if abs(prices[name] / vcpus - usual - _WINDOWS) < 0.01 * usual:
            plain[name] = round(prices[name] - _WINDOWS * vcpus, 7)
    return plain


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
        read = list(of_json(text) if path.suffix == ".json" else of_go(text))
        if cloud == "azure":
            regions: dict[str, dict[str, float]] = {}
            for region, name, price, _ in read:
                regions.setdefault(region, {})[name] = price
            read = [
                (region, name, price, None)
                for region, prices in regions.items()
                for name, price in without_windows(prices).items()
            ]
        kept = [
            (region, name, price, spot)
            for region, name, price, spot in read
            if price > 0 and not _NOT_ASKED.fullmatch(name) and not catalog.says(cloud, name, "accelerated")
        ]
        machine_prices.write(cloud, "on-demand", [(region, name, price) for region, name, price, _ in kept])
        if any(spot for *_, spot in kept):
            machine_prices.write(cloud, "spot", [(region, name, spot) for region, name, _, spot in kept if spot])
        print(cloud, len(kept), "prices", machine_prices.checksum(cloud))


if __name__ == "__main__":
    main()
