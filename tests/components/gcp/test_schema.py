"""Other languages can use each component: Pulumi's own analyzer infers its schema."""

import importlib
import warnings

import pytest
from pulumi.provider.experimental.analyzer import Analyzer

COMPONENTS = {
    "CloudRunGpu": "run",
    "VertexTraining": "vertex",
    "VertexEndpoint": "vertex",
    "SharedStorage": "storage",
    "BudgetAlarms": "limits",
}
INHERITED = {"environment", "owner", "costCenter", "expires", "facts"}  # said in the class that has them first


@pytest.mark.parametrize(("name", "module"), COMPONENTS.items())
def test_the_schema_is_inferable(name, module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls = getattr(importlib.import_module(f"components.gcp.{module}"), name)
        found = Analyzer("sizewell-gcp").analyze([cls])["component_definitions"][name]
    assert {"owner", "environment"} <= {key for key, one in found.inputs.items() if not one.optional}
    assert found.description
    assert {key for key, one in found.inputs.items() if not one.description} <= INHERITED
    assert found.outputs
    assert [key for key, one in found.outputs.items() if not one.description] == []
