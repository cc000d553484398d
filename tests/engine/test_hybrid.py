"""examples/hybrid under the real engine and the policy pack: a burst pool joins the EKS cluster that is there already."""

from __future__ import annotations

import json
import shutil

import harness
import pytest

from sizewell.components.aws.burst import ADDONS

EXAMPLE = harness.ROOT / "examples/hybrid"
ADDON = "aws:eks/addon:Addon"  # of the cluster: read, and nothing of the stack's


@pytest.fixture
def hybrid(tmp_path):
    engine = harness.project(tmp_path, source=EXAMPLE)
    shutil.copytree(EXAMPLE / "catalog", engine.project / "catalog")
    shutil.copytree(harness.ROOT / "policy", engine.project / "policy", ignore=shutil.ignore_patterns("__pycache__"))
    engine.run("stack", "init", "prod")
    return engine


def made(engine):
    return {
        (package, one["type"].rsplit(":", 1)[-1])
        for package in ("aws", "kubernetes")
        for one in engine.cloud(package).values()
        if one["type"] != ADDON
    }


def test_a_burst_pool_comes_up_beside_ones_own_machines_and_goes(hybrid):
    ids = [f"onprem:{addon}" for addon in ADDONS]
    addons = {key: {"type": ADDON, "name": key, "inputs": {"clusterName": "onprem"}, "urn": key} for key in ids}
    (hybrid.clouds / "aws.json").write_text(json.dumps(addons))
    said = hybrid.up("prod", "--policy-pack", "policy").stdout
    assert "[mandatory]" not in said
    assert "cost-total" in said, "the pack saw the stack whole"
    for part in (("aws", "NodeGroup"), ("aws", "MetricAlarm"), ("aws", "Budget"), ("kubernetes", "ClusterQueue")):
        assert part in made(hybrid), part
    assert {("aws", "Cluster"), ("aws", "Vpc")} & made(hybrid) == set()
    (job,) = [one["inputs"] for one in hybrid.cloud("kubernetes").values() if one["type"].endswith(":JobSet")]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "prod"

    hybrid.destroy("prod")
    assert made(hybrid) == set()
    assert sorted(hybrid.cloud("aws")) == sorted(ids), "what was there is there"
