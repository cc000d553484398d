"""The load of each hour in words beside the bill: the machines that it takes over the week, and what that saves."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from sizewell.sizing.choose.start_up import start_up_s
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from sizewell.sizing.choose.pricing import Option


def over_the_week(chosen: Option) -> list[str]:
    """What the load of each hour comes to, where it is stated."""
    need, fleet = chosen.setting.need, chosen.fleet
    week = need.arrivals.week if need.arrivals else None
    if need.arrivals is None or week is None:
        return []
    load = need.arrivals.load
    what = "requests/s" if need.arrivals.requests_per_s is not None else "users"
    peak = f"{week.peak:.3g} times the mean of {load * week.mean:.3g} {what} in the busiest hour, for which it is sized"
    if not fleet.by_hour:
        return [f"{peak}; the fleet stands through the day: no machine starts within a burst"]
    if chosen.stands:
        return [f"{peak}; machines on {chosen.deal.market} terms are paid for in every hour"]
    counts, mean = chosen.counts, chosen.nodes_mean
    up = [counts.within(nodes) for nodes, part in zip(fleet.by_hour, week.open, strict=True) if part]
    each_usd = Decimal(repr(chosen.usd_per_hour)) * chosen.hours.expected / Decimal(repr(mean))
    more_usd = each_usd * Decimal(repr(max(up) - mean))
    over = f"over the week {min(up)} to {plural(max(up), 'machine')}, {mean:.1f} at the mean"
    says = [peak, f"{over}; {max(up)} in every hour would be {more_usd:,.2f} USD a month more"]
    if counts.minimum > 1 and fleet.warm > 1:
        starts = f"{start_up_s(need.serving) / 60:.0f} min in which one starts (estimate)"
        least = plural(counts.minimum, "machine")
        says.append(
            f"at least {least} stay up: load on fewer outgrows them within the {starts}, or more have to be ordered "
            "so early that the week costs more"
        )
    return says
