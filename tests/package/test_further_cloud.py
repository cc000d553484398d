"""A stand-in for a further cloud: mypy lists what it lacks; its record and rows alone make it sized, priced and chosen;
with a folder in each room it is built, previewed, judged and taken down. docs/howto/add-a-cloud.md is written from this.
"""

from __future__ import annotations

import ast
import csv
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import MISSING, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from mypy import api

from sizewell.sizing import catalog
from sizewell.sizing.billing import standing
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec
from tests.package.further_cloud import OVERLAY, TABLES, with_further_cloud

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
RECORD = "sizewell/sizing/providers/cloud.py"
CALLED = {  # by stacks/program.py, `sizewell launch` and components/bursting.py, which import a cloud's modules by name
    "program.py": ("build", "build_ttl", "build_checkpoints"),
    "launching.py": ("store_uri", "target"),
}
ON = date(2026, 11, 20)
FREELY_NAMED = ("components/nimbus/pools.py", "components/nimbus/types.py")
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
    assert tables == {f"sizewell/{file}" for file in TABLES}, "the stand-in is in every table"
    howto = (ROOT / "docs/howto/add-a-cloud.md").read_text()
    assert [file for file in sorted(tables) if f"src/{file}" not in howto] == [], "the how-to lists every table"
    own = [path.relative_to(OVERLAY).as_posix() for path in OVERLAY.rglob("*.py") if path.name != "__init__.py"]
    told = [file.replace("nimbus", "<cloud>") for file in own if file not in FREELY_NAMED]
    assert [file for file in sorted(told) if f"`{file}`" not in howto] == [], "the how-to lists every file"


def test_a_record_without_a_part_is_named_with_the_part(tmp_path, monkeypatch):
    record = tmp_path / "nimbus.py"
    record.write_text(
        textwrap.dedent("""
        from sizewell.sizing.providers.cloud import Capacity, Cloud

        NIMBUS = Cloud(
            name="nimbus", seller="Nimbus", bills_as=(), data_schemes=(), services=(), clock="", client="",
            capacity=Capacity(forms=(), block_days_ahead=None, block_nodes_max=None, ends="", stays="a reservation",
                              announced_on_machines=True, ends_when_acknowledged=False),
        )
        """)
    )
    found = missing(tmp_path / "cache", monkeypatch, str(record), RECORD)
    parts = ("account", "provider", "regions", "cluster", "fees", "machines", "files")
    assert found == {f"{record}: {part} of Cloud" for part in parts} | {f"{record}: spot_notice_s of Capacity"}


RECORDS = {  # of a cloud in a higher room, and where it stands
    "sizewell/resources/readers/cloud.py": ("Types",),
    "sizewell/teardown/types.py": ("Types",),
    "sizewell/teardown/reading.py": ("Reads", "Fees"),
    "sizewell/teardown/act.py": ("Writes",),
    "sizewell/teardown/login.py": ("Login",),
}


def test_the_records_of_higher_rooms_require_every_part(tmp_path, monkeypatch):
    wanted, records = set(), []
    for number, (file, names) in enumerate(RECORDS.items()):
        module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
        record = tmp_path / f"nimbus_{number}.py"
        record.write_text(f"import {module.__name__} as room\n" + "".join(f"room.{name}()\n" for name in names))
        records.append(str(record))
        parts = [(part, name) for name in names for part in fields(getattr(module, name))]
        wanted |= {f"{record}: {part.name} of {name}" for part, name in parts if part.default is MISSING}
    assert missing(tmp_path / "cache", monkeypatch, *records, *RECORDS) == wanted


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


TUNE = """
name: tune
kind: fine-tuning
model: meta-llama/Llama-3.1-8B
framework: pytorch
training: {tokens: 100M, sequence_length: 2048, global_batch: 128k, method: lora}
infra: [nimbus/us-east-1]
resources: {instance_type: g6.12xlarge}
scheduler: none
owner: ml-platform
"""
SETTINGS = """
config:
  sizewell:accounts: ["123456789012"]
  sizewell:run:
    tune: {image: "registry.example/tune:1.0", suspend: true}
"""
STACKS = ("dev-nimbus", "checkpoints-dev-nimbus")


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A folder with the package in which the further cloud stands."""
    return with_further_cloud(tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A project of one workload on the further cloud."""
    project = tmp_path_factory.mktemp("shop")
    for folder in ("stacks/specs", "stacks/config"):
        (project / folder).mkdir(parents=True)
    shutil.copy(SRC / "sizewell/templates/project/stacks/__main__.py", project / "stacks")
    (project / "Pulumi.yaml").write_text("name: shop\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
    (project / "stacks/specs/tune.yaml").write_text(TUNE)
    for stack in STACKS:
        (project / f"stacks/config/Pulumi.{stack}.yaml").write_text(SETTINGS)
    return project


def run(house: Path, project: Path, *command: str) -> str:
    """What a program prints in the project, with the package that has the further cloud."""
    settings = {**os.environ, "PYTHONPATH": f"{house}{os.pathsep}{ROOT}", "NIMBUS": str(project / "nimbus.json")}
    done = subprocess.run(
        [sys.executable, *command], check=False, cwd=project, env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sizewell(house: Path, project: Path, *arguments: str) -> Any:
    printed = run(house, project, "-m", "sizewell.cli.main", *arguments, "--on", ON.isoformat(), "--json")
    return json.loads(printed)


def test_a_further_cloud_is_sized_built_previewed_judged_and_taken_down(house, shop):
    sizewell(house, shop, "size", "stacks/specs/tune.yaml", "--stack", "dev-nimbus")
    decision = json.loads((shop / "stacks/decisions/dev-nimbus.json").read_text())
    (workload,) = decision["workloads"]
    (pool,) = workload["pools"]
    assert (pool["cloud"], pool["instance_type"]) == ("nimbus", "g6.12xlarge")

    previewed = sizewell(house, shop, "preview", *STACKS, "--engine", "offline")
    of_machines, of_stores = previewed["stacks"]
    assert of_machines["coverage"] == {
        "detected": 3,
        "estimated": 1,
        "free": 2,
        "unpriced": 0,
        "unknown": 0,
        "not_judged": 0,
        "by_use": 0,
    }
    assert of_stores["coverage"] == {
        "detected": 3,
        "estimated": 0,
        "free": 3,
        "unpriced": 0,
        "unknown": 0,
        "not_judged": 0,
        "by_use": 0,
    }
    (row,) = of_machines["rows"]
    assert row["kind"] == "NimbusPool"
    assert row["after"]["expected"] == of_machines["after"]["usd_per_month"]["expected"] != "0.00"

    judged = sizewell(house, shop, "policy", *STACKS)
    violated = {stack: {each["rule"] for each in judged[stack]["results"]} for stack in STACKS}
    assert violated["dev-nimbus"] == {"owner-and-expiry-tags"}, "it has a guard, metrics and checkpoints"
    assert "checkpoint-locked" in violated["checkpoints-dev-nimbus"], "its bucket is known to hold checkpoints"

    torn = json.loads(run(house, shop, str(Path(__file__).with_name("further_teardown.py")), str(shop), "dev-nimbus"))
    assert (torn["source"], torn["verdicts"]) == ("Nimbus", ["warn", "empty"])
    assert torn["would"] == [["tune", "empty", "would"]]
    assert (torn["emptied"], torn["size"], torn["woken"]) == (
        "nimbus resize group-1: 0",
        0,
        "nimbus resize group-1: 1",
    )
    assert torn["left"] == ["group group-2 (1.00 USD per month)"]
    assert 'fetch nimbus "nimbus.example"' in torn["workflow"]
    assert torn["trust"]["nimbus"]["subject"] == "repo:shop/infra:environment:teardown"


def test_a_cloud_that_is_in_every_table_lacks_nothing(house, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SRC", house)
    found = missing(tmp_path / "cache", monkeypatch, RECORD, *(f"sizewell/{file}" for file in TABLES))
    assert found == set()
