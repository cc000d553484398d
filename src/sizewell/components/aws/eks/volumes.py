"""A file system of FSx as a volume of an EKS cluster."""

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.aws.eks.args import LustreVolumeArgs
from sizewell.components.aws.eks.checks import check_volume
from sizewell.components.owned import Owned


class LustreVolume(Owned):
    """A claim that pods mount, bound to a file system that stands already.

    Volume and data stay when the claim goes. What `data_location` of the file system names appears below /data.
    """

    claim_name: pulumi.Output[str]
    """Name of the claim."""
    volume_name: pulumi.Output[str]
    """Name of the volume."""

    def __init__(self, name: str, args: LustreVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_volume(name, args)
        super().__init__(name, args, opts, kind="cluster")
        provider = self.make(kubernetes.Provider, f"{name}-cluster", kubeconfig=args["kubeconfig"])
        labels = self.tags_of(kubernetes.core.v1.PersistentVolume, f"{name}-volume")
        capacity, physical = {"storage": f"{args['capacity_gib']}Gi"}, self.physical(name, 63)
        modes = ["ReadOnlyMany" if args.get("read_only") else "ReadWriteMany"]
        volume = self.make(
            kubernetes.core.v1.PersistentVolume,
            f"{name}-volume",
            metadata={"name": physical, "labels": labels},
            spec={
                "capacity": capacity,
                "volume_mode": "Filesystem",
                "access_modes": modes,
                "persistent_volume_reclaim_policy": "Retain",
                "storage_class_name": "",
                "mount_options": ["noatime", "flock"],
                "csi": {
                    "driver": "fsx.csi.aws.com",
                    "volume_handle": args["file_system_id"],
                    "volume_attributes": {"dnsname": args["dns_name"], "mountname": args["mount_name"]},
                },
            },
            opts=pulumi.ResourceOptions(provider=provider),
        )
        claim = self.make(
            kubernetes.core.v1.PersistentVolumeClaim,
            f"{name}-claim",
            metadata={
                "name": args.get("claim", "data"),
                "namespace": args.get("namespace", "default"),
                "labels": self.tags_of(kubernetes.core.v1.PersistentVolumeClaim, f"{name}-claim"),
            },
            spec={
                "access_modes": modes,
                "storage_class_name": "",
                "volume_name": volume.metadata["name"],
                "resources": {"requests": capacity},
            },
            opts=pulumi.ResourceOptions(provider=provider),
        )
        self.claim_name = claim.metadata["name"]
        self.volume_name = volume.metadata["name"]
        self.register_outputs({"claimName": self.claim_name, "volumeName": self.volume_name})
