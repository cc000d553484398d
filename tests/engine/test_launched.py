"""What runs on a cluster, under the real engine: made with its queue and operators, the same again, and gone again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

COMPONENTS = Path(__file__).parents[1] / "components"
sys.path[:0] = [str(COMPONENTS), str(COMPONENTS / "aws")]

from decisions import decision, pool, serving, training  # noqa: E402

from sizewell.sizing.records.decision import Capacity, Task  # noqa: E402

KUBECONFIG = {
    "kind": "Config",
    "current-context": "gpu",
    "contexts": [{"name": "gpu", "context": {"cluster": "gpu", "user": "gpu"}}],
    "clusters": [{"name": "gpu", "cluster": {"server": "https://gpu.example.net"}}],
    "users": [{"name": "gpu", "user": {"token": "t0"}}],
}
TASK = Task(model="meta-llama/Llama-3.1-8B", family="decoder", weights="bf16", precision="bf16", method="pretrain")
QUEUED = pool(
    "gcp", "a3-megagpu-8g", "h100-sxm", 8, nodes=(0, 4, 4), capacity=Capacity(mode="queued"), market="flex-start"
)
MADE = decision(
    "dev-gcp",
    training("pretrain", QUEUED, scheduler="kubernetes", task=TASK),
    serving("chat", pool("gcp", "g2-standard-8", "l4", 1, role="replicas"), scheduler="kubernetes", task=TASK),
)


def configured(engine, stack, runs, **more):
    MADE.model_copy(update={"stack": stack}).write(engine.project / "stacks" / "decisions" / f"{stack}.json")
    engine.run("stack", "init", stack)
    for name, image in runs.items():
        engine.run("config", "set", "-s", stack, "--path", f"sizewell:run.{name}.image", image)
        engine.run("config", "set", "-s", stack, "--path", f"sizewell:run.{name}.model", "/models/mine")
        if name == "pretrain":  # whose decision names no data
            engine.run("config", "set", "-s", stack, "--path", f"sizewell:run.{name}.env.SIZEWELL_DATA", "synthetic")
    for path, value in more.items():
        engine.run("config", "set", "-s", stack, "--path", f"sizewell:{path}", value)


def kinds(engine):
    return sorted(one["type"].rsplit(":", 1)[-1] for one in engine.cloud("kubernetes").values())


def same_again_and_gone(engine, stack):
    changes = [step for step in engine.preview(stack)["steps"] if step["op"] not in ("same", "read")]
    assert [(step["urn"], step.get("diffReasons")) for step in changes] == []
    engine.destroy(stack)
    assert {package: engine.cloud(package) for package in ("gcp", "kubernetes")} == {"gcp": {}, "kubernetes": {}}


@pytest.mark.soak
def test_a_queued_stack_with_what_runs_on_it(engine):
    configured(engine, "dev-gcp", {"pretrain": "train:2.8", "chat": "vllm/vllm-openai:v0.11.0"})
    engine.up("dev-gcp")
    made = kinds(engine)
    assert {"JobSet", "Deployment", "ClusterQueue", "LocalQueue", "ProvisioningRequestConfig", "Release"} <= set(made)
    job = next(one for one in engine.cloud("kubernetes").values() if one["type"].endswith(":JobSet"))
    assert job["inputs"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "pretrain"
    engine.run("config", "set", "-s", "dev-gcp", "--path", "sizewell:run.pretrain.image", "train:2.9")
    steps = {step["urn"].rsplit("::", 1)[-1]: step["op"] for step in engine.preview("dev-gcp")["steps"]}
    assert "replace" in steps["pretrain-jobset"] or steps["pretrain-jobset"] in (
        "create-replacement",
        "delete-replaced",
    )
    engine.run("config", "set", "-s", "dev-gcp", "--path", "sizewell:run.pretrain.image", "train:2.8")
    same_again_and_gone(engine, "dev-gcp")


@pytest.mark.soak  # test_hybrid.py brings one up, and down again, each time
def test_a_cluster_that_is_there_already(engine):
    configured(engine, "dev-gcp", {"pretrain": "train:2.8"})
    engine.run("config", "set", "-s", "dev-gcp", "--secret", "sizewell:kubeconfig", json.dumps(KUBECONFIG))
    engine.run("config", "set", "-s", "dev-gcp", "--path", "sizewell:cluster.selector.rack", "h100")
    engine.up("dev-gcp")
    assert engine.cloud("gcp") == {}
    assert {"JobSet", "ClusterQueue", "Release"} <= set(kinds(engine))
    assert "gpu.example.net" not in json.dumps(engine.export("dev-gcp"))
    same_again_and_gone(engine, "dev-gcp")


def test_a_namespace_that_is_not_there_ends_the_update_before_anything_is_made(engine):
    configured(engine, "dev-gcp", {"pretrain": "train:2.8"})
    engine.run("config", "set", "-s", "dev-gcp", "--secret", "sizewell:kubeconfig", json.dumps(KUBECONFIG))
    engine.run("config", "set", "-s", "dev-gcp", "--path", "sizewell:cluster.selector.rack", "h100")
    engine.run("config", "set", "-s", "dev-gcp", "--path", "sizewell:run.pretrain.namespace", "team")
    with pytest.raises(AssertionError, match="namespace-team-has-to-be-there"):
        engine.up("dev-gcp")
    assert engine.cloud("kubernetes") == {}
