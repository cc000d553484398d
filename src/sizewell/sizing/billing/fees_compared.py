"""What disks, buckets and clusters cost when options are compared, also where a region's price is not known.

A fee that is unknown in a region is stood in for by twice the dearest that is known elsewhere in the cloud: never free,
and dear enough that a known price wins between equals. Only the comparison uses it; the line item stays unpriced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from sizewell.sizing.billing.standing import Footing, parts
from sizewell.sizing.catalog.catalog import TO_ANOTHER_REGION
from sizewell.sizing.money import Priced

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Fee

STAND_IN: Final = 2.0


@dataclass(frozen=True, slots=True)
class ComparedFee:
    """US dollars per unit; `known` is False where it stands in for a region's price, None where nobody knows any."""

    usd: float
    known: bool | None


@dataclass(frozen=True, slots=True)
class ComparedFees:
    """The fees of one catalog on one day, each looked up once."""

    catalog: Catalog
    on: date
    memo: dict[tuple[str, str, str], ComparedFee] = field(default_factory=dict)
    standings: dict[Footing, ComparedFee] = field(default_factory=dict)
    beside: dict[tuple[object, ...], tuple[float, ...] | None] = field(default_factory=dict)  # what is billed somewhere

    @staticmethod
    def of(catalog: Catalog, on: date) -> ComparedFees:
        """Those of a catalog on a day: many specs are compared by the same."""
        compared = catalog.memo.get(("compared", on))
        if compared is None:
            compared = catalog.memo["compared", on] = ComparedFees(catalog, on)
        return compared

    def fee(self, cloud: str, key: str, region: str) -> ComparedFee:
        """A fee of the catalog by its key."""
        compared = self.memo.get((cloud, key, region))
        if compared is None:
            price = self.catalog.fee(cloud, key, region, self.on)
            if isinstance(price, Priced):
                compared = ComparedFee(float(price.amount), known=True)
            else:
                compared = _stand_in(
                    [float(self.catalog.own_usd(fee, fee.region)) for fee in self.catalog.fees_of(cloud, key)]
                )
            self.memo[cloud, key, region] = compared
        return compared

    def machine(self, cloud: str, instance_type: str, region: str) -> ComparedFee:
        """A machine-hour of a small machine on demand."""
        compared = self.memo.get((cloud, instance_type, region))
        if compared is None:
            price = self.catalog.price(cloud, instance_type, region, "on-demand", self.on)
            if isinstance(price, Priced):
                compared = ComparedFee(float(price.amount), known=True)
            else:
                offers = self.catalog.offers(cloud, instance_type, market="on-demand", on=self.on)
                compared = _stand_in([float(offer.usd_per_hour) for offer in offers])
            self.memo[cloud, instance_type, region] = compared
        return compared

    def standing(self, footing: Footing) -> ComparedFee:
        """What a stack with one workload bills beside its machines, per month."""
        compared = self.standings.get(footing)
        if compared is None:
            usd, known = 0.0, True
            for part in parts((footing,)):
                if part.machine:
                    fee = self.machine(footing.cloud, part.machine, footing.region)
                else:
                    fee = self.fee(footing.cloud, part.fee, footing.region)
                usd += fee.usd * float(part.quantity.expected)
                known = known and fee.known is True
            compared = ComparedFee(usd, known=known)
            self.standings[footing] = compared
        return compared

    def leaving(self, cloud: str, region: str, gigabytes: float, *, to: str) -> ComparedFee:
        """So much data into the region `to` of a cloud, or with "" out of it; without a price, by another region's."""
        tiers = self.leaving_tiers(cloud, region, to=to)
        bounds = [float(tier.from_quantity) for tier in tiers[1:]] + [float("inf")]
        usd = sum(
            float(tier.usd) * max(0.0, min(gigabytes, until) - float(tier.from_quantity))
            for tier, until in zip(tiers, bounds if tiers else (), strict=True)
        )
        return ComparedFee(usd, known=bool(tiers))

    def leaving_tiers(self, cloud: str, region: str, *, to: str) -> Sequence[Fee]:
        """The tiers of that price, by the gigabytes of a month from which each counts."""
        key = TO_ANOTHER_REGION if to else "egress.internet"
        if to and self.catalog.fee_tiers(cloud, f"{key}.{to}", region, self.on):
            key = f"{key}.{to}"
        tiers = self.catalog.fee_tiers(cloud, key, region, self.on)
        places = sorted({fee.region for fee in self.catalog.fees if (fee.cloud, fee.key) == (cloud, key)})
        if not tiers and places:
            tiers = self.catalog.fee_tiers(cloud, key, places[0], self.on)
        return tiers

    def cheapest(self, cloud: str, key: str) -> float:
        """A lower bound of a fee over all regions; 0 where no price is known."""
        return min(
            (float(self.catalog.own_usd(fee, fee.region)) for fee in self.catalog.fees_of(cloud, key)), default=0.0
        )


def _stand_in(elsewhere: list[float]) -> ComparedFee:
    # The dearest, not the usual: an option must never win by a price that nobody knows. It stays out of the bill, whose
    # line has no price: `Option.rank_usd` may have it, `usd_per_month` may not.
    return ComparedFee(STAND_IN * max(elsewhere), known=False) if elsewhere else ComparedFee(0.0, known=None)
