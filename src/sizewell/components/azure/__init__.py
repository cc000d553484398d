"""Components that build on Azure. Each class below is public; the modules are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sizewell import lazy

if TYPE_CHECKING:
    from sizewell.components.azure.aks.cluster import AksCluster
    from sizewell.components.azure.aks.operators import AksOperators
    from sizewell.components.azure.aks.pools import AksGpuPool
    from sizewell.components.azure.aks.volumes import LustreVolume
    from sizewell.components.azure.keys.vault import CustomerKeys
    from sizewell.components.azure.limits.guards import BudgetAlarms, EndRights, TtlGuard
    from sizewell.components.azure.ml.compute import AmlComputeCluster, AmlComputeInstance
    from sizewell.components.azure.ml.endpoints import AmlOnlineEndpoint
    from sizewell.components.azure.ml.workspace import AmlWorkspace
    from sizewell.components.azure.network import Network
    from sizewell.components.azure.nodes import GpuScaleSet
    from sizewell.components.azure.openai.account import OpenAiAccount
    from sizewell.components.azure.storage.checkpoints import CheckpointStore
    from sizewell.components.azure.storage.shared import SharedStorage

__all__ = [
    "AksCluster",
    "AksGpuPool",
    "AksOperators",
    "AmlComputeCluster",
    "AmlComputeInstance",
    "AmlOnlineEndpoint",
    "AmlWorkspace",
    "BudgetAlarms",
    "CheckpointStore",
    "CustomerKeys",
    "EndRights",
    "GpuScaleSet",
    "LustreVolume",
    "Network",
    "OpenAiAccount",
    "SharedStorage",
    "TtlGuard",
]

if not TYPE_CHECKING:  # an editor would take every name for an existing one
    __getattr__ = lazy.names(
        __name__,
        {
            "AksCluster": "sizewell.components.azure.aks.cluster",
            "AksGpuPool": "sizewell.components.azure.aks.pools",
            "AksOperators": "sizewell.components.azure.aks.operators",
            "AmlComputeCluster": "sizewell.components.azure.ml.compute",
            "AmlComputeInstance": "sizewell.components.azure.ml.compute",
            "AmlOnlineEndpoint": "sizewell.components.azure.ml.endpoints",
            "AmlWorkspace": "sizewell.components.azure.ml.workspace",
            "BudgetAlarms": "sizewell.components.azure.limits.guards",
            "CheckpointStore": "sizewell.components.azure.storage.checkpoints",
            "CustomerKeys": "sizewell.components.azure.keys.vault",
            "EndRights": "sizewell.components.azure.limits.guards",
            "GpuScaleSet": "sizewell.components.azure.nodes",
            "LustreVolume": "sizewell.components.azure.aks.volumes",
            "Network": "sizewell.components.azure.network",
            "OpenAiAccount": "sizewell.components.azure.openai.account",
            "SharedStorage": "sizewell.components.azure.storage.shared",
            "TtlGuard": "sizewell.components.azure.limits.guards",
        },
    )
