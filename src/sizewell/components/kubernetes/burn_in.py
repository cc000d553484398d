"""Trying out machines, or a served model, on a Kubernetes cluster of any origin."""

import pulumi

from sizewell.components.kubernetes import launched
from sizewell.components.kubernetes.run_args import BurnInArgs
from sizewell.components.owned import Owned
from sizewell.launch.manifests import trials


class BurnIn(Owned):
    """An all-reduce over all links of the machines and reads of their volumes, or a load on the served model.

    It fails where one is slow.
    """

    objects: pulumi.Output[list[str]]
    """Objects created in the cluster, as Kind/name."""

    def __init__(self, name: str, args: BurnInArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        kind = "inference" if args.get("served") else "training"
        planned = launched.planned("BurnIn", name, args, shape=BurnInArgs, kind=kind, manifests=trials)
        super().__init__(name, args, opts, kind="run", workloadKind=kind)
        self.objects = launched.make(self, name, args, planned)
        self.register()
