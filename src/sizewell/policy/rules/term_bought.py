from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get

_TERMS: Final = (
    "aws:savingsplans/savingsPlan:SavingsPlan",
    "aws:shield/subscription:Subscription",
    "aws:rds/reservedInstance:ReservedInstance",
    "aws:elasticache/reservedCacheNode:ReservedCacheNode",
    "gcp:compute/regionCommitment:RegionCommitment",
    "azure-native:billingbenefits:SavingsPlanOrderAlias",
    "azure-native:billingbenefits:ReservationOrderAlias",
    "azure-native:capacity:ReservationOrder",
)
_WHERE_STATED: Final[Mapping[str, tuple[str, tuple[str | None, ...]]]] = {  # by an input: the values that bind nobody
    "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput": ("commitmentDuration", (None,)),
    "gcp:bigquery/capacityCommitment:CapacityCommitment": ("plan", ("FLEX", "FLEX_FLAT_RATE", "TRIAL", "NONE")),
    "gcp:compute/projectCloudArmorTier:ProjectCloudArmorTier": (
        "cloudArmorTier",
        ("CA_STANDARD", "CA_ENTERPRISE_PAYGO"),
    ),
    "gcp:compute/futureReservation:FutureReservation": ("planningStatus", (None, "DRAFT")),
}


def term_bought(thing: Thing, _: Parameters) -> Verdict:
    """A commitment of one or three years is confirmed by a person, not bought by merging a program.

    >>> from sizewell.policy.examples import thing
    >>> term_bought(thing(type="aws:savingsplans/savingsPlan:SavingsPlan"), {}).fix
    'buy it by hand, or confirm it with the tag sizewell-purchase: confirmed'
    """
    said = get(thing.tags, "sizewell-purchase")
    key, free = _WHERE_STATED.get(thing.type, ("", ()))
    stated = thing.inputs.get(key)
    if key and stated in free:
        return None
    if thing.tags is UNKNOWN or said is UNKNOWN or stated is UNKNOWN:
        return Undetermined("whether somebody confirmed the purchase")
    if str(said).lower() == "confirmed":
        return None
    return Violation(
        "`pulumi up` commits the account to pay for a term of years, whether used or not",
        "buy it by hand, or confirm it with the tag sizewell-purchase: confirmed",
    )


RULE = Rule(
    id="term-bought",
    area="spend",
    subject="things",
    prevents="multi-year commitments bought by a merge",
    judge=term_bought,
    types=(*_TERMS, *_WHERE_STATED),
)
