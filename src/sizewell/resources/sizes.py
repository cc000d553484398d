"""How many machines a pool has, as its inputs say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.values import Count
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Machines of a pool: smallest, wanted, largest. None means that the input is silent."""

    least: Count
    wanted: Count
    most: Count

    @lru_cache(maxsize=256)  # noqa: B019 - few sizes, asked for by machines and disks of every pool
    def hours(self) -> tuple[Interval, str] | None:
        """Machine-hours per month and why they are not exact; None when nothing bounds them from above."""
        bounds = [value for value in (self.most, self.wanted, self.least) if isinstance(value, int)]
        if self.most is UNKNOWN or not bounds:
            return None
        if self.most is None and (self.wanted is UNKNOWN or self.least is UNKNOWN):
            return None
        most = max(bounds)
        least = self.least if isinstance(self.least, int) else 0
        wanted = self.wanted if isinstance(self.wanted, int) else (most if self.wanted is UNKNOWN else None)
        if wanted is None:
            wanted = least if isinstance(self.least, int) else most
        why = "size not known yet" if UNKNOWN in (self.least, self.wanted) else ""
        floor, ceiling = least * HOURS_PER_MONTH, most * HOURS_PER_MONTH
        return Interval(amount(floor), amount(min(max(wanted * HOURS_PER_MONTH, floor), ceiling)), amount(ceiling)), why


def fixed(count: Count) -> Size:
    return Size(least=count, wanted=count, most=count)
