"""What the types and labels of Google Cloud are to teardown."""

from __future__ import annotations

import re
from typing import Final

from sizewell.recording.sources.state import StateResource
from sizewell.teardown.types import Types


def _store_uri(resource: StateResource) -> str:
    if not re.fullmatch(r"gcp:storage/bucket\w*:Bucket", resource.type):
        return ""
    return f"gs://{resource.outputs.get('bucket') or resource.outputs.get('name') or resource.id}"


TYPES: Final = Types(
    sized={"gke-node-pools": "gcp:container/nodePool:NodePool"},
    scheduled=("gke-node-pools",),
    serving=("gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment",),
    managed={},
    stateful={
        "gcp:compute/disk:Disk": "disk",
        "gcp:compute/snapshot:Snapshot": "snapshot",
        "gcp:filestore/instance:Instance": "file system",
        "gcp:lustre/instance:Instance": "file system",
        "gcp:parallelstore/instance:Instance": "file system",
        "gcp:storage/bucket:Bucket": "bucket",
        "gcp:sql/databaseInstance:DatabaseInstance": "database",
        "gcp:workbench/instance:Instance": "notebook with its disk",
    },
    clusters={"gcp:container/cluster:Cluster": "name"},
    store_uri=_store_uri,
    made_by={
        "goog-k8s-node-pool-name": "gcp:container/nodePool:NodePool",
        "goog-k8s-cluster-name": "gcp:container/cluster:Cluster",
    },
    imported_by_tag=(),
    parts=("compute.googleapis.com/Instance", "compute.googleapis.com/Disk"),
)
