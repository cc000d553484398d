"""A Filestore file system as a volume of a GKE cluster."""

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.gcp.services import plans as service_plans
from sizewell.components.gcp.services.args import FilesVolumeArgs
from sizewell.components.gcp.services.checks import check_volume
from sizewell.components.gcp.storage.shared import SHARE
from sizewell.components.owned import Owned


class FilesVolume(Owned):
    """A claim that pods mount, bound to a file system that stands already; machines mount it over NFS.

    Volume and data stay when the claim goes. Root of a machine is nobody there, and the top folder is root's: who may
    write below it is said once, by a machine among the file system's `admins`.
    """

    claim_name: pulumi.Output[str]
    """Name of the claim."""
    volume_name: pulumi.Output[str]
    """Name of the volume."""

    def __init__(self, name: str, args: FilesVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_volume(name, args)
        super().__init__(name, args, opts, kind="cluster")
        config = pulumi.Output.secret(args["kubeconfig"])
        provider = self.make(kubernetes.Provider, f"{name}-cluster", kubeconfig=config)
        capacity, physical = {"storage": f"{args['capacity_gib']}Gi"}, self.physical(name, 63)
        modes = ["ReadOnlyMany" if args.get("read_only") else "ReadWriteMany"]
        volume = self.make(
            kubernetes.core.v1.PersistentVolume,
            f"{name}-volume",
            metadata={"name": physical, "labels": self.tags_of(kubernetes.core.v1.PersistentVolume, f"{name}-volume")},
            spec={
                "capacity": capacity,
                "volume_mode": "Filesystem",
                "access_modes": modes,
                "persistent_volume_reclaim_policy": "Retain",
                "storage_class_name": "",
                "mount_options": service_plans.mount_options(args["capacity_gib"]),
                "nfs": {"server": args["address"], "path": f"/{SHARE}", "read_only": args.get("read_only", False)},
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
