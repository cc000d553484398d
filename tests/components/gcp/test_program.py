"""From a decision to a cluster's queues."""

from aws_recording import ROOT, component, only
from decisions import decision, pool, serving, training
from gcp_recording import golden

from components.gcp import program
from components.settings import Settings
from preview.evaluate import evaluate
from sizing.decision import Storage

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


def test_without_queued_machines_there_is_no_queue():
    resources = built(serving("chat", pool("gcp", "g2-standard-8", "l4", 1)))
    assert not [one for one in resources if "Queueing" in one.type]


def test_data_stands_in_the_zone_of_the_machines_that_read_it():
    work = training("tune", pool("gcp", "g2-standard-8", "l4", 1), storage=Storage(kind="filestore", bytes=2 * 10**12))
    files = only(built(work), "gcp:filestore/instance:Instance").inputs
    assert files["location"] == "us-central1-a"
    assert files["fileShares"]["capacityGb"] == 2304
    assert files["fileShares"]["nfsExportOptions"][0]["ipRanges"] == ["10.80.0.0/16"]


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
