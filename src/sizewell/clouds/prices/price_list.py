"""What a refresh may ask of a cloud's price list: a record for each cloud, in its own module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:  # the command line names kinds of prices before it knows whether any is asked for
    from sizewell.clouds.calls import Deadline
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.refresh import Listed, Place
    from sizewell.sizing.catalog.refresh_fees import ListedFee

Row: TypeAlias = "Listed | ListedFee"
Question: TypeAlias = "Callable[[], Iterator[Row]]"
ON_DEMAND: Final = "on-demand"
SPOT: Final = "spot"
PLANS: Final = ("reserved-1y", "reserved-3y")
FEES: Final = "fees"  # the market of a place whose rows are fees
CAPACITY: Final = "capacity-blocks"
MARKETS: Final[Mapping[str, tuple[str, ...]]] = {  # by kind of price; () where each cloud sells it in another form
    ON_DEMAND: (ON_DEMAND,),
    SPOT: (SPOT,),
    "savings-plans": PLANS,
    CAPACITY: (),
    FEES: (FEES,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What every question of one refresh shares."""

    catalog: Catalog
    kinds: tuple[str, ...]  # keys of `MARKETS`
    on: date
    deadline: Deadline
    downloads: Path
    query: bool = False

    def markets(self, capacity: tuple[str, ...]) -> list[str]:
        """Those that are asked for; `capacity`: in which a cloud sells machines for a time."""
        return [market for kind in self.kinds for market in MARKETS[kind] or capacity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The questions of one refresh, which share what was read once."""

    places: Callable[[str], dict[Place, Question]]  # of a region
    sold: Question  # in which regions the cloud sells machines with accelerators at all


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """How a cloud's prices are asked for."""

    begin: Callable[[Scope], Begun]
    not_enabled: tuple[str, ...]  # codes of errors by which a region says that the account has not opted in to it
