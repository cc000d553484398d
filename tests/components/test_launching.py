"""What the stacks' configuration says runs: on our clusters, on one that is there already, and nothing without it."""

import base64
import dataclasses
import functools
import importlib
import json
from datetime import date

import pytest
from aws_decisions import KUBERNETES
from aws_recording import ROOT, children, record
from decisions import by_stack, decision, pool, serving, training

from sizewell.components.kubernetes.program import check_names
from sizewell.components.settings import Settings, read_settings
from sizewell.launch.adopted import kubeconfig_fault, read_adopted
from sizewell.launch.run import Run
from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import NothingFits, decide
from sizewell.sizing.errors import ArgsError, ConfigError
from sizewell.sizing.records.decision import Capacity, Decision, Task
from sizewell.sizing.workload.read import parse_spec

TASK = Task(model="meta-llama/Llama-3.1-8B", family="decoder", weights="bf16", precision="bf16", method="pretrain")
RUNS = {
    "pretrain": Run(image="train:2.8", model="/models/llama", env=(("SIZEWELL_DATA", "synthetic"),)),
    "chat": Run(image="vllm/vllm-openai:v0.11.0", model="s3://petsnap/llama"),
}


def tasks(made):
    """The decision with something to do."""
    return made.model_copy(update={"workloads": tuple(one.model_copy(update={"task": TASK}) for one in made.workloads)})


@functools.cache
def built(cloud, *, runs):
    """All resources of a stack of ours on one cloud."""
    made, settings = tasks(MADE[cloud]), {"runs": RUNS, "accounts": ("petsnap",)} if runs else {}
    how = Settings(project="sizewell", stack=made.stack, organization="petsnap", **settings)
    program = importlib.import_module(f"sizewell.components.{cloud}.program")
    return record(lambda: program.build(made, made.workloads, how), stack=made.stack)


def kinds(resources):
    return [one.type.rsplit(":", 1)[-1] for one in resources]


AKS = decision(
    "prod-azure",
    training(
        "pretrain", pool("azure", "Standard_ND96isr_H100_v5", "h100-sxm", 8, nodes=(0, 2, 4)), scheduler="kubernetes"
    ),
)
GKE = decision(
    "dev-gcp",
    training(
        "pretrain",
        pool(
            "gcp",
            "a3-megagpu-8g",
            "h100-sxm",
            8,
            nodes=(0, 4, 4),
            capacity=Capacity(mode="queued"),
            market="flex-start",
        ),
        scheduler="kubernetes",
    ),
    serving("chat", pool("gcp", "g2-standard-8", "l4", 1, role="replicas"), scheduler="kubernetes"),
)


MADE = {"aws": KUBERNETES, "gcp": GKE, "azure": AKS}


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_without_an_image_nothing_runs(cloud):
    resources = built(cloud, runs=False)
    assert not {"TrainingRun", "ServedModel", "JobSet", "Deployment", "Operators"} & set(kinds(resources))


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_a_training_run_stands_where_its_pool_does(cloud):
    resources = built(cloud, runs=True)
    job = next(one for one in resources if one.type.endswith(":JobSet"))
    spec = job.inputs["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    selector = dict(spec["nodeSelector"])
    labels = {
        "aws": lambda: next(
            one for one in resources if one.type == "aws:eks/nodeGroup:NodeGroup" and one.name == "pretrain-nodes"
        ).inputs["labels"],
        "gcp": lambda: next(
            one for one in resources if one.type == "gcp:container/nodePool:NodePool" and one.name == "pretrain-nodes"
        ).inputs["nodeConfig"]["labels"],
        "azure": lambda: next(
            one for one in resources if one.type.endswith(":AgentPool") and "pretrain" in one.name
        ).inputs["nodeLabels"],
    }[cloud]()
    assert selector.items() <= dict(labels).items()
    queue = job.inputs["metadata"]["labels"].get("kueue.x-k8s.io/queue-name")
    queues = [one.inputs["metadata"]["name"] for one in resources if one.type.endswith(":LocalQueue")]
    assert (queue in queues) if queues else queue is None
    releases = [one.inputs["name"] for one in resources if one.type.endswith(":Release")]
    assert releases.count("jobset") == 1, releases


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_the_namespaces_of_runs_are_made_before_what_stands_in_them(cloud):
    """In a cluster of ours nobody else makes them: the API server would refuse all of it once the machines are
    there."""
    made = tasks(MADE[cloud])
    runs = {name: dataclasses.replace(run, namespace="team") for name, run in RUNS.items()}
    how = Settings(project="sizewell", stack=made.stack, organization="petsnap", accounts=("petsnap",), runs=runs)
    program = importlib.import_module(f"sizewell.components.{cloud}.program")
    resources = record(lambda: program.build(made, made.workloads, how), stack=made.stack)
    (space,) = [one for one in resources if one.type == "kubernetes:core/v1:Namespace" and "team" in one.name]
    assert space.inputs["metadata"]["name"] == "team"
    inside = [one for one in resources if (one.inputs.get("metadata") or {}).get("namespace") == "team"]
    assert {"LocalQueue", "JobSet"} <= {one.inputs.get("kind") for one in inside}
    by_urn = {one.urn: one for one in resources}
    for one in inside:  # a child is registered once its component is, and that waits for the namespace
        assert space.urn in by_urn[one.parent].dependencies, one.name


def test_pods_tolerate_every_taint_of_their_pool():
    for cloud in MADE:
        resources = built(cloud, runs=True)
        job = next(one for one in resources if one.type.endswith(":JobSet"))
        spec = job.inputs["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        tolerated = {one["key"] for one in spec["tolerations"]}
        pools = [
            one
            for one in resources
            if (one.name.startswith("pretrain") and "odePool" in one.type) or "odeGroup" in one.type
        ]
        taints = [
            taint
            for one in pools
            if one.name.startswith("pretrain")
            for taint in (one.inputs.get("taints") or (one.inputs.get("nodeConfig") or {}).get("taints") or ())
        ]
        assert all(taint["key"] in tolerated for taint in taints)
        if cloud != "azure":
            assert taints


def test_the_writer_of_gke_is_the_store_s_own():
    resources = built("gcp", runs=True)
    account = next(
        one
        for one in resources
        if one.type.endswith(":ServiceAccount") and one.inputs["metadata"]["name"] == "pretrain"
    )
    members = [one.inputs for one in resources if one.type == "gcp:serviceaccount/iAMMember:IAMMember"]
    email = account.inputs["metadata"]["annotations"]["iam.gke.io/gcp-service-account"]
    assert any(email in one["serviceAccountId"] for one in members)


KUBECONFIG = {
    "kind": "Config",
    "current-context": "gpu",
    "contexts": [{"name": "gpu", "context": {"cluster": "gpu", "user": "gpu"}}],
    "clusters": [{"name": "gpu", "cluster": {"server": "https://gpu.example.net"}}],
    "users": [{"name": "gpu", "user": {"token": "token-7f3a"}}],
}
CONFIG = {
    "sizewell:kubeconfig": json.dumps(KUBECONFIG),
    "sizewell:cluster": json.dumps({"selector": {"gpu.nvidia.com/class": "H100"}, "rdma": "rdma/ib"}),
    "sizewell:run": json.dumps(
        {"pretrain": {"image": "train:2.8", "namespace": "team", "env": {"SIZEWELL_DATA": "synthetic"}}}
    ),
}


def adopted(**config):
    made = tasks(by_stack("prod-azure"))

    def program():
        importlib.import_module("sizewell.components.adopted").build(made, read_settings())

    from sizewell.recording.evaluate import evaluate

    return evaluate(ROOT, "prod-azure", program=program, config={**CONFIG, **config}).resources


def test_a_cluster_that_is_there_gets_a_queue_and_jobs_and_no_machines():
    resources = adopted()
    assert all(one.type.startswith("kubernetes:") for one in children(resources))
    assert {"Queueing", "TrainingRun", "JobSet", "ClusterQueue", "Release"} <= set(kinds(resources))
    flavor = next(one for one in resources if one.type.endswith(":ResourceFlavor"))
    assert dict(flavor.inputs["spec"]["nodeLabels"]) == {"gpu.nvidia.com/class": "H100"}
    job = next(one for one in resources if one.type.endswith(":JobSet"))
    local = next(one for one in resources if one.type.endswith(":LocalQueue"))
    assert job.inputs["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == local.inputs["metadata"]["name"]
    assert local.inputs["metadata"]["namespace"] == job.inputs["metadata"]["namespace"] == "team"
    assert "token-7f3a" not in repr([one.inputs for one in resources if not one.type.startswith("pulumi:providers")])


@pytest.fixture
def read(monkeypatch):
    """(name, id) of each resource that a program reads, as it goes on."""
    from sizewell.recording.evaluate.monitor import Monitor

    asked, plain = [], Monitor.ReadResource
    monkeypatch.setattr(
        Monitor, "ReadResource", lambda self, request: asked.append((request.name, request.id)) or plain(self, request)
    )
    return asked


@pytest.mark.parametrize(
    ("queue", "priority", "looked_up"),
    [
        ({"queue": "gpus", "operators": []}, "sizewell-high", True),
        ({"queue": "gpus"}, "nightly", True),
        ({}, "nightly", True),
        ({}, "sizewell-high", False),  # which the stack's own queue brings
    ],
)
def test_a_priority_class_that_the_stack_does_not_bring_is_read_first(read, queue, priority, looked_up):
    runs = {"pretrain": {"image": "train:2.8", "priority": priority, "env": {"SIZEWELL_DATA": "synthetic"}}}
    cluster = {"selector": {"a": "b"}, **queue}
    resources = adopted(**{"sizewell:cluster": json.dumps(cluster), "sizewell:run": json.dumps(runs)})
    name = f"priority-{priority}-has-to-be-there"
    assert ((name, priority) in read) is looked_up
    run = next(one for one in resources if one.type.endswith(":TrainingRun"))
    assert (name in {urn.rsplit("::", 1)[1] for urn in run.dependencies}) is looked_up


def test_namespaces_and_a_queue_that_are_named_are_read_before_anything_is_made(read):
    """Without them a preview ends: nothing is made that depends on them, and everything that is made does."""
    cluster = {"selector": {"a": "b"}, "queue": "gpus", "operators": []}
    resources = adopted(**{"sizewell:cluster": json.dumps(cluster)})
    jobs = "jobsets.jobset.x-k8s.io"  # whose operator the cluster has already
    assert read == [
        ("namespace-team-has-to-be-there", "team"),
        ("queue-gpus-has-to-be-in-team", "team/gpus"),
        (f"{jobs}-has-to-be-there", jobs),
    ]
    run = next(one for one in resources if one.type.endswith(":TrainingRun"))
    assert {urn.rsplit("::", 1)[1] for urn in run.dependencies} >= {name for name, _ in read}


def test_an_operator_of_another_version_ends_a_preview(monkeypatch):
    """What the cluster answers is a definition as the API server has it, with a version that we do not write."""
    from google.protobuf import struct_pb2

    from sizewell.recording.evaluate.monitor import Monitor

    plain = Monitor.ReadResource
    versions = [{"name": "v1alpha1", "served": True, "storage": True}, {"name": "v1alpha2", "served": False}]

    def answered(self, request, *rest):
        said = plain(self, request, *rest)
        if request.type.endswith(":CustomResourceDefinition"):
            state = struct_pb2.Struct()
            state.update({"spec": {"group": "jobset.x-k8s.io", "scope": "Namespaced", "versions": versions}})
            said.properties.CopyFrom(state)
        return said

    monkeypatch.setattr(Monitor, "ReadResource", answered)
    cluster = {"sizewell:cluster": json.dumps({"selector": {"a": "b"}, "queue": "gpus", "operators": []})}
    with pytest.raises(Exception, match="serves JobSet as v1alpha1, manifests are written for "):
        adopted(**cluster)
    versions[1]["served"] = True
    assert "JobSet" in kinds(adopted(**cluster))


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_kserve_is_refused_on_a_cluster_of_ours(cloud):
    """It has none: the update would submit what nothing makes pods of."""
    workload = serving("chat", KSERVED[cloud], scheduler="kubernetes").model_copy(update={"task": TASK})
    made = decision(f"dev-{cloud}", workload)
    runs = {"chat": dataclasses.replace(RUNS["chat"], form="kserve")}
    how = Settings(project="sizewell", stack=made.stack, organization="petsnap", runs=runs, accounts=("petsnap",))
    program = importlib.import_module(f"sizewell.components.{cloud}.program")
    with pytest.raises(Exception, match=r"run\.chat\.form: is kserve, and a cluster that the stack builds has no KS"):
        record(lambda: program.build(made, made.workloads, how), stack=made.stack)


KSERVED = {
    "aws": pool("aws", "g6.xlarge", "l4", 1, role="replicas"),
    "gcp": pool("gcp", "g2-standard-8", "l4", 1, role="replicas"),
    "azure": pool("azure", "Standard_NC40ads_H100_v5", "h100-nvl", 1, role="replicas"),
}


def test_an_adopted_cluster_s_kserve_is_read_first(own, monkeypatch):
    from sizewell.recording.evaluate import evaluate
    from sizewell.recording.evaluate.monitor import Monitor

    read, plain = [], Monitor.ReadResource
    monkeypatch.setattr(Monitor, "ReadResource", lambda self, request: read.append(request.id) or plain(self, request))
    runs = {"chat": {"image": "vllm/vllm-openai:v0.11.0", "model": "s3://petsnap/llama", "form": "kserve"}}

    def program():
        importlib.import_module("sizewell.components.adopted").build(own[0], read_settings())

    evaluate(ROOT, "prod", program=program, config={**CONFIG, "sizewell:run": json.dumps(runs)})
    assert "inferenceservices.serving.kserve.io" in read


def test_a_cluster_with_a_queue_keeps_its_own():
    cluster = {"selector": {"a": "b"}, "queue": "team", "operators": []}
    resources = adopted(**{"sizewell:cluster": json.dumps(cluster)})
    assert not {"Queueing", "Release", "Operators"} & set(kinds(resources))
    job = next(one for one in resources if one.type.endswith(":JobSet"))
    assert job.inputs["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"


OWN = """
rates:
  - {cloud: on-premises, instance_type: hgx-h100-8x, usd: 19.40}
"""
CHAT = """
name: chat
kind: inference
model: meta-llama/Llama-3.1-70B
traffic: {rps: 2, input_tokens: 1500, output_tokens: 300}
slo: {ttft: 2s, tpot: 60ms}
infra: [on-prem]
owner: ml-platform
cost_center: ml
"""


@pytest.fixture
def own(tmp_path):
    """A decision for machines of the project's own, and the catalog that has their rate."""
    (tmp_path / "rates.yaml").write_text(OWN)
    known = load(overlay=tmp_path)
    return decide([parse_spec(CHAT, "chat")], known, stack="prod", on=date(2026, 11, 22)), known


def test_machines_of_one_s_own_are_the_choice_and_one_bill_with_what_is_made(own):
    """Their hours are priced at the own rate by decision and preview alike; nothing is made, and no guard stops
    them."""
    from sizewell.recording.evaluate import evaluate
    from sizewell.resources import price
    from sizewell.sizing.money import total

    made, known = own
    workload, pool = made.workloads[0], made.workloads[0].pools[0]
    assert (pool.cloud, pool.instance_type, pool.adopted) == ("on-premises", "hgx-h100-8x", True)
    assert (workload.guard, workload.scheduler) == (None, "kubernetes")
    runs = {"chat": {"image": "vllm/vllm-openai:v0.11.0", "metrics": "http://prometheus.monitoring.svc:9090"}}
    config = {**CONFIG, "sizewell:run": json.dumps(runs)}

    def program():
        importlib.import_module("sizewell.components.adopted").build(made, read_settings())

    plan = evaluate(ROOT, "prod", program=program, config=config)
    assert all(one.type.startswith(("kubernetes:", "sizewell-kubernetes:")) for one in children(plan.resources))
    billed = price(plan, known, on=made.decided_on)
    assert not billed.unpriced
    assert total(billed.items).run_rate.usd_per_month == workload.cost.run_rate.interval()
    server = next(one for one in plan.resources if one.type.endswith(":Deployment"))
    assert dict(server.inputs["spec"]["template"]["spec"]["nodeSelector"]) == {"gpu.nvidia.com/class": "H100"}


def test_without_a_rate_of_one_s_own_it_is_sized_and_its_cost_stays_open():
    answer = decide([parse_spec(CHAT, "chat")], load(), stack="prod", on=date(2026, 11, 22))
    assert not isinstance(answer, NothingFits)
    (workload,) = answer.workloads
    assert workload.cost.unpriced
    assert any("sizewell prices import FILE" in note for note in workload.assumptions)
    kinds = {load().shape("on-premises", each.instance_type).accelerator for each in workload.pools[0].fallbacks}
    assert not any("gaudi" in kind for kind in kinds), "a fallback runs the same image"


def test_edge_devices_are_sized_and_never_built(tmp_path):
    """Not even with a rate of one's own: no cluster of them is adopted, and the component says so too."""
    from sizewell.components.kubernetes.adopted import AdoptedPool

    (tmp_path / "rates.yaml").write_text("rates:\n  - {cloud: edge, instance_type: jetson-agx-orin-64gb, usd: 0.1}\n")
    small = CHAT.replace("[on-prem]", "[edge]").replace("70B", "8B").replace("rps: 2", "rps: 0.05")
    spec = parse_spec(small.replace("60ms", "400ms"), "chat")
    answer = decide([spec], load(overlay=tmp_path), stack="prod", on=date(2026, 11, 22))
    assert isinstance(answer, NothingFits)
    said = " ".join(answer.relax)
    assert "edge devices are sized but not provisioned" in said
    assert "1 x edge jetson-agx-orin-64gb would fit: " in said
    assert "edge cannot be provisioned" in said
    args = {"place": "edge", "region": "all", "instance_type": "jetson-agx-orin-64gb", "market": "on-demand"}
    args |= {"environment": "prod", "owner": "ml", "nodes_min": 0, "nodes_initial": 1, "nodes_max": 1}
    with pytest.raises(ArgsError, match="edge devices are not in a cluster"):
        AdoptedPool("chat", args)


def test_machines_that_are_there_need_their_cluster(own, tmp_path):
    from sizewell.recording.evaluate import evaluate
    from sizewell.stacks.program import run

    (tmp_path / "decisions").mkdir()
    (tmp_path / "decisions" / "prod.json").write_text(own[0].to_json())
    with pytest.raises(Exception, match="sizewell:kubeconfig: is missing: the decision's machines exist already"):
        evaluate(ROOT, "prod", program=lambda: run(tmp_path), config={})


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"sizewell:cluster": "{}"}, "sizewell:cluster: is missing: both adopt a cluster together"),
        ({"sizewell:cluster": json.dumps({"selectr": {}})}, "did you mean selector"),
        ({"sizewell:cluster": json.dumps({"selector": {}})}, "jobs could be scheduled on any machine"),
        ({"sizewell:run": json.dumps({"pretrain": {}})}, "sizewell:run.pretrain.image: must be"),
        ({"sizewell:run": json.dumps(["pretrain"])}, "sizewell:run: must be a mapping of workloads"),
    ],
)
def test_wrong_configuration_is_refused(config, words):
    with pytest.raises(Exception, match="configuration of prod-azure") as caught:
        adopted(**config)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("~/.kube/config", "is the path of a file: give its content"),
        ("a: [", "is not YAML"),
        ("kind: Pod", "is not of kind Config: give what `kubectl config view --flatten --minify` prints"),
        (json.dumps(KUBECONFIG | {"current-context": "cpu"}), "has current-context 'cpu', and its contexts are gpu"),
        (json.dumps(KUBECONFIG | {"clusters": []}), "has no https:// server for its context 'gpu'"),
        (json.dumps(KUBECONFIG | {"users": []}), "has no user for its context 'gpu'"),
    ],
)
def test_what_is_no_kubeconfig_is_refused_in_one_sentence(text, words):
    found = kubeconfig_fault(text)
    assert words in found
    assert "\n" not in found
    assert kubeconfig_fault(json.dumps(KUBECONFIG)) == ""
    with pytest.raises(Exception, match="stack prod-azure: sizewell:kubeconfig: "):
        adopted(**{"sizewell:kubeconfig": text})


def test_a_run_of_no_workload_is_refused():
    how = Settings(project="sizewell", stack="dev-aws", runs={"chta": Run(image="a:1")})
    with pytest.raises(ConfigError, match=r"sizewell:run\.chta: is not a workload of dev-aws"):
        check_names(by_stack("dev-aws"), how)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("x", "a mapping with at least selector"),
        ({"selector": {"a": "b"}, "taints": {"x": "Sometimes"}}, "must be one of NoSchedule"),
        ({"selector": {"a": "b"}, "rdma": "ib"}, "a resource, as rdma/ib"),
        ({"selector": {"a": "b"}, "store": "bucket"}, "a URI: s3://"),
        ({"selector": {"a": "b"}, "operators": ["slurm"]}, "a list of jobset, kuberay, lws and keda"),
        ({"selector": {"a": 1}}, "a mapping of texts"),
        ({"selector": {"a": "b"}, "queue": "Team A"}, "a name of a-z"),
    ],
)
def test_wrong_words_of_a_cluster(data, words):
    with pytest.raises(ConfigError) as caught:
        read_adopted(data)
    assert words in str(caught.value)


def decide_text(text):
    made = decide([parse_spec(text, "tune.yaml")], load(), stack="dev-aws", on=date(2026, 9, 1))
    assert isinstance(made, Decision), made
    return made


def under_slurm(cloud, **settings):
    """The machines of a decision whose spec asks for Slurm."""
    machines = {
        "aws": lambda: pool("aws", "p5.48xlarge", "h100-sxm", 8, nodes=(0, 2, 4)),
        "azure": lambda: pool("azure", "Standard_ND96isr_H100_v5", "h100-sxm", 8, nodes=(0, 2, 4)),
    }[cloud]()
    made = decision(f"dev-{cloud}", training("pretrain", machines, scheduler="slurm", task=TASK))
    how = Settings(project="sizewell", stack=made.stack, organization="petsnap", accounts=("petsnap",), **settings)
    program = importlib.import_module(f"sizewell.components.{cloud}.program")
    return record(lambda: program.build(made, made.workloads, how), stack=made.stack)


@pytest.mark.parametrize(
    ("cloud", "kind", "way", "settings"),
    [
        ("aws", ":LaunchTemplate", "aws s3api put-object --bucket", {"images": {"pretrain": "ami-0123456789abcdef0"}}),
        ("azure", ":VirtualMachineScaleSet", "FOLDER=checkpoints/slurm/pretrain/", {}),
    ],
)
def test_machines_under_slurm_start_it_at_first_boot(cloud, kind, way, settings):
    resources = under_slurm(cloud, **settings)
    assert not [one for one in resources if "kubernetes" in one.type.lower()]
    machines = next(one for one in resources if one.type.endswith(kind))
    profile = (machines.inputs.get("virtualMachineProfile") or {}).get("osProfile") or {}
    text = base64.b64decode(machines.inputs.get("userData") or profile["customData"]).decode()
    assert {"GROUP=pretrain", "NODES=4"} <= set(text.splitlines())
    assert "Gres=gpu:8" in text
    assert way in text
    assert len(text) < 16384
    if cloud == "aws":
        assert machines.inputs["imageId"] == "ami-0123456789abcdef0"


def test_machines_under_slurm_need_an_image_with_it_on_aws():
    with pytest.raises(Exception, match=r"sizewell:images\.pretrain: is missing: Amazon Linux has neither Slurm"):
        under_slurm("aws")


def test_a_spec_that_asks_for_slurm_gets_machines_of_its_own():
    made = decide_text(
        "name: tune\nkind: fine-tuning\nmodel: meta-llama/Llama-3.1-8B\n"
        "training: {tokens: 200M, sequence_length: 2048, method: full}\n"
        "scheduler: slurm\nmanaged: raw\ninfra: [aws]\ncheckpoint: {interval: 30m, keep: 3}\nowner: ml\n"
    )
    assert [one.scheduler for one in made.workloads] == ["slurm"]
    targets = importlib.import_module("sizewell.components.aws.targets")
    assert targets.target_of(made.workloads[0], made.workloads[0].pools[0]) == "machines"


def test_slurm_on_google_cloud_is_refused_in_words():
    with pytest.raises(Exception, match="are in a GKE cluster"):
        decide_text(
            "name: tune\nkind: fine-tuning\nmodel: meta-llama/Llama-3.1-8B\nscheduler: slurm\nmanaged: raw\n"
            "training: {tokens: 200M, sequence_length: 2048, method: full}\ninfra: [gcp]\n"
        )
