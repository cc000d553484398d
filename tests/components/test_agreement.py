"""A decision bills what its components make: every machine, disk, key and alarm of it, and nothing else.

Both sides have the tariff's prices (tests/resources/test_tariff.py); here it is what bills that is compared. The
decision knows it from its options, the preview from every resource that the components make: cluster stack,
checkpoint stack and hard end together. Outside of both is what is billed by a use that nobody stated.
"""

import importlib
import json
from datetime import date

import pytest
import yaml
from aws_recording import ROOT

from sizewell.components.settings import Settings
from sizewell.recording.evaluate import evaluate
from sizewell.resources import price
from sizewell.sizing import catalog
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.money import total
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec

ON = date(2026, 11, 20)
STACKS = sorted((ROOT / "stacks" / "decisions").glob("*.json"))
ACCOUNTS = {"aws": "123456789012", "gcp": "petsnap-dev", "azure": "00000000-0000-0000-0000-000000000000"}
ECR = {"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/serve:1"}
REGISTRY = {"image": f"us-docker.pkg.dev/petsnap/serve/one@sha256:{'ab' * 32}"}
QUEUE = {**ECR, "results": {"bucket": "petsnap-results", "key_alias": "alias/petsnap-results"}}

CHAT = {
    "kind": "inference",
    "model": "meta-llama/Llama-3.1-8B",
    "traffic": {"rps": 4, "input_tokens": 1500, "output_tokens": 300},
    "slo": {"ttft": "500ms", "tpot": "50ms"},
}
BUSY = {"rps": 40, "input_tokens": 1500, "output_tokens": 300}
RARE = {
    "kind": "inference",
    "model": {"name": "resnet-50", "precision": "fp16"},
    "traffic": {"requests_per_hour": 1, "images": {"resolution": 224}},
    "slo": {"latency": "15m"},
}
TAGS = {  # a classifier on machines without accelerators
    "kind": "inference",
    "model": "bert-base-uncased",
    "traffic": {"rps": 5, "input_tokens": 128},
    "slo": {"latency": "300ms"},
    "resources": {"accelerators": ["cpu"]},
}
TUNE = {
    "kind": "fine-tuning",
    "model": {"name": "meta-llama/Llama-3.1-8B", "precision": "bf16"},
    "training": {"method": "qlora", "samples": 20000, "sequence_length": 1024, "global_batch": 16384},
    "deadline": "2d",
}
NOTEBOOK = {
    "kind": "notebook",
    "resources": {"gpu": "24GB..", "nodes": 1},
    "schedule": {"on": "Mon-Fri 08:00-18:00 Europe/London"},
    "ttl": "30d",
}
NIGHT = {
    "kind": "batch-inference",
    "model": "resnet-50",
    "batch": {"records": "500M", "window": "6h", "images": {"resolution": 224}},
}
PHOTOS = {
    "kind": "training",
    "model": "resnet-50",
    "training": {"samples": "40M", "epochs": 10, "global_batch": 4096, "images": {"resolution": 224}},
    "data": {"location": "s3://petsnap/photos", "size": "6TB"},
    "deadline": "20h",
    "resources": {"nodes": 1},
}
PAIR = {  # a job of several machines
    "kind": "training",
    "model": {"params": "13B", "layers": 40, "hidden": 5120, "heads": 40, "vocab": 32000, "precision": "bf16"},
    "training": {"tokens": "30B", "sequence_length": 4096, "global_batch": "1M"},
    "deadline": "14d",
    "resources": {"accelerators": ["H100"], "nodes": "2..8"},
}
NOBODY = {"team": {"platform_engineers": 0}}
US = {"infra": ["aws/us-east-1", "gcp/us-central1", "azure/eastus"]}
AML = {"managed": "azureml"}
CASES = {  # stack, spec, what the decision has to say: who runs the machines, what starts the work
    "kubernetes on AWS": ("prod-aws", {**CHAT, **US}, ("raw", "kubernetes")),
    "ray on AWS": ("dev-aws", {**PAIR, **US, "scheduler": "ray"}, ("raw", "ray")),
    "slurm on AWS": ("staging-aws", {**PAIR, **US, "scheduler": "slurm"}, ("raw", "slurm")),
    "a notebook of SageMaker": ("dev-aws", {**NOTEBOOK, **NOBODY, **US}, ("sagemaker", "none")),
    "training on SageMaker": ("dev-aws", {**TUNE, **US, "managed": "sagemaker"}, ("sagemaker", "none")),
    "an endpoint of SageMaker": ("prod-aws", {**CHAT, **US, "managed": "sagemaker"}, ("sagemaker", "none")),
    "a queue before SageMaker": ("dev-aws", {**RARE, **US, "managed": "sagemaker"}, ("sagemaker", "none")),
    "a HyperPod cluster": ("dev-aws", {**PAIR, **US, "managed": "hyperpod", "ttl": "30d"}, ("hyperpod", "kubernetes")),
    "ray on HyperPod": ("prod-aws", {**PAIR, **US, "managed": "hyperpod", "scheduler": "ray"}, ("hyperpod", "ray")),
    "a spot fleet": ("prod-aws", {**NIGHT, **US, "resources": {"accelerators": ["L4", "A10G", "T4"]}}, ("raw", "none")),
    "a file system": ("prod-aws", {**PHOTOS, **US}, ("raw", "none")),
    "Cloud Run": ("staging-gcp", {**RARE, **US, "ttl": "30d"}, ("cloud-run", "none")),
    "training on Vertex AI": ("dev-gcp", {**TUNE, **US, "managed": "vertex"}, ("vertex", "none")),
    "an endpoint of Vertex AI": ("prod-gcp", {**CHAT, **US, "managed": "vertex"}, ("vertex", "none")),
    "a notebook in GKE": ("dev-gcp", {**NOTEBOOK, **US}, ("raw", "kubernetes")),
    "ray on Google Cloud": ("dev-gcp", {**PAIR, **US, "scheduler": "ray"}, ("raw", "ray")),
    "a file system on Google Cloud": ("prod-gcp", {**PHOTOS, **US}, ("raw", "kubernetes")),
    "machines on Azure": ("dev-azure", {**TUNE, **US, "ttl": "30d"}, ("raw", "none")),
    "a service on Azure": ("prod-azure", {**CHAT, **US, "traffic": BUSY}, ("raw", "kubernetes")),
    "kubernetes on Azure": ("staging-azure", {**PAIR, **US, "scheduler": "kubernetes"}, ("raw", "kubernetes")),
    "ray on Azure": ("dev-azure", {**PAIR, **US, "scheduler": "ray"}, ("raw", "ray")),
    "slurm on Azure": ("dev-azure", {**PAIR, **US, "scheduler": "slurm"}, ("raw", "slurm")),
    "a file system on Azure": ("prod-azure", {**PHOTOS, **US}, ("raw", "none")),
    "a notebook of Azure ML": ("dev-azure", {**NOTEBOOK, **US, **AML}, ("azureml", "none")),
    "training on Azure ML": ("staging-azure", {**TUNE, **US, **AML}, ("azureml", "none")),
    "an endpoint of Azure ML": ("prod-azure", {**CHAT, **US, **AML}, ("azureml", "none")),
    "a batch on Azure ML": ("dev-azure", {**NIGHT, **US, **AML}, ("azureml", "none")),
    "a classifier on AWS": ("dev-aws", {**TAGS, **US}, ("raw", "kubernetes")),
    "a classifier on Google Cloud": ("prod-gcp", {**TAGS, **US}, ("raw", "kubernetes")),
    "a classifier on Azure": ("dev-azure", {**TAGS, **US}, ("raw", "kubernetes")),
}
BUILDS = {  # the components that the program of the decision makes of it
    "kubernetes on AWS": {"EksCluster", "EksNodeGroup"},
    "ray on AWS": {"EksCluster", "EksNodeGroup", "CheckpointStore"},
    "slurm on AWS": {"GpuNodeGroup", "CheckpointStore"},
    "a notebook of SageMaker": {"Notebook", "TtlGuard"},
    "training on SageMaker": {"TrainingPipeline", "CheckpointStore"},
    "an endpoint of SageMaker": {"RealtimeEndpoint"},
    "a queue before SageMaker": {"AsyncEndpoint"},
    "a HyperPod cluster": {"EksCluster", "EksDevicePlugins", "HyperPodAgents", "HyperPodCluster", "TtlGuard"},
    "ray on HyperPod": {"EksCluster", "HyperPodAgents", "HyperPodCluster", "CheckpointStore"},
    "a spot fleet": {"SpotFleet"},
    "a file system": {"SharedStorage", "GpuNodeGroup"},
    "Cloud Run": {"CloudRunGpu", "TtlGuard"},
    "training on Vertex AI": {"VertexTraining", "CheckpointStore"},
    "an endpoint of Vertex AI": {"VertexEndpoint"},
    "a notebook in GKE": {"GkeCluster", "AcceleratorPool", "TtlGuard"},
    "ray on Google Cloud": {"GkeCluster", "AcceleratorPool", "CheckpointStore"},
    "a file system on Google Cloud": {"SharedStorage", "GkeCluster"},
    "machines on Azure": {"GpuScaleSet", "TtlGuard", "CheckpointStore"},
    "a service on Azure": {"AksCluster", "AksGpuPool", "CustomerKeys"},
    "kubernetes on Azure": {"AksCluster", "AksGpuPool", "CheckpointStore"},
    "ray on Azure": {"AksCluster", "AksGpuPool", "Queueing"},
    "slurm on Azure": {"GpuScaleSet", "CheckpointStore"},
    "a file system on Azure": {"SharedStorage", "GpuScaleSet"},
    "a notebook of Azure ML": {"AmlWorkspace", "AmlComputeInstance", "TtlGuard"},
    "training on Azure ML": {"AmlWorkspace", "AmlComputeCluster", "CheckpointStore"},
    "an endpoint of Azure ML": {"AmlWorkspace", "AmlOnlineEndpoint"},
    "a batch on Azure ML": {"AmlWorkspace", "AmlComputeCluster"},
    "a classifier on AWS": {"EksCluster", "EksNodeGroup"},
    "a classifier on Google Cloud": {"GkeCluster", "AcceleratorPool"},
    "a classifier on Azure": {"AksCluster", "AksGpuPool"},
}
FILES = {"a file system": "fsx-lustre", "a file system on Google Cloud": "filestore"}
FILES["a file system on Azure"] = "managed-lustre"


def sums(cost):
    return cost.run_rate.usd_per_month, cost.one_off.usd, len(cost.unpriced)


def built(decision, stack, **config):
    """Every line of a stack, of its checkpoints' and of its end's, and the components that they are of."""
    cloud = decision.workloads[0].pools[0].cloud
    program = importlib.import_module(f"sizewell.components.{cloud}.program")

    def make(which):
        how = Settings(
            project="sizewell",
            stack=which,
            organization="petsnap",
            accounts=(ACCOUNTS[cloud],),
            images={"w": "ami-0123456789abcdef0"} if cloud == "aws" else {},  # one with Slurm
        )
        if which.startswith("ttl-"):
            program.build_ttl(decision, how)
        elif which.startswith("checkpoints-"):
            program.build_checkpoints(decision, [one for one in decision.workloads if one.checkpoint], how)
        else:
            program.build(decision, decision.workloads, how)

    stacks = [stack, f"checkpoints-{stack}"]
    stacks += [f"ttl-{stack}"] if decision.expires_at else []
    plans = [evaluate(ROOT, which, program=lambda which=which: make(which), config=config) for which in stacks]
    lines = [line for plan in plans for line in price(plan, catalog.load(), on=ON).items]
    return lines, {one.type.rpartition(":")[2] for plan in plans for one in plan.resources if "sizewell-" in one.type}


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_a_committed_decision_costs_what_its_stacks_cost(path):
    decision = Decision.from_json(path)
    stacks = [path.stem, f"checkpoints-{path.stem}"]
    stacks += [f"ttl-{path.stem}"] if decision.expires_at else []
    lines = [line for which in stacks for line in price(evaluate(ROOT, which), catalog.load(), on=ON).items]
    stated = total(line.item() for workload in decision.workloads for line in workload.line_items)
    assert sums(stated) == sums(total(lines))


@pytest.mark.parametrize("name", CASES)
def test_every_way_to_run_a_workload_costs_what_was_decided(name):
    stack, given, (managed, scheduler) = CASES[name]
    spec = parse_spec(yaml.safe_dump({"name": "w", "owner": "ml", "cost_center": "c", **given}), "test")
    decision = decide([spec], catalog.load(), stack=stack, on=ON)
    assert isinstance(decision, Decision), str(decision)
    workload, pool = decision.workloads[0], decision.workloads[0].pools[0]
    assert (pool.managed, workload.scheduler) == (managed, scheduler)
    assert (pool.provision == "fleet") == (name == "a spot fleet")
    assert (pool.served == "async") == (name == "a queue before SageMaker")
    files = workload.storage.kind if workload.storage and workload.storage.kind != "object" else None
    assert files == FILES.get(name)
    vertex = {"model": "google/gemma-3-27b-it"} if workload.kind == "inference" else REGISTRY
    config = {
        "sizewell:sagemaker": json.dumps({"w": QUEUE if pool.served else ECR}),
        "sizewell:hyperpod": json.dumps(
            {"w": {"chart": f"oci://{ECR['image'].partition('/')[0]}/hyperpod", "version": "0.1.0"}}
        ),
        "sizewell:cloudRun": json.dumps({"w": REGISTRY}),
        "sizewell:vertex": json.dumps({"w": vertex}),
        "sizewell:azureml": json.dumps({"w": {"image": "petsnap.azurecr.io/serve:1"}}),
    }
    stated = total(line.item() for line in workload.line_items)
    lines, components = built(decision, stack, **config)
    assert sums(stated) == sums(total(lines))
    assert BUILDS[name] <= components
