"""Other languages can use each component: Pulumi's own analyzer infers its schema."""

import importlib
import warnings

import pytest
from pulumi.provider.experimental.analyzer import Analyzer

COMPONENTS = {
    "SpotFleet": "fleets",
    "EksCluster": "eks",
    "EksNodeGroup": "eks_nodes",
    "EksDevicePlugins": "eks_plugins",
    "TrainingPipeline": "sagemaker_training",
    "RealtimeEndpoint": "sagemaker_endpoints",
    "AsyncEndpoint": "sagemaker_endpoints",
    "ServerlessEndpoint": "sagemaker_endpoints",
    "Notebook": "sagemaker_notebooks",
    "StudioDomain": "sagemaker_notebooks",
    "SharedStorage": "storage",
    "BudgetAlarms": "limits",
    "TtlGuard": "limits",
}

INHERITED = {"environment", "owner", "costCenter", "expires", "facts"} | {  # said in the classes that have them first
    "account",
    "region",
    "zones",
    "vpcId",
    "vpcCidr",
    "subnetIds",
    "s3PrefixListId",
    "kmsKeyArn",
}


@pytest.mark.parametrize(("name", "module"), COMPONENTS.items())
def test_the_schema_is_inferable(name, module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls = getattr(importlib.import_module(f"components.aws.{module}"), name)
        found = Analyzer("sizewell-aws").analyze([cls])["component_definitions"][name]
    assert found.inputs["environment"].type.value == "string"
    assert {"owner", "environment"} <= {key for key, one in found.inputs.items() if not one.optional}
    assert found.outputs, f"{name} has no outputs"
    assert found.description
    undocumented = {key for key, one in found.inputs.items() if not one.description}
    assert undocumented <= INHERITED
    assert [key for key, one in found.outputs.items() if not one.description] == []
