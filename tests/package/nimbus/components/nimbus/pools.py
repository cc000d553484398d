"""Machines of Nimbus, and where their checkpoints are kept."""

from typing import Any, NotRequired

import pulumi
from sizewell.components.nimbus.types import Bucket, Group

from sizewell.components.facts import of_capacity, of_sizes
from sizewell.components.owned import GuardArgs, Owned, OwnedArgs, kept


class PoolArgs(OwnedArgs):
    """Arguments of `NimbusPool`."""

    region: str
    """Region of Nimbus."""
    machine_type: str
    """What its machines are."""
    accelerators: int
    """Per machine."""
    capacity_mode: str
    """on-demand or spot."""
    nodes_min: int
    """Fewest machines."""
    nodes_initial: int
    """Machines at first."""
    nodes_max: int
    """Most machines."""
    guard: NotRequired[GuardArgs]
    """When the pool counts as idle."""


class StoreArgs(OwnedArgs):
    """Arguments of `CheckpointStore`."""

    region: str
    """Region of Nimbus."""
    bucket: str
    """Name of the bucket."""


class NimbusPool(Owned):
    """A group of machines whose guard is its own."""

    group: pulumi.Output[Any]
    """Name of the group."""

    def __init__(self, name: str, args: PoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_capacity(args["capacity_mode"]),
            **of_sizes(args["nodes_min"], args["nodes_initial"], args["nodes_max"]),
            instanceType=args["machine_type"],
            acceleratorsPerNode=args["accelerators"],
            sizedBy="nimbus-group",
        )
        made = self.make(
            Group,
            f"{name}-nodes",
            machineType=args["machine_type"],
            region=args["region"],
            market="spot" if args["capacity_mode"] == "spot" else "on-demand",
            sizes={"least": args["nodes_min"], "wanted": args["nodes_initial"], "most": args["nodes_max"]},
            guard=args.get("guard"),
        )
        self.group = made.urn
        self.register()


class CheckpointStore(Owned):
    """A bucket with versions that outlives its cluster."""

    bucket: pulumi.Output[Any]
    """Name of the bucket."""

    def __init__(self, name: str, args: StoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, args, opts, kind="checkpoints")
        made = self.make(Bucket, name, bucket=args["bucket"], region=args["region"], versions=True, opts=kept())
        self.bucket = made.urn
        self.register()
