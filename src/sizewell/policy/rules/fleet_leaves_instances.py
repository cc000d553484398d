from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import every, flag

_FLEET: Final = "aws:ec2/fleet:Fleet"
_REQUEST: Final = "aws:ec2/spotFleetRequest:SpotFleetRequest"


def fleet_leaves_instances(thing: Thing, _: Parameters) -> Verdict:
    """A fleet terminates its machines when it is deleted or expires.

    >>> from sizewell.policy.examples import thing
    >>> fleet_leaves_instances(thing(type="aws:ec2/fleet:Fleet"), {}).message
    'deleting the fleet leaves its machines running, billing and unmanaged'
    >>> gone = {"terminateInstances": True, "terminateInstancesWithExpiration": True}
    >>> fleet_leaves_instances(thing(type="aws:ec2/fleet:Fleet", inputs=gone), {}) is None
    True
    """
    inputs = thing.inputs
    if thing.type == _FLEET:
        wanted = ("terminateInstances", "terminateInstancesWithExpiration")
    else:
        wanted = ("terminateInstancesOnDelete", "terminateInstancesWithExpiration")
    return require(
        every(*(flag(inputs.get(name)) for name in wanted)),
        message="deleting the fleet leaves its machines running, billing and unmanaged",
        fix=f"set {wanted[0]} and {wanted[1]} to true",
        unknown="what the fleet does with its machines",
    )


RULE = Rule(
    id="fleet-leaves-instances",
    area="spend",
    subject="things",
    prevents="machines that outlive their fleet",
    judge=fleet_leaves_instances,
    clouds=("aws",),
    types=(_FLEET, _REQUEST),
)
