"""`sizewell import`: files of other tools become specs that are read and sized; what is left out is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.workload.read import read_spec

from .conftest import Sizewell

SKYPILOT_SERVICE = """
name: llama-serve
resources:
  accelerators: {L4:8, A100-80GB:1}
  ports: 8080
  infra: aws/us-east-1
  use_spot: true
  any_of:
    - infra: gcp
    - infra: k8s/mine
envs:
  MODEL: meta-llama/Llama-3.1-8B-Instruct
  HF_TOKEN: null
service:
  replica_policy: {min_replicas: 1, max_replicas: 4, target_qps_per_replica: 2.5}
setup: pip install vllm
run: |
  vllm serve $MODEL \\
    --max-model-len 8192 --tensor-parallel-size $SKYPILOT_NUM_GPUS_PER_NODE --kv-cache-dtype fp8
"""
SKYPILOT_TRAINING = """
name: Fine_Tune
num_nodes: 2
resources: {accelerators: "H100:8", cloud: gcp, region: us-central1, use_spot: True}
file_mounts:
  /data: {source: "s3://my-data"}
  /ckpt: {name: my-ckpt, mode: MOUNT}
run: |
  MASTER_ADDR=$(echo "$SKYPILOT_NODE_IPS" | head -n1)
  torchrun --nnodes 2 --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B \\
    --num_train_epochs 3 --max_seq_length 4096 --per_device_train_batch_size 4 --gradient_accumulation_steps 2
"""
DEPLOYMENT = """
apiVersion: v1
kind: Service
metadata: {name: chat}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: qwen}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4, topology.kubernetes.io/region: europe-west4}
      containers:
      - {name: proxy, image: envoy}
      - name: vllm
        image: vllm/vllm-openai:v0.10.0
        args: ["--model", "Qwen/Qwen2.5-7B-Instruct-AWQ", "--enable-prefix-caching"]
        resources: {limits: {nvidia.com/gpu: "1"}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: sft}
spec:
  parallelism: 2
  template:
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - {key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-A100-SXM4-80GB]}
      containers:
      - name: train
        image: trainer
        command: [/bin/bash, -c]
        args: ["accelerate launch sft.py --model_name $(BASE) --use_peft --lora_r 32 --load_in_4bit --max_steps 500"]
        env: [{name: BASE, value: Qwen/Qwen3-8B}, {name: TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}]
        resources: {limits: {nvidia.com/gpu: 8}}
"""
DSTACK_SERVICE = """
type: service
name: llama31
image: lmsysorg/sglang:latest
env: [HF_TOKEN, MODEL_ID=meta-llama/Llama-3.1-70B-Instruct]
commands: [python3 -m sglang.launch_server --model-path $MODEL_ID --tp 4]
port: 8000
resources: {gpu: "H100:80GB:4", disk: 200GB}
backends: [aws]
regions: [us-east-1]
replicas: 0..3
scaling: {metric: rps, target: 5}
"""
DSTACK_NOTEBOOK = """
type: dev-environment
name: lab
ide: vscode
resources: {gpu: 24GB..}
"""
COMPOSE = """
x-gpu: &gpu
  deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}
services:
  web: {image: nginx, ports: ["80:80"]}
  embeddings:
    <<: *gpu
    image: ghcr.io/huggingface/text-embeddings-inference:1.5
    command: --model-id BAAI/bge-m3 --port 80
"""
LINE = "vllm serve Qwen/Qwen3-8B --quantization=fp8 --enable-lora --lora-modules a=b c=d --max-lora-rank 32"

# The file, the spec that comes of it, keys that it has from the file, what has to be named as assumed and as left out.
FILES: dict[str, tuple[str, str, dict[str, Any], set[str], str]] = {
    "skypilot service": (
        SKYPILOT_SERVICE,
        "llama-serve",
        {
            "kind": "inference",
            "model": {"name": "meta-llama/Llama-3.1-8B-Instruct", "kv": "fp8"},
            "traffic": {"rps": 10.0},
            "resources": {"accelerators": ["L4", "A100-80GB"]},
            "infra": ["aws/us-east-1", "gcp"],
            "engine": {"name": "vllm"},
        },
        {"traffic.input_tokens", "slo"},
        "k8s/mine; --max-model-len 8192; setup; spot",
    ),
    "skypilot training": (
        SKYPILOT_TRAINING,
        "fine-tune",
        {
            "kind": "fine-tuning",
            "training": {"method": "full", "epochs": 3, "sequence_length": 4096, "global_batch": 16 * 4 * 2 * 4096},
            "resources": {"accelerators": ["H100"], "gpus": "16"},
            "spot_policy": "spot",
            "infra": ["gcp/us-central1"],
            "data": {"location": "s3://my-data"},
        },
        {"training.samples", "deadline"},
        "/ckpt",
    ),
    "deployment": (
        DEPLOYMENT,
        "qwen",
        {
            "model": {"name": "Qwen/Qwen2.5-7B-Instruct", "weights": "int4"},
            "resources": {"accelerators": ["nvidia-l4"]},
            "infra": ["gcp/europe-west4"],
        },
        {"traffic.rps"},
        "replicas: 3; prefix-caching; containers: proxy",
    ),
    "job": (
        JOB,
        "sft",
        {
            "model": {"name": "Qwen/Qwen3-8B"},
            "training": {"method": "qlora", "lora": {"rank": 32}, "steps": 500},
            "resources": {"accelerators": ["NVIDIA-A100-SXM4-80GB"], "gpus": "16"},
        },
        {"training.sequence_length", "training.global_batch", "deadline"},
        "",
    ),
    "dstack service": (
        DSTACK_SERVICE,
        "llama31",
        {
            "model": {"name": "meta-llama/Llama-3.1-70B-Instruct"},
            "engine": {"name": "sglang"},
            "traffic": {"rps": 15.0},
            "resources": {"accelerators": ["H100-80GB"]},
            "infra": ["aws/us-east-1"],
        },
        {"traffic.output_tokens"},
        "--tp 4; port; resources.disk",
    ),
    "dstack notebook": (DSTACK_NOTEBOOK, "lab", {"kind": "notebook"}, {"schedule", "idle"}, "ide"),
    "compose": (
        COMPOSE,
        "embeddings",
        {"model": {"name": "BAAI/bge-m3"}, "engine": {"name": "text-embeddings-inference"}},
        {"traffic.rps", "slo"},
        "web; 1 GPU",
    ),
    "command": (
        LINE,
        "service",
        {"model": {"name": "Qwen/Qwen3-8B", "weights": "fp8", "adapters": {"count": 2, "rank": 32}}},
        {"traffic.rps"},
        "",
    ),
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _holds(stated: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return all(_holds(stated.get(key), value) for key, value in wanted.items())
    return bool(stated == wanted)


@pytest.mark.parametrize("case", FILES)
def test_what_a_file_states_stands_in_the_spec_and_the_rest_is_named(case: str, sizewell: Sizewell) -> None:
    text, name, wanted, assumed, left = FILES[case]
    Path("theirs.txt").write_text(text)
    done = sizewell("import", "theirs.txt", "--json")
    assert done.code == 0, done.err
    [said] = json.loads(done.out)
    assert said["written"] == f"{name}.yaml"
    spec = read_spec(f"{name}.yaml", load()).model_dump(mode="json", by_alias=True, exclude_none=True)
    spec["infra"] = ["/".join(place.values()) for place in spec["infra"]]
    if "gpus" in spec["resources"]:
        spec["resources"]["gpus"] = str(spec["resources"]["gpus"]["low"])
    spec["resources"]["accelerators"] = list(spec["resources"]["accelerators"])
    assert _holds(spec, wanted), spec
    assert assumed <= set(said["assumed"])
    comments = Path(f"{name}.yaml").read_text()
    for part in filter(None, left.split("; ")):
        assert any(part in where for where in said["left"]), said["left"]
    assert all(key in comments.partition("\nname:")[0].replace("\n#  ", "") for key in assumed)


@pytest.mark.parametrize("case", ["skypilot training", "dstack notebook", "command"])
def test_what_is_written_is_sized(case: str, sizewell: Sizewell) -> None:
    text, name, *_ = FILES[case]
    Path("theirs.txt").write_text(text)
    done = sizewell("import", "theirs.txt")
    assert done.out.endswith(f"Next:\n  sizewell size {name}.yaml\n")
    assert sizewell("size", f"{name}.yaml", "--on", "2026-11-20", "--json").code in (0, 3)


@pytest.mark.parametrize(
    ("case", "called"),
    [
        ("skypilot service", "a SkyPilot task"),
        ("deployment", "a Kubernetes manifest"),
        ("dstack service", "a dstack configuration"),
        ("compose", "a Compose file"),
        ("command", "a command line"),
    ],
)
def test_size_says_whose_file_it_is(case: str, called: str, sizewell: Sizewell) -> None:
    Path("theirs.yaml").write_text(FILES[case][0])
    done = sizewell("size", "theirs.yaml")
    assert done.code == 64
    assert f"this is {called}, not a spec\n  fix: run: sizewell import theirs.yaml" in done.err
    assert sizewell("import", "theirs.yaml").code == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (DSTACK_NOTEBOOK.replace("dev-environment", "task"), "fix: say what it is: --as chat"),
        ("resources: {accelerators: T4}\nrun: vllm serve /models/mine", "'/models/mine' is not one of the"),
        ("resources: {accelerators: T4}\nservice: {replicas: 2}\nrun: ./serve", "fix: name it: sizewell import"),
        ("services: {web: {image: nginx}}", "nothing asks for an accelerator"),
        ("apiVersion: v1\nkind: {{ .Values.kind }}\n", "render it first: helm template"),
        ("name: a\nkind: notebook\n", "is a spec already\n  fix: run: sizewell size"),
        ("hello", "is none of: a SkyPilot task"),
        ("a: [1", "is not valid YAML"),
        ("name: a\nkind: inference\n# vllm serve this\nmodel: [", "is not valid YAML"),
    ],
)
def test_nothing_is_written_of_what_is_not_understood(text: str, says: str, sizewell: Sizewell) -> None:
    Path("theirs.yaml").write_text(text)
    done = sizewell("import", "theirs.yaml")
    assert done.code == 64
    assert says in done.err
    assert [path.name for path in Path().iterdir()] == ["theirs.yaml"]


def test_the_model_and_the_work_can_be_given(sizewell: Sizewell) -> None:
    Path("theirs.yaml").write_text("name: mine\nresources: {accelerators: T4}\nrun: ./serve")
    assert sizewell("import", "theirs.yaml", "--as", "chat", "--model", "Qwen/Qwen3-8B").code == 0
    assert read_spec("mine.yaml", load()).resources.accelerators == ("T4",)
    again = sizewell("import", "theirs.yaml", "--as", "chat", "--model", "Qwen/Qwen3-8B")
    assert "mine.yaml already exists and is kept" in again.err


def test_a_spec_of_a_stack_has_the_owner_and_the_place_of_the_others(sizewell: Sizewell, project: Path) -> None:
    assert sizewell("import", LINE, "--stack", "dev-aws").code == 0
    text = (project / "stacks/specs/dev-aws/service.yaml").read_text()
    assert all(f"\n{line}\n" in text for line in ("infra: [aws/us-east-1]", "owner: search", "cost_center: c-1"))


def test_a_file_is_not_overwritten_by_its_own_spec(sizewell: Sizewell) -> None:
    Path("qwen.yaml").write_text(DEPLOYMENT)
    assert sizewell("import", "qwen.yaml").code == 0
    assert Path("qwen.yaml").read_text() == DEPLOYMENT
    assert read_spec("qwen-spec.yaml", load()).name == "qwen-spec"
