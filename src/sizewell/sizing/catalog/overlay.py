"""A project's own `catalog/`: rows that add to the shipped catalog or correct it, and `rates.yaml`, what it pays.

The tables have the shipped catalog's own names and columns. A row with the key of a shipped row takes its place; of two
rows of the project's own that say different things, neither is taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sizewell.sizing.catalog.machine_prices import is_listed, listed_types
from sizewell.sizing.catalog.rates import Discounts, parse_discounts
from sizewell.sizing.catalog.records import MARKETS, PROVISIONABLE, Offer, Shape
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.places import placed, read_yaml

if TYPE_CHECKING:
    from sizewell.sizing.catalog.catalog import Catalog

FOLDER: Final = "catalog"
RATES: Final = "rates.yaml"
VARIABLE: Final = "SIZEWELL_CATALOG"  # names another folder; empty: none
TABLES: Final = (
    *("accelerators", "shapes", "slices", "offers", "withheld", "sold", "regions", "zones", "fees", "quotas"),
    *("sagemaker", "models", "families", "processors", "sources", "sellers", "token_prices", "ages"),
)
AGES: Final = "ages"
"""The folder of what ages (see `lifetimes.py`): what is decided does not depend on it, so no digest has it."""

Key = Callable[[Any], tuple[object, ...]]
FEE_ORDER: Final = attrgetter("cloud", "key", "region", "from_quantity", "effective_from")
KEYS: Final[Mapping[str, Key]] = {
    "accelerators": lambda r: (r.key,),
    "shapes": lambda r: (r.cloud, r.instance_type),
    "slices": lambda r: (r.machine_type, r.topology),
    "offers": lambda r: (r.cloud, r.instance_type, r.region, r.zone, r.market, r.effective_from),
    "withheld": lambda r: (r.cloud, r.instance_type, r.region, r.zone, r.market, r.date),
    "sold": lambda r: (r.cloud, r.instance_type, r.region),
    "regions": lambda r: (r.cloud, r.region),
    "zones": lambda r: (r.cloud, r.instance_type, r.region),
    "fees": FEE_ORDER,
    "quotas": lambda r: (r.cloud, r.scope, r.code),
    "sagemaker": lambda r: (r.instance_type,),
    "models": lambda r: (r.key,),
    "families": lambda r: (r.cloud, r.pattern, r.trait),
    "processors": lambda r: (r.cloud, r.pattern),
    "sellers": lambda r: (r.seller,),
    "token_prices": lambda r: (r.seller, r.model, r.listed_as, r.effective_from),
    "ages/kubernetes": lambda r: (r.service, r.version),
    "ages/releases": lambda r: (r.kind, r.name, r.version),
    "ages/drivers": lambda r: (r.accelerator,),
}

_Row = TypeVar("_Row")


def folder_of(project: Path) -> Path | None:
    """The overlay of a project: its `catalog/` where that holds a table or rates; None where it has none."""
    folder = project / FOLDER
    if not folder.is_dir():
        return None
    own_engines = any((folder / "engines").glob("*.yaml"))
    named = (
        own_engines
        or bool(rate_files(folder))
        or any(table_of(path, folder) in TABLES for path in folder.rglob("*.csv"))
    )
    return folder if named else None


def rate_files(folder: Path) -> list[Path]:
    """The rates of an overlay: rates.yaml, then the files in rates/ by name; .yml is as good."""
    main = [path for path in (folder / RATES, folder / RATES.replace(".yaml", ".yml")) if path.is_file()]
    return [*main, *sorted(path for path in (folder / "rates").glob("*") if path.suffix in (".yaml", ".yml"))]


def current() -> Path | None:
    """The overlay that counts here: the one that SIZEWELL_CATALOG names, or that of the Pulumi project around."""
    if VARIABLE in os.environ:
        named = os.environ[VARIABLE]
        return Path(named) if named else None
    start = Path.cwd()
    for folder in (start, *start.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder_of(folder)
    return None


def table_of(path: Path, folder: Path) -> str:
    """Which table a file belongs to: "offers" for offers.csv and for every file in offers/."""
    first = path.relative_to(folder).parts[0]
    return first.removesuffix(".csv")


def stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What tells whether a folder's files changed: names, sizes and times."""
    files = [path for path in folder.rglob("*") if path.suffix in (".csv", ".yaml", ".yml")]
    return tuple(sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files))


def merged(table: str, shipped: list[_Row], own: list[_Row], places: list[str], faults: list[Fault]) -> list[_Row]:
    """The shipped rows with a project's own in the place of those with the same key; contradictions go to `faults`.

    `places` says for each own row where it stands, as "catalog/offers/aws.csv row 3".
    """
    if not own:
        return shipped
    key = KEYS[table]
    rows = {key(row): row for row in shipped}
    seen: dict[tuple[object, ...], tuple[_Row, str]] = {}
    for row, place in zip(own, places, strict=True):
        before = seen.setdefault(key(row), (row, place))
        if before[0] != row:
            shown = " ".join(str(part) for part in key(row) if part)
            faults.append(
                Fault(path=place, message=f"contradicts {before[1]}: two rows for {shown}", fix="keep one of them")
            )
        rows[key(row)] = row
    return list(rows.values())


def check_offers(
    own: Iterable[tuple[Offer, str]],
    shapes: Mapping[tuple[str, str], Shape],
    regions: Iterable[tuple[str, str]],
    faults: list[Fault],
) -> None:
    """A project's own prices are for machines, markets and regions that exist, and are prices."""
    known = set(regions)
    for offer, place in own:
        shape = shapes.get((offer.cloud, offer.instance_type))
        if shape is None and not is_listed(offer.cloud, offer.instance_type):
            faults.append(_no_machine(f"{place}: instance_type", offer.cloud, offer.instance_type, shapes))
        elif offer.market not in (MARKETS if shape is None else shape.markets):
            sold = ", ".join(sorted(MARKETS if shape is None else shape.markets))
            faults.append(Fault(path=f"{place}: market", found=offer.market, allowed=f"one of {sold}"))
        if offer.cloud in PROVISIONABLE and (offer.cloud, offer.region) not in known:
            faults.append(Fault(path=f"{place}: region", found=offer.region, allowed=f"a region of {offer.cloud}"))
        if offer.usd_per_hour <= 0:
            faults.append(Fault(path=f"{place}: usd_per_hour", found=str(offer.usd_per_hour), allowed="more than 0"))


def read_own_rates(path: Path, catalog: Catalog) -> Discounts:
    """A file of rates that a command names, checked as those of the project's own folder are.

    Raises ConfigError with every fault, each with its line and column.
    """
    document = read_yaml(path)
    rates = parse_discounts(document.data, str(path), document.places)
    faults = check_rates(
        rates,
        shapes=catalog.shapes_by_type,
        regions=catalog.region_facts,
        fees=((fee.cloud, fee.key) for fee in catalog.fees),
    )
    if faults:
        raise ConfigError(placed(faults, document.places, file=str(path)), subject=str(path))
    return rates


def check_rates(
    rates: Discounts,
    *,
    shapes: Mapping[tuple[str, str], Shape],
    regions: Iterable[tuple[str, str]],
    fees: Iterable[tuple[str, str]],
) -> list[Fault]:
    """What a project's own rates name exists: clouds, machine types, regions, markets, fees."""
    from difflib import get_close_matches

    faults: list[Fault] = []
    clouds = {cloud for cloud, _ in shapes}
    known_regions, known_fees = set(regions), set(fees)

    entries: list[tuple[str, Any]] = [(f"rates[{n}]", rate) for n, rate in enumerate(rates.rates)]
    entries += [(f"commitments[{n}]", commitment) for n, commitment in enumerate(rates.commitments)]
    entries += [(f"savings_plans[{n}]", plan) for n, plan in enumerate(rates.savings_plans)]
    entries += [(f"resource_commitments[{n}]", each) for n, each in enumerate(rates.resource_commitments)]
    for entry, rate in entries:
        if rate.cloud and rate.cloud not in clouds:
            allowed = f"one of {', '.join(sorted(clouds))}"
            faults.append(Fault(path=f"{entry}.cloud", found=rate.cloud, allowed=allowed))
            continue
        asked = [rate.cloud] if rate.cloud else sorted(clouds)
        sizes = [(f"{entry}.sizes", name) for name, _ in getattr(rate, "sizes", ())]
        for path, kind in ((f"{entry}.instance_type", getattr(rate, "instance_type", "")), *sizes):
            if not kind or any((cloud, kind) in shapes or is_listed(cloud, kind) for cloud in asked):
                continue
            # A type that the catalog lacks may be what a price is for; of nothing there is no percentage.
            fixed = getattr(rate, "usd", None) is not None
            fault = _no_machine(path, rate.cloud, kind, shapes, cutoff=0.9 if fixed else 0.6)
            if not fixed or fault.fix.startswith("did you mean"):
                faults.append(fault)
        own_place = bool(rate.cloud) and rate.cloud not in PROVISIONABLE  # its regions are as its owner calls them
        known = own_place or any((cloud, rate.region) in known_regions for cloud in asked if cloud in PROVISIONABLE)
        if rate.region and not known:
            faults.append(Fault(path=f"{entry}.region", found=rate.region, allowed="a region of the catalog"))
        market = getattr(rate, "market", "")
        if market not in ("", *MARKETS):
            hint = get_close_matches(market, MARKETS, n=1)
            fix = f"did you mean {hint[0]}?" if hint else ""
            allowed = f"one of {', '.join(MARKETS)}"
            faults.append(Fault(path=f"{entry}.market", found=market, allowed=allowed, fix=fix))
        fee = getattr(rate, "fee", "")
        if fee and not fee.endswith("*") and not any((cloud, fee) in known_fees for cloud in asked):
            # A fee that the catalog lacks may be what the rate is for; one that is nearly spelled like another is not.
            keys = sorted(key for cloud, key in known_fees if cloud in asked)
            near = [key for key in keys if sorted(key) == sorted(fee)] or get_close_matches(fee, keys, n=1, cutoff=0.9)
            if near and _is_slip(fee, near[0], {word for key in keys for word in _words(key)}):
                faults.append(Fault(path=f"{entry}.fee", message=f"no fee {fee!r}", fix=f"did you mean {near[0]}?"))
    return faults


_NEAR: Final = 0.7  # how alike two words are of which one is the other misspelled


def _words(fee: str) -> list[str]:
    return re.split(r"[._-]", fee)


def _is_slip(fee: str, key: str, words: Collection[str]) -> bool:
    """Whether a fee is nearly a key that exists: as many words, of which a single one is spelled nearly so.

    Another size, speed or class, which has a digit, is no misspelling, nor is a word that other keys have.

    >>> _is_slip("nat.huor", "nat.hour", ()), _is_slip("rds.mysql.db.m5.large", "rds.mysql.db.t3.large", ())
    (True, False)
    >>> _is_slip("rds.extended_support.year3.vcpu_hour", "rds.extended_support.vcpu_hour", ())
    False
    >>> _is_slip("hyperdisk.pool.mbps_month", "hyperdisk.ml.mbps_month", ())
    False
    >>> _is_slip("sql.mysql.zonal.hdd_gb_month", "sql.mysql.zonal.ssd_gb_month", ())
    False
    """
    from difflib import SequenceMatcher

    ours, known = _words(fee), _words(key)
    differing = [pair for pair in zip(ours, known, strict=False) if pair[0] != pair[1]]
    if len(ours) != len(known) or len(differing) != 1:
        return False
    written, meant = differing[0]
    named = written in words or any(character.isdigit() for character in written + meant)
    return not named and SequenceMatcher(None, written, meant).ratio() >= _NEAR


def _no_machine(
    path: str, cloud: str, instance_type: str, shapes: Mapping[tuple[str, str], Shape], *, cutoff: float = 0.6
) -> Fault:
    from difflib import get_close_matches

    names = [name for where, name in shapes if cloud in ("", where)]
    names += [name for where in PROVISIONABLE if cloud in ("", where) for name in listed_types(where)]
    near = get_close_matches(instance_type, names, n=1, cutoff=cutoff)
    hint = f"did you mean {near[0]}?" if near else f"add it to {FOLDER}/shapes.csv"
    of = f" of {cloud}" if cloud else ""
    return Fault(path=path, message=f"no machine type {instance_type!r}{of}", fix=hint)
