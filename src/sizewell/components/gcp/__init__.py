"""Components that build on Google Cloud. Each class below is public; the modules are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sizewell import lazy

if TYPE_CHECKING:
    from sizewell.components.gcp.gke.cluster import GkeCluster
    from sizewell.components.gcp.gke.gpudirect import GpuDirect
    from sizewell.components.gcp.limits.guards import BudgetAlarms, TtlGuard
    from sizewell.components.gcp.network import Network
    from sizewell.components.gcp.nodes import AcceleratorPool
    from sizewell.components.gcp.services.run import CloudRunGpu
    from sizewell.components.gcp.services.vertex import VertexEndpoint, VertexTraining
    from sizewell.components.gcp.storage.checkpoints import CheckpointStore
    from sizewell.components.gcp.storage.shared import SharedStorage
    from sizewell.components.gcp.storage.volumes import FilesVolume

__all__ = [
    "AcceleratorPool",
    "BudgetAlarms",
    "CheckpointStore",
    "CloudRunGpu",
    "FilesVolume",
    "GkeCluster",
    "GpuDirect",
    "Network",
    "SharedStorage",
    "TtlGuard",
    "VertexEndpoint",
    "VertexTraining",
]

if not TYPE_CHECKING:  # an editor would take every name for an existing one
    __getattr__ = lazy.names(
        __name__,
        {
            "AcceleratorPool": "sizewell.components.gcp.nodes",
            "BudgetAlarms": "sizewell.components.gcp.limits.guards",
            "CheckpointStore": "sizewell.components.gcp.storage.checkpoints",
            "CloudRunGpu": "sizewell.components.gcp.services.run",
            "FilesVolume": "sizewell.components.gcp.storage.volumes",
            "GkeCluster": "sizewell.components.gcp.gke.cluster",
            "GpuDirect": "sizewell.components.gcp.gke.gpudirect",
            "Network": "sizewell.components.gcp.network",
            "SharedStorage": "sizewell.components.gcp.storage.shared",
            "TtlGuard": "sizewell.components.gcp.limits.guards",
            "VertexEndpoint": "sizewell.components.gcp.services.vertex",
            "VertexTraining": "sizewell.components.gcp.services.vertex",
        },
    )
