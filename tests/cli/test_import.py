"""`sizewell import`: files of other tools become specs that are read and sized; what is left out is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

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


GPU = "resources: {limits: {nvidia.com/gpu: 8}}"
WRAPPED = {  # kinds that other operators add: (the text, workload, what the spec holds)
    "kserve": (
        f"""
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: llama}}
spec:
  predictor:
    nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
    model:
      modelFormat: {{name: huggingface}}
      args: [--model_name=llama3, --model_id=meta-llama/Meta-Llama-3-8B-Instruct]
      {GPU}
""", "chat", {"model": {"name": "meta-llama/Meta-Llama-3-8B-Instruct"}, "resources": {"accelerators": ["nvidia-l4"]}},
    ),
    "kserve by its storage": (
        f"""
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: llama}}
spec: {{predictor: {{model: {{modelFormat: {{name: huggingface}}, storageUri: "hf://Qwen/Qwen3-8B", {GPU}}}}}}}
""", "chat", {"model": {"name": "Qwen/Qwen3-8B"}},
    ),
    "pytorchjob": (
        f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: sft}}
spec:
  pytorchReplicaSpecs:
    Master: {{replicas: 1, template: {{spec: &pod {{
      nodeSelector: {{nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}},
      containers: [{{name: t, image: t, command: [torchrun, train.py, --model_name_or_path, Qwen/Qwen3-8B], {GPU}}}]}}}}}}
    Worker: {{replicas: 3, template: {{spec: *pod}}}}
""", "finetune", {"model": {"name": "Qwen/Qwen3-8B"}, "resources": {"gpus": "32"}},
    ),
    "mpijob": (
        f"""
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: sft}}
spec:
  mpiReplicaSpecs:
    Launcher: {{replicas: 1, template: {{spec: {{containers: [{{name: l, command: [mpirun, python, train.py, --model, Qwen/Qwen3-8B]}}]}}}}}}
    Worker: {{replicas: 2, template: {{spec: {{containers: [{{name: w, {GPU}}}]}}}}}}
""", "finetune", {"model": {"name": "Qwen/Qwen3-8B"}},
    ),
    "trainjob": (
        """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: sft}
spec:
  trainer:
    numNodes: 2
    command: [torchrun, train.py, --model_name_or_path, Qwen/Qwen3-8B]
    resourcesPerNode: {requests: {nvidia.com/gpu: 4}}
""", "finetune", {"model": {"name": "Qwen/Qwen3-8B"}},
    ),
    "leaderworkerset": (
        f"""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: big}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {{spec: {{containers: [{{name: w, image: vllm/vllm-openai, args: [--model, Qwen/Qwen3-32B], {GPU}}}]}}}}
""", "chat", {"model": {"name": "Qwen/Qwen3-32B"}, "engine": {"name": "vllm"}},
    ),
    "jobset": (
        f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: sft}}
spec:
  replicatedJobs:
    - name: w
      replicas: 2
      template: {{spec: {{parallelism: 2, completions: 2, template: {{spec: {{
        nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}},
        containers: [{{name: t, command: [torchrun, train.py, --model_name_or_path, Qwen/Qwen3-8B], {GPU}}}]}}}}}}}}
""", "finetune", {"resources": {"gpus": "32"}},
    ),
    "rayservice": (
        f"""
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: ray}}
spec:
  serveConfigV2: |
    applications: [{{args: {{llm_configs: [{{model_loading_config: {{model_id: q, model_source: Qwen/Qwen3-8B}}}}]}}}}]
  rayClusterConfig:
    headGroupSpec: {{template: {{spec: {{containers: [{{name: head}}]}}}}}}
    workerGroupSpecs: [{{replicas: 2, template: {{spec: {{containers: [{{name: w, {GPU}}}]}}}}}}]
""", "chat", {"model": {"name": "Qwen/Qwen3-8B"}},
    ),
    "rayjob": (
        f"""
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: ray}}
spec:
  entrypoint: python train.py --model_name_or_path Qwen/Qwen3-8B --use_peft
  rayClusterSpec: {{workerGroupSpecs: [{{replicas: 2, template: {{spec: {{containers: [{{name: w, {GPU}}}]}}}}}}]}}
""", "finetune", {"training": {"method": "lora"}},
    ),
    "knative": (
        f"""
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: k}}
spec: {{template: {{spec: {{containers: [{{image: vllm/vllm-openai, args: [--model, Qwen/Qwen3-8B], {GPU}}}]}}}}}}
""", "chat", {"model": {"name": "Qwen/Qwen3-8B"}},
    ),
    "cronjob over records": (
        f"""
apiVersion: batch/v1
kind: CronJob
metadata: {{name: nightly}}
spec: {{schedule: "0 1 * * *", jobTemplate: {{spec: {{template: {{spec: {{containers: [
  {{name: r, command: [python, summarize.py, --model, Qwen/Qwen3-14B], {GPU}}}]}}}}}}}}}}
""", "batch", {"model": {"name": "Qwen/Qwen3-14B"}},
    ),
    "tgi by its variable": (
        """
type: service
name: tgi
image: ghcr.io/huggingface/text-generation-inference:3.0
env: [HF_TOKEN, MODEL_ID=meta-llama/Llama-3.1-8B-Instruct]
commands: [text-generation-launcher --port 8000 --num-shard 4]
resources: {gpu: 24GB}
""", "chat", {"model": {"name": "meta-llama/Llama-3.1-8B-Instruct"}},
    ),
    "script with variables": (
        """#!/usr/bin/env bash
export HF_TOKEN=x
export MODEL="meta-llama/Llama-3.1-8B-Instruct"
docker run --rm --gpus '"device=0,1"' -p 8000:8000 --ipc=host \\
  -v ~/.cache/huggingface:/root/.cache/huggingface \\
  vllm/vllm-openai:v0.9.1 \\
  --model $MODEL --tensor-parallel-size 2
""", "chat", {"model": {"name": "meta-llama/Llama-3.1-8B-Instruct"}, "engine": {"name": "vllm"}},
    ),
    "sbatch": (
        """#!/bin/bash
#SBATCH --job-name=nanogpt
#SBATCH --nodes=4
#SBATCH --gres=gpu:a100:4
#SBATCH --time=1-12:00:00
module load cuda/12.4
srun torchrun --nnodes 4 run_clm.py --model_name_or_path openai-community/gpt2-xl --block_size 1024 --num_train_epochs 1
""", "finetune", {"resources": {"accelerators": ["a100"], "gpus": "16"}, "deadline": 129600.0},
    ),
    "dockerfile": (
        'FROM vllm/vllm-openai:v0.9.1\nENV MODEL=Qwen/Qwen3-8B\nENTRYPOINT ["vllm","serve","Qwen/Qwen3-8B"]\n',
        "chat", {"model": {"name": "Qwen/Qwen3-8B"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRAPPED)
def test_what_wraps_a_server_or_a_training_is_opened(case: str, sizewell: Sizewell) -> None:
    text, workload, wanted = WRAPPED[case]
    Path("theirs.txt").write_text(text)
    said = sizewell("size", "theirs.txt")
    assert "fix: run: sizewell import theirs.txt" in said.err
    done = sizewell("import", "theirs.txt", "--json")
    assert done.code == 0, done.err
    [written] = json.loads(done.out)
    assert written["workload"] == workload
    spec = read_spec(written["written"], load()).model_dump(mode="json", by_alias=True, exclude_none=True)
    spec["resources"]["gpus"] = str(spec["resources"].get("gpus", {}).get("low"))
    spec["resources"]["accelerators"] = list(spec["resources"]["accelerators"])
    assert _holds(spec, wanted), spec


COMMANDS = {
    "docker run --gpus all -p 8000:8000 vllm/vllm-openai:latest --model Qwen/Qwen3-8B": "Qwen/Qwen3-8B",
    "sudo docker run -it --rm -e HF_TOKEN=x --gpus 2 vllm/vllm-openai --model Qwen/Qwen3-8B": "Qwen/Qwen3-8B",
    "docker run --gpus all -e MODEL_ID=Qwen/Qwen3-8B ghcr.io/huggingface/text-generation-inference:3": "Qwen/Qwen3-8B",
    "docker run --gpus all nvcr.io/nim/meta/llama-3.1-8b-instruct:latest": "meta-llama/Llama-3.1-8B-Instruct",
    "llama-server -m models/qwen2.5-7b-instruct-q4_k_m.gguf -c 8192": "Qwen/Qwen2.5-7B-Instruct",
    "trtllm-serve Qwen/Qwen3-8B": "Qwen/Qwen3-8B",
    "lmdeploy serve api_server Qwen/Qwen3-8B --tp 2": "Qwen/Qwen3-8B",
    "accelerate launch train.py --model_name_or_path Qwen/Qwen3-8B --use_peft": "Qwen/Qwen3-8B",
}


@pytest.mark.parametrize("line", COMMANDS)
def test_the_model_of_a_command_is_never_its_program(line: str, sizewell: Sizewell) -> None:
    done = sizewell("import", line, "--json")
    assert done.code == 0, done.err
    [written] = json.loads(done.out)
    model = read_spec(written["written"], load()).model
    assert model is not None
    assert model.name == COMMANDS[line]


MEGATRON = "--num-layers 24 --hidden-size 2048 --num-attention-heads 32 --num-query-groups 8 --swiglu"
DESCRIBED = {"layers": 24, "hidden": 2048, "heads": 32, "kv_heads": 8, "gated": True}
STEPS = "--seq-length 4096 --global-batch-size 512 --train-iters 100000"
RUN = {"steps": 100_000, "sequence_length": 4096, "global_batch": 512 * 4096}
FROM_NOTHING = {  # trainings of a model that is described and has no name: the file, the kind, the model, the run
    "variables of a script": (
        (f'#!/bin/bash\n#SBATCH --job-name=pre\n#SBATCH --gpus-per-node=h100:8\nGPT="{MEGATRON}"\nRUN="{STEPS}"\n'
        "srun torchrun --nproc-per-node=8 pretrain_gpt.py $GPT $RUN --tokenizer-model meta-llama/Llama-3.2-1B\n"),
        "training", {**DESCRIBED, "vocab": 128256}, RUN),
    "arrays": (
        (f'#!/bin/bash\nexport N=8\nGPT=(\n  {MEGATRON} # the model\n)\nGPT+=({STEPS})\n'
        'torchrun --nproc-per-node=$N pretrain_gpt.py "${GPT[@]}"\n'), "training", DESCRIBED, RUN),
    "a command": (f"torchrun pretrain_gpt.py {MEGATRON} {STEPS} --save /c --load /c", "training", DESCRIBED, RUN),
    "samples": (f"torchrun pretrain_gpt.py {MEGATRON} --seq-length 2048 --train-samples 1000000", "training", DESCRIBED,
                {"samples": 1_000_000, "sequence_length": 2048}),
    "from a checkpoint": (f"torchrun pretrain_gpt.py {MEGATRON} {STEPS} --finetune --load /a", "fine-tuning", DESCRIBED,
                          {**RUN, "method": "full"}),
    "nanoGPT": (
        ("torchrun --nproc_per_node=8 train.py --n_layer=12 --n_head=12 --n_embd=768 --batch_size=12 --block_size=1024 "
        "--max_iters=600000 --gradient_accumulation_steps=40"), "training",
        {"layers": 12, "hidden": 768, "heads": 12, "gated": False},
        {"steps": 600_000, "sequence_length": 1024, "global_batch": 40 * 12 * 1024}),
    "NeMo": (
        ("python megatron_gpt_pretraining.py model.num_layers=12 model.hidden_size=768 model.num_attention_heads=12 "
        "model.encoder_seq_length=1024 model.global_batch_size=256 trainer.max_steps=3000"), "training",
        {"layers": 12, "hidden": 768, "heads": 12}, {"steps": 3000, "global_batch": 256 * 1024}),
    "GPT-NeoX": (
        ('{"num-layers": 12, "hidden-size": 768, "num-attention-heads": 12, "seq-length": 2048, "train-iters": 143000, '
        '"train_micro_batch_size_per_gpu": 16, "optimizer": {"type": "Adam"}}'), "training",
        {"layers": 12, "hidden": 768, "heads": 12}, {"steps": 143_000, "sequence_length": 2048}),
    "torchtitan": (
        ("torchrun --nproc_per_node=8 -m torchtitan.train --model.name llama3 --model.flavor 8B --training.steps 1000 "
        "--training.seq_len 4096 --training.local_batch_size 2"), "training", "meta-llama/Meta-Llama-3-8B",
        {"steps": 1000, "sequence_length": 4096, "global_batch": 8 * 2 * 4096}),
}  # fmt: skip


@pytest.mark.parametrize("case", FROM_NOTHING)
def test_a_model_that_is_described_is_trained_as_described(case: str, sizewell: Sizewell) -> None:
    text, kind, model, run = FROM_NOTHING[case]
    Path("run").write_text(text, encoding="utf-8")
    result = sizewell("import", "run", "--name", "pre")
    assert result.code == 0, result.err
    spec = yaml.safe_load(Path("pre.yaml").read_text(encoding="utf-8"))
    assert spec["kind"] == kind
    assert model == spec["model"] if isinstance(model, str) else model.items() <= spec["model"].items()
    assert run.items() <= spec["training"].items()
    assert not {"tokens", "samples", "epochs"} & spec["training"].keys() - run.keys()
    assert read_spec("pre.yaml", load()).training


def test_the_processes_of_a_launcher_make_the_batch(sizewell: Sizewell) -> None:
    line = "accelerate launch --num_processes 8 train.py --model_name_or_path Qwen/Qwen3-8B --max_seq_length 2048 "
    assert sizewell("import", f"{line} --per_device_train_batch_size 2 --gradient_accumulation_steps 8").code == 0
    assert "global_batch: 262144" in Path("training.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("vllm serve", 'fix: name it: sizewell import "vllm serve" --model'),
        ("torchrun --nproc_per_node 8 train.py", 'sizewell import "torchrun --nproc_per_node 8 train.py" --model'),
        ("foo bar baz", '"foo bar baz" is no file, and starts no server, trainer or notebook that is known: vLLM'),
        ("nothere.yaml", "nothere.yaml: no such file\n  fix: correct its path"),
        ("https://example.com/job.yaml", "https://example.com/job.yaml is an address\n  fix: curl -LO https://example"),
        ("vllm serve /models/mine", 'or name the model it is: sizewell import "vllm serve /models/mine" --model NAME'),
    ],
)
def test_a_command_that_is_not_read_is_called_by_its_cause(given: str, says: str, sizewell: Sizewell) -> None:
    done = sizewell("import", given)
    assert done.code == 64
    assert says in done.err


AXOLOTL = """
base_model: meta-llama/Llama-3.1-8B
load_in_4bit: true
adapter: qlora
lora_r: 32
lora_alpha: 16
datasets: [{path: tatsu-lab/alpaca, type: alpaca}]
sequence_len: 4096
sample_packing: true
micro_batch_size: 2
num_epochs: 3
optimizer: paged_adamw_8bit
learning_rate: 0.0002
"""
LLAMA_FACTORY = """
model_name_or_path: Qwen/Qwen3-8B
stage: dpo
finetuning_type: lora
lora_rank: 8
cutoff_len: 2048
num_train_epochs: 2.0
per_device_train_batch_size: 1
"""
SETTINGS = {
    "axolotl train {}": (AXOLOTL, {"method": "qlora", "sequence_length": 4096, "epochs": 3, "packed": True}),
    "llamafactory-cli train {}": (LLAMA_FACTORY, {"method": "dpo", "sequence_length": 2048, "epochs": 2}),
}


@pytest.mark.parametrize("given", ["{}", "COMMAND"])
@pytest.mark.parametrize("command", SETTINGS)
def test_the_settings_of_a_training_are_read_also_behind_its_command(
    command: str, given: str, sizewell: Sizewell, tmp_path: Path
) -> None:
    text, made = SETTINGS[command]
    file = tmp_path / "run.yaml"
    file.write_text(text, encoding="utf-8")
    ran = sizewell("import", (command if given == "COMMAND" else given).format(file), "--name", "tune")
    assert ran.code == 0, ran.err
    training = read_spec("tune.yaml", load()).training
    assert training
    assert {key: getattr(training, key) for key in made} == made
    assert training.lora
    assert training.lora.rank in (32, 8)


MAPS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: vllm-config}
data: {MODEL_NAME: Qwen/Qwen3-32B, LENGTH: "16384"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: qwen}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.9.1
          args: ["--model", "$(MODEL_NAME)"]
          ENV
          resources: {limits: {nvidia.com/gpu: 4}}
"""


@pytest.mark.parametrize(
    "env",
    [
        "envFrom: [{configMapRef: {name: vllm-config}}]",
        "env: [{name: MODEL_NAME, valueFrom: {configMapKeyRef: {name: vllm-config, key: MODEL_NAME}}}]",
    ],
)
def test_the_values_of_a_config_map_in_the_same_file_are_read(env: str, sizewell: Sizewell) -> None:
    Path("pods.yaml").write_text(MAPS.replace("ENV", env), encoding="utf-8")
    assert sizewell("import", "pods.yaml").code == 0
    model = read_spec("qwen.yaml", load()).model
    assert model
    assert model.name == "Qwen/Qwen3-32B"


def test_a_variable_without_a_value_is_said_and_no_line_of_a_file_that_is_not_there(sizewell: Sizewell) -> None:
    Path("pods.yaml").write_text(MAPS.replace("ENV", "env: [{name: X, value: y}]"), encoding="utf-8")
    ran = sizewell("import", "pods.yaml")
    assert "the model of 'qwen' is $(MODEL_NAME), whose value stands nowhere" in ran.err
    assert "new spec" not in ran.err


def test_a_kind_that_is_not_read_is_not_said_to_ask_for_nothing(sizewell: Sizewell) -> None:
    Path("a.yaml").write_text("apiVersion: x/v1\nkind: Odd\nspec: {gpus: {nvidia.com/gpu: 1}}\n")
    done = sizewell("import", "a.yaml")
    assert "kind Odd\n  fix: import the pods that it makes: kubectl get pods -o yaml" in done.err


def test_adapters_of_pictures_get_a_few_of_them_a_step(sizewell: Sizewell) -> None:
    line = "accelerate launch train.py --model_name_or_path black-forest-labs/FLUX.1-dev --use_peft --max_steps 2000"
    assert sizewell("import", line).code == 0
    training = read_spec("training.yaml", load()).training
    assert training is not None
    assert training.global_batch == 4


@pytest.mark.parametrize(
    ("named", "way"),
    [
        ("Qwen/Qwen3-8B", "sizewell new chat --model Qwen/Qwen3-8B"),
        ("llama3", "sizewell new chat --model meta-llama/Meta-Llama-3-8B-Instruct"),
        ("openai/whisper-large-v3", "sizewell new transcribe --model openai/whisper-large-v3"),
        ("vllm serve Qwen/Qwen3-8B", 'sizewell import "vllm serve Qwen/Qwen3-8B"'),
    ],
)
def test_size_of_a_model_or_a_command_says_how(named: str, way: str, sizewell: Sizewell) -> None:
    done = sizewell("size", named)
    assert done.code == 64
    assert way in done.err


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


def test_a_given_model_stands_where_the_file_names_none_that_is_known(sizewell: Sizewell) -> None:
    two, devices = "services:\n", "deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}"
    for name, model in (("a", "Qwen/Qwen3-8B"), ("b", "acme/own")):
        two += f"  {name}: {{image: vllm/vllm-openai, command: --model {model}, {devices}}}\n"
    Path("compose.yaml").write_text(two)
    run = sizewell("import", "compose.yaml", "--model", "Qwen/Qwen3-14B")
    assert run.code == 0, run.err
    assert "model: Qwen/Qwen3-8B" in Path("a.yaml").read_text()
    assert "model: Qwen/Qwen3-14B" in Path("b.yaml").read_text()
    assert "--model Qwen/Qwen3-14B: the file names Qwen/Qwen3-8B" in re.sub(r"\s+", " ", run.out)


def test_a_spec_of_a_stack_has_the_owner_and_the_place_of_the_others(sizewell: Sizewell, project: Path) -> None:
    assert sizewell("import", LINE, "--stack", "dev-aws").code == 0
    text = (project / "stacks/specs/dev-aws/service.yaml").read_text()
    assert all(f"\n{line}\n" in text for line in ("infra: [aws/us-east-1]", "owner: search", "cost_center: c-1"))


def test_a_file_is_not_overwritten_by_its_own_spec(sizewell: Sizewell) -> None:
    Path("qwen.yaml").write_text(DEPLOYMENT)
    assert sizewell("import", "qwen.yaml").code == 0
    assert Path("qwen.yaml").read_text() == DEPLOYMENT
    assert read_spec("qwen-spec.yaml", load()).name == "qwen-spec"


DRAFTED = "vllm serve meta-llama/Llama-3.1-70B --speculative-config '{}'"
SGLANG = (
    "python -m sglang.launch_server --model-path meta-llama/Llama-3.1-70B --speculative-algorithm STANDALONE "
    "--speculative-draft-model-path meta-llama/Llama-3.2-1B --speculative-num-steps 3"
)
ONE_B = '{"method": "draft_model", "model": "meta-llama/Llama-3.2-1B", "num_speculative_tokens": 4}'


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (DRAFTED.format(ONE_B), "speculative: {draft: meta-llama/Llama-3.2-1B, tokens: 4, acceptance: 50%}"),
        (DRAFTED.format('{"model": "meta-llama/Llama-3.2-1B"}'), "{draft: meta-llama/Llama-3.2-1B, acceptance: 50%}"),
        (
            DRAFTED.format('{"method": "ngram", "num_speculative_tokens": 3}'),
            "speculative: {draft: ngram, tokens: 3, acceptance: 50%}",
        ),
        (
            SGLANG,
            "speculative: {draft: meta-llama/Llama-3.2-1B, tokens: 3, acceptance: 50%}",
        ),
    ],
)
def test_speculative_decoding_is_taken_over_with_an_acceptance_to_correct(
    line: str, wanted: str, sizewell: Sizewell
) -> None:
    result = sizewell("import", line, "--name", "chat")
    assert result.code == 0, result.err
    text = Path("chat.yaml").read_text()
    assert wanted in text
    assert re.search(r"# Assumed,(?:.|\n# )*traffic\.speculative\.acceptance", text)
    assert read_spec("chat.yaml", load()).traffic.speculative is not None


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (
            '{"method": "eagle3", "model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"}',
            "what is trained into the model is not",
        ),
        ('{"model": "me/own-draft"}', "draft model me/own-draft: is no model of the catalog"),
        ("nonsense", "is no JSON object"),
    ],
)
def test_what_is_not_predicted_of_speculative_decoding_is_named(config: str, told: str, sizewell: Sizewell) -> None:
    assert sizewell("import", DRAFTED.format(config), "--name", "chat").code == 0
    text = Path("chat.yaml").read_text()
    assert "\n  speculative:" not in text
    assert told in re.sub(r"\n# +", " ", text)


SCRIPTS = {  # a Python script: the workload, the model, and what else of it stands in the spec
    """
import modal
app = modal.App("llm")
@app.function(gpu="H100:2", timeout=3600)
def serve():
    import subprocess
    subprocess.Popen("vllm serve Qwen/Qwen2.5-72B-Instruct --tensor-parallel-size 2 --quantization fp8", shell=True)
""": ("chat", {"name": "Qwen/Qwen2.5-72B-Instruct", "weights": "fp8"}, {"resources": {"accelerators": ["H100"]}}),
    """
import modal, subprocess
MODEL_NAME = "Qwen/Qwen3-8B"
N_GPU = 2
@app.function(gpu=modal.gpu.H100(count=N_GPU))
def serve():
    cmd = ["vllm", "serve", "--uvicorn-log-level=info", MODEL_NAME, "--port", str(8000)]
    cmd += ["--kv-cache-dtype", "fp8"]
    subprocess.Popen(" ".join(cmd), shell=True)
""": ("chat", {"name": "Qwen/Qwen3-8B", "kv": "fp8"}, {"resources": {"accelerators": ["H100"]}}),
    """
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments, Trainer
tok = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")
args = TrainingArguments(output_dir="out", num_train_epochs=2, per_device_train_batch_size=4)
Trainer(model=model, args=args).train()
""": ("finetune", "Qwen/Qwen3-8B", {"training": {"method": "full", "epochs": 2}}),
    """
from unsloth import FastLanguageModel
length = 2 * 1024
model, tok = FastLanguageModel.from_pretrained(model_name="unsloth/Meta-Llama-3.1-8B-bnb-4bit", max_seq_length=length, load_in_4bit=True)
model = FastLanguageModel.get_peft_model(model, r=16, lora_alpha=16, target_modules=["q_proj", "up_proj"])
SFTTrainer(model=model, args=SFTConfig(num_train_epochs=3, optim="adamw_8bit")).train()
""": ("finetune", "meta-llama/Llama-3.1-8B",
     {"training": {"method": "qlora", "epochs": 3, "sequence_length": 2048, "lora": {"rank": 16, "targets": ["q_proj", "up_proj"]}}}),
    """
from peft import LoraConfig
m = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B-Instruct")
DPOTrainer(model=m, args=DPOConfig(max_length=1024, num_train_epochs=1), peft_config=LoraConfig(r=32, target_modules="all-linear")).train()
""": ("finetune", "Qwen/Qwen2.5-7B-Instruct", {"training": {"method": "dpo", "lora": {"rank": 32, "targets": "all-linear"}, "sequence_length": 1024}}),
    """
import os
from vllm import LLM
llm = LLM(model=os.environ.get("MODEL", "Qwen/Qwen3-32B"), quantization="fp8")
""": ("batch", {"name": "Qwen/Qwen3-32B", "weights": "fp8"}, {"kind": "batch-inference"}),
    """
from faster_whisper import WhisperModel
model = WhisperModel("large-v3", device="cuda")
""": ("transcribe", "openai/whisper-large-v3", {"kind": "inference"}),
    """
from sentence_transformers import SentenceTransformer
m = SentenceTransformer("BAAI/bge-m3")
""": ("embed", "BAAI/bge-m3", {"kind": "inference"}),
}  # fmt: skip


def _within(small: Any, large: Any) -> bool:
    if isinstance(small, dict):
        return isinstance(large, dict) and all(_within(value, large.get(key)) for key, value in small.items())
    return bool(small == large)


@pytest.mark.parametrize(
    ("options", "targets"),
    [
        ("--lora_target q_proj,v_proj", ["q_proj", "v_proj"]),
        ("--lora_target all", "all-linear"),
        ("--lora_target_linear true", "all-linear"),
        ("--lora_target_modules query_key_value lm_head", ["query_key_value"]),
        ("--lora_attn_modules ['q_proj','output_proj']", ["q_proj", "output_proj"]),
    ],
)
def test_the_matrices_that_get_adapters_are_taken_over(options: str, targets: Any, sizewell: Sizewell) -> None:
    command = f"trl sft --model_name_or_path Qwen/Qwen3-8B --use_peft --lora_r 8 {options} --max_steps 9"
    done = sizewell("import", command, "--name", "x")
    assert done.code == 0, done.err
    assert yaml.safe_load(Path("x.yaml").read_text())["training"]["lora"] == {"rank": 8, "targets": targets}
    assert ("adapters on lm_head" in done.out) == ("lm_head" in options)
    assert read_spec(Path("x.yaml"), catalog=load()).training.lora.targets


@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_a_script_is_read_by_its_calls(
    script: str, sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(script)
    done = sizewell("import", "app.py", "--name", "x")
    assert done.code == 0, done.err
    workload, model, more = SCRIPTS[script]
    assert f"in the form of `sizewell new {workload}`" in done.out
    spec = yaml.safe_load(Path("x.yaml").read_text())
    assert spec["model"] == model
    assert _within(more, spec), spec
    assert sizewell("size", "x.yaml", "--on", "2026-11-20").code in (0, 3)


@pytest.mark.parametrize(
    ("given", "model"),
    [
        (
            "docker run --gpus all -e WHISPER__MODEL=Systran/faster-whisper-large-v3 fedirz/faster-whisper-server:latest-cuda",
            "openai/whisper-large-v3",
        ),
        (
            "docker run --gpus all -e ASR_MODEL=turbo onerahmet/openai-whisper-asr-webservice:latest-gpu",
            "openai/whisper-large-v3-turbo",
        ),
        ("whisper-ctranslate2 talk.mp3 --model distil-large-v3", "distil-whisper/distil-large-v3"),
        ("whisper-server -m models/ggml-large-v3.bin --port 8080", "openai/whisper-large-v3"),
        ("docker run --gpus all ghcr.io/speaches-ai/speaches:latest-cuda", "openai/whisper-large-v3"),
    ],
)
def test_a_recognizer_of_speech_is_no_chat(
    given: str, model: str, sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = sizewell("import", given, "--name", "x")
    assert done.code == 0, done.err
    spec = yaml.safe_load(Path("x.yaml").read_text())
    assert spec["model"] == model
    assert "input_tokens" not in spec["traffic"]


@pytest.mark.parametrize(
    ("given", "way"),
    [
        ("https://huggingface.co/Qwen/Qwen3-8B", "sizewell new chat --model Qwen/Qwen3-8B"),
        ("https://huggingface.co/BAAI/bge-m3/tree/main", "sizewell new embed --model BAAI/bge-m3"),
        ("https://ollama.com/library/qwen3:8b", "sizewell new chat --model qwen3:8b"),
        ("https://github.com/o/r/blob/main/x.yaml", "curl -LO https://raw.githubusercontent.com/o/r/main/x.yaml"),
        ("https://example.com/x.yaml", "curl -LO https://example.com/x.yaml"),
    ],
)
def test_an_address_says_what_to_do_with_it(given: str, way: str, sizewell: Sizewell) -> None:
    assert way in sizewell("import", given).err


@pytest.mark.parametrize(
    ("line", "model"),
    [
        (
            "docker run -e LLAMA_ARG_HF_REPO=Qwen/Qwen2.5-14B-Instruct-GGUF:Q4_K_M ghcr.io/ggml-org/llama.cpp:server-cuda",
            "Qwen/Qwen2.5-14B-Instruct-GGUF:Q4_K_M",
        ),
        (
            "LLAMA_ARG_HF_REPO=a/Qwen2.5-14B-Instruct-GGUF LLAMA_ARG_HF_FILE=qwen2.5-14b-instruct-q4_k_m.gguf llama-server",
            {"name": "Qwen/Qwen2.5-14B-Instruct", "weights": "int4"},
        ),
        (
            "LLAMA_ARG_MODEL=/m/qwen2.5-14b-instruct-q4_k_m.gguf llama-server",
            {"name": "Qwen/Qwen2.5-14B-Instruct", "weights": "int4"},
        ),
        (
            "llama-server -mu https://huggingface.co/a/b/resolve/main/qwen2.5-14b-instruct-q4_k_m.gguf",
            {"name": "Qwen/Qwen2.5-14B-Instruct", "weights": "int4"},
        ),
        (
            "docker run -e MODEL_ID=Qwen/Qwen3-8B -e QUANTIZE=awq ghcr.io/huggingface/text-generation-inference:3",
            {"name": "Qwen/Qwen3-8B", "weights": "int4"},
        ),
        (
            "docker run -e MODEL_ID=BAAI/bge-m3 -e DTYPE=float16 ghcr.io/huggingface/text-embeddings-inference:1.8",
            {"name": "BAAI/bge-m3", "precision": "fp16"},
        ),
        (
            "docker run -e SM_VLLM_MODEL=Qwen/Qwen3-8B -e SM_VLLM_QUANTIZATION=fp8 vllm:server-sagemaker-cuda",
            {"name": "Qwen/Qwen3-8B", "weights": "fp8"},
        ),
        (
            "docker run -e OPTION_MODEL_ID=Qwen/Qwen3-8B -e OPTION_QUANTIZE=fp8 djl-inference:0.36.0-lmi18.0.0-cu128",
            {"name": "Qwen/Qwen3-8B", "weights": "fp8"},
        ),
        (
            "docker run -e MODEL_NAME=Qwen/Qwen3-8B -e QUANTIZATION=awq runpod/worker-v1-vllm:stable",
            {"name": "Qwen/Qwen3-8B", "weights": "int4"},
        ),
        (
            "docker run -e QUANTIZE=awq text-generation-inference:3 --model-id Qwen/Qwen3-8B --quantize fp8",
            {"name": "Qwen/Qwen3-8B", "weights": "fp8"},  # a command line wins
        ),
        ("vllm serve Qwen/Qwen3-8B --quantization bitsandbytes", {"name": "Qwen/Qwen3-8B", "weights": "int4"}),
        ("vllm serve unsloth/Qwen3-8B-bnb-4bit", {"name": "Qwen/Qwen3-8B", "weights": "int4"}),
    ],
)
def test_variables_of_a_server_are_its_options(line: str, model: Any, sizewell: Sizewell) -> None:
    sizewell("import", line, "--name", "x")
    assert yaml.safe_load(Path("x.yaml").read_text(encoding="utf-8"))["model"] == model


SBATCH = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:h100:8
#SBATCH --time=12:00:00
srun python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 {options}
"""


@pytest.mark.parametrize(
    ("options", "kept"),
    [("--tp 16 --nnodes 2", False), ("--tp 8 --pp 2", False), ("--tp 16", False), ("--tp 8", True)],
)
def test_a_server_of_sbatch_is_a_service_without_an_end(options: str, *, kept: bool, sizewell: Sizewell) -> None:
    Path("serve.sh").write_text(SBATCH.format(options=options), encoding="utf-8")
    said = sizewell("import", "serve.sh").out
    assert "wrote service.yaml" in said
    assert "deadline" not in said
    assert "the time of sbatch, 12h: a service has no end" in said
    assert ("a replica on several machines of h100: a replica is sized on one machine" in said) is not kept
    spec = yaml.safe_load(Path("service.yaml").read_text(encoding="utf-8"))
    assert spec["name"] == "service"
    assert ("resources" in spec) is kept


AZURE_JOB = """
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
type: command
experiment_name: style
code: ./src
command: >-
  accelerate launch train.py --model_name_or_path mistralai/Mistral-7B-v0.3 --use_peft
  --lora_r 16 --num_train_epochs 2 --per_device_train_batch_size 4 --max_seq_length 2048
environment: azureml:acft-hf-nlp-gpu@latest
compute: azureml:gpu-a100-cluster
distribution: {type: pytorch, process_count_per_instance: 1}
resources: {instance_count: 2, instance_type: Standard_NC24ads_A100_v4}
limits: {timeout: 7200}
"""


def test_a_job_of_azure_machine_learning_is_read(sizewell: Sizewell) -> None:
    Path("job.yaml").write_text(AZURE_JOB, encoding="utf-8")
    said = sizewell("size", "job.yaml").err
    assert "this is an Azure Machine Learning job, not a spec" in said
    assert "sizewell import job.yaml" in said
    sizewell("import", "job.yaml")
    spec = yaml.safe_load(Path("style.yaml").read_text(encoding="utf-8"))
    assert spec["training"]["global_batch"] == 4 * 2 * 2048
    assert (spec["training"]["method"], spec["deadline"]) == ("lora", "2h")
    assert spec["resources"] == {"instance_type": ["Standard_NC24ads_A100_v4"], "gpus": 2}
    pipeline = AZURE_JOB.replace("\n", "\n    ").replace("type: command", "", 1)
    Path("steps.yaml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json\ntype: pipeline\njobs:\n"
        f"  tune:{pipeline}\n",
        encoding="utf-8",
    )
    sizewell("import", "steps.yaml")
    assert yaml.safe_load(Path("tune.yaml").read_text(encoding="utf-8"))["model"] == "mistralai/Mistral-7B-v0.3"


def test_a_spec_in_toml_is_told_as_yaml(sizewell: Sizewell) -> None:
    text = 'name = "chat"\nkind = "inference"\nmodel = "Qwen/Qwen3-8B"\n[traffic]\nrps = 4\ninput_tokens = 9\n'
    Path("chat.toml").write_text(text + "output_tokens = 3\n", encoding="utf-8")
    said = sizewell("size", "chat.toml").err
    assert "is TOML, and a spec is YAML" in said
    Path("chat.yaml").write_text(said.partition("write it as ")[2], encoding="utf-8")
    assert read_spec("chat.yaml", load()).traffic.rps == 4


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("sky.yaml", SKYPILOT_TRAINING.replace("torchrun", "vllm serve Qwen/Qwen3-8B --port 80 --max-num-seqs 64 #"),
         ["16 x H100 on 2 machines", "--max-num-seqs 64", "--port 80"]),
        ("ds.dstack.yml", ("type: service\nname: s\ncommands: [vllm serve Qwen/Qwen3-8B]\nport: 80\nspot_policy: auto\n"
         "resources: {gpu: 'H100:4'}\n"), ["4 x H100", "spot_policy: auto"]),
        ("k8s.yaml", ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  completions: 20\n  parallelism: 4\n"
         "  template:\n    spec:\n      containers:\n      - image: vllm/vllm-openai\n        command: [python, -m, "
         "vllm.entrypoints.openai.run_batch, --model, Qwen/Qwen3-8B, --max-batch-tokens, '4096']\n"
         "        resources: {limits: {nvidia.com/gpu: 8}}\n"),
         ["completions: 20", "parallelism: 4", "32 x accelerator", "--max-batch-tokens 4096"]),
    ],
)  # fmt: skip
def test_no_figure_is_dropped_in_silence(
    sizewell: Sizewell, tmp_path: Path, name: str, text: str, left: list[str]
) -> None:
    (tmp_path / name).write_text(text)
    said = sizewell("import", name).out
    assert [each for each in left if each not in said.partition("not taken over")[2]] == []
    assert "batch" in said or name != "k8s.yaml"


def test_accelerators_of_a_training_without_a_name_are_taken_over(sizewell: Sizewell, tmp_path: Path) -> None:
    text = "type: task\nname: ft\nnodes: 2\ncommands: [accelerate launch t.py --model_name_or_path Qwen/Qwen3-8B]\n"
    (tmp_path / "ft.dstack.yml").write_text(f"{text}resources: {{gpu: '80GB:8'}}\n")
    sizewell("import", "ft.dstack.yml")
    assert read_spec(tmp_path / "ft.yaml", load()).resources.gpus is not None
    assert read_spec(tmp_path / "ft.yaml", load()).resources.gpus.low == 16  # type: ignore[union-attr]


def test_the_zone_of_pods_is_where_the_spec_runs(sizewell: Sizewell, tmp_path: Path) -> None:
    pod = "nodeSelector: {topology.kubernetes.io/zone: eu-central-1a}"
    (tmp_path / "d.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {"
        f"{pod}, containers: [{{image: vllm/vllm-openai, args: [--model, Qwen/Qwen3-8B], "
        "resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n"
    )
    sizewell("import", "d.yaml", "--name", "z")
    assert [str(place) for place in read_spec(tmp_path / "z.yaml", load()).infra] == ["aws/eu-central-1/eu-central-1a"]


SAGEMAKER = {
    "TrainingJobName": "ft", "HyperParameters": {"model_id": "meta-llama/Llama-3.1-8B", "epochs": "3"},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 500},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
}  # fmt: skip
VERTEX = {
    "displayName": "ft",
    "jobSpec": {
        "workerPoolSpecs": [{
            "machineSpec": {
                "machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8,
            },
            "replicaCount": 2,
            "containerSpec": {
                "imageUri": "x/y:1", "command": ["torchrun"],
                "args": ["train.py", "--model_name_or_path", "Qwen/Qwen3-8B", "--max_steps", "500"],
            },
        }],
        "scheduling": {"timeout": "86400s", "strategy": "SPOT"},
    },
}  # fmt: skip


@pytest.mark.parametrize(("request_", "nodes", "gpus"), [(SAGEMAKER, 2, None), (VERTEX, None, 16)])
def test_jobs_of_managed_services_keep_their_machines(
    sizewell: Sizewell, tmp_path: Path, request_: dict[str, Any], nodes: int | None, gpus: int | None
) -> None:
    (tmp_path / "job.json").write_text(json.dumps(request_))
    assert sizewell("import", "job.json").code == 0
    spec = read_spec(tmp_path / "ft.yaml", load())
    stated = spec.resources
    assert (stated.nodes and stated.nodes.low, stated.gpus and stated.gpus.low) == (nodes, gpus)
    assert stated.instance_types in (("p4d.24xlarge",), ("a3-highgpu-8g",))
    assert spec.deadline_s == 86_400


def test_terraform_is_named_with_the_command_that_goes_on(sizewell: Sizewell, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('resource "aws_instance" "llm" {\n  instance_type = "g5.12xlarge"\n}\n')
    said = sizewell("import", "main.tf").err
    assert "main.tf is Terraform" in said
    assert "sizewell new chat --infra CLOUD/REGION" in said
