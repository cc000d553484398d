"""A file system of FSx as a volume of an EKS cluster."""

import pulumi

from sizewell.components.aws.eks.args import LustreVolumeArgs
from sizewell.components.aws.eks.checks import check_volume
from sizewell.components.kubernetes.inside import claimed
from sizewell.components.owned import Owned


class LustreVolume(Owned):
    """A claim that pods mount, bound to an existing file system.

    Volume and data are kept when the claim is deleted. What `data_location` of the file system names appears below
    /data.
    """

    claim_name: pulumi.Output[str]
    """Name of the claim."""
    volume_name: pulumi.Output[str]
    """Name of the volume."""

    def __init__(self, name: str, args: LustreVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_volume(name, args)
        super().__init__(name, args, opts, kind="cluster")
        csi = {
            "driver": "fsx.csi.aws.com",
            "volume_handle": args["file_system_id"],
            "volume_attributes": {"dnsname": args["dns_name"], "mountname": args["mount_name"]},
        }
        claim, volume = claimed(self, name, args, source={"csi": csi}, mount_options=["noatime", "flock"])
        self.claim_name = claim.metadata["name"]
        self.volume_name = volume.metadata["name"]
        self.register()
