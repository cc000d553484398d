"""From a decision to a cluster's queues."""

import dataclasses

import pytest
from aws_recording import ROOT, component, only
from decisions import decision, pool, serving, training
from gcp_recording import golden

from sizewell.components.gcp import program
from sizewell.components.kubernetes import objects
from sizewell.components.settings import Settings
from sizewell.launch.jobs import PREFERRED
from sizewell.launch.run import read_run
from sizewell.recording.evaluate import evaluate
from sizewell.sizing.errors import ServiceError
from sizewell.sizing.records.decision import Capacity, Storage, Task

SETTINGS = Settings(project="sizewell", stack="staging-gcp", organization="petsnap", accounts=("petsnap-staging",))


def built(*workloads):
    one = decision("staging-gcp", *workloads)
    return evaluate(ROOT, "staging-gcp", program=lambda: program.build(one, one.workloads, SETTINGS)).resources


def test_queued_machines_come_with_the_queue_that_asks_for_them():
    waiting = training("pretrain", pool("gcp", "a3-megagpu-8g", "h100-sxm", 8, nodes=(0, 0, 4), mode="queued"))
    slices = training(
        "tune", pool("gcp", "ct5p-hightpu-4t", "tpu-v5p", 4, nodes=(0, 4, 4), mode="spot", tpu_topology="2x2x2")
    )
    resources = built(waiting, slices)
    golden("queued-staging", [one for one in resources if "Queueing" in str(one.parent) or "Queueing" in one.type])
    said = component(resources, "sizewell-kubernetes:index:Queueing").inputs["flavors"]
    assert [one["machines"] for one in said] == [4, 4]
    assert said[0]["nodeLabels"] == {"cloud.google.com/gke-nodepool": "pretrain"}
    assert said[1]["nodeLabels"] == {"sizewell-workload": "tune"}


def test_a_job_of_several_machines_gets_all_of_them_or_none_and_reserved_ones_close_together():
    kept = Capacity(mode="reservation", reservation="h200")
    held = pool("gcp", "a3-ultragpu-8g", "h200-sxm", 8, nodes=(0, 4, 4), mode="reservation", capacity=kept)
    data = {"SIZEWELL_DATA": "synthetic"}
    run = {"pretrain": read_run({"image": "train:2.8", "model": "/models/llama", "env": data}, "pretrain")}
    one = decision(
        "staging-gcp",
        training("pretrain", held, task=Task(model="meta-llama/Llama-3.1-8B", method="full", precision="bf16")),
    )
    settings = dataclasses.replace(SETTINGS, runs=run)
    resources = evaluate(ROOT, "staging-gcp", program=lambda: program.build(one, one.workloads, settings)).resources
    made = {one.inputs["kind"]: one.inputs for one in resources if "kueue" in one.type}
    assert made["Topology"]["spec"]["levels"] == [{"nodeLabel": level} for level in objects.GKE_TOPOLOGY]
    assert made["ResourceFlavor"]["spec"]["topologyName"].startswith("pretrain-")  # a changed one is another object
    nodes = next(one.inputs for one in resources if one.name == "pretrain-nodes")
    assert nodes["nodeCount"] == 4, "a queue that packs counts machines that are there"
    (job,) = [one.inputs for one in resources if one.type.endswith(":JobSet")]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "pretrain"
    pod = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert pod["metadata"]["annotations"][PREFERRED] == objects.GKE_TOPOLOGY[0]


def test_images_that_a_network_without_a_way_out_cannot_pull_are_named_or_mirrored():
    job = training("pretrain", pool("gcp", "a3-megagpu-8g", "h100-sxm", 8, nodes=(0, 0, 2), mode="queued"))
    one, mirror = decision("staging-gcp", job), "us-central1-docker.pkg.dev/petsnap/k8s"
    for config in ({}, {"sizewell:registry": mirror}):
        build = lambda: program.build(one, one.workloads, SETTINGS)  # noqa: E731
        plan = evaluate(ROOT, one.stack, program=build, config=config)
        assert any("cannot pull" in note for note in plan.notes) is not bool(config)
        kueue = next(found.inputs for found in plan.resources if found.inputs.get("name") == "kueue")
        image = kueue.get("values", {}).get("controllerManager", {}).get("manager", {}).get("image")
        assert image == ({"repository": f"{mirror}/kueue/kueue", "tag": "v0.19.4"} if config else None)


@pytest.mark.parametrize("mode", ["spot", "queued", "flex-start"])
def test_machines_that_come_and_go_are_queued_but_not_packed_by_labels(mode):
    low = 0 if mode == "queued" else 2
    made = built(training("pretrain", pool("gcp", "a3-megagpu-8g", "h100-sxm", 8, nodes=(0, low, 2), mode=mode)))
    found = {one.inputs["kind"] for one in made if "kueue" in one.type}
    assert "ClusterQueue" in found
    assert "Topology" not in found


def test_a_queued_slice_is_asked_for_whole():
    one = pool("gcp", "ct5p-hightpu-4t", "tpu-v5p", 4, nodes=(0, 0, 4), mode="queued", tpu_topology="2x2x4")
    made = {found.inputs["kind"]: found.inputs for found in built(training("tune", one)) if "kueue" in found.type}
    parameters = made["ProvisioningRequestConfig"]["spec"]["parameters"]
    assert parameters == {"maxRunDurationSeconds": "604800", "tpu-topology": "2x2x4"}


def test_pools_of_several_workloads_come_one_after_the_other():
    """A cluster refuses two operations at a time."""
    made = built(*(serving(name, pool("gcp", "g2-standard-8", "l4", 1)) for name in ("chat", "search")))
    pools = {one.name: one for one in made if one.type == "gcp:container/nodePool:NodePool"}
    system = next(one.urn for name, one in pools.items() if name.endswith("-system"))
    assert system in pools["chat-nodes"].dependencies
    assert pools["chat-nodes"].urn in pools["search-nodes"].dependencies


def test_without_queued_machines_there_is_no_queue():
    resources = built(serving("chat", pool("gcp", "g2-standard-8", "l4", 1)))
    assert not [one for one in resources if "Queueing" in one.type]


def test_data_stands_in_the_zone_of_the_machines_that_read_it():
    work = training("tune", pool("gcp", "g2-standard-8", "l4", 1), storage=Storage(kind="filestore", bytes=2 * 10**12))
    files = only(built(work), "gcp:filestore/instance:Instance").inputs
    assert files["location"] == "us-central1-a"
    assert files["fileShares"]["capacityGb"] == 2304
    assert files["fileShares"]["nfsExportOptions"][0]["ipRanges"] == ["10.80.0.0/16"]
    claim = only(built(work), "kubernetes:core/v1:PersistentVolumeClaim").inputs
    assert (claim["metadata"]["name"], claim["spec"]["resources"]["requests"]["storage"]) == ("tune-data", "2304Gi")


@pytest.mark.parametrize(("environment", "stated"), [("dev", True), ("prod", True), ("prod", False)])
def test_prod_alone_is_protected_and_one_word_of_the_configuration_ends_all_of_it(environment, stated):
    files = Storage(kind="filestore", bytes=2 * 10**12)
    tune = training("tune", pool("gcp", "g2-standard-8", "l4", 1), storage=files)
    asked = serving("chat", pool("gcp", "g2-standard-8", "l4", 1, nodes=(0, 0, 1), managed="cloud-run"))
    one = decision(f"{environment}-gcp", tune, asked)
    stack = dataclasses.replace(SETTINGS, stack=one.stack, deletion_protection=stated)
    image = {"sizewell:cloudRun": f'{{"chat": {{"image": "docker.io/b/c@sha256:{"0" * 64}"}}}}'}
    build = lambda: program.build(one, one.workloads, stack)  # noqa: E731
    resources = evaluate(ROOT, one.stack, program=build, config=image).resources
    said = {
        one.type: one.inputs.get("deletionProtection", one.inputs.get("deletionProtectionEnabled"))
        for one in resources
        if {"deletionProtection", "deletionProtectionEnabled"} & one.inputs.keys()
    }
    assert said.pop("gcp:workflows/workflow:Workflow", False) is False
    assert set(said.values()) == {environment == "prod" and stated}
    assert len(said) == 6, "a cluster, a file system and a service, each with its component"


def test_both_stacks_find_the_same_hand_and_nothing_that_bills_comes_before_it(monkeypatch):
    one = decision("dev-gcp", serving("chat", pool("gcp", "g2-standard-8", "l4", 1)))
    ends = evaluate(ROOT, "ttl-dev-gcp", program=lambda: program.build_ttl(one, SETTINGS)).resources
    accounts = {made.inputs["accountId"] for made in ends if made.type == "gcp:serviceaccount/account:Account"}
    asked = []

    def nobody(account_id, project, opts):
        asked.append((account_id, project, opts.provider is not None))
        raise LookupError("no such account")

    monkeypatch.setattr(program.targets.serviceaccount, "get_account_output", nobody)
    with pytest.raises(ServiceError, match="no such account"):
        evaluate(ROOT, "dev-gcp", program=lambda: program.build(one, one.workloads, SETTINGS))
    assert asked == [(asked[0][0], "petsnap-staging", True)]
    assert asked[0][0] in accounts
    forever = decision("prod-gcp", *one.workloads)
    evaluate(ROOT, "prod-gcp", program=lambda: program.build(forever, forever.workloads, SETTINGS))
    assert len(asked) == 1


def budgets(config, **budget):
    work = serving("chat", pool("gcp", "g2-standard-8", "l4", 1)).model_copy(update={"budget": budget})
    one = decision("staging-gcp", work)
    found = evaluate(
        ROOT, "staging-gcp", program=lambda: program.build(one, one.workloads, SETTINGS), config=config
    ).resources
    return [one.inputs for one in found if one.type == "gcp:billing/budget:Budget"]


def test_the_budget_of_a_stack_is_on_the_bill_that_the_configuration_names():
    account = {"sizewell:billingAccount": "01ABCD-234567-89EF01"}
    (budget,) = budgets(account, usd_per_month=12000)
    assert budget["billingAccount"] == "01ABCD-234567-89EF01"
    assert budget["amount"]["specifiedAmount"]["units"] == "12000"
    assert budget["budgetFilter"]["labels"] == {"sizewell-stack": "staging-gcp"}
    assert budgets({}, usd_per_month=12000) == []
    assert budgets(account) == []
