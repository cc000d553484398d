"""A file system bills around the clock: on every cloud something mounts it, or the stack is refused by name."""

import base64
import dataclasses
import functools
import importlib
import json
import subprocess

import aws_decisions
import pytest
from aws_recording import ROOT, record
from decisions import decision, pool, training, workload

from sizewell.components.aws.fleets import documents as fleet_documents
from sizewell.components.azure.scale_sets import custom_data, mount_script
from sizewell.components.settings import Settings
from sizewell.launch import volumes
from sizewell.launch.run import Run
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Decision, Fallback, Storage, Task

FILES = (
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "gcp:filestore/instance:Instance",
    "azure-native:storagecache:AmlFilesystem",
)
MACHINES = (
    "aws:ec2/launchTemplate:LaunchTemplate",
    "azure-native:compute:VirtualMachineScaleSet",
)
VOLUME, CLAIM = "kubernetes:core/v1:PersistentVolume", "kubernetes:core/v1:PersistentVolumeClaim"
FSX, FILESTORE = aws_decisions.DATA, Storage(kind="filestore", bytes=2 * 10**12, location="gs://petsnap/images")
AMLFS = Storage(kind="managed-lustre", bytes=12 * 10**12, location="az://petsnap/images")
TASK = Task(model="meta-llama/Llama-3.1-8B", family="decoder", weights="bf16", precision="bf16", method="pretrain")
A100 = ("Standard_NC24ads_A100_v4", "a100-80gb-pcie", 1)
SPOT = pool(
    "aws",
    "g5.2xlarge",
    "a10g",
    1,
    mode="spot",
    provision="fleet",
    zones=("us-east-1a", "us-east-1b"),
    fallbacks=(Fallback(instance_type="g5.4xlarge", region="us-east-1", market="spot"),),
)
RUN = Run(image="petsnap.example/train:2.8", model="/models/llama")


def tuned(stack, machine, storage, **more):
    return decision(stack, training("tune", machine, storage=storage, task=TASK, **more))


CASES = {
    "EKS": lambda: tuned("dev-aws", pool("aws", "g5.2xlarge", "a10g", 1), FSX, scheduler="kubernetes"),
    "machines on AWS": lambda: aws_decisions.MACHINES,
    "the example of a file system": lambda: Decision.from_json(ROOT / "stacks/decisions/prod-aws.json"),
    "GKE": lambda: tuned("dev-gcp", pool("gcp", "g2-standard-8", "l4", 1), FILESTORE, scheduler="kubernetes"),
    "AKS": lambda: tuned("dev-azure", pool("azure", *A100, nodes=(0, 1, 1)), AMLFS, scheduler="kubernetes"),
    "machines on Azure": lambda: tuned("dev-azure", pool("azure", *A100, nodes=(0, 1, 1)), AMLFS),
    "a spot fleet": lambda: decision("dev-aws", workload("tune", "batch-inference", SPOT, storage=FSX, task=TASK)),
    "HyperPod": lambda: tuned(
        "dev-aws",
        pool("aws", "p4d.24xlarge", "a100-40gb-sxm", 8, nodes=(2, 2, 2), managed="hyperpod"),
        FSX,
        scheduler="kubernetes",
    ),
    "Slurm on AWS": lambda: tuned("dev-aws", pool("aws", "g5.2xlarge", "a10g", 1), FSX, scheduler="slurm"),
    "Slurm on Azure": lambda: tuned("dev-azure", pool("azure", *A100, nodes=(0, 1, 1)), AMLFS, scheduler="slurm"),
}
IMAGES = {  # under Slurm, one's own, which has it
    "aws": "ami-0123456789abcdef0",
    "azure": "/subscriptions/0000/resourceGroups/rg/providers/Microsoft.Compute/images/slurm",
}
CONFIG = {
    "aws": {
        "sizewell:hyperpod": json.dumps(
            {"tune": {"chart": "oci://petsnap.example/charts/hyperpod", "version": "0.1.0"}}
        )
    },
    "azure": {"sizewell:registry": "petsnap.azurecr.io/mirror"},
}


@functools.cache
def built(case, *, runs=()):
    made = CASES[case]()
    cloud = made.stack.rsplit("-", 1)[-1]
    images = {"tune": IMAGES[cloud]} if "Slurm" in case else {}
    who = {"project": "sizewell", "stack": made.stack, "organization": "petsnap", "accounts": ("123456789012",)}
    how = Settings(**who, runs=dict(runs), images=images)
    program = importlib.import_module(f"sizewell.components.{cloud}.program")
    return record(lambda: program.build(made, made.workloads, how), stack=made.stack, config=CONFIG.get(cloud, {}))


def mounting(resources):
    """Of each file system: the volumes and machines that know it, and of the volumes the claims that take them."""
    by_urn = {one.urn: one for one in resources}
    known = {}
    for disk in (one for one in resources if one.type in FILES):
        after = [one for one in resources if disk.urn in one.dependencies and one.type in (VOLUME, *MACHINES)]
        known[disk.name] = [one for one in after if one.type in MACHINES]
        for volume in (one for one in after if one.type == VOLUME):
            known[disk.name] += [one for one in by_urn.values() if one.type == CLAIM and volume.urn in one.dependencies]
    return known


@pytest.mark.parametrize("case", CASES)
def test_every_file_system_is_mounted_by_a_claim_or_by_machines(case):
    mounted = mounting(built(case))
    assert mounted
    assert all(mounted.values()), mounted


@pytest.mark.parametrize(("case", "workload"), [("EKS", "tune"), ("GKE", "tune"), ("AKS", "tune")])
def test_pods_of_a_run_mount_the_claim_without_being_told(case, workload):
    resources = built(case, runs=((workload, dataclasses.replace(RUN, namespace="vision")),))
    claim = next(one for one in resources if one.type == CLAIM).inputs
    assert claim["metadata"]["namespace"] == "vision"
    jobs = [one.inputs for one in resources if one.type.endswith(":JobSet")]
    assert jobs
    assert f'"claimName": "{claim["metadata"]["name"]}"' in json.dumps(jobs)
    assert '"mountPath": "/data"' in json.dumps(jobs)
    # what FSx shows by itself is read from there, an empty file system's location as before
    data = {"EKS": "/data/data", "GKE": "gs://petsnap/images", "AKS": "az://petsnap/images"}[case]
    assert json.dumps(data) in json.dumps(jobs)


def test_every_cluster_has_the_driver_that_its_volumes_name():
    addons = {one.inputs["addonName"] for one in built("EKS") if one.type == "aws:eks/addon:Addon"}
    assert "aws-fsx-csi-driver" in addons
    charts = [one.inputs["chart"] for one in built("AKS") if one.type.endswith(":Release")]
    assert [chart for chart in charts if chart.endswith("/azurelustre-csi-driver")]
    (volume,) = [one for one in built("AKS") if one.type == "sizewell-azure:index:LustreVolume"]
    (release,) = [one for one in built("AKS") if one.name.endswith("-lustre-driver")]
    assert release.urn in volume.dependencies


def test_a_run_may_name_the_folder_and_two_claims_do_not_share_one():
    resources = built("EKS", runs=(("tune", dataclasses.replace(RUN, claims=(("tune-data", "/photos"),))),))
    assert '"/photos/data"' in json.dumps([one.inputs for one in resources if one.type.endswith(":JobSet")])
    taken = dataclasses.replace(RUN, claims=(("mine", "/data"),))
    with pytest.raises(ConfigError, match=r"run\.tune\.claims: mounts mine at /data") as caught:
        built("EKS", runs=(("tune", taken),))
    assert "sizewell:run.tune.claims.tune-data" in str(caught.value)


@pytest.mark.parametrize(
    ("cloud", "machine", "storage"),
    [
        ("aws", pool("aws", "g5.2xlarge", "a10g", 1, managed="sagemaker"), FSX),
        ("gcp", pool("gcp", "g2-standard-8", "l4", 1, managed="vertex"), FILESTORE),
        ("azure", pool("azure", *A100, nodes=(0, 1, 1), managed="azureml"), AMLFS),
    ],
)
def test_a_file_system_beside_machines_of_a_service_is_refused_before_anything_is_built(cloud, machine, storage):
    made = tuned(f"dev-{cloud}", machine, storage)
    program = importlib.import_module(f"sizewell.components.{cloud}.program")
    how = Settings(project="sizewell", stack=made.stack, organization="petsnap", accounts=("petsnap",))
    with pytest.raises(
        ConfigError, match=rf"tune\.storage: is a file system \({storage.kind}\) that would be billed but not mounted"
    ):
        record(lambda: program.build(made, made.workloads, how), stack=made.stack)


def test_first_boot_mounts_before_it_starts_what_reads_there():
    """Of fleets and scale sets, and under Slurm, whose daemon takes jobs as soon as it runs."""
    fsx = [{"dns_name": "fs-1.fsx.us-east-1.amazonaws.com", "mount_name": "abc", "path": "/data"}]
    lustre = [{"address": "10.120.8.4", "path": "/data"}]
    start = "systemctl start slurmd"
    scripts = [
        fleet_documents.user_data(runtime="cuda", region="us-east-1", fleet="f", start_script=start, mounts=fsx),
        custom_data(start_script=start, rocm=False, mounts=lustre),
    ]
    for text in [base64.b64decode(script).decode() for script in scripts]:
        assert 0 < text.index("mount -a -t lustre") < text.index(start)


def test_machines_on_azure_mount_before_they_start_and_say_what_they_lack(tmp_path):
    script = mount_script([{"address": "10.120.8.4", "path": "/data"}])
    done = subprocess.run(
        ["/bin/bash", "-c", script], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no Lustre client" in done.stderr
    assert "10.120.8.4@tcp:/lustrefs /data lustre" in script
    assert script.endswith("mount -a -t lustre")


def test_containers_on_machines_see_the_file_system():
    from sizewell.components import booting
    from sizewell.components.aws import launching

    made = tuned("dev-aws", pool("aws", "g5.2xlarge", "a10g", 1), FSX)
    how = Settings(project="sizewell", stack=made.stack, organization="petsnap", runs={"tune": RUN})
    work = made.workloads[0]
    target = launching.target(made, work, work.pools[0], how)
    script = booting.run_at_boot(made, work, work.pools[0], how, target)["start_script"]
    assert "args+=(-v /data:/data)" in script
    assert "SIZEWELL_DATA=/data/data" in script
    assert volumes.DATA == "/data"
