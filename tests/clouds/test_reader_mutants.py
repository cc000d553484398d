"""Faults planted into the readers of prices and into what accepts them: each has to be found by the tests beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FEES, MACHINES, GOOGLE = "test_fee_prices.py", "test_prices.py", "test_google_prices.py"
AWS, AZURE, GCP = "clouds/prices/aws.py", "clouds/prices/azure.py", "clouds/prices/gcp.py"
METER, REFRESH = "clouds/prices/fee_meter.py", "sizing/catalog/refresh.py"
REFRESH_FEES = "sizing/catalog/refresh_fees.py"
MUTANTS: list[tuple[str, str, str, str]] = [  # file, what stands there, what stands there instead, tests
    (AWS, 'if line and not line.endswith("\\n"):', "if False:", MACHINES),
    (AWS, "if len(cells) != width:", "if False:", MACHINES),
    (AWS, 'or cells[software] not in ("", "NA")', "or False", MACHINES),
    (AWS, 'or (option >= 0 and cells[option] not in ("", "OnDemand"))', "or False", MACHINES),
    (AWS, 'if not seen:\n        raise CloudError("aws price list", "unanswered", "lists no Linux machine on demand")',
     "if False:\n        pass", MACHINES),
    (AWS, 'currency = "USD" if "USD" in prices else next(iter(prices))', 'currency = "USD"', FEES),
    (AWS, "attributes.get(place) == region", "True", FEES),
    (AWS, "all(attributes.get(name) == value for name, value in (*meter.attributes, *meter.asked))", "True", FEES),
    (AWS, "re.fullmatch(_PREFIX + meter.name, usage)", "re.match(_PREFIX + meter.name, usage)", FEES),
    (AWS, "if key not in newest or when > newest[key][0]:", "if key not in newest or when < newest[key][0]:", MACHINES),
    (AZURE, 'if item.get("type") != "Consumption" or item.get("tierMinimumUnits"):', "if False:", MACHINES),
    (AZURE, "Windows|", "", MACHINES),
    (AZURE, r"\bWin\b|", "", MACHINES),
    (AZURE, "or _NO_LINUX_MACHINE.search(product)", "", MACHINES),
    (AZURE, '"Low Priority" in sku', "False", MACHINES),
    (AZURE, 'spot = sku.endswith(" Spot")', "spot = False", MACHINES),
    (AZURE, "EVERYWHERE if place in GLOBAL else region", "region", FEES),
    (AZURE, '(meter.sku, "skuName"), ', "", FEES),
    (GCP, 'Decimal(str(price.get("nanos") or 0)) * _NANO', "Decimal(0)", GOOGLE),
    (GCP, "return (past or timeline or [{}])[-1]", "return (timeline or [{}])[-1]", FEES),
    (GCP, "if not listed:\n        raise", "if False:\n        raise", GOOGLE),
    (GCP, "each = each / _HOURS", "each = each", GOOGLE),
    (GCP, "if len(rates) != 1:", "if not rates:", GOOGLE),
    (GCP, 'if part.currency != "USD":', "if False:", GOOGLE),
    (GCP, "region if region in places else EVERYWHERE", "region", FEES),
    (METER, 'if self.free_allowance and start == "0" and _nothing(usd):', "if False:", FEES),
    (METER, "bound = str(self.free_below)", 'bound = "0"', FEES),
    (REFRESH, "if place.whole and known and Decimal(len(missing)) > MISSING_MAX * len(known):", "if False:", MACHINES),
    (REFRESH, 'if offer.market == "spot" and top is not None and offer.usd_per_hour >= top:', "if False:", MACHINES),
    (REFRESH, ("if last is not None " "and not " "last.usd_per_hour / " "STEADY <= " "offer.usd_per_hour"), "if False and not 0 <= 0", MACHINES),
    (REFRESH, 'if row.currency != "USD":', "if False:", MACHINES),
    (REFRESH, "if row.unit.strip().lower() not in HOURLY:", "if False:", MACHINES),
    (REFRESH, ("if not usd.is_finite() " "or usd " "<= 0 or " "usd in " "SENTINELS:"), ("if not usd.is_finite() or " "usd <= 0:"), MACHINES),
    (REFRESH, "if row.since > on.isoformat():", "if False:", MACHINES),
    (REFRESH, ("for key, offer in " "offers.items() " "if key " "not in " "contradicted}"), ("for key, offer in " "offers.items()}"), MACHINES),
    (REFRESH_FEES, "if row.unit != row.meter_unit:", "if False:", FEES),
    (REFRESH_FEES, "if place not in contradicted:", "if True:", FEES),
    (REFRESH_FEES, "if usd == 0 and (usual or not known):", "if False:", FEES),
    (REFRESH_FEES, "Decimal(row.usd) * Decimal(row.per)", "Decimal(row.usd)", FEES),
]  # fmt: skip


@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=lambda mutant: f"{Path(mutant[0]).name}: {mutant[1].splitlines()[0][:60]}"
)
def test_every_planted_text_stands_in_its_file_once(mutant: tuple[str, str, str, str]) -> None:
    file, stands, instead, tests = mutant
    assert (ROOT / "src/sizewell" / file).read_text(encoding="utf-8").count(stands) == 1
    assert stands != instead
    assert (Path(__file__).parent / tests).is_file()


@pytest.mark.soak
@pytest.mark.parametrize("tests", [FEES, MACHINES, GOOGLE])
def test_the_copy_without_a_fault_passes(tmp_path: Path, tests: str) -> None:
    done = run(copied(tmp_path), tests)
    assert done.returncode == 0, done.stdout[-1500:]


@pytest.mark.soak
@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=lambda mutant: f"{Path(mutant[0]).name}: {mutant[1].splitlines()[0][:60]}"
)
def test_a_planted_fault_is_found(tmp_path: Path, mutant: tuple[str, str, str, str]) -> None:
    """The package is copied, the fault planted, and the tests beside the reader run on the copy until one fails."""
    file, stands, instead, tests = mutant
    package = copied(tmp_path)
    target = package / file
    target.write_text(target.read_text(encoding="utf-8").replace(stands, instead), encoding="utf-8")
    done = run(package, tests)
    assert done.returncode == 1, f"{file}: {stands!r} as {instead!r} is not found\n{done.stdout[-1500:]}"
    assert " failed" in done.stdout


def copied(folder: Path) -> Path:
    package = folder / "src" / "sizewell"
    shutil.copytree(ROOT / "src" / "sizewell", package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def run(package: Path, tests: str) -> subprocess.CompletedProcess[str]:
    """Without those that kill a refresh at many points: they take long and know nothing of what a reader reads."""
    options = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "not killed_at")
    command = (sys.executable, "-m", "pytest", *options, f"tests/clouds/{tests}")
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
