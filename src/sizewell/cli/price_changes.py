"""Prices that moved, as a table."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.cli import output

if TYPE_CHECKING:
    from sizewell.sizing.catalog.history import Move

ROWS_MAX: Final = 40  # rows that are printed unless all are asked for


def print_price_changes(moves: tuple[Move, ...], *, every: bool) -> None:
    """The largest changes and a count of the rest, by cloud and market."""
    if not moves:
        return
    console = output.console()
    made = output.table("machine", "where", "before", "after", "change", right=("before", "after", "change"))
    for move in moves if every else moves[:ROWS_MAX]:
        before, after = (usd(amount) for amount in (move.before, move.after))
        change = f"{move.percent:+.1f} %" if move.percent is not None else "new" if move.before is None else "gone"
        where = f"{move.cloud} {move.region} {move.market}"
        made.add_row(move.instance_type, where, before, after, output.signed(change, move.percent))
    console.print(made)
    if not every and len(moves) > ROWS_MAX:
        console.print(f"  and {len(moves) - ROWS_MAX:,} more: --all prints them", style="dim")
    for group, count in _grouped(moves).items():
        console.print(f"  {group}: {count}")


def _grouped(moves: tuple[Move, ...]) -> dict[str, str]:
    groups: dict[str, list[Move]] = {}
    for move in moves:
        groups.setdefault(f"{move.cloud} {move.market}", []).append(move)
    counts: dict[str, str] = {}
    for group, of_group in sorted(groups.items()):
        up = sum((move.percent or 0) > 0 for move in of_group)
        down = sum((move.percent or 0) < 0 for move in of_group)
        new, gone = (sum(getattr(move, side) is None for move in of_group) for side in ("before", "after"))
        counted = (("up", up), ("down", down), ("new", new), ("gone", gone))
        counts[group] = ", ".join(f"{count:,} {word}" for word, count in counted if count)
    return counts


def usd(amount: Decimal | None) -> str:
    """An amount without trailing zeros; "" for none."""
    return "" if amount is None else f"{amount.normalize():f}"
