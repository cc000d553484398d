"""Own hardware: what servers cost to buy, to keep and to sell again, figure by figure, each with its source.

The page of a preview draws it by the month, `sizewell economics` compares it with every way to rent.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Shape

ESTIMATE: Final = "estimate"


class Figure(NamedTuple):
    """One input: its value, what it is of, and where it comes from."""

    value: Decimal
    unit: str
    what: str
    source: str = ESTIMATE
    low: Decimal = Decimal(0)  # the smallest value that a file may state
    high: Decimal = Decimal(100_000_000)  # and the largest
    is_estimate: bool = True


def _figure(value: str, unit: str, what: str, source: str = "", *, low: int = 0, high: int = 100_000_000) -> Figure:
    said = f"{ESTIMATE}: {source}" if source else ESTIMATE
    return Figure(Decimal(value), unit, what, said, Decimal(low), Decimal(high))


# Of every server; machine_usd, accelerators and power_w come from the catalog's server, or from a file.
USUAL: Final[Mapping[str, Figure]] = {
    "network_usd": _figure("0", "USD/server", "rack and network", "the space figure has them"),
    "pue": _figure("1.4", "", "power drawn over power used: cooling and conversion", low=1, high=10),
    "usd_per_kwh": _figure("0.12", "USD/kWh", "power", "an industrial tariff", high=5),
    "space_usd_per_kw_month": _figure(
        "60", "USD/kW/month", "space, rack, network and hands", "a colocation's rate without power"
    ),
    "staff_usd_per_server_month": _figure(
        "400", "USD/server/month", "staff", "one engineer at 200,000 USD a year looks after 40 servers"
    ),
    "running_usd_per_server_year": _figure("0", "USD/server/year", "all else: support, insurance", "none"),
    "spares_percent_per_year": _figure("0", "% of the price", "spares and repairs", "the warranty", high=100),
    "interest_percent_per_year": _figure("0", "%", "financing; 0: paid at once", "own money", high=100),
    "resale_new_percent": _figure("70", "% of the price", "resale when it is new", high=100),
    "resale_percent": _figure("25", "% of the price", "resale at the end of its lifetime", high=100),
    "lifetime_months": _figure("36", "months", "lifetime; then it is sold, and another bought", low=1, high=240),
    "lead_time_weeks": _figure("12", "weeks", "from the order until it runs", high=520),
}
# What only a server has, in the order of their questions.
OF_A_SERVER: Final[Mapping[str, Figure]] = {
    "machine_usd": Figure(Decimal(0), "USD/server", "machine"),
    "accelerators": Figure(Decimal(1), "", "accelerators of a server", low=Decimal(1), high=Decimal(1024)),
    "power_w": Figure(Decimal(0), "W/server", "power at full load", low=Decimal(50)),  # less is one in kW
}
Figures = Mapping[str, Figure]


def lost_share(month: Decimal, figures: Figures = USUAL) -> Decimal:
    """The share of its price that a bought machine has lost by the end of a month of its lifetime.

    >>> lost_share(Decimal(0)), lost_share(Decimal(36))
    (Decimal('0.3'), Decimal('0.75'))
    """
    new, old, lifetime = (figures[name].value for name in ("resale_new_percent", "resale_percent", "lifetime_months"))
    return 1 - (new - (new - old) * month / lifetime) / 100


def purchase_usd(shape: Shape) -> Decimal:
    """The middle of what a server is sold for; 0 where nobody wrote it down."""
    bounds = getattr(shape, "purchase_usd", None)
    return Decimal(bounds[0] + bounds[1]) / 2 if bounds else Decimal(0)


def server_for(catalog: Catalog, accelerator: str, wanted: int) -> tuple[Shape, int] | None:
    """The server that has so many of an accelerator for the least money, and how many of it; None where none has."""
    servers = [
        (shape, -(-wanted // shape.accelerators))
        for shape in catalog.shapes
        if shape.cloud == "on-premises" and accelerator and shape.accelerator == accelerator and purchase_usd(shape)
    ]
    return min(servers, key=lambda each: (each[1] * purchase_usd(each[0]), each[0].instance_type), default=None)


def figures_of(shape: Shape | None) -> dict[str, Figure]:
    """Every figure of a server of the catalog; without one, those that every server has."""
    figures = dict(USUAL)
    if shape is not None:
        source = f"{shape.instance_type}: {shape.source}"
        stated = {
            "machine_usd": purchase_usd(shape),
            "accelerators": Decimal(shape.accelerators),
            "power_w": Decimal(str(shape.power_w or 0)),
        }
        weak = shape.confidence == ESTIMATE
        figures = {
            key: OF_A_SERVER[key]._replace(value=value, source=source, is_estimate=weak)
            for key, value in stated.items()
        }
        figures.update(USUAL)
    return figures
