"""Every component that stands in the code: found, in the reference, written down in both forms, open to other languages."""

import sys
import warnings
from pathlib import Path

import pytest
from pulumi.provider.experimental.analyzer import Analyzer
from pulumi.provider.experimental.schema import generate_schema

from sizewell.components.inventory import args_type, clouds, component_classes

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import component_reference

FORMS = component_reference.recorded_forms()


RECORDS = {"AdoptedPool"}  # of what is there already: it makes nothing


@pytest.mark.parametrize("cloud", clouds())
def test_each_is_written_down_in_dev_and_in_prod_form(cloud):
    lacking = {}
    for one in component_classes(cloud):
        forms = FORMS.get(one.token(), {})
        assert one.__name__ in RECORDS or all(counts.total() for counts in forms.values()), one
        if missing := {"dev", "prod"} - {part for form in forms for part in form.split("-")}:
            lacking[one.__name__] = missing
    assert lacking == {}


@pytest.mark.parametrize("cloud", clouds())
def test_other_languages_can_use_each(cloud):
    """Pulumi's own analyzer infers one schema for all of a cloud; every argument and output is said in words."""
    package, classes = f"sizewell-{cloud}", component_classes(cloud)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Analyzer(package).analyze(list(classes))
        types = found["type_definitions"]
        schema = generate_schema(package, "0.1.0", None, found["component_definitions"], types, []).to_json()
    assert set(schema["resources"]) == {one.token() for one in classes}
    for one in classes:
        resource = schema["resources"][one.token()]
        assert resource["isComponent"]
        assert resource["description"]
        assert {"environment", "owner"} <= set(resource["requiredInputs"])
        assert resource["properties"], f"{one.__name__} has no outputs"
        assert [key for key, said in resource["properties"].items() if not said.get("description")] == []
        said = component_reference._docstrings(args_type(one))
        assert [key for key in args_type(one).__annotations__ if not said.get(key)] == [], one.__name__


def test_the_reference_has_every_component():
    page = component_reference.reference()["docs/reference/components.md"]
    for cloud in clouds():
        for one in component_classes(cloud):
            assert f"](#{component_reference._anchor(component_reference._title(one))})" in page
            assert f"\n### {component_reference._title(one)}\n" in page
