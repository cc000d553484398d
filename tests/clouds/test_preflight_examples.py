"""Pre-flight of the example stacks: what is asked follows from the resources that their programs register."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizewell.clouds.preflight import azure, gcp
from sizewell.clouds.preflight.needs import needs_of
from sizewell.recording.evaluate import evaluate
from sizewell.sizing.catalog import load
from sizewell.sizing.records.decision import Decision

ROOT = Path(__file__).parents[2]


def example(stack: str):
    decision = Decision.from_json(ROOT / f"stacks/decisions/{stack}.json")
    return needs_of(decision, evaluate(ROOT, stack).resources, load(), {"sizewell:accounts": ["petsnap-dev"]})


@pytest.mark.parametrize("stack", ["dev-gcp", "prod-gcp", "staging-gcp"])
def test_google(stack):
    needs = example(stack)
    modules = {kind.removeprefix("gcp:").partition("/")[0] for kind in needs.types if kind.startswith("gcp:")}
    assert modules <= set(gcp.APIS), "an API that nobody would switch on"
    assert "container.googleapis.com" in gcp.apis_of(needs)
    clustered = [group for group in needs.machines if gcp.zones_of(needs, group)]
    assert clustered
    assert all(zone.startswith(group.region) for group in clustered for zone in gcp.zones_of(needs, group))


@pytest.mark.parametrize("stack", ["dev-azure", "prod-azure"])
def test_azure(stack):
    needs = example(stack)
    modules = {kind.split(":")[1] for kind in needs.types if kind.startswith("azure-native:")}
    assert modules <= set(azure.PROVIDERS), "a resource provider that nobody would register"
    assert azure.ENCRYPTION in azure.features_of(needs)


def test_aws():
    needs = example("prod-aws")
    assert {group.instance_type for group in needs.machines} >= {"g6e.xlarge"}
    assert needs.of("sizewell-aws:index:EksCluster")
