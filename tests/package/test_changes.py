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
PRETRAIN = """
name: chat
kind: training
model: {params: 2B, layers: 24, hidden: 2560, heads: 20, kv_heads: 20, ffn: 6912, vocab: 32000, precision: bf16}
framework: jax
training: {tokens: 40B, sequence_length: 2048, global_batch: 1M, method: full, optimizer: adamw}
data: {location: "gs://shop/text", size: 160GB}
checkpoint: {interval: auto, keep: 4}
deadline: 30d
infra: [gcp/us-east5]
resources: {tpu: {type: z9}}
owner: search
cost_center: c-1
"""
RULE = '''

@rule("pool-called-bob", area="correctness", subject="pools", prevents="names that nobody knows")
def pool_called_bob(pool: Pool, _: Parameters) -> Verdict:
    """Every pool is called bob."""
    return None if pool.inputs.get("nodeGroupName") == "bob" else Violation("a pool is not called bob", "call it bob")
'''
ROW = """- rule: pool-called-bob
  bad: [{type: "aws:eks/nodeGroup:NodeGroup", name: alice, inputs: {instanceTypes: [g6.xlarge]}}]
  mend: {"alice:nodeGroupName": bob}
  says: {"alice": "a pool is not called bob"}
  fix: "call it bob"
"""
SCHEMA = (
    "import json; from sizewell.policy.config import schema; print(json.dumps(schema(), indent=2, ensure_ascii=False))"
)
COMMAND = '''"""`sizewell bob`: what is called bob."""

import click

from sizewell.cli import output
from sizewell.cli.commands import Command

DESCRIPTION = "Count what is called bob."
EXAMPLES = """example:
  sizewell bob

exit code: 0 counted, 64 bad input
"""


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.option("--json", is_flag=True, help="print the count as JSON")
def command(args):
    output.print_json({"bobs": 3}) if args.json else print("3 are called bob")
    return 0
'''


# What the machines of `chat` start: without it they would idle, and are refused.
RUNS = """config:
  sizewell:run:
    chat: {image: "123456789012.dkr.ecr.us-east-1.amazonaws.com/vllm/vllm-openai:v0.11.0", model: /models/llama-3.1-8b}
"""


class Copy:
    """A copy of the package, and a project of one stack; `touched` are the files of the package that were changed."""

    def __init__(self, folder: Path) -> None:
        self.package, self.project, self.stack = folder / "sizewell", folder / "project", "dev-aws"
        self.touched: set[str] = set()
        shutil.copytree(ROOT / "src/sizewell", self.package)
        (self.project / "stacks").mkdir(parents=True)
        settings = "name: shop\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n"
        (self.project / "Pulumi.yaml").write_text(settings)
        shutil.copy(ROOT / "stacks/__main__.py", self.project / "stacks/__main__.py")
        (self.project / "stacks/config").mkdir()
        (self.project / "stacks/config/Pulumi.dev-aws.yaml").write_text(RUNS)
        self.spec()

    def spec(self, text: str = CHAT, *, more: str = "") -> None:
        folder = self.project / "stacks/specs" / self.stack
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "chat.yaml").write_text(text + more)

    def row(self, file: str, *, like: dict[str, str], **cells: str) -> None:
        """One row more, with the cells of the first row that has those of `like`, but for `cells`."""
        self.add(file, self.rows(file, like)[0] | cells)

    def rows(self, file: str, like: dict[str, str]) -> list[dict[str, str]]:
        with (self.package / DATA / file).open(newline="", encoding="utf-8") as stream:
            return [row for row in csv.DictReader(stream) if like.items() <= row.items()]

    def add(self, file: str, row: dict[str, str]) -> None:
        with (self.package / DATA / file).open("a", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerow(row.values())
        self.touched.add(f"{DATA}/{file}")

    def environment(self) -> dict[str, str]:
        paths = os.pathsep.join((str(self.package.parent), os.environ.get("PYTHONPATH", "")))
        return {**os.environ, "PYTHONPATH": paths}

    def run(self, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        code = "import sys; from sizewell.cli.main import main; sys.argv[0] = 'sizewell'; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=folder or self.project, env=self.environment(), capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def python(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.package.parent, env=self.environment(), capture_output=True, text=True,
            check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def decided(self) -> dict[str, Any]:
        done = self.run("size", "--stack", self.stack, *ON)
        assert done.returncode in (0, 3), done.stdout + done.stderr
        decision = json.loads((self.project / f"stacks/decisions/{self.stack}.json").read_text())
        workload: dict[str, Any] = decision["workloads"][0]
        return workload

    def previewed(self) -> str:
        done = self.run("preview", self.stack, "--engine", "offline", "--format", "json", *ON)
        assert done.returncode in (0, 1, 2, 3), done.stderr
        return done.stdout

    def seen(self, machine: str) -> None:
        """That the preview prices a machine that the stack builds, and that the rules know what it carries."""
        stack = json.loads(self.previewed())["stacks"][0]
        assert machine in json.dumps(stack["rows"]), "what is built is priced"
        judged = self.run("policy", self.stack, *ON)
        assert judged.returncode in (0, 1), judged.stderr
        assert "unknown accelerator" not in judged.stdout

    def sound(self) -> None:
        code = "from sizewell.sizing import catalog; from sizewell.sizing.catalog.check import check; print(*check(catalog.load()), sep='\\n')"
        environment = {**os.environ, "PYTHONPATH": str(self.package.parent)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.stdout + done.stderr).strip() == ""


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


# cloud -> (accelerator and machine that are copied, the new machine, what else its row says, region)
GPUS = {
    "aws": ("l4", "g6.xlarge", "g9.xlarge", {}, "us-east-1"),
    "gcp": ("l4", "g2-standard-8", "g9-standard-8", {"cloud_accelerator": "nvidia-z1"}, "us-central1"),
    "azure": ("a100-80gb-pcie", "Standard_NC24ads_A100_v4", "Standard_NC24ads_Z1_v9", {}, "eastus"),
}


@pytest.mark.parametrize("cloud", GPUS)
def test_a_gpu_by_rows_alone_is_sized_priced_built_judged_and_previewed(
    copy: Copy, files_of: FilesOf, cloud: str
) -> None:
    chip, old, new, traits, region = GPUS[cloud]
    copy.stack = f"dev-{cloud}"
    copy.row("accelerators.csv", like={"key": chip}, key="z1", name="Z1", aliases="", memory_bytes="48305799168")
    shape = {"instance_type": new, "accelerator": "z1", **traits}
    copy.row(f"shapes/{cloud}.csv", like={"instance_type": old}, **shape)
    price = {"instance_type": old, "region": region, "market": "on-demand"}
    copy.row(f"offers/{cloud}.csv", like=price, instance_type=new, usd_per_hour="0.3000")
    copy.spec(more=f"infra: [{cloud}/{region}]\nresources: {{accelerators: [Z1]}}\n")
    copy.sound()

    workload = copy.decided()
    (pool,) = workload["pools"]
    assert (pool["instance_type"], pool["accelerator"], pool["region"]) == (new, "z1", region)
    machines = next(item for item in workload["line_items"] if new in item["what"])
    assert float(machines["usd_per_unit"]) == 0.3
    copy.seen(new)
    assert {file.replace(cloud, "<cloud>") for file in copy.touched} == files_of("a GPU")


def test_a_tpu_by_rows_alone_is_a_slice_of_several_machines(copy: Copy, files_of: FilesOf) -> None:
    """As a GPU, and its slices and the zones that sell it."""
    old, new, region = "ct6e-standard-4t", "ct9z-standard-4t", "us-east5"
    copy.row("accelerators.csv", like={"key": "tpu-v6e"}, key="tpu-z9", name="TPU Z9", aliases="TPU Z9")
    copy.row("shapes/gcp.csv", like={"instance_type": old}, instance_type=new, accelerator="tpu-z9")
    slices = {"machine_type": old, "topology": "4x4"}
    named = {"generation": "z9", "gke_label": "tpu-z9-slice", "api_type": "z9-16"}
    copy.row("slices.csv", like=slices, accelerator="tpu-z9", machine_type=new, **named)
    price = {"instance_type": old, "region": region, "market": "on-demand"}
    copy.row("offers/gcp.csv", like=price, instance_type=new, usd_per_hour="4.0000")
    copy.row("zones.csv", like={"instance_type": old, "region": region}, instance_type=new)
    copy.stack = "dev-gcp"
    copy.spec(PRETRAIN)
    copy.sound()

    (pool,) = copy.decided()["pools"]
    assert (pool["instance_type"], pool["tpu_topology"], pool["nodes_max"]) == (new, "4x4", 4)
    copy.seen(new)
    more = {f"{DATA}/slices.csv", f"{DATA}/zones.csv"}
    assert {file.replace("gcp", "<cloud>") for file in copy.touched} == files_of("a GPU") | more


def test_a_region_by_rows_alone(copy: Copy, files_of: FilesOf) -> None:
    old, new = "eu-north-1", "eu-north-9"
    copy.row("regions.csv", like={"cloud": "aws", "region": old}, region=new, place="Kiruna")
    for row in copy.rows("offers/aws.csv", {"region": "us-east-1", "market": "on-demand"}):
        copy.add("offers/aws.csv", row | {"region": new, "usd_per_hour": str(float(row["usd_per_hour"]) * 0.98)})
    for row in copy.rows("fees.csv", {"cloud": "aws", "region": "us-east-1"}):
        copy.add("fees.csv", row | {"region": new})
    copy.spec(more="infra: [aws/eu-north-9]\ndata: {residency: eu}\n")
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
    copy.spec(more="infra: [aws/us-east-1]\nresources: {instance_type: g6.xlarge}\nspot_policy: on-demand\n")
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


def test_a_policy_rule_is_three_files(copy: Copy, files_of: FilesOf) -> None:
    """The rule in the module of its subject, a row of cases, and the generated schema, which lists it."""
    rules, cases = "policy/rules/nodes.py", "tests/policy/cases/correctness.yaml"
    tests = copy.package.parent / "tests/policy"
    shutil.copytree(ROOT / "tests/policy/cases", tests / "cases")
    for name in ("test_cases.py", "ends.py", "points.yaml"):
        shutil.copy(ROOT / "tests/policy" / name, tests / name)
    for path, text in ((copy.package / rules, RULE), (tests / "cases/correctness.yaml", ROW)):
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    (copy.package / "schemas/policy.schema.json").write_text(copy.python("-c", SCHEMA), encoding="utf-8")
    copy.touched |= {rules, cases, "schemas/policy.schema.json"}

    row = "pool-called-bob or every_rule_has_a_row"
    judged = copy.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", row, str(tests / "test_cases.py"))
    assert "5 passed" in judged, judged
    named = "from sizewell.policy.announced import announced; print(*(type(rule).__name__ for rule in announced()[:1]))"
    assert copy.python("-c", named) == "Announcement\n", "the pack answers from the schema, before rules are loaded"
    copy.spec(more="infra: [aws/us-east-1]\n")
    copy.decided()
    done = copy.run("policy", copy.stack, *ON)
    assert done.returncode == 1, done.stderr
    assert "a pool is not called bob" in done.stdout
    shown = {file.replace("nodes", "<subject>").replace("correctness", "<area>") for file in copy.touched}
    assert shown == files_of("a policy rule")
    assert len(shown) == 3


def test_a_policy_rule_that_finds_nothing_changes_no_page(copy: Copy) -> None:
    """No page counts the rules: a comment and a page that are recorded stay as they are."""
    module = copy.package / "policy/rules/nodes.py"
    silent = re.sub("return None if .*", "return None", RULE)
    module.write_text(module.read_text(encoding="utf-8") + silent, encoding="utf-8")
    example = ROOT / "examples/repositories/typescript"
    for name, form in (("comment.md", "markdown"), ("page.html", "html")):
        plan = ("--plan", str(example / "recorded/plan.json"), "--policies", str(example / "policy/config.yaml"))
        done = copy.run("preview", "prod", "--on", "2026-11-22", "--new-only", *plan, "--format", form, folder=example)
        assert done.stdout == (example / "recorded" / name).read_text(encoding="utf-8"), done.stderr


def edited(copy: Copy, file: str, old: str, new: str) -> None:
    path = copy.package / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (file, old)
    path.write_text(text.replace(old, new), encoding="utf-8")
    copy.touched.add(file)


def test_an_output_format_is_a_file_and_its_name(copy: Copy, files_of: FilesOf) -> None:
    body = "def render(preview):\n    return f'{len(preview.stacks)} stack of bob\\n'\n"
    (copy.package / "preview/render/bob.py").write_text(body)
    copy.touched.add("preview/render/bob.py")
    edited(copy, "cli/preview.py", '"html", "focus")', '"html", "focus", "bob")')
    copy.decided()
    done = copy.run("preview", copy.stack, "--engine", "offline", "--format", "bob", *ON)
    assert "1 stack of bob" in done.stdout, done.stderr
    assert {re.sub("bob", "<format>", file) for file in copy.touched} == files_of("an output format")


def test_a_command_is_a_file_and_its_line(copy: Copy, files_of: FilesOf) -> None:
    """What holds for every command holds for it without a line in a test: help, exit codes, options, JSON."""
    (copy.package / "cli/bob.py").write_text(COMMAND, encoding="utf-8")
    copy.touched.add("cli/bob.py")
    last = '    "completion": "print'
    edited(copy, "cli/main.py", last, f'    "bob": "count what is called bob",\n{last}')
    assert copy.run("bob").stdout == "3 are called bob\n"
    assert json.loads(copy.run("bob", "--json", "-q").stdout) == {"bobs": 3}
    assert "did you mean bob?" in copy.run("bobb").stderr

    judges = copy.package.parent / "tests/cli"
    shutil.copytree(ROOT / "tests/cli", judges)
    files = [str(judges / name) for name in ("test_command.py", "test_every_command.py")]
    held = copy.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-k", "bob", *files)
    assert "3 passed" in held, held
    assert {file.replace("bob", "<command>") for file in copy.touched} == files_of("a command")


def test_a_key_of_the_spec(copy: Copy, files_of: FilesOf) -> None:
    """Read, shown with its default and reason, and in the reference; the stage that reads it is the fourth file."""
    people = '    platform_engineers: Annotated[CountOrZero, Field(le=10_000)] = default(1, "someone operates the clusters")\n'
    edited(
        copy, "sizing/workload/model.py", people, people + '    bobs: CountOrZero = default(3, "a team has three")\n'
    )
    key = "team.platform_engineers,"
    edited(copy, "sizing/workload/data/keys.csv", key, f"team.bobs,How many are called bob\n{key}")
    spec = copy.project / "stacks/specs" / copy.stack / "chat.yaml"
    copy.spec(more="team: {platform_engineers: 1}\n")
    shown = copy.run("size", str(spec), "--show-spec", *ON)
    assert "bobs: 3  # default: a team has three" in shown.stdout, shown.stdout + shown.stderr
    copy.spec(more="team: {bobs: -1}\n")
    refused = copy.run("size", str(spec), "--show-spec", *ON)
    assert refused.returncode == 64
    assert "team.bobs" in refused.stderr
    assert copy.touched <= files_of("a key of the spec")
    assert files_of("a key of the spec") - copy.touched == {"sizing/workload/sections.py"}, (
        "where model.py has no place"
    )


def test_an_inference_engine_is_one_file(copy: Copy, files_of: FilesOf) -> None:
    body = (
        "from dataclasses import replace\n\nfrom sizewell.sizing.catalog.engines.vllm import ENGINE as VLLM\n\n"
        'ENGINE = replace(VLLM, name="bob", default_for=frozenset())\n'
    )
    (copy.package / "sizing/catalog/engines/bob.py").write_text(body)
    copy.touched.add("sizing/catalog/engines/bob.py")
    copy.spec(more="engine: bob\n")
    assert copy.decided()["task"]["engine"]
    assert {re.sub("bob", "<engine>", file) for file in copy.touched} == files_of("an inference engine")
