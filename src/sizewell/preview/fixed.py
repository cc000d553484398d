"""Inputs that a cloud cannot change in place: another value is another resource.

The providers' schemas say it of every input, but their Python packages leave it out. So this holds what decides it
everywhere (place, project, resource group, the resource's own name) and, by type, what is common and what holds data:
fixed_inputs.csv for AWS and for what replaced.json does not say. That file is what Google's, Azure's and Kubernetes'
providers publish, read by tools/replaced_inputs.py; it names its sources. An engine's plan says it of all.

A path is written without the places in lists. One that ends in [] is a block whose parts say for themselves: it cannot
be added, nor another number of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
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
    """A row of fixed_inputs.csv; a type has one for each source."""

    type: str
    inputs: tuple[str, ...]
    source: str


ROWS: Final = tuple(csvtables.read(FixedInputs, Path(__file__).parent / "data/fixed_inputs.csv"))
FIXED: Final[Mapping[str, tuple[str, ...]]] = {
    kind: tuple(each for row in ROWS if row.type == kind for each in row.inputs) for kind in {row.type for row in ROWS}
}
_KUBERNETES: Final = ("metadata.name", "metadata.namespace", "apiVersion", "kind")


@cache
def replaced() -> Mapping[str, frozenset[str]]:
    """Inputs of the types of Google Cloud, Azure and Kubernetes that another value replaces, as the providers say.

    Of Google Cloud and Kubernetes they are paths, of Azure inputs at whatever depth they stand.
    """
    document = json.loads(Path(__file__).with_name("replaced.json").read_text(encoding="utf-8"))
    return {kind: frozenset(inputs) for kind, inputs in document["types"].items()}


def is_fixed(resource: RecordedResource, path: tuple[str, ...], earlier: object = "", later: object = "") -> bool:
    """Whether another value of this input is another resource.

    A block that the program adds is as fixed as what it states; one that it takes away stays as the cloud has it.
    """
    kind = canonical(resource.type)
    if kind.startswith("pulumi:") or path[0] in resource.ignore_changes:
        return False
    if _listed(kind, path, FIXED.get(kind, ()), earlier, later):
        return True
    listed = None if kind.startswith("aws:") else replaced().get(kind)
    if kind.startswith("kubernetes:"):
        return ".".join(_plain(path)) in _KUBERNETES or _listed(kind, path, listed or (), earlier, later)
    if listed is not None and kind.startswith("gcp:"):
        return _listed(kind, path, listed, earlier, later)
    if listed is not None and not listed.isdisjoint(path):
        return True
    if len(path) > 1:
        return False
    if path[0] == "name":
        return kind.startswith(NAMED) and not kind.startswith(RENAMED_IN_PLACE)
    return path[0] in EVERYWHERE


def _plain(path: Iterable[str]) -> list[str]:
    return [part for part in path if not part.isdigit()]


def _listed(kind: str, path: tuple[str, ...], listed: Collection[str], earlier: object, later: object) -> bool:
    """Whether a list of paths has this one, what holds it, or what a block states that it now gets."""
    joined = ".".join(_plain(path))
    if any(joined == each or joined.startswith(f"{each}.") for each in listed):
        return True
    if kind.startswith("kubernetes:") or later is None:
        return False
    if f"{joined}[]" in listed:
        return True
    return not earlier and any(".".join((joined, *_plain(inner))) in listed for inner in _stated(later))


def _stated(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of what a block states; false, 0 and nothing are what it has without."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _stated(each, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _stated(each, path)
    elif path and value:
        yield path
