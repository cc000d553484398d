"""Inputs that a cloud cannot change in place: another value is another resource.

The providers' schemas say it of every input, but their Python packages leave it out. So this holds what decides it
everywhere (place, project, resource group, the resource's own name) and, by type, what is common and what holds data:
fixed_inputs.csv for AWS and for what replaced.json does not say. That file is what Google's, Azure's and Kubernetes'
providers publish, read by tools/replaced_inputs.py; it names its sources. An engine's plan says it of all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from sizewell import csvtables
from sizewell.resources.recorded import RecordedResource
from sizewell.resources.values import canonical
from sizewell.sizing.providers import CLOUDS

EVERYWHERE: Final = {"availabilityZone", "zone", "location", "region", "resourceGroupName", "project"}

# A name that the cloud changes without building anew.
RENAMED_IN_PLACE: Final = (
    "aws:apigateway", "aws:appsync/", "aws:athena/", "aws:ec2/", "aws:guardduty/", "aws:imagebuilder/",
    "aws:organizations/", "aws:servicecatalog/", "aws:sagemaker/image", "aws:cognito/userPoolClient",
    "gcp:organizations/", "gcp:monitoring/", "gcp:cloudbuild/",
)  # fmt: skip
NAMED: Final = tuple(f"{each.provider.package}:" for each in CLOUDS.values() if each.provider.names_itself)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedInputs:
    """A row of fixed_inputs.csv. Of Google Cloud they are blocks, of which each part says for itself."""

    type: str
    inputs: tuple[str, ...]
    source: str


FIXED: Final[Mapping[str, tuple[str, ...]]] = {
    row.type: row.inputs for row in csvtables.read(FixedInputs, Path(__file__).parent / "data/fixed_inputs.csv")
}
_KUBERNETES: Final = ("metadata.name", "metadata.namespace", "apiVersion", "kind")


@cache
def replaced() -> Mapping[str, frozenset[str]]:
    """Inputs of the types of Google Cloud, Azure and Kubernetes that another value replaces, as the providers say.

    Of Google Cloud they are the resource's own inputs, of Azure inputs at whatever depth they stand, of Kubernetes
    paths without the places in lists.
    """
    document = json.loads(Path(__file__).with_name("replaced.json").read_text(encoding="utf-8"))
    return {kind: frozenset(inputs) for kind, inputs in document["types"].items()}


def is_fixed(resource: RecordedResource, path: tuple[str, ...]) -> bool:
    """Whether another value of this input is another resource."""
    kind, joined = canonical(resource.type), ".".join(path)
    if kind.startswith("pulumi:") or path[0] in resource.ignore_changes:
        return False
    if any(joined == fixed or joined.startswith(f"{fixed}.") for fixed in FIXED.get(kind, ())):
        return True
    listed = None if kind.startswith("aws:") else replaced().get(kind)
    if kind.startswith("kubernetes:"):
        plain = ".".join(part for part in path if not part.isdigit())
        return plain in _KUBERNETES or any(plain == each or plain.startswith(f"{each}.") for each in listed or ())
    if listed is not None and kind.startswith("gcp:"):
        return path[0] in listed
    if listed is not None and not listed.isdisjoint(path):
        return True
    if len(path) > 1:
        return False
    if path[0] == "name":
        return kind.startswith(NAMED) and not kind.startswith(RENAMED_IN_PLACE)
    return path[0] in EVERYWHERE
