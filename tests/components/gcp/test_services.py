"""Managed services: what they make, what they refuse, and the laws of sizes and jobs."""

import json
from datetime import date

import pytest
from aws_recording import ROOT
from gcp_recording import OWNED, PLACE, PROD, component, golden, made, only, refusals
from hypothesis import given
from hypothesis import strategies as st

from sizewell import resources
from sizewell.components.gcp.limits.guards import BudgetAlarms
from sizewell.components.gcp.services import documents as service_documents
from sizewell.components.gcp.services.args import STRATEGIES
from sizewell.components.gcp.services.run import CloudRunGpu
from sizewell.components.gcp.services.vertex import VertexEndpoint, VertexTraining
from sizewell.components.gcp.storage.args import capacity_gib
from sizewell.components.gcp.storage.shared import SharedStorage
from sizewell.components.gcp.storage.volumes import FilesVolume
from sizewell.components.machines import find_shape
from sizewell.recording.evaluate import evaluate
from sizewell.sizing import catalog

TB = 10**12
IMAGE = f"us-docker.pkg.dev/petsnap/serve/vllm@sha256:{'a' * 64}"
KEY = {"kms_key_name": "projects/p/locations/us-central1/keyRings/r/cryptoKeys/own"}
RUN = {**OWNED, **PLACE, "image": IMAGE, "instances_max": 3}
RUN_PROD = {
    **PROD,
    **PLACE,
    **KEY,
    "image": IMAGE,
    "instances_max": 10,
    "instances_min": 1,
    "zonal_redundancy": True,
    "subnetwork": "nodes",
    "invokers": ["serviceAccount:app@petsnap.iam.gserviceaccount.com"],
    "environment_variables": {"MODEL": "gemma-3-4b"},
}
SERVE = {
    **OWNED,
    **PLACE,
    "model": "google/gemma-3-4b-it",
    "machine_type": "g2-standard-12",
    "replicas_min": 1,
    "replicas_max": 2,
    "spot": True,
}
SERVE_PROD = {
    **PROD,
    **PLACE,
    "model": "publishers/google/models/gemma3@gemma-3-27b-it",
    "machine_type": "a3-highgpu-8g",
    "replicas_min": 2,
    "replicas_max": 4,
    "image": IMAGE,
    "accept_eula": True,
}
JOB = {
    **PLACE,
    "image": IMAGE,
    "machine_type": "g2-standard-12",
    "nodes": 1,
    "capacity_mode": "spot",
    "max_run_hours": 24,
    "bucket": "petsnap-checkpoints",
    "writer_account": "pretrain-writer",
    "environment_variables": {"EPOCHS": "3"},
}
TRAIN = {**OWNED, **JOB}
TRAIN_PROD = {
    **PROD,
    **JOB,
    **KEY,
    "machine_type": "a3-megagpu-8g",
    "nodes": 4,
    "capacity_mode": "flex-start",
    "max_run_hours": 168,
    "subnetwork": "projects/petsnap/regions/us-central1/subnetworks/nodes",
    "command": ["torchrun"],
    "arguments": ["train.py"],
}
SHARE = {
    **PLACE,
    "zone": "us-central1-a",
    "network": "training",
    "cidr": "10.80.0.0/16",
    "bytes_needed": 2 * TB,
}
FILES = {**OWNED, **SHARE}
FILES_PROD = {**PROD, **SHARE, **KEY, "bytes_needed": 12 * TB, "admins": ["10.1.0.4"]}
VOLUME = {**OWNED, "kubeconfig": "{}", "address": "10.81.0.2", "capacity_gib": 2304}
VOLUME_PROD = {**PROD, **{key: VOLUME[key] for key in ("kubeconfig", "address")}, "capacity_gib": 12800}
VOLUME_PROD |= {"namespace": "training", "claim": "images", "read_only": True}
MONEY = {**PLACE, "billing_account": "01ABCD-234567-89EF01", "stack": "dev-gcp", "monthly_usd": 400.0}
BUDGET = {**OWNED, **MONEY}
BUDGET_PROD = {**PROD, **MONEY, "stack": "prod-gcp", "monthly_usd": 9000.0, "emails": ["ml@petsnap.example"]}
FORMS = {
    "run-dev": (CloudRunGpu, RUN),
    "run-prod": (CloudRunGpu, RUN_PROD),
    "vertex-endpoint-dev": (VertexEndpoint, SERVE),
    "vertex-endpoint-prod": (VertexEndpoint, SERVE_PROD),
    "vertex-training-dev": (VertexTraining, TRAIN),
    "vertex-training-prod": (VertexTraining, TRAIN_PROD),
    "storage-dev": (SharedStorage, FILES),
    "storage-prod": (SharedStorage, FILES_PROD),
    "volume-dev": (FilesVolume, VOLUME),
    "volume-prod": (FilesVolume, VOLUME_PROD),
    "budget-dev": (BudgetAlarms, BUDGET),
    "budget-prod": (BudgetAlarms, BUDGET_PROD),
}
SHAPES = [one for one in catalog.load().shapes if one.cloud == "gcp" and one.accelerators]


@pytest.mark.parametrize("form", FORMS)
def test_makes_what_is_written_down(form):
    cls, args = FORMS[form]
    golden(form, made(cls, "chat", args, "prod-gcp" if "prod" in form else "dev-gcp"))


def test_nothing_stands_while_nobody_asks_and_nobody_outside_can_ask():
    found = made(CloudRunGpu, "chat", RUN)
    service = only(found, "gcp:cloudrunv2/service:Service").inputs
    assert service["template"]["scaling"] == {"minInstanceCount": 0, "maxInstanceCount": 3}
    assert service["template"]["gpuZonalRedundancyDisabled"] is True
    assert service["template"]["containers"][0]["resources"]["cpuIdle"] is False  # GPUs bill by the instance's life
    assert service["ingress"] == "INGRESS_TRAFFIC_INTERNAL_ONLY"
    assert not [one for one in found if "IamMember" in one.type]


def test_a_job_ends_by_itself_and_writes_as_who_cannot_delete():
    source = service_documents.start_workflow(
        service_documents.custom_job(
            "train",
            TRAIN_PROD,
            find_shape("gcp", "a3-megagpu-8g"),
            project="petsnap",
            key="k",
            attachment="a",
            labels={"managed-by": "sizewell"},
        ),
        project="petsnap",
        region="us-central1",
    )
    create = json.loads(source)["main"]["steps"][0]["create"]
    spec = create["args"]["body"]["jobSpec"]
    assert create["call"].endswith("customJobs.create")
    assert spec["scheduling"]["timeout"] == "604800s"
    assert spec["scheduling"]["strategy"] == "FLEX_START"
    assert spec["serviceAccount"] == "pretrain-writer@petsnap.iam.gserviceaccount.com"
    assert spec["enableWebAccess"] is False
    assert [pool["replicaCount"] for pool in spec["workerPoolSpecs"]] == [1, 3]
    assert create["args"]["body"]["encryptionSpec"] == {"kmsKeyName": "k"}


def test_who_starts_jobs_may_do_nothing_else():
    role = only(made(VertexTraining, "train", TRAIN), "gcp:projects/iAMCustomRole:IAMCustomRole").inputs
    assert all(one.startswith("aiplatform.customJobs.") for one in role["permissions"])
    assert not [one for one in role["permissions"] if "delete" in one.lower()]


def test_only_the_machines_may_mount_and_nobody_as_root():
    export = only(made(SharedStorage, "data", FILES), "gcp:filestore/instance:Instance").inputs["fileShares"]
    options = export["nfsExportOptions"][0]
    assert options["ipRanges"] == ["10.80.0.0/16"]
    assert options["squashMode"] == "ROOT_SQUASH"
    filled = only(made(SharedStorage, "data", FILES_PROD), "gcp:filestore/instance:Instance").inputs["fileShares"]
    assert filled["nfsExportOptions"][0] == options
    assert filled["nfsExportOptions"][1]["ipRanges"] == ["10.1.0.4"], "nobody else may fill it"


def test_a_budget_counts_one_stack_and_looks_ahead():
    budget = only(made(BudgetAlarms, "month", BUDGET), "gcp:billing/budget:Budget").inputs
    assert budget["budgetFilter"]["labels"] == {"sizewell-stack": "dev-gcp"}
    assert [one["thresholdPercent"] for one in budget["thresholdRules"]] == [0.5, 0.8, 1.0, 1.0]
    assert budget["thresholdRules"][-1]["spendBasis"] == "FORECASTED_SPEND"


def test_each_registers_what_can_bill():
    said = component(made(VertexEndpoint, "chat", SERVE), "sizewell-gcp:index:VertexEndpoint").inputs["sizewell"]
    assert (said["nodesMin"], said["nodesMax"], said["market"]) == (1, 2, "spot")
    said = component(made(SharedStorage, "data", FILES), "sizewell-gcp:index:SharedStorage").inputs["sizewell"]
    assert said["bytesExpected"]["expected"] == 2304 * 2**30


@pytest.mark.parametrize("args", [TRAIN, TRAIN_PROD])
def test_the_jobs_of_a_workflow_are_priced_though_none_stands(args):
    """From nothing to every machine around the clock: what the provider has no resource for is still billed."""
    hours = {"nodeHoursPerMonth": {"floor": 0.0, "expected": 40.0, "ceiling": 400.0}}
    plan = evaluate(ROOT, "dev-gcp", program=lambda: VertexTraining("train", {**args, "facts": hours}))
    pricing = resources.price(plan, catalog.load(), on=date(2026, 11, 21))
    assert not pricing.unknown
    (jobs,) = [one for one in pricing.items if "vertex" in one.what]
    assert (jobs.quantity.floor, jobs.quantity.expected, jobs.quantity.ceiling) == (0, 40, 400)
    assert "15 % vertex surcharge" in jobs.how


CASES = [
    (CloudRunGpu, RUN, {"region": "europe-north1"}, "region", "has no Cloud Run GPUs: europe-north1"),
    (CloudRunGpu, RUN, {"image": "vllm:latest"}, "image", "tags are mutable; pin a digest"),
    (CloudRunGpu, RUN, {"instances_max": 0}, "instances_max", "1 to 100, got 0"),
    (CloudRunGpu, RUN, {"instances_min": 4}, "instances_min", "a GPU is billed around the clock"),
    (CloudRunGpu, RUN, {"cpus": 2}, "cpus", "must be 4 or 8 with an L4, got 2"),
    (CloudRunGpu, RUN, {"memory_gib": 8}, "memory_gib", "16 to 32, got 8"),
    (CloudRunGpu, RUN, {"timeout_s": 7200}, "timeout_s", "1 to 3600, got 7200"),
    (CloudRunGpu, RUN, {"invokers": ["allUsers"]}, "invokers[0]", "anyone could use the models at your cost"),
    (CloudRunGpu, RUN, {"invokers": ["app"]}, "invokers[0]", "must be an IAM member, got 'app'"),
    (
        CloudRunGpu,
        RUN,
        {"environment_variables": {"HF_TOKEN": "x"}},
        "environment_variables.HF_TOKEN",
        "looks like a secret",
    ),
    (CloudRunGpu, RUN, {"gpu": "h100"}, "gpu", "is an unknown argument"),
    (VertexEndpoint, SERVE, {"replicas_min": 0}, "replicas_min", "keeps at least one machine of an endpoint"),
    (VertexEndpoint, SERVE, {"replicas_min": 3}, "replicas_max", "must be at least replicas_min, got 2 and 3"),
    (VertexEndpoint, SERVE, {"machine_type": "g2-standard-13"}, "machine_type", "is not in the catalog"),
    (VertexEndpoint, SERVE, {"machine_type": "ct6e-standard-4t"}, "machine_type", "has no GPU that Vertex AI offers"),
    (VertexEndpoint, SERVE, {"machine_type": "a3-highgpu-1g", "spot": False}, "machine_type", "not sold as on-demand"),
    (VertexEndpoint, SERVE, {"model": "gemma"}, "model", "must be publishers/P/models/M@VERSION"),
    (VertexEndpoint, SERVE, {"image": "vllm:1"}, "image", "must be an image by digest"),
    (VertexEndpoint, SERVE, {"image": f"quay.io/a/b@sha256:{'a' * 64}"}, "image", "takes images of Artifact Registry"),
    (VertexEndpoint, SERVE, {"image": f"a/b@sha256:{'a' * 64}"}, "image", "is on Docker Hub"),
    (VertexTraining, TRAIN, {"capacity_mode": "queued"}, "capacity_mode", "one of on-demand, spot, flex-start"),
    (
        VertexTraining,
        TRAIN,
        {"max_run_hours": 0},
        "max_run_hours",
        "a job without a maximum run time is billed until somebody notices",
    ),
    (VertexTraining, TRAIN, {"max_run_hours": 200}, "max_run_hours", "1 to 168, got 200"),
    (VertexTraining, TRAIN, {"nodes": 0}, "nodes", "1 to 100, got 0"),
    (VertexTraining, TRAIN, {"bucket": "gs://x"}, "bucket", "must be the checkpoint bucket's name, got 'gs://x'"),
    (VertexTraining, TRAIN, {"writer_account": "w"}, "writer_account", "6 to 30"),
    (VertexTraining, TRAIN, {"image": "train"}, "image", "must be an image by digest"),
    (SharedStorage, FILES, {"zone": "us-east1-b"}, "zone", "must be one zone of us-central1"),
    (SharedStorage, FILES, {"bytes_needed": 0}, "bytes_needed", "got 0"),
    (SharedStorage, FILES, {"bytes_needed": 200 * TB}, "bytes_needed", "zonal Filestore ends at 102400 GiB"),
    (SharedStorage, FILES, {"cidr": "8.8.0.0/16"}, "cidr", "must be a private range"),
    (SharedStorage, FILES, {"cidr": "all"}, "cidr", "must be an IPv4 range, got 'all'"),
    (BudgetAlarms, BUDGET, {"monthly_usd": 0}, "monthly_usd", "must be 1 or more, got 0"),
    (BudgetAlarms, BUDGET, {"billing_account": "main"}, "billing_account", "must be a billing account as 01ABCD"),
    (BudgetAlarms, BUDGET, {"stack": ""}, "stack", "name the stack whose costs count"),
    (BudgetAlarms, BUDGET, {"emails": ["ml"]}, "emails[0]", "must be an e-mail address, got 'ml'"),
    (BudgetAlarms, BUDGET, {"owner": ""}, "owner", "is empty"),
]


@pytest.mark.parametrize(("cls", "args", "change", "path", "sentence"), CASES)
def test_refuses(cls, args, change, path, sentence):
    found = refusals(cls, {**args, **change})
    assert any(at == path and sentence in text for at, text in found), found


@given(st.integers(1, 80 * TB), st.integers(0, 10 * TB))
def test_the_size_is_one_that_is_sold_fits_and_grows_with_the_data(needed, more):
    gib = capacity_gib(needed)
    assert gib >= 1024
    assert gib % 256 == 0 if gib < 10240 else gib % 2560 == 0
    assert gib * 2**30 * 9 >= (needed - 2**30) * 10
    assert capacity_gib(needed + more) >= gib
    smaller = gib - (256 if gib <= 10240 else 2560)
    assert gib == 1024 or smaller * 2**30 * 9 < needed * 10


@given(st.sampled_from(SHAPES), st.integers(1, 100), st.sampled_from(sorted(STRATEGIES)))
def test_all_machines_of_a_job_are_alike_and_one_leads(shape, nodes, mode):
    args = {**TRAIN, "machine_type": shape.instance_type, "nodes": nodes, "capacity_mode": mode}
    pools = service_documents.worker_pools(args, shape)
    assert pools[0]["replicaCount"] == 1
    assert sum(pool["replicaCount"] for pool in pools) == nodes
    assert len({json.dumps(pool["machineSpec"], sort_keys=True) for pool in pools}) == 1
