"""SageMaker: training, endpoints, notebooks; what they make, what they refuse, and their laws."""

import base64
import json
import subprocess
import sys

import pytest
from aws_recording import (
    GUARD,
    OWNED,
    PLACE,
    PROD,
    ROOT,
    check_right,
    component,
    golden,
    only,
    record,
    refusals,
)
from hypothesis import given
from hypothesis import strategies as st

from sizewell.components.aws.sagemaker import documents as sagemaker_documents
from sizewell.components.aws.sagemaker.endpoints import AsyncEndpoint, RealtimeEndpoint, ServerlessEndpoint
from sizewell.components.aws.sagemaker.notebooks import Notebook, StudioDomain
from sizewell.components.aws.sagemaker.training import TrainingPipeline
from sizewell.recording.evaluate import evaluate
from sizewell.resources.facts import facts
from sizewell.sizing import catalog

KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.7.1-gpu-py312"
STORE = {"bucket": "store", "key_alias": "alias/store"}
ONE_ZONE = {**PLACE, "zones": ["us-east-1a"], "subnet_ids": ["subnet-1"]}
TRAINING = {
    **OWNED,
    **ONE_ZONE,
    "instance_type": "g5.2xlarge",
    "nodes": 1,
    "capacity_mode": "spot",
    "image": IMAGE,
    "max_run_s": 86400,
    "writer": STORE,
    "channels": {"train": "s3://petsnap/images/train"},
    "hyperparameters": {"epochs": "3"},
    "disk_gib": 200,
}
PROD_TRAINING = {
    **{key: value for key, value in TRAINING.items() if key not in OWNED},
    **PROD,
    "kms_key_arn": KEY,
    "instance_type": "p4d.24xlarge",
    "nodes": 2,
    "capacity_mode": "on-demand",
}
SERVING = {
    **OWNED,
    **PLACE,
    "instance_type": "g6.12xlarge",
    "image": IMAGE,
    "model_data": "s3://models/chat/model.tar.gz",
    "environment_variables": {"MAX_TOTAL_TOKENS": "8192"},
    "nodes_min": 0,
    "nodes_initial": 1,
    "nodes_max": 3,
    "concurrency": 8.0,
    "accelerators_per_copy": 2,
}
PROD_SERVING = {
    **{key: value for key, value in SERVING.items() if key not in OWNED},
    **PROD,
    "kms_key_arn": KEY,
    "instance_type": "inf2.24xlarge",
    "nodes_min": 2,
    "nodes_initial": 2,
}
ASYNC = {
    **OWNED,
    **PLACE,
    "instance_type": "g5.xlarge",
    "image": IMAGE,
    "model_data": "s3://models/batch/model.tar.gz",
    "nodes_max": 4,
    "concurrency": 4,
    "results": {"bucket": "results", "key_alias": "alias/results"},
}
PROD_ASYNC = {**{key: value for key, value in ASYNC.items() if key not in OWNED}, **PROD, "kms_key_arn": KEY}
SERVERLESS = {**OWNED, "region": "us-east-1", "image": IMAGE, "memory_mib": 4096, "max_concurrency": 10}
PROD_SERVERLESS = {**PROD, "region": "us-east-1", "image": IMAGE, "memory_mib": 6144, "max_concurrency": 50}
NOTEBOOK = {**OWNED, **ONE_ZONE, "instance_type": "g6.xlarge", "disk_gib": 100, "guard": GUARD, "reads": ["petsnap"]}
PROD_NOTEBOOK = {
    **PROD,
    **ONE_ZONE,
    "kms_key_arn": KEY,
    "instance_type": "g6.xlarge",
    "disk_gib": 100,
    "writer": STORE,
}
STUDIO = {**OWNED, **PLACE, "users": ["ada", "grace"], "reads": ["petsnap"]}
PROD_STUDIO = {**PROD, **PLACE, "kms_key_arn": KEY, "idle_minutes": 120}


@pytest.mark.parametrize(
    ("form", "cls", "args"),
    [
        ("sagemaker-training-dev", TrainingPipeline, TRAINING),
        ("sagemaker-training-prod", TrainingPipeline, PROD_TRAINING),
        ("sagemaker-realtime-dev", RealtimeEndpoint, SERVING),
        ("sagemaker-realtime-prod", RealtimeEndpoint, PROD_SERVING),
        ("sagemaker-async-dev", AsyncEndpoint, ASYNC),
        ("sagemaker-async-prod", AsyncEndpoint, PROD_ASYNC),
        ("sagemaker-serverless-dev", ServerlessEndpoint, SERVERLESS),
        ("sagemaker-serverless-prod", ServerlessEndpoint, PROD_SERVERLESS),
        ("sagemaker-notebook-dev", Notebook, NOTEBOOK),
        ("sagemaker-notebook-prod", Notebook, PROD_NOTEBOOK),
        ("sagemaker-studio-dev", StudioDomain, STUDIO),
        ("sagemaker-studio-prod", StudioDomain, PROD_STUDIO),
    ],
)
def test_makes_what_is_written_down(form, cls, args):
    resources = record(lambda: cls("work", args), stack="prod-aws" if form.endswith("prod") else "dev-aws")
    check_right(resources)
    golden(form, resources)


def definition(args):
    shape = catalog.load().shape("aws", args["instance_type"])
    text = sagemaker_documents.pipeline_definition(
        "work",
        args,
        shape,
        role_arn="arn:role",
        key_arn=KEY,
        subnet_ids=["subnet-1"],
        security_group_id="sg-1",
        tags={"managed-by": "sizewell"},
    )
    return json.loads(text)["Steps"][0]


def test_a_spot_run_waits_longer_than_it_runs_and_resumes():
    asked = definition(TRAINING)["Arguments"]
    assert asked["EnableManagedSpotTraining"] is True
    assert asked["StoppingCondition"] == {"MaxRuntimeInSeconds": 86400, "MaxWaitTimeInSeconds": 172800}
    assert asked["CheckpointConfig"]["S3Uri"] == "s3://store/work/checkpoints/"


def test_a_run_is_isolated_encrypted_and_inside_of_the_network():
    for args in (TRAINING, PROD_TRAINING):
        asked = definition(args)["Arguments"]
        assert asked["EnableNetworkIsolation"] is True
        assert asked["EnableInterContainerTrafficEncryption"] is True
        assert asked["VpcConfig"] == {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}
        assert "MaxRuntimeInSeconds" in asked["StoppingCondition"]


def test_capacity_errors_are_tried_again_and_failed_scripts_are_not():
    kinds = [kind for policy in definition(TRAINING)["RetryPolicies"] for kind in policy["ExceptionType"]]
    assert "SageMaker.CAPACITY_ERROR" in kinds
    assert "SageMaker.RESOURCE_LIMIT" in kinds
    assert not [kind for kind in kinds if "ALGORITHM" in kind]


def test_a_key_only_where_sagemaker_takes_one():
    assert "VolumeKmsKeyId" not in definition(TRAINING)["Arguments"]["ResourceConfig"]  # g5 has disks of its own
    neuron = definition({**TRAINING, "instance_type": "p3.8xlarge"})["Arguments"]["ResourceConfig"]
    assert neuron["VolumeKmsKeyId"] == KEY


def test_zero_goes_by_an_inference_component():
    resources = record(lambda: RealtimeEndpoint("work", SERVING))
    kinds = {one.inputs["typeName"] for one in resources if one.type == "aws:cloudcontrol/resource:Resource"}
    assert kinds == {"AWS::SageMaker::EndpointConfig", "AWS::SageMaker::InferenceComponent"}
    target = only(resources, "aws:appautoscaling/target:Target").inputs
    assert (target["minCapacity"], target["maxCapacity"]) == (0, 6)
    assert target["scalableDimension"] == "sagemaker:inference-component:DesiredCopyCount"
    alarm = only(resources, "aws:cloudwatch/metricAlarm:MetricAlarm").inputs
    assert alarm["metricName"] == "NoCapacityInvocationFailures"
    plan = evaluate(ROOT, "dev-aws", program=lambda: RealtimeEndpoint("work", SERVING))
    (judged,) = facts(plan, catalog.load(), environment="dev").endpoints
    assert (judged.accelerated, judged.scales, judged.nodes_min) == (True, True, 0)
    text = sagemaker_documents.zero_config(
        config="c", args=SERVING, role_arn="r", subnet_ids=["s"], security_group_id="g", key_arn="", tags={}
    )
    config = json.loads(text)
    assert config["ProductionVariants"][0]["ManagedInstanceScaling"]["MinInstanceCount"] == 0
    assert config["EnableNetworkIsolation"] is True
    assert config["VpcConfig"] == {"SecurityGroupIds": ["g"], "Subnets": ["s"]}


def test_without_zero_the_provider_s_own_types_are_used():
    resources = record(lambda: RealtimeEndpoint("work", PROD_SERVING), "prod-aws")
    assert not [one for one in resources if one.type == "aws:cloudcontrol/resource:Resource"]
    config = only(resources, "aws:sagemaker/endpointConfiguration:EndpointConfiguration").inputs
    assert config["kmsKeyArn"] == KEY  # inf2 has no disks of its own
    target = only(resources, "aws:appautoscaling/target:Target").inputs
    assert (target["minCapacity"], target["maxCapacity"]) == (2, 3)
    model = only(resources, "aws:sagemaker/model:Model").inputs
    assert model["enableNetworkIsolation"] is True
    assert model["vpcConfig"]["subnets"] == ["subnet-1", "subnet-2"]


def test_an_asynchronous_endpoint_goes_to_zero_and_wakes():
    resources = record(lambda: AsyncEndpoint("work", ASYNC))
    assert only(resources, "aws:appautoscaling/target:Target").inputs["minCapacity"] == 0
    alarm = only(resources, "aws:cloudwatch/metricAlarm:MetricAlarm").inputs
    assert alarm["metricName"] == "HasBacklogWithoutCapacity"


def test_a_changed_model_gets_a_new_name():
    names = set()
    for image in (IMAGE, f"{IMAGE}-2"):
        args = {**ASYNC, "image": image}
        resources = record(lambda args=args: AsyncEndpoint("work", args))
        names.add(only(resources, "aws:sagemaker/model:Model").inputs["name"])
    assert len(names) == 2
    later = {**ASYNC, "expires": "2026-12-31", "facts": {"decisionDigest": "1"}}
    resources = record(lambda: AsyncEndpoint("work", later))
    assert only(resources, "aws:sagemaker/model:Model").inputs["name"] in names  # a refreshed decision changes nothing


def test_a_notebook_is_closed_and_stops_itself():
    resources = record(lambda: Notebook("work", NOTEBOOK))
    inputs = only(resources, "aws:sagemaker/notebookInstance:NotebookInstance").inputs
    assert inputs["directInternetAccess"] == "Disabled"
    assert inputs["rootAccess"] == "Disabled"
    assert inputs["instanceMetadataServiceConfiguration"]["minimumInstanceMetadataServiceVersion"] == "2"
    said = component(resources, "sizewell-aws:index:Notebook").inputs["sizewell"]
    assert said["guard"]["window_s"] == 2700


def test_studio_shuts_idle_apps_down_and_keeps_homes_in_prod():
    dev = only(record(lambda: StudioDomain("work", STUDIO)), "aws:sagemaker/domain:Domain").inputs
    prod = only(record(lambda: StudioDomain("work", PROD_STUDIO), "prod-aws"), "aws:sagemaker/domain:Domain").inputs
    assert dev["appNetworkAccessType"] == prod["appNetworkAccessType"] == "VpcOnly"
    assert dev["retentionPolicy"] == {"homeEfsFileSystem": "Delete"}
    assert prod["retentionPolicy"] == {"homeEfsFileSystem": "Retain"}
    idle = prod["defaultUserSettings"]["jupyterLabAppSettings"]["appLifecycleManagement"]["idleSettings"]
    assert (idle["lifecycleManagement"], idle["idleTimeoutInMinutes"]) == ("ENABLED", 120)


@pytest.mark.parametrize(
    ("cls", "args", "change", "path", "sentence"),
    [
        (TrainingPipeline, TRAINING, {"instance_type": "ml.g5.2xlarge"}, "instance_type", "is written without ml."),
        (
            TrainingPipeline,
            TRAINING,
            {"instance_type": "inf2.xlarge"},
            "instance_type",
            "does not offer inf2.xlarge for training",
        ),
        (TrainingPipeline, TRAINING, {"instance_type": "g9.x"}, "instance_type", "is not in the catalog: 'g9.x'"),
        (
            TrainingPipeline,
            TRAINING,
            {"max_wait_s": 3600},
            "max_wait_s",
            "must be max_run_s (86400) to 2419200, got 3600",
        ),
        (TrainingPipeline, PROD_TRAINING, {"max_wait_s": 90000}, "max_wait_s", "is for spot only"),
        (TrainingPipeline, TRAINING, {"max_run_s": 0}, "max_run_s", "60 to 2419200, got 0"),
        *(
            (kind, args, {"image": IMAGE.replace("us-east-1", "us-west-2")}, "image", "is in us-west-2, and SageMaker")
            for kind, args in ((TrainingPipeline, TRAINING), (RealtimeEndpoint, SERVING))
        ),
        (TrainingPipeline, TRAINING, {"writer": {}}, "writer", "must name bucket and key_alias"),
        (TrainingPipeline, TRAINING, {"capacity_mode": "capacity-block"}, "capacity_mode", "one of on-demand, spot"),
        (TrainingPipeline, TRAINING, {"image": "pytorch:latest"}, "image", "must be an image in ECR"),
        (TrainingPipeline, TRAINING, {"channels": {"train": "/data"}}, "channels.train", "must be an s3:// location"),
        (
            TrainingPipeline,
            PROD_TRAINING,
            {"zones": ["us-east-1a", "us-east-1b"]},
            "zones",
            "must be exactly one for machines of one job, got 2",
        ),
        (RealtimeEndpoint, SERVING, {"zones": ["us-east-1a"]}, "zones", "SageMaker requires two for hosting"),
        (RealtimeEndpoint, SERVING, {"nodes_max": 0}, "nodes_max", "1 to 100, got 0"),
        (RealtimeEndpoint, SERVING, {"accelerators_per_copy": 8}, "accelerators_per_copy", "1 to 4, got 8"),
        (RealtimeEndpoint, SERVING, {"concurrency": 0}, "concurrency", "must be over 0, got 0"),
        (RealtimeEndpoint, SERVING, {"startup_s": 30}, "startup_s", "60 to 3600, got 30"),
        (RealtimeEndpoint, SERVING, {"instance_type": "p3dn.24xlarge"}, "instance_type", "for hosting"),
        (
            RealtimeEndpoint,
            SERVING,
            {"environment_variables": {"HF_TOKEN": "hf_abc"}},
            "environment_variables.HF_TOKEN",
            "looks like a secret",
        ),
        (AsyncEndpoint, ASYNC, {"results": {"bucket": "b"}}, "results", "must name bucket and key_alias"),
        (AsyncEndpoint, ASYNC, {"concurrency": 2000}, "concurrency", "1 to 1000, got 2000"),
        (AsyncEndpoint, ASYNC, {"model_data": "https://x"}, "model_data", "must be an s3:// location"),
        (
            ServerlessEndpoint,
            SERVERLESS,
            {"accelerator": "l4"},
            "accelerator",
            "must be empty, got 'l4': serverless inference has no accelerators",
        ),
        (ServerlessEndpoint, SERVERLESS, {"memory_mib": 8192}, "memory_mib", "must be 1024 to 6144 in steps of 1024"),
        (ServerlessEndpoint, SERVERLESS, {"memory_mib": 1500}, "memory_mib", "must be 1024 to 6144 in steps of 1024"),
        (ServerlessEndpoint, SERVERLESS, {"instance_type": "g5.xlarge"}, "instance_type", "is an unknown argument"),
        (
            Notebook,
            NOTEBOOK,
            {"instance_type": "g7.2xlarge"},
            "instance_type",
            "does not offer g7.2xlarge for notebook",
        ),
        (Notebook, NOTEBOOK, {"disk_gib": 1}, "disk_gib", "5 to 16384, got 1"),
        (Notebook, NOTEBOOK, {"guard": {**GUARD, "window_s": 60}}, "guard.window_s", "must be 600 to 43200"),
        (StudioDomain, STUDIO, {"idle_minutes": 30}, "idle_minutes", "60 to 525600, got 30"),
        (StudioDomain, STUDIO, {"users": ["a b"]}, "users[0]", "must be letters, digits and -"),
        (StudioDomain, STUDIO, {"users": ["ada", "ada"]}, "users", "names a user twice"),
    ],
)
def test_refuses(cls, args, change, path, sentence):
    found = refusals(cls, {**args, **change})
    assert any(at == path and sentence in text for at, text in found), found


@given(st.integers(60, 28 * 86400), st.none() | st.integers(60, 28 * 86400))
def test_waiting_is_never_shorter_than_the_run(run, wait):
    args = {**TRAINING, "max_run_s": run} | ({} if wait is None else {"max_wait_s": wait})
    assert run <= sagemaker_documents.max_wait_s(args) <= 28 * 86400


HOSTS = [one for one in catalog.load().shapes if one.cloud == "aws" and "hosting" in one.managed and one.accelerators]


@given(st.sampled_from(HOSTS), st.integers(0, 4), st.integers(0, 4), st.data())
def test_copies_fit_onto_the_machines(shape, low, more, data):
    each = data.draw(st.integers(1, shape.accelerators))
    args = {"nodes_min": low, "nodes_max": low + more, "accelerators_per_copy": each}
    fewest, most = sagemaker_documents.copies(args, shape)
    assert fewest <= most
    assert most * each <= (low + more) * shape.accelerators
    assert (fewest == 0) == (low == 0)


@pytest.mark.parametrize(
    ("sessions", "gpu", "stops"),
    [
        ([], "0\n", True),
        ([{"kernel": {"execution_state": "busy", "last_activity": "2026-01-01T00:00:00Z"}}], "0\n", False),
        ([{"kernel": {"execution_state": "idle", "last_activity": "2026-01-01T00:00:00Z"}}], "0\n", True),
        ([{"kernel": {"execution_state": "idle", "last_activity": "2026-01-01T00:00:00Z"}}], "0\n63\n", False),
        (None, "0\n", False),  # what cannot be asked counts as work
        ([], "[N/A]\n", False),
    ],
)
def test_a_notebook_stops_only_when_nothing_works(tmp_path, sessions, gpu, stops):
    guard = {**GUARD, "window_s": 600, "grace_s": 0}
    start = base64.b64decode(sagemaker_documents.auto_stop(guard=guard, region="us-east-1")).decode()
    assert subprocess.run(["bash", "-n"], input=start, text=True, check=False).returncode == 0
    program = start.split("<<'PROGRAM'\n")[1].split("\nPROGRAM")[0]
    (tmp_path / "meta.json").write_text('{"ResourceName": "nb"}')
    program = program.replace("/run/sizewell-last-work", str(tmp_path / "seen"))
    program = program.replace("/opt/ml/metadata/resource-metadata.json", str(tmp_path / "meta.json"))
    (tmp_path / "seen").touch()
    harness = f"""
import io, os, subprocess, sys, time, urllib.request
sessions = {sessions!r}
os.utime({str(tmp_path / "seen")!r}, (time.time() - 700,) * 2)
def urlopen(*args, **kwargs):
    import json
    if sessions is None:
        raise OSError("refused")
    return io.StringIO(json.dumps(sessions))
class Done:
    stdout = {gpu!r}
def run(command, **kwargs):
    if command[0] == "aws":
        print("STOPPED", command[-1])
    return Done
urllib.request.urlopen, subprocess.run = urlopen, run
exec(compile(sys.stdin.read(), "auto_stop", "exec"))
"""
    done = subprocess.run([sys.executable, "-c", harness], input=program, capture_output=True, text=True, check=True)
    assert (done.stdout == "STOPPED nb\n") == stops, done.stdout + done.stderr
