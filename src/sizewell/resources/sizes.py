"""How many machines a pool has, as its inputs say, and how many of them are on-demand."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Final

from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.values import Count
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval

UNSIZED: Final = "size not known yet"  # how weak a figure is that rests on a number which nobody knows


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
        why = UNSIZED if UNKNOWN in (self.least, self.wanted) else ""
        floor, ceiling = least * HOURS_PER_MONTH, most * HOURS_PER_MONTH
        return Interval(amount(floor), amount(min(max(wanted * HOURS_PER_MONTH, floor), ceiling)), amount(ceiling)), why

    def unbounded(self) -> str:
        """Why there are no hours.

        >>> Size(least=1, wanted=None, most=UNKNOWN).unbounded()
        'the number of machines is known only after deployment, and the program states no maximum'
        """
        if UNKNOWN in (self.least, self.wanted, self.most):
            return "the number of machines is known only after deployment, and the program states no maximum"
        return "the number of machines is unlimited"


def weighed(size: Size, weight: Count) -> Size:
    """The machines of a size that is stated in units, of which each machine counts `weight`.

    >>> weighed(Size(least=0, wanted=7, most=8), 4)
    Size(least=0, wanted=2, most=2)
    """
    if weight == 1 or weight is None:
        return size
    if not isinstance(weight, int):
        return Size(least=UNKNOWN, wanted=UNKNOWN, most=UNKNOWN)
    units = (size.least, size.wanted, size.most)
    least, wanted, most = (-(-each // weight) if isinstance(each, int) else each for each in units)
    return Size(least=least, wanted=wanted, most=most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """A mix of two markets whose machines count as units of a size: what one of each type counts."""

    on_demand: str  # the type that is bought on demand
    spot: str
    weights: tuple[int, int]

    def size(self, units: Size, mix: Mix) -> Size:
        """The machines of both markets together.

        >>> mix = Mix(base=Decimal(2), percent_above=Decimal(50))
        >>> Weighted(on_demand="m5.xlarge", spot="m5.large", weights=(2, 1)).size(fixed(8), mix)
        Size(least=6, wanted=6, most=6)
        """
        return Size(
            least=self._machines(units.least, mix),
            wanted=self._machines(units.wanted, mix),
            most=self._machines(units.most, mix),
        )

    def _machines(self, units: Count, mix: Mix) -> Count:
        if not isinstance(units, int):
            return units
        firm = mix.on_demand(Decimal(units), units)
        return sum(int(self.of(share, market)) for share, market in ((firm, 0), (units - firm, 1)))

    def of(self, units: Decimal, market: int) -> Decimal:
        """The machines that so many units make; of an average over a month the same share of a machine."""
        machines = units / self.weights[market]
        return machines.to_integral_value(ROUND_CEILING) if units == int(units) else machines


def fixed(count: Count) -> Size:
    return Size(least=count, wanted=count, most=count)


MIXED: Final = "mixed"  # part on-demand, part spot


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How many machines of a group are on-demand: the first ones, and a share of the others."""

    base: Decimal
    percent_above: Decimal

    def on_demand(self, machines: Decimal, running: int) -> Decimal:
        """On-demand machines of `machines`, a whole size or an average over a month in which some run part of the time.

        The service fills the base first and rounds the share of the others up. Of an average the share is that of the
        `running` machines while they run.

        >>> mix = Mix(base=Decimal(1), percent_above=Decimal(50))
        >>> mix.on_demand(Decimal(4), 4), mix.on_demand(Decimal(1), 2), mix.on_demand(Decimal("0.5"), 8)
        (Decimal('3'), Decimal('1'), Decimal('0.3125'))
        """
        if machines != running and running:
            return machines * self.on_demand(Decimal(running), running) / running
        above = max(machines - self.base, Decimal(0))
        return min(machines, self.base) + (above * self.percent_above / 100).to_integral_value(ROUND_CEILING)
