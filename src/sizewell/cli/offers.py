"""`sizewell offers`: which accelerators can be had, on which machines, where and at which price."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from sizewell.cli import output
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import iso_date
from sizewell.cli.suggestions import nearest
from sizewell.sizing.aliases import alias
from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.errors import UsageError
from sizewell.sizing.units import counted

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.history import Quote
    from sizewell.sizing.catalog.records import Shape

DESCRIPTION = """List accelerators with the cheapest machine of each, or the machines that have one.

Prices are by the hour, on demand and spot, in the region where each is lowest, with the age of the older
of the two. `H100:8` asks for machines with eight. Only what can be built: --all adds other sellers.
"""
EXAMPLES = """examples:
  sizewell offers                                one line for each accelerator
  sizewell offers H100                           machines with an H100, the cheapest of one first
  sizewell offers H100:8 --region us-east-1      with eight of them, in a region
  sizewell offers L4 --cloud gcp --json

exit code: 0 success, 64 no such accelerator, cloud or region
"""


@dataclass(frozen=True, slots=True)
class Offered:
    """A machine type with its lowest prices on demand and on spot."""

    shape: Shape
    on_demand: Quote | None
    spot: Quote | None

    @property
    def usd_per_device(self) -> Decimal | None:
        """US dollars of one accelerator for an hour, on demand where that is known."""
        quote = self.on_demand or self.spot
        return quote.usd_per_hour / self.shape.accelerators if quote and quote.usd_per_hour else None


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("accelerator", required=False, metavar="ACCELERATOR[:COUNT]", help="such as H100 or H100:8")
@click.option("--cloud", metavar="CLOUD", help="only of this cloud")
@click.option("--region", metavar="REGION", help="only in this region")
@click.option("--all", is_flag=True, help="sellers too whose machines cannot be built here")
@click.option("--on", type=iso_date, metavar="DATE", help="use the prices of this date (default: today)")
@click.option("--json", is_flag=True, help="print JSON")
def command(args: Arguments) -> int:
    from sizewell.sizing.catalog import load
    from sizewell.sizing.workload.devices import not_to_be_had

    catalog = load()
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    clouds = _clouds(catalog, args.cloud, args.region, every=args.all)
    name, count = _asked(args.accelerator)
    keys = _keys(catalog, name)
    offered = [
        each
        for shape in catalog.shapes
        if shape.cloud in clouds and shape.accelerator in keys and count in (0, shape.accelerators)
        for each in _offered(catalog, shape, args.region or "", on)
    ]
    offered.sort(key=lambda each: (each.usd_per_device is None, each.usd_per_device or 0, each.shape.instance_type))
    if not args.accelerator:
        first: dict[str, Offered] = {}
        for each in offered:
            first.setdefault(each.shape.accelerator, each)
        offered = list(first.values())
    if args.json:
        output.print_json([_as_json(each, catalog, on) for each in offered])
        if not offered:
            output.note(_none(catalog, keys, count, args, on))
    elif offered:
        _print(offered, catalog, on)
    elif name and not args.all and (wrong := not_to_be_had(name, catalog)):
        others = "; --all has other sellers" if _sold(catalog, keys, count, on) else ""
        raise UsageError(f"offers: {wrong[0]}\n  fix: {wrong[2].replace('write', 'name', 1)}{others}")
    else:
        print(_none(catalog, keys, count, args, on))
    return 0


def _sold(
    catalog: Catalog, keys: set[str], count: int, on: date, *, clouds: Iterable[str] = (), region: str = ""
) -> bool:
    """Whether such machines have a price on that day, of these clouds or of any."""
    return any(
        each.usd_per_device is not None
        for shape in catalog.shapes
        if shape.accelerator in keys and count in (0, shape.accelerators) and (not clouds or shape.cloud in clouds)
        for each in _offered(catalog, shape, region, on)
    )


def _none(catalog: Catalog, keys: set[str], count: int, args: Arguments, on: date) -> str:
    return f"no machine with {'that many' if count else 'one'}, there{_wider(catalog, keys, count, args, on)}"


def _wider(catalog: Catalog, keys: set[str], count: int, args: Arguments, on: date) -> str:
    """What asks for less and has an answer; "" where nothing does."""
    own = {args.cloud} if args.cloud else () if args.all else PROVISIONABLE
    limits = [f"--{name} {getattr(args, name)}" for name in ("cloud", "region") if getattr(args, name)]
    if not args.all and not args.cloud and _sold(catalog, keys, count, on, region=args.region or ""):
        return "; --all has other sellers"
    if args.region and _sold(catalog, keys, count, on, clouds=own):
        return f"; it is sold without --region {args.region}"
    if args.cloud and _sold(catalog, keys, count, on, clouds=() if args.all else PROVISIONABLE):
        return f"; it is sold without {' and '.join(limits)}"
    if limits and not args.all and _sold(catalog, keys, count, on):
        return f"; it is sold without {' and '.join(limits)}, with --all"
    return f"; it is sold in other numbers than {count}" if count and _sold(catalog, keys, 0, on, clouds=own) else ""


def _asked(text: str | None) -> tuple[str, int]:
    """The accelerator and how many of it: `8xH100` and `64 H100` are understood as `H100:8`."""
    return counted((text or "").strip())


def _keys(catalog: Catalog, name: str) -> set[str]:
    if not name:
        return {key for key in catalog.accelerators if "-share-" not in key}
    keys = {item.key for item in catalog.accelerators_named(name)}
    if not keys:
        from sizewell.sizing.workload.devices import device_meant, families, not_to_be_had, slice_meant

        if wrong := not_to_be_had(name, catalog):
            raise UsageError(f"offers: {wrong[0]}\n  fix: {wrong[2].replace('write', 'name', 1)}")
        if meant := slice_meant(name, catalog):
            generation = re.sub(r".*type: (\w+),.*", r"\1", meant).upper()
            raise UsageError(
                f"offers: {name} is a slice of TPUs, not an accelerator\n"
                f"  fix: sizewell offers {generation}; in a spec write resources: {{{meant.replace('},', '}},', 1)}"
            )
        if carried := _carried(catalog, name):
            raise UsageError(f"offers: {name} is a machine type, not an accelerator\n  fix: {carried}")
        fix = device_meant(name, catalog) or f"name one of {', '.join(families(catalog))}"
        if name.lower().endswith((".yaml", ".yml")):
            fix = f"what a spec needs and costs: sizewell size {name}"
        raise UsageError(f"offers: no accelerator {name!r} in the catalog\n  fix: {fix}")
    return keys


def _carried(catalog: Catalog, name: str) -> str:
    """What to ask for in place of a machine type or a family of them; "" where it is neither."""
    types = {
        shape.instance_type: shape for shape in catalog.shapes if shape.accelerator and shape.cloud in PROVISIONABLE
    }
    spelt = {known.lower(): shape for known, shape in types.items()}
    begins = (f"{name.lower()}.", f"{name.lower()}-", f"standard_{name.lower()}")  # of AWS, Google Cloud, Azure
    own = [spelt[name.lower()]] if name.lower() in spelt else []
    family = own or [shape for known, shape in spelt.items() if known.startswith(begins)]
    devices = dict.fromkeys(
        f"{shape.accelerator.upper()}:{shape.accelerators}" if own else shape.accelerator.upper() for shape in family
    )
    ways = " or ".join(f"sizewell offers {device}" for device in [*devices][:3])
    price = f", its prices: sizewell prices show {own[0].instance_type}" if own else ""
    return f"machines with what it has: {ways}{price}" if devices else ""


def _clouds(catalog: Catalog, cloud: str | None, region: str | None, *, every: bool) -> set[str]:
    known = sorted({shape.cloud for shape in catalog.shapes})
    if cloud is not None and cloud not in known:
        row = alias("cloud", cloud)
        fix = f"\n  fix: --cloud {row.meant}" if row and row.meant in known else nearest(cloud, known)
        raise UsageError(f"--cloud: must be one of {', '.join(known)}, got {cloud!r}{fix}")
    clouds = {cloud} if cloud else set(known) if every else set(PROVISIONABLE)
    regions = {each for where in clouds for each in catalog.regions(where)}
    if region and region not in regions:
        if cloud and (theirs := [each for each in known if region in catalog.regions(each)]):
            way_out = f"--cloud {theirs[0]}, or name one such as {min(regions)}"
            raise UsageError(f"--region: {region} is of {theirs[0]}, and --cloud names {cloud}\n  fix: {way_out}")
        from difflib import get_close_matches

        from sizewell.sizing.workload.model import Place
        from sizewell.sizing.workload.names import place_meant

        meant = place_meant(Place(cloud=region.lower()), catalog).removeprefix("write ")
        cities = [place.split("/")[1] for place in meant.split(", or ") if place.partition("/")[0] in clouds]
        swapped = cities or [each for each in sorted(regions) if sorted(each) == sorted(region)]
        near = swapped or get_close_matches(region, sorted(regions), 3)
        fix = f"did you mean {' or '.join(near)}?" if near else f"name one such as {min(regions)}"
        raise UsageError(f"--region: no machine of the catalog is sold in {region!r}\n  fix: {fix}")
    return clouds


def _offered(catalog: Catalog, shape: Shape, region: str, on: date) -> Iterator[Offered]:
    from sizewell.sizing.catalog.history import quotes

    quoted = quotes(catalog, shape.cloud, shape.instance_type, region=region, on=on)
    lowest = {
        market: next((q for q in quoted if q.market == market and q.usd_per_hour is not None), None)
        for market in ("on-demand", "spot")
    }
    if quoted:
        yield Offered(shape, lowest["on-demand"], lowest["spot"])


def _age(each: Offered, on: date) -> int | None:
    ages = [quote.age_days(on) for quote in (each.on_demand, each.spot) if quote is not None]
    return max((age for age in ages if age is not None), default=None)


def _as_json(each: Offered, catalog: Catalog, on: date) -> dict[str, Any]:
    shape = each.shape
    return {
        "accelerator": shape.accelerator,
        "accelerators": shape.accelerators,
        "memory_bytes": catalog.accelerators[shape.accelerator].memory_bytes,
        "cloud": shape.cloud,
        "instance_type": shape.instance_type,
        "age_days": _age(each, on),
        **{
            name: None if quote is None else {"region": quote.region, "usd_per_hour": quote.usd_per_hour}
            for name, quote in (("on_demand", each.on_demand), ("spot", each.spot))
        },
    }


def _print(offered: list[Offered], catalog: Catalog, on: date) -> None:
    right = ("GiB", "USD/hour", "spot", "age")
    made = output.table("accelerator", "GiB", "machine", "where", "USD/hour", "spot", "age", right=right)
    for each in offered:
        shape, quote = each.shape, each.on_demand or each.spot
        memory = catalog.accelerators[shape.accelerator].memory_bytes / 2**30
        prices = [f"{q.usd_per_hour:.2f}" if q and q.usd_per_hour else "?" for q in (each.on_demand, each.spot)]
        where = f"{shape.cloud} {quote.region if quote else ''}".strip()
        age = _age(each, on)
        made.add_row(
            f"{shape.accelerators} x {shape.accelerator}", f"{memory:.0f}", shape.instance_type, where, *prices,
            "" if age is None else f"{age} d",
        )  # fmt: skip
    output.console().print(made)
    print("\nThe price on demand is that of the region named; spot is where it is lowest, which may be elsewhere.")
