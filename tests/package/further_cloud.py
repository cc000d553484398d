"""A copy of the package with a further cloud in it: its own files, and one import and one entry for each table."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

SRC = Path(__file__).parents[2] / "src/sizewell"
OVERLAY = Path(__file__).parent / "nimbus"
TABLES = {  # file -> table, what is imported for it, its entry
    "sizing/providers/__init__.py": ("CLOUDS", "from sizewell.sizing.providers.nimbus import NIMBUS", "NIMBUS"),
    "sizing/billing/standing.py": ("PARTS", "from sizewell.sizing.billing import nimbus", "nimbus.parts"),
    "launch/registries.py": ("LOGINS", "", "()"),
    "components/places.py": ("BEYOND", "", "()"),
    "cli/scaffold.py": ("LOGINS", "", 'Login("", "", lambda answers: {})'),
    "clouds/clients.py": ("CLIENTS", "from sizewell.clouds.nimbus import Nimbus", "Nimbus"),
    "clouds/preflight/run.py": ("CHECKS", "from sizewell.clouds.preflight import nimbus", "nimbus"),
    "clouds/stock/asking.py": ("STOCKS", "from sizewell.clouds.stock import nimbus", "nimbus"),
    "clouds/preflight/versions.py": ("LISTINGS", "", "Listing(lambda client, account, region: [])"),
    "clouds/prices/price_lists.py": ("PRICE_LISTS", "from sizewell.clouds.prices import nimbus", "nimbus.PRICES"),
    "resources/facts.py": ("TYPES", "from sizewell.resources.readers import nimbus", "nimbus.TYPES"),
    "resources/tables/__init__.py": ("TABLES", "from sizewell.resources.tables import nimbus", "(nimbus.TABLE,)"),
    "preview/render/bills.py": ("BILLS", "", "NO_BILL"),
    "teardown/units.py": ("TYPES", "from sizewell.teardown.nimbus import types as nimbus", "nimbus.TYPES"),
    "teardown/clients.py": ("READS", "from sizewell.teardown.nimbus import reads as nimbus", "nimbus.READS"),
    "teardown/schedules.py": ("LOGINS", "from sizewell.teardown.nimbus import login as nimbus", "nimbus.LOGIN"),
    "teardown/act.py": (
        "WRITES",
        "from sizewell.teardown.nimbus import writes as nimbus",
        "Writes(empty=nimbus.empty, wake=nimbus.wake, publish=None)",
    ),
}
MACHINES, REGION = ("g6.xlarge", "g6.12xlarge", "m7i.xlarge"), "us-east-1"
OWN = ("shapes", "offers")  # a file of the catalog for each cloud
SHARED = ("regions", "fees")  # one file for all, a column of which names the cloud


def with_further_cloud(folder: Path) -> Path:
    """The folder to put on the path: the package as it is here, with the stand-in built in."""
    package = folder / "sizewell"
    shutil.copytree(SRC, package)  # with its compiled modules, so that nothing is compiled again
    shutil.copytree(OVERLAY, package, dirs_exist_ok=True)
    _edit(package / "sizing/providers/cloud.py", r"(    aws: T\n)", r"\1    nimbus: T\n")
    for file, (table, imported, entry) in TABLES.items():
        _edit(package / file, rf"(?m)^({table}: Final = PerCloud\[.+\]\()", rf"\g<1>nimbus={entry}, ")
        if imported:
            _edit(package / file, r"(from __future__ import annotations\n)", rf"\1\n{imported}\n")
    data = package / "sizing/catalog/data"
    for name in OWN:
        columns, rows = rows_of(data / f"{name}/aws.csv")
        write(data / f"{name}/nimbus.csv", columns, rows)
    for name in SHARED:
        columns, rows = rows_of(data / f"{name}.csv")
        write(data / f"{name}.csv", columns, rows, more=True)
    return folder


def rows_of(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The rows that AWS has in a table of the catalog for a few machines in one region, as the stand-in's."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns = list(reader.fieldnames or ())
        rows = [{**row, "cloud": "nimbus"} for row in reader if row["cloud"] == "aws" and _is_wanted(row)]
    assert rows, path
    return columns, rows


def _is_wanted(row: dict[str, str]) -> bool:
    return row.get("instance_type", MACHINES[0]) in MACHINES and row.get("region", REGION) == REGION


def write(path: Path, columns: list[str], rows: list[dict[str, str]], *, more: bool = False) -> None:
    """Write a table, or write on at its end."""
    with path.open("a" if more else "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if not more:
            writer.writeheader()
        writer.writerows(rows)


def _edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text())
    assert count == 1, (path, pattern)
    path.write_text(text)
