from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, require
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import either, every


def efa_security_group(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """EFA needs all protocols between the machines in both directions: one self rule each way.

    >>> from sizewell.policy.examples import pool, stack
    >>> efa_security_group(stack(pools=(pool(gang=True),)), {})[0][1].fix
    'allow all protocols from and to the security group itself'
    """
    verdicts: list[tuple[str, Verdict]] = []
    own = [o for o in facts.openings if o.cloud == "aws" and o.self_reference is not False]
    for pool in facts.pools:
        if pool.cloud != "aws" or pool.gang is False:
            continue
        if pool.gang is UNKNOWN:
            verdicts.append((pool.urn, Undetermined("the network interfaces")))
            continue
        ways = [
            either(*(o.self_reference for o in own if o.direction == way and o.ports in ("all", UNKNOWN)), False)
            for way in ("ingress", "egress")
        ]
        verdict = require(
            every(*ways),
            message="EFA traffic between the machines is dropped: the job hangs at its first collective",
            fix="allow all protocols from and to the security group itself",
            unknown="the security group's rules",
        )
        verdicts.append((pool.urn, verdict))
    return verdicts


RULE = Rule(
    id="efa-security-group",
    area="correctness",
    subject="stack",
    prevents="jobs that hang while their machines are billed",
    judge=efa_security_group,
    clouds=("aws",),
)
