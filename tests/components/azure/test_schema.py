"""Other languages can use each component: Pulumi's own analyzer infers its schema."""

import importlib
import warnings

import pytest
from pulumi.provider.experimental.analyzer import Analyzer

from sizewell.components.azure.args import GroupArgs, MachineGroupArgs
from sizewell.components.forms import BudgetArgs, EndArgs, PodsArgs, PoolArgs, StorageArgs, VolumeArgs
from sizewell.components.owned import camel

COMPONENTS = {
    "Network": "network",
    "GpuScaleSet": "nodes",
    "CheckpointStore": "storage.checkpoints",
    "AksCluster": "aks.cluster",
    "AksGpuPool": "aks.pools",
    "AksOperators": "aks.operators",
    "AmlWorkspace": "ml.workspace",
    "AmlComputeCluster": "ml.compute",
    "AmlComputeInstance": "ml.compute",
    "AmlOnlineEndpoint": "ml.endpoints",
    "OpenAiAccount": "openai.account",
    "SharedStorage": "storage.shared",
    "CustomerKeys": "keys.vault",
    "BudgetAlarms": "limits.guards",
    "TtlGuard": "limits.guards",
    "EndRights": "limits.guards",
}
SHARED = (PoolArgs, PodsArgs, VolumeArgs, StorageArgs, BudgetArgs, EndArgs, GroupArgs, MachineGroupArgs)
# Described in the class that has them first, where Pulumi's analyzer does not look; docs/reference/components.md has all.
INHERITED = {camel(key) for shape in SHARED for key in shape.__annotations__}


@pytest.mark.parametrize(("name", "module"), COMPONENTS.items())
def test_the_schema_is_inferable(name, module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls = getattr(importlib.import_module(f"sizewell.components.azure.{module}"), name)
        found = Analyzer("sizewell-azure").analyze([cls])["component_definitions"][name]
    assert {"owner", "environment"} <= {key for key, one in found.inputs.items() if not one.optional}
    assert found.description
    assert {key for key, one in found.inputs.items() if not one.description} <= INHERITED
    assert found.outputs
    assert [key for key, one in found.outputs.items() if not one.description] == []
