"""A file system of Azure Managed Lustre as a volume of an AKS cluster."""

import pulumi

from sizewell.components.azure.aks.args import LustreVolumeArgs
from sizewell.components.azure.aks.charts import LUSTRE_DRIVER
from sizewell.components.azure.aks.checks import check_volume
from sizewell.components.kubernetes.inside import claimed
from sizewell.components.owned import Owned


class LustreVolume(Owned):
    """A claim that pods mount, bound to an existing file system, by the driver that `AksOperators` installs.

    Volume and data are kept when the claim is deleted.
    """

    claim_name: pulumi.Output[str]
    """Name of the claim."""
    volume_name: pulumi.Output[str]
    """Name of the volume."""

    def __init__(self, name: str, args: LustreVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_volume(name, args)
        super().__init__(name, args, opts, kind="cluster")
        csi = {
            "driver": LUSTRE_DRIVER,
            "volume_handle": self.physical(name, 63),
            "volume_attributes": {"mgs-ip-address": args["address"]},
        }
        claim, volume = claimed(self, name, args, source={"csi": csi}, mount_options=["noatime", "flock"])
        self.claim_name = claim.metadata["name"]
        self.volume_name = volume.metadata["name"]
        self.register()
