from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import flag


def subnet_public_addresses(thing: Thing, _: Parameters) -> Verdict:
    """A subnet does not assign public addresses automatically.

    >>> from sizewell.policy.examples import thing
    >>> subnet_public_addresses(thing(inputs={"mapPublicIpOnLaunch": True}), {}).fix
    'set mapPublicIpOnLaunch to false'
    """
    return forbid(
        flag(thing.inputs.get("mapPublicIpOnLaunch")),
        message="every machine in the subnet gets a public address, which is exposed and billed by the hour",
        fix="set mapPublicIpOnLaunch to false",
        unknown="the subnet's addresses",
    )


RULE = Rule(
    id="subnet-public-addresses",
    area="safety",
    subject="things",
    prevents="machines reachable from the internet",
    judge=subnet_public_addresses,
    clouds=("aws",),
    types=("aws:ec2/subnet:Subnet",),
)
