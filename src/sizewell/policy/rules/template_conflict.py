from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get

_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_GROUP: Final = "aws:autoscaling/group:Group"


def template_conflict(pool: Pool, _: Parameters) -> Verdict:
    """A launch template does not repeat settings of its group: EKS, fleets and mixed groups refuse both.

    >>> from sizewell.policy.examples import pool
    >>> twice = {"type": "aws:eks/nodeGroup:NodeGroup", "inputs": {"instanceTypes": ["g6.xlarge"]}}
    >>> template_conflict(pool(machine={"instanceType": "g6.xlarge"}, template_kind="g6.xlarge", **twice), {}).fix
    'remove instanceType from the launch template'
    """
    if not pool.machine and pool.machine is not UNKNOWN:
        return None
    machine, inputs = pool.machine, pool.inputs
    market = get(machine, "instanceMarketOptions", "marketType")
    wrong: list[tuple[str, str, str]] = []
    if pool.type == _NODE_GROUP:
        said = (pool.template_kind, market, get(machine, "iamInstanceProfile"), pool.start_script)
        if UNKNOWN in (machine, *said) or inputs.get("instanceTypes") is UNKNOWN:
            return Undetermined("the launch template")
        script = "" if isinstance(pool.start_script, Unknown) else pool.start_script
        own_image = get(machine, "imageId") is not None or str(inputs.get("amiType", "AL2")).startswith("BOTTLEROCKET")
        wrong = [
            ("instanceType", "the machine type", "instanceType")
            if pool.template_kind and inputs.get("instanceTypes")
            else ("", "", ""),
            ("instanceMarketOptions", "the market", "instanceMarketOptions") if market == "spot" else ("", "", ""),
            ("iamInstanceProfile", "the role", "iamInstanceProfile") if said[2] is not None else ("", "", ""),
            ("userData", "a start script that is not a MIME document", "userData")
            if script and "mime-version" not in script.lower() and not own_image
            else ("", "", ""),
        ]
    elif pool.type != _GROUP or inputs.get("mixedInstancesPolicy") is not None:
        if machine is UNKNOWN or market is UNKNOWN:
            return Undetermined("the launch template")
        wrong = [("instanceMarketOptions", "the market", "instanceMarketOptions")] if market == "spot" else []
    for key, what, prop in wrong:
        if key:
            message = f"the launch template names {what}, which belongs in its group: the group is rejected"
            return Violation(message, f"remove {prop} from the launch template")
    return None


RULE = Rule(
    id="template-conflict",
    area="correctness",
    subject="pools",
    prevents="groups that are rejected after their cluster has been built",
    judge=template_conflict,
    clouds=("aws",),
    types=(_NODE_GROUP, _GROUP, "aws:ec2/fleet:Fleet"),
)
