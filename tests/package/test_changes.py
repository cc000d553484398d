"""The first five of docs/howto/what-a-change-touches.md, made in a copy of the package: they work, and touch those files."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/what-a-change-touches.md").read_text(encoding="utf-8")
DATA = "sizing/catalog/data"
ON = ("--on", "2026-11-20")
CHAT = """
name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
owner: search
cost_center: c-1
"""
RULE = '''from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, Violation
from sizewell.resources.stackfacts import Pool


def pool_called_bob(pool: Pool, _: Parameters) -> Verdict:
    """Every pool is called bob."""
    return None if pool.resource.name == "bob" else Violation("a pool is not called bob", "call it bob")


RULE = Rule(
    id="pool-called-bob", area="correctness", subject="pools", prevents="names that nobody knows", judge=pool_called_bob
)
'''


class Copy:
    """A copy of the package, and a project of one stack; `touched` are the files of the package that were changed."""

    def __init__(self, folder: Path) -> None:
        self.package, self.project = folder / "sizewell", folder / "project"
        self.touched: set[str] = set()
        shutil.copytree(ROOT / "src/sizewell", self.package)
        (self.project / "stacks/specs/dev-aws").mkdir(parents=True)
        settings = "name: shop\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n"
        (self.project / "Pulumi.yaml").write_text(settings)
        shutil.copy(ROOT / "stacks/__main__.py", self.project / "stacks/__main__.py")
        self.spec()

    def spec(self, more: str = "") -> None:
        (self.project / "stacks/specs/dev-aws/chat.yaml").write_text(CHAT + more)

    def row(self, file: str, *, like: dict[str, str], **cells: str) -> None:
        """One row more, with the cells of the first row that has those of `like`, but for `cells`."""
        for row in self.rows(file, like)[:1]:
            self.add(file, row | cells)

    def rows(self, file: str, like: dict[str, str]) -> list[dict[str, str]]:
        with (self.package / DATA / file).open(newline="", encoding="utf-8") as stream:
            return [row for row in csv.DictReader(stream) if like.items() <= row.items()]

    def add(self, file: str, row: dict[str, str]) -> None:
        with (self.package / DATA / file).open("a", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerow(row.values())
        self.touched.add(f"{DATA}/{file}")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        code = "import sys; from sizewell.cli.main import main; sys.argv[0] = 'sizewell'; sys.exit(main())"
        paths = os.pathsep.join((str(self.package.parent), os.environ.get("PYTHONPATH", "")))
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=self.project, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
            timeout=300,
        )  # fmt: skip

    def decided(self) -> dict[str, Any]:
        done = self.run("size", "--stack", "dev-aws", *ON)
        assert done.returncode in (0, 3), done.stderr
        decision = json.loads((self.project / "stacks/decisions/dev-aws.json").read_text())
        workload: dict[str, Any] = decision["workloads"][0]
        return workload

    def previewed(self) -> str:
        done = self.run("preview", "dev-aws", "--engine", "offline", "--format", "json", *ON)
        assert done.returncode in (0, 1, 2, 3), done.stderr
        return done.stdout

    def sound(self) -> None:
        code = "from sizewell.sizing import catalog; from sizewell.sizing.catalog.check import check; print(*check(catalog.load()), sep='\\n')"
        environment = {**os.environ, "PYTHONPATH": str(self.package.parent)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == ""


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


@pytest.fixture
def files_of(copy: Copy) -> Callable[[str], set[str]]:
    def files(change: str) -> set[str]:
        """The files that the page names for a change."""
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| {change} |"))
        return set(re.findall(r"`([^`]+)`", line.split("|")[2]))

    return files


FilesOf = Callable[[str], set[str]]


def test_a_gpu_by_rows_alone_is_sized_priced_built_judged_and_previewed(copy: Copy, files_of: FilesOf) -> None:
    copy.row("accelerators.csv", like={"key": "l4"}, key="z1", name="Z1", aliases="", memory_bytes="48305799168")
    copy.row("shapes/aws.csv", like={"instance_type": "g6.xlarge"}, instance_type="g9.xlarge", accelerator="z1")
    price = {"instance_type": "g6.xlarge", "region": "us-east-1", "market": "on-demand"}
    copy.row("offers/aws.csv", like=price, instance_type="g9.xlarge", usd_per_hour="0.3000")
    copy.spec("infra: [aws/us-east-1]\nresources: {accelerators: [Z1]}\n")
    copy.sound()

    workload = copy.decided()
    (pool,) = workload["pools"]
    assert (pool["instance_type"], pool["accelerator"], pool["region"]) == ("g9.xlarge", "z1", "us-east-1")
    machines = next(item for item in workload["line_items"] if "g9.xlarge" in item["what"])
    assert float(machines["usd_per_unit"]) == 0.3
    preview = copy.previewed()
    stack = json.loads(preview)["stacks"][0]
    assert "g9.xlarge" in json.dumps(stack["rows"]), "what is built is priced"
    judged = copy.run("policy", "dev-aws", *ON)
    assert judged.returncode in (0, 1), judged.stderr
    assert "unknown accelerator" not in judged.stdout
    assert copy.touched == files_of("a GPU")


def test_a_region_by_rows_alone(copy: Copy, files_of: FilesOf) -> None:
    old, new = "eu-north-1", "eu-north-9"
    copy.row("regions.csv", like={"cloud": "aws", "region": old}, region=new, place="Kiruna")
    for row in copy.rows("offers/aws.csv", {"region": "us-east-1", "market": "on-demand"}):
        copy.add("offers/aws.csv", row | {"region": new, "usd_per_hour": str(float(row["usd_per_hour"]) * 0.98)})
    for row in copy.rows("fees.csv", {"cloud": "aws", "region": "us-east-1"}):
        copy.add("fees.csv", row | {"region": new})
    copy.spec("infra: [aws/eu-north-9]\ndata: {residency: eu}\n")
    copy.sound()
    workload = copy.decided()
    assert {pool["region"] for pool in workload["pools"]} == {new}
    assert workload["cost"].get("unpriced", []) == []
    assert new in copy.previewed()
    assert copy.touched == files_of("a region")


def test_a_source_of_prices(copy: Copy, files_of: FilesOf) -> None:
    copy.add("sources.csv", {"key": "our-broker", "source": "the list of our broker, November"})
    price = {"instance_type": "g6.xlarge", "region": "us-east-1", "market": "on-demand"}
    copy.row("offers/aws.csv", like=price, usd_per_hour="0.7000", effective_from="2026-11-19", source="@our-broker")
    copy.spec("infra: [aws/us-east-1]\nresources: {instance_type: g6.xlarge}\nspot_policy: on-demand\n")
    copy.sound()
    machines = next(item for item in copy.decided()["line_items"] if "g6.xlarge" in item["what"])
    assert (machines["source"], machines["date"]) == (
        "the list of our broker, November",
        "2026-11-19",
    )
    assert copy.touched == files_of("a source of prices")


def test_a_cloud_as_a_priced_alternative(copy: Copy, files_of: FilesOf) -> None:
    like = {"cloud": "lambda", "accelerator": "a10", "accelerators": "1"}
    (machine,) = {row["instance_type"] for row in copy.rows("shapes/others.csv", like)}
    copy.row("shapes/others.csv", like=like, cloud="nimbus", instance_type="one-a10")
    price = {"cloud": "lambda", "instance_type": machine, "market": "on-demand"}
    copy.row("offers/others.csv", like=price, cloud="nimbus", instance_type="one-a10", usd_per_hour="0.0500")
    copy.spec()
    copy.sound()
    assert "nimbus" in {alternative["cloud"] for alternative in copy.decided()["alternatives"]}
    assert copy.touched == files_of("a cloud, as a priced alternative")


def test_a_policy_rule_is_one_file(copy: Copy, files_of: FilesOf) -> None:
    (copy.package / "policy/rules/pool_called_bob.py").write_text(RULE)
    copy.touched.add("policy/rules/pool_called_bob.py")
    copy.spec("infra: [aws/us-east-1]\n")
    copy.decided()
    done = copy.run("policy", "dev-aws", *ON)
    assert done.returncode == 1, done.stderr
    assert "a pool is not called bob" in done.stdout
    assert {re.sub(r"pool_called_bob", "<rule>", file) for file in copy.touched} == files_of("a policy rule")
