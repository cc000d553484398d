from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import count, get


def instance_metadata(pool: Pool, parameters: Parameters) -> Verdict:
    """Instance metadata requires a token and is not reachable from containers: it gives out the machine's rights.

    >>> from sizewell.policy.examples import pool
    >>> instance_metadata(pool(machine={}), {"hops": 1}).fix
    'set metadataOptions.httpTokens to required'
    >>> safe = {"metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1}}
    >>> instance_metadata(pool(machine=safe), {"hops": 1}) is None
    True
    """
    if pool.machine is None or (pool.type == "aws:eks/nodeGroup:NodeGroup" and pool.machine == {}):
        return None
    options = get(pool.machine, "metadataOptions")
    tokens = get(options, "httpTokens")
    hops = count(get(options, "httpPutResponseHopLimit", default=1))
    if get(options, "httpEndpoint") == "disabled":
        return None
    if tokens is UNKNOWN or isinstance(hops, Unknown):
        return Undetermined("the metadata options")
    if tokens != "required":
        return Violation(
            "IMDSv2 is not required: a forged request can read the machine's credentials from the metadata service",
            "set metadataOptions.httpTokens to required",
        )
    if (hops or 1) > parameters["hops"]:
        return Violation(
            f"containers can read the machine's credentials: the hop limit is {hops}",
            f"set metadataOptions.httpPutResponseHopLimit to {parameters['hops']}",
        )
    return None


RULE = Rule(
    id="instance-metadata",
    area="safety",
    subject="pools",
    prevents="stolen machine credentials",
    judge=instance_metadata,
    clouds=("aws",),
    types=(
        "aws:autoscaling/group:Group",
        "aws:ec2/instance:Instance",
        "aws:ec2/fleet:Fleet",
        "aws:ec2/spotFleetRequest:SpotFleetRequest",
        "aws:eks/nodeGroup:NodeGroup",
    ),
    parameters={
        "hops": Parameter(default=1, schema={"type": "integer", "minimum": 1}, meaning="largest hop limit; 2 for pods")
    },
)
