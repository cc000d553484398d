"""Networks, scale sets, stores, keys and ends on Azure, each in its dev and prod form."""

import pytest
from azure_recording import GUARD, HOURS, NETWORK, OWNED, PLACE, PROD, WRITER, ZONES, golden, made

from sizewell.components.azure.keys.vault import CustomerKeys
from sizewell.components.azure.limits import expiry
from sizewell.components.azure.limits.guards import EndRights, TtlGuard
from sizewell.components.azure.network import Network
from sizewell.components.azure.nodes import GpuScaleSet
from sizewell.components.azure.storage.checkpoints import CheckpointStore

DEV_STORE = {"environment": "dev", "owner": "ml-platform", "region": "eastus", **WRITER}
LIVE = {key: value for key, value in PROD.items() if key != "expires"}
MACHINES = {
    **PLACE,
    "security_group_id": f"{NETWORK}/networkSecurityGroups/nodes",
    "private_dns_zone_id": ZONES["blob"],
    "zones": ["1"],
    "nodes_min": 0,
    "disk_gib": 128,
    "writer": WRITER,
}
REGISTRY = "/subscriptions/0000/resourceGroups/r/providers/Microsoft.ContainerRegistry/registries/petsnap"
GROUP = "/subscriptions/0000/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/h100"
FORMS = {
    "network-dev": (Network, {**OWNED, "region": "eastus"}),
    "network-prod": (
        Network,
        {**PROD, "region": "eastus", "kubernetes": True, "files": True, "private_services": ["file", "vault"]},
    ),
    "machines-spot-dev": (
        GpuScaleSet,
        {
            **OWNED,
            **MACHINES,
            "vm_size": "Standard_NC24ads_A100_v4",
            "nodes_initial": 1,
            "nodes_max": 2,
            "capacity_mode": "spot",
            "guard": GUARD,
            "schedule": HOURS,
        },
    ),
    "machines-infiniband-prod": (
        GpuScaleSet,
        {
            **PROD,
            **MACHINES,
            "region": "eastus2",
            "vm_size": "Standard_ND96isr_MI300X_v5",
            "nodes_min": 2,
            "nodes_initial": 2,
            "nodes_max": 4,
            "capacity_mode": "on-demand",
            "gang": True,
            "registries": [REGISTRY],
            "guard": {**GUARD, "action": "notify"},
            "notify": ["ml-platform@example.com"],
        },
    ),
    "checkpoints-dev": (CheckpointStore, DEV_STORE),
    "checkpoints-prod": (CheckpointStore, {**DEV_STORE, **LIVE, "immutable_days": 30, "versions_days": 90}),
    "keys-dev": (CustomerKeys, {**OWNED, "region": "eastus", "salt": "petsnap"}),
    "end-rights-prod": (
        EndRights,
        {
            **PROD,
            "region": "eastus",
            "resource_group": "sizewell-prod-azure-network-eastus",
            "ender": expiry.ender("prod-azure", "eastus"),
        },
    ),
    "ttl-prod": (
        TtlGuard,
        {
            **LIVE,
            "region": "eastus",
            "stack": "prod-azure",
            "firm": True,
            "target": "sizewell-prod-azure-network-eastus",
            "ends": "2027-11-22",
        },
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_makes_what_is_written_down(form):
    cls, args = FORMS[form]
    kept = "checkpoints-" if cls is CheckpointStore else "ttl-" if cls is TtlGuard else ""
    golden(form, made(cls, "chat", args, f"{kept}{'prod' if 'prod' in form else 'dev'}-azure"))


@pytest.mark.parametrize("form", ["checkpoints-dev", "checkpoints-prod"])
def test_checkpoints_are_private_kept_and_written_by_who_cannot_delete(form):
    """Every point of a store: versions, an own key, TLS alone, soft delete, immutability, no expiry of what is current."""
    found = made(*(FORMS[form][0], "chat", FORMS[form][1]), "checkpoints-dev-azure")
    account = next(one for one in found if one.type.endswith("storage:StorageAccount"))
    blobs = next(one.inputs for one in found if one.type.endswith("BlobServiceProperties"))
    role = next(one.inputs for one in found if one.type.endswith("RoleDefinition"))
    rules = next(one.inputs for one in found if one.type.endswith("ManagementPolicy"))["policy"]["rules"]
    inputs = account.inputs
    assert account.protect
    assert account.retain_on_delete
    assert inputs["encryption"]["keySource"] == "Microsoft.Keyvault"
    assert inputs["encryption"]["requireInfrastructureEncryption"] is True
    assert (inputs["enableHttpsTrafficOnly"], inputs["minimumTlsVersion"]) == (True, "TLS1_2")
    assert inputs["publicNetworkAccess"] == "Disabled"
    assert not inputs["allowSharedKeyAccess"]
    assert not inputs["allowBlobPublicAccess"]
    assert inputs["immutableStorageWithVersioning"]["immutabilityPolicy"]["immutabilityPeriodSinceCreationInDays"] >= 7
    assert blobs["isVersioningEnabled"] is True
    assert blobs["deleteRetentionPolicy"]["days"] >= 14
    assert [set(rule["definition"]["actions"]) for rule in rules] == [{"version"}]  # nothing of a current blob
    said = [word for one in role["permissions"] for key in ("actions", "dataActions") for word in one[key]]
    assert not [word for word in said if "delete" in word.lower() or word.endswith("*")]
