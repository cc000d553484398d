"""Components that build on AWS. Each class below is public; the modules are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sizewell import lazy

if TYPE_CHECKING:
    from sizewell.components.aws.eks.autoscaler import EksAutoscaler
    from sizewell.components.aws.eks.cluster import EksCluster
    from sizewell.components.aws.eks.images import ImageMirror
    from sizewell.components.aws.eks.nodes import EksNodeGroup
    from sizewell.components.aws.eks.plugins import EksDevicePlugins
    from sizewell.components.aws.eks.volumes import LustreVolume
    from sizewell.components.aws.fleets.spot import SpotFleet
    from sizewell.components.aws.hyperpod.agents import HyperPodAgents
    from sizewell.components.aws.hyperpod.cluster import HyperPodCluster
    from sizewell.components.aws.limits.guards import BudgetAlarms, TtlGuard
    from sizewell.components.aws.limits.schedules import TeardownSchedule
    from sizewell.components.aws.network import Network
    from sizewell.components.aws.nodes import GpuNodeGroup
    from sizewell.components.aws.sagemaker.endpoints import AsyncEndpoint, RealtimeEndpoint, ServerlessEndpoint
    from sizewell.components.aws.sagemaker.notebooks import Notebook, StudioDomain
    from sizewell.components.aws.sagemaker.training import TrainingPipeline
    from sizewell.components.aws.storage.checkpoints import CheckpointStore
    from sizewell.components.aws.storage.shared import SharedStorage

__all__ = [
    "AsyncEndpoint",
    "BudgetAlarms",
    "CheckpointStore",
    "EksAutoscaler",
    "EksCluster",
    "EksDevicePlugins",
    "EksNodeGroup",
    "GpuNodeGroup",
    "HyperPodAgents",
    "HyperPodCluster",
    "ImageMirror",
    "LustreVolume",
    "Network",
    "Notebook",
    "RealtimeEndpoint",
    "ServerlessEndpoint",
    "SharedStorage",
    "SpotFleet",
    "StudioDomain",
    "TeardownSchedule",
    "TrainingPipeline",
    "TtlGuard",
]

if not TYPE_CHECKING:  # an editor would take every name for an existing one
    __getattr__ = lazy.names(
        __name__,
        {
            "AsyncEndpoint": "sizewell.components.aws.sagemaker.endpoints",
            "BudgetAlarms": "sizewell.components.aws.limits.guards",
            "CheckpointStore": "sizewell.components.aws.storage.checkpoints",
            "EksAutoscaler": "sizewell.components.aws.eks.autoscaler",
            "EksCluster": "sizewell.components.aws.eks.cluster",
            "EksDevicePlugins": "sizewell.components.aws.eks.plugins",
            "EksNodeGroup": "sizewell.components.aws.eks.nodes",
            "GpuNodeGroup": "sizewell.components.aws.nodes",
            "HyperPodAgents": "sizewell.components.aws.hyperpod.agents",
            "HyperPodCluster": "sizewell.components.aws.hyperpod.cluster",
            "ImageMirror": "sizewell.components.aws.eks.images",
            "LustreVolume": "sizewell.components.aws.eks.volumes",
            "Network": "sizewell.components.aws.network",
            "Notebook": "sizewell.components.aws.sagemaker.notebooks",
            "RealtimeEndpoint": "sizewell.components.aws.sagemaker.endpoints",
            "ServerlessEndpoint": "sizewell.components.aws.sagemaker.endpoints",
            "SharedStorage": "sizewell.components.aws.storage.shared",
            "SpotFleet": "sizewell.components.aws.fleets.spot",
            "StudioDomain": "sizewell.components.aws.sagemaker.notebooks",
            "TeardownSchedule": "sizewell.components.aws.limits.schedules",
            "TrainingPipeline": "sizewell.components.aws.sagemaker.training",
            "TtlGuard": "sizewell.components.aws.limits.guards",
        },
    )
