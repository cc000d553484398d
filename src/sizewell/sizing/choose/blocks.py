"""Blocks of capacity: how many days and machines one has, and what is said of its price."""

from __future__ import annotations

import math
from typing import Final

from sizewell.sizing.choose.requirements import BLOCK_DRAIN_S
from sizewell.sizing.providers import CLOUDS

DAY_S: Final = 86_400.0
DAYS_MAX: Final = 182
SINGLE_DAYS: Final = 14  # up to which a block has any number of days; beyond it has whole weeks
"""docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html, read on 2026-11-27."""
MARKET: Final = "capacity-block"


def days(run_s: float) -> int:
    """Days of the capacity block that a run of so many seconds fits in, the end that the block is drained for included.

    >>> days(2.4 * 3600), days(23.4 * 86_400), days(13.99 * 86_400)
    (1, 28, 21)
    """
    whole = max(1, math.ceil((run_s + BLOCK_DRAIN_S) / DAY_S))
    return whole if whole <= SINGLE_DAYS else 7 * math.ceil(whole / 7)


def duration_text(run_s: float) -> str:
    """The duration of that block as a spec has it; "" where none is sold for so long.

    >>> duration_text(2.4 * 3600), duration_text(19 * 86_400), duration_text(200 * 86_400)
    ('24h', '21d', '')
    """
    whole = days(run_s)
    return "" if whole > DAYS_MAX else "24h" if whole == 1 else f"{whole}d"


def nodes_max(market: str, cloud: str) -> int | None:
    """Most machines of one pool that is bought in a market; None where the market sets no bound.

    >>> nodes_max("capacity-block", "aws"), nodes_max("on-demand", "aws")
    (64, None)
    """
    return CLOUDS[cloud].capacity.block_nodes_max if market == MARKET and cloud in CLOUDS else None


def limit_text(usd: float) -> str:
    """A maximum price that a block of this price stays below, as a spec has it: two figures, rounded up.

    >>> limit_text(1993.34), limit_text(152_248.32), limit_text(97.0)
    ('2000 USD', '160000 USD', '97 USD')
    """
    step = 10 ** max(0, math.floor(math.log10(max(usd, 1.0))) - 1)
    return f"{step * math.ceil(usd / step)} USD"
