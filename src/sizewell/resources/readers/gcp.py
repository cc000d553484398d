"""The types of Google Cloud that facts are read of."""

from __future__ import annotations

from typing import Final

from sizewell.resources.gcp_nodes import CLUSTER
from sizewell.resources.readers import holdings, identity, network, pools_gcp, services, stores
from sizewell.resources.readers.cloud import Types

TYPES: Final = Types(
    pools=pools_gcp.READERS,
    stores={stores.GCS: stores.gcs},
    disks={
        "gcp:compute/disk:Disk": holdings.gcp_disk,
        "gcp:filestore/instance:Instance": holdings.file_system("kmsKeyName", by_default=True),
        "gcp:lustre/instance:Instance": holdings.file_system("kmsKey", by_default=True),
    },
    purchases={
        "gcp:compute/reservation:Reservation": holdings.reservation,
        "gcp:compute/futureReservation:FutureReservation": holdings.reservation,
    },
    endpoints={
        "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment": services.vertex_endpoint,
        "gcp:cloudrunv2/service:Service": services.cloud_run,
        "gcp:cloudrunv2/workerPool:WorkerPool": services.cloud_run,
    },
    notebooks={
        "gcp:workbench/instance:Instance": services.workbench,
        "gcp:colab/runtimeTemplate:RuntimeTemplate": services.colab,
    },
    clusters={CLUSTER: services.gke},
    jobs={"gcp:workflows/workflow:Workflow": services.workflow},
    openings=network.gcp,
    grants=identity.gcp,
)
