"""What a machine type probably costs where it is sold and nobody has its price: for choosing, never for a bill.

Every region with a price is a witness: its price times what the region asked about costs compared with it, by the other
machine types that are priced in both. The estimate is the median of the witnesses, its spread their range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from statistics import median
from typing import Final

from sizewell.sizing.catalog.records import Grade

TYPES_ENOUGH: Final = 3  # priced in both regions, for their ratio to be the regions' and not one type's
WITNESSES_ENOUGH: Final = 3  # regions; with fewer of both the grade is "estimate"
_STEP: Final = Decimal("0.0001")

Listed = Mapping[str, Mapping[str, Decimal]]
"""On-demand US dollars per machine-hour by machine type and region."""
Ratios = dict[tuple[str, str], tuple[int, Decimal]]
"""By region and sister: how many types are priced in both, and what the region costs compared with its sister."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """US dollars per machine-hour, expected and as a range; `grade` is "low" or "estimate" (weaker still)."""

    usd_per_hour: Decimal
    low: Decimal
    high: Decimal
    witnesses: tuple[str, ...]  # regions
    types: int  # priced in the region and in a witness, at the most
    grade: Grade

    def __str__(self) -> str:
        """As it stands beside the "?" of a bill.

        >>> usd = Decimal("1.3")
        >>> str(Estimate(usd_per_hour=usd, low=usd, high=usd, witnesses=("us-east-1",), types=0, grade="estimate"))
        'about 1.3 USD an hour by us-east-1 alone (grade: estimate)'
        """
        spread = f", {self.low:f} to {self.high:f}" if self.low != self.high else ""
        many = len(self.witnesses)
        by = f"{many} sister regions" if many > 1 else f"{self.witnesses[0]} alone"
        return f"about {self.usd_per_hour:f} USD an hour{spread} by {by} (grade: {self.grade})"


def estimate(instance_type: str, region: str, listed: Listed, known: Ratios | None = None) -> Estimate | None:
    """The on-demand price of a type in a region by its sisters; None where no region has its price.

    `known` keeps how regions compare for the next type asked about, which must be one of the same prices.
    """
    own = listed.get(instance_type, {})
    if known is None or region in own:  # the type's own price says nothing about it, so the ratio is its alone
        known = {}
    by_sister: dict[str, Decimal] = {}
    most = 0
    for sister, usd in sorted(own.items()):
        if sister == region:
            continue
        if (region, sister) not in known:
            known[region, sister] = _ratio(instance_type, region, sister, listed)
        types, ratio = known[region, sister]
        most = max(most, types)
        by_sister[sister] = (usd * ratio).quantize(_STEP, rounding=ROUND_HALF_EVEN)
    if not by_sister:
        return None
    strong = most >= TYPES_ENOUGH or len(by_sister) >= WITNESSES_ENOUGH
    return Estimate(
        usd_per_hour=median(by_sister.values()).quantize(_STEP, rounding=ROUND_HALF_EVEN),
        low=min(by_sister.values()),
        high=max(by_sister.values()),
        witnesses=tuple(by_sister),
        types=most,
        grade="low" if strong else "estimate",
    )


def _ratio(but: str, region: str, sister: str, listed: Listed) -> tuple[int, Decimal]:
    """How many types but one are priced in both regions, and the median of what the first costs by the second."""
    ratios = [
        prices[region] / prices[sister]
        for name, prices in listed.items()
        if name != but and region in prices and sister in prices
    ]
    return len(ratios), median(ratios) if ratios else Decimal(1)
