"""Resources of the Pulumi provider of Nimbus, as its SDK would have them."""

from typing import Any

import pulumi


class Group(pulumi.CustomResource):
    """Equal machines."""

    pulumi_type = "nimbus:compute/group:Group"
    tags = property(lambda self: pulumi.get(self, "tags"))

    def __init__(self, name: str, /, opts: pulumi.ResourceOptions | None = None, **inputs: Any) -> None:
        super().__init__(self.pulumi_type, name, inputs, opts)


class Bucket(pulumi.CustomResource):
    """Objects with versions."""

    pulumi_type = "nimbus:storage/bucket:Bucket"
    tags = property(lambda self: pulumi.get(self, "tags"))

    def __init__(self, name: str, /, opts: pulumi.ResourceOptions | None = None, **inputs: Any) -> None:
        super().__init__(self.pulumi_type, name, inputs, opts)
