"""Whatever YAML a person writes: each of its faults has file, line and column, and all of them come at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sizewell.cli import judging, project
from sizewell.policy.config import read_config as read_policies
from sizewell.preview.guardrails import read_limits
from sizewell.recording.evaluate.project import read_project
from sizewell.resources.usage import read_usage
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.engines import SHIPPED
from sizewell.sizing.catalog.engines.own import with_own
from sizewell.sizing.catalog.rates import read_discounts
from sizewell.sizing.choose.observed import read_observed
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.workload.read import read_spec
from sizewell.teardown.config import read_config as read_teardown

# `^` stands before what is wrong: the mark is taken out before the file is read.
SPEC = """\
name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
slo: {ttft: ^500}
data:
  residency: ^EU
^resurces: {nodes: 2}
"""
POLICIES = """\
profile: ^lenient
levels:
  ^idle-exposur: advisory
  queue-quota: {dev: ^loud}
^waiver: []
"""
TEARDOWN = """\
schema: sizewell.teardown/1
journal: ^http://example/x
coverage: ^0.2
environments:
  dev:
    ^empty_day: 3
    windows:
      - {days: [mon, ^funday], start: ^"7:00", end: "21:00", time_zone: UTC}
"""
GUARDRAILS = """\
increase: {usd_per_month: ^-3, ^percnt: 20}
budgets:
  prod-aws: ^much
"""
RATES = """\
rates:
  - {cloud: aws, usd: ^1 EUR}
  - cloud: aws
    ^percnt: 3
    usd: 1
billing_accounts:
  - {cloud: aws, id: ^123456789012}
"""
USAGE = """\
usage:
  - {resource: audio, ^stored_gb: 4}
  - resource: video
    stored_gigabytes: ^-1
"""
OBSERVED = """\
workload: chat
running: {on: aws/us-east-1, instance_type: g6e.xlarge, nodes: ^none}
utilization: ^lots
"""
ENGINE = """\
like: vllm
^comand: [x]
nodes_max: ^0
"""
STACK = """\
config:
  sizewell:environment: ^test
"""
TWICE = """\
config:
  sizewell:environment: dev
  sizewell:organization: x
  ^sizewell:environment: prod
"""


def _engines(path: Path) -> object:
    folder = path.parent / "catalog"
    (folder / "engines").mkdir(parents=True)
    path.rename(folder / "engines/mine.yaml")
    return with_own(SHIPPED, folder)


def _stack(path: Path) -> object:
    (path.parent / "stacks/config").mkdir(parents=True)
    path.rename(path.parent / "stacks/config/Pulumi.dev-aws.yaml")
    return project.environment(path.parent, "dev-aws")


def _teardown(path: Path) -> object:
    (path.parent / "stacks/config").mkdir(parents=True)
    path.rename(path.parent / "stacks/config/teardown.yaml")
    return read_teardown(path.parent)


def _project(path: Path) -> object:
    path.rename(path.parent / "Pulumi.yaml")
    return read_project(path.parent, "dev")


FILES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "spec": (lambda path: read_spec(path, load()), SPEC, "x.yaml"),
    "spec that states a key twice": (read_spec, "name: x\n^name: y\nkind: notebook\n^kind: notebook\n", "x.yaml"),
    "spec that is no YAML": (read_spec, "name: x\ntraffic: {rps: 4^", "x.yaml"),
    "policies": (read_policies, POLICIES, "x.yaml"),
    "policies of the base": (lambda path: judging.config_text(path.read_text(), "x.yaml"), POLICIES, "x.yaml"),
    "teardown": (_teardown, TEARDOWN, "stacks/config/teardown.yaml"),
    "guardrails": (read_limits, GUARDRAILS, "x.yaml"),
    "rates": (read_discounts, RATES, "x.yaml"),
    "usage": (read_usage, USAGE, "x.yaml"),
    "observed": (lambda path: read_observed(path, load()), OBSERVED, "x.yaml"),
    "engine": (_engines, ENGINE, "catalog/engines/mine.yaml"),
    "stack": (_stack, STACK, "stacks/config/Pulumi.dev-aws.yaml"),
    "stack that states a key twice": (_stack, TWICE, "stacks/config/Pulumi.dev-aws.yaml"),
    "rates that state a key twice": (read_discounts, "rates:\n  - {usd: 1, cloud: aws, ^usd: 2}\n", "x.yaml"),
    "policies that are no YAML": (read_policies, "levels: [^", "x.yaml"),
    "project that is no YAML": (_project, "name: x\nmain: a^: b\n", "Pulumi.yaml"),
}


@pytest.mark.parametrize("name", FILES)
def test_each_fault_has_file_line_and_column(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, marked, file = FILES[name]
    expected = {
        (number, match.start() - index + 1)
        for number, line in enumerate(marked.splitlines(), start=1)
        for index, match in enumerate(re.finditer(r"\^", line))
    }
    path = tmp_path / "x.yaml"
    path.write_text(marked.replace("^", ""), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SizewellError) as raised:
        read(path)
    places = {
        (int(line), int(column))
        for where, line, column in re.findall(r"^(\S+?):(\d+):(\d+): ", str(raised.value), re.MULTILINE)
        if where.endswith(file)
    }
    assert places == expected, str(raised.value)
    assert raised.value.exit_code == 64


def test_the_faults_of_several_specs_come_in_one_run(tmp_path: Path) -> None:
    from sizewell.cli.answers import read_all

    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(SPEC.replace("^", ""), encoding="utf-8")
    with pytest.raises(SizewellError) as raised:
        read_all([tmp_path / "a.yaml", tmp_path / "b.yaml"], load())
    text = str(raised.value)
    assert [text.count(f"{name}.yaml:{place}: ") for name in "ab" for place in ("5:13", "7:14", "8:1")] == [1] * 6
    assert "slo.ttft: must be a duration with its unit" in text
    assert text.count("fix: write 500ms") == 2
    assert text.count("fix: write eu") == 2
    assert text.count("fix: did you mean 'resources'?") == 2
