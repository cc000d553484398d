"""Azure Machine Learning: what its components make, what always holds, and what they refuse."""

import re

import pytest
from azure_recording import GUARD, HOURS, OWNED, PLACE, PROD, VAULT, WRITER, ZONES, golden, made, only, refusals
from hypothesis import given
from hypothesis import strategies as st

from sizewell.components.azure.ml import durations as ml_durations
from sizewell.components.azure.ml.compute import AmlComputeCluster, AmlComputeInstance
from sizewell.components.azure.ml.endpoints import AmlOnlineEndpoint
from sizewell.components.azure.ml.workspace import AmlWorkspace

ML = "/subscriptions/0000/resourceGroups/network/providers"
WORKSPACE = {**OWNED, **PLACE, "salt": "sizewell/petsnap"}
LIVE_WORKSPACE = {
    **PROD,
    **PLACE,
    "salt": "sizewell/petsnap",
    "private_dns_zone_ids": ZONES,
    "outbound_hosts": ["huggingface.co", "*.hf.co"],
    "key": {
        "key_url": "https://keys.vault.azure.net/keys/disks/1",
        "vault_id": VAULT,
        "identity_id": f"{ML}/Microsoft.ManagedIdentity/userAssignedIdentities/keys",
    },
}
ML_PLACE = {"region": "eastus", "resource_group": "network", "workspace": "ml"}
COMPUTE = {
    **OWNED,
    **ML_PLACE,
    "vm_size": "Standard_NC24ads_A100_v4",
    "nodes_max": 2,
    "capacity_mode": "spot",
    "idle_s": 600,
}
LIVE_COMPUTE = {
    **PROD,
    **ML_PLACE,
    "subnet_id": PLACE["subnet_id"],
    "private_dns_zone_ids": ZONES,
    "vm_size": "Standard_ND96isr_H100_v5",
    "nodes_max": 4,
    "capacity_mode": "on-demand",
    "gang": True,
    "writer": WRITER,
    "storage_id": f"{ML}/Microsoft.Storage/storageAccounts/files",
    "registry_id": f"{ML}/Microsoft.ContainerRegistry/registries/images",
}
NOTEBOOK = {**OWNED, **ML_PLACE, "vm_size": "Standard_NC4as_T4_v3", "idle_s": 1800, "schedule": HOURS}
LIVE_NOTEBOOK = {
    **PROD,
    **ML_PLACE,
    "vm_size": "Standard_NC24ads_A100_v4",
    "user": "00000000-0000-0000-0000-00000000000b",
    "user_tenant": "00000000-0000-0000-0000-00000000000c",
}
ENDPOINT = {
    **OWNED,
    **ML_PLACE,
    "vm_size": "Standard_NC24ads_A100_v4",
    "nodes_min": 1,
    "nodes_initial": 1,
    "nodes_max": 3,
    "image": "petsnap.azurecr.io/vllm:0.11.0",
    "schedule": HOURS,
    "guard": {**GUARD, "action": "notify"},
}
LIVE_ENDPOINT = {
    **PROD,
    **ML_PLACE,
    "vm_size": "Standard_NC40ads_H100_v5",
    "nodes_min": 2,
    "nodes_initial": 2,
    "nodes_max": 8,
    "image": f"petsnap.azurecr.io/vllm@sha256:{'0' * 64}",
    "model": "azureml://registries/petsnap/models/llama/versions/3",
    "environment_variables": {"MAX_MODEL_LEN": "8192"},
    "live": True,
    "concurrency": 32,
    "guard": {**GUARD, "action": "notify"},
    "notify": ["ml-platform@example.com"],
}
FORMS = {
    "aml-workspace-dev": (AmlWorkspace, WORKSPACE),
    "aml-workspace-prod": (AmlWorkspace, LIVE_WORKSPACE),
    "aml-compute-dev": (AmlComputeCluster, COMPUTE),
    "aml-compute-prod": (AmlComputeCluster, LIVE_COMPUTE),
    "aml-notebook-dev": (AmlComputeInstance, NOTEBOOK),
    "aml-notebook-prod": (AmlComputeInstance, LIVE_NOTEBOOK),
    "aml-endpoint-dev": (AmlOnlineEndpoint, ENDPOINT),
    "aml-endpoint-prod": (AmlOnlineEndpoint, LIVE_ENDPOINT),
}


@pytest.mark.parametrize("form", FORMS)
def test_makes_what_is_written_down(form):
    cls, args = FORMS[form]
    golden(form, made(cls, form, args, "prod-azure" if "prod" in form else "dev-azure"))


def test_nothing_of_a_workspace_answers_the_internet():
    resources = made(AmlWorkspace, "ml", LIVE_WORKSPACE, "prod-azure")
    for token in ("machinelearningservices:Workspace", "storage:StorageAccount", "containerregistry:Registry"):
        assert only(resources, f"azure-native:{token}").inputs["publicNetworkAccess"] == "Disabled"
    vault = only(resources, "azure-native:keyvault:Vault").inputs["properties"]
    assert (vault["publicNetworkAccess"], vault["enablePurgeProtection"]) == ("Disabled", True)
    endpoints = [one for one in resources if one.type == "azure-native:network:PrivateEndpoint"]
    assert {one.name.removeprefix("ml-") for one in endpoints} == {"workspace", "blob", "file", "registry"}


def test_a_cluster_starts_from_zero_and_waits_ten_minutes():
    compute = only(made(AmlComputeCluster, "tune", COMPUTE), "azure-native:machinelearningservices:Compute").inputs
    inner = compute["properties"]["properties"]
    assert inner["scaleSettings"] == {
        "minNodeCount": 0,
        "maxNodeCount": 2,
        "nodeIdleTimeBeforeScaleDown": "PT10M",
    }
    assert (inner["vmPriority"], inner["enableNodePublicIp"]) == ("LowPriority", False)
    assert compute["properties"]["disableLocalAuth"] is True


def test_requests_go_to_a_deployment_once_it_stands():
    before = only(made(AmlOnlineEndpoint, "chat", ENDPOINT), "azure-native:machinelearningservices:OnlineEndpoint")
    after = only(
        made(AmlOnlineEndpoint, "chat", {**ENDPOINT, "live": True}),
        "azure-native:machinelearningservices:OnlineEndpoint",
    )
    assert "traffic" not in before.inputs["properties"]
    assert after.inputs["properties"]["traffic"] == {"main": 100}


@given(st.text(min_size=1, max_size=40))
def test_names_of_computes_are_ones_that_azure_ml_takes(name):
    found = ml_durations.compute_name(name, stack="dev-azure")
    assert re.fullmatch(r"[a-z][a-z0-9-]{0,14}[a-z0-9]", found)
    assert not re.search(r"-\d+$", found), "Azure takes no name that ends in a hyphen and digits"
    assert ml_durations.compute_name(name, stack="prod-azure") != found


def test_a_hash_of_digits_alone_ends_no_name_of_a_compute():
    assert ml_durations.compute_name("gpu", stack="dev-azure") == "gpu-n75272"


@given(st.integers(60, 259200))
def test_durations_are_what_was_asked_for(seconds):
    found = re.fullmatch(r"PT(\d+)([MS])", ml_durations.duration(seconds))
    assert int(found[1]) * (60 if found[2] == "M" else 1) == seconds


@given(st.integers(600, 86400))
def test_an_alert_looks_at_least_as_far_back_as_the_guard(seconds):
    minutes = {"PT15M": 15, "PT30M": 30, "PT1H": 60, "PT6H": 360, "PT12H": 720, "P1D": 1440}
    assert minutes[ml_durations.alert_window(seconds)] * 60 >= seconds


NEGATIVE = [
    (AmlWorkspace, WORKSPACE, {"outbound": "anything"}, "outbound", "must be approved or internet"),
    (
        AmlWorkspace,
        WORKSPACE,
        {"outbound": "internet", "outbound_hosts": ["huggingface.co"]},
        "outbound_hosts",
        "already",
    ),
    (
        AmlWorkspace,
        WORKSPACE,
        {"outbound_hosts": ["http://huggingface.co"]},
        "outbound_hosts[0]",
        "must be a host name",
    ),
    (AmlWorkspace, WORKSPACE, {"salt": ""}, "salt", "are globally unique"),
    (AmlComputeCluster, COMPUTE, {"nodes_min": 1}, "nodes_min", "must be 0, got 1: machines above it are billed"),
    (AmlComputeCluster, COMPUTE, {"nodes_min": 3}, "nodes_min", "must be 0, got 3"),
    (AmlComputeCluster, COMPUTE, {"nodes_max": 0}, "nodes_max", "a whole number, 1 to 100"),
    (AmlComputeCluster, COMPUTE, {"idle_s": 7200}, "idle_s", "must be 60 to 1800, got 7200"),
    (AmlComputeCluster, COMPUTE, {"capacity_mode": "reservation"}, "capacity_mode", "does not support reservations"),
    (AmlComputeCluster, COMPUTE, {"vm_size": "Standard_NC9"}, "vm_size", "is not in the catalog"),
    (AmlComputeCluster, COMPUTE, {"vm_size": "Standard_NC6s_v3"}, "vm_size", "is no longer sold: Standard_NC6s_v3"),
    (AmlComputeInstance, NOTEBOOK, {"vm_size": "Standard_NC6s_v3"}, "vm_size", "retired 2025-09-30"),
    (AmlOnlineEndpoint, ENDPOINT, {"vm_size": "Standard_NC6s_v3"}, "vm_size", "retired 2025-09-30"),
    (
        AmlComputeCluster,
        LIVE_COMPUTE,
        {"vm_size": "Standard_ND96ams_A100_v4"},
        "vm_size",
        "has no InfiniBand; machines of one job need a size with r in its name",
    ),
    (AmlComputeCluster, {**COMPUTE, "writer": WRITER}, {}, "subnet_id", "through a private endpoint in it"),
    (AmlComputeInstance, NOTEBOOK, {"idle_s": 60}, "idle_s", "must be 900 to 259200"),
    (AmlComputeInstance, NOTEBOOK, {"user": "me"}, "user", "must be a GUID of Entra"),
    (AmlComputeInstance, LIVE_NOTEBOOK, {"vm_size": "Standard_NC9"}, "vm_size", "is not in the catalog"),
    (AmlOnlineEndpoint, ENDPOINT, {"nodes_min": 0}, "nodes_min", "a managed online endpoint cannot scale to zero"),
    (AmlOnlineEndpoint, ENDPOINT, {"nodes_min": 4}, "nodes_initial", "must be between nodes_min and nodes_max"),
    (AmlOnlineEndpoint, ENDPOINT, {"auth": "key"}, "auth", "keys do not expire"),
    (AmlOnlineEndpoint, ENDPOINT, {"guard": GUARD}, "guard.action", "cannot scale to zero"),
    (AmlOnlineEndpoint, ENDPOINT, {"image": "vllm:latest"}, "image", "must be a container in a registry"),
    (AmlOnlineEndpoint, ENDPOINT, {"image": "a.azurecr.io/vllm:latest"}, "image", "with a tag (not latest)"),
    (AmlOnlineEndpoint, ENDPOINT, {"model": "llama"}, "model", "must be azureml://registries"),
    (
        AmlOnlineEndpoint,
        ENDPOINT,
        {"environment_variables": {"API_TOKEN": "abc"}},
        "environment_variables.API_TOKEN",
        "contains what looks like a secret",
    ),
    (AmlOnlineEndpoint, ENDPOINT, {"schedule": {**HOURS, "time_zone": "Mars/Phobos"}}, "schedule.time_zone", "IANA"),
]


@pytest.mark.parametrize(("cls", "args", "change", "path", "sentence"), NEGATIVE)
def test_refuses(cls, args, change, path, sentence):
    found = refusals(cls, {**args, **change})
    assert any(at == path and sentence in text for at, text in found), found
