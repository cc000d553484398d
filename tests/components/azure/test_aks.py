"""AKS: what its components make, the laws of driver and InfiniBand, and what they refuse."""

import base64
import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from azure_recording import (
    GUARD,
    HOURS,
    NETWORK,
    OWNED,
    PLACE,
    PROD,
    VAULT,
    WRITER,
    ZONES,
    golden,
    made,
    only,
    record,
    refusals,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from logic_run import Azure
from pulumi_azure_native.containerservice import AgentPool

from sizewell.components.azure.aks import charts as aks_charts
from sizewell.components.azure.aks import checks as aks_checks
from sizewell.components.azure.aks import node_config as aks_node_config
from sizewell.components.azure.aks.cluster import AksCluster
from sizewell.components.azure.aks.operators import AksOperators
from sizewell.components.azure.aks.pools import AksGpuPool
from sizewell.components.azure.aks.volumes import LustreVolume
from sizewell.components.azure.limits import workflows
from sizewell.components.machines import find_shape
from sizewell.sizing import catalog
from sizewell.sizing.errors import ArgsError

SHAPES = [one for one in catalog.load().shapes if one.cloud == "azure" and one.accelerators]

GROUP = "/subscriptions/0000/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/h100"
CLUSTER = {**OWNED, **PLACE, "zones": ["1"]}
LIVE_CLUSTER = {
    **PROD,
    **PLACE,
    "zones": ["1", "2", "3"],
    "api_subnet_id": f"{NETWORK}/virtualNetworks/net/subnets/kubernetes-api",
    "admin_groups": ["00000000-0000-0000-0000-00000000000a"],
    "registries": ["/subscriptions/0000/resourceGroups/r/providers/Microsoft.ContainerRegistry/registries/petsnap"],
    "disk_encryption_set_id": "/subscriptions/0000/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/d",
    "secrets_key": {"key_url": "https://keys.vault.azure.net/keys/secrets/1", "vault_id": VAULT},
    "system_nodes": 3,
    "defender": True,
    "reservations": [GROUP],
}
METRICS = {
    "workspace_id": "/subscriptions/0000/resourceGroups/network/providers/Microsoft.Monitor/accounts/metrics",
    "query_url": "https://metrics.eastus.prometheus.monitor.azure.com",
}
POOL = {
    **OWNED,
    **PLACE,
    "zones": ["1"],
    "cluster": "cluster",
    "vm_size": "Standard_NC24ads_A100_v4",
    "nodes_min": 0,
    "nodes_initial": 0,
    "nodes_max": 2,
    "capacity_mode": "spot",
    "disk_gib": 128,
    "guard": GUARD,
    "metrics": METRICS,
    "schedule": HOURS,
}
TRAINING = {
    **PROD,
    **PLACE,
    "zones": ["1"],
    "cluster": "cluster",
    "vm_size": "Standard_ND96isr_H100_v5",
    "nodes_min": 0,
    "nodes_initial": 2,
    "nodes_max": 4,
    "capacity_mode": "reservation",
    "reservation": GROUP,
    "gang": True,
    "disk_gib": 512,
    "writer": WRITER,
    "oidc_issuer_url": "https://eastus.oic.prod-aks.azure.com/0000/",
    "private_dns_zone_ids": ZONES,
    "guard": {**GUARD, "action": "notify"},
    "metrics": METRICS,
    "notify": ["ml-platform@example.com"],
}
OPERATORS = {**OWNED, "kubeconfig": "{}", "runtimes": ["cuda"]}
FABRIC = {
    **PROD,
    "kubeconfig": "{}",
    "runtimes": ["cuda", "rocm"],
    "infiniband": True,
    "registry": "petsnap.azurecr.io/nvcr",
    "amd_driver_image": "petsnap.azurecr.io/amdgpu-driver",
}
VOLUME = {**OWNED, "kubeconfig": "{}", "address": "10.120.8.4", "capacity_gib": 4096}
FORMS = {
    "aks-operators-lustre-dev": (AksOperators, {**OPERATORS, "runtimes": [], "lustre": True}),
    "volume-dev": (LustreVolume, VOLUME),
    "volume-prod": (LustreVolume, {**VOLUME, **PROD, "namespace": "training", "claim": "photos", "read_only": True}),
    "aks-cluster-dev": (AksCluster, CLUSTER),
    "aks-cluster-prod": (AksCluster, LIVE_CLUSTER),
    "aks-pool-spot-dev": (AksGpuPool, POOL),
    "aks-pool-infiniband-prod": (AksGpuPool, TRAINING),
    "aks-operators-dev": (AksOperators, OPERATORS),
    "aks-operators-infiniband-prod": (AksOperators, FABRIC),
}


def stack_of(form):
    return "prod-azure" if "prod" in form else "dev-azure"


@pytest.mark.parametrize("form", FORMS)
def test_makes_what_is_written_down(form):
    cls, args = FORMS[form]
    golden(form, made(cls, form, args, stack_of(form)))


def test_a_pool_without_accelerators_keeps_other_pods_away_and_gets_no_driver():
    plain = {key: value for key, value in POOL.items() if key not in ("guard", "metrics")}
    resources = made(AksGpuPool, "tags", {**plain, "vm_size": "Standard_D4s_v5", "capacity_mode": "on-demand"})
    pool = next(one.inputs for one in resources if one.type.endswith(":AgentPool"))
    assert pool["nodeTaints"] == ["sizewell/pool=present:NoSchedule"]
    assert pool["nodeLabels"] == {"sizewell/pool": "tags"}
    assert "gpuProfile" not in pool
    assert not [one for one in resources if "RuleGroup" in one.type]


@pytest.mark.parametrize("runtimes", [["cuda"], ["rocm"], ["cuda", "rocm"]])
@pytest.mark.parametrize("infiniband", [True, False])
def test_features_of_machines_are_found_once(runtimes, infiniband):
    charts = aks_charts.charts(runtimes=runtimes, driver="operator", infiniband=infiniband, registry="nvcr.io")
    values = {name: one["values"] for name, one in charts.items()}
    finders = {
        "network-operator": "network-operator" in values,  # unless told its own
        "gpu-operator": values.get("gpu-operator", {}).get("nfd", {}).get("enabled", False),
        "amd-gpu-operator": values.get("amd-gpu-operator", {}).get("node-feature-discovery", {}).get("enabled", False),
    }
    assert sum(finders.values()) == 1, finders


def test_the_control_plane_may_take_reserved_machines_and_make_disks_under_the_key():
    roles = {
        one.name: one.inputs["permissions"][0]["actions"]
        for one in made(AksCluster, "cluster", LIVE_CLUSTER, stack="prod-azure")
        if one.type == "azure-native:authorization:RoleDefinition"
    }
    assert "Microsoft.Compute/capacityReservationGroups/deploy/action" in roles["cluster-reserved-0"]
    assert roles["cluster-disks"] == ["Microsoft.Compute/diskEncryptionSets/read"]
    assert not [action for actions in roles.values() for action in actions if action.endswith(("*", "write", "delete"))]


def test_named_ranges_reach_the_api_over_the_internet_and_machines_through_the_network():
    named = {**LIVE_CLUSTER, "authorized_ranges": ["203.0.113.0/28"]}
    cluster = only(made(AksCluster, "cluster", named, "prod-azure"), "azure-native:containerservice:ManagedCluster")
    access = cluster.inputs["apiServerAccessProfile"]
    assert (access["enablePrivateCluster"], list(access["authorizedIPRanges"])) == (False, ["203.0.113.0/28"])
    assert access["enableVnetIntegration"] is True
    outside = {**CLUSTER, "authorized_ranges": ["203.0.113.0/28"]}
    with pytest.raises(ArgsError, match="NAT gateway that is not in the list"):
        made(AksCluster, "cluster", outside)


def test_the_driver_has_one_owner_and_infiniband_the_one_that_loads_peermem():
    pool = only(made(AksGpuPool, "train", TRAINING, "prod-azure"), "azure-native:containerservice:AgentPool").inputs
    assert pool["gpuProfile"] == {"driver": "None"}
    charts = {
        one.name: one.inputs
        for one in made(AksOperators, "x", FABRIC, "prod-azure")
        if one.type == "kubernetes:helm.sh/v3:Release"
    }
    values = charts["x-gpu-operator"]["values"]
    assert values["driver"] == {
        "enabled": True,
        "repository": "petsnap.azurecr.io/nvcr/nvidia",
        "version": "580.173.02",
        "rdma": {"enabled": True},
        "repoConfig": {"configMapName": "packages"},
        "manager": {"repository": "petsnap.azurecr.io/nvcr/nvidia/cloud-native"},
    }
    assert values["nfd"] == {"enabled": False}  # it comes with the network operator
    assert all(one["version"].lstrip("v")[0].isdigit() for one in charts.values())
    theirs = only(made(AksGpuPool, "chat", {**POOL, "driver": "aks"}), "azure-native:containerservice:AgentPool").inputs
    assert theirs["gpuProfile"] == {"driver": "Install"}
    released = made(AksOperators, "x", {**OPERATORS, "driver": "aks"})
    assert only(released, "kubernetes:helm.sh/v3:Release").inputs["values"]["driver"]["enabled"] is False


@given(
    st.sampled_from(SHAPES),
    st.integers(0, 4),
    st.integers(0, 4),
    st.sampled_from(["on-demand", "spot"]),
    st.integers(64, 2048),
)
@settings(max_examples=60, deadline=None)
def test_a_pool_is_right_or_refused(shape, low, more, mode, disk_gib):
    """Whatever is asked for: spot is deleted at the list price, and the OS disk fits where it lies."""
    market = aks_node_config.market(mode)
    assert (market["scale_set_priority"] == "Spot") == ("spot_max_price" in market)
    disk = aks_node_config.os_disk(shape, disk_gib=disk_gib)
    assert disk["os_disk_type"] == "Managed" or disk_gib <= shape.temporary_bytes // 2**30
    assert aks_node_config.taints(shape, mode)[0] == "sku=gpu:NoSchedule"
    keys = {taint.split("=")[0] for taint in aks_node_config.taints(shape, mode)}
    assert keys == {one["key"] for one in aks_node_config.tolerations(mode)}
    pool = {**POOL, "vm_size": shape.instance_type, "nodes_min": low, "nodes_initial": low, "nodes_max": low + more}
    if low + more == 0 or mode not in (shape.markets or {mode}):
        with pytest.raises(ArgsError):
            aks_checks.check_aks_pool("x", {**pool, "capacity_mode": mode}, shape)


@given(st.text(min_size=1, max_size=40))
def test_names_of_pools_are_ones_that_aks_takes(name):
    found = aks_node_config.agent_pool_name(name)
    assert re.fullmatch(r"[a-z][a-z0-9]{0,11}", found)
    assert aks_node_config.agent_pool_name(name + "x") != found


def test_the_guard_looks_at_the_pool_alone_and_wants_to_have_seen_it():
    query = aks_node_config.idle_query(GUARD, cluster="c", pool="chat", seconds=6300)
    assert 'Hostname=~"aks-chat-.+"' in query
    assert "max(max_over_time(" in query
    assert query.endswith(">= 199")  # 95 % of 210 samples


@pytest.mark.parametrize(
    ("size", "metric"),
    [("Standard_ND96isr_MI300X_v5", 'gpu_gfx_activity{cluster="cluster",hostname=~'),
     ("Standard_ND96isr_H100_v5", 'DCGM_FI_DEV_GPU_UTIL{cluster="cluster",Hostname=~')],
)  # fmt: skip
def test_the_guard_asks_the_exporter_that_the_machines_have(size, metric):
    region = {"Standard_ND96isr_MI300X_v5": "eastus2"}.get(size, "eastus")
    one = made(AksGpuPool, "x", {**POOL, "vm_size": size, "region": region, "capacity_mode": "on-demand"})
    rule = only(one, "azure-native:alertsmanagement:PrometheusRuleGroup").inputs["rules"][0]
    assert metric in rule["expression"]
    runtime = aks_node_config.runtime_of(find_shape("azure", size))
    found = aks_charts.objects(runtimes=[runtime], infiniband=False, registry="nvcr.io", amd_driver_image="a.b/c")
    assert [item["kind"] for item in found.values()].count("PodMonitor") == 1, "somebody reads it"


@pytest.mark.parametrize(
    ("size", "owner"), [("NV36ads_A10_v5", "Install"), ("NC24ads_A100_v4", "Install"), ("ND96is_MI300X_v5", "None")]
)
def test_the_driver_is_aks_s_but_for_gpus_that_it_has_none_for(size, owner):
    region = "eastus2" if "MI300X" in size else "eastus"
    args = {**POOL, "region": region, "vm_size": f"Standard_{size}", "capacity_mode": "on-demand"}
    one = made(AksGpuPool, "x", args)
    nodes = only(one, "azure-native:containerservice:AgentPool").inputs
    assert nodes["gpuProfile"] == {"driver": owner}
    assert nodes["nodeLabels"].get("nvidia.com/gpu.deploy.driver") == ("false" if owner == "Install" else None)


FOREIGN = re.compile(r"\b(nvcr\.io|registry\.k8s\.io|docker\.io|quay\.io|ghcr\.io|gcr\.io)/")


def images_of(value):
    """Every text in chart values or objects that names an image or a repository of images."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in images_of(item)]
    if isinstance(value, list):
        return [text for item in value for text in images_of(item)]
    return [value] if isinstance(value, str) and ("/" in value or FOREIGN.search(value)) else []


@pytest.mark.parametrize("infiniband", [True, False])
@pytest.mark.parametrize("runtimes", [["cuda"], ["rocm"], ["cuda", "rocm"]])
def test_with_a_mirror_nothing_names_another_registry(runtimes, infiniband):
    mirror = "petsnap.azurecr.io/mirror"
    both = {"runtimes": runtimes, "infiniband": infiniband, "registry": mirror}
    charts = aks_charts.charts(driver="operator", **both)
    objects = aks_charts.objects(amd_driver_image="petsnap.azurecr.io/amdgpu-driver", **both)
    named = images_of([chart["values"] for chart in charts.values()] + [item.get("spec") for item in objects.values()])
    assert not [text for text in named if FOREIGN.search(text)]
    wanted = aks_charts.mirror_images(runtimes=runtimes, driver="operator", infiniband=infiniband, ubuntu="24.04")
    repositories = {mirror + image.partition("/")[2].rpartition(":")[0].join(("/", "")) for image in wanted}
    given = {text.rpartition(":")[0] or text for text in named if text.startswith(mirror)}
    # a chart puts the name of an image behind a repository
    assert all(any(one.startswith(base) for base in given) for one in repositories), repositories - given


def test_amd_s_driver_has_a_tag_that_can_be_pushed_before():
    """ROCm/gpu-operator v1.4.1 looks for osName-KERNEL-version behind `driver.image` (internal/kmmmodule/kmmmodule.go,
    addNodeInfoSuffixToImageTag): without a version the tag follows from the release of Ubuntu, with a tag there are
    two.
    """
    objects = aks_charts.objects(
        runtimes=["rocm"], infiniband=False, registry="nvcr.io", amd_driver_image="a.io/driver"
    )
    driver = objects["amd"]["spec"]["driver"]
    tagged = aks_charts.amd_driver_tag(driver["image"], ubuntu="24.04")
    assert tagged == f"{driver['image']}:ubuntu-24.04-KERNEL-{driver['version']}"
    assert ("amd_driver_image", True) in {
        (at, "must be a repository" in text)
        for at, text in refusals(AksOperators, {**FABRIC, "amd_driver_image": "petsnap.azurecr.io/amdgpu-driver:1"})
    }


def test_driver_containers_install_packages_from_azure_s_own_mirror():
    resources = made(AksOperators, "x", FABRIC, "prod-azure")
    maps = [one.inputs for one in resources if one.type == "kubernetes:core/v1:ConfigMap"]
    assert {one["metadata"]["namespace"] for one in maps} >= {"gpu-operator", "network-operator"}
    hosts = {line.split()[2] for one in maps for line in one["data"]["custom-repo.list"].splitlines()}
    assert hosts == {"http://azure.archive.ubuntu.com/ubuntu/"}


def test_kubelets_may_pull_and_do_nothing_else():
    roles = [
        one.inputs
        for one in made(AksCluster, "cluster", LIVE_CLUSTER, "prod-azure")
        if one.type == "azure-native:authorization:RoleAssignment" and one.name.startswith("cluster-pulls")
    ]
    assert [one["scope"] for one in roles] == LIVE_CLUSTER["registries"]
    assert not [
        one
        for one in made(AksCluster, "cluster", CLUSTER)
        if one.type == "azure-native:authorization:RoleAssignment" and "pulls" in one.name
    ]


def test_a_stop_or_start_that_fails_is_heard_of():
    resources = made(AksGpuPool, "chat", POOL)
    workflows = {one.name for one in resources if one.type == "azure-native:logic:Workflow"}
    alerts = [one for one in resources if one.type == "azure-native:monitor:MetricAlert"]
    assert {one.name.removesuffix("-failed") for one in alerts} == workflows
    assert len(workflows) == 3  # idle, and both ends of the day
    assert all(one.inputs["actions"] for one in alerts)


def test_kubeconfig_holds_nothing_that_lasts():
    given = yaml.safe_dump(
        {"clusters": [{"name": "x", "cluster": {"server": "https://a", "certificate-authority-data": "Yg=="}}]}
    )
    found = json.loads(aks_node_config.kubeconfig(base64.b64encode(given.encode()).decode(), cluster="train"))
    assert found["clusters"][0]["cluster"]["server"] == "https://a"
    assert list(found["users"][0]["user"]) == ["exec"]
    assert found["users"][0]["user"]["exec"]["command"] == "kubelogin"


NEGATIVE = [
    (AksCluster, CLUSTER, {"version": "1.19"}, "version", "must be the cluster's Kubernetes version, one of 1.34"),
    (AksCluster, CLUSTER, {"version": "1.29"}, "version", "whose standard support on aks ended on 2025-03-31"),
    (AksCluster, CLUSTER, {"system_size": "Standard_NC24ads_A100_v4"}, "system_size", "without accelerators"),
    (AksCluster, CLUSTER, {"system_nodes": 1}, "system_nodes", "a whole number, 2 to 20"),
    (AksCluster, CLUSTER, {"authorized_ranges": ["0.0.0.0/0"]}, "authorized_ranges[0]", "the whole internet"),
    (AksCluster, CLUSTER, {"authorized_ranges": ["office"]}, "authorized_ranges[0]", "must be an IPv4 range"),
    (AksCluster, CLUSTER, {"admin_groups": ["admins"]}, "admin_groups[0]", "object id of an Entra group"),
    (AksCluster, CLUSTER, {"maintenance_day": "sunday"}, "maintenance_day", "must be one of Monday"),
    (AksCluster, CLUSTER, {"maintenance_start": "25:00"}, "maintenance_start", "must be a time as 02:00"),
    (AksCluster, CLUSTER, {"log_days": 7}, "log_days", "a whole number, 30 to 730"),
    (
        AksCluster,
        CLUSTER,
        {"secrets_key": LIVE_CLUSTER["secrets_key"]},
        "secrets_key",
        "only an API server in the network can reach a private vault",
    ),
    (AksCluster, CLUSTER, {"zones": ["4"]}, "zones[0]", 'must be "1", "2" or "3"'),
    (AksGpuPool, POOL, {"vm_size": "Standard_ND9000"}, "vm_size", "is not in the catalog"),
    (AksGpuPool, POOL, {"vm_size": "Standard_D4s_v5"}, "guard", "the machines have no accelerator"),
    (AksGpuPool, POOL, {"nodes_min": 3}, "nodes_initial", "must be between nodes_min and nodes_max, got 3 <= 0 <= 2"),
    (AksGpuPool, POOL, {"nodes_max": 0}, "nodes_max", "a whole number, 1 to 1000"),
    (AksGpuPool, POOL, {"eviction": "Deallocate"}, "eviction", "must be Delete"),
    (AksGpuPool, POOL, {"max_price": 2.5}, "max_price", "must be -1"),
    (AksGpuPool, POOL, {"capacity_mode": "on-demand", "eviction": "Delete"}, "eviction", "only spot machines are"),
    (AksGpuPool, POOL, {"capacity_mode": "reservation"}, "reservation", "id of a capacity reservation group"),
    (AksGpuPool, POOL, {"reservation": GROUP}, "reservation", "exactly one way to get machines"),
    (AksGpuPool, POOL, {"driver": "both"}, "driver", "the driver is installed by exactly one of them"),
    (AksGpuPool, TRAINING, {"driver": "aks"}, "driver", "lacks nvidia-peermem"),
    (AksGpuPool, TRAINING, {"vm_size": "Standard_ND96is_MI300X_v5"}, "vm_size", "has no InfiniBand"),
    (AksGpuPool, TRAINING, {"vm_size": "Standard_NC24ads_A100_v4"}, "vm_size", "has no InfiniBand"),
    (AksGpuPool, TRAINING, {"zones": ["1", "2"]}, "zones", "InfiniBand does not cross zones"),
    (AksGpuPool, TRAINING, {"nodes_max": 101}, "nodes_max", "a placement group holds no more"),
    (AksGpuPool, POOL, {"vm_size": "Standard_ND96isr_MI300X_v5", "driver": "aks"}, "driver", "no driver for AMD"),
    (AksGpuPool, {**POOL, "writer": WRITER}, {}, "oidc_issuer_url", "pods need the issuer"),
    (AksGpuPool, {key: v for key, v in POOL.items() if key != "metrics"}, {}, "metrics", "would have no data"),
    (AksGpuPool, POOL, {"service_account": "Chat Pods"}, "service_account", "must be a DNS label"),
    (AksGpuPool, POOL, {"notify": ["nobody"]}, "notify[0]", "must be an e-mail address"),
    (AksGpuPool, POOL, {"nodes": 3}, "nodes", "is an unknown argument"),
    (AksOperators, OPERATORS, {"runtimes": []}, "runtimes", "is empty"),
    (AksOperators, OPERATORS, {"runtimes": ["neuron"]}, "runtimes[0]", "must be cuda or rocm"),
    (AksOperators, FABRIC, {"driver": "aks"}, "driver", "lacks nvidia-peermem"),
    (AksOperators, FABRIC, {"amd_driver_image": ""}, "amd_driver_image", "AMD's operator builds its driver there"),
    (AksOperators, OPERATORS, {"registry": "not a registry"}, "registry", "must be a registry"),
]


@pytest.mark.parametrize(("cls", "args", "change", "path", "sentence"), NEGATIVE)
def test_refuses(cls, args, change, path, sentence):
    found = refusals(cls, {**args, **change})
    assert any(at == path and sentence in text for at, text in found), found


def test_all_faults_are_named_at_once():
    found = refusals(AksGpuPool, {**TRAINING, "zones": ["1", "2"], "driver": "aks", "disk_gib": 8, "owner": ""})
    assert {"zones", "driver", "disk_gib", "owner"} <= {path for path, _ in found}


def test_a_stop_gives_a_pool_back_as_the_provider_made_it():
    """In the version of the interface that the provider writes: in an older one SSH would be on again."""
    written = Path(sys.modules[AgentPool.__module__].__file__).read_text()
    assert f"Uses Azure REST API version {workflows.APIS['aks']}." in written
    pool = {"properties": {"securityProfile": {"sshAccess": "Disabled"}, "powerState": {"code": "Running"}}}
    azure = Azure({"/pool": pool})
    azure.run(workflows.pool_switch(pool="/pool", identity="hand", code="Stopped"))
    (body,) = [body for method, _, body in azure.calls if method == "PUT"]
    assert body["properties"] == {"securityProfile": {"sshAccess": "Disabled"}, "powerState": {"code": "Stopped"}}


def test_machines_of_one_job_are_not_restarted_while_it_runs():
    held = {"start": "2026-11-26", "end": "2027-06-30"}
    found = record(lambda: AksCluster("jobs", {**CLUSTER, "upgrades_held": held}))
    windows = [one.inputs["maintenanceWindow"] for one in found if one.type.endswith(":MaintenanceConfiguration")]
    assert [window["notAllowedDates"] for window in windows] == [[held], [held]]
    assert "must end after it starts" in str(
        refusals(AksCluster, {**CLUSTER, "upgrades_held": {"start": "2027-01-01", "end": "2026-12-31"}})
    )
    assert "two dates" in str(refusals(AksCluster, {**CLUSTER, "upgrades_held": {"start": "soon", "end": "later"}}))
