"""A stand-in for a further cloud: mypy lists what it lacks, and its record and rows alone make it sized, priced and
chosen. docs/howto/add-a-cloud.md is written from this.
"""

from __future__ import annotations

import ast
import csv
import re
import textwrap
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from mypy import api

from sizewell.sizing import catalog
from sizewell.sizing.billing import standing
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
RECORD = "sizewell/sizing/providers/cloud.py"
CALLED = {  # by stacks/program.py, `sizewell launch` and components/bursting.py, which import a cloud's modules by name
    "program.py": ("build", "build_ttl", "build_checkpoints"),
    "launching.py": ("store_uri", "target"),
}
ON = date(2026, 11, 20)
CHAT = """
name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {{rps: 4, input_tokens: 1500, output_tokens: 300}}
slo: {{ttft: 2s, tpot: 100ms, percentile: p95}}
infra: ['{cloud}/us-east-1']
resources: {{instance_type: g6.12xlarge}}
"""


def missing(folder: Path, monkeypatch: pytest.MonkeyPatch, *files: str, shadow: Path | None = None) -> set[str]:
    """What mypy misses in these files alone, as "file: argument of what"; `shadow` stands in for the record's file.

    All other modules are skipped, for the time that they cost: mypy's other errors are of types that it does not see.
    """
    monkeypatch.chdir(SRC)
    options = ["--config-file=", f"--cache-dir={folder}", "--follow-imports=skip", "--ignore-missing-imports"]
    options += ["--namespace-packages", "--explicit-package-bases", "--no-error-summary", "--hide-error-context"]
    options += ["--shadow-file", RECORD, str(shadow)] if shadow else []
    said, failed, _ = api.run([*options, *files])
    assert not failed, failed
    found = re.findall(r'^(.+?):\d+: error: Missing named argument "(\w+)" for "(\w+)"', said, re.MULTILINE)
    return {f"{file}: {argument} of {what}" for file, argument, what in found}


def test_a_field_of_percloud_makes_mypy_list_every_table_that_lacks_it(tmp_path, monkeypatch):
    text = (SRC / RECORD).read_text()
    shadow = tmp_path / "cloud.py"
    shadow.write_text(text.replace("    azure: T\n", "    azure: T\n    nimbus: T\n"))
    assert "nimbus" in shadow.read_text()
    texts = {str(path.relative_to(SRC)): path.read_text() for path in (SRC / "sizewell").rglob("*.py")}
    users = {file for file, text in texts.items() if "PerCloud" in text}
    tables = {file for file in users if re.search(r"= PerCloud\[.+\]\(", texts[file])}
    found = missing(tmp_path / "cache", monkeypatch, *sorted(users), shadow=shadow)
    assert found == {f"{file}: nimbus of PerCloud" for file in tables}
    howto = (ROOT / "docs/howto/add-a-cloud.md").read_text()
    assert [file for file in sorted(tables) if f"src/{file}" not in howto] == [], "the how-to lists every table"


def test_a_record_without_a_part_is_named_with_the_part(tmp_path, monkeypatch):
    record = tmp_path / "nimbus.py"
    record.write_text(
        textwrap.dedent("""
        from sizewell.sizing.providers.cloud import Capacity, Cloud

        NIMBUS = Cloud(
            name="nimbus", seller="Nimbus", bills_as=(), data_schemes=(), services=(), clock="", client="",
            capacity=Capacity(forms=(), ends="", stays="a reservation", announced_on_machines=True,
                              ends_when_acknowledged=False),
        )
        """)
    )
    found = missing(tmp_path / "cache", monkeypatch, str(record), RECORD)
    parts = ("account", "provider", "regions", "cluster", "fees", "machines", "files")
    assert found == {f"{record}: {part} of Cloud" for part in parts} | {f"{record}: spot_notice_s of Capacity"}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_modules_that_are_imported_by_name_have_what_is_called_of_them(cloud):
    """Read and not imported: no cloud's SDK need be there."""
    first = next(iter(CLOUDS))
    for file, functions in CALLED.items():
        here, there = (parameters(SRC / "sizewell/components" / name / file) for name in (cloud, first))
        for function in functions:
            assert here.get(function) == there[function], f"components/{cloud}/{file}: {function}"


def parameters(file: Path) -> dict[str, list[str]]:
    """Names of the positional parameters of a module's functions."""
    body = ast.parse(file.read_text()).body
    return {part.name: [each.arg for each in part.args.args] for part in body if isinstance(part, ast.FunctionDef)}


@pytest.fixture
def nimbus(monkeypatch):
    """A cloud like AWS under another name, registered where sizing looks."""
    record = replace(
        CLOUDS.aws,
        name="nimbus",
        seller="Nimbus",
        bills_as=(),
        data_schemes=("nimbus://",),
        services=(),
        client="nimbus",
    )
    for table, part in ((CLOUDS, record), (standing.PARTS, standing.PARTS.aws)):
        monkeypatch.setitem(vars(table), "nimbus", part)
    return record


def rows(folder: Path, name: str, source: str, **where: tuple[str, ...]) -> None:
    """A table of the stand-in: the rows that AWS has there, under its name."""
    with (catalog.loading.DATA / source).open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns = reader.fieldnames or ()
        own = [
            {**row, "cloud": "nimbus"}
            for row in reader
            if row["cloud"] == "aws" and all(row[column] in allowed for column, allowed in where.items())
        ]
    assert own
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(own)


def test_a_cloud_with_a_record_and_rows_is_sized_priced_and_chosen(nimbus, tmp_path):
    machines, regions = ("g6.xlarge", "g6.12xlarge", nimbus.cluster.system_pool.instance_type), ("us-east-1",)
    rows(tmp_path, "shapes.csv", "shapes/aws.csv", instance_type=machines)
    rows(tmp_path, "offers.csv", "offers/aws.csv", instance_type=machines, region=regions)
    rows(tmp_path, "fees.csv", "fees.csv", region=regions)
    rows(tmp_path, "regions.csv", "regions.csv", region=regions)
    known = catalog.load(overlay=tmp_path)

    made = {}
    for cloud in ("nimbus", "aws"):
        spec = parse_spec(CHAT.format(cloud=cloud), catalog=known)
        decision = decide([spec], known, stack=f"prod-{cloud}", on=ON)
        assert isinstance(decision, Decision)
        made[cloud] = decision.workloads[0]

    own, theirs = made.values()
    assert {(pool.cloud, pool.region) for pool in own.pools} == {("nimbus", "us-east-1")}
    # the same machines at the same prices: whatever of the figures came from a comparison with "aws" would differ
    assert own.pools == tuple(pool.model_copy(update={"cloud": "nimbus"}) for pool in theirs.pools)
    assert own.performance == theirs.performance
    assert own.cost == theirs.cost
