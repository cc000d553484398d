"""The types of Azure that facts are read of."""

from __future__ import annotations

from typing import Final

from sizewell.resources.readers import holdings, identity, network, pools_azure, services, stores
from sizewell.resources.readers.cloud import Types

TYPES: Final = Types(
    pools=pools_azure.READERS,
    stores={stores.ACCOUNT: stores.account},
    disks={
        "azure-native:compute:Disk": holdings.azure_disk,
        "azure-native:storagecache:AmlFilesystem": holdings.file_system(
            "encryptionSettings.keyEncryptionKey", by_default=True
        ),
    },
    purchases={
        "azure-native:compute:CapacityReservation": holdings.reservation,
        "azure-native:cognitiveservices:Deployment": holdings.throughput,
    },
    endpoints={"azure-native:machinelearningservices:OnlineDeployment": services.azure_endpoint},
    notebooks={"azure-native:machinelearningservices:Compute": services.compute_instance},
    clusters={"azure-native:containerservice:ManagedCluster": services.aks},
    jobs={"azure-native:machinelearningservices:Job": services.azure_job},
    openings=network.azure,
    grants=identity.azure,
)
