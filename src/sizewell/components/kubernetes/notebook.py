"""A notebook on a Kubernetes cluster of any origin."""

import pulumi

from sizewell.components.kubernetes import launched
from sizewell.components.kubernetes.run_args import NotebookServerArgs
from sizewell.components.owned import Owned
from sizewell.launch import files, notebook


class NotebookServer(Owned):
    """JupyterLab that listens on loopback only, culls idle kernels, and scales itself to zero when it is not used."""

    objects: pulumi.Output[list[str]]
    """Objects created in the cluster, as Kind/name."""

    def __init__(self, name: str, args: NotebookServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        planned = launched.planned(
            "NotebookServer",
            name,
            args,
            shape=NotebookServerArgs,
            kind="notebook",
            manifests=lambda of: notebook.manifests(
                of, {notebook.SCRIPT: files.script(notebook.SCRIPT)}, disk_gib=args.get("disk_gib", 50)
            ),
        )
        super().__init__(name, args, opts, kind="run", workloadKind="notebook")
        self.objects = launched.make(self, name, args, planned)
        self.register()
