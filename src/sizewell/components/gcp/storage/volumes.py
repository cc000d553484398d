"""A Filestore file system as a volume of a GKE cluster."""

import pulumi

from sizewell.components.gcp.storage.args import FilesVolumeArgs, check_volume, mount_options
from sizewell.components.gcp.storage.shared import SHARE
from sizewell.components.kubernetes.inside import claimed
from sizewell.components.owned import Owned


class FilesVolume(Owned):
    """A claim that pods mount, bound to an existing file system; machines mount it over NFS.

    Volume and data are kept when the claim is deleted. Root of a client has no rights there, and the top folder belongs
    to root: a machine among the file system's `admins` sets once who may write below it.
    """

    claim_name: pulumi.Output[str]
    """Name of the claim."""
    volume_name: pulumi.Output[str]
    """Name of the volume."""

    def __init__(self, name: str, args: FilesVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_volume(name, args)
        super().__init__(name, args, opts, kind="cluster")
        nfs = {"server": args["address"], "path": f"/{SHARE}", "read_only": args.get("read_only", False)}
        options = mount_options(args["capacity_gib"])
        claim, volume = claimed(self, name, args, source={"nfs": nfs}, mount_options=options)
        self.claim_name = claim.metadata["name"]
        self.volume_name = volume.metadata["name"]
        self.register()
