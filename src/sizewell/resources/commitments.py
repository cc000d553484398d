"""What binds an account for a term: it is bought by making the resource, and billed whether or not it is used."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.resources.context import Context, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.values import Flag, get, number, text
from sizewell.sizing.billing.charges import Charge
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.billing.tariff import promised
from sizewell.sizing.money import HOURS_PER_MONTH, Interval

if TYPE_CHECKING:
    from sizewell.resources.recorded import RecordedResource

BLOCK: Final = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"  # paid at once, for days or months
WHOLE: Final = (  # types whose resources are nothing else
    "aws:savingsplans/savingsPlan:SavingsPlan",
    "aws:shield/subscription:Subscription",
    "aws:rds/reservedInstance:ReservedInstance",
    "aws:elasticache/reservedCacheNode:ReservedCacheNode",
    "gcp:compute/regionCommitment:RegionCommitment",
    "azure-native:billingbenefits:SavingsPlanOrderAlias",
    "azure-native:billingbenefits:ReservationOrderAlias",
    "azure-native:capacity:ReservationOrder",
)
WHERE_STATED: Final[Mapping[str, tuple[str, tuple[str | None, ...]]]] = {  # by an input: the values that bind nobody
    "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput": ("commitmentDuration", (None,)),
    "gcp:bigquery/capacityCommitment:CapacityCommitment": ("plan", ("FLEX", "FLEX_FLAT_RATE", "TRIAL", "NONE")),
    "gcp:compute/projectCloudArmorTier:ProjectCloudArmorTier": (
        "cloudArmorTier",
        ("CA_STANDARD", "CA_ENTERPRISE_PAYGO"),
    ),
    "gcp:compute/futureReservation:FutureReservation": ("planningStatus", (None, "DRAFT")),
}


def binds(kind: str, inputs: Mapping[str, object]) -> Flag:
    """Whether a resource of a canonical type binds its account for a term.

    >>> slots = "gcp:bigquery/capacityCommitment:CapacityCommitment"
    >>> binds(slots, {"plan": "ANNUAL"}), binds(slots, {"plan": "FLEX"}), binds("aws:s3/bucket:Bucket", {})
    (True, False, False)
    """
    if kind in WHERE_STATED:
        key, free = WHERE_STATED[kind]
        stated = inputs.get(key)
        return UNKNOWN if isinstance(stated, Unknown) else stated not in free
    return kind in WHOLE


def _hourly(what: str, *path: str) -> Pricer:
    """So many dollars an hour, as the program itself promises."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        usd = number(get(resource.inputs, *path))
        currency = text(get(resource.inputs, *path[:-1], "currencyCode"), "USD") if len(path) > 1 else "USD"
        grain = text(get(resource.inputs, *path[:-1], "grain"), "Hourly") if len(path) > 1 else "Hourly"
        if not isinstance(usd, Decimal) or currency != "USD" or grain != "Hourly":
            return (context.unpriced(resource, what, "the program does not say how many dollars an hour it is"),)
        charge = Charge(
            component=context.graph.component(resource),
            what=f"{what} of {usd.normalize():,f} USD an hour",
            unit="hour",
            quantity=Interval.exactly(amount(HOURS_PER_MONTH)),
            how="for its whole term, used or not",
        )
        return (promised(charge, usd, context.on, resource.urn),)

    return price


def _offering(what: str, *count: str) -> Pricer:
    """So many of an offering, whose price and term only its cloud knows."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        many = number(get(resource.inputs, *count, default=1))
        words = f"{what}, {many:f} of an offering" if isinstance(many, Decimal) else what
        return (context.unpriced(resource, words, "its price is that of the offering, which is not in the program"),)

    return price


AWS: Final[Mapping[str, Pricer]] = {
    "aws:savingsplans/savingsPlan:SavingsPlan": _hourly("savings plan", "commitment"),
    "aws:rds/reservedInstance:ReservedInstance": _offering("reserved database instances", "instanceCount"),
    "aws:elasticache/reservedCacheNode:ReservedCacheNode": _offering("reserved cache nodes", "cacheNodeCount"),
}
AZURE: Final[Mapping[str, Pricer]] = {
    "azure-native:billingbenefits:SavingsPlanOrderAlias": _hourly("savings plan", "commitment", "amount"),
    "azure-native:billingbenefits:ReservationOrderAlias": _offering("reservation", "quantity"),
    "azure-native:capacity:ReservationOrder": _offering("reservation", "quantity"),
}
