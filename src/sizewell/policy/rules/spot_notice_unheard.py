from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, require
from sizewell.resources.readers.common import any_contains
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import Flag, either


def spot_notice_unheard(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Spot interruption notices are received: two minutes are enough to save a checkpoint.

    >>> from sizewell.policy.examples import pool, stack
    >>> fleet = pool(type="aws:ec2/fleet:Fleet", accelerator="l4", market="spot")
    >>> spot_notice_unheard(stack(pools=(fleet,)), {})[0][1].fix
    'send EC2 Spot Instance Interruption Warning events to a queue or function'
    """
    spot = [
        pool
        for pool in facts.pools
        if pool.type in {"aws:ec2/fleet:Fleet", "aws:ec2/spotFleetRequest:SpotFleetRequest"}
        and pool.accelerated is not False
        and pool.market in ("spot", "mixed", UNKNOWN)
    ]
    heard: Flag = False
    for event in facts.graph.of("aws:cloudwatch/eventRule:EventRule") if spot else ():
        pattern = event.inputs.get("eventPattern")
        if event.inputs.get("state") == "DISABLED":
            continue
        heard = either(heard, UNKNOWN if pattern is UNKNOWN else any_contains(pattern, ("spot instance interruption",)))
    return [
        (
            pool.urn,
            require(
                heard,
                message="interruption notices are not handled: the work since the last checkpoint is lost",
                fix="send EC2 Spot Instance Interruption Warning events to a queue or function",
                unknown="which events are handled",
            ),
        )
        for pool in spot
    ]


RULE = Rule(
    id="spot-notice-unheard",
    area="correctness",
    subject="stack",
    prevents="work lost despite the interruption notice",
    judge=spot_notice_unheard,
    level="advisory",
    clouds=("aws",),
)
