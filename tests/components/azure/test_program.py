"""From a decision to AKS, Azure ML, Managed Lustre, keys, budget and the hard end."""

import dataclasses
import json

import pytest
from aws_recording import ROOT, record
from azure_decisions import CONFIG, KUBERNETES, ML, RAY, SETTINGS
from azure_recording import check_right, component, golden, only
from decisions import by_stack, decision, pool, serving

from sizewell.components.azure import program, targets
from sizewell.components.settings import Settings
from sizewell.recording.evaluate import evaluate
from sizewell.sizing.errors import ArgsError, ConfigError

RECORDED = {}


def built(what, settings=SETTINGS, config=CONFIG):
    """Each program is recorded once: what it makes does not change."""
    key = (what.digest(), repr(settings), str(config))
    if key not in RECORDED:
        RECORDED[key] = record(lambda: program.build(what, what.workloads, settings), stack=what.stack, config=config)
    return RECORDED[key]


def outline(resources):
    return {(one.type.rsplit(":", 1)[-1], one.name) for one in resources if one.type.startswith("sizewell-")}


def test_kubernetes_is_one_cluster_with_a_pool_for_each_workload_and_its_data():
    resources = built(KUBERNETES)
    check_right([one for one in resources if "kueue" not in one.type])
    assert outline(resources) == {
        ("Network", "network-eastus"),
        ("CustomerKeys", "keys-eastus"),
        ("AksCluster", "cluster-eastus"),
        ("AksGpuPool", "pretrain"),
        ("AksGpuPool", "chat"),
        ("AksOperators", "operators-eastus"),
        ("Queueing", "queues-eastus"),
        ("SharedStorage", "pretrain-data"),
        ("LustreVolume", "pretrain-data"),
        ("BudgetAlarms", "budget"),
    }
    operators = component(resources, "sizewell-azure:index:AksOperators").inputs
    assert (operators["runtimes"], operators["infiniband"]) == (["cuda"], True)
    files = component(resources, "sizewell-azure:index:SharedStorage").inputs
    assert (files["zone"], files["bytesNeeded"]) == ("1", 12 * 10**12)
    subnets = {one.inputs["subnetName"] for one in resources if one.type == "azure-native:network:Subnet"}
    assert subnets == {"nodes", "kubernetes", "kubernetes-api", "files"}
    budget = only(resources, "azure-native:consumption:Budget").inputs
    assert (budget["amount"], budget["scope"]) == (92000.0, "/subscriptions/00000000-0000-0000-0000-000000000003")
    flavors = [one.inputs["spec"] for one in resources if one.type.endswith(":ResourceFlavor")]
    assert all(any(t["key"] == "sku" for t in one["tolerations"]) for one in flavors)


def refused_pulls(config, settings, monkeypatch):
    """What an update is refused for, before anything is built."""
    made = []

    def body():
        with pytest.raises(ConfigError) as raised:
            program.build(KUBERNETES, KUBERNETES.workloads, settings)
        made.append(str(raised.value))

    monkeypatch.setattr("sizewell.sdk.stand_ins._IS_DRY_RUN", lambda: False)
    resources = record(body, stack="staging-azure", config=config)
    assert not [one for one in resources if one.custom and not one.type.startswith("pulumi:")]
    return made[0]


def test_a_cluster_whose_machines_can_pull_nothing_is_refused_before_anything_is_built(monkeypatch):
    bare = dataclasses.replace(SETTINGS, registries=())
    text = refused_pulls({}, bare, monkeypatch)
    assert "sizewell:registry: is missing" in text
    assert "nvcr.io/nvidia/k8s/dcgm-exporter" in text
    text = refused_pulls(CONFIG, bare, monkeypatch)
    assert "sizewell:registries: does not name petsnap.azurecr.io" in text
    assert "az acr show --name petsnap" in text


def test_pools_of_one_cluster_come_one_after_the_other():
    resources = built(KUBERNETES)
    pools = {one.name: one for one in resources if one.type == "azure-native:containerservice:AgentPool"}
    assert any("pretrain-nodes" in urn for urn in pools["chat-nodes"].property_dependencies["resourceName"])


def test_ray_comes_with_its_operator_on_aks():
    queues = component(built(RAY), "sizewell-kubernetes:index:Queueing").inputs
    assert queues["operators"] == ["jobset", "kuberay"]


def test_azure_ml_takes_each_kind_of_work_as_it_is():
    resources = built(ML)
    check_right(resources)
    assert outline(resources) == {
        ("Network", "network-eastus"),
        ("EndRights", "end-rights-eastus"),
        ("AmlWorkspace", "ml-eastus"),
        ("AmlOnlineEndpoint", "chat"),
        ("AmlComputeCluster", "tune"),
        ("AmlComputeInstance", "lab"),
    }
    endpoint = component(resources, "sizewell-azure:index:AmlOnlineEndpoint").inputs
    assert (endpoint["nodesMin"], endpoint["nodesMax"]) == (1, 2)  # the decision says zero; the service has none
    assert component(resources, "sizewell-azure:index:AmlComputeCluster").inputs["capacityMode"] == "spot"
    notebook = component(resources, "sizewell-azure:index:AmlComputeInstance").inputs
    assert notebook["idleS"] == 2700 + 3600
    assert endpoint["sizewell"]["decisionDigest"] == ML.digest()


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "sizewell:azureml.chat.image: is missing: a decision does not name a container"),
        (
            {"sizewell:azureml": json.dumps({"chat": {"image": "a.azurecr.io/v:1", "imaeg": "x"}})},
            "sizewell:azureml.chat.imaeg: must be one of image",
        ),
    ],
)
def test_which_container_runs_is_not_guessed(config, sentence):
    with pytest.raises(ConfigError) as caught:
        built(ML, config=config)
    assert sentence in str(caught.value)


def test_machines_come_after_their_end_and_prod_has_keys_of_its_own():
    dev = built(by_stack("dev-azure"))
    scale_set = only(dev, "azure-native:compute:VirtualMachineScaleSet")
    behind = scale_set.property_dependencies["resourceGroupName"]
    assert any("RoleAssignment::end-rights-eastus-end" in urn for urn in behind)
    assert ("CustomerKeys", "keys-eastus") not in outline(dev)
    role = "azure-native:authorization:RoleDefinition"
    firm = built(by_stack("dev-azure"), settings=dataclasses.replace(SETTINGS, firm_end=True))
    for resources, stops in ((dev, False), (firm, True)):  # only a firm end may stop machines
        ender = next(one for one in resources if one.type == role and one.name == "end-rights-eastus-end")
        actions = ender.inputs["permissions"][0]["actions"]
        assert ("Microsoft.Compute/virtualMachineScaleSets/write" in actions) is stops
    prod = built(by_stack("prod-azure"))
    assert ("EndRights", "end-rights-eastus") not in outline(prod)
    machine = only(prod, "azure-native:compute:VirtualMachineScaleSet").inputs["virtualMachineProfile"]
    assert "diskEncryptionSet" in machine["storageProfile"]["osDisk"]["managedDisk"]


def test_a_stack_without_protection_keeps_no_key():
    settings = Settings(project="sizewell", stack="prod-azure", deletion_protection=False)
    resources = built(by_stack("prod-azure"), settings)
    assert not [one.name for one in resources if one.protect]
    assert [one.name for one in built(by_stack("prod-azure")) if one.protect]


def test_the_hard_end_has_a_stack_of_its_own():
    resources = record(lambda: program.build_ttl(ML, SETTINGS), stack="ttl-dev-azure")
    guard = component(resources, "sizewell-azure:index:TtlGuard").inputs
    assert (guard["stack"], guard["ends"], guard["target"]) == (
        "dev-azure",
        "2026-09-22",
        "sizewell-dev-azure-network-eastus",
    )
    check_right(resources)
    network = component(built(ML), "sizewell-azure:index:Network")
    group = only(built(ML), "azure-native:resources:ResourceGroup", f"{network.name}-group").inputs
    assert group["resourceGroupName"] == guard["target"]
    forever = decision("prod-azure", *ML.workloads)
    assert not outline(record(lambda: program.build_ttl(forever, SETTINGS), stack="ttl-prod-azure"))


def test_an_adopted_network_is_used_as_it_is():
    ours = "/subscriptions/0000/resourceGroups/ours"
    there = {
        "resource_group": "ours",
        "subnet_id": f"{ours}/providers/Microsoft.Network/virtualNetworks/net/subnets/a",
        "security_group_id": "nsg",
        "kubernetes_subnet_id": f"{ours}/providers/Microsoft.Network/virtualNetworks/net/subnets/k",
        "files_subnet_id": f"{ours}/providers/Microsoft.Network/virtualNetworks/net/subnets/f",
    }
    resources = built(
        KUBERNETES, Settings(project="sizewell", stack="staging-azure", network=there, registries=SETTINGS.registries)
    )
    assert not [one for one in resources if one.type == "azure-native:network:VirtualNetwork"]
    pools = {one.inputs["vnetSubnetID"] for one in resources if one.type == "azure-native:containerservice:AgentPool"}
    assert pools == {there["kubernetes_subnet_id"]}
    assert "secretsKey" not in component(resources, "sizewell-azure:index:AksCluster").inputs  # no subnet for the API
    ttl = record(
        lambda: program.build_ttl(ML, Settings(project="s", stack="dev-azure", network=there)), "ttl-dev-azure"
    )
    assert component(ttl, "sizewell-azure:index:TtlGuard").inputs["target"] == "ours"


def test_a_budget_stands_where_every_workload_has_one():
    assert not [one for one in built(ML) if one.type == "azure-native:consumption:Budget"]
    later = {**CONFIG, "sizewell:budgetStarts": "2026-11-01"}
    with_one = decision(
        "staging-azure",
        serving("chat", pool("azure", "Standard_NC24ads_A100_v4", "a100-80gb-pcie", 1), budget={"usd_per_month": 400}),
    )
    budget = only(built(with_one, config=later), "azure-native:consumption:Budget").inputs
    assert budget["timePeriod"] == {"startDate": "2026-11-01T00:00:00Z"}


def test_plain_machines_pay_for_nothing_of_others():
    pairs = [(one, one.pools[0]) for one in by_stack("prod-azure").workloads]
    assert targets.network_extras(pairs) == {}
    assert targets.target_of(*pairs[0]) == "machines"


@pytest.mark.parametrize(("name", "what"), [("kubernetes-staging", KUBERNETES), ("azureml-dev", ML), ("ray-dev", RAY)])
def test_the_stack_is_written_down(name, what):
    golden(f"stack-{name}", [one for one in built(what) if not one.custom])


def test_a_virtual_gpu_comes_with_an_image_of_one_s_own_or_not_at_all():
    pool_of = pool("azure", "Standard_NV36ads_A10_v5", "a10", 1)
    one = decision("prod-azure", serving("chat", pool_of))
    image = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/g/images/grid"
    with pytest.raises(ArgsError, match="needs the GRID driver"):
        evaluate(ROOT, one.stack, program=lambda: program.build(one, one.workloads, SETTINGS))
    settings = dataclasses.replace(SETTINGS, images={"chat": image})
    plan = evaluate(ROOT, one.stack, program=lambda: program.build(one, one.workloads, settings))
    profile = only(plan.resources, "azure-native:compute:VirtualMachineScaleSet").inputs["virtualMachineProfile"]
    assert profile["storageProfile"]["imageReference"]["id"] == image
