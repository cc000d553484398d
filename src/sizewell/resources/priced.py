"""What a plan costs, and what became of each of its resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sizewell.resources.recorded import Hidden
from sizewell.sizing.money import Asked, Cost, LineItem, total

RETIRED: Final = "is retired since"
"""In the reason of what has no price because no cloud makes it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many resources of the plan were seen and what became of them; they add up: detected is all others together.

    Four states: with a price, free, billed by a use that nobody stated, and without a price. Of the last, `unknown` are
    of a type that no rule prices; `not_judged` those that hide what they make, and the places at which the program
    hides something.
    """

    detected: int
    estimated: int
    free: int
    unpriced: int
    unknown: int
    not_judged: int = 0
    by_use: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """What a plan costs. `items` has a line for everything that is billed, lines without a price included.

    `free`, `unpriced`, `unknown` and `by_use` are (urn, type, reason); `outside` says in words what is billed by a use
    that nobody stated. `elsewhere` are those of `unpriced` that a cluster in another program is billed for.
    """

    items: tuple[LineItem, ...]
    free: tuple[tuple[str, str, str], ...]
    unpriced: tuple[tuple[str, str, str], ...]
    unknown: tuple[tuple[str, str, str], ...]
    outside: tuple[str, ...]
    coverage: Coverage
    hidden: tuple[Hidden, ...] = ()  # what the plan does not show: a line without a price each
    by_use: tuple[tuple[str, str, str], ...] = ()
    elsewhere: frozenset[str] = frozenset()  # URNs
    unused: frozenset[tuple[str, str]] = frozenset()  # (resource, measure) of the usage file that no price asked for
    asked: frozenset[Asked] = frozenset()  # what prices were looked up for

    def cost(self) -> Cost:
        return total(self.items)
