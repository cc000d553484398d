"""Machines that already exist, in an adopted cluster: nothing of them is made, their hours are priced."""

import pulumi

from sizewell.components.facts import of_pool
from sizewell.components.kubernetes.args import AdoptedPoolArgs
from sizewell.components.kubernetes.checks import check_adopted_pool
from sizewell.components.machines import checked_shape
from sizewell.components.owned import Owned


class AdoptedPool(Owned):
    """The machines of an adopted cluster that a workload was sized for, as a record: a type of the project's own
    catalog, at the project's own rate.

    A preview has a line for their hours, next to what the stack creates in a cloud. No guard stops them.
    """

    instance_type: pulumi.Output[str]
    """Type of the machines."""

    def __init__(self, name: str, args: AdoptedPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_adopted_pool, name, args, cloud=args.get("place", ""), machine="instance_type")
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **{**of_pool(shape, args), "market": args["market"], "cloud": args["place"]},
        )
        self.instance_type = pulumi.Output.from_input(args["instance_type"])
        self.register()
