from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import count

_RETENTION: Final = {
    "aws:cloudwatch/logGroup:LogGroup": "retentionInDays",
    "azure-native:operationalinsights:Workspace": "retentionInDays",
}


def log_retention_unbounded(thing: Thing, _: Parameters) -> Verdict:
    """Logs have a retention period: kept for ever, they cost more every month.

    >>> from sizewell.policy.examples import thing
    >>> log_retention_unbounded(thing(type="aws:cloudwatch/logGroup:LogGroup"), {}).fix
    'set retentionInDays'
    """
    days = count(thing.inputs.get(_RETENTION[thing.type]))
    return require(
        UNKNOWN if isinstance(days, Unknown) else bool(days),
        message="the logs have no retention period and are billed indefinitely",
        fix=f"set {_RETENTION[thing.type]}",
        unknown="the retention",
    )


RULE = Rule(
    id="log-retention-unbounded",
    area="spend",
    subject="things",
    prevents="log storage that only grows",
    judge=log_retention_unbounded,
    level="advisory",
    types=tuple(_RETENTION),
    clouds=("aws", "azure"),
)
