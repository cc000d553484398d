"""What components that make something inside a cluster begin with, and a file system as a volume of it."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.forms import InsideArgs, VolumeArgs
from sizewell.components.owned import Owned


def provider_of(owner: Owned, name: str, args: InsideArgs, *, called: str = "cluster") -> kubernetes.Provider:
    """The component's own provider of the cluster; its kubeconfig is a secret of the state."""
    config = pulumi.Output.secret(args["kubeconfig"])
    return owner.make(kubernetes.Provider, f"{name}-{called}", kubeconfig=config)


def claimed(
    owner: Owned, name: str, args: VolumeArgs, *, source: Mapping[str, object], mount_options: Sequence[str]
) -> tuple[kubernetes.core.v1.PersistentVolumeClaim, kubernetes.core.v1.PersistentVolume]:
    """A claim that is bound to a volume of what stands already, `source`; the volume stays when the claim goes."""
    options = pulumi.ResourceOptions(provider=provider_of(owner, name, args))
    capacity = {"storage": f"{args['capacity_gib']}Gi"}
    modes = ["ReadOnlyMany" if args.get("read_only") else "ReadWriteMany"]
    volume = owner.make(
        kubernetes.core.v1.PersistentVolume,
        f"{name}-volume",
        metadata={
            "name": owner.physical(name, 63),
            "labels": owner.tags_of(kubernetes.core.v1.PersistentVolume, f"{name}-volume"),
        },
        spec={
            "capacity": capacity,
            "volume_mode": "Filesystem",
            "access_modes": modes,
            "persistent_volume_reclaim_policy": "Retain",
            "storage_class_name": "",
            "mount_options": list(mount_options),
            **source,
        },
        opts=options,
    )
    claim = owner.make(
        kubernetes.core.v1.PersistentVolumeClaim,
        f"{name}-claim",
        metadata={
            "name": args.get("claim", "data"),
            "namespace": args.get("namespace", "default"),
            "labels": owner.tags_of(kubernetes.core.v1.PersistentVolumeClaim, f"{name}-claim"),
        },
        spec={
            "access_modes": modes,
            "storage_class_name": "",
            "volume_name": volume.metadata["name"],
            "resources": {"requests": capacity},
        },
        opts=options,
    )
    return claim, volume
