"""`sizewell launch`: manifests and scripts from a committed decision; nothing is started."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import Sizewell

GOLDEN = Path(__file__).parent / "golden" / "launch.yaml"
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/cli/test_launch.py"
IMAGE = ("--image", "vllm/vllm-openai:v0.11.0", "--model", "/models/llama")  # no network of ours reaches the Hub
TUNE = """
name: tune
kind: fine-tuning
model: {name: meta-llama/Llama-3.1-8B, precision: bf16}
training: {method: lora, samples: 10k, epochs: 1, sequence_length: 2048}
data: {location: "s3://petsnap/chats", size: 2GB}
infra: [aws/us-east-1]
owner: search
cost_center: c-1
"""


@pytest.fixture
def decided(project: Path, decide: Callable[[], Path]) -> Path:
    (project / "stacks/specs/dev-aws/tune.yaml").write_text(TUNE)
    decide()
    return project


def test_golden(project: Path, sizewell: Sizewell) -> None:
    """What a person pipes into kubectl, from a decision that stands beside it."""
    shutil.copy(GOLDEN.with_suffix(".json"), project / "stacks/decisions/dev-aws.json")
    done = sizewell("launch", "dev-aws", "chat", *IMAGE)
    assert done.code == 0, done.err
    if os.environ.get("SIZEWELL_REFRESH"):
        GOLDEN.write_text(done.out, encoding="utf-8")
    stands = GOLDEN.read_text(encoding="utf-8") if GOLDEN.exists() else ""
    if done.out != stands:
        lines = difflib.unified_diff(stands.splitlines(), done.out.splitlines(), "golden", "now", lineterm="", n=2)
        pytest.fail("\n".join([*list(lines)[:60], f"refresh: {REFRESH}"]), pytrace=False)


def test_all_workloads_one_after_the_other(decided: Path, sizewell: Sizewell) -> None:
    found = list(yaml.safe_load_all(sizewell("launch", "dev-aws", *IMAGE).out))
    assert {one["metadata"]["labels"]["sizewell/workload"] for one in found} == {"chat", "tune"}
    assert {"Deployment", "JobSet"} <= {one["kind"] for one in found}
    job = next(one for one in found if one["kind"] == "JobSet")
    main = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    store = next(one["value"] for one in main["env"] if one["name"] == "SIZEWELL_CHECKPOINT_URI")
    assert store.startswith("s3://sizewell-dev-aws-tune-"), "the bucket of the stack's own checkpoint store"
    assert store.endswith("/main")


def test_configuration_says_what_runs_and_flags_say_it_over(decided: Path, sizewell: Sizewell) -> None:
    run = {"chat": {"image": "a/b:1", "namespace": "team"}, "tune": {"image": "c/d:2", "prefix": "second"}}
    run = {name: {**one, "model": "/models/llama"} for name, one in run.items()}
    (decided / "stacks/config/Pulumi.dev-aws.yaml").write_text(yaml.safe_dump({"config": {"sizewell:run": run}}))
    found = list(yaml.safe_load_all(sizewell("launch", "dev-aws").out))
    assert {one["metadata"]["namespace"] for one in found} == {"team", "default"}
    text = sizewell("launch", "dev-aws", "tune", "--image", "e/f:3").out
    assert "e/f:3" in text
    assert "c/d:2" not in text
    assert "/second" in text


def test_an_adopted_cluster_is_spoken_to_in_its_own_words(decided: Path, sizewell: Sizewell) -> None:
    cluster = {"selector": {"gpu.nvidia.com/class": "L40S"}, "queue": "team", "store": "s3://ours/tune"}
    (decided / "stacks/config/Pulumi.dev-aws.yaml").write_text(
        yaml.safe_dump({"config": {"sizewell:cluster": cluster}})
    )
    text = sizewell("launch", "dev-aws", "tune", "--image", "c/d:2").out
    job = next(one for one in yaml.safe_load_all(text) if one["kind"] == "JobSet")
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
    assert "gpu.nvidia.com/class: L40S" in text
    assert "s3://ours/tune/main" in text


def test_kserve_where_there_is_none_is_refused_with_the_way_out(decided: Path, sizewell: Sizewell) -> None:
    """A cluster of ours has no KServe; on one that is there already `pulumi up` reads its definition first."""
    run = {"chat": {"image": "vllm/vllm-openai:v0.11.0", "model": "/models/llama", "form": "kserve"}}
    path = decided / "stacks/config/Pulumi.dev-aws.yaml"
    path.write_text(yaml.safe_dump({"config": {"sizewell:run": run}}))
    done = sizewell("launch", "dev-aws", "chat")
    assert (done.code, done.out) == (64, "")
    assert "run.chat.form: is kserve, and a cluster that the stack builds has no KServe" in done.err
    assert "leave run.chat.form out: a Deployment serves" in done.err
    cluster = {"selector": {"a": "b"}}
    path.write_text(yaml.safe_dump({"config": {"sizewell:run": run, "sizewell:cluster": cluster}}))
    assert "kind: InferenceService" in sizewell("launch", "dev-aws", "chat").out


def test_operators_that_the_stack_has_not_installed_are_named(decided: Path, sizewell: Sizewell) -> None:
    done = sizewell("launch", "dev-aws", "tune", *IMAGE)
    assert "tune needs jobset in the cluster; the stack installs what sizewell:run.tune needs" in done.err


def test_burn_in(decided: Path, sizewell: Sizewell) -> None:
    chat, tune = (
        list(yaml.safe_load_all(sizewell("launch", "dev-aws", name, *IMAGE, "--burn-in").out))
        for name in ("chat", "tune")
    )
    assert chat[-1]["metadata"]["name"] == "chat-load"
    assert tune[-1]["metadata"]["name"] == "tune-burn-in"


def test_slurm(decided: Path, sizewell: Sizewell, tmp_path: Path) -> None:
    done = sizewell("launch", "dev-aws", "tune", *IMAGE, "--format", "slurm")
    assert done.code == 0, done.err
    assert done.out.startswith("#!/bin/bash\n#SBATCH --job-name=tune\n")
    assert subprocess.run(["bash", "-n"], input=done.out, text=True, check=False).returncode == 0
    assert sizewell("launch", "dev-aws", "tune", *IMAGE, "--format", "slurm").out == done.out


@pytest.fixture
def two(decided: Path, sizewell: Sizewell) -> Path:
    """A stack on somebody's cluster, `dev-aws`, and one that takes over, `burst`."""
    folder = decided / "stacks/specs/burst"
    folder.mkdir()
    (folder / "tune.yaml").write_text(TUNE)
    assert sizewell("size", "--stack", "burst", "--on", "2026-09-20").code in (0, 3)
    plain = yaml.safe_load_all(sizewell("launch", "burst", "tune", *IMAGE).out)
    job = next(one for one in plain if one["kind"] == "JobSet")
    env = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
    store = next(one["value"] for one in env if one["name"] == "SIZEWELL_CHECKPOINT_URI").removesuffix("/main")
    cluster = {"selector": {"gpu.nvidia.com/class": "L40S"}, "queue": "team", "store": store}
    path = decided / "stacks/config/Pulumi.dev-aws.yaml"
    path.write_text(yaml.safe_dump({"config": {"sizewell:cluster": cluster}}))
    return path


def test_a_second_stack_takes_over(two: Path, sizewell: Sizewell) -> None:
    line = ("launch", "dev-aws", "tune", *IMAGE, "--then", "burst")
    done = sizewell(*line, "--after", "1h30m")
    assert done.code == 0, done.err
    assert subprocess.run(["bash", "-n"], input=done.out, text=True, check=False).returncode == 0
    assert "first=${1:-dev-aws}; second=${2:-burst}" in done.out
    assert "-ge 5400 ]" in done.out
    assert "-ge 1800 ]" in sizewell(*line).out
    assert json.loads(sizewell(*line, "--json").out)["script"].startswith("#!/bin/bash\n# tune: on dev-aws")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--after", "1h"), "--after is for --then"),
        (("--then", "dev-aws"), "--then names dev-aws itself"),
        (("--then", "nowhere"), "no decision for stack 'nowhere'"),
        (("--then", "burst", "--after", "30"), "--after"),
        (("--then", "burst", "--format", "slurm"), "--then is not available with --format slurm"),
        (("--then", "burst", "--burn-in"), "--then is not available with --burn-in"),
    ],
)
def test_what_cannot_take_over_is_refused(two: Path, sizewell: Sizewell, more: tuple[str, ...], said: str) -> None:
    done = sizewell("launch", "dev-aws", "tune", *IMAGE, *more)
    assert (done.code, done.out) == (64, "")
    assert said in done.err
    assert "  fix: " in done.err


def test_another_store_cannot_take_over(two: Path, sizewell: Sizewell) -> None:
    config = yaml.safe_load(two.read_text())
    config["config"]["sizewell:cluster"]["store"] = "s3://ours/tune"
    two.write_text(yaml.safe_dump(config))
    done = sizewell("launch", "dev-aws", "tune", *IMAGE, "--then", "burst")
    assert done.code == 64
    assert "dev-aws to s3://ours/tune/main" in done.err
    assert "set sizewell:cluster.store of the adopted cluster to the other's store" in done.err


def test_machine(decided: Path, sizewell: Sizewell) -> None:
    done = sizewell("launch", "dev-aws", "tune", *IMAGE, "--format", "machine")
    assert done.code == 0, done.err
    assert subprocess.run(["bash", "-n"], input=done.out, text=True, check=False).returncode == 0
    assert "systemctl enable --now --no-block sizewell-run@0" in done.out


@pytest.mark.parametrize(
    "given",
    [
        {"sizewell:network": {"vpc_id": "vpc-1"}},
        {"sizewell:run": {"tune": {"image": "a/b:1", "env": {"HF_ENDPOINT": "https://hub.internal"}}}},
    ],
)
def test_a_network_of_ones_own_or_a_mirror_may_have_the_hub(decided: Path, sizewell: Sizewell, given: object) -> None:
    (decided / "stacks/config/Pulumi.dev-aws.yaml").write_text(yaml.safe_dump({"config": given}))
    assert sizewell("launch", "dev-aws", "tune", *IMAGE[:2]).code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("dev-aws", "chat"), 64, "chat: image: a decision names no image"),
        (("dev-aws", "chat", "--image", "vllm"), 64, "run.chat.image: must be an image with a tag"),
        (("dev-aws", "chad", *IMAGE), 64, "'chad' is not a runnable workload of dev-aws"),
        (("dev-mars", *IMAGE), 64, "no decision for stack 'dev-mars'"),
        (("dev-aws", "chat", *IMAGE, "--format", "slurm"), 64, "Slurm runs jobs, not services"),
        (("dev-aws", "chat", *IMAGE[:2]), 64, "which the stack's network cannot reach"),
        (("dev-aws", "tune", *IMAGE[:2]), 64, "run.tune.env.HF_ENDPOINT to a mirror in the network"),
        (("dev-aws", *IMAGE, "--format", "machine"), 64, "name one: a machine runs one"),
        (
            ("dev-aws", "tune", *IMAGE, "--format", "machine", "--burn-in"),
            64,
            "--burn-in is not available with --format machine",
        ),
        (("dev-aws", *IMAGE, "--format", "helm"), 64, "got 'helm'"),
    ],
)
def test_wrong_usage(decided: Path, sizewell: Sizewell, words: tuple[str, ...], code: int, message: str) -> None:
    done = sizewell("launch", *words)
    assert done.code == code
    assert message in done.err
    assert done.out == ""


def test_a_stack_of_two_is_no_one_script(decided: Path, sizewell: Sizewell) -> None:
    (decided / "stacks/specs/dev-aws/other.yaml").write_text(TUNE.replace("name: tune", "name: other"))
    (decided / "stacks/specs/dev-aws/chat.yaml").unlink()
    sizewell("size", "--stack", "dev-aws", "--on", "2026-09-20")
    done = sizewell("launch", "dev-aws", *IMAGE, "--format", "slurm")
    assert done.code == 64
    assert "name one: sbatch takes one script" in done.err


def test_the_stack_s_own_queue_is_named_where_nobody_names_one(decided: Path, sizewell: Sizewell) -> None:
    def queue(**cluster: object) -> str:
        stated = {"sizewell:cluster": {"selector": {"a": "b"}, **cluster}} if cluster else {}
        (decided / "stacks/config/Pulumi.dev-aws.yaml").write_text(yaml.safe_dump({"config": stated}))
        found = yaml.safe_load_all(sizewell("launch", "dev-aws", "tune", *IMAGE).out)
        labels = next(one for one in found if one["kind"] == "JobSet")["metadata"]["labels"]
        return str(labels.get("kueue.x-k8s.io/queue-name", ""))

    assert queue() == "", "tune is one machine, whose cluster has no queues"
    assert queue(operators=["jobset"]) == "dev-aws"
    assert queue(operators=[]) == "", "who has all operators has a queue of its own, if any"
    path = decided / "stacks/decisions/dev-aws.json"
    made = json.loads(path.read_text())
    (tune,) = (one for one in made["workloads"] if one["spec"]["name"] == "tune")
    tune["scheduler"] = "kubernetes"
    tune["parallelism"] = tune.get("parallelism") or {"data": 2}
    tune["pools"][0] |= {"nodes_max": 2}
    path.write_text(json.dumps(made))
    assert queue() == "tune"


@pytest.mark.parametrize(
    ("cloud", "machines", "widest"),
    [
        ("aws", {"instance_type": "p5.48xlarge", "region": "us-east-1"}, "topology.k8s.aws/network-node-layer-1"),
        ("gcp", {"instance_type": "a3-megagpu-8g", "region": "us-central1"}, "cloud.google.com/gce-topology-block"),
    ],
)
def test_jobs_of_machines_that_stand_all_the_time_are_packed_as_by_the_stack(
    decided: Path, sizewell: Sizewell, cloud: str, machines: dict[str, str], widest: str
) -> None:
    path = decided / "stacks/decisions/dev-aws.json"
    made = json.loads(path.read_text())
    (tune,) = (one for one in made["workloads"] if one["spec"]["name"] == "tune")
    tune |= {"scheduler": "kubernetes", "parallelism": {"data": 16}, "schedule": None}
    reserved = {"mode": "reservation"}
    counts = {"nodes_min": 2, "nodes_initial": 2, "nodes_max": 2, "accelerators_per_node": 8, "accelerator": "h100-sxm"}
    tune["pools"][0] |= {**machines, **counts, "cloud": cloud, "capacity": reserved, "market": "on-demand"}
    path.write_text(json.dumps(made))
    done = sizewell("launch", "dev-aws", "tune", *IMAGE)
    assert done.code == 0, done.err
    job = next(one for one in yaml.safe_load_all(done.out) if one["kind"] == "JobSet")
    pods = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"]
    assert pods["annotations"]["kueue.x-k8s.io/podset-preferred-topology"] == widest


@pytest.mark.parametrize(
    ("config", "words", "message"),
    [
        ({}, ("--queue", "tume"), "'tume' is not a queue of tune on dev-aws: it has none"),
        ({"cluster": {"queue": "team"}}, ("--queue", "tema"), "its queue is team\n  fix: team"),
        ({"cluster": {"queue": "team"}}, ("--queue", "team", "--namespace", "lab"), "is not in namespace lab"),
        ({"cluster": {"queue": "team"}}, ("--queue", "team"), ""),
        ({"cluster": {}}, ("--queue", "dev-aws"), ""),
        ({"cluster": {"operators": []}}, ("--queue", "theirs"), "fix: name it as sizewell:cluster.queue"),
    ],
)
def test_a_queue_that_is_not_there_is_refused(
    decided: Path, sizewell: Sizewell, config: dict[str, dict[str, object]], words: tuple[str, ...], message: str
) -> None:
    """Kueue leaves what names such a queue waiting, and says nothing."""
    for part in config.values():
        part["selector"] = {"gpu.nvidia.com/class": "L40S"}
    stated = {f"sizewell:{key}": value for key, value in config.items()}
    (decided / "stacks/config/Pulumi.dev-aws.yaml").write_text(yaml.safe_dump({"config": stated}))
    done = sizewell("launch", "dev-aws", "tune", *IMAGE, *words)
    assert (done.code, bool(done.out)) == ((64, False) if message else (0, True))
    assert message in done.err
