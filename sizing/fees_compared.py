"""What disks, buckets and clusters cost when options are compared, also where a region's price is not known.

A fee that is unknown in a region is stood in for by twice the dearest that is known elsewhere in the cloud: never free,
and dear enough that a known price wins between equals. Only the comparison uses it; the line item stays unpriced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from sizing import costing
from sizing.money import Priced, total

if TYPE_CHECKING:
    from sizing.catalog import Catalog

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

    def fee(self, cloud: str, key: str, region: str) -> ComparedFee:
        """A fee of the catalog by its key."""
        found = self.memo.get((cloud, key, region))
        if found is None:
            price = self.catalog.fee(cloud, key, region, self.on)
            if isinstance(price, Priced):
                found = ComparedFee(float(price.amount), known=True)
            else:
                found = _stand_in([float(fee.usd) for fee in self.catalog.fees if (fee.cloud, fee.key) == (cloud, key)])
            self.memo[cloud, key, region] = found
        return found

    def cluster(self, cloud: str, region: str) -> ComparedFee:
        """A cluster of our own, per month."""
        found = self.memo.get((cloud, "cluster", region))
        if found is None:
            here = self._cluster_usd(cloud, region)
            if here is not None:
                found = ComparedFee(here, known=True)
            else:
                elsewhere = (self._cluster_usd(cloud, other) for other in self.catalog.regions(cloud))
                found = _stand_in([usd for usd in elsewhere if usd is not None])
            self.memo[cloud, "cluster", region] = found
        return found

    def cheapest(self, cloud: str, key: str) -> float:
        """A lower bound of a fee over all regions; 0 where no price is known."""
        return min((float(f.usd) for f in self.catalog.fees if (f.cloud, f.key) == (cloud, key)), default=0.0)

    def _cluster_usd(self, cloud: str, region: str) -> float | None:
        cost = total(costing.cluster(self.catalog, component="", cloud=cloud, region=region, on=self.on))
        return None if cost.unpriced else float(cost.run_rate.usd_per_month.expected)


def _stand_in(elsewhere: list[float]) -> ComparedFee:
    return ComparedFee(STAND_IN * max(elsewhere), known=False) if elsewhere else ComparedFee(0.0, known=None)
