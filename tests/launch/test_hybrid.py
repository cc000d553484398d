"""Own machines with a burst pool on AWS: examples/hybrid decides, previews and launches as docs/howto says, and what
cannot be is refused in one message.
"""

import dataclasses
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sizewell.components import bursting
from sizewell.components.aws import burst
from sizewell.components.kubernetes import objects
from sizewell.components.settings import Settings, read_settings
from sizewell.launch.adopted import read_adopted
from sizewell.launch.launch import launch_of
from sizewell.launch.manifests import manifests
from sizewell.launch.run import read_run
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Decision

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/hybrid"
PAGE = (ROOT / "docs/howto/burst-to-a-cloud.md").read_text(encoding="utf-8")
COMMANDS = [
    line.strip() for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
]
CONFIG = yaml.safe_load((EXAMPLE / "stacks/config/Pulumi.prod.yaml").read_text())["config"]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each command of the page printed, in a copy of the example without its decision."""
    project = tmp_path_factory.mktemp("hybrid") / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("decisions"))
    answers = {}
    for command in COMMANDS:
        if command:
            line = command.replace("sizewell ", f"{sys.executable} -m sizewell.cli.main ", 1)
            done = subprocess.run(["bash", "-c", line], cwd=project, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}"
            answers[command.split()[1]] = done.out if hasattr(done, "out") else done.stdout
    answers["decision"] = (project / "stacks/decisions/prod.json").read_text()
    return answers


def decision():
    return Decision.from_json(EXAMPLE / "stacks/decisions/prod.json")


def test_the_commands_of_the_page_decide_what_is_committed(said):
    assert said["decision"] == (EXAMPLE / "stacks/decisions/prod.json").read_text()
    assert {"size", "preview", "launch"} <= said.keys()


def test_one_bill_has_both_and_every_policy_holds(said):
    preview = said["preview"]
    assert re.search(r"\+ +pretrain +0-2 x hgx-h100-8x .*19\.4/h", preview)
    assert re.search(r"\+ +pretrain-burst +0-2 x p5\.48xlarge .*/h x 73", preview)
    assert "policy" not in preview
    assert "0 unpriced, 0 of unknown type" in " ".join(preview.split())


def test_jobs_name_the_queue_and_no_machines(said):
    job = next(one for one in yaml.safe_load_all(said["launch"]) if one["kind"] == "JobSet")
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "prod"
    pod = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert not pod.get("nodeSelector")
    asked = pod["containers"][0]["resources"]["requests"]
    cpus = {kind: load().shape(cloud, kind).vcpus for cloud, kind in (("aws", "p5.48xlarge"), ("on-premises", OWN))}
    assert int(asked["cpu"]) <= cpus["p5.48xlarge"] < cpus[OWN]
    assert not any(key.endswith(("/efa", "/ib")) for key in asked)
    store = next(one["value"] for one in pod["containers"][0]["env"] if one["name"] == "SIZEWELL_CHECKPOINT_URI")
    assert store.startswith("s3://prod-pretrain-burst-") or "pretrain-burst" in store


OWN = "hgx-h100-8x"


@pytest.fixture(scope="module")
def plan():
    """What the stack makes."""
    from sizewell.recording.evaluate import evaluate

    config = {key: value if isinstance(value, str) else json.dumps(value) for key, value in CONFIG.items()}

    def program():
        importlib.import_module("sizewell.components.adopted").build(decision(), read_settings())

    return evaluate(ROOT, "prod", program=program, config=config).resources


def only(resources, kind):
    (match,) = [one for one in resources if one.type.rsplit(":", 1)[-1] == kind]
    return match


def test_one_queue_has_both_kinds_of_machines_the_own_ones_first(plan):
    queue = only(plan, "ClusterQueue")
    (group,) = queue.inputs["spec"]["resourceGroups"]
    assert [flavor["name"] for flavor in group["flavors"]] == ["prod", "pretrain-burst"]
    for flavor in group["flavors"]:
        quota = {one["name"]: one["nominalQuota"] for one in flavor["resources"]}
        assert quota.keys() == set(group["coveredResources"])
        assert quota["nvidia.com/gpu"] == "16"
    assert dict(queue.inputs["spec"]["flavorFungibility"])["whenCanPreempt"] == "TryNextFlavor"
    assert only(plan, "LocalQueue").inputs["metadata"]["name"] == "prod"


def test_the_burst_starts_empty_and_the_job_s_account_writes_on_either_side(plan):
    group = only(plan, "NodeGroup")
    assert dict(group.inputs["scalingConfig"]) == {"minSize": 0, "desiredSize": 0, "maxSize": 2}
    assert group.inputs["clusterName"] == "onprem"
    labels = {dict(one.inputs["spec"]["nodeLabels"]).get("sizewell/pool") for one in plan if _flavor(one)}
    assert group.inputs["labels"]["sizewell/pool"] in labels
    accounts = {one.inputs["serviceAccount"] for one in plan if one.type.endswith(":PodIdentityAssociation")}
    job = only(plan, "JobSet").inputs["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert job["serviceAccountName"] in accounts
    assert any(one.type.endswith(":MetricAlarm") for one in plan), "the guard"
    assert any(one.type.endswith(":Budget") for one in plan)


def test_nothing_is_made_before_the_cluster_s_add_ons_are_read(plan):
    """The pods' identity and the guard's measure come from them; without one a queue alone would be made."""
    wanted = {f"{addon}-has-to-be-on-onprem" for addon in burst.ADDONS}
    for kind in ("Queueing", "EksNodeGroup", "BudgetAlarms", "TrainingRun"):
        waits_for = {urn.rsplit("::", 1)[1] for urn in only(plan, kind).dependencies}
        assert wanted <= waits_for, kind


def _flavor(one):
    return one.type.endswith(":ResourceFlavor")


def test_a_burst_in_in_a_network_that_nobody_names_is_refused():
    how = Settings(project="p", stack="prod", cluster=read_adopted(CONFIG["sizewell:cluster"]))
    with pytest.raises(ConfigError, match="lacks vpc_id, vpc_cidr, subnet_ids: the burst's machines join"):
        burst.check_network(decision(), how)


def changed(**by_name):
    """The decision with parts of its workloads' pools replaced."""
    made = decision()

    def of(workload):
        pools = tuple(pool.model_copy(update=by_name.get("pools", {})) for pool in workload.pools)
        return workload.model_copy(update={"pools": pools, **by_name.get("workload", {})})

    name = by_name["name"]
    workloads = tuple(of(one) if one.spec.name == name else one for one in made.workloads)
    return made.model_copy(update={"workloads": workloads})


BURST = CONFIG["sizewell:cluster"]["burst"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pools": {"cloud": "gcp"}}, "is on gcp: a GKE cluster has machines of Compute Engine alone"),
        ({"pools": {"cloud": "azure"}}, "is on azure: an AKS cluster has machines of your own in a preview alone"),
        ({"pools": {"cloud": "coreweave"}}, "is on coreweave: machines of coreweave cannot be started by Sizewell"),
        ({"workload": {"scheduler": "none"}}, "is decided for machines, and its machines join a Kubernetes cluster"),
        ({"pools": {"nodes_max": 1}}, "has at most 1 machines, and a job takes 2"),
        ({"pools": {"instance_type": "p5.4xlarge"}}, "have 1 nvidia.com/gpu and 8 nvidia.com/gpu"),
        (
            {"pools": {"instance_type": "p4d.24xlarge", "accelerator": "a100-40gb"}},
            "has too little memory on each accelerator: p4d.24xlarge and hgx-h100-8x have 40 GiB and 80 GiB",
        ),
        (
            {"name": "pretrain", "workload": {"kind": "inference"}},
            "is inference: only jobs that start and end as a whole",
        ),
        ({"name": "pretrain", "workload": {"scheduler": "ray"}}, "is Ray, whose parts must run in one place"),
        ({"name": "pretrain", "pools": {"cloud": "coreweave"}}, "is on CoreWeave, whose clusters cannot have machines"),
        ({"name": "pretrain", "pools": {"cloud": "aws"}}, "is next to existing machines"),
    ],
)
def test_what_cannot_take_the_jobs_is_refused(change, words):
    made = changed(**{"name": "pretrain-burst", **change})
    with pytest.raises(ConfigError) as caught:
        bursting.check(made, read_adopted(CONFIG["sizewell:cluster"]), {})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ({"burst": "aws"}, "must be a mapping of workload, machines, cluster, security_group"),
        ({"burst": {**BURST, "pool": "x"}}, "burst.pool: is not a setting of a burst"),
        ({"burst": {**BURST, "cluster": ""}}, "burst.cluster: must be a text"),
        ({"burst": BURST, "queue": "team"}, "needs a queue installed by Sizewell"),
        ({"burst": BURST, "operators": []}, "needs a queue installed by Sizewell"),
        ({"burst": BURST, "rdma": "rdma/ib"}, "has no rdma/ib: a job that asks for it would wait forever"),
        ({"burst": {**BURST, "machines": "pretrian"}}, "must be a workload of prod: pretrain-burst, pretrain"),
        ({"burst": {**BURST, "machines": "pretrain"}}, "takes two workloads, each with one pool"),
        ({}, "pretrain-burst: is on aws, next to existing machines: its machines would not be provisioned"),
    ],
)
def test_wrong_words_of_a_burst(cluster, words):
    with pytest.raises(ConfigError) as caught:
        bursting.check(decision(), read_adopted({"selector": {"a": "b"}, **cluster}), {})
    assert words in str(caught.value)


def test_the_burst_s_machines_have_no_run_of_their_own():
    runs = {"pretrain-burst": read_run({"image": "a:1"}, "run")}
    with pytest.raises(ConfigError, match=r"sizewell:run\.pretrain-burst: is for the burst's machines"):
        bursting.check(decision(), read_adopted(CONFIG["sizewell:cluster"]), runs)


def test_a_test_of_the_machines_runs_on_the_own_ones():
    cluster = read_adopted(CONFIG["sizewell:cluster"])
    pair = bursting.baseline(decision(), cluster)[0]
    how = Settings(project="p", stack="prod")
    target = bursting.target(decision(), cluster, pair, how, queue="prod", pooled=False)
    assert dict(target.selector) == {"eks.amazonaws.com/compute-type": "hybrid"}


def test_the_queue_s_objects_are_what_the_definitions_allow():
    flavors = [
        {"name": "a", "node_labels": {"x": "a"}, "resource": "nvidia.com/gpu", "accelerators_per_machine": 8}
        | {"cpus_per_machine": 8, "memory_gib_per_machine": 8, "machines": 1, "beside_per_machine": {"rdma/ib": "1"}},
        {"name": "b", "queue": "a", "node_labels": {"x": "b"}, "resource": "nvidia.com/gpu"}
        | {"accelerators_per_machine": 8, "cpus_per_machine": 8, "memory_gib_per_machine": 8, "machines": 1},
    ]
    made = objects.manifests({"flavors": flavors})
    assert [one["kind"] for one in made] == ["ResourceFlavor", "ResourceFlavor", "ClusterQueue", "LocalQueue"]
    (group,) = made[2]["spec"]["resourceGroups"]
    assert [{one["name"]: one["nominalQuota"] for one in flavor["resources"]} for flavor in group["flavors"]] == [
        {"nvidia.com/gpu": "8", "cpu": "8", "memory": "8Gi", "rdma/ib": "1"},
        {"nvidia.com/gpu": "8", "cpu": "8", "memory": "8Gi", "rdma/ib": "0"},
    ]


def test_arguments_of_the_component_say_the_same():
    """What the stack makes and what launch prints are one and the same job."""
    from sizewell.components.kubernetes import run_args as to

    cluster = read_adopted(CONFIG["sizewell:cluster"])
    pair = bursting.baseline(decision(), cluster)[0]
    target = bursting.target(decision(), cluster, pair, Settings(project="p", stack="prod"), queue="prod")
    of = launch_of(decision(), *pair, read_run(CONFIG["sizewell:run"]["pretrain"], "run"), target)
    args = {"environment": "prod", "owner": "ml", **to.args_of(of, to.TrainingRunArgs)}
    again = to.launch_of_args(of.name, "training", "prod", args)
    assert manifests(again)[-1] == manifests(dataclasses.replace(of, plan=of.plan))[-1]
