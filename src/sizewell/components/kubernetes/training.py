"""Training runs and batches on a Kubernetes cluster of any origin."""

import pulumi

from sizewell.components.kubernetes import launched
from sizewell.components.kubernetes.run_args import BatchRunArgs, TrainingRunArgs
from sizewell.components.owned import Owned
from sizewell.launch.manifests import manifests


class TrainingRun(Owned):
    """A run on one or several machines that restarts from its newest checkpoint.

    All machines start together, fail together and start again together; a reclaimed machine does not count as failure.
    """

    objects: pulumi.Output[list[str]]
    """Objects created in the cluster, as Kind/name."""

    def __init__(self, name: str, args: TrainingRunArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        planned = launched.planned(
            "TrainingRun", name, args, shape=TrainingRunArgs, kind="training", manifests=manifests
        )
        super().__init__(name, args, opts, kind="run", workloadKind="training")
        self.objects = launched.make(self, name, args, planned)
        self.register()


class BatchRun(Owned):
    """Offline inference over records, in parts whose results are each written once."""

    objects: pulumi.Output[list[str]]
    """Objects created in the cluster, as Kind/name."""

    def __init__(self, name: str, args: BatchRunArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        planned = launched.planned(
            "BatchRun", name, args, shape=BatchRunArgs, kind="batch-inference", manifests=manifests
        )
        super().__init__(name, args, opts, kind="run", workloadKind="batch-inference")
        self.objects = launched.make(self, name, args, planned)
        self.register()
