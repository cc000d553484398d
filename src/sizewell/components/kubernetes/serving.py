"""A served model on a Kubernetes cluster of any origin."""

import pulumi

from sizewell.components.kubernetes import launched
from sizewell.components.kubernetes.run_args import ServedModelArgs
from sizewell.components.owned import Owned
from sizewell.launch.manifests import manifests


class ServedModel(Owned):
    """Replicas that serve requests inside the cluster, each on a part of a machine, on one, or on several.

    Their number follows the requests in flight; it is zero only if something scales them up again.
    """

    objects: pulumi.Output[list[str]]
    """Objects created in the cluster, as Kind/name."""

    def __init__(self, name: str, args: ServedModelArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        planned = launched.planned(
            "ServedModel", name, args, shape=ServedModelArgs, kind="inference", manifests=manifests
        )
        super().__init__(name, args, opts, kind="run", workloadKind="inference")
        self.objects = launched.make(self, name, args, planned)
        self.register()
