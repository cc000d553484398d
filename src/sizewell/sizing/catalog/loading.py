"""Reading the catalog: the CSV files under `data/`, and a project's own rows over them.

Everything is sorted, so the same files give the same answers in the same order; `digest` is the SHA-256 over the files'
bytes in order of their names.
"""

from __future__ import annotations

import functools
import gc
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from sizewell import csvtables, logs
from sizewell.sizing.catalog import compact, table
from sizewell.sizing.catalog import overlay as overlays
from sizewell.sizing.catalog.catalog import EVERYWHERE, Catalog, spelling
from sizewell.sizing.catalog.fee_lists import FeeList
from sizewell.sizing.catalog.lineage import lineage
from sizewell.sizing.catalog.machine_prices import MachinePrices
from sizewell.sizing.catalog.rates import (
    NO_DISCOUNTS,
    OWN_RATE,
    BillingAccount,
    Discounts,
    Rate,
    parse_discounts,
)
from sizewell.sizing.catalog.records import (
    PROVISIONABLE,
    Accelerator,
    Architecture,
    Family,
    Fee,
    Offer,
    Processor,
    Quota,
    Region,
    SagemakerPremium,
    Seller,
    Shape,
    Slice,
    Sold,
    TokenPrice,
    Withheld,
    Zones,
)
from sizewell.sizing.errors import CatalogError, ConfigError, Fault
from sizewell.sizing.places import parse_yaml, placed, read_text

DATA = Path(__file__).parent / "data"

_Named = TypeVar("_Named")
_OFFER_ORDER = attrgetter("cloud", "instance_type", "region", "market", "zone", "effective_from")


def load(directory: Path | None = None, *, overlay: Path | None = None) -> Catalog:
    """The whole catalog: the shipped data with the project's own `catalog/` over it (see `overlay.py`).

    `directory` names other data of the same form, `overlay` another folder of own rows; without either, the overlay of
    the Pulumi project around the working directory counts, and the result is cached until its files change.
    Raises CatalogError with every wrong cell, by file and row.
    """
    if directory is not None:
        return _read(directory, overlay)
    folder = overlay if overlay is not None else overlays.current()
    return _shipped() if folder is None else _with_overlay(folder, overlays.stamp(folder))


@functools.cache
def _shipped() -> Catalog:
    return _read(DATA, None)


@functools.lru_cache(maxsize=4)
def _with_overlay(folder: Path, _stamp: object) -> Catalog:
    return _read(DATA, folder)


def keep_compact(overlay: Path) -> None:
    """Write the compact form of the shipped tables with a project's own over them beside the latter.

    Raises CatalogError with every wrong cell of the tables, and writes nothing then.
    """
    compact.write(_read(DATA, overlay, tables_alone=True), overlay)


def _read(directory: Path, overlay: Path | None, *, tables_alone: bool = False) -> Catalog:
    """Thousands of records that all stay: the garbage collector would only look at them again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _read_all(directory, overlay, tables_alone=tables_alone)
    finally:
        if collecting:
            gc.enable()


def _read_all(directory: Path, overlay: Path | None, *, tables_alone: bool) -> Catalog:
    """With `tables_alone` as if the overlay had neither rates nor engines: what the compact form is made of."""
    texts, digest = _files(directory)
    digest_of_tables = digest  # without rates and engines: an edit of these must leave the compact form valid
    faults: list[Fault] = []
    own_texts: dict[str, str] = {}
    if overlay is not None:
        own_texts, own_digest = _own_tables(overlay, faults)
        digest_of_tables = hashlib.sha256(f"{digest} {own_digest}".encode()).hexdigest()
        if not tables_alone:
            rate_texts, own_digest = _own_rates_and_engines(overlay, own_digest, faults)
            own_texts |= rate_texts
        digest = hashlib.sha256(f"{digest} {own_digest}".encode()).hexdigest()
    known = None if tables_alone else compact.read(overlay if overlay is not None else directory, digest_of_tables)
    if overlay is not None and not tables_alone:
        form = "the tables (prices.compact is missing, older or damaged)" if known is None else "prices.compact"
        logs.log(__name__, "catalog with %s over it, prices and fees from %s", overlay, form)
    sources = table.read_sources("sources.csv", texts.get("sources.csv", ""), faults)
    if "sources.csv" in own_texts:
        sources |= table.read_sources(f"{overlays.FOLDER}/sources.csv", own_texts["sources.csv"], faults)

    def own_records(
        name: str, record: type[_Named], complete: csvtables.Complete | None = None
    ) -> tuple[list[_Named], list[str]]:
        parsed: list[_Named] = []
        places: list[str] = []
        for path, text in own_texts.items():
            if path == f"{name}.csv" or path.startswith(f"{name}/"):
                shown = f"{overlays.FOLDER}/{path}"
                parsed += table.read(record, shown, text, sources=sources, faults=faults, at=places, complete=complete)
        return parsed, places

    def records(name: str, record: type[_Named], complete: csvtables.Complete | None = None) -> list[_Named]:
        """A file, or all files of a folder, with the project's own rows over them."""
        parsed: list[_Named] = []
        for path, text in texts.items():
            if path == f"{name}.csv" or path.startswith(f"{name}/"):
                parsed += table.read(record, path, text, sources=sources, faults=faults, complete=complete)
        return overlays.merged(name, parsed, *own_records(name, record, complete), faults) if own_texts else parsed

    accelerators = records("accelerators", Accelerator)
    of_shapes = functools.partial(_of_shapes, {a.key: a.runtime for a in accelerators})
    shapes = records("shapes", Shape, of_shapes)
    families = records("families", Family)
    processors = records("processors", Processor)
    slices = records("slices", Slice)
    fees: Sequence[Fee] = known.fees if known is not None else records("fees", Fee)
    quotas = records("quotas", Quota)
    models = records("models", Architecture, _of_models)
    withheld = records("withheld", Withheld)
    sold = records("sold", Sold)
    regions = records("regions", Region)
    zones = records("zones", Zones)
    sellers = records("sellers", Seller)
    tokens = records("token_prices", TokenPrice)
    premiums = records("sagemaker", SagemakerPremium)
    machine_prices = records("machine_prices", MachinePrices)
    fee_lists = records("fee_lists", FeeList)
    offers: list[Offer] = []
    for path, text in texts.items() if known is None else ():
        if path.startswith("offers/"):
            offers += table.read(Offer, path, text, sources=sources, faults=faults)
    rates = NO_DISCOUNTS
    added: list[Offer] = []
    owned: Collection[tuple[str, str]] = known.owned if known is not None else ()
    if overlay is not None:
        by_name = {(s.cloud, s.instance_type): s for s in shapes}
        places = [(r.cloud, r.region) for r in regions]
        if known is None:
            own, at = own_records("offers", Offer)
            overlays.check_offers(zip(own, at, strict=True), by_name, places, faults)
            offers = overlays.merged("offers", offers, own, at, faults)
        keys_of_accelerators = {a.key for a in accelerators}
        for shape, place in zip(*own_records("shapes", Shape, of_shapes), strict=True):
            if shape.accelerator and shape.accelerator not in keys_of_accelerators:
                faults.append(Fault(path=f"{place}: accelerator", message=f"no accelerator {shape.accelerator!r}"))
        keys_of_fees = known.fee_keys if known is not None else {(fee.cloud, fee.key) for fee in fees}
        rates = _own_rates(own_texts, by_name, places, keys_of_fees, faults)
        rated = {(r.cloud, r.instance_type) for r in rates.rates if r.usd and r.instance_type and not r.fee}
        # After the own rows: a rate adds an offer only where no table has one. Of the compact form only the types that
        # a rate prices are made, which is the same, since an offer of another type settles nothing about them.
        if known is None:
            added = _rated_offers(rates, offers, by_name)
            offers += added
            owned = rated | {(o.cloud, o.instance_type) for o in own}
        else:
            added = _rated_offers(rates, (o for key in rated for o in known.by_type.get(key, ())), by_name)
            owned = rated | known.owned
    for name, keys in (
        ("accelerators", [a.key for a in accelerators]),
        ("models", [m.key for m in models]),
        ("shapes", [f"{s.cloud} {s.instance_type}" for s in shapes]),
        ("regions", [f"{r.cloud} {r.region}" for r in regions]),
        ("zones", [f"{z.cloud} {z.instance_type} {z.region}" for z in zones]),
        ("sagemaker", [p.instance_type for p in premiums]),
        ("sellers", [s.seller for s in sellers]),
    ):
        if len(set(keys)) < len(keys):
            twice = sorted({key for key in keys if keys.count(key) > 1})
            faults.append(Fault(path=name, message=f"two rows for {', '.join(twice)}"))
    if faults:
        once = {repr(fault): fault for fault in faults}  # what was found may be a list or a mapping
        raise CatalogError(list(once.values()), subject="catalog")

    shapes.sort(key=lambda s: (s.cloud, s.instance_type))
    sold_in: dict[tuple[str, str], tuple[Sold, ...]] = {}
    for sale in sorted(sold, key=attrgetter("cloud", "instance_type", "region")):
        each = tuple(replace(sale, region=region) for region in sale.region.split(" | "))
        sold_in[sale.cloud, sale.instance_type] = (*sold_in.get((sale.cloud, sale.instance_type), ()), *each)
    by_type: Mapping[tuple[str, str], tuple[Offer, ...]]
    all_offers: Sequence[Offer]
    if known is None:
        by_type, all_offers, as_of = _by_type(offers, shapes)
    else:
        by_type, all_offers, as_of = _with_rated(known, added)
    return Catalog(
        accelerators=MappingProxyType({a.key: a for a in sorted(accelerators, key=lambda a: a.key)}),
        shapes=tuple(shapes),
        families=tuple(families),
        processors=tuple(sorted(processors, key=attrgetter("cloud", "pattern"))),
        slices=tuple(sorted(slices, key=lambda s: (s.generation, s.machine_type, s.chips, s.topology))),
        fees=fees if known is not None else tuple(sorted(fees, key=overlays.FEE_ORDER)),
        quotas=tuple(sorted(quotas, key=lambda q: (q.cloud, q.code))),
        owned=frozenset(owned),
        rates=rates,
        models=MappingProxyType({m.key: m for m in sorted(models, key=lambda m: m.key.lower())}),
        withheld=tuple(
            sorted(withheld, key=lambda w: (w.cloud, w.instance_type, w.region, w.market, w.zone, w.date, w.reason))
        ),
        sold=MappingProxyType(sold_in),
        region_facts=MappingProxyType({(r.cloud, r.region): r for r in regions}),
        zone_facts=MappingProxyType({(z.cloud, z.instance_type, z.region): z for z in zones}),
        sagemaker_premiums=MappingProxyType({p.instance_type: p for p in premiums}),
        sellers=MappingProxyType({s.seller: s for s in sorted(sellers, key=attrgetter("seller"))}),
        token_prices=tuple(sorted(tokens, key=attrgetter("model", "seller", "listed_as", "effective_from"))),
        machine_prices=MappingProxyType({each.cloud: each for each in machine_prices}),
        fee_lists=tuple(fee_lists),
        digest=digest,
        as_of=as_of,
        all_offers=all_offers,
        offers_by_type=by_type,
        shapes_by_type=MappingProxyType({(s.cloud, s.instance_type): s for s in shapes}),
        accelerator_names=_names((a.key, a.aliases) for a in accelerators),
        model_names=_names((m.key, m.aliases) for m in models),
    )


def _of_shapes(runtimes: Mapping[str, str], given: Mapping[str, Iterable[Any]]) -> dict[str, Iterable[object]]:
    """What follows from the rows of machine types; `runtimes` are those of the accelerators, by key."""
    cards = zip(given["network_cards"], given["rdma_interfaces"], strict=True)
    return {
        "network_cards": [stated or rdma or 1 for stated, rdma in cards],
        "runtime": [runtimes.get(accelerator, "") for accelerator in given["accelerator"]],
    }


def _of_models(given: Mapping[str, Iterable[Any]]) -> dict[str, Iterable[object]]:
    return {"traits": map(lineage, given["key"])}


def _by_type(
    offers: list[Offer], shapes: Iterable[Shape]
) -> tuple[Mapping[tuple[str, str], tuple[Offer, ...]], Sequence[Offer], str]:
    """The offers by type and all of them, sorted, and the newest date of an accelerator machine's price."""
    offers.sort(key=_OFFER_ORDER)
    by_type: dict[tuple[str, str], list[Offer]] = {}
    for offer in offers:
        by_type.setdefault((offer.cloud, offer.instance_type), []).append(offer)
    plain = {(s.cloud, s.instance_type) for s in shapes if not s.accelerators}  # a cluster's own machines date nothing
    dated = (o for key, of_type in by_type.items() if key not in plain for o in of_type)
    today = date.today().isoformat()  # noqa: DTZ011 - the user's own calendar
    # A price that is not yet in force dates nothing.
    counted = (o.effective_from for o in dated if o.confidence in ("high", "medium") and o.effective_from <= today)
    as_of = max(counted, default="")
    return MappingProxyType({key: tuple(value) for key, value in by_type.items()}), tuple(offers), as_of


def _with_rated(
    known: compact.Compact, added: Iterable[Offer]
) -> tuple[Mapping[tuple[str, str], tuple[Offer, ...]], Sequence[Offer], str]:
    """What `_by_type` says of the compact form's offers and of those that the project's rates add."""
    more: dict[tuple[str, str], list[Offer]] = {}
    for offer in added:
        more.setdefault((offer.cloud, offer.instance_type), []).append(offer)
    if not more:
        return known.by_type, known.all_offers, known.as_of
    of_types = {key: tuple(sorted((*known.by_type.get(key, ()), *own), key=_OFFER_ORDER)) for key, own in more.items()}
    by_type = known.by_type.with_types(of_types)
    return by_type, compact.AllOffers(by_type, len(known.all_offers) + sum(map(len, more.values()))), known.as_of


def _own_tables(folder: Path, faults: list[Fault]) -> tuple[dict[str, str], str]:
    """The tables of an overlay by their path, and the SHA-256 over them."""
    if not folder.is_dir():
        raise CatalogError([Fault(path=str(folder), message="no such folder", fix=f"unset {overlays.VARIABLE}")])
    texts, digest = _files(folder, f"{overlays.FOLDER}/")
    for path in texts:
        if overlays.table_of(Path(path), Path()) not in overlays.TABLES:
            shown = f"{overlays.FOLDER}/{path}"
            faults.append(
                Fault(path=shown, message="is not a table of the catalog", fix=f"one of {', '.join(overlays.TABLES)}")
            )
    return texts, digest


def _own_rates_and_engines(folder: Path, digest: str, faults: list[Fault]) -> tuple[dict[str, str], str]:
    """The rates of an overlay by their path, and the SHA-256 over that of its tables, them and its engines."""
    texts: dict[str, str] = {}
    for rates in overlays.rate_files(folder):
        name = rates.relative_to(folder).as_posix()
        try:
            texts[name] = read_text(rates)
        except ConfigError as wrong:
            faults += wrong.faults
        else:
            digest = hashlib.sha256(f"{digest} {name} {texts[name]}".encode()).hexdigest()
    for engine in sorted(
        (folder / "engines").glob("*.yaml")
    ):  # read by `engines`, and facts of a decision all the same
        content = hashlib.sha256(engine.read_bytes()).hexdigest()
        digest = hashlib.sha256(f"{digest} engines/{engine.name} {content}".encode()).hexdigest()
    return texts, digest


def _own_rates(
    texts: Mapping[str, str],
    shapes: Mapping[tuple[str, str], Shape],
    regions: Iterable[tuple[str, str]],
    fees: Iterable[tuple[str, str]],
    faults: list[Fault],
) -> Discounts:
    """The rates of all files, in the order of their names; rates.yaml goes before those in rates/."""
    whole = NO_DISCOUNTS
    first: dict[tuple[str, ...], tuple[Rate, str]] = {}
    billed: dict[str, tuple[BillingAccount, str]] = {}
    for path, text in texts.items():
        if not path.endswith((".yaml", ".yml")):
            continue
        shown = f"{overlays.FOLDER}/{path}"
        try:
            document = parse_yaml(text, shown)
            rates = parse_discounts(document.data, shown, document.places)
        except ConfigError as wrong:
            faults += [
                fault
                if fault.at or fault.path.startswith(shown)
                else replace(fault, path=f"{shown} {fault.path}".strip())
                for fault in wrong.faults
            ]
            continue
        unknown = overlays.check_rates(rates, shapes=shapes, regions=regions, fees=fees)
        faults += placed(unknown, document.places, file=shown)
        for index, rate in enumerate(rates.rates):
            mark = document.places[f"rates[{index}]"].key
            before, where = first.setdefault(rate.scope, (rate, f"{shown}:{mark[0]}"))
            if before != rate:
                message = f"contradicts {where}"
                fault = Fault(path=f"rates[{index}]", message=message, fix="keep one of them", at=mark, file=shown)
                faults.append(fault)
        for account in rates.billing_accounts:
            before_it = billed.setdefault(account.cloud, (account, shown))
            if before_it[0] != account:
                message = f"names another billing account of {account.cloud} than {before_it[1]}"
                faults.append(Fault(path=shown, message=message, fix="keep one of them"))
        whole = Discounts(
            (*whole.rates, *rates.rates),
            (*whole.commitments, *rates.commitments),
            tuple(account for account, _ in billed.values()),
            (*whole.savings_plans, *rates.savings_plans),
            (*whole.resource_commitments, *rates.resource_commitments),
        )
    return whole


def _rated_offers(rates: Discounts, offers: Iterable[Offer], shapes: Mapping[tuple[str, str], Shape]) -> list[Offer]:
    """A price of one's own for a machine type in a region where the catalog has none: the type is sold there.

    Of a type without a shape nothing is chosen; `Catalog.price` has its rate all the same.
    """
    known = {(o.cloud, o.instance_type, o.region, o.market) for o in offers}
    added: dict[tuple[str, str, str, str], Offer] = {}
    for rate in rates.rates:
        region = rate.region or ("" if rate.cloud in PROVISIONABLE else EVERYWHERE)
        key = (rate.cloud, rate.instance_type, region, rate.market or "on-demand")
        shaped = key[:2] in shapes
        if rate.usd and all(key) and shaped and not rate.fee and key not in known and key not in added:
            added[key] = Offer(
                cloud=rate.cloud,
                instance_type=rate.instance_type,
                region=region,
                zone="",
                market=key[3],  # type: ignore[arg-type]
                usd_per_hour=rate.usd,
                effective_from="2000-01-01",
                effective_to="",
                basis=OWN_RATE,
                source=OWN_RATE,
                confidence="high",
            )
    return list(added.values())


def _files(directory: Path, prefix: str = "") -> tuple[dict[str, str], str]:
    """Every CSV file's text by its path under `directory`, sorted, and the SHA-256 over their bytes; no table of what
    ages, which `lifetimes` reads.
    """
    files = (path.relative_to(directory) for path in directory.rglob("*.csv"))
    paths = sorted(path.as_posix() for path in files if path.parts[0] != overlays.AGES)
    whole = hashlib.sha256()
    texts: dict[str, str] = {}
    for path in paths:
        content = (directory / path).read_bytes()
        whole.update(content)
        try:
            texts[path] = content.decode("utf-8-sig")
        except UnicodeDecodeError as wrong:
            raise CatalogError(
                [Fault(path=prefix + path, message=f"is not UTF-8: {wrong}")], subject="catalog"
            ) from None
    return texts, whole.hexdigest()


def _names(entries: Iterable[tuple[str, tuple[str, ...]]]) -> Mapping[str, str]:
    names: dict[str, str] = {}
    keys: list[str] = []
    for key, aliases in entries:
        for alias in aliases:
            names[spelling(alias)] = key
        keys.append(key)
    names.update({spelling(key): key for key in keys})  # a key wins over another record's alias
    return MappingProxyType(names)
