"""The components of a cloud as a Pulumi package for programs in any language.

`pulumi-resource-sizewell-aws` and its sisters are this module's `main`: with them on PATH, `pulumi package add
sizewell-aws` makes the SDK of a program's language from the schema that Pulumi infers of the components' arguments.
"""

import importlib.metadata
import sys
from pathlib import Path
from typing import Any

from pulumi import Inputs, ResourceOptions
from pulumi.provider import ConstructResult
from pulumi.provider import main as serve
from pulumi.provider.experimental.component import ComponentProvider

from sizewell.components.inventory import component_classes

PREFIX = "pulumi-resource-"


class Host(ComponentProvider):
    """Pulumi's own host, with whole numbers whole: on the wire every number is a float."""

    def construct(
        self, name: str, resource_type: str, inputs: Inputs, options: ResourceOptions | None = None
    ) -> ConstructResult:
        return super().construct(name, resource_type, whole(inputs), options)


def whole(value: object) -> Any:
    """`value` with integers for floats that are.

    >>> whole({"nodes_max": 4.0, "guard": {"min_utilization_percent": 2.5}, "sizes": [1.0]})
    {'nodes_max': 4, 'guard': {'min_utilization_percent': 2.5}, 'sizes': [1]}
    """
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def host(cloud: str) -> Host:
    """What answers for a cloud's components."""
    return Host(list(component_classes(cloud)), f"sizewell-{cloud}", version=importlib.metadata.version("sizewell"))


def main() -> None:
    """Serve the package that the command is named after."""
    serve(host(Path(sys.argv[0]).stem.removeprefix(f"{PREFIX}sizewell-")), sys.argv[1:])
