"""What the types and tags of Azure are to teardown."""

from __future__ import annotations

from typing import Final

from sizewell.recording.sources.state import StateResource
from sizewell.teardown.types import Types

_ML_COMPUTE: Final = "azure-native:machinelearningservices:Compute"


def _store_uri(resource: StateResource) -> str:
    if not resource.type.startswith("azure-native:storage:BlobContainer"):
        return ""
    account = str(resource.inputs.get("accountName") or "")
    return f"az://{account}/{resource.inputs.get('containerName') or resource.id.rpartition('/')[2]}"


TYPES: Final = Types(
    sized={
        "scale-set": "azure-native:compute:VirtualMachineScaleSet",
        "aks-pool": "azure-native:containerservice:AgentPool",
    },
    scheduled=("aks-pool",),
    serving=(
        "azure-native:machinelearningservices:OnlineEndpoint",
        "azure-native:machinelearningservices:OnlineDeployment",
    ),
    managed={"notebook": (_ML_COMPUTE,), "pool": (_ML_COMPUTE,)},
    stateful={
        "azure-native:compute:Disk": "disk",
        "azure-native:compute:Snapshot": "snapshot",
        "azure-native:storage:StorageAccount": "storage account",
        "azure-native:storagecache:": "file system",
        "azure-native:netapp:": "file system",
        "azure-native:machinelearningservices:Compute": "notebook with its disk",
        "azure-native:machinelearningservices:Workspace": "workspace with its data",
    },
    clusters={"azure-native:containerservice:ManagedCluster": "resourceName"},
    store_uri=_store_uri,
    made_by={"aks-managed-poolName": "azure-native:containerservice:AgentPool"},
    imported_by_tag=(),
    parts=(),
)
